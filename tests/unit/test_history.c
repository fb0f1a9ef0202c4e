// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_history: the checker of histories (tests/shared/history.h) passes a right
 * history, and finds each kind of violation by its name. A row is a history: its
 * steps, and the verdict on them.
 */
#include <stdio.h>
#include <string.h>

#include "tests/shared/history.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

/*
 * Host 1 is home of the locks and has node 0 (service 1) and nodes 1, 2, 3
 * (service 2). Hosts 2 and 3 balance service 1, host 4 service 2.
 */
struct rig {
	struct history h;
	int64_t t;
};

static const struct history_conf conf = {
	.hosts = 4,
	.services = 2,
	.nodes = { 0, 4 },
	.minimum = { 0, 1, 1 },
	.balancers = { 0, 1u << 1 | 1u << 2, 1u << 3 },
	.faultless = true,
	.high_ns = 1000,
	.flight_ns = 5,
	.break_ns = 500,
	.delay_ns = 2000,
	.any_delay_ns = 4000,
};

static void add(struct rig *r, struct history_record rec)
{
	rec.t = r->t += 10;
	if (!rec.value && rec.type == HISTORY_EFFECT)
		rec.value = (uint64_t)rec.t;
	history_add(&r->h, &rec);
}

static void word(struct rig *r, uint32_t offset, uint64_t value)
{
	add(r, (struct history_record){
		       .type = HISTORY_WORD, .host = 1, .offset = offset, .now = value });
}

static void cas(struct rig *r, uint16_t by, uint32_t offset, uint64_t from, uint64_t to)
{
	add(r, (struct history_record){ .type = HISTORY_EFFECT,
					.op = STEP_CAS,
					.host = by,
					.target = 1,
					.offset = offset,
					.compare = from,
					.old = from,
					.now = to });
}

static void lock(struct rig *r, uint16_t by, uint32_t s, uint64_t seq)
{
	cas(r, by, region_lock_offset(s), r->h.lock[1][s].value, region_word(by, seq));
}

static void meet(struct rig *r, uint16_t by, uint32_t s)
{
	uint64_t is = r->h.lock[1][s].value;

	add(r, (struct history_record){ .type = HISTORY_EFFECT,
					.op = STEP_READ,
					.host = by,
					.target = 1,
					.offset = region_lock_offset(s),
					.old = is,
					.now = is });
}

static void unlock(struct rig *r, uint16_t by, uint32_t s)
{
	uint64_t old = r->h.lock[1][s].value;

	cas(r, by, region_lock_offset(s), old, region_word(0, region_word_seq(old)));
}

/* unreported: no result comes back. */
static void reads(struct rig *r, uint16_t by, bool unreported)
{
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t is = r->h.node[1][i].value;

		add(r, (struct history_record){ .type = HISTORY_EFFECT,
						.op = STEP_READ,
						.host = by,
						.target = 1,
						.offset = region_node_offset(i),
						.old = is,
						.now = is,
						.unreported = unreported });
	}
}

static void announce(struct rig *r, uint16_t by, uint16_t to, uint32_t s)
{
	add(r, (struct history_record){ .type = HISTORY_EFFECT,
					.op = STEP_FAA,
					.host = by,
					.target = to,
					.offset = region_counter_offset(s),
					.now = 1 });
}

static void move(struct rig *r, uint16_t by, uint32_t node, uint16_t to)
{
	uint64_t old = r->h.node[1][node].value;

	cas(r, by, region_node_offset(node), old, region_word(to, region_word_seq(old) + 1));
}

static void loaded(struct rig *r, enum history_type type, uint16_t s)
{
	add(r, (struct history_record){ .type = type, .service = s });
}

static void view(struct rig *r, uint16_t host, uint64_t members, uint16_t quorate, uint64_t number)
{
	add(r, (struct history_record){ .type = HISTORY_VIEW,
					.host = host,
					.service = quorate,
					.old = number,
					.value = members });
}

static void begin(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	history_init(&r->h, &conf);
	for (uint16_t h = 1; h <= 4; h++)
		add(r, (struct history_record){ .type = HISTORY_BOOT, .host = h });
	for (uint16_t h = 1; h <= 4; h++)
		view(r, h, 0xf, 1, 0);
	for (uint32_t i = 0; i < 4; i++)
		word(r, region_node_offset(i), region_word(i ? 2 : 1, 0));
	loaded(r, HISTORY_HIGH, 1);
	r->t += 2000;
}

static void take_both(struct rig *r, uint16_t by, uint64_t seq)
{
	lock(r, by, 1, seq);
	lock(r, by, 2, seq);
}

/* All of a move of node 1 to service 1 by host 2, but the node's CAS. */
static void prepare(struct rig *r)
{
	begin(r);
	take_both(r, 2, 1);
	reads(r, 2, false);
	announce(r, 2, 3, 1);
	announce(r, 2, 4, 2);
}

static void expect(const struct rig *r, enum history_violation v)
{
	if (r->h.violation != v)
		history_dump(stderr, &r->h);
	assert_string_equal(history_name(r->h.violation), history_name(v));
}

/* --- histories as rows -------------------------------------------------------------- */

/*
 * A step is a word and its numbers (decimal, 0x.., or VIEW:COUNT of a seq):
 *
 *	prepare				all but the CAS of a move of node 1 to service 1 by 2
 *	lock HOST SERVICE SEQ		unlock HOST SERVICE
 *	both HOST SEQ			the locks of services 1 and 2
 *	meet HOST SERVICE		reads the lock's word
 *	count HOST			reads all nodes; "deaf HOST": and no result arrives
 *	tell HOST HOST SERVICE		announces a move to the other host
 *	move HOST NODE SERVICE
 *	cas HOST SERVICE SEQ SERVICE SEQ	of node 1's word, from and to
 *	node NODE SERVICE SEQ		the word as its host begins it
 *	free SERVICE SEQ		the lock's word as its home begins it
 *	held HOST			the locks' words, at a home of their own, are HOST's
 *	boot HOST BOOT			crash HOST
 *	may HOST BOOL			may it act under the lock of service 1?
 *	view HOST MEMBERS QUORATE NUMBER
 *	high SERVICE, low SERVICE	its load rises, falls
 *	wait NS				nobody acts
 *	minimum SERVICE NODES		nodes N: of host 1
 *	faults				the run has some
 */
static void do_step(struct rig *r, const char *step)
{
	uint64_t n[5] = { 0 };
	char verb[16];
	int at = 0, used;

	assert_int_equal(sscanf(step, " %15[a-z]%n", verb, &at), 1);
	for (int i = 0; i < 5 && sscanf(step + at, "%li%n", (long *)&n[i], &used) == 1; i++) {
		at += used;
		if (step[at] == ':') {
			n[i] = n[i] << 32 | strtoull(step + at + 1, NULL, 10);
			at += 1 + (int)strspn(step + at + 1, "0123456789");
		}
	}

	uint16_t host = (uint16_t)n[0];
	struct history_record rec = { .host = host, .service = 1, .boot = (uint32_t)n[1] };
#define IS(word) (!strcmp(verb, word))
	if (IS("prepare"))
		prepare(r);
	else if (IS("lock"))
		lock(r, host, (uint32_t)n[1], n[2]);
	else if (IS("unlock"))
		unlock(r, host, (uint32_t)n[1]);
	else if (IS("both"))
		take_both(r, host, n[1]);
	else if (IS("meet"))
		meet(r, host, (uint32_t)n[1]);
	else if (IS("count") || IS("deaf"))
		reads(r, host, IS("deaf"));
	else if (IS("tell"))
		announce(r, host, (uint16_t)n[1], (uint32_t)n[2]);
	else if (IS("move"))
		move(r, host, (uint32_t)n[1], (uint16_t)n[2]);
	else if (IS("cas"))
		cas(r, host, region_node_offset(1), region_word((uint16_t)n[1], n[2]),
		    region_word((uint16_t)n[3], n[4]));
	else if (IS("node"))
		word(r, region_node_offset((uint32_t)n[0]), region_word((uint16_t)n[1], n[2]));
	else if (IS("free"))
		word(r, region_lock_offset((uint32_t)n[0]), region_word(0, n[1]));
	else if (IS("held"))
		r->h.lock[1][1].value = r->h.lock[1][2].value = region_word(host, 1);
	else if (IS("view"))
		view(r, host, n[1], (uint16_t)n[2], n[3]);
	else if (IS("high") || IS("low"))
		loaded(r, IS("high") ? HISTORY_HIGH : HISTORY_LOW, host);
	else if (IS("wait"))
		r->t += (int64_t)n[0];
	else if (IS("minimum"))
		r->h.conf.minimum[n[0]] = (uint32_t)n[1];
	else if (IS("nodes"))
		r->h.conf.nodes[1] = (uint32_t)n[0];
	else if (IS("faults"))
		r->h.conf.faultless = false;
	else if (IS("boot") || IS("crash") || IS("may")) {
		rec.type = IS("boot") ? HISTORY_BOOT : IS("crash") ? HISTORY_CRASH : HISTORY_MAY;
		rec.value = IS("may") ? n[1] : 0;
		rec.boot = IS("boot") ? rec.boot : 0;
		rec.service = IS("may");
		add(r, rec);
	} else
		fail_msg("no such step: %s", step);
#undef IS
}

static const struct {
	const char *name, *steps;
	enum history_violation verdict;
} rows[] = {
	{ "lock: taken with an old seq", "lock 2 1 5, unlock 2 1, lock 3 1 5", HISTORY_FENCE },
	{ "node: a word that it had before",
	  "prepare, cas 2 2 0 2 1, boot 1 1, node 1 2 0, cas 2 2 0 2 1", HISTORY_FENCE },
	{ "node: of no service", "prepare, move 2 1 3", HISTORY_SERVICE },
	{ "node: changed by nobody", "prepare, cas 2 2 7 1 8", HISTORY_SERVICE },
	{ "move: without the donor's lock", "lock 2 1 1, count 2, move 2 1 1", HISTORY_UNLOCKED },
	{ "move: after its own release", "prepare, unlock 2 1, move 2 1 1", HISTORY_UNLOCKED },
	{ "move: after a newer holder decided",
	  "prepare, wait 1000, both 3 2, count 3, tell 3 2 1, move 2 1 1", HISTORY_OVERLAP },
	{ "move: of an old holder before the newer decides",
	  "prepare, wait 1000, both 3 2, move 2 1 1", HISTORY_FINE },
	{ "move: on a count that changed before the decision",
	  "prepare, wait 1000, both 3 2, count 3, move 2 1 1, faults, tell 3 2 1, tell 3 4 2,"
	  "minimum 2 2, move 3 2 1",
	  HISTORY_MINIMUM },
	{ "move: the same, and a node that was never counted makes up the minimum",
	  "prepare, wait 1000, both 3 2, count 3, move 2 1 1, faults, tell 3 2 1, tell 3 4 2,"
	  "nodes 5, node 4 2 0, minimum 2 2, move 3 2 1",
	  HISTORY_STALE },
	{ "move: counted before the locks", "count 2, both 2 1, tell 2 3 1, tell 2 4 2, move 2 1 1",
	  HISTORY_STALE },
	{ "move: on a count whose results did not arrive",
	  "both 2 1, deaf 2, tell 2 3 1, tell 2 4 2, move 2 1 1", HISTORY_STALE },
	{ "move: of the last node", "prepare, high 2, wait 2000, move 2 0 2", HISTORY_MINIMUM },
	{ "move: of the last but one, all counted, after the nodes' host began anew",
	  "prepare, minimum 2 2, boot 1 1, node 0 1 0x10000, node 1 2 0x10000, node 2 2 0x10000,"
	  "node 3 1 0x10000, held 2, move 2 1 1",
	  HISTORY_FINE },
	{ "move: not announced to a balancer", "both 2 1, count 2, tell 2 3 1, move 2 1 1",
	  HISTORY_UNANNOUNCED },
	{ "move: not announced to a balancer that was removed",
	  "view 2 0x7 1, both 2 1, count 2, tell 2 3 1, move 2 1 1", HISTORY_FINE },
	{ "move: the second for one load", "prepare, move 2 1 1, move 2 2 1", HISTORY_TWICE },
	{ "move: for a short load", "prepare, low 1, high 1, move 2 1 1", HISTORY_BURST },
	{ "move: after a decision that saw no node at all",
	  "prepare, wait 1000, both 3 2, tell 3 2 1, move 2 1 1", HISTORY_FINE },
	{ "move: after a decision whose reads did not arrive",
	  "prepare, wait 1000, both 3 2, deaf 3, tell 3 2 1, move 2 1 1", HISTORY_FINE },
	{ "leases: two at once", "may 2 1, may 3 1", HISTORY_LEASE },
	{ "leases: one after the other", "may 2 1, may 2 0, may 3 1, may 3 0, may 2 1, may 2 0",
	  HISTORY_FINE },
	{ "lock: of a newer view than its taker knows",
	  "view 2 0xf 1 6, view 3 0xf 1 5, lock 2 1 6:1, unlock 2 1, lock 3 1 6:2",
	  HISTORY_BEHIND },
	{ "lock: of a view that its taker knows, or of the home's ninth start",
	  "view 2 0xf 1 6, view 3 0xf 1 5, view 3 0xf 1 6, free 1 9:0, lock 2 1 6:1, unlock 2 1,"
	  "lock 3 1 6:2",
	  HISTORY_FINE },
	{ "lock: broken early", "lock 2 1 1, wait 400, lock 3 1 2", HISTORY_THEFT },
	{ "lock: of another host, released", "lock 2 1 1, unlock 3 1", HISTORY_THEFT },
	{ "lock: taken while a higher is held", "lock 2 2 1, lock 2 1 1", HISTORY_ORDER },
	{ "lock: taken without quorum", "view 2 0x2 0, lock 2 1 1", HISTORY_MINORITY },
	{ "holder: dead for long", "lock 2 1 1, crash 2, meet 3 1, wait 3000, lock 3 1 2",
	  HISTORY_DELAY },
	{ "holder: dead, and two wait one after the other",
	  "lock 2 1 1, crash 2, meet 3 1, wait 3000, meet 4 1, wait 1500, lock 4 1 2",
	  HISTORY_DELAY },
};

TEST(each_row__has_its_verdict)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *step = rows[i].steps;
		struct rig r;

		for (begin(&r); step; step = strchr(step, ','))
			do_step(&r, step += *step == ',');
		if (r.h.violation != rows[i].verdict)
			print_error("%s: %s\n", rows[i].name, rows[i].steps);
		expect(&r, rows[i].verdict);
	}
}

TEST(right_move__nothing_found)
{
	struct rig r;

	prepare(&r);
	move(&r, 2, 1, 1);
	unlock(&r, 2, 2);
	unlock(&r, 2, 1);
	expect(&r, HISTORY_FINE);
	assert_int_equal(r.h.moves, 1);
	assert_int_equal(history_count(&r.h, 1), 2);
}

TEST(holder__dead_for_as_long_as_allowed__fine)
{
	struct rig r;

	begin(&r);
	lock(&r, 2, 1, 1);
	add(&r, (struct history_record){ .type = HISTORY_CRASH, .host = 2 });
	r.t += 3000;
	meet(&r, 3, 1);
	r.t += 1500;
	lock(&r, 3, 1, 2);
	expect(&r, HISTORY_FINE);
	assert_in_range(r.h.service[1].delay, 1500, 2000);
}

TEST(hash__any_field_changed__differs)
{
	struct rig a, b;

	prepare(&a);
	prepare(&b);
	assert_true(a.h.hash == b.h.hash);
	move(&a, 2, 1, 1);
	move(&b, 2, 2, 1);
	assert_true(a.h.hash != b.h.hash);
}
