/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nldev: the kernel's list of RDMA objects, by rdma netlink ("rdma resource show"
 * prints the same). It has owners, numbers and sizes of queues, but no addresses:
 * classify matches it with the rings that were found in memory.
 */
#ifndef RESEX_AGENT_NLDEV_H
#define RESEX_AGENT_NLDEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NLDEV_OBJECTS_MAX = 4096, NLDEV_CONTEXTS_MAX = 1024 };

/* pid: the thread that created the object; 0: the thread is gone. */
struct nldev_qp {
	uint32_t qpn, pid;
	bool shared;   /* uses a shared receive queue: */
	uint32_t srqn; /* this one (numbers start at 0) */
};

struct nldev_cq {
	uint32_t cqn, pid;
	uint32_t cqe; /* entries it can hold */
};

struct nldev_srq {
	uint32_t srqn, pid;
};

/* Objects of user programs on one device, each list by ascending number. */
struct nldev_list {
	uint32_t qps, cqs, srqs;
	struct nldev_qp qp[NLDEV_OBJECTS_MAX];
	struct nldev_cq cq[NLDEV_OBJECTS_MAX];
	struct nldev_srq srq[NLDEV_OBJECTS_MAX];
	uint32_t ctxs;
	uint32_t ctx_tid[NLDEV_CONTEXTS_MAX]; /* nldev_contexts only */
	uint32_t kernel_qps;		      /* nldev_qps only: those of the kernel */
	uint32_t kernel_qpn[NLDEV_OBJECTS_MAX];
};

struct nldev;

/* 0 or -errno; -EPROTONOSUPPORT: the kernel has no rdma netlink (ib_core is not loaded). */
int nldev_open(struct nldev **nl);
void nldev_close(struct nldev *nl);

/*
 * Find a device by name ("rxe0"): its index, and the driver of its uverbs node (enum
 * rdma_driver_id). 0; -ENODEV; other -errno from the kernel.
 */
int nldev_device(struct nldev *nl, const char *name, uint32_t *index, uint32_t *driver);

/*
 * Sort each list by number. False: a queue pair is in it twice, so others may be left out. The
 * kernel makes the answer in parts, at different moments, and begins each part after as many
 * objects as it listed before. Queue pairs that were created meanwhile take these places and are
 * left out. Its own queue pair, of the GSI, is always the last, so that it is then listed twice.
 */
bool nldev_sort(struct nldev_list *l);

/*
 * All objects of a device. 0; -ENODEV; -E2BIG: more than fit; -EAGAIN: they changed meanwhile;
 * other -errno of the kernel.
 */
int nldev_objects(struct nldev *nl, uint32_t index, struct nldev_list *l);

/* Only queue pairs, those of the kernel too, by ascending number. Asks again before -EAGAIN. */
int nldev_qps(struct nldev *nl, uint32_t index, struct nldev_list *l);

/*
 * Only the threads that hold a context of the device: those that opened it. 0 or
 * -errno; -EINVAL, -EOPNOTSUPP on kernels before 5.14.
 */
int nldev_contexts(struct nldev *nl, uint32_t index, struct nldev_list *l);

/*
 * Parse one datagram of the answer to a list command (RDMA_NLDEV_CMD_RES_*). Pure.
 * 1: it was the last one; 0: more follow; -errno as nldev_objects; -EBADMSG: malformed.
 */
int nldev_parse_list(struct nldev_list *l, uint32_t cmd, const void *buf, size_t len);

#endif
