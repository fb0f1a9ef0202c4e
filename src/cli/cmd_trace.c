// SPDX-License-Identifier: GPL-2.0-or-later
/* cmd_trace: the verbs that record what resexd decides on: trace-start, trace-stop. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/cli/cmds.h"
#include "src/cli/request.h"
#include "src/util/utf8.h"

/* resexd runs in another directory. */
static int whole_path(struct cli *c, const char *file, char path[static PATH_MAX])
{
	char here[PATH_MAX] = "";
	int n;

	if (file[0] != '/' && !getcwd(here, sizeof(here)))
		return usage_error(c, "trace-start: this directory has no name: give a whole path");
	n = snprintf(path, PATH_MAX, "%s%s%s", here, here[0] ? "/" : "", file);
	return n < PATH_MAX ? RESEX_OK : usage_error(c, "trace-start: the file's name is too long");
}

int run_trace_start(struct cli *c)
{
	char path[PATH_MAX];
	json_t *r = NULL;
	int rc;

	if (c->argc != 1 || !c->argv[0][0])
		return usage_error(c, "trace-start: exactly one new file is required");
	if (!utf8_good(c->argv[0]))
		return usage_error(c, "trace-start: the file's name must be in UTF-8");
	rc = whole_path(c, c->argv[0], path);
	if (!rc)
		rc = request_reply(c, "trace-start", json_pack("{s:s}", "file", path), &r);
	if (!rc && r)
		printf("recording into %s\n",
		       json_string_value(json_object_get(json_object_get(r, "trace"), "file")));
	json_decref(r);
	return rc;
}

int run_trace_stop(struct cli *c)
{
	json_t *r = NULL;
	int rc = no_arguments(c) ? RESEX_USAGE : request_reply(c, "trace-stop", NULL, &r);
	const json_t *t = json_object_get(r, "trace");

	if (!rc && t)
		printf("%s: %lld ticks, %lld bytes\n",
		       json_string_value(json_object_get(t, "file")),
		       (long long)json_integer_value(json_object_get(t, "ticks")),
		       (long long)json_integer_value(json_object_get(t, "bytes")));
	json_decref(r);
	return rc;
}
