// SPDX-License-Identifier: GPL-2.0-or-later
/* conf: settings changed while guests run, and guests left alone. See guests.h. */
#include <errno.h>
#include <string.h>

#include "src/guests/guests_priv.h"

bool managed_alone(const struct manager *m, const struct managed *g)
{
	return g->conf.exempt || g->released || g->paused || m->paused;
}

void managed_settings(const struct manager *m, struct managed *g)
{
	g->conf = *settings_guest(m->conf, g->name, g->uuid);
	g->set = false;
}

void manager_release(struct manager *m, struct managed *g, bool released, int64_t wall_ns)
{
	if (g->released == released)
		return;
	g->released = released;
	manager_publish_soon(m);
	manager_event(m, wall_ns, g->name, "release", "%s",
		      released ? "released from caps" : "subject to caps again");
}

static void pause_all(struct manager *m, bool paused, int64_t wall_ns)
{
	bool was = m->paused;

	m->paused = paused;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (m->guest[i] && !paused) {
			was |= m->guest[i]->paused;
			m->guest[i]->paused = false;
		}
	if (was == paused)
		return;
	manager_publish_soon(m);
	manager_event(m, wall_ns, NULL, paused ? "pause" : "resume", "%s",
		      paused ? "no guest is capped by a policy"
			     : "guests are subject to caps again");
}

int manager_pause(struct manager *m, struct managed *g, bool paused, int64_t wall_ns)
{
	if (!g) {
		pause_all(m, paused, wall_ns);
		return 0;
	}
	if (m->paused && !paused)
		return -EBUSY;
	if (g->paused == paused)
		return 0;
	g->paused = paused;
	manager_publish_soon(m);
	manager_event(m, wall_ns, g->name, paused ? "pause" : "resume", "%s",
		      paused ? "not capped by a policy" : "subject to caps again");
	return 0;
}

void manager_guest_set(struct manager *m, struct managed *g, const struct guest_conf *conf,
		       const char *what, int64_t wall_ns)
{
	g->conf = *conf;
	g->set = true;
	manager_publish_soon(m);
	manager_event(m, wall_ns, g->name, "guest-set", "%s", what);
}

/* Its state is worth more than to begin anew for nothing. */
static bool same_policy(const struct policy_inst *a, const struct policy_inst *b)
{
	for (const struct policy_param *p = a->ops->params; a->ops == b->ops && p && p->name; p++)
		if (policy_param_get(a, p) != policy_param_get(b, p))
			return false;
	return a->ops == b->ops;
}

int manager_reload(struct manager *m, const struct daemon_conf *conf, struct policy_inst *pi,
		   int64_t wall_ns)
{
	bool same = same_policy(m->policy, pi);

	if (!same && manager_set_policy(m, pi, wall_ns))
		return -EBUSY;
	if (same)
		policy_free(pi);
	m->conf = conf;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (m->guest[i])
			managed_settings(m, m->guest[i]);
	manager_publish_soon(m);
	manager_event(m, wall_ns, NULL, "reload", "configuration read again, policy %s%s",
		      m->policy->ops->name, same ? " goes on" : "");
	return 0;
}
