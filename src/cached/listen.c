// SPDX-License-Identifier: GPL-2.0-or-later
/* listen: bind a UNIX socket, and ask the kernel who connected. See listen.h. */
#define _GNU_SOURCE /* struct ucred */
#include "src/cached/listen.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 64, GROUPS = 64 };

static int find_group(const struct listen_conf *c, gid_t *gid, struct conf_error *e)
{
	const struct group *g;

	*gid = LISTEN_NO_GROUP;
	if (!c->group[0])
		return 0;
	g = getgrnam(c->group);
	if (!g) {
		conf_error_set(e, RESEX_BAD_CONFIG,
			       "%s \"%s\" is not a group of this host: create it or leave it out",
			       c->group_setting, c->group);
		return -EINVAL;
	}
	*gid = g->gr_gid;
	return 0;
}

/* Does a process listen there? Only connect(2) shows it: a killed one leaves its file behind. */
static bool is_served(const struct sockaddr_un *a, int type)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool served = fd >= 0 && (!connect(fd, (const struct sockaddr *)a, sizeof(*a)) ||
				  errno == EAGAIN ||	/* its queue is full */
				  errno == EPROTOTYPE); /* of another type */

	if (fd >= 0)
		close(fd);
	return served;
}

/* 0: the name is free now. */
static int make_free(const struct listen_conf *c, const struct sockaddr_un *a, struct conf_error *e)
{
	struct stat st;

	if (lstat(c->path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode)) {
		conf_error_set(e, RESEX_BAD_CONFIG,
			       "%s %s: there is a %s of that name: remove it, or name another "
			       "socket",
			       c->setting, c->path, S_ISDIR(st.st_mode) ? "directory" : "file");
		return -EINVAL;
	}
	if (is_served(a, c->type)) {
		conf_error_set(e, RESEX_RUNNING,
			       "%s %s: another process listens there: stop it first, or name "
			       "another socket",
			       c->setting, c->path);
		return -EADDRINUSE;
	}
	unlink(c->path);
	return 0;
}

/* The mode is that of the file when it appears: with a chmod after it, any user could connect. */
static int bind_closed(int fd, const struct sockaddr_un *a)
{
	mode_t old = umask(0177);
	int rc = bind(fd, (const struct sockaddr *)a, sizeof(*a)) ? -errno : 0;

	umask(old);
	return rc;
}

/* The group before the mode: else that which the file had at first could connect. */
static int open_to_group(const char *path, gid_t gid)
{
	if (gid == LISTEN_NO_GROUP)
		return 0;
	return chown(path, (uid_t)-1, gid) || chmod(path, 0660) ? -errno : 0;
}

int listen_unix(const struct listen_conf *c, gid_t *gid, struct conf_error *e)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd, rc = find_group(c, gid, e);

	if (rc)
		return rc;
	if (snprintf(a.sun_path, sizeof(a.sun_path), "%s", c->path) >= (int)sizeof(a.sun_path)) {
		conf_error_set(e, RESEX_BAD_CONFIG, "%s %s: the path is over %zu bytes long",
			       c->setting, c->path, sizeof(a.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	rc = make_free(c, &a, e);
	if (rc)
		return rc;
	fd = socket(AF_UNIX, c->type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	rc = fd < 0 ? -errno : bind_closed(fd, &a);
	if (!rc) {
		rc = open_to_group(c->path, *gid);
		if (!rc && listen(fd, BACKLOG))
			rc = -errno;
		if (rc)
			unlink(c->path);
	}
	if (!rc)
		return fd;
	conf_error_set(e, conf_exit(rc), "%s %s: %s", c->setting, c->path, strerror(-rc));
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Of the groups beside its first one. The kernel says how much room they need. */
static bool has_group(int fd, gid_t group)
{
	gid_t few[GROUPS], *all = few;
	socklen_t len = sizeof(few);
	bool has = false;
	int rc = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, few, &len);

	if (rc && errno == ERANGE) {
		all = malloc(len);
		rc = all ? getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, all, &len) : -1;
	}
	for (size_t i = 0; !rc && i < len / sizeof(gid_t); i++)
		has = has || all[i] == group;
	if (all != few)
		free(all);
	return has;
}

int listen_peer(int fd, gid_t group, struct listen_peer *p)
{
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	*p = (struct listen_peer){
		.pid = cred.pid,
		.uid = cred.uid,
		.root = cred.uid == 0,
		.own = cred.uid == geteuid(),
		.member = group != LISTEN_NO_GROUP && (cred.gid == group || has_group(fd, group)),
	};
	return 0;
}
