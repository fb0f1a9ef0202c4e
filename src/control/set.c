// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * set: cap-list, and the methods that change guests: cap-release, pause, resume, guest-set. They
 * change the control thread's guests, which publishes a new set; the sampler takes that up at
 * its next tick, and the actor then sets caps.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/control/methods_priv.h"

/*
 * "wanted" is what the policy decided, "cap" what Xen has. They differ while a cap is being set,
 * after an error, and for guests that no policy may cap.
 */
static json_t *cap_row(struct call *c, const struct guest_entry *g)
{
	const struct snap_guest *s = guests_snap(g, c->sn);
	const struct guest_view v = guest_view(c->guests, g);
	json_t *o = json_object();

	put_identity(o, &v);
	put_s(o, "state", state_of(&v));
	put_cap(o, "old_cap", v.own.cap);
	put_u(o, "weight", v.own.weight);
	put_cap(o, "cap", s ? s->applied : v.own.cap);
	put_cap(o, "wanted", s ? s->plan.cap : CAP_NONE);
	put_u(o, "changes", s ? s->cap_changes : 0);
	put_s(o, "error", s && s->cap_errno ? strerror((int)s->cap_errno) : "");
	put_s(o, "note", v.cap_note);
	return o;
}

int cmd_cap_list(struct call *c, const json_t *params, json_t **result)
{
	(void)params;
	*result = json_object();
	json_object_set_new(*result, "guests", guest_rows(c, NULL, cap_row));
	return 0;
}

/*
 * Rows made at once would have the caps from before the change. CALL_LATER until the snapshot
 * has the new ones, 0 then, or the exit code.
 */
static int wait_for_caps(struct call *c)
{
	int rc = guests_caps_wait(c->guests, &c->caps, c->sn, c->now);

	if (rc == -EAGAIN)
		return CALL_LATER;
	c->caps = (struct caps_ask){ 0 };
	if (rc)
		return call_fail(
			c, RESEX_FAILURE,
			"the change is made, but its caps are not in force yet: see errors "
			"in resex cap-list, and late ticks in resex info");
	return 0;
}

/* The guest of a request that may be called several times. NULL: there is none (any more). */
static struct guest_entry *find_changed(struct call *c, const json_t *params)
{
	struct guest_entry *g = find_guest(c, params);

	if (!g)
		c->caps = (struct caps_ask){ 0 };
	return g;
}

int cmd_cap_release(struct call *c, const json_t *params, json_t **result)
{
	bool undo = json_is_true(json_object_get(params, "undo"));
	struct guest_entry *g = find_changed(c, params);
	int rc;

	if (!g)
		return c->exit;
	if (!c->caps.waits) { /* only the first of several calls changes something */
		guests_release(c->guests, g, !undo, c->wall_ns);
		guests_caps_ask(&c->caps, g, c->now);
	}
	rc = wait_for_caps(c);
	if (!rc)
		*result = cap_row(c, g);
	return rc;
}

/* --- pause and resume ------------------------------------------------------------ */

static int pause_or_resume(struct call *c, const json_t *params, bool paused, json_t **result)
{
	bool one = json_object_get(params, "guest");
	struct guest_entry *g = one ? find_changed(c, params) : NULL;
	int rc;

	if (one && !g)
		return c->exit;
	if (!c->caps.waits) {
		if (guests_pause(c->guests, g, paused, c->wall_ns))
			return call_fail(
				c, RESEX_FAILURE,
				"all guests are paused: resume them all with resex resume");
		guests_caps_ask(&c->caps, g, c->now);
	}
	rc = wait_for_caps(c);
	if (rc)
		return rc;
	*result = json_object();
	put_b(*result, "paused", guests_view(c->guests).paused);
	json_object_set_new(*result, "guests", guest_rows(c, g, cap_row));
	return 0;
}

int cmd_pause(struct call *c, const json_t *params, json_t **result)
{
	return pause_or_resume(c, params, true, result);
}

int cmd_resume(struct call *c, const json_t *params, json_t **result)
{
	return pause_or_resume(c, params, false, result);
}

/* --- settings ---------------------------------------------------------------------- */

/* Strip FILE:LINE: the client sent no file. */
int bad_setting(struct call *c, const struct conf_doc *d, const struct conf_error *e)
{
	char place[64];
	int n = snprintf(place, sizeof(place), "%s:%d:%d: ", d->file, e->line, e->column);

	/* A key that is not known is wrong usage, as it is of a policy's parameter or an option. */
	return call_fail(c, e->unknown_key ? RESEX_USAGE : RESEX_RANGE, "%s",
			 strncmp(e->text, place, (size_t)n) ? e->text : e->text + n);
}

int read_settings(struct call *c, const char *method, const char *example, const json_t *params,
		  struct conf_doc *d)
{
	const json_t *settings = json_object_get(params, "settings");
	struct conf_error e = { 0 };
	char *text;
	int rc;

	if (!json_object_size(settings))
		return call_fail(c, RESEX_USAGE, "%s: give at least one setting, such as %s",
				 method, example);
	text = json_dumps(settings, JSON_COMPACT); /* conf reads text */
	rc = text ? conf_parse(d, method, text, strlen(text), &e) : -ENOMEM;
	if (rc)
		call_fail(c, RESEX_FAILURE, "%s", text ? e.text : "out of memory");
	free(text);
	return rc ? c->exit : 0;
}

/*
 * The settings are bound to a copy of the guest's by the code that reads resexd.json, as if these
 * keys stood there: one place knows keys and ranges. The guest gets the copy only when all is
 * good, so a wrong setting changes nothing.
 */
int cmd_guest_set(struct call *c, const json_t *params, json_t **result)
{
	struct guest_entry *g = find_guest(c, params);
	struct conf_doc d = { 0 };
	struct conf_error e = { 0 };
	struct guest_conf conf;
	char *text = NULL;
	int rc;

	if (!g)
		return c->exit;
	rc = read_settings(c, "guest-set", "weight=512", params, &d);
	if (rc)
		return rc;
	conf = *guest_view(c->guests, g).conf;
	if (settings_bind_guest(&d, "", d.root, NULL, &conf, &e) ||
	    settings_find_link(guests_view(c->guests).conf, &d, "", &conf, &e))
		rc = bad_setting(c, &d, &e);
	if (!rc)
		text = json_dumps(json_object_get(params, "settings"), JSON_COMPACT);
	if (text) {
		guests_configure(c->guests, g, &conf, text, c->wall_ns);
		rc = cmd_guest_show(c, params, result);
	} else if (!rc) {
		rc = call_fail(c, RESEX_FAILURE, "out of memory");
	}
	conf_free(&d);
	free(text);
	return rc;
}
