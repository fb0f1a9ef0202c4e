/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch: inotify events of /dev/infiniband: nodes that appear and disappear, and
 * opens. Writes are not watched: rxe's doorbells are writes, and each sender would pay
 * for its event.
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

/* Read all waiting events. A set of enum watch_events. */
unsigned int watch_read(struct watch *w);

#endif
