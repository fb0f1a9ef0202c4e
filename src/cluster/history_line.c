// SPDX-License-Identifier: GPL-2.0-or-later
/* history_line: a move as a line of history.jsonl, and back. Any line may come. See history.h. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "src/cluster/history.h"

/* The members of a line but its id, in their order. */
struct member {
	const char *key;
	size_t at;
	size_t size; /* of a text; 0: a number */
	bool newer;  /* earlier releases did not write it: "", or -1 */
};

#define AT(name)     offsetof(struct cluster_move, name)
#define TEXT(name)   AT(name), sizeof(((struct cluster_move *)0)->name)
#define NUMBER(name) AT(name), 0
static const struct member members[] = {
	{ "wall_ns", NUMBER(wall_ns), false },
	{ "node", TEXT(node), false },
	{ "from", TEXT(donor), false },
	{ "to", TEXT(taker), false },
	{ "why", TEXT(why), false },
	{ "outcome", TEXT(outcome), false },
	{ "high_ns", NUMBER(high_ns), false },
	{ "seen_wall_ns", NUMBER(seen_wall_ns), false },
	{ "taker_before", NUMBER(taker_before), false },
	{ "donor_before", NUMBER(donor_before), false },
	{ "taker_predicted", NUMBER(taker_predicted), false },
	{ "donor_predicted", NUMBER(donor_predicted), false },
	{ "taker_seen", NUMBER(taker_seen), false },
	{ "donor_seen", NUMBER(donor_seen), false },
	{ "host", TEXT(host), true },
	{ "taker_fence", TEXT(taker_fence), true },
	{ "donor_fence", TEXT(donor_fence), true },
	{ "told", NUMBER(told), true },
	{ "held_ns", NUMBER(held_ns), true },
	{ "read_ns", NUMBER(read_ns), true },
	{ "told_ns", NUMBER(told_ns), true },
	{ "moved_ns", NUMBER(moved_ns), true },
	{ "released_ns", NUMBER(released_ns), true },
};

/* A higher one is none of ours, and ids go on above the highest that was read. */
#define ID_MAX (1ll << 53)

enum { MEMBERS = sizeof(members) / sizeof(members[0]) };

char *history_line(const struct cluster_move *m)
{
	json_t *o = json_pack("{s:I}", "id", (json_int_t)m->id);
	char *text = NULL;

	for (const struct member *k = members; o && k < members + MEMBERS; k++) {
		const char *at = (const char *)m + k->at;
		int64_t v;

		memcpy(&v, at, sizeof(v));
		json_object_set_new(o, k->key, k->size ? json_string(at) : json_integer(v));
	}
	if (o)
		text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return text;
}

static bool get_member(const json_t *o, const struct member *k, char *to)
{
	const json_t *v = json_object_get(o, k->key);
	int64_t n = v ? json_integer_value(v) : -1;

	if (!v && !k->newer)
		return false;
	if (k->size) {
		if (v && (!json_is_string(v) || json_string_length(v) >= k->size))
			return false;
		strcpy(to, v ? json_string_value(v) : "");
		return true;
	}
	memcpy(to, &n, sizeof(n));
	return !v || json_is_integer(v);
}

int history_parse(const char *line, size_t len, struct cluster_move *m)
{
	json_t *o = len <= HISTORY_LINE_MAX ? json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL)
					    : NULL;
	const json_t *id = json_object_get(o, "id");
	bool good = json_is_integer(id) && json_integer_value(id) > 0 &&
		    json_integer_value(id) < ID_MAX;

	memset(m, 0, sizeof(*m));
	m->id = good ? (uint64_t)json_integer_value(id) : 0;
	for (const struct member *k = members; good && k < members + MEMBERS; k++)
		good = get_member(o, k, (char *)m + k->at);
	json_decref(o);
	return good ? 0 : -EINVAL;
}
