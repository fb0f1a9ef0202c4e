// SPDX-License-Identifier: GPL-2.0-or-later
/* claim, agree: the load page of a guest, who may lie, and the hypervisor's CPU time. */
#include <errno.h>
#include <string.h>

#include "src/load/agree.h"
#include "src/load/claim.h"
#include "src/load/index.h"
#include "src/shared/record.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

#define MS NS_PER_MS

enum { VCPUS = 4 };

struct fixture {
	struct guest_load_page page;
	struct load_record r; /* as the agent has it */
	struct load_claim c;
	struct mono now;
};

static void publish(struct fixture *x)
{
	record_write(&x->page.record, &x->r.head, REGION_LOAD, sizeof(x->r));
}

/* The guest's clock has no relation to the host's. */
static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	if (!x)
		return -1;
	x->page.magic = GUEST_LOAD_MAGIC;
	x->now.ns = 1000 * NS_PER_S;
	x->r = (struct load_record){ .source = LOAD_ULM,
				     .cpus = 2,
				     .beat = 1,
				     .sampled_ns = 77 * NS_PER_S,
				     .period_ns = 10 * MS,
				     .busy_ns = 5 * NS_PER_S,
				     .irq_ns = 1,
				     .softirq_ns = 2,
				     .iowait_ns = 3,
				     .steal_ns = 4,
				     .wait_ns = 5,
				     .running = 6,
				     .load_avg = { 1, 2, 3 } };
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* The agent samples again, 10 ms later. */
static void sample(struct fixture *x)
{
	x->r.beat++;
	x->r.sampled_ns += 10 * MS;
	x->r.busy_ns += 10 * MS;
	publish(x);
}

/* The host copies it, 10 ms later. */
static int look(struct fixture *x)
{
	x->now.ns += 10 * MS;
	return load_claim_take(&x->c, &x->page, VCPUS, x->now);
}

/* --- what an honest agent writes ----------------------------------------------------- */

RIG_TEST(claim__new_record__is_the_guests_but_for_the_time)
{
	struct fixture *x = *state;
	struct load_record want;

	publish(x);
	assert_int_equal(look(x), 1);
	want = x->r;
	want.head = (struct region_record){ 0 };
	want.sampled_ns = x->now.ns;
	assert_memory_equal(&x->c.record, &want, sizeof(want));
	assert_int_equal(x->c.late_ns, -1);
	assert_int_equal(look(x), 0);
	assert_memory_equal(&x->c.record, &want, sizeof(want));
	sample(x);
	assert_int_equal(look(x), 1);
	assert_int_equal(x->c.record.beat, 2);
	assert_int_equal(x->c.record.sampled_ns, x->now.ns);
	assert_int_equal(x->c.late_ns, 10 * MS);
	assert_int_equal(load_cpu_ns(&x->c.record), 5 * NS_PER_S + 10 * MS + 3);
}

RIG_TEST(claim__what_is_not_the_guests_to_say__is_left_out)
{
	struct fixture *x = *state;

	x->r.node = 9;
	x->r.flags = ~0u;
	x->r.softirq_pending = x->r.queued = 8;
	x->r.served = x->r.latency_ns = x->r.reserved[0] = x->r.reserved[13] = 7;
	publish(x);
	assert_int_equal(look(x), 1);
	assert_int_equal(x->c.record.flags,
			 LOAD_OVERRUN | LOAD_NO_WAIT | LOAD_IDLE_REPAIRED | LOAD_NO_RUNNING);
	assert_int_equal(x->c.record.node | x->c.record.softirq_pending | x->c.record.queued, 0);
	assert_int_equal(x->c.record.served | x->c.record.latency_ns, 0);
	assert_int_equal(x->c.record.reserved[0] | x->c.record.reserved[13], 0);
}

RIG_TEST(claim__agent_started_again__goes_on)
{
	struct fixture *x = *state;

	x->r.beat = 500;
	publish(x);
	assert_int_equal(look(x), 1);
	x->r.beat = 0;
	x->page.record.head = (struct region_record){ 0 };
	sample(x);
	assert_int_equal(look(x), 1);
	assert_int_equal(x->c.record.beat, 1);
}

RIG_TEST(claim__beat_unchanged__is_no_news)
{
	struct fixture *x = *state;

	publish(x);
	assert_int_equal(look(x), 1);
	x->r.busy_ns++;
	publish(x); /* another record of the same beat */
	assert_int_equal(look(x), 0);
	assert_int_equal(x->c.record.busy_ns, 5 * NS_PER_S);
}

/* --- what is refused ----------------------------------------------------------------- */

RIG_TEST(claim__torn__is_not_accepted_and_the_former_one_stays)
{
	struct fixture *x = *state;
	uint64_t *word = (uint64_t *)(void *)&x->page.record;
	const size_t words = sizeof(x->r) / 8;
	struct load_record was;
	uint64_t torn = 0;

	publish(x);
	assert_int_equal(look(x), 1);
	was = x->c.record;
	/* The new record up to word i, and the former one behind it. */
	for (size_t i = 1; i < words; i++) {
		struct guest_load_page before = x->page, after;

		sample(x);
		after = x->page;
		memcpy(word + i, (uint64_t *)(void *)&before.record + i, (words - i) * 8);
		if (memcmp(&x->page, &after, sizeof(after)) != 0) {
			torn++;
			assert_int_equal(look(x), -EAGAIN);
			assert_memory_equal(&x->c.record, &was, sizeof(was));
		}
		x->page = after;
		assert_int_equal(look(x), 1);
		was = x->c.record;
	}
	assert_in_range(torn, 4, words);
}

static void is_refused(struct fixture *x, int rc)
{
	int got = look(x);

	if (got != rc)
		fail_msg("%d, not %d", got, rc);
	assert_int_equal(x->c.record.beat, 0);
	assert_true(strlen(load_claim_text(rc)) > 10);
}

RIG_TEST(claim__page_without_a_record__is_none_or_rubbish)
{
	struct fixture *x = *state;

	is_refused(x, -ENOMSG);
	publish(x);
	assert_int_equal(look(x), 1);
	x->page.magic++;
	is_refused(x, -EPROTO);
	x->page.magic--;
	assert_int_equal(look(x), 1);
	x->page.record.head.kind = REGION_NODE;
	is_refused(x, -EPROTO);
	memset(&x->page, 0xff, sizeof(x->page));
	is_refused(x, -EPROTO);
	memset(&x->page, 0, sizeof(x->page)); /* its frame is another's now */
	is_refused(x, -EPROTO);
}

RIG_TEST(claim__value_out_of_range__is_refused_and_the_limit_is_not)
{
	struct fixture *x = *state;

#define GIVES(rc, change)                                                                          \
	do {                                                                                       \
		struct load_record kept = x->r;                                                    \
		load_claim_forget(&x->c);                                                          \
		change;                                                                            \
		publish(x);                                                                        \
		if (rc)                                                                            \
			is_refused(x, rc);                                                         \
		else                                                                               \
			assert_int_equal(look(x), 1);                                              \
		x->r = kept;                                                                       \
	} while (0)
	GIVES(0, x->r.cpus = VCPUS);
	GIVES(-ERANGE, x->r.cpus = VCPUS + 1);
	GIVES(-ERANGE, x->r.cpus = 0);
	GIVES(-ERANGE, x->r.beat = 0);
	GIVES(0, x->r.source = LOAD_KLM);
	GIVES(-ERANGE, x->r.source = LOAD_HV);
	GIVES(-ERANGE, x->r.source = LOAD_NONE);
	GIVES(0, x->r.period_ns = MS);
	GIVES(-ERANGE, x->r.period_ns = MS - 1);
	GIVES(0, x->r.period_ns = 10 * NS_PER_S);
	GIVES(-ERANGE, x->r.period_ns = 10 * NS_PER_S + 1);
	GIVES(-ERANGE, x->r.sampled_ns = -1);
	GIVES(0, x->r.busy_ns = LOAD_CLAIM_TIME_MAX);
	GIVES(-ERANGE, x->r.busy_ns = LOAD_CLAIM_TIME_MAX + 1);
	GIVES(-ERANGE, x->r.irq_ns = UINT64_MAX);
	GIVES(-ERANGE, x->r.softirq_ns = UINT64_MAX);
	GIVES(-ERANGE, x->r.iowait_ns = UINT64_MAX);
	GIVES(-ERANGE, x->r.steal_ns = UINT64_MAX);
	GIVES(-ERANGE, x->r.wait_ns = UINT64_MAX);
#undef GIVES
	x->r.cpus = LOAD_CPUS_MAX + 1;
	publish(x);
	assert_int_equal(load_claim_take(&x->c, &x->page, 2 * LOAD_CPUS_MAX, x->now), -ERANGE);
}

RIG_TEST(claim__time_or_clock_that_went_back__is_refused)
{
	struct fixture *x = *state;

#define GIVES(rc, change)                                                                          \
	do {                                                                                       \
		struct load_record kept = x->r;                                                    \
		load_claim_forget(&x->c);                                                          \
		publish(x);                                                                        \
		assert_int_equal(look(x), 1);                                                      \
		x->r.beat++;                                                                       \
		x->r.sampled_ns++;                                                                 \
		change;                                                                            \
		publish(x);                                                                        \
		if (rc)                                                                            \
			is_refused(x, rc);                                                         \
		else                                                                               \
			assert_int_equal(look(x), 1);                                              \
		x->r = kept;                                                                       \
	} while (0)
	GIVES(0, (void)0);
	GIVES(-ESTALE, x->r.sampled_ns--);
	GIVES(-ESTALE, x->r.sampled_ns = 5);
	GIVES(-ESTALE, x->r.busy_ns--);
	GIVES(-ESTALE, x->r.irq_ns--);
	GIVES(-ESTALE, x->r.softirq_ns--);
	GIVES(-ESTALE, x->r.steal_ns--);
	GIVES(-ESTALE, x->r.wait_ns--);
	GIVES(0, x->r.iowait_ns--); /* the kernel's may */
	/* Those of another source are others. */
	GIVES(0, (x->r.source = LOAD_KLM, x->r.sampled_ns = 5, x->r.busy_ns--, x->r.wait_ns = 0));
#undef GIVES
}

/* --- and the hypervisor -------------------------------------------------------------- */

/* A guest of cpus CPUs that used and says so much of a CPU, looked at each 10 ms for ms. */
struct told {
	struct load_agree a;
	struct load_used u;
	int64_t period_ns;
};

static void tell(struct told *t, int64_t ms, int cpu_percent, int says_percent)
{
	for (int64_t i = 0; i < ms / (t->period_ns / MS); i++) {
		t->u.at.ns += t->period_ns;
		t->u.cpu_ns += (uint64_t)(t->period_ns * cpu_percent / 100);
		t->u.used_ns += (uint64_t)(t->period_ns * says_percent / 100);
		load_agree_add(&t->a, &t->u, t->period_ns);
	}
}

static struct told begin(void)
{
	return (struct told){ .u = { .at = { 5 }, .late_ns = 0, .cpus = 1 }, .period_ns = 10 * MS };
}

TEST(agree__new_guest__is_believed_after_a_window_in_which_it_agreed)
{
	struct told t = begin();

	tell(&t, 1000, 40, 40);
	assert_false(load_agree_believed(&t.a) || t.a.disagrees || t.a.known);
	tell(&t, 10, 40, 40);
	assert_true(load_agree_believed(&t.a));
	assert_int_equal(t.a.used_mcpu, 400);
	assert_int_equal(t.a.cpu_mcpu, 400);
}

TEST(agree__more_than_a_quarter_of_a_cpu__disagrees_either_way)
{
	static const struct {
		int cpu, says;
		bool disagrees;
	} row[] = {
		{ 100, 0, true },   { 100, 75, false },	 { 100, 74, true }, { 0, 25, false },
		{ 0, 26, true },    { 0, 100, true },	 { 0, 0, false },   { 100, 100, false },
		{ 170, 200, true }, { 180, 200, false },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct told t = begin();

		tell(&t, 1010, row[i].cpu, row[i].says);
		if (t.a.disagrees != row[i].disagrees)
			fail_msg("row %zu", i);
		assert_int_equal(load_agree_believed(&t.a), !row[i].disagrees);
	}
}

TEST(agree__guest_that_begins_to_lie__is_found_within_two_windows)
{
	struct told t = begin();
	int64_t ms = 0;

	tell(&t, 10330, 100, 100);
	assert_true(load_agree_believed(&t.a));
	while (!t.a.disagrees && ms < 5000) {
		tell(&t, 10, 100, 0);
		ms += 10;
	}
	assert_in_range(ms, 250, 2000);
}

TEST(agree__after_a_disagreement__five_windows_in_a_row_must_agree)
{
	struct told t = begin();

	tell(&t, 1010, 100, 0);
	assert_true(t.a.disagrees);
	tell(&t, 4000, 100, 100);
	assert_true(t.a.disagrees);
	tell(&t, 1000, 100, 80); /* no disagreement, and too little to be believed again */
	tell(&t, 4000, 100, 85);
	assert_true(t.a.disagrees);
	tell(&t, 1000, 100, 115);
	assert_true(load_agree_believed(&t.a));
}

TEST(agree__guest_near_the_limit__does_not_come_and_go)
{
	struct told t = begin();
	uint64_t changes = 0;
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 1000; i++) {
		bool was = t.a.disagrees;

		tell(&t, 1000, 100, (int)prop_range(&p, 66, 84)); /* off by 16 to 34 % */
		changes += t.a.disagrees != was;
	}
	assert_int_equal(changes, 1);
	assert_true(t.a.disagrees);
}

/* The kernel of a guest counts whole ticks, and the agent reads them up to 10 ms before. */
TEST(agree__honest_guest_whose_figures_are_coarse_and_late__is_never_flagged)
{
	static const uint32_t cpus[] = { 1, 2, 4, 16, 64 };
	struct prop p;

	prop_start(&p);
	for (size_t k = 0; k < sizeof(cpus) / sizeof(cpus[0]); k++) {
		struct load_agree a = { .began = false };
		uint64_t used = 0, before = 0;

		for (int64_t i = 1; i <= 60000; i++) {
			struct load_used u = { .at = { i * 10 * MS },
					       .late_ns = 10 * MS,
					       .cpus = cpus[k] };

			/* For seconds it is idle, or busy. */
			before = used;
			if (i / 300 % 2)
				used += prop_range(&p, 0, 10 * MS * cpus[k]);
			u.cpu_ns = used;
			u.used_ns = prop_range(&p, before, used) / (4 * MS) * 4 * MS;
			load_agree_add(&a, &u, 10 * MS);
			assert_false(a.disagrees);
		}
		assert_true(load_agree_believed(&a));
	}
}

/* A guest with a cap of 20 % that burns: it waits for the rest of the time. */
TEST(agree__capped_guest_that_hides_its_steal__disagrees)
{
	static const struct {
		int says, steals, waits;
		bool known, disagrees;
	} row[] = {
		{ 20, 80, 80, true, false }, { 20, 0, 80, true, true },	   { 0, 0, 5, true, false },
		{ 0, 0, 6, true, true }, /* CPU time and wait: 25, 26 % */
		{ 20, 0, 80, false, false }, { 20, 200, 80, true, false }, /* it harms itself */
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct told t = begin();

		t.u.wait_known = row[i].known;
		for (int k = 0; k < 101; k++) {
			t.u.steal_ns += (uint64_t)(10 * MS * row[i].steals / 100);
			t.u.wait_ns += (uint64_t)(10 * MS * row[i].waits / 100);
			tell(&t, 10, 20, row[i].says);
		}
		assert_true(t.a.known);
		if (t.a.disagrees != row[i].disagrees)
			fail_msg("row %zu", i);
		assert_int_equal(t.a.steal_mcpu, row[i].steals * 10);
		assert_int_equal(t.a.wait_mcpu, row[i].waits * 10);
	}
}

TEST(agree__wait_that_becomes_known__is_compared_from_then_on)
{
	struct told t = begin();

	tell(&t, 500, 20, 20);
	t.u.wait_known = true;
	t.u.wait_ns = 5 * NS_PER_S;
	tell(&t, 510, 20, 20);
	assert_true(t.a.known);
	assert_false(t.a.disagrees);
}

TEST(agree__figures_that_are_late_unknown_or_far_apart__are_not_compared)
{
	struct told t = begin();

	t.u.used_ns = t.u.cpu_ns = NS_PER_S;
	t.u.late_ns = 125 * MS + 1;
	tell(&t, 5000, 100, 0);
	t.u.late_ns = -1;
	tell(&t, 5000, 100, 0);
	assert_false(t.a.began || t.a.known);
	t.u.late_ns = 125 * MS;
	tell(&t, 500, 100, 0);
	t.u.at.ns += 3 * NS_PER_S; /* nothing was read meanwhile */
	tell(&t, 900, 100, 100);
	assert_false(t.a.known);
	t.u.used_ns = 0;
	tell(&t, 900, 100, 100);
	t.u.cpu_ns = 0;
	tell(&t, 900, 100, 100);
	t.u.steal_ns = t.u.wait_ns = 5;
	tell(&t, 90, 100, 100);
	t.a.began = false;
	tell(&t, 900, 100, 100);
	t.u.steal_ns = 4;
	tell(&t, 900, 100, 100);
	t.u.wait_ns = 4;
	tell(&t, 900, 100, 100);
	assert_false(t.a.known);
}

TEST(agree__looked_at_seldom__windows_are_longer)
{
	struct told t = begin();

	t.period_ns = t.u.late_ns = 500 * MS;
	tell(&t, 8000, 100, 0);
	assert_false(t.a.known);
	tell(&t, 500, 100, 0);
	assert_true(t.a.disagrees);
}

TEST(agree__rubbish__disagrees_at_once)
{
	struct told t = begin();

	tell(&t, 1010, 10, 10);
	assert_true(load_agree_believed(&t.a));
	load_agree_fault(&t.a);
	tell(&t, 4010, 10, 10);
	load_agree_fault(&t.a); /* the good windows before it do not count */
	assert_true(t.a.disagrees);
	assert_false(t.a.began || t.a.known);
	tell(&t, 5000, 10, 10);
	assert_true(t.a.disagrees);
	tell(&t, 1010, 10, 10);
	assert_true(load_agree_believed(&t.a));
}

TEST(agree__any_figures__no_sum_overflows)
{
	struct load_agree a = { .began = false };
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 100000; i++) {
		struct load_used u = { .at = { (int64_t)(prop_u64(&p) >> 3) },
				       .used_ns = prop_u64(&p),
				       .steal_ns = prop_u64(&p),
				       .cpu_ns = prop_u64(&p),
				       .wait_ns = prop_u64(&p),
				       .wait_known = prop_one_in(&p, 2),
				       .late_ns = (int64_t)prop_range(&p, 0, 20 * NS_PER_S),
				       .cpus = (uint32_t)prop_range(&p, 1, LOAD_CPUS_MAX) };

		if (prop_one_in(&p, 2))
			u.at.ns = a.from.at.ns + (int64_t)prop_range(&p, 0, 400 * NS_PER_S);
		load_agree_add(&a, &u, (int64_t)prop_range(&p, 1, 10 * NS_PER_S));
		assert_true(a.good <= LOAD_AGREE_GOOD);
	}
	assert_true(a.known);
}
