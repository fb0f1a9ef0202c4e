// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ratio: a cap by the size of the messages (paper V-B, figures 3 and 4).
 *
 * The paper measures that a neighbour with messages k times as large does not
 * raise a guest's latency at a cap of 100 / k percent. This policy is that rule
 * and nothing else: it needs no reported latencies and ignores links.
 *
 *	largest message <= victim_bytes -> no cap
 *	otherwise                       -> 100 % of its VCPUs x victim_bytes / largest message
 *
 * The largest message counts for the time hold; each message of that size or
 * above restarts the time, so a guest that keeps sending them keeps its cap.
 */
#include "policies/state.h"
#include "resex/policy.h"
#include "src/core/caps.h"

struct ratio_params {
	uint64_t victim_bytes;
	uint64_t hold;
	uint64_t min_cap;
};

/* State of a guest; size 0: no message was seen. */
struct ratio_guest {
	uint64_t size;
	struct mono seen;
};

enum ratio_reason {
	RATIO_FREE,
	RATIO_CAPPED,
	RATIO_EXEMPT,
	RATIO_NOT_CAPPABLE,
	RATIO_UNSEEN,
};

static const char *const ratio_reasons[] = {
	[RATIO_FREE] = "no cap: its messages have up to %1 bytes, and %2 count as small",
	[RATIO_CAPPED] = "cap %0c percent: %2 bytes against the %1 of its largest message",
	[RATIO_EXEMPT] = "no cap: the guest is exempt; its largest message has %1 bytes",
	[RATIO_NOT_CAPPABLE] =
		"no cap: the guest's original cap is not saved yet; largest message: %1 bytes",
	[RATIO_UNSEEN] = "no cap: no message of it was seen lately",
	NULL,
};

static const struct policy_param ratio_params[] = {
	{ "victim_bytes", "bytes",
	  "Message size of the guests to protect (the paper's server: 64 KB).",
	  offsetof(struct ratio_params, victim_bytes), 1, 1073741824, 65536 },
	{ "hold", "ns",
	  "How long the largest message seen counts (one epoch; in the paper sizes are known).",
	  offsetof(struct ratio_params, hold), 0, 100000000000, 1000000000 },
	{ "min_cap", "mpct",
	  "Lowest cap (1 % is the least that Xen accepts; the paper goes down to 3 %).",
	  offsetof(struct ratio_params, min_cap), 1000, 100000, 1000 },
	{ NULL, NULL, NULL, 0, 0, 0, 0 },
};

static void remember_size(struct ratio_guest *s, const struct policy_guest *g, struct mono now,
			  uint64_t hold)
{
	uint64_t size = g->usage.msg_bytes;

	if (size >= s->size || mono_sub(now, s->seen) > (int64_t)hold) {
		s->size = size;
		s->seen = now;
	}
}

/* The paper's 100 / k percent with k = size / victim_bytes, of all VCPUs together. */
static struct cap ratio_cap(const struct policy_guest *g, const struct ratio_params *p,
			    uint64_t size)
{
	struct cap_bounds b = g->bounds, all = { .vcpus = b.vcpus };
	uint64_t mpct = cap_full(&all).mpct * p->victim_bytes / size;

	if (b.min_mpct < p->min_cap)
		b.min_mpct = (uint32_t)p->min_cap;
	return cap_clamp((struct cap){ 1, (uint32_t)mpct }, &b);
}

static void ratio_decide(const struct policy_in *in, const void *params, void *global, void *guests,
			 struct plan *plan)
{
	const struct ratio_params *p = params;
	struct ratio_guest *state = guests;

	(void)global;
	for (uint32_t i = 0; i < in->guests; i++) {
		const struct policy_guest *g = &in->guest[i];
		struct ratio_guest *s = &state[g->slot];
		struct plan_guest out = { .cap = CAP_NONE, .rate = RATE_ONE };

		remember_size(s, g, in->now, p->hold);
		if (g->flags & POLICY_EXEMPT) {
			out.reason = RATIO_EXEMPT;
		} else if (!(g->flags & POLICY_CAPPABLE)) {
			out.reason = RATIO_NOT_CAPPABLE;
		} else if (s->size > p->victim_bytes) {
			out.cap = ratio_cap(g, p, s->size);
			out.reason = RATIO_CAPPED;
		} else if (!s->size) {
			out.reason = RATIO_UNSEEN;
		}
		out.why[0] = out.cap.mpct;
		out.why[1] = (int64_t)s->size;
		out.why[2] = (int64_t)p->victim_bytes;
		plan->guest[g->slot] = out;
	}
}

bool ratio_state_good(const void *guests)
{
	const struct ratio_guest *s = guests;

	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (!state_time_good(s[i].seen))
			return false;
	return true;
}

const struct policy_ops policy_ratio = {
	.abi = POLICY_ABI,
	.size = sizeof(struct policy_ops),
	.name = "ratio",
	.text = "Caps a guest by how much larger its messages are than a given size.",
	.params_size = sizeof(struct ratio_params),
	.guest_size = sizeof(struct ratio_guest),
	.params = ratio_params,
	.reasons = ratio_reasons,
	.decide = ratio_decide,
};
