/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load: RDMA traffic over loopback whose truth is known.
 *
 * One traffic stream is a queue pair that posts (the requester, the one that
 * is counted) and one that only answers, both of this process. What was
 * completed is kept by the charging rule of flow.h, from the posted work
 * requests and the completions alone: never from the rings.
 *
 * Flow: options -> load_open -> load_create, load_connect (QPs) -> load_post/load_reap -> truth.
 */
#ifndef RESEX_TESTS_LOAD_H
#define RESEX_TESTS_LOAD_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	LOAD_LIST_MAX = 256, /* work requests of one call */
	LOAD_QKEY = 0x11111111,
};

enum load_op {
	LOAD_SEND,
	LOAD_SEND_IMM,
	LOAD_WRITE,
	LOAD_WRITE_IMM,
	LOAD_READ,
	LOAD_FETCH_ADD,
	LOAD_CMP_SWAP,
	LOAD_OPS,
};

enum load_type {
	LOAD_RC,
	LOAD_UC,
	LOAD_UD,
	LOAD_TYPES,
};

enum {
	LOAD_SGE_MAX = 16,
	LOAD_DEPTH_MAX = 8191,
	LOAD_QPS_MAX = 512,
	LOAD_TRUTHS_MAX = 65536,
	LOAD_INLINE_MAX = 512
};

struct load_range {
	uint32_t min, max;
};

struct load_opts {
	const char *device; /* NULL: the first */
	const char *truth;  /* file that gets the truth too; NULL: stdout only */
	int gid;	    /* index; -1: 1 if there, else 0 */
	uint32_t qps;
	uint32_t types; /* bit mask of 1 << enum load_type */
	bool mix_random;
	uint32_t mix[LOAD_OPS]; /* weights */
	struct load_range sizes;
	uint32_t mtu; /* 0: random per QP */
	struct load_range depth;
	uint32_t unsignalled; /* percent of WRs */
	uint32_t inlined;     /* percent of the messages that fit */
	uint32_t max_inline;
	uint32_t sge;
	uint32_t batch;	 /* WRs a post call, at most */
	uint32_t wr_api; /* percent of post calls by ibv_wr_*() */
	uint32_t abort;	 /* percent of ibv_wr_*() batches aborted */
	uint32_t refuse; /* percent of post calls that ask for more than fits */
	uint32_t errors; /* one in so many WRs fails; 0: none */
	uint32_t reset;	 /* WRs between resets; 0: never */
	bool reset_dirty;
	uint32_t cycle;	    /* WRs between destroy and create; 0: never */
	uint32_t resize_ms; /* between CQ resizes; 0: never */
	uint32_t pace_us;
	uint32_t rate; /* WRs a second over all QPs; 0: full speed */
	uint32_t seconds;
	struct load_range count; /* WRs a stream; 0: by time */
	uint32_t burn_cpu;	 /* percent of a CPU */
	uint32_t hold_s;
	bool fork, wait, first;
	uint64_t seed;
};

/* What one queue pair did. */
struct load_truth {
	uint32_t qpn, peer;
	enum load_type type;
	uint32_t mtu, slots;
	uint64_t wrs;		/* completed, errors included */
	uint64_t errors;	/* not in mtus and bytes */
	uint64_t unknown;	/* dropped by a reset: may or may not have completed */
	uint64_t unknown_mtus;	/* of these, at most */
	uint64_t refused;	/* ENOMEM, by design of the run */
	uint64_t aborted;	/* built with ibv_wr_*() and aborted */
	uint64_t signalled;	/* completions polled */
	uint64_t ops[LOAD_OPS]; /* completed, errors included */
	uint64_t mtus_sent, mtus_recv, bytes_sent, bytes_recv;
	uint64_t largest_mtus; /* one message */
};

/* One work request as planned, and as remembered until it completes. */
struct load_wr {
	enum load_op op;
	uint32_t bytes;
	uint32_t pieces; /* entries of sge[] */
	bool signalled, inlined, bad_rkey, bad_lkey;
	struct ibv_sge sge[LOAD_SGE_MAX];
};

struct load_ctx {
	const struct load_opts *opts;
	struct ibv_context *ibv;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint8_t *buf;	  /* first half: what is sent; second half: what others reach */
	size_t half;	  /* bytes of each */
	uint8_t port_mtu; /* enum ibv_mtu */
	int gid_index;
	union ibv_gid gid;
	uint64_t rng;
};

struct load_qp {
	struct load_ctx *ctx;
	struct ibv_qp *qp, *peer;
	struct ibv_cq *cq, *peer_cq;
	struct ibv_ah *ah; /* UD */
	struct load_truth *truth;
	enum load_type type;
	uint32_t mtu, slots, depth;
	uint32_t mix[LOAD_OPS];
	struct load_wr *plan;  /* slots + 8 entries: the batch being posted */
	struct load_wr *sent;  /* kept entries, by sequence number */
	uint32_t kept;	       /* the ring has room again before its completions are polled */
	uint64_t posted, done; /* sequence numbers; this QP's life */
	uint32_t unsignalled_run;
	uint32_t recvs;	     /* receives waiting at the peer */
	uint32_t recvs_kept; /* how many it is given */
	bool broken;	     /* an error completion was seen */
	bool last_signalled;
};

/* Random numbers: splitmix64 over the context's state. */
uint64_t load_random(struct load_ctx *c);
uint32_t load_below(struct load_ctx *c, uint32_t n); /* 0 .. n-1; 0 when n is 0 */
uint32_t load_between(struct load_ctx *c, struct load_range r);
bool load_percent(struct load_ctx *c, uint32_t percent);

/* 0 or -errno; what is wrong is said on stderr in one sentence. */
int load_options(int argc, char **argv, struct load_opts *o);
int load_open(struct load_ctx *c, const struct load_opts *o);
void load_close(struct load_ctx *c);

struct ibv_ah_attr load_address(const struct load_ctx *c);

/* The attributes of a queue pair on its way from RESET to RTS. */
struct load_path {
	enum load_type type;
	uint32_t mtu, peer, rq_psn, sq_psn;
	uint8_t rnr_retry, reads; /* reads: READs and atomics in flight */
};
int load_to_rts(const struct load_ctx *c, struct ibv_qp *qp, const struct load_path *p);

/* Make both queue pairs and connect them; what the requester does goes to t. */
int load_create(struct load_qp *q, struct load_ctx *c, struct load_truth *t);
void load_destroy(struct load_qp *q);
int load_connect(struct load_qp *q);		/* RESET to RTS */
int load_reset(struct load_qp *q);		/* what waits is dropped: truth.unknown */
int load_resize(struct load_qp *q, uint32_t n); /* the requester's CQ */

/*
 * Plan and post up to max work requests; with drain, one signalled request.
 * The number accepted, or -errno for a failure that was not planned.
 */
int load_post(struct load_qp *q, uint32_t max, bool drain);

/* Poll both completion queues and account. Completions of the requester, or -errno. */
int load_poll(struct load_qp *q);
int load_reap(struct load_qp *q); /* also gives the peer new receives */

static inline uint32_t load_outstanding(const struct load_qp *q)
{
	return (uint32_t)(q->posted - q->done);
}

extern const char *const load_op_names[LOAD_OPS];
extern const char *const load_type_names[LOAD_TYPES];
extern const enum ibv_wr_opcode load_opcodes[LOAD_OPS];

/* MTUs of a WR by the charging rule. */
uint64_t load_mtus(enum load_type type, enum load_op op, uint64_t bytes, uint32_t mtu);
void load_account(struct load_truth *t, const struct load_wr *w, bool error);
void load_add(struct load_truth *sum, const struct load_truth *t);
/* The whole truth as one line of JSON. */
void load_print(FILE *f, const struct load_truth *t, uint32_t n, const struct load_opts *o,
		double seconds, bool stalled);

#endif
