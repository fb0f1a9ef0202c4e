// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * client: act_haproxy, driven by lines on standard input, for live.py. Each is answered by a line.
 *
 *	client SOCKET BACKEND TIMEOUT-MS SERVER...
 *
 *	read		a reading, also after a failure; waits until there is one
 *	put W...	then a reading
 *	flip N		N times: a put of other weights for all servers, and a reading
 *	move N WORD	N times: this state for one server after the other, all others are ready;
 *			a reading, and 10 ms. A WORD is keep, ready, drain or maint.
 *	want WORD...	these states, and a reading
 *	see		waits for nothing
 *
 * Answer: STATE CONNECTIONS READS SETS FAILURES US:US WEIGHT,... WANTS SERVED:MS,... NOTE. US: the
 * microseconds that it took; of flip and move: of a put, and of a reading, at the median. WANTS:
 * the first letter of each server's state. SERVED:MS: of each
 * server its requests and their mean response time.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/reconf/act_haproxy.h"
#include "src/util/clock.h"

enum { TIMES_MAX = 100000, MOVE_MS = 10 };

struct client {
	struct act_conf conf;
	struct act *h;
	struct clock clock;
	struct act_seen seen;
	int64_t put_us[TIMES_MAX], read_us[TIMES_MAX]; /* of flips and moves */
};

static const char *const want_word[] = { "keep", "ready", "drain", "maint" };

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
static void put_now(struct client *c, const uint16_t *weight, const enum act_want *want)
{
	if (act_haproxy.put(c->h, weight, want, now(c)))
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

/* A put of these, and a reading; how long they took is number at. */
static void turn(struct client *c, const uint16_t *weight, const enum act_want *want, uint32_t at)
{
	struct mono began = now(c), middle;

	put_now(c, weight, want);
	middle = now(c);
	read_now(c);
	c->put_us[at] = (middle.ns - began.ns) / 1000;
	c->read_us[at] = (now(c).ns - middle.ns) / 1000;
}

static void flip(struct client *c, uint32_t n)
{
	uint16_t weight[HAPROXY_SERVERS_MAX];

	for (uint32_t f = 0; f < n; f++) {
		for (uint32_t i = 0; i < c->conf.servers; i++)
			weight[i] = (uint16_t)(1 + (f * 37 + i * 101) % 256);
		turn(c, weight, NULL, f);
	}
}

static enum act_want want_of(const char *word)
{
	for (int w = ACT_OUT; word && w > ACT_KEEP; w--)
		if (!strcmp(word, want_word[w]))
			return (enum act_want)w;
	return ACT_KEEP;
}

/* The weights that were read: none is set. */
static void as_read(const struct client *c, uint16_t *weight)
{
	for (uint32_t i = 0; i < c->conf.servers; i++)
		weight[i] = c->seen.server[i].weight;
}

static void move(struct client *c, uint32_t n, enum act_want to)
{
	uint16_t weight[HAPROXY_SERVERS_MAX];
	enum act_want want[HAPROXY_SERVERS_MAX];

	as_read(c, weight);
	for (uint32_t f = 0; f < n; f++) {
		for (uint32_t i = 0; i < c->conf.servers; i++)
			want[i] = i == f % c->conf.servers ? to : ACT_SERVE;
		turn(c, weight, want, f);
		poll(NULL, 0, MOVE_MS);
	}
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
	printf(" ");
	for (uint32_t i = 0; i < c->conf.servers; i++)
		printf("%c", want_word[c->seen.server[i].admin][0]);
	for (uint32_t i = 0; i < c->conf.servers; i++)
		printf("%c%" PRIu64 ":%" PRIu64, i ? ',' : ' ', c->seen.server[i].served,
		       (uint64_t)(c->seen.server[i].latency_ns / NS_PER_MS));
	printf(" %s\n", c->seen.note);
	fflush(stdout);
}

/* "flip N", "move N WORD": what is left of the line is in next. */
static void repeat(struct client *c, const char *word, char *next)
{
	char *number = strtok_r(NULL, " \n", &next);
	int given = number ? atoi(number) : 1;
	uint32_t n = given > 0 && given < TIMES_MAX ? (uint32_t)given : 1;

	if (!strcmp(word, "flip"))
		flip(c, n);
	else
		move(c, n, want_of(strtok_r(NULL, " \n", &next)));
	qsort(c->put_us, n, sizeof(*c->put_us), later);
	qsort(c->read_us, n, sizeof(*c->read_us), later);
	show(c, c->put_us[n / 2], c->read_us[n / 2]);
}

static void obey(struct client *c, char *line)
{
	struct mono began = now(c);
	uint16_t weight[HAPROXY_SERVERS_MAX] = { 0 };
	enum act_want want[HAPROXY_SERVERS_MAX] = { ACT_KEEP };
	char *next, *word = strtok_r(line, " \n", &next);

	if (!word || !strcmp(word, "see")) {
		work(c);
	} else if (!strcmp(word, "read")) {
		read_now(c);
	} else if (!strcmp(word, "put")) {
		for (uint32_t i = 0; i < c->conf.servers && (word = strtok_r(NULL, " \n", &next));
		     i++)
			weight[i] = (uint16_t)atoi(word);
		put_now(c, weight, NULL);
		read_now(c);
	} else if (!strcmp(word, "want")) {
		as_read(c, weight);
		for (uint32_t i = 0; i < c->conf.servers; i++)
			want[i] = want_of(strtok_r(NULL, " \n", &next));
		put_now(c, weight, want);
		read_now(c);
	} else {
		repeat(c, word, next);
		return;
	}
	show(c, (now(c).ns - began.ns) / 1000, 0);
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
