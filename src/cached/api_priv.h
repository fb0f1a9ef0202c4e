/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api_priv: what the API's files share.
 *
 *	api.c		connections, their limits, and whether a request is well-formed HTTP
 *	api_wire.c	what evhttp refuses by itself
 *	api_reply.c	replies, and calls whose reply comes later
 *	api_call.c	the paths: who may, what is asked of app and proxy, and the replies
 *	api_body.c	bodies: JSON -> structs
 */
#ifndef RESEX_CACHED_API_PRIV_H
#define RESEX_CACHED_API_PRIV_H

#include <event2/http.h>
#include <sys/queue.h>

#include "src/cached/api.h"
#include "src/cached/listen.h"
#include "src/util/clock.h"
#include "src/util/utf8.h"

/* A request whose answer comes later. */
struct api_call {
	struct api *a;
	struct api_conn *conn;	    /* NULL: it is closed, and the answer is dropped */
	struct evhttp_request *req; /* NULL: freed with its connection */
	TAILQ_ENTRY(api_call) all;
};

TAILQ_HEAD(api_calls, api_call);

struct api_conn {
	struct api *a;
	struct bufferevent
		*bev; /* this reference keeps it, and its descriptor, until it is swept */
	struct listen_peer peer;
	bool known;	       /* peer is filled in */
	struct api_call *call; /* it waits for its answer */
	struct mono since;     /* it came, or made its newest request */
	bool served;	       /* what is put into its output is the reply to a request */
	bool refused, mends;   /* api_wire.c: evhttp's page is replaced; just now */
	size_t held;	       /* bytes of a request that has not come to its end */
	bool grew;	       /* perhaps beyond what it may: see api_wire_excess */
	TAILQ_ENTRY(api_conn) all;
};

TAILQ_HEAD(api_conns, api_conn);

struct api {
	struct api_parts parts;
	const struct cluster_conf *cluster;
	struct event_base *base;
	struct log *log;
	struct clock clock;
	struct evhttp *http;
	struct evhttp_bound_socket *bound;
	struct event *came, *second;
	char path[CACHED_PATH_MAX + 1];
	char group_name[CACHED_GROUP_MAX + 1];
	gid_t gid;
	bool listens;
	struct api_conns conns;
	struct api_calls calls;
	struct mono logged; /* when a refusal was last logged */
	size_t held;	    /* of all connections */
	uint64_t conns_refused, bodies_refused;
};

/*
 * api_wire.c. From now on evhttp's own pages become sentences, and what comes is counted. false: no
 * memory.
 */
bool api_wire_watch(struct api_conn *k);
void api_wire_forget(struct api_conn *k);
/* Its request is read, or it is refused: it holds only what came behind it. */
void api_wire_is_read(struct api_conn *k);
/* Does it hold too much, alone or with all others? What it may hold for nothing is little. */
bool api_wire_excess(const struct api_conn *k);
/* Fills, updates and invalidations are for these. */
bool api_may_write(const struct api_conn *k);

/*
 * api_reply.c. Takes o over. NULL: there was no memory for it. close: the connection, after the
 * reply.
 */
void api_reply(struct evhttp_request *req, int code, json_t *o, bool close);
/* {"error": text, "why": why}; NULL: no memory. */
json_t *api_error(const char *why, const char *text);
/* Both. */
void api_refuse(struct evhttp_request *req, int code, const char *why, const char *text);
/* A call whose answer comes later; NULL: no memory, and it is answered. */
struct api_call *api_call_begin(struct api_conn *k, struct evhttp_request *req);
/* Its request, to be answered; NULL: there is nobody to answer. c is freed. */
struct evhttp_request *api_call_end(struct api_call *c);
/* Frees c; it is not answered. */
void api_call_forget(struct api_call *c);

/* api_call.c. The request is well-formed; it is answered, now or later. */
void api_serve(struct api_conn *k, struct evhttp_request *req);

#endif
