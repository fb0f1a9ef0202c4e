/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * world: hosts with words, links and clocks, in virtual time, for tests.
 *
 * An event queue ordered by time. The process of a host is a step function (step.h). The
 * world gives it events, posts its operations, executes each at its target after a delay,
 * and returns the result. Or it injects a fault: it drops an operation, delays it past its
 * deadline, cuts links, crashes, restarts and pauses hosts. It keeps the contract of
 * transport.h: one result an operation; order within a link; an UNKNOWN operation may be
 * executed until its responder has accepted a newer link of that host, and then never. All
 * is drawn from one seed. The words of one READ are read at two times: the first or the last of
 * them at one, the others later. A READ may include places without a word of the world: they are 0.
 *
 * With world_actor.word the words are the user's, of any part, and there are messages. One that has
 * arrived is given to the process of its target when that runs, and is lost when it dies before.
 */
#ifndef RESEX_TESTS_WORLD_H
#define RESEX_TESTS_WORLD_H

#include "resex/region_abi.h"
#include "src/reconf/step.h"

enum {
	WORLD_HOSTS = 8,	      /* numbered from 1 */
	WORLD_KINDS = 4,	      /* of words: locks, counters, node words, acknowledgements */
	WORLD_WORDS = 8,	      /* of each kind a host; and as many kept words of nodes */
	WORLD_READ = 2 * WORLD_WORDS, /* words of one READ */
	WORLD_OPS = 512,	      /* outstanding */
	WORLD_EVENTS = 2048,
	WORLD_DEPTH = 64, /* outstanding of a link */
	WORLD_LOST = 256,
};

enum world_fault {
	FAULT_DROP,	    /* the request is lost, and all behind it on that link */
	FAULT_MUTE,	    /* the result is lost, and all behind it */
	FAULT_LATE,	    /* the request executes long after its deadline */
	FAULT_PAUSE,	    /* the poster pauses between its check and this post */
	FAULT_HANG,	    /* the same, for longer than any lease */
	FAULT_STALL,	    /* the poster pauses right after this post */
	FAULT_CRASH_POSTER, /* the poster crashes before this post */
	FAULT_CRASH_SENT,   /* the poster crashes while this is outstanding */
	FAULT_CRASH_TARGET, /* the target crashes when this arrives */
	FAULT_CUT,	    /* the link is cut, both ways, and later healed */
	FAULT_REFUSE,
	FAULT_WAIT, /* it waits for room on its link before it is posted, and those after it */
	FAULTS,
};

/* Times in ns of true time. */
struct world_conf {
	uint32_t hosts;
	int64_t delay_min, delay_max; /* one way */
	int64_t deadline;	      /* of an operation */
	int64_t tick_late;	      /* a tick comes up to so late */
	int32_t drift_ppm;	      /* clocks run at 1 +- up to this */
	int64_t lease;		      /* HANG and LATE last longer than this */
	int64_t late_min;	      /* past its deadline, LATE */
	int64_t faults_until;
	uint32_t fault_in;		 /* one fault in this many operations; 0: none */
	uint32_t faults_max;		 /* in one run */
	bool aimed;			 /* mostly at CASes that move a node */
	uint32_t weight[FAULTS];	 /* how likely each is, against the others */
	uint64_t before_first;		 /* generation of all hosts before their first start */
	uint32_t nodes[WORLD_HOSTS + 1]; /* a READ sees so many nodes of the host; 0: all */
	uint16_t unswept;    /* this host refuses CASes that leave a node where it is; 0: none */
	uint32_t unswept_in; /* one of so many */
	bool restarts;	     /* a crashed host comes back */
	bool asides;	     /* READs on a link that is down may still be answered */
};

/* An operation was executed on a word; of a READ, each of its words is an effect of its own. */
struct world_effect {
	int64_t t, posted; /* when; when the step that put it out ran */
	uint16_t poster;
	uint32_t boot; /* of the poster's process, that posted it */
	const struct step_op *op;
	uint32_t offset;   /* of the word */
	uint64_t old, now; /* the word before and after */
};

enum world_notice {
	NOTICE_CRASH,
	NOTICE_BOOT,
	NOTICE_PAUSE,
	NOTICE_CUT,
	NOTICE_HEAL,
	NOTICE_LATE, /* host posted an operation that will be late; value: its target */
};

struct world;

struct world_actor {
	/* The process of host begins: set its words (world_word), forget all. */
	void (*boot)(void *ctx, uint16_t host, uint64_t generation, struct mono now);
	void (*step)(void *ctx, uint16_t host, const struct step_event *ev, struct mono now,
		     struct step_out *out);
	/* When the process is due for its next tick, by its own clock. */
	struct mono (*due)(void *ctx, uint16_t host);
	void (*effect)(void *ctx, const struct world_effect *e);
	/* The poster gets the result DONE of an operation: for each of its effects. */
	void (*result)(void *ctx, const struct world_effect *e);
	void (*notice)(void *ctx, enum world_notice what, uint16_t host, uint64_t value);
	/* A timer of world_timer. */
	void (*timer)(void *ctx, uint32_t what);
	void *ctx;
	/* The word at this place of host's region; NULL: there is none. May be NULL (see above). */
	uint64_t *(*word)(void *ctx, uint16_t host, enum step_part part, uint32_t offset);
};

struct world_event {
	int64_t t;
	uint32_t order;
	uint16_t type;
	uint16_t a;
	uint32_t value, more;
};

struct world_op {
	struct step_op op;
	uint16_t poster;
	uint32_t boot;
	uint32_t serial; /* of the link */
	int64_t decided, posted, deadline, executed;
	uint64_t old, now;	    /* the word before and after */
	uint32_t words, split;	    /* READ: how many; two parts of them are read at two times: */
	bool last_first;	    /* those from split on come first, or those before it */
	uint32_t place[WORLD_READ]; /* of each, in words from op.offset */
	uint64_t data[WORLD_READ];
	int64_t read[WORLD_READ];  /* when each was read */
	enum step_outcome outcome; /* once its RESULT is under way */
	uint32_t link;
	uint8_t refs;
	bool reported, refuse, crash;
	uint32_t next_free;
};

struct world_link {
	bool up, mute, dead;
	int64_t cut_until, call_after;
	uint32_t serial;   /* of the link as its caller has it */
	uint32_t number;   /* its number for the caller's process */
	uint32_t accepted; /* serial of the newest that the responder accepted */
	int64_t last_exec, last_result;
	uint32_t n;
	uint32_t out[WORLD_DEPTH]; /* operations without a result, oldest first */
	uint32_t waits;
	uint32_t wait[WORLD_DEPTH]; /* operations that are not posted yet, oldest first */
};

struct world_host {
	bool up;
	uint32_t boot; /* of its process: counts crashes and restarts */
	uint64_t generation;
	int64_t paused_until, crashed_at;
	int64_t offset;
	int64_t drift;	 /* of its clock, in 2^-20 */
	int64_t tick_at; /* earliest TICK in the queue */
	struct step_event view;
	uint32_t lost_n;
	uint32_t lost[WORLD_LOST]; /* posted on no link: reported before anything else */
	uint64_t word[WORLD_KINDS][WORLD_WORDS];
	uint64_t kept[WORLD_WORDS];
};

struct world {
	struct world_conf conf;
	const struct world_actor *actor;
	uint64_t rng;
	int64_t now;
	uint32_t order, serials, faults;
	uint64_t steps;
	struct world_host host[WORLD_HOSTS + 1];
	struct world_link link[WORLD_HOSTS + 1][WORLD_HOSTS + 1]; /* from, to */
	struct world_op op[WORLD_OPS];
	uint32_t free_op;
	struct world_event heap[WORLD_EVENTS];
	uint32_t heap_n;
	uint8_t message[WORLD_OPS][STEP_MESSAGE_MAX]; /* of each SEND */
	struct step_out out;			      /* of the step that runs */
	uint64_t data[REGION_WORDS_OF_KIND];	      /* of the READ whose result is given */
	const char *broken;			      /* why the world itself cannot go on */
};

void world_init(struct world *w, const struct world_conf *c, const struct world_actor *a,
		uint64_t seed);
/* Boot all hosts with this view. */
void world_start(struct world *w, uint64_t view, uint64_t members);
/* Run until t or until w->broken. */
void world_run(struct world *w, int64_t t);

struct mono world_clock(const struct world *w, uint16_t host);
uint64_t *world_word(struct world *w, uint16_t host, uint32_t offset);
uint64_t world_random(struct world *w);
int64_t world_between(struct world *w, int64_t lo, int64_t hi);
/* actor->timer(what) at t. */
void world_timer(struct world *w, int64_t t, uint32_t what);
/* Give the process an event of type STEP_ASK now. */
void world_ask(struct world *w, uint16_t host, uint32_t what);

void world_crash(struct world *w, uint16_t host, int64_t down_ns);
void world_pause(struct world *w, uint16_t host, int64_t ns);
/* Operations of a on b. Those of b on a go on. */
void world_cut_one(struct world *w, uint16_t a, uint16_t b, int64_t ns);
/* Both directions between a and b. */
void world_cut(struct world *w, uint16_t a, uint16_t b, int64_t ns);
/* The membership from now on; host gets its STEP_VIEW within so long. */
void world_view(struct world *w, uint16_t host, uint64_t view, uint64_t members, bool quorate,
		int64_t within_ns);
/* Boot the host now if it is down. */
void world_revive(struct world *w, uint16_t host);

#endif
