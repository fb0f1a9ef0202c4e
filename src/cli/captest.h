/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * captest: puts a cap on a guest for some seconds, by guest-set as an operator would, and measures
 * the guest's CPU time before and under it. The cap is taken back however the test ends, also by
 * SIGINT, SIGTERM, SIGHUP and SIGQUIT; only SIGKILL prevents that.
 */
#ifndef RESEX_CLI_CAPTEST_H
#define RESEX_CLI_CAPTEST_H

#include "src/cli/cmdtable.h"

/*
 * Blocks for about 6 s. RESEX_OK, and one finding more, as of doctor_cap_judge(); or an exit code
 * with client.error, and no cap was set, or it is taken back, or the sentence says that it is not.
 * say(arg, text) is called before what takes seconds.
 */
int captest_run(struct cli *c, const char *guest, json_t *findings,
		void (*say)(const struct cli *c, const char *text));

#endif
