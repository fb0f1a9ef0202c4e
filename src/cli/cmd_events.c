// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cmd_events: the verb events. The protocol has no notifications: --follow asks resexd again and
 * again for the events after the newest that it has printed.
 */
#include <poll.h>
#include <stdio.h>

#include "resex/exit.h"
#include "src/cli/cmds.h"
#include "src/cli/request.h"

enum { FOLLOW_MS = 300 }; /* soon enough for people, and next to no load on resexd */

static void print_event(const json_t *e)
{
	json_int_t ns = json_integer_value(json_object_get(e, "time_ns"));
	char when[REQUEST_TIME_MAX];

	printf("%s.%03d  %-16s %-12s %s\n", local_time(ns, when), (int)(ns / 1000000 % 1000),
	       json_string_value(json_object_get(e, "guest")),
	       json_string_value(json_object_get(e, "kind")),
	       json_string_value(json_object_get(e, "text")));
}

static void print_events(const struct cli *c, const json_t *events, long last)
{
	size_t n = json_array_size(events), i = 0;

	if (last >= 0 && n > (size_t)last)
		i = n - (size_t)last;
	for (; i < n; i++) {
		const json_t *e = json_array_get(events, i);

		if (!c->options.json) {
			print_event(e);
			continue;
		}
		json_dumpf(e, stdout, JSON_COMPACT); /* one event a line */
		putchar('\n');
	}
	fflush(stdout); /* a pipe would hold events back until a buffer is full */
}

int run_events(struct cli *c)
{
	long last = c->options.lines;
	json_int_t since = 0;
	int rc = RESEX_OK;

	if (c->argc > 1)
		return usage_error(c, "events takes at most one guest");

	while (!rc) {
		json_t *r = NULL, *params = json_pack("{s:I}", "since", since);

		if (c->argc)
			json_object_set_new(params, "guest", json_string(c->argv[0]));
		rc = client_call(&c->client, "events", params, &r);
		if (!rc) {
			since = json_integer_value(json_object_get(r, "newest"));
			if (!c->options.json)
				table_tame(r);
			print_events(c, json_object_get(r, "events"), last);
		}
		json_decref(r);
		/* A reader that is gone, such as head(1), or a full disk ends --follow. */
		if (!c->options.follow || ferror(stdout))
			break;
		last = -1; /* --lines is for the events from before */
		poll(NULL, 0, FOLLOW_MS);
	}
	return rc;
}
