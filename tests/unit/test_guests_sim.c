// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guests, sampler and actor together on the simulated host, on simulated
 * time and in one thread: what is counted is what happened, FreeMarket caps
 * the bulk sender, and guests that go leave nothing mapped and nothing capped.
 */
#include <fcntl.h>

#include "src/conf/policy.h"
#include "src/core/caps.h"
#include "src/tick/actor.h"
#include "src/guests/guests_priv.h"
#include "src/load/load.h"
#include "src/tick/sampler.h"
#include "src/hv/backends.h"
#include "src/sim/sim.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

#define MS   NS_PER_MS
#define WALL 1700000000000000000

enum { SERVER, BULK, DOMS_MAX = 32 };

struct fixture {
	struct tmpdir dir;
	struct daemon_conf conf;
	struct sim_host *sim;
	struct handover ho;
	struct log log;
	struct guests *gs;
	struct hv_mem *mem;
	struct hv_sched *sched;
	struct hv_watch *watch;
	struct sampler s;
	struct actor a;
	struct mono now;
	struct mono second; /* when guests_second comes next */
};

static struct mono sim_now(void *arg)
{
	return ((struct fixture *)arg)->now;
}

static void open_handles(struct fixture *f)
{
	assert_int_equal(hv_sim.sched->open(&f->sched, f->sim), 0);
	assert_int_equal(hv_sim.sched->open(&f->s.hv, f->sim), 0);
	assert_int_equal(hv_sim.sched->open(&f->a.hv, f->sim), 0);
	assert_int_equal(hv_sim.mem->open(&f->mem, f->sim), 0);
	assert_int_equal(hv_sim.watch->open(&f->watch, f->sim), 0);
}

static void close_handles(struct fixture *f)
{
	hv_sim.watch->close(f->watch);
	hv_sim.mem->close(f->mem);
	hv_sim.sched->close(f->a.hv);
	hv_sim.sched->close(f->s.hv);
	hv_sim.sched->close(f->sched);
}

static void open_guests(struct fixture *f, struct policy_inst *pi)
{
	const struct guests_parts parts = {
		.ho = &f->ho,
		.conf = &f->conf,
		.log = &f->log,
		.hv = &hv_sim,
		.mem = f->mem,
		.sched = f->sched,
		.watch = f->watch,
	};

	assert_int_equal(guests_open(&f->gs, &parts, pi), 0);
}

static void open_sampler(struct fixture *f)
{
	struct sampler_conf c = {
		.interval_ns = MS,
		.epoch_ns = NS_PER_S,
		.link = f->conf.link,
		.links = f->conf.links,
		.ops = hv_sim.sched,
		.hv = f->s.hv,
	};
	struct guest_set *set = guests_first_set(f->gs);

	assert_non_null(set);
	clock_sim(&c.clock, f->now);
	assert_int_equal(sampler_init(&f->s, &f->ho, &c, set), 0);
	f->a = (struct actor){ .ho = &f->ho, .ops = hv_sim.sched, .hv = f->a.hv, .clock = c.clock };
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct policy_inst *pi = NULL;
	struct conf_error e = { 0 };
	struct sim_conf sc;
	char text[512];

	assert_non_null(f);
	tmp_open(&f->dir);
	snprintf(text, sizeof(text),
		 "{\"links\": [{\"name\": \"sim0\", \"rate\": \"1GiB/s\", \"profile\":"
		 " \"paper-2011\"}], \"state_dir\": \"%s\"}",
		 f->dir.path);
	assert_int_equal(settings_parse(&f->conf, "f", text, strlen(text), &e), 0);
	f->now.ns = f->second.ns = NS_PER_S;
	sim_conf_demo(&sc);
	assert_int_equal(sim_open(&f->sim, &sc, f->now), 0);
	sim_set_clock(f->sim, sim_now, f);
	log_init(&f->log, "test", LOG_LVL_INFO);
	f->log.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert_int_equal(handover_open(&f->ho), 0);
	assert_int_equal(policy_load(&pi, NULL, "freemarket", NULL, &e), 0);
	open_handles(f);
	open_guests(f, pi);
	assert_int_equal(restore_load(&f->gs->restore, f->dir.path, "sim", &e), 0);
	open_sampler(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	uint64_t calls, pages;

	guests_restore(f->gs);
	guests_close(f->gs);
	hv_sim.mem->stats(f->mem, &calls, &pages);
	assert_int_equal(pages, 0);
	close_handles(f);
	handover_close(&f->ho);
	sim_close(f->sim);
	close(f->log.fd);
	tmp_close(&f->dir);
	free(f);
	return 0;
}

/* What the three threads do in these milliseconds, one after another. */
static void run(struct fixture *f, int64_t ms)
{
	for (int64_t i = 0; i < ms; i++) {
		f->now.ns += MS;
		f->a.clock.sim_ns = f->now.ns;
		tick(&f->s, f->now);
		actor_once(&f->a);
		if (mono_sub(f->now, f->second) >= NS_PER_S) {
			f->second = f->now;
			guests_second(f->gs, f->now, WALL);
		}
		guests_work(f->gs, f->now, WALL);
	}
}

static const struct slot *slot_of(struct fixture *f, const char *name)
{
	const struct guest_entry *g = guests_find(f->gs, name);

	if (!g)
		fail_msg("there is no guest %s", name);
	return &f->s.slot[g->slot];
}

static uint32_t percent_of(struct fixture *f, uint32_t guest)
{
	struct hv_sched_params p;

	assert_int_equal(hv_sim.sched->get(f->sched, sim_domid(f->sim, guest), &p), 0);
	return cap_to_percent(p.cap);
}

static uint64_t pages(struct fixture *f)
{
	uint64_t calls, n;

	hv_sim.mem->stats(f->mem, &calls, &n);
	return n;
}

/* Domains in the list besides dom0, those that die included. */
static uint32_t doms(struct fixture *f, uint32_t *dying)
{
	struct hv_dom dom[DOMS_MAX];
	int n = hv_sim.sched->list(f->sched, dom, DOMS_MAX);

	*dying = 0;
	for (int i = 0; i < n; i++)
		*dying += !!(dom[i].flags & HV_DOM_DYING);
	return (uint32_t)n - 1;
}

/* --- counting ------------------------------------------------------------------ */

static void assert_counted(struct fixture *f, const char *name, uint32_t guest)
{
	const struct usage total = slot_total(slot_of(f, name)), *u = &total;
	struct sim_truth t;

	assert_int_equal(sim_truth(f->sim, guest, &t), 0);
	assert_true(t.wrs > 1000);
	assert_int_equal(u->lost, 0);
	/* What was sent before its ring was first read is history, and so little. */
	assert_true(u->wrs <= t.wrs && u->wrs + t.wrs / 50 >= t.wrs);
	assert_true(u->mtus_sent <= t.mtus && u->mtus_sent + t.mtus / 50 >= t.mtus);
}

RIG_TEST(counted__is_what_the_guests_really_sent)
{
	struct fixture *f = *state;

	run(f, 4000);
	assert_counted(f, "server", SERVER);
	assert_counted(f, "bulk", BULK);
	assert_int_equal(resos_check(&f->s.ledger), 0);
}

RIG_TEST(counted__in_later_seconds__is_exactly_what_was_sent)
{
	struct fixture *f = *state;
	struct sim_truth before, after;
	uint64_t wrs;

	run(f, 500);
	assert_int_equal(sim_truth(f->sim, SERVER, &before), 0);
	wrs = slot_total(slot_of(f, "server")).wrs;
	run(f, 2000);
	assert_int_equal(sim_truth(f->sim, SERVER, &after), 0);
	wrs = slot_total(slot_of(f, "server")).wrs - wrs;
	/* One request more or less is on its way at either end. */
	assert_in_range(wrs, after.wrs - before.wrs - 1, after.wrs - before.wrs + 1);
}

static const struct report *report_of(struct fixture *f, const char *name)
{
	for (uint32_t i = 0; i < f->s.in.guests; i++)
		if (f->s.in.guest[i].slot == guests_find(f->gs, name)->slot)
			return &f->s.in.guest[i].report;
	fail_msg("policies do not see %s", name);
	return NULL;
}

RIG_TEST(latencies__policies_see__are_those_the_server_really_had)
{
	struct fixture *f = *state;
	struct sim_truth before, after;
	uint64_t n = 0, sum = 0, io = 0;

	run(f, 500);
	assert_int_equal(sim_truth(f->sim, SERVER, &before), 0);
	for (int ms = 0; ms < 2000; ms++) {
		const struct report *r;

		run(f, 1);
		r = report_of(f, "server");
		assert_int_equal(r->flags, 0);
		n += r->n;
		sum += r->sum_ns;
		io += r->io_sum_ns;
		assert_int_equal(report_of(f, "bulk")->n, 0);
	}
	assert_int_equal(sim_truth(f->sim, SERVER, &after), 0);
	assert_int_equal(n, after.requests - before.requests);
	assert_int_equal(sum, after.latency_sum_ns - before.latency_sum_ns);
	assert_in_range(io, n, sum - n); /* a part, and not all */
	assert_int_equal(slot_of(f, "server")->latency.lost, 0);
	assert_in_range(slot_of(f, "server")->latency.mean_ns, sum / n / 2, sum / n * 2);
}

RIG_TEST(cpu__charged__is_what_the_guest_used)
{
	struct fixture *f = *state;
	struct sim_truth t;

	run(f, 3000);
	assert_int_equal(sim_truth(f->sim, SERVER, &t), 0);
	assert_in_range(slot_total(slot_of(f, "server")).cpu_ns, t.cpu_ns - 5 * (uint64_t)MS,
			t.cpu_ns);
}

/* --- capping --------------------------------------------------------------------- */

RIG_TEST(freemarket__caps_bulk_and_never_the_server)
{
	struct fixture *f = *state;
	uint32_t lowest = 100, capped_ms = 0;

	for (int i = 0; i < 4000; i++) {
		uint32_t p;

		run(f, 1);
		p = percent_of(f, BULK);
		capped_ms += p > 0;
		if (p && p < lowest)
			lowest = p;
		assert_int_equal(percent_of(f, SERVER), 0);
	}
	assert_true(lowest < 90);
	assert_in_range(capped_ms, 100, 3000); /* late in each epoch, not all of it */
	assert_int_equal(slot_of(f, "server")->cap_changes, 0);
}

RIG_TEST(stop__while_bulk_is_capped__it_is_not_any_more)
{
	struct fixture *f = *state;
	int ms = 0;

	while (!percent_of(f, BULK) && ms++ < 3000)
		run(f, 1);
	assert_true(percent_of(f, BULK) > 0);
	assert_true(tmp_exists(&f->dir, "caps.json"));
	assert_int_equal(guests_restore(f->gs), 0);
	assert_int_equal(percent_of(f, BULK), 0);
	assert_int_equal(f->gs->restore.entries, 0);
	assert_int_equal(f->gs->restore.gones, 1); /* an image may have that cap */
}

RIG_TEST(policy__null_in_mid_run__lifts_the_cap_and_keeps_the_balance)
{
	struct fixture *f = *state;
	struct policy_inst *pi = NULL;
	int64_t balance;
	int ms = 0;

	while (!percent_of(f, BULK) && ms++ < 3000)
		run(f, 1);
	balance = f->s.ledger.acc[guests_find(f->gs, "bulk")->slot].balance.m;
	assert_int_equal(policy_new(&pi, &policy_null, false), 0);
	assert_int_equal(guests_set_policy(f->gs, pi, WALL), 0);
	run(f, 5);
	assert_int_equal(percent_of(f, BULK), 0);
	assert_in_range(f->s.ledger.acc[guests_find(f->gs, "bulk")->slot].balance.m, 1, balance);
	assert_null(f->gs->policy_old);
}

/* --- loads ------------------------------------------------------------------------------ */

/* One of the guests as a node, by the figures that the sampler hands over. */
struct node {
	const char *name;
	struct load *load;
	struct load_guest figures;
	struct load_record first, newest;
	struct sim_truth began;
};

static void sample_node(struct fixture *f, struct node *n, const struct guest_loads *l)
{
	const uint32_t domid = guests_find(f->gs, n->name)->key.domid;

	for (uint32_t i = 0; i < l->guests; i++)
		if (l->guest[i].key.domid == domid)
			n->figures = (struct load_guest){ .cpu_ns = l->guest[i].cpu_ns,
							  .runnable_ns = l->guest[i].runnable_ns,
							  .vcpus = l->guest[i].vcpus,
							  .look_ns = MS };
	n->newest = (struct load_record){ .node = 1 };
	assert_int_equal(load_hv.sample(n->load, &n->newest), 0);
}

static void sample_nodes(struct fixture *f, struct node *n, int64_t ms)
{
	struct load_buffers *b = &f->ho.loads;

	for (; ms > 0; ms--) {
		run(f, 1);
		if (!spsc_latest_get(&b->at))
			continue;
		for (int i = 0; i < 2; i++)
			sample_node(f, &n[i], &b->buf[b->at.front]);
	}
}

/* FreeMarket caps the bulk sender, which then waits; its neighbour never does. */
RIG_TEST(loads__of_simulated_guests__are_what_really_happened)
{
	struct fixture *f = *state;
	struct node n[] = { { .name = "server" }, { .name = "bulk" } };
	char text[128];

	f->ho.loads.period_ns = 10 * MS;
	f->ho.loads.wanted[0] = ~0ull;
	for (int i = 0; i < 2; i++)
		assert_int_equal(load_hv.open(&n[i].load, &n[i].figures, text), 0);
	run(f, 100);
	sample_nodes(f, n, 20);
	for (uint32_t i = 0; i < 2; i++) {
		n[i].first = n[i].newest;
		assert_int_equal(sim_truth(f->sim, i, &n[i].began), 0);
	}
	sample_nodes(f, n, 5000);
	for (uint32_t i = 0; i < 2; i++) {
		struct sim_truth t;

		assert_int_equal(sim_truth(f->sim, i, &t), 0);
		assert_in_range(n[i].newest.busy_ns - n[i].first.busy_ns + 10 * MS,
				t.cpu_ns - n[i].began.cpu_ns,
				t.cpu_ns - n[i].began.cpu_ns + 20 * MS);
		assert_in_range(n[i].newest.wait_ns - n[i].first.wait_ns + 20 * MS,
				t.wait_ns - n[i].began.wait_ns,
				t.wait_ns - n[i].began.wait_ns + 40 * MS);
		load_hv.close(n[i].load);
	}
	assert_int_equal(n[SERVER].newest.wait_ns, 0);
	assert_in_range(n[BULK].newest.wait_ns, NS_PER_S / 2, 5 * NS_PER_S);
}

/* --- going and coming ---------------------------------------------------------------- */

RIG_TEST(guest__destroyed__is_unmapped_and_no_zombie_is_left)
{
	struct fixture *f = *state;
	uint64_t both;
	uint32_t dying;

	run(f, 1500);
	both = pages(f);
	assert_int_equal(sim_destroy(f->sim, BULK), 0);
	doms(f, &dying);
	assert_int_equal(dying, 1); /* our mapping keeps it */
	run(f, 10);
	assert_int_equal(doms(f, &dying), 1);
	assert_int_equal(dying, 0);
	assert_true(pages(f) < both && pages(f) > 0);
	assert_null(guests_find(f->gs, "bulk"));
	assert_int_equal(resos_check(&f->s.ledger), 0);
	assert_int_equal(sim_destroy(f->sim, SERVER), 0);
	run(f, 10);
	assert_int_equal(pages(f), 0);
	assert_int_equal(f->gs->restore.entries, 0);
}

RIG_TEST(guest__rebooted_again_and_again__is_a_new_one_each_time)
{
	struct fixture *f = *state;
	uint32_t dying;
	uint64_t both;

	run(f, 300);
	both = pages(f);
	for (int i = 0; i < 20; i++) {
		uint64_t created = guests_find(f->gs, "bulk")->key.created;

		assert_int_equal(sim_reboot(f->sim, BULK), 0);
		run(f, 150);
		assert_true(guests_find(f->gs, "bulk")->key.created > created);
		assert_true(slot_of(f, "bulk")->guest->scan->rings > 0);
		assert_true(slot_total(slot_of(f, "bulk")).mtus_sent > 0);
		assert_int_equal(pages(f), both);
		assert_int_equal(doms(f, &dying), 2);
		assert_int_equal(dying, 0);
		assert_int_equal(resos_check(&f->s.ledger), 0);
	}
}
