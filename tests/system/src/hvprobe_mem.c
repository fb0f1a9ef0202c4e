// SPDX-License-Identifier: GPL-2.0-or-later
/* hvprobe: mapping, verifying, grants, what is refused, and zombies. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/hv/xen/xen.h"
#include "tests/system/src/hvguest.h"
#include "tests/system/src/hvprobe.h"

#define NO_SUCH_DOMAIN 4242u
#define FRAMES_MOST    4096u

typedef const volatile struct hvguest_page *pages_t;

static int map(struct probe *p, struct hv_mem *m, size_t n, const uint64_t *frames, pages_t *pages,
	       size_t *bad)
{
	const volatile void *addr;
	int ret = p->hv->mem->map(m, p->domid, n, frames, &addr, bad);

	if (!ret)
		*pages = addr;
	return ret;
}

static void check_mapped(struct probe *p, struct hv_mem *m, uint64_t want)
{
	uint64_t calls, pages;

	p->hv->mem->stats(m, &calls, &pages);
	probe_equal(p, (long long)pages, (long long)want, "pages mapped (%llu calls)",
		    (unsigned long long)calls);
}

/* Does every mapping at addr forbid writing? As the kernel sees it. */
static bool read_only(const volatile void *addr)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[256], rights[5];
	unsigned long long from, to;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx-%llx %4s", &from, &to, rights) == 3)
			found = (uintptr_t)addr >= from && (uintptr_t)addr < to;
	if (f)
		fclose(f);
	return found && !strncmp(rights, "r--", 3);
}

static void check_pages(struct probe *p, pages_t pages, size_t n, uint64_t first)
{
	uint64_t before = pages[n - 1].counter;
	size_t right = 0;

	for (size_t i = 0; i < n; i++)
		right += pages[i].magic == HVGUEST_MAGIC && pages[i].index == first + i;
	probe_equal(p, (long long)right, (long long)n, "pages that hold what the guest wrote");
	probe_check(p, read_only(pages), "the mapping is read-only");
	probe_sleep_ms(300);
	probe_check(p, pages[n - 1].counter > before, "the guest's counter moves: +%llu in 0.3 s",
		    (unsigned long long)(pages[n - 1].counter - before));
}

static void check_verify(struct probe *p, struct hv_mem *m, pages_t pages)
{
	const struct hv_mem_ops *ops = p->hv->mem;
	uint64_t swapped[PROBE_FRAMES_MAX];

	memcpy(swapped, p->frame, sizeof(swapped));
	swapped[0] = p->frame[1];
	swapped[1] = p->frame[0];
	probe_equal(p, ops->verify(m, p->domid, p->frames, p->frame, pages), 0, "verify");
	probe_equal(p, ops->verify(m, p->domid, p->frames, swapped, pages), -ESTALE,
		    "verify: two frames changed places");
	probe_equal(p, ops->verify(m, p->domid, p->frames - 1, p->frame, pages), -EINVAL,
		    "verify: another number of frames");
	probe_equal(p, ops->verify(m, p->domid + 1, p->frames, p->frame, pages), -EINVAL,
		    "verify: another domain");
	probe_equal(p, ops->verify(m, p->domid, p->frames, p->frame, pages + 1), -EINVAL,
		    "verify: an address within");
}

static void check_bad(struct probe *p, struct hv_mem *m, const char *kind)
{
	static const uint64_t bad_frames[] = { 1ull << 40, UINT64_MAX, UINT64_MAX / 8 + 1,
					       0xfee00,	   1ull << 20, 1ull << 51 };
	const struct hv_mem_ops *ops = p->hv->mem;
	const volatile void *addr;
	uint64_t frames[PROBE_FRAMES_MAX];
	pages_t pages;
	size_t bad;

	for (size_t i = 0; i < sizeof(bad_frames) / sizeof(bad_frames[0]); i++) {
		memcpy(frames, p->frame, sizeof(frames));
		frames[3] = bad_frames[i];
		bad = 99;
		probe_equal(p, map(p, m, p->frames, frames, &pages, &bad), -EINVAL,
			    "%s: map with frame %#llx in it", kind,
			    (unsigned long long)bad_frames[i]);
		probe_equal(p, (long long)bad, 3, "which is the bad one");
	}
	probe_equal(p, map(p, m, 0, p->frame, &pages, NULL), -E2BIG, "map of none");
	probe_equal(p, map(p, m, FRAMES_MOST + 1, p->frame, &pages, NULL), -E2BIG,
		    "map of one too many");
	probe_equal(p, ops->map(m, 0, 1, p->frame, &addr, NULL), -EPERM, "map of dom0");
	probe_equal(p, ops->map(m, NO_SUCH_DOMAIN, 1, p->frame, &addr, NULL), -ESRCH,
		    "map of no domain");
	probe_equal(p, ops->map(m, 0x7ff1, 1, p->frame, &addr, NULL), -ESRCH,
		    "map of Xen's own domain for devices");
	check_mapped(p, m, 0);
}

static void measure(struct probe *p, struct hv_mem *m, size_t n, const uint64_t *frames)
{
	const unsigned int calls = n > 64 ? 5 : 100;
	int64_t start = probe_now();
	char what[64];
	pages_t pages;

	for (unsigned int i = 0; i < calls; i++) {
		if (map(p, m, n, frames, &pages, NULL)) {
			probe_check(p, false, "map of %zu frames", n);
			return;
		}
		p->hv->mem->unmap(m, pages, n);
	}
	snprintf(what, sizeof(what), "map and unmap of %zu frames", n);
	probe_cost(what, start, calls);
}

static void check_many(struct probe *p, struct hv_mem *m)
{
	uint64_t *frames = calloc(FRAMES_MOST, sizeof(*frames));
	pages_t pages = NULL;

	if (!frames)
		return;
	for (size_t i = 0; i < FRAMES_MOST; i++)
		frames[i] = p->frame[i * 7 % p->frames];
	if (probe_equal(p, map(p, m, FRAMES_MOST, frames, &pages, NULL), 0, "map of 4096")) {
		size_t right = 0;

		for (size_t i = 0; i < FRAMES_MOST; i++)
			right += pages[i].index == i * 7 % p->frames;
		probe_equal(p, (long long)right, FRAMES_MOST, "pages in their places");
		p->hv->mem->unmap(m, pages, FRAMES_MOST);
	}
	measure(p, m, FRAMES_MOST, frames);
	free(frames);
}

void probe_map(struct probe *p, char **argv)
{
	struct hv_mem *m = probe_open_mem(p);
	pages_t pages = NULL;

	if (!m)
		return;
	if (probe_equal(p, map(p, m, p->frames, p->frame, &pages, NULL), 0, "map of %zu frames",
			p->frames)) {
		int64_t start;

		check_mapped(p, m, p->frames);
		check_pages(p, pages, p->frames, 0);
		check_verify(p, m, pages);
		start = probe_now();
		for (unsigned int i = 0; i < 100; i++)
			p->hv->mem->verify(m, p->domid, p->frames, p->frame, pages);
		probe_cost("verify of 16 frames", start, 100);
		p->hv->mem->unmap(m, pages, p->frames - 1);
		check_mapped(p, m, p->frames);
		p->hv->mem->unmap(m, pages, p->frames);
		check_mapped(p, m, 0);
	}
	check_bad(p, m, argv[0]);
	measure(p, m, 1, p->frame);
	measure(p, m, 9, p->frame);
	measure(p, m, 16, p->frame);
	check_many(p, m);
	map(p, m, p->frames, p->frame, &pages, NULL);
	p->hv->mem->close(m);
}

/* What Xen itself says of a frame number, and what this code makes of it. */
static void check_frame(struct probe *p, struct hv_xen_frames *f, xen_pfn_t frame, int plain,
			int ram, const char *what)
{
	size_t bad;
	void *addr;
	int ret;

	probe_equal(p, hv_xen_frames_check(f, p->domid, HV_XEN_PLAIN, 1, &frame, &bad), plain,
		    "as plain RAM: %s, frame %#lx", what, (unsigned long)frame);
	probe_equal(p, hv_xen_frames_check(f, p->domid, HV_XEN_RAM, 1, &frame, &bad), ram,
		    "as RAM: %s", what);
	ret = hv_xen_frames_map(f, p->domid, 1, &frame, &addr, &bad);
	if (!ret)
		hv_xen_frames_unmap(addr, 1);
	probe_check(p, ram == 0 || ret != 0, "unchecked, Xen's answer to mapping it is %d", ret);
}

/* The root of the page tables that lead to the guest's frame table. */
static xen_pfn_t table_root(struct hv_xen_frames *f, const xc_domaininfo_t *info)
{
	const xen_pfn_t frame = info->shared_info_frame;
	xen_pfn_t root;
	size_t bad;
	void *addr;

	if (hv_xen_frames_map(f, info->domain, 1, &frame, &addr, &bad))
		return 0;
	root = ((const shared_info_t *)addr)->arch.p2m_cr3 >> 12;
	hv_xen_frames_unmap(addr, 1);
	return root;
}

#define CHUNK 256u

/* The guest's number for a frame of the machine, by trying all; 0: none. */
static uint64_t find_frame(struct hv_xen_frames *f, const xc_domaininfo_t *info, xen_pfn_t mfn)
{
	uint64_t pfns[CHUNK];
	xen_pfn_t mfns[CHUNK];
	size_t bad;

	for (uint64_t first = 0; first < info->tot_pages; first += CHUNK) {
		for (size_t i = 0; i < CHUNK; i++)
			pfns[i] = first + i;
		if (hv_xen_p2m_translate(f, info, CHUNK, pfns, mfns, &bad))
			continue; /* a hole among them */
		for (size_t i = 0; i < CHUNK; i++)
			if (mfns[i] == mfn)
				return pfns[i];
	}
	return 0;
}

/* A page table, also by the guest's own number for it. */
static void check_page_table(struct probe *p, struct hv_xen_frames *f, const xc_domaininfo_t *info)
{
	const xen_pfn_t root = table_root(f, info);
	const uint64_t pfn = find_frame(f, info, root);
	struct hv_mem *m = probe_open_mem(p);
	pages_t pages;

	check_frame(p, f, root, -EINVAL, 0, "a page table of the guest");
	if (m && probe_check(p, pfn != 0, "the guest's own number for it is %#llx",
			     (unsigned long long)pfn))
		probe_equal(p, map(p, m, 1, &pfn, &pages, NULL), -EINVAL, "map of it");
	if (m)
		p->hv->mem->close(m);
}

/* frames DOMID OTHER FRAME...: the frames are OTHER's, both are PV. */
void probe_frames(struct probe *p, char **argv)
{
	const uint32_t other = (uint32_t)strtoul(argv[0], NULL, 10);
	const uint64_t frame = p->frame[p->frames - 1];
	struct hv_xen_quiet quiet;
	struct hv_xen_frames f;
	xc_domaininfo_t info;
	xen_pfn_t mfn;
	size_t bad;

	hv_xen_quiet_init(&quiet);
	if (!probe_equal(p, hv_xen_frames_open(&f, &quiet), 0, "open"))
		return;
	if (probe_equal(p, hv_xen_dominfo(f.xc, other, &info), 0, "domain %u", other) &&
	    probe_equal(p, hv_xen_p2m_translate(&f, &info, 1, &frame, &mfn, &bad), 0, "its frame"))
		check_frame(p, &f, mfn, -EPERM, -EPERM, "another guest's");
	check_frame(p, &f, 0xfee00, -EPERM, -EPERM, "the local APIC");
	check_frame(p, &f, 0xfec00, -EPERM, -EPERM, "an I/O APIC");
	check_frame(p, &f, 0xb9, -EPERM, -EPERM, "the VGA's text");
	check_frame(p, &f, 0x1, -EPERM, -EPERM, "low memory");
	check_frame(p, &f, 0x7ffffff, -EPERM, -EPERM, "beyond all memory");
	if (probe_equal(p, hv_xen_dominfo(f.xc, p->domid, &info), 0, "domain %u", p->domid)) {
		size_t unused;
		const xen_pfn_t shared = info.shared_info_frame;

		probe_equal(p, hv_xen_frames_check(&f, p->domid, HV_XEN_RAM, 1, &shared, &unused),
			    -EPERM, "as RAM: Xen's page shared with the guest");
		check_page_table(p, &f, &info);
	}
	hv_xen_frames_close(&f);
}

void probe_grant(struct probe *p, char **argv)
{
	const struct hv_mem_ops *ops = p->hv->mem;
	const uint32_t ref = (uint32_t)strtoul(argv[0], NULL, 10);
	struct hv_mem *m = probe_open_mem(p);
	const volatile void *addr;
	int64_t start;

	if (!m)
		return;
	if (probe_equal(p, ops->map_grant(m, p->domid, ref, &addr), 0, "map grant %u", ref)) {
		check_mapped(p, m, 1);
		check_pages(p, addr, 1, HVGUEST_PAGES);
		probe_equal(p, ops->verify(m, p->domid, 1, NULL, addr), 0, "verify");
		ops->unmap(m, addr, 1);
	}
	check_mapped(p, m, 0);
	probe_equal(p, ops->map_grant(m, p->domid, ref + 300, &addr), -EINVAL, "no such grant");
	probe_equal(p, ops->map_grant(m, p->domid, UINT32_MAX, &addr), -EINVAL, "nor this one");
	probe_equal(p, ops->map_grant(m, 0, ref, &addr), -EPERM, "a grant of dom0");
	probe_equal(p, ops->map_grant(m, NO_SUCH_DOMAIN, ref, &addr), -ESRCH, "of no domain");
	start = probe_now();
	for (unsigned int i = 0; i < 100; i++)
		if (!ops->map_grant(m, p->domid, ref, &addr))
			ops->unmap(m, addr, 1);
	probe_cost("map_grant and unmap", start, 100);
	ops->map_grant(m, p->domid, ref, &addr);
	ops->close(m);
}

static bool await_gone(struct probe *p, struct hv_sched *s)
{
	struct hv_dom d;

	for (int i = 0; i < 50; i++) {
		if (!probe_find(p, s, p->domid, &d))
			return true;
		probe_sleep_ms(100);
	}
	return false;
}

static bool await_dying(struct probe *p, struct hv_sched *s)
{
	struct hv_dom d;

	for (int i = 0; i < 50; i++) {
		if (!probe_find(p, s, p->domid, &d))
			return false;
		if (d.flags & HV_DOM_DYING)
			return true;
		probe_sleep_ms(100);
	}
	return false;
}

/* While dom0 reads, the guest is destroyed by the command. */
void probe_zombie(struct probe *p, char **argv)
{
	const struct hv_mem_ops *ops = p->hv->mem;
	struct hv_sched *s = probe_open_sched(p);
	struct hv_mem *m = probe_open_mem(p);
	const volatile void *granted, *addr;
	pages_t pages;

	if (!s || !m || map(p, m, p->frames, p->frame, &pages, NULL) ||
	    ops->map_grant(m, p->domid, (uint32_t)strtoul(argv[0], NULL, 10), &granted)) {
		probe_check(p, false, "map pages and a grant");
		return;
	}
	probe_run(p, argv[1]);
	probe_check(p, await_dying(p, s), "mapped, it stays, dying");
	probe_sleep_ms(1000);
	probe_check(p, await_dying(p, s), "a second later as well");
	probe_equal(p, (long long)pages[0].magic, (long long)HVGUEST_MAGIC, "still to be read");
	probe_equal(p, ops->map(m, p->domid, 1, p->frame, &addr, NULL), -ESRCH, "map");
	probe_equal(p, ops->verify(m, p->domid, p->frames, p->frame, pages), -ESRCH, "verify");
	ops->unmap(m, granted, 1);
	probe_sleep_ms(500);
	probe_check(p, await_dying(p, s), "without the grant it stays, dying");
	ops->unmap(m, pages, p->frames);
	probe_check(p, await_gone(p, s), "with nothing mapped it is gone");
	check_mapped(p, m, 0);
	ops->close(m);
	p->hv->sched->close(s);
}
