// SPDX-License-Identifier: GPL-2.0-or-later
/* schedule_draw: the cluster of a schedule, and what will go wrong in it, from its seed. */
#include <stddef.h>
#include <string.h>

#include "tests/shared/schedule_priv.h"

static void draw_balancers(struct schedule *s)
{
	uint32_t balancers = (uint32_t)between(s, 3, s->hosts < 5 ? s->hosts : 5);
	uint32_t first = one_in(s, 2) ? 1 : s->hosts - balancers + 1;

	for (uint32_t b = 0; b < balancers; b++) {
		uint32_t serves = (uint32_t)between(s, 1, (1 << s->services) - 1);

		if (b < 2) /* each service has two */
			serves = (1u << s->services) - 1;
		s->host[first + b].serves = serves;
	}
}

/* The host that will die balances the last service, all others the first two. Some come later. */
static void draw_newcomers(struct schedule *s)
{
	s->victim = (uint16_t)between(s, 2, s->hosts);
	for (uint16_t h = 1; h <= s->hosts; h++) {
		s->host[h].serves = h == s->victim ? 4 : 3;
		s->host[h].comes_later = h != 1 && h != s->victim && !one_in(s, 4);
	}
}

/* A cluster: the balancers of each host, the nodes, and the service of each at first. */
static void draw_cluster(struct schedule *s, struct history_conf *c)
{
	struct move_view *in = &s->host[1].in;
	uint32_t n = 0;

	in->nodes = in->services = 0;
	for (uint32_t i = 0; i < s->services; i++)
		c->minimum[id_of(i)] = (uint32_t)between(s, 1, 2);
	if (s->kind == SCHEDULE_NEWCOMERS)
		draw_newcomers(s);
	else
		draw_balancers(s);
	for (uint32_t h = 1; h <= s->hosts; h++)
		for (uint32_t i = 0; i < s->services; i++)
			if (s->host[h].serves >> i & 1)
				c->balancers[id_of(i)] |= 1ull << (h - 1);
	for (uint32_t i = 0; i < s->services; i++) {
		bool spare = s->kind == SCHEDULE_UNSEEN || s->kind == SCHEDULE_NEWCOMERS;
		uint32_t more = spare ? 2 : 0, most = s->loss == LOSS_LATE ? 1 : 2;
		uint32_t nodes = c->minimum[id_of(i)] + more + (uint32_t)between(s, i == 0, most);

		for (uint32_t k = 0; k < nodes; k++, n++) {
			uint16_t h = (uint16_t)(n % s->hosts + 1);

			s->begins[h][c->nodes[h]] = id_of(i);
			in->node[in->nodes++] = (struct move_node){ .host = h,
								    .node = (uint16_t)c->nodes[h]++,
								    .alive = true };
		}
		in->service[in->services++] =
			(struct move_service){ .id = id_of(i),
					       .minimum = c->minimum[id_of(i)],
					       .balancers = { { c->balancers[id_of(i)] } } };
	}
	for (uint32_t h = 2; h <= s->hosts; h++) {
		memcpy(s->host[h].in.node, in->node, in->nodes * sizeof(in->node[0]));
		memcpy(s->host[h].in.service, in->service, in->services * sizeof(in->service[0]));
		s->host[h].in.nodes = in->nodes;
		s->host[h].in.services = in->services;
	}
}

static void draw_late_moves(struct schedule *s, struct world_conf *w)
{
	w->fault_in = 1;
	w->faults_max = (uint32_t)between(s, 1, 4);
	w->aimed = true;
	w->weight[FAULT_HANG] = 1;
	w->restarts = true;
}

static void draw_faults(struct schedule *s, struct world_conf *w, bool asides)
{
	static const uint32_t often[] = { 8, 16, 32, 64, 128 };

	if (s->loss == LOSS_LATE)
		draw_late_moves(s, w);
	if (s->kind == SCHEDULE_CALM || s->kind == SCHEDULE_RESTARTS || has_death(s))
		return;
	if (s->kind == SCHEDULE_UNSEEN) {
		w->fault_in = 1;
		w->faults_max = (uint32_t)between(s, 1, 4);
		w->weight[one_in(s, 2) ? FAULT_LATE : FAULT_WAIT] = 1;
		w->restarts = true;
		w->aimed = true;
		w->late_min = 2 * w->lease;
		return;
	}
	w->fault_in = often[world_random(&s->w) % 5];
	w->faults_max = (uint32_t)between(s, 1, 10);
	for (int f = 0; f < FAULTS; f++)
		w->weight[f] = (uint32_t)between(s, 0, 3);
	if (s->kind == SCHEDULE_HANDOVER)
		w->weight[FAULT_PAUSE] = w->weight[FAULT_HANG] = w->weight[FAULT_LATE] = 8;
	w->restarts = !one_in(s, 4);
	/* No transport does it. It is for the rule not to rely on a READ on an old link. */
	w->asides = one_in(s, 4) && asides;
	w->aimed = one_in(s, 3);
}

/* Where numbers of 15, 16 and 30 bits end, something may go wrong. */
static uint64_t draw_first(struct schedule *s, const struct schedule_options *o)
{
	static const int64_t edges[] = { 0, 1 << 15, 1 << 16, (1 << 30) - 16 };
	uint64_t i = world_random(&s->w) % 4;
	int64_t first = i ? edges[i] + between(s, -8, 8) : 0;

	return (uint64_t)(o->first >= 0 ? o->first : first);
}

void schedule_draw(struct schedule *s, uint64_t seed, const struct schedule_options *o)
{
	static const int32_t drifts[] = { 0, 200, 20000 };
	struct world_conf w = { .delay_min = 20 * NS_PER_US,
				.deadline = DEADLINE_NS,
				.tick_late = NS_PER_MS,
				.lease = HOLD_NS + DEADLINE_NS };
	struct history_conf c = { .verbose = o->verbose };

	memset(s, 0, offsetof(struct schedule, w));
	memset(&s->kind, 0, sizeof(*s) - offsetof(struct schedule, kind));
	s->w.rng = seed;
	/* All others by chance. */
	s->kind = (enum schedule_kind)(world_random(&s->w) % SCHEDULE_DECIDES);
	if (seed % SCHEDULE_KINDS == 0)
		s->kind = SCHEDULE_DECIDES;
	if (o->kind >= 0)
		s->kind = (enum schedule_kind)o->kind;
	s->dynamic = s->kind == SCHEDULE_VIEWS || s->kind == SCHEDULE_HANDOVER ||
		     (s->kind == SCHEDULE_DECIDES && one_in(s, 2));
	s->hosts = w.hosts = c.hosts = (uint32_t)between(s, 4, WORLD_HOSTS);
	s->services = (uint32_t)between(s, 2, SCHEDULE_SERVICES);
	if (s->kind == SCHEDULE_RESTARTS && one_in(s, 2))
		s->loss = (enum schedule_loss)between(s, LOSS_ANY, LOSSES - 1);
	if (s->kind == SCHEDULE_NEWCOMERS || s->loss == LOSS_LATE)
		s->services = SCHEDULE_SERVICES;
	c.services = s->services;
	w.drift_ppm = drifts[world_random(&s->w) % 3];
	w.delay_max = between(s, 100, 1000) * NS_PER_US;
	w.faults_until = 25 * HOLD_NS;
	draw_cluster(s, &c);
	memcpy(w.nodes, c.nodes, sizeof(w.nodes));
	draw_faults(s, &w, o->asides);
	if (s->kind == SCHEDULE_DECIDES)
		decide_draw(s);
	c.faultless = s->kind == SCHEDULE_CALM;
	if (c.faultless)
		c.high_ns = (CHECKS - 1) * (CHECK_NS - CHECK_NS / 1000000 * w.drift_ppm) - 1000;
	s->conf = (struct move_conf){ .hold_ns = HOLD_NS,
				      .deadline_ns = DEADLINE_NS,
				      .check_ns = CHECK_NS,
				      .drift_ppm = (uint32_t)w.drift_ppm,
				      .checks = CHECKS };
	c.flight_ns = 2 * schedule_break_ns(s) + CHECK_NS + 2 * HOLD_NS; /* locks are waited for */
	c.break_ns = (HOLD_NS + DEADLINE_NS) - 1000;
	/* break + S, with a waiter's jitter, a round trip and late ticks, for any waiter. */
	c.retry_ns = CHECK_NS + CHECK_NS / 8 + 4 * w.delay_max + 2 * w.tick_late;
	if (has_death(s))
		c.delay_ns = c.any_delay_ns = schedule_break_ns(s) + c.retry_ns;
	c.wanted = s->kind == SCHEDULE_NEWCOMERS;
	if (s->kind == SCHEDULE_DEATH) {
		c.announced_ns = (CHECKS + 1) * CHECK_NS * 9 / 8;
		s->victim_in = (uint32_t)between(s, 1, 3);
	}
	history_init(&s->h, &c);
	for (uint32_t i = 0; i < s->services; i++)
		s->load[i] = s->kind == SCHEDULE_NEWCOMERS && i == 0 ? MIDDLE : LOW;
	s->view = s->dynamic ? draw_first(s, o) + (uint64_t)between(s, 1, 3) : 0;
	w.before_first = draw_first(s, o);
	s->members = (1ull << s->hosts) - 1;
	s->w.conf = w;
}
