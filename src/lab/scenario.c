// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * scenario: reads a scenario: host, links, policy and clock here, guests in
 * scenario_guest.c, events in scenario_event.c. See scenario.h.
 *
 * From src/daemon/scenario.c; run.c runs the result. Links and settings of guests are read by
 * the code that reads resexd.json (src/conf), so that both files have the same keys. A run
 * may take an hour: so all of the file is checked before it begins, events included.
 */
#include "src/lab/scenario.h"
#include "src/conf/policy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const clock_names[] = { "simulated", "real", NULL };
static const char *const scheduler_names[] = { "credit2", "credit", NULL };
static const char *const top_also[] = { "host",	  "hosts",  "links", "policy",
					"guests", "events", "swap",  NULL };

/* Keys of the root, in the types that conf_bind stores. */
struct top_in {
	char name[FLOW_NAME_MAX];
	int64_t duration, series;
	uint32_t clock;
	uint64_t seed;
	bool histogram;
};

#define KEY(...) CONF_KEY(struct top_in, __VA_ARGS__)
static const struct conf_key top_keys[] = {
	{ KEY("name", STRING, name), .max = FLOW_NAME_MAX - 1 },
	{ KEY("duration", DURATION, duration), .min = 10 * NS_PER_MS, .max = SCENARIO_NS_MAX },
	{ KEY("series", DURATION, series), .min = 10 * NS_PER_MS, .max = SCENARIO_NS_MAX },
	{ KEY("clock", ENUM, clock), .names = clock_names },
	{ KEY("seed", UINT, seed), .max = UINT32_MAX },
	{ KEY("histogram", BOOL, histogram) },
	{ 0 },
};
#undef KEY

struct host_in {
	uint32_t scheduler;
	int64_t cap_period, interval, epoch;
	bool ignore_caps;
};

#define KEY(...) CONF_KEY(struct host_in, __VA_ARGS__)
static const struct conf_key host_keys[] = {
	{ KEY("scheduler", ENUM, scheduler), .names = scheduler_names },
	{ KEY("cap_period", DURATION, cap_period), .min = NS_PER_MS, .max = NS_PER_S },
	{ KEY("interval", DURATION, interval), .min = 100 * NS_PER_US, .max = NS_PER_S },
	{ KEY("epoch", DURATION, epoch), .min = 10 * NS_PER_MS, .max = SCENARIO_NS_MAX },
	{ KEY("ignore_caps", BOOL, ignore_caps) },
	{ 0 },
};
#undef KEY

static const struct top_in top_default = { .duration = 10 * NS_PER_S, .seed = 1 };
/* Interval and epoch as settings_default() has them. */
static const struct host_in host_default = { .cap_period = 10 * NS_PER_MS,
					     .interval = NS_PER_MS,
					     .epoch = NS_PER_S };

struct conf_table scenario_table(enum scenario_table t)
{
	switch (t) {
	case SCENARIO_TOP:
		return (struct conf_table){ top_keys, &top_default };
	case SCENARIO_HOST:
		return (struct conf_table){ host_keys, &host_default };
	case SCENARIO_EVENT:
		return scenario_event_table();
	default:
		return scenario_guest_table(t);
	}
}

/*
 * The host's object and its path, from "host" or "hosts". *host is NULL if both are missing.
 * "hosts" is a list so that files of today stay right when several hosts can be simulated.
 */
static int pick_host(const struct conf_doc *d, const json_t **host, const char **path,
		     struct conf_error *e)
{
	const json_t *one = json_object_get(d->root, "host");
	const json_t *many = json_object_get(d->root, "hosts");

	*host = one;
	*path = "host";
	if (!many)
		return 0;
	if (one)
		return conf_fail(d, "hosts", e, "host and hosts mean the same: remove one");
	if (!json_is_array(many) || json_array_size(many) != 1)
		return conf_fail(d, "hosts", e,
				 "hosts: one host is simulated, write a list of one, [{...}]; "
				 "several are reserved");
	*host = json_array_get(many, 0);
	*path = "hosts[0]";
	return 0;
}

static int bind_host(struct scenario *sc, const struct conf_doc *d, struct conf_error *e)
{
	struct host_in in = host_default;
	const json_t *host;
	const char *path;
	int rc;

	rc = pick_host(d, &host, &path, e);
	if (!rc && host)
		rc = conf_bind(d, path, host, host_keys, NULL, &in, e);
	if (rc)
		return rc;
	sc->sim.sched = in.scheduler ? SIM_CREDIT : SIM_CREDIT2;
	sc->sim.cap_period_ns = in.cap_period;
	sc->sim.ignore_caps = in.ignore_caps;
	sc->conf.interval_ns = in.interval;
	sc->conf.epoch_ns = in.epoch;
	/* resexd.json has the same rule; here the keys are in another place. */
	if (in.epoch >= in.interval && in.epoch % in.interval == 0)
		return 0;
	return conf_fail_key(d, path, json_object_get(host, "epoch") ? "epoch" : "interval", e,
			     "the epoch (%lld ns) must be a whole number of intervals (%lld ns)",
			     (long long)in.epoch, (long long)in.interval);
}

/* Default: the paper's link, whose 8 Gbit/s after line coding are taken as 2^30 bytes/s. */
static int bind_links(struct scenario *sc, const struct conf_doc *d, struct conf_error *e)
{
	static const struct link_conf paper = { "link0", 1u << 30, 1024, PRICE_PAPER_2011 };
	char path[32];
	int rc = 0;

	if (json_object_get(d->root, "links"))
		rc = settings_bind_links(&sc->conf, d, e);
	else
		sc->conf.link[sc->conf.links++] = paper;
	for (uint32_t i = 0; !rc && i < sc->conf.links; i++) {
		const struct link_conf *l = &sc->conf.link[i];

		/* The daemon and the simulated host get the same links. */
		sc->sim.link[i] = (struct sim_link_conf){ l->bytes_s, l->mtu };
		snprintf(path, sizeof(path), "links[%u]", i);
		if (l->bytes_s < 1u << 20)
			rc = conf_fail_key(
				d, path, "rate", e,
				"rate is %llu bytes/s: a link is simulated from 1MiB/s on",
				(unsigned long long)l->bytes_s);
		if (!rc && sc->conf.link_counter[i].text[0])
			rc = conf_fail_key(
				d, path, "counter", e,
				"counter is \"%s\": no real port is read for a simulated "
				"link, leave it out",
				sc->conf.link_counter[i].text);
	}
	sc->sim.links = sc->conf.links;
	return rc;
}

static int bind_top(struct scenario *sc, const struct conf_doc *d, struct conf_error *e)
{
	struct top_in in = top_default;
	int rc = conf_bind(d, "", d->root, top_keys, top_also, &in, e);

	if (rc)
		return rc;
	memcpy(sc->name, in.name, sizeof(sc->name));
	sc->duration_ns = in.duration;
	sc->series_ns = in.series;
	sc->histogram = in.histogram;
	sc->clock = in.clock ? SCENARIO_REAL : SCENARIO_SIMULATED;
	sc->sim.seed = in.seed;
	if (in.series > in.duration)
		return conf_fail(d, "series", e,
				 "series is longer than the run: write at most its duration, "
				 "%lld ms",
				 (long long)(in.duration / NS_PER_MS));
	/* Each step of each guest is kept in memory and printed: see also check_series(). */
	if (in.series && in.duration / in.series > SCENARIO_STEPS_MAX)
		return conf_fail(d, "series", e,
				 "series makes %lld pieces of the run: write %lld ms or more for "
				 "at most %d",
				 (long long)(in.duration / in.series),
				 (long long)(in.duration / SCENARIO_STEPS_MAX / NS_PER_MS + 1),
				 SCENARIO_STEPS_MAX);
	return 0;
}

static int bind_policy(struct scenario *sc, const struct conf_doc *d, struct conf_error *e)
{
	/* A name or an object, as in a policy file: so it is not in the table of keys. */
	const json_t *v = json_object_get(d->root, "policy");
	int rc;

	if (v)
		rc = policy_bind(&sc->policy, sc->plugins, d, "policy", v, e);
	else
		rc = policy_load(&sc->policy, sc->plugins, sc->conf.policy, "", e);
	if (!rc)
		snprintf(sc->conf.policy, sizeof(sc->conf.policy), "%s", sc->policy->ops->name);
	return rc;
}

static int bind_swapped(struct scenario *sc, const struct conf_doc *d, const json_t *v, uint32_t i,
			struct conf_error *e)
{
	const char *name = json_string_value(json_array_get(v, i));
	int guest = name ? scenario_find(sc, name) : -1;
	char at[32];

	snprintf(at, sizeof(at), "swap[%u]", i);
	if (guest < 0)
		return conf_fail(d, at, e, "unknown guest \"%.64s\": use a name of guests[]",
				 name ? name : "");
	sc->sim.swapped[i] = (uint32_t)guest;
	return 0;
}

/* An ablation: the daemon reads the memory of each of two guests as the other's. */
static int bind_swap(struct scenario *sc, const struct conf_doc *d, struct conf_error *e)
{
	const json_t *v = json_object_get(d->root, "swap");
	int rc;

	if (!v)
		return 0;
	if (!json_is_array(v) || json_array_size(v) != 2)
		return conf_fail(d, "swap", e, "swap: write two guests' names, [\"a\", \"b\"]");
	rc = bind_swapped(sc, d, v, 0, e);
	if (!rc)
		rc = bind_swapped(sc, d, v, 1, e);
	if (rc)
		return rc;
	if (sc->sim.swapped[0] == sc->sim.swapped[1])
		return conf_fail(d, "swap[1]", e,
				 "a guest cannot be swapped with itself: "
				 "name another");
	sc->sim.swap = true;
	return 0;
}

/* The key for a field of struct sim_conf. */
static const char *key_of(const char *field)
{
	/* Fields that have another name than their key. */
	static const char *const names[][2] = {
		{ "msg_bytes", "size" },     { "qps", "queue_pairs" },
		{ "path_mtu", "mtu" },	     { "post_ns", "post" },
		{ "compute_ns", "compute" }, { "report_stop_ns", "report_stop" },
		{ "start_ns", "start" },     { "stop_ns", "stop" },
		{ "bytes_s", "rate" },	     { "cap_period_ns", "cap_period" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i][0], field))
			return names[i][1];
	return field;
}

/* The simulator's own limits, reported at the key that exceeds one. */
static int check_sim(const struct scenario *sc, const struct conf_doc *d, struct conf_error *e)
{
	/*
	 * The simulator knows what it can do, and names fields; the file has keys. This
	 * translates.
	 */
	struct sim_conf_error se;
	const char *key;
	char at[96];

	if (!sim_conf_check(&sc->sim, &se))
		return 0;
	key = key_of(se.field);
	if (se.app >= 0)
		snprintf(at, sizeof(at), "guests[%d].apps[%d].%s", se.guest, se.app, key);
	else if (se.guest >= 0)
		snprintf(at, sizeof(at), "guests[%d].%s", se.guest, key);
	else if (se.link >= 0)
		snprintf(at, sizeof(at), "links[%d].%s", se.link, key);
	else
		snprintf(at, sizeof(at), "host.%s", key);
	return conf_fail(d, at, e, "%s cannot be simulated: it may be %s", key, se.range);
}

/* Steps of all guests are in memory until the end of the run. */
static int check_series(const struct scenario *sc, const struct conf_doc *d, struct conf_error *e)
{
	int64_t most = SCENARIO_ALL_STEPS_MAX / sc->sim.guests;

	if (!sc->series_ns || sc->duration_ns / sc->series_ns <= most)
		return 0;
	return conf_fail(d, "series", e,
			 "series makes %lld pieces of the run for each of %u guests: write %lld ms "
			 "or more for at most %lld",
			 (long long)(sc->duration_ns / sc->series_ns), sc->sim.guests,
			 (long long)(sc->duration_ns / most / NS_PER_MS + 1), (long long)most);
}

/* Read d, unless it could not be opened (rc), and free it. */
static int read_and_free(struct scenario *sc, struct plugins *ps, struct conf_doc *d, int rc,
			 struct conf_error *e)
{
	if (rc)
		return rc;
	/* Guests need links, swap and events need guests: hence the order. */
	memset(sc, 0, sizeof(*sc));
	sc->plugins = ps;
	settings_default(&sc->conf);
	sc->conf.lock_memory = false;  /* any user may run a scenario */
	sc->conf.limits.pages = 32768; /* enough for the deepest queues that a scenario can have */
	rc = bind_top(sc, d, e);
	if (!rc)
		rc = bind_host(sc, d, e);
	if (!rc)
		rc = bind_links(sc, d, e);
	if (!rc)
		rc = bind_policy(sc, d, e);
	if (!rc)
		rc = scenario_bind_guests(sc, d, e);
	if (!rc)
		rc = check_series(sc, d, e);
	if (!rc)
		rc = bind_swap(sc, d, e);
	if (!rc)
		rc = check_sim(sc, d, e);
	if (!rc)
		rc = scenario_bind_events(sc, d, e);
	if (rc)
		scenario_free(sc);
	conf_free(d);
	return rc;
}

int scenario_load(struct scenario *sc, struct plugins *ps, const char *file, struct conf_error *e)
{
	struct conf_doc d;
	int rc = conf_load(&d, file, e);

	return read_and_free(sc, ps, &d, rc, e);
}

int scenario_parse(struct scenario *sc, const char *name, const char *text, size_t len,
		   struct conf_error *e)
{
	struct conf_doc d;
	int rc = conf_parse(&d, name, text, len, e);

	return read_and_free(sc, NULL, &d, rc, e);
}

void scenario_free(struct scenario *sc)
{
	policy_free(sc->policy);
	sc->policy = NULL;
	for (uint32_t i = 0; i < sc->events; i++) {
		/* NULL where the run has taken it over. */
		policy_free(sc->event[i].policy);
		sc->event[i].policy = NULL;
	}
}
