// SPDX-License-Identifier: GPL-2.0-or-later
/* db: a database in virtual time. See db.h. */
#include <string.h>

#include "src/cache/broken.h"
#include "tests/cache/vt/db.h"

void db_init(struct db *d, uint64_t first)
{
	memset(d, 0, sizeof(*d));
	d->epoch = 1;
	d->next = first;
	d->newest = first - 1;
}

uint32_t db_new(struct db *d, const struct db_wish *w)
{
	for (uint32_t i = 0; i < DB_CALLS; i++) {
		if (d->call[i].state != DB_FREE)
			continue;
		d->call[i] = (struct db_call){ .state = DB_SENT, .wish = *w };
		return i;
	}
	return DB_CALLS;
}

void db_free(struct db *d, uint32_t call)
{
	d->call[call].state = DB_FREE;
}

/* --- locks --------------------------------------------------------------------- */

static bool is_open(const struct db_call *c, enum db_kind kind)
{
	return c->state == DB_OPEN && c->wish.kind == kind;
}

/* R5 c: FOR SHARE stops who wants to change the row, and the other way round. */
static bool shares_epoch(const struct db_call *c)
{
	return is_open(c, DB_UPDATE) && !IS_BROKEN(EPOCH_KEY_SHARE);
}

static bool shares_row(const struct db_call *c, uint16_t host)
{
	return is_open(c, DB_UPDATE) && c->wish.host == host && !IS_BROKEN(ROW_KEY_SHARE);
}

static bool is_in_the_way(const struct db_call *c, const struct db_wish *w)
{
	bool joins = is_open(c, DB_JOIN), own_row = c->wish.host == w->host;

	switch (w->kind) {
	case DB_JOIN:
		return joins || shares_epoch(c) || shares_row(c, w->host);
	case DB_UPDATE:
		return joins &&
		       (!IS_BROKEN(EPOCH_KEY_SHARE) || (own_row && !IS_BROKEN(ROW_KEY_SHARE)));
	case DB_REMOVE:
		return (joins && c->wish.host == w->target) || shares_row(c, w->target);
	case DB_RESOLVE:
		return (joins && own_row) || shares_row(c, w->host);
	default:
		return false;
	}
}

static bool must_wait(const struct db *d, const struct db_wish *w)
{
	for (uint32_t i = 0; i < DB_CALLS; i++)
		if (is_in_the_way(&d->call[i], w))
			return true;
	return false;
}

/* --- statements ---------------------------------------------------------------- */

static uint64_t new_transaction(struct db *d, struct db_call *c)
{
	c->transaction = d->next++;
	return c->transaction;
}

static void has_ended(struct db *d, const struct db_call *c)
{
	if (c->transaction > d->newest)
		d->newest = c->transaction;
}

static void raise(struct db *d, uint16_t host, const struct db_call *c)
{
	d->row[host].fence++;
	d->row[host].raised = c->transaction;
}

static enum db_end run_join(struct db *d, struct db_call *c)
{
	c->row = d->row[c->wish.host];
	c->row.is = c->row.in = true;
	c->row.generation++;
	c->row.fence++;
	c->row.raised = new_transaction(d, c);
	c->result.epoch = d->epoch + !IS_BROKEN(JOIN_UNRAISED);
	c->result.row[c->wish.host] = c->row;
	c->result.transaction = c->transaction;
	return DB_DONE;
}

static enum db_end run_remove(struct db *d, struct db_call *c)
{
	struct db_row *r = &d->row[c->wish.target];

	if (!r->in || r->generation != c->wish.generation)
		return DB_CHANGED;
	new_transaction(d, c);
	raise(d, c->wish.target, c);
	r->in = false;
	has_ended(d, c);
	return DB_DONE;
}

static enum db_end run_resolve(struct db *d, struct db_call *c)
{
	uint16_t host = c->wish.host;

	new_transaction(d, c);
	raise(d, host, c);
	has_ended(d, c);
	c->result.transaction = d->done[host][c->wish.slot].name == c->wish.name
					? d->done[host][c->wish.slot].transaction
					: 0;
	return DB_DONE;
}

/* R5 a, b */
static bool is_same(const struct db *d, const struct db_wish *w)
{
	bool same_epoch = d->epoch == w->epoch || IS_BROKEN(EPOCH_UNCHECKED);
	bool same_row = d->row[w->host].fence == cache_update_fence(w->name) ||
			IS_BROKEN(ROW_UNCHECKED);

	return same_epoch && same_row;
}

static enum db_end run_update(struct db *d, struct db_call *c)
{
	if (!is_same(d, &c->wish))
		return DB_CHANGED;
	new_transaction(d, c);
	if (!c->wish.fails)
		return DB_DONE;
	has_ended(d, c);
	return DB_FAILED;
}

static enum db_end run_look(struct db *d, struct db_call *c)
{
	c->result.epoch = d->epoch;
	memcpy(c->result.row, d->row, sizeof(d->row));
	return DB_DONE;
}

/* --- a transaction ends --------------------------------------------------------- */

static void take_effect(struct db *d, struct db_call *c)
{
	const struct db_wish *w = &c->wish;

	if (w->kind == DB_JOIN) {
		d->epoch += !IS_BROKEN(JOIN_UNRAISED); /* R6 a */
		d->row[w->host] = c->row;
	} else if (w->kind == DB_UPDATE) {
		d->done[w->host][w->slot].name = w->name;
		d->done[w->host][w->slot].transaction = c->transaction;
		if (d->commits < DB_COMMITS)
			d->touched[++d->commits] = w->tags;
		c->result.transaction = c->transaction;
	}
	c->committed = true;
	has_ended(d, c);
	d->committed(d->ctx, (uint32_t)(c - d->call));
}

/* The first of those that wait, if nothing is in its way any more. */
static struct db_call *next_waiting(struct db *d)
{
	struct db_call *first = NULL;

	for (uint32_t i = 0; i < DB_CALLS; i++) {
		struct db_call *c = &d->call[i];

		if (c->state == DB_WAITS && !must_wait(d, &c->wish) &&
		    (!first || c->order < first->order))
			first = c;
	}
	return first;
}

static void abort_call(struct db *d, struct db_call *c)
{
	c->state = DB_ENDED;
	c->result.end = DB_ABORTED;
	has_ended(d, c);
}

static void run(struct db *d, struct db_call *c)
{
	bool gone = c->closed && !c->wish.whole && !IS_BROKEN(TX_KEPT);
	static enum db_end (*const statements[])(struct db *, struct db_call *) = {
		run_look, run_join, run_remove, run_resolve, run_update
	};
	bool opens = c->wish.kind == DB_JOIN || c->wish.kind == DB_UPDATE;

	if (gone) {
		abort_call(d, c);
		return;
	}
	c->result.end = statements[c->wish.kind](d, c);
	c->state = opens && c->result.end == DB_DONE ? DB_OPEN : DB_ENDED;
	if (c->state == DB_OPEN && c->wish.whole) {
		take_effect(d, c);
		c->state = DB_ENDED;
	}
	d->ended(d->ctx, (uint32_t)(c - d->call));
}

static void go_on(struct db *d)
{
	for (struct db_call *c = next_waiting(d); c; c = next_waiting(d))
		run(d, c);
}

void db_arrive(struct db *d, uint32_t call)
{
	struct db_call *c = &d->call[call];

	if (c->state != DB_SENT)
		return;
	c->state = DB_WAITS;
	c->order = d->orders++;
	go_on(d);
}

bool db_commit(struct db *d, uint32_t call)
{
	struct db_call *c = &d->call[call];

	if (c->state != DB_OPEN)
		return false;
	take_effect(d, c);
	c->state = DB_ENDED;
	go_on(d);
	return true;
}

void db_abort(struct db *d, uint32_t call)
{
	struct db_call *c = &d->call[call];

	/* R5 d */
	if (c->state != DB_OPEN || IS_BROKEN(TX_KEPT))
		return;
	abort_call(d, c);
	go_on(d);
}

void db_close(struct db *d, uint32_t call)
{
	d->call[call].closed = true;
	db_abort(d, call);
}

void db_restart(struct db *d)
{
	for (uint32_t i = 0; i < DB_CALLS; i++)
		if (d->call[i].state == DB_OPEN || d->call[i].state == DB_WAITS)
			abort_call(d, &d->call[i]);
}

/* --- snapshots ------------------------------------------------------------------- */

void db_snapshot(const struct db *d, struct home_snapshot *s, uint64_t *running)
{
	*s = (struct home_snapshot){ .oldest = d->newest + 1,
				     .next = d->newest + 1,
				     .running = running };
	for (uint32_t i = 0; i < DB_CALLS; i++) {
		uint64_t t = d->call[i].transaction;

		if (d->call[i].state != DB_OPEN || t == 0 || t >= s->next)
			continue;
		running[s->n++] = t;
		s->oldest = t < s->oldest ? t : s->oldest;
	}
}

uint32_t db_touched(const struct db *d, uint64_t tags, bool all, uint32_t position)
{
	for (uint32_t i = position; i > 0; i--)
		if (all || d->touched[i] & tags)
			return i;
	return 0;
}
