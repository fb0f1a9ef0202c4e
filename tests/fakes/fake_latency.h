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

static inline struct guest_latency_sample *fake_latency_at(struct guest_latency *l, uint64_t seq)
{
	return &l->sample[(seq - 1) % GUEST_LATENCY_SAMPLES];
}

static inline void fake_latency_put(struct guest_latency *l, uint32_t ctime_ns, uint32_t wtime_ns,
				    uint32_t ptime_ns)
{
	uint64_t seq = l->written + 1;

	*fake_latency_at(l, seq) = (struct guest_latency_sample){
		.seq = seq, .ctime_ns = ctime_ns, .wtime_ns = wtime_ns, .ptime_ns = ptime_ns
	};
	l->written = seq;
}

#endif
