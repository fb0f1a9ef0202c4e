// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * move_locks: rules 1 to 4 of a move, from its counter to both locks.
 *
 * This is the part of a move that waits: for its own counter, then for two locks that other hosts
 * may hold, or may have died with. move.c calls the function of the current state at each event.
 * The paper (choose.c) has one lock, of the loaded service; the donor's lock is added because its
 * nodes are counted against its minimum, and another balancer could move them meanwhile.
 */
#include <errno.h>
#include <string.h>

#include "src/reconf/move_priv.h"

/* --- 1 and 2: the counter, the donor ------------------------------------------------ */

static void read_counter(struct move *m, enum move_state next, struct mono now,
			 struct step_out *out)
{
	struct step_event ev = { .type = STEP_ASK, .what = COUNTER_LOOK };

	counter_step(&m->counter[m->service], &ev, now, out);
	m->state = next;
}

/* For so long a home, or our own counter, may fail to answer. */
static int64_t answer_ns(const struct move *m)
{
	return lock_break_ns(&m->lock[0].conf) + m->conf.check_ns;
}

static bool is_adoption(const struct move_wish *wish)
{
	return wish->why == MOVE_FOR_ADOPTION || wish->why == MOVE_FOR_ADOPTION_ORDERED;
}

static bool is_sound(const struct move *m, uint32_t service, const struct move_wish *wish,
		     struct mono now)
{
	if (wish->node >= m->in->nodes)
		return false;
	/* rule: a node in no service is adopted when no host may act that counted it before */
	if (is_adoption(wish))
		return mono_sub(now, wish->since) >= lock_break_ns(&m->lock[0].conf);
	return wish->donor < m->in->services && wish->donor != service;
}

void move_begin(struct move *m, uint32_t service, const struct move_wish *wish, struct mono now,
		struct step_out *out)
{
	if (m->state != MOVE_IDLE || service >= m->in->services)
		return;
	m->trace = (struct move_trace){ .told = 0 };
	for (uint32_t i = 0; i < MOVE_PHASES; i++)
		m->trace.at[i].ns = -1;
	/*
	 * The donor's lock was watched in that move, so its break is known already. Another donor's
	 * would have to be watched from the beginning: a dead holder would delay each move.
	 */
	m->busy = m->result == MOVE_BUSY && m->service == service;
	if (!m->busy)
		m->donor = service;
	m->service = service;
	m->wished = wish;
	m->adopts = wish && is_adoption(wish);
	if (wish)
		m->wish = *wish;
	if (m->adopts)
		m->donor = service;
	/* If there is no quorum, this stays as the result. */
	m->result = MOVE_VIEW;
	/* rule: not quorate: nothing is decided */
	if (!m->quorate)
		return;
	if (wish && !is_sound(m, service, wish, now)) {
		m->result = MOVE_NOT_WISHED;
		return;
	}
	m->result = MOVE_NONE;
	m->patience = mono_add(now, answer_ns(m));
	m->yields = false;
	read_counter(m, MOVE_LOOKS, now, out);
}

/* rule: after a donor's lock was not acquired in time, keep that donor */
static int choose_donor(struct move *m)
{
	if (m->adopts)
		return 0;
	if (m->wished) {
		m->donor = m->wish.donor;
		return move_spares(m->in, &m->members, m->donor) ? 0 : -ENOENT;
	}
	if (m->busy && move_gives(m->in, &m->members, m->service, m->donor))
		return 0;
	return move_donor(m->in, &m->members, m->service, &m->donor);
}

void move_end(struct move *m, enum move_result r)
{
	m->result = r;
	m->state = MOVE_IDLE;
}

/* Is there no link to a balancer that must be notified? */
static bool unreachable(const struct move *m, uint32_t k)
{
	struct hostset s = move_to_notify(m, k);

	s = hostset_both(&s, &m->down);
	return !hostset_empty(&s);
}

/*
 * The paper, 3.1.3: only load that stayed high for T moves a node. Order and adoption do not go by
 * load.
 */
static bool is_wanted(const struct move *m)
{
	return (m->wished && m->wish.why != MOVE_FOR_LOAD) ||
	       counter_high_for_t(&m->counter[m->service]);
}

void move_looks(struct move *m, struct mono now)
{
	switch (counter_state(&m->counter[m->service])) {
	case COUNTER_LOOKING:
		if (mono_sub(now, m->patience) >= 0)
			move_end(m, MOVE_UNREACHED);
		break;
	case COUNTER_UNREAD:
		move_end(m, MOVE_UNREACHED);
		break;
	case COUNTER_AHEAD:
		move_end(m, MOVE_COUNTER_AHEAD);
		break;
	case COUNTER_EQUAL:
		if (!is_wanted(m)) {
			move_end(m, MOVE_CALM);
		} else if (choose_donor(m) < 0) {
			move_end(m, MOVE_NO_DONOR);
		} else if (unreachable(m, 0) || unreachable(m, 1)) {
			/* Otherwise each check would announce again, and hosts never reach T. */
			move_end(m, MOVE_NOT_NOTIFIED);
		} else {
			m->yields = !m->adopts; /* one lock: there is no second to be seen */
			m->state = MOVE_LOCKS;
		}
		break;
	}
}

/* --- 3 and 4: both locks, the counter again ------------------------------------------- */

/*
 * The first lock is acquired so long before the second can be broken, at most. A check at most:
 * another host may have met the second lock earlier, and needs the first when it can break the
 * second. Half a lease at most: what is left is for the move.
 */
static int64_t early_ns(const struct move *m)
{
	int64_t half = m->conf.hold_ns / 2;

	return m->conf.check_ns < half ? m->conf.check_ns : half;
}

/*
 * rule: do not acquire the first lock before the second was seen; and do not keep the first
 * from others for longer than a check before the second can be broken
 */
static bool yield_locks(struct move *m, struct lock *const l[2], struct mono now,
			struct step_out *out)
{
	bool unseen = m->yields && !lock_seen(l[1]);
	struct mono breaks = now, from = now;
	bool unchanged = lock_unchanged(l[1], &breaks);

	/* What matters is what is left of the first lease when the second lock can be broken. */
	if (lock_state(l[0]) == LOCK_HELD)
		from = mono_add(lock_until(l[0]), -m->conf.hold_ns);
	if (unchanged)
		m->patience = mono_add(now, answer_ns(m));
	m->ask = unchanged ? mono_add(breaks, -early_ns(m)) : m->patience;
	m->yields = (unchanged || unseen) && mono_sub(m->ask, from) > 0;
	/*
	 * Watching, not waiting: others may acquire meanwhile, and this move still knows how long
	 * each word is unchanged.
	 */
	for (uint32_t i = 0; i < 2 && m->yields; i++) {
		if (lock_state(l[i]) != LOCK_WATCHING)
			move_ask_lock(l[i], LOCK_RELEASE, now, out);
		move_ask_lock(l[i], LOCK_WATCH, now, out);
	}
	return m->yields;
}

void move_locks(struct move *m, struct mono now, struct step_out *out)
{
	struct lock *l[2];
	bool first;

	move_locks_of(m, l);
	if (!m->adopts && yield_locks(m, l, now, out))
		return;
	move_ask_lock(l[0], LOCK_ACQUIRE, now, out);
	first = lock_may_act(l[0], now, 0);
	if (first)
		move_ask_lock(l[1], LOCK_ACQUIRE, now, out);
	/*
	 * The home answers, and another host holds the lock: that is no reason to give up. Watch
	 * the second meanwhile, so that a host that died with both costs one break, not two.
	 */
	if (lock_blocked(l[0])) {
		if (!m->adopts)
			move_ask_lock(l[1], LOCK_WATCH, now, out);
		m->patience = mono_add(now, answer_ns(m));
	}
	if (move_may_act(m, now)) {
		/*
		 * Acquired in different views. A node is fenced when its word has the epoch of the
		 * locks (move_nodes.c), so the two must have one.
		 */
		if (region_seq_epoch(lock_fence(l[0])) != region_seq_epoch(lock_fence(l[1])))
			move_unlock(m, MOVE_OVERTAKEN, now, out);
		else /* rule: look at the counter again under the locks */
			read_counter(m, MOVE_LOOKS_AGAIN, now, out);
	} else if (lock_state(l[0]) == LOCK_HELD ? !first : mono_sub(now, m->patience) >= 0) {
		move_unlock(m, MOVE_BUSY, now, out);
	}
}

void move_looks_again(struct move *m, struct mono now, struct step_out *out)
{
	enum counter_state s = counter_state(&m->counter[m->service]);

	if (s == COUNTER_LOOKING)
		return;
	if (s == COUNTER_UNREAD) {
		move_unlock(m, MOVE_UNREACHED, now, out);
	} else if (s == COUNTER_AHEAD) {
		move_unlock(m, MOVE_COUNTER_AHEAD, now, out);
	} else if (s == COUNTER_EQUAL && !is_wanted(m)) {
		/* rule: load high for T: it may have fallen while we waited for the locks */
		move_unlock(m, MOVE_CALM, now, out);
	} else {
		m->sweeps = 0;
		memset(m->before, 0, sizeof(m->before));
		m->dirty = false;
		move_start_count(m);
	}
}
