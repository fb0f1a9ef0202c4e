// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sweep_scene: the runs of a scenario (resex-scenario(5)): which guests are capped, the scenario of
 * each run, and the result from its summary. sweep_cmd.c calls it. Pure.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lab/sweep.h"

enum {
	CAPPED_US = 100000, /* when caps begin that begin in turn */
	CYCLE_US = 50000,   /* how often a guest runs at cap 1: credit2 gives it 500 us at least */
	REFILLS = 5,	    /* in it; at this cap and above, a guest runs after each refill */
	EVENTS_MAX = 256,
};

/* --- guests --- */

static bool has_kind(const json_t *guest, const char *kind)
{
	const json_t *list = json_object_get(guest, "apps"), *app;
	size_t i;

	json_array_foreach(list, i, app) {
		const char *is = json_string_value(json_object_get(app, "kind"));

		if (is && !strcmp(is, kind))
			return true;
	}
	return false;
}

static json_t *list_of(const json_t *root, const char *key)
{
	return json_object_get(root, key);
}

static bool is_promised(const json_t *guest)
{
	return has_kind(guest, "server") && json_object_get(guest, "sla");
}

static void find_roles(struct sweep_scene *s)
{
	const json_t *guest;
	bool promised = false;
	size_t i;

	json_array_foreach(list_of(s->root, "guests"), i, guest)
		promised = promised || is_promised(guest);
	json_array_foreach(list_of(s->root, "guests"), i, guest) {
		s->reporter[i] = promised ? is_promised(guest) : has_kind(guest, "server");
		s->neighbour[i] = !s->reporter[i] &&
				  (has_kind(guest, "sender") || has_kind(guest, "server"));
		s->reporters += s->reporter[i];
		s->neighbours += s->neighbour[i];
		s->guests++;
	}
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static bool is_neighbour(const struct sweep_scene *s, const char *name)
{
	const json_t *guest;
	size_t i;

	json_array_foreach(list_of(s->root, "guests"), i, guest)
		if (!strcmp(text_of(guest, "name"), name))
			return s->neighbour[i];
	return false;
}

/* A cap of the operator is set when its guest exists, and a new life of the guest has another. */
static bool all_stay(const struct sweep_scene *s)
{
	static const char *const lives[] = { "create", "destroy", "reboot" };
	const json_t *v;
	size_t i;

	json_array_foreach(list_of(s->root, "guests"), i, v)
		if (s->neighbour[i] && json_is_true(json_object_get(v, "later")))
			return false;
	json_array_foreach(list_of(s->root, "events"), i, v)
		for (int k = 0; k < 3; k++)
			if (!strcmp(text_of(v, "do"), lives[k]) &&
			    is_neighbour(s, text_of(v, "guest")))
				return false;
	return true;
}

/* --- runs --- */

static void add_run(struct sweep_scene *s, enum sweep_kind kind, uint32_t cap, const char *policy)
{
	if (s->runs < SWEEP_RUNS_MAX)
		s->run[s->runs++] = (struct sweep_run){ kind, cap, policy };
}

const char *sweep_open(struct sweep_scene *s, json_t *root, const uint32_t *caps, uint32_t n,
		       const char *const *policies)
{
	size_t events = json_array_size(list_of(root, "events"));

	memset(s, 0, sizeof(*s));
	s->root = root;
	if (json_array_size(list_of(root, "guests")) > SWEEP_GUESTS)
		return "it has too many guests: 256 are simulated at most";
	if (!strcmp(text_of(root, "clock"), "real"))
		return "its clock is real: remove \"clock\", so that a run is the same each time";
	find_roles(s);
	if (!s->reporters)
		return "it has no server, whose latency would be shown: add a guest with one";
	s->is_staggered = s->neighbours > 1 && events + s->neighbours <= EVENTS_MAX && all_stay(s);
	add_run(s, SWEEP_ALONE, 0, NULL);
	add_run(s, SWEEP_FREE, 0, NULL);
	for (uint32_t i = 0; s->neighbours && i < n; i++) {
		add_run(s, SWEEP_TOGETHER, caps[i], NULL);
		if (s->is_staggered)
			add_run(s, SWEEP_STAGGERED, caps[i], NULL);
	}
	/* The policy null is SWEEP_FREE. */
	for (; *policies; policies++)
		if (strcmp(*policies, "null") != 0)
			add_run(s, SWEEP_POLICY, 0, *policies);
	return NULL;
}

void sweep_free(struct sweep_scene *s)
{
	json_decref(s->root);
	s->root = NULL;
}

void sweep_run_name(const struct sweep_run *run, char name[SWEEP_NAME_MAX])
{
	switch (run->kind) {
	case SWEEP_ALONE:
		snprintf(name, SWEEP_NAME_MAX, "alone");
		return;
	case SWEEP_FREE:
		snprintf(name, SWEEP_NAME_MAX, "null");
		return;
	case SWEEP_TOGETHER:
	case SWEEP_STAGGERED:
		snprintf(name, SWEEP_NAME_MAX, "cap %u%s", run->cap,
			 run->kind == SWEEP_STAGGERED ? ", in turn" : "");
		return;
	case SWEEP_POLICY:
		snprintf(name, SWEEP_NAME_MAX, "%s", run->policy);
		return;
	}
}

/* --- the scenario of a run --- */

/* In percent of one CPU. A guest that has a lower cap of its own keeps it. */
static uint32_t cap_of(const json_t *guest, uint32_t cap)
{
	json_int_t vcpus = json_integer_value(json_object_get(guest, "vcpus"));
	json_int_t own = json_integer_value(json_object_get(guest, "cap"));
	uint32_t all = cap * (uint32_t)(vcpus ? vcpus : 1);

	return own && (uint32_t)own < all ? (uint32_t)own : all;
}

static void make_idle(json_t *guest)
{
	json_object_set_new(guest, "apps", json_pack("[{s:s}]", "kind", "idle"));
}

/* The i-th of n neighbours is refilled i/n of a cycle later than the first. */
static json_t *cap_event(const struct sweep_run *run, const json_t *guest, uint32_t i, uint32_t n)
{
	uint32_t cycle = CYCLE_US / (run->cap < REFILLS ? run->cap : REFILLS);
	char at[24];

	snprintf(at, sizeof(at), "%uus", CAPPED_US + cycle * i / n);
	return json_pack("{s:s,s:s,s:s,s:i}", "at", at, "do", "cap", "guest",
			 text_of(guest, "name"), "cap", (int)cap_of(guest, run->cap));
}

/*
 * One policy is in force all the time, and caps of operators are those of the run: the file's own
 * changes of either are left out.
 */
static json_t *events_of(const json_t *root, bool fixed)
{
	json_t *list = json_array(), *event;
	size_t i;

	json_array_foreach(list_of(root, "events"), i, event) {
		const char *what = text_of(event, "do");

		if (strcmp(what, "policy") != 0 && (!fixed || strcmp(what, "cap") != 0))
			json_array_append_new(list, json_deep_copy(event));
	}
	return list;
}

static void change_guests(const struct sweep_scene *s, const struct sweep_run *run, json_t *root,
			  json_t *events)
{
	uint32_t n = 0;
	json_t *guest;
	size_t i;

	json_array_foreach(list_of(root, "guests"), i, guest) {
		if (!s->neighbour[i])
			continue;
		if (run->kind == SWEEP_ALONE)
			make_idle(guest);
		else if (run->kind == SWEEP_TOGETHER)
			json_object_set_new(guest, "cap", json_integer(cap_of(guest, run->cap)));
		else if (run->kind == SWEEP_STAGGERED)
			json_array_append_new(events, cap_event(run, guest, n, s->neighbours));
		n++;
	}
}

char *sweep_scenario(const struct sweep_scene *s, uint32_t i, uint64_t seed)
{
	const struct sweep_run *run = &s->run[i];
	json_t *root = json_deep_copy(s->root), *events;
	char *text = NULL;

	events = root ? events_of(root, run->kind != SWEEP_POLICY) : NULL;
	if (events) {
		json_object_del(root, "series");
		json_object_del(root, "histogram");
		json_object_set_new(root, "policy",
				    json_string(run->policy ? run->policy : "null"));
		if (seed)
			json_object_set_new(root, "seed", json_integer((json_int_t)seed));
		change_guests(s, run, root, events);
		if (json_array_size(events))
			json_object_set(root, "events", events);
		else
			json_object_del(root, "events");
		text = json_dumps(root, JSON_COMPACT);
	}
	json_decref(events);
	json_decref(root);
	return text;
}

/* --- the result of a run --- */

static double number(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

/* The latency of a guest's first server. */
static const json_t *latency_of(const json_t *guest)
{
	const json_t *app, *list = json_object_get(json_object_get(guest, "true"), "apps");
	size_t i;

	json_array_foreach(list, i, app)
		if (!strcmp(text_of(app, "kind"), "server"))
			return json_object_get(app, "latency");
	return NULL;
}

int sweep_read(const struct sweep_scene *s, const json_t *summary, struct sweep_result *r)
{
	const json_t *list = json_object_get(summary, "guests"), *guest;
	double duration_s = number(summary, "duration_s");
	size_t i;

	memset(r, 0, sizeof(*r));
	if (json_array_size(list) != s->guests || !(duration_s > 0))
		return -EINVAL;
	json_array_foreach(list, i, guest) {
		const json_t *latency = latency_of(guest);

		r->mean[i] = number(latency, "mean_us");
		r->deviation[i] = number(latency, "deviation_us");
		r->p99[i] = number(latency, "p99_us");
		r->sent[i] = number(json_object_get(guest, "true"), "bytes") / duration_s / 1e6;
	}
	r->done = true;
	return 0;
}
