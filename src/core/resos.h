/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resos: the ledger: the Resos of each guest, and the price of use.
 *
 * Supply (paper VI-A): each VCPU brings one Reso per 10 us of the epoch
 * (epoch_ns / 10 milli-Resos, rounded down); each link brings its pool, shared
 * by weight among its guests to the last milli-Reso: with W the sum of weights
 * up to a slot, in ascending slots, the slot's share is floor(pool * W_upto /
 * W_all) - floor(pool * W_before / W_all). A link without guests issues
 * nothing. A guest that joins within an epoch gets its share of the rest of the
 * epoch in addition, booked as overcommit: floor(cpu * remaining / epoch)
 * + floor(pool * weight * remaining / (W_all with its own * epoch)).
 *
 * Invariants at any moment (resos_check verifies them):
 *	sum of allocated, guests that left included == supply + overcommit
 *	per guest: allocated == balance + spent, balance >= 0
 *	per guest: charged_io + charged_cpu == spent + overdraft
 *
 * Charges are exact: fractions of a milli-Reso are carried over, not rounded.
 * No allocation, no clock, no I/O. Not thread-safe; one owner.
 */
#ifndef RESEX_CORE_RESOS_H
#define RESEX_CORE_RESOS_H

#include "src/core/flow.h"

enum price_profile {
	/*
	 * Pool 1,048,576 Resos a second whatever the link; a MTU costs
	 * 1048576 * 1000 * mtu / bytes_s milli-Resos, as a reduced fraction.
	 */
	PRICE_SCALED,
	/* One Reso a MTU, so 1000 / 1; pool bytes_s / mtu Resos a second. */
	PRICE_PAPER_2011,
};

struct link_conf {
	char name[FLOW_NAME_MAX];
	uint64_t bytes_s; /* capacity, 1 .. 2^40 */
	uint32_t mtu;	  /* 256, 512, 1024, 2048 or 4096 */
	enum price_profile profile;
};

struct resos_link {
	struct resos pool;  /* of one whole epoch, rounded down */
	uint64_t price_num; /* price of a MTU in milli-Resos, as a fraction */
	uint64_t price_den;
	uint32_t active; /* link exists */
};

struct ledger {
	int64_t epoch_ns;
	struct resos supply;	 /* issued at the epoch's start */
	struct resos overcommit; /* issued later in the epoch, in addition */
	struct resos retired;	 /* allocated to guests that left in this epoch */
	struct resos dropped;	 /* left over at the end of the previous epoch */
	uint64_t epoch;
	struct resos_link link[FLOW_LINKS_MAX];
	struct account acc[FLOW_GUESTS_MAX]; /* by slot */
};

/* 0 or -EINVAL: no link, too many, a figure out of its range; epoch 100 us .. 3600 s. */
int resos_init(struct ledger *l, int64_t epoch_ns, const struct link_conf *links, uint32_t n);

/*
 * Add a guest, without any Resos until resos_issue or the next epoch. Its rate is
 * one. 0, -EEXIST (slot in use), -EINVAL (slot, link, vcpus 1..4096, weight
 * 1..65535).
 */
int resos_join(struct ledger *l, uint32_t slot, uint32_t link, uint32_t vcpus, uint32_t weight);

/*
 * Issue to a guest that joined its share of the remaining_ns of the epoch (==
 * epoch_ns: a full share, still as overcommit, because supply was already
 * issued; values beyond 0 .. epoch_ns count as the nearer end). Guests that join
 * together should all join before the first is issued: the share of each depends
 * on the weights of all. No-op if absent or already issued.
 */
void resos_issue(struct ledger *l, uint32_t slot, int64_t remaining_ns);

/* Remove a guest; its allocation stays in retired until the epoch ends. No-op if absent. */
void resos_leave(struct ledger *l, uint32_t slot);

/*
 * New VCPU count and weight, from the next replenish on (a guest that joins
 * before it is weighed against the new weight). 0, -EINVAL, or -ENOENT when the
 * slot is not active.
 */
int resos_set_share(struct ledger *l, uint32_t slot, uint32_t vcpus, uint32_t weight);

/*
 * Charge one interval's use at the rate in force:
 * mtus x price x rate + cpu x rate. mtus are sent + received; the account
 * says which link (u->slot and u->link are ignored). Saturates instead of
 * overflowing: charged_io + charged_cpu stop at INT64_MAX. 0, or -ENOENT
 * when the slot is not active.
 */
int resos_charge(struct ledger *l, uint32_t slot, const struct usage *u);

/* The rate at which use is charged from now on. A rate below one counts as one. */
void resos_set_rate(struct ledger *l, uint32_t slot, struct rate rate);

/*
 * A new epoch: drop all balances and issue the supply again to all active guests.
 * overcommit and retired begin at 0; no account is LATE any more; rates and
 * carried fractions stay.
 */
void resos_replenish(struct ledger *l, uint64_t epoch);

/* 0, or -EBADMSG when an invariant does not hold (our bug, never input). */
int resos_check(const struct ledger *l);

#endif
