// SPDX-License-Identifier: GPL-2.0-or-later
/* peers: one wave a scan; what is shown is whole, or not shown; hostile hosts lead nowhere. */
#include <errno.h>
#include <string.h>

#include "src/shared/peers.h"
#include "src/shared/record.h"
#include "tests/fakes/fake_transport.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

enum { TIMEOUT_MS = 50 };

/* One host's own side. */
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
	struct mono scan; /* the newest was begun, and the owners' beats then */
	uint64_t beat[TRANSPORT_HOSTS_MAX + 1];
};

/* All guests of one beat say so: a mixture shows. */
static void publish(struct rig *r, uint16_t host, uint32_t guests)
{
	static struct region_guest g[REGION_GUESTS_MAX];
	struct owner *o = r->owner[host];
	struct region_host h = { .members = host };

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

/* What is outstanding now is executed: one wave. */
static void wave(struct rig *r)
{
	for (uint32_t n = r->t.n; n; n--)
		finish(r, 0, TRANSPORT_DONE);
}

/* A whole scan; how many waves it took. */
static uint32_t scan(struct rig *r)
{
	uint32_t waves = 0;

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

/* It shows exactly what its owner published last. */
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

/* --- what a scan costs ------------------------------------------------------------ */

TEST_WITH(scan__no_link__posts_nothing, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	assert_int_equal(scan(r), 0);
	assert_int_equal(r->t.posted, 0);
	assert_false(see(r, 1)->known);
	assert_int_equal(see(r, 1)->link, 0);
	assert_false(see(r, 0)->known);
	assert_false(see(r, 65)->known);
}

TEST_WITH(scan__new_host__header_host_guests_are_three_waves, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	up(r, 3, 17);
	publish(r, 3, 2);
	assert_int_equal(scan(r), 3);
	assert_shown(r, 3);
	assert_int_equal(see(r, 3)->link, 1);
	assert_true(see(r, 3)->generation == 17);
}

TEST_WITH(scan__known_host__is_one_wave, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	up(r, 3, 17);
	publish(r, 3, 2);
	scan(r);
	publish(r, 3, 2);
	r->t.posted = 0;
	assert_int_equal(scan(r), 1);
	assert_int_equal(r->t.posted, 2);
	assert_shown(r, 3);
}

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

TEST_WITH(scan__more_guests_than_before__is_a_second_wave, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	up(r, 3, 17);
	publish(r, 3, 2);
	scan(r);
	publish(r, 3, REGION_GUESTS_MAX);
	assert_int_equal(scan(r), 2);
	assert_shown(r, 3);
	publish(r, 3, REGION_GUESTS_MAX);
	assert_int_equal(scan(r), 1);
	assert_shown(r, 3);
}

TEST_WITH(scan__fewer_guests_than_before__shows_those_there_are, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	up(r, 3, 17);
	publish(r, 3, 100);
	scan(r);
	publish(r, 3, 99);
	assert_int_equal(scan(r), 1);
	assert_shown(r, 3);
	publish(r, 3, 0);
	assert_int_equal(scan(r), 1);
	assert_shown(r, 3);
}

TEST_WITH(scan__a_guest_emptied_since_it_was_counted__is_not_shown, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	up(r, 3, 17);
	publish(r, 3, 3);
	scan(r);
	r->now = mono_add(r->now, NS_PER_S);
	peers_scan(r->p, r->now);
	finish(r, 0, TRANSPORT_DONE); /* the host record: three guests */
	publish(r, 3, 2);
	wave(r);
	assert_false(peers_scanning(r->p));
	assert_int_equal(see(r, 3)->guests, 2);
	assert_int_equal(see(r, 3)->host->guests, 3);
}

TEST_WITH(scan__little_room_on_the_link__goes_on_as_there_is, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	r->t.depth = 2;
	up(r, 3, 17);
	publish(r, 3, REGION_GUESTS_MAX);
	scan(r);
	assert_shown(r, 3);
	publish(r, 3, REGION_GUESTS_MAX);
	scan(r);
	assert_shown(r, 3);
}

TEST_WITH(scan__under_way__another_is_not_begun, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	up(r, 3, 17);
	publish(r, 3, 1);
	scan(r);
	assert_int_equal(peers_scan(r->p, r->now), 2);
	assert_int_equal(peers_scan(r->p, r->now), 0);
	assert_true(peers_scanning(r->p));
	wave(r);
	assert_false(peers_scanning(r->p));
}

TEST_WITH(scan__link_full_of_others__gives_up_in_time_and_says_so, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	up(r, 3, 17);
	publish(r, 3, 1);
	scan(r);
	r->t.depth = 0;
	assert_int_equal(peers_scan(r->p, r->now), 0);
	assert_true(peers_scanning(r->p));
	r->now = mono_add(r->now, (TIMEOUT_MS + 1) * NS_PER_MS);
	r->t.depth = 1;
	assert_int_equal(peers_scan(r->p, r->now), 1); /* one goes yet, the other is late */
	wave(r);
	assert_false(peers_scanning(r->p));
	assert_int_equal(see(r, 3)->why, -ETIME);
	assert_true(see(r, 3)->known);
	r->t.depth = 8;
	scan(r);
	assert_shown(r, 3);
}

/* --- torn ------------------------------------------------------------------------- */

static void tear(struct rig *r, uint16_t host, uint32_t offset)
{
	r->owner[host]->table[offset + 16] ^= 1;
}

TEST_WITH(torn__host_record_once__is_read_again_in_the_same_scan, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	up(r, 3, 17);
	publish(r, 3, 2);
	scan(r);
	publish(r, 3, 2);
	tear(r, 3, REGION_AT_HOST);
	peers_scan(r->p, r->now);
	wave(r);
	tear(r, 3, REGION_AT_HOST); /* whole again */
	assert_true(peers_scanning(r->p));
	wave(r);
	assert_false(peers_scanning(r->p));
	assert_shown(r, 3);
}

TEST_WITH(torn__guest_once__its_run_is_read_again, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	up(r, 3, 17);
	publish(r, 3, 200);
	scan(r);
	publish(r, 3, 200);
	tear(r, 3, REGION_AT_GUESTS + 192 * 150);
	peers_scan(r->p, r->now);
	wave(r);
	assert_int_equal(r->t.n, 1);
	tear(r, 3, REGION_AT_GUESTS + 192 * 150);
	wave(r);
	assert_shown(r, 3);
}

TEST_WITH(torn__a_guest_that_counts_no_more__does_not_matter, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	up(r, 3, 17);
	publish(r, 3, 3);
	scan(r);
	publish(r, 3, 2);
	tear(r, 3, REGION_AT_GUESTS + 192 * 2);
	assert_int_equal(scan(r), 1);
	assert_shown(r, 3);
}

TEST_WITH(torn__always__shows_what_was_whole_and_says_why, rig_setup, rig_teardown)
{
	static const uint32_t at[] = { REGION_AT_HOST, REGION_AT_GUESTS + 192 };
	struct rig *r = *state;
	struct mono then;

	up(r, 3, 17);
	publish(r, 3, 2);
	scan(r);
	then = r->now;
	publish(r, 3, 2);
	for (int i = 0; i < 2; i++) {
		tear(r, 3, at[i]);
		assert_int_equal(scan(r), 5);
		assert_int_equal(see(r, 3)->why, -EAGAIN);
		assert_true(see(r, 3)->known && see(r, 3)->host->beat == 1);
		assert_true(see(r, 3)->read.ns == then.ns);
		assert_int_equal(see(r, 3)->guests, 2);
		tear(r, 3, at[i]);
	}
	scan(r);
	assert_shown(r, 3);
}

/* --- heartbeats, links, generations -------------------------------------------------- */

TEST_WITH(beat__stands_still__moved_stays, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mono first;

	up(r, 3, 17);
	publish(r, 3, 1);
	scan(r);
	first = see(r, 3)->moved;
	assert_true(first.ns == r->now.ns);
	scan(r);
	scan(r);
	assert_true(see(r, 3)->moved.ns == first.ns);
	assert_true(see(r, 3)->read.ns == r->now.ns);
	publish(r, 3, 1);
	scan(r);
	assert_true(see(r, 3)->moved.ns == r->now.ns);
}

TEST_WITH(beat__guests_torn__is_seen_all_the_same, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	up(r, 3, 17);
	publish(r, 3, 1);
	scan(r);
	publish(r, 3, 1);
	tear(r, 3, REGION_AT_GUESTS);
	scan(r);
	assert_int_equal(see(r, 3)->why, -EAGAIN);
	assert_true(see(r, 3)->moved.ns == r->now.ns);
}

TEST_WITH(down__in_the_middle_of_a_scan__others_are_read, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	up(r, 3, 17);
	up(r, 4, 17);
	publish(r, 3, 1);
	publish(r, 4, 1);
	scan(r);
	publish(r, 3, 1);
	publish(r, 4, 1);
	peers_scan(r->p, r->now);
	down(r, 3);
	wave(r);
	assert_false(peers_scanning(r->p));
	assert_shown(r, 4);
	assert_int_equal(see(r, 3)->link, 0);
	assert_int_equal(see(r, 3)->why, -ETIMEDOUT);
	assert_string_equal(see(r, 3)->note, "the link to 3 broke");
	assert_true(see(r, 3)->known && see(r, 3)->host->beat == 1);
}

TEST_WITH(up__the_same_generation__needs_no_header, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	up(r, 3, 17);
	publish(r, 3, 1);
	scan(r);
	down(r, 3);
	up(r, 3, 17);
	publish(r, 3, 1);
	assert_int_equal(scan(r), 1);
	assert_shown(r, 3);
}

TEST_WITH(up__a_new_generation__all_is_read_anew, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	up(r, 3, 17);
	publish(r, 3, 5);
	scan(r);
	down(r, 3);
	up(r, 3, 18);
	assert_true(see(r, 3)->generation == 18 && see(r, 3)->host->generation == 17);
	scan(r);
	assert_int_equal(see(r, 3)->why, -ENOMSG); /* nothing is published yet */
	publish(r, 3, 1);
	assert_int_equal(scan(r), 2);
	assert_shown(r, 3);
	assert_true(see(r, 3)->moved.ns == r->now.ns); /* beat 1 again, but of another start */
}

TEST_WITH(up__region_of_an_older_generation__is_stale, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct transport_event ev = {
		.type = TRANSPORT_UP, .host = 3, .link = 9, .generation = 18
	};

	up(r, 3, 17);
	publish(r, 3, 1);
	peers_event(r->p, &ev, r->now);
	scan(r);
	assert_int_equal(see(r, 3)->why, -ESTALE);
	assert_false(see(r, 3)->known);
}

TEST_WITH(result__lost_or_refused__says_so_and_shows_the_old, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	up(r, 3, 17);
	publish(r, 3, 1);
	scan(r);
	peers_scan(r->p, r->now);
	finish(r, 0, TRANSPORT_LOST);
	finish(r, 0, TRANSPORT_DONE);
	assert_false(peers_scanning(r->p));
	assert_int_equal(see(r, 3)->why, -ECONNRESET);
	assert_non_null(strstr(see(r, 3)->note, "did not answer"));
	assert_true(see(r, 3)->known);
	peers_scan(r->p, r->now);
	finish(r, 1, TRANSPORT_REFUSED);
	finish(r, 0, TRANSPORT_DONE);
	assert_non_null(strstr(see(r, 3)->note, "refused"));
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

TEST_WITH(result__shorter_than_asked_for__is_none, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct transport_event ev;

	up(r, 3, 17);
	publish(r, 3, 1);
	scan(r);
	peers_scan(r->p, r->now);
	fake_transport_end(&r->t, 0, TRANSPORT_DONE, &ev);
	ev.len -= 8;
	peers_event(r->p, &ev, r->now);
	wave(r);
	assert_false(peers_scanning(r->p));
	assert_int_equal(see(r, 3)->why, -EIO);
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
	h.table_bytes = TRANSPORT_PART_MAX;
	h.table[REGION_T_HOST].offset = TRANSPORT_PART_MAX - 4096;
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
	h.table_bytes = 512 * REGION_PAGE / 2;
	h.table[REGION_T_GUESTS].offset = 30 * REGION_PAGE;
	h.table[REGION_T_GUESTS].stride = REGION_STRIDE_MAX;
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

/* What is shown was published, each record whole, and is not older than it says. */
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
	if (strcmp(s->host->name, name) != 0 || s->host->members != host)
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
