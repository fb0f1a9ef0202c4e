// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load: see load.h. SIMULATED front-ends: web.c asks for a node for each request, and brings the
 * records that they read.
 */
#include "src/lab/load.h"

#include <errno.h>
#include <stdlib.h>

#include "src/core/random.h"
#include "src/load/index.h"

const char *const load_policy_names[LOAD_POLICIES] = {
	[LOAD_BY_RANDOM] = "random",
	[LOAD_BY_ROUND_ROBIN] = "round-robin",
	[LOAD_BY_ULM] = "ULM",
	[LOAD_BY_KLM] = "KLM",
	[LOAD_BY_HV] = "hv",
	[LOAD_BY_SWAPPED] = "KLM, labels swapped",
	[LOAD_BY_STALE_DEFAULT] = "ULM, stale",
	[LOAD_BY_STALE_PLAIN] = "ULM, stale, plain k",
};

struct frontend {
	struct load_window window[WEB_NODES_MAX];
	struct balance balance;
	int64_t credit[WEB_NODES_MAX]; /* of turn() */
	uint32_t next;		       /* round-robin */
};

struct balancers {
	const struct load_plan *plan;
	struct balance_conf balance;
	enum load_policy policy;
	int64_t window_ns;
	uint64_t random;
	struct load_run *run;
	struct frontend frontend[WEB_FRONTENDS_MAX];
};

void load_plan_default(struct load_plan *p)
{
	*p = (struct load_plan){
		.web = { .seed = 1,
			 .nodes = 8,
			 .cpus = 2,
			 .frontends = 8,
			 .clients = 32,
			 .burst = 1,
			 .network_ns = 100 * 1000,
			 .slice_ns = NS_PER_MS,
			 .warmup_ns = 2 * NS_PER_S,
			 .duration_ns = 20 * NS_PER_S,
			 .interval_ns = 50 * NS_PER_MS,
			 .documents = 1000,
			 .alpha = 500,
			 .cached = 100,
			 .miss_ns = 5 * NS_PER_MS,
			 .hit_ns = 1 * NS_PER_MS,
			 .spread = 1,
			 .sample_ns = NS_PER_MS,
			 .sample_cpu_ns = 30 * 1000,
			 .read_ns = 20 * 1000 },
		.scan = 25,
		.stale_scan = 500,
		.balance = { .stale_ns = 500 * NS_PER_MS, .keep = 16 },
		.plain_k = 3,
	};
}

/* Assumed: 100 us for a request, and 50 us for each KB that is sent. */
void load_plan_single(struct load_plan *p, uint32_t kb)
{
	p->web.documents = p->web.cached = 1;
	p->web.spread = 0;
	p->web.miss_ns = p->web.hit_ns = (100 + 50 * (int64_t)kb) * 1000;
}

/* Assumed: for how long they run and sleep. */
void load_plan_nodes(struct load_plan *p, uint32_t nodes)
{
	struct web_conf *w = &p->web;

	w->loaded_nodes = nodes;
	w->burners = nodes ? 16 : 0;
	w->run_ns = 50 * 1000;
	w->sleep_ns = 450 * 1000;
}

uint64_t load_bound(const struct load_plan *p, uint64_t random_tps)
{
	uint64_t m = (uint64_t)p->web.nodes * p->web.cpus, n = p->web.clients;

	return n && !p->web.think_ns ? random_tps * (n + m - 1) / n : UINT64_MAX;
}

/*
 * The next node by weights, as HAProxy's smooth round-robin does: each gets its weight as credit,
 * the richest is taken, and pays for all.
 */
static uint32_t turn(struct frontend *f, const struct balance *b)
{
	int64_t sum = 0;
	uint32_t best = 0;

	for (uint32_t i = 0; i < b->nodes; i++) {
		f->credit[i] = b->weight[i] ? f->credit[i] + b->weight[i] : 0;
		sum += b->weight[i];
		if (b->weight[i] && (!b->weight[best] || f->credit[i] > f->credit[best]))
			best = i;
	}
	f->credit[best] -= sum;
	return best;
}

static void look(const struct web *w, uint32_t frontend, const struct load_window *win, uint32_t i,
		 int64_t now, uint32_t cpus, struct balance_node *n)
{
	const struct load_record *r = &win->newest;
	int index = load_window_index(win);
	int64_t age = now - r->sampled_ns;
	bool queue = r->source != LOAD_HV;

	/* An index is of an interval: the middle of it is what is known. */
	if (index >= 0 && !queue)
		age += (r->sampled_ns - win->base.sampled_ns) / 2;
	*n = (struct balance_node){ .known = index >= 0,
				    .index = index > 0 ? (uint32_t)index : 0,
				    .queue = queue,
				    .running = r->running * 1000,
				    .own = web_own(w, frontend, i, r->sampled_ns),
				    .cpus = cpus,
				    .age_ns = age };
}

static uint32_t by_load(struct balancers *b, const struct web *w, struct frontend *f,
			uint32_t frontend, int64_t now)
{
	struct balance_node node[WEB_NODES_MAX];
	uint32_t n = b->plan->web.nodes;

	for (uint32_t i = 0; i < n; i++)
		look(w, frontend, &f->window[i], i, now, b->plan->web.cpus, &node[i]);
	balance_decide(&f->balance, &b->balance, node, n);
	b->run->why[f->balance.why]++;
	b->run->decisions++;
	b->run->k_sum += f->balance.k;
	return turn(f, &f->balance);
}

static uint32_t choose(void *arg, const struct web *w, uint32_t frontend, int64_t now)
{
	struct balancers *b = arg;
	struct frontend *f = &b->frontend[frontend];

	if (b->policy == LOAD_BY_RANDOM)
		return (uint32_t)(random_next(&b->random) % b->plan->web.nodes);
	if (b->policy == LOAD_BY_ROUND_ROBIN)
		return f->next++ % b->plan->web.nodes;
	return by_load(b, w, f, frontend, now);
}

static void loaded(void *arg, uint32_t frontend, uint32_t node, const struct load_record *r)
{
	struct balancers *b = arg;

	if (b->policy == LOAD_BY_SWAPPED)
		node = b->plan->web.nodes - 1 - node;
	load_window_add(&b->frontend[frontend].window[node], r, b->window_ns);
}

static enum load_source source_of(enum load_policy policy)
{
	switch (policy) {
	case LOAD_BY_RANDOM:
	case LOAD_BY_ROUND_ROBIN:
		return LOAD_NONE;
	case LOAD_BY_ULM:
	case LOAD_BY_STALE_PLAIN:
	case LOAD_BY_STALE_DEFAULT:
		return LOAD_ULM;
	case LOAD_BY_HV:
		return LOAD_HV;
	default:
		return LOAD_KLM;
	}
}

int load_policy_run(const struct load_plan *p, enum load_policy policy, int64_t service_ns,
		    struct load_run *r)
{
	bool stale = policy == LOAD_BY_STALE_DEFAULT || policy == LOAD_BY_STALE_PLAIN;
	struct balancers *b = calloc(1, sizeof(*b));
	struct web_ops ops = { .arg = b, .choose = choose, .loaded = loaded };
	struct web_conf web = p->web;
	int rc;

	if (!b)
		return -ENOMEM;
	*r = (struct load_run){ .scan_ns = 0 };
	b->plan = p;
	b->balance = p->balance;
	b->balance.service_ns = service_ns;
	b->policy = policy;
	b->random = web.seed ^ 0x5bd1e995;
	b->run = r;
	for (uint32_t i = 0; i < web.frontends && i < WEB_FRONTENDS_MAX; i++)
		b->frontend[i].next = (uint32_t)(random_next(&b->random) % 1024);
	web.source = source_of(policy);
	if (web.source != LOAD_NONE)
		r->scan_ns = web.scan_ns = service_ns * (stale ? p->stale_scan : p->scan) / 10;
	/* Section 5 of the paper: the process of ULM samples as often as front-ends READ. */
	if (web.source == LOAD_ULM)
		web.sample_ns = web.scan_ns;
	if (policy == LOAD_BY_STALE_PLAIN) {
		b->balance.plain = true;
		b->balance.k = p->plain_k;
	}
	b->window_ns = web.scan_ns / 2;
	rc = web_run(&web, &ops, &r->web);
	free(b);
	return rc;
}
