// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * client: act_haproxy, driven by lines on standard input, for live.py. Each is answered by a line.
 *
 *	client SOCKET BACKEND TIMEOUT-MS SERVER...
 *
 *	read		a reading, also after a failure; waits until there is one
 *	put W...	then a reading
 *	flip N		N times: a put of other weights for all servers, and a reading
 *	see		waits for nothing
 *
 * Answer: STATE CONNECTIONS READS SETS FAILURES US:US WEIGHT,... SERVED:MS,... NOTE. US: the
 * microseconds that it took; of flip: of a put, and of a reading, at the median. SERVED:MS: of each
 * server its requests and their mean response time.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/reconf/act_haproxy.h"
#include "src/util/clock.h"

enum { FLIPS_MAX = 100000 };

struct client {
	struct act_conf conf;
	struct act *h;
	struct clock clock;
	struct act_seen seen;
};

static struct mono now(struct client *c)
{
	return c->clock.now(&c->clock);
}

/* Waits for the socket, or for the time that act_haproxy.work() names, at most 10 ms. */
static void work(struct client *c)
{
	struct pollfd p = { .fd = act_haproxy.fd(c->h), .events = POLLIN };
	int64_t ns = act_haproxy.work(c->h, now(c));

	act_haproxy.see(c->h, &c->seen);
	if (c->seen.state != ACT_READY && ns > 0)
		poll(&p, 1, ns < 10000000 ? (int)(ns / 1000000) + 1 : 10);
}

static void read_now(struct client *c)
{
	uint64_t reads;

	act_haproxy.see(c->h, &c->seen);
	reads = c->seen.reads;
	while (c->seen.reads == reads) {
		act_haproxy.read(c->h, now(c));
		work(c);
	}
}

/* One turn of its end is enough: what came of it, the reading says. */
static void put_now(struct client *c, const uint16_t *weight)
{
	if (act_haproxy.put(c->h, weight, now(c)))
		return;
	do
		work(c);
	while (c->seen.state == ACT_SETTING);
}

static int later(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void flip(struct client *c, uint32_t n, int64_t *put_us, int64_t *read_us)
{
	static int64_t put[FLIPS_MAX], read[FLIPS_MAX];
	uint16_t weight[HAPROXY_SERVERS_MAX];

	n = n && n < FLIPS_MAX ? n : 1;
	for (uint32_t f = 0; f < n; f++) {
		struct mono began = now(c), middle;

		for (uint32_t i = 0; i < c->conf.servers; i++)
			weight[i] = (uint16_t)(1 + (f * 37 + i * 101) % 256);
		put_now(c, weight);
		middle = now(c);
		read_now(c);
		put[f] = (middle.ns - began.ns) / 1000;
		read[f] = (now(c).ns - middle.ns) / 1000;
	}
	qsort(put, n, sizeof(*put), later);
	qsort(read, n, sizeof(*read), later);
	*put_us = put[n / 2];
	*read_us = read[n / 2];
}

static void show(const struct client *c, int64_t us, int64_t read_us)
{
	static const char *const state[] = { "down", "ready", "reading", "setting" };

	printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 ":%" PRId64 " ",
	       state[c->seen.state], c->seen.connections, c->seen.reads, c->seen.sets,
	       c->seen.failures, us, read_us);
	for (uint32_t i = 0; i < c->conf.servers; i++)
		printf("%s%d", i ? "," : "",
		       c->seen.server[i].there ? c->seen.server[i].weight : -1);
	for (uint32_t i = 0; i < c->conf.servers; i++)
		printf("%c%" PRIu64 ":%" PRIu64, i ? ',' : ' ', c->seen.server[i].served,
		       (uint64_t)(c->seen.server[i].latency_ns / NS_PER_MS));
	printf(" %s\n", c->seen.note);
	fflush(stdout);
}

static void obey(struct client *c, char *line)
{
	int64_t us, read_us = 0;
	struct mono began = now(c);
	uint16_t weight[HAPROXY_SERVERS_MAX] = { 0 };
	char *next, *word = strtok_r(line, " \n", &next);

	if (!word || !strcmp(word, "see")) {
		work(c);
	} else if (!strcmp(word, "read")) {
		read_now(c);
	} else if (!strcmp(word, "put")) {
		for (uint32_t i = 0; i < c->conf.servers && (word = strtok_r(NULL, " \n", &next));
		     i++)
			weight[i] = (uint16_t)atoi(word);
		put_now(c, weight);
		read_now(c);
	} else if (!strcmp(word, "flip") && (word = strtok_r(NULL, " \n", &next))) {
		flip(c, (uint32_t)atoi(word), &us, &read_us);
		show(c, us, read_us);
		return;
	}
	us = (now(c).ns - began.ns) / 1000;
	show(c, us, read_us);
}

int main(int argc, char **argv)
{
	static struct client c;
	char line[4096];

	if (argc < 5 || argc > 4 + HAPROXY_SERVERS_MAX)
		return 2;
	snprintf(c.conf.socket, sizeof(c.conf.socket), "%s", argv[1]);
	snprintf(c.conf.backend, sizeof(c.conf.backend), "%s", argv[2]);
	c.conf.timeout_ns = atoi(argv[3]) * (int64_t)NS_PER_MS;
	c.conf.servers = (uint32_t)argc - 4;
	for (int i = 4; i < argc; i++)
		snprintf(c.conf.server[i - 4], sizeof(c.conf.server[0]), "%s", argv[i]);
	clock_real(&c.clock);
	if (act_haproxy.open(&c.h, &c.conf))
		return 1;
	while (fgets(line, sizeof(line), stdin))
		obey(&c, line);
	act_haproxy.close(c.h);
	return 0;
}
