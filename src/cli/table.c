// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * table: rows of JSON as aligned text. One pass over the rows measures the columns, the next one
 * prints them: no cell is kept, however many guests there are. Widths are those of a terminal, of
 * names in other letters too. See table.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* wcwidth */
#endif
#include "src/cli/table.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <wchar.h>

#include "src/util/utf8.h"

enum {
	CELL_MAX = 256, /* a longer text is cut: names and notes of resexd are shorter */
	COLS_MAX = 16,	/* list --all-hosts has 14 */
	WIDTH_IN_PIPES = 80,
};

/* From this on a figure has no decimals; from the other on it may not be an exact integer. */
#define REAL_WHOLE 100.0
#define REAL_MAX   0x1p53
#define REAL_LONG  1e100

static void tame_string(json_t *v)
{
	char *s = strdup(json_string_value(v));

	if (!s)
		return;
	utf8_tame(s);
	json_string_set(v, s);
	free(s);
}

/* It recurses no deeper than jansson parses (2048 levels). Keys are resexd's own words. */
void table_tame(json_t *v)
{
	const char *key;
	json_t *e;
	size_t i;

	if (json_is_string(v))
		tame_string(v);
	json_array_foreach(v, i, e)
		table_tame(e);
	json_object_foreach(v, key, e)
		table_tame(e);
}

/* All of these format as printf(3) does, which takes most of the time of a table of many guests. */
static size_t format_integer(json_int_t v, char *out)
{
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	char digits[24];
	size_t n = 0, at = 0;

	do
		digits[n++] = (char)('0' + u % 10);
	while (u /= 10);
	if (v < 0)
		out[at++] = '-';
	while (n)
		out[at++] = digits[--n];
	out[at] = 0;
	return at;
}

/* %.0f: the nearest integer, and of two the even one. */
static size_t format_whole(double v, char *out)
{
	json_int_t n = (json_int_t)v;
	double rest = v - (double)n;

	if (rest > 0.5 || (rest == 0.5 && n % 2))
		n++;
	else if (rest < -0.5 || (rest == -0.5 && n % 2))
		n--;
	return format_integer(n, out);
}

/* Two decimals for small figures, such as rates and latencies; a large one is read by its size. */
static size_t format_real(double v, char *out)
{
	size_t n;

	/* Whose digits find no room in a cell. */
	if (v <= -REAL_LONG || v >= REAL_LONG)
		return (size_t)snprintf(out, CELL_MAX, "%g", v);
	if (v <= -REAL_WHOLE || v >= REAL_WHOLE)
		return v > -REAL_MAX && v < REAL_MAX ? format_whole(v, out)
						     : (size_t)snprintf(out, CELL_MAX, "%.0f", v);
	n = (size_t)snprintf(out, CELL_MAX, "%.2f", v);
	while (out[n - 1] == '0')
		out[--n] = 0;
	if (out[n - 1] == '.')
		out[--n] = 0;
	return n;
}

static size_t format_string(const char *s, char *out)
{
	size_t n = strnlen(s, CELL_MAX - 1);

	memcpy(out, s, n);
	out[n] = 0;
	return n;
}

/* Up to 63 bytes an element; at the end of the cell, the others are left out. */
static size_t format_array(const json_t *v, char *out)
{
	size_t i, n = 0;
	json_t *e;

	out[0] = 0;
	json_array_foreach((json_t *)v, i, e) {
		size_t room = CELL_MAX - n > 64 ? 64 : 1;
		size_t length = (size_t)snprintf(out + n, room, "%s%s", i ? "," : "",
						 json_string_value(e));

		n += length < room ? length : room - 1;
	}
	return n;
}

static size_t format_known(const json_t *v, char *out)
{
	switch (v ? json_typeof(v) : JSON_NULL) {
	case JSON_STRING:
		return format_string(json_string_value(v), out);
	case JSON_INTEGER:
		return format_integer(json_integer_value(v), out);
	case JSON_REAL:
		return format_real(json_real_value(v), out);
	case JSON_TRUE:
		return format_string("yes", out);
	case JSON_FALSE:
		return format_string("no", out);
	case JSON_ARRAY:
		return format_array(v, out);
	default:
		return 0;
	}
}

/*
 * Its length. "-" for null, and for a missing member: a guest that was not sampled yet has no
 * figures. So also for an empty text, which would shift the columns for awk(1).
 */
static size_t format_cell(const json_t *v, int how, char *out)
{
	const bool unit = how >> 1 && json_is_number(v);
	size_t n = unit ? quantity_text((enum quantity)(how >> 1), json_number_value(v), out,
					CELL_MAX)
			: format_known(v, out);

	return n ? n : format_string("-", out);
}

/* Rows in either form: see table.h. */
struct rows {
	const json_t *all;
	const json_t *of[COLS_MAX]; /* by column; all NULL: all is an array of objects */
	size_t n;
};

static struct rows rows_of(const json_t *all, const struct column *cols)
{
	struct rows r = { .all = all };

	if (!json_is_object(all)) {
		r.n = json_array_size(all);
		return r;
	}
	for (int c = 0; cols[c].head; c++)
		r.of[c] = json_object_get(all, cols[c].key);
	r.n = json_array_size(r.of[0]);
	return r;
}

static const json_t *cell_at(const struct rows *r, const struct column *cols, int c, size_t i)
{
	if (json_is_object(r->all))
		return json_array_get(r->of[c], i);
	return json_object_get(json_array_get(r->all, i), cols[c].key);
}

/*
 * How many columns a terminal shows it in, by the locale's characters; of bytes that are none, one
 * each. wcwidth(3) is enough here: libsmartcols has it from there too, draws no column by rank, and
 * wants each cell of a table in memory.
 */
static size_t display_width(const char *s, size_t n)
{
	mbstate_t st = { 0 };
	size_t width = 0, took;
	wchar_t c;
	int w;

	for (; n; s += took, n -= took) {
		took = 1;
		if ((unsigned char)*s < 0x80) {
			width++;
			continue;
		}
		took = mbrtowc(&c, s, n, &st);
		if (!took || took > n) { /* also (size_t)-1 and -2 */
			memset(&st, 0, sizeof(st));
			took = 1;
			width++;
			continue;
		}
		w = wcwidth(c);
		width += w > 0 ? (size_t)w : 0;
	}
	return width;
}

/* Cut *n bytes, of a cell that is wider, to what is shown in most columns with a '+'. */
static size_t cut_cell(char *s, size_t *n, size_t most)
{
	size_t at = *n, width;

	do {
		do
			at--;
		while (at && ((unsigned char)s[at] & 0xc0) == 0x80);
		width = display_width(s, at);
	} while (at && width > most - 1);
	s[at++] = '+';
	s[at] = 0;
	*n = at;
	return width + 1;
}

/* How a table is printed. */
struct layout {
	const struct column *cols;
	size_t width[COLS_MAX]; /* 0: the column is left out */
	int last;		/* the last one that is not */
	int folded;		/* this column is, to its width; -1: none */
	size_t below;		/* on lines of its own, so wide; 0: beside the others */
};

static void measure_columns(const struct rows *r, struct layout *l)
{
	char buf[CELL_MAX];

	for (int c = 0; l->cols[c].head; c++) {
		l->width[c] = strlen(l->cols[c].head);
		l->last = c;
		for (size_t i = 0; i < r->n; i++) {
			size_t n = format_cell(cell_at(r, l->cols, c, i), l->cols[c].how, buf);

			n = display_width(buf, n);
			if (n > l->width[c])
				l->width[c] = n;
		}
	}
}

/* Two blanks between columns. */
static size_t whole_width(const struct layout *l)
{
	size_t sum = 0;

	for (int c = 0; l->cols[c].head; c++)
		sum += l->width[c] ? l->width[c] + 2 : 0;
	return sum - 2;
}

/* The column to leave out next; -1: none may be. */
static int least_wanted(const struct layout *l, const int *rank)
{
	int least = -1;

	for (int c = 0; l->cols[c].head; c++)
		if (l->width[c] && rank[c] > (least < 0 ? 0 : rank[least]))
			least = c;
	return least;
}

/* Drop what is wanted least until it fits; then cut the first column. */
static void fit_columns(struct layout *l, const int *rank, size_t width)
{
	size_t over;
	int c;

	while (whole_width(l) > width && (c = least_wanted(l, rank)) >= 0)
		l->width[c] = 0;
	for (c = 0; l->cols[c].head; c++)
		if (l->width[c])
			l->last = c;
	over = whole_width(l) > width ? whole_width(l) - width : 0;
	if (over && l->width[0] > TABLE_NAME_MIN)
		l->width[0] = over < l->width[0] - TABLE_NAME_MIN ? l->width[0] - over
								  : TABLE_NAME_MIN;
}

static void print_blanks(FILE *f, size_t n)
{
	while (n--)
		putc_unlocked(' ', f);
}

/* How many bytes of s fit on a line: whole words and elements, or what fits of the first one. */
static size_t fold_at(const char *s, size_t n, size_t width)
{
	size_t at = 0, word = 0;

	if (display_width(s, n) <= width)
		return n;
	while (at < n) {
		size_t next = at + 1;

		while (next < n && ((unsigned char)s[next] & 0xc0) == 0x80)
			next++;
		if (s[at] == ' ' || (at && s[at - 1] == ','))
			word = at;
		if (at && display_width(s, next) > width)
			break;
		at = next;
	}
	return word ? word : at;
}

static size_t room_from(size_t at, size_t width)
{
	return width > at + TABLE_NAME_MIN ? width - at : TABLE_NAME_MIN;
}

void table_text(FILE *f, const char *text, size_t at, size_t indent, size_t width)
{
	size_t left = strlen(text), n;

	for (;; at = indent) {
		n = fold_at(text, left, room_from(at, width));
		fwrite(text, 1, n, f);
		putc_unlocked('\n', f);
		for (; n < left && text[n] == ' '; n++)
			;
		text += n;
		left -= n;
		if (!left)
			return;
		print_blanks(f, indent);
	}
}

/* No blanks at the end of a line: the last column is often text, and the terminal narrow. */
static void print_cell(FILE *f, const struct layout *l, int c, char *s, size_t n)
{
	size_t width = display_width(s, n);

	if (!l->width[c])
		return;
	if (c == l->folded) {
		width = whole_width(l) - l->width[c];
		table_text(f, s, width, width, whole_width(l));
		return;
	}
	if (width > l->width[c])
		width = cut_cell(s, &n, l->width[c]);
	if (!(l->cols[c].how & LEFT))
		print_blanks(f, l->width[c] - width);
	fwrite(s, 1, n, f);
	if (l->cols[c].how & LEFT && c != l->last)
		print_blanks(f, l->width[c] - width);
	fputs(c == l->last ? "\n" : "  ", f);
}

/* The text of a row that has no room beside it. A row without one has no such line. */
static void print_below(FILE *f, const struct layout *l, const char *text)
{
	if (!l->below || !strcmp(text, "-"))
		return;
	print_blanks(f, TABLE_BELOW);
	table_text(f, text, TABLE_BELOW, TABLE_BELOW, l->below);
}

static void print_rows(FILE *f, const struct rows *r, const struct layout *l)
{
	const struct column *cols = l->cols;
	char buf[CELL_MAX] = "";

	for (int c = 0; cols[c].head; c++)
		print_cell(f, l, c, buf, format_string(cols[c].head, buf));
	print_below(f, l, buf);
	for (size_t i = 0; i < r->n; i++) {
		for (int c = 0; cols[c].head; c++)
			if (l->width[c] || (l->below && !cols[c + 1].head))
				print_cell(f, l, c, buf,
					   format_cell(cell_at(r, cols, c, i), cols[c].how, buf));
		print_below(f, l, buf);
	}
}

void table_print_fit(FILE *f, const json_t *rows, const struct column *cols, const int *rank,
		     size_t width)
{
	const struct rows r = rows_of(rows, cols);
	struct layout l = { .cols = cols, .folded = -1 };

	measure_columns(&r, &l);
	fit_columns(&l, rank, width);
	print_rows(f, &r, &l);
}

/* The others first: only what they leave is for the text. */
static void fold_last(struct layout *l, const int *rank, size_t width)
{
	int last = l->last;
	size_t text = l->width[last], room;

	if (whole_width(l) <= width)
		return;
	l->width[last] = 0;
	fit_columns(l, rank, width);
	room = whole_width(l) + 2 < width ? width - whole_width(l) - 2 : 0;
	if (room < text && room < TABLE_FOLD_MIN) {
		l->below = width;
		return;
	}
	l->width[last] = room < text ? room : text;
	l->last = l->folded = last;
}

void table_print_fold(FILE *f, const json_t *rows, const struct column *cols, const int *rank,
		      size_t width)
{
	const struct rows r = rows_of(rows, cols);
	struct layout l = { .cols = cols, .folded = -1 };

	measure_columns(&r, &l);
	fold_last(&l, rank, width);
	print_rows(f, &r, &l);
}

void table_print(FILE *f, const json_t *rows, const struct column *cols)
{
	const struct rows r = rows_of(rows, cols);
	struct layout l = { .cols = cols, .folded = -1 };

	measure_columns(&r, &l);
	print_rows(f, &r, &l);
}

size_t table_whole_width(const json_t *rows, const struct column *cols)
{
	const struct rows r = rows_of(rows, cols);
	struct layout l = { .cols = cols, .folded = -1 };

	measure_columns(&r, &l);
	return whole_width(&l);
}

size_t table_width(FILE *f)
{
	const char *set = getenv("COLUMNS");
	long n = set ? strtol(set, NULL, 10) : 0;
	struct winsize ws;

	if (n > 0)
		return (size_t)n;
	if (!ioctl(fileno(f), TIOCGWINSZ, &ws) && ws.ws_col)
		return ws.ws_col;
	return WIDTH_IN_PIPES;
}

/* Values begin in one column, and are not measured: the last of a line may be of any length. */
void table_card(FILE *f, const json_t *obj, const struct column *fields)
{
	char buf[CELL_MAX];
	int width = 0;

	for (int i = 0; fields[i].head; i++)
		if ((int)strlen(fields[i].head) > width)
			width = (int)strlen(fields[i].head);
	for (int i = 0; fields[i].head; i++) {
		format_cell(json_object_get(obj, fields[i].key), fields[i].how, buf);
		fprintf(f, "%-*s  %s\n", width, fields[i].head, buf);
	}
}
