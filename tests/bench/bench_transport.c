// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_transport: the time of one operation, by backend; ./dev bench transport, onesided.
 *
 *	resex-bench-transport latency
 *	resex-bench-transport onesided [DATA]
 *	resex-bench-transport part shm		READ a part of 64 MiB whole, and check it
 *	resex-bench-transport part tcp|verbs ADDRESS
 *		... memfd	the same of a memory file that another process fills
 *	resex-bench-transport pause shm		the longest call of poll while peers come and go
 *	resex-bench-transport pause tcp|verbs ADDRESS
 *	resex-bench-transport verbs ADDRESS KIND N	(for sc_transport_bench.py; prints ns each)
 *	resex-bench-transport took COMMAND...	(runs it for the same; prints ns)
 *
 * The target is a process of its own, which sleeps until it is woken. The caller posts one
 * operation and polls for its result. The backends, and a plain socket for comparison, take
 * turns, round by round. A figure is the median of the rounds' medians. The program prints
 * ratios, and does not judge them.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/transport/transport.h"
#include "src/util/clock.h"
#include "tests/bench/measure.h"
#include "tests/bench/transport_pause.h"

enum { TARGET = 2, CALLER = 1, PART = 65536, PORT = 19750, ROUNDS_MAX = 100, OPS_MAX = 2000 };
enum { CLOCK_EACH = 1024 }; /* see about_now */

static const uint8_t key[32] = "the key of a bench and no other";

struct pair {
	const char *name;
	const struct transport_backend *backend; /* NULL: a bare socket */
	const char *address[2];			 /* of caller and target */
	uint16_t port;
	struct clock clock;
	pid_t target;
	struct transport *t; /* the caller's */
	size_t load;	     /* bytes of the target's part of that name */
	int load_fd;	     /* its memory; 0: the transport's own, which the target fills */
	struct mono now;     /* its time, read each CLOCK_EACH uses of it */
	uint32_t uses;
	int fd; /* bare: connected; target: listening */
};

struct load {
	const char *name;
	enum transport_kind kind;
	uint32_t len;
};

static _Noreturn void die(const char *what, int err)
{
	fprintf(stderr, "resex-bench-transport: %s: %s\n", what, strerror(err));
	exit(1);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set); /* as best it can */
}

/* --- one end ------------------------------------------------------------------ */

static struct transport *open_end(struct pair *p, uint16_t me, uint16_t peer)
{
	struct transport_conf c = { .host = me,
				    .generation = (uint64_t)p->clock.now(&p->clock).ns,
				    .cluster = "bench",
				    .key = key,
				    .key_len = sizeof(key),
				    .port = p->port ? (uint16_t)(p->port + me) : 0,
				    .bytes = { PART, PART, me == TARGET ? p->load : 0 },
				    .fd = { 0, 0, me == TARGET ? p->load_fd : 0 } };
	struct transport_peer to = { .host = peer,
				     .name = "peer",
				     .port = p->port ? (uint16_t)(p->port + peer) : 0 };
	struct transport *t = NULL;
	char text[256];
	int rc;

	snprintf(c.address, sizeof(c.address), "%s", p->address[me - 1]);
	snprintf(to.address, sizeof(to.address), "%s", p->address[peer - 1]);
	rc = p->backend->open(&t, &c, p->clock.now(&p->clock), text);
	if (rc)
		die(text, -rc);
	rc = transport_add(t, &to, p->clock.now(&p->clock));
	if (rc)
		die("transport_add", -rc);
	return t;
}

/* What the target has at each place of its part. */
static uint64_t load_word(size_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15ull;
}

/* The target: serves, asleep but for that, until it is killed. */
static _Noreturn void serve(struct pair *p)
{
	struct transport *t = open_end(p, TARGET, CALLER);
	uint64_t *load = transport_part(t, TRANSPORT_LOAD);
	struct transport_event ev[16];

	for (size_t i = 0; !p->load_fd && i < p->load / 8; i++)
		load[i] = load_word(i);
	for (;;) {
		struct mono due = { INT64_MAX }, now = p->clock.now(&p->clock);
		struct pollfd fd = { .fd = transport_fd(t), .events = POLLIN };
		int64_t ms;

		transport_poll(t, now, ev, 16);
		if (transport_arm(t, now, &due))
			continue;
		ms = due.ns == INT64_MAX ? 1000 : (due.ns - now.ns) / NS_PER_MS + 1;
		poll(&fd, 1, ms < 1000 ? (int)ms : 1000);
	}
}

/* A request of 24 bytes asks for so many bytes. */
static _Noreturn void serve_bare(int listener)
{
	static uint8_t answer[TRANSPORT_READ_MAX];
	uint32_t request[6];
	int one = 1, fd = accept(listener, NULL, NULL);

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	while (recv(fd, request, sizeof(request), MSG_WAITALL) == sizeof(request))
		if (send(fd, answer, request[0], MSG_NOSIGNAL) < 0)
			break;
	_exit(0);
}

static void open_bare(struct pair *p)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (p->fd < 0 || bind(p->fd, (struct sockaddr *)&at, len) || listen(p->fd, 1) ||
	    getsockname(p->fd, (struct sockaddr *)&at, &len))
		die("a socket", errno);
	p->port = ntohs(at.sin_port);
}

static void connect_bare(struct pair *p)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(p->port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int one = 1;

	close(p->fd);
	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (p->fd < 0 || connect(p->fd, (struct sockaddr *)&at, sizeof(at)))
		die("connect", errno);
	setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* cpu: where the target runs; -1: anywhere. */
static void pair_start(struct pair *p, int cpu)
{
	struct mono end;
	struct transport_event ev[16];

	clock_real(&p->clock);
	if (!p->backend)
		open_bare(p);
	p->target = fork();
	if (p->target < 0)
		die("fork", errno);
	if (!p->target) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (cpu >= 0)
			pin(cpu);
		if (p->backend)
			serve(p);
		serve_bare(p->fd);
	}
	if (!p->backend) {
		connect_bare(p);
		return;
	}
	p->t = open_end(p, CALLER, TARGET);
	end = mono_add(p->clock.now(&p->clock), 60 * NS_PER_S);
	while (!transport_link(p->t, TARGET)) {
		transport_poll(p->t, p->clock.now(&p->clock), ev, 16);
		if (mono_sub(p->clock.now(&p->clock), end) > 0)
			die("there is no link to the target", ETIMEDOUT);
		p->clock.sleep_until(&p->clock, mono_add(p->clock.now(&p->clock), NS_PER_MS));
	}
}

static void pair_stop(struct pair *p)
{
	kill(p->target, SIGKILL);
	waitpid(p->target, NULL, 0);
	transport_close(p->t);
	if (!p->backend)
		close(p->fd);
}

/* --- one operation --------------------------------------------------------------- */

static void once_bare(const struct pair *p, const struct load *l)
{
	static uint8_t answer[TRANSPORT_READ_MAX];
	uint32_t request[6] = { l->len };
	size_t got = 0;

	if (send(p->fd, request, sizeof(request), MSG_NOSIGNAL) != sizeof(request))
		die("send", errno);
	while (got < l->len) { /* polls, as the caller of a transport does */
		ssize_t n = recv(p->fd, answer, l->len - got, MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN))
			die("recv", errno);
		got += n > 0 ? (size_t)n : 0;
	}
}

/*
 * Where the CPU's counter is not steady, a clock is read by a system call and from a device: for a
 * caller that spins, that is as long as an operation. See transport_poll.
 */
static struct mono about_now(struct pair *p)
{
	if (p->uses++ % CLOCK_EACH == 0)
		p->now = p->clock.now(&p->clock);
	return p->now;
}

static void once(struct pair *p, const struct load *l)
{
	struct mono now = about_now(p);
	struct transport_op op = { .kind = l->kind,
				   .host = TARGET,
				   .part = l->kind == TRANSPORT_READ ? TRANSPORT_TABLE
								     : TRANSPORT_WORDS,
				   .len = l->len,
				   .value = 1,
				   .deadline = mono_add(now, 60 * NS_PER_S) };
	struct transport_event ev[16];
	int why = 0;

	if (transport_post(p->t, &op, 1, now, &why) != 1)
		die("an operation was not taken", -why);
	for (;;) {
		size_t n = transport_poll(p->t, about_now(p), ev, 16);

		for (size_t i = 0; i < n; i++) {
			if (ev[i].type != TRANSPORT_RESULT)
				continue;
			if (ev[i].outcome != TRANSPORT_DONE)
				die("an operation was not done", -ev[i].why);
			return;
		}
	}
}

/* The median of one round, ns. */
static double round_of(struct pair *p, const struct load *l, size_t n)
{
	static double ns[OPS_MAX];

	for (size_t i = 0; i < n; i++) {
		int64_t began = p->clock.now(&p->clock).ns;

		if (p->backend)
			once(p, l);
		else
			once_bare(p, l);
		ns[i] = (double)(p->clock.now(&p->clock).ns - began);
	}
	return measure_median(ns, n);
}

/* --- latency: by backend ----------------------------------------------------------- */

static const struct load loads[] = {
	{ "READ, 8 bytes", TRANSPORT_READ, 8 },
	{ "READ, 4096 bytes", TRANSPORT_READ, 4096 },
	{ "READ, 16384 bytes", TRANSPORT_READ, 16384 },
	{ "CAS64", TRANSPORT_CAS64, 8 },
	{ "FAA64", TRANSPORT_FAA64, 8 },
};

enum { LOADS = sizeof(loads) / sizeof(loads[0]), PAIRS = 3, SHM = 0, TCP, BARE };

static void pairs_on_this_machine(struct pair p[PAIRS], const char *dir)
{
	p[SHM] = (struct pair){ .name = "shm", .address = { dir, dir } };
	p[TCP] = (struct pair){ .name = "tcp", .address = { "127.0.0.1", "127.0.0.1" } };
	p[BARE] = (struct pair){ .name = "socket" };
	p[TCP].port = (uint16_t)(PORT + getpid() % 1000 * 4);
	for (int i = SHM; i <= TCP; i++)
		p[i].backend = transport_find(p[i].name);
}

static void latency(const char *dir)
{
	enum { ROUNDS = 21, OPS = 500 };
	static double ns[LOADS][PAIRS][ROUNDS];
	struct pair p[PAIRS];

	pairs_on_this_machine(p, dir);
	for (int i = 0; i < PAIRS; i++)
		pair_start(&p[i], -1);
	for (int r = 0; r < ROUNDS; r++)
		for (int l = 0; l < LOADS; l++)
			for (int i = 0; i < PAIRS; i++)
				ns[l][i][r] = round_of(&p[i], &loads[l], OPS);
	printf("One operation on this machine, us (medians of %d rounds of %d, taken in turn). The "
	       "caller polls;\nthe target sleeps until woken, which shm never needs. socket: a "
	       "bare "
	       "TCP round trip of the same bytes.\n\n",
	       ROUNDS, OPS);
	printf("%-20s %8s %8s %8s %11s %13s\n", "operation", "shm", "tcp", "socket", "tcp / shm",
	       "tcp / socket");
	for (int l = 0; l < LOADS; l++) {
		double us[PAIRS];

		for (int i = 0; i < PAIRS; i++)
			us[i] = measure_median(ns[l][i], ROUNDS) / 1000;
		printf("%-20s %8.2f %8.2f %8.2f %11.1f %13.2f\n", loads[l].name, us[SHM], us[TCP],
		       us[BARE], us[TCP] / us[SHM], us[TCP] / us[BARE]);
	}
	for (int i = 0; i < PAIRS; i++)
		pair_stop(&p[i]);
}

/* --- onesided: while others load the target ------------------------------------------ */

static pid_t burner(int cpu)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork", errno);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(cpu);
	for (volatile uint64_t n = 0;; n++)
		;
}

/* Medians of both and their 90th percentiles, beside so many that burn the target's CPU. */
static void under_load(struct pair p[2], int burners, int cpu, double us[2], double high[2])
{
	enum { ROUNDS = 9, OPS = 60, ENOUGH_S = 15 };
	double ns[2][ROUNDS], nines[2][ROUNDS], all[OPS];
	struct mono end;
	pid_t pid[64];
	size_t r = 0;

	for (int i = 0; i < burners; i++)
		pid[i] = burner(cpu);
	end = mono_add(p->clock.now(&p->clock), 100 * NS_PER_MS);
	p->clock.sleep_until(&p->clock, end);
	end = mono_add(end, ENOUGH_S * NS_PER_S);
	do {
		for (int i = 0; i < 2; i++) {
			for (int k = 0; k < OPS; k++)
				all[k] = round_of(&p[i], &loads[0], 1);
			ns[i][r] = measure_median(all, OPS);
			nines[i][r] = all[OPS * 9 / 10]; /* measure_median() sorted them */
		}
	} while (++r < ROUNDS && mono_sub(end, p->clock.now(&p->clock)) > 0);
	for (int i = 0; i < burners; i++)
		kill(pid[i], SIGKILL);
	for (int i = 0; i < burners; i++)
		waitpid(pid[i], NULL, 0);
	for (int i = 0; i < 2; i++) {
		us[i] = measure_median(ns[i], r) / 1000;
		high[i] = measure_median(nines[i], r) / 1000;
	}
}

static void onesided(const char *dir, const char *data)
{
	static const int burners[] = { 0, 1, 2, 4, 8, 16, 32, 64 };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int cpu = cpus > 1 ? 1 : 0;
	FILE *f = data ? fopen(data, "w") : NULL;
	struct pair p[PAIRS];
	double idle[2] = { 1, 1 };

	if (data && !f)
		die(data, errno);
	pairs_on_this_machine(p, dir);
	for (int i = 0; i < 2; i++)
		pair_start(&p[i], cpu);
	pin(0);
	printf("READ of 8 bytes while threads load the CPU of the target's process, us (medians of "
	       "at "
	       "most 9 rounds of\n60, taken in turn; and the 90th percentile). Target and load on "
	       "CPU %d, caller on CPU 0%s.\n\n",
	       cpu, cpu ? "" : ": this machine has but one, and the caller is loaded too");
	printf("%-8s %9s %9s %12s %9s %9s %12s\n", "threads", "shm", "90 %", "x its idle", "tcp",
	       "90 %", "x its idle");
	for (size_t b = 0; b < sizeof(burners) / sizeof(burners[0]); b++) {
		double us[2], high[2];

		under_load(p, burners[b], cpu, us, high);
		if (!b)
			memcpy(idle, us, sizeof(idle));
		printf("%-8d %9.2f %9.2f %12.2f %9.2f %9.2f %12.2f\n", burners[b], us[0], high[0],
		       us[0] / idle[0], us[1], high[1], us[1] / idle[1]);
		if (f)
			fprintf(f, "%d %.3f %.3f %.3f %.3f\n", burners[b], us[0], high[0], us[1],
				high[1]);
	}
	printf("\nNeither shm nor soft-RoCE is an HCA. shm needs no process of the target, but its "
	       "caller's own CPU does\nthe work; soft-RoCE serves READs with the target's CPU, in "
	       "its "
	       "kernel. That one-sided READs stay flat\nwhile the target drowns, as the papers' "
	       "figure 9 says, can be shown on hardware only.\n");
	if (f)
		fclose(f);
	for (int i = 0; i < 2; i++)
		pair_stop(&p[i]);
}

/* --- part: a whole part of the largest size -------------------------------------------- */

enum { PART_READS = TRANSPORT_OPTIONAL_MAX / TRANSPORT_READ_MAX };

static void check_load(const struct transport_event *ev)
{
	const uint64_t *word = ev->data;
	size_t first = ev->tag * (TRANSPORT_READ_MAX / 8);

	if (ev->outcome != TRANSPORT_DONE)
		die("a READ was not done", -ev->why);
	for (size_t i = 0; i < TRANSPORT_READ_MAX / 8; i++)
		if (word[i] != load_word(first + i))
			die("a READ brought other bytes than the target has", EBADMSG);
}

/* As many READs are outstanding as a link takes. */
static void read_part(struct pair *p)
{
	struct transport_event ev[16];
	uint32_t posted = 0, done = 0;

	while (done < PART_READS) {
		struct mono now = about_now(p);
		size_t n;

		while (posted < PART_READS && posted - done < TRANSPORT_DEPTH) {
			struct transport_op op = { .kind = TRANSPORT_READ,
						   .host = TARGET,
						   .part = TRANSPORT_LOAD,
						   .offset = posted * TRANSPORT_READ_MAX,
						   .len = TRANSPORT_READ_MAX,
						   .tag = posted,
						   .deadline = mono_add(now, 60 * NS_PER_S) };
			int why = 0;

			if (transport_post(p->t, &op, 1, now, &why) != 1)
				die("a READ was not taken", -why);
			posted++;
		}
		n = transport_poll(p->t, now, ev, 16);
		for (size_t i = 0; i < n; i++)
			if (ev[i].type == TRANSPORT_RESULT) {
				check_load(&ev[i]);
				done++;
			}
	}
}

/* By a process that has nothing of the transport, while the target serves it already. */
static void fill_memory_file(const struct pair *p)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		uint64_t *load = mmap(NULL, p->load, PROT_READ | PROT_WRITE, MAP_SHARED, p->load_fd,
				      0);

		if (load == MAP_FAILED)
			_exit(1);
		for (size_t i = 0; i < p->load / 8; i++)
			load[i] = load_word(i);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		die("the process that fills the part failed", ECHILD);
}

static int part(const char *backend, const char *address, bool memory_file)
{
	struct pair p = { .name = backend,
			  .backend = transport_find(backend),
			  .address = { address, address },
			  .load = TRANSPORT_OPTIONAL_MAX };
	double s[3];

	if (!p.backend)
		return 2;
	p.port = p.backend->has_ports ? PORT : 0;
	if (memory_file)
		p.load_fd = memfd_create("resex-bench", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (p.load_fd < 0 || (memory_file && ftruncate(p.load_fd, (off_t)p.load)))
		die("a memory file", errno);
	pair_start(&p, -1);
	if (memory_file)
		fill_memory_file(&p);
	for (int i = 0; i < 3; i++) {
		int64_t began = p.clock.now(&p.clock).ns;

		read_part(&p);
		s[i] = (double)(p.clock.now(&p.clock).ns - began) / NS_PER_S;
	}
	printf("%s: %d READs of %d bytes, every word as %s wrote it: %.3f s (%.0f MiB/s), "
	       "the median of 3\n",
	       backend, PART_READS, TRANSPORT_READ_MAX,
	       memory_file ? "a third process" : "the target", measure_median(s, 3),
	       64 / measure_median(s, 3));
	if (memory_file)
		close(p.load_fd);
	pair_stop(&p);
	return 0;
}

/* --- verbs: one kind, for sc_transport_bench.py ----------------------------------------- */

/*
 * A caller is preempted by real-time threads alone. A READ over soft-RoCE wakes the kernel's thread
 * for soft interrupts, which finds its work done. How often it preempts the caller for that is the
 * scheduler's choice, by what both ran before: 70 to 94 of 100 times were seen.
 */
static void never_preempted(void)
{
	const struct sched_param p = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &p))
		die("a real-time priority", errno);
}

static int verbs(const char *address, const char *kind, int n)
{
	static const char *const names[] = { "read", "cas64", "faa64" };
	struct pair p = { .name = "verbs", .address = { address, address }, .port = PORT };
	struct load l = { .len = 8 };
	int64_t began;

	for (int i = 0; i < 3; i++)
		if (!strcmp(kind, names[i]))
			l = (struct load){ names[i], (enum transport_kind)i, 8 };
	p.backend = transport_find("verbs");
	if (!p.backend || !l.name || n < 1)
		return 2;
	pair_start(&p, -1);
	never_preempted();
	for (int i = 0; i < 20; i++)
		once(&p, &l);
	began = p.clock.now(&p.clock).ns;
	for (int i = 0; i < n; i++)
		once(&p, &l);
	printf("%.0f\n", (double)(p.clock.now(&p.clock).ns - began) / n);
	pair_stop(&p);
	return 0;
}

/* How long a program took. */
static int took(char **command)
{
	struct clock clock;
	int64_t began;
	int status = 1;
	pid_t pid;

	clock_real(&clock);
	began = clock.now(&clock).ns;
	pid = fork();
	if (!pid) {
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(1);
		never_preempted();
		execvp(command[0], command);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		die(command[0], ECHILD);
	printf("%lld\n", (long long)(clock.now(&clock).ns - began));
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: resex-bench-transport latency | onesided [DATA] | "
			"part shm [memfd] | part tcp|verbs ADDRESS [memfd] | pause shm | pause "
			"tcp|verbs ADDRESS | "
			"verbs ADDRESS read|cas64|faa64 N | took COMMAND...\n");
	return 2;
}

static int longest_pause(const char *backend, const char *address)
{
	const struct transport_backend *b = transport_find(backend);

	if (!b)
		return 2;
	transport_pause(b, address, b->has_ports ? PORT : 0);
	return 0;
}

/* The target was killed, and its socket is still there. */
static void remove_folder(const char *dir)
{
	char path[64];

	for (int n = 1; n <= 5; n++) {
		snprintf(path, sizeof(path), "%s/host-%d.sock", dir, n);
		unlink(path);
	}
	rmdir(dir);
}

/* Are there n arguments, or one more, which is "memfd"? */
static bool has_arguments(int argc, char **argv, int n)
{
	return argc == n || (argc == n + 1 && !strcmp(argv[n], "memfd"));
}

/* What needs a folder for the sockets of shm. */
static int in_folder(int argc, char **argv)
{
	char dir[] = "/tmp/resex-bench-XXXXXX";
	int rc = 0;

	if (!mkdtemp(dir))
		die(dir, errno);
	if (argc == 2 && !strcmp(argv[1], "latency"))
		latency(dir);
	else if ((argc == 2 || argc == 3) && !strcmp(argv[1], "onesided"))
		onesided(dir, argc == 3 ? argv[2] : NULL);
	else if (has_arguments(argc, argv, 3) && !strcmp(argv[1], "part") &&
		 !strcmp(argv[2], "shm"))
		rc = part("shm", dir, argc == 4);
	else if (argc == 3 && !strcmp(argv[1], "pause") && !strcmp(argv[2], "shm"))
		rc = longest_pause("shm", dir);
	else
		rc = usage();
	remove_folder(dir);
	return rc;
}

int main(int argc, char **argv)
{
	int rc;

	if (argc == 5 && !strcmp(argv[1], "verbs"))
		rc = verbs(argv[2], argv[3], atoi(argv[4]));
	else if (argc >= 3 && !strcmp(argv[1], "took"))
		rc = took(argv + 2);
	else if (argc >= 4 && has_arguments(argc, argv, 4) && !strcmp(argv[1], "part") &&
		 strcmp(argv[2], "shm") != 0)
		rc = part(argv[2], argv[3], argc == 5);
	else if (argc == 4 && !strcmp(argv[1], "pause") && strcmp(argv[2], "shm") != 0)
		rc = longest_pause(argv[2], argv[3]);
	else
		return in_folder(argc, argv);
	return rc == 2 ? usage() : rc;
}
