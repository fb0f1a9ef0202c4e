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
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/conf/cluster.h"
#include "src/shared/region.h"
#include "src/util/clock.h"

enum { SAMPLES_MAX = 20000, NODES = 8, PAUSE_MAX_US = 4000 };

struct seen {
	uint64_t reads, torn, bad; /* bad: a whole record that cannot follow the one before */
	uint64_t first_beat, changes;
	struct load_record newest;
	uint32_t samples;
	int64_t age_ns[SAMPLES_MAX];
};

struct age {
	struct cluster_conf conf;
	struct transport *t;
	struct clock clock;
	uint64_t tag; /* of the READ that is pending */
	bool pending;
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

static struct mono now(struct age *a)
{
	return a->clock.now(&a->clock);
}

static int start(struct age *a, const char *file, const char *name)
{
	struct cluster_key key = { 0 };
	struct conf_error e = { 0 };
	const struct cluster_client *self;
	struct transport_conf tc;
	char text[256] = "";
	int rc = cluster_client_load(&a->conf, file, name, &e);

	if (!rc)
		rc = cluster_key_load(&key, a->conf.key_file, &e);
	if (rc) {
		fprintf(stderr, "loadage: %s\n", e.text);
		return rc;
	}
	self = &a->conf.client[a->conf.self];
	tc = (struct transport_conf){ .host = (uint16_t)self->number,
				      .generation = (uint64_t)clock_wall_ns(),
				      .role = TRANSPORT_CLIENT,
				      .agreement = cluster_agreement(&a->conf),
				      .key = key.bytes,
				      .key_len = key.len };
	strcpy(tc.cluster, a->conf.cluster);
	strcpy(tc.address, self->address);
	rc = transport_backends[a->conf.transport]->open(&a->t, &tc, now(a), text);
	for (uint32_t i = 0; !rc && i < a->conf.hosts; i++) {
		struct transport_peer p;

		cluster_peer(&a->conf, i, &p);
		rc = transport_add(a->t, &p, now(a));
	}
	if (rc)
		fprintf(stderr, "loadage: %s: %s\n", text, strerror(-rc));
	return rc;
}

/* Cumulative times never go back while the source is the same. */
static bool follows(const struct load_record *old, const struct load_record *new)
{
	return !old->head.seq || old->source != new->source ||
	       (new->beat >= old->beat &&new->sampled_ns >= old->sampled_ns &&new->busy_ns >=
			old->busy_ns &&new->cpus ==
		old->cpus);
}

static void take(struct age *a, uint32_t i, const void *data, int64_t at_ns)
{
	struct seen *s = &a->seen[i];
	struct load_record r;
	int rc = region_parse_load(data, (uint32_t)a->conf.node[i].number, &r);

	s->reads++;
	if (rc == -EAGAIN || rc == -ENOMSG) {
		s->torn++;
		return;
	}
	s->bad += rc || !follows(&s->newest, &r) || r.sampled_ns > at_ns;
	if (rc)
		return;
	s->changes += s->newest.head.seq && s->newest.source != r.source;
	if (!s->samples)
		s->first_beat = r.beat;
	s->newest = r;
	if (s->samples < SAMPLES_MAX)
		s->age_ns[s->samples++] = at_ns - r.sampled_ns;
}

static void post(struct age *a, uint32_t i)
{
	const struct cluster_node *n = &a->conf.node[i];
	struct transport_op op = { .kind = TRANSPORT_READ,
				   .host = n->host,
				   .part = TRANSPORT_LOAD,
				   .offset = (uint32_t)(n->number * sizeof(struct load_record)),
				   .len = sizeof(struct load_record),
				   .tag = ++a->tag,
				   .deadline = mono_add(now(a), 2 * NS_PER_S) };

	a->pending = transport_post(a->t, &op, 1, now(a), NULL) == 1;
}

/* Until the READ has ended, or for a pause when there is none. */
static void turn(struct age *a, uint32_t node)
{
	struct pollfd p = { .fd = transport_fd(a->t), .events = POLLIN };
	struct transport_event ev[16];
	struct mono due;
	size_t n = transport_poll(a->t, now(a), ev, 16);

	for (size_t i = 0; i < n; i++) {
		if (ev[i].type != TRANSPORT_RESULT || ev[i].tag != a->tag)
			continue;
		a->pending = false;
		if (ev[i].outcome == TRANSPORT_DONE)
			take(a, node, ev[i].data, now(a).ns);
	}
	if (!n && !transport_arm(a->t, now(a), &due))
		poll(&p, 1, 1);
}

static int by_age(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void print(struct age *a)
{
	for (uint32_t i = 0; i < a->conf.nodes; i++) {
		struct seen *s = &a->seen[i];
		const struct load_record *r = &s->newest;
		uint32_t n = s->samples;

		qsort(s->age_ns, n, sizeof(s->age_ns[0]), by_age);
		printf("%s\"%s\": {\"reads\": %" PRIu64 ", \"torn\": %" PRIu64 ", \"bad\": %" PRIu64
		       ", \"changes\": %" PRIu64 ", \"beats\": %" PRIu64
		       ", \"source\": %u, \"flags\": %u, \"running\": %u, \"cpus\": %u, "
		       "\"busy_ns\": %" PRIu64 ", \"softirq_pending\": %u, \"load_avg\": %u, "
		       "\"age_us\": [%.1f, %.1f, %.1f]}",
		       i ? ", " : "{", a->conf.node[i].name, s->reads, s->torn, s->bad, s->changes,
		       n ? r->beat - s->first_beat : 0, r->source, r->flags, r->running, r->cpus,
		       r->busy_ns, r->softirq_pending, r->load_avg[0],
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
	uint32_t i = 0;

	clock_real(&a.clock);
	if (argc != 3 || start(&a, argv[1], argv[2]) || !a.conf.nodes || a.conf.nodes > NODES) {
		fprintf(stderr, "usage: loadage CLUSTER.JSON CLIENT\n");
		return 2;
	}
	signal(SIGTERM, on_signal);
	signal(SIGUSR1, on_signal);
	fprintf(stderr, "loadage: open\n"); /* a signal before this would end it */
	sched_setscheduler(0, SCHED_FIFO, &p);
	srandom(1); /* pauses only: they must not keep step with a period */
	while (!ends) {
		struct timespec pause = { .tv_nsec = random() % (PAUSE_MAX_US * NS_PER_US) };

		if (asked) {
			asked = 0;
			print(&a);
		}
		nanosleep(&pause, NULL);
		post(&a, i);
		do
			turn(&a, i);
		while (a.pending && !ends);
		i = (i + 1) % a.conf.nodes;
	}
	transport_close(a.t);
	return 0;
}
