/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rxe_sq: what the two files of the send queue layout share. Private.
 *
 * rxe.c finds out how many work requests were completed and which
 * entries can still be read; rxe_psn.c what they cost.
 */
#ifndef RESEX_IBMON_RING_RXE_SQ_H
#define RESEX_IBMON_RING_RXE_SQ_H

#include "ibmon/ring/rxe.h"

/* An entry as it was when seen posted. */
struct rxe_noted {
	uint32_t ssn;
	uint32_t length;
	uint8_t valid;
	uint8_t opcode;
	uint8_t ud;
	uint8_t reserved;
};

struct rxe_sq {
	uint32_t cons;	   /* completions before this slot are counted */
	uint32_t ssn;	   /* of the newest counted; 2^32 - 1 when there was none yet */
	uint32_t raw_ssn;  /* what stood in the newest completed slot, right or wrong */
	uint32_t base_idx; /* a slot, and the ssn of the entry before it: the two */
	uint32_t base_ssn; /*   were true together at the last sample */
	uint32_t noted_to; /* entries before this slot were noted */
	uint32_t psn;	   /* last one accounted for */
	uint32_t path_mtu; /* given or inferred; 0: not known */
	uint32_t owed;	   /* lost entries that no packet number has covered yet */
	uint64_t advanced; /* MTUs of these that were charged by length */
	uint32_t largest;  /* message seen, in MTUs */
	uint32_t unstable; /* samples in a row without a stand */
	bool opened;	   /* history was taken */
	bool ssn_known;
	bool psn_known;
	bool failed;		   /* the newest counted failed */
	bool blank;		   /* the newest slot was never used, or wiped */
	bool connected;		   /* did what UD cannot do */
	bool ud;		   /* last SEND was to an address handle */
	uint64_t msgs, sent, recv; /* seen messages of connected kind and their MTUs */
	struct rxe_noted noted[];  /* by slot */
};

/* A copy of what matters in an entry. */
struct rxe_entry {
	uint32_t ssn;
	uint32_t ssn_after; /* read again after all of the copy */
	uint32_t opcode, flags, ud_qpn, num_sge;
	uint32_t status, state, first, last, length;
};

/* One sample in the making. Entries first: they are not cleared, but read when needed. */
struct rxe_walk {
	struct rxe_entry newest, head; /* completed; oldest in flight */
	const struct ring_desc *d;
	const struct ring_mem *m;
	struct rxe_sq *q;
	struct sample *out;
	enum ring_fault fault;
	uint64_t jump_max; /* packets or posts that time allows */
	/* where the ring stands */
	uint32_t mask, cons, prod;
	uint32_t raw_ssn, ssn; /* of the newest completed entry: as read, and corrected */
	uint32_t since;	       /* ssn used up since the previous sample */
	bool idle;	       /* nothing moved at all */
	bool scribbled;	       /* the newest was overwritten by a refused post */
	bool newest_gone;      /* and what it was is not known */
	bool head_valid;       /* head was read, and was in flight */
	/* how many */
	uint64_t n, ahead; /* completed; of these, up to the base */
	uint64_t unseen;   /* of n, not readable any more */
	uint32_t beyond, beyond_idx, skipped;
	uint32_t oldest_age; /* ssn distance from the newest to the oldest seen */
	bool reset;	     /* wiped slots were met */
	/* what they cost */
	bool dead;	     /* the queue pair had failed before all this */
	bool oldest_flushed; /* the oldest entry seen did not fail by itself */
	bool newer_valid;    /* an entry waits for the one before it */
	bool tail_known;     /* newest_psn is that of the newest entry that was sent */
	bool failed_tail;    /* and newer ones failed */
	bool head_known;     /* newest_psn is that before the oldest entry in flight */
	bool broken;	     /* an entry before ones that were sent failed */
	uint32_t newer_opcode, newer_first, newer_last, newer_length; /* valid with newer_valid */
	uint32_t newest_psn;
	uint64_t excess; /* MTUs beyond what the entries' own lengths explain */
	uint64_t msgs, sent, recv;
};

/* Count one entry that was seen, going backwards. 0 or -EBADMSG (w->fault). */
int rxe_take(struct rxe_walk *w, const struct rxe_entry *e);

/* After the walk: w->n and w->unseen are known. 0 or -EBADMSG (w->fault). */
int rxe_settle(struct rxe_walk *w);

/* No PSN is known yet: perhaps the oldest entry in flight (w->head) tells. */
void rxe_learn(struct rxe_walk *w);

/* Does the entry counted as newest by the previous sample still stand there? */
bool rxe_previous_intact(const struct rxe_walk *w);

#endif
