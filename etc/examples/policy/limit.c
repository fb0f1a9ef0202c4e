// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * limit: caps a guest while it moves more than a part of its link. An example of a policy that is
 * built outside of ResEx, against the installed headers alone: resex-policy(7) explains it.
 *
 *	each window: bytes of the guest > part of what the link can move -> cap, else no cap
 */
#include <resex/policy.h>

struct params {
	uint64_t part;
	uint64_t cap;
	uint64_t window;
};

/* Of a guest. Zero when the guest begins: then its first window begins, too. */
struct guest {
	struct mono since; /* when the window began; 0: not yet */
	uint64_t bytes;	   /* moved in it */
	uint64_t capped;   /* because of the window before */
};

static const struct policy_param table[] = {
	{ "part", "permille", "Cap a guest that moves more than this part of its link.",
	  offsetof(struct params, part), 1, 1000, 500 },
	{ "cap", "mpct", "The cap of such a guest.", offsetof(struct params, cap), 1000, 100000,
	  20000 },
	{ "window", "ns", "Bytes are summed up so long.", offsetof(struct params, window),
	  NS_PER_MS, NS_PER_S, 100 * NS_PER_MS },
	{ NULL, NULL, NULL, 0, 0, 0, 0 },
};

enum { FREE, CAPPED, LEFT_ALONE };

static const char *const reasons[] = {
	[FREE] = "no cap: it moved %0 kB in the last window, and %1 kB are allowed",
	[CAPPED] = "cap %2c percent: it moved %0 kB in the last window, and %1 kB are allowed",
	[LEFT_ALONE] = "no cap: the guest is exempt, or cannot be capped yet",
	NULL,
};

/* What a guest may move in a window. */
static uint64_t allowed(const struct policy_in *in, const struct policy_guest *g,
			const struct params *p)
{
	return (uint64_t)((unsigned __int128)in->link[g->link].bytes_s * p->part * p->window /
			  1000 / NS_PER_S);
}

static void decide_one(const struct policy_in *in, const struct policy_guest *g,
		       const struct params *p, struct guest *s, struct plan_guest *out)
{
	const uint64_t most = allowed(in, g, p);

	*out = (struct plan_guest){ .cap = CAP_NONE, .rate = RATE_ONE, .reason = FREE };
	s->bytes += g->usage.bytes_sent + g->usage.bytes_recv;
	out->why[0] = (int64_t)(s->bytes / 1000);
	out->why[1] = (int64_t)(most / 1000);
	if (!s->since.ns || mono_sub(in->now, s->since) >= (int64_t)p->window) {
		s->capped = s->since.ns && s->bytes > most;
		s->since = in->now;
		s->bytes = 0;
	}
	if (g->flags & POLICY_EXEMPT || !(g->flags & POLICY_CAPPABLE)) {
		out->reason = LEFT_ALONE;
	} else if (s->capped) {
		out->cap = (struct cap){ 1, (uint32_t)p->cap };
		out->reason = CAPPED;
		out->why[2] = (int64_t)p->cap;
	}
}

static void decide(const struct policy_in *in, const void *params, void *global, void *guests,
		   struct plan *plan)
{
	struct guest *state = guests;

	(void)global;
	for (uint32_t i = 0; i < in->guests; i++) {
		const struct policy_guest *g = &in->guest[i];

		decide_one(in, g, params, &state[g->slot], &plan->guest[g->slot]);
	}
}

/* The ranges of parameters are checked already: this is for what no range can say. */
static const char *init(const void *params, void *global, void *guests)
{
	const struct params *p = params;

	(void)global;
	(void)guests;
	if (p->part == 1000 && p->cap < 100000)
		return "part is 100 %, which no guest exceeds: lower it, or leave cap at 100 %";
	return NULL;
}

const struct policy_ops resex_policy = {
	.abi = POLICY_ABI,
	.size = sizeof(struct policy_ops),
	.name = "limit",
	.text = "Caps a guest while it moves more than a part of its link.",
	.params_size = sizeof(struct params),
	.guest_size = sizeof(struct guest),
	.params = table,
	.reasons = reasons,
	.decide = decide,
	.init = init,
};
