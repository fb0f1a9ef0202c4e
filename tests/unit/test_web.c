// SPDX-License-Identifier: GPL-2.0-or-later
/* web: the SIMULATED web cluster: requests are kept, CPUs bound what is served, loads are old. */
#include <errno.h>
#include <string.h>

#include "src/core/random.h"
#include "src/sim/web.h"
#include "tests/unit/unit.h"

#define MS NS_PER_MS
#define US INT64_C(1000)

struct rig {
	struct web_conf c;
	struct web_ops ops;
	struct web_result res;
	uint64_t random;
	uint32_t always; /* the node of all requests; WEB_NODES_MAX: any */
	/* what was sampled */
	uint64_t samples, overruns;
	int64_t longest_ns, now;
	uint32_t most_running, most_own;
	struct load_record last[WEB_NODES_MAX];
};

static uint32_t choose(void *arg, const struct web *w, uint32_t frontend, uint32_t site,
		       int64_t now)
{
	struct rig *r = arg;

	(void)site;
	r->now = now;
	if (r->c.clients) {
		uint32_t own = 0;

		for (uint32_t i = 0; i < r->c.nodes; i++)
			own += web_own(w, frontend, i, -1);
		/* Its other clients' requests; of those that were sent now, none. */
		assert_in_range(own, 0, r->c.clients / r->c.frontends - 1);
		assert_int_equal(web_own(w, frontend, 0, now), 0);
		r->most_own = own > r->most_own ? own : r->most_own;
	}
	if (r->always < WEB_NODES_MAX)
		return r->always;
	return (uint32_t)(random_next(&r->random) % r->c.nodes);
}

static void sampled(void *arg, uint32_t node, const struct load_record *rec)
{
	struct rig *r = arg;
	int64_t gap = rec->sampled_ns - r->last[node].sampled_ns;

	assert_int_equal(rec->node, node);
	assert_true(rec->flags & LOAD_SIMULATED);
	assert_true(rec->busy_ns >= r->last[node].busy_ns && gap >= 0);
	r->samples++;
	r->overruns += !!(rec->flags & LOAD_OVERRUN);
	if (gap > r->longest_ns)
		r->longest_ns = gap;
	if (rec->running > r->most_running)
		r->most_running = rec->running;
	r->last[node] = *rec;
}

/* Fixed demands of 2 ms on 4 nodes of 2 CPUs, without network but for 1 us. */
static void rig_open(struct rig *r)
{
	*r = (struct rig){ .random = 7, .always = WEB_NODES_MAX };
	r->c = (struct web_conf){ .seed = 3,
				  .nodes = 4,
				  .cpus = 2,
				  .frontends = 3,
				  .clients = 12,
				  .network_ns = US,
				  .duration_ns = 4 * NS_PER_S,
				  .interval_ns = 50 * MS,
				  .documents = 100,
				  .alpha = { 500 },
				  .miss_ns = 2 * MS,
				  .hit_ns = 2 * MS,
				  .sample_cpu_ns = 20 * US };
	r->ops = (struct web_ops){ .arg = r, .choose = choose, .sampled = sampled };
}

static void run(struct rig *r)
{
	assert_int_equal(web_run(&r->c, &r->ops, &r->res), 0);
	assert_int_equal(r->res.sent, r->res.served + r->res.refused + r->res.under_way);
	assert_true(r->res.busy_ns <= r->res.cpu_ns);
	assert_true(r->res.measured <= r->res.served && r->res.measured > 0);
}

TEST(run__closed_loop__keeps_each_request)
{
	struct rig r;

	rig_open(&r);
	r.c.spread = 1;
	r.c.think_ns = MS;
	run(&r);
	assert_int_equal(r.res.refused, 0);
	assert_in_range(r.res.under_way, 0, 12);
	assert_int_equal(r.most_own, 3);
	assert_int_equal(r.res.by_node[0] + r.res.by_node[1] + r.res.by_node[2] + r.res.by_node[3],
			 r.res.measured);
}

TEST(run__open_loop_above_what_cpus_serve__refuses_and_keeps_count)
{
	struct rig r;

	rig_open(&r);
	r.c.clients = 0;
	r.c.rate = 40000;
	r.c.burst = 5;
	run(&r);
	assert_true(r.res.refused > 0);
	assert_int_equal(r.res.under_way, WEB_JOBS_MAX);
	/* 8 CPUs, 2 ms each. */
	assert_in_range(r.res.tps, 3990 * 1000, 4000 * 1000);
}

/* One client, one request at a time: 2 ms and twice the network. */
TEST(run__one_client__waits_for_nobody)
{
	struct rig r;

	rig_open(&r);
	r.c.clients = r.c.frontends = 1;
	r.c.network_ns = 500 * US;
	run(&r);
	assert_int_equal(r.res.latency_ns, 3 * MS);
	assert_int_equal(r.res.demand_ns, 2 * MS);
	assert_in_range(r.res.tps, 333 * 1000, 334 * 1000);
}

/* All go to one node: its 2 CPUs serve 1,000 a second, and no discipline gives more. */
TEST(run__one_node__serves_what_its_cpus_can)
{
	static const int64_t slices[] = { 0, 300 * US };

	for (int i = 0; i < 2; i++) {
		struct rig r;

		rig_open(&r);
		r.always = 2;
		r.c.slice_ns = slices[i];
		run(&r);
		assert_in_range(r.res.tps, 999 * 1000, 1000 * 1000);
		assert_int_equal(r.res.by_node[2], r.res.measured);
		/* One of four nodes is busy: the variance of 1000, 0, 0, 0. */
		assert_in_range(r.res.variance, 187000, 187500);
		/* Round a slice, a request ends late; but none is served before its time. */
		assert_in_range(r.res.latency_ns, 11 * MS, 12 * MS);
	}
}

TEST(run__same_seed__same_result)
{
	struct rig a, b;

	rig_open(&a);
	a.c.spread = 1;
	a.c.sample_ns[LOAD_ULM] = MS;
	b = a;
	b.ops.arg = &b;
	run(&a);
	run(&b);
	assert_memory_equal(&a.res, &b.res, sizeof(a.res));
	assert_int_equal(a.samples, b.samples);
	b.c.seed++;
	b.random = 7;
	memset(b.last, 0, sizeof(b.last));
	run(&b);
	assert_true(a.res.sent != b.res.sent);
}

TEST(run__cache__makes_popular_documents_cheap)
{
	struct rig cold, warm, steep;

	rig_open(&cold);
	cold.c.hit_ns = 200 * US;
	warm = steep = cold;
	warm.ops.arg = &warm;
	steep.ops.arg = &steep;
	warm.c.cached = steep.c.cached = 10;
	steep.c.alpha[0] = 900;
	run(&cold);
	run(&warm);
	run(&steep);
	assert_int_equal(cold.res.demand_ns, 2 * MS);
	assert_true(warm.res.demand_ns < cold.res.demand_ns * 9 / 10);
	assert_true(steep.res.demand_ns < warm.res.demand_ns * 9 / 10);
	warm.c.cached = 100; /* all of them */
	run(&warm);
	assert_in_range(warm.res.demand_ns, 200 * US, 260 * US);
}

/* A quarter of the requests write; the mean is (3 x 1 + 5) / 4 ms. */
TEST(run__mix_of_kinds__asks_by_weight)
{
	static const struct web_kind mix[] = { { "read", 300, MS, false },
					       { "write", 100, 5 * MS, true } };
	struct rig r;

	rig_open(&r);
	r.c.kind = mix;
	r.c.kinds = 2;
	r.c.documents = 1;
	run(&r);
	assert_in_range(r.res.writes * 1000 / r.res.sent, 230, 270);
	assert_in_range(r.res.demand_ns, 1800 * US, 2200 * US);
	r.c.kinds = 1;
	run(&r);
	assert_int_equal(r.res.writes, 0);
	assert_in_range(r.res.demand_ns, 950 * US, 1050 * US);
}

TEST(run__other_processes__take_cpu_time_from_requests)
{
	struct rig free, taken;

	rig_open(&free);
	free.c.clients = 60;
	free.c.slice_ns = MS;
	taken = free;
	taken.ops.arg = &taken;
	taken.c.loaded_nodes = 4;
	taken.c.burners = 16;
	taken.c.run_ns = taken.c.sleep_ns = MS;
	run(&free);
	run(&taken);
	assert_true(taken.res.tps < free.res.tps * 8 / 10);
}

/* 16 processes that would take 1.6 of 2 CPUs, but wait for requests with slices of 20 bursts. */
TEST(run__short_processes_first__take_what_they_ask_for)
{
	struct rig last, first;

	rig_open(&last);
	last.c.clients = 60;
	last.c.slice_ns = MS;
	last.c.loaded_nodes = 4;
	last.c.burners = 16;
	last.c.run_ns = 50 * US;
	last.c.sleep_ns = 450 * US;
	first = last;
	first.ops.arg = &first;
	first.c.wake_first = true;
	run(&last);
	run(&first);
	assert_true(last.res.tps > 2 * first.res.tps);
	assert_true(first.res.tps > 0);
}

/* --- loads ------------------------------------------------------------------------ */

TEST(loads__klm_and_hv__are_as_old_as_the_tick)
{
	static const enum load_source source[] = { LOAD_KLM, LOAD_HV };

	for (int i = 0; i < 2; i++) {
		struct rig r;

		rig_open(&r);
		r.always = 1;
		r.c.sample_ns[source[i]] = MS;
		run(&r);
		assert_int_equal(r.samples, 4 * 4000);
		assert_int_equal(r.longest_ns, MS);
		/* dom0 does not see the queue of a guest. */
		assert_int_equal(r.most_running, source[i] == LOAD_KLM ? 12 : 0);
		assert_int_equal(r.last[1].wait_ns > 0, source[i] == LOAD_KLM);
		assert_int_equal(r.last[0].busy_ns, 0);
		assert_true(r.last[1].busy_ns > 7 * NS_PER_S);
	}
}

/* The process of ULM waits behind 10 requests of 2 ms on 2 CPUs. */
TEST(loads__ulm_on_a_loaded_node__come_late)
{
	struct rig r;

	rig_open(&r);
	r.always = 1;
	r.c.sample_ns[LOAD_ULM] = MS;
	run(&r);
	assert_true(r.overruns > 0);
	assert_true(r.longest_ns > 11 * MS);
	assert_int_equal(r.most_running, 12); /* not itself */
	assert_in_range(r.last[1].beat * 20, r.last[0].beat, 3 * r.last[0].beat);
}

TEST(loads__two_sources__sample_the_same_node)
{
	struct rig one, both;

	rig_open(&one);
	one.c.sample_ns[LOAD_KLM] = MS;
	both = one;
	both.ops.arg = &both;
	both.ops.sampled = NULL;
	both.c.sample_ns[LOAD_HV] = 3 * MS;
	run(&one);
	run(&both);
	assert_int_equal(one.res.sent, both.res.sent);
	both.ops.sampled = sampled;
	run(&both);
	assert_int_equal(both.samples, one.samples + 4 * 1334);
}

/* --- timers, intervals, traces, sites --------------------------------------------- */

struct times {
	struct rig rig; /* first: choose() has it */
	uint32_t timers, intervals;
	int64_t at[4];
};

static void set_timers(void *arg, struct web *w)
{
	(void)arg;
	web_timer(w, 7 * MS, 1, 2);
	web_timer(w, 5 * MS, 3, 4);
}

static void timer(void *arg, struct web *w, uint32_t what, uint32_t of, int64_t now)
{
	struct times *t = arg;

	assert_int_equal(what + 1, of);
	assert_int_equal(now, what == 3 ? 5 * MS : what == 1 ? 7 * MS : 9 * MS);
	if (t->timers++ == 1)
		web_timer(w, 9 * MS, 8, 9);
}

static void interval(void *arg, const uint64_t *part, int64_t now)
{
	struct times *t = arg;

	assert_int_equal(now, 50 * MS * ++t->intervals);
	assert_int_equal(part[0] + part[1] + part[3], 0);
	assert_in_range(part[2], 900, 1000);
}

TEST(run__timers_and_intervals__come_at_their_time)
{
	struct times t = { .timers = 0 };

	rig_open(&t.rig);
	t.rig.ops = (struct web_ops){ .arg = &t,
				      .choose = choose,
				      .begin = set_timers,
				      .timer = timer,
				      .interval = interval };
	t.rig.always = 2;
	run(&t.rig);
	assert_int_equal(t.timers, 3);
	assert_int_equal(t.intervals, 79); /* the last one ends with the run */
}

/* Two requests that come at once wait for each other on one CPU; the third does not. */
TEST(run__trace__asks_for_what_was_recorded_and_when)
{
	static const struct web_arrival trace[] = { { 0, MS }, { 0, 3 * MS }, { 40 * MS, 5 * MS } };
	struct rig r;

	rig_open(&r);
	r.c.arrival = trace;
	r.c.arrivals = 3;
	r.c.clients = 0;
	r.c.cpus = 1;
	r.always = 0;
	run(&r);
	assert_int_equal(r.res.measured, 3);
	assert_int_equal(r.res.demand_ns, 3 * MS);
	assert_int_equal(r.res.latency_ns, (1 + 4 + 5) * MS / 3 + 2 * US);
}

TEST(run__two_sites__have_documents_of_their_own)
{
	struct rig one, two;

	rig_open(&one);
	one.c.cached = 100;
	one.c.hit_ns = 200 * US;
	two = one;
	two.ops.arg = &two;
	two.c.sites = 2;
	two.c.alpha[1] = 900;
	run(&one);
	run(&two);
	assert_int_equal(one.res.by_site[1], 0);
	assert_int_equal(two.res.by_site[0] + two.res.by_site[1], two.res.measured);
	assert_in_range(two.res.by_site[0] * 100 / two.res.measured, 40, 60);
	/* One cache for twice as many. */
	assert_true(two.res.demand_ns > one.res.demand_ns * 11 / 10);
}

/* Sites whose requests are bursts: each site has the node of its number. */
struct bursts {
	struct rig rig;
	uint32_t asked[WEB_FRONTENDS_MAX]; /* requests of each stream */
	uint32_t site_asked[WEB_SITES_MAX], most_own;
	bool not_as_said;
};

static uint32_t choose_site(void *arg, const struct web *w, uint32_t frontend, uint32_t site,
			    int64_t now)
{
	struct bursts *b = arg;
	uint32_t *asked = &b->asked[b->rig.c.bursts_apart ? frontend : 0];
	uint32_t own = web_site_own(w, site, site);

	(void)now;
	b->not_as_said |= (*asked)++ / b->rig.c.site_burst % b->rig.c.sites != site;
	/* Its node serves it alone. */
	for (uint32_t i = 0; i < b->rig.c.sites; i++)
		b->not_as_said |= i != site && web_site_own(w, site, i);
	b->most_own = own > b->most_own ? own : b->most_own;
	b->site_asked[site]++;
	return site;
}

static void run_bursts(struct bursts *b, uint32_t burst, bool apart)
{
	*b = (struct bursts){ .not_as_said = false };
	rig_open(&b->rig);
	b->rig.c.sites = 4;
	b->rig.c.site_burst = burst;
	b->rig.c.bursts_apart = apart;
	b->rig.ops = (struct web_ops){ .arg = b, .choose = choose_site };
	run(&b->rig);
	assert_false(b->not_as_said);
}

TEST(run__bursts__go_to_one_site_after_the_other)
{
	struct bursts b;
	const struct web_result *r = &b.rig.res;

	run_bursts(&b, 50, false);
	assert_int_equal(b.asked[0], r->sent);
	for (uint32_t i = 0; i < 4; i++) {
		assert_in_range(b.site_asked[i], r->sent / 4 - 50, r->sent / 4 + 50);
		assert_int_equal(r->by_site[i], r->by_node[i]);
	}
	/* All clients want the same site: one node of two CPUs serves, but for the ends. */
	assert_int_equal(b.most_own, b.rig.c.clients - 1);
	assert_in_range(r->tps, 1000 * 1000, 1250 * 1000);
}

/* 12 clients, one request a site: all 8 CPUs have work. */
TEST(run__bursts_of_one_request__load_all_sites_alike)
{
	struct bursts b;

	run_bursts(&b, 1, false);
	assert_true(b.rig.res.tps > 3600 * 1000);
}

TEST(run__bursts_apart__are_of_each_front_end)
{
	struct bursts b;

	run_bursts(&b, 50, true);
	assert_int_equal(b.asked[0] + b.asked[1] + b.asked[2], b.rig.res.sent);
	assert_true(b.asked[1] > 0 && b.asked[2] > 0);
}

/* Node 1 has one CPU, node 2 has four: 500 and 2,000 a second. */
TEST(run__nodes_of_several_sizes__serve_by_their_cpus)
{
	static const uint32_t most[] = { 1000, 500, 2000 };
	struct rig r;

	for (uint32_t i = 0; i < 3; i++) {
		rig_open(&r);
		r.c.node_cpus[1] = 1;
		r.c.node_cpus[2] = 4;
		r.c.sample_ns[LOAD_KLM] = MS;
		r.always = i;
		run(&r);
		assert_in_range(r.res.tps, (most[i] - 2) * 1000, most[i] * 1000);
		assert_int_equal(r.last[1].cpus, 1);
		assert_int_equal(r.last[2].cpus, 4);
		/* 79 intervals of 50 ms, of 9 CPUs. */
		assert_int_equal(r.res.cpu_ns, 79ull * 50 * MS * 9);
	}
}

/* Before 1 s the even clients have site 0, and the others none; then those have site 1. */
static uint32_t site_of(void *arg, uint32_t client, int64_t now, int64_t *until)
{
	(void)arg;
	*until = NS_PER_S;
	if (client % 2)
		return now < NS_PER_S ? WEB_NO_SITE : 1;
	return 0;
}

static uint32_t node_of_site(void *arg, const struct web *w, uint32_t frontend, uint32_t site,
			     int64_t now)
{
	(void)arg;
	(void)w;
	(void)frontend;
	(void)now;
	return site;
}

TEST(run__clients_with_sites_of_their_own__ask_for_no_other)
{
	struct rig r;

	rig_open(&r);
	r.c.sites = 2;
	r.ops = (struct web_ops){ .arg = &r, .choose = node_of_site, .site = site_of };
	run(&r);
	/* A node each, which serves 1,000 a second, for 4 s and for 3 s, to six clients. */
	assert_in_range(r.res.by_site[0], 3990, 4000);
	assert_in_range(r.res.by_site[1], 2990, 3000);
	assert_in_range(r.res.site_latency_ns[0], 5900 * US, 6100 * US);
	assert_in_range(r.res.site_latency_ns[1], 5900 * US, 6100 * US);
	r.c.sites = 1;
	assert_int_equal(web_run(&r.c, &r.ops, &r.res), -EINVAL); /* there is no site 1 */
}

TEST(run__what_is_out_of_range__is_refused)
{
	static const struct web_kind bad[2 + WEB_KINDS_MAX + 1] = {
		{ "no weight", 0, MS, false },
		{ "no time", 1, 0, false },
		[2 ... 2 + WEB_KINDS_MAX] = { "good", 1, MS, false },
	};
	static const struct web_arrival back[] = { { 2, 1 }, { 1, 1 }, { 3, 0 } };
	struct rig r;

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		rig_open(&r);                                                                      \
		r.c.sample_ns[LOAD_KLM] = MS;                                                      \
		change;                                                                            \
		assert_int_equal(web_run(&r.c, &r.ops, &r.res), -EINVAL);                          \
	} while (0)
	REFUSED(r.c.nodes = 0);
	REFUSED(r.c.nodes = WEB_NODES_MAX + 1);
	REFUSED(r.c.cpus = WEB_CPUS_MAX + 1);
	REFUSED(r.c.node_cpus[3] = WEB_CPUS_MAX + 1);
	REFUSED(r.c.frontends = 0);
	REFUSED(r.c.clients = WEB_CLIENTS_MAX + 1);
	REFUSED(r.c.clients = 0);
	REFUSED(r.c.documents = 0);
	REFUSED(r.c.documents = WEB_DOCUMENTS_MAX + 1);
	REFUSED(r.c.network_ns = 0);
	REFUSED(r.c.duration_ns = WEB_NS_MAX + 1);
	REFUSED(r.c.interval_ns = 0);
	REFUSED(r.c.loaded_nodes = 5);
	REFUSED(r.c.burners = 1);
	REFUSED(r.c.sample_ns[LOAD_NONE] = MS);
	REFUSED(r.c.sample_ns[LOAD_KLM] = -1);
	REFUSED((r.c.sample_ns[LOAD_ULM] = MS, r.c.sample_cpu_ns = 0));
	REFUSED(r.c.sites = WEB_SITES_MAX + 1);
	REFUSED((r.c.sites = 2, r.c.clients = 0, r.c.rate = r.c.burst = 1));
	REFUSED((r.c.site_burst = 1, r.c.clients = 0, r.c.rate = r.c.burst = 1));
	REFUSED(r.c.alpha[1] = 10001);
	REFUSED(r.c.arrivals = 1);
	REFUSED((r.c.arrival = back, r.c.arrivals = 2));
	REFUSED((r.c.arrival = back + 1, r.c.arrivals = 2));
	REFUSED(r.c.kinds = 1);
	REFUSED((r.c.kind = bad, r.c.kinds = 1));
	REFUSED((r.c.kind = bad + 1, r.c.kinds = 1));
	REFUSED((r.c.kind = bad + 2, r.c.kinds = WEB_KINDS_MAX + 1));
	REFUSED(r.always = 4); /* the policy is wrong */
#undef REFUSED
}
