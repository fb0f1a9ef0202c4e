// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * far_serve: the other machine's end of far.c: makes the calls of the transport that a test sends.
 *
 * Each test has a connection, and each connection a process, so that no test finds anything that an
 * earlier one has left.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/transport/far.h"

struct served {
	struct transport *t; /* NULL: no host is here */
	uint32_t id;
	int fd;	  /* transport_fd */
	int wake; /* to the test */
	bool armed;
	struct mono due; /* as arm said */
};

struct session {
	int fd;	      /* calls */
	int listener; /* for the connections by which tests are woken */
	const struct traits *table;
	size_t traits;
	char address[2][TRANSPORT_ADDRESS_MAX];
	struct rig rig;
	struct procs procs;
	struct served host[RIG_HOSTS];
	struct far_answer answer;
	uint8_t in[FAR_ROOM], out[FAR_ROOM];
};

static void say_broken(void *arg, const char *text)
{
	struct session *s = arg;
	struct far_answer a = { .broken = 1, .len = (uint32_t)strlen(text) };

	if (far_write(s->fd, &a, sizeof(a)))
		far_write(s->fd, text, a.len);
	_exit(3);
}

static struct served *find(struct session *s, uint32_t id)
{
	for (size_t i = 0; i < RIG_HOSTS; i++)
		if (s->host[i].t && s->host[i].id == id)
			return &s->host[i];
	broken("there is no host with id %u", id);
}

/* --- begin, open --------------------------------------------------------------- */

static void begin_session(struct session *s)
{
	struct far_begin b;

	memcpy(&b, s->in, sizeof(b));
	if (b.build != far_build())
		broken("the test is of another build than this end");
	memcpy(s->address, b.address, sizeof(s->address));
	for (size_t i = 0; i < s->traits; i++)
		if (!strcmp(s->table[i].name, b.backend))
			rig_init(&s->rig, &s->table[i], s->address[0], s->address[1]);
	if (!s->rig.is)
		broken("there is no backend \"%s\"", b.backend);
	s->rig.port = b.port;
	procs_init(&s->procs, &s->rig);
	s->procs.n = PROCS;
	for (uint32_t i = 0; i < PROCS; i++) {
		s->procs.proc[i].index = i;
		s->procs.proc[i].o = &s->procs.arena->orders[i];
	}
}

/* The connection to wake this host's test, which it opened before it called. */
static int accept_wake(const struct session *s, uint32_t id)
{
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC), one = 1;
	uint32_t whose = 0;

	if (fd < 0 || !far_read(fd, &whose, sizeof(whose)) || whose != id)
		broken("the call to be woken is not host %u's", id);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void open_host(struct session *s, const struct far_call *c)
{
	struct far_open *o = (struct far_open *)s->in;
	struct served *h = NULL;

	for (size_t i = 0; i < RIG_HOSTS && !h; i++)
		h = s->host[i].t ? NULL : &s->host[i];
	if (!h)
		broken("there is room for %d hosts", RIG_HOSTS);
	o->conf.key = o->has_key ? o->key : NULL;
	o->conf.words = o->has_words ? (const uint64_t *)(o + 1) : NULL;
	*h = (struct served){ .id = c->id, .wake = accept_wake(s, c->id) };
	s->answer.len = 256;
	s->answer.rc = s->rig.backend->open(&h->t, &o->conf, c->now, (char *)s->out);
	if (s->answer.rc)
		close(h->wake);
	else
		h->fd = transport_fd(h->t);
}

static void close_host(struct served *h)
{
	transport_close(h->t);
	close(h->wake);
	h->t = NULL;
}

/* --- calls of a host -------------------------------------------------------------- */

static void post(struct session *s, const struct far_call *c, struct served *h)
{
	struct transport_op *op = (struct transport_op *)s->in;
	const uint8_t *message = s->in + c->a * sizeof(*op);
	int why = 0;

	for (size_t i = 0; i < c->a; i++)
		if (op[i].data)
			op[i].data = message + i * TRANSPORT_MESSAGE_MAX;
	s->answer.rc = (int64_t)transport_post(h->t, op, c->a, c->now, c->flag ? &why : NULL);
	s->answer.b = why;
}

static void arm(const struct far_call *c, struct served *h)
{
	if (transport_fd(h->t) != h->fd || !(fcntl(h->fd, F_GETFD) & FD_CLOEXEC))
		broken("fd is not what it was, or not closed on exec");
	h->due.ns = INT64_MAX;
	h->armed = !transport_arm(h->t, c->now, &h->due);
}

static void poll_host(struct session *s, const struct far_call *c, struct served *h)
{
	struct transport_event *ev = (struct transport_event *)s->out;
	size_t n = transport_poll(h->t, c->now, ev, c->a), len;

	len = n * sizeof(*ev);
	for (size_t i = 0; i < n; i++) {
		if (!ev[i].data)
			continue;
		if (ev[i].len > FAR_ROOM - len)
			broken("no room for the data of %zu events", n);
		memcpy(s->out + len, ev[i].data, ev[i].len);
		len += ev[i].len;
	}
	s->answer.rc = (int64_t)n;
	s->answer.len = (uint32_t)len;
}

static void host_call(struct session *s, const struct far_call *c)
{
	struct served *h = find(s, c->id);
	struct transport_peer peer;
	bool timeless = c->what == FAR_TABLE || c->what == FAR_STATS;

	if (c->what == FAR_CLOSE) {
		close_host(h);
		return;
	}
	if (c->what == FAR_TABLE) {
		memcpy(transport_table(h->t), s->in, c->len);
	} else if (c->what == FAR_ADD) {
		memcpy(&peer, s->in, sizeof(peer));
		s->answer.rc = transport_add(h->t, &peer, c->now);
	} else if (c->what == FAR_REMOVE) {
		s->answer.rc = transport_remove(h->t, (uint16_t)c->a, c->now);
	} else if (c->what == FAR_POST) {
		post(s, c, h);
	} else if (c->what == FAR_POLL) {
		poll_host(s, c, h);
	} else if (c->what == FAR_STATS) {
		transport_stats(h->t, (struct transport_stats *)s->out);
		s->answer.len = sizeof(struct transport_stats);
	}
	if (!timeless)
		arm(c, h);
	s->answer.asleep = h->armed;
	s->answer.due = h->due;
	for (uint16_t i = 1; i <= TRANSPORT_HOSTS_MAX; i++)
		s->answer.link[i] = transport_link(h->t, i);
}

/* --- calls of a process -------------------------------------------------------------- */

static void pull(struct session *s, const struct proc *p)
{
	struct far_pull got = { .plain = s->procs.arena->plain };
	int status = 0;

	s->answer.rc = p->pid && proc_ended(p, &status);
	s->answer.b = status;
	/* After proc_ended: so the reports of a process that has ended are complete. */
	memcpy(got.says, (const char *)p->o + ORDERS_SENT, sizeof(got.says));
	memcpy(s->out, &got, sizeof(got));
	s->answer.len = sizeof(got);
}

static void proc_call(struct session *s, const struct far_call *c)
{
	struct proc *p = c->id < PROCS ? &s->procs.proc[c->id] : NULL;

	if (!p || (!p->pid && c->what != FAR_SPAWN && c->what != FAR_PULL))
		broken("process %u does not run", c->id);
	if (c->what == FAR_SPAWN || c->what == FAR_NUDGE)
		memcpy(p->o, s->in, ORDERS_SENT);
	if (c->what == FAR_SPAWN) {
		proc_spawn(&s->procs, p);
		s->answer.rc = p->pid;
	} else if (c->what == FAR_NUDGE) {
		proc_nudge(p);
	} else if (c->what == FAR_PULL) {
		pull(s, p);
	} else if (c->what == FAR_REAP) {
		s->answer.rc = proc_reap(p);
	} else {
		proc_signal(p, c->what == FAR_KILL     ? SIGKILL
			       : c->what == FAR_FREEZE ? SIGSTOP
						       : SIGCONT);
	}
}

/* --- the loop ---------------------------------------------------------------------- */

static void answer(struct session *s, const struct far_call *c)
{
	memset(&s->answer, 0, sizeof(s->answer));
	if (c->what == FAR_BEGIN)
		begin_session(s);
	else if (c->what == FAR_OPEN)
		open_host(s, c);
	else if (c->what < FAR_SPAWN)
		host_call(s, c);
	else
		proc_call(s, c);
	if (!far_write(s->fd, &s->answer, sizeof(s->answer)) ||
	    !far_write(s->fd, s->out, s->answer.len))
		broken("the test is gone");
}

/* Until a call comes. Wakes the tests of armed hosts. */
static void wait_for_call(struct session *s)
{
	struct pollfd p[RIG_HOSTS + 1] = { { .fd = s->fd, .events = POLLIN } };

	for (;;) {
		for (size_t i = 0; i < RIG_HOSTS; i++) {
			bool armed = s->host[i].t && s->host[i].armed;

			p[i + 1] = (struct pollfd){ armed ? s->host[i].fd : -1, POLLIN, 0 };
		}
		if (poll(p, RIG_HOSTS + 1, -1) < 0 && errno != EINTR)
			broken("poll: %s", strerror(errno));
		if (p[0].revents)
			return;
		for (size_t i = 0; i < RIG_HOSTS; i++) {
			if (!p[i + 1].revents)
				continue;
			s->host[i].armed = false;
			if (!far_write(s->host[i].wake, "", 1))
				broken("the test is gone");
		}
	}
}

static int listen_at(struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	socklen_t len = sizeof(*at);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)at, sizeof(*at)) || listen(fd, 128) ||
	    getsockname(fd, (struct sockaddr *)at, &len)) {
		perror("contract: listen");
		exit(2);
	}
	return fd;
}

static void serve_one(struct session *s, struct sockaddr_in at)
{
	struct far_call c;

	at.sin_port = 0;
	s->listener = listen_at(&at);
	broken_calls(say_broken, s);
	if (!far_write(s->fd, &at.sin_port, sizeof(at.sin_port)))
		return;
	for (;;) {
		wait_for_call(s);
		if (!far_read(s->fd, &c, sizeof(c)))
			break;
		if (c.len > sizeof(s->in) || !far_read(s->fd, s->in, c.len))
			broken("a call of %u bytes", c.len);
		answer(s, &c);
	}
	for (size_t i = 0; i < RIG_HOSTS; i++)
		if (s->host[i].t)
			close_host(&s->host[i]);
	procs_fini(&s->procs);
}

int far_serve(const char *address, uint16_t port, const struct traits *table, size_t n)
{
	static struct session s;
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
	int listener, one = 1;

	if (inet_pton(AF_INET, address, &at.sin_addr) != 1) {
		fprintf(stderr, "contract: \"%s\" is no IPv4 address\n", address);
		return 2;
	}
	listener = listen_at(&at);
	printf("listening\n");
	fflush(stdout);
	signal(SIGCHLD, SIG_IGN); /* no wait for the end of a session */
	for (;;) {
		s.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (s.fd >= 0 && !fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			signal(SIGCHLD, SIG_DFL);
			setsockopt(s.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			s.table = table;
			s.traits = n;
			serve_one(&s, at);
			_exit(0);
		}
		close(s.fd);
	}
}
