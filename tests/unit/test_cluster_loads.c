// SPDX-License-Identifier: GPL-2.0-or-later
/* cluster_loads: the load of a host that is a node, as it is published and as another sees it. */
#include <errno.h>
#include <string.h>

#include "src/shared/record.h"
#include "tests/unit/cluster_rig.h"
#include "tests/unit/unit.h"

#define NODES                                                                                      \
	SITE_TIMES ", \"nodes\": [{\"name\": \"n\", \"number\": 7, \"host\": \"xen1\"}], "         \
		   "\"load\": {\"period\": \"20ms\"}"

static int finish(void **state)
{
	sites_free(*state);
	return 0;
}

/* Host 1 is a node, and host 2 does not know it. */
static int one_node(void **state)
{
	struct sites *s = sites_new();

	site_write(s, 1, "test", NODES);
	*state = s;
	return 0;
}

/* Both know it. */
static int known_node(void **state)
{
	one_node(state);
	site_write(*state, 2, "test", NODES);
	return 0;
}

TEST_WITH(load__of_the_host_that_is_a_node__is_published_each_period, one_node, finish)
{
	struct sites *s = *state;
	struct load_record *at, r;
	struct mono began;

	site_open(s, 1);
	site_open(s, 2);
	assert_null(transport_part(s->at[2].c->worker.t, TRANSPORT_LOAD));
	at = transport_part(s->at[1].c->worker.t, TRANSPORT_LOAD);
	assert_non_null(at);
	site_until(s, at[7].beat);
	began = s->now;
	assert_int_equal(region_parse_load(&at[7], 7, &r), 0);
	assert_int_equal(r.source, LOAD_ULM);
	assert_int_equal(r.period_ns, 20 * MS);
	assert_false(r.flags & LOAD_OVERRUN);
	site_until(s, at[7].beat == r.beat + 10);
	assert_in_range(mono_sub(s->now, began), 180 * MS, 220 * MS);
	assert_in_range(at[7].sampled_ns - r.sampled_ns, 180 * MS, 220 * MS);
	assert_false(at[7].flags & LOAD_OVERRUN);
	assert_int_equal(at[6].head.seq, 0);
	/* A step that came late: the sample in between is missed. */
	s->now.ns += 100 * MS;
	r = at[7];
	site_until(s, at[7].beat > r.beat);
	assert_true(at[7].flags & LOAD_OVERRUN);
	assert_int_equal(at[7].beat, r.beat + 1);
}

static int fail_sample(struct load *l, struct load_record *r)
{
	(void)l;
	(void)r;
	return -EPROTO;
}

TEST_WITH(load__that_cannot_be_sampled__is_an_alarm_and_its_beat_stops, one_node, finish)
{
	struct load_ops failing = load_proc;
	struct sites *s = *state;
	struct load_record *at;
	struct mono began;
	uint64_t beat;

	site_open(s, 1);
	at = transport_part(s->at[1].c->worker.t, TRANSPORT_LOAD);
	site_until(s, at[7].beat);
	failing.sample = fail_sample;
	s->at[1].c->worker.load_ops = &failing;
	beat = at[7].beat;
	site_until(s, site_has_event(s, 1, "alarm", "its load cannot be sampled: Protocol error"));
	began = s->now;
	site_until(s, mono_sub(s->now, began) > 500 * MS);
	assert_int_equal(at[7].beat, beat);
	assert_int_equal(rig_events(s->at[1].g, "alarm"), 1);
	s->at[1].c->worker.load_ops = &load_proc;
	site_until(s, at[7].beat > beat);
}

/* --- with the kernel module, or what a test has in its place ------------------- */

static struct {
	int rc; /* what it answers */
	int begun, ended;
	struct loadmon_fill asked;
} module;

static int module_begin(const struct loadmon_fill *f)
{
	module.asked = *f;
	module.begun++;
	return module.rc;
}

static void module_end(int handle)
{
	assert_int_equal(handle, module.rc);
	module.ended++;
}

static const struct load_filler filler = { .begin = module_begin, .end = module_end };

/* Host 1 runs beside a module that answers so. */
static struct load_record *open_beside(struct sites *s, int rc)
{
	struct worker *w;

	memset(&module, 0, sizeof(module));
	module.rc = rc;
	site_open(s, 1);
	w = &s->at[1].c->worker;
	load_fill_end(&w->fill); /* this machine may have the module */
	w->fill = (struct load_fill){ .filler = &filler,
				      .what = { .running_offset = 4 },
				      .handle = -1 };
	return transport_part(w->t, TRANSPORT_LOAD);
}

static void fill(struct load_record *at)
{
	struct load_record r = *at;

	r.node = module.asked.node;
	r.source = LOAD_KLM;
	r.beat++;
	record_write(at, &r.head, REGION_LOAD, sizeof(r));
}

TEST_WITH(load__while_the_module_fills_it__is_not_sampled_and_then_again, one_node, finish)
{
	struct sites *s = *state;
	struct load_record *at = open_beside(s, 5);
	struct mono changed;
	uint64_t beat;

	site_until(s, module.begun);
	assert_true(module.asked.record == (uintptr_t)&at[7]);
	assert_int_equal(module.asked.period_ns, 20 * MS);
	assert_int_equal(module.asked.node, 7);
	assert_int_equal(module.asked.running_offset, 4);
	for (int i = 0; i < 500; i++) {
		beat = at[7].beat;
		fill(&at[7]);
		sites_ms(s);
		assert_int_equal(at[7].beat, beat + 1);
		assert_int_equal(at[7].source, LOAD_KLM);
	}
	assert_int_equal(module.ended, 0);
	changed = s->now;
	beat = at[7].beat;
	site_until(s, at[7].source == LOAD_ULM);
	assert_in_range(mono_sub(s->now, changed), 990 * MS, 1025 * MS);
	assert_true(module.begun == 1 && module.ended == 1);
	assert_int_equal(at[7].beat, beat + 1);
	assert_false(at[7].flags & LOAD_OVERRUN);
	site_until(s, site_has_event(s, 1, "alarm", "its beat is unchanged"));
	site_until(s, at[7].beat == beat + 20);
	/* It is asked again, and nothing is sampled as soon as it fills. */
	site_until(s, module.begun == 2);
	fill(&at[7]);
	sites_ms(s);
	assert_int_equal(at[7].source, LOAD_KLM);
	site_kill(s, 1);
	assert_int_equal(module.ended, 2);
}

TEST_WITH(load__without_a_module__is_sampled_and_no_alarm, one_node, finish)
{
	struct sites *s = *state;
	struct load_record *at = open_beside(s, -ENOENT);

	site_until(s, module.begun == 3);
	assert_in_range(at[7].beat, 95, 160); /* 2 s and more of 20 ms */
	assert_int_equal(at[7].source, LOAD_ULM);
	assert_int_equal(rig_events(s->at[1].g, "alarm"), 0);
}

TEST_WITH(load__of_the_module_alone_that_is_not_there__is_an_alarm_and_no_record, one_node, finish)
{
	struct sites *s = *state;
	struct load_record *at;

	site_write(s, 1, "test",
		   SITE_TIMES
		   ", \"nodes\": [{\"name\": \"n\", \"number\": 7, \"host\": \"xen1\"}], "
		   "\"load\": {\"source\": \"klm\"}");
	at = open_beside(s, -ENOENT);
	site_until(s, site_has_event(s, 1, "alarm", "/dev/resex-load: No such file"));
	site_until(s, module.begun == 3);
	assert_int_equal(at[7].head.seq, 0);
	module.rc = 5;
	site_until(s, module.begun == 4);
	fill(&at[7]);
	assert_int_equal(at[7].source, LOAD_KLM);
	/* Its beat is unchanged, and still nothing else is published. */
	site_until(s, module.ended == 1);
	site_until(s, module.begun == 5);
	assert_int_equal(at[7].source, LOAD_KLM);
	assert_int_equal(at[7].beat, 1);
}

/* --- as another host sees it ---------------------------------------------------------- */

static struct cluster_node_seen node_at(struct sites *s, int n, uint32_t i)
{
	struct cluster_node_seen x;

	cluster_node_see(s->at[n].c, i, s->now, &x);
	return x;
}

static struct cluster_node_seen node_seen(struct sites *s, int n)
{
	return node_at(s, n, 0);
}

/* A node of 2 CPUs, which are busy for 3/4 of the time. */
static int sample_busy(struct load *l, struct load_record *r)
{
	(void)l;
	r->cpus = 2;
	r->busy_ns = (uint64_t)r->sampled_ns / 2 * 3;
	return 0;
}

TEST_WITH(node__before_and_after_it_was_read__is_unread_then_fresh, known_node, finish)
{
	static struct load_ops busy; /* until the end of the host */
	struct sites *s = *state;
	struct cluster_node_seen x;

	busy = load_proc;
	busy.sample = sample_busy;
	site_open(s, 2);
	x = node_seen(s, 2);
	assert_int_equal(x.state, CLUSTER_NODE_UNREAD);
	assert_string_equal(x.conf->name, "n");
	assert_string_equal(x.host->name, "xen1");
	assert_null(x.load);
	assert_true(x.index == -1 && x.age_ns == -1);
	assert_non_null(strstr(x.note, "xen1 was not read yet"));
	site_open(s, 1);
	s->at[1].c->worker.load_ops = &busy;
	for (int n = 2; n >= 1; n--) {
		site_until(s, node_seen(s, n).index >= 0);
		x = node_seen(s, n);
		assert_int_equal(x.state, CLUSTER_NODE_FRESH);
		assert_int_equal(x.index, 750);
		assert_int_equal(x.load->node, 7);
		assert_string_equal(x.note, "");
		s->now.ns -= NS_PER_S; /* read after the time of the call */
		assert_int_equal(node_seen(s, n).age_ns, 0);
		s->now.ns += NS_PER_S;
	}
	/* A reading each load.scan, not each scan: it is never older than that and a period. */
	for (int i = 0; i < 300; i++) {
		sites_ms(s);
		assert_in_range(node_seen(s, 2).age_ns, 0, 72 * MS);
	}
}

TEST_WITH(node__sampled_no_more__is_stale_until_it_is, known_node, finish)
{
	struct load_ops failing = load_proc;
	struct sites *s = *state;
	struct mono began;

	failing.sample = fail_sample;
	site_open(s, 1);
	site_open(s, 2);
	site_until(s, node_seen(s, 2).state == CLUSTER_NODE_FRESH);
	s->at[1].c->worker.load_ops = &failing;
	began = s->now;
	site_until(s, node_seen(s, 2).state == CLUSTER_NODE_STALE);
	assert_in_range(mono_sub(s->now, began), 400 * MS, 520 * MS); /* load.stale: 500 ms */
	assert_non_null(strstr(node_seen(s, 2).note, "xen1 no longer samples it"));
	assert_non_null(node_seen(s, 2).load);
	s->at[1].c->worker.load_ops = &load_proc;
	site_until(s, node_seen(s, 2).state == CLUSTER_NODE_FRESH);
	site_kill(s, 1);
	site_until(s, node_seen(s, 2).state == CLUSTER_NODE_STALE);
	assert_non_null(strstr(node_seen(s, 2).note, "xen1 cannot be read"));
	/* Times begin anew, and the index with them. */
	site_open(s, 1);
	site_until(s, node_seen(s, 2).state == CLUSTER_NODE_FRESH && node_seen(s, 2).index >= 0);
}

TEST_WITH(node__that_its_host_does_not_publish__is_unread, one_node, finish)
{
	struct sites *s = *state;

	site_write(s, 2, "test", NODES);
	site_write(s, 1, "test", SITE_TIMES);
	site_open(s, 1);
	site_open(s, 2);
	site_until_up(s, 2, 1, 1);
	assert_int_equal(node_seen(s, 2).state, CLUSTER_NODE_UNREAD);
	assert_non_null(strstr(node_seen(s, 2).note, "xen1 publishes no node 7 \"n\""));
	site_kill(s, 1);
	site_write(s, 1, "test",
		   SITE_TIMES
		   ", \"nodes\": [{\"name\": \"other\", \"number\": 7, \"host\": \"xen1\"}]");
	site_open(s, 1);
	site_until(s, site_sees(s, 2, 1).host->nodes == 8);
	assert_int_equal(node_seen(s, 2).state, CLUSTER_NODE_UNREAD);
	assert_non_null(strstr(node_seen(s, 2).note, "xen1 publishes no node 7 \"n\""));
}

/* --- guests ------------------------------------------------------------------------------ */

#define GUESTS                                                                                     \
	SITE_TIMES                                                                                 \
	", \"nodes\": [{\"name\": \"n\", \"number\": 7, \"host\": \"xen1\"},"                      \
	" {\"name\": \"b\", \"number\": 200, \"host\": \"xen1\", \"guest\": \"guest-6\"},"         \
	" {\"name\": \"a\", \"number\": 3, \"host\": \"xen1\", \"guest\": \"guest-5\"}],"          \
	" \"load\": {\"period\": \"20ms\"}"

enum { NODE_HOST, NODE_B, NODE_A };

static int guest_nodes(void **state)
{
	struct sites *s = sites_new();

	site_write(s, 1, "test", GUESTS);
	site_write(s, 2, "test", GUESTS);
	*state = s;
	return 0;
}

static uint32_t guest_vcpus = 1, guest_flags;

static bool is_wanted(const struct load_buffers *b, uint32_t slot)
{
	return b->wanted[slot / 64] >> (slot % 64) & 1;
}

/* As the sampler of host 1 does each 20 ms: its guests run for a half and wait for a quarter. */
static void sample_guests(struct sites *s)
{
	struct guests_rig *g = s->at[1].g;
	struct load_buffers *b = &g->ho.loads;
	struct guest_loads *l = &b->buf[b->at.back];

	assert_int_equal(b->period_ns, 20 * MS);
	l->time = s->now;
	l->guests = 0;
	for (uint32_t i = 0; i < g->set->guests; i++) {
		if (!is_wanted(b, g->set->guest[i].slot))
			continue;
		l->guest[l->guests++] = (struct guest_load){
			.key = g->set->guest[i].key,
			.vcpus = guest_vcpus,
			.flags = guest_flags,
			.cpu_ns = (uint64_t)s->now.ns / 2,
			.runnable_ns = (uint64_t)s->now.ns / 4 * 3,
		};
	}
	spsc_latest_put(&b->at);
}

static void guests_pass(struct sites *s, int64_t ns)
{
	for (; ns > 0; ns -= MS) {
		if (s->now.ns % (20 * MS) == 0)
			sample_guests(s);
		sites_ms(s);
	}
}

TEST_WITH(guests__that_are_nodes__are_published_beside_their_host, guest_nodes, finish)
{
	struct sites *s = *state;
	struct cluster_node_seen x;
	struct load_record *at;

	site_open(s, 1);
	site_open(s, 2);
	rig_create(s->at[1].g, 5, 0x51);
	site_settle(s, 1);
	guests_pass(s, 2 * NS_PER_S);
	for (int n = 1; n <= 2; n++) {
		x = node_at(s, n, NODE_A);
		assert_int_equal(x.state, CLUSTER_NODE_FRESH);
		assert_string_equal(x.note, "");
		assert_int_equal(x.load->source, LOAD_HV);
		assert_int_equal(x.load->flags, LOAD_NO_RUNNING);
		assert_int_equal(x.load->cpus, 1);
		assert_int_equal(x.load->busy_ns, x.load->sampled_ns / 2);
		assert_int_equal(x.load->sampled_ns % (20 * MS), 0);
		assert_int_equal(x.index, 750);
		assert_int_equal(node_at(s, n, NODE_HOST).load->source, LOAD_ULM);
		x = node_at(s, n, NODE_B);
		assert_int_equal(x.state, CLUSTER_NODE_UNREAD);
		assert_string_equal(x.note, "the guest guest-6 does not run on xen1");
	}
	at = transport_part(s->at[1].c->worker.t, TRANSPORT_LOAD);
	assert_in_range(at[3].beat, 85, 100);
	assert_int_equal(at[200].head.seq, 0);
	assert_int_equal(site_sees(s, 2, 1).host->nodes, 201);
	assert_int_equal(site_sees(s, 2, 1).agree, CLUSTER_AGREE_SAME);
	assert_true(site_sees(s, 2, 1).host->nodes_digest != 0);
	/* Another one comes: nothing was begun anew. */
	rig_create(s->at[1].g, 6, 0x61);
	site_settle(s, 1);
	guests_pass(s, NS_PER_S);
	assert_int_equal(node_at(s, 2, NODE_B).state, CLUSTER_NODE_FRESH);
	assert_int_equal(node_at(s, 2, NODE_B).index, 750);
	assert_in_range(at[3].beat, 135, 150);
	assert_false(at[3].flags & LOAD_OVERRUN);
	/* The sampler hangs. */
	sites_pass(s, NS_PER_S);
	x = node_at(s, 2, NODE_A);
	assert_int_equal(x.state, CLUSTER_NODE_STALE);
	assert_string_equal(x.note, "xen1 no longer samples it: see its log");
	assert_int_equal(node_at(s, 2, NODE_HOST).state, CLUSTER_NODE_FRESH);
	guests_pass(s, 200 * MS);
	assert_int_equal(node_at(s, 2, NODE_A).state, CLUSTER_NODE_FRESH);
}

/* Whether the sampler of host 1 copies the guest of that domain. */
static bool is_copied(struct sites *s, uint32_t domid)
{
	struct guests_rig *g = s->at[1].g;

	for (uint32_t i = 0; i < g->set->guests; i++)
		if (g->set->guest[i].key.domid == domid)
			return is_wanted(&g->ho.loads, g->set->guest[i].slot);
	return false;
}

TEST_WITH(guests__that_are_no_nodes__are_not_copied_by_the_sampler, guest_nodes, finish)
{
	struct sites *s = *state;

	site_open(s, 1);
	rig_create(s->at[1].g, 4, 0x41);
	rig_create(s->at[1].g, 5, 0x51);
	rig_create(s->at[1].g, 6, 0x61);
	site_settle(s, 1);
	guests_pass(s, NS_PER_S);
	assert_int_equal(s->at[1].g->set->guests, 3);
	assert_true(is_copied(s, 5) && is_copied(s, 6));
	assert_false(is_copied(s, 4));
	/* Its slot may have another guest next. */
	rig_destroy(s->at[1].g, 5);
	site_settle(s, 1);
	guests_pass(s, NS_PER_S);
	for (uint32_t i = 0; i < s->at[1].g->set->guests; i++)
		assert_int_equal(is_copied(s, s->at[1].g->set->guest[i].key.domid),
				 s->at[1].g->set->guest[i].key.domid == 6);
	assert_int_equal(__builtin_popcountll(s->at[1].g->ho.loads.wanted[0]), 1);
}

/* One VCPU runs, one waits for half of the time and runs else, one sleeps, and one is not there. */
static void vcpus_go_on(struct fake_dom *d, int64_t ms, int64_t ns)
{
	d->vcpu[0] = (struct hv_vcpu){ .online = true,
				       .running = true,
				       .cpu_ns = d->vcpu[0].cpu_ns + (uint64_t)ns };
	d->vcpu[1] =
		(struct hv_vcpu){ .online = true,
				  .running = ms % 40 < 20,
				  .cpu_ns = d->vcpu[1].cpu_ns + (ms % 40 < 20 ? (uint64_t)ns : 0) };
	d->vcpu[2] = (struct hv_vcpu){ .online = true, .blocked = true };
	d->vcpu[3] = (struct hv_vcpu){ .online = false };
}

TEST_WITH(guest__of_several_vcpus__waits_as_looks_at_each_say, guest_nodes, finish)
{
	struct sites *s = *state;
	struct load_record *at, before;
	struct fake_dom *d;

	site_open(s, 1);
	at = transport_part(s->at[1].c->worker.t, TRANSPORT_LOAD);
	d = rig_create(s->at[1].g, 5, 0x51);
	d->dom.vcpus = 4;
	site_settle(s, 1);
	guests_pass(s, 200 * MS); /* of one VCPU, say the figures */
	assert_int_equal(d->looks, 0);
	guest_vcpus = 4;
	guests_pass(s, 20 * MS);
	assert_true(at[3].flags & LOAD_NO_WAIT);
	for (int ms = 0; ms < 4000; ms++) {
		vcpus_go_on(d, ms, MS);
		guests_pass(s, MS);
		if (ms == 1000)
			before = at[3];
	}
	assert_false(at[3].flags & LOAD_NO_WAIT);
	assert_in_range(at[3].wait_ns - before.wait_ns, 1400 * MS, 1600 * MS);
	/* Each period one look at each, and one that finds no further VCPU. */
	assert_in_range(d->looks, 4 * 195, 4 * 210);
	/* Paused, it does not wait. */
	guest_flags = HV_DOM_PAUSED;
	guests_pass(s, 100 * MS);
	before = at[3];
	guests_pass(s, NS_PER_S);
	assert_int_equal(at[3].wait_ns, before.wait_ns);
	guest_vcpus = 1;
	guest_flags = 0;
}

/* For how long it waited by its record, in ms, when no look was made for half a second. */
static int64_t held_up(struct sites *s, struct fake_dom *d)
{
	struct load_record *at = transport_part(s->at[1].c->worker.t, TRANSPORT_LOAD);
	uint64_t before;

	for (int ms = 0; ms < 1000; ms++) {
		vcpus_go_on(d, ms, MS);
		guests_pass(s, MS);
	}
	before = at[3].wait_ns;
	s->now.ns += 480 * MS;
	guests_pass(s, 60 * MS);
	return (int64_t)(at[3].wait_ns - before) / MS;
}

TEST_WITH(guest__of_several_vcpus__waited_for_some_periods_when_looks_were_held_up, guest_nodes,
	  finish)
{
	struct sites *s = *state;
	struct fake_dom *d;

	site_open(s, 1);
	d = rig_create(s->at[1].g, 5, 0x51);
	d->dom.vcpus = 4;
	site_settle(s, 1);
	/* Two of them were runnable at the looks before and after it. */
	guest_vcpus = 4;
	assert_in_range(held_up(s, d), 2 * 160 - 20, 2 * (160 + 60));
	/* A round of looks at many takes long by itself. */
	guest_vcpus = 100;
	assert_in_range(held_up(s, d), 2 * 480 - 20, 2 * (480 + 60));
	guest_vcpus = 1;
}

TEST_WITH(guest__that_starts_again__has_a_new_history, guest_nodes, finish)
{
	static const struct {
		uint32_t domid;
		uint8_t uuid;
		bool gone; /* for some time, after it; else the next comes at once */
	} lives[] = {
		{ 5, 0x51, true }, { 8, 0x51, false }, { 9, 0x51, false }, { 9, 0x52, true }
	};
	struct sites *s = *state;
	struct load_record *at;

	site_open(s, 1);
	site_open(s, 2);
	at = transport_part(s->at[1].c->worker.t, TRANSPORT_LOAD);
	for (int i = 0; i < 4; i++) {
		struct fake_dom *d = rig_create(s->at[1].g, lives[i].domid, lives[i].uuid);
		uint64_t beat;

		strcpy(d->name, "guest-5");
		site_settle(s, 1);
		guests_pass(s, 2 * NS_PER_S);
		assert_in_range(at[3].beat, 85, 100); /* from 1 again */
		assert_int_equal(node_at(s, 2, NODE_A).state, CLUSTER_NODE_FRESH);
		assert_int_equal(node_at(s, 2, NODE_A).index, 750);
		rig_destroy(s->at[1].g, lives[i].domid);
		site_settle(s, 1);
		if (!lives[i].gone)
			continue;
		guests_pass(s, 40 * MS);
		beat = at[3].beat;
		guests_pass(s, NS_PER_S);
		assert_int_equal(at[3].beat, beat);
		assert_int_equal(node_at(s, 2, NODE_A).state, CLUSTER_NODE_STALE);
		assert_string_equal(node_at(s, 2, NODE_A).note,
				    "the guest guest-5 does not run on xen1");
	}
	site_kill(s, 1);
	guests_pass(s, MS);
	assert_non_null(strstr(node_at(s, 2, NODE_A).note, "xen1 cannot be read"));
}

/* Its host is no node. */
TEST_WITH(guest__of_a_simulated_host__says_so, guest_nodes, finish)
{
	struct sites *s = *state;

	site_write(s, 1, "test",
		   SITE_TIMES ", \"nodes\": [{\"name\": \"a\", \"number\": 3, \"host\": \"xen1\","
			      " \"guest\": \"guest-5\"}], \"load\": {\"period\": \"20ms\"}");
	s->at[1].g->hv.simulated = true;
	site_open(s, 1);
	rig_create(s->at[1].g, 5, 0x51);
	site_settle(s, 1);
	guests_pass(s, NS_PER_S);
	assert_int_equal(node_seen(s, 1).state, CLUSTER_NODE_FRESH);
	assert_int_equal(node_seen(s, 1).load->flags, LOAD_NO_RUNNING | LOAD_SIMULATED);
}

TEST_WITH(host__without_nodes_that_are_guests__has_no_figures_of_them, known_node, finish)
{
	struct sites *s = *state;

	site_open(s, 1);
	assert_int_equal(s->at[1].g->ho.loads.period_ns, 0);
}
