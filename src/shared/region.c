// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * region: the owner writes its records, a peer finds and checks them.
 *
 * src/cluster calls the owner's half; peers.c calls a peer's half on the data of its READs. Both
 * use one table of shapes. The layout is in include/resex/region_abi.h.
 */
#include "src/shared/region.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "src/shared/record.h"
#include "src/util/utf8.h"

/* The contents of each table. */
static const struct region_shape {
	enum region_kind kind;
	enum region_part part;
	uint32_t offset; /* in this version */
	uint32_t size;	 /* of a record, with its head */
	uint32_t max;	 /* records */
} shapes[REGION_TABLES] = {
	{ REGION_HOST, REGION_TABLE, REGION_AT_HOST, sizeof(struct region_host), 1 },
	{ REGION_GUEST, REGION_TABLE, REGION_AT_GUESTS, sizeof(struct region_guest),
	  REGION_GUESTS_MAX },
	{ REGION_NODE, REGION_TABLE, REGION_AT_NODES, sizeof(struct region_node),
	  REGION_NODES_MAX },
	{ REGION_SERVICE, REGION_TABLE, REGION_AT_SERVICES, sizeof(struct region_service),
	  REGION_SERVICES_MAX },
	{ REGION_LOAD, REGION_LOADS, 0, sizeof(struct load_record), REGION_NODES_MAX },
};

/* The words of each kind, where the steps of src/reconf post their atomics. */
static const struct region_page {
	enum region_kind kind;
	uint32_t offset;
} pages[] = {
	{ REGION_LOCK_PAGE, REGION_LOCKS },
	{ REGION_COUNTER_PAGE, REGION_COUNTERS },
	{ REGION_NODE_PAGE, REGION_NODE_WORDS },
	{ REGION_ACK_PAGE, REGION_ACKS },
};

enum { PAGES = sizeof(pages) / sizeof(pages[0]) };

enum { CACHE_KINDS = 4 };

static_assert((int)REGION_TABLE == (int)TRANSPORT_TABLE &&
		      (int)REGION_WORDS == (int)TRANSPORT_WORDS,
	      "the directory has the transport's numbers of parts");
static_assert((int)REGION_LOADS == (int)TRANSPORT_LOAD &&
		      (int)REGION_VERSIONS == (int)TRANSPORT_VERSIONS,
	      "as above");
static_assert(sizeof(struct load_record) * REGION_NODES_MAX == REGION_LOADS_BYTES, "loads");
static_assert((int)REGION_TABLES + (int)PAGES <= (int)REGION_ENTRIES_MAX, "directory");
static_assert(sizeof(struct region_header) <= REGION_AT_HOST, "header");

#define STRIDE(type) ((sizeof(struct type) + 63) / 64 * 64)

static_assert(REGION_AT_HOST + STRIDE(region_host) <= REGION_AT_GUESTS, "host");
static_assert(REGION_AT_GUESTS + STRIDE(region_guest) * REGION_GUESTS_MAX <= REGION_AT_NODES,
	      "guests");
static_assert(REGION_AT_NODES + STRIDE(region_node) * REGION_NODES_MAX <= REGION_AT_SERVICES,
	      "nodes");
static_assert(REGION_AT_SERVICES + STRIDE(region_service) * REGION_SERVICES_MAX <=
		      REGION_TABLE_BYTES,
	      "services");
static_assert((int)REGION_TABLE_BYTES <= (int)TRANSPORT_PART_MAX &&
		      (int)REGION_WORDS_BYTES <= (int)TRANSPORT_PART_MAX,
	      "a part's size");
static_assert(REGION_CACHE_WORDS + 8 * REGION_CACHE_WORDS_MAX + REGION_PAGE <=
		      TRANSPORT_OPTIONAL_MAX,
	      "version words");
static_assert(REGION_CACHE_ACKS + REGION_CACHE_SLOTS_MAX * REGION_CACHE_ACKS_STRIDE <=
		      (int)TRANSPORT_PART_MAX,
	      "ack words");
static_assert(TRANSPORT_READ_MAX / REGION_STRIDE_MAX * REGION_READS_MAX >= REGION_GUESTS_MAX,
	      "READs enough for a whole table");

/*
 * Whole cache lines of 64 bytes: no record shares a line with its neighbour, which is written at
 * other times.
 */
static uint32_t stride_of(const struct region_shape *s)
{
	return (s->size + 63) / 64 * 64;
}

/* --- the owner --------------------------------------------------------------- */

static void *record_at(const struct region *r, enum region_which which, uint32_t i)
{
	void *part = shapes[which].part == REGION_LOADS ? r->loads : r->table;

	return (uint8_t *)part + shapes[which].offset + stride_of(&shapes[which]) * i;
}

static void add_entry(struct region_header *h, const struct region_entry *e)
{
	h->directory[h->entries++] = *e;
}

static void write_header(struct region *r)
{
	struct region_header h = {
		.magic = REGION_MAGIC,
		.version = REGION_VERSION,
		.host = r->host,
		.generation = r->generation,
		.part_bytes = { [REGION_TABLE] = REGION_TABLE_BYTES,
				[REGION_WORDS] = REGION_WORDS_BYTES,
				[REGION_LOADS] = r->loads ? REGION_LOADS_BYTES : 0 },
	};

	for (int i = 0; i < REGION_TABLES; i++)
		if (h.part_bytes[shapes[i].part])
			add_entry(&h, &(struct region_entry){ .kind = shapes[i].kind,
							      .part = shapes[i].part,
							      .offset = shapes[i].offset,
							      .stride = stride_of(&shapes[i]),
							      .count = shapes[i].max });
	for (int i = 0; i < PAGES; i++)
		add_entry(&h, &(struct region_entry){ .kind = pages[i].kind,
						      .part = REGION_WORDS,
						      .offset = pages[i].offset,
						      .stride = 8,
						      .count = REGION_WORDS_OF_KIND });
	record_write(r->table, &h.head, REGION_HEADER, sizeof(h));
}

void region_init(struct region *r, void *table, uint16_t host, uint64_t generation)
{
	*r = (struct region){ .table = table, .host = host, .generation = generation };
	write_header(r);
}

void region_init_loads(struct region *r, void *loads)
{
	r->loads = loads;
	write_header(r);
}

/* An empty record of any kind. */
union empty {
	struct region_record head;
	uint8_t bytes[REGION_STRIDE_MAX];
};

static int publish_records(struct region *r, enum region_which which, void *records, uint32_t n)
{
	const struct region_shape *s = &shapes[which];
	uint8_t *from = records;

	if (n > s->max)
		return -E2BIG;
	for (uint32_t i = 0; i < n; i++, from += s->size)
		record_write(record_at(r, which, i), (struct region_record *)(void *)from, s->kind,
			     s->size);
	/*
	 * A reader may use the host record from before this call, and then reads records beyond n.
	 * It must find them empty, not stale: an empty name means "no longer used".
	 */
	for (uint32_t i = n; i < r->n[which]; i++) {
		union empty e = { .bytes = { 0 } };

		record_write(record_at(r, which, i), &e.head, s->kind, s->size);
	}
	r->n[which] = n;
	return 0;
}

int region_publish_guests(struct region *r, struct region_guest *g, uint32_t n)
{
	return publish_records(r, REGION_T_GUESTS, g, n);
}

int region_publish_nodes(struct region *r, struct region_node *v, uint32_t n)
{
	return publish_records(r, REGION_T_NODES, v, n);
}

int region_publish_services(struct region *r, struct region_service *s, uint32_t n)
{
	return publish_records(r, REGION_T_SERVICES, s, n);
}

void region_publish_load(struct region *r, struct load_record *l)
{
	record_write(record_at(r, REGION_T_LOADS, l->node), &l->head, REGION_LOAD, sizeof(*l));
}

void region_beat(struct region *r, struct region_host *h)
{
	/*
	 * The host record is published last: the counts in it are valid only when the records that
	 * they count are there.
	 */
	h->beat = ++r->beat;
	h->generation = r->generation;
	h->guests = r->n[REGION_T_GUESTS];
	h->nodes = r->n[REGION_T_NODES];
	h->services = r->n[REGION_T_SERVICES];
	publish_records(r, REGION_T_HOST, h, 1);
}

int region_words(uint64_t *words, uint64_t generation, const uint64_t *node)
{
	uint64_t lock = region_word(0, region_seq((uint32_t)generation, 0));
	uint64_t none = region_word(0, region_seq(0, 1));

	if (generation == 0 || generation > REGION_EPOCH_MAX)
		return -ERANGE;
	memset(words, 0, REGION_WORDS_BYTES);
	for (uint32_t i = 0; i < REGION_WORDS_OF_KIND; i++) {
		words[REGION_LOCKS / 8 + i] = lock;
		words[REGION_NODE_WORDS / 8 + i] = node ? node[i % REGION_NODES_MAX] : none;
	}
	return 0;
}

/* --- the owner, on a cached host ----------------------------------------------- */

static uint32_t whole_pages(uint32_t bytes)
{
	return (bytes + REGION_PAGE - 1) / REGION_PAGE * REGION_PAGE;
}

void region_cache_bytes(const struct region_cache *c, size_t bytes[static TRANSPORT_PARTS])
{
	memset(bytes, 0, TRANSPORT_PARTS * sizeof(*bytes));
	bytes[TRANSPORT_TABLE] = REGION_PAGE;
	bytes[TRANSPORT_WORDS] = REGION_PAGE; /* of a proxy: none is used, but a host has some */
	if (!c->words)
		return;
	bytes[TRANSPORT_WORDS] =
		whole_pages(REGION_CACHE_ACKS + REGION_CACHE_ACKS_STRIDE * c->slots);
	bytes[TRANSPORT_VERSIONS] = whole_pages(region_cache_word_offset(c->words));
}

/* The words of each kind, of which there are as many as c says. */
static void cache_entries(const struct region_cache *c, struct region_entry e[static CACHE_KINDS])
{
	const struct region_entry all[CACHE_KINDS] = {
		{ REGION_CACHE_BEAT_WORD, REGION_VERSIONS, REGION_CACHE_BEAT, 8, 1, 0 },
		{ REGION_CACHE_LOG_WORD, REGION_VERSIONS, REGION_CACHE_LOG, 8, 1, 0 },
		{ REGION_CACHE_VERSION, REGION_VERSIONS, REGION_CACHE_WORDS, 8, c->words, 0 },
		{ REGION_CACHE_ACK, REGION_WORDS, REGION_CACHE_ACKS, 8, REGION_HOSTS_MAX * c->slots,
		  0 },
	};

	memcpy(e, all, sizeof(all));
}

void region_init_cache(void *table, uint16_t host, uint64_t generation,
		       const struct region_cache *c)
{
	struct region_header h = { .magic = REGION_MAGIC,
				   .version = REGION_VERSION,
				   .host = host,
				   .generation = generation };
	struct region_entry e[CACHE_KINDS];
	size_t bytes[TRANSPORT_PARTS];

	region_cache_bytes(c, bytes);
	for (int i = 0; i < TRANSPORT_PARTS; i++)
		h.part_bytes[i] = (uint32_t)bytes[i];
	cache_entries(c, e);
	for (int i = 0; c->words && i < CACHE_KINDS; i++)
		add_entry(&h, &e[i]);
	record_write(table, &h.head, REGION_HEADER, sizeof(h));
}

/* --- a peer ------------------------------------------------------------------ */

static bool table_good(const struct region_shape *s, const struct region_entry *t, uint32_t bytes)
{
	uint32_t least = s->part == REGION_TABLE ? sizeof(struct region_header) : 0;

	/*
	 * By our own limits, not by the peer's: our arrays are indexed with these numbers. The last
	 * line cannot overflow: count and stride are bounded above it.
	 */
	return t->part == s->part && t->count > 0 && t->count <= s->max && t->stride % 64 == 0 &&
	       t->stride >= s->size && t->stride <= REGION_STRIDE_MAX && t->offset % 64 == 0 &&
	       t->offset >= least && t->offset <= bytes &&
	       t->count * t->stride <= bytes - t->offset;
}

/* By the places of this version: atomics are posted there. */
static bool page_good(const struct region_page *p, const struct region_entry *e)
{
	return e->part == REGION_WORDS && e->offset == p->offset && e->stride == 8 &&
	       e->count == REGION_WORDS_OF_KIND;
}

static bool part_good(enum region_part part, uint32_t bytes)
{
	uint32_t most = part >= REGION_LOADS ? TRANSPORT_OPTIONAL_MAX : TRANSPORT_PART_MAX;

	return bytes > 0 && bytes % REGION_PAGE == 0 && bytes <= most;
}

/* How many entries there are of a kind, and the last of them. */
static uint32_t entries_of(const struct region_header *h, enum region_kind kind,
			   const struct region_entry **found)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->entries; i++)
		if (h->directory[i].kind == kind) {
			*found = &h->directory[i];
			n++;
		}
	return n;
}

/* Check the entries of the kinds that we know. Those of other kinds are not looked at. */
static int parse_directory(const struct region_header *h, struct region_peer *out)
{
	const struct region_entry *e = NULL;

	for (int i = 0; i < REGION_TABLES; i++) {
		const struct region_shape *s = &shapes[i];
		uint32_t n = entries_of(h, s->kind, &e);

		if (!n && s->part == REGION_LOADS)
			continue;
		if (n != 1)
			return -EPROTO;
		if (!part_good(s->part, h->part_bytes[s->part]) ||
		    !table_good(s, e, h->part_bytes[s->part]))
			return -ERANGE;
		out->table[i] = *e;
	}
	for (int i = 0; i < PAGES; i++) {
		if (entries_of(h, pages[i].kind, &e) != 1)
			return -EPROTO;
		if (!page_good(&pages[i], e))
			return -ERANGE;
	}
	return 0;
}

/* Copy a header, of any kind of host, and check all but its directory. */
static int take_header(const void *copy, uint16_t host, uint64_t generation,
		       struct region_header *h)
{
	int rc;

	memcpy(h, copy, sizeof(*h));
	/*
	 * Before the checksum: another version may have another header, of which only magic and
	 * version are sure to be here (region_abi.h).
	 */
	if (h->head.seq && h->magic == REGION_MAGIC && h->version != REGION_VERSION)
		return -EPROTONOSUPPORT;
	rc = record_check(h, REGION_HEADER, sizeof(*h));
	if (rc)
		return rc;
	if (h->magic != REGION_MAGIC)
		return -EPROTO;
	if (h->host != host)
		return -EXDEV;
	if (h->generation != generation)
		return -ESTALE;
	if (!part_good(REGION_WORDS, h->part_bytes[REGION_WORDS]) ||
	    h->entries > REGION_ENTRIES_MAX)
		return -ERANGE;
	return 0;
}

int region_parse_header(const void *copy, uint16_t host, uint64_t generation,
			struct region_peer *out)
{
	struct region_peer p = { .host = host, .generation = generation };
	struct region_header h;
	int rc = take_header(copy, host, generation, &h);

	if (!rc && h.part_bytes[REGION_WORDS] < REGION_WORDS_BYTES)
		rc = -ERANGE;
	if (!rc)
		rc = parse_directory(&h, &p);
	if (!rc)
		*out = p;
	return rc;
}

/* --- a peer, of a cached host ---------------------------------------------------- */

/* Has it a kind of resexd's? Then it is no cached host's. */
static bool is_of_resexd(const struct region_header *h)
{
	const struct region_entry *e;
	bool found = false;

	for (int i = 0; i < REGION_TABLES; i++)
		found |= entries_of(h, shapes[i].kind, &e) > 0;
	for (int i = 0; i < PAGES; i++)
		found |= entries_of(h, pages[i].kind, &e) > 0;
	return found;
}

/* How many version words and slots there are, by our own limits. */
static int take_counts(const struct region_entry *versions, const struct region_entry *acks,
		       struct region_cache *c)
{
	if (!versions->count || versions->count > REGION_CACHE_WORDS_MAX || !acks->count ||
	    acks->count / REGION_HOSTS_MAX > REGION_CACHE_SLOTS_MAX)
		return -ERANGE;
	c->words = versions->count;
	c->slots = acks->count / REGION_HOSTS_MAX;
	return 0;
}

/* Its entries, which are there, are those of a host with so many words and whole slots. */
static int check_entries(const struct region_entry *const found[static CACHE_KINDS],
			 const struct region_cache *c)
{
	struct region_entry want[CACHE_KINDS];

	cache_entries(c, want);
	for (int i = 0; i < CACHE_KINDS; i++)
		if (found[i]->part != want[i].part || found[i]->offset != want[i].offset ||
		    found[i]->stride != want[i].stride || found[i]->count != want[i].count)
			return -ERANGE;
	return 0;
}

/* Its parts have room for what it serves. */
static int check_parts(const struct region_header *h, const struct region_cache *c)
{
	size_t bytes[TRANSPORT_PARTS];

	region_cache_bytes(c, bytes);
	for (enum region_part i = REGION_TABLE; i <= REGION_VERSIONS; i++)
		if (bytes[i] && (!part_good(i, h->part_bytes[i]) || h->part_bytes[i] < bytes[i]))
			return -ERANGE;
	return 0;
}

int region_parse_cache(const void *copy, uint16_t host, uint64_t generation,
		       struct region_cache *out)
{
	static const enum region_kind kinds[CACHE_KINDS] = { REGION_CACHE_BEAT_WORD,
							     REGION_CACHE_LOG_WORD,
							     REGION_CACHE_VERSION,
							     REGION_CACHE_ACK };
	const struct region_entry *found[CACHE_KINDS] = { NULL };
	struct region_cache c = { 0 };
	struct region_header h;
	uint32_t n = 0;
	int rc = take_header(copy, host, generation, &h);

	if (rc)
		return rc;
	for (int i = 0; i < CACHE_KINDS; i++)
		n += entries_of(&h, kinds[i], &found[i]);
	if (is_of_resexd(&h) || (n && n != CACHE_KINDS))
		return -EPROTO;
	for (int i = 0; n && i < CACHE_KINDS; i++)
		if (!found[i]) /* another one is there twice */
			return -EPROTO;
	if (n)
		rc = take_counts(found[2], found[3], &c);
	if (n && !rc)
		rc = check_entries(found, &c);
	if (!rc)
		rc = check_parts(&h, &c);
	if (!rc)
		*out = c;
	return rc;
}

const char *region_why(int rc)
{
	switch (rc) {
	case -EAGAIN:
		return "was being written each time it was read; it is read again";
	case -ENOMSG:
		return "holds nothing yet; it is read again";
	case -EPROTONOSUPPORT:
		return "is of another version; run the same release on all hosts";
	case -EXDEV:
		return "says it is another host's; give each host its own number and address";
	case -ESTALE:
		return "is of an earlier start of that host; it is read again on a newer link";
	case -ERANGE:
		return "holds a number out of range; restart the daemon there";
	default:
		return "is not a region of such a host; run the same release on all hosts";
	}
}

/* Several records a READ: operations outstanding on a link are few (TRANSPORT_DEPTH). */
uint32_t region_reads(const struct region_peer *p, enum region_which which, uint32_t first,
		      uint32_t n, struct region_read out[static REGION_READS_MAX])
{
	const struct region_entry *t = &p->table[which];
	uint32_t each, reads = 0;

	if (first > t->count || n > t->count - first)
		return 0;
	each = n ? TRANSPORT_READ_MAX / t->stride : 0;
	while (n) {
		uint32_t k = n < each ? n : each;

		out[reads++] = (struct region_read){
			.part = t->part,
			.offset = t->offset + first * t->stride,
			.len = (k - 1) * t->stride + shapes[which].size,
			.first = first,
			.n = k,
		};
		first += k;
		n -= k;
	}
	return reads;
}

const void *region_in(const struct region_peer *p, enum region_which which,
		      const struct region_read *r, const void *data, uint32_t i)
{
	return (const uint8_t *)data + (size_t)(i - r->first) * p->table[which].stride;
}

/* Make a string safe to show: valid UTF-8, no control characters. -EPROTO: it does not end. */
static int clean_text(char *s, size_t size)
{
	if (!memchr(s, '\0', size))
		return -EPROTO;
	/*
	 * A name goes to terminals and logs: bytes of a peer must not become escape sequences
	 * there.
	 */
	utf8_mend(s);
	utf8_tame(s);
	return 0;
}

int region_parse_host(const struct region_peer *p, const void *copy, struct region_host *out)
{
	struct region_host h;
	int rc = record_check(copy, REGION_HOST, sizeof(h));

	if (rc)
		return rc;
	memcpy(&h, copy, sizeof(h));
	if (h.generation != p->generation)
		return -ESTALE;
	if (h.guests > p->table[REGION_T_GUESTS].count ||
	    h.nodes > p->table[REGION_T_NODES].count ||
	    h.services > p->table[REGION_T_SERVICES].count)
		return -ERANGE;
	if (clean_text(h.name, sizeof(h.name)) || clean_text(h.version, sizeof(h.version)) ||
	    clean_text(h.policy, sizeof(h.policy)))
		return -EPROTO;
	*out = h;
	return 0;
}

int region_parse_guest(const void *copy, struct region_guest *out)
{
	struct region_guest g;
	int rc = record_check(copy, REGION_GUEST, sizeof(g));

	if (rc)
		return rc;
	memcpy(&g, copy, sizeof(g));
	if (clean_text(g.name, sizeof(g.name)))
		return -EPROTO;
	*out = g;
	return 0;
}

int region_parse_node(const void *copy, struct region_node *out)
{
	struct region_node n;
	int rc = record_check(copy, REGION_NODE, sizeof(n));

	if (rc)
		return rc;
	memcpy(&n, copy, sizeof(n));
	if (n.node >= REGION_NODES_MAX || n.service > REGION_SERVICES_MAX ||
	    n.from > REGION_SERVICES_MAX)
		return -ERANGE;
	if (clean_text(n.name, sizeof(n.name)))
		return -EPROTO;
	*out = n;
	return 0;
}

int region_parse_service(const void *copy, struct region_service *out)
{
	struct region_service s;
	int rc = record_check(copy, REGION_SERVICE, sizeof(s));

	if (rc)
		return rc;
	memcpy(&s, copy, sizeof(s));
	if (s.service > REGION_SERVICES_MAX)
		return -ERANGE;
	if (clean_text(s.name, sizeof(s.name)))
		return -EPROTO;
	*out = s;
	return 0;
}

int region_parse_load(const void *copy, uint32_t node, struct load_record *out)
{
	struct load_record r;
	int rc;

	memcpy(&r, copy, sizeof(r));
	rc = record_check(&r, REGION_LOAD, sizeof(r));
	if (rc)
		return rc;
	if (r.node != node || r.source == LOAD_NONE || r.source >= LOAD_SOURCES || r.sampled_ns < 0)
		return -ERANGE;
	*out = r;
	return 0;
}
