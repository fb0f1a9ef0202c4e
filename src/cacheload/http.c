// SPDX-License-Identifier: GPL-2.0-or-later
/* http: reads answers of HTTP/1.1. See http.h. Chunks are moved together where they stand. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* memmem */
#endif
#include "src/cacheload/http.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ROOM = 4096, LINE_MAX_BYTES = 256 };

char *http_room(struct http_reader *r, size_t *n)
{
	size_t space = r->space ? r->space : ROOM;
	char *buf;

	if (r->space - r->len < ROOM / 2) {
		while (space - r->len < ROOM / 2)
			space *= 2;
		buf = r->len < r->max ? realloc(r->buf, space) : NULL;
		if (!buf)
			return NULL;
		r->buf = buf;
		r->space = space;
	}
	*n = r->space - r->len;
	return r->buf + r->len;
}

void http_reset(struct http_reader *r)
{
	*r = (struct http_reader){ .max = r->max, .buf = r->buf, .space = r->space };
}

void http_free(struct http_reader *r)
{
	free(r->buf);
	r->buf = NULL;
	r->space = 0;
}

/* --- the head --- */

struct text {
	const char *s;
	size_t len;
};

static bool is_text(struct text t, const char *s)
{
	return t.len == strlen(s) && !strncasecmp(t.s, s, t.len);
}

static struct text trim(const char *s, size_t len)
{
	while (len && (*s == ' ' || *s == '\t')) {
		s++;
		len--;
	}
	while (len && (s[len - 1] == ' ' || s[len - 1] == '\t'))
		len--;
	return (struct text){ s, len };
}

static bool read_length(struct text t, uint64_t *out)
{
	uint64_t v = 0;

	if (!t.len || t.len > 18)
		return false;
	for (size_t i = 0; i < t.len; i++) {
		if (t.s[i] < '0' || t.s[i] > '9')
			return false;
		v = v * 10 + (uint64_t)(t.s[i] - '0');
	}
	*out = v;
	return true;
}

struct head {
	bool length, chunked;
};

static bool read_header(struct http_reader *r, struct head *h, struct text name, struct text value)
{
	if (is_text(name, "content-length")) {
		if (h->length || !read_length(value, &r->length))
			return false;
		h->length = true;
	} else if (is_text(name, "transfer-encoding")) {
		if (h->chunked || !is_text(value, "chunked"))
			return false;
		h->chunked = true;
	} else if (is_text(name, "connection")) {
		r->keep = !is_text(value, "close");
	} else if (is_text(name, "x-cache")) {
		r->passed = true;
		r->hit = value.len >= 3 && !strncasecmp(value.s, "hit", 3);
	}
	return true;
}

/* "HTTP/1.1 200 OK" */
static bool read_status(struct http_reader *r, const char *s, size_t len)
{
	uint64_t status;

	if (len < 12 || memcmp(s, "HTTP/1.", 7) != 0 || s[8] != ' ' || (len > 12 && s[12] != ' ') ||
	    !read_length((struct text){ s + 9, 3 }, &status))
		return false;
	r->status = (int)status;
	r->keep = s[7] == '1';
	return status >= 200;
}

static bool read_lines(struct http_reader *r, struct head *h)
{
	const char *at = r->buf, *end = r->buf + r->head - 2;
	const char *next = memmem(at, (size_t)(end - at), "\r\n", 2);

	if (!next || !read_status(r, at, (size_t)(next - at)))
		return false;
	for (at = next + 2; at < end; at = next + 2) {
		const char *colon;

		next = memmem(at, (size_t)(end + 2 - at), "\r\n", 2);
		colon = next ? memchr(at, ':', (size_t)(next - at)) : NULL;
		if (!colon || colon == at || *at == ' ' || *at == '\t' ||
		    !read_header(r, h, (struct text){ at, (size_t)(colon - at) },
				 trim(colon + 1, (size_t)(next - colon - 1))))
			return false;
	}
	return true;
}

static enum http_progress read_head(struct http_reader *r)
{
	struct head h = { 0 };
	const char *end = memmem(r->buf, r->len, "\r\n\r\n", 4);

	if (!end)
		return r->len > HTTP_HEAD_MAX ? HTTP_BAD : HTTP_MORE;
	r->head = (size_t)(end + 4 - r->buf);
	if (r->head > HTTP_HEAD_MAX || !read_lines(r, &h))
		return HTTP_BAD;
	if (r->status == 204 || r->status == 304) {
		r->length = 0;
	} else if (h.chunked) {
		if (h.length) /* where is its end? */
			return HTTP_BAD;
		r->chunk = HTTP_CHUNK_SIZE;
		r->at = r->head;
	} else if (!h.length || r->length > r->max) {
		return HTTP_BAD;
	}
	return HTTP_DONE;
}

/* --- the body --- */

/* A line at `at`, without its end; false: it is not whole. */
static bool next_line(struct http_reader *r, struct text *line)
{
	const char *from = r->buf + r->at;
	const char *end = memmem(from, r->len - r->at, "\r\n", 2);

	if (!end)
		return false;
	*line = (struct text){ from, (size_t)(end - from) };
	r->at += line->len + 2;
	return true;
}

/* "1a0" or "1a0;extension" */
static bool read_size(struct text line, uint64_t *out)
{
	uint64_t v = 0;
	size_t i = 0;

	for (; i < line.len && line.s[i] != ';'; i++) {
		char c = line.s[i];
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;

		if (digit < 0 || i == 15)
			return false;
		v = v * 16 + (uint64_t)digit;
	}
	*out = v;
	return i > 0;
}

static enum http_progress too_long(const struct http_reader *r)
{
	return r->len - r->at > LINE_MAX_BYTES ? HTTP_BAD : HTTP_MORE;
}

static void move_data(struct http_reader *r)
{
	size_t n = r->len - r->at < r->rest ? r->len - r->at : (size_t)r->rest;

	memmove(r->buf + r->head + r->body, r->buf + r->at, n);
	r->body += n;
	r->at += n;
	r->rest -= n;
}

static enum http_progress read_chunks(struct http_reader *r)
{
	struct text line;

	for (;;) {
		if (r->chunk == HTTP_CHUNK_DATA) {
			move_data(r);
			if (r->rest)
				return HTTP_MORE;
			r->chunk = HTTP_CHUNK_END;
		}
		if (!next_line(r, &line))
			return too_long(r);
		if (line.len >= LINE_MAX_BYTES) /* also if it came at once */
			return HTTP_BAD;
		if (r->chunk == HTTP_CHUNK_END) {
			if (line.len)
				return HTTP_BAD;
			r->chunk = HTTP_CHUNK_SIZE;
		} else if (r->chunk == HTTP_CHUNK_SIZE) {
			if (!read_size(line, &r->rest) || r->rest > r->max)
				return HTTP_BAD;
			r->chunk = r->rest ? HTTP_CHUNK_DATA : HTTP_TRAILER;
		} else if (!line.len) { /* behind the trailer */
			return r->at == r->len ? HTTP_DONE : HTTP_BAD;
		}
	}
}

enum http_progress http_took(struct http_reader *r, size_t n)
{
	r->len += n;
	if (!r->head) {
		enum http_progress p = read_head(r);

		if (p != HTTP_DONE)
			return p;
	}
	if (r->chunk != HTTP_NO_CHUNKS)
		return read_chunks(r);
	if (r->len - r->head < r->length)
		return HTTP_MORE;
	r->body = (size_t)r->length;
	return r->len - r->head == r->length ? HTTP_DONE : HTTP_BAD;
}
