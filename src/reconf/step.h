/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step: how a protocol of the shared state is written: state, event, now -> operations.
 *
 * A protocol (lock, counter, move) is a struct and a step function. It gets an
 * event, changes its struct, and puts the operations that it wants posted into
 * *out; it posts nothing, allocates nothing, asks no clock. What runs it (the
 * daemon over a transport, the virtual-time harness, a bench) posts them, and
 * brings each result back as an event. So the same code runs on verbs, on shm
 * and under injected faults, and maps to the model in tests/model line by line.
 *
 * Every operation that was put out comes back as exactly one result. A result
 * LOST or UNKNOWN is followed by STEP_LINK of the same host when a newer link
 * stands; no operation to that host should be put out before (it would come back
 * LOST at once). Events not of the protocol's concern may come and are ignored.
 */
#ifndef RESEX_RECONF_STEP_H
#define RESEX_RECONF_STEP_H

#include "src/core/units.h"

enum { STEP_OPS_MAX = 80 }; /* of one step: announcements to all hosts at once */

enum step_kind { STEP_READ, STEP_CAS, STEP_FAA };

/* One word of the atomic part of a host's region (region_abi.h says which). */
struct step_op {
	enum step_kind kind;
	uint16_t host;
	uint32_t offset;
	uint64_t compare; /* CAS */
	uint64_t value;	  /* CAS, FAA */
	uint32_t tag;	  /* the protocol's own */
};

struct step_out {
	struct step_op op[STEP_OPS_MAX];
	uint32_t n;
};

/*
 * As enum transport_outcome, whose comments hold here. What could not be posted:
 * no link: LOST; its deadline, counted from the step, had passed: REFUSED (the link stands).
 */
enum step_outcome { STEP_DONE, STEP_REFUSED, STEP_LOST, STEP_UNKNOWN };

enum step_type {
	STEP_TICK,   /* time went on: at least as often as the protocol's step_due() says */
	STEP_RESULT, /* of one operation */
	STEP_LINK,   /* a new link to host stands */
	STEP_VIEW,   /* membership changed */
	STEP_ASK,    /* the user wants something; what: the protocol's own */
};

struct step_event {
	enum step_type type;
	uint16_t host; /* RESULT, LINK */
	uint32_t link; /* RESULT: on which it was posted; LINK: its number */
	/* RESULT */
	uint32_t tag;
	enum step_outcome outcome;
	uint64_t old; /* DONE: the word before; of a READ the word */
	/* VIEW */
	uint64_t view;	  /* its number; higher is newer */
	uint64_t members; /* bit h - 1: host h */
	bool quorate;	  /* false: nothing may be decided */
	/* ASK */
	uint32_t what;
};

#endif
