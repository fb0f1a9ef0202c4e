// SPDX-License-Identifier: GPL-2.0-or-later
/* node_xen: the node in xenstore. A relative path is below this guest's own. See node.h. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xenstore.h>

#include "ibmon/agent/node.h"

/* A struct node is the handle of xenstore itself. */
static struct xs_handle *handle(struct node *n)
{
	return (struct xs_handle *)(void *)n;
}

static int xen_open(struct node **out, const char *arg)
{
	struct xs_handle *xs = xs_open(0);

	(void)arg;
	if (!xs)
		return errno == ENOENT || errno == ENXIO ? -ENODEV : -errno;
	*out = (struct node *)(void *)xs;
	return 0;
}

static void xen_close(struct node *n)
{
	xs_close(handle(n));
}

static int xen_write(struct node *n, const char *value)
{
	if (!xs_write(handle(n), XBT_NULL, GUEST_ABI_NODE, value, (unsigned int)strlen(value)))
		return -errno;
	return 0;
}

static int xen_remove(struct node *n)
{
	return xs_rm(handle(n), XBT_NULL, GUEST_ABI_NODE) ? 0 : -errno;
}

/* Called once. The library starts a thread that reads events. */
static int xen_fd(struct node *n)
{
	if (!xs_watch(handle(n), GUEST_ABI_NODE, "node") ||
	    !xs_watch(handle(n), GUEST_ABI_WANT, "want"))
		return -1;
	return xs_fileno(handle(n));
}

/*
 * xenstore also reports a watch once when it is set, and each of the agent's own writes:
 * only the value tells. Any error but ENOENT leaves the node as it is, because the value is
 * unknown then.
 */
static bool xen_lost(struct node *n, const char *value)
{
	unsigned int len;
	bool lost;
	char **event, *now;

	while ((event = xs_check_watch(handle(n))) != NULL)
		free(event);
	now = xs_read(handle(n), XBT_NULL, GUEST_ABI_NODE, &len);
	lost = now ? strcmp(now, value) != 0 : errno == ENOENT;
	free(now);
	return lost;
}

static int xen_want(struct node *n, char *value, size_t size)
{
	unsigned int len;
	char *now = xs_read(handle(n), XBT_NULL, GUEST_ABI_WANT, &len);
	int rc = (int)len;

	if (!now)
		return errno ? -errno : -EIO;
	if (len >= size)
		rc = -EMSGSIZE;
	else if (memchr(now, '\0', len))
		rc = -EBADMSG;
	if (rc >= 0) {
		memcpy(value, now, len);
		value[len] = '\0';
	}
	free(now);
	return rc;
}

static int xen_answer(struct node *n, const char *value)
{
	if (!xs_write(handle(n), XBT_NULL, GUEST_ABI_ANSWER, value, (unsigned int)strlen(value)))
		return errno ? -errno : -EIO;
	return 0;
}

const struct node_ops node_xen = { "xenstore", xen_open, xen_close, xen_write, xen_remove,
				   xen_fd,     xen_lost, xen_want,  xen_answer };
