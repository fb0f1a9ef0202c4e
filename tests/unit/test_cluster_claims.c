// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_claims: what a guest that is a node says of its load, beside what the hypervisor counts,
 * and which of the two other hosts see.
 */
#include <errno.h>
#include <string.h>

#include "src/shared/record.h"
#include "tests/unit/cluster_rig.h"
#include "tests/unit/unit.h"

#define GUEST                                                                                      \
	SITE_TIMES ", \"nodes\": [{\"name\": \"a\", \"number\": 3, \"host\": \"xen1\","            \
		   " \"guest\": \"guest-5\"}, {\"name\": \"h\", \"number\": 0, \"host\": "         \
		   "\"xen1\"}], \"load\": {\"period\": \"20ms\"}"

/* As the hypervisor counts, the guest has a CPU for half of the time, and waits for a quarter. */
enum { CPU = 50, WAIT = 25 };

struct rig {
	struct sites *s;
	struct guest_load_page page;
	struct load_record r; /* the agent's */
	bool claims, stands;
	int every;	 /* look, the agent samples once */
	int used, steal; /* per cent of a CPU, as the guest says */
};

static int open_rig(void **state)
{
	struct rig *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	g->s = sites_new();
	site_write(g->s, 1, "test", GUEST);
	site_write(g->s, 2, "test", GUEST);
	site_open(g->s, 1);
	site_open(g->s, 2);
	rig_create(g->s->at[1].g, 5, 0x51);
	site_settle(g->s, 1);
	g->page.magic = GUEST_LOAD_MAGIC;
	g->r = (struct load_record){
		.source = LOAD_ULM, .cpus = 1, .sampled_ns = 5, .period_ns = 20 * MS, .running = 2
	};
	g->claims = true;
	g->every = 1;
	g->used = CPU;
	g->steal = WAIT;
	*state = g;
	return 0;
}

static int close_rig(void **state)
{
	struct rig *g = *state;

	sites_free(g->s);
	free(g);
	return 0;
}

/* The agent's sample; a tenth of the time, a task waits for another. */
static void agent_samples(struct rig *g)
{
	g->r.beat++;
	g->r.sampled_ns += 20 * MS;
	g->r.busy_ns += (uint64_t)(20 * MS * g->used / 100);
	g->r.steal_ns += (uint64_t)(20 * MS * g->steal / 100);
	g->r.wait_ns += 2 * MS;
	record_write(&g->page.record, &g->r.head, REGION_LOAD, sizeof(g->r));
}

/* As the sampler of host 1 does. */
static void sampler_looks(struct rig *g)
{
	struct guests_rig *host = g->s->at[1].g;
	struct load_buffers *b = &host->ho.loads;
	struct guest_loads *l = &b->buf[b->at.back];

	l->time = g->s->now;
	l->guests = host->set->guests;
	for (uint32_t i = 0; i < l->guests; i++)
		l->guest[i] = (struct guest_load){
			.key = host->set->guest[i].key,
			.vcpus = 1,
			.cpu_ns = (uint64_t)g->s->now.ns * CPU / 100,
			.runnable_ns = (uint64_t)g->s->now.ns * (CPU + WAIT) / 100,
			.claims = g->claims,
			.page = g->page,
		};
	spsc_latest_put(&b->at);
}

static void pass(struct rig *g, int64_t ns)
{
	for (; ns > 0; ns -= MS) {
		if (g->s->now.ns % (20 * MS) == 0) {
			if (!g->stands && g->s->now.ns / (20 * MS) % g->every == 0)
				agent_samples(g);
			sampler_looks(g);
		}
		sites_ms(g->s);
	}
}

static struct cluster_node_seen seen(struct rig *g, int host)
{
	struct cluster_node_seen x;

	cluster_node_see(g->s->at[host].c, 0, g->s->now, &x);
	return x;
}

static const struct cluster_sources *sources(struct rig *g)
{
	return cluster_sources_see(g->s->at[1].c, 0);
}

static void is_hv(struct rig *g, uint32_t flags)
{
	for (int n = 1; n <= 2; n++) {
		struct cluster_node_seen x = seen(g, n);

		assert_int_equal(x.state, CLUSTER_NODE_FRESH);
		assert_int_equal(x.load->source, LOAD_HV);
		assert_int_equal(x.load->flags, flags | LOAD_NO_RUNNING);
		assert_int_equal(x.index, 10 * (CPU + WAIT));
		assert_int_equal(x.load->busy_ns, x.load->sampled_ns / 100 * CPU);
	}
	assert_false(sources(g)->believed);
}

static void is_agent(struct rig *g)
{
	for (int n = 1; n <= 2; n++) {
		struct cluster_node_seen x = seen(g, n);

		assert_int_equal(x.state, CLUSTER_NODE_FRESH);
		assert_string_equal(x.note, "");
		assert_int_equal(x.load->source, LOAD_ULM);
		assert_int_equal(x.load->flags, 0);
		assert_int_equal(x.load->node, 3);
		assert_int_equal(x.load->running, 2);
		assert_int_equal(x.index, 10 * (CPU + WAIT) + 100);
		/* The time is the host's. */
		assert_in_range(mono_sub(g->s->now, (struct mono){ x.load->sampled_ns }), 0,
				80 * MS);
	}
	assert_true(sources(g)->believed);
}

static uint64_t alarms(struct rig *g)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i <= REGION_HOSTS_MAX; i++)
		n += strstr(g->s->at[1].c->worker.notices.alarm[i].text, "disagrees") != NULL;
	return n;
}

/* The kernel module of the guest fills the page, or no longer does: its times are others. */
TEST_WITH(claim__of_another_source__is_proven_again_and_is_no_lie, open_rig, close_rig)
{
	struct rig *g = *state;

	pass(g, 3 * NS_PER_S);
	is_agent(g);
	for (int i = 0; i < 3; i++) {
		uint32_t source = i % 2 ? LOAD_ULM : LOAD_KLM;

		g->r.source = source;
		g->r.busy_ns = i == 0 ? 0 : g->r.busy_ns + 7 * NS_PER_S;
		g->r.steal_ns = g->r.wait_ns = 0;
		pass(g, 400 * MS);
		assert_int_equal(seen(g, 1).load->source, LOAD_HV);
		assert_false(sources(g)->believed);
		pass(g, 2 * NS_PER_S);
		assert_int_equal(seen(g, 2).load->source, source);
		assert_true(sources(g)->believed);
	}
	assert_int_equal(alarms(g), 0);
}

TEST_WITH(claim__of_an_honest_guest__is_published_after_a_second, open_rig, close_rig)
{
	struct rig *g = *state;

	pass(g, 800 * MS);
	is_hv(g, 0);
	assert_int_equal(sources(g)->agent.load.source, LOAD_ULM);
	assert_false(sources(g)->agree.known);
	pass(g, 700 * MS);
	is_agent(g);
	for (int i = 0; i < 40; i++) {
		pass(g, 250 * MS);
		is_agent(g);
	}
	assert_int_equal(sources(g)->agent.index, 10 * (CPU + WAIT) + 100);
	assert_int_equal(sources(g)->hv.index, 10 * (CPU + WAIT));
	assert_int_equal(sources(g)->agree.used_mcpu, 10 * CPU);
	assert_int_equal(sources(g)->agree.cpu_mcpu, 10 * CPU);
	assert_int_equal(alarms(g), 0);
	assert_null(cluster_sources_see(g->s->at[1].c, 1)); /* the host itself */
	assert_null(cluster_sources_see(g->s->at[2].c, 0));
}

/* As control does each turn, of a HAProxy that sends requests to node 3. */
static void haproxy_says(struct rig *g)
{
	struct requests_copies *c = &g->s->at[1].c->x->requests;

	memset(c->copy[c->at.back], 0, sizeof(c->copy[0]));
	c->copy[c->at.back][3] = (struct node_requests){ g->s->now, 2, 3000, 4 * MS };
	spsc_latest_put(&c->at);
}

static void has_requests(struct rig *g, uint32_t queued, uint64_t served, uint64_t latency_ns)
{
	const struct load_record *r = seen(g, 2).load;

	assert_int_equal(r->queued, queued);
	assert_int_equal(r->served, served);
	assert_int_equal(r->latency_ns, latency_ns);
}

TEST_WITH(claim__says_requests__only_those_of_haproxy_are_published, open_rig, close_rig)
{
	struct rig *g = *state;

	g->r.queued = 77;
	g->r.served = 777;
	g->r.latency_ns = 7777;
	pass(g, 200 * MS);
	for (int i = 0; i < 2; i++) {
		/* First the hypervisor's record is published, then the agent's. */
		assert_true(i == 0 || sources(g)->believed);
		has_requests(g, 0, 0, 0);
		haproxy_says(g);
		pass(g, 200 * MS);
		has_requests(g, 2, 3000, 4 * MS);
		assert_int_equal(sources(g)->agent.load.served, 0);
		pass(g, 3 * NS_PER_S);
	}
	is_agent(g);
}

TEST_WITH(claim__of_an_agent_that_samples_seldom__is_published_as_often, open_rig, close_rig)
{
	struct rig *g = *state;
	struct load_record *at = transport_part(g->s->at[1].c->worker.t, TRANSPORT_LOAD);

	g->every = 5;
	g->used = g->used * 5;
	g->steal = g->steal * 5;
	pass(g, 3 * NS_PER_S);
	for (int i = 0; i < 100; i++) {
		uint64_t beat = at[3].beat;

		pass(g, 100 * MS);
		assert_int_equal(at[3].source, LOAD_ULM);
		assert_int_equal(at[3].beat, beat + 5);
		assert_int_equal(at[3].sampled_ns % (100 * MS), 0);
	}
}

TEST_WITH(claim__of_a_guest_that_says_it_is_idle__is_not_believed, open_rig, close_rig)
{
	struct rig *g = *state;

	g->used = g->steal = 0;
	for (int i = 0; i < 40; i++) {
		pass(g, 250 * MS);
		is_hv(g, i < 6 ? seen(g, 1).load->flags & LOAD_DISAGREES : LOAD_DISAGREES);
	}
	assert_non_null(strstr(seen(g, 2).note, "see resex load-show a on xen1"));
	assert_int_equal(alarms(g), 1);
	assert_int_equal(sources(g)->agree.used_mcpu, 0);
	assert_int_equal(sources(g)->agree.cpu_mcpu, 10 * CPU);
	assert_int_equal(sources(g)->agree.wait_mcpu, 10 * WAIT);
	/* It says the truth from now on. */
	g->used = CPU;
	g->steal = WAIT;
	pass(g, 4 * NS_PER_S);
	is_hv(g, LOAD_DISAGREES);
	pass(g, 3 * NS_PER_S);
	is_agent(g);
	/* And again not. */
	g->used = 0;
	pass(g, 2500 * MS);
	is_hv(g, LOAD_DISAGREES);
}

/* Each is what no honest agent does; afterwards, this one is honest again. */
TEST_WITH(claim__of_a_guest_that_writes_rubbish__is_flagged_until_it_agrees, open_rig, close_rig)
{
	struct rig *g = *state;

	pass(g, 1500 * MS);
	for (int i = 0; i < 5; i++) {
		is_agent(g);
		if (i == 0)
			g->r.sampled_ns -= NS_PER_S; /* its clock */
		else if (i == 1)
			g->r.busy_ns /= 2;
		else if (i == 2)
			g->r.cpus = 2; /* it has one VCPU */
		else if (i == 3)
			g->page.magic = 7;
		else
			g->page.record.head.kind = 77;
		g->stands = i > 2;
		pass(g, 100 * MS);
		g->page.magic = GUEST_LOAD_MAGIC;
		g->r.cpus = 1;
		g->stands = false;
		pass(g, 700 * MS);
		is_hv(g, LOAD_DISAGREES);
		pass(g, 8 * NS_PER_S);
	}
	is_agent(g);
}

TEST_WITH(claim__of_a_guest_whose_agent_is_silent__is_replaced_before_it_is_stale, open_rig,
	  close_rig)
{
	struct rig *g = *state;

	pass(g, 1500 * MS);
	is_agent(g);
	g->stands = true;
	for (int i = 0; i < 1000; i++) {
		pass(g, MS);
		assert_int_equal(seen(g, 2).state, CLUSTER_NODE_FRESH);
		assert_in_range(seen(g, 2).age_ns, 0, 400 * MS); /* load.stale: 500 ms */
	}
	is_hv(g, 0);
	assert_int_equal(sources(g)->agent.load.source, LOAD_ULM); /* with its age */
	g->stands = false;
	pass(g, 700 * MS);
	is_hv(g, 0);
	pass(g, 1000 * MS);
	is_agent(g);
}

TEST_WITH(claim__without_a_page_or_half_written__is_the_hypervisors, open_rig, close_rig)
{
	struct rig *g = *state;

	pass(g, 1500 * MS);
	g->claims = false;
	pass(g, 500 * MS);
	is_hv(g, 0);
	assert_int_equal(sources(g)->agent.load.beat, 0);
	g->claims = true;
	pass(g, 800 * MS);
	is_hv(g, 0);
	pass(g, 1200 * MS);
	is_agent(g);
	/* Its writer ended between two words. */
	g->stands = true;
	g->page.record.busy_ns++;
	g->page.record.head.crc++;
	pass(g, NS_PER_S);
	is_hv(g, 0);
	assert_string_equal(sources(g)->why, "it is always half-written");
	assert_int_equal(alarms(g), 0);
}

TEST_WITH(claim__of_a_page_that_is_empty_again__is_the_hypervisors, open_rig, close_rig)
{
	struct rig *g = *state;

	pass(g, 1500 * MS);
	is_agent(g);
	g->stands = true;
	g->page.record = (struct load_record){ .beat = 0 };
	pass(g, 500 * MS);
	is_hv(g, 0);
	assert_string_equal(sources(g)->why, "nothing is written yet");
	assert_int_equal(alarms(g), 0);
}

/* A liar is not believed sooner, nor reported again, for withdrawing its page. */
TEST_WITH(claim__of_a_liar_that_withdraws_its_page__must_agree_for_as_long, open_rig, close_rig)
{
	struct rig *g = *state;

	g->used = 0;
	g->steal = 0;
	pass(g, 2500 * MS);
	is_hv(g, LOAD_DISAGREES);
	for (int i = 0; i < 3; i++) {
		g->claims = false;
		pass(g, 300 * MS);
		is_hv(g, 0); /* as of a guest that never showed one */
		g->claims = true;
		g->used = CPU;
		g->steal = WAIT;
		pass(g, 4 * NS_PER_S);
		is_hv(g, LOAD_DISAGREES);
	}
	assert_int_equal(g->s->at[1].c->worker.notices.alarm[1].again, 0);
	pass(g, 3 * NS_PER_S);
	is_agent(g);
	assert_int_equal(alarms(g), 1);
}

/* Another domain has the guest's name from now on. */
static void replace_domain(struct rig *g)
{
	struct fake_dom *d;

	rig_destroy(g->s->at[1].g, 5);
	site_settle(g->s, 1);
	pass(g, 100 * MS);
	d = rig_create(g->s->at[1].g, 8, 0x52);
	strcpy(d->name, "guest-5");
	site_settle(g->s, 1);
	g->r.beat = 0;
	g->r.busy_ns = g->r.steal_ns = g->r.wait_ns = 0;
	g->r.sampled_ns = 1;
}

TEST_WITH(claim__of_another_domain_of_the_name__begins_anew, open_rig, close_rig)
{
	struct rig *g = *state;

	pass(g, 1500 * MS);
	is_agent(g);
	replace_domain(g);
	pass(g, 800 * MS);
	is_hv(g, 0);
	pass(g, 800 * MS);
	is_agent(g);
	assert_int_equal(alarms(g), 0);
}

TEST_WITH(claim__of_another_domain_of_a_liars_name__is_no_lie, open_rig, close_rig)
{
	struct rig *g = *state;

	pass(g, 1500 * MS);
	g->page.magic = 7;
	pass(g, 800 * MS);
	is_hv(g, LOAD_DISAGREES);
	g->page.magic = GUEST_LOAD_MAGIC;
	replace_domain(g);
	pass(g, 800 * MS);
	is_hv(g, 0);
	pass(g, 800 * MS);
	is_agent(g);
}
