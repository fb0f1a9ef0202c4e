/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check: resex-cached --check: is all that a start needs there, and safe? It changes nothing. */
#ifndef RESEX_CACHED_CHECK_H
#define RESEX_CACHED_CHECK_H

#include "src/cached/conf.h"
#include "src/util/log.h"

/* Prints what is good to stdout, each problem to the log. The exit code. */
int cached_check(const struct log *log, const struct cached_conf *c, const char *file);

#endif
