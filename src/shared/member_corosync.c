// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * member_corosync: the view is that of the quorum service of corosync on this machine.
 *
 * Corosync first reports a new ring (its members), and whether the ring is quorate after
 * the members have voted. Between the two, and without a connection to corosync, this host
 * decides nothing. A lost connection is tried again each second, in a thread of its own: a
 * corosync that hangs blocks neither heartbeats nor the results of READs. Only open waits for it.
 */
#include <corosync/corotypes.h>
#include <corosync/quorum.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/shared/member.h"

#define RETRY_NS NS_PER_S

enum {
	STACK_BYTES = 256 << 10,
	NODES_MAX = MEMBER_HOSTS_MAX, /* above corosync's own limit */
};

struct attempt;

struct member {
	struct member_conf conf;
	struct attempt *attempt; /* to connect; NULL: none */
	bool connected;
	quorum_handle_t handle;
	int fd;
	struct mono retry; /* not connected: the next attempt; in the past during one */
	struct mono began; /* the attempt */
	bool hangs;	   /* it lasts for longer than connect_ms */
	struct quorum_ring_id ring;
	uint32_t node[NODES_MAX]; /* of the ring, by nodeid */
	uint32_t nodes;
	struct member_view view, returned;
	bool any; /* returned is valid: a view was returned */
	char note[MEMBER_NOTE_MAX];
};

/* --- reports of corosync ------------------------------------------------------- */

static struct hostset hosts_of(const struct member_conf *c, const uint32_t *nodes, uint32_t n)
{
	struct hostset hosts = { { 0 } };

	/* Nodes of corosync that are not configured as hosts do not take part in the protocol. */
	for (uint32_t i = 0; i < n; i++)
		for (uint16_t h = hostset_next(&c->hosts, 0); h; h = hostset_next(&c->hosts, h))
			if (c->node[h - 1] == nodes[i])
				hostset_set(&hosts, h, true);
	return hosts;
}

static bool same_ring(struct quorum_ring_id a, struct quorum_ring_id b)
{
	return a.nodeid == b.nodeid && a.seq == b.seq;
}

static void set_ring(struct member *m, struct quorum_ring_id ring, const uint32_t *nodes,
		     uint32_t n)
{
	m->ring = ring;
	m->nodes = n < NODES_MAX ? n : NODES_MAX;
	for (uint32_t i = 0; i < m->nodes; i++)
		m->node[i] = nodes[i];
	m->view.view = ring.seq;
	m->view.members = hosts_of(&m->conf, m->node, m->nodes);
}

/*
 * A new ring, which has not voted yet. Until it has, this host is not quorate: the majority that
 * it had may be on the other side now.
 */
static void on_nodes(quorum_handle_t handle, struct quorum_ring_id ring, uint32_t n,
		     const uint32_t *nodes, uint32_t joined_n, const uint32_t *joined,
		     uint32_t left_n, const uint32_t *left)
{
	const void *ctx = NULL;
	struct member *m;

	(void)joined_n, (void)joined, (void)left_n, (void)left;
	if (quorum_context_get(handle, &ctx) != CS_OK)
		return;
	m = (struct member *)(uintptr_t)ctx;
	/*
	 * The order of the two callbacks is corosync's: a report of the ring that has voted already
	 * must not take its quorum away.
	 */
	if (same_ring(ring, m->ring))
		return;
	set_ring(m, ring, nodes, n);
	m->view.quorate = false;
}

static void on_quorum(quorum_handle_t handle, uint32_t quorate, struct quorum_ring_id ring,
		      uint32_t n, const uint32_t *nodes)
{
	const void *ctx = NULL;
	struct member *m;

	if (quorum_context_get(handle, &ctx) != CS_OK)
		return;
	m = (struct member *)(uintptr_t)ctx;
	set_ring(m, ring, nodes, n);
	/*
	 * A wrong nodeid of our own shows here: a host that is not in its own view must not decide.
	 */
	m->view.quorate = quorate && hostset_has(&m->view.members, m->conf.self) &&
			  ring.seq <= MEMBER_VIEW_MAX;
	m->note[0] = '\0';
	if (!quorate)
		snprintf(m->note, sizeof(m->note),
			 "corosync has no quorum with %u of the cluster's %u hosts, and this host "
			 "decides nothing; mend the network to the others, or start corosync there",
			 hostset_count(&m->view.members), hostset_count(&m->conf.hosts));
	else if (ring.seq > MEMBER_VIEW_MAX)
		snprintf(m->note, sizeof(m->note),
			 "corosync's ring %llu is above %d, and this host decides nothing; stop "
			 "corosync and resexd on all hosts, remove /var/lib/corosync/ringid_*, "
			 "start them",
			 (unsigned long long)ring.seq, MEMBER_VIEW_MAX);
	else if (!m->view.quorate)
		snprintf(m->note, sizeof(m->note),
			 "nodeid %u, this host's, is not in corosync's ring %llu, and this host "
			 "decides nothing; make it that of corosync.conf",
			 m->conf.node[m->conf.self - 1], (unsigned long long)ring.seq);
}

/* --- the connection ------------------------------------------------------------- */

static void disconnect(struct member *m, struct mono now)
{
	if (m->connected)
		quorum_finalize(m->handle);
	m->connected = false;
	m->fd = -1;
	m->view.quorate = false;
	/*
	 * Without corosync this host cannot learn that it was cut off. The old view stays for
	 * people to read, but it decides nothing.
	 */
	m->retry = mono_add(now, RETRY_NS);
}

static int connection_failed(struct member *m, struct mono now, const char *what, cs_error_t e)
{
	disconnect(m, now);
	if (e == CS_ERR_ACCESS || e == CS_ERR_SECURITY)
		snprintf(m->note, sizeof(m->note),
			 "corosync refuses this user (%s), and this host decides nothing; allow it "
			 "in /etc/corosync/uidgid.d",
			 what);
	else
		snprintf(m->note, sizeof(m->note),
			 "corosync does not answer (%s: error %d), and this host decides nothing; "
			 "start corosync",
			 what, (int)e);
	return -ENODEV;
}

static int provider_missing(struct member *m, struct mono now)
{
	disconnect(m, now);
	snprintf(m->note, sizeof(m->note),
		 "corosync runs without a quorum provider, and this host decides nothing; give "
		 "corosync.conf quorum { provider: corosync_votequorum }");
	return -ENODEV;
}

/*
 * An attempt to connect. The library blocks for ever while corosync hangs. So a thread calls
 * it, and passes the library's handle to the member when it is done. The thread and the
 * member do not wait for each other: the last of the two to leave frees the attempt.
 */
struct attempt {
	struct member *m; /* the argument of the callbacks; the thread does not use it */
	atomic_int owners;
	int done; /* readable when the thread is done. Then the member owns the rest: */
	quorum_handle_t handle;
	bool open;
	uint32_t type;
	int fd;
	cs_error_t error;
	const char *what; /* the step that failed */
};

static void attempt_leave(struct attempt *a)
{
	if (atomic_fetch_sub(&a->owners, 1) != 1)
		return;
	if (a->open)
		quorum_finalize(a->handle);
	if (a->done >= 0)
		close(a->done);
	free(a);
}

static void attempt_call(struct attempt *a)
{
	quorum_model_v1_data_t model = { .quorum_notify_fn = on_quorum,
					 .nodelist_notify_fn = on_nodes };

	a->what = "connect";
	a->error = quorum_model_initialize(&a->handle, QUORUM_MODEL_V1,
					   (quorum_model_data_t *)&model, &a->type, a->m);
	/* From here the handle must be finalized by its owner, on any path. */
	a->open = a->error == CS_OK;
	if (!a->open || a->type != QUORUM_SET)
		return;
	a->what = "descriptor";
	a->error = quorum_fd_get(a->handle, &a->fd);
	if (a->error != CS_OK)
		return;
	a->what = "track";
	a->error = quorum_trackstart(a->handle, CS_TRACK_CURRENT | CS_TRACK_CHANGES);
}

static void *attempt_run(void *arg)
{
	struct attempt *a = arg;

	attempt_call(a);
	eventfd_write(a->done, 1);
	attempt_leave(a);
	return NULL;
}

/*
 * Detached thread, small stack (the daemon locks its memory), all signals blocked: signals are for
 * the daemon's own threads.
 */
static int attempt_start(struct attempt *a)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	/* Blocked in this thread, which the new one inherits: it never runs with them open. */
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&thread, &attr, attempt_run, a);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -rc;
}

static struct attempt *attempt_begin(struct member *m)
{
	struct attempt *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->m = m;
	a->fd = -1;
	/*
	 * The thread and the member. If the thread cannot be started, nothing was shared, and a
	 * plain free is right.
	 */
	atomic_init(&a->owners, 2);
	a->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->done >= 0 && !attempt_start(a))
		return a;
	if (a->done >= 0)
		close(a->done);
	free(a);
	return NULL;
}

/* The attempt is done: use its result. */
static int attempt_result(struct member *m, struct mono now)
{
	struct attempt *a = m->attempt;
	cs_error_t error = a->error;
	const char *what = a->what;

	/*
	 * The thread has written to it, and needs it no more. It is closed here, not by the thread:
	 * who waits for it may not have removed it yet, and its number may soon be another file's.
	 */
	close(a->done);
	a->done = -1;
	m->attempt = NULL;
	m->handle = a->handle;
	m->connected = a->open;
	m->fd = a->fd;
	a->open = false;
	/* The first report of a connection counts as new, also when the ring is known already. */
	m->ring = (struct quorum_ring_id){ 0, 0 };
	m->note[0] = '\0';
	if (error != CS_OK)
		connection_failed(m, now, what, error);
	else if (a->type != QUORUM_SET)
		provider_missing(m, now);
	attempt_leave(a);
	return m->connected ? 0 : -ENODEV;
}

static int64_t connect_ns(const struct member *m)
{
	return m->conf.connect_ms * NS_PER_MS;
}

/* Go on connecting: done, not yet, or failed. Waits for at most wait_ms. */
static int continue_connecting(struct member *m, struct mono now, int wait_ms)
{
	struct pollfd p = { .events = POLLIN };

	if (!m->attempt) {
		m->attempt = attempt_begin(m);
		if (!m->attempt)
			return connection_failed(m, now, "thread", CS_ERR_NO_RESOURCES);
		m->began = now;
		m->hangs = false;
	}
	p.fd = m->attempt->done;
	if (wait_ms)
		poll(&p, 1, wait_ms);
	if (eventfd_read(m->attempt->done, &(eventfd_t){ 0 }) == 0)
		return attempt_result(m, now);
	/* A corosync that answers does so within connect_ms: until then the older note holds. */
	if (!wait_ms && mono_sub(now, m->began) < connect_ns(m))
		return -ENODEV;
	m->hangs = true;
	snprintf(m->note, sizeof(m->note),
		 "corosync hangs: it was called and does not answer, and this host decides "
		 "nothing; see its log, or start it again");
	return -ENODEV;
}

/* --- the backend ---------------------------------------------------------------- */

static bool conf_good(const struct member_conf *c)
{
	if (!hostset_has(&c->hosts, c->self) || c->connect_ms < 0)
		return false;
	for (uint16_t h = hostset_next(&c->hosts, 0); h; h = hostset_next(&c->hosts, h)) {
		if (c->node[h - 1] == 0)
			return false;
		for (uint16_t k = hostset_next(&c->hosts, 0); k < h; k = hostset_next(&c->hosts, k))
			if (c->node[k - 1] == c->node[h - 1])
				return false;
	}
	return true;
}

static int corosync_open(struct member **out, const struct member_conf *c, struct mono now)
{
	struct member *m;

	if (!conf_good(c))
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->conf = *c;
	m->fd = -1;
	*out = m;
	/* A daemon that starts beside a healthy corosync then has its view at once. */
	return continue_connecting(m, now, m->conf.connect_ms);
}

/* Self stays in the view if it was there: its nodeid is the same. */
static int corosync_set_hosts(struct member *m, const struct member_conf *c)
{
	if (!conf_good(c) || c->self != m->conf.self ||
	    c->node[c->self - 1] != m->conf.node[c->self - 1])
		return -EINVAL;
	m->conf.hosts = c->hosts;
	memcpy(m->conf.node, c->node, sizeof(m->conf.node));
	m->view.members = hosts_of(&m->conf, m->node, m->nodes);
	return 0;
}

static void corosync_close(struct member *m)
{
	if (m && m->connected)
		quorum_finalize(m->handle);
	/* A thread that still hangs in the library frees the attempt when it comes back. */
	if (m && m->attempt)
		attempt_leave(m->attempt);
	free(m);
}

static int corosync_update(struct member *m, struct mono now, struct member_view *v)
{
	bool changed;

	if (!m->connected && mono_sub(now, m->retry) >= 0)
		continue_connecting(m, now, 0);
	if (m->connected) {
		cs_error_t e = quorum_dispatch(m->handle, CS_DISPATCH_ALL);

		if (e != CS_OK && e != CS_ERR_TRY_AGAIN)
			connection_failed(m, now, "listen", e);
	}
	changed = !m->any || m->view.view != m->returned.view ||
		  !hostset_equal(&m->view.members, &m->returned.members) ||
		  m->view.quorate != m->returned.quorate;
	m->any = true;
	m->returned = m->view;
	*v = m->view;
	return changed;
}

static int corosync_fd(const struct member *m)
{
	return m->attempt ? m->attempt->done : m->fd;
}

static struct mono corosync_due(const struct member *m)
{
	static const struct mono never = { INT64_MAX };

	if (m->connected || (m->attempt && m->hangs))
		return never;
	return m->attempt ? mono_add(m->began, connect_ns(m)) : m->retry;
}

static const char *corosync_note(const struct member *m)
{
	return m->note;
}

const struct member_ops member_corosync = {
	.name = "corosync",
	.open = corosync_open,
	.close = corosync_close,
	.set_hosts = corosync_set_hosts,
	.update = corosync_update,
	.fd = corosync_fd,
	.due = corosync_due,
	.note = corosync_note,
};
