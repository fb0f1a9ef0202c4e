/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wanted: what dom0 wants this guest to serve, by a program of its operator (--hook). It is read
 * and answered beside the node (GUEST_ABI_WANT in resex/guest_abi.h).
 *
 *	node changes -> look() -> the program, by hook_exec -> work(), until it ends -> answer
 *
 * The newest want alone counts: another one, or none any more, ends the program. One that is there
 * at the first look may be old, and is answered by a failure: dom0 then wants it again, if it does.
 * How a program runs is in src/reconf/hook_exec.h.
 */
#ifndef RESEX_AGENT_WANTED_H
#define RESEX_AGENT_WANTED_H

#include "ibmon/agent/node.h"
#include "src/core/units.h"
#include "src/util/log.h"

struct wanted;

/* program: NULL: there is none, which each answer says. All must outlive it. 0; -ENOMEM. */
int wanted_open(struct wanted **w, const char *program, const struct node_ops *ops, struct node *n,
		const struct log *log);
/* Ends the program; it is not answered. NULL: nothing is done. */
void wanted_close(struct wanted *w);
/* The node may have changed. Call wanted_work() after it. */
void wanted_look(struct wanted *w, struct mono now);
/* Returns ns until it must be called again; INT64_MAX: after the next look. */
int64_t wanted_work(struct wanted *w, struct mono now);

#endif
