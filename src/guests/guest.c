// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest: one guest's life, from the first list that has its domain until its slot is free:
 * own cap learned (own.c), node read, registry attached, freed. Called by guests.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "src/guests/guests_priv.h"

static bool is_former(const struct guests *gs, int slot, const struct hv_dom *d, struct mono now)
{
	const struct former *f = &gs->former[slot];

	return f->known && !memcmp(f->uuid, d->uuid, sizeof(f->uuid)) && !uuid_is_null(d->uuid) &&
	       mono_sub(now, f->left) <= POLICY_KEPT_NS;
}

/*
 * A slot is also the index of the guest's mailbox, account and policy state. So it becomes
 * free only with entry_free(), after the sampler has acknowledged that the guest is gone.
 *
 * A guest that was restarted gets its former slot, and the policy's state with it (*kept): else
 * a restart would end what the guest is charged. Other guests get the slot that is free for
 * the longest time. -EAGAIN: the former slot is not free yet; -ENOSPC: none is.
 */
static int choose_slot(const struct guests *gs, const struct hv_dom *d, struct mono now, bool *kept)
{
	int slot = -ENOSPC;

	*kept = false;
	for (int i = 0; i < FLOW_GUESTS_MAX; i++) {
		bool former = is_former(gs, i, d, now);

		if (former && gs->guest[i])
			return -EAGAIN;
		if (gs->guest[i])
			continue;
		if (former) {
			*kept = true;
			return i;
		}
		if (slot < 0 || mono_sub(gs->former[i].left, gs->former[slot].left) < 0)
			slot = i;
	}
	return slot;
}

/*
 * Names go into messages and JSON: replace what is not printable. -EAGAIN: the name comes with
 * HV_EVENT_ANSWER; all else is an answer.
 */
static void read_name(struct guests *gs, struct guest_entry *g)
{
	char buf[FLOW_NAME_MAX];
	int n = gs->hv->watch->name(gs->watch, g->key.domid, buf, sizeof(buf));

	g->name_asked = n == -EAGAIN;
	if (n <= 0) {
		if (!g->name[0])
			snprintf(g->name, sizeof(g->name), "domain-%u", g->key.domid);
	} else {
		for (int i = 0; i < n; i++)
			if ((unsigned char)buf[i] < 0x20 || (unsigned char)buf[i] > 0x7e)
				buf[i] = '?';
		memcpy(g->name, buf, sizeof(g->name));
		g->name[sizeof(g->name) - 1] = 0;
	}
	if (!g->name_known && !g->name_asked)
		g->name_known = gs->publish_due = true;
}

bool entry_alone(const struct guests *gs, const struct guest_entry *g)
{
	return g->conf.exempt || g->released || g->paused || gs->paused || gs->lost;
}

void entry_settings(const struct guests *gs, struct guest_entry *g)
{
	g->conf = *settings_guest(gs->conf, g->name, g->uuid);
	g->set = false;
}

/* Without a watch the node is read each second (entry_second). */
static void watch_node(struct guests *gs, struct guest_entry *g)
{
	int rc = gs->hv->watch->watch(gs->watch, g->key.domid);

	g->watched = rc == 0;
	g->watch_asked = rc == -EAGAIN;
	if (g->watch_asked)
		return;
	if (rc && rc != g->watch_rc)
		log_msg(gs->log, LOG_LVL_WARNING, "guest %s: its node %s cannot be watched: %s",
			g->name, GUEST_ABI_NODE, strerror(-rc));
	g->watch_rc = rc;
}

/* A second without a name is long enough: then the event says domain-N. */
static void report_new(struct guests *gs, struct guest_entry *g, struct mono now, int64_t wall_ns)
{
	char cap[OWN_TEXT];

	if (g->new_reported || (!g->name_known && mono_sub(now, g->joined) < NS_PER_S))
		return;
	g->new_reported = true;
	guests_event(gs, wall_ns, g->name, "guest-new", "domain %u, %u VCPU%s, %s", g->key.domid,
		     g->vcpus, g->vcpus == 1 ? "" : "s", own_text(g, cap));
}

/* Its own cap is read here if it has run, before a policy of this run can set another. */
int entry_new(struct guests *gs, const struct hv_dom *d, struct mono now, int64_t wall_ns)
{
	struct registry_limits lim = gs->conf->limits;
	struct guest_entry *g;
	bool kept;
	int slot = choose_slot(gs, d, now, &kept), rc;

	if (slot < 0)
		return slot;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	lim.layouts = gs->layouts;
	rc = guest_open(&g->mon, gs->hv->mem, gs->mem, d->domid, &lim);
	if (rc) {
		free(g);
		return rc;
	}
	g->slot = (uint32_t)slot;
	g->kept = kept;
	gs->former[slot].known = false;
	g->key.domid = d->domid;
	g->key.created = ++gs->created;
	memcpy(g->key.uuid, d->uuid, sizeof(g->key.uuid));
	uuid_unparse_lower(d->uuid, g->uuid);
	g->dom_flags = d->flags;
	g->pool = d->pool;
	g->vcpus = d->vcpus ? d->vcpus : 1;
	g->joined = now;
	g->node_due = true;
	read_name(gs, g);
	entry_settings(gs, g);
	own_learn(gs, g, wall_ns);
	gs->guest[slot] = g;
	gs->publish_due = true;
	watch_node(gs, g);
	report_new(gs, g, now, wall_ns);
	return 0;
}

/*
 * Called when no set in use names the guest, or when the sampler has ended: guest_close()
 * unmaps the memory that it read.
 */
void entry_free(struct guests *gs, struct guest_entry *g)
{
	/*
	 * The actor may have set a cap after entry_leave(). The record in caps.written stays until
	 * the slot's next guest: a crash before the next save must still find it.
	 */
	own_note(gs, g);
	gs->save_due |= !gs->observe;
	gs->guest[g->slot] = NULL;
	gs->rescan_due = true; /* its successor may wait for the slot */
	guest_close(g->mon);
	free(g);
}

void entry_leave(struct guests *gs, struct guest_entry *g, struct mono now, int64_t wall_ns)
{
	struct former *f = &gs->former[g->slot];

	if (g->leaving)
		return;
	g->leaving = true;
	own_note(gs, g);
	memcpy(f->uuid, g->key.uuid, sizeof(f->uuid));
	f->left = now;
	f->known = true;
	g->reap_serial = 0; /* wait for the set without it */
	gs->publish_due = true;
	gs->hv->watch->unwatch(gs->watch, g->key.domid);
	if (!g->new_reported)
		return; /* it came and went before its name was known */
	guests_event(gs, wall_ns, g->name, "guest-gone", "domain %u", g->key.domid);
}

/*
 * At most one event a second: a guest can write its node as often as it likes. More would
 * drive other events out of the log.
 */
static void report_registry(struct guests *gs, struct guest_entry *g, struct mono now,
			    int64_t wall_ns, int rc)
{
	if (g->node_reported.ns && mono_sub(now, g->node_reported) < NS_PER_S)
		return;
	g->node_reported = now;
	if (rc)
		guests_event(gs, wall_ns, g->name, "registry", "its registry cannot be mapped: %s",
			     strerror(-rc));
	else
		guests_event(gs, wall_ns, g->name, "registry", "attached");
}

/*
 * 1: attached to another page than before; 0: to the same one; -errno. A guest that writes
 * the same value again must not cause a new set.
 */
static int attach_node(struct guests *gs, struct guest_entry *g, const char *value)
{
	const volatile void *before, *after;
	struct guest_ref ref;
	uint32_t generation;
	int rc;

	rc = registry_node_parse(value, &ref);
	if (rc)
		return rc;
	guest_scan_view(g->mon, &before, &generation);
	rc = guest_attach(g->mon, &ref);
	guest_scan_view(g->mon, &after, &generation);
	if (rc)
		return rc;
	if (before != after)
		gs->publish_due = true;
	return before != after;
}

static void read_node(struct guests *gs, struct guest_entry *g, struct mono now, int64_t wall_ns)
{
	char value[GUEST_ABI_NODE_MAX + 1];
	int rc, was = g->node_rc;

	rc = gs->hv->watch->read(gs->watch, g->key.domid, value, sizeof(value));
	g->node_asked = rc == -EAGAIN;
	if (g->node_asked)
		return;
	if (rc >= 0)
		rc = attach_node(gs, g, value);
	g->node_rc = rc < 0 ? rc : 0;
	if (rc == 0)
		return; /* attached there already */
	if (rc < 0) {
		/* The node is gone or wrong: the former page does not count from now on. */
		guest_attach(g->mon, NULL);
		gs->publish_due = true;
	}
	/* no event for -ENOENT (no agent, or it withdrew) and for a repeated error */
	if (rc != -ENOENT && (rc > 0 || rc != was))
		report_registry(gs, g, now, wall_ns, g->node_rc);
}

/* The registry may change, and rings may be released, only while none waits to be reaped. */
static bool rings_may_change(const struct guest_entry *g)
{
	return !g->leaving && !g->reap_serial && !guest_reap_pending(g->mon);
}

/* The sampler acknowledges a set within an interval, and nothing tells of it. */
int64_t entry_wait(const struct guests *gs, const struct guest_entry *g, struct mono now)
{
	int64_t interval = gs->conf->interval_ns, wait;

	if (g->leaving)
		return INT64_MAX;
	wait = guest_wait(g->mon, now);
	if (wait > SOON_NS && ((g->node_due && !g->node_asked) || g->answered || g->reap_serial))
		wait = SOON_NS;
	return g->reap_serial && wait > interval ? interval : wait;
}

/* A name appears after its domain, and may change. Settings are found by name. */
static void check_name(struct guests *gs, struct guest_entry *g)
{
	char was[FLOW_NAME_MAX];

	memcpy(was, g->name, sizeof(was));
	read_name(gs, g);
	if (!strcmp(was, g->name))
		return;
	if (!g->set)
		entry_settings(gs, g);
	gs->publish_due = true;
}

/*
 * Take the answer to a request, or make one. True: there was a value, and its page was mapped.
 * node_due is cleared only when a request is made: the node may change while an older value of
 * it is on its way.
 */
static bool work_on_node(struct guests *gs, struct guest_entry *g, struct mono now, int64_t wall_ns)
{
	if (g->node_asked) {
		if (!g->answered)
			return false;
	} else {
		if (!g->node_due ||
		    (g->node_time.ns && mono_sub(now, g->node_time) < NODE_MIN_MS * NS_PER_MS))
			return false;
		g->node_due = false;
		g->node_time = now;
	}
	read_node(gs, g, now, wall_ns);
	return !g->node_asked && g->node_rc != -ENOENT;
}

static void walk(struct guests *gs, struct guest_entry *g, struct mono now)
{
	const volatile void *page;
	uint32_t before, after;
	int rc;

	guest_scan_view(g->mon, &page, &before);
	rc = guest_refresh(g->mon, now);
	guest_scan_view(g->mon, &page, &after);
	/* The sampler tells of the next change only when its set has the newest generation. */
	if (rc == 1 || before != after)
		gs->publish_due = true;
}

bool entry_work(struct guests *gs, struct guest_entry *g, struct mono now, int64_t wall_ns)
{
	bool mapped = false;

	if (g->leaving)
		return false;
	if (g->answered && g->name_asked)
		check_name(gs, g);
	if (g->answered && g->watch_asked)
		watch_node(gs, g);
	report_new(gs, g, now, wall_ns);
	if (rings_may_change(g)) { /* until then an answer about the node waits */
		mapped = work_on_node(gs, g, now, wall_ns);
		g->answered = false;
	}
	if (guest_due(g->mon, now)) {
		mapped = true;
		walk(gs, g, now);
	}
	events_forged(gs, g, now, wall_ns);
	return mapped;
}

/* Rate-limit: a guest can make queue pairs without end. ring-list shows the newest number. */
static void report_missed(struct guests *gs, struct guest_entry *g, uint64_t missed,
			  struct mono now, int64_t wall_ns)
{
	struct mono since = g->missed_at.ns ? g->missed_at : g->joined;

	if (missed == g->missed_reported ||
	    (g->missed_at.ns && mono_sub(now, g->missed_at) < MISSED_EVENTS_NS))
		return;
	guests_event(gs, wall_ns, g->name, "missed-qps",
		     "%llu queue pairs came and went uncounted since %lld s ago (see "
		     "ring-list)",
		     (unsigned long long)(missed - g->missed_reported),
		     (long long)(mono_sub(now, since) / NS_PER_S));
	g->missed_reported = missed;
	g->missed_at = now;
}

/* Once as long as it lasts. A guest that changes it all the time makes an event each 10 s. */
static void report_unpublished(struct guests *gs, struct guest_entry *g, uint32_t n,
			       struct mono now, int64_t wall_ns)
{
	if ((n != 0) == g->unpublished ||
	    (g->unpublished_at.ns && mono_sub(now, g->unpublished_at) < MISSED_EVENTS_NS))
		return;
	g->unpublished = n != 0;
	if (!n)
		return;
	g->unpublished_at = now;
	guests_event(gs, wall_ns, g->name, "unpublished-qps",
		     "%u queue pairs live uncounted: its agent has no room for more than %d; use "
		     "fewer at once",
		     n, GUEST_RINGS_MAX);
}

/* With a silent agent, known rings are still read; new ones are not seen. */
static void check_agent(struct guests *gs, struct guest_entry *g, struct mono now, int64_t wall_ns)
{
	struct guest_state st;
	bool silent;

	guest_state(g->mon, now, &st);
	g->forged = st.forged;
	report_missed(gs, g, st.qps_missed, now, wall_ns);
	report_unpublished(gs, g, st.unpublished, now, wall_ns);
	silent = st.attached && mono_sub(now, st.heartbeat_time) >= AGENT_SILENT_S * NS_PER_S;
	if (silent == g->agent_silent)
		return;
	g->agent_silent = silent;
	if (silent)
		guests_event(gs, wall_ns, g->name, "agent-silent",
			     "its agent's heartbeat is unchanged for %d s: new queues are not "
			     "seen; start resex-agent there",
			     AGENT_SILENT_S);
	else
		guests_event(gs, wall_ns, g->name, "agent-back",
			     st.attached ? "its agent's heartbeat goes on" : "its agent withdrew");
}

void entry_second(struct guests *gs, struct guest_entry *g, struct mono now, int64_t wall_ns)
{
	if (g->leaving)
		return;
	if (!g->name_asked)
		check_name(gs, g);
	if (!g->watched && !g->watch_asked) {
		watch_node(gs, g);
		g->node_due = true;
	}
	/* After an error that passes, read again: the guest will not write its node again. */
	if (g->node_rc == -EAGAIN || g->node_rc == -ENOMEM)
		g->node_due = true;
	operator_check(gs, g, wall_ns);
	/* The agent of a paused domain cannot run: its silence is no news. */
	if (!(g->dom_flags & HV_DOM_PAUSED))
		check_agent(gs, g, now, wall_ns);
	if (!g->cappable) {
		own_learn(gs, g, wall_ns);
		gs->publish_due |= g->cappable;
	}
	if (rings_may_change(g) && guest_verify(g->mon, now) == 1)
		gs->publish_due = true;
}

const struct snap_guest *guests_snap(const struct guest_entry *g, const struct snapshot *sn)
{
	for (uint32_t i = 0; i < sn->guests; i++)
		if (sn->guest[i].slot == g->slot && sn->guest[i].key.created == g->key.created)
			return &sn->guest[i];
	return NULL;
}
