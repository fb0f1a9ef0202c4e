/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cacheload: clients of cached pages, and a checker of what they saw.
 *
 *	options -> run: trace -> connections -> http -> history -> result
 *	                                          \-> log -> --check, tests/cache/check.py
 *
 * One thread: what happens has one order, in which the checker learns of it, and which the log
 * keeps.
 */
#ifndef RESEX_CACHELOAD_LOAD_H
#define RESEX_CACHELOAD_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "src/cacheload/history.h"
#include "src/util/hist.h"

enum {
	LOAD_TARGETS_MAX = 64,
	LOAD_CONNECTIONS_MAX = 16384,
	LOAD_TEXT_MAX = 256, /* of one sentence */
};

struct load_options {
	const char *proxy[LOAD_TARGETS_MAX]; /* ADDRESS:PORT; readers ask these */
	const char *app[LOAD_TARGETS_MAX];   /* updates go to these */
	uint64_t proxies, apps;
	uint64_t readers, updaters; /* connections */
	uint64_t trace, seed, pages;
	uint64_t requests; /* replies; 0: no limit */
	uint64_t seconds;  /* 0: no limit */
	uint64_t updates;  /* of 1000 requests */
	uint64_t rate;	   /* updates a second, instead; 0: none */
	double alpha;
	bool keep_share; /* readers wait for updaters that fall behind */
	int64_t timeout_ns, update_timeout_ns;
	const char *log;   /* NULL: none */
	const char *check; /* a log; NULL: run */
	bool json;
};

/* -1: go on; else the exit code, all is said. */
int load_options(struct load_options *o, int argc, char **argv);

/* What was seen. */
struct load_result {
	uint64_t replies, hits, misses;		 /* misses: X-Cache says something else than hit */
	uint64_t errors;			 /* requests without a reply of status 200 */
	uint64_t begun, done, not_done, unknown; /* updates */
	uint64_t broken[HISTORY_RULES];		 /* replies that break this rule */
	uint64_t checked;	       /* replies, and the state of the application at the end */
	char first[2 * LOAD_TEXT_MAX]; /* about the first such reply; "": none */
	char error[LOAD_TEXT_MAX];     /* about the first error; "": none */
	uint64_t elapsed_ns, cpu_ns;
	uint64_t pages;
	bool ended_known;	       /* the state at the end was read */
	struct hist hit, miss, update; /* latencies */
};

uint64_t load_broken(const struct load_result *r);

/* 0, or -errno with the sentence in text. */
int load_run(const struct load_options *o, struct load_result *r, char text[static LOAD_TEXT_MAX]);
/* --check: the log's updates and replies. 0, or -errno with the sentence in text. */
int load_check(const char *file, struct load_result *r, char text[static LOAD_TEXT_MAX]);
/* 0, or -errno of writing. */
int load_print(FILE *to, const struct load_options *o, const struct load_result *r);

/* Checks a reply, counts what it breaks, and keeps the first sentence. 0 or -ENOMEM. */
int load_judge(struct history *h, struct load_result *r, const struct history_reply *reply,
	       const char *asked);
/* The same of a reply that cannot be read, or is of another page. */
void load_judge_wrong(struct load_result *r, const char *asked, const char *why);

/* --- log.c: lines of JSON; NULL: nothing is written --- */

struct load_log;

int load_log_open(struct load_log **l, const char *file);
/* 0, or -errno of any write. NULL: 0. */
int load_log_close(struct load_log *l);
void load_log_base(struct load_log *l, int64_t now, const char *states, size_t len);
void load_log_begin(struct load_log *l, int64_t now, uint32_t update,
		    const char (*thing)[HISTORY_NAME_MAX + 1], size_t things);
void load_log_end(struct load_log *l, int64_t now, uint32_t update, enum history_end how);
/* states NULL: the reply is wrong. */
void load_log_reply(struct load_log *l, int64_t begin, int64_t end, const char *asked, bool hit,
		    uint32_t from, const char *states, size_t len);
const char *load_end_name(enum history_end how);

#endif
