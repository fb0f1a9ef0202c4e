// SPDX-License-Identifier: GPL-2.0-or-later
/* wait: for how long a VCPU waited for a CPU, by looks at it. Pure. See load.h. */
#include "src/load/load.h"

/*
 * A VCPU that runs at random for half of the time between two looks makes the sum of errors go up
 * and down. It is cut at this many times that time, and wait grows by 1/400 of the time though
 * nothing waits. A higher bound delays a wait that is real.
 */
enum { OWED_LOOKS = 50 };

static int64_t gained(uint64_t *last, uint64_t now)
{
	int64_t ns = now > *last ? (int64_t)(now - *last) : 0;

	*last = now;
	return ns;
}

void load_wait_add(struct load_wait *w, uint64_t cpu_ns, uint64_t runnable_ns, int64_t look_ns)
{
	int64_t ran = gained(&w->cpu_ns, cpu_ns);
	int64_t more = gained(&w->runnable_ns, runnable_ns) - ran - w->owed_ns;

	w->owed_ns = 0;
	if (!w->began) /* nothing before it to be compared with */
		w->began = true;
	else if (more > 0)
		w->ns += (uint64_t)more;
	else
		w->owed_ns = -more < OWED_LOOKS * look_ns ? -more : OWED_LOOKS * look_ns;
}
