// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * loads: the last stage of tick(): what guests that are nodes used of CPUs, once a load.period. See
 * loads.h.
 */
#include <stdatomic.h>

#include "src/tick/sampler.h"

static bool is_wanted(const struct load_buffers *b, const struct slot *sl)
{
	uint32_t slot = sl->guest->slot;

	return atomic_load_explicit(&b->wanted[slot / 64], memory_order_relaxed) >> (slot % 64) & 1;
}

static void put_guest(struct guest_loads *l, const struct slot *sl)
{
	struct guest_load *to = &l->guest[l->guests++];

	to->key = sl->guest->key;
	to->vcpus = sl->vcpus;
	to->flags = sl->dom_flags;
	to->cpu_ns = sl->cpu_prev;
	to->runnable_ns = sl->runnable_ns;
	to->claims = scan_load(sl->guest->scan, &to->page);
}

void sampler_loads(struct sampler *s, struct mono now)
{
	struct load_buffers *b = &s->ho->loads;
	struct guest_loads *l = &b->buf[b->at.back];

	/* Without a list nothing of this tick is known: the next tick has it. */
	if (!b->period_ns || s->doms < 0 || mono_sub(now, s->loads_due) < 0)
		return;
	s->loads_due = mono_add(s->loads_due, b->period_ns);
	if (mono_sub(now, s->loads_due) >= 0)
		s->loads_due = mono_add(now, b->period_ns);
	l->time = now;
	l->guests = 0;
	for (uint32_t i = 0; i < s->guests; i++)
		if (s->turn[i]->vcpus && is_wanted(b, s->turn[i]))
			put_guest(l, s->turn[i]);
	spsc_latest_put(&b->at);
}
