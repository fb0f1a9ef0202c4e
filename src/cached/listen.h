/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listen: the UNIX sockets of resex-cached, and who is at the other end of a connection. For the
 * HTTP API and for the ring.
 */
#ifndef RESEX_CACHED_LISTEN_H
#define RESEX_CACHED_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "src/util/conf.h"

#define LISTEN_NO_GROUP ((gid_t)-1)

/* Which setting names the socket, for messages. */
struct listen_conf {
	const char *setting, *path;
	const char *group_setting, *group; /* "": this user and root alone */
	int type;			   /* SOCK_STREAM, SOCK_SEQPACKET */
};

/*
 * Binds and listens, mode 0600, or 0660 with its group. A socket file on which no process listens
 * is replaced. *gid: the group, or LISTEN_NO_GROUP. The descriptor, or -errno with e filled. To
 * end: close it, and unlink the path.
 */
int listen_unix(const struct listen_conf *c, gid_t *gid, struct conf_error *e);

/* As the kernel recorded it at connect(2). */
struct listen_peer {
	pid_t pid;
	uid_t uid;
	bool root;   /* user id 0 */
	bool own;    /* the user of this process */
	bool member; /* of the group */
};

/* 0 or -errno. */
int listen_peer(int fd, gid_t group, struct listen_peer *p);

#endif
