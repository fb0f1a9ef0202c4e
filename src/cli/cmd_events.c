// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cmd_events: the verb events. The protocol has no notifications: --follow asks resexd again and
 * again for the events after the newest that it has printed, and waits for a resexd that is gone.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/cli/cmds.h"
#include "src/cli/request.h"
#include "src/util/utf8.h"

enum { FOLLOW_MS = 300 }; /* soon enough for people, and next to no load on resexd */

/* A terminal gets folded texts. Through a pipe each event is one line, for grep(1). */
static void print_event(const json_t *e)
{
	const size_t width = isatty(STDOUT_FILENO) || getenv("COLUMNS") ? table_width(stdout)
									: SIZE_MAX;
	const char *text = json_string_value(json_object_get(e, "text"));
	char when[REQUEST_TIME_MAX];
	int at = printf("%s  %-16s %-12s ",
			event_time(json_integer_value(json_object_get(e, "time_ns")), when),
			json_string_value(json_object_get(e, "guest")),
			json_string_value(json_object_get(e, "kind")));

	table_text(stdout, text ? text : "", at > 0 ? (size_t)at : 0, TABLE_BELOW, width);
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

static int ask_events(struct cli *c, json_int_t *since, long last)
{
	json_t *r = NULL, *params = json_pack("{s:I}", "since", *since);
	int rc;

	if (c->argc)
		json_object_set_new(params, "guest", json_string(c->argv[0]));
	if (c->options.kind)
		json_object_set_new(params, "kind", json_string(c->options.kind));
	rc = client_call(&c->client, "events", params, &r);
	if (!rc) {
		*since = json_integer_value(json_object_get(r, "newest"));
		if (!c->options.json)
			table_tame(r);
		print_events(c, json_object_get(r, "events"), last);
	}
	json_decref(r);
	return rc;
}

static bool is_reader_gone(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return ferror(stdout) || (poll(&out, 1, 0) > 0 && out.revents & POLLERR);
}

/*
 * resexd is gone: wait until one answers. The events of one that was started anew begin again with
 * the first; of the same one, to which only the connection was lost, none is printed twice. A new
 * socket may not have its group yet, so permission is waited for, too.
 */
static int wait_for_daemon(struct cli *c, json_int_t *since)
{
	const pid_t was = client_peer(&c->client);
	bool same;
	int rc;

	utf8_tame(c->client.error);
	fprintf(stderr, "resex: %s; waiting for it\n", c->client.error);
	do {
		client_close(&c->client);
		poll(NULL, 0, FOLLOW_MS);
		if (is_reader_gone())
			return RESEX_FAILURE;
		rc = client_open(&c->client, c->client.path, c->client.daemon);
	} while (rc == RESEX_NO_DAEMON || rc == RESEX_PERMISSION);
	if (rc)
		return rc;
	same = was && was == client_peer(&c->client);
	if (!same)
		*since = 0;
	fprintf(stderr, "resex: resexd answers again%s\n",
		same ? "" : ": it was started anew, and so are its events");
	c->client.error[0] = 0;
	return RESEX_OK;
}

int run_events(struct cli *c)
{
	long last = c->options.lines;
	json_int_t since = 0;
	int rc = RESEX_OK;

	if (c->argc > 1)
		return usage_error(c, "events takes at most one guest");
	while (!rc) {
		rc = ask_events(c, &since, last);
		/* A reader that is gone, such as head(1), or a full disk ends --follow. */
		if (!c->options.follow || ferror(stdout))
			break;
		if (rc == RESEX_NO_DAEMON) {
			rc = wait_for_daemon(c, &since);
			continue;
		}
		last = -1; /* --lines is for the events from before */
		poll(NULL, 0, FOLLOW_MS);
	}
	return rc;
}
