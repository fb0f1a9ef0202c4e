// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agentlife: what resex-agent shows while processes make, inherit, resize,
 * destroy and lose queues; and how long it takes.
 *
 *	resex-agent --no-xen FILE &
 *	agentlife FILE [ROUNDS]
 *
 * Each scenario says what FILE must show next and waits for it, at most
 * WAIT_MS; a state that does not come is a failure. The times are printed,
 * and nothing depends on them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "resex/guest_abi.h"

enum { WAIT_MS = 4000, PAGES = 97 };

static const volatile uint8_t *file;
static unsigned int failures;

struct lag {
	const char *what;
	double sum, max;
	unsigned int n, missed;
};

static void die(const char *what)
{
	fprintf(stderr, "agentlife: %s: %s\n", what, strerror(errno));
	exit(2);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* --- what the agent shows ------------------------------------------------------ */

struct shown {
	unsigned int sq, cq;   /* rings of the process */
	uint32_t id_sq, id_cq; /* the newest of them */
	uint32_t slots_cq;     /* of the newest completion queue */
};

static void read_registry(uint32_t pid, struct shown *s)
{
	const volatile struct guest_registry *r = (const volatile struct guest_registry *)file;

	memset(s, 0, sizeof(*s));
	for (uint32_t i = 0; i < r->directories; i++) {
		const volatile struct guest_directory *d =
			(const volatile struct guest_directory *)(file +
								  r->directory[i].ref * GUEST_PAGE);

		for (uint32_t k = 0; k < GUEST_RINGS_PER_DIRECTORY; k++) {
			const volatile struct guest_ring *g = &d->ring[k];

			if (!g->id || g->pid != pid)
				continue;
			if (g->kind == GUEST_RING_SQ) {
				s->sq++;
				s->id_sq = g->id > s->id_sq ? g->id : s->id_sq;
			} else if (g->id > s->id_cq) {
				s->id_cq = g->id;
				s->slots_cq = g->entries;
			}
			s->cq += g->kind == GUEST_RING_CQ;
		}
	}
}

static uint32_t generation(void)
{
	return ((const volatile struct guest_registry *)file)->generation;
}

/* A consistent look: the agent's own rules of reading. */
static void look(uint32_t pid, struct shown *s)
{
	uint32_t before;

	do {
		before = generation();
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		read_registry(pid, s);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (before & 1 || before != generation());
}

/* Wait until the process has so many rings. The milliseconds, or -1. */
static double await(uint32_t pid, unsigned int sq, unsigned int cq, struct shown *s)
{
	double start = now_ms();

	for (;;) {
		look(pid, s);
		if (s->sq == sq && s->cq == cq)
			return now_ms() - start;
		if (now_ms() - start > WAIT_MS)
			return -1;
		usleep(300);
	}
}

static void expect(const char *what, uint32_t pid, unsigned int sq, unsigned int cq,
		   struct shown *s)
{
	if (await(pid, sq, cq, s) >= 0)
		return;
	printf("FAIL %s: %u send and %u completion queues shown, %u and %u are there\n", what,
	       s->sq, s->cq, sq, cq);
	failures++;
}

static void check(const char *what, bool ok)
{
	if (ok)
		return;
	printf("FAIL %s\n", what);
	failures++;
}

static void count(struct lag *l, double ms)
{
	if (ms < 0) {
		l->missed++;
		failures++;
		return;
	}
	l->n++;
	l->sum += ms;
	l->max = ms > l->max ? ms : l->max;
}

static void print_lag(const struct lag *l)
{
	printf("LAG %-32s n %u mean %.2f ms max %.2f ms missed %u\n", l->what, l->n,
	       l->n ? l->sum / l->n : 0, l->max, l->missed);
	fflush(stdout);
}

/* --- queues -------------------------------------------------------------------- */

struct queues {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static struct ibv_device *first_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list || !list[0])
		die("no RDMA device");
	return list[0];
}

static struct ibv_qp *make_qp(struct queues *q, uint32_t recv_sge)
{
	struct ibv_qp_init_attr a = { .send_cq = q->cq,
				      .recv_cq = q->cq,
				      .qp_type = IBV_QPT_RC,
				      .cap = { .max_send_wr = 16,
					       .max_recv_wr = 16,
					       .max_send_sge = 1,
					       .max_recv_sge = recv_sge } };
	struct ibv_qp *qp = ibv_create_qp(q->pd, &a);

	if (!qp)
		die("ibv_create_qp");
	return qp;
}

static void open_queues(struct queues *q)
{
	q->ctx = ibv_open_device(first_device());
	if (!q->ctx)
		die("ibv_open_device");
	q->pd = ibv_alloc_pd(q->ctx);
	q->cq = ibv_create_cq(q->ctx, 10, NULL, NULL, 0);
	if (!q->pd || !q->cq)
		die("ibv_create_cq");
	q->qp = make_qp(q, 1);
}

static void close_queues(struct queues *q)
{
	if ((q->qp && ibv_destroy_qp(q->qp)) || ibv_destroy_cq(q->cq) || ibv_dealloc_pd(q->pd) ||
	    ibv_close_device(q->ctx))
		die("ibv_destroy");
}

/* A child that runs fn, says so, and then waits to be killed. */
static pid_t child(void (*fn)(void))
{
	int fd[2];
	pid_t pid;
	char c;

	if (pipe(fd))
		die("pipe");
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		fn();
		(void)!write(fd[1], "x", 1);
		for (;;)
			pause();
	}
	close(fd[1]);
	if (read(fd[0], &c, 1) != 1)
		die("child");
	close(fd[0]);
	return pid;
}

static void kill_and_reap(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void open_in_child(void)
{
	static struct queues q;

	open_queues(&q);
}

/* --- scenarios ----------------------------------------------------------------- */

static void open_and_create(unsigned int rounds)
{
	struct lag made = { .what = "device opened, queues created" };
	struct lag gone = { .what = "destroyed soon after" };
	uint32_t me = (uint32_t)getpid();
	struct shown s;

	for (unsigned int i = 0; i < rounds; i++) {
		struct queues q;

		open_queues(&q);
		count(&made, await(me, 1, 1, &s));
		ibv_destroy_qp(q.qp);
		q.qp = NULL;
		count(&gone, await(me, 0, 1, &s));
		close_queues(&q);
		usleep(20000 + (useconds_t)(rand() % 50000));
		if (i % 4 == 3)
			sleep(1);
	}
	print_lag(&made);
	print_lag(&gone);
}

static void create_when_quiet(unsigned int rounds)
{
	struct lag made = { .what = "created by a quiet process" };
	struct lag gone = { .what = "destroyed by a quiet process" };
	uint32_t me = (uint32_t)getpid();
	struct queues q;
	struct shown s;

	open_queues(&q);
	expect("quiet: first", me, 1, 1, &s);
	for (unsigned int i = 0; i < rounds; i++) {
		struct ibv_qp *qp;

		usleep(700000 + (useconds_t)(rand() % 100000));
		qp = make_qp(&q, 1);
		count(&made, await(me, 2, 1, &s));
		usleep(700000 + (useconds_t)(rand() % 100000));
		ibv_destroy_qp(qp);
		count(&gone, await(me, 1, 1, &s));
	}
	close_queues(&q);
	print_lag(&made);
	print_lag(&gone);
}

static void killed(unsigned int rounds)
{
	struct lag gone = { .what = "process killed" };
	struct shown s;

	for (unsigned int i = 0; i < rounds; i++) {
		pid_t pid = child(open_in_child);

		expect("killed: before", (uint32_t)pid, 1, 1, &s);
		if (i % 2)
			sleep(1);
		kill_and_reap(pid);
		count(&gone, await((uint32_t)pid, 0, 0, &s));
	}
	print_lag(&gone);
}

static void remade_at_once(void)
{
	uint32_t me = (uint32_t)getpid(), before;
	struct queues q;
	struct shown s;

	open_queues(&q);
	expect("remade: before", me, 1, 1, &s);
	for (int i = 0; i < 20; i++) {
		double start = now_ms();

		before = s.id_sq;
		ibv_destroy_qp(q.qp);
		q.qp = make_qp(&q, 1);
		do
			look(me, &s);
		while ((s.sq != 1 || s.id_sq == before) && now_ms() - start < WAIT_MS &&
		       !usleep(300));
		if (s.sq != 1 || s.id_sq == before) {
			check("remade: a queue pair made in place of another has a new id", false);
			break;
		}
		usleep((useconds_t)(rand() % 60000));
	}
	close_queues(&q);
	expect("remade: after", me, 0, 0, &s);
}

static void resized(void)
{
	uint32_t me = (uint32_t)getpid(), sq, cq;
	struct queues q;
	struct shown s;
	double start;

	open_queues(&q);
	expect("resized: before", me, 1, 1, &s);
	sq = s.id_sq;
	cq = s.id_cq;
	if (ibv_resize_cq(q.cq, 100))
		die("ibv_resize_cq");
	for (start = now_ms(); now_ms() - start < WAIT_MS; usleep(300)) {
		look(me, &s);
		if (s.cq == 1 && s.slots_cq == 128)
			break;
	}
	check("resized: the new ring is shown", s.cq == 1 && s.slots_cq == 128);
	check("resized: under a new id", s.id_cq != cq);
	check("resized: the send queue keeps its id", s.sq == 1 && s.id_sq == sq);
	close_queues(&q);
	expect("resized: after", me, 0, 0, &s);
}

static pid_t heir;

static void open_and_fork(void)
{
	open_in_child();
	usleep(100000);
	heir = fork();
	if (heir == 0)
		for (;;)
			pause();
}

/* The parent exits while a child still maps the rings. wait_s: was the child noticed before? */
static void inherited(unsigned int wait_s)
{
	pid_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct shown s, after;
	int fd[2];
	pid_t pid;
	char c;

	if (shared == MAP_FAILED || pipe(fd))
		die("inherited");
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		open_and_fork();
		*shared = heir;
		(void)!write(fd[1], "x", 1);
		for (;;)
			pause();
	}
	if (read(fd[0], &c, 1) != 1)
		die("inherited");
	expect("inherited: shown once", (uint32_t)pid, 1, 1, &s);
	sleep(wait_s);
	look((uint32_t)*shared, &after);
	check("inherited: not shown for the child", after.sq + after.cq == 0);
	kill_and_reap(pid);
	usleep(300000);
	look((uint32_t)pid, &after);
	check("inherited: stays when the parent exits", after.sq == 1 && after.cq == 1);
	check("inherited: under the same id", after.id_sq == s.id_sq && after.id_cq == s.id_cq);
	kill(*shared, SIGKILL);
	expect("inherited: gone with the last", (uint32_t)pid, 0, 0, &s);
	munmap(shared, 4096);
}

static void exec_away(void)
{
	struct queues q;
	struct shown s;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		open_queues(&q);
		sleep(1);
		execlp("sleep", "sleep", "30", (char *)NULL);
		_exit(127);
	}
	expect("exec: before", (uint32_t)pid, 1, 1, &s);
	expect("exec: the rings went with the old program", (uint32_t)pid, 0, 0, &s);
	kill_and_reap(pid);
}

/* Two large receive queues are only told from send queues by what is written. */
static void settled_by_entries(void)
{
	uint32_t me = (uint32_t)getpid();
	struct ibv_srq_init_attr sa = { .attr = { .max_wr = 16, .max_sge = 8 } };
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
	struct ibv_sge sge[1] = { 0 };
	static char buf[4096];
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct queues q;
	struct ibv_qp *qp;
	struct shown s;

	open_queues(&q);
	expect("entries: before", me, 1, 1, &s);
	srq = ibv_create_srq(q.pd, &sa); /* nobody uses it: it could have been made at any time */
	qp = make_qp(&q, 8);
	mr = ibv_reg_mr(q.pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	if (!srq || !mr)
		die("entries");
	usleep(300000);
	look(me, &s);
	check("entries: nothing is guessed", s.sq == 1);
	sge[0] = (struct ibv_sge){ (uintptr_t)buf, 2048, mr->lkey };
	wr.sg_list = sge;
	wr.num_sge = 1;
	if (ibv_post_srq_recv(srq, &wr, &bad))
		die("ibv_post_srq_recv");
	expect("entries: a receive settles it", me, 2, 1, &s);
	ibv_destroy_qp(qp);
	ibv_destroy_srq(srq);
	ibv_dereg_mr(mr);
	close_queues(&q);
	expect("entries: after", me, 0, 0, &s);
}

/* More queues than the ABI has room for: as many as fit, and all again when there is room. */
static void more_than_fit(void)
{
	enum { MANY = 280 };
	uint32_t me = (uint32_t)getpid();
	struct ibv_qp *qp[MANY];
	struct queues q;
	struct shown s;

	open_queues(&q);
	for (int i = 0; i < MANY; i++)
		qp[i] = make_qp(&q, 1);
	expect("many: as many as fit", me, GUEST_RINGS_MAX - 1, 1, &s);
	for (int i = 0; i < MANY - 20; i++)
		ibv_destroy_qp(qp[i]);
	expect("many: the others take their place", me, 21, 1, &s);
	for (int i = MANY - 20; i < MANY; i++)
		ibv_destroy_qp(qp[i]);
	close_queues(&q);
	expect("many: after", me, 0, 0, &s);
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 2 ? (unsigned int)atoi(argv[2]) : 8;
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	void *p;

	if (fd < 0) {
		fputs("usage: agentlife FILE [ROUNDS], FILE being that of resex-agent --no-xen\n",
		      stderr);
		return 2;
	}
	p = mmap(NULL, PAGES * GUEST_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die(argv[1]);
	file = (const volatile uint8_t *)p;
	signal(SIGCHLD, SIG_DFL);
	open_and_create(rounds);
	create_when_quiet(rounds / 2);
	killed(rounds);
	remade_at_once();
	resized();
	inherited(0);
	inherited(3);
	exec_away();
	settled_by_entries();
	more_than_fit();
	printf("%u failures\n", failures);
	return failures ? 1 : 0;
}
