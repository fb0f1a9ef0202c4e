/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent: the running agent. It looks when something may have changed, and
 * hardly at all when nothing can have:
 *
 *	a device is opened,	every scan_ms for half a second
 *	or something changed
 *	a process exits		at once
 *	there are users		every IDLE_MS a quick look; all of it every second
 *	nobody uses RDMA	every second, for new processes
 */
#ifndef RESEX_AGENT_AGENT_H
#define RESEX_AGENT_AGENT_H

#include "ibmon/agent/node.h"
#include "ibmon/agent/options.h"
#include "ibmon/agent/pages.h"
#include "src/util/log.h"

struct agent;

/* Everything set up, nothing published yet. 0, or an exit status after a message on log. */
int agent_open(struct agent **a, const struct options *o, const struct log *log);

/* Publish, serve until SIGTERM or SIGINT, withdraw. 0 or an exit status. */
int agent_run(struct agent *a);
void agent_close(struct agent *a);

/* --once. 0 or an exit status. */
int agent_once(const struct options *o, const struct log *log);

#endif
