// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * registry: from the pages of a guest's agent to ring descriptors. See registry.h.
 *
 * Each page is copied once and only the copy is checked and used. Whatever else is
 * wrong, a generation that changed meanwhile makes the result "try later".
 *
 * A forked child inherits its parent's rings, and the agent finds them in both
 * processes. They are one ring, identified by the frame and offset at which it
 * begins; the first descriptor is accepted and the others are skipped. That is not
 * a fault.
 */
#include "ibmon/registry.h"

#include <errno.h>
#include <string.h>

#define FRAME_NONE UINT64_MAX /* an entry of a frame page that cannot be read */

/* --- the node ---------------------------------------------------------------- */

/*
 * Decimal digits up to end; false when there are none, others, or too many. Not strtoull():
 * it accepts blanks and signs, and the node is the guest's text.
 */
static bool parse_decimal(const char *s, const char *end, uint64_t *value)
{
	uint64_t v = 0;

	if (s == end)
		return false;
	for (; s < end; s++) {
		uint64_t digit = (uint64_t)(unsigned char)*s - '0';

		if (digit > 9 || v > (UINT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*value = v;
	return true;
}

static bool word_is(const char *s, const char *end, const char *word)
{
	return (size_t)(end - s) == strlen(word) && !memcmp(s, word, (size_t)(end - s));
}

int registry_node_parse(const char *value, struct guest_ref *ref)
{
	size_t len = strnlen(value, GUEST_ABI_NODE_MAX + 1);
	const char *end = value + len, *type, *number;
	struct guest_ref r = { .type = GUEST_REF_NONE };
	uint64_t version;

	if (len > GUEST_ABI_NODE_MAX)
		return -EBADMSG;
	type = memchr(value, ' ', len);
	if (!parse_decimal(value, type ? type : end, &version))
		return -EBADMSG;
	if (version != GUEST_ABI_VERSION)
		return -EPROTONOSUPPORT;
	if (!type)
		return -EBADMSG;
	type++;
	number = memchr(type, ' ', (size_t)(end - type));
	if (!number || !parse_decimal(number + 1, end, &r.ref))
		return -EBADMSG;
	if (word_is(type, number, "grant") && r.ref <= UINT32_MAX)
		r.type = GUEST_REF_GRANT;
	else if (word_is(type, number, "frame"))
		r.type = GUEST_REF_FRAME;
	else
		return -EBADMSG;
	*ref = r;
	return 0;
}

/* --- the walk ------------------------------------------------------------------ */

struct walk {
	const struct registry_limits *lim;
	registry_page_fn *get;
	void *ctx;
	struct registry *out;
	uint32_t pages; /* frames of the accepted rings */
	struct guest_registry reg;
	union {
		struct guest_directory directory;
		struct guest_frames frames;
	} page;
};

/* Bounded like the rings: a guest can write a bad descriptor into each place. */
static void add_fault(struct walk *w, uint32_t id, enum ring_fault fault)
{
	struct registry *out = w->out;

	if (out->faults == GUEST_RINGS_MAX) {
		out->faults_more++;
		return;
	}
	out->fault[out->faults].id = id;
	out->fault[out->faults].fault = fault;
	out->faults++;
}

/* 0; -EAGAIN: not now; other errors: only this page is at fault. */
static int copy_page(struct walk *w, const struct guest_ref *ref)
{
	const volatile void *p;
	int rc;

	if (ref->type != GUEST_REF_GRANT && ref->type != GUEST_REF_FRAME)
		return -EINVAL;
	if (ref->type == GUEST_REF_GRANT && ref->ref > UINT32_MAX)
		return -EINVAL;
	rc = w->get(w->ctx, ref, &p);
	if (!rc)
		guest_copy(&w->page, p, sizeof(w->page));
	return rc;
}

/* A page of the list that cannot be read spoils only the rings whose frames it has. */
static int copy_frames(struct walk *w)
{
	struct registry *out = w->out;
	uint32_t left = w->reg.frames;

	for (uint32_t i = 0; left; i++) {
		uint32_t n = left < GUEST_FRAMES_PER_PAGE ? left : GUEST_FRAMES_PER_PAGE;
		int rc = copy_page(w, &w->reg.frame_page[i]);

		if (rc == -EAGAIN)
			return rc;
		for (uint32_t k = 0; k < n; k++)
			out->frame[out->frames + k] = rc ? FRAME_NONE : w->page.frames.frame[k];
		out->frames += n;
		left -= n;
	}
	return 0;
}

static bool power_of_2_within(uint32_t v, uint32_t low, uint32_t high)
{
	return v >= low && v <= high && !(v & (v - 1));
}

/* With that of its doorbell record. */
static uint32_t frames_to_map(const struct walk *w, const struct guest_ring *g)
{
	const struct ring_desc d = { .kind = g->kind,
				     .provider = g->provider,
				     .frames = g->frames };

	return ring_frames(w->lim->layouts, &d);
}

static bool is_provider_known(const struct walk *w, const struct guest_ring *g)
{
	return (g->provider >= GUEST_PROVIDER_RXE && g->provider <= GUEST_PROVIDER_MLX4) ||
	       ring_layout_name(w->lim->layouts, g->provider, g->kind);
}

/*
 * All arithmetic of later stages relies on these bounds: a ring fits its
 * frames, and each index of a frame is within the list.
 */
static bool in_range(const struct walk *w, const struct guest_ring *g)
{
	uint64_t bytes = (uint64_t)g->elem_size * g->entries + g->offset;
	uint32_t frames = w->out->frames;

	if (!g->id || g->kind > GUEST_RING_CQ || !is_provider_known(w, g))
		return false;
	if (!power_of_2_within(g->elem_size, GUEST_RING_ELEM_MIN, GUEST_RING_ELEM_MAX) ||
	    !power_of_2_within(g->entries, 2, 1u << 20))
		return false;
	if (g->path_mtu && (g->path_mtu < 256 || g->path_mtu > 4096))
		return false;
	if (g->offset >= GUEST_PAGE || g->db_offset >= GUEST_PAGE)
		return false;
	if (!g->frames || frames_to_map(w, g) > GUEST_RING_FRAMES_MAX || g->first_frame > frames ||
	    g->frames > frames - g->first_frame)
		return false;
	return bytes <= (uint64_t)g->frames * GUEST_PAGE;
}

static bool has_frames(const struct registry *out, const struct guest_ring *g)
{
	for (uint32_t i = 0; i < g->frames; i++)
		if (out->frame[g->first_frame + i] == FRAME_NONE)
			return false;
	return true;
}

static bool id_known(const struct registry *out, uint32_t id)
{
	for (uint32_t i = 0; i < out->rings; i++)
		if (out->ring[i].id == id)
			return true;
	return false;
}

static bool ring_known(const struct registry *out, const struct guest_ring *g)
{
	uint64_t frame = out->frame[g->first_frame];

	for (uint32_t i = 0; i < out->rings; i++)
		if (out->ring[i].offset == g->offset &&
		    out->frame[out->ring[i].first_frame] == frame)
			return true;
	return false;
}

/* Only printable ASCII: names are shown on terminals and in JSON. */
static void copy_comm(char out[16], const char in[16])
{
	int i;

	for (i = 0; i < 15 && in[i]; i++)
		out[i] = in[i] >= 0x20 && in[i] < 0x7f ? in[i] : '?';
	memset(out + i, 0, (size_t)(16 - i));
}

static void accept_ring(struct walk *w, const struct guest_ring *g, uint32_t frames)
{
	struct ring_desc *d = &w->out->ring[w->out->rings++];

	w->pages += frames;
	*d = (struct ring_desc){
		.id = g->id,
		.kind = g->kind,
		.provider = g->provider,
		.number = g->number,
		.pid = g->pid,
		.elem_size = g->elem_size,
		.entries = g->entries,
		.path_mtu = g->path_mtu,
		.offset = g->offset,
		.first_frame = g->first_frame,
		.frames = g->frames,
		.db_offset = g->db_offset,
		.qp_type = g->qp_type,
		.db_frame = g->db_frame,
		.created = g->created,
	};
	copy_comm(d->comm, g->comm);
}

static void decode_ring(struct walk *w, const struct guest_ring *g)
{
	uint32_t limit = w->lim->rings < GUEST_RINGS_MAX ? w->lim->rings : GUEST_RINGS_MAX;
	uint32_t frames = frames_to_map(w, g);

	if (g->kind == GUEST_RING_FREE)
		return;
	if (!in_range(w, g) || id_known(w->out, g->id))
		add_fault(w, g->id, RING_FAULT_DESC);
	else if (!has_frames(w->out, g))
		add_fault(w, g->id, RING_FAULT_MAP);
	else if (ring_known(w->out, g))
		return;
	else if (w->out->rings >= limit || frames > w->lim->pages - w->pages)
		add_fault(w, g->id, RING_FAULT_LIMIT);
	else
		accept_ring(w, g, frames);
}

static int walk_directory(struct walk *w, const struct guest_ref *ref)
{
	const struct guest_directory *dir = &w->page.directory;
	int rc = copy_page(w, ref);

	if (rc == -EAGAIN)
		return rc;
	if (rc) {
		add_fault(w, 0, RING_FAULT_MAP);
		return 0;
	}
	if (dir->magic != GUEST_DIRECTORY_MAGIC || dir->rings > GUEST_RINGS_PER_DIRECTORY) {
		add_fault(w, 0, RING_FAULT_DESC);
		return 0;
	}
	for (uint32_t i = 0; i < dir->rings; i++)
		decode_ring(w, &dir->ring[i]);
	return 0;
}

static int check_counts(const struct guest_registry *r)
{
	if (r->directories > GUEST_DIRECTORIES_MAX || r->frame_pages > GUEST_FRAME_PAGES_MAX ||
	    r->latencies > GUEST_LATENCIES_MAX)
		return -EBADMSG;
	return r->frames <= r->frame_pages * GUEST_FRAMES_PER_PAGE ? 0 : -EBADMSG;
}

static int walk_pages(struct walk *w)
{
	int rc = check_counts(&w->reg);

	if (!rc)
		rc = copy_frames(w);
	for (uint32_t i = 0; !rc && i < w->reg.directories; i++)
		rc = walk_directory(w, &w->reg.directory[i]);
	if (rc)
		return rc;
	w->out->latencies = w->reg.latencies;
	memcpy(w->out->latency, w->reg.latency, sizeof(w->out->latency));
	w->out->load = w->reg.load;
	return 0;
}

/*
 * The generation is read first and compared last: a walk that succeeded saw one state of
 * all pages.
 */
int registry_walk(const volatile void *page, const struct registry_limits *lim,
		  registry_page_fn *get, void *ctx, struct registry *out)
{
	struct walk w = { .lim = lim, .get = get, .ctx = ctx, .out = out };
	uint32_t generation = registry_generation(page);
	int rc;

	guest_copy_barrier();
	guest_copy(&w.reg, page, sizeof(w.reg));
	if (w.reg.magic != GUEST_REGISTRY_MAGIC)
		return -EBADMSG;
	if (w.reg.version != GUEST_ABI_VERSION)
		return -EPROTONOSUPPORT;
	if (generation & 1)
		return -EAGAIN;
	out->generation = generation;
	out->agent_pid = w.reg.agent_pid;
	out->heartbeat = w.reg.heartbeat;
	out->sqs_published = w.reg.sqs_published;
	out->rings = out->faults = out->faults_more = out->latencies = out->frames = 0;
	rc = walk_pages(&w);
	guest_copy_barrier();
	return registry_generation(page) == generation ? rc : -EAGAIN;
}

uint64_t registry_heartbeat(const volatile void *page)
{
	const volatile uint8_t *p = (const volatile uint8_t *)page;

	return guest_read64(p + offsetof(struct guest_registry, heartbeat));
}

/* The magic is read last: it says that the figures before it were those of a registry. */
int registry_qps(const volatile void *page, struct registry_qps *out)
{
	const volatile uint8_t *p = (const volatile uint8_t *)page;
	struct registry_qps q = {
		.unseen = guest_read64(p + offsetof(struct guest_registry, qps_unseen)),
		.unpublished = guest_read32(p + offsetof(struct guest_registry, qps_unpublished)),
	};

	guest_copy_barrier();
	if (guest_read32(p + offsetof(struct guest_registry, magic)) != GUEST_REGISTRY_MAGIC)
		return -EBADMSG;
	*out = q;
	return 0;
}
