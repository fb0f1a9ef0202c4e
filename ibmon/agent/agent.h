/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent: the running agent. It finds the RDMA rings of the guest's processes (track),
 * publishes them in pages that dom0 reads (book), and copies the latencies that
 * applications report (latency_socket). How often it scans:
 *
 *	after a device was opened	every scan_ms for half a second
 *	or anything changed
 *	a process exits			at once
 *	processes use RDMA		every IDLE_MS a quick scan, every second a full one
 *	no process uses RDMA		every second, for new processes
 */
#ifndef RESEX_AGENT_AGENT_H
#define RESEX_AGENT_AGENT_H

#include "ibmon/agent/node.h"
#include "ibmon/agent/options.h"
#include "ibmon/agent/pages.h"
#include "src/util/log.h"

struct agent;

/* Set up everything, publish nothing. 0, or an exit status after a message on log. */
int agent_open(struct agent **a, const struct options *o, const struct log *log);

/* Publish, run until SIGTERM or SIGINT, withdraw. 0 or an exit status. */
int agent_run(struct agent *a);
void agent_close(struct agent *a);

/* --once: print the rings found, publish nothing. 0 or an exit status. */
int agent_once(const struct options *o, const struct log *log);

#endif
