// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * run_app: what an application server's owner does: looks, beats, joins, removals, updates. The
 * fills are in run_fill.c.
 */
#include <string.h>

#include "tests/cache/vt/run_priv.h"

uint64_t run_tag(uint32_t i)
{
	uint64_t x = i + 1;

	return (x * 0x9e3779b97f4a7c15ull) ^ x << 61;
}

static struct run_app *app_of(struct run *r, uint16_t host)
{
	return &r->app[host];
}

bool run_app_is_open(const struct run_app *a)
{
	return a->home.state == HOME_OPEN;
}

/* --- a process begins ------------------------------------------------------------ */

static void boot_home(const struct run *r, struct run_app *a, uint16_t host)
{
	struct home_conf c = { .self = host,
			       .members = RUN_APPS,
			       .slots = RUN_SLOTS,
			       .words = RUN_WORDS,
			       .listings = r->room,
			       .log = r->log,
			       .acks = RUN_ACKS,
			       .stride = RUN_STRIDE,
			       .tag = RUN_T_HOME,
			       .check_ns = RUN_CHECK,
			       .word = a->word,
			       .log_word = &a->log_word };

	if (home_bytes(&c) > sizeof(a->block) || !home_init(&a->home, &c, a->block))
		__builtin_trap();
}

void run_app_boot(struct run *r, uint16_t host, struct mono now)
{
	struct run_app *a = app_of(r, host);
	struct recover_conf rc = { .self = host, .slots = RUN_SLOTS, .detect_ns = RUN_DETECT };
	uint32_t wishes = a->wishes, done = a->done;
	bool is_gone = a->is_gone;

	memset(a, 0, offsetof(struct run_app, block));
	a->wishes = wishes;
	a->done = done;
	a->is_gone = is_gone;
	boot_home(r, a, host);
	recover_init(&a->recover, &rc, now);
	for (uint16_t s = 0; s < RUN_SLOTS; s++) {
		struct update_conf c = { .self = host,
					 .slot = s,
					 .tag = RUN_T_UPDATE + (uint32_t)s * UPDATE_STEP_TAGS,
					 .acks = RUN_ACKS + (uint32_t)s * RUN_STRIDE,
					 .check_ns = RUN_CHECK,
					 .wait_ns = fresh_wait_ns(RUN_FRESH, r->drift_ppm) };

		update_init(&a->update[s], &c);
	}
	run_fill_boot(r, host, now);
	a->next_look = now;
}

/* --- messages of the owner ------------------------------------------------------- */

void run_app_send(struct run_app *a, uint16_t host, const void *message, uint32_t len,
		  struct step_out *out)
{
	for (uint32_t i = 0; i < RUN_SENDS; i++) {
		struct step_op op = { .kind = STEP_SEND,
				      .host = host,
				      .len = len,
				      .data = a->send[i].bytes,
				      .tag = RUN_T_SEND + i };

		if (a->send[i].busy)
			continue;
		if (out->n >= STEP_OPS_MAX || len > sizeof(a->send[i].bytes))
			return;
		memcpy(a->send[i].bytes, message, len);
		out->op[out->n++] = op;
		a->send[i].busy = true;
		return;
	}
}

static void was_sent(struct run_app *a, const struct step_event *ev)
{
	uint32_t i = ev->tag - RUN_T_SEND;

	if (ev->type == STEP_RESULT && i < RUN_SENDS)
		a->send[i].busy = false;
}

static void answer_messages(struct run *r, uint16_t host, const struct step_event *ev,
			    struct mono now, struct step_out *out)
{
	struct run_app *a = app_of(r, host);
	struct home_answer registered;
	struct fresh_answer clock;
	struct update_message m;

	if (home_reply(&a->home, ev, &registered)) {
		run_note(r, "registers", host, registered.refusal, registered.version,
			 registered.serial);
		r->sums.refused[registered.refusal]++;
		if (registered.refusal == HOME_FULL)
			home_evict(&a->home, (uint32_t)between(r, 1, RUN_WORDS - 1));
		run_app_send(a, ev->host, &registered, sizeof(registered), out);
	} else if (fresh_reply(ev->message, ev->len, now, &clock)) {
		run_app_send(a, ev->host, &clock, sizeof(clock), out);
		/* R7 h: who asked is late to take it */
		if (r->kind >= RUN_PAUSES && !r->quiet && !run_is_app(ev->host) && one_in(r, 32))
			world_pause(&r->w, ev->host, between(r, 0, 2 * RUN_FRESH));
	} else if (ev->len == sizeof(m)) {
		memcpy(&m, ev->message, sizeof(m));
		run_note(r, m.kind == UPDATE_MARK ? "gets a mark of" : "gets an end of", host,
			 ev->host, m.slot, m.name);
	}
}

/* --- looks, and the beat --------------------------------------------------------- */

static void look(struct run *r, uint16_t host, struct mono now)
{
	struct run_app *a = app_of(r, host);

	if (a->looks || (now.ns < a->next_look.ns && !a->wants_look))
		return;
	a->wants_look = false;
	a->next_look = mono_add(now, RUN_LOOK);
	if (!IS_BROKEN(STAMPED_AT_STORE))
		fresh_look(&a->look, now);
	a->looks = run_call(r, &(struct db_wish){ .kind = DB_LOOK, .host = host });
}

/* R7 f: as a member of this generation, and no other one */
static bool is_member(const struct run_app *a, uint16_t host, const struct run_call *c)
{
	const struct db_row *row = &c->result.row[host];

	if (c->end != RUN_CALL_DONE || !run_app_is_open(a) || !row->is || !row->in)
		return false;
	return row->generation == a->recover.generation || IS_BROKEN(OPEN_BEFORE_JOIN);
}

static void store_beat(struct run *r, uint16_t host, uint64_t beat)
{
	struct run_app *a = app_of(r, host);

	a->beat = beat;
	run_note(r, "beats", host, beat, 0, 0);
	if (r->kind == RUN_REMOVALS && !r->quiet && one_in(r, 16))
		run_remove_now(r, host);
}

/* The loop may be stopped between the look's end and the store. */
static void beat(struct run *r, uint16_t host, const struct run_call *c, struct mono now)
{
	struct run_app *a = app_of(r, host);
	uint64_t word;
	int64_t ns;

	if (IS_BROKEN(STAMPED_AT_STORE))
		fresh_look(&a->look, now);
	word = fresh_found(&a->look, is_member(a, host, c));
	if (!word)
		return;
	if (r->quiet || (r->kind != RUN_PAUSES && r->kind != RUN_STORM) || !one_in(r, 16)) {
		store_beat(r, host, word);
		return;
	}
	a->held = word;
	a->held_boot = r->w.host[host].boot;
	ns = between(r, RUN_FRESH / 2, 5 * RUN_FRESH);
	run_timer(r, ns, RUN_EV_STORE, host);
	world_pause(&r->w, host, ns);
}

void run_app_store(struct run *r, uint16_t host)
{
	struct run_app *a = app_of(r, host);

	if (r->w.host[host].up && a->held && a->held_boot == r->w.host[host].boot)
		store_beat(r, host,
			   IS_BROKEN(STAMPED_AT_STORE) ? (uint64_t)world_clock(&r->w, host).ns
						       : a->held);
	a->held = 0;
}

static void tell_updates(struct run *r, uint16_t host, const struct update_look *l, struct mono now,
			 struct step_out *out)
{
	const struct step_event ev = { .type = STEP_ASK, .what = UPDATE_LOOKED, .wish = l };

	for (uint32_t s = 0; s < RUN_SLOTS; s++)
		update_step(&app_of(r, host)->update[s], &ev, now, out);
}

static void looked(struct run *r, uint16_t host, const struct run_call *c, struct mono now,
		   struct step_out *out)
{
	struct run_app *a = app_of(r, host);
	uint32_t generation[UPDATE_HOSTS] = { 0 }, fence[UPDATE_HOSTS] = { 0 };
	uint64_t raised[UPDATE_HOSTS] = { 0 };
	struct recover_look rl = { .began = c->began, .generation = generation, .fence = fence };
	struct home_look hl = { .fence = fence, .raised = raised };
	struct update_look ul = { .epoch = c->result.epoch, .generation = generation };
	const struct step_event ev = { .type = STEP_ASK, .what = HOME_LOOKED, .wish = &hl };

	beat(r, host, c, now);
	if (c->end != RUN_CALL_DONE)
		return;
	for (uint16_t h = 1; h <= RUN_APPS; h++) {
		const struct db_row *row = &c->result.row[h];

		hostset_set(&rl.rows, h, row->is);
		hostset_set(&rl.members, h, row->in);
		generation[h] = row->generation;
		fence[h] = row->fence;
		raised[h] = row->raised;
	}
	hl.rows = ul.rows = rl.rows;
	ul.members = rl.members;
	if (!is_member(a, host, c) && !IS_BROKEN(BEGUN_BEFORE_JOIN))
		hostset_set(&ul.members, host, false); /* R6 a */
	ul.fence = fence[host];
	recover_looked(&a->recover, &rl, now);
	home_step(&a->home, &ev, now, out);
	tell_updates(r, host, &ul, now, out);
}

/* --- updates ---------------------------------------------------------------------- */

static uint64_t some_tags(struct run *r)
{
	uint64_t tags = 0;

	for (int64_t n = between(r, 1, 3); n > 0; n--)
		tags |= 1ull << between(r, 0, RUN_TAGS - 1);
	return tags;
}

static void wish(struct run *r, uint16_t host, struct mono now, struct step_out *out)
{
	struct run_app *a = app_of(r, host);
	uint64_t tag[RUN_TAGS];
	struct update_wish w = { .tag = tag };
	const struct step_event ev = { .type = STEP_ASK, .what = UPDATE_BEGIN, .wish = &w };

	for (uint32_t s = 0; s < RUN_SLOTS; s++) {
		if (update_state(&a->update[s]) != UPDATE_IDLE || a->call_of[s])
			continue;
		a->tags[s] = some_tags(r);
		for (uint32_t i = 0; i < RUN_TAGS; i++)
			if (a->tags[s] >> i & 1)
				tag[w.tags++] = run_tag(i);
		a->asked[s] = r->w.now;
		a->wishes++;
		update_step(&a->update[s], &ev, now, out);
		a->wants_look = true;
		return;
	}
}

/* The transaction, or its resolution, of a slot that waits for one. */
static void serve_slot(struct run *r, uint16_t host, uint32_t s)
{
	struct run_app *a = app_of(r, host);
	const struct update *u = &a->update[s];
	struct db_wish w = { .host = host, .slot = (uint16_t)s, .name = update_name(u) };

	if (a->call_of[s])
		return;
	if (update_state(u) == UPDATE_COMMITS) {
		w.kind = DB_UPDATE;
		w.epoch = update_epoch(u);
		w.tags = a->tags[s];
		w.whole = one_in(r, 3);
		w.fails = one_in(r, 16);
	} else if (update_state(u) == UPDATE_DOUBT && !IS_BROKEN(DOUBT_KEPT)) {
		w.kind = DB_RESOLVE;
		w.whole = true;
	} else {
		return;
	}
	run_note(r, w.kind == DB_UPDATE ? "sends" : "resolves", host, w.name, w.tags, w.epoch);
	a->call_of[s] = run_call(r, &w);
}

static uint32_t answer_of(const struct run_call *c, enum db_kind kind)
{
	if (kind == DB_RESOLVE) {
		if (c->end != RUN_CALL_DONE)
			return UPDATE_UNKNOWN; /* nothing: it is resolved again */
		return c->result.transaction ? UPDATE_COMMITTED : UPDATE_CHANGED;
	}
	switch (c->end) {
	case RUN_CALL_DONE:
		return UPDATE_COMMITTED;
	case RUN_CALL_FAILED:
		return UPDATE_FAILED;
	case RUN_CALL_UNKNOWN:
		return UPDATE_UNKNOWN;
	default:
		return UPDATE_CHANGED;
	}
}

/* DEATH: of a write of a host that lives */
static void check_delay(struct run *r, uint16_t host, int64_t ns)
{
	if ((uint64_t)ns > r->sums.longest)
		r->sums.longest = (uint64_t)ns;
	if (ns > r->delay_ns)
		run_fail(r, RUN_DELAY, "a write of host %u took %lld us; %lld are allowed", host,
			 (long long)ns / NS_PER_US, (long long)r->delay_ns / NS_PER_US);
}

static void ended(struct run *r, uint16_t host, uint32_t s, const struct run_call *c,
		  enum db_kind kind, struct mono now, struct step_out *out)
{
	struct run_app *a = app_of(r, host);
	const struct step_event ev = { .type = STEP_ASK,
				       .what = answer_of(c, kind),
				       .wish = &c->result.transaction };
	enum update_state was = update_state(&a->update[s]);

	a->call_of[s] = 0;
	r->sums.unknown += ev.what == UPDATE_UNKNOWN;
	r->sums.changed += ev.what == UPDATE_CHANGED;
	run_note(r, "ends", host, update_name(&a->update[s]), ev.what, c->result.transaction);
	update_step(&a->update[s], &ev, now, out);
	a->wants_look |= update_state(&a->update[s]) == UPDATE_LOOKS;
	if (was == update_state(&a->update[s]) || update_state(&a->update[s]) != UPDATE_TELLS)
		return;
	a->done++;
	if (r->kind == RUN_DEATH && update_result(&a->update[s]) == UPDATE_DONE &&
	    host != r->victim)
		check_delay(r, host, r->w.now - a->asked[s]);
}

/* --- membership ------------------------------------------------------------------ */

static void join(struct run *r, uint16_t host, struct mono now)
{
	struct run_app *a = app_of(r, host);

	home_join(&a->home);
	a->changes = run_call(
		r, &(struct db_wish){ .kind = DB_JOIN, .host = host, .whole = one_in(r, 2) });
	if (!a->changes)
		recover_not_joined(&a->recover, now);
}

static void joined(struct run *r, uint16_t host, const struct run_call *c, struct mono now)
{
	struct run_app *a = app_of(r, host);
	const struct db_row *row = &c->result.row[host];

	if (c->end != RUN_CALL_DONE ||
	    !home_open(&a->home, row->generation, c->result.epoch, c->result.transaction)) {
		recover_not_joined(&a->recover, now);
		return;
	}
	recover_joined(&a->recover, 0, row->generation, row->fence, now);
	a->wants_look = true;
}

static void leave(struct run *r, uint16_t host)
{
	struct run_app *a = app_of(r, host);

	run_note(r, "leaves", host, 0, 0, 0);
	home_close(&a->home);
	if (!IS_BROKEN(REJOIN_AS_WAS))
		a->beat = 0;
}

static void remove_member(struct run *r, uint16_t host, const struct recover_act *act)
{
	struct run_app *a = app_of(r, host);

	run_note(r, act->is_missing ? "removes a silent one" : "removes a dead one", host,
		 act->host, act->generation, 0);
	r->sums.removals++;
	a->changes = run_call(r, &(struct db_wish){ .kind = DB_REMOVE,
						    .host = host,
						    .whole = true,
						    .target = act->host,
						    .generation = act->generation });
}

static void recovers(struct run *r, uint16_t host, struct mono now, struct step_out *out)
{
	struct run_app *a = app_of(r, host);
	struct fresh_question q = { .kind = FRESH_QUESTION };
	struct hostset asks;
	struct recover_act act;

	for (uint16_t h = 1; h <= RUN_APPS; h++)
		recover_pending(&a->recover, h, home_pending_of(&a->home, h), now);
	for (uint16_t s = 0; s < RUN_SLOTS; s++) {
		struct hostset missing = update_missing(&a->update[s]);

		recover_missing(&a->recover, s, &missing, now);
	}
	asks = recover_asks(&a->recover, now);
	for (uint16_t h = hostset_next(&asks, 0); h; h = hostset_next(&asks, h))
		run_app_send(a, h, &q, sizeof(q), out);
	if (a->changes)
		return;
	recover_next(&a->recover, now, &act);
	if (act.what == RECOVER_JOIN)
		join(r, host, now);
	else if (act.what == RECOVER_LEAVE)
		leave(r, host);
	else if (act.what == RECOVER_REMOVE)
		remove_member(r, host, &act);
}

/* --- the loop --------------------------------------------------------------------- */

static void told(struct run *r, uint16_t host, uint32_t of, struct mono now, struct step_out *out)
{
	struct run_app *a = app_of(r, host);
	uint32_t i;
	const struct run_call *c = run_call_told(r, host, of, &i);

	if (!c)
		return;
	if (a->looks == i + 1) {
		a->looks = 0;
		looked(r, host, c, now, out);
		return;
	}
	if (a->changes == i + 1) {
		a->changes = 0;
		if (r->db.call[i].wish.kind == DB_JOIN)
			joined(r, host, c, now);
		else
			a->wants_look = true;
		return;
	}
	for (uint32_t s = 0; s < RUN_SLOTS; s++)
		if (a->call_of[s] == i + 1)
			ended(r, host, s, c, r->db.call[i].wish.kind, now, out);
}

static void asked(struct run *r, uint16_t host, uint32_t what, struct mono now,
		  struct step_out *out)
{
	struct run_app *a = app_of(r, host);

	if (run_event(what) == RUN_EV_TOLD)
		told(r, host, run_of(what), now, out);
	else if (run_event(what) == RUN_EV_WISH)
		wish(r, host, now, out);
	else if (run_event(what) == RUN_EV_EVICT)
		home_evict(&a->home, run_of(what));
}

void run_app_step(struct run *r, uint16_t host, const struct step_event *ev, struct mono now,
		  struct step_out *out)
{
	struct run_app *a = app_of(r, host);

	if (ev->type == STEP_MESSAGE || ev->type == STEP_LINK)
		recover_heard(&a->recover, ev->host, now);
	if (ev->type == STEP_LINK)
		recover_link(&a->recover, ev->host, true, now);
	if (ev->type == STEP_RESULT && (ev->outcome == STEP_LOST || ev->outcome == STEP_UNKNOWN))
		recover_link(&a->recover, ev->host, false, now);
	was_sent(a, ev);
	if (ev->type == STEP_MESSAGE)
		answer_messages(r, host, ev, now, out);
	if (ev->type == STEP_ASK) {
		asked(r, host, ev->what, now, out);
	} else {
		home_step(&a->home, ev, now, out);
		for (uint32_t s = 0; s < RUN_SLOTS; s++)
			update_step(&a->update[s], ev, now, out);
	}
	run_fill_step(r, host, ev, now, out);
	look(r, host, now);
	for (uint32_t s = 0; s < RUN_SLOTS; s++)
		serve_slot(r, host, s);
	recovers(r, host, now, out);
}

struct mono run_app_due(const struct run *r, uint16_t host)
{
	const struct run_app *a = &r->app[host];
	struct mono due = mono_earlier(home_due(&a->home), run_fill_due(a));

	for (uint32_t s = 0; s < RUN_SLOTS; s++)
		due = mono_earlier(due, update_due(&a->update[s]));
	if (!a->looks)
		due = mono_earlier(due, a->next_look);
	if (!a->changes)
		due = mono_earlier(due, recover_due(&a->recover));
	return due;
}
