/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history: a record of what happened to the words, and a checker of it.
 *
 * The checker gets effects (an operation was executed on its word), crashes and loads, in
 * order of true time, and keeps its own copy of every word. It does not use the state of
 * the protocols, with one exception: whether a host believes that it may act under a lock
 * (HISTORY_MAY). A lease must prevent that two hosts believe so at once. The first violation
 * is kept.
 */
#ifndef RESEX_TESTS_HISTORY_H
#define RESEX_TESTS_HISTORY_H

#include <stdio.h>

#include "resex/region_abi.h"
#include "src/reconf/step.h"

enum {
	HISTORY_HOSTS = 8,
	HISTORY_SERVICES = 8, /* 1 .. 7 are services, as node words name them */
	HISTORY_NODES = 8,    /* of a host */
	HISTORY_LAST = 128,   /* records kept for people */
	HISTORY_VIEWS = 16,
	HISTORY_HELD = 8,
	HISTORY_EPOCHS = 8, /* the newest of a home's locks, by number modulo this */
	HISTORY_PAST = 4,   /* processes of a host that are remembered */
};

enum { HISTORY_OPERATOR = 0 }; /* the host of its EFFECTs: resex lock-break --force */

enum history_type {
	HISTORY_BOOT,	/* host starts process boot, with new words; value: generation */
	HISTORY_WORD,	/* host, offset; now: its first value; value 1: its file was lost */
	HISTORY_BEGUN,	/* host: all its words have begun */
	HISTORY_CRASH,	/* host */
	HISTORY_EFFECT, /* host did op to target's word: old, now; value: when it posted it */
	HISTORY_SEEN,	/* host gets the result of an EFFECT of time value: the word is now */
	HISTORY_MAY,	/* host believes that it may act under the lock, in view value - 1; 0: no */
	HISTORY_VIEW,	/* host gets STEP_VIEW: members value, view old; service 1: quorate */
	HISTORY_HIGH,	/* service's load is high from now on */
	HISTORY_LOW,
	HISTORY_PAUSE, /* host, for value ns */
	HISTORY_NOTE,  /* value: enum world_notice. Changes nothing */
};

struct history_record {
	int64_t t;
	enum history_type type;
	uint16_t host, target;
	uint16_t service;
	enum step_kind op;
	uint32_t boot, offset;
	uint64_t compare, old, now, value;
};

enum history_violation {
	HISTORY_FINE,
	HISTORY_FENCE,	     /* a seq of a lock or a node did not go up */
	HISTORY_SERVICE,     /* a node word names no service, or changed otherwise than by CAS */
	HISTORY_UNLOCKED,    /* a move without both locks */
	HISTORY_OVERLAP,     /* a move took effect after a newer holder had decided */
	HISTORY_STALE,	     /* a move on a count that was not made, or was no longer true */
	HISTORY_MINIMUM,     /* a move or an adoption took a service below its minimum */
	HISTORY_RESTART,     /* a restart of a node's host did */
	HISTORY_UNANNOUNCED, /* a balancer in the view was not notified of a move */
	HISTORY_LEASE,	     /* two hosts may act under one lock */
	HISTORY_THEFT,	     /* a lock released by a host that does not hold it, or broken early */
	HISTORY_TWICE,	     /* two moves for one high load, without any fault */
	HISTORY_MISSED,	     /* no move for a high load that lasted */
	HISTORY_BURST,	     /* a move for a load that was not high for T */
	HISTORY_DELAY,	     /* a dead or hung holder delayed its service for too long */
	HISTORY_MINORITY,    /* a lock acquired or a node moved by a host that knew: no quorum */
	HISTORY_BEHIND,	     /* a lock acquired of a newer view than its host knows */
	HISTORY_ORDER,	     /* a lock acquired while one of a higher service was held */
	HISTORY_WORLD,	     /* the test itself cannot go on */
	HISTORY_VIOLATIONS,
};

struct history_conf {
	uint32_t hosts, services;
	uint32_t nodes[HISTORY_HOSTS + 1];
	uint32_t minimum[HISTORY_SERVICES];
	/* Balancers of a service: bit h - 1. */
	uint64_t balancers[HISTORY_SERVICES];
	bool faultless;	   /* TWICE, ORDER are checked */
	int64_t high_ns;   /* BURST: a load must have been high for this long; 0: any */
	int64_t flight_ns; /* BURST: the longest time from a decision to its effect */
	int64_t break_ns;  /* THEFT: a word may be broken when unchanged for this long */
	/*
	 * DELAY: a host that acquires a dead holder's lock first read it at most this long
	 * ago; the first host to read it did at most any_delay_ns ago. 0: not checked.
	 */
	int64_t delay_ns, any_delay_ns;
	/*
	 * Later is no violation, if at most this long ago a host released the new owner's first
	 * lock, with which it had another one: it made a move of another pair.
	 */
	int64_t retry_ns;
	bool wanted; /* all hosts that read the word want the lock, whatever its own load */
	int64_t announced_ns; /* added to both if the dead holder had announced its move */
	FILE *verbose;	      /* each record; may be NULL */
};

/* One process: what it did and saw, by its operations' effects. */
struct history_process {
	uint32_t boot;
	bool up;
	/* Hosts that are not in its view, and since when; the newest are kept. */
	struct {
		int64_t t;
		uint64_t hosts;
	} removed[HISTORY_VIEWS];
	uint32_t views;
	uint64_t view;		/* number of the newest that it knows */
	int64_t minority_since; /* since when it knows that it has no quorum; 0: it has */
	/* Here and below, seqs of locks are ordered also over the lives of a home: order_of(). */
	uint64_t held[HISTORY_SERVICES]; /* seq; 0: not acquired, or released */
	/* Its newest acquisitions: an old decision was made under an older seq. */
	struct {
		int64_t t;
		uint64_t seq;
	} past[HISTORY_SERVICES][HISTORY_HELD];
	uint32_t pasts[HISTORY_SERVICES];
	uint64_t may[HISTORY_SERVICES];
	int64_t announced[HISTORY_HOSTS + 1][HISTORY_SERVICES]; /* its newest FAA of each counter */
	uint64_t word[HISTORY_HOSTS + 1][HISTORY_NODES];	/* of the node, as it saw it */
	uint64_t kept[HISTORY_HOSTS + 1][HISTORY_NODES];
	int64_t saw_at[HISTORY_HOSTS + 1][HISTORY_NODES]; /* word */
	int64_t swept_at; /* its newest CAS of a node to the same service */
};

struct history_service {
	uint64_t fence;				/* highest seq ever acquired, at any home */
	uint64_t home_fence[HISTORY_HOSTS + 1]; /* at this home since it booted */
	uint64_t epoch_fence[HISTORY_HOSTS + 1][HISTORY_EPOCHS]; /* in this epoch, ever */
	uint64_t decided; /* highest seq under which a move was decided */
	uint16_t holder;  /* 0: released */
	uint32_t holder_boot;
	bool high;
	int64_t high_since, low_since;
	int64_t lasted_until; /* end of the newest load that was high for long enough */
	uint32_t moves;	      /* into it since high_since */
	int64_t stuck_since;  /* its holder died or hangs; 0: not */
	bool announced;	      /* its holder has announced a move */
	int64_t met;	      /* when a host first read the stuck word; 0: not yet */
	int64_t met_by[HISTORY_HOSTS + 1];
	int64_t pair_until[HISTORY_SERVICES]; /* released by a host that had that lock, too */
	int64_t delay;			      /* the longest from met to the next acquisition */
	uint32_t deaths;
};

struct history_word {
	uint64_t value, kept;
	int64_t since;
	uint64_t decided[HISTORY_SERVICES]; /* highest seq of a holder that saw it and decided */
};

struct history {
	struct history_conf conf;
	enum history_violation violation;
	char text[200];
	uint64_t hash;
	uint64_t n, moves, adoptions, acquisitions, breaks, forced;
	struct history_word node[HISTORY_HOSTS + 1][HISTORY_NODES];
	struct history_word lock[HISTORY_HOSTS + 1][HISTORY_SERVICES];
	struct history_process process[HISTORY_HOSTS + 1][HISTORY_PAST]; /* by boot, modulo */
	bool left[HISTORY_SERVICES]; /* a node left the service when its host began */
	/* A file was lost, and fewer of its nodes than its minimum were kept since. */
	bool lacks[HISTORY_SERVICES];
	uint32_t boot[HISTORY_HOSTS + 1]; /* newest */
	struct history_service service[HISTORY_SERVICES];
	struct history_record last[HISTORY_LAST];
};

void history_init(struct history *h, const struct history_conf *c);
void history_add(struct history *h, const struct history_record *r);
/* A violation that only the caller can see. */
void history_fail(struct history *h, enum history_violation v, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
uint32_t history_count(const struct history *h, uint16_t service);
const char *history_name(enum history_violation v);
void history_print(FILE *f, const struct history_record *r);
/* The last records, oldest first, and the violation. */
void history_dump(FILE *f, const struct history *h);

#endif
