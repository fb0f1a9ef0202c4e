// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * t_link: adding peers, links that come up and go down, their numbers, generations.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/transport/suite.h"

static void add__each_the_other__both_links_come_up(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1), two = rig_conf(&s->rig, 2);
	struct host *a, *b;

	one.generation = 77;
	two.generation = UINT64_MAX - 5;
	a = rig_open(&s->rig, &one);
	b = rig_open(&s->rig, &two);
	assert_int_equal(transport_link(a->t, 2), 0);
	host_meet(a, b);
	UNTIL(&s->rig, both_up(a, b));
	assert_int_equal(host_seen(a, TRANSPORT_UP, 2, 0)->ev.generation, UINT64_MAX - 5);
	assert_int_equal(host_seen(b, TRANSPORT_UP, 1, 0)->ev.generation, 77);
	assert_int_equal(host_seen(a, TRANSPORT_UP, 2, 0)->ev.link, 1);
	assert_int_equal(transport_link(a->t, 2), 1);
	assert_int_equal(transport_link(b->t, 1), 1);
	assert_int_equal(transport_link(a->t, 3), 0);
	assert_int_equal(transport_link(a->t, 0), 0);
	assert_int_equal(transport_link(a->t, TRANSPORT_HOSTS_MAX + 1), 0);
}

static void add__before_the_peer_is_there__comes_up_when_it_is(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1), two = rig_conf(&s->rig, 2);
	struct host *a = rig_open(&s->rig, &one), *b;

	host_add(a, 2);
	rig_turn_for(&s->rig, 100 * NS_PER_MS);
	assert_int_equal(host_count(a, TRANSPORT_UP, 0, 0), 0);
	/* A link that never was up has no DOWN. */
	assert_int_equal(host_count(a, TRANSPORT_DOWN, 0, 0), 0);
	b = rig_open(&s->rig, &two);
	host_add(b, 1);
	UNTIL(&s->rig, both_up(a, b));
	assert_int_equal(transport_link(a->t, 2), 1); /* calls that failed get no link number */
}

static void add__twice_or_a_wrong_number__is_refused(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1);
	struct host *a = rig_open(&s->rig, &one);
	struct transport_peer p = rig_peer(&s->rig, 2);
	struct mono now = rig_now(&s->rig);

	assert_int_equal(transport_add(a->t, &p, now), 0);
	assert_int_equal(transport_add(a->t, &p, now), -EEXIST);
	p.host = 0;
	assert_int_equal(transport_add(a->t, &p, now), -EINVAL);
	p.host = TRANSPORT_HOSTS_MAX + 1;
	assert_int_equal(transport_add(a->t, &p, now), -EINVAL);
	p.host = UINT16_MAX;
	assert_int_equal(transport_add(a->t, &p, now), -EINVAL);
	assert_int_equal(transport_remove(a->t, 3, now), -ENOENT);
	assert_int_equal(transport_remove(a->t, 0, now), -ENOENT);
	assert_int_equal(transport_remove(a->t, UINT16_MAX, now), -ENOENT);
}

static void add__malformed_address__is_einval(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1);
	struct host *a = rig_open(&s->rig, &one);
	struct transport_peer p = rig_peer(&s->rig, 2);

	strcpy(p.address, "10.0.0.999");
	assert_int_equal(transport_add(a->t, &p, rig_now(&s->rig)), -EINVAL);
	strcpy(p.address, "");
	assert_int_equal(transport_add(a->t, &p, rig_now(&s->rig)), -EINVAL);
	host_add(a, 2); /* a refused peer leaves nothing behind */
}

static void loopback__own_words_and_table__are_as_a_peers(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1);
	struct host *a = rig_open(&s->rig, &one);
	struct transport_peer me = { .host = 1, .name = "me" }; /* address unused */

	assert_int_equal(transport_add(a->t, &me, rig_now(&s->rig)), 0);
	UNTIL(&s->rig, host_up(a, 1));
	assert_int_equal(host_seen(a, TRANSPORT_UP, 1, 0)->ev.generation, one.generation);
	assert_int_equal(host_faa(a, 1, 8, 3), 0);
	assert_int_equal(host_cas(a, 1, 8, 3, 9), 3);
	assert_int_equal(host_word(a, 1, 8), 9);
	*(uint64_t *)transport_table(a->t) = 0xabcdef;
	assert_int_equal(*(const uint64_t *)host_do(a, op_read(1, TRANSPORT_TABLE, 0, 8))->ev.data,
			 0xabcdef);
	host_do(a, op_send(1, "self", 4));
	UNTIL(&s->rig, host_seen(a, TRANSPORT_MESSAGE, 1, 0));
}

static void loopback__with_a_peers_words__are_the_same_words(void **state)
{
	struct suite *s = *state;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	host_add(a, 1);
	UNTIL(&s->rig, host_up(a, 1));
	for (uint64_t i = 0; i < 40; i += 2) {
		assert_int_equal(host_faa(a, 1, 0, 1), i);
		assert_int_equal(host_faa(b, 1, 0, 1), i + 1);
	}
}

static void down__the_peer_closed__then_up_anew_with_its_new_generation(void **state)
{
	struct suite *s = *state;
	struct transport_conf two = rig_conf(&s->rig, 2);
	const struct transport_event *ev;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	assert_int_equal(host_faa(a, 2, 0, 5), 0);
	host_close(b);
	UNTIL(&s->rig, host_seen(a, TRANSPORT_DOWN, 2, 0));
	ev = &host_seen(a, TRANSPORT_DOWN, 2, 0)->ev;
	assert_int_equal(ev->link, 1);
	assert_true(ev->why < 0);
	assert_int_equal(transport_link(a->t, 2), 0);
	assert_int_equal(host_refuses(a, op_faa(2, 0, 1)), -ENOTCONN);
	two.generation += 3;
	host_open(b, &two);
	host_add(b, 1);
	UNTIL(&s->rig, both_up(a, b));
	assert_int_equal(host_seen(a, TRANSPORT_UP, 2, 0)->ev.generation, two.generation);
	assert_int_equal(transport_link(a->t, 2), 2);
	assert_int_equal(host_word(a, 2, 0), 0); /* a new region */
}

static void link_number__each_new_link__counts_up_by_one(void **state)
{
	struct suite *s = *state;
	struct transport_conf two = rig_conf(&s->rig, 2);
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	for (uint32_t i = 2; i <= 6; i++) {
		host_close(b);
		two.generation++;
		UNTIL(&s->rig, !a->ref.up[2]);
		host_open(b, &two);
		host_add(b, 1);
		UNTIL(&s->rig, both_up(a, b));
		assert_int_equal(transport_link(a->t, 2), i);
	}
	assert_int_equal(host_count(a, TRANSPORT_UP, 2, 0), 6);
	assert_int_equal(host_count(a, TRANSPORT_DOWN, 2, 0), 5);
}

static void remove__a_link_with_operations__results_and_down_come_by_poll(void **state)
{
	struct suite *s = *state;
	struct transport_op op[4] = { op_faa(2, 0, 1), op_read(2, TRANSPORT_TABLE, 0, 8),
				      op_cas(2, 8, 0, 1), op_send(2, "x", 1) };
	struct host *a, *b;
	int why;

	rig_pair(&s->rig, &a, &b);
	assert_int_equal(host_post(a, op, 4, &why), 4);
	assert_int_equal(transport_remove(a->t, 2, rig_now(&s->rig)), 0);
	assert_int_equal(transport_link(a->t, 2), 0);
	assert_int_equal(host_refuses(a, op_faa(2, 0, 1)), -ENOTCONN);
	UNTIL(&s->rig, host_seen(a, TRANSPORT_DOWN, 2, 0));
	for (size_t i = 0; i < 4; i++)
		assert_non_null(host_result(a, op[i].tag));
	assert_int_equal(a->ref.n, 0);
	assert_int_equal(transport_remove(a->t, 2, rig_now(&s->rig)), -ENOENT);
}

static void remove__one_side__ends_both_directions_until_it_is_added_again(void **state)
{
	struct suite *s = *state;
	struct transport_stats st;
	size_t from;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	assert_int_equal(host_faa(a, 2, 0, 4), 0);
	assert_int_equal(transport_remove(b->t, 1, rig_now(&s->rig)), 0);
	UNTIL(&s->rig, host_seen(b, TRANSPORT_DOWN, 1, 0) && host_seen(a, TRANSPORT_DOWN, 2, 0));
	from = a->n;
	UNTIL(&s->rig, (transport_stats(b->t, &st), st.refused_callers >= 2));
	assert_int_equal(host_count(a, TRANSPORT_UP, 2, from), 0);
	assert_int_equal(transport_link(b->t, 1), 0);
	host_add(b, 1);
	UNTIL(&s->rig, both_up(a, b));
	assert_int_equal(transport_link(a->t, 2), 2);
	assert_int_equal(transport_link(b->t, 1), 2); /* removed, but its link is still expected */
	assert_int_equal(host_word(a, 2, 0), 4);      /* the same region */
}

static void remove__oneself__and_add_again__works(void **state)
{
	struct suite *s = *state;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	host_add(a, 1);
	for (uint64_t i = 0; i < 5; i++) {
		UNTIL(&s->rig, host_up(a, 1));
		assert_int_equal(host_faa(a, 1, 0, 1), i);
		assert_int_equal(transport_remove(a->t, 1, rig_now(&s->rig)), 0);
		UNTIL(&s->rig, !a->ref.up[1]);
		host_add(a, 1);
	}
	assert_int_equal(host_count(b, TRANSPORT_DOWN, 0, 0), 0);
}

/* --- generations -------------------------------------------------------------- */

static void generation__lower_than_before__no_link_and_an_alarm(void **state)
{
	struct suite *s = *state;
	struct transport_conf two = rig_conf(&s->rig, 2);
	struct transport_stats st;
	size_t from;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	host_close(b);
	UNTIL(&s->rig, !a->ref.up[2]);
	from = a->n;
	two.generation--;
	host_open(b, &two);
	host_add(b, 1);
	UNTIL(&s->rig, host_seen(a, TRANSPORT_ALARM, 0, from));
	UNTIL(&s->rig, (transport_stats(a->t, &st), st.refused_callers > 0));
	rig_turn_for(&s->rig, 100 * NS_PER_MS);
	assert_int_equal(host_count(a, TRANSPORT_UP, 2, from), 0);
	assert_int_equal(b->ref.ups, 0);
	assert_int_equal(transport_link(b->t, 1), 0);
	/* The real host 2 gets a link again. */
	host_close(b);
	two.generation += 2;
	host_open(b, &two);
	host_add(b, 1);
	UNTIL(&s->rig, both_up(a, b));
}

static bool has_alarm(const struct host *h, size_t from, const char *text)
{
	for (size_t i = from; i < h->n; i++)
		if (h->log[i].ev.type == TRANSPORT_ALARM && strstr(h->log[i].ev.text, text))
			return true;
	return false;
}

/* Host 2 restarts with this conf. It is refused as caller and as responder, and a raises alarms. */
static void is_refused(struct suite *s, struct host *a, struct host *b,
		       const struct transport_conf *conf)
{
	/* Its calls must not use up the alarms of a's own calls. */
	struct transport_conf slow = *conf;
	struct transport_stats before, st;
	size_t from;

	host_close(b);
	UNTIL(&s->rig, !a->ref.up[2]);
	from = a->n;
	transport_stats(a->t, &before);
	slow.backoff_min_ns = slow.backoff_max_ns = NS_PER_S;
	host_open(b, &slow);
	host_add(b, 1);
	UNTIL(&s->rig,
	      has_alarm(a, from, "host 2 was refused: ") && has_alarm(a, from, "host 2 ("));
	UNTIL(&s->rig, (transport_stats(a->t, &st), st.refused_callers > before.refused_callers));
	rig_turn_for(&s->rig, 100 * NS_PER_MS);
	assert_int_equal(host_count(a, TRANSPORT_UP, 2, from), 0);
	assert_int_equal(b->ref.ups, 0);
	assert_int_equal(transport_link(b->t, 1), 0);
	for (size_t i = from; i < a->n; i++) {
		const struct transport_event *ev = &a->log[i].ev;

		if (ev->type != TRANSPORT_ALARM)
			continue;
		assert_non_null(strstr(ev->text, "host 2"));
		assert_non_null(strstr(ev->text, "generation 1000"));
		assert_non_null(strstr(ev->text, "generation file, see cluster.json(5)"));
	}
}

/* The host lost its generation and drew the same again: its words have their first values again. */
static void generation__the_same_of_another_start__no_link_and_an_alarm(void **state)
{
	struct suite *s = *state;
	struct transport_conf two = rig_conf(&s->rig, 2);
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	assert_int_equal(host_faa(a, 2, 0, 1), 0);
	two.start += 1ull << 40;
	is_refused(s, a, b, &two);
	/* A refused start is not remembered as the newest. */
	host_close(b);
	two.start = rig_conf(&s->rig, 2).start;
	host_open(b, &two);
	host_add(b, 1);
	UNTIL(&s->rig, both_up(a, b));
	/* With a higher generation any start is new. */
	host_close(b);
	UNTIL(&s->rig, !a->ref.up[2]);
	two.generation++;
	two.start += 1ull << 40;
	host_open(b, &two);
	host_add(b, 1);
	UNTIL(&s->rig, both_up(a, b));
}

static void start__not_given__is_one_for_a_life_and_another_for_the_next(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1), two = rig_conf(&s->rig, 2);
	struct host *a, *b;

	two.start = 0;
	a = rig_open(&s->rig, &one);
	b = rig_open(&s->rig, &two);
	host_meet(a, b);
	UNTIL(&s->rig, both_up(a, b));
	for (uint32_t i = 2; i <= 4; i++) {
		assert_int_equal(transport_remove(a->t, 2, rig_now(&s->rig)), 0);
		UNTIL(&s->rig, !a->ref.up[2] && !b->ref.up[1]);
		host_add(a, 2);
		UNTIL(&s->rig, both_up(a, b));
		assert_int_equal(transport_link(a->t, 2), i);
	}
	is_refused(s, a, b, &two);
}

/*
 * Host 1 restarted elsewhere, with a higher generation, while its old process was stopped. The old
 * one wakes and posts on a link that it still believes up. Nothing of that may be executed: all
 * locks rely on it.
 */
static void generation__an_old_self_wakes__its_operations_are_not_executed(void **state)
{
	struct suite *s = *state;
	struct transport_conf two = rig_conf(&s->rig, 2), anew = rig_conf(&s->rig, 1);
	struct host *b = rig_open(&s->rig, &two), *a;
	struct proc *old = proc_new(&s->procs, 1);
	uint64_t began;

	old->o->friends = bit(2);
	old->o->work = WORK_ONE;
	old->o->ops = 3;
	for (uint32_t i = 0; i < 3; i++)
		old->o->op[i] = op_faa(2, 8, 1);
	host_add(b, 1);
	host_add(b, 2);
	proc_start(&s->procs, old);
	UNTIL(&s->rig, atomic_load(&old->o->up) & bit(2));
	UNTIL(&s->rig, host_up(b, 2));
	proc_freeze(old);
	/* Elsewhere: at an address of its own. */
	anew.generation++;
	anew.port = anew.port ? (uint16_t)(anew.port + 40) : 0;
	if (!s->is->ip) {
		strcat(anew.address, "/elsewhere");
		assert_int_equal(mkdir(anew.address, 0700), 0);
	}
	a = rig_open(&s->rig, &anew);
	host_add(a, 2);
	UNTIL(&s->rig, host_up(a, 2));
	assert_int_equal(host_faa(a, 2, 0, 1), 0);
	proc_go(old);
	proc_thaw(old);
	UNTIL(&s->rig, proc_over(old));
	assert_int_equal(atomic_load(&old->o->outcomes[TRANSPORT_DONE]), 0);
	began = atomic_load(&old->o->turns);
	/* It calls, and its generation is too low. */
	UNTIL(&s->rig, host_seen(b, TRANSPORT_ALARM, 1, 0));
	UNTIL(&s->rig, atomic_load(&old->o->turns) > began);
	assert_int_equal(host_word(b, 2, 8), 0);
	assert_int_equal(host_word(a, 2, 8), 0);
	assert_int_equal(host_count(a, TRANSPORT_DOWN, 2, 0), 0);
}

const struct entry link_tests[] = {
	ENTRY(add__each_the_other__both_links_come_up, ALL),
	ENTRY(add__before_the_peer_is_there__comes_up_when_it_is, ALL),
	ENTRY(add__twice_or_a_wrong_number__is_refused, ALL),
	ENTRY(add__malformed_address__is_einval, IP),
	ENTRY(loopback__own_words_and_table__are_as_a_peers, ALL),
	ENTRY(loopback__with_a_peers_words__are_the_same_words, ALL),
	ENTRY(down__the_peer_closed__then_up_anew_with_its_new_generation, ALL),
	ENTRY(link_number__each_new_link__counts_up_by_one, ALL),
	ENTRY(remove__a_link_with_operations__results_and_down_come_by_poll, ALL),
	ENTRY(remove__one_side__ends_both_directions_until_it_is_added_again, ALL),
	ENTRY(remove__oneself__and_add_again__works, ALL),
	ENTRY(generation__lower_than_before__no_link_and_an_alarm, ALL),
	ENTRY(generation__the_same_of_another_start__no_link_and_an_alarm, ALL),
	ENTRY(start__not_given__is_one_for_a_life_and_another_for_the_next, ALL),
	ENTRY(generation__an_old_self_wakes__its_operations_are_not_executed, ALL),
	{ NULL, NULL, ALL },
};
