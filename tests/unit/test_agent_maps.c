// SPDX-License-Identifier: GPL-2.0-or-later
/* agent/maps: lines of /proc/PID/maps: those of rings, and others that resemble them. */
#include <string.h>

#include "ibmon/agent/maps.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

#define RING_LINE                                                                                  \
	"7f66cb9f4000-7f66cb9f9000 rw-s 00005000 00:05 152                        "                \
	"/dev/infiniband/uverbs0"

static bool parse(const char *line, struct maps_ring *m)
{
	return maps_parse(line, strlen(line), m);
}

TEST(line_of_a_ring__all_fields_are_read)
{
	struct maps_ring m;

	assert_true(parse(RING_LINE, &m));
	assert_int_equal(m.start, 0x7f66cb9f4000);
	assert_int_equal(m.end, 0x7f66cb9f9000);
	assert_int_equal(m.pgoff, 0x5000);
	assert_int_equal(m.uverbs, 0);
}

TEST(other_lines__are_refused_and_write_nothing)
{
	static const char *const lines[] = {
		"",
		"/dev/infiniband/uverbs0",
		"7f66cb9f4000-7f66cb9f9000 rw-p 00005000 00:05 152 /dev/infiniband/uverbs0",
		"7f66cb9f4000-7f66cb9f9000 -w-s 00005000 00:05 152 /dev/infiniband/uverbs0",
		"7f66cb9f4000-7f66cb9f9000 rw-s 00005000 00:05 152 /dev/infiniband/rdma_cm",
		"7f66cb9f4000-7f66cb9f9000 rw-s 00005000 00:05 152 /dev/infiniband/uverbs",
		"7f66cb9f4000-7f66cb9f9000 rw-s 00005000 00:05 152 /dev/infiniband/uverbs123456",
		"7f66cb9f4000-7f66cb9f9000 rw-s 00005000 00:05 152 /dev/infiniband/uverbs0x",
		("7f66cb9f4000-7f66cb9f9000 rw-s 00005000 00:05 152 /dev/infiniband/uverbs0 "
		 "(deleted)"),
		"7f66cb9f4000-7f66cb9f4000 rw-s 00005000 00:05 152 /dev/infiniband/uverbs0",
		"7f66cb9f9000-7f66cb9f4000 rw-s 00005000 00:05 152 /dev/infiniband/uverbs0",
		"7f66cb9f4001-7f66cb9f9000 rw-s 00005000 00:05 152 /dev/infiniband/uverbs0",
		"7f66cb9f4000-7f66cb9f9000 rw-s 00005001 00:05 152 /dev/infiniband/uverbs0",
		"7f66cb9f4000-7f66cb9f9000 rw-s",
		"17f66cb9f40000000-7f66cb9f9000 rw-s 00005000 00:05 152 /dev/infiniband/uverbs0",
		"x-y rw-s 00005000 00:05 152 /dev/infiniband/uverbs0",
	};
	const struct maps_ring before = { 1, 2, 3, 4 };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct maps_ring m = before;

		if (parse(lines[i], &m))
			fail_msg("taken for a ring: %s", lines[i]);
		assert_memory_equal(&m, &before, sizeof(m));
	}
}

TEST(device_in_a_container__is_known_by_the_end_of_its_path)
{
	struct maps_ring m;

	assert_true(
		parse("1000-2000 rw-s 00001000 00:05 152 /srv/box/dev/infiniband/uverbs12", &m));
	assert_int_equal(m.uverbs, 12);
}

TEST(link_of_an_open_file__is_recognised)
{
	uint32_t n = 99;

	assert_true(maps_is_uverbs("/dev/infiniband/uverbs3", 23, &n));
	assert_int_equal(n, 3);
	assert_false(maps_is_uverbs("/dev/infiniband/rdma_cm", 23, &n));
	assert_false(maps_is_uverbs("socket:[1234]", 13, &n));
	assert_int_equal(n, 3);
}

/* The line ends where the caller says; cut anywhere it is no ring, or one with a shorter name. */
TEST(cut_or_damaged_line__never_reads_beyond_it)
{
	size_t len = strlen(RING_LINE);
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 20000; i++) {
		size_t n = prop_range(&p, 0, len);
		char *line = malloc(n ? n : 1); /* exact, so that a sanitizer sees a step too far */
		struct maps_ring m = { 0 };

		assert_non_null(line);
		memcpy(line, RING_LINE, n);
		if (n && prop_one_in(&p, 2))
			line[prop_range(&p, 0, n - 1)] = (char)prop_u64(&p);
		if (maps_parse(line, n, &m)) {
			prop_assert(&p, i, m.end > m.start);
			prop_assert(&p, i, (m.start | m.end | m.pgoff) % 4096 == 0);
		}
		free(line);
	}
}

#define TABLE_LINE                                                                                 \
	"7f66cb9f4000-7f66cb9f8000 rw-s 00000000 00:01 1042  /memfd:resex-rings (deleted)"

TEST(line_of_a_table__its_address_is_read)
{
	uint64_t at = 0;

	assert_true(maps_is_table(TABLE_LINE, strlen(TABLE_LINE), &at));
	assert_int_equal(at, 0x7f66cb9f4000);
	for (size_t len = 0; len < strlen(TABLE_LINE); len++)
		assert_false(maps_is_table(TABLE_LINE, len, &at));
}

TEST(lines_like_that_of_a_table__are_refused)
{
	static const char *const lines[] = {
		RING_LINE,
		"7f66cb9f4000-7f66cb9f9000 rw-s 00000000 00:01 1042 /memfd:resex-rings (deleted)",
		"7f66cb9f8000-7f66cb9f4000 rw-s 00000000 00:01 1042 /memfd:resex-rings (deleted)",
		"7f66cb9f4000-7f66cb9f8000 rw-p 00000000 00:01 1042 /memfd:resex-rings (deleted)",
		"7f66cb9f4000-7f66cb9f8000 -w-s 00000000 00:01 1042 /memfd:resex-rings (deleted)",
		"7f66cb9f4000-7f66cb9f8000 rw-s 00001000 00:01 1042 /memfd:resex-rings (deleted)",
		"7f66cb9f4001-7f66cb9f8001 rw-s 00000000 00:01 1042 /memfd:resex-rings (deleted)",
		"7f66cb9f4000-7f66cb9f8000 rw-s 00000000 00:01 1042 /memfd:resex-rings",
		"7f66cb9f4000-7f66cb9f8000 rw-s 00000000 00:01 1042 /memfd:resex-ringz (deleted)",
		"7f66cb9f4000-7f66cb9f8000 rw-s 00000000 00:01 2 /tmp/memfd:resex-rings (deleted)",
	};
	uint64_t at = 7;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (maps_is_table(lines[i], strlen(lines[i]), &at))
			fail_msg("taken for a table: %s", lines[i]);
	assert_int_equal(at, 7);
}
