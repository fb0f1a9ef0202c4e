/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_screen: a grid on the terminal, and keys from it, by ncurses. Without that library there is
 * no screen, and resex top has --batch and --json alone.
 */
#ifndef RESEX_CLI_TOP_SCREEN_H
#define RESEX_CLI_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "src/cli/top_grid.h"
#include "src/cli/top_model.h"

struct top_screen;

/*
 * Take the terminal of standard input and output over. RESEX_OK, or an exit code with one sentence
 * in error. Job control and the end by a signal are the caller's: it blocks the signals before.
 */
int top_screen_open(struct top_screen **out, char *error, size_t size);
/* Give the terminal back as it was. NULL: nothing to do. */
void top_screen_close(struct top_screen *s);

/* Can it show UTF-8? */
bool top_screen_is_utf8(const struct top_screen *s);
/* Its size now. */
void top_screen_size(struct top_screen *s, int *rows, int *cols);
void top_screen_draw(struct top_screen *s, const struct top_grid *g);

/* The next key that was pressed. Does not wait: false when there is none. */
bool top_screen_key(struct top_screen *s, enum top_key *key);

/* Give the terminal back and stop, as SIGTSTP does; returns when the process is continued. */
void top_screen_suspend(struct top_screen *s);
/* The process was continued: take the terminal, and draw all of it anew. */
void top_screen_resume(struct top_screen *s);

#endif
