// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenstore: all calls of libxenstore, for the thread of src/hv/store.c.
 *
 * A call of libxenstore waits for xenstored's answer without limit. So only that thread makes
 * these calls. The control thread's loop makes requests to it (watch.c).
 *
 * @introduceDomain and @releaseDomain do not say which domain: the reader
 * lists. Every watch fires once when it is set. A guest can write its node
 * as often as xenstored serves it, and each write is an event here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <xenstore.h>
#include <xenstore_lib.h>

#include "resex/guest_abi.h"
#include "src/hv/store.h"
#include "src/hv/xen/xen.h"

/* xenstore returns a watch's token with each event: the token says what to do. */
#define TOKEN_DOMAINS "domains"
#define TOKEN_NODE    "node:"
#define PATH_MAX_LEN  80

static int xs_error(void)
{
	return errno ? -errno : -EIO;
}

/* Does a xenstored of this dom0 accept connections? */
static bool has_daemon(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *path = xs_daemon_socket();
	int fd, ret;

	if (!path || strlen(path) >= sizeof(addr.sun_path))
		return false;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	ret = connect(fd, (const struct sockaddr *)&addr, sizeof(addr));
	close(fd);
	return ret == 0;
}

/* Is xenstore served by a domain of its own? */
static bool has_store_domain(void)
{
	struct hv_xen_quiet quiet;
	xc_domaininfo_t info;
	xc_interface *xc;
	uint32_t next = 0;
	bool found = false;

	hv_xen_quiet_init(&quiet);
	if (hv_xen_open(&xc, &quiet))
		return false;
	while (!found && xc_domain_getinfolist(xc, next, 1, &info) == 1) {
		found = info.flags & XEN_DOMINF_xs_domain;
		next = info.domain + 1u;
	}
	xc_interface_close(xc);
	return found;
}

/*
 * Without its socket xs_open uses the kernel's xenbus. There a request sleeps
 * for ever and cannot be killed when no xenstored runs. So check that first.
 */
static int connect_store(struct xs_handle **xs)
{
	struct xs_handle *h;

	if (!has_daemon() && !has_store_domain())
		return -ENODEV;
	h = xs_open(XS_UNWATCH_FILTER);
	if (!h)
		return errno == EACCES || errno == EPERM ? -EACCES : -ENODEV;
	*xs = h;
	return 0;
}

static int call_open(void **h, void *arg)
{
	struct xs_handle *xs = NULL;
	int ret;

	(void)arg;
	ret = connect_store(&xs);
	if (ret)
		return ret;
	if (xs_watch(xs, "@introduceDomain", TOKEN_DOMAINS) &&
	    xs_watch(xs, "@releaseDomain", TOKEN_DOMAINS)) {
		*h = xs;
		return 0;
	}
	ret = xs_error();
	xs_close(xs);
	return ret;
}

static void call_close(void *h)
{
	xs_close(h);
}

static int call_fd(void *h)
{
	return xs_fileno(h);
}

static bool parse_token(const char *token, struct hv_event *ev)
{
	if (!strcmp(token, TOKEN_DOMAINS)) {
		*ev = (struct hv_event){ .type = HV_EVENT_DOMAINS };
		return true;
	}
	if (strncmp(token, TOKEN_NODE, strlen(TOKEN_NODE)) != 0)
		return false;
	*ev = (struct hv_event){
		.type = HV_EVENT_NODE,
		.domid = (uint32_t)strtoul(token + strlen(TOKEN_NODE), NULL, 10),
	};
	return true;
}

/*
 * Other tokens cannot come from our own watches; an event of one is skipped. xs_check_watch does
 * not block: a thread of libxenstore reads the events and puts whole ones into a list.
 */
static int call_next(void *h, struct hv_event *ev)
{
	bool ours;

	do {
		char **event = xs_check_watch(h);

		if (!event)
			return errno == EAGAIN ? 0 : xs_error();
		ours = parse_token(event[XS_WATCH_TOKEN], ev);
		free(event);
	} while (!ours);
	return 1;
}

/* A node of that domain and the token of its watch. */
static void node_names(uint32_t domid, const char *node, char path[PATH_MAX_LEN],
		       char token[PATH_MAX_LEN])
{
	snprintf(path, PATH_MAX_LEN, "/local/domain/%u/%s", domid, node);
	snprintf(token, PATH_MAX_LEN, TOKEN_NODE "%u", domid);
}

static int call_watch(void *h, uint32_t domid)
{
	char path[PATH_MAX_LEN], token[PATH_MAX_LEN];

	node_names(domid, GUEST_ABI_NODE, path, token);
	if (xs_watch(h, path, token) || errno == EEXIST)
		return 0;
	return xs_error();
}

static void call_unwatch(void *h, uint32_t domid)
{
	char path[PATH_MAX_LEN], token[PATH_MAX_LEN];

	node_names(domid, GUEST_ABI_NODE, path, token);
	xs_unwatch(h, path, token);
}

/* The value is the guest's: any length, any bytes, and no NUL at its end. */
static int copy_value(const char *value, unsigned int len, char *buf, size_t size)
{
	if (len >= size)
		return -EMSGSIZE;
	if (memchr(value, '\0', len))
		return -EBADMSG;
	memcpy(buf, value, len);
	buf[len] = '\0';
	return (int)len;
}

static int read_node(struct xs_handle *xs, const char *path, char *buf, size_t size)
{
	unsigned int len;
	char *value = xs_read(xs, XBT_NULL, path, &len);
	int ret;

	if (!value)
		return xs_error();
	ret = copy_value(value, len, buf, size);
	free(value);
	return ret;
}

/*
 * Only the guest itself (and dom0, which may write anything) may have written it. The
 * first entry names the owner and what all others may do.
 */
static int check_writers(struct xs_handle *xs, const char *path, uint32_t domid)
{
	unsigned int n;
	struct xs_permissions *perms = xs_get_permissions(xs, XBT_NULL, path, &n);
	int ret = 0;

	if (!perms)
		return xs_error();
	if (n == 0 || perms[0].id != domid || (perms[0].perms & XS_PERM_WRITE))
		ret = -EPERM;
	for (unsigned int i = 1; !ret && i < n; i++)
		if ((perms[i].perms & XS_PERM_WRITE) && perms[i].id != domid && perms[i].id != 0)
			ret = -EPERM;
	free(perms);
	return ret;
}

/* What the guest writes, and nobody else. */
static int read_own(struct xs_handle *xs, uint32_t domid, const char *node, char *buf, size_t size)
{
	char path[PATH_MAX_LEN], token[PATH_MAX_LEN];
	int ret;

	node_names(domid, node, path, token);
	ret = check_writers(xs, path, domid);
	return ret ? ret : read_node(xs, path, buf, size);
}

static int call_read(void *h, uint32_t domid, char *buf, size_t size)
{
	return read_own(h, domid, GUEST_ABI_NODE, buf, size);
}

static int call_answer(void *h, uint32_t domid, char *buf, size_t size)
{
	return read_own(h, domid, GUEST_ABI_ANSWER, buf, size);
}

/*
 * A node that dom0 makes belongs to the owner of the folder, the guest, which so can read it. A
 * guest that is gone has no folder: then none is made, which nobody would remove.
 */
static int call_want(void *h, uint32_t domid, const char *value)
{
	char path[PATH_MAX_LEN], token[PATH_MAX_LEN], name[PATH_MAX_LEN];
	unsigned int len;
	void *there;

	if (strlen(value) >= GUEST_ABI_WANT_MAX)
		return -EMSGSIZE;
	node_names(domid, "name", name, token);
	there = xs_read(h, XBT_NULL, name, &len);
	if (!there)
		return xs_error();
	free(there);
	node_names(domid, GUEST_ABI_WANT, path, token);
	if (xs_write(h, XBT_NULL, path, value, (unsigned int)strlen(value)))
		return 0;
	return xs_error();
}

/* The toolstack in dom0 writes the name; the guest cannot. */
static int call_name(void *h, uint32_t domid, char *buf, size_t size)
{
	char path[PATH_MAX_LEN], token[PATH_MAX_LEN];

	node_names(domid, "name", path, token);
	return read_node(h, path, buf, size);
}

const struct store_calls hv_xen_store_calls = {
	.open = call_open,
	.close = call_close,
	.fd = call_fd,
	.next = call_next,
	.watch = call_watch,
	.unwatch = call_unwatch,
	.read = call_read,
	.name = call_name,
	.want = call_want,
	.answer = call_answer,
};
