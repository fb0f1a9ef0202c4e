// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mem: a guest's pages for dom0 to read. Called by the control side
 * (discovery) only, as a map takes long: on Xen 4.17 in QEMU without hardware
 * virtualization about 1.5 ms for a PV guest and 0.4 ms for a PVH guest, of
 * one frame as of 16, and 25 ms for 4096.
 *
 * map: find the domain -> (PV) translate -> check that all is plain RAM of that
 * guest -> map -> remember. A mapping remembers its frames, so that verify can
 * translate and check them again and compare.
 *
 * A mapping keeps a destroyed guest as a zombie until it is unmapped.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <sys/mman.h>

/* xenctrl.h, in it, must come before any other header of Xen. */
#include "src/hv/xen/xen.h"

#include <xengnttab.h>

struct mapping {
	void *addr;
	size_t n;
	uint32_t domid;
	bool grant;
	xen_pfn_t frames[]; /* as given to Xen; none for a grant */
};

struct hv_mem {
	struct hv_xen_quiet quiet;
	struct hv_xen_frames frames;
	xengnttab_handle *grants; /* NULL: this dom0 has no grant device */
	void *mappings;		  /* search tree by address */
	uint64_t calls;
	uint64_t pages;
};

/* Callers name a mapping by its address alone. Many guests have many rings: hence a tree. */
static int by_addr(const void *a, const void *b)
{
	const uintptr_t x = (uintptr_t)((const struct mapping *)a)->addr;
	const uintptr_t y = (uintptr_t)((const struct mapping *)b)->addr;

	return (x > y) - (x < y);
}

static struct mapping *mapping_find(const struct hv_mem *m, const volatile void *addr)
{
	const struct mapping key = { .addr = (void *)(uintptr_t)addr };
	struct mapping *const *found = tfind(&key, &m->mappings, by_addr);

	return found ? *found : NULL;
}

static struct mapping *mapping_new(uint32_t domid, size_t n, size_t frames)
{
	struct mapping *p = calloc(1, sizeof(*p) + frames * sizeof(p->frames[0]));

	if (p) {
		p->domid = domid;
		p->n = n;
	}
	return p;
}

static void mapping_undo(struct hv_mem *m, struct mapping *p)
{
	if (p->grant)
		xengnttab_unmap(m->grants, p->addr, 1);
	else
		hv_xen_frames_unmap(p->addr, p->n);
}

/*
 * A mapping that is not remembered could never be undone: without memory for that it is
 * undone at once.
 */
static int mapping_keep(struct hv_mem *m, struct mapping *p, const volatile void **addr)
{
	if (!tsearch(p, &m->mappings, by_addr)) {
		mapping_undo(m, p);
		return -ENOMEM;
	}
	m->pages += p->n;
	*addr = p->addr;
	return 0;
}

static void mapping_drop(struct hv_mem *m, struct mapping *p)
{
	tdelete(p, &m->mappings, by_addr);
	mapping_undo(m, p);
	m->pages -= p->n;
	free(p);
}

static int xen_mem_open(struct hv_mem **m, void *arg)
{
	struct hv_mem *h = calloc(1, sizeof(*h));
	int ret;

	(void)arg;
	if (!h)
		return -ENOMEM;
	hv_xen_quiet_init(&h->quiet);
	ret = hv_xen_frames_open(&h->frames, &h->quiet);
	if (ret) {
		free(h);
		return ret;
	}
	/* May fail: guests that share their pages by frame need no grants. */
	h->grants = xengnttab_open(&h->quiet.logger, 0);
	*m = h;
	return 0;
}

static void xen_mem_close(struct hv_mem *m)
{
	if (!m)
		return;
	while (m->mappings)
		mapping_drop(m, *(struct mapping **)m->mappings);
	if (m->grants)
		xengnttab_close(m->grants);
	hv_xen_frames_close(&m->frames);
	free(m);
}

/* A guest that is not dying: pages of a dying one are not mapped. */
static int find_guest(struct hv_mem *m, uint32_t domid, xc_domaininfo_t *info)
{
	int ret;

	if (domid == 0)
		return -EPERM;
	ret = hv_xen_dominfo(m->frames.xc, domid, info);
	if (ret)
		return ret;
	return (info->flags & XEN_DOMINF_dying) ? -ESRCH : 0;
}

static bool is_pv(const xc_domaininfo_t *info)
{
	return !(info->flags & XEN_DOMINF_hvm_guest);
}

/* The guest's frame numbers as numbers that Xen accepts for this guest. */
static int translate(struct hv_mem *m, const xc_domaininfo_t *info, size_t n,
		     const uint64_t *frames, xen_pfn_t *out, size_t *bad)
{
	if (is_pv(info))
		return hv_xen_p2m_translate(&m->frames, info, n, frames, out, bad);
	for (size_t i = 0; i < n; i++)
		out[i] = frames[i];
	return 0;
}

/*
 * The frame is not RAM of the guest. But a frame that is paged out has no type
 * either, and mapping it makes Xen bring it back. So try to map it if the guest
 * has paged frames; the result is -EAGAIN at best.
 */
static int refuse_frame(struct hv_mem *m, const xc_domaininfo_t *info, const xen_pfn_t *frame)
{
	size_t bad;
	void *addr;
	int ret;

	if (is_pv(info))
		return -EPERM;
	if (!info->paged_pages)
		return -EINVAL;
	ret = hv_xen_frames_map(&m->frames, info->domain, 1, frame, &addr, &bad);
	if (ret)
		return ret;
	hv_xen_frames_unmap(addr, 1);
	return -EAGAIN;
}

/*
 * The check comes before the mapping: reading a device's registers has side effects (see
 * frames.c).
 */
static int map_checked(struct hv_mem *m, const xc_domaininfo_t *info, const uint64_t *frames,
		       struct mapping *p, size_t *bad)
{
	int ret = translate(m, info, p->n, frames, p->frames, bad);

	if (ret)
		return ret;
	ret = hv_xen_frames_check(&m->frames, p->domid, HV_XEN_PLAIN, p->n, p->frames, bad);
	if (ret == -EPERM)
		return refuse_frame(m, info, &p->frames[*bad]);
	if (ret)
		return ret;
	return hv_xen_frames_map(&m->frames, p->domid, p->n, p->frames, &p->addr, bad);
}

static int xen_map(struct hv_mem *m, uint32_t domid, size_t n, const uint64_t *frames,
		   const volatile void **addr, size_t *bad)
{
	xc_domaininfo_t info;
	struct mapping *p;
	size_t first = 0;
	int ret;

	m->calls++;
	if (n == 0 || n > HV_XEN_FRAMES_MAX)
		return -E2BIG;
	ret = find_guest(m, domid, &info);
	if (ret)
		return ret;
	p = mapping_new(domid, n, n);
	if (!p)
		return -ENOMEM;
	ret = map_checked(m, &info, frames, p, &first);
	if (!ret)
		ret = mapping_keep(m, p, addr);
	else if (bad)
		*bad = first;
	if (ret)
		free(p);
	return ret;
}

/* The kernel reports EINVAL for every grant that cannot be mapped. */
static int xen_map_grant(struct hv_mem *m, uint32_t domid, uint32_t ref, const volatile void **addr)
{
	xc_domaininfo_t info;
	struct mapping *p;
	int ret;

	m->calls++;
	if (!m->grants)
		return -ENODEV;
	ret = find_guest(m, domid, &info);
	if (ret)
		return ret;
	p = mapping_new(domid, 1, 0);
	if (!p)
		return -ENOMEM;
	p->grant = true;
	p->addr = xengnttab_map_grant_ref(m->grants, domid, ref, PROT_READ);
	ret = p->addr ? mapping_keep(m, p, addr) : errno == ENOMEM ? -ENOMEM : -EINVAL;
	if (ret)
		free(p);
	return ret;
}

static void xen_unmap(struct hv_mem *m, const volatile void *addr, size_t n)
{
	struct mapping *p = mapping_find(m, addr);

	if (p && p->n == n)
		mapping_drop(m, p);
}

/* Are all frames still what they were when they were mapped? */
static int compare_frames(struct hv_mem *m, const xc_domaininfo_t *info, const uint64_t *frames,
			  const struct mapping *p)
{
	xen_pfn_t *now = calloc(p->n, sizeof(*now));
	size_t bad = 0;
	int ret;

	if (!now)
		return -ENOMEM;
	ret = translate(m, info, p->n, frames, now, &bad);
	for (size_t i = 0; !ret && i < p->n; i++)
		if (now[i] != p->frames[i])
			ret = -ESTALE;
	if (!ret)
		ret = hv_xen_frames_check(&m->frames, p->domid, HV_XEN_PLAIN, p->n, now, &bad);
	free(now);
	/* A frame that is not the guest's RAM now was it when it was mapped. */
	return ret == -EINVAL || ret == -EPERM ? -ESTALE : ret;
}

/*
 * PV: translated anew and compared, and still plain RAM of that guest. PVH
 * and HVM: Xen does not tell dom0 which machine frame is behind a guest's
 * frame, so only that there is plain RAM at that number is checked: a frame
 * that was ballooned out is found, one ballooned out and in again is not.
 * A grant is valid as long as its guest is there.
 */
static int xen_verify(struct hv_mem *m, uint32_t domid, size_t n, const uint64_t *frames,
		      const volatile void *addr)
{
	const struct mapping *p = mapping_find(m, addr);
	xc_domaininfo_t info;
	int ret;

	if (!p || p->n != n || p->domid != domid)
		return -EINVAL;
	ret = find_guest(m, domid, &info);
	if (ret || p->grant)
		return ret;
	return compare_frames(m, &info, frames, p);
}

static void xen_stats(struct hv_mem *m, uint64_t *calls, uint64_t *pages)
{
	*calls = m->calls;
	*pages = m->pages;
}

const struct hv_mem_ops hv_xen_mem = {
	.open = xen_mem_open,
	.close = xen_mem_close,
	.map = xen_map,
	.map_grant = xen_map_grant,
	.unmap = xen_unmap,
	.verify = xen_verify,
	.stats = xen_stats,
};
