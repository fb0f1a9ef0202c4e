// SPDX-License-Identifier: GPL-2.0-or-later
/* rdmaodd_qp: queue pairs of which both ends post, and what became of their work requests. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/system/src/rdmaodd.h"

#define RECEIVE	 (1ull << 63) /* in wr_id */
#define STALL_NS 30000000000LL

enum { POLL_MAX = 16, LARGEST = 65536 };

_Noreturn void odd_die(const char *what, int err)
{
	fprintf(stderr, "rdmaodd: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

uint32_t odd_below(struct odd *o, uint32_t n)
{
	return load_below(&o->ctx, n);
}

bool odd_percent(struct odd *o, uint32_t percent)
{
	return load_percent(&o->ctx, percent);
}

int64_t odd_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* --- making ------------------------------------------------------------------ */

uint32_t odd_cq(struct odd *o, uint32_t entries)
{
	struct ibv_cq *cq = ibv_create_cq(o->ctx.ibv, (int)entries, NULL, NULL, 0);

	if (!cq || o->cqs == ODD_CQS_MAX)
		odd_die("ibv_create_cq", errno);
	o->cq[o->cqs] = cq;
	return o->cqs++;
}

struct odd_srq *odd_srq(struct odd *o, uint32_t entries)
{
	struct ibv_srq_init_attr a = { .attr = { .max_wr = entries, .max_sge = 1 } };
	struct odd_srq *s = &o->srq[o->srqs++];

	s->srq = ibv_create_srq(o->ctx.pd, &a);
	if (!s->srq)
		odd_die("ibv_create_srq", errno);
	s->kept = entries;
	return s;
}

static struct load_truth *new_truth(struct odd_qp *q)
{
	struct odd *o = q->o;
	struct load_truth *t = &o->truth[o->truths++];

	if (o->truths > ODD_TRUTHS_MAX)
		odd_die("queue pairs", E2BIG);
	t->qpn = q->qp->qp_num;
	t->type = q->type;
	t->mtu = q->mtu;
	return t;
}

static uint32_t new_mtu(struct odd *o, const struct odd_shape *s)
{
	if (s->type == LOAD_UD)
		return 128u << o->ctx.port_mtu;
	return s->mtu ? s->mtu : 256u << odd_below(o, o->ctx.port_mtu);
}

struct odd_qp *odd_qp(struct odd *o, const struct odd_shape *s)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	static const uint32_t inlines[] = { 0, 1, 60, 200, 400 };
	struct ibv_qp_init_attr a = { .qp_type = types[s->type] };
	struct odd_qp *q = &o->qp[o->qps++];

	if (o->qps > ODD_QPS_MAX)
		odd_die("queue pairs", E2BIG);
	*q = (struct odd_qp){ .o = o, .type = s->type, .srq = s->srq, .rnr_retry = 7 };
	q->depth = s->depth ? s->depth : 1 + odd_below(o, ODD_DEPTH_MAX);
	q->max_inline = inlines[odd_below(o, sizeof(inlines) / sizeof(inlines[0]))];
	q->unsignalled = odd_below(o, 3) * 40;
	q->mtu = new_mtu(o, s);
	q->kept = s->srq ? 0 : 64;
	a.cap.max_send_wr = q->depth;
	a.cap.max_recv_wr = q->kept;
	a.cap.max_send_sge = ODD_SGE_MAX;
	a.cap.max_recv_sge = 1;
	a.cap.max_inline_data = q->max_inline;
	a.send_cq = o->cq[s->send_cq];
	a.recv_cq = o->cq[s->recv_cq];
	a.srq = s->srq ? s->srq->srq : NULL;
	q->qp = ibv_create_qp(o->ctx.pd, &a);
	if (!q->qp)
		odd_die("ibv_create_qp", errno);
	q->truth = new_truth(q);
	return q;
}

/* Half of all queue pairs begin close to the wrap of the 24-bit packet numbers. */
static uint32_t new_psn(struct odd *o)
{
	return odd_below(o, 2) ? 0xffffff - odd_below(o, 200) : odd_below(o, 1 << 24);
}

void odd_connect(struct odd_qp *a, struct odd_qp *b)
{
	struct odd_qp *both[] = { a, b };
	uint32_t psn[] = { new_psn(a->o), new_psn(a->o) };
	struct ibv_ah_attr ah = load_address(&a->o->ctx);

	a->to = b;
	b->to = a;
	b->mtu = b->truth->mtu = a->mtu; /* it belongs to the path */
	for (int i = 0; i < 2; i++) {
		struct odd_qp *q = both[i];
		const struct load_path p = { q->type, q->mtu, q->to->qp->qp_num,
					     psn[!i], psn[i], q->rnr_retry,
					     8 };
		int ret = load_to_rts(&q->o->ctx, q->qp, &p);

		if (ret)
			odd_die("ibv_modify_qp on the way to RTS", ret);
		q->truth->peer = p.peer;
		if (q->type != LOAD_UD || q->ah)
			continue;
		q->ah = ibv_create_ah(q->o->ctx.pd, &ah);
		if (!q->ah)
			odd_die("ibv_create_ah", errno);
	}
}

void odd_reset(struct odd_qp *q)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RESET };
	int ret = ibv_modify_qp(q->qp, &a, IBV_QP_STATE);

	if (ret)
		odd_die("ibv_modify_qp to RESET", ret);
	q->starved = true;     /* no receives until it is connected again */
	while (odd_poll(q->o)) /* what was complete before counts */
		;
	for (; q->done < q->posted; q->done++) {
		const struct odd_wr *w = &q->sent[q->done % (ODD_DEPTH_MAX + 1)];

		q->truth->unknown++;
		q->truth->unknown_mtus += load_mtus(q->type, w->op, w->bytes, q->mtu);
	}
	q->unsignalled_run = 0;
	q->recvs = 0;
	q->broken = q->starved = false;
}

void odd_destroy(struct odd_qp *q)
{
	int ret = ibv_destroy_qp(q->qp);

	if (ret)
		odd_die("ibv_destroy_qp", ret);
	if (q->ah)
		ibv_destroy_ah(q->ah);
	q->qp = NULL;
	q->ah = NULL;
}

/* --- posting ------------------------------------------------------------------- */

static uint32_t new_size(struct odd_qp *q)
{
	struct odd *o = q->o;
	uint32_t m = q->mtu, n;

	switch (odd_below(o, 16)) {
	case 0:
	case 1:
		return 0;
	case 2:
	case 3:
		return 1;
	case 4:
	case 5:
		return m - 1;
	case 6:
	case 7:
		return m;
	case 8:
		n = LARGEST - odd_below(o, 2);
		break;
	case 9:
		n = odd_below(o, LARGEST + 1);
		break;
	case 10:
	case 11:
		n = m * (1 + odd_below(o, 6)) + odd_below(o, 3) - 1;
		break;
	default:
		n = odd_below(o, 2) ? m + 1 : odd_below(o, 500);
	}
	/* rxe sends no UD message above the MTU of its port, yet reports it as done. */
	return q->type == LOAD_UD && n > m ? m : n;
}

/* Cut the message at random places of the first half; pieces may be empty. */
static int new_pieces(struct odd_qp *q, uint32_t bytes, struct ibv_sge *sge)
{
	struct load_ctx *c = &q->o->ctx;
	uint32_t n = 1 + odd_below(q->o, ODD_SGE_MAX), left = bytes;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t len = i + 1 == n ? left : odd_below(q->o, left + 1);
		uint32_t at = odd_below(q->o, (uint32_t)c->half - len);

		sge[i] = (struct ibv_sge){ (uintptr_t)c->buf + at, len, c->mr->lkey };
		left -= len;
	}
	return bytes == 0 && odd_below(q->o, 2) ? 0 : (int)n;
}

static enum load_op new_op(struct odd_qp *q)
{
	static const uint32_t kinds[] = { LOAD_OPS, LOAD_READ, LOAD_WRITE }; /* RC, UC, UD */

	if (q->bad_rkey)
		return odd_below(q->o, 2) ? LOAD_READ : LOAD_WRITE;
	return (enum load_op)odd_below(q->o, kinds[q->type]);
}

static void new_wr(struct odd_qp *q, struct odd_wr *w, struct ibv_send_wr *s, struct ibv_sge *sge)
{
	struct load_ctx *c = &q->o->ctx;
	uintptr_t far = (uintptr_t)c->buf + c->half;
	uint32_t key = q->bad_rkey ? c->mr->rkey ^ 0x00abab00 : c->mr->rkey;
	bool atomic;

	w->op = new_op(q);
	atomic = w->op == LOAD_FETCH_ADD || w->op == LOAD_CMP_SWAP;
	w->bytes = atomic ? 8 : q->bad_rkey ? 1 + odd_below(q->o, 4000) : new_size(q);
	w->signalled = !odd_percent(q->o, q->unsignalled) || q->unsignalled_run + 1 >= q->depth;
	q->unsignalled_run = w->signalled ? 0 : q->unsignalled_run + 1;
	*s = (struct ibv_send_wr){ .opcode = load_opcodes[w->op], .sg_list = sge, .imm_data = 7 };
	s->send_flags = w->signalled ? (unsigned int)IBV_SEND_SIGNALED : 0;
	if (odd_percent(q->o, 20))
		s->send_flags |= IBV_SEND_SOLICITED;
	if (w->op < LOAD_READ && w->bytes <= q->max_inline && odd_below(q->o, 3))
		s->send_flags |= IBV_SEND_INLINE;
	if (atomic) {
		sge[0] = (struct ibv_sge){ (uintptr_t)c->buf + 8ul * odd_below(q->o, 500), 8,
					   c->mr->lkey };
		s->num_sge = 1;
		s->wr.atomic.remote_addr = far + 8ul * odd_below(q->o, 500);
		s->wr.atomic.rkey = key;
		s->wr.atomic.compare_add = odd_below(q->o, 3);
		s->wr.atomic.swap = odd_below(q->o, 3);
		return;
	}
	s->num_sge = new_pieces(q, w->bytes, sge);
	if (q->type == LOAD_UD) {
		s->wr.ud.ah = q->ah;
		s->wr.ud.remote_qpn = odd_below(q->o, 4) ? q->to->qp->qp_num : q->qp->qp_num;
		s->wr.ud.remote_qkey = LOAD_QKEY;
	} else {
		s->wr.rdma.remote_addr = far + odd_below(q->o, (uint32_t)c->half - w->bytes);
		s->wr.rdma.rkey = key;
	}
}

uint32_t odd_post(struct odd_qp *q, uint32_t n)
{
	struct ibv_send_wr list[ODD_BATCH_MAX], *bad;
	struct ibv_sge sge[ODD_BATCH_MAX][ODD_SGE_MAX];
	uint32_t room = q->depth - odd_waiting(q);
	int ret;

	n = n > room ? room : n;
	n = n > ODD_BATCH_MAX ? ODD_BATCH_MAX : n;
	if (n == 0)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		struct odd_wr *w = &q->sent[(q->posted + i) % (ODD_DEPTH_MAX + 1)];

		new_wr(q, w, &list[i], sge[i]);
		list[i].wr_id = q->posted + i;
		list[i].next = i + 1 < n ? &list[i + 1] : NULL;
		if (q->posted + i + 1 == q->target) {
			w->signalled = true;
			q->unsignalled_run = 0;
			list[i].send_flags |= IBV_SEND_SIGNALED;
		}
	}
	ret = ibv_post_send(q->qp, list, &bad);
	/* A child may fill its parent's ring, but the kernel hears only the parent's doorbell. */
	if (ret && ret != EACCES)
		odd_die("ibv_post_send", ret);
	q->posted += n;
	return n;
}

/* --- completing ---------------------------------------------------------------- */

static struct odd_qp *find(struct odd *o, uint32_t qpn)
{
	for (uint32_t i = 0; i < o->qps; i++)
		if (o->qp[i].qp && o->qp[i].qp->qp_num == qpn)
			return &o->qp[i];
	return NULL; /* destroyed */
}

static void complete(struct odd_qp *q, const struct ibv_wc *wc)
{
	bool error = wc->status != IBV_WC_SUCCESS;

	if (wc->wr_id & RECEIVE) {
		uint32_t *recvs = q->srq ? &q->srq->recvs : &q->recvs;

		*recvs -= *recvs > 0;
		return;
	}
	if (wc->wr_id < q->done || wc->wr_id >= q->posted) {
		fprintf(stderr, "rdmaodd: completion %llu is not one of %llu..%llu\n",
			(unsigned long long)wc->wr_id, (unsigned long long)q->done,
			(unsigned long long)q->posted);
		exit(1);
	}
	q->truth->signalled++;
	for (; q->done <= wc->wr_id; q->done++)
		load_account(
			q->truth,
			&(struct load_wr){ .op = q->sent[q->done % (ODD_DEPTH_MAX + 1)].op,
					   .bytes = q->sent[q->done % (ODD_DEPTH_MAX + 1)].bytes },
			error && q->done == wc->wr_id);
	q->broken = q->broken || error;
}

static void refill(struct odd *o, struct ibv_qp *qp, struct odd_srq *s, uint32_t *recvs,
		   uint32_t kept)
{
	struct ibv_sge sge = { (uintptr_t)o->ctx.buf + o->ctx.half, (uint32_t)o->ctx.half,
			       o->ctx.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = RECEIVE, .sg_list = &sge, .num_sge = 1 }, *bad;

	while (*recvs < kept) {
		int ret = s ? ibv_post_srq_recv(s->srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad);

		if (ret)
			return; /* full */
		++*recvs;
	}
}

uint32_t odd_poll(struct odd *o)
{
	struct ibv_wc wc[POLL_MAX];
	uint32_t sends = 0;

	for (uint32_t i = 0; i < o->cqs; i++) {
		int n = ibv_poll_cq(o->cq[i], POLL_MAX, wc);

		if (n < 0)
			odd_die("ibv_poll_cq", EIO);
		for (int k = 0; k < n; k++) {
			struct odd_qp *q = find(o, wc[k].qp_num);

			if (q)
				complete(q, &wc[k]);
			sends += !(wc[k].wr_id & RECEIVE);
		}
	}
	for (uint32_t i = 0; i < o->qps; i++) {
		struct odd_qp *q = &o->qp[i];

		if (q->qp && q->to && !q->srq && !q->starved && !q->broken)
			refill(o, q->qp, NULL, &q->recvs, q->kept);
	}
	for (uint32_t i = 0; i < o->srqs; i++)
		refill(o, NULL, &o->srq[i], &o->srq[i].recvs, o->srq[i].kept);
	return sends;
}

/* --- all of them ----------------------------------------------------------------- */

void odd_drain(struct odd *o)
{
	int64_t until = odd_now_ns() + STALL_NS;
	bool busy = true;

	while (busy) {
		if (odd_poll(o))
			until = odd_now_ns() + STALL_NS;
		busy = false;
		for (uint32_t i = 0; i < o->qps; i++) {
			struct odd_qp *q = &o->qp[i];

			/* Of an unsignalled one, only a later one tells that it is complete. */
			if (q->qp && odd_waiting(q) && q->unsignalled_run) {
				q->target = q->posted + 1;
				odd_post(q, 1);
			}
			busy |= q->qp && odd_waiting(q);
		}
		if (odd_now_ns() > until)
			odd_die("no completion for 30 s", ETIMEDOUT);
	}
}

void odd_first(struct odd *o)
{
	odd_poll(o);
	for (uint32_t i = 0; i < o->qps; i++) {
		o->qp[i].target = o->qp[i].posted + 1;
		odd_post(&o->qp[i], 1);
	}
	odd_drain(o);
}

/* Another size for a completion queue in use: at least what may be waiting in it. */
static void resize(struct odd *o)
{
	int ret;

	if (o->resized < 0 || odd_below(o, 12))
		return;
	ret = ibv_resize_cq(o->cq[o->resized], 200 + (int)odd_below(o, 800));
	if (ret)
		odd_die("ibv_resize_cq", ret);
}

/* One pass over all queue pairs: the number of posts and completions, or -1 when all is done. */
static int pass(struct odd *o, int64_t *next)
{
	int did = (int)odd_poll(o);
	bool busy = false;

	for (uint32_t i = 0; i < o->qps; i++) {
		struct odd_qp *q = &o->qp[i];
		uint64_t left = q->target - q->posted;

		busy |= left || odd_waiting(q);
		if (!left || odd_now_ns() < *next)
			continue;
		left = left < ODD_BATCH_MAX ? left : ODD_BATCH_MAX;
		if (!odd_post(q, o->pace_us ? 1 : 1 + odd_below(o, (uint32_t)left)))
			continue;
		*next = odd_now_ns() + (int64_t)o->pace_us * 1000;
		did++;
		resize(o);
	}
	return busy ? did : -1;
}

void odd_work(struct odd *o)
{
	int64_t next = odd_now_ns(), until = next + STALL_NS;
	int did = 0;

	for (uint32_t i = 0; i < o->qps; i++)
		o->qp[i].target = o->qp[i].posted + o->count / 2 + odd_below(o, o->count + 1) + 1;
	while (did >= 0) {
		did = pass(o, &next);
		if (did > 0)
			until = odd_now_ns() + STALL_NS;
		if (did == 0 && o->pace_us)
			nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
		if (odd_now_ns() > until)
			odd_die("no completion for 30 s", ETIMEDOUT);
	}
}
