// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * own: which cap is a guest's own: learned when it comes, saved on disk, and taken anew when
 * the operator sets another.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/guests/guests_priv.h"
#include "src/guests/journal.h"

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

static void report_no_journal(struct guests *gs, struct guest_entry *g, int rc)
{
	char why[96];

	snprintf(why, sizeof(why), "%s: %s", strerror(-rc), restore_remedy(rc));
	report_not_cappable(gs, g, "caps.written in its state_dir cannot be made", why);
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

void own_note(struct guests *gs, const struct guest_entry *g)
{
	struct saved_cap *c = restore_find(&gs->restore, g->key.domid, g->key.uuid);

	if (!c)
		c = restore_before(&gs->restore, UINT32_MAX, g->key.uuid);
	if (c && gs->written)
		journal_note(&gs->written[g->slot], c);
}

/* A successor may come beside the domain that was this guest before, as in a local migration. */
static void note_same_guest(struct guests *gs, const struct guest_entry *g)
{
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (gs->guest[i] && !memcmp(gs->guest[i]->key.uuid, g->key.uuid, 16))
			own_note(gs, gs->guest[i]);
}

static void report_verdict(struct guests *gs, const struct guest_entry *g, enum own_verdict v,
			   const struct saved_cap *was, bool same,
			   const struct hv_sched_params *now, int64_t wall_ns)
{
	uint32_t own = cap_to_percent(was->params.cap), percent = cap_to_percent(now->cap);

	if (v == OWN_OURS && !same)
		guests_event(gs, wall_ns, g->name, "own-cap",
			     "it came back with cap %u, which resexd had set: its own cap is %u",
			     percent, own);
	if (v == OWN_OPERATOR)
		guests_event(gs, wall_ns, g->name, "operator-cap",
			     "its cap was set to %u while resexd did not see it: this is its own "
			     "cap from now on, not %u",
			     percent, own);
	if (now->weight != was->params.weight)
		guests_event(gs, wall_ns, g->name, "operator-weight",
			     "its weight was set to %u: this is its own from now on, not %u",
			     now->weight, was->params.weight);
}

/* What is kept of the guest from now on. resexd sets no weight: the present one is its own. */
static struct saved_cap entry_for(const struct guest_entry *g, enum own_verdict v,
				  const struct saved_cap *was, bool same,
				  const struct hv_sched_params *now)
{
	struct saved_cap c = { .last.known = true };

	if (was)
		c = *was;
	if (!same)
		c.last = (struct written_last){ .known = true };
	if (v == OWN_OPERATOR)
		percents_drop(&c.written, cap_to_percent(c.params.cap));
	if (v == OWN_PRESENT || v == OWN_OPERATOR)
		c.params.cap = now->cap;
	c.params.weight = now->weight;
	c.domid = g->key.domid;
	memcpy(c.uuid, g->key.uuid, sizeof(c.uuid));
	c.until = 0;
	return c;
}

/* The entry of this domain; or else *same is false, and it is that of the one before. */
static struct saved_cap *find_entry(struct guests *gs, const struct guest_entry *g, bool *same)
{
	struct saved_cap *c = restore_find(&gs->restore, g->key.domid, g->key.uuid);

	*same = c != NULL;
	return c ? c : restore_before(&gs->restore, g->key.domid, g->key.uuid);
}

/* 0: its own cap is in force, or nothing is to be set. */
static int give_back_own(struct guests *gs, const struct guest_entry *g, enum own_verdict v)
{
	if (gs->observe || v != OWN_OURS)
		return 0;
	return hv_put_cap(gs->hv->sched, gs->sched, g->key.domid, g->own.cap);
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
	bool first = !strcmp(g->cap_note, not_run), same;
	const struct saved_cap *was;
	struct hv_sched_params now;
	char text[OWN_TEXT];
	struct saved_cap c;
	enum own_verdict v;
	int rc;

	if (g->dom_flags & HV_DOM_UNRUN) {
		snprintf(g->cap_note, sizeof(g->cap_note), "%s", not_run);
		return;
	}
	rc = gs->hv->sched->get(gs->sched, g->key.domid, &now);
	if (rc) {
		report_not_cappable(gs, g, "its cap cannot be read",
				    rc == -EOPNOTSUPP ? "its scheduler has no caps"
						      : strerror(-rc));
		return;
	}
	note_same_guest(gs, g);
	was = find_entry(gs, g, &same);
	v = own_judge(was, same, cap_to_percent(now.cap), g->dom_flags);
	c = entry_for(g, v, was, same, &now);
	g->own = c.params;
	g->in_force = gs->observe ? now.cap : g->own.cap;
	rc = give_back_own(gs, g, v);
	if (rc) {
		report_not_cappable(gs, g, "its own cap could not be given back", strerror(-rc));
		return;
	}
	if (was && !g->built)
		report_verdict(gs, g, v, was, same, &now, wall_ns);
	g->built = true;
	if (first)
		guests_event(gs, wall_ns, g->name, "own-cap", "it runs: %s", own_text(g, text));
	else if (g->uncappable_pool)
		guests_event(gs, wall_ns, g->name, "operator-pool",
			     "its cpupool has the scheduler %s: %s, the guest's own from now on",
			     gs->hv->sched->name(gs->sched, g->key.domid), own_text(g, text));
	g->uncappable_pool = false;
	place_note(gs, g);
	if (gs->observe) {
		g->cap_note[0] = 0;
		g->cappable = true;
		return;
	}
	g->adding = !same;
	rc = restore_add(&gs->restore, &c);
	if (rc)
		report_not_saved(gs, g, rc);
	else
		g->saving = gs->save_due = true;
}

void owns_not_written(struct guests *gs, int rc)
{
	bool lost = rc && !kept_file_is_there(&gs->restore.file_kept, gs->restore.file);

	/* Saving is tried again each second. */
	if (rc && (rc != gs->save_rc || (lost && !gs->lost)))
		log_msg(gs->log, LOG_LVL_ERROR, "%s cannot be written: %s: %s%s", gs->restore.file,
			strerror(-rc), restore_remedy(rc),
			lost ? "; it was removed, so guests have their own caps until it can be"
			     : "");
	gs->save_rc = rc;
	gs->publish_due |= lost != gs->lost;
	gs->lost = lost;
}

/* 0: all own caps are on disk. */
static int save_all(struct guests *gs)
{
	bool empty = !gs->restore.entries && !gs->restore.gones;
	int rc;

	/* A crash of the host may lose the journal. */
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (gs->guest[i])
			own_note(gs, gs->guest[i]);
	rc = restore_save(&gs->restore);

	/* Nothing is written without entries: that says nothing of the disk. */
	if (rc || !empty)
		owns_not_written(gs, rc);
	return rc;
}

/*
 * The notes of an earlier run are on disk with the entries by now: begin new ones. The actor
 * finds them by handover.h.
 */
static int begin_journal(struct guests *gs)
{
	int rc;

	if (gs->written)
		return 0;
	rc = journal_open(&gs->written, &gs->restore);
	gs->ho->written = gs->written;
	return rc;
}

static void end_saving(struct guests *gs, struct guest_entry *g, int rc, int journal_rc)
{
	const struct saved_cap *c = restore_find(&gs->restore, g->key.domid, g->key.uuid);

	g->saving = false;
	if (rc || !c) {
		if (g->adding)
			restore_drop(&gs->restore, g->key.domid, g->key.uuid);
		report_not_saved(gs, g, rc);
	} else if (journal_rc) {
		report_no_journal(gs, g, journal_rc);
	} else {
		journal_begin(&gs->written[g->slot], c);
		g->cap_note[0] = 0;
		g->cappable = true;
		gs->publish_due = true;
	}
}

/*
 * One write and fsync for all guests of a turn. Only when it succeeded may a policy cap
 * them: a crash must always find the guests' own caps on disk.
 */
void owns_save(struct guests *gs)
{
	int rc, journal_rc = 0;

	if (!gs->save_due)
		return;
	rc = save_all(gs);
	gs->save_due = rc != 0;
	if (!rc && gs->restore.entries)
		journal_rc = begin_journal(gs);
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (gs->guest[i] && gs->guest[i]->saving)
			end_saving(gs, gs->guest[i], rc, journal_rc);
}

static void check_journal(struct guests *gs)
{
	if (journal_is_kept(&gs->restore))
		return;
	/* What the actor notes is on disk within a second. */
	gs->save_due = true;
	if (!gs->journal_lost)
		log_msg(gs->log, LOG_LVL_WARNING,
			"caps.written in %s was removed or replaced: start resexd again; if it "
			"crashes before, the next start takes each cap in force for one of its own",
			gs->restore.dir);
	gs->journal_lost = true;
}

void owns_check(struct guests *gs)
{
	bool kept = kept_file_is_there(&gs->restore.file_kept, gs->restore.file);

	if (gs->observe)
		return;
	check_journal(gs);
	gs->save_due |= !kept;
	owns_save(gs);
	if (!kept && !gs->save_rc)
		log_msg(gs->log, LOG_LVL_WARNING,
			"%s was removed or replaced: it is written again, with the guests' own "
			"caps",
			gs->restore.file);
}

void own_changed(struct guests *gs, const struct guest_entry *g)
{
	struct saved_cap *c = restore_find(&gs->restore, g->key.domid, g->key.uuid);

	if (!c || gs->observe)
		return;
	c->params = g->own;
	gs->save_due = true;
}
