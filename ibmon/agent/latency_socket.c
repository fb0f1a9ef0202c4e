// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * latency_socket: datagrams from applications -> checked samples -> the book's latency
 * pages. See latency_socket.h.
 *
 * Any local process may send, so all that is received is bounded and checked.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ibmon/agent/latency_socket.h"
#include "ibmon/agent/proc.h"
#include "ibmon/agent/queue_entry.h"

struct latency_socket {
	int fd;
	struct sockaddr_un addr;
	struct book *book;
	int (*join)(void *ctx, pid_t pid);
	int (*queues)(void *ctx, pid_t pid, const void *buf, size_t len); /* NULL: none */
	void *ctx;
	const struct log *log;
	pid_t pid[GUEST_LATENCIES_MAX]; /* by index of page; 0: free */
	uint64_t bad;
	bool warned_full;
};

/*
 * The length must be exactly that of the number of samples: a datagram of another version
 * is refused whole.
 */
int latency_parse(const void *buf, size_t len, struct agent_latency out[AGENT_SOCKET_SAMPLES_MAX],
		  uint32_t *dropped)
{
	struct agent_latencies h;

	if (len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, buf, sizeof(h));
	if (h.magic != AGENT_SOCKET_MAGIC || h.version != AGENT_SOCKET_VERSION || h.samples == 0 ||
	    h.samples > AGENT_SOCKET_SAMPLES_MAX || len != sizeof(h) + h.samples * sizeof(out[0]))
		return -EBADMSG;
	memcpy(out, (const uint8_t *)buf + sizeof(h), h.samples * sizeof(out[0]));
	*dropped = h.dropped;
	return h.samples;
}

/*
 * Does no process listen on this address any more? A datagram socket refuses a connect when
 * nothing is bound to its path any more. Other errors prove nothing, and the socket is left
 * alone.
 */
static bool is_stale(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool stale;

	if (fd < 0)
		return false;
	stale = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) && errno == ECONNREFUSED;
	close(fd);
	return stale;
}

/* Bind, and replace the socket that an agent left behind when it was killed. */
static int bind_to(int fd, const struct sockaddr_un *addr)
{
	int rc = bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) ? -errno : 0;

	if (rc == -EADDRINUSE && is_stale(addr) && unlink(addr->sun_path) == 0)
		rc = bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) ? -errno : 0;
	if (rc)
		return rc;
	/* Applications of any user may report. */
	return chmod(addr->sun_path, 0666) ? -errno : 0;
}

int latency_open(struct latency_socket **out, const char *path, struct book *b,
		 int (*join)(void *ctx, pid_t pid), void *ctx, const struct log *log)
{
	struct latency_socket *s;
	int one = 1, rc;

	if (strlen(path) >= sizeof(s->addr.sun_path))
		return -ENAMETOOLONG;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->addr.sun_family = AF_UNIX;
	memcpy(s->addr.sun_path, path, strlen(path));
	s->book = b;
	s->join = join;
	s->ctx = ctx;
	s->log = log;
	s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = s->fd < 0 ? -errno : 0;
	if (rc == 0 && setsockopt(s->fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)))
		rc = -errno;
	if (rc == 0)
		rc = bind_to(s->fd, &s->addr);
	if (rc) {
		if (s->fd >= 0)
			close(s->fd);
		free(s);
		return rc;
	}
	*out = s;
	return 0;
}

/* The path goes first: a sender finds no agent instead of a socket that is never read. */
void latency_close(struct latency_socket *s)
{
	if (!s)
		return;
	unlink(s->addr.sun_path);
	close(s->fd);
	free(s);
}

void latency_queues(struct latency_socket *s,
		    int (*fn)(void *ctx, pid_t pid, const void *buf, size_t len))
{
	s->queues = fn;
}

int latency_fd(const struct latency_socket *s)
{
	return s->fd;
}

/* A page for a process. Its exit is watched first, so that it cannot be missed. */
static int add_page(struct latency_socket *s, pid_t pid)
{
	char comm[16];
	unsigned int i;
	int rc = s->join(s->ctx, pid);

	if (rc)
		return rc;
	proc_comm(pid, comm);
	book_begin(s->book);
	rc = book_latency_add(s->book, (uint32_t)pid, comm, &i);
	book_end(s->book);
	if (rc)
		return rc;
	s->pid[i] = pid;
	return (int)i;
}

/* Once, until a page becomes free: senders repeat it with each datagram. */
static void warn_once(struct latency_socket *s, pid_t pid, int rc)
{
	char comm[16];

	if (s->warned_full || rc == -ESRCH)
		return;
	proc_comm(pid, comm);
	log_msg(s->log, LOG_LVL_WARNING, "latencies of pid %d (%s) are not published: %s", (int)pid,
		comm, rc == -ENOSPC ? "all latency pages are in use" : strerror(-rc));
	s->warned_full = true;
}

/*
 * The process's page, a new one at its first datagram. Its index or -errno. Without a
 * free page the registry is left alone: otherwise each datagram of such a process
 * would make the host read the registry again.
 */
static int page_of(struct latency_socket *s, pid_t pid)
{
	bool room = false;
	int rc;

	for (int i = 0; i < GUEST_LATENCIES_MAX; i++) {
		if (s->pid[i] == pid)
			return i;
		room |= s->pid[i] == 0;
	}
	rc = room ? add_page(s, pid) : -ENOSPC;
	if (rc < 0)
		warn_once(s, pid, rc);
	return rc;
}

/* The kernel puts the credentials into each message. 0: none. */
static pid_t sender_pid(struct msghdr *msg)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	struct ucred cred;

	for (; c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&cred, CMSG_DATA(c), sizeof(cred));
		return cred.pid;
	}
	return 0;
}

static_assert((int)AGENT_SOCKET_SAMPLES_MAX <= (int)GUEST_LATENCY_SAMPLES,
	      "a datagram fits on a page");

static void store_datagram(struct latency_socket *s, pid_t pid, const void *buf, size_t len,
			   struct mono now)
{
	struct agent_latency sample[AGENT_SOCKET_SAMPLES_MAX];
	struct guest_latency_sample put[AGENT_SOCKET_SAMPLES_MAX];
	uint32_t dropped;
	int n = latency_parse(buf, len, sample, &dropped), page;

	page = n > 0 && pid > 0 ? page_of(s, pid) : -EBADMSG;
	if (page < 0) {
		s->bad++;
		return;
	}
	for (int i = 0; i < n; i++)
		put[i] = (struct guest_latency_sample){ .ctime_ns = sample[i].ctime_ns,
							.wtime_ns = sample[i].wtime_ns,
							.ptime_ns = sample[i].ptime_ns };
	book_latency_dropped(s->book, (unsigned int)page, dropped);
	book_latency_put(s->book, (unsigned int)page, put, (uint32_t)n, (uint64_t)now.ns);
}

static void take_datagram(struct latency_socket *s, pid_t pid, const void *buf, size_t len,
			  struct mono now)
{
	if (!s->queues || !queue_datagram_is(buf, len))
		store_datagram(s, pid, buf, len, now);
	else if (s->queues(s->ctx, pid, buf, len))
		s->bad++;
}

/* Bounded by max, so that a flood of datagrams cannot keep the loop from scans and heartbeats. */
int latency_read(struct latency_socket *s, int max, struct mono now)
{
	uint8_t buf[sizeof(struct agent_latencies) +
		    AGENT_SOCKET_SAMPLES_MAX * sizeof(struct agent_latency) + 1]; /* 1: too long */
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	int i;

	for (i = 0; i < max; i++) {
		struct iovec iov = { buf, sizeof(buf) };
		struct msghdr msg = { .msg_iov = &iov,
				      .msg_iovlen = 1,
				      .msg_control = &control,
				      .msg_controllen = sizeof(control) };
		ssize_t n = recvmsg(s->fd, &msg, MSG_CMSG_CLOEXEC);

		if (n < 0)
			break;
		take_datagram(s, sender_pid(&msg), buf, (size_t)n, now);
	}
	return i;
}

void latency_gone(struct latency_socket *s, pid_t pid)
{
	for (unsigned int i = 0; i < GUEST_LATENCIES_MAX; i++) {
		if (s->pid[i] != pid)
			continue;
		book_begin(s->book);
		book_latency_remove(s->book, i);
		book_end(s->book);
		s->pid[i] = 0;
		s->warned_full = false;
	}
}
