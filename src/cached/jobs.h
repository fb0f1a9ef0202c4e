/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobs: what asks the database, in threads. A *lane* is one thread with one connection, made when
 * it gets its first job. It does one job at a time. A lane that waits for the database keeps no
 * other lane waiting, nor the loop.
 *
 * All functions are called in the loop's thread, and done is called there.
 */
#ifndef RESEX_CACHED_JOBS_H
#define RESEX_CACHED_JOBS_H

#include <event2/event.h>

#include "src/sql/sql.h"

enum { JOBS_LANES_MAX = 128 };

/* The owner keeps it from jobs_start until done is called, or jobs_close has returned. */
struct job {
	/*
	 * In the lane's thread. 0 or -errno, for done; -ENOTCONN: the connection is lost, and is
	 * closed.
	 */
	int (*run)(struct job *j, struct sql *s, struct sql_error *e);
	void (*done)(struct job *j);
	bool anew;  /* on a connection that is made for it; the one that the lane has is closed */
	bool leave; /* the connection is closed behind it */
	/* Set when done is called. */
	bool ran; /* false: there was no connection, and run was not called */
	int rc;
	struct sql_error e; /* of rc; text "": none */
};

struct jobs_conf {
	const struct sql_ops *sql;
	struct sql_conf to; /* its texts must outlive the jobs */
	uint32_t lanes;	    /* 1 .. JOBS_LANES_MAX */
	/*
	 * After a connection could not be made the lane makes none for so long: its jobs end at
	 * once. Doubled each time.
	 */
	int64_t backoff_min_ns, backoff_max_ns;
};

struct jobs;

/* 0 or -errno. No thread runs yet. */
int jobs_open(struct jobs **js, const struct jobs_conf *c, struct event_base *base);
/*
 * Waits for the threads: as long as the longest call of the database still takes. No done is
 * called. NULL: does nothing.
 */
void jobs_close(struct jobs *js);

/* false: the lane has a job, or a thread could not be made. Then nothing was changed. */
bool jobs_start(struct jobs *js, uint32_t lane, struct job *j);
bool jobs_busy(const struct jobs *js, uint32_t lane);
/*
 * Blocks until the lane has no job, at most ns; done of any lane may be called meanwhile. false: it
 * still has one.
 */
bool jobs_wait(struct jobs *js, uint32_t lane, int64_t ns);

#endif
