/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rxe_sq: what the two files of the send queue layout share. Private.
 *
 * A sample is made of values, each from the one before:
 *
 *	struct rxe_ring    what to read and where to write; fixed for the sample
 *	struct rxe_stand   where producer and consumer stood         (rxe.c)
 *	struct rxe_done    how many entries were completed since     (rxe.c)
 *	struct rxe_charge  what the entries that could be read cost  (rxe_psn.c)
 *	struct sample      all of it, with what could not be read    (rxe_psn.c)
 *
 * rxe_run.c does it all at once for the rings that need none of this. rxe.c calls it and rxe_psn.c;
 * rxe_run.c calls rxe_psn.c; never the other way round.
 */
#ifndef RESEX_IBMON_RING_RXE_SQ_H
#define RESEX_IBMON_RING_RXE_SQ_H

#include "ibmon/ring/rxe.h"
#include "src/util/seqread.h"

/* What an entry asked for, noted when it was seen posted. */
struct rxe_noted {
	uint32_t ssn;
	uint32_t length;
	uint8_t valid;
	uint8_t opcode;
	uint8_t ud;
	uint8_t reserved;
};

/* What is remembered of a send queue from one sample to the next. */
struct rxe_sq {
	/* Two cache lines with all that rxe_sample_run() and sq_quiet() use. */
	uint32_t cons;	   /* completions before this slot are counted */
	uint32_t ssn;	   /* of the newest counted; 2^32 - 1 when there was none yet */
	uint32_t raw_ssn;  /* in the newest completed slot as it was read, right or wrong */
	uint32_t base_idx; /* a slot, and the ssn of the entry before it: the two */
	uint32_t base_ssn; /*   were true together at the last sample */
	uint32_t noted_to; /* entries before this slot were noted */
	uint32_t psn;	   /* last one accounted for */
	uint32_t path_mtu; /* given or inferred; 0: not known */
	uint32_t owed;	   /* lost entries that no packet number has covered yet */
	uint32_t settled;  /* of these, charged by guess */
	uint32_t largest;  /* message seen, in MTUs */
	uint32_t posted;   /* entries posted before the last sample, after the one before it */
	uint32_t unstable; /* samples in a row in which the consumer kept moving */
	bool opened;	   /* the history was counted */
	bool seen_before;  /* as another ring: blank does not mean new */
	bool ssn_known;
	bool psn_known;
	bool failed;		   /* the newest counted failed */
	bool blank;		   /* the newest slot was never used, or wiped */
	bool connected;		   /* did what UD cannot do */
	bool ud;		   /* last SEND was to an address handle */
	uint64_t msgs, sent, recv; /* seen messages of connected kind and their MTUs */
	int64_t zeroed_ns;	   /* for how long it has looked like a new ring; */
	int64_t partly_ns;	   /* as if RESET had wiped only a part of it */
	uint64_t advanced;	   /* MTUs of owed entries that were charged by length */
	uint64_t guessed;	   /* and by guess */
	int64_t owed_ns;	   /* for how long nothing was completed meanwhile */
	struct rxe_noted noted[];  /* by slot */
};

static_assert(offsetof(struct rxe_sq, guessed) <= 128, "what most samples use is two lines");

/* A copy of the fields of an entry that are used. */
struct rxe_entry {
	uint32_t ssn;
	uint32_t ssn_after; /* read again after all of the copy */
	uint32_t opcode, flags, ud_qpn, num_sge;
	uint32_t status, state, first, last, length;
};

/* One ring during one sample. */
struct rxe_ring {
	const struct ring_desc *d;
	const struct ring_mem *m;
	struct rxe_sq *q;
	struct sample *out;
	uint32_t mask;	   /* slots - 1 */
	uint64_t jump_max; /* packets or posts that time allows */
};

/* Where the ring stood when it was read. */
struct rxe_stand {
	struct rxe_entry newest; /* completed; read unless idle */
	struct rxe_entry head;	 /* oldest in flight; read with head_valid */
	uint32_t cons, prod;
	uint32_t raw_ssn;      /* of the newest completed entry, as read */
	uint32_t ssn;	       /* and corrected */
	bool idle;	       /* nothing moved at all */
	bool scribbled;	       /* a refused post overwrote the newest */
	bool newest_gone;      /* and what it was is not known */
	bool head_valid;       /* head was read, and was in flight */
	enum ring_fault fault; /* RING_OK, or all of the above means nothing */
};

/* What was completed since the previous sample. */
struct rxe_done {
	uint64_t n;	       /* entries */
	uint32_t ssn;	       /* of the newest */
	uint32_t since;	       /* ssn used up, refused posts included */
	uint32_t oldest_age;   /* ssn distance from the newest to the oldest entry read */
	uint32_t refused;      /* posts known to be refused between the entries read */
	bool reset;	       /* wiped slots were met: the queue pair was RESET */
	enum ring_fault fault; /* RING_OK, or all of the above means nothing */
};

/* A PSN up to which completed work is accounted for. */
struct rxe_end {
	enum { END_UNKNOWN, END_OF_NEWEST, END_BEFORE_HEAD } from;
	uint32_t psn;
	bool failed_after; /* END_OF_NEWEST: and newer entries failed */
};

/* The cost of the entries that were read, added up from the newest to the oldest. */
struct rxe_charge {
	struct rxe_end end;
	uint64_t msgs, sent, recv; /* messages, their MTUs */
	uint64_t excess;	   /* MTUs beyond what the entries' own lengths explain */
	bool oldest_flushed;	   /* the oldest entry read did not fail by itself */
	bool broken;		   /* an entry before ones that were sent failed */
	/* The entry read before, whose cost is known once the one before it is read. */
	struct {
		bool valid;
		uint32_t opcode, first, last, length;
	} newer;
};

static inline const volatile struct ring_rxe_wqe *rxe_wqe(const struct rxe_ring *r, uint32_t slot)
{
	size_t at = sizeof(struct ring_rxe_header) + (size_t)(slot & r->mask) * r->d->elem_size;

	return (const volatile struct ring_rxe_wqe *)(r->m->base + at);
}

static inline void rxe_entry_load(const struct rxe_ring *r, uint32_t slot, struct rxe_entry *e)
{
	const volatile struct ring_rxe_wqe *p = rxe_wqe(r, slot);

	e->ssn = p->ssn;
	e->status = p->status;
	e->state = p->state;
	e->first = p->first_psn;
	e->last = p->last_psn;
	e->length = p->length;
	e->opcode = p->opcode;
	e->flags = p->send_flags;
	e->ud_qpn = p->ud_remote_qpn;
	e->num_sge = p->num_sge;
}

/* Entries that were completed or sent have a state: only wiped ones are all zero. */
static inline bool rxe_entry_blank(const struct rxe_entry *e)
{
	return !e->state && !(e->ssn | e->status | e->first | e->last | e->length | e->opcode |
			      e->flags | e->ud_qpn | e->num_sge);
}

/* Add one entry that was read; called from the newest to the oldest. */
enum ring_fault rxe_charge_entry(const struct rxe_ring *r, const struct rxe_entry *e,
				 struct rxe_charge *c);

/*
 * Packets of each entry of a run that goes on before the one charged last, which was not on UD; 0:
 * there can be none, since it failed or was local.
 */
uint32_t rxe_alike_packets(const struct rxe_charge *c);

/* As rxe_charge_entry for n more entries, each as the last one, with the PSNs just before it. */
void rxe_charge_alike(const struct rxe_ring *r, struct rxe_charge *c, uint32_t n, uint32_t packets);

/*
 * How many entries from slot backwards, at most max, are like the one that follows them, in all
 * that is looked at, each with the sequence number and packets PSNs just before the next? like:
 * that one, not on UD. They are plausible if it is. None of them is copied.
 */
uint32_t rxe_count_alike(const struct rxe_ring *r, uint32_t slot, uint32_t max,
			 const struct rxe_entry *like, uint32_t packets);

/* Count what was completed, whatever it is; r->out is zeroed. The steps at the top. */
enum ring_fault rxe_sample_any(const struct rxe_ring *r, int64_t elapsed_ns);

/*
 * Count what was completed, all of it alike, as rxe_sample_any would. False: it may be anything
 * else; nothing was changed.
 */
bool rxe_sample_run(const struct rxe_ring *r);

/* Is e plausible, and was it sent, in no more packets than its length explains? */
bool rxe_is_explained(const struct rxe_ring *r, const struct rxe_entry *e, uint32_t packets);

/* Charge n entries like e, of so many packets each, and nothing else. */
void rxe_charge_run(const struct rxe_ring *r, const struct rxe_entry *e, uint32_t n,
		    uint32_t packets);

/*
 * After the last entry: charge what could not be read, fill r->out and remember
 * the PSN. d->n becomes less where packets show that fewer were completed.
 */
enum ring_fault rxe_charge_done(const struct rxe_ring *r, const struct rxe_stand *s,
				struct rxe_done *d, struct rxe_charge *c);

/* Charge by guess the entries that wait for the next PSN: none came for a while. */
void rxe_settle(const struct rxe_ring *r);

/* No PSN is known yet: remember that before head, the oldest entry in flight, if it tells. */
void rxe_learn_psn(struct rxe_sq *q, const struct rxe_entry *head);

#endif
