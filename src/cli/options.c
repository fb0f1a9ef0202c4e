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
	char letter;	 /* 0: there is only the long form */
	const char *arg; /* its value, for help; NULL: it takes none */
	enum value value;
	size_t offset; /* in struct options */
	enum option_set set;
	const char *text;
};

static const struct option_row rows[] = {
	{ "all-hosts", 0, NULL, VALUE_FLAG, offsetof(struct options, all_hosts), OPT_ALL_HOSTS,
	  "show the guests of all hosts of the cluster" },
	{ "file", 'f', "FILE", VALUE_TEXT, offsetof(struct options, file), OPT_FILE,
	  "take policy and parameters from FILE" },
	{ "undo", 0, NULL, VALUE_FLAG, offsetof(struct options, undo), OPT_UNDO,
	  "let policies cap the guest again" },
	{ "force", 0, NULL, VALUE_FLAG, offsetof(struct options, force), OPT_FORCE,
	  "break the lock before its holder has timed out" },
	{ "follow", 'f', NULL, VALUE_FLAG, offsetof(struct options, follow), OPT_EVENTS,
	  "go on printing events as they happen" },
	{ "lines", 'n', "NUMBER", VALUE_COUNT, offsetof(struct options, lines), OPT_EVENTS,
	  "begin with the newest NUMBER events" },
	{ "json", 'j', NULL, VALUE_FLAG, offsetof(struct options, json), OPT_COMMON,
	  "print the reply as JSON" },
	{ "socket", 's', "SOCKET", VALUE_TEXT, offsetof(struct options, socket), OPT_COMMON,
	  "socket of resexd (default " RESEX_RUNDIR "/resexd.sock)" },
	{ "help", 'h', NULL, VALUE_FLAG, offsetof(struct options, help), OPT_COMMON,
	  "show this help" },
	{ "version", 'V', NULL, VALUE_FLAG, offsetof(struct options, version), OPT_COMMON,
	  "show the version" },
};

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
static int fail(char *error, size_t size, const char *verb, const char *before, const char *word,
		const char *after)
{
	char shown[128];

	utf8_escape(word, shown, sizeof(shown));
	snprintf(error, size, "%s%s%s: see resex %s%s--help", before, shown, after,
		 verb ? verb : "", verb ? " " : "");
	return -1;
}

/* code: what getopt_long(3) returned for an option that it refused, in this word. */
static int refuse(unsigned int set, int code, const char *verb, const char *word, char *error,
		  size_t size)
{
	const struct option_row *r = find_row(set, optopt);
	const char letter[] = { '-', (char)optopt, 0 };
	char name[32];

	if (!r) /* the word may be a cluster such as -jx: then the letter alone is wrong */
		return fail(error, size, verb, "unknown option \"", optopt ? letter : word, "\"");
	snprintf(name, sizeof(name), "--%s", r->name);
	return fail(error, size, verb, "", word[1] == '-' ? name : letter,
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
			return refuse(set, code, verb, argv[optind - 1], error, size);
		if (set_option(o, r, optarg))
			return fail(error, size, verb, "-n takes a number such as 10, not \"",
				    optarg, "\"");
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
