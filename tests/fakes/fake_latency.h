/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_latency: an application that reports latencies, as resex-agent writes them. */
#ifndef RESEX_TESTS_FAKE_LATENCY_H
#define RESEX_TESTS_FAKE_LATENCY_H

#include <string.h>

#include "resex/guest_abi.h"

static inline void fake_latency_open(struct guest_latency *l)
{
	memset(l, 0, sizeof(*l));
	l->magic = GUEST_LATENCY_MAGIC;
	l->pid = 1234;
}

static inline void fake_latency_put(struct guest_latency *l, uint32_t ctime_ns, uint32_t wtime_ns,
				    uint32_t ptime_ns)
{
	l->writing = l->written + 1;
	l->sample[l->written % GUEST_LATENCY_SAMPLES] =
		(struct guest_latency_sample){ ctime_ns, wtime_ns, ptime_ns };
	l->written++;
}

#endif
