// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_rings: what libresex-rings.so costs the application into which it is loaded: of a request
 * that is posted and polled, and of a queue pair that is made ready and destroyed.
 *
 * The application is this program over the fake device (tests/fakeverbs), with the distribution's
 * libmlx5 or libmlx4. Three of its processes take turns in one run: one without the library, one
 * with it, and another one without, which shows what two equal processes differ by. What the
 * adapter does between posting and polling is not in the time. Prints ratios; judges nothing.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "resex/queue_table.h"
#include "tests/bench/measure.h"
#include "tests/fakeverbs/fakeverbs.h"

enum {
	LAUNCHES = 20,
	ROUNDS = 100,
	BATCHES = 64,
	BATCH = 32,
	ENTRIES = 63,
	SENDS = 64,
	BYTES = 4096
};

enum part { DATA, CONTROL, PARTS };

/* rounds: how often it is measured. */
static const struct {
	const char *name, *text;
	int rounds;
} parts[PARTS] = {
	{ "post_poll", "post and poll a request", ROUNDS },
	{ "ready_destroy", "make a queue pair ready, destroy it", ROUNDS / 10 },
};

static void die(const char *what, int err)
{
	fprintf(stderr, "resex-bench-rings: %s: %s\n", what, strerror(err));
	exit(1);
}

static double ns_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* --- the application ---------------------------------------------------------------- */

struct app {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct fakeverbs_qp *fake;
	uint8_t buffer[BYTES];
};

static struct ibv_qp *make_ready(const struct app *a)
{
	static const struct {
		enum ibv_qp_state state;
		int mask;
	} steps[] = {
		{ IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT },
		{ IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN },
		{ IBV_QPS_RTS, IBV_QP_SQ_PSN },
	};
	struct ibv_qp_init_attr init = { .send_cq = a->cq,
					 .recv_cq = a->cq,
					 .cap = { SENDS, 16, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp = ibv_create_qp(a->pd, &init);

	if (!qp)
		die("ibv_create_qp", errno);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct ibv_qp_attr attr = { .qp_state = steps[i].state,
					    .port_num = 1,
					    .path_mtu = IBV_MTU_1024 };
		int rc = ibv_modify_qp(qp, &attr, IBV_QP_STATE | steps[i].mask);

		if (rc)
			die("ibv_modify_qp", rc);
	}
	return qp;
}

static void app_open(struct app *a)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	a->context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	if (!a->context)
		die("the provider of the fake device", ENODEV);
	a->pd = ibv_alloc_pd(a->context);
	a->cq = a->pd ? ibv_create_cq(a->context, ENTRIES, NULL, NULL, 0) : NULL;
	a->mr = a->cq ? ibv_reg_mr(a->pd, a->buffer, BYTES, IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!a->mr)
		die("a completion queue and a buffer", errno);
	a->qp = make_ready(a);
	a->fake = fakeverbs_qp(a->qp->qp_num);
}

static void post(struct app *a)
{
	struct ibv_sge sge = { (uintptr_t)a->buffer, BYTES, a->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr = { .rdma = { 0x10000, 7 } } },
			   *bad;
	int rc = ibv_post_send(a->qp, &wr, &bad);

	if (rc)
		die("ibv_post_send", rc);
}

static void poll(struct app *a)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(a->cq, 1, &wc) != 1 || wc.status != IBV_WC_SUCCESS)
		die("ibv_poll_cq", EIO);
}

/* ns a request */
static double post_and_poll(struct app *a)
{
	double ns = 0, began;

	for (int i = 0; i < BATCHES; i++) {
		began = ns_now();
		for (int k = 0; k < BATCH; k++)
			post(a);
		ns += ns_now() - began;
		if (fakeverbs_complete(a->fake, BATCH) != BATCH)
			die("the fake adapter", EIO);
		began = ns_now();
		for (int k = 0; k < BATCH; k++)
			poll(a);
		ns += ns_now() - began;
	}
	return ns / (BATCHES * BATCH);
}

/* ns a queue pair */
static double ready_and_destroy(const struct app *a)
{
	double began = ns_now();

	for (int i = 0; i < BATCH; i++) {
		int rc = ibv_destroy_qp(make_ready(a));

		if (rc)
			die("ibv_destroy_qp", rc);
	}
	return (ns_now() - began) / BATCH;
}

/* Does this process list its queues? */
static bool lists_queues(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	bool found = false;

	while (maps && !found && fgets(line, sizeof(line), maps))
		found = strstr(line, "/memfd:" QUEUE_TABLE_NAME) != NULL;
	if (maps)
		fclose(maps);
	return found;
}

/* A byte on standard input is a part to be measured; its time goes to standard output. */
static int serve(const char *provider, bool listed)
{
	static struct app a;
	uint8_t part;

	if (fakeverbs_begin(&(struct fakeverbs_conf){ provider, 1, 32 }))
		die("the fake device", errno);
	atexit(fakeverbs_end);
	app_open(&a);
	if (lists_queues() != listed)
		die(listed ? "its queues are not listed" : "its queues are listed", EINVAL);
	while (read(0, &part, 1) == 1) {
		double ns = part == DATA ? post_and_poll(&a) : ready_and_destroy(&a);

		if (write(1, &ns, sizeof(ns)) != sizeof(ns))
			die("write", errno);
	}
	return 0;
}

/* --- the run --------------------------------------------------------------------------- */

enum { WITHOUT, WITH, AGAIN, KINDS };

struct process {
	pid_t pid;
	int in, out;
};

/* The other ends of its pipes do not survive the execution. */
static struct process start(const char *provider, const char *library, const char *path)
{
	int in[2], out[2];
	struct process p;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		die("pipe", errno);
	p = (struct process){ fork(), in[1], out[0] };
	if (p.pid < 0)
		die("fork", errno);
	if (p.pid > 0) {
		close(in[0]);
		close(out[1]);
		return p;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(in[0], 0);
	dup2(out[1], 1);
	setenv("RESEX_AGENT_SOCKET", path, 1);
	if (library) {
		setenv("LD_PRELOAD", library, 1);
		setenv("RESEX_RINGS", provider, 1);
	}
	execl("/proc/self/exe", "resex-bench-rings", "--serve", provider, library ? "1" : "0",
	      NULL);
	_exit(1);
}

static double one_round(const struct process *p, enum part part)
{
	uint8_t byte = (uint8_t)part;
	double ns = 0;

	if (write(p->in, &byte, 1) != 1 || read(p->out, &ns, sizeof(ns)) != sizeof(ns))
		die("a process of the application ended", EPIPE);
	return ns;
}

static void end(const struct process *p)
{
	int status;

	close(p->in);
	close(p->out);
	if (waitpid(p->pid, &status, 0) != p->pid || status)
		die("a process of the application failed", EPIPE);
}

/* Takes datagrams as resex-agent does, on a socket at path, until it is killed. */
static pid_t start_agent(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char datagram[256];
	pid_t pid;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)))
		die(path, errno);
	pid = fork();
	if (pid < 0)
		die("fork", errno);
	if (pid > 0) {
		close(fd);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (recv(fd, datagram, sizeof(datagram), 0) >= 0)
		;
	_exit(1);
}

/* All rounds of a part, of all launches. */
struct figures {
	double ns[KINDS][LAUNCHES * ROUNDS], ratio[KINDS][LAUNCHES * ROUNDS];
	size_t n;
};

/* In turns, and each time another one first. Ratios are of the same turn. */
static void measure(const struct process p[KINDS], enum part part, struct figures *f)
{
	for (int k = 0; k < KINDS; k++)
		one_round(&p[k], part); /* caches are cold */
	for (int r = 0; r < parts[part].rounds; r++, f->n++) {
		for (int k = 0; k < KINDS; k++)
			f->ns[(r + k) % KINDS][f->n] = one_round(&p[(r + k) % KINDS], part);
		for (int k = 0; k < KINDS; k++)
			f->ratio[k][f->n] = f->ns[k][f->n] / f->ns[WITHOUT][f->n];
	}
}

static void print_row(const char *provider, enum part part, struct figures *f, bool json,
		      bool first)
{
	double without = measure_median(f->ns[WITHOUT], f->n);
	double with = measure_median(f->ns[WITH], f->n);
	double ratio = measure_median(f->ratio[WITH], f->n);
	double again = measure_median(f->ratio[AGAIN], f->n);

	if (json)
		printf("%s\n  {\"provider\": \"%s\", \"part\": \"%s\", \"without_ns\": %.1f, "
		       "\"with_ns\": %.1f, \"ratio\": %.4f, \"again_ratio\": %.4f}",
		       first ? "" : ",", provider, parts[part].name, without, with, ratio, again);
	else
		printf("%-8s %-34s %10.1f %10.1f %8.3f %8.3f\n", provider, parts[part].text,
		       without, with, ratio, again);
}

/* Where a process has its memory makes a difference, too: so each is launched some times. */
static void run(const char *provider, const char *library, const char *path, bool json, bool first)
{
	static struct figures f[PARTS];

	memset(f, 0, sizeof(f));
	for (int i = 0; i < LAUNCHES; i++) {
		const struct process p[KINDS] = {
			[WITHOUT] = start(provider, NULL, path),
			[WITH] = start(provider, library, path),
			[AGAIN] = start(provider, NULL, path),
		};

		for (enum part part = DATA; part < PARTS; part++)
			measure(p, part, &f[part]);
		for (int k = 0; k < KINDS; k++)
			end(&p[k]);
	}
	for (enum part part = DATA; part < PARTS; part++)
		print_row(provider, part, &f[part], json, first && part == DATA);
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/resex-bench-XXXXXX", path[64];
	bool json = argc == 3 && !strcmp(argv[1], "-j");
	pid_t agent;

	if (argc == 4 && !strcmp(argv[1], "--serve"))
		return serve(argv[2], *argv[3] == '1');
	if (argc != 2 + json) {
		fprintf(stderr, "usage: resex-bench-rings [-j] LIBRARY\n");
		return 2;
	}
	if (!mkdtemp(dir))
		die(dir, errno);
	snprintf(path, sizeof(path), "%s/sock", dir);
	agent = start_agent(path);
	if (json)
		printf("{\"rings\": [");
	else
		printf("What libresex-rings.so costs an application (medians, ns). Processes "
		       "without it, with it, and without\nit again take turns. x with: with / "
		       "without. x again: without again / without: what equal\nprocesses differ "
		       "by. The device is a fake one: without the library, nothing here calls the "
		       "kernel, and a queue\npair is made ready far sooner than on an "
		       "adapter.\n\n%-8s %-34s %10s %10s %8s %8s\n",
		       "provider", "what", "without", "with", "x with", "x again");
	fflush(stdout);
	run("mlx5", argv[argc - 1], path, json, true);
	run("mlx4", argv[argc - 1], path, json, false);
	if (json)
		printf("\n]}\n");
	kill(agent, SIGKILL);
	waitpid(agent, NULL, 0);
	unlink(path);
	rmdir(dir);
	return 0;
}
