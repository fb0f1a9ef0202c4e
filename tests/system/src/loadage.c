// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * loadage: how old the load records of a cluster's nodes are when they are READ (sc_kmod.py).
 *
 *	loadage CLUSTER.JSON CLIENT
 *
 * It is a client of the cluster, on the machine of all its hosts: one clock. It READs the record of
 * one node after the other, each after a random pause, with the priority of a real-time process, so
 * that READs are not late on a busy machine. At SIGUSR1 it prints what it saw since the last time,
 * an object for each node, on one line. SIGTERM ends it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/system/src/load_reader.h"

enum { SAMPLES_MAX = 20000, NODES = 8, PAUSE_MAX_US = 4000 };

struct seen {
	uint64_t reads, torn, bad; /* bad: a whole record that cannot follow the one before */
	uint64_t first_beat, changes;
	struct load_record newest;
	uint32_t samples;
	int64_t age_ns[SAMPLES_MAX];
};

struct age {
	struct load_reader reader;
	struct seen seen[NODES];
};

static volatile sig_atomic_t ends, asked;

static void on_signal(int number)
{
	if (number == SIGTERM)
		ends = 1;
	else
		asked = 1;
}

/* Cumulative times never go back while the source is the same. */
static bool follows(const struct load_record *old, const struct load_record *new)
{
	if (!old->head.seq || old->source != new->source)
		return true;
	return new->beat >= old->beat &&new->sampled_ns >= old->sampled_ns &&new->busy_ns >=
		       old->busy_ns &&new->cpus ==
	       old->cpus;
}

static void look(struct age *a, uint32_t i)
{
	struct seen *s = &a->seen[i];
	struct load_record r;
	struct mono at;
	int rc = load_reader_read(&a->reader, i, &ends, &r, &at);

	if (rc == -ENOTCONN)
		return;
	s->reads++;
	if (rc == -EAGAIN || rc == -ENOMSG) {
		s->torn++;
		return;
	}
	s->bad += rc || !follows(&s->newest, &r) || r.sampled_ns > at.ns;
	if (rc)
		return;
	s->changes += s->newest.head.seq && s->newest.source != r.source;
	if (!s->samples)
		s->first_beat = r.beat;
	s->newest = r;
	if (s->samples < SAMPLES_MAX)
		s->age_ns[s->samples++] = at.ns - r.sampled_ns;
}

static int by_age(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void print(struct age *a)
{
	for (uint32_t i = 0; i < a->reader.conf.nodes; i++) {
		struct seen *s = &a->seen[i];
		const struct load_record *r = &s->newest;
		uint32_t n = s->samples;

		qsort(s->age_ns, n, sizeof(s->age_ns[0]), by_age);
		printf("%s\"%s\": {\"reads\": %" PRIu64 ", \"torn\": %" PRIu64 ", \"bad\": %" PRIu64
		       ", \"changes\": %" PRIu64 ", \"beats\": %" PRIu64
		       ", \"source\": %u, \"flags\": %u, \"running\": %u, \"cpus\": %u, "
		       "\"sampled_ns\": %" PRId64 ", \"busy_ns\": %" PRIu64
		       ", \"softirq_pending\": %u, \"load_avg\": %u, "
		       "\"age_us\": [%.1f, %.1f, %.1f]}",
		       i ? ", " : "{", a->reader.conf.node[i].name, s->reads, s->torn, s->bad,
		       s->changes, n ? r->beat - s->first_beat : 0, r->source, r->flags, r->running,
		       r->cpus, r->sampled_ns, r->busy_ns, r->softirq_pending, r->load_avg[0],
		       n ? (double)s->age_ns[n / 2] / 1e3 : 0,
		       n ? (double)s->age_ns[n * 9 / 10] / 1e3 : 0,
		       n ? (double)s->age_ns[n - 1] / 1e3 : 0);
		s->reads = s->torn = s->bad = s->changes = 0;
		s->samples = 0;
	}
	printf("}\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static struct age a;
	const struct sched_param p = { .sched_priority = 2 };
	uint32_t i = 0, nodes;

	if (argc != 3) {
		fprintf(stderr, "usage: loadage CLUSTER.JSON CLIENT\n");
		return 2;
	}
	if (load_reader_open(&a.reader, "loadage", argv[1], argv[2]))
		return 1;
	nodes = a.reader.conf.nodes < NODES ? a.reader.conf.nodes : NODES;
	signal(SIGTERM, on_signal);
	signal(SIGUSR1, on_signal);
	fprintf(stderr, "loadage: open\n"); /* a signal before this would end it */
	sched_setscheduler(0, SCHED_FIFO, &p);
	srandom(1); /* pauses only: they must not keep step with a period */
	while (!ends && nodes) {
		struct timespec pause = { .tv_nsec = random() % (PAUSE_MAX_US * NS_PER_US) };

		if (asked) {
			asked = 0;
			print(&a);
		}
		nanosleep(&pause, NULL);
		look(&a, i);
		i = (i + 1) % nodes;
	}
	transport_close(a.reader.t);
	return 0;
}
