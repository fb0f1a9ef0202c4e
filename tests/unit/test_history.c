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
#include "tests/unit/steps.h"
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
	.services = 3,
	.nodes = { 0, 4 },
	.minimum = { 0, 1, 1 },
	.balancers = { 0, 1u << 1 | 1u << 2, 1u << 3 },
	.faultless = true,
	.high_ns = 1000,
	.flight_ns = 5,
	.break_ns = 500,
	.delay_ns = 2000,
	.any_delay_ns = 4000,
	.retry_ns = 300,
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

/* The result of the last effect comes back. */
static void sees(struct rig *r, uint16_t by, uint32_t offset, uint64_t is)
{
	struct history_record rec = { .t = r->t,
				      .type = HISTORY_SEEN,
				      .host = by,
				      .boot = r->h.boot[by],
				      .target = 1,
				      .offset = offset,
				      .now = is,
				      .value = (uint64_t)r->t };

	if (offset >= REGION_NODE_WORDS)
		history_add(&r->h, &rec);
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
	sees(r, by, offset, to);
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

/* deaf: no result comes back. */
static void reads(struct rig *r, uint16_t by, bool deaf)
{
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t is = r->h.node[1][i].value;

		add(r, (struct history_record){ .type = HISTORY_EFFECT,
						.op = STEP_READ,
						.host = by,
						.target = 1,
						.offset = region_node_offset(i),
						.old = is,
						.now = is });
		if (!deaf) {
			sees(r, by, region_node_offset(i), is);
			sees(r, by, region_kept_offset(i), is);
		}
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

static void lose(struct rig *r, uint32_t node)
{
	add(r, (struct history_record){ .type = HISTORY_WORD,
					.host = 1,
					.offset = region_node_offset(node),
					.now = region_word(0, 1),
					.value = 1 });
	add(r, (struct history_record){ .type = HISTORY_BEGUN, .host = 1 });
}

/* --- histories as rows -------------------------------------------------------------- */

/*
 * Steps; behind the seq of lock and free may be the view that it is of ("view 6"):
 *
 *	prepare				all but the CAS of a move of node 1 to service 1 by 2
 *	lock HOST SERVICE SEQ		unlock HOST SERVICE
 *	both HOST SEQ			the locks of services 1 and 2
 *	meet HOST SERVICE		reads the lock's word
 *	count HOST			reads all nodes; "deaf HOST": and no result arrives
 *	announce HOST HOST SERVICE	announces a move to the other host
 *	move HOST NODE SERVICE
 *	cas HOST SERVICE SEQ SERVICE SEQ	of node 1's word, from and to
 *	node NODE SERVICE SEQ		the word as its host begins it
 *	lost NODE			its host has lost its file
 *	free SERVICE SEQ		the lock's word as its home begins it
 *	held HOST			the locks' words, at a home of their own, are HOST's
 *	boot HOST BOOT			crash HOST
 *	begun HOST			all its words have begun
 *	unkept HOST NODE		HOST finds that the node's word is not kept
 *	may HOST BOOL			may it act under the lock of service 1?
 *	view HOST MEMBERS QUORATE NUMBER
 *	high SERVICE, low SERVICE	its load rises, falls
 *	wait NS				nobody acts
 *	minimum SERVICE NODES		nodes N: of host 1
 *	faults				the run has some
 *
 * What is expected is the name of a violation (history_name()), or "fine".
 */
static void act(void *rig, const struct step *s)
{
	struct rig *r = rig;
	const uint64_t *n = s->n;
	uint16_t host = (uint16_t)n[0];
	struct history_record rec = { .host = host, .service = 1, .boot = (uint32_t)n[1] };

	if (step_is(s, "prepare"))
		prepare(r);
	else if (step_is(s, "lock"))
		lock(r, host, (uint32_t)n[1], region_seq((uint32_t)n[3], (uint32_t)n[2]));
	else if (step_is(s, "unlock"))
		unlock(r, host, (uint32_t)n[1]);
	else if (step_is(s, "both"))
		take_both(r, host, n[1]);
	else if (step_is(s, "meet"))
		meet(r, host, (uint32_t)n[1]);
	else if (step_is(s, "count") || step_is(s, "deaf"))
		reads(r, host, step_is(s, "deaf"));
	else if (step_is(s, "announce"))
		announce(r, host, (uint16_t)n[1], (uint32_t)n[2]);
	else if (step_is(s, "move"))
		move(r, host, (uint32_t)n[1], (uint16_t)n[2]);
	else if (step_is(s, "cas"))
		cas(r, host, region_node_offset(1), region_word((uint16_t)n[1], n[2]),
		    region_word((uint16_t)n[3], n[4]));
	else if (step_is(s, "unkept"))
		sees(r, host, region_kept_offset((uint32_t)n[1]), region_word(3, 0));
	else if (step_is(s, "begun"))
		add(r, (struct history_record){ .type = HISTORY_BEGUN, .host = host });
	else if (step_is(s, "node"))
		word(r, region_node_offset((uint32_t)n[0]), region_word((uint16_t)n[1], n[2]));
	else if (step_is(s, "lost"))
		lose(r, (uint32_t)n[0]);
	else if (step_is(s, "free"))
		word(r, region_lock_offset((uint32_t)n[0]),
		     region_word(0, region_seq((uint32_t)n[2], (uint32_t)n[1])));
	else if (step_is(s, "held"))
		r->h.lock[1][1].value = r->h.lock[1][2].value = region_word(host, 1);
	else if (step_is(s, "view"))
		view(r, host, n[1], (uint16_t)n[2], n[3]);
	else if (step_is(s, "high") || step_is(s, "low"))
		loaded(r, step_is(s, "high") ? HISTORY_HIGH : HISTORY_LOW, host);
	else if (step_is(s, "wait"))
		r->t += (int64_t)n[0];
	else if (step_is(s, "minimum"))
		r->h.conf.minimum[n[0]] = (uint32_t)n[1];
	else if (step_is(s, "nodes"))
		r->h.conf.nodes[1] = (uint32_t)n[0];
	else if (step_is(s, "faults"))
		r->h.conf.faultless = false;
	else if (step_is(s, "boot") || step_is(s, "crash") || step_is(s, "may")) {
		rec.type = step_is(s, "boot")	 ? HISTORY_BOOT
			   : step_is(s, "crash") ? HISTORY_CRASH
						 : HISTORY_MAY;
		rec.value = step_is(s, "may") ? n[1] : 0;
		rec.boot = step_is(s, "boot") ? rec.boot : 0;
		rec.service = step_is(s, "may");
		add(r, rec);
	} else
		step_unknown(s);
}

static const struct row {
	const char *name, *steps;
} rows[] = {
	{ "lock: taken with an old seq", "lock 2 1 5, unlock 2 1, lock 3 1 5 -> fence" },
	{ "node: a word that it had before",
	  "prepare, cas 2 2 0 2 1, cas 2 2 1 2 2, cas 2 2 2 2 1 -> fence" },
	{ "node: a word that it had before its host restarted",
	  "prepare, cas 2 2 0 2 1, boot 1 1, node 1 2 0, cas 2 2 0 2 1 -> fine" },
	{ "node: of no service", "prepare, move 2 1 4 -> service" },
	{ "node: changed by nobody", "prepare, cas 2 2 7 1 8 -> service" },
	{ "move: without the donor's lock", "lock 2 1 1, count 2, move 2 1 1 -> unlocked" },
	{ "move: after its own release", "prepare, unlock 2 1, move 2 1 1 -> unlocked" },
	{ "move: after a newer holder decided",
	  "prepare, wait 1000, both 3 2, count 3, announce 3 2 1, move 2 1 1 -> overlap" },
	{ "move: of an old holder before the newer decides",
	  "prepare, wait 1000, both 3 2, move 2 1 1 -> fine" },
	{ "move: on a count that changed before the decision",
	  "prepare, wait 1000, both 3 2, count 3, move 2 1 1, faults, announce 3 2 1,"
	  "announce 3 4 2, minimum 2 2, move 3 2 1 -> minimum" },
	{ "move: the same, and a node that was never counted makes up the minimum",
	  "prepare, wait 1000, both 3 2, count 3, move 2 1 1, faults, announce 3 2 1,"
	  "announce 3 4 2, nodes 5, node 4 2 0, minimum 2 2, move 3 2 1 -> stale" },
	{ "move: counted before the locks",
	  "count 2, both 2 1, announce 2 3 1, announce 2 4 2, move 2 1 1 -> stale" },
	{ "move: on a count whose results did not arrive",
	  "both 2 1, deaf 2, announce 2 3 1, announce 2 4 2, move 2 1 1 -> stale" },
	{ "move: of the last node", "prepare, high 2, wait 2000, move 2 0 2 -> minimum" },
	{ "move: of the last but one, when a node's host has begun it in another service",
	  "prepare, minimum 2 2, boot 1 1, node 0 1 0x10000, node 1 2 0x10000,"
	  "node 2 2 0x10000, node 3 1 0x10000, held 2, move 2 1 1 -> minimum" },
	{ "move: after a decision that did not count its node, which was not kept",
	  "prepare, wait 1000, both 3 2, count 3, unkept 3 1, announce 3 2 1, move 2 1 1 -> fine" },
	{ "adoption: under the lock of the service alone",
	  "lost 1, lock 2 1 1, count 2, announce 2 3 1, move 2 1 1 -> fine" },
	{ "adoption: without the lock", "lost 1, announce 2 3 1, move 2 1 1 -> unlocked" },
	{ "adoption: after a newer holder decided",
	  "prepare, lost 1, wait 1000, both 3 2, count 3, announce 3 2 1, move 2 1 1 -> overlap" },
	{ "adoption: not announced", "lost 1, lock 2 1 1, count 2, move 2 1 1 -> unannounced" },
	{ "adoption: of a node that another service needs",
	  "minimum 2 3, lost 1, lock 2 1 1, count 2, announce 2 3 1, move 2 1 1 -> minimum" },
	{ "adoption: by the service that needs the node",
	  "minimum 2 3, lost 1, lock 4 2 1, count 4, move 4 1 2 -> fine" },
	{ "move: of the last but one, and a lost node may come to its donor",
	  "prepare, minimum 2 2, lost 2, move 2 1 1 -> fine" },
	{ "move: the same, and another service has adopted the lost node",
	  "prepare, minimum 2 2, lost 2, lock 3 3 1, count 3, move 3 2 3, move 2 1 1 -> minimum" },
	{ "restart: an adopted node that is not kept is in no service again",
	  "minimum 2 3, lost 1, lock 4 2 1, count 4, move 4 1 2, boot 1 1, node 1 0 1, begun 1"
	  " -> fine" },
	{ "restart: a node is in no service, and its host has lost no file",
	  "minimum 2 3, boot 1 1, node 1 0 1, begun 1 -> restart" },
	{ "restart: a service is left below its minimum",
	  "prepare, minimum 2 3, boot 1 1, node 1 1 1, begun 1 -> restart" },
	{ "restart: a service is left with its minimum",
	  "prepare, minimum 2 2, boot 1 1, node 1 1 1, begun 1 -> fine" },
	{ "restart: a service has its nodes again at the end",
	  "prepare, minimum 2 3, boot 1 1, node 1 1 1, node 0 2 1, begun 1 -> fine" },
	{ "move: not announced to a balancer",
	  "both 2 1, count 2, announce 2 3 1, move 2 1 1 -> unannounced" },
	{ "move: not announced to a balancer that was removed",
	  "view 2 0x7 1, both 2 1, count 2, announce 2 3 1, move 2 1 1 -> fine" },
	{ "move: the second for one load", "prepare, move 2 1 1, move 2 2 1 -> twice" },
	{ "move: for a short load", "prepare, low 1, high 1, move 2 1 1 -> burst" },
	{ "move: after a decision that saw no node at all",
	  "prepare, wait 1000, both 3 2, announce 3 2 1, move 2 1 1 -> fine" },
	{ "move: after a decision whose reads did not arrive",
	  "prepare, wait 1000, both 3 2, deaf 3, announce 3 2 1, move 2 1 1 -> fine" },
	{ "move: after a decision whose sweep missed its node, though a READ did not",
	  "prepare, wait 1000, both 3 2, move 3 2 2, count 3, announce 3 2 1, move 2 1 1 -> fine" },
	{ "move: after a decision whose sweep reached its node",
	  "prepare, wait 1000, both 3 2, move 3 2 2, move 3 1 2, count 3, announce 3 2 1,"
	  "move 2 1 1 -> overlap" },
	{ "leases: two at once", "may 2 1, may 3 1 -> lease" },
	{ "leases: one after the other",
	  "may 2 1, may 2 0, may 3 1, may 3 0, may 2 1, may 2 0 -> fine" },
	{ "lock: of a newer view than its taker knows",
	  "view 2 0xf 1 6, view 3 0xf 1 5, lock 2 1 1 view 6, unlock 2 1,"
	  "lock 3 1 2 view 6 -> behind" },
	{ "lock: of a view that its taker knows, or of the home's ninth start",
	  "view 2 0xf 1 6, view 3 0xf 1 5, view 3 0xf 1 6, free 1 0 view 9, lock 2 1 1 view 6,"
	  "unlock 2 1, lock 3 1 2 view 6 -> fine" },
	{ "lock: broken early", "lock 2 1 1, wait 400, lock 3 1 2 -> theft" },
	{ "lock: of another host, released", "lock 2 1 1, unlock 3 1 -> theft" },
	{ "lock: taken while a higher is held", "lock 2 2 1, lock 2 1 1 -> order" },
	{ "lock: taken without quorum", "view 2 0x2 0, lock 2 1 1 -> minority" },
	{ "holder: dead for long",
	  "lock 2 1 1, crash 2, meet 3 1, wait 3000, lock 3 1 2 -> delay" },
	{ "holder: dead, and two wait one after the other",
	  "lock 2 1 1, crash 2, meet 3 1, wait 3000, meet 4 1, wait 1500, lock 4 1 2 -> delay" },
	{ "holder: dead for long, while the first lock is used for another pair",
	  "high 2, lock 2 2 1, crash 2, meet 3 2, lock 4 1 1, lock 4 3 1, wait 3000, unlock 4 1,"
	  "lock 3 1 2, lock 3 2 2 -> fine" },
	{ "holder: dead for long, and still after the other pair",
	  "high 2, lock 2 2 1, crash 2, meet 3 2, lock 4 1 1, lock 4 3 1, wait 3000, unlock 4 1, "
	  "wait 400,"
	  "lock 3 1 2, lock 3 2 2 -> delay" },
	{ "holder: dead for long, while another host has the first lock alone",
	  "high 2, lock 2 2 1, crash 2, meet 3 2, lock 4 1 1, wait 3000, unlock 4 1, lock 3 1 2,"
	  "lock 3 2 2 -> delay" },
};

static void check(void *rig, const struct step *s)
{
	const struct rig *r = rig;

	if (strcmp(s->verb, history_name(r->h.violation)))
		history_dump(stderr, &r->h);
	assert_string_equal(s->verb, history_name(r->h.violation));
}

static void run_row(void **state)
{
	static const struct steps_ops ops = { .act = act, .check = check };
	const struct row *row = *state;
	struct rig r;

	begin(&r);
	steps_run(row->steps, &ops, &r);
}
TEST_ROWS(rows, run_row)

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
