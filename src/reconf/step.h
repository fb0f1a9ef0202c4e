/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step: the form of a protocol between hosts: (state, event, now) -> operations.
 *
 * A protocol (lock, counter, move) is a struct and a step function. The function gets an
 * event, changes the struct, and puts the operations to be posted into *out. It posts
 * nothing, allocates nothing, and reads no clock. Its caller (runner.c over a transport, the
 * virtual-time tests, a benchmark) posts the operations, and returns each result as an event.
 * So the same code runs on verbs, on shm and under injected faults, and corresponds to the
 * models in tests/model line by line.
 *
 * Every operation that was put out comes back as exactly one result. One that finds no room in
 * *out was not put out: the protocol notes that, and is due at once. After a result LOST or
 * UNKNOWN, a STEP_LINK of the same host follows when a newer link is up. Put out no
 * operation to that host before: it would come back LOST at once. A protocol ignores events
 * that do not concern it.
 */
#ifndef RESEX_RECONF_STEP_H
#define RESEX_RECONF_STEP_H

#include "resex/region_abi.h"
#include "src/core/hostset.h"
#include "src/core/units.h"

enum {
	STEP_OPS_MAX = 80,	 /* in one step; what does not fit is put out by the next */
	STEP_READ_MAX = 16384,	 /* bytes of one READ; a page of words is 4096 */
	STEP_MESSAGE_MAX = 1024, /* bytes of one message */
};

enum step_kind { STEP_READ, STEP_CAS, STEP_FAA, STEP_SEND };

/* A part of a host's region (region_abi.h). A CAS or FAA of another one than WORDS is REFUSED. */
enum step_part { STEP_WORDS, STEP_TABLE, STEP_LOAD, STEP_VERSIONS };

/*
 * On a host's region, or a message to the host. A READ may be of several words in a row: each is
 * read at once, but not all of them at one time.
 */
struct step_op {
	enum step_kind kind;
	enum step_part part; /* not for SEND */
	uint16_t host;
	uint32_t offset; /* bytes into the part; a multiple of 8. Not for SEND */
	uint32_t len; /* READ: bytes, 8 a word, up to STEP_READ_MAX; SEND: up to STEP_MESSAGE_MAX */
	/*
	 * From this step until it is REFUSED, LOST or UNKNOWN. 0, or more than all operations of
	 * the caller have (runner_open): as these. A CAS, FAA or SEND that is late ends its link,
	 * a READ does not: give a READ that is worth less than the link less time.
	 */
	int64_t allowed_ns;
	uint64_t compare; /* CAS */
	uint64_t value;	  /* CAS, FAA */
	const void *data; /* SEND: the message, which the protocol keeps until its result */
	/*
	 * Only on this link, by its number: the one on which compare was read. A host that restarts
	 * may begin with the same words again. So when there is a newer link, the operation is not
	 * posted: it comes back LOST, or REFUSED after the STEP_LINK of the newer one. 0: any link.
	 */
	uint32_t link;
	uint32_t tag; /* chosen by the protocol; comes back with the result */
};

struct step_out {
	struct step_op op[STEP_OPS_MAX];
	uint32_t n;
	uint32_t taken; /* places that are not to be had in this step: its caller has no room */
};

/*
 * As enum transport_outcome, but LOST means that a STEP_LINK comes: REFUSED, if the link is up and
 * the deadline passed, or if the deadline, counted from the step, passed before the operation could
 * be posted, or if it was for an older link (step_op.link).
 */
enum step_outcome { STEP_DONE, STEP_REFUSED, STEP_LOST, STEP_UNKNOWN };

enum step_type {
	STEP_TICK,   /* time passed. Due when the protocol's ..._due() says */
	STEP_RESULT, /* of one operation */
	STEP_LINK,   /* a new link to host is up */
	STEP_VIEW,   /* membership changed */
	STEP_ASK,    /* a request of the user; the protocol defines what */
	/*
	 * A message came from host. It goes to all protocols, and each must know its own by the
	 * contents. An answer to it may find that host restarted.
	 */
	STEP_MESSAGE,
};

struct step_event {
	enum step_type type;
	uint16_t host; /* RESULT, LINK, MESSAGE */
	uint32_t link; /* RESULT: the link on which it was posted; LINK: its number */
	/* RESULT */
	uint32_t tag;
	enum step_outcome outcome;
	uint64_t old;	      /* DONE: the word before; of a READ the first word */
	const uint64_t *data; /* DONE READ: all its words, until the step returns */
	uint32_t words;
	/* MESSAGE: what came, until the step returns. Not aligned; check it as hostile input */
	const void *message;
	uint32_t len; /* bytes, > 0 */
	/* VIEW */
	uint64_t view; /* its number; higher is newer */
	struct hostset members;
	bool quorate; /* false: decide nothing */
	/* ASK */
	uint32_t what;
	/* More of the request, as the protocol defines it, until the step returns; NULL: none. */
	const void *wish;
};

#endif
