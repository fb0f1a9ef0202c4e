// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * move: the step function of one reconfiguration: events, and rules 7 to 10 of move.h.
 *
 * An event first goes to the locks and counters. Then, if it is the result of one of the
 * move's own operations, it changes the move. Then advance() runs the function of the
 * current state, until the state no longer changes. Rules 1 to 4 are in move_locks.c, rules
 * 5 and 6 in move_nodes.c.
 */
#include <errno.h>
#include <string.h>

#include "src/reconf/move_priv.h"

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
		counter_init(&counter[i],
			     &(struct counter_conf){
				     .self = c->self,
				     .service = in->service[i].id,
				     .tag = c->tag + MOVE_TAGS_COUNTERS + i * COUNTER_TAGS,
				     .checks = c->checks,
			     });
	}
}

/* --- 7: choose ------------------------------------------------------------------------- */

static void start_announcements(struct move *m);
static void start_node_cas(struct move *m);

/* The node has read, and need not have ok: no service counts it. */
static int choose_adopted(const struct move *m, const bool *read, const bool *ok)
{
	/* On another link its host may have restarted since the node was seen in no service. */
	int rc = m->word_link[m->chosen] != m->wish.link
			 ? -ESTALE
			 : move_choose_adopted(m->in, read, ok, m->word, m->service, m->chosen);

	return rc == -ENOSPC && m->wish.why == MOVE_FOR_ADOPTION_ORDERED ? 0 : rc;
}

/* 0, or why not: -ENOSPC, -ESTALE. */
static int choose(struct move *m, const bool *read, const bool *ok)
{
	if (!m->wished)
		return move_choose(m->in, ok, m->word, m->donor, &m->chosen);
	m->chosen = m->wish.node;
	if (m->adopts)
		return choose_adopted(m, read, ok);
	return move_choose_wished(m->in, ok, m->word, m->donor, m->chosen);
}

/*
 * The counts were read under both locks: while the leases last, no other balancer moves a node of
 * either service. So the choice is made on them alone.
 */
static void choose_node(struct move *m, struct mono now, struct step_out *out)
{
	bool read[MOVE_NODES_MAX], ok[MOVE_NODES_MAX];
	int rc;

	for (uint32_t i = 0; i < m->in->nodes; i++) {
		read[i] = m->at[i] == AT_DONE && m->in->node[i].alive;
		ok[i] = read[i] && m->kept[i];
	}
	rc = choose(m, read, ok);
	if (rc < 0 && choose(m, read, read) == 0) {
		move_unlock(m, MOVE_NOT_KEPT, now, out);
		return;
	}
	if (rc < 0) {
		enum move_result none = m->adopts ? MOVE_NEEDED : MOVE_NO_DONOR;

		move_unlock(m, rc == -ESTALE ? MOVE_NOT_WISHED : none, now, out);
		return;
	}
	/*
	 * Computed before the announcements, and CASed with it exactly: what happens in between
	 * makes the CAS fail, not succeed on another word.
	 */
	m->target = move_changed(m, m->word[m->chosen], move_id_of(m, m->service));
	/* rule: announcement before the move */
	start_announcements(m);
}

/* --- 8: announce ----------------------------------------------------------------------- */

static void start_announcements(struct move *m)
{
	move_new_round(m);
	m->todo[0] = move_to_notify(m, 0);
	m->todo[1] = move_to_notify(m, 1);
	m->cut[0] = m->cut[1] = (struct hostset){ { 0 } };
	m->state = MOVE_ANNOUNCES;
}

static void put_announcements(struct move *m, uint32_t k, struct step_out *out)
{
	uint32_t service = k == 0 ? m->service : m->donor;
	/*
	 * Not to hosts without a link: the runner would return those at once as LOST, and the step
	 * would repeat without end.
	 */
	struct hostset ready = hostset_without(&m->todo[k], &m->cut[k]);

	for (uint16_t h = hostset_next(&ready, 0); h && !m->full; h = hostset_next(&ready, h)) {
		struct step_op op = {
			.kind = STEP_FAA,
			.host = h,
			.offset = region_counter_offset(move_id_of(m, service)),
			.value = 1,
		};

		if (move_put(m, op, k * HOSTSET_MAX + h - 1, out))
			hostset_set(&m->todo[k], h, false);
	}
}

static void run_announcements(struct move *m, struct step_out *out)
{
	m->full = false;
	put_announcements(m, 0, out);
	put_announcements(m, 1, out);
	if (m->waited != 0 || !hostset_empty(&m->todo[0]) || !hostset_empty(&m->todo[1]))
		return;
	start_node_cas(m);
}

static void announcement_result(struct move *m, const struct step_event *ev, uint32_t i,
				struct mono now, struct step_out *out)
{
	/* rule: no move while another balancer could not be notified */
	if (ev->outcome == STEP_DONE) {
		m->trace.told++;
		return;
	}
	if (ev->outcome == STEP_REFUSED) {
		move_unlock(m, MOVE_NOT_NOTIFIED, now, out);
		return;
	}
	/* rule: an announcement is repeated until one is done */
	/*
	 * UNKNOWN: it may be announced twice. That is harmless (counter.h); a READ could not show
	 * whether it was executed.
	 */
	hostset_set(&m->todo[i / HOSTSET_MAX], i % HOSTSET_MAX + 1, true);
	hostset_set(&m->cut[i / HOSTSET_MAX], i % HOSTSET_MAX + 1, true);
}

/* --- 9: the node's word ------------------------------------------------------------------- */

static void start_node_cas(struct move *m)
{
	move_new_round(m);
	m->at[m->chosen] = AT_DUE;
	m->state = MOVE_ACTS;
}

/*
 * Also when the outcome is undecided: the node may have come, and T must begin again. Otherwise the
 * same high load could move a second one.
 */
static void end_moved(struct move *m, enum move_result r, struct mono now, struct step_out *out)
{
	counter_moved(&m->counter[m->service]);
	m->moves += r == MOVE_MOVED;
	m->result = r;
	move_unlock(m, r, now, out);
}

static void run_node_cas(struct move *m, struct mono now, struct step_out *out)
{
	if (m->at[m->chosen] != AT_DUE)
		return;
	if (!move_may_act(m, now))
		move_unlock(m, MOVE_LATE, now, out);
	else /* rule: the fence: CAS on the exact word that was read */
		move_put_node(m, STEP_CAS, m->chosen, m->target, out);
}

static void node_cas_result(struct move *m, const struct step_event *ev, struct mono now,
			    struct step_out *out)
{
	bool done = ev->outcome == STEP_DONE;

	if (ev->outcome == STEP_UNKNOWN) {
		move_new_round(m);
		/*
		 * Before the READ: if the lease ends meanwhile, the locks are left dirty, and the
		 * next holder sweeps.
		 */
		move_mark(m, true); /* rule: what is undecided is not released as clean */
		m->link = ev->link + 1;
		m->again = NEVER;
		m->at[m->chosen] = AT_OUT;
		m->state = MOVE_RESOLVES;
	} else if (done && ev->old == m->word[m->chosen]) {
		end_moved(m, MOVE_MOVED, now, out);
	} else {
		move_unlock(m, done ? MOVE_OVERTAKEN : MOVE_UNREACHED, now, out);
	}
}

static void run_resolve(struct move *m, struct mono now, struct step_out *out)
{
	if (mono_sub(now, m->again) >= 0) {
		m->again = NEVER;
		m->at[m->chosen] = AT_DUE;
	}
	if (!move_may_act(m, now))
		end_moved(m, MOVE_UNDECIDED, now, out);
	else if (m->at[m->chosen] == AT_DUE)
		move_put_node(m, STEP_READ, m->chosen, 0, out);
}

/* rule: a READ on a newer link decides, by the exact word */
static void resolve_result(struct move *m, const struct step_event *ev, struct mono now,
			   struct step_out *out)
{
	if (ev->outcome == STEP_REFUSED) { /* this link is new enough: again after a check */
		m->at[m->chosen] = AT_OUT;
		m->again = mono_add(now, m->conf.check_ns);
		return;
	}
	if (ev->outcome != STEP_DONE) {
		m->at[m->chosen] = AT_OUT;
		m->link = ev->link + 1;
		return;
	}
	move_mark(m, m->dirty);
	if (ev->old == m->target)
		end_moved(m, MOVE_MOVED, now, out);
	else
		move_unlock(m, ev->old == m->word[m->chosen] ? MOVE_UNREACHED : MOVE_OVERTAKEN, now,
			    out);
}

/* --- events ------------------------------------------------------------------------------- */

static void run_unlock(struct move *m)
{
	struct lock *l[2];

	move_locks_of(m, l);
	if (lock_state(l[0]) == LOCK_IDLE && lock_state(l[1]) == LOCK_IDLE)
		m->state = MOVE_IDLE;
}

static void own_result(struct move *m, const struct step_event *ev, struct mono now,
		       struct step_out *out)
{
	uint32_t i;

	if (ev->outcome == STEP_LOST || ev->outcome == STEP_UNKNOWN)
		hostset_set(&m->down, ev->host, true);
	if (!move_ours(m, ev, &i))
		return;
	switch (m->state) {
	case MOVE_COUNTS:
		move_counted_result(m, ev);
		break;
	case MOVE_SWEEPS:
		move_swept_result(m, ev, i);
		break;
	case MOVE_ANNOUNCES:
		announcement_result(m, ev, i, now, out);
		break;
	case MOVE_ACTS:
		node_cas_result(m, ev, now, out);
		break;
	case MOVE_RESOLVES:
		resolve_result(m, ev, now, out);
		break;
	default:
		break;
	}
}

static void new_link(struct move *m, const struct step_event *ev)
{
	hostset_set(&m->down, ev->host, false);
	hostset_set(&m->cut[0], ev->host, false);
	hostset_set(&m->cut[1], ev->host, false);
	if (m->state == MOVE_RESOLVES && m->at[m->chosen] == AT_OUT &&
	    m->in->node[m->chosen].host == ev->host && ev->link >= m->link) {
		m->at[m->chosen] = AT_DUE;
		m->again = NEVER;
	}
}

/* rule: a move ends with its view */
static void new_view(struct move *m, const struct step_event *ev, struct mono now,
		     struct step_out *out)
{
	bool same = ev->view == m->view && hostset_equal(&ev->members, &m->members) &&
		    ev->quorate == m->quorate;

	/* A view that is reported again must not end a move. */
	if (ev->view < m->view || same)
		return;
	m->view = ev->view;
	m->members = ev->members;
	m->quorate = ev->quorate;
	/*
	 * After the CAS was put out (ACTS, RESOLVES) its outcome must still be learnt; the lease
	 * ends that wait.
	 */
	if (m->state == MOVE_LOOKS)
		move_end(m, MOVE_VIEW);
	else if ((m->state > MOVE_LOOKS && m->state < MOVE_ACTS) ||
		 (m->state == MOVE_ACTS && m->at[m->chosen] == AT_DUE))
		move_unlock(m, MOVE_VIEW, now, out);
}

static void reached(struct move *m, enum move_phase p, struct mono now)
{
	if (m->trace.at[p].ns < 0)
		m->trace.at[p] = now;
}

static void trace(struct move *m, struct mono now)
{
	if (m->state == MOVE_LOOKS_AGAIN) {
		reached(m, MOVE_HELD, now);
		m->trace.fence[0] = lock_fence(&m->lock[m->service]);
		m->trace.fence[1] = lock_fence(&m->lock[m->donor]);
	} else if (m->state == MOVE_ANNOUNCES) {
		reached(m, MOVE_READ, now);
	} else if (m->state == MOVE_ACTS) {
		reached(m, MOVE_TOLD, now);
	} else if (m->state == MOVE_UNLOCKS && m->result == MOVE_MOVED) {
		reached(m, MOVE_ACTED, now);
	} else if (m->state == MOVE_IDLE) {
		reached(m, MOVE_ENDED, now);
	}
}

static void advance(struct move *m, struct mono now, struct step_out *out)
{
	enum move_state before;

	do {
		before = m->state;
		trace(m, now);
		/*
		 * One check for the states 4 to 8: both leases must last before each decision
		 * (move.h). Rule 9 checks once more, right before its CAS.
		 */
		if (before > MOVE_LOCKS && before < MOVE_ACTS && !move_may_act(m, now))
			move_unlock(m, before == MOVE_ANNOUNCES ? MOVE_NOT_NOTIFIED : MOVE_LATE,
				    now, out);
		else if (before == MOVE_LOOKS)
			move_looks(m, now);
		else if (before == MOVE_LOCKS)
			move_locks(m, now, out);
		else if (before == MOVE_LOOKS_AGAIN)
			move_looks_again(m, now, out);
		else if ((before == MOVE_COUNTS && move_counts(m, now, out)) ||
			 (before == MOVE_SWEEPS && move_sweeps(m, out)))
			choose_node(m, now, out);
		else if (before == MOVE_ANNOUNCES)
			run_announcements(m, out);
		else if (before == MOVE_ACTS)
			run_node_cas(m, now, out);
		else if (before == MOVE_RESOLVES)
			run_resolve(m, now, out);
		else if (before == MOVE_UNLOCKS)
			run_unlock(m);
	} while (m->state != before);
}

void move_step(struct move *m, const struct step_event *ev, struct mono now, struct step_out *out)
{
	/*
	 * Locks and counters first: the move's own state functions then see what the event did to
	 * them.
	 */
	for (uint32_t i = 0; i < m->in->services && ev->type != STEP_ASK; i++) {
		lock_step(&m->lock[i], ev, now, out);
		counter_step(&m->counter[i], ev, now, out);
	}
	if (ev->type == STEP_ASK)
		move_begin(m, ev->what, ev->wish, now, out);
	else if (ev->type == STEP_RESULT)
		own_result(m, ev, now, out);
	else if (ev->type == STEP_LINK)
		new_link(m, ev);
	else if (ev->type == STEP_VIEW)
		new_view(m, ev, now, out);
	advance(m, now, out);
}

/* --- queries ------------------------------------------------------------------------------ */

struct mono move_due(const struct move *m)
{
	struct mono due = NEVER;
	struct lock *l[2];

	for (uint32_t i = 0; i < m->in->services; i++)
		due = mono_earlier(due, lock_due(&m->lock[i]));
	move_locks_of(m, l);
	/* The last step had more operations than a step may put out: go on at once. */
	if (m->full)
		return (struct mono){ 0 };
	if (m->state == MOVE_LOOKS || m->state == MOVE_LOCKS)
		due = mono_earlier(due, m->yields ? m->ask : m->patience);
	if (m->state == MOVE_RESOLVES)
		due = mono_earlier(due, m->again);
	if (m->state >= MOVE_LOCKS && m->state != MOVE_ACTS && m->state != MOVE_UNLOCKS)
		for (uint32_t i = 0; i < 2; i++)
			/*
			 * + 1 ns: at lock_until the lease still counts; a step then would
			 * change nothing and be due again.
			 */
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

const struct move_trace *move_trace(const struct move *m)
{
	return &m->trace;
}
