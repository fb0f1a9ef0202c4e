/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pgsql_texts: which statements of updates are prepared on a connection. An application sends a few
 * texts again and again, with other parameters: to parse and to plan one costs the database more
 * than to run it. A text that comes for the second time is prepared; what comes once is not.
 *
 * PostgreSQL prepares outside of transactions: a statement that was prepared stays so when its
 * transaction is rolled back.
 */
#ifndef RESEX_SQL_PGSQL_TEXTS_H
#define RESEX_SQL_PGSQL_TEXTS_H

#include <stddef.h>
#include <stdint.h>

enum {
	PGSQL_TEXTS = 64,	/* that can be prepared on a connection */
	PGSQL_TEXT_MAX = 4096,	/* bytes of one; a longer one is never prepared */
	PGSQL_TEXT_QUERIES = 3, /* at most, for a statement */
};

struct pgsql_query;

struct pgsql_texts {
	struct {
		char *text;    /* what is prepared; NULL: nothing */
		uint64_t seen; /* the hash of what came last, and is not */
		char drop[24]; /* "DEALLOCATE " and the name */
	} place[PGSQL_TEXTS];  /* by the text's hash */
};

/* All are forgotten: the connection has none. */
void pgsql_texts_clear(struct pgsql_texts *t);
/*
 * Fills q with what a statement of this text needs; the caller gives the last of them its
 * parameters. Returns how many, 1 .. PGSQL_TEXT_QUERIES. With more than 1 the text is prepared from
 * now on, if all but the last one succeed: if not, the caller must have the connection forget all.
 * The texts of q are t's or the caller's.
 */
uint32_t pgsql_texts_use(struct pgsql_texts *t, const char *text, struct pgsql_query *q);

#endif
