// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tcp: the two-sided backend: the peer's process answers, in its poll.
 *
 * One-sided transports are measured against it, and it serves where there is no RDMA. One
 * epoll descriptor watches the listener, our links (call.c) and peers' links to us
 * (serve.c). progress handles the ready descriptors, a bounded part of each.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* accept4 */
#endif
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/transport/tcp/tcp.h"

enum {
	READY = 64,    /* descriptors handled in one progress */
	ACCEPTS = 16,  /* callers accepted in one progress */
	ROUNDS = 4,    /* steps of serving one peer in one progress */
	BACKLOG = 128, /* callers that wait in the kernel */
	PAGE = 4096,
};

/* After running out of descriptors, accept no caller for so long. */
#define REST_NS (100 * NS_PER_MS)

/* A peer's link to us and its socket. */
struct caller {
	struct tcp_conn conn;
	struct tcp_serve serve;
	struct caller *next;
	bool more; /* there is more to do, although its socket may not become ready */
};

struct tcp {
	struct transport t;
	int epoll;
	struct tcp_conn listener;
	bool rests; /* no caller is accepted until rest_over */
	struct mono rest_over;
	struct tcp_region region;
	struct tcp_call call[TRANSPORT_HOSTS_MAX]; /* by host - 1 */
	struct hostset unsent;			   /* their calls have bytes to send */
	struct caller *callers;
	struct caller *of[TRANSPORT_HOSTS_MAX]; /* the proven caller of each host */
	bool more;				/* any caller's more */
	struct mono hellos_due;			/* the next time limit of a hello, or earlier */
};

static struct tcp *tcp_of(struct transport *t)
{
	return (struct tcp *)t;
}

static struct tcp_call *call_of(struct transport *t, const struct transport_out *o)
{
	return &tcp_of(t)->call[o - t->out];
}

/* --- peers' links to us ---------------------------------------------------------- */

/* free_ended frees it later: callers of this function still have pointers to it. */
static void caller_end(struct tcp *c, struct caller *in)
{
	if (in->conn.fd < 0)
		return;
	tcp_conn_close(&in->conn);
	/* A newer link of the host may be there already: then the entry is not ours. */
	if (in->serve.host && c->of[in->serve.host - 1] == in)
		c->of[in->serve.host - 1] = NULL;
	tcp_serve_fini(&in->serve);
}

/* Free the callers that ended. */
static void free_ended(struct tcp *c)
{
	struct caller **at = &c->callers;

	while (*at) {
		struct caller *in = *at;

		if (in->conn.fd >= 0) {
			at = &in->next;
			continue;
		}
		*at = in->next;
		free(in);
	}
}

/* The old link of the host ends: requests on it that we have not read are never executed. */
static int caller_proven(struct tcp *c, struct caller *in)
{
	uint16_t host = in->serve.hello.peer;

	if (c->of[host - 1])
		caller_end(c, c->of[host - 1]);
	/* Only now the region's description is sent: the order is the same in all backends. */
	if (tcp_serve_welcome(&in->serve))
		return -ENOMEM;
	c->of[host - 1] = in;
	return 0;
}

static int caller_serve(struct tcp *c, struct caller *in, struct mono now)
{
	/* First make room: a step needs it for its answer. */
	int rc = tcp_conn_flush(&in->conn, &in->serve.out);

	in->more = false;
	for (int i = 0; !rc && i < ROUNDS; i++) {
		int next = tcp_serve_step(&in->serve, now);

		if (next == TCP_PROVEN)
			next = caller_proven(c, in) ? -ENOMEM : TCP_MORE;
		if (next < 0)
			return next;
		rc = tcp_conn_flush(&in->conn, &in->serve.out);
		/*
		 * A socket that is not readable makes no event, although complete requests may be
		 * in the buffer. Without room for an answer the socket's EPOLLOUT will come.
		 */
		in->more = next != TCP_IDLE && tcp_serve_room(&in->serve);
		if (!in->more || next == TCP_WAITS)
			break;
	}
	c->more |= in->more;
	return rc;
}

static void caller_ready(struct tcp *c, struct caller *in, uint32_t events, struct mono now)
{
	bool left = events & (EPOLLRDHUP | EPOLLERR | EPOLLHUP);
	/* Both as they are before tcp_conn_fill and caller_serve change them. */
	bool read = tcp_buf_left(&in->serve.in), answered = in->serve.hello.peer;
	int rc = tcp_conn_fill(&in->conn, &in->serve.in), served;

	/* It left before it was answered: it called while we did not run. */
	if (left && !rc && (!read || (!answered && !in->serve.host)))
		rc = -ECONNRESET;
	/* Handle what came before the end: a wrong proof, for example. */
	served = caller_serve(c, in, now);
	/* It saw our proof in the ANSWER and left: see tcp_serve_gone. */
	if (!served && rc && answered)
		tcp_serve_gone(&in->serve, now);
	if (!served && !rc)
		rc = tcp_conn_watch(&in->conn, &in->serve.in, &in->serve.out);
	if (served || rc)
		caller_end(c, in);
}

static int caller_new(struct tcp *c, int fd, struct mono now)
{
	struct caller *in = calloc(1, sizeof(*in));
	int rc;

	if (!in) {
		front_caller_over(&c->t);
		close(fd);
		return -ENOMEM;
	}
	in->conn = (struct tcp_conn){ .kind = TCP_SERVES, .fd = fd, .epoll = c->epoll };
	in->next = c->callers;
	c->callers = in;
	tcp_conn_options(fd);
	rc = tcp_serve_init(&in->serve, &c->t, &c->region, now);
	if (!rc)
		rc = tcp_conn_watch(&in->conn, &in->serve.in, &in->serve.out);
	if (rc)
		caller_end(c, in);
	else if (in->serve.due.ns < c->hellos_due.ns)
		c->hellos_due = in->serve.due;
	return rc;
}

/* No descriptors or no memory: callers wait in the kernel. */
static void listener_rest(struct tcp *c, int why, struct mono now)
{
	front_alarm(&c->t, 0, "callers cannot be accepted now: %s; raise the limit of open files",
		    strerror(why));
	/*
	 * Not watched: the callers in the backlog keep it readable, and each poll would fail again.
	 */
	epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->listener.fd, NULL);
	c->rests = true;
	c->rest_over = mono_add(now, REST_NS);
}

static int listener_watch(struct tcp *c)
{
	struct epoll_event ev = { .events = EPOLLIN, .data = { .ptr = &c->listener } };

	return epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->listener.fd, &ev) ? -errno : 0;
}

static void listener_ready(struct tcp *c, struct mono now)
{
	/* A bounded number: a flood of callers must not keep the links waiting. */
	for (int i = 0; i < ACCEPTS; i++) {
		struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
		socklen_t len = sizeof(from);
		int fd = accept4(c->listener.fd, (struct sockaddr *)&from, &len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			    errno == ENOMEM)
				listener_rest(c, errno, now);
			return;
		}
		if (front_caller(&c->t, front_known(&c->t, (struct sockaddr *)&from), now))
			close(fd);
		else
			caller_new(c, fd, now);
	}
}

static void end_late_hellos(struct tcp *c, struct mono now)
{
	/*
	 * Found anew at each pass: callers end in other ways, too, and leave hellos_due too early.
	 */
	struct mono due = { INT64_MAX };

	for (struct caller *in = c->callers; in; in = in->next) {
		if (in->conn.fd < 0 || in->serve.host)
			continue;
		if (in->serve.due.ns > now.ns) {
			if (in->serve.due.ns < due.ns)
				due = in->serve.due;
			continue;
		}
		tcp_serve_late(&in->serve, now);
		caller_end(c, in);
	}
	c->hellos_due = due;
}

/* --- for the front ------------------------------------------------------------ */

static int tcp_call(struct transport *t, struct transport_out *o, struct mono now)
{
	(void)now;
	return tcp_call_begin(call_of(t, o), t, o, tcp_of(t)->epoll);
}

static void tcp_hang_up(struct transport *t, struct transport_out *o)
{
	tcp_call_end(call_of(t, o));
}

static void tcp_evict(struct transport *t, uint16_t host)
{
	struct tcp *c = tcp_of(t);

	if (c->of[host - 1])
		caller_end(c, c->of[host - 1]);
}

static bool tcp_serves(const struct transport *t, uint16_t host)
{
	return ((const struct tcp *)t)->of[host - 1];
}

static int tcp_submit(struct transport *t, struct transport_out *o, struct transport_slot *s,
		      struct mono now)
{
	int rc = tcp_call_submit(call_of(t, o), s);

	(void)now;
	/* Sent at the next progress: operations posted together go out by one system call. */
	if (!rc)
		hostset_set(&tcp_of(t)->unsent, (uint32_t)(o - t->out) + 1, true);
	return rc;
}

/* Send what was posted since the last time, with one system call a link. */
static void send_unsent(struct tcp *c, struct mono now)
{
	for (uint16_t h = hostset_next(&c->unsent, 0); h; h = hostset_next(&c->unsent, h)) {
		hostset_set(&c->unsent, h, false);
		tcp_call_send(&c->call[h - 1], &c->t, &c->t.out[h - 1], now);
	}
}

static void continue_serving(struct tcp *c, struct mono now)
{
	c->more = false;
	for (struct caller *in = c->callers; in; in = in->next)
		if (in->more && in->conn.fd >= 0)
			caller_ready(c, in, 0, now);
}

static void descriptor_ready(struct tcp *c, const struct epoll_event *ev, struct mono now)
{
	struct tcp_conn *conn = ev->data.ptr;
	size_t i;

	/* Its memory is freed only at the end of this progress. */
	if (conn->fd < 0) /* ended meanwhile */
		return;
	switch (conn->kind) {
	case TCP_LISTENS:
		listener_ready(c, now);
		break;
	case TCP_CALLS:
		i = (size_t)((struct tcp_call *)conn - c->call);
		tcp_call_ready(&c->call[i], &c->t, &c->t.out[i], now);
		break;
	case TCP_SERVES:
		caller_ready(c, (struct caller *)conn, ev->events, now);
		break;
	}
}

static void tcp_progress(struct transport *t, struct mono now)
{
	struct epoll_event ev[READY];
	struct tcp *c = tcp_of(t);
	int n;

	/*
	 * Before epoll_wait: the answers of a peer in this machine may then come in the same poll.
	 */
	send_unsent(c, now);
	if (c->rests && c->rest_over.ns <= now.ns)
		c->rests = listener_watch(c) != 0;
	if (c->more)
		continue_serving(c, now);
	n = epoll_wait(c->epoll, ev, READY, 0);
	for (int i = 0; i < n; i++)
		descriptor_ready(c, &ev[i], now);
	if (c->hellos_due.ns <= now.ns)
		end_late_hellos(c, now);
	free_ended(c);
}

static int tcp_fd(struct transport *t)
{
	return tcp_of(t)->epoll;
}

static int tcp_arm(struct transport *t, struct mono now, struct mono *due)
{
	struct tcp *c = tcp_of(t);

	(void)now;
	if (c->hellos_due.ns < due->ns)
		*due = c->hellos_due;
	if (c->rests && c->rest_over.ns < due->ns)
		*due = c->rest_over;
	/* Work that no descriptor will announce. */
	return c->more || !hostset_empty(&c->unsent);
}

/* --- open and close ------------------------------------------------------------------ */

static void tcp_close(struct transport *t)
{
	struct tcp *c = tcp_of(t);

	for (size_t i = 0; i < TRANSPORT_HOSTS_MAX; i++)
		tcp_call_fini(&c->call[i]);
	for (struct caller *in = c->callers; in; in = in->next)
		caller_end(c, in);
	free_ended(c);
	tcp_conn_close(&c->listener);
	if (c->epoll >= 0)
		close(c->epoll);
	for (int i = 0; i < TRANSPORT_PARTS; i++) {
		if (!t->conf.fd[i])
			free(t->part[i]);
		else if (t->part[i])
			munmap(t->part[i], t->conf.bytes[i]);
	}
	free((void *)(uintptr_t)c->region.words);
	front_fini(t);
	free(c);
}

static const struct transport_ops tcp_ops = {
	.close = tcp_close,
	.check = front_address_check,
	.call = tcp_call,
	.hang_up = tcp_hang_up,
	.evict = tcp_evict,
	.serves = tcp_serves,
	.submit = tcp_submit,
	.progress = tcp_progress,
	.fd = tcp_fd,
	.arm = tcp_arm,
};

/* The parts that the owner gives are copied from their mappings at each answer. */
static int map_given_parts(struct tcp *c, const struct transport_conf *conf, char text[static 256])
{
	int rc = 0;

	for (int i = 0; !rc && i < TRANSPORT_PARTS; i++) {
		if (!conf->fd[i])
			continue;
		rc = front_map_part(conf, (enum transport_part)i, &c->t.part[i], text);
		c->region.part[i] = c->t.part[i];
	}
	return rc;
}

static int allocate_region(struct tcp *c, const struct transport_conf *conf)
{
	size_t words = conf->bytes[TRANSPORT_WORDS];

	for (int i = 0; i < TRANSPORT_PARTS; i++) {
		if (i == TRANSPORT_WORDS || !conf->bytes[i] || conf->fd[i])
			continue;
		c->t.part[i] = aligned_alloc(PAGE, conf->bytes[i]);
		if (!c->t.part[i])
			return -ENOMEM;
		memset(c->t.part[i], 0, conf->bytes[i]);
		c->region.part[i] = c->t.part[i];
	}
	c->region.words = aligned_alloc(PAGE, words);
	if (!c->region.words)
		return -ENOMEM;
	/* No peer can see the words yet: plain initialization is enough. */
	for (size_t i = 0; i < words / 8; i++)
		atomic_init(&c->region.words[i], conf->words ? conf->words[i] : 0);
	c->t.conf.words = NULL; /* the user may free it */
	c->region.part[TRANSPORT_WORDS] = (const void *)c->region.words;
	memcpy(c->region.bytes, conf->bytes, sizeof(c->region.bytes));
	return 0;
}

static int open_listener(struct tcp *c, const struct sockaddr_storage *a, socklen_t len)
{
	static const int on = 1;
	int fd = socket(a->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	c->listener = (struct tcp_conn){ .kind = TCP_LISTENS, .fd = fd, .epoll = -1 };
	if (fd < 0)
		return -errno;
	/* A restarted host must be able to listen although old connections are in TIME_WAIT. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (const struct sockaddr *)a, len) || listen(fd, BACKLOG))
		return -errno;
	c->listener.epoll = c->epoll;
	return listener_watch(c);
}

static void describe_listen_error(int rc, const struct transport_conf *conf, char text[static 256])
{
	const char *what = "";

	if (rc == -EADDRINUSE)
		what = "; does resexd run already? Give another port otherwise";
	else if (rc == -EADDRNOTAVAIL)
		what = "; give an address of this host";
	else if (rc == -EACCES)
		what = "; give a port over 1023";
	snprintf(text, 256, "tcp: cannot listen at %.100s port %u: %s%s", conf->address, conf->port,
		 strerror(-rc), what);
}

/* The errors of transport_backend.open. */
static int open_error(int rc)
{
	return rc == -EADDRNOTAVAIL || rc == -EAFNOSUPPORT ? -EINVAL : rc;
}

/* A host's address must be one to listen at; a client's, if it has one, one to call from. */
static int serve_at(struct tcp *c, const struct transport_conf *conf, char text[static 256])
{
	bool client = conf->role == TRANSPORT_CLIENT;
	struct sockaddr_storage a;
	socklen_t len;
	int rc = 0;

	if (!client || conf->address[0])
		rc = front_address(conf->address, client ? 1 : conf->port, &a, &len);
	if (rc) {
		snprintf(text, 256,
			 "tcp: cannot listen at '%.100s' port %u: give one IPv4 or IPv6 address "
			 "of this host, not all, and a port from 1",
			 conf->address, conf->port);
		return rc;
	}
	rc = map_given_parts(c, conf, text);
	if (rc)
		return rc;
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	rc = c->epoll < 0 ? -errno : 0;
	if (!rc && !client)
		rc = allocate_region(c, conf);
	if (!rc && !client)
		rc = open_listener(c, &a, len);
	if (rc)
		describe_listen_error(rc, conf, text);
	return rc;
}

static int tcp_open(struct transport **t, const struct transport_conf *conf, struct mono now,
		    char text[static 256])
{
	struct tcp *c = calloc(1, sizeof(*c));
	int rc;

	if (!c) {
		snprintf(text, 256, "tcp: there is no memory for the transport");
		return -ENOMEM;
	}
	rc = front_init(&c->t, &tcp_ops, conf, now, text);
	if (rc) {
		free(c);
		return rc;
	}
	c->epoll = c->listener.fd = -1;
	c->hellos_due.ns = INT64_MAX;
	rc = serve_at(c, conf, text);
	if (rc)
		tcp_close(&c->t);
	else
		*t = &c->t;
	return open_error(rc);
}

const struct transport_backend transport_tcp = {
	.name = "tcp", .has_ports = true, .check = front_address_check, .open = tcp_open
};
