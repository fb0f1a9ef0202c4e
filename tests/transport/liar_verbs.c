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
#include "tests/transport/liar_rig.h"

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

/* --- a client that lies about its rights -------------------------------------------------- */

/* It READs what it may; then one of these, each on a link of its own. */
static void client__that_may_read__changes_nothing(void **state)
{
	static const enum ibv_wr_opcode ways[] = { IBV_WR_ATOMIC_FETCH_AND_ADD,
						   IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_RDMA_WRITE };

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		uint64_t before = alarms();
		struct liar l;
		const struct part *words = &l.part[TRANSPORT_WORDS];

		liar_client(&l, READER, 0);
		assert_int_equal(liar_rdma(&l, IBV_WR_RDMA_READ, words->at, words->rkey, 16),
				 IBV_WC_SUCCESS);
		assert_int_equal(number(l.room + 8, 8), FIRST_WORD + 1);
		assert_true(refused(liar_rdma(&l, ways[i], words->at, words->rkey, 8)));
		UNTIL(alarms() > before);
		liar_end(&l);
	}
}

/* A key that allows atomics, of a client that has the right: it is none of the reader's. */
static void client__that_may_read__with_the_key_of_one_that_may_more__changes_nothing(void **state)
{
	struct liar reader, changer;
	const struct part *words = &changer.part[TRANSPORT_WORDS];

	(void)state;
	liar_client(&changer, CHANGER, TRANSPORT_ATOMICS);
	liar_client(&reader, READER, 0);
	assert_true(refused(
		liar_rdma(&reader, IBV_WR_ATOMIC_FETCH_AND_ADD, words->at, words->rkey, 8)));
	/* The one with the right: CAS of a word to itself. */
	assert_int_equal(liar_rdma(&changer, IBV_WR_ATOMIC_CMP_AND_SWP, words->at, words->rkey, 8),
			 IBV_WC_SUCCESS);
	assert_int_equal(number(changer.room, 8), FIRST_WORD);
	liar_end(&changer);
	liar_end(&reader);
}

static void client__sends_a_message__is_hung_up_on(void **state)
{
	(void)state;
	for (uint16_t host = READER; host <= CHANGER; host++) {
		uint64_t before = alarms();
		struct liar l;

		liar_client(&l, host, host == CHANGER ? TRANSPORT_ATOMICS : 0);
		liar_sends(&l, "hello", 5);
		UNTIL(liar_event(&l, NULL) >= 0 && l.gone);
		assert_true(alarms() > before);
		assert_int_equal(v.messages, 0);
		liar_end(&l);
	}
}

static void client__that_says_more_than_it_is__gets_no_keys(void **state)
{
	struct liar l;

	(void)state;
	liar_calls(&l, READER);
	l.conf.role = TRANSPORT_CLIENT;
	l.conf.rights = TRANSPORT_ATOMICS;
	assert_false(liar_proves(&l, key));
	liar_end(&l);
	liar_calls(&l, CHANGER);
	assert_false(liar_proves(&l, key));
	liar_end(&l);
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
		take(&ev);
	assert_int_equal(ev.outcome, TRANSPORT_REFUSED);
	UNTIL(take(&ev) && ev.type == TRANSPORT_DOWN);
	assert_int_equal(ev.host, 2);
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
		TEST(client__that_may_read__changes_nothing),
		TEST(client__that_may_read__with_the_key_of_one_that_may_more__changes_nothing),
		TEST(client__sends_a_message__is_hung_up_on),
		TEST(client__that_says_more_than_it_is__gets_no_keys),
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
