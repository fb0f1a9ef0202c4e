// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * open: find the layout of a ring, open and close it. Apart from ring.c, which the
 * 1 ms path calls and which may not allocate.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibmon/ring/ring_priv.h"
#include "resex/guest_abi.h"

static const struct ring_ops *const layouts[] = { &ring_rxe_sq,	 &ring_rxe_cq,	&ring_mlx5_sq,
						  &ring_mlx5_cq, &ring_mlx4_sq, &ring_mlx4_cq };

const struct ring_ops *ring_ops_find(const struct ring_layouts *ls, uint32_t provider,
				     uint32_t kind)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i]->provider == provider && layouts[i]->kind == kind)
			return layouts[i];
	for (uint32_t i = 0; ls && i < ls->n; i++)
		if (ls->ops[i].provider == provider && ls->ops[i].kind == kind)
			return &ls->ops[i];
	return NULL;
}

const char *ring_provider(uint32_t provider)
{
	switch (provider) {
	case GUEST_PROVIDER_RXE:
		return "rxe";
	case GUEST_PROVIDER_MLX5:
		return "mlx5";
	case GUEST_PROVIDER_MLX4:
		return "mlx4";
	default:
		return NULL;
	}
}

const char *ring_providers_note(void)
{
	return "mlx5 and mlx4 were not yet run on ConnectX hardware";
}

const char *ring_fault_text(enum ring_fault f)
{
	switch (f) {
	case RING_OK:
		return "the ring is read";
	case RING_FAULT_HEADER:
		return "its header is not that of its descriptor: its memory was freed or forged";
	case RING_FAULT_INDEX:
		return "an index in its header lies outside the ring";
	case RING_FAULT_ENTRY:
		return "an entry cannot be a work request or completion";
	case RING_FAULT_JUMP:
		return "its counters moved further than the time allows, or backwards";
	case RING_FAULT_LAYOUT:
		return "its provider or layout is not known to this version of resexd";
	case RING_FAULT_MAP:
		return "its frames could not be mapped";
	case RING_FAULT_LIMIT:
		return "the guest has more rings or pages than its limit; raise it in the "
		       "configuration";
	case RING_FAULT_DESC:
		return "its descriptor is malformed";
	case RING_FAULT_PLUGIN:
		return "the plug-in that has its layout returned counts that cannot be; mend the "
		       "plug-in";
	}
	return "unknown fault";
}

static bool is_power_of_2(uint32_t v)
{
	return v && !(v & (v - 1));
}

static int check_desc(const struct ring_desc *d, const volatile void *base, size_t len)
{
	if (!is_power_of_2(d->elem_size) || d->elem_size < GUEST_RING_ELEM_MIN ||
	    d->elem_size > GUEST_RING_ELEM_MAX)
		return -EBADMSG;
	if (!is_power_of_2(d->entries) || d->entries < 2 || d->entries > 1u << 20)
		return -EBADMSG;
	if (d->offset >= GUEST_PAGE || d->offset >= len || len > UINT32_MAX)
		return -EBADMSG;
	if (((uintptr_t)base + d->offset) % sizeof(uint64_t))
		return -EBADMSG;
	return 0;
}

const char *ring_layout_name(const struct ring_layouts *ls, uint32_t provider, uint32_t kind)
{
	const struct ring_ops *ops = ring_ops_find(ls, provider, kind);

	return ops ? ops->name : NULL;
}

const char *ring_layout_loaded(const struct ring_layouts *ls, uint32_t i)
{
	return ls && i < ls->n ? ls->ops[i].name : NULL;
}

uint32_t ring_frames(const struct ring_layouts *ls, const struct ring_desc *desc)
{
	const struct ring_ops *ops = ring_ops_find(ls, desc->provider, desc->kind);

	return desc->frames + (ops && ops->db_bytes);
}

/* Where the ring and its doorbell record are in the len mapped bytes at base. */
static int find_memory(const struct ring_ops *ops, const struct ring_desc *d,
		       const volatile void *base, size_t len, struct ring_mem *m)
{
	size_t own = (size_t)d->frames * GUEST_PAGE;

	*m = (struct ring_mem){ .base = (const volatile uint8_t *)base + d->offset,
				.len = (uint32_t)(len - d->offset) };
	if (!ops->db_bytes)
		return 0;
	if (len < own + GUEST_PAGE || d->offset >= own || d->db_offset % ops->db_bytes ||
	    d->db_offset > GUEST_PAGE - ops->db_bytes)
		return -EBADMSG;
	m->len = (uint32_t)(own - d->offset);
	m->db_at = m->len + d->db_offset;
	return 0;
}

int ring_open(struct ring **r, const struct ring_desc *desc, const volatile void *base, size_t len)
{
	return ring_open_among(r, NULL, desc, base, len);
}

int ring_open_among(struct ring **r, const struct ring_layouts *ls, const struct ring_desc *desc,
		    const volatile void *base, size_t len)
{
	const struct ring_ops *ops = ring_ops_find(ls, desc->provider, desc->kind);
	struct ring_mem mem;
	int rc;

	if (!ops)
		return -EPROTONOSUPPORT;
	rc = check_desc(desc, base, len);
	if (!rc)
		rc = find_memory(ops, desc, base, len, &mem);
	return rc ? rc : ring_open_over(r, ops, desc, &mem);
}

int ring_open_over(struct ring **r, const struct ring_ops *ops, const struct ring_desc *desc,
		   const struct ring_mem *mem)
{
	struct ring *n;
	size_t bytes;
	int rc;

	bytes = ops->layout ? ring_plug_state_size(ops->layout, desc) : ops->state_size(desc);
	if (ops->layout && !bytes)
		return -EPROTONOSUPPORT;
	bytes = (sizeof(*n) + bytes + RING_LINE - 1) / RING_LINE * RING_LINE;
	n = aligned_alloc(RING_LINE, bytes);
	if (!n)
		return -ENOMEM;
	memset(n, 0, bytes);
	n->desc = *desc;
	n->ops = ops;
	n->mem = *mem;
	n->totals.qpn = desc->number;
	if (ops->layout)
		rc = ring_plug_open(ops->layout, &n->desc, &n->mem, n->state);
	else
		rc = ops->open(&n->desc, &n->mem, n->state);
	if (rc) {
		free(n);
		return rc;
	}
	*r = n;
	return 0;
}

static bool is_intact(const struct ring *r)
{
	return r->ops->intact && r->ops->intact(r->state);
}

int ring_resume(struct ring *r, const struct ring_desc *desc, const volatile void *base, size_t len,
		int64_t gap_ns, bool surely)
{
	struct ring_mem mem;

	if (!r->ops->continues || find_memory(r->ops, desc, base, len, &mem) ||
	    !r->ops->continues(&r->desc, &mem, r->state, false))
		return 0;
	if (r->fault && !(surely && is_intact(r)))
		return -EAGAIN;
	if (surely && !r->ops->continues(&r->desc, &mem, r->state, true))
		return -EAGAIN;
	r->desc = *desc;
	r->mem = mem;
	r->gap_ns = gap_ns > 0 ? gap_ns : 0;
	r->gapped = true;
	r->fault = RING_OK;
	r->fault_delivered = false;
	return 1;
}

bool ring_is_blank(const struct ring *r)
{
	struct ring_totals t;

	ring_totals(r, &t);
	return !t.wrs && !r->skip_history;
}

bool ring_counted_here(const struct ring *was, const volatile void *base, size_t len)
{
	struct ring_mem mem;

	return was->ops->continues && !find_memory(was->ops, &was->desc, base, len, &mem) &&
	       was->ops->continues(&was->desc, &mem, was->state, true);
}

static int by_qpn(const void *a, const void *b)
{
	const struct ring *x = *(struct ring *const *)a, *y = *(struct ring *const *)b;

	return x->desc.number < y->desc.number ? -1 : x->desc.number > y->desc.number;
}

struct ring_peers *ring_peers_new(struct ring *const *ring, uint32_t n)
{
	struct ring_peers *p;
	struct ring **told = calloc(n + 1, sizeof(struct ring *));
	uint32_t k = 0;

	for (uint32_t i = 0; told && i < n; i++)
		if (ring[i]->ops->completed)
			told[k++] = ring[i];
	p = k ? malloc(sizeof(*p) + k * sizeof(p->peer[0])) : NULL;
	if (p) {
		qsort(told, k, sizeof(struct ring *), by_qpn);
		p->n = k;
		for (uint32_t i = 0; i < k; i++) {
			p->peer[i].qpn = told[i]->desc.number;
			p->peer[i].sq = told[i];
		}
	}
	free(told);
	return p;
}

void ring_close(struct ring *r)
{
	free(r);
}
