// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record: adds snapshots and requests up, over all lives of each guest. See record.h.
 *
 * run.c calls it after each tick with the daemon's newest snapshot, the simulator for each
 * request that was answered. Counters of daemon and simulator begin at 0 when a guest is
 * destroyed and created again; a scenario asks about the guest as a whole. So what earlier
 * lives had is kept in the fields that end in _before.
 */
#include "src/lab/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int open_guest(struct record_guest *g, const struct sim_guest_conf *c, uint32_t steps)
{
	for (uint32_t i = 0; i < c->apps; i++) {
		/* Only servers have latencies, and a histogram takes over 100 KB. */
		if (c->app[i].kind != SIM_APP_SERVER)
			continue;
		g->app[i] = calloc(1, sizeof(*g->app[i]));
		if (!g->app[i])
			return -ENOMEM;
	}
	/* Servers answer from the first tick on, so everything is allocated before. */
	if (steps)
		g->step = calloc(steps, sizeof(*g->step));
	return steps && !g->step ? -ENOMEM : 0;
}

int record_open(struct recorder *r, const struct scenario *sc, struct sim_host *h,
		struct mono start)
{
	int rc = 0;

	memset(r, 0, sizeof(*r));
	pthread_mutex_init(&r->lock, NULL);
	r->sc = sc;
	r->host = h;
	r->start = r->last = start;
	r->guests = sc->sim.guests;
	/* Space for all steps now: a long run must not fail near its end. */
	if (sc->series_ns)
		r->steps_max = (uint32_t)(sc->duration_ns / sc->series_ns);
	for (uint32_t i = 0; !rc && i < r->guests; i++)
		rc = open_guest(&r->guest[i], &sc->sim.guest[i], r->steps_max);
	return rc;
}

void record_close(struct recorder *r)
{
	for (uint32_t i = 0; i < r->guests; i++) {
		struct record_guest *g = &r->guest[i];

		for (uint32_t k = 0; k < SIM_APPS_MAX; k++)
			free(g->app[k]);
		free(g->caps.at);
		free(g->rates.at);
		free(g->step);
	}
	pthread_mutex_destroy(&r->lock);
}

void record_request(void *arg, uint32_t guest, uint32_t app, uint64_t latency_ns)
{
	struct recorder *r = arg;
	struct record_guest *g = &r->guest[guest];

	/* On the real clock another thread of the daemon moves the simulated host on. */
	pthread_mutex_lock(&r->lock);
	hist_add(g->app[app], latency_ns);
	g->step_n++;
	g->step_sum += latency_ns;
	pthread_mutex_unlock(&r->lock);
}

static uint64_t mtus_of(const struct record_guest *g)
{
	return g->usage.mtus_sent + g->usage.mtus_recv + g->usage_before.mtus_sent +
	       g->usage_before.mtus_recv;
}

/* A new life: add the figures of the last one to those of all earlier ones. */
static void begin_life(struct record_guest *g, const struct snap_guest *sg)
{
	usage_add(&g->usage_before, &g->usage);
	g->money_before.allocated.m += g->money.allocated.m;
	g->money_before.spent.m += g->money.spent.m;
	g->money_before.overdraft.m += g->money.overdraft.m;
	g->cap_changes_before += g->cap_changes;
	window_merge(&g->reports_before, &g->reports);
	g->reports_lost_before += g->reports_lost;
	g->created = sg->key.created;
	g->domid = sg->key.domid;
	g->lives++;
}

static void add_held_figures(struct recorder *r, struct record_guest *g, uint32_t vcpus, int64_t ns)
{
	/* Without a cap a guest may use all its VCPUs: so quantiles over time have one scale. */
	uint32_t percent = g->cap.limited ? cap_to_percent(g->cap) : 100 * vcpus;

	/* The lowest of caps that were in force, however briefly; quantiles weigh by time. */
	if (!g->cap.limited)
		g->uncapped_ns += ns;
	else if (!g->lowest.limited || g->cap.mpct < g->lowest.mpct)
		g->lowest = g->cap;
	if (held_add(&g->caps, percent, ns) || held_add(&g->rates, g->rate_q16, ns))
		r->rc = -ENOMEM;
}

static void add_guest_figures(struct recorder *r, uint32_t i, const struct snap_guest *sg,
			      int64_t ns, bool epoch_begins)
{
	struct record_guest *g = &r->guest[i];

	/* Not by domain id, which a later guest may have again. */
	if (sg->key.created != g->created)
		begin_life(g, sg);
	g->usage = sg->total_usage;
	g->money = sg->total;
	if (epoch_begins) { /* its balances are in the next snapshot */
		g->money.allocated.m -= sg->account.allocated.m;
		g->money.spent.m -= sg->account.spent.m;
		g->money.overdraft.m -= sg->account.overdraft.m;
	}
	g->cap_changes = sg->cap_changes;
	g->reports = sg->reports;
	g->reports_lost = sg->latency.lost;
	g->cap = sg->applied;
	g->rate_q16 = sg->account.rate.q16;
	g->balance = sg->account.balance;
	add_held_figures(r, g, r->sc->sim.guest[i].vcpus, ns);
}

static const struct snap_guest *find_guest(const struct snapshot *sn, uint32_t domid)
{
	for (uint32_t i = 0; i < sn->guests; i++)
		if (sn->guest[i].key.domid == domid)
			return &sn->guest[i];
	return NULL;
}

static void end_step(struct recorder *r, const struct snapshot *sn)
{
	/* A step has what was added to the totals since the step before. */
	for (uint32_t i = 0; i < r->guests; i++) {
		struct record_guest *g = &r->guest[i];
		uint64_t seen = g->reports.n + g->reports_before.n;
		uint64_t seen_ns = g->reports.sum + g->reports_before.sum;

		g->step[r->steps] = (struct record_step){
			.cap = g->cap,
			.rate_q16 = g->rate_q16,
			.balance = g->balance,
			.present = find_guest(sn, sim_domid(r->host, i)) != NULL,
			.mtus = mtus_of(g) - g->step_mtus,
			.seen_n = seen - g->step_seen,
			.seen_ns = seen_ns - g->step_seen_ns,
			.n = g->step_n,
			.sum_ns = g->step_sum,
		};
		g->step_seen = seen;
		g->step_seen_ns = seen_ns;
		g->step_mtus = mtus_of(g);
		g->step_n = g->step_sum = 0;
	}
	r->steps++;
}

void record_snapshot(struct recorder *r, const struct snapshot *sn)
{
	int64_t ns = mono_sub(sn->time, r->last);

	/* The newest snapshot may be the one of the call before: then nothing has passed. */
	if (ns <= 0)
		return;
	pthread_mutex_lock(&r->lock);
	r->last = sn->time;
	r->ticks = sn->ticks;
	r->late_ticks = sn->late_ticks;
	for (uint32_t i = 0; i < r->guests; i++) {
		const struct snap_guest *sg = find_guest(sn, sim_domid(r->host, i));

		if (sg)
			add_guest_figures(r, i, sg, ns, sn->epoch != r->epoch);
	}
	r->epoch = sn->epoch;
	/* A late tick may end several steps; all that it counted is in the first of them. */
	while (r->steps < r->steps_max &&
	       mono_sub(sn->time, r->start) >= (r->steps + 1) * r->sc->series_ns)
		end_step(r, sn);
	pthread_mutex_unlock(&r->lock);
}

static void truth_add(struct sim_truth *to, const struct sim_truth *t)
{
	to->wrs += t->wrs;
	to->bytes += t->bytes;
	to->mtus += t->mtus;
	to->bytes_recv += t->bytes_recv;
	to->mtus_recv += t->mtus_recv;
	to->cpu_ns += t->cpu_ns;
	to->requests += t->requests;
}

static void app_add(struct sim_app_truth *to, const struct sim_app_truth *t)
{
	to->wrs += t->wrs;
	to->bytes += t->bytes;
	to->mtus += t->mtus;
	to->cpu_ns += t->cpu_ns;
	to->waiting = t->waiting; /* messages that waited in an earlier life are gone */
	to->dropped += t->dropped;
	to->ctime_ns += t->ctime_ns;
	to->wtime_ns += t->wtime_ns;
	to->ptime_ns += t->ptime_ns;
	to->ctime_sq += t->ctime_sq;
	to->wtime_sq += t->wtime_sq;
	to->ptime_sq += t->ptime_sq;
}

static void record_divergence(struct recorder *r, uint32_t domid, int64_t at_ns)
{
	for (uint32_t i = 0; i < r->guests; i++) {
		struct record_guest *g = &r->guest[i];

		/* Only the first time counts: a scenario asks how soon a liar was found. */
		if (g->domid != domid || g->diverged)
			continue;
		g->diverged = true;
		g->diverged_ns = at_ns;
	}
}

void record_diverging(struct recorder *r, const struct guests *gs, struct mono now)
{
	/* In most runs no guest diverges, and this is called in each interval. */
	if (!guests_view(gs).diverging)
		return;
	for (const struct guest_entry *g = guests_next(gs, NULL); g; g = guests_next(gs, g)) {
		const struct guest_view v = guest_view(gs, g);

		if (v.check.cross->diverges)
			record_divergence(r, v.key.domid, mono_sub(now, r->start));
	}
}

void record_truth(struct recorder *r, uint32_t guest, struct record_truth *out)
{
	struct sim_truth t;
	struct sim_app_truth app;

	*out = r->guest[guest].before;
	if (!sim_truth(r->host, guest, &t))
		truth_add(&out->all, &t);
	for (uint32_t i = 0; i < r->sc->sim.guest[guest].apps; i++)
		if (!sim_app_truth(r->host, guest, i, &app))
			app_add(&out->app[i], &app);
}
