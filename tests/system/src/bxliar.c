// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bxliar: a client of benchex that does not keep to its protocol.
 *
 *	bxliar HOST PORT CASE...	one line a case: what the server did
 *	bxliar HOST PORT random N SEED	N hellos of random bytes
 *
 * A case spoils one thing of a good hello, or of the good request after it.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/benchex/conn.h"

enum { WAIT_MS = 45000, PLACE = 4096, DEPTH = 4 };

struct liar {
	struct rdma_event_channel *cm;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct bx_memory memory; /* a request, then the places of answers */
	bool receives;		 /* post some, so that answers can come */
	bool dead;		 /* lose the queue pair without a word */
	uint8_t hello[64], ask[64];
	uint8_t hello_len;
	uint32_t ask_len;
	enum ibv_wr_opcode op;
};

/* What is spoiled: so many bytes at an offset, little-endian. */
struct lie {
	const char *name;
	enum { IN_HELLO, IN_ASK, IN_LENGTH, IN_OP, IN_RECEIVES, IN_QUEUE, NOWHERE } where;
	size_t at, bytes;
	uint64_t value;
};

static const struct lie lies[] = {
	{ "good", NOWHERE, 0, 0, 0 },
	{ "magic", IN_HELLO, 0, 4, 0x12345678 },
	{ "version", IN_HELLO, 4, 2, BX_VERSION + 1 },
	{ "server-role", IN_HELLO, 6, 2, BX_SERVER },
	{ "role", IN_HELLO, 6, 2, 77 },
	{ "no-conns", IN_HELLO, 8, 2, 0 },
	{ "index", IN_HELLO, 10, 2, 1 },
	{ "no-depth", IN_HELLO, 12, 4, 0 },
	{ "depth", IN_HELLO, 12, 4, BX_DEPTH_MAX + 1 },
	{ "size", IN_HELLO, 16, 4, UINT32_MAX },
	{ "stride", IN_HELLO, 20, 4, 1 },
	{ "address", IN_HELLO, 28, 8, UINT64_MAX - 100 },
	{ "options", IN_HELLO, 44, 4, BX_OPTIONS_MAX + 1 },
	{ "options-max", IN_HELLO, 44, 4, BX_OPTIONS_MAX },
	{ "hello-length", IN_LENGTH, 0, 0, 20 },
	{ "ask-magic", IN_ASK, 0, 4, 1 },
	{ "ask-kind", IN_ASK, 4, 4, BX_KINDS },
	{ "ask-seq", IN_ASK, 8, 8, 1 },
	{ "ask-options", IN_ASK, 32, 4, 1 },
	{ "ask-bytes", IN_ASK, 36, 4, PLACE + 1 },
	{ "ask-none", IN_ASK, 36, 4, 0 },
	{ "ask-length", IN_LENGTH, 1, 0, BX_ASK_LEN - 1 },
	{ "write", IN_OP, 0, 0, IBV_WR_RDMA_WRITE },
	{ "read", IN_OP, 0, 0, IBV_WR_RDMA_READ },
	{ "rkey", IN_HELLO, 24, 4, 0x777 },
	{ "no-receives", IN_RECEIVES, 0, 0, 0 },
	{ "dead", IN_QUEUE, 0, 0, 0 },
};

static const struct lie *find(const char *name)
{
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		if (!strcmp(lies[i].name, name))
			return &lies[i];
	return NULL;
}

/* --- one connection ---------------------------------------------------------- */

static struct rdma_cm_event *event(struct liar *l)
{
	struct pollfd p = { .fd = l->cm->fd, .events = POLLIN };
	struct rdma_cm_event *e;

	if (poll(&p, 1, WAIT_MS) != 1 || rdma_get_cm_event(l->cm, &e))
		return NULL;
	return e;
}

static bool wait_for(struct liar *l, enum rdma_cm_event_type kind)
{
	struct rdma_cm_event *e = event(l);
	bool is = e && e->event == kind;

	if (e)
		rdma_ack_cm_event(e);
	return is;
}

static int prepare(struct liar *l, const char *host, const char *port)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *at;
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 4,
						  .max_recv_wr = DEPTH,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 },
					 .sq_sig_all = 1 };

	l->cm = rdma_create_event_channel();
	if (!l->cm || rdma_getaddrinfo(host, port, &hints, &at) ||
	    rdma_create_id(l->cm, &l->id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(l->id, NULL, at->ai_dst_addr, 2000) ||
	    !wait_for(l, RDMA_CM_EVENT_ADDR_RESOLVED) || rdma_resolve_route(l->id, 2000) ||
	    !wait_for(l, RDMA_CM_EVENT_ROUTE_RESOLVED))
		return -1;
	rdma_freeaddrinfo(at);
	l->pd = ibv_alloc_pd(l->id->verbs);
	attr.send_cq = attr.recv_cq = l->cq = ibv_create_cq(l->id->verbs, 16, NULL, NULL, 0);
	if (!l->pd || !l->cq || rdma_create_qp(l->id, l->pd, &attr))
		return -1;
	return bx_memory_get(&l->memory, l->pd, PLACE * (DEPTH + 1),
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
}

static void release(struct liar *l)
{
	if (l->id && l->id->qp)
		rdma_destroy_qp(l->id);
	bx_memory_put(&l->memory);
	if (l->cq)
		ibv_destroy_cq(l->cq);
	if (l->pd)
		ibv_dealloc_pd(l->pd);
	if (l->id)
		rdma_destroy_id(l->id);
	if (l->cm)
		rdma_destroy_event_channel(l->cm);
}

/* A session of its own: the server may not have noticed yet that the one before ended. */
static void be_good(struct liar *l, uint32_t number)
{
	struct bx_hello h = { .role = BX_CLIENT,
			      .conns = 1,
			      .depth = DEPTH,
			      .size_max = PLACE,
			      .stride = PLACE,
			      .rkey = l->memory.mr->rkey,
			      .addr = (uintptr_t)l->memory.at + PLACE,
			      .session = (uint64_t)getpid() << 32 | number };
	struct bx_ask a = { .kind = BX_FEED, .answer_bytes = PLACE };

	bx_hello_put(l->hello, &h);
	bx_ask_put(l->ask, &a);
	l->hello_len = BX_HELLO_LEN;
	l->ask_len = BX_ASK_LEN;
	l->op = IBV_WR_SEND;
	l->receives = true;
}

static void lie(struct liar *l, const struct lie *what)
{
	uint8_t *at = what->where == IN_HELLO ? l->hello : l->ask;

	for (size_t i = 0; i < what->bytes; i++)
		at[what->at + i] = (uint8_t)(what->value >> (8 * i));
	if (what->where == IN_LENGTH && what->at == 0)
		memset(l->hello + what->value, 0, sizeof(l->hello) - what->value);
	if (what->where == IN_LENGTH && what->at == 0)
		l->hello_len = (uint8_t)what->value;
	if (what->where == IN_LENGTH && what->at == 1)
		l->ask_len = (uint32_t)what->value;
	if (what->where == IN_OP)
		l->op = (enum ibv_wr_opcode)what->value;
	if (what->where == IN_RECEIVES)
		l->receives = false;
	if (what->where == IN_QUEUE)
		l->dead = true;
}

/* 0 when the server let it in; otherwise what it said was printed. */
static int come_in(struct liar *l, FILE *out)
{
	struct rdma_conn_param p = { .private_data = l->hello,
				     .private_data_len = l->hello_len,
				     .responder_resources = 1,
				     .initiator_depth = 1,
				     .retry_count = 7,
				     .rnr_retry_count = 7 };
	struct rdma_cm_event *e = rdma_connect(l->id, &p) ? NULL : event(l);
	uint32_t value = 0;
	int rc = 1;

	if (e && e->event == RDMA_CM_EVENT_ESTABLISHED)
		rc = 0;
	else if (e && e->event == RDMA_CM_EVENT_REJECTED && e->status == 28)
		fprintf(out, "refused %d",
			(int)bx_refuse_get(&value, e->param.conn.private_data,
					   e->param.conn.private_data_len));
	else
		fprintf(out, "%s", e ? rdma_event_str(e->event) : "nothing happened");
	if (e)
		rdma_ack_cm_event(e);
	return rc;
}

static void ask(struct liar *l)
{
	struct ibv_sge piece = { (uintptr_t)l->memory.at, l->ask_len, l->memory.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &piece, .num_sge = 1, .opcode = l->op }, *bad;
	struct ibv_recv_wr recv = { 0 }, *bad_recv;

	memcpy(l->memory.at, l->ask, sizeof(l->ask));
	wr.wr.rdma.remote_addr = (uintptr_t)l->memory.at;
	wr.wr.rdma.rkey = l->memory.mr->rkey;
	if ((l->receives && ibv_post_recv(l->id->qp, &recv, &bad_recv)) ||
	    ibv_post_send(l->id->qp, &wr, &bad))
		printf("cannot post: %s", strerror(errno));
}

/*
 * A good request and its answer. From then on the server's own rights to memory are in force, not
 * those that librdmacm gave the queue pair.
 */
static bool be_served(struct liar *l)
{
	const enum ibv_wr_opcode op = l->op;
	bool answered = false;
	struct ibv_wc wc;

	l->op = IBV_WR_SEND;
	ask(l);
	l->op = op;
	for (int ms = 0; ms < WAIT_MS && !answered; ms += 10) {
		while (!answered && ibv_poll_cq(l->cq, 1, &wc) == 1)
			answered = wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && !wc.status;
		poll(NULL, 0, answered ? 0 : 10);
	}
	return answered;
}

/* An answer, the end of the connection, or neither. */
static void see(struct liar *l)
{
	for (int ms = 0; ms < WAIT_MS; ms += 10) {
		struct pollfd p = { .fd = l->cm->fd, .events = POLLIN };
		struct ibv_wc wc;

		if (ibv_poll_cq(l->cq, 1, &wc) == 1) {
			if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && !wc.status) {
				printf("answered %u", wc.byte_len);
				return;
			}
			if (wc.status && wc.status != IBV_WC_WR_FLUSH_ERR && l->op != IBV_WR_SEND) {
				printf("failed %s", ibv_wc_status_str(wc.status));
				return;
			}
		}
		if (poll(&p, 1, 10) == 1) {
			struct rdma_cm_event *e = event(l);

			/* Refused: who ended it had no word yet that it was complete. */
			printf("%s", !e					      ? "no event"
				     : e->event == RDMA_CM_EVENT_DISCONNECTED ? "disconnected"
				     : e->event == RDMA_CM_EVENT_REJECTED
					     ? "disconnected"
					     : rdma_event_str(e->event));
			if (e)
				rdma_ack_cm_event(e);
			return;
		}
	}
	printf("nothing happened");
}

static int tell_lie(const char *host, const char *port, const struct lie *what, uint32_t number)
{
	struct liar l = { 0 };

	if (prepare(&l, host, port)) {
		release(&l);
		printf("%s: not prepared: %s\n", what->name, strerror(errno));
		return 1;
	}
	be_good(&l, number);
	lie(&l, what);
	printf("%s: ", what->name);
	if (!come_in(&l, stdout)) {
		if (l.dead)
			rdma_destroy_qp(l.id);
		else if (l.op == IBV_WR_SEND || be_served(&l))
			ask(&l);
		see(&l);
	}
	puts("");
	fflush(stdout);
	release(&l);
	return 0;
}

static int babble(const char *host, const char *port, unsigned long n, uint64_t seed)
{
	struct bx_random r = { seed };
	FILE *nowhere = fopen("/dev/null", "w");
	unsigned long in = 0;

	if (!nowhere)
		return 1;

	for (unsigned long i = 0; i < n; i++) {
		struct liar l = { 0 };

		if (prepare(&l, host, port))
			return 1;
		be_good(&l, (uint32_t)i);
		/* Some bytes of a good hello, from all to none. */
		for (int k = (int)(bx_random(&r) % (BX_HELLO_LEN + 1)); k > 0; k--)
			l.hello[bx_random(&r) % BX_HELLO_LEN] = (uint8_t)bx_random(&r);
		l.hello_len = (uint8_t)(1 + bx_random(&r) % 56);
		in += !come_in(&l, nowhere);
		release(&l);
	}
	fclose(nowhere);
	printf("%lu of %lu came in\n", in, n);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[3], "random"))
		return babble(argv[1], argv[2], strtoul(argv[4], NULL, 0),
			      strtoull(argv[5], NULL, 0));
	for (int i = 3; i < argc; i++) {
		const struct lie *what = find(argv[i]);

		if (!what || tell_lie(argv[1], argv[2], what, (uint32_t)i))
			return 1;
	}
	return argc < 4;
}
