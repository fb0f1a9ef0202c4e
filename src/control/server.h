/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server: JSON-RPC 2.0 over a UNIX socket (man resex-control).
 *
 * Runs in the control thread's libevent loop. Who connects is known by its
 * peer credentials; commands that change something are for root alone.
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
 * Listen on the conf's socket (mode 0600, or 0660 with its group). A socket
 * nobody listens on is replaced. cluster: NULL: this host is alone. 0 or -errno with e filled.
 */
int control_open(struct control **c, struct event_base *base, struct guests *gs,
		 struct cluster *cluster, struct conf_error *e);
/* Close all connections and remove the socket. */
void control_close(struct control *c);

/* The group of conf->socket_group. 0, or -EINVAL with e filled. */
int control_group(const struct daemon_conf *conf, gid_t *gid, struct conf_error *e);

/* Once a second (it does so itself): hang up on who idles, trickles or does not read. */
void control_second(struct control *c, struct mono now);

#endif
