// SPDX-License-Identifier: GPL-2.0-or-later
/* cluster: what one host publishes, another sees; and how a dead host is noticed. */
#include <unistd.h>

#include "tests/unit/cluster_rig.h"
#include "tests/unit/unit.h"

static int none(void **state)
{
	*state = sites_new();
	return 0;
}

static int pair(void **state)
{
	*state = sites_pair();
	return 0;
}

static int finish(void **state)
{
	sites_free(*state);
	return 0;
}

/* --- hosts ------------------------------------------------------------------------ */

TEST_WITH(hosts__two_begin__each_sees_the_other_and_itself, pair, finish)
{
	struct sites *s = *state;
	struct cluster_seen x;

	for (int n = 1; n <= 2; n++) {
		x = site_sees(s, n, n);
		assert_int_equal(x.state, CLUSTER_SELF);
		x = site_sees(s, n, 3 - n);
		assert_int_equal(x.state, CLUSTER_UP);
		assert_true(x.member);
		assert_in_range(x.age_ns, 0, BEAT + SCAN + MS);
		assert_string_equal(x.note, "");
		x = site_sees(s, n, 3);
		assert_int_equal(x.state, CLUSTER_DOWN);
		assert_true(x.member); /* by a static membership */
		assert_int_equal(x.age_ns, -1);
		assert_null(x.host);
		assert_int_equal(x.guests, 0);
		assert_non_null(strstr(x.note, "not seen yet"));
	}
	assert_true(site_has_event(s, 1, "host", "xen2: its memory can be read, generation 1"));
	assert_int_equal(rig_events(s->at[1].g, "alarm"), 0);
	site_until(s, site_sees(s, 1, 1).host != NULL);
	assert_string_equal(site_sees(s, 1, 1).host->name, "xen1");
}

TEST_WITH(host__what_it_publishes__is_what_the_other_sees, pair, finish)
{
	struct sites *s = *state;
	struct snapshot *sn = site_snap(s, 2);
	const struct region_host *h;
	struct hostset members;
	uint64_t view;
	bool quorate;

	sn->epoch = 4711;
	sn->supply.m = 5 * RESO_MILLI + 7;
	snap_publish(&s->at[2].g->ho);
	site_until(s, site_sees(s, 1, 2).host->epoch == 4711);
	h = site_sees(s, 1, 2).host;
	cluster_members(s->at[2].c, &view, &members, &quorate);
	assert_int_equal(h->supply_m, 5 * RESO_MILLI + 7);
	assert_int_equal(h->wall_ns, WALL);
	assert_int_equal(h->generation, 1);
	assert_int_equal(h->view, view);
	assert_memory_equal(h->members, members.word, sizeof(h->members));
	assert_int_equal(members.word[0], 7);
	assert_int_equal(hostset_count(&members), 3);
	assert_true(h->quorate && quorate);
	assert_int_equal(h->links, 2);
	assert_int_equal(h->link_bytes_s, 2ull << 30);
	assert_int_equal(h->cpus, sysconf(_SC_NPROCESSORS_ONLN));
	assert_int_equal(h->flags, 0); /* its hypervisor is real */
	assert_int_equal(h->services, 2);
	assert_string_equal(h->name, "xen2");
	assert_string_equal(h->policy, "freemarket");
	assert_true(h->version[0]);
}

TEST_WITH(host__of_the_simulator__says_so, pair, finish)
{
	struct sites *s = *state;

	s->at[2].g->hv.simulated = true;
	site_until(s, site_sees(s, 1, 2).host->flags == REGION_HOST_SIMULATED);
	assert_int_equal(site_sees(s, 2, 1).host->flags, 0);
}

TEST_WITH(heartbeat__seen_after_the_time_of_a_call__is_new, pair, finish)
{
	struct sites *s = *state;
	struct cluster_seen x;

	s->now.ns -= NS_PER_S;
	x = site_sees(s, 1, 2);
	s->now.ns += NS_PER_S;
	assert_int_equal(x.age_ns, 0);
	assert_in_range(x.figures_age_ns, 0, 2 * BEAT);
}

TEST_WITH(heartbeat__goes_on__the_other_sees_it_within_a_heartbeat_and_a_scan, pair, finish)
{
	struct sites *s = *state;

	for (int i = 0; i < 5000; i++) {
		sites_ms(s);
		assert_in_range(site_sees(s, 1, 2).age_ns, 0, BEAT + SCAN + MS);
		assert_int_equal(site_sees(s, 1, 2).state, CLUSTER_UP);
	}
}

TEST_WITH(heartbeat__stops__host_is_silent_with_its_guests_and_then_up_again, pair, finish)
{
	struct sites *s = *state;
	struct mono since;
	struct cluster_seen x;

	rig_create(s->at[2].g, 7, 7);
	site_settle(s, 2);
	site_until(s, site_guest(s, 1, 2, "guest-7"));
	s->at[2].stopped = true;
	since = s->now;
	site_until(s, site_sees(s, 1, 2).state == CLUSTER_SILENT);
	assert_in_range(mono_sub(s->now, since), SILENT_AFTER - BEAT - SCAN,
			SILENT_AFTER + BEAT + SCAN);
	x = site_sees(s, 1, 2);
	assert_true(x.age_ns > SILENT_AFTER);
	assert_non_null(strstr(x.note, "no heartbeat for "));
	sites_pass(s, 60 * NS_PER_S); /* and stays so: its memory needs none of its time */
	assert_int_equal(site_sees(s, 1, 2).state, CLUSTER_SILENT);
	assert_non_null(site_guest(s, 1, 2, "guest-7"));
	s->at[2].stopped = false;
	site_until(s, site_sees(s, 1, 2).state == CLUSTER_UP);
	assert_string_equal(site_sees(s, 1, 2).note, "");
	assert_int_equal(site_sees(s, 1, 2).host->generation, 1);
	assert_false(site_has_event(s, 1, "host", "cannot be read any more"));
}

/* The two are of two threads: who sees one of them alive knows nothing of the other. */
TEST_WITH(figures__control_is_busy__grow_old_and_say_so_while_the_heartbeat_goes_on, pair, finish)
{
	struct sites *s = *state;
	struct cluster_seen x = site_sees(s, 1, 2);

	assert_in_range(x.figures_age_ns, 0, 2 * BEAT + SCAN + MS);
	s->at[2].busy = true;
	rig_create(s->at[2].g, 7, 7);
	site_settle(s, 2);
	for (int i = 0; i < 60000; i++) {
		sites_ms(s);
		x = site_sees(s, 1, 2);
		assert_in_range(x.age_ns, 0, BEAT + SCAN + MS);
		assert_int_equal(x.state, CLUSTER_UP);
		assert_int_equal(x.guests, 0); /* those of the last publication */
		if (x.figures_age_ns < SILENT_AFTER)
			assert_string_equal(x.note, "");
	}
	assert_in_range(x.figures_age_ns, 60 * NS_PER_S - BEAT, 60 * NS_PER_S + BEAT + SCAN + MS);
	assert_non_null(strstr(x.note, "its heartbeat goes on, but its figures are "));
	assert_true(site_sees(s, 2, 2).note[0]); /* it says so of itself */
	s->at[2].busy = false;
	site_until(s, !site_sees(s, 1, 2).note[0]);
	assert_in_range(site_sees(s, 1, 2).figures_age_ns, 0, 2 * BEAT + SCAN + MS);
	site_until(s, site_guest(s, 1, 2, "guest-7"));
}

/* Before it there is no record of the host: its name and its guests would be missing. */
TEST_WITH(heartbeat__before_the_first_publication__does_not_come_but_then_at_once, none, finish)
{
	struct sites *s = *state;

	site_open(s, 1);
	site_open(s, 2);
	s->at[2].busy = true;
	sites_pass(s, 5 * NS_PER_S);
	assert_int_equal(site_sees(s, 1, 2).state, CLUSTER_SILENT);
	assert_null(site_sees(s, 1, 2).host);
	assert_int_equal(site_sees(s, 1, 2).figures_age_ns, -1);
	s->at[2].busy = false;
	sites_ms(s); /* not when the next heartbeat is due, which may be long after */
	assert_true(s->at[2].c->worker.published);
	site_until_up(s, 1, 2, 1);
	assert_string_equal(site_sees(s, 1, 2).host->name, "xen2");
}

TEST_WITH(notices__more_than_control_has_shown__are_counted_in_the_log, pair, finish)
{
	struct sites *s = *state;
	struct log *log = &s->at[1].g->log;
	const struct notice alarm = { .wall_ns = WALL, .kind = "alarm", .text = "again" };
	uint32_t before = rig_events(s->at[1].g, "alarm");
	char text[65536] = "";

	close(log->fd);
	log->fd = open(tmp_at(&s->dir, "log"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	for (int i = 0; i < NOTICES_ROOM + 44; i++)
		exchange_notice(s->at[1].c->x, &alarm);
	sites_ms(s);
	assert_int_equal(rig_events(s->at[1].g, "alarm") - before, NOTICES_ROOM);
	exchange_notice(s->at[1].c->x, &alarm);
	sites_ms(s);
	assert_int_equal(rig_events(s->at[1].g, "alarm") - before, NOTICES_ROOM + 1);
	assert_true(pread(log->fd, text, sizeof(text) - 1, 0) > 0);
	assert_non_null(strstr(text, "cluster: 44 events of other hosts are lost"));
	assert_null(strstr(strstr(text, "are lost") + 1, "are lost")); /* it is said once */
}

TEST_WITH(process__killed_and_begun_again__is_down_then_up_with_guests_anew, pair, finish)
{
	struct sites *s = *state;
	struct cluster_seen x;

	rig_create(s->at[2].g, 7, 7);
	site_settle(s, 2);
	site_until(s, site_guest(s, 1, 2, "guest-7"));
	site_kill(s, 2);
	site_until(s, site_sees(s, 1, 2).state == CLUSTER_DOWN);
	x = site_sees(s, 1, 2);
	assert_true(x.note[0]);
	assert_true(site_has_event(s, 1, "host", "xen2: its memory cannot be read any more: "));
	assert_non_null(site_guest(s, 1, 2, "guest-7")); /* the last that was known, with its age */
	sites_pass(s, 20 * NS_PER_S);
	assert_true(site_sees(s, 1, 2).age_ns >= 20 * NS_PER_S);
	assert_true(site_sees(s, 1, 2).note[0]);
	rig_destroy(s->at[2].g, 7);
	rig_create(s->at[2].g, 8, 8);
	site_settle(s, 2);
	site_open(s, 2);
	site_until_up(s, 1, 2, 2);
	assert_string_equal(site_sees(s, 1, 2).note, "");
	assert_null(site_guest(s, 1, 2, "guest-7"));
	assert_non_null(site_guest(s, 1, 2, "guest-8"));
	assert_true(site_has_event(s, 1, "host", "xen2: its memory can be read, generation 2"));
	assert_int_equal(rig_events(s->at[1].g, "alarm"), 0);
}

TEST_WITH(process__restarts_within_a_heartbeat_gap__is_up_only_once_it_was_read_anew, pair, finish)
{
	struct sites *s = *state;
	struct cluster_seen x;

	site_kill(s, 2);
	site_until(s, site_sees(s, 1, 2).state == CLUSTER_DOWN);
	site_open(s, 2);
	site_until(s, site_sees(s, 1, 2).state != CLUSTER_DOWN);
	x = site_sees(s, 1, 2);
	assert_int_equal(x.state, CLUSTER_SILENT);
	assert_true(x.age_ns <= SILENT_AFTER); /* the age alone would call it up */
	assert_int_equal(x.host->generation, 1);
	assert_non_null(strstr(x.note, "has started again"));
	site_until(s, site_sees(s, 1, 2).state == CLUSTER_UP);
	assert_int_equal(site_sees(s, 1, 2).host->generation, 2);
	assert_string_equal(site_sees(s, 1, 2).note, "");
}

static bool says_down(struct sites *s)
{
	return strstr(rig_event(s->at[1].g, "host")->text, "cannot be read any more");
}

TEST_WITH(process__restarts_again_and_again__few_events_and_the_last_state, pair, finish)
{
	struct sites *s = *state;
	uint32_t before = rig_events(s->at[1].g, "host");

	for (int i = 0; i < 40 || !says_down(s); i++) {
		site_kill(s, 2);
		site_until(s, site_sees(s, 1, 2).state == CLUSTER_DOWN);
		site_open(s, 2);
		site_until(s, site_sees(s, 1, 2).state == CLUSTER_UP);
	}
	/* At least 80 changes of the link, faster than the limit allows events. */
	assert_in_range(rig_events(s->at[1].g, "host") - before, 2, 40);
	/* It is up now; the limit kept the last event back, and it comes later. */
	sites_pass(s, 11 * NS_PER_S);
	assert_false(says_down(s));
	site_kill(s, 2);
	sites_pass(s, 11 * NS_PER_S);
	assert_true(says_down(s));
}

TEST_WITH(process__restarted_with_an_older_generation__is_refused_with_an_alarm, pair, finish)
{
	struct sites *s = *state;

	site_kill(s, 2);
	tmp_write(&s->at[2].g->dir, "generation", "40\n");
	site_open(s, 2);
	site_until_up(s, 1, 2, 41);
	site_kill(s, 2);
	site_until(s, site_sees(s, 1, 2).state == CLUSTER_DOWN);
	tmp_write(&s->at[2].g->dir, "generation", "5\n");
	site_open(s, 2);
	site_until(s, rig_events(s->at[1].g, "alarm"));
	sites_pass(s, 10 * NS_PER_S);
	assert_int_equal(site_sees(s, 1, 2).state, CLUSTER_DOWN);
	assert_int_equal(site_sees(s, 1, 2).host->generation, 41);
	/* The alarm has the number that must be written into the file. */
	assert_true(
		site_has_event(s, 1, "alarm", "it comes with a generation below 41: file lost, "));
	assert_non_null(strstr(site_sees(s, 1, 2).note, "a generation below 41: file lost, "));
	/* When it no longer calls, it is down for another reason. */
	site_kill(s, 2);
	sites_pass(s, 20 * NS_PER_S);
	assert_int_equal(site_sees(s, 1, 2).state, CLUSTER_DOWN);
	assert_null(strstr(site_sees(s, 1, 2).note, "a generation below"));
	assert_non_null(strstr(site_sees(s, 1, 2).note, "host 2 (xen2): "));
}

TEST_WITH(services__configured__are_published_as_they_are, none, finish)
{
	struct cluster_conf conf = { .services = 2,
				     .service = { { .name = "web",
						    .number = 1,
						    .minimum = 2,
						    .balancers = { { 1ull << 63 | 1 } },
						    .more = 1ull << 62 | 7 },
						  { .name = "mail", .number = 255 } } };
	struct region_service out[CLUSTER_SERVICES_MAX];

	memset(out, 0x5a, sizeof(out));
	assert_int_equal(publish_services(&conf, out), 2);
	assert_string_equal(out[0].name, "web");
	assert_int_equal(out[0].service, 1);
	assert_int_equal(out[0].minimum, 2);
	assert_int_equal(out[0].balancers[0], 1ull << 63 | 1);
	assert_true(out[0].more == (1ull << 62 | 7) && out[1].more == 0);
	assert_string_equal(out[1].name, "mail");
	assert_int_equal(out[1].service, 255);
	assert_int_equal(out[1].minimum, 0);
	for (int i = 0; i < REGION_SET_WORDS; i++) {
		assert_int_equal(out[1].balancers[i], 0);
		assert_true(!i || out[0].balancers[i] == 0);
	}
}

/* --- guests ----------------------------------------------------------------------- */

TEST_WITH(guest__comes_and_goes__is_seen_within_a_heartbeat_and_a_scan, pair, finish)
{
	struct sites *s = *state;

	assert_int_equal(site_sees(s, 1, 2).guests, 0);
	rig_create(s->at[2].g, 7, 7);
	site_settle(s, 2);
	sites_pass(s, BEAT + SCAN + MS);
	assert_non_null(site_guest(s, 1, 2, "guest-7"));
	rig_destroy(s->at[2].g, 7);
	site_settle(s, 2);
	sites_pass(s, BEAT + SCAN + MS);
	assert_int_equal(site_sees(s, 1, 2).guests, 0);
}

TEST_WITH(guest__sampled__its_figures_arrive_to_the_unit, pair, finish)
{
	struct sites *s = *state;
	struct snap_guest *x;
	const struct region_guest *r;

	strcpy(rig_create(s->at[2].g, 7, 0xab)->name, "web");
	site_settle(s, 2);
	x = &site_snap(s, 2)->guest[0];
	x->account.allocated.m = 624288123;
	x->account.balance.m = -5;
	x->applied = (struct cap){ .limited = true, .mpct = 12500 };
	x->rings = 9;
	x->total_usage.mtus_sent = UINT64_MAX;
	x->total_usage.mtus_recv = 1ull << 40;
	x->total_usage.cpu_ns = 123456789012345;
	x->latency.mean_ns = 209500;
	snap_publish(&s->at[2].g->ho);
	site_until(s, (r = site_guest(s, 1, 2, "web")) && r->rings == 9);
	assert_int_equal(r->domid, 7);
	for (size_t i = 0; i < sizeof(r->uuid); i++)
		assert_int_equal(r->uuid[i], 0xab);
	assert_int_equal(r->allocated_m, 624288123);
	assert_int_equal(r->balance_m, -5);
	assert_int_equal(r->cap_mpct, 12500);
	assert_int_equal(r->mtus_sent, UINT64_MAX);
	assert_int_equal(r->mtus_recv, 1ull << 40);
	assert_int_equal(r->cpu_ns, 123456789012345);
	assert_int_equal(r->latency_ns, 209500);
	assert_int_equal(r->vcpus, 1);
	assert_int_equal(r->weight, 256);
	assert_int_equal(r->flags, REGION_GUEST_CAPPED | REGION_GUEST_CAPPABLE);
}

TEST_WITH(guest__not_sampled_yet__has_the_cap_of_its_own, pair, finish)
{
	struct sites *s = *state;
	const struct region_guest *r;

	rig_create(s->at[2].g, 7, 7)->params.cap = CAP_PERCENT(80);
	site_settle(s, 2);
	site_until(s, (r = site_guest(s, 1, 2, "guest-7")));
	assert_true(r->flags & REGION_GUEST_CAPPED);
	assert_int_equal(r->cap_mpct, 80000);
	assert_int_equal(r->rings, 0);
}

static uint32_t seen_flags(struct sites *s)
{
	sites_pass(s, BEAT + SCAN + MS);
	return site_guest(s, 1, 2, "guest-7")->flags & ~(uint32_t)REGION_GUEST_CAPPABLE;
}

TEST_WITH(guest__each_of_its_states__is_a_flag, pair, finish)
{
	struct sites *s = *state;
	struct guest_entry *g;

	rig_create(s->at[2].g, 7, 7);
	site_settle(s, 2);
	g = rig_guest(s->at[2].g, "7");
	site_until(s, site_guest(s, 1, 2, "guest-7"));
	assert_int_equal(seen_flags(s), 0);
	g->conf.exempt = true;
	assert_int_equal(seen_flags(s), REGION_GUEST_EXEMPT);
	g->conf.exempt = false;
	g->released = true;
	assert_int_equal(seen_flags(s), REGION_GUEST_RELEASED);
	g->released = false;
	g->paused = true;
	assert_int_equal(seen_flags(s), REGION_GUEST_OBSERVED);
	g->paused = false;
	s->at[2].g->gs->paused = true; /* pause of all guests */
	assert_int_equal(seen_flags(s), REGION_GUEST_OBSERVED);
	s->at[2].g->gs->paused = false;
	g->dom_flags |= HV_DOM_PAUSED;
	assert_int_equal(seen_flags(s), REGION_GUEST_PAUSED);
	g->dom_flags &= ~(uint32_t)HV_DOM_PAUSED;
	g->check.cross.diverges = true;
	assert_int_equal(seen_flags(s), REGION_GUEST_DIVERGES);
	g->check.cross.diverges = false;
	g->cappable = false;
	sites_pass(s, BEAT + SCAN + MS);
	assert_int_equal(site_guest(s, 1, 2, "guest-7")->flags, 0);
	g->leaving = true; /* it is gone, and the sampler does not know yet */
	sites_pass(s, BEAT + SCAN + MS);
	assert_null(site_guest(s, 1, 2, "guest-7"));
	g->leaving = false;
}

TEST_WITH(guest__any_name__arrives_and_hides_no_other, pair, finish)
{
	static const char long_name[] =
		"a-name-of-sixty-three-bytes-which-is-all-there-is-room-for-xxxx";
	struct sites *s = *state;
	struct guests_rig *g = s->at[2].g;

	assert_int_equal(strlen(long_name), 63);
	strcpy(rig_create(g, 3, 3)->name, long_name);
	rig_create(g, 4, 4)->name[0] = 0;
	strcpy(rig_create(g, 5, 5)->name, "caf\xc3\xa9\xff\x1b[2J");
	strcpy(rig_create(g, 6, 6)->name, "plain");
	site_settle(s, 2);
	/* Also flags that this host never publishes together. */
	memcpy(rig_guest(g, "6")->name, "\xe2\x82\xff\n\x7f", 6);
	site_until(s, site_sees(s, 1, 2).guests == 4);
	assert_non_null(site_guest(s, 1, 2, long_name));
	assert_non_null(site_guest(s, 1, 2, "domain-4"));
	for (uint32_t i = 0; i < 4; i++) {
		const char *name = site_sees(s, 1, 2).guest[i].name;

		assert_true(name[0]);
		for (; *name; name++)
			assert_true((unsigned char)*name >= 0x20 && *name != 0x7f);
	}
	assert_int_equal(site_sees(s, 1, 2).state, CLUSTER_UP);
}

TEST_WITH(guests__256__are_all_seen_and_none_again, pair, finish)
{
	struct sites *s = *state;
	char name[32];

	for (uint32_t i = 1; i <= REGION_GUESTS_MAX; i++)
		rig_create(s->at[2].g, i, (uint8_t)i);
	site_settle(s, 2);
	site_until(s, site_sees(s, 1, 2).guests == REGION_GUESTS_MAX);
	for (uint32_t i = 1; i <= REGION_GUESTS_MAX; i++) {
		snprintf(name, sizeof(name), "guest-%u", i);
		assert_int_equal(site_guest(s, 1, 2, name)->domid, i);
	}
	assert_int_equal(site_sees(s, 1, 2).host->guests, REGION_GUESTS_MAX);
	for (uint32_t i = 1; i <= REGION_GUESTS_MAX; i++)
		rig_destroy(s->at[2].g, i);
	site_settle(s, 2);
	site_until(s, !site_sees(s, 1, 2).guests);
	assert_int_equal(site_sees(s, 1, 2).state, CLUSTER_UP);
}

/* --- hosts that do not belong to the cluster --------------------------------------- */

static void assert_strangers(struct sites *s)
{
	site_open(s, 1);
	site_open(s, 2);
	site_until(s, rig_events(s->at[1].g, "alarm") && rig_events(s->at[2].g, "alarm"));
	sites_pass(s, 20 * NS_PER_S);
	for (int n = 1; n <= 2; n++) {
		struct cluster_seen x = site_sees(s, n, 3 - n);

		assert_int_equal(x.state, CLUSTER_DOWN);
		assert_null(x.host);
		assert_int_equal(x.age_ns, -1);
		assert_true(x.note[0]);
		assert_int_equal(site_sees(s, n, n).state, CLUSTER_SELF);
	}
}

TEST_WITH(key__another__is_an_alarm_and_never_seen, none, finish)
{
	struct sites *s = *state;

	site_key(s, "key2", "0123456789abcdef0123456789abcdeF\n");
	assert_strangers(s);
	assert_true(site_has_event(s, 1, "alarm", "key"));
	assert_non_null(strstr(site_sees(s, 1, 2).note, "give all hosts the same key"));
	assert_false(site_has_event(s, 1, "alarm", "0123456789"));
	/* The operator mends the key and starts it again. */
	site_kill(s, 2);
	site_key(s, "key2", "0123456789abcdef0123456789abcdef");
	site_open(s, 2);
	site_until_up(s, 1, 2, 2);
	assert_string_equal(site_sees(s, 1, 2).note, "");
}

TEST_WITH(alarm__the_same_again__is_an_event_once_a_minute_until_the_link_is_up, none, finish)
{
	struct sites *s = *state;
	uint32_t first, later;

	site_key(s, "key2", "0123456789abcdef0123456789abcdeF\n");
	assert_strangers(s);
	first = rig_events(s->at[1].g, "alarm");
	sites_pass(s, 25 * NS_PER_S);
	assert_int_equal(rig_events(s->at[1].g, "alarm"), first);
	assert_false(site_has_event(s, 1, "alarm", "more since the event before)"));
	sites_pass(s, 60 * NS_PER_S);
	later = rig_events(s->at[1].g, "alarm");
	assert_in_range(later - first, 1, 2); /* of host 2, and of a caller without proof */
	assert_true(site_has_event(s, 1, "alarm", "more since the event before)"));
	site_kill(s, 2);
	site_key(s, "key2", "0123456789abcdef0123456789abcdef");
	site_open(s, 2);
	site_until_up(s, 1, 2, 2);
	site_kill(s, 2);
	site_key(s, "key2", "0123456789abcdef0123456789abcdeF\n");
	site_open(s, 2);
	sites_pass(s, 5 * NS_PER_S);
	assert_true(rig_events(s->at[1].g, "alarm") > later);
}

TEST_WITH(cluster__of_another_name__is_an_alarm_and_never_seen, none, finish)
{
	struct sites *s = *state;

	site_write(s, 2, "prod", SITE_TIMES);
	assert_strangers(s);
	assert_true(site_has_event(s, 1, "alarm", "cluster"));
}

TEST_WITH(number__used_already__is_refused_with_the_host_that_has_it, none, finish)
{
	struct sites *s = *state;
	struct conf_error e = { 0 };
	char text[1024];

	site_open(s, 1);
	snprintf(text, sizeof(text),
		 "{\"cluster\": \"test\", \"host\": \"twin\", \"transport\": \"shm\","
		 " \"key_file\": \"%s/key2\", \"hosts\": [{\"name\": \"twin\","
		 " \"number\": 1, \"address\": \"%s\"}]}",
		 s->dir.path, s->dir.path);
	tmp_write(&s->dir, "c2.json", text);
	assert_int_equal(site_try(s, 2, &e), -EADDRINUSE);
	assert_null(s->at[2].c);
	assert_non_null(strstr(e.text, "another process serves as host 1"));
	sites_pass(s, NS_PER_S);
	assert_int_equal(site_sees(s, 1, 1).state, CLUSTER_SELF); /* it is not disturbed */
	assert_int_equal(rig_events(s->at[1].g, "alarm"), 0);
}

/* --- when it wants to be called ------------------------------------------------------ */

/* In ten idle seconds: heartbeats and scans, and what they read; nothing more. */
TEST_WITH(work__idle__is_called_for_heartbeats_and_scans_alone, pair, finish)
{
	struct sites *s = *state;
	const uint64_t beats = 10 * NS_PER_S / BEAT, scans = 10 * NS_PER_S / SCAN;
	uint64_t beat, calls;

	sites_pass(s, NS_PER_S);
	beat = site_sees(s, 1, 1).host->beat;
	calls = s->at[1].calls;
	sites_pass(s, 10 * NS_PER_S);
	calls = s->at[1].calls - calls;
	/* a scan's results come in few calls; xen3, which is not there, is called now and then */
	assert_in_range(calls, beats, beats + 6 * scans + 60);
	assert_in_range(site_sees(s, 1, 1).host->beat - beat, beats - SCAN / BEAT - 1,
			beats + SCAN / BEAT + 1);
}

TEST_WITH(work__late_by_hours__does_not_make_up_for_what_it_missed, pair, finish)
{
	struct sites *s = *state;
	uint64_t calls = s->at[1].calls;

	s->now.ns += 3 * 3600 * NS_PER_S;
	sites_pass(s, NS_PER_S);
	assert_in_range(s->at[1].calls - calls, 10, 150);
	site_until(s, site_sees(s, 1, 2).state == CLUSTER_UP);
}

TEST_WITH(work__host_alone_of_256__stays_quiet, none, finish)
{
	struct sites *s = *state;
	struct cluster_seen x;
	char *text = malloc(1 << 16);
	int at;

	assert_non_null(text);
	at = snprintf(text, 1 << 16,
		      "{\"cluster\": \"test\", \"host\": \"h1\", \"transport\": \"shm\","
		      " \"key_file\": \"%s/key1\", \"hosts\": [",
		      s->dir.path);
	for (int i = 1; i <= REGION_HOSTS_MAX; i++)
		at += snprintf(text + at, (size_t)((1 << 16) - at),
			       "%s{\"name\": \"h%d\", \"number\": %d, \"address\": \"%s\"}",
			       i > 1 ? "," : "", i, i, s->dir.path);
	snprintf(text + at, (size_t)((1 << 16) - at), "]}");
	tmp_write(&s->dir, "c1.json", text);
	free(text);
	site_open(s, 1);
	sites_pass(s, 10 * NS_PER_S);
	for (uint32_t i = 0; i < REGION_HOSTS_MAX; i++) {
		cluster_see(s->at[1].c, i, s->now, &x);
		assert_int_equal(x.state, i ? CLUSTER_DOWN : CLUSTER_SELF);
		assert_true(!i || x.note[0]);
		assert_true(x.member);
	}
	for (int i = 0; i < REGION_SET_WORDS; i++)
		assert_int_equal(site_sees(s, 1, 1).host->members[i], UINT64_MAX);
	assert_int_equal(rig_events(s->at[1].g, "alarm"), 0);
	/* 255 that are called every 2 s at the most, after the first few times */
	assert_in_range(s->at[1].calls, 100, 4000);
}

/* Links are opened again when that is due, however long the heartbeat's period. */
TEST_WITH(work__slow_heartbeat__links_do_not_wait_for_it, none, finish)
{
	struct sites *s = *state;
	struct mono since;

	for (int n = 1; n <= 2; n++) {
		site_write(s, n, "test", "\"heartbeat\": \"10s\", \"scan\": \"60s\"");
		site_open(s, n);
	}
	sites_pass(s, 3 * NS_PER_S);
	site_kill(s, 2);
	site_until(s, site_sees(s, 1, 2).state == CLUSTER_DOWN);
	site_open(s, 2);
	since = s->now;
	site_until(s, site_sees(s, 1, 2).state != CLUSTER_DOWN);
	assert_true(mono_sub(s->now, since) < 3 * NS_PER_S); /* the longest pause is 2 s */
}

/* --- open ------------------------------------------------------------------------------- */

TEST_WITH(open__cannot__says_one_sentence_and_leaves_nothing, none, finish)
{
	static const struct {
		const char *cluster, *more;
		int rc;
		const char *says;
	} rows[] = {
		{ "", "\"drift\": 1", -EINVAL, "c1.json:1:" },
		{ "test", "\"frobnicate\": 1", -EINVAL, "frobnicate" },
		{ "test", "\"scan\": \"1ms\"", -EINVAL, "scan" },
		{ "test", "\"callers\": 257", -EINVAL, "callers" },
	};
	struct sites *s = *state;
	struct conf_error e;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(&e, 0, sizeof(e));
		site_write(s, 1, rows[i].cluster, rows[i].more);
		assert_int_equal(site_try(s, 1, &e), rows[i].rc);
		assert_non_null(strstr(e.text, rows[i].says));
		assert_null(strchr(e.text, '\n'));
		assert_null(s->at[1].c);
	}
	assert_false(tmp_exists(&s->at[1].g->dir, "generation")); /* no start was counted */
	site_write(s, 1, "test", SITE_TIMES);
	unlink(tmp_at(&s->dir, "key1"));
	assert_int_equal(site_try(s, 1, &e), -ENOENT);
	assert_non_null(strstr(e.text, "the key is missing"));
	site_write(s, 1, "test", SITE_TIMES);
	tmp_write(&s->at[1].g->dir, "generation", "many\n");
	assert_int_equal(site_try(s, 1, &e), -EINVAL);
	assert_non_null(strstr(e.text, "generation must be a number"));
}

TEST_WITH(generation__each_open__is_counted_up_and_shown, none, finish)
{
	struct sites *s = *state;
	char buf[32];

	for (uint64_t i = 1; i <= 3; i++) {
		site_open(s, 1);
		site_until(s, site_sees(s, 1, 1).host);
		assert_int_equal(site_sees(s, 1, 1).host->generation, i);
		assert_int_equal(atoi(tmp_read(&s->at[1].g->dir, "generation", buf, sizeof(buf))),
				 i);
		site_kill(s, 1);
	}
}
