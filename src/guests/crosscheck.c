// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * crosscheck: what guests claim against counters that they cannot forge.
 *
 *	read all counters -> a snapshot taken after that -> compare
 *
 * The control thread does this once a window. A snapshot taken after the
 * reading has every claim about bytes that the counters had counted. Bytes
 * sent and not completed by then are in flight, see src/core/crosscheck.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/guests/guests_priv.h"

#define SNAPSHOT_WAIT_NS (10 * NS_PER_MS)
/* Counters that were perhaps read so much later than their time show more than was claimed. */
#define READ_LATE_NS PERIOD_STARVED_NS

/* Of one comparison: what of this host's own lateness it must allow for. */
struct lateness {
	bool read;    /* of the reading of the counters */
	bool starved; /* of a tick */
};

void checked_source(const struct checked *k, char *out, size_t size)
{
	if (!k->ops)
		snprintf(out, size, "%s", "");
	else if (k->name.dev[0])
		snprintf(out, size, "%s:%s/%u", k->ops->name, k->name.dev, k->name.number);
	else
		snprintf(out, size, "%s", k->ops->name);
}

void guest_divergence(const struct guest_entry *g, char *out, size_t size)
{
	char source[COUNTER_TEXT_MAX + 1];

	if (size)
		out[0] = 0;
	if (!g->check.cross.diverges)
		return;
	checked_source(&g->check, source, sizeof(source));
	snprintf(out, size, "%s counts %llu bytes/s that its queue pairs do not explain", source,
		 (unsigned long long)cross_unexplained(&g->check.cross));
}

/* --- results in words -------------------------------------------------------------- */

/* A divergence also ends when the counter is gone or turned off. */
static const char *why_ended(const struct cross *c)
{
	return c->known ? "what it sends is explained again"
			: "what it sends is compared with no counter any more";
}

static void report_guest(struct guests *gs, const struct guest_entry *g, enum cross_news news,
			 int64_t wall_ns)
{
	char text[192];

	guest_divergence(g, text, sizeof(text));
	if (news == CROSS_BEGINS)
		guests_event(gs, wall_ns, g->name, "divergence", "%s", text);
	else if (news == CROSS_ENDS)
		guests_event(gs, wall_ns, g->name, "divergence-end", "%s",
			     why_ended(&g->check.cross));
}

static void report_link(struct guests *gs, uint32_t i, enum cross_news news, int64_t wall_ns)
{
	const struct checked *k = &gs->link[i];
	char source[COUNTER_TEXT_MAX + 1];

	checked_source(k, source, sizeof(source));
	if (news == CROSS_BEGINS)
		guests_event(gs, wall_ns, NULL, "divergence",
			     "link %.32s: %s counts %llu bytes/s that no guest's queue pairs "
			     "explain",
			     gs->conf->link[i].name, source,
			     (unsigned long long)cross_unexplained(&k->cross));
	else if (news == CROSS_ENDS)
		guests_event(gs, wall_ns, NULL, "divergence-end", "link %.32s: %s",
			     gs->conf->link[i].name, why_ended(&k->cross));
}

/* Report each new error once. A guest without an interface is an error only if one was named. */
static void report_unread(struct guests *gs, const struct checked *k, int was, const char *guest,
			  int64_t wall_ns)
{
	char source[COUNTER_TEXT_MAX + 1];

	if (!k->rc || k->rc == was || k->rc == -EAGAIN ||
	    (k->rc == -ENOENT && k->name.kind == COUNTER_AUTO))
		return;
	checked_source(k, source, sizeof(source));
	guests_event(gs, wall_ns, guest, "counter", "%s cannot be read: %s", source,
		     counter_why(k->ops->kind, k->rc));
}

/* --- reading --------------------------------------------------------------------------- */

/* Results of another counter do not count for this one. True: a divergence ended so. */
static bool set_counter(const struct guests *gs, struct checked *k, const struct counter_name *name)
{
	bool ended = false;

	if (k->ops && counter_same(&k->name, name))
		return false;
	if (k->cross.windows || k->cross.known) {
		ended = k->cross.diverges;
		k->cross = (struct cross){ 0 };
	}
	k->name = *name;
	k->ops = counter_find(&gs->counters, name);
	k->rc = 0;
	return ended;
}

static void read_guest(struct guests *gs, struct guest_entry *g, int64_t wall_ns)
{
	struct checked *k = &g->check;
	int was = k->rc;

	if (set_counter(gs, k, &g->conf.counter.name))
		report_guest(gs, g, CROSS_ENDS, wall_ns);
	if (!k->ops)
		return;
	k->rc = k->ops->read(&gs->counters, &k->name, g->key.domid, &k->value);
	report_unread(gs, k, was, g->name, wall_ns);
}

static void read_link(struct guests *gs, uint32_t i, int64_t wall_ns)
{
	struct checked *k = &gs->link[i];
	int was = k->rc;

	if (set_counter(gs, k, &gs->conf->link_counter[i].name))
		report_link(gs, i, CROSS_ENDS, wall_ns);
	if (!k->ops)
		return;
	k->rc = k->ops->read(&gs->counters, &k->name, 0, &k->value);
	report_unread(gs, k, was, NULL, wall_ns);
}

static void read_counters(struct guests *gs, struct mono now, int64_t wall_ns)
{
	gs->counters.round++;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (gs->guest[i] && !gs->guest[i]->leaving)
			read_guest(gs, gs->guest[i], wall_ns);
	for (uint32_t i = 0; i < gs->conf->links; i++)
		read_link(gs, i, wall_ns);
	gs->cross_time = now;
	gs->cross_waits = true;
}

/* --- comparing -------------------------------------------------------------------------- */

static struct cross_conf conf_of(const struct guests *gs, uint32_t link)
{
	const struct crosscheck_conf *c = &gs->conf->crosscheck;
	const struct link_conf *l = &gs->conf->link[link];

	return (struct cross_conf){
		.window_ns = c->window_ns,
		.tolerance = (uint32_t)c->tolerance,
		.mtu = l->mtu,
		.floor = c->floor ? c->floor : cross_floor(l->bytes_s),
		.rate = l->bytes_s,
	};
}

/*
 * Totals begin at 0 again when a guest moves to another link: the sampler opens a new
 * account then.
 */
static uint64_t increase(uint64_t was, uint64_t now)
{
	return now > was ? now - was : 0;
}

/* Add what a guest claimed since the last comparison to its link's claim. */
static void add_to_link(struct checked *link, const struct usage *was, const struct usage *now)
{
	struct usage *u = &link->claim;

	u->bytes_sent += increase(was->bytes_sent, now->bytes_sent);
	u->mtus_sent += increase(was->mtus_sent, now->mtus_sent);
	u->wrs += increase(was->wrs, now->wrs);
	u->lost += increase(was->lost, now->lost);
	u->backlog += now->backlog;
	if (now->msg_bytes > u->msg_bytes)
		u->msg_bytes = now->msg_bytes;
}

/* All claims are added before any is compared: a link's claim is its guests' sum. */
static void add_claim(struct guests *gs, struct guest_entry *g, const struct usage *now)
{
	const struct cross_conf conf = conf_of(gs, g->conf.link);
	struct checked *k = &g->check, *link = &gs->link[g->conf.link];
	const struct usage *was = k->claim_known ? &k->claim : now;
	const uint64_t read = cross_read_bytes(increase(was->bytes_recv, now->bytes_recv),
					       increase(was->mtus_recv, now->mtus_recv));

	if (k->link !=
	    g->conf.link) { /* READs on that link before now were not served by this guest */
		k->link = g->conf.link;
		k->read = link->read;
	}
	add_to_link(link, was, now);
	k->flight = now->mtus_recv ? cross_flight(&conf, was, now) : 0;
	k->read += read;
	link->read += read;
	link->flight += k->flight;
	k->claim = *now;
	k->claim_known = true;
}

static void add_claims(struct guests *gs, const struct snapshot *sn)
{
	for (uint32_t i = 0; i < gs->conf->links; i++) {
		gs->link[i].claim.backlog = 0;
		gs->link[i].flight = 0;
	}
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		struct guest_entry *g = gs->guest[i];
		const struct snap_guest *s = g && !g->leaving ? guests_snap(g, sn) : NULL;

		if (s)
			add_claim(gs, g, &s->total_usage);
	}
}

/* Was a claim lost, or a counter read late, because this host did not get its CPU time? */
static bool is_no_evidence(const struct checked *k, const struct lateness *l)
{
	return l->read || (l->starved && k->cross.known && k->claim.lost > k->cross.was.claim.lost);
}

static enum cross_news compare_counter(struct guests *gs, struct checked *k,
				       const struct cross_conf *conf, const struct lateness *late,
				       uint64_t served, uint64_t flight)
{
	const struct cross_seen seen = {
		.time = gs->cross_time,
		.counter = k->value.which,
		.sent = k->value.bytes_sent,
		.packets_recv = k->value.packets_recv,
		.claim = k->claim,
		.served = served,
		.served_flight = flight,
	};

	if (!k->rc && is_no_evidence(k, late)) {
		cross_skip(&k->cross, &seen);
		gs->host_late = true;
		return CROSS_SAME;
	}
	/*
	 * A reading that failed interrupts the series. Otherwise the next window would have
	 * the bytes of two.
	 */
	return k->rc ? cross_pause(&k->cross) : cross_feed(&k->cross, conf, &seen);
}

/* Other guests of the link may have READ from this one: those bytes are explained, too. */
static void compare_guest(struct guests *gs, struct guest_entry *g, const struct lateness *late,
			  int64_t wall_ns)
{
	const struct cross_conf conf = conf_of(gs, g->conf.link);
	const struct checked *link = &gs->link[g->conf.link];
	struct checked *k = &g->check;

	if (!k->ops || !k->claim_known)
		return;
	report_guest(gs, g,
		     compare_counter(gs, k, &conf, late, increase(k->read, link->read),
				     link->flight - k->flight),
		     wall_ns);
	gs->diverging += k->cross.diverges;
}

/* Once, until a comparison needs no allowance again. */
static void report_late(struct guests *gs, bool was, const struct lateness *late, int64_t wall_ns)
{
	if (gs->host_late && !was)
		guests_event(
			gs, wall_ns, NULL, "host-late",
			"%s more than %lld ms late, so what guests sent is not compared with "
			"counters for now: give dom0 more CPU time, or resexd a higher priority",
			late->read ? "counters were read perhaps" : "a tick came",
			(long long)(READ_LATE_NS / NS_PER_MS));
}

static void compare_all(struct guests *gs, const struct lateness *late, int64_t wall_ns)
{
	bool was = gs->host_late;

	gs->host_late = false;
	gs->diverging = 0;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (gs->guest[i] && !gs->guest[i]->leaving)
			compare_guest(gs, gs->guest[i], late, wall_ns);
	for (uint32_t i = 0; i < gs->conf->links; i++) {
		const struct cross_conf conf = conf_of(gs, i);
		struct checked *k = &gs->link[i];

		if (k->ops) /* a guest of this host may have served the READ of another */
			report_link(gs, i, compare_counter(gs, k, &conf, late, k->read, k->flight),
				    wall_ns);
	}
	report_late(gs, was, late, wall_ns);
	gs->cross_waits = false;
}

/* --- turned off while a guest diverges ---------------------------------------------------- */

/*
 * A divergence that is not checked any more must end with an event: otherwise it is shown
 * for ever.
 */
static int64_t stop_comparing(struct guests *gs, int64_t wall_ns)
{
	const struct counter_name none = { .kind = COUNTER_NONE };

	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (gs->guest[i] && set_counter(gs, &gs->guest[i]->check, &none))
			report_guest(gs, gs->guest[i], CROSS_ENDS, wall_ns);
	for (uint32_t i = 0; i < gs->conf->links; i++)
		if (set_counter(gs, &gs->link[i], &none))
			report_link(gs, i, CROSS_ENDS, wall_ns);
	gs->cross_waits = false;
	gs->diverging = 0;
	return NS_PER_S;
}

int64_t guests_cross(struct guests *gs, struct mono now, int64_t wall_ns)
{
	const int64_t window = gs->conf->crosscheck.window_ns;
	const struct snapshot *sn;
	struct lateness late;
	int64_t left;

	if (gs->conf->crosscheck.off || !gs->counters.ops)
		return stop_comparing(gs, wall_ns);
	if (mono_sub(gs->cross_due, now) > window) /* the window was longer when this was set */
		gs->cross_due = mono_add(now, window);
	/*
	 * Counters first, then a snapshot that is newer than they are: each counted byte is
	 * then claimed, or in flight.
	 */
	if (!gs->cross_waits && mono_sub(now, gs->cross_due) >= 0) {
		read_counters(gs, now, wall_ns);
		gs->cross_due = mono_add(now, window);
	}
	if (gs->cross_waits) {
		sn = snap_latest(gs->ho);
		if (mono_sub(sn->time, gs->cross_time) < 0)
			return SNAPSHOT_WAIT_NS;
		/* This call and the one that read the counters lie on both sides of the reading. */
		late.read = mono_sub(now, gs->cross_time) > READ_LATE_NS;
		late.starved = sn->starved_ticks != gs->cross_starved;
		gs->cross_starved = sn->starved_ticks;
		add_claims(gs, sn);
		compare_all(gs, &late, wall_ns);
	}
	left = mono_sub(gs->cross_due, now);
	if (left > NS_PER_S) /* a reload may change the window meanwhile */
		return NS_PER_S;
	return left > NS_PER_MS ? left : NS_PER_MS;
}
