/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pages: what each page reads, shows, and depends on. */
#ifndef RESEX_AUCTION_PAGES_H
#define RESEX_AUCTION_PAGES_H

#include "src/auction/auction.h"
#include "src/auction/page.h"

/*
 * Makes the page of this path in the transaction of w->db. Its own text of the path is put into
 * named. 0; -ENOENT: there is none; or as w->ops->run.
 */
int pages_make(struct auction_worker *w, const char *path, struct page *p,
	       char named[static AUCTION_PATH_MAX], struct db_error *e);
/* "/states": the counters of all things. */
int pages_states(struct auction_worker *w, struct page *p, struct db_error *e);

#endif
