// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ringrec: record the rings of the real rxe provider under known traffic.
 *
 *	ringrec FILE CASE A-B MODE [options of rdmaload]
 *
 * Makes one queue pair, runs the traffic of the options over it, copies its
 * rings every A to B work requests, and writes what changed from copy to
 * copy, with the truth, to FILE (format: tests/golden/rxe/README). Run in a
 * virtual machine by sc_golden.py. With --reset, the queue pair is reset
 * after every fourth copy. Modes:
 *
 *	plain	nothing else
 *	starve	for some time the peer has no receives: work waits
 *	resize	the send completion queue is resized before the first copy
 *	dead	a child does it and exits; its frames are read on, reused or not
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/system/src/load.h"

enum { RINGS_MAX = 3, MAPS_MAX = 64, PAGE = 4096, DEAD_SNAPS = 18 };

struct map {
	uint64_t addr, len, offset;
};

struct rec_ring {
	const char *kind;
	uint32_t number;
	const volatile uint8_t *mem; /* NULL: read frames from kcore */
	uint64_t *pa;		     /* physical address of each page */
	size_t len;		     /* of the ring, not of its pages */
	uint32_t elem, entries;
	uint8_t *now, *again, *last;
};

struct rec {
	struct load_opts opts;
	struct load_ctx ctx;
	struct load_qp qp;
	struct load_truth *truth;
	struct rec_ring ring[RINGS_MAX];
	uint32_t rings, snaps, dead_from;
	struct load_range every;
	const char *mode;
	FILE *body;
	char *text;
	size_t size;
	int64_t last_ns;
	int kcore;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void pause_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static int complain(const char *what, int err)
{
	fprintf(stderr, "ringrec: %s: %s\n", what, strerror(err < 0 ? -err : err));
	return err < 0 ? err : -err;
}

/* --- finding the rings --- */

static int by_offset(const void *a, const void *b)
{
	const struct map *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The provider's mappings of a process, in the order of creation. */
static uint32_t find_maps(pid_t pid, struct map *m)
{
	char path[64], line[512];
	uint32_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	while (f && n < MAPS_MAX && fgets(line, sizeof(line), f)) {
		uint64_t from, to, off;

		if (strstr(line, "/dev/infiniband/uverbs") &&
		    sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &from, &to, &off) == 3)
			m[n++] = (struct map){ from, to - from, off };
	}
	if (f)
		fclose(f);
	qsort(m, n, sizeof(*m), by_offset);
	return n;
}

static int shape(struct rec_ring *r, const uint8_t *header, size_t mapped)
{
	uint32_t log2, mask;

	memcpy(&log2, header, 4);
	memcpy(&mask, header + 4, 4);
	if (log2 < 6 || log2 > 12 || mask > 65535)
		return -EBADMSG;
	r->elem = 1u << log2;
	r->entries = mask + 1;
	r->len = 384 + (size_t)r->elem * r->entries;
	if (r->len > mapped)
		return -EBADMSG;
	free(r->now);
	free(r->again);
	free(r->last);
	r->now = calloc(1, r->len);
	r->again = calloc(1, r->len);
	r->last = calloc(1, r->len);
	return r->now && r->again && r->last ? 0 : -ENOMEM;
}

/* The queue pair's rings among the mappings: its CQ, the peer's CQ, its SQ, in this order. */
static int choose_rings(struct rec *x, pid_t pid, const struct map *m, uint32_t n)
{
	static const char *const kinds[RINGS_MAX] = { "cq", "cq", "sq" };

	(void)pid;
	if (n < RINGS_MAX)
		return -ENOENT;
	x->rings = RINGS_MAX;
	for (uint32_t i = 0; i < RINGS_MAX; i++) {
		x->ring[i].kind = kinds[i];
		x->ring[i].mem = (const volatile uint8_t *)(uintptr_t)m[i].addr;
	}
	return 0;
}

static int own_rings(struct rec *x)
{
	struct map m[MAPS_MAX];
	uint32_t n = find_maps(getpid(), m);
	int ret = choose_rings(x, getpid(), m, n);

	for (uint32_t i = 0; !ret && i < x->rings; i++)
		ret = shape(&x->ring[i], (const uint8_t *)(uintptr_t)m[i].addr, m[i].len);
	if (ret)
		return complain("rings not found in own maps", ret);
	x->ring[2].number = x->qp.qp->qp_num;
	return 0;
}

/* --- the frames of another process, through /proc/kcore --- */

static int read_physical(int kcore, uint64_t pa, void *to, size_t n)
{
	Elf64_Ehdr e;

	if (pread(kcore, &e, sizeof(e), 0) != (ssize_t)sizeof(e))
		return -EIO;
	for (int i = 0; i < e.e_phnum; i++) {
		Elf64_Phdr p;
		off_t at = (off_t)(e.e_phoff + (uint64_t)i * sizeof(p));

		if (pread(kcore, &p, sizeof(p), at) != (ssize_t)sizeof(p))
			return -EIO;
		if (p.p_type != PT_LOAD || pa < p.p_paddr || pa + n > p.p_paddr + p.p_memsz)
			continue;
		at = (off_t)(p.p_offset + (pa - p.p_paddr));
		return pread(kcore, to, n, at) == (ssize_t)n ? 0 : -EIO;
	}
	return -EFAULT;
}

static uint64_t *frames_of(pid_t pid, const struct map *m)
{
	size_t n = m->len / PAGE;
	uint64_t *pa = calloc(n, sizeof(*pa));
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; pa && i < n; i++) {
		uint64_t entry = 0;
		ssize_t got = pread(fd, &entry, 8, (off_t)((m->addr / PAGE + i) * 8));

		pa[i] = got == 8 && entry >> 63 ? (entry & ((1ULL << 55) - 1)) * PAGE : 0;
	}
	if (fd >= 0)
		close(fd);
	return pa;
}

static int child_rings(struct rec *x, pid_t pid)
{
	struct map m[MAPS_MAX];
	uint32_t n = find_maps(pid, m);
	int ret = choose_rings(x, pid, m, n);

	x->kcore = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	for (uint32_t i = 0; !ret && i < x->rings; i++) {
		uint8_t header[384];

		x->ring[i].mem = NULL;
		x->ring[i].pa = frames_of(pid, &m[i]);
		ret = x->ring[i].pa ? read_physical(x->kcore, x->ring[i].pa[0], header, 384)
				    : -ENOMEM;
		ret = ret ? ret : shape(&x->ring[i], header, m[i].len);
	}
	return ret ? complain("rings of the child not found", ret) : 0;
}

/* --- snapshots --- */

static void copy(struct rec *x, struct rec_ring *r, uint8_t *to)
{
	if (r->mem) {
		for (size_t i = 0; i < r->len; i++)
			to[i] = r->mem[i];
		return;
	}
	for (size_t at = 0; at < r->len; at += PAGE) {
		size_t n = r->len - at < PAGE ? r->len - at : PAGE;

		if (read_physical(x->kcore, r->pa[at / PAGE], to + at, n))
			memset(to + at, 0, n);
	}
}

static void put(FILE *f, uint64_t v)
{
	while (v >= 0x80) {
		putc((int)(v & 0x7f) | 0x80, f);
		v >>= 7;
	}
	putc((int)v, f);
}

/* Runs of 8-byte words that changed: words skipped + 1, words, bytes; 0 ends. */
static void put_changes(FILE *f, struct rec_ring *r)
{
	size_t words = r->len / 8, from = 0, i = 0;

	while (i < words) {
		size_t start = i;

		while (i < words && memcmp(r->now + i * 8, r->last + i * 8, 8))
			i++;
		if (i > start) {
			put(f, start - from + 1);
			put(f, i - start);
			fwrite(r->now + start * 8, 8, i - start, f);
			from = i;
		} else {
			i++;
		}
	}
	put(f, 0);
	memcpy(r->last, r->now, r->len);
}

static void snap(struct rec *x, uint64_t done, uint64_t posted)
{
	int64_t t = now_ns();

	put(x->body, x->snaps ? (uint64_t)(t - x->last_ns) : 1000000);
	put(x->body, done);
	put(x->body, posted);
	for (uint32_t i = 0; i < x->rings; i++) {
		struct rec_ring *r = &x->ring[i];

		do { /* as of one moment: the kernel may be writing */
			copy(x, r, r->now);
			copy(x, r, r->again);
		} while (r->mem && memcmp(r->now, r->again, r->len));
		put_changes(x->body, r);
	}
	x->last_ns = t;
	x->snaps++;
}

static void print_header(FILE *f, const struct rec *x, const char *name)
{
	const struct load_truth *t = x->truth;
	struct utsname u;

	uname(&u);
	fprintf(f, "resex-golden 1\ncase %s\nmode %s\nkernel %s\n", name, x->mode, u.release);
	fprintf(f, "type %s\nmtu %" PRIu32 "\nsnaps %" PRIu32 "\ndead_from %" PRIu32 "\n",
		load_type_names[t->type], t->mtu, x->snaps, x->dead_from);
	for (uint32_t i = 0; i < x->rings; i++)
		fprintf(f, "ring %s %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", x->ring[i].kind,
			x->ring[i].number, x->ring[i].elem, x->ring[i].entries);
	fprintf(f,
		"wrs %" PRIu64 "\nerrors %" PRIu64 "\nunknown %" PRIu64 "\nunknown_mtus %" PRIu64
		"\nrefused %" PRIu64 "\naborted %" PRIu64 "\nsignalled %" PRIu64
		"\nmtus_sent %" PRIu64 "\nmtus_recv %" PRIu64 "\nbytes_sent %" PRIu64
		"\nbytes_recv %" PRIu64 "\n",
		t->wrs, t->errors, t->unknown, t->unknown_mtus, t->refused, t->aborted,
		t->signalled, t->mtus_sent, t->mtus_recv, t->bytes_sent, t->bytes_recv);
	for (int i = 0; i < LOAD_OPS; i++)
		fprintf(f, "op_%s %" PRIu64 "\n", load_op_names[i], t->ops[i]);
	fputs("\n", f);
}

static int write_file(struct rec *x, const char *path, const char *name)
{
	FILE *f = fopen(path, "w");

	fclose(x->body);
	if (!f)
		return complain(path, errno);
	print_header(f, x, name);
	fwrite(x->text, 1, x->size, f);
	if (fclose(f))
		return complain(path, errno);
	printf("RECORDED %s: %u snapshots, %zu bytes, %" PRIu64 " WRs\n", name, x->snaps, x->size,
	       x->truth->wrs);
	return 0;
}

/* --- traffic --- */

static int resize(struct rec *x)
{
	struct load_qp *q = &x->qp;
	struct map m[MAPS_MAX];
	uint32_t n;
	int ret;

	/* The ring recorded must be the one mapped: so resize before the first snapshot only. */
	ret = load_resize(q, q->slots * 4);
	n = ret ? 0 : find_maps(getpid(), m);
	if (n == 0)
		return ret ? ret : -ENOENT;
	x->ring[0].mem = (const volatile uint8_t *)(uintptr_t)m[n - 1].addr;
	return shape(&x->ring[0], (const uint8_t *)(uintptr_t)m[n - 1].addr, m[n - 1].len);
}

static bool mode_is(const struct rec *x, const char *s)
{
	return !strcmp(x->mode, s);
}

/* Right after a snapshot: make the thing happen that the mode is about. */
static int event(struct rec *x)
{
	struct load_qp *q = &x->qp;

	if (mode_is(x, "starve"))
		q->recvs_kept = x->snaps % 8 < 5 ? 0 : 4;
	if (x->opts.reset && x->snaps % 4 == 3)
		if (x->opts.reset_dirty || !load_outstanding(q))
			return load_reset(q);
	return 0;
}

static int traffic(struct rec *x, bool snaps)
{
	uint64_t target = load_between(&x->ctx, x->opts.count), next = 0;
	struct load_qp *q = &x->qp;
	int64_t stall = now_ns();

	while (q->posted < target || load_outstanding(q)) {
		int got = load_reap(q), ret = 0;

		if (got < 0)
			return got;
		if (snaps && (q->posted >= next ||
			      (load_outstanding(q) && now_ns() - x->last_ns > 2000000))) {
			snap(x, q->truth->wrs, q->posted);
			next = q->posted + load_between(&x->ctx, x->every);
			ret = event(x);
		}
		if (!ret && q->posted < target && !q->broken)
			ret = load_post(q, (uint32_t)(target - q->posted), false);
		if (ret < 0)
			return ret;
		if (q->broken && !load_outstanding(q))
			break;
		if (got > 0 || ret > 0)
			stall = now_ns();
		if (now_ns() - stall > 20000000000LL)
			return complain("no progress for 20 s", ETIMEDOUT);
		if (x->opts.pace_us)
			pause_ms(x->opts.pace_us / 1000);
	}
	return 0;
}

static int open_all(struct rec *x)
{
	int ret = load_open(&x->ctx, &x->opts);

	return ret ? ret : load_create(&x->qp, &x->ctx, x->truth);
}

static int record_self(struct rec *x)
{
	int ret = open_all(x);

	ret = ret ? ret : own_rings(x);
	if (!ret && mode_is(x, "resize")) {
		/* Unpolled completions are carried over into the new ring. */
		for (uint32_t i = 0; i < x->qp.slots / 2 && ret >= 0; i++)
			ret = load_post(&x->qp, 1000, false);
		ret = ret < 0 ? ret : resize(x);
	}
	ret = ret ? ret : traffic(x, true);
	if (!ret) {
		snap(x, x->qp.truth->wrs, x->qp.posted);
		snap(x, x->qp.truth->wrs, x->qp.posted);
	}
	return ret;
}

/* --- the ring of a process that ends --- */

static void child(struct rec *x, int ready, int go)
{
	char c = 1;
	int ret = open_all(x);

	if (!ret && write(ready, &c, 1) == 1 && read(go, &c, 1) == 1)
		ret = traffic(x, false);
	_exit(ret ? 1 : 0);
}

/* Take and give back memory, and run a process, so that freed frames find new owners. */
static void churn(size_t n)
{
	uint8_t *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (p == MAP_FAILED)
		return;
	for (size_t i = 0; i < n; i += 64)
		p[i] = (uint8_t)(i * 2654435761u >> 24);
	munmap(p, n);
}

static int record_child(struct rec *x)
{
	int ready[2], go[2], status = 0, ret;
	char c = 1;
	pid_t pid;

	if (pipe(ready) || pipe(go))
		return -errno;
	pid = fork();
	if (pid == 0)
		child(x, ready[1], go[0]);
	if (pid < 0 || read(ready[0], &c, 1) != 1)
		return complain("the child did not start", ECHILD);
	ret = child_rings(x, pid);
	if (ret)
		return ret;
	x->ring[2].number = x->truth->qpn;
	snap(x, 0, 0);
	if (write(go[1], &c, 1) != 1)
		return -EPIPE;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		pause_ms(4);
		snap(x, 0, UINT32_MAX);
	}
	x->dead_from = x->snaps - 1; /* the last may have been taken when it was gone */
	for (int i = 0; i < DEAD_SNAPS; i++) {
		snap(x, 0, UINT32_MAX);
		churn((size_t)PAGE << (i % 15));
	}
	return status ? complain("the child failed", ECHILD) : 0;
}

int main(int argc, char **argv)
{
	struct rec x = { 0 };
	int ret;

	if (argc < 5 || sscanf(argv[3], "%" SCNu32 "-%" SCNu32, &x.every.min, &x.every.max) != 2 ||
	    x.every.min > x.every.max) {
		fputs("usage: ringrec FILE CASE A-B MODE [options of rdmaload]\n", stderr);
		return 2;
	}
	x.mode = argv[4];
	if (load_options(argc - 4, argv + 4, &x.opts))
		return 2;
	x.body = open_memstream(&x.text, &x.size);
	x.truth = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!x.body || x.truth == MAP_FAILED)
		return 1;
	ret = mode_is(&x, "dead") ? record_child(&x) : record_self(&x);
	ret = ret ? ret : write_file(&x, argv[1], argv[2]);
	return ret ? 1 : 0;
}
