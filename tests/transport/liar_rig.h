/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * liar_rig: the victim, host 1, and RDMA peers that use librdmacm and libibverbs directly, all in
 * one thread. For liar_verbs.c alone.
 */
#ifndef RESEX_TESTS_LIAR_RIG_H
#define RESEX_TESTS_LIAR_RIG_H

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "src/transport/backend.h"
#include "src/util/clock.h"

enum {
	PORT = 7700, /* + host */
	TABLE = 8192,
	WORDS = 4096,
	LOAD = 8192,
	ROOM = 1 << 16, /* bytes of a liar's buffer; it receives into the second half */
	RECVS = 8,
	RECV_ROOM = 2048,
	PATIENCE_S = 20,
	READER = 4,
	CHANGER = 5,
	SIGN = 0x5a, /* each word of the victim's table */
};

#define FIRST_WORD 1000ull

static const uint8_t key[32] = "thirty-two bytes of a shared key";
static const uint8_t wrong_key[32] = "thirty-two bytes of another  key";

struct part {
	uint32_t bytes, rkey;
	uint64_t at;
};

struct liar {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id, *listener;
	struct ibv_cq *cq, *recv_cq;
	struct ibv_mr *mr;
	uint8_t *room;
	struct hello hello;
	struct transport_conf conf;
	bool gone; /* disconnected */
	bool refused;
	struct part part[TRANSPORT_PARTS]; /* as the victim described them */
};

/* The victim, and all that a caller learns of it. */
struct victim {
	struct transport *t;
	const char *address;
	struct clock clock;
	uint32_t up[TRANSPORT_HOSTS_MAX + 1];
	uint32_t messages;
};

static struct victim v;

static struct mono now(void)
{
	return v.clock.now(&v.clock);
}

static struct transport_conf conf_of(uint16_t host)
{
	struct transport_conf c = {
		.host = host,
		.generation = 1,
		.start = host,
		.cluster = "liars",
		.key = key,
		.key_len = sizeof(key),
		.port = (uint16_t)(PORT + host),
		.bytes = { TABLE, WORDS, LOAD },
		.backoff_min_ns = 50 * NS_PER_MS,
		.hellos_second = 1000,
	};

	snprintf(c.address, sizeof(c.address), "%s", v.address);
	return c;
}

/* The next event, from which the victim learns. False: there is none. */
static bool take(struct transport_event *ev)
{
	if (!transport_poll(v.t, now(), ev, 1))
		return false;
	if (ev->type == TRANSPORT_UP)
		v.up[ev->host] = ev->link;
	else if (ev->type == TRANSPORT_DOWN)
		v.up[ev->host] = 0;
	else if (ev->type == TRANSPORT_MESSAGE)
		v.messages++;
	return true;
}

static void turn(void)
{
	struct transport_event ev;

	take(&ev);
}

/* Also the alarms that were only counted. */
static uint64_t alarms(void)
{
	struct transport_stats s;

	transport_stats(v.t, &s);
	return s.alarms;
}

/* Poll the victim until this is true: all of them run in one thread. */
#define UNTIL(...)                                                                                 \
	do {                                                                                       \
		struct mono end_ = mono_add(now(), PATIENCE_S * NS_PER_S);                         \
		while (!(__VA_ARGS__)) {                                                           \
			turn();                                                                    \
			if (now().ns > end_.ns)                                                    \
				fail_msg("not within %d s: %s", PATIENCE_S, #__VA_ARGS__);         \
		}                                                                                  \
	} while (0)

/* Host 4 may READ alone, host 5 post atomics, too. */
static void add_client(uint16_t host, uint32_t rights)
{
	struct transport_peer p = { .host = host, .role = TRANSPORT_CLIENT, .rights = rights };

	assert_int_equal(transport_add(v.t, &p, now()), 0);
}

static void add(uint16_t host)
{
	struct transport_peer p = { .host = host, .port = (uint16_t)(PORT + host) };

	snprintf(p.name, sizeof(p.name), "liar%u", host);
	snprintf(p.address, sizeof(p.address), "%s", v.address);
	assert_int_equal(transport_add(v.t, &p, now()), 0);
}

static int open_victim(void **state)
{
	struct transport_conf c = conf_of(1);
	uint64_t words[WORDS / 8];
	char text[256];

	(void)state;
	for (size_t i = 0; i < WORDS / 8; i++)
		words[i] = FIRST_WORD + i;
	c.words = words;
	v = (struct victim){ .address = v.address };
	clock_real(&v.clock);
	if (transport_find("verbs")->open(&v.t, &c, now(), text)) {
		fprintf(stderr, "%s\n", text);
		return -1;
	}
	memset(transport_table(v.t), SIGN, TABLE);
	add(1);
	add(2);
	add(3);
	add_client(READER, 0);
	add_client(CHANGER, TRANSPORT_ATOMICS);
	return 0;
}

/* The victim still serves itself, and its memory is as it was. */
static int close_victim(void **state)
{
	struct transport_stats s;
	const uint8_t *table = transport_table(v.t);

	(void)state;
	for (size_t i = 0; i < TABLE; i++)
		assert_int_equal(table[i], SIGN);
	UNTIL(v.up[1]);
	for (uint32_t at = 0; at < WORDS;) {
		struct transport_op op = { .kind = TRANSPORT_READ,
					   .host = 1,
					   .part = TRANSPORT_WORDS,
					   .len = WORDS,
					   .deadline = mono_add(now(), 5 * NS_PER_S) };
		struct transport_event ev;

		assert_int_equal(transport_post(v.t, &op, 1, now(), NULL), 1);
		do {
			while (!take(&ev)) {
			}
		} while (ev.type != TRANSPORT_RESULT);
		assert_int_equal(ev.outcome, TRANSPORT_DONE);
		for (; at < WORDS; at += 8)
			assert_int_equal(((const uint64_t *)ev.data)[at / 8], FIRST_WORD + at / 8);
	}
	transport_stats(v.t, &s);
	assert_int_equal(s.served, 0);
	transport_close(v.t);
	return 0;
}

/* --- a liar ----------------------------------------------------------------------- */

static void liar_recv(struct liar *l, uint64_t n)
{
	struct ibv_sge piece = { .addr = (uintptr_t)l->room + ROOM / 2 + n * RECV_ROOM,
				 .length = RECV_ROOM,
				 .lkey = l->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = &piece, .num_sge = 1 }, *bad;

	assert_int_equal(ibv_post_recv(l->id->qp, &wr, &bad), 0);
}

/* Make the queues of id, on the context that the process shares. */
static void liar_equip(struct liar *l)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 64,
			 .max_recv_wr = RECVS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};

	l->cq = ibv_create_cq(l->id->verbs, 128, NULL, NULL, 0);
	l->recv_cq = ibv_create_cq(l->id->verbs, 128, NULL, NULL, 0);
	assert_non_null(l->cq);
	assert_non_null(l->recv_cq);
	attr.send_cq = l->cq;
	attr.recv_cq = l->recv_cq;
	assert_int_equal(rdma_create_qp(l->id, NULL, &attr), 0);
	l->room = calloc(1, ROOM);
	l->mr = ibv_reg_mr(l->id->pd, l->room, ROOM, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(l->mr);
	for (uint64_t i = 0; i < RECVS; i++)
		liar_recv(l, i);
}

/* The event that came, or -1; request: the id of a caller. */
static int liar_event(struct liar *l, struct rdma_cm_id **request)
{
	struct rdma_cm_event *e;
	int type;

	turn();
	if (rdma_get_cm_event(l->channel, &e))
		return -1;
	type = (int)e->event;
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST && request)
		*request = e->id;
	/* The victim hung up before the liar's last message of connecting reached it. */
	l->gone = l->gone || type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_REJECTED;
	l->refused = l->refused || type == RDMA_CM_EVENT_REJECTED;
	rdma_ack_cm_event(e);
	return type;
}

#define LIAR_AWAITS(l, what) UNTIL(liar_event((l), NULL) == (int)(what))

static void liar_begin(struct liar *l, uint16_t host)
{
	*l = (struct liar){ .conf = conf_of(host) };
	l->channel = rdma_create_event_channel();
	assert_non_null(l->channel);
	assert_int_equal(fcntl(l->channel->fd, F_SETFL, O_NONBLOCK), 0);
}

static void address_of(const struct transport_conf *c, uint16_t port, struct sockaddr_storage *a)
{
	struct addrinfo *list;
	char service[8];

	snprintf(service, sizeof(service), "%u", port);
	assert_int_equal(getaddrinfo(c->address, service, NULL, &list), 0);
	memcpy(a, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
}

/* Connect to the victim; l has the outcome. */
static void liar_calls(struct liar *l, uint16_t host)
{
	struct rdma_conn_param p = { .initiator_depth = 4, .retry_count = 1, .rnr_retry_count = 1 };
	struct sockaddr_storage to;
	uint8_t timeout = 14;

	liar_begin(l, host);
	address_of(&l->conf, PORT + 1, &to);
	assert_int_equal(rdma_create_id(l->channel, &l->id, NULL, RDMA_PS_TCP), 0);
	rdma_set_option(l->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
			sizeof(timeout));
	assert_int_equal(rdma_resolve_addr(l->id, NULL, (struct sockaddr *)&to, 5000), 0);
	LIAR_AWAITS(l, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(l->id, 5000), 0);
	LIAR_AWAITS(l, RDMA_CM_EVENT_ROUTE_RESOLVED);
	liar_equip(l);
	assert_int_equal(rdma_connect(l->id, &p), 0);
	UNTIL(liar_event(l, NULL) == RDMA_CM_EVENT_ESTABLISHED || l->refused);
}

static void liar_end(struct liar *l)
{
	if (l->id) {
		rdma_destroy_qp(l->id);
		if (l->mr)
			ibv_dereg_mr(l->mr);
		rdma_destroy_id(l->id);
	}
	if (l->cq)
		ibv_destroy_cq(l->cq);
	if (l->recv_cq)
		ibv_destroy_cq(l->recv_cq);
	if (l->listener)
		rdma_destroy_id(l->listener);
	rdma_destroy_event_channel(l->channel);
	free(l->room);
}

/* Post this and wait for its completion. Returns the status. */
static enum ibv_wc_status liar_does(struct liar *l, struct ibv_send_wr wr, uint32_t len)
{
	struct ibv_sge piece = { .addr = (uintptr_t)l->room, .length = len, .lkey = l->mr->lkey };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	wr.sg_list = &piece;
	wr.num_sge = 1;
	assert_int_equal(ibv_post_send(l->id->qp, &wr, &bad), 0);
	UNTIL(ibv_poll_cq(l->cq, 1, &wc) == 1);
	return wc.status;
}

static enum ibv_wc_status liar_rdma(struct liar *l, enum ibv_wr_opcode what, uint64_t at,
				    uint32_t rkey, uint32_t len)
{
	struct ibv_send_wr wr = { .opcode = what };

	if (what == IBV_WR_ATOMIC_FETCH_AND_ADD || what == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = at;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = at;
		wr.wr.rdma.rkey = rkey;
	}
	return liar_does(l, wr, len);
}

static enum ibv_wc_status liar_sends(struct liar *l, const void *data, uint32_t len)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	memcpy(l->room, data, len);
	return liar_does(l, wr, len);
}

/* Receive the next message into a copy. Returns its length; 0: the link ended. */
static size_t liar_hears(struct liar *l, uint8_t in[static RECV_ROOM])
{
	struct ibv_wc wc = { .wr_id = 0 };
	int n = 0;

	UNTIL((n = ibv_poll_cq(l->recv_cq, 1, &wc)) == 1 || liar_event(l, NULL) >= 0);
	if (n != 1 || wc.status != IBV_WC_SUCCESS)
		return 0;
	memcpy(in, l->room + ROOM / 2 + wc.wr_id * RECV_ROOM, wc.byte_len);
	liar_recv(l, wc.wr_id);
	return wc.byte_len;
}

static uint64_t number(const uint8_t *at, size_t bytes)
{
	uint64_t n = 0;

	for (size_t i = 0; i < bytes; i++)
		n |= (uint64_t)at[i] << (8 * i);
	return n;
}

/* All of the hello, as one with this key; true: it got the description of the region. */
static bool liar_proves(struct liar *l, const uint8_t *with)
{
	uint8_t nonce[HELLO_NONCE], in[RECV_ROOM], out[HELLO_MAX];
	size_t len;
	int next;

	l->conf.key = with;
	assert_int_equal(front_random(nonce, sizeof(nonce)), 0);
	hello_begin(&l->hello, HELLO_CALLER, &l->conf, 1, nonce);
	len = hello_write_call(&l->hello, out);
	for (;;) {
		size_t n;

		if (liar_sends(l, out, (uint32_t)len) != IBV_WC_SUCCESS)
			return false;
		n = liar_hears(l, in);
		if (!n)
			return false;
		next = hello_receive(&l->hello, in, n, out, &len);
		if (next == HELLO_READY)
			break;
		if (next < 0)
			return false;
	}
	for (int i = 0; i < TRANSPORT_PARTS; i++)
		l->part[i] = (struct part){ (uint32_t)number(l->hello.keys + 16 * i, 4),
					    (uint32_t)number(l->hello.keys + 16 * i + 4, 4),
					    number(l->hello.keys + 16 * i + 8, 8) };
	return true;
}

/* A host with the key, whose link is up. */
static void liar_friend(struct liar *l, uint16_t host)
{
	liar_calls(l, host);
	assert_false(l->refused);
	assert_true(liar_proves(l, key));
	assert_int_equal(l->part[TRANSPORT_TABLE].bytes, TABLE);
	assert_int_equal(l->part[TRANSPORT_WORDS].bytes, WORDS);
	assert_int_equal(l->part[TRANSPORT_LOAD].bytes, LOAD);
	assert_int_equal(l->part[TRANSPORT_VERSIONS].bytes, 0);
}

/* A client with the key and these rights, whose link is up. */
static void liar_client(struct liar *l, uint16_t host, uint32_t rights)
{
	liar_calls(l, host);
	assert_false(l->refused);
	l->conf.role = TRANSPORT_CLIENT;
	l->conf.rights = rights;
	assert_true(liar_proves(l, key));
}

static bool refused(enum ibv_wc_status s)
{
	return s == IBV_WC_REM_ACCESS_ERR || s == IBV_WC_REM_INV_REQ_ERR;
}

#endif
