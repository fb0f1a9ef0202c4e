// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * public: libibmon, for programs outside of ResEx: resex/ibmon.h over the rings of ibmon/ring.
 *
 *	ibmon_desc, ibmon_mem --checked--> ring_open_over()
 *	ring_sample_among(), with the send queues of the handle --> ibmon_counts
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibmon/layout.h"
#include "ibmon/ring/ring_priv.h"
#include "resex/guest_abi.h"

struct ibmon_ring {
	struct ibmon *m;
	struct ring *ring;
	struct ring_quiet quiet;
};

struct ibmon {
	struct layouts *layouts;
	struct ring_peers *peers; /* send queues that completion queues tell; NULL: none */
	struct ibmon_ring **ring;
	uint32_t n;
};

int ibmon_open(struct ibmon **m, uint32_t abi)
{
	struct ibmon *n;
	int rc;

	if (abi != IBMON_ABI)
		return -EPROTONOSUPPORT;
	n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	rc = layouts_open(&n->layouts);
	if (rc)
		free(n);
	else
		*m = n;
	return rc;
}

static void free_ring(struct ibmon_ring *r)
{
	ring_close(r->ring);
	free(r);
}

void ibmon_close(struct ibmon *m)
{
	if (!m)
		return;
	while (m->n)
		free_ring(m->ring[--m->n]);
	free(m->ring);
	free(m->peers);
	layouts_close(m->layouts);
	free(m);
}

int ibmon_layout_load(struct ibmon *m, const char *path, char *why, size_t size)
{
	char text[PLUGIN_WHY_MAX];
	int rc = layouts_load(m->layouts, path, text);

	if (rc && size)
		snprintf(why, size, "%s", text);
	return rc;
}

const char *ibmon_layout_name(const struct ibmon *m, uint32_t provider, uint32_t kind)
{
	return ring_layout_name(&m->layouts->found, provider, kind);
}

/* --- open ----------------------------------------------------------------------------- */

static bool power_of_2_within(uint32_t v, uint32_t low, uint32_t high)
{
	return v >= low && v <= high && !(v & (v - 1));
}

static bool is_in_range(const struct ibmon_desc *d)
{
	return power_of_2_within(d->elem_size, GUEST_RING_ELEM_MIN, GUEST_RING_ELEM_MAX) &&
	       power_of_2_within(d->entries, 2, 1u << 20) &&
	       (!d->path_mtu || (d->path_mtu >= 256 && d->path_mtu <= 4096)) &&
	       d->qp_type <= (d->kind == IBMON_SQ ? IBMON_QP_RAW : 0) && !d->reserved;
}

static int find_memory(const struct ring_ops *ops, const struct ibmon_desc *d,
		       const struct ibmon_mem *mem, struct ring_mem *m)
{
	uintptr_t ring = (uintptr_t)mem->ring, db = (uintptr_t)mem->db;

	if (!ring || ring % sizeof(uint64_t))
		return -EINVAL;
	*m = (struct ring_mem){ .base = mem->ring, .len = mem->ring_len };
	if (ops->db_bytes) {
		if (db <= ring || db - ring > UINT32_MAX || db % ops->db_bytes)
			return -EINVAL;
		if (mem->db_len < ops->db_bytes)
			return -EBADMSG;
		m->db_at = (uint32_t)(db - ring);
	}
	return (uint64_t)d->entries * d->elem_size > m->len ? -EBADMSG : 0;
}

/* Would a completion queue not know which of the two it tells? */
static bool is_number_taken(const struct ibmon *m, uint32_t number)
{
	for (uint32_t i = 0; m->peers && i < m->peers->n; i++)
		if (m->peers->peer[i].qpn == number)
			return true;
	return false;
}

/* Room for r, and peers with it. Nothing is changed on failure. */
static int add_ring(struct ibmon *m, struct ibmon_ring *r)
{
	struct ibmon_ring **more = realloc(m->ring, (m->n + 1) * sizeof(*more));
	struct ring_peers *peers;
	struct ring **rings;

	if (!more)
		return -ENOMEM;
	m->ring = more;
	more[m->n] = r;
	if (r->ring->ops->completed) {
		rings = calloc(m->n + 1, sizeof(*rings));
		for (uint32_t i = 0; rings && i <= m->n; i++)
			rings[i] = more[i]->ring;
		peers = rings ? ring_peers_new(rings, m->n + 1) : NULL;
		free(rings);
		if (!peers)
			return -ENOMEM;
		free(m->peers);
		m->peers = peers;
	}
	m->n++;
	return 0;
}

static int open_ring(struct ibmon *m, struct ibmon_ring **r, const struct ring_ops *ops,
		     const struct ring_desc *desc, const struct ring_mem *mem)
{
	struct ibmon_ring *n = calloc(1, sizeof(*n));
	int rc;

	if (!n)
		return -ENOMEM;
	n->m = m;
	rc = ring_open_over(&n->ring, ops, desc, mem);
	if (!rc)
		rc = add_ring(m, n);
	if (rc)
		free_ring(n);
	else
		*r = n;
	return rc;
}

int ibmon_ring_open(struct ibmon *m, struct ibmon_ring **r, const struct ibmon_desc *d,
		    const struct ibmon_mem *mem)
{
	const struct ring_ops *ops = ring_ops_find(&m->layouts->found, d->provider, d->kind);
	struct ring_mem found;
	struct ring_desc desc;
	int rc;

	if (!ops)
		return -EPROTONOSUPPORT;
	if (!is_in_range(d))
		return -EINVAL;
	rc = find_memory(ops, d, mem, &found);
	if (rc)
		return rc;
	if (ops->completed && is_number_taken(m, d->number))
		return -EEXIST;
	desc = (struct ring_desc){
		.kind = d->kind,
		.elem_size = d->elem_size,
		.entries = d->entries,
		.provider = d->provider,
		.number = d->number,
		.path_mtu = d->path_mtu,
		.qp_type = d->qp_type,
	};
	return open_ring(m, r, ops, &desc, &found);
}

static void forget_peer(struct ring_peers *p, const struct ring *sq)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < p->n; i++)
		if (p->peer[i].sq != sq)
			p->peer[k++] = p->peer[i];
	p->n = k;
}

void ibmon_ring_close(struct ibmon_ring *r)
{
	struct ibmon *m;
	uint32_t k = 0;

	if (!r)
		return;
	m = r->m;
	if (m->peers)
		forget_peer(m->peers, r->ring);
	for (uint32_t i = 0; i < m->n; i++)
		if (m->ring[i] != r)
			m->ring[k++] = m->ring[i];
	m->n = k;
	free_ring(r);
}

/* --- read ----------------------------------------------------------------------------- */

static void fill(struct ibmon_counts *c, const struct sample *s)
{
	*c = (struct ibmon_counts){
		.wrs = s->wrs,
		.seen = s->seen,
		.lost = s->lost,
		.errors = s->errors,
		.mtus_sent = s->mtus_sent,
		.mtus_recv = s->mtus_recv,
		.bytes_sent = s->bytes_sent,
		.bytes_recv = s->bytes_recv,
		.bytes_bound = s->bytes_bound,
		.likely_sent = s->likely_sent,
		.likely_recv = s->likely_recv,
		.backlog = s->backlog,
		.flags = s->flags,
		.msg_bytes = s->msg_bytes,
	};
	for (int i = 0; i < IBMON_OPS; i++)
		c->ops[i] = s->ops[i];
}

int ibmon_ring_sample(struct ibmon_ring *r, int64_t elapsed_ns, struct ibmon_counts *out)
{
	struct ring_totals t;
	struct sample s;
	int rc = ring_sample_among(r->ring, r->m->peers, elapsed_ns, &s);

	ring_watch(r->ring, &r->quiet);
	memset(out, 0, sizeof(*out));
	if (rc)
		return rc;
	fill(out, &s);
	ring_totals(r->ring, &t);
	out->qpn = t.qpn;
	return 0;
}

/* A ring at fault has no words. */
bool ibmon_ring_idle(const struct ibmon_ring *r)
{
	const struct ring_quiet *q = &r->quiet;

	if (!ring_is_quiet(q) || (q->at[2] && *q->at[2] != q->value[2]))
		return false;
	return r->ring->ops->header_same(&r->ring->desc, &r->ring->mem);
}

enum ibmon_fault ibmon_ring_fault(const struct ibmon_ring *r)
{
	enum ring_fault f = ring_fault(r->ring);

	return f == RING_FAULT_PLUGIN ? IBMON_FAULT_PLUGIN : (enum ibmon_fault)f;
}

const char *ibmon_fault_text(enum ibmon_fault f)
{
	switch (f) {
	case IBMON_OK:
		return "the ring is read";
	case IBMON_FAULT_HEADER:
		return "its header is not that of its descriptor: its memory was freed or forged";
	case IBMON_FAULT_INDEX:
		return "an index in its header lies outside the ring";
	case IBMON_FAULT_ENTRY:
		return "an entry cannot be a work request or completion";
	case IBMON_FAULT_JUMP:
		return "its counters moved further than the time allows, or backwards";
	case IBMON_FAULT_LAYOUT:
		return "an entry has a form that its layout does not know";
	case IBMON_FAULT_PLUGIN:
		return "the plug-in that has its layout returned counts that cannot be";
	}
	return "unknown fault";
}
