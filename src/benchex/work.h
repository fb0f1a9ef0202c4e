/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * work: computing on the data before it is sent, so much for each KiB.
 *
 * A fixed amount of arithmetic, measured once: not a time to spin through, for
 * that would grow shorter when somebody else has the CPU.
 */
#ifndef RESEX_BENCHEX_WORK_H
#define RESEX_BENCHEX_WORK_H

#include <stddef.h>
#include <stdint.h>

#include "src/util/clock.h"

struct bx_work {
	uint64_t bytes_per_kib; /* passed over for each KiB sent */
	uint64_t state;
	size_t at; /* in the data */
};

/* So that a KiB takes ns_per_kib of CPU time; data is len bytes to measure with. */
void bx_work_start(struct bx_work *w, struct clock *clock, uint64_t ns_per_kib, uint8_t *data,
		   size_t len);
void bx_work_do(struct bx_work *w, uint8_t *data, size_t len, uint64_t bytes);

#endif
