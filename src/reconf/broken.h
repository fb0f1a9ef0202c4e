/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * broken: the rules of the shared state by name, and a hook to break one at a time.
 *
 * A check that was never seen to fail does not count. Each rule stands at one
 * place in lock.c, counter.c or move*.c, under a comment "rule: ..." and a hook
 * SHARED_BROKEN(NAME) that is constant false in the product. A test that looks
 * for the fault includes the .c files after a definition of its own, say
 *
 *	#define SHARED_BROKEN(rule) (broken == BROKEN_##rule)
 *
 * and must find what stands behind the rule violated.
 */
#ifndef RESEX_RECONF_BROKEN_H
#define RESEX_RECONF_BROKEN_H

#ifndef SHARED_BROKEN
#define SHARED_BROKEN(rule) 0
#endif

/* X(NAME, what the broken program does instead) */
#define SHARED_RULES(X)                                                                            \
	/* lock.c */                                                                               \
	X(HOLD_FROM_RESULT, "counts hold from the CAS's result, not from before it")               \
	X(LEASE_UNCHECKED, "acts after hold is over")                                              \
	X(NO_BREAK_DRIFT, "breaks after bare hold: no drift, no deadline")                         \
	X(FRESH_AT_ONCE, "takes a word of unknown history at once, as if released")                \
	X(RELEASE_BLIND, "releases whatever word stands there")                                    \
	X(RELEASE_CLEAN, "releases as clean what was not swept or is undecided")                   \
	X(RESOLVE_ON_OLD_LINK, "reads what became of an unknown CAS before a newer link")          \
	X(SEQ_FROM_ZERO, "starts seq anew at a new home, not at view << 32")                       \
	X(VIEW_BEHIND, "takes a lock of a newer view than it was told of")                         \
	X(MINORITY_DECIDES, "goes on without quorum")                                              \
	/* counter.c */                                                                            \
	X(HISTORY_KEPT, "does not start T again when its counter is ahead")                        \
	/* move*.c */                                                                              \
	X(DESCENDING_ORDER, "hosts of odd number take the two locks in descending order")          \
	X(ONE_LOCK, "does not take the donor's lock")                                              \
	X(FIRST_IN_VAIN, "takes the first lock before it has seen the second")                     \
	X(COUNTER_UNCHECKED, "does not look at its counter again under the locks")                 \
	X(NO_SWEEP, "makes no fencing sweep")                                                      \
	X(NO_FENCE_SEQ, "sweeps without seq + 1")                                                  \
	X(SWEEP_OWN_PAIR, "sweeps the nodes of its two services alone")                            \
	X(SWEEP_MISSED, "releases as clean though a node could not be swept")                      \
	X(SWEPT_BY_ANY, "takes a node for fenced that a host of an older view has swept")          \
	X(NO_RECOUNT, "decides by what it read before the sweep")                                  \
	X(EPOCH_IGNORED, "decides on nodes swept in a newer epoch than its locks'")                \
	X(MINIMUM_IGNORED, "takes the donor's last nodes")                                         \
	X(ANNOUNCE_AFTER, "announces after the move")                                              \
	X(UNTOLD_MOVES, "moves though another balancer was not told")

enum shared_rule {
	BROKEN_NONE,
#define SHARED_RULE(name, text) BROKEN_##name,
	SHARED_RULES(SHARED_RULE)
#undef SHARED_RULE
		BROKEN_RULES, /* how many, with NONE */
};

#endif
