/* SPDX-License-Identifier: GPL-2.0-or-later */
/* benchex_rig: run a function of the command line and capture its output. */
#ifndef RESEX_TESTS_BENCHEX_RIG_H
#define RESEX_TESTS_BENCHEX_RIG_H

#include <string.h>

#include "resex/exit.h"
#include "src/benchex/parts.h"
#include "tests/unit/tmpdir.h"

enum { RIG_ARGS = 32 };

struct caught {
	char *out, *err; /* never NULL; freed by caught_free() */
	int saved[2];
	FILE *to[2];
};

static inline void catch_begin(struct caught *c)
{
	fflush(stdout);
	fflush(stderr);
	for (int i = 0; i < 2; i++) {
		c->to[i] = tmpfile();
		assert_non_null(c->to[i]);
		c->saved[i] = dup(i + 1);
		assert_true(c->saved[i] >= 0 && dup2(fileno(c->to[i]), i + 1) >= 0);
	}
}

static inline char *caught_text(FILE *f)
{
	long n;
	char *s;

	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	n = ftell(f);
	assert_true(n >= 0);
	rewind(f);
	s = calloc(1, (size_t)n + 1);
	assert_non_null(s);
	assert_int_equal(fread(s, 1, (size_t)n, f), (size_t)n);
	fclose(f);
	return s;
}

static inline void catch_end(struct caught *c)
{
	fflush(stdout);
	fflush(stderr);
	clearerr(stdout);
	for (int i = 0; i < 2; i++) {
		assert_true(dup2(c->saved[i], i + 1) >= 0);
		close(c->saved[i]);
	}
	c->out = caught_text(c->to[0]);
	c->err = caught_text(c->to[1]);
}

static inline void caught_free(struct caught *c)
{
	free(c->out);
	free(c->err);
}

/* The words of line, which lives as long as argv is used. */
static inline int rig_words(char *line, char *argv[RIG_ARGS])
{
	char *save, *word = strtok_r(line, " ", &save);
	int argc = 0;

	for (; word; word = strtok_r(NULL, " ", &save)) {
		assert_true(argc < RIG_ARGS - 1);
		argv[argc++] = word;
	}
	argv[argc] = NULL;
	return argc;
}

/* One sentence: begins with the program's name, ends with the line. */
static inline bool one_sentence(const char *err)
{
	size_t n = strlen(err);

	return n && !strncmp(err, "benchex: ", 9) && strchr(err, '\n') == err + n - 1;
}

#endif
