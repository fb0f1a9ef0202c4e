/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * move_priv: what the files of the move share. Each calls those to its right only:
 *
 *	move.c (events, 7 to 10) -> move_locks.c (1 to 4) -> move_nodes.c (5, 6) -> move_ops.c
 */
#ifndef RESEX_RECONF_MOVE_PRIV_H
#define RESEX_RECONF_MOVE_PRIV_H

#include "src/reconf/move.h"

/* Tags from conf.tag on: those of the locks, of the counters, of the move's own operations. */
enum {
	MOVE_TAGS_COUNTERS = MOVE_SERVICES_MAX * LOCK_TAGS,
	MOVE_TAGS_OWN = MOVE_TAGS_COUNTERS + MOVE_SERVICES_MAX * COUNTER_TAGS,
};

/* A node in this round: not concerned, to do, outstanding, done, failed. */
enum move_at { AT_OUT, AT_DUE, AT_UNDERWAY, AT_DONE, AT_BAD };

static inline uint16_t move_id_of(const struct move *m, uint32_t service)
{
	return m->in->service[service].id;
}

/* --- move_ops.c ------------------------------------------------------------------- */

void move_new_round(struct move *m);
/* index: of the node, or another number below MOVE_NODES_MAX; unique in the round. */
bool move_put(struct move *m, struct step_op op, uint32_t index, struct step_out *out);
void move_put_node(struct move *m, enum step_kind kind, uint32_t i, uint64_t value,
		   struct step_out *out);
/* Is it the result of an operation of this round? *index: as given to move_put. */
bool move_ours(struct move *m, const struct step_event *ev, uint32_t *index);

/* The successor of a node's word: of service id, with count + 1 and the locks' epoch. */
uint64_t move_changed(const struct move *m, uint64_t word, uint16_t id);

/* The two locks, in the order in which they are acquired. */
void move_locks_of(const struct move *m, struct lock *l[2]);
bool move_may_act(const struct move *m, struct mono now);
bool move_unclean(const struct move *m);
void move_mark(struct move *m, bool is_unclean);
uint32_t move_epoch(const struct move *m); /* the locks' */
/* The other balancers of service (k = 0) or donor (k = 1). */
struct hostset move_to_notify(const struct move *m, uint32_t k);
/* Give one of the locks a request: what is of enum lock_ask. */
void move_ask_lock(struct lock *l, uint32_t what, struct mono now, struct step_out *out);
/* Release both: the move ends by r when they are IDLE. */
void move_unlock(struct move *m, enum move_result r, struct mono now, struct step_out *out);

/* --- move_locks.c ----------------------------------------------------------------- */

void move_begin(struct move *m, uint32_t service, const struct move_wish *wish, struct mono now,
		struct step_out *out);
/* Without locks: the move is over. */
void move_end(struct move *m, enum move_result r);

/* The states LOOKS, LOCKS, LOOKS_AGAIN. */
void move_looks(struct move *m, struct mono now);
void move_locks(struct move *m, struct mono now, struct step_out *out);
void move_looks_again(struct move *m, struct mono now, struct step_out *out);

/* --- move_nodes.c ----------------------------------------------------------------- */

/* The states COUNTS, SWEEPS. true: all nodes are counted, and swept where they must be. */
void move_start_count(struct move *m);
bool move_counts(struct move *m, struct mono now, struct step_out *out);
/* The result of a READ of one host's words. */
void move_counted_result(struct move *m, const struct step_event *ev);
bool move_sweeps(struct move *m, struct step_out *out);
void move_swept_result(struct move *m, const struct step_event *ev, uint32_t i);

#endif
