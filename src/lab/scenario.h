/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scenario: a simulated host, its guests and events, read from a file (man
 * resex-scenario). All of the file is checked before anything starts.
 */
#ifndef RESEX_LAB_SCENARIO_H
#define RESEX_LAB_SCENARIO_H

#include "src/conf/settings.h"
#include "src/sim/sim.h"

struct plugins;

enum {
	SCENARIO_EVENTS_MAX = 256,
	SCENARIO_STEPS_MAX = 10000,	 /* of a series, */
	SCENARIO_ALL_STEPS_MAX = 640000, /* and of all guests: 64 with so many each */
};

#define SCENARIO_NS_MAX (3600 * NS_PER_S) /* the longest run */

enum scenario_clock {
	SCENARIO_SIMULATED, /* one thread, as fast as it can; the same file gives the same run */
	SCENARIO_REAL,	    /* the daemon with its threads, in real time */
};

enum scenario_do {
	SCENARIO_DESTROY,
	SCENARIO_CREATE,
	SCENARIO_REBOOT,
	SCENARIO_POLICY,
	SCENARIO_RELEASE, /* as resex cap-release */
	SCENARIO_RETAKE,  /* and its --undo */
	SCENARIO_CAP,	  /* the operator sets a cap, as with xl */
	SCENARIO_PAUSE,	  /* this and the next two: as the verbs of resex */
	SCENARIO_RESUME,
	SCENARIO_GUEST_SET,
};
extern const char *const scenario_do_names[];

struct scenario_event {
	int64_t at_ns; /* from the run's start */
	enum scenario_do what;
	uint32_t guest;		    /* index; not for POLICY */
	bool all;		    /* PAUSE, RESUME: all guests, not one */
	struct guest_conf conf;	    /* GUEST_SET: its settings from then on */
	uint32_t cap;		    /* CAP: percent, 0: none */
	struct policy_inst *policy; /* POLICY; the run takes it over and leaves NULL */
	uint32_t index;		    /* of the event in the file */
};

struct scenario {
	char name[FLOW_NAME_MAX];
	struct sim_conf sim;
	struct daemon_conf conf;    /* scenario_run sets its paths */
	struct policy_inst *policy; /* the first one; the run takes it over and leaves NULL */
	struct plugins *plugins;    /* the caller's; NULL: none */
	enum scenario_clock clock;
	int64_t duration_ns;
	int64_t series_ns; /* 0: no series */
	bool histogram;	   /* of true latencies, in the summary */
	uint32_t events;
	struct scenario_event event[SCENARIO_EVENTS_MAX]; /* in the order of their times */
};

/*
 * 0, or -errno of conf_load with e filled: file, line, column, the error and the remedy. A
 * scenario is too large for the stack. After an error there is nothing to free. ps: plug-ins that
 * its policies may be, which outlive it (conf/plugin.h); NULL, as in scenario_parse(): none.
 */
int scenario_load(struct scenario *sc, struct plugins *ps, const char *file, struct conf_error *e);
int scenario_parse(struct scenario *sc, const char *name, const char *text, size_t len,
		   struct conf_error *e);
void scenario_free(struct scenario *sc);

/* The JSON Schema of a scenario (src/util/conf_schema.h). NULL: no memory. */
json_t *scenario_schema(void);

/* Its tables and lists, by the file that reads them: for scenario_schema(). */
enum scenario_table {
	SCENARIO_TOP,
	SCENARIO_HOST,
	SCENARIO_GUEST,
	SCENARIO_APP,
	SCENARIO_EVENT,
};
struct conf_table scenario_table(enum scenario_table t);
struct conf_table scenario_guest_table(enum scenario_table t);
struct conf_table scenario_event_table(void);
extern const struct conf_list scenario_guest_list, scenario_app_list, scenario_event_list;

/* --- for the files of the reader --- */

/* Index of the guest of this name, or -1. */
int scenario_find(const struct scenario *sc, const char *name);
int scenario_bind_guests(struct scenario *sc, const struct conf_doc *d, struct conf_error *e);
int scenario_bind_events(struct scenario *sc, const struct conf_doc *d, struct conf_error *e);

#endif
