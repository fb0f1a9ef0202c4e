/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy.h: the contract between the engine and a pricing policy. Installed, and needs no
 * other header than those beside it. resex-policy(7) says how to write one.
 *
 * decide() reads const inputs and writes a plan. It does no I/O, reads no clock, allocates
 * nothing and has no static variables: its state is in two kinds of blocks of fixed size,
 * one global and one for each guest, which the engine owns and zeroes. So policies can be
 * changed at run time and compared with another implementation: the same inputs give the
 * same plan, byte for byte.
 *
 * policies/null.c is the template to copy.
 */
#ifndef RESEX_POLICY_H
#define RESEX_POLICY_H

#include <stddef.h>

#include "resex/flow.h"
#include "resex/units.h"

/* Changes whenever a struct here, in resex/flow.h or in resex/units.h does. */
#define POLICY_ABI 6u

/* What a policy that is not built into resexd, a plug-in, exports: see resex_policy below. */
#define POLICY_SYMBOL "resex_policy"

/* What a policy may have at most. */
enum policy_limits {
	POLICY_PARAMS_MAX = 64,	 /* parameters */
	POLICY_REASONS_MAX = 64, /* reasons */
	POLICY_TEXT_MAX = 255,	 /* bytes of a name, text or reason */
	POLICY_PARAMS_SIZE = 4096,
	POLICY_GLOBAL_SIZE = 65536,
	POLICY_GUEST_SIZE = 16384,
};

/* The state of a guest that leaves is kept so long for a domain with the same UUID. */
#define POLICY_KEPT_NS (60 * NS_PER_S)

enum policy_guest_flags {
	POLICY_EXEMPT = 1u << 0,   /* charge, never cap (dom0 is never in guest[]) */
	POLICY_CAPPABLE = 1u << 1, /* its own cap is saved on disk, so it may be capped */
	POLICY_NEW = 1u << 2,	   /* first interval of this guest, or after its restart */
};

struct policy_guest {
	uint32_t slot;	/* index of its state block and plan entry */
	uint32_t flags; /* enum policy_guest_flags */
	uint32_t link;
	uint32_t weight;
	struct cap_bounds bounds;
	struct cap cap;		/* in force: the last one set */
	struct mono cap_time;	/* when it was set; 0: none was set since the guest joined */
	struct rate rate;	/* at which use is charged now */
	struct resos allocated; /* issued for this epoch */
	struct resos balance;	/* what is left of it */
	struct usage usage;	/* this interval */
	struct report report;	/* this interval */
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
	/*
	 * A bit an entry of guest[], policy_stands(): nothing needs to be decided on this guest, as
	 * the policy said with plan_guest.stands. Time, use and balance of its entry are those of
	 * an earlier interval.
	 */
	uint64_t still[FLOW_GUESTS_MAX / 64];
	struct policy_guest guest[FLOW_GUESTS_MAX]; /* ascending slot */
};

/* One parameter: a uint64_t at offset in the parameter block. */
struct policy_param {
	const char *name;
	const char *unit; /* "ns", "bytes", "permille", "mpct", or "-" for a plain number */
	const char *text; /* one sentence: what it does, and where its default is from */
	size_t offset;
	uint64_t min, max, def;
};

struct policy_ops {
	uint32_t abi;  /* POLICY_ABI */
	uint32_t size; /* sizeof(struct policy_ops) */
	const char *name;
	const char *text;	/* one sentence for policy-list */
	uint32_t needs_reports; /* 1: where no guest reports latencies, no guest is capped */
	size_t params_size;	/* 0 .. POLICY_PARAMS_SIZE; all sizes are multiples of 8 */
	size_t global_size;	/* 0 .. POLICY_GLOBAL_SIZE */
	size_t guest_size;	/* 0 .. POLICY_GUEST_SIZE */
	const struct policy_param *params; /* ends with name NULL */
	/*
	 * reasons[plan_guest.reason]: the reason in one sentence, in which "%0"
	 * to "%3" are replaced by plan_guest.why[0..3]. A suffix, as in "%0m",
	 * is the format: m whole thousands, d thousands with two decimals, c a cap
	 * of so many milli-percent as the percentage that Xen gets, p permille as
	 * percent, g the name of the guest in that slot, a the names
	 * of the guests that are charged for it: those with the same slot as an a.
	 * "%r" is replaced by plan_guest.rate with two decimals.
	 * Ends with NULL. reasons[0] is the reason for "no cap wanted".
	 */
	const char *const *reasons;
	/*
	 * Write plan->guest[slot] for every guest of in. params: params_size
	 * bytes. global: global_size bytes, zero when the policy begins.
	 * guests: an array by slot of blocks of guest_size bytes, each zero
	 * when the policy or the guest begins; a guest that comes back within
	 * POLICY_KEPT_NS has its former block. The engine clamps caps to the
	 * guest's bounds: CAP_NONE gives the operator's own cap.
	 *
	 * With plan_guest.stands, which is above 0, a policy says that it need not be asked of a
	 * guest for a while: as long as the epoch lasts, the guest does nothing but use CPU time,
	 * the rest of its entry stays as it is, and its balance is stands or more, decide() would
	 * write the same plan for it, except why, and change no state, whatever the time. In that
	 * while the guest's bit in still may be set. The policy is asked of all guests before
	 * plans are shown. One that leaves stands 0 finds no bit set.
	 */
	void (*decide)(const struct policy_in *in, const void *params, void *global, void *guests,
		       struct plan *plan);
	/*
	 * NULL, or called once, before the policy is in force: the parameters have their values,
	 * the blocks are zero. Returns NULL, or one sentence that says why these parameters are
	 * not taken: then the policy is not put in force.
	 */
	const char *(*init)(const void *params, void *global, void *guests);
};

/*
 * A plug-in is a shared object NAME.so that exports its policy as this symbol and calls no other
 * function than memcpy() and its like: resex-policy(7) lists them.
 */
extern const struct policy_ops resex_policy __attribute__((visibility("default")));

/* Is the bit of guest[i] set in still? */
static inline bool policy_stands(const struct policy_in *in, uint32_t i)
{
	return in->still[i / 64] >> (i % 64) & 1;
}

_Static_assert(sizeof(struct policy_guest) == 240, "no padding");
_Static_assert(sizeof(struct policy_link) == 16, "no padding");
_Static_assert(offsetof(struct policy_in, link) == 48, "no padding");
_Static_assert(offsetof(struct policy_in, still) == 48 + FLOW_LINKS_MAX * 16, "no padding");

#endif
