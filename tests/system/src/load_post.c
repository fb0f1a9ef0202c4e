// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_post: planning, posting and completing work requests.
 *
 * A work request is known to be complete when its own completion or that of
 * a later one of the same queue pair was polled; sequence numbers stand in
 * wr_id. At least one of any "depth" requests in a row is signalled, so that
 * a queue pair can always drain.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/src/load.h"

enum { POLL_MAX = 32 };

const enum ibv_wr_opcode load_opcodes[LOAD_OPS] = {
	IBV_WR_SEND,
	IBV_WR_SEND_WITH_IMM,
	IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_RDMA_READ,
	IBV_WR_ATOMIC_FETCH_AND_ADD,
	IBV_WR_ATOMIC_CMP_AND_SWP,
};

/* --- planning --- */

static enum load_op choose_op(struct load_qp *q)
{
	uint32_t sum = 0, r;

	for (int i = 0; i < LOAD_OPS; i++)
		sum += q->mix[i];
	r = load_below(q->ctx, sum);
	for (int i = 0; i < LOAD_OPS; i++) {
		if (r < q->mix[i])
			return (enum load_op)i;
		r -= q->mix[i];
	}
	return LOAD_SEND;
}

/* One in three is an edge of the MTU, one in three small, one in three anything. */
static uint32_t choose_size(struct load_qp *q)
{
	struct load_range r = q->ctx->opts->sizes;
	uint32_t k = load_below(q->ctx, 4) + 1, max = r.max, n;
	const uint32_t edge[] = { 0, 1, q->mtu * k - 1, q->mtu * k, q->mtu * k + 1, r.max };

	if (q->type == LOAD_UD && max > q->mtu)
		max = q->mtu; /* longer ones are not sent, yet reported as done */
	if (r.min > max)
		return max;
	switch (load_below(q->ctx, 3)) {
	case 0:
		n = edge[load_below(q->ctx, sizeof(edge) / sizeof(edge[0]))];
		break;
	case 1:
		n = load_below(q->ctx, 2 * q->mtu);
		break;
	default:
		n = load_between(q->ctx, (struct load_range){ r.min, max });
	}
	return n < r.min ? r.min : n > max ? max : n;
}

static bool is_atomic(enum load_op op)
{
	return op == LOAD_FETCH_ADD || op == LOAD_CMP_SWAP;
}

/* Cut the message into pieces of at least one byte, each somewhere in the buffer's first half. */
static void choose_pieces(struct load_qp *q, struct load_wr *w, uint32_t most)
{
	struct load_ctx *c = q->ctx;
	uint32_t n = 1 + load_below(c, most), left = w->bytes;

	if (n > w->bytes)
		n = w->bytes;
	if (is_atomic(w->op))
		n = 1;
	w->pieces = n;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t more = n - i - 1;
		uint32_t len = more ? 1 + load_below(c, left - more) : left;
		uint32_t at = is_atomic(w->op) ? 0 : load_below(c, (uint32_t)c->half - len);

		w->sge[i] = (struct ibv_sge){ (uintptr_t)c->buf + at, len, c->mr->lkey };
		left -= len;
	}
	if (w->bad_lkey && n)
		w->sge[0].lkey ^= 0x00ffff00;
}

static void spoil(struct load_qp *q, struct load_wr *w)
{
	if (w->bytes == 0)
		w->bytes = 1 + load_below(q->ctx, q->mtu);
	/* Only RC tells the requester of a wrong rkey. */
	if (q->type == LOAD_RC && load_percent(q->ctx, 70)) {
		if (w->op == LOAD_SEND || w->op == LOAD_SEND_IMM)
			w->op = LOAD_WRITE;
		w->bad_rkey = true;
	} else {
		w->bad_lkey = true;
	}
}

static void plan_one(struct load_qp *q, struct load_wr *w, uint32_t pieces)
{
	struct load_ctx *c = q->ctx;

	memset(w, 0, sizeof(*w));
	w->op = choose_op(q);
	w->bytes = is_atomic(w->op) ? 8 : choose_size(q);
	if (c->opts->errors && load_below(c, c->opts->errors) == 0)
		spoil(q, w);
	w->signalled = !load_percent(c, c->opts->unsignalled);
	if (w->op < LOAD_READ && w->bytes <= c->opts->max_inline && !w->bad_lkey)
		w->inlined = load_percent(c, c->opts->inlined);
	choose_pieces(q, w, pieces);
}

static void plan(struct load_qp *q, uint32_t n, uint32_t max, uint32_t pieces)
{
	uint32_t run = q->unsignalled_run;

	for (uint32_t i = 0; i < n; i++) {
		struct load_wr *w = &q->plan[i];

		plan_one(q, w, pieces);
		if (i + 1 == max || run + 1 >= q->depth)
			w->signalled = true;
		run = w->signalled ? 0 : run + 1;
	}
}

static void accepted(struct load_qp *q, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		q->sent[q->posted % q->kept] = q->plan[i];
		q->posted++;
		q->last_signalled = q->plan[i].signalled;
		q->unsignalled_run = q->last_signalled ? 0 : q->unsignalled_run + 1;
	}
}

/* Where the peer's memory is reached: the second half; atomics at its beginning. */
static uint64_t remote_address(const struct load_qp *q)
{
	return (uintptr_t)q->ctx->buf + q->ctx->half;
}

static uint32_t remote_key(const struct load_qp *q, const struct load_wr *w)
{
	return w->bad_rkey ? q->ctx->mr->rkey ^ 0x00ffff00 : q->ctx->mr->rkey;
}

static unsigned int send_flags(const struct load_wr *w)
{
	return (w->signalled ? (unsigned int)IBV_SEND_SIGNALED : 0) |
	       (w->inlined ? (unsigned int)IBV_SEND_INLINE : 0);
}

/* --- ibv_post_send() --- */

static void fill(const struct load_qp *q, struct load_wr *w, struct ibv_send_wr *s)
{
	memset(s, 0, sizeof(*s));
	s->sg_list = w->sge;
	s->num_sge = (int)w->pieces;
	s->opcode = load_opcodes[w->op];
	s->send_flags = send_flags(w);
	s->imm_data = 0x2a;
	if (q->type == LOAD_UD) {
		s->wr.ud.ah = q->ah;
		s->wr.ud.remote_qpn = q->peer->qp_num;
		s->wr.ud.remote_qkey = LOAD_QKEY;
	} else if (is_atomic(w->op)) {
		s->wr.atomic.remote_addr = remote_address(q);
		s->wr.atomic.rkey = remote_key(q, w);
		s->wr.atomic.compare_add = 1;
		s->wr.atomic.swap = 2;
	} else {
		s->wr.rdma.remote_addr = remote_address(q);
		s->wr.rdma.rkey = remote_key(q, w);
	}
}

/* One call posts the whole list, so that a list longer than the room is refused in the middle. */
static int post_list(struct load_qp *q, uint32_t n)
{
	struct ibv_send_wr list[LOAD_LIST_MAX], *bad = NULL;
	int ret;

	for (uint32_t i = 0; i < n; i++) {
		fill(q, &q->plan[i], &list[i]);
		list[i].wr_id = q->posted + i;
		list[i].next = i + 1 < n ? &list[i + 1] : NULL;
	}
	ret = ibv_post_send(q->qp, list, &bad);
	if (ret && ret != ENOMEM && ret != ENOSPC)
		return -ret;
	if (ret) {
		n = (uint32_t)(bad - list);
		q->truth->refused++;
	}
	accepted(q, n);
	return (int)n;
}

/* --- ibv_wr_*() --- */

static void build_op(struct load_qp *q, struct ibv_qp_ex *x, const struct load_wr *w)
{
	uint64_t to = remote_address(q);
	uint32_t key = remote_key(q, w);

	switch (w->op) {
	case LOAD_SEND:
		ibv_wr_send(x);
		break;
	case LOAD_SEND_IMM:
		ibv_wr_send_imm(x, 0x2a);
		break;
	case LOAD_WRITE:
		ibv_wr_rdma_write(x, key, to);
		break;
	case LOAD_WRITE_IMM:
		ibv_wr_rdma_write_imm(x, key, to, 0x2a);
		break;
	case LOAD_READ:
		ibv_wr_rdma_read(x, key, to);
		break;
	case LOAD_FETCH_ADD:
		ibv_wr_atomic_fetch_add(x, key, to, 1);
		break;
	case LOAD_CMP_SWAP:
	default:
		ibv_wr_atomic_cmp_swp(x, key, to, 1, 2);
	}
}

/* At most one piece, see load_post(). */
static void build_one(struct load_qp *q, struct ibv_qp_ex *x, const struct load_wr *w)
{
	x->wr_flags = send_flags(w);
	build_op(q, x, w);
	if (q->type == LOAD_UD)
		ibv_wr_set_ud_addr(x, q->ah, q->peer->qp_num, LOAD_QKEY);
	if (w->inlined)
		ibv_wr_set_inline_data(x, (void *)(uintptr_t)w->sge[0].addr, w->bytes);
	else
		ibv_wr_set_sge_list(x, w->pieces, w->sge);
}

static int post_wr_api(struct load_qp *q, uint32_t n, bool may_abort)
{
	struct ibv_qp_ex *x = ibv_qp_to_qp_ex(q->qp);
	int ret;

	ibv_wr_start(x);
	for (uint32_t i = 0; i < n; i++) {
		x->wr_id = q->posted + i;
		build_one(q, x, &q->plan[i]);
	}
	if (may_abort && load_percent(q->ctx, q->ctx->opts->abort)) {
		ibv_wr_abort(x);
		q->truth->aborted += n;
		return 0;
	}
	ret = ibv_wr_complete(x);
	if (ret == ENOMEM || ret == ENOSPC) { /* all or nothing */
		q->truth->refused++;
		return 0;
	}
	if (ret)
		return -ret;
	accepted(q, n);
	return (int)n;
}

int load_post(struct load_qp *q, uint32_t max, bool drain)
{
	const struct load_opts *o = q->ctx->opts;
	uint32_t waiting = load_outstanding(q), room = q->slots - 1 - waiting, n;
	uint32_t limit = drain ? q->slots - 1 : q->depth;
	bool wr_api;

	if (drain)
		max = 1;
	if (!drain && max > room && load_percent(q->ctx, o->refuse)) {
		n = room + 1 + load_below(q->ctx, 4);
	} else {
		if (waiting >= limit)
			return 0;
		n = 1 + load_below(q->ctx, o->batch);
		n = n > limit - waiting ? limit - waiting : n;
	}
	if (n > max)
		n = max;
	if (n > LOAD_LIST_MAX)
		n = LOAD_LIST_MAX;
	/*
	 * rxe of rdma-core 44 sends another length than it is given where
	 * ibv_wr_*() sets a list: no length for inline data, and that of the
	 * first piece for each other one.
	 */
	wr_api = load_percent(q->ctx, o->wr_api);
	plan(q, n, max, wr_api ? 1 : o->sge);
	return wr_api ? post_wr_api(q, n, !drain) : post_list(q, n);
}

/* --- completing --- */

static void complete(struct load_qp *q, const struct ibv_wc *wc)
{
	bool error = wc->status != IBV_WC_SUCCESS;

	q->truth->signalled++;
	for (; q->done <= wc->wr_id; q->done++)
		load_account(q->truth, &q->sent[q->done % q->kept], error && q->done == wc->wr_id);
	if (error)
		q->broken = true;
}

static int poll_sends(struct load_qp *q)
{
	struct ibv_wc wc[POLL_MAX];
	int n = ibv_poll_cq(q->cq, POLL_MAX, wc);

	for (int i = 0; i < n; i++) {
		if (wc[i].wr_id < q->done || wc[i].wr_id >= q->posted) {
			fprintf(stderr, "rdmaload: completion %llu is not one of %llu..%llu\n",
				(unsigned long long)wc[i].wr_id, (unsigned long long)q->done,
				(unsigned long long)q->posted);
			return -EPROTO;
		}
		complete(q, &wc[i]);
	}
	return n < 0 ? -EIO : n;
}

int load_poll(struct load_qp *q)
{
	struct ibv_wc wc[POLL_MAX];
	int n, sends;

	do {
		n = ibv_poll_cq(q->peer_cq, POLL_MAX, wc);
		if (n < 0)
			return -EIO;
		q->recvs -= q->recvs < (uint32_t)n ? q->recvs : (uint32_t)n;
	} while (n == POLL_MAX);
	sends = poll_sends(q);
	return sends;
}

int load_reap(struct load_qp *q)
{
	struct ibv_sge sge = { (uintptr_t)q->ctx->buf + q->ctx->half, (uint32_t)q->ctx->half,
			       q->ctx->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int n = load_poll(q);

	while (n >= 0 && !q->broken && q->recvs < q->recvs_kept) {
		if (ibv_post_recv(q->peer, &wr, &bad))
			break; /* full: the count above is only what was polled */
		q->recvs++;
	}
	return n;
}
