// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * preload: libresex-rings.so, which is loaded into an application with LD_PRELOAD and lists its
 * queues for resex-agent. See libresex-rings(7).
 *
 *	ibv_modify_qp() -> queue_memory -> queue_list -> the table, and a datagram to the agent
 *
 * It comes before libibverbs in the functions below, which all are calls that take a system call.
 * Those that post work and poll completions go to the provider directly, as without it. A queue
 * pair cannot send before it is made ready to receive (RTR), whatever function created it. So this
 * is when its send queue is listed, with its path MTU, and the completion queue of its sends.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* secure_getenv, dlvsym */
#endif
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibmon/rings/notify.h"
#include "ibmon/rings/queue_list.h"
#include "ibmon/rings/queue_memory.h"

#define EXPORT	       __attribute__((visibility("default")))
#define VERBS_LIBRARY  "libibverbs.so.1"
#define VERBS_VERSION  "IBVERBS_1.1"
#define RINGS_VARIABLE "RESEX_RINGS"

/* The interposed functions have no argument for it. */
static struct {
	int providers; /* of RINGS_*; set before main() */
	struct queue_list list;
	struct notify notify;
} rings = { .list = { .lock = PTHREAD_MUTEX_INITIALIZER } };

static void before_fork(void)
{
	queue_list_fork(&rings.list);
}

static void after_fork(void)
{
	queue_list_parent(&rings.list);
}

static void in_child(void)
{
	queue_list_child(&rings.list);
}

__attribute__((constructor)) static void begin(void)
{
	const char *text = secure_getenv(RINGS_VARIABLE), *bad;
	int len, set = text ? queue_memory_providers(text, &bad, &len) : 0;

	if (set < 0) {
		fprintf(stderr,
			"libresex-rings: no queues are listed: " RINGS_VARIABLE
			" has \"%.*s\": it takes mlx5, mlx4 and rxe, with commas between\n",
			len > 64 ? 64 : len, bad);
		return;
	}
	if (set && pthread_atfork(before_fork, after_fork, in_child) == 0)
		rings.providers = set;
}

/* --- libibverbs ---------------------------------------------------------------------- */

/*
 * The next function of that name: usually libibverbs'. If the application loaded libibverbs by
 * dlopen(3), it is not among the libraries that come next: then it is looked for by its name.
 */
static void *next(const char *name)
{
	void *found = dlvsym(RTLD_NEXT, name, VERBS_VERSION), *library;

	if (found)
		return found;
	library = dlopen(VERBS_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return NULL;
	found = dlvsym(library, name, VERBS_VERSION);
	dlclose(library); /* the caller has it loaded */
	return found;
}

union function {
	void *object;
	int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
	int (*destroy_qp)(struct ibv_qp *qp);
	int (*resize_cq)(struct ibv_cq *cq, int cqe);
	int (*destroy_cq)(struct ibv_cq *cq);
	int (*close_device)(struct ibv_context *context);
};

/* --- what is listed -------------------------------------------------------------------- */

static void notify_agent(void)
{
	uint64_t address, nonce;
	bool first;

	if (queue_list_where(&rings.list, &address, &nonce, &first))
		notify_send(&rings.notify, address, nonce, first);
}

static uint32_t mtu_bytes(const struct ibv_qp_attr *attr, int mask)
{
	if (!(mask & IBV_QP_PATH_MTU) || attr->path_mtu < IBV_MTU_256 ||
	    attr->path_mtu > IBV_MTU_4096)
		return 0;
	return 128u << attr->path_mtu;
}

/* True: the agent is to be notified. */
static bool list_qp(struct ibv_qp *qp, uint32_t path_mtu)
{
	struct queue_entry e;
	bool changed = false;

	if (qp->send_cq && !queue_list_has(&rings.list, qp->send_cq) &&
	    queue_memory_cq(rings.providers, qp->send_cq, &e))
		changed = queue_list_put(&rings.list, qp->send_cq, qp->context, &e);
	if (queue_memory_qp(rings.providers, qp, path_mtu, &e))
		changed |= queue_list_put(&rings.list, qp, qp->context, &e);
	return changed;
}

/* Of an object that is about to go: before its memory is freed. */
static bool unlist(const void *object, struct queue_entry *was)
{
	if (!queue_list_take(&rings.list, object, was))
		return false;
	notify_agent();
	return true;
}

/* The call that would have ended it failed. */
static void list_again(const void *object, const void *owner, const struct queue_entry *was)
{
	if (queue_list_put(&rings.list, object, owner, was))
		notify_agent();
}

/* --- interposed functions ---------------------------------------------------------------- */

static int missing(void)
{
	errno = ENOSYS;
	return ENOSYS;
}

EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	const union function f = { next("ibv_modify_qp") };
	bool ready = (mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RTR;
	bool reset = (mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET;
	struct queue_entry was;
	bool had;
	int rc, saved;

	if (!f.modify_qp)
		return missing();
	if (!rings.providers)
		return f.modify_qp(qp, attr, mask);
	saved = errno;
	had = reset && unlist(qp, &was);
	errno = saved;
	rc = f.modify_qp(qp, attr, mask);
	saved = errno;
	if (rc && had)
		list_again(qp, qp->context, &was);
	else if (!rc && ready && list_qp(qp, mtu_bytes(attr, mask)))
		notify_agent();
	errno = saved;
	return rc;
}

EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	const union function f = { next("ibv_destroy_qp") };
	const struct ibv_context *context = qp->context;
	struct queue_entry was;
	int rc, saved = errno;
	bool had;

	if (!f.destroy_qp)
		return missing();
	had = rings.providers && unlist(qp, &was);
	errno = saved;
	rc = f.destroy_qp(qp);
	saved = errno;
	if (rc && had)
		list_again(qp, context, &was);
	errno = saved;
	return rc;
}

EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	const union function f = { next("ibv_destroy_cq") };
	const struct ibv_context *context = cq->context;
	struct queue_entry was;
	int rc, saved = errno;
	bool had;

	if (!f.destroy_cq)
		return missing();
	had = rings.providers && unlist(cq, &was);
	errno = saved;
	rc = f.destroy_cq(cq);
	saved = errno;
	if (rc && had)
		list_again(cq, context, &was);
	errno = saved;
	return rc;
}

/* The library gets new memory, and frees the old before it returns. */
EXPORT int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	const union function f = { next("ibv_resize_cq") };
	struct queue_entry e;
	int rc, saved = errno;
	bool had;

	if (!f.resize_cq)
		return missing();
	had = rings.providers && unlist(cq, &e);
	errno = saved;
	rc = f.resize_cq(cq, cqe);
	saved = errno;
	if (had && (rc || queue_memory_cq(rings.providers, cq, &e)))
		list_again(cq, cq->context, &e);
	errno = saved;
	return rc;
}

EXPORT int ibv_close_device(struct ibv_context *context)
{
	const union function f = { next("ibv_close_device") };
	int saved = errno;

	if (!f.close_device)
		return missing();
	if (rings.providers && queue_list_take_all(&rings.list, context))
		notify_agent();
	errno = saved;
	return f.close_device(context);
}
