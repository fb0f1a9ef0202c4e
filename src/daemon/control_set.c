// SPDX-License-Identifier: GPL-2.0-or-later
/* control_set: caps shown, and guests left alone. */
#include <string.h>

#include "src/daemon/control_priv.h"

static json_t *cap_row(struct call *c, const struct managed *g)
{
	const struct snap_guest *s = manager_snap(c->m, g, c->sn);
	json_t *o = json_object();

	put_identity(o, g);
	put_s(o, "state", state_of(g));
	put_cap(o, "old_cap", g->old.cap);
	put_u(o, "weight", g->old.weight);
	put_cap(o, "cap", s ? s->applied : g->old.cap);
	put_cap(o, "wanted", s ? s->plan.cap : CAP_NONE);
	put_u(o, "changes", s ? s->cap_changes : 0);
	put_s(o, "error", s && s->cap_errno ? strerror((int)s->cap_errno) : "");
	put_s(o, "note", g->cap_note);
	return o;
}

int cmd_cap_list(struct call *c, const json_t *params, json_t **result)
{
	(void)params;
	*result = json_object();
	json_object_set_new(*result, "guests", guest_rows(c, cap_row));
	return 0;
}

int cmd_cap_release(struct call *c, const json_t *params, json_t **result)
{
	struct managed *g = find_guest(c, params);

	if (!g)
		return c->exit;
	manager_release(c->m, g, !json_is_true(json_object_get(params, "undo")), c->wall_ns);
	*result = cap_row(c, g);
	return 0;
}
