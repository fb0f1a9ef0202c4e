// SPDX-License-Identifier: GPL-2.0-or-later
/* rdmaodd_cases: what rdmaodd can do. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/system/src/rdmaodd.h"

/* Room for all that two queue pairs may have waiting in one completion queue. */
enum { CQ_PAIR = 300 };

/* Is this one of the kinds asked for? All are, unless -k names some. */
static bool wanted(const struct odd *o, const char *kind)
{
	size_t n = strlen(kind);

	for (const char *p = o->kinds; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (!strncmp(p, kind, n) && (p[n] == ',' || !p[n]))
			return true;
	}
	return !o->kinds;
}

/* Two connected queue pairs of this shape, whose queues are those of cq. */
static struct odd_qp *make_pair(struct odd *o, enum load_type type, uint32_t cq, uint32_t depth)
{
	const struct odd_shape s = { type, cq, cq, NULL, depth, 0 };
	struct odd_qp *a = odd_qp(o, &s), *b = odd_qp(o, &s);

	odd_connect(a, b);
	return a;
}

/* --- mix: kinds of queue pairs --------------------------------------------------- */

/* One with separate completion queues for sends and receives, one with the same for all. */
static void make_rc(struct odd *o)
{
	uint32_t sends = odd_cq(o, CQ_PAIR), recvs = odd_cq(o, CQ_PAIR);
	const struct odd_shape s = { LOAD_RC, sends, recvs, NULL, 0, 0 };
	struct odd_qp *a = odd_qp(o, &s), *b = odd_qp(o, &s);

	odd_connect(a, b);
	make_pair(o, LOAD_RC, odd_cq(o, CQ_PAIR), 0);
}

/* Each sends to itself and to one other. */
static void make_ud(struct odd *o)
{
	make_pair(o, LOAD_UD, odd_cq(o, CQ_PAIR), 0);
}

/* The three far ends share a receive queue; three near ends a completion queue. */
static void make_srq(struct odd *o)
{
	struct odd_srq *srq = odd_srq(o, 100);
	uint32_t near = odd_cq(o, 2 * CQ_PAIR), far = odd_cq(o, 2 * CQ_PAIR);

	for (int i = 0; i < 3; i++) {
		struct odd_qp *a = odd_qp(o,
					  &(struct odd_shape){ LOAD_RC, near, near, NULL, 0, 0 });
		struct odd_qp *b = odd_qp(o, &(struct odd_shape){ LOAD_RC, far, far, srq, 0, 0 });

		odd_connect(a, b);
	}
}

static void make_resized(struct odd *o)
{
	uint32_t a = odd_cq(o, CQ_PAIR), b = odd_cq(o, CQ_PAIR);
	struct odd_qp *x = odd_qp(o, &(struct odd_shape){ LOAD_RC, a, a, NULL, 0, 0 });
	struct odd_qp *y = odd_qp(o, &(struct odd_shape){ LOAD_RC, b, b, NULL, 0, 0 });

	o->resized = (int)a;
	odd_connect(x, y);
}

static void prepare_mix(struct odd *o)
{
	if (wanted(o, "rc"))
		make_rc(o);
	if (wanted(o, "uc"))
		make_pair(o, LOAD_UC, odd_cq(o, CQ_PAIR), 0);
	if (wanted(o, "ud"))
		make_ud(o);
	if (wanted(o, "srq"))
		make_srq(o);
	if (wanted(o, "resize"))
		make_resized(o);
	odd_first(o);
}

/* --- fork: processes that share queues -------------------------------------------- */

static pid_t child(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		odd_die("fork", errno);
	return pid;
}

/* A child that only holds the mappings, while its parent works and until it ends. */
static void run_sleeper(struct odd *o)
{
	if (child() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	odd_work(o);
}

/* The parent works and dies; its child has the queues from then on. */
static void run_orphan(struct odd *o)
{
	pid_t parent = getpid();

	if (child()) {
		odd_work(o);
		_exit(0);
	}
	while (getppid() == parent)
		usleep(1000);
}

/* The child dies in the middle of its parent's work. */
static void run_brief(struct odd *o)
{
	pid_t pid = child();
	int status;

	if (pid == 0) {
		usleep(100000);
		_exit(0);
	}
	odd_work(o);
	waitpid(pid, &status, 0);
	odd_work(o);
}

/* --- table ------------------------------------------------------------------------ */

const struct odd_case odd_cases[] = {
	{ "mix", "kinds rc, uc, ud, srq, resize at once", prepare_mix, odd_work },
	{ "sleeper", "a forked child holds the queues and sleeps", odd_prepare_pairs, run_sleeper },
	{ "brief", "a forked child dies while its parent works", odd_prepare_pairs, run_brief },
	{ "orphan", "the parent works and dies, its child keeps the queues", odd_prepare_pairs,
	  run_orphan },
	{ "reset", "RESET while work is under way, and use again", odd_prepare_pairs,
	  odd_run_reset },
	{ "errors", "accesses refused, receivers not ready, all flushed, and use again",
	  odd_prepare_pairs, odd_run_errors },
	{ "many", "150 queue pairs (270: -k more), each with a completion queue", odd_prepare_many,
	  odd_work },
	{ "short", "COUNT pairs one after the other, PACE_US apart", odd_prepare_none,
	  odd_run_short },
	{ "forge", "a word of a ring's header is false", odd_prepare_pairs, odd_run_forge },
	{ "writer", "a forked child posts as well", odd_prepare_pairs, odd_run_writer },
};

const uint32_t odd_cases_n = sizeof(odd_cases) / sizeof(odd_cases[0]);
