// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_btf: any bytes through load_btf_offset. What it finds is an aligned word of a struct, both
 * of whose names are in the data; what it does not find writes nothing.
 */
#define _GNU_SOURCE /* memmem */
#include <errno.h>

#include "src/load/btf.h"
#include "tests/fuzz/fuzz.h"

static bool has(const uint8_t *data, size_t size, const char *word)
{
	return memmem(data, size, word, strlen(word) + 1) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t offset = 12345;
	int rc = load_btf_offset(data, size, "rq", "nr_running", &offset);

	FUZZ_REQUIRE(rc == 0 || rc == -ENOENT || rc == -EEXIST || rc == -EPROTO);
	if (rc) {
		FUZZ_REQUIRE(offset == 12345);
		return 0;
	}
	FUZZ_REQUIRE(offset % 4 == 0);
	FUZZ_REQUIRE(has(data, size, "rq") && has(data, size, "nr_running"));
	/* A header, a struct with a member, an integer, and strings. */
	FUZZ_REQUIRE(size >= 24 + 24 + 16 + strlen("rq") + 1 + strlen("nr_running") + 1);
	return 0;
}
