// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * server_conn: who comes and goes.
 *
 * What a hello asks for is bounded before anything is made: connections,
 * sessions, requests that may wait, memory. Who breaks the rules, dies or hangs
 * loses its own connection, and nobody else anything.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/benchex/server.h"

#define STUCK_NS   5000000000LL	 /* no answer was taken for so long: others shall not wait */
#define HANG_NS	   30000000000LL /* and for so long: it goes */
#define SILENT_NS  10000000000LL /* nothing was heard of it for so long: ask whether it lives */
#define PARTING_NS 1000000000LL
#define TIDY_NS	   1000000000LL

/* --- connections ------------------------------------------------------------- */

/* Answers, and one question whether it lives. */
static uint32_t sends(const struct bx_hello *h)
{
	return h->role == BX_BULK ? 1 : h->depth + 1;
}

/* What a connection needs of its own, all or, when it is released later, in part. */
static enum bx_refusal furnish(struct server *s, struct client_conn *c)
{
	const struct bx_hello *h = &c->hello;
	struct bx_dev *d = c->conn.dev;
	size_t asks = (size_t)h->depth * BX_ASK_LEN;

	if (bx_dev_reserve(d, server_cq(h), sends(h) + h->depth))
		return BX_FULL;
	c->entries = sends(h) + h->depth;
	if (h->role == BX_CLIENT) {
		if (s->asks_room + h->depth > SERVER_ASKS_MAX ||
		    bx_fifo_room(&s->fifo, s->asks_room + h->depth))
			return BX_FULL;
		if (bx_memory_get(&c->asks, d->pd, asks, IBV_ACCESS_LOCAL_WRITE))
			return BX_FULL;
		s->asks_room += h->depth;
	}
	if (bx_conn_queue(&c->conn, h->role == BX_BULK ? c->session->pd : d->pd, server_cq(h),
			  sends(h), h->depth, 2))
		return BX_FULL;
	return server_post_receives(s, c) ? BX_FULL : BX_WELCOME;
}

static struct client_conn *free_place(struct server *s)
{
	for (uint32_t i = 0; i < SERVER_CONNS_MAX; i++)
		if (!s->conn[i].used) {
			s->conns = i >= s->conns ? i + 1 : s->conns;
			return &s->conn[i];
		}
	return NULL;
}

static void release(struct server *s, struct client_conn *c)
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

static enum bx_refusal admit(struct server *s, struct client_conn *c,
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
	return why == BX_WELCOME ? furnish(s, c) : why;
}

static int accept_it(struct client_conn *c, const struct rdma_conn_param *p)
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
	/* Requests may come before word of the connection does. */
	return ret ? ret
		   : bx_conn_established(&c->conn,
					 c->session->role == BX_BULK ? SERVER_BULK_RIGHTS : 0);
}

static void refuse(struct rdma_cm_id *id, enum bx_refusal why, uint32_t value)
{
	static const char *const text[BX_REFUSALS] = {
		[BX_NOT_BENCHEX] = "it does not speak benchex's protocol",
		[BX_BAD_VERSION] = "it speaks another version of benchex's protocol",
		[BX_MALFORMED] = "its hello is malformed",
		[BX_TOO_LARGE] = "it wants larger answers than --size-max allows",
		[BX_FULL] = "no room is left for it",
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

static void connect_request(struct server *s, struct rdma_cm_id *id,
			    const struct rdma_conn_param *p)
{
	struct client_conn *c = free_place(s);
	enum bx_refusal why = BX_FULL;
	uint32_t value = SERVER_CONNS_MAX;

	if (!c) {
		refuse(id, why, value);
		rdma_destroy_id(id);
		return;
	}
	c->used = true;
	c->conn.id = id;
	id->context = c;
	c->progress = bx_now(&s->net);
	why = admit(s, c, p, &value);
	if (why != BX_WELCOME)
		refuse(id, why, value);
	else if (accept_it(c, p))
		server_drop(s, c, "the connection was not made");
	if (why != BX_WELCOME)
		release(s, c);
}

/* The peer said farewell: what is on its way to it is let arrive. */
static void farewell(struct server *s, struct client_conn *c)
{
	if (c->parting)
		return;
	c->parting = bx_now(&s->net) + PARTING_NS;
	s->untidy = true;
}

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
		farewell(s, c);
	else if (kind == RDMA_CM_EVENT_CONNECT_ERROR || kind == RDMA_CM_EVENT_UNREACHABLE ||
		 kind == RDMA_CM_EVENT_REJECTED)
		server_drop(s, c, "it did not complete the connection");
	else if (kind == RDMA_CM_EVENT_DEVICE_REMOVAL)
		server_drop(s, c, "the RDMA device is being removed");
}

/* A completion of who went is in its queue no more when somebody else comes. */
static void drain(struct server *s)
{
	int most = 1;

	for (size_t i = 0; i < s->net.devs; i++)
		for (int which = 0; which < BX_CQS_MAX; which++)
			most += (int)s->net.dev[i].reserved[which];
	while (most-- > 0 && server_reap(s) > 0)
		;
}

static void look_after(struct server *s, struct client_conn *c, int64_t now)
{
	int64_t silent = now - c->progress;

	/* The peer's hello said how often is retried, maybe without end. */
	if ((c->unanswered || c->asked) && silent > HANG_NS)
		server_drop(s, c,
			    c->asked ? "it did not say for 30 s that it lives"
				     : "it took no answer for 30 s");
	else if (c->unanswered && silent > STUCK_NS)
		server_stuck(s, c, true);
	else if (!c->unanswered && !c->asked && silent > SILENT_NS && server_ask_alive(s, c))
		server_drop(s, c, "it cannot be asked whether it lives");
}

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
			look_after(s, c, now);
		if (c->parting && (now >= c->parting || !c->unanswered)) {
			release(s, c);
			released = true;
		} else if (c->parting) {
			s->untidy = true;
		}
	}
	if (released)
		drain(s);
}

void server_drop_all(struct server *s)
{
	for (struct client_conn *c = s->conn; c < s->conn + s->conns; c++)
		if (c->used)
			release(s, c);
}
