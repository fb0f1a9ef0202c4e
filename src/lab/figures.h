/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * figures: what the files of "resex-lab figures" share. figures_table.c says which cells each
 * figure of the paper has. figures_cell.c makes a scenario of a cell, and a result of its summary.
 * figures_run.c runs the cells. figures_plot.c puts results where they are drawn. figures_svg.c and
 * figures_file.c write them. figures_cmd.c is the command.
 */
#ifndef RESEX_LAB_FIGURES_H
#define RESEX_LAB_FIGURES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	FIGURES = 9,
	FIGURES_DEPTHS = 4,
	FIGURES_SIZES = 6,
	FIGURES_STEPS = 320,
	FIGURES_BINS = 128,
	FIGURES_BIN_US = 2,
	FIGURES_BINS_FROM_US = 190,
	FIGURES_SERIES_MAX = 16,
	FIGURES_CELLS_MAX = 512,
	FIGURES_NAME_MAX = 48,
};

extern const uint32_t figures_depths[FIGURES_DEPTHS], figures_sizes[FIGURES_SIZES];

/* --- a run --- */

enum figures_policy { FIGURES_NULL, FIGURES_FREEMARKET, FIGURES_IOSHARES, FIGURES_POLICIES };
extern const char *const figures_policy_names[FIGURES_POLICIES];

enum figures_neighbour {
	FIGURES_NOBODY,
	FIGURES_BENCHEX, /* a server, too: `depth` clients and answers outstanding */
	FIGURES_SENDER,	 /* computes nothing: `depth` messages outstanding */
};

/* Compared as memory: without padding. */
struct figures_cell {
	uint32_t policy;
	uint32_t servers;   /* of 64 KiB, the first of which is reported */
	uint32_t variation; /* permille, of their computing; 0: +-0.5 % */
	uint32_t neighbour, kib, depth;
	uint32_t rate; /* of the sender, messages a second; 0: a closed loop */
	uint32_t cap;  /* of the neighbour, percent; 0: none */
	uint32_t duration_ms, step_ms;
};

enum { FIGURES_CTIME, FIGURES_WTIME, FIGURES_PTIME, FIGURES_PARTS };

/* Of the first server, but for what is of the neighbour. Latencies are true ones, us. */
struct figures_result {
	bool done;
	double mean, deviation, least, p99;
	double part[FIGURES_PARTS], part_deviation[FIGURES_PARTS];
	double sent;	  /* of the neighbour, MB/s */
	double lowest;	  /* of its caps, percent; 100: none */
	uint32_t changes; /* of caps of all guests */
	uint32_t steps;
	double latency[FIGURES_STEPS];			   /* NAN: no answer */
	double cap[FIGURES_STEPS];			   /* of the neighbour; 100: none */
	double balance[FIGURES_STEPS], own[FIGURES_STEPS]; /* the neighbour's, the server's */
	double share[FIGURES_BINS];			   /* of requests, percent */
};

/* base_us, base_io_us: of the server when it is alone. NULL: no memory. To be freed. */
char *figures_scenario(const struct figures_cell *c, uint64_t seed, double base_us,
		       double base_io_us);
/* 0, or -EINVAL: the summary is not one of this cell. */
int figures_read(const json_t *summary, const struct figures_cell *c, struct figures_result *r);

struct figures_runs {
	uint32_t n;
	uint64_t seed;
	struct figures_cell cell[FIGURES_CELLS_MAX];
	struct figures_result *result; /* n of them, shared by the processes */
};

/* Add the cell, unless an equal one is there. Its index, or that of the equal one; -1: no room. */
int figures_add(struct figures_runs *r, const struct figures_cell *c);
/* The cell must be one of them. */
const struct figures_result *figures_of(const struct figures_runs *r, const struct figures_cell *c);
/* Run all cells in so many processes. The exit code; errors are printed. */
int figures_run(struct figures_runs *r, uint32_t jobs);
void figures_free(struct figures_runs *r);

/* --- a figure --- */

enum figures_shape {
	FIGURES_BARS,	    /* a bar for each series and point: means, deviations */
	FIGURES_LINES,	    /* the same, as lines */
	FIGURES_PARTS_BARS, /* a bar for each part and point */
	FIGURES_HISTOGRAM,  /* a line for each series: shares of requests by latency */
	FIGURES_TIME,	    /* the mean of each step of time */
	FIGURES_RESOS,	    /* the balance at the end of each step */
	FIGURES_POINTS,	    /* each series has its own x: points, and lines between them */
};

struct figures_def {
	uint32_t figure;
	const char *name; /* of its files */
	const char *title, *x, *y;
	enum figures_shape shape;
	uint32_t series, points; /* points: of bars, lines and parts */
	/* The cell of this series and point. */
	void (*cell)(uint32_t s, uint32_t p, struct figures_cell *c);
	void (*series_name)(uint32_t s, char name[FIGURES_NAME_MAX]);
	void (*point_name)(uint32_t p, char name[FIGURES_NAME_MAX]);
	const char *paper;	/* what the paper's text says of it */
	const char *calibrated; /* what was chosen to fit */
	const char *follows;	/* what was not */
};

extern const struct figures_def figures_defs[];
extern const uint32_t figures_defs_n;

/* The cell with the length of runs, which is for all but those that have their own. */
void figures_cell_of(const struct figures_def *d, uint32_t s, uint32_t p, uint32_t duration_ms,
		     struct figures_cell *c);

/* A number of ours beside what the paper's text states. */
typedef int (*figures_row_fn)(void *arg, uint32_t figure, const char *what, double here,
			      const char *paper, const char *where);
/* Call row() for each number of this figure. 0, or what row() returned. */
int figures_beside(const struct figures_runs *r, uint32_t figure, uint32_t duration_ms,
		   figures_row_fn row, void *arg);

/* --- what is drawn --- */

struct figures_plot {
	const struct figures_def *d;
	uint32_t points;
	double x[FIGURES_STEPS];			 /* not of bars, lines and points */
	double at[FIGURES_SERIES_MAX][FIGURES_STEPS];	 /* of points */
	double y[FIGURES_SERIES_MAX][FIGURES_STEPS];	 /* NAN: none */
	double error[FIGURES_SERIES_MAX][FIGURES_STEPS]; /* bars: the deviation */
	char series[FIGURES_SERIES_MAX][FIGURES_NAME_MAX];
	char point[FIGURES_STEPS][FIGURES_NAME_MAX];
	uint32_t n; /* series */
};

void figures_plot(const struct figures_runs *r, const struct figures_def *d, uint32_t duration_ms,
		  struct figures_plot *p);
bool figures_has_points(enum figures_shape shape); /* bars, lines and parts */

/* A picture that stands alone, and in a page. */
void figures_svg(FILE *f, const struct figures_plot *p);
void figures_csv(FILE *f, const struct figures_plot *p);

#endif
