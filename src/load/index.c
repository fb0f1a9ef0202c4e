// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * index: see index.h. Readers of records call it: resex-peek of two records, src/cluster of the
 * window of each node.
 */
#include "src/load/index.h"

#include <errno.h>
#include <stdbool.h>

const char *load_source_name(uint32_t source)
{
	static const char *const name[LOAD_SOURCES] = { [LOAD_NONE] = "none",
							[LOAD_ULM] = "ulm",
							[LOAD_KLM] = "klm",
							[LOAD_HV] = "hv",
							[LOAD_SIM] = "sim" };

	return name[source];
}

static uint64_t gained(uint64_t a, uint64_t b)
{
	return b > a ? b - a : 0;
}

static uint64_t bounded(uint64_t ns, uint64_t most)
{
	return ns < most ? ns : most;
}

static bool follows(const struct load_record *a, const struct load_record *b)
{
	return a->node == b->node && a->source == b->source && a->cpus == b->cpus && b->cpus &&
	       b->cpus <= LOAD_CPUS_MAX && b->beat > a->beat && a->sampled_ns >= 0 &&
	       b->sampled_ns > a->sampled_ns &&
	       b->sampled_ns - a->sampled_ns <= LOAD_INTERVAL_MAX_NS;
}

static_assert((uint64_t)LOAD_INTERVAL_MAX_NS * LOAD_CPUS_MAX <
		      UINT64_MAX / 1000 / (2 * LOAD_INDEX_MAX / 1000),
	      "no product below overflows");

int load_index(const struct load_record *a, const struct load_record *b)
{
	uint64_t capacity, used, wait;

	if (!follows(a, b))
		return -EINVAL;
	capacity = (uint64_t)(b->sampled_ns - a->sampled_ns) * b->cpus;
	used = bounded(gained(a->busy_ns, b->busy_ns), capacity) +
	       bounded(gained(a->irq_ns, b->irq_ns), capacity) +
	       bounded(gained(a->softirq_ns, b->softirq_ns), capacity) +
	       bounded(gained(a->steal_ns, b->steal_ns), capacity);
	/* Many tasks may wait at once. */
	wait = bounded(gained(a->wait_ns, b->wait_ns), capacity * (LOAD_INDEX_MAX / 1000));
	return (int)bounded((bounded(used, capacity) + wait) * 1000 / capacity, LOAD_INDEX_MAX);
}

void load_window_add(struct load_window *w, const struct load_record *r, int64_t window_ns)
{
	const struct load_record *newest = &w->newest;

	if (r->sampled_ns == newest->sampled_ns && r->source == newest->source)
		return;
	if (!follows(newest, r))
		w->base = w->next = *r;
	w->newest = *r;
	if (r->sampled_ns - w->next.sampled_ns >= window_ns) {
		w->base = w->next;
		w->next = *r;
	}
}

int load_window_index(const struct load_window *w)
{
	return w->newest.beat == w->base.beat ? -EAGAIN : load_index(&w->base, &w->newest);
}
