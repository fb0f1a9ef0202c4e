/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history: were all replies right? A checker of what clients saw, for a cache that must never
 * serve a stale page. Pure: all times are given, from one clock that gives no time twice.
 *
 *	a run, or its log -> begin, end, reply -> which rules a reply breaks
 *
 * A *thing* is what a page can depend on: "item/5", "user/3/bids". It has a counter, which each
 * update of it raises by one, and the number of the update that raised it last. A reply carries
 * both for each of its things, read in the snapshot in which the page was computed. An *update* has
 * a number, 1, 2, ...; it begins before it is sent, and its end is known after the answer was read:
 * done, undone (it had and will have no effect), or unknown.
 *
 * The rules, for each thing of a reply to a request that was sent at b, and was read at e:
 *
 *	stale      it is older than the done updates of it that ended before b
 *	backwards  it is older than a reply showed that was read before b; or than the base
 *	future     it is newer than all updates of it that began before e, undone ones left out; or
 *	           its last update is none of those
 *	undone     its last update ended undone
 *	torn       the things are not of one snapshot; see history_torn.c
 *	wrong      the page is not the one that was asked for, or cannot be read
 *
 * A reply that breaks a rule teaches nothing: others are not compared with it. Memory grows with
 * updates, not with replies.
 */
#ifndef RESEX_CACHELOAD_HISTORY_H
#define RESEX_CACHELOAD_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HISTORY_NAME_MAX = 63, /* bytes of a thing's name */
	HISTORY_THINGS_MAX = 1 << 22,
	HISTORY_UPDATES_MAX = 1 << 28,
	HISTORY_CHANGES_MAX = 6, /* things of an update */
};

enum history_rule {
	HISTORY_STALE,
	HISTORY_BACKWARDS,
	HISTORY_FUTURE,
	HISTORY_UNDONE,
	HISTORY_TORN,
	HISTORY_WRONG,
	HISTORY_RULES,
};

extern const char *const history_rule_names[HISTORY_RULES];

enum history_end { HISTORY_UNDER_WAY, HISTORY_DONE, HISTORY_NOT_DONE, HISTORY_UNKNOWN };

/* A thing as a reply shows it. */
struct history_state {
	uint32_t thing;
	uint64_t value;
	uint64_t last; /* number of the update that raised it last; 0: none of this run's */
};

struct history_reply {
	int64_t begin, end;
	const struct history_state *state;
	size_t states;
};

struct history;

/* 0 or -ENOMEM. */
int history_open(struct history **h);
void history_close(struct history *h);

/* The thing of this name, which is made if there is none. -1: no memory, or too many. */
int32_t history_thing(struct history *h, const char *name, size_t len);
const char *history_name(const struct history *h, uint32_t thing);
uint32_t history_things(const struct history *h);

/* What a thing was before the first update. Things that are not named here begin at 0. */
void history_base(struct history *h, const struct history_state *s);

/* The next update, 1, 2, ..., of these things, 1 .. HISTORY_CHANGES_MAX. 0: no memory. */
uint32_t history_begin(struct history *h, int64_t now, const uint32_t *thing, size_t things);
/* false: there is no such update, or it has ended. */
bool history_end(struct history *h, uint32_t update, int64_t now, enum history_end how);

/*
 * Bits 1 << enum history_rule: what the reply breaks. why: one sentence about the first; "": none.
 * Replies come in the order of their ends. -ENOMEM.
 */
int history_reply(struct history *h, const struct history_reply *r, char *why, size_t size);

/*
 * "item/5=17:3 user/3=2:0": name=value:last, separated by one space. How many, in *out, which the
 * caller frees; -EINVAL: not of this form, or a thing twice; -ENOMEM.
 */
int history_read(struct history *h, const char *text, size_t len, struct history_state **out,
		 size_t *space);

#endif
