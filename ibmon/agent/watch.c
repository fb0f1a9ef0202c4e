// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * watch: inotify events of /dev/infiniband -> a device was opened, or nodes came or went.
 * agent.c then looks for new rings. See watch.h.
 *
 * The folder is watched, not the nodes: nodes may appear later, and a container's node is
 * the same inode.
 */
#include "config.h"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "ibmon/agent/watch.h"

#define DEV_DIR	  "/dev"
#define NODES_DIR "/dev/infiniband"

enum { EVENTS_BYTES = 4096 };

/* Watch the folder of nodes. While it does not exist, watch /dev for it. */
static void watch_dir(struct watch *w)
{
	if (w->dir_wd < 0)
		w->dir_wd = inotify_add_watch(w->fd, NODES_DIR,
					      IN_OPEN | IN_CREATE | IN_DELETE | IN_DELETE_SELF |
						      IN_ONLYDIR);
	if (w->dir_wd >= 0 && w->dev_wd >= 0) {
		inotify_rm_watch(w->fd, w->dev_wd);
		w->dev_wd = -1;
	} else if (w->dir_wd < 0 && w->dev_wd < 0) {
		w->dev_wd = inotify_add_watch(w->fd, DEV_DIR, IN_CREATE | IN_ONLYDIR);
	}
}

int watch_open(struct watch *w)
{
	*w = (struct watch){ .dev_wd = -1, .dir_wd = -1 };
	w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (w->fd < 0)
		return -errno;
	watch_dir(w);
	return 0;
}

void watch_close(struct watch *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

/* An overflow may have dropped anything: take it for both kinds of event. */
static unsigned int event_means(struct watch *w, const struct inotify_event *e)
{
	unsigned int means = 0;

	if (e->mask & IN_Q_OVERFLOW)
		return WATCH_OPENED | WATCH_NODES;
	if (e->mask & IN_OPEN && !(e->mask & IN_ISDIR))
		means |= WATCH_OPENED;
	if (e->mask & (IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_IGNORED)) {
		if (e->wd == w->dir_wd && e->mask & (IN_DELETE_SELF | IN_IGNORED))
			w->dir_wd = -1;
		means |= WATCH_NODES;
	}
	return means;
}

/* Read until nothing is left: the events of one scan are summed up to what they mean. */
unsigned int watch_read(struct watch *w)
{
	char buf[EVENTS_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
	unsigned int means = 0;
	ssize_t n;

	while ((n = read(w->fd, buf, sizeof(buf))) > 0) {
		const char *p = buf;

		while (p < buf + n) {
			const struct inotify_event *e =
				(const struct inotify_event *)(const void *)p;

			means |= event_means(w, e);
			p += sizeof(*e) + e->len;
		}
	}
	if (means & WATCH_NODES)
		watch_dir(w);
	return means;
}
