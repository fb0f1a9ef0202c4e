// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * server_conn: connections of clients and bulk: accepted, watched, released.
 *
 * All that a hello requests is checked against limits before anything is allocated:
 * connections, sessions, waiting requests, memory. A peer that breaks the protocol,
 * dies or hangs loses its own connection; other peers lose nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/benchex/server.h"

#define STUCK_NS   5000000000LL	 /* no answer completed for so long: others stop waiting for it */
#define HANG_NS	   30000000000LL /* no answer completed for so long: drop it */
#define SILENT_NS  10000000000LL /* no sign of life for so long: send an empty WRITE */
#define PARTING_NS 1000000000LL
#define TIDY_NS	   1000000000LL

/* --- connections ------------------------------------------------------------- */

/* Sends under way at most: answers, and the empty WRITE that checks the peer. */
static uint32_t sends_max(const struct bx_hello *h)
{
	return h->role == BX_BULK ? 1 : h->depth + 1;
}

/*
 * Allocate what a connection needs. On failure release_conn() frees what was allocated.
 * Receives are posted before the connection is accepted: the first request may come at
 * once.
 */
static enum bx_refusal allocate_conn(struct server *s, struct client_conn *c)
{
	const struct bx_hello *h = &c->hello;
	struct bx_dev *d = c->conn.dev;
	size_t asks = (size_t)h->depth * BX_ASK_LEN;

	if (bx_dev_reserve(d, server_cq(h), sends_max(h) + h->depth))
		return BX_FULL;
	c->entries = sends_max(h) + h->depth;
	if (h->role == BX_CLIENT) {
		if (s->asks_room + h->depth > SERVER_ASKS_MAX ||
		    bx_fifo_room(&s->fifo, s->asks_room + h->depth))
			return BX_FULL;
		if (bx_memory_get(&c->asks, d->pd, asks, IBV_ACCESS_LOCAL_WRITE))
			return BX_FULL;
		s->asks_room += h->depth;
	}
	if (bx_conn_queue(&c->conn, h->role == BX_BULK ? c->session->pd : d->pd, server_cq(h),
			  sends_max(h), h->depth, 2))
		return BX_FULL;
	return server_post_receives(s, c) ? BX_FULL : BX_WELCOME;
}

/* The lowest free index: loops over connections stay short. */
static struct client_conn *find_free_conn(struct server *s)
{
	for (uint32_t i = 0; i < SERVER_CONNS_MAX; i++)
		if (!s->conn[i].used) {
			s->conns = i >= s->conns ? i + 1 : s->conns;
			return &s->conn[i];
		}
	return NULL;
}

/* Free all of a connection. The generation changes, so that late completions are ignored. */
static void release_conn(struct server *s, struct client_conn *c)
{
	server_forget(s, c);
	bx_conn_disconnect(&c->conn);
	bx_conn_destroy(&c->conn);
	if (c->entries)
		bx_dev_release(c->conn.dev, server_cq(&c->hello), c->entries);
	if (c->asks.at)
		s->asks_room -= c->hello.depth;
	bx_memory_put(&c->asks);
	server_session_leave(s, c);
	*c = (struct client_conn){ .gen = (c->gen + 1) & 0xfff };
}

/*
 * Check the hello and allocate what it needs. *value goes into a refusal. Format first,
 * then the operator's limits, then what costs memory.
 */
static enum bx_refusal admit_peer(struct server *s, struct client_conn *c,
				  const struct rdma_conn_param *p, uint32_t *value)
{
	enum bx_refusal why = bx_hello_get(&c->hello, p->private_data,
					   p->private_data ? p->private_data_len : 0);

	*value = why == BX_BAD_VERSION ? BX_VERSION : 0;
	if (why != BX_WELCOME)
		return why;
	if (s->net.ended)
		return BX_CLOSING;
	why = bx_hello_fits(&c->hello, s->conf, value);
	if (why != BX_WELCOME)
		return why;
	*value = s->conns;
	c->conn.dev = bx_net_dev(&s->net, c->conn.id->verbs);
	if (!c->conn.dev)
		return BX_FULL;
	bx_peer_name(c->conn.id, c->conn.peer);
	why = server_session_join(s, c);
	return why == BX_WELCOME ? allocate_conn(s, c) : why;
}

static int accept_peer(struct client_conn *c, const struct rdma_conn_param *p)
{
	struct bx_reply reply = { 0 };
	int ret;

	if (c->session->role == BX_BULK) {
		reply.size_max = (uint32_t)c->session->buffer.len;
		reply.rkey = c->session->buffer.mr->rkey;
		reply.addr = (uintptr_t)c->session->buffer.at;
	}
	ret = bx_conn_accept(&c->conn, p, &reply);
	if (!ret)
		c->welcome = c->session->welcome = true;
	/* Requests may arrive before the event of the connection. */
	return ret ? ret
		   : bx_conn_established(&c->conn,
					 c->session->role == BX_BULK ? SERVER_BULK_RIGHTS : 0);
}

/*
 * The refusal goes to the peer, which prints it, and to this server's stderr: either
 * operator can find the cause.
 */
static void refuse_peer(struct rdma_cm_id *id, enum bx_refusal why, uint32_t value)
{
	static const char *const text[BX_REFUSALS] = {
		[BX_NOT_BENCHEX] = "it does not speak benchex's protocol",
		[BX_BAD_VERSION] = "it speaks another version of benchex's protocol",
		[BX_MALFORMED] = "its hello is malformed",
		[BX_TOO_LARGE] = "it wants larger answers than --size-max allows",
		[BX_FULL] = "the server has no room for it",
		[BX_CLOSING] = "the server is ending",
		[BX_TOO_MUCH] = "it wants more options for a request than --options-max allows",
	};
	uint8_t data[BX_REFUSE_LEN];
	char peer[64];

	bx_peer_name(id, peer);
	bx_say("%s was refused: %s", peer, text[why]);
	bx_refuse_put(data, why, value);
	rdma_reject(id, data, sizeof(data));
}

/* A peer asks to connect: accept it, or refuse it with a reason. */
static void connect_request(struct server *s, struct rdma_cm_id *id,
			    const struct rdma_conn_param *p)
{
	struct client_conn *c = find_free_conn(s);
	enum bx_refusal why = BX_FULL;
	uint32_t value = SERVER_CONNS_MAX;

	if (!c) {
		refuse_peer(id, why, value);
		rdma_destroy_id(id);
		return;
	}
	c->used = true;
	c->conn.id = id;
	id->context = c;
	c->progress = bx_now(&s->net);
	why = admit_peer(s, c, p, &value);
	if (why != BX_WELCOME)
		refuse_peer(id, why, value);
	else if (accept_peer(c, p))
		server_drop(s, c, "the connection was not made");
	if (why != BX_WELCOME)
		release_conn(s, c);
}

/* The peer disconnected: let answers under way complete first. */
static void peer_disconnected(struct server *s, struct client_conn *c)
{
	if (c->parting)
		return;
	c->parting = bx_now(&s->net) + PARTING_NS;
	s->untidy = true;
}

/*
 * The event's private data is copied, because the event must be acknowledged before its id
 * can be destroyed: rdma_destroy_id() waits for that.
 */
void server_event(struct server *s, struct rdma_cm_event *e)
{
	enum rdma_cm_event_type kind = e->event;
	struct rdma_conn_param p = e->param.conn;
	struct rdma_cm_id *id = e->id;
	uint8_t data[256];
	struct client_conn *c = id->context;

	if (p.private_data && kind == RDMA_CM_EVENT_CONNECT_REQUEST) {
		memcpy(data, p.private_data, p.private_data_len);
		p.private_data = data;
	}
	rdma_ack_cm_event(e);
	if (kind == RDMA_CM_EVENT_CONNECT_REQUEST)
		connect_request(s, id, &p);
	else if (!c || id == s->listener)
		return;
	else if (kind == RDMA_CM_EVENT_DISCONNECTED)
		peer_disconnected(s, c);
	else if (kind == RDMA_CM_EVENT_CONNECT_ERROR || kind == RDMA_CM_EVENT_UNREACHABLE ||
		 kind == RDMA_CM_EVENT_REJECTED)
		server_drop(s, c, "it did not complete the connection");
	else if (kind == RDMA_CM_EVENT_DEVICE_REMOVAL)
		server_drop(s, c, "the RDMA device is being removed");
}

/* Drain a departed peer's completions before its index is reused. */
static void drain_completions(struct server *s)
{
	int most = 1;

	for (size_t i = 0; i < s->net.devs; i++)
		for (int which = 0; which < BX_CQS_MAX; which++)
			most += (int)s->net.dev[i].reserved[which];
	while (most-- > 0 && server_reap(s) > 0)
		;
}

/* Drop a peer that hangs; let others pass one that is slow; check one that is silent. */
static void check_alive(struct server *s, struct client_conn *c, int64_t now)
{
	int64_t silent = now - c->progress;

	/* Retries do not end it: the peer's hello sets their number, maybe without end. */
	if ((c->unanswered || c->asked) && silent > HANG_NS)
		server_drop(s, c,
			    c->asked ? "it showed no sign of life for 30 s"
				     : "it took no answer for 30 s");
	else if (c->unanswered && silent > STUCK_NS)
		server_stuck(s, c, true);
	else if (!c->unanswered && !c->asked && silent > SILENT_NS && server_ask_alive(s, c))
		server_drop(s, c, "the check whether it lives cannot be posted");
}

/*
 * Connections that were dropped are released here, after the completions of a turn: no loop
 * over completions meets one that is freed.
 */
void server_tidy(struct server *s, int64_t now)
{
	bool released = false;

	if (!s->untidy && now < s->next_tidy)
		return;
	s->next_tidy = now + TIDY_NS;
	s->untidy = false;
	for (struct client_conn *c = s->conn; c < s->conn + s->conns; c++) {
		if (!c->used)
			continue;
		if (!c->parting)
			check_alive(s, c, now);
		if (c->parting && (now >= c->parting || !c->unanswered)) {
			release_conn(s, c);
			released = true;
		} else if (c->parting) {
			s->untidy = true;
		}
	}
	if (released)
		drain_completions(s);
}

/*
 * Each session prints its result when its last connection is released, so at the end of the
 * server, too.
 */
void server_drop_all(struct server *s)
{
	for (struct client_conn *c = s->conn; c < s->conn + s->conns; c++)
		if (c->used)
			release_conn(s, c);
}
