/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exit codes of resexd, resex and resex-agent, and codes in the control protocol's errors. */
#ifndef RESEX_EXIT_H
#define RESEX_EXIT_H

enum resex_exit {
	RESEX_OK = 0,
	RESEX_FAILURE = 1,	/* anything not named below */
	RESEX_USAGE = 2,	/* unknown verb, option or parameter */
	RESEX_NO_GUEST = 3,	/* no such guest */
	RESEX_BAD_CONFIG = 4,	/* a file is malformed or holds an unknown key */
	RESEX_NO_POLICY = 5,	/* no such policy */
	RESEX_RANGE = 6,	/* a value is out of its range */
	RESEX_NO_DAEMON = 7,	/* resexd cannot be reached */
	RESEX_PERMISSION = 8,	/* not allowed: run as root */
	RESEX_NOT_DOM0 = 9,	/* this is a guest */
	RESEX_NO_XEN = 10,	/* no Xen here */
	RESEX_RUNNING = 11,	/* another resexd runs */
	RESEX_XEN_VERSION = 12, /* built for another version of Xen */
	RESEX_BUSY = 13,	/* resexd cannot do this now: try again */
	RESEX_NO_XENSTORE = 14, /* no xenstore, or it refused */
	RESEX_NO_CLUSTER = 15,	/* this host is in no cluster */
};

#endif
