/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options: the options of resex and of its verbs, parsed by getopt_long(3). The common ones may
 * come before or after the verb, those of a verb after it, in any order with its arguments.
 */
#ifndef RESEX_CLI_OPTIONS_H
#define RESEX_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A set of options; OPT_COMMON: --json, --socket, --help and --version. */
enum option_set {
	OPT_NONE = 0,
	OPT_COMMON = 1 << 0,
	OPT_LIST = 1 << 1, /* --totals, --all-hosts */
	OPT_FILE = 1 << 2,
	OPT_UNDO = 1 << 3,
	OPT_FORCE = 1 << 4,
	OPT_EVENTS = 1 << 5, /* --follow and --lines */
	OPT_DRY_RUN = 1 << 6,
	OPT_ALL_SOURCES = 1 << 7,
	OPT_NODE = 1 << 8,
	OPT_VERBOSE = 1 << 9,
	OPT_HISTORY = 1 << 10, /* --since, and another --verbose */
	OPT_EVICT = 1 << 11,   /* --all */
	OPT_REMOVE = 1 << 12,  /* another --force */
	OPT_CACHED = 1 << 13,  /* no option: the verb is for resex-cached, not for resexd */
	OPT_TOP = 1 << 14,     /* --delay, --count, --batch and --sort */
	OPT_DOCTOR = 1 << 15,  /* --cap-test, --yes, --list */
	OPT_KIND = 1 << 17,    /* --kind */
	OPT_ALONE = 1 << 16,   /* no option: the verb itself calls resexd, if it needs to */
};

struct options {
	const char *socket; /* NULL: not given */
	bool json, help, version;
	bool all, all_hosts, all_sources, totals, undo, force, dry_run, follow, node, verbose;
	bool batch, yes, list;
	const char *file, *since, *delay, *sort, *cap_test, *kind; /* NULL: not given */
	long lines;						   /* also --count; -1: not given */
};

/*
 * Parse the options of one set. verb NULL: stop at the first word that is not an option. Else
 * argv[0] is the verb, and options may be between its arguments, which are moved behind them.
 * The index of the first word that is not an option, or -1 with one sentence in error.
 */
int options_parse(struct options *o, unsigned int set, const char *verb, int argc, char **argv,
		  char *error, size_t size);

/* One line an option of the set, for help. */
void options_print(FILE *f, unsigned int set);

#endif
