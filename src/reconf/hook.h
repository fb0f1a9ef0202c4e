/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook: one ops struct for the ways to make a node serve another service: hook_exec runs an
 * operator's program on this host; hook_guest lets the agent of the guest run one there. Used for
 * nodes of kind "switch", by src/cluster/roles.c.
 *
 *	role.h: the node must serve "web" -> want() -> program -> see()
 *
 * The program has the arguments
 *
 *	switch NODE FROM TO	make NODE serve TO; FROM: what it served, "-": not known
 *	check NODE - TO		does NODE serve TO now?
 *
 * Exit status 0: yes, it is done. It may be called again with the same arguments. Nothing blocks.
 */
#ifndef RESEX_RECONF_HOOK_H
#define RESEX_RECONF_HOOK_H

#include <stdint.h>

#include "src/core/units.h"

enum {
	HOOK_PATH_MAX = 256, /* with the NUL */
	HOOK_NAME_MAX = 64,  /* with the NUL: of a node and of a service */
	HOOK_NOTE_MAX = 320,
};

struct hook_guest_conf;

struct hook_conf {
	char path[HOOK_PATH_MAX]; /* absolute; by hook_guest: not used, the agent has its own */
	int64_t deadline_ns;	  /* > 0; a program that takes longer is killed, with its group */
	const struct hook_guest_conf *guest; /* by hook_guest: see there; else NULL */
};

struct hook_want {
	const char *action; /* "switch" or "check" */
	const char *node, *from, *to;
};

enum hook_state {
	HOOK_IDLE, /* nothing was wanted yet */
	HOOK_RUNS,
	HOOK_DONE,   /* the newest one ended with status 0 */
	HOOK_FAILED, /* it did not; note says why */
};

struct hook_seen {
	enum hook_state state;
	/* One sentence with the remedy: exit status or signal, and the end of what it wrote. "" */
	char note[HOOK_NOTE_MAX];
};

struct hook;

struct hook_ops {
	/*
	 * Copies c. Runs nothing yet. 0; -EINVAL: path is not absolute, deadline_ns, or there is no
	 * guest; -ENOMEM.
	 */
	int (*open)(struct hook **h, const struct hook_conf *c);
	/* Kills what runs. NULL: nothing is done. */
	void (*close)(struct hook *h);
	/* Begin it. 0; -EBUSY: one runs. That it cannot be run is HOOK_FAILED, by poll. */
	int (*want)(struct hook *h, const struct hook_want *w, struct mono now);
	/* Without blocking. Returns ns until it must be called again; INT64_MAX: nothing runs. */
	int64_t (*poll)(struct hook *h, struct mono now);
	void (*see)(const struct hook *h, struct hook_seen *s);
};

#endif
