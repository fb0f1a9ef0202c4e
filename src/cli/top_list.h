/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top_list: rows of replies as tables in a grid: rings, hosts, locks. Pure; for top_layout.c. */
#ifndef RESEX_CLI_TOP_LIST_H
#define RESEX_CLI_TOP_LIST_H

#include "src/cli/top_grid.h"
#include "src/cli/top_model.h"

/* guest: an element of the reply of ring-list. From row y on, in at most rows. */
void top_list_rings(struct top_grid *g, int y, int rows, const json_t *guest);
void top_list_hosts(const struct top_model *m, struct top_grid *g, int y, int rows);

#endif
