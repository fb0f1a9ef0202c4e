// SPDX-License-Identifier: GPL-2.0-or-later
/* benchex/trace: valid traces are read; others are refused with line and reason. */
#include <errno.h>
#include <string.h>

#include "src/benchex/benchex.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

static char said[256];

static int parse(struct bx_trace *t, const char *text)
{
	char *copy = malloc(strlen(text)); /* without a NUL behind, as from a file */
	int rc;

	assert_true(copy || !*text);
	if (*text)
		memcpy(copy, text, strlen(text));
	memset(said, 'x', sizeof(said));
	rc = bx_trace_parse(t, "f", copy, strlen(text), said);
	free(copy);
	return rc;
}

TEST(lines__blanks_and_comments__give_the_requests)
{
	struct bx_trace t;

	assert_int_equal(parse(&t, "# made up\n"
				   "\n"
				   "0 trade 40 512\n"
				   "\t12.5  feed\t0 64K # behind it\r\n"
				   "   # more\n"
				   "3600000000 trade 1048576 16M"),
			 0);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.at[0].gap_ns, 0);
	assert_int_equal(t.at[0].kind, BX_TRADE);
	assert_int_equal(t.at[0].options, 40);
	assert_int_equal(t.at[0].answer_bytes, 512);
	assert_int_equal(t.at[1].gap_ns, 12500);
	assert_int_equal(t.at[1].kind, BX_FEED);
	assert_int_equal(t.at[1].options, 0);
	assert_int_equal(t.at[1].answer_bytes, 65536);
	assert_true(t.at[2].gap_ns == 3600000000000);
	assert_int_equal(t.at[2].options, BX_OPTIONS_MAX);
	assert_int_equal(t.at[2].answer_bytes, BX_SIZE_MAX);
	bx_trace_free(&t);
	assert_null(t.at);
}

TEST(gaps__with_units__are_those)
{
	struct bx_trace t;

	assert_int_equal(parse(&t, "1ms feed 0 1\r\n2s feed 0 1\n7ns feed 0 1\n0.001 feed 0 1\n"),
			 0);
	assert_int_equal(t.at[0].gap_ns, 1000000);
	assert_int_equal(t.at[1].gap_ns, 2000000000);
	assert_int_equal(t.at[2].gap_ns, 7);
	assert_int_equal(t.at[3].gap_ns, 1);
	bx_trace_free(&t);
}

TEST(wrong_lines__are_refused_with_place_value_and_remedy)
{
	static const struct {
		const char *text, *place, *says;
	} wrong[] = {
		{ "0 trade 1\n", "f:1: ", "3 words: write four" },
		{ "0\n", "f:1: ", "1 words: write four" },
		{ "0 trade 1 1 1\n", "f:1: 1: ", "one word too many" },
		{ "\n#\n-1 trade 1 1\n", "f:3: -1: ", "0 to 3600000000" },
		{ "1e3 trade 1 1\n", "f:1: 1e3: ", "microseconds" },
		{ "3600000001 trade 1 1\n", "f:1: 3600000001: ", "microseconds" },
		{ "0.0001 trade 1 1\n", "f:1: 0.0001: ", "microseconds" },
		{ ".5 trade 1 1\n", "f:1: .5: ", "microseconds" },
		{ "1. trade 1 1\n", "f:1: 1.: ", "microseconds" },
		{ "1 trades 1 1\n", "f:1: trades: ", "write trade or feed" },
		{ "1 TRADE 1 1\n", "f:1: TRADE: ", "write trade or feed" },
		{ "1 trade 1048577 1\n", "f:1: 1048577: ", "0 to 1048576" },
		{ "1 trade x 1\n", "f:1: x: ", "0 to 1048576" },
		{ "1 feed 1 1\n", "f:1: 1: ", "a feed prices no options" },
		{ "1 trade 1 0\n", "f:1: 0: ", "1 to 16M" },
		{ "1 trade 1 16777217\n", "f:1: 16777217: ", "1 to 16M" },
		{ "1 trade 1 64KB\n", "f:1: 64KB: ", "512 or 64K" },
		{ "1 trade 1 1\n1 trade 1 1\n1 \xff trade 1\n", "f:3: \\xff: ", "trade or feed" },
		{ "1 \x1b[2J trade 1\n", "f:1: \\x1b[2J: ", "trade or feed" },
		{ "", "f: ", "holds no request" },
		{ "# nothing\n\n", "f: ", "holds no request" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct bx_trace t = { .n = 99 };

		assert_int_equal(parse(&t, wrong[i].text), -EINVAL);
		assert_int_equal(t.n, 99);
		if (strncmp(said, wrong[i].place, strlen(wrong[i].place)) != 0 ||
		    !strstr(said, wrong[i].says) || strchr(said, '\n'))
			fail_msg("%s: said \"%s\"", wrong[i].text, said);
	}
}

TEST(long_words_and_names__are_cut__not_overrun)
{
	char name[600], line[5000];
	struct bx_trace t;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	memset(line, 0xe4, sizeof(line)); /* each becomes four characters */
	memset(said, 'x', sizeof(said));
	assert_int_equal(bx_trace_parse(&t, name, line, sizeof(line), said), -EINVAL);
	assert_non_null(memchr(said, 0, sizeof(said)));
	assert_non_null(strstr(said, "write four"));
}

TEST(a_million_requests__are_taken_and_one_more_is_not)
{
	static const char line[] = "0 feed 0 1\n";
	size_t one = strlen(line), n = (1 << 20) + 1;
	char *text = malloc(one * n);
	struct bx_trace t;

	assert_non_null(text);
	for (size_t i = 0; i < n; i++)
		memcpy(text + one * i, line, one);
	assert_int_equal(bx_trace_parse(&t, "f", text, one * (n - 1), said), 0);
	assert_int_equal(t.n, n - 1);
	bx_trace_free(&t);
	assert_int_equal(bx_trace_parse(&t, "f", text, one * n, said), -EINVAL);
	assert_string_equal(said, "f:1048577: one request too many: at most 1048576 are read, "
				  "split the file");
	free(text);
}

/* What is written is what is read; numbers within their ranges, in any of their forms. */
TEST(any_requests__written_and_read__are_the_same)
{
	struct bx_request q[20];
	char text[20 * 80];
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 500; i++) {
		size_t n = prop_range(&p, 1, 20), len = 0;
		struct bx_trace t;

		for (size_t k = 0; k < n; k++) {
			q[k].kind = (uint32_t)prop_range(&p, 0, 1);
			q[k].gap_ns = prop_range(&p, 0, 3600000000000);
			q[k].options = q[k].kind == BX_FEED ? 0
							    : (uint32_t)prop_range(&p, 0, 1 << 20);
			q[k].answer_bytes = (uint32_t)prop_range(&p, 1, BX_SIZE_MAX >> 10) << 10;
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"%llu.%03u %s %u %u%s\n",
						(unsigned long long)(q[k].gap_ns / 1000),
						(unsigned)(q[k].gap_ns % 1000),
						q[k].kind == BX_FEED ? "feed" : "trade",
						q[k].options, q[k].answer_bytes >> 10, "K");
		}
		prop_assert(&p, i, !bx_trace_parse(&t, "f", text, len, said));
		prop_assert(&p, i, t.n == n);
		for (size_t k = 0; k < n; k++)
			prop_assert(&p, i,
				    t.at[k].gap_ns == q[k].gap_ns && t.at[k].kind == q[k].kind &&
					    t.at[k].options == q[k].options &&
					    t.at[k].answer_bytes == q[k].answer_bytes);
		bx_trace_free(&t);
	}
}

TEST(files__good_absent_odd_and_wrong__are_told_apart)
{
	struct tmpdir dir;
	struct bx_trace t;

	tmp_open(&dir);
	tmp_write(&dir, "good", "5 feed 0 9\n");
	assert_int_equal(bx_trace_load(&t, tmp_at(&dir, "good"), said), 0);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.at[0].gap_ns, 5000);
	bx_trace_free(&t);
	assert_int_equal(bx_trace_load(&t, tmp_at(&dir, "absent"), said), -ENOENT);
	assert_non_null(strstr(said, "absent: cannot be read (No such file"));
	assert_int_equal(bx_trace_load(&t, dir.path, said), -EINVAL);
	assert_non_null(strstr(said, "is not a regular file: name one"));
	assert_int_equal(mkfifo(tmp_at(&dir, "fifo"), 0600), 0);
	assert_int_equal(bx_trace_load(&t, tmp_at(&dir, "fifo"), said), -EINVAL);
	tmp_write(&dir, "wrong", "\n\n5 feed 0\n");
	assert_int_equal(bx_trace_load(&t, tmp_at(&dir, "wrong"), said), -EINVAL);
	assert_non_null(strstr(said, "wrong:3: "));
	tmp_write(&dir, "large", "5 feed 0 9\n");
	assert_int_equal(truncate(tmp_at(&dir, "large"), (64 << 20) + 1), 0);
	assert_int_equal(bx_trace_load(&t, tmp_at(&dir, "large"), said), -EFBIG);
	assert_non_null(strstr(said, "at most 67108864 bytes"));
	tmp_close(&dir);
}

TEST(the_example__is_good)
{
	const char *top = getenv("srcdir");
	struct bx_trace t;
	char file[512];
	size_t feeds = 0;

	snprintf(file, sizeof(file), "%s/etc/benchex/ice-like.trace", top ? top : ".");
	if (bx_trace_load(&t, file, said))
		fail_msg("%s", said);
	for (size_t i = 0; i < t.n; i++)
		feeds += t.at[i].kind == BX_FEED;
	assert_true(t.n >= 50 && feeds >= 5 && feeds < t.n);
	bx_trace_free(&t);
}
