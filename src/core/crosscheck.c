// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * crosscheck: compare what a counter counted with what rings claim. See crosscheck.h for the
 * rule; src/guests/crosscheck.c reads counters and claims, and calls this.
 *
 * Claims are written by the guest, and counters may be reset by a driver: any figure can be any
 * number. So all sums saturate; a sum that wrapped could make a liar look honest.
 */
#include "src/core/crosscheck.h"

#include "src/core/units.h"

enum { MESSAGE_MAX = 16 << 20 };

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t cross_read_bytes(uint64_t bytes, uint64_t mtus)
{
	return sat_add(bytes, sat_mul(mtus, CROSS_HEADERS));
}

uint64_t cross_flight(const struct cross_conf *conf, const struct usage *was,
		      const struct usage *now)
{
	uint64_t most = sat_mul(conf->rate, CROSS_FLIGHT_S);
	uint64_t seen = sat_mul(now->backlog, now->msg_bytes);
	uint64_t unseen = sat_mul(now->backlog, MESSAGE_MAX);

	if (!now->backlog)
		return 0;
	/* Nothing completed: perhaps one large message is on its way for all of this time. */
	if (now->wrs == was->wrs)
		return most;
	unseen = least(unseen, sat_mul(conf->rate, CROSS_UNSEEN_S));
	return least(seen > unseen ? seen : unseen, most);
}

uint64_t cross_floor(uint64_t bytes_s)
{
	uint64_t floor = bytes_s / 20;

	return floor < 65536 ? 65536 : floor;
}

/* A reset, or a guest whose rings were mapped anew: differences would be huge, or wrap. */
static bool went_back(const struct cross_seen *was, const struct cross_seen *now)
{
	const struct usage *a = &was->claim, *b = &now->claim;

	return now->time.ns < was->time.ns || now->counter != was->counter ||
	       now->sent < was->sent || now->packets_recv < was->packets_recv ||
	       now->served < was->served || b->bytes_sent < a->bytes_sent ||
	       b->mtus_sent < a->mtus_sent || b->wrs < a->wrs || b->lost < a->lost;
}

/*
 * Bytes that its rings claim. The guest wrote the sizes, but it is charged by MTUs: a claim is
 * at most the largest packets possible, of 4096 bytes, else huge sizes in the rings could
 * explain any traffic. Of lost messages only the MTUs are known.
 */
static uint64_t claimed_bytes(const struct cross_conf *conf, const struct usage *was,
			      const struct usage *now)
{
	uint64_t mtus = now->mtus_sent - was->mtus_sent, wrs = now->wrs - was->wrs;
	uint64_t bytes = now->bytes_sent - was->bytes_sent;

	if (now->lost > was->lost && bytes < sat_mul(mtus, conf->mtu))
		bytes = sat_mul(mtus, conf->mtu);
	if (bytes > sat_mul(mtus, 4096))
		bytes = sat_mul(mtus, 4096);
	/* the request of a READ is a packet that is not counted as an MTU */
	return sat_add(bytes, sat_mul(sat_add(mtus, wrs), CROSS_HEADERS));
}

static void measure_window(const struct cross_conf *conf, const struct cross_seen *was,
			   const struct cross_seen *now, struct cross_window *w)
{
	/*
	 * As if each packet were acknowledged: in the guest's favour, since several may share
	 * one.
	 */
	uint64_t acks = sat_mul(now->packets_recv - was->packets_recv, CROSS_ACK);

	w->ns = mono_sub(now->time, was->time);
	w->sent = now->sent - was->sent;
	w->explained = sat_add(claimed_bytes(conf, &was->claim, &now->claim), acks);
	w->explained = sat_add(w->explained, now->served - was->served);
	w->limit = sat_add(w->explained, sat_muldiv(w->explained, conf->tolerance, 1000));
	w->limit = sat_add(w->limit, sat_muldiv(conf->floor, (uint64_t)w->ns, (uint64_t)NS_PER_S));
	w->flight = sat_add(cross_flight(conf, &was->claim, &now->claim), now->served_flight);
}

/* Claims beyond what was sent pay the debt of earlier windows. */
static void update_debt(struct cross *c, const struct cross_window *w)
{
	uint64_t paid = w->sent < w->limit ? w->limit - w->sent : 0;

	if (w->sent > w->limit)
		c->debt = sat_add(c->debt, w->sent - w->limit);
	else
		c->debt = c->debt > paid ? c->debt - paid : 0;
}

/*
 * One window above its limit may be honest: rings and counter are not read at the same moment, and
 * a message may complete just after the window's end. So CROSS_OVER windows in a row must be above
 * it, and the debt must be larger than what may be in flight.
 */
static enum cross_news judge_window(struct cross *c, const struct cross_window *w)
{
	bool clean = w->sent <= w->limit;

	c->clean = clean ? c->clean + 1 : 0;
	c->over = !clean && c->debt > w->flight ? c->over + 1 : 0;
	if (c->clean >= CROSS_CLEAN) {
		c->debt = 0;
		if (!c->diverges)
			return CROSS_WINDOW;
		c->diverges = false;
		return CROSS_ENDS;
	}
	if (c->over < CROSS_OVER || c->diverges)
		return CROSS_WINDOW;
	c->diverges = true;
	return CROSS_BEGINS;
}

enum cross_news cross_feed(struct cross *c, const struct cross_conf *conf,
			   const struct cross_seen *now)
{
	c->missing = 0;
	if (!c->known || went_back(&c->was, now)) {
		c->was = *now;
		c->known = true;
		return CROSS_SAME;
	}
	/* A shorter window would be judged by the error at its edges. */
	if (mono_sub(now->time, c->was.time) < conf->window_ns)
		return CROSS_SAME;
	measure_window(conf, &c->was, now, &c->last);
	c->was = *now;
	c->windows++;
	c->sent = sat_add(c->sent, c->last.sent);
	c->explained = sat_add(c->explained, c->last.explained);
	update_debt(c, &c->last);
	return judge_window(c, &c->last);
}

enum cross_news cross_pause(struct cross *c)
{
	/* The time without a counter is in no window; the next reading begins one. */
	c->known = false;
	if (++c->missing < CROSS_CLEAN)
		return CROSS_SAME;
	c->missing = CROSS_CLEAN;
	c->over = 0;
	c->debt = 0;
	if (!c->diverges)
		return CROSS_SAME;
	c->diverges = false;
	return CROSS_ENDS;
}

void cross_skip(struct cross *c, const struct cross_seen *now)
{
	c->was = *now;
	c->known = true;
	c->missing = 0;
	c->over = 0;
	c->debt = 0;
	c->skipped++;
}

uint64_t cross_rate(const struct cross_window *w, uint64_t bytes)
{
	return w->ns > 0 ? sat_muldiv(bytes, (uint64_t)NS_PER_S, (uint64_t)w->ns) : 0;
}

uint64_t cross_unexplained(const struct cross *c)
{
	const struct cross_window *w = &c->last;

	return w->sent > w->explained ? cross_rate(w, w->sent - w->explained) : 0;
}
