// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * summary: the record of a run in JSON. A key of a time ends in its unit. Percentiles of a
 * figure over time are weighted by how long it had each value.
 */
#include "src/lab/summary.h"

#include <errno.h>
#include <string.h>

#include "src/core/window.h"

/* A json_*() out of memory returns NULL, which the setter refuses: one flag is enough. */
static void put(json_t *o, const char *key, json_t *v, bool *failed)
{
	*failed |= json_object_set_new(o, key, v) != 0;
}

static json_t *integer(uint64_t v)
{
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

static json_t *resos(struct resos r)
{
	return json_real((double)r.m / 1e3);
}

/* Four decimals, a little less than the 16 fraction bits. */
static json_t *rate(uint64_t q16)
{
	uint64_t parts = (q16 * 10000 + 32768) / 65536;

	return json_real((double)parts / 1e4);
}

static json_t *percent_or_null(struct cap c)
{
	return c.limited ? integer(cap_to_percent(c)) : json_null();
}

static json_t *usage(const struct record_guest *g, json_t *o, bool *failed)
{
	const struct usage *a = &g->usage_before, *b = &g->usage;

	put(o, "mtus_sent", integer(a->mtus_sent + b->mtus_sent), failed);
	put(o, "mtus_recv", integer(a->mtus_recv + b->mtus_recv), failed);
	put(o, "bytes_sent", integer(a->bytes_sent + b->bytes_sent), failed);
	put(o, "bytes_recv", integer(a->bytes_recv + b->bytes_recv), failed);
	put(o, "wrs", integer(a->wrs + b->wrs), failed);
	put(o, "lost", integer(a->lost + b->lost), failed);
	put(o, "cpu_ns", integer(a->cpu_ns + b->cpu_ns), failed);
	return o;
}

static json_t *money(const struct record_guest *g, bool *failed)
{
	const struct spending *a = &g->money_before, *b = &g->money;
	json_t *o = json_object();

	put(o, "allocated", resos((struct resos){ a->allocated.m + b->allocated.m }), failed);
	put(o, "spent", resos((struct resos){ a->spent.m + b->spent.m }), failed);
	put(o, "overdraft", resos((struct resos){ a->overdraft.m + b->overdraft.m }), failed);
	return o;
}

static json_t *rates(struct record_guest *g, bool *failed)
{
	json_t *o = json_object();

	held_sort(&g->rates);
	put(o, "min", rate(held_quantile(&g->rates, 0)), failed);
	put(o, "p50", rate(held_quantile(&g->rates, 500)), failed);
	put(o, "p99", rate(held_quantile(&g->rates, 990)), failed);
	put(o, "max", rate(held_quantile(&g->rates, 1000)), failed);
	put(o, "last", rate(g->rate_q16), failed);
	return o;
}

static json_t *caps(struct record_guest *g, bool *failed)
{
	static const struct {
		const char *key;
		uint32_t permille;
	} points[] = {
		{ "p1", 10 }, { "p10", 100 }, { "p50", 500 }, { "p90", 900 }, { "p99", 990 },
	};
	json_t *o = json_object();
	int64_t all = held_time(&g->caps), uncapped = all ? g->uncapped_ns * 10000 / all : 10000;

	held_sort(&g->caps);
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		put(o, points[i].key, integer(held_quantile(&g->caps, points[i].permille)), failed);
	put(o, "lowest", percent_or_null(g->lowest), failed);
	put(o, "last", percent_or_null(g->cap), failed);
	put(o, "uncapped", json_real((double)uncapped / 1e4), failed);
	put(o, "changes", integer(g->cap_changes_before + g->cap_changes), failed);
	return o;
}

static json_t *latency(const struct hist *h, bool *failed)
{
	json_t *o = json_object();

	put(o, "n", integer(h->n), failed);
	if (!h->n)
		return o;
	put(o, "mean_us", micros(h->sum / h->n), failed);
	put(o, "deviation_us", micros(hist_deviation(h)), failed);
	put(o, "min_us", micros(h->min), failed);
	put(o, "p50_us", micros(hist_quantile(h, 500)), failed);
	put(o, "p99_us", micros(hist_quantile(h, 990)), failed);
	put(o, "p999_us", micros(hist_quantile(h, 999)), failed);
	put(o, "max_us", micros(h->max), failed);
	return o;
}

/* Latencies that its applications reported, all together. */
static json_t *reports(const struct record_guest *g, bool *failed)
{
	struct window w = g->reports_before;
	json_t *o = json_object();

	window_merge(&w, &g->reports);
	put(o, "n", integer(w.n), failed);
	put(o, "lost", integer(g->reports_lost_before + g->reports_lost), failed);
	if (!w.n)
		return o;
	put(o, "mean_us", micros(window_mean(&w)), failed);
	put(o, "deviation_us", micros(window_deviation(&w)), failed);
	put(o, "p50_us", micros(window_quantile(&w, 500)), failed);
	put(o, "p99_us", micros(window_quantile(&w, 990)), failed);
	put(o, "p999_us", micros(window_quantile(&w, 999)), failed);
	return o;
}

static json_t *app(const struct sim_app *c, const struct sim_app_truth *t, const struct hist *h,
		   bool *failed)
{
	static const char *const kinds[] = { "idle", "sender", "server", "burner" };
	json_t *o = json_object(), *l;

	put(o, "name", json_string(c->name), failed);
	put(o, "kind", json_string(kinds[c->kind]), failed);
	put(o, "wrs", integer(t->wrs), failed);
	put(o, "bytes", integer(t->bytes), failed);
	put(o, "mtus", integer(t->mtus), failed);
	put(o, "cpu_ns", integer(t->cpu_ns), failed);
	if (c->kind == SIM_APP_SENDER && c->rate) {
		put(o, "waiting", integer(t->waiting), failed);
		put(o, "dropped", integer(t->dropped), failed);
	}
	if (!h)
		return o;
	l = latency(h, failed);
	if (h->n) {
		put(l, "ctime_us", micros(t->ctime_ns / h->n), failed);
		put(l, "wtime_us", micros(t->wtime_ns / h->n), failed);
		put(l, "ptime_us", micros(t->ptime_ns / h->n), failed);
	}
	put(o, "latency", l, failed);
	return o;
}

/* True figures, which the daemon cannot know. */
static json_t *truth(struct recorder *r, uint32_t i, bool *failed)
{
	const struct sim_guest_conf *c = &r->sc->sim.guest[i];
	json_t *o = json_object(), *arr = json_array();
	struct record_truth t;

	record_truth(r, i, &t);
	put(o, "mtus", integer(t.all.mtus), failed);
	put(o, "bytes", integer(t.all.bytes), failed);
	put(o, "wrs", integer(t.all.wrs), failed);
	put(o, "cpu_ns", integer(t.all.cpu_ns), failed);
	for (uint32_t k = 0; k < c->apps; k++)
		*failed |= json_array_append_new(arr, app(&c->app[k], &t.app[k], r->guest[i].app[k],
							  failed)) != 0;
	put(o, "apps", arr, failed);
	return o;
}

static json_t *step_value(const struct record_step *s, int what)
{
	switch (what) {
	case 0:
		return s->present ? percent_or_null(s->cap) : json_null();
	case 1:
		return s->present ? rate(s->rate_q16) : json_null();
	case 2:
		return integer(s->mtus);
	case 3:
		return s->seen_n ? micros(s->seen_ns / s->seen_n) : json_null();
	default:
		return s->n ? micros(s->sum_ns / s->n) : json_null();
	}
}

static json_t *series(const struct recorder *r, const struct record_guest *g, bool *failed)
{
	static const char *const keys[] = { "cap", "rate", "mtus", "latency_us",
					    "true_latency_us" };
	json_t *o = json_object();

	for (int k = 0; k < 5; k++) {
		json_t *arr = json_array();

		for (uint32_t i = 0; i < r->steps; i++)
			*failed |= json_array_append_new(arr, step_value(&g->step[i], k)) != 0;
		put(o, keys[k], arr, failed);
	}
	return o;
}

static json_t *guest(struct recorder *r, uint32_t i, bool *failed)
{
	struct record_guest *g = &r->guest[i];
	json_t *o = json_object();

	put(o, "name", json_string(r->sc->sim.guest[i].name), failed);
	put(o, "vcpus", integer(r->sc->sim.guest[i].vcpus), failed);
	put(o, "lives", integer(g->lives), failed);
	usage(g, o, failed);
	put(o, "resos", money(g, failed), failed);
	put(o, "rate", rates(g, failed), failed);
	put(o, "cap", caps(g, failed), failed);
	put(o, "latency", reports(g, failed), failed);
	put(o, "diverged_at_s", g->diverged ? seconds(g->diverged_ns) : json_null(), failed);
	put(o, "true", truth(r, i, failed), failed);
	if (g->step)
		put(o, "series", series(r, g, failed), failed);
	return o;
}

static json_t *guests(struct recorder *r, bool *failed)
{
	json_t *arr = json_array();

	for (uint32_t i = 0; i < r->guests; i++)
		*failed |= json_array_append_new(arr, guest(r, i, failed)) != 0;
	return arr;
}

const char *scenario_why(int rc)
{
	if (rc == -ENOENT || rc == -ESRCH)
		return "this guest is not there";
	if (rc == -EBUSY)
		return "all guests are paused";
	return rc == -EEXIST ? "this guest is there already" : strerror(-rc);
}

static json_t *events(const struct scenario_outcome *o, bool *failed)
{
	json_t *arr = json_array();

	for (uint32_t i = 0; i < o->dones; i++) {
		const struct scenario_done *d = &o->done[i];
		json_t *v = json_object();

		put(v, "at_s", seconds(d->at_ns), failed);
		put(v, "do", json_string(scenario_do_names[d->event->what]), failed);
		if (d->event->what == SCENARIO_POLICY)
			put(v, "policy", json_string(d->policy), failed);
		else if (!d->event->all)
			put(v, "guest", json_string(o->rec->sc->sim.guest[d->event->guest].name),
			    failed);
		put(v, "error", d->rc ? json_string(scenario_why(d->rc)) : json_null(), failed);
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

	put(o, "simulated", json_true(), &failed);
	put(o, "name", json_string(sc->name), &failed);
	put(o, "clock", json_string(real ? "real" : "simulated"), &failed);
	put(o, "seed", integer(sc->sim.seed), &failed);
	put(o, "complete", json_boolean(out->complete), &failed);
	put(o, "observe", json_boolean(out->observe), &failed);
	put(o, "duration_s", seconds(mono_sub(r->last, r->start)), &failed);
	put(o, "ticks", integer(r->ticks), &failed);
	put(o, "late_ticks", integer(r->late_ticks), &failed);
	put(o, "policy", json_string(out->policy), &failed);
	put(o, "events", events(out, &failed), &failed);
	if (sc->series_ns)
		put(o, "series_step_s", seconds(sc->series_ns), &failed);
	put(o, "guests", guests(r, &failed), &failed);
	if (failed)
		json_decref(o);
	return failed ? NULL : o;
}
