/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring: one mapped ring of a guest, and what was counted on it.
 *
 * The unit of counting is the queue pair: for rxe its send queue has everything
 * (sizes, packet sequence numbers, a free-running count); a completion queue adds
 * the status of receives and names queue pairs.
 *
 * The guest may write the memory of a ring at any moment. It is read once into a
 * copy, and the copy is validated; nothing in it is followed or trusted; work per
 * call is bounded by RING_WALK_MAX entries.
 *
 * open and close run in the control thread and allocate or free; sample runs in
 * the sampler and does not.
 */
#ifndef RESEX_IBMON_RING_RING_H
#define RESEX_IBMON_RING_RING_H

#include <stddef.h>

#include "src/core/flow.h"

enum { RING_WALK_MAX = 4096 }; /* entries read in one sample; more are counted as lost */

enum ring_kind {
	RING_SQ = 1, /* the values of enum guest_ring_kind */
	RING_CQ = 2,
};

/* A validated copy of a guest's ring descriptor. */
struct ring_desc {
	uint32_t id;
	uint32_t kind; /* enum ring_kind */
	uint32_t elem_size;
	uint32_t entries;
	uint32_t provider; /* enum guest_ring_provider */
	uint32_t number;
	uint32_t pid;
	uint32_t path_mtu;
	uint32_t offset;
	uint32_t first_frame;
	uint32_t frames;
	uint32_t db_offset;
	uint32_t qp_type; /* enum guest_qp_type */
	uint64_t db_frame;
	uint64_t created; /* as the agent says; 0: not known */
	char comm[16];	  /* printable ASCII, NUL-terminated */
};

/* Why a ring is no longer read. */
enum ring_fault {
	RING_OK,
	RING_FAULT_HEADER, /* its header changed: memory was reused or forged */
	RING_FAULT_INDEX,  /* an index left the ring */
	RING_FAULT_ENTRY,  /* an entry cannot be a work request */
	RING_FAULT_JUMP,   /* counters jumped further than time allows */
	RING_FAULT_LAYOUT, /* provider, version or form not known to this code */
	RING_FAULT_MAP,	   /* its frames could not be mapped */
	RING_FAULT_LIMIT,  /* beyond this guest's limit of rings or pages */
	RING_FAULT_DESC,   /* descriptor out of its ranges */
	RING_FAULT_PLUGIN, /* its layout, a plug-in, returned counts that cannot be */
};

const char *ring_fault_text(enum ring_fault f); /* one sentence */

/* Totals since the ring was opened. */
struct ring_totals {
	/* What most samples add to comes first: two cache lines. */
	uint64_t wrs, seen;
	uint64_t mtus_sent, mtus_recv;
	uint64_t bytes_sent, bytes_recv;
	uint32_t flags; /* all sample_flags ever set */
	uint32_t qpn;	/* queue pair, if an entry named it; else desc.number */
	uint64_t ops[OP_KINDS];
	uint64_t lost, errors, bytes_bound;
	uint64_t completions; /* CQ only: entries seen */
	uint64_t laps;	      /* samples in which entries were lost */
};

/* *to += *t, with the union of the flags; qpn is unchanged. */
void ring_totals_add(struct ring_totals *to, const struct ring_totals *t);

/* The name of a provider whose queues are read, by enum guest_ring_provider; NULL: another. */
const char *ring_provider(uint32_t provider);
/*
 * Layouts that are not built in (ibmon/layout.h). ls NULL: there are none. The name of the layout
 * of such rings, built in or not; NULL: none reads them.
 */
struct ring_layouts;
const char *ring_layout_name(const struct ring_layouts *ls, uint32_t provider, uint32_t kind);
/* The name of the i-th of ls; NULL: there are fewer. */
const char *ring_layout_loaded(const struct ring_layouts *ls, uint32_t i);
/* What an operator must know of the providers: one sentence without an end. */
const char *ring_providers_note(void);

struct ring;

/*
 * Words of guest memory: while they are unchanged, a sample would find nothing, unless the guest
 * forges the others. They are read instead of a sample most of the time.
 */
struct ring_quiet {
	/* One word alone is at[0] and at[1]; at[2] may be NULL. All NULL: only a sample tells. */
	const volatile uint32_t *at[3];
	uint32_t value[3];
	uint32_t backlog; /* that the sample would find; 0: at[2] is read in checks only */
};

/*
 * Frames that must be mapped, one after the other, to read the ring: its own, and that of its
 * doorbell record if its layout has one.
 */
uint32_t ring_frames(const struct ring_layouts *ls, const struct ring_desc *desc);

/*
 * Open a ring over len mapped bytes at base (the first byte of its first
 * frame; the ring begins at desc->offset, the doorbell record is in the last
 * frame). The work already visible is its history: the first sample has it,
 * with SAMPLE_HISTORY.
 * 0; -EPROTONOSUPPORT: provider or layout; -EBADMSG: header and descriptor
 * disagree, or do not fit len; -ENOMEM.
 */
int ring_open(struct ring **r, const struct ring_desc *desc, const volatile void *base, size_t len);
/* The same, also by layouts of ls. */
int ring_open_among(struct ring **r, const struct ring_layouts *ls, const struct ring_desc *desc,
		    const volatile void *base, size_t len);
void ring_close(struct ring *r); /* frees; the caller unmaps */

/*
 * Count what was completed since the last call. out is zeroed and filled, except
 * slot. 0, or -EBADMSG when the ring was found at fault: all further calls return
 * -EBADMSG at once. elapsed_ns is the time since the last call and bounds what is
 * plausible.
 */
int ring_sample(struct ring *r, int64_t elapsed_ns, struct sample *out);

/*
 * The send queues of a guest, by the numbers of their queue pairs. Of mlx5, only completion queues
 * say what was completed, and each may serve many queue pairs. They are sampled with the same
 * peers, and tell these.
 */
struct ring_peers {
	uint32_t n;
	struct {
		uint32_t qpn;
		struct ring *sq;
	} peer[]; /* ascending by qpn */
};

/* Of n rings, those that need to be told; NULL: none does, or no memory. free() it. */
struct ring_peers *ring_peers_new(struct ring *const *ring, uint32_t n);

/* As ring_sample. A completion queue notifies those send queues among peers (or NULL). */
int ring_sample_among(struct ring *r, const struct ring_peers *peers, int64_t elapsed_ns,
		      struct sample *out);

/* The words to watch from the last sample on, until the next, or until the ring is unmapped. */
void ring_watch(const struct ring *r, struct ring_quiet *q);

enum ring_fault ring_fault(const struct ring *r);
const struct ring_desc *ring_desc(const struct ring *r);
void ring_totals(const struct ring *r, struct ring_totals *t); /* same thread as sample */

/* Was it read without a fault, at least once? Any thread. */
bool ring_was_read(const struct ring *r);

/*
 * Save the totals for another thread, which reads them after it was notified and
 * before the next ring_show.
 */
void ring_show(struct ring *r);
/* The totals saved last; false: none were. */
bool ring_shown(const struct ring *r, struct ring_totals *t);

#endif
