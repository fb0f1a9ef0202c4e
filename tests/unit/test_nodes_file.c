// SPDX-License-Identifier: GPL-2.0-or-later
/* nodes_file: words of nodes come back from disk as they were; any other file is refused. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "resex/region_abi.h"
#include "src/shared/nodes_file.h"
#include "tests/unit/prop.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

static void draw(struct prop *p, uint64_t *node)
{
	for (uint32_t i = 0; i < REGION_NODES_MAX; i++)
		node[i] = prop_u64(p) % 2
				  ? 0
				  : region_word((uint16_t)(prop_u64(p) % (REGION_SERVICES_MAX + 1)),
						region_seq((uint32_t)prop_u64(p) & REGION_EPOCH_MAX,
							   1 + (uint32_t)prop_u64(p) %
									   REGION_COUNT_MAX));
}

TEST(nodes_file__saved__comes_back)
{
	uint64_t node[REGION_NODES_MAX], back[REGION_NODES_MAX];
	struct tmpdir dir;
	struct prop p;

	prop_start(&p);
	tmp_open(&dir);
	for (int i = 0; i < 20; i++) {
		draw(&p, node);
		assert_int_equal(nodes_file_save(dir.path, NODES_FILE_WORDS, node), 0);
		memset(back, 0xff, sizeof(back));
		assert_int_equal(nodes_file_load(dir.path, NODES_FILE_WORDS, back), 0);
		assert_memory_equal(back, node, sizeof(node));
	}
	tmp_close(&dir);
}

TEST(nodes_file__the_highest_numbers__fit)
{
	uint64_t node[REGION_NODES_MAX], back[REGION_NODES_MAX];
	char text[NODES_FILE_MAX];

	for (uint32_t i = 0; i < REGION_NODES_MAX; i++)
		node[i] = region_word(REGION_SERVICES_MAX,
				      region_seq(REGION_EPOCH_MAX, REGION_COUNT_MAX));
	assert_int_equal(nodes_file_parse(text, nodes_file_print(text, node), back), 0);
	assert_memory_equal(back, node, sizeof(node));
}

TEST(nodes_file__there_is_none__is_told_from_one_that_is_not_whole)
{
	static char longer[NODES_FILE_MAX + 2];
	uint64_t node[REGION_NODES_MAX] = { 0 };
	struct tmpdir dir;

	tmp_open(&dir);
	assert_int_equal(nodes_file_load(dir.path, NODES_FILE_WORDS, node), -ENOENT);
	tmp_write(&dir, "nodes", "");
	assert_int_equal(nodes_file_load(dir.path, NODES_FILE_WORDS, node), -EINVAL);
	memset(longer, 'x', sizeof(longer) - 1);
	tmp_write(&dir, "nodes", longer);
	assert_int_equal(nodes_file_load(dir.path, NODES_FILE_WORDS, node), -EINVAL);
	tmp_close(&dir);
}

TEST(nodes_file__any_byte_is_another__is_refused)
{
	uint64_t node[REGION_NODES_MAX], back[REGION_NODES_MAX], before[REGION_NODES_MAX];
	char text[NODES_FILE_MAX];
	struct prop p;
	size_t len;

	prop_start(&p);
	draw(&p, node);
	len = nodes_file_print(text, node);
	memset(back, 0x55, sizeof(back));
	memcpy(before, back, sizeof(back));
	for (size_t i = 0; i < len; i++) {
		char was = text[i];

		text[i] = (char)(was ^ (1 << prop_u64(&p) % 8));
		prop_assert(&p, (int)i, nodes_file_parse(text, len, back) == -EINVAL);
		prop_assert(&p, (int)i, nodes_file_parse(text, i, back) == -EINVAL);
		text[i] = was;
	}
	assert_memory_equal(back, before, sizeof(back)); /* nothing is returned of it */
	assert_int_equal(nodes_file_parse(text, len, back), 0);
}

TEST(nodes_file__a_number_out_of_range__is_refused_with_the_right_crc)
{
	const uint64_t words[] = {
		region_word(1, region_seq(5, 0)),
		region_word(REGION_SERVICES_MAX + 1, region_seq(5, 1)),
		region_word(0x3ff, region_seq(5, 1)),
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		uint64_t node[REGION_NODES_MAX] = { [7] = words[i] }, back[REGION_NODES_MAX];
		char text[NODES_FILE_MAX];

		assert_int_equal(nodes_file_parse(text, nodes_file_print(text, node), back),
				 -EINVAL);
	}
}

TEST(nodes_file__table_of_what_is_refused)
{
	static const char *const rows[] = {
		"resex nodes 2\ncrc 00000000\n",
		"resex nodes 1\n",
		"resex nodes 1\n0",
		"resex nodes 1\n256 1 1 1\n",
		"resex nodes 1\n0 257 1 1\n",
		"resex nodes 1\n0 1 1 0\n",
		"resex nodes 1\n0 1 1073741824 1\n",
		"resex nodes 1\n0 1 1 16777216\n",
		"resex nodes 1\n0 1 1 18446744073709551617\n",
		"resex nodes 1\n0 -1 1 1\n",
		"resex nodes 1\n0 1 1\n",
	};
	uint64_t node[REGION_NODES_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(nodes_file_parse(rows[i], strlen(rows[i]), node), -EINVAL);
}
