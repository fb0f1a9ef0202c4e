// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * transport_pause: how long a call of the transport takes at most while peers come and go; a part
 * of bench_transport.
 *
 * The thread that polls also sends the heartbeats of its host: while it is in a call, no other peer
 * hears of it. Peers are processes that READ this host's table without a pause; they are killed
 * and started again in turn. First, for comparison, none is killed.
 *
 * A call takes long when the thread sleeps in it, or when other processes have its CPU meanwhile.
 * The first is the transport's doing: the kernel counts those switches.
 */
#ifdef HAVE_CONFIG_H
#include "config.h" /* RUSAGE_THREAD */
#endif
#include "tests/bench/transport_pause.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/transport/transport.h"
#include "src/util/clock.h"

enum { SELF = 1, PEERS = 4, LIVES = 24, PART = 65536 };

static const uint8_t key[32] = "the key of a bench and no other";

/* Calls of transport_poll, ms. */
struct phase {
	double longest;
	size_t sleeps; /* calls in which the thread slept */
	double slept_longest, slept;
};

struct churn {
	const struct transport_backend *backend;
	const char *address;
	uint16_t port;
	size_t load; /* bytes of this host's part of that name */
	struct clock clock;
	struct transport *t;
	pid_t peer[PEERS];
	uint32_t ups, downs;
	struct phase phase;
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "resex-bench-transport: %s\n", what);
	exit(1);
}

static struct mono time_now(struct churn *c)
{
	return c->clock.now(&c->clock);
}

static struct transport *open_host(struct churn *c, uint16_t me)
{
	struct transport_conf conf = { .host = me,
				       .generation = (uint64_t)time_now(c).ns,
				       .cluster = "bench",
				       .key = key,
				       .key_len = sizeof(key),
				       .port = c->port ? (uint16_t)(c->port + me) : 0,
				       .backoff_max_ns = 20 * NS_PER_MS,
				       .bytes = { PART, PART, me == SELF ? c->load : 0 } };
	struct transport *t;
	char text[256];

	snprintf(conf.address, sizeof(conf.address), "%s", c->address);
	if (c->backend->open(&t, &conf, time_now(c), text))
		die(text);
	return t;
}

static void add_host(struct churn *c, struct transport *t, uint16_t host)
{
	struct transport_peer p = { .host = host,
				    .name = "peer",
				    .port = c->port ? (uint16_t)(c->port + host) : 0 };

	snprintf(p.address, sizeof(p.address), "%s", c->address);
	if (transport_add(t, &p, time_now(c)))
		die("a peer could not be added");
}

static void sleep_until_due(struct transport *t, struct mono now, int64_t most_ms)
{
	struct pollfd fd = { .fd = transport_fd(t), .events = POLLIN };
	struct mono due = { INT64_MAX };
	int64_t ms;

	if (transport_arm(t, now, &due))
		return;
	ms = due.ns == INT64_MAX ? most_ms : (due.ns - now.ns) / NS_PER_MS + 1;
	poll(&fd, 1, (int)(ms < most_ms ? ms : most_ms));
}

/* Keeps as many operations on the host's words outstanding as a link takes, until it is killed. */
static _Noreturn void work(struct churn *c, uint16_t me)
{
	struct transport_event ev[16];
	struct transport *t;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	t = open_host(c, me);
	add_host(c, t, SELF);
	for (;;) {
		struct mono now = time_now(c);
		struct transport_op op = { .kind = TRANSPORT_READ,
					   .host = SELF,
					   .len = 4096,
					   .deadline = mono_add(now, 60 * NS_PER_S) };

		while (transport_post(t, &op, 1, now, NULL) == 1)
			;
		transport_poll(t, now, ev, 16);
		sleep_until_due(t, now, 10);
	}
}

static void start_peer(struct churn *c, int i)
{
	c->peer[i] = fork();
	if (c->peer[i] < 0)
		die("fork failed");
	if (!c->peer[i])
		work(c, (uint16_t)(SELF + 1 + i));
}

static void kill_peer(struct churn *c, int i)
{
	kill(c->peer[i], SIGKILL);
	waitpid(c->peer[i], NULL, 0);
}

static long sleeps_so_far(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_THREAD, &u))
		die("the kernel does not count switches");
	return u.ru_nvcsw;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static void poll_once(struct churn *c)
{
	struct transport_event ev[16];
	long sleeps = sleeps_so_far();
	struct mono began = time_now(c);
	size_t n = transport_poll(c->t, began, ev, 16);
	double ms = (double)mono_sub(time_now(c), began) / NS_PER_MS;

	c->phase.longest = larger(c->phase.longest, ms);
	if (sleeps_so_far() != sleeps) {
		c->phase.sleeps++;
		c->phase.slept += ms;
		c->phase.slept_longest = larger(c->phase.slept_longest, ms);
	}
	for (size_t i = 0; i < n; i++) {
		c->ups += ev[i].type == TRANSPORT_UP;
		c->downs += ev[i].type == TRANSPORT_DOWN;
	}
	sleep_until_due(c->t, time_now(c), 5);
}

/* Poll until so many links came up, and went down. */
static void poll_until(struct churn *c, uint32_t ups, uint32_t downs)
{
	struct mono end = mono_add(time_now(c), 120 * NS_PER_S);

	while (c->ups < ups || c->downs < downs) {
		poll_once(c);
		if (mono_sub(time_now(c), end) > 0)
			die("a peer did not come or go within two minutes");
	}
}

static void poll_for(struct churn *c, int64_t ns)
{
	struct mono end = mono_add(time_now(c), ns);

	while (mono_sub(end, time_now(c)) > 0)
		poll_once(c);
}

static void print_phase(struct churn *c, const char *what)
{
	const struct phase *p = &c->phase;

	printf("%-10zu %-12s %10.2f %10zu %10.2f %10.1f\n", c->load >> 20, what, p->longest,
	       p->sleeps, p->slept_longest, p->slept);
	fflush(stdout);
	c->phase = (struct phase){ 0 };
}

static void one_size(struct churn *c)
{
	c->t = open_host(c, SELF);
	for (int i = 0; i < PEERS; i++) {
		add_host(c, c->t, (uint16_t)(SELF + 1 + i));
		start_peer(c, i);
	}
	poll_until(c, PEERS, 0);
	poll_for(c, NS_PER_S);
	c->phase = (struct phase){ 0 };
	poll_for(c, 2 * NS_PER_S);
	print_phase(c, "none");
	for (int i = 0; i < LIVES; i++) {
		kill_peer(c, i % PEERS);
		poll_until(c, c->ups, c->downs + 1);
		start_peer(c, i % PEERS);
		poll_until(c, c->ups + 1, c->downs);
		poll_for(c, 50 * NS_PER_MS);
	}
	print_phase(c, "peers");
	for (int i = 0; i < PEERS; i++)
		kill_peer(c, i);
	transport_close(c->t);
	c->ups = c->downs = 0;
}

void transport_pause(const struct transport_backend *backend, const char *address, uint16_t port)
{
	static const size_t loads[] = { 0, TRANSPORT_OPTIONAL_MAX };
	struct churn c = { .backend = backend, .address = address, .port = port };

	clock_real(&c.clock);
	printf("Calls of transport_poll on %s, ms, beside %d peers that work; then while they are "
	       "killed and\nstarted again, %d times, with operations under way. The part load of "
	       "this host is so large.\n\n",
	       backend->name, PEERS, LIVES);
	printf("%-10s %-12s %10s %10s %10s %10s\n", "load, MiB", "who dies", "longest", "sleeps",
	       "longest", "all sleeps");
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		c.load = loads[i];
		one_size(&c);
	}
}
