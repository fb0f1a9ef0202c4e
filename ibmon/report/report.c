// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * report: see resex/report.h. The first step on the way of a latency to the host:
 *
 *	application -> the handle's buffer -> resex-agent -> latency page -> resexd
 *
 * A report reads the clock and makes three stores; one datagram carries up to 256
 * of them. The clock is the coarse one: reading it never needs a system call, while the
 * precise one needs one on some clock sources of Xen guests. It moves by a kernel tick,
 * 1 to 10 ms, so a shorter period lasts that long. All state is in the handle.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* secure_getenv */
#endif
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "resex/agent_socket.h"
#include "resex/report.h"

#define NS_PER_S   INT64_C(1000000000)
#define PERIOD_NS  INT64_C(1000000)   /* resexd looks each millisecond */
#define RETRY_NS   INT64_C(100000000) /* between two attempts to connect to an agent */
#define PERIOD_MAX (INT64_MAX / 2)

/* The datagram as it is sent: samples are stored in place. */
union datagram {
	struct agent_latencies head;
	uint8_t bytes[sizeof(struct agent_latencies) +
		      AGENT_SOCKET_SAMPLES_MAX * sizeof(struct agent_latency)];
};

struct resex_report {
	int64_t due_ns; /* a sample at or after this time is sent at once */
	int64_t period_ns;
	uint32_t waiting;
	int fd;
	uint64_t sent, dropped;
	uint32_t unreported; /* dropped samples that the agent does not know of yet */
	int64_t retry_ns;    /* do not connect before */
	pid_t pid;	     /* process that reported the waiting samples */
	int why;	     /* -errno of the last connect or send; 0: connected */
	int last;	     /* result of the last datagram: 0 or -errno */
	struct sockaddr_un addr;
	union datagram datagram;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/*
 * secure_getenv(): a program with more rights than its user must not send to a socket of
 * the user's choice.
 */
static int socket_address(struct sockaddr_un *addr, const char *path)
{
	if (!path)
		path = secure_getenv("RESEX_AGENT_SOCKET");
	if (!path || !*path)
		path = AGENT_SOCKET;
	if (strlen(path) >= sizeof(addr->sun_path))
		return -ENAMETOOLONG;
	addr->sun_family = AF_UNIX;
	memcpy(addr->sun_path, path, strlen(path));
	return 0;
}

/*
 * Connect to the agent, but not for every datagram: at most once in RETRY_NS. An
 * application may run without an agent for days: each attempt is a system call in its
 * request path.
 */
static int connect_agent(struct resex_report *r, int64_t now)
{
	if (now < r->retry_ns)
		return r->why;
	r->retry_ns = now + RETRY_NS;
	r->why = connect(r->fd, (const struct sockaddr *)&r->addr, sizeof(r->addr)) ? -errno : 0;
	return r->why;
}

int resex_report_open(struct resex_report **out, const char *path)
{
	struct resex_report *r = calloc(1, sizeof(*r));
	int rc, saved = errno;

	if (!r)
		return -ENOMEM;
	rc = socket_address(&r->addr, path);
	if (rc)
		goto out;
	r->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	rc = r->fd < 0 ? -errno : 0;
	if (rc)
		goto out;
	r->datagram.head.magic = AGENT_SOCKET_MAGIC;
	r->datagram.head.version = AGENT_SOCKET_VERSION;
	r->period_ns = PERIOD_NS;
	r->pid = getpid();
	r->why = -ENOTCONN;
	r->last = connect_agent(r, now_ns());
	*out = r;
	r = NULL;
out:
	free(r);
	errno = saved;
	return rc;
}

/*
 * Send all waiting samples in one datagram. 0 or -errno. It must never wait: an agent that
 * is slow costs samples, not the application's time.
 */
static int send_waiting(struct resex_report *r)
{
	size_t len = sizeof(r->datagram.head) + r->waiting * sizeof(struct agent_latency);

	r->datagram.head.samples = (uint16_t)r->waiting;
	r->datagram.head.dropped = r->unreported;
	return send(r->fd, &r->datagram, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Temporary errors: the agent may be listening all the same. */
static bool is_temporary(int rc)
{
	return rc == -EAGAIN || rc == -ENOBUFS || rc == -ENOMEM;
}

static int send_or_connect(struct resex_report *r, int64_t now)
{
	pid_t pid = getpid();
	int rc = r->why;

	if (pid != r->pid) { /* after fork(2): only the parent sends the samples of before */
		r->pid = pid;
		return -ECHILD;
	}
	if (rc == 0) {
		rc = send_waiting(r);
		if (rc == 0 || is_temporary(rc))
			return rc;
		r->why = rc;
	}
	rc = connect_agent(r, now);
	return rc ? rc : send_waiting(r);
}

static void flush_waiting(struct resex_report *r, int64_t now)
{
	int saved = errno;

	r->last = send_or_connect(r, now);
	if (r->last == 0) {
		r->sent += r->waiting;
		r->unreported = 0;
	} else {
		r->dropped += r->waiting;
		if (r->last == -ECHILD) /* the parent sends them: they are not lost */
			r->unreported = 0;
		else if (r->unreported < UINT32_MAX - r->waiting)
			r->unreported += r->waiting;
	}
	r->waiting = 0;
	r->due_ns = now + r->period_ns;
	errno = saved;
}

/* 4.29 s is the longest time that a sample holds; longer ones count as that. */
static uint32_t saturated(uint64_t ns)
{
	return ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

void resex_report(struct resex_report *r, uint64_t ctime_ns, uint64_t wtime_ns, uint64_t ptime_ns)
{
	int64_t now;

	if (!r)
		return;
	r->datagram.head.sample[r->waiting++] = (struct agent_latency){
		saturated(ctime_ns),
		saturated(wtime_ns),
		saturated(ptime_ns),
	};
	now = now_ns();
	if (r->waiting == AGENT_SOCKET_SAMPLES_MAX || now >= r->due_ns)
		flush_waiting(r, now);
}

/* All calls accept NULL: an application that could not open the handle runs on without it. */
int resex_report_flush(struct resex_report *r)
{
	if (!r)
		return 0;
	if (r->waiting)
		flush_waiting(r, now_ns());
	return r->last;
}

void resex_report_close(struct resex_report *r)
{
	if (!r)
		return;
	resex_report_flush(r);
	close(r->fd);
	free(r);
}

void resex_report_period(struct resex_report *r, uint64_t ns)
{
	int64_t latest;

	if (!r)
		return;
	r->period_ns = ns > PERIOD_MAX ? PERIOD_MAX : (int64_t)ns;
	latest = now_ns() + r->period_ns;
	if (r->due_ns > latest)
		r->due_ns = latest;
}

void resex_report_count(const struct resex_report *r, struct resex_report_counts *c)
{
	*c = (struct resex_report_counts){ 0 };
	if (!r)
		return;
	c->sent = r->sent;
	c->dropped = r->dropped;
	c->waiting = r->waiting;
}
