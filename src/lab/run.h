/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run: run the whole daemon on the simulated host of a scenario, from start to end.
 *
 * Nothing of the real host is touched: the daemon's files are in a directory that the run
 * makes and removes.
 */
#ifndef RESEX_LAB_RUN_H
#define RESEX_LAB_RUN_H

#include "src/lab/scenario.h"
#include "src/hv/hv.h"
#include "src/util/log.h"

struct scenario_opts {
	const struct hv_backend *hv; /* the simulated one */
	const struct log *log;
	const char *socket; /* real clock: the control socket; NULL: in the run's directory */
	bool observe;	    /* never set a cap */
	bool progress;	    /* print the progress of a long run on stderr */
};

/*
 * Run sc; its policies are freed. 0 and the summary (man resex-scenario), which the caller
 * frees, or -errno with e filled. A signal ends the run early and is not an error: the
 * summary has "complete": false.
 */
int scenario_run(struct scenario *sc, const struct scenario_opts *o, json_t **summary,
		 struct conf_error *e);

#endif
