// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hello: messages between the two sides, to bytes and back. All that is received is
 * checked here, before any other code sees it. See hello.h.
 */
#include "src/benchex/hello.h"

#include <string.h>

#include "src/util/bytes.h"

/* Tells benchex from any other program on the port, before the version is looked at. */
static const uint32_t magic = 0x78657862; /* "bxex" */

struct writer {
	uint8_t *at;
};

struct reader {
	const uint8_t *at;
};

/*
 * Little-endian on the wire, whatever the two machines are. No struct is copied: padding
 * and alignment would differ.
 */
static void put_le(struct writer *w, uint64_t v, int bytes)
{
	bytes_put_le(w->at, v, (size_t)bytes);
	w->at += bytes;
}

static uint64_t get_le(struct reader *r, int bytes)
{
	uint64_t v = bytes_get_le(r->at, (size_t)bytes);

	r->at += bytes;
	return v;
}

static void put_start(struct writer *w)
{
	put_le(w, magic, 4);
	put_le(w, BX_VERSION, 2);
}

static enum bx_refusal get_start(struct reader *r, size_t len, size_t want)
{
	/* A message of another version may have another length. */
	if (len < 6 || get_le(r, 4) != magic)
		return BX_NOT_BENCHEX;
	if (get_le(r, 2) != BX_VERSION)
		return BX_BAD_VERSION;
	return len < want ? BX_MALFORMED : BX_WELCOME;
}

void bx_hello_put(uint8_t out[static BX_HELLO_LEN], const struct bx_hello *h)
{
	struct writer w = { out };

	put_start(&w);
	put_le(&w, h->role, 2);
	put_le(&w, h->conns, 2);
	put_le(&w, h->index, 2);
	put_le(&w, h->depth, 4);
	put_le(&w, h->size_max, 4);
	put_le(&w, h->stride, 4);
	put_le(&w, h->rkey, 4);
	put_le(&w, h->addr, 8);
	put_le(&w, h->session, 8);
	put_le(&w, h->options_max, 4);
}

/* Bulk has nothing priced. The server allocates by these figures. */
static bool hello_counts_valid(const struct bx_hello *h)
{
	return h->conns >= 1 && h->conns <= BX_QPS_MAX && h->index < h->conns && h->depth >= 1 &&
	       h->depth <= BX_DEPTH_MAX && h->size_max >= 1 && h->size_max <= BX_SIZE_MAX &&
	       h->options_max <= (h->role == BX_BULK ? 0 : BX_OPTIONS_MAX);
}

/* The depth places of a client must not overlap, nor wrap around the address space. */
static bool hello_memory_valid(const struct bx_hello *h)
{
	if (h->role == BX_BULK)
		return h->addr == 0 && h->rkey == 0 && h->stride == 0;
	return h->stride >= h->size_max && h->stride <= 2 * BX_SIZE_MAX &&
	       h->addr <= UINT64_MAX - (uint64_t)h->stride * h->depth;
}

enum bx_refusal bx_hello_get(struct bx_hello *h, const void *data, size_t len)
{
	struct reader r = { data };
	enum bx_refusal why = get_start(&r, len, BX_HELLO_LEN);
	struct bx_hello got;
	uint64_t role;

	if (why != BX_WELCOME)
		return why;
	role = get_le(&r, 2);
	if (role != BX_CLIENT && role != BX_BULK)
		return BX_MALFORMED;
	got.role = (uint8_t)role;
	got.conns = (uint16_t)get_le(&r, 2);
	got.index = (uint16_t)get_le(&r, 2);
	got.depth = (uint32_t)get_le(&r, 4);
	got.size_max = (uint32_t)get_le(&r, 4);
	got.stride = (uint32_t)get_le(&r, 4);
	got.rkey = (uint32_t)get_le(&r, 4);
	got.addr = get_le(&r, 8);
	got.session = get_le(&r, 8);
	got.options_max = (uint32_t)get_le(&r, 4);
	if (!hello_counts_valid(&got) || !hello_memory_valid(&got))
		return BX_MALFORMED;
	*h = got;
	return BX_WELCOME;
}

/* Apart from bx_hello_get(): these limits are the operator's, and the refusal names them. */
enum bx_refusal bx_hello_fits(const struct bx_hello *h, const struct bx_conf *conf, uint32_t *value)
{
	if (h->role != BX_CLIENT) /* the limits are those of requests */
		return BX_WELCOME;
	if (h->size_max > conf->size_max) {
		*value = conf->size_max;
		return BX_TOO_LARGE;
	}
	if (h->options_max > conf->options_max) {
		*value = conf->options_max;
		return BX_TOO_MUCH;
	}
	return BX_WELCOME;
}

void bx_reply_put(uint8_t out[static BX_REPLY_LEN], const struct bx_reply *r)
{
	struct writer w = { out };

	put_start(&w);
	put_le(&w, 0, 2);
	put_le(&w, r->size_max, 4);
	put_le(&w, r->rkey, 4);
	put_le(&w, r->addr, 8);
	put_le(&w, 0, 4);
}

enum bx_refusal bx_reply_get(struct bx_reply *r, const struct bx_hello *mine, const void *data,
			     size_t len)
{
	struct reader in = { data };
	enum bx_refusal why = get_start(&in, len, BX_REPLY_LEN);
	struct bx_reply got;

	if (why != BX_WELCOME)
		return why;
	get_le(&in, 2);
	got.size_max = (uint32_t)get_le(&in, 4);
	got.rkey = (uint32_t)get_le(&in, 4);
	got.addr = get_le(&in, 8);
	/* Atomics use the first 8 bytes of the buffer. */
	if (mine->role == BX_BULK && (got.size_max < mine->size_max || got.size_max < 8 ||
				      got.addr % 8 != 0 || got.addr > UINT64_MAX - got.size_max))
		return BX_MALFORMED;
	*r = got;
	return BX_WELCOME;
}

void bx_refuse_put(uint8_t out[static BX_REFUSE_LEN], enum bx_refusal why, uint32_t value)
{
	struct writer w = { out };

	put_start(&w);
	put_le(&w, (uint64_t)why, 2);
	put_le(&w, value, 4);
}

/*
 * A refusal keeps its layout in all versions: also an old client must understand "another
 * version".
 */
enum bx_refusal bx_refuse_get(uint32_t *value, const void *data, size_t len)
{
	struct reader r = { data };
	uint64_t version, why;

	if (len < BX_REFUSE_LEN || get_le(&r, 4) != magic)
		return BX_NOT_BENCHEX;
	version = get_le(&r, 2);
	why = get_le(&r, 2);
	*value = (uint32_t)get_le(&r, 4);
	if (version != BX_VERSION) {
		*value = (uint32_t)version;
		return BX_BAD_VERSION;
	}
	return why > BX_NOT_BENCHEX && why < BX_REFUSALS ? (enum bx_refusal)why : BX_MALFORMED;
}

void bx_ask_put(uint8_t out[static BX_ASK_LEN], const struct bx_ask *a)
{
	struct writer w = { out };

	put_le(&w, magic, 4);
	put_le(&w, a->kind, 4);
	put_le(&w, a->seq, 8);
	put_le(&w, a->stamp, 8);
	put_le(&w, a->seed, 8);
	put_le(&w, a->options, 4);
	put_le(&w, a->answer_bytes, 4);
}

/*
 * The sequence number must be the next: a request that is sent twice, or left out, would
 * put an answer into the wrong place of the client's memory.
 */
const char *bx_ask_get(struct bx_ask *a, const struct bx_hello *from, uint64_t seq,
		       const void *data, size_t len)
{
	struct reader r = { data };
	struct bx_ask got;

	if (len != BX_ASK_LEN || get_le(&r, 4) != magic)
		return "it is not a request";
	got.kind = (uint32_t)get_le(&r, 4);
	got.seq = get_le(&r, 8);
	got.stamp = get_le(&r, 8);
	got.seed = get_le(&r, 8);
	got.options = (uint32_t)get_le(&r, 4);
	got.answer_bytes = (uint32_t)get_le(&r, 4);
	if (got.kind >= BX_KINDS)
		return "its kind is unknown";
	if (got.seq != seq)
		return "its sequence number is not the next";
	if (got.options > from->options_max)
		return "it wants more options priced than its hello said";
	if (got.answer_bytes < 1 || got.answer_bytes > from->size_max)
		return "it asks for an answer larger than its place";
	*a = got;
	return NULL;
}

void bx_head_put(uint8_t out[static BX_HEAD_LEN], const struct bx_head *h)
{
	struct writer w = { out };
	uint64_t bits;

	memcpy(&bits, &h->sum, sizeof(bits));
	put_le(&w, h->seq, 8);
	put_le(&w, h->stamp, 8);
	put_le(&w, bits, 8);
	put_le(&w, h->options, 4);
	put_le(&w, magic, 4);
}

bool bx_head_is(const struct bx_ask *a, const void *data, size_t len)
{
	uint8_t want[BX_HEAD_LEN], got[BX_HEAD_LEN];
	struct bx_head h = { .seq = a->seq, .stamp = a->stamp, .options = a->options };
	size_t n = len < BX_HEAD_LEN ? len : BX_HEAD_LEN;

	/* The sum is not compared. */
	bx_head_put(want, &h);
	memcpy(got, want, sizeof(got));
	memcpy(got, data, n);
	/*
	 * The client checks the sum itself, and only of its first request (is_right() in
	 * client.c). An answer shorter than a head is compared as far as it goes.
	 */
	memcpy(got + 16, want + 16, 8);
	return memcmp(got, want, sizeof(want)) == 0;
}

double bx_head_sum(const uint8_t data[static BX_HEAD_LEN])
{
	struct reader r = { data + 16 };
	uint64_t bits = get_le(&r, 8);
	double sum;

	memcpy(&sum, &bits, sizeof(sum));
	return sum;
}
