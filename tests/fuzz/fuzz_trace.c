// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_trace: any text through bx_trace_parse. What is refused is refused with a
 * line that is there; what is taken can be sent: at least one request, all bounded.
 */
#include <errno.h>

#include "src/benchex/benchex.h"
#include "tests/fuzz/fuzz.h"

/* "f:LINE: what", or "f: what" of the file as a whole; one line of text. */
static void check_error(const char text[static 256], const uint8_t *data, size_t size)
{
	size_t lines = 1;
	char *end;

	FUZZ_REQUIRE(memchr(text, '\0', 256));
	FUZZ_REQUIRE(!strncmp(text, "f:", 2));
	for (const char *s = text; *s; s++)
		FUZZ_REQUIRE((unsigned char)*s >= 0x20 && *s != 0x7f);
	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	if (text[2] == ' ')
		return;
	FUZZ_REQUIRE(strtoul(text + 2, &end, 10) >= 1 && strtoul(text + 2, NULL, 10) <= lines);
	FUZZ_REQUIRE(!strncmp(end, ": ", 2) && strlen(end) > 10);
}

static void check_taken(const struct bx_trace *t, size_t size)
{
	FUZZ_REQUIRE(t->n >= 1 && t->n <= size / strlen("0 feed 0 1"));
	for (size_t i = 0; i < t->n; i++) {
		const struct bx_request *q = &t->at[i];

		FUZZ_REQUIRE(q->gap_ns <= 3600000000000);
		FUZZ_REQUIRE(q->kind < BX_KINDS);
		FUZZ_REQUIRE(q->options <= (q->kind == BX_FEED ? 0 : BX_OPTIONS_MAX));
		FUZZ_REQUIRE(q->answer_bytes >= 1 && q->answer_bytes <= BX_SIZE_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bx_trace t = { 0 };
	char said[256];
	char *text = malloc(size); /* exactly as long, so that reading on is seen */
	int rc;

	if (size && !text)
		abort();
	if (size)
		memcpy(text, data, size);
	memset(said, 'x', sizeof(said));
	rc = bx_trace_parse(&t, "f", text, size, said);
	free(text);
	if (rc) {
		FUZZ_REQUIRE(rc == -EINVAL && !t.at);
		check_error(said, data, size);
	} else {
		check_taken(&t, size);
		bx_trace_free(&t);
	}
	return 0;
}
