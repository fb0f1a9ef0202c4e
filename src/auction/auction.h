/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * auction: an application whose pages are cached: items, bids, users and categories in a database.
 * Each page depends on 1 to 64 things, and shows their counters for a checker (resex-cacheload).
 *
 *	server (evhttp, one thread) -> queue -> workers: answer -> page, update -> db
 *	                                                      \-> libresex-cache
 */
#ifndef RESEX_AUCTION_AUCTION_H
#define RESEX_AUCTION_AUCTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/auction/db.h"
#include "src/util/clock.h"
#include "src/util/log.h"

enum {
	AUCTION_PATH_MAX = 128,
	AUCTION_BODY_MAX = 65536, /* of a request */
	AUCTION_VERSION_MAX = 64,
	AUCTION_THINGS_MAX = 64, /* of a page */
	AUCTION_THREADS_MAX = 256,
};

struct auction_options {
	const char *listen; /* ADDRESS:PORT */
	const char *db;
	const char *cache; /* socket of resex-cached; NULL: the default */
	bool no_cache;
	uint64_t threads, updaters;
	uint64_t list;	  /* items that a category shows, 2 .. AUCTION_THINGS_MAX - 1 */
	uint64_t depends; /* things of each page, 1 .. AUCTION_THINGS_MAX; 0: as pages.c says */
	int64_t work_ns;
	bool work_cpu; /* compute for so long; else sleep */
	/* --init */
	bool init;
	const char *schema, *guard; /* files of SQL; guard NULL: none */
	uint64_t items, users, categories;
	bool verbose;
};

/* -1: go on; else the exit code, all is said. */
int auction_options(struct auction_options *o, int argc, char **argv);

/* What was done: GET /info. */
struct auction_counts {
	atomic_ullong pages;			 /* computed */
	atomic_ullong filled;			 /* of them, registered: with resex-version */
	atomic_ullong not_begun, not_registered; /* asked for, and not */
	atomic_ullong errors;			 /* pages that could not be computed */
	atomic_ullong updates, refused, not_done, unknown;
};

struct auction_request {
	bool post;
	char path[AUCTION_PATH_MAX];
	char page[AUCTION_VERSION_MAX]; /* the header resex-page; "": none */
	char *body;			/* of a POST; ends with a NUL */
};

struct auction_reply {
	int status;
	char *text; /* malloc'd */
	size_t len;
	char version[AUCTION_VERSION_MAX]; /* the header resex-version; "": none */
};

/* One of the threads that answer. */
struct auction_worker {
	const struct auction_options *o;
	const struct log *log;
	struct auction_counts *counts;
	const struct db_ops *ops;
	const char *where;
	struct db *db; /* NULL: it is opened with the next request */
	struct resex_cache *cache;
	struct clock clock;
	uint64_t random;
};

/* --init: makes tables and fills them. An exit code. */
int auction_init(const struct auction_options *o, const struct log *log);

/* 0 or -ENOMEM, -ENAMETOOLONG. */
int auction_worker_open(struct auction_worker *w, const struct auction_options *o,
			const struct log *log, struct auction_counts *counts, uint64_t number);
void auction_worker_close(struct auction_worker *w);
/* Blocks. */
void auction_answer(struct auction_worker *w, const struct auction_request *q,
		    struct auction_reply *r);

/* Serves until a signal. An exit code. */
int auction_serve(const struct auction_options *o, const struct log *log);

#endif
