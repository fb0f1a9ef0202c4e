// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_lock: the cost of a lock without contention, and of a scan of 64 hosts; ./dev bench lock.
 *
 *	resex-bench-lock [DATA]
 *
 * Host 64 is this process. Hosts 1 .. 63 are handles of one other process, which sleeps:
 * over shm they take no part in the operations. Measured: one READ of a word of the lock's
 * home; acquire + release, which must be two rounds by the transport's count; a scan of all
 * 64 hosts (itself over its loopback), which must be one round. First with an injected delay
 * of 1 ms a round trip, during which the caller sleeps; then with 2 us, as an adapter has, and
 * without a delay, and the caller polls. The three take turns, round by round. A figure is the
 * median of the rounds' medians; beside it are the least value and the CPU time of this process
 * (mean). A wrong count of rounds is an error. No time is an error.
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/transport/shm/faults.h"
#include "src/util/clock.h"
#include "tests/bench/lock_host.h"
#include "tests/bench/measure.h"

enum { HOME = 1, SELF = 64, GUESTS = 10, ROUNDS_MAX = 21, OPS_MAX = 500, PATIENCE_S = 60 };
enum what { READ_ONE, LOCK, SCAN, WHATS };

static const char *const names[WHATS] = { "one READ of 8 bytes", "acquire + release",
					  "scan of 64 hosts" };
static const uint64_t rounds_due[WHATS] = { 1, 2, 1 };

struct bench {
	struct clock clock;
	struct lock_host h;
	pid_t servers;
	bool sleeps; /* while there is nothing to do */
};

/* Of one delay. */
struct figures {
	double us[WHATS], least[WHATS];
	double cpu_us[WHATS];		     /* of this process, each time; a mean */
	uint32_t times[WHATS], wrong[WHATS]; /* how many had another count of rounds */
	uint64_t rounds[WHATS];		     /* the newest count */
};

static _Noreturn void die(const char *what, int err)
{
	fprintf(stderr, "resex-bench-lock: %s: %s\n", what, strerror(err));
	exit(1);
}

static struct mono now_of(struct bench *b)
{
	return b->clock.now(&b->clock);
}

/* --- hosts ------------------------------------------------------------------------- */

static void open_host(struct bench *b, struct lock_host *h, const char *dir, uint16_t n)
{
	struct lock_host_conf c = { .dir = dir,
				    .generation = 1,
				    .peers = hostset_first(n == SELF ? SELF : 0),
				    .guests = GUESTS,
				    .lock = { .self = n,
					      .service = 1,
					      .tag = 1,
					      .hold_ns = 200 * NS_PER_MS,
					      .deadline_ns = NS_PER_S,
					      .check_ns = 10 * NS_PER_MS,
					      .seed = n } };
	char text[256];
	int rc;

	hostset_set(&c.peers, SELF, true);
	rc = lock_host_open(h, &c, HOME, now_of(b), text);

	if (rc)
		die(text, -rc);
}

static _Noreturn void serve(struct bench *b, const char *dir)
{
	static struct lock_host h[SELF];
	struct pollfd fd[SELF];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint16_t n = 1; n < SELF; n++) {
		open_host(b, &h[n], dir, n);
		fd[n - 1] = (struct pollfd){ transport_fd(h[n].t), POLLIN, 0 };
	}
	for (;;) {
		int64_t wait = NS_PER_S;

		for (int n = 1; n < SELF; n++) {
			struct mono now = now_of(b);
			int64_t left;

			lock_host_turn(&h[n], now);
			left = mono_sub(lock_host_due(&h[n], now), now);
			wait = left < wait ? left : wait;
		}
		poll(fd, SELF - 1, wait > 0 ? (int)(wait / NS_PER_MS) + 1 : 0);
	}
}

static void idle(struct bench *b)
{
	struct mono due;

	if (!b->sleeps)
		return;
	due = lock_host_due(&b->h, now_of(b));
	if (due.ns != INT64_MAX)
		b->clock.sleep_until(&b->clock, due);
}

static void turn(struct bench *b)
{
	idle(b);
	lock_host_turn(&b->h, now_of(b));
}

static void patience(struct bench *b, struct mono began, const char *what)
{
	if (mono_sub(now_of(b), began) > PATIENCE_S * NS_PER_S)
		die(what, ETIMEDOUT);
}

static bool all_linked(const struct bench *b)
{
	for (uint16_t n = 1; n <= SELF; n++)
		if (!transport_link(b->h.t, n))
			return false;
	return true;
}

static void start(struct bench *b, const char *dir)
{
	struct mono began;
	int rc;

	clock_real(&b->clock);
	began = now_of(b);
	b->servers = fork();
	if (b->servers < 0)
		die("fork", errno);
	if (!b->servers)
		serve(b, dir);
	open_host(b, &b->h, dir, SELF);
	rc = peers_open(&b->h.peers, b->h.t, 10 * NS_PER_S);
	if (rc)
		die("peers", -rc);
	while (!all_linked(b)) {
		turn(b);
		b->clock.sleep_until(&b->clock, mono_add(now_of(b), NS_PER_MS));
		patience(b, began, "there are no links to all hosts");
	}
}

static void stop(struct bench *b, const char *dir)
{
	char path[64];

	kill(b->servers, SIGKILL);
	waitpid(b->servers, NULL, 0);
	peers_close(b->h.peers);
	lock_host_close(&b->h);
	for (int n = 1; n <= SELF; n++) {
		snprintf(path, sizeof(path), "%s/host-%d.sock", dir, n);
		unlink(path);
	}
}

/* --- what is measured ------------------------------------------------------------------ */

/* Straight at the transport. */
static void read_one(struct bench *b)
{
	struct mono now = now_of(b);
	struct transport_op op = { .kind = TRANSPORT_READ,
				   .host = HOME,
				   .part = TRANSPORT_WORDS,
				   .offset = region_lock_offset(1),
				   .len = 8,
				   .tag = 1ull << PEERS_TAG_SHIFT,
				   .deadline = mono_add(now, 10 * NS_PER_S) };
	struct transport_event ev[16];
	int why = 0;

	if (transport_post(b->h.t, &op, 1, now, &why) != 1)
		die("a READ was not taken", -why);
	for (;;) {
		size_t n;

		idle(b);
		n = transport_poll(b->h.t, now_of(b), ev, 16);

		for (size_t i = 0; i < n; i++) {
			if (ev[i].type != TRANSPORT_RESULT)
				continue;
			if (ev[i].outcome != TRANSPORT_DONE)
				die("a READ was not done", -ev[i].why);
			return;
		}
	}
}

static void await_lock(struct bench *b, enum lock_state state)
{
	struct mono began = now_of(b);

	while (lock_state(&b->h.lock) != state) {
		turn(b);
		patience(b, began, "the lock was not had or left for a minute");
	}
}

static void lock_and_leave(struct bench *b)
{
	lock_host_ask(&b->h, LOCK_ACQUIRE, now_of(b));
	await_lock(b, LOCK_HELD);
	lock_mark(&b->h.lock, false);
	lock_host_ask(&b->h, LOCK_RELEASE, now_of(b));
	await_lock(b, LOCK_IDLE);
}

static void scan(struct bench *b)
{
	peers_scan(b->h.peers, now_of(b));
	while (peers_scanning(b->h.peers))
		turn(b);
}

/* Every host's newest record and guests are there. */
static void check_scan(const struct bench *b)
{
	struct peer_seen s;

	for (uint16_t n = 1; n <= SELF; n++) {
		peers_see(b->h.peers, n, &s);
		if (!s.known || s.guests != GUESTS || s.why)
			die("a host was not read whole", -s.why);
	}
}

static void once(struct bench *b, enum what what)
{
	if (what == READ_ONE)
		read_one(b);
	else if (what == LOCK)
		lock_and_leave(b);
	else
		scan(b);
}

/* The median of one round, us. */
static double round_of(struct bench *b, enum what what, size_t ops, struct figures *f)
{
	static double us[OPS_MAX];
	double cpu = measure_cpu_us();

	for (size_t i = 0; i < ops; i++) {
		struct transport_stats was, is;
		struct mono began;

		transport_stats(b->h.t, &was);
		began = now_of(b);
		once(b, what);
		us[i] = (double)mono_sub(now_of(b), began) / NS_PER_US;
		transport_stats(b->h.t, &is);
		f->least[what] = !f->times[what] || us[i] < f->least[what] ? us[i] : f->least[what];
		f->rounds[what] = is.rounds - was.rounds;
		f->wrong[what] += f->rounds[what] != rounds_due[what];
		f->times[what]++;
	}
	f->cpu_us[what] += measure_cpu_us() - cpu;
	return measure_median(us, ops);
}

static struct figures measure(struct bench *b, int64_t way_ns, bool sleeps, size_t rounds,
			      size_t ops)
{
	static double us[WHATS][ROUNDS_MAX];
	struct shm_faults f = { .seed = 1,
				.out_min_ns = way_ns,
				.out_max_ns = way_ns,
				.back_min_ns = way_ns,
				.back_max_ns = way_ns };
	struct figures out = { 0 };
	int rc = transport_shm_faults(b->h.t, &f);

	if (rc)
		die("delays", -rc);
	b->sleeps = sleeps;
	for (size_t r = 0; r < rounds; r++)
		for (int w = 0; w < WHATS; w++)
			us[w][r] = round_of(b, (enum what)w, ops, &out);
	check_scan(b);
	for (int w = 0; w < WHATS; w++) {
		out.us[w] = measure_median(us[w], rounds);
		out.cpu_us[w] /= out.times[w];
	}
	return out;
}

/* --- figures --------------------------------------------------------------------------- */

static uint32_t print(const struct figures *f, const char *delay, FILE *data)
{
	uint32_t wrong = 0;

	printf("%s\n%-22s %12s %10s %12s %10s %12s %10s\n", delay, "", "round trips", "us",
	       "x one READ", "least us", "x one READ", "CPU us");
	for (int w = 0; w < WHATS; w++) {
		double x = f->us[w] / f->us[READ_ONE], x_least = f->least[w] / f->least[READ_ONE];

		printf("%-22s %12llu %10.2f %12.2f %10.2f %12.2f %10.2f\n", names[w],
		       (unsigned long long)f->rounds[w], f->us[w], x, f->least[w], x_least,
		       f->cpu_us[w]);
		if (data)
			fprintf(data, "\"%s\" %.3f %.3f %.3f\n", names[w], f->us[w], x, x_least);
	}
	for (int w = 0; w < WHATS; w++) {
		wrong += f->wrong[w];
		if (f->wrong[w])
			printf("WRONG: %s took another number of round trips than %llu in %u of "
			       "%u times.\n",
			       names[w], (unsigned long long)rounds_due[w], f->wrong[w],
			       f->times[w]);
	}
	printf("\n");
	return wrong;
}

static uint32_t run(struct bench *b, FILE *data)
{
	struct figures delayed, near, direct;

	fprintf(stderr, "lock: the lock is waited for once, as its word is fresh\n");
	lock_and_leave(b);
	scan(b); /* headers first: two rounds or three, once */
	scan(b);
	fprintf(stderr, "lock: measuring, a few seconds\n");
	delayed = measure(b, NS_PER_MS / 2, true, 11, 30);
	near = measure(b, NS_PER_US, false, ROUNDS_MAX, OPS_MAX);
	direct = measure(b, 0, false, ROUNDS_MAX, OPS_MAX);
	printf("A lock nobody contends for, and a scan of 64 hosts of %d guests each, over shm "
	       "(medians of rounds,\ntaken in turn). The other 63 hosts are one "
	       "process, which sleeps.\n\n",
	       GUESTS);
	return print(&delayed, "with an injected delay of 1 ms a round trip:", data) +
	       print(&near, "with an injected delay of 2 us a round trip:", NULL) +
	       print(&direct,
		     "without a delay (what is left is this CPU's work for each host):", NULL);
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/resex-bench-XXXXXX";
	struct bench b = { 0 };
	FILE *data = NULL;
	uint32_t wrong;

	if (argc > 2) {
		fprintf(stderr, "usage: resex-bench-lock [DATA]\n");
		return 2;
	}
	if (argc == 2)
		data = fopen(argv[1], "w");
	if (argc == 2 && !data)
		die(argv[1], errno);
	if (!mkdtemp(dir))
		die(dir, errno);
	measure_allow_files();
	prctl(PR_SET_TIMERSLACK, 1ul);
	start(&b, dir);
	wrong = run(&b, data);
	stop(&b, dir);
	rmdir(dir);
	if (data)
		fclose(data);
	return wrong ? 1 : 0;
}
