// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bulk: the neighbour that disturbs others: moves data by any operation, and reports
 * how much.
 *
 * All queue pairs share one completion queue and one buffer. Each keeps up to depth
 * messages under way. Rate, burst and work apply to all together.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "resex/exit.h"
#include "src/benchex/conn.h"
#include "src/benchex/work.h"

/* Verbs' atomics work on 8 bytes. */
enum { BATCH = 32, ATOMIC_BYTES = 8, LATE_NS = 1000000, CONTROL_BYTES = 65536 };

struct flow {
	struct bx_conn conn;
	struct bx_reply peer;
	uint64_t posted;
};

struct bulk {
	const struct bx_conf *conf;
	struct bx_net net;
	struct bx_random random;
	struct bx_pace pace, control;
	struct bx_work work;
	struct bx_memory data;
	struct flow *flow;
	uint32_t flows; /* connected */
	uint32_t turn;	/* index of the queue pair whose message is next */
	uint32_t room;	/* free entries of the completion queue */
	uint32_t burst; /* messages of this burst not posted yet */
	struct bx_result result;
};

/* --- posting ----------------------------------------------------------------- */

static bool is_atomic(enum bx_op op)
{
	return op == BX_FETCH_ADD || op == BX_CMP_SWAP;
}

/*
 * Post the next message of a queue pair, after --work on it. Random figures are drawn in
 * the order of posts, so that a seed gives the same messages again.
 */
static int post_one(struct bulk *b, struct flow *f)
{
	enum bx_op op = bx_random_op(&b->random, b->conf->weight);
	uint32_t bytes = is_atomic(op) ? ATOMIC_BYTES : bx_random_size(&b->random, b->conf->size);
	struct ibv_sge piece = { (uintptr_t)b->data.at, bytes, b->data.mr->lkey };
	struct bx_wr wr = {
		.tag = { .conn = (uint32_t)(f - b->flow), .op = op, .bytes = bytes },
		.piece = &piece,
		.pieces = 1,
		.remote = f->peer.addr,
		.rkey = f->peer.rkey,
		.imm = (uint32_t)f->posted,
		.compare = op == BX_CMP_SWAP ? f->posted : 1,
		.swap = f->posted + 1,
	};
	int ret;

	/*
	 * The work changes the buffer that is sent, as an application's would. It comes
	 * before the post: it delays this message, not the one under way.
	 */
	bx_work_do(&b->work, b->data.at, b->data.len, bytes);
	if (!b->net.first)
		b->net.first = bx_now(&b->net);
	ret = bx_conn_post(&f->conn, &wr);
	if (ret) {
		bx_say("a message cannot be posted (%s): choose a smaller --depth", strerror(-ret));
		bx_net_stop(&b->net, "error");
		return ret;
	}
	f->posted++;
	b->room--;
	b->turn = (uint32_t)(f - b->flow + 1) % b->flows;
	return 0;
}

/*
 * The next queue pair in turn that may post. NULL: none. room counts free entries of the
 * completion queue: more posts than entries could overrun it, and an overrun is an error
 * for all queue pairs.
 */
static struct flow *next_flow(struct bulk *b)
{
	const struct bx_conf *conf = b->conf;

	for (uint32_t i = 0; b->room && i < b->flows; i++) {
		struct flow *f = &b->flow[(b->turn + i) % b->flows];

		if (f->conn.truth.outstanding >= conf->depth ||
		    (conf->requests && f->posted >= conf->requests))
			continue;
		return f;
	}
	return NULL;
}

/*
 * Is a message due by the rate? If not, *until is lowered to its due time. A burst that has
 * begun goes on without looking at the clock. The next one is due by the rate from the
 * start of the run, not from the last post: a delay does not lower the rate.
 */
static bool may_post(struct bulk *b, int64_t *until)
{
	int64_t due = bx_pace_due(&b->pace), now;

	if (!b->conf->rate || b->burst)
		return true;
	now = bx_now(&b->net);
	if (due > now) {
		*until = due < *until ? due : *until;
		return false;
	}
	if (now - due > LATE_NS)
		b->result.late += b->pace.burst;
	b->burst = b->pace.burst;
	bx_pace_next(&b->pace, 0);
	return true;
}

/*
 * Post what is due, at most BATCH messages and only one with --work: completions must
 * not wait long for the next poll. Returns the number posted.
 */
static uint32_t post_some(struct bulk *b, int64_t *until)
{
	uint32_t n = 0;

	while (!b->net.ended && n < BATCH) {
		struct flow *f = next_flow(b);

		if (!f || !may_post(b, until) || post_one(b, f))
			break;
		n++;
		if (b->burst)
			b->burst--;
		if (b->conf->work_ns_per_kib)
			break;
	}
	return n;
}

/* --- completions ------------------------------------------------------------- */

/*
 * On an error only wr_id, status, qp_num and vendor_err of wc are valid (ibv_poll_cq(3)).
 * The tag in wr_id says which message it was.
 */
static void handle_completion(struct bulk *b, const struct ibv_wc *wc, int64_t now)
{
	struct bx_tag t = bx_tag_get(wc->wr_id);
	struct flow *f = &b->flow[t.conn];

	bx_conn_ended(&f->conn, t, wc);
	b->room++;
	if (wc->status == IBV_WC_SUCCESS) {
		b->net.last = now;
		b->result.requests++;
		b->result.bytes += t.bytes;
		return;
	}
	if (b->net.ended)
		return;
	bx_say("the server at %s is gone (%s): see what it printed last", f->conn.peer,
	       ibv_wc_status_str(wc->status));
	bx_net_stop(&b->net, "peer");
}

/* One clock reading for a batch: its messages were found at the same time. */
static int poll_completions(struct bulk *b)
{
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(b->flow[0].conn.dev->cq[0], BATCH, wc);
	int64_t now = n > 0 ? bx_now(&b->net) : 0;

	for (int i = 0; i < n; i++)
		handle_completion(b, &wc[i], now);
	return n > 0 ? n : 0;
}

/* --- control verbs ----------------------------------------------------------- */

/*
 * Make and destroy a queue pair and a memory region. 0 or -errno. The queue pair is never
 * connected: creating and destroying it is the load.
 */
static int control_round(struct bulk *b)
{
	struct bx_dev *d = b->flow[0].conn.dev;
	struct ibv_qp_init_attr attr = { .send_cq = d->cq[0],
					 .recv_cq = d->cq[0],
					 .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 16,
						  .max_recv_wr = 16,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };
	size_t len = b->data.len < CONTROL_BYTES ? b->data.len : CONTROL_BYTES;
	struct ibv_qp *qp = ibv_create_qp(d->pd, &attr);
	struct ibv_mr *mr = qp ? ibv_reg_mr(d->pd, b->data.at, len, IBV_ACCESS_LOCAL_WRITE) : NULL;
	/* errno is of the call that failed; the calls below may change it. */
	int err = errno;

	if (mr)
		ibv_dereg_mr(mr);
	if (qp)
		ibv_destroy_qp(qp);
	return mr ? 0 : -err;
}

/* A round of control verbs when one is due. True: one was made. */
static bool control_if_due(struct bulk *b, int64_t *until)
{
	int64_t due;
	int ret;

	if (!b->conf->control_per_s || b->net.ended)
		return false;
	due = bx_pace_due(&b->control);
	if (due > bx_now(&b->net)) {
		*until = due < *until ? due : *until;
		return false;
	}
	bx_pace_next(&b->control, 0);
	ret = control_round(b);
	if (ret) {
		bx_say("a queue pair and a region cannot be made (%s): end other programs that use "
		       "the RDMA device",
		       strerror(-ret));
		bx_net_stop(&b->net, "error");
	} else {
		b->result.control_rounds++;
	}
	return true;
}

/* --- the loop ---------------------------------------------------------------- */

/* Messages under way use the buffer: it must stay until their completions are there. */
static bool any_outstanding(const struct bulk *b)
{
	for (const struct flow *f = b->flow; f < b->flow + b->flows; f++)
		if (f->conn.truth.outstanding)
			return true;
	return false;
}

static bool all_done(const struct bulk *b)
{
	for (const struct flow *f = b->flow; f < b->flow + b->flows; f++)
		if (!b->conf->requests || f->posted < b->conf->requests ||
		    f->conn.truth.outstanding)
			return false;
	return true;
}

/*
 * Completions first: they make room for posts. Descriptors are looked at only now and then
 * while there is work, because each look is a system call.
 */
static void run_loop(struct bulk *b)
{
	for (;;) {
		int got = poll_completions(b);
		int64_t now = bx_now(&b->net), until = INT64_MAX;
		uint32_t posted;
		bool controlled;

		bx_net_progress(&b->net, now, b->result.requests, b->result.bytes);
		if (all_done(b))
			bx_net_stop(&b->net, "requests");
		if (b->net.cm_ready && bx_net_peer_left(&b->net) && !b->net.ended) {
			bx_say("the server at %s ended the connection: see what it printed last",
			       b->conf->host);
			bx_net_stop(&b->net, "peer");
		}
		if (bx_net_over(&b->net, now) || (b->net.ended && !any_outstanding(b)))
			return;
		posted = post_some(b, &until);
		controlled = control_if_due(b, &until);
		if (got || posted || controlled)
			bx_net_look(&b->net, now);
		else
			bx_net_idle(&b->net, until);
	}
}

/* --- from start to end ------------------------------------------------------- */

/*
 * One completion queue for all: by --cq-entries, or as large as needed and possible.
 * --cq-entries may give fewer than messages may be under way: then room limits the posts.
 */
static int make_queue_and_buffer(struct bulk *b, struct bx_dev *d)
{
	const struct bx_conf *conf = b->conf;
	uint64_t most = (uint64_t)conf->qps * conf->depth;
	size_t len = conf->size.max > ATOMIC_BYTES ? conf->size.max : ATOMIC_BYTES;
	uint32_t entries = conf->cq_entries;
	int ret;

	if (!entries)
		entries = most < (uint64_t)d->attr.max_cqe ? (uint32_t)most
							   : (uint32_t)d->attr.max_cqe;
	ret = bx_dev_cq(d, 0, entries);
	if (ret) {
		bx_say("a completion queue of %u entries cannot be made (%s): the device allows %d "
		       "at most",
		       entries, strerror(-ret), d->attr.max_cqe);
		return ret;
	}
	b->room = entries;
	return bx_memory_get(&b->data, d->pd, (len + 4095) & ~(size_t)4095, IBV_ACCESS_LOCAL_WRITE);
}

/* Connect one queue pair. The first one finds the device and allocates for all. */
static int connect_flow(struct bulk *b, struct flow *f, uint64_t session)
{
	const struct bx_conf *conf = b->conf;
	struct bx_hello h = { .role = BX_BULK,
			      .conns = (uint16_t)conf->qps,
			      .index = (uint16_t)(f - b->flow),
			      .depth = conf->depth,
			      .size_max = conf->size.max,
			      .session = session };
	int ret = bx_conn_resolve(&b->net, &f->conn);

	if (!ret && !b->data.at)
		ret = make_queue_and_buffer(b, f->conn.dev);
	if (ret)
		return ret;
	ret = bx_conn_queue(&f->conn, f->conn.dev->pd, 0, conf->depth, 1, 1);
	if (ret) {
		bx_say("a queue pair for %u messages cannot be made (%s): choose a smaller "
		       "depth or fewer queue pairs",
		       conf->depth, strerror(-ret));
		return ret;
	}
	return bx_conn_connect(&b->net, &f->conn, &h, &f->peer);
}

/* Random, not from the seed: two runs with one seed must not look like one process. */
static int connect_all(struct bulk *b)
{
	uint64_t session;

	if (getrandom(&session, sizeof(session), 0) < 0)
		return -errno;
	for (uint32_t i = 0; i < b->conf->qps; i++) {
		int ret = connect_flow(b, &b->flow[i], session);

		if (ret)
			return ret;
		b->flows++;
	}
	return 0;
}

/* The work is measured before the run begins, so that its cost is not in the result. */
static void start_run(struct bulk *b)
{
	const struct bx_conf *conf = b->conf;

	b->random.state = conf->seed;
	bx_work_start(&b->work, &b->net.clock, conf->work_ns_per_kib, b->data.at, b->data.len);
	bx_net_begin(&b->net);
	bx_pace_start(&b->pace, conf->rate, conf->burst, b->net.began);
	bx_pace_start(&b->control, conf->control_per_s, 1, b->net.began);
}

/* Disconnect. Work still under way completes with an error, which is counted. */
static void disconnect_all(struct bulk *b)
{
	int64_t until = bx_now(&b->net) + BX_DRAIN_NS / 2;

	for (uint32_t i = 0; i < b->flows; i++)
		bx_conn_disconnect(&b->flow[i].conn);
	while (any_outstanding(b) && bx_now(&b->net) < until)
		if (!poll_completions(b))
			bx_net_idle(&b->net, until);
}

static int print_result(struct bulk *b)
{
	struct bx_result *r = &b->result;
	int ret;

	bx_net_result(&b->net, r);
	r->qp = bx_zeroed(b->flows, sizeof(*r->qp));
	if (!r->qp)
		return -ENOMEM;
	for (r->qps = 0; r->qps < b->flows; r->qps++)
		r->qp[r->qps] = b->flow[r->qps].conn.truth;
	snprintf(r->peer, sizeof(r->peer), "%s", b->flow[0].conn.peer);
	ret = bx_result_print(stdout, r);
	free(r->qp);
	return ret;
}

static void free_bulk(struct bulk *b)
{
	for (uint32_t i = 0; b->flow && i < b->conf->qps; i++)
		bx_conn_destroy(&b->flow[i].conn);
	bx_memory_put(&b->data);
	bx_net_close(&b->net);
	free(b->flow);
	free(b);
}

int bx_bulk(const struct bx_conf *conf)
{
	struct bulk *b = bx_zeroed(1, sizeof(*b));
	bool well;
	int ret;

	if (!b)
		return RESEX_FAILURE;
	b->conf = conf;
	ret = bx_net_open(&b->net, conf);
	if (ret) {
		free(b);
		return ret == -EACCES ? RESEX_PERMISSION : RESEX_FAILURE;
	}
	b->flow = bx_zeroed(conf->qps, sizeof(*b->flow));
	ret = b->flow ? connect_all(b) : -ENOMEM;
	if (!ret) {
		start_run(b);
		run_loop(b);
		disconnect_all(b);
		ret = print_result(b);
	}
	well = !ret && bx_net_well(&b->net);
	free_bulk(b);
	return well ? RESEX_OK : RESEX_FAILURE;
}
