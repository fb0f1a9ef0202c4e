// SPDX-License-Identifier: GPL-2.0-or-later
/* pages_file: the agent's pages in a file, one after another, for --no-xen. See pages.h. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ibmon/agent/book.h"
#include "ibmon/agent/pages.h"

/* All pages from the start: a reader may map the file once. */
enum { FILE_BYTES = BOOK_PAGES_MAX * GUEST_PAGE };

struct pages {
	uint8_t *area;
	size_t n;
};

static void file_close(struct pages *p)
{
	munmap(p->area, FILE_BYTES);
	free(p);
}

/* O_TRUNC: pages must be zeroed, and a former run may have left its own. */
static int file_open(struct pages **out, const char *name)
{
	struct pages *p = calloc(1, sizeof(*p));
	int fd, rc = 0;

	if (!p)
		return -ENOMEM;
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, FILE_BYTES))
		rc = -errno;
	if (rc == 0) {
		p->area = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p->area == MAP_FAILED)
			rc = -errno;
	}
	if (fd >= 0)
		close(fd);
	if (rc)
		free(p);
	else
		*out = p;
	return rc;
}

static int file_get(struct pages *p, void **mem, struct guest_ref *ref)
{
	if (p->n == BOOK_PAGES_MAX)
		return -ENOSPC;
	*ref = (struct guest_ref){ .type = GUEST_REF_FRAME, .ref = p->n };
	*mem = p->area + p->n++ * GUEST_PAGE;
	return 0;
}

/* A page of the file never moves. */
static int file_renew(struct pages *p, const void *mem, struct guest_ref *ref)
{
	(void)p;
	(void)mem;
	(void)ref;
	return 0;
}

const struct pages_ops pages_file = { "file", file_open, file_close, file_get, file_renew };
