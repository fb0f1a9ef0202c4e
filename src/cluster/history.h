/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history: the moves that this host has made, or would have made, as resex history shows them: the
 * newest ones in memory, and all in state_dir/history.jsonl, one JSON object a line, as
 * resex-reconf(7) describes it. In the control thread.
 *
 * A move has one line when it is decided, and one more when its later load was seen: the later one
 * of the same id counts. At HISTORY_FILE_MAX bytes the file becomes history.jsonl.1, and a new one
 * begins. A file that cannot be written costs no move: history_note() says why, until a line was
 * written again. Moves are in the order in which they were made: the time of day may be set back.
 */
#ifndef RESEX_CLUSTER_HISTORY_H
#define RESEX_CLUSTER_HISTORY_H

#include <stddef.h>

#include "src/cluster/cluster.h"

enum {
	HISTORY_MOVES = 256, /* in memory */
	HISTORY_LINE_MAX = 1024,
	HISTORY_FILE_MAX = 1 << 20,
};

struct history;

/*
 * Read what an earlier run wrote to state_dir. Lines that are no such object are skipped, and
 * counted in history_note(). 0 or -ENOMEM.
 */
int history_open(struct history **h, const char *state_dir);
void history_close(struct history *h);

/* A new move: its id is set. The copy in memory is returned, until HISTORY_MOVES more came. */
struct cluster_move *history_add(struct history *h, const struct cluster_move *m);
/* m, of history_add(), has changed. */
void history_changed(struct history *h, const struct cluster_move *m);

/* The newest but n; NULL: there are not so many. */
const struct cluster_move *history_get(const struct history *h, uint32_t n);
/* What is wrong with the file, with the remedy; "". */
const char *history_note(const struct history *h);

/* One line, without its end, which free() frees; NULL: no memory. */
char *history_line(const struct cluster_move *m);
/* The other way, up to HISTORY_LINE_MAX bytes: 0, or -EINVAL. */
int history_parse(const char *line, size_t len, struct cluster_move *m);

#endif
