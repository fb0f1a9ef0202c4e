// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * trace: read the requests that traders send from a text file.
 *
 *	# GAP_US  KIND   OPTIONS  ANSWER_BYTES
 *	12.5      trade  40       512
 *	0         feed   0        64K
 *
 * One request on a line; # begins a comment. The whole file is checked before the first
 * request is sent. An error names file and line.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "src/benchex/parts.h"
#include "src/util/file.h"
#include "src/util/utf8.h"

/*
 * A million lines of 64 bytes. The limits keep a wrong file name, of a disk image for
 * example, from filling the memory.
 */
enum { FIELDS = 4, REQUESTS_MAX = 1 << 20, FILE_BYTES_MAX = 64 << 20, TEXT = 256, SHOWN = 48 };

/* An hour: a longer gap is likely a mistake of the unit. */
#define GAP_MAX_NS 3600000000000ull

static const char *const kinds[BX_KINDS] = { "trade", "feed" };

struct word {
	const char *s;
	size_t len;
};

struct reader {
	const char *name;
	size_t line;
	char *text; /* TEXT bytes */
	struct bx_trace t;
	size_t space; /* of t.at */
};

/* Put "NAME:LINE: VALUE: sentence" into text; w may be empty. -EINVAL. */
__attribute__((format(printf, 3, 4))) static int bad_line(const struct reader *r, struct word w,
							  const char *fmt, ...)
{
	char value[SHOWN], shown[SHOWN], name[96];
	size_t n = w.len < sizeof(value) - 1 ? w.len : sizeof(value) - 1;
	va_list ap;

	if (n)
		memcpy(value, w.s, n);
	value[n] = 0;
	utf8_escape(value, shown, sizeof(shown));
	utf8_escape(r->name, name, sizeof(name));
	n = (size_t)snprintf(r->text, TEXT, "%s:%zu: %s%s", name, r->line, shown,
			     *shown ? ": " : "");
	va_start(ap, fmt);
	vsnprintf(r->text + n, TEXT - n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Put an error of the whole file into text. */
static int bad_file(char text[static TEXT], const char *name, int rc, const char *what)
{
	char shown[96];

	utf8_escape(name, shown, sizeof(shown));
	snprintf(text, TEXT, "%s: %s", shown, what);
	return rc;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/*
 * Split a line into words. Returns FIELDS + 1 when there are more than FIELDS. One word
 * more than a line may have is enough to see that there are too many.
 */
static size_t split_words(const char *s, size_t len, struct word w[static FIELDS + 1])
{
	const char *hash = len ? memchr(s, '#', len) : NULL;
	size_t n = 0, i = 0;

	if (hash)
		len = (size_t)(hash - s);
	while (n <= FIELDS) {
		while (i < len && is_blank(s[i]))
			i++;
		if (i == len)
			break;
		w[n].s = s + i;
		while (i < len && !is_blank(s[i]))
			i++;
		w[n].len = (size_t)(s + i - w[n].s);
		n++;
	}
	return n;
}

static int parse_kind(const struct reader *r, struct word w, uint32_t *out)
{
	for (uint32_t k = 0; k < BX_KINDS; k++)
		if (strlen(kinds[k]) == w.len && !memcmp(kinds[k], w.s, w.len)) {
			*out = k;
			return 0;
		}
	return bad_line(r, w, "the second word is the kind: write trade or feed");
}

static int parse_fields(const struct reader *r, const struct word w[static FIELDS],
			struct bx_request *q)
{
	uint64_t options, bytes;
	int rc;

	if (bx_time(w[0].s, w[0].len, 1000, (struct bx_bounds){ 0, GAP_MAX_NS }, &q->gap_ns))
		return bad_line(r, w[0],
				"the first word is the gap: write microseconds, 0 to "
				"3600000000, as 12.5");
	rc = parse_kind(r, w[1], &q->kind);
	if (rc)
		return rc;
	if (bx_number(w[2].s, w[2].len, (struct bx_bounds){ 0, BX_OPTIONS_MAX }, &options))
		return bad_line(r, w[2], "the third word counts options: write 0 to %d",
				BX_OPTIONS_MAX);
	if (q->kind == BX_FEED && options)
		return bad_line(r, w[2], "a feed prices no options: write 0, or trade");
	if (bx_size(w[3].s, w[3].len, (struct bx_bounds){ 1, BX_SIZE_MAX }, &bytes))
		return bad_line(r, w[3],
				"the fourth word is the answer's size: write 1 to 16M bytes, "
				"as 512 or 64K");
	q->options = (uint32_t)options;
	q->answer_bytes = (uint32_t)bytes;
	return 0;
}

/* Space doubles: a file of a million lines is copied fourteen times, not once for each line. */
static int append_request(struct reader *r, const struct bx_request *q)
{
	if (r->t.n == REQUESTS_MAX)
		return bad_line(r, (struct word){ NULL, 0 },
				"one request too many: at most %d are read, split the file",
				REQUESTS_MAX);
	if (r->t.n == r->space) {
		size_t space = r->space ? 2 * r->space : 64;
		struct bx_request *at = realloc(r->t.at, space * sizeof(*at));

		if (!at)
			return -ENOMEM;
		r->t.at = at;
		r->space = space;
	}
	r->t.at[r->t.n++] = *q;
	return 0;
}

static int parse_line(struct reader *r, const char *s, size_t len)
{
	struct word w[FIELDS + 1] = { { NULL, 0 } };
	struct bx_request q = { 0 };
	size_t n = split_words(s, len, w);
	int rc;

	if (!n)
		return 0;
	if (n < FIELDS)
		return bad_line(r, w[0], "%zu words: write four, GAP_US KIND OPTIONS ANSWER_BYTES",
				n);
	if (n > FIELDS)
		return bad_line(r, w[FIELDS], "one word too many: write a comment behind #");
	rc = parse_fields(r, w, &q);
	return rc ? rc : append_request(r, &q);
}

int bx_trace_parse(struct bx_trace *t, const char *name, const char *data, size_t len,
		   char text[static TEXT])
{
	struct reader r = { .name = name, .text = text };
	const char *end = len ? data + len : data;
	int rc = 0;

	while (!rc && data != end) {
		const char *nl = memchr(data, '\n', (size_t)(end - data));
		const char *stop = nl ? nl : end;

		r.line++;
		rc = parse_line(&r, data, (size_t)(stop - data));
		data = nl ? nl + 1 : end;
	}
	if (!rc && !r.t.n)
		rc = bad_file(text, name, -EINVAL,
			      "holds no request: write lines of GAP_US KIND OPTIONS ANSWER_BYTES");
	if (rc == -ENOMEM)
		bad_file(text, name, rc, "no memory to read it: free some");
	if (rc)
		free(r.t.at);
	else
		*t = r.t;
	return rc;
}

static int bad_read(char text[static TEXT], const char *file, int rc)
{
	char what[128];

	if (rc == -EINVAL)
		snprintf(what, sizeof(what), "is not a regular file: name one");
	else if (rc == -EFBIG)
		snprintf(what, sizeof(what), "is too long: at most %d bytes are read",
			 FILE_BYTES_MAX);
	else
		snprintf(what, sizeof(what), "cannot be read (%s): check its name and permissions",
			 strerror(-rc));
	return bad_file(text, file, rc, what);
}

int bx_trace_load(struct bx_trace *t, const char *file, char text[static TEXT])
{
	char *data = NULL;
	size_t len = 0;
	int rc = file_load(file, FILE_BYTES_MAX, &data, &len);

	if (rc)
		bad_read(text, file, rc);
	else
		rc = bx_trace_parse(t, file, data, len, text);
	free(data);
	return rc;
}

void bx_trace_free(struct bx_trace *t)
{
	free(t->at);
	*t = (struct bx_trace){ 0 };
}
