// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_beats: how far apart the heartbeats of a resexd are on a busy machine; ./dev bench beats.
 *
 *	resex-bench-beats CLUSTER-FILE CLIENT HOST SECONDS NAME
 *
 * What a host has read of another one may be used while that host's newest heartbeat is young
 * enough. So the longest gap between two heartbeats bounds how young that can be. This program is a
 * client of the cluster. It READs the host's record each 0.2 ms, and notes the time of each new
 * heartbeat. Beside it a thread with nice 0 wakes as often as the host beats: the peer. One line is
 * printed; run.sh starts the daemon and the load. No time is an error; a host without heartbeats
 * is.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/conf/cluster.h"
#include "src/shared/region.h"
#include "src/transport/transport.h"
#include "src/util/clock.h"
#include "tests/bench/measure.h"

enum { GAPS_MAX = 100000, FRESH_MS = 20, PATIENCE_S = 10 };

#define LOOK_NS (NS_PER_MS / 5)

/* The gaps between what comes at a pace, ms. */
struct pace {
	double gap[GAPS_MAX];
	size_t n;
	struct mono last;
};

struct bench {
	struct cluster_conf conf;
	struct clock clock;
	struct transport *t;
	struct region_peer header;
	uint16_t host;
	uint64_t beat;
	struct pace beats, peer;
	struct mono end;
};

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "resex-bench-beats: %s: %s\n", what, why);
	exit(1);
}

static struct mono now_of(struct bench *b)
{
	return b->clock.now(&b->clock);
}

static void note(struct pace *p, struct mono now)
{
	if (p->last.ns && p->n < GAPS_MAX)
		p->gap[p->n++] = (double)mono_sub(now, p->last) / NS_PER_MS;
	p->last = now;
}

/* --- the reader ------------------------------------------------------------------- */

static void open_client(struct bench *b, const char *file, const char *client, const char *host)
{
	struct cluster_key key = { 0 };
	struct conf_error e = { 0 };
	struct transport_conf tc = { .role = TRANSPORT_CLIENT };
	struct transport_peer peer = { 0 };
	char text[256] = "";

	if (cluster_client_load(&b->conf, file, client, &e) ||
	    cluster_key_load(&key, b->conf.key_file, &e))
		die("settings", e.text);
	tc.host = (uint16_t)b->conf.client[b->conf.self].number;
	tc.generation = (uint64_t)clock_wall_ns();
	tc.agreement = cluster_agreement(&b->conf);
	tc.key = key.bytes;
	tc.key_len = key.len;
	strcpy(tc.cluster, b->conf.cluster);
	strcpy(tc.address, b->conf.client[b->conf.self].address);
	if (transport_backends[b->conf.transport]->open(&b->t, &tc, now_of(b), text))
		die("transport", text);
	for (uint32_t i = 0; i < b->conf.hosts; i++)
		if (!strcmp(b->conf.host[i].name, host))
			cluster_peer(&b->conf, i, &peer);
	b->host = peer.host;
	if (transport_add(b->t, &peer, now_of(b)))
		die(host, "it cannot be called");
}

/* READ so many bytes of the host's table; valid until the next one. NULL: not done. */
static const void *read_table(struct bench *b, uint32_t offset, uint32_t len)
{
	struct transport_op op = { .kind = TRANSPORT_READ,
				   .host = b->host,
				   .part = TRANSPORT_TABLE,
				   .offset = offset,
				   .len = len,
				   .deadline = mono_add(now_of(b), NS_PER_S) };
	struct transport_event ev;

	if (transport_post(b->t, &op, 1, now_of(b), NULL) != 1)
		return NULL;
	for (;;) {
		if (!transport_poll(b->t, now_of(b), &ev, 1))
			continue;
		if (ev.type == TRANSPORT_RESULT)
			return ev.outcome == TRANSPORT_DONE ? ev.data : NULL;
		if (ev.type == TRANSPORT_DOWN)
			die("the link ended", ev.text);
	}
}

static void wait_for_header(struct bench *b)
{
	struct mono until = mono_add(now_of(b), PATIENCE_S * NS_PER_S);
	uint64_t generation = 0;

	while (mono_sub(until, now_of(b)) > 0) {
		struct transport_event ev;
		const void *copy;

		if (transport_poll(b->t, now_of(b), &ev, 1) && ev.type == TRANSPORT_UP)
			generation = ev.generation;
		copy = generation ? read_table(b, 0, sizeof(struct region_header)) : NULL;
		if (copy && !region_parse_header(copy, b->host, generation, &b->header))
			return;
	}
	die("the host", "it cannot be read");
}

static void look(struct bench *b)
{
	struct region_read r[REGION_READS_MAX];
	struct region_host host;
	const void *copy;

	region_reads(&b->header, REGION_T_HOST, 0, 1, r);
	copy = read_table(b, r[0].offset, r[0].len);
	/* Torn, while it is written: the next look sees it. */
	if (!copy || region_parse_host(&b->header, copy, &host) || host.beat == b->beat)
		return;
	b->beat = host.beat;
	note(&b->beats, now_of(b));
}

/* --- the peer --------------------------------------------------------------------- */

static void *peer_main(void *arg)
{
	struct bench *b = arg;
	struct clock clock;
	struct mono at;

	clock_real(&clock);
	at = clock.now(&clock);
	while (mono_sub(b->end, at) > 0) {
		note(&b->peer, clock.now(&clock));
		at = mono_add(at, b->conf.heartbeat_ns);
		clock.sleep_until(&clock, at);
	}
	return NULL;
}

/* --- figures ------------------------------------------------------------------------ */

static void print_pace(struct pace *p)
{
	size_t late = 0;

	for (size_t i = 0; i < p->n; i++)
		late += p->gap[i] > FRESH_MS;
	printf(" %7.2f", measure_median(p->gap, p->n));
	/* It has sorted them. */
	printf(" %7.2f %7.2f %6.3f%%", p->gap[p->n - 1 - p->n / 1000], p->gap[p->n - 1],
	       100.0 * (double)late / (double)p->n);
}

int main(int argc, char **argv)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct sched_param real_time = { .sched_priority = 1 };
	pthread_t peer;
	struct mono at;

	if (argc != 6 || !b)
		die("usage", "resex-bench-beats CLUSTER-FILE CLIENT HOST SECONDS NAME");
	clock_real(&b->clock);
	open_client(b, argv[1], argv[2], argv[3]);
	wait_for_header(b);
	at = now_of(b);
	b->end = mono_add(at, atoi(argv[4]) * NS_PER_S);
	if (pthread_create(&peer, NULL, peer_main, b))
		die("the peer", "no thread");
	/* The reader alone: it must not be late itself. */
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &real_time))
		die("the reader", "it may not have a real-time priority: run it as root");
	for (; mono_sub(b->end, at) > 0; at = mono_add(at, LOOK_NS)) {
		look(b);
		b->clock.sleep_until(&b->clock, at);
	}
	pthread_join(peer, NULL);
	if (!b->beats.n || !b->peer.n)
		die(argv[3], "it does not beat");
	printf("%-24s", argv[5]);
	print_pace(&b->beats);
	print_pace(&b->peer);
	putchar('\n');
	transport_close(b->t);
	free(b);
	return 0;
}
