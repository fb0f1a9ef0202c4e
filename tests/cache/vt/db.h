/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db: a database in virtual time, as the rules of src/cache/cache.h need one (R5, R6, R7).
 *
 * Its tables are the epoch, the members' rows, the rows of updates, and what each tag's newest
 * commit was. A transaction is a *call* of a host. It has two parts, as a client sends them: its
 * statements, and COMMIT; or both at once (whole). Between the two it is open, and has its locks.
 *
 *	call       locks                          statements
 *	---------  -----------------------------  -------------------------------------------------
 *	LOOK       none                           reads all rows at one moment
 *	JOIN       the epoch and the own row      epoch + 1; generation + 1, fence + 1, in
 *	REMOVE     a row                          if it has this generation: fence + 1, out
 *	RESOLVE    the own row                    fence + 1; looks for the row of the update
 *	UPDATE     epoch and own row FOR SHARE    ends without effect if one differs; the row of the
 *	                                          update, and the tags
 *
 * What has no lock waits. A transaction gets its number at its first write, and takes effect at its
 * COMMIT, so numbers are in another order than commits. A snapshot says what it sees, as
 * PostgreSQL does. REMOVE and RESOLVE are always whole.
 */
#ifndef RESEX_TESTS_CACHE_VT_DB_H
#define RESEX_TESTS_CACHE_VT_DB_H

#include <stdbool.h>
#include <stdint.h>

#include "src/cache/home.h"
#include "src/cache/update.h"

enum {
	DB_HOSTS = 8,
	DB_SLOTS = 4,
	DB_CALLS = 128,
	DB_COMMITS = 4096,
	DB_TAGS = 16,
};

enum db_kind { DB_LOOK, DB_JOIN, DB_REMOVE, DB_RESOLVE, DB_UPDATE };

enum db_end {
	DB_NONE,
	DB_DONE,    /* its statements; of what is whole, all of it */
	DB_CHANGED, /* UPDATE: a row differs. REMOVE: another generation. Without effect */
	DB_FAILED,  /* UPDATE: a statement was refused. Without effect */
	DB_ABORTED, /* the connection or the database ended it before. Without effect */
};

/* Copied at the begin, but for tags. */
struct db_wish {
	enum db_kind kind;
	uint16_t host;	     /* of the client */
	bool whole;	     /* COMMIT comes with it */
	bool fails;	     /* UPDATE: a statement is refused */
	uint16_t slot;	     /* RESOLVE, UPDATE */
	uint64_t name;	     /* RESOLVE, UPDATE */
	uint32_t epoch;	     /* UPDATE */
	uint64_t tags;	     /* UPDATE: bit i: tag i */
	uint16_t target;     /* REMOVE */
	uint32_t generation; /* REMOVE */
};

struct db_row {
	bool is, in;
	uint32_t generation, fence;
	uint64_t raised;
};

/* What a call has read, or done. */
struct db_result {
	enum db_end end;
	uint32_t epoch;
	struct db_row row[DB_HOSTS + 1]; /* LOOK; JOIN: its own */
	uint64_t transaction;		 /* its number; RESOLVE: of the update, or 0 */
};

enum db_state { DB_FREE, DB_SENT, DB_WAITS, DB_OPEN, DB_ENDED };

struct db_call {
	enum db_state state;
	struct db_wish wish;
	struct db_result result;
	uint64_t transaction;
	struct db_row row; /* JOIN: as it will be */
	bool committed;	   /* it has taken effect */
	bool closed;	   /* its connection has ended */
	uint32_t order;	   /* of those that wait */
};

struct db {
	uint32_t epoch;
	struct db_row row[DB_HOSTS + 1];
	struct {
		uint64_t name, transaction;
	} done[DB_HOSTS + 1][DB_SLOTS]; /* rows of updates */
	uint64_t next, newest;		/* number of the next transaction; the highest that ended */
	uint32_t commits;		/* those that touch tags: the position of the newest */
	uint64_t touched[DB_COMMITS + 1];
	uint32_t orders;
	struct db_call call[DB_CALLS];
	/* The statements of this call have ended: result. Not called within its db_arrive. */
	void (*ended)(void *ctx, uint32_t call);
	/* The call has taken effect. */
	void (*committed)(void *ctx, uint32_t call);
	void *ctx;
};

void db_init(struct db *d, uint64_t first);
/* Begin a call. Returns its number, or DB_CALLS when all calls are in use. */
uint32_t db_new(struct db *d, const struct db_wish *w);
void db_free(struct db *d, uint32_t call);
/* Its statements, or all of it, come. It may end at once (d->ended), or wait. */
void db_arrive(struct db *d, uint32_t call);
/* COMMIT comes. false: it is not open any more. */
bool db_commit(struct db *d, uint32_t call);
/* It was idle for too long. */
void db_abort(struct db *d, uint32_t call);
/* Its connection has ended. What waits for a lock goes on waiting, and notices it then. */
void db_close(struct db *d, uint32_t call);
/* The database restarts: all that has not taken effect ends. */
void db_restart(struct db *d);
/* running: DB_CALLS of them */
void db_snapshot(const struct db *d, struct home_snapshot *s, uint64_t *running);
/* The newest commit up to this position that touches one of these tags; 0: none. all: any. */
uint32_t db_touched(const struct db *d, uint64_t tags, bool all, uint32_t position);

#endif
