// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * summary: the record of a run in JSON. A key of a time ends in its unit. Percentiles of a
 * figure over time are weighted by how long it had each value.
 *
 * Called by run.c at the end. Scripts read these keys, so names and units are part of
 * resex-scenario(5); what the simulator knows, and the daemon cannot, is under "true".
 */
#include "src/lab/summary.h"

#include <errno.h>
#include <string.h>

#include "src/core/stats.h"
#include "src/core/window.h"

/* A json_*() out of memory returns NULL, which the setter refuses: one flag is enough. */
static void set_member(json_t *o, const char *key, json_t *v, bool *failed)
{
	*failed |= json_object_set_new(o, key, v) != 0;
}

static json_t *integer(uint64_t v)
{
	/* jansson's integers are signed; a figure beyond them is shown as the greatest. */
	return json_integer((json_int_t)(v < INT64_MAX ? v : INT64_MAX));
}

static json_t *micros(uint64_t ns)
{
	return json_real((double)ns / 1e3);
}

static json_t *seconds(int64_t ns)
{
	return json_real((double)ns / 1e9);
}

static json_t *resos_json(struct resos r)
{
	return json_real((double)r.m / 1e3);
}

/* Four decimals, a little less than the 16 fraction bits. */
static json_t *rate_json(uint64_t q16)
{
	uint64_t parts = (q16 * 10000 + 32768) / 65536;

	return json_real((double)parts / 1e4);
}

static json_t *percent_or_null(struct cap c)
{
	return c.limited ? integer(cap_to_percent(c)) : json_null();
}

/* As the daemon counted it from rings; the same keys under "true" have what was really sent. */
static json_t *usage_json(const struct record_guest *g, json_t *o, bool *failed)
{
	const struct usage *a = &g->usage_before, *b = &g->usage;

	set_member(o, "mtus_sent", integer(a->mtus_sent + b->mtus_sent), failed);
	set_member(o, "mtus_recv", integer(a->mtus_recv + b->mtus_recv), failed);
	set_member(o, "bytes_sent", integer(a->bytes_sent + b->bytes_sent), failed);
	set_member(o, "bytes_recv", integer(a->bytes_recv + b->bytes_recv), failed);
	set_member(o, "wrs", integer(a->wrs + b->wrs), failed);
	set_member(o, "lost", integer(a->lost + b->lost), failed);
	set_member(o, "cpu_ns", integer(a->cpu_ns + b->cpu_ns), failed);
	return o;
}

/* "allocated" may exceed "spent": what is left of a balance at the end of an epoch is dropped. */
static json_t *money_json(const struct record_guest *g, bool *failed)
{
	const struct spending *a = &g->money_before, *b = &g->money;
	json_t *o = json_object();

	set_member(o, "allocated", resos_json((struct resos){ a->allocated.m + b->allocated.m }),
		   failed);
	set_member(o, "spent", resos_json((struct resos){ a->spent.m + b->spent.m }), failed);
	set_member(o, "overdraft", resos_json((struct resos){ a->overdraft.m + b->overdraft.m }),
		   failed);
	return o;
}

static json_t *rates_json(struct record_guest *g, bool *failed)
{
	json_t *o = json_object();

	/* Sorted in place: the order of time is not needed any more. */
	held_sort(&g->rates);
	set_member(o, "min", rate_json(held_quantile(&g->rates, 0)), failed);
	set_member(o, "p50", rate_json(held_quantile(&g->rates, 500)), failed);
	set_member(o, "p99", rate_json(held_quantile(&g->rates, 990)), failed);
	set_member(o, "max", rate_json(held_quantile(&g->rates, 1000)), failed);
	set_member(o, "last", rate_json(g->rate_q16), failed);
	return o;
}

static json_t *caps_json(struct record_guest *g, bool *failed)
{
	static const struct {
		const char *key;
		uint32_t permille;
	} points[] = {
		{ "p1", 10 }, { "p10", 100 }, { "p50", 500 }, { "p90", 900 }, { "p99", 990 },
	};
	json_t *o = json_object();
	/* A guest that was never seen was uncapped all the time. */
	int64_t all = held_time(&g->caps), uncapped = all ? g->uncapped_ns * 10000 / all : 10000;

	held_sort(&g->caps);
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		set_member(o, points[i].key, integer(held_quantile(&g->caps, points[i].permille)),
			   failed);
	set_member(o, "lowest", percent_or_null(g->lowest), failed);
	set_member(o, "last", percent_or_null(g->cap), failed);
	set_member(o, "uncapped", json_real((double)uncapped / 1e4), failed);
	set_member(o, "changes", integer(g->cap_changes_before + g->cap_changes), failed);
	return o;
}

/* True latencies. Percentiles are at most 1/256 too high, those of reports 1/16. */
static json_t *latency_json(const struct hist *h, bool *failed)
{
	json_t *o = json_object();

	/* Without a request there is no mean: keys are absent, not 0. */
	set_member(o, "n", integer(h->n), failed);
	if (!h->n)
		return o;
	set_member(o, "mean_us", micros(h->sum / h->n), failed);
	set_member(o, "deviation_us", micros(hist_deviation(h)), failed);
	set_member(o, "min_us", micros(h->min), failed);
	set_member(o, "p50_us", micros(hist_quantile(h, 500)), failed);
	set_member(o, "p99_us", micros(hist_quantile(h, 990)), failed);
	set_member(o, "p999_us", micros(hist_quantile(h, 999)), failed);
	set_member(o, "max_us", micros(h->max), failed);
	return o;
}

/* Latencies that its applications reported, all together. */
static json_t *reports_json(const struct record_guest *g, bool *failed)
{
	struct window w = g->reports_before;
	json_t *o = json_object();

	window_merge(&w, &g->reports);
	set_member(o, "n", integer(w.n), failed);
	set_member(o, "lost", integer(g->reports_lost_before + g->reports_lost), failed);
	if (!w.n)
		return o;
	set_member(o, "mean_us", micros(window_mean(&w)), failed);
	set_member(o, "deviation_us", micros(window_deviation(&w)), failed);
	set_member(o, "p50_us", micros(window_quantile(&w, 500)), failed);
	set_member(o, "p99_us", micros(window_quantile(&w, 990)), failed);
	set_member(o, "p999_us", micros(window_quantile(&w, 999)), failed);
	return o;
}

/* [highest value in us, number] for each bucket that is not empty. */
static json_t *histogram_json(const struct hist *h, bool *failed)
{
	json_t *arr = json_array();

	for (uint32_t b = 0; b < HIST_BUCKETS; b++) {
		json_t *pair;

		if (!h->bucket[b])
			continue;
		pair = json_array();
		*failed |= json_array_append_new(pair, micros(hist_top(b))) != 0;
		*failed |= json_array_append_new(pair, integer(h->bucket[b])) != 0;
		*failed |= json_array_append_new(arr, pair) != 0;
	}
	return arr;
}

/* Of n times of this sum and sum of squares; to 1 ns, below which doubles may differ. */
static json_t *deviation(uint64_t sum, double sumsq, uint64_t n)
{
	double mean = (double)sum / (double)n, variance = sumsq / (double)n - mean * mean;

	return micros(variance > 0 ? isqrt64((uint64_t)variance) : 0);
}

static json_t *app_json(const struct sim_app *c, const struct sim_app_truth *t,
			const struct hist *h, bool histogram, bool *failed)
{
	static const char *const kinds[] = { "idle", "sender", "server", "burner" };
	json_t *o = json_object(), *l;

	set_member(o, "name", json_string(c->name), failed);
	set_member(o, "kind", json_string(kinds[c->kind]), failed);
	set_member(o, "wrs", integer(t->wrs), failed);
	set_member(o, "bytes", integer(t->bytes), failed);
	set_member(o, "mtus", integer(t->mtus), failed);
	set_member(o, "cpu_ns", integer(t->cpu_ns), failed);
	/* A closed-loop sender posts when a message completes: none of its messages waits. */
	if (c->kind == SIM_APP_SENDER && c->rate)
		set_member(o, "waiting", integer(t->waiting), failed);
	if (c->rate)
		set_member(o, "dropped", integer(t->dropped), failed);
	if (!h)
		return o;
	l = latency_json(h, failed);
	/* Means, as the paper's figure 1 has them. */
	if (h->n) {
		set_member(l, "ctime_us", micros(t->ctime_ns / h->n), failed);
		set_member(l, "wtime_us", micros(t->wtime_ns / h->n), failed);
		set_member(l, "ptime_us", micros(t->ptime_ns / h->n), failed);
		set_member(l, "ctime_deviation_us", deviation(t->ctime_ns, t->ctime_sq, h->n),
			   failed);
		set_member(l, "wtime_deviation_us", deviation(t->wtime_ns, t->wtime_sq, h->n),
			   failed);
		set_member(l, "ptime_deviation_us", deviation(t->ptime_ns, t->ptime_sq, h->n),
			   failed);
	}
	if (histogram)
		set_member(l, "histogram", histogram_json(h, failed), failed);
	set_member(o, "latency", l, failed);
	return o;
}

/* True figures, which the daemon cannot know. */
static json_t *truth_json(struct recorder *r, uint32_t i, bool *failed)
{
	const struct sim_guest_conf *c = &r->sc->sim.guest[i];
	json_t *o = json_object(), *arr = json_array();
	struct record_truth t;

	record_truth(r, i, &t);
	set_member(o, "mtus", integer(t.all.mtus), failed);
	set_member(o, "bytes", integer(t.all.bytes), failed);
	set_member(o, "wrs", integer(t.all.wrs), failed);
	set_member(o, "cpu_ns", integer(t.all.cpu_ns), failed);
	for (uint32_t k = 0; k < c->apps; k++)
		*failed |= json_array_append_new(arr,
						 app_json(&c->app[k], &t.app[k], r->guest[i].app[k],
							  r->sc->histogram, failed)) != 0;
	set_member(o, "apps", arr, failed);
	return o;
}

/* A figure that does not exist is null, such as the cap of a guest that is not capped. */
static json_t *step_value(const struct record_step *s, int what)
{
	switch (what) {
	case 0:
		return s->present ? percent_or_null(s->cap) : json_null();
	case 1:
		return s->present ? rate_json(s->rate_q16) : json_null();
	case 2:
		return s->present ? resos_json(s->balance) : json_null();
	case 3:
		return integer(s->mtus);
	case 4:
		return s->seen_n ? micros(s->seen_ns / s->seen_n) : json_null();
	default:
		return s->n ? micros(s->sum_ns / s->n) : json_null();
	}
}

static json_t *series_json(const struct recorder *r, const struct record_guest *g, bool *failed)
{
	static const char *const keys[] = { "cap",  "rate",	  "balance",
					    "mtus", "latency_us", "true_latency_us" };
	json_t *o = json_object();

	/* A list for each figure, not an object for each step: plots want columns. */
	for (int k = 0; k < 6; k++) {
		json_t *arr = json_array();

		for (uint32_t i = 0; i < r->steps; i++)
			*failed |= json_array_append_new(arr, step_value(&g->step[i], k)) != 0;
		set_member(o, keys[k], arr, failed);
	}
	return o;
}

static json_t *guest_json(struct recorder *r, uint32_t i, bool *failed)
{
	struct record_guest *g = &r->guest[i];
	json_t *o = json_object();

	set_member(o, "name", json_string(r->sc->sim.guest[i].name), failed);
	set_member(o, "vcpus", integer(r->sc->sim.guest[i].vcpus), failed);
	set_member(o, "lives", integer(g->lives), failed);
	usage_json(g, o, failed);
	set_member(o, "resos", money_json(g, failed), failed);
	set_member(o, "rate", rates_json(g, failed), failed);
	set_member(o, "cap", caps_json(g, failed), failed);
	set_member(o, "latency", reports_json(g, failed), failed);
	set_member(o, "diverged_at_s", g->diverged ? seconds(g->diverged_ns) : json_null(), failed);
	set_member(o, "true", truth_json(r, i, failed), failed);
	if (g->step)
		set_member(o, "series", series_json(r, g, failed), failed);
	return o;
}

static json_t *guests_json(struct recorder *r, bool *failed)
{
	json_t *arr = json_array();

	for (uint32_t i = 0; i < r->guests; i++)
		*failed |= json_array_append_new(arr, guest_json(r, i, failed)) != 0;
	return arr;
}

/* The words of strerror() for these are about files and processes. */
const char *scenario_why(int rc)
{
	if (rc == -ENOENT || rc == -ESRCH)
		return "this guest does not exist";
	if (rc == -EBUSY)
		return "all guests are paused";
	return rc == -EEXIST ? "this guest exists already" : strerror(-rc);
}

static json_t *events_json(const struct scenario_outcome *o, bool *failed)
{
	json_t *arr = json_array();

	for (uint32_t i = 0; i < o->dones; i++) {
		const struct scenario_done *d = &o->done[i];
		json_t *v = json_object();

		set_member(v, "at_s", seconds(d->at_ns), failed);
		set_member(v, "do", json_string(scenario_do_names[d->event->what]), failed);
		if (d->event->what == SCENARIO_POLICY)
			set_member(v, "policy", json_string(d->policy), failed);
		else if (!d->event->all)
			set_member(v, "guest",
				   json_string(o->rec->sc->sim.guest[d->event->guest].name),
				   failed);
		/* An event that failed is part of the result: a scenario may want just that. */
		set_member(v, "error", d->rc ? json_string(scenario_why(d->rc)) : json_null(),
			   failed);
		*failed |= json_array_append_new(arr, v) != 0;
	}
	return arr;
}

json_t *scenario_summary(const struct scenario_outcome *out)
{
	struct recorder *r = out->rec;
	const struct scenario *sc = r->sc;
	json_t *o = json_object();
	bool failed = false, real = sc->clock == SCENARIO_REAL;

	/* The first key, so that no reader takes these figures for measured ones. */
	set_member(o, "simulated", json_true(), &failed);
	set_member(o, "name", json_string(sc->name), &failed);
	set_member(o, "clock", json_string(real ? "real" : "simulated"), &failed);
	set_member(o, "seed", integer(sc->sim.seed), &failed);
	set_member(o, "complete", json_boolean(out->complete), &failed);
	set_member(o, "observe", json_boolean(out->observe), &failed);
	set_member(o, "duration_s", seconds(mono_sub(r->last, r->start)), &failed);
	set_member(o, "ticks", integer(r->ticks), &failed);
	set_member(o, "late_ticks", integer(r->late_ticks), &failed);
	set_member(o, "policy", json_string(out->policy), &failed);
	set_member(o, "events", events_json(out, &failed), &failed);
	if (sc->series_ns)
		set_member(o, "series_step_s", seconds(sc->series_ns), &failed);
	set_member(o, "guests", guests_json(r, &failed), &failed);
	if (failed)
		json_decref(o);
	return failed ? NULL : o;
}
