// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * options: the command line -> struct options, for main.c. One table has all options:
 * getopt_long's lists and the help are made from it. See options.h.
 */
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ibmon/agent/options.h"
#include "resex/agent_socket.h"
#include "resex/guest_abi.h"
#include "src/core/units.h"
#include "src/reconf/hook.h"
#include "src/util/cmdline.h"
#include "src/util/utf8.h"

enum { SCAN_MS_DEFAULT = 5, SCAN_MS_MAX = 1000 };

#define LOAD_DEFAULT_NS (10 * NS_PER_MS)

enum value {
	VALUE_FLAG,
	VALUE_TEXT,
	VALUE_SCAN_MS,
	VALUE_LOAD_PERIOD,
	VALUE_PROGRAM,
	VALUE_IGNORED
};

static const struct option_row {
	const char *name;
	char letter;
	enum value value;
	size_t offset;
	const char *arg, *text;
} rows[] = {
	{ "foreground", 'f', VALUE_IGNORED, 0, NULL, "stay in the foreground (the default)" },
	{ "scan-ms", 's', VALUE_SCAN_MS, offsetof(struct options, scan_ms), "N",
	  "scan active processes every N ms (1 .. 1000, default 5)" },
	{ "load-period", 'l', VALUE_LOAD_PERIOD, offsetof(struct options, load_ns), "TIME",
	  "publish this guest's load so often (1ms .. 10s, default 10ms), or off" },
	{ "no-grant", 'g', VALUE_FLAG, offsetof(struct options, no_grant), NULL,
	  "share own pages by frame number, not by grant" },
	{ "no-xen", 'x', VALUE_TEXT, offsetof(struct options, file), "FILE",
	  "publish to FILE (and FILE.node), without Xen" },
	{ "socket", 'S', VALUE_TEXT, offsetof(struct options, socket), "PATH",
	  "where applications send latencies (default " AGENT_SOCKET ")" },
	{ "hook", 'H', VALUE_PROGRAM, offsetof(struct options, hook), "PROGRAM",
	  "what makes this guest serve another service (an absolute path)" },
	{ "once", '1', VALUE_FLAG, offsetof(struct options, once), NULL,
	  "print the rings found, publish nothing, and exit" },
	{ "json", 'j', VALUE_FLAG, offsetof(struct options, json), NULL, "with --once: as JSON" },
	{ "verbose", 'v', VALUE_FLAG, offsetof(struct options, verbose), NULL,
	  "log each ring that appears or disappears" },
	{ "help", 'h', VALUE_FLAG, offsetof(struct options, help), NULL, "print this" },
	{ "version", 'V', VALUE_FLAG, offsetof(struct options, version), NULL,
	  "print the version" },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

void options_help(FILE *out)
{
	fputs("Usage: resex-agent [OPTION]...\n"
	      "Publishes the RDMA rings of this guest's processes to the host (man resex-agent).\n",
	      out);
	for (size_t i = 0; i < ROWS; i++)
		fprintf(out, "  -%c, --%s%s%-*s %s\n", rows[i].letter, rows[i].name,
			rows[i].arg ? " " : "",
			(int)(18 - strlen(rows[i].name) - (rows[i].arg ? 1 : 0)),
			rows[i].arg ? rows[i].arg : "", rows[i].text);
}

static int parse_scan_ms(const char *text, long *out, FILE *err)
{
	char shown[64];
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || end == text || *end || v < 1 || v > SCAN_MS_MAX) {
		utf8_escape(text, shown, sizeof(shown));
		fprintf(err,
			"resex-agent: --scan-ms takes 1 to %d milliseconds, not \"%s\": see "
			"resex-agent --help\n",
			SCAN_MS_MAX, shown);
		return RESEX_USAGE;
	}
	*out = v;
	return 0;
}

/* "10ms", "1s": in nanoseconds; 0: it is neither. */
static int64_t parse_time(const char *text)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || text[0] < '0' || text[0] > '9' || v > GUEST_LOAD_PERIOD_MAX_NS / NS_PER_MS)
		return 0;
	if (!strcmp(end, "ms"))
		return v * NS_PER_MS;
	return !strcmp(end, "s") ? v * NS_PER_S : 0;
}

static int parse_load_period(const char *text, int64_t *out, FILE *err)
{
	int64_t ns = parse_time(text);
	char shown[64];

	if (!strcmp(text, "off")) {
		*out = 0;
		return 0;
	}
	if (ns < GUEST_LOAD_PERIOD_MIN_NS || ns > GUEST_LOAD_PERIOD_MAX_NS) {
		utf8_escape(text, shown, sizeof(shown));
		fprintf(err,
			"resex-agent: --load-period takes 1ms to 10s, or off, not \"%s\": see "
			"resex-agent --help\n",
			shown);
		return RESEX_USAGE;
	}
	*out = ns;
	return 0;
}

static int parse_program(const char *text, const char **out, FILE *err)
{
	char shown[64];

	if (*text != '/' || strlen(text) >= HOOK_PATH_MAX) {
		utf8_escape(text, shown, sizeof(shown));
		fprintf(err,
			"resex-agent: --hook takes an absolute path of at most %d bytes, not "
			"\"%s\": "
			"see resex-agent --help\n",
			HOOK_PATH_MAX - 1, shown);
		return RESEX_USAGE;
	}
	*out = text;
	return 0;
}

static int set_option(struct options *o, const struct option_row *r, const char *arg, FILE *err)
{
	void *at = (char *)o + r->offset;

	switch (r->value) {
	case VALUE_FLAG:
		*(bool *)at = true;
		break;
	case VALUE_TEXT:
		*(const char **)at = arg;
		break;
	case VALUE_SCAN_MS:
		return parse_scan_ms(arg, (long *)at, err);
	case VALUE_LOAD_PERIOD:
		return parse_load_period(arg, (int64_t *)at, err);
	case VALUE_PROGRAM:
		return parse_program(arg, (const char **)at, err);
	case VALUE_IGNORED:
		break;
	}
	return 0;
}

static const struct option_row *row_of(int letter)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].letter == letter)
			return &rows[i];
	return NULL;
}

int options_parse(struct options *o, int argc, char **argv, FILE *err)
{
	struct option longs[ROWS + 1] = { 0 };
	struct cmdline c = {
		.argc = argc, .argv = argv, .longs = longs, .help = "resex-agent --help"
	};
	char error[256];
	int letter, rc;

	*o = (struct options){ .scan_ms = SCAN_MS_DEFAULT,
			       .load_ns = LOAD_DEFAULT_NS,
			       .socket = AGENT_SOCKET };
	for (size_t i = 0; i < ROWS; i++)
		longs[i] = (struct option){ rows[i].name, rows[i].arg != NULL, NULL,
					    rows[i].letter };
	cmdline_begin(&c);
	while ((letter = cmdline_next(&c, error, sizeof(error))) >= 0) {
		rc = set_option(o, row_of(letter), optarg, err);
		if (rc)
			return rc;
	}
	if (letter == CMDLINE_END && optind < argc)
		cmdline_unexpected(&c, argv[optind], error, sizeof(error));
	if (letter != CMDLINE_END || optind < argc) {
		fprintf(err, "resex-agent: %s\n", error);
		return RESEX_USAGE;
	}
	if (o->json && !o->once) {
		fputs("resex-agent: --json works only with --once: give both\n", err);
		return RESEX_USAGE;
	}
	return 0;
}
