/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replay_show: what resex-lab replay prints of a replay that went to its end, or up to its first
 * difference: lines for people, or one JSON object. replay_cmd.c makes the replays.
 */
#ifndef RESEX_LAB_REPLAY_SHOW_H
#define RESEX_LAB_REPLAY_SHOW_H

#include <jansson.h>

#include "src/lab/replay.h"

/* Since when, and for how long, caps in force were not the same in two replays. */
struct replay_apart {
	struct mono first; /* of any guest; with some */
	bool some;
	struct {
		uint64_t created; /* of the guest that has the slot */
		int64_t ns;
		struct mono first;
	} of[FLOW_GUESTS_MAX];
};

/* A tick of both replays is over, which lasted so long. */
void replay_note_apart(const struct replay *was, const struct replay *is, int64_t ns,
		       struct replay_apart *apart);

struct replay_result {
	const char *file;		  /* as a terminal may have it */
	const struct replay *was;	  /* under the recorded policy */
	const struct replay *is;	  /* under another one; NULL: there is none */
	const struct replay_apart *apart; /* with is */
	const char *why;		  /* the first difference; NULL: as recorded */
};

void replay_show_text(const struct replay_result *res);
/* Returns NULL when memory is short. */
json_t *replay_show_json(const struct replay_result *res);

#endif
