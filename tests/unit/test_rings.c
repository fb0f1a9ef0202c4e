// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rings: libresex-rings.so in an application over the fake device of mlx5, whose libmlx5 is the
 * distribution's. The real agent publishes; what the host reads by frame numbers is compared with
 * what the application did.
 */
#include "config.h"

#include "tests/unit/rings_rig.h"

#include <infiniband/mlx5dv.h>

#include "tests/unit/rings_both.h"

static int provider_ask(void *library, struct ibv_cq *cq)
{
	struct mlx5dv_cq out = { 0 };
	struct mlx5dv_obj obj = { .cq = { cq, &out } };
	union {
		void *object;
		int (*call)(struct mlx5dv_obj *obj, uint64_t type);
	} init = { dlsym(library, "mlx5dv_init_obj") };

	return init.object ? init.call(&obj, MLX5DV_OBJ_CQ) : -1;
}

/* --- lifetime --------------------------------------------------------------------------- */

/* Two devices, and one is closed with a queue pair that was not destroyed. */
static void make_two_and_close(void)
{
	struct app a, b;

	if (!app_open(&a) || !app_open(&b) || !app_ready(&a, IBV_QPT_RC, IBV_MTU_1024) ||
	    !app_ready(&b, IBV_QPT_UD, 0))
		_exit(1);
	raise(SIGSTOP);
	if (ibv_close_device(a.context))
		_exit(1);
}

RIG_TEST(rings__device_closed__its_queues_alone_are_withdrawn)
{
	struct rig *r = *state;
	pid_t pid = child(make_two_and_close);

	WAIT(host_look(r) && r->reg.rings == 4);
	WAIT(kill(pid, SIGCONT) == 0 && host_look(r) && r->reg.rings == 2);
	assert_int_equal(host_ring(r, RING_SQ, pid, 0)->qp_type, GUEST_QP_UD);
	assert_non_null(host_ring(r, RING_CQ, pid, 0));
	end(pid);
	WAIT(host_has_none(r, pid));
}

static void make_one_and_exec(void)
{
	make_one();
	raise(SIGSTOP);
	execl("/bin/sleep", "sleep", "1000", NULL);
}

RIG_TEST(rings__program_executed__the_queues_of_the_one_before_are_withdrawn)
{
	struct rig *r = *state;
	pid_t pid = child(make_one_and_exec);

	WAIT(host_ring(r, RING_SQ, pid, 0));
	WAIT(kill(pid, SIGCONT) == 0 && host_has_none(r, pid));
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	end(pid);
}

static void wait_only(void)
{
}

RIG_TEST(rings__child__has_no_table_until_it_makes_a_queue)
{
	struct rig *r = *state;
	struct app a;
	struct ibv_qp *qp;
	uint64_t here, there;
	pid_t idle, busy;

	assert_true(app_open(&a));
	qp = app_ready(&a, IBV_QPT_RC, IBV_MTU_1024);
	WAIT(host_ring(r, RING_SQ, getpid(), qp->qp_num));
	assert_int_equal(proc_table(getpid(), &here), 0);
	idle = child(wait_only);
	assert_int_equal(proc_table(idle, &there), -ENOENT);
	busy = child(make_one);
	WAIT(host_ring(r, RING_SQ, busy, 0));
	end(busy);
	end(idle);
	WAIT(host_has_none(r, busy));
	/* The parent's are still there, though their pages may have moved. */
	WAIT(host_ring(r, RING_SQ, getpid(), qp->qp_num));
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_true(app_close(&a));
	WAIT(host_has_none(r, getpid()));
}

/* Forked children share pages until they are written: a write gives the parent other frames. */
RIG_TEST(rings__frames_change__the_queue_is_published_anew)
{
	struct rig *r = *state;
	struct provider_rig *x = start(ENTRIES);
	struct rig_qp *q = add(x, IBV_QPT_RC, true);
	const struct ring_desc *d;
	struct mapped sq = { 0 };
	uint32_t id;
	pid_t pid;

	WAIT(d = host_ring(r, RING_SQ, getpid(), q->qp->qp_num));
	id = d->id;
	pid = child(wait_only);
	post_n(x, q, &write_3, 1);
	WAIT((d = host_ring(r, RING_SQ, getpid(), q->qp->qp_num)) && d->id != id);
	end(pid);
	mapped_open(r, &sq, d);
	assert_ptr_equal(sq.page[0] + sq.desc.offset, q->fake->sq);
	mapped_close(&sq);
	rig_execute(q, 1);
	rig_close(x);
}

/* Makes, posts to and destroys queue pairs until it is killed. */
static void churn(void)
{
	struct app a;

	if (!app_open(&a))
		_exit(1);
	for (;;) {
		struct ibv_qp *qp[3];

		for (int i = 0; i < 3; i++)
			qp[i] = app_ready(&a, IBV_QPT_RC, IBV_MTU_1024);
		for (int i = 0; i < 3; i++)
			if (!qp[i] || ibv_destroy_qp(qp[i]))
				_exit(1);
	}
}

RIG_TEST(rings__killed_at_any_moment__nothing_stays)
{
	struct rig *r = *state;
	struct prop p;
	int seen = 0;

	prop_start(&p);
	for (int i = 0; i < 30; i++) {
		pid_t pid = child(churn);
		int status;

		if (prop_one_in(&p, 2)) /* else soon, perhaps before its first queue */
			WAIT(host_look(r) && r->reg.rings);
		usleep((useconds_t)prop_range(&p, 0, 20000));
		for (uint64_t k = prop_range(&p, 0, 20); k > 0; k--)
			seen += host_ring(r, RING_SQ, pid, 0) != NULL;
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		WAIT(host_has_none(r, pid));
	}
	assert_true(seen > 0);
}

RIG_TEST(rings__agent_killed__the_next_one_finds_all_tables)
{
	struct rig *r = *state;
	pid_t pid = child(make_one);
	struct app a;
	struct ibv_qp *qp;

	WAIT(host_ring(r, RING_SQ, pid, 0));
	agent_kill(r);
	/* Without an agent the application runs the same. */
	assert_true(app_open(&a));
	qp = app_ready(&a, IBV_QPT_RC, IBV_MTU_1024);
	assert_non_null(qp);
	agent_start(r);
	WAIT(host_ring(r, RING_SQ, pid, 0));
	WAIT(host_ring(r, RING_CQ, pid, 0));
	WAIT(host_ring(r, RING_SQ, getpid(), qp->qp_num));
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_true(app_close(&a));
	end(pid);
	WAIT(host_has_none(r, pid));
}

/* --- what an operator meets ---------------------------------------------------------------- */

static const struct asked askeds[] = {
	{ "asked__for_nothing__nothing_is_listed", NULL, NULL, false },
	{ "asked__for_an_empty_list__nothing_is_listed", "", NULL, false },
	{ "asked__for_another_provider__nothing_is_listed", "rxe", NULL, false },
	{ "asked__for_mlx5__is_listed", "mlx5", NULL, true },
	{ "asked__for_mlx4__nothing_of_mlx5_is_taken_for_it", "mlx4", NULL, false },
	{ "asked__for_all__is_listed", "rxe,mlx4,mlx5", NULL, true },
	{ "asked__for_what_there_is_not__says_so_and_lists_nothing", "mlx5,mlx6",
	  "libresex-rings: no queues are listed: RESEX_RINGS has \"mlx6\": it takes mlx5, mlx4 and "
	  "rxe",
	  false },
};

TEST_ROWS(askeds, asked_is_listed)

/* As in a container into which the socket was not mounted. */
RIG_TEST(socket__is_not_there__one_sentence_says_what_to_do)
{
	struct rig *r = *state;
	struct program p;
	char said[1024];

	(void)r;
	p = program_start("/proc/self/exe", "mlx5", "/nonexistent/sock");
	assert_true(program_says(&p, "ready\n", said, sizeof(said)));
	assert_non_null(strstr(said,
			       "libresex-rings: the host does not read this program's queues: "
			       "/nonexistent/sock: No such file or directory; start resex-agent"));
	assert_ptr_equal(strchr(said, '\n') + 1, strstr(said, "ready\n"));
	program_end(&p);
}

/* libibverbs is not among the program's own libraries, and goes again. */
RIG_TEST(libibverbs__loaded_and_unloaded_with_a_plugin__its_queues_come_and_go)
{
	struct rig *r = *state;
	struct program p = program_start("tests/unit/rings_loader", "mlx5", r->sock);
	char said[1024];

	for (int i = 0; i < 2; i++) {
		assert_true(program_says(&p, "ready\n", said, sizeof(said)));
		WAIT(host_ring(r, RING_SQ, p.pid, 0));
		assert_int_equal(write(p.in, "\n", 1), 1);
	}
	WAIT(host_has_none(r, p.pid));
	program_end(&p);
}
