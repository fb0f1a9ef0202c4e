// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * t_fail: peers that are stopped, killed, restarted; deadlines; the outcomes then.
 */
#include <errno.h>
#include <string.h>

#include "tests/transport/suite.h"

/* Host 1 here, host 2 in a process of its own; both links up. */
static struct proc *far_pair(struct suite *s, struct host **a)
{
	struct transport_conf one = rig_conf(&s->rig, 1);
	struct proc *p = proc_new(&s->procs, 2);

	*a = rig_open(&s->rig, &one);
	host_add(*a, 2);
	p->o->friends = bit(1);
	proc_start(&s->procs, p);
	UNTIL(&s->rig, host_up(*a, 2) && atomic_load(&p->o->up) & bit(1));
	return p;
}

static void stopped__one_sided__its_memory_answers(void **state)
{
	struct suite *s = *state;
	struct host *a;
	struct proc *p = far_pair(s, &a);

	proc_freeze(p);
	for (uint64_t i = 0; i < 100; i++) {
		assert_int_equal(host_faa(a, 2, 0, 1), i);
		assert_int_equal(host_cas(a, 2, 8, i, i + 1), i);
		assert_int_equal(host_word(a, 2, 8), i + 1);
	}
	assert_int_equal(host_do(a, op_read(2, TRANSPORT_TABLE, 0, RIG_TABLE))->ev.outcome,
			 TRANSPORT_DONE);
	proc_thaw(p);
	proc_quit(&s->procs, p);
	assert_int_equal(atomic_load(&p->o->served), 0);
}

static void running__two_sided__its_process_counts_what_it_served(void **state)
{
	struct suite *s = *state;
	struct host *a;
	struct proc *p = far_pair(s, &a);

	for (int i = 0; i < 20; i++)
		host_faa(a, 2, 0, 1);
	UNTIL(&s->rig, atomic_load(&p->o->served) >= 20);
	proc_quit(&s->procs, p);
}

/* Post one operation of each kind, with a near deadline. */
static void post_four(struct host *a, struct transport_op op[4], int64_t ns)
{
	int why;

	op[0] = op_read(2, TRANSPORT_WORDS, 0, 8);
	op[1] = op_faa(2, 0, 1);
	op[2] = op_cas(2, 8, 0, 7);
	op[3] = op_send(2, "x", 1);
	for (size_t i = 0; i < 4; i++)
		op[i].deadline = mono_add(rig_now(a->rig), ns);
	assert_int_equal(host_post(a, op, 4, &why), 4);
}

static void stopped__two_sided__reads_are_lost_and_the_rest_unknown_until_a_newer_link(void **state)
{
	struct suite *s = *state;
	struct transport_op op[4];
	const struct transport_event *ev;
	uint64_t faa, cas;
	struct host *a;
	struct proc *p = far_pair(s, &a);

	proc_freeze(p);
	post_four(a, op, 50 * NS_PER_MS);
	UNTIL(&s->rig, host_seen(a, TRANSPORT_DOWN, 2, 0));
	assert_int_equal(host_result(a, op[0].tag)->ev.outcome, TRANSPORT_LOST);
	for (size_t i = 1; i < 4; i++) {
		ev = &host_result(a, op[i].tag)->ev;
		assert_int_equal(ev->outcome, TRANSPORT_UNKNOWN);
		assert_int_equal(ev->link, 1);
	}
	assert_int_equal(host_refuses(a, op_faa(2, 0, 1)), -ENOTCONN);
	proc_thaw(p);
	UNTIL(&s->rig, host_up(a, 2));
	assert_true(transport_link(a->t, 2) > 1);
	/* A READ on the newer link decides, for good. */
	faa = host_word(a, 2, 0);
	cas = host_word(a, 2, 8);
	assert_true(faa <= 1);
	assert_true(cas == 0 || cas == 7);
	rig_turn_for(&s->rig, 200 * NS_PER_MS);
	assert_int_equal(host_word(a, 2, 0), faa);
	assert_int_equal(host_word(a, 2, 8), cas);
}

static void stopped__two_sided__nothing_of_the_old_link_is_executed_after_the_new_one(void **state)
{
	struct suite *s = *state;
	struct transport_op op[TRANSPORT_DEPTH];
	struct host *a;
	struct proc *p = far_pair(s, &a);
	uint64_t seen, low = 0, high = 0;
	int why;

	for (int round = 0; round < 10; round++) {
		size_t from = a->n;

		proc_freeze(p);
		for (size_t i = 0; i < TRANSPORT_DEPTH; i++) {
			op[i] = op_faa(2, 0, 1);
			op[i].deadline = mono_add(rig_now(&s->rig), 20 * NS_PER_MS);
		}
		assert_int_equal(host_post(a, op, TRANSPORT_DEPTH, &why), TRANSPORT_DEPTH);
		UNTIL(&s->rig, host_seen(a, TRANSPORT_DOWN, 2, from));
		high += TRANSPORT_DEPTH;
		proc_thaw(p);
		UNTIL(&s->rig, host_up(a, 2));
		seen = host_word(a, 2, 0);
		assert_true(seen >= low && seen <= high);
		low = high = seen; /* that READ has decided it */
		/* The host's own process sees the same, and nothing is executed later. */
		for (int i = 0; i < 20; i++)
			assert_int_equal(host_word(a, 2, 0), seen);
	}
}

static void deadline__of_an_atomic_passed__ends_its_link_with_all_that_is_on_it(void **state)
{
	struct suite *s = *state;
	struct transport_op soon = op_faa(2, 0, 1);
	uint64_t far_read, near, far_faa;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	b->paused = true;
	far_read = host_post1(a, op_read(2, TRANSPORT_TABLE, 0, 8));
	soon.deadline = mono_add(rig_now(&s->rig), 30 * NS_PER_MS);
	near = host_post1(a, soon);
	far_faa = host_post1(a, op_faa(2, 0, 1));
	UNTIL(&s->rig, host_seen(a, TRANSPORT_DOWN, 2, 0));
	assert_int_equal(host_result(a, far_read)->ev.outcome, TRANSPORT_LOST);
	assert_int_equal(host_result(a, near)->ev.outcome, TRANSPORT_UNKNOWN);
	assert_int_equal(host_result(a, near)->ev.why, -ETIME);
	assert_int_equal(host_result(a, far_faa)->ev.outcome, TRANSPORT_UNKNOWN);
	b->paused = false;
	UNTIL(&s->rig, host_up(a, 2));
	assert_int_equal(transport_link(a->t, 2), 2);
}

static void deadline__time_is_the_argument__passes_only_when_that_does(void **state)
{
	struct suite *s = *state;
	struct transport_op op = op_faa(2, 0, 1);
	uint64_t tag;
	struct host *a, *b;

	rig_simulate(&s->rig);
	rig_pair(&s->rig, &a, &b);
	b->paused = true;
	op.deadline = mono_add(rig_now(&s->rig), NS_PER_S);
	tag = host_post1(a, op);
	rig_turn_for(&s->rig, 30 * NS_PER_MS);
	rig_pass(&s->rig, NS_PER_S - 1);
	rig_turn_for(&s->rig, 30 * NS_PER_MS);
	assert_null(host_result(a, tag));
	rig_pass(&s->rig, 1);
	UNTIL(&s->rig, host_result(a, tag));
	assert_int_equal(host_result(a, tag)->ev.outcome, TRANSPORT_UNKNOWN);
}

static void killed__operations_outstanding__each_ends_and_down_comes(void **state)
{
	struct suite *s = *state;
	struct transport_op op[4];
	struct host *a;
	struct proc *p = far_pair(s, &a);

	for (uint32_t round = 1; round <= 5; round++) {
		size_t from = a->n;

		proc_freeze(p);
		post_four(a, op, 60 * NS_PER_S);
		proc_kill(p);
		UNTIL(&s->rig, host_seen(a, TRANSPORT_DOWN, 2, from));
		for (size_t i = 0; i < 4; i++)
			assert_non_null(host_result(a, op[i].tag));
		p->o->conf.generation++;
		p->o->first_word = 1000 * round;
		proc_start(&s->procs, p);
		UNTIL(&s->rig, host_up(a, 2));
		assert_int_equal(host_seen(a, TRANSPORT_UP, 2, 0)->ev.generation,
				 p->o->conf.generation);
		/* No operation from before reaches the new region. */
		assert_int_equal(host_word(a, 2, 0), 1000 * round);
		assert_int_equal(host_word(a, 2, 8), 1000 * round + 1);
		assert_int_equal(transport_link(a->t, 2), round + 1);
	}
}

static void killed__an_idle_link__down_comes_all_the_same(void **state)
{
	struct suite *s = *state;
	struct host *a;
	struct proc *p = far_pair(s, &a);

	proc_kill(p);
	UNTIL(&s->rig, host_seen(a, TRANSPORT_DOWN, 2, 0));
	assert_int_equal(transport_link(a->t, 2), 0);
}

/* Before we have polled: what it left in memory is not the memory of a host. */
static void killed__read_before_its_down__is_never_done(void **state)
{
	struct suite *s = *state;
	struct host *a;
	struct proc *p = far_pair(s, &a);
	uint64_t tag;

	host_word(a, 2, 0);
	proc_kill(p);
	tag = host_post1(a, op_read(2, TRANSPORT_TABLE, 0, 8));
	UNTIL(&s->rig, host_result(a, tag));
	assert_int_equal(host_result(a, tag)->ev.outcome, TRANSPORT_LOST);
	UNTIL(&s->rig, host_seen(a, TRANSPORT_DOWN, 2, 0));
}

static void killed__restarted_with_a_lower_generation__is_not_let_in(void **state)
{
	struct suite *s = *state;
	struct host *a;
	struct proc *p = far_pair(s, &a);
	size_t from;

	proc_kill(p);
	UNTIL(&s->rig, host_seen(a, TRANSPORT_DOWN, 2, 0));
	from = a->n;
	p->o->conf.generation--;
	proc_start(&s->procs, p);
	UNTIL(&s->rig, host_seen(a, TRANSPORT_ALARM, 0, from));
	rig_turn_for(&s->rig, 100 * NS_PER_MS);
	assert_int_equal(host_count(a, TRANSPORT_UP, 2, from), 0);
	assert_int_equal(atomic_load(&p->o->up), 0);
}

/* A host that adds is killed during its work, several times. */
static void killed__the_one_that_posts__what_was_done_stays_and_nothing_comes_late(void **state)
{
	struct suite *s = *state;
	struct transport_conf two = rig_conf(&s->rig, 2);
	struct host *b = rig_open(&s->rig, &two);
	struct proc *p = proc_new(&s->procs, 1);
	uint64_t word = 0, done;

	p->o->friends = bit(2);
	p->o->work = WORK_ADD;
	p->o->target = 2;
	p->o->times = 1000000000;
	host_add(b, 1);
	host_add(b, 2);
	UNTIL(&s->rig, host_up(b, 2));
	for (uint64_t round = 1; round <= 6; round++) {
		done = atomic_load(&p->o->outcomes[TRANSPORT_DONE]);
		proc_start(&s->procs, p);
		proc_go(p);
		UNTIL(&s->rig, atomic_load(&p->o->outcomes[TRANSPORT_DONE]) > done + 50 * round);
		proc_kill(p);
		UNTIL(&s->rig, !b->ref.up[1]);
		done = atomic_load(&p->o->outcomes[TRANSPORT_DONE]);
		p->o->conf.generation++;
		proc_start(&s->procs, p); /* its old link is destroyed once this one is up */
		UNTIL(&s->rig, atomic_load(&p->o->up) & bit(2));
		word = host_word(b, 2, 0);
		assert_true(word >= done);
		/* Results that were not counted yet, and operations without a result. */
		assert_true(word <= done + round * 5 * TRANSPORT_DEPTH);
		rig_turn_for(&s->rig, 20 * NS_PER_MS);
		assert_int_equal(host_word(b, 2, 0), word);
		proc_kill(p);
		p->o->conf.generation++;
	}
}

/* --- links that come and go while words are changed ---------------------------- */

static void churn_once(struct suite *s, struct prop *p, struct host *a, struct host *b)
{
	struct transport_op op = op_faa(2, 0, 1);
	int why;

	for (uint64_t n = prop_range(p, 0, TRANSPORT_DEPTH); n; n--) {
		op.deadline.ns = 0;
		host_post(a, &op, 1, &why);
	}
	for (uint64_t n = prop_range(p, 0, 3); n; n--)
		rig_poll(&s->rig);
	if (prop_one_in(p, 4) && !transport_remove(b->t, 1, rig_now(&s->rig))) {
		rig_poll(&s->rig);
		host_add(b, 1);
	} else if (prop_one_in(p, 6) && !transport_remove(a->t, 2, rig_now(&s->rig))) {
		rig_poll(&s->rig);
		host_add(a, 2);
	}
}

static void churn__each_operation_ends_once_and_the_word_is_what_was_done(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1), two = rig_conf(&s->rig, 2);
	struct host *a, *b;
	struct prop p;
	uint64_t word, done;

	prop_start(&p);
	one.backoff_min_ns = two.backoff_min_ns = NS_PER_MS;
	one.backoff_max_ns = two.backoff_max_ns = 2 * NS_PER_MS;
	a = rig_open(&s->rig, &one);
	b = rig_open(&s->rig, &two);
	host_meet(a, b);
	for (int round = 0; round < 60; round++) {
		UNTIL(&s->rig, both_up(a, b));
		churn_once(s, &p, a, b);
	}
	UNTIL(&s->rig, both_up(a, b) && !a->ref.n);
	word = host_word(a, 2, 0);
	done = a->ref.outcomes[TRANSPORT_DONE] - 1; /* that READ */
	print_message("%llu posted, %llu done, %llu unknown, %llu lost; the word is %llu\n",
		      (unsigned long long)a->ref.posted[TRANSPORT_FAA64], (unsigned long long)done,
		      (unsigned long long)a->ref.outcomes[TRANSPORT_UNKNOWN],
		      (unsigned long long)a->ref.outcomes[TRANSPORT_LOST],
		      (unsigned long long)word);
	prop_assert(&p, word, word >= done);
	prop_assert(&p, word, word <= done + a->ref.outcomes[TRANSPORT_UNKNOWN]);
}

const struct entry fail_tests[] = {
	ENTRY(stopped__one_sided__its_memory_answers, ONE_SIDED),
	ENTRY(running__two_sided__its_process_counts_what_it_served, TWO_SIDED),
	ENTRY(stopped__two_sided__reads_are_lost_and_the_rest_unknown_until_a_newer_link,
	      TWO_SIDED),
	ENTRY(stopped__two_sided__nothing_of_the_old_link_is_executed_after_the_new_one, TWO_SIDED),
	ENTRY(deadline__of_an_atomic_passed__ends_its_link_with_all_that_is_on_it, TWO_SIDED),
	ENTRY(deadline__time_is_the_argument__passes_only_when_that_does, TWO_SIDED),
	ENTRY(killed__operations_outstanding__each_ends_and_down_comes, ALL),
	ENTRY(killed__an_idle_link__down_comes_all_the_same, ALL),
	ENTRY(killed__read_before_its_down__is_never_done, ALL),
	ENTRY(killed__restarted_with_a_lower_generation__is_not_let_in, ALL),
	ENTRY(killed__the_one_that_posts__what_was_done_stays_and_nothing_comes_late, ALL),
	ENTRY(churn__each_operation_ends_once_and_the_word_is_what_was_done, ALL),
	{ NULL, NULL, ALL },
};
