/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy.h: the contract between the engine and a pricing policy.
 *
 * decide() sees const inputs and writes a plan. It does no I/O, reads no
 * clock, allocates nothing and keeps no statics: its state is two kinds of
 * fixed-size blocks, one global and one a guest, owned and zeroed by the
 * engine. So policies can be swapped at run time and compared with another
 * implementation: the same inputs give the same plan, byte for byte.
 *
 * policies/null.c is the template to copy.
 */
#ifndef RESEX_POLICY_H
#define RESEX_POLICY_H

#include <stddef.h>

#include "resex/flow.h"
#include "resex/units.h"

#define POLICY_ABI 2u

enum policy_guest_flags {
	POLICY_EXEMPT = 1u << 0,   /* observe, never cap (dom0 is not even shown) */
	POLICY_CAPPABLE = 1u << 1, /* its old cap is saved on disk */
	POLICY_NEW = 1u << 2,	   /* first interval of this guest */
};

struct policy_guest {
	uint32_t slot;	/* index of its state block and plan entry */
	uint32_t flags; /* enum policy_guest_flags */
	uint32_t link;
	uint32_t weight;
	struct cap_bounds bounds;
	struct cap cap;		/* in force: last applied */
	struct mono cap_time;	/* when it was applied; 0: no cap was since the guest joined */
	struct rate rate;	/* in force for charges */
	struct resos allocated; /* this epoch */
	struct resos balance;
	struct usage usage;   /* this interval */
	struct report report; /* this interval */
	struct sla sla;
};

struct policy_link {
	uint64_t bytes_s;
	uint32_t mtu;
	uint32_t reserved;
};

struct policy_in {
	struct mono now;
	struct mono epoch_start;
	int64_t epoch_ns;
	int64_t interval_ns;
	uint64_t epoch;
	uint32_t guests; /* entries of guest[] */
	uint32_t links;	 /* entries of link[] */
	struct policy_link link[FLOW_LINKS_MAX];
	struct policy_guest guest[FLOW_GUESTS_MAX]; /* ascending slot */
};

/* One parameter: bound to a uint64_t at offset in the parameter block. */
struct policy_param {
	const char *name;
	const char *unit; /* "permille", "ns", "mpct", ... */
	const char *text; /* one sentence, with its origin */
	size_t offset;
	uint64_t min, max, def;
};

struct policy_ops {
	uint32_t abi; /* POLICY_ABI */
	const char *name;
	const char *text;		   /* one sentence for policy-list */
	size_t params_size;		   /* 0 .. 4096 */
	size_t global_size;		   /* 0 .. 65536 */
	size_t guest_size;		   /* 0 .. 16384 */
	const struct policy_param *params; /* ends with name NULL */
	/*
	 * reasons[plan_guest.reason]: why, in one sentence; "%0".."%3" stand
	 * for plan_guest.why[0..3]. A suffix, as in "%0m", says how: m in whole
	 * thousands, d the same with two decimals, p permille as percent, g the
	 * name of the guest in that slot.
	 * Ends with NULL. reasons[0] is the reason for "no cap wanted".
	 */
	const char *const *reasons;
	/*
	 * Write plan->guest[slot] for every guest of in. params points at
	 * params_size bytes; global and guests at blocks that are zero when
	 * the policy begins (a guest's block also when the guest does), guests
	 * being an array by slot with stride guest_size. The engine clamps
	 * what is planned (cap_clamp): CAP_NONE gives the operator's own cap.
	 */
	void (*decide)(const struct policy_in *in, const void *params, void *global, void *guests,
		       struct plan *plan);
};

_Static_assert(sizeof(struct policy_guest) == 232, "no padding");
_Static_assert(sizeof(struct policy_link) == 16, "no padding");
_Static_assert(offsetof(struct policy_in, link) == 48, "no padding");
_Static_assert(offsetof(struct policy_in, guest) == 48 + FLOW_LINKS_MAX * 16, "no padding");

#endif
