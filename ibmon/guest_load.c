// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest_load: map and release a guest's load page. See guest.h.
 *
 * The sampler reads it, so it is released as the registry page is: first left out of the next set,
 * then unmapped by guest_reap. What is on it is checked by src/load/claim.h.
 */
#include <errno.h>
#include <string.h>

#include "ibmon/guest_priv.h"

int load_leave(struct guest_mon *g)
{
	return page_leave(g, &g->load);
}

bool load_reconcile(struct guest_mon *g, struct mono now, bool *later)
{
	const struct guest_ref *ref = &g->reg->load;
	bool same = g->load_ref.type == ref->type && g->load_ref.ref == ref->ref;
	bool changed = false;
	int rc;

	/* A page that could not be mapped is not tried again before its reference changes. */
	if (same)
		return false;
	if (g->load) {
		if (load_leave(g)) {
			*later = true;
			return false;
		}
		changed = true;
	}
	g->load_ref = *ref;
	if (ref->type == GUEST_REF_NONE)
		return changed;
	rc = map_ref(g, ref, now, &g->load);
	if (rc)
		g->load = NULL;
	if (rc == -EAGAIN || rc == -ENOMEM) {
		g->load_ref = (struct guest_ref){ 0 };
		*later = true;
	}
	return changed || !rc;
}

const volatile void *guest_load_page(const struct guest_mon *g)
{
	return g->load;
}
