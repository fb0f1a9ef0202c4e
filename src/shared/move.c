// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * move: the step function of one reconfiguration.
 *
 * Every event first goes to the locks and counters; then its result, if it is of an
 * operation of ours, is noted; then advance() runs the state's own function until
 * the state stays. Operations of one state have one round number in their tags:
 * results of what was given up are thus known as such.
 */
#include <errno.h>
#include <string.h>

#include "src/shared/broken.h"
#include "src/shared/move.h"
#include "src/shared/put.h"

enum {
	TAGS_COUNTERS = MOVE_SERVICES_MAX * LOCK_TAGS,
	TAGS_OWN = TAGS_COUNTERS + MOVE_SERVICES_MAX * COUNTER_TAGS,
	ROUNDS = 1 << 14,
};

static_assert(TAGS_OWN + ROUNDS * MOVE_NODES_MAX <= MOVE_TAGS, "tags");
static_assert(MOVE_NODES_MAX >= 2 * 64, "announcements have tags of nodes");

/* Of a node in this round. */
enum at { AT_OUT, AT_DUE, AT_UNDERWAY, AT_DONE, AT_BAD };

static const struct mono NEVER = { INT64_MAX };

void move_init(struct move *m, const struct move_conf *c, const struct move_view *in,
	       struct lock *lock, struct counter *counter)
{
	memset(m, 0, sizeof(*m));
	m->conf = *c;
	m->in = in;
	m->lock = lock;
	m->counter = counter;
	for (uint32_t i = 0; i < in->services; i++) {
		lock_init(&lock[i], &(struct lock_conf){
					    .self = c->self,
					    .service = in->service[i].id,
					    .tag = c->tag + i * LOCK_TAGS,
					    .hold_ns = c->hold_ns,
					    .deadline_ns = c->deadline_ns,
					    .drift_ppm = c->drift_ppm,
					    .check_ns = c->check_ns,
					    .seed = c->seed,
				    });
		counter_init(&counter[i], &(struct counter_conf){
						  .self = c->self,
						  .service = in->service[i].id,
						  .tag = c->tag + TAGS_COUNTERS + i * COUNTER_TAGS,
						  .checks = c->checks,
					  });
	}
}

/* --- small questions ----------------------------------------------------------- */

static uint16_t id_of(const struct move *m, uint32_t service)
{
	return m->in->service[service].id;
}

static bool member(const struct move *m, uint16_t host)
{
	return m->members >> (host - 1) & 1;
}

static bool of_both(const struct move *m, uint64_t word)
{
	uint16_t id = region_word_id(word);

	return id == id_of(m, m->service) || id == id_of(m, m->donor);
}

/* The two locks, in the order in which they are taken. */
static void locks_of(const struct move *m, struct lock *l[2])
{
	/* rule: two locks in ascending service id */
	bool swap = id_of(m, m->donor) < id_of(m, m->service);

	if (SHARED_BROKEN(DESCENDING_ORDER) && m->conf.self % 2)
		swap = !swap;
	l[0] = &m->lock[swap ? m->donor : m->service];
	l[1] = &m->lock[swap ? m->service : m->donor];
	/* rule: the donor's lock too */
	if (SHARED_BROKEN(ONE_LOCK))
		l[0] = l[1] = &m->lock[m->service];
}

/* rule: done before hold */
static bool may_act(const struct move *m, struct mono now)
{
	struct lock *l[2];

	locks_of(m, l);
	return lock_may_act(l[0], now, 0) && lock_may_act(l[1], now, 0);
}

static bool unclean(const struct move *m)
{
	struct lock *l[2];

	locks_of(m, l);
	return lock_unclean(l[0]) || lock_unclean(l[1]);
}

static void mark(struct move *m, bool is_unclean)
{
	struct lock *l[2];

	locks_of(m, l);
	lock_mark(l[0], is_unclean);
	lock_mark(l[1], is_unclean);
}

static uint16_t epoch(const struct move *m)
{
	return lock_epoch(lock_fence(&m->lock[m->service]));
}

/* What a node's word becomes: count + 1, the locks' epoch. */
static uint64_t changed(const struct move *m, uint64_t word, uint16_t id)
{
	uint32_t count = (uint32_t)region_word_seq(word) + 1;

	return region_word(id, (uint64_t)epoch(m) << 32 | count);
}

/* The other balancers of service (0) and donor (1), bit h - 1. */
static uint64_t to_tell(const struct move *m, uint32_t k)
{
	uint64_t self = 1ull << (m->conf.self - 1);

	/* rule: a balancer that is no member was removed, the others must be told */
	if (k == 0)
		return m->in->service[m->service].balancers & m->members & ~self;
	return m->in->service[m->donor].balancers & m->members;
}

/* --- operations ------------------------------------------------------------------- */

static void new_round(struct move *m)
{
	m->round++;
	m->waited = 0;
	m->full = false;
}

static bool put(struct move *m, struct step_op op, uint32_t index, struct step_out *out)
{
	op.tag = m->conf.tag + TAGS_OWN + m->round % ROUNDS * MOVE_NODES_MAX + index;
	m->full = !step_put(out, op);
	if (!m->full)
		m->waited++;
	return !m->full;
}

/* Is this result of an operation of this round? Then of which. */
static bool ours(struct move *m, const struct step_event *ev, uint32_t *index)
{
	uint32_t tag = ev->tag - m->conf.tag - TAGS_OWN;

	if (ev->type != STEP_RESULT || m->waited == 0 || ev->tag < m->conf.tag + TAGS_OWN ||
	    tag / MOVE_NODES_MAX != m->round % ROUNDS)
		return false;
	*index = tag % MOVE_NODES_MAX;
	m->waited--;
	return true;
}

static void put_node(struct move *m, enum step_kind kind, uint32_t i, uint64_t value,
		     struct step_out *out)
{
	const struct move_node *n = &m->in->node[i];
	struct step_op op = {
		.kind = kind,
		.host = n->host,
		.offset = region_node_offset(n->node),
		.compare = kind == STEP_CAS ? m->word[i] : 0,
		.value = value,
	};

	if (put(m, op, i, out))
		m->at[i] = AT_UNDERWAY;
}

static void ask_lock(struct lock *l, uint32_t what, struct mono now, struct step_out *out)
{
	lock_step(l, &(struct step_event){ .type = STEP_ASK, .what = what }, now, out);
}

static void look(struct move *m, enum move_state next, struct mono now, struct step_out *out)
{
	struct step_event ev = { .type = STEP_ASK, .what = COUNTER_LOOK };

	counter_step(&m->counter[m->service], &ev, now, out);
	m->state = next;
}

static void unlock(struct move *m, enum move_result r, struct mono now, struct step_out *out)
{
	struct lock *l[2];

	locks_of(m, l);
	m->result = r;
	m->state = MOVE_UNLOCKS;
	new_round(m);
	ask_lock(l[0], LOCK_RELEASE, now, out);
	ask_lock(l[1], LOCK_RELEASE, now, out);
}

/* --- 1 to 4: the counter and the locks -------------------------------------------- */

static int64_t patience(const struct move *m)
{
	return lock_break_ns(&m->lock[0].conf) + m->conf.check_ns;
}

static void begin(struct move *m, uint32_t service, struct mono now, struct step_out *out)
{
	if (m->state != MOVE_IDLE || service >= m->in->services)
		return;
	m->busy = m->result == MOVE_BUSY && m->service == service;
	if (!m->busy)
		m->donor = service;
	m->service = service;
	m->result = MOVE_VIEW;
	/* rule: not quorate: nothing is decided */
	if (!m->quorate && !SHARED_BROKEN(MINORITY_DECIDES))
		return;
	m->result = MOVE_NONE;
	m->patience = mono_add(now, patience(m));
	m->yields = false;
	look(m, MOVE_LOOKS, now, out);
}

/* rule: who could not have a donor's lock in time goes on with that donor */
static int choose_donor(struct move *m)
{
	if (m->busy && move_gives(m->in, m->members, m->service, m->donor))
		return 0;
	return move_donor(m->in, m->members, m->service, &m->donor);
}

static void end(struct move *m, enum move_result r)
{
	m->result = r;
	m->state = MOVE_IDLE;
}

static void start_locks(struct move *m)
{
	m->yields = true;
	m->state = MOVE_LOCKS;
}

static void looks(struct move *m, struct mono now)
{
	switch (counter_state(&m->counter[m->service])) {
	case COUNTER_LOOKING:
		if (mono_sub(now, m->patience) >= 0)
			end(m, MOVE_UNREACHED);
		break;
	case COUNTER_NONE:
		end(m, MOVE_UNREACHED);
		break;
	case COUNTER_AHEAD:
		end(m, MOVE_TOLD);
		break;
	case COUNTER_EQUAL:
		if (!counter_high_for_t(&m->counter[m->service]))
			end(m, MOVE_CALM);
		else if (choose_donor(m) < 0)
			end(m, MOVE_NO_DONOR);
		else if (((to_tell(m, 0) | to_tell(m, 1)) & m->down) != 0)
			end(m, MOVE_UNTOLD); /* else others were told, again and again, in vain */
		else
			start_locks(m);
		break;
	}
}

/*
 * rule: nobody takes the first lock before it has seen the second; and who cannot have the
 * second within a lease does not keep the first from others
 */
static bool yields(struct move *m, struct lock *const l[2], struct mono now, struct step_out *out)
{
	bool unseen = m->yields && !lock_seen(l[1]) && !SHARED_BROKEN(FIRST_IN_VAIN);
	struct mono breaks = now, from = now;
	bool stands = lock_stands(l[1], &breaks);

	if (lock_state(l[0]) == LOCK_HELD)
		from = mono_add(lock_until(l[0]), -m->conf.hold_ns);
	if (stands)
		m->patience = mono_add(now, patience(m));
	m->ask = stands ? mono_add(breaks, -m->conf.hold_ns / 2) : m->patience;
	m->yields = (stands || unseen) && mono_sub(m->ask, from) > 0;
	for (uint32_t i = 0; i < 2 && m->yields; i++) {
		if (lock_state(l[i]) != LOCK_WATCHING)
			ask_lock(l[i], LOCK_RELEASE, now, out);
		ask_lock(l[i], LOCK_WATCH, now, out);
	}
	return m->yields;
}

static void locks(struct move *m, struct mono now, struct step_out *out)
{
	struct lock *l[2];
	bool first;

	locks_of(m, l);
	if (yields(m, l, now, out))
		return;
	ask_lock(l[0], LOCK_ACQUIRE, now, out);
	first = lock_may_act(l[0], now, 0);
	if (first)
		ask_lock(l[1], LOCK_ACQUIRE, now, out);
	if (lock_blocked(l[0])) {
		ask_lock(l[1], LOCK_WATCH, now, out);
		m->patience = mono_add(now, patience(m));
	}
	if (may_act(m, now)) {
		if (lock_epoch(lock_fence(l[0])) != lock_epoch(lock_fence(l[1])))
			unlock(m, MOVE_OVERTAKEN, now, out);
		else /* rule: look at the counter again under the locks */
			look(m, MOVE_LOOKS_AGAIN, now, out);
	} else if (lock_state(l[0]) == LOCK_HELD ? !first : mono_sub(now, m->patience) >= 0) {
		unlock(m, MOVE_BUSY, now, out);
	}
}

static void start_count(struct move *m)
{
	new_round(m);
	for (uint32_t i = 0; i < m->in->nodes; i++)
		m->at[i] = member(m, m->in->node[i].host) ? AT_DUE : AT_OUT;
	m->state = MOVE_COUNTS;
}

static void looks_again(struct move *m, struct mono now, struct step_out *out)
{
	const struct counter *c = &m->counter[m->service];
	enum counter_state s = counter_state(c);

	if (s == COUNTER_LOOKING)
		return;
	if (s == COUNTER_NONE) {
		unlock(m, MOVE_UNREACHED, now, out);
	} else if (s == COUNTER_AHEAD && !SHARED_BROKEN(COUNTER_UNCHECKED)) {
		unlock(m, MOVE_TOLD, now, out);
	} else if (s == COUNTER_EQUAL && !counter_high_for_t(c)) {
		/* rule: load high for T; it may have fallen while the locks were waited for */
		unlock(m, MOVE_CALM, now, out);
	} else {
		m->sweeps = 0;
		memset(m->before, 0, sizeof(m->before));
		m->dirty = false;
		start_count(m);
	}
}

/* --- 5 to 7: count, sweep, count again, choose -------------------------------------- */

static bool round_over(const struct move *m)
{
	return m->waited == 0 && !m->full;
}

/*
 * Fenced is a node whose word is another than when it was swept, of the locks' own
 * epoch: by our sweep, by that of another pair's holder, or by a late CAS that
 * came before. Words do not come back, so any CAS on what was read earlier fails.
 * Not so by a host of an older view: it may be sweeping too, and go on from there.
 */
static bool fenced(const struct move *m, uint32_t i)
{
	if (SHARED_BROKEN(NO_FENCE_SEQ) ||
	    (SHARED_BROKEN(SWEEP_OWN_PAIR) && !of_both(m, m->word[i])))
		return m->before[i] != 0;
	return m->before[i] != 0 && m->word[i] != m->before[i] &&
	       (lock_epoch(region_word_seq(m->word[i])) == epoch(m) || SHARED_BROKEN(SWEPT_BY_ANY));
}

static void start_sweep(struct move *m)
{
	new_round(m);
	for (uint32_t i = 0; i < m->in->nodes; i++) {
		if (m->at[i] != AT_DONE || fenced(m, i))
			continue;
		m->before[i] = m->word[i];
		/* rule: the sweep is of all nodes */
		if (of_both(m, m->word[i]) || !SHARED_BROKEN(SWEEP_OWN_PAIR))
			m->at[i] = AT_DUE;
	}
	m->sweeps++;
	m->state = MOVE_SWEEPS;
}

/* rule: a newer epoch than the locks' has decided here */
static bool overtaken(const struct move *m)
{
	for (uint32_t i = 0; i < m->in->nodes; i++)
		if (m->at[i] == AT_DONE &&
		    lock_epoch_ahead(lock_epoch(region_word_seq(m->word[i])), epoch(m)))
			return !SHARED_BROKEN(EPOCH_IGNORED);
	return false;
}

static bool swept_all(const struct move *m)
{
	for (uint32_t i = 0; i < m->in->nodes; i++)
		if (m->at[i] == AT_DONE && !fenced(m, i))
			return false;
	return true;
}

/* Nodes that were not fenced do not count. Are there any? */
static bool missed(struct move *m)
{
	bool any = false;

	for (uint32_t i = 0; i < m->in->nodes; i++) {
		if (m->at[i] == AT_DONE && !fenced(m, i))
			m->at[i] = AT_BAD;
		any = any || m->at[i] == AT_BAD;
	}
	return any && !SHARED_BROKEN(SWEEP_MISSED);
}

static void announce(struct move *m);
static void start_act(struct move *m);

static void decide(struct move *m, struct mono now, struct step_out *out)
{
	bool ok[MOVE_NODES_MAX];

	for (uint32_t i = 0; i < m->in->nodes; i++)
		ok[i] = m->at[i] == AT_DONE && m->in->node[i].alive;
	if (move_choose(m->in, ok, m->word, m->donor, &m->chosen) < 0) {
		unlock(m, MOVE_NO_DONOR, now, out);
		return;
	}
	m->target = changed(m, m->word[m->chosen], id_of(m, m->service));
	/* rule: announcement before the move */
	if (SHARED_BROKEN(ANNOUNCE_AFTER))
		start_act(m);
	else
		announce(m);
}

static void counts(struct move *m, struct mono now, struct step_out *out)
{
	m->full = false;
	for (uint32_t i = 0; i < m->in->nodes && !m->full; i++)
		if (m->at[i] == AT_DUE)
			put_node(m, STEP_READ, i, 0, out);
	if (!round_over(m))
		return;
	/* rule: fencing sweep when a lock was not had by a clean release */
	if (overtaken(m)) {
		unlock(m, MOVE_OVERTAKEN, now, out);
	} else if (!unclean(m) || SHARED_BROKEN(NO_SWEEP)) {
		mark(m, false);
		decide(m, now, out);
	} else if (m->sweeps > 0 && (swept_all(m) || m->sweeps == MOVE_SWEEPS_MAX)) {
		m->dirty = missed(m); /* rule: a sweep that missed a node leaves the locks dirty */
		mark(m, m->dirty);
		decide(m, now, out);
	} else {
		start_sweep(m);
	}
}

/* rule: the sweep's CAS is to itself with seq + 1 */
static uint64_t fenced_word(const struct move *m, uint64_t word)
{
	return SHARED_BROKEN(NO_FENCE_SEQ) ? word : changed(m, word, region_word_id(word));
}

static void sweeps(struct move *m, struct mono now, struct step_out *out)
{
	m->full = false;
	for (uint32_t i = 0; i < m->in->nodes && !m->full; i++) {
		if (m->at[i] == AT_DUE)
			put_node(m, STEP_CAS, i, fenced_word(m, m->before[i]), out);
	}
	if (!round_over(m))
		return;
	/* rule: re-read and recount after the sweep */
	if (SHARED_BROKEN(NO_RECOUNT)) {
		mark(m, false);
		decide(m, now, out);
	} else {
		start_count(m);
	}
}

static void swept_result(struct move *m, const struct step_event *ev, uint32_t i)
{
	if (ev->outcome == STEP_DONE && ev->old == m->before[i])
		m->word[i] = fenced_word(m, m->before[i]);
	m->at[i] = AT_DONE; /* the READ that follows tells */
}

/* --- 8: announce ----------------------------------------------------------------------- */

static void announce(struct move *m)
{
	new_round(m);
	m->todo[0] = to_tell(m, 0);
	m->todo[1] = to_tell(m, 1);
	m->cut[0] = m->cut[1] = 0;
	m->state = MOVE_ANNOUNCES;
}

static void put_announcements(struct move *m, uint32_t k, struct step_out *out)
{
	uint32_t service = k == 0 ? m->service : m->donor;
	uint64_t ready = m->todo[k] & ~m->cut[k];

	for (; ready != 0 && !m->full; ready &= ready - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(ready);
		struct step_op op = {
			.kind = STEP_FAA,
			.host = (uint16_t)(bit + 1),
			.offset = region_counter_offset(id_of(m, service)),
			.value = 1,
		};

		if (put(m, op, k * 64 + bit, out))
			m->todo[k] &= ~(1ull << bit);
	}
}

static void announces(struct move *m, struct mono now, struct step_out *out)
{
	m->full = false;
	put_announcements(m, 0, out);
	put_announcements(m, 1, out);
	if (m->waited != 0 || m->todo[0] != 0 || m->todo[1] != 0)
		return;
	if (SHARED_BROKEN(ANNOUNCE_AFTER))
		unlock(m, m->result, now, out);
	else
		start_act(m);
}

static void announced(struct move *m, const struct step_event *ev, uint32_t i, struct mono now,
		      struct step_out *out)
{
	uint64_t bit = 1ull << i % 64;

	/* rule: no move while another balancer could not be told */
	if (ev->outcome == STEP_DONE || SHARED_BROKEN(UNTOLD_MOVES))
		return;
	if (ev->outcome == STEP_REFUSED) {
		unlock(m, MOVE_UNTOLD, now, out);
		return;
	}
	/* rule: an announcement is repeated until one is done */
	m->todo[i / 64] |= bit;
	m->cut[i / 64] |= bit;
}

/* --- 9: the node's word ------------------------------------------------------------------- */

static void start_act(struct move *m)
{
	new_round(m);
	m->at[m->chosen] = AT_DUE;
	m->state = MOVE_ACTS;
}

static void moved(struct move *m, enum move_result r, struct mono now, struct step_out *out)
{
	counter_moved(&m->counter[m->service]);
	m->moves += r == MOVE_MOVED;
	m->result = r;
	if (SHARED_BROKEN(ANNOUNCE_AFTER) && r == MOVE_MOVED)
		announce(m);
	else
		unlock(m, r, now, out);
}

static void acts(struct move *m, struct mono now, struct step_out *out)
{
	if (m->at[m->chosen] != AT_DUE)
		return;
	if (!may_act(m, now))
		unlock(m, MOVE_LATE, now, out);
	else /* rule: the fence: CAS on the exact word that was read */
		put_node(m, STEP_CAS, m->chosen, m->target, out);
}

static void acted(struct move *m, const struct step_event *ev, struct mono now,
		  struct step_out *out)
{
	bool done = ev->outcome == STEP_DONE;

	if (ev->outcome == STEP_UNKNOWN) {
		new_round(m);
		mark(m, true); /* rule: what is undecided is not released as clean */
		m->link = SHARED_BROKEN(RESOLVE_ON_OLD_LINK) ? 0 : ev->link + 1;
		m->at[m->chosen] = SHARED_BROKEN(RESOLVE_ON_OLD_LINK) ? AT_DUE : AT_OUT;
		m->state = MOVE_RESOLVES;
	} else if (done && ev->old == m->word[m->chosen]) {
		moved(m, MOVE_MOVED, now, out);
	} else {
		unlock(m, done ? MOVE_OVERTAKEN : MOVE_UNREACHED, now, out);
	}
}

static void resolves(struct move *m, struct mono now, struct step_out *out)
{
	if (!may_act(m, now))
		moved(m, MOVE_UNDECIDED, now, out);
	else if (m->at[m->chosen] == AT_DUE)
		put_node(m, STEP_READ, m->chosen, 0, out);
}

/* rule: a READ on a newer link decides, by the exact word */
static void resolved(struct move *m, const struct step_event *ev, struct mono now,
		     struct step_out *out)
{
	if (ev->outcome != STEP_DONE && !SHARED_BROKEN(RESOLVE_ON_OLD_LINK)) {
		m->at[m->chosen] = AT_OUT;
		m->link = ev->link + 1;
		return;
	}
	mark(m, m->dirty);
	if (ev->outcome != STEP_DONE)
		unlock(m, MOVE_UNREACHED, now, out);
	else if (ev->old == m->target)
		moved(m, MOVE_MOVED, now, out);
	else
		unlock(m, ev->old == m->word[m->chosen] ? MOVE_UNREACHED : MOVE_OVERTAKEN, now,
		       out);
}

/* --- events ------------------------------------------------------------------------------- */

static void unlocks(struct move *m)
{
	struct lock *l[2];

	locks_of(m, l);
	if (lock_state(l[0]) == LOCK_IDLE && lock_state(l[1]) == LOCK_IDLE)
		m->state = MOVE_IDLE;
}

static uint64_t bit_of(uint16_t host)
{
	return host >= 1 && host <= 64 ? 1ull << (host - 1) : 0;
}

static void result(struct move *m, const struct step_event *ev, struct mono now,
		   struct step_out *out)
{
	uint32_t i;

	if (ev->outcome == STEP_LOST || ev->outcome == STEP_UNKNOWN)
		m->down |= bit_of(ev->host);
	if (!ours(m, ev, &i))
		return;
	switch (m->state) {
	case MOVE_COUNTS:
		m->at[i] = ev->outcome == STEP_DONE ? AT_DONE : AT_BAD;
		m->word[i] = ev->old;
		break;
	case MOVE_SWEEPS:
		swept_result(m, ev, i);
		break;
	case MOVE_ANNOUNCES:
		announced(m, ev, i, now, out);
		break;
	case MOVE_ACTS:
		acted(m, ev, now, out);
		break;
	case MOVE_RESOLVES:
		resolved(m, ev, now, out);
		break;
	default:
		break;
	}
}

static void new_link(struct move *m, const struct step_event *ev)
{
	uint64_t bit = bit_of(ev->host);

	m->down &= ~bit;
	m->cut[0] &= ~bit;
	m->cut[1] &= ~bit;
	if (m->state == MOVE_RESOLVES && m->at[m->chosen] == AT_OUT &&
	    m->in->node[m->chosen].host == ev->host && ev->link >= m->link)
		m->at[m->chosen] = AT_DUE;
}

/* rule: a move ends with its view */
static void new_view(struct move *m, const struct step_event *ev, struct mono now,
		     struct step_out *out)
{
	bool same = ev->view == m->view && ev->members == m->members && ev->quorate == m->quorate;

	if (ev->view < m->view || same)
		return;
	m->view = ev->view;
	m->members = ev->members;
	m->quorate = ev->quorate;
	if (SHARED_BROKEN(MINORITY_DECIDES))
		return;
	if (m->state == MOVE_LOOKS)
		end(m, MOVE_VIEW);
	else if ((m->state > MOVE_LOOKS && m->state < MOVE_ACTS) ||
		 (m->state == MOVE_ACTS && m->at[m->chosen] == AT_DUE))
		unlock(m, MOVE_VIEW, now, out);
}

static void advance(struct move *m, struct mono now, struct step_out *out)
{
	enum move_state before;

	do {
		before = m->state;
		if (before > MOVE_LOCKS && before < MOVE_ACTS && !may_act(m, now))
			unlock(m, before == MOVE_ANNOUNCES ? MOVE_UNTOLD : MOVE_LATE, now, out);
		else if (before == MOVE_LOOKS)
			looks(m, now);
		else if (before == MOVE_LOCKS)
			locks(m, now, out);
		else if (before == MOVE_LOOKS_AGAIN)
			looks_again(m, now, out);
		else if (before == MOVE_COUNTS)
			counts(m, now, out);
		else if (before == MOVE_SWEEPS)
			sweeps(m, now, out);
		else if (before == MOVE_ANNOUNCES)
			announces(m, now, out);
		else if (before == MOVE_ACTS)
			acts(m, now, out);
		else if (before == MOVE_RESOLVES)
			resolves(m, now, out);
		else if (before == MOVE_UNLOCKS)
			unlocks(m);
	} while (m->state != before);
}

void move_step(struct move *m, const struct step_event *ev, struct mono now, struct step_out *out)
{
	for (uint32_t i = 0; i < m->in->services && ev->type != STEP_ASK; i++) {
		lock_step(&m->lock[i], ev, now, out);
		counter_step(&m->counter[i], ev, now, out);
	}
	if (ev->type == STEP_ASK)
		begin(m, ev->what, now, out);
	else if (ev->type == STEP_RESULT)
		result(m, ev, now, out);
	else if (ev->type == STEP_LINK)
		new_link(m, ev);
	else if (ev->type == STEP_VIEW)
		new_view(m, ev, now, out);
	advance(m, now, out);
}

/* --- questions ------------------------------------------------------------------------------ */

struct mono move_due(const struct move *m)
{
	struct mono due = NEVER;
	struct lock *l[2];

	for (uint32_t i = 0; i < m->in->services; i++)
		due = mono_earlier(due, lock_due(&m->lock[i]));
	locks_of(m, l);
	if (m->full)
		return (struct mono){ 0 };
	if (m->state == MOVE_LOOKS || m->state == MOVE_LOCKS)
		due = mono_earlier(due, m->yields ? m->ask : m->patience);
	if (m->state >= MOVE_LOCKS && m->state != MOVE_ACTS && m->state != MOVE_UNLOCKS)
		for (uint32_t i = 0; i < 2; i++)
			if (lock_state(l[i]) == LOCK_HELD)
				due = mono_earlier(due, mono_add(lock_until(l[i]), 1));
	return due;
}

enum move_state move_state(const struct move *m)
{
	return m->state;
}

enum move_result move_result(const struct move *m)
{
	return m->result;
}
