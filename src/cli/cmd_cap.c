// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cmd_cap: the verbs on caps: cap-*, pause, resume, why. resexd answers those that change caps
 * when the caps are in force (wait_for_caps() in src/control/set.c), so the tables show the caps
 * of after.
 */
#include <stdio.h>

#include "resex/exit.h"
#include "src/cli/cmds.h"
#include "src/cli/request.h"

static const struct column cap_cols[] = {
	{ "NAME", "name", 1 },
	{ "ID", "domid", 0 },
	{ "CAP", "cap", AS_PERCENT },
	{ "WANTED", "wanted", AS_PERCENT },
	{ "OWN-CAP", "old_cap", AS_PERCENT },
	{ "CHANGES", "changes", 0 },
	{ "STATE", "state", 1 },
	{ "ERROR", "error", 1 },
	{ "NOTE", "note", 1 },
	{ 0 },
};

int run_cap_list(struct cli *c)
{
	return no_arguments(c) ? RESEX_USAGE
			       : request_rows(c, "cap-list", NULL, "guests", cap_cols);
}

int run_cap_release(struct cli *c)
{
	return request_row(c, "cap-release", "guest", "undo", c->options.undo, cap_cols);
}

/* Without a guest all are meant, and resexd lists all of them. */
static int pause_or_resume(struct cli *c, const char *method)
{
	json_t *params = NULL;
	int rc = guest_argument(c, false, &params);

	return rc ? rc : request_rows(c, method, params, "guests", cap_cols);
}

int run_pause(struct cli *c)
{
	return pause_or_resume(c, "pause");
}

int run_resume(struct cli *c)
{
	return pause_or_resume(c, "resume");
}

/* A sentence a line: a table would cut the sentences, or make all lines as long as the longest. */
static void print_whys(const struct cli *c, const json_t *r)
{
	json_t *g;
	size_t i;

	json_array_foreach(json_object_get(r, "guests"), i, g)
		printf("%s: %s\n", json_string_value(json_object_get(g, "name")),
		       json_string_value(json_object_get(g, "text")));
	if (json_is_true(json_object_get(r, "also_node")))
		printf("%s is also a node: see resex why --node\n", c->argv[0]);
}

/* The name of a guest, else of a node. */
int run_why(struct cli *c)
{
	json_t *r = NULL, *params = NULL;
	int rc;

	if (c->options.node)
		return run_why_node(c);
	rc = guest_argument(c, false, &params);
	if (rc)
		return rc;
	rc = request_reply(c, "why", params, &r);
	if (rc == RESEX_NO_GUEST)
		return run_why_other(c);
	if (!rc && r)
		print_whys(c, r);
	json_decref(r);
	return rc;
}
