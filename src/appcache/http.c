// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * http: one request of libresex-cache to resex-cached, by libcurl on a UNIX socket.
 *
 *	fill.c, update.c -> appcache_ask -> resex-cached
 *
 * What comes back is bounded, and trusted in nothing: an answer is a status, and perhaps a JSON
 * object. For an update it matters whether a part of the request has left. libcurl repeats a
 * request by itself when a connection that it kept turns out to be dead; the first copy may have
 * been carried out. So a request that must not be sent twice gets a new connection: libcurl
 * repeats nothing on those.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/appcache/appcache.h"

#define URL "http://resex-cached" /* the name is that of the header Host; nothing looks it up */

static void init_curl(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* What libcurl calls with the bytes of a body. Taking fewer ends the transfer. */
static size_t take_body(char *data, size_t size, size_t n, void *arg)
{
	struct resex_cache *c = (struct resex_cache *)arg;

	n *= size;
	if (n > APPCACHE_ANSWER_MAX - c->len)
		return 0;
	memcpy(c->answer + c->len, data, n);
	c->len += n;
	return n;
}

static CURLcode set_options(struct resex_cache *c)
{
	CURLcode rc = curl_easy_setopt(c->curl, CURLOPT_UNIX_SOCKET_PATH, c->path);

	/* libcurl asks no proxy of the environment then. */
	if (!rc)
		rc = curl_easy_setopt(c->curl, CURLOPT_PROTOCOLS_STR, "http");
	if (!rc)
		rc = curl_easy_setopt(c->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	if (!rc)
		rc = curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
	if (!rc)
		rc = curl_easy_setopt(c->curl, CURLOPT_MAXCONNECTS, 1L);
	if (!rc)
		rc = curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, c->headers);
	if (!rc)
		rc = curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_body);
	if (!rc)
		rc = curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, c);
	return rc;
}

int appcache_http_open(struct resex_cache *c)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct curl_slist *more;

	pthread_once(&once, init_curl);
	c->answer = malloc(APPCACHE_ANSWER_MAX);
	c->curl = curl_easy_init();
	c->headers = curl_slist_append(NULL, "Content-Type: application/json");
	/* Without this libcurl waits before a long body for leave to send it. */
	more = c->headers ? curl_slist_append(c->headers, "Expect:") : NULL;
	if (!c->answer || !c->curl || !more || set_options(c))
		return -ENOMEM;
	return 0;
}

void appcache_http_close(struct resex_cache *c)
{
	curl_easy_cleanup(c->curl);
	curl_slist_free_all(c->headers);
	free(c->answer);
}

static CURLcode set_request(struct resex_cache *c, const struct appcache_request *r)
{
	char url[sizeof(URL) + 128];
	CURLcode rc;

	snprintf(url, sizeof(url), URL "%s", r->path);
	rc = curl_easy_setopt(c->curl, CURLOPT_URL, url); /* a copy is made */
	if (!rc)
		rc = curl_easy_setopt(c->curl, r->body ? CURLOPT_POST : CURLOPT_HTTPGET, 1L);
	if (!rc)
		rc = curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, r->method);
	if (!rc && r->body)
		rc = curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE,
				      (curl_off_t)strlen(r->body));
	if (!rc && r->body)
		rc = curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, r->body);
	if (!rc)
		rc = curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
	if (!rc)
		rc = curl_easy_setopt(c->curl, CURLOPT_FRESH_CONNECT, r->once ? 1L : 0L);
	return rc;
}

static json_t *body_object(const struct resex_cache *c)
{
	json_t *o = json_loadb(c->answer, c->len, JSON_REJECT_DUPLICATES, NULL);

	if (json_is_object(o))
		return o;
	json_decref(o);
	return NULL;
}

/* Why there is no answer, in one sentence with the remedy. */
static void explain(struct resex_cache *c, const struct appcache_request *r, CURLcode rc)
{
	if (rc == CURLE_COULDNT_CONNECT)
		appcache_fail(c, 0,
			      "%s: resex-cached cannot be reached: start it, or check the path and "
			      "that this user is in its socket_group",
			      c->path);
	else if (rc == CURLE_OPERATION_TIMEDOUT)
		appcache_fail(c, 0,
			      "%s: resex-cached gave no answer in %u ms: see resex update-list "
			      "and its log",
			      c->path, r->timeout_ms);
	else if (rc == CURLE_WRITE_ERROR)
		appcache_fail(c, 0,
			      "%s: an answer of more than %d bytes: resex-cached gives none such; "
			      "check the path",
			      c->path, APPCACHE_ANSWER_MAX);
	else
		appcache_fail(c, 0, "%s: %s: see the log of resex-cached", c->path,
			      curl_easy_strerror(rc));
}

void appcache_ask(struct resex_cache *c, const struct appcache_request *r,
		  struct appcache_answer *a)
{
	CURLcode rc = set_request(c, r);
	long bytes = 0;

	*a = (struct appcache_answer){ 0 };
	c->len = 0;
	if (!rc) {
		rc = curl_easy_perform(c->curl);
		curl_easy_getinfo(c->curl, CURLINFO_REQUEST_SIZE, &bytes);
	}
	a->sent = rc != CURLE_COULDNT_CONNECT && bytes > 0;
	a->late = rc == CURLE_OPERATION_TIMEDOUT;
	/* The caller frees the body that was sent: libcurl has made no copy. */
	curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, NULL);
	if (rc) {
		explain(c, r, rc);
		return;
	}
	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &a->status);
	a->body = body_object(c);
}
