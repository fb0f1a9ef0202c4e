// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * conn: one queue pair with all that belongs to it.
 *
 * Queue pairs are made by ibv_create_qp, and their states are changed here, not by
 * rdma_create_qp. librdmacm opens a device once in a process: two handles of a process would
 * get each other's asynchronous events. And it sets access rights that include remote WRITE.
 */
#include "src/transport/verbs/verbs.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	/* 4.096 us << 16 = 268 ms (the encoding is IBTA's): longer than a slow link needs. */
	ACK_TIMEOUT = 16,
	/* An encoded 0.64 ms until the next try at a receiver that is not ready. */
	RNR_TIMER = 12,
};

/* Functions of libibverbs return an errno, or -1 and set errno. */
static int verbs_error(int ret)
{
	if (ret < 0)
		return errno ? -errno : -EIO;
	return -ret;
}

uint8_t conn_depth(int device)
{
	if (device < 1)
		return 0;
	return (uint8_t)(device < TRANSPORT_DEPTH ? device : TRANSPORT_DEPTH);
}

struct conn *conn_new(struct verbs *v)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->v = v;
	c->serial = ++v->serials;
	c->next = v->conns;
	v->conns = c;
	return c;
}

bool conn_same_device(const struct verbs *v, const struct rdma_cm_id *id)
{
	/* By name: librdmacm opened the device by itself, so the pointers may differ. */
	return id->verbs && !strcmp(ibv_get_device_name(id->verbs->device),
				    ibv_get_device_name(v->device->device));
}

void *conn_map(size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	/* After a fork, a write would give us a copy of the page that the device does not use. */
	madvise(at, len, MADV_DONTFORK);
	return at;
}

/* --- buffers ------------------------------------------------------- */

static uint32_t recvs(const struct conn *c)
{
	return c->out ? VERBS_HELLOS : VERBS_RECVS;
}

const uint8_t *conn_recv_at(const struct conn *c, uint32_t n)
{
	if (c->out)
		return c->mem + VERBS_LANDING + (VERBS_HELLOS + n) * VERBS_HELLO_ROOM;
	return c->mem + n * TRANSPORT_MESSAGE_MAX;
}

static uint8_t *hello_send_at(const struct conn *c, uint32_t n)
{
	return c->mem + (c->out ? VERBS_LANDING : VERBS_RECV_BYTES) + n * VERBS_HELLO_ROOM;
}

int conn_recv(struct conn *c, uint32_t n)
{
	struct ibv_sge piece = { .addr = (uintptr_t)conn_recv_at(c, n),
				 .length = c->out ? VERBS_HELLO_ROOM : TRANSPORT_MESSAGE_MAX,
				 .lkey = c->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = conn_wr(c, VERBS_WR_RECV, n),
				  .sg_list = &piece,
				  .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return verbs_error(ibv_post_recv(c->qp, &wr, &bad));
}

int conn_send_hello(struct conn *c, const uint8_t *data, size_t len)
{
	uint32_t n = c->hellos_sent % VERBS_HELLOS;
	struct ibv_sge piece = { .addr = (uintptr_t)hello_send_at(c, n),
				 .length = (uint32_t)len,
				 .lkey = c->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = conn_wr(c, VERBS_WR_HELLO, n),
				  .sg_list = &piece,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND };
	struct ibv_send_wr *bad;
	int ret;

	/*
	 * Each hello has a buffer of its own: the device may read one until its completion, which
	 * is not waited for. A hello has fewer messages than there are buffers.
	 */
	if (len > VERBS_HELLO_ROOM || c->hellos_sent == VERBS_HELLOS)
		return -EPROTO;
	memcpy(hello_send_at(c, n), data, len);
	ret = verbs_error(ibv_post_send(c->qp, &wr, &bad));
	if (!ret)
		c->hellos_sent++;
	return ret;
}

/* --- life ---------------------------------------------------------------------- */

enum { SENDS = TRANSPORT_DEPTH + VERBS_HELLOS };

int conn_make_calls_queue(struct verbs *v)
{
	/* Twice: completions of links that ended may still be in it. */
	int n = 2 * TRANSPORT_HOSTS_MAX * (SENDS + VERBS_HELLOS);

	v->cq = ibv_create_cq(v->device, n < v->attr.max_cqe ? n : v->attr.max_cqe, &v->armed,
			      v->comp, 0);
	return v->cq ? 0 : -errno;
}

static int make_queues(struct conn *c)
{
	struct ibv_qp_init_attr attr = {
		.qp_context = c,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = SENDS,
			 .max_recv_wr = recvs(c),
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};

	/* A responder's own: messages wait in it until the user has room for them. */
	if (!c->out) {
		c->cq = ibv_create_cq(c->v->device, SENDS + VERBS_RECVS, &c->armed, c->v->comp, 0);
		if (!c->cq)
			return -errno;
	}
	attr.send_cq = attr.recv_cq = c->out ? c->v->cq : c->cq;
	c->qp = ibv_create_qp(c->pd, &attr);
	return c->qp ? 0 : -errno;
}

int conn_equip(struct conn *c, uint8_t *mem)
{
	size_t len = c->out ? VERBS_CALLER_BYTES : VERBS_RESPONDER_BYTES;
	int ret;

	c->mem = mem;
	c->pd = ibv_alloc_pd(c->v->device);
	if (!c->pd)
		return -errno;
	/*
	 * Local access only: the peer never names these buffers. Its SENDs go where our receives
	 * say.
	 */
	c->mr = ibv_reg_mr(c->pd, mem, len, IBV_ACCESS_LOCAL_WRITE);
	if (!c->mr)
		return -errno;
	for (int i = 0; i < TRANSPORT_DEPTH; i++) {
		c->piece[i].lkey = c->mr->lkey;
		c->chain[i].sg_list = &c->piece[i];
		c->chain[i].num_sge = 1;
	}
	ret = make_queues(c);
	if (!ret)
		ret = conn_ready(c, IBV_QPS_INIT);
	/*
	 * Before the connection is made: a message that finds no receive would cost the peer an RNR
	 * wait.
	 */
	for (uint32_t i = 0; !ret && i < recvs(c); i++)
		ret = conn_recv(c, i);
	return ret;
}

static int change_state(struct conn *c, enum ibv_qp_state state)
{
	/*
	 * Addresses, path and packet numbers are what the connection manager agreed on; only the
	 * three attributes below are ours.
	 */
	struct ibv_qp_attr a = { .qp_state = state };
	int mask = 0;

	if (rdma_init_qp_attr(c->id, &a, &mask))
		return -errno;
	a.qp_access_flags = 0; /* in INIT: the peer may do nothing yet */
	a.timeout = ACK_TIMEOUT;
	a.min_rnr_timer = RNR_TIMER;
	/* A caller needs READs and atomics: max_rd_atomic is how many it may have outstanding. */
	if (c->out && state == IBV_QPS_RTS && !a.max_rd_atomic)
		return -EOPNOTSUPP;
	return verbs_error(ibv_modify_qp(c->qp, &a, mask));
}

int conn_ready(struct conn *c, enum ibv_qp_state state)
{
	int ret;

	if (state == IBV_QPS_INIT)
		return change_state(c, state);
	ret = change_state(c, IBV_QPS_RTR);
	return ret ? ret : change_state(c, IBV_QPS_RTS);
}

void conn_end(struct conn *c)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };

	/*
	 * The struct stays in the list: callers up the stack still have pointers to it. free_ended
	 * frees it at the end of a progress, when it is destroyed.
	 */
	if (c->state == CONN_OVER)
		return;
	c->state = CONN_OVER;
	/* It refuses the peer from now on, however long its destruction takes. */
	if (c->qp)
		ibv_modify_qp(c->qp, &error, IBV_QP_STATE);
	hello_wipe(&c->hello);
	reaper_give(c->v->reaper, &c->reap);
}

bool conn_lingers(const struct verbs *v, const struct transport_out *out, uint16_t host)
{
	for (const struct conn *c = v->conns; c; c = c->next)
		if (c->state == CONN_OVER && !c->destroyed && c->out == out && c->host == host)
			return true;
	return false;
}

/* On the reaper's thread. Nobody else uses these fields of a connection that is OVER. */
void conn_destroy(struct reap *item)
{
	struct conn *c = (struct conn *)((char *)item - offsetof(struct conn, reap));

	/*
	 * On soft-RoCE this waits until the network stack has released its packets: seconds, if our
	 * own port is down. An HCA has no packets there.
	 */
	if (c->qp)
		ibv_destroy_qp(c->qp);
	if (c->cq)
		ibv_destroy_cq(c->cq);
	for (int i = 0; i < TRANSPORT_PARTS; i++)
		if (c->part[i])
			ibv_dereg_mr(c->part[i]);
	if (c->mr)
		ibv_dereg_mr(c->mr);
	if (c->pd)
		ibv_dealloc_pd(c->pd);
	if (c->mem && !c->out)
		munmap(c->mem, VERBS_RESPONDER_BYTES);
	/* The kernel tells the peer, and does not wait for an answer. */
	if (c->id)
		rdma_destroy_id(c->id);
}
