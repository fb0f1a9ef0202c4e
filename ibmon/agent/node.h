/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node: the one value that leads a reader to the registry: GUEST_ABI_NODE in
 * xenstore, or, without Xen, a file.
 */
#ifndef RESEX_AGENT_NODE_H
#define RESEX_AGENT_NODE_H

#include <stdbool.h>

#include "resex/guest_abi.h"

struct node;

struct node_ops {
	const char *name;
	/* arg: the file's name, else NULL. 0; -ENODEV: no xenstore here; -EACCES; -errno. */
	int (*open)(struct node **n, const char *arg);
	void (*close)(struct node *n); /* the value stays */
	int (*write)(struct node *n, const char *value);
	int (*remove)(struct node *n);
	/* Readable when somebody may have changed the value; -1: never. */
	int (*fd)(struct node *n);
	/* After that: does it hold another value now, or none? */
	bool (*lost)(struct node *n, const char *value);
};

extern const struct node_ops node_xen; /* only when built --with-xen */
extern const struct node_ops node_file;

/* "1 grant REF" or "1 frame GFN". */
void node_value(const struct guest_ref *ref, char value[GUEST_ABI_NODE_MAX]);

#endif
