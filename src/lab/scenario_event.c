// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * scenario_event: reads events[] of a scenario, and sorts them by time. See scenario.h.
 *
 * Each event is what an operator or a guest can do to a running host. run.c carries them out
 * in this order; one that fails then (a guest that is not there) is shown in the summary.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/conf/policy.h"
#include "src/lab/scenario.h"

const char *const scenario_do_names[] = {
	"destroy", "create", "reboot", "policy",    "release", "retake",
	"cap",	   "pause",  "resume", "guest-set", NULL,
};

enum { PATH_SIZE = 32 };

struct event_in {
	int64_t at;
	uint32_t what;
	char guest[FLOW_NAME_MAX];
	uint64_t cap;
};

#define KEY(...) CONF_KEY(struct event_in, __VA_ARGS__)
static const struct conf_key event_keys[] = {
	{ KEY("at", DURATION, at), .max = SCENARIO_NS_MAX, .required = 1 },
	{ KEY("do", ENUM, what), .names = scenario_do_names, .required = 1 },
	{ KEY("guest", STRING, guest), .min = 1, .max = FLOW_NAME_MAX - 1 },
	{ KEY("cap", PERCENT, cap), .max = 51200 },
	{ 0 },
};
#undef KEY
static const char *const event_also[] = { "policy", "set", NULL };

/*
 * A key that "do" needs must be there, and one that it does not use must not: it would look as if
 * it had an effect.
 */
static int check_key(const struct conf_doc *d, const char *path, const json_t *obj, const char *key,
		     bool wanted, const char *what, struct conf_error *e)
{
	bool there = json_object_get(obj, key) != NULL;

	if (there == wanted)
		return 0;
	if (wanted)
		return conf_fail(d, path, e, "key \"%s\" is missing here: \"%s\" needs it", key,
				 what);
	return conf_fail_key(d, path, key, e, "%s does nothing in \"%s\": remove it", key, what);
}

static int check_keys(const struct conf_doc *d, const char *path, const json_t *obj,
		      enum scenario_do what, struct conf_error *e)
{
	const char *name = scenario_do_names[what];
	int rc = 0;

	/* Without a guest these two are for all guests. */
	if (what != SCENARIO_PAUSE && what != SCENARIO_RESUME)
		rc = check_key(d, path, obj, "guest", what != SCENARIO_POLICY, name, e);
	if (!rc)
		rc = check_key(d, path, obj, "policy", what == SCENARIO_POLICY, name, e);
	if (!rc)
		rc = check_key(d, path, obj, "cap", what == SCENARIO_CAP, name, e);
	if (!rc)
		rc = check_key(d, path, obj, "set", what == SCENARIO_GUEST_SET, name, e);
	return rc;
}

static int check_event(const struct scenario *sc, const struct conf_doc *d, const char *path,
		       const struct event_in *in, int guest, struct conf_error *e)
{
	/* It would never happen, and the run would show nothing of it. */
	if (in->at > sc->duration_ns)
		return conf_fail_key(d, path, "at", e,
				     "at is %lld ms, after the end of the run: write at most its "
				     "duration, %lld ms",
				     (long long)(in->at / NS_PER_MS),
				     (long long)(sc->duration_ns / NS_PER_MS));
	if (in->guest[0] && guest < 0)
		return conf_fail_key(d, path, "guest", e,
				     "unknown guest \"%s\": use a name of guests[]", in->guest);
	if (in->what == SCENARIO_CAP && in->cap > 100 * sc->sim.guest[guest].vcpus)
		return conf_fail_key(d, path, "cap", e,
				     "cap is %llu, more than all VCPUs of this guest: write at "
				     "most %u percent, or 0 for none",
				     (unsigned long long)in->cap, 100 * sc->sim.guest[guest].vcpus);
	return 0;
}

static int bind_event(void *to, const struct conf_doc *d, const char *path, const json_t *obj,
		      struct conf_error *e)
{
	struct scenario *sc = to;
	struct scenario_event *ev = &sc->event[sc->events];
	struct event_in in = { 0 };
	char at[PATH_SIZE + 16];
	int rc, guest;

	rc = conf_bind(d, path, obj, event_keys, event_also, &in, e);
	if (!rc)
		rc = check_keys(d, path, obj, (enum scenario_do)in.what, e);
	if (rc)
		return rc;
	guest = in.guest[0] ? scenario_find(sc, in.guest) : -1;
	rc = check_event(sc, d, path, &in, guest, e);
	if (rc)
		return rc;
	*ev = (struct scenario_event){
		.at_ns = in.at,
		.what = (enum scenario_do)in.what,
		.guest = guest < 0 ? 0 : (uint32_t)guest,
		.all = guest < 0,
		.index = sc->events, /* sorting moves the event, and "set" is read after it */
		.cap = (uint32_t)in.cap,
	};
	if (ev->what == SCENARIO_POLICY) {
		snprintf(at, sizeof(at), "%s.policy", path);
		rc = policy_bind(&ev->policy, sc->plugins, d, at, json_object_get(obj, "policy"),
				 e);
	}
	if (!rc)
		sc->events++;
	return rc;
}

/* Stable, which qsort() is not: events with the same time stay in the order of the file. */
static void sort_by_time(struct scenario *sc)
{
	for (uint32_t i = 1; i < sc->events; i++)
		for (uint32_t k = i; k && sc->event[k].at_ns < sc->event[k - 1].at_ns; k--) {
			struct scenario_event ev = sc->event[k];

			sc->event[k] = sc->event[k - 1];
			sc->event[k - 1] = ev;
		}
}

static int bind_set(const struct conf_doc *d, struct scenario_event *ev,
		    const struct guest_conf *was, struct conf_error *e)
{
	const json_t *arr = json_object_get(d->root, "events");
	const json_t *set = json_object_get(json_array_get(arr, ev->index), "set");
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "events[%u].set", ev->index);
	if (json_object_get(set, "link"))
		return conf_fail_key(d, path, "link", e,
				     "a simulated guest stays on its link: remove it here");
	/* Absent keys keep what the guest has at that time, as with resex guest-set. */
	ev->conf = *was;
	return settings_bind_guest(d, path, set, NULL, &ev->conf, e);
}

/*
 * "set" changes the settings that the guest has at that time, so events are bound in the
 * order of time. A new life of a guest begins with its settings in guests[].
 */
static int bind_sets(struct scenario *sc, const struct conf_doc *d, struct conf_error *e)
{
	for (uint32_t i = 0; i < sc->events; i++) {
		struct scenario_event *ev = &sc->event[i];
		const struct guest_conf *was = &sc->conf.guest[ev->guest];
		int rc;

		if (ev->what != SCENARIO_GUEST_SET)
			continue;
		for (uint32_t k = 0; k < i; k++)
			if (sc->event[k].guest != ev->guest)
				continue;
			else if (sc->event[k].what == SCENARIO_GUEST_SET)
				was = &sc->event[k].conf;
			else if (sc->event[k].what <= SCENARIO_REBOOT)
				was = &sc->conf.guest[ev->guest];
		rc = bind_set(d, ev, was, e);
		if (rc)
			return rc;
	}
	return 0;
}

const struct conf_list scenario_event_list = {
	.key = "events",
	.max = SCENARIO_EVENTS_MAX,
	.what = "events",
	.example = "[{\"at\": \"2s\", \"do\": \"destroy\", \"guest\": \"web\"}]",
	.read = bind_event,
};

struct conf_table scenario_event_table(void)
{
	return (struct conf_table){ event_keys, NULL };
}

int scenario_bind_events(struct scenario *sc, const struct conf_doc *d, struct conf_error *e)
{
	int rc = conf_read_list(d, "", d->root, &scenario_event_list, sc, e);

	if (rc)
		return rc;
	sort_by_time(sc);
	return bind_sets(sc, d, e);
}
