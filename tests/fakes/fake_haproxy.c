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
		p->server[i].admin = ACT_SERVE;
		p->server[i].own = p->server[i].queued = 0;
		p->server[i].served = p->server[i].latency_ns = 0;
	}
}

struct act {
	struct act_conf conf;
	struct act_seen seen;
	struct act_server server[HAPROXY_SERVERS_MAX];
	struct mono began;
	uint16_t put[HAPROXY_SERVERS_MAX];
	enum act_want want[HAPROXY_SERVERS_MAX];
	uint32_t start; /* of the process that it is connected to */
	int epoll;
};

static int haproxy_open(struct act **h, const struct act_conf *c)
{
	*h = calloc(1, sizeof(**h));
	if (!*h)
		return -ENOMEM;
	(*h)->conf = *c;
	(*h)->epoll = epoll_create1(EPOLL_CLOEXEC);
	fake_haproxy_open++;
	return 0;
}

static void haproxy_close(struct act *h)
{
	if (!h)
		return;
	fake_haproxy_open--;
	close(h->epoll);
	free(h);
}

static int haproxy_fd(const struct act *h)
{
	return h->epoll;
}

static struct fake_process *process_of(const struct act *h)
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

static void read_all(struct act *h, struct fake_process *p)
{
	p->reads++;
	for (uint32_t i = 0; i < h->conf.servers; i++) {
		int at = place_of(p, h->conf.server[i]);

		h->server[i] = (struct act_server){ .there = at >= 0 };
		if (at < 0) {
			snprintf(h->seen.note, sizeof(h->seen.note),
				 "HAProxy's backend \"%s\" has no server \"%s\": correct "
				 "\"server\", or haproxy.cfg",
				 h->conf.backend, h->conf.server[i]);
			continue;
		}
		h->server[i].admin = p->server[at].admin ? p->server[at].admin : ACT_SERVE;
		h->server[i].up = !p->server[at].down && h->server[i].admin == ACT_SERVE;
		h->server[i].weight = p->server[at].weight;
		h->server[i].initial = p->server[at].initial;
		h->server[i].own = p->server[at].own;
		h->server[i].queued = p->server[at].queued;
		h->server[i].served = p->server[at].served;
		h->server[i].latency_ns = p->server[at].latency_ns;
	}
	h->seen.reads++;
	h->seen.read = h->began;
}

static void set_all(struct act *h, struct fake_process *p)
{
	uint64_t sets = h->seen.sets;

	for (uint32_t i = 0; i < h->conf.servers; i++) {
		int at = place_of(p, h->conf.server[i]);
		bool weighs = h->server[i].weight != h->put[i];
		bool turns = h->want[i] && h->server[i].admin != h->want[i];

		if (at < 0 || (!weighs && !turns))
			continue;
		if (p->refuses) {
			h->seen.failures++;
			snprintf(h->seen.note, sizeof(h->seen.note),
				 "no permission to set weights");
			return;
		}
		p->server[at].weight = h->put[i];
		if (h->want[i])
			p->server[at].admin = h->want[i];
		h->seen.sets += weighs + turns;
	}
	p->puts += h->seen.sets > sets;
}

static int64_t haproxy_work(struct act *h, struct mono now)
{
	struct fake_process *p = process_of(h);
	enum act_state was = h->seen.state;

	(void)now;
	if (!p || p->away || (was != ACT_DOWN && p->start != h->start)) {
		h->seen.failures += was != ACT_DOWN;
		h->seen.state = ACT_DOWN;
		snprintf(h->seen.note, sizeof(h->seen.note), "nobody listens at %s",
			 h->conf.socket);
		return 100 * NS_PER_MS;
	}
	if (was == ACT_DOWN) {
		h->seen.connections++;
		h->seen.note[0] = '\0';
		h->start = p->start;
	}
	if (p->hangs)
		return 100 * NS_PER_MS;
	h->seen.state = ACT_READY;
	if (was == ACT_READING)
		read_all(h, p);
	if (was == ACT_SETTING)
		set_all(h, p);
	return 100 * NS_PER_MS;
}

static int haproxy_read(struct act *h, struct mono now)
{
	if (h->seen.state != ACT_READY)
		return h->seen.state == ACT_DOWN ? -ENOTCONN : -EBUSY;
	h->seen.state = ACT_READING;
	h->began = now;
	return 0;
}

static int haproxy_put(struct act *h, const uint16_t *weight, const enum act_want *want,
		       struct mono now)
{
	(void)now;
	if (h->seen.state != ACT_READY)
		return h->seen.state == ACT_DOWN ? -ENOTCONN : -EBUSY;
	memcpy(h->put, weight, h->conf.servers * sizeof(*weight));
	for (uint32_t i = 0; i < h->conf.servers; i++)
		h->want[i] = want ? want[i] : ACT_KEEP;
	h->seen.state = ACT_SETTING;
	return 0;
}

static void haproxy_see(const struct act *h, struct act_seen *s)
{
	*s = h->seen;
	s->server = h->server;
}

const struct act_ops act_haproxy = {
	.shared = true,
	.leave_ns = NS_PER_S,
	.open = haproxy_open,
	.close = haproxy_close,
	.fd = haproxy_fd,
	.work = haproxy_work,
	.read = haproxy_read,
	.put = haproxy_put,
	.see = haproxy_see,
};
