// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * world_post: an operation from the step that put it out to its link. world.c calls it for each
 * operation of a step. The fault of an operation is drawn here, and happens when it arrives, in
 * world.c.
 */
#include <string.h>

#include "tests/shared/world_priv.h"

/* --- words ------------------------------------------------------- */

uint64_t *world_word(struct world *w, uint16_t host, uint32_t offset)
{
	uint32_t kind = offset / REGION_PAGE, i = offset % REGION_PAGE / 8;

	bool kept = kind == REGION_NODE_WORDS / REGION_PAGE && i >= REGION_NODES_MAX;

	i -= kept ? REGION_NODES_MAX : 0;
	if (host < 1 || host > w->conf.hosts || offset % 8 || kind >= WORLD_KINDS ||
	    i >= WORLD_WORDS)
		return NULL;
	return kept ? &w->host[host].kept[i] : &w->host[host].word[kind][i];
}

uint64_t *world_place(struct world *w, const struct step_op *op, uint32_t offset)
{
	if (w->actor->word)
		return w->actor->word(w->actor->ctx, op->host, op->part, offset);
	return world_word(w, op->host, offset);
}

/* --- operations -------------------------------------------------------------- */

static uint32_t op_get(struct world *w)
{
	uint32_t i = w->free_op;

	if (i == WORLD_NONE) {
		w->broken = "too many operations under way";
		return WORLD_NONE;
	}
	w->free_op = w->op[i].next_free;
	return i;
}

void world_op_put(struct world *w, uint32_t i)
{
	if (--w->op[i].refs)
		return;
	w->op[i].next_free = w->free_op;
	w->free_op = i;
}

void world_link_forget(struct world *w, struct world_link *l, uint32_t i)
{
	for (uint32_t k = 0; k < l->n; k++) {
		if (l->out[k] != i)
			continue;
		memmove(&l->out[k], &l->out[k + 1], (l->n - k - 1) * sizeof(l->out[0]));
		l->n--;
		world_op_put(w, i);
		return;
	}
}

void world_will_fail(struct world *w, uint32_t i)
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

void world_come_back(struct world *w, uint32_t i, enum step_outcome outcome, int64_t t)
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

	for (uint32_t k = 0; k < o->words; k++)
		o->data[k] = *world_place(w, &o->op, o->op.offset + 8 * o->place[k]);
	o->old = o->data[0];
	world_come_back(w, i, STEP_DONE, t + w->conf.delay_min);
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

/*
 * A READ of several words: some are read at exec, and the others when it returns, before the
 * deadline if it can be.
 */
static int64_t read_later(struct world *w, uint32_t i, int64_t exec)
{
	struct world_op *o = &w->op[i];
	int64_t limit = o->deadline - w->conf.delay_max - 2;
	int64_t later = exec + 2 * w->conf.delay_max;

	if (o->words < 2)
		return exec;
	o->split = (uint32_t)world_between(w, 1, o->words - 1);
	o->last_first = world_one_in(w, 2);
	o->refs++;
	world_push(w, exec, EV_EXEC, o->op.host, i, 1);
	if (later > limit || (w->conf.fault_in && world_one_in(w, 8)))
		later = limit;
	later = world_between(w, exec, later);
	return later + (later & 1);
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
		world_will_fail(w, i);
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
	exec = read_later(w, i, exec);
	l->last_exec = exec;
	if (l->mute || exec >= o->deadline)
		world_will_fail(w, i);
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

void world_post_now(struct world *w, uint32_t i, int64_t t, enum world_fault f)
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
	world_op_put(w, i);
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

void world_forget_waiting(struct world *w, struct world_link *l)
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
		world_op_put(w, l->wait[k]);
	}
}

/* The places of a READ where the world has words. */
static void find_words(struct world *w, struct world_op *o)
{
	uint32_t nodes = w->conf.nodes[o->op.host];

	for (uint32_t k = 0; o->op.kind == STEP_READ && k < o->op.len / 8; k++) {
		uint32_t offset = o->op.offset + 8 * k;
		bool none = nodes && offset >= REGION_NODE_WORDS &&
			    offset % REGION_PAGE / 8 % REGION_NODES_MAX >= nodes;

		if (none || !world_place(w, &o->op, offset))
			continue;
		if (o->words == WORLD_READ) {
			w->broken = "a READ has too many words";
			return;
		}
		o->place[o->words++] = k;
	}
}

/* Is it an operation that this world can execute? */
static bool is_known(struct world *w, const struct step_op *op)
{
	uint32_t words = op->kind == STEP_READ ? op->len / 8 : 0;
	uint32_t last = words ? op->offset + 8 * (words - 1) : op->offset;

	if (w->actor->word && op->kind == STEP_SEND)
		return op->len > 0 && op->len <= STEP_MESSAGE_MAX;
	if (op->len % 8 || words > REGION_WORDS_OF_KIND || (op->kind == STEP_READ && !words))
		return false;
	if (w->actor->word) /* a READ: find_words */
		return op->kind == STEP_READ || world_place(w, op, op->offset);
	return op->part == STEP_WORDS && op->kind != STEP_SEND && !op->allowed_ns &&
	       world_word(w, op->host, op->offset) && world_word(w, op->host, last) &&
	       op->offset / REGION_PAGE == last / REGION_PAGE;
}

void world_post(struct world *w, uint16_t a, const struct step_op *op, int64_t deadline)
{
	enum world_fault f = world_draw_fault(w, op);
	uint32_t i = op_get(w);
	int64_t t;

	if (i == WORLD_NONE)
		return;
	if (!is_known(w, op)) {
		w->broken = "an operation names no word, or this world has no such operations";
		return;
	}
	t = strike_before(w, f, a, op->host);
	w->op[i] = (struct world_op){ .op = *op,
				      .poster = a,
				      .boot = w->host[a].boot,
				      .decided = w->now,
				      .deadline = deadline,
				      .refs = 1 };
	find_words(w, &w->op[i]);
	if (op->kind == STEP_SEND)
		memcpy(w->message[i], op->data, op->len);
	if (f == FAULT_WAIT || w->link[a][op->host].waits)
		wait_for_room(w, i);
	else
		world_post_now(w, i, t, f);
	if (f == FAULT_CRASH_POSTER)
		world_crash(w, a, world_down_time(w));
	if (f == FAULT_STALL)
		world_pause(w, a, world_between(w, w->conf.delay_max, 4 * w->conf.lease));
	if (f == FAULT_CRASH_SENT) {
		world_crash(w, a, world_down_time(w));
		w->host[a].crashed_at = t;
	}
}
