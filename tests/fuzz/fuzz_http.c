// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_http: any answer through the reader of resex-cacheload, whole, and in pieces. Both ways must
 * end alike; what is taken is bounded, and has the length that its head told.
 *
 * Input: a byte for the sizes of the pieces, another for the bound, then the answer.
 */
#include "src/cacheload/http.h"
#include "tests/fuzz/fuzz.h"

/* Until it is DONE or BAD, as a connection does. */
static enum http_progress feed(struct http_reader *r, struct bytes b, uint32_t piece)
{
	enum http_progress p = HTTP_MORE;

	while (p == HTTP_MORE && b.left) {
		size_t n = 0;
		char *room = http_room(r, &n);

		if (!room)
			return HTTP_BAD;
		FUZZ_REQUIRE(n);
		if (n > piece)
			n = piece;
		if (n > b.left)
			n = b.left;
		take(&b, room, n);
		p = http_took(r, n);
	}
	if (p == HTTP_DONE && b.left) /* as if it had come at once */
		p = HTTP_BAD;
	return p;
}

static void check_done(const struct http_reader *r)
{
	FUZZ_REQUIRE(r->head && r->head <= HTTP_HEAD_MAX && r->head <= r->len);
	FUZZ_REQUIRE(r->len <= r->space && r->body <= r->len - r->head);
	FUZZ_REQUIRE(r->status >= 200 && r->status <= 999);
	FUZZ_REQUIRE(!r->hit || r->passed);
	if (r->chunk == HTTP_NO_CHUNKS)
		FUZZ_REQUIRE(r->body == r->length && r->len == r->head + r->body);
	else
		FUZZ_REQUIRE(r->chunk == HTTP_TRAILER && !r->rest && r->at == r->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = { data, size };
	uint32_t piece = 1 + take8(&b) % 64;
	size_t max = 64u << take8(&b) % 12;
	struct http_reader whole = { .max = max }, cut = { .max = max };
	enum http_progress p = feed(&whole, b, UINT32_MAX), q;

	if (p == HTTP_DONE)
		check_done(&whole);
	/* The second answer of a reader: what is left of the first must not matter. */
	q = feed(&cut, (struct bytes){ (const uint8_t *)"HTTP/1.1 204 x\r\n\r\n", 18 }, 7);
	FUZZ_REQUIRE(q == HTTP_DONE);
	http_reset(&cut);
	q = feed(&cut, b, piece);
	/* The bound on the buffer is met at another byte; all else must be the same. */
	if (b.left < max && b.left < HTTP_HEAD_MAX)
		FUZZ_REQUIRE(p == q);
	if (q == HTTP_DONE)
		check_done(&cut);
	if (p == HTTP_DONE && q == HTTP_DONE)
		FUZZ_REQUIRE(whole.status == cut.status && whole.body == cut.body &&
			     whole.keep == cut.keep && whole.hit == cut.hit &&
			     !memcmp(whole.buf + whole.head, cut.buf + cut.head, cut.body));
	http_free(&whole);
	http_free(&cut);
	return 0;
}
