// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * work: the computing that --work asks for before each message of bulk.c: measured at the
 * start, then done. See work.h.
 */
#include <stdlib.h>

#include "src/benchex/work.h"

enum { TRIES = 16, MEASURED = 1 << 16 };

/*
 * Change so many bytes of the data, starting over at its end. Each byte depends on the one
 * before: several cannot be computed at once, and the time for a byte is steady.
 */
static void change_bytes(struct bx_work *w, uint8_t *data, size_t len, uint64_t bytes)
{
	uint64_t h = w->state;

	for (uint64_t i = 0; i < bytes; i++) {
		h = h * 31 + data[w->at];
		data[w->at] = (uint8_t)h;
		if (++w->at >= len)
			w->at = 0;
	}
	w->state = h;
}

static int shorter_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void bx_work_start(struct bx_work *w, struct clock *clock, uint64_t ns_per_kib, uint8_t *data,
		   size_t len)
{
	int64_t took[TRIES];

	*w = (struct bx_work){ .state = 1 };
	for (int i = 0; ns_per_kib && i < TRIES; i++) {
		struct mono from = clock->now(clock);

		change_bytes(w, data, len, MEASURED);
		took[i] = mono_sub(clock->now(clock), from);
	}
	if (!ns_per_kib)
		return;
	/* The lower quartile: long tries were preempted, the shortest may be a clock jump. */
	qsort(took, TRIES, sizeof(took[0]), shorter_time);
	if (took[TRIES / 4] > 0)
		w->bytes_per_kib = ns_per_kib * MEASURED / (uint64_t)took[TRIES / 4];
}

void bx_work_do(struct bx_work *w, uint8_t *data, size_t len, uint64_t bytes)
{
	change_bytes(w, data, len, bytes * w->bytes_per_kib / 1024);
}
