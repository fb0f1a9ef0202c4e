// SPDX-License-Identifier: GPL-2.0-or-later
/* choose: does the module fill the load record, or must resexd sample it? See kmod.h. */
#include "src/load/kmod.h"

#define ASK_NS	     NS_PER_S
#define PAUSE_MAX_NS (60 * NS_PER_S)
#define GOOD_NS	     (10 * NS_PER_S) /* filled for so long: the pause is ASK_NS again */
#define PATIENCE_NS  NS_PER_S	     /* the CPU of the timer may be the hypervisor's for so long */

int64_t load_choice_patience(int64_t period_ns)
{
	return 5 * period_ns > PATIENCE_NS ? 5 * period_ns : PATIENCE_NS;
}

bool load_choice_asks(const struct load_choice *c, struct mono now)
{
	return !c->filling && mono_sub(now, c->again) >= 0;
}

void load_choice_fills(struct load_choice *c, uint64_t beat, struct mono now)
{
	c->filling = true;
	c->beat = beat;
	c->began = c->moved = now;
}

void load_choice_refused(struct load_choice *c, struct mono now)
{
	c->again = mono_add(now, ASK_NS);
}

bool load_choice_unchanged(struct load_choice *c, uint64_t beat, int64_t period_ns, struct mono now)
{
	if (beat != c->beat) {
		c->beat = beat;
		c->moved = now;
	}
	if (mono_sub(now, c->moved) < load_choice_patience(period_ns))
		return false;
	if (!c->pause_ns || mono_sub(c->moved, c->began) >= GOOD_NS)
		c->pause_ns = ASK_NS;
	else
		c->pause_ns = 2 * c->pause_ns < PAUSE_MAX_NS ? 2 * c->pause_ns : PAUSE_MAX_NS;
	c->filling = false;
	c->again = mono_add(now, c->pause_ns);
	return true;
}
