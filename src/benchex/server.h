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
	SERVER_FLUSH_NS = 5000000, /* latencies wait so long for others */
	SERVER_STUCK_SLOTS = 1023,
	SERVER_ALIVE = 2047, /* slot of the empty WRITE that asks whether the peer lives */
};

#define SERVER_BULK_RIGHTS                                                                         \
	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

struct session {
	bool used, welcome; /* a connection of it was accepted */
	uint8_t role;
	uint64_t id; /* chosen by the peer; with its address and device, whose it is */
	struct bx_dev *dev;
	char peer[64];
	uint32_t conns;		 /* connections it is to have */
	uint32_t live;		 /* that it has */
	uint32_t seen;		 /* that it ever had */
	struct ibv_pd *pd;	 /* bulk: of its own, so that none reaches another's memory */
	struct bx_memory buffer; /* bulk: what it writes and reads */
	uint64_t messages;	 /* bulk: that took a receive */
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
	bool stuck;	     /* for too long: they hold no place among conf->depth */
	bool asked;	     /* whether it lives, by a WRITE of no bytes */
	int64_t progress;    /* the last completion, or when there began to be one to wait for */
	int64_t parting;     /* 0: not; answers on their way are waited for until then */
	uint32_t entries;    /* of its completion queue, reserved */
	struct bx_memory asks;
};

/* An answer on its way. */
struct answer {
	bool used;
	uint32_t conn, gen, bytes;
	int64_t arrived, begun, priced, posted;
};

/* What a device's answers are made of: heads of their own, and one body. */
struct answer_memory {
	struct bx_memory heads, body;
};

struct server {
	const struct bx_conf *conf;
	struct bx_net net;
	struct rdma_cm_id *listener;
	struct resex_report *report;
	struct bx_fifo fifo;
	struct answer *answer; /* conf->depth of them, and more for the stuck */
	uint32_t slots;	       /* how many */
	uint32_t answers;      /* on their way, but for the stuck */
	uint32_t conns;	       /* places ever used */
	uint64_t memory;       /* bytes lent to peers */
	uint64_t asks_room;    /* requests that may wait */
	bool client_left;      /* a client's session is over */
	bool untidy;	       /* a connection is parting */
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
