// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * world: what the events do: turns of processes, arrivals, results, links, crashes (world.h says
 * what a world is). world_post.c posts the operations.
 */
#include <stddef.h>
#include <string.h>

#include "tests/shared/world_priv.h"

static void again(struct world *w, const struct world_event *e, int64_t t)
{
	world_push(w, t, e->type, e->a, e->value, e->more);
}

void world_timer(struct world *w, int64_t t, uint32_t what)
{
	world_push(w, t, EV_TIMER, 0, what, 0);
}

void world_ask(struct world *w, uint16_t host, uint32_t what)
{
	world_push(w, w->now, EV_ASK, host, what, 0);
}

/* --- a process's turn -------------------------------------------------------- */

static void want_tick(struct world *w, uint16_t host)
{
	struct world_host *h = &w->host[host];
	int64_t due = w->actor->due(w->actor->ctx, host).ns, t;

	if (due == INT64_MAX)
		return;
	t = world_true_at(h, due);
	if (t < w->now)
		t = w->now;
	if (t >= h->tick_at)
		return;
	h->tick_at = t;
	world_push(w, t + world_between(w, 1, w->conf.tick_late), EV_TICK, host, h->boot, 0);
}

static void step(struct world *w, uint16_t host, const struct step_event *ev)
{
	struct world_host *h = &w->host[host];
	uint32_t boot = h->boot;
	int64_t deadline = 0;

	w->steps++;
	w->out.n = 0;
	w->actor->step(w->actor->ctx, host, ev, world_clock(w, host), &w->out);
	if (w->out.n > STEP_OPS_MAX) {
		w->broken = "a step put out more than STEP_OPS_MAX operations";
		return;
	}
	if (w->out.n)
		deadline = world_true_at(h, world_local_at(h, w->now) + w->conf.deadline);
	for (uint32_t i = 0; i < w->out.n && h->boot == boot && !w->broken; i++) {
		int64_t allowed = w->out.op[i].allowed_ns;
		bool early = allowed && allowed < w->conf.deadline;

		world_post(w, host, &w->out.op[i],
			   early ? world_true_at(h, world_local_at(h, w->now) + allowed)
				 : deadline);
	}
	if (h->up && h->boot == boot)
		want_tick(w, host);
}

/* Results of what was not posted, one after the other. */
static void tell_lost(struct world *w, uint16_t host)
{
	struct world_host *h = &w->host[host];

	for (int n = 0; h->lost_n && !w->broken; n++) {
		uint32_t i = h->lost[0], boot = h->boot;
		const struct world_op *o = &w->op[i];
		struct step_event ev = { .type = STEP_RESULT,
					 .host = o->op.host,
					 .link = o->link,
					 .tag = o->op.tag,
					 .outcome = o->outcome };

		memmove(&h->lost[0], &h->lost[1], --h->lost_n * sizeof(h->lost[0]));
		w->op[i].reported = true;
		if (h->up && o->boot == boot)
			step(w, host, &ev);
		world_op_put(w, i);
		if (n == WORLD_LOST)
			w->broken = "what was not posted is put out again at once";
	}
}

static void turn(struct world *w, uint16_t host, const struct step_event *ev)
{
	uint32_t boot = w->host[host].boot;

	tell_lost(w, host);
	if (w->host[host].up && w->host[host].boot == boot)
		step(w, host, ev);
}

/* May the process of this host run now? If it is paused, its event is repeated later. */
static bool runs(struct world *w, uint16_t host, const struct world_event *e)
{
	if (!w->host[host].up)
		return false;
	if (w->host[host].paused_until <= w->now)
		return true;
	again(w, e, w->host[host].paused_until);
	return false;
}

static struct world_effect effect_of(const struct world_op *o)
{
	return (struct world_effect){ .t = o->executed,
				      .posted = o->decided,
				      .poster = o->poster,
				      .boot = o->boot,
				      .op = &o->op,
				      .offset = o->op.offset,
				      .old = o->old,
				      .now = o->now };
}

/* Word k of a READ. */
static struct world_effect effect_of_word(const struct world_op *o, uint32_t k)
{
	struct world_effect e = effect_of(o);

	e.t = o->read[k];
	e.offset += 8 * o->place[k];
	e.old = e.now = o->data[k];
	return e;
}

static void report_effects(struct world *w, const struct world_op *o)
{
	struct world_effect e = effect_of(o);

	if (o->op.kind == STEP_CAS || o->op.kind == STEP_FAA)
		w->actor->result(w->actor->ctx, &e);
	for (uint32_t k = 0; k < o->words; k++) {
		e = effect_of_word(o, k);
		w->actor->result(w->actor->ctx, &e);
	}
}

static void deliver_result(struct world *w, uint32_t i, enum step_outcome outcome)
{
	struct world_op *o = &w->op[i];
	struct step_event ev = { .type = STEP_RESULT,
				 .host = o->op.host,
				 .link = o->link,
				 .tag = o->op.tag,
				 .outcome = outcome,
				 .old = outcome == STEP_DONE ? o->old : 0 };

	if (outcome == STEP_DONE && o->op.kind == STEP_READ) {
		memset(w->data, 0, o->op.len);
		for (uint32_t k = 0; k < o->words; k++)
			w->data[o->place[k]] = o->data[k];
		ev.data = w->data;
		ev.words = o->op.len / 8;
	}
	o->reported = true;
	if (!w->host[o->poster].up || w->host[o->poster].boot != o->boot)
		return;
	if (outcome == STEP_DONE && o->executed)
		report_effects(w, o);
	turn(w, o->poster, &ev);
}

/* --- what events do ------------------------------------------------------------ */

static void do_tick(struct world *w, const struct world_event *e)
{
	struct step_event ev = { .type = STEP_TICK };

	if (w->host[e->a].boot != e->value || !runs(w, e->a, e))
		return;
	tell_lost(w, e->a);
	if (w->host[e->a].boot != e->value)
		return;
	w->host[e->a].tick_at = INT64_MAX;
	turn(w, e->a, &ev);
}

static void do_post(struct world *w, const struct world_event *e)
{
	struct world_link *l = &w->link[e->a][e->value];
	uint32_t wait[WORLD_DEPTH], n = l->waits;

	if (w->host[e->a].boot != e->more || !runs(w, e->a, e))
		return;
	memcpy(wait, l->wait, n * sizeof(wait[0]));
	l->waits = 0;
	for (uint32_t k = 0; k < n; k++)
		world_post_now(w, wait[k], w->now, FAULTS);
}

/* Does the poster have the result already, or will it not come through? */
static bool is_unreported(const struct world *w, const struct world_op *o)
{
	const struct world_link *l = &w->link[o->poster][o->op.host];

	return o->reported || l->mute || l->serial != o->serial;
}

/* Read one of the two parts of a READ; all at once, if it has one word. */
static void read_words(struct world *w, struct world_op *o, bool first)
{
	bool last = first == o->last_first;
	uint32_t from = last ? o->split : 0, to = last ? o->words : o->split;

	for (uint32_t k = from; k < to; k++) {
		struct world_effect e;

		o->data[k] = *world_place(w, &o->op, o->op.offset + 8 * o->place[k]);
		o->read[k] = w->now;
		e = effect_of_word(o, k);
		w->actor->effect(w->actor->ctx, &e);
	}
	o->old = o->data[0];
}

static void execute_operation(struct world *w, uint32_t i)
{
	struct world_op *o = &w->op[i];
	struct world_effect e;
	uint64_t *word;

	o->executed = w->now;
	if (o->op.kind == STEP_READ) {
		read_words(w, o, false);
		return;
	}
	if (o->op.kind == STEP_SEND) {
		o->refs++;
		world_push(w, w->now, EV_MESSAGE, o->op.host, i, w->host[o->op.host].boot);
		return;
	}
	word = world_place(w, &o->op, o->op.offset);
	o->old = *word;
	if (o->op.kind == STEP_CAS && *word == o->op.compare)
		*word = o->op.value;
	else if (o->op.kind == STEP_FAA)
		*word += o->op.value;
	o->now = *word;
	e = effect_of(o);
	w->actor->effect(w->actor->ctx, &e);
}

/* Does the operation reach its target? */
static bool arrives(const struct world *w, const struct world_op *o)
{
	const struct world_host *p = &w->host[o->poster];

	/* The poster has crashed before it could post: the operation does not exist. */
	if (p->boot != o->boot && p->crashed_at < o->posted)
		return false;
	return w->host[o->op.host].up && w->link[o->poster][o->op.host].accepted == o->serial;
}

/* Does the target crash when the operation arrives? */
static bool crashes_target(struct world *w, const struct world_op *o)
{
	if (!o->crash || w->now >= w->conf.faults_until)
		return false;
	world_crash(w, o->op.host, world_down_time(w));
	return true;
}

static void do_exec(struct world *w, const struct world_event *e)
{
	struct world_op *o = &w->op[e->value];
	struct world_link *l = &w->link[o->poster][o->op.host];
	int64_t back;

	if (l->cut_until > w->now && o->poster != o->op.host) {
		world_will_fail(w, e->value);
		again(w, e, l->cut_until); /* and the others behind it, in order */
		return;
	}
	if (e->more) { /* the first words of a READ; what does not arrive now does not later */
		if (arrives(w, o) && !crashes_target(w, o) && !o->refuse)
			read_words(w, o, true);
		world_op_put(w, e->value);
		return;
	}
	if (!arrives(w, o) || crashes_target(w, o))
		goto out;
	back = w->now + world_between(w, w->conf.delay_min, w->conf.delay_max);
	if (back < l->last_result)
		back = l->last_result;
	if (!o->refuse)
		execute_operation(w, e->value);
	if (is_unreported(w, o))
		goto done;
	l->last_result = back;
	if (back >= o->deadline)
		goto out;
	world_come_back(w, e->value, o->refuse ? STEP_REFUSED : STEP_DONE, back);
	goto done;
out:
	if (!o->reported)
		world_will_fail(w, e->value);
done:
	/* The READ was late, and makes room on its link now. */
	if (o->reported && l->up && l->serial == o->serial)
		world_link_forget(w, l, e->value);
	world_op_put(w, e->value);
}

/* The target's transport has the message. */
static void do_message(struct world *w, const struct world_event *e)
{
	const struct world_op *o = &w->op[e->value];
	struct step_event ev = { .type = STEP_MESSAGE,
				 .host = o->poster,
				 .message = w->message[e->value],
				 .len = o->op.len };

	if (w->host[e->a].up && w->host[e->a].boot == e->more) {
		if (!runs(w, e->a, e))
			return;
		turn(w, e->a, &ev);
	}
	world_op_put(w, e->value);
}

static void do_late(struct world *w, const struct world_event *e)
{
	struct world_op *o = &w->op[e->value];
	const struct world_link *l = &w->link[o->poster][o->op.host];
	bool lives = o->boot == w->host[o->poster].boot && w->host[o->poster].up;

	if (!o->reported && lives && !runs(w, o->poster, e))
		return;
	if (!o->reported && lives && l->up && l->serial == o->serial)
		deliver_result(w, e->value, STEP_REFUSED);
	world_op_put(w, e->value);
}

static void do_result(struct world *w, const struct world_event *e)
{
	struct world_op *o = &w->op[e->value];
	struct world_link *l = &w->link[o->poster][o->op.host];

	if (!o->reported && o->boot == w->host[o->poster].boot && !runs(w, o->poster, e) &&
	    w->host[o->poster].up)
		return;
	if (!o->reported && l->up && l->serial == o->serial && l->cut_until > w->now &&
	    o->poster != o->op.host) {
		world_will_fail(w, e->value); /* the result does not come through */
	} else if (!o->reported) {
		world_link_forget(w, l, e->value);
		deliver_result(w, e->value, o->outcome);
	}
	world_op_put(w, e->value);
}

static void call_later(struct world *w, uint16_t a, uint16_t b)
{
	struct world_link *l = &w->link[a][b];
	int64_t t = w->now + world_between(w, w->conf.delay_max, 4 * w->conf.delay_max);

	if (l->call_after > t && w->host[a].up)
		t = l->call_after + world_between(w, 0, w->conf.delay_max);
	l->call_after = 0;
	world_push(w, t, EV_CALL, a, b, w->host[a].boot);
}

/* The caller's transport ends the link: results for all outstanding operations, then a new call. */
static void link_down(struct world *w, uint16_t a, uint16_t b)
{
	struct world_link *l = &w->link[a][b];
	uint32_t gone[WORLD_DEPTH], n = l->n;

	memcpy(gone, l->out, n * sizeof(gone[0]));
	l->up = false;
	l->n = 0;
	for (uint32_t k = 0; k < n; k++) {
		struct world_op *o = &w->op[gone[k]];

		if (!o->reported)
			deliver_result(w, gone[k],
				       o->op.kind == STEP_READ ? STEP_LOST : STEP_UNKNOWN);
		world_op_put(w, gone[k]);
	}
	call_later(w, a, b);
}

static void do_fail(struct world *w, const struct world_event *e)
{
	struct world_link *l = &w->link[e->a][e->value];

	if (l->up && l->serial == e->more && runs(w, e->a, e))
		link_down(w, e->a, (uint16_t)e->value);
}

static void do_call(struct world *w, const struct world_event *e)
{
	struct world_link *l = &w->link[e->a][e->value];
	const struct world_host *a = &w->host[e->a], *b = &w->host[e->value];

	if (!a->up || a->boot != e->more || l->up)
		return;
	if (!b->up || b->paused_until > w->now || a->paused_until > w->now ||
	    l->cut_until > w->now) {
		again(w, e,
		      w->now + world_between(w, 8 * w->conf.delay_max, 16 * w->conf.delay_max));
		return;
	}
	l->accepted = ++w->serials; /* the responder destroys the old one before */
	l->dead = l->mute = false;
	l->last_exec = l->last_result = 0;
	world_push(w, w->now + w->conf.delay_min, EV_UP, e->a, e->value, l->accepted);
}

static void do_up(struct world *w, const struct world_event *e)
{
	struct world_link *l = &w->link[e->a][e->value];
	struct step_event ev = { .type = STEP_LINK, .host = (uint16_t)e->value };

	if (!w->host[e->a].up || l->up)
		return;
	if (l->accepted != e->more) { /* the responder crashed since, or its caller did */
		world_push(w, w->now + w->conf.delay_max, EV_CALL, e->a, e->value,
			   w->host[e->a].boot);
		return;
	}
	if (!runs(w, e->a, e))
		return;
	l->up = true;
	l->serial = e->more;
	ev.link = ++l->number;
	world_forget_waiting(w, l);
	turn(w, e->a, &ev);
}

static void do_view(struct world *w, const struct world_event *e)
{
	if (w->host[e->a].boot == e->value && runs(w, e->a, e) &&
	    !hostset_empty(&w->host[e->a].view.members))
		turn(w, e->a, &w->host[e->a].view);
}

static void boot(struct world *w, uint16_t host)
{
	struct world_host *h = &w->host[host];

	h->up = true;
	h->generation++;
	h->tick_at = INT64_MAX;
	h->paused_until = 0;
	memset(h->word, 0, sizeof(h->word));
	w->actor->boot(w->actor->ctx, host, h->generation, world_clock(w, host));
	w->actor->notice(w->actor->ctx, NOTICE_BOOT, host, h->generation);
	if (!hostset_empty(&h->view.members))
		world_push(w, w->now + w->conf.delay_min, EV_VIEW, host, h->boot, 0);
	for (uint32_t b = 1; b <= w->conf.hosts; b++) {
		int64_t t = w->now + world_between(w, w->conf.delay_min, w->conf.delay_max);

		w->link[host][b].number = 0;
		world_push(w, t, EV_CALL, host, b, h->boot);
		/* Other hosts find that their links to the old process broke. */
		t += world_between(w, 0, 2 * w->conf.deadline);
		if (b != host)
			world_push(w, t, EV_FAIL, (uint16_t)b, host, w->link[b][host].serial);
	}
	want_tick(w, host);
}

static void do_ask(struct world *w, const struct world_event *e)
{
	struct step_event ev = { .type = STEP_ASK, .what = e->value };

	if (runs(w, e->a, e))
		turn(w, e->a, &ev);
}

static void run_one(struct world *w)
{
	struct world_event e = world_pop(w);

	w->now = e.t;
	switch (e.type) {
	case EV_TICK:
		return do_tick(w, &e);
	case EV_LOST:
		return runs(w, e.a, &e) ? tell_lost(w, e.a) : (void)0;
	case EV_POST:
		return do_post(w, &e);
	case EV_EXEC:
		return do_exec(w, &e);
	case EV_RESULT:
		return do_result(w, &e);
	case EV_LATE:
		return do_late(w, &e);
	case EV_FAIL:
		return do_fail(w, &e);
	case EV_CALL:
		return do_call(w, &e);
	case EV_UP:
		return do_up(w, &e);
	case EV_VIEW:
		return do_view(w, &e);
	case EV_ASK:
		return do_ask(w, &e);
	case EV_MESSAGE:
		return do_message(w, &e);
	case EV_RESTART:
		return world_revive(w, e.a);
	case EV_CRASH:
		return w->now < w->conf.faults_until ? world_crash(w, e.a, world_down_time(w))
						     : (void)0;
	default:
		return w->actor->timer(w->actor->ctx, e.value);
	}
}

void world_run(struct world *w, int64_t t)
{
	while (!w->broken && w->heap_n && w->heap[0].t <= t)
		run_one(w);
	if (w->now < t)
		w->now = t;
}

/* --- faults ------------------------------------------------------------------ */

void world_crash(struct world *w, uint16_t host, int64_t down_ns)
{
	struct world_host *h = &w->host[host];

	if (!h->up)
		return;
	h->up = false;
	h->boot++;
	h->crashed_at = w->now;
	while (h->lost_n)
		world_op_put(w, h->lost[--h->lost_n]);
	w->actor->notice(w->actor->ctx, NOTICE_CRASH, host, (uint64_t)down_ns);
	for (uint32_t b = 1; b <= w->conf.hosts; b++) {
		struct world_link *l = &w->link[host][b];

		/*
		 * Its outstanding operations get no result; those on their way may still be
		 * executed.
		 */
		l->up = false;
		for (uint32_t k = 0; k < l->n; k++) {
			w->op[l->out[k]].reported = true;
			world_op_put(w, l->out[k]);
		}
		l->n = 0;
		while (l->waits)
			world_op_put(w, l->wait[--l->waits]);
		/* It has no links any more. */
		w->link[b][host].accepted = 0;
	}
	if (down_ns >= 0)
		world_push(w, w->now + down_ns, EV_RESTART, host, 0, 0);
}

void world_view(struct world *w, uint16_t host, uint64_t view, uint64_t members, bool quorate,
		int64_t within_ns)
{
	struct world_host *h = &w->host[host];

	h->view = (struct step_event){
		.type = STEP_VIEW, .view = view, .members = { { members } }, .quorate = quorate
	};
	if (h->up)
		world_push(w, w->now + world_between(w, 0, within_ns), EV_VIEW, host, h->boot, 0);
}

void world_revive(struct world *w, uint16_t host)
{
	/* A host whose generations are used up does not start. */
	if (!w->host[host].up && w->host[host].generation < REGION_EPOCH_MAX)
		boot(w, host);
}

void world_init(struct world *w, const struct world_conf *c, const struct world_actor *a,
		uint64_t seed)
{
	memset(w, 0, offsetof(struct world, op));
	w->conf = *c;
	w->actor = a;
	w->rng = seed;
	w->heap_n = 0;
	w->broken = NULL;
	w->free_op = 0;
	for (uint32_t i = 0; i < WORLD_OPS; i++)
		w->op[i].next_free = i + 1 < WORLD_OPS ? i + 1 : WORLD_NONE;
	for (uint32_t h = 1; h <= c->hosts; h++) {
		w->host[h].generation = c->before_first;
		w->host[h].drift = world_between(w, -c->drift_ppm, c->drift_ppm) * (1 << 20) /
				   1000000;
		w->host[h].offset = world_between(w, NS_PER_S, 1000 * NS_PER_S);
	}
}

void world_start(struct world *w, uint64_t view, uint64_t members)
{
	for (uint16_t h = 1; h <= w->conf.hosts; h++) {
		w->host[h].view = (struct step_event){
			.type = STEP_VIEW, .view = view, .members = { { members } }, .quorate = true
		};
		boot(w, h);
	}
}
