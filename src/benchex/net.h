/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * net: RDMA devices, completion queues and waiting, for all roles.
 *
 * A role is one thread with one loop: poll the completion queues; when they are empty,
 * bx_net_idle(). With conf->events that sleeps until there is work or a time is due.
 * Otherwise it returns at once, and looks for signals every 2 ms.
 */
#ifndef RESEX_BENCHEX_NET_H
#define RESEX_BENCHEX_NET_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include "src/benchex/benchex.h"
#include "src/util/clock.h"

enum {
	BX_DEVS_MAX = 8,
	BX_CQS_MAX = 2,
	BX_DRAIN_NS = 2000000000, /* wait so long at the end for work under way */
};

/* Most memory that a process registers or lends to peers. */
#define BX_MEMORY_MAX (1ULL << 30)

struct bx_dev {
	struct ibv_context *verbs; /* owned by librdmacm */
	struct ibv_pd *pd;
	struct ibv_comp_channel *comp; /* NULL: polling */
	struct ibv_cq *cq[BX_CQS_MAX];
	uint32_t reserved[BX_CQS_MAX]; /* entries that connections may fill at once */
	bool armed;
	struct ibv_device_attr attr;
};

struct bx_net {
	const struct bx_conf *conf;
	struct clock clock;
	struct rdma_event_channel *cm;
	int signals;	     /* signalfd of SIGINT and SIGTERM */
	bool signalled;	     /* SIGINT or SIGTERM came */
	bool cm_ready;	     /* librdmacm has an event */
	int64_t next_look;   /* at descriptors while polling */
	int64_t began;	     /* ns */
	int64_t end;	     /* INT64_MAX: no end by time */
	int64_t next_report; /* of progress; INT64_MAX: none */
	uint64_t cpu_began;
	int64_t first, last; /* the first post, the last completion; 0: none yet */
	const char *ended;   /* why nothing more is posted; NULL: the run goes on */
	int64_t drain_until; /* after the end: wait until then for work under way */
	size_t devs;
	struct bx_dev dev[BX_DEVS_MAX];
};

int64_t bx_now(struct bx_net *n);
uint64_t bx_cpu_ns(void); /* of this process since its start */

/* 0, or -errno after a sentence on stderr. */
int bx_net_open(struct bx_net *n, const struct bx_conf *conf);
void bx_net_close(struct bx_net *n); /* after all queue pairs and memory */

/* The run begins now: start its clocks. */
void bx_net_begin(struct bx_net *n);

/* The device of a context of librdmacm. NULL: after a sentence on stderr. */
struct bx_dev *bx_net_dev(struct bx_net *n, struct ibv_context *verbs);

/*
 * Reserve so many more entries of a completion queue; make or resize it where needed.
 * 0, or -errno: nothing has changed.
 */
int bx_dev_reserve(struct bx_dev *d, int which, uint32_t entries);
void bx_dev_release(struct bx_dev *d, int which, uint32_t entries);
/* Make a completion queue of exactly so many entries. 0 or -errno. */
int bx_dev_cq(struct bx_dev *d, int which, uint32_t entries);

/*
 * Nothing to do before `until` (ns). Returns then, or when an event comes: afterwards
 * check signalled and cm_ready, and poll the completion queues.
 */
void bx_net_idle(struct bx_net *n, int64_t until);
/* In a busy loop: check for signals and events of librdmacm, at most every 2 ms. */
void bx_net_look(struct bx_net *n, int64_t now);

/* End the run: post nothing more. The first reason is kept. */
void bx_net_stop(struct bx_net *n, const char *why);
/* End the run by time or signal. True when the wait for work under way is over, too. */
bool bx_net_over(struct bx_net *n, int64_t now);

/* Print a line of progress on stderr, when due. */
void bx_net_progress(struct bx_net *n, int64_t now, uint64_t requests, uint64_t bytes);

/* The next event of librdmacm, or NULL. The caller acknowledges it. */
struct rdma_cm_event *bx_net_event(struct bx_net *n);
/* Client, bulk: has the peer disconnected, or was the device removed? */
bool bx_net_peer_left(struct bx_net *n);
/* Wait for the next event. NULL: *err is -ETIMEDOUT or -EINTR (a signal). */
struct rdma_cm_event *bx_net_await(struct bx_net *n, int64_t until, int *err);

/* Print "benchex: " and a sentence on stderr. */
void bx_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* calloc(). NULL: after a sentence on stderr. */
void *bx_zeroed(size_t n, size_t size);

/* Resolve a name and port. 0, or -errno after a sentence on stderr. */
int bx_address(const char *name, uint16_t port, bool passive, struct sockaddr_storage *out);
/* The address of a connection's peer: "10.0.0.1". */
void bx_peer_name(struct rdma_cm_id *id, char out[static 64]);

/* Did the run end as planned, without an error and with its peer? */
bool bx_net_well(const struct bx_net *n);
/* Fill in what net knows of the result: reason of the end, times. */
void bx_net_result(struct bx_net *n, struct bx_result *r);

/* Registered memory, page-aligned. 0, or -errno after a sentence on stderr. */
struct bx_memory {
	void *at;
	size_t len;
	struct ibv_mr *mr;
};
int bx_memory_get(struct bx_memory *m, struct ibv_pd *pd, size_t len, unsigned int access);
void bx_memory_put(struct bx_memory *m);

#endif
