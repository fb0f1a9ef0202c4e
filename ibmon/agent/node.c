// SPDX-License-Identifier: GPL-2.0-or-later
/* node: the node's value, and the file that replaces the node without Xen. See node.h. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibmon/agent/node.h"

struct node {
	char path[4096];
};

void node_value(const struct guest_ref *ref, char value[GUEST_ABI_NODE_MAX])
{
	snprintf(value, GUEST_ABI_NODE_MAX, "%u %s %" PRIu64, GUEST_ABI_VERSION,
		 ref->type == GUEST_REF_GRANT ? "grant" : "frame", ref->ref);
}

/* The file is written only by file_write(): nothing is published at open. */
static int file_open(struct node **out, const char *name)
{
	struct node *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	if (strlen(name) >= sizeof(n->path)) {
		free(n);
		return -ENAMETOOLONG;
	}
	memcpy(n->path, name, strlen(name) + 1);
	*out = n;
	return 0;
}

static void file_close(struct node *n)
{
	free(n);
}

static int file_write(struct node *n, const char *value)
{
	FILE *f = fopen(n->path, "we");
	int rc = 0;

	if (!f)
		return -errno;
	if (fprintf(f, "%s\n", value) < 0)
		rc = -EIO;
	if (fclose(f) && rc == 0)
		rc = -errno;
	return rc;
}

static int file_remove(struct node *n)
{
	return unlink(n->path) ? -errno : 0;
}

static int file_fd(struct node *n)
{
	(void)n;
	return -1;
}

/* No toolstack writes a file behind the agent's back, so it is not watched. */
static bool file_lost(struct node *n, const char *value)
{
	(void)n;
	(void)value;
	return false;
}

const struct node_ops node_file = { "file",  file_open, file_close, file_write, file_remove,
				    file_fd, file_lost, NULL,	    NULL };
