// SPDX-License-Identifier: GPL-2.0-or-later
/* cmdline: getopt_long(3), and sentences for what it refuses. See cmdline.h. */
#include "src/util/cmdline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/utf8.h"

enum { SHOWN_MAX = 128, LETTER_END = 256 };

void cmdline_longs(const struct cmdline_row *rows, struct option *longs)
{
	for (; rows->name; rows++)
		*longs++ = (struct option){
			.name = rows->name,
			.has_arg = rows->value ? required_argument : no_argument,
			.val = rows->letter,
		};
	*longs = (struct option){ .name = NULL };
}

void cmdline_print_rows(const struct cmdline_row *rows, int width)
{
	for (; rows->name; rows++) {
		char option[32];

		snprintf(option, sizeof(option), "%s%s%s", rows->name, rows->value ? " " : "",
			 rows->value ? rows->value : "");
		printf("  -%c, --%-*s %s\n", rows->letter, width, option, rows->help);
	}
}

void cmdline_begin(struct cmdline *c)
{
	char *s = c->shorts;

	if (c->stop)
		*s++ = '+';
	*s++ = ':'; /* a missing value is reported as one, not as an unknown option */
	for (const struct option *o = c->longs; o->name; o++) {
		if (o->val >= LETTER_END)
			continue;
		*s++ = (char)o->val;
		if (o->has_arg)
			*s++ = ':';
	}
	*s = 0;
	optind = 0; /* GNU: forget an earlier command line, also where it stopped in a word */
	opterr = 0;
}

static const struct option *find_option(const struct cmdline *c, int val)
{
	for (const struct option *o = c->longs; o->name; o++)
		if (o->val == val)
			return o;
	return NULL;
}

/* How many options a shortened long name may mean. */
static size_t count_candidates(const struct cmdline *c, const char *word)
{
	size_t len = strcspn(word, "="), n = 0;

	for (const struct option *o = c->longs; o->name; o++)
		n += strncmp(word, "--", 2) == 0 && strncmp(o->name, word + 2, len - 2) == 0;
	return n;
}

static int wrong_word(const struct cmdline *c, const char *before, const char *word,
		      const char *after, char *error, size_t size)
{
	char shown[SHOWN_MAX];

	utf8_escape(word, shown, sizeof(shown)); /* it goes to a terminal */
	snprintf(error, size, "%s%s%s: see %s", before, shown, after, c->help);
	return CMDLINE_WRONG;
}

/* An option that is known, as it was written in word: by its letter or its whole name. */
static int wrong_value(const struct cmdline *c, const struct option *o, const char *word,
		       const char *what, char *error, size_t size)
{
	char name[SHOWN_MAX];

	if (word[1] == '-')
		snprintf(name, sizeof(name), "--%s", o->name);
	else
		snprintf(name, sizeof(name), "-%c", o->val);
	return wrong_word(c, "", name, what, error, size);
}

/* got: what getopt_long(3) returned. optopt: the option's val, or 0 for an unknown long one. */
static int refused_option(const struct cmdline *c, int got, const char *word, char *error,
			  size_t size)
{
	const struct option *o = find_option(c, optopt);
	const char letter[] = { '-', (char)optopt, 0 };

	if (o)
		return wrong_value(c, o, word, got == ':' ? " needs a value" : " takes no value",
				   error, size);
	if (count_candidates(c, word) > 1)
		return wrong_word(c, "\"", word, "\" may be several options", error, size);
	/* Of joined letters such as -jx, the wrong one alone is named. */
	return wrong_word(c, "unknown option \"", optopt ? letter : word, "\"", error, size);
}

int cmdline_next(const struct cmdline *c, char *error, size_t size)
{
	int got = getopt_long(c->argc, c->argv, c->shorts, c->longs, NULL);
	const char *word;

	if (got == CMDLINE_END)
		return got;
	word = c->argv[optind - 1];
	if (got == '?' || got == ':')
		return refused_option(c, got, word, error, size);
	if (!find_option(c, got)->has_arg || *optarg)
		return got;
	/* An empty value is most often a variable that is not set: --file="$FILE". */
	if (optarg == word)
		word = c->argv[optind - 2];
	return wrong_value(c, find_option(c, got), word, " needs a value", error, size);
}

void cmdline_unexpected(const struct cmdline *c, const char *word, char *error, size_t size)
{
	wrong_word(c, "unexpected argument \"", word, "\"", error, size);
}

void cmdline_wrong_value(const char *name, const char *value, const char *remedy, char *error,
			 size_t size)
{
	char shown[SHOWN_MAX];

	utf8_escape(value, shown, sizeof(shown));
	snprintf(error, size, "--%s %s: %s", name, shown, remedy);
}

static int set_number(const struct cmdline_number *k, const char *name, const char *value,
		      char *error, size_t size)
{
	char remedy[80], *end;
	uint64_t v = strtoull(value, &end, 10);

	if (*value >= '0' && *value <= '9' && !*end && v >= k->min && v <= k->max) {
		*k->to = v;
		return 1;
	}
	snprintf(remedy, sizeof(remedy), "give a whole number from %" PRIu64 " to %" PRIu64, k->min,
		 k->max);
	cmdline_wrong_value(name, value, remedy, error, size);
	return -EINVAL;
}

int cmdline_set_number(const struct cmdline_row *rows, const struct cmdline_number *numbers,
		       size_t n, int letter, const char *value, char *error, size_t size)
{
	for (; n--; numbers++) {
		if (numbers->letter != letter)
			continue;
		while (rows->letter != letter)
			rows++;
		return set_number(numbers, rows->name, value, error, size);
	}
	return 0;
}
