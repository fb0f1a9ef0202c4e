// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * crosscheck: what guests claim against counters that they cannot forge.
 *
 *	read all counters -> a snapshot taken after that -> compare
 *
 * Once a window, by the control thread. A snapshot from after the reading has
 * all that was claimed of what the counters had seen; what was sent but not
 * completed by then is what core/crosscheck.h takes for in flight.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/guests/guests_priv.h"

#define SNAPSHOT_WAIT_NS (10 * NS_PER_MS)

void checked_source(const struct checked *k, char *out, size_t size)
{
	if (!k->ops)
		snprintf(out, size, "%s", "");
	else if (k->name.dev[0])
		snprintf(out, size, "%s:%s/%u", k->ops->name, k->name.dev, k->name.number);
	else
		snprintf(out, size, "%s", k->ops->name);
}

void managed_divergence(const struct managed *g, char *out, size_t size)
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

/* --- what came of it, in words ----------------------------------------------------- */

/* It is explained again only if it was compared: a counter may also be gone, or not be wanted. */
static const char *why_ended(const struct cross *c)
{
	return c->known ? "what it sends is explained again"
			: "what it sends is compared with no counter any more";
}

static void tell_guest(struct manager *m, const struct managed *g, enum cross_news news,
		       int64_t wall_ns)
{
	char text[192];

	managed_divergence(g, text, sizeof(text));
	if (news == CROSS_BEGINS)
		manager_event(m, wall_ns, g->name, "divergence", "%s", text);
	else if (news == CROSS_ENDS)
		manager_event(m, wall_ns, g->name, "divergence-end", "%s",
			      why_ended(&g->check.cross));
}

static void tell_link(struct manager *m, uint32_t i, enum cross_news news, int64_t wall_ns)
{
	const struct checked *k = &m->link[i];
	char source[COUNTER_TEXT_MAX + 1];

	checked_source(k, source, sizeof(source));
	if (news == CROSS_BEGINS)
		manager_event(m, wall_ns, NULL, "divergence",
			      "link %.32s: %s counts %llu bytes/s that no guest's queue pairs "
			      "explain",
			      m->conf->link[i].name, source,
			      (unsigned long long)cross_unexplained(&k->cross));
	else if (news == CROSS_ENDS)
		manager_event(m, wall_ns, NULL, "divergence-end", "link %.32s: %s",
			      m->conf->link[i].name, why_ended(&k->cross));
}

/* Once, until it is otherwise; that a guest has no interface, only if one was named. */
static void tell_unread(struct manager *m, const struct checked *k, int was, const char *guest,
			int64_t wall_ns)
{
	char source[COUNTER_TEXT_MAX + 1];

	if (!k->rc || k->rc == was || k->rc == -EAGAIN ||
	    (k->rc == -ENOENT && k->name.kind == COUNTER_AUTO))
		return;
	checked_source(k, source, sizeof(source));
	manager_event(m, wall_ns, guest, "counter", "%s cannot be read: %s", source,
		      counter_why(k->ops->kind, k->rc));
}

/* --- reading --------------------------------------------------------------------------- */

/* Another counter than before: what was found by the former says nothing about it. */
static bool take_name(const struct manager *m, struct checked *k, const struct counter_name *name)
{
	bool ended = false;

	if (k->ops && counter_same(&k->name, name))
		return false;
	if (k->cross.windows || k->cross.known) {
		ended = k->cross.diverges;
		k->cross = (struct cross){ 0 };
	}
	k->name = *name;
	k->ops = counter_find(&m->counters, name);
	k->rc = 0;
	return ended;
}

static void read_guest(struct manager *m, struct managed *g, int64_t wall_ns)
{
	struct checked *k = &g->check;
	int was = k->rc;

	if (take_name(m, k, &g->conf.counter.name))
		tell_guest(m, g, CROSS_ENDS, wall_ns);
	if (!k->ops)
		return;
	k->rc = k->ops->read(&m->counters, &k->name, g->key.domid, &k->value);
	tell_unread(m, k, was, g->name, wall_ns);
}

static void read_link(struct manager *m, uint32_t i, int64_t wall_ns)
{
	struct checked *k = &m->link[i];
	int was = k->rc;

	if (take_name(m, k, &m->conf->link_counter[i].name))
		tell_link(m, i, CROSS_ENDS, wall_ns);
	if (!k->ops)
		return;
	k->rc = k->ops->read(&m->counters, &k->name, 0, &k->value);
	tell_unread(m, k, was, NULL, wall_ns);
}

static void read_all(struct manager *m, struct mono now, int64_t wall_ns)
{
	m->counters.round++;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (m->guest[i] && !m->guest[i]->leaving)
			read_guest(m, m->guest[i], wall_ns);
	for (uint32_t i = 0; i < m->conf->links; i++)
		read_link(m, i, wall_ns);
	m->cross_time = now;
	m->cross_waits = true;
}

/* --- comparing -------------------------------------------------------------------------- */

static struct cross_conf conf_of(const struct manager *m, uint32_t link)
{
	const struct crosscheck_conf *c = &m->conf->crosscheck;
	const struct link_conf *l = &m->conf->link[link];

	return (struct cross_conf){
		.window_ns = c->window_ns,
		.tolerance = (uint32_t)c->tolerance,
		.mtu = l->mtu,
		.floor = c->floor ? c->floor : cross_floor(l->bytes_s),
		.rate = l->bytes_s,
	};
}

static uint64_t grown(uint64_t was, uint64_t now)
{
	return now > was ? now - was : 0;
}

/* What a guest claims more than at the last comparison, for its link. */
static void sum_up(struct checked *link, const struct usage *was, const struct usage *now)
{
	struct usage *u = &link->claim;

	u->bytes_sent += grown(was->bytes_sent, now->bytes_sent);
	u->mtus_sent += grown(was->mtus_sent, now->mtus_sent);
	u->wrs += grown(was->wrs, now->wrs);
	u->lost += grown(was->lost, now->lost);
	u->backlog += now->backlog;
	if (now->msg_bytes > u->msg_bytes)
		u->msg_bytes = now->msg_bytes;
}

/* What each guest claims, and each link's together: before any is compared. */
static void take_claim(struct manager *m, struct managed *g, const struct usage *now)
{
	const struct cross_conf conf = conf_of(m, g->conf.link);
	struct checked *k = &g->check, *link = &m->link[g->conf.link];
	const struct usage *was = k->claim_known ? &k->claim : now;
	const uint64_t read = cross_read_bytes(grown(was->bytes_recv, now->bytes_recv),
					       grown(was->mtus_recv, now->mtus_recv));

	if (k->link != g->conf.link) { /* what others READ there before came from elsewhere */
		k->link = g->conf.link;
		k->read = link->read;
	}
	sum_up(link, was, now);
	k->flight = now->mtus_recv ? cross_flight(&conf, was, now) : 0;
	k->read += read;
	link->read += read;
	link->flight += k->flight;
	k->claim = *now;
	k->claim_known = true;
}

static void take_claims(struct manager *m, const struct snapshot *sn)
{
	for (uint32_t i = 0; i < m->conf->links; i++) {
		m->link[i].claim.backlog = 0;
		m->link[i].flight = 0;
	}
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		struct managed *g = m->guest[i];
		const struct snap_guest *s = g && !g->leaving ? manager_snap(g, sn) : NULL;

		if (s)
			take_claim(m, g, &s->total_usage);
	}
}

static enum cross_news compare(const struct manager *m, struct checked *k,
			       const struct cross_conf *conf, uint64_t served, uint64_t flight)
{
	const struct cross_seen seen = {
		.time = m->cross_time,
		.counter = k->value.which,
		.sent = k->value.bytes_sent,
		.packets_recv = k->value.packets_recv,
		.claim = k->claim,
		.served = served,
		.served_flight = flight,
	};

	return k->rc ? cross_pause(&k->cross) : cross_feed(&k->cross, conf, &seen);
}

/* What others of the link READ may have come from this one, or may be on its way. */
static void compare_guest(struct manager *m, struct managed *g, int64_t wall_ns)
{
	const struct cross_conf conf = conf_of(m, g->conf.link);
	const struct checked *link = &m->link[g->conf.link];
	struct checked *k = &g->check;

	if (!k->ops || !k->claim_known)
		return;
	tell_guest(m, g, compare(m, k, &conf, grown(k->read, link->read), link->flight - k->flight),
		   wall_ns);
	m->diverging += k->cross.diverges;
}

static void compare_all(struct manager *m, int64_t wall_ns)
{
	m->diverging = 0;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (m->guest[i] && !m->guest[i]->leaving)
			compare_guest(m, m->guest[i], wall_ns);
	for (uint32_t i = 0; i < m->conf->links; i++) {
		const struct cross_conf conf = conf_of(m, i);
		struct checked *k = &m->link[i];

		if (k->ops) /* any guest may have served what another READ */
			tell_link(m, i, compare(m, k, &conf, k->read, k->flight), wall_ns);
	}
	m->cross_waits = false;
}

/* --- turned off while somebody diverged -------------------------------------------------- */

static int64_t stop_all(struct manager *m, int64_t wall_ns)
{
	const struct counter_name none = { .kind = COUNTER_NONE };

	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (m->guest[i] && take_name(m, &m->guest[i]->check, &none))
			tell_guest(m, m->guest[i], CROSS_ENDS, wall_ns);
	for (uint32_t i = 0; i < m->conf->links; i++)
		if (take_name(m, &m->link[i], &none))
			tell_link(m, i, CROSS_ENDS, wall_ns);
	m->cross_waits = false;
	m->diverging = 0;
	return NS_PER_S;
}

int64_t manager_cross(struct manager *m, struct mono now, int64_t wall_ns)
{
	const int64_t window = m->conf->crosscheck.window_ns;
	const struct snapshot *sn;
	int64_t left;

	if (m->conf->crosscheck.off || !m->counters.ops)
		return stop_all(m, wall_ns);
	if (mono_sub(m->cross_due, now) > window) /* it was longer when this was due */
		m->cross_due = mono_add(now, window);
	if (!m->cross_waits && mono_sub(now, m->cross_due) >= 0) {
		read_all(m, now, wall_ns);
		m->cross_due = mono_add(now, window);
	}
	if (m->cross_waits) {
		sn = snap_latest(m->sh);
		if (mono_sub(sn->time, m->cross_time) < 0)
			return SNAPSHOT_WAIT_NS;
		take_claims(m, sn);
		compare_all(m, wall_ns);
	}
	left = mono_sub(m->cross_due, now);
	if (left > NS_PER_S) /* settings may be read again meanwhile */
		return NS_PER_S;
	return left > NS_PER_MS ? left : NS_PER_MS;
}
