// SPDX-License-Identifier: GPL-2.0-or-later
/* region of a cached host: a peer finds what the owner serves; hostile numbers do no harm. */
#include <errno.h>
#include <string.h>

#include "src/shared/record.h"
#include "src/shared/region.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

enum { HOST = 3, GENERATION = 17 };

/* Where region_init_cache() puts the entries. */
enum { BEAT, LOG, VERSIONS, ACKS, ENTRIES };

static const struct region_cache app = { .words = 1000, .slots = 3 }, proxy = { 0 };

static struct region_header header_of(const struct region_cache *c)
{
	struct region_header h = { .magic = 0 };

	region_init_cache(&h, HOST, GENERATION, c);
	return h;
}

static int parse_changed(const struct region_header *h, struct region_cache *c)
{
	struct region_header changed = *h, to = { .magic = 0 };

	record_write(&to, &changed.head, REGION_HEADER, sizeof(changed));
	return region_parse_cache(&to, HOST, GENERATION, c);
}

/* --- owner and peer ----------------------------------------------------------- */

TEST(bytes__are_whole_pages_with_room_for_each_word)
{
	static const struct {
		struct region_cache c;
		size_t words, versions;
	} rows[] = {
		{ { 0, 0 }, 4096, 0 },
		{ { 1, 1 }, 5 * 4096, 2 * 4096 },
		{ { 512, 2 }, 5 * 4096, 2 * 4096 },
		{ { 513, 3 }, 6 * 4096, 3 * 4096 },
		{ { REGION_CACHE_WORDS_MAX, REGION_CACHE_SLOTS_MAX }, 36 * 4096, 1955 * 4096 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct region_cache *c = &rows[i].c;
		size_t bytes[TRANSPORT_PARTS];

		region_cache_bytes(c, bytes);
		assert_int_equal(bytes[TRANSPORT_TABLE], 4096);
		assert_int_equal(bytes[TRANSPORT_WORDS], rows[i].words);
		assert_int_equal(bytes[TRANSPORT_LOAD], 0);
		assert_int_equal(bytes[TRANSPORT_VERSIONS], rows[i].versions);
		if (!c->words)
			continue;
		assert_true(region_cache_word_offset(c->words - 1) + 8 <= rows[i].versions);
		assert_true(region_cache_ack_offset(c->slots - 1, REGION_HOSTS_MAX) + 8 <=
			    rows[i].words);
	}
}

TEST(places__of_two_words__are_never_the_same)
{
	assert_true(REGION_CACHE_BEAT / 64 != REGION_CACHE_LOG / 64);
	assert_true(REGION_CACHE_LOG + 8 <= (int)region_cache_word_offset(0));
	assert_int_equal(region_cache_word_offset(7), REGION_CACHE_WORDS + 56);
	assert_int_equal(region_cache_ack_offset(0, 1), REGION_CACHE_ACKS);
	assert_int_equal(region_cache_ack_offset(0, REGION_HOSTS_MAX) + 8,
			 region_cache_ack_offset(1, 1));
}

TEST(init__of_an_app_and_of_a_proxy__a_peer_reads_them)
{
	static const struct region_cache all[] = {
		{ 1000, 3 }, { 1, 1 }, { REGION_CACHE_WORDS_MAX, REGION_CACHE_SLOTS_MAX }, { 0, 0 }
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct region_header h = header_of(&all[i]);
		struct region_cache c = { 99, 99 };

		assert_int_equal(h.entries, all[i].words ? ENTRIES : 0);
		assert_int_equal(region_parse_cache(&h, HOST, GENERATION, &c), 0);
		assert_int_equal(c.words, all[i].words);
		assert_int_equal(c.slots, all[i].slots);
	}
}

/* --- what a peer refuses -------------------------------------------------------- */

/* What a reader says of the header good, with one change, in h. */
#define HEADER_GIVES(rc, change)                                                                   \
	do {                                                                                       \
		struct region_cache got = { 99, 99 };                                              \
		h = good;                                                                          \
		change;                                                                            \
		assert_int_equal(parse_changed(&h, &got), rc);                                     \
		assert_true((rc) == 0 || got.words == 99);                                         \
	} while (0)

TEST(header__each_number_out_of_range__is_refused)
{
	struct region_header good = header_of(&app), h;

	HEADER_GIVES(0, (void)0);
	HEADER_GIVES(-EPROTO, h.magic++);
	HEADER_GIVES(-EPROTONOSUPPORT, h.version++);
	HEADER_GIVES(-EXDEV, h.host++);
	HEADER_GIVES(-ESTALE, h.generation--);
	HEADER_GIVES(-ERANGE, h.entries = REGION_ENTRIES_MAX + 1);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_TABLE] = 0);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_WORDS] -= REGION_PAGE);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_WORDS] += 64);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_WORDS] = TRANSPORT_PART_MAX + REGION_PAGE);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_VERSIONS] = 0);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_VERSIONS] -= REGION_PAGE);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_VERSIONS] += 64);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_VERSIONS] = TRANSPORT_OPTIONAL_MAX + REGION_PAGE);
	HEADER_GIVES(0, h.part_bytes[REGION_VERSIONS] = TRANSPORT_OPTIONAL_MAX);
	for (int i = 0; i < ENTRIES; i++) {
		HEADER_GIVES(-ERANGE, h.directory[i].part = REGION_TABLE);
		HEADER_GIVES(-ERANGE, h.directory[i].offset += 8);
		HEADER_GIVES(-ERANGE, h.directory[i].stride = 64);
		HEADER_GIVES(-ERANGE, h.directory[i].count = 0);
	}
	HEADER_GIVES(-ERANGE, h.directory[BEAT].count = 2);
	HEADER_GIVES(-ERANGE, h.directory[LOG].count = 2);
	HEADER_GIVES(-ERANGE, h.directory[ACKS].count = REGION_HOSTS_MAX + 1);
	HEADER_GIVES(-ERANGE, h.directory[ACKS].count = 4 * REGION_HOSTS_MAX + 1);
	HEADER_GIVES(0, h.directory[ACKS].count = 4 * REGION_HOSTS_MAX);
	HEADER_GIVES(-ERANGE, h.directory[ACKS].count = 5 * REGION_HOSTS_MAX);
	HEADER_GIVES(0, h.directory[VERSIONS].count = 1024);
	HEADER_GIVES(-ERANGE, h.directory[VERSIONS].count = 1025);
}

/* Where the parts are as long as can be, our own limits are the bound. */
TEST(header__more_than_our_limits__is_refused)
{
	struct region_header good = header_of(&(struct region_cache){ REGION_CACHE_WORDS_MAX,
								      REGION_CACHE_SLOTS_MAX }),
			     h;

	good.part_bytes[REGION_WORDS] = TRANSPORT_PART_MAX;
	good.part_bytes[REGION_VERSIONS] = TRANSPORT_OPTIONAL_MAX;
	HEADER_GIVES(0, (void)0);
	HEADER_GIVES(-ERANGE, h.directory[VERSIONS].count++);
	HEADER_GIVES(-ERANGE, h.directory[VERSIONS].count = UINT32_MAX);
	HEADER_GIVES(-ERANGE, h.directory[ACKS].count += REGION_HOSTS_MAX);
	HEADER_GIVES(-ERANGE, h.directory[ACKS].count = UINT32_MAX - UINT32_MAX % REGION_HOSTS_MAX);
}

TEST(header__kinds__all_or_none_and_each_once)
{
	const struct region_entry later = { .kind = 1000, .part = 9 };
	struct region_header good = header_of(&app), h;

	for (int i = 0; i < ENTRIES; i++) {
		HEADER_GIVES(-EPROTO, h.directory[i].kind = 1000);
		HEADER_GIVES(-EPROTO, h.directory[h.entries++] = h.directory[i]);
		HEADER_GIVES(-EPROTO, h.directory[i] = h.directory[(i + 1) % ENTRIES]);
	}
	HEADER_GIVES(0, h.directory[h.entries++] = later);
	/* Without any it is a proxy. */
	good = header_of(&proxy);
	HEADER_GIVES(0, (void)0);
	HEADER_GIVES(0, h.directory[h.entries++] = later);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_WORDS] = 0);
	for (uint32_t kind = REGION_CACHE_BEAT_WORD; kind <= REGION_CACHE_ACK; kind++)
		HEADER_GIVES(-EPROTO, h.directory[h.entries++].kind = kind);
}

/* Each reader takes its own kind of host alone. */
TEST(header__of_resexd__is_no_cached_host)
{
	static uint8_t table[REGION_TABLE_BYTES] __attribute__((aligned(64)));
	struct region_header good = header_of(&app), h;
	struct region_cache c;
	struct region_peer p;
	struct region r;

	region_init(&r, table, HOST, GENERATION);
	assert_int_equal(region_parse_cache(table, HOST, GENERATION, &c), -EPROTO);
	assert_int_equal(region_parse_header(table, HOST, GENERATION, &p), 0);
	assert_int_equal(region_parse_header(&good, HOST, GENERATION, &p), -EPROTO);
	for (uint32_t kind = REGION_HOST; kind <= REGION_LOAD; kind++)
		HEADER_GIVES(-EPROTO, h.directory[h.entries++].kind = kind);
	for (uint32_t kind = REGION_LOCK_PAGE; kind <= REGION_ACK_PAGE; kind++)
		HEADER_GIVES(-EPROTO, h.directory[h.entries++].kind = kind);
}

TEST(header__torn_or_absent__is_said_to_be_so)
{
	struct region_header h = { .magic = 0 };
	struct region_cache c;

	assert_int_equal(region_parse_cache(&h, HOST, GENERATION, &c), -ENOMSG);
	h = header_of(&app);
	h.directory[VERSIONS].count--;
	assert_int_equal(region_parse_cache(&h, HOST, GENERATION, &c), -EAGAIN);
}

/* Whatever numbers an accepted header has, no word lies beyond its part. */
TEST(header__hostile_numbers__words_stay_within)
{
	struct region_header good = header_of(&app);
	uint64_t taken = 0;
	struct prop p;

	prop_start(&p);
	for (uint64_t step = 0; step < 100000; step++) {
		struct region_header h = good;
		struct region_entry *e = &h.directory[prop_range(&p, 0, ENTRIES - 1)];
		struct region_cache c;

		if (prop_one_in(&p, 2))
			h.part_bytes[e->part] = (uint32_t)prop_range(&p, 0, 300) * REGION_PAGE;
		if (prop_one_in(&p, 4))
			e->offset = (uint32_t)prop_hostile(&p);
		if (prop_one_in(&p, 2))
			e->count = (uint32_t)prop_range(&p, 0, 70) * REGION_HOSTS_MAX;
		if (prop_one_in(&p, 4))
			e->count = (uint32_t)prop_hostile(&p);
		if (parse_changed(&h, &c))
			continue;
		taken++;
		prop_assert(&p, step, c.words >= 1 && c.words <= REGION_CACHE_WORDS_MAX);
		prop_assert(&p, step, c.slots >= 1 && c.slots <= REGION_CACHE_SLOTS_MAX);
		prop_assert(&p, step,
			    (uint64_t)region_cache_word_offset(c.words) <=
				    h.part_bytes[REGION_VERSIONS]);
		prop_assert(&p, step,
			    region_cache_ack_offset(c.slots, 1) <= h.part_bytes[REGION_WORDS]);
	}
	assert_true(taken > 100); /* otherwise nothing was tested */
}
