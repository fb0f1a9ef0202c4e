// SPDX-License-Identifier: GPL-2.0-or-later
// reconf_balancer: see reconf_balancer.h. SIMULATED: reconf.c gives it events, and posts for it.
#include "src/lab/reconf_balancer.h"

#include <string.h>

enum {
	SCANS = 256,
	TAGS_OF_SCAN = 2 * RECONF_BALANCER_NODES_MAX,
	TAG_MOVE = SCANS * TAGS_OF_SCAN,
};

static_assert(2 * RECONF_BALANCER_NODES_MAX <= STEP_OPS_MAX, "a scan is one step");
static_assert(sizeof(struct load_record) % 8 == 0, "a record is READ as words");

/* --- scans ------------------------------------------------------------------------ */

static void put_read(struct reconf_balancer *b, uint32_t node, bool load, struct step_out *out)
{
	uint32_t i = load ? b->nodes + node : node;

	out->op[out->n++] = (struct step_op){
		.kind = STEP_READ,
		.part = load ? STEP_LOAD : STEP_WORDS,
		.host = (uint16_t)(node + 1),
		.offset = load ? 0 : region_node_offset(0),
		.len = load ? sizeof(struct load_record) : 8,
		.tag = b->scan % SCANS * TAGS_OF_SCAN + i,
	};
	b->waits++;
	b->scan_reads++;
}

static void put_scan(struct reconf_balancer *b, struct step_out *out)
{
	b->scan++;
	for (uint32_t i = 0; i < b->nodes; i++) {
		put_read(b, i, false, out);
		put_read(b, i, true, out);
	}
}

/* Is it a READ of the newest scan? *all: it was the last one. */
static void scan_result(struct reconf_balancer *b, const struct step_event *ev, bool *all)
{
	uint32_t i = ev->tag % TAGS_OF_SCAN;

	if (ev->tag >= TAG_MOVE || ev->tag / TAGS_OF_SCAN != b->scan % SCANS || !b->waits)
		return;
	if (ev->outcome == STEP_DONE && i < b->nodes)
		b->word[i] = ev->old;
	else if (ev->outcome == STEP_DONE)
		memcpy(&b->load[i - b->nodes], ev->data, sizeof(b->load[0]));
	*all = !--b->waits;
}

/* In 1/1000: 1000: all CPUs are busy, and nothing waits. */
static uint32_t load_of(const struct load_record *r)
{
	return r->cpus ? r->running * 1000 / r->cpus : 0;
}

/* As src/cluster/reconf.c has it. */
static uint32_t load_of_window(const struct load_window *w)
{
	int index = load_window_index(w);
	uint32_t tasks = load_of(&w->newest);

	if (index < 0)
		return tasks;
	return index < 1000 || tasks < (uint32_t)index ? (uint32_t)index : tasks;
}

static void show(struct reconf_balancer *b, struct mono now)
{
	for (uint32_t i = 0; i < b->nodes; i++) {
		uint32_t service = region_word_id(b->word[i]) - 1u;
		struct decide_node *n = &b->view.node[i];

		/* A sweep changes a word, too, and leaves the node where it is. */
		if (b->shown && service + 1 != region_word_id(b->in.node[i].word))
			b->came[i] = now;
		n->service = service < b->services ? (uint16_t)service : DECIDE_NO_SERVICE;
		n->known = b->load[i].beat != 0;
		n->load = load_of(&b->load[i]);
		if (b->rules->window_ns && n->known) {
			load_window_add(&b->window[i], &b->load[i], b->rules->window_ns);
			n->load = load_of_window(&b->window[i]);
		}
		b->in.node[i].word = b->word[i];
		b->in.node[i].load = n->load;
		b->serves[i] = service == b->service;
	}
	b->shown = true;
}

/* --- what was foreseen ------------------------------------------------------------ */

/* The loads after a move are seen so many T after it, as in the history of resexd(8). */
enum { SEEN_AFTER = 5 };

static void foresee(struct reconf_balancer *b, const struct decide_plan *p, struct mono now)
{
	struct reconf_foreseen *f = &b->foreseen;

	if (f->decided || p->why == DECIDE_MOVE_HOME)
		return;
	*f = (struct reconf_foreseen){ .decided = true,
				       .step = p->step[0],
				       .taker_before = p->taker_before,
				       .donor_before = p->donor_before,
				       .taker_after = p->taker_after,
				       .donor_after = p->donor_after,
				       .at = now };
}

static void look_back(struct reconf_balancer *b, struct mono now)
{
	struct reconf_foreseen *f = &b->foreseen;

	if (!f->decided || f->seen ||
	    mono_sub(now, f->at) < SEEN_AFTER * b->rules->checks * b->rules->scan_ns)
		return;
	f->seen = true;
	f->taker_seen = decide_load(&b->decide, &b->view, f->step.taker);
	f->donor_seen = decide_load(&b->decide, &b->view, f->step.donor);
}

/* --- moves ------------------------------------------------------------------------ */

static void ended(struct reconf_balancer *b, struct mono now)
{
	enum move_result r = move_result(&b->move);
	struct reconf_foreseen *f = &b->foreseen;

	b->moves.result[r]++;
	if (f->decided && !f->made) {
		f->made = r == MOVE_MOVED;
		f->decided = f->made;
		f->at = now;
	}
	if (r != MOVE_MOVED)
		return;
	b->moves.moved++;
	b->moves.again += b->asked_why != DECIDE_MOVE_HOME &&
			  mono_sub(b->asked_at, b->came[b->move.chosen]) < b->rules->decide.rest_ns;
	b->moves.home += b->asked_why == DECIDE_MOVE_HOME;
	b->moves.swept += b->move.sweeps != 0;
	for (int i = 0; i <= STEP_FAA && !b->move.sweeps; i++) {
		b->moves.ops[i] += b->ops[i];
		if (b->ops[i] > b->moves.ops_most[i])
			b->moves.ops_most[i] = b->ops[i];
	}
}

static void step_move(struct reconf_balancer *b, const struct step_event *ev, struct mono now,
		      struct step_out *out)
{
	uint32_t before = out->n;
	bool asks = ev->type == STEP_ASK, idle = move_state(&b->move) == MOVE_IDLE;

	if (asks)
		memset(b->ops, 0, sizeof(b->ops));
	move_step(&b->move, ev, now, out);
	for (uint32_t i = before; i < out->n; i++)
		b->ops[out->op[i].kind]++;
	if ((asks || !idle) && move_state(&b->move) == MOVE_IDLE)
		ended(b, now);
}

static void ask(struct reconf_balancer *b, uint32_t service, const struct move_wish *wish,
		struct mono now, struct step_out *out)
{
	struct step_event ev = { .type = STEP_ASK, .what = service, .wish = wish };

	b->moves.asked++;
	b->asked_at = now;
	step_move(b, &ev, now, out);
}

/* A scan is whole. */
static void look(struct reconf_balancer *b, struct mono now, struct step_out *out)
{
	struct counter *c = &b->counter[b->service];
	struct decide_plan plan;
	struct move_wish wish;

	show(b, now);
	look_back(b, now);
	decide_seen(&b->decide, &b->view, now);
	counter_check(c, decide_high(&b->decide, &b->view, b->service));
	if (move_state(&b->move) != MOVE_IDLE)
		return;
	if (b->rules->paper) {
		b->asked_why = DECIDE_MOVE;
		if (counter_high_for_t(c))
			ask(b, b->service, NULL, now, out);
		return;
	}
	if (decide(&b->decide, &b->view, b->service, counter_high_for_t(c), now, &plan))
		return;
	b->moves.why[plan.why]++;
	decide_asked(&b->decide, b->service, &plan, now);
	if (!plan.steps)
		return;
	foresee(b, &plan, now);
	if (b->rules->observe >> b->service & 1)
		return;
	b->asked_why = plan.why;
	/* Who takes in the first step of a chain has no high load. */
	wish = (struct move_wish){ .why = plan.why == DECIDE_MOVE_HOME ||
							  plan.step[0].taker != b->service
						  ? MOVE_FOR_ORDER
						  : MOVE_FOR_LOAD,
				   .donor = plan.step[0].donor,
				   .node = plan.step[0].node };
	ask(b, plan.step[0].taker, &wish, now, out);
}

/* --- events ----------------------------------------------------------------------- */

void reconf_balancer_step(struct reconf_balancer *b, const struct step_event *ev, struct mono now,
			  struct step_out *out)
{
	bool whole = false;

	if (ev->type == STEP_TICK && now.ns >= b->next.ns) {
		if (!b->waits)
			put_scan(b, out);
		b->next = mono_add(b->next, b->rules->scan_ns);
	}
	if (ev->type == STEP_RESULT)
		scan_result(b, ev, &whole);
	step_move(b, ev, now, out);
	if (whole)
		look(b, now, out);
}

struct mono reconf_balancer_due(const struct reconf_balancer *b)
{
	return mono_earlier(b->next, move_due(&b->move));
}

/* As cluster.json has them: the share is the nodes of the beginning, within the other numbers. */
static struct decide_service service_of(const struct reconf_balancer_conf *c, uint32_t i)
{
	const struct reconf_service *s = &c->rules->service[i];
	struct decide_service d = { .minimum = s->minimum,
				    .guarantee = s->guarantee < s->minimum ? s->minimum
									   : s->guarantee,
				    .share = c->share[i],
				    .maximum = s->maximum ? s->maximum : c->nodes,
				    .priority = s->priority,
				    .high = c->rules->high,
				    .low = c->rules->low };

	if (d.share < d.guarantee)
		d.share = d.guarantee;
	if (d.share > d.maximum)
		d.share = d.maximum;
	return d;
}

void reconf_balancer_init(struct reconf_balancer *b, const struct reconf_balancer_conf *c)
{
	const struct reconf_rules *r = c->rules;
	const struct move_conf conf = { .self = c->host,
					.tag = TAG_MOVE,
					.hold_ns = r->hold_ns,
					.deadline_ns = r->deadline_ns,
					.check_ns = r->check_ns,
					.checks = r->checks,
					.seed = c->seed };

	memset(b, 0, sizeof(*b));
	b->rules = r;
	b->service = c->service;
	b->nodes = c->nodes;
	b->services = c->services;
	b->next.ns = c->begin_ns;
	for (uint32_t i = 0; i < c->nodes; i++)
		b->came[i].ns = -NS_PER_S * 3600; /* long ago */
	b->view.nodes = b->in.nodes = c->nodes;
	b->view.services = b->in.services = c->services;
	for (uint32_t i = 0; i < c->nodes; i++) {
		b->view.node[i] = (struct decide_node){ .service = DECIDE_NO_SERVICE,
							.alive = true,
							.capacity = c->capacity[i],
							.may = r->may[i] ? r->may[i] : UINT64_MAX };
		b->in.node[i] = (struct move_node){ .host = (uint16_t)(i + 1), .alive = true };
	}
	for (uint32_t s = 0, i = 0; s < c->services; s++) {
		b->view.service[s] = service_of(c, s);
		b->in.service[s] = (struct move_service){ .id = (uint16_t)(s + 1),
							  .minimum = r->service[s].minimum };
		hostset_set(&b->in.service[s].balancers, c->first + s, true);
		for (uint32_t k = 0; k < c->share[s]; k++, i++) {
			b->serves[i] = s == c->service;
			b->view.node[i].home = (uint16_t)s;
		}
	}
	decide_init(&b->decide, &r->decide);
	move_init(&b->move, &conf, &b->in, b->lock, b->counter);
}
