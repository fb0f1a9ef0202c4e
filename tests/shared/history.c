// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * history: checks what took effect against the rules of mutual exclusion, fences and minimums. vt
 * and the unit tests add the records in order of true time. Each rule has a function; history_add
 * passes a record to the rules that it concerns. The rules are stated here anew, from lock.h and
 * move.h, and do not use their code.
 */
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "tests/shared/history.h"

static const char *const names[HISTORY_VIOLATIONS] = {
	"fine",	   "fence",	  "service", "unlocked", "overlap", "stale",  "minimum",
	"restart", "unannounced", "lease",   "theft",	 "twice",   "missed", "burst",
	"delay",   "minority",	  "behind",  "order",	 "world",
};

const char *history_name(enum history_violation v)
{
	return names[v];
}

void history_fail(struct history *h, enum history_violation v, const char *fmt, ...)
{
	va_list ap;

	if (h->violation)
		return;
	h->violation = v;
	va_start(ap, fmt);
	vsnprintf(h->text, sizeof(h->text), fmt, ap);
	va_end(ap);
}

static struct history_process *process_of(struct history *h, uint16_t host, uint32_t boot)
{
	struct history_process *p = &h->process[host][boot % HISTORY_PAST];

	return p->boot == boot ? p : NULL;
}

static struct history_process *running(struct history *h, uint16_t host)
{
	return &h->process[host][h->boot[host] % HISTORY_PAST];
}

void history_init(struct history *h, const struct history_conf *c)
{
	memset(h, 0, offsetof(struct history, last));
	h->conf = *c;
	h->hash = 14695981039346656037ull;
}

/* Posted by a process that knew it had no quorum? */
static void check_quorum(struct history *h, const struct history_record *r,
			 const struct history_process *p, const char *what)
{
	if (p && p->minority_since && (int64_t)r->value > p->minority_since)
		history_fail(h, HISTORY_MINORITY, "host %u %s without quorum", r->host, what);
}

/*
 * A lock's seq as a number that also grows when its home restarts and the view stays the same: the
 * count begins anew then, and the home's process is another.
 */
static uint64_t order_of(const struct history *h, uint16_t home, uint64_t seq)
{
	return (uint64_t)region_seq_epoch(seq) << 34 |
	       (uint64_t)(h->boot[home] & 0x3ff) << REGION_COUNT_BITS | region_seq_count(seq);
}

uint32_t history_count(const struct history *h, uint16_t service)
{
	uint32_t n = 0;

	for (uint32_t host = 1; host <= h->conf.hosts; host++)
		for (uint32_t i = 0; i < h->conf.nodes[host]; i++)
			n += region_word_id(h->node[host][i].value) == service;
	return n;
}

static uint32_t kept_count(const struct history *h, uint16_t service)
{
	uint32_t n = 0;

	for (uint32_t host = 1; host <= h->conf.hosts; host++)
		for (uint32_t i = 0; i < h->conf.nodes[host]; i++)
			n += region_word_id(h->node[host][i].value) == service &&
			     region_word_id(h->node[host][i].kept) == service;
	return n;
}

/* A service with fewer kept nodes than its minimum lacks them from when a file is lost. */
static void note_lacks(struct history *h)
{
	bool lost = history_count(h, 0) > 0;

	for (uint16_t s = 1; s <= h->conf.services; s++) {
		if (kept_count(h, s) >= h->conf.minimum[s])
			h->lacks[s] = false;
		else if (lost)
			h->lacks[s] = true;
	}
}

/*
 * A lost file takes a node from its service. The nodes of no service must remain enough for all
 * services below their minimum. Without a lost file: no service is below its minimum.
 */
static bool is_enough_left(const struct history *h)
{
	uint32_t wanted = 0;

	for (uint16_t s = 1; s <= h->conf.services; s++) {
		uint32_t n = history_count(h, s);

		wanted += n < h->conf.minimum[s] ? h->conf.minimum[s] - n : 0;
	}
	return wanted <= history_count(h, 0);
}

/* --- moves ------------------------------------------------------------------- */

/* Under which lock was it decided? */
struct under {
	uint64_t seq; /* 0: none */
	int64_t t;    /* acquired */
	bool newest;  /* the process has acquired this lock no more since */
};

static struct under lock_at(const struct history_process *p, uint16_t s, int64_t decided)
{
	for (uint32_t k = 0; p && k < p->pasts[s] && k < HISTORY_HELD; k++) {
		uint32_t i = (p->pasts[s] - 1 - k) % HISTORY_HELD;

		if (p->past[s][i].t > decided)
			continue;
		/* Released clean: no operation of this holder may still be on its way. */
		if (k == 0 && !p->held[s])
			break;
		return (struct under){ p->past[s][i].seq, p->past[s][i].t, k == 0 };
	}
	return (struct under){ 0, 0, false };
}

/* A newer holder that could not reach this node did not count it, and does no harm. */
static void check_locks(struct history *h, const struct history_record *r,
			const struct under both[2], uint16_t s, uint16_t d)
{
	const struct history_word *w = &h->node[r->target][r->offset % REGION_PAGE / 8];

	for (int i = 0; i < 2; i++) {
		uint16_t x = i == 0 ? s : d;

		if (!both[i].seq)
			history_fail(
				h, HISTORY_UNLOCKED,
				"host %u moved a node of host %u from %u to %u without lock %u",
				r->host, r->target, d, s, x);
		else if (w->decided[x] > both[i].seq)
			history_fail(
				h, HISTORY_OVERLAP,
				"host %u moved from %u to %u under seq %#llx of lock %u, after "
				"seq %#llx had decided",
				r->host, d, s, (unsigned long long)both[i].seq, x,
				(unsigned long long)h->service[x].decided);
	}
}

/*
 * The nodes that p counted in d under both locks, and that are still in d, must be enough. A node
 * that p read earlier, and could not read again under the locks, does not count.
 */
static void check_count(struct history *h, const struct history_record *r,
			const struct history_process *p, int64_t since, uint16_t s, uint16_t d)
{
	uint32_t counted = 0, left = 0, node = r->offset % REGION_PAGE / 8;

	for (uint16_t host = 1; host <= h->conf.hosts; host++) {
		for (uint32_t i = 0; i < h->conf.nodes[host]; i++) {
			if (p->saw_at[host][i] < since || region_word_id(p->word[host][i]) != d ||
			    (host == r->target && i == node))
				continue;
			counted++;
			/* One whose file was lost since is not adopted by another service yet. */
			left += region_word_id(h->node[host][i].value) == d ||
				!region_word_id(h->node[host][i].value);
		}
	}
	if (left < h->conf.minimum[d])
		history_fail(h, HISTORY_STALE,
			     "host %u moved from %u to %u: it counted %u others in %u under both "
			     "locks, %u are there; the minimum is %u",
			     r->host, d, s, counted, d, left, h->conf.minimum[d]);
}

/* The hosts that p did not have to notify when it decided at t. */
static uint64_t removed_at(const struct history_process *p, int64_t t)
{
	uint64_t hosts = 0;

	for (uint32_t k = 0; k < p->views && k < HISTORY_VIEWS; k++) {
		uint32_t i = (p->views - 1 - k) % HISTORY_VIEWS;

		hosts = p->removed[i].hosts;
		if (p->removed[i].t <= t)
			break;
	}
	return hosts;
}

static void check_announced(struct history *h, const struct history_record *r,
			    const struct history_process *p, int64_t since, uint16_t s, uint16_t d)
{
	const uint16_t both[2] = { s, d };
	uint64_t removed = removed_at(p, (int64_t)r->value);

	for (int i = 0; i < 2; i++) {
		for (uint16_t b = 1; b <= h->conf.hosts; b++) {
			uint64_t bit = 1ull << (b - 1);

			if (b == r->host || !(h->conf.balancers[both[i]] & bit) || removed & bit)
				continue;
			if (p->announced[b][both[i]] < since)
				history_fail(
					h, HISTORY_UNANNOUNCED,
					"host %u moved from %u to %u without notifying host %u, a "
					"balancer of %u",
					r->host, d, s, b, both[i]);
		}
	}
}

static void check_high(struct history *h, const struct history_record *r, uint16_t s)
{
	const struct history_service *x = &h->service[s];
	bool lasts = x->high && r->t - x->high_since >= h->conf.high_ns;
	bool lasted = x->lasted_until && r->t - x->lasted_until <= h->conf.flight_ns;

	if (h->conf.high_ns && !lasts && !lasted)
		history_fail(h, HISTORY_BURST,
			     "host %u moved a node to %u, whose load is %s since %lld us", r->host,
			     s, x->high ? "high" : "low",
			     (long long)(r->t - (x->high ? x->high_since : x->low_since)) /
				     NS_PER_US);
}

/*
 * Did p read the node under a lock that it acquired at since, and after its sweep, and was the node
 * kept? One that the sweep missed is not counted, although a READ may have reached it meanwhile:
 * its word has not changed since.
 */
static bool is_counted(const struct history_process *p, const struct history_word *w, uint16_t host,
		       uint32_t i, int64_t since)
{
	int64_t saw_at = p->saw_at[host][i];

	if (saw_at < since || saw_at < p->swept_at ||
	    !region_is_kept(p->word[host][i], p->kept[host][i]))
		return false;
	return p->swept_at < since || w->since >= since;
}

/* p decides, by the nodes that it has read under each of its locks, and after its sweep. */
static void decided(struct history *h, const struct history_process *p)
{
	for (uint32_t s = 1; s <= h->conf.services; s++) {
		int64_t since = p->pasts[s] ? p->past[s][(p->pasts[s] - 1) % HISTORY_HELD].t : 0;

		if (p->held[s] <= h->service[s].decided)
			continue;
		h->service[s].decided = p->held[s];
		for (uint16_t host = 1; host <= h->conf.hosts; host++)
			for (uint32_t i = 0; i < h->conf.nodes[host]; i++)
				if (is_counted(p, &h->node[host][i], host, i, since))
					h->node[host][i].decided[s] = p->held[s];
	}
}

static void moved(struct history *h, const struct history_record *r, uint16_t d, uint16_t s)
{
	struct history_process *p = process_of(h, r->host, r->boot);
	const struct under both[2] = { lock_at(p, s, (int64_t)r->value),
				       lock_at(p, d, (int64_t)r->value) };
	int64_t since = both[0].t > both[1].t ? both[0].t : both[1].t;
	uint32_t left;

	h->moves++;
	check_locks(h, r, both, s, d);
	check_quorum(h, r, p, "moved a node");
	left = history_count(h, d);
	if (left < h->conf.minimum[d] && !is_enough_left(h))
		history_fail(h, HISTORY_MINIMUM, "host %u moved from %u, which has %u left of %u",
			     r->host, d, left, h->conf.minimum[d]);
	if (p && !h->violation) {
		/* The counts under older locks are no longer kept. */
		if (both[0].newest && both[1].newest) {
			/* A newer view that cannot see this node counted without it. */
			if (h->service[d].decided <= both[1].seq)
				check_count(h, r, p, since, s, d);
			decided(h, p);
		}
		check_announced(h, r, p, since, s, d);
	}
	check_high(h, r, s);
	if (++h->service[s].moves > 1 && h->conf.faultless)
		history_fail(h, HISTORY_TWICE,
			     "host %u moved a second node to %u for one high load", r->host, s);
}

/* A node of no service came to s. */
static void adopted(struct history *h, const struct history_record *r, uint16_t s)
{
	struct history_process *p = process_of(h, r->host, r->boot);
	struct under lock = lock_at(p, s, (int64_t)r->value);
	const struct under both[2] = { lock, lock };

	h->adoptions++;
	check_locks(h, r, both, s, 0);
	check_quorum(h, r, p, "adopted a node");
	if (!is_enough_left(h))
		history_fail(h, HISTORY_MINIMUM,
			     "host %u adopted a node of host %u for %u: another service is below "
			     "its minimum, and none is left for it",
			     r->host, r->target, s);
	if (p && !h->violation && lock.newest) {
		decided(h, p);
		check_announced(h, r, p, lock.t, s, s);
	}
}

static void node_effect(struct history *h, const struct history_record *r, uint32_t i)
{
	uint16_t from = region_word_id(r->old), to = region_word_id(r->now);
	struct history_process *p = process_of(h, r->host, r->boot);
	struct history_word *w;

	if (i >= HISTORY_NODES) {
		history_fail(h, HISTORY_SERVICE, "host %u has no node %u", r->target, i);
		return;
	}
	w = &h->node[r->target][i];
	if (r->op == STEP_FAA || r->old != w->value)
		history_fail(h, HISTORY_SERVICE, "node %u of host %u was %#llx, not %#llx", i,
			     r->target, (unsigned long long)w->value, (unsigned long long)r->old);
	if (r->op != STEP_CAS || r->old != r->compare)
		return;
	if ((to < 1 && from) || to > h->conf.services || i >= h->conf.nodes[r->target])
		history_fail(h, HISTORY_SERVICE, "node %u of host %u went to service %u", i,
			     r->target, to);
	if (region_word_seq(r->now) <= region_word_seq(r->old))
		history_fail(h, HISTORY_FENCE, "node %u of host %u went from %#llx back to %#llx",
			     i, r->target, (unsigned long long)r->old, (unsigned long long)r->now);
	w->value = r->now;
	w->since = r->t;
	if (from == to && p)
		p->swept_at = r->t;
	if (from != to && !h->violation && from)
		moved(h, r, from, to);
	else if (from != to && !h->violation)
		adopted(h, r, to);
	note_lacks(h);
}

/* Only the node's host changes a kept word. */
static void kept_effect(struct history *h, const struct history_record *r, uint32_t i)
{
	if (r->op != STEP_READ && (r->op != STEP_CAS || r->host != r->target))
		history_fail(h, HISTORY_SERVICE, "host %u changed a kept word of host %u", r->host,
			     r->target);
	if (i < HISTORY_NODES && r->op == STEP_CAS && r->old == r->compare)
		h->node[r->target][i].kept = r->now;
	note_lacks(h);
}

/* What a host decides by: it has the word, and not only its effect was executed. */
static void seen(struct history *h, const struct history_record *r)
{
	struct history_process *p = process_of(h, r->host, r->boot);
	uint32_t i = r->offset % REGION_PAGE / 8;

	if (p && i >= REGION_NODES_MAX && i < REGION_NODES_MAX + HISTORY_NODES)
		p->kept[r->target][i - REGION_NODES_MAX] = r->now;
	if (!p || i >= HISTORY_NODES)
		return;
	p->word[r->target][i] = r->now;
	p->saw_at[r->target][i] = (int64_t)r->value;
}

/* --- locks -------------------------------------------------------------------- */

/* If two locks of a dead holder are needed, the one that was met last counts. */
static int64_t met_last(const struct history *h, uint16_t host)
{
	int64_t t = 0;

	for (uint32_t k = 1; k <= h->conf.services; k++)
		if (h->service[k].met_by[host] > t)
			t = h->service[k].met_by[host];
	return t;
}

/* When the lock that the new owner of s acquired before s was last in use for another pair. */
static int64_t first_used_until(const struct history *h, const struct history_record *r, uint16_t s)
{
	int64_t t = 0;

	for (uint32_t f = 1; f < s; f++) {
		const struct history_service *x = &h->service[f];

		if (x->holder != r->host || x->holder_boot != r->boot)
			continue;
		for (uint32_t k = 1; k <= h->conf.services; k++)
			if (k != s && x->pair_until[k] > t)
				t = x->pair_until[k];
	}
	return t;
}

static void unstick(struct history *h, const struct history_record *r, uint16_t s)
{
	struct history_service *x = &h->service[s];
	int64_t delay = r->t - x->met, own = r->t - met_last(h, r->host);
	int64_t after_announcement = x->announced ? h->conf.announced_ns : 0;

	/* No host wanted the lock before its service's load was high. */
	bool wanted = h->conf.wanted || (x->high && x->high_since <= x->stuck_since);

	if (x->stuck_since && x->met && wanted) {
		if (delay > x->delay)
			x->delay = delay;
		if (h->conf.delay_ns && r->t - first_used_until(h, r, s) > h->conf.retry_ns &&
		    ((x->met_by[r->host] && own > h->conf.delay_ns + after_announcement) ||
		     delay > h->conf.any_delay_ns + after_announcement))
			history_fail(
				h, HISTORY_DELAY,
				"lock %u of a dead holder was acquired %lld us after it was met, "
				"%lld us after its new owner met it",
				s, (long long)delay / NS_PER_US, (long long)own / NS_PER_US);
	}
	x->stuck_since = x->met = 0;
}

/* Another host reads the word of a dead holder. */
static void meet(struct history *h, const struct history_record *r, uint16_t s)
{
	struct history_service *x = &h->service[s];

	if (!x->stuck_since || r->host == x->holder)
		return;
	if (!x->met)
		x->met = r->t;
	if (!x->met_by[r->host])
		x->met_by[r->host] = r->t;
}

static void check_order(struct history *h, const struct history_record *r,
			const struct history_process *p, uint16_t s)
{
	for (uint32_t x = s + 1u; h->conf.faultless && p && x <= h->conf.services; x++) {
		if (h->service[x].holder == r->host && h->service[x].holder_boot == r->boot)
			history_fail(h, HISTORY_ORDER,
				     "host %u acquired lock %u while it held lock %u", r->host, s,
				     x);
	}
}

/*
 * The seq must grow at one home while it runs, and within one epoch always. Hosts of an older view
 * may use a former home, or a restarted one: there only their moves are checked.
 */
static void check_fence(struct history *h, const struct history_record *r, uint16_t s, uint64_t seq)
{
	struct history_service *x = &h->service[s];
	uint64_t *home = &x->home_fence[r->target];
	uint64_t *epoch = &x->epoch_fence[r->target][(seq >> 34) % HISTORY_EPOCHS];

	if (seq <= *home || (seq >> 34 == *epoch >> 34 && seq <= *epoch))
		history_fail(h, HISTORY_FENCE,
			     "host %u acquired lock %u with seq %#llx; it was %#llx before",
			     r->host, s, (unsigned long long)seq,
			     (unsigned long long)(seq <= *home ? *home : *epoch));
	*home = *epoch = seq;
}

/* A release by a holder of a newer view is clean only for hosts that know that view. */
static void check_view(struct history *h, const struct history_record *r,
		       const struct history_process *p, uint16_t s)
{
	uint32_t epoch = region_seq_epoch(region_word_seq(r->old));

	if (p && p->view && region_seq_count(region_word_seq(r->old)) && epoch > p->view)
		history_fail(h, HISTORY_BEHIND,
			     "host %u acquired lock %u of view %u; it knows view %llu", r->host, s,
			     epoch, (unsigned long long)p->view);
}

/* When p last acquired this lock. */
static int64_t newest_at(const struct history_process *p, uint16_t s)
{
	return p->pasts[s] ? p->past[s][(p->pasts[s] - 1) % HISTORY_HELD].t : 0;
}

static void acquired(struct history *h, const struct history_record *r, uint16_t s)
{
	struct history_service *x = &h->service[s];
	struct history_process *p = process_of(h, r->host, r->boot);
	uint16_t from = region_word_id(r->old), to = region_word_id(r->now);
	uint64_t seq = order_of(h, r->target, region_word_seq(r->now));
	int64_t age = r->t - h->lock[r->target][s].since;

	h->acquisitions++;
	check_quorum(h, r, p, "acquired a lock");
	check_view(h, r, p, s);
	check_order(h, r, p, s);
	if (to != r->host)
		history_fail(h, HISTORY_THEFT, "host %u made host %u the owner of lock %u", r->host,
			     to, s);
	check_fence(h, r, s, seq);
	if (from && from != to && from != REGION_LOCK_DIRTY) {
		h->breaks++;
		if (age < h->conf.break_ns)
			history_fail(h, HISTORY_THEFT,
				     "host %u broke lock %u of host %u, which stood for %lld us",
				     r->host, s, from, (long long)age / NS_PER_US);
	}
	unstick(h, r, s);
	if (seq > x->fence)
		x->fence = seq;
	x->holder = to;
	x->announced = false;
	x->holder_boot = r->boot;
	/*
	 * A late CAS at a former home: p has acquired the lock anew since, and acts only under
	 * that.
	 */
	if (p && (int64_t)r->value >= newest_at(p, s)) {
		p->held[s] = seq;
		p->past[s][p->pasts[s] % HISTORY_HELD].t = r->t;
		p->past[s][p->pasts[s]++ % HISTORY_HELD].seq = seq;
	}
	if (!p || !p->up) {
		x->stuck_since = r->t;
		memset(x->met_by, 0, sizeof(x->met_by));
		x->deaths++;
	}
}

static void lock_effect(struct history *h, const struct history_record *r, uint32_t s)
{
	struct history_process *p = process_of(h, r->host, r->boot);
	struct history_word *w = s < HISTORY_SERVICES ? &h->lock[r->target][s] : NULL;

	if (!w || r->op == STEP_FAA || r->old != w->value) {
		history_fail(h, HISTORY_SERVICE, "lock %u at host %u was not %#llx", s, r->target,
			     (unsigned long long)r->old);
		return;
	}
	if (r->host == HISTORY_OPERATOR) {
		h->forced++;
		h->service[s].holder = 0;
		h->service[s].stuck_since = h->service[s].met = 0;
		w->value = r->now;
		w->since = r->t;
		return;
	}
	meet(h, r, (uint16_t)s);
	if (r->op != STEP_CAS || r->old != r->compare)
		return;
	if (region_word_id(r->now) && region_word_id(r->now) != REGION_LOCK_DIRTY) {
		acquired(h, r, (uint16_t)s);
	} else {
		if (region_word_id(r->old) != r->host)
			history_fail(h, HISTORY_THEFT, "host %u released lock %u, which was %#llx",
				     r->host, s, (unsigned long long)r->old);
		/* If it was released dirty, operations of the holder may still be on their way. */
		if (p && !region_word_id(r->now) &&
		    p->held[s] == order_of(h, r->target, region_word_seq(r->old)))
			p->held[s] = 0;
		for (uint32_t k = 1; k <= h->conf.services; k++)
			if (k != s && h->service[k].holder == r->host &&
			    h->service[k].holder_boot == r->boot)
				h->service[s].pair_until[k] = r->t;
		h->service[s].holder = 0;
		h->service[s].stuck_since = h->service[s].met = 0;
	}
	w->value = r->now;
	w->since = r->t;
}

static void counter_effect(struct history *h, const struct history_record *r, uint32_t s)
{
	struct history_process *p = process_of(h, r->host, r->boot);

	if (r->op != STEP_FAA || !p || s >= HISTORY_SERVICES)
		return;
	p->announced[r->target][s] = r->t;
	for (uint32_t k = 1; k <= h->conf.services; k++)
		if (h->service[k].holder == r->host && h->service[k].holder_boot == r->boot)
			h->service[k].announced = true;
	decided(h, p);
}

/* --- hosts --------------------------------------------------------------------- */

static void booted(struct history *h, const struct history_record *r)
{
	struct history_process *p = &h->process[r->host][r->boot % HISTORY_PAST];

	memset(p, 0, sizeof(*p));
	p->boot = r->boot;
	p->up = true;
	h->boot[r->host] = r->boot;
	for (uint32_t s = 1; s <= h->conf.services; s++)
		h->service[s].home_fence[r->host] = 0;
}

static void word_begins(struct history *h, const struct history_record *r)
{
	uint32_t i = r->offset % REGION_PAGE / 8;
	struct history_word *w = NULL;

	if (r->offset < REGION_COUNTERS && i < HISTORY_SERVICES)
		w = &h->lock[r->host][i];
	else if (r->offset >= REGION_NODE_WORDS && r->offset < REGION_ACKS && i < HISTORY_NODES)
		w = &h->node[r->host][i];
	if (!w)
		return;
	if (r->offset >= REGION_NODE_WORDS && !r->value &&
	    region_word_id(w->value) != region_word_id(r->now))
		h->left[region_word_id(w->value) % HISTORY_SERVICES] = true;
	w->value = w->kept = r->now;
	w->since = r->t;
}

static void begun(struct history *h, const struct history_record *r)
{
	for (uint16_t s = 1; s <= h->conf.services; s++) {
		uint32_t n = history_count(h, s);

		if (h->left[s] && n < h->conf.minimum[s] && !h->lacks[s])
			history_fail(h, HISTORY_RESTART,
				     "when host %u restarted, service %u was left with %u nodes "
				     "of %u",
				     r->host, s, n, h->conf.minimum[s]);
		h->left[s] = false;
	}
	note_lacks(h);
}

/* Its process died or hangs: its locks are stuck until a waiter breaks them. */
static void stuck(struct history *h, const struct history_record *r)
{
	struct history_process *p = running(h, r->host);

	for (uint32_t s = 1; s <= h->conf.services; s++) {
		struct history_service *x = &h->service[s];

		if (x->holder != r->host || x->holder_boot != p->boot || x->stuck_since)
			continue;
		x->stuck_since = r->t;
		memset(x->met_by, 0, sizeof(x->met_by));
		x->deaths++;
	}
}

static void may_act(struct history *h, const struct history_record *r)
{
	running(h, r->host)->may[r->service] = r->value;
	for (uint16_t o = 1; r->value && o <= h->conf.hosts; o++) {
		if (o != r->host && running(h, o)->up && running(h, o)->may[r->service] == r->value)
			history_fail(h, HISTORY_LEASE, "hosts %u and %u may both act under lock %u",
				     o, r->host, r->service);
	}
}

static void view_reported(struct history *h, const struct history_record *r)
{
	struct history_process *p = running(h, r->host);

	p->removed[p->views % HISTORY_VIEWS].t = r->t;
	p->removed[p->views++ % HISTORY_VIEWS].hosts = ~r->value;
	if (r->old > p->view)
		p->view = r->old;
	if (r->service)
		p->minority_since = 0;
	else if (!p->minority_since)
		p->minority_since = r->t;
}

static void load(struct history *h, const struct history_record *r)
{
	struct history_service *x = &h->service[r->service];

	x->high = r->type == HISTORY_HIGH;
	if (!x->high) {
		x->low_since = r->t;
		if (r->t - x->high_since >= h->conf.high_ns)
			x->lasted_until = r->t;
		return;
	}
	x->high_since = r->t;
	x->moves = 0;
}

static void effect(struct history *h, const struct history_record *r)
{
	uint32_t i = r->offset % REGION_PAGE / 8;

	switch (r->offset / REGION_PAGE * REGION_PAGE) {
	case REGION_LOCKS:
		return lock_effect(h, r, i);
	case REGION_COUNTERS:
		return counter_effect(h, r, i);
	case REGION_NODE_WORDS:
		return i < REGION_NODES_MAX ? node_effect(h, r, i)
					    : kept_effect(h, r, i - REGION_NODES_MAX);
	default:
		return;
	}
}

static void mix(uint64_t *hash, uint64_t v)
{
	*hash = (*hash ^ v) * 0x9e3779b97f4a7c15ull;
	*hash ^= *hash >> 29;
}

void history_add(struct history *h, const struct history_record *r)
{
	mix(&h->hash, (uint64_t)r->t);
	mix(&h->hash, (uint64_t)r->type << 48 | (uint64_t)r->host << 32 |
			      (uint64_t)r->target << 16 | r->service);
	mix(&h->hash, r->offset);
	mix(&h->hash, r->old);
	mix(&h->hash, r->now ^ r->value);
	h->last[h->n++ % HISTORY_LAST] = *r;
	if (h->conf.verbose)
		history_print(h->conf.verbose, r);
	switch (r->type) {
	case HISTORY_BOOT:
		return booted(h, r);
	case HISTORY_WORD:
		return word_begins(h, r);
	case HISTORY_BEGUN:
		return begun(h, r);
	case HISTORY_CRASH:
		stuck(h, r);
		running(h, r->host)->up = false;
		return;
	case HISTORY_EFFECT:
		return effect(h, r);
	case HISTORY_SEEN:
		return seen(h, r);
	case HISTORY_MAY:
		return may_act(h, r);
	case HISTORY_VIEW:
		return view_reported(h, r);
	case HISTORY_HIGH:
	case HISTORY_LOW:
		return load(h, r);
	case HISTORY_PAUSE:
		return r->value ? stuck(h, r) : (void)0;
	case HISTORY_NOTE:
		return;
	}
}
