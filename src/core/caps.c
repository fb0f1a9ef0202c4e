// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * caps: bring the caps that policies want within the limits of operator and Xen.
 *
 * Used by policies to compute a cap, by src/tick to bring it within its bounds, and by
 * src/hv to write it. "No cap" is never used in arithmetic: it is first replaced by the full
 * cap (cap_full) or passed through. In Xen 0 means no cap, so a guest whose cap was computed
 * to 0 would be let loose.
 */
#include "src/core/caps.h"

enum {
	MPCT_PER_PERCENT = 1000,
	MPCT_PER_VCPU = 100 * MPCT_PER_PERCENT,
	PERMILLE = 1000,
};

/* A guest of more than 42,949 VCPUs would wrap to a small cap. */
static uint32_t saturate32(uint64_t v)
{
	return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static uint32_t all_vcpus(const struct cap_bounds *b)
{
	return saturate32((uint64_t)b->vcpus * MPCT_PER_VCPU);
}

struct cap cap_full(const struct cap_bounds *b)
{
	if (b->ceiling.limited)
		return b->ceiling;
	return (struct cap){ 1, all_vcpus(b) };
}

struct cap cap_clamp(struct cap c, const struct cap_bounds *b)
{
	uint32_t low = b->min_mpct, high = all_vcpus(b), mpct = c.mpct;

	if (!c.limited)
		return b->ceiling;
	/* Xen has whole percents: the least cap that is not "no cap" is 1. */
	if (low < MPCT_PER_PERCENT)
		low = MPCT_PER_PERCENT;
	if (b->ceiling.limited && b->ceiling.mpct < high)
		high = b->ceiling.mpct;
	if (mpct < low)
		mpct = low;
	if (mpct > high) /* last: the ceiling takes precedence over the minimum */
		mpct = high;
	return (struct cap){ 1, mpct };
}

struct cap cap_cut(struct cap c, uint32_t permille, const struct cap_bounds *b)
{
	struct cap from = c.limited ? c : cap_full(b);
	uint32_t keep = permille < PERMILLE ? PERMILLE - permille : 0;

	return (struct cap){ 1, (uint32_t)((uint64_t)from.mpct * keep / PERMILLE) };
}

uint32_t cap_to_percent(struct cap c)
{
	uint64_t percent;

	if (!c.limited)
		return 0;
	/*
	 * Rounded, not cut: otherwise caps that a policy moves in small steps would always err
	 * low.
	 */
	percent = ((uint64_t)c.mpct + MPCT_PER_PERCENT / 2) / MPCT_PER_PERCENT;
	return percent ? (uint32_t)percent : 1;
}

struct cap cap_from_percent(uint32_t percent)
{
	if (!percent)
		return CAP_NONE;
	return (struct cap){ 1, saturate32((uint64_t)percent * MPCT_PER_PERCENT) };
}
