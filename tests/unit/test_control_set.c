// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * control: the methods that change settings while guests run, release and pause
 * guests; policy-check; and the latencies that methods show.
 */
#include "tests/unit/control_rig.h"
#include "tests/unit/unit.h"

static double real(const json_t *o, const char *key)
{
	assert_true(json_is_real(json_object_get(o, key)));
	return json_real_value(json_object_get(o, key));
}

/* --- guest-set --------------------------------------------------------------------- */

WITH_CALL(guest_set__each_setting__is_in_the_next_set_and_in_the_reply)
{
	struct guests_rig *g = *state;
	const struct set_guest *e;
	const json_t *r, *sla;

	r = ask(g, "guest-set",
		"'guest':'bulk','settings':{'weight':512,'min_cap':5,'max_cap':40,'link':'ib1',"
		"'sla':{'tolerance':30,'base':'230us','base_io':'130us','base_deviation':'1500ns'}"
		"}");
	assert_int_equal(num(r, "weight"), 512);
	assert_int_equal(num(r, "min_cap"), 5);
	assert_int_equal(num(r, "max_cap"), 40);
	assert_true(json_is_true(json_object_get(r, "set")));
	sla = json_object_get(r, "sla");
	assert_int_equal(num(sla, "tolerance"), 30);
	assert_true(real(sla, "base_us") == 230.0);
	assert_true(real(sla, "base_deviation_us") == 1.5);
	rig_settle(g);
	e = rig_in_set(g, 5);
	assert_int_equal(e->weight, 512);
	assert_int_equal(e->link, 1);
	assert_int_equal(e->bounds.min_mpct, 5000);
	assert_int_equal(e->bounds.ceiling.mpct, 40000);
	assert_int_equal(e->own.mpct, 80000);
	assert_int_equal(e->sla.base_io_ns, 130000);
	assert_int_equal(rig_in_set(g, 4)->weight, 256); /* and of no other guest */
	assert_non_null(strstr(rig_event(g, "guest-set")->text, "\"weight\":512"));
}

WITH_CALL(guest_set__twice__what_is_not_named_stays)
{
	struct guests_rig *g = *state;

	ask(g, "guest-set", "'guest':'bulk','settings':{'weight':512}");
	ask(g, "guest-set", "'guest':'bulk','settings':{'exempt':true}");
	rig_settle(g);
	assert_int_equal(rig_in_set(g, 5)->weight, 512);
	assert_int_equal(rig_in_set(g, 5)->flags, POLICY_CAPPABLE | POLICY_EXEMPT);
}

WITH_CALL(guest_set__guest_is_renamed__settings_stay)
{
	struct guests_rig *g = *state;

	ask(g, "guest-set", "'guest':'bulk','settings':{'weight':512}");
	strcpy(fake_dom(&g->host, 5)->name, "other");
	rig_second(g);
	assert_int_equal(num(ask(g, "guest-show", "'guest':'other'"), "weight"), 512);
}

WITH_CALL(guest_set__wrong__is_said_without_a_place_and_nothing_changes)
{
	static const char *const rows[][2] = {
		{ "{'weight':0}", "weight is 0: write a whole number from 1 to 65535" },
		{ "{'max_cap':-1}", "max_cap is -1: " },
		{ "{'colour':1}", "unknown key \"colour\": known here are" },
		{ "{'weight':512,'min_cap':101}", "min_cap is 101: " },
		{ "{'max_cap':4,'min_cap':5}", "max_cap is 4 and min_cap 5" },
		{ "{'sla':{'base':'1us'}}", "key \"base_io\" is missing" },
		{ "{'sla':{'base':5}}", "base is 5: write a duration" },
		{ "{'link':'ib9'}", "unknown link \"ib9\" (configured: " },
	};
	struct guests_rig *g = *state;
	char params[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct answer a;

		snprintf(params, sizeof(params), "'guest':'bulk','settings':%s", rows[i][0]);
		a = ask_as(g, true, "guest-set", params);
		assert_int_equal(a.exit,
				 strstr(rows[i][1], "unknown key") ? RESEX_USAGE : RESEX_RANGE);
		if (strncmp(a.error.text, rows[i][1], strlen(rows[i][1])) != 0)
			fail_msg("%s: %s", rows[i][0], a.error.text);
	}
	assert_null(rig_event(g, "guest-set"));
	assert_false(rig_guest(g, "bulk")->set);
	assert_int_equal(rig_guest(g, "bulk")->conf.weight, 256);
	rig_settle(g);
	assert_false(rig_ack(g));
}

WITH_CALL(guest_set__nothing__is_said)
{
	assert_fails(*state, "guest-set", "'guest':'bulk'", RESEX_USAGE, "at least one setting");
	assert_fails(*state, "guest-set", "'guest':'bulk','settings':{}", RESEX_USAGE,
		     "at least one setting");
}

/* --- pause and resume ----------------------------------------------------------------- */

static bool is_exempt(struct guests_rig *g, uint32_t domid)
{
	rig_settle(g);
	return rig_in_set(g, domid)->flags & POLICY_EXEMPT;
}

WITH_CALL(pause__one_guest__no_policy_caps_it_until_resume)
{
	struct guests_rig *g = *state;
	const json_t *r = ask(g, "pause", "'guest':'bulk'");

	assert_true(json_is_false(json_object_get(r, "paused")));
	assert_int_equal(json_array_size(json_object_get(r, "guests")), 1);
	assert_string_equal(str(row(r, "guests", "bulk"), "state"), "observed");
	assert_true(is_exempt(g, 5));
	assert_false(is_exempt(g, 4));
	r = row(ask(g, "why", "'guest':'bulk'"), "guests", "bulk");
	assert_non_null(strstr(str(r, "text"), "paused"));
	r = row(ask(g, "resume", "'guest':'bulk'"), "guests", "bulk");
	assert_string_equal(str(r, "state"), "managed");
	assert_false(is_exempt(g, 5));
	assert_int_equal(rig_events(g, "pause"), 1);
	assert_int_equal(rig_events(g, "resume"), 1);
}

WITH_CALL(pause__all__guests_that_come_are_paused_too)
{
	struct guests_rig *g = *state;
	const json_t *r = ask(g, "pause", "");

	assert_true(json_is_true(json_object_get(r, "paused")));
	assert_int_equal(json_array_size(json_object_get(r, "guests")), 2);
	rig_create(g, 9, 9);
	assert_true(is_exempt(g, 9) && is_exempt(g, 4) && is_exempt(g, 5));
	assert_true(json_is_true(json_object_get(ask(g, "info", ""), "paused")));
	assert_true(json_is_true(json_object_get(ask(g, "list", ""), "paused")));
	ask(g, "resume", "");
	assert_false(is_exempt(g, 9) || is_exempt(g, 4) || is_exempt(g, 5));
}

WITH_CALL(pause__again__changes_nothing_and_makes_no_event)
{
	struct guests_rig *g = *state;

	ask(g, "pause", "");
	ask(g, "pause", "");
	ask(g, "resume", "");
	ask(g, "resume", "");
	ask(g, "pause", "'guest':'bulk'");
	ask(g, "pause", "'guest':'bulk'");
	assert_int_equal(rig_events(g, "pause"), 2);
	assert_int_equal(rig_events(g, "resume"), 1);
}

WITH_CALL(resume__one_while_all_are_paused__is_refused)
{
	struct guests_rig *g = *state;

	ask(g, "pause", "");
	assert_fails(g, "resume", "'guest':'bulk'", RESEX_FAILURE, "all guests are paused");
	assert_true(is_exempt(g, 5));
}

WITH_CALL(resume__all__those_paused_one_by_one_are_resumed_and_released_ones_not)
{
	struct guests_rig *g = *state;

	ask(g, "pause", "'guest':'bulk'");
	ask(g, "cap-release", "'guest':'web'");
	ask(g, "resume", "");
	assert_false(is_exempt(g, 5));
	assert_true(is_exempt(g, 4));
}

/* Its own cap: not the highest that its settings allow. */
WITH_CALL(pause__guest_with_a_highest_cap__has_its_own)
{
	struct guests_rig *g = *state;

	ask(g, "guest-set", "'guest':'bulk','settings':{'max_cap':20}");
	ask(g, "pause", "'guest':'bulk'");
	assert_true(is_exempt(g, 5));
	assert_int_equal(rig_in_set(g, 5)->bounds.ceiling.mpct, 80000);
}

WITH_CALL(why__highest_cap_in_force__is_said_first)
{
	struct guests_rig *g = *state;
	const json_t *r;

	ask(g, "guest-set", "'guest':'bulk','settings':{'max_cap':20}");
	snap_of_set(g)->guest[1].applied = CAP_PERCENT(20);
	snap_publish(&g->ho);
	r = row(ask(g, "why", "'guest':'bulk'"), "guests", "bulk");
	assert_ptr_equal(strstr(str(r, "text"), "cap 20 percent, by its settings; "),
			 str(r, "text"));
	ask(g, "pause", "'guest':'bulk'");
	r = row(ask(g, "why", "'guest':'bulk'"), "guests", "bulk");
	assert_null(strstr(str(r, "text"), "settings"));
}

WITH_CALL(policy_set__wrong_values__are_said_with_what_is_wrong_and_the_range)
{
	static const char *const wrong[][2] = {
		{ "'step':'5%'",
		  "step is \"5%\", which it does not take: write a duration such as \"10ms\", from "
		  "100us to 1s, or a whole number of ns: see resex policy-show freemarket" },
		{ "'min_cap':true", "min_cap is true, which it does not take" },
		{ "'step':'1.5ms'", "step is \"1.5ms\", with more decimals than it takes: write" },
		{ "'step':'2s'", "step is \"2s\", out of its range: write a duration" },
		{ "'step':'-1ms'", "step is \"-1ms\", out of its range: write" },
		{ "'low':-1", "low is -1, out of its range: write a percentage" },
	};
	struct guests_rig *g = *state;

	for (size_t n = 0; n < sizeof(wrong) / sizeof(wrong[0]); n++) {
		char params[80];

		snprintf(params, sizeof(params), "'policy':'freemarket','params':{%s}",
			 wrong[n][0]);
		assert_fails(g, "policy-set", params, RESEX_RANGE, wrong[n][1]);
	}
}

/* --- the caps in replies --- */

/* bulk has a cap of 80, set by the operator; a policy has lowered it to 30. */
static void cap_bulk(struct guests_rig *g)
{
	snap_of_set(g)->guest[1].applied = CAP_PERCENT(30);
	snap_publish(&g->ho);
}

WITH_CALL(pause_and_release__guest_is_capped__reply_has_the_cap_of_after)
{
	static const char *const rows[][2] = { { "cap-release", "'guest':'bulk'" },
					       { "pause", "'guest':'bulk'" },
					       { "pause", "" } };
	struct guests_rig *g = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const json_t *r;

		cap_bulk(g);
		r = ask(g, rows[i][0], rows[i][1]);
		assert_int_equal(num(i ? row(r, "guests", "bulk") : r, "cap"), 80);
		assert_string_equal(str(i ? row(r, "guests", "bulk") : r, "state"),
				    i ? "observed" : "released");
		ask(g, "cap-release", "'guest':'bulk','undo':true");
		ask(g, "resume", "");
	}
}

/* One call of cap-release as the server makes it; NULL: it waits. */
static json_t *release_once(struct guests_rig *g, struct call *c)
{
	struct request r = { .method = "cap-release", .params = params_of("'guest':'bulk'") };
	json_t *result = NULL;
	int rc;

	c->sn = snap_latest(&g->ho);
	rc = method_call(c, &r, &result);
	json_decref(r.params);
	assert_int_equal(rc, result ? 0 : CALL_LATER);
	return result;
}

WITH_CALL(cap_release__set_is_taken_up_and_the_cap_not_set_yet__still_waits)
{
	struct guests_rig *g = *state;
	struct call c = { .guests = g->gs, .now = g->now, .wall_ns = WALL, .root = true };
	json_t *r;

	cap_bulk(g);
	assert_null(release_once(g, &c));
	assert_true(rig_ack(g));
	assert_null(release_once(g, &c)); /* this snapshot is older than the set */
	cap_bulk(g);
	assert_null(release_once(g, &c)); /* of the set, before the actor answered */
	snap_of_set(g)->guest[1].applied = CAP_PERCENT(80);
	snap_publish(&g->ho);
	r = release_once(g, &c);
	assert_int_equal(num(r, "cap"), 80);
	json_decref(r);
	assert_int_equal(rig_events(g, "release"), 1); /* done once, asked for four times */
}

WITH_CALL(cap_release__xen_refuses_the_cap__reply_has_its_error)
{
	struct guests_rig *g = *state;
	struct call c = { .guests = g->gs, .now = g->now, .wall_ns = WALL, .root = true };
	struct snapshot *sn;
	json_t *r;

	cap_bulk(g);
	assert_null(release_once(g, &c));
	assert_true(rig_ack(g));
	sn = snap_of_set(g);
	sn->guest[1].applied = CAP_PERCENT(30);
	sn->guest[1].cap_errno = EPERM;
	snap_publish(&g->ho);
	r = release_once(g, &c);
	assert_int_equal(num(r, "cap"), 30);
	assert_string_equal(str(r, "error"), strerror(EPERM));
	json_decref(r);
}

WITH_CALL(pause__sampler_hangs__is_said_and_holds)
{
	struct guests_rig *g = *state;

	sampler_hangs = true;
	assert_fails(g, "pause", "'guest':'bulk'", RESEX_FAILURE,
		     "the change is made, but its caps are not in force yet");
	assert_true(is_exempt(g, 5));
}

/* --- policy-check ------------------------------------------------------------------------ */

WITH_CALL(policy_check__good__is_shown_and_not_put_in_force)
{
	struct guests_rig *g = *state;
	const json_t *r = ask(g, "policy-check",
			      "'file':'p.json','text':'{\\'policy\\': \\'freemarket\\',"
			      " \\'params\\': {\\'low\\': 7}}'");

	assert_string_equal(str(r, "name"), "freemarket");
	assert_string_equal(str(r, "file"), "p.json");
	assert_int_equal(num(row(r, "params", "low"), "value"), 7);
	r = ask(g, "policy-show", "");
	assert_int_equal(num(row(r, "params", "low"), "value"), 100);
}

WITH_CALL(policy_check__wrong__is_said_with_its_place)
{
	static const struct {
		const char *params;
		int exit;
		const char *says;
	} rows[] = {
		{ "'file':'p.json','text':'{'", RESEX_BAD_CONFIG, "p.json:1:" },
		{ "'file':'p.json','text':'{\\'policy\\': \\'freemarket\\',\\n"
		  " \\'params\\': {\\'low\\': 1001}}'",
		  RESEX_BAD_CONFIG, "p.json:2:20: low is 1001" },
		{ "'file':'p.json','text':'{\\'policy\\': \\'dear\\'}'", RESEX_NO_POLICY,
		  "p.json:1:12: " },
		{ "'file':'p.json'", RESEX_USAGE, "give a file and its text" },
		{ "'text':'{}'", RESEX_USAGE, "give a file and its text" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_refused(*state, "policy-check", rows[i].params, rows[i].exit,
			       PROTO_E_SERVER - rows[i].exit, rows[i].says);
}

/* --- latencies ------------------------------------------------------------------------------ */

WITH_CALL(latencies__of_the_last_second__are_in_list_and_guest_show_in_us)
{
	struct guests_rig *g = *state;
	struct snapshot *sn = snap_of_set(g);
	const json_t *r;

	sn->guest[1].latency = (struct snap_latency){ .n = 900,
						      .lost = 3,
						      .second_n = 16,
						      .mean_ns = 231500,
						      .dev_ns = 1250,
						      .p99_ns = 240000 };
	snap_publish(&g->ho);
	for (int i = 0; i < 2; i++) {
		r = i ? row(ask(g, "list", ""), "guests", "bulk")
		      : ask(g, "guest-show", "'guest':'bulk'");
		assert_int_equal(num(r, "latencies"), 900);
		assert_int_equal(num(r, "latencies_lost"), 3);
		assert_int_equal(num(r, "latencies_second"), 16);
		assert_true(real(r, "latency_us") == 231.5);
		assert_true(real(r, "latency_dev_us") == 1.25);
		assert_true(real(r, "latency_p99_us") == 240.0);
	}
	r = row(ask(g, "list", ""), "guests", "web");
	assert_true(json_is_null(json_object_get(r, "latency_us")));
	assert_int_equal(num(r, "latencies"), 0);
}

/* --- a policy that lives on latencies, and gets none --------------------------------------- */

/* How many of the two guests reported in the last second. */
static void hear(struct guests_rig *g, uint32_t guests)
{
	struct snapshot *sn = snap_of_set(g);

	for (uint32_t i = 0; i < sn->guests; i++) {
		sn->guest[i].latency.seconds = 1;
		sn->guest[i].latency.second_n = i < guests;
	}
	snap_publish(&g->ho);
}

#define BLIND                                                                                      \
	"policy ioshares needs latencies that applications report (resex_report(3)), and no "      \
	"guest reports any on ib0: it caps no guest there"

WITH_CALL(policy_note__nobody_reports__is_said_when_the_policy_needs_it)
{
	struct guests_rig *g = *state;

	hear(g, 0);
	assert_string_equal(str(ask(g, "info", ""), "policy_note"), "");
	assert_string_equal(str(ask(g, "policy-set", "'policy':'ioshares'"), "policy_note"), BLIND);
	assert_string_equal(str(ask(g, "info", ""), "policy_note"), BLIND);
	hear(g, 1);
	assert_string_equal(str(ask(g, "info", ""), "policy_note"), "");
	assert_string_equal(str(ask(g, "policy-set", "'policy':'ioshares'"), "policy_note"), "");
}

WITH_CALL(policy_note__guests_have_just_come__is_not_said)
{
	struct guests_rig *g = *state;
	struct snapshot *sn;

	ask(g, "policy-set", "'policy':'ioshares'");
	sn = snap_of_set(g);
	sn->guest[0].latency.seconds = 1; /* and the other may still report */
	snap_publish(&g->ho);
	assert_string_equal(str(ask(g, "info", ""), "policy_note"), "");
}

WITH_CALL(policy_note__guest_alone_on_its_link__is_not_warned_of)
{
	struct guests_rig *g = *state;

	ask(g, "policy-set", "'policy':'ioshares'");
	ask(g, "guest-set", "'guest':'web','settings':{'link':'ib1'}");
	hear(g, 0);
	assert_string_equal(str(ask(g, "info", ""), "policy_note"), "");
}

static void seconds(struct guests_rig *g, int n)
{
	while (n--)
		guests_second(g->gs, g->now, WALL);
}

WITH_CALL(unheard__for_ten_seconds__is_an_event_once)
{
	struct guests_rig *g = *state;

	ask(g, "policy-set", "'policy':'ioshares'");
	hear(g, 0);
	seconds(g, 10);
	hear(g, 1);
	seconds(g, 1);
	hear(g, 0);
	seconds(g, 10);
	assert_int_equal(rig_events(g, "unheard"), 0);
	seconds(g, 50);
	assert_int_equal(rig_events(g, "unheard"), 1);
	assert_string_equal(rig_event(g, "unheard")->text, BLIND);
	hear(g, 1);
	seconds(g, 1);
	hear(g, 0);
	seconds(g, 11);
	assert_int_equal(rig_events(g, "unheard"), 2);
	ask(g, "policy-set", "'policy':'ioshares'");
	hear(g, 0);
	seconds(g, 11);
	assert_int_equal(rig_events(g, "unheard"), 3);
}
