// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * top_list: tables of rings, hosts and locks. A column is as wide as its widest cell; what is
 * beyond the right edge is left out, and rows that have no room are counted. See top_list.h.
 */
#include "src/cli/top_list.h"

#include <stdio.h>
#include <string.h>

enum {
	CELL_MAX = 256,
	COLUMNS_MAX = 12,
	TABLE_LEAST = 3, /* heads, a row, and how many more */
};

enum form { AS_IS, SECONDS }; /* SECONDS: of a figure in ms */

struct list_column {
	const char *head, *key;
	bool left;
	enum form form;
};

static void format_value(const json_t *v, enum form form, char out[static CELL_MAX])
{
	const char *s = json_string_value(v);

	if (s && *s)
		snprintf(out, CELL_MAX, "%s", s);
	else if (json_is_number(v) && form == SECONDS)
		snprintf(out, CELL_MAX, "%.1f s", json_number_value(v) / 1000);
	else if (json_is_integer(v))
		snprintf(out, CELL_MAX, "%lld", (long long)json_integer_value(v));
	else if (json_is_real(v))
		snprintf(out, CELL_MAX, "%.1f", json_real_value(v));
	else if (json_is_boolean(v))
		snprintf(out, CELL_MAX, "%s", json_is_true(v) ? "yes" : "no");
	else
		snprintf(out, CELL_MAX, "-");
}

static void measure(const struct top_grid *g, const json_t *list, const struct list_column *cols,
		    int *width)
{
	char text[CELL_MAX];

	for (int c = 0; cols[c].head; c++) {
		width[c] = (int)strlen(cols[c].head);
		for (size_t i = 0; i < json_array_size(list); i++) {
			const json_t *o = json_array_get(list, i);
			int w;

			format_value(json_object_get(o, cols[c].key), cols[c].form, text);
			w = top_grid_width(g, text);
			width[c] = w > width[c] ? w : width[c];
		}
	}
}

static void put_row(struct top_grid *g, int y, const json_t *o, const struct list_column *cols,
		    const int *width)
{
	char text[CELL_MAX];

	for (int c = 0, x = 0; cols[c].head && x < g->cols; x += width[c++] + 2) {
		/* Of a figure that is cut, its column is left out. */
		int room = width[c] < g->cols - x ? width[c] : g->cols - x;

		if (o)
			format_value(json_object_get(o, cols[c].key), cols[c].form, text);
		if (!cols[c].left && room < width[c])
			return;
		if (cols[c].left)
			top_grid_put(g, y, x, room, o ? text : cols[c].head,
				     o ? TOP_PLAIN : TOP_BOLD);
		else
			top_grid_right(g, y, x, room, o ? text : cols[c].head,
				       o ? TOP_PLAIN : TOP_BOLD);
	}
}

/* Heads, rows from first on, and how many are left out. The rows of the grid that were used. */
static int put_list(struct top_grid *g, int y, int rows, const json_t *list,
		    const struct list_column *cols, size_t first)
{
	int width[COLUMNS_MAX] = { 0 }, used = 1;
	size_t n = json_array_size(list), i = first < n ? first : 0;
	char text[64];

	if (rows < 1)
		return 0;
	measure(g, list, cols, width);
	put_row(g, y, NULL, cols, width);
	for (; i < n && used < rows; i++, used++) {
		if (used + 1 == rows && i + 1 < n) {
			snprintf(text, sizeof(text), "and %zu more", n - i);
			top_grid_put(g, y + used++, 0, g->cols, text, TOP_PLAIN);
			break;
		}
		put_row(g, y + used, json_array_get(list, i), cols, width);
	}
	return used;
}

void top_list_rings(struct top_grid *g, int y, int rows, const json_t *guest)
{
	static const struct list_column cols[] = {
		{ "QPN", "qpn", false, AS_IS },
		{ "KIND", "kind", true, AS_IS },
		{ "PID", "pid", false, AS_IS },
		{ "COMM", "comm", true, AS_IS },
		{ "WRS", "wrs", false, AS_IS },
		{ "MTUS-SENT", "mtus_sent", false, AS_IS },
		{ "MTUS-RECV", "mtus_recv", false, AS_IS },
		{ "ERRORS", "errors", false, AS_IS },
		{ "STATE", "state", true, AS_IS },
		{ "FAULT", "fault", true, AS_IS },
		{ 0 },
	};
	const json_t *rings = json_object_get(guest, "rings");
	const char *fault = json_string_value(json_object_get(guest, "fault"));
	const char *agent = "no agent: its rings are not known";
	char text[CELL_MAX];

	if (json_is_true(json_object_get(guest, "attached")))
		agent = json_is_true(json_object_get(guest, "agent_silent")) ? "its agent is silent"
									     : "no rings";
	if (json_array_size(rings)) {
		put_list(g, y, rows, rings, cols, 0);
		return;
	}
	snprintf(text, sizeof(text), "%s%s%.200s", agent, fault && *fault ? ": " : "",
		 fault ? fault : "");
	top_grid_put(g, y, 0, g->cols, text, TOP_PLAIN);
}

/* Whether this host may decide anything, and why not. */
static void put_cluster(const struct top_model *m, struct top_grid *g, int y)
{
	const char *name = json_string_value(json_object_get(m->hosts, "cluster"));
	const char *note = json_string_value(json_object_get(m->hosts, "cluster_note"));
	bool quorate = json_is_true(json_object_get(m->hosts, "quorate"));
	char text[640];

	snprintf(text, sizeof(text), "cluster %.64s%s%s%.400s", name ? name : "-",
		 quorate ? "" : ": NO QUORUM, this host decides nothing", note && *note ? ": " : "",
		 note ? note : "");
	top_grid_put(g, y, 0, g->cols, text, quorate ? TOP_PLAIN : TOP_BOLD);
}

void top_list_hosts(const struct top_model *m, struct top_grid *g, int y, int rows)
{
	static const struct list_column hosts[] = {
		{ "HOST", "name", true, AS_IS },
		{ "STATE", "state", true, AS_IS },
		{ "AGE", "age_ms", false, SECONDS },
		{ "GUESTS", "guests", false, AS_IS },
		{ "SIMULATED", "simulated", true, AS_IS },
		{ "POLICY", "policy", true, AS_IS },
		{ "MEMBER", "member", true, AS_IS },
		{ "GENERATION", "generation", false, AS_IS },
		{ "NOTE", "note", true, AS_IS },
		{ 0 },
	};
	static const struct list_column locks[] = {
		{ "SERVICE", "service", true, AS_IS },
		{ "LOCK", "state", true, AS_IS },
		{ "OWNER", "owner", true, AS_IS },
		{ "HOME", "home", true, AS_IS },
		{ "SINCE", "since_ms", false, SECONDS },
		{ "AGE", "age_ms", false, SECONDS },
		{ "FENCE", "fence", true, AS_IS },
		{ "DIFFERS", "differs", true, AS_IS },
		{ 0 },
	};
	const json_t *lock_rows = json_object_get(m->locks, "locks");
	size_t n = json_array_size(lock_rows);
	const char *sentence = m->refused[TOP_HOSTS];
	char text[64];
	int used;

	if (!m->hosts) {
		if (*sentence)
			top_grid_wrap(g, y, rows, sentence, TOP_PLAIN);
		return;
	}
	put_cluster(m, g, y);
	/* Hosts get what locks leave, at least half. Without room for both, locks are counted. */
	used = n < (size_t)(rows - 1) / 2 ? (int)n + 1 : (rows - 1) / 2;
	if (rows - 1 < 2 * TABLE_LEAST)
		used = n > 0;
	used = put_list(g, y + 1, rows - 1 - used, json_object_get(m->hosts, "hosts"), hosts,
			m->host_at);
	if (rows - 1 >= 2 * TABLE_LEAST) {
		put_list(g, y + 1 + used, rows - 1 - used, lock_rows, locks, 0);
	} else if (n) {
		snprintf(text, sizeof(text), "%zu lock%s: see resex lock-list", n,
			 n == 1 ? "" : "s");
		top_grid_put(g, y + 1 + used, 0, g->cols, text, TOP_PLAIN);
	}
}
