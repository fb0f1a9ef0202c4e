// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * peers over the transport "shm": regions that really are shared, a network with
 * delay, READs that are torn while the owner writes, hosts that start again.
 */
#include "config.h"

#include <string.h>

#include "src/shared/peers.h"
#include "src/transport/shm/faults.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

enum { HOSTS = 8, GUESTS = 100, SCANS = 200 };

static const uint8_t key[] = "0123456789abcdef0123456789abcdef";

struct owner {
	struct transport *t;
	struct region r;
	uint32_t guests;
};

/* Host 1 reads all, itself too. */
struct rig {
	struct tmpdir dir;
	struct mono now;
	struct owner owner[HOSTS + 1];
	struct peers *p;
	struct prop prop;
};

/* All guests have the number of their heartbeat: a mixture within a record shows. */
static void publish(struct rig *r, uint16_t host)
{
	static struct region_guest g[GUESTS];
	struct owner *o = &r->owner[host];
	struct region_host h = { .members = { o->r.beat + 1 } };

	for (uint32_t i = 0; i < o->guests; i++) {
		uint64_t beat = o->r.beat + 1;

		g[i] = (struct region_guest){ .mtus_sent = beat,
					      .cpu_ns = beat * 3,
					      .reserved = { beat * 5, beat * 7 } };
		snprintf(g[i].name, sizeof(g[i].name), "g%u", i);
	}
	assert_int_equal(region_publish_guests(&o->r, g, o->guests), 0);
	snprintf(h.name, sizeof(h.name), "host-%u", host);
	h.reserved[0] = h.members[0] * 11;
	region_beat(&o->r, &h);
}

static void start(struct rig *r, uint16_t host, uint64_t generation)
{
	static uint64_t words[REGION_WORDS_BYTES / 8];
	struct transport_conf c = { .host = host,
				    .generation = generation,
				    .cluster = "test",
				    .key = key,
				    .key_len = sizeof(key),
				    .bytes = { REGION_TABLE_BYTES, REGION_WORDS_BYTES },
				    .words = words,
				    .hellos_max = 2 * HOSTS,
				    .seed = host };
	struct owner *o = &r->owner[host];
	char text[256] = "";

	assert_int_equal(region_words(words, generation, NULL), 0);
	snprintf(c.address, sizeof(c.address), "%s", r->dir.path);
	if (transport_find("shm")->open(&o->t, &c, r->now, text))
		fail_msg("%s", text);
	region_init(&o->r, transport_table(o->t), host, generation);
	for (uint16_t h = 1; h <= HOSTS; h++) {
		struct transport_peer p = { .host = h };

		if (host != 1 && h != 1)
			continue; /* they open no links to each other */
		snprintf(p.address, sizeof(p.address), "%s", r->dir.path);
		assert_int_equal(transport_add(o->t, &p, r->now), 0);
	}
}

static void turn(struct rig *r)
{
	struct transport_event ev[32];

	for (uint16_t h = 1; h <= HOSTS; h++) {
		size_t n = transport_poll(r->owner[h].t, r->now, ev, 32);

		for (size_t i = 0; h == 1 && i < n; i++)
			peers_event(r->p, &ev[i], r->now);
	}
}

static void pass(struct rig *r, int64_t ns)
{
	for (int64_t end = r->now.ns + ns; r->now.ns < end; r->now.ns += NS_PER_MS / 4)
		turn(r);
}

static void scan(struct rig *r)
{
	peers_scan(r->p, r->now);
	for (int i = 0; peers_scanning(r->p) && i < 10000; i++) {
		r->now.ns += NS_PER_MS / 4;
		turn(r);
	}
	assert_false(peers_scanning(r->p));
}

static bool all_up(const struct rig *r)
{
	for (uint16_t h = 1; h <= HOSTS; h++)
		if (!transport_link(r->owner[1].t, h))
			return false;
	return true;
}

static int rig_setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	*state = r;
	tmp_open(&r->dir);
	prop_start(&r->prop);
	r->now.ns = 1000 * NS_PER_S;
	for (uint16_t h = 1; h <= HOSTS; h++) {
		r->owner[h].guests = h * 10;
		start(r, h, 5);
		publish(r, h);
	}
	assert_int_equal(peers_open(&r->p, r->owner[1].t, 100 * NS_PER_MS), 0);
	for (int i = 0; i < 100 && !all_up(r); i++)
		pass(r, 50 * NS_PER_MS);
	assert_true(all_up(r));
	return 0;
}

static int rig_teardown(void **state)
{
	struct rig *r = *state;

	for (uint16_t h = 1; h <= HOSTS; h++)
		transport_close(r->owner[h].t);
	peers_close(r->p);
	tmp_close(&r->dir);
	free(r);
	return 0;
}

static struct peer_seen see(struct rig *r, uint16_t host)
{
	struct peer_seen s;

	peers_see(r->p, host, &s);
	return s;
}

/* Each record is whole, and all are of heartbeats during the scan. */
static void assert_whole(struct rig *r, uint16_t host)
{
	struct peer_seen s = see(r, host);
	char name[REGION_NAME];

	assert_true(s.known);
	snprintf(name, sizeof(name), "host-%u", host);
	assert_string_equal(s.host->name, name);
	assert_true(s.host->members[0] == s.host->beat && s.host->reserved[0] == s.host->beat * 11);
	assert_int_equal(s.guests, r->owner[host].guests);
	for (uint32_t i = 0; i < s.guests; i++) {
		uint64_t beat = s.guest[i].mtus_sent;

		assert_true(beat > 0 && beat <= r->owner[host].r.beat);
		assert_true(s.guest[i].cpu_ns == beat * 3);
		assert_true(s.guest[i].reserved[0] == beat * 5);
		assert_true(s.guest[i].reserved[1] == beat * 7);
	}
}

TEST_WITH(scan__all_hosts_behind_1_ms__is_one_round_trip, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct shm_faults f = { .seed = r->prop.seed,
				.out_min_ns = NS_PER_MS / 2,
				.out_max_ns = NS_PER_MS / 2,
				.back_min_ns = NS_PER_MS / 2,
				.back_max_ns = NS_PER_MS / 2 };
	struct transport_stats before, after;
	struct mono began;

	assert_int_equal(transport_shm_faults(r->owner[1].t, &f), 0);
	scan(r);
	for (int k = 0; k < 5; k++) {
		for (uint16_t h = 1; h <= HOSTS; h++)
			publish(r, h);
		transport_stats(r->owner[1].t, &before);
		began = r->now;
		scan(r);
		transport_stats(r->owner[1].t, &after);
		assert_int_equal(after.rounds - before.rounds, 1);
		assert_true(mono_sub(r->now, began) <= 3 * NS_PER_MS / 2); /* simulated */
		for (uint16_t h = 1; h <= HOSTS; h++) {
			assert_whole(r, h);
			assert_true(see(r, h).host->beat == r->owner[h].r.beat);
			assert_true(see(r, h).moved.ns == began.ns);
		}
	}
}

TEST_WITH(scan__owners_write_all_the_time__shows_whole_records_only, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct shm_faults f = { .seed = r->prop.seed,
				.out_max_ns = NS_PER_MS,
				.back_max_ns = NS_PER_MS,
				.tear_permille = 300 };
	struct transport_stats before, after;
	uint32_t whole = 0, failed = 0;
	uint64_t again;

	scan(r); /* from now on two READs a host */
	assert_int_equal(transport_shm_faults(r->owner[1].t, &f), 0);
	transport_stats(r->owner[1].t, &before);
	for (int k = 0; k < SCANS; k++) {
		peers_scan(r->p, r->now);
		for (int i = 0; peers_scanning(r->p) && i < 10000; i++) {
			publish(r, (uint16_t)prop_range(&r->prop, 1, HOSTS));
			r->now.ns += NS_PER_MS / 4;
			turn(r);
		}
		assert_false(peers_scanning(r->p));
		for (uint16_t h = 1; h <= HOSTS; h++) {
			struct peer_seen s = see(r, h);

			whole += s.why == 0;
			failed += s.why != 0;
			if (s.known)
				assert_whole(r, h);
		}
	}
	transport_stats(r->owner[1].t, &after);
	again = after.ops[TRANSPORT_READ] - before.ops[TRANSPORT_READ] - SCANS * HOSTS * 2;
	print_message("%u readings, %u failed; %llu READs were torn\n", whole + failed, failed,
		      (unsigned long long)again);
	assert_true(whole > 10 * failed);
	assert_true(again > 0); /* otherwise this test has shown nothing */
}

TEST_WITH(restart__a_new_generation__is_read_anew, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct peer_seen s;

	scan(r);
	transport_close(r->owner[3].t);
	start(r, 3, 6);
	for (int i = 0; i < 100 && see(r, 3).generation != 6; i++)
		pass(r, 50 * NS_PER_MS);
	s = see(r, 3);
	assert_true(s.generation == 6 && s.known && s.host->generation == 5);
	publish(r, 3);
	scan(r);
	s = see(r, 3);
	assert_true(s.why == 0 && s.host->generation == 6 && s.host->beat == 1);
	assert_whole(r, 3);
	for (uint16_t h = 1; h <= HOSTS; h++)
		assert_int_equal(see(r, h).why, 0);
}

TEST_WITH(cut__a_host__the_others_are_read_and_its_age_grows, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	uint32_t link = transport_link(r->owner[1].t, 2);
	struct peer_seen s;
	struct mono read;

	scan(r);
	read = see(r, 2).read;
	assert_int_equal(transport_shm_cut(r->owner[1].t, 2, true), 0);
	for (int k = 0; k < 3; k++) {
		for (uint16_t h = 1; h <= HOSTS; h++)
			publish(r, h);
		scan(r);
	}
	s = see(r, 2);
	assert_true(s.known && s.read.ns == read.ns && s.moved.ns == read.ns);
	assert_true(s.why != 0 && s.note[0]);
	assert_true(see(r, 4).host->beat == r->owner[4].r.beat);
	assert_int_equal(transport_shm_cut(r->owner[1].t, 2, false), 0);
	/* The READs that were cut off get no answer: the link ends when they are long late. */
	for (int i = 0; i < 100 && transport_link(r->owner[1].t, 2) <= link; i++)
		pass(r, 50 * NS_PER_MS);
	scan(r);
	assert_int_equal(see(r, 2).why, 0);
	assert_true(see(r, 2).host->beat == r->owner[2].r.beat);
}
