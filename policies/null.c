// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * null: charge and observe, never cap. The template for a new policy.
 *
 * To copy: give it a name and a sentence; declare its state as the sizes of two
 * structs (the engine owns and zeroes them), its parameters as a table bound to a
 * third, its reasons as sentences; then write plan->guest[slot] for every guest
 * in the input. freemarket.c does all of these.
 */
#include "resex/policy.h"

static const struct policy_param null_params[] = {
	{ NULL, NULL, NULL, 0, 0, 0, 0 },
};

static const char *const null_reasons[] = {
	"no cap: this policy never caps; %0m of %1m Resos are left",
	NULL,
};

static void null_decide(const struct policy_in *in, const void *params, void *global, void *guests,
			struct plan *plan)
{
	(void)params;
	(void)global;
	(void)guests;
	for (uint32_t i = 0; i < in->guests; i++) {
		const struct policy_guest *g = &in->guest[i];

		if (policy_stands(in, i))
			continue;
		plan->guest[g->slot] = (struct plan_guest){
			.cap = CAP_NONE,
			.rate = RATE_ONE,
			.reason = 0,
			.why = { g->balance.m, g->allocated.m, 0, 0 },
			.stands = { 1 },
		};
	}
}

const struct policy_ops policy_null = {
	.abi = POLICY_ABI,
	.size = sizeof(struct policy_ops),
	.name = "null",
	.text = "Charges every guest and caps none: the baseline for the other policies.",
	.params = null_params,
	.reasons = null_reasons,
	.decide = null_decide,
};
