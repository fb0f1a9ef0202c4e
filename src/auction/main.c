// SPDX-License-Identifier: GPL-2.0-or-later
/* resex-auction: an application whose pages are cached. See auction.h. */
#include "src/auction/auction.h"
#include "src/util/file.h"

int main(int argc, char **argv)
{
	struct auction_options o;
	struct log log;
	int rc;

	file_keep_standard();
	rc = auction_options(&o, argc, argv);
	if (rc >= 0)
		return rc;
	log_init(&log, "resex-auction", o.verbose ? LOG_LVL_DEBUG : LOG_LVL_INFO);
	return o.init ? auction_init(&o, &log) : auction_serve(&o, &log);
}
