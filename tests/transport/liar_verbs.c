// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * liar_verbs: an RDMA peer that breaks the rules, against the backend "verbs".
 *
 *	liar_verbs ADDRESS	of an RDMA device of this machine
 *
 * The victim, host 1, is the transport itself. The liars use librdmacm and libibverbs
 * directly, in the same thread as the victim. One of them has the cluster's key (a
 * compromised host). A refused operation must not change the victim's memory or the other
 * links.
 */
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

static void turn(void)
{
	struct transport_event ev[16];
	size_t n = transport_poll(v.t, now(), ev, 16);

	for (size_t i = 0; i < n; i++) {
		if (ev[i].type == TRANSPORT_UP)
			v.up[ev[i].host] = ev[i].link;
		else if (ev[i].type == TRANSPORT_DOWN)
			v.up[ev[i].host] = 0;
		else if (ev[i].type == TRANSPORT_MESSAGE)
			v.messages++;
	}
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
			while (!transport_poll(v.t, now(), &ev, 1)) {
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

static bool refused(enum ibv_wc_status s)
{
	return s == IBV_WC_REM_ACCESS_ERR || s == IBV_WC_REM_INV_REQ_ERR;
}

/* --- callers that have proven nothing --------------------------------------------------------- */

static void caller__unproven__reads_nothing_with_the_true_key(void **state)
{
	static const enum ibv_wr_opcode ways[] = { IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE,
						   IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct liar friend, stranger;

	(void)state;
	liar_friend(&friend, 2);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const struct part *p = &friend.part[TRANSPORT_WORDS];

		liar_calls(&stranger, 3);
		assert_true(refused(liar_rdma(&stranger, ways[i], p->at, p->rkey, 8)));
		liar_end(&stranger);
	}
	assert_int_equal(
		liar_rdma(&friend, IBV_WR_RDMA_READ, friend.part[0].at, friend.part[0].rkey, TABLE),
		IBV_WC_SUCCESS);
	assert_int_equal(friend.room[TABLE - 1], SIGN);
	liar_end(&friend);
}

static void caller__with_another_key__gets_nothing(void **state)
{
	struct transport_stats s;
	struct liar l;

	(void)state;
	liar_calls(&l, 2);
	assert_false(liar_proves(&l, wrong_key));
	UNTIL(alarms());
	transport_stats(v.t, &s);
	assert_int_equal(s.refused_callers, 1);
	liar_end(&l);
}

/* Messages of any length and content: the caller is disconnected, and nothing else happens. */
static void caller__says_rubbish__is_hung_up_on(void **state)
{
	static const uint32_t lens[] = { 1, 8, 136, 320, 321, 1024, 1025, 2000 };
	uint8_t rubbish[2000];

	(void)state;
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct transport_stats before, after;
		struct liar l;

		transport_stats(v.t, &before);
		assert_int_equal(front_random(rubbish, sizeof(rubbish)), 0);
		liar_calls(&l, 2);
		liar_sends(&l, rubbish, lens[i]);
		UNTIL(liar_event(&l, NULL) >= 0 && l.gone);
		transport_stats(v.t, &after);
		if (lens[i] <= TRANSPORT_MESSAGE_MAX)
			assert_true(after.refused_callers > before.refused_callers);
		liar_end(&l);
	}
}

static void caller__silent__is_hung_up_on_in_time(void **state)
{
	struct mono began = now();
	struct liar l;

	(void)state;
	liar_calls(&l, 2);
	UNTIL(liar_event(&l, NULL) >= 0 && l.gone);
	assert_true(mono_sub(now(), began) >= HELLO_NS);
	liar_end(&l);
}

/*
 * Eight callers may be unproven at once. The next is rejected. When they are gone, others can
 * connect.
 */
static void callers__too_many_at_once__are_rejected(void **state)
{
	struct liar l[9], friend;
	bool any = false;

	(void)state;
	for (int i = 0; i < 9; i++) {
		liar_calls(&l[i], 2);
		any = any || l[i].refused;
	}
	assert_true(any);
	for (int i = 0; i < 9; i++)
		liar_end(&l[i]);
	for (liar_calls(&friend, 2); friend.refused; liar_calls(&friend, 2))
		liar_end(&friend);
	assert_true(liar_proves(&friend, key));
	liar_end(&friend);
}

/* --- a host that was taken over -------------------------------------------------------- */

struct attempt {
	enum ibv_wr_opcode what;
	enum transport_part part;
	int64_t offset;
	uint32_t len;
};

/*
 * Each is refused on a link of its own, with an alarm of the victim. (Soft-RoCE's library itself
 * refuses an atomic that is not aligned, before sending it.)
 */
static void peer__asks_for_what_it_may_not__is_refused(void **state)
{
	static const struct attempt attempts[] = {
		{ IBV_WR_RDMA_WRITE, TRANSPORT_TABLE, 0, 8 },
		{ IBV_WR_RDMA_WRITE, TRANSPORT_WORDS, 0, 8 },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, TRANSPORT_WORDS, 8, 8 },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, TRANSPORT_TABLE, 0, 8 },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, TRANSPORT_TABLE, 8, 8 },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, TRANSPORT_WORDS, WORDS, 8 },
		{ IBV_WR_RDMA_READ, TRANSPORT_TABLE, 0, TABLE + 8 },
		{ IBV_WR_RDMA_READ, TRANSPORT_TABLE, -8, 16 },
		{ IBV_WR_RDMA_READ, TRANSPORT_WORDS, WORDS - 8, 16 },
		{ IBV_WR_RDMA_READ, TRANSPORT_WORDS, 1 << 20, 8 },
		{ IBV_WR_RDMA_WRITE, TRANSPORT_LOAD, 0, 8 },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, TRANSPORT_LOAD, 0, 8 },
		{ IBV_WR_RDMA_READ, TRANSPORT_LOAD, LOAD - 8, 16 },
		{ IBV_WR_RDMA_READ, TRANSPORT_VERSIONS, 0, 8 }, /* it has none */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		const struct attempt *a = &attempts[i];
		uint64_t before = alarms();
		enum ibv_wc_status s;
		struct liar l;

		liar_friend(&l, 2);
		s = liar_rdma(&l, a->what, l.part[a->part].at + (uint64_t)a->offset,
			      l.part[a->part].rkey, a->len);
		if (!refused(s))
			fail_msg("attempt %zu ended with \"%s\"", i, ibv_wc_status_str(s));
		UNTIL(alarms() > before);
		liar_end(&l);
	}
}

static void peer__with_another_peers_key__is_refused(void **state)
{
	struct liar a, b;

	(void)state;
	liar_friend(&a, 2);
	liar_friend(&b, 3);
	assert_true(refused(liar_rdma(&b, IBV_WR_RDMA_READ, a.part[0].at, a.part[0].rkey, 8)));
	assert_int_equal(liar_rdma(&a, IBV_WR_RDMA_READ, a.part[0].at, a.part[0].rkey, 8),
			 IBV_WC_SUCCESS);
	liar_end(&a);
	liar_end(&b);
}

/*
 * Operations posted on the old link are not executed any more, and its keys are not valid on the
 * new one.
 */
static void peer__calls_again__its_old_link_is_dead(void **state)
{
	struct liar old, new;

	(void)state;
	liar_friend(&old, 2);
	liar_friend(&new, 2);
	assert_int_not_equal(
		liar_rdma(&old, IBV_WR_ATOMIC_FETCH_AND_ADD, old.part[1].at, old.part[1].rkey, 8),
		IBV_WC_SUCCESS);
	assert_int_equal(liar_rdma(&new, IBV_WR_RDMA_READ, new.part[1].at, new.part[1].rkey, 8),
			 IBV_WC_SUCCESS);
	assert_int_equal(number(new.room, 8), FIRST_WORD);
	assert_int_not_equal(liar_rdma(&new, IBV_WR_RDMA_READ, old.part[1].at, old.part[1].rkey, 8),
			     IBV_WC_SUCCESS);
	liar_end(&old);
	liar_end(&new);
}

static void peer__removed__reaches_nothing_more(void **state)
{
	struct liar l;

	(void)state;
	liar_friend(&l, 2);
	assert_int_equal(transport_remove(v.t, 2, now()), 0);
	assert_int_not_equal(liar_rdma(&l, IBV_WR_RDMA_READ, l.part[0].at, l.part[0].rkey, 8),
			     IBV_WC_SUCCESS);
	liar_end(&l);
	liar_calls(&l, 2);
	assert_false(liar_proves(&l, key));
	liar_end(&l);
	add(2);
}

/* Malformed messages, and more of them than there is room for. */
static void peer__sends_malformed_messages__harms_no_other(void **state)
{
	uint8_t data[2000] = { 1 };
	struct liar l;

	(void)state;
	liar_friend(&l, 2);
	for (int i = 0; i < 200; i++)
		assert_int_equal(liar_sends(&l, data, 1024), IBV_WC_SUCCESS);
	UNTIL(v.messages == 200);
	assert_int_equal(liar_sends(&l, data, 0), IBV_WC_SUCCESS);
	assert_int_not_equal(liar_sends(&l, data, 1025), IBV_WC_SUCCESS);
	UNTIL(liar_event(&l, NULL) >= 0 && l.gone);
	assert_int_equal(v.messages, 200);
	liar_end(&l);
}

/* --- a host that is called --------------------------------------------------------------- */

/* The victim's own link to host 2 is up: the liar accepted it as a correct host would. */
static void liar_serves(struct liar *l, uint16_t host)
{
	struct rdma_conn_param p = { .responder_resources = 4,
				     .initiator_depth = 4,
				     .rnr_retry_count = 1 };
	uint8_t nonce[HELLO_NONCE], in[RECV_ROOM], out[HELLO_MAX];
	uint8_t keys[16 * TRANSPORT_PARTS] = { 0 };
	struct sockaddr_storage at;
	size_t len;

	liar_begin(l, host);
	address_of(&l->conf, (uint16_t)(PORT + host), &at);
	assert_int_equal(rdma_create_id(l->channel, &l->listener, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(l->listener, (struct sockaddr *)&at), 0);
	assert_int_equal(rdma_listen(l->listener, 4), 0);
	UNTIL(liar_event(l, &l->id) == RDMA_CM_EVENT_CONNECT_REQUEST);
	liar_equip(l);
	assert_int_equal(rdma_accept(l->id, &p), 0);
	assert_int_equal(front_random(nonce, sizeof(nonce)), 0);
	hello_begin(&l->hello, HELLO_RESPONDER, &l->conf, 0, nonce);
	for (int next = HELLO_MORE; next != HELLO_PROVEN;) {
		size_t n = 0;

		while (!n)
			n = liar_hears(l, in);
		next = hello_receive(&l->hello, in, n, out, &len);
		assert_true(next == HELLO_MORE || next == HELLO_PROVEN);
		if (next == HELLO_PROVEN)
			break;
		assert_int_equal(liar_sends(l, out, (uint32_t)len), IBV_WC_SUCCESS);
	}
	keys[1] = keys[17] = 0x10; /* table and words: 4096 bytes */
	len = hello_write_keys(&l->hello, keys, sizeof(keys), out);
	assert_int_equal(liar_sends(l, out, (uint32_t)len), IBV_WC_SUCCESS);
	UNTIL(v.up[host]);
}

/* On the link by which the victim posts, the peer may request nothing. */
static void peer__asks_on_our_link__is_refused(void **state)
{
	static const enum ibv_wr_opcode ways[] = { IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE,
						   IBV_WR_ATOMIC_CMP_AND_SWP };
	struct liar friend, l;

	(void)state;
	liar_friend(&friend, 3);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const struct part *p = &friend.part[TRANSPORT_WORDS];

		liar_serves(&l, 2);
		assert_true(refused(liar_rdma(&l, ways[i], p->at, p->rkey, 8)));
		UNTIL(!v.up[2] && alarms() > i);
		liar_end(&l);
	}
	liar_end(&friend);
}

static void peer__sends_on_our_link__is_hung_up_on(void **state)
{
	struct liar l;

	(void)state;
	liar_serves(&l, 2);
	liar_sends(&l, "hello", 5);
	UNTIL(!v.up[2]);
	liar_end(&l);
}

/*
 * The liar describes a region that it has not registered: operations are refused, and the link
 * ends.
 */
static void peer__lends_nothing__operations_are_refused(void **state)
{
	struct transport_op op = {
		.kind = TRANSPORT_FAA64, .host = 2, .part = TRANSPORT_WORDS, .value = 1
	};
	struct transport_event ev = { .type = TRANSPORT_UP };
	struct liar l;

	(void)state;
	liar_serves(&l, 2);
	op.deadline = mono_add(now(), 5 * NS_PER_S);
	assert_int_equal(transport_post(v.t, &op, 1, now(), NULL), 1);
	while (ev.type != TRANSPORT_RESULT)
		transport_poll(v.t, now(), &ev, 1);
	assert_int_equal(ev.outcome, TRANSPORT_REFUSED);
	UNTIL(transport_poll(v.t, now(), &ev, 1) && ev.type == TRANSPORT_DOWN);
	assert_int_equal(ev.host, 2);
	v.up[2] = 0;
	liar_end(&l);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, open_victim, close_victim)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(caller__unproven__reads_nothing_with_the_true_key),
		TEST(caller__with_another_key__gets_nothing),
		TEST(caller__says_rubbish__is_hung_up_on),
		TEST(caller__silent__is_hung_up_on_in_time),
		TEST(callers__too_many_at_once__are_rejected),
		TEST(peer__asks_for_what_it_may_not__is_refused),
		TEST(peer__with_another_peers_key__is_refused),
		TEST(peer__calls_again__its_old_link_is_dead),
		TEST(peer__removed__reaches_nothing_more),
		TEST(peer__sends_malformed_messages__harms_no_other),
		TEST(peer__asks_on_our_link__is_refused),
		TEST(peer__sends_on_our_link__is_hung_up_on),
		TEST(peer__lends_nothing__operations_are_refused),
	};

	if (argc != 2) {
		fprintf(stderr,
			"usage: liar_verbs ADDRESS, which an RDMA device of this machine has\n");
		return 2;
	}
	v.address = argv[1];
	if (getenv("RESEX_TEST"))
		cmocka_set_test_filter(getenv("RESEX_TEST"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
