// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * queue_entry: datagrams and copied tables of queues -> checked descriptors without frames, for
 * queue_tables.c. See queue_entry.h.
 */
#include <errno.h>
#include <string.h>

#include "ibmon/agent/queue_entry.h"

enum {
	ALIGN = 64,	  /* of queues */
	SQ_MAX = 32768,	  /* more entries, and an index of 16 bits would be ambiguous */
	CQ_MAX = 1 << 20, /* entries */
	DB_BYTES = 8,
	NUMBER_MAX = 0xffffff, /* numbers of queue pairs and completion queues have 24 bits */
	/* The frame of the doorbell record is mapped, too. */
	PAGES_MAX = GUEST_RING_FRAMES_MAX - 1,
};

#define ADDRESS_MAX (1ull << 56) /* no process has addresses above it */

bool queue_datagram_is(const void *buf, size_t len)
{
	uint32_t magic;

	if (len < sizeof(magic))
		return false;
	memcpy(&magic, buf, sizeof(magic));
	return magic == AGENT_QUEUES_MAGIC;
}

int queue_datagram_parse(const void *buf, size_t len, struct agent_queues *out)
{
	struct agent_queues q;

	if (!queue_datagram_is(buf, len) || len != sizeof(q))
		return -EBADMSG;
	memcpy(&q, buf, sizeof(q));
	if (q.version != AGENT_QUEUES_VERSION || !q.address || q.address >= ADDRESS_MAX ||
	    q.address % GUEST_PAGE)
		return -EBADMSG;
	*out = q;
	return 0;
}

int queue_head_check(const struct queue_table *copy)
{
	if (copy->magic != QUEUE_TABLE_MAGIC || copy->version != QUEUE_TABLE_VERSION)
		return -EBADMSG;
	return copy->generation & 1 ? -EAGAIN : 0;
}

static bool power_of_two(uint32_t v, uint32_t min, uint32_t max)
{
	return v >= min && v <= max && !(v & (v - 1));
}

/* What a queue of a provider may have: bytes of an entry, entries, bytes of its doorbell record. */
struct form {
	uint32_t elem_min, elem_max, entries_max, db_bytes;
};

/* NULL: the provider's queues are not in the memory of a process. kind is a valid one. */
static const struct form *form_of(uint32_t provider, uint32_t kind)
{
	static const struct form mlx5[] = { { 64, 64, SQ_MAX, DB_BYTES },
					    { 64, 128, CQ_MAX, DB_BYTES } };
	static const struct form mlx4[] = { { 64, GUEST_PAGE, SQ_MAX, 0 },
					    { 32, 64, CQ_MAX, DB_BYTES } };
	bool cq = kind == GUEST_RING_CQ;

	switch (provider) {
	case GUEST_PROVIDER_MLX5:
		return &mlx5[cq];
	case GUEST_PROVIDER_MLX4:
		return &mlx4[cq];
	default:
		return NULL;
	}
}

static bool size_fits(const struct queue_entry *e, const struct form *f)
{
	return power_of_two(e->elem_size, f->elem_min, f->elem_max) &&
	       power_of_two(e->entries, 2, f->entries_max);
}

static bool address_fits(uint64_t address, uint32_t align)
{
	return address && address < ADDRESS_MAX && address % align == 0;
}

/* What holds of all entries in use. */
static bool queue_fits(const struct queue_entry *e)
{
	if (e->kind != GUEST_RING_SQ && e->kind != GUEST_RING_CQ)
		return false;
	if (e->path_mtu && !power_of_two(e->path_mtu, 256, 4096))
		return false;
	if (e->kind == GUEST_RING_CQ && (e->path_mtu || e->qp_type))
		return false;
	return e->number && e->number <= NUMBER_MAX && e->qp_type <= GUEST_QP_RAW;
}

static bool doorbell_fits(const struct queue_entry *e, const struct form *f)
{
	return f->db_bytes ? address_fits(e->doorbell, f->db_bytes) : !e->doorbell;
}

/* Multiplied in 64 bits: at most 2^20 entries of 128 bytes. */
static int memory_parse(const struct queue_entry *e, const struct form *f, struct guest_ring *g,
			struct queue_place *p)
{
	uint64_t bytes = (uint64_t)e->elem_size * e->entries;
	uint64_t pages = (e->address % GUEST_PAGE + bytes + GUEST_PAGE - 1) / GUEST_PAGE;

	if (!size_fits(e, f) || !address_fits(e->address, ALIGN) || !doorbell_fits(e, f) ||
	    pages > PAGES_MAX)
		return -EBADMSG;
	g->elem_size = e->elem_size;
	g->entries = e->entries;
	g->offset = (uint32_t)(e->address % GUEST_PAGE);
	g->frames = (uint32_t)pages;
	g->db_offset = (uint32_t)(e->doorbell % GUEST_PAGE);
	g->db_bytes = f->db_bytes;
	p->page = e->address - g->offset;
	p->pages = (uint32_t)pages;
	p->db_page = e->doorbell - g->db_offset;
	return QUEUE_MEMORY;
}

int queue_entry_parse(const struct queue_entry *e, struct guest_ring *g, struct queue_place *p)
{
	const struct form *f;

	if (e->kind == GUEST_RING_FREE)
		return QUEUE_FREE;
	if (!queue_fits(e))
		return -EBADMSG;
	*g = (struct guest_ring){ .kind = (uint16_t)e->kind,
				  .provider = (uint16_t)e->provider,
				  .number = e->number,
				  .path_mtu = e->path_mtu,
				  .qp_type = e->qp_type };
	if (e->provider == GUEST_PROVIDER_RXE)
		return e->kind == GUEST_RING_SQ ? QUEUE_NOTE : -EBADMSG;
	f = form_of(e->provider, e->kind);
	return f ? memory_parse(e, f, g, p) : -EBADMSG;
}
