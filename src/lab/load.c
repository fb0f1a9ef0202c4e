// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load: see load.h. SIMULATED front-ends: web.c asks for a node for each request; load_read.c
 * brings the records that they read.
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
	int64_t found_ns[WEB_NODES_MAX]; /* when the newest record was found */
	int64_t credit[WEB_NODES_MAX];	 /* of turn() */
	uint32_t next;			 /* round-robin */
};

struct balancers {
	const struct load_plan *plan;
	struct balance_conf balance;
	enum load_policy policy;
	int64_t window_ns;
	uint64_t random;
	struct load_run *run;
	struct load_read *read; /* NULL: the policy reads no loads */
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
			 .alpha = { 500 },
			 .cached = 100,
			 .miss_ns = 5 * NS_PER_MS,
			 .hit_ns = 1 * NS_PER_MS,
			 .spread = 1,
			 .sample_cpu_ns = 30 * 1000 },
		.tick_ns = NS_PER_MS,
		.scan = 25,
		.read_ns = 20 * 1000,
		.write_ns = 200,
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

void load_plan_shared(struct load_plan *p, uint32_t alpha, uint32_t other_alpha)
{
	p->web.sites = 2;
	p->web.alpha[0] = alpha;
	p->web.alpha[1] = other_alpha;
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

	if (!n || p->web.arrivals || p->web.think_ns || p->web.loaded_nodes)
		return UINT64_MAX;
	return random_tps * (n + m - 1) / n;
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

/*
 * When the record was sampled, by the clock of the front-end: that of the node is another. It was
 * not there a reading before, so a node that samples every period did so half of one before it was
 * found, in the mean. Without that half, old loads seem young, and ULM loses 4 %.
 */
static int64_t sampled_at(const struct frontend *f, uint32_t node)
{
	return f->found_ns[node] - (int64_t)(f->window[node].newest.period_ns / 2);
}

static void look(const struct web *w, uint32_t frontend, const struct frontend *f, uint32_t i,
		 int64_t now, uint32_t cpus, struct balance_node *n)
{
	const struct load_window *win = &f->window[i];
	const struct load_record *r = &win->newest;
	int index = load_window_index(win);
	int64_t sampled = sampled_at(f, i), age = now - sampled;
	bool queue = r->source != LOAD_HV;

	/* An index is of an interval: the middle of it is what is known. */
	if (index >= 0 && !queue)
		age += (r->sampled_ns - win->base.sampled_ns) / 2;
	*n = (struct balance_node){ .known = index >= 0,
				    .index = index > 0 ? (uint32_t)index : 0,
				    .queue = queue,
				    .running = r->running * 1000,
				    .own = web_own(w, frontend, i, sampled),
				    .under_way = queue ? 0 : web_own(w, frontend, i, -1),
				    .cpus = cpus,
				    .age_ns = age };
}

static uint32_t by_load(struct balancers *b, const struct web *w, struct frontend *f,
			uint32_t frontend, int64_t now)
{
	struct balance_node node[WEB_NODES_MAX];
	uint32_t n = b->plan->web.nodes;

	for (uint32_t i = 0; i < n; i++)
		look(w, frontend, f, i, now, b->plan->web.cpus, &node[i]);
	balance_decide(&f->balance, &b->balance, node, n);
	b->run->why[f->balance.why]++;
	b->run->decisions++;
	b->run->k_sum += f->balance.k;
	return turn(f, &f->balance);
}

static uint32_t choose(void *arg, const struct web *w, uint32_t frontend, uint32_t site,
		       int64_t now)
{
	struct balancers *b = arg;
	struct frontend *f = &b->frontend[frontend];

	(void)site; /* all nodes serve all sites */
	if (b->policy == LOAD_BY_RANDOM)
		return (uint32_t)(random_next(&b->random) % b->plan->web.nodes);
	if (b->policy == LOAD_BY_ROUND_ROBIN)
		return f->next++ % b->plan->web.nodes;
	return by_load(b, w, f, frontend, now);
}

/* --- loads ------------------------------------------------------------------------ */

static void loaded(void *arg, uint32_t frontend, uint32_t node, const struct load_record *r,
		   int64_t found_ns)
{
	struct balancers *b = arg;
	struct frontend *f = &b->frontend[frontend];

	if (b->policy == LOAD_BY_SWAPPED)
		node = b->plan->web.nodes - 1 - node;
	load_window_add(&f->window[node], r, b->window_ns);
	f->found_ns[node] = found_ns;
}

static void begin(void *arg, struct web *w)
{
	load_read_begin(((struct balancers *)arg)->read, w);
}

static void sampled(void *arg, uint32_t node, const struct load_record *r)
{
	load_read_sampled(((struct balancers *)arg)->read, node, r);
}

static void timer(void *arg, struct web *w, uint32_t what, uint32_t of, int64_t now)
{
	load_read_timer(((struct balancers *)arg)->read, w, what, of, now);
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

static bool is_stale(enum load_policy policy)
{
	return policy == LOAD_BY_STALE_DEFAULT || policy == LOAD_BY_STALE_PLAIN;
}

/* Set when nodes sample, and open what reads the records. Nothing, if the policy reads none. */
static int open_loads(struct balancers *b, int64_t service_ns, struct web_conf *web)
{
	const struct load_plan *p = b->plan;
	enum load_source source = source_of(b->policy);
	struct load_read_conf c = { .nodes = web->nodes,
				    .frontends = web->frontends,
				    .sources = 1,
				    .source = { source },
				    .read_ns = p->read_ns,
				    .write_ns = p->write_ns,
				    .seed = web->seed,
				    .arg = b,
				    .loaded = loaded };

	if (source == LOAD_NONE)
		return 0;
	c.scan_ns = service_ns * (is_stale(b->policy) ? p->stale_scan : p->scan) / 10;
	/* Section 5 of the paper: the process of ULM samples as often as front-ends READ. */
	web->sample_ns[source] = source == LOAD_ULM ? c.scan_ns : p->tick_ns;
	b->window_ns = c.scan_ns / 2;
	b->run->scan_ns = c.scan_ns;
	return load_read_open(&b->read, &c);
}

static void set_balance(struct balancers *b, int64_t service_ns)
{
	b->balance = b->plan->balance;
	b->balance.service_ns = service_ns;
	if (b->policy == LOAD_BY_STALE_PLAIN) {
		b->balance.plain = true;
		b->balance.k = b->plan->plain_k;
	}
}

/* Front-ends have sent requests before: those that know the same do not all begin with one node. */
static void begin_turns(struct balancers *b, const struct web_conf *web)
{
	uint64_t random = ~web->seed;

	for (uint32_t i = 0; i < web->frontends && i < WEB_FRONTENDS_MAX; i++) {
		struct frontend *f = &b->frontend[i];

		f->next = (uint32_t)(random_next(&b->random) % 1024);
		for (uint32_t k = 0; k < web->nodes && k < WEB_NODES_MAX; k++)
			f->credit[k] = (int64_t)(random_next(&random) % BALANCE_WEIGHT_MAX);
	}
}

int load_policy_run(const struct load_plan *p, enum load_policy policy, int64_t service_ns,
		    struct load_run *r)
{
	struct balancers *b = calloc(1, sizeof(*b));
	struct web_ops ops = { .arg = b, .choose = choose };
	struct web_conf web = p->web;
	int rc;

	if (!b)
		return -ENOMEM;
	*r = (struct load_run){ .scan_ns = 0 };
	b->plan = p;
	b->policy = policy;
	b->random = web.seed ^ 0x5bd1e995;
	b->run = r;
	set_balance(b, service_ns);
	begin_turns(b, &web);
	rc = open_loads(b, service_ns, &web);
	if (b->read) {
		ops.begin = begin;
		ops.sampled = sampled;
		ops.timer = timer;
	}
	if (!rc)
		rc = web_run(&web, &ops, &r->web);
	if (b->read)
		load_read_stats(b->read, &r->read);
	load_read_close(b->read);
	free(b);
	return rc;
}
