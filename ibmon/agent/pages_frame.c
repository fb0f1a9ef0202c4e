// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pages_frame: locked memory, named by the frame numbers in our own pagemap. See pages.h.
 *
 * mlock keeps pages in memory, but compaction may still move them. So renew reads the
 * frame numbers again, and the caller publishes new ones. Two more ways to move are
 * ruled out: huge pages, which the kernel splits and merges, and copies in children,
 * because after a fork the first write moves the parent to a new frame.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ibmon/agent/book.h"
#include "ibmon/agent/pages.h"
#include "ibmon/agent/proc.h"

struct pages {
	uint8_t *area;
	size_t n;
};

enum { AREA_BYTES = BOOK_PAGES_MAX * GUEST_PAGE };

static int frame_of(const void *mem, uint64_t *frame)
{
	return proc_frames(getpid(), (uint64_t)(uintptr_t)mem, 1, frame);
}

static void frame_close(struct pages *p)
{
	munmap(p->area, AREA_BYTES);
	free(p);
}

static int frame_open(struct pages **out, const char *arg)
{
	struct pages *p = calloc(1, sizeof(*p));

	(void)arg;
	if (!p)
		return -ENOMEM;
	/* Only address space: frame_get() locks the pages that are used. */
	p->area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	if (p->area == MAP_FAILED) {
		free(p);
		return -ENOMEM;
	}
	if (madvise(p->area, AREA_BYTES, MADV_DONTFORK) ||
	    /* EINVAL: this kernel was built without huge pages. */
	    (madvise(p->area, AREA_BYTES, MADV_NOHUGEPAGE) && errno != EINVAL)) {
		int rc = -errno;

		frame_close(p);
		return rc;
	}
	*out = p;
	return 0;
}

static int frame_get(struct pages *p, void **mem, struct guest_ref *ref)
{
	uint8_t *m = p->area + p->n * GUEST_PAGE;
	uint64_t frame;
	int rc;

	if (p->n == BOOK_PAGES_MAX)
		return -ENOSPC;
	if (mlock(m, GUEST_PAGE))
		return -errno;
	memset(m, 0, GUEST_PAGE); /* a write replaces the shared zero page by one of our own */
	rc = frame_of(m, &frame);
	if (rc)
		return rc;
	p->n++;
	*mem = m;
	*ref = (struct guest_ref){ .type = GUEST_REF_FRAME, .ref = frame };
	return 0;
}

static int frame_renew(struct pages *p, const void *mem, struct guest_ref *ref)
{
	uint64_t frame;
	int rc = frame_of(mem, &frame);

	(void)p;
	if (rc)
		return rc;
	if (frame == ref->ref)
		return 0;
	ref->ref = frame;
	return 1;
}

const struct pages_ops pages_frame = { "frame", frame_open, frame_close, frame_get, frame_renew };
