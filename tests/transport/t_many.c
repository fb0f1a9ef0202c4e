// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * t_many: many hosts at once on the same words, and as many hosts as there may be.
 */
#include <errno.h>
#include <string.h>

#include "tests/transport/suite.h"

enum { MANY = 4, OWNER = 1 };

/* Hosts 2 .. MANY + 1 do this work on host 1's words; so does host 1 itself. */
static struct host *crowd(struct suite *s, enum proc_work work, uint64_t times)
{
	struct transport_conf one = rig_conf(&s->rig, OWNER);
	struct host *a = rig_open(&s->rig, &one);

	for (uint16_t i = 0; i < MANY; i++) {
		struct proc *p = proc_new(&s->procs, (uint16_t)(i + 2));

		host_add(a, (uint16_t)(i + 2));
		p->o->friends = bit(OWNER);
		p->o->work = work;
		p->o->target = OWNER;
		p->o->offset = 64;
		p->o->times = times;
		proc_start(&s->procs, p);
	}
	host_add(a, OWNER);
	UNTIL(&s->rig, host_up(a, OWNER));
	for (uint16_t i = 0; i < MANY; i++) {
		UNTIL(&s->rig, atomic_load(&s->procs.proc[i].o->up) & bit(OWNER));
		UNTIL(&s->rig, host_up(a, (uint16_t)(i + 2)));
	}
	for (uint16_t i = 0; i < MANY; i++)
		proc_go(&s->procs.proc[i]);
	return a;
}

static bool all_over(const struct suite *s)
{
	for (uint16_t i = 0; i < MANY; i++)
		if (!proc_over(&s->procs.proc[i]))
			return false;
	return true;
}

static void all_quit(struct suite *s)
{
	for (uint16_t i = 0; i < MANY; i++)
		proc_quit(&s->procs, &s->procs.proc[i]);
}

static void faa64__by_many_at_once__loses_nothing(void **state)
{
	struct suite *s = *state;
	uint64_t each = s->is->ip ? 3000 : 200000, own = 0; /* enough to take a while */
	struct host *a = crowd(s, WORK_ADD, each);

	do {
		host_faa(a, OWNER, 64, 1);
		own++;
	} while (!all_over(s));
	assert_int_equal(host_word(a, OWNER, 64), MANY * each + own);
	assert_int_equal(host_word(a, OWNER, 56), 0);
	assert_int_equal(host_word(a, OWNER, 72), 0);
	all_quit(s);
}

static void cas64__read_and_raised_by_many_at_once__loses_nothing(void **state)
{
	struct suite *s = *state;
	struct host *a = crowd(s, WORK_RAISE, 400);
	uint64_t own = 0, was;

	do {
		was = host_word(a, OWNER, 64);
		own += host_cas(a, OWNER, 64, was, was + 1) == was;
	} while (!all_over(s));
	assert_int_equal(host_word(a, OWNER, 64), MANY * 400 + own);
	all_quit(s);
}

/* FAA64 and CAS64 on the same word: each is atomic against the other. */
static void faa64__among_cas64__loses_nothing(void **state)
{
	struct suite *s = *state;
	struct host *a = crowd(s, WORK_RAISE, 300);
	uint64_t own = 0;

	do {
		host_faa(a, OWNER, 64, 1);
		own++;
	} while (!all_over(s));
	assert_int_equal(host_word(a, OWNER, 64), MANY * 300 + own);
	all_quit(s);
}

static void cas64__as_a_lock__one_at_a_time_is_inside(void **state)
{
	struct suite *s = *state;
	struct host *a = crowd(s, WORK_EXCLUDE, 150);

	UNTIL(&s->rig, all_over(s));
	assert_int_equal(procs_plain(&s->procs), MANY * 150);
	assert_int_equal(host_word(a, OWNER, 72), MANY * 150);
	assert_int_equal(host_word(a, OWNER, 64), 0);
	all_quit(s);
}

/* --- all hosts ------------------------------------------------------------------ */

/* In one process and one VM: each pins memory of its own. ./dev bench hosts has 256. */
enum { ALL_HOSTS = 64 };

static bool all_up(const struct host *hub, struct host *h[ALL_HOSTS + 1])
{
	for (uint16_t i = 1; i <= ALL_HOSTS; i++)
		if (!host_up(hub, i) || !host_up(h[i], 1))
			return false;
	return true;
}

static void hosts__64_of_them__one_wave_reads_all(void **state)
{
	struct suite *s = *state;
	struct host *h[ALL_HOSTS + 1];
	struct transport_op op[ALL_HOSTS];
	struct transport_stats st;
	int why;

	for (uint16_t i = 1; i <= ALL_HOSTS; i++) {
		struct transport_conf c = rig_conf(&s->rig, i);

		c.bytes[TRANSPORT_TABLE] = 4096;
		c.hellos_max = c.hellos_second = 0; /* the default limits admit all hosts in time */
		/* On a slow machine all links together take seconds: none begins anew meanwhile. */
		c.connect_ns = 30 * NS_PER_S;
		h[i] = rig_open(&s->rig, &c);
		*(uint64_t *)transport_table(h[i]->t) = 1000u + i;
		host_add(h[i], 1);
		if (i > 1)
			host_add(h[1], i);
	}
	UNTIL(&s->rig, all_up(h[1], h));
	for (uint16_t i = 0; i < ALL_HOSTS; i++)
		op[i] = op_read((uint16_t)(i + 1), TRANSPORT_TABLE, 0, 8);
	assert_int_equal(host_post(h[1], op, ALL_HOSTS, &why), ALL_HOSTS);
	UNTIL(&s->rig, !h[1]->ref.n);
	for (uint16_t i = 0; i < ALL_HOSTS; i++)
		assert_int_equal(*(const uint64_t *)host_result(h[1], op[i].tag)->ev.data,
				 1001u + i);
	transport_stats(h[1]->t, &st);
	assert_int_equal(st.rounds, 1);
	/* As many operations as may be outstanding at once. */
	for (uint32_t d = 0; d < TRANSPORT_DEPTH; d++)
		for (uint16_t i = 1; i <= ALL_HOSTS; i++)
			host_post1(h[1], op_faa(i, 8 * d, 1));
	assert_int_equal(h[1]->ref.n, ALL_HOSTS * TRANSPORT_DEPTH);
	UNTIL(&s->rig, !h[1]->ref.n);
	assert_int_equal(h[1]->ref.outcomes[TRANSPORT_DONE], ALL_HOSTS * (TRANSPORT_DEPTH + 1));
	assert_int_equal(host_count(h[1], TRANSPORT_DOWN, 0, 0), 0);
}

const struct entry many_tests[] = {
	ENTRY(faa64__by_many_at_once__loses_nothing, ALL),
	ENTRY(cas64__read_and_raised_by_many_at_once__loses_nothing, ALL),
	ENTRY(faa64__among_cas64__loses_nothing, ALL),
	ENTRY(cas64__as_a_lock__one_at_a_time_is_inside, ALL),
	ENTRY(hosts__64_of_them__one_wave_reads_all, ALL),
	{ NULL, NULL, ALL },
};
