// SPDX-License-Identifier: GPL-2.0-or-later
/* load_verbs: the device, and pairs of queue pairs connected by loopback. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/src/load.h"

enum { GRH_BYTES = 40, BUFFER_SPARE = 4096 };

static int fail(const char *what, int err)
{
	if (err < 0)
		err = -err;
	if (err == 0)
		err = EIO;
	fprintf(stderr, "rdmaload: %s failed: %s\n", what, strerror(err));
	return -err;
}

uint64_t load_random(struct load_ctx *c)
{
	uint64_t z = (c->rng += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint32_t load_below(struct load_ctx *c, uint32_t n)
{
	return n ? (uint32_t)(load_random(c) % n) : 0;
}

uint32_t load_between(struct load_ctx *c, struct load_range r)
{
	return r.min + load_below(c, r.max - r.min + 1);
}

bool load_percent(struct load_ctx *c, uint32_t percent)
{
	return load_below(c, 100) < percent;
}

static int open_device(struct load_ctx *c)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int err = ENODEV;

	for (int i = 0; list && list[i] && !c->ibv; i++)
		if (!c->opts->device || !strcmp(ibv_get_device_name(list[i]), c->opts->device)) {
			c->ibv = ibv_open_device(list[i]);
			err = c->ibv ? 0 : errno;
		}
	if (list)
		ibv_free_device_list(list);
	if (!c->ibv)
		return fail("opening an RDMA device (is one there? see rdma link)", err);
	return 0;
}

static int find_gid(struct load_ctx *c)
{
	static const union ibv_gid none;
	int i = c->opts->gid;

	if (i >= 0) {
		if (ibv_query_gid(c->ibv, 1, i, &c->gid))
			return fail("reading the GID asked for", errno);
	} else {
		i = 1;
		if (ibv_query_gid(c->ibv, 1, i, &c->gid) || !memcmp(&c->gid, &none, sizeof(none)))
			i = 0;
		if (i == 0 && ibv_query_gid(c->ibv, 1, 0, &c->gid))
			return fail("reading GID 0", errno);
	}
	c->gid_index = i;
	return 0;
}

static int get_memory(struct load_ctx *c)
{
	unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	c->half = ((size_t)c->opts->sizes.max + GRH_BYTES + BUFFER_SPARE + 4095) & ~(size_t)4095;
	c->buf = aligned_alloc(4096, 2 * c->half);
	if (!c->buf)
		return fail("allocating the message buffer", ENOMEM);
	memset(c->buf, 0x5a, 2 * c->half);
	c->mr = ibv_reg_mr(c->pd, c->buf, 2 * c->half, access);
	return c->mr ? 0 : fail("ibv_reg_mr", errno);
}

int load_open(struct load_ctx *c, const struct load_opts *o)
{
	struct ibv_port_attr port;
	int ret;

	memset(c, 0, sizeof(*c));
	c->opts = o;
	c->rng = o->seed;
	ret = open_device(c);
	if (ret)
		return ret;
	ret = ibv_query_port(c->ibv, 1, &port);
	if (ret)
		return fail("ibv_query_port", ret);
	c->port_mtu = (uint8_t)port.active_mtu;
	ret = find_gid(c);
	if (ret)
		return ret;
	c->pd = ibv_alloc_pd(c->ibv);
	if (!c->pd)
		return fail("ibv_alloc_pd", errno);
	return get_memory(c);
}

void load_close(struct load_ctx *c)
{
	if (c->mr)
		ibv_dereg_mr(c->mr);
	free(c->buf);
	if (c->pd)
		ibv_dealloc_pd(c->pd);
	if (c->ibv)
		ibv_close_device(c->ibv);
	memset(c, 0, sizeof(*c));
}

static uint64_t send_ops(enum load_type type)
{
	uint64_t ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;

	if (type != LOAD_UD)
		ops |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	if (type == LOAD_RC)
		ops |= IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
		       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	return ops;
}

static struct ibv_qp *make_qp(const struct load_qp *q, struct ibv_cq *cq, uint32_t sends,
			      uint32_t recvs)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	const struct load_opts *o = q->ctx->opts;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = types[q->type],
		.cap = { .max_send_wr = sends, .max_recv_wr = recvs, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = q->ctx->pd,
		.send_ops_flags = send_ops(q->type),
	};

	attr.cap.max_send_sge = cq == q->cq ? o->sge : 1;
	attr.cap.max_inline_data = cq == q->cq ? o->max_inline : 0;
	return ibv_create_qp_ex(q->ctx->ibv, &attr);
}

struct ibv_ah_attr load_address(const struct load_ctx *c)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = c->gid, .hop_limit = 1, .sgid_index = (uint8_t)c->gid_index }
	};
}

static int to_init(struct ibv_qp *qp, const struct load_path *p)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = LOAD_QKEY };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (p->type == LOAD_RC)
		a.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	mask |= p->type == LOAD_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	return ibv_modify_qp(qp, &a, mask);
}

static int to_rtr(const struct load_ctx *c, struct ibv_qp *qp, const struct load_path *p)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTR,
				 .dest_qp_num = p->peer,
				 .rq_psn = p->rq_psn,
				 .max_dest_rd_atomic = p->reads,
				 .min_rnr_timer = 1,
				 .ah_attr = load_address(c) };
	int mask = IBV_QP_STATE;

	for (uint32_t m = p->mtu; m >= 256; m /= 2)
		a.path_mtu++; /* 256 is IBV_MTU_256, 1 */
	if (p->type != LOAD_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (p->type == LOAD_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(qp, &a, mask);
}

static int to_rts(struct ibv_qp *qp, const struct load_path *p)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS,
				 .sq_psn = p->sq_psn,
				 .timeout = 16,
				 .retry_cnt = 7,
				 .rnr_retry = p->rnr_retry,
				 .max_rd_atomic = p->reads };
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (p->type == LOAD_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(qp, &a, mask);
}

int load_to_rts(const struct load_ctx *c, struct ibv_qp *qp, const struct load_path *p)
{
	int ret = to_init(qp, p);

	ret = ret ? ret : to_rtr(c, qp, p);
	return ret ? ret : to_rts(qp, p);
}

int load_connect(struct load_qp *q)
{
	/* One in two starts close to the wrap of the 24-bit packet numbers. */
	uint32_t psn = (uint32_t)load_random(q->ctx) & 0xffffff;
	uint32_t back = psn ^ 0x5a5a5a;
	struct load_path p;
	int ret;

	if (load_percent(q->ctx, 50))
		psn = 0xffffff - load_below(q->ctx, 64);
	p = (struct load_path){ q->type, q->mtu, q->peer->qp_num, back, psn, 7, 16 };
	ret = load_to_rts(q->ctx, q->qp, &p);
	p = (struct load_path){ q->type, q->mtu, q->qp->qp_num, psn, back, 7, 16 };
	ret = ret ? ret : load_to_rts(q->ctx, q->peer, &p);
	if (ret)
		return fail("ibv_modify_qp on the way to RTS", ret);
	return 0;
}

static void choose_mix(struct load_qp *q)
{
	const struct load_opts *o = q->ctx->opts;
	uint32_t sum = 0;

	for (int i = 0; i < LOAD_OPS; i++) {
		q->mix[i] = o->mix_random ? load_below(q->ctx, 10) : o->mix[i];
		if (q->type == LOAD_UD && i > LOAD_SEND_IMM)
			q->mix[i] = 0;
		if (q->type == LOAD_UC && i > LOAD_WRITE_IMM)
			q->mix[i] = 0;
		sum += q->mix[i];
	}
	if (sum == 0)
		q->mix[LOAD_SEND] = 1;
}

static void choose_shape(struct load_qp *q)
{
	const struct load_opts *o = q->ctx->opts;

	do
		q->type = (enum load_type)load_below(q->ctx, LOAD_TYPES);
	while (!(o->types & (1u << q->type)));
	q->mtu = o->mtu ? o->mtu : 256u << load_below(q->ctx, q->ctx->port_mtu);
	if (q->type == LOAD_UD)
		q->mtu = 128u << q->ctx->port_mtu;
	q->depth = load_between(q->ctx, o->depth);
	for (q->slots = 2; q->slots < q->depth + 1;)
		q->slots *= 2;
	q->recvs_kept = q->slots * 2;
	choose_mix(q);
}

static int make_all(struct load_qp *q)
{
	struct ibv_ah_attr ah = load_address(q->ctx);

	q->plan = calloc(q->slots + 8, sizeof(*q->plan));
	q->kept = q->slots + LOAD_LIST_MAX;
	q->sent = calloc(q->kept, sizeof(*q->sent));
	if (!q->plan || !q->sent)
		return fail("allocating work requests", ENOMEM);
	q->cq = ibv_create_cq(q->ctx->ibv, (int)q->slots + 1, NULL, NULL, 0);
	q->peer_cq = ibv_create_cq(q->ctx->ibv, (int)q->slots * 2 + 1, NULL, NULL, 0);
	if (!q->cq || !q->peer_cq)
		return fail("ibv_create_cq", errno);
	q->qp = make_qp(q, q->cq, q->depth, 1);
	if (q->qp)
		q->peer = make_qp(q, q->peer_cq, 1, q->slots * 2);
	if (!q->peer)
		return fail("ibv_create_qp_ex", errno);
	if (q->type == LOAD_UD) {
		q->ah = ibv_create_ah(q->ctx->pd, &ah);
		if (!q->ah)
			return fail("ibv_create_ah", errno);
	}
	return 0;
}

int load_create(struct load_qp *q, struct load_ctx *c, struct load_truth *t)
{
	int ret;

	memset(q, 0, sizeof(*q));
	memset(t, 0, sizeof(*t));
	q->ctx = c;
	q->truth = t;
	q->last_signalled = true;
	choose_shape(q);
	ret = make_all(q);
	ret = ret ? ret : load_connect(q);
	if (ret) {
		load_destroy(q);
		return ret;
	}
	t->qpn = q->qp->qp_num;
	t->peer = q->peer->qp_num;
	t->type = q->type;
	t->mtu = q->mtu;
	t->slots = q->slots;
	ret = load_reap(q); /* gives the peer its receives */
	return ret < 0 ? ret : 0;
}

void load_destroy(struct load_qp *q)
{
	if (q->qp)
		ibv_destroy_qp(q->qp);
	if (q->peer)
		ibv_destroy_qp(q->peer);
	if (q->ah)
		ibv_destroy_ah(q->ah);
	if (q->cq)
		ibv_destroy_cq(q->cq);
	if (q->peer_cq)
		ibv_destroy_cq(q->peer_cq);
	free(q->plan);
	free(q->sent);
	memset(q, 0, sizeof(*q));
}

int load_reset(struct load_qp *q)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RESET };
	int ret;

	ret = ibv_modify_qp(q->qp, &a, IBV_QP_STATE);
	ret = ret ? ret : ibv_modify_qp(q->peer, &a, IBV_QP_STATE);
	if (ret)
		return fail("ibv_modify_qp to RESET", ret);
	do /* completions that were there before the reset still count */
		ret = load_poll(q);
	while (ret > 0);
	if (ret < 0)
		return ret;
	for (; q->done < q->posted; q->done++) {
		const struct load_wr *w = &q->sent[q->done % q->kept];

		q->truth->unknown++;
		q->truth->unknown_mtus += load_mtus(q->type, w->op, w->bytes, q->mtu);
	}
	q->unsignalled_run = 0;
	q->last_signalled = true;
	q->broken = false;
	ret = load_connect(q);
	if (ret)
		return ret;
	q->recvs = 0; /* a reset empties the peer's receive queue as well */
	ret = load_reap(q);
	return ret < 0 ? ret : 0;
}

int load_resize(struct load_qp *q, uint32_t n)
{
	int ret = ibv_resize_cq(q->cq, (int)n);

	return ret ? fail("ibv_resize_cq", ret) : 0;
}
