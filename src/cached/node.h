/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node: this cached host's transport and region, and the step functions that run on them
 * (src/reconf/runner.h, for many users). All of it runs in the loop's thread.
 */
#ifndef RESEX_CACHED_NODE_H
#define RESEX_CACHED_NODE_H

#include <event2/event.h>

#include "src/cached/conf.h"
#include "src/cached/events.h"
#include "src/reconf/step.h"
#include "src/util/log.h"

enum { NODE_SEND_MAX = 64 /* bytes of a message of node_send */ };

struct node;

/* A protocol. It uses the tags tag .. tag + tags - 1, which node_tags() gives. */
struct node_user {
	void *state;
	void (*step)(void *state, const struct step_event *ev, struct mono now,
		     struct step_out *out);
	struct mono (*due)(const void *state);
	/*
	 * After steps that this user took part in; it may call these functions, but node_close.
	 * NULL: none.
	 */
	void (*after)(void *owner);
	void *owner;
	uint32_t tag, tags;
};

/* Messages that no step function answers by itself: home_reply, fresh_reply. */
typedef void node_message(void *owner, const struct step_event *ev, struct mono now);

/*
 * Serves this host's region, and calls all application servers. generation: of the transport, by
 * state_dir. base and log must outlive it. 0, or -errno with e filled.
 */
int node_open(struct node **n, const struct cached_conf *c, struct event_base *base,
	      struct log *log, struct conf_error *e);
void node_close(struct node *n); /* NULL: does nothing */
/* What it logs of links is kept there, too. NULL: nowhere. */
void node_set_events(struct node *n, struct events *e);

/* So many tags that no other user has; 0: there are no more. */
uint32_t node_tags(struct node *n, uint32_t tags);
/*
 * 0, -ENOSPC or -ENOMEM. The user, which stays until node_close, gets a STEP_LINK of each link that
 * is up.
 */
int node_add(struct node *n, const struct node_user *u);
void node_on_message(struct node *n, node_message *fn, void *owner);
/*
 * STEP_ASK to the user of this state. `after` is called before it returns; within an `after`, it is
 * called when that has returned.
 */
void node_ask(struct node *n, const void *state, uint32_t what, const void *wish);
/*
 * A message that needs no result, such as an answer; copied. Dropped if the link is down, or if
 * too many to this host wait.
 */
void node_send(struct node *n, uint16_t host, const void *message, uint32_t len);

struct mono node_now(const struct node *n);
/* Of this start of this host: higher at each start, 1 .. REGION_EPOCH_MAX. */
uint64_t node_generation(const struct node *n);
/* The part that this host serves; NULL: none. WORDS has no pointer. */
void *node_part(struct node *n, enum transport_part part);
/* The number of the link to host; 0: it is down. */
uint32_t node_link(const struct node *n, uint16_t host);
/* As transport_share. */
int node_share(const struct node *n, uint16_t host, int *fd);

#endif
