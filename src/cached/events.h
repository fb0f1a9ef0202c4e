/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events: what happened lately to resex-cached, for people: it joined, it is out, a member was
 * removed, the database is lost. The newest EVENTS_MAX are kept; GET /v1/events shows them.
 *
 * app, proxy and main add them, in the loop's thread alone.
 */
#ifndef RESEX_CACHED_EVENTS_H
#define RESEX_CACHED_EVENTS_H

#include <stdint.h>

#include "src/core/units.h"

enum {
	EVENTS_MAX = 1000,
	EVENTS_TEXT = 256, /* bytes, with the NUL; longer ones are cut */
	EVENTS_KINDS = 64, /* of events_often */
};

struct events;

struct events_seen {
	uint64_t number; /* from 1, by one more each */
	int64_t wall_ns; /* since 1970 */
	const char *text;
};

/* NULL: no memory. */
struct events *events_new(void);
void events_free(struct events *e); /* NULL: does nothing */

/* e NULL: does nothing. The text is one sentence; control characters are shown as '?'. */
void events_add(struct events *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * The same for what may happen often: of one kind (0 .. EVENTS_KINDS - 1, the caller's choice) at
 * most one event a second. The next one says how many were left out.
 */
void events_often(struct events *e, uint32_t kind, struct mono now, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The number of the newest; 0: there is none. */
uint64_t events_newest(const struct events *e);
/*
 * The oldest that is kept of those with a higher number than after. false: there is none. The text
 * is valid until the next is added.
 */
bool events_next(const struct events *e, uint64_t after, struct events_seen *seen);

#endif
