/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rings_app: an application that uses libibverbs. Its calls are not asserted: it also runs in
 * children and in programs of its own.
 */
#ifndef RESEX_TESTS_RINGS_APP_H
#define RESEX_TESTS_RINGS_APP_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>

struct app {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
};

static inline bool app_open(struct app *a)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	*a = (struct app){ .context = list && list[0] ? ibv_open_device(list[0]) : NULL };
	if (list)
		ibv_free_device_list(list);
	if (a->context)
		a->pd = ibv_alloc_pd(a->context);
	if (a->pd)
		a->cq = ibv_create_cq(a->context, 63, NULL, NULL, 0);
	return a->cq;
}

static inline bool app_close(const struct app *a)
{
	return !ibv_destroy_cq(a->cq) && !ibv_dealloc_pd(a->pd) && !ibv_close_device(a->context);
}

static inline struct ibv_qp *app_qp(const struct app *a, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = a->cq, .recv_cq = a->cq, .cap = { 64, 16, 4, 1, 128 }, .qp_type = type
	};

	return ibv_create_qp(a->pd, &attr);
}

static inline int app_modify(struct ibv_qp *qp, enum ibv_qp_state state, enum ibv_mtu mtu)
{
	struct ibv_qp_attr a = { .qp_state = state, .path_mtu = mtu, .port_num = 1 };
	int mask = IBV_QP_STATE;

	if (state == IBV_QPS_INIT)
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (state == IBV_QPS_RTR && mtu)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	return ibv_modify_qp(qp, &a, mask);
}

/* Ready to receive, which is when it is listed. */
static inline struct ibv_qp *app_ready(const struct app *a, enum ibv_qp_type type, enum ibv_mtu mtu)
{
	struct ibv_qp *qp = app_qp(a, type);

	if (!qp || app_modify(qp, IBV_QPS_INIT, 0) || app_modify(qp, IBV_QPS_RTR, mtu))
		return NULL;
	return qp;
}

/* A program: makes a queue pair, says so, ends when its input does. Its exit status. */
static inline int app_run(void)
{
	struct app a;
	struct ibv_qp *qp = app_open(&a) ? app_ready(&a, IBV_QPT_RC, IBV_MTU_1024) : NULL;

	if (!qp)
		return 1;
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return ibv_destroy_qp(qp) || !app_close(&a);
}

#endif
