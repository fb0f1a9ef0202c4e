// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_hosts: what a host pays for many others; ./dev bench hosts.
 *
 * 16, 64 and 256 hosts over shm, each a process of its own with a link to each host, itself too.
 * All hosts start at once. They beat each 100 ms and scan all hosts each 200 ms. Then all are
 * killed and start again at once, as after a power cut. Printed, of each size: the CPU time of a
 * scan, whole and by host, and of a heartbeat (of each host the median, and of these the median);
 * memory and descriptors of a host by its links; when the last link was up. No time is an error;
 * a host that lacks a link or a record after a minute is.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/util/clock.h"
#include "tests/bench/lock_host.h"
#include "tests/bench/measure.h"

enum {
	HOSTS = TRANSPORT_HOSTS_MAX,
	GUESTS = 10,
	SCANS = 25,
	BEAT_MS = 100,
	SCAN_MS = 200,
	PATIENCE_S = 60,
};

enum phase { PHASE_WAIT, PHASE_LINK, PHASE_RUN };

/* What a host measured of itself. */
struct figures {
	int64_t linked_ns; /* from the start of all to its last link */
	double scan_us, beat_us;
	double memory_kib; /* its part of the memory that processes share included */
	uint32_t descriptors;
};

/* Shared by all processes of the bench. */
struct site {
	_Atomic int phase;
	_Atomic uint32_t ready, linked, done;
	struct mono start;
	struct figures of[HOSTS];
};

struct bench {
	struct site *site;
	const char *dir;
	uint32_t hosts;
	uint64_t generation;
	pid_t pid[HOSTS];
};

struct self {
	struct bench *b;
	struct clock clock;
	struct lock_host h;
	uint16_t number;
	struct mono beat_at, scan_at;
	uint32_t beats, scans;
	double beat_us[2 * SCANS], scan_us[SCANS];
};

/* Of one size. */
struct result {
	uint32_t hosts;
	double scan_us, beat_us, memory_kib, descriptors;
	double start_s, again_s;
};

static _Noreturn void die(const char *what, int err)
{
	fprintf(stderr, "resex-bench-hosts: %s: %s\n", what, strerror(err));
	exit(1);
}

static struct mono now_of(struct self *s)
{
	return s->clock.now(&s->clock);
}

/* --- a host ------------------------------------------------------------------------ */

static void patience(struct self *s, struct mono began, const char *what)
{
	if (mono_sub(now_of(s), began) > PATIENCE_S * NS_PER_S)
		die(what, ETIMEDOUT);
}

static void open_host(struct self *s)
{
	struct lock_host_conf c = { .dir = s->b->dir,
				    .generation = s->b->generation,
				    .peers = hostset_first(s->b->hosts),
				    .guests = GUESTS,
				    .callers = s->b->hosts,
				    .lock = { .self = s->number,
					      .service = 1,
					      .tag = 1,
					      .hold_ns = 2 * NS_PER_S,
					      .deadline_ns = NS_PER_S,
					      .check_ns = NS_PER_S,
					      .seed = s->number } };
	char text[256];
	int rc = lock_host_open(&s->h, &c, 1, now_of(s), text);

	if (rc)
		die(text, -rc);
	rc = peers_open(&s->h.peers, s->h.t, 10 * NS_PER_S);
	if (rc)
		die("peers", -rc);
}

static void sleep_until(struct self *s, struct mono at)
{
	struct pollfd fd = { transport_fd(s->h.t), POLLIN, 0 };
	struct mono due = mono_earlier(at, lock_host_due(&s->h, now_of(s)));
	int64_t left = mono_sub(due, now_of(s));

	poll(&fd, 1, left > 0 ? (int)(left / NS_PER_MS) + 1 : 0);
}

static bool all_linked(const struct self *s)
{
	for (uint16_t n = 1; n <= s->b->hosts; n++)
		if (!transport_link(s->h.t, n))
			return false;
	return true;
}

static void scan(struct self *s)
{
	struct mono began = now_of(s);
	double cpu = measure_cpu_us();

	peers_scan(s->h.peers, began);
	while (peers_scanning(s->h.peers)) {
		lock_host_turn(&s->h, now_of(s));
		patience(s, began, "a scan did not end within a minute");
	}
	s->scan_us[s->scans++] = measure_cpu_us() - cpu;
}

static void beat(struct self *s)
{
	double cpu = measure_cpu_us();

	lock_host_beat(&s->h);
	s->beat_us[s->beats++ % (2 * SCANS)] = measure_cpu_us() - cpu;
}

/* Every host's record and guests are there. */
static void check_scan(struct self *s)
{
	struct peer_seen seen;

	for (uint16_t n = 1; n <= s->b->hosts; n++) {
		peers_see(s->h.peers, n, &seen);
		if (!seen.known || seen.guests != GUESTS || seen.why)
			die("a host was not read whole", -seen.why);
	}
}

static double memory_kib(void)
{
	char line[128];
	double kib = 0;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Pss: %lf kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static uint32_t descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	uint32_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n > 3 ? n - 3 : 0; /* not ".", "..", and the one that reads this */
}

/* Beats and scans, until there are enough of each. The hosts take turns: no two start together. */
static void run(struct self *s)
{
	struct mono now = now_of(s);

	s->beat_at = mono_add(now, s->number * BEAT_MS * NS_PER_MS / s->b->hosts);
	s->scan_at = mono_add(now, s->number * SCAN_MS * NS_PER_MS / s->b->hosts);
	lock_host_turn(&s->h, now);
	scan(s); /* headers first: more rounds, once */
	s->scans = 0;
	while (s->scans < SCANS || s->beats < 2 * SCANS) {
		sleep_until(s, mono_earlier(s->beat_at, s->scan_at));
		now = now_of(s);
		lock_host_turn(&s->h, now);
		if (mono_sub(now, s->beat_at) >= 0) {
			beat(s);
			s->beat_at = mono_add(now, BEAT_MS * NS_PER_MS);
		}
		if (mono_sub(now, s->scan_at) >= 0 && s->scans < SCANS) {
			scan(s);
			s->scan_at = mono_add(now, SCAN_MS * NS_PER_MS);
		}
	}
	check_scan(s);
}

static _Noreturn void host(struct bench *b, uint16_t number)
{
	static struct self s;
	struct site *site = b->site;
	struct figures *f = &site->of[number - 1];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	s.b = b;
	s.number = number;
	clock_real(&s.clock);
	site->ready++;
	while (site->phase == PHASE_WAIT)
		usleep(1000);
	open_host(&s);
	while (!all_linked(&s)) {
		sleep_until(&s, mono_add(now_of(&s), 10 * NS_PER_MS));
		lock_host_turn(&s.h, now_of(&s));
		patience(&s, site->start, "there are no links to all hosts");
	}
	f->linked_ns = mono_sub(now_of(&s), site->start);
	site->linked++;
	while (site->phase == PHASE_LINK) {
		sleep_until(&s, mono_add(now_of(&s), 10 * NS_PER_MS));
		lock_host_turn(&s.h, now_of(&s));
	}
	run(&s);
	f->scan_us = measure_median(s.scan_us, SCANS);
	f->beat_us = measure_median(s.beat_us, 2 * SCANS);
	f->memory_kib = memory_kib();
	f->descriptors = descriptors();
	site->done++;
	for (;;) { /* the others still have links to this host */
		sleep_until(&s, mono_add(now_of(&s), NS_PER_S));
		lock_host_turn(&s.h, now_of(&s));
	}
}

/* --- all of them ------------------------------------------------------------------- */

/* Until *count is that of the hosts. A host that failed has said why. */
static void await(struct bench *b, const _Atomic uint32_t *count)
{
	while (*count < b->hosts) {
		int status;

		if (waitpid(-1, &status, WNOHANG) > 0)
			die("a host ended", ECHILD);
		usleep(1000);
	}
}

static double start_all(struct bench *b)
{
	struct clock clock;
	int64_t last = 0;

	clock_real(&clock);
	memset(b->site, 0, sizeof(*b->site));
	b->generation++;
	for (uint32_t i = 0; i < b->hosts; i++) {
		b->pid[i] = fork();
		if (b->pid[i] < 0)
			die("fork", errno);
		if (!b->pid[i])
			host(b, (uint16_t)(i + 1));
	}
	await(b, &b->site->ready);
	b->site->start = clock.now(&clock);
	b->site->phase = PHASE_LINK;
	await(b, &b->site->linked);
	for (uint32_t i = 0; i < b->hosts; i++)
		last = b->site->of[i].linked_ns > last ? b->site->of[i].linked_ns : last;
	return (double)last / NS_PER_S;
}

static void kill_all(struct bench *b)
{
	for (uint32_t i = 0; i < b->hosts; i++)
		kill(b->pid[i], SIGKILL);
	for (uint32_t i = 0; i < b->hosts; i++)
		waitpid(b->pid[i], NULL, 0);
}

static double median_of(const struct bench *b, double (*get)(const struct figures *))
{
	double v[HOSTS] = { 0 };

	for (uint32_t i = 0; i < b->hosts; i++)
		v[i] = get(&b->site->of[i]);
	return measure_median(v, b->hosts);
}

static double get_scan(const struct figures *f)
{
	return f->scan_us;
}

static double get_beat(const struct figures *f)
{
	return f->beat_us;
}

static double get_memory(const struct figures *f)
{
	return f->memory_kib;
}

static double get_descriptors(const struct figures *f)
{
	return f->descriptors;
}

static struct result measure(struct bench *b, uint32_t hosts)
{
	struct result r = { .hosts = hosts };
	char path[64];

	b->hosts = hosts;
	fprintf(stderr, "hosts: %u hosts start, and run for %d s\n", hosts, SCANS * SCAN_MS / 1000);
	r.start_s = start_all(b);
	b->site->phase = PHASE_RUN;
	await(b, &b->site->done);
	r.scan_us = median_of(b, get_scan);
	r.beat_us = median_of(b, get_beat);
	r.memory_kib = median_of(b, get_memory);
	r.descriptors = median_of(b, get_descriptors);
	kill_all(b);
	fprintf(stderr, "hosts: all were killed, and start again\n");
	r.again_s = start_all(b);
	kill_all(b);
	for (uint32_t n = 1; n <= hosts; n++) {
		snprintf(path, sizeof(path), "%s/host-%u.sock", b->dir, n);
		unlink(path);
	}
	return r;
}

static void print(const struct result *r, const struct result *first)
{
	double each = r->scan_us / r->hosts, first_each = first->scan_us / first->hosts;

	printf("%5u %10.1f %10.3f %8.2f %9.2f %8.2f %11.0f %10.1f %8.2f %8.2f\n", r->hosts,
	       r->scan_us, each, each / first_each, r->beat_us, r->beat_us / first->beat_us,
	       r->memory_kib / r->hosts, r->descriptors / r->hosts, r->start_s, r->again_s);
}

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = { 16, 64, HOSTS };
	static struct bench b;
	char dir[] = "/tmp/resex-bench-XXXXXX";
	struct result r[sizeof(sizes) / sizeof(sizes[0])];

	if (argc > 1) {
		fprintf(stderr, "usage: %s (without arguments)\n", argv[0]);
		return 2;
	}
	b.site = mmap(NULL, sizeof(*b.site), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (b.site == MAP_FAILED)
		die("shared memory", errno);
	if (!mkdtemp(dir))
		die(dir, errno);
	b.dir = dir;
	measure_allow_files();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		r[i] = measure(&b, sizes[i]);
	rmdir(dir);
	printf("Hosts over shm, each a process with a link to each host and %d guests. CPU time of "
	       "a "
	       "scan\nand of a heartbeat; x: beside that of %u hosts. Memory and descriptors are "
	       "those of a host,\nby its links. Seconds: from the start of all hosts, and of all "
	       "again after all were killed,\nto the last of their links.\n\n"
	       "%5s %10s %10s %8s %9s %8s %11s %10s %8s %8s\n",
	       GUESTS, r[0].hosts, "hosts", "scan us", "us a host", "x", "beat us", "x",
	       "KiB a link", "fd a link", "start s", "again s");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		print(&r[i], &r[0]);
	return 0;
}
