/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rig: hosts for the tests of src/transport, driven by one loop.
 *
 * The referee checks every event of every host first, against the rules of the header for
 * all events (each operation ends once, results come before DOWN, DOWN before UP, link
 * numbers grow, ...). Then the event is kept with a copy of its data. The same rig drives
 * hosts in processes of their own (proc.h). Every fault ends in broken().
 */
#ifndef RESEX_TESTS_TRANSPORT_RIG_H
#define RESEX_TESTS_TRANSPORT_RIG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/transport/transport.h"
#include "src/util/clock.h"

enum {
	RIG_HOSTS = TRANSPORT_HOSTS_MAX + 2,
	RIG_TABLE = 8192, /* bytes of the parts, where a test does not say otherwise */
	RIG_WORDS = 4096,
	RIG_OPS = TRANSPORT_HOSTS_MAX * TRANSPORT_DEPTH,
};

/* Differences between backends that a user sees; the table is in contract.c. */
struct traits {
	const char *name;
	const char *address[2];
	bool one_sided; /* a host that is stopped still answers READ, CAS64, FAA64; served is 0 */
	bool ip;	/* an address is an IP address and a port, and so can be malformed */
	bool numbered;	/* a call reaches the host at the address, also with a wrong number */
	bool stream;	/* any TCP socket can call */
};

struct seen {
	struct transport_event ev; /* its data: a copy */
	int64_t at_ns;
};

/* An operation that post accepted, without a result yet. */
struct pending {
	uint64_t tag;
	enum transport_kind kind;
	uint16_t host;
	uint32_t link;
	uint32_t len;
};

struct referee {
	uint32_t up[TRANSPORT_HOSTS_MAX + 1];	/* number of the link that is up; 0 */
	uint32_t last[TRANSPORT_HOSTS_MAX + 1]; /* the newest ever */
	struct pending pending[RIG_OPS];
	size_t n;
	uint64_t posted[TRANSPORT_KINDS], outcomes[4];
	uint64_t ups, downs, alarms, messages;
	char error[192];
};

struct rig;

struct host {
	struct rig *rig;
	struct transport *t; /* NULL: not open */
	struct transport_conf conf;
	uint16_t number;
	bool paused; /* the loop does not poll it */
	struct referee ref;
	struct seen *log;
	size_t n, room;
	uint64_t tag;
};

struct rig {
	const struct traits *is;
	const struct transport_backend *backend;
	const char *address[2];
	uint16_t port; /* host h listens at port + h; 0: addresses have none */
	struct clock clock;
	bool simulated; /* simulated: the test sets the time */
	struct mono now;
	bool strict; /* sleep as the header says, woken by nothing else */
	int wake_fd; /* wakes all; -1 */
	int64_t patience_ns;
	void (*watch)(void *arg); /* called while waiting: may find a failure elsewhere */
	void *watch_arg;
	struct host host[RIG_HOSTS];
	size_t hosts;
};

/* Fail: end the test, or this process. */
_Noreturn void broken(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* What broken does in another process than the test's; NULL: the test fails. */
void broken_calls(void (*fn)(void *arg, const char *text), void *arg);

void rig_init(struct rig *r, const struct traits *is, const char *a, const char *b);
/* Find ports for all hosts; only the first n addresses can be tried here. */
void rig_ports(struct rig *r, uint16_t n);
/* Close all. Their statistics must agree with the rig's counts. */
void rig_fini(struct rig *r);
struct mono rig_now(struct rig *r);
/* Begin simulated time: from now on only rig_pass changes it. */
void rig_simulate(struct rig *r);
void rig_pass(struct rig *r, int64_t ns);

/* --- the loop --------------------------------------------------------------- */

/* Poll all hosts that are not paused once. How many events they were given. */
size_t rig_poll(struct rig *r);
/* The same, and sleep when there were none. */
void rig_turn(struct rig *r);
void rig_turn_for(struct rig *r, int64_t ns);
/* Sleep as the header says. true: poll now. false: nothing came within RESEX_PATIENCE. */
bool rig_sleep(struct rig *r, int64_t at_most_ns);

struct patience {
	int64_t began_ns;
};
void rig_wait(struct rig *r, struct patience *p, const char *what);
/* Poll and sleep until this is true; broken when that takes too long. */
#define UNTIL(r, ...)                                                                              \
	do {                                                                                       \
		struct patience p_ = { 0 };                                                        \
		while (!(__VA_ARGS__))                                                             \
			rig_wait((r), &p_, #__VA_ARGS__);                                          \
	} while (0)

/* --- hosts ------------------------------------------------------------------ */

/* The default conf of a host of this number. */
struct transport_conf rig_conf(const struct rig *r, uint16_t number);
struct host *rig_open(struct rig *r, const struct transport_conf *c);
void host_open(struct host *h, const struct transport_conf *c); /* again, after host_close */
void host_close(struct host *h);
/* Check the counts, when no operation is outstanding. */
void host_audit(struct host *h);

struct transport_peer rig_peer(const struct rig *r, uint16_t number);
void host_add(struct host *h, uint16_t number);
void host_meet(struct host *a, struct host *b); /* each adds the other */
bool host_up(const struct host *h, uint16_t number);
bool both_up(const struct host *a, const struct host *b);
/* Two hosts, 1 and 2, whose links are up. */
void rig_pair(struct rig *r, struct host **a, struct host **b);

/* One poll: its events pass the referee and are kept in the log. */
size_t host_poll(struct host *h, size_t max);
/* The newest event of this type and host from the log's place `from` on; NULL. 0: any host. */
const struct seen *host_seen(const struct host *h, enum transport_event_type type, uint16_t host,
			     size_t from);
size_t host_count(const struct host *h, enum transport_event_type type, uint16_t host, size_t from);
const struct seen *host_result(const struct host *h, uint64_t tag);
/* Empty the log. */
void host_forget(struct host *h);

/* --- operations ------------------------------------------------------------- */

struct transport_op op_read(uint16_t host, enum transport_part part, uint32_t off, uint32_t len);
struct transport_op op_cas(uint16_t host, uint32_t off, uint64_t compare, uint64_t value);
struct transport_op op_faa(uint16_t host, uint32_t off, uint64_t value);
struct transport_op op_send(uint16_t host, const void *data, uint32_t len);

/*
 * As transport_post; tags are given (op[i].tag is set), deadlines that are 0 become
 * far ones, and the referee records what was posted.
 */
size_t host_post(struct host *h, struct transport_op *op, size_t n, int *why);
/* Post one operation, which must be accepted. Returns its tag. */
uint64_t host_post1(struct host *h, struct transport_op op);
/* Post one operation, which must be refused. Returns why. */
int host_refuses(struct host *h, struct transport_op op);
/* Post one operation and wait for its result. */
const struct seen *host_do(struct host *h, struct transport_op op);
/* The same, which must be DONE: the word before, and a READ's word. */
uint64_t host_cas(struct host *h, uint16_t host, uint32_t off, uint64_t compare, uint64_t value);
uint64_t host_faa(struct host *h, uint16_t host, uint32_t off, uint64_t value);
uint64_t host_word(struct host *h, uint16_t host, uint32_t off);

#endif
