/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * member: which hosts there are just now, and whether this one may decide.
 *
 * Backends: "static", all hosts that are configured, for ever, view = 0 (locks
 * then go by the generations of their homes); "corosync", those of corosync's
 * quorum service, view = its ring's number. What follows a loss of corosync is a
 * view without quorum.
 */
#ifndef RESEX_SHARED_MEMBER_H
#define RESEX_SHARED_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/core/units.h"

enum { MEMBER_HOSTS_MAX = 64, MEMBER_NOTE_MAX = 200 };

struct member_view {
	uint64_t view;	  /* higher is newer */
	uint64_t members; /* bit h - 1: host h */
	bool quorate;	  /* false: nothing may be decided here */
};

struct member_conf {
	uint64_t hosts;			 /* bit h - 1: host h is configured */
	uint32_t node[MEMBER_HOSTS_MAX]; /* corosync's nodeid of host h at h - 1 */
	uint16_t self;			 /* our own number: a view without it is not quorate */
};

struct member;

struct member_ops {
	const char *name;
	/*
	 * -ENODEV: there is no corosync here, or it stands still: *m is good all the same, and
	 * tries again.
	 * -EINVAL: self is not among hosts, a host has no nodeid or another's. -ENOMEM.
	 */
	int (*open)(struct member **m, const struct member_conf *c, struct mono now);
	void (*close)(struct member *m);
	/*
	 * Move on, and tell the view. 1: it is another than was told last; 0: the
	 * same. Blocks for 250 ms at most, when it connects anew.
	 */
	int (*work)(struct member *m, struct mono now, struct member_view *v);
	/* Readable when work has something to do; -1: none now. It may be another after work. */
	int (*fd)(const struct member *m);
	/* When work wants to be called at the latest. */
	struct mono (*due)(const struct member *m);
	/* One sentence for people when something is wrong; "". Below MEMBER_NOTE_MAX bytes. */
	const char *(*note)(const struct member *m);
};

extern const struct member_ops member_static;
extern const struct member_ops member_corosync; /* built --with-corosync */

#endif
