// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * worker_load: the load of this host as a node: sampled once a period, and published in the part
 * "load" of its region. No other host takes part: they READ it (resex/load_abi.h).
 */
#include <string.h>

#include "src/cluster/cluster_priv.h"

/* The record that is there stays: its beat does not move, so readers see how old it is. */
static void note_failure(struct worker *w, int rc, struct mono now, int64_t wall_ns)
{
	char text[128];

	if (w->load_failed)
		return;
	snprintf(text, sizeof(text), "its load cannot be sampled: %s", strerror(-rc));
	notices_alarm(&w->notices, (uint16_t)w->conf->host[w->conf->self].number, text, now,
		      wall_ns);
	w->load_failed = true;
}

void worker_sample(struct worker *w, struct mono now, int64_t wall_ns)
{
	int64_t period = w->conf->load.period_ns;
	struct load_record r = { .node = (uint32_t)cluster_own_node(w->conf)->number,
				 .source = w->load_ops->source,
				 .beat = w->load_beat + 1,
				 .sampled_ns = now.ns,
				 .period_ns = (uint64_t)period };
	int rc = w->load_ops->sample(w->load, &r);

	if (rc) {
		note_failure(w, rc, now, wall_ns);
		return;
	}
	w->load_failed = false;
	if (w->load_beat && mono_sub(now, w->load_sampled) >= 2 * period)
		r.flags |= LOAD_OVERRUN;
	w->load_sampled = now;
	w->load_beat = r.beat;
	region_publish_load(&w->region, &r);
}
