// SPDX-License-Identifier: GPL-2.0-or-later
/* region: a peer finds what the owner publishes; a hostile owner's numbers do no harm. */
#include <errno.h>
#include <string.h>

#include "src/shared/record.h"
#include "src/shared/region.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

enum { HOST = 3, GENERATION = 17 };

struct rig {
	struct region r;
	uint8_t table[REGION_TABLE_BYTES] __attribute__((aligned(64)));
	struct region_peer p; /* what a peer parsed */
};

static int rig_setup(void **state)
{
	struct rig *rig = aligned_alloc(64, (sizeof(*rig) + 63) / 64 * 64);

	if (!rig)
		return -1;
	memset(rig, 0, sizeof(*rig));
	region_init(&rig->r, rig->table, HOST, GENERATION);
	*state = rig;
	return region_parse_header(rig->table, HOST, GENERATION, &rig->p);
}

static int rig_teardown(void **state)
{
	free(*state);
	return 0;
}

static struct region_guest guest(uint32_t i)
{
	struct region_guest g = { .domid = i + 1, .vcpus = 2, .mtus_sent = i * 1000ull };

	snprintf(g.name, sizeof(g.name), "guest-%u", i);
	return g;
}

static void publish_guests(struct rig *rig, uint32_t n)
{
	static struct region_guest g[REGION_GUESTS_MAX];

	for (uint32_t i = 0; i < n; i++)
		g[i] = guest(i);
	assert_int_equal(region_publish_guests(&rig->r, g, n), 0);
}

/* Read by READs, as a peer does. */
static int read_guest(struct rig *rig, const struct region_read *r, uint32_t i,
		      struct region_guest *g)
{
	const void *data = rig->table + r->offset;

	assert_true(r->len > 0 && r->len % 8 == 0 && r->len <= TRANSPORT_READ_MAX);
	assert_true((uint64_t)r->offset + r->len <= sizeof(rig->table));
	return region_parse_guest(region_in(&rig->p, REGION_T_GUESTS, r, data, i), g);
}

static int read_host(struct rig *rig, struct region_host *h)
{
	struct region_read r[REGION_READS_MAX];

	assert_int_equal(region_reads(&rig->p, REGION_T_HOST, 0, 1, r), 1);
	return region_parse_host(&rig->p, rig->table + r[0].offset, h);
}

/* --- owner and peer ----------------------------------------------------------- */

TEST_WITH(init__header__says_whose_it_is_and_where_tables_are, rig_setup, rig_teardown)
{
	struct rig *rig = *state;

	assert_int_equal(rig->p.host, HOST);
	assert_int_equal(rig->p.generation, GENERATION);
	assert_int_equal(rig->p.table[REGION_T_HOST].offset, REGION_AT_HOST);
	assert_int_equal(rig->p.table[REGION_T_GUESTS].offset, REGION_AT_GUESTS);
	assert_int_equal(rig->p.table[REGION_T_NODES].offset, REGION_AT_NODES);
	assert_int_equal(rig->p.table[REGION_T_SERVICES].offset, REGION_AT_SERVICES);
	for (int i = 0; i < REGION_TABLES; i++) {
		assert_int_equal(rig->p.table[i].offset % REGION_PAGE, 0);
		assert_int_equal(rig->p.table[i].stride % 64, 0);
	}
}

TEST_WITH(init__nothing_published__records_say_so, rig_setup, rig_teardown)
{
	struct rig *rig = *state;
	struct region_host h;
	struct region_node n;

	assert_int_equal(read_host(rig, &h), -ENOMSG);
	assert_int_equal(region_parse_node(rig->table + REGION_AT_NODES, &n), -ENOMSG);
}

TEST_WITH(publish__guests_of_all_numbers__a_peer_reads_them, rig_setup, rig_teardown)
{
	struct rig *rig = *state;
	static const uint32_t counts[] = { 0, 1, 84, 85, 86, 170, 255, 256, 3 };

	for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		struct region_read r[REGION_READS_MAX];
		struct region_host h = { .cpus = 4, .name = "north" }, got;
		uint32_t reads, seen = 0;

		publish_guests(rig, counts[k]);
		region_beat(&rig->r, &h);
		assert_int_equal(read_host(rig, &got), 0);
		assert_int_equal(got.guests, counts[k]);
		reads = region_reads(&rig->p, REGION_T_GUESTS, 0, got.guests, r);
		for (uint32_t j = 0; j < reads; j++)
			for (uint32_t i = r[j].first; i < r[j].first + r[j].n; i++, seen++) {
				struct region_guest g, want = guest(i);

				assert_int_equal(i, seen);
				assert_int_equal(read_guest(rig, &r[j], i, &g), 0);
				want.head = g.head;
				assert_memory_equal(&g, &want, sizeof(g));
			}
		assert_int_equal(seen, counts[k]);
	}
}

TEST_WITH(publish__fewer_guests_than_before__the_others_are_emptied, rig_setup, rig_teardown)
{
	struct rig *rig = *state;
	struct region_read r[REGION_READS_MAX];
	struct region_guest g;

	publish_guests(rig, 4);
	publish_guests(rig, 2);
	assert_int_equal(region_reads(&rig->p, REGION_T_GUESTS, 0, 4, r), 1);
	assert_int_equal(read_guest(rig, &r[0], 1, &g), 0);
	assert_string_equal(g.name, "guest-1");
	assert_int_equal(read_guest(rig, &r[0], 2, &g), 0);
	assert_string_equal(g.name, "");
	assert_int_equal(g.mtus_sent, 0);
}

TEST_WITH(publish__more_than_there_is_room_for__changes_nothing, rig_setup, rig_teardown)
{
	struct rig *rig = *state;
	struct region_host h = { .cpus = 1 };
	struct region_guest none;

	publish_guests(rig, 2);
	assert_int_equal(region_publish_guests(&rig->r, &none, REGION_GUESTS_MAX + 1), -E2BIG);
	region_beat(&rig->r, &h);
	assert_int_equal(h.guests, 2);
}

TEST_WITH(publish__nodes_and_services__a_peer_reads_them, rig_setup, rig_teardown)
{
	struct rig *rig = *state;
	struct region_node v[2] = { { .node = 0, .load = 250, .service = 1, .name = "n0" },
				    { .node = 1, .load = 1250, .service = 2, .name = "n1" } };
	struct region_service s = {
		.service = 2, .minimum = 1, .balancers = { 5 }, .name = "shop"
	};
	struct region_read r[REGION_READS_MAX];
	struct region_node node;
	struct region_service service;
	struct region_host h = { .cpus = 1 };

	assert_int_equal(region_publish_nodes(&rig->r, v, 2), 0);
	assert_int_equal(region_publish_services(&rig->r, &s, 1), 0);
	region_beat(&rig->r, &h);
	assert_int_equal(h.nodes, 2);
	assert_int_equal(h.services, 1);
	assert_int_equal(region_reads(&rig->p, REGION_T_NODES, 1, 1, r), 1);
	assert_int_equal(region_parse_node(rig->table + r[0].offset, &node), 0);
	assert_memory_equal(&node, &v[1], sizeof(node));
	assert_int_equal(region_reads(&rig->p, REGION_T_SERVICES, 0, 1, r), 1);
	assert_int_equal(region_parse_service(rig->table + r[0].offset, &service), 0);
	assert_memory_equal(&service, &s, sizeof(service));
}

TEST_WITH(beat__each__is_one_more, rig_setup, rig_teardown)
{
	struct rig *rig = *state;
	struct region_host h = { .cpus = 1 }, got;

	for (uint64_t i = 1; i <= 3; i++) {
		region_beat(&rig->r, &h);
		assert_int_equal(read_host(rig, &got), 0);
		assert_int_equal(got.beat, i);
		assert_int_equal(got.generation, GENERATION);
	}
}

/* --- what a peer refuses -------------------------------------------------------- */

/* Where region_init() puts the entries of the tables, and then of the words' pages. */
/* Of a region without loads. */
enum { TABLES = REGION_T_LOADS, ENTRIES = TABLES + 4 };

static int parse_changed(struct rig *rig, const struct region_header *h)
{
	struct region_header changed = *h, to = { .magic = 0 };
	struct region_peer p;

	record_write(&to, &changed.head, REGION_HEADER, sizeof(changed));
	return region_parse_header(&to, HOST, GENERATION, rig ? &rig->p : &p);
}

/* What a reader says of the header good, with one change, in h. */
#define HEADER_GIVES(rc, change)                                                                   \
	do {                                                                                       \
		h = good;                                                                          \
		change;                                                                            \
		assert_int_equal(parse_changed(NULL, &h), rc);                                     \
	} while (0)

TEST_WITH(header__each_number_out_of_range__is_refused, rig_setup, rig_teardown)
{
	struct rig *rig = *state;
	struct region_header good, h;

	memcpy(&good, rig->table, sizeof(good));
	HEADER_GIVES(0, (void)0);
	HEADER_GIVES(-EPROTO, h.magic++);
	HEADER_GIVES(-EPROTONOSUPPORT, h.version++);
	HEADER_GIVES(-EXDEV, h.host++);
	HEADER_GIVES(-ESTALE, h.generation--);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_TABLE] = 0);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_TABLE] += 64);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_TABLE] -= REGION_PAGE);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_TABLE] = 2 * TRANSPORT_PART_MAX);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_WORDS] -= REGION_PAGE);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_WORDS] = 2 * TRANSPORT_PART_MAX);
	HEADER_GIVES(-ERANGE, h.entries = REGION_ENTRIES_MAX + 1);
	HEADER_GIVES(-ERANGE, h.entries = UINT32_MAX);
	for (int i = 0; i < TABLES; i++) {
		HEADER_GIVES(-ERANGE, h.directory[i].offset = 0);
		HEADER_GIVES(-ERANGE, h.directory[i].offset += 8);
		HEADER_GIVES(-ERANGE, h.directory[i].offset = REGION_TABLE_BYTES);
		HEADER_GIVES(-ERANGE, h.directory[i].offset = UINT32_MAX - 63);
		HEADER_GIVES(-ERANGE, h.directory[i].stride = 64);
		HEADER_GIVES(-ERANGE, h.directory[i].stride += 8);
		HEADER_GIVES(-ERANGE, h.directory[i].stride = 0);
		HEADER_GIVES(-ERANGE, h.directory[i].stride = REGION_STRIDE_MAX + 64);
		HEADER_GIVES(-ERANGE, h.directory[i].count = 0);
		HEADER_GIVES(-ERANGE, h.directory[i].count += 1);
		HEADER_GIVES(-ERANGE, h.directory[i].part = REGION_WORDS);
	}
	for (int i = TABLES; i < ENTRIES; i++) {
		HEADER_GIVES(-ERANGE, h.directory[i].part = REGION_TABLE);
		HEADER_GIVES(-ERANGE, h.directory[i].offset ^= REGION_PAGE);
		HEADER_GIVES(-ERANGE, h.directory[i].stride = 16);
		HEADER_GIVES(-ERANGE, h.directory[i].count -= 1);
	}
	assert_int_equal(good.entries, ENTRIES);
	for (int i = 0; i < ENTRIES; i++) {
		HEADER_GIVES(-EPROTO, h.directory[i].kind = 1000); /* none of this kind */
		HEADER_GIVES(-EPROTO, h.directory[h.entries++] = h.directory[i]); /* two */
	}
}

/* --- loads ----------------------------------------------------------------------- */

static void init_loads(struct rig *rig, uint8_t *loads)
{
	memset(loads, 0, REGION_LOADS_BYTES);
	region_init_loads(&rig->r, loads);
	assert_int_equal(region_parse_header(rig->table, HOST, GENERATION, &rig->p), 0);
}

TEST_WITH(loads__of_a_host_that_publishes_none__are_not_in_its_header, rig_setup, rig_teardown)
{
	struct rig *rig = *state;
	const struct region_header *h = (const void *)rig->table;
	struct region_read r[REGION_READS_MAX];

	assert_int_equal(h->entries, ENTRIES);
	assert_int_equal(h->part_bytes[REGION_LOADS], 0);
	assert_int_equal(region_reads(&rig->p, REGION_T_LOADS, 0, 1, r), 0);
	assert_int_equal(region_reads(&rig->p, REGION_T_LOADS, 0, 0, r), 0);
}

TEST_WITH(loads__published__a_peer_reads_them, rig_setup, rig_teardown)
{
	static uint8_t loads[REGION_LOADS_BYTES] __attribute__((aligned(64)));
	struct rig *rig = *state;
	struct load_record l = { .node = 70, .source = LOAD_ULM, .cpus = 2, .busy_ns = 5 }, got;
	struct region_read r[REGION_READS_MAX];
	uint32_t n, records = 0;

	init_loads(rig, loads);
	region_publish_load(&rig->r, &l);
	n = region_reads(&rig->p, REGION_T_LOADS, 0, REGION_NODES_MAX, r);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(r[i].part, REGION_LOADS);
		assert_in_range(r[i].len, 1, TRANSPORT_READ_MAX);
		assert_in_range(r[i].offset + r[i].len, 1, REGION_LOADS_BYTES);
		for (uint32_t k = r[i].first; k < r[i].first + r[i].n; k++, records++)
			assert_int_equal(region_parse_load(region_in(&rig->p, REGION_T_LOADS, &r[i],
								     loads + r[i].offset, k),
							   k, &got),
					 k == 70 ? 0 : -ENOMSG);
	}
	assert_int_equal(records, REGION_NODES_MAX);
	assert_int_equal(region_parse_load(loads + 70 * sizeof(l), 70, &got), 0);
	assert_memory_equal(&got, &l, sizeof(l));
}

TEST_WITH(loads__with_a_number_out_of_range__are_refused, rig_setup, rig_teardown)
{
	static uint8_t loads[REGION_LOADS_BYTES] __attribute__((aligned(64)));
	struct rig *rig = *state;
	const struct load_record good = { .node = 1, .source = LOAD_SIM };
	struct load_record l, got;

	init_loads(rig, loads);
#define REFUSED(rc, change)                                                                        \
	do {                                                                                       \
		l = good;                                                                          \
		change;                                                                            \
		record_write(loads, &l.head, REGION_LOAD, sizeof(l));                              \
		assert_int_equal(region_parse_load(loads, 1, &got), rc);                           \
	} while (0)
	REFUSED(0, (void)0);
	REFUSED(-ERANGE, l.node = 2);
	REFUSED(-ERANGE, l.source = LOAD_NONE);
	REFUSED(-ERANGE, l.source = LOAD_SOURCES);
	REFUSED(-ERANGE, l.sampled_ns = -1);
	REFUSED(0, l.source = LOAD_ULM);
#undef REFUSED
	((struct load_record *)(void *)loads)->cpus++;
	assert_int_equal(region_parse_load(loads, 1, &got), -EAGAIN);
	record_write(loads, &l.head, REGION_NODE, sizeof(l));
	assert_int_equal(region_parse_load(loads, 1, &got), -EPROTO);
}

TEST_WITH(loads__with_a_hostile_entry__are_refused, rig_setup, rig_teardown)
{
	static uint8_t loads[REGION_LOADS_BYTES] __attribute__((aligned(64)));
	struct rig *rig = *state;
	struct region_header good, h;
	struct region_entry *e = &h.directory[REGION_T_LOADS];

	init_loads(rig, loads);
	memcpy(&good, rig->table, sizeof(good));
	HEADER_GIVES(0, (void)0);
	HEADER_GIVES(0, e->count = 1);
	HEADER_GIVES(0, e->kind = 1000); /* without it there are no loads */
	HEADER_GIVES(0, h.part_bytes[REGION_LOADS] = TRANSPORT_OPTIONAL_MAX);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_LOADS] = 0);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_LOADS] += 64);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_LOADS] = TRANSPORT_OPTIONAL_MAX + REGION_PAGE);
	HEADER_GIVES(-ERANGE, h.part_bytes[REGION_LOADS] -= REGION_PAGE);
	HEADER_GIVES(-ERANGE, e->part = REGION_TABLE);
	HEADER_GIVES(-ERANGE, e->offset = 8);
	HEADER_GIVES(-ERANGE, e->offset = 64);
	HEADER_GIVES(-ERANGE, e->offset = UINT32_MAX - 63);
	HEADER_GIVES(-ERANGE, e->stride = 192);
	HEADER_GIVES(-ERANGE, e->stride = 264);
	HEADER_GIVES(-ERANGE, (e->stride = REGION_STRIDE_MAX + 64, e->count = 1));
	HEADER_GIVES(-ERANGE, e->stride = 320);
	HEADER_GIVES(-ERANGE, e->count = 0);
	HEADER_GIVES(-ERANGE, (e->count = REGION_NODES_MAX + 1, h.part_bytes[REGION_LOADS] *= 2));
	HEADER_GIVES(-EPROTO, h.directory[h.entries++] = *e);
}

/* A later release may have more kinds, and may give another order. */
TEST_WITH(header__kinds_that_are_not_known__are_skipped, rig_setup, rig_teardown)
{
	struct rig *rig = *state;
	struct region_header good, h;

	memcpy(&good, rig->table, sizeof(good));
	h = good;
	for (uint32_t i = 0; i < REGION_ENTRIES_MAX; i++)
		h.directory[i] = (struct region_entry){
			.kind = 1000 + i, .part = 77, .offset = UINT32_MAX, .stride = 3
		};
	h.entries = REGION_ENTRIES_MAX;
	for (uint32_t i = 0; i < ENTRIES; i++)
		h.directory[REGION_ENTRIES_MAX - 1 - 2 * i] = good.directory[i];
	memset(&rig->p, 0, sizeof(rig->p));
	assert_int_equal(parse_changed(rig, &h), 0);
	for (int i = 0; i < TABLES; i++)
		assert_memory_equal(&rig->p.table[i], &good.directory[i],
				    sizeof(good.directory[i]));
}

/* What lies behind the last valid entry is not part of the directory. */
TEST_WITH(header__entries_beyond_the_valid_ones__are_not_read, rig_setup, rig_teardown)
{
	struct rig *rig = *state;
	struct region_header h;

	memcpy(&h, rig->table, sizeof(h));
	h.directory[h.entries] = h.directory[0];
	assert_int_equal(parse_changed(rig, &h), 0);
	h.entries = 0;
	assert_int_equal(parse_changed(rig, &h), -EPROTO);
}

TEST_WITH(header__of_another_version_and_size__is_said_to_be_so, rig_setup, rig_teardown)
{
	struct rig *rig = *state;
	struct {
		struct region_header h;
		uint64_t more;
	} later = { .h = { .magic = REGION_MAGIC, .version = REGION_VERSION + 1 } }, to = { 0 };

	record_write(&to, &later.h.head, REGION_HEADER, sizeof(later));
	assert_int_equal(region_parse_header(&to, HOST, GENERATION, &rig->p), -EPROTONOSUPPORT);
}

TEST_WITH(header__torn_or_absent__is_said_to_be_so, rig_setup, rig_teardown)
{
	struct rig *rig = *state;
	struct region_header h;

	memset(&h, 0, sizeof(h));
	assert_int_equal(region_parse_header(&h, HOST, GENERATION, &rig->p), -ENOMSG);
	memcpy(&h, rig->table, sizeof(h));
	h.directory[1].count--;
	assert_int_equal(region_parse_header(&h, HOST, GENERATION, &rig->p), -EAGAIN);
}

/* Whatever numbers an accepted header has, no READ goes beyond the part. */
TEST_WITH(header__hostile_numbers__reads_stay_within, rig_setup, rig_teardown)
{
	static uint8_t loads[REGION_LOADS_BYTES] __attribute__((aligned(64)));
	struct rig *rig = *state;
	struct region_header good;
	uint64_t taken = 0;
	struct prop p;

	init_loads(rig, loads);
	prop_start(&p);
	memcpy(&good, rig->table, sizeof(good));
	for (uint64_t step = 0; step < 200000; step++) {
		struct region_header h = good;
		struct region_entry *t = &h.directory[prop_range(&p, 0, good.entries - 1)];

		if (prop_one_in(&p, 4))
			h.part_bytes[t->part] = (uint32_t)prop_range(&p, 0, 300) * REGION_PAGE;
		if (prop_one_in(&p, 2))
			t->offset = (uint32_t)prop_hostile(&p) & ~63u;
		if (prop_one_in(&p, 2))
			t->stride = (uint32_t)prop_range(&p, 0, 10) * 64;
		if (prop_one_in(&p, 2))
			t->count = (uint32_t)prop_hostile(&p);
		if (parse_changed(rig, &h))
			continue;
		taken++;
		for (int i = 0; i < REGION_TABLES; i++) {
			struct region_read r[REGION_READS_MAX];
			uint32_t n = rig->p.table[i].count;
			uint32_t reads = region_reads(&rig->p, (enum region_which)i, 0, n, r);

			prop_assert(&p, step, reads >= 1 && reads <= REGION_READS_MAX);
			for (uint32_t k = 0; k < reads; k++) {
				prop_assert(&p, step, r[k].len > 0 && r[k].len % 8 == 0);
				prop_assert(&p, step, r[k].len <= TRANSPORT_READ_MAX);
				prop_assert(&p, step, r[k].offset % 8 == 0);
				prop_assert(&p, step,
					    (uint64_t)r[k].offset + r[k].len <=
						    h.part_bytes[r[k].part]);
			}
		}
	}
	assert_true(taken > 100); /* otherwise nothing was tested */
}

TEST_WITH(reads__records_that_are_not_there__are_none, rig_setup, rig_teardown)
{
	struct rig *rig = *state;
	struct region_read r[REGION_READS_MAX];

	assert_int_equal(region_reads(&rig->p, REGION_T_GUESTS, 0, 0, r), 0);
	assert_int_equal(region_reads(&rig->p, REGION_T_GUESTS, 0, REGION_GUESTS_MAX + 1, r), 0);
	assert_int_equal(region_reads(&rig->p, REGION_T_GUESTS, UINT32_MAX, 2, r), 0);
	assert_int_equal(region_reads(&rig->p, REGION_T_GUESTS, 255, 2, r), 0);
	assert_int_equal(region_reads(&rig->p, REGION_T_GUESTS, 255, 1, r), 1);
}

TEST_WITH(host__more_guests_than_its_table_has__is_refused, rig_setup, rig_teardown)
{
	struct rig *rig = *state;
	struct region_host h = { .generation = GENERATION }, to = { .beat = 0 }, got;

	h.guests = REGION_GUESTS_MAX + 1;
	record_write(&to, &h.head, REGION_HOST, sizeof(h));
	assert_int_equal(region_parse_host(&rig->p, &to, &got), -ERANGE);
	h.guests = REGION_GUESTS_MAX;
	record_write(&to, &h.head, REGION_HOST, sizeof(h));
	assert_int_equal(region_parse_host(&rig->p, &to, &got), 0);
	h.nodes = REGION_NODES_MAX + 1;
	record_write(&to, &h.head, REGION_HOST, sizeof(h));
	assert_int_equal(region_parse_host(&rig->p, &to, &got), -ERANGE);
	h.nodes = 0;
	h.services = REGION_SERVICES_MAX + 1;
	record_write(&to, &h.head, REGION_HOST, sizeof(h));
	assert_int_equal(region_parse_host(&rig->p, &to, &got), -ERANGE);
}

TEST_WITH(host__of_another_generation__is_stale, rig_setup, rig_teardown)
{
	struct rig *rig = *state;
	struct region_host h = { .generation = GENERATION + 1 }, to = { .beat = 0 }, got;

	record_write(&to, &h.head, REGION_HOST, sizeof(h));
	assert_int_equal(region_parse_host(&rig->p, &to, &got), -ESTALE);
}

TEST(text__no_end__is_refused)
{
	struct region_guest g = { .domid = 1 }, to = { .domid = 0 }, got;

	memset(g.name, 'x', sizeof(g.name));
	record_write(&to, &g.head, REGION_GUEST, sizeof(g));
	assert_int_equal(region_parse_guest(&to, &got), -EPROTO);
}

TEST(text__what_a_terminal_would_obey__is_tamed)
{
	struct region_guest g = { .name = "a\x1b[2Jb\xff" }, to = { .domid = 0 }, got;

	record_write(&to, &g.head, REGION_GUEST, sizeof(g));
	assert_int_equal(region_parse_guest(&to, &got), 0);
	assert_string_equal(got.name, "a?[2Jb");
}

TEST(node__numbers_that_are_none__are_refused)
{
	struct region_node n = { .node = REGION_NODES_MAX }, to = { .node = 0 }, got;
	struct region_service s = { .service = REGION_SERVICES_MAX + 1 }, sto = { .service = 0 };

	record_write(&to, &n.head, REGION_NODE, sizeof(n));
	assert_int_equal(region_parse_node(&to, &got), -ERANGE);
	n = (struct region_node){ .service = REGION_SERVICES_MAX + 1 };
	record_write(&to, &n.head, REGION_NODE, sizeof(n));
	assert_int_equal(region_parse_node(&to, &got), -ERANGE);
	record_write(&sto, &s.head, REGION_SERVICE, sizeof(s));
	assert_int_equal(region_parse_service(&sto, &s), -ERANGE);
}

TEST(why__each_error__is_a_sentence_of_its_own)
{
	static const int rcs[] = { -EAGAIN, -ENOMSG, -EPROTO, -EPROTONOSUPPORT,
				   -EXDEV,  -ESTALE, -ERANGE };
	enum { N = sizeof(rcs) / sizeof(rcs[0]) };

	for (int i = 0; i < N; i++)
		for (int k = 0; k < i; k++)
			assert_string_not_equal(region_why(rcs[i]), region_why(rcs[k]));
}

/* --- the words ------------------------------------------------------------------ */

TEST(words__of_a_generation)
{
	static uint64_t words[REGION_WORDS_BYTES / 8];

	assert_int_equal(region_words(words, 5, NULL), 0);
	for (uint32_t s = 1; s <= REGION_SERVICES_MAX; s++) {
		assert_true(words[region_lock_offset(s) / 8] == region_word(0, region_seq(5, 0)));
		assert_true(words[region_counter_offset(s) / 8] == 0);
	}
	for (uint32_t n = 0; n < REGION_NODES_MAX; n++) {
		assert_true(words[region_node_offset(n) / 8] == region_word(0, region_seq(0, 1)));
		assert_true(words[region_kept_offset(n) / 8] == region_word(0, region_seq(0, 1)));
	}
	for (uint32_t i = REGION_ACKS / 8; i < REGION_WORDS_BYTES / 8; i++)
		assert_true(words[i] == 0);
}

TEST(words__nodes_that_are_on_disk__begin_with_these_and_are_kept)
{
	static uint64_t words[REGION_WORDS_BYTES / 8];
	uint64_t node[REGION_NODES_MAX];

	for (uint32_t n = 0; n < REGION_NODES_MAX; n++)
		node[n] = region_word((uint16_t)(n % 7), region_seq(3, n + 1));
	assert_int_equal(region_words(words, 5, node), 0);
	for (uint32_t n = 0; n < REGION_NODES_MAX; n++) {
		assert_true(words[region_node_offset(n) / 8] == node[n]);
		assert_true(words[region_kept_offset(n) / 8] == node[n]);
	}
	assert_true(words[REGION_ACKS / 8] == 0);
}

TEST(words__kept__same_service_and_epoch)
{
	uint64_t word = region_word(7, region_seq(3, 9));

	assert_true(region_is_kept(word, word));
	assert_true(region_is_kept(word, region_word(7, region_seq(3, 1))));
	assert_false(region_is_kept(word, region_word(7, region_seq(2, 9))));
	assert_false(region_is_kept(word, region_word(6, region_seq(3, 9))));
}

TEST(words__a_generation_seq_has_no_room_for__is_refused)
{
	static uint64_t words[REGION_WORDS_BYTES / 8];

	assert_int_equal(region_words(words, 0, NULL), -ERANGE);
	assert_int_equal(region_words(words, 1u << 30, NULL), -ERANGE);
	assert_int_equal(region_words(words, (1ull << 32) + 1, NULL), -ERANGE);
	assert_int_equal(region_words(words, (1u << 30) - 1, NULL), 0);
	assert_true(words[0] == 0x3fffffffull << 24);
}
