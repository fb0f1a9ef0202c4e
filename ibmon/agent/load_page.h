/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load_page: what this guest carries, on a page that dom0 reads: read from /proc once a period
 * (src/load/load.h), or filled by the kernel module of loadmon(4), when it is loaded in this guest.
 */
#ifndef RESEX_AGENT_LOAD_PAGE_H
#define RESEX_AGENT_LOAD_PAGE_H

#include "ibmon/agent/book.h"
#include "src/core/units.h"
#include "src/load/kmod.h"
#include "src/util/log.h"

struct load_page;

/*
 * Open the files in the folder proc, and a page in the book. filler: the module, asked each second
 * until it fills; NULL: never. 0, or -errno: there is none, and a warning says why; the agent is of
 * use without it.
 */
int load_page_open(struct load_page **l, struct book *b, const char *proc, int64_t period_ns,
		   const struct load_filler *filler, const struct log *log);
/* NULL: nothing is done. The book keeps the page. */
void load_page_close(struct load_page *l);

/*
 * Sample, and publish, unless the module does. When a sample fails, the record stays, and its beat
 * tells; the first failure in a row is logged.
 */
void load_page_sample(struct load_page *l, struct mono now);

#endif
