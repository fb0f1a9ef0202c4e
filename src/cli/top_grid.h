/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_grid: a screen of resex top as cells, each with one character. Nothing else reaches the
 * terminal, so top_grid_put is the one place where text of guests and hosts is made harmless.
 */
#ifndef RESEX_CLI_TOP_GRID_H
#define RESEX_CLI_TOP_GRID_H

#include <stdbool.h>
#include <stddef.h>

enum top_attr { TOP_PLAIN = 0, TOP_BOLD = 1, TOP_REVERSE = 2 };

struct top_cell {
	char text[5];	     /* one character in UTF-8 */
	unsigned char width; /* 1; 2, and the next cell is 0 */
	unsigned char attr;  /* of enum top_attr */
};

struct top_grid {
	int rows, cols;
	bool utf8; /* the terminal shows UTF-8; else other characters than ASCII's are '?' */
	struct top_cell *cells;
};

/* The largest grid, for any size that a terminal reports. */
enum { TOP_ROWS_MAX = 5000, TOP_COLS_MAX = 1000 };

/* All cells become blanks. 0 or -ENOMEM: then the grid is as before. */
int top_grid_resize(struct top_grid *g, int rows, int cols);
void top_grid_free(struct top_grid *g);

/*
 * Put text at row y from column x on, in at most width columns; what is outside of the grid is left
 * out. text may have any bytes. Bytes that are not UTF-8, characters that do not print, and those
 * whose width differs between terminals become '?'. Returns the column behind the text.
 */
int top_grid_put(struct top_grid *g, int y, int x, int width, const char *text, unsigned int attr);
/* The same at the right of width columns. A text that is too long is cut at its end. */
void top_grid_right(struct top_grid *g, int y, int x, int width, const char *text,
		    unsigned int attr);
/* Columns that text takes. */
int top_grid_width(const struct top_grid *g, const char *text);
/* Break lines at blanks. The rows that were used, at most max. */
int top_grid_wrap(struct top_grid *g, int y, int max, const char *text, unsigned int attr);
/* Give all cells of a row these attributes, too. */
void top_grid_mark(struct top_grid *g, int y, unsigned int attr);

/* A row as text, without blanks at its end. out has room for 4 * cols + 1 bytes. The length. */
size_t top_grid_text(const struct top_grid *g, int y, char *out);

#endif
