// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * move_ops: what all states of a move use: its two locks, and its operations.
 *
 * A *round* is the operations of one state. Their tags hold its number: a result
 * of an earlier round, which the move has given up, is not ours any more.
 */
#include "src/reconf/move_priv.h"
#include "src/reconf/put.h"

enum { ROUNDS = 1 << 14 };

static_assert(MOVE_TAGS_OWN + ROUNDS * MOVE_NODES_MAX <= MOVE_TAGS, "tags");
static_assert(MOVE_NODES_MAX >= 2 * HOSTSET_MAX, "announcements have tags of nodes");

/* --- operations ------------------------------------------------------------------- */

void move_new_round(struct move *m)
{
	m->round++;
	m->waited = 0;
	m->full = false;
}

bool move_put(struct move *m, struct step_op op, uint32_t index, struct step_out *out)
{
	op.tag = m->conf.tag + MOVE_TAGS_OWN + m->round % ROUNDS * MOVE_NODES_MAX + index;
	m->full = !step_put(out, op);
	if (!m->full)
		m->waited++;
	return !m->full;
}

bool move_ours(struct move *m, const struct step_event *ev, uint32_t *index)
{
	uint32_t tag = ev->tag - m->conf.tag - MOVE_TAGS_OWN;

	/*
	 * ev->tag may be below ours, of a lock or another user: the difference above then wrapped.
	 */
	if (ev->type != STEP_RESULT || m->waited == 0 || ev->tag < m->conf.tag + MOVE_TAGS_OWN ||
	    tag / MOVE_NODES_MAX != m->round % ROUNDS)
		return false;
	*index = tag % MOVE_NODES_MAX;
	m->waited--;
	return true;
}

void move_put_node(struct move *m, enum step_kind kind, uint32_t i, uint64_t value,
		   struct step_out *out)
{
	const struct move_node *n = &m->in->node[i];
	struct step_op op = {
		.kind = kind,
		.host = n->host,
		.offset = region_node_offset(n->node),
		.len = kind == STEP_READ ? 8 : 0,
		.compare = kind == STEP_CAS ? m->word[i] : 0,
		.value = value,
		/* rule: a CAS is posted on the link on which its compare was read */
		.link = kind == STEP_CAS ? m->word_link[i] : 0,
	};

	if (move_put(m, op, i, out))
		m->at[i] = AT_UNDERWAY;
}

uint64_t move_changed(const struct move *m, uint64_t word, uint16_t id)
{
	uint64_t seq = region_seq_next(region_word_seq(word));

	return region_word(id, region_seq(move_epoch(m), region_seq_count(seq)));
}

/* --- the two locks ---------------------------------------------------------------- */

void move_locks_of(const struct move *m, struct lock *l[2])
{
	/* rule: two locks in ascending service id; rule: the donor's lock too */
	/* To adopt: both are the lock of the service. */
	bool swap = move_id_of(m, m->donor) < move_id_of(m, m->service);

	l[0] = &m->lock[swap ? m->donor : m->service];
	l[1] = &m->lock[swap ? m->service : m->donor];
}

/* rule: done before hold */
bool move_may_act(const struct move *m, struct mono now)
{
	struct lock *l[2];

	move_locks_of(m, l);
	return lock_may_act(l[0], now, 0) && lock_may_act(l[1], now, 0);
}

bool move_unclean(const struct move *m)
{
	struct lock *l[2];

	move_locks_of(m, l);
	return lock_unclean(l[0]) || lock_unclean(l[1]);
}

void move_mark(struct move *m, bool is_unclean)
{
	struct lock *l[2];

	move_locks_of(m, l);
	lock_mark(l[0], is_unclean);
	lock_mark(l[1], is_unclean);
}

uint32_t move_epoch(const struct move *m)
{
	return region_seq_epoch(lock_fence(&m->lock[m->service]));
}

struct hostset move_to_notify(const struct move *m, uint32_t k)
{
	uint32_t service = k == 0 ? m->service : m->donor;
	struct hostset s = hostset_both(&m->in->service[service].balancers, &m->members);

	if (k == 1 && m->adopts)
		return (struct hostset){ { 0 } };
	/* rule: every balancer in the view must be notified; others were removed */
	/*
	 * Our own balancer of the service starts T again by itself (end_moved). Our own balancer of
	 * the donor is notified like any other: its service has lost a node.
	 */
	if (k == 0)
		hostset_set(&s, m->conf.self, false);
	return s;
}

void move_ask_lock(struct lock *l, uint32_t what, struct mono now, struct step_out *out)
{
	lock_step(l, &(struct step_event){ .type = STEP_ASK, .what = what }, now, out);
}

void move_unlock(struct move *m, enum move_result r, struct mono now, struct step_out *out)
{
	struct lock *l[2];

	move_locks_of(m, l);
	m->result = r;
	m->state = MOVE_UNLOCKS;
	move_new_round(m); /* ignore results that are still outstanding */
	move_ask_lock(l[0], LOCK_RELEASE, now, out);
	move_ask_lock(l[1], LOCK_RELEASE, now, out);
}
