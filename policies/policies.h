/* SPDX-License-Identifier: GPL-2.0-or-later */
/* policies: the built-in policies, and the instance of a policy that the engine runs. */
#ifndef RESEX_POLICIES_POLICIES_H
#define RESEX_POLICIES_POLICIES_H

#include "resex/policy.h"

extern const struct policy_ops policy_null;
extern const struct policy_ops policy_freemarket;
extern const struct policy_ops policy_ratio;
extern const struct policy_ops policy_ioshares;

/* The built-in policies, ended by NULL. */
extern const struct policy_ops *const policies_builtin[];
/* The built-in policy of this name, or NULL. */
const struct policy_ops *policy_find(const char *name);

/* A policy with its parameters and state: the arguments of decide(). Made by src/conf/policy.h. */
struct policy_inst {
	const struct policy_ops *ops;
	void *params;
	void *global;
	void *guests; /* FLOW_GUESTS_MAX blocks of ops->guest_size */
};

#endif
