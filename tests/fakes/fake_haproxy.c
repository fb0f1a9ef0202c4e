// SPDX-License-Identifier: GPL-2.0-or-later
/* fake_haproxy: see fake_haproxy.h. Work takes no time. */
#include "tests/fakes/fake_haproxy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct fake_process fake_process[FAKE_PROCESSES];
int fake_haproxy_open;

void fake_haproxy_clear(void)
{
	memset(fake_process, 0, sizeof(fake_process));
}

struct fake_process *fake_haproxy_run(const char *backend, int n, uint16_t weight)
{
	struct fake_process *p = fake_process;

	while (p->backend[0])
		p++;
	snprintf(p->backend, sizeof(p->backend), "%s", backend);
	for (int i = 0; i < n; i++) {
		snprintf(p->server[i].name, sizeof(p->server[i].name), "s%d", i + 1);
		p->server[i].weight = p->server[i].initial = weight;
	}
	return p;
}

void fake_haproxy_restart(struct fake_process *p)
{
	p->start++;
	for (int i = 0; i < FAKE_SERVERS; i++) {
		p->server[i].weight = p->server[i].initial;
		p->server[i].own = 0;
		p->server[i].served = 0;
	}
}

struct haproxy {
	struct haproxy_conf conf;
	struct haproxy_seen seen;
	struct haproxy_server server[HAPROXY_SERVERS_MAX];
	char missing[HAPROXY_NOTE_MAX];
	struct mono began;
	uint16_t put[HAPROXY_SERVERS_MAX];
	uint32_t start; /* of the process that it is connected to */
	int epoll;
};

int haproxy_open(struct haproxy **h, const struct haproxy_conf *c)
{
	*h = calloc(1, sizeof(**h));
	if (!*h)
		return -ENOMEM;
	(*h)->conf = *c;
	(*h)->epoll = epoll_create1(EPOLL_CLOEXEC);
	fake_haproxy_open++;
	return 0;
}

void haproxy_close(struct haproxy *h)
{
	if (!h)
		return;
	fake_haproxy_open--;
	close(h->epoll);
	free(h);
}

int haproxy_fd(const struct haproxy *h)
{
	return h->epoll;
}

static struct fake_process *process_of(const struct haproxy *h)
{
	for (int i = 0; i < FAKE_PROCESSES; i++)
		if (!strcmp(fake_process[i].backend, h->conf.backend))
			return &fake_process[i];
	return NULL;
}

static int place_of(const struct fake_process *p, const char *server)
{
	for (int i = 0; i < FAKE_SERVERS; i++)
		if (!strcmp(p->server[i].name, server))
			return i;
	return -1;
}

/* As act_haproxy.c: the note of a reading, which is shown while nothing else is wrong. */
static void say_missing(struct haproxy *h)
{
	const char *first = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->conf.servers; i++)
		if (!h->server[i].there && !n++)
			first = h->conf.server[i];
	h->missing[0] = '\0';
	if (n)
		snprintf(h->missing, sizeof(h->missing),
			 "HAProxy's backend \"%s\" has no server \"%s\"%s: correct \"server\", or "
			 "haproxy.cfg",
			 h->conf.backend, first, n > 1 ? " (and others)" : "");
}

static void read_all(struct haproxy *h, const struct fake_process *p)
{
	for (uint32_t i = 0; i < h->conf.servers; i++) {
		int at = place_of(p, h->conf.server[i]);

		h->server[i] = (struct haproxy_server){ .there = at >= 0 };
		if (at < 0)
			continue;
		h->server[i].up = !p->server[at].down;
		h->server[i].weight = p->server[at].weight;
		h->server[i].initial = p->server[at].initial;
		h->server[i].own = p->server[at].own;
		h->server[i].served = p->server[at].served;
	}
	h->seen.reads++;
	h->seen.read = h->began;
	say_missing(h);
}

static void set_all(struct haproxy *h, struct fake_process *p)
{
	uint64_t sets = h->seen.sets;

	for (uint32_t i = 0; i < h->conf.servers; i++) {
		int at = place_of(p, h->conf.server[i]);

		if (at < 0 || h->server[i].weight == h->put[i])
			continue;
		if (p->refuses) {
			h->seen.failures++;
			snprintf(h->seen.note, sizeof(h->seen.note),
				 "no permission to set weights");
			return;
		}
		p->server[at].weight = h->put[i];
		h->seen.sets++;
	}
	p->puts += h->seen.sets > sets;
}

int64_t haproxy_work(struct haproxy *h, struct mono now)
{
	struct fake_process *p = process_of(h);
	enum haproxy_state was = h->seen.state;

	(void)now;
	if (!p || p->away || (was != HAPROXY_DOWN && p->start != h->start)) {
		h->seen.failures += was != HAPROXY_DOWN;
		h->seen.state = HAPROXY_DOWN;
		snprintf(h->seen.note, sizeof(h->seen.note), "nobody listens at %s",
			 h->conf.socket);
		return 100 * NS_PER_MS;
	}
	if (was == HAPROXY_DOWN) {
		h->seen.connections++;
		h->seen.note[0] = '\0';
		h->start = p->start;
	}
	if (p->hangs)
		return 100 * NS_PER_MS;
	h->seen.state = HAPROXY_READY;
	if (was == HAPROXY_READING)
		read_all(h, p);
	if (was == HAPROXY_SETTING)
		set_all(h, p);
	return 100 * NS_PER_MS;
}

int haproxy_read(struct haproxy *h, struct mono now)
{
	if (h->seen.state != HAPROXY_READY)
		return h->seen.state == HAPROXY_DOWN ? -ENOTCONN : -EBUSY;
	h->seen.state = HAPROXY_READING;
	h->began = now;
	return 0;
}

int haproxy_put(struct haproxy *h, const uint16_t *weight, struct mono now)
{
	(void)now;
	if (h->seen.state != HAPROXY_READY)
		return h->seen.state == HAPROXY_DOWN ? -ENOTCONN : -EBUSY;
	memcpy(h->put, weight, h->conf.servers * sizeof(*weight));
	h->seen.state = HAPROXY_SETTING;
	return 0;
}

void haproxy_see(const struct haproxy *h, struct haproxy_seen *s)
{
	*s = h->seen;
	s->server = h->server;
	if (!s->note[0])
		memcpy(s->note, h->missing, sizeof(s->note));
}
