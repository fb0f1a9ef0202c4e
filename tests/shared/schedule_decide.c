// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schedule_decide: schedules of kind DECIDES: what moves is chosen by decide.h, as the daemon asks
 * it (src/cluster/reconf.c): by what each host has read of all nodes, some of it old or unknown,
 * for the services that it balances, and by its own history. The first step of a plan is the wish
 * of a move. Services, rules and loads are drawn.
 */
#include "tests/shared/schedule_priv.h"

/* 1/1000; LOW, MIDDLE and HIGH are in these ranges. */
enum { LOW_BELOW = 900, HIGH_FROM = 1500, LOAD_MAX = 4000 };

/* A time of so many checks, or none. */
static int64_t draw_checks(struct schedule *s, int64_t most)
{
	return one_in(s, 4) ? 0 : between(s, 1, most) * CHECK_NS;
}

static void draw_service(struct schedule *s, struct decide_service *d, uint32_t i, uint32_t nodes)
{
	d->minimum = s->host[1].in.service[i].minimum;
	d->guarantee = d->minimum + (uint32_t)between(s, 0, 1);
	d->share = d->guarantee + (uint32_t)between(s, 0, 2);
	d->maximum = one_in(s, 4) ? d->share + 1 : nodes;
	d->maximum = d->maximum < d->share ? d->share : d->maximum;
	d->priority = (uint32_t)between(s, 0, 2);
	d->high = HIGH_FROM;
	d->low = LOW_BELOW;
}

void decide_draw(struct schedule *s)
{
	const struct move_view *in = &s->host[1].in;

	s->rules = (struct decide_conf){ .margin = (uint32_t)between(s, 0, 300),
					 .rest_ns = draw_checks(s, 4),
					 .freeze_ns = draw_checks(s, 8),
					 .check_ns = CHECK_NS,
					 .budget = (uint32_t)between(s, 1, 4),
					 .budget_ns = between(s, 1, 20) * CHECK_NS };
	s->seen.nodes = in->nodes;
	s->seen.services = s->services;
	for (uint32_t i = 0; i < s->services; i++)
		draw_service(s, &s->seen.service[i], i, in->nodes);
	for (uint32_t i = 0; i < in->nodes; i++) {
		static const uint32_t capacities[] = { 1000, 1000, 500, 2000 };
		struct decide_node *n = &s->seen.node[i];

		n->capacity = capacities[world_random(&s->w) % 4];
		n->may = one_in(s, 3) ? (uint64_t)between(s, 1, (1 << s->services) - 1) : ~0ull;
		n->fixed = one_in(s, 16);
	}
}

/* Some hosts have seen too many reversals lately: nodes go home first. */
void decide_boot(struct schedule *s, struct schedule_host *h, struct mono now)
{
	decide_init(&h->decide, &s->rules);
	if (!one_in(s, 4))
		return;
	h->decide.frozen_once = true;
	h->decide.frozen_until = mono_add(now, between(s, 1, 40) * CHECK_NS);
	h->decide.freeze = 1;
}

/*
 * No rule is in the way of the last load; as after a reload, all hosts begin anew. The budget is
 * one: a move that was asked for, and not made, takes from it.
 */
void decide_last(struct schedule *s)
{
	s->rules.budget = 1000;
	s->rules.rest_ns = 0;
	for (uint32_t i = 0; i < s->services; i++) {
		struct decide_service *d = &s->seen.service[i];

		d->guarantee = d->minimum;
		d->maximum = s->seen.nodes;
		d->priority = 0;
	}
	for (uint32_t i = 0; i < s->seen.nodes; i++) {
		s->seen.node[i].may = ~0ull;
		s->seen.node[i].fixed = false;
	}
	for (uint32_t h = 1; h <= s->hosts; h++)
		decide_init(&s->host[h].decide, &s->rules);
}

static uint32_t load_of(struct schedule *s, uint32_t service)
{
	uint32_t load = s->load[service];

	if (load == HIGH)
		return (uint32_t)between(s, HIGH_FROM, LOAD_MAX);
	return (uint32_t)(load == LOW ? between(s, 0, LOW_BELOW / 4)
				      : between(s, LOW_BELOW, HIGH_FROM - 1));
}

/* What this host has read, in the form of decide.h. */
static void look(struct schedule *s, const struct schedule_host *h)
{
	for (uint32_t i = 0; i < h->in.nodes; i++) {
		uint32_t service = region_word_id(h->in.node[i].word) - 1u;
		struct decide_node *n = &s->seen.node[i];

		n->service = (uint16_t)(service < s->services ? service : DECIDE_NO_SERVICE);
		n->alive = h->in.node[i].alive;
		n->known = n->service != DECIDE_NO_SERVICE && (s->quiet || !one_in(s, 16));
		n->load = n->known ? load_of(s, service) : 0;
	}
}

/* By the load: the taker's must still be high under the locks. Home, or a step of a chain: not. */
static void ask(struct schedule *s, struct schedule_host *h, const struct decide_plan *p,
		uint32_t service, struct mono now, struct step_out *out)
{
	const struct decide_step *first = &p->step[0];
	bool for_load = p->why != DECIDE_MOVE_HOME && first->taker == service;
	const struct move_wish wish = { .why = for_load ? MOVE_FOR_LOAD : MOVE_FOR_ORDER,
					.donor = first->donor,
					.node = first->node };
	const struct step_event ev = { .type = STEP_ASK, .what = first->taker, .wish = &wish };

	s->decided[p->why]++;
	move_step(&h->move, &ev, now, out);
}

void decide_check(struct schedule *s, struct schedule_host *h, struct mono now,
		  struct step_out *out)
{
	look(s, h);
	decide_seen(&h->decide, &s->seen, now);
	h->turn++;
	for (uint32_t k = 0; k < s->services; k++) {
		uint32_t i = (k + h->turn) % s->services;
		struct decide_plan p;

		if (!(h->serves >> i & 1))
			continue;
		counter_check(&h->counter[i], decide_high(&h->decide, &s->seen, i));
		if (!h->move.quorate || move_state(&h->move) != MOVE_IDLE)
			continue;
		decide(&h->decide, &s->seen, i, counter_high_for_t(&h->counter[i]), now, &p);
		if (p.steps)
			ask(s, h, &p, i, now, out);
		decide_asked(&h->decide, i, &p, now);
	}
}
