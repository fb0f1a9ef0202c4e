/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ops: what the ring layout of a provider must implement. For layouts, not callers.
 *
 * A layout (rxe.c, rxe_cq.c) gets mapped guest memory and its own state block;
 * ring.c does the rest (totals, bounds, faults).
 */
#ifndef RESEX_IBMON_RING_OPS_H
#define RESEX_IBMON_RING_OPS_H

#include "ibmon/ring/ring.h"

struct ibmon_layout;

/*
 * Bring the line from memory into the second-level cache. A line that is to come into the first
 * holds one of the few fill buffers (10 to 16 a core) until it has come: with prefetches of that
 * kind a tick of busy rings took 10 to 20 % longer. GCC takes a function that only prefetches for
 * one without effect, and drops its calls: hence the empty asm.
 */
static inline void ring_prefetch_line(const volatile void *at)
{
	__builtin_prefetch((const void *)at, 0, 2);
	__asm__ volatile("");
}

struct ring_mem {
	const volatile uint8_t *base; /* first byte of the ring itself */
	uint32_t len;		      /* bytes that may be read from base */
	uint32_t db_at; /* of layouts that have one, the doorbell record: so far after base */
};

static inline const volatile uint32_t *ring_db(const struct ring_mem *m)
{
	return (const volatile uint32_t *)(m->base + m->db_at);
}

struct ring_ops {
	uint32_t provider;
	uint32_t kind;
	const char *name;
	uint32_t db_bytes; /* of the doorbell record; 0: there is none */
	/* Bytes of state this layout needs for this ring; the state is zeroed. */
	size_t (*state_size)(const struct ring_desc *d);
	/* Check the header against the descriptor; initialise the state. */
	int (*open)(const struct ring_desc *d, const struct ring_mem *m, void *state);
	/*
	 * The same memory is mapped again: can it be the ring that state was counted on, not
	 * behind it? surely: all that was counted last must still be there.
	 */
	bool (*continues)(const struct ring_desc *d, const struct ring_mem *m, const void *state,
			  bool surely);
	/*
	 * At fault: is the state still that of the sample before, which was counted? NULL: it is
	 * not known.
	 */
	bool (*intact)(const void *state);
	/* Is the header still that of the descriptor? To be called after the indices were read. */
	bool (*header_same)(const struct ring_desc *d, const struct ring_mem *m);
	/* A blank ring may have been wiped: its numbers need not begin at 0. May be NULL. */
	void (*seen_before)(void *state);
	/*
	 * After a sample: the words to watch from now on; *q is zeroed. Most rings are idle in most
	 * intervals: this is the fast path; there need not be any words.
	 */
	void (*quiet)(const struct ring_desc *d, const struct ring_mem *m, const void *state,
		      struct ring_quiet *q);
	/*
	 * Bring into the cache what the next sample reads if it finds as much as the last one.
	 * Called twice: first for some of it; rest: just before, for what a CPU cannot wait for
	 * at once.
	 */
	void (*prefetch)(const struct ring_desc *d, const struct ring_mem *m, const void *state,
			 bool rest);
	/*
	 * As ring_sample, SAMPLE_HISTORY included; on -EBADMSG *fault says why. peers may be NULL:
	 * the other send queues, which a completion queue tells what was completed.
	 */
	int (*sample)(const struct ring_desc *d, const struct ring_mem *m, void *state,
		      const struct ring_peers *peers, int64_t elapsed_ns, struct sample *out,
		      enum ring_fault *fault, uint32_t *qpn);
	/*
	 * A completion queue has the completion of a request of this send queue, with this counter,
	 * and so of all that were posted before it. May be NULL.
	 */
	void (*completed)(void *state, uint32_t counter, bool failed);
	const struct ibmon_layout *layout; /* of a plug-in, for plug.c; NULL: it is built in */
};

extern const struct ring_ops ring_rxe_sq;
extern const struct ring_ops ring_rxe_cq;
extern const struct ring_ops ring_mlx5_sq;
extern const struct ring_ops ring_mlx5_cq;
extern const struct ring_ops ring_mlx4_sq;
extern const struct ring_ops ring_mlx4_cq;

/* Layouts that are not built in: ibmon/layout.h loads them. */
enum { RING_LAYOUTS_MAX = 16 };
struct ring_layouts {
	uint32_t n;
	struct ring_ops ops[RING_LAYOUTS_MAX];
};

/* Built in, or one of ls, which may be NULL. NULL: no code here knows this ring. */
const struct ring_ops *ring_ops_find(const struct ring_layouts *ls, uint32_t provider,
				     uint32_t kind);

/* As ring_open() of ring.h, over memory that was found, by a caller that checked all of desc. */
int ring_open_over(struct ring **r, const struct ring_ops *ops, const struct ring_desc *desc,
		   const struct ring_mem *mem);

/* --- of plug-ins: plug.c ---------------------------------------------------------------- */

extern const struct ring_ops ring_plug_sq;
/* The operations of a layout that was checked. */
struct ring_ops ring_plug_ops(const struct ibmon_layout *l);
/* 0: it wants more than it may have. */
size_t ring_plug_state_size(const struct ibmon_layout *l, const struct ring_desc *d);
int ring_plug_open(const struct ibmon_layout *l, const struct ring_desc *d,
		   const struct ring_mem *m, void *state);

/* --- the rest of ring.c and open.c ------------------------------------------------------ */

/*
 * Tell the send queue of this number, if it is among peers and of this provider, what was
 * completed. For sample() of completion queues.
 */
void ring_peers_completed(const struct ring_peers *peers, uint32_t provider, uint32_t qpn,
			  uint32_t counter, bool failed);

/* The history was counted by another ring over the same memory: its first sample has nothing. */
void ring_skip_history(struct ring *r);

/*
 * Is the newest entry that was counted still in the memory at base? was is not sampled any more.
 * Then a ring that begins there counts it again, unless its own entries have the same numbers.
 */
bool ring_counted_here(const struct ring *was, const volatile void *base, size_t len);

/* Was nothing counted on it, and no history skipped? It is not sampled any more. */
bool ring_is_blank(const struct ring *r);

/* The ring's work requests are an upper bound from now on. Any thread. */
void ring_set_bounded(struct ring *r);

/* Another ring was in the same memory: a blank one may be that one after a RESET. */
void ring_may_be_reset(struct ring *r);

/*
 * A ring that was released is mapped again, at base, gap_ns later: go on counting. 1: it does; 0:
 * it is another one; -EAGAIN: it may be either, since r is at fault or surely was asked for. A ring
 * at fault goes on if surely was asked for and its layout says that its state is intact.
 * Unless 1, r is as it was. Only send queues go on. Control thread, as ring_open().
 */
int ring_resume(struct ring *r, const struct ring_desc *desc, const volatile void *base, size_t len,
		int64_t gap_ns, bool surely);

/* For scan: does the control thread know the fault of this ring? It is reported until it does. */
bool ring_fault_delivered(const struct ring *r);
void ring_fault_set_delivered(struct ring *r);

#endif
