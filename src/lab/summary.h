/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary: what a run was, as one JSON object (man resex-scenario). */
#ifndef RESEX_LAB_SUMMARY_H
#define RESEX_LAB_SUMMARY_H

#include "src/lab/record.h"

/* An event that was carried out, or was not. */
struct scenario_done {
	const struct scenario_event *event;
	int64_t at_ns; /* when, from the run's start */
	int rc;	       /* 0 or -errno */
	char policy[FLOW_NAME_MAX];
};

struct scenario_outcome {
	struct recorder *rec;
	const struct scenario_done *done;
	uint32_t dones;
	bool complete; /* it was not stopped by a signal */
	bool observe;
	char policy[FLOW_NAME_MAX]; /* the first */
};

/* Why an event could not be carried out, for people. */
const char *scenario_why(int rc);

/* NULL: no memory. */
json_t *scenario_summary(const struct scenario_outcome *o);

#endif
