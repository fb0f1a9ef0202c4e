/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * words: SIMULATED hosts whose words other hosts READ, CAS and FAA, in the virtual time of the web
 * cluster (web.h). It keeps the contract of reconf/step.h, so the protocols of src/reconf run on it
 * unchanged:
 *
 *	step() puts an operation out -> there_ns -> executed at its host -> back_ns -> step(RESULT)
 *
 * Hosts never crash and no operation is late or lost, but for words_relink(). All words of one READ
 * are read at one time.
 */
#ifndef RESEX_SIM_WORDS_H
#define RESEX_SIM_WORDS_H

#include "resex/region_abi.h"
#include "src/reconf/step.h"
#include "src/sim/web.h"

enum {
	WORDS_HOSTS_MAX = 128, /* numbered from 1 */
	WORDS_KINDS = STEP_FAA + 1,
	WORDS_TIMERS = 4, /* words_timer() knows conf.timer .. conf.timer + WORDS_TIMERS - 1 */
};

struct words_conf {
	uint32_t hosts;
	uint32_t load_bytes;	   /* of each host's part LOAD; a multiple of 8; 0: it has none */
	int64_t there_ns, back_ns; /* 1 .. WEB_NS_MAX */
	uint32_t timer;		   /* first of the numbers that it gives to web_timer() */
	void *arg;
	/* The process of a host, as step.h says. */
	void (*step)(void *arg, uint16_t host, const struct step_event *ev, struct mono now,
		     struct step_out *out);
	/* When it needs a STEP_TICK. INT64_MAX: not before another event. */
	struct mono (*due)(void *arg, uint16_t host);
};

/* What was put out by the process of a host, by enum step_kind. */
struct words_count {
	uint64_t put[WORDS_KINDS];
	uint64_t refused, lost; /* of these; lost: or UNKNOWN */
};

struct words;

/* 0; -EINVAL: out of range; -ENOMEM. All memory is 0, and no link is up. */
int words_open(struct words **out, const struct words_conf *c);
void words_close(struct words *w);
/* Of a host: REGION_WORDS_BYTES; load_bytes. Its own CPU may write there at any time. */
uint64_t *words_of(struct words *w, uint16_t host);
uint64_t *words_load_of(struct words *w, uint16_t host);

/*
 * In web_ops.begin: from now on w goes by the time of web. All links come up as number 1, then all
 * processes get a view with number 0 of all hosts.
 */
void words_begin(struct words *w, struct web *web);
/* In web_ops.timer. false: the timer is another's. */
bool words_timer(struct words *w, uint32_t what, uint32_t of, int64_t now);
/* Give an event to the process of a host. Not from within its step(). */
void words_event(struct words *w, uint16_t host, const struct step_event *ev, int64_t now);
/*
 * The link of a host to another one is cut, and a newer one comes up after back_ns. Operations
 * without a result are LOST (READ) or UNKNOWN at once; those that were not executed never are.
 */
void words_relink(struct words *w, uint16_t from, uint16_t to, int64_t now);
void words_counted(const struct words *w, uint16_t host, struct words_count *c);
/* A call of web.c's memory failed or one of ours: -ENOMEM; else 0. */
int words_error(const struct words *w);

#endif
