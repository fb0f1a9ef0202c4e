/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_sql: a database in memory behind sql_ops (src/sql/sql.h), for several hosts of one process.
 * Its transactions are serial. A test lets it refuse, block and lose what it wants.
 *
 * Statements: "set K V" writes number V to place K; "refuse" is refused.
 */
#ifndef RESEX_FAKE_SQL_H
#define RESEX_FAKE_SQL_H

#include <pthread.h>

#include "src/sql/sql.h"

enum { FAKE_PLACES = 16, FAKE_SLOTS = 64 };

enum fake_call {
	FAKE_OPEN,
	FAKE_LOOK,
	FAKE_JOIN,
	FAKE_REMOVE,
	FAKE_RESOLVE,
	FAKE_UPDATE,
	FAKE_CALLS,
};

/* What becomes of the next update of a host. */
enum fake_loss {
	FAKE_NO_LOSS,
	FAKE_LOST_DONE,	  /* it commits, and its answer is lost */
	FAKE_LOST_UNDONE, /* it does not commit, and nobody is told */
};

struct fake_row {
	bool there, in;
	uint32_t generation, fence;
	uint64_t raised;
};

struct fake_db {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	uint64_t timeline;
	uint32_t epoch;
	uint64_t transaction; /* the newest */
	struct fake_row row[UPDATE_HOSTS];
	uint64_t name[UPDATE_HOSTS][FAKE_SLOTS], committed[UPDATE_HOSTS][FAKE_SLOTS];
	int64_t place[FAKE_PLACES];
	/* By host. */
	bool down[UPDATE_HOSTS];		  /* it gets no connection, and has none */
	bool holds[UPDATE_HOSTS][FAKE_CALLS];	  /* such a call waits, before it does anything */
	uint32_t waits[UPDATE_HOSTS];		  /* calls that do */
	uint32_t calls[UPDATE_HOSTS][FAKE_CALLS]; /* that were made */
	uint32_t handles[UPDATE_HOSTS];		  /* that are open */
	enum fake_loss loss[UPDATE_HOSTS];
};

/* That of all handles, from the next open on. */
extern struct fake_db *fake_db;
extern const struct sql_ops fake_sql;

void fake_db_open(struct fake_db *d);
void fake_db_close(struct fake_db *d);

/* Of a test; each takes the lock. */
void fake_hold(struct fake_db *d, uint16_t host, enum fake_call call, bool hold);
void fake_down(struct fake_db *d, uint16_t host, bool down);
void fake_lose(struct fake_db *d, uint16_t host, enum fake_loss loss);
uint32_t fake_waits(struct fake_db *d, uint16_t host);
uint32_t fake_called(struct fake_db *d, uint16_t host, enum fake_call call);
uint32_t fake_handles(struct fake_db *d, uint16_t host);
uint32_t fake_epoch(struct fake_db *d);
int64_t fake_place(struct fake_db *d, uint32_t place);
struct fake_row fake_row(struct fake_db *d, uint16_t host);
/* The database is another one from now on: a standby that has all rows. */
void fake_failover(struct fake_db *d);

#endif
