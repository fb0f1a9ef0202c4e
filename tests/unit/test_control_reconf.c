// SPDX-License-Identifier: GPL-2.0-or-later
/* control_reconf: the methods that show when nodes should move, and which moves there were. */
#include "tests/unit/control_cluster_rig.h"
#include "tests/unit/unit.h"

WITH_CALL(service_list__shows_loads_and_what_is_decided)
{
	struct cluster *c = with_cluster(*state);
	const json_t *r, *s;

	strcpy(c->service.note, "xen2 was not read yet");
	c->service.wait_ns = 3 * NS_PER_MS;
	r = ask(*state, "service-list", "");
	assert_string_equal(str(r, "cluster"), "prod");
	assert_int_equal(json_array_size(json_object_get(r, "services")), 2);
	s = json_array_get(json_object_get(r, "services"), 1);
	assert_string_equal(str(s, "service"), "mail");
	assert_true(num(s, "nodes") == 3 && num(s, "known") == 2 && num(s, "load") == 1800);
	assert_true(num(s, "high_ms") == 5000 && num(s, "wait_ms") == 3);
	assert_string_equal(str(s, "why"), "load");
	assert_string_equal(str(s, "node"), "n2");
	assert_string_equal(str(s, "donor"), "mail");
	assert_true(num(s, "predicted") == 900 && num(s, "donor_load") == 200);
	assert_int_equal(num(s, "donor_predicted"), 400);
	assert_string_equal(str(s, "note"), "xen2 was not read yet");
	c->service.node = NULL;
	c->service.donor = NULL;
	c->service.load = -1;
	c->service.wait_ns = 0;
	s = json_array_get(json_object_get(ask(*state, "service-list", ""), "services"), 0);
	assert_true(json_is_null(json_object_get(s, "node")));
	assert_true(json_is_null(json_object_get(s, "donor")));
	assert_true(json_is_null(json_object_get(s, "load")));
	assert_true(json_is_null(json_object_get(s, "wait_ms")));
}

static const char *why_move(struct guests_rig *g, const char *name)
{
	char params[64];

	snprintf(params, sizeof(params), "'name':'%s'", name);
	return str(ask(g, "why-move", params), "text");
}

WITH_CALL(why_move__of_a_service__is_a_sentence_with_figures)
{
	struct cluster *c = with_cluster(*state);

	assert_string_equal(
		why_move(*state, "web"),
		"its load is 1.800 with 3 nodes, high for 5000 ms: it would get node n2 "
		"from mail: the donor's load is low; mail has load 0.200, and the loads "
		"would be 0.900 and 0.400");
	c->service.node = NULL;
	c->service.nodes = 1;
	c->service.load = c->service.taker_predicted = -1;
	c->service.high_ns = 0;
	c->service.why_text = "it rests";
	c->service.wait_ns = 3 * NS_PER_MS;
	assert_string_equal(
		why_move(*state, "web"),
		"its load is not known with 1 node: it gets no node: it rests; mail has "
		"load 0.200; not within the next 3 ms");
	c->service.donor = NULL;
	assert_null(strstr(why_move(*state, "web"), "mail"));
	c->service.here = false;
	assert_non_null(strstr(why_move(*state, "web"), "this host is none of them"));
	strcpy(c->service.note, "no quorum");
	assert_string_equal(why_move(*state, "web"), "nothing is decided: no quorum");
}

WITH_CALL(why_move__of_a_node__says_where_it_would_go)
{
	struct cluster *c = with_cluster(*state);

	assert_string_equal(why_move(*state, "n2"),
			    "it would go from web to web: the donor's load is low");
	assert_non_null(
		strstr(why_move(*state, "n1"), "it stays at web: no service that this host"));
	c->conf.node[0].service = 0;
	assert_non_null(strstr(why_move(*state, "n1"), "it serves no service"));
	strcpy(c->service.note, "no quorum");
	assert_string_equal(why_move(*state, "n3"),
			    "it stays at web: nothing is decided: no quorum");
	assert_fails(*state, "why-move", "", RESEX_USAGE, "give a service's or a node's name");
	assert_fails(*state, "why-move", "'name':'n9'", RESEX_USAGE,
		     "there is no service and no node \"n9\"");
}

static double us(const json_t *o, const char *key)
{
	return json_real_value(json_object_get(o, key));
}

WITH_CALL(history__shows_the_moves_of_a_service_and_a_time)
{
	struct cluster *c = with_cluster(*state);
	const json_t *r = ask(*state, "history", ""), *m;

	c->history_note = "f is not written";
	assert_int_equal(json_array_size(json_object_get(r, "moves")), 2);
	m = json_array_get(json_object_get(r, "moves"), 0);
	assert_true(num(m, "id") == 7 && num(m, "time_ns") == 3 * NS_PER_S);
	assert_string_equal(str(m, "node"), "n2");
	assert_string_equal(str(m, "from"), "mail");
	assert_string_equal(str(m, "to"), "web");
	assert_string_equal(str(m, "why"), "load");
	assert_string_equal(str(m, "outcome"), "observed");
	assert_true(num(m, "to_before") == 1800 && num(m, "to_predicted") == 900);
	assert_true(num(m, "from_before") == 200 && num(m, "from_predicted") == 400);
	assert_true(num(m, "to_seen") == 950 && num(m, "high_ms") == 5000);
	assert_true(json_is_null(json_object_get(m, "from_seen")));
	assert_int_equal(num(m, "seen_ns"), 30 * NS_PER_S);
	assert_string_equal(str(m, "host"), "xen2");
	assert_string_equal(str(m, "by"), "rule");
	assert_string_equal(str(m, "to_fence"), "4.17");
	assert_string_equal(str(m, "from_fence"), "4.9");
	assert_int_equal(num(m, "told"), 2);
	assert_true(us(m, "held_us") == 1.5 && us(m, "read_us") == 2.5 && us(m, "told_us") == 3);
	assert_true(us(m, "moved_us") == 4 && us(m, "released_us") == 5);
	m = json_array_get(json_object_get(r, "moves"), 1);
	assert_string_equal(str(m, "by"), "operator");
	assert_true(json_is_null(json_object_get(m, "host")));
	assert_true(json_is_null(json_object_get(m, "to_fence")));
	assert_true(json_is_null(json_object_get(m, "told")));
	assert_true(json_is_null(json_object_get(m, "held_us")));
	assert_true(json_is_null(json_object_get(m, "released_us")));
	assert_true(num(m, "id") == 8 && json_is_null(json_object_get(m, "seen_ns")));
	r = ask(*state, "history", "'service':'web'");
	assert_string_equal(str(r, "note"), "f is not written");
	assert_int_equal(json_array_size(json_object_get(r, "moves")), 1);
	r = ask(*state, "history", "'service':'mail'");
	assert_int_equal(json_array_size(json_object_get(r, "moves")), 2);
	r = ask(*state, "history", "'since_ns':4000000000");
	assert_int_equal(json_array_size(json_object_get(r, "moves")), 1);
	r = ask(*state, "history", "'since_ns':4000000001");
	assert_int_equal(json_array_size(json_object_get(r, "moves")), 0);
	assert_fails(*state, "history", "'service':'x'", RESEX_USAGE, "there is no service \"x\"");
}

/* --- move ----------------------------------------------------------------------------- */

WITH_CALL(move__is_waited_for__a_dry_run_is_not)
{
	struct cluster *c = with_cluster(*state);
	const json_t *r;

	c->result_after = 3;
	r = ask(*state, "move", "'node':'n2','service':'mail'");
	assert_true(json_is_true(json_object_get(r, "moved")));
	assert_string_equal(str(r, "node"), "n2");
	assert_string_equal(str(r, "service"), "mail");
	assert_true(c->ordered[0] == 1 && c->ordered[1] == 1);
	assert_int_equal(c->ticket, 1);
	assert_int_equal(c->result_after, 0);
	r = ask(*state, "move", "'node':'n1','service':'mail','dry_run':true");
	assert_true(json_is_false(json_object_get(r, "moved")));
	assert_true(c->ordered[0] == 0 && c->ticket == 1);
}

WITH_CALL(move__refused__says_why_and_what_to_do)
{
	static const struct {
		int begin, end, exit;
		const char *says;
	} rows[] = {
		{ -EOPNOTSUPP, 0, RESEX_FAILURE, "cluster.json has no \"reconf\"" },
		{ -EPERM, 0, RESEX_FAILURE, "n1 is not moved: xen2 was not read yet" },
		{ -EBUSY, 0, RESEX_BUSY, "try again" },
		{ -EALREADY, 0, RESEX_FAILURE, "n1 serves web already" },
		{ -EACCES, 0, RESEX_FAILURE, "n1 may not serve web: see its \"only\"" },
		{ -ENOSYS, 0, RESEX_FAILURE, "n1 is of \"kind\": \"switch\"" },
		{ -ENODATA, 0, RESEX_FAILURE, "is not known: see resex node-list" },
		{ 0, -EAGAIN, RESEX_BUSY, "try again" },
		{ 0, -EPERM, RESEX_FAILURE, "no quorum" },
		{ 0, 2, RESEX_FAILURE, "n1 is not moved: its locks are held" },
		{ 0, -ENOENT, RESEX_FAILURE, "No such file" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cluster *c = with_cluster(*state);

		c->break_rc = rows[i].begin;
		c->result_rc = rows[i].end;
		c->result_after = 1;
		assert_refused(*state, "move", "'node':'n1','service':'web'", rows[i].exit,
			       PROTO_E_SERVER - rows[i].exit, rows[i].says);
	}
	assert_fails(*state, "move", "'node':'n9','service':'web'", RESEX_USAGE, "no node \"n9\"");
	assert_fails(*state, "move", "'node':'n1','service':'wbe'", RESEX_USAGE,
		     "no service \"wbe\"");
	assert_fails(*state, "move", "'node':'n1'", RESEX_USAGE, "a node and of a service");
}

WITH_CALL(reconf_set__a_mode__is_shown__and_others_are_refused)
{
	static const char *const modes[] = { "observe", "act", "pause" };
	struct cluster *c = with_cluster(*state);
	char params[64];

	for (size_t i = 0; i < 3; i++) {
		snprintf(params, sizeof(params), "'mode':'%s'", modes[i]);
		assert_string_equal(str(ask(*state, "reconf-set", params), "mode"), modes[i]);
		assert_int_equal(c->reconf_mode, i);
		assert_string_equal(str(ask(*state, "service-list", ""), "mode"), modes[i]);
	}
	assert_int_equal(ask_as(*state, false, "reconf-set", params).exit, RESEX_PERMISSION);
	assert_fails(*state, "reconf-set", "'mode':'on'", RESEX_USAGE,
		     "mode is \"on\": give observe, act or pause");
	assert_fails(*state, "reconf-set", "", RESEX_USAGE, "give observe, act or pause");
	c->break_rc = -ENOSYS;
	assert_fails(*state, "reconf-set", "'mode':'act'", RESEX_FAILURE, "\"kind\": \"switch\"");
	c->break_rc = -EOPNOTSUPP;
	assert_fails(*state, "reconf-set", "'mode':'act'", RESEX_FAILURE, "has no \"reconf\"");
}
