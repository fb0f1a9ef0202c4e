// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hvguest: the guest's half of the test of src/hv (hvprobe is dom0's half).
 *
 * Holds counting pages, some by frame number and one by grant, and names the
 * granted one in its data/resex as the agent would. Linked statically against
 * Xen's libraries, so that it runs in the smallest guest.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xengnttab.h>
#include <xenstore.h>

#include "resex/guest_abi.h"
#include "tests/system/src/hvguest.h"

struct guest {
	volatile struct hvguest_page *pages;
	volatile struct hvguest_page *granted;
	uint32_t ref;
};

static uint64_t frame_of(const volatile void *p)
{
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY);

	if (fd < 0)
		return 0;
	if (pread(fd, &entry, sizeof(entry), (off_t)((uintptr_t)p / GUEST_PAGE * 8)) != 8)
		entry = 0;
	close(fd);
	return entry >> 63 ? entry & ((1ull << 55) - 1) : 0;
}

static void stamp(volatile struct hvguest_page *p, uint64_t index)
{
	p->magic = HVGUEST_MAGIC;
	p->index = index;
	p->counter = 0;
}

static int make_pages(struct guest *g)
{
	const size_t bytes = HVGUEST_PAGES * GUEST_PAGE;
	xengntshr_handle *shr = xengntshr_open(NULL, 0);
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (!shr || p == MAP_FAILED || mlock(p, bytes))
		return -1;
	g->pages = p;
	g->granted = xengntshr_share_pages(shr, 0, 1, &g->ref, 0);
	if (!g->granted)
		return -1;
	for (size_t i = 0; i < HVGUEST_PAGES; i++)
		stamp(&g->pages[i], i);
	stamp(g->granted, HVGUEST_PAGES);
	return 0;
}

static int publish(const struct guest *g)
{
	struct xs_handle *xs = xs_open(0);
	char value[GUEST_ABI_NODE_MAX];
	int len = snprintf(value, sizeof(value), "2 grant %u", g->ref);
	bool ok = xs && xs_write(xs, XBT_NULL, GUEST_ABI_NODE, value, (unsigned int)len);

	xs_close(xs);
	return ok ? 0 : -1;
}

static void announce(const struct guest *g)
{
	printf("HVGUEST %u", g->ref);
	for (size_t i = 0; i < HVGUEST_PAGES; i++)
		printf(" %llu", (unsigned long long)frame_of(&g->pages[i]));
	printf(" END\n");
	fflush(stdout);
}

int main(void)
{
	struct guest g = { 0 };

	if (make_pages(&g) || publish(&g)) {
		perror("hvguest");
		return 1;
	}
	announce(&g);
	for (;;) {
		for (size_t i = 0; i < HVGUEST_PAGES; i++)
			g.pages[i].counter++;
		g.granted->counter++;
		usleep(5000);
	}
}
