// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hv_sim: guests of the simulated host, seen through hv.h as the daemon sees
 * them: the list, caps, events, and memory that is mapped by frame number.
 *
 * The registry and the rings are read here by this test's own few lines, not
 * by ibmon, so that the two check each other.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "resex/guest_abi.h"
#include "src/hv/hv.h"
#include "src/hv/backends.h"
#include "src/sim/sim.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

#define MS NS_PER_MS
#define S  NS_PER_S

enum { SERVER, BULK, DOMS_MAX = 32 };

struct fixture {
	struct sim_host *sim;
	struct mono now;
	struct hv_mem *mem;
	struct hv_sched *sched;
	struct hv_watch *watch;
	struct hv_dom dom[DOMS_MAX];
};

static struct mono fixture_now(void *arg)
{
	return ((struct fixture *)arg)->now;
}

static void open_with(struct fixture *f, const struct sim_conf *c)
{
	memset(f, 0, sizeof(*f));
	assert_int_equal(sim_open(&f->sim, c, f->now), 0);
	sim_set_clock(f->sim, fixture_now, f);
	assert_int_equal(hv_sim.mem->open(&f->mem, f->sim), 0);
	assert_int_equal(hv_sim.sched->open(&f->sched, f->sim), 0);
	assert_int_equal(hv_sim.watch->open(&f->watch, f->sim), 0);
}

static void open_demo(struct fixture *f)
{
	struct sim_conf c;

	sim_conf_demo(&c);
	open_with(f, &c);
}

static void close_all(struct fixture *f)
{
	hv_sim.watch->close(f->watch);
	hv_sim.sched->close(f->sched);
	hv_sim.mem->close(f->mem);
	sim_close(f->sim);
}

/* Let time pass the way the daemon does: by asking for the list. */
static int list_at(struct fixture *f, int64_t ns)
{
	f->now.ns = ns;
	return hv_sim.sched->list(f->sched, f->dom, DOMS_MAX);
}

static const volatile void *map_pages(struct fixture *f, uint32_t domid, size_t n,
				      const uint64_t *frames)
{
	const volatile void *addr = NULL;

	assert_int_equal(hv_sim.mem->map(f->mem, domid, n, frames, &addr, NULL), 0);
	return addr;
}

static uint64_t pages_mapped(struct fixture *f)
{
	uint64_t calls, pages;

	hv_sim.mem->stats(f->mem, &calls, &pages);
	return pages;
}

static bool readable(struct fixture *f)
{
	struct pollfd p = { .fd = hv_sim.watch->fd(f->watch), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void drain(struct fixture *f)
{
	struct hv_event ev;

	while (hv_sim.watch->next(f->watch, &ev) == 1)
		;
}

/* --- registry, read the simple way --- */

struct pages {
	uint32_t domid;
	uint64_t registry_frame;
	const volatile struct guest_registry *registry;
	const volatile struct guest_directory *directory;
	const volatile struct guest_frames *frames;
};

static const volatile void *map_ref(struct fixture *f, uint32_t domid,
				    const volatile struct guest_ref *ref)
{
	uint64_t frame = ref->ref;

	assert_int_equal(ref->type, GUEST_REF_FRAME);
	return map_pages(f, domid, 1, &frame);
}

static void walk(struct fixture *f, uint32_t domid, struct pages *p)
{
	char node[GUEST_ABI_NODE_MAX], *end;

	assert_true(hv_sim.watch->read(f->watch, domid, node, sizeof(node)) > 0);
	assert_memory_equal(node, "2 frame ", 8);
	p->domid = domid;
	p->registry_frame = strtoull(node + 8, &end, 10);
	assert_int_equal(*end, '\0');
	p->registry = map_pages(f, domid, 1, &p->registry_frame);
	assert_int_equal(p->registry->magic, GUEST_REGISTRY_MAGIC);
	assert_int_equal(p->registry->version, GUEST_ABI_VERSION);
	assert_int_equal(p->registry->generation % 2, 0);
	assert_int_equal(p->registry->directories, 1);
	assert_int_equal(p->registry->frame_pages, 1);
	p->directory = map_ref(f, domid, &p->registry->directory[0]);
	assert_int_equal(p->directory->magic, GUEST_DIRECTORY_MAGIC);
	p->frames = map_ref(f, domid, &p->registry->frame_page[0]);
}

struct ring_view {
	const volatile uint8_t *base;
	uint32_t frames, slots, taken; /* taken: completions read, mod 2^32 */
	uint32_t next_psn, path_mtu;
	bool started;
	uint64_t wrs, bytes, mtus;
};

static uint32_t r32(const struct ring_view *v, uint32_t off)
{
	return *(const volatile uint32_t *)(v->base + off);
}

static void map_ring(struct fixture *f, const struct pages *p, uint32_t i, struct ring_view *v)
{
	const volatile struct guest_ring *d = &p->directory->ring[i];
	uint64_t frame[GUEST_FRAMES_PER_PAGE];
	bool in_a_row = true;

	assert_int_equal(d->kind, GUEST_RING_SQ);
	assert_int_equal(d->provider, GUEST_PROVIDER_RXE);
	assert_int_equal(d->elem_size, 256);
	assert_true(d->first_frame + d->frames <= p->registry->frames);
	for (uint32_t k = 0; k < d->frames; k++) {
		frame[k] = p->frames->frame[d->first_frame + k];
		in_a_row = in_a_row && (!k || frame[k] == frame[k - 1] + 1);
	}
	assert_true(d->frames < 3 || !in_a_row);
	*v = (struct ring_view){ .frames = d->frames, .slots = d->entries };
	v->path_mtu = d->path_mtu;
	v->base = map_pages(f, p->domid, d->frames, frame);
	assert_int_equal(r32(v, 0), 8);
	assert_int_equal(r32(v, 4), v->slots - 1);
	assert_true(384 + v->slots * 256 <= v->frames * GUEST_PAGE);
}

/* All that was completed since the last look; less than a lap. */
static void take(struct ring_view *v)
{
	uint32_t consumer = r32(v, 0x100);

	assert_true(consumer < v->slots && r32(v, 0x80) < v->slots);
	for (; (v->taken & (v->slots - 1)) != consumer; v->taken++) {
		uint32_t e = 384 + (v->taken & (v->slots - 1)) * 256;
		uint32_t bytes = r32(v, e + 184), first = r32(v, e + 164), last = r32(v, e + 168);

		assert_int_equal(r32(v, e + 176), v->taken); /* ssn */
		assert_int_equal(r32(v, e + 188), 0);	     /* resid */
		if (v->started)
			assert_int_equal(first, v->next_psn);
		v->started = true;
		v->next_psn = (last + 1) & 0xffffff;
		assert_int_equal(((last - first) & 0xffffff) + 1,
				 (bytes + v->path_mtu - 1) / v->path_mtu);
		v->wrs++;
		v->bytes += bytes;
		v->mtus += ((last - first) & 0xffffff) + 1;
	}
}

/* --- the list and caps --- */

TEST(list__has_dom0_first_and_guests_by_id)
{
	struct fixture f;

	open_demo(&f);
	assert_int_equal(list_at(&f, 100 * MS), 3);
	assert_int_equal(f.dom[0].domid, 0);
	assert_int_equal(f.dom[0].flags, HV_DOM_PRIVILEGED | HV_DOM_BLOCKED);
	for (uint32_t i = 1; i < 3; i++) {
		assert_int_equal(f.dom[i].domid, i);
		assert_int_equal(f.dom[i].flags, HV_DOM_RUNNING);
		assert_int_equal(f.dom[i].vcpus, 1);
		assert_int_equal(f.dom[i].cpu_ns, 100 * MS);
	}
	assert_memory_not_equal(f.dom[1].uuid, f.dom[2].uuid, 16);
	assert_int_equal(hv_sim.sched->list(f.sched, f.dom, 2), 2);
	close_all(&f);
}

TEST(vcpu__of_a_guest__is_what_the_list_has_of_one)
{
	struct hv_vcpu v;
	struct fixture f;

	open_demo(&f);
	list_at(&f, 100 * MS);
	assert_int_equal(hv_sim.sched->vcpu(f.sched, 2, 0, &v), 0);
	assert_true(v.online && v.running && !v.blocked);
	assert_int_equal(v.cpu_ns, f.dom[2].cpu_ns);
	assert_int_equal(hv_sim.sched->vcpu(f.sched, 2, 1, &v), -ESRCH);
	assert_int_equal(hv_sim.sched->vcpu(f.sched, 9, 0, &v), -ESRCH);
	close_all(&f);
}

/* With a cap of 25 it runs for 2.5 of each 10 ms, and else waits. */
TEST(list__of_a_capped_guest__says_when_it_runs_and_is_never_blocked)
{
	uint32_t runs = 0;
	struct fixture f;

	open_demo(&f);
	list_at(&f, MS);
	assert_int_equal(hv_put_cap(hv_sim.sched, f.sched, 2, CAP_PERCENT(25)), 0);
	for (int i = 0; i < 1000; i++) {
		list_at(&f, 1000 * MS + i * MS / 10);
		assert_int_equal(f.dom[1].flags, HV_DOM_RUNNING);
		assert_true(f.dom[2].flags == HV_DOM_RUNNING || f.dom[2].flags == 0);
		runs += f.dom[2].flags == HV_DOM_RUNNING;
	}
	assert_in_range(runs, 230, 270);
	close_all(&f);
}

TEST(cap__set__is_what_get_says)
{
	struct hv_sched_params p;
	struct fixture f;

	open_demo(&f);
	assert_int_equal(hv_sim.sched->get(f.sched, 2, &p), 0);
	assert_false(p.cap.limited);
	assert_int_equal(p.weight, 256);
	assert_int_equal(hv_put_cap(hv_sim.sched, f.sched, 2, CAP_PERCENT(25)), 0);
	assert_int_equal(hv_sim.sched->get(f.sched, 2, &p), 0);
	assert_true(cap_equal(p.cap, CAP_PERCENT(25)));
	list_at(&f, 1000 * MS);
	assert_in_range(f.dom[2].cpu_ns, 249 * MS, 251 * MS);
	assert_int_equal(hv_put_cap(hv_sim.sched, f.sched, 2, CAP_NONE), 0);
	list_at(&f, 2000 * MS);
	assert_in_range(f.dom[2].cpu_ns, 1249 * MS, 1251 * MS);
	assert_string_equal(hv_sim.sched->name(f.sched, 2), "sim");
	assert_true(hv_sim.simulated);
	assert_int_equal(hv_sim.counters, HV_COUNTERS_SIM);
	close_all(&f);
}

TEST(cap__another_one_is_in_force__is_kept_and_named)
{
	struct hv_sched_params found;
	struct fixture f;

	open_demo(&f);
	assert_int_equal(hv_put_cap(hv_sim.sched, f.sched, 2, CAP_PERCENT(40)), 0);
	assert_int_equal(
		hv_sim.sched->set_cap(f.sched, 2, CAP_PERCENT(30), CAP_PERCENT(20), &found),
		-ECANCELED);
	assert_true(cap_equal(found.cap, CAP_PERCENT(40)));
	assert_int_equal(found.weight, 256);
	assert_int_equal(hv_sim.sched->set_cap(f.sched, 2, CAP_NONE, CAP_PERCENT(20), &found),
			 -ECANCELED);
	found.cap = CAP_NONE;
	assert_int_equal(
		hv_sim.sched->set_cap(f.sched, 2, CAP_PERCENT(40), CAP_PERCENT(20), &found), 0);
	assert_true(cap_equal(found.cap, CAP_PERCENT(40)));
	assert_int_equal(hv_sim.sched->get(f.sched, 2, &found), 0);
	assert_true(cap_equal(found.cap, CAP_PERCENT(20)));
	close_all(&f);
}

TEST(cap__impossible__is_refused)
{
	struct hv_sched_params p;
	struct fixture f;

	open_demo(&f);
	assert_int_equal(hv_put_cap(hv_sim.sched, f.sched, 0, CAP_PERCENT(50)), -EPERM);
	assert_int_equal(hv_put_cap(hv_sim.sched, f.sched, 3, CAP_PERCENT(50)), -ESRCH);
	assert_int_equal(hv_put_cap(hv_sim.sched, f.sched, 2, CAP_PERCENT(101)), -EINVAL);
	assert_int_equal(hv_sim.sched->get(f.sched, 3, &p), -ESRCH);
	assert_int_equal(hv_sim.sched->get(f.sched, 0, &p), 0);
	assert_false(p.cap.limited);
	close_all(&f);
}

TEST(open__without_a_host__is_refused)
{
	struct hv_sched *s;
	struct hv_watch *w;
	struct hv_mem *m;

	assert_int_equal(hv_sim.mem->open(&m, NULL), -EINVAL);
	assert_int_equal(hv_sim.sched->open(&s, NULL), -EINVAL);
	assert_int_equal(hv_sim.watch->open(&w, NULL), -EINVAL);
}

/* --- events --- */

TEST(watch__new__tells_of_domains_once)
{
	struct hv_event ev;
	struct fixture f;

	open_demo(&f);
	assert_true(readable(&f));
	assert_int_equal(hv_sim.watch->next(f.watch, &ev), 1);
	assert_int_equal(ev.type, HV_EVENT_DOMAINS);
	assert_int_equal(hv_sim.watch->next(f.watch, &ev), 0);
	assert_false(readable(&f));
	close_all(&f);
}

TEST(watch__of_a_guest__tells_of_its_node)
{
	struct hv_event ev;
	struct fixture f;

	open_demo(&f);
	drain(&f);
	assert_int_equal(hv_sim.watch->watch(f.watch, 2), 0);
	assert_int_equal(hv_sim.watch->watch(f.watch, 1), 0);
	assert_true(readable(&f));
	hv_sim.watch->unwatch(f.watch, 1);
	assert_int_equal(hv_sim.watch->next(f.watch, &ev), 1);
	assert_int_equal(ev.type, HV_EVENT_NODE);
	assert_int_equal(ev.domid, 2);
	assert_int_equal(hv_sim.watch->next(f.watch, &ev), 0);
	assert_false(readable(&f));
	assert_int_equal(hv_sim.watch->watch(f.watch, 7), -ESRCH);
	close_all(&f);
}

TEST(watch__of_each_guest__of_the_most_there_can_be__tells_of_its_node)
{
	bool told[SIM_GUESTS_MAX + 1] = { false };
	struct hv_event ev;
	struct sim_conf c;
	struct fixture f;

	sim_conf_demo(&c);
	for (uint32_t i = 0; i < SIM_GUESTS_MAX; i++) {
		c.guest[i] = c.guest[0];
		snprintf(c.guest[i].name, sizeof(c.guest[i].name), "g%u", i);
	}
	c.guests = SIM_GUESTS_MAX;
	open_with(&f, &c);
	drain(&f);
	for (uint32_t i = 1; i <= SIM_GUESTS_MAX; i++)
		assert_int_equal(hv_sim.watch->watch(f.watch, i), 0);
	for (uint32_t i = 1; i <= SIM_GUESTS_MAX; i++) {
		assert_int_equal(hv_sim.watch->next(f.watch, &ev), 1);
		assert_int_equal(ev.type, HV_EVENT_NODE);
		assert_in_range(ev.domid, 1, SIM_GUESTS_MAX);
		assert_false(told[ev.domid]);
		told[ev.domid] = true;
	}
	close_all(&f);
}

TEST(watch__guest_destroyed_or_rebooted__tells_of_domains)
{
	struct hv_event ev;
	struct fixture f;

	open_demo(&f);
	for (int i = 0; i < 2; i++) {
		drain(&f);
		assert_int_equal(i ? sim_reboot(f.sim, SERVER) : sim_destroy(f.sim, BULK), 0);
		assert_true(readable(&f));
		assert_int_equal(hv_sim.watch->next(f.watch, &ev), 1);
		assert_int_equal(ev.type, HV_EVENT_DOMAINS);
	}
	close_all(&f);
}

TEST(name_and_node__of_guests__are_read)
{
	char buf[64];
	struct fixture f;

	open_demo(&f);
	assert_int_equal(hv_sim.watch->name(f.watch, 2, buf, sizeof(buf)), 4);
	assert_string_equal(buf, "bulk");
	assert_int_equal(hv_sim.watch->name(f.watch, 0, buf, sizeof(buf)), 8);
	assert_string_equal(buf, "Domain-0");
	assert_int_equal(hv_sim.watch->name(f.watch, 2, buf, 4), -EMSGSIZE);
	assert_int_equal(hv_sim.watch->name(f.watch, 9, buf, sizeof(buf)), -ENOENT);
	assert_int_equal(hv_sim.watch->read(f.watch, 0, buf, sizeof(buf)), -ENOENT);
	assert_int_equal(hv_sim.watch->read(f.watch, 2, buf, 5), -EMSGSIZE);
	assert_int_equal(sim_destroy(f.sim, BULK), 0);
	assert_int_equal(hv_sim.watch->read(f.watch, 2, buf, sizeof(buf)), -ENOENT);
	close_all(&f);
}

TEST(want__of_guests__is_answered_as_done)
{
	char buf[64];
	struct fixture f;

	open_demo(&f);
	assert_int_equal(hv_sim.watch->answer(f.watch, 2, buf, sizeof(buf)), -ENOENT);
	assert_int_equal(hv_sim.watch->want(f.watch, 2, "1\n77\n5000\ncheck\nn1\n-\nweb\n"), 0);
	assert_int_equal(hv_sim.watch->answer(f.watch, 2, buf, sizeof(buf)), 8);
	assert_string_equal(buf, "1\n77\n0\n\n");
	assert_int_equal(hv_sim.watch->answer(f.watch, 2, buf, 8), -EMSGSIZE);
	/* What is taken back is not answered. */
	assert_int_equal(hv_sim.watch->want(f.watch, 2, ""), 0);
	assert_int_equal(hv_sim.watch->answer(f.watch, 1, buf, sizeof(buf)), -ENOENT);
	assert_int_equal(hv_sim.watch->want(f.watch, 0, ""), -ENOENT);
	assert_int_equal(hv_sim.watch->answer(f.watch, 0, buf, sizeof(buf)), -ENOENT);
	assert_int_equal(sim_reboot(f.sim, BULK), 0);
	assert_int_equal(hv_sim.watch->answer(f.watch, 3, buf, sizeof(buf)), -ENOENT);
	assert_int_equal(hv_sim.watch->want(f.watch, 2, ""), -ENOENT);
	assert_int_equal(hv_sim.watch->answer(f.watch, 2, buf, sizeof(buf)), -ENOENT);
	close_all(&f);
}

/* --- mapping --- */

TEST(map__frames_in_any_order__gives_one_run_of_them)
{
	const volatile uint32_t *both;
	struct pages p;
	struct fixture f;

	open_demo(&f);
	walk(&f, 2, &p);
	for (int i = 0; i < 2; i++) {
		uint64_t frame[2] = { p.registry_frame, p.registry->directory[0].ref };

		if (i) {
			frame[1] = frame[0];
			frame[0] = p.registry->directory[0].ref;
		}
		both = map_pages(&f, 2, 2, frame);
		assert_int_equal(both[i ? 1024 : 0], GUEST_REGISTRY_MAGIC);
		assert_int_equal(both[i ? 0 : 1024], GUEST_DIRECTORY_MAGIC);
		assert_int_equal(hv_sim.mem->verify(f.mem, 2, 2, frame, both), 0);
		frame[0] ^= 1;
		assert_int_equal(hv_sim.mem->verify(f.mem, 2, 2, frame, both), -ESTALE);
	}
	close_all(&f);
}

TEST(map__what_is_not_the_guests__is_refused)
{
	const volatile void *addr = (const volatile void *)&state;
	uint64_t frame[3] = { 1, 2, 1u << 30 }, calls, pages;
	struct fixture f;
	size_t bad = 9;

	open_demo(&f);
	assert_int_equal(hv_sim.mem->map(f.mem, 1, 3, frame, &addr, &bad), -EINVAL);
	assert_int_equal(bad, 2);
	assert_int_equal(hv_sim.mem->map(f.mem, 1, 3, frame, &addr, NULL), -EINVAL);
	assert_int_equal(hv_sim.mem->map(f.mem, 9, 1, frame, &addr, &bad), -ESRCH);
	assert_int_equal(hv_sim.mem->map(f.mem, 0, 1, frame, &addr, &bad), -EPERM);
	assert_int_equal(hv_sim.mem->map(f.mem, 1, 0, frame, &addr, &bad), -E2BIG);
	assert_int_equal(hv_sim.mem->map(f.mem, 1, 4097, frame, &addr, &bad), -E2BIG);
	assert_int_equal(hv_sim.mem->map_grant(f.mem, 1, 8, &addr), -EINVAL);
	assert_int_equal(hv_sim.mem->map_grant(f.mem, 9, 8, &addr), -ESRCH);
	assert_ptr_equal(addr, &state);
	hv_sim.mem->stats(f.mem, &calls, &pages);
	assert_int_equal(pages, 0);
	close_all(&f);
}

TEST(mapping__is_read_only_and_gone_when_undone)
{
	const volatile void *addr;
	unsigned char in_core;
	struct fixture f;
	uint64_t frame = 1;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	open_demo(&f);
	addr = map_pages(&f, 1, 1, &frame);
	assert_int_equal(pages_mapped(&f), 1);
	/* the kernel refuses to write there, as it would kill us for it */
	assert_int_equal(read(fd, (void *)(uintptr_t)addr, 1), -1);
	assert_int_equal(errno, EFAULT);
	hv_sim.mem->unmap(f.mem, addr, 1);
	assert_int_equal(pages_mapped(&f), 0);
	assert_int_equal(mincore((void *)(uintptr_t)addr, HV_PAGE, &in_core), -1);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(hv_sim.mem->verify(f.mem, 1, 1, &frame, addr), -ESTALE);
	close_all(&f);
	close(fd);
}

TEST(guest__destroyed_while_mapped__is_dying_until_unmapped)
{
	const volatile uint32_t *page;
	struct hv_event ev;
	struct pages p;
	struct fixture f;
	uint64_t frame;

	open_demo(&f);
	walk(&f, 2, &p);
	frame = p.registry_frame;
	page = (const volatile uint32_t *)p.registry;
	assert_int_equal(sim_reboot(f.sim, BULK), 0);
	assert_int_equal(list_at(&f, MS), 4);
	assert_int_equal(f.dom[2].domid, 2);
	assert_int_equal(f.dom[2].flags, HV_DOM_DYING | HV_DOM_BLOCKED);
	assert_int_equal(f.dom[3].domid, 3);
	assert_int_equal(f.dom[3].flags, HV_DOM_RUNNING);
	assert_memory_equal(f.dom[2].uuid, f.dom[3].uuid, 16);
	assert_int_equal(page[0], GUEST_REGISTRY_MAGIC); /* still there */
	assert_int_equal(hv_sim.mem->verify(f.mem, 2, 1, &frame, page), -ESRCH);
	assert_int_equal(hv_put_cap(hv_sim.sched, f.sched, 2, CAP_PERCENT(5)), -ESRCH);

	drain(&f);
	hv_sim.mem->unmap(f.mem, p.frames, 1);
	hv_sim.mem->unmap(f.mem, p.directory, 1);
	assert_int_equal(list_at(&f, 2 * MS), 4);
	hv_sim.mem->unmap(f.mem, p.registry, 1);
	assert_int_equal(list_at(&f, 3 * MS), 3);
	assert_int_equal(f.dom[2].domid, 3);
	assert_int_equal(hv_sim.watch->next(f.watch, &ev), 1);
	close_all(&f);
}

/* --- what guests write --- */

TEST(ring__read_each_tick__holds_what_really_happened)
{
	struct ring_view v[2];
	struct fixture f;

	open_demo(&f);
	for (uint32_t g = 0; g < 2; g++) {
		struct pages p;

		list_at(&f, 1);
		walk(&f, sim_domid(f.sim, g), &p);
		map_ring(&f, &p, 0, &v[g]);
	}
	for (int64_t t = MS / 10; t <= 2 * S; t += MS / 10) {
		list_at(&f, t);
		for (uint32_t g = 0; g < 2; g++) {
			struct sim_truth truth;

			take(&v[g]);
			assert_int_equal(sim_truth(f.sim, g, &truth), 0);
			assert_int_equal(v[g].wrs, truth.wrs);
			assert_int_equal(v[g].bytes, truth.bytes);
			assert_int_equal(v[g].mtus, truth.mtus);
		}
	}
	assert_true(v[SERVER].wrs > 10 * v[SERVER].slots); /* it went round often */
	close_all(&f);
}

TEST(ring__of_a_deep_queue__shows_what_is_outstanding)
{
	struct ring_view v;
	struct sim_conf c;
	struct pages p;
	struct fixture f;
	uint32_t e;

	sim_conf_demo(&c);
	c.guest[BULK].app[0].depth = 20;
	open_with(&f, &c);
	list_at(&f, 5 * MS);
	walk(&f, 2, &p);
	map_ring(&f, &p, 0, &v);
	assert_int_equal(v.slots, 64);
	take(&v);
	assert_int_equal((r32(&v, 0x80) - r32(&v, 0x100)) & 63, 20);
	e = 384 + r32(&v, 0x100) * 256; /* the one on its way is partly sent */
	assert_int_equal(r32(&v, e + 148), 1);
	assert_in_range(r32(&v, e + 188), 1, (2 << 20) - 1);
	e += 256; /* the next one is not begun */
	assert_int_equal(r32(&v, e + 148), 0);
	assert_int_equal(r32(&v, e + 188), 2 << 20);
	close_all(&f);
}

TEST(registry__describes_rings_while_their_process_lives)
{
	uint32_t gen[3];
	struct sim_conf c;
	struct pages p;
	struct fixture f;

	sim_conf_demo(&c);
	c.guest[BULK].apps = 3;
	c.guest[BULK].app[1] = c.guest[SERVER].app[0];
	c.guest[BULK].app[1].start_ns = 10 * MS;
	c.guest[BULK].app[1].stop_ns = 30 * MS;
	c.guest[BULK].app[2].kind = SIM_APP_BURNER;
	open_with(&f, &c);
	for (int i = 0; i < 3; i++) {
		list_at(&f, 1 + i * 20 * MS);
		walk(&f, 2, &p);
		gen[i] = p.registry->generation;
		assert_int_equal(p.directory->rings, 2); /* the burner has none */
		assert_int_equal(p.directory->ring[0].kind, GUEST_RING_SQ);
		assert_int_equal(p.directory->ring[0].id, 1);
		assert_true(p.directory->ring[0].number > 0);
		assert_true(p.directory->ring[0].pid > 0);
		assert_string_equal((const char *)(uintptr_t)p.directory->ring[0].comm,
				    "sim-sender");
		assert_int_equal(p.directory->ring[1].kind,
				 i == 1 ? GUEST_RING_SQ : GUEST_RING_FREE);
		assert_int_equal(p.directory->ring[2].kind, GUEST_RING_FREE);
		assert_int_equal(p.registry->latencies, i == 1);
	}
	assert_true(gen[0] < gen[1] && gen[1] < gen[2]);
	close_all(&f);
}

TEST(ring__of_a_process_that_ended__is_shown_until_all_is_sent)
{
	struct ring_view v;
	struct sim_truth t;
	struct sim_conf c;
	struct pages p;
	struct fixture f;

	sim_conf_demo(&c);
	c.guest[BULK].app[0].depth = 20; /* 40 MiB: about 50 ms */
	c.guest[BULK].app[0].stop_ns = 100 * MS;
	open_with(&f, &c);
	list_at(&f, 1 * MS);
	walk(&f, 2, &p);
	map_ring(&f, &p, 0, &v);
	for (int64_t at = 2 * MS; at <= 130 * MS; at += MS) {
		list_at(&f, at);
		take(&v);
		assert_int_equal(p.directory->ring[0].kind, GUEST_RING_SQ);
	}
	list_at(&f, 200 * MS);
	take(&v);
	assert_int_equal(p.directory->ring[0].kind, GUEST_RING_FREE);
	assert_int_equal(r32(&v, 0x80), r32(&v, 0x100));
	assert_int_equal(sim_truth(f.sim, BULK, &t), 0);
	assert_int_equal(v.wrs, t.wrs);
	close_all(&f);
}

TEST(heartbeat__moves_once_a_second)
{
	struct pages p;
	struct fixture f;

	open_demo(&f);
	walk(&f, 1, &p);
	list_at(&f, 999 * MS);
	assert_int_equal(p.registry->heartbeat, 0);
	list_at(&f, 1000 * MS);
	assert_int_equal(p.registry->heartbeat, 1);
	list_at(&f, 5500 * MS);
	assert_int_equal(p.registry->heartbeat, 5);
	close_all(&f);
}

TEST(latency_page__holds_the_newest_requests)
{
	const volatile struct guest_latency *l;
	struct sim_app_truth t;
	struct pages p;
	struct fixture f;

	open_demo(&f);
	list_at(&f, 1 * S);
	walk(&f, 1, &p);
	assert_int_equal(p.registry->latencies, 1);
	l = map_ref(&f, 1, &p.registry->latency[0]);
	assert_int_equal(l->magic, GUEST_LATENCY_MAGIC);
	assert_int_equal(sim_app_truth(f.sim, SERVER, 0, &t), 0);
	assert_int_equal(l->written, t.latency.n);
	for (uint64_t k = l->written; k > l->written - GUEST_LATENCY_SAMPLES; k--) {
		const volatile struct guest_latency_sample *s =
			&l->sample[(k - 1) % GUEST_LATENCY_SAMPLES];
		uint32_t sum = s->ctime_ns + s->wtime_ns + s->ptime_ns;

		assert_in_range(s->ctime_ns, 146000, 148000); /* no neighbour changes that */
		assert_int_equal(s->ptime_ns, 1000);	      /* it polls and is not capped */
		assert_in_range(s->wtime_ns, 61036, 125000);
		if (k == l->written)
			assert_int_equal(sum, t.latency_last_ns);
	}
	close_all(&f);
}

/* --- three threads, as the daemon has --- */

struct actor {
	struct fixture *f;
	struct hv_sched *sched;
	uint32_t stop;
};

static void *act(void *arg)
{
	struct actor *a = (struct actor *)arg;

	for (uint32_t i = 0; !__atomic_load_n(&a->stop, __ATOMIC_ACQUIRE); i++)
		for (uint32_t g = 0; g < 2; g++) {
			int rc = hv_put_cap(hv_sim.sched, a->sched, sim_domid(a->f->sim, g),
					    CAP_PERCENT(i % 100 + 1));

			if (rc && rc != -ESRCH) /* it may be rebooting */
				return a;
			sched_yield();
		}
	return NULL;
}

static void *sample(void *arg)
{
	struct fixture *f = (struct fixture *)arg;

	for (int64_t t = 1; t <= 2000; t++) {
		int n = list_at(f, t * MS);

		if (n < 2 || f->dom[0].domid != 0)
			return f;
	}
	return NULL;
}

TEST(host__used_by_three_threads__keeps_its_books)
{
	struct fixture f;
	struct actor a = { .f = &f };
	pthread_t sampler, actor;
	void *bad;

	open_demo(&f);
	assert_int_equal(hv_sim.sched->open(&a.sched, f.sim), 0);
	assert_int_equal(pthread_create(&sampler, NULL, sample, &f), 0);
	assert_int_equal(pthread_create(&actor, NULL, act, &a), 0);
	for (uint32_t i = 0; i < 100; i++) {
		uint64_t frame[3] = { 1, 7, 5 };
		uint32_t domid = sim_domid(f.sim, i % 2);
		const volatile uint8_t *addr = map_pages(&f, domid, 3, frame);

		assert_int_equal(sim_reboot(f.sim, i % 2), 0);
		assert_int_equal(addr[0] - addr[0], 0); /* readable though it is dying */
		hv_sim.mem->unmap(f.mem, addr, 3);
		drain(&f);
	}
	pthread_join(sampler, &bad);
	assert_null(bad);
	__atomic_store_n(&a.stop, 1, __ATOMIC_RELEASE);
	pthread_join(actor, &bad);
	assert_null(bad);
	assert_int_equal(pages_mapped(&f), 0);
	assert_int_equal(list_at(&f, 3 * S), 3);
	hv_sim.sched->close(a.sched);
	close_all(&f);
}
