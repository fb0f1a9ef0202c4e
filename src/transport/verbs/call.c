// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * call: our links to peers: address, route, connection, hello, operations.
 *
 * Each step is started here and ends with an event of the connection manager; nothing
 * blocks. Results of READs and atomics go to buffers of the slot, which are kept until the
 * handle is closed: a user may still read them after the link has ended, and an ended link
 * can no longer write to them.
 */
#include "src/transport/verbs/verbs.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "src/util/bytes.h"

enum {
	RETRIES = 6,	   /* of packets: the peer is dead after 1.9 s; 7: endless on soft-RoCE */
	RNR_RETRIES = 7,   /* endless: the peer takes no messages now; deadlines end the link */
	REJECT_NOBODY = 8, /* no listener: invalid service id */
	REJECT_CONSUMER = 28, /* the listener's own refusal */
};

static struct conn *call_of(struct transport *t, const struct transport_out *o)
{
	return verbs_of(t)->calls[o->peer.host - 1];
}

/* The call failed or the link broke. The front hangs up, and calls again. */
static void link_down(struct conn *c, int why, const char *text, struct mono now)
{
	/*
	 * A responder with another agreement hangs up instead of sending KEYS; the ANSWER has shown
	 * why.
	 */
	int known = hello_ended(&c->hello, why);

	front_down(&c->v->t, c->out, known, known == why ? text : hello_why(known), now);
}

/* --- calling -------------------------------------------------------------------- */

static int start_call(struct conn *c, int64_t connect_ns)
{
	struct verbs *v = c->v;
	const struct transport_peer *p = &c->out->peer; /* of ourselves too: the front sees to it */
	struct sockaddr_storage to, from = v->own;
	bool any = from.ss_family == AF_UNSPEC; /* a client's: the route decides */
	socklen_t len;
	int ret = front_address(p->address, p->port, &to, &len);

	c->state = CONN_RESOLVES;
	if (ret)
		return ret;
	/* From our own address, so that the connection uses our own device. */
	if (!any)
		front_any_port(&from);
	if (rdma_create_id(v->channel, &c->id, c, RDMA_PS_TCP))
		return -errno;
	if (rdma_resolve_addr(c->id, any ? NULL : (struct sockaddr *)&from, (struct sockaddr *)&to,
			      (int)(connect_ns / NS_PER_MS)))
		return -errno;
	return 0;
}

int verbs_call(struct transport *t, struct transport_out *o, struct mono now)
{
	struct verbs *v = verbs_of(t);
	uint16_t host = o->peer.host;
	struct conn *c;
	int ret;

	(void)now;
	/*
	 * Once a peer, kept until close: the user may still read there when the link has
	 * ended.
	 */
	if (!v->landing[host - 1])
		v->landing[host - 1] = conn_map(VERBS_CALLER_BYTES);
	if (!v->landing[host - 1])
		return -ENOMEM;
	c = conn_new(v);
	if (!c)
		return -ENOMEM;
	c->out = o;
	c->host = host;
	v->calls[host - 1] = c;
	/* The front's limit for a call (connect_ns) includes this wait. */
	if (conn_lingers(v, o, host))
		return 0;
	ret = start_call(c, t->conf.connect_ns);
	if (ret)
		verbs_hang_up(t, o);
	return ret;
}

void call_resume(struct conn *c, struct mono now)
{
	int ret;

	if (conn_lingers(c->v, c->out, c->host))
		return;
	ret = start_call(c, c->v->t.conf.connect_ns);
	if (ret)
		link_down(c, ret, strerror(-ret), now);
}

void verbs_hang_up(struct transport *t, struct transport_out *o)
{
	struct conn *c = call_of(t, o);

	if (c)
		conn_end(c);
	verbs_of(t)->calls[o->peer.host - 1] = NULL;
}

/* The route is known: make our side of the connection, and connect. */
static int connect_to(struct conn *c)
{
	struct verbs *v = c->v;
	struct rdma_conn_param p = {
		/*
		 * How many READs and atomics may be outstanding is agreed on by both devices.
		 * Beyond it the send queue waits, so TRANSPORT_DEPTH holds on any device.
		 */
		.initiator_depth = conn_depth(v->attr.max_qp_init_rd_atom),
		.retry_count = RETRIES,
		.rnr_retry_count = RNR_RETRIES,
	};
	int ret;

	/* A second device has atomics of its own: they would not be atomic against the owner's. */
	if (!conn_same_device(v, c->id))
		return -EXDEV;
	ret = conn_equip(c, v->landing[c->host - 1]);
	if (ret)
		return ret;
	p.qp_num = c->qp->qp_num;
	c->state = CONN_CONNECTS;
	return rdma_connect(c->id, &p) ? -errno : 0;
}

/* The peer accepted: both queue pairs exist. Start the hello. */
static int start_hello(struct conn *c)
{
	uint8_t nonce[HELLO_NONCE], out[HELLO_MAX];
	int ret = front_random(nonce, sizeof(nonce));

	if (!ret)
		ret = conn_ready(c, IBV_QPS_RTS);
	/*
	 * librdmacm did not make this queue pair, so it leaves the last step of connecting to us.
	 */
	if (!ret && rdma_establish(c->id))
		ret = -errno;
	if (ret)
		return ret;
	c->state = CONN_HELLO;
	hello_begin(&c->hello, HELLO_CALLER, &c->v->t.conf, c->host, nonce);
	return conn_send_hello(c, out, hello_write_call(&c->hello, out));
}

static void describe_rejection(int status, char text[static 128])
{
	if (status == REJECT_NOBODY)
		snprintf(text, 128, "is not there: no process listens at its address and port");
	else if (status == REJECT_CONSUMER)
		snprintf(text, 128,
			 "refused the call: it has too many callers, or uses another device");
	else
		snprintf(text, 128, "refused the connection (reason %d)", status);
}

static void cm_failed(struct conn *c, const struct rdma_cm_event *e, struct mono now)
{
	char text[128];
	int why = e->status < 0 ? e->status : -EHOSTUNREACH;

	switch (e->event) {
	case RDMA_CM_EVENT_REJECTED:
		/* Established on our side: the peer hung up before it was on its side. */
		if (c->state >= CONN_HELLO) {
			link_down(c, -ECONNRESET, FRONT_CLOSED, now);
			return;
		}
		describe_rejection(e->status, text);
		why = -ECONNREFUSED;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		snprintf(text, sizeof(text), FRONT_CLOSED);
		why = -ECONNRESET;
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		snprintf(text, sizeof(text), "is cut off: our RDMA device %s is gone",
			 ibv_get_device_name(c->v->device->device));
		why = -ENODEV;
		break;
	default:
		snprintf(text, sizeof(text), "cannot be reached by RDMA (%s: %s)",
			 rdma_event_str(e->event), strerror(-why));
	}
	link_down(c, why, text, now);
}

void call_event(struct conn *c, const struct rdma_cm_event *e, struct mono now)
{
	char text[128];
	int ret = 0;

	switch (e->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(c->id, (int)(c->v->t.conf.connect_ns / NS_PER_MS)))
			ret = -errno;
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		ret = connect_to(c);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		ret = start_hello(c);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		cm_failed(c, e, now);
		return;
	}
	if (!ret)
		return;
	snprintf(text, sizeof(text), "cannot be called (%s): %s", rdma_event_str(e->event),
		 strerror(-ret));
	link_down(c, ret, text, now);
}

/* --- the hello ------------------------------------------------------------------- */

/* The peer's description of its parts (serve_keys): bytes 4, key 4, address 8 of each. */
static int link_up(struct conn *c, struct mono now)
{
	const uint8_t *at = c->hello.keys;
	/* A copy: hello_wipe comes before front_up. */
	const struct hello_self peer = c->hello.of_peer;
	size_t bytes[TRANSPORT_PARTS];

	/*
	 * The peer is proven, but a wrong address or key harms only the link: its device checks
	 * each request. The sizes are checked by front_up.
	 */
	if (c->hello.keys_len != TRANSPORT_PARTS * 16)
		return -EPROTO;
	for (int i = 0; i < TRANSPORT_PARTS; i++, at += 16) {
		bytes[i] = bytes_get_le(at, 4);
		c->rkey[i] = (uint32_t)bytes_get_le(at + 4, 4);
		c->at[i] = bytes_get_le(at + 8, 8);
	}
	hello_wipe(&c->hello);
	c->state = CONN_UP;
	return front_up(&c->v->t, c->out, &peer, bytes, now);
}

static void hello_message(struct conn *c, const struct ibv_wc *wc, struct mono now)
{
	uint8_t out[HELLO_MAX];
	uint32_t n = conn_wr_index(wc->wr_id);
	size_t len = 0;
	int ret;

	if (c->state != CONN_HELLO) {
		call_violated(c, "sent something", now);
		return;
	}
	ret = hello_receive(&c->hello, conn_recv_at(c, n), wc->byte_len, out, &len);
	if (ret < 0) {
		link_down(c, ret, hello_why(ret), now);
		return;
	}
	if (ret == HELLO_READY) {
		ret = link_up(c, now);
		if (ret)
			link_down(c, ret, "described its region wrongly", now);
		return;
	}
	ret = len ? conn_send_hello(c, out, len) : 0;
	if (ret)
		link_down(c, ret, "was not answered", now);
}

/* --- operations ------------------------------------------------------------------ */

static uint8_t *slot_at(const struct conn *c, uint32_t index)
{
	return c->mem + (size_t)index * TRANSPORT_READ_MAX;
}

static void fill_request(struct conn *c, const struct transport_op *op, struct ibv_send_wr *wr)
{
	bool cas = op->kind == TRANSPORT_CAS64;
	uint64_t at;

	if (op->kind == TRANSPORT_SEND) {
		wr->opcode = IBV_WR_SEND;
		return;
	}
	at = c->at[op->part] + op->offset;
	if (op->kind == TRANSPORT_READ) {
		wr->opcode = IBV_WR_RDMA_READ;
		wr->wr.rdma.remote_addr = at;
		wr->wr.rdma.rkey = c->rkey[op->part];
	} else {
		wr->opcode = cas ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr->wr.atomic.remote_addr = at;
		wr->wr.atomic.rkey = c->rkey[op->part];
		wr->wr.atomic.compare_add = cas ? op->compare : op->value;
		wr->wr.atomic.swap = cas ? op->value : 0;
	}
}

int verbs_submit(struct transport *t, struct transport_out *o, struct transport_slot *s,
		 struct mono now)
{
	struct conn *c = call_of(t, o);
	struct ibv_send_wr *wr;

	(void)now;
	if (!c || c->state != CONN_UP)
		return -ENOTCONN;
	if (c->chained == TRANSPORT_DEPTH)
		return -EAGAIN;
	wr = &c->chain[c->chained];
	if (c->chained++)
		wr[-1].next = wr;
	wr->next = NULL;
	wr->sg_list->addr = (uintptr_t)slot_at(c, s->index);
	wr->sg_list->length = s->op.len;
	if (s->op.kind == TRANSPORT_SEND)
		memcpy(slot_at(c, s->index), s->message, s->op.len);
	wr->wr_id = conn_wr(c, VERBS_WR_SLOT, s->index);
	fill_request(c, &s->op, wr);
	return 0;
}

/*
 * The send queue has room for all: the front keeps at most TRANSPORT_DEPTH operations outstanding,
 * and a request leaves the queue before its completion is seen.
 */
int verbs_flush(struct transport *t, struct transport_out *o)
{
	struct conn *c = call_of(t, o);
	struct ibv_send_wr *bad;
	int ret;

	if (!c || c->state != CONN_UP || !c->chained)
		return 0;
	c->chained = 0;
	ret = ibv_post_send(c->qp, c->chain, &bad);
	return ret < 0 ? -errno : -ret;
}

static void slot_done(struct conn *c, struct transport_slot *s)
{
	uint8_t *at = slot_at(c, s->index);
	uint64_t old = 0;

	if (s->op.kind == TRANSPORT_READ) {
		front_done(&c->v->t, c->out, s, TRANSPORT_DONE, 0, at, 0);
		return;
	}
	if (s->op.kind != TRANSPORT_SEND)
		memcpy(&old, at, sizeof(old));
	front_done(&c->v->t, c->out, s, TRANSPORT_DONE, old, NULL, 0);
}

static int errno_of_completion(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_WR_FLUSH_ERR:
		return -ECONNRESET;
	case IBV_WC_RETRY_EXC_ERR:
		return -ETIMEDOUT;
	case IBV_WC_REM_ACCESS_ERR:
	case IBV_WC_REM_INV_REQ_ERR:
		return -EACCES;
	default:
		return -EIO;
	}
}

/*
 * REFUSED is certain only for an access error: the responder's device did not execute that request.
 * Any other failure says nothing about execution; the front then makes the slot LOST or UNKNOWN
 * when the link ends.
 */
static void completion_failed(struct conn *c, const struct ibv_wc *wc)
{
	int why = errno_of_completion(wc->status);

	/* The first failure is the cause; operations behind it are flushed. */
	if (!c->broke || c->broke == -ECONNRESET)
		c->broke = why;
	c->v->any_broke = true;
	if (conn_wr_kind(wc->wr_id) == VERBS_WR_SLOT && why == -EACCES)
		front_done(&c->v->t, c->out, &c->out->slot[conn_wr_index(wc->wr_id)],
			   TRANSPORT_REFUSED, 0, NULL, why);
}

void call_completed(struct conn *c, const struct ibv_wc *wc, struct mono now)
{
	/* The opcode of a failed completion is not defined: only wr_id says what it was. */
	if (wc->status != IBV_WC_SUCCESS)
		completion_failed(c, wc);
	else if (conn_wr_kind(wc->wr_id) == VERBS_WR_SLOT)
		slot_done(c, &c->out->slot[conn_wr_index(wc->wr_id)]);
	else if (conn_wr_kind(wc->wr_id) == VERBS_WR_RECV)
		hello_message(c, wc, now);
}

void call_broke(struct conn *c, struct mono now)
{
	/* Receives were flushed although nothing that we sent had failed: see serve_broke. */
	if (c->broke == -ECONNRESET && !c->out->sent) {
		call_violated(c, "requested something", now);
		return;
	}
	switch (c->broke) {
	case -EACCES:
		link_down(c, c->broke, "refused an operation", now);
		return;
	case -ETIMEDOUT:
		link_down(c, c->broke, "does not answer", now);
		return;
	case -EIO:
		link_down(c, c->broke, "or our own device failed an operation", now);
		return;
	default:
		link_down(c, c->broke, FRONT_CLOSED, now);
	}
}

void call_violated(struct conn *c, const char *what, struct mono now)
{
	front_alarm(&c->v->t, c->host,
		    "host %u %s on a link that only this host may use: the link ends", c->host,
		    what);
	link_down(c, -EPERM, "used our link, which only this host may use", now);
}
