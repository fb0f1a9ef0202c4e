/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmdline: the options of a command line, by getopt_long(3), for all programs: what is wrong
 * is said in the same words by each of them.
 */
#ifndef RESEX_UTIL_CMDLINE_H
#define RESEX_UTIL_CMDLINE_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CMDLINE_OPTIONS_MAX = 64 };

/* An option of a program whose every option has a letter: of a table, ended by name NULL. */
struct cmdline_row {
	char letter;
	const char *name;
	const char *value; /* its name in the help; NULL: the option takes no value */
	const char *help;
};

/* Fill in longs, for struct cmdline: as many as there are rows, and its end. */
void cmdline_longs(const struct cmdline_row *rows, struct option *longs);
/* Print a line for each row; the help begins behind width characters of name and value. */
void cmdline_print_rows(const struct cmdline_row *rows, int width);

struct cmdline {
	int argc;
	char **argv; /* argv[0] is skipped; unless stop is set, options are moved to the front */
	const struct option *longs; /* ended by name NULL; a val below 256 is also its letter */
	bool stop;		    /* at the first word that is not an option */
	const char *help;	    /* the command that explains the options: "resex list --help" */
	char shorts[2 * CMDLINE_OPTIONS_MAX + 3]; /* of cmdline_begin() */
};

/* Begin at the first word. getopt_long(3) has one state: only one command line at a time. */
void cmdline_begin(struct cmdline *c);

enum { CMDLINE_END = -1, CMDLINE_WRONG = -2 };
/*
 * The val of the next option, with its value in optarg; CMDLINE_END, with the first word that is
 * not an option at argv[optind]; or CMDLINE_WRONG, with one sentence in error: the option is not
 * known or not the only one of that beginning, or has a value too many, too few, or an empty one.
 */
int cmdline_next(const struct cmdline *c, char *error, size_t size);
/* The sentence "--NAME VALUE: REMEDY" for a value that the option does not take. */
void cmdline_wrong_value(const char *name, const char *value, const char *remedy, char *error,
			 size_t size);

/* An option that takes a whole number from min to max, below UINT64_MAX, and where it goes. */
struct cmdline_number {
	char letter;
	uint64_t min, max;
	uint64_t *to;
};

/*
 * Set the one of n numbers that has this letter. 1: it is set; 0: none has this letter; -EINVAL,
 * with a sentence in error: the value is not a whole number of its range.
 */
int cmdline_set_number(const struct cmdline_row *rows, const struct cmdline_number *numbers,
		       size_t n, int letter, const char *value, char *error, size_t size);
/* The sentence for a word that is not an option where none is expected. */
void cmdline_unexpected(const struct cmdline *c, const char *word, char *error, size_t size);

#endif
