// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * top_grid: text to cells. See top_grid.h.
 *
 * Which characters are shown is a list of those that all terminals show in one or two columns: not
 * wcwidth(3), which depends on the machine's locale and may know other widths than the terminal.
 * One wrong width would shift all that stands right of it.
 */
#include "src/cli/top_grid.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/utf8.h"

struct range {
	uint32_t first, last;
};

/* Letters and signs of one column; without soft hyphens and characters that join others. */
static const struct range narrow[] = {
	{ 0x20, 0x7e },	    { 0xa1, 0xac },	{ 0xae, 0x2ff },    { 0x370, 0x377 },
	{ 0x37a, 0x37f },   { 0x384, 0x38a },	{ 0x38e, 0x3a1 },   { 0x3a3, 0x482 },
	{ 0x48a, 0x52f },   { 0x531, 0x556 },	{ 0x561, 0x587 },   { 0x1e00, 0x1eff },
	{ 0x2010, 0x2027 }, { 0x2030, 0x205e }, { 0x20a0, 0x20bf }, { 0x2190, 0x21ff },
	{ 0x2200, 0x22ff }, { 0x2500, 0x259f },
};

/* Kana, Han and Hangul: two columns. */
static const struct range wide[] = {
	{ 0x3041, 0x3096 },
	{ 0x30a1, 0x30fa },
	{ 0x4e00, 0x9fff },
	{ 0xac00, 0xd7a3 },
};

static bool is_in(uint32_t c, const struct range *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c >= r[i].first && c <= r[i].last)
			return true;
	return false;
}

/* The character at *at, and *at behind it. 0 at the end; UINT32_MAX: a byte of no character. */
static uint32_t next_char(const char **at)
{
	const unsigned char *s = (const unsigned char *)*at;
	size_t n = *s < 0x80 ? 1 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;
	uint32_t c = *s < 0x80 ? *s : *s & (0x7fu >> n);
	char one[5] = "";

	if (!*s)
		return 0;
	for (size_t i = 0; i < n && s[i]; i++) {
		one[i] = (char)s[i];
		if (i)
			c = c << 6 | (s[i] & 0x3f);
	}
	if (strlen(one) < n || !utf8_good(one)) {
		(*at)++;
		return UINT32_MAX;
	}
	*at += n;
	return c;
}

/* The columns of the next character, which is then in one[]; 0 at the end. */
static int next_cell(const struct top_grid *g, const char **at, char one[static 5])
{
	const char *from = *at;
	uint32_t c = next_char(at);
	bool known = c < 0x7f || g->utf8;

	if (!c)
		return 0;
	memset(one, 0, 5);
	if (known && is_in(c, narrow, sizeof(narrow) / sizeof(narrow[0]))) {
		memcpy(one, from, (size_t)(*at - from));
		return 1;
	}
	if (known && is_in(c, wide, sizeof(wide) / sizeof(wide[0]))) {
		memcpy(one, from, (size_t)(*at - from));
		return 2;
	}
	one[0] = '?';
	return 1;
}

static int clamp(int v, int max)
{
	return v < 1 ? 1 : v > max ? max : v;
}

static void blank(struct top_cell *c)
{
	*c = (struct top_cell){ .text = " ", .width = 1 };
}

int top_grid_resize(struct top_grid *g, int rows, int cols)
{
	struct top_cell *cells;
	size_t n;

	rows = clamp(rows, TOP_ROWS_MAX);
	cols = clamp(cols, TOP_COLS_MAX);
	n = (size_t)rows * (size_t)cols;
	if (rows == g->rows && cols == g->cols) {
		cells = g->cells;
	} else {
		cells = malloc(n * sizeof(*cells));
		if (!cells)
			return -ENOMEM;
		free(g->cells);
	}
	for (size_t i = 0; i < n; i++)
		blank(&cells[i]);
	g->cells = cells;
	g->rows = rows;
	g->cols = cols;
	return 0;
}

void top_grid_free(struct top_grid *g)
{
	free(g->cells);
	*g = (struct top_grid){ .utf8 = g->utf8 };
}

static struct top_cell *cell_at(struct top_grid *g, int y, int x)
{
	return &g->cells[(size_t)y * (size_t)g->cols + (size_t)x];
}

int top_grid_put(struct top_grid *g, int y, int x, int width, const char *text, unsigned int attr)
{
	int end = width > g->cols - x ? g->cols : x + width, w;
	char one[5];

	if (y < 0 || y >= g->rows || x < 0)
		return x;
	while ((w = next_cell(g, &text, one)) && x + w <= end) {
		struct top_cell *c = cell_at(g, y, x);

		memcpy(c->text, one, sizeof(one));
		c->width = (unsigned char)w;
		c->attr = (unsigned char)attr;
		if (w == 2)
			c[1] = (struct top_cell){ .attr = (unsigned char)attr };
		x += w;
	}
	return x;
}

int top_grid_width(const struct top_grid *g, const char *text)
{
	int n = 0, w;
	char one[5];

	while (n < TOP_COLS_MAX && (w = next_cell(g, &text, one)))
		n += w;
	return n;
}

void top_grid_right(struct top_grid *g, int y, int x, int width, const char *text,
		    unsigned int attr)
{
	int n = top_grid_width(g, text);

	top_grid_put(g, y, n < width ? x + width - n : x, width, text, attr);
}

/* Of the part of text that fits a row: its bytes. A word longer than a row is cut. */
static size_t fit(const struct top_grid *g, const char *text)
{
	const char *at = text, *blank_at = NULL, *before = text;
	int n = 0, w;
	char one[5];

	while ((w = next_cell(g, &at, one))) {
		if (*before == ' ')
			blank_at = before;
		n += w;
		if (n > g->cols)
			return (size_t)((blank_at && blank_at > text ? blank_at : before) - text);
		before = at;
	}
	return (size_t)(before - text);
}

int top_grid_wrap(struct top_grid *g, int y, int max, const char *text, unsigned int attr)
{
	char line[4 * TOP_COLS_MAX + 1];
	int used = 0;

	while (*text && used < max) {
		size_t n = used + 1 == max ? strlen(text) : fit(g, text);

		if (!n) /* a wide character, and one column */
			n = strlen(text);
		if (n >= sizeof(line))
			n = sizeof(line) - 1;
		memcpy(line, text, n);
		line[n] = 0;
		top_grid_put(g, y + used++, 0, g->cols, line, attr);
		text += n;
		while (*text == ' ')
			text++;
	}
	return used;
}

void top_grid_mark(struct top_grid *g, int y, unsigned int attr)
{
	for (int x = 0; y >= 0 && y < g->rows && x < g->cols; x++)
		cell_at(g, y, x)->attr |= (unsigned char)attr;
}

size_t top_grid_text(const struct top_grid *g, int y, char *out)
{
	const struct top_cell *row = &g->cells[(size_t)y * (size_t)g->cols];
	size_t n = 0;

	for (int x = 0; x < g->cols; x++) {
		size_t len = strlen(row[x].text);

		memcpy(out + n, row[x].text, len);
		n += len;
	}
	while (n && out[n - 1] == ' ')
		n--;
	out[n] = 0;
	return n;
}
