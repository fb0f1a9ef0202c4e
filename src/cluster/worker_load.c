// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * worker_load: the load of this host as a node: sampled once a period, and published in the part
 * "load" of its region. No other host takes part: they READ it (resex/load_abi.h). And what was
 * read of all nodes: an index of each, over a window.
 */
#include <stdlib.h>
#include <string.h>

#include "src/cluster/cluster_priv.h"

/* The record that is there stays: its beat does not move, so readers see how old it is. */
static void note_failure(struct worker *w, int rc, struct mono now, int64_t wall_ns)
{
	char text[128];

	snprintf(text, sizeof(text), "its load cannot be sampled: %s", strerror(-rc));
	notices_alarm(&w->notices, (uint16_t)w->conf->host[w->conf->self].number, text, now,
		      wall_ns);
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
	if (w->load_beat && mono_sub(now, w->load_sampled) >= 2 * period)
		r.flags |= LOAD_OVERRUN;
	w->load_sampled = now;
	w->load_beat = r.beat;
	region_publish_load(&w->region, &r);
}

/* 0 or -ENOMEM. */
static int make_windows(struct worker *w, uint16_t host, uint32_t n)
{
	struct load_window **of = &w->window[host - 1], *more;
	uint32_t *have = &w->windows[host - 1];

	if (n <= *have)
		return 0;
	more = realloc(*of, n * sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + *have, 0, (n - *have) * sizeof(*more));
	*of = more;
	*have = n;
	return 0;
}

void worker_nodes(struct worker *w, uint16_t host, const struct peer_seen *p,
		  struct node_copy out[static REGION_NODES_MAX])
{
	int rc = make_windows(w, host, p->nodes);

	for (uint32_t i = 0; i < p->nodes; i++) {
		out[i] = (struct node_copy){ .seen = p->node[i], .index = rc ? rc : -EAGAIN };
		if (rc || !p->node[i].load.head.seq)
			continue;
		load_window_add(&w->window[host - 1][i], &p->node[i].load, w->conf->load.window_ns);
		out[i].index = load_window_index(&w->window[host - 1][i]);
	}
}
