// SPDX-License-Identifier: GPL-2.0-or-later
/* state: of the policy of an instance; and of ioshares. See state.h. */
#include "policies/state.h"

#include "policies/ioshares.h"

static bool window_good(const struct ios_window *w)
{
	return state_time_good(w->start) && w->n <= IOS_SAMPLES_MAX;
}

static bool guest_good(const struct ios_guest *s)
{
	const struct mono time[] = { s->size_seen, s->pause_seen, s->sent_time, s->wait_since,
				     s->heard,	   s->rest_last,  s->next_time, s->pinned_since };

	for (size_t i = 0; i < sizeof(time) / sizeof(time[0]); i++)
		if (!state_time_good(time[i]))
			return false;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (!state_time_good(s->rest_until[i]))
			return false;
	return state_ns_good(s->pause) && s->rate <= UINT32_MAX && s->next_rate <= UINT32_MAX &&
	       s->accuser < FLOW_GUESTS_MAX && s->place < FLOW_GUESTS_MAX && window_good(&s->w);
}

bool ioshares_state_good(const void *global, const void *guests)
{
	const struct ios_global *all = global;
	const struct ios_guest *s = guests;

	for (uint32_t i = 0; i < FLOW_LINKS_MAX; i++)
		if (!state_time_good(all->link[i].calm_time) ||
		    !state_time_good(all->link[i].raised) || !state_time_good(all->link[i].cycles))
			return false;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (!guest_good(&s[i]))
			return false;
	return true;
}

bool policy_state_good(const struct policy_inst *pi)
{
	if (pi->ops == &policy_freemarket)
		return freemarket_state_good(pi->guests);
	if (pi->ops == &policy_ratio)
		return ratio_state_good(pi->guests);
	if (pi->ops == &policy_ioshares)
		return ioshares_state_good(pi->global, pi->guests);
	if (pi->ops == &policy_slo)
		return slo_state_good(pi->global, pi->guests);
	return pi->ops == &policy_null;
}
