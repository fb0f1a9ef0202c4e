/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scenario: a simulated host, its guests and what happens to them, from a file
 * (man resex-scenario), checked whole before anything starts.
 */
#ifndef RESEX_LAB_SCENARIO_H
#define RESEX_LAB_SCENARIO_H

#include "src/conf/settings.h"
#include "src/sim/sim.h"

enum { SCENARIO_EVENTS_MAX = 256, SCENARIO_STEPS_MAX = 10000 };

#define SCENARIO_NS_MAX (3600 * NS_PER_S) /* the longest run */

enum scenario_clock {
	SCENARIO_SIMULATED, /* as fast as it can, in one thread: the same run each time */
	SCENARIO_REAL,	    /* the daemon as it always runs */
};

enum scenario_do {
	SCENARIO_DESTROY,
	SCENARIO_CREATE,
	SCENARIO_REBOOT,
	SCENARIO_POLICY,
	SCENARIO_RELEASE, /* as resex cap-release */
	SCENARIO_RETAKE,  /* and its --undo */
	SCENARIO_CAP,	  /* the operator sets a cap, as with xl */
	SCENARIO_PAUSE,	  /* as the other verbs of resex */
	SCENARIO_RESUME,
	SCENARIO_GUEST_SET,
};
extern const char *const scenario_do_names[];

struct scenario_event {
	int64_t at_ns; /* from the run's start */
	enum scenario_do what;
	uint32_t guest;		    /* all but POLICY */
	bool all;		    /* PAUSE, RESUME: not this guest, but all */
	struct guest_conf conf;	    /* GUEST_SET: from then on */
	uint32_t cap;		    /* CAP: percent, 0: none */
	struct policy_inst *policy; /* POLICY: the run takes it, and leaves NULL */
	uint32_t index;		    /* in the file */
};

struct scenario {
	char name[FLOW_NAME_MAX];
	struct sim_conf sim;
	struct daemon_conf conf;    /* its paths are the run's to set */
	struct policy_inst *policy; /* the first; the run takes it, and leaves NULL */
	enum scenario_clock clock;
	int64_t duration_ns;
	int64_t series_ns; /* 0: no series */
	uint32_t events;
	struct scenario_event event[SCENARIO_EVENTS_MAX]; /* in the order of their times */
};

/*
 * 0, or -errno of conf_load with e filled: file, line, column, what is wrong
 * and what would be right. A scenario is large: not on the stack. On error
 * there is nothing to free.
 */
int scenario_load(struct scenario *sc, const char *file, struct conf_error *e);
int scenario_parse(struct scenario *sc, const char *name, const char *text, size_t len,
		   struct conf_error *e);
void scenario_free(struct scenario *sc);

/* --- between the reader's own files --- */

/* Index of the guest of this name, or -1. */
int scenario_find(const struct scenario *sc, const char *name);
int scenario_bind_guests(struct scenario *sc, const struct conf_doc *d, struct conf_error *e);
int scenario_bind_events(struct scenario *sc, const struct conf_doc *d, struct conf_error *e);

#endif
