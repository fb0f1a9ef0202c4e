/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rings_both: what holds of libresex-rings.so over libmlx5 and over libmlx4. Included once a
 * program, after rings_rig.h.
 */
#ifndef RESEX_TESTS_RINGS_BOTH_H
#define RESEX_TESTS_RINGS_BOTH_H

#include <dlfcn.h>

#include "tests/unit/rings_rig.h"

#define PROVIDER_LIBRARY (PROVIDER == (int)GUEST_PROVIDER_MLX4 ? "libmlx4" : "libmlx5")

/* Ask the provider itself for a completion queue. 0 or an error. */
static int provider_ask(void *library, struct ibv_cq *cq);

/* --- what is published ---------------------------------------------------------------- */

static void assert_counted(struct rig *r, struct provider_rig *x)
{
	struct rig_qp *q = add(x, IBV_QPT_RC, true);
	struct ring_peers *peers;
	struct mapped sq = { 0 }, cq = { 0 };
	uint64_t newest[RIG_QPS] = { 0 };

	WAIT(host_ring(r, RING_SQ, getpid(), q->qp->qp_num));
	mapped_open(r, &sq, host_ring(r, RING_SQ, getpid(), q->qp->qp_num));
	WAIT(host_ring(r, RING_CQ, getpid(), x->fake_cq->number));
	mapped_open(r, &cq, host_ring(r, RING_CQ, getpid(), x->fake_cq->number));
	assert_int_equal(sq.desc.provider, PROVIDER);
	assert_int_equal(sq.desc.entries, q->fake->blocks);
	assert_int_equal(sq.desc.elem_size, q->fake->block_bytes);
	assert_int_equal(cq.desc.elem_size, x->fake_cq->entry_bytes);
	assert_int_equal(sq.desc.path_mtu, RIG_MTU);
	assert_int_equal(sq.desc.qp_type, GUEST_QP_RC);
	assert_ptr_equal(sq.page[0] + sq.desc.offset, q->fake->sq);
	assert_int_equal(sq.desc.db_frame != 0, q->fake->db != NULL);
	if (q->fake->db)
		assert_ptr_equal(sq.page[sq.desc.frames] + sq.desc.db_offset, q->fake->db);
	assert_ptr_equal(cq.page[0] + cq.desc.offset, x->fake_cq->buf);
	assert_ptr_equal(cq.page[cq.desc.frames] + cq.desc.db_offset, x->fake_cq->db);
	peers = ring_peers_new(&sq.r, 1);
	mapped_sample(&cq, peers);
	mapped_sample(&sq, peers);
	for (int i = 0; i < 300; i++) {
		post_n(x, q, &write_3, 7);
		rig_execute(q, 6);
		poll_all(x, newest, 100);
		mapped_sample(&cq, peers);
		mapped_sample(&sq, peers);
		rig_execute(q, 1);
		poll_all(x, newest, 100);
	}
	mapped_sample(&cq, peers);
	mapped_sample(&sq, peers);
	assert_int_equal(q->want.wrs, 2100);
	assert_totals(sq.r, &q->want);
	free(peers);
	mapped_close(&sq);
	mapped_close(&cq);
	rig_close(x);
	WAIT(host_has_none(r, getpid()));
}

RIG_TEST(rings__send_queue_of_the_provider__is_counted_by_the_host)
{
	assert_counted(*state, start(ENTRIES));
}

/* One kind of queue pair, and what the host is told of it. */
static const struct kind {
	const char *name;
	enum ibv_qp_type type;
	enum ibv_mtu mtu;
	uint32_t says_type, says_mtu;
} kinds[] = {
	{ "rings__rc__has_its_type_and_path_mtu", IBV_QPT_RC, IBV_MTU_4096, GUEST_QP_RC, 4096 },
	{ "rings__uc__has_its_type_and_path_mtu", IBV_QPT_UC, IBV_MTU_256, GUEST_QP_UC, 256 },
	{ "rings__ud__has_no_path_mtu", IBV_QPT_UD, 0, GUEST_QP_UD, 0 },
};

static void kind_is_told(void **state)
{
	const struct kind *k = *state;
	const struct ring_desc *d;
	struct app a;
	struct ibv_qp *qp;
	void *rig;
	struct rig *r;

	setup(&rig);
	r = rig;
	assert_true(app_open(&a));
	qp = app_ready(&a, k->type, k->mtu);
	assert_non_null(qp);
	WAIT(d = host_ring(r, RING_SQ, getpid(), qp->qp_num));
	assert_int_equal(d->qp_type, k->says_type);
	assert_int_equal(d->path_mtu, k->says_mtu);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_true(app_close(&a));
	teardown(&rig);
}
TEST_ROWS(kinds, kind_is_told)

RIG_TEST(rings__created_and_not_ready__is_not_listed)
{
	struct rig *r = *state;
	struct app a;
	struct ibv_qp *first, *second;

	assert_true(app_open(&a));
	first = app_qp(&a, IBV_QPT_RC);
	assert_int_equal(app_modify(first, IBV_QPS_INIT, 0), 0);
	second = app_ready(&a, IBV_QPT_RC, IBV_MTU_1024);
	WAIT(host_ring(r, RING_SQ, getpid(), second->qp_num));
	assert_null(host_ring(r, RING_SQ, getpid(), first->qp_num));
	assert_int_equal(ibv_destroy_qp(first), 0);
	assert_int_equal(ibv_destroy_qp(second), 0);
	assert_true(app_close(&a));
}

/* Where its index begins at 0 again, it is another ring for the host. */
RIG_TEST(rings__reset_and_made_ready__is_another_ring_with_the_new_mtu)
{
	struct rig *r = *state;
	const struct ring_desc *d;
	struct app a;
	struct ibv_qp *qp;
	uint32_t id;

	assert_true(app_open(&a));
	qp = app_ready(&a, IBV_QPT_RC, IBV_MTU_1024);
	WAIT(d = host_ring(r, RING_SQ, getpid(), qp->qp_num));
	id = d->id;
	assert_int_equal(app_modify(qp, IBV_QPS_RESET, 0), 0);
	WAIT(host_look(r) && !host_ring(r, RING_SQ, getpid(), qp->qp_num));
	assert_int_equal(app_modify(qp, IBV_QPS_INIT, 0), 0);
	assert_int_equal(app_modify(qp, IBV_QPS_RTR, IBV_MTU_2048), 0);
	WAIT(d = host_ring(r, RING_SQ, getpid(), qp->qp_num));
	assert_int_equal(d->path_mtu, 2048);
	assert_true(d->id > id);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_true(app_close(&a));
}

RIG_TEST(rings__resized_completion_queue__is_another_ring)
{
	struct rig *r = *state;
	const struct ring_desc *d;
	struct app a;
	struct ibv_qp *qp;

	assert_true(app_open(&a));
	qp = app_ready(&a, IBV_QPT_RC, IBV_MTU_1024);
	WAIT(d = host_ring(r, RING_CQ, getpid(), 0));
	assert_int_equal(d->entries, 64);
	assert_int_equal(ibv_resize_cq(a.cq, 255), 0);
	WAIT((d = host_ring(r, RING_CQ, getpid(), 0)) && d->entries == 256);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_true(app_close(&a));
	WAIT(host_has_none(r, getpid()));
}

/* --- the application is not disturbed -------------------------------------------------- */

RIG_TEST(rings__posts_and_polls__go_to_the_provider_directly)
{
	struct app a;
	struct ibv_qp *qp;
	Dl_info where;

	(void)state;
	assert_true(app_open(&a));
	qp = app_ready(&a, IBV_QPT_RC, IBV_MTU_1024);
	void *calls[] = { (void *)a.context->ops.post_send, (void *)a.context->ops.post_recv,
			  (void *)a.context->ops.poll_cq, (void *)a.context->ops.req_notify_cq };
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		assert_true(dladdr(calls[i], &where));
		assert_non_null(strstr(where.dli_fname, PROVIDER_LIBRARY));
	}
	/* It is there: the functions that it interposes are its own. */
	assert_true(dladdr((void *)ibv_modify_qp, &where));
	assert_non_null(strstr(where.dli_fname, "libresex-rings.so"));
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_true(app_close(&a));
}

static void *provider_library(void)
{
	char name[32];

	snprintf(name, sizeof(name), "%s.so.1", PROVIDER_LIBRARY);
	return dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
}

/* What ibv_poll_cq() finds of a queue pair that is destroyed with completions waiting. */
static int polled_after_destroy(bool asked)
{
	struct provider_rig *x = start(ENTRIES);
	struct rig_qp *q = add(x, IBV_QPT_RC, true);
	void *library = provider_library();
	struct ibv_wc wc;
	int n;

	if (asked)
		assert_int_equal(provider_ask(library, x->cq), 0);
	dlclose(library);
	post_n(x, q, &write_3, 3);
	assert_int_equal(rig_execute(q, 3), 3);
	assert_int_equal(ibv_destroy_qp(q->qp), 0);
	q->qp = NULL;
	n = ibv_poll_cq(x->cq, 1, &wc);
	rig_close(x);
	return n;
}

/* The provider itself, asked for its queue, would make the poll fail. */
RIG_TEST(rings__completion_queue__is_not_marked_by_being_listed)
{
	(void)state;
	assert_int_equal(polled_after_destroy(false), 0);
	assert_int_not_equal(polled_after_destroy(true), 0);
}

/* --- lifetime --------------------------------------------------------------------------- */

/* fn runs in a child, which then waits to be killed. */
static pid_t child(void (*fn)(void))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn();
		for (;;)
			pause();
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void make_one(void)
{
	struct app a;

	if (!app_open(&a) || !app_ready(&a, IBV_QPT_RC, IBV_MTU_1024))
		_exit(1);
}

RIG_TEST(rings__process_killed__its_queues_are_withdrawn)
{
	struct rig *r = *state;
	pid_t pid = child(make_one);

	WAIT(host_ring(r, RING_SQ, pid, 0));
	assert_non_null(host_ring(r, RING_CQ, pid, 0));
	end(pid);
	WAIT(host_has_none(r, pid));
}

/* The call that would end it fails: it is still there. */
RIG_TEST(completion_queue__in_use_and_not_destroyed__is_listed_again)
{
	struct rig *r = *state;
	const struct ring_desc *d;
	struct app a;
	struct ibv_qp *qp;
	uint32_t id;

	assert_true(app_open(&a));
	qp = app_ready(&a, IBV_QPT_RC, IBV_MTU_1024);
	WAIT(d = host_ring(r, RING_CQ, getpid(), 0));
	id = d->id;
	assert_int_equal(ibv_destroy_cq(a.cq), EBUSY);
	WAIT((d = host_ring(r, RING_CQ, getpid(), 0)) && d->id != id);
	assert_non_null(host_ring(r, RING_SQ, getpid(), qp->qp_num));
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_true(app_close(&a));
	WAIT(host_has_none(r, getpid()));
}

/* --- what an operator meets ---------------------------------------------------------------- */

/* A program is started with this in RESEX_RINGS; then, whether its queues are listed. */
struct asked {
	const char *name, *rings, *says;
	bool listed;
};

static void asked_is_listed(void **state)
{
	const struct asked *k = *state;
	struct program p;
	char said[1024];
	uint64_t at;
	void *rig;
	struct rig *r;

	setup(&rig);
	r = rig;
	p = program_start("/proc/self/exe", k->rings, r->sock);
	assert_true(program_says(&p, "ready\n", said, sizeof(said)));
	if (k->says)
		assert_non_null(strstr(said, k->says));
	else
		assert_string_equal(said, "ready\n");
	assert_int_equal(proc_table(p.pid, &at), k->listed ? 0 : -ENOENT);
	if (k->listed)
		WAIT(host_ring(r, RING_SQ, p.pid, 0));
	program_end(&p);
	WAIT(host_has_none(r, p.pid));
	teardown(&rig);
}

#endif
