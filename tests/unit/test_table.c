// SPDX-License-Identifier: GPL-2.0-or-later
/* table: rows of JSON as aligned text: cells as printf(3) writes them, rows in both forms. */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/table.h"
#include "tests/unit/prop.h"

static const struct column name_and_figure[] = {
	{ "NAME", "name", 1 }, { "FIGURE", "figure", 0 }, { "STATE", "state", 1 }, { 0 }
};

/* json with ' for ". */
static void assert_fits(const char *json, const struct column *cols, const int *rank, size_t width,
			const char *wanted)
{
	char *text = strdup(json), *printed = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&printed, &size);
	json_t *rows;

	assert_non_null(text);
	assert_non_null(f);
	for (char *p = text; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	rows = json_loads(text, JSON_DECODE_ANY, NULL);
	if (rank)
		table_print_fit(f, rows, cols, rank, width);
	else
		table_print(f, rows, cols);
	fclose(f);
	assert_string_equal(printed, wanted);
	json_decref(rows);
	free(printed);
	free(text);
}

static void assert_printed(const char *json, const struct column *cols, const char *wanted)
{
	assert_fits(json, cols, NULL, 0, wanted);
}

TEST(rows__as_objects_and_as_arrays__are_printed_alike)
{
	assert_printed("[{'name':'a','figure':1,'state':'b'},{'name':'longer','state':''}]",
		       name_and_figure,
		       "NAME    FIGURE  STATE\n"
		       "a            1  b\n"
		       "longer       -  -\n");
	assert_printed("{'name':['a','longer'],'figure':[1,null],'state':['b','']}",
		       name_and_figure,
		       "NAME    FIGURE  STATE\n"
		       "a            1  b\n"
		       "longer       -  -\n");
}

/* A reply may be of another program than resexd. */
TEST(rows__of_any_shape__are_no_row_or_cells_without_a_value)
{
	assert_printed("{'name':['a'],'figure':[],'state':7}", name_and_figure,
		       "NAME  FIGURE  STATE\na          -  -\n");
	assert_printed("{'name':{},'figure':[1]}", name_and_figure, "NAME  FIGURE  STATE\n");
	assert_printed("{}", name_and_figure, "NAME  FIGURE  STATE\n");
	assert_printed("[7,[]]", name_and_figure,
		       "NAME  FIGURE  STATE\n-          -  -\n-          -  -\n");
	assert_printed("'x'", name_and_figure, "NAME  FIGURE  STATE\n");
}

TEST(whole_width__is_that_of_the_longest_line)
{
	json_t *rows = json_pack("[{s:s,s:i,s:s},{s:s}]", "name", "a", "figure", 1, "state", "down",
				 "name", "longer");

	assert_int_equal(table_whole_width(rows, name_and_figure), 6 + 2 + 6 + 2 + 5);
	json_decref(rows);
	rows = json_pack("[{s:s}]", "state", "down, and why");
	assert_int_equal(table_whole_width(rows, name_and_figure), 4 + 2 + 6 + 2 + 13);
	json_decref(rows);
}

static const struct column name_and_text[] = {
	{ "NAME", "name", 1 }, { "N", "n", 0 }, { "MEANING", "text", 1 }, { 0 }
};

/* json with ' for ". */
static void assert_folds(const char *json, size_t width, const char *wanted)
{
	static const int rank[] = { 0, 1, 0 };
	char *text = strdup(json), *printed = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&printed, &size);
	json_t *rows;

	assert_non_null(text);
	assert_non_null(f);
	for (char *p = text; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	rows = json_loads(text, 0, NULL);
	table_print_fold(f, rows, name_and_text, rank, width);
	fclose(f);
	assert_string_equal(printed, wanted);
	json_decref(rows);
	free(printed);
	free(text);
}

TEST(text__that_is_too_long__is_folded_beside_or_below_the_others)
{
	static const char rows[] =
		"[{'name':'step','n':1,'text':'how long a cap holds until it is cut again'},"
		" {'name':'low','n':22}]";

	assert_folds(rows, 52,
		     "NAME   N  MEANING\n"
		     "step   1  how long a cap holds until it is cut again\n"
		     "low   22  -\n");
	assert_folds(rows, 51,
		     "NAME   N  MEANING\n"
		     "step   1  how long a cap holds until it is cut\n"
		     "          again\n"
		     "low   22  -\n");
	/* The text would have 29 columns. */
	assert_folds(rows, 39,
		     "NAME   N\n"
		     "    MEANING\n"
		     "step   1\n"
		     "    how long a cap holds until it is\n"
		     "    cut again\n"
		     "low   22\n");
	assert_folds(rows, 40,
		     "NAME   N  MEANING\n"
		     "step   1  how long a cap holds until it\n"
		     "          is cut again\n"
		     "low   22  -\n");
	/* Then the others have no room, either. */
	assert_folds(rows, 7,
		     "NAME\n    MEANING\nstep\n    how long\n    a cap\n    holds\n    until it\n"
		     "    is cut\n    again\nlow\n");
	assert_folds("[{'name':'a','n':1,'text':['lapped','history','uncharged']}]", 24,
		     "NAME  N\n    MEANING\na     1\n    lapped,history,\n    uncharged\n");
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	assert_folds("[{'name':'a','n':1,'text':'"
		     "\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4'}]",
		     12,
		     "NAME  N\n    MEANING\na     1\n"
		     "    \u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\n    \u00e4\n");
	setlocale(LC_CTYPE, "C");
}

static const struct column one[] = { { "X", "x", 0 }, { 0 } };

TEST(cell__is_the_value_as_an_operator_reads_it)
{
	static const char *const cell[][2] = {
		{ "true", "yes" },
		{ "false", "no" },
		{ "null", "-" },
		{ "''", "-" },
		{ "[]", "-" },
		{ "{}", "-" },
		{ "['a','b']", "a,b" },
		{ "0", "0" },
		{ "-7", "-7" },
		{ "9223372036854775807", "9223372036854775807" },
		{ "-9223372036854775808", "-9223372036854775808" },
		{ "5.5", "5.5" },
		{ "5.0", "5" },
		{ "10.0", "10" },
		{ "0.001", "0" },
		{ "99.994", "99.99" },
		{ "99.999", "100" },
		{ "100.4", "100" },
		{ "100.5", "100" },
		{ "101.5", "102" },
		{ "-100.5", "-100" },
		{ "-101.5", "-102" },
		{ "-100.6", "-101" },
		{ "9007199254740991.0", "9007199254740991" },
		{ "1e22", "10000000000000000000000" },
	};
	char json[64], wanted[64];

	for (size_t i = 0; i < sizeof(cell) / sizeof(cell[0]); i++) {
		int width = (int)strlen(cell[i][1]);

		snprintf(json, sizeof(json), "{'x':[%s]}", cell[i][0]);
		snprintf(wanted, sizeof(wanted), "%*s\n%s\n", width, "X", cell[i][1]);
		assert_printed(json, one, wanted);
	}
}

TEST(cell__with_a_unit__is_a_word_of_three_digits)
{
	static const struct {
		int how;
		const char *cell, *text;
	} rows[] = {
		{ AS_NS, "0", "0ns" },
		{ AS_NS, "1000000", "1ms" },
		{ AS_NS, "6291455", "6.29ms" },
		{ AS_NS, "3990715877", "3.99s" },
		{ AS_NS, "999499", "999us" },
		{ AS_NS, "999500", "1ms" },
		{ AS_NS, "9994999", "9.99ms" },
		{ AS_NS, "9995000", "10ms" },
		{ AS_NS, "99949999", "99.9ms" },
		{ AS_NS, "99950000", "100ms" },
		{ AS_NS, "119000000000", "119s" },
		{ AS_NS, "120000000000", "2min" },
		{ AS_NS, "7199000000000", "120min" },
		{ AS_NS, "7200000000000", "2h" },
		{ AS_NS, "172800000000000", "2d" },
		{ AS_NS, "9223372036854775807", "106752d" },
		{ AS_NS, "-1500000", "-1.5ms" },
		{ AS_US, "208.61", "209us" },
		{ AS_US, "0.25", "0.25us" },
		{ AS_US, "2500", "2.5ms" },
		{ AS_MS, "95", "95ms" },
		{ AS_MS, "2600", "2.6s" },
		{ AS_MS, "null", "-" },
		{ AS_MS, "'soon'", "soon" },
		{ AS_BYTES, "999", "999B" },
		{ AS_BYTES, "4200000000", "4.2GB" },
		{ AS_BYTES, "9223372036854775807", "9223372TB" },
		{ AS_RATE, "1250000000", "1.25GB/s" },
		{ AS_RATE, "0", "0B/s" },
		{ AS_PERCENT, "35", "35%" },
		{ AS_PERCENT, "0.5", "0.5%" },
		{ AS_PERMILLE, "50", "5%" },
		{ AS_PERMILLE, "25", "2.5%" },
	};
	char json[64], wanted[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct column cols[] = { { "X", "x", rows[i].how }, { 0 } };

		snprintf(json, sizeof(json), "{'x':[%s]}", rows[i].cell);
		snprintf(wanted, sizeof(wanted), "%*s\n%s\n", (int)strlen(rows[i].text), "X",
			 rows[i].text);
		assert_printed(json, cols, wanted);
	}
}

TEST(cell__of_any_size_with_a_unit__fits)
{
	const struct column cols[] = { { "X", "x", LEFT | AS_RATE }, { 0 } };
	char text[16];

	assert_printed("{'x':[1e30]}", cols, "X\n1000000000000000000TB/s\n");
	assert_int_equal(quantity_text(QUANTITY_NS, 1e300, text, sizeof(text)), sizeof(text) - 1);
	assert_int_equal(strlen(text), sizeof(text) - 1);
	assert_int_equal(quantity_text(QUANTITY_PLAIN, 7, text, sizeof(text)), 1);
}

TEST(cell__any_number__is_as_printf_writes_it)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 2000; i++) {
		double v = ldexp((double)(int64_t)prop_u64(&p), -(int)prop_range(&p, 0, 62));
		int64_t n = (int64_t)prop_u64(&p) >> prop_range(&p, 0, 63);
		char json[64], figure[64], wanted[160];

		if (v > -100 && v < 100)
			v *= 1000;
		/* Halves, so that rounding meets ties. */
		v = prop_one_in(&p, 2) ? v : trunc(v) + 0.5;
		if (v > -100 && v < 100)
			continue;
		snprintf(json, sizeof(json), "{'x':[%.17e]}", v);
		snprintf(figure, sizeof(figure), "%.0f", v);
		snprintf(wanted, sizeof(wanted), "%*s\n%s\n", (int)strlen(figure), "X", figure);
		assert_printed(json, one, wanted);
		snprintf(json, sizeof(json), "{'x':[%" PRId64 "]}", n);
		snprintf(figure, sizeof(figure), "%" PRId64, n);
		snprintf(wanted, sizeof(wanted), "%*s\n%s\n", (int)strlen(figure), "X", figure);
		assert_printed(json, one, wanted);
	}
}

TEST(cell__longer_than_a_cell_may_be__is_cut)
{
	char json[600], wanted[600], text[400];

	memset(text, 'x', sizeof(text));
	snprintf(json, sizeof(json), "{'x':['%.300s']}", text);
	snprintf(wanted, sizeof(wanted), "%255s\n%.255s\n", "X", text);
	assert_printed(json, one, wanted);
	assert_printed("{'x':[1e308]}", one, "     X\n1e+308\n");
	/* Of a list, up to 63 bytes an element, as long as there is room. */
	snprintf(json, sizeof(json), "{'x':[['%.70s','%.70s','%.70s','%.70s','%.70s']]}", text,
		 text, text, text, text);
	snprintf(wanted, sizeof(wanted), "%252s\n%.63s,%.62s,%.62s,%.62s\n", "X", text, text, text,
		 text);
	assert_printed(json, one, wanted);
}

/* --- within a width -------------------------------------------------------------------- */

static const char guests[] = "[{'name':'database-one','figure':12,'state':'up'},"
			     "{'name':'b','figure':3,'state':'down'}]";
static const int figure_first[] = { 0, 2, 1 };

TEST(fit__with_room__is_the_whole_table)
{
	assert_fits(guests, name_and_figure, figure_first, 27,
		    "NAME          FIGURE  STATE\n"
		    "database-one      12  up\n"
		    "b                  3  down\n");
}

TEST(fit__one_column_less__leaves_out_the_highest_rank)
{
	assert_fits(guests, name_and_figure, figure_first, 26,
		    "NAME          STATE\n"
		    "database-one  up\n"
		    "b             down\n");
	assert_fits(guests, name_and_figure, (const int[]){ 0, 1, 2 }, 26,
		    "NAME          FIGURE\n"
		    "database-one      12\n"
		    "b                  3\n");
	assert_fits(guests, name_and_figure, figure_first, 12, "NAME\ndatabase-one\nb\n");
}

TEST(fit__rank_0__is_never_left_out_and_names_are_cut)
{
	static const int rank[] = { 0, 0, 0 };

	assert_fits(guests, name_and_figure, rank, 24,
		    "NAME       FIGURE  STATE\n"
		    "database+      12  up\n"
		    "b               3  down\n");
	/* No shorter than 8: then the line is longer. */
	assert_fits(guests, name_and_figure, rank, 1,
		    "NAME      FIGURE  STATE\n"
		    "databas+      12  up\n"
		    "b              3  down\n");
}

/* Widths are those of the terminal: two letters here take two columns each, and one takes none. */
TEST(fit__names_in_other_letters__keep_columns_and_are_not_split)
{
	static const int rank[] = { 0, 0, 0 };

	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	assert_fits("[{'name':'\u00e4\u6f22\u5b57','figure':1,'state':'x'},"
		    "{'name':'e\u0301','figure':2,'state':'y'}]",
		    name_and_figure, rank, 80,
		    "NAME   FIGURE  STATE\n"
		    "\u00e4\u6f22\u5b57       1  x\n"
		    "e\u0301           2  y\n");
	assert_fits("[{'name':'\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57','figure':1,'state':'x'}]",
		    name_and_figure, rank, 23,
		    "NAME      FIGURE  STATE\n"
		    "\u6f22\u5b57\u6f22+        1  x\n");
	setlocale(LC_CTYPE, "C");
}

TEST(width__COLUMNS_or_80_in_a_pipe)
{
	FILE *f = tmpfile();

	assert_non_null(f);
	unsetenv("COLUMNS");
	assert_int_equal(table_width(f), 80);
	setenv("COLUMNS", "132", 1);
	assert_int_equal(table_width(f), 132);
	setenv("COLUMNS", "-3", 1);
	assert_int_equal(table_width(f), 80);
	unsetenv("COLUMNS");
	fclose(f);
}
