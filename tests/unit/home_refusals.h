/* SPDX-License-Identifier: GPL-2.0-or-later */
/* home_refusals: the names of enum home_refusal in rows of steps. For test_home, test_fill. */
#ifndef RESEX_TESTS_HOME_REFUSALS_H
#define RESEX_TESTS_HOME_REFUSALS_H

#include "src/cache/home.h"

static const char *const refusals[] = {
	[HOME_REGISTERED] = "registered", [HOME_BAD] = "bad",	      [HOME_CLOSED] = "closed",
	[HOME_MOVED] = "moved",		  [HOME_WORN] = "worn",	      [HOME_PENDING] = "pending",
	[HOME_ENDED] = "ended",		  [HOME_LOG_SHORT] = "short", [HOME_UNSEEN] = "unseen",
	[HOME_JOIN_UNSEEN] = "join",	  [HOME_FULL] = "full",
};

#endif
