/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run: the whole daemon, on the simulated host that a scenario
 * describes, from its start to its end. Nothing of the real host is touched:
 * what the daemon keeps on disk lies in a directory that the run makes and
 * removes.
 */
#ifndef RESEX_LAB_RUN_H
#define RESEX_LAB_RUN_H

#include "src/lab/scenario.h"
#include "src/hv/hv.h"
#include "src/util/log.h"

struct scenario_opts {
	const struct hv_backend *hv; /* "sim" */
	const struct log *log;
	const char *socket; /* real clock: the control socket; NULL: in the run's directory */
	bool observe;	    /* set no cap */
	bool progress;	    /* tell the standard error how far a long run is */
};

/*
 * Run sc, whose policies are used up. 0 and the summary (man resex-scenario;
 * the caller's), also after a signal, which the summary tells; or -errno with
 * e filled.
 */
int scenario_run(struct scenario *sc, const struct scenario_opts *o, json_t **summary,
		 struct conf_error *e);

#endif
