/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policies: the built-in policies, and the instance of a policy that the engine runs. Plug-ins are
 * loaded by src/conf/plugin.h.
 */
#ifndef RESEX_POLICIES_POLICIES_H
#define RESEX_POLICIES_POLICIES_H

#include "policies/check.h"
#include "resex/policy.h"

extern const struct policy_ops policy_null;
extern const struct policy_ops policy_freemarket;
extern const struct policy_ops policy_ratio;
extern const struct policy_ops policy_ioshares;
extern const struct policy_ops policy_slo;

/* The built-in policies, ended by NULL. */
extern const struct policy_ops *const policies_builtin[];
/* The built-in policy of this name, or NULL. */
const struct policy_ops *policy_find(const char *name);

/* Why a plug-in was stopped. */
enum policy_end {
	POLICY_RUNS,
	POLICY_CRASHED,	  /* a fault: signal, address */
	POLICY_HUNG,	  /* decide() did not return: ns */
	POLICY_SLOW,	  /* too many calls were over the budget: ns, of the last of them */
	POLICY_WRONG,	  /* a plan is nonsense: slot, wrong, figure */
	POLICY_UNGUARDED, /* this thread has no guard */
};

struct policy_fault {
	uint32_t end; /* enum policy_end; written last, read first: policy_ended() */
	uint32_t slot;
	uint32_t wrong; /* enum plan_wrong */
	int32_t signal;
	uint64_t address;
	uint64_t figure;
	int64_t ns; /* CPU time of the call */
};

/*
 * What an instance of a plug-in has beside the rest: an input and a plan of its own. These, its
 * parameters and its state are in pages that nothing else is in, with guard pages before and
 * behind. The sampler writes fault once; control reads it.
 */
struct policy_apart {
	struct policy_in *in;
	struct plan *plan;
	struct policy_pace pace;
	struct policy_fault fault;
	void *pages;
	size_t length;
};

/* A policy with its parameters and state: the arguments of decide(). Made by src/conf/policy.h. */
struct policy_inst {
	const struct policy_ops *ops;
	void *params;
	void *global;
	void *guests;		    /* FLOW_GUESTS_MAX blocks of ops->guest_size */
	struct policy_apart *apart; /* NULL: a built-in policy */
};

/* Was the plug-in stopped? Then the policy null is in force in its place. */
static inline bool policy_ended(const struct policy_inst *pi)
{
	return pi->apart && __atomic_load_n(&pi->apart->fault.end, __ATOMIC_ACQUIRE) != POLICY_RUNS;
}

/* The policy that decides. */
static inline const struct policy_ops *policy_in_force(const struct policy_inst *pi)
{
	return policy_ended(pi) ? &policy_null : pi->ops;
}

#endif
