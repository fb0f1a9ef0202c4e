// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * options: the command line of resex-auction, of one table: getopt_long's list and the help are
 * made of it, and the bash completion reads the help. main.c calls it first.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/auction/auction.h"
#include "src/util/cmdline.h"

static const struct cmdline_row rows[] = {
	{ 'd', "db", "DB", "sqlite:FILE, or a connection string of PostgreSQL" },
	{ 'l', "listen", "ADDRESS:PORT", "where to serve; port 0: any (127.0.0.1:8080)" },
	{ 'c', "cache", "SOCKET", "of resex-cached (its default)" },
	{ 'N', "no-cache", NULL, "the base case: plain transactions, no tags" },
	{ 't', "threads", "N", "threads that compute pages, 1 to 256 (8)" },
	{ 'u', "updaters", "N", "threads that change, 1 to 256 (8)" },
	{ 'w', "work", "MS", "what each page costs besides, as 4 or 0.5 (0)" },
	{ 'C', "cpu", NULL, "this cost is CPU time; without it, sleep" },
	{ 'L', "list", "N", "items that a category's page shows, 2 to 63 (20)" },
	{ 'D', "depends", "N", "each page depends on N things, 1 to 64 (differs)" },
	{ 'i', "init", NULL, "make the tables, fill them, and end" },
	{ 's', "schema", "FILE", "of --init: SQL of the tables" },
	{ 'g', "guard", "FILE", "of --init: SQL of the triggers, run at the end" },
	{ 'I', "items", "N", "of --init (1000)" },
	{ 'U', "users", "N", "of --init (200)" },
	{ 'G', "categories", "N", "of --init (50)" },
	{ 'v', "verbose", NULL, "say why pages are not cached" },
	{ 'h', "help", NULL, "print this" },
	{ 'V', "version", NULL, "print the version" },
	{ .name = NULL },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void print_help(void)
{
	puts("Usage: resex-auction -d DB [OPTION]...\n"
	     "       resex-auction -d DB --init --schema FILE [OPTION]...\n"
	     "Serve the pages of an auction, which a proxy may cache.\n");
	cmdline_print_rows(rows, 22);
	puts("\nSee resex-auction(1) and resex_cache(3).");
}

static int refuse(const char *error)
{
	fprintf(stderr, "resex-auction: %s\n", error);
	return RESEX_USAGE;
}

static int wrong(const char *name, const char *value, const char *remedy)
{
	char error[256];

	cmdline_wrong_value(name, value, remedy, error, sizeof(error));
	return refuse(error);
}

static int set_work(struct auction_options *o, const char *value)
{
	char *end;
	double ms = strtod(value, &end);

	if (*end || !(ms >= 0 && ms <= 10000))
		return wrong("work", value, "give milliseconds from 0 to 10000, as 4 or 0.5");
	o->work_ns = (int64_t)(ms * 1e6);
	return -1;
}

static int set_text(struct auction_options *o, int letter, const char *value)
{
	switch (letter) {
	case 'd':
		o->db = value;
		break;
	case 'l':
		o->listen = value;
		break;
	case 'c':
		o->cache = value;
		break;
	case 's':
		o->schema = value;
		break;
	default: /* 'g' */
		o->guard = value;
	}
	return -1;
}

static int set_flag(struct auction_options *o, int letter)
{
	switch (letter) {
	case 'N':
		o->no_cache = true;
		break;
	case 'C':
		o->work_cpu = true;
		break;
	case 'i':
		o->init = true;
		break;
	case 'v':
		o->verbose = true;
		break;
	case 'h':
		print_help();
		return RESEX_OK;
	default: /* 'V' */
		puts("resex-auction " PACKAGE_VERSION);
		return RESEX_OK;
	}
	return -1;
}

static int set_option(struct auction_options *o, int letter, const char *value)
{
	const struct cmdline_number numbers[] = {
		{ 't', 1, AUCTION_THREADS_MAX, &o->threads },
		{ 'u', 1, AUCTION_THREADS_MAX, &o->updaters },
		{ 'L', 2, AUCTION_THINGS_MAX - 1, &o->list },
		{ 'D', 1, AUCTION_THINGS_MAX, &o->depends },
		{ 'I', 1, 10000000, &o->items },
		{ 'U', 1, 10000000, &o->users },
		{ 'G', 1, 100000, &o->categories },
	};
	char error[256];
	int rc = cmdline_set_number(rows, numbers, sizeof(numbers) / sizeof(numbers[0]), letter,
				    value, error, sizeof(error));

	if (rc)
		return rc > 0 ? -1 : refuse(error);
	if (letter == 'w')
		return set_work(o, value);
	return strchr("dlcsg", letter) ? set_text(o, letter, value) : set_flag(o, letter);
}

static int complete(const struct auction_options *o)
{
	const char *rest;

	if (!o->db) {
		fputs("resex-auction: no database: give --db sqlite:FILE, or a connection string "
		      "as "
		      "\"host=/run/postgresql dbname=auction\"\n",
		      stderr);
		return RESEX_USAGE;
	}
	if (!db_find(o->db, &rest))
		return wrong("db", o->db,
			     "give sqlite:FILE or a connection string, of a database that this "
			     "program was built with");
	if (o->init && !o->schema) {
		fputs("resex-auction: --init: give --schema FILE too: etc/cache/auction.sql, or "
		      "auction-sqlite.sql beside it\n",
		      stderr);
		return RESEX_USAGE;
	}
	if (o->no_cache && o->cache) {
		fputs("resex-auction: --no-cache and --cache: leave out one of both\n", stderr);
		return RESEX_USAGE;
	}
	return -1;
}

int auction_options(struct auction_options *o, int argc, char **argv)
{
	struct option longs[ROWS];
	struct cmdline c = {
		.argc = argc, .argv = argv, .longs = longs, .help = "resex-auction --help"
	};
	char error[256];
	int letter, rc = -1;

	cmdline_longs(rows, longs);
	*o = (struct auction_options){ .listen = "127.0.0.1:8080",
				       .threads = 8,
				       .updaters = 8,
				       .list = 20,
				       .items = 1000,
				       .users = 200,
				       .categories = 50 };
	cmdline_begin(&c);
	while (rc < 0 && (letter = cmdline_next(&c, error, sizeof(error))) >= 0)
		rc = set_option(o, letter, optarg);
	if (rc >= 0)
		return rc;
	if (letter == CMDLINE_END && optind < argc) {
		cmdline_unexpected(&c, argv[optind], error, sizeof(error));
		letter = CMDLINE_WRONG;
	}
	if (letter == CMDLINE_END)
		return complete(o);
	return refuse(error);
}
