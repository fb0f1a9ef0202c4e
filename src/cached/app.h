/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * app: an application server's part of resex-cached: a member of the cache, which is a home and an
 * updater (cache.h). It joins, looks, beats, registers fills, runs updates, and removes members
 * that do not answer. The database is asked in threads (jobs.h); all else runs in the loop's.
 *
 * Requests end by a call of done, exactly once, perhaps before the function returns. done may call
 * these functions. After app_close no done is called.
 */
#ifndef RESEX_CACHED_APP_H
#define RESEX_CACHED_APP_H

#include <jansson.h>

#include "src/cached/events.h"
#include "src/cached/node.h"

struct app;

enum { APP_TAG_MAX = 255 }; /* bytes of a tag */

/* How a request ended. */
enum app_end {
	APP_OK,
	APP_REFUSED,   /* fill: by the home; update: a statement, by the database */
	APP_NOT_NOW,   /* nothing was done: no member, no link, no slot, no database: text says */
	APP_BAD,       /* the request is wrong */
	APP_NOT_FOUND, /* no such fill, or it took too long */
};

struct app_result {
	enum app_end end;
	const char *why;      /* a word; "" of APP_OK */
	const char *text;     /* a sentence, with the remedy; "" of APP_OK */
	uint64_t id;	      /* app_fill_begin: names the fill */
	uint64_t version;     /* app_fill_end: under which the page may be stored */
	uint64_t transaction; /* app_update */
	const uint64_t *rows; /* of each statement */
	uint32_t statements;
	const char *sqlstate;
};

typedef void app_done(void *arg, const struct app_result *r);

/* 0, or -errno with e filled. The database need not be there: it is tried again. */
int app_open(struct app **a, struct node *n, const struct cached_conf *c, struct event_base *base,
	     struct log *log, struct conf_error *e);
/* Leaves the cache: its row is removed, if the database answers in time. NULL: does nothing. */
void app_close(struct app *a);
/* What it logs is kept there, too. NULL: nowhere. */
void app_set_events(struct app *a, struct events *e);

void app_fill_begin(struct app *a, uint16_t home, uint32_t word, app_done *done, void *arg);
/* tag: texts; snapshot: as pg_current_snapshot() prints it, NULL: none. */
void app_fill_end(struct app *a, uint64_t id, uint32_t tags, const char *const *tag,
		  const char *snapshot, app_done *done, void *arg);
/* APP_OK, or APP_NOT_FOUND. */
enum app_end app_fill_give_up(struct app *a, uint64_t id);

/* Texts are copied. */
void app_update(struct app *a, uint32_t tags, const char *const *tag, uint32_t statements,
		const struct sql_statement *statement, app_done *done, void *arg);

/* All pages with this tag; tag NULL: all pages. */
void app_invalidate(struct app *a, const char *tag, app_done *done, void *arg);
/* The page with this key (place.h), at whichever home it is; and those that share its word. */
void app_invalidate_page(struct app *a, uint64_t key, app_done *done, void *arg);
/* R7 e by an operator. Without force, a member that beats is refused. */
void app_remove(struct app *a, uint16_t host, bool force, app_done *done, void *arg);

/* For people: objects that the caller owns; NULL: no memory. Keys: man resex-cached(8). */
json_t *app_info(const struct app *a);
json_t *app_cache(const struct app *a);
json_t *app_updates(const struct app *a); /* an array */
/* Which words have the tag in their lists; at most 1000. */
json_t *app_show(const struct app *a, const char *tag);

#endif
