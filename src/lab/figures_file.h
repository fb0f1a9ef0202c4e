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
/* Draw the PNGs by gnuplot. False: it is not installed, or failed. */
bool figures_png(const struct figures_out *o);

#endif
