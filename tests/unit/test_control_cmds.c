// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * control_cmds: each method with good and wrong parameters, by root and by
 * others, on guests without sockets and a snapshot the test writes.
 */
#include "tests/unit/control_rig.h"
#include "tests/unit/unit.h"

/* --- rights and parameters --------------------------------------------------- */

WITH_CALL(rights__others__may_ask_and_change_nothing)
{
	struct guests_rig *g = *state;
	uint64_t events = g->gs->events;

	for (const struct method *m = methods; m->name; m++) {
		struct answer a = ask_as(g, false, m->name, "");

		if (m->modifies) {
			assert_int_equal(a.exit, RESEX_PERMISSION);
			assert_int_equal(a.error.code, PROTO_E_SERVER - RESEX_PERMISSION);
			assert_non_null(strstr(a.error.text, "run it as root"));
		} else {
			assert_int_not_equal(a.exit, RESEX_PERMISSION);
		}
	}
	ask_as(g, false, "policy-set", "'policy':'null'");
	ask_as(g, false, "cap-release", "'guest':'bulk'");
	ask_as(g, false, "pause", "");
	ask_as(g, false, "guest-set", "'guest':'bulk','settings':{'weight':5}");
	assert_int_equal(g->gs->events, events);
	assert_ptr_equal(g->gs->policy->ops, &policy_freemarket);
	assert_false(rig_guest(g, "bulk")->released);
	assert_false(g->gs->paused);
	assert_int_equal(rig_guest(g, "bulk")->conf.weight, 256);
}

WITH_CALL(methods__that_modify__are_those_of_the_man_page)
{
	static const char *const names[] = { "policy-set",     "cap-release", "guest-set",
					     "pause",	       "resume",      "lock-break",
					     "cluster-reload", "balance-set", "move",
					     "reconf-set",     "node-fix",    "service-set",
					     "trace-start",    "trace-stop" };
	size_t found = 0;

	for (const struct method *m = methods; m->name; m++) {
		bool named = false;

		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			named |= !strcmp(m->name, names[i]);
		assert_int_equal(m->modifies, named);
		found += named;
	}
	assert_int_equal(found, sizeof(names) / sizeof(names[0]));
}

WITH_CALL(method__unknown__is_said)
{
	assert_refused(*state, "lst", "", RESEX_USAGE, PROTO_E_METHOD, "no method \"lst\"");
	assert_refused(*state, "LIST", "", RESEX_USAGE, PROTO_E_METHOD, "no method");
}

WITH_CALL(params__unknown__are_refused_by_every_method)
{
	for (const struct method *m = methods; m->name; m++)
		assert_refused(*state, m->name, "'colour':1", RESEX_USAGE, PROTO_E_PARAMS,
			       "no parameter \"colour\"");
}

WITH_CALL(params__of_a_wrong_type__are_refused_and_not_guessed)
{
	static const char *const rows[][2] = {
		{ "guest-show", "'guest':5" },
		{ "guest-show", "'guest':null" },
		{ "ring-list", "'guest':[]" },
		{ "why", "'guest':true" },
		{ "events", "'guest':5" },
		{ "events", "'since':'1'" },
		{ "events", "'since':1.5" },
		{ "policy-show", "'policy':5" },
		{ "policy-set", "'policy':5" },
		{ "policy-set", "'file':5" },
		{ "policy-set", "'policy':'null','params':[]" },
		{ "cap-release", "'guest':'bulk','undo':'true'" },
		{ "cap-release", "'guest':'bulk','undo':1" },
		{ "guest-set", "'guest':'bulk','settings':'weight=5'" },
		{ "pause", "'guest':5" },
		{ "resume", "'guest':true" },
		{ "policy-check", "'file':5" },
	};
	struct guests_rig *g = *state;
	uint64_t events = g->gs->events;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_refused(g, rows[i][0], rows[i][1], RESEX_USAGE, PROTO_E_PARAMS, "give ");
	assert_int_equal(g->gs->events, events);
}

WITH_CALL(guest__unknown_or_missing__is_said)
{
	static const char *const verbs[] = { "guest-show", "ring-list", "why",	 "cap-release",
					     "guest-set",  "pause",	"resume" };

	for (size_t i = 0; i < 7; i++)
		assert_fails(*state, verbs[i], "'guest':'nobody'", RESEX_NO_GUEST,
			     "no guest \"nobody\"");
	assert_fails(*state, "guest-show", "", RESEX_USAGE, "guest: give");
	assert_fails(*state, "cap-release", "", RESEX_USAGE, "guest: give");
}

/* --- guests -------------------------------------------------------------------- */

WITH_CALL(list__each_guest__once_with_cap_and_account)
{
	struct guests_rig *g = *state;
	struct snapshot *sn = snap_of_set(g);
	const json_t *r, *web, *bulk;

	sn->guest[1].applied = CAP_PERCENT(7);
	sn->guest[1].account.balance.m = 1234567;
	sn->guest[1].total_usage.mtus_sent = 99;
	sn->guest[1].total_usage.flags = USAGE_ESTIMATED;
	snap_publish(&g->ho);
	r = ask(g, "list", "");
	assert_int_equal(json_array_size(json_object_get(r, "guests")), 2);
	assert_int_equal(num(r, "epoch"), 3);
	assert_string_equal(str(r, "policy"), "freemarket");
	web = row(r, "guests", "web");
	assert_int_equal(num(web, "domid"), 4);
	assert_string_equal(str(web, "uuid"), "04040404-0404-0404-0404-040404040404");
	assert_string_equal(str(web, "state"), "managed");
	assert_string_equal(str(web, "link"), "ib0");
	assert_true(json_is_null(json_object_get(web, "cap")));
	assert_true(json_is_null(json_object_get(web, "old_cap")));
	bulk = row(r, "guests", "bulk");
	assert_int_equal(num(bulk, "cap"), 7);
	assert_int_equal(num(bulk, "old_cap"), 80);
	assert_int_equal(num(bulk, "mtus_sent"), 99);
	assert_true(json_is_true(json_object_get(bulk, "estimated")));
	assert_true(json_real_value(json_object_get(bulk, "balance")) == 1234.567);
	assert_true(json_real_value(json_object_get(bulk, "rate")) == 1.0);
}

/* ask() looks at the bytes of the reply: 17 digits would be noise in each of these. */
WITH_CALL(list__figures_that_no_double_holds__are_rounded_to_thousandths)
{
	struct guests_rig *g = *state;
	struct snapshot *sn = snap_of_set(g);
	const json_t *bulk;

	sn->guest[1].account.balance.m = 487315030;
	sn->guest[1].account.charged_io.m = 119626866;
	sn->guest[1].account.rate.q16 = 65536 + 12345;
	sn->guest[1].latency = (struct snap_latency){ .second_n = 1, .mean_ns = 208610009 };
	snap_publish(&g->ho);
	bulk = row(ask(g, "list", ""), "guests", "bulk");
	assert_true(json_real_value(json_object_get(bulk, "balance")) == 487315.03);
	assert_true(json_real_value(json_object_get(bulk, "charged_io")) == 119626.866);
	assert_true(json_real_value(json_object_get(bulk, "rate")) == 1.188);
	assert_true(json_real_value(json_object_get(bulk, "latency_us")) == 208610.009);
}

WITH_CALL(list__brief__has_what_resex_prints_of_the_same_figures)
{
	struct guests_rig *g = *state;
	struct snapshot *sn = snap_of_set(g);
	json_t *all, *r, *of, *column;
	const char *key;
	size_t i, k;

	strcpy(rig_create(g, 9, 9)->name, "fresh");
	rig_settle(g);
	sn->guest[1].applied = CAP_PERCENT(7);
	sn->guest[1].account.balance.m = 1234567;
	sn->guest[1].total_usage.mtus_sent = 99;
	sn->guest[1].total_usage.mtus_recv = 98;
	sn->guest[1].latency = (struct snap_latency){ .second_n = 1, .mean_ns = 5500 };
	sn->guest[1].second = (struct span){ .ns = NS_PER_S, .cpu_ns = 7 * MS, .mtus_recv = 3 };
	snap_publish(&g->ho);
	all = json_deep_copy(ask(g, "list", ""));
	of = json_object_get(all, "guests");
	r = ask(g, "list", "'brief':true");
	assert_int_equal(json_object_size(r), json_object_size(all));
	r = json_object_get(r, "guests");
	assert_int_equal(json_object_size(r), 21);
	json_object_foreach(r, key, column) {
		assert_int_equal(json_array_size(column), json_array_size(of));
		for (i = k = 0; i < json_array_size(of); i++) {
			json_t *g_row = json_array_get(of, i), *v = json_object_get(g_row, key);
			json_t *brief = json_array_get(column, i);

			if (!v) /* one of the last second */
				v = json_object_get(json_object_get(g_row, "rates"), key);
			assert_true(v ? json_equal(v, brief) : json_is_null(brief));
			k += !v;
		}
		assert_true(i == 3 && k <= 2); /* of "fresh" and of "web" not all is known */
	}
	assert_int_equal(json_integer_value(json_array_get(json_object_get(r, "cap"), 1)), 7);
	json_decref(all);
	r = ask(g, "list", "'brief':false");
	assert_non_null(json_object_get(row(r, "guests", "web"), "uuid"));
}

WITH_CALL(list__rates__are_of_the_second_that_the_snapshot_has)
{
	struct guests_rig *g = *state;
	struct snapshot *sn = snap_of_set(g);
	const json_t *r, *latency;

	sn->guest[0].latency =
		(struct snap_latency){ .second_n = 9, .mean_ns = 209400, .p99_ns = 269912 };
	sn->guest[0].second = (struct span){
		.ns = 2 * NS_PER_S,
		.cpu_ns = 700 * MS,
		.mtus_sent = 4001,
		.mtus_recv = 200,
		.bytes_sent = 8000000000,
		.bytes_recv = 30,
		.allocated = { 3000 },
		.spent = { 1000 },
		.capped_ns = 2 * NS_PER_S + MS, /* the actor's clock is read later */
	};
	sn->guest[1].second = (struct span){ .ns = NS_PER_S };
	snap_publish(&g->ho);
	r = json_object_get(row(ask(g, "list", ""), "guests", "web"), "rates");
	assert_int_equal(json_object_size(r), 9);
	assert_int_equal(num(r, "span_us"), 2000000);
	assert_int_equal(num(r, "mtus_sent_s"), 2000);
	assert_int_equal(num(r, "mtus_recv_s"), 100);
	assert_int_equal(num(r, "bytes_sent_s"), 4000000000);
	assert_int_equal(num(r, "bytes_recv_s"), 15);
	assert_true(json_real_value(json_object_get(r, "cpu_percent")) == 35.0);
	assert_true(json_real_value(json_object_get(r, "resos_percent")) == 33.333);
	assert_true(json_real_value(json_object_get(r, "capped_percent")) == 100.0);
	latency = json_object_get(r, "latency_us");
	assert_true(json_real_value(json_object_get(latency, "mean")) == 209.4);
	assert_true(json_real_value(json_object_get(latency, "p99")) == 269.912);
	r = json_object_get(row(ask(g, "list", ""), "guests", "bulk"), "rates");
	assert_int_equal(num(r, "bytes_sent_s"), 0);
	assert_true(json_is_null(json_object_get(r, "latency_us")));
	assert_true(json_is_null(json_object_get(r, "resos_percent"))); /* nothing was allocated */
}

WITH_CALL(list__no_whole_second_yet__has_no_rates)
{
	struct guests_rig *g = *state;

	strcpy(rig_create(g, 9, 9)->name, "fresh");
	rig_settle(g);
	assert_true(
		json_is_null(json_object_get(row(ask(g, "list", ""), "guests", "web"), "rates")));
	assert_true(
		json_is_null(json_object_get(row(ask(g, "list", ""), "guests", "fresh"), "rates")));
	assert_true(json_is_null(json_object_get(ask(g, "guest-show", "'guest':'web'"), "rates")));
}

WITH_CALL(list__guest_not_sampled_yet__is_there_with_what_is_known)
{
	struct guests_rig *g = *state;
	const json_t *r;

	strcpy(rig_create(g, 9, 9)->name, "fresh");
	fake_dom(&g->host, 9)->params.cap = CAP_PERCENT(33);
	rig_settle(g);
	r = row(ask(g, "list", ""), "guests", "fresh");
	assert_int_equal(num(r, "cap"), 33);
	assert_null(json_object_get(r, "balance"));
	r = row(ask(g, "why", "'guest':'fresh'"), "guests", "fresh");
	assert_string_equal(str(r, "text"), "not sampled yet");
	assert_int_equal(num(ask(g, "guest-show", "'guest':'fresh'"), "min_cap"), 1);
}

WITH_CALL(list__former_guest_of_the_slot_in_the_snapshot__is_not_the_new_one)
{
	struct guests_rig *g = *state;
	struct snapshot *sn = snap_of_set(g);

	sn->guest[0].key.created += 100;
	snap_publish(&g->ho);
	assert_null(json_object_get(row(ask(g, "list", ""), "guests", "web"), "balance"));
}

WITH_CALL(list__guest_on_its_way_out__is_not_shown)
{
	struct guests_rig *g = *state;

	rig_destroy(g, 5);
	rig_work(g, MS); /* its slot is still held */
	assert_int_equal(json_array_size(json_object_get(ask(g, "list", ""), "guests")), 1);
	assert_fails(g, "guest-show", "'guest':'bulk'", RESEX_NO_GUEST, "bulk");
}

WITH_CALL(state__of_each_kind__has_its_word)
{
	struct guests_rig *g = *state;
	struct guest_entry *web = rig_guest(g, "web");

	assert_string_equal(str(ask(g, "guest-show", "'guest':'4'"), "state"), "managed");
	web->cappable = false;
	strcpy(web->cap_note, "the reason");
	assert_string_equal(str(ask(g, "guest-show", "'guest':'4'"), "state"), "uncappable");
	assert_string_equal(str(ask(g, "guest-show", "'guest':'4'"), "note"), "the reason");
	assert_string_equal(str(row(ask(g, "why", ""), "guests", "web"), "text"),
			    "not cappable: the reason");
	web->paused = true;
	assert_string_equal(str(ask(g, "guest-show", "'guest':'4'"), "state"), "observed");
	web->released = true;
	assert_string_equal(str(ask(g, "guest-show", "'guest':'4'"), "state"), "released");
	web->conf.exempt = true;
	assert_string_equal(str(ask(g, "guest-show", "'guest':'4'"), "state"), "exempt");
	web->dom_flags |= HV_DOM_PAUSED;
	assert_string_equal(str(ask(g, "guest-show", "'guest':'4'"), "state"), "paused");
}

WITH_CALL(info__no_tick_yet__divides_nothing_by_zero)
{
	struct guests_rig *g = *state;

	snap_of_set(g)->ticks = 0;
	snap_publish(&g->ho);
	assert_int_equal(num(ask(g, "info", ""), "tick_mean_ns"), 0);
}

WITH_CALL(info__figures__are_those_of_sampler_and_configuration)
{
	struct guests_rig *g = *state;
	const json_t *r = ask(g, "info", ""), *l;

	assert_int_equal(num(r, "ticks"), 2500);
	assert_int_equal(num(r, "tick_mean_ns"), 4000);
	assert_int_equal(num(r, "guests"), 2);
	assert_string_equal(str(r, "hv"), "fake");
	l = row(r, "links", "ib1");
	assert_int_equal(num(l, "bytes_s"), 1 << 30);
	assert_string_equal(str(l, "profile"), "scaled");
	assert_true(json_is_null(json_object_get(l, "port")));
	snprintf(g->conf.link_counter[1].text, sizeof(g->conf.link_counter[1].text), "port:x/1");
	l = row(ask(g, "info", ""), "links", "ib1");
	assert_string_equal(str(l, "port"), "port:x/1");
	assert_true(json_is_false(json_object_get(last_result, "needs_reports")));
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(last_result, "queues_read"), 1)),
		"mlx5");
	assert_int_equal(json_array_size(json_object_get(last_result, "queues_read")), 3);
	assert_non_null(strstr(str(last_result, "queues_note"), "not yet run on ConnectX"));
	g->conf.realtime_priority = 5;
	g->conf.lock_memory = true;
	r = ask(g, "info", "");
	assert_int_equal(num(r, "realtime_priority"), 5);
	assert_true(json_is_true(json_object_get(r, "lock_memory")));
}

static const char *scheduler_at(struct guests_rig *g, size_t i)
{
	const json_t *names = json_object_get(ask(g, "info", ""), "schedulers");

	return json_string_value(json_array_get(names, i));
}

WITH_CALL(info__schedulers__are_those_of_the_guests_each_once)
{
	struct guests_rig *g = *state;

	assert_string_equal(scheduler_at(g, 0), "fake");
	assert_null(scheduler_at(g, 1));
	fake_dom(&g->host, 4)->scheduler = "null";
	assert_string_equal(scheduler_at(g, 0), "null");
	assert_string_equal(scheduler_at(g, 1), "fake");
	assert_null(scheduler_at(g, 2));
}

WITH_CALL(guest_show__figures__have_the_time_of_their_snapshot)
{
	struct guests_rig *g = *state;
	struct snapshot *sn = snap_of_set(g);

	sn->time.ns = 12345678901;
	snap_publish(&g->ho);
	assert_int_equal(num(ask(g, "guest-show", "'guest':'bulk'"), "sampled_ns"), 12345678901);
}

/* --- why ------------------------------------------------------------------------- */

static const char *why(struct guests_rig *g)
{
	return str(row(ask(g, "why", "'guest':'bulk'"), "guests", "bulk"), "text");
}

WITH_CALL(why__reason_of_the_policy__with_its_figures)
{
	struct guests_rig *g = *state;

	for (uint32_t i = 0; policy_freemarket.reasons[i]; i++) {
		struct snapshot *sn = snap_of_set(g);

		sn->guest[1].plan = (struct plan_guest){
			.reason = i, .why = { 62000123, 624288000, 81000, 4000 }
		};
		snap_publish(&g->ho);
		print_message("%s\n", why(g));
		assert_true(strlen(why(g)) > 10);
		assert_null(strchr(why(g), '%'));
		assert_non_null(strstr(why(g), "624288"));
		assert_null(strstr(why(g), "624288000")); /* Resos, not thousandths */
	}
}

static const char *const odd_reasons[] = {
	"%0 %1 %2 %3 %0m %1m %2m %3m %1d %3p %1g, %2x",
	"100% %",
	"%4 %9 %x",
	"%0%1%2%3%0%1%2%3%0%1%2%3%0%1%2%3%0%1%2%3"
	"%0%1%2%3%0%1%2%3%0%1%2%3%0%1%2%3%0%1%2%3%0%1%2%3%0%1%2%3%0%1%2%3%0%1%2%3",
	"",
	NULL
};

WITH_CALL(why__any_reason_text__is_filled_in_and_bounded)
{
	static const char *const want[] = {
		"-1 2000 3 4 0 2 0 0 2.00 0.4 that left, 3x", "100% %", "%4 %9 %x", NULL, "", ""
	};
	struct policy_ops odd = policy_null;
	struct guests_rig *g = *state;

	odd.reasons = odd_reasons;
	for (uint32_t i = 0; i < 6; i++) { /* the last is beyond the table */
		struct snapshot *sn = snap_of_set(g);

		sn->policy = &odd;
		sn->guest[1].plan = (struct plan_guest){ .reason = i, .why = { -1, 2000, 3, 4 } };
		if (!want[i])
			for (int k = 0; k < 4; k++)
				sn->guest[1].plan.why[k] = INT64_MIN;
		snap_publish(&g->ho);
		if (want[i])
			assert_string_equal(why(g), want[i]);
		else
			assert_in_range(strlen(why(g)), 400, 511);
	}
}

/* web is slowed down; the guests domain-100 and so on are charged for it, and bulk unless free. */
static const char *why_web(struct guests_rig *g, uint32_t others, bool free)
{
	static const char *const reasons[] = { "free", "for %2g, with %2a", "for it: %0a", NULL };
	static struct policy_ops named;
	struct snapshot *sn;
	uint32_t web;

	for (uint32_t id = 100; id < 100 + others; id++)
		if (!fake_dom(&g->host, id))
			fake_dom_add(&g->host, id, (uint8_t)id)->name_rc = -ENOENT;
	rig_second(g);
	rig_settle(g);
	rig_second(g);
	named = policy_null;
	named.reasons = reasons;
	sn = snap_of_set(g);
	sn->policy = &named;
	web = sn->guest[0].slot;
	for (uint32_t i = 0; i < sn->guests; i++)
		sn->guest[i].plan = (struct plan_guest){ .reason = 1, .why = { 0, 0, web, 0 } };
	sn->guest[0].plan = (struct plan_guest){ .reason = 2, .why = { web, 0, 0, 0 } };
	if (free)
		sn->guest[1].plan = (struct plan_guest){ .reason = 0,
							 .why = { web, web, web, web } };
	snap_publish(&g->ho);
	return str(row(ask(g, "why", "'guest':'web'"), "guests", "web"), "text");
}

WITH_CALL(why__of_a_set__names_its_guests)
{
	struct guests_rig *g = *state;

	assert_string_equal(why_web(g, 0, true), "for it: none so far");
	assert_string_equal(why_web(g, 0, false), "for it: bulk");
	assert_string_equal(why(g), "for web, with bulk");
	assert_string_equal(why_web(g, 3, false),
			    "for it: bulk, domain-100, domain-101, domain-102");
	assert_string_equal(why_web(g, 5, true),
			    "for it: domain-100, domain-101, domain-102, domain-103 and 1 more");
}

WITH_CALL(why__released_or_exempt__says_so_before_the_policy)
{
	struct guests_rig *g = *state;

	rig_guest(g, "bulk")->released = true;
	assert_string_equal(why(g), "released by cap-release");
	rig_guest(g, "bulk")->conf.exempt = true;
	assert_string_equal(why(g), "exempt by its settings");
}

/* --- policies ---------------------------------------------------------------------- */

static json_int_t value_of(const json_t *policy, const char *param)
{
	return num(row(policy, "params", param), "value");
}

WITH_CALL(policy_show__names_values_ranges)
{
	const json_t *r = ask(*state, "policy-show", "");
	const json_t *low = row(r, "params", "low");

	assert_string_equal(str(r, "name"), "freemarket");
	assert_true(json_is_true(json_object_get(r, "active")));
	assert_int_equal(num(low, "value"), 100);
	assert_int_equal(num(low, "default"), 100);
	assert_int_equal(num(low, "min"), 0);
	assert_int_equal(num(low, "max"), 1000);
	r = ask(*state, "policy-show", "'policy':'null'");
	assert_true(json_is_false(json_object_get(r, "active")));
}

WITH_CALL(policy_set__by_name_with_parameters__is_answered_when_it_is_in_force)
{
	struct guests_rig *g = *state;
	const json_t *r;

	r = ask(g, "policy-set", "'policy':'freemarket','params':{'low':250,'step':5000000}");
	assert_int_equal(value_of(r, "low"), 250);
	assert_int_equal(value_of(r, "step"), 5000000);
	assert_int_equal(value_of(r, "cut"), 100);
	assert_true(json_is_true(json_object_get(r, "active")));
	assert_ptr_equal(g->set->policy, g->gs->policy);
	assert_int_equal(atomic_load(&g->ho.acked), g->set->serial);
	assert_null(g->gs->policy_old);
	assert_int_equal(value_of(ask(g, "policy-show", ""), "low"), 250);
}

WITH_CALL(policy_set__values_with_units__are_those_of_a_file)
{
	struct guests_rig *g = *state;
	const json_t *r = ask(g, "policy-set",
			      "'policy':'freemarket',"
			      "'params':{'low':'25%','step':'5ms','min_cap':'2.5 %','cut':90}");

	assert_int_equal(value_of(r, "low"), 250);
	assert_int_equal(value_of(r, "step"), 5000000);
	assert_int_equal(value_of(r, "min_cap"), 2500);
	assert_int_equal(value_of(r, "cut"), 90);
}

/* Parameters that name a file and carry its text. */
static const char *with_file(char out[512], const char *text, const char *more)
{
	json_t *s = json_string(text);
	char *quoted = json_dumps(s, JSON_ENCODE_ANY);

	snprintf(out, 512, "'file':'p.json','text':%s%s", quoted, more);
	free(quoted);
	json_decref(s);
	return out;
}

WITH_CALL(policy_set__by_file__parameters_given_besides_win)
{
	struct guests_rig *g = *state;
	const json_t *r;
	char b[512];

	r = ask(g, "policy-set",
		with_file(b, "{\"policy\": \"freemarket\", \"params\": {\"low\": 7, \"cut\": 8}}",
			  ",'params':{'cut':9}"));
	assert_int_equal(value_of(r, "low"), 7);
	assert_int_equal(value_of(r, "cut"), 9);
}

WITH_CALL(policy_set__refused__old_policy_stays)
{
	struct guests_rig *g = *state;
	const struct policy_inst *was = g->gs->policy;
	char b[512];

	assert_fails(g, "policy-set", "", RESEX_USAGE, "name of a policy, or a file");
	assert_fails(g, "policy-set", "'params':{'low':5}", RESEX_USAGE,
		     "name of a policy, or a file");
	assert_fails(g, "policy-set", "'policy':'null','file':'x','text':'{}'", RESEX_USAGE,
		     "name of a policy, or a file");
	assert_fails(g, "policy-set", "'policy':'dear'", RESEX_NO_POLICY, "\"dear\"");
	assert_fails(g, "policy-set", "'policy':'freemarket','params':{'lo':1}", RESEX_USAGE,
		     "no parameter \"lo\"");
	assert_fails(g, "policy-set", "'policy':'freemarket','params':{'low':1001}", RESEX_RANGE,
		     "low");
	assert_fails(g, "policy-set", "'policy':'freemarket','params':{'low':-1}", RESEX_RANGE,
		     "low");
	assert_fails(g, "policy-set", "'policy':'freemarket','params':{'low':1.5}", RESEX_RANGE,
		     "low");
	assert_fails(g, "policy-set", "'policy':'freemarket','params':{'low':'9'}", RESEX_RANGE,
		     "low");
	assert_fails(g, "policy-set", "'file':'p.json'", RESEX_USAGE, "a file and its text");
	assert_fails(g, "policy-set",
		     with_file(b, "{\"policy\": \"freemarket\",\n \"params\": 5}", ""),
		     RESEX_BAD_CONFIG, "p.json:2:12: ");
	assert_fails(g, "policy-set", with_file(b, "{\"policy\": \"dear\"}", ""), RESEX_NO_POLICY,
		     "p.json:1:12: ");
	assert_ptr_equal(g->gs->policy, was);
	rig_work(g, MS);
	assert_false(rig_ack(g));
}

WITH_CALL(policy_set__sampler_hangs__is_refused_and_nothing_leaks)
{
	struct guests_rig *g = *state;

	sampler_hangs = true;
	assert_fails(g, "policy-set", "'policy':'null'", RESEX_FAILURE,
		     "policy null is set, but the sampler has not taken it up");
	assert_fails(g, "policy-set", "'policy':'freemarket'", RESEX_FAILURE, "try again");
	assert_ptr_equal(g->gs->policy->ops, &policy_null);
	sampler_hangs = false;
	ask(g, "policy-set", "'policy':'freemarket'");
	assert_ptr_equal(g->gs->policy->ops, &policy_freemarket);
}

/* One call of policy-set as the server makes it, and the sampler as the test moves it. */
static int set_once(struct guests_rig *g, struct call *c, const char *policy, json_t **result)
{
	struct request r = { .method = "policy-set" };
	char params[64];
	int rc;

	snprintf(params, sizeof(params), "'policy':'%s'", policy);
	r.params = params_of(params);
	rc = method_call(c, &r, result);
	json_decref(r.params);
	g->now.ns += MS;
	c->now = g->now;
	return rc;
}

WITH_CALL(policy_set__two_clients__the_second_waits_for_the_first_and_each_gets_its_own)
{
	struct guests_rig *g = *state;
	struct call one = { .guests = g->gs, .now = g->now, .wall_ns = WALL, .root = true };
	struct call two = one;
	json_t *r = NULL;

	assert_int_equal(set_once(g, &one, "null", &r), CALL_LATER);
	assert_int_equal(set_once(g, &two, "ratio", &r), CALL_LATER);
	assert_ptr_equal(g->gs->policy->ops, &policy_null);
	assert_int_equal(set_once(g, &one, "null", &r), CALL_LATER);
	assert_true(rig_ack(g));
	assert_int_equal(set_once(g, &two, "ratio", &r), CALL_LATER);
	assert_ptr_equal(g->gs->policy->ops, &policy_ratio);
	assert_int_equal(set_once(g, &one, "null", &r), 0); /* it was in force */
	assert_string_equal(str(r, "name"), "null");
	assert_true(json_is_false(json_object_get(r, "active")));
	json_decref(r);
	r = NULL;
	assert_int_equal(set_once(g, &two, "ratio", &r), CALL_LATER);
	assert_true(rig_ack(g));
	assert_int_equal(set_once(g, &two, "ratio", &r), 0);
	assert_string_equal(str(r, "name"), "ratio");
	assert_true(json_is_true(json_object_get(r, "active")));
	json_decref(r);
}

/* --- caps, events ---------------------------------------------------------------------- */

WITH_CALL(cap_list__wanted_and_in_force_and_why_not)
{
	struct guests_rig *g = *state;
	struct snapshot *sn = snap_of_set(g);
	const json_t *r;

	sn->guest[1].plan.cap = CAP_PERCENT(20);
	sn->guest[1].applied = CAP_PERCENT(80);
	sn->guest[1].cap_errno = EBUSY;
	sn->guest[1].cap_changes = 12;
	snap_publish(&g->ho);
	r = row(ask(g, "cap-list", ""), "guests", "bulk");
	assert_int_equal(num(r, "wanted"), 20);
	assert_int_equal(num(r, "cap"), 80);
	assert_int_equal(num(r, "old_cap"), 80);
	assert_int_equal(num(r, "weight"), 256);
	assert_int_equal(num(r, "changes"), 12);
	assert_string_equal(str(r, "error"), strerror(EBUSY));
	assert_string_equal(str(row(ask(g, "cap-list", ""), "guests", "web"), "error"), "");
}

WITH_CALL(cap_release__and_back__is_in_the_reply_and_in_the_events)
{
	struct guests_rig *g = *state;

	assert_string_equal(str(ask(g, "cap-release", "'guest':'bulk'"), "state"), "released");
	assert_string_equal(str(ask(g, "cap-release", "'guest':'bulk','undo':true"), "state"),
			    "managed");
	assert_string_equal(str(ask(g, "cap-release", "'guest':'bulk','undo':false"), "state"),
			    "released");
	assert_int_equal(rig_events(g, "release"), 3);
}

static json_int_t events_given(const json_t *r)
{
	return (json_int_t)json_array_size(json_object_get(r, "events"));
}

WITH_CALL(events__since__only_newer_ones)
{
	struct guests_rig *g = *state;
	json_int_t newest;

	newest = num(ask(g, "events", ""), "newest");
	assert_int_equal(newest, g->gs->events);
	assert_int_equal(events_given(ask(g, "events", "")), newest);
	assert_int_equal(events_given(ask(g, "events", "'since':-5")), newest);
	assert_int_equal(events_given(ask(g, "events", "'since':0")), newest);
	guests_event(g->gs, WALL, "bulk", "registry", "text");
	guests_event(g->gs, WALL, "", "late", "text");
	g->gs->events = (uint64_t)newest + 2;
	assert_int_equal(events_given(ask(g, "events", "'since':2")), newest + 2 - 2);
	assert_int_equal(events_given(ask(g, "events", "'since':9223372036854775807")), 0);
}

WITH_CALL(events__more_than_are_kept__the_newest_are_given_once_each)
{
	struct guests_rig *g = *state;
	json_t *r, *e;
	size_t i;

	for (int n = 0; n < 5000; n++)
		guests_event(g->gs, WALL, "bulk", "registry", "%d", n);
	r = ask(g, "events", "'since':10");
	assert_int_equal(events_given(r), GUESTS_EVENTS);
	json_array_foreach(json_object_get(r, "events"), i, e)
		assert_int_equal(num(e, "id"), g->gs->events - GUESTS_EVENTS + i + 1);
}

WITH_CALL(events__of_a_guest__by_name_id_or_uuid_and_of_those_that_are_gone)
{
	struct guests_rig *g = *state;
	json_int_t n;

	guests_event(g->gs, WALL, "gone", "guest-gone", "domain 3");
	n = events_given(ask(g, "events", "'guest':'bulk'"));
	assert_true(n > 0 && n < (json_int_t)g->gs->events);
	assert_int_equal(events_given(ask(g, "events", "'guest':'5'")), n);
	assert_int_equal(
		events_given(ask(g, "events", "'guest':'05050505-0505-0505-0505-050505050505'")),
		n);
	assert_int_equal(events_given(ask(g, "events", "'guest':'gone'")), 1);
	assert_fails(g, "events", "'guest':'nobody'", RESEX_NO_GUEST, "no guest \"nobody\"");
}

/* --- rings ------------------------------------------------------------------------------- */

WITH_CALL(ring_list__sampler_hangs__is_said_and_no_totals_made_up)
{
	struct guests_rig *g = *state;

	rig_create_vm(g, 2);
	sampler_hangs = true;
	assert_fails(g, "ring-list", "", RESEX_FAILURE, "the sampler does not answer");
	assert_fails(g, "ring-list", "'guest':'7'", RESEX_FAILURE, "the sampler does not answer");
	assert_fails(g, "ring-list", "'guest':'nobody'", RESEX_NO_GUEST, "no guest");
}

WITH_CALL(ring_list__rings_with_their_totals)
{
	struct guests_rig *g = *state;
	const json_t *r, *ring;

	rig_create_vm(g, 2);
	r = row(ask(g, "ring-list", "'guest':'7'"), "guests", "guest-7");
	assert_true(json_is_true(json_object_get(r, "attached")));
	assert_int_equal(json_array_size(json_object_get(r, "rings")), 2);
	ring = json_array_get(json_object_get(r, "rings"), 0);
	assert_string_equal(str(ring, "kind"), "SQ");
	assert_string_equal(str(ring, "comm"), "fake");
	assert_int_equal(num(ring, "entries"), 16);
	assert_string_equal(str(ring, "provider"), "rxe");
	assert_int_equal(num(ring, "qpn"), 17);
	assert_string_equal(str(ring, "state"), "active");
	assert_int_equal(num(ring, "wrs"), 0);
	assert_int_equal(num(json_object_get(r, "totals"), "wrs"), 0);
	assert_int_equal(json_array_size(json_object_get(ask(g, "ring-list", ""), "guests")), 3);
}

WITH_CALL(ring_list__descriptor_refused__is_shown_with_the_reason)
{
	struct guests_rig *g = *state;
	const json_t *r, *ring;

	fake_write_begin(&g->mem);
	fake_add_sq(&g->mem, 1, 16);
	fake_ring_at(&g->mem, 0)->elem_size = 77;
	fake_write_end(&g->mem);
	rig_create_vm(g, 0);
	r = row(ask(g, "ring-list", "'guest':'7'"), "guests", "guest-7");
	ring = json_array_get(json_object_get(r, "rings"), 0);
	assert_string_equal(str(ring, "state"), "dropped");
	assert_string_equal(str(ring, "fault"), ring_fault_text(RING_FAULT_DESC));
}
