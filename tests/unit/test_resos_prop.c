// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * resos under random joins, leaves, charges of hostile sizes, rates,
 * shares, late ticks, clocks that jump, epoch edges. After every step the
 * ledger's own check and an independent model must agree.
 *
 * The model keeps every charge of a guest's life as one exact fraction in
 * 128 bits, so a milli-Reso lost or made anywhere in the run is seen.
 */
#include <errno.h>
#include <string.h>

#include "src/core/period.h"
#include "src/core/resos.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

typedef __int128 wide;

enum { STEPS = 2000, RUNS = 1000, SLOTS = 12 };

/* Beyond this the ledger may saturate, and the model only bounds it. */
#define EXACT_MAX ((wide)1 << 60)

struct model_link {
	wide pool;	 /* of one epoch, milli-Resos, rounded down */
	wide price, per; /* milli-Resos a MTU, as the fraction price / per */
};

struct model_guest {
	bool active, late;
	bool saturated; /* left the range where charges are exact */
	uint32_t link, vcpus, weight, rate;
	wide allocated;
	wide io, cpu;		    /* life-long charges, in 1/(per x 65536), 1/(10 x 65536) */
	wide io_before, cpu_before; /* whole milli-Resos charged in past epochs */
};

struct model {
	struct prop *r;
	uint64_t step;
	int64_t epoch_ns;
	uint32_t links;
	struct model_link link[FLOW_LINKS_MAX];
	struct model_guest g[FLOW_GUESTS_MAX];
	uint32_t slot[SLOTS]; /* the slots this run plays with */
	wide supply, overcommit, retired;
};

#define CHECK(m, cond) prop_assert((m)->r, (m)->step, cond)

static wide full_cpu(const struct model *m, uint32_t vcpus)
{
	return (wide)vcpus * (m->epoch_ns / 10);
}

static wide weights(const struct model *m, uint32_t link)
{
	wide sum = 0;

	for (int i = 0; i < SLOTS; i++)
		if (m->g[m->slot[i]].active && m->g[m->slot[i]].link == link)
			sum += m->g[m->slot[i]].weight;
	return sum;
}

static wide epoch_io(const struct model *m, const struct model_guest *g)
{
	return g->io / (m->link[g->link].per * 65536) - g->io_before;
}

static wide epoch_cpu(const struct model_guest *g)
{
	return g->cpu / (10 * 65536) - g->cpu_before;
}

/* One guest against its model: the split of what it was charged. */
static void check_guest(const struct model *m, const struct ledger *l, uint32_t slot)
{
	const struct model_guest *g = &m->g[slot];
	const struct account *a = &l->acc[slot];
	wide charged;

	CHECK(m, !!(a->flags & ACCOUNT_ACTIVE) == g->active);
	if (!g->active)
		return;
	CHECK(m, !!(a->flags & ACCOUNT_LATE) == g->late);
	CHECK(m, a->link == g->link);
	CHECK(m, a->rate.q16 == g->rate);
	CHECK(m, a->allocated.m == g->allocated);
	CHECK(m, a->balance.m >= 0 && a->overdraft.m >= 0 && a->spent.m >= 0);
	CHECK(m, (wide)a->balance.m + a->spent.m == g->allocated);
	CHECK(m, a->balance.m == 0 || a->overdraft.m == 0);
	charged = (wide)a->charged_io.m + a->charged_cpu.m;
	CHECK(m, charged == (wide)a->spent.m + a->overdraft.m);
	if (g->saturated)
		return;
	CHECK(m, a->charged_io.m == epoch_io(m, g));
	CHECK(m, a->charged_cpu.m == epoch_cpu(g));
}

static void check_totals(const struct model *m, const struct ledger *l)
{
	wide sum = m->retired;

	for (int i = 0; i < SLOTS; i++)
		if (m->g[m->slot[i]].active)
			sum += m->g[m->slot[i]].allocated;
	CHECK(m, l->supply.m == m->supply);
	CHECK(m, l->overcommit.m == m->overcommit);
	CHECK(m, l->retired.m == m->retired);
	CHECK(m, sum == m->supply + m->overcommit);
	CHECK(m, resos_check(l) == 0);
}

static void do_join(struct model *m, struct ledger *l, int64_t remaining)
{
	uint32_t slot = m->slot[prop_range(m->r, 0, SLOTS - 1)];
	struct model_guest *g = &m->g[slot];
	struct model_guest new = {
		.active = true,
		.late = true,
		.link = (uint32_t)prop_range(m->r, 0, m->links - 1),
		.vcpus = (uint32_t)prop_range(m->r, 1, prop_one_in(m->r, 8) ? 4096 : 4),
		.weight = (uint32_t)prop_range(m->r, 1, prop_one_in(m->r, 4) ? 65535 : 8),
		.rate = 65536,
	};
	wide exact;
	int rc = resos_join(l, slot, new.link, new.vcpus, new.weight);

	if (g->active) {
		CHECK(m, rc == -EEXIST);
		return;
	}
	CHECK(m, rc == 0);
	resos_issue(l, slot, remaining);
	exact = full_cpu(m, new.vcpus) * remaining / m->epoch_ns;
	exact += m->link[new.link].pool * new.weight *remaining /
		 ((weights(m, new.link) + new.weight) * m->epoch_ns);
	new.allocated = l->acc[slot].allocated.m;
	CHECK(m, new.allocated == exact);
	*g = new;
	m->overcommit += new.allocated;
}

static void do_leave(struct model *m, struct ledger *l)
{
	uint32_t slot = m->slot[prop_range(m->r, 0, SLOTS - 1)];
	struct model_guest *g = &m->g[slot];

	resos_leave(l, slot);
	if (g->active)
		m->retired += g->allocated;
	g->active = false;
}

static void do_charge(struct model *m, struct ledger *l, uint32_t slot)
{
	struct model_guest *g = &m->g[slot];
	bool hostile = prop_one_in(m->r, 50);
	uint64_t top = 1ULL << prop_range(m->r, 0, 30);
	struct usage u = {
		.slot = slot,
		.link = (uint32_t)prop_u64(m->r),
		.cpu_ns = hostile ? prop_hostile(m->r) : prop_range(m->r, 0, top),
		.mtus_sent = hostile ? prop_hostile(m->r) : prop_range(m->r, 0, top / 1000),
		.mtus_recv = hostile ? prop_hostile(m->r) : prop_range(m->r, 0, top / 1000),
		.bytes_sent = prop_u64(m->r), /* not what is charged for */
		.wrs = prop_u64(m->r),
	};
	struct account before = l->acc[slot];
	wide mtus = (wide)u.mtus_sent + u.mtus_recv, cost;

	if (!g->active) {
		CHECK(m, resos_charge(l, slot, &u) == -ENOENT);
		return;
	}
	CHECK(m, resos_charge(l, slot, &u) == 0);
	/* Never cheaper than the bare price, saturated or not: a bound in whole milli-Resos. */
	cost = mtus / (m->link[g->link].per / m->link[g->link].price + 1) + u.cpu_ns / 10;
	if (cost > (wide)g->allocated)
		CHECK(m, l->acc[slot].balance.m == 0);
	CHECK(m, l->acc[slot].balance.m <= before.balance.m);
	CHECK(m, l->acc[slot].overdraft.m >= before.overdraft.m);
	if (mtus >> 40 || u.cpu_ns >> 60 || g->saturated) {
		g->saturated = true;
		return;
	}
	g->io += mtus * m->link[g->link].price * g->rate;
	g->cpu += (wide)u.cpu_ns * g->rate;
	if (g->io >> 124 || epoch_io(m, g) > EXACT_MAX || epoch_cpu(g) > EXACT_MAX)
		g->saturated = true;
}

static void do_rate(struct model *m, struct ledger *l)
{
	uint32_t slot = m->slot[prop_range(m->r, 0, SLOTS - 1)];
	uint32_t rate = (uint32_t)(prop_one_in(m->r, 8) ? prop_hostile(m->r)
							: prop_range(m->r, 60000, 6553600));

	resos_set_rate(l, slot, (struct rate){ rate });
	m->g[slot].rate = rate < 65536 ? 65536 : rate;
}

static void do_share(struct model *m, struct ledger *l)
{
	uint32_t slot = m->slot[prop_range(m->r, 0, SLOTS - 1)];
	uint32_t vcpus = (uint32_t)prop_range(m->r, 0, 9), weight;

	weight = prop_one_in(m->r, 9) ? 65536 : (uint32_t)prop_range(m->r, 0, 99);
	if (!m->g[slot].active) {
		CHECK(m, resos_set_share(l, slot, 1, 1) == -ENOENT);
	} else if (!vcpus || !weight || weight > 65535) {
		CHECK(m, resos_set_share(l, slot, vcpus, weight) == -EINVAL);
	} else {
		CHECK(m, resos_set_share(l, slot, vcpus, weight) == 0);
		m->g[slot].vcpus = vcpus;
		m->g[slot].weight = weight;
	}
}

/* The new allocations: each within a milli-Reso of its exact share, together all of it. */
static void do_replenish(struct model *m, struct ledger *l, uint64_t epoch)
{
	wide issued[FLOW_LINKS_MAX] = { 0 }, sum[FLOW_LINKS_MAX], left = 0;

	for (uint32_t k = 0; k < m->links; k++)
		sum[k] = weights(m, k);
	for (int i = 0; i < SLOTS; i++)
		left += m->g[m->slot[i]].active ? l->acc[m->slot[i]].balance.m : 0;
	resos_replenish(l, epoch);
	m->supply = m->overcommit = m->retired = 0;
	CHECK(m, l->epoch == epoch);
	CHECK(m, l->dropped.m >= left);
	for (int i = 0; i < SLOTS; i++) {
		struct model_guest *g = &m->g[m->slot[i]];
		wide io;

		if (!g->active)
			continue;
		io = l->acc[m->slot[i]].allocated.m - full_cpu(m, g->vcpus);
		CHECK(m, (io - 1) * sum[g->link] < m->link[g->link].pool * g->weight);
		CHECK(m, (io + 1) * sum[g->link] > m->link[g->link].pool * g->weight);
		issued[g->link] += io;
		g->allocated = l->acc[m->slot[i]].allocated.m;
		m->supply += g->allocated;
		g->late = false;
		g->io_before += epoch_io(m, g);
		g->cpu_before += epoch_cpu(g);
		CHECK(m, l->acc[m->slot[i]].overdraft.m == 0 && l->acc[m->slot[i]].spent.m == 0);
	}
	for (uint32_t k = 0; k < m->links; k++)
		CHECK(m, !sum[k] || issued[k] == m->link[k].pool);
	for (int i = 0; i < SLOTS; i++)
		check_guest(m, l, m->slot[i]);
}

static void make_links(struct model *m, struct link_conf *c)
{
	m->links = (uint32_t)prop_range(m->r, 1, 3);
	for (uint32_t k = 0; k < m->links; k++) {
		wide second;

		memset(&c[k], 0, sizeof(c[k]));
		c[k].bytes_s = prop_one_in(m->r, 8) ? prop_range(m->r, 1, 1ULL << 40)
						    : 1ULL << prop_range(m->r, 20, 36);
		c[k].mtu = 256u << prop_range(m->r, 0, 4);
		c[k].profile = prop_one_in(m->r, 2) ? PRICE_SCALED : PRICE_PAPER_2011;
		if (c[k].profile == PRICE_SCALED) {
			m->link[k].price = (wide)1048576000 * c[k].mtu;
			m->link[k].per = c[k].bytes_s;
			second = (wide)1048576000 * m->epoch_ns;
		} else {
			m->link[k].price = 1000;
			m->link[k].per = 1;
			second = (wide)c[k].bytes_s * 1000 * m->epoch_ns / c[k].mtu;
		}
		m->link[k].pool = second / NS_PER_S;
	}
}

static void make_slots(struct model *m)
{
	for (int i = 0; i < SLOTS; i++)
		m->slot[i] = (uint32_t)i * 21; /* 0 .. 231 */
	m->slot[1] = FLOW_GUESTS_MAX - 1;
}

static int64_t next_time(struct model *m, const struct period *p)
{
	switch (prop_range(m->r, 0, 99)) {
	case 0: /* over the end, perhaps over several epochs */
		return p->last.ns + (int64_t)prop_range(m->r, 0, 3 * (uint64_t)m->epoch_ns);
	case 1: /* back */
		return p->last.ns - (int64_t)prop_range(m->r, 0, (uint64_t)m->epoch_ns);
	case 2: /* the edge */
		return p->epoch_start.ns + m->epoch_ns + (int64_t)prop_range(m->r, 0, 2) - 1;
	default:
		return p->last.ns + (int64_t)prop_range(m->r, 0, 2 * (uint64_t)p->interval_ns);
	}
}

static void step(struct model *m, struct ledger *l, struct period *p)
{
	struct mono now = { next_time(m, p) };
	uint32_t slot = m->slot[prop_range(m->r, 0, SLOTS - 1)];
	struct period_tick t = period_tick(p, now);

	do_charge(m, l, slot);
	if (t.new_epochs)
		do_replenish(m, l, p->epoch);
	switch (prop_range(m->r, 0, 19)) {
	case 0:
		do_join(m, l, period_remaining(p, now));
		break;
	case 1:
		do_leave(m, l);
		break;
	case 2:
		do_rate(m, l);
		break;
	case 3:
		do_share(m, l);
		break;
	default:
		break;
	}
	check_guest(m, l, slot);
	check_totals(m, l);
}

static void run(struct prop *r)
{
	static struct model m;
	static struct ledger l;
	struct link_conf links[3];
	struct period p;
	int64_t interval = (int64_t)prop_range(r, 100000, 5000000);

	memset(&m, 0, sizeof(m));
	m.r = r;
	m.epoch_ns = interval * (int64_t)prop_range(r, 1, 1000);
	make_links(&m, links);
	make_slots(&m);
	assert_int_equal(resos_init(&l, m.epoch_ns, links, m.links), 0);
	for (uint32_t k = 0; k < m.links; k++)
		assert_true(l.link[k].pool.m == m.link[k].pool);
	assert_int_equal(period_init(&p, interval, m.epoch_ns, (struct mono){ 1LL << 50 }), 0);
	for (m.step = 0; m.step < STEPS; m.step++)
		step(&m, &l, &p);
}

TEST(any_life_of_a_ledger__agrees_with_the_model)
{
	struct prop r;

	prop_start(&r);
	for (int i = 0; i < RUNS; i++)
		run(&r);
}
