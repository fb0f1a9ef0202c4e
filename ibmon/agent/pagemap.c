// SPDX-License-Identifier: GPL-2.0-or-later
/* pagemap: entries of /proc/PID/pagemap -> frame numbers, for track and proc.c. See pagemap.h. */
#include "config.h"

#include <errno.h>
#include <unistd.h>

#include "ibmon/agent/pagemap.h"
#include "resex/guest_abi.h"

/* Documentation/admin-guide/mm/pagemap.rst of the kernel. */
#define ENTRY_PRESENT (1ull << 63)
#define ENTRY_FRAME   ((1ull << 55) - 1)

void pagemap_init(struct pagemap *p, int fd)
{
	p->fd = fd;
	p->n = 0;
}

/* Read the entries of the 2 MiB around a page. The end of the address space may come before. */
static int read_window(struct pagemap *p, uint64_t page)
{
	const uint64_t first = page - page % PAGEMAP_WINDOW;
	ssize_t r = pread(p->fd, p->entry, sizeof(p->entry), (off_t)(first * sizeof(p->entry[0])));

	p->n = 0;
	if (r < 0)
		return -errno;
	p->first = first;
	p->n = (size_t)r / sizeof(p->entry[0]);
	return page - first < p->n ? 0 : -EFAULT;
}

static int frame_of(struct pagemap *p, uint64_t page, uint64_t *frame)
{
	uint64_t e;

	/* a page below the first is far above it, too */
	if (page - p->first >= p->n) {
		int rc = read_window(p, page);

		if (rc)
			return rc;
	}
	e = p->entry[page - p->first];
	if (!(e & ENTRY_PRESENT))
		return -EFAULT;
	*frame = e & ENTRY_FRAME;
	return *frame ? 0 : -EPERM; /* hidden: no CAP_SYS_ADMIN */
}

int pagemap_frames(struct pagemap *p, uint64_t addr, size_t n, uint64_t *frame)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = frame_of(p, addr / GUEST_PAGE + i, &frame[i]);
	return rc;
}
