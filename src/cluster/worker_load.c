// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * worker_load: the load of this host as a node, in the part "load" of its region: sampled once a
 * period and published, or filled by the kernel module, which needs no process for it. No other
 * host takes part: they READ it (resex/load_abi.h). What HAProxy says of the requests of this
 * host's nodes is added to the records that this thread writes. And what was read of all nodes: an
 * index of each, over a window.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cluster/cluster_priv.h"

static void tell(struct worker *w, const char *text, struct mono now, int64_t wall_ns)
{
	notices_alarm(&w->notices, (uint16_t)w->conf->host[w->conf->self].number, text, now,
		      wall_ns);
}

void worker_put_requests(struct worker *w, struct load_record *r, struct mono now)
{
	const struct node_requests *q;

	spsc_latest_get(&w->x->requests.at);
	q = &w->x->requests.copy[w->x->requests.at.front][r->node];
	/* Control may hang, or HAProxy: what it said once is no news. */
	if (!q->read.ns || mono_sub(now, q->read) > w->conf->load.stale_ns)
		return;
	r->queued = q->queued;
	r->served = q->served;
	r->latency_ns = q->latency_ns;
}

/* The record that is there stays: its beat does not move, so readers see how old it is. */
static void note_failure(struct worker *w, int rc, struct mono now, int64_t wall_ns)
{
	char text[128];

	snprintf(text, sizeof(text), "its load cannot be sampled: %s", strerror(-rc));
	tell(w, text, now, wall_ns);
}

static void sample(struct worker *w, struct mono now, int64_t wall_ns)
{
	struct load_record r;
	int rc = load_sample(&w->load_series, w->load_ops, w->load, w->conf->load.period_ns, now,
			     &r);

	if (rc) {
		note_failure(w, rc, now, wall_ns);
		return;
	}
	worker_put_requests(w, &r, now);
	region_publish_load(&w->region, &r);
}

/* --- the module, which writes the record itself -------------------------------------- */

static struct load_record *own_record(const struct worker *w)
{
	struct load_record *loads = w->region.loads;

	return &loads[cluster_own_node(w->conf)->number];
}

static uint64_t own_beat(const struct worker *w)
{
	return __atomic_load_n(&own_record(w)->beat, __ATOMIC_RELAXED);
}

/* With "auto" a host without the module is as good as any: no alarm. */
static void note_refusal(struct worker *w, int rc, struct mono now, int64_t wall_ns)
{
	char text[128];

	if (w->conf->load.source != CLUSTER_LOAD_KLM)
		return;
	snprintf(text, sizeof(text),
		 "its load is not known: load.source is klm, and " LOADMON_PATH ": %s",
		 strerror(-rc));
	tell(w, text, now, wall_ns);
}

/* Does the module fill the record? If it no longer does, the record is the worker's again. */
static bool is_filled(struct worker *w, struct mono now, int64_t wall_ns)
{
	struct loadmon_fill *what = &w->fill.what;
	int rc;

	what->record = (uint64_t)(uintptr_t)own_record(w);
	what->period_ns = (uint64_t)w->conf->load.period_ns;
	what->node = (uint32_t)cluster_own_node(w->conf)->number;
	if (load_fill_lost(&w->fill, own_beat(w), now)) {
		w->load_series.beat = own_beat(w);
		w->load_series.sampled = now;
		tell(w, "the kernel module no longer fills its load record: its beat is unchanged",
		     now, wall_ns);
	}
	rc = load_fill_ask(&w->fill, own_beat(w), now);
	if (rc)
		note_refusal(w, rc, now, wall_ns);
	return w->fill.choice.filling;
}

void worker_load(struct worker *w, struct mono now, int64_t wall_ns)
{
	if (!is_filled(w, now, wall_ns) && w->conf->load.source != CLUSTER_LOAD_KLM)
		sample(w, now, wall_ns);
}

/* --- of all nodes ------------------------------------------------------------------ */

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
		words_see(w, host, i, &out[i].word);
		if (rc || !p->node[i].load.head.seq)
			continue;
		load_window_add(&w->window[host - 1][i], &p->node[i].load, w->conf->load.window_ns);
		out[i].index = load_window_index(&w->window[host - 1][i]);
	}
}
