// SPDX-License-Identifier: GPL-2.0-or-later
/* host_process: see host_process.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resex/region_abi.h"
#include "tests/shared/host_process.h"

static volatile sig_atomic_t stops, asked, quiet;

static void stop(int signal)
{
	(void)signal;
	stops = stops + 1;
}

static void ask(int signal)
{
	(void)signal;
	asked = 1;
}

static void be_quiet(int signal)
{
	(void)signal;
	quiet = 1;
}

bool host_process_is_quiet(void)
{
	return quiet;
}

int host_process_stops(void)
{
	return stops;
}

bool host_process_is_asked(void)
{
	/* Not cleared before it was seen: a signal between the two would be lost. */
	if (!asked)
		return false;
	asked = 0;
	return true;
}

struct mono host_process_now(struct host_process *p)
{
	return p->clock.now(&p->clock);
}

static int open_transport(struct host_process *p, const struct host_process_conf *c)
{
	static const uint8_t key[] = "a key that every host of it holds";
	const struct transport_backend *b = transport_find(c->backend);
	struct transport_conf tc = { .host = c->self,
				     .generation = c->generation,
				     .key = key,
				     .key_len = sizeof(key) - 1,
				     .port = (uint16_t)(c->port + c->self),
				     .bytes = { REGION_PAGE, REGION_WORDS_BYTES },
				     .words = c->words,
				     .seed = c->self };
	char text[256] = "no such transport";

	snprintf(tc.cluster, sizeof(tc.cluster), "%s", c->name);
	snprintf(tc.address, sizeof(tc.address), "%s", c->address[c->self - 1]);
	if (b && !b->has_ports)
		tc.port = 0;
	if (b && !b->open(&p->t, &tc, host_process_now(p), text))
		return 0;
	fprintf(stderr, "%s: %s\n", c->name, text);
	return -EIO;
}

static int add_hosts(struct host_process *p, const struct host_process_conf *c)
{
	int rc = 0;

	for (int i = 0; i < c->hosts && !rc; i++) {
		struct transport_peer peer = { .host = (uint16_t)(i + 1),
					       .port = (uint16_t)(c->port + i + 1) };

		snprintf(peer.address, sizeof(peer.address), "%s", c->address[i]);
		snprintf(peer.name, sizeof(peer.name), "host-%d", i + 1);
		if (!transport_find(c->backend)->has_ports)
			peer.port = 0;
		rc = transport_add(p->t, &peer, host_process_now(p));
	}
	if (rc)
		fprintf(stderr, "%s: %s\n", c->name, strerror(-rc));
	return rc;
}

bool host_process_args(struct host_process_conf *c, int argc, char **argv)
{
	if (argc < 6 || atoi(argv[2]) < 1 || atoi(argv[2]) > argc - 4) {
		fprintf(stderr, "usage: %s BACKEND NUMBER GENERATION ADDRESS-1 ADDRESS-2 ...\n",
			c->name);
		return false;
	}
	c->backend = argv[1];
	c->self = (uint16_t)atoi(argv[2]);
	c->generation = strtoull(argv[3], NULL, 10);
	c->address = &argv[4];
	c->hosts = argc - 4;
	return true;
}

int host_process_open(struct host_process *p, const struct host_process_conf *c)
{
	int rc;

	memset(p, 0, sizeof(*p));
	p->self = c->self;
	clock_real(&p->clock);
	signal(SIGTERM, stop);
	signal(SIGUSR1, ask);
	signal(SIGUSR2, be_quiet);
	signal(SIGPIPE, SIG_IGN);
	rc = open_transport(p, c);
	if (!rc)
		rc = add_hosts(p, c);
	if (!rc)
		rc = runner_open(&p->r, p->t, c->deadline_ns, c->prefix);
	return rc;
}

void host_process_close(struct host_process *p)
{
	runner_close(p->r);
	transport_close(p->t);
}

void host_process_turn(struct host_process *p)
{
	struct transport_event ev[32];
	size_t n = transport_poll(p->t, host_process_now(p), ev, 32);

	for (size_t i = 0; i < n; i++) {
		p->ups += ev[i].type == TRANSPORT_UP;
		p->downs += ev[i].type == TRANSPORT_DOWN;
		p->alarms += ev[i].type == TRANSPORT_ALARM;
		runner_event(p->r, &ev[i], host_process_now(p));
	}
	runner_tick(p->r, host_process_now(p));
}

void host_process_sleep(struct host_process *p)
{
	struct pollfd fd = { .fd = transport_fd(p->t), .events = POLLIN };
	struct mono now = host_process_now(p), due = now, mine = runner_due_at(p->r);
	int64_t ms;

	if (transport_arm(p->t, now, &due))
		return;
	if (mine.ns < due.ns)
		due = mine;
	ms = mono_sub(due, now) / NS_PER_MS;
	poll(&fd, 1, ms > 10 ? 10 : ms < 0 ? 0 : (int)ms);
}
