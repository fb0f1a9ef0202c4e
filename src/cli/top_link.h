/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_link: the connection of resex top to resexd. It never waits: a daemon that hangs or is gone
 * must not stop the keys. One request at a time.
 */
#ifndef RESEX_CLI_TOP_LINK_H
#define RESEX_CLI_TOP_LINK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct client;

struct top_link {
	struct client *client; /* fd -1: there is no connection; error: why not */
	char *out;	       /* what is to be sent, or NULL */
	size_t sent, out_len;
	char *in; /* a part of a reply */
	size_t n, size;
	int rc;	   /* the exit code that belongs to the error */
	pid_t pid; /* of the process that listens; 0: not known */
};

/* client has path and daemon; it is only used, and fd -1. */
void top_link_init(struct top_link *l, struct client *client);
void top_link_close(struct top_link *l);

/* 0, or -1 with the client's error. Does not wait. */
int top_link_open(struct top_link *l);
/* Takes ownership of params. 0; -1: the connection is lost, and the client's error says why. */
int top_link_send(struct top_link *l, const char *method, json_t *params);
/* Is there more of a request to send? Then wait for POLLOUT, too. */
bool top_link_is_full(const struct top_link *l);

enum top_link_event { TOP_LINK_NOTHING, TOP_LINK_REPLY, TOP_LINK_REFUSED, TOP_LINK_LOST };

/*
 * The socket is ready: send and receive what is possible. TOP_LINK_REPLY: *result, to be freed.
 * TOP_LINK_REFUSED: resexd answered with the client's error. TOP_LINK_LOST: the connection is lost,
 * and the client's error says why.
 */
enum top_link_event top_link_turn(struct top_link *l, json_t **result);

#endif
