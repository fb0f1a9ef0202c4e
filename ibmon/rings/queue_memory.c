// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * queue_memory: queue pairs and completion queues -> entries of the table. See queue_memory.h.
 *
 * libmlx5 and libmlx4 say where their queues are by mlx5dv_init_obj() and mlx4dv_init_obj(). They
 * are not linked: a process that does not use them does not load them.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* dlvsym, process_vm_readv */
#endif
#include <dlfcn.h>
#include <infiniband/mlx4dv.h>
#include <infiniband/mlx5dv.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ibmon/rings/queue_memory.h"
#include "resex/guest_abi.h"

enum { COPY_BYTES = 4096, PAGE = 4096 };

static const struct {
	const char *word;
	int provider;
} words[] = { { "mlx5", RINGS_MLX5 }, { "mlx4", RINGS_MLX4 }, { "rxe", RINGS_RXE } };

/* Returns 0 if the word is not found. */
static int provider_of(const char *text, int len)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strncmp(words[i].word, text, (size_t)len) && !words[i].word[len])
			return words[i].provider;
	return 0;
}

int queue_memory_providers(const char *text, const char **bad, int *len)
{
	int set = 0;

	while (*text) {
		int n = (int)strcspn(text, ","), provider = provider_of(text, n);

		if (!provider) {
			*bad = text;
			*len = n;
			return -1;
		}
		set |= provider;
		text += n + (text[n] == ',');
	}
	return set;
}

/* --- the provider's own word --------------------------------------------------------- */

union function {
	void *object;
	int (*mlx5)(struct mlx5dv_obj *obj, uint64_t type);
	int (*mlx4)(struct mlx4dv_obj *obj, uint64_t type);
	int (*poll_cq)(struct ibv_cq *cq, int n, struct ibv_wc *wc);
};

static bool same_library(const void *a, const void *b)
{
	Dl_info in_a, in_b;

	return dladdr(a, &in_a) && dladdr(b, &in_b) && in_a.dli_fbase == in_b.dli_fbase;
}

/*
 * The function of a provider that says where its queues are; NULL: the device is not of this
 * provider. libmlx4 does not check that: it would take any object for its own. Looked up each time:
 * this happens in calls that take the kernel far longer. The device keeps the library loaded.
 */
static union function init_obj(const struct ibv_context *context, const char *library,
			       const char *name, const char *version)
{
	const union function poll = { .poll_cq = context->ops.poll_cq };
	union function found = { NULL };
	void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);

	if (!handle)
		return found;
	found.object = dlvsym(handle, name, version);
	if (found.object && !same_library(found.object, poll.object))
		found.object = NULL;
	dlclose(handle);
	return found;
}

/* True: *obj is filled in. */
static bool mlx5_ask(const struct ibv_context *context, struct mlx5dv_obj *obj, uint64_t type)
{
	union function f = init_obj(context, "libmlx5.so.1", "mlx5dv_init_obj", "MLX5_1.2");

	return f.object && f.mlx5(obj, type) == 0;
}

static bool mlx4_ask(const struct ibv_context *context, struct mlx4dv_obj *obj, uint64_t type)
{
	union function f = init_obj(context, "libmlx4.so.1", "mlx4dv_init_obj", "MLX4_1.0");

	return f.object && f.mlx4(obj, type) == 0;
}

/* --- send queues ---------------------------------------------------------------------- */

/*
 * The types whose send queue the provider can be asked for. Others have none. Those that are
 * dynamically connected may have none, and libmlx5 does not check that.
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

	if (!mlx5_ask(qp->context, &obj, MLX5DV_OBJ_QP) || !q.sq.wqe_cnt || !q.dbrec)
		return false;
	e->provider = GUEST_PROVIDER_MLX5;
	e->elem_size = q.sq.stride;
	e->entries = q.sq.wqe_cnt;
	e->address = (uint64_t)(uintptr_t)q.sq.buf;
	e->doorbell = (uint64_t)(uintptr_t)q.dbrec;
	return true;
}

/* It has no doorbell record. */
static bool mlx4_qp(struct ibv_qp *qp, struct queue_entry *e)
{
	struct mlx4dv_qp q = { .comp_mask = 0 };
	struct mlx4dv_obj obj = { .qp = { .in = qp, .out = &q } };

	if (!mlx4_ask(qp->context, &obj, MLX4DV_OBJ_QP) || !q.sq.wqe_cnt)
		return false;
	e->provider = GUEST_PROVIDER_MLX4;
	e->elem_size = 1u << q.sq.wqe_shift;
	e->entries = q.sq.wqe_cnt;
	e->address = (uint64_t)(uintptr_t)q.buf.buf + (uint64_t)q.sq.offset;
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
	if (((providers & RINGS_MLX5) && mlx5_qp(qp, e)) ||
	    ((providers & RINGS_MLX4) && mlx4_qp(qp, e)))
		return true;
	e->provider = GUEST_PROVIDER_RXE;
	return (providers & RINGS_RXE) && is_rxe(qp->context);
}

/* --- completion queues ---------------------------------------------------------------- */

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

static bool mlx5_cq(struct ibv_cq *cq, struct queue_entry *e)
{
	struct mlx5dv_cq q = { 0 };
	struct mlx5dv_obj obj = { .cq = { .in = cq, .out = &q } };

	if (!mlx5_ask(cq->context, &obj, MLX5DV_OBJ_CQ))
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

static bool mlx4_cq(struct ibv_cq *cq, struct queue_entry *e)
{
	struct mlx4dv_cq q = { .comp_mask = 0 };
	struct mlx4dv_obj obj = { .cq = { .in = cq, .out = &q } };

	if (!mlx4_ask(cq->context, &obj, MLX4DV_OBJ_CQ))
		return false;
	*e = (struct queue_entry){ .kind = GUEST_RING_CQ,
				   .provider = GUEST_PROVIDER_MLX4,
				   .number = q.cqn,
				   .elem_size = (uint32_t)q.cqe_size,
				   .entries = q.cqe_cnt,
				   .address = (uint64_t)(uintptr_t)q.buf.buf,
				   .doorbell = (uint64_t)(uintptr_t)q.set_ci_db };
	return true;
}

/*
 * A provider that is asked for a completion queue marks it as one that the application polls by
 * itself. From then on, the provider leaves completions of destroyed queue pairs in it, and
 * ibv_poll_cq() fails on them. So the provider is asked for a copy of its object, and the copy gets
 * the mark.
 */
bool queue_memory_cq(int providers, struct ibv_cq *cq, struct queue_entry *e)
{
	union {
		struct ibv_cq cq;
		uint8_t bytes[COPY_BYTES];
	} copy = { .bytes = { 0 } };

	if (!(providers & (RINGS_MLX5 | RINGS_MLX4)) || copy_mapped(copy.bytes, cq) < sizeof(*cq))
		return false;
	return ((providers & RINGS_MLX5) && mlx5_cq(&copy.cq, e)) ||
	       ((providers & RINGS_MLX4) && mlx4_cq(&copy.cq, e));
}
