// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guests_cross: counters read and compared, and what is told of it. The
 * counters are the test's, and so are the snapshots: guests web and bulk.
 */
#include "tests/unit/control_rig.h"
#include "tests/unit/unit.h"

#define MB 1000000ull

enum { WEB = 4, BULK = 5 };

/* What the counters say next, by domain id; of links, by the port's number. */
static struct fake {
	struct counter_value guest[8], port[8];
	int guest_rc[8], port_rc[8];
	uint32_t reads;
} fake;

static int read_guest(struct counters *c, const struct counter_name *n, uint32_t domid,
		      struct counter_value *v)
{
	(void)c;
	(void)n;
	fake.reads++;
	assert_true(domid < 8);
	if (!fake.guest_rc[domid])
		*v = fake.guest[domid];
	return fake.guest_rc[domid];
}

static int read_port(struct counters *c, const struct counter_name *n, uint32_t domid,
		     struct counter_value *v)
{
	(void)c;
	(void)domid;
	assert_true(n->number < 8);
	if (!fake.port_rc[n->number])
		*v = fake.port[n->number];
	return fake.port_rc[n->number];
}

static const struct counter_ops fake_vif = { COUNTER_VIF, "vif", read_guest };
static const struct counter_ops fake_vf = { COUNTER_VF, "vf", read_guest };
static const struct counter_ops fake_port = { COUNTER_PORT, "port", read_port };
static const struct counter_ops *const fakes[] = { &fake_vif, &fake_vf, &fake_port, NULL };

static struct usage claims[8]; /* by domain id */
static uint64_t starved;

static int setup(void **state)
{
	struct guests_rig *g;
	int rc = call_setup(state);

	g = *state;
	memset(&fake, 0, sizeof(fake));
	memset(claims, 0, sizeof(claims));
	starved = 0;
	g->gs->counters.ops = fakes;
	return rc;
}

/* The sampler publishes what is claimed so far. */
static void publish(struct guests_rig *g)
{
	struct snapshot *sn = snap_of_set(g);

	for (uint32_t i = 0; i < sn->guests; i++)
		sn->guest[i].total_usage = claims[sn->guest[i].key.domid];
	sn->starved_ticks = starved;
	snap_publish(&g->ho);
}

static void claim(uint32_t domid, uint64_t bytes)
{
	claims[domid].bytes_sent += bytes;
	claims[domid].mtus_sent += bytes / 1024;
	claims[domid].wrs += bytes / 65536;
}

/* Time goes on to the next window; all that is due is done. */
static void next_window(struct guests_rig *g)
{
	g->now.ns += NS_PER_S;
	publish(g);
	guests_cross(g->gs, g->now, WALL);
}

/* So many windows in which bulk sends this and claims that. */
static void bulk_sends(struct guests_rig *g, int windows, uint64_t sent, uint64_t claimed)
{
	while (windows--) {
		fake.guest[BULK].bytes_sent += sent;
		claim(BULK, claimed);
		next_window(g);
	}
}

static const json_t *counter_of(struct guests_rig *g, const char *name)
{
	return json_object_get(row(ask(g, "ring-list", ""), "guests", name), "counter");
}

/* --- a guest ------------------------------------------------------------------------ */

TEST_WITH(guest__hides_what_it_sends__is_flagged_and_told_everywhere, setup, call_teardown)
{
	struct guests_rig *g = *state;
	const json_t *c;

	next_window(g);
	bulk_sends(g, 1, 200 * MB, 0);
	assert_int_equal(rig_events(g, "divergence"), 0);
	bulk_sends(g, 3, 200 * MB, 0);
	assert_int_equal(rig_events(g, "divergence"), 1);
	assert_string_equal(rig_event(g, "divergence")->guest, "bulk");
	assert_string_equal(rig_event(g, "divergence")->text,
			    "vif counts 200000000 bytes/s that its queue pairs do not explain");
	c = counter_of(g, "bulk");
	assert_true(json_is_true(json_object_get(c, "diverges")));
	assert_string_equal(str(c, "source"), "vif");
	assert_string_equal(str(c, "error"), "");
	assert_int_equal(num(c, "windows"), 4);
	assert_int_equal(num(c, "sent_bytes"), 800 * MB);
	assert_int_equal(num(c, "explained_bytes"), 0);
	assert_int_equal(num(c, "sent_bytes_s"), 200 * MB);
	assert_int_equal(num(c, "unexplained_bytes_s"), 200 * MB);
	assert_true(json_is_false(json_object_get(counter_of(g, "web"), "diverges")));
	assert_non_null(strstr(str(row(ask(g, "why", ""), "guests", "bulk"), "text"),
			       "; vif counts 200000000 bytes/s that its queue pairs do not "
			       "explain: queue pairs it hides"));
	assert_null(strstr(str(row(ask(g, "why", ""), "guests", "web"), "text"), "vif"));
	assert_true(json_is_true(
		json_object_get(row(ask(g, "list", ""), "guests", "bulk"), "diverges")));
}

/* A tick comes late in this window, and so many entries of bulk's queue are overwritten. */
static void starve(struct guests_rig *g, uint64_t lost)
{
	starved++;
	claims[BULK].lost += lost;
	bulk_sends(g, 1, 200 * MB, 0);
}

TEST_WITH(guest__its_claims_were_lost_while_the_host_was_late__is_not_accused, setup, call_teardown)
{
	struct guests_rig *g = *state;

	next_window(g);
	for (int i = 0; i < 5; i++)
		starve(g, 1);
	assert_int_equal(rig_events(g, "divergence"), 0);
	assert_int_equal(rig_events(g, "host-late"), 1);
	assert_non_null(
		strstr(rig_event(g, "host-late")->text, "a tick came more than 50 ms late"));
	assert_int_equal(num(counter_of(g, "bulk"), "skipped"), 5);
	assert_int_equal(num(counter_of(g, "bulk"), "windows"), 0);
	bulk_sends(g, 2, 200 * MB, 0);
	assert_int_equal(rig_events(g, "divergence"), 1);
	starve(g, 1);
	assert_int_equal(rig_events(g, "host-late"), 2);
	assert_int_equal(rig_events(g, "divergence-end"), 0);
}

/* One late tick is no excuse for what is lost in later windows. */
TEST_WITH(guest__claims_are_lost_long_after_the_host_was_late__is_accused, setup, call_teardown)
{
	struct guests_rig *g = *state;

	next_window(g);
	starve(g, 1);
	for (int i = 0; i < 2; i++) {
		claims[BULK].lost++;
		bulk_sends(g, 1, 200 * MB, 0);
	}
	assert_int_equal(num(counter_of(g, "bulk"), "skipped"), 1);
	assert_int_equal(rig_events(g, "divergence"), 1);
}

/* Else a guest could hide behind every late tick. */
TEST_WITH(guest__nothing_was_lost_while_the_host_was_late__is_accused, setup, call_teardown)
{
	struct guests_rig *g = *state;

	next_window(g);
	claims[BULK].lost = 7;
	bulk_sends(g, 1, 0, 0);
	for (int i = 0; i < 3; i++)
		starve(g, 0);
	assert_int_equal(rig_events(g, "divergence"), 1);
	assert_int_equal(rig_events(g, "host-late"), 0);
}

/* The counters were read within so long after the time of the reading. */
static void read_within(struct guests_rig *g, int64_t ns)
{
	g->now.ns += NS_PER_S;
	fake.guest[BULK].bytes_sent += 200 * MB;
	guests_cross(g->gs, g->now, WALL); /* no snapshot is as new */
	g->now.ns += ns;
	publish(g);
	guests_cross(g->gs, g->now, WALL);
}

TEST_WITH(counter__read_late__accuses_nobody, setup, call_teardown)
{
	struct guests_rig *g = *state;

	next_window(g);
	for (int i = 0; i < 5; i++)
		read_within(g, 50 * NS_PER_MS + 1);
	assert_int_equal(rig_events(g, "divergence"), 0);
	assert_int_equal(rig_events(g, "host-late"), 1);
	assert_int_equal(num(counter_of(g, "bulk"), "skipped"), 5);
	for (int i = 0; i < 3; i++)
		read_within(g, 50 * NS_PER_MS);
	assert_int_equal(rig_events(g, "divergence"), 1);
}

TEST_WITH(guest__claims_what_it_sends__is_not_flagged, setup, call_teardown)
{
	struct guests_rig *g = *state;

	next_window(g);
	bulk_sends(g, 10, 215 * MB, 200 * MB);
	assert_int_equal(rig_events(g, "divergence"), 0);
	assert_int_equal(num(counter_of(g, "bulk"), "windows"), 10);
}

TEST_WITH(guest__stops_to_hide__is_clear_again, setup, call_teardown)
{
	struct guests_rig *g = *state;

	next_window(g);
	bulk_sends(g, 2, 200 * MB, 0);
	bulk_sends(g, 2, 200 * MB, 200 * MB);
	assert_int_equal(rig_events(g, "divergence-end"), 0);
	bulk_sends(g, 1, 200 * MB, 200 * MB);
	assert_int_equal(rig_events(g, "divergence-end"), 1);
	assert_non_null(strstr(rig_event(g, "divergence-end")->text, "explained again"));
	assert_true(json_is_false(json_object_get(counter_of(g, "bulk"), "diverges")));
	assert_null(strstr(str(row(ask(g, "why", ""), "guests", "bulk"), "text"), "vif"));
}

TEST_WITH(guest__read_by_another__may_have_served_it, setup, call_teardown)
{
	struct guests_rig *g = *state;

	next_window(g);
	for (int i = 0; i < 5; i++) {
		claims[WEB].bytes_recv += 190 * MB;
		claims[WEB].mtus_recv += 190 * MB / 1024;
		bulk_sends(g, 1, 200 * MB, 0);
	}
	assert_int_equal(rig_events(g, "divergence"), 0);
	/* what it READ itself it has not sent */
	for (int i = 0; i < 2; i++) {
		claims[BULK].bytes_recv += 190 * MB;
		claims[BULK].mtus_recv += 190 * MB / 1024;
		bulk_sends(g, 1, 200 * MB, 0);
	}
	assert_int_equal(rig_events(g, "divergence"), 1);
}

TEST_WITH(guest__without_interface__has_no_windows_and_nothing_is_told, setup, call_teardown)
{
	struct guests_rig *g = *state;

	fake.guest_rc[BULK] = -ENOENT;
	next_window(g);
	bulk_sends(g, 5, 200 * MB, 0);
	assert_int_equal(rig_events(g, "divergence") + rig_events(g, "counter"), 0);
	assert_string_equal(str(counter_of(g, "bulk"), "error"), "it has no interface in dom0");
	assert_int_equal(num(counter_of(g, "bulk"), "windows"), 0);
	/* and one that comes then begins there */
	fake.guest_rc[BULK] = 0;
	bulk_sends(g, 1, 200 * MB, 0);
	assert_int_equal(num(counter_of(g, "bulk"), "windows"), 0);
	bulk_sends(g, 2, 200 * MB, 0);
	assert_int_equal(rig_events(g, "divergence"), 1);
}

TEST_WITH(guest__named_counter_that_is_not_there__is_told_once, setup, call_teardown)
{
	struct guests_rig *g = *state;

	rig_guest(g, "bulk")->conf.counter.name = (struct counter_name){ COUNTER_VF, "ens1f0", 3 };
	fake.guest_rc[BULK] = -ENOENT;
	next_window(g);
	bulk_sends(g, 5, 200 * MB, 0);
	assert_int_equal(rig_events(g, "counter"), 1);
	assert_non_null(strstr(rig_event(g, "counter")->text, "vf:ens1f0/3 cannot be read: there"));
	assert_string_equal(str(counter_of(g, "bulk"), "source"), "vf:ens1f0/3");
}

TEST_WITH(guest__other_counter_set_for_it__what_was_found_is_forgotten, setup, call_teardown)
{
	struct guests_rig *g = *state;

	next_window(g);
	bulk_sends(g, 2, 200 * MB, 0);
	assert_int_equal(rig_events(g, "divergence"), 1);
	ask(g, "guest-set", "'guest':'bulk','settings':{'counter':'none'}");
	bulk_sends(g, 1, 200 * MB, 0);
	assert_int_equal(rig_events(g, "divergence-end"), 1);
	assert_non_null(strstr(rig_event(g, "divergence-end")->text, "no counter any more"));
	assert_true(json_is_null(counter_of(g, "bulk")));
	assert_true(json_is_null(
		json_object_get(row(ask(g, "list", ""), "guests", "bulk"), "diverges")));
	assert_string_equal(str(ask(g, "guest-show", "'guest':'bulk'"), "counter"), "none");
	bulk_sends(g, 5, 200 * MB, 0);
	assert_int_equal(rig_events(g, "divergence"), 1);
	ask(g, "guest-set", "'guest':'bulk','settings':{'counter':'vif'}");
	bulk_sends(g, 3, 200 * MB, 0);
	assert_int_equal(rig_events(g, "divergence"), 2);
}

TEST_WITH(guest__comes_anew_with_its_domain_id__begins_anew, setup, call_teardown)
{
	struct guests_rig *g = *state;

	next_window(g);
	bulk_sends(g, 1, 200 * MB, 0);
	rig_destroy(g, BULK);
	rig_settle(g);
	strcpy(rig_create(g, BULK, 9)->name, "bulk");
	rig_settle(g);
	bulk_sends(g, 2, 200 * MB, 0); /* the first of these begins a window */
	assert_int_equal(rig_events(g, "divergence"), 0);
	bulk_sends(g, 1, 200 * MB, 0);
	assert_int_equal(rig_events(g, "divergence"), 1);
}

/* --- when ----------------------------------------------------------------------------- */

TEST_WITH(compare__snapshot_older_than_the_counters__is_waited_for, setup, call_teardown)
{
	struct guests_rig *g = *state;
	int64_t wait;

	next_window(g);
	g->now.ns += NS_PER_S;
	fake.guest[BULK].bytes_sent += 200 * MB;
	wait = guests_cross(g->gs, g->now, WALL);
	assert_true(wait > 0 && wait <= 20 * MS);
	assert_int_equal(rig_guest(g, "bulk")->check.cross.windows, 0);
	g->now.ns += 10 * MS;
	claim(BULK, 200 * MB);
	publish(g);
	wait = guests_cross(g->gs, g->now, WALL);
	assert_true(wait > 900 * MS);
	assert_int_equal(rig_guest(g, "bulk")->check.cross.windows, 1);
	assert_int_equal(rig_guest(g, "bulk")->check.cross.debt, 0);
}

TEST_WITH(read__within_a_window__is_not_done_again, setup, call_teardown)
{
	struct guests_rig *g = *state;

	next_window(g);
	fake.reads = 0;
	for (int i = 0; i < 9; i++) {
		g->now.ns += 100 * MS;
		publish(g);
		assert_true(guests_cross(g->gs, g->now, WALL) <= NS_PER_S);
	}
	assert_int_equal(fake.reads, 0);
}

/* --- settings --------------------------------------------------------------------------- */

TEST_WITH(settings__turned_off__ends_what_was_told_and_reads_nothing, setup, call_teardown)
{
	struct guests_rig *g = *state;

	next_window(g);
	bulk_sends(g, 2, 200 * MB, 0);
	assert_int_equal(g->gs->diverging, 1);
	g->conf.crosscheck.off = true;
	fake.reads = 0;
	bulk_sends(g, 3, 200 * MB, 0);
	assert_int_equal(fake.reads, 0);
	assert_int_equal(rig_events(g, "divergence-end"), 1);
	assert_non_null(strstr(rig_event(g, "divergence-end")->text, "no counter any more"));
	assert_int_equal(g->gs->diverging, 0);
	assert_true(json_is_null(counter_of(g, "bulk")));
	assert_true(json_is_false(json_object_get(ask(g, "info", ""), "crosscheck")));
}

TEST_WITH(settings__floor__is_what_any_other_traffic_may_be, setup, call_teardown)
{
	struct guests_rig *g = *state;

	next_window(g); /* by default a twentieth of 1 GiB/s */
	bulk_sends(g, 5, (1ull << 30) / 20, 0);
	assert_int_equal(rig_events(g, "divergence"), 0);
	g->conf.crosscheck.floor = 1 * MB;
	bulk_sends(g, 5, 1 * MB, 0);
	assert_int_equal(rig_events(g, "divergence"), 0);
	bulk_sends(g, 2, 1 * MB + 1, 0);
	assert_int_equal(rig_events(g, "divergence"), 1);
}

TEST_WITH(settings__shorter_window__is_not_held_up_by_the_longer, setup, call_teardown)
{
	struct guests_rig *g = *state;

	g->conf.crosscheck.window_ns = 60 * NS_PER_S;
	next_window(g);
	g->conf.crosscheck.window_ns = NS_PER_S;
	assert_true(guests_cross(g->gs, g->now, WALL) <= NS_PER_S);
	bulk_sends(g, 2, 200 * MB, 0);
	assert_int_equal(rig_events(g, "divergence"), 1);
}

/* --- a link ------------------------------------------------------------------------------ */

static void name_port(struct guests_rig *g)
{
	struct counter_setting *c = &g->conf.link_counter[0];

	strcpy(c->text, "port:mlx5_0/1");
	assert_int_equal(counter_parse_link(c->text, &c->name), 0);
}

TEST_WITH(link__sends_more_than_all_its_guests_claim__is_flagged, setup, call_teardown)
{
	struct guests_rig *g = *state;
	const json_t *c;

	name_port(g);
	next_window(g);
	for (int i = 0; i < 5; i++) {
		fake.port[1].bytes_sent += 420 * MB;
		claim(WEB, 200 * MB);
		bulk_sends(g, 1, 200 * MB, 200 * MB);
	}
	assert_int_equal(rig_events(g, "divergence"), 0);
	for (int i = 0; i < 2; i++) {
		fake.port[1].bytes_sent += 420 * MB;
		bulk_sends(g, 1, 200 * MB, 200 * MB);
	}
	assert_int_equal(rig_events(g, "divergence"), 1);
	assert_string_equal(rig_event(g, "divergence")->guest, "");
	assert_non_null(strstr(rig_event(g, "divergence")->text, "link ib0: port:mlx5_0/1 counts"));
	c = json_object_get(row(ask(g, "info", ""), "links", "ib0"), "counter");
	assert_true(json_is_true(json_object_get(c, "diverges")));
	assert_true(
		json_is_null(json_object_get(row(ask(g, "info", ""), "links", "ib1"), "counter")));
	assert_true(json_is_false(json_object_get(counter_of(g, "bulk"), "diverges")));
}

TEST_WITH(link__port_that_counts_no_bytes__is_told, setup, call_teardown)
{
	struct guests_rig *g = *state;
	const json_t *c;

	name_port(g);
	fake.port_rc[1] = -EOPNOTSUPP;
	next_window(g);
	next_window(g);
	assert_int_equal(rig_events(g, "counter"), 1);
	assert_string_equal(rig_event(g, "counter")->text,
			    "port:mlx5_0/1 cannot be read: the device counts no bytes there");
	c = json_object_get(row(ask(g, "info", ""), "links", "ib0"), "counter");
	assert_non_null(strstr(str(c, "error"), "no bytes"));
}

TEST_WITH(info__names_the_sources_there_are, setup, call_teardown)
{
	struct guests_rig *g = *state;
	const json_t *o = ask(g, "info", "");

	assert_true(json_is_true(json_object_get(o, "crosscheck")));
	assert_int_equal(json_array_size(json_object_get(o, "counters")), 3);
	g->gs->counters.ops = NULL;
	o = ask(g, "info", "");
	assert_true(json_is_false(json_object_get(o, "crosscheck")));
	assert_int_equal(json_array_size(json_object_get(o, "counters")), 0);
}
