// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_history: any line through history_parse. A line that is taken gives the same move when it is
 * written and read again, if it has room.
 */
#include <errno.h>

#include "src/cluster/history.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = malloc(size ? size : 1); /* exactly as long, so that reading on is seen */
	struct cluster_move m, again;
	char *text;
	int rc;

	if (!line)
		abort();
	memcpy(line, data, size);
	rc = history_parse(line, size, &m);
	free(line);
	FUZZ_REQUIRE(!rc || rc == -EINVAL);
	if (rc)
		return 0;
	FUZZ_REQUIRE(m.id && size <= HISTORY_LINE_MAX);
	FUZZ_REQUIRE(memchr(m.node, 0, sizeof(m.node)) && memchr(m.donor, 0, sizeof(m.donor)) &&
		     memchr(m.taker, 0, sizeof(m.taker)) && memchr(m.why, 0, sizeof(m.why)) &&
		     memchr(m.outcome, 0, sizeof(m.outcome)));
	text = history_line(&m);
	FUZZ_REQUIRE(text);
	if (strlen(text) <= HISTORY_LINE_MAX)
		FUZZ_REQUIRE(!history_parse(text, strlen(text), &again) &&
			     !memcmp(&m, &again, sizeof(m)));
	free(text);
	return 0;
}
