/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * still: guests that do nothing but use CPU time, while the policy says that its plan stands.
 *
 * Of a guest that is still, each tick reads all that it reads of others: rings, latencies, CPU
 * time. When nothing was found the guest is not due: it is left out of account, decide and act,
 * which would change nothing but figures that follow from its CPU time. That is charged later,
 * exactly, because the charge of a sum is the sum of charges while the rate is one and something
 * is left of the balance (resos.h: fractions are carried over).
 *
 *	nothing found, CPU time within cpu_left -> still; CPU time is added to cpu_owed
 *	anything else                           -> due; what is owed is charged first
 *
 * All guests are due in a tick that ends an epoch or publishes a snapshot, after a new set, and
 * when a cap is to be sent again. So no other thread ever sees what is owed.
 */
#ifndef RESEX_TICK_STILL_H
#define RESEX_TICK_STILL_H

#include "src/tick/sampler.h"

/* Before guests are read. */
static inline void still_begin(struct sampler *s)
{
	uint64_t again = 0;

	for (uint32_t i = 0; i < FLOW_GUESTS_MAX / 64; i++) {
		s->in.still[i] = 0;
		/* Load first: an exchange takes the cache line away from control. */
		if (atomic_load_explicit(&s->ho->send_again[i], memory_order_relaxed))
			s->again[i] |= atomic_exchange(&s->ho->send_again[i], 0);
		again |= s->again[i];
	}
	for (uint32_t i = 0; again && i < s->guests; i++)
		if (sampler_is_asked_again(s, s->turn[i]->guest->slot))
			s->turn[i]->still = false;
}

/* The guest stays still, and used so much CPU time. */
static inline void still_keep(struct sampler *s, struct slot *sl, uint64_t cpu_ns)
{
	size_t seat = (size_t)(sl->seat - s->in.guest);

	sl->cpu_left -= cpu_ns;
	sl->cpu_owed += cpu_ns;
	s->in.still[seat / 64] |= 1ull << (seat % 64);
}

/* Charge and count what the guest owes: use before this tick's. */
void still_charge_owed(struct sampler *s, struct slot *sl);

static inline void still_charge(struct sampler *s, struct slot *sl)
{
	if (sl->cpu_owed)
		still_charge_owed(s, sl);
}

#endif
