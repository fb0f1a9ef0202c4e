/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout: layouts of rings from shared objects (resex/ibmon.h), on the control thread.
 *
 *	path -> util/plugin_file.h -> layout_check() -> sealed -> struct ring_ops
 *
 * ring/plug.c then calls them as if they were built in. What is loaded stays so until
 * layouts_close(), because rings refer to it.
 */
#ifndef RESEX_IBMON_LAYOUT_H
#define RESEX_IBMON_LAYOUT_H

#include "ibmon/ring/ops.h"
#include "resex/ibmon.h"
#include "src/util/plugin_file.h"

enum { LAYOUT_WHY_MAX = PLUGIN_WHY_MAX + 512 }; /* with a path */

struct layouts {
	struct ring_layouts found;
	struct plugin_file file[RING_LAYOUTS_MAX];
};

/* 0 or -ENOMEM. */
int layouts_open(struct layouts **ls);
/* No ring is read by one of them any more. NULL is fine. */
void layouts_close(struct layouts *ls);

/* As ibmon_layout_load(). why is set with each error. */
int layouts_load(struct layouts *ls, const char *path, char why[static PLUGIN_WHY_MAX]);

/*
 * All files NAME.so of a directory, in the order of their names; "": none. The first that is
 * refused ends it: -errno, and why begins with its path.
 */
int layouts_load_all(struct layouts *ls, const char *dir, char why[static LAYOUT_WHY_MAX]);

/* Is the table right? 0 or -EINVAL with why. Pure. */
int layout_check(const struct ibmon_layout *l, char why[static PLUGIN_WHY_MAX]);

#endif
