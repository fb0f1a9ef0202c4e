/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steps: tests that are rows of a table. A row has a name and a script, in which what
 * happens is followed by what must hold then:
 *
 *	"publish 2, 3 x scan -> waves 1, shown; tear host, scan -> why EAGAIN"
 *
 * A step is a verb with numbers and words; "3 x scan" happens three times. Behind "->" and
 * before the next ";", a step is an expectation: the name of a figure, and its value (2),
 * or the range that it is in (2..5, 2.. or ..5). The verbs are those of the test program,
 * which passes its functions in struct steps_ops. See TEST_ROWS() of unit.h, too.
 */
#ifndef RESEX_TESTS_STEPS_H
#define RESEX_TESTS_STEPS_H

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

enum { STEP_TEXT = 120, STEP_WORD = 24, STEP_NUMBERS = 5 };

struct step {
	char text[STEP_TEXT]; /* all of it, for messages */
	char verb[STEP_WORD];
	const char *rest;     /* what follows the verb, or "" */
	char word[STEP_WORD]; /* the first word behind the verb, or "" */
	uint64_t n[STEP_NUMBERS];
	int numbers;	    /* how many of n are given; the others are 0 */
	uint64_t low, high; /* the range that n[0] stands for */
	uint64_t times;
};

struct steps_ops {
	void (*act)(void *rig, const struct step *s);
	void (*look)(void *rig); /* called at each "->"; may be NULL */
	void (*check)(void *rig, const struct step *s);
};

static inline bool step_is(const struct step *s, const char *verb)
{
	return !strcmp(s->verb, verb);
}

static inline bool step_says(const struct step *s, const char *word)
{
	return !strcmp(s->word, word);
}

/* n[i], or what a step means that does not give it. */
static inline uint64_t step_number(const struct step *s, int i, uint64_t otherwise)
{
	return i < s->numbers ? s->n[i] : otherwise;
}

static inline void step_unknown(const struct step *s)
{
	fail_msg("there is no such step: \"%s\"", s->text);
}

/* What the expectation names is in its range. */
static inline void step_expect(const struct step *s, uint64_t is)
{
	if (!s->numbers)
		fail_msg("the expectation \"%s\" has no value", s->text);
	if (is < s->low || is > s->high)
		print_error("expected \"%s\", but it is %ju\n", s->text, (uintmax_t)is);
	assert_in_range(is, s->low, s->high);
}

/* The error whose name is the step's word; positive. */
static inline int step_errno(const struct step *s)
{
	static const struct {
		const char *name;
		int value;
	} errors[] = {
		{ "EAGAIN", EAGAIN },	      { "EBADMSG", EBADMSG },
		{ "EBUSY", EBUSY },	      { "EINVAL", EINVAL },
		{ "ECONNRESET", ECONNRESET }, { "EIO", EIO },
		{ "ENODEV", ENODEV },	      { "ENOMSG", ENOMSG },
		{ "ENOTCONN", ENOTCONN },     { "EPROTONOSUPPORT", EPROTONOSUPPORT },
		{ "ESTALE", ESTALE },	      { "ETIME", ETIME },
		{ "ETIMEDOUT", ETIMEDOUT },
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (step_says(s, errors[i].name))
			return errors[i].value;
	step_unknown(s);
	return 0;
}

struct step_figure {
	const char *name;
	uint64_t is;
};

/* The figure that the expectation names is in its range. False: none has that name. */
static inline bool step_expect_figure(const struct step *s, const struct step_figure *figures,
				      size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (step_is(s, figures[i].name)) {
			step_expect(s, figures[i].is);
			return true;
		}
	return false;
}

/* What the expectation names holds. */
static inline void step_holds(const struct step *s, bool does)
{
	if (!does)
		print_error("expected \"%s\"\n", s->text);
	assert_true(does);
}

/* 2, 0x10, 2..5, 2.. or ..5 */
static inline void step_read_number(struct step *s, const char *text)
{
	char *end = (char *)(uintptr_t)text;
	uint64_t low = isdigit((unsigned char)*text) ? strtoull(text, &end, 0) : 0, high = low;

	assert_true(s->numbers < STEP_NUMBERS);
	if (!strncmp(end, "..", 2)) {
		end += 2;
		high = *end ? strtoull(end, &end, 0) : UINT64_MAX;
	}
	if (*end)
		fail_msg("not a number: \"%s\"", text);
	if (!s->numbers) {
		s->low = low;
		s->high = high;
	}
	s->n[s->numbers++] = low;
}

static inline void step_read(struct step *s, const char *text, size_t len)
{
	char copy[STEP_TEXT], *next = NULL;

	*s = (struct step){ .times = 1 };
	if (len >= sizeof(copy))
		fail_msg("a step is too long: \"%s\"", text);
	memcpy(copy, text, len);
	copy[len] = '\0';
	memcpy(s->text, copy, len + 1);
	s->rest = "";
	for (char *w = strtok_r(copy, " ", &next); w; w = strtok_r(NULL, " ", &next)) {
		if (!s->verb[0] && !strcmp(w, "x")) {
			s->times = s->n[0];
			s->numbers = 0;
		} else if (isdigit((unsigned char)*w) || *w == '.') {
			step_read_number(s, w);
		} else if (!s->verb[0]) {
			assert_true(strlen(w) < STEP_WORD);
			strcpy(s->verb, w);
			s->rest = s->text + (w - copy) + strlen(w);
			s->rest += strspn(s->rest, " ");
		} else if (!s->word[0] && strlen(w) < STEP_WORD) {
			strcpy(s->word, w);
		}
	}
}

/* The whole script; what is expected at its end, too. */
static inline void steps_run(const char *script, const struct steps_ops *ops, void *rig)
{
	bool expects = false;

	for (const char *at = script + strspn(script, " "); *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, ",;");
		const char *arrow = strstr(at, "->");
		struct step s;

		if (arrow && arrow < at + len)
			len = (size_t)(arrow - at);
		while (len && at[len - 1] == ' ')
			len--;
		if (len) {
			step_read(&s, at, len);
			for (uint64_t i = 0; i < s.times; i++)
				(expects ? ops->check : ops->act)(rig, &s);
		}
		at += len;
		at += strspn(at, " ");
		if (*at == ',') {
			at++;
		} else if (*at == ';') {
			expects = false;
			at++;
		} else if (*at == '-') {
			expects = true;
			at += 2;
			if (ops->look)
				ops->look(rig);
		}
	}
	if (!expects)
		fail_msg("a script that expects nothing: \"%s\"", script);
}

#endif
