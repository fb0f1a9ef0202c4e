/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tape: what the sampler records of its inputs and decisions, and the same for a replay; see
 * src/trace/format.h for what is recorded, and why.
 *
 *	control --handover.tape, taken at a tick's start--> sampler
 *	sampler --a tick's records, at its end--> src/trace/ring.h --> the writer's thread, which
 *		encodes them (tape_encode) and writes the file (src/trace/file.h)
 *
 * In a tick the sampler only copies. Nothing is compared with the former tick, and no number is
 * made shorter, with two exceptions: only new plans are recorded, and of CPU times only the low
 * half while that says it all. Records that are made once, or when a set is taken, are encoded by
 * the sampler.
 *
 * The sampler neither allocates nor waits. Where the ring has no room, the recording ends with a
 * reason, and ticks go on. A tape may be freed once a tick ended that began after handover.tape was
 * set to another, or to none.
 *
 * In a replay, struct tape_script stands for the guests' memory; the rest is the same code.
 */
#ifndef RESEX_TICK_TAPE_H
#define RESEX_TICK_TAPE_H

#include "src/core/resos.h"
#include "src/trace/ring.h"

struct policy_inst;
struct sampler;
struct scan_result;
struct set_guest;
struct slot;

/* Times are below it: differences of two never overflow. */
#define TAPE_TIME_MAX (1ll << 62)

/* The first record of a trace: how the sampler was set up. */
struct tape_conf {
	int64_t interval_ns, epoch_ns;
	int64_t wall_ns; /* CLOCK_REALTIME when the recording began */
	bool observe;	 /* no cap was ever set */
	bool simulated;	 /* the host was */
	uint32_t links;
	struct link_conf link[FLOW_LINKS_MAX];
	char version[FLOW_NAME_MAX]; /* of resexd */
};

/* --- records of a tick, in the ring -------------------------------------------- */

/* A guest's domain, and its CPU time << TAPE_STATE_BITS. */
enum tape_state { TAPE_ABSENT, TAPE_RUNS, TAPE_PAUSED, TAPE_DYING };
enum { TAPE_STATE_BITS = 2, TAPE_STATE_MASK = 3 };

/*
 * TRACE_TICK. It is followed by answers, by the low half of the CPU time of each guest of the set,
 * by scans, and, with wide, by a whole word of each guest.
 */
struct tape_tick {
	int64_t now_ns;
	int32_t list_rc; /* 0; or the -errno of the list of domains: there are no words */
	uint32_t answers, scans;
	uint16_t words; /* guests of the set, unless the list failed */
	bool wide;	/* the low halves do not say it all */
	uint8_t reserved;
	uint64_t again[FLOW_GUESTS_MAX / 64]; /* sampler.again */
};

struct tape_answer {
	uint64_t slot, answer; /* of the mailbox */
	int64_t answered;
};

/* Of the low halves of so many guests: what follows is aligned. */
static inline size_t tape_low_bytes(uint32_t guests)
{
	return (guests * sizeof(uint32_t) + 7) & ~(size_t)7;
}

enum { TAPE_FIGURES = 8 };

/*
 * A guest's usage after its scan, but for CPU time: figure has mtus_sent to queues, in the order of
 * struct usage. Half a cache line less than it: most scans find figures that fit.
 */
struct tape_scan {
	uint16_t slot;
	uint8_t found;	  /* scan_result.found */
	uint8_t wide;	  /* some figure does not fit: all follow, as uint64_t[TAPE_FIGURES] */
	uint32_t reports; /* then a struct report follows */
	uint32_t flags, msg_bytes;
	uint32_t figure[TAPE_FIGURES];
};

/* TRACE_DECIDED has one for each plan that is new, or whose cap was sent. */
struct tape_plan {
	uint32_t slot, reason;
	uint32_t cap; /* milli-percent + 1; 0: none */
	uint32_t rate_q16;
	uint32_t serial, wanted; /* of the newest mail: its number, and percent */
};

/* TRACE_ACCOUNTS has one for each guest. */
struct tape_account {
	uint64_t slot;
	struct account account;
	struct plan_guest plan;
};

enum {
	TAPE_TICK_BYTES = 3 * TRACE_RING_HEAD + sizeof(struct tape_tick) +
			  FLOW_GUESTS_MAX *
				  (sizeof(struct tape_answer) + sizeof(uint32_t) +
				   sizeof(uint64_t) + sizeof(struct tape_scan) +
				   TAPE_FIGURES * sizeof(uint64_t) + sizeof(struct report) +
				   sizeof(struct tape_plan) + sizeof(struct tape_account)),
};

/* What the writer's thread writes as a difference, or leaves out. At first zero. */
struct tape_encoder {
	int64_t now_ns;
	uint64_t word[FLOW_GUESTS_MAX]; /* of the former tick of this set */
};

struct tape {
	/* The sampler's. Records of the tick under way: at grows from room. */
	uint8_t *room, *at;
	struct tape_tick *tick;
	uint64_t odd_before; /* not 0: the next low halves do not continue the former words */
	const struct policy_inst *policy;
	/* enum trace_end, by the sampler; 0: it records, or has not begun to. */
	_Atomic uint32_t end;
	uint64_t plan[FLOW_GUESTS_MAX]; /* by slot: of the plan recorded last; 0: none was */
	struct trace_ring ring;
	struct tape_encoder encoder;
};

/* --- for the sampler's stages ---------------------------------------------------- */

/* A recording begins, or ends (t: NULL). */
void tape_change(struct sampler *s, struct tape *t);
/* A set is taken: what it says, and its policy. */
void tape_set(struct sampler *s);

/* The records of a tick, in this order. */
void tape_tick(struct sampler *s, struct mono now);
void tape_answer(struct tape *t, uint32_t slot, uint64_t answer, struct mono answered);
/*
 * What is noted of each guest's domain, in the order of the set. For as long as all of them are
 * there and run, and none used 2^32 ns since the former tick, the low half of the CPU time says it
 * all: that is half of what has to be written.
 */
struct tape_words {
	uint32_t *low; /* of the next guest; NULL: nothing is recorded, or the list failed */
	uint64_t odd;  /* not 0: the low halves do not say it all */
};
struct tape_words tape_listed(struct sampler *s);
/* odd: not 0 when the low half does not say all of this guest. */
static inline void tape_domain(struct tape_words *w, uint64_t cpu_ns, uint64_t odd)
{
	*w->low++ = (uint32_t)cpu_ns;
	w->odd |= odd;
}
/* Are the words of all guests needed, too? Then tape_word() has to be called for each. */
bool tape_is_wide(struct tape *t, const struct tape_words *w);
static inline void tape_word(struct tape *t, enum tape_state state, uint64_t cpu_ns)
{
	const uint64_t word = cpu_ns << TAPE_STATE_BITS | state;

	memcpy(t->at, &word, sizeof(word));
	t->at += sizeof(word);
}
/*
 * The ring's lines were in the cache of the writer's thread: so far ahead of what is filled now,
 * they are brought into this one, so that the sampler need not wait for each.
 */
enum { TAPE_AHEAD_BYTES = 512 };
/* Of guests with news. */
void tape_scan(struct tape *t, const struct usage *u, const struct report *rep, bool found);
/* All guests were read. */
void tape_observed(struct tape *t);
/* An epoch ends: before balances are renewed. */
void tape_accounts(struct sampler *s);
/* The slot's plan is recorded in this tick. */
static inline void tape_sent(struct tape *t, uint32_t slot)
{
	t->plan[slot] = 0;
}
/* Of all guests that are due. The tick's records go to the writer. */
void tape_decided(struct sampler *s);

/* What scans find in a replay. u has what it had before, and the former backlog and queues. */
struct tape_script {
	void (*scan)(struct tape_script *ts, uint32_t slot, struct usage *u, struct report *rep,
		     struct scan_result *res);
};

/* --- tape_encode.c: for the writer's thread ------------------------------------------ */

/* The payload, in the file, of a record of the ring. It takes less than TRACE_RECORD_MAX. */
void tape_encode(void *encoder, const struct trace_ring_head *h, const uint8_t *payload,
		 struct trace_out *o);
/*
 * The words of a tick, of so many guests: the former ones in, the new ones out. in->bad: it is no
 * such list.
 */
void tape_get_words(struct trace_in *in, uint64_t *word, uint32_t guests);
/* slot and link of u are set, cpu_ns is 0, and *rep is empty. */
void tape_get_scan(struct trace_in *in, bool *found, struct usage *u, struct report *rep);

/* --- tape_state.c: records of what the sampler holds ------------------------- */

void tape_put_conf(struct trace_out *o, const struct tape_conf *c);
void tape_put_policy(struct trace_out *o, const struct policy_inst *pi);
/* False: the block is all zeros, and nothing was put. */
bool tape_put_block(struct trace_out *o, const struct policy_inst *pi, uint32_t slot);
void tape_put_set_guest(struct trace_out *o, const struct set_guest *g);
void tape_put_start(struct trace_out *o, const struct sampler *s);
void tape_put_slot(struct trace_out *o, const struct sampler *s, uint32_t slot);
void tape_put_account(struct trace_out *o, const struct account *a, const struct plan_guest *p);

/* For a replay. They write what was read, also when in->bad then says that it is of no use. */
void tape_get_conf(struct trace_in *in, struct tape_conf *c);
void tape_get_set_guest(struct trace_in *in, struct set_guest *g);
/* s has its set: the guests of it are seated. */
void tape_get_start(struct trace_in *in, struct sampler *s);
void tape_get_slot(struct trace_in *in, struct sampler *s, uint32_t slot);

#endif
