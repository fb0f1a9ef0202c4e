// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_record: what a hostile peer's region shows, through region_parse_*.
 *
 * Input: a byte of control (enum), then a header, then a byte and as much of a
 * record as its kind is long, until it is used up. A checksum is nothing a fuzzer finds:
 * control says what is made right before it is parsed. Each copy is memory of its
 * own, no longer than the record, so that reading on is seen. What was taken as
 * good is published in a region of our own: a peer reads the same there. A header that is no
 * resexd's may be a cached host's.
 */
#include <errno.h>

#include "src/shared/record.h"
#include "src/shared/region.h"
#include "src/util/utf8.h"
#include "tests/fuzz/fuzz.h"

enum {
	RIGHT_HEADER = 1 << 0, /* the header's head is put right */
	RIGHT_RECORD = 1 << 1, /* a record's head is */
	RIGHT_PEER = 1 << 2,   /* host and generation are the expected ones */
};

static void *take_record(struct bytes *in, uint32_t size, bool right, enum region_kind kind)
{
	struct region_record *r = malloc(size);

	if (!r)
		abort();
	take(in, r, size);
	if (right) {
		r->seq |= 1;
		r->kind = kind;
		r->bytes = size - (uint32_t)sizeof(*r);
		r->crc = record_crc(r, size);
	}
	return r;
}

static bool text_good(const char *s, size_t size)
{
	if (!memchr(s, '\0', size) || !utf8_good(s))
		return false;
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

/* No READ of a table leads out of its part, as long as the header says. */
static void check_reads(const struct region_peer *p, const uint32_t *part_bytes, struct bytes *in)
{
	for (int i = 0; i < REGION_TABLES; i++) {
		enum region_which which = (enum region_which)i;
		struct region_read r[REGION_READS_MAX];
		uint32_t first = take8(in), n = take16(in) % 300;
		uint32_t reads = region_reads(p, which, first, n, r), next = first;

		FUZZ_REQUIRE(reads <= REGION_READS_MAX);
		FUZZ_REQUIRE(!reads == !(n && first + n <= p->table[i].count));
		for (uint32_t k = 0; k < reads; k++) {
			const uint8_t *last = region_in(p, which, &r[k], in->at, next + r[k].n - 1);

			FUZZ_REQUIRE(r[k].first == next && r[k].n > 0);
			FUZZ_REQUIRE(r[k].offset % 8 == 0 && r[k].len % 8 == 0);
			FUZZ_REQUIRE(r[k].len > 0 && r[k].len <= TRANSPORT_READ_MAX);
			FUZZ_REQUIRE(r[k].part ==
				     (i == REGION_T_LOADS ? REGION_LOADS : REGION_TABLE));
			FUZZ_REQUIRE((uint64_t)r[k].offset + r[k].len <= part_bytes[r[k].part]);
			FUZZ_REQUIRE((size_t)(last - in->at) < r[k].len);
			next += r[k].n;
		}
		FUZZ_REQUIRE(!reads || next == first + n);
	}
}

/* No word lies beyond its part, and an owner that serves as much says the same. */
static void parse_cache(const struct region_header *h, uint16_t host, uint64_t generation)
{
	struct region_header own = { .magic = 0 };
	struct region_cache c, again;
	size_t bytes[TRANSPORT_PARTS];
	int rc = region_parse_cache(h, host, generation, &c);

	FUZZ_REQUIRE(rc <= 0);
	if (rc)
		return;
	FUZZ_REQUIRE(h->host == host && h->generation == generation);
	FUZZ_REQUIRE(!c.words == !c.slots);
	FUZZ_REQUIRE(c.words <= REGION_CACHE_WORDS_MAX && c.slots <= REGION_CACHE_SLOTS_MAX);
	FUZZ_REQUIRE(h->part_bytes[REGION_WORDS] <= TRANSPORT_PART_MAX);
	if (c.words) {
		FUZZ_REQUIRE(h->part_bytes[REGION_VERSIONS] <= TRANSPORT_OPTIONAL_MAX);
		FUZZ_REQUIRE(region_cache_word_offset(c.words) <= h->part_bytes[REGION_VERSIONS]);
		FUZZ_REQUIRE(region_cache_ack_offset(c.slots, 1) <= h->part_bytes[REGION_WORDS]);
	}
	region_cache_bytes(&c, bytes);
	for (int i = 0; i < TRANSPORT_PARTS; i++)
		FUZZ_REQUIRE(bytes[i] % REGION_PAGE == 0);
	region_init_cache(&own, host, generation, &c);
	FUZZ_REQUIRE(!region_parse_cache(&own, host, generation, &again));
	FUZZ_REQUIRE(again.words == c.words && again.slots == c.slots);
}

static bool parse_header(struct bytes *in, uint8_t control, struct region_peer *p)
{
	struct region_header *h = take_record(in, sizeof(*h), control & RIGHT_HEADER,
					      REGION_HEADER);
	bool known = control & RIGHT_PEER;
	uint16_t host = known ? (uint16_t)h->host : 3;
	uint64_t generation = known ? h->generation : 17;
	int rc = region_parse_header(h, host, generation, p);

	FUZZ_REQUIRE(rc <= 0 && strlen(region_why(rc)) > 0);
	if (rc)
		parse_cache(h, host, generation);
	else
		FUZZ_REQUIRE(region_parse_cache(h, host, generation, &(struct region_cache){ 0 }) ==
			     -EPROTO);
	if (rc == 0) {
		FUZZ_REQUIRE(h->part_bytes[REGION_TABLE] <= TRANSPORT_PART_MAX);
		FUZZ_REQUIRE(p->host == h->host && p->generation == h->generation);
		FUZZ_REQUIRE(!p->table[REGION_T_LOADS].count ||
			     h->part_bytes[REGION_LOADS] <= TRANSPORT_OPTIONAL_MAX);
		check_reads(p, h->part_bytes, in);
	}
	free(h);
	return rc == 0;
}

struct own {
	struct region r;
	struct region_peer p;
	uint8_t table[REGION_TABLE_BYTES] __attribute__((aligned(64)));
	uint8_t loads[REGION_LOADS_BYTES] __attribute__((aligned(64)));
};

static void own_begin(struct own *o)
{
	memset(o->table, 0, sizeof(o->table));
	region_init(&o->r, o->table, 3, 17);
	region_init_loads(&o->r, o->loads);
	FUZZ_REQUIRE(region_parse_header(o->table, 3, 17, &o->p) == 0);
}

/* From the payload on, two records are the same. */
static bool same(const void *a, const void *b, size_t size)
{
	enum { HEAD = sizeof(struct region_record) };

	return !memcmp((const uint8_t *)a + HEAD, (const uint8_t *)b + HEAD, size - HEAD);
}

static void parse_host(struct bytes *in, bool right, const struct region_peer *p, struct own *o)
{
	struct region_host *h = take_record(in, sizeof(*h), right, REGION_HOST), got, again;

	if (right)
		h->generation = p->generation;
	if (right)
		h->head.crc = record_crc(h, sizeof(*h));
	if (region_parse_host(p, h, &got) == 0) {
		FUZZ_REQUIRE(got.generation == p->generation);
		FUZZ_REQUIRE(got.guests <= REGION_GUESTS_MAX && got.nodes <= REGION_NODES_MAX);
		FUZZ_REQUIRE(got.services <= REGION_SERVICES_MAX);
		FUZZ_REQUIRE(text_good(got.name, sizeof(got.name)));
		FUZZ_REQUIRE(text_good(got.version, sizeof(got.version)));
		FUZZ_REQUIRE(text_good(got.policy, sizeof(got.policy)));
		region_beat(&o->r, &got);
		FUZZ_REQUIRE(!region_parse_host(&o->p, o->table + REGION_AT_HOST, &again));
		FUZZ_REQUIRE(same(&got, &again, sizeof(got)));
	}
	free(h);
}

static void parse_guest(struct bytes *in, bool right, struct own *o)
{
	struct region_guest *g = take_record(in, sizeof(*g), right, REGION_GUEST), got, again;

	if (region_parse_guest(g, &got) == 0) {
		FUZZ_REQUIRE(text_good(got.name, sizeof(got.name)));
		FUZZ_REQUIRE(!region_publish_guests(&o->r, &got, 1));
		FUZZ_REQUIRE(!region_parse_guest(o->table + REGION_AT_GUESTS, &again));
		FUZZ_REQUIRE(same(&got, &again, sizeof(got)));
		FUZZ_REQUIRE(!region_publish_guests(&o->r, &got, 0));
	}
	free(g);
}

static void parse_node(struct bytes *in, bool right, struct own *o)
{
	struct region_node *n = take_record(in, sizeof(*n), right, REGION_NODE), got, again;

	if (region_parse_node(n, &got) == 0) {
		FUZZ_REQUIRE(got.node < REGION_NODES_MAX && got.service <= REGION_SERVICES_MAX);
		FUZZ_REQUIRE(text_good(got.name, sizeof(got.name)));
		FUZZ_REQUIRE(!region_publish_nodes(&o->r, &got, 1));
		FUZZ_REQUIRE(!region_parse_node(o->table + REGION_AT_NODES, &again));
		FUZZ_REQUIRE(same(&got, &again, sizeof(got)));
		FUZZ_REQUIRE(!region_publish_nodes(&o->r, &got, 0));
	}
	free(n);
}

static void parse_service(struct bytes *in, bool right, struct own *o)
{
	struct region_service *s = take_record(in, sizeof(*s), right, REGION_SERVICE), got, again;

	if (region_parse_service(s, &got) == 0) {
		FUZZ_REQUIRE(got.service <= REGION_SERVICES_MAX);
		FUZZ_REQUIRE(text_good(got.name, sizeof(got.name)));
		FUZZ_REQUIRE(!region_publish_services(&o->r, &got, 1));
		FUZZ_REQUIRE(!region_parse_service(o->table + REGION_AT_SERVICES, &again));
		FUZZ_REQUIRE(same(&got, &again, sizeof(got)));
		FUZZ_REQUIRE(!region_publish_services(&o->r, &got, 0));
	}
	free(s);
}

static void parse_load(struct bytes *in, bool right, struct own *o)
{
	struct load_record *l = take_record(in, sizeof(*l), right, REGION_LOAD), got, again;
	uint32_t node = l->node % REGION_NODES_MAX;

	if (region_parse_load(l, node, &got) == 0) {
		FUZZ_REQUIRE(got.node == node && got.source && got.source < LOAD_SOURCES);
		FUZZ_REQUIRE(got.sampled_ns >= 0);
		region_publish_load(&o->r, &got);
		FUZZ_REQUIRE(!region_parse_load(o->loads + node * sizeof(got), node, &again));
		FUZZ_REQUIRE(same(&got, &again, sizeof(got)));
	}
	free(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = { data, size };
	uint8_t control = take8(&in);
	bool right = control & RIGHT_RECORD;
	static struct own own;
	struct region_peer p;

	if (!parse_header(&in, control, &p))
		return 0;
	own_begin(&own);
	while (in.left) {
		switch (take8(&in) % 5) {
		case 0:
			parse_host(&in, right, &p, &own);
			break;
		case 1:
			parse_guest(&in, right, &own);
			break;
		case 2:
			parse_node(&in, right, &own);
			break;
		case 3:
			parse_service(&in, right, &own);
			break;
		default:
			parse_load(&in, right, &own);
		}
	}
	return 0;
}
