/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * member: the membership: which hosts are members now, and whether this host may decide.
 *
 * Backends: "static": always all configured hosts, view 0 (the epochs of locks are then the
 * generations of their homes). "corosync": the members of corosync's quorum service; the
 * view is the number of its ring. When corosync is lost, the view loses its quorum.
 */
#ifndef RESEX_SHARED_MEMBER_H
#define RESEX_SHARED_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/core/hostset.h"
#include "src/core/units.h"

enum {
	MEMBER_HOSTS_MAX = HOSTSET_MAX,
	MEMBER_NOTE_MAX = 200,
	MEMBER_VIEW_MAX = (1 << 30) - 1, /* of views that decide: they are epochs (region_abi.h) */
};

struct member_view {
	uint64_t view; /* higher is newer */
	struct hostset members;
	bool quorate; /* false: this host may decide nothing */
};

struct member_conf {
	struct hostset hosts;		 /* that are configured */
	uint32_t node[MEMBER_HOSTS_MAX]; /* corosync's nodeid of host h at h - 1 */
	uint16_t self;			 /* our number. A view without it is not quorate */
	int connect_ms;			 /* corosync: after so long it hangs; open waits so long */
};

enum { MEMBER_CONNECT_MS = 250 }; /* a corosync that does not hang answers within it */

struct member;

struct member_ops {
	const char *name;
	/*
	 * -ENODEV: there is no corosync on this host, or it hangs; *m is valid all the same,
	 * and tries again. -EINVAL: self is not in hosts, or a host has no nodeid, or two
	 * have the same, or connect_ms is negative. -ENOMEM. Blocks for at most connect_ms.
	 */
	int (*open)(struct member **m, const struct member_conf *c, struct mono now);
	void (*close)(struct member *m);
	/*
	 * Other hosts are configured from now on: the next update returns their view. self and
	 * connect_ms stay. 0; -EINVAL as open, and nothing changes.
	 */
	int (*set_hosts)(struct member *m, const struct member_conf *c);
	/*
	 * Handle what corosync sent, and return the view. 1: it differs from the last one
	 * returned; 0: it does not. Does not block.
	 */
	int (*update)(struct member *m, struct mono now, struct member_view *v);
	/* Readable when update has something to do. -1: none now. update may change it. */
	int (*fd)(const struct member *m);
	/* Call update no later than this. */
	struct mono (*due)(const struct member *m);
	/* What is wrong, one sentence for people; or "". Shorter than MEMBER_NOTE_MAX. */
	const char *(*note)(const struct member *m);
};

extern const struct member_ops member_static;
extern const struct member_ops member_corosync; /* built --with-corosync */

#endif
