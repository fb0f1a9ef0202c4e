// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * world: the event queue, the clocks, the links, the faults (world.h says what a world is). The
 * fault of an operation is drawn when it is posted (post), and happens when it arrives.
 */
#include <stddef.h>
#include <string.h>

#include "tests/shared/world_priv.h"

enum {
	EV_TICK,
	EV_LOST,
	EV_POST,
	EV_EXEC,
	EV_RESULT,
	EV_LATE,
	EV_FAIL,
	EV_CALL,
	EV_UP,
	EV_VIEW,
	EV_RESTART,
	EV_CRASH,
	EV_TIMER,
	EV_ASK
};

#define NONE UINT32_MAX

static void again(struct world *w, const struct world_event *e, int64_t t)
{
	world_push(w, t, e->type, e->a, e->value, e->more);
}

/* --- words ------------------------------------------------------- */

uint64_t *world_word(struct world *w, uint16_t host, uint32_t offset)
{
	uint32_t kind = offset / REGION_PAGE, i = offset % REGION_PAGE / 8;

	if (host < 1 || host > w->conf.hosts || offset % 8 || kind >= WORLD_KINDS ||
	    i >= WORLD_WORDS)
		return NULL;
	return &w->host[host].word[kind][i];
}

void world_timer(struct world *w, int64_t t, uint32_t what)
{
	world_push(w, t, EV_TIMER, 0, what, 0);
}

void world_ask(struct world *w, uint16_t host, uint32_t what)
{
	world_push(w, w->now, EV_ASK, host, what, 0);
}

/* --- operations -------------------------------------------------------------- */

static uint32_t op_get(struct world *w)
{
	uint32_t i = w->free_op;

	if (i == NONE) {
		w->broken = "too many operations under way";
		return NONE;
	}
	w->free_op = w->op[i].next_free;
	return i;
}

static void op_put(struct world *w, uint32_t i)
{
	if (--w->op[i].refs)
		return;
	w->op[i].next_free = w->free_op;
	w->free_op = i;
}

static void link_forget(struct world *w, struct world_link *l, uint32_t i)
{
	for (uint32_t k = 0; k < l->n; k++) {
		if (l->out[k] != i)
			continue;
		memmove(&l->out[k], &l->out[k + 1], (l->n - k - 1) * sizeof(l->out[0]));
		l->n--;
		op_put(w, i);
		return;
	}
}

/*
 * The caller will see the link of operation i fail: at its deadline or earlier. A READ that is late
 * is REFUSED at its deadline, and its link fails long after it.
 */
static void will_fail(struct world *w, uint32_t i)
{
	struct world_op *o = &w->op[i];
	int64_t limit = o->deadline + (o->op.kind == STEP_READ ? w->conf.lease : 0);

	if (world_one_in(w, 4))
		limit = world_between(w, w->now, o->deadline);
	world_push(w, limit, EV_FAIL, o->poster, o->op.host, o->serial);
	if (o->op.kind != STEP_READ)
		return;
	o->refs++;
	world_push(w, o->deadline, EV_LATE, o->poster, i, o->boot);
}

static void come_back(struct world *w, uint32_t i, enum step_outcome outcome, int64_t t)
{
	w->op[i].outcome = outcome;
	w->op[i].refs++;
	world_push(w, t, EV_RESULT, w->op[i].poster, i, w->op[i].boot);
}

/* It was not posted: the process gets this result before anything else happens to it. */
static void lose(struct world *w, uint32_t i, enum step_outcome outcome, int64_t t)
{
	struct world_host *h = &w->host[w->op[i].poster];

	if (h->lost_n == WORLD_LOST) {
		w->broken = "too many operations posted on no link";
		return;
	}
	w->op[i].outcome = outcome;
	w->op[i].refs++;
	h->lost[h->lost_n++] = i;
	if (h->lost_n == 1)
		world_push(w, t, EV_LOST, w->op[i].poster, h->boot, 0);
}

/*
 * A READ on a link whose end its process knows. A transport says LOST;
 * some hardware would still answer on the old connection, and what it answers
 * decides nothing: operations before it may execute after.
 */
static void read_aside(struct world *w, uint32_t i, int64_t t)
{
	struct world_op *o = &w->op[i];

	o->old = *world_word(w, o->op.host, o->op.offset);
	come_back(w, i, STEP_DONE, t + w->conf.delay_min);
}

/* Faults that strike the poster or the link before the operation leaves. */
static int64_t strike_before(struct world *w, enum world_fault f, uint16_t a, uint16_t b)
{
	struct world_host *h = &w->host[a];
	int64_t extra = world_between(w, 0, w->conf.delay_min / 8);

	if (f == FAULT_PAUSE)
		extra = world_between(w, w->conf.delay_max, w->conf.lease);
	if (f == FAULT_HANG)
		extra = world_between(w, w->conf.lease, 4 * w->conf.lease);
	if (f == FAULT_PAUSE || f == FAULT_HANG)
		w->actor->notice(w->actor->ctx, NOTICE_PAUSE, a, (uint64_t)extra);
	if (f == FAULT_CUT)
		world_cut(w, a, b, world_between(w, w->conf.delay_max, 3 * w->conf.lease));
	if (w->now + extra > h->paused_until)
		h->paused_until = w->now + extra;
	return h->paused_until;
}

/* Give op i to link l at time t, with fault f. */
static void send_op(struct world *w, struct world_link *l, uint32_t i, int64_t t,
		    enum world_fault f)
{
	struct world_op *o = &w->op[i];
	int64_t exec = t + world_between(w, w->conf.delay_min, w->conf.delay_max);

	l->out[l->n++] = i;
	o->refs++;
	o->refuse = f == FAULT_REFUSE;
	o->crash = f == FAULT_CRASH_TARGET;
	if (f == FAULT_DROP)
		l->dead = true;
	if (l->dead) {
		will_fail(w, i);
		return;
	}
	if (f == FAULT_MUTE)
		l->mute = true;
	if (f == FAULT_LATE) {
		exec = o->deadline + w->conf.late_min + world_between(w, 0, 3 * w->conf.lease);
		l->call_after = world_one_in(w, 4) ? 0 : exec;
		w->actor->notice(w->actor->ctx, NOTICE_LATE, o->poster, o->op.host);
	}
	if (exec < l->last_exec)
		exec = l->last_exec;
	exec += exec & 1;
	l->last_exec = exec;
	if (l->mute || exec >= o->deadline)
		will_fail(w, i);
	o->refs++;
	world_push(w, exec, EV_EXEC, o->op.host, i, 0);
}

/*
 * The caller of a step gives an operation its deadline from the step's clock. One
 * that comes to the post after it is REFUSED, unless the pause lay behind that check.
 */
static bool too_late(struct world *w, int64_t t, int64_t deadline)
{
	return t >= deadline && world_one_in(w, 2);
}

/* Post operation i at time t, or return its result. */
static void post_now(struct world *w, uint32_t i, int64_t t, enum world_fault f)
{
	struct world_op *o = &w->op[i];
	struct world_link *l = &w->link[o->poster][o->op.host];

	o->serial = l->serial;
	o->link = l->number;
	o->posted = t;
	/* Its compare was read on another link (step.h). */
	if (o->op.link && o->op.link != l->number)
		lose(w, i, STEP_REFUSED, t);
	else if (!l->up && w->conf.asides && o->op.kind == STEP_READ && w->host[o->op.host].up)
		read_aside(w, i, t);
	else if (!l->up || l->n == WORLD_DEPTH)
		lose(w, i, STEP_LOST, t);
	else if (too_late(w, t, o->deadline))
		lose(w, i, STEP_REFUSED, t);
	else
		send_op(w, l, i, t, f);
	op_put(w, i);
}

static void wait_for_room(struct world *w, uint32_t i)
{
	uint16_t a = w->op[i].poster, b = w->op[i].op.host;
	struct world_link *l = &w->link[a][b];
	int64_t t = w->now + world_between(w, 2 * w->conf.delay_max, 5 * w->conf.lease);

	if (l->waits == WORLD_DEPTH) {
		w->broken = "too many operations wait for room";
		return;
	}
	l->wait[l->waits++] = i;
	if (l->waits > 1)
		return;
	world_push(w, t, EV_POST, a, b, w->host[a].boot);
	/* Its target restarts meanwhile: there is a newer link, and the first words again. */
	if (w->conf.aimed && a != b && world_one_in(w, 2))
		world_push(w, world_between(w, w->now, t - w->conf.delay_max), EV_CRASH, b, 0, 0);
}

/* What waits for a link that has ended comes back before its process learns of the newer one. */
static void forget_waiting(struct world *w, struct world_link *l)
{
	uint32_t n = l->waits;

	l->waits = 0;
	for (uint32_t k = 0; k < n; k++) {
		struct world_op *o = &w->op[l->wait[k]];

		if (!o->op.link || o->op.link == l->number) {
			l->wait[l->waits++] = l->wait[k];
			continue;
		}
		o->link = o->op.link;
		lose(w, l->wait[k], STEP_LOST, w->now);
		op_put(w, l->wait[k]);
	}
}

static void post(struct world *w, uint16_t a, const struct step_op *op, int64_t deadline)
{
	enum world_fault f = world_draw_fault(w, op);
	uint32_t i = op_get(w);
	int64_t t;

	if (i == NONE)
		return;
	if (!world_word(w, op->host, op->offset)) {
		w->broken = "an operation names no word";
		return;
	}
	t = strike_before(w, f, a, op->host);
	w->op[i] = (struct world_op){ .op = *op,
				      .poster = a,
				      .boot = w->host[a].boot,
				      .decided = w->now,
				      .deadline = deadline,
				      .refs = 1 };
	if (f == FAULT_WAIT || w->link[a][op->host].waits)
		wait_for_room(w, i);
	else
		post_now(w, i, t, f);
	if (f == FAULT_CRASH_POSTER)
		world_crash(w, a, world_down_time(w));
	if (f == FAULT_STALL)
		world_pause(w, a, world_between(w, w->conf.delay_max, 4 * w->conf.lease));
	if (f == FAULT_CRASH_SENT) {
		world_crash(w, a, world_down_time(w));
		w->host[a].crashed_at = t;
	}
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
	for (uint32_t i = 0; i < w->out.n && h->boot == boot && !w->broken; i++)
		post(w, host, &w->out.op[i], deadline);
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
		op_put(w, i);
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
				      .old = o->old,
				      .now = o->now };
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

	struct world_effect e = effect_of(o);

	o->reported = true;
	if (!w->host[o->poster].up || w->host[o->poster].boot != o->boot)
		return;
	if (outcome == STEP_DONE && o->executed)
		w->actor->result(w->actor->ctx, &e);
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
		post_now(w, wait[k], w->now, FAULTS);
}

/* Does the poster have the result already, or will it not come through? */
static bool is_unreported(const struct world *w, const struct world_op *o)
{
	const struct world_link *l = &w->link[o->poster][o->op.host];

	return o->reported || l->mute || l->serial != o->serial;
}

static void execute_operation(struct world *w, struct world_op *o)
{
	uint64_t *word = world_word(w, o->op.host, o->op.offset);
	struct world_effect e;

	o->old = *word;
	o->executed = w->now;
	if (o->op.kind == STEP_CAS && *word == o->op.compare)
		*word = o->op.value;
	else if (o->op.kind == STEP_FAA)
		*word += o->op.value;
	o->now = *word;
	e = effect_of(o);
	w->actor->effect(w->actor->ctx, &e);
}

static void do_exec(struct world *w, const struct world_event *e)
{
	struct world_op *o = &w->op[e->value];
	struct world_link *l = &w->link[o->poster][o->op.host];
	const struct world_host *p = &w->host[o->poster], *h = &w->host[o->op.host];
	int64_t back;

	if (l->cut_until > w->now && o->poster != o->op.host) {
		will_fail(w, e->value);
		again(w, e, l->cut_until); /* and the others behind it, in order */
		return;
	}
	/* The poster has crashed before it could post: the operation does not exist. */
	if (!h->up || l->accepted != o->serial || (p->boot != o->boot && p->crashed_at < o->posted))
		goto out;
	if (o->crash && w->now < w->conf.faults_until) {
		world_crash(w, o->op.host, world_down_time(w));
		goto out;
	}
	back = w->now + world_between(w, w->conf.delay_min, w->conf.delay_max);
	if (back < l->last_result)
		back = l->last_result;
	if (!o->refuse)
		execute_operation(w, o);
	if (is_unreported(w, o))
		goto done;
	l->last_result = back;
	if (back >= o->deadline)
		goto out;
	come_back(w, e->value, o->refuse ? STEP_REFUSED : STEP_DONE, back);
	goto done;
out:
	if (!o->reported)
		will_fail(w, e->value);
done:
	/* The READ was late, and makes room on its link now. */
	if (o->reported && l->up && l->serial == o->serial)
		link_forget(w, l, e->value);
	op_put(w, e->value);
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
	op_put(w, e->value);
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
		will_fail(w, e->value); /* the result does not come through */
	} else if (!o->reported) {
		link_forget(w, l, e->value);
		deliver_result(w, e->value, o->outcome);
	}
	op_put(w, e->value);
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
		op_put(w, gone[k]);
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
	forget_waiting(w, l);
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
		op_put(w, h->lost[--h->lost_n]);
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
			op_put(w, l->out[k]);
		}
		l->n = 0;
		while (l->waits)
			op_put(w, l->wait[--l->waits]);
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
		w->op[i].next_free = i + 1 < WORLD_OPS ? i + 1 : NONE;
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
