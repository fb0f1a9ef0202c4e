// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_httplog: any text through load_log_parse. What is refused is refused with a line that is
 * there; what is taken can be simulated: each line counted once, times in order and bounded.
 *
 * Input: a byte for the CPUs of a server, then the log.
 */
#include <errno.h>

#include "src/lab/load_log.h"
#include "tests/fuzz/fuzz.h"

static size_t lines_of(const char *text, size_t len)
{
	size_t n = len && text[len - 1] != '\n';

	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	return n;
}

/* "f:LINE: what", or "f: what" of the log as a whole; one line of text. */
static void check_error(const char said[static 256], size_t lines)
{
	char *end;

	FUZZ_REQUIRE(memchr(said, '\0', 256));
	FUZZ_REQUIRE(!strncmp(said, "f:", 2));
	for (const char *s = said; *s; s++)
		FUZZ_REQUIRE((unsigned char)*s >= 0x20 && *s != 0x7f);
	if (said[2] == ' ')
		return;
	FUZZ_REQUIRE(strtoul(said + 2, &end, 10) >= 1 && strtoul(said + 2, NULL, 10) <= lines);
	FUZZ_REQUIRE(!strncmp(end, ": ", 2) && strlen(end) > 10);
}

static void check_taken(const struct load_log *l, size_t lines)
{
	FUZZ_REQUIRE(l->n >= 1 && l->n + l->others + l->unanswered == lines);
	FUZZ_REQUIRE(l->arrival[0].at_ns == 0);
	for (uint32_t i = 0; i < l->n; i++) {
		FUZZ_REQUIRE(!i || l->arrival[i].at_ns >= l->arrival[i - 1].at_ns);
		FUZZ_REQUIRE(l->arrival[i].at_ns <= LOAD_LOG_SPAN_MAX_NS);
		FUZZ_REQUIRE(l->arrival[i].cpu_ns >= 1 && l->arrival[i].cpu_ns <= WEB_NS_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = { data, size };
	uint32_t cpus = 1 + take8(&b) % WEB_CPUS_MAX;
	size_t len = b.left;
	char *text = malloc(len ? len : 1); /* exactly as long, so that reading on is seen */
	struct load_log l;
	char said[256];
	size_t lines;
	int rc;

	if (!text)
		abort();
	take(&b, text, len);
	lines = lines_of(text, len);
	memset(said, 'x', sizeof(said));
	rc = load_log_parse(&l, "f", text, len, cpus, said);
	free(text);
	if (rc) {
		FUZZ_REQUIRE(rc == -EINVAL && !l.arrival);
		check_error(said, lines);
	} else {
		check_taken(&l, lines);
		load_log_free(&l);
	}
	return 0;
}
