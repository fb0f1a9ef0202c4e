/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor: what an expert would look at on a host. Facts go in, findings come out: replies of resexd
 * and what this host's kernel says (doctor_host.h), and for each check a state, one sentence with
 * the value, and a remedy. Pure: no clock, no I/O. cmd_doctor.c gathers the facts and prints.
 *
 *	doctor.c	 the table; daemon, xen, scheduler, privileges, ticks
 *	doctor_guests.c	 agents, rings, reports, losses, counters
 *	doctor_hosts.c	 links, cluster, clocks
 *	doctor_cap.c	 whether a cap limits a guest
 *	doctor_say.c	 findings, and what all checks use
 */
#ifndef RESEX_CLI_DOCTOR_H
#define RESEX_CLI_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* In the order of their gravity. */
enum doctor_state { DOCTOR_OK, DOCTOR_UNKNOWN, DOCTOR_WARNING, DOCTOR_FAULT, DOCTOR_STATES };

/* Replies of resexd. LATER: info again, after a second. SHOWS: guest-show of guests that report. */
enum doctor_reply {
	DOCTOR_INFO,
	DOCTOR_LATER,
	DOCTOR_LIST,
	DOCTOR_RINGS,
	DOCTOR_CAPS,
	DOCTOR_SHOWS,
	DOCTOR_HOSTS,
	DOCTOR_REPLIES
};

#define DOCTOR_NEEDS(reply) (1u << DOCTOR_##reply)

/* The process that listens at resexd's socket, as /proc shows it. */
struct doctor_process {
	bool known;
	uint32_t pid, uid;
	char state;	     /* as in /proc/PID/stat: T is stopped by a signal */
	uint64_t locked_kib; /* memory */
	uint32_t priority;   /* the highest real-time priority of its threads; 0: none */
};

enum doctor_xen { DOCTOR_NO_XEN, DOCTOR_XEN_GUEST, DOCTOR_XEN_DOM0 };
enum doctor_clock { DOCTOR_CLOCK_UNKNOWN, DOCTOR_CLOCK_FREE, DOCTOR_CLOCK_SYNCHRONIZED };

struct doctor_facts {
	const char *version; /* of resex */
	enum doctor_xen xen;
	char xen_version[32]; /* "": not known */
	enum doctor_clock clock;
	int64_t wall_ns; /* when the hosts of the cluster were asked for */
	/* Objects: device, port, rate_gbit, ethernet, soft, state ("4: ACTIVE"). */
	json_t *ports;
	int daemon; /* RESEX_OK, or why resexd did not answer: daemon_error has the sentence */
	const char *daemon_error;
	struct doctor_process process;
	json_t *reply[DOCTOR_REPLIES]; /* NULL: not asked, or no answer */
};

/* Where the findings of one check go. */
struct doctor_report {
	const char *check;
	json_t *findings;
};

struct doctor_check {
	const char *name;
	const char *text;   /* one line */
	unsigned int needs; /* DOCTOR_NEEDS of its replies; without one of them it is unknown */
	bool anyhow;	    /* run() is called also without the replies */
	void (*run)(const struct doctor_facts *f, const struct doctor_report *r);
};

extern const struct doctor_check doctor_checks[]; /* ended by name NULL */
const struct doctor_check *doctor_find(const char *name);

/*
 * Append what the check finds to findings, an array: objects with check, state (a word), text and
 * remedy ("": there is none).
 */
void doctor_run(const struct doctor_check *c, const struct doctor_facts *f, json_t *findings);

const char *doctor_state_text(enum doctor_state s);
enum doctor_state doctor_state_of(const json_t *finding);
/* The gravest of all findings. */
enum doctor_state doctor_worst(const json_t *findings);

/* A cap that is tried on a guest; all in percent of one CPU. */
struct doctor_cap {
	const char *guest;
	uint32_t cap;
	double before, during; /* CPU time used without it, and under it */
};

/*
 * The cap to try on a guest that uses so much CPU time: half of that, at least its min_cap. capped:
 * the cap that it has; 0: none. 0: no cap would show anything, and a finding says why.
 */
uint32_t doctor_cap_choose(const char *guest, double before, uint32_t min_cap, uint32_t capped,
			   json_t *findings);
void doctor_cap_judge(const struct doctor_cap *t, json_t *findings);

#endif
