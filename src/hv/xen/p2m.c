// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * p2m: translates a PV guest's frame numbers into those of the machine, by
 * the table that the guest itself keeps. Called by mem.c for map and verify.
 *
 * A guest says in its shared-info page where the table is: today as an array
 * at p2m_vaddr in the address space of p2m_cr3 (four levels of page tables,
 * then the array), formerly as a tree of frame lists. Both are the same
 * walk: at each level some bits of an address choose one of 512 entries.
 *
 * All frames of a call walk together, level by level, in ascending order;
 * those that need the same table page share it. So a level costs one type
 * check and one mapping, whatever the number of frames, and nothing of the
 * table stays mapped afterwards.
 *
 * The guest writes all of this and may lie: table pages are checked to be its
 * RAM before they are mapped, and the caller must check the result.
 */
#include <errno.h>
#include <stdlib.h>

#include "src/hv/xen/xen.h"

#define ENTRY_MASK     511u
#define PTE_PRESENT    0x1ull
#define PTE_LARGE      0x80ull
#define PTE_FRAME      0x000ffffffffff000ull
#define P2M_INVALID    (~0ull)
#define P2M_FOREIGN    (1ull << 63) /* a grant of another domain's frame */
#define P2M_IDENTITY   (1ull << 62) /* no RAM: the frame number is a device's */
#define GENERATION_TRY 3

struct step {
	uint64_t key;	 /* the bits that choose the entries */
	xen_pfn_t table; /* the table's frame; after the last level the result */
	size_t slot;	 /* of the table among those mapped at this level */
	size_t pos;	 /* in the caller's order */
};

struct walk {
	struct hv_xen_frames *f;
	uint32_t domid;
	size_t n;
	struct step *steps;
	xen_pfn_t *tables;
};

struct level {
	unsigned int shift;
	bool pte; /* entries are page-table entries, not frame numbers */
};

static const struct level levels_vaddr[] = {
	{ 39, true }, { 30, true }, { 21, true }, { 12, true }, { 3, false }, { 0, false },
};

static const struct level levels_list[] = {
	{ 21, false },
	{ 12, false },
	{ 3, false },
	{ 0, false },
};

static int by_key(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/*
 * A large page (2 MiB) is not a table. In the last level of page tables the bit has another
 * meaning (PAT).
 */
static int decode(uint64_t entry, bool pte, bool large_ok, xen_pfn_t *frame)
{
	if (!pte) {
		if (entry == 0 || entry == P2M_INVALID || (entry & P2M_IDENTITY))
			return -EINVAL;
		if (entry & P2M_FOREIGN)
			return -EPERM;
		*frame = entry;
		return 0;
	}
	if (!(entry & PTE_PRESENT) || (!large_ok && (entry & PTE_LARGE)))
		return -EINVAL;
	*frame = (entry & PTE_FRAME) >> 12;
	return 0;
}

/* The distinct tables of this level into w->tables; how many. */
static size_t gather_tables(struct walk *w)
{
	size_t used = 0;

	for (size_t i = 0; i < w->n; i++) {
		struct step *s = &w->steps[i];

		if (used == 0 || w->tables[used - 1] != s->table)
			w->tables[used++] = s->table;
		s->slot = used - 1;
	}
	return used;
}

static size_t first_user(const struct walk *w, size_t slot)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->steps[i].slot == slot)
			return w->steps[i].pos;
	return 0;
}

/* Each entry is read once: the guest may change it between two reads. */
static int read_entries(struct walk *w, const volatile uint64_t *base, struct level l, size_t *bad)
{
	for (size_t i = 0; i < w->n; i++) {
		struct step *s = &w->steps[i];
		size_t entry = (size_t)(s->key >> l.shift) & ENTRY_MASK;
		int ret = decode(base[s->slot * (HV_PAGE / 8) + entry], l.pte, l.shift == 12,
				 &s->table);

		if (ret) {
			*bad = s->pos;
			return ret;
		}
	}
	return 0;
}

static int walk_level(struct walk *w, struct level l, size_t *bad)
{
	size_t n = gather_tables(w), slot = 0;
	void *base;
	int ret = hv_xen_frames_check(w->f, w->domid, HV_XEN_RAM, n, w->tables, &slot);

	if (!ret)
		ret = hv_xen_frames_map(w->f, w->domid, n, w->tables, &base, &slot);
	if (ret) {
		*bad = first_user(w, slot);
		return ret;
	}
	ret = read_entries(w, base, l, bad);
	hv_xen_frames_unmap(base, n);
	return ret;
}

static int walk_all(struct walk *w, const shared_info_t *shared, const uint64_t *pfns, size_t *bad)
{
	const volatile struct arch_shared_info *a = &shared->arch;
	const uint64_t cr3 = a->p2m_cr3, max = a->max_pfn;
	const uint64_t start = cr3 ? a->p2m_vaddr : 0;
	const xen_pfn_t root = cr3 ? cr3 >> 12 : a->pfn_to_mfn_frame_list_list;
	const struct level *l = cr3 ? levels_vaddr : levels_list;

	if (root == 0 || root == P2M_INVALID)
		return -EAGAIN; /* the guest's kernel has not yet set it up */
	for (size_t i = 0; i < w->n; i++) {
		if (pfns[i] >= max || pfns[i] > UINT64_MAX / 8) {
			*bad = i;
			return -EINVAL;
		}
		w->steps[i] = (struct step){ start + pfns[i] * 8, root, 0, i };
	}
	qsort(w->steps, w->n, sizeof(*w->steps), by_key);
	for (; l->shift; l++) {
		int ret = walk_level(w, *l, bad);

		if (ret)
			return ret;
	}
	return 0;
}

/* The guest counts its changes of the table; odd means one is under way. */
static int walk_stable(struct walk *w, const shared_info_t *shared, const uint64_t *pfns,
		       size_t *bad)
{
	const volatile unsigned long *generation = &shared->arch.p2m_generation;

	for (int i = 0; i < GENERATION_TRY; i++) {
		const unsigned long before = *generation;
		int ret = walk_all(w, shared, pfns, bad);

		if (!(before & 1) && *generation == before)
			return ret;
	}
	return -EAGAIN;
}

/* A 32-bit guest has tables of another layout. */
static int check_width(struct hv_xen_frames *f, uint32_t domid)
{
	unsigned int width;

	if (xc_domain_get_guest_width(f->xc, domid, &width))
		return -errno;
	return width == 8 ? 0 : -EOPNOTSUPP;
}

int hv_xen_p2m_translate(struct hv_xen_frames *f, const xc_domaininfo_t *info, size_t n,
			 const uint64_t *pfns, xen_pfn_t *mfns, size_t *bad)
{
	const xen_pfn_t frame = info->shared_info_frame;
	struct walk w = { .f = f, .domid = info->domain, .n = n };
	void *shared = NULL;
	int ret = check_width(f, w.domid);

	if (ret)
		return ret;
	w.steps = calloc(n, sizeof(*w.steps));
	w.tables = calloc(n, sizeof(*w.tables));
	ret = -ENOMEM;
	if (!w.steps || !w.tables)
		goto out;
	/* Xen itself named this frame: no type check, and it would fail one. */
	ret = hv_xen_frames_map(f, w.domid, 1, &frame, &shared, bad);
	if (ret)
		goto out;
	ret = walk_stable(&w, shared, pfns, bad);
	hv_xen_frames_unmap(shared, 1);
	if (ret)
		goto out;
	for (size_t i = 0; i < n; i++)
		mfns[w.steps[i].pos] = w.steps[i].table;
out:
	free(w.steps);
	free(w.tables);
	return ret;
}
