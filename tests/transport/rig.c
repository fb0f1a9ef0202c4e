// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rig: the loop that polls and sleeps, and the hosts that it polls. Tests call it by rig.h; every
 * event passes through the referee. Operations are in rig_ops.c.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/transport/referee.h"

static const uint8_t the_key[32] = "a key that all friends know";

/* --- the loop --------------------------------------------------------------- */

struct mono rig_now(struct rig *r)
{
	return r->simulated ? r->now : r->clock.now(&r->clock);
}

void rig_simulate(struct rig *r)
{
	r->now = rig_now(r);
	r->simulated = true;
}

void rig_pass(struct rig *r, int64_t ns)
{
	r->now = mono_add(r->now, ns);
}

static bool polled(const struct host *h)
{
	return h->t && !h->paused;
}

size_t rig_poll(struct rig *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->hosts; i++)
		if (polled(&r->host[i]))
			n += host_poll(&r->host[i], 32);
	return n;
}

/* Arm all hosts. false: one of them must not sleep. */
static bool arm_all(struct rig *r, struct pollfd *p, nfds_t *n, struct mono *due)
{
	bool sleep = true;

	for (size_t i = 0; i < r->hosts; i++) {
		struct host *h = &r->host[i];
		struct mono d = { INT64_MAX };
		int rc;

		if (!polled(h))
			continue;
		rc = transport_arm(h->t, rig_now(r), &d);
		if (rc != 0 && rc != 1)
			broken("transport_arm gave %d: it is 0 or 1", rc);
		sleep = sleep && !rc;
		due->ns = d.ns < due->ns ? d.ns : due->ns;
		p[(*n)++] = (struct pollfd){ .fd = transport_fd(h->t), .events = POLLIN };
	}
	if (r->wake_fd >= 0)
		p[(*n)++] = (struct pollfd){ .fd = r->wake_fd, .events = POLLIN };
	return sleep;
}

bool rig_sleep(struct rig *r, int64_t at_most_ns)
{
	struct pollfd p[RIG_HOSTS + 1];
	struct mono due = { INT64_MAX };
	struct timespec ts;
	int64_t ns = at_most_ns;
	nfds_t n = 0;
	int rc;

	if (!arm_all(r, p, &n, &due))
		return true;
	if (!r->simulated && due.ns != INT64_MAX && mono_sub(due, rig_now(r)) < ns)
		ns = mono_sub(due, rig_now(r));
	ns = ns > 0 ? ns : 0;
	ts = (struct timespec){ .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
	rc = ppoll(p, n, &ts, NULL);
	return rc != 0 || ns < at_most_ns;
}

void rig_turn(struct rig *r)
{
	if (rig_poll(r))
		return;
	if (!rig_sleep(r, r->strict ? r->patience_ns : 2 * NS_PER_MS) && r->strict)
		broken("slept %lld s by transport_arm and transport_fd, and nothing woke",
		       (long long)(r->patience_ns / NS_PER_S));
}

void rig_turn_for(struct rig *r, int64_t ns)
{
	struct mono end = mono_add(r->clock.now(&r->clock), ns);
	bool strict = r->strict;

	r->strict = false;
	while (mono_sub(end, r->clock.now(&r->clock)) > 0)
		rig_turn(r);
	r->strict = strict;
}

void rig_wait(struct rig *r, struct patience *p, const char *what)
{
	int64_t now = r->clock.now(&r->clock).ns;

	if (!p->began_ns)
		p->began_ns = now;
	if (now - p->began_ns > r->patience_ns)
		broken("waited %lld s for: %s", (long long)(r->patience_ns / NS_PER_S), what);
	if (r->watch)
		r->watch(r->watch_arg);
	rig_turn(r);
}

/* --- the rig ---------------------------------------------------------------- */

static bool can_listen(const char *address, uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	bool can;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	can = inet_pton(AF_INET, address, &at.sin_addr) == 1 &&
	      !bind(fd, (struct sockaddr *)&at, sizeof(at)) && !listen(fd, 1);
	close(fd);
	return can;
}

/* Below the ephemeral ports: the kernel gives those to callers. */
static uint16_t free_ports(const struct rig *r, uint16_t here)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	for (uint32_t try = 0; try < 100; try++) {
		uint32_t any = (uint32_t)ts.tv_nsec / 64 + 997 * try + (uint32_t)getpid();
		uint16_t base = (uint16_t)(20000 + any % 12000);
		uint16_t n = 0;

		while (n <= RIG_HOSTS &&
		       (n % 2 >= here || can_listen(r->address[n % 2], (uint16_t)(base + n))))
			n++;
		if (n > RIG_HOSTS)
			return base;
	}
	broken("no %d free ports in a row at %s and %s", RIG_HOSTS, r->address[0], r->address[1]);
}

static int64_t patience(void)
{
	const char *env = getenv("RESEX_PATIENCE");
	long long s = env ? atoll(env) : 0;

	return (s > 0 ? s : 30) * NS_PER_S;
}

void rig_init(struct rig *r, const struct traits *is, const char *a, const char *b)
{
	struct rlimit files;

	memset(r, 0, sizeof(*r));
	clock_real(&r->clock);
	r->is = is;
	r->wake_fd = -1;
	r->patience_ns = patience();
	r->backend = transport_find(is->name);
	if (!r->backend)
		broken("the backend %s is not built in", is->name);
	r->address[0] = a;
	r->address[1] = b;
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

void rig_ports(struct rig *r, uint16_t n)
{
	r->port = r->is->ip ? free_ports(r, n) : 0;
}

void rig_fini(struct rig *r)
{
	for (size_t i = 0; i < r->hosts; i++) {
		if (r->host[i].t)
			host_audit(&r->host[i]);
		host_close(&r->host[i]);
		host_forget(&r->host[i]);
		free(r->host[i].log);
	}
	r->hosts = 0;
}

/* --- hosts ------------------------------------------------------------------ */

struct transport_conf rig_conf(const struct rig *r, uint16_t number)
{
	struct transport_conf c = {
		.host = number,
		.generation = 1000,
		.start = number,
		.cluster = "tests",
		.key = the_key,
		.key_len = sizeof(the_key),
		.port = r->port ? (uint16_t)(r->port + number) : 0,
		.bytes = { RIG_TABLE, RIG_WORDS },
		.backoff_min_ns = 5 * NS_PER_MS,
		.backoff_max_ns = 50 * NS_PER_MS,
		.hellos_max = 128,
		.hellos_second = 100000,
		.seed = number,
	};

	snprintf(c.address, sizeof(c.address), "%s", r->address[number % 2]);
	return c;
}

void host_open(struct host *h, const struct transport_conf *c)
{
	char text[256] = "";
	struct transport *t = NULL;
	int rc = h->rig->backend->open(&t, c, rig_now(h->rig), text);

	if (rc || !t)
		broken("host %u was not opened: %s (%s)", c->host, strerror(-rc), text);
	h->t = t;
	h->conf = *c;
	h->number = c->host;
	h->paused = false;
	memset(&h->ref, 0, sizeof(h->ref));
}

struct host *rig_open(struct rig *r, const struct transport_conf *c)
{
	struct host *h = &r->host[r->hosts];

	if (r->hosts == RIG_HOSTS)
		broken("the rig has room for %d hosts", RIG_HOSTS);
	memset(h, 0, sizeof(*h));
	h->rig = r;
	host_open(h, c);
	r->hosts++;
	return h;
}

void host_close(struct host *h)
{
	transport_close(h->t);
	h->t = NULL;
}

void host_audit(struct host *h)
{
	struct transport_stats s;

	while (host_poll(h, 32))
		;
	transport_stats(h->t, &s);
	if (!referee_audit(&h->ref, &s))
		broken("host %u: %s", h->number, h->ref.error);
	if (h->rig->is->one_sided && s.served)
		broken("host %u: served is %llu; this backend is one-sided", h->number,
		       (unsigned long long)s.served);
}

struct transport_peer rig_peer(const struct rig *r, uint16_t number)
{
	struct transport_conf c = rig_conf(r, number);
	struct transport_peer p = { .host = number, .port = c.port };

	memcpy(p.address, c.address, sizeof(p.address));
	snprintf(p.name, sizeof(p.name), "host-%u", number);
	return p;
}

void host_add(struct host *h, uint16_t number)
{
	struct transport_peer p = rig_peer(h->rig, number);
	int rc = transport_add(h->t, &p, rig_now(h->rig));

	if (rc)
		broken("host %u did not add host %u: %s", h->number, number, strerror(-rc));
}

void host_meet(struct host *a, struct host *b)
{
	host_add(a, b->number);
	host_add(b, a->number);
}

bool host_up(const struct host *h, uint16_t number)
{
	return transport_link(h->t, number) && h->ref.up[number] == transport_link(h->t, number);
}

bool both_up(const struct host *a, const struct host *b)
{
	return host_up(a, b->number) && host_up(b, a->number);
}

void rig_pair(struct rig *r, struct host **a, struct host **b)
{
	struct transport_conf one = rig_conf(r, 1), two = rig_conf(r, 2);

	*a = rig_open(r, &one);
	*b = rig_open(r, &two);
	host_meet(*a, *b);
	UNTIL(r, both_up(*a, *b));
}

/* --- events ----------------------------------------------------------------- */

static void keep(struct host *h, const struct transport_event *ev)
{
	struct seen *s;
	void *data = NULL;

	if (h->n == h->room) {
		h->room = h->room ? 2 * h->room : 64;
		h->log = realloc(h->log, h->room * sizeof(*h->log));
		if (!h->log)
			broken("no memory");
	}
	if (ev->data && ev->len) {
		data = malloc(ev->len);
		if (data)
			memcpy(data, ev->data, ev->len);
		else
			broken("no memory");
	}
	s = &h->log[h->n++];
	s->ev = *ev;
	s->ev.data = data;
	s->at_ns = rig_now(h->rig).ns;
}

size_t host_poll(struct host *h, size_t max)
{
	struct transport_event ev[32];
	size_t n = transport_poll(h->t, rig_now(h->rig), ev, max < 32 ? max : 32);

	if (n > max)
		broken("host %u: poll gave %zu events; %zu were asked for", h->number, n, max);
	for (size_t i = 0; i < n; i++) {
		if (!referee_event(&h->ref, &ev[i]))
			broken("host %u: %s", h->number, h->ref.error);
		keep(h, &ev[i]);
	}
	return n;
}

void host_forget(struct host *h)
{
	for (size_t i = 0; i < h->n; i++)
		free((void *)(uintptr_t)h->log[i].ev.data);
	h->n = 0;
}

const struct seen *host_seen(const struct host *h, enum transport_event_type type, uint16_t host,
			     size_t from)
{
	for (size_t i = h->n; i > from; i--)
		if (h->log[i - 1].ev.type == type && (!host || h->log[i - 1].ev.host == host))
			return &h->log[i - 1];
	return NULL;
}

size_t host_count(const struct host *h, enum transport_event_type type, uint16_t host, size_t from)
{
	size_t n = 0;

	for (size_t i = from; i < h->n; i++)
		n += h->log[i].ev.type == type && (!host || h->log[i].ev.host == host);
	return n;
}

const struct seen *host_result(const struct host *h, uint64_t tag)
{
	for (size_t i = h->n; i > 0; i--)
		if (h->log[i - 1].ev.type == TRANSPORT_RESULT && h->log[i - 1].ev.tag == tag)
			return &h->log[i - 1];
	return NULL;
}
