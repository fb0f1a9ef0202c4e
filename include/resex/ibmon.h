/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ibmon.h: count what RDMA queue pairs did, from the memory of their queues (man libibmon).
 *
 * A program maps the memory of a queue that another program or a guest uses, and opens a ring over
 * it. Each sample then says what was completed since the sample before. Nothing is written into
 * that memory, and nothing in it is trusted: each word is read once, indices and entries are
 * checked, and one sample reads at most IBMON_WALK_MAX entries.
 *
 * The second half is for authors of layouts: plug-ins that read the queues of another provider.
 *
 * No call blocks or reads a clock. Only one thread at a time may use a handle and its rings; a
 * process may have many handles. Results are 0 or a negative error of errno.h; what a call returns
 * by pointer is written only on success, but for why and *out of ibmon_ring_sample(). C and C++.
 */
#ifndef RESEX_IBMON_H
#define RESEX_IBMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes whenever a struct or the meaning of a value here does. */
#define IBMON_ABI 1u

/* What a layout plug-in exports: a struct ibmon_layout. */
#define IBMON_LAYOUT_SYMBOL "ibmon_layout_v1"

enum {
	IBMON_WALK_MAX = 4096,	   /* entries that one sample reads; more are counted as lost */
	IBMON_LAYOUTS_MAX = 16,	   /* plug-ins of a handle */
	IBMON_NAME_MAX = 32,	   /* bytes of a layout's name, with its NUL */
	IBMON_STATE_MAX = 1 << 24, /* bytes of a layout's state */
	IBMON_WHY_MAX = 256,	   /* bytes of a reason, with its NUL */
};

enum ibmon_kind {
	IBMON_SQ = 1, /* send queue */
	IBMON_CQ = 2, /* completion queue */
};

/* Whose queues these are. Plug-ins have numbers from IBMON_PROVIDER_OTHERS to 65535. */
enum ibmon_provider {
	IBMON_RXE = 1,	/* soft-RoCE: rdma_rxe */
	IBMON_MLX5 = 2, /* ConnectX-4 and later: libmlx5 */
	IBMON_MLX4 = 3, /* ConnectX-2 and -3: libmlx4 */
	IBMON_PROVIDER_OTHERS = 64,
};

/* What the queue pair of a send queue is: on mlx5 it says where the data are in a request. */
enum ibmon_qp_type {
	IBMON_QP_UNKNOWN = 0,
	IBMON_QP_RC = 1,
	IBMON_QP_UC = 2,
	IBMON_QP_UD = 3,
	IBMON_QP_XRC = 4,
	IBMON_QP_DC = 5, /* initiator */
	IBMON_QP_RAW = 6,
};

/* What the caller knows of a ring. */
struct ibmon_desc {
	uint32_t provider;  /* enum ibmon_provider, or that of a plug-in */
	uint32_t kind;	    /* enum ibmon_kind */
	uint32_t number;    /* of its queue pair or completion queue; 0: not known */
	uint32_t elem_size; /* bytes of a slot: a power of two, 32 .. 4096 */
	uint32_t entries;   /* slots: a power of two, 2 .. 2^20 */
	uint32_t path_mtu;  /* of its queue pair, 256 .. 4096 bytes; 0: not known */
	uint32_t qp_type;   /* enum ibmon_qp_type; of a completion queue 0 */
	uint32_t reserved;  /* 0 */
};

/*
 * Where the ring is mapped. The caller owns the memory, and unmaps it after the ring was closed.
 * Another process may write it at any moment.
 */
struct ibmon_mem {
	const volatile void *ring; /* first byte, a multiple of 8; of rxe: of its header */
	const volatile void *db;   /* the doorbell record, of layouts that have one; else NULL */
	uint32_t ring_len;	   /* bytes that may be read from ring */
	uint32_t db_len;	   /* from db: mlx5, and completion queues of mlx4, need 8 */
};

/* Why a ring is read no longer. */
enum ibmon_fault {
	IBMON_OK,
	IBMON_FAULT_HEADER, /* its header changed: the memory was reused or forged */
	IBMON_FAULT_INDEX,  /* an index left the ring */
	IBMON_FAULT_ENTRY,  /* an entry cannot be a work request or completion */
	IBMON_FAULT_JUMP,   /* counters jumped further than time allows */
	IBMON_FAULT_LAYOUT, /* a form that the layout does not know */
	IBMON_FAULT_PLUGIN, /* its plug-in returned counts that cannot be */
};

/* How exact the counts of a sample are. None of them: exact. */
enum ibmon_flags {
	IBMON_LAPPED = 1u << 0,		/* entries were overwritten before they were read */
	IBMON_WRS_BOUNDED = 1u << 1,	/* wrs is an upper bound */
	IBMON_MTUS_ESTIMATED = 1u << 2, /* mtus_sent or mtus_recv: estimated for lost entries */
	IBMON_HISTORY = 1u << 3,	/* the first sample: work done before the ring was opened */
	IBMON_MTUS_GUESSED = 1u << 5,	/* so is their sum; always with IBMON_MTUS_ESTIMATED */
};

enum ibmon_op {
	IBMON_OP_SEND,	/* SEND, with immediate, with invalidate */
	IBMON_OP_WRITE, /* RDMA WRITE, with immediate */
	IBMON_OP_READ,
	IBMON_OP_CMP_SWAP,
	IBMON_OP_FETCH_ADD,
	IBMON_OP_LOCAL, /* local invalidate, memory window bind: 0 MTUs */
	IBMON_OPS,
};

/*
 * What one sample found. Of a completion queue: wrs, seen, lost, errors, flags and qpn count its
 * completions, and all others are 0: the work is counted on the send queues.
 */
struct ibmon_counts {
	uint64_t wrs;	      /* work requests completed: seen + lost */
	uint64_t seen;	      /* of these, entries that were read; at most IBMON_WALK_MAX */
	uint64_t lost;	      /* of these, entries overwritten unseen */
	uint64_t errors;      /* seen entries that completed in error (not in mtus, bytes) */
	uint64_t mtus_sent;   /* SEND, WRITE: max(1, ceil(bytes / path MTU)); atomics 1 */
	uint64_t mtus_recv;   /* READ: MTUs of the response */
	uint64_t bytes_sent;  /* of seen entries */
	uint64_t bytes_recv;  /* of seen entries */
	uint64_t bytes_bound; /* upper bound of bytes in lost entries; 0 when lost is 0 */
	uint64_t likely_sent; /* bytes of lost entries, if their MTUs are as full as those seen */
	uint64_t likely_recv;
	uint64_t backlog;	 /* posted and not completed at the end of the sample */
	uint64_t ops[IBMON_OPS]; /* seen entries by enum ibmon_op, errors included */
	uint32_t flags;		 /* enum ibmon_flags */
	uint32_t msg_bytes;	 /* largest message seen in this sample */
	uint32_t qpn;	   /* queue pair that an entry named last; none did: number of the ring */
	uint32_t reserved; /* 0 */
};

/* --- for programs ----------------------------------------------------------------------- */

struct ibmon;	   /* rings of one adapter, and the layouts with which they are read */
struct ibmon_ring; /* one of them */

/* abi: IBMON_ABI. 0; -EPROTONOSUPPORT: the library has another IBMON_ABI; -ENOMEM. */
int ibmon_open(struct ibmon **m, uint32_t abi);
/* Closes the rings, too. NULL: does nothing. */
void ibmon_close(struct ibmon *m);

/*
 * Load the layout of another provider from a shared object. It stays loaded until ibmon_close().
 * 0; -errno with the reason and the remedy in one sentence in why, cut off at size bytes (0: none
 * is written; IBMON_WHY_MAX is enough):
 *	-ENOENT, ...	it cannot be opened
 *	-EACCES		another user than root and this process's may write it, or a folder above it
 *	-ELOOP, -EFBIG	it is a symbolic link; it is larger than 16 MiB
 *	-EINVAL		it is no plug-in of this IBMON_ABI, or it breaks a rule for layouts
 *	-EEXIST		its provider and kind have a layout already
 *	-ENOSPC		IBMON_LAYOUTS_MAX are loaded
 */
int ibmon_layout_load(struct ibmon *m, const char *path, char *why, size_t size);

/* The name of the layout with which such rings are read; NULL: there is none. Until ibmon_close().
 */
const char *ibmon_layout_name(const struct ibmon *m, uint32_t provider, uint32_t kind);

/*
 * Open a ring. Completion queues tell the send queues of the same handle what was completed, by the
 * number of the queue pair, so use one handle for each adapter. The first sample has the work that
 * is visible already, with IBMON_HISTORY.
 * 0; -EPROTONOSUPPORT: no layout reads this provider, kind or form; -EINVAL: a member of d or mem
 * is out of its range, or the doorbell record is missing, misaligned, or not within 4 GiB after
 * the ring; -EBADMSG: the memory is too short, or its header is not that of d; -EEXIST: a send
 * queue of this number is open; -ENOMEM.
 */
int ibmon_ring_open(struct ibmon *m, struct ibmon_ring **r, const struct ibmon_desc *d,
		    const struct ibmon_mem *mem);
/* NULL: does nothing. */
void ibmon_ring_close(struct ibmon_ring *r);

/*
 * Count what was completed since the last sample. elapsed_ns is the time since then (of the first:
 * since the ring was opened) and bounds what is plausible; below 0 is 0. Does not allocate. Sample
 * the completion queues before the send queues.
 * 0; -EBADMSG: the ring is at fault, ibmon_ring_fault() says why. Then *out is zero, and so is that
 * of all further samples.
 */
int ibmon_ring_sample(struct ibmon_ring *r, int64_t elapsed_ns, struct ibmon_counts *out);

/*
 * Would a sample find nothing new? It reads four words of the memory at most, and is much cheaper
 * than a sample. False is always possible. A ring that is not sampled has the time of the next
 * sample counted from its last one.
 */
bool ibmon_ring_idle(const struct ibmon_ring *r);

enum ibmon_fault ibmon_ring_fault(const struct ibmon_ring *r);
/* One sentence without an end, for each value. */
const char *ibmon_fault_text(enum ibmon_fault f);

/* --- for layouts ------------------------------------------------------------------------ */

/*
 * A layout may call memcpy() and its like, and nothing else: resexd samples it each millisecond.
 * It has no static variables: they cannot be written once it is loaded. Its state is a block that
 * the caller zeroes, aligned to 64 bytes. It does not write d, m or the ring's memory.
 */

/* Guest memory is read once into a variable, then the fence, then the variable is checked. */
static inline uint32_t ibmon_read32(const volatile void *p)
{
	return *(const volatile uint32_t *)p;
}

static inline uint64_t ibmon_read64(const volatile void *p)
{
	return *(const volatile uint64_t *)p;
}

static inline void ibmon_read_fence(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* For sample() of a completion queue: t->completed(t, ...) tells the send queue of this number. */
struct ibmon_told {
	void (*completed)(const struct ibmon_told *t, uint32_t qpn, uint32_t counter, bool failed);
};

/*
 * Words of the ring's memory: while they are unchanged, a sample would find nothing. One word alone
 * is at[0] and at[1]; at[2] may be NULL. All NULL: only a sample tells.
 */
struct ibmon_quiet {
	const volatile uint32_t *at[3];
	uint32_t value[3];
	uint32_t backlog; /* that the sample would find; 0: at[2] is read now and then only */
};

struct ibmon_layout {
	uint32_t abi;  /* IBMON_ABI */
	uint32_t size; /* sizeof(struct ibmon_layout) */
	uint32_t provider;
	uint32_t kind;		   /* enum ibmon_kind */
	char name[IBMON_NAME_MAX]; /* printable ASCII, 1 .. 31 bytes */
	uint32_t db_bytes;	   /* of the doorbell record: 0 (none), 4, 8, 16, 32 or 64 */
	uint32_t reserved;	   /* 0 */
	/* Bytes of state for this ring, at most IBMON_STATE_MAX. */
	size_t (*state_size)(const struct ibmon_desc *d);
	/*
	 * Check the memory against d, whose members are within their ranges; initialise the state.
	 * 0; -EPROTONOSUPPORT: a form that is not known; -EBADMSG: d and memory disagree.
	 */
	int (*open)(const struct ibmon_desc *d, const struct ibmon_mem *m, void *state);
	/*
	 * As ibmon_ring_sample(), IBMON_HISTORY included; *out is zeroed. Work is bounded:
	 * out->seen is at most IBMON_WALK_MAX. -EBADMSG: *fault says why, and is not
	 * IBMON_FAULT_PLUGIN. told is used by completion queues alone.
	 */
	int (*sample)(const struct ibmon_desc *d, const struct ibmon_mem *m, void *state,
		      const struct ibmon_told *told, int64_t elapsed_ns, struct ibmon_counts *out,
		      enum ibmon_fault *fault);
	/* Is the header still that of d? Called after the indices were read. */
	bool (*header_same)(const struct ibmon_desc *d, const struct ibmon_mem *m);
	/* After a sample: the words to watch from now on; *q is zeroed. May be NULL. */
	void (*quiet)(const struct ibmon_desc *d, const struct ibmon_mem *m, const void *state,
		      struct ibmon_quiet *q);
	/*
	 * Of a send queue: a completion queue has the completion of the request with this counter,
	 * and so of all that were posted before it. May be NULL.
	 */
	void (*completed)(void *state, uint32_t counter, bool failed);
	/*
	 * Bring into the cache what the next sample reads if it finds as much as the last one.
	 * rest: the second of two calls, just before the sample. May be NULL.
	 */
	void (*prefetch)(const struct ibmon_desc *d, const struct ibmon_mem *m, const void *state,
			 bool rest);
};

/* A plug-in is a shared object that exports its layout as this symbol. */
extern const struct ibmon_layout ibmon_layout_v1 __attribute__((visibility("default")));

#ifdef __cplusplus
}
#endif

#endif
