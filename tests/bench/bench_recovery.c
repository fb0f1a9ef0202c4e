// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_recovery: the time from a lock holder's death to the next acquire; ./dev bench recovery.
 *
 *	resex-bench-recovery real N [DATA]
 *	resex-bench-recovery virtual N [DATA]	(RESEX_SEED=S repeats a run)
 *
 * real: the home, and two hosts that always want the lock, are processes. When the host
 * without the lock waits, the holder starts a new lease (it releases and acquires; the
 * faster host gets the lock), and is killed at a random moment of that lease. The death is
 * the time when kill() has returned. The acquire is the time when the next holder read its
 * own clock (here the same clock) after its step said HELD. A new process replaces the dead
 * one. Times beyond the bound are counted: a busy machine wakes processes late. virtual: the
 * same in simulated time (recovery_sim.h); there a time beyond the bound is an error.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/core/random.h"
#include "src/util/clock.h"
#include "tests/bench/lock_host.h"
#include "tests/bench/recovery_sim.h"

enum { HOME = 1, HOSTS = 3, DEATHS_MAX = 60000, PATIENCE_S = 60 };

static const int64_t TELL_NS = 5 * NS_PER_S;

static const struct recovery_conf conf = { .contenders = HOSTS - HOME,
					   .hold_ns = 20 * NS_PER_MS,
					   .deadline_ns = 5 * NS_PER_MS,
					   .check_ns = 2 * NS_PER_MS,
					   .drift_ppm = 1000,
					   .way_ns = NS_PER_MS / 10 };

/* What a host's process tells. */
struct told {
	uint16_t host;
	bool held; /* else: it waits at another's word */
	int64_t now_ns, until_ns;
	uint64_t fence;
	int64_t late_ns; /* it woke too late, or was busy, since it last told */
};

struct child {
	pid_t pid;
	int fd;
	uint64_t generation;
};

struct bench {
	const char *dir;
	struct clock clock;
	uint64_t rng;
	struct child child[HOSTS + 1];
	uint64_t fence;
	uint32_t fences_back, missed;
	uint32_t late; /* beyond the bound by no more than the next holder's process was late */
};

static _Noreturn void die(const char *what, int err)
{
	fprintf(stderr, "resex-bench-recovery: %s: %s\n", what, strerror(err));
	exit(1);
}

static struct mono now_of(struct clock *c)
{
	return c->now(c);
}

static uint64_t draw(struct bench *b, uint64_t below)
{
	return random_next(&b->rng) % below;
}

/* --- a host's process -------------------------------------------------------------- */

struct self {
	struct lock_host h;
	struct clock clock;
	uint16_t number;
	int fd;
	uint64_t fence;
	bool waits;
	int64_t late_ns;
	struct mono woke;
};

static void tell(struct self *s)
{
	const struct lock *l = &s->h.lock;
	struct told m = { .host = s->number, .now_ns = now_of(&s->clock).ns };

	if (lock_state(l) == LOCK_HELD && lock_fence(l) != s->fence) {
		s->fence = m.fence = lock_fence(l);
		m.until_ns = lock_until(l).ns;
		m.held = true;
	} else if (!s->waits && lock_blocked(l)) {
		s->waits = true; /* said once */
	} else {
		return;
	}
	m.late_ns = s->late_ns;
	s->late_ns = 0;
	if (send(s->fd, &m, sizeof(m), MSG_NOSIGNAL) != sizeof(m))
		_exit(1);
}

/* Until there is something to do. true: the lease is to be made anew. */
static bool sleep_host(struct self *s)
{
	struct mono now = now_of(&s->clock), due = lock_host_due(&s->h, now);
	struct pollfd fd[] = { { .fd = transport_fd(s->h.t), .events = POLLIN },
			       { .fd = s->fd, .events = POLLIN } };
	struct timespec ts = { .tv_sec = 1 };
	char renew;

	if (lock_state(&s->h.lock) == LOCK_HELD && lock_until(&s->h.lock).ns < due.ns)
		due = lock_until(&s->h.lock);
	if (due.ns < now.ns + NS_PER_S)
		ts = (struct timespec){ .tv_nsec = due.ns > now.ns ? due.ns - now.ns : 0 };
	s->late_ns += s->woke.ns ? mono_sub(now, s->woke) : 0;
	if (ppoll(fd, 2, &ts, NULL) > 0 && fd[1].revents && recv(s->fd, &renew, 1, 0) != 1)
		_exit(0);
	s->woke = now_of(&s->clock);
	if (s->woke.ns > due.ns)
		s->late_ns += s->woke.ns - (due.ns > now.ns ? due.ns : now.ns);
	return fd[1].revents;
}

/* A lock that was had unclean is marked as if its nodes had been swept: there are none. */
static _Noreturn void contend(struct self *s)
{
	lock_host_ask(&s->h, LOCK_ACQUIRE, now_of(&s->clock));
	for (;;) {
		bool renew = sleep_host(s);
		struct lock *l = &s->h.lock;

		lock_host_turn(&s->h, now_of(&s->clock));
		tell(s);
		if (lock_state(l) != LOCK_HELD)
			continue;
		lock_mark(l, false);
		if (renew || !lock_may_act(l, now_of(&s->clock), 1))
			lock_host_renew(&s->h, now_of(&s->clock));
	}
}

static _Noreturn void be_home(struct self *s)
{
	for (;;) {
		sleep_host(s);
		lock_host_turn(&s->h, now_of(&s->clock));
	}
}

static _Noreturn void run_host(struct bench *b, uint16_t n, int fd)
{
	struct self s = { .clock = b->clock, .number = n, .fd = fd };
	struct lock_host_conf c = { .dir = b->dir,
				    .generation = b->child[n].generation,
				    .lock = recovery_lock_conf(&conf, n) };
	char text[256];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1ul);
	c.lock.seed = b->child[n].generation;
	if (n == HOME)
		c.peers = hostset_first(HOSTS);
	hostset_set(&c.peers, HOME, n != HOME);
	if (lock_host_open(&s.h, &c, HOME, now_of(&s.clock), text))
		die(text, ECANCELED);
	if (n == HOME)
		be_home(&s);
	contend(&s);
}

/* --- the one that kills ---------------------------------------------------------------- */

static void start_child(struct bench *b, uint16_t n)
{
	struct child *c = &b->child[n];
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		die("a pair of sockets", errno);
	c->generation++;
	c->fd = fd[0];
	c->pid = fork();
	if (c->pid < 0)
		die("fork", errno);
	if (!c->pid) {
		for (uint16_t k = HOME; k <= HOSTS; k++)
			if (b->child[k].pid || k == n)
				close(b->child[k].fd);
		run_host(b, n, fd[1]);
	}
	close(fd[1]);
}

static void end_child(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->fd);
	c->pid = 0;
}

/* The next that one of them (only: that one; 0: any) says, until then. false: nothing came. */
static bool listen_until(struct bench *b, uint16_t only, struct mono until, struct told *m)
{
	for (;;) {
		int64_t left = mono_sub(until, now_of(&b->clock));
		struct timespec ts = { .tv_sec = left > 0 ? left / NS_PER_S : 0,
				       .tv_nsec = left > 0 ? left % NS_PER_S : 0 };
		struct pollfd fd[HOSTS - HOME];

		for (int i = 0; i < HOSTS - HOME; i++) {
			bool mute = only && only != HOME + 1 + i;

			fd[i] = (struct pollfd){ mute ? -1 : b->child[HOME + 1 + i].fd, POLLIN, 0 };
		}
		if (ppoll(fd, HOSTS - HOME, &ts, NULL) <= 0 && left <= 0)
			return false;
		for (int i = 0; i < HOSTS - HOME; i++) {
			if (!fd[i].revents)
				continue;
			if (recv(fd[i].fd, m, sizeof(*m), 0) != sizeof(*m))
				die("a host's process has ended unasked", ECHILD);
			return true;
		}
	}
}

static void await(struct bench *b, uint16_t only, bool held, struct told *m)
{
	struct mono until = mono_add(now_of(&b->clock), PATIENCE_S * NS_PER_S);

	do {
		if (!listen_until(b, only, until, m))
			die(held ? "nobody had the lock for a minute"
				 : "a host did not come to wait for a minute",
			    ETIMEDOUT);
	} while (m->held != held);
}

/* Who has it by what was told until now. */
static uint16_t newest_holder(struct bench *b, uint16_t holder)
{
	struct told m;
	uint64_t fence = 0;

	while (listen_until(b, 0, now_of(&b->clock), &m)) {
		holder = m.held && m.fence > fence ? m.host : holder;
		fence = m.held && m.fence > fence ? m.fence : fence;
	}
	return holder;
}

/* A fresh lease, of whoever was faster, and a random moment of it. */
static uint16_t choose_victim(struct bench *b, uint16_t holder, struct told *last)
{
	struct told m;

	if (send(b->child[newest_holder(b, holder)].fd, "r", 1, MSG_NOSIGNAL) != 1)
		die("the holder's process", errno);
	await(b, 0, true, last);
	for (;;) {
		int64_t left = last->until_ns - last->now_ns;
		struct mono at = { last->now_ns };

		at.ns += (int64_t)draw(b, left > 0 ? (uint64_t)left : 1);
		if (!listen_until(b, 0, at, &m))
			return last->host;
		if (m.held && m.fence > last->fence)
			*last = m; /* it has changed hands meanwhile */
	}
}

static void note_fence(struct bench *b, const struct told *m)
{
	b->fences_back += m->fence <= b->fence;
	b->fence = m->fence;
}

/* One death; the holder afterwards. *took < 0: the victim's lease was over before. */
static uint16_t one_death(struct bench *b, uint16_t holder, int64_t *took)
{
	const struct lock_conf c = recovery_lock_conf(&conf, 0);
	struct told m, last;
	int64_t beyond;
	uint16_t victim = choose_victim(b, holder, &last), other;
	struct mono end;

	note_fence(b, &last);
	kill(b->child[victim].pid, SIGKILL);
	end = now_of(&b->clock);
	other = victim == HOSTS ? HOSTS - 1 : HOSTS;
	end_child(&b->child[victim]);
	await(b, other, true, &m);
	note_fence(b, &m);
	*took = end.ns <= last.until_ns ? m.now_ns - end.ns : -1;
	beyond = *took - recovery_bound_ns(&c);
	b->late += beyond > 0 && beyond <= m.late_ns;
	start_child(b, victim);
	await(b, victim, false, &last);
	return other;
}

static void say_progress(struct bench *b, uint32_t done, uint32_t deaths, struct mono *told)
{
	struct mono now = now_of(&b->clock);

	if (mono_sub(now, *told) < TELL_NS)
		return;
	fprintf(stderr, "recovery: %u of %u deaths\n", done, deaths);
	*told = now;
}

static void run_real(struct bench *b, uint32_t deaths, int64_t *took)
{
	struct mono told = now_of(&b->clock);
	struct told m;
	uint16_t holder;

	for (uint16_t n = HOME; n <= HOSTS; n++)
		start_child(b, n);
	await(b, 0, true, &m); /* a fresh word: after the break time */
	holder = m.host;
	note_fence(b, &m);
	for (uint32_t n = 0; n < deaths;) {
		holder = one_death(b, holder, &took[n]);
		if (took[n] < 0)
			b->missed++;
		else
			n++;
		say_progress(b, n, deaths, &told);
	}
	for (uint16_t n = HOME; n <= HOSTS; n++)
		end_child(&b->child[n]);
}

/* --- figures -------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double ms(int64_t ns)
{
	return (double)ns / NS_PER_MS;
}

enum { BINS = 18, BIN_MS = 2 };

/* What is beyond the bins is in the last. */
static void histogram(const int64_t *took, uint32_t n, FILE *data)
{
	uint32_t bin[BINS] = { 0 }, most = 1;

	for (uint32_t i = 0; i < n; i++) {
		int64_t k = took[i] / (BIN_MS * NS_PER_MS);

		bin[k < BINS ? k : BINS - 1]++;
	}
	for (int k = 0; k < BINS; k++)
		most = bin[k] > most ? bin[k] : most;
	for (int k = 0; k < BINS; k++) {
		printf("  %2d ms %s %5u  %.*s\n", k * BIN_MS, k < BINS - 1 ? "..." : "up ", bin[k],
		       (int)(bin[k] * 40 / most), "########################################");
		if (data)
			fprintf(data, "%d %u %d\n", k * BIN_MS, bin[k], BIN_MS);
	}
}

/* took is sorted. How many were beyond. */
static uint32_t figures(int64_t *took, uint32_t n, int64_t bound, const char *data)
{
	const struct lock_conf c = recovery_lock_conf(&conf, 0);
	FILE *f = data ? fopen(data, "w") : NULL;
	uint32_t beyond = 0;

	if (data && !f)
		die(data, errno);
	qsort(took, n, sizeof(*took), by_size);
	while (beyond < n && took[n - 1 - beyond] > bound)
		beyond++;
	printf("lease: hold %.0f ms, deadline %.0f ms, check %.0f ms (+ up to 1/8), drift %u "
	       "ppm\n",
	       ms(c.hold_ns), ms(c.deadline_ns), ms(c.check_ns), c.drift_ppm);
	printf("bound: break %.2f ms + check %.2f ms%s = %.2f ms\n", ms(lock_break_ns(&c)),
	       ms(recovery_bound_ns(&c) - lock_break_ns(&c)),
	       bound > recovery_bound_ns(&c) ? " + 3 round trips" : "", ms(bound));
	printf("from death to next acquisition, ms: min %.2f, median %.2f, 99 %% %.2f, max %.2f\n",
	       ms(took[0]), ms(took[n / 2]), ms(took[n - 1 - n / 100]), ms(took[n - 1]));
	printf("in units of the bound: median %.2f, max %.2f\n",
	       (double)took[n / 2] / (double)bound, (double)took[n - 1] / (double)bound);
	printf("within the bound: %u of %u; beyond: %u\n", n - beyond, n, beyond);
	histogram(took, n, f);
	if (f)
		fclose(f);
	return beyond;
}

static int real(const char *dir, uint32_t deaths, int64_t *took, const char *data)
{
	struct lock_conf c = recovery_lock_conf(&conf, 0);
	struct bench b = { .dir = dir };
	uint32_t beyond;

	clock_real(&b.clock);
	b.rng = (uint64_t)now_of(&b.clock).ns;
	run_real(&b, deaths, took);
	printf("%u deaths by SIGKILL, in real time: home, holder and waiter are processes of "
	       "this\nmachine, over shm. The holder dies at a random moment of its lease: most "
	       "of the spread is that.\n",
	       deaths);
	beyond = figures(took, deaths, recovery_bound_ns(&c), data);
	if (beyond)
		printf("Of the %u beyond, %u are by no more than the next holder's process, while "
		       "it waited, was late\nat what it had to do, by its own count.\n",
		       beyond, b.late);
	if (b.missed)
		printf("Not counted: %u whose lease was over when they were killed.\n", b.missed);
	if (b.fences_back)
		printf("WRONG: %u fences did not grow.\n", b.fences_back);
	return b.fences_back ? 1 : 0;
}

static int virtually(const char *dir, uint32_t deaths, int64_t *took, const char *data)
{
	const char *seed = getenv("RESEX_SEED");
	struct recovery_conf c = conf;
	struct lock_conf l = recovery_lock_conf(&conf, 0);
	struct recovery_result r;
	char text[256];
	int rc;

	c.dir = dir;
	c.deaths = deaths;
	c.seed = seed ? strtoull(seed, NULL, 0) : 1;
	rc = recovery_run(&c, took, &r, text);
	if (rc)
		die(text, -rc);
	printf("%u deaths in virtual time (%.1f s of it), RESEX_SEED=%llu; up to %.1f ms each "
	       "way, clocks\nwrong by up to %u ppm.\n",
	       r.deaths, (double)r.simulated_ns / NS_PER_S, (unsigned long long)c.seed,
	       ms(c.way_ns), c.drift_ppm);
	figures(took, deaths, recovery_bound_ns(&l) + 6 * c.way_ns, data);
	printf("two that may act: %u; fences that did not grow: %u; a dead holder's lock taken "
	       "as clean: %u\n",
	       r.overlaps, r.fences, r.cleans);
	if (!r.beyond && !r.overlaps && !r.fences && !r.cleans)
		return 0;
	printf("WRONG: all of that, and what is beyond, must be 0.\n");
	return 1;
}

/* What the killed have left behind. */
static void clear(const char *dir)
{
	char path[64];

	for (int n = HOME; n <= HOSTS; n++) {
		snprintf(path, sizeof(path), "%s/host-%d.sock", dir, n);
		unlink(path);
	}
	rmdir(dir);
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/resex-bench-XXXXXX";
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	const char *data = argc == 4 ? argv[3] : NULL;
	bool is_real = argc > 2 && !strcmp(argv[1], "real");
	int64_t *took;
	int rc;

	if ((argc != 3 && argc != 4) || n < 1 || n > DEATHS_MAX ||
	    (!is_real && strcmp(argv[1], "virtual"))) {
		fprintf(stderr, "usage: resex-bench-recovery real|virtual N [DATA], N at most %d\n",
			DEATHS_MAX);
		return 2;
	}
	took = calloc(n, sizeof(*took));
	if (!took || !mkdtemp(dir))
		die("memory, or a folder in /tmp", errno);
	rc = is_real ? real(dir, (uint32_t)n, took, data) : virtually(dir, (uint32_t)n, took, data);
	clear(dir);
	free(took);
	return rc;
}
