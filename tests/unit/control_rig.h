/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * control_rig: methods called on guests without sockets, with two guests,
 * web and bulk, and a snapshot the test writes.
 */
#ifndef RESEX_TESTS_CONTROL_RIG_H
#define RESEX_TESTS_CONTROL_RIG_H

#include "resex/exit.h"
#include "src/control/methods.h"
#include "tests/unit/guests_rig.h"

/* The snapshot a sampler would have published: everything in the set, as the test changes it. */
static inline struct snapshot *snap_of_set(struct guests_rig *g)
{
	struct snapshot *sn = snap_begin(&g->ho);

	memset(sn, 0, sizeof(*sn));
	sn->time = g->now;
	sn->epoch = 3;
	sn->ticks = 2500;
	sn->tick_ns_sum = 2500 * 4000;
	sn->policy = g->gs->policy->ops;
	sn->set_serial = g->set->serial;
	sn->guests = g->set->guests;
	for (uint32_t i = 0; i < sn->guests; i++) {
		struct snap_guest *s = &sn->guest[i];

		s->key = g->set->guest[i].key;
		s->slot = g->set->guest[i].slot;
		s->set_flags = g->set->guest[i].flags;
		s->account.rate = RATE_ONE;
		s->account.allocated.m = s->account.balance.m = 624288 * RESO_MILLI;
		s->rings = g->set->guest[i].scan->rings;
	}
	return sn;
}

/* The sampler's next tick: totals of rings, the newest set, and caps that no policy changes. */
static inline void rig_tick(struct guests_rig *g)
{
	struct snapshot *sn = &g->ho.snaps.buf[g->ho.snaps.at.front]; /* snap_latest() */

	rig_show(g);
	rig_ack(g);
	sn->set_serial = g->set->serial;
	for (uint32_t i = 0; i < sn->guests && i < g->set->guests; i++) {
		sn->guest[i].set_flags = g->set->guest[i].flags;
		if (g->set->guest[i].flags & POLICY_EXEMPT)
			sn->guest[i].applied = g->set->guest[i].own;
	}
}

struct answer {
	int exit;
	struct proto_error error;
	json_t *result; /* borrowed from the rig until the next call */
};

static json_t *last_result;
static bool sampler_hangs; /* it answers nothing */

/* {"guest": "x"} is written 'guest':'x' in tests, which is easier to read. */
static inline json_t *params_of(const char *text)
{
	char buf[1024];

	snprintf(buf, sizeof(buf), "{%s}", text);
	for (char *p = buf; *p; p++)
		if (*p == '\'')
			*p = '"';
	return json_loads(buf, 0, NULL);
}

/* resex-control(7): in the bytes that a client gets, no number has more than three decimals. */
static inline void assert_three_decimals(const char *line)
{
	bool string = false;

	for (const char *p = line; *p; p++) {
		if (string && *p == '\\')
			p++;
		else if (*p == '"')
			string = !string;
		else if (!string && *p == '.' && strspn(p + 1, "0123456789") > 3)
			fail_msg("more than three decimals: %.*s", 60,
				 p - (p - line < 30 ? p - line : 30));
	}
}

static inline void assert_reply_is_short(json_t *result)
{
	char *line = reply_result(NULL, json_incref(result));

	assert_non_null(line);
	assert_three_decimals(line);
	free(line);
}

static inline struct answer ask_as(struct guests_rig *g, bool root, const char *method,
				   const char *params)
{
	struct call c = { .guests = g->gs,
			  .cluster = g->cluster,
			  .sn = snap_latest(&g->ho),
			  .now = g->now,
			  .wall_ns = WALL,
			  .root = root };
	struct request r = { .method = method, .params = params_of(params) };
	struct answer a;

	assert_non_null(r.params);
	json_decref(last_result);
	last_result = NULL;
	while ((a.exit = method_call(&c, &r, &last_result)) == CALL_LATER) {
		assert_null(last_result);
		c.now.ns += 10 * MS;
		if (!sampler_hangs)
			rig_tick(g);
	}
	assert_int_equal(c.ask.serial, 0);
	assert_false(c.policy.waits || c.policy.number || c.caps.waits);
	a.error = c.error;
	a.result = last_result;
	json_decref(r.params);
	if (a.exit) {
		assert_null(a.result);
		assert_true(a.error.text[0] && !strchr(a.error.text, '\n'));
	} else {
		assert_non_null(a.result);
		assert_reply_is_short(a.result);
	}
	return a;
}

static inline json_t *ask(struct guests_rig *g, const char *method, const char *params)
{
	struct answer a = ask_as(g, true, method, params);

	if (a.exit)
		fail_msg("%s {%s}: %s", method, params, a.error.text);
	return a.result;
}

static inline void assert_refused(struct guests_rig *g, const char *method, const char *params,
				  int exit, int code, const char *says)
{
	struct answer a = ask_as(g, true, method, params);

	if (a.exit != exit || a.error.code != code || !strstr(a.error.text, says))
		fail_msg("%s {%s}: %d, %d, %s", method, params, a.exit, a.error.code, a.error.text);
}

/* The same where the code of the error follows from the exit status. */
static inline void assert_fails(struct guests_rig *g, const char *method, const char *params,
				int exit, const char *says)
{
	assert_refused(g, method, params, exit, PROTO_E_SERVER - exit, says);
}

static inline int call_setup(void **state)
{
	struct guests_rig *g;
	int rc = rig_setup(state);

	g = *state;
	strcpy(fake_dom_add(&g->host, 4, 4)->name, "web");
	strcpy(fake_dom_add(&g->host, 5, 5)->name, "bulk");
	fake_dom(&g->host, 5)->params.cap = CAP_PERCENT(80);
	rig_settle(g);
	snap_of_set(g);
	snap_publish(&g->ho);
	return rc;
}

static inline int call_teardown(void **state)
{
	json_decref(last_result);
	last_result = NULL;
	sampler_hangs = false;
	return rig_teardown(state);
}

static inline const json_t *row(const json_t *result, const char *array, const char *name)
{
	json_t *arr = json_object_get(result, array), *o;
	size_t i;

	json_array_foreach(arr, i, o)
		if (!strcmp(json_string_value(json_object_get(o, "name")), name))
			return o;
	fail_msg("no %s in %s", name, array);
	return NULL;
}

static inline json_int_t num(const json_t *o, const char *key)
{
	assert_true(json_is_integer(json_object_get(o, key)));
	return json_integer_value(json_object_get(o, key));
}

static inline const char *str(const json_t *o, const char *key)
{
	assert_true(json_is_string(json_object_get(o, key)));
	return json_string_value(json_object_get(o, key));
}

#define WITH_CALL(name) TEST_WITH(name, call_setup, call_teardown)

#endif
