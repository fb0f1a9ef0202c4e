// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * update: from a wish to "done": broadcast, acknowledgements, transaction, end.
 *
 * cache.h has the rules, and tests/model/cache.pml (`updater`) searches them.
 */
#include <string.h>

#include "src/cache/broken.h"
#include "src/cache/update.h"
#include "src/reconf/put.h"

enum { PLACES = 512, KINDS = 2, MESSAGE = 0, ACKS = 1 };

void update_init(struct update *u, const struct update_conf *c)
{
	memset(u, 0, sizeof(*u));
	u->conf = *c;
}

/* --- which homes have agreed ------------------------------------------------------------ */

/*
 * R7 a, b: it does not matter which host removed it, or when: out counts from when this host first
 * saw it, of this generation.
 */
static void note_outs(struct update *u, const struct update_look *look, struct mono now)
{
	for (uint16_t h = hostset_next(&look->rows, 0); h; h = hostset_next(&look->rows, h)) {
		bool is_out = !hostset_has(&look->members, h);
		bool was_out = hostset_has(&u->out, h);

		bool same = u->out_generation[h] == look->generation[h];

		if (is_out && (!was_out || !(same || IS_BROKEN(OUT_OF_EARLIER)))) {
			u->out_since[h] = now;
			u->out_generation[h] = look->generation[h];
		}
	}
	u->rows = look->rows;
	u->out = hostset_without(&look->rows, &look->members);
}

static bool counts_as_out(const struct update *u, uint16_t h, struct mono now)
{
	bool told = hostset_has(&u->told, h), waits = true;

	if (told && IS_BROKEN(NO_WAIT))
		waits = false;
	if (!told && IS_BROKEN(OUT_AT_ONCE))
		waits = false;
	return hostset_has(&u->out, h) &&
	       (!waits || mono_sub(now, u->out_since[h]) >= u->conf.wait_ns);
}

/* R4 a: each member has acknowledged, or is out; R7 b: and so is each that was not told. */
static bool all_agree(const struct update *u, struct mono now)
{
	for (uint16_t h = hostset_next(&u->rows, 0); h; h = hostset_next(&u->rows, h)) {
		if (!hostset_has(&u->acked, h) && !counts_as_out(u, h, now))
			return false;
	}
	return true;
}

struct hostset update_missing(const struct update *u)
{
	struct hostset waited = { 0 };

	if (u->state == UPDATE_ACKS)
		waited = hostset_without(&u->told, &u->acked);
	else if (u->state == UPDATE_TELLS)
		waited = u->todo;
	return hostset_without(&waited, &u->out);
}

/* --- from state to state ------------------------------------------------------- */

static void broadcast(struct update *u, const struct update_look *look, struct mono now)
{
	u->number++; /* also when the last attempt had no effect: its acks are not for this one */
	u->name = cache_update_name(look->fence, u->number);
	u->epoch = look->epoch;
	u->told = look->members;
	u->acked = (struct hostset){ 0 };
	u->todo = look->members;
	u->built = false;
	u->state = UPDATE_ACKS;
	u->next_read = mono_add(now, u->conf.check_ns);
	u->next_send = now;
}

static void looked(struct update *u, const struct update_look *look, struct mono now)
{
	bool same = u->epoch == look->epoch && cache_update_fence(u->name) == look->fence;

	note_outs(u, look, now);
	/* R4 d: its transaction would end without effect */
	if (u->state == UPDATE_ACKS && !same && !IS_BROKEN(WAITS_ON))
		u->state = UPDATE_LOOKS;
	if (u->state == UPDATE_LOOKS && hostset_has(&look->members, u->conf.self))
		broadcast(u, look, now);
	else if (u->state == UPDATE_TELLS) /* a home that is out forgets it */
		u->todo = hostset_both(&u->todo, &look->members);
}

/* R1 e: each home that got the update gets its end. */
static void end(struct update *u, enum update_result result, uint64_t transaction, struct mono now)
{
	u->state = UPDATE_TELLS;
	u->result = result;
	u->transaction = transaction;
	if (transaction)
		u->committed = transaction;
	u->todo = u->told;
	if (IS_BROKEN(END_UNTOLD))
		u->todo = (struct hostset){ 0 };
	u->built = false;
	u->next_send = now;
}

static void begin(struct update *u, const struct update_wish *w)
{
	if (u->state != UPDATE_IDLE || w->tags < 1 || w->tags > UPDATE_TAGS_MAX)
		return;
	u->message.tags = (uint16_t)w->tags;
	memcpy(u->message.tag, w->tag, w->tags * sizeof(w->tag[0]));
	u->state = UPDATE_LOOKS;
	u->result = UPDATE_NONE;
}

static void ask(struct update *u, const struct step_event *ev, struct mono now)
{
	bool commits = u->state == UPDATE_COMMITS, doubts = u->state == UPDATE_DOUBT;

	if (ev->what == UPDATE_BEGIN)
		begin(u, ev->wish);
	else if (ev->what == UPDATE_LOOKED)
		looked(u, ev->wish, now);
	else if (ev->what == UPDATE_COMMITTED && (commits || doubts))
		end(u, UPDATE_DONE, *(const uint64_t *)ev->wish, now);
	else if (ev->what == UPDATE_CHANGED && (commits || doubts))
		u->state = UPDATE_LOOKS; /* R5: anew. The next message says that this one ended */
	else if (ev->what == UPDATE_FAILED && commits)
		end(u, UPDATE_REFUSED, 0, now);
	else if (ev->what == UPDATE_UNKNOWN && commits && IS_BROKEN(DONE_IN_DOUBT))
		end(u, UPDATE_DONE, 1, now);
	else if (ev->what == UPDATE_UNKNOWN && commits)
		u->state = UPDATE_DOUBT; /* R6 d: no home is told before it is resolved */
}

/* --- results ------------------------------------------------------------------- */

static void acks_read(struct update *u, const struct step_event *ev)
{
	if (u->state != UPDATE_ACKS)
		return;
	/* R4 b: the word of this host names this attempt, not another one */
	for (uint16_t h = hostset_next(&u->told, 0); h; h = hostset_next(&u->told, h)) {
		if (h <= ev->words && ev->data[h - 1] == u->name)
			hostset_set(&u->acked, h, true);
	}
}

static void cut(struct update *u, const struct step_event *ev, uint16_t h)
{
	if ((ev->outcome == STEP_LOST || ev->outcome == STEP_UNKNOWN) && ev->link >= u->link[h])
		hostset_set(&u->up, h, false);
}

static void result(struct update *u, const struct step_event *ev, struct mono now)
{
	uint32_t tag = ev->tag - u->conf.tag;
	uint16_t h = (uint16_t)(tag % PLACES);

	if (ev->tag < u->conf.tag || tag >= UPDATE_STEP_TAGS || h >= UPDATE_HOSTS)
		return;
	if (tag / PLACES % KINDS == ACKS) {
		u->reads = false;
		if (ev->outcome == STEP_DONE)
			acks_read(u, ev);
		cut(u, ev, u->conf.self);
		return;
	}
	hostset_set(&u->sent, h, false);
	/* built: it was of the message of this state, or of the same round of it */
	if (ev->outcome == STEP_DONE && u->built && tag / PLACES / KINDS == u->round)
		hostset_set(&u->todo, h, false);
	else if (ev->outcome == STEP_REFUSED)
		u->next_send = mono_add(now, u->conf.check_ns);
	cut(u, ev, h);
}

static void new_link(struct update *u, const struct step_event *ev)
{
	if (ev->host >= UPDATE_HOSTS || ev->link <= u->link[ev->host])
		return;
	u->link[ev->host] = ev->link;
	hostset_set(&u->up, ev->host, true);
}

/* --- operations ---------------------------------------------------------------- */

static uint32_t tag_of(const struct update *u, uint32_t kind, uint16_t h)
{
	return u->conf.tag + (u->round * KINDS + kind) * PLACES + h;
}

/* Its bytes are on their way while a SEND is outstanding: then it waits. */
static void build(struct update *u)
{
	if (u->built || !hostset_empty(&u->sent))
		return;
	u->message.kind = u->state == UPDATE_ACKS ? UPDATE_MARK : UPDATE_END;
	u->message.slot = u->conf.slot;
	u->message.name = u->name;
	u->message.epoch = u->epoch;
	u->message.transaction = u->state == UPDATE_ACKS ? u->committed : u->transaction;
	u->round = (u->round + 1) % UPDATE_ROUNDS;
	u->built = true;
}

static void put_messages(struct update *u, struct step_out *out)
{
	struct hostset idle = hostset_without(&u->todo, &u->sent);

	idle = hostset_both(&idle, &u->up);
	for (uint16_t h = hostset_next(&idle, 0); h; h = hostset_next(&idle, h)) {
		struct step_op op = {
			.kind = STEP_SEND,
			.host = h,
			.len = sizeof(u->message),
			.data = &u->message,
			.tag = tag_of(u, MESSAGE, h),
		};

		if (!step_put(out, op))
			return;
		hostset_set(&u->sent, h, true);
	}
}

static void put_read(struct update *u, struct mono now, struct step_out *out)
{
	struct step_op op = {
		.kind = STEP_READ,
		.part = STEP_WORDS,
		.host = u->conf.self,
		.offset = u->conf.acks,
		.len = 8 * REGION_HOSTS_MAX,
		.tag = tag_of(u, ACKS, 0),
	};

	if (!step_put(out, op))
		return;
	u->reads = true;
	u->next_read = mono_add(now, u->conf.check_ns);
}

static bool talks(const struct update *u)
{
	return u->state == UPDATE_ACKS || u->state == UPDATE_TELLS;
}

static bool may_read(const struct update *u)
{
	return u->state == UPDATE_ACKS && !u->reads && hostset_has(&u->up, u->conf.self);
}

void update_step(struct update *u, const struct step_event *ev, struct mono now,
		 struct step_out *out)
{
	if (ev->type == STEP_RESULT)
		result(u, ev, now);
	else if (ev->type == STEP_LINK)
		new_link(u, ev);
	else if (ev->type == STEP_ASK)
		ask(u, ev, now);
	if (u->state == UPDATE_ACKS && (all_agree(u, now) || IS_BROKEN(NOT_AWAITED)))
		u->state = UPDATE_COMMITS;
	if (talks(u)) {
		build(u);
		if (u->built && now.ns >= u->next_send.ns)
			put_messages(u, out);
	}
	if (may_read(u) && now.ns >= u->next_read.ns)
		put_read(u, now, out);
	if (u->state == UPDATE_TELLS && hostset_empty(&u->todo) && hostset_empty(&u->sent))
		u->state = UPDATE_IDLE;
}

struct mono update_due(const struct update *u)
{
	struct hostset idle = hostset_without(&u->todo, &u->sent);
	struct mono due = { INT64_MAX };

	idle = hostset_both(&idle, &u->up);
	if (talks(u) && u->built && !hostset_empty(&idle))
		due = u->next_send;
	return may_read(u) ? mono_earlier(due, u->next_read) : due;
}

enum update_state update_state(const struct update *u)
{
	return u->state;
}

uint64_t update_name(const struct update *u)
{
	return u->name;
}

uint32_t update_epoch(const struct update *u)
{
	return u->epoch;
}

enum update_result update_result(const struct update *u)
{
	return u->result;
}
