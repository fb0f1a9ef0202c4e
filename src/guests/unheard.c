// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * unheard: links on which a policy that lives on reported latencies gets none. It then caps no
 * guest there, which looks as if no guest slowed others down: info, policy-set and an event say so.
 */
#include <stdio.h>

#include "src/guests/guests_priv.h"

enum { UNHEARD_SECONDS = 10 }; /* so long applications may take until they report */

struct on_link {
	uint32_t guests, heard;
};

/* Also for the first second, in which it is not known whether its applications report. */
static bool is_heard(const struct snap_latency *l)
{
	return !l->seconds || l->second_n > 0;
}

uint32_t guests_unheard(const struct guests *gs, const struct snapshot *sn)
{
	struct on_link on[FLOW_LINKS_MAX] = { 0 };
	uint32_t links = 0;

	if (!gs->policy->ops->needs_reports)
		return 0;
	for (uint32_t i = 0; i < sn->guests; i++) {
		const struct guest_entry *g = gs->guest[sn->guest[i].slot];

		if (!g || !guests_snap(g, sn))
			continue;
		on[g->conf.link].guests++;
		on[g->conf.link].heard += is_heard(&sn->guest[i].latency);
	}
	/* A guest that is alone on its link slows nobody down. */
	for (uint32_t l = 0; l < FLOW_LINKS_MAX; l++)
		if (on[l].guests > 1 && !on[l].heard)
			links |= 1u << l;
	return links;
}

void guests_unheard_text(const struct guests *gs, uint32_t links, char *out, size_t size)
{
	size_t n = 0;

	if (size)
		out[0] = 0;
	if (!links)
		return;
	n += (size_t)snprintf(out, size,
			      "policy %s needs latencies that applications report "
			      "(resex_report(3)), and no guest reports any on",
			      gs->policy->ops->name);
	for (uint32_t l = 0; l < gs->conf->links && n < size; l++)
		if (links >> l & 1)
			n += (size_t)snprintf(out + n, size - n, " %.32s", gs->conf->link[l].name);
	if (n < size)
		snprintf(out + n, size - n, ": it caps no guest there");
}

void unheard_second(struct guests *gs, int64_t wall_ns)
{
	uint32_t links = guests_unheard(gs, snap_latest(gs->ho));
	char text[512];

	if (gs->unheard.policy != gs->policy_number || !links)
		gs->unheard.seconds = 0;
	gs->unheard.policy = gs->policy_number;
	if (!links || gs->unheard.seconds > UNHEARD_SECONDS)
		return;
	if (gs->unheard.seconds++ < UNHEARD_SECONDS)
		return;
	guests_unheard_text(gs, links, text, sizeof(text));
	guests_event(gs, wall_ns, NULL, "unheard", "%s", text);
}
