// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reconf: one run of reconf.h: the SIMULATED cluster of web.c, the hosts of words.c, and the
 * balancers of reconf_balancer.c. reconf_all.c makes many.
 */
#include "src/lab/reconf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/core/random.h"
#include "src/shared/region.h"

enum { GENERATION = 1, LOAD_BYTES = sizeof(struct load_record) };

struct cluster {
	const struct reconf_plan *plan;
	enum reconf_mode mode;
	struct reconf_run *run;
	struct words *words;		  /* NULL: nothing moves */
	struct reconf_balancer *balancer; /* of each site */
	uint32_t first[WEB_SITES_MAX];	  /* node of each site, in the beginning */
	uint32_t turn[WEB_SITES_MAX];
	/* Whole rounds of bursts. */
	uint64_t asked, from_asked, to_asked;
	int64_t from_ns, to_ns;
	int error;
};

/* --- plans ------------------------------------------------------------------------ */

/* A node of two CPUs serves 26,000 / 3 requests a second: the paper's rigid case has 3 nodes. */
#define SERVICE_NS (2 * 3 * NS_PER_S / 26000)

void reconf_plan_shares(struct reconf_plan *p, const uint32_t *share, uint32_t sites)
{
	struct web_conf *w = &p->web;

	w->nodes = 0;
	w->sites = sites;
	for (uint32_t i = 0; i < sites; i++) {
		p->share[i] = share[i];
		w->nodes += share[i];
	}
	/* All but one node for each other site: 6 of 8 for 3 sites, 5 of 8 for 4. */
	p->over = w->nodes > sites - 1 ? w->nodes - (sites - 1) : 1;
}

void reconf_plan_times(struct reconf_plan *p, int64_t scan_ns, uint32_t checks)
{
	struct reconf_rules *r = &p->rules;
	int64_t t = scan_ns * checks;

	r->scan_ns = scan_ns;
	r->checks = checks;
	/* T is longer than hold + deadline (counter.h), and break than 3 1/4 checks (move.h). */
	r->hold_ns = scan_ns * 3 / 2;
	r->deadline_ns = scan_ns / 2;
	r->check_ns = scan_ns / 2;
	r->decide.check_ns = scan_ns;
	r->decide.rest_ns = 15 * t;
	r->decide.freeze_ns = 60 * t;
	r->decide.budget_ns = 100 * t;
}

void reconf_plan_default(struct reconf_plan *p)
{
	static const uint32_t share[] = { 2, 2, 2, 2 };

	*p = (struct reconf_plan){
		.web = { .seed = 1,
			 .cpus = 2,
			 .frontends = 16,
			 .clients = 128,
			 .site_burst = 16384,
			 .network_ns = 100 * 1000,
			 .slice_ns = NS_PER_MS,
			 .warmup_ns = NS_PER_S,
			 .duration_ns = 8 * NS_PER_S,
			 .interval_ns = 10 * NS_PER_MS,
			 .documents = 1,
			 .cached = WEB_SITES_MAX,
			 .miss_ns = SERVICE_NS,
			 .hit_ns = SERVICE_NS },
		.tick_ns = NS_PER_MS,
		.there_ns = 12 * 1000,
		.back_ns = 12 * 1000,
		.rules = { .decide = { .margin = 250, .budget = 16 }, .high = 2000, .low = 1000 },
	};
	for (uint32_t i = 0; i < WEB_SITES_MAX; i++)
		p->rules.service[i].minimum = 1;
	reconf_plan_shares(p, share, 4);
	reconf_plan_times(p, NS_PER_MS, 3);
}

/* --- requests --------------------------------------------------------------------- */

/* Has the site this node, as far as its balancer knows? */
static bool serves(const struct cluster *c, uint32_t site, uint32_t node)
{
	uint32_t nodes = c->plan->web.nodes;
	uint64_t may = c->plan->rules.may[node];

	switch (c->mode) {
	case RECONF_RIGID:
		return node - c->first[site] < c->plan->share[site];
	case RECONF_OVER:
		return (node + nodes - c->first[site]) % nodes < c->plan->over &&
		       (!may || may >> site & 1);
	default:
		return c->balancer[site].serves[node];
	}
}

static void count_rounds(struct cluster *c, int64_t now)
{
	uint64_t round = (uint64_t)c->plan->web.site_burst * c->plan->web.sites;

	if (!round || c->asked++ % round || now < c->plan->web.warmup_ns)
		return;
	if (!c->from_ns) {
		c->from_ns = now;
		c->from_asked = c->asked;
	}
	c->to_ns = now;
	c->to_asked = c->asked;
}

static uint32_t cpus_of(const struct reconf_plan *p, uint32_t node)
{
	return p->web.node_cpus[node] ? p->web.node_cpus[node] : p->web.cpus;
}

/*
 * The node that has least of the site's requests under way for each of its CPUs; of equals, one
 * after the other.
 */
static uint32_t choose(void *arg, const struct web *w, uint32_t frontend, uint32_t site,
		       int64_t now)
{
	struct cluster *c = arg;
	uint32_t best = UINT32_MAX, nodes = c->plan->web.nodes, of_cpus = 1;
	uint64_t least = UINT64_MAX / WEB_CPUS_MAX;

	(void)frontend; /* all know what the site's balancer knows */
	count_rounds(c, now);
	for (uint32_t k = 0; k < nodes; k++) {
		uint32_t node = (c->turn[site] + k) % nodes, own = web_site_own(w, site, node);
		uint32_t cpus = cpus_of(c->plan, node);

		if (!serves(c, site, node) || own * of_cpus >= least * cpus)
			continue;
		least = own;
		of_cpus = cpus;
		best = node;
	}
	c->turn[site] = best + 1;
	return best;
}

/* Clients of their own: the first ones have the first site. */
static uint32_t site_of(void *arg, uint32_t client, int64_t now, int64_t *until)
{
	const struct reconf_plan *p = ((const struct cluster *)arg)->plan;
	bool calm = now < p->web.warmup_ns;
	const uint32_t *clients = calm ? p->calm : p->busy;

	*until = calm ? p->web.warmup_ns : INT64_MAX;
	for (uint32_t s = 0; s < p->web.sites; s++) {
		if (client < clients[s])
			return s;
		client -= clients[s];
	}
	return WEB_NO_SITE;
}

/* --- hosts ------------------------------------------------------------------------ */

static uint16_t first_host(const struct cluster *c)
{
	return (uint16_t)(c->plan->web.nodes + 1);
}

static struct reconf_balancer *balancer_of(struct cluster *c, uint16_t host)
{
	return host < first_host(c) ? NULL : &c->balancer[host - first_host(c)];
}

static void step(void *arg, uint16_t host, const struct step_event *ev, struct mono now,
		 struct step_out *out)
{
	struct reconf_balancer *b = balancer_of(arg, host);

	if (b)
		reconf_balancer_step(b, ev, now, out);
}

static struct mono due(void *arg, uint16_t host)
{
	struct reconf_balancer *b = balancer_of(arg, host);

	return b ? reconf_balancer_due(b) : (struct mono){ INT64_MAX };
}

static void begin(void *arg, struct web *w)
{
	struct cluster *c = arg;

	if (c->words)
		words_begin(c->words, w);
}

static void timer(void *arg, struct web *w, uint32_t what, uint32_t of, int64_t now)
{
	struct cluster *c = arg;

	(void)w;
	words_timer(c->words, what, of, now);
}

/* At each sample the host also keeps the node's word (move.h), on a disk that takes no time. */
static void sampled(void *arg, uint32_t node, const struct load_record *r)
{
	struct cluster *c = arg;
	uint64_t *words = words_of(c->words, (uint16_t)(node + 1));

	words[region_kept_offset(0) / 8] = words[region_node_offset(0) / 8];
	memcpy(words_load_of(c->words, (uint16_t)(node + 1)), r, sizeof(*r));
}

/* Which site each node has, by its word. */
static void count_nodes(struct cluster *c, int64_t now)
{
	struct reconf_run *r = c->run;
	uint8_t *has = r->has[r->intervals];

	for (uint32_t i = 0; i < c->plan->web.nodes; i++) {
		const uint64_t *words = words_of(c->words, (uint16_t)(i + 1));
		uint32_t site = region_word_id(words[region_node_offset(0) / 8]) - 1u;

		if (site < c->plan->web.sites)
			has[site]++;
	}
	for (uint32_t s = 0; s < c->plan->web.sites; s++) {
		if (has[s] != r->nodes[s])
			r->changed_ns = now - c->plan->web.warmup_ns;
		r->nodes[s] = has[s];
	}
}

static void interval(void *arg, const uint64_t *part, int64_t now)
{
	struct cluster *c = arg;
	struct reconf_run *r = c->run;

	if (r->intervals == RECONF_SERIES_MAX)
		return;
	for (uint32_t i = 0; i < c->plan->web.nodes; i++)
		r->busy[r->intervals] = (uint8_t)(r->busy[r->intervals] + (part[i] >= 900));
	if (c->words)
		count_nodes(c, now);
	r->intervals++;
}

/* The node serves this site from the beginning. */
static int assign(struct cluster *c, uint32_t node, uint32_t site)
{
	uint64_t words[REGION_NODES_MAX] = { region_word((uint16_t)(site + 1),
							 region_seq(GENERATION, 1)) };

	return region_words(words_of(c->words, (uint16_t)(node + 1)), GENERATION, words);
}

/* Hosts of nodes, then those of balancers. Each node's word says what the plan does. */
static int open_words(struct cluster *c)
{
	const struct reconf_plan *p = c->plan;
	const struct words_conf conf = { .hosts = p->web.nodes + p->web.sites,
					 .load_bytes = LOAD_BYTES,
					 .there_ns = p->there_ns,
					 .back_ns = p->back_ns,
					 .arg = c,
					 .step = step,
					 .due = due };
	int rc = words_open(&c->words, &conf);

	for (uint16_t h = 1; !rc && h <= conf.hosts; h++)
		rc = region_words(words_of(c->words, h), GENERATION, NULL);
	for (uint32_t s = 0; !rc && s < p->web.sites; s++)
		for (uint32_t k = 0; !rc && k < p->share[s]; k++)
			rc = assign(c, c->first[s] + k, s);
	return rc;
}

/* Balancers scan at times of their own, so that they do not go in step. */
static int open_balancers(struct cluster *c)
{
	const struct reconf_plan *p = c->plan;
	uint64_t random = p->web.seed ^ 0x7265636f6e66;
	uint32_t capacity[RECONF_NODES_MAX];

	for (uint32_t i = 0; i < p->web.nodes; i++)
		capacity[i] = cpus_of(p, i) * 1000 / p->web.cpus;
	c->balancer = calloc(p->web.sites, sizeof(*c->balancer));
	if (!c->balancer)
		return -ENOMEM;
	for (uint32_t s = 0; s < p->web.sites; s++) {
		const struct reconf_balancer_conf conf = {
			.rules = &p->rules,
			.service = s,
			.nodes = p->web.nodes,
			.services = p->web.sites,
			.share = p->share,
			.capacity = capacity,
			.host = (uint16_t)(first_host(c) + s),
			.first = first_host(c),
			.begin_ns = (int64_t)(random_next(&random) % (uint64_t)p->rules.scan_ns),
			.seed = random_next(&random),
		};

		reconf_balancer_init(&c->balancer[s], &conf);
	}
	return 0;
}

/* --- the run ---------------------------------------------------------------------- */

static bool valid_service(const struct reconf_plan *p, uint32_t i)
{
	const struct reconf_service *s = &p->rules.service[i];
	uint32_t maximum = s->maximum ? s->maximum : p->web.nodes;

	return s->minimum && s->minimum <= p->share[i] && s->minimum <= maximum &&
	       s->guarantee <= maximum && s->priority <= DECIDE_PRIORITY_MAX;
}

/* Clients of their own: they are there, and without bursts. */
static bool valid_clients(const struct reconf_plan *p)
{
	uint32_t calm = 0, busy = 0;

	for (uint32_t i = 0; i < p->web.sites; i++) {
		calm += p->calm[i];
		busy += p->busy[i];
	}
	return p->web.site_burst ? !busy : busy && calm <= p->web.clients && busy <= p->web.clients;
}

static bool valid_nodes(const struct reconf_plan *p)
{
	uint32_t node = 0;

	for (uint32_t s = 0; s < p->web.sites; s++)
		for (uint32_t k = 0; k < p->share[s] && node < p->web.nodes; k++, node++)
			if (p->rules.may[node] && !(p->rules.may[node] >> s & 1))
				return false;
	return node == p->web.nodes;
}

static bool valid(const struct reconf_plan *p)
{
	uint32_t sum = 0;

	if (!p->web.sites || p->web.sites > WEB_SITES_MAX || p->web.nodes > RECONF_NODES_MAX ||
	    !p->web.cpus)
		return false;
	for (uint32_t i = 0; i < p->web.sites; i++) {
		if (!valid_service(p, i))
			return false;
		sum += p->share[i];
	}
	return sum == p->web.nodes && valid_nodes(p) && valid_clients(p) && p->over &&
	       p->over <= sum && p->rules.scan_ns > p->there_ns + p->back_ns &&
	       p->rules.low < p->rules.high && p->rules.decide.budget && p->tick_ns > 0;
}

void reconf_moves_add(struct reconf_moves *sum, const struct reconf_moves *m)
{
	sum->asked += m->asked;
	sum->moved += m->moved;
	sum->home += m->home;
	for (int i = 0; i < RECONF_RESULTS; i++)
		sum->result[i] += m->result[i];
	for (int i = 0; i < DECIDE_WHYS; i++)
		sum->why[i] += m->why[i];
	for (int i = 0; i <= STEP_FAA; i++) {
		sum->ops[i] += m->ops[i];
		if (m->ops_most[i] > sum->ops_most[i])
			sum->ops_most[i] = m->ops_most[i];
	}
	sum->swept += m->swept;
	sum->again += m->again;
}

static void finish(struct cluster *c)
{
	struct reconf_run *r = c->run;

	r->tps = r->web.tps;
	if (c->to_ns > c->from_ns && !c->plan->web.bursts_apart)
		r->tps = (uint64_t)((unsigned __int128)(c->to_asked - c->from_asked) * 1000 *
				    NS_PER_S / (uint64_t)(c->to_ns - c->from_ns));
	for (uint32_t s = 0; c->balancer && s < c->plan->web.sites; s++) {
		reconf_moves_add(&r->moves, &c->balancer[s].moves);
		r->scan_reads += c->balancer[s].scan_reads;
		r->foreseen[s] = c->balancer[s].foreseen;
	}
}

int reconf_run(const struct reconf_plan *p, enum reconf_mode mode, struct reconf_run *r)
{
	struct cluster c = { .plan = p, .mode = mode, .run = r };
	struct web_ops ops = { .arg = &c, .choose = choose, .interval = interval };
	struct web_conf web = p->web;
	int rc = valid(p) ? 0 : -EINVAL;

	if (rc)
		return rc;
	memset(r, 0, sizeof(*r));
	for (uint32_t s = 1; s < web.sites; s++)
		c.first[s] = c.first[s - 1] + p->share[s - 1];
	memcpy(r->nodes, p->share, sizeof(r->nodes));
	if (!web.site_burst)
		ops.site = site_of;
	if (mode == RECONF_MOVES) {
		rc = open_words(&c);
		if (!rc)
			rc = open_balancers(&c);
		web.sample_ns[LOAD_KLM] = p->tick_ns;
		ops.begin = begin;
		ops.timer = timer;
		ops.sampled = sampled;
	}
	if (!rc)
		rc = web_run(&web, &ops, &r->web);
	if (!rc && c.words)
		rc = words_error(c.words);
	if (!rc)
		finish(&c);
	words_close(c.words);
	free(c.balancer);
	return rc;
}
