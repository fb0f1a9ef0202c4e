// SPDX-License-Identifier: GPL-2.0-or-later
/* snapshot: the text of pg_current_snapshot(), checked. app_fills.c gets it with a page. */
#include "src/cached/snapshot.h"

#include <errno.h>

/*
 * A decimal number of digits alone, behind which stands `end`. NULL: it is none. An empty one is 0,
 * which is good nowhere.
 */
static const char *read_number(const char *at, uint64_t *v, char end)
{
	*v = 0;
	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(*v, 10, v) ||
		    __builtin_add_overflow(*v, (uint64_t)(*at - '0'), v))
			return NULL;
	return *at == end ? at : NULL;
}

/* Each of those that run is between the two limits (home.h). */
static int read_running(struct snapshot *s, const char *at)
{
	struct home_snapshot *h = &s->home;

	if (!*at)
		return 0;
	for (;;) {
		uint64_t v;
		const char *end = read_number(at, &v, ',');

		if (!end)
			end = read_number(at, &v, 0);
		if (!end || v < h->oldest || v >= h->next)
			return -EINVAL;
		if (h->n == HOME_NUMBERS_MAX)
			return -E2BIG;
		s->running[h->n++] = v;
		if (!*end)
			return 0;
		at = end + 1;
	}
}

int snapshot_parse(struct snapshot *s, const char *text)
{
	struct home_snapshot *h = &s->home;

	*h = (struct home_snapshot){ .running = s->running };
	text = read_number(text, &h->oldest, ':');
	if (text)
		text = read_number(text + 1, &h->next, ':');
	if (!text || h->oldest == 0 || h->oldest > h->next)
		return -EINVAL;
	return read_running(s, text + 1);
}
