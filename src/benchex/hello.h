/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hello: the protocol between two benchex processes. Pure; every message is checked as hostile.
 *
 * A hello travels with the request to connect, a reply or refusal with the answer to
 * it. Then each request ("ask") is a SEND, and each answer a WRITE with immediate data,
 * the low half of its sequence number. An answer begins with its head, cut off where
 * the answer is shorter. Integers are little-endian.
 */
#ifndef RESEX_BENCHEX_HELLO_H
#define RESEX_BENCHEX_HELLO_H

#include "src/benchex/benchex.h"

enum {
	BX_VERSION = 2,
	BX_HELLO_LEN = 48, /* a request to connect carries at most 56 bytes */
	BX_REPLY_LEN = 28,
	BX_REFUSE_LEN = 12,
	BX_ASK_LEN = 40,
	BX_HEAD_LEN = 32,
};

struct bx_hello {
	uint8_t role;	       /* BX_CLIENT or BX_BULK */
	uint16_t conns, index; /* number of connections of the process; this one's index */
	uint32_t depth;	       /* most requests or messages under way */
	uint32_t size_max;     /* most bytes of an answer or a message */
	uint32_t stride;       /* client: bytes from one answer's place to the next; bulk: 0 */
	uint32_t rkey;	       /* client: of the places; bulk: 0 */
	uint64_t addr;	       /* client: of the first of depth places; bulk: 0 */
	uint32_t options_max;  /* client: most options to price for a request; bulk: 0 */
	uint64_t session;      /* chosen by the process, the same for all its connections */
};

struct bx_reply {
	uint32_t size_max; /* bulk: bytes of the server's buffer */
	uint32_t rkey;
	uint64_t addr;
};

/* Why a connection was refused. value is a figure for the message to people. */
enum bx_refusal {
	BX_WELCOME,
	BX_NOT_BENCHEX, /* not a message of this protocol */
	BX_BAD_VERSION, /* value: the version of the side that refuses */
	BX_MALFORMED,
	BX_TOO_LARGE, /* value: the largest answer or message allowed */
	BX_FULL,      /* value: the number of connections */
	BX_CLOSING,
	BX_TOO_MUCH, /* value: the most options for one request allowed */
	BX_REFUSALS
};

struct bx_ask {
	uint64_t seq;	/* counts from 0 on each connection */
	uint64_t stamp; /* the client's clock when the request was due */
	uint64_t seed;	/* of the terms to price */
	uint32_t kind, options, answer_bytes;
};

struct bx_head {
	uint64_t seq, stamp;
	double sum; /* of the prices */
	uint32_t options;
};

void bx_hello_put(uint8_t out[static BX_HELLO_LEN], const struct bx_hello *h);
enum bx_refusal bx_hello_get(struct bx_hello *h, const void *data, size_t len);
/* Does a server with this conf allow what h needs? If not, *value is the limit. */
enum bx_refusal bx_hello_fits(const struct bx_hello *h, const struct bx_conf *conf,
			      uint32_t *value);

void bx_reply_put(uint8_t out[static BX_REPLY_LEN], const struct bx_reply *r);
enum bx_refusal bx_reply_get(struct bx_reply *r, const struct bx_hello *mine, const void *data,
			     size_t len);

void bx_refuse_put(uint8_t out[static BX_REFUSE_LEN], enum bx_refusal why, uint32_t value);
/* The reason in a refusal; BX_NOT_BENCHEX: not a refusal of this protocol. */
enum bx_refusal bx_refuse_get(uint32_t *value, const void *data, size_t len);

void bx_ask_put(uint8_t out[static BX_ASK_LEN], const struct bx_ask *a);
/* Check a request of the peer that sent `from`; seq is due next. NULL, or what is wrong. */
const char *bx_ask_get(struct bx_ask *a, const struct bx_hello *from, uint64_t seq,
		       const void *data, size_t len);

void bx_head_put(uint8_t out[static BX_HEAD_LEN], const struct bx_head *h);
/* Are data, the first len bytes of an answer, those of the answer to a? Ignores the sum. */
bool bx_head_is(const struct bx_ask *a, const void *data, size_t len);
/* The sum of prices in a complete head. */
double bx_head_sum(const uint8_t data[static BX_HEAD_LEN]);

#endif
