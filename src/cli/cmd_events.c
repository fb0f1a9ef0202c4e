// SPDX-License-Identifier: GPL-2.0-or-later
/* cmd_events: what happened: events. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "resex/exit.h"
#include "src/cli/cmds.h"
#include "src/cli/request.h"

enum { FOLLOW_MS = 300 };

struct events_opt {
	const char *guest;
	long last; /* show at most so many; -1: all there are */
	bool follow;
};

static int events_options(struct cli *c, struct events_opt *o)
{
	char *end;

	for (int i = 0; i < c->argc; i++) {
		const char *w = c->argv[i];

		if (!strcmp(w, "-f") || !strcmp(w, "--follow")) {
			o->follow = true;
		} else if (!strcmp(w, "-n") || !strcmp(w, "--lines")) {
			if (++i == c->argc)
				return usage_error(c, "-n takes a number");
			errno = 0;
			o->last = strtol(c->argv[i], &end, 10);
			if (end == c->argv[i] || *end || o->last < 0 || errno)
				return usage_error(c, "-n takes a number, such as 10");
		} else if (w[0] == '-' || o->guest) {
			return usage_error(c, "events takes -f, -n NUMBER and one guest");
		} else {
			o->guest = w;
		}
	}
	return RESEX_OK;
}

static void print_event(const json_t *e)
{
	json_int_t ns = json_integer_value(json_object_get(e, "time_ns"));
	time_t t = (time_t)(ns / 1000000000);
	struct tm tm;
	char when[32];

	localtime_r(&t, &tm);
	strftime(when, sizeof(when), "%F %T", &tm);
	printf("%s.%03d  %-16s %-12s %s\n", when, (int)(ns / 1000000 % 1000),
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

		if (!c->json) {
			print_event(e);
			continue;
		}
		json_dumpf(e, stdout, JSON_COMPACT); /* one event a line */
		putchar('\n');
	}
	fflush(stdout);
}

int run_events(struct cli *c)
{
	struct events_opt o = { .last = -1 };
	json_int_t since = 0;
	int rc = events_options(c, &o);

	while (!rc) {
		json_t *r = NULL, *params = json_pack("{s:I}", "since", since);

		if (o.guest)
			json_object_set_new(params, "guest", json_string(o.guest));
		rc = client_call(&c->client, "events", params, &r);
		if (!rc) {
			since = json_integer_value(json_object_get(r, "newest"));
			if (!c->json)
				table_tame(r);
			print_events(c, json_object_get(r, "events"), o.last);
		}
		json_decref(r);
		if (!o.follow || ferror(stdout))
			break;
		o.last = -1;
		poll(NULL, 0, FOLLOW_MS);
	}
	return rc;
}
