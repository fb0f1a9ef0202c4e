// SPDX-License-Identifier: GPL-2.0-or-later
/* conf: changes settings while guests run; releases and pauses guests. See guests.h. */
#include <errno.h>
#include <string.h>

#include "src/conf/policy.h"
#include "src/guests/guests_priv.h"

/*
 * A request that changes nothing makes no event and no set: a script may repeat it each
 * minute.
 */
void guests_release(struct guests *gs, struct guest_entry *g, bool released, int64_t wall_ns)
{
	if (g->released == released)
		return;
	g->released = released;
	sets_publish_soon(gs);
	guests_event(gs, wall_ns, g->name, "release", "%s",
		     released ? "released from caps" : "subject to caps again");
}

/*
 * To resume all also resumes guests that were paused one by one: after it, none is left
 * behind.
 */
static void pause_all(struct guests *gs, bool paused, int64_t wall_ns)
{
	bool was = gs->paused;

	gs->paused = paused;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (gs->guest[i] && !paused) {
			was |= gs->guest[i]->paused;
			gs->guest[i]->paused = false;
		}
	if (was == paused)
		return;
	sets_publish_soon(gs);
	guests_event(gs, wall_ns, NULL, paused ? "pause" : "resume", "%s",
		     paused ? "no guest is capped by a policy"
			    : "guests are subject to caps again");
}

int guests_pause(struct guests *gs, struct guest_entry *g, bool paused, int64_t wall_ns)
{
	if (!g) {
		pause_all(gs, paused, wall_ns);
		return 0;
	}
	/*
	 * The guest would stay paused with all others: refuse, instead of an answer that
	 * looks like success.
	 */
	if (gs->paused && !paused)
		return -EBUSY;
	if (g->paused == paused)
		return 0;
	g->paused = paused;
	sets_publish_soon(gs);
	guests_event(gs, wall_ns, g->name, paused ? "pause" : "resume", "%s",
		     paused ? "not capped by a policy" : "subject to caps again");
	return 0;
}

void guests_configure(struct guests *gs, struct guest_entry *g, const struct guest_conf *conf,
		      const char *what, int64_t wall_ns)
{
	g->conf = *conf;
	/*
	 * From now on a change of the guest's name does not bring back resexd.json's
	 * settings.
	 */
	g->set = true;
	sets_publish_soon(gs);
	guests_event(gs, wall_ns, g->name, "guest-set", "%s", what);
}

/*
 * A reload for another reason must not reset prices and windows. The same policy with the
 * same parameters keeps its state.
 */
static bool same_policy(const struct policy_inst *a, const struct policy_inst *b)
{
	for (const struct policy_param *p = a->ops->params; a->ops == b->ops && p && p->name; p++)
		if (policy_param_get(a, p) != policy_param_get(b, p))
			return false;
	return a->ops == b->ops;
}

int guests_reload(struct guests *gs, const struct daemon_conf *conf, struct policy_inst *pi,
		  int64_t wall_ns)
{
	bool same = same_policy(gs->policy, pi);

	/* First what can be refused: nothing has changed yet. */
	if (!same && guests_set_policy(gs, pi, wall_ns))
		return -EBUSY;
	if (same)
		policy_free(pi);
	gs->conf = conf;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (gs->guest[i])
			entry_settings(gs, gs->guest[i]);
	sets_publish_soon(gs);
	guests_event(gs, wall_ns, NULL, "reload", "configuration read again, policy %s%s",
		     gs->policy->ops->name, same ? " goes on" : "");
	return 0;
}
