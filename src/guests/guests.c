// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guests: opened and closed, domains followed, work scheduled, the policy changed.
 * The engine's loop calls guests_work and guests_second. See guests.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/conf/policy.h"
#include "src/guests/guests_priv.h"
#include "src/guests/journal.h"

#define CHANGE_WAIT_MAX (10 * NS_PER_S)

int guests_open(struct guests **out, const struct guests_parts *p, struct policy_inst *policy)
{
	struct guests *gs = calloc(1, sizeof(*gs));

	if (!gs)
		return -ENOMEM;
	gs->ho = p->ho;
	gs->conf = p->conf;
	gs->log = p->log;
	gs->hv = p->hv;
	gs->mem = p->mem;
	gs->sched = p->sched;
	gs->watch = p->watch;
	gs->counters = p->counters;
	gs->plugins = p->plugins;
	gs->layouts = p->layouts;
	gs->observe = p->observe;
	gs->policy = policy;
	gs->rescan_due = true;
	*out = gs;
	return 0;
}

void guests_close(struct guests *gs)
{
	trace_close(gs);
	/* First: the notes stay for the next start, if not all caps were given back. */
	gs->ho->written = NULL;
	journal_close(gs->written);
	gs->written = NULL;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (gs->guest[i])
			entry_free(gs, gs->guest[i]);
	sets_free_all(gs);
	policy_free(gs->policy);
	policy_free(gs->policy_old);
	counters_close(&gs->counters);
	free(gs);
}

/* A domain as messages name it: by its name, or else by its id. */
static const char *name_of(struct guests *gs, uint32_t domid, char *buf, size_t size)
{
	if (gs->hv->watch->name(gs->watch, domid, buf, size) <= 0)
		snprintf(buf, size, "domain %u", domid);
	for (char *s = buf; *s; s++)
		if ((unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e)
			*s = '?';
	return buf;
}

/* No copy of the file is good: which caps are in force, and what to do about them. */
static void report_in_force(struct guests *gs)
{
	int n = gs->hv->sched->list(gs->sched, gs->dom, sizeof(gs->dom) / sizeof(gs->dom[0]));
	char name[FLOW_NAME_MAX];
	struct hv_sched_params p;

	for (int i = 0; i < n; i++) {
		const struct hv_dom *d = &gs->dom[i];

		if (!(d->flags & HV_DOM_PRIVILEGED) && !gs->hv->sched->get(gs->sched, d->domid, &p))
			log_msg(gs->log, LOG_LVL_WARNING, "guest %s: cap %u is in force",
				name_of(gs, d->domid, name, sizeof(name)), cap_to_percent(p.cap));
	}
	log_msg(gs->log, LOG_LVL_WARNING,
		"the caps in force may be of an earlier run: set them right by xl sched-credit2 -d "
		"NAME -c N; resexd takes the caps in force as the guests' own");
}

/* Start where that is safe. 0: go on; or rc. */
static int recover_damaged(struct guests *gs, int rc, const struct conf_error *e)
{
	if (rc >= 0) {
		log_msg(gs->log, LOG_LVL_WARNING, "%s; its former copy %s.bak is used", e->text,
			gs->restore.file);
	} else if ((rc == -EINVAL || rc == -EFBIG) && !gs->restore.foreign) {
		log_msg(gs->log, LOG_LVL_ERROR, "%s; no copy of it can be read", e->text);
		report_in_force(gs);
	} else {
		return rc;
	}
	if (gs->observe)
		return 0;
	rc = restore_put_aside(&gs->restore);
	if (!rc)
		log_msg(gs->log, LOG_LVL_WARNING, "the damaged file is kept as %s.bad",
			gs->restore.file);
	return rc;
}

/* Caps of an earlier run stay as they are when resexd only observes: say so once. */
static void report_left(struct guests *gs)
{
	char name[FLOW_NAME_MAX];
	struct hv_sched_params p;
	uint32_t left = 0;

	for (uint32_t i = 0; i < gs->restore.entries; i++) {
		const struct saved_cap *c = &gs->restore.entry[i];
		uint32_t own = cap_to_percent(c->params.cap);

		if (gs->hv->sched->get(gs->sched, c->domid, &p) ||
		    own_judge(c, true, cap_to_percent(p.cap), 0) != OWN_OURS)
			continue;
		left++;
		log_msg(gs->log, LOG_LVL_WARNING,
			"guest %s: cap %u of an earlier run is in force, its own is %u",
			name_of(gs, c->domid, name, sizeof(name)), cap_to_percent(p.cap), own);
	}
	if (left)
		log_msg(gs->log, LOG_LVL_WARNING,
			"%u cap%s of an earlier run %s in force and not restored, since resexd "
			"only observes: stop it and run resexd --restore-caps",
			left, left == 1 ? "" : "s", left == 1 ? "is" : "are");
}

static void report_operators(struct guests *gs, const struct restored *done, int64_t wall_ns)
{
	char name[FLOW_NAME_MAX];

	for (uint32_t i = 0; i < done->operators; i++)
		guests_event(gs, wall_ns, name_of(gs, done->operator[i].domid, name, sizeof(name)),
			     "operator-cap",
			     "its cap was set to %u while resexd did not see it: this is its own "
			     "cap from now on, not %u",
			     done->operator[i].percent, done->operator[i].own);
}

int guests_recover(struct guests *gs, int64_t wall_ns, struct conf_error *e)
{
	char boot[RESTORE_BOOT_MAX] = "";
	struct restored done;
	int rc;

	if (gs->hv->boot)
		gs->hv->boot(boot, sizeof(boot));
	rc = restore_open(&gs->restore, gs->conf->state_dir, gs->hv->name, boot, wall_ns / NS_PER_S,
			  e);
	if (rc)
		rc = recover_damaged(gs, rc, e);
	if (rc)
		return rc;
	*e = (struct conf_error){ 0 };
	if (gs->restore.removed) {
		log_msg(gs->log, LOG_LVL_WARNING,
			"%s was removed, though an earlier run has set caps and did not stop "
			"cleanly",
			gs->restore.file);
		report_in_force(gs);
	}
	if (gs->observe)
		report_left(gs);
	if (gs->observe || (!gs->restore.entries && !gs->restore.gones))
		return 0;
	rc = restore_all(&gs->restore, gs->hv->sched, gs->sched, false, &done);
	if (rc < 0) {
		conf_error_set(e, conf_exit(rc), "saved caps in %s: %s", gs->restore.file,
			       strerror(-rc));
		return rc;
	}
	if (gs->restore.entries || done.caps)
		log_msg(gs->log, LOG_LVL_WARNING,
			"an earlier run did not stop cleanly: %u cap%s restored, %d failed",
			done.caps, done.caps == 1 ? "" : "s", rc);
	report_operators(gs, &done, wall_ns);
	owns_not_written(gs, done.save_rc);
	return 0;
}

/*
 * Both must match: Xen uses ids again, and a guest that reboots gets a new id and keeps its
 * UUID.
 */
static struct guest_entry *by_dom(const struct guests *gs, const struct hv_dom *d)
{
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		struct guest_entry *g = gs->guest[i];

		if (g && !g->leaving && g->key.domid == d->domid &&
		    !memcmp(g->key.uuid, d->uuid, sizeof(d->uuid)))
			return g;
	}
	return NULL;
}

/* Not dom0, and not ending. */
static bool is_guest(const struct hv_dom *d)
{
	return !(d->flags & (HV_DOM_PRIVILEGED | HV_DOM_DYING | HV_DOM_SHUTDOWN));
}

static void remove_missing(struct guests *gs, int n, struct mono now, int64_t wall_ns)
{
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		struct guest_entry *g = gs->guest[i];
		bool here = false;

		for (int k = 0; g && k < n && !here; k++)
			here = gs->dom[k].domid == g->key.domid && is_guest(&gs->dom[k]) &&
			       !memcmp(gs->dom[k].uuid, g->key.uuid, sizeof(g->key.uuid));
		if (g && !here)
			entry_leave(gs, g, now, wall_ns);
	}
}

/*
 * A guest that shut down may go on (a checkpoint, a migration that failed)
 * with the cap we set: keep its own cap until the domain is gone.
 */
static void drop_saved_of_dead(struct guests *gs, int n)
{
	uint32_t had = gs->restore.entries;

	if (gs->observe || n == (int)(sizeof(gs->dom) / sizeof(gs->dom[0])))
		return; /* a full list may lack domains */
	for (uint32_t i = gs->restore.entries; i-- > 0;) {
		const struct saved_cap *c = &gs->restore.entry[i];
		bool here = false;

		for (int k = 0; k < n && !here; k++)
			here = gs->dom[k].domid == c->domid && !(gs->dom[k].flags & HV_DOM_DYING) &&
			       !memcmp(gs->dom[k].uuid, c->uuid, sizeof(c->uuid));
		if (!here)
			restore_gone(&gs->restore, c->domid, c->uuid, RESTORE_GONE_S);
	}
	gs->save_due |= gs->restore.entries != had;
}

/* Add a domain that is not known yet. */
static void add_domain(struct guests *gs, const struct hv_dom *d, struct mono now, int64_t wall_ns,
		       uint32_t *unwatched)
{
	int rc = entry_new(gs, d, now, wall_ns);

	if (rc == -ENOSPC)
		++*unwatched;
	else if (rc && rc != -EAGAIN) /* tried again when its former slot is free */
		log_msg(gs->log, LOG_LVL_ERROR, "domain %u is not watched: %s", d->domid,
			strerror(-rc));
}

static void log_unwatched(struct guests *gs, uint32_t unwatched)
{
	if (unwatched > gs->unwatched)
		log_msg(gs->log, LOG_LVL_ERROR,
			"%u domain%s not watched: resexd takes at most %d guests", unwatched,
			unwatched == 1 ? " is" : "s are", FLOW_GUESTS_MAX);
	gs->unwatched = unwatched;
}

static void rescan(struct guests *gs, struct mono now, int64_t wall_ns)
{
	uint32_t unwatched = 0;
	int n = gs->hv->sched->list(gs->sched, gs->dom, sizeof(gs->dom) / sizeof(gs->dom[0]));

	if (n < 0) {
		if (n !=
		    gs->list_rc) /* tried again at each call: log an error only when it is new */
			log_msg(gs->log, LOG_LVL_ERROR, "the list of domains cannot be read: %s",
				strerror(-n));
		gs->list_rc = n;
		return;
	}
	gs->list_rc = 0;
	gs->rescan_due = false;
	remove_missing(gs, n, now, wall_ns);
	drop_saved_of_dead(gs, n);
	for (int i = 0; i < n; i++) {
		const struct hv_dom *d = &gs->dom[i];
		struct guest_entry *g = by_dom(gs, d);

		if (!is_guest(d))
			continue;
		if (!g) {
			add_domain(gs, d, now, wall_ns, &unwatched);
			continue;
		}
		g->dom_flags = d->flags;
		g->pool = d->pool;
		if (!g->built)
			own_learn(gs, g, wall_ns);
		if (d->vcpus && d->vcpus != g->vcpus) {
			g->vcpus = d->vcpus;
			gs->publish_due = true;
		}
	}
	owns_save(gs);
	log_unwatched(gs, unwatched);
}

static void drain_watch(struct guests *gs)
{
	struct hv_event ev;

	/* Bounded: a guest can write its node as fast as it likes. */
	for (int i = 0; i < 256 && gs->hv->watch->next(gs->watch, &ev) == 1; i++) {
		if (ev.type == HV_EVENT_DOMAINS) {
			gs->rescan_due = true;
			continue;
		}
		for (uint32_t k = 0; k < FLOW_GUESTS_MAX; k++) {
			struct guest_entry *g = gs->guest[k];

			if (g && g->key.domid == ev.domid)
				*(ev.type == HV_EVENT_ANSWER ? &g->answered : &g->node_due) = true;
		}
	}
}

/* Clients and signals wait meanwhile: many guests that come at once take several turns. */
static void work_on_entries(struct guests *gs, struct mono now, int64_t wall_ns)
{
	uint32_t mapped = 0;

	for (uint32_t n = 0; n < FLOW_GUESTS_MAX && mapped < TURN_GUESTS; n++) {
		struct guest_entry *g = gs->guest[gs->next_work];

		if (g)
			mapped += entry_work(gs, g, now, wall_ns);
		gs->next_work = (gs->next_work + 1) % FLOW_GUESTS_MAX;
	}
}

static void replace_stopped(struct guests *gs, int64_t wall_ns)
{
	struct policy_inst *null;
	struct stopped st;

	if (!stopped_find(gs, &st))
		return;
	/* Tried again at the next call: the sampler decides by null meanwhile. */
	if (policy_new(&null, &policy_null, false))
		return;
	if (guests_set_policy(gs, null, wall_ns))
		policy_free(null);
	else
		stopped_note(gs, &st, wall_ns);
}

int64_t guests_work(struct guests *gs, struct mono now, int64_t wall_ns)
{
	int64_t wait = NS_PER_S;

	gs->restore.now_s = wall_ns / NS_PER_S;
	sets_acknowledged(gs, atomic_load_explicit(&gs->ho->acked, memory_order_acquire));
	replace_stopped(gs, wall_ns);
	events_drain(gs, wall_ns);
	drain_watch(gs);
	if (gs->rescan_due)
		rescan(gs, now, wall_ns);
	work_on_entries(gs, now, wall_ns);
	if (gs->publish_due)
		sets_publish(gs);
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		int64_t ns = gs->guest[i] ? entry_wait(gs, gs->guest[i], now) : INT64_MAX;

		if (ns < wait)
			wait = ns;
	}
	return gs->publish_due || wait < NS_PER_MS ? NS_PER_MS : wait;
}

void guests_second(struct guests *gs, struct mono now, int64_t wall_ns)
{
	gs->rescan_due = true;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (gs->guest[i])
			entry_second(gs, gs->guest[i], now, wall_ns);
	unheard_second(gs, wall_ns);
	trace_second(gs, wall_ns);
	owns_save(gs);
	owns_check(gs);
}

int guests_restore(struct guests *gs)
{
	struct restored done;
	int rc;

	if (gs->observe || (!gs->restore.entries && !gs->restore.gones))
		return 0;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (gs->guest[i])
			own_note(gs, gs->guest[i]);
	rc = restore_all(&gs->restore, gs->hv->sched, gs->sched, true, &done);
	if (rc)
		log_msg(gs->log, LOG_LVL_ERROR,
			"not all caps were restored: run resexd --restore-caps, or xl "
			"sched-credit2");
	owns_not_written(gs, done.save_rc);
	/* The notes of what is in force are of use only beside entries. */
	if (!rc && !done.save_rc)
		journal_remove(&gs->restore);
	return rc;
}

/* Do not wait for the loop's next turn: publish what is due, free what the sampler has left. */
static void exchange_with_sampler(struct guests *gs)
{
	if (gs->publish_due)
		sets_publish(gs);
	sets_acknowledged(gs, atomic_load_explicit(&gs->ho->acked, memory_order_acquire));
}

/* Does the snapshot have plans of the newest policy that the sampler has taken up? */
static bool shows_policy(const struct guests *gs, const struct snapshot *sn)
{
	return sn->set_serial >= gs->policy_since;
}

int guests_policy_wait(struct guests *gs, struct policy_ask *a, const struct snapshot *sn,
		       struct mono now)
{
	if (!a->waits) {
		a->waits = true;
		a->since = now;
	}
	exchange_with_sampler(gs);
	if ((a->number ? gs->policy_taken_up >= a->number : !gs->policy_old) &&
	    (!sn || shows_policy(gs, sn)))
		return 0;
	return mono_sub(now, a->since) > CHANGE_WAIT_MAX ? -ETIMEDOUT : -EAGAIN;
}

void guests_caps_ask(struct caps_ask *a, const struct guest_entry *g, struct mono now)
{
	*a = (struct caps_ask){ .waits = true, .created = g ? g->key.created : 0, .since = now };
}

/*
 * The actor sets a cap after the sampler's tick: the first snapshot of a set may still have the
 * former cap. Caps that a policy chooses are not waited for: it may change them at each tick.
 */
static bool awaits_own_cap(const struct guests *gs, const struct guest_entry *g,
			   const struct snapshot *sn)
{
	const struct snap_guest *s = guests_snap(g, sn);

	return s && !gs->observe && entry_cappable(g) && entry_alone(gs, g) && !s->cap_errno &&
	       cap_to_percent(s->applied) != cap_to_percent(g->own.cap);
}

static bool caps_changed(const struct guests *gs, const struct caps_ask *a,
			 const struct snapshot *sn)
{
	if (!a->serial || sn->set_serial < a->serial)
		return false;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		const struct guest_entry *g = gs->guest[i];

		if (g && !g->leaving && (!a->created || a->created == g->key.created) &&
		    awaits_own_cap(gs, g, sn))
			return false;
	}
	return true;
}

/*
 * The set that has the change gets its serial when it is published: until then an older set
 * in a snapshot proves nothing.
 */
int guests_caps_wait(struct guests *gs, struct caps_ask *a, const struct snapshot *sn,
		     struct mono now)
{
	exchange_with_sampler(gs);
	if (!a->serial && !gs->publish_due)
		a->serial = gs->serial;
	if (caps_changed(gs, a, sn))
		return 0;
	return mono_sub(now, a->since) > CHANGE_WAIT_MAX ? -ETIMEDOUT : -EAGAIN;
}

/*
 * Two policies at most exist at a time: the newest, and the one that the sampler may still
 * call.
 */
int guests_set_policy(struct guests *gs, struct policy_inst *pi, int64_t wall_ns)
{
	exchange_with_sampler(gs);
	if (gs->policy_old)
		return -EBUSY;
	gs->policy_old = gs->policy;
	/* sets_publish() gives the serial of the first set with the new policy. */
	gs->policy_serial = 0;
	gs->policy_number++;
	gs->policy = pi;
	gs->stopped.name[0] = 0;
	sets_publish_soon(gs);
	guests_event(gs, wall_ns, NULL, "policy", "%s", pi->ops->name);
	return 0;
}
