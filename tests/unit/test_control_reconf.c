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
	c->service.wait_ns = 3 * NS_PER_MS - 1;
	c->service.wait_text = "it asks again";
	assert_string_equal(
		why_move(*state, "web"),
		"its load is not known with 1 node: it gets no node: it rests; mail has "
		"load 0.200, and the loads would be not known and 0.400; it asks again in 3 ms");
	c->service.donor_predicted = -1;
	c->service.wait_ns = 10 * NS_PER_S + 1;
	assert_string_equal(
		why_move(*state, "web"),
		"its load is not known with 1 node: it gets no node: it rests; mail has "
		"load 0.200; it asks again in 11 s");
	c->service.wait_text = c->service.why_text = "";
	assert_string_equal(
		why_move(*state, "web"),
		"its load is not known with 1 node: it gets no node: nothing was decided yet; "
		"mail has load 0.200");
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
	c->node[0].lost = true;
	assert_non_null(strstr(why_move(*state, "n1"), "a balancer in mode act adopts it"));
	c->conf.node[0].kind = CLUSTER_NODE_SWITCH;
	assert_non_null(strstr(why_move(*state, "n1"), "no balancer adopts it: its host does not"));
	c->node[0].serves = &c->conf.service[0];
	assert_non_null(strstr(why_move(*state, "n1"), "a balancer in mode act adopts it"));
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

static size_t moves_since(struct guests_rig *g, int64_t ns)
{
	char params[64];

	snprintf(params, sizeof(params), "'since_ns':%lld", (long long)ns);
	return json_array_size(json_object_get(ask(g, "history", params), "moves"));
}

/* The two moves were 5 s and 3 s ago, and the time of day was set in between and after. */
WITH_CALL(history__since_a_time__goes_by_what_has_passed_since)
{
	struct guests_rig *g = *state;
	struct cluster *c = with_cluster(g);

	c->move[1].at = mono_add(g->now, -5 * NS_PER_S);
	c->move[0].at = mono_add(g->now, -3 * NS_PER_S);
	c->move[1].wall_ns = WALL + 1000 * NS_PER_S;
	c->move[0].wall_ns = WALL - 1000 * NS_PER_S;
	assert_int_equal(moves_since(g, WALL - 6 * NS_PER_S), 2);
	assert_int_equal(moves_since(g, WALL - 4 * NS_PER_S), 1);
	assert_int_equal(moves_since(g, WALL - 2 * NS_PER_S), 0);
	/* Before the start of the daemon: only the time of then is known. */
	c->move[1].at = c->move[0].at = (struct mono){ 0 };
	assert_int_equal(moves_since(g, WALL - 2 * NS_PER_S), 1);
	assert_int_equal(moves_since(g, WALL - 2000 * NS_PER_S), 2);
	/* Without a time all are shown, whatever they say. */
	c->move[0].wall_ns = c->move[1].wall_ns = INT64_MIN;
	assert_int_equal(json_array_size(json_object_get(ask(g, "history", ""), "moves")), 2);
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
	assert_true(json_is_false(json_object_get(r, "prepared")));
	c->conf.node[0].kind = CLUSTER_NODE_SWITCH;
	r = ask(*state, "move", "'node':'n1','service':'mail','dry_run':true");
	assert_true(json_is_false(json_object_get(r, "moved")));
	assert_true(json_is_true(json_object_get(r, "prepared")));
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
		{ -EINPROGRESS, 0, RESEX_BUSY, "n1 is not moved: its move is not done" },
		{ -EACCES, 0, RESEX_FAILURE, "n1 may not serve web: see its \"only\"" },
		{ -ENODATA, 0, RESEX_FAILURE, "is not known: see resex node-list" },
		{ -ECANCELED, 0, RESEX_FAILURE,
		  "n1 is not moved: an operator has fixed it on this host: run resex node-fix n1 "
		  "off first" },
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
	c->break_rc = -EOPNOTSUPP;
	assert_fails(*state, "reconf-set", "'mode':'act'", RESEX_FAILURE, "has no \"reconf\"");
}

/* --- node-fix and service-set ------------------------------------------------------------ */

static const json_t *row_of(struct guests_rig *g, const char *method, const char *rows, size_t i)
{
	return json_array_get(json_object_get(ask(g, method, ""), rows), i);
}

WITH_CALL(node_fix__is_shown__and_others_are_refused)
{
	struct cluster *c = with_cluster(*state);
	const json_t *r = ask(*state, "node-fix", "'node':'n2','fixed':true");

	assert_string_equal(str(r, "node"), "n2");
	assert_true(json_is_true(json_object_get(r, "fixed")) && c->fixed[1] && !c->fixed[0]);
	assert_true(
		json_is_true(json_object_get(row_of(*state, "node-list", "nodes", 1), "fixed")));
	assert_true(
		json_is_false(json_object_get(row_of(*state, "node-list", "nodes", 0), "fixed")));
	c->service.node = NULL;
	assert_string_equal(why_move(*state, "n2"),
			    "it stays at web: an operator has fixed it on this host: resex "
			    "node-fix n2 off lets it go");
	assert_string_equal(str(ask(*state, "why-move", "'name':'n2'"), "why"), "stuck");
	assert_non_null(strstr(why_move(*state, "n1"), "no service that this host balances"));
	assert_string_equal(str(ask(*state, "why-move", "'name':'n1'"), "why"), "");
	r = ask(*state, "node-fix", "'node':'n2','fixed':false");
	assert_true(json_is_false(json_object_get(r, "fixed")) && !c->fixed[1]);
	assert_fails(*state, "node-fix", "'node':'n2'", RESEX_USAGE, "fixed: give true, or false");
	assert_fails(*state, "node-fix", "'fixed':true", RESEX_USAGE, "node: give a node's name");
	assert_fails(*state, "node-fix", "'node':'n9','fixed':true", RESEX_USAGE, "no node \"n9\"");
	c->break_rc = -EOPNOTSUPP;
	assert_fails(*state, "node-fix", "'node':'n2','fixed':true", RESEX_FAILURE,
		     "has no \"reconf\"");
}

WITH_CALL(service_set__shows_both_values)
{
	struct cluster *c = with_cluster(*state);
	const json_t *r = ask(*state, "service-set",
			      "'service':'mail','settings':{'high':2000,'share':2}");

	assert_string_equal(str(r, "service"), "mail");
	assert_true(num(r, "high") == 2000 && num(r, "share") == 2 && num(r, "low") == 900);
	r = row_of(*state, "service-list", "services", 1);
	assert_true(num(r, "high") == 2000 && num(r, "minimum") == 1);
	assert_true(num(json_object_get(r, "configured"), "high") == 1500);
	assert_true(num(json_object_get(r, "configured"), "share") == 1);
	assert_true(num(json_object_get(r, "configured"), "priority") == 0);
	assert_int_equal(num(row_of(*state, "service-list", "services", 0), "high"), 1500);
	/* The second one adds to the first. */
	r = ask(*state, "service-set", "'service':'mail','settings':{'priority':7}");
	assert_true(num(r, "high") == 2000 && num(r, "priority") == 7);
	assert_true(c->set[1].priority == 7 && !c->set[0].number);
}

WITH_CALL(service_set__refused__says_what_a_file_would)
{
	static const struct {
		const char *settings;
		int exit;
		const char *says;
	} rows[] = {
		{ "{}", RESEX_USAGE, "give at least one setting, such as share=4" },
		{ "{'high':0}", RESEX_RANGE, "high is 0: write a whole number from 1 to 1000000" },
		{ "{'high':900}", RESEX_RANGE, "low 900 of \"web\" is not below its high, 900" },
		{ "{'guarantee':0}", RESEX_RANGE,
		  "guarantee 0 of \"web\" is below its minimum, 1" },
		{ "{'share':4}", RESEX_RANGE, "maximum 3 of \"web\" is below its share, 4" },
		{ "{'priority':8}", RESEX_RANGE, "from 0 to 7" },
		{ "{'guarantee':3,'share':3}", RESEX_RANGE,
		  "the guarantees of all services are 4 nodes, and \"nodes\" has 3" },
		{ "{'shares':4}", RESEX_USAGE, "unknown key \"shares\"" },
		{ "{'high':'2'}", RESEX_RANGE, "high is \"2\"" },
		{ "{'minimum':0}", RESEX_RANGE, "minimum: other hosts count on it: write it" },
	};
	struct cluster *c = with_cluster(*state);
	char params[160];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(params, sizeof(params), "'service':'web','settings':%s", rows[i].settings);
		assert_refused(*state, "service-set", params, rows[i].exit,
			       PROTO_E_SERVER - rows[i].exit, rows[i].says);
		assert_false(c->set[0].number);
	}
	assert_fails(*state, "service-set", "'service':'x','settings':{'high':1}", RESEX_USAGE,
		     "there is no service \"x\"");
	assert_fails(*state, "service-set", "'settings':{'high':1}", RESEX_USAGE,
		     "service: give a service's name");
	c->break_rc = -EOPNOTSUPP;
	assert_fails(*state, "service-set", "'service':'web','settings':{'high':2000}",
		     RESEX_FAILURE, "has no \"reconf\"");
}

WITH_CALL(cluster_reload__ends_what_is_set__and_says_so)
{
	struct cluster *c = with_cluster(*state);
	const json_t *r, *change;

	c->next = c->conf;
	ask(*state, "service-set", "'service':'mail','settings':{'high':2000}");
	r = ask(*state, "cluster-reload", "'dry_run':true");
	assert_true(json_is_true(json_object_get(r, "changed")) && c->set[1].number);
	r = ask(*state, "cluster-reload", "");
	assert_true(json_is_true(json_object_get(r, "changed")));
	assert_int_equal(json_array_size(json_object_get(r, "changes")), 1);
	change = json_array_get(json_object_get(r, "changes"), 0);
	assert_string_equal(str(change, "kind"), "service-reset");
	assert_int_equal(num(change, "number"), 2);
	assert_string_equal(str(change, "text"),
			    "service mail as in cluster.json, no longer high 2000, which an "
			    "operator has set");
	assert_int_equal(json_array_size(json_object_get(r, "others")), 0);
	assert_false(c->set[1].number);
	assert_true(json_is_false(json_object_get(ask(*state, "cluster-reload", ""), "changed")));
}
