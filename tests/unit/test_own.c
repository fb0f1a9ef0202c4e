// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * own: whose is the cap in force? Over reboots, restored images, migrations, kills of resexd,
 * boots of the host and damaged files. Figures are percents; all domains are one guest,
 * unless a UUID is given.
 */
#include "src/guests/journal.h"
#include "tests/unit/guests_rig.h"
#include "tests/unit/steps.h"

/* --- the decision ------------------------------------------------------------------- */

static const struct judged {
	const char *name;
	bool entry, same;
	struct written_last last;
	uint32_t own, written; /* one percent that resexd set; 0: none */
	uint32_t percent, flags;
	enum own_verdict is;
} judged[] = {
	{ "no entry: the cap in force is its own", .percent = 30, .is = OWN_PRESENT },
	{ "it has not run: not known", .percent = 30, .flags = HV_DOM_UNRUN, .is = OWN_UNKNOWN },
	{ "it has not run and has an entry: not known", true, false, .own = 80, .written = 30,
	  .percent = 30, .flags = HV_DOM_UNRUN | HV_DOM_PAUSED, .is = OWN_UNKNOWN },
	{ "same domain, its own", true, true, .own = 80, .percent = 80, .is = OWN_IN_FORCE },
	{ "same domain, not known what was set: ours", true, true, .own = 80, .percent = 30,
	  .is = OWN_OURS },
	{ "same domain, what was set last: ours",
	  true,
	  true,
	  { true, true, 50, 30 },
	  80,
	  30,
	  30,
	  .is = OWN_OURS },
	{ "same domain, what was set before that: ours",
	  true,
	  true,
	  { true, true, 30, 20 },
	  80,
	  20,
	  30,
	  .is = OWN_OURS },
	{ "same domain, another: the operator's",
	  true,
	  true,
	  { true, true, 50, 20 },
	  80,
	  30,
	  30,
	  .is = OWN_OPERATOR },
	{ "same domain, none was set: the operator's",
	  true,
	  true,
	  { true, false, 0, 0 },
	  80,
	  0,
	  0,
	  .is = OWN_OPERATOR },
	{ "successor, its own", true, false, .own = 80, .written = 30, .percent = 80,
	  .is = OWN_IN_FORCE },
	{ "successor, a cap that was set: ours", true, false, .own = 80, .written = 30,
	  .percent = 30, .is = OWN_OURS },
	{ "successor, a cap that was never set: the operator's", true, false, .own = 80,
	  .written = 30, .percent = 31, .is = OWN_OPERATOR },
	{ "successor, a cap above what bits there are, set: ours", true, false, .own = 80,
	  .written = 60000, .percent = 60000, .is = OWN_OURS },
};

static void judge_row(void **state)
{
	const struct judged *j = *state;
	struct saved_cap c = { .params.cap = cap_from_percent(j->own), .last = j->last };
	const uint32_t b = written_bit(j->written);

	if (j->written)
		c.written.bit[b / 64] |= 1ull << (b % 64);
	assert_int_equal(own_judge(j->entry ? &c : NULL, j->same, j->percent, j->flags), j->is);
}
TEST_ROWS(judged, judge_row)

TEST(remedy__of_a_disk_that_takes_nothing__is_one_that_helps)
{
	assert_string_equal(restore_remedy(-ENOSPC), "free some space");
	assert_string_equal(restore_remedy(-EROFS), "remount it writable");
	assert_null(strstr(restore_remedy(-ENOTDIR), "space"));
}

/* --- lives ---------------------------------------------------------------------------- */

/*
 *	create ID CAP [UUID], unrun ID, run ID, shutdown ID (its slot becomes free), destroy ID
 *	ours ID PERCENT: the actor sets it; xl ID PERCENT; weight ID N
 *	stop; kill, start (both, with the same or another boot B: boot B)
 *	cut FILE BYTES; remove FILE; replace FILE (by rubbish)
 *	block FILE (nothing can be written there), free FILE
 *	observe; pass DAYS; settle
 *
 *	percent ID P, own ID P, kept ID P (on disk), own-weight ID W, cappable ID, uncappable ID
 *	alone ID: its own cap is to be set; logged TEXT, not-logged TEXT, events KIND N, gone N
 *	there FILE, not-there FILE, recover ERRNO
 */
static const struct row {
	const char *name, *steps;
} rows[] = {
	{ "reboot while capped: its own comes back",
	  "create 4 80, settle, ours 4 45, destroy 4, settle, create 5 45, settle -> percent 5 80,"
	  "own 5 80, cappable 5, events own-cap 1, events operator-cap 0" },
	{ "reboot with another cap: the operator changed its configuration",
	  "create 4 80, settle, ours 4 45, destroy 4, settle, create 5 50, settle -> percent 5 50,"
	  "own 5 50, events own-cap 0, events operator-cap 1" },
	{ "the cap was set some time ago, as an image has it: its own comes back",
	  "create 4 80, settle, ours 4 45, ours 4 44, ours 4 20, destroy 4, settle, pass 20,"
	  "create 9 45, settle -> percent 9 80" },
	{ "a second life inherits what was set in the first",
	  "create 4 80, settle, ours 4 45, destroy 4, settle, create 5 45, settle, destroy 5,"
	  "settle, create 6 45, settle -> percent 6 80" },
	{ "after 30 days nothing is known",
	  "create 4 80, settle, ours 4 45, destroy 4, settle -> gone 1; pass 31, create 9 45,"
	  "settle -> own 9 45, gone 0" },
	{ "no cap was set: nothing is kept",
	  "create 4 80, settle, destroy 4, settle -> gone 0, not-there caps.json" },
	{ "another guest with the same cap is not its successor",
	  "create 4 80, settle, ours 4 45, destroy 4, settle, create 5 45 8, settle -> own 5 45" },
	{ "two guests without UUID are not each other's",
	  "create 4 80 0, settle, ours 4 45, destroy 4, settle, create 5 45 0, settle -> own 5 "
	  "45" },
	{ "local migration: the successor comes beside it",
	  "create 4 80, settle, ours 4 45, create 5 45, unrun 5, settle -> uncappable 5; run 5,"
	  "settle -> percent 5 80, own 5 80, own 4 80; destroy 4, settle -> own 5 80, gone 1" },
	{ "killed, rebooted meanwhile: its own comes back at the start",
	  "create 4 80, settle, ours 4 45, kill, destroy 4, create 5 45, start -> percent 5 80;"
	  "settle -> own 5 80" },
	{ "killed when it had just shut down to reboot: its own comes back at the start",
	  "create 4 80, settle, ours 4 45, shutdown 4, kill, destroy 4, create 5 45, start ->"
	  "percent 5 80" },
	{ "killed in the middle of a save: the set is still known",
	  "create 4 80, settle, ours 4 45, kill, start, settle -> percent 4 80; destroy 4, settle,"
	  "create 5 45, settle -> percent 5 80" },
	{ "killed twice in the middle of a save", "create 4 80, settle, ours 4 45, kill, start, "
						  "kill, start, settle, kill, destroy 4, start,"
						  "settle, create 5 45, settle -> percent 5 80" },
	{ "stopped in the middle of a save: the set is known for an hour",
	  "create 4 80, settle, ours 4 45, stop, start, settle, destroy 4, settle, create 5 45,"
	  "settle -> percent 5 80" },
	{ "stopped, and the operator's cap is one of ours: it is the operator's",
	  "create 4 80, settle, ours 4 45, stop -> percent 4 80; xl 4 45, start, settle -> own 4 "
	  "45,"
	  "percent 4 45" },
	{ "killed, ours in force: its own comes back",
	  "create 4 80, settle, ours 4 45, ours 4 44, kill, start -> percent 4 80" },
	{ "killed, the operator set a cap: it is kept",
	  "create 4 80, settle, ours 4 45, ours 4 44, kill, xl 4 60, start -> percent 4 60,"
	  "events operator-cap 1; settle -> own 4 60, percent 4 60" },
	{ "killed, the operator set a cap that was ours long ago: it is kept",
	  "create 4 80, settle, ours 4 60, ours 4 45, ours 4 44, kill, xl 4 60, start -> percent 4 "
	  "60" },
	{ "killed, never capped, the operator set a cap: it is kept",
	  "create 4 80, settle, kill, xl 4 60, start, settle -> own 4 60" },
	{ "killed, without notes: as if all were ours",
	  "create 4 80, settle, ours 4 45, kill, xl 4 60, remove caps.written, start -> percent 4 "
	  "80" },
	{ "killed, notes damaged: as if all were ours",
	  "create 4 80, settle, ours 4 45, kill, xl 4 60, cut caps.written 100, start -> percent 4 "
	  "80" },
	{ "the operator's former cap is not one of ours",
	  "create 4 0, settle, ours 4 45, ours 4 0, xl 4 80, settle -> own 4 80; destroy 4, settle,"
	  "create 5 0, settle -> own 5 0" },
	{ "a weight is the operator's",
	  "create 4 80, settle, weight 4 512, settle -> own-weight 4 512, events operator-weight 1;"
	  "ours 4 45, destroy 4, settle, create 5 45, weight 5 77, settle -> own-weight 5 77, own "
	  "5 80,"
	  "events operator-weight 2" },
	{ "weight and cap at once: both are the operator's",
	  "create 4 80, settle, ours 4 45, xl 4 60, weight 4 512, settle -> own 4 60,"
	  "own-weight 4 512, events operator-weight 1" },
	{ "a weight, with the cap that we set: the weight is the operator's",
	  "create 4 80, settle, ours 4 45, xl 4 45, weight 4 512, settle -> own 4 80, percent 4 "
	  "45,"
	  "own-weight 4 512, events operator-cap 0, events operator-weight 1" },
	{ "killed, then a weight with the cap that we set: the weight is the operator's",
	  "create 4 80, settle, ours 4 45, kill, xl 4 45, weight 4 512, start, settle -> percent 4 "
	  "80,"
	  "own 4 80, own-weight 4 512, events operator-cap 0, events operator-weight 1" },
	{ "killed, then weight and cap: both are the operator's",
	  "create 4 80, settle, ours 4 45, kill, xl 4 60, weight 4 512, start, settle -> percent 4 "
	  "60,"
	  "own 4 60, own-weight 4 512" },
	{ "another boot: an id means nothing",
	  "create 4 80, settle, ours 4 45, kill, xl 4 60, boot b, start -> percent 4 60; settle ->"
	  "own 4 60, percent 4 60" },
	{ "another boot, with a cap that was never ours: its configuration changed",
	  "create 4 80, settle, kill, xl 4 60, remove caps.written, boot b, start, settle ->"
	  "own 4 60, percent 4 60" },
	{ "another boot, from an image with a cap of long ago: its own comes back",
	  "create 4 80, settle, ours 4 45, ours 4 44, ours 4 20, kill, xl 4 45, boot b, start ->"
	  "percent 4 80; settle -> own 4 80" },
	{ "another boot, restored from an image: its own comes back",
	  "create 4 80, settle, ours 4 45, kill, boot b, start -> percent 4 80; settle -> own 4 "
	  "80" },
	{ "the file is cut: its former copy is used",
	  "create 4 80, settle, create 5 70 8, settle, ours 4 45, kill, cut caps.json 30, start -> "
	  "percent 4 80, there caps.json.bad; settle -> own 4 80" },
	{ "file and copy are cut: starts, and takes what is in force",
	  "create 4 80, settle, create 5 70 8, settle, ours 4 45, kill, cut caps.json 30,"
	  "cut caps.json.bak 0, start -> percent 4 45, there caps.json.bad,"
	  "logged guest guest-4: cap 45 is in force, logged xl sched-credit2 -d NAME -c N;"
	  "settle -> own 4 45, cappable 4; xl 4 80, settle -> own 4 80" },
	{ "the file was removed: its former copy does not count",
	  "create 4 80, settle, create 5 70 8, settle, ours 4 45, kill, remove caps.json, start,"
	  "settle -> own 4 45, logged caps.json was removed,"
	  "logged though an earlier run has set caps,"
	  "logged guest guest-4: cap 45 is in force" },
	{ "the file was removed, and no cap was set: nothing is said",
	  "create 4 80, settle, kill, remove caps.json, start, settle -> own 4 80,"
	  "not-logged was removed" },
	{ "the file was removed, and the host booted since: nothing is said",
	  "create 4 80, settle, ours 4 45, kill, remove caps.json, destroy 4, boot, start, settle "
	  "-> not-logged was removed" },
	{ "the file is removed under resexd: it is written again",
	  "create 4 80, settle, ours 4 45, remove caps.json, settle -> kept 4 80, cappable 4,"
	  "logged caps.json was removed or replaced: it is written again; kill, start ->"
	  "percent 4 80; settle -> own 4 80" },
	{ "it is replaced under resexd: it is written again",
	  "create 4 80, settle, ours 4 45, replace caps.json, settle -> kept 4 80,"
	  "logged caps.json was removed or replaced: it is written again" },
	{ "nothing was removed: nothing is said",
	  "create 4 80, settle, ours 4 45, kill, start, settle -> not-logged was removed" },
	{ "it is removed and cannot be written: own caps until it can",
	  "create 4 80, settle, ours 4 45, remove caps.json, block caps.json.new, settle ->"
	  "alone 4, logged so guests have their own caps until it can be;"
	  "free caps.json.new, settle -> cappable 4, kept 4 80" },
	{ "it cannot be written, and is there: caps stay",
	  "create 4 80, settle, ours 4 45, block caps.json.new, xl 4 60, settle -> cappable 4,"
	  "logged caps.json cannot be written, not-logged it was removed" },
	{ "it cannot be written, and is then removed: own caps, and that is said",
	  "create 4 80, settle, ours 4 45, block caps.json.new, xl 4 60, settle, remove caps.json,"
	  "settle -> alone 4, logged so guests have their own caps until it can be" },
	{ "the journal is removed under resexd: what it had is saved",
	  "create 4 80, settle, remove caps.written, settle, ours 4 45, settle, kill, destroy 4,"
	  "create 5 45, start, settle -> percent 5 80, logged caps.written in" },
	{ "the journal cannot be made: not cappable until it can",
	  "block caps.written.new, create 4 80, settle -> uncappable 4; settle, free "
	  "caps.written.new,"
	  "settle -> cappable 4" },
	{ "observing after a kill: shows what is in force, blames nobody",
	  "create 4 80, settle, ours 4 45, kill, observe, start, settle, settle -> percent 4 45,"
	  "own 4 80, shown 4 45, events operator-cap 0, logged guest guest-4: cap 45 of an earlier "
	  "run"
	  " is in force, logged run resexd --restore-caps; xl 4 60, settle, settle -> own 4 60, "
	  "kept "
	  "4 80, events "
	  "operator-cap 1" },
};

static const char *boot_now = "a";

static void boot(char *id, size_t size)
{
	snprintf(id, size, "%s", boot_now);
}

static void our_cap(struct guests_rig *g, uint32_t domid, uint16_t percent)
{
	uint32_t slot = rig_in_set(g, domid)->slot;
	struct mailbox *mb = &g->ho.mail[slot];
	uint32_t serial = mail_serial(atomic_load(&mb->want)) + 1;
	struct fake_dom *d = fake_dom(&g->host, domid);

	written_note(&g->ho.written[slot], domid, cap_to_percent(d->params.cap), percent);
	atomic_store(&mb->want, mail_pack(serial, (uint16_t)domid, percent));
	d->params.cap = cap_from_percent(percent);
	atomic_store(&mb->answer, mail_pack(serial, 0, percent));
}

static void end(struct guests_rig *g)
{
	rig_end(g);
	for (uint32_t i = 0; i < g->host.doms; i++)
		g->host.dom[i].watched = false;
}

struct own_rig {
	struct guests_rig *g;
	int64_t days;
};

static void settle(struct own_rig *r)
{
	int64_t wall = WALL + r->days * 24 * 3600 * NS_PER_S;

	for (int i = 0; i < 3; i++) {
		r->g->now.ns += NS_PER_S;
		guests_second(r->g->gs, r->g->now, wall);
		for (int k = 0; k < 20; k++) {
			r->g->now.ns += MS;
			guests_work(r->g->gs, r->g->now, wall);
			rig_ack(r->g);
		}
	}
}

static void shut_down(struct guests_rig *g, struct fake_dom *d)
{
	d->dom.flags |= HV_DOM_SHUTDOWN;
	g->gs->rescan_due = true;
	for (int i = 0; i < 3; i++) {
		g->now.ns += MS;
		guests_work(g->gs, g->now, WALL);
		rig_ack(g);
	}
	assert_int_equal(rig_in_set(g, d->dom.domid) == NULL, true);
}

static bool domain_step(struct guests_rig *g, const struct step *s, uint32_t id)
{
	struct fake_dom *d = fake_dom(&g->host, id);

	if (step_is(s, "create"))
		rig_create(g, id, (uint8_t)step_number(s, 2, 9))->params.cap =
			cap_from_percent((uint32_t)s->n[1]);
	else if (step_is(s, "unrun"))
		d->dom.flags |= HV_DOM_UNRUN;
	else if (step_is(s, "run"))
		d->dom.flags = 0;
	else if (step_is(s, "destroy"))
		rig_destroy(g, id);
	else if (step_is(s, "shutdown"))
		shut_down(g, d);
	else if (step_is(s, "ours"))
		our_cap(g, id, (uint16_t)s->n[1]);
	else if (step_is(s, "xl"))
		d->params.cap = cap_from_percent((uint32_t)s->n[1]);
	else if (step_is(s, "weight"))
		d->params.weight = (uint32_t)s->n[1];
	else
		return false;
	return true;
}

/* Another file of that name, while the former one is still there: it has another inode. */
static void replace_file(struct tmpdir *dir, const char *name)
{
	char other[sizeof(dir->at)];

	tmp_write(dir, "other", "{");
	strcpy(other, tmp_at(dir, "other"));
	assert_int_equal(rename(other, tmp_at(dir, name)), 0);
}

static bool file_step(struct guests_rig *g, const struct step *s)
{
	if (step_is(s, "cut"))
		assert_int_equal(truncate(tmp_at(&g->dir, s->word), (off_t)s->n[0]), 0);
	else if (step_is(s, "remove"))
		assert_int_equal(unlink(tmp_at(&g->dir, s->word)), 0);
	else if (step_is(s, "replace"))
		replace_file(&g->dir, s->word);
	else if (step_is(s, "block"))
		assert_int_equal(mkdir(tmp_at(&g->dir, s->word), 0700), 0);
	else if (step_is(s, "free"))
		assert_int_equal(rmdir(tmp_at(&g->dir, s->word)), 0);
	else
		return false;
	return true;
}

static void act(void *rig, const struct step *s)
{
	struct own_rig *r = rig;
	struct guests_rig *g = r->g;

	if (domain_step(g, s, (uint32_t)s->n[0]) || file_step(g, s))
		return;
	if (step_is(s, "settle")) {
		settle(r);
	} else if (step_is(s, "kill")) {
		end(g);
	} else if (step_is(s, "start")) {
		rig_begin(g);
	} else if (step_is(s, "stop")) {
		assert_int_equal(guests_restore(g->gs), 0);
		end(g);
	} else if (step_is(s, "boot")) {
		boot_now = "b";
	} else if (step_is(s, "observe")) {
		g->observe = true;
	} else if (step_is(s, "pass")) {
		r->days += (int64_t)s->n[0];
	} else {
		step_unknown(s);
	}
}

static void expect(const struct step *s, uint64_t is, uint64_t wanted)
{
	if (is != wanted)
		print_error("expected \"%s\", but it is %ju\n", s->text, (uintmax_t)is);
	assert_int_equal(is, wanted);
}

static uint32_t own_on_disk(struct guests_rig *g, uint32_t domid)
{
	static struct restore r;
	struct conf_error e;
	uint8_t uuid[16];

	memset(uuid, 9, sizeof(uuid));
	assert_int_equal(restore_load(&r, g->dir.path, "fake", &e), 0);
	assert_non_null(restore_find(&r, domid, uuid));
	return cap_to_percent(restore_find(&r, domid, uuid)->params.cap);
}

static void check(void *rig, const struct step *s)
{
	struct guests_rig *g = ((struct own_rig *)rig)->g;
	uint32_t id = (uint32_t)s->n[0], n = (uint32_t)s->n[1];
	char who[12], text[16384];

	snprintf(who, sizeof(who), "%u", id);
	if (step_is(s, "percent"))
		expect(s, cap_to_percent(fake_dom(&g->host, id)->params.cap), n);
	else if (step_is(s, "own"))
		expect(s, cap_to_percent(rig_guest(g, who)->own.cap), n);
	else if (step_is(s, "logged"))
		step_holds(s, strstr(tmp_read(&g->dir, "log", text, sizeof(text)), s->rest));
	else if (step_is(s, "not-logged"))
		step_holds(s, !strstr(tmp_read(&g->dir, "log", text, sizeof(text)), s->rest));
	else if (step_is(s, "kept"))
		expect(s, own_on_disk(g, id), n);
	else if (step_is(s, "own-weight"))
		expect(s, rig_guest(g, who)->own.weight, n);
	else if (step_is(s, "shown"))
		expect(s, cap_to_percent(rig_in_set(g, id)->own), n);
	else if (step_is(s, "cappable"))
		step_holds(s, rig_in_set(g, id)->flags & POLICY_CAPPABLE);
	else if (step_is(s, "alone"))
		step_holds(s, rig_in_set(g, id)->flags == (POLICY_CAPPABLE | POLICY_EXEMPT) &&
				      !guest_view(g->gs, rig_guest(g, who)).cappable);
	else if (step_is(s, "uncappable"))
		step_holds(s, !rig_in_set(g, id)->flags && rig_guest(g, who)->cap_note[0]);
	else if (step_is(s, "events"))
		expect(s, rig_events(g, s->word), id);
	else if (step_is(s, "gone"))
		expect(s, g->gs->restore.gones, id);
	else if (step_is(s, "there"))
		step_holds(s, tmp_exists(&g->dir, s->word));
	else if (step_is(s, "not-there"))
		step_holds(s, !tmp_exists(&g->dir, s->word));
	else
		step_unknown(s);
}

static void run_row(void **state)
{
	static const struct steps_ops ops = { .act = act, .check = check };
	const struct row *row = *state;
	struct own_rig r = { 0 };

	boot_now = "a";
	assert_int_equal(rig_setup(state), 0);
	r.g = *state;
	r.g->hv.boot = boot;
	r.g->recover = true;
	close(r.g->log.fd);
	r.g->log.fd = open(tmp_at(&r.g->dir, "log"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(r.g->log.fd >= 0);
	rig_end(r.g);
	rig_begin(r.g);
	steps_run(row->steps, &ops, &r);
	rig_teardown(state);
}
TEST_ROWS(rows, run_row)
