/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * setup: where the agent publishes: its pages by grants, frames or a file, its node in
 * xenstore or a file. A failure is one sentence with its remedy, and an exit status.
 */
#ifndef RESEX_AGENT_SETUP_H
#define RESEX_AGENT_SETUP_H

#include "ibmon/agent/node.h"
#include "ibmon/agent/options.h"
#include "ibmon/agent/pages.h"
#include "src/util/log.h"

struct setup {
	const struct pages_ops *pages_ops;
	struct pages *pages;
	const struct node_ops *node_ops;
	struct node *node;
	char node_file[4096];
};

/* 0, or an exit status after a message. */
int setup_open(struct setup *s, const struct options *o, const struct log *log);
void setup_close(struct setup *s);

/* May we read frame numbers and memory of others? 0, or RESEX_PERMISSION after a message. */
int setup_may_look(const struct log *log);

/*
 * Log that what failed with rc (-errno), and the remedy: that of rc where only one
 * fits (no permission, another agent), else the one given. The exit status for rc.
 */
int setup_fail(const struct log *log, const char *what, int rc, const char *remedy);

#define SETUP_FREE_MEMORY "free some of this guest's memory"

#endif
