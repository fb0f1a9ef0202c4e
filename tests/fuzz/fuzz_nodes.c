// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_nodes: any text through nodes_file_parse. What is taken is exactly what would be written for
 * its words, and these are within bounds; what is refused returns nothing.
 *
 * Input: a byte; if it is odd, the right crc is put at the end. Then the text.
 */
#include <errno.h>

#include "resex/region_abi.h"
#include "src/shared/nodes_file.h"
#include "tests/fuzz/fuzz.h"

/* Make what a fuzzer cannot guess: the crc of the words that the lines name. */
static size_t seal(char *text, size_t len)
{
	uint64_t node[REGION_NODES_MAX] = { 0 };
	char *line = memchr(text, '\n', len);

	while (line && ++line < text + len) {
		unsigned int i, service, epoch, count;

		if (sscanf(line, "%3u %3u %10u %8u", &i, &service, &epoch, &count) != 4)
			break;
		if (i < REGION_NODES_MAX)
			node[i] = region_word((uint16_t)service, region_seq(epoch, count));
		line = memchr(line, '\n', len - (size_t)(line - text));
	}
	return nodes_file_print(text, node);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t node[REGION_NODES_MAX], before[REGION_NODES_MAX];
	static char text[2 * NODES_FILE_MAX], again[NODES_FILE_MAX];
	struct bytes b = { data, size };
	bool sealed = take8(&b) % 2;
	size_t len = b.left < sizeof(text) - 1 ? b.left : sizeof(text) - 1;

	memset(text, 0, sizeof(text));
	take(&b, text, len);
	if (sealed)
		len = seal(text, len);
	memset(node, 0x5a, sizeof(node));
	memcpy(before, node, sizeof(node));
	if (nodes_file_parse(text, len, node)) {
		FUZZ_REQUIRE(!memcmp(node, before, sizeof(node)));
		return 0;
	}
	FUZZ_REQUIRE(nodes_file_print(again, node) == len && !memcmp(again, text, len));
	for (uint32_t i = 0; i < REGION_NODES_MAX; i++) {
		FUZZ_REQUIRE(region_word_id(node[i]) <= REGION_SERVICES_MAX);
		FUZZ_REQUIRE(!node[i] || region_seq_count(region_word_seq(node[i])));
	}
	return 0;
}
