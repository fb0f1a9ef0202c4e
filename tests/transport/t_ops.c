// SPDX-License-Identifier: GPL-2.0-or-later
/* t_ops: READ, CAS64, FAA64: their effects, their order, and which are refused. */
#include <errno.h>
#include <string.h>

#include "tests/transport/suite.h"

static void read__table__is_what_its_owner_wrote_last(void **state)
{
	struct suite *s = *state;
	struct host *a, *b;
	uint8_t *table;
	const struct seen *got;

	rig_pair(&s->rig, &a, &b);
	table = transport_table(b->t);
	for (int round = 1; round < 20; round++) {
		for (size_t i = 0; i < RIG_TABLE; i++)
			table[i] = (uint8_t)(i * 7 + (size_t)round);
		got = host_do(a, op_read(2, TRANSPORT_TABLE, 0, RIG_TABLE));
		assert_int_equal(got->ev.outcome, TRANSPORT_DONE);
		assert_memory_equal(got->ev.data, table, RIG_TABLE);
		got = host_do(a, op_read(2, TRANSPORT_TABLE, RIG_TABLE - 8, 8));
		assert_memory_equal(got->ev.data, table + RIG_TABLE - 8, 8);
	}
	assert_ptr_equal(transport_table(b->t), table);
}

/* Host 2 has larger parts than host 1. */
static void unequal_pair(struct rig *r, struct host **a, struct host **b)
{
	struct transport_conf one = rig_conf(r, 1), two = rig_conf(r, 2);

	two.bytes[TRANSPORT_TABLE] = 32768;
	two.bytes[TRANSPORT_WORDS] = 8192;
	*a = rig_open(r, &one);
	*b = rig_open(r, &two);
	host_meet(*a, *b);
	UNTIL(r, both_up(*a, *b));
}

static void read__any_length_and_place__is_that_part_of_the_table(void **state)
{
	struct suite *s = *state;
	struct host *a, *b;
	struct prop p;
	uint8_t *table;

	prop_start(&p);
	unequal_pair(&s->rig, &a, &b);
	table = transport_table(b->t);
	for (size_t i = 0; i < 32768; i++)
		table[i] = (uint8_t)(i ^ i >> 8);
	for (uint32_t i = 0; i < 60; i++) {
		uint32_t len = i ? 8 * (uint32_t)prop_range(&p, 1, TRANSPORT_READ_MAX / 8)
				 : TRANSPORT_READ_MAX;
		uint32_t off = 8 * (uint32_t)prop_range(&p, 0, (32768 - len) / 8);
		const struct seen *got = host_do(a, op_read(2, TRANSPORT_TABLE, off, len));

		prop_assert(&p, i, got->ev.outcome == TRANSPORT_DONE);
		prop_assert(&p, i, got->ev.len == len);
		prop_assert(&p, i, !memcmp(got->ev.data, table + off, len));
	}
}

/* Host 2 has the part load, and host 1 has versions. Neither has the other's. */
static void read__an_optional_part__if_it_is_there(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1), two = rig_conf(&s->rig, 2);
	struct host *a, *b;
	uint8_t want[64] = { 0 };
	uint8_t *load;

	one.bytes[TRANSPORT_VERSIONS] = 4096;
	two.bytes[TRANSPORT_LOAD] = 2 << 20; /* more than a table may have */
	a = rig_open(&s->rig, &one);
	b = rig_open(&s->rig, &two);
	host_meet(a, b);
	UNTIL(&s->rig, both_up(a, b));
	load = transport_part(b->t, TRANSPORT_LOAD); /* NULL: on another machine */
	for (size_t i = 0; load && i < sizeof(want); i++)
		load[(2 << 20) - sizeof(want) + i] = want[i] = (uint8_t)(i + 1);
	assert_memory_equal(
		host_do(a, op_read(2, TRANSPORT_LOAD, (2 << 20) - sizeof(want), sizeof(want)))
			->ev.data,
		want, sizeof(want));
	memset(want, 0, sizeof(want));
	assert_memory_equal(host_do(b, op_read(1, TRANSPORT_VERSIONS, 0, 64))->ev.data, want, 64);
	assert_int_equal(host_refuses(a, op_read(2, TRANSPORT_LOAD, 2 << 20, 8)), -ERANGE);
	assert_int_equal(host_refuses(a, op_read(2, TRANSPORT_VERSIONS, 0, 8)), -ERANGE);
	assert_int_equal(host_refuses(b, op_read(1, TRANSPORT_LOAD, 0, 8)), -ERANGE);
	assert_true(both_up(a, b));
}

static void post__beyond_the_peers_part__is_erange(void **state)
{
	struct suite *s = *state;
	struct host *a, *b;

	unequal_pair(&s->rig, &a, &b);
	/* The peer's bounds count, not ours. */
	assert_int_equal(host_do(a, op_read(2, TRANSPORT_TABLE, 32760, 8))->ev.outcome,
			 TRANSPORT_DONE);
	assert_int_equal(host_faa(a, 2, 8184, 1), 0);
	assert_int_equal(host_refuses(b, op_read(1, TRANSPORT_TABLE, RIG_TABLE, 8)), -ERANGE);
	assert_int_equal(host_refuses(b, op_faa(1, RIG_WORDS, 1)), -ERANGE);
	assert_int_equal(host_refuses(b, op_cas(1, RIG_WORDS, 0, 1)), -ERANGE);
	assert_int_equal(host_refuses(a, op_read(2, TRANSPORT_TABLE, 32768, 8)), -ERANGE);
	assert_int_equal(host_refuses(a, op_read(2, TRANSPORT_TABLE, 32752, 24)), -ERANGE);
	assert_int_equal(host_refuses(a, op_read(2, TRANSPORT_WORDS, 8184, 16)), -ERANGE);
	assert_int_equal(host_refuses(a, op_faa(2, 8192, 1)), -ERANGE);
	assert_int_equal(host_refuses(a, op_read(2, TRANSPORT_TABLE, UINT32_MAX - 7, 16)), -ERANGE);
	assert_int_equal(host_refuses(a, op_read(2, TRANSPORT_TABLE, UINT32_MAX - 7, 8)), -ERANGE);
	assert_int_equal(host_refuses(a, op_cas(2, UINT32_MAX - 7, 0, 1)), -ERANGE);
	/* The link still works after all of that. */
	assert_true(both_up(a, b));
	assert_int_equal(host_word(a, 2, 8184), 1);
}

static void post__kind_host_alignment_or_length_is_wrong__is_einval(void **state)
{
	struct suite *s = *state;
	struct transport_op bad[24];
	struct host *a, *b;
	size_t n = 0;

	rig_pair(&s->rig, &a, &b);
	bad[n++] = op_read(2, TRANSPORT_TABLE, 4, 8);
	bad[n++] = op_read(2, TRANSPORT_TABLE, 1, 8);
	bad[n++] = op_read(2, TRANSPORT_TABLE, 0, 4);
	bad[n++] = op_read(2, TRANSPORT_TABLE, 0, 12);
	bad[n++] = op_read(2, TRANSPORT_TABLE, 0, 0);
	bad[n++] = op_read(2, TRANSPORT_TABLE, 0, TRANSPORT_READ_MAX + 8);
	bad[n++] = op_read(2, TRANSPORT_PARTS, 0, 8);
	bad[n++] = op_read(0, TRANSPORT_TABLE, 0, 8);
	bad[n++] = op_read(TRANSPORT_HOSTS_MAX + 1, TRANSPORT_TABLE, 0, 8);
	bad[n++] = op_read(UINT16_MAX, TRANSPORT_TABLE, 0, 8);
	bad[n++] = op_cas(2, 4, 0, 1);
	bad[n++] = op_faa(2, 12, 1);
	bad[n] = op_faa(2, 8, 1);
	bad[n++].len = 4;
	bad[n] = op_cas(2, 8, 0, 1);
	bad[n++].len = 16;
	bad[n] = op_faa(2, 8, 1);
	bad[n++].kind = TRANSPORT_KINDS;
	bad[n] = op_faa(2, 8, 1);
	bad[n++].kind = (enum transport_kind)77;
	for (size_t i = 0; i < n; i++) {
		int why = host_refuses(a, bad[i]);

		if (why != -EINVAL)
			print_error("operation %zu: %d\n", i, why);
		assert_int_equal(why, -EINVAL);
	}
	assert_true(both_up(a, b));
	assert_int_equal(host_word(a, 2, 8), 0);
}

static void post__length_of_an_atomic__may_be_8_or_0(void **state)
{
	struct suite *s = *state;
	struct transport_op op = op_faa(2, 0, 1);
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	op.len = 0;
	assert_int_equal(host_do(a, op)->ev.outcome, TRANSPORT_DONE);
	op.len = 8;
	assert_int_equal(host_do(a, op)->ev.outcome, TRANSPORT_DONE);
	assert_int_equal(host_word(a, 2, 0), 2);
}

static void post__deadline_not_after_now__is_etime(void **state)
{
	struct suite *s = *state;
	struct transport_op op = op_faa(2, 0, 1);
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	rig_simulate(&s->rig);
	op.deadline = rig_now(&s->rig);
	assert_int_equal(host_refuses(a, op), -ETIME);
	op.deadline.ns--;
	assert_int_equal(host_refuses(a, op), -ETIME);
	op.deadline.ns = 1;
	assert_int_equal(host_refuses(a, op), -ETIME);
	assert_int_equal(host_word(a, 2, 0), 0);
}

static void post__no_link__is_enotconn(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1);
	struct host *a = rig_open(&s->rig, &one);

	assert_int_equal(host_refuses(a, op_faa(2, 0, 1)), -ENOTCONN);
	assert_int_equal(host_refuses(a, op_faa(1, 0, 1)), -ENOTCONN);
	host_add(a, 2);
	rig_turn_for(&s->rig, 30 * NS_PER_MS);
	assert_int_equal(host_refuses(a, op_read(2, TRANSPORT_TABLE, 0, 8)), -ENOTCONN);
	assert_int_equal(host_refuses(a, op_send(2, "x", 1)), -ENOTCONN);
}

static void post__one_of_many_is_bad__those_before_it_are_posted(void **state)
{
	struct suite *s = *state;
	struct transport_op op[4] = { op_faa(2, 0, 1), op_faa(2, 0, 10), op_faa(2, 4, 100),
				      op_faa(2, 0, 1000) };
	struct mono now;
	struct host *a, *b;
	int why = 0;

	rig_pair(&s->rig, &a, &b);
	assert_int_equal(host_post(a, op, 4, &why), 2);
	assert_int_equal(why, -EINVAL);
	UNTIL(&s->rig, host_result(a, op[1].tag));
	assert_non_null(host_result(a, op[0].tag));
	assert_int_equal(host_word(a, 2, 0), 11);
	now = rig_now(&s->rig);
	assert_int_equal(transport_post(a->t, &op[2], 1, now, NULL), 0); /* why may be NULL */
	assert_int_equal(transport_post(a->t, op, 0, now, NULL), 0);
}

/* Exactly one more. */
static void one_result(struct rig *r, struct host *a)
{
	struct patience p = { 0 };

	a->paused = true;
	while (!host_poll(a, 1))
		rig_wait(r, &p, "one result");
	a->paused = false;
}

static void depth__results_are_outstanding__the_next_is_eagain(void **state)
{
	struct suite *s = *state;
	struct transport_op op[TRANSPORT_DEPTH + 1];
	struct host *a, *b;
	int why;

	rig_pair(&s->rig, &a, &b);
	for (uint64_t round = 0; round < 20; round++) {
		for (size_t i = 0; i <= TRANSPORT_DEPTH; i++) {
			bool reads = (i + round) % 3 == 0;

			op[i] = reads ? op_read(2, TRANSPORT_TABLE, 0, 64) : op_faa(2, 0, 1);
		}
		why = 0;
		assert_int_equal(host_post(a, op, TRANSPORT_DEPTH + 1, &why), TRANSPORT_DEPTH);
		assert_int_equal(why, -EAGAIN);
		one_result(&s->rig, a);
		assert_int_equal(host_post(a, op, 1, &why), 1); /* at once: there is room for one */
		UNTIL(&s->rig, !a->ref.n);
	}
}

static void depth__as_many_results_as_were_posted__as_many_may_be_posted_at_once(void **state)
{
	struct suite *s = *state;
	struct transport_op op[TRANSPORT_DEPTH];
	struct patience p = { 0 };
	struct host *a, *b;
	int why;

	rig_pair(&s->rig, &a, &b);
	for (int round = 0; round < 50; round++) {
		for (size_t i = 0; i < TRANSPORT_DEPTH; i++)
			op[i] = op_read(2, TRANSPORT_TABLE, 8 * (uint32_t)i, 8);
		/* No poll between the last result and this. */
		assert_int_equal(host_post(a, op, TRANSPORT_DEPTH, &why), TRANSPORT_DEPTH);
		while (a->ref.n)
			rig_wait(&s->rig, &p, "all results");
	}
}

static void cas64__equal_or_not__swaps_or_leaves_and_tells_the_word_before(void **state)
{
	struct suite *s = *state;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	assert_int_equal(host_cas(a, 2, 8, 0, 0x1122334455667788u), 0);
	assert_int_equal(host_word(a, 2, 8), 0x1122334455667788u);
	assert_int_equal(host_cas(a, 2, 8, 1, 2), 0x1122334455667788u);
	assert_int_equal(host_cas(a, 2, 8, 0x1122334455667789u, 2), 0x1122334455667788u);
	assert_int_equal(host_cas(a, 2, 8, 0x0122334455667788u, 2), 0x1122334455667788u);
	assert_int_equal(host_word(a, 2, 8), 0x1122334455667788u);
	assert_int_equal(host_cas(a, 2, 8, 0x1122334455667788u, UINT64_MAX), 0x1122334455667788u);
	assert_int_equal(host_cas(a, 2, 8, UINT64_MAX, 5), UINT64_MAX);
	assert_int_equal(host_word(a, 2, 8), 5);
	assert_int_equal(host_word(a, 2, 0), 0); /* the words beside it are unchanged */
	assert_int_equal(host_word(a, 2, 16), 0);
}

static void faa64__any_value__adds_modulo_2_to_the_64th(void **state)
{
	struct suite *s = *state;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	assert_int_equal(host_faa(a, 2, 16, 0), 0);
	assert_int_equal(host_faa(a, 2, 16, 0x8000000100000001u), 0);
	assert_int_equal(host_faa(a, 2, 16, 0xffffffffu), 0x8000000100000001u);
	assert_int_equal(host_faa(a, 2, 16, 0x8000000000000000u), 0x8000000200000000u);
	assert_int_equal(host_faa(a, 2, 16, UINT64_MAX), 0x200000000u); /* minus 1 */
	assert_int_equal(host_word(a, 2, 16), 0x1ffffffffu);
	assert_int_equal(host_word(a, 2, 8), 0);
	assert_int_equal(host_word(a, 2, 24), 0);
}

static void atomics__to_the_table__change_nothing(void **state)
{
	struct suite *s = *state;
	struct transport_op op[2] = { op_faa(2, 0, 1), op_cas(2, 0, 0, 7) };
	struct host *a, *b;
	int why;

	rig_pair(&s->rig, &a, &b);
	for (size_t i = 0; i < 2; i++) {
		op[i].part = TRANSPORT_TABLE;
		UNTIL(&s->rig, both_up(a, b));
		if (!host_post(a, &op[i], 1, &why))
			continue;
		UNTIL(&s->rig, host_result(a, op[i].tag));
		assert_int_equal(host_result(a, op[i].tag)->ev.outcome, TRANSPORT_REFUSED);
	}
	UNTIL(&s->rig, both_up(a, b));
	assert_int_equal(*(uint64_t *)transport_table(b->t), 0);
}

/* --- order ------------------------------------------------------------------ */

enum { MODEL_WORDS = 4 };

struct step {
	struct transport_op op;
	uint64_t want;
};

/* The expected word when all operations before were executed in order. */
static struct step any_step(struct prop *p, uint64_t word[MODEL_WORDS])
{
	uint32_t w = (uint32_t)prop_range(p, 0, MODEL_WORDS - 1);
	struct step s = { .want = word[w] };
	uint64_t value = prop_hostile(p);

	switch (prop_range(p, 0, 2)) {
	case 0:
		s.op = op_read(2, TRANSPORT_WORDS, 8 * w, 8);
		break;
	case 1:
		s.op = op_faa(2, 8 * w, value);
		word[w] += value;
		break;
	default:
		s.op = op_cas(2, 8 * w, prop_one_in(p, 4) ? value : word[w], value);
		if (s.op.compare == word[w])
			word[w] = value;
	}
	return s;
}

static uint64_t saw(const struct transport_event *ev)
{
	uint64_t word = ev->old;

	if (ev->kind == TRANSPORT_READ)
		memcpy(&word, ev->data, sizeof(word));
	return word;
}

static void order__operations_of_one_link__are_executed_as_posted(void **state)
{
	struct suite *s = *state;
	uint64_t word[MODEL_WORDS] = { 0 };
	struct step step[TRANSPORT_DEPTH];
	struct host *a, *b;
	struct prop p;

	prop_start(&p);
	rig_pair(&s->rig, &a, &b);
	for (int batch = 0; batch < 200; batch++) {
		size_t n = prop_range(&p, 1, TRANSPORT_DEPTH);

		for (size_t i = 0; i < n; i++) {
			step[i] = any_step(&p, word);
			step[i].op.tag = host_post1(a, step[i].op);
		}
		UNTIL(&s->rig, !a->ref.n);
		for (size_t i = 0; i < n; i++) {
			const struct transport_event *ev = &host_result(a, step[i].op.tag)->ev;

			prop_assert(&p, batch, ev->outcome == TRANSPORT_DONE);
			prop_assert(&p, batch, saw(ev) == step[i].want);
		}
		host_forget(a);
	}
}

/* --- results and their data --------------------------------------------------- */

/* Poll without the rig, which copies: this is the transport's own data. */
static size_t poll_some(struct suite *s, struct host *a, struct host *b, size_t max)
{
	struct patience p = { 0 };
	size_t n;

	while (!(n = transport_poll(a->t, rig_now(&s->rig), s->ev, max))) {
		host_poll(b, 32);
		a->paused = true;
		rig_wait(&s->rig, &p, "an event");
		a->paused = false;
	}
	return n;
}

static void data__of_results__stays_as_read_until_the_next_poll(void **state)
{
	struct suite *s = *state;
	struct transport_op op[TRANSPORT_DEPTH];
	uint8_t *table, want[TRANSPORT_DEPTH][512];
	size_t n, got = 0;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	table = transport_table(b->t);
	for (size_t i = 0; i < RIG_TABLE; i++)
		table[i] = (uint8_t)(i / 512 + 1);
	for (uint32_t i = 0; i < TRANSPORT_DEPTH; i++) {
		op[i] = op_read(2, TRANSPORT_TABLE, 512 * i, 512);
		op[i].tag = i;
		op[i].deadline = mono_add(rig_now(&s->rig), 60 * NS_PER_S);
		memcpy(want[i], table + 512 * i, 512);
	}
	assert_int_equal(transport_post(a->t, op, TRANSPORT_DEPTH, rig_now(&s->rig), NULL),
			 TRANSPORT_DEPTH);
	while (got < TRANSPORT_DEPTH) {
		n = poll_some(s, a, b, 3);
		assert_true(n <= 3);
		got += n;
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(s->ev[i].outcome, TRANSPORT_DONE);
			assert_int_equal(s->ev[i].len, 512);
			assert_memory_equal(s->ev[i].data, want[s->ev[i].tag], 512);
		}
	}
	memset(&a->ref, 0, sizeof(a->ref));
	host_close(a);
}

static void data__while_the_owner_writes_and_more_is_posted__does_not_change(void **state)
{
	struct suite *s = *state;
	struct mono far = mono_add(rig_now(&s->rig), 600 * NS_PER_S);
	struct transport_op op = op_read(2, TRANSPORT_TABLE, 0, RIG_TABLE);
	uint8_t want[RIG_TABLE];
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	op.deadline = far;
	for (int round = 1; round <= 20; round++) {
		memset(transport_table(b->t), round, RIG_TABLE);
		memset(want, round, RIG_TABLE);
		assert_int_equal(transport_post(a->t, &op, 1, rig_now(&s->rig), NULL), 1);
		assert_int_equal(poll_some(s, a, b, 1), 1);
		memset(transport_table(b->t), 0xee, RIG_TABLE);
		for (size_t i = 0; i < TRANSPORT_DEPTH; i++)
			assert_int_equal(transport_post(a->t, &op, 1, rig_now(&s->rig), NULL), 1);
		for (int i = 0; i < 10; i++)
			host_poll(b, 32);
		assert_memory_equal(s->ev[0].data, want, RIG_TABLE);
		for (size_t i = 0; i < TRANSPORT_DEPTH;)
			i += poll_some(s, a, b, 32);
	}
	memset(&a->ref, 0, sizeof(a->ref));
	host_close(a);
}

static void poll__max_is_small__gives_the_oldest_and_keeps_the_rest(void **state)
{
	struct suite *s = *state;
	struct transport_op op[4] = { op_faa(2, 0, 1), op_faa(2, 0, 1), op_faa(2, 0, 1),
				      op_faa(2, 0, 1) };
	struct host *a, *b;
	int why;

	rig_pair(&s->rig, &a, &b);
	assert_int_equal(host_post(a, op, 4, &why), 4);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(host_poll(a, 0), 0);
		rig_turn_for(&s->rig, 0);
		host_poll(b, 32);
	}
	for (size_t i = 0; i < 4; i++) {
		one_result(&s->rig, a);
		assert_int_equal(a->log[a->n - 1].ev.tag, op[i].tag);
		assert_int_equal(a->log[a->n - 1].ev.old, i);
	}
}

const struct entry ops_tests[] = {
	ENTRY(read__table__is_what_its_owner_wrote_last, ALL),
	ENTRY(read__any_length_and_place__is_that_part_of_the_table, ALL),
	ENTRY(read__an_optional_part__if_it_is_there, ALL),
	ENTRY(post__beyond_the_peers_part__is_erange, ALL),
	ENTRY(post__kind_host_alignment_or_length_is_wrong__is_einval, ALL),
	ENTRY(post__length_of_an_atomic__may_be_8_or_0, ALL),
	ENTRY(post__deadline_not_after_now__is_etime, ALL),
	ENTRY(post__no_link__is_enotconn, ALL),
	ENTRY(post__one_of_many_is_bad__those_before_it_are_posted, ALL),
	ENTRY(depth__results_are_outstanding__the_next_is_eagain, ALL),
	ENTRY(depth__as_many_results_as_were_posted__as_many_may_be_posted_at_once, ALL),
	ENTRY(cas64__equal_or_not__swaps_or_leaves_and_tells_the_word_before, ALL),
	ENTRY(faa64__any_value__adds_modulo_2_to_the_64th, ALL),
	ENTRY(atomics__to_the_table__change_nothing, ALL),
	ENTRY(order__operations_of_one_link__are_executed_as_posted, ALL),
	ENTRY(data__of_results__stays_as_read_until_the_next_poll, ALL),
	ENTRY(data__while_the_owner_writes_and_more_is_posted__does_not_change, ALL),
	ENTRY(poll__max_is_small__gives_the_oldest_and_keeps_the_rest, ALL),
	{ NULL, NULL, ALL },
};
