// SPDX-License-Identifier: GPL-2.0-or-later
/* role: whether a node is prepared for the service of its word, and the next step. See role.h. */
#include <string.h>

#include "resex/region_abi.h"
#include "src/reconf/role.h"

static const struct mono NEVER = { INT64_MAX };

void role_init(struct role *r, uint16_t service, uint16_t from)
{
	memset(r, 0, sizeof(*r));
	r->service = service;
	r->from = from;
}

static bool is_prepared(const struct role *r)
{
	return r->service && r->service == region_word_id(r->word);
}

static void wait_again(struct role *r, struct mono now)
{
	r->running = false;
	r->phase = ROLE_WAITS;
	r->again = mono_add(now, ROLE_AGAIN_NS);
}

void role_failed(struct role *r, struct mono now)
{
	r->service = 0; /* the file does not say otherwise */
	wait_again(r, now);
}

/* --- a hook has ended ---------------------------------------------------------------------- */

static enum role_does check(struct role *r)
{
	r->phase = ROLE_CHECKS;
	r->running = true;
	return ROLE_CHECK;
}

static enum role_does switch_ended(struct role *r, const struct role_in *in, struct mono now)
{
	if (in->hook != HOOK_DONE) {
		wait_again(r, now);
		return ROLE_NOTHING;
	}
	r->checks_end = mono_add(now, in->check_ns);
	return check(r);
}

static enum role_does check_ended(struct role *r, const struct role_in *in, struct mono now)
{
	r->running = false;
	if (in->hook != HOOK_DONE) {
		r->again = mono_add(now, ROLE_AGAIN_NS);
		return ROLE_NOTHING;
	}
	r->service = r->from = r->target;
	r->phase = is_prepared(r) ? ROLE_READY : ROLE_WAITS;
	return ROLE_SAVE;
}

static enum role_does hook_ended(struct role *r, const struct role_in *in, struct mono now)
{
	return r->phase == ROLE_SWITCHES ? switch_ended(r, in, now) : check_ended(r, in, now);
}

/* --- nothing runs ------------------------------------------------------------------------- */

/* Is the program called again, to check what it has made? */
static bool goes_on_checking(const struct role *r, struct mono now)
{
	return r->phase == ROLE_CHECKS && r->target == region_word_id(r->word) &&
	       mono_sub(now, r->checks_end) < 0;
}

static enum role_does begin(struct role *r, const struct role_in *in, struct mono now)
{
	if (!region_word_id(r->word)) /* of no service: it is left as it is */
		return ROLE_NOTHING;
	if (goes_on_checking(r, now))
		return mono_sub(now, r->again) < 0 ? ROLE_NOTHING : check(r);
	r->phase = ROLE_WAITS;
	if (!r->service && !r->asked) { /* rule 6 */
		r->asked = true;
		r->target = region_word_id(r->word);
		r->checks_end = now;
		return check(r);
	}
	if (!in->acknowledged || in->word != r->word || mono_sub(now, r->again) < 0) /* rule 2 */
		return ROLE_NOTHING;
	r->asked = true;
	r->service = 0; /* rule 3 */
	r->target = region_word_id(r->word);
	r->phase = ROLE_SWITCHES;
	r->running = true;
	return ROLE_SWITCH;
}

enum role_does role_step(struct role *r, const struct role_in *in, struct mono now)
{
	if (in->word && in->kept) /* rule 1 */
		r->word = in->word;
	if (r->running)
		return in->hook == HOOK_RUNS ? ROLE_NOTHING : hook_ended(r, in, now);
	if (!r->word)
		return ROLE_NOTHING;
	if (!is_prepared(r))
		return begin(r, in, now);
	r->phase = ROLE_READY;
	return ROLE_NOTHING;
}

uint64_t role_ready(const struct role *r)
{
	return is_prepared(r) ? r->word : 0;
}

struct mono role_due(const struct role *r)
{
	bool waits = !r->running && (r->phase == ROLE_WAITS || r->phase == ROLE_CHECKS);

	return waits ? r->again : NEVER;
}
