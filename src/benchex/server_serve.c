// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * server_serve: requests -> queue -> price -> answer -> latency.
 *
 * First come, first served, over all clients. A request is copied once on arrival, and
 * the copy is checked. Its receive is posted again only when the request is answered,
 * so no client can have more requests waiting than its hello said.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/benchex/server.h"

enum { BATCH = 32 };

int server_serve_open(struct server *s)
{
	s->slots = s->conf->depth + SERVER_STUCK_SLOTS;
	s->answer = bx_zeroed(s->slots, sizeof(*s->answer));
	return s->answer ? 0 : -ENOMEM;
}

void server_serve_close(struct server *s)
{
	for (int i = 0; i < BX_DEVS_MAX; i++) {
		bx_memory_put(&s->made[i].heads);
		bx_memory_put(&s->made[i].body);
	}
	bx_fifo_free(&s->fifo);
	free(s->answer);
}

/*
 * Memory is registered with a protection domain, which belongs to a device: each device
 * that a client comes by has its own.
 */
static struct answer_memory *answer_memory(struct server *s, struct bx_dev *d)
{
	struct answer_memory *m = &s->made[d - s->net.dev];

	if (!m->heads.at &&
	    bx_memory_get(&m->heads, d->pd, (size_t)s->slots * BX_HEAD_LEN, IBV_ACCESS_LOCAL_WRITE))
		return NULL;
	if (!m->body.at &&
	    bx_memory_get(&m->body, d->pd, s->conf->size_max, IBV_ACCESS_LOCAL_WRITE))
		return NULL;
	return m;
}

/* --- receives ---------------------------------------------------------------- */

/*
 * Client: into the request's own slot. Bulk: into the shared buffer, whose content is
 * ignored. The tag's slot tells which place a completed receive has filled.
 */
static int post_receive(struct client_conn *c, uint32_t place, uint32_t slot)
{
	struct bx_tag tag = { .conn = place, .gen = c->gen, .slot = slot };
	struct ibv_sge piece = { .length = BX_ASK_LEN };

	if (c->session->role == BX_BULK) {
		piece.addr = (uintptr_t)c->session->buffer.at;
		piece.length = (uint32_t)c->session->buffer.len;
		piece.lkey = c->session->buffer.mr->lkey;
	} else {
		piece.addr = (uintptr_t)c->asks.at + (uint64_t)slot * BX_ASK_LEN;
		piece.lkey = c->asks.mr->lkey;
	}
	return bx_conn_recv(&c->conn, tag, &piece);
}

/* Answer memory is made for the first client of a device: a server of bulk alone needs none. */
int server_post_receives(struct server *s, struct client_conn *c)
{
	int ret = 0;

	if (c->session->role == BX_CLIENT && !answer_memory(s, c->conn.dev))
		return -ENOMEM;
	for (uint32_t i = 0; i < c->hello.depth && !ret; i++)
		ret = post_receive(c, (uint32_t)(c - s->conn), i);
	return ret;
}

/* --- completions ------------------------------------------------------------- */

/*
 * Copy and check a request, and append it to the queue. A wrong one costs the connection.
 * The client may write into the slot again at any moment, also while it is read: hence the
 * copy.
 */
static void queue_request(struct server *s, struct client_conn *c, struct bx_tag t,
			  const struct ibv_wc *wc, int64_t now)
{
	uint8_t copy[BX_ASK_LEN];
	struct bx_waiting w = { .conn = t.conn, .gen = t.gen, .slot = t.slot, .arrived = now };
	const char *wrong;

	if (wc->opcode != IBV_WC_RECV) {
		server_drop(s, c, "it sent a message that is not a request");
		return;
	}
	memcpy(copy, (const uint8_t *)c->asks.at + (size_t)t.slot * BX_ASK_LEN, sizeof(copy));
	wrong = bx_ask_get(&w.ask, &c->hello, c->next, copy, wc->byte_len);
	if (!wrong && bx_fifo_push(&s->fifo, &w))
		wrong = "it sent more requests than it may have waiting";
	if (wrong)
		server_drop(s, c, wrong);
	else
		c->next++;
}

static void count_bulk_message(struct server *s, struct client_conn *c, struct bx_tag t)
{
	c->session->messages++;
	if (post_receive(c, t.conn, t.slot))
		server_drop(s, c, "a receive for it cannot be posted");
}

/*
 * Add a completed answer to the client's result and the total, and report it. PTime is the
 * rest: before the price was begun, and between price and post (see benchex.h).
 */
static void count_answer(struct server *s, struct session *x, const struct answer *a, int64_t now)
{
	uint64_t ctime = (uint64_t)(a->priced - a->begun), wtime = (uint64_t)(now - a->posted);
	uint64_t ptime = (uint64_t)((a->begun - a->arrived) + (a->posted - a->priced));
	struct bx_result *of[] = { x->result, s->total };

	for (int i = 0; i < 2; i++) {
		hist_add(&of[i]->lat.ctime, ctime);
		hist_add(&of[i]->lat.wtime, wtime);
		hist_add(&of[i]->lat.ptime, ptime);
		hist_add(&of[i]->lat.total, ctime + wtime + ptime);
		of[i]->requests++;
		of[i]->bytes += a->bytes;
	}
	x->last = s->net.last = now;
	if (s->report) {
		resex_report(s->report, ctime, wtime, ptime);
		if (!s->flush_at)
			s->flush_at = now + SERVER_FLUSH_NS;
	}
}

/* An answer that completed shows that the client takes answers again. */
static void end_answer(struct server *s, struct client_conn *c, struct answer *a)
{
	a->used = false;
	c->unanswered--;
	if (!c->stuck)
		s->answers--;
	server_stuck(s, c, false);
}

static void handle_send(struct server *s, struct client_conn *c, struct bx_tag t,
			const struct ibv_wc *wc, int64_t now)
{
	struct answer *a = &s->answer[t.slot];

	bx_conn_ended(&c->conn, t, wc);
	c->progress = now;
	if (t.slot == SERVER_ALIVE)
		c->asked = false;
	else if (t.slot >= s->slots || !a->used || a->conn != t.conn || a->gen != t.gen)
		return;
	else
		end_answer(s, c, a);
	if (wc->status == IBV_WC_SUCCESS && t.slot != SERVER_ALIVE)
		count_answer(s, c->session, a, now);
	else if (wc->status != IBV_WC_SUCCESS && !c->parting)
		server_drop(s, c, ibv_wc_status_str(wc->status));
}

static void handle_completion(struct server *s, const struct ibv_wc *wc, int64_t now)
{
	struct bx_tag t = bx_tag_get(wc->wr_id);
	struct client_conn *c = server_conn(s, t.conn, t.gen);

	if (!c)
		return;
	if (t.op != BX_RECV)
		handle_send(s, c, t, wc, now);
	else if (wc->status != IBV_WC_SUCCESS || c->parting)
		return; /* flushed: the connection is ending */
	else if (c->session->role == BX_BULK)
		count_bulk_message(s, c, t);
	else
		queue_request(s, c, t, wc, now);
}

int server_reap(struct server *s)
{
	struct ibv_wc wc[BATCH];
	int total = 0;

	for (struct bx_dev *d = s->net.dev; d < s->net.dev + s->net.devs; d++)
		for (int which = 0; which < BX_CQS_MAX; which++) {
			int n = d->cq[which] ? ibv_poll_cq(d->cq[which], BATCH, wc) : 0;
			int64_t now = n > 0 ? bx_now(&s->net) : 0;

			for (int i = 0; i < n; i++)
				handle_completion(s, &wc[i], now);
			total += n > 0 ? n : 0;
		}
	return total;
}

/* --- serving ----------------------------------------------------------------- */

/* Linear: at most depth answers are under way, and mostly one of the first places is free. */
static uint32_t free_answer(const struct server *s)
{
	uint32_t i = 0;

	while (i < s->slots && s->answer[i].used)
		i++;
	return i;
}

/* The head has memory of its own; the body, the same for all answers, is shared. */
static int post_answer(struct server *s, struct client_conn *c, const struct bx_waiting *w,
		       uint32_t slot)
{
	struct answer_memory *m = &s->made[c->conn.dev - s->net.dev];
	uint8_t *head = (uint8_t *)m->heads.at + (size_t)slot * BX_HEAD_LEN;
	uint32_t bytes = w->ask.answer_bytes;
	uint32_t first = bytes < BX_HEAD_LEN ? bytes : BX_HEAD_LEN;
	struct ibv_sge piece[2] = {
		{ (uintptr_t)head, first, m->heads.mr->lkey },
		{ (uintptr_t)m->body.at, bytes - first, m->body.mr->lkey },
	};
	struct bx_wr wr = {
		.tag = { .conn = w->conn,
			 .gen = w->gen,
			 .slot = slot,
			 .op = BX_WRITE_IMM,
			 .bytes = bytes },
		.piece = piece,
		.pieces = bytes > first ? 2 : 1,
		.remote = c->hello.addr + (w->ask.seq % c->hello.depth) * c->hello.stride,
		.rkey = c->hello.rkey,
		.imm = (uint32_t)w->ask.seq,
	};

	return bx_conn_post(&c->conn, &wr);
}

static int answer_request(struct server *s, struct client_conn *c, const struct bx_waiting *w)
{
	uint32_t slot = free_answer(s);
	struct answer *a = &s->answer[slot];
	struct bx_head h = { .seq = w->ask.seq, .stamp = w->ask.stamp, .options = w->ask.options };
	int ret;

	*a = (struct answer){ .conn = w->conn,
			      .gen = w->gen,
			      .bytes = w->ask.answer_bytes,
			      .arrived = w->arrived,
			      .begun = bx_now(&s->net) };
	if (w->ask.kind == BX_TRADE)
		h.sum = bx_price_many(w->ask.seed, w->ask.options);
	a->priced = bx_now(&s->net);
	bx_head_put((uint8_t *)s->made[c->conn.dev - s->net.dev].heads.at +
			    (size_t)slot * BX_HEAD_LEN,
		    &h);
	/* Its receive first: the client may send again as soon as it has the answer. */
	ret = post_receive(c, w->conn, w->slot);
	/* The post itself counts as the adapter's work: soft-RoCE sends within the call. */
	a->posted = bx_now(&s->net);
	ret = ret ? ret : post_answer(s, c, w, slot);
	if (ret)
		return ret;
	a->used = true;
	s->answers += !c->stuck;
	if (c->unanswered++ == 0)
		c->progress = a->posted;
	if (!c->session->first)
		c->session->first = a->begun;
	if (!s->net.first)
		s->net.first = a->begun;
	return 0;
}

/*
 * A client that takes no answers gets no more: they would fill all places for answers
 * and cost the time to price them.
 */
static bool may_serve(const void *arg, const struct bx_waiting *w)
{
	const struct server *s = arg;
	const struct client_conn *c = &s->conn[w->conn];

	return !c->stuck || c->gen != w->gen;
}

/* One request each call: the loop polls between two, so that arrivals get their true times. */
bool server_serve(struct server *s)
{
	struct bx_waiting w;

	while (s->answers < s->conf->depth && free_answer(s) < s->slots &&
	       bx_fifo_pop(&s->fifo, may_serve, s, &w)) {
		struct client_conn *c = server_conn(s, w.conn, w.gen);

		if (!c || c->parting)
			continue;
		if (answer_request(s, c, &w))
			server_drop(s, c, "an answer to it cannot be posted");
		return true;
	}
	return false;
}

void server_forget(struct server *s, struct client_conn *c)
{
	const uint32_t place = (uint32_t)(c - s->conn);

	/* Its waiting requests would take the room of the next client. */
	bx_fifo_forget(&s->fifo, place, c->gen);
	server_stuck(s, c, false);
	for (uint32_t i = 0; i < s->slots; i++) {
		struct answer *a = &s->answer[i];

		if (a->used && a->conn == place && a->gen == c->gen)
			end_answer(s, c, a);
	}
}

/*
 * Its answers keep their places: the adapter may still send from them. SERVER_STUCK_SLOTS
 * more places are there for that.
 */
void server_stuck(struct server *s, struct client_conn *c, bool stuck)
{
	if (stuck && !c->stuck)
		s->answers -= c->unanswered;
	if (!stuck && c->stuck)
		s->answers += c->unanswered;
	c->stuck = stuck;
}

/* A WRITE of no bytes touches no memory of the peer, but its adapter must acknowledge it. */
int server_ask_alive(struct server *s, struct client_conn *c)
{
	struct bx_wr wr = { .tag = { .conn = (uint32_t)(c - s->conn),
				     .gen = c->gen,
				     .slot = SERVER_ALIVE,
				     .op = BX_WRITE } };
	int ret = bx_conn_post(&c->conn, &wr);

	c->asked = c->asked || !ret;
	return ret;
}
