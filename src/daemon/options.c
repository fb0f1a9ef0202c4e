// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * options: one table of all options, of which getopt_long's lists and the help are
 * made. An error is one line that names the option and says what to do. main.c calls it before
 * anything is opened; the bash completion reads the options from the help.
 */
#include "src/daemon/options.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <stdio.h>
#include <string.h>

#include "resex/exit.h"
#include "src/conf/settings.h"
#include "src/util/cmdline.h"

static const struct cmdline_row rows[] = {
	{ 'c', "config", "FILE", "configuration (default " RESEX_CONFDIR "/resexd.json)" },
	{ 'C', "check", NULL, "check configuration, policy and cluster, and exit" },
	{ 'O', "observe", NULL, "count, account and decide, but set no cap" },
	{ 'R', "restore-caps", NULL, "restore the caps that an earlier run saved, and exit" },
	{ 'H', "hv", "NAME", "hypervisor: xen (default), or sim, a simulated host" },
	{ 'S', "scenario", "FILE", "run a scenario on the simulated host (with --hv sim)" },
	{ 'p', "policy", "NAME", "of the scenario, instead of its first" },
	{ 'P', "policy-dir", "DIR", "directory with policy plug-ins, for the scenario" },
	{ 'o', "summary", "FILE", "summary of the scenario, JSON (default: standard output)" },
	{ 's', "socket", "FILE", "control socket of a scenario on the real clock" },
	{ 'j', "schema", "NAME", "print the JSON Schema of a file, such as resexd.json" },
	{ 'f', "foreground", NULL, "stay in the foreground (always so; for scripts)" },
	{ 'v', "verbose", NULL, "log more" },
	{ 'h', "help", NULL, "print this" },
	{ 'V', "version", NULL, "print the version" },
	{ .name = NULL },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void print_help(void)
{
	puts("Usage: resexd [OPTION]...\n"
	     "Charge the guests of this Xen host for the RDMA and CPU they use, and cap those\n"
	     "that overspend.\n");
	cmdline_print_rows(rows, 14);
	puts("\nSee resexd(8), resexd.json(5), resex-scenario(5) and resex(1).");
}

/*
 * Two modes are refused, not the last one obeyed: an operator that adds --check to
 * --restore-caps wants to see first, and must not have caps changed by the order of words.
 */
static int set_mode(struct options *o, enum daemon_mode mode)
{
	if (o->mode == MODE_RUN || o->mode == mode) {
		o->mode = mode;
		return -1;
	}
	fputs("resexd: --check, --restore-caps, --observe and --schema are different things to do: "
	      "give one of them\n",
	      stderr);
	return RESEX_USAGE;
}

/* -1: go on; else the exit code. */
static int set_option(struct options *o, int letter, const char *value)
{
	switch (letter) {
	case 'c':
		o->config = value;
		break;
	case 'H':
		o->hv_name = value;
		break;
	case 'C':
		return set_mode(o, MODE_CHECK);
	case 'R':
		return set_mode(o, MODE_RESTORE);
	case 'O':
		return set_mode(o, MODE_OBSERVE);
	case 'S':
		o->scenario = value;
		break;
	case 'p':
		o->policy = value;
		break;
	case 'P':
		o->policy_dir = value;
		break;
	case 'o':
		o->summary = value;
		break;
	case 's':
		o->socket = value;
		break;
	case 'j':
		o->schema = value;
		return set_mode(o, MODE_SCHEMA);
	case 'v':
		o->level = LOG_LVL_DEBUG;
		break;
	case 'h':
		print_help();
		return RESEX_OK;
	case 'V':
		puts("resexd " PACKAGE_VERSION);
		return RESEX_OK;
	default: /* 'f': resexd never leaves the foreground */
		break;
	}
	return -1;
}

/* An error in the combination of options, or NULL. */
static const char *find_conflict(const struct options *o)
{
	if (!o->scenario && (o->policy || o->summary || o->socket))
		return "--policy, --summary and --socket are for a --scenario";
	if (!o->scenario && o->policy_dir)
		return "--policy-dir is for a --scenario: write policy_dir in resexd.json";
	if (o->scenario && o->mode == MODE_SCHEMA)
		return "--schema prints a schema, and runs no scenario: give one of them";
	if (!o->scenario)
		return NULL;
	if (!o->hv || !o->hv->simulated)
		return "a scenario is for the simulated host alone: add --hv sim";
	if (o->config)
		return "a scenario takes no --config: the scenario's own file has the settings";
	if (o->mode == MODE_RESTORE)
		return "a scenario leaves no caps behind: there is nothing to restore";
	if (o->socket && strlen(o->socket) > CONFIG_PATH_MAX)
		return "the socket's path is too long: use a shorter one";
	return NULL;
}

static int check_options(struct options *o)
{
	const char *conflict;

	o->hv = hv_backend_find(o->hv_name);
	conflict = find_conflict(o);
	if (conflict) {
		fprintf(stderr, "resexd: %s\n", conflict);
		return RESEX_USAGE;
	}
	if (o->mode == MODE_SCHEMA) /* whatever the host is */
		return -1;
	/*
	 * Filled in here, not in the daemon: SIGHUP reads this file again. The simulated host has
	 * a configuration of its own (trial.h).
	 */
	if (!o->config && !o->scenario && (!o->hv || !o->hv->simulated))
		o->config = RESEX_CONFDIR "/resexd.json";
	if (o->hv || o->mode == MODE_CHECK) /* a configuration may be for another host */
		return -1;
	fprintf(stderr, "resexd: no hypervisor \"%s\" here: try xen (if built with it) or sim\n",
		o->hv_name);
	return RESEX_USAGE;
}

int options_parse(struct options *o, int argc, char **argv)
{
	struct option longs[ROWS];
	struct cmdline c = { .argc = argc, .argv = argv, .longs = longs, .help = "resexd --help" };
	char error[256];
	int letter, rc;

	cmdline_longs(rows, longs);
	*o = (struct options){ .hv_name = "xen", .level = LOG_LVL_INFO };
	cmdline_begin(&c);
	while ((letter = cmdline_next(&c, error, sizeof(error))) >= 0) {
		rc = set_option(o, letter, optarg);
		if (rc >= 0)
			return rc;
	}
	if (letter == CMDLINE_END && optind == argc)
		return check_options(o);
	if (letter == CMDLINE_END)
		cmdline_unexpected(&c, argv[optind], error, sizeof(error));
	fprintf(stderr, "resexd: %s\n", error);
	return RESEX_USAGE;
}
