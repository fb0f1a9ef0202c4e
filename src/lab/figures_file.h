/* SPDX-License-Identifier: GPL-2.0-or-later */
/* figures_file: the files of "resex-lab figures" in a folder. All errors are printed. */
#ifndef RESEX_LAB_FIGURES_FILE_H
#define RESEX_LAB_FIGURES_FILE_H

#include "src/lab/figures.h"

struct figures_out {
	const char *folder;
	uint32_t wanted; /* a bit for each figure, from bit 1 */
	uint32_t duration_ms;
	const struct figures_runs *runs;
	const json_t *beside; /* rows of numbers beside the paper's */
};

/* Whether files of this definition are wanted. */
bool figures_wanted(uint32_t wanted, const struct figures_def *d);

/* Write CSV, SVG, figures.gp and report.html. The exit code. */
int figures_write(const struct figures_out *o);
/* Run gnuplot on a script in its folder. False: it is not installed, or failed. */
bool figures_draw(const char *folder, const char *script);

/* --- figures_other.c --- */

/*
 * Of another experiment, which left columns (NAME.dat) and a script of gnuplot in the folder: a CSV
 * of each, the pictures, and a page that has all. *drawn: gnuplot did. The exit code.
 */
int figures_other(const char *folder, const char *script, const char *title, bool *drawn);

#endif
