// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * options: the command line of resex-cacheload, of one table: getopt_long's list and the help are
 * made of it, and the bash completion reads the help. main.c calls it first.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/cacheload/load.h"
#include "src/cacheload/trace.h"
#include "src/core/units.h"
#include "src/util/cmdline.h"

static const struct cmdline_row rows[] = {
	{ 'p', "proxy", "ADDRESS:PORT", "readers ask here; may be repeated (the applications)" },
	{ 'a', "app", "ADDRESS:PORT", "updates go here; may be repeated" },
	{ 'r', "readers", "N", "connections of readers (16)" },
	{ 'u', "updaters", "N", "connections of updaters (4)" },
	{ 't', "trace", "N", "trace 1 to 6 of the paper (1)" },
	{ 'P', "pages", "N", "ask for at most so many pages (10000)" },
	{ 'z', "alpha", "X", "Zipf's exponent of trace 6, 0 to 4 (0.8)" },
	{ 'U', "updates", "N", "updates of 1000 requests, 0 to 999 (the trace's)" },
	{ 'R', "rate", "N", "updates a second, instead" },
	{ 'k', "keep-share", NULL, "readers wait when updaters fall behind" },
	{ 'n', "requests", "N", "end after N replies" },
	{ 'T', "seconds", "N", "end after N seconds (10 without -n)" },
	{ 'w', "timeout", "SECONDS", "for a reply, 1 to 3600 (10)" },
	{ 'W', "update-timeout", "SECONDS", "for the end of an update, 1 to 3600 (90)" },
	{ 'S', "seed", "N", "seed of pages and updates (1)" },
	{ 'l', "log", "FILE", "write what happened, for a check afterwards" },
	{ 'c', "check", "FILE", "check such a log, and ask nobody" },
	{ 'j', "json", NULL, "print the result as JSON" },
	{ 'h', "help", NULL, "print this" },
	{ 'V', "version", NULL, "print the version" },
	{ .name = NULL },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]), SECONDS_DEFAULT = 10 };

static void print_help(void)
{
	puts("Usage: resex-cacheload -a ADDRESS:PORT [OPTION]...\n"
	     "       resex-cacheload --check FILE [-j]\n"
	     "Ask for pages and change them, and check that no reply is stale.\n");
	cmdline_print_rows(rows, 24);
	puts("\nSee resex-cacheload(1) and resex-auction(1).");
}

static int refuse(const char *error)
{
	fprintf(stderr, "resex-cacheload: %s\n", error);
	return RESEX_USAGE;
}

static int wrong(const char *name, const char *value, const char *remedy)
{
	char error[256];

	cmdline_wrong_value(name, value, remedy, error, sizeof(error));
	return refuse(error);
}

static int set_alpha(struct load_options *o, const char *value)
{
	char *end;
	double v = strtod(value, &end);

	if (*end || !(v >= 0 && v <= 4))
		return wrong("alpha", value, "give a number from 0 to 4, as 0.8");
	o->alpha = v;
	return -1;
}

static int add_target(const char **list, uint64_t *n, const char *name, const char *value)
{
	const char *colon = strrchr(value, ':');

	if (!colon || colon == value || !colon[1] ||
	    strspn(colon + 1, "0123456789") != strlen(colon + 1) || strlen(value) > 127)
		return wrong(name, value, "give ADDRESS:PORT, as 127.0.0.1:8080 or [::1]:8080");
	if (*n == LOAD_TARGETS_MAX)
		return wrong(name, value, "one too many: at most 64 are asked");
	list[(*n)++] = value;
	return -1;
}

struct parse {
	struct load_options *o;
	uint64_t timeout_s, update_timeout_s;
};

static int set_option(struct parse *p, int letter, const char *value)
{
	struct load_options *o = p->o;
	const struct cmdline_number numbers[] = {
		{ 'r', 1, LOAD_CONNECTIONS_MAX / 2, &o->readers },
		{ 'u', 0, LOAD_CONNECTIONS_MAX / 2, &o->updaters },
		{ 't', 1, TRACE_TRACES, &o->trace },
		{ 'P', 1, TRACE_PAGES_MAX, &o->pages },
		{ 'U', 0, 999, &o->updates },
		{ 'R', 1, 1000000, &o->rate },
		{ 'n', 1, INT64_MAX, &o->requests },
		{ 'T', 1, 366 * 24 * 3600, &o->seconds },
		{ 'w', 1, 3600, &p->timeout_s },
		{ 'W', 1, 3600, &p->update_timeout_s },
		{ 'S', 0, INT64_MAX, &o->seed },
	};
	char error[256];
	int rc = cmdline_set_number(rows, numbers, sizeof(numbers) / sizeof(numbers[0]), letter,
				    value, error, sizeof(error));

	if (rc)
		return rc > 0 ? -1 : refuse(error);
	switch (letter) {
	case 'p':
		return add_target(o->proxy, &o->proxies, "proxy", value);
	case 'a':
		return add_target(o->app, &o->apps, "app", value);
	case 'z':
		return set_alpha(o, value);
	case 'k':
		o->keep_share = true;
		break;
	case 'l':
		o->log = value;
		break;
	case 'c':
		o->check = value;
		break;
	case 'j':
		o->json = true;
		break;
	case 'h':
		print_help();
		return RESEX_OK;
	default: /* 'V' */
		puts("resex-cacheload " PACKAGE_VERSION);
		return RESEX_OK;
	}
	return -1;
}

/* Defaults that depend on other options, and what is missing. */
static int complete(struct parse *p)
{
	struct load_options *o = p->o;

	o->timeout_ns = (int64_t)p->timeout_s * NS_PER_S;
	o->update_timeout_ns = (int64_t)p->update_timeout_s * NS_PER_S;
	if (o->check)
		return -1;
	if (!o->apps) {
		fputs("resex-cacheload: no application: give --app ADDRESS:PORT, where "
		      "resex-auction "
		      "listens\n",
		      stderr);
		return RESEX_USAGE;
	}
	if (!o->proxies) {
		memcpy(o->proxy, o->app, sizeof(o->proxy));
		o->proxies = o->apps;
	}
	if (o->updates == UINT64_MAX)
		o->updates = trace_updates(o->trace);
	if ((o->updates || o->rate) && !o->updaters) {
		fputs("resex-cacheload: --updaters 0: this trace has updates: give 1 or more, or "
		      "--updates 0\n",
		      stderr);
		return RESEX_USAGE;
	}
	if (!o->requests && !o->seconds)
		o->seconds = SECONDS_DEFAULT;
	return -1;
}

int load_options(struct load_options *o, int argc, char **argv)
{
	struct option longs[ROWS];
	struct cmdline c = {
		.argc = argc, .argv = argv, .longs = longs, .help = "resex-cacheload --help"
	};
	struct parse p = { .o = o, .timeout_s = 10, .update_timeout_s = 90 };
	char error[256];
	int letter, rc = -1;

	cmdline_longs(rows, longs);
	*o = (struct load_options){ .readers = 16,
				    .updaters = 4,
				    .trace = 1,
				    .seed = 1,
				    .pages = 10000,
				    .alpha = 0.8,
				    .updates = UINT64_MAX };
	cmdline_begin(&c);
	while (rc < 0 && (letter = cmdline_next(&c, error, sizeof(error))) >= 0)
		rc = set_option(&p, letter, optarg);
	if (rc >= 0)
		return rc;
	if (letter == CMDLINE_END && optind < argc) {
		cmdline_unexpected(&c, argv[optind], error, sizeof(error));
		letter = CMDLINE_WRONG;
	}
	if (letter == CMDLINE_END)
		return complete(&p);
	return refuse(error);
}
