// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_proc: any text through the parsers of /proc/stat, loadavg and pressure/cpu. What is accepted
 * has the numbers that sscanf(3) finds, within their limits; what is refused is -EPROTO.
 *
 * Input: a byte for the file, then its text.
 */
#include <errno.h>
#include <inttypes.h>

#include "src/load/index.h"
#include "src/load/load.h"
#include "tests/fuzz/fuzz.h"

enum { TICK_NS = 10000000, KINDS = 3 };

/* The fields of the first line, and how many lines "cpuN" follow it. */
static void check_stat(const char *s, const struct load_record *r)
{
	uint64_t t[8];
	uint32_t cpus = 0;

	FUZZ_REQUIRE(sscanf(s,
			    "cpu %" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64
			    "%" SCNu64 "%" SCNu64,
			    &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) == 8);
	for (int i = 0; i < 8; i++)
		FUZZ_REQUIRE(t[i] <= UINT64_MAX / 8 / TICK_NS);
	FUZZ_REQUIRE(r->busy_ns == (t[0] + t[1] + t[2]) * TICK_NS);
	FUZZ_REQUIRE(r->iowait_ns == t[4] * TICK_NS && r->irq_ns == t[5] * TICK_NS);
	FUZZ_REQUIRE(r->softirq_ns == t[6] * TICK_NS && r->steal_ns == t[7] * TICK_NS);
	while ((s = strchr(s, '\n')) && !strncmp(++s, "cpu", 3))
		cpus++;
	FUZZ_REQUIRE(r->cpus == cpus && cpus >= 1 && cpus <= LOAD_CPUS_MAX);
}

static void check_loadavg(const char *s, const struct load_record *r)
{
	uint32_t whole[3], part[3];
	uint64_t running;

	FUZZ_REQUIRE(sscanf(s, "%u.%u %u.%u %u.%u %" SCNu64 "/", &whole[0], &part[0], &whole[1],
			    &part[1], &whole[2], &part[2], &running) == 7);
	for (int i = 0; i < 3; i++)
		FUZZ_REQUIRE(r->load_avg[i] == whole[i] * 1000 + part[i] * 10 && part[i] <= 99);
	FUZZ_REQUIRE(r->running == running);
}

static void check_pressure(const char *s, const struct load_record *r)
{
	const char *total = strstr(s + strlen("some "), " total=");
	uint64_t us;

	FUZZ_REQUIRE(!strncmp(s, "some ", 5) && total);
	FUZZ_REQUIRE(sscanf(total, " total=%" SCNu64, &us) == 1 && us <= UINT64_MAX / 1000);
	FUZZ_REQUIRE(r->wait_ns == us * 1000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct load_record r = { 0 };
	struct bytes b = { data, size };
	unsigned kind = take8(&b) % KINDS;
	size_t len = b.left;
	/* Of its very length: a parser that reads beyond it is found. */
	char *text = malloc(len ? len : 1), *end;
	int rc;

	if (!text)
		abort();
	take(&b, text, len);
	if (kind == 0)
		rc = load_parse_stat(text, len, TICK_NS, &r);
	else if (kind == 1)
		rc = load_parse_loadavg(text, len, &r);
	else
		rc = load_parse_pressure(text, len, &r);
	FUZZ_REQUIRE(!rc || rc == -EPROTO);
	end = realloc(text, len + 1); /* a string, for the checks */
	if (!end)
		abort();
	end[len] = '\0';
	/* A NUL ends a string, and not a file. */
	if (!rc && strlen(end) == len) {
		if (kind == 0)
			check_stat(end, &r);
		else if (kind == 1)
			check_loadavg(end, &r);
		else
			check_pressure(end, &r);
	}
	free(end);
	return 0;
}
