// SPDX-License-Identifier: GPL-2.0-or-later
/* scan_load: the load page of one guest, copied once a period of loads. See scan.h. */
#include "ibmon/scan.h"
#include "src/util/seqread.h"

bool scan_load(const struct scan_guest *g, struct guest_load_page *copy)
{
	if (!g->load)
		return false;
	guest_copy(copy, g->load, sizeof(*copy));
	return true;
}
