// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * top_layout: the page of guests, and what both pages share. top_layout_list.c draws tables of
 * replies. See top_layout.h.
 *
 *	title			simulated or not, policy, guests
 *	status			what is wrong, or what the policy lacks
 *	heads, guests		as many columns as there is room for
 *	why and rings		of the chosen guest: at most half of what is left
 *	keys
 */
#include "src/cli/top_layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/cli/top_list.h"

enum {
	NAME_MIN = 8,
	NAME_MAX = 24,
	BAR_MAX = 22,	 /* with its figure */
	FIGURE = 5,	 /* of a bar: a blank and four digits */
	TABLE_AT = 3,	 /* title, status, heads */
	AROUND = 4,	 /* these and the keys */
	CELL_TEXT = 340, /* a name and its note */
};

/* Decimals; -1: a word; BAR: a bar and a figure. */
enum { WORD = -1, BAR = -2 };

static const struct {
	const char *head;
	int width, form;
	double unit;
} columns[TOP_COLUMNS] = {
	[TOP_NAME] = { "NAME", NAME_MIN, WORD, 0 },
	[TOP_SENT] = { "SENT-MB/s", 9, 1, 1e6 },
	[TOP_RECV] = { "RECV-MB/s", 9, 1, 1e6 },
	[TOP_CPU] = { "CPU-%", 5, 1, 1 },
	[TOP_BALANCE] = { "BALANCE-%", 9, BAR, 1 },
	[TOP_CAP] = { "CAP-%", 9, BAR, 1 },
	[TOP_CAPPED] = { "CAPPED-%", 8, 0, 1 },
	[TOP_MEAN] = { "MEAN-us", 7, 1, 1 },
	[TOP_P99] = { "P99-us", 6, 1, 1 },
	[TOP_RESOS] = { "SPENT-%", 7, 0, 1 },
	[TOP_MTUS_SENT] = { "SENT-MTU/s", 10, 0, 1 },
	[TOP_MTUS_RECV] = { "RECV-MTU/s", 10, 0, 1 },
	[TOP_WEIGHT] = { "WEIGHT", 6, 0, 1 },
	[TOP_VCPUS] = { "VCPUS", 5, 0, 1 },
	[TOP_ID] = { "ID", 5, 0, 1 },
	[TOP_RINGS] = { "RINGS", 5, 0, 1 },
	[TOP_STATE] = { "STATE", 10, WORD, 0 },
};

/* The columns of a grid, in order, and their widths. */
struct shown {
	enum top_column c[TOP_COLUMNS];
	int width[TOP_COLUMNS];
	int n;
};

/* A figure that is too long loses decimals, then gets a letter: cut digits would be another one. */
static void format_figure(double v, int decimals, int width, char *out, size_t size)
{
	static const char letters[] = "kMGTPE";

	if (isnan(v)) {
		snprintf(out, size, "-");
		return;
	}
	if (snprintf(out, size, "%.*f", decimals, v) <= width ||
	    snprintf(out, size, "%.0f", v) <= width)
		return;
	for (const char *l = letters; *l; l++) {
		v /= 1000;
		if (fabs(v) >= 1 && snprintf(out, size, "%.0f%c", v, *l) <= width)
			return;
	}
	snprintf(out, size, "%s", v < 0 ? "<" : ">");
}

static void put_bar(struct top_grid *g, int y, int x, int width, double part, const char *figure,
		    unsigned int attr)
{
	int room = width - FIGURE, n = 0;

	if (part > 0) { /* not NaN */
		n = part < 1 ? (int)(part * room + 0.5) : room;
		n = n ? n : 1;
	}
	for (int i = 0; i < n; i++)
		top_grid_put(g, y, x + i, 1, "|", attr);
	top_grid_right(g, y, x + room, FIGURE, figure, attr);
}

static void put_cell(struct top_grid *g, int y, int x, int width, enum top_column c,
		     const struct top_guest *t, unsigned int attr)
{
	char text[64];
	double v = t->v[c];

	if (columns[c].form == WORD) {
		top_grid_put(g, y, x, width, c == TOP_NAME ? t->name : t->state, attr);
		return;
	}
	if (columns[c].form != BAR) {
		format_figure(v / columns[c].unit, columns[c].form, width, text, sizeof(text));
		top_grid_right(g, y, x, width, text, attr);
		return;
	}
	format_figure(v, 0, FIGURE - 1, text, sizeof(text));
	if (c == TOP_CAP && isnan(v))
		snprintf(text, sizeof(text), "none");
	put_bar(g, y, x, width, c == TOP_CAP ? v / t->full_cap : v / 100, text, attr);
}

static int width_of(const struct shown *s)
{
	int w = -1;

	for (int i = 0; i < s->n; i++)
		w += s->width[i] + 1;
	return w;
}

static void add_column(struct shown *s, enum top_column c, int name)
{
	s->c[s->n] = c;
	s->width[s->n++] = c == TOP_NAME ? name : columns[c].width;
}

static bool has_column(const struct shown *s, enum top_column c)
{
	for (int i = 0; i < s->n; i++)
		if (s->c[i] == c)
			return true;
	return false;
}

/*
 * As many as fit, from the first one on. The column by which guests are sorted is always there, if
 * need be in the place of the last ones. What is left goes to the name, up to its width.
 */
static void fit_columns(struct shown *s, enum top_column sort, int cols, int name)
{
	int rest;

	s->n = 0;
	for (int c = 0; c < TOP_COLUMNS; c++) {
		add_column(s, (enum top_column)c, NAME_MIN);
		if (width_of(s) > cols) {
			s->n--;
			break;
		}
	}
	if (!has_column(s, sort)) {
		while (width_of(s) + 1 + columns[sort].width > cols)
			s->n--;
		add_column(s, sort, NAME_MIN);
	}
	rest = cols - width_of(s);
	if (rest > name - NAME_MIN)
		rest = name - NAME_MIN;
	s->width[0] += rest;
}

/* What is then left goes to the bars. */
static void choose_columns(struct shown *s, enum top_column sort, int cols, int longest)
{
	int name = longest < NAME_MIN ? NAME_MIN : longest > NAME_MAX ? NAME_MAX : longest;
	int rest;

	fit_columns(s, sort, cols, name);
	rest = cols - width_of(s);
	for (int i = 0; i < s->n; i++)
		if (columns[s->c[i]].form == BAR) {
			int more = rest < BAR_MAX - s->width[i] ? rest : BAR_MAX - s->width[i];

			s->width[i] += more;
			rest -= more;
		}
}

static int longest_name(const struct top_model *m, const struct top_grid *g)
{
	int longest = 0, w;

	for (size_t i = 0; i < m->n; i++) {
		w = top_grid_width(g, m->guests[i].name);
		longest = w > longest ? w : longest;
	}
	return longest;
}

static void put_heads(struct top_grid *g, int y, const struct shown *s, enum top_column sort)
{
	for (int i = 0, x = 0; i < s->n; x += s->width[i++] + 1) {
		const char *head = columns[s->c[i]].head;
		unsigned int attr = s->c[i] == sort ? TOP_BOLD | TOP_REVERSE : TOP_BOLD;

		if (columns[s->c[i]].form == WORD)
			top_grid_put(g, y, x, s->width[i], head, attr);
		else
			top_grid_right(g, y, x, s->width[i], head, attr);
	}
}

static void put_guest(struct top_grid *g, int y, const struct shown *s, const struct top_guest *t,
		      unsigned int attr)
{
	for (int i = 0, x = 0; i < s->n; x += s->width[i++] + 1)
		put_cell(g, y, x, s->width[i], s->c[i], t, attr);
}

/* Each part only if it fits: half a word would be another one. */
static int put_part(struct top_grid *g, int y, int x, const char *text, unsigned int attr)
{
	int w = top_grid_width(g, text);

	if (!w || x + w > g->cols)
		return x;
	return top_grid_put(g, y, x, w, text, attr) + 2;
}

/* A simulator says first that it is one. */
static void put_title(const struct top_model *m, struct top_grid *g)
{
	double ticks = json_number_value(json_object_get(m->info, "ticks"));
	double late = json_number_value(json_object_get(m->info, "late_ticks"));
	char text[128];
	int x = 0;

	if (m->simulated)
		x = put_part(g, 0, x, "SIMULATED", TOP_BOLD | TOP_REVERSE);
	x = put_part(g, 0, x, "resex top", TOP_BOLD);
	if (m->seen) {
		snprintf(text, sizeof(text), "%zu guest%s", m->n, m->n == 1 ? "" : "s");
		x = put_part(g, 0, x, text, TOP_PLAIN);
		x = put_part(g, 0, x, m->policy, TOP_PLAIN);
	}
	if (json_is_true(json_object_get(m->info, "observe")))
		x = put_part(g, 0, x, "observing only", TOP_BOLD);
	if (json_is_true(json_object_get(m->info, "paused")))
		x = put_part(g, 0, x, "paused", TOP_BOLD);
	if (m->seen) {
		snprintf(text, sizeof(text), "epoch %lld", (long long)m->epoch);
		x = put_part(g, 0, x, text, TOP_PLAIN);
	}
	if (ticks > 0) {
		snprintf(text, sizeof(text), "%.1f %% of ticks late", 100 * late / ticks);
		put_part(g, 0, x, text, TOP_PLAIN);
	}
}

static void put_status(const struct top_model *m, struct top_grid *g, struct mono now)
{
	const char *note = json_string_value(json_object_get(m->info, "policy_note"));
	char text[768];

	if (top_model_trouble(m, now, text, sizeof(text)))
		top_grid_put(g, 1, 0, g->cols, text, TOP_BOLD | TOP_REVERSE);
	else if (*text)
		top_grid_put(g, 1, 0, g->cols, text, TOP_BOLD);
	else if (!m->seen)
		top_grid_put(g, 1, 0, g->cols, "waiting for resexd", TOP_PLAIN);
	else if (note && *note)
		top_grid_put(g, 1, 0, g->cols, note, TOP_PLAIN);
}

/* Rows of guests and rows of the chosen one's details, of those between heads and keys. */
static void divide(const struct top_model *m, int rows, int *guests, int *detail)
{
	int room = rows - AROUND;

	*guests = room - room / 2;
	if (m->n < (size_t)*guests)
		*guests = m->n ? (int)m->n : 1;
	*detail = room - *guests;
}

/* Why, in up to half of the rows; then rings. */
static void put_detail(const struct top_model *m, struct top_grid *g, int y, int rows)
{
	const struct top_guest *t = top_model_chosen(m);
	const json_t *why = top_model_detail(m, m->why), *rings = top_model_detail(m, m->rings);
	const char *text = json_string_value(json_object_get(why, "text"));
	char line[CELL_TEXT + 512];
	int used;

	if (!t)
		return;
	if (!text)
		text = m->refused[TOP_WHY];
	snprintf(line, sizeof(line), "%s: %s", t->name, text);
	used = top_grid_wrap(g, y, rows > 2 ? rows / 2 : 1, line, TOP_BOLD);
	if (rows - used > 1 && rings)
		top_list_rings(g, y + used, rows - used, rings);
}

static void put_guests(const struct top_model *m, struct top_grid *g)
{
	struct shown s;
	int guests, detail;
	size_t first;

	divide(m, g->rows, &guests, &detail);
	choose_columns(&s, m->sort, g->cols, longest_name(m, g));
	put_heads(g, TABLE_AT - 1, &s, m->sort);
	/* The chosen guest is always on the screen. */
	first = m->at - m->at % (size_t)guests;
	for (int i = 0; i < guests && first + (size_t)i < m->n; i++) {
		bool chosen = first + (size_t)i == m->at;

		put_guest(g, TABLE_AT + i, &s, &m->guests[first + (size_t)i], TOP_PLAIN);
		if (chosen)
			top_grid_mark(g, TABLE_AT + i, TOP_REVERSE);
	}
	put_detail(m, g, TABLE_AT + guests, detail);
}

static void put_help(struct top_grid *g)
{
	static const char *const lines[] = {
		"Up Down      choose, or scroll",	"PgUp PgDn    a page; also Home, End",
		"< >          sort by another column",	"r            reverse the order",
		"Tab, 1, 2    guests; hosts and locks", "Space        ask resexd now",
		"h, q         this help; quit",
	};

	for (int i = 0; i < (int)(sizeof(lines) / sizeof(lines[0])); i++)
		if (i + 1 < g->rows)
			top_grid_put(g, i + 1, 0, g->cols, lines[i], TOP_PLAIN);
}

static void put_keys(const struct top_model *m, struct top_grid *g)
{
	static const char *const keys[][6] = {
		[TOP_PAGE_GUESTS] = { "q quit", "Tab hosts", "h help", "< > sort", "r reverse",
				      "Up Down choose" },
		[TOP_PAGE_HOSTS] = { "q quit", "Tab guests", "h help", "Up Down scroll" },
	};

	for (int i = 0, x = 0; i < 6 && keys[m->page][i]; i++)
		x = put_part(g, g->rows - 1, x, keys[m->page][i], TOP_PLAIN);
}

void top_layout(const struct top_model *m, struct top_grid *g, struct mono now)
{
	char text[96];

	if (g->rows < TOP_ROWS_LEAST || g->cols < TOP_COLS_LEAST) {
		snprintf(text, sizeof(text), "resex top needs %d columns and %d rows",
			 TOP_COLS_LEAST, TOP_ROWS_LEAST);
		top_grid_wrap(g, 0, g->rows, text, TOP_PLAIN);
		return;
	}
	put_title(m, g);
	if (m->help) {
		put_help(g);
		return;
	}
	put_status(m, g, now);
	if (m->page == TOP_PAGE_HOSTS)
		top_list_hosts(m, g, TABLE_AT - 1, g->rows - AROUND + 1);
	else
		put_guests(m, g);
	put_keys(m, g);
}

size_t top_layout_rows(const struct top_model *m, const struct top_grid *g)
{
	int guests, detail, hosts = (g->rows - AROUND) / 2 - 2;

	if (g->rows < TOP_ROWS_LEAST)
		return 1;
	divide(m, g->rows, &guests, &detail);
	/* Of the half of the hosts, the heads and how many more there are: no page skips a host. */
	if (m->page == TOP_PAGE_HOSTS)
		return hosts > 1 ? (size_t)hosts : 1;
	return (size_t)guests;
}

int top_layout_batch(const struct top_model *m, struct top_grid *g, size_t cols, struct mono now)
{
	struct shown s;
	int rows = m->n < TOP_ROWS_MAX - TABLE_AT ? (int)m->n : TOP_ROWS_MAX - TABLE_AT, rc;
	int width = cols < TOP_COLS_LEAST ? TOP_COLS_LEAST
		    : cols > TOP_COLS_MAX ? TOP_COLS_MAX
					  : (int)cols;

	/* Without bars that grow, and by no guest's name: one width from round to round. */
	fit_columns(&s, m->sort, width, NAME_MAX);
	rc = top_grid_resize(g, rows + TABLE_AT, width_of(&s));
	if (rc)
		return rc;
	put_title(m, g);
	put_status(m, g, now);
	put_heads(g, TABLE_AT - 1, &s, m->sort);
	for (int i = 0; i < rows; i++)
		put_guest(g, TABLE_AT + i, &s, &m->guests[i], TOP_PLAIN);
	return 0;
}
