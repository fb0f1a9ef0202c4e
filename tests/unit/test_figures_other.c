// SPDX-License-Identifier: GPL-2.0-or-later
/* figures_other: what becomes of the columns that an experiment left in a folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/lab/figures_file.h"
#include "tests/unit/unit.h"

enum { TEXT = 65536 };

static const char columns[] =
	"# SIMULATED: man resex-lab\n\"x\" \"a & b\" \"c, d\"\n0.5 1 -2\n1 3 4.5\n";
static const char csv[] =
	"# SIMULATED: man resex-lab\n\"x\",\"a & b\",\"c, d\"\n0.5,1,-2\n1,3,4.5\n";
static const char table[] = "<tr><th>x</th><th>a &amp; b</th><th>c, d</th></tr>\n"
			    "<tr><td>0.5</td><td>1</td><td>-2</td></tr>\n";

static FILE *open_in(const char *folder, const char *name, const char *mode)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return fopen(path, mode);
}

static void put(const char *folder, const char *name, const char *text)
{
	FILE *f = open_in(folder, name, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void get(const char *folder, const char *name, char text[TEXT])
{
	FILE *f = open_in(folder, name, "r");

	assert_non_null(f);
	text[fread(text, 1, TEXT - 1, f)] = 0;
	fclose(f);
}

TEST(figures_other__columns_of_an_experiment__are_csv_and_on_the_page)
{
	static const char *const files[] = { "one.dat", "two.dat", "notes.txt",	  "all.gp",
					     "one.csv", "two.csv", "report.html", "one.svg" };
	char folder[] = "/tmp/resex-figures-XXXXXX", path[256];
	char *text = malloc(TEXT);
	bool drawn = false;

	assert_non_null(text);
	assert_non_null(mkdtemp(folder));
	put(folder, "one.dat", columns);
	put(folder, "two.dat", columns);
	put(folder, "notes.txt", "no columns\n");
	put(folder, "all.gp", "set terminal svg\nset output 'one.svg'\nplot 'one.dat' using 1:2\n");
	assert_int_equal(figures_other(folder, "all.gp", "A title", &drawn), 0);
	get(folder, "one.csv", text);
	assert_string_equal(text, csv);
	get(folder, "two.csv", text);
	assert_string_equal(text, csv);
	get(folder, "report.html", text);
	assert_non_null(strstr(text, "<h1>A title</h1>"));
	assert_non_null(strstr(text, "<h2>one</h2>"));
	assert_non_null(strstr(text, table));
	assert_non_null(strstr(strstr(text, "<h2>two</h2>"), table));
	assert_null(strstr(text, "notes"));
	/* Without gnuplot there is no picture. Its file begins with what is no part of a page. */
	assert_int_equal(strstr(text, "<svg") != NULL, drawn);
	assert_null(strstr(text, "<?xml"));
	assert_int_equal(figures_other("/nonexistent", "all.gp", "A title", &drawn), 1);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(folder), 0);
	free(text);
}
