/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch: what inotify tells of /dev/infiniband: nodes that come and go,
 * opens, and use (writes to a node: queue pairs that change state, regions
 * registered, and with rxe every doorbell).
 *
 * Use is told once per arming: a one-shot watch, so that a busy guest pays
 * for one event per arming, not one per doorbell.
 */
#ifndef RESEX_AGENT_WATCH_H
#define RESEX_AGENT_WATCH_H

enum watch_events {
	WATCH_OPENED = 1 << 0,
	WATCH_USED = 1 << 1,
	WATCH_NODES = 1 << 2, /* nodes came or went */
};

struct watch {
	int fd;	    /* opens and nodes: always */
	int use_fd; /* use: one-shot */
	int dev_wd, dir_wd;
};

int watch_open(struct watch *w); /* 0 or -errno */
void watch_close(struct watch *w);

/* Be told of the next use. What happened before must be looked for afterwards. */
void watch_arm(struct watch *w);

/* Read what there is on both; a set of enum watch_events. */
unsigned int watch_read(struct watch *w);

#endif
