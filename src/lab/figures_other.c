// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures_other: the files of "resex-lab figures --paper load" and "reconf", beside those that the
 * experiment wrote: CSVs of its columns, pictures, and one page that has all of it. figures_cmd.c
 * calls it when the experiment was made.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/lab/figures_file.h"
#include "src/lab/lab_cmd.h"

enum { NAME_BYTES = 64, PATH_BYTES = 4096 };

static const char page_head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>%s</title>\n"
	"<style>\n"
	"body{font:15px/1.45 sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#222}\n"
	"svg{max-width:100%%;height:auto}table{border-collapse:collapse;margin:1em 0}\n"
	"td,th{border-bottom:1px solid #ddd;padding:.2em .8em;text-align:right;"
	"font-variant-numeric:tabular-nums}\n</style></head><body>\n<h1>%s</h1>\n"
	"<p><strong>Nothing here was measured on a machine.</strong> resex-lab(1) says what is "
	"simulated, and how.</p>\n";

/* --- columns ------------------------------------------------------------------------- */

/* The next word of a line of columns, without its quotes. NULL: there is none. */
static char *next_word(char **at, bool *quoted)
{
	char *word = *at + strspn(*at, " \n");

	*quoted = *word == '"';
	if (*quoted) {
		word++;
		*at = word + strcspn(word, "\"\n");
	} else {
		*at = word + strcspn(word, " \n");
		if (*at == word)
			return NULL;
	}
	if (**at)
		*(*at)++ = 0;
	return word;
}

static void put_csv(FILE *csv, char *line)
{
	char *word, *at = line;
	bool quoted, first = true;

	while ((word = next_word(&at, &quoted))) {
		fprintf(csv, quoted ? "%s\"%s\"" : "%s%s", first ? "" : ",", word);
		first = false;
	}
	fputc('\n', csv);
}

static void put_text(FILE *page, const char *text)
{
	for (; *text; text++)
		if (*text == '&' || *text == '<')
			fputs(*text == '&' ? "&amp;" : "&lt;", page);
		else
			fputc(*text, page);
}

static void put_row(FILE *page, char *line)
{
	char *word, *at = line;
	bool quoted;

	fputs("<tr>", page);
	while ((word = next_word(&at, &quoted))) {
		fputs(quoted ? "<th>" : "<td>", page);
		put_text(page, word);
		fputs(quoted ? "</th>" : "</td>", page);
	}
	fputs("</tr>\n", page);
}

/* Its lines to the CSV and, as a table, to the page. */
static int convert(FILE *dat, FILE *csv, FILE *page)
{
	char *line = NULL, *copy;
	size_t size = 0;
	int rc = RESEX_OK;

	fputs("<details><summary>Columns</summary><table>\n", page);
	while (rc == RESEX_OK && getline(&line, &size, dat) > 0) {
		if (line[0] == '#') {
			fputs(line, csv);
			continue;
		}
		copy = strdup(line);
		if (copy) {
			put_csv(csv, copy);
			put_row(page, line);
		} else {
			fputs("resex-lab: there is no memory\n", stderr);
			rc = RESEX_FAILURE;
		}
		free(copy);
	}
	fputs("</table></details>\n", page);
	free(line);
	return rc;
}

/* --- the page ------------------------------------------------------------------------ */

static FILE *open_read(const char *folder, const char *name, const char *ending)
{
	char path[PATH_BYTES];
	int n = snprintf(path, sizeof(path), "%s/%s%s", folder, name, ending);

	return n < (int)sizeof(path) ? fopen(path, "re") : NULL;
}

/* The picture without what stands before it in a file of its own. */
static void put_picture(FILE *page, const char *folder, const char *name)
{
	FILE *svg = open_read(folder, name, ".svg");
	bool begun = false;
	char *line = NULL;
	size_t size = 0;

	while (svg && getline(&line, &size, svg) > 0) {
		begun |= !strncmp(line, "<svg", 4);
		if (begun)
			fputs(line, page);
	}
	free(line);
	if (svg)
		fclose(svg);
}

static int put_figure(FILE *page, const char *folder, const char *name, bool drawn)
{
	FILE *dat = open_read(folder, name, ".dat"), *csv = NULL;
	int rc = RESEX_FAILURE;

	if (dat)
		csv = lab_figure_begin(folder, name, ".csv");
	else
		fprintf(stderr, "resex-lab: %s.dat cannot be read in \"%.200s\": %s\n", name,
			folder, strerror(errno));
	if (csv) {
		fputs("<h2>", page);
		put_text(page, name);
		fputs("</h2>\n", page);
		if (drawn)
			put_picture(page, folder, name);
		rc = lab_figure_end(csv, name, convert(dat, csv, page));
	}
	if (dat)
		fclose(dat);
	return rc;
}

/* --- all ----------------------------------------------------------------------------- */

static int is_columns(const struct dirent *e)
{
	const char *dot = strrchr(e->d_name, '.');

	return dot && dot - e->d_name < NAME_BYTES && !strcmp(dot, ".dat");
}

int figures_other(const char *folder, const char *script, const char *title, bool *drawn)
{
	FILE *page = lab_figure_begin(folder, "report", ".html");
	struct dirent **list = NULL;
	int n, rc = page ? RESEX_OK : RESEX_FAILURE;

	if (!page)
		return rc;
	*drawn = figures_draw(folder, script);
	fprintf(page, page_head, title, title);
	n = scandir(folder, &list, is_columns, alphasort);
	for (int i = 0; i < n; i++) {
		char name[NAME_BYTES];

		snprintf(name, sizeof(name), "%.*s", (int)(strlen(list[i]->d_name) - 4),
			 list[i]->d_name);
		if (rc == RESEX_OK)
			rc = put_figure(page, folder, name, *drawn);
		free(list[i]);
	}
	free(list);
	fputs("</body></html>\n", page);
	return lab_figure_end(page, "report.html", rc);
}
