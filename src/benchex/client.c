// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * client: send requests, wait for their answers, measure the time between.
 *
 * Each connection is a lane. In a closed loop it keeps depth requests under way. In an
 * open loop it sends each request when it is due by rate or trace. The time stamp is
 * then the due time, so a wait before sending counts as latency (no coordinated
 * omission).
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "resex/exit.h"
#include "src/benchex/conn.h"

enum {
	LATE_NS = 1000000, /* sent so long after it was due: counted as late */
	POLL_BATCH = 32,
	SILENT_S = 60, /* without any answer: take the server for gone */
	PLACE_ALIGN = 64,
};

struct lane {
	struct bx_conn conn;
	struct bx_random random;
	struct bx_pace pace;
	uint64_t sent, done;
	int64_t ready;	      /* end of --think after the newest answer */
	struct bx_ask *asked; /* requests under way: depth entries, by sequence number */
	uint8_t *asks;	      /* the same requests as sent */
	uint8_t *places;      /* where the server writes their answers */
};

struct client {
	const struct bx_conf *conf;
	struct bx_net net;
	struct bx_trace trace;
	bool open_loop;
	uint32_t size_max, options_max, stride;
	uint64_t session;
	struct bx_memory asks, places;
	struct bx_ask *asked;
	struct lane *lane;
	uint32_t lanes;	     /* connected */
	uint64_t unanswered; /* requests, of all lanes */
	int64_t asked_at;    /* since when there are some */
	struct bx_result result;
};

/* --- one request ------------------------------------------------------------- */

/*
 * The next request: from the trace, or by the options. A trace starts over at its end: a
 * run may be longer than the trace.
 */
static void make_ask(struct client *c, struct lane *l, struct bx_ask *a)
{
	const struct bx_conf *conf = c->conf;

	*a = (struct bx_ask){ .seq = l->sent, .seed = bx_random(&l->random), .kind = BX_TRADE };
	if (c->trace.n) {
		const struct bx_request *r = &c->trace.at[l->sent % c->trace.n];

		a->kind = r->kind;
		a->options = r->options;
		a->answer_bytes = r->answer_bytes;
	} else {
		a->options = conf->options;
		a->answer_bytes = bx_random_size(&l->random, conf->size);
	}
}

/*
 * The request stays where it is until it is answered: the adapter may read it late, or
 * again for a retry. So each slot has a place of its own.
 */
static int send_ask(struct client *c, struct lane *l, uint32_t slot)
{
	uint8_t *at = l->asks + (size_t)slot * BX_ASK_LEN;
	struct ibv_sge piece = { (uintptr_t)at, BX_ASK_LEN, c->asks.mr->lkey };
	struct bx_tag tag = { .conn = (uint32_t)(l - c->lane), .slot = slot };
	struct bx_wr wr = { .tag = tag, .piece = &piece, .pieces = 1 };
	int ret;

	bx_ask_put(at, &l->asked[slot]);
	wr.tag.op = BX_SEND;
	wr.tag.bytes = BX_ASK_LEN;
	/* The immediate data of an answer consumes a receive; it needs no buffer. */
	ret = bx_conn_recv(&l->conn, tag, NULL);
	return ret ? ret : bx_conn_post(&l->conn, &wr);
}

/* When the next request may be sent; INT64_MAX: not before an answer, or never. */
static int64_t next_due(const struct client *c, const struct lane *l)
{
	const struct bx_conf *conf = c->conf;

	if (c->net.ended || (conf->requests && l->sent >= conf->requests))
		return INT64_MAX;
	/* An answer may come before the completion of its request: check both. */
	if (l->sent - l->done >= conf->depth || l->conn.truth.outstanding >= 2 * conf->depth)
		return INT64_MAX;
	return c->open_loop ? bx_pace_due(&l->pace) : l->ready;
}

/*
 * The stamp goes to the server and comes back in the answer's head, so that an answer to
 * another request is noticed.
 */
static int post_one(struct client *c, struct lane *l)
{
	uint32_t slot = (uint32_t)(l->sent % c->conf->depth);
	int64_t due = bx_pace_due(&l->pace), now = bx_now(&c->net);
	int ret;

	make_ask(c, l, &l->asked[slot]);
	if (c->open_loop && now - due > LATE_NS)
		c->result.late++;
	if (!c->net.first)
		c->net.first = now;
	l->asked[slot].stamp = (uint64_t)(c->open_loop ? due : now);
	ret = send_ask(c, l, slot);
	if (ret) {
		bx_say("a request cannot be posted (%s): choose a smaller --depth", strerror(-ret));
		bx_net_stop(&c->net, "error");
		return ret;
	}
	l->sent++;
	if (c->unanswered++ == 0)
		c->asked_at = now;
	if (c->open_loop)
		bx_pace_next(&l->pace, c->trace.n ? c->trace.at[l->sent % c->trace.n].gap_ns : 0);
	return 0;
}

/*
 * Send all requests that are due. Their number; *until: when the next is due. Lanes that
 * are behind send all that is due at once: an open loop must not slow down with the server.
 */
static uint32_t post_due(struct client *c, int64_t now, int64_t *until)
{
	uint32_t n = 0;

	*until = INT64_MAX;
	for (struct lane *l = c->lane; l < c->lane + c->lanes; l++) {
		int64_t due;

		while ((due = next_due(c, l)) <= now && !post_one(c, l))
			n++;
		if (due < *until)
			*until = due;
	}
	return n;
}

/* --- one answer -------------------------------------------------------------- */

/*
 * Is this the answer to the oldest request: in order, of its length, with its head? Answers
 * come in the order of requests: the server serves first come, first served, and a
 * connection keeps order. So the oldest request is the only one to compare with.
 */
static bool is_right(struct client *c, struct lane *l, const struct ibv_wc *wc)
{
	const struct bx_ask *a = &l->asked[l->done % c->conf->depth];
	const uint8_t *place = l->places + (size_t)(l->done % c->conf->depth) * c->stride;

	if (wc->opcode != IBV_WC_RECV_RDMA_WITH_IMM || l->done >= l->sent ||
	    be32toh(wc->imm_data) != (uint32_t)l->done || wc->byte_len != a->answer_bytes ||
	    !bx_head_is(a, place, a->answer_bytes))
		return false;
	/* Price the first request again: cheap, and it proves that the server computes. */
	if (l->done == 0 && a->kind == BX_TRADE && a->answer_bytes >= BX_HEAD_LEN)
		return bx_head_sum(place) == bx_price_many(a->seed, a->options);
	return true;
}

static void take_answer(struct client *c, struct lane *l, const struct ibv_wc *wc, int64_t now)
{
	const struct bx_ask *a = &l->asked[l->done % c->conf->depth];

	if (wc->status != IBV_WC_SUCCESS)
		return; /* flushed: the connection is gone, which was printed */
	if (!is_right(c, l, wc)) {
		bx_say("the server's answer to request %llu does not match it: use the same "
		       "benchex on both sides",
		       (unsigned long long)l->done);
		bx_net_stop(&c->net, "error");
		return;
	}
	/* Only here is a latency counted: from the stamp to the poll that found the answer. */
	hist_add(&c->result.lat.total, (uint64_t)(now - (int64_t)a->stamp));
	c->result.requests++;
	c->result.bytes += a->answer_bytes;
	c->net.last = now;
	c->unanswered--;
	l->done++;
	l->ready = now + (int64_t)c->conf->think_ns;
}

static void handle_completion(struct client *c, const struct ibv_wc *wc, int64_t now)
{
	struct bx_tag t = bx_tag_get(wc->wr_id);
	struct lane *l = &c->lane[t.conn];

	if (t.op == BX_RECV) {
		take_answer(c, l, wc, now);
		return;
	}
	bx_conn_ended(&l->conn, t, wc);
	if (wc->status == IBV_WC_SUCCESS || c->net.ended)
		return;
	bx_say("the server at %s is gone (%s): see what it printed last", l->conn.peer,
	       ibv_wc_status_str(wc->status));
	bx_net_stop(&c->net, "peer");
}

/*
 * The clock is read after each poll, not once for all devices: this is the time that
 * latencies end at.
 */
static int poll_completions(struct client *c)
{
	struct ibv_wc wc[POLL_BATCH];
	int total = 0, n = 0;

	for (struct bx_dev *d = c->net.dev; d < c->net.dev + c->net.devs; d++) {
		int64_t now;

		n = ibv_poll_cq(d->cq[0], POLL_BATCH, wc);
		now = bx_now(&c->net);
		for (int i = 0; i < n; i++)
			handle_completion(c, &wc[i], now);
		total += n > 0 ? n : 0;
	}
	return total;
}

/* --- the loop ---------------------------------------------------------------- */

/* A lane also waits for its sends: their completions may come after the answer. */
static bool any_outstanding(const struct client *c)
{
	for (const struct lane *l = c->lane; l < c->lane + c->lanes; l++)
		if (l->done < l->sent || l->conn.truth.outstanding)
			return true;
	return false;
}

static bool all_answered(const struct client *c)
{
	for (const struct lane *l = c->lane; l < c->lane + c->lanes; l++)
		if (!c->conf->requests || l->done < c->conf->requests)
			return false;
	return true;
}

/*
 * End the run when the server disconnected, or did not answer for SILENT_S. A server that
 * hangs sends no event: only its silence shows it. It counts from the last answer, or from
 * the first request that waits if that is later.
 */
static void check_server(struct client *c, int64_t now)
{
	int64_t since = c->net.last > c->asked_at ? c->net.last : c->asked_at;

	if (c->net.ended)
		return;
	if (c->net.cm_ready && bx_net_peer_left(&c->net)) {
		bx_say("the server at %s ended the connection: see what it printed last",
		       c->conf->host);
		bx_net_stop(&c->net, "peer");
	} else if (c->unanswered && now - since > SILENT_S * NS_PER_S) {
		bx_say("the server at %s has not answered for %d s: check that it runs",
		       c->conf->host, SILENT_S);
		bx_net_stop(&c->net, "peer");
	}
}

/* The wait is at most a second, so that a silent server is noticed. */
static void run_loop(struct client *c)
{
	for (;;) {
		int got = poll_completions(c);
		int64_t now = bx_now(&c->net), until;

		bx_net_progress(&c->net, now, c->result.requests, c->result.bytes);
		if (all_answered(c))
			bx_net_stop(&c->net, "requests");
		check_server(c, now);
		if (bx_net_over(&c->net, now) || (c->net.ended && !any_outstanding(c)))
			return;
		if (post_due(c, now, &until) == 0 && got == 0)
			bx_net_idle(&c->net, until < now + NS_PER_S ? until : now + NS_PER_S);
		else
			bx_net_look(&c->net, now);
	}
}

/* --- from start to end ------------------------------------------------------- */

/* What the hello announces: the largest answer and the most options of all requests. */
static int read_plan(struct client *c)
{
	char text[256];

	c->size_max = c->conf->size.max;
	c->options_max = c->conf->options;
	c->open_loop = c->conf->rate > 0;
	if (!c->conf->trace)
		return 0;
	if (bx_trace_load(&c->trace, c->conf->trace, text)) {
		bx_say("%s", text);
		return -EINVAL;
	}
	c->size_max = c->options_max = 0;
	for (size_t i = 0; i < c->trace.n; i++) {
		const struct bx_request *r = &c->trace.at[i];

		c->size_max = r->answer_bytes > c->size_max ? r->answer_bytes : c->size_max;
		c->options_max = r->options > c->options_max ? r->options : c->options_max;
		c->open_loop = c->open_loop || r->gap_ns > 0;
	}
	return 0;
}

/*
 * Memory for all lanes together, registered once. Places begin at cache lines, so that two
 * answers never share one. Their memory may be written by the server; that of requests is
 * only read by the own adapter.
 */
static int allocate_memory(struct client *c, struct bx_dev *d)
{
	const struct bx_conf *conf = c->conf;
	uint64_t slots = (uint64_t)conf->clients * conf->depth, bytes;
	int ret;

	c->stride = (c->size_max + PLACE_ALIGN - 1) / PLACE_ALIGN * PLACE_ALIGN;
	bytes = slots * c->stride;
	if (bytes > BX_MEMORY_MAX) {
		bx_say("%u clients, %u requests each, answers of %u bytes need %llu MB: choose "
		       "fewer or smaller ones, for %llu MB at most",
		       conf->clients, conf->depth, c->size_max, (unsigned long long)bytes >> 20,
		       BX_MEMORY_MAX >> 20);
		return -E2BIG;
	}
	c->asked = bx_zeroed(slots, sizeof(*c->asked));
	if (!c->asked)
		return -ENOMEM;
	ret = bx_memory_get(&c->asks, d->pd, slots * BX_ASK_LEN, IBV_ACCESS_LOCAL_WRITE);
	return ret ? ret
		   : bx_memory_get(&c->places, d->pd, bytes,
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
}

/*
 * For each request: its send, and the receive of its answer. A send may complete after the
 * answer, when the next request is posted already: so twice depth sends.
 */
static int make_queue(struct client *c, struct lane *l)
{
	uint32_t depth = c->conf->depth;
	struct bx_dev *d = l->conn.dev;
	/* All lanes share one completion queue; the first lane makes it. */
	int ret = d->cq[0] ? 0 : bx_dev_reserve(d, 0, 3 * depth * c->conf->clients);

	ret = ret ? ret : bx_conn_queue(&l->conn, d->pd, 0, 2 * depth, depth, 1);
	if (ret)
		bx_say("queues for %u clients, %u requests each, cannot be made (%s): choose a "
		       "smaller depth or fewer clients",
		       c->conf->clients, depth, strerror(-ret));
	return ret;
}

/*
 * Connect one lane. The first one finds the device and allocates for all. Each lane has a
 * seed of its own, or all would ask the same.
 */
static int connect_lane(struct client *c, struct lane *l)
{
	uint32_t i = (uint32_t)(l - c->lane), depth = c->conf->depth;
	struct bx_hello h = { .role = BX_CLIENT,
			      .conns = (uint16_t)c->conf->clients,
			      .index = (uint16_t)i,
			      .depth = depth,
			      .size_max = c->size_max,
			      .options_max = c->options_max,
			      .session = c->session };
	struct bx_reply reply;
	int ret = bx_conn_resolve(&c->net, &l->conn);

	if (!ret && !c->asked)
		ret = allocate_memory(c, l->conn.dev);
	ret = ret ? ret : make_queue(c, l);
	if (ret)
		return ret;
	l->asked = c->asked + (size_t)i * depth;
	l->asks = (uint8_t *)c->asks.at + (size_t)i * depth * BX_ASK_LEN;
	l->places = (uint8_t *)c->places.at + (size_t)i * depth * c->stride;
	l->random.state = c->conf->seed + i;
	h.stride = c->stride;
	h.rkey = c->places.mr->rkey;
	h.addr = (uintptr_t)l->places;
	return bx_conn_connect(&c->net, &l->conn, &h, &reply);
}

/* Random, not from the seed: the server tells processes apart by it. */
static int connect_all(struct client *c)
{
	if (getrandom(&c->session, sizeof(c->session), 0) < 0)
		return -errno;
	for (uint32_t i = 0; i < c->conf->clients; i++) {
		int ret = connect_lane(c, &c->lane[i]);

		if (ret)
			return ret;
		c->lanes++;
	}
	return 0;
}

/* Spread the lanes over a period: they must not all send at the same moment. */
static void start_run(struct client *c)
{
	uint64_t gap = c->conf->rate ? NS_PER_S / c->conf->rate : 0;

	bx_net_begin(&c->net);
	for (uint32_t i = 0; i < c->lanes; i++) {
		struct lane *l = &c->lane[i];
		int64_t at = c->net.began + (int64_t)(gap * i / c->lanes);

		bx_pace_start(&l->pace, c->conf->rate, 1, at);
		if (c->trace.n && !c->conf->rate)
			bx_pace_next(&l->pace, c->trace.at[0].gap_ns);
	}
}

/* Disconnect. Work still under way completes with an error, which is counted. */
static void disconnect_all(struct client *c)
{
	int64_t until = bx_now(&c->net) + BX_DRAIN_NS / 2;

	for (uint32_t i = 0; i < c->lanes; i++)
		bx_conn_disconnect(&c->lane[i].conn);
	for (bool left = true; left && bx_now(&c->net) < until;) {
		left = false;
		for (uint32_t i = 0; i < c->lanes; i++)
			left = left || c->lane[i].conn.truth.outstanding;
		if (left && !poll_completions(c))
			bx_net_idle(&c->net, until);
	}
}

/* Requests without an answer at the end are lost, not late: they are in no histogram. */
static int print_result(struct client *c)
{
	struct bx_result *r = &c->result;
	int ret;

	bx_net_result(&c->net, r);
	r->lost = c->unanswered;
	r->qp = bx_zeroed(c->lanes, sizeof(*r->qp));
	if (!r->qp)
		return -ENOMEM;
	for (r->qps = 0; r->qps < c->lanes; r->qps++)
		r->qp[r->qps] = c->lane[r->qps].conn.truth;
	snprintf(r->peer, sizeof(r->peer), "%s", c->lane[0].conn.peer);
	ret = bx_result_print(stdout, r);
	free(r->qp);
	return ret;
}

static void free_client(struct client *c)
{
	for (uint32_t i = 0; c->lane && i < c->conf->clients; i++)
		bx_conn_destroy(&c->lane[i].conn);
	bx_memory_put(&c->asks);
	bx_memory_put(&c->places);
	bx_net_close(&c->net);
	bx_trace_free(&c->trace);
	free(c->asked);
	free(c->lane);
	free(c);
}

int bx_client(const struct bx_conf *conf)
{
	struct client *c = bx_zeroed(1, sizeof(*c));
	bool well;
	int ret;

	if (!c)
		return RESEX_FAILURE;
	c->conf = conf;
	ret = read_plan(c); /* first: errors of a trace are found without any device */
	if (!ret)
		ret = bx_net_open(&c->net, conf);
	if (ret) {
		bx_trace_free(&c->trace);
		free(c);
		return ret == -EACCES ? RESEX_PERMISSION : RESEX_FAILURE;
	}
	c->lane = bx_zeroed(conf->clients, sizeof(*c->lane));
	ret = c->lane ? connect_all(c) : -ENOMEM;
	if (!ret) {
		start_run(c);
		run_loop(c);
		disconnect_all(c);
		ret = print_result(c);
	}
	/*
	 * Read before the client is freed. A result that was printed is no success yet: the
	 * run may have ended by an error.
	 */
	well = !ret && bx_net_well(&c->net);
	free_client(c);
	return well ? RESEX_OK : RESEX_FAILURE;
}
