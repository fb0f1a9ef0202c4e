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
	/* what was read */
	uint64_t reads, read_late, overruns;
	int64_t oldest_ns, now;
	uint32_t most_running, most_own;
	struct load_record last[WEB_NODES_MAX];
};

static uint32_t choose(void *arg, const struct web *w, uint32_t frontend, int64_t now)
{
	struct rig *r = arg;

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

static void loaded(void *arg, uint32_t frontend, uint32_t node, const struct load_record *rec)
{
	struct rig *r = arg;
	int64_t gap = rec->sampled_ns - r->last[node].sampled_ns;

	assert_in_range(frontend, 0, r->c.frontends - 1);
	assert_int_equal(rec->node, node);
	assert_true(rec->flags & LOAD_SIMULATED);
	assert_true(rec->busy_ns >= r->last[node].busy_ns && gap >= 0);
	r->reads++;
	r->overruns += !!(rec->flags & LOAD_OVERRUN);
	if (gap > r->oldest_ns)
		r->oldest_ns = gap;
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
				  .alpha = 500,
				  .miss_ns = 2 * MS,
				  .hit_ns = 2 * MS,
				  .sample_ns = MS,
				  .sample_cpu_ns = 20 * US,
				  .scan_ns = 10 * MS,
				  .read_ns = 20 * US };
	r->ops = (struct web_ops){ .arg = r, .choose = choose, .loaded = loaded };
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
	a.c.source = LOAD_ULM;
	b = a;
	b.ops.arg = &b;
	run(&a);
	run(&b);
	assert_memory_equal(&a.res, &b.res, sizeof(a.res));
	assert_int_equal(a.reads, b.reads);
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
	steep.c.alpha = 900;
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

/* --- loads ------------------------------------------------------------------------ */

TEST(loads__klm_and_hv__are_as_old_as_the_tick)
{
	static const enum load_source source[] = { LOAD_KLM, LOAD_HV };

	for (int i = 0; i < 2; i++) {
		struct rig r;

		rig_open(&r);
		r.always = 1;
		r.c.source = source[i];
		run(&r);
		assert_in_range(r.reads, 4 * 3 * 399, 4 * 3 * 400);
		/* Of three front-ends, each scans in 10 ms. */
		assert_true(r.oldest_ns <= 11 * MS);
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
	r.c.source = LOAD_ULM;
	run(&r);
	assert_true(r.overruns > 0);
	assert_true(r.oldest_ns > 11 * MS);
	assert_int_equal(r.most_running, 13); /* it sees itself */
	assert_in_range(r.last[1].beat * 20, r.last[0].beat, 3 * r.last[0].beat);
}

TEST(run__what_is_out_of_range__is_refused)
{
	static const struct web_kind bad[2 + WEB_KINDS_MAX + 1] = {
		{ "no weight", 0, MS, false },
		{ "no time", 1, 0, false },
		[2 ... 2 + WEB_KINDS_MAX] = { "good", 1, MS, false },
	};
	struct rig r;

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		rig_open(&r);                                                                      \
		r.c.source = LOAD_KLM;                                                             \
		change;                                                                            \
		assert_int_equal(web_run(&r.c, &r.ops, &r.res), -EINVAL);                          \
	} while (0)
	REFUSED(r.c.nodes = 0);
	REFUSED(r.c.nodes = WEB_NODES_MAX + 1);
	REFUSED(r.c.cpus = WEB_CPUS_MAX + 1);
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
	REFUSED(r.c.source = LOAD_SOURCES);
	REFUSED(r.c.read_ns = r.c.scan_ns);
	REFUSED(r.c.kinds = 1);
	REFUSED((r.c.kind = bad, r.c.kinds = 1));
	REFUSED((r.c.kind = bad + 1, r.c.kinds = 1));
	REFUSED((r.c.kind = bad + 2, r.c.kinds = WEB_KINDS_MAX + 1));
	REFUSED(r.always = 4); /* the policy is wrong */
#undef REFUSED
}
