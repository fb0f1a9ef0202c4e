/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top_layout: what top_model.h knows, drawn into a grid of any size (top_grid.h). Pure. */
#ifndef RESEX_CLI_TOP_LAYOUT_H
#define RESEX_CLI_TOP_LAYOUT_H

#include "src/cli/top_grid.h"
#include "src/cli/top_model.h"

/* In a smaller grid there is one sentence. */
enum { TOP_ROWS_LEAST = 8, TOP_COLS_LEAST = 40 };

/* The page that is chosen, over the whole grid. */
void top_layout(const struct top_model *m, struct top_grid *g, struct mono now);

/* Rows of the chosen page's list, for keys that turn pages. */
size_t top_layout_rows(const struct top_model *m, const struct top_grid *g);

/*
 * All guests, with the columns that fit in cols, for --batch; g gets the size that is needed. 0 or
 * -ENOMEM.
 */
int top_layout_batch(const struct top_model *m, struct top_grid *g, size_t cols, struct mono now);

#endif
