/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * caps: arithmetic on CPU caps.
 *
 * Internally a cap is in milli-percent; Xen has whole percents, where 0 is no cap.
 * A cap that the operator had set before is the ceiling.
 */
#ifndef RESEX_CORE_CAPS_H
#define RESEX_CORE_CAPS_H

#include "src/core/units.h"

/*
 * The cap to start from when none is in force: the ceiling if there is one,
 * else 100 % of all VCPUs.
 */
struct cap cap_full(const struct cap_bounds *b);

/*
 * Clamp into [max(1 %, min), min(ceiling, 100 % x VCPUs)]. CAP_NONE becomes
 * the ceiling (which is CAP_NONE when the operator set none). The ceiling takes
 * precedence over min.
 */
struct cap cap_clamp(struct cap c, const struct cap_bounds *b);

/*
 * c less permille/1000 of itself: floor(mpct * (1000 - permille) / 1000), for
 * CAP_NONE from cap_full; permille above 1000 counts as 1000. Not clamped.
 */
struct cap cap_cut(struct cap c, uint32_t permille, const struct cap_bounds *b);

/* The value to write to Xen: nearest whole percent (halves up), at least 1; CAP_NONE is 0. */
uint32_t cap_to_percent(struct cap c);

/* From a value read from Xen: 0 is CAP_NONE. */
struct cap cap_from_percent(uint32_t percent);

#endif
