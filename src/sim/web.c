// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: the clients and the front-ends of the web cluster; see web.h.
#include "src/sim/web.h"

#include <errno.h>
#include <stdlib.h>

#include "src/sim/web_priv.h"

/* --- requests --------------------------------------------------------------------- */

static bool measured(const struct web *w)
{
	return w->now >= w->c.warmup_ns;
}

static void under_way(struct web *w, uint32_t job, uint32_t frontend)
{
	uint32_t first = w->first[frontend];

	w->job[job].before = WEB_NOBODY;
	w->job[job].after = first;
	if (first != WEB_NOBODY)
		w->job[first].before = job;
	w->first[frontend] = job;
	w->own[w->job[job].site][w->job[job].node]++;
}

static void answered(struct web *w, uint32_t job)
{
	struct web_job *j = &w->job[job];

	if (j->before == WEB_NOBODY)
		w->first[j->frontend] = j->after;
	else
		w->job[j->before].after = j->after;
	if (j->after != WEB_NOBODY)
		w->job[j->after].before = j->before;
	w->own[j->site][j->node]--;
	j->next = w->free;
	w->free = job;
}

uint32_t web_own(const struct web *w, uint32_t frontend, uint32_t node, int64_t after_ns)
{
	uint32_t n = 0;

	/* The newest are first. */
	for (uint32_t i = w->first[frontend]; i != WEB_NOBODY && w->job[i].sent_ns > after_ns;
	     i = w->job[i].after)
		n += w->job[i].node == node;
	return n;
}

uint32_t web_site_own(const struct web *w, uint32_t site, uint32_t node)
{
	return w->own[site][node];
}

/* The site of the next request of a client; WEB_NO_SITE: it has none now. */
static uint32_t next_site(struct web *w, uint32_t client)
{
	uint32_t stream = w->c.bursts_apart ? client % w->c.frontends : 0, site;
	int64_t until = w->now;

	if (w->ops->site) {
		site = w->ops->site(w->ops->arg, client, w->now, &until);
		if (site == WEB_NO_SITE)
			web_at(w, until, WEB_NEXT, client, 0);
		return site;
	}
	if (!w->c.site_burst)
		return client / w->c.frontends % w->c.sites;
	return (uint32_t)(w->asked[stream]++ / w->c.site_burst % w->c.sites);
}

static void send_request(struct web *w, uint32_t frontend, uint32_t client, uint32_t site,
			 uint32_t document)
{
	uint32_t node = w->ops->choose(w->ops->arg, w, frontend, site, w->now), job;

	if (node >= w->c.nodes) {
		w->error = -EINVAL;
		return;
	}
	w->res->sent++;
	w->res->writes += w->c.kinds && w->c.kind[document].writes;
	job = web_job_new(w, WEB_REQUEST, node);
	if (job == WEB_NOBODY) {
		w->res->refused++;
		return;
	}
	w->job[job].frontend = frontend;
	w->job[job].client = client;
	w->job[job].site = site;
	w->job[job].document = document;
	w->job[job].sent_ns = w->now;
	under_way(w, job, frontend);
	web_at(w, w->now + w->c.network_ns, WEB_ARRIVE, job, 0);
}

static void arrive(struct web *w, uint32_t job)
{
	struct web_job *j = &w->job[job];

	j->left_ns = web_demand(w, j->node, j->document);
	w->demand_ns += (uint64_t)j->left_ns;
	w->demands++;
	web_node_add(w, job);
}

static void answer(struct web *w, uint32_t job)
{
	const struct sim_vary vary = { SIM_VARY_PHASES, 1000 };
	struct web_job *j = &w->job[job];

	w->res->served++;
	if (measured(w)) {
		w->res->measured++;
		w->res->by_node[j->node]++;
		w->res->by_site[j->site]++;
		w->latency_ns += (uint64_t)(w->now - j->sent_ns);
		w->site_latency_ns[j->site] += (uint64_t)(w->now - j->sent_ns);
	}
	if (j->client != WEB_NOBODY)
		web_at(w, w->now + sim_draw(&w->rand, &vary, w->c.think_ns), WEB_NEXT, j->client,
		       0);
	answered(w, job);
}

/* The next requests of an open loop, and when those after them come. */
static void open_loop(struct web *w, uint32_t frontend)
{
	const struct sim_vary vary = { SIM_VARY_PHASES, 1000 };
	uint64_t mean = (uint64_t)NS_PER_S * w->c.frontends * w->c.burst / w->c.rate;

	for (uint32_t i = 0; i < w->c.burst; i++)
		send_request(w, frontend, WEB_NOBODY, 0, web_document(w, 0));
	web_at(w, w->now + sim_draw(&w->rand, &vary, (int64_t)mean), WEB_OPEN, frontend, 0);
}

/* A request of the trace, and when the next one comes. */
static void trace(struct web *w, uint32_t i)
{
	send_request(w, i % w->c.frontends, WEB_NOBODY, 0, i);
	if (i + 1 < w->c.arrivals)
		web_at(w, w->c.arrival[i + 1].at_ns, WEB_TRACE, i + 1, 0);
}

void web_timer(struct web *w, int64_t at, uint32_t what, uint32_t of)
{
	web_at(w, at, WEB_TIMER, what, of);
}

static void next(struct web *w, uint32_t client)
{
	uint32_t site = next_site(w, client);

	if (site == WEB_NO_SITE)
		return;
	if (site >= w->c.sites)
		w->error = -EINVAL;
	else
		send_request(w, client % w->c.frontends, client, site, web_document(w, site));
}

/* --- the run ---------------------------------------------------------------------- */

static void measure(struct web *w)
{
	if (measured(w) && w->now > w->c.warmup_ns)
		web_measure(w);
	else
		for (uint32_t i = 0; i < w->c.nodes; i++) {
			web_node_advance(w, &w->node[i]);
			w->node[i].measured_ns = w->node[i].busy_ns;
		}
	web_at(w, w->now + w->c.interval_ns, WEB_MEASURE, 0, 0);
}

static void handle(struct web *w, const struct web_event *e)
{
	switch (e->kind) {
	case WEB_NEXT:
		next(w, e->a);
		break;
	case WEB_OPEN:
		open_loop(w, e->a);
		break;
	case WEB_ARRIVE:
		arrive(w, e->a);
		break;
	case WEB_SLICE:
		web_node_slice(w, e->a, e->b);
		break;
	case WEB_ANSWER:
		answer(w, e->a);
		break;
	case WEB_WAKE:
		w->job[e->a].left_ns = w->c.run_ns;
		web_node_add(w, e->a);
		break;
	case WEB_TRACE:
		trace(w, e->a);
		break;
	case WEB_SAMPLE:
		web_sample_all(w, (enum load_source)e->a);
		break;
	case WEB_TIMER:
		w->ops->timer(w->ops->arg, w, e->a, e->b, w->now);
		break;
	case WEB_MEASURE:
		measure(w);
		break;
	}
}

static bool in_range(int64_t ns, int64_t least)
{
	return ns >= least && ns <= WEB_NS_MAX;
}

static bool valid_kinds(const struct web_conf *c)
{
	if (c->kinds > WEB_KINDS_MAX || (c->kinds && !c->kind))
		return false;
	for (uint32_t i = 0; i < c->kinds; i++)
		if (!c->kind[i].weight || c->kind[i].weight > 1000000 || c->kind[i].cpu_ns < 1 ||
		    c->kind[i].cpu_ns > NS_PER_S)
			return false;
	return true;
}

static bool valid_trace(const struct web_conf *c)
{
	int64_t before = 0;

	if (c->arrivals > WEB_ARRIVALS_MAX || (c->arrivals && !c->arrival))
		return false;
	for (uint32_t i = 0; i < c->arrivals; before = c->arrival[i++].at_ns)
		if (!in_range(c->arrival[i].at_ns, before) || !in_range(c->arrival[i].cpu_ns, 1))
			return false;
	return true;
}

/* One of the ways in which requests come. */
static bool valid_requests(const struct web_conf *c)
{
	bool loop = c->clients || (c->rate && c->rate <= 10000000 && c->burst && c->burst <= 1024);
	bool documents = c->documents && c->sites <= WEB_SITES_MAX &&
			 c->documents <= WEB_DOCUMENTS_MAX;

	for (uint32_t i = 0; i < WEB_SITES_MAX; i++)
		documents = documents && c->alpha[i] <= 10000;
	if ((c->sites > 1 || c->site_burst) && (!c->clients || c->kinds || c->arrivals))
		return false;
	return (c->arrivals || loop) && documents && valid_kinds(c) && valid_trace(c);
}

static bool valid_samples(const struct web_conf *c)
{
	for (int i = 0; i < LOAD_SOURCES; i++)
		if (!in_range(c->sample_ns[i], 0))
			return false;
	return !c->sample_ns[LOAD_NONE] &&
	       (!c->sample_ns[LOAD_ULM] || in_range(c->sample_cpu_ns, 1));
}

static bool valid(const struct web_conf *c)
{
	bool sizes = c->nodes && c->nodes <= WEB_NODES_MAX && c->cpus && c->cpus <= WEB_CPUS_MAX &&
		     c->frontends && c->frontends <= WEB_FRONTENDS_MAX &&
		     c->clients <= WEB_CLIENTS_MAX && c->loaded_nodes <= c->nodes &&
		     c->burners <= 256;
	bool times = in_range(c->think_ns, 0) && in_range(c->network_ns, 1) &&
		     in_range(c->slice_ns, 0) && in_range(c->warmup_ns, 0) &&
		     in_range(c->duration_ns, 1) && in_range(c->interval_ns, 1) &&
		     in_range(c->miss_ns, 1) && in_range(c->hit_ns, 1);
	bool burners = !c->burners || (in_range(c->run_ns, 1) && in_range(c->sleep_ns, 1));

	for (uint32_t i = 0; sizes && i < c->nodes; i++)
		sizes = c->node_cpus[i] <= WEB_CPUS_MAX;
	return sizes && times && burners && valid_requests(c) && valid_samples(c);
}

/* Front-ends and clients begin at random times, so that they do not go in step. */
static void begin(struct web *w)
{
	uint64_t within = (uint64_t)(w->c.think_ns > NS_PER_MS ? w->c.think_ns : NS_PER_MS);

	for (uint32_t i = 0; i < w->c.frontends; i++)
		w->first[i] = WEB_NOBODY;
	web_nodes_start(w);
	if (w->c.arrivals)
		web_at(w, w->c.arrival[0].at_ns, WEB_TRACE, 0, 0);
	for (uint32_t i = 0; !w->c.arrivals && i < w->c.clients; i++)
		web_at(w, (int64_t)sim_rand_below(&w->rand, within), WEB_NEXT, i, 0);
	for (uint32_t i = 0; !w->c.arrivals && !w->c.clients && i < w->c.frontends; i++)
		web_at(w, (int64_t)sim_rand_below(&w->rand, NS_PER_MS), WEB_OPEN, i, 0);
	web_at(w, w->c.warmup_ns, WEB_MEASURE, 0, 0);
	for (uint32_t i = 0; i < LOAD_SOURCES; i++)
		if (w->c.sample_ns[i])
			web_at(w, 0, WEB_SAMPLE, i, 0);
	if (w->ops->begin)
		w->ops->begin(w->ops->arg, w);
}

static void finish(struct web *w)
{
	struct web_result *r = w->res;

	for (uint32_t i = 0; i < w->c.frontends; i++)
		for (uint32_t j = w->first[i]; j != WEB_NOBODY; j = w->job[j].after)
			r->under_way++;
	r->tps = (uint64_t)((unsigned __int128)r->measured * 1000 * NS_PER_S /
			    (uint64_t)w->c.duration_ns);
	r->latency_ns = r->measured ? (uint64_t)(w->latency_ns / r->measured) : 0;
	r->demand_ns = w->demands ? (uint64_t)(w->demand_ns / w->demands) : 0;
	r->variance = r->intervals ? (uint64_t)(w->variance / r->intervals) : 0;
	r->busy_ns = w->busy_ns;
	for (uint32_t i = 0; i < w->c.nodes; i++)
		r->cpu_ns += (uint64_t)w->c.interval_ns * r->intervals * web_cpus(&w->c, i);
	for (uint32_t i = 0; i < w->c.sites; i++)
		if (r->by_site[i])
			r->site_latency_ns[i] = (uint64_t)(w->site_latency_ns[i] / r->by_site[i]);
}

int web_run(const struct web_conf *c, const struct web_ops *ops, struct web_result *res)
{
	struct web *w;
	int rc;

	if (!valid(c))
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	*res = (struct web_result){ .sent = 0 };
	w->c = *c;
	w->c.sites += !c->sites;
	w->ops = ops;
	w->res = res;
	w->free = WEB_NOBODY;
	/* What is asked for does not depend on what the policy draws. */
	w->rand.state = c->seed;
	w->rand_work.state = ~c->seed;
	w->job = calloc(WEB_JOBS_MAX, sizeof(*w->job));
	rc = w->job ? web_work_open(w) : -ENOMEM;
	if (!rc)
		begin(w);
	while (!rc && w->events && w->heap[0].at < c->warmup_ns + c->duration_ns) {
		struct web_event e = web_take(w);

		w->now = e.at;
		handle(w, &e);
		rc = w->error;
	}
	if (!rc)
		finish(w);
	web_work_close(w);
	free(w->job);
	free(w->heap);
	free(w);
	return rc;
}
