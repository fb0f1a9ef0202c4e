// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fill: one record that the module may fill: asked, watched, let go. For src/cluster/worker_load.c
 * (a host) and ibmon/agent/load_page.c (a guest). See kmod.h.
 */
#include "src/load/kmod.h"

bool load_fill_lost(struct load_fill *f, uint64_t beat, struct mono now)
{
	if (!f->choice.filling ||
	    !load_choice_unchanged(&f->choice, beat, (int64_t)f->what.period_ns, now))
		return false;
	load_fill_end(f);
	return true;
}

int load_fill_ask(struct load_fill *f, uint64_t beat, struct mono now)
{
	int rc;

	if (!f->filler || !load_choice_asks(&f->choice, now))
		return 0;
	rc = f->filler->begin(&f->what);
	if (rc < 0) {
		load_choice_refused(&f->choice, now);
		return rc;
	}
	f->handle = rc;
	load_choice_fills(&f->choice, beat, now);
	return 0;
}

void load_fill_end(struct load_fill *f)
{
	if (f->handle >= 0)
		f->filler->end(f->handle);
	f->handle = -1;
}
