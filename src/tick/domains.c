// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * domains: the one hypercall of a tick, called by sampler_observe(). No other
 * file of the sampler includes the hypervisor's ops.
 */
#include "src/hv/hv.h"
#include "src/tick/sampler.h"

void sampler_list_domains(struct sampler *s)
{
	s->doms = s->ops->list(s->hv, s->dom, SAMPLER_DOMS_MAX);
}
