// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check: counts what replies break, while a run goes on and from its log afterwards.
 *
 * A log is outside input: each line is checked, and one that cannot be is an error that names its
 * number, since a log that is read in part would pass as right.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "src/cacheload/load.h"
#include "src/util/utf8.h"

uint64_t load_broken(const struct load_result *r)
{
	uint64_t n = 0;

	for (int i = 0; i < HISTORY_RULES; i++)
		n += r->broken[i];
	return n;
}

static void keep_first(struct load_result *r, unsigned bits, const char *asked, const char *why)
{
	int rule = 0;

	if (*r->first)
		return;
	while (!(bits & (1u << rule)))
		rule++;
	snprintf(r->first, sizeof(r->first), "%s: %s: %s", history_rule_names[rule], asked, why);
}

int load_judge(struct history *h, struct load_result *r, const struct history_reply *reply,
	       const char *asked)
{
	char why[LOAD_TEXT_MAX];
	int bits = history_reply(h, reply, why, sizeof(why));

	if (bits < 0)
		return bits;
	r->checked++;
	for (int i = 0; i < HISTORY_RULES; i++)
		r->broken[i] += (unsigned)bits >> i & 1;
	if (bits)
		keep_first(r, (unsigned)bits, asked, why);
	return 0;
}

void load_judge_wrong(struct load_result *r, const char *asked, const char *why)
{
	r->checked++;
	r->broken[HISTORY_WRONG]++;
	keep_first(r, 1u << HISTORY_WRONG, asked, why);
}

/* --- a log --- */

struct reader {
	struct history *h;
	struct load_result *r;
	struct history_state *state;
	size_t space;
	int64_t now; /* of the newest line */
};

static const char *text_of(const json_t *line, const char *key)
{
	const char *s = json_string_value(json_object_get(line, key));

	return s ? s : "";
}

/* -EINVAL: it is no number, or below 0. */
static int64_t number_of(const json_t *line, const char *key)
{
	const json_t *v = json_object_get(line, key);

	return json_is_integer(v) && json_integer_value(v) >= 0 ? json_integer_value(v) : -EINVAL;
}

static int read_states(struct reader *l, const char *text)
{
	return history_read(l->h, text, strlen(text), &l->state, &l->space);
}

static int read_base(struct reader *l, const json_t *line)
{
	int n = read_states(l, text_of(line, "states"));

	for (int i = 0; i < n; i++)
		history_base(l->h, &l->state[i]);
	return n < 0 ? n : 0;
}

static int read_begin(struct reader *l, const json_t *line)
{
	const json_t *things = json_object_get(line, "things");
	uint32_t thing[HISTORY_CHANGES_MAX];
	size_t n = json_array_size(things);

	if (!n || n > HISTORY_CHANGES_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		const char *name = json_string_value(json_array_get(things, i));
		int32_t id = name && *name && strlen(name) <= HISTORY_NAME_MAX
				     ? history_thing(l->h, name, strlen(name))
				     : -1;

		if (id < 0)
			return -EINVAL;
		thing[i] = (uint32_t)id;
		for (size_t k = 0; k < i; k++)
			if (thing[k] == thing[i])
				return -EINVAL;
	}
	if (history_begin(l->h, l->now, thing, n) != number_of(line, "u"))
		return -EINVAL; /* numbers begin with 1, and leave none out */
	l->r->begun++;
	return 0;
}

static int read_end(struct reader *l, const json_t *line)
{
	int64_t u = number_of(line, "u");
	uint64_t *count[] = { [HISTORY_DONE] = &l->r->done,
			      [HISTORY_NOT_DONE] = &l->r->not_done,
			      [HISTORY_UNKNOWN] = &l->r->unknown };

	for (enum history_end how = HISTORY_DONE; how <= HISTORY_UNKNOWN; how++) {
		if (strcmp(text_of(line, "how"), load_end_name(how)) != 0)
			continue;
		(*count[how])++;
		return u > 0 && u <= HISTORY_UPDATES_MAX &&
				       history_end(l->h, (uint32_t)u, l->now, how)
			       ? 0
			       : -EINVAL;
	}
	return -EINVAL;
}

static int read_reply(struct reader *l, const json_t *line)
{
	const json_t *states = json_object_get(line, "states");
	struct history_reply reply = { .begin = number_of(line, "b"), .end = l->now };
	char asked[64];
	int n;

	utf8_escape(text_of(line, "asked"), asked, sizeof(asked));
	if (reply.begin < 0 || reply.begin >= reply.end)
		return -EINVAL;
	if (strcmp(asked, "/states") != 0) {
		l->r->replies++;
		l->r->hits += json_is_true(json_object_get(line, "hit"));
	}
	if (json_is_null(states)) {
		load_judge_wrong(l->r, asked, "it is another page, or cannot be read");
		return 0;
	}
	n = read_states(l, text_of(line, "states"));
	if (n < 0)
		return n;
	reply.state = l->state;
	reply.states = (size_t)n;
	return load_judge(l->h, l->r, &reply, asked);
}

static int read_line(struct reader *l, const json_t *line)
{
	static const struct {
		const char *name;
		int (*read)(struct reader *l, const json_t *line);
	} kinds[] = {
		{ "base", read_base },
		{ "begin", read_begin },
		{ "end", read_end },
		{ "reply", read_reply },
	};
	int64_t t = number_of(line, "t");

	if (t <= l->now) /* also: none */
		return -EINVAL;
	l->now = t;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(text_of(line, "e"), kinds[i].name))
			return kinds[i].read(l, line);
	return -EINVAL;
}

static int read_lines(struct reader *l, FILE *f, uint64_t *n)
{
	char *text = NULL;
	size_t size = 0;
	ssize_t len;
	int rc = 0;

	while (!rc && (len = getline(&text, &size, f)) > 0) {
		json_t *line = text[len - 1] == '\n'
				       ? json_loadb(text, (size_t)len, JSON_REJECT_DUPLICATES, NULL)
				       : NULL; /* cut */

		(*n)++;
		rc = json_is_object(line) ? read_line(l, line) : -EINVAL;
		json_decref(line);
	}
	if (!rc && ferror(f))
		rc = -EIO;
	free(text);
	return rc;
}

int load_check(const char *file, struct load_result *r, char text[static LOAD_TEXT_MAX])
{
	struct reader l = { .r = r };
	char shown[128];
	uint64_t n = 0;
	FILE *f = fopen(file, "re");
	int rc = f ? history_open(&l.h) : -errno;

	utf8_escape(file, shown, sizeof(shown));
	if (!rc)
		rc = read_lines(&l, f, &n);
	if (!rc && !n)
		rc = -ENODATA;
	if (rc == -EINVAL)
		snprintf(text, LOAD_TEXT_MAX,
			 "%s:%" PRIu64 ": no line of a log: give a whole file of --log", shown, n);
	else if (rc == -ENODATA)
		snprintf(text, LOAD_TEXT_MAX, "%s: it is empty: give a whole file of --log", shown);
	else if (rc)
		snprintf(text, LOAD_TEXT_MAX,
			 "%s: cannot be read (%s): check its name and permissions", shown,
			 strerror(-rc));
	if (f)
		fclose(f);
	free(l.state);
	history_close(l.h);
	return rc;
}
