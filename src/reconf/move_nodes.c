// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * move_nodes: rules 5 and 6 of a move: count the nodes' words, sweep them, and count again.
 *
 * move.c calls it with both locks held, between the second look at the counter (move_locks.c) and
 * the choice of a node. The sweep is not in the paper (choose.c): it stops late operations of a
 * holder that died or was slow.
 */
#include "src/reconf/move_priv.h"

void move_start_count(struct move *m)
{
	move_new_round(m);
	for (uint32_t i = 0; i < m->in->nodes; i++) {
		bool is_member = hostset_has(&m->members, m->in->node[i].host);

		m->at[i] = is_member ? AT_DUE : AT_OUT;
	}
	m->state = MOVE_COUNTS;
}

static bool round_over(const struct move *m)
{
	return m->waited == 0 && !m->full;
}

/*
 * A node is fenced if its word has changed since the sweep began, and has the locks' epoch.
 * It was changed by our sweep, by the sweep of another pair's holder, or by a late CAS
 * before them. No word comes back, so every CAS on an earlier read fails. A change by a
 * host of an older view (an older epoch) does not fence: that host may be in its own sweep,
 * and may decide on the words that it wrote.
 */
static bool fenced(const struct move *m, uint32_t i)
{
	return m->before[i] != 0 && m->word[i] != m->before[i] &&
	       region_seq_epoch(region_word_seq(m->word[i])) == move_epoch(m);
}

static void start_sweep(struct move *m)
{
	move_new_round(m);
	for (uint32_t i = 0; i < m->in->nodes; i++) {
		/* Fenced in an earlier pass: another CAS would only cost a round trip. */
		if (m->at[i] != AT_DONE || fenced(m, i))
			continue;
		m->before[i] = m->word[i];
		m->at[i] = AT_DUE; /* rule: the sweep is of all nodes */
	}
	m->sweeps++;
	m->state = MOVE_SWEEPS;
}

/* rule: a newer epoch than the locks' has decided here */
static bool any_newer_epoch(const struct move *m)
{
	for (uint32_t i = 0; i < m->in->nodes; i++)
		if (m->at[i] == AT_DONE &&
		    region_seq_epoch(region_word_seq(m->word[i])) > move_epoch(m))
			return true;
	return false;
}

static bool swept_all(const struct move *m)
{
	for (uint32_t i = 0; i < m->in->nodes; i++)
		if (m->at[i] == AT_DONE && !fenced(m, i))
			return false;
	return true;
}

/* Exclude the nodes that were not fenced from the count. Are there any? */
static bool exclude_missed(struct move *m)
{
	bool any = false;

	for (uint32_t i = 0; i < m->in->nodes; i++) {
		if (m->at[i] == AT_DONE && !fenced(m, i))
			m->at[i] = AT_BAD;
		any = any || m->at[i] == AT_BAD;
	}
	return any;
}

static bool is_at(const struct move *m, uint32_t i, uint16_t host, enum move_at at)
{
	return m->at[i] == at && m->in->node[i].host == host;
}

/* The lowest and the highest number of the nodes of this host that are at this point. */
static void range_of(const struct move *m, uint16_t host, enum move_at at, uint32_t range[2])
{
	range[0] = REGION_NODES_MAX;
	range[1] = 0;
	for (uint32_t i = 0; i < m->in->nodes; i++) {
		uint32_t n = m->in->node[i].node;

		if (!is_at(m, i, host, at))
			continue;
		if (n < range[0])
			range[0] = n;
		if (n > range[1])
			range[1] = n;
	}
}

/* rule: the words of a host's nodes, and their kept words, are one READ */
static void put_read(struct move *m, uint16_t host, struct step_out *out)
{
	uint32_t range[2];

	range_of(m, host, AT_DUE, range);
	if (!move_put(m,
		      (struct step_op){ .kind = STEP_READ,
					.host = host,
					.offset = region_node_offset(range[0]),
					.len = region_kept_offset(range[1]) + 8 -
					       region_node_offset(range[0]) },
		      host - 1u, out))
		return;
	for (uint32_t i = 0; i < m->in->nodes; i++)
		if (is_at(m, i, host, AT_DUE))
			m->at[i] = AT_UNDERWAY;
}

void move_counted_result(struct move *m, const struct step_event *ev)
{
	bool done = ev->outcome == STEP_DONE;
	uint32_t range[2];

	range_of(m, ev->host, AT_UNDERWAY, range);
	for (uint32_t i = 0; i < m->in->nodes; i++) {
		uint32_t k = m->in->node[i].node - range[0];

		if (!is_at(m, i, ev->host, AT_UNDERWAY))
			continue;
		m->at[i] = done ? AT_DONE : AT_BAD;
		m->word[i] = done ? ev->data[k] : 0;
		/* rule: a node counts if its kept word has its service and epoch */
		m->kept[i] = done && region_is_kept(m->word[i], ev->data[k + REGION_NODES_MAX]);
		m->word_link[i] = ev->link;
	}
}

/* rule: an adoption always sweeps */
static bool must_sweep(const struct move *m)
{
	return m->adopts || move_unclean(m);
}

/* rule: a sweep that missed a node leaves the locks dirty */
/* If they were acquired clean, an adoption has swept: no CAS of their holders may be on its way. */
static void end_sweep(struct move *m)
{
	bool missed = exclude_missed(m);

	m->dirty = missed && move_unclean(m);
	move_mark(m, m->dirty);
}

bool move_counts(struct move *m, struct mono now, struct step_out *out)
{
	m->full = false;
	for (uint32_t i = 0; i < m->in->nodes && !m->full; i++)
		if (m->at[i] == AT_DUE)
			put_read(m, m->in->node[i].host, out);
	if (!round_over(m))
		return false;
	/* rule: fencing sweep when a lock was not acquired from a clean release */
	if (any_newer_epoch(m)) {
		move_unlock(m, MOVE_OVERTAKEN, now, out);
	} else if (!must_sweep(m)) {
		move_mark(m, false);
		return true;
		/*
		 * A pass misses the words that change under it. After MOVE_SWEEPS_MAX passes the
		 * move goes on without them: the lease is limited, and a node that was missed is
		 * not counted.
		 */
	} else if (m->sweeps > 0 && (swept_all(m) || m->sweeps == MOVE_SWEEPS_MAX)) {
		end_sweep(m);
		return true;
	} else {
		start_sweep(m);
	}
	return false;
}

/* rule: the sweep's CAS is to itself with seq + 1 */
static uint64_t fenced_word(const struct move *m, uint64_t word)
{
	return move_changed(m, word, region_word_id(word));
}

bool move_sweeps(struct move *m, struct step_out *out)
{
	m->full = false;
	for (uint32_t i = 0; i < m->in->nodes && !m->full; i++) {
		if (m->at[i] == AT_DUE)
			move_put_node(m, STEP_CAS, i, fenced_word(m, m->before[i]), out);
	}
	if (!round_over(m))
		return false;
	/* rule: re-read and recount after the sweep */
	move_start_count(m);
	return false;
}

void move_swept_result(struct move *m, const struct step_event *ev, uint32_t i)
{
	if (ev->outcome == STEP_DONE && ev->old == m->before[i])
		m->word[i] = fenced_word(m, m->before[i]);
	m->at[i] = AT_DONE; /* the READ that follows decides */
}
