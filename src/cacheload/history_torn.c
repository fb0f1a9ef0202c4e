// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * history_torn: are all things of a reply of one snapshot? See history.h.
 *
 * By times. The first time at which a thing can have been so is when its last update began, or, if
 * later, when the update began that made the count of begun ones reach its value. It was no longer
 * so when it was known to be higher. There must be one instant at which all things were as they are
 * shown: no first time may be after another thing's last.
 *
 * By updates. An update changes its things at once. Which value it gave to which thing is learned
 * from replies: "item/5=17:3" says that update 3 raised item/5 to 17. So, if a reply shows
 * something that update u made, or that came after it, it must show all of u; and if it shows the
 * value before one that u made, nothing of u.
 *
 *	same value, two updates                               not both can be
 *	u is the last of X; u made Y to w; Y is below w       u is there by half
 *	u made X to the next value; u made Y to w;
 *	Y is at w or above                                    u is there by half
 *	u is the last of X, and Y was shown beside it at m;
 *	later: u made Y to more than m                        that reply was torn
 */
#include "src/cacheload/history_priv.h"

#include <inttypes.h>
#include <stdio.h>

static const struct history_state *beside(const struct history *h, const struct history_reply *r,
					  uint32_t thing)
{
	return h->thing[thing].mark == h->mark ? &r->state[h->thing[thing].place] : NULL;
}

static int64_t first_time(struct history *h, const struct history_state *s)
{
	const struct thing *x = &h->thing[s->thing];
	uint64_t begun;
	int64_t t;

	if (s->value <= x->base)
		return INT64_MIN;
	t = update_of(h, s->last)->begin; /* it exists: else the reply is from the future */
	begun = series_at(&x->begun, s->value - x->base);
	return (int64_t)begun > t ? (int64_t)begun : t;
}

static int64_t last_time(const struct thing *x, uint64_t value)
{
	uint64_t next = value - x->base;
	int64_t t = INT64_MAX;

	if (value < x->base)
		return t; /* it is judged as backwards */
	if (next < x->acked.n)
		t = (int64_t)x->acked.at[next];
	if (next < x->shown.n && (int64_t)x->shown.at[next] < t)
		t = (int64_t)x->shown.at[next];
	return t;
}

static bool torn_by_times(struct history *h, const struct history_reply *r)
{
	int64_t first = INT64_MIN, last = INT64_MAX;

	for (size_t i = 0; i < r->states; i++) {
		const struct history_state *s = &r->state[i];
		int64_t from = first_time(h, s), to = last_time(&h->thing[s->thing], s->value);

		first = from > first ? from : first;
		last = to < last ? to : last;
	}
	return first > last;
}

/* "item/5=17:3" contradicts what is known. */
static bool contradicts(struct history *h, const struct history_state *s)
{
	const struct thing *x = &h->thing[s->thing];
	const struct change *c;
	uint64_t by;

	if (s->value < x->base)
		return false;
	if (s->value == x->base)
		return s->last != x->base_last;
	by = series_at(&x->made_by, s->value - x->base);
	if (by && by != s->last)
		return true;
	c = change_of(update_of(h, s->last), s->thing);
	return c && s->value > c->most;
}

/* The last update of one thing is in the reply: so must all of it be. */
static bool lacks_half(struct history *h, const struct history_reply *r,
		       const struct history_state *s)
{
	const struct update *u = s->value > h->thing[s->thing].base ? update_of(h, s->last) : NULL;

	for (uint32_t i = 0; u && i < u->changes; i++) {
		const struct history_state *y = beside(h, r, u->change[i].thing);

		if (y && u->change[i].value && y->value < u->change[i].value)
			return true;
	}
	return false;
}

/* The update that made the next value of one thing is not in the reply: nor may any of it be. */
static bool has_half(struct history *h, const struct history_reply *r,
		     const struct history_state *s)
{
	const struct thing *x = &h->thing[s->thing];
	uint64_t number = s->value < x->base ? 0 : series_at(&x->made_by, s->value - x->base + 1);
	const struct update *u = update_of(h, number);

	for (uint32_t i = 0; u && i < u->changes; i++) {
		const struct history_state *y = beside(h, r, u->change[i].thing);
		uint64_t made = u->change[i].value;

		if (y && y != s && made && y->value >= made)
			return true;
	}
	return false;
}

bool history_is_torn(struct history *h, const struct history_reply *r, char *why, size_t size)
{
	if (torn_by_times(h, r)) {
		if (!*why)
			snprintf(why, size, "there was no instant at which all things were so");
		return true;
	}
	for (size_t i = 0; i < r->states; i++) {
		const struct history_state *s = &r->state[i];
		const char *what = contradicts(h, s)	 ? "another reply contradicts it"
				   : lacks_half(h, r, s) ? "a half of its last update is missing"
				   : has_half(h, r, s)	 ? "a half of its next update is shown"
							 : NULL;

		if (!what)
			continue;
		if (!*why)
			snprintf(why, size, "%s=%" PRIu64 ":%" PRIu64 ": %s",
				 h->thing[s->thing].name, s->value, s->last, what);
		return true;
	}
	return false;
}

static void learn_state(struct history *h, const struct history_reply *r,
			const struct history_state *s)
{
	struct thing *x = &h->thing[s->thing];
	struct update *u = update_of(h, s->last);
	struct change *c = change_of(u, s->thing);

	if (s->value <= x->base || !c)
		return;
	c->value = s->value;
	if (s->value - x->base <= x->made_by.n) /* else there was no memory */
		x->made_by.at[s->value - x->base - 1] = s->last;
	for (uint32_t i = 0; i < u->changes; i++) {
		const struct history_state *y = beside(h, r, u->change[i].thing);

		if (y && y->value < u->change[i].most)
			u->change[i].most = y->value;
	}
}

void history_learn(struct history *h, const struct history_reply *r)
{
	for (size_t i = 0; i < r->states; i++)
		learn_state(h, r, &r->state[i]);
}
