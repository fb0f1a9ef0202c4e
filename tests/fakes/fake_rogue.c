// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fake_rogue: a policy that misbehaves as its parameter "how" says, from its call number "from" on.
 * Before that it caps every guest at 30 %, so that a test sees that caps are restored.
 *
 * Tests of the sampler link it, without sanitizers, which would stop it themselves. Tests of what
 * loads plug-ins build it as a shared object; with -DROGUE_... it is one that must be refused.
 */
#include "tests/fakes/fake_rogue.h"

struct params {
	uint64_t how, from;
};

struct global {
	uint64_t calls;
};

struct guest {
	uint64_t decisions;
};

static const struct policy_param rogue_params[] = {
	{ "how", "-", "What is wrong with it.", offsetof(struct params, how), 0, 100, 0 },
	{ "from", "-", "In which call that begins.", offsetof(struct params, from), 0, 1000000, 0 },
	{ NULL, NULL, NULL, 0, 0, 0, 0 },
};

static const char *const rogue_reasons[] = {
	"cap %0c percent, as a test wants it",
	NULL,
};

static void plan_all(const struct policy_in *in, struct plan *plan, struct plan_guest p)
{
	for (uint32_t i = 0; i < in->guests; i++)
		plan->guest[in->guest[i].slot] = p;
}

static uint64_t recurse(volatile uint64_t n)
{
	volatile uint64_t much[4096];

	much[0] = n;
	return recurse(n + 1) + much[0];
}

static __attribute__((noinline)) void smash(volatile char *at)
{
	for (int i = 0; i < 4096; i++)
		at[i] = (char)0xee;
}

static __attribute__((noinline)) void smashes(void)
{
	volatile char small[8];

	smash(small);
}

static volatile uint64_t kept;

static void burn(void)
{
	for (volatile uint64_t i = 0; i < 3000000; i++)
		;
}

#ifdef __x86_64__
static void wait_in_kernel(void)
{
	long rc = 34; /* pause() */

	for (;;)
		__asm__ volatile("syscall" : "+a"(rc) : : "rcx", "r11", "memory");
}
#else
static void wait_in_kernel(void)
{
	for (;;)
		;
}
#endif

/* What a policy does that it must not. */
static void do_harm(enum rogue how, const struct policy_in *in, const struct params *p,
		    void *global, void *guests, struct plan *plan)
{
	volatile uint64_t zero = 0;

	switch (how) {
	case ROGUE_FORGETS:
	case ROGUE_HANGS:
		for (volatile int i = 0;; i++)
			;
	case ROGUE_READS_NULL:
		(void)*(volatile int *)(uintptr_t)zero;
		break;
	case ROGUE_BEYOND_GUESTS:
		((volatile uint8_t *)guests)[sizeof(struct guest) * FLOW_GUESTS_MAX] = 1;
		break;
	case ROGUE_BEFORE_GLOBAL:
		((volatile uint8_t *)global)[-4096] = 1;
		break;
	case ROGUE_BEYOND_PLAN:
		((volatile uint8_t *)plan)[sizeof(*plan)] = 1;
		break;
	case ROGUE_WRITES_PARAMS:
		*(volatile uint64_t *)&p->from = 7;
		break;
	case ROGUE_WRITES_INPUT:
		for (uint32_t i = 0; i < in->guests; i++)
			*(volatile uint32_t *)&in->guest[i].slot = 9999;
		*(volatile uint32_t *)&in->guests = 0;
		break;
	case ROGUE_DIVIDES:
		*(volatile uint64_t *)global = p->from / zero;
		break;
	case ROGUE_RECURSES:
		*(volatile uint64_t *)global = recurse(0);
		break;
	case ROGUE_SMASHES:
		smashes();
		break;
	case ROGUE_TRAPS:
		__builtin_trap();
	case ROGUE_JUMPS:
		((void (*)(void))(uintptr_t)0x10)();
		break;
	case ROGUE_BURNS:
		burn();
		break;
	case ROGUE_WAITS:
		wait_in_kernel();
		break;
	case ROGUE_WRITES_STATIC:
		kept = 1;
		break;
	default:
		break;
	}
}

static struct plan_guest nonsense(enum rogue how, struct plan_guest p)
{
	switch (how) {
	case ROGUE_ODD_CAP:
		p.cap.limited = 7;
		break;
	case ROGUE_NO_CAP_OF:
		p.cap = (struct cap){ 0, 5000 };
		break;
	case ROGUE_LOW_RATE:
		p.rate.q16 = 65535;
		break;
	case ROGUE_ODD_REASON:
		p.reason = 1;
		break;
	case ROGUE_RESERVED:
		p.vf_bytes_s = 1;
		break;
	case ROGUE_HUGE_CAP:
		p.cap.mpct = 0xffffffff;
		break;
	case ROGUE_TINY_CAP:
		p.cap.mpct = 0;
		break;
	case ROGUE_EXTREMES:
		p.rate.q16 = UINT32_MAX;
		p.why[0] = INT64_MAX;
		p.why[1] = INT64_MIN;
		p.stands.m = INT64_MIN;
		break;
	default:
		break;
	}
	return p;
}

static void rogue_decide(const struct policy_in *in, const void *params, void *global, void *guests,
			 struct plan *plan)
{
	const struct params *p = params;
	enum rogue how = (enum rogue)p->how;
	static const struct policy_in none;
	struct global *all = global;
	struct plan_guest want = { .cap = { 1, 30000 }, .rate = RATE_ONE, .why = { 30000 } };
	struct guest *each = guests;

	if (how == ROGUE_FORGETS)
		want.stands.m = 1;
	for (uint32_t i = 0; i < in->guests; i++)
		each[in->guest[i].slot].decisions++;
	if (all->calls++ < p->from)
		how = ROGUE_BEHAVES;
	want = nonsense(how, want);
	plan_all(how == ROGUE_NO_PLAN ? &none : in, plan, want);
	do_harm(how, in, p, global, guests, plan);
}

static const char *rogue_init(const void *params, void *global, void *guests)
{
	const struct params *p = params;

	(void)guests;
	if (p->how == ROGUE_INIT_HANGS)
		for (volatile int i = 0;; i++)
			;
	if (p->how == ROGUE_INIT_REFUSES)
		return "how is 99,\nwhich is too much";
	if (p->how == ROGUE_INIT_CRASHES)
		*(volatile uint64_t *)&p->how = 1;
	((struct global *)global)->calls = 0;
	return NULL;
}

#ifdef ROGUE_CALLS
extern void ROGUE_CALLS(void);

static void call_other(const struct policy_in *in, const void *params, void *global, void *guests,
		       struct plan *plan)
{
	ROGUE_CALLS();
	rogue_decide(in, params, global, guests, plan);
}
#define rogue_decide call_other
#endif

#ifdef ROGUE_CHOOSES
typedef void decide_fn(const struct policy_in *in, const void *params, void *global, void *guests,
		       struct plan *plan);

static decide_fn *choose(void)
{
	return rogue_decide;
}

static __attribute__((ifunc("choose"))) decide_fn chosen;
#define rogue_decide chosen
#endif

#ifdef ROGUE_CONSTRUCTOR
static volatile int began;

static __attribute__((constructor)) void begin(void)
{
	began = 1;
}
#endif

#ifdef ROGUE_SYMBOL
#define resex_policy other_policy
extern const struct policy_ops resex_policy __attribute__((visibility("default")));
#endif

const struct policy_ops resex_policy = {
#ifdef ROGUE_ABI
	.abi = POLICY_ABI ROGUE_ABI,
#else
	.abi = POLICY_ABI,
#endif
	.size = sizeof(struct policy_ops),
	.name = "rogue",
	.text = "Misbehaves, for tests.",
	.params_size = sizeof(struct params),
	.global_size = sizeof(struct global),
	.guest_size = sizeof(struct guest),
#ifdef ROGUE_POINTER
	.params = (const struct policy_param *)16,
#else
	.params = rogue_params,
#endif
	.reasons = rogue_reasons,
	.decide = rogue_decide,
	.init = rogue_init,
};
