/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook_guest: lets the agent of a guest run the operator's program there (hook.h). What is wanted
 * is written below the guest's path in xenstore, and the agent's answer read there: see
 * GUEST_ABI_WANT in resex/guest_abi.h, and resex-agent(8), --hook.
 *
 *	want() -> find() the domain -> want -> agent: its program, by hook_exec -> answer -> poll()
 *
 *	what happens				then it has failed
 *	no such guest, no xenstore		at once
 *	it ends or reboots meanwhile		when find() gives another domain
 *	its program fails or is late		when the agent says so, by the deadline + 3 s
 *	it never answers			after the deadline + 5 s, and it is taken back
 *
 * The guest is hostile: its answer is bounded, must have the number of the newest want, and its
 * text is made printable. A guest can say that it serves a service, and not do so: only requests
 * show that. close() takes nothing back: the agent goes on to its deadline.
 */
#ifndef RESEX_RECONF_HOOK_GUEST_H
#define RESEX_RECONF_HOOK_GUEST_H

#include "src/hv/hv.h"
#include "src/reconf/hook.h"

/* All must outlive the hook, and watch is used by the hook's thread alone. */
struct hook_guest_conf {
	char name[HOOK_NAME_MAX]; /* of the guest */
	const struct hv_watch_ops *ops;
	struct hv_watch *watch;
	/* The domain that is the guest now. 0; -ENOENT: there is none. */
	int (*find)(void *arg, const char *name, uint32_t *domid);
	void *arg;
};

extern const struct hook_ops hook_guest;

#endif
