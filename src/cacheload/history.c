// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * history: the rules that hold for each thing by itself, and what is kept for them. See history.h.
 *
 * For each thing there is a series of times: since when is it known that the counter is at least
 * so high? An answer to an update makes it known, and so does a reply. A request that is sent later
 * must see it. One look-up says whether a value is too old: the time of the next higher one.
 */
#include "src/cacheload/history_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const history_rule_names[HISTORY_RULES] = { "stale",  "backwards", "future",
							"undone", "torn",      "wrong" };

/* --- memory --- */

int history_open(struct history **out)
{
	struct history *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->buckets = 1024;
	h->bucket = calloc(h->buckets, sizeof(*h->bucket));
	if (!h->bucket) {
		free(h);
		return -ENOMEM;
	}
	*out = h;
	return 0;
}

void history_close(struct history *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; i < h->things; i++) {
		free(h->thing[i].begun.at);
		free(h->thing[i].acked.at);
		free(h->thing[i].shown.at);
		free(h->thing[i].made_by.at);
	}
	free(h->thing);
	free(h->bucket);
	free(h->update);
	free(h);
}

/* Room for n elements of size. Doubles. */
static int grow(void **at, uint32_t *space, uint32_t n, size_t size)
{
	uint32_t more = *space ? 2 * *space : 64;
	void *to;

	if (n <= *space)
		return 0;
	to = realloc(*at, more * size);
	if (!to)
		return -ENOMEM;
	*at = to;
	*space = more;
	return 0;
}

/* Elements up to n are v where there were none. */
static int series_fill(struct series *s, uint64_t n, uint64_t v)
{
	if (n > s->space) {
		size_t space = s->space ? s->space : 8;
		uint64_t *at;

		while (space < n)
			space *= 2;
		at = realloc(s->at, space * sizeof(*at));
		if (!at)
			return -ENOMEM;
		s->at = at;
		s->space = space;
	}
	while (s->n < n)
		s->at[s->n++] = v;
	return 0;
}

/* --- things --- */

static uint32_t hash(const char *name, size_t len)
{
	uint32_t v = 2166136261u;

	for (size_t i = 0; i < len; i++)
		v = (v ^ (unsigned char)name[i]) * 16777619u;
	return v ^ v >> 15;
}

static void put_into_bucket(struct history *h, uint32_t i)
{
	struct thing *x = &h->thing[i];
	uint32_t *b = &h->bucket[hash(x->name, strlen(x->name)) & (h->buckets - 1)];

	x->next = *b;
	*b = i + 1;
}

static void widen(struct history *h)
{
	uint32_t *more = calloc(2 * (size_t)h->buckets, sizeof(*more));

	if (!more) /* slower, and right */
		return;
	free(h->bucket);
	h->bucket = more;
	h->buckets *= 2;
	for (uint32_t i = 0; i < h->things; i++)
		put_into_bucket(h, i);
}

int32_t history_thing(struct history *h, const char *name, size_t len)
{
	uint32_t i = h->bucket[hash(name, len) & (h->buckets - 1)];

	for (; i; i = h->thing[i - 1].next)
		if (!strncmp(h->thing[i - 1].name, name, len) && !h->thing[i - 1].name[len])
			return (int32_t)(i - 1);
	if (len > HISTORY_NAME_MAX || h->things == HISTORY_THINGS_MAX ||
	    grow((void **)&h->thing, &h->things_space, h->things + 1, sizeof(*h->thing)))
		return -1;
	i = h->things++;
	h->thing[i] = (struct thing){ 0 };
	memcpy(h->thing[i].name, name, len);
	put_into_bucket(h, i);
	if (h->things > h->buckets)
		widen(h);
	return (int32_t)i;
}

const char *history_name(const struct history *h, uint32_t thing)
{
	return h->thing[thing].name;
}

uint32_t history_things(const struct history *h)
{
	return h->things;
}

void history_base(struct history *h, const struct history_state *s)
{
	h->thing[s->thing].base = s->value;
	h->thing[s->thing].base_last = s->last;
}

/* --- updates --- */

uint32_t history_begin(struct history *h, int64_t now, const uint32_t *thing, size_t things)
{
	struct update *u;

	if (!things || things > HISTORY_CHANGES_MAX || h->updates == HISTORY_UPDATES_MAX ||
	    grow((void **)&h->update, &h->updates_space, h->updates + 1, sizeof(*h->update)))
		return 0;
	for (size_t i = 0; i < things; i++) {
		struct series *begun = &h->thing[thing[i]].begun;

		if (series_fill(begun, begun->n + 1, (uint64_t)now))
			return 0;
	}
	u = &h->update[h->updates++];
	*u = (struct update){ .begin = now, .changes = (uint32_t)things };
	for (size_t i = 0; i < things; i++)
		u->change[i] = (struct change){ .thing = thing[i], .most = UINT64_MAX };
	return h->updates;
}

bool history_end(struct history *h, uint32_t number, int64_t now, enum history_end how)
{
	struct update *u = update_of(h, number);

	if (!u || u->how != HISTORY_UNDER_WAY)
		return false;
	u->how = how;
	u->end = now;
	for (uint32_t i = 0; i < u->changes; i++) {
		struct thing *x = &h->thing[u->change[i].thing];

		if (how == HISTORY_NOT_DONE)
			x->undone++;
		/* Without memory for it, less is demanded of later replies. */
		else if (how == HISTORY_DONE)
			(void)series_fill(&x->acked, x->acked.n + 1, (uint64_t)now);
	}
	return true;
}

/* --- replies --- */

/* Since when it is known that the counter is above this value; INT64_MAX: it is not. */
static int64_t known_above(const struct thing *x, const struct series *s, uint64_t value)
{
	uint64_t above = value < x->base ? 0 : value - x->base;

	if (value < x->base) /* the base was read before all */
		return s == &x->shown ? INT64_MIN : s->n ? (int64_t)s->at[0] : INT64_MAX;
	return above < s->n ? (int64_t)s->at[above] : INT64_MAX;
}

/* Why a thing cannot be as it is shown, judged by updates; "": it can. */
static const char *not_yet(struct history *h, const struct history_state *s)
{
	const struct thing *x = &h->thing[s->thing];
	uint64_t above = s->value > x->base ? s->value - x->base : 0;

	if (above > x->begun.n - x->undone)
		return "more updates than have begun";
	if (above && !change_of(update_of(h, s->last), s->thing))
		return "an update that has not begun, or is of other things";
	return "";
}

static unsigned broken_by(struct history *h, const struct history_state *s, int64_t begin,
			  const char **what)
{
	const struct thing *x = &h->thing[s->thing];
	const struct update *u = update_of(h, s->last);
	const char *early = not_yet(h, s);
	unsigned bits = 0;

	if (known_above(x, &x->acked, s->value) < begin) {
		bits |= 1u << HISTORY_STALE;
		*what = "a newer update was acknowledged before the request began";
	}
	if (known_above(x, &x->shown, s->value) < begin) {
		bits |= 1u << HISTORY_BACKWARDS;
		*what = "a reply before the request began showed a newer one";
	}
	if (*early) {
		bits |= 1u << HISTORY_FUTURE;
		*what = early;
	} else if (s->value > x->base && u && u->how == HISTORY_NOT_DONE) {
		bits |= 1u << HISTORY_UNDONE;
		*what = "its last update was said to have no effect";
	}
	return bits;
}

static int teach_shown(struct history *h, const struct history_reply *r)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < r->states; i++) {
		struct thing *x = &h->thing[r->state[i].thing];

		if (r->state[i].value <= x->base)
			continue;
		rc = series_fill(&x->shown, r->state[i].value - x->base, (uint64_t)r->end);
		if (!rc)
			rc = series_fill(&x->made_by, r->state[i].value - x->base, 0);
	}
	return rc;
}

int history_reply(struct history *h, const struct history_reply *r, char *why, size_t size)
{
	unsigned bits = 0;
	int rc = 0;

	*why = 0;
	h->mark++;
	for (size_t i = 0; i < r->states; i++) {
		const struct history_state *s = &r->state[i];
		const char *what = NULL;

		h->thing[s->thing].mark = h->mark;
		h->thing[s->thing].place = (uint32_t)i;
		bits |= broken_by(h, s, r->begin, &what);
		if (what && !*why)
			snprintf(why, size, "%s=%" PRIu64 ":%" PRIu64 ": %s",
				 h->thing[s->thing].name, s->value, s->last, what);
	}
	if (!(bits & (1u << HISTORY_FUTURE)) && history_is_torn(h, r, why, size))
		bits |= 1u << HISTORY_TORN;
	if (bits)
		return (int)bits;
	rc = teach_shown(h, r);
	history_learn(h, r);
	return rc;
}

/* --- text --- */

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' || c == '-' || c == '_';
}

/* Digits, up to INT64_MAX. NULL: none. */
static const char *read_digits(const char *at, const char *end, uint64_t *out)
{
	const char *from = at;
	uint64_t v = 0;

	for (; at < end && *at >= '0' && *at <= '9'; at++) {
		if (at - from == 19)
			return NULL;
		v = v * 10 + (uint64_t)(*at - '0');
	}
	if (at == from || v > INT64_MAX)
		return NULL;
	*out = v;
	return at;
}

static const char *read_state(struct history *h, const char *at, const char *end,
			      struct history_state *s, int *rc)
{
	const char *from = at;
	int32_t thing;

	*rc = -EINVAL;
	while (at < end && is_name(*at))
		at++;
	if (at == from || at - from > HISTORY_NAME_MAX || at == end || *at != '=')
		return NULL;
	thing = history_thing(h, from, (size_t)(at - from));
	if (thing < 0) {
		*rc = -ENOMEM;
		return NULL;
	}
	s->thing = (uint32_t)thing;
	at = read_digits(at + 1, end, &s->value);
	if (!at || at == end || *at != ':')
		return NULL;
	at = read_digits(at + 1, end, &s->last);
	if (!at || h->thing[thing].mark == h->mark) /* twice in one text */
		return NULL;
	h->thing[thing].mark = h->mark;
	*rc = 0;
	return at;
}

int history_read(struct history *h, const char *text, size_t len, struct history_state **out,
		 size_t *space)
{
	const char *at = text, *end = text + len;
	size_t n = 0;
	int rc = 0;

	h->mark++;
	while (at < end) {
		if (n == *space) {
			size_t more = *space ? 2 * *space : 64;
			struct history_state *to = realloc(*out, more * sizeof(*to));

			if (!to || n > INT32_MAX / 2)
				return -ENOMEM;
			*out = to;
			*space = more;
		}
		at = read_state(h, at, end, &(*out)[n], &rc);
		if (!at)
			return rc;
		n++;
		if (at < end && (*at != ' ' || ++at == end))
			return -EINVAL;
	}
	return n ? (int)n : -EINVAL;
}
