// SPDX-License-Identifier: GPL-2.0-or-later
/* The network that "shm" injects: delays, losses, late executions, cuts, by the user's time. */
#include "tests/unit/shm_rig.h"
#include "tests/unit/unit.h"

TEST(delay__executes_and_answers_when_due)
{
	struct rig *r = rig_pair();
	struct mono due;

	faults(r, 1,
	       (struct shm_faults){ .out_min_ns = 3 * NS_PER_MS,
				    .out_max_ns = 3 * NS_PER_MS,
				    .back_min_ns = 2 * NS_PER_MS,
				    .back_max_ns = 2 * NS_PER_MS });
	post(r, 1, op_faa(2, 0, 1, 1));
	turn(r);
	assert_int_equal(word_of(r, 2, 0), 40);
	assert_int_equal(transport_arm(r->host[1].t, r->now, &due), 0);
	assert_int_equal(due.ns, r->now.ns + 3 * NS_PER_MS);
	r->now = due;
	turn(r);
	assert_int_equal(word_of(r, 2, 0), 41);
	assert_null(result(r, 1, 1));
	assert_int_equal(transport_arm(r->host[1].t, r->now, &due), 0);
	assert_int_equal(due.ns, r->now.ns + 2 * NS_PER_MS);
	r->now = due;
	turn(r);
	assert_int_equal(result(r, 1, 1)->old, 40);
	rig_free(r);
}

TEST(delay__behind_a_slow_one__answers_after_it_was_executed)
{
	struct rig *r = rig_pair();

	faults(r, 1,
	       (struct shm_faults){ .out_min_ns = 20 * NS_PER_MS, .out_max_ns = 20 * NS_PER_MS });
	post(r, 1, op_faa(2, 0, 1, 1));
	faults(r, 1,
	       (struct shm_faults){ .back_min_ns = 5 * NS_PER_MS, .back_max_ns = 5 * NS_PER_MS });
	post(r, 1, op_faa(2, 0, 1, 2));
	pass(r, 19 * NS_PER_MS);
	assert_int_equal(word_of(r, 2, 0), 40);
	pass(r, NS_PER_MS);
	assert_int_equal(word_of(r, 2, 0), 42);
	pass(r, 4 * NS_PER_MS);
	assert_null(result(r, 1, 2));
	pass(r, NS_PER_MS);
	assert_int_equal(result(r, 1, 2)->old, 41);
	rig_free(r);
}

TEST(drop__not_executed_and_unknown)
{
	struct rig *r = rig_pair();
	int down;

	faults(r, 1, (struct shm_faults){ .drop_permille = 1000 });
	post(r, 1, op_faa(2, 0, 1, 1));
	post(r, 1, op_read(2, TRANSPORT_WORDS, 1, 2));
	faults(r, 1, (struct shm_faults){ 0 });
	post(r, 1, op_faa(2, 0, 1, 3)); /* behind one that was lost */
	pass(r, 110 * NS_PER_MS);
	assert_int_equal(result(r, 1, 1)->outcome, TRANSPORT_UNKNOWN);
	assert_int_equal(result(r, 1, 1)->why, -ETIME);
	assert_int_equal(result(r, 1, 2)->outcome, TRANSPORT_LOST);
	assert_int_equal(result(r, 1, 3)->outcome, TRANSPORT_UNKNOWN);
	down = find(r, 1, TRANSPORT_DOWN, 2, 0);
	assert_true(&r->host[1].log[down] > result(r, 1, 3));
	pass(r, 100 * NS_PER_MS);
	assert_int_equal(word_of(r, 2, 0), 40);
	assert_int_equal(transport_link(r->host[1].t, 2), 2);
	rig_free(r);
}

TEST(drop_back__executed_and_unknown)
{
	struct rig *r = rig_pair();

	faults(r, 1, (struct shm_faults){ .drop_back_permille = 1000 });
	post(r, 1, op_faa(2, 0, 1, 1));
	pass(r, 110 * NS_PER_MS);
	assert_int_equal(result(r, 1, 1)->outcome, TRANSPORT_UNKNOWN);
	assert_int_equal(word_of(r, 2, 0), 41);
	rig_free(r);
}

TEST(late__executed_after_the_link_ended)
{
	struct rig *r = rig_pair();

	faults(r, 1, (struct shm_faults){ .late_permille = 1000, .late_max_ns = NS_PER_MS });
	post(r, 1, op_faa(2, 0, 1, 1));
	pass(r, 100 * NS_PER_MS);
	assert_int_equal(result(r, 1, 1)->outcome, TRANSPORT_UNKNOWN);
	assert_int_equal(transport_link(r->host[1].t, 2), 0);
	/* The responder is not asked for a new link before the back-off: 20 ms. */
	pass(r, 2 * NS_PER_MS);
	assert_int_equal(word_of(r, 2, 0), 41);
	rig_free(r);
}

TEST(late__polled_long_after__no_answer)
{
	struct rig *r = rig_pair();

	faults(r, 1, (struct shm_faults){ .late_permille = 1000, .late_max_ns = NS_PER_MS });
	post(r, 1, op_faa(2, 0, 1, 1));
	r->now.ns += 10 * NS_PER_S;
	turn(r);
	assert_int_equal(result(r, 1, 1)->outcome, TRANSPORT_UNKNOWN);
	assert_int_equal(word_of(r, 2, 0), 41);
	rig_free(r);
}

TEST(late__not_after_a_newer_link)
{
	struct rig *r = rig_pair();
	struct transport_op op = op_faa(2, 0, 1, 1);

	faults(r, 1, (struct shm_faults){ .out_min_ns = 5 * NS_PER_S, .out_max_ns = 5 * NS_PER_S });
	post(r, 1, op);
	faults(r, 1, (struct shm_faults){ 0 });
	pass(r, NS_PER_S);
	assert_int_equal(result(r, 1, 1)->outcome, TRANSPORT_UNKNOWN);
	assert_int_equal(transport_link(r->host[1].t, 2), 2);
	pass(r, 6 * NS_PER_S);
	assert_int_equal(word_of(r, 2, 0), 40);
	/* A caller that does not know yet would not execute it either. */
	assert_int_equal(shm_of(r->host[2].t)->region.epochs[0], 2);
	rig_free(r);
}

TEST(late__newer_link_is_cut_off__executed)
{
	struct rig *r = rig_pair();

	faults(r, 1, (struct shm_faults){ .out_min_ns = 5 * NS_PER_S, .out_max_ns = 5 * NS_PER_S });
	post(r, 1, op_faa(2, 0, 1, 1));
	assert_int_equal(transport_shm_cut(r->host[1].t, 2, true), 0);
	pass(r, 4 * NS_PER_S);
	assert_int_equal(word_of(r, 2, 0), 40);
	pass(r, 2 * NS_PER_S);
	assert_int_equal(word_of(r, 2, 0), 41);
	rig_free(r);
}

TEST(late__responder_removed_us__not_executed)
{
	struct rig *r = rig_pair();

	faults(r, 1, (struct shm_faults){ .out_min_ns = 5 * NS_PER_S, .out_max_ns = 5 * NS_PER_S });
	post(r, 1, op_faa(2, 0, 1, 1));
	assert_int_equal(transport_remove(r->host[2].t, 1, r->now), 0);
	pass(r, 6 * NS_PER_S);
	assert_int_equal(result(r, 1, 1)->outcome, TRANSPORT_UNKNOWN);
	assert_int_equal(word_of(r, 2, 0), 40);
	rig_free(r);
}

TEST(cut__loses_all_until_healed)
{
	struct rig *r = rig_pair();
	struct transport_op op = op_faa(2, 0, 1, 1);

	assert_int_equal(transport_shm_cut(r->host[1].t, 2, true), 0);
	post(r, 1, op);
	pass(r, 3 * NS_PER_S);
	assert_int_equal(result(r, 1, 1)->outcome, TRANSPORT_UNKNOWN);
	assert_int_equal(transport_link(r->host[1].t, 2), 0);
	assert_int_equal(transport_post(r->host[1].t, &op, 1, r->now, NULL), 0);
	assert_int_equal(transport_shm_cut(r->host[1].t, 2, false), 0);
	pass(r, 4 * NS_PER_S + 100 * NS_PER_MS);
	assert_int_equal(transport_link(r->host[1].t, 2), 2);
	assert_int_equal(word_of(r, 2, 0), 40);
	rig_free(r);
}

TEST(cut__with_a_result_on_its_way__unknown)
{
	struct rig *r = rig_pair();

	faults(r, 1,
	       (struct shm_faults){ .back_min_ns = 5 * NS_PER_MS, .back_max_ns = 5 * NS_PER_MS });
	post(r, 1, op_faa(2, 0, 1, 1));
	assert_int_equal(word_of(r, 2, 0), 41);
	assert_int_equal(transport_shm_cut(r->host[1].t, 2, true), 0);
	pass(r, 10 * NS_PER_MS);
	assert_int_equal(transport_shm_cut(r->host[1].t, 2, false), 0);
	pass(r, 100 * NS_PER_MS);
	assert_int_equal(result(r, 1, 1)->outcome, TRANSPORT_UNKNOWN);
	rig_free(r);
}

TEST(tear__halves_of_two_times)
{
	struct rig *r = rig_pair();
	uint64_t *table = transport_table(r->host[2].t);
	const uint64_t *data;

	faults(r, 1,
	       (struct shm_faults){ .tear_permille = 1000,
				    .back_min_ns = 5 * NS_PER_MS,
				    .back_max_ns = 5 * NS_PER_MS });
	for (int i = 0; i < 8; i++)
		table[i] = 1;
	post(r, 1, op_read(2, TRANSPORT_TABLE, 8, 1));
	for (int i = 0; i < 8; i++)
		table[i] = 2;
	while (!result(r, 1, 1)) {
		r->now.ns += NS_PER_MS;
		turn(r);
	}
	data = result(r, 1, 1)->data;
	for (int i = 0; i < 8; i++)
		assert_int_equal(data[i], i < 4 ? 1 : 2);
	rig_free(r);
}

/* Random faults. Returns the results in order, and the last value of the word. */
static uint64_t fate(uint64_t seed, char *results, size_t size)
{
	struct rig *r = rig_pair();
	struct prop p = { .state = seed };
	uint64_t word, done = 0, unknown = 0, last = 0;
	size_t len = 0, from = r->host[1].n;

	faults(r, 1,
	       (struct shm_faults){ .seed = seed,
				    .out_min_ns = 0,
				    .out_max_ns = 4 * NS_PER_MS,
				    .back_max_ns = 4 * NS_PER_MS,
				    .drop_permille = 30,
				    .drop_back_permille = 30,
				    .late_permille = 30,
				    .late_max_ns = 200 * NS_PER_MS });
	results[0] = 0;
	for (uint64_t tag = 1; tag <= 60; tag++) {
		struct transport_op op = op_faa(2, 0, 1, tag);

		op.deadline = mono_add(r->now, 20 * NS_PER_MS);
		transport_post(r->host[1].t, &op, 1, r->now, NULL);
		pass(r, (int64_t)prop_range(&p, 0, 8) * NS_PER_MS);
	}
	pass(r, NS_PER_S);
	for (size_t i = from; i < r->host[1].n; i++) {
		const struct transport_event *ev = &r->host[1].log[i];

		if (ev->type != TRANSPORT_RESULT)
			continue;
		prop_assert(&p, i, ev->tag > last); /* of one link: in order */
		last = ev->tag;
		done += ev->outcome == TRANSPORT_DONE;
		unknown += ev->outcome == TRANSPORT_UNKNOWN;
		len += (size_t)snprintf(results + len, size - len, "%llu:%d ",
					(unsigned long long)ev->tag, ev->outcome);
	}
	word = word_of(r, 2, 0) - 40;
	assert_true(word >= done && word <= done + unknown);
	rig_free(r);
	return word;
}

TEST(faults__same_seed__same_fate)
{
	static char a[4096], b[4096];
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 5; i++) {
		uint64_t seed = prop_u64(&p), word = fate(seed, a, sizeof(a));

		assert_int_equal(fate(seed, b, sizeof(b)), word);
		assert_string_equal(a, b);
		assert_true(strchr(a, ':') != NULL);
	}
}

TEST(faults__out_of_range__refused)
{
	struct rig *r = rig_pair();

	assert_int_equal(
		transport_shm_faults(r->host[1].t, &(struct shm_faults){ .out_min_ns = 1 }),
		-EINVAL);
	assert_int_equal(
		transport_shm_faults(r->host[1].t, &(struct shm_faults){ .drop_permille = 1001 }),
		-EINVAL);
	assert_int_equal(transport_shm_cut(r->host[1].t, 0, true), -EINVAL);
	assert_int_equal(transport_shm_cut(r->host[1].t, 257, true), -EINVAL);
	rig_free(r);
}
