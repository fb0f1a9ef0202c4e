// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bytes of regions of version 2, of resexd and of cached hosts: an owner writes those of
 * tests/golden/region, and a peer reads them. Another program made them from the man page.
 */
#include <string.h>

#include "src/shared/record.h"
#include "src/shared/region.h"
#include "tests/unit/examples.h"
#include "tests/unit/unit.h"

enum { HOST = 3, GENERATION = 17 };

struct golden {
	uint8_t table[REGION_TABLE_BYTES] __attribute__((aligned(64)));
	uint64_t words[REGION_WORDS_BYTES / 8];
};

static uint8_t nibble(char c)
{
	const char *digits = "0123456789abcdef", *at = strchr(digits, c);

	assert_true(c && at);
	return (uint8_t)(at - digits);
}

/* At least so many lines. */
static void golden_read(struct golden *g, const char *file, unsigned int least)
{
	char path[256], hex[33];
	unsigned int part, offset, lines = 0;
	FILE *f = fopen(example_path(file, path, sizeof(path)), "r");

	if (!f)
		fail_msg("%s cannot be read: set srcdir to the top of the sources", path);
	memset(g, 0, sizeof(*g));
	while (fscanf(f, "%u %x %32s", &part, &offset, hex) == 3) {
		uint8_t *to = part == REGION_TABLE ? g->table : (uint8_t *)g->words;

		assert_true(part <= REGION_WORDS);
		assert_true(offset <= (part ? sizeof(g->words) : sizeof(g->table)) - 16);
		for (int i = 0; i < 16; i++)
			to[offset + (unsigned int)i] = (uint8_t)(nibble(hex[2 * i]) << 4 |
								 nibble(hex[2 * i + 1]));
		lines++;
	}
	assert_true(feof(f) && lines >= least);
	fclose(f);
}

static const struct region_host host = {
	.wall_ns = 1700000000000000000,
	.view = 5,
	.members = { 7, 0, 0, 1ull << 63 },
	.quorate = 1,
	.cpus = 4,
	.links = 2,
	.link_bytes_s = 3ull << 30,
	.epoch = 9,
	.supply_m = -250,
	.name = "north",
	.version = "1.2",
	.policy = "freemarket",
	.flags = REGION_HOST_SIMULATED,
	.hosts_digest = 21,
	.services_digest = 22,
};

static const struct region_guest guest = {
	.uuid = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	.domid = 6,
	.flags = REGION_GUEST_CAPPED | REGION_GUEST_CAPPABLE,
	.vcpus = 2,
	.weight = 256,
	.cap_mpct = 12500,
	.rings = 8,
	.allocated_m = 1000,
	.balance_m = -1,
	.mtus_sent = 11,
	.mtus_recv = 12,
	.cpu_ns = 13,
	.latency_ns = 14,
	.name = "web",
};

static const struct region_node node = {
	.flags = REGION_NODE_UP | REGION_NODE_FIXED, .load = 900, .service = 2, .name = "n0"
};

static const struct region_service service = {
	.service = 2, .minimum = 1, .balancers = { 5, 0, 0, 1 }, .name = "shop"
};

TEST(golden__an_owner__writes_these_bytes)
{
	static struct golden want, got;
	struct region_host h = host;
	struct region_guest g = guest;
	struct region_node n = node;
	struct region_service s = service;
	struct region r;

	golden_read(&want, "tests/golden/region/region", 20);
	region_init(&r, got.table, HOST, GENERATION);
	assert_int_equal(region_publish_guests(&r, &g, 1), 0);
	assert_int_equal(region_publish_nodes(&r, &n, 1), 0);
	assert_int_equal(region_publish_services(&r, &s, 1), 0);
	region_beat(&r, &h);
	assert_memory_equal(got.table, want.table, sizeof(want.table));
	assert_int_equal(region_words(got.words, GENERATION, NULL), 0);
	for (size_t page = 0; page < sizeof(got.words); page += REGION_PAGE)
		assert_memory_equal(&got.words[page / 8], &want.words[page / 8], 16);
}

#define PAYLOAD(r) ((const uint8_t *)(r) + sizeof(struct region_record))

#define assert_payload(got, want)                                                                  \
	assert_memory_equal(PAYLOAD(got), PAYLOAD(want),                                           \
			    sizeof(*(want)) - sizeof(struct region_record))

TEST(golden__a_peer__reads_them)
{
	static struct golden from;
	struct region_peer p;
	struct region_host h, want = host;
	struct region_guest g;
	struct region_node n;
	struct region_service s;

	golden_read(&from, "tests/golden/region/region", 20);
	assert_int_equal(region_parse_header(from.table, HOST, GENERATION, &p), 0);
	assert_int_equal(region_parse_host(&p, from.table + p.table[REGION_T_HOST].offset, &h), 0);
	want.beat = want.guests = want.nodes = want.services = 1;
	want.generation = GENERATION;
	assert_payload(&h, &want);
	assert_int_equal(region_parse_guest(from.table + p.table[REGION_T_GUESTS].offset, &g), 0);
	assert_payload(&g, &guest);
	assert_int_equal(region_parse_node(from.table + p.table[REGION_T_NODES].offset, &n), 0);
	assert_payload(&n, &node);
	assert_int_equal(region_parse_service(from.table + p.table[REGION_T_SERVICES].offset, &s),
			 0);
	assert_payload(&s, &service);
}

TEST(golden__a_cached_host__writes_these_bytes_and_a_peer_reads_them)
{
	static const struct {
		const char *file;
		struct region_cache c;
	} rows[] = { { "tests/golden/region/app", { .words = 1000, .slots = 3 } },
		     { "tests/golden/region/proxy", { 0 } } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static struct golden want, got;
		struct region_cache c = { 99, 99 };

		golden_read(&want, rows[i].file, 4);
		memset(&got, 0, sizeof(got));
		region_init_cache(got.table, HOST, GENERATION, &rows[i].c);
		assert_memory_equal(got.table, want.table, sizeof(want.table));
		assert_int_equal(region_parse_cache(want.table, HOST, GENERATION, &c), 0);
		assert_int_equal(c.words, rows[i].c.words);
		assert_int_equal(c.slots, rows[i].c.slots);
	}
}
