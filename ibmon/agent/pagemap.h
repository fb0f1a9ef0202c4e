/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pagemap: frame numbers of the pages of a process, from an open /proc/PID/pagemap.
 *
 * The kernel walks up to the next 2 MiB of address space for each read, even for a read of one
 * entry. So the entries of 2 MiB are read at once and kept: the rings of a process are near each
 * other.
 */
#ifndef RESEX_AGENT_PAGEMAP_H
#define RESEX_AGENT_PAGEMAP_H

#include <stddef.h>
#include <stdint.h>

enum { PAGEMAP_WINDOW = 512 }; /* entries of 2 MiB */

struct pagemap {
	int fd;
	uint64_t first; /* page of entry[0] */
	size_t n;	/* entries that were read; 0: none */
	uint64_t entry[PAGEMAP_WINDOW];
};

/* Nothing is kept from before: call it again when pages may have changed. */
void pagemap_init(struct pagemap *p, int fd);

/*
 * Frame numbers of n pages at addr. 0; -EFAULT: a page is not present; -EPERM: the
 * kernel hides frame numbers from this process; other -errno of the read.
 */
int pagemap_frames(struct pagemap *p, uint64_t addr, size_t n, uint64_t *frame);

#endif
