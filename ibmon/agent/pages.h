/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pages: the agent's own pages, which dom0 reads. Three ways to share them:
 *
 *	grant	/dev/xen/gntalloc: kernel pages; they do not move and can be revoked
 *	frame	locked memory, by frame number; it may move, see renew
 *	file	a file of pages, for tests and machines without Xen; a reference has
 *		type FRAME and the number of the page in the file
 *
 * Pages are zeroed, and exist until close.
 */
#ifndef RESEX_AGENT_PAGES_H
#define RESEX_AGENT_PAGES_H

#include "resex/guest_abi.h"

struct pages;

struct pages_ops {
	const char *name;
	/* arg: the file's name, else NULL. 0; -ENODEV: not on this machine; -errno. */
	int (*open)(struct pages **p, const char *arg);
	/* Revoke and free all pages. */
	void (*close)(struct pages *p);
	/* One more page. 0 or -errno. */
	int (*get)(struct pages *p, void **mem, struct guest_ref *ref);
	/* Is the page still where *ref says? 0: yes; 1: no, *ref is new; -errno. */
	int (*renew)(struct pages *p, const void *mem, struct guest_ref *ref);
};

extern const struct pages_ops pages_grant; /* only when built --with-xen */
extern const struct pages_ops pages_frame;
extern const struct pages_ops pages_file;

#endif
