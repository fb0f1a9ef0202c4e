/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * net: devices, completion queues, and waiting: what all roles stand on.
 *
 * One thread and one loop: poll the completion queues; when they are empty,
 * bx_net_idle(). With conf->events that sleeps until something happens or is
 * due; otherwise it looks about now and then and returns at once.
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
	BX_DRAIN_NS = 2000000000, /* for what is outstanding when the end came */
};

/* Memory of a process that may be registered, or named to a peer. */
#define BX_MEMORY_MAX (1ULL << 30)

struct bx_dev {
	struct ibv_context *verbs; /* librdmacm's */
	struct ibv_pd *pd;
	struct ibv_comp_channel *comp; /* NULL: polling */
	struct ibv_cq *cq[BX_CQS_MAX];
	uint32_t reserved[BX_CQS_MAX]; /* entries that may be filled at once */
	bool armed;
	struct ibv_device_attr attr;
};

struct bx_net {
	const struct bx_conf *conf;
	struct clock clock;
	struct rdma_event_channel *cm;
	int signals;	     /* signalfd of SIGINT and SIGTERM */
	bool signalled;	     /* one came */
	bool cm_ready;	     /* librdmacm has an event */
	int64_t next_look;   /* at descriptors while polling */
	int64_t began;	     /* ns */
	int64_t end;	     /* INT64_MAX: no end by time */
	int64_t next_report; /* of progress; INT64_MAX: none */
	uint64_t cpu_began;
	int64_t first, last; /* the first post, the last completion; 0: none yet */
	const char *ended;   /* why nothing more is posted; NULL: it goes on */
	int64_t drain_until; /* and how long what is outstanding is waited for */
	size_t devs;
	struct bx_dev dev[BX_DEVS_MAX];
};

int64_t bx_now(struct bx_net *n);
uint64_t bx_cpu_ns(void); /* of this process, all its life */

/* 0, or -errno: what is wrong was said. */
int bx_net_open(struct bx_net *n, const struct bx_conf *conf);
void bx_net_close(struct bx_net *n); /* all queue pairs and memory are gone already */

/* Time begins to count, now. */
void bx_net_begin(struct bx_net *n);

/* The device behind a context of librdmacm. NULL: what is wrong was said. */
struct bx_dev *bx_net_dev(struct bx_net *n, struct ibv_context *verbs);

/*
 * A completion queue with room for so many entries more; made or resized when
 * there is not. -errno: there is no such room, and nothing changed.
 */
int bx_dev_reserve(struct bx_dev *d, int which, uint32_t entries);
void bx_dev_release(struct bx_dev *d, int which, uint32_t entries);
/* The first time: a completion queue of just so many. 0 or -errno. */
int bx_dev_cq(struct bx_dev *d, int which, uint32_t entries);

/*
 * Nothing to do before `until` (ns), or before something happens: signalled or
 * cm_ready then say so, or completion queues are to be polled again.
 */
void bx_net_idle(struct bx_net *n, int64_t until);
/* In a busy loop: look for signals and events of librdmacm when it is time to. */
void bx_net_look(struct bx_net *n, int64_t now);

/* Post no more, for this reason; the first one counts. */
void bx_net_stop(struct bx_net *n, const char *why);
/* A step of the end: by time or signal it begins; true when waiting is over too. */
bool bx_net_over(struct bx_net *n, int64_t now);

/* A line about progress on stderr, when it is due. */
void bx_net_progress(struct bx_net *n, int64_t now, uint64_t requests, uint64_t bytes);

/* The next event of librdmacm, or NULL; to be acknowledged. */
struct rdma_cm_event *bx_net_event(struct bx_net *n);
/* Active side: whether the peer left a connection, or the device did. */
bool bx_net_peer_left(struct bx_net *n);
/* The next event, waited for; NULL: -errno of what happened instead is in *err. */
struct rdma_cm_event *bx_net_await(struct bx_net *n, int64_t until, int *err);

/* "benchex: " and a sentence, on stderr. */
void bx_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The address that a name and a port stand for. 0, or -errno: it was said. */
int bx_address(const char *name, uint16_t port, bool passive, struct sockaddr_storage *out);
/* The address of a connection's peer: "10.0.0.1". */
void bx_peer_name(struct rdma_cm_id *id, char out[static 64]);

/* Whether it ended as it was to: not for want of a peer, and without an error. */
bool bx_net_well(const struct bx_net *n);
/* What the loop knows of a result: reason, times. */
void bx_net_result(struct bx_net *n, struct bx_result *r);

/* Page-aligned memory that is registered. 0, or -errno: it was said. */
struct bx_memory {
	void *at;
	size_t len;
	struct ibv_mr *mr;
};
int bx_memory_get(struct bx_memory *m, struct ibv_pd *pd, size_t len, unsigned int access);
void bx_memory_put(struct bx_memory *m);

#endif
