/* SPDX-License-Identifier: GPL-2.0-or-later */
/* put: append an operation to a step's output. For protocols only. */
#ifndef RESEX_RECONF_PUT_H
#define RESEX_RECONF_PUT_H

#include "src/reconf/step.h"

/* false: no room in this step. */
static inline bool step_put(struct step_out *out, struct step_op op)
{
	if (out->n + out->taken >= STEP_OPS_MAX)
		return false;
	out->op[out->n++] = op;
	return true;
}

#endif
