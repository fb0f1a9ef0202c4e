// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * own: which cap is a guest's own: learned when it comes, saved on disk, and taken anew when
 * the operator sets another.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/guests/guests_priv.h"

/* Saving is tried again each second: log a reason only when it is new. */
static void report_not_cappable(struct guests *gs, struct guest_entry *g, const char *what,
				const char *why)
{
	char note[sizeof(g->cap_note)];

	snprintf(note, sizeof(note), "%.80s: %s", what, why);
	if (!strcmp(note, g->cap_note))
		return;
	memcpy(g->cap_note, note, sizeof(note));
	log_msg(gs->log, LOG_LVL_ERROR, "guest %s is not capped: %s", g->name, g->cap_note);
}

static void report_not_saved(struct guests *gs, struct guest_entry *g, int rc)
{
	char what[sizeof(gs->restore.file) + 40];

	snprintf(what, sizeof(what), "its cap could not be saved in %s", gs->restore.file);
	report_not_cappable(gs, g, what, strerror(-rc));
}

/* The saved cap is its own; the present one may be ours, from an earlier run. */
static int restore_own_cap(struct guests *gs, struct guest_entry *g, const struct saved_cap *was)
{
	uint32_t now = cap_to_percent(g->own.cap);

	g->own = was->params;
	if (gs->observe || now == cap_to_percent(was->params.cap))
		return 0;
	return hv_put_cap(gs->hv->sched, gs->sched, g->key.domid, was->params.cap);
}

static const char not_run[] = "its domain has not run yet";

const char *own_text(const struct guest_entry *g, char out[static OWN_TEXT])
{
	if (g->dom_flags & HV_DOM_UNRUN)
		snprintf(out, OWN_TEXT, "%s", not_run);
	else if (!g->built)
		snprintf(out, OWN_TEXT, "its cap cannot be read");
	else if (g->own.cap.limited)
		snprintf(out, OWN_TEXT, "cap %u %%", cap_to_percent(g->own.cap));
	else
		snprintf(out, OWN_TEXT, "cap 0 (none)");
	return out;
}

/*
 * Its own cap: as saved by an earlier run, or when it was here before (a guest
 * may go on after a suspend), or else as the scheduler has it now. A guest may
 * be capped only when its own cap is on disk (owns_save).
 *
 * The toolstack sets the cap of its configuration after the domain is listed and before it runs
 * for the first time. A domain that has not run has no cap that could be learned.
 */
void own_learn(struct guests *gs, struct guest_entry *g, int64_t wall_ns)
{
	const struct saved_cap *was = restore_find(&gs->restore, g->key.domid, g->key.uuid);
	struct saved_cap c = { .domid = g->key.domid };
	bool first = !strcmp(g->cap_note, not_run);
	char text[OWN_TEXT];
	int rc;

	if (g->dom_flags & HV_DOM_UNRUN) {
		snprintf(g->cap_note, sizeof(g->cap_note), "%s", not_run);
		return;
	}
	rc = gs->hv->sched->get(gs->sched, g->key.domid, &g->own);
	if (rc) {
		report_not_cappable(gs, g, "its cap cannot be read",
				    rc == -EOPNOTSUPP ? "its scheduler has no caps"
						      : strerror(-rc));
		return;
	}
	g->built = true;
	if (first)
		guests_event(gs, wall_ns, g->name, "own-cap", "it runs: %s", own_text(g, text));
	else if (g->uncappable_pool)
		guests_event(gs, wall_ns, g->name, "operator-pool",
			     "its cpupool has the scheduler %s: %s, the guest's own from now on",
			     gs->hv->sched->name(gs->sched, g->key.domid), own_text(g, text));
	g->uncappable_pool = false;
	operator_place(gs, g);
	if (was) {
		rc = restore_own_cap(gs, g, was);
		if (rc) {
			report_not_cappable(gs, g, "its own cap could not be given back",
					    strerror(-rc));
			return;
		}
	} else if (!gs->observe) {
		memcpy(c.uuid, g->key.uuid, sizeof(c.uuid));
		c.params = g->own;
		rc = restore_add(&gs->restore, &c);
		if (rc)
			report_not_saved(gs, g, rc);
		else
			g->saving = gs->save_due = true;
		return;
	}
	g->cap_note[0] = 0;
	g->cappable = true;
}

/*
 * One write and fsync for all guests of a turn. Only when it succeeded may a policy cap
 * them: a crash must always find the guests' own caps on disk.
 */
void owns_save(struct guests *gs)
{
	int rc;

	if (!gs->save_due)
		return;
	rc = restore_save(&gs->restore);
	if (rc && rc != gs->save_rc) /* saving is tried again each second */
		log_msg(gs->log, LOG_LVL_ERROR, "%s cannot be written: %s: free some space",
			gs->restore.file, strerror(-rc));
	gs->save_rc = rc;
	gs->save_due = rc != 0;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		struct guest_entry *g = gs->guest[i];

		if (!g || !g->saving)
			continue;
		g->saving = false;
		if (rc) {
			restore_drop(&gs->restore, g->key.domid, g->key.uuid);
			report_not_saved(gs, g, rc);
			continue;
		}
		g->cap_note[0] = 0;
		g->cappable = true;
		gs->publish_due = true;
	}
}

/* The cap that we set last, or its own when we set none. False: the actor is setting one. */
static bool our_cap(const struct guests *gs, const struct guest_entry *g, uint32_t *percent)
{
	struct mailbox *mb = &gs->ho->mail[g->slot];
	uint64_t want = atomic_load(&mb->want), answer = atomic_load(&mb->answer);

	if (mail_serial(want) != mail_serial(answer) ||
	    (mail_errno(answer) && mail_errno(answer) != ECANCELED))
		return false;
	/* Of -ECANCELED, the answer has the cap found. */
	*percent = want && mail_domid(want) == g->key.domid ? mail_percent(answer)
							    : cap_to_percent(g->own.cap);
	return true;
}

/* Saved at the next owns_save; until then the file has the former cap. */
static void save_foreign_cap(struct guests *gs, const struct guest_entry *g)
{
	struct saved_cap c = { .domid = g->key.domid, .params = g->own };

	memcpy(c.uuid, g->key.uuid, sizeof(c.uuid));
	if (restore_add(&gs->restore, &c))
		return;
	gs->save_due = true;
}

void own_taken(struct guests *gs, struct guest_entry *g, const struct hv_sched_params *found,
	       int64_t wall_ns)
{
	g->own = *found;
	gs->publish_due = true;
	if (!gs->observe)
		save_foreign_cap(gs, g);
	if (operator_moved(gs, g)) {
		guests_event(gs, wall_ns, g->name, "operator-pool",
			     "its cpupool or that pool's scheduler, now %s, changed, and its cap "
			     "to %u: this is the guest's own cap from now on",
			     g->own_scheduler, cap_to_percent(found->cap));
		return;
	}
	guests_event(gs, wall_ns, g->name, "operator-cap",
		     "another program set its cap to %u: this is the guest's own cap from now on",
		     cap_to_percent(found->cap));
}

/* Known, and shown; resexd never sets a weight. */
static void weight_taken(struct guests *gs, struct guest_entry *g, uint32_t weight, int64_t wall_ns)
{
	g->own.weight = weight;
	if (!gs->observe)
		save_foreign_cap(gs, g);
	guests_event(gs, wall_ns, g->name, "operator-weight",
		     "another program set its weight to %u", weight);
}

/* A cap set by xl or libvirt is the operator's: it becomes the guest's own cap. */
void own_check(struct guests *gs, struct guest_entry *g, int64_t wall_ns)
{
	struct hv_sched_params p;
	uint32_t ours, again;
	bool known;
	int rc;

	if (!g->cappable)
		return;
	/*
	 * Ask for our cap before and after: while the actor sets one, the scheduler's
	 * figure may be the old or the new one.
	 */
	known = our_cap(gs, g, &ours);
	rc = gs->hv->sched->get(gs->sched, g->key.domid, &p);
	if (rc == -EOPNOTSUPP)
		operator_uncappable(gs, g, wall_ns);
	if (rc)
		return;
	if (known && our_cap(gs, g, &again) && again == ours && cap_to_percent(p.cap) != ours) {
		own_taken(gs, g, &p, wall_ns);
		g->own_checked = true;
	} else if (p.weight != g->own.weight) {
		weight_taken(gs, g, p.weight, wall_ns);
	}
}
