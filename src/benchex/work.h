/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * work: compute on the data before it is sent, a fixed amount for each KiB.
 *
 * The amount of arithmetic is measured once. Spinning for a fixed time instead would
 * compute less while another process has the CPU.
 */
#ifndef RESEX_BENCHEX_WORK_H
#define RESEX_BENCHEX_WORK_H

#include <stddef.h>
#include <stdint.h>

#include "src/util/clock.h"

struct bx_work {
	uint64_t bytes_per_kib; /* bytes to compute on for each KiB sent */
	uint64_t state;
	size_t at; /* in the data */
};

/* Find the amount that takes ns_per_kib of CPU time, by measuring on data of len bytes. */
void bx_work_start(struct bx_work *w, struct clock *clock, uint64_t ns_per_kib, uint8_t *data,
		   size_t len);
void bx_work_do(struct bx_work *w, uint8_t *data, size_t len, uint64_t bytes);

#endif
