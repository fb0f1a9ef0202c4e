/* SPDX-License-Identifier: GPL-2.0-or-later */
/* appcache: what the files of libresex-cache share. See resex/cache.h. */
#ifndef RESEX_APPCACHE_APPCACHE_H
#define RESEX_APPCACHE_APPCACHE_H

#include <curl/curl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "resex/cache.h"

enum {
	APPCACHE_PATH_MAX = 107,     /* of a UNIX socket */
	APPCACHE_ANSWER_MAX = 65536, /* bytes; a longer answer makes no sense */
	APPCACHE_ID_MAX = 64,	     /* of a fill, as resex-cached names it */
};

struct resex_cache {
	char path[APPCACHE_PATH_MAX + 1];
	uint32_t begin_ms, end_ms, update_ms;
	int64_t quiet_ns; /* no fill is begun before: resex-cached was slow */
	CURL *curl;
	struct curl_slist *headers;
	char *answer; /* APPCACHE_ANSWER_MAX bytes */
	size_t len;
	char error[512];
};

struct resex_cache_fill {
	struct resex_cache *cache;
	uint32_t home, word;
	char id[APPCACHE_ID_MAX + 1];
};

struct appcache_request {
	const char *method; /* "POST", "DELETE" */
	const char *path;   /* "/v1/..." */
	const char *body;   /* NULL: none */
	uint32_t timeout_ms;
	bool once; /* never sent twice, not even on a connection that was found dead */
};

/* http.c: one request. What came back, or why nothing did. */
struct appcache_answer {
	bool sent;    /* a part of the request has left: resex-cached may act on it */
	long status;  /* of HTTP; 0: there was no answer */
	json_t *body; /* an object, which the caller owns; NULL: the body is none */
	bool late;    /* there was no answer in time */
};

int appcache_http_open(struct resex_cache *c);
void appcache_http_close(struct resex_cache *c);
/* Fills a, and c->error unless an answer came. */
void appcache_ask(struct resex_cache *c, const struct appcache_request *r,
		  struct appcache_answer *a);

/* Sets the sentence of resex_cache_error(). Returns rc. */
int appcache_fail(struct resex_cache *c, int rc, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The sentence that resex-cached gave, or else this one. Returns rc. */
int appcache_said(struct resex_cache *c, int rc, const struct appcache_answer *a, const char *key,
		  const char *otherwise);
/* A JSON array of the tags. 0, or -EINVAL, -E2BIG, -ENOMEM with the sentence set. */
int appcache_tags(struct resex_cache *c, const char *const *tag, size_t tags, json_t **out);

#endif
