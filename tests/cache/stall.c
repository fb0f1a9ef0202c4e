// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stall: holds one thread of a program at a chosen moment, for faults.py. The program is not
 * changed: this is loaded before its libraries (LD_PRELOAD), between it and some of their calls.
 *
 *	faults.py: a moment -> the file of RESEX_STALL (memory of both) -> the next thread that
 *	comes there is held: it stands, and the others go on -> faults.py kills, stops, or cuts
 *	what it wants, and lets the thread go
 *
 * A moment is between a check and what follows from it: the clock was read, and is used later; the
 * database has answered a look, and the beat is not stored; COMMIT was sent, and not answered. It
 * also moves CLOCK_REALTIME, on which nothing may hang. Without RESEX_STALL nothing happens.
 *
 * RESEX_BREAK, "FROM|TO", changes the check of an update before it is prepared: for breaks.py.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* As in stall.py. */
enum moment {
	COMMIT_UNSENT = 1, /* resex-cached: all have acknowledged an update; none of it is sent */
	COMMIT_BEHIND,	   /* ... all of it is sent, but for its COMMIT */
	COMMIT_SENT,	   /* ... all of it is sent, and no answer was read */
	COMMITTED,	   /* ... and the answer was read */
	LOOKED,		   /* the database has answered a look */
	JOINED,		   /* the database has answered a join's COMMIT */
	CLOCK_READ,	   /* the main thread has read CLOCK_BOOTTIME */
	FILL_BEGUN,	   /* resex-auction: the words were read, the transaction has not begun */
	FILL_ENDS,	   /* the page is computed, and not registered */
	FILL_ENDED,	   /* it is registered, and not answered */
	UPDATE_ENDS,	   /* resex-cached has told how an update ended */
	ASKED,		   /* Varnish: the word was verified, the page not looked up */
	MOMENTS,
};

enum state { IDLE, ARMED, HELD, LET_GO };
enum verdict { GO_ON, CUT };

struct control {
	_Atomic uint32_t state, moment, skip, verdict, limit_ms, held_tid;
	_Atomic int64_t real_ns; /* what is added to CLOCK_REALTIME */
	_Atomic uint64_t passed[MOMENTS];
};

_Static_assert(sizeof(struct control) == 32 + 8 * MOMENTS, "as in stall.py");

static struct control *control;
static pid_t main_tid;

/* What this thread's connection to the database does. UPDATES: its COMMIT is not queued yet. */
enum talk { NOTHING, UPDATES, COMMITS, LOOKS, JOINS };
static _Thread_local enum talk talk;

struct pg_conn;
struct pg_result;
enum { PG_COMMAND_OK = 1, PG_TUPLES_OK = 2 };

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* A pointer to a function that dlsym has found; kept for the next call. */
#define NEXT(var, name)                                                                            \
	do {                                                                                       \
		if (!(var))                                                                        \
			*(void **)(&(var)) = next(name);                                           \
	} while (0)

typedef long syscall_fn(long n, ...);
typedef int clock_fn(clockid_t which, struct timespec *ts);

static syscall_fn *next_syscall;
static clock_fn *next_clock;

static __attribute__((constructor)) void load(void)
{
	const char *file = getenv("RESEX_STALL");
	int fd = file ? open(file, O_RDWR | O_CLOEXEC) : -1;
	void *at;

	NEXT(next_syscall, "syscall");
	NEXT(next_clock, "clock_gettime");
	main_tid = getpid();
	if (fd < 0)
		return;
	at = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at != MAP_FAILED)
		control = at;
	close(fd);
}

static int64_t now_ns(void)
{
	struct timespec ts = { 0, 0 };

	next_clock(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* true: the verdict is to cut the connection. */
static bool hold(void)
{
	struct control *c = control;
	int64_t until = now_ns() + (int64_t)c->limit_ms * 1000000;
	const struct timespec a_moment = { 0, 100000 };
	bool cut;

	c->held_tid = (uint32_t)next_syscall(SYS_gettid);
	while (c->state == HELD && now_ns() < until)
		next_syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &a_moment, NULL);
	cut = c->verdict == CUT;
	c->state = IDLE;
	return cut;
}

/* A thread passes a moment. */
static bool pass(enum moment m)
{
	struct control *c = control;
	uint32_t armed = ARMED;

	if (!c)
		return false;
	c->passed[m]++;
	if (c->state != ARMED || c->moment != (uint32_t)m)
		return false;
	if (c->skip) {
		c->skip--;
		return false;
	}
	return __atomic_compare_exchange_n((uint32_t *)&c->state, &armed, HELD, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) &&
	       hold();
}

/* --- the clock ----------------------------------------------------------------------------- */

int clock_gettime(clockid_t which, struct timespec *ts)
{
	int64_t ns;
	int rc;

	NEXT(next_clock, "clock_gettime");
	rc = next_clock(which, ts);
	if (!control || rc)
		return rc;
	if (which == CLOCK_BOOTTIME) {
		if (control->moment == CLOCK_READ && next_syscall(SYS_gettid) == main_tid)
			pass(CLOCK_READ);
	} else if (which == CLOCK_REALTIME && control->real_ns) {
		ns = (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec + control->real_ns;
		ts->tv_sec = (time_t)(ns / 1000000000);
		ts->tv_nsec = (long)(ns % 1000000000);
	}
	return rc;
}

/* --- the database, of resex-cached ----------------------------------------------------------- */

static int (*next_socket)(const struct pg_conn *c);
static int (*next_flush)(struct pg_conn *c);
static int (*next_query)(struct pg_conn *c, const char *text, int n, const unsigned *types,
			 const char *const *values, const int *lengths, const int *formats,
			 int format);
static int (*next_prepared)(struct pg_conn *c, const char *name, int n, const char *const *values,
			    const int *lengths, const int *formats, int format);
static int (*next_prepare)(struct pg_conn *c, const char *name, const char *text, int n,
			   const unsigned *types);
static int (*next_sync)(struct pg_conn *c);
static struct pg_result *(*next_result)(struct pg_conn *c);
static int (*next_status)(const struct pg_result *r);
static char *(*next_said)(struct pg_result *r);

static bool is_armed(enum moment m)
{
	return control && control->state == ARMED && control->moment == (uint32_t)m;
}

static void pass_query(const struct pg_conn *c, enum moment m)
{
	NEXT(next_socket, "PQsocket");
	if (pass(m))
		shutdown(next_socket(c), SHUT_RDWR);
}

/*
 * An update goes out in one message, COMMIT too. A long one goes out in parts, and a network may
 * lose the end of a short one. So COMMIT_BEHIND sends what there is, if somebody waits for it: the
 * database then runs it, and waits for more.
 */
static void pass_commit(struct pg_conn *c)
{
	NEXT(next_flush, "PQflush");
	pass_query(c, COMMIT_UNSENT);
	if (is_armed(COMMIT_BEHIND))
		next_flush(c);
	pass_query(c, COMMIT_BEHIND);
}

int PQsendQueryParams(struct pg_conn *c, const char *text, int n, const unsigned *types,
		      const char *const *values, const int *lengths, const int *formats,
		      int format);
int PQsendQueryParams(struct pg_conn *c, const char *text, int n, const unsigned *types,
		      const char *const *values, const int *lengths, const int *formats, int format)
{
	NEXT(next_query, "PQsendQueryParams");
	if (talk == UPDATES && !strcmp(text, "COMMIT")) {
		talk = COMMITS;
		pass_commit(c);
	} else if (!strncmp(text, "UPDATE resex.epoch", 18)) {
		talk = JOINS;
	} else if ((talk != UPDATES && talk != JOINS) || !strncmp(text, "BEGIN", 5)) {
		talk = NOTHING;
	}
	return next_query(c, text, n, types, values, lengths, formats, format);
}

int PQsendQueryPrepared(struct pg_conn *c, const char *name, int n, const char *const *values,
			const int *lengths, const int *formats, int format);
int PQsendQueryPrepared(struct pg_conn *c, const char *name, int n, const char *const *values,
			const int *lengths, const int *formats, int format)
{
	NEXT(next_prepared, "PQsendQueryPrepared");
	if (!strcmp(name, "resex_begin"))
		talk = UPDATES;
	else if (!strcmp(name, "resex_look"))
		talk = LOOKS;
	else if (talk != UPDATES)
		talk = NOTHING;
	return next_prepared(c, name, n, values, lengths, formats, format);
}

/* "FROM|TO" in text, in the room that is given; text itself if it is not there. */
static const char *changed(const char *text, const char *change, char *room, size_t size)
{
	const char *bar = change ? strchr(change, '|') : NULL, *at;
	char from[128];

	if (!bar || (size_t)(bar - change) >= sizeof(from))
		return text;
	memcpy(from, change, (size_t)(bar - change));
	from[bar - change] = 0;
	at = strstr(text, from);
	if (!at || (size_t)snprintf(room, size, "%.*s%s%s", (int)(at - text), text, bar + 1,
				    at + strlen(from)) >= size)
		return text;
	return room;
}

int PQsendPrepare(struct pg_conn *c, const char *name, const char *text, int n,
		  const unsigned *types);
int PQsendPrepare(struct pg_conn *c, const char *name, const char *text, int n,
		  const unsigned *types)
{
	char room[4096];

	NEXT(next_prepare, "PQsendPrepare");
	if (!strcmp(name, "resex_begin"))
		text = changed(text, getenv("RESEX_BREAK"), room, sizeof(room));
	return next_prepare(c, name, text, n, types);
}

/* It also sends all. */
int PQpipelineSync(struct pg_conn *c);
int PQpipelineSync(struct pg_conn *c)
{
	int rc;

	NEXT(next_sync, "PQpipelineSync");
	rc = next_sync(c);
	if (talk == COMMITS)
		pass_query(c, COMMIT_SENT);
	return rc;
}

struct pg_result *PQgetResult(struct pg_conn *c);
struct pg_result *PQgetResult(struct pg_conn *c)
{
	struct pg_result *r;
	enum talk was = talk;
	int status;

	NEXT(next_result, "PQgetResult");
	NEXT(next_status, "PQresultStatus");
	NEXT(next_said, "PQcmdStatus");
	r = next_result(c);
	if (was == NOTHING || was == UPDATES || !r)
		return r;
	status = next_status(r);
	if (was == LOOKS && status == PG_TUPLES_OK) {
		talk = NOTHING;
		pass(LOOKED);
	} else if (was != LOOKS && status == PG_COMMAND_OK && !strcmp(next_said(r), "COMMIT")) {
		talk = NOTHING;
		pass(was == COMMITS ? COMMITTED : JOINED);
	}
	return r;
}

/* --- resex-cached, of the application --------------------------------------------------- */

enum { CURL_EFFECTIVE_URL = 0x100000 + 1 };

static int (*next_perform)(void *curl);
static int (*next_info)(void *curl, int what, ...);

int curl_easy_perform(void *curl);
int curl_easy_perform(void *curl)
{
	const char *url = NULL, *path;
	enum moment after = 0;
	int rc;

	NEXT(next_perform, "curl_easy_perform");
	NEXT(next_info, "curl_easy_getinfo");
	next_info(curl, CURL_EFFECTIVE_URL, &url);
	path = url ? strstr(url, "/v1/") : NULL;
	if (path && !strcmp(path, "/v1/fill")) {
		after = FILL_BEGUN;
	} else if (path && !strncmp(path, "/v1/fill/", 9)) {
		pass(FILL_ENDS);
		after = FILL_ENDED;
	} else if (path && !strcmp(path, "/v1/update")) {
		after = UPDATE_ENDS;
	}
	rc = next_perform(curl);
	if (after)
		pass(after);
	return rc;
}

/* --- the ring, of Varnish ----------------------------------------------------------------- */

long syscall(long n, ...)
{
	long a[6], rc;
	va_list ap;

	va_start(ap, n);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	NEXT(next_syscall, "syscall");
	rc = next_syscall(n, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (n == SYS_futex && ((int)a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT && !rc)
		pass(ASKED);
	return rc;
}
