// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * net: what all roles share: the connection manager, devices, signals, memory, the end of
 * a run. One process, one thread; librdmacm and signals are polled by descriptor. See
 * net.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "src/benchex/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { LOOK_NS = 2000000 }; /* between two checks of descriptors while polling */

int64_t bx_now(struct bx_net *n)
{
	return n->clock.now(&n->clock).ns;
}

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * NS_PER_US;
}

/*
 * Of the whole process, with the time in the kernel: soft-RoCE sends in the caller's system
 * call.
 */
uint64_t bx_cpu_ns(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return timeval_ns(r.ru_utime) + timeval_ns(r.ru_stime);
}

/* The parts become one write(): main() made stderr line-buffered. */
void bx_say(const char *fmt, ...)
{
	va_list args;

	fputs("benchex: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

void *bx_zeroed(size_t n, size_t size)
{
	void *at = calloc(n, size);

	if (!at)
		bx_say("there is no memory for %zu times %zu bytes: end other programs", n, size);
	return at;
}

static int say_no_cm(int err)
{
	if (err == EACCES || err == EPERM) {
		bx_say("no permission to open /dev/infiniband/rdma_cm: run as root, or give "
		       "access to "
		       "it");
		return -EACCES;
	}
	bx_say("no RDMA connection manager (%s): load the module rdma_ucm, and a driver of an "
	       "RDMA device",
	       strerror(err));
	return -err;
}

/* Signals arrive by a descriptor: a run that is interrupted still prints its result. */
static int catch_signals(struct bx_net *n)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	n->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return n->signals < 0 ? -errno : 0;
}

int bx_net_open(struct bx_net *n, const struct bx_conf *conf)
{
	int ret;

	memset(n, 0, sizeof(*n));
	n->conf = conf;
	n->end = n->next_report = INT64_MAX;
	clock_real(&n->clock);
	n->signals = -1;
	n->cm = rdma_create_event_channel();
	if (!n->cm)
		return say_no_cm(errno);
	ret = catch_signals(n);
	if (!ret && fcntl(n->cm->fd, F_SETFL, O_NONBLOCK) < 0)
		ret = -errno;
	if (ret) {
		bx_say("signals cannot be waited for (%s): raise the limit of open files (ulimit "
		       "-n)",
		       strerror(-ret));
		bx_net_close(n);
	}
	return ret;
}

/* In this order: verbs refuses to free what others still use. */
static void dev_close(struct bx_dev *d)
{
	for (int i = 0; i < BX_CQS_MAX; i++)
		if (d->cq[i])
			ibv_destroy_cq(d->cq[i]);
	if (d->comp)
		ibv_destroy_comp_channel(d->comp);
	if (d->pd)
		ibv_dealloc_pd(d->pd);
}

void bx_net_close(struct bx_net *n)
{
	for (size_t i = 0; i < n->devs; i++)
		dev_close(&n->dev[i]);
	n->devs = 0;
	if (n->signals >= 0)
		close(n->signals);
	if (n->cm)
		rdma_destroy_event_channel(n->cm);
	n->signals = -1;
	n->cm = NULL;
}

void bx_net_begin(struct bx_net *n)
{
	n->began = bx_now(n);
	n->cpu_began = bx_cpu_ns();
	n->end = n->conf->seconds ? n->began + (int64_t)n->conf->seconds * NS_PER_S : INT64_MAX;
	n->next_report = n->conf->progress_ns ? n->began + (int64_t)n->conf->progress_ns
					      : INT64_MAX;
}

/*
 * A completion channel is needed only to sleep. On failure the caller calls dev_close(),
 * which frees what was opened.
 */
static int dev_open(struct bx_dev *d, struct ibv_context *verbs, bool events)
{
	memset(d, 0, sizeof(*d));
	d->verbs = verbs;
	if (ibv_query_device(verbs, &d->attr))
		return -errno;
	d->pd = ibv_alloc_pd(verbs);
	if (!d->pd)
		return -errno;
	if (!events)
		return 0;
	d->comp = ibv_create_comp_channel(verbs);
	if (!d->comp || fcntl(d->comp->fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

/* librdmacm opens each device once for all connections: its context identifies the device. */
struct bx_dev *bx_net_dev(struct bx_net *n, struct ibv_context *verbs)
{
	struct bx_dev *d = n->dev;
	int ret;

	for (; d < n->dev + n->devs; d++)
		if (d->verbs == verbs)
			return d;
	if (n->devs == BX_DEVS_MAX) {
		bx_say("more than %d RDMA devices are used: name an address with --bind",
		       BX_DEVS_MAX);
		return NULL;
	}
	ret = dev_open(d, verbs, n->conf->events);
	if (ret) {
		bx_say("RDMA device %s cannot be used (%s): name an address of another one with "
		       "--bind",
		       ibv_get_device_name(verbs->device), strerror(-ret));
		dev_close(d);
		return NULL;
	}
	n->devs++;
	return d;
}

/*
 * A completion queue that overruns breaks all queue pairs that use it. So each connection
 * reserves as many entries as it may have work requests under way, or is refused.
 */
int bx_dev_reserve(struct bx_dev *d, int which, uint32_t entries)
{
	uint32_t want = d->reserved[which] + entries, size = 64;
	struct ibv_cq **cq = &d->cq[which];

	if (want > (uint32_t)d->attr.max_cqe)
		return -ENOSPC;
	/* Double the size: each resize copies the whole queue. */
	while (size < want)
		size *= 2;
	if (size > (uint32_t)d->attr.max_cqe)
		size = (uint32_t)d->attr.max_cqe;
	if (!*cq) {
		*cq = ibv_create_cq(d->verbs, (int)size, NULL, d->comp, 0);
		if (!*cq)
			return -errno;
		d->armed = false;
	} else if ((uint32_t)(*cq)->cqe < want) {
		int ret = ibv_resize_cq(*cq, (int)size);

		if (ret)
			return ret < 0 ? ret : -ret;
		d->armed = false;
	}
	d->reserved[which] = want;
	return 0;
}

/* Without reservations: bulk itself posts no more than it has entries. */
int bx_dev_cq(struct bx_dev *d, int which, uint32_t entries)
{
	if (entries > (uint32_t)d->attr.max_cqe)
		return -ENOSPC;
	d->cq[which] = ibv_create_cq(d->verbs, (int)entries, NULL, d->comp, 0);
	d->armed = false;
	return d->cq[which] ? 0 : -errno;
}

void bx_dev_release(struct bx_dev *d, int which, uint32_t entries)
{
	d->reserved[which] -= entries;
}

/*
 * Request an event of each queue. False: all were requested already. An event comes only
 * for completions after the request (ibv_req_notify_cq(3)). So the caller polls once more
 * after this, and sleeps only then.
 */
static bool request_events(struct bx_net *n)
{
	bool any = false;

	for (struct bx_dev *d = n->dev; d < n->dev + n->devs; d++) {
		if (d->armed)
			continue;
		for (int i = 0; i < BX_CQS_MAX; i++)
			if (d->cq[i])
				ibv_req_notify_cq(d->cq[i], 0);
		d->armed = any = true;
	}
	return any;
}

/* Each event must be acknowledged: ibv_destroy_cq() waits for that. */
static void read_completion_events(struct bx_dev *d)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(d->comp, &cq, &context)) {
		ibv_ack_cq_events(cq, 1);
		d->armed = false;
	}
}

/* Wait up to ns (< 0: without limit) for a signal, an event of librdmacm, or completions. */
static void poll_descriptors(struct bx_net *n, int64_t ns)
{
	struct timespec t = { ns / NS_PER_S, ns % NS_PER_S };
	struct pollfd fds[2 + BX_DEVS_MAX] = {
		/* The signal is never read; once seen, its descriptor is left out. */
		{ .fd = n->signalled ? -1 : n->signals, .events = POLLIN },
		{ .fd = n->cm->fd, .events = POLLIN },
	};
	nfds_t count = 2;

	for (size_t i = 0; i < n->devs; i++)
		if (n->dev[i].comp)
			fds[count++] = (struct pollfd){ .fd = n->dev[i].comp->fd,
							.events = POLLIN };
	if (ppoll(fds, count, ns < 0 ? NULL : &t, NULL) <= 0)
		return;
	if (fds[0].revents)
		n->signalled = true;
	if (fds[1].revents)
		n->cm_ready = true;
	count = 2;
	for (size_t i = 0; i < n->devs; i++)
		if (n->dev[i].comp && fds[count++].revents)
			read_completion_events(&n->dev[i]);
}

/*
 * A loop that polls completions millions of times a second must not make a system call each
 * time.
 */
void bx_net_look(struct bx_net *n, int64_t now)
{
	if (now < n->next_look)
		return;
	n->next_look = now + LOOK_NS;
	poll_descriptors(n, 0);
}

void bx_net_idle(struct bx_net *n, int64_t until)
{
	int64_t now = bx_now(n);

	if (!n->conf->events) {
		bx_net_look(n, now);
		return;
	}
	if (request_events(n))
		return; /* completions before this made no event: poll once more */
	if (!n->ended && n->end < until)
		until = n->end;
	if (n->ended && n->drain_until < until)
		until = n->drain_until;
	if (n->next_report < until)
		until = n->next_report;
	if (until == INT64_MAX)
		poll_descriptors(n, -1);
	else
		poll_descriptors(n, until > now ? until - now : 0);
}

/*
 * The first reason counts: later ones usually follow from it. Work under way has
 * BX_DRAIN_NS to complete, so that counts of both sides agree.
 */
void bx_net_stop(struct bx_net *n, const char *why)
{
	if (n->ended)
		return;
	n->ended = why;
	n->drain_until = bx_now(n) + BX_DRAIN_NS;
}

bool bx_net_over(struct bx_net *n, int64_t now)
{
	if (n->signalled)
		bx_net_stop(n, "signal");
	if (now >= n->end)
		bx_net_stop(n, "time");
	return n->ended && now >= n->drain_until;
}

/* The exit code: a run that a peer or an error ended is a failure, also when it has a result. */
bool bx_net_well(const struct bx_net *n)
{
	return n->ended && strcmp(n->ended, "peer") != 0 && strcmp(n->ended, "error") != 0;
}

void bx_net_result(struct bx_net *n, struct bx_result *r)
{
	r->conf = n->conf;
	r->ended = n->ended;
	r->elapsed_ns = n->last > n->first ? (uint64_t)(n->last - n->first) : 0;
	r->cpu_ns = bx_cpu_ns() - n->cpu_began;
}

/* Intervals missed while the process was stopped are left out. */
void bx_net_progress(struct bx_net *n, int64_t now, uint64_t requests, uint64_t bytes)
{
	double seconds = (double)(now - n->began) / 1e9;

	if (now < n->next_report)
		return;
	while (n->next_report <= now)
		n->next_report += (int64_t)n->conf->progress_ns;
	bx_say("%.1f s: %" PRIu64 " requests, %.3f MB, %.3f MB/s so far", seconds, requests,
	       (double)bytes / 1e6, (double)bytes / 1e6 / seconds);
}

struct rdma_cm_event *bx_net_event(struct bx_net *n)
{
	struct rdma_cm_event *e;

	n->cm_ready = false;
	return rdma_get_cm_event(n->cm, &e) ? NULL : e;
}

/* The queue pair would show it too, but only with the next post and after all retries. */
bool bx_net_peer_left(struct bx_net *n)
{
	struct rdma_cm_event *e;
	bool left = false;

	while (n->cm_ready && (e = bx_net_event(n))) {
		/* REJECTED: the server dropped it before the connection was complete. */
		left = left || e->event == RDMA_CM_EVENT_DISCONNECTED ||
		       e->event == RDMA_CM_EVENT_REJECTED ||
		       e->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
		rdma_ack_cm_event(e);
		n->cm_ready = true;
	}
	return left;
}

/* A signal ends the wait: a client that waits for its server must be easy to stop. */
struct rdma_cm_event *bx_net_await(struct bx_net *n, int64_t until, int *err)
{
	for (;;) {
		struct rdma_cm_event *e = bx_net_event(n);
		int64_t left = until - bx_now(n);

		if (e)
			return e;
		*err = n->signalled ? -EINTR : -ETIMEDOUT;
		if (n->signalled || left <= 0)
			return NULL;
		poll_descriptors(n, left);
	}
}

/*
 * Only the first address of a name is used: a benchmark must not choose another path when
 * one does not answer.
 */
int bx_address(const char *name, uint16_t port, bool passive, struct sockaddr_storage *out)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = passive ? AI_PASSIVE : 0 };
	struct addrinfo *list;
	char service[8];
	int ret;

	snprintf(service, sizeof(service), "%u", port);
	hints.ai_flags |= AI_NUMERICSERV;
	/* Without a name: any IPv4 address, which every RoCE device has. */
	hints.ai_family = name ? AF_UNSPEC : AF_INET;
	ret = getaddrinfo(name, service, &hints, &list);
	if (ret) {
		bx_say("the address of \"%s\" was not found (%s): give an address or a known name",
		       name ? name : "*", gai_strerror(ret));
		return -EHOSTUNREACH;
	}
	memset(out, 0, sizeof(*out));
	memcpy(out, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return 0;
}

void bx_peer_name(struct rdma_cm_id *id, char out[static 64])
{
	const struct sockaddr *a = rdma_get_peer_addr(id);
	char text[INET6_ADDRSTRLEN] = "?";

	if (a->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)a)->sin6_addr, text,
			  sizeof(text));
	else if (a->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)a)->sin_addr, text, sizeof(text));
	snprintf(out, 64, "%s", text);
}

/* mmap, not malloc: registered pages are shared with nothing else. */
int bx_memory_get(struct bx_memory *m, struct ibv_pd *pd, size_t len, unsigned int access)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;
	int ret;

	if (at == MAP_FAILED) {
		ret = -errno;
		bx_say("%zu bytes of memory are not available: choose smaller sizes or depths",
		       len);
		return ret;
	}
	mr = ibv_reg_mr(pd, at, len, access);
	if (!mr) {
		ret = -errno;
		bx_say("%zu bytes of memory cannot be registered (%s): raise the limit of locked "
		       "memory (ulimit -l), or choose smaller sizes or depths",
		       len, strerror(-ret));
		munmap(at, len);
		return ret;
	}
	*m = (struct bx_memory){ at, len, mr };
	return 0;
}

void bx_memory_put(struct bx_memory *m)
{
	if (m->mr)
		ibv_dereg_mr(m->mr);
	if (m->at)
		munmap(m->at, m->len);
	memset(m, 0, sizeof(*m));
}
