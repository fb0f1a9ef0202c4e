/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maps: parse lines of /proc/PID/maps into mappings of uverbs devices and of tables. Pure.
 *
 * A ring of rxe is one shared mapping of /dev/infiniband/uverbsN. Its page offset
 * comes from a counter of the device that only grows. So (N, pgoff) names one ring as
 * long as the device exists, whatever the number of processes that map it.
 */
#ifndef RESEX_AGENT_MAPS_H
#define RESEX_AGENT_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct maps_ring {
	uint64_t start, end; /* addresses in the process */
	uint64_t pgoff;	     /* bytes */
	uint32_t uverbs;     /* N of uverbsN */
};

/*
 * One line, without its newline. True and *m when it is a readable, shared
 * mapping of a uverbs device, of whole pages.
 */
bool maps_parse(const char *line, size_t len, struct maps_ring *m);

/*
 * One line: is it a mapping of a table of queues (resex/queue_table.h)? By its name, which any
 * process can choose.
 */
bool maps_is_table(const char *line, size_t len, uint64_t *start);

/* Is path a uverbs device, as a link in /proc/PID/fd shows it? */
bool maps_is_uverbs(const char *path, size_t len, uint32_t *uverbs);

#endif
