// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures_file: the files of "resex-lab figures": for each figure columns and a picture; a script
 * by which gnuplot draws PNGs of the columns; and one page that has all of it. figures_cmd.c calls
 * it when all cells were run.
 */
#include "src/lab/figures_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/lab/lab_cmd.h"

bool figures_wanted(uint32_t wanted, const struct figures_def *d)
{
	return wanted >> d->figure & 1;
}

/* --- one file each --- */

static int write_one(const struct figures_out *o, const char *name, const char *ending,
		     void (*put)(FILE *f, const struct figures_plot *p),
		     const struct figures_plot *p)
{
	FILE *f = lab_figure_begin(o->folder, name, ending);

	if (!f)
		return RESEX_FAILURE;
	put(f, p);
	return lab_figure_end(f, name, RESEX_OK);
}

/* --- gnuplot's script --- */

static void script_of(FILE *f, const struct figures_def *d)
{
	bool bars = d->shape == FIGURES_BARS || d->shape == FIGURES_PARTS_BARS;

	fprintf(f, "set output '%s.png'\nset title \"%s\"\nset xlabel \"%s\"\nset ylabel \"%s\"\n",
		d->name, d->title, d->x, d->y);
	fprintf(f, "set style data %s\nset yrange [%s:*]\n",
		bars			    ? "histograms"
		: d->shape == FIGURES_LINES ? "linespoints"
					    : "lines",
		d->shape == FIGURES_LINES || d->shape == FIGURES_TIME ? "*" : "0");
	fprintf(f, "plot for [i=2:%u] '%s.csv' using %s title columnheader(i)\n", d->series + 1,
		d->name,
		bars			    ? "i:xtic(1)"
		: d->shape == FIGURES_LINES ? "0:i:xtic(1)"
					    : "1:i");
}

static int write_script(const struct figures_out *o)
{
	FILE *f = lab_figure_begin(o->folder, "figures", ".gp");

	if (!f)
		return RESEX_FAILURE;
	fputs("# SIMULATED: \"gnuplot figures.gp\" draws the PNGs\n"
	      "set terminal png size 1200,520\nset datafile separator ','\nset key outside\n"
	      "set style fill solid\nset xtics rotate by -30\n",
	      f);
	for (uint32_t i = 0; i < figures_defs_n; i++)
		if (figures_wanted(o->wanted, &figures_defs[i]))
			script_of(f, &figures_defs[i]);
	return lab_figure_end(f, "figures.gp", RESEX_OK);
}

bool figures_draw(const char *folder, const char *script)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid) {
		/* Its own messages would be of a program that nobody asked for. */
		if (!freopen("/dev/null", "w", stderr) || chdir(folder))
			_exit(RESEX_FAILURE);
		execlp("gnuplot", "gnuplot", script, (char *)NULL);
		_exit(RESEX_FAILURE);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* --- the page --- */

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<title>Figures of ResourceExchange, simulated</title>\n<style>\n"
	"body{font:15px/1.45 sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#222}\n"
	"svg{max-width:100%;height:auto}table{border-collapse:collapse;margin:1em 0}\n"
	"td,th{border-bottom:1px solid #ddd;padding:.2em .8em;text-align:left}\n"
	"td.n{text-align:right;font-variant-numeric:tabular-nums}\n</style></head><body>\n"
	"<h1>Figures 1 to 9 of ResourceExchange, simulated</h1>\n"
	"<p><strong>Nothing here was measured on a machine.</strong> Each point is a run of the "
	"whole daemon on a simulated host: resex-lab(1), resex-scenario(5). The paper is Ranadive, "
	"Gavrilovska, Schwan: <em>ResourceExchange: Latency-Aware Scheduling in Virtualized "
	"Environments with High Performance Fabrics</em>. Its pictures were not at hand, only its "
	"text: so our numbers are beside those that the text states.</p>\n";

static void put_paragraph(FILE *f, const char *what, const char *text)
{
	if (text)
		fprintf(f, "<p><strong>%s:</strong> %s</p>\n", what, text);
}

static void put_beside(FILE *f, const json_t *rows, uint32_t figure)
{
	fputs("<table><tr><th>Of</th><th>Here</th><th>Paper</th><th>Section</th></tr>\n", f);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (json_integer_value(json_object_get(row, "figure")) != figure)
			continue;
		fprintf(f, "<tr><td>%s</td><td class=\"n\">%.1f</td><td>%s</td><td>%s</td></tr>\n",
			json_string_value(json_object_get(row, "what")),
			json_number_value(json_object_get(row, "here")),
			json_string_value(json_object_get(row, "paper")),
			json_string_value(json_object_get(row, "where")));
	}
	fputs("</table>\n", f);
}

static void put_section(FILE *f, const struct figures_out *o, const struct figures_def *d,
			const struct figures_plot *p)
{
	/* Others of the same figure come after the one with its texts. */
	if (d->paper) {
		fprintf(f, "<h2>Figure %u</h2>\n", d->figure);
		put_paragraph(f, "The paper", d->paper);
	}
	figures_svg(f, p);
	fprintf(f, "<p><a href=\"%s.csv\">%s.csv</a> <a href=\"%s.svg\">%s.svg</a></p>\n", d->name,
		d->name, d->name, d->name);
	if (!d->paper)
		return;
	put_beside(f, o->beside, d->figure);
	put_paragraph(f, "Calibrated", d->calibrated);
	put_paragraph(f, "Follows", d->follows);
}

/* --- all --- */

static int write_all(const struct figures_out *o, struct figures_plot *p, FILE *page)
{
	int rc = RESEX_OK;

	fputs(head, page);
	fprintf(page, "<p>Seed %llu; each run is %g s.</p>\n", (unsigned long long)o->runs->seed,
		o->duration_ms / 1e3);
	for (uint32_t i = 0; rc == RESEX_OK && i < figures_defs_n; i++) {
		const struct figures_def *d = &figures_defs[i];

		if (!figures_wanted(o->wanted, d))
			continue;
		figures_plot(o->runs, d, o->duration_ms, p);
		rc = write_one(o, d->name, ".csv", figures_csv, p);
		if (rc == RESEX_OK)
			rc = write_one(o, d->name, ".svg", figures_svg, p);
		put_section(page, o, d, p);
	}
	fputs("</body></html>\n", page);
	return rc;
}

int figures_write(const struct figures_out *o)
{
	struct figures_plot *p = malloc(sizeof(*p));
	FILE *page = lab_figure_begin(o->folder, "report", ".html");
	int rc = p && page ? write_script(o) : RESEX_FAILURE;

	if (!p)
		fputs("resex-lab: there is no memory\n", stderr);
	if (rc == RESEX_OK)
		rc = write_all(o, p, page);
	if (page)
		rc = lab_figure_end(page, "report.html", rc);
	free(p);
	return rc;
}
