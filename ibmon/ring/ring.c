// SPDX-License-Identifier: GPL-2.0-or-later
/* ring: one mapped ring, whatever its layout; totals and faults. See ring.h. */
#include "ibmon/ring/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibmon/ring/ops.h"
#include "resex/guest_abi.h"

static const struct ring_ops *const layouts[] = { &ring_rxe_sq, &ring_rxe_cq };

struct ring {
	const struct ring_ops *ops; /* what an idle ring needs comes first */
	struct ring_mem mem;
	enum ring_fault fault;
	bool told;
	struct ring_desc desc;
	struct ring_totals totals;
	struct ring_totals shown; /* as they were when another thread asked for them */
	bool is_shown;
	uint64_t state[]; /* the layout's */
};

const struct ring_ops *ring_ops_find(uint32_t provider, uint32_t kind)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i]->provider == provider && layouts[i]->kind == kind)
			return layouts[i];
	return NULL;
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
	}
	return "unknown fault";
}

static bool is_power_of_2(uint32_t v)
{
	return v && !(v & (v - 1));
}

static int check_desc(const struct ring_desc *d, const volatile void *base, size_t len)
{
	if (!is_power_of_2(d->elem_size) || d->elem_size < 64 || d->elem_size > 4096)
		return -EBADMSG;
	if (!is_power_of_2(d->entries) || d->entries < 2 || d->entries > 1u << 20)
		return -EBADMSG;
	if (d->offset >= GUEST_PAGE || d->offset >= len)
		return -EBADMSG;
	if (((uintptr_t)base + d->offset) % sizeof(uint64_t))
		return -EBADMSG;
	return 0;
}

int ring_open(struct ring **r, const struct ring_desc *desc, const volatile void *base, size_t len)
{
	const struct ring_ops *ops = ring_ops_find(desc->provider, desc->kind);
	struct ring *n;
	int rc;

	if (!ops)
		return -EPROTONOSUPPORT;
	rc = check_desc(desc, base, len);
	if (rc)
		return rc;
	n = calloc(1, sizeof(*n) + ops->state_size(desc));
	if (!n)
		return -ENOMEM;
	n->desc = *desc;
	n->ops = ops;
	n->mem.base = (const volatile uint8_t *)base + desc->offset;
	n->mem.len = len - desc->offset;
	n->totals.qpn = desc->number;
	rc = ops->open(&n->desc, &n->mem, n->state);
	if (rc) {
		free(n);
		return rc;
	}
	*r = n;
	return 0;
}

void ring_close(struct ring *r)
{
	free(r);
}

static void add_totals(struct ring *r, const struct sample *s)
{
	struct ring_totals *t = &r->totals;

	t->wrs += s->wrs;
	t->seen += s->seen;
	t->lost += s->lost;
	t->errors += s->errors;
	t->mtus_sent += s->mtus_sent;
	t->mtus_recv += s->mtus_recv;
	t->bytes_sent += s->bytes_sent;
	t->bytes_recv += s->bytes_recv;
	t->bytes_bound += s->bytes_bound;
	for (int i = 0; i < OP_KINDS; i++)
		t->ops[i] += s->ops[i];
	if (r->desc.kind == RING_CQ)
		t->completions += s->seen;
	if (s->flags & SAMPLE_LAPPED)
		t->laps++;
	t->flags |= s->flags;
}

/* As memset; which, inlined for this size, costs as much as reading an entry. */
static void clear(struct sample *s)
{
	s->slot = s->ring = s->flags = s->msg_bytes = 0;
	s->wrs = s->seen = s->lost = s->errors = 0;
	s->mtus_sent = s->mtus_recv = s->bytes_sent = s->bytes_recv = 0;
	s->bytes_bound = s->backlog = 0;
	for (int i = 0; i < OP_KINDS; i++)
		s->ops[i] = 0;
}

int ring_sample(struct ring *r, int64_t elapsed_ns, struct sample *out)
{
	enum ring_fault fault = RING_FAULT_ENTRY;
	int rc;

	clear(out);
	if (r->fault)
		return -EBADMSG;
	out->ring = r->desc.id;
	rc = r->ops->sample(&r->desc, &r->mem, r->state, elapsed_ns > 0 ? elapsed_ns : 0, out,
			    &fault, &r->totals.qpn);
	if (rc) { /* nothing of a sample at fault is believed */
		clear(out);
		r->fault = fault;
		return -EBADMSG;
	}
	add_totals(r, out);
	return 0;
}

enum ring_fault ring_fault(const struct ring *r)
{
	return r->fault;
}

bool ring_idle(const struct ring *r, uint64_t *backlog)
{
	return !r->fault && r->ops->idle(&r->desc, &r->mem, r->state, backlog);
}

bool ring_fault_told(const struct ring *r)
{
	return r->told;
}

void ring_fault_tell(struct ring *r)
{
	r->told = true;
}

const struct ring_desc *ring_desc(const struct ring *r)
{
	return &r->desc;
}

void ring_totals(const struct ring *r, struct ring_totals *t)
{
	*t = r->totals;
}

void ring_show(struct ring *r)
{
	r->shown = r->totals;
	r->is_shown = true;
}

bool ring_shown(const struct ring *r, struct ring_totals *t)
{
	if (r->is_shown)
		*t = r->shown;
	return r->is_shown;
}
