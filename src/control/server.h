/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server: JSON-RPC 2.0 over a UNIX socket (man resex-control).
 *
 * It runs in the control thread's libevent loop, between resex (src/cli) and the methods. The
 * kernel gives the user id of each client; methods that change something are for root alone.
 */
#ifndef RESEX_CONTROL_SERVER_H
#define RESEX_CONTROL_SERVER_H

#include <event2/event.h>

#include "src/guests/guests.h"

struct cluster;
struct control;

/* Connections at once, and how many of them are for root alone. */
enum { CONTROL_CONNS_MAX = 64, CONTROL_CONNS_ROOT = 16 };

/*
 * Listen on the socket of the configuration (mode 0600, or 0660 with its group). A socket file
 * on which no process listens is replaced. cluster NULL: this host is in no cluster. 0 or
 * -errno with e filled.
 */
int control_open(struct control **c, struct event_base *base, struct guests *gs,
		 struct cluster *cluster, struct conf_error *e);
/* Close all connections and remove the socket. */
void control_close(struct control *c);

/* The group of conf->socket_group. 0, or -EINVAL with e filled. */
int control_group(const struct daemon_conf *conf, gid_t *gid, struct conf_error *e);

/* Close connections that idle, trickle or do not read. It calls itself once a second. */
void control_second(struct control *c, struct mono now);

#endif
