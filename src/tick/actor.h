/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * actor: the thread that sets caps.
 *
 * A scheduler call takes up to half a millisecond, too long for a tick. So the
 * sampler writes the newest wanted cap of a guest into a mailbox (handover.h);
 * the actor sets it and answers with the result and the time.
 *
 * It never sets a cap over another program's: each call names the cap that must be in
 * force, which is the one that the actor set last. See handover.h for what the mail adds.
 */
#ifndef RESEX_TICK_ACTOR_H
#define RESEX_TICK_ACTOR_H

#include "src/tick/handover.h"
#include "src/hv/hv.h"
#include "src/util/clock.h"

enum { ACTOR_RECENT = 8 };
/* Control looks each second whether a cap differs. */
#define ACTOR_RECENT_NS (2 * NS_PER_S)

/* What the actor knows of the cap in force in a slot's domain. */
struct actor_cap {
	uint32_t domid;
	uint16_t generation; /* of the mail that it is known from */
	uint16_t percent;    /* in force, unless another program set one */
	/*
	 * May be in force instead: set by the last call, which failed, or by mail of the
	 * generation before, which came late.
	 */
	uint16_t other;
	/*
	 * To set a weight, xl reads both, and writes both: the cap that it sets is one that we
	 * replaced since, within ACTOR_RECENT_NS, and the weight is another.
	 */
	uint32_t weight; /* seen last; 0: not yet */
	struct {
		uint16_t percent;
		struct mono replaced; /* 0: no cap was */
	} recent[ACTOR_RECENT];
	uint32_t sets;
	bool foreign;	/* another program set one: nothing is set in this generation */
	uint16_t found; /* by it */
};

struct actor {
	struct handover *ho;
	const struct hv_sched_ops *ops;
	struct hv_sched *hv;
	struct clock clock;
	struct actor_cap cap[FLOW_GUESTS_MAX];
};

/* Carry out all waiting mail once. */
void actor_once(struct actor *a);

/* Wait for mail and carry it out until ho->stop and the last mail is done. */
void actor_run(struct actor *a);

#endif
