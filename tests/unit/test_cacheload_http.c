// SPDX-License-Identifier: GPL-2.0-or-later
/* test_cacheload_http: answers in pieces of any size, and what is none. */
#include <string.h>

#include "src/cacheload/http.h"
#include "tests/unit/prop.h"

enum { MAX = 1 << 20 };

/* The whole text, in pieces of at most so many bytes. */
static enum http_progress feed(struct http_reader *r, const char *text, size_t len, size_t piece)
{
	enum http_progress p = HTTP_MORE;

	while (len && p == HTTP_MORE) {
		size_t room, n = len < piece ? len : piece;
		char *at = http_room(r, &room);

		if (!at)
			return HTTP_BAD;
		n = n < room ? n : room;
		memcpy(at, text, n);
		p = http_took(r, n);
		text += n;
		len -= n;
	}
	return len ? HTTP_BAD : p;
}

static const struct row {
	const char *name, *text;
	enum http_progress ends;
	int status;
	const char *body;
	bool keep, hit, passed;
} rows[] = {
	{ "answer__with_length__is_read", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	  HTTP_DONE, 200, "hello", true, false, false },
	{ "answer__names_in_any_case__is_read", "HTTP/1.1 200 OK\r\ncOnTent-lEngth:5 \r\n\r\nhello",
	  HTTP_DONE, 200, "hello", true, false, false },
	{ "answer__without_reason__is_read", "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n", HTTP_DONE,
	  404, "", true, false, false },
	{ "answer__hit__is_seen",
	  "HTTP/1.1 200 OK\r\nX-Cache: HIT (2)\r\nContent-Length: 0\r\n\r\n", HTTP_DONE, 200, "",
	  true, true, true },
	{ "answer__miss__is_seen", "HTTP/1.1 200 OK\r\nX-Cache: miss\r\nContent-Length: 0\r\n\r\n",
	  HTTP_DONE, 200, "", true, false, true },
	{ "answer__that_closes__is_not_kept",
	  "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", HTTP_DONE, 200, "",
	  false, false, false },
	{ "answer__of_http_1_0__is_not_kept", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
	  HTTP_DONE, 200, "", false, false, false },
	{ "answer__204__has_no_body", "HTTP/1.1 204 No Content\r\n\r\n", HTTP_DONE, 204, "", true,
	  false, false },
	{ "chunks__are_joined",
	  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\nA;x=y\r\nlo my "
	  "dear\r\n0\r\n\r\n",
	  HTTP_DONE, 200, "hello my dear", true, false, false },
	{ "chunks__trailer__is_passed_over",
	  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx: y\r\nz: "
	  "1\r\n\r\n",
	  HTTP_DONE, 200, "a", true, false, false },
	{ "chunks__none__are_an_empty_body",
	  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", HTTP_DONE, 200, "",
	  true, false, false },
	{ "answer__body_is_cut__is_not_whole", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello",
	  HTTP_MORE, 200, NULL, true, false, false },
	{ "answer__head_is_cut__is_not_whole", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n",
	  HTTP_MORE, 0, NULL, false, false, false },
	{ "chunks__are_cut__is_not_whole",
	  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n0\r\n", HTTP_MORE, 200,
	  NULL, true, false, false },
};

static void read_row(void **state)
{
	const struct row *row = *state;
	size_t len = strlen(row->text);

	for (size_t piece = 1; piece <= len; piece++) {
		struct http_reader r = { .max = MAX };

		assert_int_equal(feed(&r, row->text, len, piece), row->ends);
		if (row->ends == HTTP_DONE) {
			assert_int_equal(r.status, row->status);
			assert_int_equal(r.body, strlen(row->body));
			assert_memory_equal(r.buf + r.head, row->body, r.body);
			assert_int_equal(r.keep, row->keep);
			assert_int_equal(r.hit, row->hit);
			assert_int_equal(r.passed, row->passed);
		}
		http_free(&r);
	}
}
TEST_ROWS(rows, read_row)

#define HEAD "HTTP/1.1 200 OK\r\n"

static const struct bad {
	const char *name, *text;
} bad[] = {
	{ "answer__no_http__is_refused", "SSH-2.0-x\r\n\r\n" },
	{ "answer__http_2__is_refused", "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n" },
	{ "answer__no_status__is_refused", "HTTP/1.1 \r\nContent-Length: 0\r\n\r\n" },
	{ "answer__status_is_text__is_refused", "HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n" },
	{ "answer__status_of_4_digits__is_refused",
	  "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n" },
	{ "answer__status_100__is_refused", "HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n" },
	{ "answer__no_length__is_refused", HEAD "\r\nhello" },
	{ "answer__no_length_and_no_body__is_refused", HEAD "\r\n" },
	{ "answer__two_lengths__is_refused",
	  HEAD "Content-Length: 1\r\nContent-Length: 1\r\n\r\na" },
	{ "answer__length_below_0__is_refused", HEAD "Content-Length: -1\r\n\r\n" },
	{ "answer__length_is_empty__is_refused", HEAD "Content-Length:\r\n\r\n" },
	{ "answer__length_is_huge__is_refused",
	  HEAD "Content-Length: 99999999999999999999\r\n\r\n" },
	{ "answer__length_is_above_max__is_refused", HEAD "Content-Length: 1048577\r\n\r\n" },
	{ "answer__length_and_chunks__is_refused",
	  HEAD "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" },
	{ "answer__gzip_chunks__is_refused", HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n" },
	{ "answer__bytes_behind__is_refused", HEAD "Content-Length: 1\r\n\r\nab" },
	{ "answer__header_without_colon__is_refused", HEAD "nothing\r\nContent-Length: 0\r\n\r\n" },
	{ "answer__header_without_name__is_refused", HEAD ": x\r\nContent-Length: 0\r\n\r\n" },
	{ "answer__folded_header__is_refused", HEAD "a: b\r\n c: d\r\nContent-Length: 0\r\n\r\n" },
	{ "chunks__size_is_text__is_refused", HEAD "Transfer-Encoding: chunked\r\n\r\nx\r\n" },
	{ "chunks__size_is_empty__is_refused", HEAD "Transfer-Encoding: chunked\r\n\r\n\r\n" },
	{ "chunks__size_of_16_digits__is_refused",
	  HEAD "Transfer-Encoding: chunked\r\n\r\n0000000000000001\r\n" },
	{ "chunks__size_is_above_max__is_refused",
	  HEAD "Transfer-Encoding: chunked\r\n\r\n100001\r\n" },
	{ "chunks__no_line_behind_data__is_refused",
	  HEAD "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n" },
	{ "chunks__bytes_behind__is_refused", HEAD "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nx" },
};

static void refuse_row(void **state)
{
	const struct bad *row = *state;
	struct http_reader r = { .max = MAX };

	assert_int_equal(feed(&r, row->text, strlen(row->text), 4096), HTTP_BAD);
	http_free(&r);
}
TEST_ROWS(bad, refuse_row)

/* A server that sends for ever. */
TEST(answer__without_end__is_refused)
{
	char text[4096];

	for (int kind = 0; kind < 3; kind++) {
		struct http_reader r = { .max = MAX };
		const char *head = kind == 0   ? ""
				   : kind == 1 ? HEAD "Content-Length: 1048000\r\n\r\n"
					       : HEAD "Transfer-Encoding: chunked\r\n\r\n";
		enum http_progress p = *head ? feed(&r, head, strlen(head), 4096) : HTTP_MORE;
		size_t sent = 0;

		memset(text, '1', sizeof(text));
		for (; p == HTTP_MORE && sent < 3 * MAX; sent += sizeof(text))
			p = feed(&r, text, sizeof(text), sizeof(text));
		assert_int_equal(p, HTTP_BAD);
		assert_true(r.space <= 2 * MAX);
		http_free(&r);
	}
}

/* Long before the memory is at its end. */
TEST(line__without_end__is_refused)
{
	static const char *const heads[] = { HEAD "x: ",
					     HEAD "Transfer-Encoding: chunked\r\n\r\n" };
	static const size_t most[] = { HTTP_HEAD_MAX + 4096, 512 };

	for (int i = 0; i < 2; i++) {
		struct http_reader r = { .max = MAX };
		char *text = calloc(1, most[i]);

		memset(text, '1', most[i]);
		assert_int_equal(feed(&r, heads[i], strlen(heads[i]), 4096), HTTP_MORE);
		assert_int_equal(feed(&r, text, most[i], 64), HTTP_BAD);
		free(text);
		http_free(&r);
	}
}

/* It is refused whether it comes in pieces or at once. */
TEST(line__of_a_chunk__too_long__is_refused_at_once)
{
	static const char head[] = HEAD "Transfer-Encoding: chunked\r\n\r\n5;";
	char text[1024];

	for (size_t extra = 100; extra <= 300; extra += 200) {
		struct http_reader r = { .max = MAX };
		size_t n = sizeof(head) - 1;

		memcpy(text, head, n);
		memset(text + n, 'x', extra);
		strcpy(text + n + extra, "\r\nhello\r\n0\r\n\r\n");
		assert_int_equal(feed(&r, text, strlen(text), sizeof(text)),
				 extra == 100 ? HTTP_DONE : HTTP_BAD);
		http_free(&r);
	}
}

TEST(reader__is_used_again)
{
	struct http_reader r = { .max = MAX };

	for (int i = 0; i < 3; i++) {
		http_reset(&r);
		assert_int_equal(feed(&r, rows[3].text, strlen(rows[3].text), 7), HTTP_DONE);
		assert_true(r.hit);
		http_reset(&r);
		assert_int_equal(feed(&r, rows[0].text, strlen(rows[0].text), 7), HTTP_DONE);
		assert_false(r.hit);
		assert_int_equal(r.body, 5);
	}
	http_free(&r);
}

/* Any bytes, and right answers with one byte changed: never beyond the memory (ASan looks). */
TEST(answer__random__harms_nothing)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 20000; i++) {
		const char *from = rows[prop_u64(&p) % (sizeof(rows) / sizeof(rows[0]))].text;
		struct http_reader r = { .max = 4096 };
		char text[256];
		size_t len = strlen(from);

		memcpy(text, from, len);
		for (uint64_t n = 1 + prop_u64(&p) % 3; n; n--)
			text[prop_u64(&p) % len] = (char)prop_u64(&p);
		if (feed(&r, text, len, 1 + prop_u64(&p) % 64) == HTTP_DONE)
			prop_assert(&p, i, r.head + r.body <= r.len);
		http_free(&r);
	}
}
