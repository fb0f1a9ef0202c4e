// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * conn: one connection of a client, of bulk or of the server: resolved, connected or
 * accepted, posted to, ended. librdmacm makes it, and moves the queue pair to RTS. See
 * conn.h.
 */
#include "src/benchex/conn.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum {
	/*
	 * Limits of librdmacm's steps, and attributes of queue pairs (ibv_modify_qp(3),
	 * rdma_connect(3)). An ACK timeout of n is 4.096 us * 2^n.
	 */
	RESOLVE_MS = 5000,
	CONNECT_MS = 15000, /* ms */
	ACK_TIMEOUT = 18,   /* 1.07 s: longer than a slow and full link delays an answer */
	RETRIES = 6,	    /* of packets: 7.5 s; soft-RoCE retries for ever at 7 */
	RNR_RETRIES = 7,    /* while the receiver is not ready: for ever */
	RNR_TIMER = 12,	    /* a receiver that is not ready is tried again after 0.64 ms */
	RD_ATOMIC_MAX = 16,
	REJECT_NO_LISTENER = 8, /* no listener: invalid service id */
	REJECT_CONSUMER = 28,	/* the listener's own refusal */
};

/* --- connecting ------------------------------------------------------------ */

/*
 * Wait for the next event of this connection; events of others are acknowledged and
 * dropped. One channel has the events of all connections. While this one is being made, an
 * event of another can only be its end, which its completions show too.
 */
static struct rdma_cm_event *await_event(struct bx_net *n, struct bx_conn *c, int64_t ms, int *err)
{
	int64_t until = bx_now(n) + ms * NS_PER_MS;

	for (;;) {
		struct rdma_cm_event *e = bx_net_await(n, until, err);

		if (!e || e->id == c->id)
			return e;
		rdma_ack_cm_event(e);
	}
}

/*
 * librdmacm has limits of its own, RESOLVE_MS. Twice that is waited here: an event that
 * never comes must not hang the program.
 */
static int await_kind(struct bx_net *n, struct bx_conn *c, enum rdma_cm_event_type kind)
{
	int err = 0;
	struct rdma_cm_event *e = await_event(n, c, RESOLVE_MS * 2, &err);

	if (!e)
		return err;
	if (e->event != kind)
		err = e->status < 0 ? e->status : -EHOSTUNREACH;
	else
		err = 0;
	rdma_ack_cm_event(e);
	return err;
}

static int say_unresolved(const struct bx_conf *conf, int err)
{
	if (err == -EINTR)
		return err;
	if (err == -ENODEV || err == -EADDRNOTAVAIL)
		bx_say("no RDMA device of this machine reaches %s (%s): see rdma link, and choose "
		       "one by its address with --bind",
		       conf->host, strerror(-err));
	else
		bx_say("%s cannot be reached by RDMA (%s): see rdma link and ip route", conf->host,
		       strerror(-err));
	return err;
}

/* Address, then route. The device is known after the first. */
static int resolve_peer(struct bx_net *n, struct bx_conn *c, struct sockaddr *src,
			struct sockaddr *dst)
{
	uint8_t timeout = ACK_TIMEOUT;
	int ret = rdma_create_id(n->cm, &c->id, c, RDMA_PS_TCP);

	if (ret)
		return -errno;
	/* Old kernels refuse the option; they use the timeout of the path. */
	rdma_set_option(c->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
			sizeof(timeout));
	if (rdma_resolve_addr(c->id, src, dst, RESOLVE_MS))
		return -errno;
	ret = await_kind(n, c, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (ret)
		return ret;
	if (rdma_resolve_route(c->id, RESOLVE_MS))
		return -errno;
	return await_kind(n, c, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/* id->verbs is NULL when the address is reached without an RDMA device. */
int bx_conn_resolve(struct bx_net *n, struct bx_conn *c)
{
	const struct bx_conf *conf = n->conf;
	struct sockaddr_storage src, dst;
	int ret = bx_address(conf->host, conf->port, false, &dst);

	memset(c, 0, sizeof(*c));
	if (!ret && conf->bind)
		ret = bx_address(conf->bind, 0, true, &src);
	if (ret)
		return ret;
	ret = resolve_peer(n, c, conf->bind ? (struct sockaddr *)&src : NULL,
			   (struct sockaddr *)&dst);
	if (!ret && !c->id->verbs)
		ret = -ENODEV;
	if (ret) {
		say_unresolved(conf, ret);
		bx_conn_destroy(c);
		return ret;
	}
	bx_peer_name(c->id, c->peer);
	c->dev = bx_net_dev(n, c->id->verbs);
	if (!c->dev) {
		bx_conn_destroy(c);
		return -ENODEV;
	}
	return 0;
}

int bx_conn_queue(struct bx_conn *c, struct ibv_pd *pd, int which, uint32_t sends, uint32_t recvs,
		  uint32_t pieces)
{
	struct ibv_qp_init_attr attr = {
		.qp_context = c,
		.send_cq = c->dev->cq[which],
		.recv_cq = c->dev->cq[which],
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = sends,
			 .max_recv_wr = recvs,
			 .max_send_sge = pieces,
			 .max_recv_sge = 1 },
		.sq_sig_all = 1, /* the counts need every completion */
	};

	if (rdma_create_qp(c->id, pd, &attr))
		return -errno;
	c->truth.qpn = c->id->qp->qp_num;
	c->truth.cq_entries = (uint32_t)c->dev->cq[which]->cqe;
	return 0;
}

/* Most READs and atomics under way on a queue pair. */
static uint8_t rd_atomic(int device)
{
	return (uint8_t)(device < RD_ATOMIC_MAX ? device : RD_ATOMIC_MAX);
}

/* Print why the server refused, with a remedy. */
static int say_refusal(const struct bx_conf *conf, enum bx_refusal why, uint32_t value)
{
	switch (why) {
	case BX_BAD_VERSION:
		bx_say("the server at %s speaks version %u of benchex's protocol, this is version "
		       "%d: use the same benchex on both sides",
		       conf->host, value, BX_VERSION);
		return -EPROTONOSUPPORT;
	case BX_TOO_LARGE:
		bx_say("the server at %s takes sizes up to %u bytes: choose smaller ones, or start "
		       "it with a larger --size-max",
		       conf->host, value);
		return -EMSGSIZE;
	case BX_TOO_MUCH:
		bx_say("the server at %s prices up to %u options for a request: ask for fewer, or "
		       "start it with a larger --options-max",
		       conf->host, value);
		return -EMSGSIZE;
	case BX_FULL:
		bx_say("the server at %s is full (%u connections): use fewer clients, queue pairs "
		       "or a smaller depth",
		       conf->host, value);
		return -EBUSY;
	case BX_CLOSING:
		bx_say("the server at %s is ending: start it again", conf->host);
		return -EBUSY;
	default:
		bx_say("port %u at %s does not speak benchex's protocol: start benchex server "
		       "there, or name its port",
		       conf->port, conf->host);
		return -EPROTO;
	}
}

/* Tell a refusal by benchex, which has a reason, from a refusal by the connection manager. */
static int say_rejected(const struct bx_conf *conf, const struct rdma_cm_event *e)
{
	const struct rdma_conn_param *p = &e->param.conn;
	enum bx_refusal why = BX_NOT_BENCHEX;
	uint32_t value = 0;

	if (e->event == RDMA_CM_EVENT_REJECTED && e->status == REJECT_NO_LISTENER) {
		bx_say("no server listens at %s port %u: start benchex server there", conf->host,
		       conf->port);
		return -ECONNREFUSED;
	}
	if (e->event != RDMA_CM_EVENT_REJECTED || e->status != REJECT_CONSUMER) {
		bx_say("connecting to %s port %u failed (%s, status %d): check that the server "
		       "runs",
		       conf->host, conf->port, rdma_event_str(e->event), e->status);
		return -ECONNREFUSED;
	}
	if (p->private_data)
		why = bx_refuse_get(&value, p->private_data, p->private_data_len);
	return say_refusal(conf, why, value);
}

/*
 * Wait for the answer to our hello, and check it. The reply's bytes belong to the event:
 * they are parsed before it is acknowledged.
 */
static int await_established(struct bx_net *n, struct bx_conn *c, const struct bx_hello *h,
			     struct bx_reply *reply)
{
	int err = 0;
	struct rdma_cm_event *e = await_event(n, c, CONNECT_MS, &err);
	enum bx_refusal why;

	if (!e) {
		if (err != -EINTR)
			bx_say("%s port %u does not answer: check that the server runs",
			       n->conf->host, n->conf->port);
		return err;
	}
	if (e->event != RDMA_CM_EVENT_ESTABLISHED) {
		err = say_rejected(n->conf, e);
		goto out;
	}
	err = 0;
	why = e->param.conn.private_data ? bx_reply_get(reply, h, e->param.conn.private_data,
							e->param.conn.private_data_len)
					 : BX_NOT_BENCHEX;
	if (why != BX_WELCOME)
		err = say_refusal(n->conf, why, 0);
out:
	rdma_ack_cm_event(e);
	return err;
}

int bx_conn_connect(struct bx_net *n, struct bx_conn *c, const struct bx_hello *h,
		    struct bx_reply *reply)
{
	uint8_t data[BX_HELLO_LEN];
	struct rdma_conn_param p = {
		.private_data = data,
		.private_data_len = sizeof(data),
		.responder_resources = rd_atomic(c->dev->attr.max_qp_rd_atom),
		.initiator_depth = rd_atomic(c->dev->attr.max_qp_init_rd_atom),
		.retry_count = RETRIES,
		.rnr_retry_count = RNR_RETRIES,
	};
	int ret;

	bx_hello_put(data, h);
	if (rdma_connect(c->id, &p)) {
		ret = -errno;
		bx_say("connecting to %s failed (%s): check that the server runs", n->conf->host,
		       strerror(-ret));
		return ret;
	}
	ret = await_established(n, c, h, reply);
	if (ret)
		return ret;
	/* The empty WRITE by which the server checks a peer needs the right, also of bulk. */
	ret = bx_conn_established(c, IBV_ACCESS_REMOTE_WRITE);
	if (ret)
		bx_say("the queue pair to %s was not set up (%s): start both sides again",
		       n->conf->host, strerror(-ret));
	return ret;
}

/* Depths of READs and atomics: the smaller of what the peer offers and what the device can. */
int bx_conn_accept(struct bx_conn *c, const struct rdma_conn_param *theirs,
		   const struct bx_reply *r)
{
	uint8_t data[BX_REPLY_LEN], timeout = ACK_TIMEOUT;
	uint8_t most = rd_atomic(c->dev->attr.max_qp_rd_atom);
	uint8_t out = rd_atomic(c->dev->attr.max_qp_init_rd_atom);
	struct rdma_conn_param p = {
		.private_data = data,
		.private_data_len = sizeof(data),
		.rnr_retry_count = RNR_RETRIES,
	};

	bx_reply_put(data, r);
	p.responder_resources = theirs->responder_resources < most ? theirs->responder_resources
								   : most;
	p.initiator_depth = theirs->initiator_depth < out ? theirs->initiator_depth : out;
	rdma_set_option(c->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
			sizeof(timeout));
	return rdma_accept(c->id, &p) ? -errno : 0;
}

/* librdmacm has moved the queue pair to RTS: set our own rights to memory and RNR timer. */
int bx_conn_established(struct bx_conn *c, unsigned int rights)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS,
				 .qp_access_flags = rights,
				 .min_rnr_timer = RNR_TIMER };
	struct ibv_qp_init_attr init;
	int ret = ibv_modify_qp(c->id->qp, &a,
				IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER);

	if (!ret)
		ret = ibv_query_qp(c->id->qp, &a, IBV_QP_PATH_MTU | IBV_QP_DEST_QPN, &init);
	if (ret)
		return ret < 0 ? ret : -ret;
	c->truth.peer_qpn = a.dest_qp_num;
	c->truth.path_mtu = 128U << a.path_mtu; /* enum ibv_mtu: 1 is 256 */
	return 0;
}

/*
 * Moves the queue pair to the error state: all that is under way completes, with success or
 * flushed.
 */
void bx_conn_disconnect(struct bx_conn *c)
{
	if (c->id && c->id->qp)
		rdma_disconnect(c->id);
}

/* The queue pair goes first, as rdma_destroy_id(3) demands. */
void bx_conn_destroy(struct bx_conn *c)
{
	if (!c->id)
		return;
	if (c->id->qp)
		rdma_destroy_qp(c->id);
	rdma_destroy_id(c->id);
	c->id = NULL;
}

/* --- posting ---------------------------------------------------------------- */

static enum ibv_wr_opcode verbs_opcode(uint32_t op)
{
	static const enum ibv_wr_opcode codes[BX_OPS] = {
		[BX_SEND] = IBV_WR_SEND,
		[BX_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
		[BX_WRITE] = IBV_WR_RDMA_WRITE,
		[BX_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
		[BX_READ] = IBV_WR_RDMA_READ,
		[BX_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
		[BX_CMP_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
	};

	return codes[op];
}

/* ibv_post_send(3) returns a positive errno; a provider's negative one is accepted, too. */
int bx_conn_post(struct bx_conn *c, const struct bx_wr *wr)
{
	struct ibv_send_wr out = {
		.wr_id = bx_tag_put(wr->tag),
		.sg_list = (struct ibv_sge *)wr->piece,
		.num_sge = wr->pieces,
		.opcode = verbs_opcode(wr->tag.op),
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(wr->imm),
	};
	struct ibv_send_wr *bad;
	int ret;

	if (wr->tag.op == BX_FETCH_ADD || wr->tag.op == BX_CMP_SWAP) {
		out.wr.atomic.remote_addr = wr->remote;
		out.wr.atomic.rkey = wr->rkey;
		out.wr.atomic.compare_add = wr->compare;
		out.wr.atomic.swap = wr->swap;
	} else {
		out.wr.rdma.remote_addr = wr->remote;
		out.wr.rdma.rkey = wr->rkey;
	}
	ret = ibv_post_send(c->id->qp, &out, &bad);
	if (ret)
		return ret < 0 ? ret : -ret;
	bx_truth_posted(&c->truth);
	return 0;
}

int bx_conn_recv(struct bx_conn *c, struct bx_tag tag, struct ibv_sge *piece)
{
	struct ibv_recv_wr in = { .sg_list = piece, .num_sge = piece ? 1 : 0 }, *bad;
	int ret;

	tag.op = BX_RECV;
	in.wr_id = bx_tag_put(tag);
	ret = ibv_post_recv(c->id->qp, &in, &bad);
	return ret > 0 ? -ret : ret;
}

void bx_conn_ended(struct bx_conn *c, struct bx_tag t, const struct ibv_wc *wc)
{
	bx_truth_ended(&c->truth, (enum bx_op)t.op, t.bytes, wc->status == IBV_WC_SUCCESS);
}
