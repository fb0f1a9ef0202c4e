/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch: what inotify tells of /dev/infiniband: nodes that come and go, and
 * opens. (Writes to a node, which rxe's doorbells are, are not asked for: the
 * senders would pay for it.)
 */
#ifndef RESEX_AGENT_WATCH_H
#define RESEX_AGENT_WATCH_H

enum watch_events {
	WATCH_OPENED = 1 << 0,
	WATCH_NODES = 1 << 1, /* nodes came or went */
};

struct watch {
	int fd;
	int dev_wd, dir_wd;
};

int watch_open(struct watch *w); /* 0 or -errno */
void watch_close(struct watch *w);

/* Read what there is; a set of enum watch_events. */
unsigned int watch_read(struct watch *w);

#endif
