// SPDX-License-Identifier: GPL-2.0-or-later
/* options: one table of all options; getopt_long(3) gets the rows of the wanted set. */
#include "src/cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

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
	  AT(all_hosts), VALUE_FLAG, OPT_ALL_HOSTS, 0 },
	{ "file", "FILE", "take policy and parameters from FILE",
	  AT(file), VALUE_TEXT, OPT_FILE, 'f' },
	{ "undo", NULL, "let policies cap the guest again",
	  AT(undo), VALUE_FLAG, OPT_UNDO, 0 },
	{ "force", NULL, "break the lock before its holder has timed out",
	  AT(force), VALUE_FLAG, OPT_FORCE, 0 },
	{ "follow", NULL, "go on printing events as they happen",
	  AT(follow), VALUE_FLAG, OPT_EVENTS, 'f' },
	{ "lines", "NUMBER", "begin with the newest NUMBER events",
	  AT(lines), VALUE_COUNT, OPT_EVENTS, 'n' },
	{ "json", NULL, "print the reply as JSON",
	  AT(json), VALUE_FLAG, OPT_COMMON, 'j' },
	{ "socket", "SOCKET", "socket of resexd (default " RESEX_RUNDIR "/resexd.sock)",
	  AT(socket), VALUE_TEXT, OPT_COMMON, 's' },
	{ "help", NULL, "show this help",
	  AT(help), VALUE_FLAG, OPT_COMMON, 'h' },
	{ "version", NULL, "show the version",
	  AT(version), VALUE_FLAG, OPT_COMMON, 'V' },
};
/* clang-format on */
#undef AT

enum { ROWS = sizeof(rows) / sizeof(rows[0]), LONG_ONLY = 256 };

/* What getopt_long(3) returns for a row, and leaves in optopt. */
static int row_code(size_t i)
{
	return rows[i].letter ? rows[i].letter : LONG_ONLY + (int)i;
}

static const struct option_row *find_row(unsigned int set, int code)
{
	for (size_t i = 0; i < ROWS; i++)
		if ((rows[i].set & set) && row_code(i) == code)
			return &rows[i];
	return NULL;
}

/* One sentence: the word, with text before and after it, and where to read on. */
static int option_error(char *error, size_t size, const char *verb, const char *before,
			const char *word, const char *after)
{
	char shown[128];

	utf8_escape(word, shown, sizeof(shown));
	snprintf(error, size, "%s%s%s: see resex %s%s--help", before, shown, after,
		 verb ? verb : "", verb ? " " : "");
	return -1;
}

/* code: what getopt_long(3) returned for an option that it refused, in this word. */
static int refused_option(unsigned int set, int code, const char *verb, const char *word,
			  char *error, size_t size)
{
	const struct option_row *r = find_row(set, optopt);
	const char letter[] = { '-', (char)optopt, 0 };
	char name[32];

	if (!r) /* the word may be a cluster such as -jx: then the letter alone is wrong */
		return option_error(error, size, verb, "unknown option \"", optopt ? letter : word,
				    "\"");
	snprintf(name, sizeof(name), "--%s", r->name);
	return option_error(error, size, verb, "", word[1] == '-' ? name : letter,
			    code == ':' ? " needs a value" : " takes no value");
}

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
	char shorts[2 * ROWS + 3], *s = shorts;
	const struct option_row *r;
	int code, n = 0;

	if (!verb)
		*s++ = '+'; /* the first argument ends the options */
	*s++ = ':';	    /* a missing value is reported as one, not as an unknown option */
	for (size_t i = 0; i < ROWS; i++) {
		if (!(rows[i].set & set))
			continue;
		longs[n++] = (struct option){ rows[i].name, rows[i].arg != NULL, NULL,
					      row_code(i) };
		if (rows[i].letter)
			*s++ = rows[i].letter;
		if (rows[i].letter && rows[i].arg)
			*s++ = ':';
	}
	*s = 0;
	optind = 0; /* begin anew: there are two passes */
	opterr = 0;
	while ((code = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		r = find_row(set, code);
		if (!r)
			return refused_option(set, code, verb, argv[optind - 1], error, size);
		if (set_option(o, r, optarg))
			return option_error(error, size, verb,
					    "-n takes a number such as 10, not \"", optarg, "\"");
	}
	return optind;
}

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
