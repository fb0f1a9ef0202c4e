/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server: what the files of the server role share. Each calls only those below it:
 *
 *	server.c	 the loop, and the total at the end
 *	server_conn.c	 connections come and go
 *	server_serve.c	 requests -> queue -> price -> answer -> latency
 *	server_session.c the peers: lookup, dropping, sessions and their results
 *
 * A session is one process on the other side, whatever its number of connections.
 * A connection is named by its index and a generation, and all its work requests
 * carry both: a late completion of a connection that is gone is ignored.
 */
#ifndef RESEX_BENCHEX_SERVER_H
#define RESEX_BENCHEX_SERVER_H

#include "resex/report.h"
#include "src/benchex/conn.h"
#include "src/benchex/fifo.h"

enum {
	SERVER_CONNS_MAX = 2048,
	SERVER_SESSIONS_MAX = 256,
	SERVER_CQ_CLIENTS = 0, /* completion queues of a device */
	SERVER_CQ_BULK = 1,
	SERVER_ASKS_MAX = 65536,   /* requests that may wait, over all clients */
	SERVER_FLUSH_NS = 5000000, /* latencies wait at most so long for others */
	SERVER_STUCK_SLOTS = 1023,
	SERVER_ALIVE = 2047, /* slot of the empty WRITE that asks whether the peer lives */
};

#define SERVER_BULK_RIGHTS                                                                         \
	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

struct session {
	bool used, welcome; /* a connection of it was accepted */
	uint8_t role;
	uint64_t id; /* chosen by the peer; unique with its address and device */
	struct bx_dev *dev;
	char peer[64];
	uint32_t conns;		 /* number of connections it announced */
	uint32_t live;		 /* connections it has now */
	uint32_t seen;		 /* connections it has had so far */
	struct ibv_pd *pd;	 /* bulk: its own, so that no peer reaches another's memory */
	struct bx_memory buffer; /* bulk: the memory it writes and reads */
	uint64_t messages;	 /* bulk: messages that consumed a receive */
	int64_t first, last;	 /* ns: post, completion */
	uint64_t cpu_began;
	const char *ended;
	struct bx_result *result; /* client */
};

struct client_conn {
	struct bx_conn conn;
	bool used, welcome; /* accepted */
	uint32_t gen;
	struct session *session;
	struct bx_hello hello;
	uint64_t next;	     /* sequence number of its next request */
	uint32_t unanswered; /* answers posted and not completed */
	bool stuck;	     /* they take too long: they do not count against conf->depth */
	bool asked;	     /* an empty WRITE that checks the peer is under way */
	int64_t progress;    /* time of the last completion, or of the first post after idling */
	int64_t parting;     /* 0: no; else it is ending, and waits for answers until then */
	uint32_t entries;    /* of its completion queue, reserved */
	struct bx_memory asks;
};

/* An answer under way. */
struct answer {
	bool used;
	uint32_t conn, gen, bytes;
	int64_t arrived, begun, priced, posted;
};

/* Memory for the answers of a device: a head for each, and one body for all. */
struct answer_memory {
	struct bx_memory heads, body;
};

struct server {
	const struct bx_conf *conf;
	struct bx_net net;
	struct rdma_cm_id *listener;
	struct resex_report *report;
	struct bx_fifo fifo;
	struct answer *answer; /* conf->depth, and more for stuck connections */
	uint32_t slots;	       /* length of answer */
	uint32_t answers;      /* under way, without those of stuck connections */
	uint32_t conns;	       /* entries of conn ever used */
	uint64_t memory;       /* bytes lent to peers */
	uint64_t asks_room;    /* requests that may wait */
	bool client_left;      /* a client's session has ended */
	bool untidy;	       /* a connection is ending */
	int64_t next_tidy;
	int64_t flush_at; /* latencies wait to be reported; 0: none */
	struct answer_memory made[BX_DEVS_MAX];
	struct session session[SERVER_SESSIONS_MAX];
	struct client_conn conn[SERVER_CONNS_MAX];
	struct bx_result *total;
};

/* --- server_session.c --- */

/* The connection that a tag names; NULL: it is gone. */
struct client_conn *server_conn(struct server *s, uint32_t conn, uint32_t gen);

/* Which of its device's completion queues a peer uses: SERVER_CQ_*. */
int server_cq(const struct bx_hello *h);

/*
 * Mark a connection to be released by server_tidy(), and say why; NULL: nothing is
 * wrong, and nothing is said.
 */
void server_drop(struct server *s, struct client_conn *c, const char *why);

/* Find or make the session that c's hello names. It keeps the size its first hello gave. */
enum bx_refusal server_session_join(struct server *s, struct client_conn *c);

/* Leave the session. The last connection prints its result and frees it. */
void server_session_leave(struct server *s, struct client_conn *c);

/* --- server_serve.c --- */

int server_serve_open(struct server *s);
void server_serve_close(struct server *s);

/* Poll all completion queues and handle what is found. The number of completions. */
int server_reap(struct server *s);

/* Answer the oldest request, if one waits and there is room for its answer. */
bool server_serve(struct server *s);

/* Drop c's waiting requests and its answers under way. */
void server_forget(struct server *s, struct client_conn *c);

/* stuck: c takes no answers, so its answers stop counting against conf->depth. */
void server_stuck(struct server *s, struct client_conn *c, bool stuck);

/* Send an empty WRITE; its completion proves that the peer lives. 0 or -errno. */
int server_ask_alive(struct server *s, struct client_conn *c);
int server_post_receives(struct server *s, struct client_conn *c);

/* --- server_conn.c --- */

/* Handle one event of the connection manager, and acknowledge it. */
void server_event(struct server *s, struct rdma_cm_event *e);

/* Release connections that were dropped; drop those that hang. */
void server_tidy(struct server *s, int64_t now);
void server_drop_all(struct server *s);

#endif
