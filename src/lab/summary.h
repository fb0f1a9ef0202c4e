/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary: the record of a run (record.h) as one JSON object (man resex-scenario). */
#ifndef RESEX_LAB_SUMMARY_H
#define RESEX_LAB_SUMMARY_H

#include "src/lab/record.h"

/* An event that happened, also if it failed. */
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
	bool complete; /* no signal ended the run */
	bool observe;
	char policy[FLOW_NAME_MAX]; /* the first one */
};

/* Why an event failed, for people. */
const char *scenario_why(int rc);

/* The caller frees it. NULL: out of memory. */
json_t *scenario_summary(const struct scenario_outcome *o);

#endif
