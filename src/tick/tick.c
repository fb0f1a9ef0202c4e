// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tick: one turn of the chain, a line a stage. Read this first.
 *
 *	observe -> count -> account -> decide -> act
 */
#include "src/tick/sampler.h"

void tick(struct sampler *s, struct mono now)
{
	struct period_tick t;

	sampler_take_tape(s);  /* a recording begins or ends */
	sampler_adopt(s, now); /* guests and policies come and go */
	if (s->tape)
		tape_tick(s, now);
	sampler_answers(s, now);	  /* which caps are in force now */
	t = period_tick(&s->period, now); /* time since the last tick */
	sampler_observe(s, now, &t);	  /* rings -> samples -> usage */
	sampler_account(s, now, &t);	  /* usage -> Resos */
	sampler_decide(s, now);		  /* Resos -> plan */
	sampler_act(s, now);		  /* plan -> actor's mailboxes */
	if (s->tape)
		tape_decided(s);
	sampler_still(s);	 /* who needs but a look in the next tick */
	sampler_publish(s, now); /* what control shows */
	sampler_loads(s, now);	 /* what the cluster's thread publishes */
}
