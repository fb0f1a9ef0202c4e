/* SPDX-License-Identifier: GPL-2.0-or-later */
/* print: the rings found by --once, as a table for people or as JSON. */
#ifndef RESEX_AGENT_PRINT_H
#define RESEX_AGENT_PRINT_H

#include <stdio.h>

#include "ibmon/agent/track.h"

void print_text(FILE *out, const struct track *t);
void print_json(FILE *out, const struct track *t);

#endif
