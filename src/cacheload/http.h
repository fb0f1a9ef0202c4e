/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * http: the answer to one request of HTTP/1.1, read in pieces of any size. Bounded, and strict: an
 * answer whose end is not told by its head is refused, and so is one with two lengths, for it is
 * not known where the next one begins.
 */
#ifndef RESEX_CACHELOAD_HTTP_H
#define RESEX_CACHELOAD_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_HEAD_MAX = 32768 };

enum http_progress { HTTP_MORE, HTTP_DONE, HTTP_BAD };

enum http_chunk { HTTP_NO_CHUNKS, HTTP_CHUNK_SIZE, HTTP_CHUNK_DATA, HTTP_CHUNK_END, HTTP_TRAILER };

/* All zero but max: ready for an answer. */
struct http_reader {
	size_t max; /* bytes of head and body; more is refused */
	char *buf;
	size_t len, space;
	size_t head;	 /* its bytes; 0: it is not whole */
	size_t body;	 /* bytes of the body, at buf + head; when DONE */
	uint64_t length; /* that the head tells */
	enum http_chunk chunk;
	uint64_t rest; /* of a chunk's data */
	size_t at;     /* how far chunks are read */
	/* of the head */
	int status;
	bool keep;   /* the connection may be used again */
	bool hit;    /* X-Cache begins with "hit" */
	bool passed; /* X-Cache: there is one */
};

/* Room for more bytes: *n of them, at the result. NULL: the answer is too long, or no memory. */
char *http_room(struct http_reader *r, size_t *n);
/* So many bytes were put there. HTTP_BAD also for bytes behind the end. */
enum http_progress http_took(struct http_reader *r, size_t n);
/* For the next answer; keeps the memory. */
void http_reset(struct http_reader *r);
void http_free(struct http_reader *r);

#endif
