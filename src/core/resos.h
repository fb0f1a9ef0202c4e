/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resos: the ledger. Who has how many Resos, and what use costs.
 *
 * Supply (paper VI-A, DESIGN 3): each VCPU brings one Reso per 10 us of the
 * epoch; each link brings its pool, shared by weight among its guests to the
 * last milli-Reso. A guest that joins within an epoch is issued the rest of
 * the epoch's share on top, booked as overcommit.
 *
 * Invariants, whatever happens at whatever moment (resos_check verifies):
 *	sum of allocated, guests that left included == supply + overcommit
 *	per guest: allocated == balance + spent, balance >= 0
 *	per guest: charged_io + charged_cpu == spent + overdraft
 *
 * Charges are exact: fractions of a milli-Reso are carried, not rounded off.
 * No allocation, no clock, no I/O. Not thread-safe; one owner.
 */
#ifndef RESEX_CORE_RESOS_H
#define RESEX_CORE_RESOS_H

#include "src/core/flow.h"

enum price_profile {
	PRICE_SCALED,	  /* pool is 1,048,576 Resos a second, whatever the link */
	PRICE_PAPER_2011, /* one Reso a MTU: pool is bytes_s / mtu a second */
};

struct link_conf {
	char name[FLOW_NAME_MAX];
	uint64_t bytes_s; /* capacity, 1 .. 2^40 */
	uint32_t mtu;	  /* 256, 512, 1024, 2048 or 4096 */
	enum price_profile profile;
};

struct resos_link {
	struct resos pool;  /* of one whole epoch */
	uint64_t price_num; /* price of a MTU in milli-Resos, as a fraction */
	uint64_t price_den;
	uint32_t active; /* link exists */
};

struct ledger {
	int64_t epoch_ns;
	struct resos supply;	 /* issued at the epoch's start */
	struct resos overcommit; /* issued later in the epoch, on top */
	struct resos retired;	 /* allocated to guests that left in this epoch */
	struct resos dropped;	 /* left over at the end of the previous epoch */
	uint64_t epoch;
	struct resos_link link[FLOW_LINKS_MAX];
	struct account acc[FLOW_GUESTS_MAX]; /* by slot */
};

/* 0 or -EINVAL: no link, too many, a figure out of its range. */
int resos_init(struct ledger *l, int64_t epoch_ns, const struct link_conf *links, uint32_t n);

/*
 * A guest joins with remaining_ns of the epoch to go (== epoch_ns: it gets a
 * full share, still as overcommit, because supply was issued already).
 * 0, -EEXIST (slot taken), -EINVAL (slot, link, vcpus 1..4096, weight 1..65535).
 */
int resos_join(struct ledger *l, uint32_t slot, uint32_t link, uint32_t vcpus, uint32_t weight,
	       int64_t remaining_ns);

/* A guest leaves; what it was allocated stays in retired until the epoch ends. */
void resos_leave(struct ledger *l, uint32_t slot);

/* New VCPU count and weight, from the next replenish on. 0 or -EINVAL, -ENOENT. */
int resos_set_share(struct ledger *l, uint32_t slot, uint32_t vcpus, uint32_t weight);

/*
 * Charge one interval's use at the rate in force:
 * mtus x price x rate + cpu x rate. mtus are sent + received. Saturates
 * instead of overflowing. -ENOENT when the slot is not active.
 */
int resos_charge(struct ledger *l, uint32_t slot, const struct usage *u);

/* The rate at which use is charged from now on. 0 (below one) is taken as one. */
void resos_set_rate(struct ledger *l, uint32_t slot, struct rate rate);

/* A new epoch: drop what is left, issue the supply again to all active guests. */
void resos_replenish(struct ledger *l, uint64_t epoch);

/* 0, or -EBADMSG when an invariant does not hold (our bug, never input). */
int resos_check(const struct ledger *l);

#endif
