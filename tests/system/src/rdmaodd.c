// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmaodd: RDMA traffic of unusual kinds that tells its truth at the end.
 *
 *	rdmaodd CASE [-k KINDS] [-n COUNT] [-p PACE_US] [-s SEED]
 *	rdmaodd --help
 *
 * It says READY with its pid and seed, waits for "go" on stdin, does its work,
 * says DONE with the pid of the process that holds the queues, waits for "end",
 * and only then prints its truth, as one line of JSON that begins with TRUTH.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "tests/system/src/rdmaodd.h"

static void usage(void)
{
	puts("usage: rdmaodd CASE [-k KINDS] [-n COUNT] [-p PACE_US] [-s SEED]\n"
	     "  -k  what the case is to do (a list); the default is all\n"
	     "  -n  work requests of each queue pair, about (100)\n"
	     "  -p  microseconds between posts (0: full speed)\n"
	     "  -s  seed of all random choices (random; it is printed)\n");
	for (uint32_t i = 0; i < odd_cases_n; i++)
		printf("  %-8s %s\n", odd_cases[i].name, odd_cases[i].text);
}

static void await(const char *line)
{
	char buf[64];

	while (fgets(buf, sizeof(buf), stdin)) {
		buf[strcspn(buf, "\r\n")] = '\0';
		if (!strcmp(buf, line))
			return;
	}
}

_Noreturn void odd_finish(struct odd *o)
{
	printf("DONE pid=%d\n", (int)getpid());
	fflush(stdout);
	await("end");
	fputs("TRUTH ", stdout);
	load_print(stdout, o->truth, o->truths, &o->opts, 0, false);
	fflush(stdout);
	_exit(0);
}

static const struct odd_case *find_case(const char *name)
{
	for (uint32_t i = 0; i < odd_cases_n; i++)
		if (!strcmp(odd_cases[i].name, name))
			return &odd_cases[i];
	return NULL;
}

static int options(struct odd *o, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "k:n:p:s:")) != -1)
		switch (c) {
		case 'k':
			o->kinds = optarg;
			break;
		case 'n':
			o->count = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'p':
			o->pace_us = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 's':
			o->seed = strtoull(optarg, NULL, 0);
			break;
		default:
			return -EINVAL;
		}
	return o->count ? 0 : -EINVAL;
}

int main(int argc, char **argv)
{
	const struct odd_case *which = argc > 1 ? find_case(argv[1]) : NULL;
	struct odd *o = mmap(NULL, sizeof(*o), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			     -1, 0);

	if (o == MAP_FAILED)
		odd_die("mmap", errno);
	o->count = 100;
	o->resized = -1;
	if (getrandom(&o->seed, sizeof(o->seed), 0) != sizeof(o->seed))
		odd_die("getrandom", errno);
	o->seed >>= 16; /* short enough to be typed */
	if (!which || options(o, argc - 1, argv + 1)) {
		usage();
		return argc == 2 && !strcmp(argv[1], "--help") ? 0 : 2;
	}
	o->opts = (struct load_opts){ .gid = -1, .sizes = { 0, 65536 }, .seed = o->seed };
	if (load_open(&o->ctx, &o->opts))
		return 1;
	which->prepare(o);
	printf("READY pid=%d seed=%llu qps=%u\n", (int)getpid(), (unsigned long long)o->seed,
	       o->truths);
	fflush(stdout);
	await("go");
	which->run(o);
	odd_finish(o);
}
