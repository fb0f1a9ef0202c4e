/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node: the value by which dom0 finds the registry page: GUEST_ABI_NODE in xenstore,
 * or a file without Xen.
 */
#ifndef RESEX_AGENT_NODE_H
#define RESEX_AGENT_NODE_H

#include <stdbool.h>
#include <stddef.h>

#include "resex/guest_abi.h"

struct node;

struct node_ops {
	const char *name;
	/* arg: the file's name, else NULL. 0; -ENODEV: no xenstore here; -EACCES; -errno. */
	int (*open)(struct node **n, const char *arg);
	void (*close)(struct node *n); /* does not remove the value */
	int (*write)(struct node *n, const char *value);
	int (*remove)(struct node *n);
	/* Becomes readable when the value may have changed; -1: never. */
	int (*fd)(struct node *n);
	/* After that: is the value gone, or not the one given? */
	bool (*lost)(struct node *n, const char *value);
	/*
	 * GUEST_ABI_WANT, of at most size - 1 bytes, with a NUL: its length; fd() tells of its
	 * changes, too. -ENOENT; -EMSGSIZE; -EBADMSG: it holds a NUL; -errno. NULL: the host cannot
	 * want anything.
	 */
	int (*want)(struct node *n, char *value, size_t size);
	int (*answer)(struct node *n, const char *value); /* GUEST_ABI_ANSWER */
};

extern const struct node_ops node_xen; /* only when built --with-xen */
extern const struct node_ops node_file;

/* "2 grant REF" or "2 frame GFN". */
void node_value(const struct guest_ref *ref, char value[GUEST_ABI_NODE_MAX]);

#endif
