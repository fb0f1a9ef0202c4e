// SPDX-License-Identifier: GPL-2.0-or-later
/* resex-region(7): each number of its tables is the header's, and no field is left out. */
#include <string.h>

#include "src/load/index.h"
#include "src/shared/region.h"
#include "tests/unit/examples.h"
#include "tests/unit/unit.h"

#define PAGE "man/resex-region.7"

enum { ROWS_MAX = 32, COLUMNS = 3, CELL = 32 };

/* The rows of one table, without its head: what stands in their first cells. */
struct rows {
	uint32_t n;
	char cell[ROWS_MAX][COLUMNS][CELL];
};

/* ".It 16 Ta 8 Ta Va beat Ta words": the first cells, without "Va ". */
static void split(const char *line, char cell[COLUMNS][CELL])
{
	char copy[1024], *at = copy;

	snprintf(copy, sizeof(copy), "%s", line + strlen(".It "));
	copy[strcspn(copy, "\n")] = '\0';
	for (int i = 0; i < COLUMNS; i++) {
		char *end = strstr(at, " Ta");

		if (end)
			*end = '\0';
		if (!strncmp(at, "Va ", 3))
			at += 3;
		snprintf(cell[i], CELL, "%.*s", CELL - 1, at);
		at = end && end[3] ? end + 4 : at + strlen(at);
	}
}

/* The table of the subsection with this title. */
static void rows_open(struct rows *r, const char *title)
{
	char path[256], line[1024], head[64];
	FILE *f = fopen(example_path(PAGE, path, sizeof(path)), "r");
	bool inside = false;

	if (!f)
		fail_msg("%s cannot be read: set srcdir to the top of the sources", path);
	memset(r, 0, sizeof(*r));
	snprintf(head, sizeof(head), ".Ss %s\n", title);
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '.' && line[1] == 'S')
			inside = !strcmp(line, head);
		if (!inside || strncmp(line, ".It ", 4) != 0 || !strncmp(line, ".It offset", 10))
			continue;
		assert_true(r->n < ROWS_MAX);
		split(line, r->cell[r->n++]);
	}
	fclose(f);
	assert_true(r->n > 0);
}

struct field {
	const char *name;
	size_t offset, size;
};

#define FIELD(type, f)                                                                             \
	{                                                                                          \
#f, offsetof(struct type, f), sizeof(((struct type *)0)->f)                        \
	}

static void assert_number(const char *text, size_t number)
{
	char want[32];

	snprintf(want, sizeof(want), "%zu", number);
	assert_string_equal(text, want);
}

/* They follow each other without a gap up to size, and the page says the same. */
static void assert_page(const char *title, const struct field *f, size_t n, size_t size)
{
	size_t at = f[0].offset;
	struct rows r;

	rows_open(&r, title);
	assert_int_equal(r.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(f[i].offset, at);
		assert_string_equal(r.cell[i][2], f[i].name);
		assert_number(r.cell[i][0], f[i].offset);
		assert_number(r.cell[i][1], f[i].size);
		at += f[i].size;
	}
	assert_int_equal(at, size);
}

#define N(a) (sizeof(a) / sizeof((a)[0]))

TEST(page__record__is_as_in_the_header)
{
	static const struct field f[] = {
		FIELD(region_record, seq),
		FIELD(region_record, bytes),
		FIELD(region_record, kind),
		FIELD(region_record, crc),
	};

	assert_page("Record", f, N(f), sizeof(struct region_record));
}

TEST(page__header__is_as_in_the_header)
{
	static const struct field f[] = {
		FIELD(region_header, magic),	  FIELD(region_header, version),
		FIELD(region_header, host),	  FIELD(region_header, generation),
		FIELD(region_header, entries),	  FIELD(region_header, reserved),
		FIELD(region_header, part_bytes), FIELD(region_header, directory),
	};
	static const struct field entry[] = {
		FIELD(region_entry, kind),   FIELD(region_entry, part),
		FIELD(region_entry, offset), FIELD(region_entry, stride),
		FIELD(region_entry, count),  FIELD(region_entry, reserved),
	};

	assert_page("Entry", entry, N(entry), sizeof(struct region_entry));

	assert_page("Header", f, N(f), sizeof(struct region_header));
}

TEST(page__host__is_as_in_the_header)
{
	static const struct field f[] = {
		FIELD(region_host, beat),
		FIELD(region_host, wall_ns),
		FIELD(region_host, generation),
		FIELD(region_host, view),
		FIELD(region_host, members),
		FIELD(region_host, quorate),
		FIELD(region_host, guests),
		FIELD(region_host, cpus),
		FIELD(region_host, links),
		FIELD(region_host, link_bytes_s),
		FIELD(region_host, epoch),
		FIELD(region_host, supply_m),
		FIELD(region_host, name),
		FIELD(region_host, version),
		FIELD(region_host, policy),
		FIELD(region_host, nodes),
		FIELD(region_host, services),
		FIELD(region_host, flags),
		FIELD(region_host, figures_age_ns),
		FIELD(region_host, hosts_digest),
		FIELD(region_host, services_digest),
		FIELD(region_host, nodes_digest),
		FIELD(region_host, reserved),
	};

	assert_page("Host", f, N(f), sizeof(struct region_host));
}

TEST(page__guest__is_as_in_the_header)
{
	static const struct field f[] = {
		FIELD(region_guest, uuid),	 FIELD(region_guest, domid),
		FIELD(region_guest, flags),	 FIELD(region_guest, vcpus),
		FIELD(region_guest, weight),	 FIELD(region_guest, cap_mpct),
		FIELD(region_guest, rings),	 FIELD(region_guest, allocated_m),
		FIELD(region_guest, balance_m),	 FIELD(region_guest, mtus_sent),
		FIELD(region_guest, mtus_recv),	 FIELD(region_guest, cpu_ns),
		FIELD(region_guest, latency_ns), FIELD(region_guest, name),
		FIELD(region_guest, reserved),
	};

	assert_page("Guest", f, N(f), sizeof(struct region_guest));
}

TEST(page__node_and_service__are_as_in_the_header)
{
	static const struct field node[] = {
		FIELD(region_node, node),     FIELD(region_node, flags),
		FIELD(region_node, load),     FIELD(region_node, service),
		FIELD(region_node, name),     FIELD(region_node, ready),
		FIELD(region_node, phase),    FIELD(region_node, from),
		FIELD(region_node, reserved),
	};
	static const struct field service[] = {
		FIELD(region_service, service),	  FIELD(region_service, minimum),
		FIELD(region_service, balancers), FIELD(region_service, name),
		FIELD(region_service, more),
	};

	assert_page("Node", node, N(node), sizeof(struct region_node));
	assert_page("Service", service, N(service), sizeof(struct region_service));
}

TEST(page__load__is_as_in_the_header)
{
	static const struct field f[] = {
		FIELD(load_record, node),
		FIELD(load_record, source),
		FIELD(load_record, flags),
		FIELD(load_record, cpus),
		FIELD(load_record, beat),
		FIELD(load_record, sampled_ns),
		FIELD(load_record, period_ns),
		FIELD(load_record, busy_ns),
		FIELD(load_record, irq_ns),
		FIELD(load_record, softirq_ns),
		FIELD(load_record, iowait_ns),
		FIELD(load_record, steal_ns),
		FIELD(load_record, wait_ns),
		FIELD(load_record, running),
		FIELD(load_record, softirq_pending),
		FIELD(load_record, load_avg),
		FIELD(load_record, queued),
		FIELD(load_record, served),
		FIELD(load_record, latency_ns),
		FIELD(load_record, reserved),
	};

	assert_page("Load", f, N(f), sizeof(struct load_record));
}

/* What region_init() says of the tables in the table part. */
TEST(page__where_things_are__is_what_an_owner_lays_out)
{
	uint8_t *table = aligned_alloc(64, REGION_TABLE_BYTES);
	struct region_peer p;
	struct region r;
	struct rows rows;

	assert_non_null(table);
	memset(table, 0, REGION_TABLE_BYTES);
	region_init(&r, table, 1, 1);
	assert_int_equal(region_parse_header(table, 1, 1, &p), 0);
	rows_open(&rows, "Layout");
	assert_int_equal(rows.n, REGION_T_LOADS + 2);
	for (uint32_t i = 0; i < REGION_T_LOADS; i++) {
		assert_number(rows.cell[i + 1][0], p.table[i].offset);
		assert_number(rows.cell[i + 1][1], p.table[i].stride);
		assert_number(rows.cell[i + 1][2], p.table[i].count);
	}
	assert_number(rows.cell[REGION_T_LOADS + 1][0], REGION_TABLE_BYTES);
	free(table);
}

TEST(page__words__is_as_in_the_header)
{
	const size_t at[] = { REGION_LOCKS,	     REGION_COUNTERS, REGION_NODE_WORDS,
			      region_kept_offset(0), REGION_ACKS,     REGION_WORDS_BYTES };
	struct rows rows;

	rows_open(&rows, "Words");
	assert_int_equal(rows.n, N(at));
	for (size_t i = 0; i < N(at); i++)
		assert_number(rows.cell[i][0], at[i]);
}

/* What region_init_cache() says. */
TEST(page__cached_hosts__is_what_an_owner_lays_out)
{
	const struct region_cache c = { .words = 9, .slots = 2 };
	struct region_header h = { .magic = 0 };
	struct rows rows;

	region_init_cache(&h, 1, 1, &c);
	rows_open(&rows, "Cached hosts");
	assert_int_equal(rows.n, h.entries);
	for (uint32_t i = 0; i < rows.n; i++) {
		assert_number(rows.cell[i][0], h.directory[i].offset);
		assert_number(rows.cell[i][1], h.directory[i].part);
		assert_int_equal(h.directory[i].stride, 8);
	}
}

/* Numbers that stand in sentences. */
TEST(page__limits__are_those_in_force)
{
	static const struct {
		const char *before;
		uint64_t number;
		const char *after;
	} says[] = {
		{ "Va version Ta ", REGION_VERSION, "\n" },
		{ "the owner's number, 1 to ", REGION_HOSTS_MAX, "\n" },
		{ "(a multiple of 64, at most ", REGION_STRIDE_MAX, ")" },
		{ "its number, 1 to ", REGION_SERVICES_MAX, "\n" },
		{ "A READ is at most ", TRANSPORT_READ_MAX, " bytes" },
		{ "which is at most ", TRANSPORT_PART_MAX, "." },
		{ "valid entries of the directory, at most ", REGION_ENTRIES_MAX, "\n" },
		{ "64 locks, 65 counters, 66 nodes, ", REGION_ACK_PAGE, " acks" },
		{ "70 version words, ", REGION_CACHE_ACK, " ack words" },
		{ "(h \\- 1): fence 30, number ", 34, "\n" },
		{ "by host h at ", REGION_CACHE_ACKS_STRIDE, " s" },
		{ "that of the version words, 1 to ", REGION_CACHE_WORDS_MAX, ", and " },
		{ "times the slots, 1 to ", REGION_CACHE_SLOTS_MAX, "." },
		{ "part 3 at most ", TRANSPORT_OPTIONAL_MAX, "." },
		{ "4 node, ", REGION_SERVICE, " service" },
		{ "5 service, ", REGION_LOAD, " load" },
		{ "3 the hypervisor, ", LOAD_SIM, " simulated" },
		{ "idle times are up to date, ", LOAD_DISAGREES, " the hypervisor" },
		{ "that are online, at most ", LOAD_CPUS_MAX, "\n" },
		{ "1 it answers, ", REGION_NODE_FIXED, " it is never moved" },
		{ ", ", REGION_GUEST_OBSERVED, " only observed, by pause" },
	};
	static char page[1 << 17];
	char path[256], want[128];
	FILE *f = fopen(example_path(PAGE, path, sizeof(path)), "r");

	assert_non_null(f);
	page[fread(page, 1, sizeof(page) - 1, f)] = '\0';
	fclose(f);
	for (size_t i = 0; i < N(says); i++) {
		snprintf(want, sizeof(want), "%s%llu%s", says[i].before,
			 (unsigned long long)says[i].number, says[i].after);
		if (!strstr(page, want))
			fail_msg("%s does not say: %s", PAGE, want);
	}
	snprintf(want, sizeof(want), "Va magic Ta 0x%llx", (unsigned long long)REGION_MAGIC);
	assert_non_null(strstr(page, want));
}
