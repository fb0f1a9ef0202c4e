// SPDX-License-Identifier: GPL-2.0-or-later
/* events: a ring of the newest events. See events.h. */
#include "src/cached/events.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/util/clock.h"
#include "src/util/utf8.h"

struct event_kept {
	int64_t wall_ns;
	char text[EVENTS_TEXT];
};

struct events {
	uint64_t newest; /* number n is at n % EVENTS_MAX */
	struct event_kept kept[EVENTS_MAX];
	struct {
		bool was;
		struct mono last;
		uint64_t left_out; /* since then */
	} kind[EVENTS_KINDS];
};

struct events *events_new(void)
{
	return calloc(1, sizeof(struct events));
}

void events_free(struct events *e)
{
	free(e);
}

/* left_out: events like this one that were not kept. */
__attribute__((format(printf, 3, 0))) static void add(struct events *e, uint64_t left_out,
						      const char *fmt, va_list ap)
{
	struct event_kept *k = &e->kept[++e->newest % EVENTS_MAX];
	int n = vsnprintf(k->text, sizeof(k->text), fmt, ap);

	k->wall_ns = clock_wall_ns();
	if (left_out && n >= 0 && n < EVENTS_TEXT)
		snprintf(k->text + n, sizeof(k->text) - (size_t)n,
			 " (%llu more since the last one)", (unsigned long long)left_out);
	utf8_mend(k->text);
	utf8_tame(k->text);
}

void events_add(struct events *e, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return;
	va_start(ap, fmt);
	add(e, 0, fmt, ap);
	va_end(ap);
}

void events_often(struct events *e, uint32_t kind, struct mono now, const char *fmt, ...)
{
	va_list ap;

	if (!e || kind >= EVENTS_KINDS)
		return;
	if (e->kind[kind].was && mono_sub(now, e->kind[kind].last) < NS_PER_S) {
		e->kind[kind].left_out++;
		return;
	}
	va_start(ap, fmt);
	add(e, e->kind[kind].left_out, fmt, ap);
	va_end(ap);
	e->kind[kind].was = true;
	e->kind[kind].last = now;
	e->kind[kind].left_out = 0;
}

uint64_t events_newest(const struct events *e)
{
	return e->newest;
}

bool events_next(const struct events *e, uint64_t after, struct events_seen *seen)
{
	uint64_t number = e->newest > EVENTS_MAX ? e->newest - EVENTS_MAX + 1 : 1;

	if (after >= e->newest)
		return false;
	if (after + 1 > number)
		number = after + 1;
	*seen = (struct events_seen){
		.number = number,
		.wall_ns = e->kept[number % EVENTS_MAX].wall_ns,
		.text = e->kept[number % EVENTS_MAX].text,
	};
	return true;
}
