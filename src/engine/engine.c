// SPDX-License-Identifier: GPL-2.0-or-later
/* engine: one of everything, three threads, one loop. See engine.h. */
#include "src/engine/engine.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/conf/policy.h"
#include "src/tick/actor.h"
#include "src/cluster/cluster.h"
#include "src/control/server.h"
#include "src/guests/guests.h"
#include "src/tick/sampler.h"
#include "src/util/notify.h"

struct engine {
	struct engine_conf c;
	struct shared sh;
	struct guests *guests;
	struct hv_mem *mem;
	struct hv_sched *sched;
	struct hv_watch *watch;
	struct cluster *cluster; /* NULL: this host is alone */
	struct sampler s;
	struct actor a;
	struct clock clock;
	struct control *control;
	struct event_base *base;
	struct event *ev_work, *ev_shared, *ev_watch, *ev_second, *ev_term, *ev_int, *ev_hup;
	struct event *ev_guide, *ev_cross;
	struct event *ev_cluster, *ev_cluster_due; /* NULL: this host is alone */
	pthread_t sampler_thread, actor_thread;
	struct daemon_conf *conf; /* ours, once it was read again */
	struct policy_ask reload; /* a reload that waits for a policy to be in force */
	bool terminal;		  /* there was one when it began to run */
	bool shared_ok, sampler_runs, actor_runs;
	uint32_t alive_seen; /* sampler's life sign at the last watchdog message */
	uint64_t watchdog_us;
	bool signalled;
	struct mono work_due, second_due, cross_due; /* on a simulated clock */
};

/* --- threads ------------------------------------------------------------ */

static void *sampler_main(void *arg)
{
	struct engine *e = arg;

	sampler_run(&e->s);
	return NULL;
}

static void *actor_main(void *arg)
{
	struct engine *e = arg;

	actor_run(&e->a);
	return NULL;
}

static void make_realtime(struct engine *e)
{
	struct sched_param p = { .sched_priority = (int)e->c.conf->realtime_priority };
	int rc;

	if (e->c.conf->lock_memory && mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		log_msg(e->c.log, LOG_LVL_WARNING,
			"memory is not locked (%s): ticks may be late under memory pressure; "
			"run as root, or set lock_memory to false",
			strerror(errno));
	if (!p.sched_priority)
		return;
	rc = pthread_setschedparam(e->sampler_thread, SCHED_FIFO, &p);
	if (rc)
		log_msg(e->c.log, LOG_LVL_WARNING, "no real-time priority %d: %s", p.sched_priority,
			strerror(rc));
}

/* Signals are the control thread's: block them before the others start. */
static int start_threads(struct engine *e)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&e->actor_thread, NULL, actor_main, e);
	e->actor_runs = !rc;
	if (!rc) {
		rc = pthread_create(&e->sampler_thread, NULL, sampler_main, e);
		e->sampler_runs = !rc;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -rc;
}

static void stop_threads(struct engine *e)
{
	if (!e->shared_ok)
		return;
	atomic_store_explicit(&e->sh.stop, 1, memory_order_release);
	if (e->sampler_runs)
		pthread_join(e->sampler_thread, NULL);
	shared_wake(e->sh.actor_fd);
	if (e->actor_runs)
		pthread_join(e->actor_thread, NULL);
	e->sampler_runs = e->actor_runs = false;
}

/* --- the loop ----------------------------------------------------------- */

static struct mono now_of(struct engine *e)
{
	struct clock *c = e->c.sim ? e->c.sim : &e->clock;

	return c->now(c);
}

static void work(struct engine *e)
{
	int64_t ns = guests_work(e->guests, now_of(e), clock_wall_ns());
	struct timeval tv = { .tv_sec = ns / NS_PER_S, .tv_usec = ns % NS_PER_S / NS_PER_US };

	event_add(e->ev_work, &tv);
}

static void on_work(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	work(arg);
}

static void on_cross(evutil_socket_t fd, short what, void *arg)
{
	struct engine *e = arg;
	int64_t ns = guests_cross(e->guests, now_of(e), clock_wall_ns());
	struct timeval tv = { .tv_sec = ns / NS_PER_S, .tv_usec = ns % NS_PER_S / NS_PER_US };

	(void)fd;
	(void)what;
	event_add(e->ev_cross, &tv);
}

static void on_cluster(evutil_socket_t fd, short what, void *arg)
{
	struct engine *e = arg;
	int64_t ns = cluster_work(e->cluster, snap_latest(&e->sh), now_of(e), clock_wall_ns());
	struct timeval tv = { .tv_sec = ns / NS_PER_S, .tv_usec = ns % NS_PER_S / NS_PER_US };

	(void)fd;
	(void)what;
	event_add(e->ev_cluster_due, &tv);
}

static void on_shared(evutil_socket_t fd, short what, void *arg)
{
	uint64_t n;

	(void)what;
	if (read(fd, &n, sizeof(n)) < 0 && errno != EAGAIN)
		return;
	work(arg);
}

/* The watchdog is fed only while the sampler ticks. */
static void feed_watchdog(struct engine *e)
{
	uint32_t alive = atomic_load_explicit(&e->sh.alive, memory_order_relaxed);

	if (e->watchdog_us && alive != e->alive_seen)
		notify_systemd("WATCHDOG=1");
	e->alive_seen = alive;
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
	struct engine *e = arg;

	(void)fd;
	(void)what;
	guests_second(e->guests, now_of(e), clock_wall_ns());
	feed_watchdog(e);
	work(e);
}

static void stop(struct engine *e, const char *why)
{
	log_msg(e->c.log, LOG_LVL_INFO, "%s: restoring caps and stopping", why);
	notify_systemd("STOPPING=1");
	e->signalled = true;
	event_base_loopbreak(e->base);
}

static void on_signal(evutil_socket_t sig, short what, void *arg)
{
	(void)what;
	stop(arg, sig == SIGTERM ? "SIGTERM" : "SIGINT");
}

/* The configuration anew, whole or not at all: until then the former is in force. */
static int reload(struct engine *e, struct conf_error *err)
{
	struct daemon_conf *conf = calloc(1, sizeof(*conf));
	struct policy_inst *policy = NULL;
	int rc = conf ? settings_reload(conf, e->c.conf, e->c.file, err) : -ENOMEM;

	if (!rc)
		rc = policy_load(&policy, conf->policy, conf->policy_file, err);
	if (!rc) {
		rc = guests_reload(e->guests, conf, policy, clock_wall_ns());
		if (rc)
			policy_free(policy);
	}
	if (rc) {
		free(conf);
		return rc;
	}
	free(e->conf);
	e->c.conf = e->conf = conf;
	return 0;
}

/* What the others were told when this host began cannot change: who edited it shall know. */
static void tell_of_cluster(struct engine *e)
{
	struct cluster_conf *now = calloc(1, sizeof(*now));
	const char *file = e->c.conf->cluster_file;
	struct conf_error err = { 0 };
	char hostname[256] = "";

	gethostname(hostname, sizeof(hostname) - 1);
	if (now && cluster_conf_load(now, file, hostname, &err))
		log_msg(e->c.log, LOG_LVL_WARNING,
			"%s: that is for the next start; what was read at this one stays in force",
			err.text);
	else if (now && !cluster_conf_same(now, cluster_conf(e->cluster)))
		log_msg(e->c.log, LOG_LVL_WARNING,
			"%s: has changed, and is read at the start alone: restart resexd to take "
			"it, see AGREEMENT in cluster.json(5)",
			file);
	free(now);
}

static void reload_and_tell(struct engine *e)
{
	struct conf_error err = { 0 };
	char state[64];
	int rc;

	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%lld",
		 (long long)(clock_monotonic_ns() / NS_PER_US));
	notify_systemd(state);
	rc = reload(e, &err);
	if (rc)
		log_msg(e->c.log, LOG_LVL_ERROR, "%s: the former configuration stays in force",
			err.text[0]    ? err.text
			: rc == -EBUSY ? "a policy is just being put in force"
				       : strerror(-rc));
	if (!rc && e->cluster)
		tell_of_cluster(e);
	notify_systemd(rc ? "READY=1\nSTATUS=The configuration was not taken: see the log"
			  : "READY=1\nSTATUS=");
}

/* Is there a terminal that Ctrl-C and its closing come from? */
static bool has_terminal(void)
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* A policy that is being put in force comes first: reload when the sampler has taken it up. */
static void on_reload(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval tv = { .tv_usec = 1000 };
	struct engine *e = arg;

	(void)fd;
	(void)what;
	if (guests_policy_wait(e->guests, &e->reload, now_of(e)) == -EAGAIN &&
	    !event_base_once(e->base, -1, EV_TIMEOUT, on_reload, e, &tv))
		return;
	e->reload = (struct policy_ask){ 0 };
	reload_and_tell(e);
}

static void on_hangup(evutil_socket_t sig, short what, void *arg)
{
	struct engine *e = arg;

	(void)sig;
	(void)what;
	if (e->terminal && !has_terminal())
		stop(e, "SIGHUP (the terminal was closed)");
	else if (!e->c.file)
		stop(e, "SIGHUP");
	else
		on_reload(-1, 0, e);
}

static void on_guide(evutil_socket_t fd, short what, void *arg)
{
	struct engine *e = arg;
	const struct engine_guide *g = e->c.guide;
	int64_t ns = g->turn(g->arg, e->guests, now_of(e));
	struct timeval tv = { .tv_sec = ns / NS_PER_S, .tv_usec = ns % NS_PER_S / NS_PER_US };

	(void)fd;
	(void)what;
	if (ns < 0)
		event_base_loopbreak(e->base);
	else
		event_add(e->ev_guide, &tv);
}

/* nohup(1) leaves SIGHUP ignored, and means it. */
static bool hangup_counts(void)
{
	struct sigaction sa;

	return !sigaction(SIGHUP, NULL, &sa) && sa.sa_handler != SIG_IGN;
}

/* Only the engine that runs: libevent gives signals to one loop of a process. */
static void take_signals(struct engine *e)
{
	event_add(e->ev_term, NULL);
	event_add(e->ev_int, NULL);
	e->terminal = has_terminal();
	if (hangup_counts())
		event_add(e->ev_hup, NULL);
}

static int make_loop(struct engine *e)
{
	const struct timeval second = { .tv_sec = 1 };
	int wfd = e->c.hv->watch->fd(e->watch);

	e->base = event_base_new();
	if (!e->base)
		return -ENOMEM;
	e->ev_work = evtimer_new(e->base, on_work, e);
	e->ev_shared = event_new(e->base, e->sh.control_fd, EV_READ | EV_PERSIST, on_shared, e);
	e->ev_second = event_new(e->base, -1, EV_PERSIST, on_second, e);
	e->ev_term = evsignal_new(e->base, SIGTERM, on_signal, e);
	e->ev_int = evsignal_new(e->base, SIGINT, on_signal, e);
	e->ev_hup = evsignal_new(e->base, SIGHUP, on_hangup, e);
	e->ev_guide = evtimer_new(e->base, on_guide, e);
	e->ev_cross = evtimer_new(e->base, on_cross, e);
	if (wfd >= 0)
		e->ev_watch = event_new(e->base, wfd, EV_READ | EV_PERSIST, on_work, e);
	if (!e->ev_work || !e->ev_shared || !e->ev_second || !e->ev_term || !e->ev_int ||
	    !e->ev_hup || !e->ev_guide || !e->ev_cross || (wfd >= 0 && !e->ev_watch))
		return -ENOMEM;
	event_add(e->ev_shared, NULL);
	event_add(e->ev_second, &second);
	if (e->ev_watch)
		event_add(e->ev_watch, NULL);
	return 0;
}

static void free_event(struct event **ev)
{
	if (*ev)
		event_free(*ev);
	*ev = NULL;
}

static void free_loop(struct engine *e)
{
	free_event(&e->ev_work);
	free_event(&e->ev_shared);
	free_event(&e->ev_watch);
	free_event(&e->ev_second);
	free_event(&e->ev_term);
	free_event(&e->ev_int);
	free_event(&e->ev_hup);
	free_event(&e->ev_guide);
	free_event(&e->ev_cross);
	free_event(&e->ev_cluster);
	free_event(&e->ev_cluster_due);
	if (e->base)
		event_base_free(e->base);
	e->base = NULL;
}

/* --- open and close ----------------------------------------------------- */

void hv_open_text(const char *name, int rc, struct conf_error *err)
{
	static const struct {
		int rc;
		enum resex_exit exit;
		const char *why;
	} known[] = {
		{ -ENOSYS, RESEX_NO_XEN,
		  "there is no Xen here: boot the host under Xen, or try --hv sim" },
		{ -ENXIO, RESEX_NOT_DOM0,
		  "this is a guest: resexd runs in dom0, resex-agent in guests" },
		{ -ENODEV, RESEX_FAILURE,
		  "a part of Xen does not run: load xen-privcmd and start xenstored "
		  "(systemctl start xen)" },
		{ -EACCES, RESEX_PERMISSION, "no permission: run as root" },
		{ -EPERM, RESEX_PERMISSION, "no permission: run as root" },
		{ -EPROTONOSUPPORT, RESEX_XEN_VERSION,
		  "resexd was built for another version of Xen: rebuild it on this host" },
	};

	conf_error_set(err, conf_exit(rc), "hypervisor \"%s\": %s", name, strerror(-rc));
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (rc == known[i].rc)
			conf_error_set(err, known[i].exit, "hypervisor \"%s\": %s", name,
				       known[i].why);
}

static int open_hv(struct engine *e, struct conf_error *err)
{
	const struct hv_backend *hv = e->c.hv;
	int rc;

	rc = hv->sched->open(&e->sched, e->c.hv_arg);
	if (!rc)
		rc = hv->sched->open(&e->s.hv, e->c.hv_arg);
	if (!rc)
		rc = hv->sched->open(&e->a.hv, e->c.hv_arg);
	if (!rc)
		rc = hv->mem->open(&e->mem, e->c.hv_arg);
	if (!rc)
		rc = hv->watch->open(&e->watch, e->c.hv_arg);
	if (rc)
		hv_open_text(hv->name, rc, err);
	return rc;
}

static void close_hv(struct engine *e)
{
	const struct hv_backend *hv = e->c.hv;

	if (e->watch)
		hv->watch->close(e->watch);
	if (e->mem)
		hv->mem->close(e->mem);
	if (e->a.hv)
		hv->sched->close(e->a.hv);
	if (e->s.hv)
		hv->sched->close(e->s.hv);
	if (e->sched)
		hv->sched->close(e->sched);
}

/* What guests sent is counted by dom0's kernel, or by the simulator. */
static struct counters counters_of(const struct engine *e)
{
	switch (e->c.hv->counters) {
	case HV_COUNTERS_KERNEL:
		return (struct counters){ .ops = counters_host, .sys = "/sys" };
	case HV_COUNTERS_SIM:
		return (struct counters){ .ops = counters_sim, .arg = e->c.hv_arg };
	case HV_COUNTERS_NONE:
		break;
	}
	return (struct counters){ 0 };
}

static int open_guests(struct engine *e)
{
	const struct guests_parts parts = {
		.sh = &e->sh,
		.conf = e->c.conf,
		.log = e->c.log,
		.hv = e->c.hv,
		.mem = e->mem,
		.sched = e->sched,
		.watch = e->watch,
		.counters = counters_of(e),
		.observe = e->c.observe,
	};
	int rc = guests_open(&e->guests, &parts, e->c.init);

	if (!rc)
		e->c.init = NULL;
	return rc;
}

/* The other hosts, if there are any. */
static int open_cluster(struct engine *e, struct conf_error *err)
{
	char hostname[256] = "";
	int rc;

	if (!e->c.conf->cluster_file[0])
		return 0;
	gethostname(hostname, sizeof(hostname) - 1);
	rc = cluster_open(&e->cluster, e->c.conf, hostname, e->guests, now_of(e), err);
	if (rc)
		return rc;
	e->ev_cluster = event_new(e->base, cluster_fd(e->cluster), EV_READ | EV_PERSIST, on_cluster,
				  e);
	e->ev_cluster_due = evtimer_new(e->base, on_cluster, e);
	return e->ev_cluster && e->ev_cluster_due && !event_add(e->ev_cluster, NULL) ? 0 : -ENOMEM;
}

static int open_sampler(struct engine *e, struct conf_error *err)
{
	const struct sampler_conf sc = {
		.interval_ns = e->c.conf->interval_ns,
		.epoch_ns = e->c.conf->epoch_ns,
		.link = e->c.conf->link,
		.links = e->c.conf->links,
		.ops = e->c.hv->sched,
		.hv = e->s.hv,
		.clock = e->c.sim ? *e->c.sim : e->clock,
		.snap_ticks = e->c.sim ? 1 : 0,
		.keep_reports = e->c.guide != NULL,
	};
	struct guest_set *set = guests_first_set(e->guests);
	int rc = set ? sampler_init(&e->s, &e->sh, &sc, set) : -ENOMEM;

	if (rc)
		conf_error_set(err, conf_exit(rc), "the accounts cannot be set up: %s",
			       strerror(-rc));
	return rc;
}

static int open_parts(struct engine *e, struct conf_error *err)
{
	int rc;

	rc = shared_init(&e->sh);
	if (rc)
		return rc;
	e->shared_ok = true;
	e->sh.observe = e->c.observe;
	if (!e->c.init)
		rc = policy_load(&e->c.init, e->c.conf->policy, e->c.conf->policy_file, err);
	if (rc)
		return rc;
	rc = open_hv(e, err);
	if (!rc)
		rc = open_guests(e);
	if (!rc)
		rc = guests_recover(e->guests, err);
	if (!rc)
		rc = open_sampler(e, err);
	if (rc || e->c.sim)
		return rc;
	rc = make_loop(e);
	if (!rc)
		rc = open_cluster(e, err);
	if (!rc)
		rc = control_open(&e->control, e->base, e->guests, e->cluster, err);
	return rc;
}

int engine_open(struct engine **out, const struct engine_conf *c, struct conf_error *err)
{
	struct engine *e = calloc(1, sizeof(*e));
	int rc;

	if (!e) {
		policy_free(c->init);
		conf_error_set(err, RESEX_FAILURE, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	e->c = *c;
	*err = (struct conf_error){ 0 };
	clock_real(&e->clock);
	rc = open_parts(e, err);
	if (rc) {
		if (!err->text[0])
			conf_error_set(err, conf_exit(rc), "%s", strerror(-rc));
		engine_close(e);
		return rc;
	}
	e->a.sh = &e->sh;
	e->a.ops = c->hv->sched;
	e->a.clock = e->clock;
	*out = e;
	return 0;
}

/* --- on a simulated clock -------------------------------------------------- */

static int64_t at_most(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* What the threads tell each other by; nobody sleeps on it here. */
static bool was_woken(int fd)
{
	uint64_t n;

	return read(fd, &n, sizeof(n)) == sizeof(n);
}

/* As the loop does: domains come and go without the sampler's knowing. */
static bool has_news(struct engine *e)
{
	struct pollfd p = { .fd = e->c.hv->watch->fd(e->watch), .events = POLLIN };

	return was_woken(e->sh.control_fd) || p.fd < 0 || poll(&p, 1, 0) > 0;
}

static void control_simulated(struct engine *e, struct mono now)
{
	bool second = mono_sub(now, e->second_due) >= 0;

	if (second) {
		e->second_due = mono_add(e->second_due, NS_PER_S);
		guests_second(e->guests, now, now.ns);
	}
	if (mono_sub(now, e->cross_due) >= 0)
		e->cross_due = mono_add(now, guests_cross(e->guests, now, now.ns));
	if (has_news(e) || second || mono_sub(now, e->work_due) >= 0)
		e->work_due = mono_add(now, guests_work(e->guests, now, now.ns));
}

/* One interval: what three threads do at once, in the order in which one waits for the other. */
static void step_simulated(struct engine *e)
{
	int64_t interval = e->c.conf->interval_ns;
	struct mono now = mono_add(now_of(e), interval);

	e->c.sim->sleep_until(e->c.sim, now);
	tick(&e->s, now);
	clock_sim(&e->a.clock, mono_add(now, at_most(ENGINE_ACTOR_NS, interval / 2)));
	actor_once(&e->a);
	control_simulated(e, now);
}

static bool is_stopped(struct engine *e, const sigset_t *stop)
{
	const struct timespec at_once = { 0 };

	e->signalled = sigtimedwait(stop, NULL, &at_once) > 0;
	return e->signalled;
}

static void run_simulated(struct engine *e)
{
	const struct engine_guide *g = e->c.guide;
	sigset_t stop, old;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	if (hangup_counts())
		sigaddset(&stop, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &stop, &old);
	e->work_due = now_of(e);
	e->second_due = mono_add(now_of(e), NS_PER_S);
	e->cross_due = now_of(e);
	control_simulated(e, now_of(e));
	while (!is_stopped(e, &stop) && (!g || g->turn(g->arg, e->guests, now_of(e)) >= 0))
		step_simulated(e);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* --- run and close ------------------------------------------------------- */

static int run_real(struct engine *e)
{
	const struct timeval at_once = { 0 };
	int rc;

	take_signals(e);
	rc = start_threads(e);
	if (rc)
		return rc;
	make_realtime(e);
	work(e);
	event_add(e->ev_cross, &at_once);
	if (e->ev_cluster_due)
		event_add(e->ev_cluster_due, &at_once);
	e->watchdog_us = notify_watchdog_us();
	notify_systemd("READY=1");
	log_msg(e->c.log, LOG_LVL_INFO, "running on %s%s, policy %s", e->c.hv->name,
		e->c.observe ? " (observing only)" : "", guests_view(e->guests).policy->ops->name);
	if (e->c.guide)
		event_add(e->ev_guide, &at_once);
	return event_base_dispatch(e->base) < 0 ? -EIO : 0;
}

int engine_run(struct engine *e)
{
	int rc = 0;

	if (e->c.hv->simulated)
		log_msg(e->c.log, LOG_LVL_INFO,
			"SIMULATED host: no guest, cap or figure here is real");
	if (e->c.sim)
		run_simulated(e);
	else
		rc = run_real(e);
	return !rc && e->c.guide && e->signalled ? -EINTR : rc;
}

int engine_close(struct engine *e)
{
	int failed = 0;

	stop_threads(e);
	if (e->control)
		control_close(e->control);
	free_loop(e);
	cluster_close(e->cluster);
	e->cluster = NULL;
	if (e->guests) {
		failed = guests_restore(e->guests);
		guests_close(e->guests);
	}
	policy_free(e->c.init); /* nobody took it */
	close_hv(e);
	if (e->shared_ok)
		shared_fini(&e->sh);
	free(e->conf);
	free(e);
	return failed;
}
