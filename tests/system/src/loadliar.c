// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * loadliar: a guest that lies about its load, in place of its agent (sc_load_hostile.py).
 *
 *	loadliar PAGES			writes a record each 50 ms; a line on stdin names the lie
 *					(see lies[]), "honest" at first; says "LIE name" for each
 *	loadliar PAGES killed N		N times: a process publishes, and is killed a moment later
 *	loadliar PAGES freed N		N times: the load page is freed, and only then another named
 *
 * PAGES is grant or frame: how the load page is named. The registry page is granted. Stop the agent
 * first: both would write the same node.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xengnttab.h>
#include <xenstore.h>

#include "resex/guest_abi.h"
#include "src/load/load.h"
#include "src/shared/record.h"
#include "src/util/clock.h"

#define PERIOD_NS (50 * NS_PER_MS)

enum { MOMENT_US = 15000 };

struct liar {
	bool by_frame;
	xengntshr_handle *shr;
	struct xs_handle *xs;
	int pagemap;
	struct guest_registry *reg;
	struct guest_load_page *page; /* NULL: there is none */
	struct guest_ref ref;	      /* its */
	void *after;		      /* the page that has the frame of one that was freed */
	struct clock clock;
	struct load *proc;
	struct load_series series;
	struct load_record first; /* the truth, when the lie that is told began */
	uint64_t rng;
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "loadliar: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t rnd(struct liar *l)
{
	uint64_t z = l->rng += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* --- pages -------------------------------------------------------------------------- */

static void *share(struct liar *l, uint32_t *ref)
{
	void *p = xengntshr_share_pages(l->shr, 0, 1, ref, 0);

	if (!p)
		die("a page cannot be granted");
	return p;
}

static uint64_t frame_of(const struct liar *l, const void *p)
{
	uint64_t entry = 0;

	if (pread(l->pagemap, &entry, sizeof(entry), (off_t)((uintptr_t)p / GUEST_PAGE * 8)) !=
		    (ssize_t)sizeof(entry) ||
	    !(entry >> 63))
		die("pagemap");
	return entry & ((1ull << 55) - 1);
}

static void *own_frame(const struct liar *l, uint64_t *frame)
{
	void *p = mmap(NULL, GUEST_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED || mlock(p, GUEST_PAGE))
		die("a page cannot be locked");
	memset(p, 0, GUEST_PAGE);
	*frame = frame_of(l, p);
	return p;
}

/* What changes in the registry page, as the agent does it. */
static void name_page(struct liar *l, const struct guest_ref *ref)
{
	l->reg->generation++;
	__sync_synchronize();
	l->reg->load = *ref;
	__sync_synchronize();
	l->reg->generation++;
}

static void new_page(struct liar *l)
{
	uint32_t grant = 0;

	if (l->by_frame) {
		l->ref = (struct guest_ref){ .type = GUEST_REF_FRAME };
		l->page = own_frame(l, &l->ref.ref);
	} else {
		l->page = share(l, &grant);
		l->ref = (struct guest_ref){ .type = GUEST_REF_GRANT, .ref = grant };
	}
	l->page->magic = GUEST_LOAD_MAGIC;
}

/* Another page gets the frame at once, most often; resexd may still read it. */
static void free_frame(struct liar *l)
{
	uint64_t frame;

	if (l->after)
		munmap(l->after, GUEST_PAGE);
	munmap(l->page, GUEST_PAGE);
	l->after = own_frame(l, &frame);
	memset(l->after, 0x5a, GUEST_PAGE);
}

/* The kernel keeps a granted page until dom0 no longer maps it. */
static void free_page(struct liar *l)
{
	if (l->by_frame)
		free_frame(l);
	else
		xengntshr_unshare(l->shr, l->page, 1);
	l->page = NULL;
}

static void publish(struct liar *l)
{
	char value[GUEST_ABI_NODE_MAX];
	uint32_t ref;
	int len;

	l->shr = xengntshr_open(NULL, 0);
	l->xs = xs_open(0);
	l->pagemap = open("/proc/self/pagemap", O_RDONLY);
	if (!l->shr || !l->xs || l->pagemap < 0)
		die("no grants, xenstore or pagemap: run it as root in a guest");
	l->reg = share(l, &ref);
	*l->reg = (struct guest_registry){ .magic = GUEST_REGISTRY_MAGIC,
					   .version = GUEST_ABI_VERSION,
					   .agent_pid = (uint32_t)getpid() };
	new_page(l);
	name_page(l, &l->ref);
	len = snprintf(value, sizeof(value), "2 grant %" PRIu32, ref);
	if (!xs_write(l->xs, XBT_NULL, GUEST_ABI_NODE, value, (unsigned int)len))
		die(GUEST_ABI_NODE);
}

/* --- records ------------------------------------------------------------------------- */

static struct load_record truth(struct liar *l)
{
	char text[128] = "";
	struct load_record r;

	if (!l->proc && load_proc.open(&l->proc, "/proc", text))
		die(text);
	if (load_sample(&l->series, &load_proc, l->proc, PERIOD_NS, l->clock.now(&l->clock), &r))
		die("/proc");
	return r;
}

static void put(struct liar *l, struct load_record *r)
{
	record_write(&l->page->record, &r->head, REGION_LOAD, sizeof(*r));
}

static void put_kind(struct liar *l, struct load_record *r)
{
	record_write(&l->page->record, &r->head, REGION_NODE, sizeof(*r));
}

static void put_noise(struct liar *l, struct load_record *r)
{
	uint8_t *at = (uint8_t *)l->page;

	(void)r;
	for (size_t i = 0; i < sizeof(*l->page); i++)
		at[i] = (uint8_t)rnd(l);
}

/* Of a writer that never comes to its end. */
static void put_half(struct liar *l, struct load_record *r)
{
	put(l, r);
	l->page->record.head.crc ^= 1;
}

static void put_no_cpus(struct liar *l, struct load_record *r)
{
	r->cpus = 0;
	put(l, r);
}

static void put_many_cpus(struct liar *l, struct load_record *r)
{
	r->cpus = UINT32_MAX;
	put(l, r);
}

static void put_high_time(struct liar *l, struct load_record *r)
{
	r->busy_ns = (1ull << 60) + 1;
	put(l, r);
}

static void put_high_clock(struct liar *l, struct load_record *r)
{
	r->sampled_ns = INT64_MAX;
	put(l, r);
}

static void put_no_period(struct liar *l, struct load_record *r)
{
	r->period_ns = 0;
	put(l, r);
}

static void put_long_period(struct liar *l, struct load_record *r)
{
	r->period_ns = UINT64_MAX;
	put(l, r);
}

/* As if the hypervisor said it. */
static void put_as_hv(struct liar *l, struct load_record *r)
{
	r->source = LOAD_HV;
	put(l, r);
}

static void put_clock_back(struct liar *l, struct load_record *r)
{
	r->sampled_ns = 2 * l->first.sampled_ns - r->sampled_ns;
	put(l, r);
}

/* From so high that it stays in range. */
static void put_times_back(struct liar *l, struct load_record *r)
{
	r->busy_ns = (1ull << 50) - (uint64_t)r->sampled_ns;
	put(l, r);
}

static void put_idle(struct liar *l, struct load_record *r)
{
	r->busy_ns = l->first.busy_ns;
	r->irq_ns = l->first.irq_ns;
	r->softirq_ns = l->first.softirq_ns;
	r->steal_ns = l->first.steal_ns;
	r->wait_ns = l->first.wait_ns;
	r->running = 0;
	put(l, r);
}

/* Withdrawn, and shown again, without a lie: what it said before is not forgotten. */
static void put_elsewhere(struct liar *l, struct load_record *r)
{
	const struct guest_ref none = { .type = GUEST_REF_NONE };

	if (l->first.beat == r->beat) {
		name_page(l, &none);
		free_page(l);
		usleep(500000);
		new_page(l);
		put(l, r);
		name_page(l, &l->ref);
	} else {
		put(l, r);
	}
}

static const struct lie {
	const char *name;
	void (*put)(struct liar *l, struct load_record *r); /* r: the truth */
	bool burns;					    /* as much CPU time as there is */
} lies[] = {
	{ "honest", put, false },
	{ "noise", put_noise, false },
	{ "kind", put_kind, false },
	{ "half", put_half, false },
	{ "no-cpus", put_no_cpus, false },
	{ "many-cpus", put_many_cpus, false },
	{ "high-time", put_high_time, false },
	{ "high-clock", put_high_clock, false },
	{ "no-period", put_no_period, false },
	{ "long-period", put_long_period, false },
	{ "as-hv", put_as_hv, false },
	{ "clock-back", put_clock_back, false },
	{ "times-back", put_times_back, false },
	{ "idle", put_idle, true },
	{ "elsewhere", put_elsewhere, false },
};

/* The lie that a line on stdin names, if there is one; else lie. */
static const struct lie *next_lie(const struct lie *lie)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	char line[64] = "";

	if (poll(&p, 1, 0) <= 0 || read(STDIN_FILENO, line, sizeof(line) - 1) <= 0)
		return lie;
	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		if (!strcmp(line, lies[i].name))
			return &lies[i];
	errno = EINVAL;
	die(line);
}

static void wait_until(struct liar *l, struct mono at, bool burns)
{
	while (mono_sub(at, l->clock.now(&l->clock)) > 0)
		if (!burns)
			l->clock.sleep_until(&l->clock, at);
}

static _Noreturn void lie_on(struct liar *l)
{
	const struct lie *lie = lies, *told = NULL;

	publish(l);
	for (;;) {
		struct mono began = l->clock.now(&l->clock);
		struct load_record r = truth(l);
		bool is_new = told != lie;

		if (is_new)
			l->first = r;
		l->page->magic = GUEST_LOAD_MAGIC;
		lie->put(l, &r);
		l->reg->heartbeat++;
		if (is_new) {
			printf("LIE %s\n", lie->name);
			fflush(stdout);
		}
		told = lie;
		wait_until(l, mono_add(began, PERIOD_NS), lie->burns);
		lie = next_lie(lie);
	}
}

/* --- pages that go while they are read ------------------------------------------------- */

static void a_moment(struct liar *l)
{
	usleep((useconds_t)(rnd(l) % MOMENT_US));
}

static _Noreturn void child(struct liar *l, int ready)
{
	struct load_record r;

	publish(l);
	r = truth(l);
	put(l, &r);
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;) {
		r = truth(l);
		put(l, &r);
		usleep(1000);
	}
}

static void be_killed(struct liar *l)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0)
		child(l, ready[1]);
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		die("a process did not publish");
	close(ready[0]);
	a_moment(l);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void be_freed(struct liar *l)
{
	struct load_record r;

	if (l->reg) {
		free_page(l);
		new_page(l);
		name_page(l, &l->ref);
	} else {
		publish(l);
	}
	l->reg->heartbeat++;
	r = truth(l);
	put(l, &r);
	a_moment(l);
}

static void again(struct liar *l, void (*turn)(struct liar *l), unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		turn(l);
	printf("DONE %u\n", n);
}

int main(int argc, char **argv)
{
	const char *pages = argc > 1 ? argv[1] : "", *what = argc > 2 ? argv[2] : "";
	unsigned int n = argc > 3 ? (unsigned int)strtoul(argv[3], NULL, 10) : 0;
	struct liar l = { .by_frame = !strcmp(pages, "frame"), .rng = (uint64_t)getpid() };

	clock_real(&l.clock);
	if ((l.by_frame || !strcmp(pages, "grant")) && argc == 2)
		lie_on(&l);
	if (n && !strcmp(what, "killed"))
		again(&l, be_killed, n);
	else if (n && !strcmp(what, "freed"))
		again(&l, be_freed, n);
	else
		fputs("usage: loadliar grant|frame [killed|freed N]\n", stderr);
	return n ? 0 : 2;
}
