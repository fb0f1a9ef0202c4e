// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * frames: a process with a send queue in the layout of mlx5, in anonymous memory that nothing pins.
 * No adapter reads the queue. The process lists it by the code of libresex-rings.so, posts work
 * requests, and does to the pages what a driver would prevent:
 *
 *	frames MODE NUMBER COUNT
 *
 *	plain	nothing
 *	thp	the queue is in a transparent huge page, which is collapsed half way
 *	huge	the queue is in an explicit huge page
 *	move	its pages are among others that are free again, so that compaction moves them
 *	fork	half way, a child shares the pages, and both write to theirs
 *	unmap	half way, the queue is unmapped for two seconds, and its old frames are used for
 *		something else; then it is back as it was
 *	free	at the end, the queue is unmapped while it is listed
 *
 * It is started as root, opens /proc/self/pagemap, and goes on without any privilege. At the end it
 * prints "TRUTH {...}" and waits for a line on its standard input.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ibmon/rings/notify.h"
#include "ibmon/rings/queue_list.h"
#include "resex/guest_abi.h"

enum {
	BLOCKS = 8192, /* 512 KiB: no lap while the host reads old frames */
	BLOCK = 64,
	PAGES = BLOCKS * BLOCK / 4096,
	HUGE = 2 << 20,
	MTU = 1024,
	SIZES = 5,
	PACE_US = 2000,
	AMONG = 40 << 20, /* bytes among which the queue's pages are, of mode move */
	NOBODY = 65534,
};

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

struct frames {
	struct queue_list list;
	struct notify notify;
	uint32_t number, posted;
	uint8_t *queue, *doorbell, *around;
	uint64_t mtus, bytes;
	int pagemap;
	uint64_t frame[PAGES + 1];
	uint32_t moved; /* pages that were seen to move */
	int huge;	/* the frames of the queue are one after another */
};

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "frames: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint8_t *map(size_t bytes, int flags)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
			-1, 0);

	if (at == MAP_FAILED)
		fail("mmap");
	return (uint8_t *)at;
}

static uint64_t frame_of(const struct frames *f, const uint8_t *at)
{
	uint64_t e = 0;

	if (pread(f->pagemap, &e, sizeof(e), (off_t)((uintptr_t)at / 4096 * sizeof(e))) !=
	    sizeof(e))
		fail("pagemap");
	return e >> 63 ? e & ((1ull << 55) - 1) : 0;
}

/* Which pages moved since the last look? */
static void look(struct frames *f)
{
	f->huge = 1;
	for (uint32_t i = 0; i <= PAGES; i++) {
		uint64_t now = frame_of(f, i < PAGES ? f->queue + i * 4096ul : f->doorbell);

		f->moved += f->frame[i] && now != f->frame[i];
		f->frame[i] = now;
		if (i && i < PAGES && now != f->frame[i - 1] + 1)
			f->huge = 0;
	}
}

static void put(uint8_t *at, uint32_t v)
{
	v = htobe32(v);
	memcpy(at, &v, sizeof(v));
}

/* One RDMA WRITE; the sizes are of 1 to 4 MTUs. The doorbell record comes last. */
static void post(struct frames *f)
{
	static const uint32_t size[SIZES] = { 64, 1024, 1025, 2500, 4096 };
	uint32_t bytes = size[f->posted % SIZES];
	uint8_t *at = f->queue + (size_t)(f->posted % BLOCKS) * BLOCK;

	put(at + 32, bytes);
	put(at + 4, f->number << 8 | 3);
	put(at, (f->posted & 0xffff) << 8 | 0x08);
	f->posted++;
	__atomic_store_n((uint32_t *)(void *)(f->doorbell + 4), htobe32(f->posted & 0xffff),
			 __ATOMIC_RELEASE);
	f->bytes += bytes;
	f->mtus += (bytes + MTU - 1) / MTU;
}

static void post_n(struct frames *f, uint32_t n)
{
	while (n-- > 0) {
		post(f);
		usleep(PACE_US);
	}
}

static void list(struct frames *f)
{
	const struct queue_entry e = { .kind = GUEST_RING_SQ,
				       .provider = GUEST_PROVIDER_MLX5,
				       .number = f->number,
				       .qp_type = GUEST_QP_RC,
				       .path_mtu = MTU,
				       .elem_size = BLOCK,
				       .entries = BLOCKS,
				       .address = (uintptr_t)f->queue,
				       .doorbell = (uintptr_t)f->doorbell };
	uint64_t address, nonce;
	bool first;

	if (!queue_list_put(&f->list, f, f, &e) ||
	    !queue_list_where(&f->list, &address, &nonce, &first))
		fail("the table of queues");
	notify_send(&f->notify, address, nonce, first);
	usleep(1000000); /* the host has found it */
}

/* --- what is done to the pages ----------------------------------------------------------- */

static uint8_t *aligned(size_t bytes)
{
	uintptr_t at = (uintptr_t)map(bytes + HUGE, 0);

	return (uint8_t *)((at + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
}

static void place(struct frames *f, const char *mode)
{
	if (!strcmp(mode, "huge")) {
		f->queue = map(HUGE, MAP_HUGETLB);
	} else if (!strcmp(mode, "thp")) {
		f->queue = aligned(HUGE);
		madvise(f->queue, HUGE, MADV_NOHUGEPAGE);
		memset(f->queue, 0, HUGE);
	} else if (!strcmp(mode, "move")) {
		f->around = aligned(AMONG);
		madvise(f->around, AMONG, MADV_NOHUGEPAGE);
		memset(f->around, 1, AMONG);
		f->queue = f->around + AMONG / 2;
	} else {
		f->queue = map((size_t)PAGES * 4096, 0);
	}
	memset(f->queue, 0, (size_t)PAGES * 4096);
	f->doorbell = map(4096, 0);
	memset(f->doorbell, 0, 4096);
}

/* All but each fourth page are free again, apart from the queue. Then the script compacts. */
static void leave_holes(struct frames *f)
{
	for (uint8_t *at = f->around; at < f->around + AMONG; at += 4096)
		if ((at < f->queue || at >= f->queue + PAGES * 4096ul) &&
		    (at - f->around) / 4096 % 4)
			madvise(at, 4096, MADV_DONTNEED);
}

/* The child fills what it shares: the frames are its own, once the parent has written to its. */
static void share(struct frames *f)
{
	pid_t child = fork();

	if (child < 0)
		fail("fork");
	if (!child) {
		usleep(300000);
		memset(f->queue, 0xa5, (size_t)PAGES * 4096);
		memset(f->doorbell, 0xa5, 4096);
		usleep(3000000);
		_exit(0);
	}
	post_n(f, 300);
	if (waitpid(child, NULL, 0) != child)
		fail("waitpid");
}

/* Its content returns, so that it is the same queue in other frames. */
static void unmap_for_a_while(struct frames *f)
{
	const size_t bytes = (size_t)PAGES * 4096;
	uint8_t *copy = map(bytes, 0), *used;

	memcpy(copy, f->queue, bytes);
	munmap(f->queue, bytes);
	used = map(4 * bytes, 0);
	memset(used, 0x5a, 4 * bytes); /* among them the frames that are free now */
	usleep(2000000);
	if (mmap(f->queue, bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != f->queue)
		fail("mmap of the queue again");
	memcpy(f->queue, copy, bytes);
}

static void middle(struct frames *f, const char *mode)
{
	if (!strcmp(mode, "thp") && madvise(f->queue, HUGE, MADV_HUGEPAGE) == 0 &&
	    madvise(f->queue, HUGE, MADV_COLLAPSE))
		fail("MADV_COLLAPSE");
	else if (!strcmp(mode, "move"))
		leave_holes(f);
	else if (!strcmp(mode, "fork"))
		share(f);
	else if (!strcmp(mode, "unmap"))
		unmap_for_a_while(f);
}

static void drop_privileges(void)
{
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		fail("setuid");
}

int main(int argc, char **argv)
{
	static struct frames f = { .list = { .lock = PTHREAD_MUTEX_INITIALIZER } };
	uint32_t count;

	if (argc != 4) {
		fprintf(stderr, "usage: frames MODE NUMBER COUNT\n");
		return 2;
	}
	f.number = (uint32_t)strtoul(argv[2], NULL, 0);
	count = (uint32_t)strtoul(argv[3], NULL, 0);
	f.pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (f.pagemap < 0)
		fail("/proc/self/pagemap");
	drop_privileges();
	place(&f, argv[1]);
	list(&f);
	look(&f);
	post_n(&f, count / 2);
	middle(&f, argv[1]);
	for (uint32_t left = count - count / 2; left > 0; left--) {
		post_n(&f, 1);
		if (left % 64 == 0)
			look(&f);
	}
	look(&f);
	usleep(1500000); /* the agent has compared the frames once more, and the host has counted */
	if (!strcmp(argv[1], "free"))
		munmap(f.queue, (size_t)PAGES * 4096);
	printf("TRUTH {\"pid\": %d, \"qpn\": %" PRIu32 ", \"wrs\": %" PRIu32 ", \"mtus\": %" PRIu64
	       ", \"bytes\": %" PRIu64 ", \"moved\": %" PRIu32 ", \"huge\": %d}\n",
	       (int)getpid(), f.number, f.posted, f.mtus, f.bytes, f.moved, f.huge);
	fflush(stdout);
	(void)getchar();
	return 0;
}
