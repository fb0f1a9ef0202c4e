/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * far: the suite's hosts on two machines.
 *
 * One process drives all hosts of a test. For hosts that serve at the second address, the
 * calls of the transport can be sent to another machine, where far_serve makes them: one
 * call, one answer, in the order of the test, with the time of the test as argument. So the
 * tests are the same as on one machine. Besides these calls, only links of the backend under
 * test connect the two machines.
 *
 * The linker puts far.c between the tests and the transport (--wrap); the tests do not
 * change. far_serve also starts hosts in processes of their own (proc.h); their orders and
 * accounts are sent.
 *
 * Both ends are this one program, and trust each other.
 */
#ifndef RESEX_TESTS_TRANSPORT_FAR_H
#define RESEX_TESTS_TRANSPORT_FAR_H

#include "tests/transport/proc.h"

enum { FAR_ROOM = 3 << 20 }; /* bytes that go with a call or an answer, at most */

enum far_what {
	FAR_BEGIN, /* struct far_begin */
	/* Of the host with this id */
	FAR_OPEN, /* struct far_open, words */
	FAR_CLOSE,
	FAR_TABLE, /* the table */
	FAR_ADD,   /* struct transport_peer */
	FAR_REMOVE,
	FAR_POST, /* ops, messages of TRANSPORT_MESSAGE_MAX; a: how many; out: its why in b */
	FAR_POLL, /* a: how many; out: events, data */
	FAR_STATS,
	/* Of the process with this id */
	FAR_SPAWN, /* its orders; out: pid */
	FAR_NUDGE, /* the same */
	FAR_PULL,  /* out: 1: it has ended, status in b; else 0; struct far_pull */
	FAR_KILL,
	FAR_FREEZE,
	FAR_THAW,
	FAR_REAP, /* out: its status, when it has ended */
};

struct far_call {
	uint32_t what, id;
	struct mono now;
	uint64_t a;
	uint32_t len, flag;
};

struct far_answer {
	int64_t rc;
	int64_t b;
	uint32_t link[TRANSPORT_HOSTS_MAX + 1]; /* of the host: which are up now */
	uint32_t len;
	/*
	 * Of the host: it is armed after each call, so that a test without events need not
	 * call again. Only then: arming twice without a poll between would miss events.
	 */
	struct mono due;
	uint32_t asleep;
	uint32_t broken; /* the other end failed with this sentence */
};

struct far_begin {
	uint64_t build; /* far_build() of the test */
	char backend[16];
	uint16_t port;
	char address[2][TRANSPORT_ADDRESS_MAX];
};

struct far_open {
	struct transport_conf conf;
	uint8_t key[TRANSPORT_KEY_MAX + 1];
	bool has_key, has_words;
};

struct far_pull {
	uint64_t plain;
	uint8_t says[sizeof(struct orders) - ORDERS_SENT];
};

/* All of len, in or out. false: the other end is gone. */
bool far_read(int fd, void *to, size_t len);
bool far_write(int fd, const void *from, size_t len);
/* The same at both ends if they are one build: they exchange structs as they are in memory. */
uint64_t far_build(void);

/* --- the test's end ----------------------------------------------------------- */

/* For a test: hosts that serve at r->address[1] are there, where far_serve listens. */
void far_begin(struct rig *r, uint16_t port);
void far_end(struct rig *r);
/* Prints how many hosts and processes were on the other machine. false: one of the two was 0. */
bool far_used(void);
/* Is a host that serves at this address there? */
bool far_is(const char *address);

pid_t far_spawn(const struct proc *p);
void far_nudge(const struct proc *p);
/* Fetch its reports. true: it has ended, with *status. */
bool far_pull(const struct proc *p, int *status);
void far_signal(const struct proc *p, enum far_what what);
int far_reap(const struct proc *p);
/* How often a process there held the lock alone. */
uint64_t far_plain(void);

/* --- the other ----------------------------------------------------------------- */

/* Serve one test after the other, until this process is killed. */
int far_serve(const char *address, uint16_t port, const struct traits *table, size_t n);

#endif
