// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * options: one table of all options of resex and its verbs. Help is printed from it, and cmdline
 * (src/util) gets the rows of the wanted set. See options.h.
 */
#include "src/cli/options.h"

#include <errno.h>
#include <stdlib.h>

#include "src/util/cmdline.h"
#include "src/util/utf8.h"

enum value { VALUE_FLAG, VALUE_TEXT, VALUE_COUNT };

struct option_row {
	const char *name;
	const char *arg; /* its value, for help; NULL: it takes none */
	const char *text;
	size_t offset; /* in struct options */
	enum value value;
	enum option_set set;
	char letter; /* 0: there is only the long form */
};

#define AT(member) offsetof(struct options, member)
/* clang-format off */
static const struct option_row rows[] = {
	{ "all-hosts", NULL, "show the guests of all hosts of the cluster",
	  AT(all_hosts), VALUE_FLAG, OPT_LIST, 0 },
	{ "totals", NULL, "show what guests did since they were first seen",
	  AT(totals), VALUE_FLAG, OPT_LIST, 0 },
	{ "all-sources", NULL, "show of guests what the hypervisor and their agents say",
	  AT(all_sources), VALUE_FLAG, OPT_ALL_SOURCES, 0 },
	{ "file", "FILE", "take policy and parameters from FILE",
	  AT(file), VALUE_TEXT, OPT_FILE, 'f' },
	{ "undo", NULL, "let policies cap the guest again",
	  AT(undo), VALUE_FLAG, OPT_UNDO, 0 },
	{ "force", NULL, "also before its holder has timed out, or if a member differs",
	  AT(force), VALUE_FLAG, OPT_FORCE, 0 },
	{ "dry-run", NULL, "only say what would change, or why it is refused",
	  AT(dry_run), VALUE_FLAG, OPT_DRY_RUN, 'n' },
	{ "node", NULL, "the name is a node's",
	  AT(node), VALUE_FLAG, OPT_NODE, 'n' },
	{ "verbose", NULL, "also show the weight of each server",
	  AT(verbose), VALUE_FLAG, OPT_VERBOSE, 'v' },
	{ "since", "TIME", "only those of the newest TIME: 90s, 10m, 2h, 3d",
	  AT(since), VALUE_TEXT, OPT_HISTORY, 0 },
	{ "verbose", NULL, "show all that is known of each move",
	  AT(verbose), VALUE_FLAG, OPT_HISTORY, 'v' },
	{ "follow", NULL, "go on printing events as they happen",
	  AT(follow), VALUE_FLAG, OPT_EVENTS, 'f' },
	{ "lines", "NUMBER", "begin with the newest NUMBER events",
	  AT(lines), VALUE_COUNT, OPT_EVENTS, 'n' },
	{ "kind", "KIND", "only events of this kind, such as cap",
	  AT(kind), VALUE_TEXT, OPT_KIND, 'k' },
	{ "delay", "SECONDS", "between two rounds, 0.1 to 3600 (default 1)",
	  AT(delay), VALUE_TEXT, OPT_TOP, 'd' },
	{ "count", "NUMBER", "end after NUMBER rounds",
	  AT(lines), VALUE_COUNT, OPT_TOP, 'n' },
	{ "batch", NULL, "print each round as plain text",
	  AT(batch), VALUE_FLAG, OPT_TOP, 'b' },
	{ "sort", "COLUMN", "sort guests by COLUMN; -COLUMN: the other way round",
	  AT(sort), VALUE_TEXT, OPT_TOP, 'o' },
	{ "cap-test", "GUEST", "try whether a cap limits GUEST: it is capped for some seconds",
	  AT(cap_test), VALUE_TEXT, OPT_DOCTOR, 0 },
	{ "yes", NULL, "do not ask before a guest is capped",
	  AT(yes), VALUE_FLAG, OPT_DOCTOR, 'y' },
	{ "list", NULL, "only show which checks there are",
	  AT(list), VALUE_FLAG, OPT_DOCTOR, 0 },
	{ "json", NULL, "print the reply as JSON",
	  AT(json), VALUE_FLAG, OPT_COMMON, 'j' },
	{ "all", NULL, "all pages",
	  AT(all), VALUE_FLAG, OPT_EVICT, 'a' },
	{ "force", NULL, "also a host that beats",
	  AT(force), VALUE_FLAG, OPT_REMOVE, 0 },
	{ "socket", "SOCKET", "socket of the daemon (default " RESEX_RUNDIR "/resexd.sock, or "
	  RESEX_RUNDIR "-cached/api.sock)",
	  AT(socket), VALUE_TEXT, OPT_COMMON, 's' },
	{ "help", NULL, "show this help",
	  AT(help), VALUE_FLAG, OPT_COMMON, 'h' },
	{ "version", NULL, "show the version",
	  AT(version), VALUE_FLAG, OPT_COMMON, 'V' },
};
/* clang-format on */
#undef AT

enum { ROWS = sizeof(rows) / sizeof(rows[0]), LONG_ONLY = 256 };

/* What getopt_long(3) returns for a row, and leaves in optopt: above all letters if it has none. */
static int row_code(size_t i)
{
	return rows[i].letter ? rows[i].letter : LONG_ONLY + (int)i;
}

/* By set, too: the same letter is another option of another verb. */
static const struct option_row *find_row(unsigned int set, int code)
{
	for (size_t i = 0; i < ROWS; i++)
		if ((rows[i].set & set) && row_code(i) == code)
			return &rows[i];
	return NULL;
}

/* A negative number is refused: -1 in options.lines means that none was given. */
static int set_count(const char *text, long *out)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (end == text || *end || v < 0 || errno)
		return -EINVAL;
	*out = v;
	return 0;
}

static int set_option(struct options *o, const struct option_row *r, const char *value)
{
	void *at = (char *)o + r->offset;

	switch (r->value) {
	case VALUE_FLAG:
		*(bool *)at = true;
		return 0;
	case VALUE_TEXT:
		*(const char **)at = value;
		return 0;
	case VALUE_COUNT:
		return set_count(value, at);
	}
	return -EINVAL;
}

int options_parse(struct options *o, unsigned int set, const char *verb, int argc, char **argv,
		  char *error, size_t size)
{
	struct option longs[ROWS + 1] = { 0 };
	char help[64], shown[128];
	struct cmdline c = {
		.argc = argc, .argv = argv, .longs = longs, .stop = !verb, .help = help
	};
	const struct option_row *r;
	int code, n = 0;

	snprintf(help, sizeof(help), "resex %s%s--help", verb ? verb : "", verb ? " " : "");
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].set & set)
			longs[n++] = (struct option){ rows[i].name, rows[i].arg != NULL, NULL,
						      row_code(i) };
	cmdline_begin(&c);
	while ((code = cmdline_next(&c, error, size)) >= 0) {
		r = find_row(set, code);
		if (!set_option(o, r, optarg))
			continue;
		utf8_escape(optarg, shown, sizeof(shown));
		snprintf(error, size, "-n takes a number such as 10, not \"%s\": see %s", shown,
			 help);
		return -1;
	}
	return code == CMDLINE_END ? optind : -1;
}

/* Options without a letter are indented, so that the long names begin in one column. */
void options_print(FILE *f, unsigned int set)
{
	char form[48];

	for (const struct option_row *r = rows; r < rows + ROWS; r++) {
		if (!(r->set & set))
			continue;
		snprintf(form, sizeof(form), "%c%c%s --%s%s%s", r->letter ? '-' : ' ',
			 r->letter ? r->letter : ' ', r->letter ? "," : " ", r->name,
			 r->arg ? " " : "", r->arg ? r->arg : "");
		fprintf(f, "  %-21s %s\n", form, r->text);
	}
}
