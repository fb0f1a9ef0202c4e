// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * qpns: lists of live queue pairs -> how many came and went unseen. track_qpns.c calls it for
 * each device. See qpns.h.
 */
#include "config.h"

#include <string.h>

#include "ibmon/agent/qpns.h"

enum {
	/*
	 * A number this little below the newest is late in the list, since two threads create queue
	 * pairs at the same time; one further below comes after the wrap.
	 */
	LATE_MAX = 1024,
	TOP_NEAR = 4096, /* the wrap is at a top this near above the newest */
};

/* The highest numbers, inclusive, of rxe in Linux 5.x, in 6.x, and of any. */
static const uint32_t tops[] = { 0x20000, 0x100000, 0xffffff };

void qpns_init(struct qpns *q, bool fresh)
{
	memset(q, 0, sizeof(*q));
	q->listed = q->known = fresh;
	q->newest = fresh ? QPNS_FIRST - 1 : 0;
}

/* The place of the first number at or above qpn. */
static uint32_t place_of(const struct qpns_live *live, uint32_t n, uint32_t qpn)
{
	uint32_t lo = 0;

	while (lo < n) {
		uint32_t mid = lo + (n - lo) / 2;

		if (live[mid].qpn < qpn)
			lo = mid + 1;
		else
			n = mid;
	}
	return lo;
}

static struct qpns_live *find(struct qpns_live *live, uint32_t n, uint32_t qpn)
{
	uint32_t i = place_of(live, n, qpn);

	return i < n && live[i].qpn == qpn ? &live[i] : NULL;
}

/* Both lists are sorted: merge them. */
static uint32_t merge(struct qpns_live *out, const struct nldev_list *l)
{
	uint32_t u = 0, k = 0, n = 0;

	while (u < l->qps || k < l->kernel_qps) {
		bool user = k == l->kernel_qps || (u < l->qps && l->qp[u].qpn <= l->kernel_qpn[k]);

		out[n].qpn = user ? l->qp[u++].qpn : l->kernel_qpn[k++];
		out[n++].done = !user;
	}
	return n;
}

/*
 * Numbers from lo to hi that were given and are gone. Those in either list were not given since
 * the last one, or live.
 */
static uint64_t gap(struct qpns *q, uint32_t n, uint32_t lo, uint32_t hi)
{
	uint32_t i = place_of(q->next, n, lo);
	uint64_t count;

	if (lo > hi)
		return 0;
	count = (uint64_t)hi - lo + 1 - (place_of(q->next, n, hi + 1) - i);
	for (i = place_of(q->live, q->n, lo); i < q->n && q->live[i].qpn <= hi; i++)
		count -= !find(q->next, n, q->live[i].qpn);
	return count;
}

/* The highest number if the newest is near one; else unknown: the newest itself. */
static uint32_t top_of(uint32_t newest)
{
	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++)
		if (newest <= tops[i] && tops[i] - newest < TOP_NEAR)
			return tops[i];
	return newest;
}

/* Numbers that are new in the list move the newest on, and show what was given between. */
static void count_given(struct qpns *q, uint32_t n)
{
	uint32_t first = 0, ahead = 0, wrapped = 0, late = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t qpn = q->next[i].qpn;

		if (qpn < QPNS_FIRST || find(q->live, q->n, qpn))
			continue;
		first = first ? first : qpn;
		if (!q->known || qpn > q->newest)
			ahead = qpn;
		else if (q->newest - qpn <= LATE_MAX)
			late++;
		else
			wrapped = qpn;
	}
	/* It was counted in the gap below a later one. */
	q->gone -= late < q->gone ? late : q->gone;
	if (q->known && wrapped)
		q->gone += gap(q, n, q->newest + 1, top_of(q->newest)) +
			   gap(q, n, QPNS_FIRST, wrapped);
	else if (q->known && ahead)
		q->gone += gap(q, n, q->newest + 1, ahead);
	else if (q->listed && ahead) /* the first of all is newer than the empty lists before */
		q->gone += gap(q, n, first, ahead);
	if (wrapped || ahead) {
		q->newest = wrapped ? wrapped : ahead;
		q->known = true;
	}
}

void qpns_list(struct qpns *q, const struct nldev_list *l)
{
	uint32_t n = merge(q->next, l);

	for (uint32_t i = 0; i < n; i++) {
		const struct qpns_live *was = find(q->live, q->n, q->next[i].qpn);

		q->next[i].done |= was ? was->done : !q->listed; /* older than the agent */
	}
	count_given(q, n);
	for (uint32_t i = 0; i < q->n; i++)
		q->gone += !q->live[i].done && !find(q->next, n, q->live[i].qpn);
	memcpy(q->live, q->next, n * sizeof(q->live[0]));
	q->n = n;
	q->listed = true;
}

bool qpns_ring(struct qpns *q, uint32_t qpn)
{
	struct qpns_live *l = find(q->live, q->n, qpn);

	if (l)
		l->done = true;
	return l;
}

void qpns_ring_unnamed(struct qpns *q)
{
	q->spare++;
}

void qpns_end(struct qpns *q)
{
	for (uint32_t i = 0; i < q->n; i++)
		q->gone += !q->live[i].done;
	q->n = 0;
}

/* A ring without a number was one of those that are gone, or will be. */
uint64_t qpns_unseen(struct qpns *q)
{
	uint64_t unseen = q->gone > q->spare ? q->gone - q->spare : 0;

	if (unseen > q->unseen)
		q->unseen = unseen;
	return q->unseen;
}
