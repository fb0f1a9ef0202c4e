// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * run_call: clients of the database. What they send may come late, also after they have died or
 * given up, or never; so may the answer. A client that gives up, or whose process has died, closes
 * its connection; the database notices it, or ends the transaction when it has been idle (R5 d).
 */
#include "tests/cache/vt/run_priv.h"

enum { TO, FROM, INDEX_BITS = 7 };

_Static_assert(DB_CALLS <= 1 << INDEX_BITS, "the index of a call fits");

static uint32_t name_of(const struct run *r, uint32_t i)
{
	return i | r->call[i].serial << INDEX_BITS;
}

static void later(struct run *r, uint32_t i, int64_t in, uint32_t event)
{
	r->call[i].events++;
	run_timer(r, in, event, name_of(r, i));
}

/* Those of which nothing is under way any more. */
static void free_ended(struct run *r)
{
	for (uint32_t i = 0; i < DB_CALLS; i++)
		if (!r->call[i].client && !r->call[i].events && r->db.call[i].state == DB_ENDED)
			db_free(&r->db, i);
}

/*
 * How long what is sent now is under way; -1: it never arrives. A connection has an order: sends.
 */
static int64_t travels(struct run *r, int way, uint16_t host)
{
	int64_t cut = r->db_cut[way][host] - r->w.now, d = between(r, 100, 2000) * NS_PER_US;

	if (cut > 0)
		return one_in(r, 2) ? -1 : cut + d;
	if (!r->quiet && r->commit_in && one_in(r, 16 * (uint64_t)r->commit_in))
		d += between(r, RUN_SQL, 4 * RUN_FRESH);
	return d;
}

/* What the client sends comes behind what it has sent before, and not if that is lost. */
static void sends(struct run *r, uint32_t i, uint32_t event, int64_t delay)
{
	struct run_call *c = &r->call[i];
	int64_t d = travels(r, TO, r->db.call[i].wish.host);

	if (d < 0 || c->sent_until == INT64_MAX) {
		c->sent_until = INT64_MAX;
		return;
	}
	if (r->w.now + d + delay > c->sent_until)
		c->sent_until = r->w.now + d + delay;
	later(r, i, c->sent_until - r->w.now, event);
}

/* --- the database --------------------------------------------------------------- */

static void answer(struct run *r, uint32_t i)
{
	int64_t d = travels(r, FROM, r->db.call[i].wish.host);

	if (r->call[i].client && d >= 0)
		later(r, i, d, RUN_EV_ANSWER);
}

static void ended(void *ctx, uint32_t i)
{
	struct run *r = ctx;

	if (r->db.call[i].wish.kind == DB_REMOVE)
		r->app[r->db.call[i].wish.host].wants_look = true;
	if (r->db.call[i].state == DB_OPEN)
		later(r, i, RUN_IDLE, RUN_EV_IDLE);
	answer(r, i);
}

/* What takes effect, in the order in which it does. */
static void committed(void *ctx, uint32_t i)
{
	struct run *r = ctx;
	const struct db_call *c = &r->db.call[i];

	if (c->wish.kind == DB_JOIN) {
		r->sums.joins++;
		run_note(r, "joins", c->wish.host, c->row.generation, c->row.fence, r->db.epoch);
		return;
	}
	r->sums.commits++;
	run_note(r, "commits", c->wish.host, c->wish.name, c->wish.tags, r->db.commits);
	if (!r->call[i].client || r->call[i].boot != r->w.host[c->wish.host].boot)
		run_note(r, "(its client has gone)", c->wish.host, 0, 0, 0);
}

void run_call_init(struct run *r)
{
	r->db.ended = ended;
	r->db.committed = committed;
	r->db.ctx = r;
}

/* --- the client ------------------------------------------------------------------- */

uint32_t run_call(struct run *r, const struct db_wish *w)
{
	uint32_t i;

	free_ended(r);
	i = db_new(&r->db, w);

	if (i == DB_CALLS)
		return 0;
	r->call[i] = (struct run_call){ .serial = (r->call[i].serial + 1) & 0x1ffff,
					.boot = r->w.host[w->host].boot,
					.client = true,
					.sent = w->whole,
					.began = world_clock(&r->w, w->host) };
	sends(r, i, RUN_EV_ARRIVE, 0);
	if (r->call[i].sent_until == INT64_MAX)
		r->db.call[i].state = DB_ENDED; /* it never comes there */
	later(r, i, RUN_SQL, RUN_EV_GIVE_UP);
	return i + 1;
}

/* The client gets the end of its call, and the loop of its host is woken. */
static void tell(struct run *r, uint32_t i, enum run_call_end end)
{
	struct run_call *c = &r->call[i];

	if (!c->client || c->told)
		return;
	c->told = true;
	c->end = end;
	c->result = r->db.call[i].result;
	run_tell(r, r->db.call[i].wish.host, RUN_EV_TOLD, name_of(r, i));
}

/* The connection is lost, as the client sees it. */
static void lose(struct run *r, uint32_t i)
{
	if (r->call[i].told)
		return;
	tell(r, i, r->call[i].sent ? RUN_CALL_UNKNOWN : RUN_CALL_LOST);
	r->call[i].sent = true; /* and nothing is sent any more */
	sends(r, i, RUN_EV_CLOSE, 0);
}

/* A fault at the COMMIT of an update: the client dies, hangs or loses its connection. */
static bool strikes(struct run *r, uint32_t i)
{
	uint16_t host = r->db.call[i].wish.host;

	if (r->quiet || r->db.call[i].wish.kind != DB_UPDATE || !one_in(r, r->commit_in))
		return false;
	switch (world_random(&r->w) % 4) {
	case 0:
		run_crash(r, host, between(r, 1, one_in(r, 2) ? NS_PER_MS : 4 * RUN_FRESH));
		return true;
	case 1:
		world_pause(&r->w, host, between(r, RUN_FRESH, 5 * RUN_FRESH));
		return false;
	case 2:
		lose(r, i);
		return true;
	default:
		r->db_cut[world_random(&r->w) % 2][host] = r->w.now +
							   between(r, RUN_LOOK, 4 * RUN_FRESH);
		return false;
	}
}

/*
 * COMMIT is late, and its transaction has its locks so long. Meanwhile another home comes back, or
 * the client's row is raised.
 */
static int64_t delays(struct run *r, uint32_t i)
{
	uint16_t host = r->db.call[i].wish.host;
	uint16_t other = host % RUN_APPS + 1;

	if (r->quiet || r->db.call[i].wish.kind != DB_UPDATE || !one_in(r, r->commit_in))
		return 0;
	if (one_in(r, 2) && r->kind != RUN_REMOVALS)
		run_crash(r, other, between(r, 1, NS_PER_MS));
	else
		run_remove(r, other, host);
	return between(r, RUN_IDLE / 4, RUN_IDLE);
}

static void send_commit(struct run *r, uint32_t i)
{
	if (strikes(r, i) || !r->call[i].client || r->call[i].told) /* before COMMIT */
		return;
	r->call[i].sent = true;
	sends(r, i, RUN_EV_COMMIT, delays(r, i));
	strikes(r, i); /* it is on its way */
}

static bool is_two_part(const struct db_call *c)
{
	return (c->wish.kind == DB_JOIN || c->wish.kind == DB_UPDATE) && !c->wish.whole;
}

/* An answer has come to the client's host. */
static void answered(struct run *r, uint32_t i)
{
	struct db_call *c = &r->db.call[i];
	bool end_known = c->committed || !is_two_part(c);

	if (r->call[i].boot != r->w.host[c->wish.host].boot || !r->call[i].client)
		return;
	if (r->app[c->wish.host].stopped_until > r->w.now) {
		later(r, i, r->app[c->wish.host].stopped_until - r->w.now, RUN_EV_ANSWER);
		return;
	}
	if (c->result.end == DB_CHANGED)
		tell(r, i, RUN_CALL_CHANGED);
	else if (c->result.end == DB_FAILED)
		tell(r, i, RUN_CALL_FAILED);
	else if (c->result.end == DB_ABORTED)
		lose(r, i);
	else if (end_known)
		tell(r, i, RUN_CALL_DONE);
	else if (!r->call[i].sent)
		send_commit(r, i);
}

/* --- events ----------------------------------------------------------------------- */

static void commit_arrives(struct run *r, uint32_t i)
{
	db_commit(&r->db, i); /* or it was aborted before */
	strikes(r, i);	      /* before the answer */
	answer(r, i);
}

void run_call_event(struct run *r, uint32_t event, uint32_t of)
{
	uint32_t i = of & (DB_CALLS - 1);

	r->call[i].events--;
	if (event == RUN_EV_ARRIVE)
		db_arrive(&r->db, i);
	else if (event == RUN_EV_ANSWER)
		answered(r, i);
	else if (event == RUN_EV_COMMIT)
		commit_arrives(r, i);
	else if (event == RUN_EV_GIVE_UP && r->call[i].client)
		lose(r, i);
	else if (event == RUN_EV_IDLE)
		db_abort(&r->db, i);
	else if (event == RUN_EV_CLOSE)
		db_close(&r->db, i);
}

struct run_call *run_call_told(struct run *r, uint16_t host, uint32_t of, uint32_t *index)
{
	uint32_t i = of & (DB_CALLS - 1);
	struct run_call *c = &r->call[i];

	if (name_of(r, i) != of || !c->client || c->boot != r->w.host[host].boot)
		return NULL;
	c->client = false;
	*index = i;
	return c;
}

void run_call_crashed(struct run *r, uint16_t host)
{
	bool silent = one_in(r, 4); /* the machine, not only the process */

	for (uint32_t i = 0; i < DB_CALLS; i++) {
		if (r->db.call[i].state == DB_FREE || r->db.call[i].wish.host != host ||
		    !r->call[i].client)
			continue;
		r->call[i].client = false;
		if (!silent)
			sends(r, i, RUN_EV_CLOSE, 0);
	}
}

void run_call_lose(struct run *r, uint16_t host)
{
	for (uint32_t i = 0; i < DB_CALLS; i++) {
		bool his = !host || r->db.call[i].wish.host == host;

		if (r->db.call[i].state != DB_FREE && his && r->call[i].client)
			lose(r, i);
	}
}
