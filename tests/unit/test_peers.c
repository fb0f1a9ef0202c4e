// SPDX-License-Identifier: GPL-2.0-or-later
/* peers: one wave a scan; a torn reading is not shown; hostile hosts do no harm. */
#include <errno.h>
#include <string.h>

#include "src/shared/peers.h"
#include "src/shared/record.h"
#include "tests/fakes/fake_transport.h"
#include "tests/unit/prop.h"
#include "tests/unit/steps.h"
#include "tests/unit/unit.h"

enum { TIMEOUT_MS = 50 };

/* The owner's side of one host. */
struct owner {
	struct region r;
	uint32_t guests;
	uint8_t table[REGION_TABLE_BYTES] __attribute__((aligned(64)));
};

struct rig {
	struct transport t;
	struct peers *p;
	struct mono now;
	struct owner *owner[TRANSPORT_HOSTS_MAX + 1];
	struct peer_seen s;
	uint32_t waves, reads; /* of the newest scan, and posted by the newest "begin" */
	struct mono marked;
	struct mono scan; /* the newest was begun, and the owners' beats then */
	uint64_t beat[TRANSPORT_HOSTS_MAX + 1];
};

/* All guests have the number of their heartbeat: a mixture shows. */
static void publish(struct rig *r, uint16_t host, uint32_t guests)
{
	static struct region_guest g[REGION_GUESTS_MAX];
	struct owner *o = r->owner[host];
	struct region_host h = { .members = { host } };

	for (uint32_t i = 0; i < guests; i++) {
		g[i] = (struct region_guest){ .domid = i + 1, .mtus_sent = o->r.beat + 1 };
		snprintf(g[i].name, sizeof(g[i].name), "h%u-g%u", host, i);
	}
	assert_int_equal(region_publish_guests(&o->r, g, guests), 0);
	o->guests = guests;
	snprintf(h.name, sizeof(h.name), "host-%u", host);
	region_beat(&o->r, &h);
}

/* The host (re)starts, and its link comes up. */
static void up(struct rig *r, uint16_t host, uint64_t generation)
{
	struct transport_event ev = { .type = TRANSPORT_UP, .host = host };

	if (!r->owner[host])
		r->owner[host] = aligned_alloc(64, (sizeof(struct owner) + 63) / 64 * 64);
	assert_non_null(r->owner[host]);
	if (r->owner[host]->r.generation != generation || !r->t.table[host]) {
		memset(r->owner[host], 0, sizeof(struct owner));
		region_init(&r->owner[host]->r, r->owner[host]->table, host, generation);
	}
	r->t.table[host] = r->owner[host]->table;
	r->t.bytes[host] = REGION_TABLE_BYTES;
	ev.link = ++r->t.link[host];
	ev.generation = generation;
	peers_event(r->p, &ev, r->now);
}

static void finish(struct rig *r, uint32_t i, enum transport_outcome outcome)
{
	struct transport_event ev;

	fake_transport_end(&r->t, i, outcome, &ev);
	peers_event(r->p, &ev, r->now);
}

static void down(struct rig *r, uint16_t host)
{
	struct transport_event ev = { .type = TRANSPORT_DOWN, .host = host, .why = -ETIMEDOUT };

	for (uint32_t i = r->t.n; i-- > 0;)
		if (r->t.op[i].host == host)
			finish(r, i, TRANSPORT_LOST);
	r->t.link[host] = 0;
	snprintf(ev.text, sizeof(ev.text), "the link to %u broke", host);
	peers_event(r->p, &ev, r->now);
}

/* Execute the outstanding READs: one wave. */
static void wave(struct rig *r)
{
	for (uint32_t n = r->t.n; n; n--)
		finish(r, 0, TRANSPORT_DONE);
}

/* Run a whole scan. Returns the number of waves. */
static uint32_t scan(struct rig *r)
{
	uint32_t waves = 0;

	r->t.posted = 0;
	r->now = mono_add(r->now, 100 * NS_PER_MS);
	peers_scan(r->p, r->now);
	while (peers_scanning(r->p)) {
		assert_true(r->t.n > 0);
		wave(r);
		assert_true(++waves < 50);
	}
	return waves;
}

static const struct peer_seen *see(struct rig *r, uint16_t host)
{
	peers_see(r->p, host, &r->s);
	return &r->s;
}

/* The newest reading equals what the owner published last. */
static void assert_shown(struct rig *r, uint16_t host)
{
	const struct owner *o = r->owner[host];
	const struct peer_seen *s = see(r, host);
	char name[REGION_NAME];

	assert_true(s->known);
	assert_int_equal(s->why, 0);
	assert_string_equal(s->note, "");
	snprintf(name, sizeof(name), "host-%u", host);
	assert_string_equal(s->host->name, name);
	assert_true(s->host->beat == o->r.beat && s->host->generation == o->r.generation);
	assert_int_equal(s->guests, o->guests);
	for (uint32_t i = 0; i < s->guests; i++) {
		snprintf(name, sizeof(name), "h%u-g%u", host, i);
		assert_string_equal(s->guest[i].name, name);
		assert_true(s->guest[i].mtus_sent == o->r.beat);
	}
}

static int rig_setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	if (!r)
		return -1;
	r->now = (struct mono){ NS_PER_S };
	r->t.depth = TRANSPORT_DEPTH;
	*state = r;
	return peers_open(&r->p, &r->t, TIMEOUT_MS * NS_PER_MS);
}

static int rig_teardown(void **state)
{
	struct rig *r = *state;

	for (int i = 0; i <= TRANSPORT_HOSTS_MAX; i++)
		free(r->owner[i]);
	peers_close(r->p);
	free(r);
	return 0;
}

/* --- rows of steps ------------------------------------------------------------------ */

/* As while its owner writes a record. A second time: it is whole again. */
static void tear(struct rig *r, uint16_t host, uint32_t offset)
{
	r->owner[host]->table[offset + 12] ^= 1; /* the first store is a wrong crc */
}

/*
 * Steps, where HOST is 3 unless it is given:
 *
 *	up [HOST [GENERATION]]	the host starts, and its link comes up; generation 17
 *	claim GENERATION	its link comes up anew and says so, but its region does not
 *	down [HOST]		the link breaks
 *	publish N [HOST]	the host publishes N guests ("publish max") and a heartbeat
 *	tear host, mend host	the host record is not whole, is whole again
 *	tear guest I, mend guest I
 *	scan			100 ms later, a whole scan
 *	begin			a scan begins, or goes on; nothing of it is executed
 *	wave			all outstanding READs are executed
 *	end I [lost, refused, short]
 *				the outstanding READ number I ends; executed without a word
 *	depth N			how many READs a link takes
 *	wait MS			time passes
 *	mark			remembers the time
 *
 * Expectations:
 *
 *	waves N, posted N	of the newest scan
 *	reads N, outstanding N	READs posted by the newest "begin", and not executed yet
 *	scanning, idle		a scan runs, or does not
 *	shown [HOST]		what the host published last is shown, and no error
 *	known, unknown [HOST]	something is shown, or nothing
 *	why ERROR, note TEXT, says TEXT
 *				the error, its whole sentence, a part of it
 *	moved WHEN, read WHEN	a new heartbeat was seen, the reading began: now or marked
 *	link N, generation N, guests N
 *				fields of what is shown of host 3
 *	host-guests N, host-beat N, host-generation N
 *				fields of the host record shown
 */
static const struct row {
	const char *name, *steps;
} rows[] = {
	{ "scan: no link, nothing is posted",
	  "scan -> waves 0, posted 0, link 0, unknown 1, unknown 0, unknown 65" },
	{ "scan: a new host's header, host record and guests are three waves",
	  "up, publish 2, scan -> waves 3, shown, link 1, generation 17" },
	{ "scan: a known host is one wave",
	  "up, publish 2, scan, publish 2, scan -> waves 1, posted 2, shown" },
	{ "scan: more guests than before are a second wave, once",
	  "up, publish 2, scan, publish max, scan -> waves 2, shown;"
	  "publish max, scan -> waves 1, shown" },
	{ "scan: fewer guests than before, those there are",
	  "up, publish 100, scan, publish 99, scan -> waves 1, shown;"
	  "publish 0, scan -> waves 1, shown" },
	/* READ 0 is that of the host record: it says three guests. */
	{ "scan: a guest that was emptied since it was counted is not shown",
	  "up, publish 3, scan, wait 1000, begin, end 0, publish 2, wave -> idle, guests 2,"
	  "host-guests 3" },
	{ "scan: little room on the link, goes on as there is some",
	  "depth 2, up, publish max, scan -> shown; publish max, scan -> shown" },
	{ "scan: not begun while another is under way",
	  "up, publish 1, scan, begin -> reads 2; begin -> reads 0, scanning; wave -> idle" },
	/* The timeout is 50 ms. One READ goes then, the other is late. */
	{ "scan: the link is full of others' READs, gives up in time and says so",
	  "up, publish 1, scan, depth 0, begin -> reads 0, scanning;"
	  "wait 51, depth 1, begin -> reads 1; wave -> idle, why ETIME, known;"
	  "depth 8, scan -> shown" },

	{ "torn: the host record once, it is read again in the same scan",
	  "up, publish 2, scan, publish 2, tear host, begin, wave, mend host -> scanning;"
	  "wave -> idle, shown" },
	{ "torn: a guest once, its run is read again",
	  "up, publish 200, scan, publish 200, tear guest 150, begin, wave -> outstanding 1;"
	  "mend guest 150, wave -> shown" },
	{ "torn: a guest that counts no more does not matter",
	  "up, publish 3, scan, publish 2, tear guest 2, scan -> waves 1, shown" },
	{ "torn: always, what was whole is shown, and why",
	  "up, publish 2, scan, mark, publish 2, tear host, scan -> waves 5, why EAGAIN, known,"
	  "host-beat 1, read marked, guests 2;"
	  "mend host, tear guest 1, scan -> waves 5, why EAGAIN, known, host-beat 1, read marked,"
	  "guests 2; mend guest 1, scan -> shown" },

	{ "beat: unchanged, moved stays",
	  "up, publish 1, scan, mark -> moved now; 2 x scan -> moved marked, read now;"
	  "publish 1, scan -> moved now" },
	{ "beat: seen although the guests are torn",
	  "up, publish 1, scan, publish 1, tear guest 0, scan -> why EAGAIN, moved now" },
	{ "down: in the middle of a scan, others are read",
	  "up, up 4, publish 1, publish 1 4, scan, publish 1, publish 1 4, begin, down, wave"
	  "-> idle, shown 4, link 0, why ETIMEDOUT, note the link to 3 broke, known, host-beat 1" },
	{ "up: the same generation needs no header",
	  "up, publish 1, scan, down, up, publish 1, scan -> waves 1, shown" },
	/* Nothing is published at first. Then it is beat 1 again, but of another start. */
	{ "up: of a new generation all is read anew",
	  "up, publish 5, scan, down, up 3 18 -> generation 18, host-generation 17;"
	  "scan -> why ENOMSG; publish 1, scan -> waves 2, shown, moved now" },
	{ "up: a region of an older generation is stale",
	  "up, publish 1, claim 18, scan -> why ESTALE, unknown" },
	{ "result: lost or refused, says so and shows the old",
	  "up, publish 1, scan, begin, end 0 lost, end 0 -> idle, why ECONNRESET,"
	  "says did not answer, known; begin, end 1 refused, end 0 -> says refused" },
	{ "result: shorter than asked for is an error",
	  "up, publish 1, scan, begin, end 0 short, wave -> idle, why EIO" },
};

static void end_read(struct rig *r, const struct step *s)
{
	struct transport_event ev;

	fake_transport_end(&r->t, (uint32_t)s->n[0],
			   step_says(s, "lost")	     ? TRANSPORT_LOST
			   : step_says(s, "refused") ? TRANSPORT_REFUSED
						     : TRANSPORT_DONE,
			   &ev);
	if (step_says(s, "short"))
		ev.len -= 8;
	peers_event(r->p, &ev, r->now);
}

static void claim(struct rig *r, uint64_t generation)
{
	const struct transport_event ev = {
		.type = TRANSPORT_UP, .host = 3, .link = 9, .generation = generation
	};

	peers_event(r->p, &ev, r->now);
}

static void act(void *rig, const struct step *s)
{
	struct rig *r = rig;
	uint16_t first = (uint16_t)step_number(s, 0, 3), second = (uint16_t)step_number(s, 1, 3);

	if (step_is(s, "up"))
		up(r, first, step_number(s, 1, 17));
	else if (step_is(s, "claim"))
		claim(r, s->n[0]);
	else if (step_is(s, "down"))
		down(r, first);
	else if (step_is(s, "publish"))
		publish(r, second, step_says(s, "max") ? REGION_GUESTS_MAX : first);
	else if (step_is(s, "tear") || step_is(s, "mend"))
		tear(r, 3,
		     step_says(s, "host") ? REGION_AT_HOST
					  : REGION_AT_GUESTS + 192 * (uint32_t)s->n[0]);
	else if (step_is(s, "scan"))
		r->waves = scan(r);
	else if (step_is(s, "begin"))
		r->reads = peers_scan(r->p, r->now);
	else if (step_is(s, "wave"))
		wave(r);
	else if (step_is(s, "end"))
		end_read(r, s);
	else if (step_is(s, "depth"))
		r->t.depth = (uint32_t)s->n[0];
	else if (step_is(s, "wait"))
		r->now = mono_add(r->now, (int64_t)s->n[0] * NS_PER_MS);
	else if (step_is(s, "mark"))
		r->marked = r->now;
	else
		step_unknown(s);
}

static bool at_time(const struct rig *r, const struct step *s, struct mono t)
{
	return t.ns == (step_says(s, "now") ? r->now.ns : r->marked.ns);
}

static void check(void *rig, const struct step *s)
{
	static const struct region_host none;
	struct rig *r = rig;
	const struct peer_seen *is = see(r, 3);
	const struct region_host *host = is->host ? is->host : &none;
	const struct step_figure figures[] = {
		{ "waves", r->waves },	     { "posted", r->t.posted },
		{ "reads", r->reads },	     { "outstanding", r->t.n },
		{ "link", is->link },	     { "generation", is->generation },
		{ "guests", is->guests },    { "host-guests", host->guests },
		{ "host-beat", host->beat }, { "host-generation", host->generation },
	};

	if (step_expect_figure(s, figures, sizeof(figures) / sizeof(figures[0])))
		return;
	if (step_is(s, "scanning") || step_is(s, "idle"))
		step_holds(s, peers_scanning(r->p) == step_is(s, "scanning"));
	else if (step_is(s, "shown"))
		assert_shown(r, (uint16_t)step_number(s, 0, 3));
	else if (step_is(s, "known") || step_is(s, "unknown"))
		step_holds(s, see(r, (uint16_t)step_number(s, 0, 3))->known == step_is(s, "known"));
	else if (step_is(s, "why"))
		assert_int_equal(is->why, -step_errno(s));
	else if (step_is(s, "note"))
		assert_string_equal(is->note, s->rest);
	else if (step_is(s, "says"))
		step_holds(s, strstr(is->note, s->rest));
	else if (step_is(s, "moved"))
		step_holds(s, at_time(r, s, is->moved));
	else if (step_is(s, "read"))
		step_holds(s, at_time(r, s, is->read));
	else
		step_unknown(s);
}

static void run_row(void **state)
{
	static const struct steps_ops ops = { .act = act, .check = check };
	const struct row *row = *state;

	assert_int_equal(rig_setup(state), 0);
	steps_run(row->steps, &ops, *state);
	rig_teardown(state);
}
TEST_ROWS(rows, run_row)

/* --- what a scan costs ------------------------------------------------------------ */

TEST_WITH(scan__64_hosts__is_one_wave, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	for (uint16_t h = 1; h <= TRANSPORT_HOSTS_MAX; h++) {
		up(r, h, h);
		publish(r, h, h % 5);
	}
	scan(r);
	for (uint16_t h = 1; h <= TRANSPORT_HOSTS_MAX; h++)
		publish(r, h, h % 5);
	assert_int_equal(scan(r), 1);
	for (uint16_t h = 1; h <= TRANSPORT_HOSTS_MAX; h++)
		assert_shown(r, h);
}

/* Each host is read for itself. */
/*
 * The head alone says that a record is the one that was read before: the rest is not looked at, so
 * a change of it without a change of the head, which no owner makes, is not seen.
 */
TEST_WITH(scan__a_record_whose_head_is_unchanged__is_skipped, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	uint8_t *table;

	up(r, 3, 17);
	publish(r, 3, 3);
	scan(r);
	table = r->owner[3]->table;
	table[REGION_AT_GUESTS + 16] ^= 1;
	assert_int_equal(scan(r), 1);
	assert_shown(r, 3);
	table[REGION_AT_GUESTS + 12] ^= 1; /* with another head it is read, and torn */
	scan(r);
	assert_int_equal(see(r, 3)->why, -EAGAIN);
	table[REGION_AT_GUESTS + 12] ^= 1;
	table[REGION_AT_GUESTS + 16] ^= 1;
	publish(r, 3, 3); /* the owner writes again: all of it is read */
	scan(r);
	assert_shown(r, 3);
}

TEST_WITH(scan__a_host_that_does_not_answer__delays_no_other, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mono began;

	for (uint16_t h = 3; h <= 4; h++) {
		up(r, h, 17);
		publish(r, h, 1);
	}
	scan(r);
	began = r->now = mono_add(r->now, 100 * NS_PER_MS);
	for (int k = 0; k < 5; k++) {
		publish(r, 3, 2);
		publish(r, 4, 2);
		peers_scan(r->p, r->now);
		for (uint32_t i = r->t.n; i-- > 0;)
			if (r->t.op[i].host == 4)
				finish(r, i, TRANSPORT_DONE);
		while (r->t.n > 2)
			finish(r, 2, TRANSPORT_DONE); /* the second guest */
		assert_shown(r, 4);
		assert_int_equal(see(r, 4)->read.ns, r->now.ns);
		assert_true(see(r, 3)->read.ns < began.ns);
		r->now = mono_add(r->now, 100 * NS_PER_MS);
	}
	wave(r);
	wave(r);
	assert_false(peers_scanning(r->p));
	assert_shown(r, 3);
	assert_int_equal(see(r, 3)->read.ns, began.ns);
}

/* --- heartbeats, links, generations -------------------------------------------------- */

/* --- services --------------------------------------------------------------------------- */

/* The owner has n services, and says that this is their digest. */
static void publish_services(struct rig *r, uint16_t host, uint32_t n, uint64_t digest)
{
	static struct region_service s[REGION_SERVICES_MAX];
	struct owner *o = r->owner[host];
	struct region_host h = { .services_digest = digest };

	for (uint32_t i = 0; i < n; i++) {
		s[i] = (struct region_service){ .service = i + 1, .minimum = (uint32_t)digest };
		snprintf(s[i].name, sizeof(s[i].name), "s%u", i + 1);
	}
	assert_int_equal(region_publish_services(&o->r, s, n), 0);
	region_beat(&o->r, &h);
}

static void assert_services(struct rig *r, uint16_t host, uint32_t n, uint64_t digest)
{
	const struct peer_seen *s = see(r, host);
	char name[REGION_NAME];

	assert_true(s->known && s->why == 0);
	assert_int_equal(s->services, n);
	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "s%u", i + 1);
		assert_string_equal(s->service[i].name, name);
		assert_int_equal(s->service[i].service, i + 1);
		assert_int_equal(s->service[i].minimum, digest);
	}
}

TEST_WITH(services__of_another_digest__are_read_after_the_host, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	up(r, 3, 17);
	publish_services(r, 3, 2, 5);
	assert_int_equal(scan(r), 3); /* header, host, services */
	assert_services(r, 3, 2, 5);
	publish_services(r, 3, 2, 5);
	assert_int_equal(scan(r), 1);
	publish_services(r, 3, 64, 6);
	assert_int_equal(scan(r), 2);
	assert_services(r, 3, 64, 6);
	publish_services(r, 3, 65, 7); /* more than anyone compares */
	assert_int_equal(scan(r), 1);
	assert_services(r, 3, 0, 7);
	publish_services(r, 3, 1, 8);
	assert_int_equal(scan(r), 2);
	assert_services(r, 3, 1, 8);
}

/* A reading that failed says nothing of its digest: they are read again. */
TEST_WITH(services__not_all_read__are_read_again, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	up(r, 3, 17);
	publish_services(r, 3, 1, 5);
	scan(r);
	publish_services(r, 3, 2, 6);
	r->now = mono_add(r->now, 100 * NS_PER_MS);
	peers_scan(r->p, r->now);
	wave(r);
	assert_int_equal(r->t.n, 1);
	finish(r, 0, TRANSPORT_LOST);
	assert_false(peers_scanning(r->p));
	assert_true(see(r, 3)->why);
	/* The host goes back to the former ones meanwhile. */
	publish_services(r, 3, 1, 5);
	assert_int_equal(scan(r), 2);
	assert_services(r, 3, 1, 5);
}

TEST_WITH(forget__a_host_that_is_read__it_is_as_one_never_seen, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	uint64_t changes;

	up(r, 3, 17);
	publish_services(r, 3, 2, 5);
	scan(r);
	changes = peers_changes(r->p, 3);
	peers_scan(r->p, r->now);
	assert_true(peers_scanning(r->p));
	peers_forget(r->p, 3);
	peers_forget(r->p, 0);
	peers_forget(r->p, TRANSPORT_HOSTS_MAX + 1);
	assert_false(peers_scanning(r->p));
	assert_false(see(r, 3)->known || see(r, 3)->link || see(r, 3)->generation);
	assert_true(peers_changes(r->p, 3) > changes);
	up(r, 3, 17);
	peers_scan(r->p, r->now);
	finish(r, 0, TRANSPORT_DONE); /* of the reading before: the header is not read yet */
	assert_false(see(r, 3)->known);
	assert_true(peers_scanning(r->p));
	while (peers_scanning(r->p))
		wave(r);
	assert_services(r, 3, 2, 5);
}

TEST_WITH(event__not_ours__changes_nothing, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct transport_event ev = { .type = TRANSPORT_RESULT, .host = 3, .len = 8 };
	struct transport_event none = { .type = TRANSPORT_ALARM, .host = 0 };

	up(r, 3, 17);
	publish(r, 3, 1);
	scan(r);
	peers_scan(r->p, r->now);
	ev.tag = 1ull << PEERS_TAG_SHIFT | r->t.op[0].tag;
	peers_event(r->p, &ev, r->now);
	ev.tag = r->t.op[0].tag + 8;
	peers_event(r->p, &ev, r->now);
	ev.tag = r->t.op[0].tag - (1u << 16);
	peers_event(r->p, &ev, r->now);
	peers_event(r->p, &none, r->now);
	assert_true(r->t.op[0].tag < 1ull << PEERS_TAG_SHIFT);
	wave(r);
	assert_shown(r, 3);
}

TEST_WITH(event__a_result_a_second_time__changes_nothing, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct transport_event again = { .type = TRANSPORT_RESULT,
					 .host = 3,
					 .outcome = TRANSPORT_LOST };

	up(r, 3, 17);
	publish(r, 3, 1);
	scan(r);
	peers_scan(r->p, r->now);
	again.tag = r->t.op[0].tag;
	finish(r, 0, TRANSPORT_DONE);
	peers_event(r->p, &again, r->now);
	wave(r);
	assert_shown(r, 3);
}

TEST_WITH(event__of_a_reading_that_was_given_up__changes_nothing, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct transport_event old = { .type = TRANSPORT_RESULT,
				       .host = 3,
				       .outcome = TRANSPORT_LOST };

	up(r, 3, 17);
	publish(r, 3, 1);
	scan(r);
	peers_scan(r->p, r->now);
	old.tag = r->t.op[0].tag;
	down(r, 3);
	up(r, 3, 17);
	peers_scan(r->p, r->now);
	peers_event(r->p, &old, r->now);
	wave(r);
	assert_int_equal(see(r, 3)->why, 0);
	assert_shown(r, 3);
}

/* --- hostile hosts --------------------------------------------------------------------- */

TEST_WITH(hostile__header_of_another_version__is_named, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct region_header h;

	up(r, 3, 17);
	publish(r, 3, 1);
	memcpy(&h, r->owner[3]->table, sizeof(h));
	h.version++;
	record_write(r->owner[3]->table, &h.head, REGION_HEADER, sizeof(h));
	assert_int_equal(scan(r), 1);
	assert_int_equal(see(r, 3)->why, -EPROTONOSUPPORT);
	assert_non_null(strstr(see(r, 3)->note, "same release"));
}

TEST_WITH(hostile__tables_beyond_the_part_served__are_refused_by_post, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct region_header h;

	up(r, 3, 17);
	publish(r, 3, 1);
	memcpy(&h, r->owner[3]->table, sizeof(h));
	h.part_bytes[REGION_TABLE] = TRANSPORT_PART_MAX;
	h.directory[REGION_T_HOST].offset = TRANSPORT_PART_MAX - 4096;
	record_write(r->owner[3]->table, &h.head, REGION_HEADER, sizeof(h));
	scan(r);
	assert_int_equal(see(r, 3)->why, -ERANGE);
	assert_false(see(r, 3)->known);
}

TEST_WITH(hostile__widest_strides__fit_the_link, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	static struct owner wide;
	struct region_guest g = { .domid = 1, .name = "g" };
	struct region_host host = { .name = "wide", .generation = 17, .beat = 1 };
	struct region_header h;

	up(r, 3, 17);
	memcpy(&h, r->owner[3]->table, sizeof(h));
	h.part_bytes[REGION_TABLE] = 512 * REGION_PAGE / 2;
	h.directory[REGION_T_GUESTS].offset = 30 * REGION_PAGE;
	h.directory[REGION_T_GUESTS].stride = REGION_STRIDE_MAX;
	r->owner[3] = realloc(r->owner[3], sizeof(wide) + 512 * REGION_GUESTS_MAX);
	assert_non_null(r->owner[3]);
	r->t.table[3] = r->owner[3]->table;
	r->t.bytes[3] = REGION_TABLE_BYTES + 512 * REGION_GUESTS_MAX;
	record_write(r->owner[3]->table, &h.head, REGION_HEADER, sizeof(h));
	host.guests = REGION_GUESTS_MAX;
	record_write(r->owner[3]->table + REGION_AT_HOST, &host.head, REGION_HOST, sizeof(host));
	for (uint32_t i = 0; i < REGION_GUESTS_MAX; i++) {
		uint8_t *at = r->owner[3]->table + REGION_TABLE_BYTES + 512 * i;

		memset(at, 0, sizeof(g));
		record_write(at, &g.head, REGION_GUEST, sizeof(g));
	}
	scan(r);
	assert_int_equal(see(r, 3)->why, 0);
	assert_int_equal(see(r, 3)->guests, REGION_GUESTS_MAX);
	assert_int_equal(scan(r), 2); /* host and eight: one waits for room */
	assert_int_equal(see(r, 3)->guests, REGION_GUESTS_MAX);
}

/* --- anything --------------------------------------------------------------------------- */

static bool begin_scan(struct rig *r)
{
	if (peers_scanning(r->p) || !peers_scan(r->p, r->now))
		return false;
	r->scan = r->now;
	for (int h = 1; h <= 3; h++)
		r->beat[h] = r->owner[h] ? r->owner[h]->r.beat : 0;
	return true;
}

/* Every reading was published, each record is whole, and none is older than its time. */
static bool plausible(struct rig *r, uint16_t host)
{
	const struct peer_seen *s = see(r, host);
	uint64_t oldest = s->read.ns == r->scan.ns ? r->beat[host] : 1;
	char name[REGION_NAME];

	if (!s->known)
		return true;
	if (s->host->beat < oldest)
		return false;
	snprintf(name, sizeof(name), "host-%u", host);
	if (strcmp(s->host->name, name) != 0 || s->host->members[0] != host)
		return false;
	if (s->guests > s->host->guests)
		return false;
	for (uint32_t i = 0; i < s->guests; i++) { /* some may have been emptied meanwhile */
		snprintf(name, sizeof(name), "h%u-g%u", host, s->guest[i].domid - 1);
		if (strcmp(s->guest[i].name, name) != 0 || s->guest[i].mtus_sent < oldest ||
		    (i && s->guest[i].domid <= s->guest[i - 1].domid))
			return false;
	}
	return true;
}

TEST_WITH(anything__at_any_time__shows_only_what_was_published, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	uint64_t generation = 1, scans = 0;
	struct prop p;

	prop_start(&p);
	for (uint64_t step = 0; step < 30000; step++) {
		uint16_t host = (uint16_t)prop_range(&p, 1, 3);

		r->now = mono_add(r->now, (int64_t)prop_range(&p, 1, 5 * NS_PER_MS));
		switch (prop_u64(&p) % 12) {
		case 0:
			if (r->t.link[host] && prop_one_in(&p, 4))
				down(r, host);
			break;
		case 1:
			if (!r->t.link[host])
				up(r, host,
				   prop_one_in(&p, 2) || !r->owner[host]
					   ? ++generation
					   : r->owner[host]->r.generation);
			break;
		case 2:
			if (r->owner[host] && prop_one_in(&p, 8))
				publish(r, host, (uint32_t)prop_range(&p, 0, 256));
			break;
		case 3:
			if (peers_scanning(r->p))
				peers_scan(r->p, r->now);
			else
				scans += begin_scan(r);
			break;
		case 4:
			r->t.depth = (uint32_t)prop_range(&p, 1, 8);
			break;
		case 5:
			if (r->owner[host] && r->t.n) { /* torn just now */
				uint32_t at = REGION_AT_HOST +
					      192 * (uint32_t)prop_range(&p, 0, 100);

				tear(r, host, at);
				finish(r, (uint32_t)prop_range(&p, 0, r->t.n - 1), TRANSPORT_DONE);
				tear(r, host, at);
			}
			break;
		default:
			if (r->t.n)
				finish(r, 0, prop_one_in(&p, 50) ? TRANSPORT_LOST : TRANSPORT_DONE);
		}
		for (host = 1; host <= 3; host++)
			prop_assert(&p, step, plausible(r, host));
	}
	assert_true(scans > 100);
	r->t.depth = 8;
	while (peers_scanning(r->p)) {
		assert_true(r->t.n > 0 || peers_scan(r->p, r->now) > 0);
		wave(r);
	}
	for (uint16_t host = 1; host <= 3; host++)
		if (r->t.link[host])
			publish(r, host, 7);
	scan(r);
	for (uint16_t host = 1; host <= 3; host++)
		if (r->t.link[host])
			assert_shown(r, host);
}
