// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reconf_figures: data of figures 10, 15 and 16 of the paper, and of scenes, of the SIMULATED
 * clusters that were run, each a file of columns that gnuplot draws. reconf_cmd.c calls it for
 * --figures.
 */
#include <stdio.h>

#include "resex/exit.h"
#include "src/lab/reconf_cmd.h"

enum { SCENE_MS = 50 }; /* all moves are in it */

static const char *const scene_names[] = { [RECONF_QOS] = "qos", [RECONF_CHAINS] = "chains" };

static void heads(FILE *file, const char *x)
{
	lab_figure_head(file, x);
	fputs(" \"rigid\" \"over\" \"reconf\"\n", file);
}

/* Figure 10: of each cluster, requests a second by the length of bursts. */
static int throughput(const struct reconf_options *o, const struct reconf_all *a, uint32_t c)
{
	char text[64], name[96];
	FILE *file;

	snprintf(name, sizeof(name), "bursts-%u.dat", o->cluster[c].sites);
	file = lab_figure_begin(o->out.figures, name, "");
	if (!file)
		return RESEX_FAILURE;
	fprintf(file, "# nodes %s\n", reconf_shares_text(&o->cluster[c], text));
	heads(file, "burst");
	for (uint32_t i = 0; i < o->bursts; i++) {
		fprintf(file, "%u", a->of[c][i].burst);
		for (int m = 0; m < RECONF_MODES; m++)
			fprintf(file, " %.0f", (double)a->of[c][i].tps[m] / 1000);
		fputc('\n', file);
	}
	return lab_figure_end(file, name, RESEX_OK);
}

/* Figures 15 and 16: nodes that are busy over time, of the first seed. */
static int busy(const struct reconf_options *o, const struct reconf_all *a, uint32_t c, uint32_t i)
{
	const struct reconf_point *p = &a->of[c][i];
	char name[96];
	FILE *file;

	snprintf(name, sizeof(name), "busy-%u-%u.dat", o->cluster[c].sites, p->burst);
	file = lab_figure_begin(o->out.figures, name, "");
	if (!file)
		return RESEX_FAILURE;
	heads(file, "s");
	for (uint32_t k = 0; k < p->intervals; k++) {
		fprintf(file, "%g",
			(double)(k + 1) * (double)o->plan.web.interval_ns / (double)NS_PER_S);
		for (int m = 0; m < RECONF_MODES; m++)
			fprintf(file, " %u", p->busy[m][k]);
		fputc('\n', file);
	}
	return lab_figure_end(file, name, RESEX_OK);
}

/* Nodes of each site over time, of the first seed: a block of columns for each variant. */
static int scene(const struct reconf_options *o, const struct reconf_all *a, enum reconf_scene i)
{
	const struct reconf_staged *s = &a->scene[i];
	FILE *file = lab_figure_begin(o->out.figures, scene_names[i], ".dat");

	if (!file)
		return RESEX_FAILURE;
	lab_figure_head(file, "ms");
	for (uint32_t v = 1; v < s->variants; v++)
		for (uint32_t k = 0; k < s->sites; k++)
			fprintf(file, " \"%s: %s\"", s->of[v].name, s->site[k]);
	fputc('\n', file);
	for (uint32_t t = 0; t < SCENE_MS && t < s->of[0].first.intervals; t++) {
		fprintf(file, "%u", t + 1);
		for (uint32_t v = 1; v < s->variants; v++)
			for (uint32_t k = 0; k < s->sites; k++)
				fprintf(file, " %u", s->of[v].first.has[t][k]);
		fputc('\n', file);
	}
	return lab_figure_end(file, scene_names[i], RESEX_OK);
}

static void draw_scenes(const struct reconf_all *a, FILE *file)
{
	fputs("set style data steps\nset xlabel 'ms'\nset ylabel 'nodes (simulated)'\n", file);
	for (int i = 0; i < RECONF_SCENES; i++)
		fprintf(file,
			"set output '%s.svg'\n"
			"plot for [i=2:%u] '%s.dat' using 1:i title columnheader(i)\n",
			scene_names[i], 1 + (a->scene[i].variants - 1) * a->scene[i].sites,
			scene_names[i]);
}

static int script(const struct reconf_options *o, const struct reconf_all *a)
{
	FILE *file = lab_figure_begin(o->out.figures, "reconf.gp", "");

	if (!file)
		return RESEX_FAILURE;
	fputs("# SIMULATED: gnuplot reconf.gp draws each .dat as .svg\n"
	      "set terminal svg size 720,480\n"
	      "set key outside\n"
	      "set yrange [0:]\n",
	      file);
	for (uint32_t c = 0; c < o->clusters; c++) {
		uint32_t sites = o->cluster[c].sites;

		fprintf(file,
			"set style data linespoints\nset logscale x 2\n"
			"set xlabel 'requests of a burst'\n"
			"set ylabel 'requests a second (simulated)'\n"
			"set output 'bursts-%u.svg'\n"
			"plot for [i=2:4] 'bursts-%u.dat' using 1:i title columnheader(i)\n"
			"unset logscale x\nset style data steps\nset xlabel 's'\n"
			"set ylabel 'busy nodes (simulated)'\n",
			sites, sites);
		for (uint32_t i = 0; i < o->bursts; i++)
			fprintf(file,
				"set output 'busy-%u-%u.svg'\n"
				"plot for [i=2:4] 'busy-%u-%u.dat' using 1:i title "
				"columnheader(i)\n",
				sites, o->burst[i], sites, o->burst[i]);
	}
	draw_scenes(a, file);
	return lab_figure_end(file, "reconf.gp", RESEX_OK);
}

int reconf_figures(const struct reconf_options *o, const struct reconf_all *a)
{
	int rc = script(o, a);

	for (uint32_t c = 0; rc == RESEX_OK && c < o->clusters; c++) {
		rc = throughput(o, a, c);
		for (uint32_t i = 0; rc == RESEX_OK && i < o->bursts; i++)
			rc = busy(o, a, c, i);
	}
	for (int i = 0; rc == RESEX_OK && i < RECONF_SCENES; i++)
		rc = scene(o, a, (enum reconf_scene)i);
	return rc;
}
