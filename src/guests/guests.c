// SPDX-License-Identifier: GPL-2.0-or-later
/* guests: domains followed, work scheduled, commands served. See guests.h. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/guests/guests_priv.h"

int manager_init(struct manager *m, struct shared *sh, const struct daemon_conf *conf,
		 const struct log *log, const struct hv_backend *hv, struct policy_inst *policy)
{
	memset(m, 0, sizeof(*m));
	m->sh = sh;
	m->conf = conf;
	m->log = log;
	m->hv = hv;
	m->policy = policy;
	m->rescan_due = true;
	return 0;
}

void manager_fini(struct manager *m)
{
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (m->guest[i])
			managed_free(m, m->guest[i]);
	sets_free_all(m);
	policy_free(m->policy);
	policy_free(m->policy_old);
	m->policy = m->policy_old = NULL;
	counters_close(&m->counters);
}

static struct managed *by_dom(const struct manager *m, const struct hv_dom *d)
{
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		struct managed *g = m->guest[i];

		if (g && !g->leaving && g->key.domid == d->domid &&
		    !memcmp(g->key.uuid, d->uuid, sizeof(d->uuid)))
			return g;
	}
	return NULL;
}

/* A guest we can watch: not dom0, not on its way out. */
static bool is_guest(const struct hv_dom *d)
{
	return !(d->flags & (HV_DOM_PRIVILEGED | HV_DOM_DYING | HV_DOM_SHUTDOWN));
}

static void leave_missing(struct manager *m, int n, int64_t wall_ns)
{
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		struct managed *g = m->guest[i];
		bool here = false;

		for (int k = 0; g && k < n && !here; k++)
			here = m->dom[k].domid == g->key.domid && is_guest(&m->dom[k]) &&
			       !memcmp(m->dom[k].uuid, g->key.uuid, sizeof(g->key.uuid));
		if (g && !here)
			managed_leave(m, g, wall_ns);
	}
}

/*
 * A guest that shut down may go on (a checkpoint, a migration that failed),
 * with the cap we gave it: its own is forgotten only with the domain.
 */
static void forget_dead(struct manager *m, int n)
{
	uint32_t had = m->restore.entries;

	if (m->observe || n == (int)(sizeof(m->dom) / sizeof(m->dom[0])))
		return; /* a list that is full may not be whole */
	for (uint32_t i = m->restore.entries; i-- > 0;) {
		const struct saved_cap *c = &m->restore.entry[i];
		bool here = false;

		for (int k = 0; k < n && !here; k++)
			here = m->dom[k].domid == c->domid && !(m->dom[k].flags & HV_DOM_DYING) &&
			       !memcmp(m->dom[k].uuid, c->uuid, sizeof(c->uuid));
		if (!here)
			restore_drop(&m->restore, c->domid, c->uuid);
	}
	m->save_due |= m->restore.entries != had;
}

/* A domain that is not known yet. */
static void take_in(struct manager *m, const struct hv_dom *d, struct mono now, int64_t wall_ns,
		    uint32_t *unwatched)
{
	int rc = managed_new(m, d, now, wall_ns);

	if (rc == -ENOSPC)
		++*unwatched;
	else if (rc)
		log_msg(m->log, LOG_LVL_ERROR, "domain %u is not watched: %s", d->domid,
			strerror(-rc));
}

static void tell_unwatched(struct manager *m, uint32_t unwatched)
{
	if (unwatched > m->unwatched)
		log_msg(m->log, LOG_LVL_ERROR,
			"%u domain%s not watched: resexd takes at most %d guests", unwatched,
			unwatched == 1 ? " is" : "s are", FLOW_GUESTS_MAX);
	m->unwatched = unwatched;
}

static void rescan(struct manager *m, struct mono now, int64_t wall_ns)
{
	uint32_t unwatched = 0;
	int n = m->hv->sched->list(m->sched, m->dom, sizeof(m->dom) / sizeof(m->dom[0]));

	if (n < 0) {
		if (n != m->list_rc) /* it is tried again at each call */
			log_msg(m->log, LOG_LVL_ERROR, "the list of domains cannot be read: %s",
				strerror(-n));
		m->list_rc = n;
		return;
	}
	m->list_rc = 0;
	m->rescan_due = false;
	leave_missing(m, n, wall_ns);
	forget_dead(m, n);
	for (int i = 0; i < n; i++) {
		const struct hv_dom *d = &m->dom[i];
		struct managed *g = by_dom(m, d);

		if (!is_guest(d))
			continue;
		if (!g) {
			take_in(m, d, now, wall_ns, &unwatched);
			continue;
		}
		g->dom_flags = d->flags;
		if (d->vcpus && d->vcpus != g->vcpus) {
			g->vcpus = d->vcpus;
			m->publish_due = true;
		}
	}
	managed_save_caps(m);
	tell_unwatched(m, unwatched);
}

static void take_events(struct manager *m)
{
	struct hv_event ev;

	/* Bounded: a guest may write its node as fast as it likes. */
	for (int i = 0; i < 256 && m->hv->watch->next(m->watch, &ev) == 1; i++) {
		if (ev.type == HV_EVENT_DOMAINS) {
			m->rescan_due = true;
			continue;
		}
		for (uint32_t k = 0; k < FLOW_GUESTS_MAX; k++)
			if (m->guest[k] && m->guest[k]->key.domid == ev.domid)
				m->guest[k]->node_due = true;
	}
}

int64_t manager_work(struct manager *m, struct mono now, int64_t wall_ns)
{
	int64_t wait = NS_PER_S;

	sets_acknowledged(m, atomic_load_explicit(&m->sh->acked, memory_order_acquire));
	events_drain(m, wall_ns);
	take_events(m);
	if (m->rescan_due)
		rescan(m, now, wall_ns);
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (m->guest[i])
			managed_work(m, m->guest[i], now, wall_ns);
	if (m->publish_due)
		sets_publish(m);
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (m->guest[i] && managed_wants_soon(m->guest[i], now))
			wait = 10 * NS_PER_MS;
	return m->publish_due ? NS_PER_MS : wait;
}

void manager_second(struct manager *m, struct mono now, int64_t wall_ns)
{
	m->rescan_due = true;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (m->guest[i])
			managed_second(m, m->guest[i], now, wall_ns);
	managed_save_caps(m);
}

int manager_restore(struct manager *m)
{
	uint32_t restored;
	int rc;

	if (m->observe || !m->restore.entries)
		return 0;
	rc = restore_all(&m->restore, m->hv->sched, m->sched, &restored);
	if (rc)
		log_msg(m->log, LOG_LVL_ERROR,
			"not all caps were restored: run resexd --restore-caps, or xl "
			"sched-credit2");
	return rc;
}

static struct managed *find_domid(struct manager *m, const char *who)
{
	char *end;
	unsigned long id = strtoul(who, &end, 10);

	if (*who < '0' || *who > '9' || *end) /* strtoul takes signs and blanks */
		return NULL;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (m->guest[i] && !m->guest[i]->leaving && m->guest[i]->key.domid == id)
			return m->guest[i];
	return NULL;
}

struct managed *manager_find(struct manager *m, const char *who)
{
	struct managed *found = find_domid(m, who); /* a guest may be named "7" */

	for (uint32_t i = 0; i < FLOW_GUESTS_MAX && !found; i++) {
		struct managed *g = m->guest[i];

		if (g && !g->leaving && (!strcmp(g->name, who) || !strcasecmp(g->uuid, who)))
			found = g;
	}
	return found;
}

const struct snap_guest *manager_snap(const struct managed *g, const struct snapshot *sn)
{
	for (uint32_t i = 0; i < sn->guests; i++)
		if (sn->guest[i].slot == g->slot && sn->guest[i].key.created == g->key.created)
			return &sn->guest[i];
	return NULL;
}

/* A command may come long before the loop's next turn: do not let it wait. */
void manager_publish_soon(struct manager *m)
{
	m->publish_due = true;
	shared_wake(m->sh->control_fd);
}

/* The sampler leaves the former policy at its next tick; 50 intervals are plenty. */
static bool policy_settled(struct manager *m)
{
	int64_t left = 50 * m->conf->interval_ns + 50 * NS_PER_MS;

	for (; m->policy_old && left > 0; left -= NS_PER_MS) {
		if (m->publish_due)
			sets_publish(m);
		poll(NULL, 0, 1);
		sets_acknowledged(m, atomic_load_explicit(&m->sh->acked, memory_order_acquire));
	}
	return !m->policy_old;
}

int manager_set_policy(struct manager *m, struct policy_inst *pi, int64_t wall_ns)
{
	if (!policy_settled(m))
		return -EBUSY;
	m->policy_old = m->policy;
	m->policy_serial = 0;
	m->policy = pi;
	manager_publish_soon(m);
	manager_event(m, wall_ns, NULL, "policy", "%s", pi->ops->name);
	return 0;
}
