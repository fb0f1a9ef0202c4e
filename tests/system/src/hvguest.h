/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvguest.h: what the pages of hvguest look like, for it and for hvprobe. */
#ifndef RESEX_TESTS_HVGUEST_H
#define RESEX_TESTS_HVGUEST_H

#include <stdint.h>

#define HVGUEST_MAGIC 0x5455424553554748ull
#define HVGUEST_PAGES 16u /* by frame number; one more is granted */

struct hvguest_page {
	uint64_t magic;
	uint64_t index;	  /* HVGUEST_PAGES in the granted page */
	uint64_t counter; /* moves while the guest lives */
	uint64_t rest[509];
};

#endif
