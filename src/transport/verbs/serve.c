// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * serve: peers' links to us: accept, hello, register the region.
 *
 * A caller gets a queue pair of its own that allows it only to SEND into a few buffers. After
 * a right PROOF: the old link of that host is destroyed, and the caller waits until the reaper
 * has done so; the parts of the region are registered in this connection's protection domain;
 * READ, and atomics if it has the right, are allowed on its queue pair; then it gets the keys. From
 * then on, this host's CPU takes no part in its operations.
 */
#include "src/transport/verbs/verbs.h"

#include <errno.h>
#include <string.h>

#include "src/util/bytes.h"

/* Ends the connection, and forgets that its host is served. */
static void serve_end(struct conn *c)
{
	if (c->state == CONN_OVER)
		return;
	/* A newer link of the host may be there already: then the entry is not ours. */
	if (c->host && c->v->served[c->host - 1] == c)
		c->v->served[c->host - 1] = NULL;
	conn_end(c);
}

/* Not a caller that is still to be destroyed: strangers must not fill the device with them. */
static void caller_over(struct conn *c)
{
	if (c->counted)
		front_caller_over(&c->v->t);
	c->counted = false;
}

void serve_destroyed(struct conn *c)
{
	caller_over(c);
}

static int accept_caller(struct conn *c, const struct rdma_conn_param *theirs)
{
	struct verbs *v = c->v;
	uint8_t nonce[HELLO_NONCE], depth = conn_depth(v->attr.max_qp_rd_atom);
	struct rdma_conn_param p = { .rnr_retry_count = 7 };
	uint8_t *mem = conn_map(VERBS_RESPONDER_BYTES);
	int ret = mem ? 0 : -ENOMEM;

	if (!ret)
		ret = conn_equip(c, mem);
	if (!ret)
		ret = front_random(nonce, sizeof(nonce));
	if (ret)
		return ret;
	/* What the caller asked for, but no more than our device can serve. */
	p.responder_resources = theirs->responder_resources < depth ? theirs->responder_resources
								    : depth;
	p.qp_num = c->qp->qp_num;
	front_answer(&v->t, &c->hello, nonce);
	/* Be ready to receive before accepting: the caller's first message may overtake the last
	 * message of the connection manager. */
	ret = conn_ready(c, IBV_QPS_RTS);
	if (!ret && rdma_accept(c->id, &p))
		ret = -errno;
	return ret;
}

static void reject(struct rdma_cm_id *id)
{
	rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
}

void serve_caller(struct verbs *v, const struct rdma_cm_event *e, struct mono now)
{
	struct rdma_cm_id *id = e->id;
	bool known = front_known(&v->t, rdma_get_peer_addr(id));
	struct conn *c;

	if (!conn_same_device(v, id) || front_caller(&v->t, known, now)) {
		reject(id);
		return;
	}
	c = conn_new(v);
	if (!c) {
		front_caller_over(&v->t);
		reject(id);
		return;
	}
	c->counted = true;
	c->state = CONN_HELLO;
	c->due = mono_add(now, HELLO_NS);
	c->id = id;
	id->context = c;
	if (accept_caller(c, &e->param.conn))
		serve_end(c);
}

void verbs_evict(struct transport *t, uint16_t host)
{
	struct conn *c = verbs_of(t)->served[host - 1];

	if (c)
		serve_end(c);
}

bool verbs_serves(const struct transport *t, uint16_t host)
{
	return ((const struct verbs *)t)->served[host - 1];
}

void serve_event(struct conn *c, const struct rdma_cm_event *e, struct mono now)
{
	uint16_t host = c->hello.peer;
	bool answered = c->state == CONN_HELLO && c->hellos_sent;

	switch (e->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default: /* the caller left, was cut off, or never connected */
		serve_end(c);
		/* It had our proof in the ANSWER, and sent none: it has another key. */
		if (answered)
			front_refused(&c->v->t, host, -ECONNRESET, now);
	}
}

/* --- the hello ------------------------------------------------------------------- */

/* bytes 4, key 4, address 8 of each part, little-endian; zeros of one that is not there. */
static void serve_keys(const struct conn *c, uint8_t keys[static TRANSPORT_PARTS * 16])
{
	for (int i = 0; i < TRANSPORT_PARTS; i++, keys += 16) {
		bytes_put_le(keys, c->v->t.conf.bytes[i], 4);
		bytes_put_le(keys + 4, c->part[i] ? c->part[i]->rkey : 0, 4);
		bytes_put_le(keys + 8, (uintptr_t)c->v->region[i], 8);
	}
}

/*
 * Give only the rights that are needed: no remote WRITE, no relaxed ordering. The queue pair and
 * the words' key both lack what the peer has no right to: a device checks each of them.
 */
static int grant_access(struct conn *c, bool atomics)
{
	/* Atomics need LOCAL_WRITE: our device writes. */
	const unsigned int change = atomics ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC : 0;
	const unsigned int rights[TRANSPORT_PARTS] = {
		[TRANSPORT_TABLE] = IBV_ACCESS_REMOTE_READ,
		[TRANSPORT_WORDS] = IBV_ACCESS_REMOTE_READ | change,
		[TRANSPORT_LOAD] = IBV_ACCESS_REMOTE_READ,
		[TRANSPORT_VERSIONS] = IBV_ACCESS_REMOTE_READ,
	};
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS,
				 .qp_access_flags = IBV_ACCESS_REMOTE_READ |
						    (atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0) };
	int ret;

	for (int i = 0; i < TRANSPORT_PARTS; i++) {
		if (!c->v->region[i])
			continue;
		c->part[i] = ibv_reg_mr(c->pd, c->v->region[i], c->v->t.conf.bytes[i], rights[i]);
		if (!c->part[i])
			return -errno;
	}
	/* Last: before this, the queue pair refuses READs and atomics, whatever key they name. */
	ret = ibv_modify_qp(c->qp, &a, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS);
	return ret < 0 ? -EIO : -ret;
}

static int send_keys(struct conn *c)
{
	struct verbs *v = c->v;
	uint8_t keys[TRANSPORT_PARTS * 16], out[HELLO_MAX];
	const struct hello_self *peer = &c->hello.of_peer;
	uint16_t host = c->hello.peer;
	int ret = grant_access(c, front_may(peer->role, peer->rights, TRANSPORT_CAS64));

	if (ret)
		return ret;
	caller_over(c);
	c->state = CONN_UP;
	c->host = host;
	c->client = peer->role == TRANSPORT_CLIENT;
	v->served[host - 1] = c;
	serve_keys(c, keys);
	ret = conn_send_hello(c, out, hello_write_keys(&c->hello, keys, sizeof(keys), out));
	hello_wipe(&c->hello);
	return ret;
}

/*
 * The caller is proven. As transport.h demands, the old link of its host is destroyed before the
 * new one is granted anything. ibv_destroy_qp returns when the device executes nothing of it any
 * more, so a READ on the new link sees all that the old one did.
 */
static int admit(struct conn *c)
{
	struct verbs *v = c->v;
	uint16_t host = c->hello.peer;
	/* Again after a wait: a newer start of the host may have proven itself meanwhile. */
	int ret = front_proven(&v->t, host, &c->hello.of_peer);

	if (ret)
		return ret;
	verbs_evict(&v->t, host);
	if (!conn_lingers(v, NULL, host))
		return send_keys(c);
	c->state = CONN_PROVEN;
	return 0;
}

/* The caller gets no link. */
static void refuse(struct conn *c, int why, struct mono now)
{
	uint16_t host = c->hello.peer;

	serve_end(c);
	front_refused(&c->v->t, host, why, now);
}

void serve_resume(struct conn *c, struct mono now)
{
	int ret = admit(c);

	if (ret)
		refuse(c, ret, now);
}

static void hello_message(struct conn *c, const uint8_t *in, size_t len, struct mono now)
{
	uint8_t out[HELLO_MAX];
	size_t out_len = 0;
	int ret = hello_receive(&c->hello, in, len, out, &out_len);

	if (ret == HELLO_MORE)
		ret = out_len ? conn_send_hello(c, out, out_len) : 0;
	else if (ret == HELLO_PROVEN)
		ret = admit(c);
	if (ret)
		refuse(c, ret, now);
}

void serve_due(struct conn *c, struct mono now)
{
	if (c->due.ns > now.ns)
		return;
	if (c->state == CONN_HELLO)
		refuse(c, -ETIMEDOUT, now);
	else if (c->state == CONN_PROVEN)
		refuse(c, -EBUSY, now);
}

/* --- messages of a proven peer ----------------------------------------------------- */

void serve_completed(struct conn *c, const struct ibv_wc *wc, struct mono now)
{
	uint32_t n = conn_wr_index(wc->wr_id);

	if (wc->status != IBV_WC_SUCCESS) {
		if (!c->broke)
			c->broke = conn_wr_kind(wc->wr_id) == VERBS_WR_RECV ? -EACCES : -ECONNRESET;
		return;
	}
	if (conn_wr_kind(wc->wr_id) != VERBS_WR_RECV)
		return;
	if (c->state != CONN_UP)
		hello_message(c, conn_recv_at(c, n), wc->byte_len, now);
	else if (c->client)
		serve_violated(c, "it is a client, and sent a message");
	else if (wc->byte_len && wc->byte_len <= TRANSPORT_MESSAGE_MAX)
		front_message(&c->v->t, c->host, conn_recv_at(c, n), wc->byte_len);
	/* Only after the message was copied: the device may write there at once. */
	if (c->state != CONN_OVER && conn_recv(c, n))
		c->broke = -EIO;
}

/*
 * The connection broke. Only the device puts this queue pair into error. Unless a SEND of
 * ours failed, the reason is a request of the peer that it has no right to. An HCA then also
 * makes an asynchronous event. Soft-RoCE was seen to make none: it only flushed the receives.
 */
void serve_broke(struct conn *c, struct mono now)
{
	if (c->broke != -EACCES)
		serve_end(c);
	else if (c->state == CONN_UP)
		serve_violated(c, "its queue pair was put into error");
	else
		refuse(c, -EPROTO, now);
}

void serve_violated(struct conn *c, const char *how)
{
	front_alarm(&c->v->t, c->host,
		    "host %u requested what it may not access (%s): its link was ended", c->host,
		    how);
	serve_end(c);
}
