/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snapshot: reads what a database says that a snapshot sees: the text of pg_current_snapshot(),
 * "OLDEST:NEXT:RUNNING,RUNNING". It comes from an application: hostile input.
 */
#ifndef RESEX_CACHED_SNAPSHOT_H
#define RESEX_CACHED_SNAPSHOT_H

#include "src/cache/home.h"

struct snapshot {
	struct home_snapshot home; /* home.running is running */
	uint64_t running[HOME_NUMBERS_MAX];
};

/* 0; -EINVAL: it is none; -E2BIG: more than HOME_NUMBERS_MAX are running. */
int snapshot_parse(struct snapshot *s, const char *text);

#endif
