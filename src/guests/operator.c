// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * operator: what other programs change in a guest's scheduling while resexd runs: its cap, its
 * weight, its cpupool. None of it is undone.
 */
#include <errno.h>

#include "src/guests/guests_priv.h"
#include "src/guests/journal.h"

/* resexd never sets a weight. */
static void weight_taken(struct guests *gs, struct guest_entry *g, uint32_t weight, int64_t wall_ns)
{
	if (weight == g->own.weight)
		return;
	guests_event(gs, wall_ns, g->name, "operator-weight",
		     "its weight was set to %u: this is its own from now on, not %u", weight,
		     g->own.weight);
	g->own.weight = weight;
	own_changed(gs, g);
}

/* This cap was the operator's, though resexd may have set it, too. */
static void drop_written(struct guests *gs, const struct guest_entry *g, struct cap was)
{
	struct saved_cap *c = restore_find(&gs->restore, g->key.domid, g->key.uuid);

	if (c)
		percents_drop(&c->written, cap_to_percent(was));
	if (gs->written)
		journal_drop(&gs->written[g->slot], cap_to_percent(was));
}

/* In another pool, the weight is the one that Xen gave it there, as the cap is. */
static void cap_taken(struct guests *gs, struct guest_entry *g, const struct hv_sched_params *found,
		      int64_t wall_ns)
{
	drop_written(gs, g, g->own.cap);
	g->own.cap = found->cap;
	g->in_force = found->cap;
	gs->publish_due = true;
	if (place_moved(gs, g)) {
		g->own.weight = found->weight;
		guests_event(gs, wall_ns, g->name, "operator-pool",
			     "its cpupool or that pool's scheduler, now %s, changed, and its cap "
			     "to %u: this is the guest's own cap from now on",
			     g->own_scheduler, cap_to_percent(found->cap));
	} else {
		guests_event(gs, wall_ns, g->name, "operator-cap",
			     "another program set its cap to %u: this is the guest's own cap from "
			     "now on",
			     cap_to_percent(found->cap));
		weight_taken(gs, g, found->weight, wall_ns);
	}
	own_changed(gs, g);
}

void operator_cap(struct guests *gs, struct guest_entry *g, uint32_t percent, uint32_t generation,
		  int64_t wall_ns)
{
	struct cap found = cap_from_percent(percent);
	bool known = g->own_checked && cap_equal(g->own.cap, found);
	struct hv_sched_params p;

	g->own_generation = generation;
	g->own_checked = false;
	gs->publish_due = true;
	if (known || !g->cappable) /* operator_check() was first */
		return;
	if (gs->hv->sched->get(gs->sched, g->key.domid, &p))
		p = g->own;
	p.cap = found; /* a lower one of ours may be in force by now */
	cap_taken(gs, g, &p, wall_ns);
	owns_save(gs); /* before a policy may use it as the ceiling */
}

/*
 * Xen drops a domain's cap when it leaves its pool. So the saved one is not given back: the cap
 * that the next pool has for it is its own.
 */
void operator_uncappable(struct guests *gs, struct guest_entry *g, int64_t wall_ns)
{
	if (!g->cappable)
		return;
	g->cappable = false;
	g->uncappable_pool = true;
	gs->publish_due = true;
	place_moved(gs, g);
	if (!gs->observe) {
		restore_drop(&gs->restore, g->key.domid, g->key.uuid);
		gs->save_due = true;
	}
	guests_event(gs, wall_ns, g->name, "operator-pool",
		     "its cpupool has the scheduler %s, which has no caps: it is not capped until "
		     "it is in another cpupool",
		     g->own_scheduler);
	own_learn(gs, g, wall_ns); /* notes the reason */
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
							    : cap_to_percent(g->in_force);
	return true;
}

/* A cap set by xl or libvirt is the operator's: it becomes the guest's own cap. */
void operator_check(struct guests *gs, struct guest_entry *g, int64_t wall_ns)
{
	struct hv_sched_params p;
	uint32_t ours, again;
	bool known, waits;
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
	known = known && our_cap(gs, g, &again) && again == ours;
	/*
	 * To set a weight, xl writes the cap as well that it read before, and we may have replaced
	 * that one since. The actor knows its last caps, and sets its next one over it (actor.h).
	 * A policy may want no other cap for long: let the wanted one be sent once more.
	 */
	waits = !g->cap_waits && p.weight != g->own.weight;
	g->cap_waits = false;
	if (!known || cap_to_percent(p.cap) == ours) {
		weight_taken(gs, g, p.weight, wall_ns);
	} else if (waits) {
		g->cap_waits = true;
		atomic_fetch_or(&gs->ho->send_again[g->slot / 64], 1ull << (g->slot % 64));
	} else {
		cap_taken(gs, g, &p, wall_ns);
		g->own_checked = true;
	}
}
