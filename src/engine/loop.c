// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * loop: the control thread's loop. The sampler's events, watch events of the hypervisor,
 * one timer a second, signals, other hosts and the control socket all end in calls
 * of guests.h, cluster.h and server.h.
 *
 * A call that waited would delay the watchdog, signals and every client: what takes long is
 * asked again by a timer.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "src/engine/engine_priv.h"
#include "src/util/notify.h"

/*
 * Run ev once, in ns. Each piece of work returns when it wants to run again, and adding an event
 * that is pending moves it.
 */
static void add_after(struct event *ev, int64_t ns)
{
	struct timeval tv = { .tv_sec = ns / NS_PER_S, .tv_usec = ns % NS_PER_S / NS_PER_US };

	event_add(ev, &tv);
}

static void work_on_guests(struct engine *e)
{
	int64_t ns = guests_work(e->guests, engine_now(e), clock_wall_ns());

	add_after(e->ev_work, ns);
}

static void on_work(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	work_on_guests(arg);
}

static void on_cross(evutil_socket_t fd, short what, void *arg)
{
	struct engine *e = arg;
	int64_t ns = guests_cross(e->guests, engine_now(e), clock_wall_ns());

	(void)fd;
	(void)what;
	add_after(e->ev_cross, ns);
}

static void on_cluster(evutil_socket_t fd, short what, void *arg)
{
	struct engine *e = arg;
	int64_t ns = cluster_work(e->cluster, snap_latest(&e->ho), engine_now(e), clock_wall_ns());

	(void)fd;
	(void)what;
	add_after(e->ev_cluster_due, ns);
}

static void on_sampler(evutil_socket_t fd, short what, void *arg)
{
	uint64_t n;

	(void)what;
	/*
	 * Reading empties the eventfd; else the loop would turn without end. The events
	 * themselves are in the ring of handover.h.
	 */
	if (read(fd, &n, sizeof(n)) < 0 && errno != EAGAIN)
		return;
	work_on_guests(arg);
}

bool threads_lived(struct threads_alive *seen, struct threads_alive now, bool has_cluster)
{
	struct threads_alive then = *seen;

	*seen = now;
	return now.sampler != then.sampler && (!has_cluster || now.cluster != then.cluster);
}

/*
 * Only while the other threads live: a control thread that runs shows nothing about the thread that
 * charges and decides, nor about the one whose heartbeat other hosts wait for. systemd restarts
 * resexd after WatchdogSec, and its stop action restores all caps.
 */
static void feed_watchdog(struct engine *e)
{
	const struct threads_alive now = {
		.sampler = atomic_load_explicit(&e->ho.alive, memory_order_relaxed),
		.cluster = e->cluster ? cluster_alive(e->cluster) : 0,
	};

	if (threads_lived(&e->alive_seen, now, e->cluster != NULL) && e->watchdog_us)
		notify_systemd("WATCHDOG=1");
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
	struct engine *e = arg;

	(void)fd;
	(void)what;
	guests_second(e->guests, engine_now(e), clock_wall_ns());
	feed_watchdog(e);
	work_on_guests(e);
}

static void stop_loop(struct engine *e, int sig, const char *why)
{
	log_msg(e->c.log, LOG_LVL_INFO, "%s: restoring caps and stopping", why);
	notify_systemd("STOPPING=1");
	e->signalled = sig;
	event_base_loopbreak(e->base);
}

static void on_signal(evutil_socket_t sig, short what, void *arg)
{
	(void)what;
	stop_loop(arg, (int)sig,
		  sig == SIGTERM  ? "SIGTERM"
		  : sig == SIGINT ? "SIGINT"
				  : "SIGQUIT (a core is written afterwards)");
}

/* Their default would end resexd, and leave caps in force. */
static void on_other_signal(evutil_socket_t sig, short what, void *arg)
{
	struct engine *e = arg;

	(void)what;
	log_msg(e->c.log, LOG_LVL_INFO, "%s: ignored; SIGHUP reads the configuration again",
		sig == SIGUSR1 ? "SIGUSR1" : "SIGUSR2");
}

/* Has the process a controlling terminal? Its closing sends SIGHUP. */
static bool has_terminal(void)
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Reload. If a policy is being put in force, wait until the sampler uses it. */
static void on_reload(evutil_socket_t fd, short what, void *arg)
{
	/* An interval by default: the sampler takes a policy up at its next tick. */
	const struct timeval tv = { .tv_usec = 1000 };
	struct engine *e = arg;

	(void)fd;
	(void)what;
	/*
	 * Two policies cannot be put in force at once, and a reload may bring another one. After
	 * 10 s the reload is tried anyway, and says that it could not be done.
	 */
	if (guests_policy_wait(e->guests, &e->reload, NULL, engine_now(e)) == -EAGAIN &&
	    !event_base_once(e->base, -1, EV_TIMEOUT, on_reload, e, &tv))
		return;
	e->reload = (struct policy_ask){ 0 };
	reload_settings(e);
}

static void on_hangup(evutil_socket_t sig, short what, void *arg)
{
	struct engine *e = arg;

	(void)sig;
	(void)what;
	/*
	 * A user who closes the window has no way to stop this resexd: it would cap guests
	 * unseen.
	 */
	if (e->terminal && !has_terminal())
		stop_loop(e, SIGHUP, "SIGHUP (the terminal was closed)");
	else if (!e->c.file)
		stop_loop(e, SIGHUP, "SIGHUP");
	else
		on_reload(-1, 0, e);
}

static void on_guide(evutil_socket_t fd, short what, void *arg)
{
	struct engine *e = arg;
	const struct engine_guide *g = e->c.guide;
	int64_t ns = g->turn(g->arg, e->guests, engine_now(e));

	(void)fd;
	(void)what;
	if (ns < 0)
		event_base_loopbreak(e->base);
	else
		add_after(e->ev_guide, ns);
}

bool loop_minds_hangup(void)
{
	struct sigaction sa;

	/* nohup(1) leaves SIGHUP ignored; a handler of ours would undo that. */
	return !sigaction(SIGHUP, NULL, &sa) && sa.sa_handler != SIG_IGN;
}

void loop_add_signals(struct engine *e)
{
	event_add(e->ev_term, NULL);
	event_add(e->ev_int, NULL);
	event_add(e->ev_quit, NULL);
	event_add(e->ev_usr1, NULL);
	event_add(e->ev_usr2, NULL);
	e->terminal = has_terminal();
	if (loop_minds_hangup())
		event_add(e->ev_hup, NULL);
}

int loop_open(struct engine *e)
{
	const struct timeval second = { .tv_sec = 1 };
	/*
	 * Below 0 where the hypervisor has no events: then guests are found by the timer of a
	 * second.
	 */
	int wfd = e->c.hv->watch->fd(e->watch);

	e->base = event_base_new();
	if (!e->base)
		return -ENOMEM;
	e->ev_work = evtimer_new(e->base, on_work, e);
	e->ev_handover = event_new(e->base, e->ho.control_fd, EV_READ | EV_PERSIST, on_sampler, e);
	e->ev_second = event_new(e->base, -1, EV_PERSIST, on_second, e);
	e->ev_term = evsignal_new(e->base, SIGTERM, on_signal, e);
	e->ev_int = evsignal_new(e->base, SIGINT, on_signal, e);
	e->ev_hup = evsignal_new(e->base, SIGHUP, on_hangup, e);
	e->ev_quit = evsignal_new(e->base, SIGQUIT, on_signal, e);
	e->ev_usr1 = evsignal_new(e->base, SIGUSR1, on_other_signal, e);
	e->ev_usr2 = evsignal_new(e->base, SIGUSR2, on_other_signal, e);
	e->ev_guide = evtimer_new(e->base, on_guide, e);
	e->ev_cross = evtimer_new(e->base, on_cross, e);
	if (wfd >= 0)
		e->ev_watch = event_new(e->base, wfd, EV_READ | EV_PERSIST, on_work, e);
	if (!e->ev_work || !e->ev_handover || !e->ev_second || !e->ev_term || !e->ev_int ||
	    !e->ev_hup || !e->ev_quit || !e->ev_usr1 || !e->ev_usr2 || !e->ev_guide ||
	    !e->ev_cross || (wfd >= 0 && !e->ev_watch))
		return -ENOMEM;
	event_add(e->ev_handover, NULL);
	event_add(e->ev_second, &second);
	if (e->ev_watch)
		event_add(e->ev_watch, NULL);
	return 0;
}

int loop_add_cluster(struct engine *e)
{
	e->ev_cluster = event_new(e->base, cluster_fd(e->cluster), EV_READ | EV_PERSIST, on_cluster,
				  e);
	e->ev_cluster_due = evtimer_new(e->base, on_cluster, e);
	return e->ev_cluster && e->ev_cluster_due && !event_add(e->ev_cluster, NULL) ? 0 : -ENOMEM;
}

/* What a policy that needs reports does until one comes: no line of the log would say why. */
static void log_start(struct engine *e)
{
	const struct policy_ops *ops = guests_view(e->guests).policy->ops;

	log_msg(e->c.log, LOG_LVL_INFO, "running on %s%s, policy %s", e->c.hv->name,
		e->c.observe ? " (observing only)" : "", ops->name);
	if (ops->needs_reports)
		log_msg(e->c.log, LOG_LVL_INFO,
			"no guest has reported a latency yet, and policy %s caps nobody until one "
			"does: see resex_report(3), and resex doctor",
			ops->name);
}

int loop_run(struct engine *e)
{
	const struct timeval at_once = { 0 };

	/* Guests that run already cause no event: look for them once before anything else. */
	work_on_guests(e);
	event_add(e->ev_cross, &at_once);
	if (e->ev_cluster_due)
		event_add(e->ev_cluster_due, &at_once);
	e->watchdog_us = notify_watchdog_us();
	/* Signals, socket and threads are there: systemctl start may return. */
	notify_systemd("READY=1");
	log_start(e);
	if (e->c.guide)
		event_add(e->ev_guide, &at_once);
	return event_base_dispatch(e->base) < 0 ? -EIO : 0;
}

/* Events go before their base. NULL: loop_open() failed before it made this one. */
static void free_event(struct event **ev)
{
	if (*ev)
		event_free(*ev);
	*ev = NULL;
}

void loop_close(struct engine *e)
{
	free_event(&e->ev_work);
	free_event(&e->ev_handover);
	free_event(&e->ev_watch);
	free_event(&e->ev_second);
	free_event(&e->ev_term);
	free_event(&e->ev_int);
	free_event(&e->ev_hup);
	free_event(&e->ev_quit);
	free_event(&e->ev_usr1);
	free_event(&e->ev_usr2);
	free_event(&e->ev_guide);
	free_event(&e->ev_cross);
	free_event(&e->ev_cluster);
	free_event(&e->ev_cluster_due);
	if (e->base)
		event_base_free(e->base);
	e->base = NULL;
}
