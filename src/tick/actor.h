/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * actor: the thread that sets caps.
 *
 * A scheduler call takes up to half a millisecond, too long for a tick. So the
 * sampler writes the newest wanted cap of a guest into a mailbox (handover.h);
 * the actor sets it and answers with the result and the time.
 */
#ifndef RESEX_TICK_ACTOR_H
#define RESEX_TICK_ACTOR_H

#include "src/tick/handover.h"
#include "src/hv/hv.h"
#include "src/util/clock.h"

struct actor {
	struct handover *ho;
	const struct hv_sched_ops *ops;
	struct hv_sched *hv;
	struct clock clock;
};

/* Carry out all waiting mail once. */
void actor_once(struct actor *a);

/* Wait for mail and carry it out until ho->stop and the last mail is done. */
void actor_run(struct actor *a);

#endif
