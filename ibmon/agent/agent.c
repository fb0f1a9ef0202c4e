// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agent: the event loop that connects watch, track, queue_tables, book, node, latency_socket,
 * load_page and wanted.
 * agent.h says how often it scans.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <event2/event.h>

#include "ibmon/agent/agent.h"
#include "ibmon/agent/book.h"
#include "ibmon/agent/latency_socket.h"
#include "ibmon/agent/load_page.h"
#include "ibmon/agent/proc.h"
#include "ibmon/agent/queue_tables.h"
#include "ibmon/agent/setup.h"
#include "ibmon/agent/track.h"
#include "ibmon/agent/wanted.h"
#include "ibmon/agent/watch.h"
#include "src/util/clock.h"
#include "src/util/notify.h"

enum {
	BEAT_MS = 500,	    /* between two heartbeats */
	IDLE_MS = 8,	    /* between two quick scans while nothing changes */
	FAST_MS = 500,	    /* scan every scan_ms for so long after an open or a change */
	OPENED_MS = 100,    /* look for new contexts for so long after an open */
	UNSEEN_MS = 100,    /* between two lists of queue pairs while rings change */
	TIDY_BEATS = 4,	    /* forget former users every so many heartbeats */
	LOOK_MS = 20,	    /* between two looks at some processes */
	LATENCY_MS = 1,	    /* poll for datagrams so often while they arrive densely: */
	DENSE_MS = 2,	    /* less than this apart */
	DATAGRAMS_MAX = 32, /* at each poll */
	TABLES_MS = 8,	    /* between two looks at tables of queues, */
	TABLES_SOON_MS = 2, /* after a datagram about one */
	TABLES_FOUND = 64,  /* processes that are searched for a table each second */
	EVENTS_MAX = 16,
};

/* Of events that are due at the same time. */
enum { FIRST, LATER, PRIORITIES };

/* A process whose exit we wait for, by its pidfd. */
struct exit_watch {
	struct exit_watch *next;
	struct agent *agent;
	struct event *ev;
	pid_t pid;
	int fd;
};

struct agent {
	const struct options *o;
	const struct log *log;
	struct clock clock;
	struct setup setup;
	struct book *book;
	struct track *track;
	struct queue_tables *tables;
	struct latency_socket *latency;
	struct load_page *load; /* NULL: none is published */
	struct wanted *wanted;	/* NULL: without Xen */
	struct watch watch;
	struct event_base *base;
	/* scheduled by hand */
	struct event *scan, *look, *second, *frames, *datagram, *datagram_again, *want;
	struct event *tables_look;
	struct event *event[EVENTS_MAX]; /* all */
	size_t events;
	struct exit_watch *exits;
	struct mono scan_at;	    /* when the next scan is scheduled, while it is pending */
	struct mono opened_until;   /* look for new contexts until then */
	struct mono fast_until;	    /* scan every scan_ms until then */
	struct mono datagram_at;    /* the last time that datagrams were found */
	struct mono tables_at;	    /* when tables of queues may be looked at again */
	uint32_t track_unpublished; /* of track */
	struct mono listed;	    /* the last time that queue pairs were listed to find gaps */
	uint64_t beats;
	bool compared; /* frames of queues, since the last heartbeat */
	int status;    /* exit status */
};

static struct mono now(struct agent *a)
{
	return a->clock.now(&a->clock);
}

/*
 * In ns nanoseconds from now; a time in the past means at once. libevent would count from the
 * time at which it began to handle events. event_add() of an event that is pending replaces its
 * time.
 */
static void schedule(struct agent *a, struct event *ev, int64_t ns)
{
	struct timeval tv = { 0 };

	if (ns > 0) {
		tv.tv_sec = ns / NS_PER_S;
		tv.tv_usec = ns % NS_PER_S / NS_PER_US;
	}
	event_base_update_cache_time(a->base);
	event_add(ev, &tv);
}

/*
 * Scan in ns nanoseconds, unless an earlier scan is scheduled. Many opens in a row ask for
 * a scan each. An earlier one serves them all, and a later request must not move it back.
 */
static void scan_in(struct agent *a, int64_t ns)
{
	struct mono at = mono_add(now(a), ns > 0 ? ns : 0);

	if (event_pending(a->scan, EV_TIMEOUT, NULL) && mono_sub(a->scan_at, at) <= 0)
		return;
	a->scan_at = at;
	schedule(a, a->scan, ns);
}

/*
 * Schedule the next scan after the one that began at t: soon while rings change, later while
 * nothing does. Without users nothing is scheduled: on_beat() looks for new processes each
 * second. On a slow machine, scans take at most half of the time.
 */
static void plan_next_scan(struct agent *a, struct mono t)
{
	int64_t took = mono_sub(now(a), t), rest = a->o->scan_ms * NS_PER_MS - took;

	if (mono_sub(a->fast_until, t) > 0)
		scan_in(a, took > rest ? took : rest);
	else if (track_users(a->track))
		scan_in(a, IDLE_MS * NS_PER_MS);
}

/* A look is short, and the heartbeat and datagrams go first between two. */
static void plan_next_look(struct agent *a)
{
	if (track_looks(a->track) && !event_pending(a->look, EV_TIMEOUT, NULL))
		schedule(a, a->look, LOOK_MS * NS_PER_MS);
}

/*
 * The kernel lists a context some time after the open that was noticed. So each scan of the
 * next OPENED_MS asks for contexts first.
 */
static void scan_now(struct agent *a, bool full)
{
	struct mono t = now(a);
	bool changed;

	if (mono_sub(a->opened_until, t) > 0)
		track_opened(a->track);
	changed = track_scan(a->track, t, full);
	if (changed)
		a->fast_until = mono_add(t, FAST_MS * NS_PER_MS);
	/* After the scan: what it published is not unseen. A list costs as much as a scan. */
	if (full || (changed && mono_sub(t, a->listed) >= UNSEEN_MS * NS_PER_MS)) {
		a->listed = t;
		book_unseen(a->book, track_unseen(a->track));
	}
	plan_next_scan(a, t);
	plan_next_look(a);
}

static void on_scan(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	scan_now((struct agent *)arg, false);
}

/* Some of the processes that were listed. */
static void on_look(evutil_socket_t fd, short what, void *arg)
{
	struct agent *a = (struct agent *)arg;

	(void)fd;
	(void)what;
	if (track_look(a->track, TRACK_LOOK_FILES)) {
		a->fast_until = mono_add(now(a), FAST_MS * NS_PER_MS);
		scan_in(a, 0);
	}
	plan_next_look(a);
}

/* A device was opened, or a node came or went: new rings may follow at any moment. */
static void on_watch(evutil_socket_t fd, short what, void *arg)
{
	struct agent *a = (struct agent *)arg;
	unsigned int means = watch_read(&a->watch);
	struct mono t = now(a);

	(void)fd;
	(void)what;
	/* uverbsN may be another device now. */
	if (means & WATCH_NODES)
		track_devices(a->track);
	if (!means)
		return;
	a->opened_until = mono_add(t, OPENED_MS * NS_PER_MS);
	a->fast_until = mono_add(t, FAST_MS * NS_PER_MS);
	scan_in(a, 0);
}

static void put_unpublished(struct agent *a)
{
	book_unpublished(a->book, a->track_unpublished + queue_tables_unpublished(a->tables));
}

static void tables_in(struct agent *a, int64_t ns)
{
	int64_t earliest = mono_sub(a->tables_at, now(a));

	schedule(a, a->tables_look, ns > earliest ? ns : earliest);
}

/* As with scans, looks take at most half of the time. */
static void tables_now(struct agent *a, bool full)
{
	struct mono t = now(a);
	int64_t took;

	if (queue_tables_look(a->tables, t, full))
		put_unpublished(a);
	a->compared |= full;
	took = mono_sub(now(a), t);
	a->tables_at = mono_add(
		now(a), took > TABLES_SOON_MS * NS_PER_MS ? took : TABLES_SOON_MS * NS_PER_MS);
	if (queue_tables_count(a->tables))
		tables_in(a, TABLES_MS * NS_PER_MS);
}

static void on_tables(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	tables_now((struct agent *)arg, false);
}

/* Tables of processes that were there before the agent; later ones send a datagram. */
static void find_tables(struct agent *a)
{
	bool left;

	queue_tables_find(a->tables, TABLES_FOUND, &left);
}

static void exit_free(struct exit_watch *e)
{
	event_free(e->ev);
	close(e->fd);
	free(e);
}

/* A pidfd becomes readable when its process exits. */
static void on_process_exit(evutil_socket_t fd, short what, void *arg)
{
	struct exit_watch *e = (struct exit_watch *)arg, **p;
	struct agent *a = e->agent;
	pid_t pid = e->pid;

	(void)fd;
	(void)what;
	for (p = &a->exits; *p != e; p = &(*p)->next)
		;
	*p = e->next;
	exit_free(e);
	queue_tables_gone(a->tables, pid);
	track_gone(a->track, pid, now(a));
	latency_gone(a->latency, pid);
}

/*
 * Called when a process starts to use RDMA or to send latencies: wait for its exit. A pidfd
 * cannot mean a later process with the same pid, and it needs no polling of /proc.
 */
static int watch_exit(void *ctx, pid_t pid)
{
	struct agent *a = (struct agent *)ctx;
	struct exit_watch *e;

	for (e = a->exits; e; e = e->next)
		if (e->pid == pid)
			return 0;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->agent = a;
	e->pid = pid;
	e->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (e->fd < 0) {
		int rc = -errno;

		free(e);
		return rc;
	}
	e->ev = event_new(a->base, e->fd, EV_READ, on_process_exit, e);
	if (!e->ev || event_add(e->ev, NULL)) {
		close(e->fd);
		free(e);
		return -ENOMEM;
	}
	e->next = a->exits;
	a->exits = e;
	return 0;
}

static void sink_begin(void *ctx)
{
	book_begin(((struct agent *)ctx)->book);
}

static void sink_end(void *ctx)
{
	book_end(((struct agent *)ctx)->book);
}

static int publish(void *ctx, const struct guest_ring *g, const uint64_t *frame, uint32_t *id)
{
	struct agent *a = (struct agent *)ctx;
	int rc = book_add(a->book, g, frame, id);

	if (rc == 0)
		log_msg(a->log, LOG_LVL_DEBUG,
			"ring %u: pid %u (%s), %s, %u entries of %u bytes, number %u", *id, g->pid,
			g->comm, g->kind == GUEST_RING_SQ ? "send" : "completion", g->entries,
			g->elem_size, g->number);
	return rc;
}

/*
 * The sink of track: rings go to the book, users to watch_exit(). The offset stays 0: rxe's
 * rings begin with their header at the start of a page.
 */
static int sink_publish(void *ctx, const struct track_ring *r, uint32_t *id)
{
	struct agent *a = (struct agent *)ctx;
	struct guest_ring g = { .kind = r->what.kind == CLASS_SQ ? GUEST_RING_SQ : GUEST_RING_CQ,
				.provider = GUEST_PROVIDER_RXE,
				.number = r->what.number,
				.pid = (uint32_t)r->owner,
				.elem_size = r->what.elem,
				.entries = r->what.slots,
				.frames = r->frames,
				.created = (uint64_t)r->found.ns };

	if (g.kind == GUEST_RING_SQ)
		queue_tables_rxe(a->tables, r->owner, g.number, &g.path_mtu, &g.qp_type);
	memcpy(g.comm, r->comm, sizeof(g.comm) - 1);
	return publish(a, &g, r->frame, id);
}

static void sink_withdraw(void *ctx, uint32_t id)
{
	struct agent *a = (struct agent *)ctx;

	book_remove(a->book, id);
	queue_tables_room(a->tables);
	log_msg(a->log, LOG_LVL_DEBUG, "ring %u: withdrawn", id);
}

static void sink_unpublished(void *ctx, uint32_t queue_pairs)
{
	struct agent *a = (struct agent *)ctx;

	a->track_unpublished = queue_pairs;
	put_unpublished(a);
}

static const struct track_sink sink = { sink_begin,    sink_end,	 sink_publish,
					sink_withdraw, sink_unpublished, watch_exit };
/* The scan comes later: none may run within a look at tables. */
static void sink_note(void *ctx, pid_t pid, uint32_t qpn)
{
	struct agent *a = (struct agent *)ctx;

	if (track_again(a->track, pid, qpn))
		scan_in(a, 0);
}

static void close_table(int fd)
{
	close(fd);
}

static const struct queue_reader queue_reader = {
	.open = proc_table_open,
	.read = proc_table_read,
	.close = close_table,
	.mapped = proc_table_mapped,
	.frames = proc_frames,
	.table = proc_table,
	.each = proc_each,
	.comm = proc_comm,
};
static const struct queue_sink queue_sink = { sink_begin,    sink_end,	publish,
					      sink_withdraw, sink_note, watch_exit };

static int on_queues(void *ctx, pid_t pid, const void *buf, size_t len)
{
	struct agent *a = (struct agent *)ctx;
	int rc = queue_tables_datagram(a->tables, pid, buf, len);

	if (!rc)
		tables_in(a, 0);
	return rc;
}

/*
 * While datagrams arrive densely, poll for them each millisecond, as often as the host
 * scans, instead of waking up for each: the wake-up is most of what a datagram costs
 * its sender. A process that floods the socket fills its own queue and waits; the
 * agent and the other senders do not.
 */
static void on_datagram(evutil_socket_t fd, short what, void *arg)
{
	struct agent *a = (struct agent *)arg;
	struct mono t = now(a);
	bool dense = mono_sub(t, a->datagram_at) < DENSE_MS * NS_PER_MS;

	(void)fd;
	(void)what;
	if (latency_read(a->latency, DATAGRAMS_MAX, t))
		a->datagram_at = t;
	if (dense) {
		event_del(a->datagram);
		schedule(a, a->datagram_again, LATENCY_MS * NS_PER_MS);
	} else
		event_add(a->datagram, NULL);
}

static int publish_node(struct agent *a)
{
	struct guest_ref ref = book_ref(a->book);
	char value[GUEST_ABI_NODE_MAX];
	int rc;

	node_value(&ref, value);
	rc = a->setup.node_ops->write(a->setup.node, value);
	if (rc) {
		log_msg(a->log, LOG_LVL_ERROR, "%s could not be written to %s: %s; %s",
			GUEST_ABI_NODE, a->setup.node_ops->name, strerror(-rc),
			a->o->file ? "check that FILE.node of --no-xen can be written"
				   : "make this guest's data/ writable");
		return RESEX_NO_XENSTORE;
	}
	return 0;
}

/* What the host wants goes on, or is answered. */
static void on_wanted(evutil_socket_t fd, short what, void *arg)
{
	struct agent *a = (struct agent *)arg;
	int64_t ns = wanted_work(a->wanted, now(a));

	(void)fd;
	(void)what;
	if (ns < INT64_MAX)
		schedule(a, a->want, ns);
}

static void look_wanted(struct agent *a)
{
	if (!a->wanted)
		return;
	wanted_look(a->wanted, now(a));
	schedule(a, a->want, 0);
}

/*
 * The node has another value: another program wrote it, or the guest was restored or
 * migrated, and its grants are gone. Only a new start sets everything up again.
 */
static void on_node(evutil_socket_t fd, short what, void *arg)
{
	struct agent *a = (struct agent *)arg;
	struct guest_ref ref = book_ref(a->book);
	char value[GUEST_ABI_NODE_MAX];

	(void)fd;
	(void)what;
	node_value(&ref, value);
	if (!a->setup.node_ops->lost(a->setup.node, value)) {
		look_wanted(a);
		return;
	}
	log_msg(a->log, LOG_LVL_ERROR,
		"%s has changed (was this guest restored or migrated?); start resex-agent again",
		GUEST_ABI_NODE);
	a->status = RESEX_FAILURE;
	event_base_loopbreak(a->base);
}

/* Every second: new processes and a full scan. */
static void on_second(evutil_socket_t fd, short what, void *arg)
{
	struct agent *a = (struct agent *)arg;

	(void)fd;
	(void)what;
	/* a busy guest may take longer than OPENED_MS from the open to its context */
	track_opened(a->track);
	track_list(a->track);
	track_look(a->track, TRACK_LOOK_FILES);
	find_tables(a);
	tables_now(a, true);
	if (track_users(a->track))
		scan_now(a, true);
	else
		book_unseen(a->book, track_unseen(a->track));
	if (a->beats % TIDY_BEATS == 0)
		track_tidy(a->track);
	plan_next_look(a);
}

/* After each second heartbeat on_second() does it. */
static void on_frames(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	tables_now((struct agent *)arg, true);
}

/*
 * Every BEAT_MS the heartbeat. What takes longer is left to on_second() and on_frames(), which
 * compare frames. An agent that gets little CPU may not come to them: it compares before the next
 * heartbeat then. So between two heartbeats it has looked, as ibmon/guest_back.c relies on.
 */
static void on_beat(evutil_socket_t fd, short what, void *arg)
{
	struct agent *a = (struct agent *)arg;
	int rc;

	(void)fd;
	(void)what;
	if (!a->compared)
		tables_now(a, true);
	a->compared = false;
	rc = book_beat(a->book);
	if (rc == 1) {
		log_msg(a->log, LOG_LVL_DEBUG, "the registry page has moved");
		publish_node(a);
	} else if (rc < 0)
		log_msg(a->log, LOG_LVL_WARNING,
			"the frame numbers of own pages cannot be read: %s", strerror(-rc));
	a->beats++;
	schedule(a, a->beats % 2 ? a->frames : a->second, 0);
	notify_systemd("WATCHDOG=1");
}

/* A timer of its own, of the lower priority: heartbeats and datagrams go first. */
static void on_load(evutil_socket_t fd, short what, void *arg)
{
	struct agent *a = (struct agent *)arg;

	(void)fd;
	(void)what;
	load_page_sample(a->load, now(a));
}

/* Only ends the loop: agent_run() withdraws the node after it. */
static void on_signal(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(((struct agent *)arg)->base);
}

/* A new event. It is active at once unless it is a timer (fd < 0). NULL: no memory. */
static struct event *add_event(struct agent *a, int fd, short what, event_callback_fn fn)
{
	struct event *ev = event_new(a->base, fd, what, fn, a);

	if (!ev)
		return NULL;
	a->event[a->events++] = ev;
	if (fd >= 0 && event_add(ev, NULL))
		return NULL;
	return ev;
}

/* Precise timers: libevent's default clock has the resolution of a tick, up to 10 ms. */
static struct event_base *base_open(void)
{
	struct event_config *c = event_config_new();
	struct event_base *base = NULL;

	if (c && event_config_set_flag(c, EVENT_BASE_FLAG_PRECISE_TIMER) == 0)
		base = event_base_new_with_config(c);
	if (c)
		event_config_free(c);
	if (base && event_base_priority_init(base, PRIORITIES)) {
		event_base_free(base);
		return NULL;
	}
	return base;
}

static int load_event_open(struct agent *a)
{
	struct event *ev = a->load ? add_event(a, -1, EV_PERSIST, on_load) : NULL;

	if (a->load && !ev)
		return -ENOMEM;
	if (ev)
		schedule(a, ev, a->o->load_ns);
	return 0;
}

/*
 * All events are in one list, so that agent_close() frees also those of a start that failed
 * halfway.
 */
static int events_open(struct agent *a)
{
	const short in = EV_READ | EV_PERSIST;
	int node_fd = a->setup.node_ops->fd(a->setup.node);
	struct event *beat;

	a->base = base_open();
	if (!a->base)
		return -ENOMEM;
	a->scan = add_event(a, -1, 0, on_scan);
	a->look = add_event(a, -1, 0, on_look);
	a->second = add_event(a, -1, 0, on_second);
	a->frames = add_event(a, -1, 0, on_frames);
	a->want = add_event(a, -1, 0, on_wanted);
	a->tables_look = add_event(a, -1, 0, on_tables);
	a->datagram = add_event(a, latency_fd(a->latency), in, on_datagram);
	a->datagram_again = add_event(a, -1, 0, on_datagram);
	beat = add_event(a, -1, EV_PERSIST, on_beat);
	if (!a->scan || !a->look || !a->second || !a->frames || !a->want || !a->tables_look ||
	    !a->datagram || !a->datagram_again || !beat)
		return -ENOMEM;
	event_priority_set(beat, FIRST);
	event_priority_set(a->datagram, FIRST);
	event_priority_set(a->datagram_again, FIRST);
	if (!add_event(a, a->watch.fd, in, on_watch) ||
	    !add_event(a, SIGTERM, EV_SIGNAL | EV_PERSIST, on_signal) ||
	    !add_event(a, SIGINT, EV_SIGNAL | EV_PERSIST, on_signal) ||
	    (node_fd >= 0 && !add_event(a, node_fd, in, on_node)))
		return -ENOMEM;
	schedule(a, beat, BEAT_MS * NS_PER_MS);
	return load_event_open(a);
}

/* All parts after setup, each with its own sentence when it fails. */
static int open_parts(struct agent *a)
{
	int rc = book_open(&a->book, a->setup.pages_ops, a->setup.pages, (uint32_t)getpid());

	if (rc)
		return setup_fail(a->log, "page for the registry", rc, SETUP_FREE_MEMORY);
	rc = track_open(&a->track, &sink, a, a->log);
	if (rc)
		return setup_fail(a->log, "memory", rc, SETUP_FREE_MEMORY);
	rc = queue_tables_open(&a->tables, &queue_sink, a, &queue_reader, a->log);
	if (rc)
		return setup_fail(a->log, "memory", rc, SETUP_FREE_MEMORY);
	rc = watch_open(&a->watch);
	if (rc)
		return setup_fail(a->log, "inotify", rc,
				  "raise fs.inotify.max_user_instances (sysctl)");
	/* It may exist. If it cannot be made, the socket's own error says so. */
	mkdir("/run/resex", 0755);
	rc = latency_open(&a->latency, a->o->socket, a->book, watch_exit, a, a->log);
	if (rc)
		return setup_fail(a->log, a->o->socket, rc,
				  "give --socket a short path in a folder that exists");
	latency_queues(a->latency, on_queues);
	if (a->o->load_ns) /* without it the agent is of use, too */
		(void)load_page_open(&a->load, a->book, "/proc", a->o->load_ns, &load_kmod, a->log);
	rc = a->setup.node_ops->want
		     ? wanted_open(&a->wanted, a->o->hook, a->setup.node_ops, a->setup.node, a->log)
		     : 0;
	if (!rc)
		rc = events_open(a);
	return rc ? setup_fail(a->log, "the event loop", rc, SETUP_FREE_MEMORY) : 0;
}

/* agent_close() closes what was opened, so each failure ends in the same place. */
int agent_open(struct agent **out, const struct options *o, const struct log *log)
{
	struct agent *a = calloc(1, sizeof(*a));
	int rc;

	if (!a)
		return setup_fail(log, "memory", -ENOMEM, SETUP_FREE_MEMORY);
	a->o = o;
	a->log = log;
	a->watch.fd = -1;
	clock_real(&a->clock);
	rc = setup_open(&a->setup, o, log);
	if (rc == 0)
		rc = open_parts(a);
	if (rc) {
		agent_close(a);
		return rc;
	}
	*out = a;
	return 0;
}

int agent_run(struct agent *a)
{
	int rc;

	/* the node last: it leads readers to pages that are complete */
	track_opened(a->track);
	track_list(a->track);
	track_look(a->track, TRACK_LOOK_FILES);
	queue_tables_list(a->tables);
	find_tables(a);
	tables_now(a, true);
	scan_now(a, true);
	rc = publish_node(a);
	if (rc)
		return rc;
	log_msg(a->log, LOG_LVL_INFO, "publishing through %s pages, %u rings so far",
		a->setup.pages_ops->name, book_rings(a->book));
	notify_systemd("READY=1\nSTATUS=publishing");
	event_base_dispatch(a->base);
	notify_systemd("STOPPING=1");
	/*
	 * Readers lose the node first, then the pages: dom0 must not be led to pages that
	 * are being given back.
	 */
	rc = a->setup.node_ops->remove(a->setup.node);
	if (rc && rc != -ENOENT)
		log_msg(a->log, LOG_LVL_WARNING, "%s could not be removed: %s", GUEST_ABI_NODE,
			strerror(-rc));
	return a->status;
}

void agent_close(struct agent *a)
{
	while (a->exits) {
		struct exit_watch *e = a->exits;

		a->exits = e->next;
		exit_free(e);
	}
	for (size_t i = 0; i < a->events; i++)
		event_free(a->event[i]);
	if (a->base)
		event_base_free(a->base);
	latency_close(a->latency);
	load_page_close(a->load);
	wanted_close(a->wanted);
	watch_close(&a->watch);
	track_close(a->track);
	queue_tables_close(a->tables);
	book_close(a->book);
	setup_close(&a->setup);
	free(a);
}
