// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hook_guest: what it writes for a guest, and what it takes for an answer, by a store of the test
 * and by the simulated host; times by argument.
 */
#include "src/reconf/hook_guest.h"

#include <errno.h>
#include <string.h>

#include "resex/guest_abi.h"
#include "src/hv/backends.h"
#include "src/sim/sim.h"
#include "src/util/utf8.h"
#include "tests/unit/prop.h"

#define DEADLINE_NS (10 * NS_PER_S)
#define LATE_NS	    (15 * NS_PER_S)

/* One guest and its two nodes. */
struct hv_watch {
	int find_rc, want_rc, answer_rc; /* 0: as it should be */
	uint32_t domid;
	int wants; /* that were written */
	char want[GUEST_ABI_WANT_MAX];
	char answer[GUEST_ABI_ANSWER_MAX]; /* "": there is none */
};

struct rig {
	struct hook *h;
	struct hv_watch store;
	struct hook_guest_conf guest;
	struct mono now;
};

static int find(void *arg, const char *name, uint32_t *domid)
{
	const struct hv_watch *w = arg;

	assert_string_equal(name, "vm1");
	*domid = w->domid;
	return w->find_rc;
}

static int store_want(struct hv_watch *w, uint32_t domid, const char *value)
{
	assert_int_equal(domid, w->domid);
	if (w->want_rc)
		return w->want_rc;
	assert_true(strlen(value) < sizeof(w->want));
	strcpy(w->want, value);
	w->wants++;
	return 0;
}

static int store_answer(struct hv_watch *w, uint32_t domid, char *buf, size_t size)
{
	size_t len = strlen(w->answer);

	assert_int_equal(domid, w->domid);
	if (w->answer_rc || !len)
		return w->answer_rc ? w->answer_rc : -ENOENT;
	if (len >= size)
		return -EMSGSIZE;
	memcpy(buf, w->answer, len + 1);
	return (int)len;
}

static const struct hv_watch_ops store_ops = { .want = store_want, .answer = store_answer };

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct hook_conf c = { .deadline_ns = DEADLINE_NS };

	assert_non_null(r);
	r->now.ns = 1000;
	r->store.domid = 7;
	r->guest = (struct hook_guest_conf){
		.name = "vm1", .ops = &store_ops, .watch = &r->store, .find = find, .arg = &r->store
	};
	c.guest = &r->guest;
	assert_int_equal(hook_guest.open(&r->h, &c), 0);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	hook_guest.close(r->h);
	free(r);
	return 0;
}

static int want(struct rig *r, const char *node)
{
	const struct hook_want w = { "switch", node, "web", "mail" };

	return hook_guest.want(r->h, &w, r->now);
}

static int64_t poll_hook(struct rig *r)
{
	return hook_guest.poll(r->h, r->now);
}

static void pass(struct rig *r, int64_t ns)
{
	r->now = mono_add(r->now, ns);
}

static struct hook_seen seen(const struct rig *r)
{
	struct hook_seen s;

	hook_guest.see(r->h, &s);
	return s;
}

static void assert_failed(const struct rig *r, const char *text)
{
	struct hook_seen s = seen(r);

	assert_int_equal(s.state, HOOK_FAILED);
	if (!strstr(s.note, text))
		fail_msg("\"%s\" is not in \"%s\"", text, s.note);
}

/* It was wanted at the time 1000, and nothing is answered yet. */
static void begin(struct rig *r)
{
	assert_int_equal(want(r, "n1"), 0);
	assert_true(poll_hook(r) < INT64_MAX);
	assert_int_equal(r->store.wants, 1);
	assert_int_equal(seen(r).state, HOOK_RUNS);
}

static enum hook_state answered(struct rig *r, const char *answer)
{
	snprintf(r->store.answer, sizeof(r->store.answer), "%s", answer);
	poll_hook(r);
	return seen(r).state;
}

TEST(open__without_guest_or_deadline__is_refused)
{
	struct hook_guest_conf guest = { .name = "vm1" };
	struct hook_conf c = { .deadline_ns = 1 };
	struct hook *h = NULL;

	assert_int_equal(hook_guest.open(&h, &c), -EINVAL);
	c.guest = &guest;
	c.deadline_ns = 0;
	assert_int_equal(hook_guest.open(&h, &c), -EINVAL);
	hook_guest.close(NULL);
}

RIG_TEST(want__is_written_for_the_agent)
{
	struct rig *r = *state;

	assert_int_equal(seen(r).state, HOOK_IDLE);
	assert_true(poll_hook(r) == INT64_MAX);
	begin(r);
	assert_string_equal(r->store.want, "1\n1000\n10000\nswitch\nn1\nweb\nmail\n");
	assert_int_equal(want(r, "n2"), -EBUSY);
}

RIG_TEST(want__names_of_greatest_length__have_room)
{
	struct rig *r = *state;
	char name[HOOK_NAME_MAX];
	const struct hook_want w = { "switch", name, name, name };

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	r->now.ns = INT64_MAX / 2;
	assert_int_equal(hook_guest.want(r->h, &w, r->now), 0);
	poll_hook(r);
	assert_int_equal(r->store.wants, 1);
}

/* The agent would take what is behind it for another argument. */
RIG_TEST(want__name_of_two_lines__fails_and_is_not_written)
{
	struct rig *r = *state;

	assert_int_equal(want(r, "n1\nmail"), 0);
	assert_true(poll_hook(r) == INT64_MAX);
	assert_failed(r, "cannot be told to guest vm1: give shorter ones, of one line");
	assert_int_equal(r->store.wants, 0);
}

RIG_TEST(want__store_is_slow__is_written_later)
{
	struct rig *r = *state;

	r->store.want_rc = -EAGAIN;
	assert_int_equal(want(r, "n1"), 0);
	poll_hook(r);
	poll_hook(r);
	assert_int_equal(seen(r).state, HOOK_RUNS);
	r->store.want_rc = 0;
	poll_hook(r);
	assert_int_equal(r->store.wants, 1);
	/* It is not written again with each look. */
	poll_hook(r);
	assert_int_equal(r->store.wants, 1);
	assert_int_equal(answered(r, "1\n1000\n0\n\n"), HOOK_DONE);
}

RIG_TEST(want__store_refuses__fails)
{
	struct rig *r = *state;

	r->store.want_rc = -EIO;
	assert_int_equal(want(r, "n1"), 0);
	assert_true(poll_hook(r) == INT64_MAX);
	assert_failed(r, "cannot write what guest vm1 is to do: Input/output error: see");
}

RIG_TEST(want__no_such_guest__fails)
{
	struct rig *r = *state;

	r->store.find_rc = -ENOENT;
	assert_int_equal(want(r, "n1"), 0);
	assert_true(poll_hook(r) == INT64_MAX);
	assert_failed(r, "guest vm1 does not run on this host: start it");
	assert_int_equal(r->store.wants, 0);
}

RIG_TEST(want__again_at_the_same_time__has_another_number)
{
	struct rig *r = *state;

	begin(r);
	assert_int_equal(answered(r, "1\n1000\n0\n\n"), HOOK_DONE);
	assert_int_equal(want(r, "n1"), 0);
	poll_hook(r);
	assert_int_equal(seen(r).state, HOOK_RUNS);
	assert_string_equal(r->store.want, "1\n1001\n10000\nswitch\nn1\nweb\nmail\n");
	assert_int_equal(answered(r, "1\n1001\n0\n\n"), HOOK_DONE);
}

RIG_TEST(answer__done__is_done)
{
	struct rig *r = *state;

	begin(r);
	assert_int_equal(answered(r, "1\n1000\n0\n\n"), HOOK_DONE);
	assert_string_equal(seen(r).note, "");
	assert_true(poll_hook(r) == INT64_MAX);
}

RIG_TEST(answer__failed__is_the_note)
{
	struct rig *r = *state;

	begin(r);
	assert_int_equal(answered(r, "1\n1000\n1\n/hook ended by signal 9\n"), HOOK_FAILED);
	assert_string_equal(seen(r).note, "guest vm1: /hook ended by signal 9");
	assert_true(poll_hook(r) == INT64_MAX);
}

RIG_TEST(answer__failed_in_silence__says_where_to_look)
{
	struct rig *r = *state;

	begin(r);
	assert_int_equal(answered(r, "1\n1000\n1\n\n"), HOOK_FAILED);
	assert_failed(r, "guest vm1: its program failed: see the journal of resex-agent there");
}

RIG_TEST(answer__hostile_text__is_made_harmless)
{
	struct rig *r = *state;
	char text[GUEST_ABI_ANSWER_MAX];

	begin(r);
	assert_int_equal(answered(r, "1\n1000\n1\n\033[2Jred\377\303\nguest vm2: more\n"),
			 HOOK_FAILED);
	assert_string_equal(seen(r).note, "guest vm1: ?[2Jred");
	assert_int_equal(want(r, "n1"), 0);
	poll_hook(r);
	snprintf(text, sizeof(text), "1\n1001\n1\nx");
	for (size_t n = strlen(text); n + 3 <= sizeof(text); n += 2)
		strcpy(text + n, "\303\251");
	assert_int_equal(answered(r, text), HOOK_FAILED);
	assert_true(utf8_good(seen(r).note));
	assert_failed(r, "guest vm1: x\303\251");
	assert_true(strlen(seen(r).note) < 250);
}

static const struct no_answer {
	const char *name, *text;
} no_answers[] = {
	{ "answer__to_an_earlier_want__does_not_count", "1\n999\n0\n\n" },
	{ "answer__to_a_later_want__does_not_count", "1\n1001\n0\n\n" },
	{ "answer__of_another_version__does_not_count", "2\n1000\n0\n\n" },
	{ "answer__with_another_result__does_not_count", "1\n1000\n2\n\n" },
	{ "answer__without_a_result__does_not_count", "1\n1000\n" },
	{ "answer__cut_in_its_result__does_not_count", "1\n1000\n0" },
	{ "answer__with_signs__does_not_count", "1\n+1000\n0\n\n" },
	{ "answer__with_spaces__does_not_count", "1\n 1000\n0\n\n" },
	{ "answer__with_a_huge_number__does_not_count", "1\n18446744073709552616\n0\n\n" },
	{ "answer__of_words__does_not_count", "yes\n" },
	{ "answer__with_an_empty_line__does_not_count", "1\n\n0\n\n" },
};

static void answer_does_not_count(void **state)
{
	const struct no_answer *row = *state;
	struct rig *r;

	setup(state);
	r = *state;
	begin(r);
	assert_int_equal(answered(r, row->text), HOOK_RUNS);
	assert_int_equal(answered(r, "1\n1000\n0\n\n"), HOOK_DONE);
	teardown(state);
}

TEST_ROWS(no_answers, answer_does_not_count)

RIG_TEST(answer__any_bytes__count_only_with_the_number)
{
	struct rig *r = *state;
	static const char bytes[] = "0123456789\n\n\n -x";
	struct prop p;

	prop_start(&p);
	r->now.ns = 123456;
	begin(r);
	for (int i = 0; i < 20000; i++) {
		char text[24];
		size_t n = prop_range(&p, 1, sizeof(text) - 1);

		for (size_t k = 0; k < n; k++)
			text[k] = bytes[prop_range(&p, 0, sizeof(bytes) - 2)];
		text[n] = '\0';
		if (!strstr(text, "123456"))
			prop_assert(&p, i, answered(r, text) == HOOK_RUNS);
	}
}

RIG_TEST(guest__never_answers__fails_and_it_is_taken_back)
{
	struct rig *r = *state;

	begin(r);
	pass(r, LATE_NS - 1);
	poll_hook(r);
	assert_int_equal(seen(r).state, HOOK_RUNS);
	pass(r, 1);
	r->store.want_rc = -EAGAIN;
	assert_true(poll_hook(r) < INT64_MAX);
	assert_failed(r, "guest vm1 did not answer within 15000 ms: see whether resex-agent runs");
	assert_true(poll_hook(r) < INT64_MAX);
	r->store.want_rc = 0;
	assert_true(poll_hook(r) == INT64_MAX);
	assert_string_equal(r->store.want, "");
	assert_int_equal(r->store.wants, 2);
	/* What it says then is nothing any more. */
	assert_int_equal(answered(r, "1\n1000\n0\n\n"), HOOK_FAILED);
}

RIG_TEST(guest__answers_at_the_last_moment__is_done)
{
	struct rig *r = *state;

	begin(r);
	pass(r, LATE_NS);
	assert_int_equal(answered(r, "1\n1000\n0\n\n"), HOOK_DONE);
}

RIG_TEST(guest__another_want_before_it_is_taken_back__is_written)
{
	struct rig *r = *state;

	begin(r);
	pass(r, LATE_NS);
	r->store.want_rc = -EAGAIN;
	poll_hook(r);
	assert_int_equal(seen(r).state, HOOK_FAILED);
	assert_int_equal(want(r, "n2"), 0);
	assert_string_equal(seen(r).note, "");
	r->store.want_rc = 0;
	poll_hook(r);
	assert_non_null(strstr(r->store.want, "\nn2\n"));
	poll_hook(r);
	assert_int_equal(r->store.wants, 2);
}

RIG_TEST(guest__answers_nonsense_until_the_end__is_told)
{
	struct rig *r = *state;

	begin(r);
	answered(r, "nonsense");
	pass(r, LATE_NS);
	poll_hook(r);
	assert_failed(r, "within 15000 ms: it says what is no answer: see whether resex-agent");
}

RIG_TEST(guest__answer_cannot_be_read__is_told)
{
	static const struct {
		int rc;
		const char *text;
	} cases[] = {
		{ -EMSGSIZE, "it says what is no answer" },
		{ -EBADMSG, "it says what is no answer" },
		{ -EPERM, "other domains can write its answer" },
		{ -ENOENT, "within 15000 ms: see" },
		{ -EAGAIN, "within 15000 ms: see" },
	};
	struct rig *r = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(want(r, "n1"), 0);
		r->store.answer_rc = cases[i].rc;
		poll_hook(r);
		pass(r, LATE_NS);
		poll_hook(r);
		assert_failed(r, cases[i].text);
		poll_hook(r);
	}
}

RIG_TEST(guest__store_takes_nothing__fails_after_the_deadline)
{
	struct rig *r = *state;

	r->store.want_rc = -EAGAIN;
	assert_int_equal(want(r, "n1"), 0);
	poll_hook(r);
	pass(r, LATE_NS);
	poll_hook(r);
	assert_failed(r, "xenstored did not take what guest vm1 is to do within 15000 ms");
}

RIG_TEST(guest__reboots_or_ends_meanwhile__fails)
{
	struct rig *r = *state;

	begin(r);
	r->store.domid = 8;
	/* The new domain may have any answer. */
	assert_int_equal(answered(r, "1\n1000\n0\n\n"), HOOK_FAILED);
	assert_failed(r, "guest vm1 ended or rebooted meanwhile");
	assert_true(poll_hook(r) == INT64_MAX);
	assert_int_equal(want(r, "n1"), 0);
	poll_hook(r);
	r->store.find_rc = -ENOENT;
	poll_hook(r);
	assert_failed(r, "guest vm1 ended or rebooted meanwhile");
}

RIG_TEST(guest__ends_before_it_is_taken_back__that_ends_too)
{
	struct rig *r = *state;

	begin(r);
	pass(r, LATE_NS);
	r->store.want_rc = -EAGAIN;
	poll_hook(r);
	r->store.find_rc = -ENOENT;
	assert_true(poll_hook(r) == INT64_MAX);
	assert_failed(r, "did not answer");
}

/* --- the simulated host -------------------------------------------------------------------- */

static int find_bulk(void *arg, const char *name, uint32_t *domid)
{
	(void)arg;
	assert_string_equal(name, "bulk");
	*domid = 2;
	return 0;
}

TEST(sim__guest_does_what_is_wanted)
{
	struct hook_guest_conf guest = { .name = "bulk", .ops = hv_sim.watch, .find = find_bulk };
	const struct hook_conf c = { .deadline_ns = DEADLINE_NS, .guest = &guest };
	const struct hook_want w = { "check", "n1", "-", "web" };
	struct mono now = { 5000 };
	struct sim_host *sim;
	struct sim_conf sc;
	struct hook_seen s;
	struct hook *h;

	sim_conf_demo(&sc);
	assert_int_equal(sim_open(&sim, &sc, now), 0);
	assert_int_equal(hv_sim.watch->open(&guest.watch, sim), 0);
	assert_int_equal(hook_guest.open(&h, &c), 0);
	assert_int_equal(hook_guest.want(h, &w, now), 0);
	assert_true(hook_guest.poll(h, now) == INT64_MAX);
	hook_guest.see(h, &s);
	assert_int_equal(s.state, HOOK_DONE);
	hook_guest.close(h);
	hv_sim.watch->close(guest.watch);
	sim_close(sim);
}
