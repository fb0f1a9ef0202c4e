// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * answer: what a worker does with one request. See auction.h.
 *
 * A page:   fill_begin, then the transaction (its snapshot is younger), then fill_end with the
 *           things as tags. If the fill cannot begin or end, the page is served all the same.
 * A change: by resex_cache_update; with --no-cache, by a plain transaction.
 *
 *	status  of a change
 *	------  -------------------------------------------
 *	200     done
 *	400     the form is wrong
 *	404     no such path
 *	409     the database refused it: without effect
 *	503     not done, without effect: try again
 *	504     it is not known whether it is, or will be, done
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* vasprintf */
#endif
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resex/cache.h"
#include "src/auction/auction.h"
#include "src/auction/pages.h"
#include "src/auction/update.h"
#include "src/core/random.h"

int auction_worker_open(struct auction_worker *w, const struct auction_options *o,
			const struct log *log, struct auction_counts *counts, uint64_t number)
{
	*w = (struct auction_worker){ .o = o, .log = log, .counts = counts };
	w->ops = db_find(o->db, &w->where);
	clock_real(&w->clock);
	w->random = (uint64_t)clock_wall_ns() + number * 0x9e3779b97f4a7c15u;
	return o->no_cache ? 0 : resex_cache_open(&w->cache, o->cache);
}

void auction_worker_close(struct auction_worker *w)
{
	if (w->ops)
		w->ops->close(w->db);
	resex_cache_close(w->cache);
}

/* One line of text as the whole answer. */
static __attribute__((format(printf, 3, 4))) void say(struct auction_reply *r, int status,
						      const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&r->text, fmt, ap);
	va_end(ap);
	r->status = n < 0 ? 500 : status;
	r->len = n < 0 ? 0 : (size_t)n;
	if (n < 0)
		r->text = NULL;
}

/* --- the database --- */

static void lose_db(struct auction_worker *w)
{
	w->ops->close(w->db);
	w->db = NULL;
}

/* A connection that was kept may be dead: it is tried once more on a new one. */
static int begin(struct auction_worker *w, bool write, char *snapshot, struct db_error *e)
{
	bool kept = w->db != NULL;
	int rc = kept ? 0 : w->ops->open(&w->db, w->where, e);

	if (rc)
		return rc;
	rc = w->ops->begin(w->db, write, snapshot, e);
	if (rc == -ENOTCONN) {
		lose_db(w);
		if (kept)
			return begin(w, write, snapshot, e);
	}
	return rc;
}

/* --- pages --- */

/* What a page costs in a real application: --work. */
static void work(struct auction_worker *w)
{
	int64_t until;

	if (!w->o->work_ns)
		return;
	if (!w->o->work_cpu) {
		struct mono t = mono_add(w->clock.now(&w->clock), w->o->work_ns);

		while (w->clock.sleep_until(&w->clock, t) == -EINTR)
			;
		return;
	}
	until = clock_thread_ns() + w->o->work_ns;
	while (clock_thread_ns() < until)
		for (int i = 0; i < 500; i++)
			random_next(&w->random);
}

static int make_page(struct auction_worker *w, const char *path, struct page *p, char *snapshot,
		     char named[static AUCTION_PATH_MAX], struct db_error *e)
{
	int rc = begin(w, false, snapshot, e);

	if (rc)
		return rc;
	rc = pages_make(w, path, p, named, e);
	if (!rc)
		work(w);
	if (rc == -ENOTCONN)
		lose_db(w);
	else
		w->ops->abort(w->db); /* there is nothing to commit */
	return rc;
}

static struct resex_cache_fill *begin_fill(struct auction_worker *w,
					   const struct auction_request *q)
{
	struct resex_cache_fill *fill = NULL;

	if (!w->cache || !*q->page)
		return NULL;
	if (resex_cache_fill_begin(w->cache, q->page, &fill)) {
		atomic_fetch_add(&w->counts->not_begun, 1);
		log_msg(w->log, LOG_LVL_DEBUG, "%s is not cached: %s", q->path,
			resex_cache_error(w->cache));
		return NULL;
	}
	return fill;
}

static void end_fill(struct auction_worker *w, struct resex_cache_fill *fill, const struct page *p,
		     const char *snapshot, const struct auction_request *q, struct auction_reply *r)
{
	const char *tag[AUCTION_THINGS_MAX + 1];
	char own[sizeof("page:") + AUCTION_PATH_MAX];
	size_t n;

	if (!fill)
		return;
	if (p->too_many || r->status != 200) {
		resex_cache_fill_give_up(fill);
		return;
	}
	for (n = 0; n < p->things; n++)
		tag[n] = p->thing[n];
	/* By which an operator finds the page: resex cache-show /item/5. */
	snprintf(own, sizeof(own), "page:%s", q->path);
	if (n < RESEX_CACHE_TAGS_MAX)
		tag[n++] = own;
	if (!resex_cache_fill_end(fill, tag, n, *snapshot ? snapshot : NULL, r->version,
				  sizeof(r->version))) {
		atomic_fetch_add(&w->counts->filled, 1);
		return;
	}
	*r->version = 0;
	atomic_fetch_add(&w->counts->not_registered, 1);
	log_msg(w->log, LOG_LVL_DEBUG, "%s is not cached: %s", q->path,
		resex_cache_error(w->cache));
}

static void answer_page(struct auction_worker *w, const struct auction_request *q,
			struct auction_reply *r)
{
	struct resex_cache_fill *fill = begin_fill(w, q);
	struct page p = { .things_max = AUCTION_THINGS_MAX };
	char named[AUCTION_PATH_MAX], snapshot[DB_SNAPSHOT_MAX] = "";
	struct db_error e = { "", "" };
	int rc = make_page(w, q->path, &p, fill ? snapshot : NULL, named, &e);

	if (!rc) {
		r->text = page_whole(&p, named, &r->len);
		r->status = r->text ? 200 : 500;
		atomic_fetch_add(&w->counts->pages, 1);
	} else if (rc == -ENOENT) {
		say(r, 404, "there is no such page\n");
	} else {
		atomic_fetch_add(&w->counts->errors, 1);
		log_msg(w->log, LOG_LVL_WARNING, "%s: %s", q->path, e.text);
		say(r, 503, "%s\n", e.text);
	}
	end_fill(w, fill, &p, snapshot, q, r);
	page_free(&p);
}

/* For resex-cacheload: the counters of all things, of one snapshot, never cached. */
static void answer_states(struct auction_worker *w, struct auction_reply *r)
{
	struct page p = { .things_max = 0 };
	struct db_error e = { "", "" };
	int rc = begin(w, false, NULL, &e);

	if (!rc) {
		rc = pages_states(w, &p, &e);
		if (rc == -ENOTCONN)
			lose_db(w);
		else
			w->ops->abort(w->db);
	}
	if (rc)
		say(r, 503, "%s\n", e.text);
	else
		r->text = page_whole(&p, "/states", &r->len);
	if (!rc)
		r->status = r->text ? 200 : 500;
	page_free(&p);
}

static void answer_info(struct auction_worker *w, struct auction_reply *r)
{
	const struct auction_counts *c = w->counts;

	say(r, 200,
	    "{\"cache\": %s, \"pages\": %llu, \"filled\": %llu, \"not_begun\": %llu, "
	    "\"not_registered\": %llu, \"errors\": %llu, \"updates\": %llu, \"refused\": %llu, "
	    "\"not_done\": %llu, \"unknown\": %llu}\n",
	    w->cache ? "true" : "false", atomic_load(&c->pages), atomic_load(&c->filled),
	    atomic_load(&c->not_begun), atomic_load(&c->not_registered), atomic_load(&c->errors),
	    atomic_load(&c->updates), atomic_load(&c->refused), atomic_load(&c->not_done),
	    atomic_load(&c->unknown));
}

/* --- changes --- */

/* Without a cache. As resex_cache_update. */
static int change_plainly(struct auction_worker *w, const struct update *u, struct db_error *e)
{
	int rc = begin(w, true, NULL, e);

	if (rc)
		return -EAGAIN;
	for (size_t i = 0; !rc && i < u->statements; i++) {
		const struct resex_cache_statement *s = &u->statement[i];

		rc = w->ops->run(w->db, s->sql, s->param, s->params, NULL, NULL, NULL, e);
	}
	if (rc && rc != -ENOTCONN)
		w->ops->abort(w->db);
	else if (!rc)
		rc = w->ops->commit(w->db, e);
	if (rc == -ENOTCONN || rc == -EINPROGRESS)
		lose_db(w);
	return rc == -EPERM ? -ECANCELED : rc == -ENOTCONN ? -EAGAIN : rc;
}

static void answer_change(struct auction_worker *w, const struct auction_request *q,
			  struct auction_reply *r)
{
	/* So that servers that know nothing of each other give different ones, that grow. */
	uint64_t new_item = (uint64_t)(clock_wall_ns() / NS_PER_MS) << 18 |
			    (random_next(&w->random) & 0x3ffff);
	struct db_error e = { "", "" };
	struct update u;
	int rc = update_read(&u, q->path, q->body, new_item, e.text, sizeof(e.text));

	if (rc) {
		say(r, rc == -ENOENT ? 404 : 400, "%s\n", rc == -ENOENT ? "no such path" : e.text);
		return;
	}
	if (w->cache) {
		rc = resex_cache_update(w->cache, u.tags, u.n, u.statement, u.statements, NULL);
		snprintf(e.text, sizeof(e.text), "%s", rc ? resex_cache_error(w->cache) : "");
	} else {
		rc = change_plainly(w, &u, &e);
	}
	if (!rc) {
		atomic_fetch_add(&w->counts->updates, 1);
		say(r, 200, "done\n");
	} else if (rc == -EINPROGRESS) {
		atomic_fetch_add(&w->counts->unknown, 1);
		log_msg(w->log, LOG_LVL_WARNING, "%s: not known: %s", q->path, e.text);
		say(r, 504, "it is not known whether this is done: %s\n", e.text);
	} else if (rc == -EAGAIN || rc == -ENOMEM) {
		atomic_fetch_add(&w->counts->not_done, 1);
		say(r, 503, "not done: %s\n", e.text);
	} else {
		atomic_fetch_add(&w->counts->refused, 1);
		say(r, 409, "refused: %s\n", e.text);
	}
}

void auction_answer(struct auction_worker *w, const struct auction_request *q,
		    struct auction_reply *r)
{
	*r = (struct auction_reply){ .status = 500 };
	if (q->post)
		answer_change(w, q, r);
	else if (!strcmp(q->path, "/states"))
		answer_states(w, r);
	else if (!strcmp(q->path, "/info"))
		answer_info(w, r);
	else
		answer_page(w, q, r);
}
