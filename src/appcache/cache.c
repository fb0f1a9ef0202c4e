// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cache: the handle of libresex-cache, and its fills. See resex/cache.h. The way of a page:
 *
 *	Varnish -> resex-page -> fill_begin -> transaction -> fill_end -> resex-version -> Varnish
 *
 * fill_begin must have returned before the transaction begins: the version words were READ
 * then, and what is computed from a later snapshot is no older than they are (R2 a of
 * src/cache/cache.h). A daemon that is slow must not make each page slow: after one late answer
 * no fill is tried for a second.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* secure_getenv */
#endif
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/appcache/appcache.h"

#define SOCKET	 "/run/resex-cached/api.sock"
#define NS_PER_S INT64_C(1000000000)
#define QUIET_NS NS_PER_S

enum { BEGIN_MS = 100, END_MS = 1000, UPDATE_MS = 60000, TIMEOUT_MS_MAX = 3600000 };

/* --- the handle --- */

/* secure_getenv(): a program with more rights than its user must not ask a socket of the user's. */
static int socket_path(struct resex_cache *c, const char *path)
{
	if (!path)
		path = secure_getenv("RESEX_CACHE_SOCKET");
	if (!path || !*path)
		path = SOCKET;
	if (strlen(path) > APPCACHE_PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(c->path, path);
	return 0;
}

int resex_cache_open(struct resex_cache **out, const char *path)
{
	struct resex_cache *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	c->begin_ms = BEGIN_MS;
	c->end_ms = END_MS;
	c->update_ms = UPDATE_MS;
	rc = socket_path(c, path);
	if (!rc)
		rc = appcache_http_open(c);
	if (rc) {
		resex_cache_close(c);
		return rc;
	}
	*out = c;
	return 0;
}

void resex_cache_close(struct resex_cache *c)
{
	if (!c)
		return;
	appcache_http_close(c);
	free(c);
}

static void set_timeout(uint32_t *to, uint32_t ms)
{
	if (ms)
		*to = ms < TIMEOUT_MS_MAX ? ms : TIMEOUT_MS_MAX;
}

void resex_cache_timeouts(struct resex_cache *c, uint32_t begin_ms, uint32_t end_ms,
			  uint32_t update_ms)
{
	set_timeout(&c->begin_ms, begin_ms);
	set_timeout(&c->end_ms, end_ms);
	set_timeout(&c->update_ms, update_ms);
}

/* --- tags --- */

static bool has_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

static int add_tag(struct resex_cache *c, json_t *list, const char *tag)
{
	size_t len = tag ? strlen(tag) : 0;
	json_t *v;

	if (!len || len > RESEX_CACHE_TAG_MAX)
		return appcache_fail(c, -EINVAL, "a tag of %zu bytes: give 1 to %d", len,
				     RESEX_CACHE_TAG_MAX);
	v = has_control(tag) ? NULL : json_stringn(tag, len);
	if (!v) /* jansson takes no other text */
		return appcache_fail(c, -EINVAL,
				     "tag \"%.80s\": give UTF-8 without control characters", tag);
	return json_array_append_new(list, v) ? appcache_fail(c, -ENOMEM, "there is no memory") : 0;
}

int appcache_tags(struct resex_cache *c, const char *const *tag, size_t tags, json_t **out)
{
	json_t *list = json_array();
	int rc = list ? 0 : appcache_fail(c, -ENOMEM, "there is no memory");

	if (!rc && tags > RESEX_CACHE_TAGS_MAX)
		rc = appcache_fail(c, -E2BIG,
				   "%zu tags: give at most %d, or fewer and coarser ones", tags,
				   RESEX_CACHE_TAGS_MAX);
	for (size_t i = 0; !rc && i < tags; i++)
		rc = add_tag(c, list, tag[i]);
	if (rc)
		json_decref(list);
	else
		*out = list;
	return rc;
}

/* --- fills --- */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Digits alone, without leading zeros, up to max. Returns what follows; NULL: it is no number. */
static const char *read_number(const char *s, uint64_t max, uint32_t *out)
{
	uint64_t v = 0;
	const char *at = s;

	for (; isdigit((unsigned char)*at) && at - s < 11; at++)
		v = v * 10 + (uint64_t)(*at - '0');
	if (at == s || v > max || (*s == '0' && at - s > 1))
		return NULL;
	*out = (uint32_t)v;
	return at;
}

static bool read_page(const char *page, uint32_t *home, uint32_t *word)
{
	const char *at = page ? read_number(page, UINT16_MAX, home) : NULL;

	at = at && *at == '.' ? read_number(at + 1, UINT32_MAX, word) : NULL;
	return at && !*at && *home;
}

/* An id goes into a path: no other characters than these. */
static bool good_id(const char *s)
{
	size_t len = s ? strlen(s) : 0;

	if (!len || len > APPCACHE_ID_MAX || *s == '.')
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr(".-_", *s))
			return false;
	return true;
}

/* Asks, and keeps quiet after an answer that was late. */
static void ask_fill(struct resex_cache *c, const struct appcache_request *r,
		     struct appcache_answer *a)
{
	appcache_ask(c, r, a);
	if (a->late)
		c->quiet_ns = now_ns() + QUIET_NS;
}

static int begin(struct resex_cache *c, struct resex_cache_fill *f)
{
	char body[64];
	struct appcache_request r = { "POST", "/v1/fill", body, c->begin_ms, false };
	struct appcache_answer a;
	const char *id;
	int rc = 0;

	snprintf(body, sizeof(body), "{\"home\": %u, \"word\": %u}", f->home, f->word);
	ask_fill(c, &r, &a);
	id = json_string_value(json_object_get(a.body, "fill"));
	if (a.status == 200 && good_id(id))
		strcpy(f->id, id);
	else if (a.status == 200)
		rc = appcache_fail(c, -EPROTO, "%s: an answer without a fill: check the path",
				   c->path);
	else if (a.status)
		rc = appcache_said(c, -EAGAIN, &a, "error", "resex-cached begins no fill now");
	else
		rc = -EAGAIN; /* the sentence is set */
	json_decref(a.body);
	return rc;
}

int resex_cache_fill_begin(struct resex_cache *c, const char *page, struct resex_cache_fill **fill)
{
	struct resex_cache_fill *f;
	uint32_t home, word;
	int rc;

	if (!read_page(page, &home, &word))
		return appcache_fail(
			c, -EINVAL,
			"page \"%.40s\": give HOME.WORD, the request's header resex-page",
			page ? page : "");
	if (now_ns() < c->quiet_ns)
		return appcache_fail(c, -EAGAIN,
				     "%s: resex-cached was slow: no fill is tried for a second",
				     c->path);
	f = malloc(sizeof(*f));
	if (!f)
		return appcache_fail(c, -ENOMEM, "there is no memory");
	f->cache = c;
	f->home = home;
	f->word = word;
	rc = begin(c, f);
	if (rc)
		free(f);
	else
		*fill = f;
	return rc;
}

/* The answer's body in *body, which the caller frees. */
static int end_body(const struct resex_cache_fill *f, const char *const *tag, size_t tags,
		    const char *snapshot, char **body)
{
	struct resex_cache *c = f->cache;
	json_t *list = NULL, *o = NULL;
	int rc;

	if (f->word && !tags)
		return appcache_fail(c, -EINVAL, "a page without tags: give 1 to %d",
				     RESEX_CACHE_TAGS_MAX);
	rc = appcache_tags(c, tag, f->word ? tags : 0, &list);
	if (rc)
		return rc;
	o = json_object();
	if (!o || json_object_set_new(o, "tags", list) ||
	    (snapshot && json_object_set_new(o, "snapshot", json_string(snapshot))))
		rc = appcache_fail(c, -EINVAL,
				   "snapshot \"%.40s\": give pg_current_snapshot() as text",
				   snapshot ? snapshot : "");
	*body = rc ? NULL : json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return rc || *body ? rc : appcache_fail(c, -ENOMEM, "there is no memory");
}

/* A word in hexadecimal digits, and not 0: no copy has that. */
static bool good_version(const char *s)
{
	size_t len = s ? strlen(s) : 0;

	return len && len <= 16 && strspn(s, "0123456789abcdef") == len && strspn(s, "0") < len;
}

static int end(const struct resex_cache_fill *f, const char *body, char *version, size_t size)
{
	struct resex_cache *c = f->cache;
	char path[APPCACHE_ID_MAX + 16];
	struct appcache_request r = { "POST", path, body, c->end_ms, false };
	struct appcache_answer a;
	const json_t *word;
	int rc = 0;

	snprintf(path, sizeof(path), "/v1/fill/%s", f->id);
	ask_fill(c, &r, &a);
	word = json_object_get(a.body, "version");
	if (a.status == 200 && good_version(json_string_value(word)))
		snprintf(version, size, "%u.%u.%s", f->home, f->word, json_string_value(word));
	else if (a.status == 200 && json_is_null(word))
		rc = appcache_said(c, -EAGAIN, &a, "text", "the page's home did not register it");
	else if (a.status == 200)
		rc = appcache_fail(c, -EPROTO, "%s: an answer without a version: check the path",
				   c->path);
	else if (a.status)
		rc = appcache_said(c, -EAGAIN, &a, "error", "resex-cached does not know this fill");
	else
		rc = -EAGAIN;
	json_decref(a.body);
	return rc;
}

int resex_cache_fill_end(struct resex_cache_fill *f, const char *const *tag, size_t tags,
			 const char *snapshot, char *version, size_t size)
{
	struct resex_cache *c = f->cache;
	char *body = NULL, why[sizeof(c->error)];
	int rc;

	if (size < RESEX_CACHE_VERSION_SIZE)
		rc = appcache_fail(c, -ENOSPC, "%zu bytes for a version: give %d", size,
				   RESEX_CACHE_VERSION_SIZE);
	else
		rc = end_body(f, tag, tags, snapshot, &body);
	if (rc) {
		/* The sentence is about what was wrong, not about giving up. */
		strcpy(why, c->error);
		resex_cache_fill_give_up(f);
		strcpy(c->error, why);
		return rc;
	}
	rc = end(f, body, version, size);
	free(body);
	free(f);
	return rc;
}

/* Without it, resex-cached would give the fill up itself, later. */
void resex_cache_fill_give_up(struct resex_cache_fill *f)
{
	char path[APPCACHE_ID_MAX + 16];
	struct appcache_answer a;

	if (!f)
		return;
	snprintf(path, sizeof(path), "/v1/fill/%s", f->id);
	if (now_ns() >= f->cache->quiet_ns) {
		struct appcache_request r = { "DELETE", path, NULL, f->cache->begin_ms, false };

		ask_fill(f->cache, &r, &a);
		json_decref(a.body);
	}
	free(f);
}
