// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * far: the test's end of hosts on another machine (far.h).
 *
 * Calls of the transport come here first (the linker's --wrap). Calls of a handle that was
 * opened here are sent to the other machine; all others go to the transport. The linker
 * passes no context, so the open handles are in one static struct.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/transport/far.h"

enum { TABLES = TRANSPORT_PART_MAX, CALL_S = 60 };

/* Stands for a struct transport in the test. */
struct far_host {
	uint32_t id; /* 0: not open */
	int wake;    /* readable when the host's transport_fd there is */
	bool asleep; /* arm there allowed to sleep: poll has nothing to do until due or a wake */
	struct mono due;
	uint32_t link[TRANSPORT_HOSTS_MAX + 1];
	uint8_t *table, *sent; /* our copy of the table, and the bytes of it that were sent */
	size_t table_len;
	uint8_t *data; /* of the newest events */
};

static struct {
	int fd; /* 0: all hosts are here */
	struct sockaddr_in at;
	char address[TRANSPORT_ADDRESS_MAX];
	struct transport_backend backend;
	const struct transport_backend *near;
	struct far_host host[RIG_HOSTS];
	uint32_t ids;
	uint32_t procs; /* processes started there so far */
	uint64_t calls;
	uint64_t plain;
	uint8_t in[FAR_ROOM];
} far;

static void *room(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		broken("no memory for %zu times %zu bytes", n, size);
	return p;
}

/* --- the wire ----------------------------------------------------------------- */

bool far_read(int fd, void *to, size_t len)
{
	for (size_t n = 0; n < len;) {
		ssize_t rc = recv(fd, (char *)to + n, len - n, 0);

		if (rc <= 0 && !(rc < 0 && errno == EINTR))
			return false;
		n += rc > 0 ? (size_t)rc : 0;
	}
	return true;
}

bool far_write(int fd, const void *from, size_t len)
{
	for (size_t n = 0; n < len;) {
		ssize_t rc = send(fd, (const char *)from + n, len - n, MSG_NOSIGNAL);

		if (rc < 0 && errno != EINTR)
			return false;
		n += rc > 0 ? (size_t)rc : 0;
	}
	return true;
}

uint64_t far_build(void)
{
	return sizeof(struct far_open) << 40 | sizeof(struct orders) << 20 |
	       sizeof(struct transport_event) << 10 | sizeof(struct transport_op);
}

static int dial(const struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	struct timeval wait = { .tv_sec = CALL_S };

	if (fd < 0 || connect(fd, (const struct sockaddr *)at, sizeof(*at)))
		broken("the other machine cannot be reached: %s", strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	return fd;
}

/* The answer's payload is in far.in; *out may be left out. */
static int64_t call(struct far_call c, const void *with, struct far_answer *out)
{
	struct far_answer a;

	far.calls++;
	if (!far_write(far.fd, &c, sizeof(c)) || !far_write(far.fd, with, c.len) ||
	    !far_read(far.fd, &a, sizeof(a)) || a.len > sizeof(far.in) ||
	    !far_read(far.fd, far.in, a.len))
		broken("the other machine does not answer call %u: %s", c.what, strerror(errno));
	if (a.broken)
		broken("on the other machine: %.*s", (int)a.len, (const char *)far.in);
	if (out)
		*out = a;
	return a.rc;
}

static int64_t host_call(struct far_host *h, struct far_call c, const void *with,
			 struct far_answer *out)
{
	struct far_answer a;

	c.id = h->id;
	call(c, with, &a);
	memcpy(h->link, a.link, sizeof(h->link));
	h->asleep = a.asleep;
	h->due = a.due;
	if (out)
		*out = a;
	return a.rc;
}

/* --- begin and end --------------------------------------------------------------- */

bool far_is(const char *address)
{
	return far.fd && !strcmp(address, far.address);
}

static int open_far(struct transport **t, const struct transport_conf *c, struct mono now,
		    char text[static 256]);

void far_begin(struct rig *r, uint16_t port)
{
	struct far_begin b = { .build = far_build(), .port = r->port };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (inet_pton(AF_INET, r->address[1], &at.sin_addr) != 1)
		broken("\"%s\" is no address of a machine", r->address[1]);
	far.at = at;
	far.fd = dial(&at);
	/* Each session there uses its own ports. */
	if (!far_read(far.fd, &far.at.sin_port, sizeof(far.at.sin_port)))
		broken("nobody serves at %s, port %u", r->address[1], port);
	snprintf(far.address, sizeof(far.address), "%s", r->address[1]);
	snprintf(b.backend, sizeof(b.backend), "%s", r->is->name);
	for (int i = 0; i < 2; i++)
		snprintf(b.address[i], sizeof(b.address[i]), "%s", r->address[i]);
	call((struct far_call){ .what = FAR_BEGIN, .len = sizeof(b) }, &b, NULL);
	far.near = r->backend;
	far.backend = *r->backend;
	far.backend.open = open_far;
	r->backend = &far.backend;
}

void far_end(struct rig *r)
{
	if (!far.fd)
		return;
	for (size_t i = 0; i < RIG_HOSTS; i++)
		if (far.host[i].id)
			transport_close((struct transport *)&far.host[i]);
	close(far.fd);
	far.fd = 0;
	far.plain = 0;
	r->backend = far.near;
}

bool far_used(void)
{
	printf("on the other machine were %u hosts driven from here, by %llu calls, and %u in "
	       "processes of their own\n",
	       far.ids, (unsigned long long)far.calls, far.procs);
	return far.ids && far.procs;
}

/* --- processes --------------------------------------------------------------------- */

static int64_t send_orders(const struct proc *p, enum far_what what)
{
	return call((struct far_call){ .what = what, .id = p->index, .len = ORDERS_SENT }, p->o,
		    NULL);
}

pid_t far_spawn(const struct proc *p)
{
	far.procs++;
	return (pid_t)send_orders(p, FAR_SPAWN);
}

void far_nudge(const struct proc *p)
{
	send_orders(p, FAR_NUDGE);
}

bool far_pull(const struct proc *p, int *status)
{
	struct far_answer a;
	struct far_pull got;

	call((struct far_call){ .what = FAR_PULL, .id = p->index }, NULL, &a);
	memcpy(&got, far.in, sizeof(got));
	memcpy((char *)p->o + ORDERS_SENT, got.says, sizeof(got.says));
	far.plain = got.plain;
	*status = (int)a.b;
	return a.rc;
}

void far_signal(const struct proc *p, enum far_what what)
{
	int status;

	call((struct far_call){ .what = what, .id = p->index }, NULL, NULL);
	if (what == FAR_KILL)
		far_pull(p, &status);
}

int far_reap(const struct proc *p)
{
	int status,
		rc = (int)call((struct far_call){ .what = FAR_REAP, .id = p->index }, NULL, NULL);

	far_pull(p, &status);
	return rc;
}

uint64_t far_plain(void)
{
	return far.plain;
}

/* --- the transport's calls ---------------------------------------------------------- */

static struct far_host *is_far(const struct transport *t)
{
	const struct far_host *h = (const struct far_host *)t;

	if (h < far.host || h >= far.host + RIG_HOSTS)
		return NULL;
	return (struct far_host *)(uintptr_t)h;
}

/* Send what the owners wrote into their tables, before any other call there. */
static void write_tables(void)
{
	for (size_t i = 0; i < RIG_HOSTS; i++) {
		struct far_host *h = &far.host[i];

		if (!h->id || !h->table || !memcmp(h->table, h->sent, h->table_len))
			continue;
		memcpy(h->sent, h->table, h->table_len);
		host_call(h, (struct far_call){ .what = FAR_TABLE, .len = (uint32_t)h->table_len },
			  h->sent, NULL);
	}
}

static struct far_host *new_host(void)
{
	for (size_t i = 0; i < RIG_HOSTS; i++)
		if (!far.host[i].id)
			return &far.host[i];
	broken("there is room for %d hosts on the other machine", RIG_HOSTS);
}

static size_t words_len(const struct transport_conf *c)
{
	size_t len = c->bytes[TRANSPORT_WORDS];

	return c->words && len <= TRANSPORT_PART_MAX ? len : 0;
}

static int open_there(struct far_host *h, const struct transport_conf *c, struct mono now,
		      char text[static 256])
{
	size_t words = words_len(c), len = sizeof(struct far_open) + words;
	struct far_open *o = room(1, len);
	int rc;

	o->conf = *c;
	o->has_key = c->key;
	o->has_words = words;
	if (c->key && c->key_len <= TRANSPORT_KEY_MAX)
		memcpy(o->key, c->key, c->key_len);
	if (words)
		memcpy(o + 1, c->words, words);
	rc = (int)host_call(h,
			    (struct far_call){ .what = FAR_OPEN, .now = now, .len = (uint32_t)len },
			    o, NULL);
	memcpy(text, far.in, 256);
	free(o);
	return rc;
}

static int open_far(struct transport **t, const struct transport_conf *c, struct mono now,
		    char text[static 256])
{
	struct far_host *h;
	int rc;

	write_tables();
	if (!far_is(c->address))
		return far.near->open(t, c, now, text);
	h = new_host();
	memset(h, 0, sizeof(*h));
	h->id = ++far.ids;
	h->wake = dial(&far.at);
	if (!far_write(h->wake, &h->id, sizeof(h->id)))
		broken("the other machine is gone: %s", strerror(errno));
	rc = open_there(h, c, now, text);
	if (rc) {
		close(h->wake);
		h->id = 0;
		return rc;
	}
	h->table_len = c->bytes[TRANSPORT_TABLE];
	*t = (struct transport *)h;
	return 0;
}

/* --wrap: a call of transport_x goes to __wrap_transport_x; __real_transport_x is the original. */
__typeof__(transport_close) __wrap_transport_close, __real_transport_close;
__typeof__(transport_table) __wrap_transport_table, __real_transport_table;
__typeof__(transport_part) __wrap_transport_part, __real_transport_part;
__typeof__(transport_add) __wrap_transport_add, __real_transport_add;
__typeof__(transport_remove) __wrap_transport_remove, __real_transport_remove;
__typeof__(transport_link) __wrap_transport_link, __real_transport_link;
__typeof__(transport_post) __wrap_transport_post, __real_transport_post;
__typeof__(transport_poll) __wrap_transport_poll, __real_transport_poll;
__typeof__(transport_fd) __wrap_transport_fd, __real_transport_fd;
__typeof__(transport_arm) __wrap_transport_arm, __real_transport_arm;
__typeof__(transport_stats) __wrap_transport_stats, __real_transport_stats;

void __wrap_transport_close(struct transport *t)
{
	struct far_host *h = is_far(t);

	write_tables();
	if (!h) {
		__real_transport_close(t);
		return;
	}
	host_call(h, (struct far_call){ .what = FAR_CLOSE }, NULL, NULL);
	close(h->wake);
	free(h->table);
	free(h->sent);
	free(h->data);
	memset(h, 0, sizeof(*h));
}

/* Only the table is copied to and fro. */
void *__wrap_transport_part(struct transport *t, enum transport_part part)
{
	return is_far(t) ? NULL : __real_transport_part(t, part);
}

void *__wrap_transport_table(struct transport *t)
{
	struct far_host *h = is_far(t);

	if (!h)
		return __real_transport_table(t);
	if (!h->table_len) /* a client */
		return NULL;
	if (!h->table) {
		h->table = room(1, h->table_len);
		h->sent = room(1, h->table_len);
	}
	return h->table;
}

int __wrap_transport_add(struct transport *t, const struct transport_peer *p, struct mono now)
{
	struct far_host *h = is_far(t);

	write_tables();
	if (!h)
		return __real_transport_add(t, p, now);
	return (int)host_call(
		h, (struct far_call){ .what = FAR_ADD, .now = now, .len = sizeof(*p) }, p, NULL);
}

int __wrap_transport_remove(struct transport *t, uint16_t host, struct mono now)
{
	struct far_host *h = is_far(t);

	write_tables();
	if (!h)
		return __real_transport_remove(t, host, now);
	return (int)host_call(h, (struct far_call){ .what = FAR_REMOVE, .now = now, .a = host },
			      NULL, NULL);
}

/* It changes only by calls, and each answer has its new value. */
uint32_t __wrap_transport_link(const struct transport *t, uint16_t host)
{
	const struct far_host *h = is_far(t);

	if (!h)
		return __real_transport_link(t, host);
	return host <= TRANSPORT_HOSTS_MAX ? h->link[host] : 0;
}

size_t __wrap_transport_post(struct transport *t, const struct transport_op *op, size_t n,
			     struct mono now, int *why)
{
	size_t len = n * (sizeof(*op) + TRANSPORT_MESSAGE_MAX), taken;
	struct far_host *h = is_far(t);
	struct far_answer a;
	uint8_t *with;

	write_tables();
	if (!h)
		return __real_transport_post(t, op, n, now, why);
	if (len > FAR_ROOM)
		broken("no room for %zu operations", n);
	with = room(1, len + 1);
	memcpy(with, op, n * sizeof(*op));
	for (size_t i = 0; i < n; i++)
		if (op[i].kind == TRANSPORT_SEND && op[i].data &&
		    op[i].len <= TRANSPORT_MESSAGE_MAX)
			memcpy(with + n * sizeof(*op) + i * TRANSPORT_MESSAGE_MAX, op[i].data,
			       op[i].len);
	taken = (size_t)host_call(h,
				  (struct far_call){ .what = FAR_POST,
						     .now = now,
						     .a = n,
						     .flag = why != NULL,
						     .len = (uint32_t)len },
				  with, &a);
	free(with);
	if (taken < n && why)
		*why = (int)a.b;
	return taken;
}

static bool is_woken(const struct far_host *h)
{
	char woken[64];
	bool is = false;

	while (recv(h->wake, woken, sizeof(woken), MSG_DONTWAIT) > 0)
		is = true;
	return is;
}

size_t __wrap_transport_poll(struct transport *t, struct mono now, struct transport_event *ev,
			     size_t max)
{
	struct far_host *h = is_far(t);
	struct far_answer a;
	const uint8_t *data;
	size_t n;

	write_tables();
	if (!h)
		return __real_transport_poll(t, now, ev, max);
	if (!is_woken(h) && h->asleep && mono_sub(h->due, now) > 0)
		return 0;
	n = (size_t)host_call(h, (struct far_call){ .what = FAR_POLL, .now = now, .a = max }, NULL,
			      &a);
	if (n > max || n * sizeof(*ev) > a.len)
		broken("poll gave %zu events on the other machine; %zu were asked for", n, max);
	memcpy(ev, far.in, n * sizeof(*ev));
	free(h->data);
	h->data = room(1, a.len + 1);
	memcpy(h->data, far.in, a.len);
	data = h->data + n * sizeof(*ev);
	for (size_t i = 0; i < n; i++) {
		if (!ev[i].data)
			continue;
		ev[i].data = data;
		data += ev[i].len;
	}
	return n;
}

int __wrap_transport_fd(struct transport *t)
{
	const struct far_host *h = is_far(t);

	return h ? h->wake : __real_transport_fd(t);
}

int __wrap_transport_arm(struct transport *t, struct mono now, struct mono *due)
{
	const struct far_host *h = is_far(t);

	if (!h)
		return __real_transport_arm(t, now, due);
	*due = h->due;
	return !h->asleep || h->due.ns <= now.ns;
}

void __wrap_transport_stats(const struct transport *t, struct transport_stats *s)
{
	struct far_host *h = is_far(t);

	if (!h) {
		__real_transport_stats(t, s);
		return;
	}
	host_call(h, (struct far_call){ .what = FAR_STATS }, NULL, NULL);
	memcpy(s, far.in, sizeof(*s));
}
