// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sim: what the whole host may be given besides traffic: guests that come
 * later, an operator's own caps, and the ablations blind and swap, all seen
 * through hv.h as the daemon sees them.
 */
#include <errno.h>
#include <string.h>

#include "resex/guest_abi.h"
#include "src/hv/hv.h"
#include "src/hv/backends.h"
#include "tests/unit/sim_rig.h"
#include "tests/unit/unit.h"

struct fixture {
	struct sim_host *sim;
	struct hv_mem *mem;
	struct hv_sched *sched;
	struct hv_watch *watch;
};

static void open_with(struct fixture *f, const struct sim_conf *c)
{
	memset(f, 0, sizeof(*f));
	f->sim = host_open(c);
	assert_int_equal(hv_sim.mem->open(&f->mem, f->sim), 0);
	assert_int_equal(hv_sim.sched->open(&f->sched, f->sim), 0);
	assert_int_equal(hv_sim.watch->open(&f->watch, f->sim), 0);
}

static void close_all(struct fixture *f)
{
	hv_sim.watch->close(f->watch);
	hv_sim.sched->close(f->sched);
	hv_sim.mem->close(f->mem);
	sim_close(f->sim);
}

static int doms(struct fixture *f, struct hv_dom *dom, size_t max)
{
	return hv_sim.sched->list(f->sched, dom, max);
}

/* The frame a guest's node names. */
static uint64_t node_frame(struct fixture *f, uint32_t guest)
{
	char node[GUEST_ABI_NODE_MAX];

	assert_true(hv_sim.watch->read(f->watch, sim_domid(f->sim, guest), node, sizeof(node)) > 0);
	assert_memory_equal(node, "2 frame ", 8);
	return strtoull(node + 8, NULL, 10);
}

static const volatile void *map_one(struct fixture *f, uint32_t guest, uint64_t frame)
{
	const volatile void *addr = NULL;

	assert_int_equal(hv_sim.mem->map(f->mem, sim_domid(f->sim, guest), 1, &frame, &addr, NULL),
			 0);
	return addr;
}

static const volatile struct guest_registry *registry(struct fixture *f, uint32_t guest)
{
	const volatile struct guest_registry *r = map_one(f, guest, node_frame(f, guest));

	assert_int_equal(r->magic, GUEST_REGISTRY_MAGIC);
	return r;
}

static uint32_t rings_shown(struct fixture *f, uint32_t guest)
{
	const volatile struct guest_registry *r = registry(f, guest);
	const volatile struct guest_directory *d = map_one(f, guest, r->directory[0].ref);
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->rings; i++)
		n += d->ring[i].kind != GUEST_RING_FREE;
	return n;
}

/* --- guests that come later --- */

TEST(guest__that_comes_later__is_made_when_asked_for)
{
	struct hv_dom dom[4];
	struct sim_conf c;
	struct fixture f;
	char name[64];

	sim_conf_demo(&c);
	c.guest[SERVER].later = true;
	open_with(&f, &c);
	assert_int_equal(sim_domid(f.sim, SERVER), 0);
	assert_int_equal(doms(&f, dom, 4), 2);
	assert_int_equal(sim_destroy(f.sim, SERVER), -ENOENT);
	assert_int_equal(sim_create(f.sim, BULK), -EEXIST);
	assert_int_equal(sim_create(f.sim, 2), -ENOENT);

	run_to(f.sim, 100 * MS);
	assert_int_equal(sim_create(f.sim, SERVER), 0);
	assert_int_equal(sim_create(f.sim, SERVER), -EEXIST);
	assert_int_equal(sim_domid(f.sim, SERVER), 2);
	assert_int_equal(doms(&f, dom, 4), 3);
	assert_int_equal(hv_sim.watch->name(f.watch, 2, name, sizeof(name)), 6);
	assert_string_equal(name, "server");
	run_to(f.sim, 200 * MS);
	assert_int_equal(truth(f.sim, SERVER).cpu_ns, 100 * MS);
	close_all(&f);
}

TEST(guest__destroyed__can_be_made_again)
{
	struct sim_conf c;
	struct fixture f;

	sim_conf_demo(&c);
	open_with(&f, &c);
	run_to(f.sim, 10 * MS);
	assert_int_equal(sim_destroy(f.sim, BULK), 0);
	assert_int_equal(sim_create(f.sim, BULK), 0);
	assert_int_equal(sim_domid(f.sim, BULK), 3);
	run_to(f.sim, 20 * MS);
	assert_int_equal(truth(f.sim, BULK).cpu_ns, 10 * MS);
	close_all(&f);
}

TEST(host__of_256_guests_on_8_links__runs)
{
	struct hv_dom dom[SIM_GUESTS_MAX + 6];
	struct sim_conf c;
	struct fixture f;

	sim_conf_demo(&c);
	c.links = SIM_LINKS_MAX;
	for (uint32_t i = 1; i < c.links; i++)
		c.link[i] = c.link[0];
	for (uint32_t i = 0; i < SIM_GUESTS_MAX; i++) {
		c.guest[i] = c.guest[i % 2];
		snprintf(c.guest[i].name, sizeof(c.guest[i].name), "g%u", i);
		c.guest[i].link = i / 2 % SIM_LINKS_MAX;
	}
	c.guests = SIM_GUESTS_MAX;
	open_with(&f, &c);
	run_to(f.sim, 100 * MS);
	assert_int_equal(doms(&f, dom, SIM_GUESTS_MAX + 6), SIM_GUESTS_MAX + 1);
	for (uint32_t l = 0; l < c.links; l++) {
		uint64_t sent = 0, under_way = 0;

		for (uint32_t i = 0; i < c.guests; i++) {
			if (c.guest[i].link != l)
				continue;
			sent += truth(f.sim, i).bytes;
			under_way += c.guest[i].app[0].msg_bytes;
		}
		/* What was posted is not done: at most one message each. */
		assert_in_range(sent, (1u << 30) / 10 - under_way - (1u << 20), (1u << 30) / 10);
	}
	close_all(&f);
}

/* --- an operator's own cap --- */

TEST(cap__of_the_operator__is_in_force_from_boot)
{
	struct hv_sched_params p;
	struct sim_conf c;
	struct fixture f;

	sim_conf_demo(&c);
	c.guest[BULK].cap = 30;
	open_with(&f, &c);
	assert_int_equal(hv_sim.sched->get(f.sched, sim_domid(f.sim, BULK), &p), 0);
	assert_true(cap_equal(p.cap, CAP_PERCENT(30)));
	run_to(f.sim, 2 * S);
	assert_near(truth(f.sim, BULK).cpu_ns, 600 * MS, 1 * MS);
	assert_int_equal(truth(f.sim, SERVER).cpu_ns, 2 * S);

	assert_int_equal(sim_reboot(f.sim, BULK), 0); /* and from each */
	assert_int_equal(hv_sim.sched->get(f.sched, sim_domid(f.sim, BULK), &p), 0);
	assert_true(cap_equal(p.cap, CAP_PERCENT(30)));
	run_to(f.sim, 3 * S);
	assert_near(truth(f.sim, BULK).cpu_ns, 300 * MS, 1 * MS);
	close_all(&f);
}

/* --- ablations --- */

TEST(blind__guest__shows_its_latencies_and_no_rings)
{
	struct sim_conf c;
	struct fixture f;

	sim_conf_demo(&c);
	c.guest[SERVER].blind = c.guest[BULK].blind = true;
	c.guest[BULK].app[0].qps = SIM_APP_QPS_MAX; /* of more than one directory */
	open_with(&f, &c);
	run_to(f.sim, 300 * MS);
	assert_int_equal(rings_shown(&f, SERVER), 0);
	assert_int_equal(rings_shown(&f, BULK), 0);
	assert_int_equal(registry(&f, SERVER)->latencies, 1);
	assert_true(truth(f.sim, BULK).wrs > 0);
	close_all(&f);
}

TEST(swap__shows_the_memory_of_each_as_the_others)
{
	struct sim_conf c;
	struct fixture f[2];

	sim_conf_demo(&c);
	for (int i = 0; i < 2; i++) {
		c.swap = i == 1;
		c.swapped[0] = BULK;
		c.swapped[1] = SERVER;
		open_with(&f[i], &c);
		run_to(f[i].sim, 100 * MS);
	}
	assert_int_equal(node_frame(&f[0], SERVER), node_frame(&f[1], BULK));
	assert_int_equal(node_frame(&f[0], BULK), node_frame(&f[1], SERVER));
	assert_int_equal(registry(&f[1], BULK)->latencies, 1);
	assert_int_equal(registry(&f[1], SERVER)->latencies, 0);
	close_all(&f[0]);
	close_all(&f[1]);
}

TEST(swap__does_not_swap_scheduling_nor_names)
{
	struct hv_dom dom[3];
	struct sim_conf c;
	struct fixture f;
	char name[64];

	sim_conf_demo(&c);
	c.swap = true;
	c.swapped[0] = SERVER;
	c.swapped[1] = BULK;
	open_with(&f, &c);
	assert_int_equal(hv_put_cap(hv_sim.sched, f.sched, sim_domid(f.sim, BULK), CAP_PERCENT(20)),
			 0);
	run_to(f.sim, 1 * S);
	assert_near(truth(f.sim, BULK).cpu_ns, 200 * MS, MS);
	assert_int_equal(doms(&f, dom, 3), 3);
	assert_int_equal(dom[2].domid, sim_domid(f.sim, BULK));
	assert_near(dom[2].cpu_ns, 200 * MS, MS);
	assert_int_equal(hv_sim.watch->name(f.watch, dom[2].domid, name, sizeof(name)), 4);
	assert_string_equal(name, "bulk");
	close_all(&f);
}

TEST(swap__when_the_owner_is_gone__nothing_of_it_is_left_to_map)
{
	const volatile void *addr, *other = NULL;
	struct hv_dom dom[4];
	struct sim_conf c;
	struct fixture f;
	uint64_t frame;
	uint32_t bulk;
	char node[64];

	sim_conf_demo(&c);
	c.swap = true;
	c.swapped[0] = SERVER;
	c.swapped[1] = BULK;
	open_with(&f, &c);
	bulk = sim_domid(f.sim, BULK);
	frame = node_frame(&f, BULK);
	addr = map_one(&f, BULK, frame); /* the server's */
	assert_int_equal(hv_sim.mem->verify(f.mem, bulk, 1, &frame, addr), 0);
	assert_int_equal(hv_sim.mem->verify(f.mem, sim_domid(f.sim, SERVER), 1, &frame, addr),
			 -ESTALE);

	assert_int_equal(sim_destroy(f.sim, SERVER), 0);
	assert_int_equal(doms(&f, dom, 4), 3); /* the server dies for as long as it is mapped */
	assert_int_equal(hv_sim.mem->verify(f.mem, bulk, 1, &frame, addr), -ESRCH);
	assert_int_equal(hv_sim.mem->map(f.mem, bulk, 1, &frame, &other, NULL), -ESRCH);
	assert_int_equal(hv_sim.watch->read(f.watch, bulk, node, sizeof(node)), -ENOENT);

	assert_int_equal(sim_create(f.sim, SERVER), 0);
	assert_int_equal(hv_sim.mem->verify(f.mem, bulk, 1, &frame, addr), -ESTALE);
	assert_int_equal(doms(&f, dom, 4), 4);
	hv_sim.mem->unmap(f.mem, addr, 1);
	assert_int_equal(doms(&f, dom, 4), 3);
	close_all(&f);
}
