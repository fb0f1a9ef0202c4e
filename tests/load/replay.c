// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * replay: the index of two records that a line of standard input describes, for compare.py.
 *
 *	NODE SOURCE CPUS BEAT SAMPLED BUSY IRQ SOFTIRQ IOWAIT STEAL WAIT, twice: older first
 */
#include <inttypes.h>
#include <stdio.h>

#include "src/load/index.h"

enum { FIELDS = 11, RECORDS = 2 };

static int read_record(struct load_record *r)
{
	uint64_t v[FIELDS];

	for (int i = 0; i < FIELDS; i++)
		if (scanf("%" SCNu64, &v[i]) != 1)
			return -1;
	*r = (struct load_record){ .node = (uint32_t)v[0],
				   .source = (uint32_t)v[1],
				   .cpus = (uint32_t)v[2],
				   .beat = v[3],
				   .sampled_ns = (int64_t)v[4],
				   .busy_ns = v[5],
				   .irq_ns = v[6],
				   .softirq_ns = v[7],
				   .iowait_ns = v[8],
				   .steal_ns = v[9],
				   .wait_ns = v[10] };
	return 0;
}

int main(void)
{
	struct load_record r[RECORDS];

	while (!read_record(&r[0])) {
		if (read_record(&r[1])) {
			fprintf(stderr, "replay: a line has %d numbers\n", FIELDS * RECORDS);
			return 1;
		}
		printf("%d\n", load_index(&r[0], &r[1]));
	}
	return 0;
}
