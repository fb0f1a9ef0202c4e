// SPDX-License-Identifier: GPL-2.0-or-later
/* agree: see agree.h. The cluster's thread calls it with each new claim of a guest. */
#include "src/load/agree.h"

/* What is late by two periods at most can be compared: a busy host looks late now and then. */
enum { PERIODS = 16, LATE_PART = PERIODS / 2 };

void load_agree_fault(struct load_agree *a)
{
	a->began = false;
	a->known = false;
	a->disagrees = true;
	a->good = 0;
}

/* ns of CPU time in passed_ns, in 1/1000 of a CPU. */
static uint32_t mcpu(uint64_t ns, int64_t passed_ns)
{
	unsigned __int128 v = (unsigned __int128)ns * 1000 / (uint64_t)passed_ns;

	return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

/* Is the difference more than so many percent of a CPU, and what the readings were apart? */
static bool is_beyond(uint64_t off_ns, int64_t percent, int64_t passed_ns, int64_t apart_ns)
{
	return off_ns > (uint64_t)(passed_ns * percent / 100 + apart_ns);
}

/* How much more the hypervisor saw the guest want than the guest says. */
static uint64_t hidden(const struct load_used *used)
{
	uint64_t said = used->used_ns + used->steal_ns, seen = used->cpu_ns + used->wait_ns;

	return used->wait_known && seen > said ? seen - said : 0;
}

/* used: in the window alone. */
static void judge(struct load_agree *a, const struct load_used *used, int64_t passed_ns,
		  int64_t apart_ns)
{
	uint64_t off_ns = used->used_ns > used->cpu_ns ? used->used_ns - used->cpu_ns
						       : used->cpu_ns - used->used_ns;

	if (off_ns < hidden(used))
		off_ns = hidden(used);
	a->known = true;
	a->used_mcpu = mcpu(used->used_ns, passed_ns);
	a->steal_mcpu = mcpu(used->steal_ns, passed_ns);
	a->cpu_mcpu = mcpu(used->cpu_ns, passed_ns);
	a->wait_mcpu = mcpu(used->wait_ns, passed_ns);
	if (is_beyond(off_ns, LOAD_AGREE_PERCENT, passed_ns, apart_ns)) {
		a->disagrees = true;
		a->good = 0;
	} else if (!a->disagrees) {
		a->proven = true;
	} else if (is_beyond(off_ns, LOAD_AGREE_AGAIN_PERCENT, passed_ns, apart_ns)) {
		a->good = 0;
	} else if (++a->good == LOAD_AGREE_GOOD) {
		a->disagrees = false;
		a->proven = true;
	}
}

/* What was used in the window. */
static struct load_used between(const struct load_used *from, const struct load_used *to)
{
	return (struct load_used){
		.used_ns = to->used_ns - from->used_ns,
		.steal_ns = to->steal_ns - from->steal_ns,
		.cpu_ns = to->cpu_ns - from->cpu_ns,
		.wait_ns = to->wait_ns - from->wait_ns,
		.wait_known = from->wait_known && to->wait_known,
	};
}

static bool none_went_back(const struct load_used *from, const struct load_used *to)
{
	return to->used_ns >= from->used_ns && to->steal_ns >= from->steal_ns &&
	       to->cpu_ns >= from->cpu_ns && to->wait_ns >= from->wait_ns;
}

void load_agree_add(struct load_agree *a, const struct load_used *u, int64_t period_ns)
{
	const struct load_used *from = &a->from;
	int64_t window_ns = LOAD_AGREE_WINDOW_NS, passed_ns = mono_sub(u->at, from->at);
	bool follows;

	if (window_ns < PERIODS * period_ns)
		window_ns = PERIODS * period_ns;
	if (u->late_ns < 0 || u->late_ns > window_ns / LATE_PART)
		return;
	follows = a->began && none_went_back(from, u) && passed_ns >= 0 &&
		  passed_ns <= 3 * window_ns;
	if (follows && passed_ns < window_ns)
		return;
	if (follows) {
		struct load_used used = between(from, u);

		judge(a, &used, passed_ns, (int64_t)u->cpus * (from->late_ns + u->late_ns));
	}
	a->began = true;
	a->from = *u;
}
