// SPDX-License-Identifier: GPL-2.0-or-later
/* member: which hosts are members, and may this one decide; corosync's library is a fake. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "src/shared/member.h"
#include "tests/fakes/fake_quorum.h"
#include "tests/unit/prop.h"
#include "tests/unit/steps.h"
#include "tests/unit/unit.h"

/*
 * Hosts 1, 2, 3 and 256 are corosync's nodes 11, 12, 13 and 5; we are host 2. Host 4 is not
 * configured, although it has a nodeid.
 */
static const struct member_conf conf = {
	.hosts = { { 7, 0, 0, 1ull << 63 } },
	.node = { 11, 12, 13, 99, [255] = 5 },
	.self = 2,
};

static const uint32_t nodes_all[] = { 11, 12, 13, 5, 0 };
static const uint32_t nodes_two[] = { 11, 12, 0 };
static const uint32_t nodes_us[] = { 12, 0 };
static const uint32_t nodes_not_us[] = { 11, 13, 5, 0 };
static const uint32_t nodes_stranger[] = { 99, 12, 13, 0 };

struct rig {
	struct member *m;
	struct mono now;
	struct member_view v;
	int news;
};

/* The attempt that was begun while corosync hung has ended. */
static void until_readable(struct rig *r)
{
	struct pollfd p = { .fd = member_corosync.fd(r->m), .events = POLLIN };

	assert_int_equal(poll(&p, 1, -1), 1);
}

enum { CONNECTED_FD = 42 }; /* the fake's */

/* An attempt to connect is made by a thread: unless corosync hangs, wait for its result. */
static void update(struct rig *r)
{
	r->news = member_corosync.update(r->m, r->now, &r->v);
	while (!fake_quorum.hangs && member_corosync.fd(r->m) >= 0 &&
	       member_corosync.fd(r->m) != CONNECTED_FD) {
		until_readable(r);
		r->news |= member_corosync.update(r->m, r->now, &r->v);
	}
}

static void rig_begin(struct rig *r, int want)
{
	struct member_conf c = conf;

	c.connect_ms = fake_quorum.hangs ? 20 : 60000;
	*r = (struct rig){ .now = { NS_PER_S } };
	assert_int_equal(member_corosync.open(&r->m, &c, r->now), want);
}

/* Connected, and quorate with all. */
static void rig_quorate(struct rig *r)
{
	fake_quorum_reset();
	rig_begin(r, 0);
	fake_quorum_vote(11, 40, nodes_all, true);
	update(r);
	assert_int_equal(r->news, 1);
	assert_true(r->v.quorate && r->v.view == 40 && hostset_equal(&r->v.members, &conf.hosts));
}

static void rig_end(struct rig *r)
{
	member_corosync.close(r->m);
	assert_false(fake_quorum.connected);
}

/* --- static ------------------------------------------------------------------- */

TEST(static__open__all_hosts_are_in_and_quorate_reported_once)
{
	struct member_view v;
	struct member *m;

	assert_int_equal(member_static.open(&m, &conf, (struct mono){ 0 }), 0);
	assert_int_equal(member_static.update(m, (struct mono){ 0 }, &v), 1);
	assert_true(v.quorate && v.view == 0 && hostset_equal(&v.members, &conf.hosts));
	assert_int_equal(member_static.update(m, (struct mono){ NS_PER_S }, &v), 0);
	assert_int_equal(member_static.fd(m), -1);
	assert_true(member_static.due(m).ns == INT64_MAX);
	assert_string_equal(member_static.note(m), "");
	member_static.close(m);
}

TEST(static__set_hosts__the_next_view_has_them)
{
	struct member_conf c = conf;
	struct member_view v;
	struct member *m;

	assert_int_equal(member_static.open(&m, &conf, (struct mono){ 0 }), 0);
	assert_int_equal(member_static.set_hosts(m, &c), 0);
	assert_int_equal(member_static.update(m, (struct mono){ 0 }, &v), 1);
	assert_int_equal(member_static.set_hosts(m, &c), 0); /* the same ones: no news */
	assert_int_equal(member_static.update(m, (struct mono){ 0 }, &v), 0);
	hostset_set(&c.hosts, 4, true);
	assert_int_equal(member_static.set_hosts(m, &c), 0);
	assert_int_equal(member_static.update(m, (struct mono){ 0 }, &v), 1);
	assert_true(v.quorate && v.view == 0 && hostset_equal(&v.members, &c.hosts));
	c.hosts = (struct hostset){ { 1 } };
	assert_int_equal(member_static.set_hosts(m, &c), -EINVAL);
	assert_int_equal(member_static.update(m, (struct mono){ 0 }, &v), 0);
	member_static.close(m);
}

/* Host 4 is in corosync's ring before it is configured, and 256 is left out. */
TEST(corosync__set_hosts__the_ring_is_looked_at_again)
{
	struct member_conf c = conf;
	struct rig r;

	rig_quorate(&r);
	fake_quorum_vote(12, 44, nodes_stranger, true);
	update(&r);
	assert_true(r.news == 1 && r.v.members.word[0] == 6);
	c.hosts = (struct hostset){ { 15 } };
	assert_int_equal(member_corosync.set_hosts(r.m, &c), 0);
	update(&r);
	assert_true(r.news == 1 && r.v.quorate && r.v.view == 44 && r.v.members.word[0] == 14);
	c.node[1] = 77; /* our own */
	assert_int_equal(member_corosync.set_hosts(r.m, &c), -EINVAL);
	c = conf;
	c.self = 1;
	assert_int_equal(member_corosync.set_hosts(r.m, &c), -EINVAL);
	update(&r);
	assert_true(r.news == 0 && r.v.members.word[0] == 14);
	fake_quorum_vote(11, 48, nodes_all, true);
	update(&r);
	assert_true(r.v.members.word[0] == 7 && !r.v.members.word[3]);
	rig_end(&r);
}

TEST(open__self_not_configured__is_refused)
{
	static const uint16_t wrong[] = { 0, 4, 257 };
	struct member *m;

	fake_quorum_reset();
	for (int i = 0; i < 3; i++) {
		struct member_conf c = conf;

		c.self = wrong[i];
		assert_int_equal(member_static.open(&m, &c, (struct mono){ 0 }), -EINVAL);
		assert_int_equal(member_corosync.open(&m, &c, (struct mono){ 0 }), -EINVAL);
	}
	assert_int_equal(fake_quorum.connects, 0);
}

TEST(open__a_nodeid_missing_or_twice_or_a_negative_wait__is_refused)
{
	struct member_conf c = conf;
	struct member *m;

	fake_quorum_reset();
	c.node[255] = 0;
	assert_int_equal(member_corosync.open(&m, &c, (struct mono){ 0 }), -EINVAL);
	c.node[255] = 11;
	assert_int_equal(member_corosync.open(&m, &c, (struct mono){ 0 }), -EINVAL);
	c = conf;
	c.connect_ms = -1;
	assert_int_equal(member_corosync.open(&m, &c, (struct mono){ 0 }), -EINVAL);
	assert_int_equal(fake_quorum.connects, 0);
}

/* --- corosync: rows of steps ---------------------------------------------------- */

/*
 * Steps, where NODES is the name of an array of nodes, and REP and SEQ are the id of a ring:
 *
 *	open [ERROR]		opens the membership: what it returns
 *	join			the same, and corosync votes for ring 40 of all
 *	ring NODES REP SEQ	corosync reports a new ring
 *	vote NODES REP SEQ	it reports a vote, which is quorate; "veto": is not
 *	die, refuse		from now on it cannot be reached, or allows us nothing
 *	revive			and now it does
 *	hang, answer		it accepts a connection only at the "answer"
 *	no-provider		it has no quorum provider
 *	track-fails, track-works
 *				what a request for its views gets
 *	update			reads what it reported
 *	wait S, wait-due	time passes: seconds, or until an update is due
 *
 * Expectations:
 *
 *	news N			what the newest update returned
 *	quorate, not-quorate, view N, members HOST...
 *				the newest view
 *	fd N, no-fd		what to poll
 *	due S, due-never	the next update: in S seconds, or none is
 *	says TEXT, no-note	a part of the note, or that it is empty
 *	connects N, finalizes N	calls of corosync's library since the start
 */
static const struct row {
	const char *name, *steps;
} rows[] = {
	{ "no report yet: not quorate",
	  "open, update -> news 1, not-quorate, view 0, members, fd 42" },
	{ "the same view: no news",
	  "join, update -> news 0, quorate; vote all 11 40, update -> news 0" },
	{ "cut off: not quorate, and alone",
	  "join, ring us 12 44, veto us 12 44, update -> news 1, not-quorate, view 44, members 2" },
	{ "a new ring that has not voted: not quorate",
	  "join, ring two 11 44, update -> news 1, not-quorate, view 44, members 1 2;"
	  "vote two 11 44, update -> news 1, quorate, view 44" },
	{ "the ring that voted, reported again: stays quorate",
	  "join, ring all 11 40, update -> news 0, quorate" },
	{ "a node that is not a host: does not count",
	  "join, vote stranger 12 44, update -> quorate, members 2 3" },
	{ "a ring above the last epoch: not quorate, and says the way out",
	  "join, vote all 11 1073741823, update -> news 1, quorate, view 1073741823;"
	  "vote all 11 1073741827, update -> not-quorate, says start them" },
	{ "a view without us: not quorate, and says why",
	  "join, vote not-us 11 44, update -> not-quorate, says nodeid 12;"
	  "vote all 11 48, update -> quorate, no-note" },

	/* The first update is not due yet, and does not connect. */
	{ "open without corosync: good, tries again",
	  "die, open ENODEV -> says start corosync, no-fd;"
	  "update -> news 1, not-quorate, connects 1, due 1;"
	  "revive, wait-due, vote all 11 40, update -> news 1, quorate, no-note, due-never" },
	/* Once it is connected again, nothing is reported yet. */
	{ "corosync dies: not quorate until it is back",
	  "join, die, update -> news 1, not-quorate, view 40, members 1 2 3 256, finalizes 1,"
	  "no-fd, says start corosync; wait-due, update -> news 0; wait-due, update -> news 0;"
	  "wait-due, update -> news 0, connects 4; revive, wait-due, update -> not-quorate;"
	  "vote all 11 40, update -> news 1, quorate, view 40" },
	{ "open, refused by corosync: says what to allow", "refuse, open ENODEV -> says uidgid.d" },
	{ "open without a quorum provider: says what to configure",
	  "no-provider, open ENODEV -> says corosync_votequorum, finalizes 1;"
	  "update -> not-quorate" },
	{ "open, tracking fails: hangs up, tries again",
	  "track-fails, open ENODEV -> finalizes 1;"
	  "track-works, wait-due, vote all 11 40, update -> quorate" },
	/* Nothing is due while it hangs: the descriptor becomes readable. */
	{ "open, corosync hangs: goes on, and connects when it answers",
	  "hang, open ENODEV, update -> not-quorate, says corosync hangs;"
	  "wait 2, update -> not-quorate, says corosync hangs;"
	  "wait 2, update -> not-quorate, says corosync hangs;"
	  "wait 2 -> connects 1, due-never; vote all 11 40, answer, update -> quorate, view 40,"
	  "no-note, fd 42" },
	/* connect_ms is a minute here: an update that waited for corosync would last so long. */
	{ "corosync hangs later: an update does not wait, and says so only after connect_ms",
	  "join, die, update -> no-fd, says start corosync;"
	  "hang, wait-due, update -> not-quorate, says start corosync, due 60;"
	  "wait 59, update -> says start corosync;"
	  "wait-due, update -> says corosync hangs, due-never;"
	  "revive, vote all 11 40, answer, update -> quorate, no-note, fd 42, connects 2" },
	{ "open, corosync hung and then refuses: tries again",
	  "hang, open ENODEV, refuse, answer, update -> says uidgid.d, no-fd;"
	  "revive, wait-due, vote all 11 40, update -> quorate, connects 2" },
};

static const uint32_t *nodes_of(const struct step *s)
{
	static const struct {
		const char *name;
		const uint32_t *nodes;
	} sets[] = {
		{ "all", nodes_all },	    { "two", nodes_two },	    { "us", nodes_us },
		{ "not-us", nodes_not_us }, { "stranger", nodes_stranger },
	};

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		if (step_says(s, sets[i].name))
			return sets[i].nodes;
	step_unknown(s);
	return NULL;
}

/* What corosync does. False: the step is not of these. */
static bool corosync_does(struct rig *r, const struct step *s)
{
	if (step_is(s, "ring"))
		fake_quorum_ring((uint32_t)s->n[0], s->n[1], nodes_of(s));
	else if (step_is(s, "vote") || step_is(s, "veto"))
		fake_quorum_vote((uint32_t)s->n[0], s->n[1], nodes_of(s), step_is(s, "vote"));
	else if (step_is(s, "die"))
		fake_quorum_die();
	else if (step_is(s, "refuse"))
		fake_quorum.refuses = CS_ERR_ACCESS;
	else if (step_is(s, "revive"))
		fake_quorum.refuses = CS_OK;
	else if (step_is(s, "no-provider"))
		fake_quorum.type = QUORUM_FREE;
	else if (step_is(s, "track-fails"))
		fake_quorum.track = CS_ERR_TRY_AGAIN;
	else if (step_is(s, "track-works"))
		fake_quorum.track = CS_OK;
	else if (step_is(s, "hang"))
		fake_quorum.hangs = true;
	else if (step_is(s, "answer")) {
		fake_quorum.hangs = false;
		until_readable(r);
	} else
		return false;
	return true;
}

static void act(void *rig, const struct step *s)
{
	struct rig *r = rig;

	if (step_is(s, "open"))
		rig_begin(r, s->word[0] ? -step_errno(s) : 0);
	else if (step_is(s, "join"))
		rig_quorate(r);
	else if (step_is(s, "update"))
		update(r);
	else if (step_is(s, "wait"))
		r->now = mono_add(r->now, (int64_t)s->n[0] * NS_PER_S);
	else if (step_is(s, "wait-due"))
		r->now = member_corosync.due(r->m);
	else if (!corosync_does(r, s))
		step_unknown(s);
}

static void check(void *rig, const struct step *s)
{
	struct rig *r = rig;
	struct mono due = member_corosync.due(r->m);
	const char *note = member_corosync.note(r->m);
	int fd = member_corosync.fd(r->m);
	struct hostset members = { { 0 } };
	const struct step_figure figures[] = {
		{ "news", (uint64_t)r->news },
		{ "view", r->v.view },
		{ "fd", (uint64_t)fd },
		{ "connects", (uint64_t)fake_quorum.connects },
		{ "finalizes", (uint64_t)fake_quorum.finalizes },
	};

	if (step_expect_figure(s, figures, sizeof(figures) / sizeof(figures[0])))
		return;
	for (int i = 0; i < s->numbers; i++)
		hostset_set(&members, (uint32_t)s->n[i], true);
	if (step_is(s, "quorate") || step_is(s, "not-quorate"))
		step_holds(s, r->v.quorate == step_is(s, "quorate"));
	else if (step_is(s, "members"))
		step_holds(s, hostset_equal(&r->v.members, &members));
	else if (step_is(s, "no-fd"))
		step_holds(s, fd == -1);
	else if (step_is(s, "due"))
		step_holds(s, due.ns == r->now.ns + (int64_t)s->n[0] * NS_PER_S);
	else if (step_is(s, "due-never"))
		step_holds(s, due.ns == INT64_MAX);
	else if (step_is(s, "says"))
		step_holds(s, strstr(note, s->rest));
	else if (step_is(s, "no-note"))
		assert_string_equal(note, "");
	else
		step_unknown(s);
}

static void run_row(void **state)
{
	static const struct steps_ops ops = { .act = act, .check = check };
	const struct row *row = *state;
	struct rig r = { 0 };

	fake_quorum_reset();
	steps_run(row->steps, &ops, &r);
	rig_end(&r);
}
TEST_ROWS(rows, run_row)

TEST(close__corosync_hangs__closes_when_it_answers)
{
	struct rig r;

	fake_quorum_reset();
	fake_quorum.hangs = true;
	rig_begin(&r, -ENODEV);
	member_corosync.close(r.m);
	assert_int_equal(fake_quorum.finalizes, 0);
	fake_quorum.hangs = false;
	while (!fake_quorum.finalizes) /* else the runner's time is up */
		poll(NULL, 0, 1);
}
