// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hvprobe: proves src/hv on a real Xen host, one part a call; runs in dom0,
 * with hvguest in the guest. Prints a line a check, and the costs it saw;
 * exits non-zero when a check failed or nothing was checked.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/hv/backends.h"
#include "tests/system/src/hvprobe.h"

__attribute__((format(printf, 3, 0))) static bool report(struct probe *p, bool ok, const char *fmt,
							 va_list ap)
{
	p->checks++;
	p->failed += !ok;
	printf("%s: ", ok ? "PASS" : "FAIL");
	vprintf(fmt, ap);
	return ok;
}

bool probe_check(struct probe *p, bool ok, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(p, ok, fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	return ok;
}

bool probe_equal(struct probe *p, long long got, long long want, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!report(p, got == want, fmt, ap))
		printf(" (got %lld, want %lld)", got, want);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	return got == want;
}

int64_t probe_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

void probe_cost(const char *what, int64_t start_ns, unsigned int calls)
{
	int64_t tenths = (probe_now() - start_ns) / 100 / calls;

	printf("COST: %s: %lld.%lld us (mean of %u)\n", what, (long long)(tenths / 10),
	       (long long)(tenths % 10), calls);
}

void probe_sleep_ms(unsigned int ms)
{
	struct timespec t = { ms / 1000, (long)(ms % 1000) * NS_PER_MS };

	nanosleep(&t, NULL);
}

void probe_run(struct probe *p, const char *command)
{
	probe_equal(p, system(command), 0, "the script's command succeeds: %s", command);
}

static bool opened(struct probe *p, int ret, const char *what)
{
	return probe_equal(p, ret, 0, "open of %s", what);
}

struct hv_mem *probe_open_mem(struct probe *p)
{
	struct hv_mem *m;

	return opened(p, p->hv->mem->open(&m, NULL), "memory") ? m : NULL;
}

struct hv_sched *probe_open_sched(struct probe *p)
{
	struct hv_sched *s;

	return opened(p, p->hv->sched->open(&s, NULL), "scheduling") ? s : NULL;
}

struct hv_watch *probe_open_watch(struct probe *p)
{
	struct hv_watch *w;

	return opened(p, p->hv->watch->open(&w, NULL), "watching") ? w : NULL;
}

bool probe_find(struct probe *p, struct hv_sched *s, uint32_t domid, struct hv_dom *d)
{
	struct hv_dom doms[64];
	int n = p->hv->sched->list(s, doms, 64);

	for (int i = 0; i < n; i++)
		if (doms[i].domid == domid) {
			*d = doms[i];
			return true;
		}
	return false;
}

/* host ERRNO WATCH-ERRNO [UID]: the opens fail so; 0 is success. */
static void probe_host(struct probe *p, char **argv)
{
	const int want = -atoi(argv[0]), watch = argv[1] ? -atoi(argv[1]) : 0;
	struct hv_mem *m;
	struct hv_sched *s;
	struct hv_watch *w;

	if (argv[1] && argv[2])
		probe_equal(p, setuid((uid_t)atoi(argv[2])), 0, "become user %s", argv[2]);
	probe_equal(p, p->hv->mem->open(&m, NULL), want, "open of memory");
	probe_equal(p, p->hv->sched->open(&s, NULL), want, "open of scheduling");
	probe_equal(p, p->hv->watch->open(&w, NULL), watch, "open of watching");
}

static const struct {
	const char *name;
	void (*run)(struct probe *p, char **argv);
	const char *usage;
} parts[] = {
	{ "host", probe_host, "0 ERRNO WATCH-ERRNO [UID]" },
	{ "list", probe_list, "DOMID pv|pvh" },
	{ "caps", probe_caps, "DOMID SCHEDULER WEIGHT" },
	{ "race", probe_race, "DOMID SCHEDULER" },
	{ "nocaps", probe_nocaps, "DOMID SCHEDULER" },
	{ "pools", probe_pools, "DOMID COMMAND SCHEDULER" },
	{ "map", probe_map, "DOMID pv|pvh FRAME..." },
	{ "frames", probe_frames, "DOMID OTHER-DOMID FRAME..." },
	{ "hostile", probe_hostile, "DOMID pv FRAME..." },
	{ "many", probe_many, "0 -" },
	{ "grant", probe_grant, "DOMID REF" },
	{ "balloon", probe_balloon, "DOMID pvh FRAME..." },
	{ "zombie", probe_zombie, "DOMID REF COMMAND FRAME..." },
	{ "watch", probe_watch, "DOMID NAME REF" },
	{ "events", probe_events, "0 COMMAND" },
};

static int usage(void)
{
	fprintf(stderr, "usage: hvprobe PART DOMID ...\n");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		fprintf(stderr, "\thvprobe %s %s\n", parts[i].name, parts[i].usage);
	return 2;
}

/* Frames are the arguments that are numbers at the end. */
static void read_frames(struct probe *p, int argc, char **argv)
{
	int first = argc;

	while (first > 3 && strspn(argv[first - 1], "0123456789") == strlen(argv[first - 1]))
		first--;
	for (; first < argc && p->frames < PROBE_FRAMES_MAX; first++)
		p->frame[p->frames++] = strtoull(argv[first], NULL, 10);
}

int main(int argc, char **argv)
{
	struct probe p = { .hv = &hv_xen };

	if (argc < 4)
		return usage();
	p.domid = (uint32_t)strtoul(argv[2], NULL, 10);
	read_frames(&p, argc, argv);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strcmp(parts[i].name, argv[1]))
			continue;
		parts[i].run(&p, argv + 3);
		printf("hvprobe %s: %u checks, %u failed\n", argv[1], p.checks, p.failed);
		return p.failed || !p.checks;
	}
	return usage();
}
