// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hvprobe: a PV guest that lies about its frame table, and domains that are
 * no more than an id. The lies are written from dom0 into the page where the
 * guest's kernel says where its table is; the guest does not read it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "src/hv/xen/xen.h"

#include <xenforeignmemory.h>

#include "tests/system/src/hvguest.h"
#include "tests/system/src/hvprobe.h"

#define CHECK_FRAME  5	    /* the frame that is asked for */
#define DEVICE_FRAME 0xb8ul /* VGA's text: no RAM, and dom0 may give it to a guest */

struct liar {
	struct hv_xen_quiet quiet;
	struct hv_xen_frames frames;
	xenforeignmemory_handle *memory;
	struct hv_mem *m;
	xc_domaininfo_t info;
	volatile struct arch_shared_info *says;
	struct arch_shared_info truth;
};

static void *map_writable(struct liar *l, xen_pfn_t frame)
{
	return xenforeignmemory_map(l->memory, l->info.domain, PROT_READ | PROT_WRITE, 1, &frame,
				    NULL);
}

static bool liar_open(struct probe *p, struct liar *l)
{
	shared_info_t *shared;

	hv_xen_quiet_init(&l->quiet);
	l->m = probe_open_mem(p);
	l->memory = xenforeignmemory_open(NULL, 0);
	if (!l->m || !l->memory || hv_xen_frames_open(&l->frames, &l->quiet) ||
	    hv_xen_dominfo(l->frames.xc, p->domid, &l->info))
		return false;
	shared = map_writable(l, l->info.shared_info_frame);
	if (!shared)
		return false;
	l->says = &shared->arch;
	memcpy(&l->truth, &shared->arch, sizeof(l->truth));
	return true;
}

static void tell_truth(struct liar *l)
{
	l->says->p2m_cr3 = l->truth.p2m_cr3;
	l->says->p2m_vaddr = l->truth.p2m_vaddr;
	l->says->p2m_generation = l->truth.p2m_generation;
	l->says->max_pfn = l->truth.max_pfn;
	l->says->pfn_to_mfn_frame_list_list = l->truth.pfn_to_mfn_frame_list_list;
}

/* Map one frame while the lie stands, then go back to the truth. */
static void expect(struct probe *p, struct liar *l, int want, const char *lie)
{
	const volatile void *addr;
	int ret = p->hv->mem->map(l->m, p->domid, 1, &p->frame[CHECK_FRAME], &addr, NULL);

	probe_equal(p, ret, want, "map, when %s", lie);
	if (!ret) {
		const volatile struct hvguest_page *page = addr;

		probe_equal(p, (long long)page->index, CHECK_FRAME, "the right page");
		p->hv->mem->unmap(l->m, addr, 1);
	}
	tell_truth(l);
}

static xen_pfn_t machine_frame(struct liar *l, uint64_t pfn)
{
	xen_pfn_t mfn = 0;
	size_t bad;

	return hv_xen_p2m_translate(&l->frames, &l->info, 1, &pfn, &mfn, &bad) ? 0 : mfn;
}

/*
 * The guest gets a device. Xen then maps the frames of the device's memory
 * as if they were the guest's: only the check of the type stands before it.
 */
static void give_device(struct probe *p, struct liar *l)
{
	const xen_pfn_t frame = DEVICE_FRAME;
	size_t bad;
	void *addr;

	probe_equal(p, xc_domain_iomem_permission(l->frames.xc, p->domid, frame, 1, 1), 0,
		    "the guest gets a device's frame");
	if (probe_equal(p, hv_xen_frames_map(&l->frames, p->domid, 1, &frame, &addr, &bad), 0,
			"unchecked, it would be mapped"))
		hv_xen_frames_unmap(addr, 1);
	probe_equal(p, hv_xen_frames_check(&l->frames, p->domid, HV_XEN_RAM, 1, &frame, &bad),
		    -EPERM, "the check refuses it");
}

static void check_lies(struct probe *p, struct liar *l)
{
	expect(p, l, 0, "it tells the truth");
	l->says->p2m_cr3 = 0xfee00ul << 12;
	expect(p, l, -EPERM, "the table is said to be in the local APIC");
	l->says->p2m_cr3 = 0x7fffffful << 12;
	expect(p, l, -EPERM, "the table is said to be beyond all memory");
	l->says->p2m_cr3 = ~0ul;
	expect(p, l, -EPERM, "the table's root is all ones");
	l->says->p2m_cr3 = machine_frame(l, p->frame[0]) << 12;
	expect(p, l, -EINVAL, "the table's root is a page of zeros");
	l->says->p2m_vaddr = 0;
	expect(p, l, -EINVAL, "the table is said to be at address 0");
	l->says->p2m_generation = 7;
	expect(p, l, -EAGAIN, "the table is said to be changing");
	l->says->max_pfn = p->frame[CHECK_FRAME];
	expect(p, l, -EINVAL, "the table is said to end just before the frame");
	l->says->max_pfn = p->frame[CHECK_FRAME] + 1;
	expect(p, l, 0, "the table is said to end just behind the frame");
	l->says->p2m_cr3 = 0;
	l->says->pfn_to_mfn_frame_list_list = 0;
	expect(p, l, -EAGAIN, "no table is named");
	l->says->p2m_cr3 = 0;
	l->says->pfn_to_mfn_frame_list_list = ~0ul;
	expect(p, l, -EAGAIN, "the list of lists is marked invalid");
	l->says->p2m_cr3 = 0;
	l->says->pfn_to_mfn_frame_list_list = 0xfee00;
	expect(p, l, -EPERM, "the list of lists is said to be in the local APIC");
	l->says->p2m_cr3 = 0;
	l->says->pfn_to_mfn_frame_list_list = DEVICE_FRAME;
	expect(p, l, -EPERM, "the list of lists is said to be in the guest's device");
	l->says->p2m_cr3 = DEVICE_FRAME << 12;
	expect(p, l, -EPERM, "the table is said to be in the guest's device");
}

/* What the guest mapped is no longer where its table says. */
static void check_moved(struct probe *p, struct liar *l)
{
	const struct hv_mem_ops *ops = p->hv->mem;
	const uint64_t *frame = &p->frame[CHECK_FRAME];
	const volatile void *addr;

	if (!probe_equal(p, ops->map(l->m, p->domid, 1, frame, &addr, NULL), 0, "map"))
		return;
	probe_equal(p, ops->verify(l->m, p->domid, 1, frame, addr), 0, "verify");
	l->says->p2m_vaddr += 8;
	probe_equal(p, ops->verify(l->m, p->domid, 1, frame, addr), -ESTALE,
		    "verify, when the table has moved by one entry");
	tell_truth(l);
	l->says->p2m_generation = 7;
	probe_equal(p, ops->verify(l->m, p->domid, 1, frame, addr), -EAGAIN,
		    "verify, when the table is said to be changing");
	tell_truth(l);
	ops->unmap(l->m, addr, 1);
}

/* A leaf entry of the table, as a bad guest would write it. */
static void check_entries(struct probe *p, struct liar *l, volatile uint64_t *leaf)
{
	const xen_pfn_t list = machine_frame(l, p->frame[0]);
	const uint64_t right = *leaf;
	const volatile void *addr;
	const struct {
		uint64_t entry;
		int want;
		const char *why;
	} cases[] = {
		{ right, 0, "the entry is right" },
		{ ~0ull, -EINVAL, "the entry is invalid" },
		{ 0, -EINVAL, "the entry is 0" },
		{ right | 1ull << 62, -EINVAL, "the entry is marked as a device's" },
		{ right | 1ull << 63, -EPERM, "the entry is marked as another domain's" },
		{ 0xfee00, -EPERM, "the entry is the local APIC" },
		{ DEVICE_FRAME, -EPERM, "the entry is a device's of the guest" },
		{ right | 1ull << 51, -EPERM, "the entry has a high bit" },
		{ l->truth.p2m_cr3 >> 12, -EINVAL, "the entry is a page table" },
	};

	if (p->hv->mem->map(l->m, p->domid, 1, &p->frame[CHECK_FRAME], &addr, NULL))
		return;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		*leaf = cases[i].entry;
		l->says->p2m_cr3 = 0;
		l->says->pfn_to_mfn_frame_list_list = list;
		probe_equal(p, p->hv->mem->verify(l->m, p->domid, 1, &p->frame[CHECK_FRAME], addr),
			    cases[i].want ? -ESTALE : 0, "verify, when %s", cases[i].why);
		expect(p, l, cases[i].want, cases[i].why);
	}
	*leaf = right;
	p->hv->mem->unmap(l->m, addr, 1);
}

/*
 * The former kind of table, three levels of lists, built in the guest's own
 * pages 0 to 2 for the one frame that is asked for.
 */
static void check_list(struct probe *p, struct liar *l)
{
	const uint64_t pfn = p->frame[CHECK_FRAME];
	const uint64_t index[3] = { pfn >> 18 & 511, pfn >> 9 & 511, pfn & 511 };
	xen_pfn_t mfn[4] = { 0 };
	volatile uint64_t *page[3];
	uint64_t kept[3];

	for (size_t i = 0; i < 3; i++) {
		mfn[i] = machine_frame(l, p->frame[i]);
		page[i] = map_writable(l, mfn[i]);
		if (!probe_check(p, page[i] != NULL && index[i] != 2, "page %zu can be used", i))
			return;
		kept[i] = page[i][index[i]];
	}
	mfn[3] = machine_frame(l, pfn);
	for (size_t i = 0; i < 3; i++)
		page[i][index[i]] = mfn[i + 1];
	l->truth.p2m_generation = l->says->p2m_generation;
	l->says->p2m_cr3 = 0;
	l->says->pfn_to_mfn_frame_list_list = mfn[0];
	expect(p, l, 0, "the table is a tree of lists");
	check_entries(p, l, &page[2][index[2]]);
	for (size_t i = 0; i < 3; i++) {
		page[i][index[i]] = kept[i];
		xenforeignmemory_unmap(l->memory, (void *)(uintptr_t)page[i], 1);
	}
}

/* hostile DOMID pv FRAME... */
void probe_hostile(struct probe *p, char **argv)
{
	struct liar l = { 0 };

	(void)argv;
	if (!probe_check(p, liar_open(p, &l), "open, and see what the guest says"))
		return;
	give_device(p, &l);
	check_lies(p, &l);
	check_moved(p, &l);
	check_list(p, &l);
	tell_truth(&l);
	xenforeignmemory_close(l.memory);
	hv_xen_frames_close(&l.frames);
	p->hv->mem->close(l.m);
}

/*
 * balloon DOMID pvh FRAME...: take a frame from the guest, and give it
 * another for the same number. Done from dom0: a guest's balloon driver makes
 * the same two calls, but chooses the frames itself.
 */
void probe_balloon(struct probe *p, char **argv)
{
	const uint64_t *frame = &p->frame[CHECK_FRAME];
	struct hv_mem *m = probe_open_mem(p);
	xc_interface *xc = xc_interface_open(NULL, NULL, 0);
	xen_pfn_t gfn = *frame;
	const volatile void *addr, *again;

	(void)argv;
	if (!m || !xc || p->hv->mem->map(m, p->domid, 1, frame, &addr, NULL))
		return;
	probe_equal(p, p->hv->mem->verify(m, p->domid, 1, frame, addr), 0, "verify");
	probe_equal(p, xc_domain_decrease_reservation_exact(xc, p->domid, 1, 0, &gfn), 0,
		    "take the frame");
	probe_equal(p, p->hv->mem->verify(m, p->domid, 1, frame, addr), -ESTALE, "verify");
	probe_equal(p, p->hv->mem->map(m, p->domid, 1, frame, &again, NULL), -EINVAL, "map");
	probe_equal(p, xc_domain_populate_physmap_exact(xc, p->domid, 1, 0, 0, &gfn), 0,
		    "give it another");
	probe_equal(p, p->hv->mem->verify(m, p->domid, 1, frame, addr), 0,
		    "verify does not see it, as hv.h says");
	p->hv->mem->close(m);
	xc_interface_close(xc);
}

#define MANY 100

static unsigned int create_many(xc_interface *xc, uint32_t *ids)
{
	unsigned int n;

	for (n = 0; n < MANY; n++) {
		struct xen_domctl_createdomain config = {
			.max_vcpus = 1,
			.max_evtchn_port = 1023,
			.max_grant_frames = 1,
			.max_maptrack_frames = 1,
			.grant_opts = XEN_DOMCTL_GRANT_version(1),
		};

		ids[n] = 0;
		if (xc_domain_create(xc, &ids[n], &config))
			break;
	}
	return n;
}

static void check_gap(struct probe *p, struct hv_sched *s, xc_interface *xc, const uint32_t *ids)
{
	struct hv_mem *m = probe_open_mem(p);
	struct hv_sched_params params;
	const uint64_t frame = 1;
	const volatile void *addr;

	if (!m)
		return;
	probe_equal(p, hv_put_cap(p->hv->sched, s, ids[0], CAP_PERCENT(10)), -EINVAL,
		    "a domain without VCPUs takes no cap");
	probe_equal(p, p->hv->mem->map(m, ids[0], 1, &frame, &addr, NULL), -EAGAIN,
		    "map of a domain that has not begun");
	probe_equal(p, xc_domain_destroy(xc, ids[1]), 0, "destroy one");
	probe_equal(p, p->hv->sched->get(s, ids[1], &params), -ESRCH, "get of it");
	probe_equal(p, p->hv->mem->map(m, ids[1], 1, &frame, &addr, NULL), -ESRCH,
		    "map of it, and not of the next one");
	p->hv->mem->close(m);
}

static void check_many(struct probe *p, struct hv_sched *s, const uint32_t *ids, unsigned int n)
{
	const struct hv_sched_ops *ops = p->hv->sched;
	static struct hv_dom doms[4 * MANY];
	unsigned int seen = 0;
	int64_t start;
	int listed = ops->list(s, doms, 4 * MANY);

	for (int i = 0; i < listed; i++)
		for (unsigned int k = 0; k < n; k++)
			seen += doms[i].domid == ids[k] && doms[i].vcpus == 1;
	probe_equal(p, seen, n, "all are listed, as having one VCPU");
	probe_equal(p, ops->list(s, doms, 50), 50, "a list of 50 holds 50");
	start = probe_now();
	for (unsigned int i = 0; i < 200; i++)
		ops->list(s, doms, 4 * MANY);
	probe_cost("list of more than 100 domains", start, 200);
}

/* many 0 -: more domains than the first list asks for. */
void probe_many(struct probe *p, char **argv)
{
	struct hv_sched *s = probe_open_sched(p);
	xc_interface *xc = xc_interface_open(NULL, NULL, 0);
	uint32_t ids[MANY];
	unsigned int n;

	(void)argv;
	if (!s || !xc)
		return;
	n = create_many(xc, ids);
	if (probe_equal(p, n, MANY, "domains created")) {
		check_many(p, s, ids, n);
		check_gap(p, s, xc, ids);
	}
	for (unsigned int i = 0; i < n; i++)
		xc_domain_destroy(xc, ids[i]);
	xc_interface_close(xc);
	p->hv->sched->close(s);
}
