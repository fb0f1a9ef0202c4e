// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * queue_memory: queue pairs and completion queues -> entries of the table. See queue_memory.h.
 *
 * libmlx5 says where its queues are by mlx5dv_init_obj(). It is not linked: a process that does not
 * use mlx5 does not load it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* dlvsym, process_vm_readv */
#endif
#include <dlfcn.h>
#include <infiniband/mlx5dv.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ibmon/rings/queue_memory.h"
#include "resex/guest_abi.h"

#define MLX5_LIBRARY "libmlx5.so.1"

enum { COPY_BYTES = 4096, PAGE = 4096 };

int queue_memory_providers(const char *text, const char **bad, int *len)
{
	int set = 0;

	while (*text) {
		int n = (int)strcspn(text, ",");

		if (n == 4 && !memcmp(text, "mlx5", 4)) {
			set |= RINGS_MLX5;
		} else if (n == 3 && !memcmp(text, "rxe", 3)) {
			set |= RINGS_RXE;
		} else {
			*bad = text;
			*len = n;
			return -1;
		}
		text += n + (text[n] == ',');
	}
	return set;
}

typedef int init_obj_fn(struct mlx5dv_obj *obj, uint64_t type);

/*
 * NULL: the process has not loaded the provider. It is looked up each time: these are calls that
 * take the kernel far longer.
 */
static init_obj_fn *mlx5_init_obj(void **library)
{
	union {
		void *object;
		init_obj_fn *function;
	} found = { NULL };

	*library = dlopen(MLX5_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
	if (*library)
		found.object = dlvsym(*library, "mlx5dv_init_obj", "MLX5_1.2");
	return found.function;
}

/* 0: *obj is filled in; else it is no object of mlx5. */
static int mlx5_ask(struct mlx5dv_obj *obj, uint64_t type)
{
	void *library;
	init_obj_fn *ask = mlx5_init_obj(&library);
	int rc = ask ? ask(obj, type) : -1;

	if (library)
		dlclose(library);
	return rc;
}

/*
 * The types whose send queue libmlx5 can be asked for. Others have none, or, as those that are
 * dynamically connected, may have none, and libmlx5 does not check that.
 */
static enum guest_qp_type type_of(const struct ibv_qp *qp)
{
	switch (qp->qp_type) {
	case IBV_QPT_RC:
		return GUEST_QP_RC;
	case IBV_QPT_UC:
		return GUEST_QP_UC;
	case IBV_QPT_UD:
		return GUEST_QP_UD;
	case IBV_QPT_XRC_SEND:
		return GUEST_QP_XRC;
	case IBV_QPT_RAW_PACKET:
		return GUEST_QP_RAW;
	default:
		return GUEST_QP_UNKNOWN;
	}
}

static bool mlx5_qp(struct ibv_qp *qp, struct queue_entry *e)
{
	struct mlx5dv_qp q = { 0 };
	struct mlx5dv_obj obj = { .qp = { .in = qp, .out = &q } };

	if (mlx5_ask(&obj, MLX5DV_OBJ_QP) || !q.sq.wqe_cnt || !q.dbrec)
		return false;
	e->provider = GUEST_PROVIDER_MLX5;
	e->elem_size = q.sq.stride;
	e->entries = q.sq.wqe_cnt;
	e->address = (uint64_t)(uintptr_t)q.sq.buf;
	e->doorbell = (uint64_t)(uintptr_t)q.dbrec;
	return true;
}

/* Of soft-RoCE, the kernel says to which network device the device belongs. */
static bool is_rxe(const struct ibv_context *context)
{
	char path[IBV_SYSFS_PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/parent", context->device->ibdev_path);
	return access(path, F_OK) == 0;
}

bool queue_memory_qp(int providers, struct ibv_qp *qp, uint32_t path_mtu, struct queue_entry *e)
{
	enum guest_qp_type type = type_of(qp);

	*e = (struct queue_entry){
		.kind = GUEST_RING_SQ, .number = qp->qp_num, .qp_type = type, .path_mtu = path_mtu
	};
	if (type == GUEST_QP_UNKNOWN)
		return false;
	if ((providers & RINGS_MLX5) && mlx5_qp(qp, e))
		return true;
	e->provider = GUEST_PROVIDER_RXE;
	return (providers & RINGS_RXE) && is_rxe(qp->context);
}

/*
 * Copy as much as is mapped of COPY_BYTES, which is more than the library's object has. In pieces
 * of pages: the kernel copies the whole of a piece, or nothing.
 */
static size_t copy_mapped(void *to, const void *from)
{
	size_t first = PAGE - (uintptr_t)from % PAGE;
	struct iovec local = { to, COPY_BYTES };
	struct iovec remote[2] = { { (void *)(uintptr_t)from, first },
				   { (uint8_t *)(uintptr_t)from + first, COPY_BYTES - first } };
	ssize_t n = process_vm_readv(getpid(), &local, 1, remote, 2, 0);

	return n < 0 ? 0 : (size_t)n;
}

/*
 * Asking libmlx5 for a completion queue marks it as one that the application polls by itself: from
 * then on, libmlx5 leaves completions of destroyed queue pairs in it, and ibv_poll_cq() fails on
 * them. So a copy of its object is asked for, and the copy gets the mark.
 */
bool queue_memory_cq(int providers, struct ibv_cq *cq, struct queue_entry *e)
{
	union {
		struct ibv_cq cq;
		uint8_t bytes[COPY_BYTES];
	} copy = { .bytes = { 0 } };
	struct mlx5dv_cq q = { 0 };
	struct mlx5dv_obj obj = { .cq = { .in = &copy.cq, .out = &q } };

	if (!(providers & RINGS_MLX5) || copy_mapped(copy.bytes, cq) < sizeof(*cq) ||
	    mlx5_ask(&obj, MLX5DV_OBJ_CQ))
		return false;
	*e = (struct queue_entry){ .kind = GUEST_RING_CQ,
				   .provider = GUEST_PROVIDER_MLX5,
				   .number = q.cqn,
				   .elem_size = q.cqe_size,
				   .entries = q.cqe_cnt,
				   .address = (uint64_t)(uintptr_t)q.buf,
				   .doorbell = (uint64_t)(uintptr_t)q.dbrec };
	return true;
}
