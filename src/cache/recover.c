// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * recover: who is silent, and what this host does about it.
 *
 * cache.h has the rules, and tests/model/cache.pml (`world`) searches them. tests/cache runs it.
 */
#include <string.h>

#include "src/cache/broken.h"
#include "src/cache/recover.h"

enum {
	BACK_OFFS = 8, /* the longest back-off, in detects */
	STEADY = 8,    /* after so many detects as a member, the next join is made at once */
	FORGIVEN = 4,  /* a hang is forgiven once in so many detects */
	CHECKS = 4,    /* calls and questions in a detect */
};

static struct mono later(struct mono a, struct mono b)
{
	return a.ns > b.ns ? a : b;
}

static bool is_past(const struct recover *r, struct mono since, struct mono now)
{
	return mono_sub(now, since) >= r->conf.detect_ns;
}

/*
 * This host has hung: it has read neither acknowledgements nor messages. It reads them now. A host
 * that always hangs decides all the same.
 */
static void called(struct recover *r, struct mono now)
{
	int64_t detect = r->conf.detect_ns;

	if (mono_sub(now, r->called) > detect / 2 && mono_sub(now, r->hold) > FORGIVEN * detect)
		r->hold = mono_add(now, detect / 2);
	r->called = now;
}

void recover_init(struct recover *r, const struct recover_conf *c, struct mono now)
{
	memset(r, 0, sizeof(*r));
	r->conf = *c;
	r->called = now;
	r->left = now;
	r->hold = mono_add(now, -(FORGIVEN + 1) * c->detect_ns);
}

/* --- what is seen -------------------------------------------------------------- */

/* Another life of the host: it has had no time to answer yet. */
static void begin_again(struct recover *r, uint16_t h, struct mono now)
{
	for (uint32_t s = 0; s < r->conf.slots; s++)
		r->missing_since[s][h] = now;
	recover_heard(r, h, now);
}

static bool is_same_life(const struct recover *r, const struct recover_look *l, uint16_t h)
{
	return hostset_has(&r->members, h) && r->of[h] == l->generation[h];
}

void recover_looked(struct recover *r, const struct recover_look *l, struct mono now)
{
	called(r, now);
	if ((r->looks && l->began.ns < r->began.ns) || (r->member && l->began.ns < r->joined.ns))
		return;
	for (uint16_t h = hostset_next(&l->members, 0); h; h = hostset_next(&l->members, h))
		if (!is_same_life(r, l, h))
			begin_again(r, h, now);
	for (uint16_t h = hostset_next(&l->rows, 0); h; h = hostset_next(&l->rows, h))
		r->of[h] = l->generation[h];
	if (hostset_has(&l->rows, r->conf.self))
		recover_floors(r, l->generation[r->conf.self], l->fence[r->conf.self]);
	r->looks = true;
	r->began = l->began;
	r->members = l->members;
	r->removes = (struct hostset){ 0 };
	r->out = r->member && (!hostset_has(&l->members, r->conf.self) ||
			       r->of[r->conf.self] != r->generation || l->timeline != r->timeline);
}

void recover_missing(struct recover *r, uint16_t slot, const struct hostset *missing,
		     struct mono now)
{
	struct hostset news;

	called(r, now);
	if (slot >= r->conf.slots)
		return;
	news = hostset_without(missing, &r->missing[slot]);
	for (uint16_t h = hostset_next(&news, 0); h; h = hostset_next(&news, h))
		r->missing_since[slot][h] = now;
	r->missing[slot] = *missing;
}

void recover_pending(struct recover *r, uint16_t host, struct mono since, struct mono now)
{
	called(r, now);
	if (host < 1 || host >= UPDATE_HOSTS)
		return;
	hostset_set(&r->pending, host, since.ns != INT64_MAX);
	r->pending_since[host] = since;
}

void recover_heard(struct recover *r, uint16_t host, struct mono now)
{
	if (host < 1 || host >= UPDATE_HOSTS)
		return;
	r->heard[host] = now;
	hostset_set(&r->asks, host, false);
}

void recover_link(struct recover *r, uint16_t host, bool up, struct mono now)
{
	hostset_set(&r->up, host, up);
	if (up)
		recover_heard(r, host, now);
}

void recover_floors(struct recover *r, uint32_t generation, uint32_t fence)
{
	if (generation > r->floor_generation)
		r->floor_generation = generation;
	if (fence > r->floor_fence)
		r->floor_fence = fence;
}

uint32_t recover_floor_generation(const struct recover *r)
{
	return r->floor_generation;
}

uint32_t recover_floor_fence(const struct recover *r)
{
	return r->floor_fence;
}

/* --- membership of this host ---------------------------------------------------- */

void recover_joined(struct recover *r, uint64_t timeline, uint32_t generation, uint32_t fence,
		    struct mono now)
{
	r->joins = false;
	r->member = true;
	r->out = false;
	r->timeline = timeline;
	r->generation = generation;
	r->joined = now;
	recover_floors(r, generation, fence);
}

void recover_not_joined(struct recover *r, struct mono now)
{
	r->joins = false;
	r->retry = mono_add(now, r->conf.detect_ns / CHECKS);
}

static void leave(struct recover *r, struct mono now)
{
	int64_t detect = r->conf.detect_ns, twice = 2 * r->back_off;

	/* Members that do not reach it remove it again and again, and wait each time. */
	if (mono_sub(now, r->joined) >= STEADY * detect)
		r->back_off = 0;
	else
		r->back_off = twice < detect ? detect : twice;
	if (r->back_off > BACK_OFFS * detect)
		r->back_off = BACK_OFFS * detect;
	r->member = false;
	r->out = false;
	r->left = now;
}

/* Are there links to all members? Without them it would be removed soon. */
static bool reaches_all(const struct recover *r)
{
	struct hostset unreached = hostset_without(&r->members, &r->up);

	hostset_set(&unreached, r->conf.self, false);
	return hostset_empty(&unreached);
}

/* A member that is not reached may be dead, and nobody has noticed it. */
static bool may_join(const struct recover *r, struct mono now)
{
	return !r->joins && now.ns >= r->retry.ns && mono_sub(now, r->left) >= r->back_off &&
	       (reaches_all(r) || is_past(r, r->left, now));
}

/* --- members that are silent ---------------------------------------------------- */

/* R7 e: an update waits for it. The one that has waited longest. */
static bool is_awaited(const struct recover *r, uint16_t h, struct mono now, struct mono *since)
{
	since->ns = INT64_MAX;
	for (uint32_t s = 0; s < r->conf.slots; s++)
		if (hostset_has(&r->missing[s], h))
			*since = mono_earlier(*since, r->missing_since[s][h]);
	return !IS_BROKEN(NEVER_REMOVED) && since->ns != INT64_MAX && is_past(r, *since, now);
}

static struct mono silent_since(const struct recover *r, uint16_t h)
{
	return later(r->pending_since[h], r->heard[h]);
}

/* R6 e: its update is pending here, and it gives no sign of life. */
static bool is_dead(const struct recover *r, uint16_t h, struct mono now, struct mono *since)
{
	*since = silent_since(r, h);
	return !IS_BROKEN(DEAD_KEPT) && hostset_has(&r->pending, h) && is_past(r, *since, now) &&
	       hostset_has(&r->asks, h) && mono_sub(now, r->asked[h]) >= r->conf.detect_ns / 2;
}

struct hostset recover_asks(struct recover *r, struct mono now)
{
	struct hostset now_asked = { 0 };
	int64_t check = r->conf.detect_ns / CHECKS;

	called(r, now);
	for (uint16_t h = hostset_next(&r->pending, 0); h; h = hostset_next(&r->pending, h)) {
		if (h == r->conf.self || !hostset_has(&r->members, h) ||
		    mono_sub(now, silent_since(r, h)) < check)
			continue;
		if (!hostset_has(&r->asks, h)) {
			r->asked[h] = now;
			hostset_set(&r->asks, h, true);
		} else if (mono_sub(now, r->asked_again[h]) < check) {
			continue;
		}
		r->asked_again[h] = now;
		hostset_set(&now_asked, h, true);
	}
	return now_asked;
}

static bool next_removal(struct recover *r, struct mono now, struct recover_act *act)
{
	struct hostset others = hostset_without(&r->members, &r->removes);

	hostset_set(&others, r->conf.self, false);
	for (uint16_t h = hostset_next(&others, 0); h; h = hostset_next(&others, h)) {
		act->is_missing = is_awaited(r, h, now, &act->since);
		if (!act->is_missing && !is_dead(r, h, now, &act->since))
			continue;
		act->what = RECOVER_REMOVE;
		act->host = h;
		act->generation = r->of[h];
		hostset_set(&r->removes, h, true);
		return true;
	}
	return false;
}

/* --- what to do -------------------------------------------------------------------- */

void recover_next(struct recover *r, struct mono now, struct recover_act *act)
{
	called(r, now);
	*act = (struct recover_act){ .what = RECOVER_NOTHING };
	if (!r->looks)
		return;
	if (r->member && r->out && !IS_BROKEN(OUT_UNNOTICED)) {
		leave(r, now);
		act->what = RECOVER_LEAVE;
	} else if (!r->member && may_join(r, now)) {
		r->joins = true;
		act->what = RECOVER_JOIN;
	} else if (!r->member || now.ns < r->hold.ns || !next_removal(r, now, act)) {
		*act = (struct recover_act){ .what = RECOVER_NOTHING };
	}
}

/* Since when an update waits for a member that is not being removed. INT64_MAX: none does. */
static struct mono awaited_since(const struct recover *r)
{
	struct hostset others = hostset_without(&r->members, &r->removes);
	struct mono first = { INT64_MAX };

	hostset_set(&others, r->conf.self, false);
	for (uint32_t s = 0; r->member && s < r->conf.slots; s++) {
		struct hostset waited = hostset_both(&r->missing[s], &others);

		for (uint16_t h = hostset_next(&waited, 0); h; h = hostset_next(&waited, h))
			first = mono_earlier(first, r->missing_since[s][h]);
	}
	return first;
}

bool recover_suspects(const struct recover *r, struct mono now)
{
	struct mono since = awaited_since(r);

	return since.ns != INT64_MAX && mono_sub(now, since) >= r->conf.detect_ns / 2;
}

struct mono recover_due(const struct recover *r)
{
	bool waits = !r->member || r->out || !hostset_empty(&r->pending);
	struct mono since = awaited_since(r), due = { INT64_MAX };

	for (uint32_t s = 0; !waits && s < r->conf.slots; s++)
		waits = !hostset_empty(&r->missing[s]);
	if (waits)
		due = mono_add(r->called, r->conf.detect_ns / CHECKS);
	/* Not a check later: updates wait for it. */
	if (since.ns != INT64_MAX)
		due = mono_earlier(due, later(mono_add(since, r->conf.detect_ns), r->hold));
	return due;
}
