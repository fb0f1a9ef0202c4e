// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: what the simulated HCA has moved for a guest (src/sim).
#include <errno.h>

#include "src/counters/counters_priv.h"
#include "src/sim/hyp.h"

static int sim_read(struct counters *c, const struct counter_name *n, uint32_t domid,
		    struct counter_value *v)
{
	struct sim_hyp_moved m;

	(void)n;
	if (sim_hyp_moved(c->arg, domid, &m))
		return -ENOENT;
	*v = (struct counter_value){
		.bytes_sent = m.bytes_sent,
		.bytes_recv = m.bytes_recv,
		.packets_sent = m.packets_sent,
		.packets_recv = m.packets_recv,
		.which = 1,
	};
	return 0;
}

const struct counter_ops counter_sim = { COUNTER_SIM, "sim", sim_read };
const struct counter_ops *const counters_sim[] = { &counter_sim, NULL };
