// SPDX-License-Identifier: GPL-2.0-or-later
/* history_line: a move as a line of history.jsonl, and back. Any line may come. See history.h. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "src/cluster/history.h"

/* The loads of a move, by their names in a line. */
static const struct {
	const char *key;
	size_t at;
} loads[] = {
	{ "taker_before", offsetof(struct cluster_move, taker_before) },
	{ "donor_before", offsetof(struct cluster_move, donor_before) },
	{ "taker_predicted", offsetof(struct cluster_move, taker_predicted) },
	{ "donor_predicted", offsetof(struct cluster_move, donor_predicted) },
	{ "taker_seen", offsetof(struct cluster_move, taker_seen) },
	{ "donor_seen", offsetof(struct cluster_move, donor_seen) },
};

enum { LOADS = sizeof(loads) / sizeof(loads[0]) };

static int64_t *load_of(struct cluster_move *m, int i)
{
	return (int64_t *)((char *)m + loads[i].at);
}

char *history_line(const struct cluster_move *m)
{
	char *text = NULL;
	struct cluster_move copy = *m;
	json_t *o = json_pack("{s:I,s:I,s:s,s:s,s:s,s:s,s:s,s:I,s:I}", "id", (json_int_t)m->id,
			      "wall_ns", (json_int_t)m->wall_ns, "node", m->node, "from", m->donor,
			      "to", m->taker, "why", m->why, "outcome", m->outcome, "high_ns",
			      (json_int_t)m->high_ns, "seen_wall_ns", (json_int_t)m->seen_wall_ns);

	for (int i = 0; o && i < LOADS; i++)
		json_object_set_new(o, loads[i].key, json_integer(*load_of(&copy, i)));
	if (o)
		text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return text;
}

static bool get_text(const json_t *o, const char *key, char *to, size_t size)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_string(v) || json_string_length(v) >= size)
		return false;
	strcpy(to, json_string_value(v));
	return true;
}

static bool get_int(const json_t *o, const char *key, int64_t *to)
{
	const json_t *v = json_object_get(o, key);

	*to = json_integer_value(v);
	return json_is_integer(v);
}

int history_parse(const char *line, size_t len, struct cluster_move *m)
{
	json_t *o = len <= HISTORY_LINE_MAX ? json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL)
					    : NULL;
	int64_t id = 0;
	bool good;

	memset(m, 0, sizeof(*m));
	good = json_is_object(o) && get_int(o, "id", &id) && id > 0 &&
	       get_int(o, "wall_ns", &m->wall_ns) && get_int(o, "high_ns", &m->high_ns) &&
	       get_int(o, "seen_wall_ns", &m->seen_wall_ns) &&
	       get_text(o, "node", m->node, sizeof(m->node)) &&
	       get_text(o, "from", m->donor, sizeof(m->donor)) &&
	       get_text(o, "to", m->taker, sizeof(m->taker)) &&
	       get_text(o, "why", m->why, sizeof(m->why)) &&
	       get_text(o, "outcome", m->outcome, sizeof(m->outcome));
	for (int i = 0; good && i < LOADS; i++)
		good = get_int(o, loads[i].key, load_of(m, i));
	m->id = (uint64_t)id;
	json_decref(o);
	return good ? 0 : -EINVAL;
}
