// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * table: JSON objects as aligned text. One pass over the rows measures the columns, the next one
 * prints them: no cell is kept, however many guests there are. Widths are in bytes, so a name
 * with other characters than ASCII's shifts the cells after it. See table.h.
 */
#include "src/cli/table.h"

#include <stdlib.h>
#include <string.h>

#include "src/util/utf8.h"

enum {
	CELL_MAX = 256, /* a longer text is cut: names and notes of resexd are shorter */
	COLS_MAX = 16,	/* list --all-hosts has 14 */
};

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

/* Two decimals for small figures, such as rates and latencies; a large one is read by its size. */
static void format_real(double v, char *out)
{
	size_t n = (size_t)snprintf(out, CELL_MAX, v > -100 && v < 100 ? "%.2f" : "%.0f", v);

	if (!strchr(out, '.'))
		return;
	while (out[n - 1] == '0')
		out[--n] = 0;
	if (out[n - 1] == '.')
		out[--n] = 0;
}

/* "-" for null, and for a missing member: a guest that was not sampled yet has no figures. */
static void format_cell(const json_t *v, char *out)
{
	size_t i, n = 0;
	json_t *e;

	switch (v ? json_typeof(v) : JSON_NULL) {
	case JSON_STRING:
		snprintf(out, CELL_MAX, "%s", json_string_value(v));
		break;
	case JSON_INTEGER:
		snprintf(out, CELL_MAX, "%lld", (long long)json_integer_value(v));
		break;
	case JSON_REAL:
		format_real(json_real_value(v), out);
		break;
	case JSON_TRUE:
		strcpy(out, "yes");
		break;
	case JSON_FALSE:
		strcpy(out, "no");
		break;
	case JSON_ARRAY:
		out[0] = 0;
		/* Up to 63 bytes an element; at the end of the cell, the others are left out. */
		json_array_foreach((json_t *)v, i, e)
			n += (size_t)snprintf(out + n, CELL_MAX - n > 64 ? 64 : 1, "%s%s",
					      i ? "," : "", json_string_value(e));
		break;
	default:
		strcpy(out, "-");
	}
	if (!out[0]) /* an empty cell would shift the columns for awk(1) */
		strcpy(out, "-");
}

static void measure_columns(const json_t *rows, const struct column *cols, int *width)
{
	char buf[CELL_MAX];
	json_t *row;
	size_t i;

	for (int c = 0; cols[c].head; c++)
		width[c] = (int)strlen(cols[c].head);
	json_array_foreach((json_t *)rows, i, row)
		for (int c = 0; cols[c].head; c++) {
			format_cell(json_object_get(row, cols[c].key), buf);
			if ((int)strlen(buf) > width[c])
				width[c] = (int)strlen(buf);
		}
}

/* No blanks at the end of a line: the last column is often text, and the terminal narrow. */
static void print_cell(FILE *f, const char *s, int width, int left, int last)
{
	if (left && last)
		fputs(s, f);
	else
		fprintf(f, left ? "%-*s" : "%*s", width, s);
	fputs(last ? "\n" : "  ", f);
}

void table_print(FILE *f, const json_t *rows, const struct column *cols)
{
	int width[COLS_MAX] = { 0 };
	char buf[CELL_MAX];
	json_t *row;
	size_t i;

	measure_columns(rows, cols, width);
	for (int c = 0; cols[c].head; c++)
		print_cell(f, cols[c].head, width[c], cols[c].left, !cols[c + 1].head);
	json_array_foreach((json_t *)rows, i, row)
		for (int c = 0; cols[c].head; c++) {
			format_cell(json_object_get(row, cols[c].key), buf);
			print_cell(f, buf, width[c], cols[c].left, !cols[c + 1].head);
		}
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
		format_cell(json_object_get(obj, fields[i].key), buf);
		fprintf(f, "%-*s  %s\n", width, fields[i].head, buf);
	}
}
