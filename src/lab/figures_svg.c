// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures_svg: a plot as an SVG that needs no program and no network to be seen: bars with
 * deviations, lines, or points. figures_file.c and sweep_file.c write it to a file of its own, and
 * the first one also into its page. Pure.
 */
#include <math.h>

#include "src/lab/figures.h"

enum {
	WIDTH = 960,
	HEIGHT = 420,
	LEFT = 70,
	RIGHT = 230, /* the names of the series */
	TOP = 40,
	BOTTOM = 80,
	TICKS = 6,
	NAME_HEIGHT = 19,
	COLOURS = 16,
};

static const char *const colours[COLOURS] = {
	"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#777777", "#994455",
	"#225555", "#222255", "#ee8866", "#44bb99", "#bbcc33", "#882255", "#999933", "#000000",
};

struct frame {
	const struct figures_plot *p;
	double from_x, to_x, from_y, to_y;
};

static double place_x(const struct frame *fr, double x)
{
	return LEFT + (x - fr->from_x) / (fr->to_x - fr->from_x) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const struct frame *fr, double y)
{
	double at = (y - fr->from_y) / (fr->to_y - fr->from_y);

	return HEIGHT - BOTTOM - fmin(fmax(at, 0), 1) * (HEIGHT - TOP - BOTTOM);
}

/* 1, 2 or 5 times a power of ten, so that there are about TICKS of them. */
static double step_of(double range)
{
	double power = pow(10, floor(log10(range / TICKS))), n = range / TICKS / power;

	return power * (n > 5 ? 10 : n > 2 ? 5 : n > 1 ? 2 : 1);
}

static bool is_bars(enum figures_shape shape)
{
	return shape == FIGURES_BARS || shape == FIGURES_PARTS_BARS;
}

/* The end of the axis of points: at a tick. */
static double most_x(const struct figures_plot *p)
{
	double most = 0, step;

	for (uint32_t s = 0; s < p->n; s++)
		for (uint32_t i = 0; i < p->points; i++)
			if (!isnan(p->y[s][i]))
				most = fmax(most, p->at[s][i]);
	if (!(most > 0))
		return 1;
	step = step_of(most);
	return ceil(most / step) * step;
}

/* Bars, shares and balances begin at 0. */
static void fit(struct frame *fr)
{
	const struct figures_plot *p = fr->p;
	bool error = is_bars(p->d->shape),
	     zero = p->d->shape != FIGURES_LINES && p->d->shape != FIGURES_TIME;
	double least = HUGE_VAL, most = 0, step;

	for (uint32_t s = 0; s < p->n; s++)
		for (uint32_t i = 0; i < p->points; i++)
			if (!isnan(p->y[s][i])) {
				least = fmin(least, p->y[s][i]);
				most = fmax(most, p->y[s][i] + (error ? p->error[s][i] : 0));
			}
	if (zero || least > most)
		least = 0;
	if (most <= least)
		most = least + 1;
	step = step_of(most - least);
	fr->from_y = floor(least / step) * step;
	fr->to_y = ceil(most / step) * step;
	fr->from_x = 0;
	fr->to_x = p->points ? p->points : 1;
	if (p->d->shape == FIGURES_POINTS) {
		fr->to_x = most_x(p);
	} else if (!figures_has_points(p->d->shape) && p->points > 1) {
		fr->from_x = p->d->shape == FIGURES_HISTOGRAM ? p->x[0] : 0;
		fr->to_x = p->x[p->points - 1];
	}
}

/* A title may have the name of a file in it. */
static void put_text(FILE *f, const char *text)
{
	for (; *text; text++)
		if (*text == '&')
			fputs("&amp;", f);
		else if (*text == '<')
			fputs("&lt;", f);
		else
			fputc(*text, f);
}

static void draw_text(FILE *f, double x, double y, const char *how, const char *text)
{
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, how);
	put_text(f, text);
	fputs("</text>\n", f);
}

static void draw_line(FILE *f, double x1, double y1, double x2, double y2, const char *colour)
{
	fprintf(f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1,
		y1, x2, y2, colour);
}

static void draw_x(FILE *f, const struct frame *fr)
{
	const struct figures_plot *p = fr->p;
	double step = step_of(fr->to_x - fr->from_x), below = HEIGHT - BOTTOM;
	char text[FIGURES_NAME_MAX + 32];

	for (uint32_t i = 0; figures_has_points(p->d->shape) && i < p->points; i++) {
		double x = place_x(fr, i + 0.5);

		/* Turned where there are many. */
		snprintf(text, sizeof(text),
			 p->points > 6 ? " text-anchor=\"end\" transform=\"rotate(-30 %.1f %.1f)\""
				       : " text-anchor=\"middle\" font-size=\"10\"",
			 x, below + 16);
		draw_text(f, x, below + 16, text, p->point[i]);
	}
	for (long i = (long)ceil(fr->from_x / step);
	     !figures_has_points(p->d->shape) && (double)i * step <= fr->to_x; i++) {
		const double x = (double)i * step;

		draw_line(f, place_x(fr, x), below, place_x(fr, x), below + 5, "#333333");
		snprintf(text, sizeof(text), "%g", x);
		draw_text(f, place_x(fr, x), below + 20, " text-anchor=\"middle\"", text);
	}
	draw_text(f, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8, " text-anchor=\"middle\"", p->d->x);
}

static void draw_axes(FILE *f, const struct frame *fr)
{
	double step = step_of(fr->to_y - fr->from_y);
	char text[96];

	for (int i = 0; fr->from_y + i * step <= fr->to_y + step / 2; i++) {
		const double y = fr->from_y + i * step;

		draw_line(f, LEFT, place_y(fr, y), WIDTH - RIGHT, place_y(fr, y), "#dddddd");
		snprintf(text, sizeof(text), "%.10g", y);
		draw_text(f, LEFT - 6, place_y(fr, y) + 4, " text-anchor=\"end\"", text);
	}
	draw_x(f, fr);
	draw_line(f, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "#333333");
	draw_line(f, LEFT, TOP, LEFT, HEIGHT - BOTTOM, "#333333");
	snprintf(text, sizeof(text), " text-anchor=\"middle\" transform=\"rotate(-90 16 %d)\"",
		 (TOP + HEIGHT - BOTTOM) / 2);
	draw_text(f, 16, (TOP + HEIGHT - BOTTOM) / 2.0, text, fr->p->d->y);
}

static void draw_bars(FILE *f, const struct frame *fr, uint32_t s)
{
	const struct figures_plot *p = fr->p;
	double width = 0.84 / p->n;

	for (uint32_t i = 0; i < p->points; i++) {
		double x = place_x(fr, i + 0.08 + s * width), y = place_y(fr, p->y[s][i]);
		double w = place_x(fr, i + 0.08 + (s + 1) * width) - x, mid = x + w / 2;

		if (isnan(p->y[s][i]))
			continue;
		fprintf(f,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\">"
			"<title>%s, %s: %.1f</title></rect>\n",
			x, y, w, HEIGHT - BOTTOM - y, colours[s % COLOURS], p->series[s],
			p->point[i], p->y[s][i]);
		draw_line(f, mid, place_y(fr, p->y[s][i] - p->error[s][i]), mid,
			  place_y(fr, p->y[s][i] + p->error[s][i]), "#333333");
	}
}

static double x_of(const struct figures_plot *p, uint32_t s, uint32_t i)
{
	if (p->d->shape == FIGURES_POINTS)
		return p->at[s][i];
	return figures_has_points(p->d->shape) ? i + 0.5 : p->x[i];
}

static void draw_points(FILE *f, const struct frame *fr, uint32_t s)
{
	const struct figures_plot *p = fr->p;

	for (uint32_t i = 0; i < p->points; i++)
		if (!isnan(p->y[s][i]))
			fprintf(f,
				"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\">"
				"<title>%s: %.1f, %.1f</title></circle>\n",
				place_x(fr, x_of(p, s, i)), place_y(fr, p->y[s][i]),
				colours[s % COLOURS], p->series[s], x_of(p, s, i), p->y[s][i]);
}

static void draw_series(FILE *f, const struct frame *fr, uint32_t s)
{
	const struct figures_plot *p = fr->p;
	bool begun = false;

	fprintf(f, "<path fill=\"none\" stroke-width=\"1.6\" stroke=\"%s\" d=\"",
		colours[s % COLOURS]);
	for (uint32_t i = 0; i < p->points; i++) {
		if (isnan(p->y[s][i])) {
			begun = false;
			continue;
		}
		fprintf(f, "%c%.1f %.1f", begun ? 'L' : 'M', place_x(fr, x_of(p, s, i)),
			place_y(fr, p->y[s][i]));
		begun = true;
	}
	fputs("\"/>\n", f);
	if (p->d->shape == FIGURES_POINTS)
		draw_points(f, fr, s);
}

static void draw_names(FILE *f, const struct figures_plot *p)
{
	for (uint32_t s = 0; s < p->n; s++) {
		double y = TOP + s * NAME_HEIGHT;

		fprintf(f, "<rect x=\"%d\" y=\"%.1f\" width=\"14\" height=\"10\" fill=\"%s\"/>\n",
			WIDTH - RIGHT + 12, y, colours[s % COLOURS]);
		draw_text(f, WIDTH - RIGHT + 32, y + 10, "", p->series[s]);
	}
}

void figures_svg(FILE *f, const struct figures_plot *p)
{
	struct frame fr = { .p = p };

	fit(&fr);
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	draw_text(f, LEFT, 22, " font-size=\"15\"", p->d->title);
	draw_axes(f, &fr);
	for (uint32_t s = 0; s < p->n; s++)
		if (is_bars(p->d->shape))
			draw_bars(f, &fr, s);
		else
			draw_series(f, &fr, s);
	draw_names(f, p);
	fputs("</svg>\n", f);
}
