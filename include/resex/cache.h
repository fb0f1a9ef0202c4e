/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache.h: an application whose pages are cached, and never served stale (man resex_cache).
 *
 * It asks resex-cached on the same machine, by HTTP on a UNIX socket. A page that cannot be
 * registered is served all the same, and is not cached: so all failures of fills have one remedy.
 * An update goes through resex-cached alone: it tells all caches before the database. Only one
 * thread at a time may use a handle; open one for each. Calls block, each for a bounded time. For
 * C and C++.
 */
#ifndef RESEX_CACHE_H
#define RESEX_CACHE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct resex_cache;
struct resex_cache_fill;

enum {
	RESEX_CACHE_TAGS_MAX = 64, /* of a page, or of an update */
	RESEX_CACHE_TAG_MAX = 255, /* bytes of a tag: UTF-8 without control characters */
	RESEX_CACHE_STATEMENTS_MAX = 64,
	RESEX_CACHE_PARAMS_MAX = 64,   /* of a statement */
	RESEX_CACHE_VERSION_SIZE = 48, /* holds any version text */
};

/*
 * path is the socket of resex-cached; NULL: $RESEX_CACHE_SOCKET, or where that is unset or empty
 * /run/resex-cached/api.sock. resex-cached need not run: it may start and stop at any time. 0;
 * -ENAMETOOLONG; -ENOMEM. *c is set only on success.
 */
int resex_cache_open(struct resex_cache **c, const char *path);

/* Fills that are under way must be ended before. NULL: does nothing. */
void resex_cache_close(struct resex_cache *c);

/*
 * How long a fill's begin, its end, and an update may take; 1 to 3,600,000 ms; 0: as it was. The
 * defaults are 100, 1000 and 60,000.
 */
void resex_cache_timeouts(struct resex_cache *c, uint32_t begin_ms, uint32_t end_ms,
			  uint32_t update_ms);

/* One sentence about the last call of this handle that failed; "": none has. */
const char *resex_cache_error(const struct resex_cache *c);

/*
 * Before the transaction that reads a page begins. page is the request's header resex-page:
 * "HOME.WORD". 0: compute the page, then call one of the next two. -EAGAIN: not now: resex-cached
 * does not run, is slow, or has refused; for a second after one that was slow, no further one is
 * tried. -EPROTO: its answer makes no sense. -EINVAL: page is none. -ENOMEM.
 */
int resex_cache_fill_begin(struct resex_cache *c, const char *page, struct resex_cache_fill **fill);

/*
 * The page is computed, and depends on these tags, 1 .. RESEX_CACHE_TAGS_MAX of them. (A page of
 * word 0 depends on all updates; its tags are not sent, and may be none.) snapshot: the text of
 * PostgreSQL's pg_current_snapshot() in that transaction; NULL: the database has none. 0: version,
 * of size bytes, is what the answer's header resex-version must be. -EAGAIN: it was not
 * registered, as after an update meanwhile. -E2BIG: too many tags. -EINVAL: one is none. -ENOSPC:
 * size is below RESEX_CACHE_VERSION_SIZE. -EPROTO, -ENOMEM. In any case the fill has ended.
 */
int resex_cache_fill_end(struct resex_cache_fill *fill, const char *const *tag, size_t tags,
			 const char *snapshot, char *version, size_t size);

/* The page is not to be stored. The fill has ended. NULL: does nothing. */
void resex_cache_fill_give_up(struct resex_cache_fill *fill);

struct resex_cache_statement {
	const char *sql;	  /* one statement; its parameters are $1, $2, ... */
	const char *const *param; /* as text; NULL: SQL's NULL */
	size_t params;
};

struct resex_cache_result {
	uint64_t transaction;			   /* its number in the database */
	uint64_t rows[RESEX_CACHE_STATEMENTS_MAX]; /* that each statement changed */
	char sqlstate[6]; /* of a refused statement; "": the database gave none */
};

/*
 * Run all statements as one transaction, after all caches have been told of the tags, 1 ..
 * RESEX_CACHE_TAGS_MAX: all that it changes, lists that get longer, too. result may be NULL.
 *
 *	0		done: committed, and no cache has a page of before
 *	-ECANCELED	a statement was refused: without effect
 *	-EAGAIN		not done, without effect: try again, or tell the user
 *	-EINVAL, -E2BIG	the request is wrong: without effect
 *	-ENOMEM		without effect
 *	-EINPROGRESS	not known: it has been done, will be, or never is
 */
int resex_cache_update(struct resex_cache *c, const char *const *tag, size_t tags,
		       const struct resex_cache_statement *statement, size_t statements,
		       struct resex_cache_result *result);

/*
 * The key of a page, by what names it (host and path): struct cache_ring_slot of cache_ring.h, and
 * GET /v1/show?page=KEY. Two pages of one key share their lists, which only costs misses.
 */
static inline uint64_t resex_cache_key(const void *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	uint64_t h = 0xcbf29ce484222325u; /* FNV-1a, and the end of splitmix64 */
	size_t i;

	for (i = 0; i < len; i++)
		h = (h ^ s[i]) * 0x100000001b3u;
	h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
	h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
	return h ^ (h >> 31);
}

#ifdef __cplusplus
}
#endif
#endif
