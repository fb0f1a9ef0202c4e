// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pages_grant: pages of the guest's kernel (/dev/xen/gntalloc), granted read-only to
 * domain 0. book.c gets them through pages_ops. See pages.h.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include <xengnttab.h>

#include "ibmon/agent/book.h"
#include "ibmon/agent/pages.h"

struct pages {
	xengntshr_handle *shr;
	size_t n;
	void *mem[BOOK_PAGES_MAX];
};

/* The kernel frees a granted page only when dom0 has unmapped it. */
static void grant_close(struct pages *p)
{
	for (size_t i = 0; i < p->n; i++)
		xengntshr_unshare(p->shr, p->mem[i], 1);
	xengntshr_close(p->shr);
	free(p);
}

static int grant_open(struct pages **out, const char *arg)
{
	struct pages *p = calloc(1, sizeof(*p));

	(void)arg;
	if (!p)
		return -ENOMEM;
	p->shr = xengntshr_open(NULL, 0);
	if (!p->shr) {
		int rc = errno == ENOENT || errno == ENXIO ? -ENODEV : -errno;

		free(p);
		return rc;
	}
	*out = p;
	return 0;
}

static int grant_get(struct pages *p, void **mem, struct guest_ref *ref)
{
	uint32_t grant;
	void *m;

	if (p->n == BOOK_PAGES_MAX)
		return -ENOSPC;
	m = xengntshr_share_pages(p->shr, 0, 1, &grant, 0);
	if (!m)
		return errno ? -errno : -ENOMEM;
	p->mem[p->n++] = m;
	*mem = m;
	*ref = (struct guest_ref){ .type = GUEST_REF_GRANT, .ref = grant };
	return 0;
}

/* A granted page belongs to the kernel and does not move. */
static int grant_renew(struct pages *p, const void *mem, struct guest_ref *ref)
{
	(void)p;
	(void)mem;
	(void)ref;
	return 0;
}

const struct pages_ops pages_grant = { "grant", grant_open, grant_close, grant_get, grant_renew };
