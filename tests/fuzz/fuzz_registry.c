// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_registry: pages that a hostile guest shows, through registry_walk.
 *
 * Input: 16 bytes of control (struct control), then the registry page's first
 * 1616 bytes, then slices of 640 bytes, one a page the guest has. A reference
 * (type, ref) names page ref % 8; 2^31 and above has none. While pages are
 * got, the guest writes to its registry page once, as control says. An input
 * that begins with a digit is taken as the value of the xenstore node instead.
 * The pages are then read as latency pages too, before and after the guest wrote
 * what is left of the input over them.
 */
#include <errno.h>

#include "ibmon/latency.h"
#include "ibmon/registry.h"
#include "tests/fuzz/fuzz.h"

enum { PAGES = 8, REGISTRY_BYTES = 1616, SLICE = 640 };

struct control {
	uint16_t rings, pages; /* limits */
	uint16_t write_after;  /* so many pages were got */
	uint16_t write_at;     /* offset in the registry page */
	uint32_t write_value;
	uint32_t absent; /* one bit a page: cannot be got */
};

struct guest {
	struct control c;
	uint32_t got;
	uint8_t *registry;
	uint8_t *page[PAGES];
};

static int get_page(void *ctx, const struct guest_ref *ref, const volatile void **page)
{
	struct guest *g = ctx;
	uint32_t i = ref->ref % PAGES;

	FUZZ_REQUIRE(ref->type == GUEST_REF_GRANT || ref->type == GUEST_REF_FRAME);
	if (g->got++ == g->c.write_after)
		memcpy(g->registry + g->c.write_at % (REGISTRY_BYTES - 3) / 4 * 4,
		       &g->c.write_value, sizeof(g->c.write_value));
	if (ref->ref >> 31 || (g->c.absent >> i & 1))
		return -ENOENT;
	*page = g->page[i];
	return 0;
}

static bool power_of_two(uint32_t v)
{
	return v && !(v & (v - 1));
}

static void check_ring(const struct registry *r, const struct ring_desc *d)
{
	FUZZ_REQUIRE(d->id > 0);
	FUZZ_REQUIRE(d->kind == RING_SQ || d->kind == RING_CQ);
	FUZZ_REQUIRE(power_of_two(d->elem_size) && d->elem_size >= GUEST_RING_ELEM_MIN &&
		     d->elem_size <= 4096);
	FUZZ_REQUIRE(power_of_two(d->entries) && d->entries >= 2 && d->entries <= 1u << 20);
	FUZZ_REQUIRE(d->path_mtu == 0 || (d->path_mtu >= 256 && d->path_mtu <= 4096));
	FUZZ_REQUIRE(d->offset < GUEST_PAGE);
	FUZZ_REQUIRE(d->frames >= 1 && d->frames <= GUEST_RING_FRAMES_MAX);
	FUZZ_REQUIRE((uint64_t)d->first_frame + d->frames <= r->frames);
	FUZZ_REQUIRE(memchr(d->comm, '\0', sizeof(d->comm)));
	for (const char *c = d->comm; *c; c++)
		FUZZ_REQUIRE(*c >= ' ' && *c <= '~');
}

static void check_registry(const struct registry *r, const struct registry_limits *lim)
{
	uint64_t frames = 0;

	FUZZ_REQUIRE(!(r->generation & 1));
	FUZZ_REQUIRE(r->rings <= lim->rings && r->rings <= GUEST_RINGS_MAX);
	FUZZ_REQUIRE(r->faults <= GUEST_RINGS_MAX);
	FUZZ_REQUIRE(r->latencies <= GUEST_LATENCIES_MAX);
	FUZZ_REQUIRE(r->frames <= GUEST_FRAME_PAGES_MAX * GUEST_FRAMES_PER_PAGE);
	for (uint32_t i = 0; i < r->rings; i++) {
		check_ring(r, &r->ring[i]);
		frames += r->ring[i].frames;
		for (uint32_t k = 0; k < i; k++)
			FUZZ_REQUIRE(r->ring[k].id != r->ring[i].id);
	}
	FUZZ_REQUIRE(frames <= lim->pages);
	for (uint32_t i = 0; i < r->faults; i++)
		FUZZ_REQUIRE(strlen(ring_fault_text(r->fault[i].fault)) > 0);
}

static uint8_t *new_page(struct bytes *in, size_t used)
{
	uint8_t *p = aligned_alloc(GUEST_PAGE, GUEST_PAGE);

	if (!p)
		abort();
	memset(p, 0, GUEST_PAGE);
	take(in, p, used);
	return p;
}

static void read_latencies(struct latency_page *l)
{
	struct report r = { 0 };
	struct window w;
	uint64_t lost;

	window_reset(&w);
	lost = latency_page_read(l, 100, &r, &w);
	FUZZ_REQUIRE(r.n <= 100 && r.n == w.n);
	FUZZ_REQUIRE(r.sum_ns <= r.n * 3 * UINT32_MAX && r.io_sum_ns <= r.sum_ns);
	FUZZ_REQUIRE(!lost == !(r.flags & REPORT_LOST));
	FUZZ_REQUIRE(r.n || (!r.io_sumsq_hi && !r.io_sumsq_lo));
}

static void read_as_latencies(struct guest *g, struct bytes *in)
{
	for (uint32_t i = 0; i < PAGES; i++) {
		struct latency_page l;

		latency_page_open(&l, g->page[i]);
		read_latencies(&l);
		for (int k = 0; k < 2 && in->left; k++) {
			take(in, g->page[i], SLICE);
			read_latencies(&l);
		}
	}
}

static void walk(struct bytes *in)
{
	struct registry *out = malloc(sizeof(*out)); /* of its own: writing on is seen */
	struct registry_limits lim = { .layouts = NULL };
	struct guest g = { .got = 0 };
	struct registry_qps qps;
	int rc;

	if (!out)
		abort();
	take(in, &g.c, sizeof(g.c));
	lim.rings = g.c.rings % (GUEST_RINGS_MAX + 1);
	lim.pages = g.c.pages;
	g.registry = new_page(in, REGISTRY_BYTES);
	for (uint32_t i = 0; i < PAGES; i++)
		g.page[i] = new_page(in, SLICE);

	registry_heartbeat(g.registry);
	rc = registry_qps(g.registry, &qps);
	FUZZ_REQUIRE(rc == 0 || rc == -EBADMSG);
	rc = registry_walk(g.registry, &lim, get_page, &g, out);
	FUZZ_REQUIRE(rc == 0 || rc == -EAGAIN || rc == -EBADMSG || rc == -EPROTONOSUPPORT);
	FUZZ_REQUIRE(g.got <= GUEST_DIRECTORIES_MAX + GUEST_FRAME_PAGES_MAX);
	if (!rc) {
		check_registry(out, &lim);
		FUZZ_REQUIRE(!registry_changed(g.registry, out->generation));
	}
	read_as_latencies(&g, in);
	for (uint32_t i = 0; i < PAGES; i++)
		free(g.page[i]);
	free(g.registry);
	free(out);
}

/* What is taken as a node's value is "2 grant REF" or "2 frame GFN", and that number. */
static void parse_node(const struct bytes *in)
{
	char value[GUEST_ABI_NODE_MAX], *at = value;
	size_t n = in->left < sizeof(value) - 1 ? in->left : sizeof(value) - 1;
	struct guest_ref ref = { 0 };
	int rc;

	memcpy(value, in->at, n);
	value[n] = '\0';
	rc = registry_node_parse(value, &ref);
	FUZZ_REQUIRE(rc == 0 || rc == -EBADMSG || rc == -EPROTONOSUPPORT);
	if (rc)
		return;
	FUZZ_REQUIRE(ref.type == GUEST_REF_GRANT || ref.type == GUEST_REF_FRAME);
	FUZZ_REQUIRE(ref.type == GUEST_REF_FRAME || ref.ref <= UINT32_MAX);
	while (*at == '0') /* decimal, so any number of zeros may lead */
		at++;
	FUZZ_REQUIRE(!strncmp(at, ref.type == GUEST_REF_GRANT ? "2 grant " : "2 frame ", 8));
	FUZZ_REQUIRE(at[8] && strspn(at + 8, "0123456789") == strlen(at + 8));
	errno = 0;
	FUZZ_REQUIRE(strtoull(at + 8, NULL, 10) == ref.ref && errno == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = { data, size };

	if (size && data[0] >= '0' && data[0] <= '9')
		parse_node(&in);
	else
		walk(&in);
	return 0;
}
