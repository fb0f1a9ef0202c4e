// SPDX-License-Identifier: GPL-2.0-or-later
/* sample: the next record of a node; its source fills it, and all have the rest. See load.h. */
#include "src/load/load.h"

int load_sample(struct load_series *s, const struct load_ops *ops, struct load *l,
		int64_t period_ns, struct mono at, struct load_record *r)
{
	struct load_record next = { .node = s->node,
				    .source = ops->source,
				    .beat = s->beat + 1,
				    .sampled_ns = at.ns,
				    .period_ns = (uint64_t)period_ns };
	int rc = ops->sample(l, &next);

	if (rc)
		return rc;
	if (s->beat && mono_sub(at, s->sampled) >= 2 * period_ns)
		next.flags |= LOAD_OVERRUN;
	s->beat = next.beat;
	s->sampled = at;
	*r = next;
	return 0;
}
