// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * watch: see watch.h. The folder is watched, not the nodes: they need not
 * be there yet, and a node in a container is the same one.
 */
#include "config.h"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "ibmon/agent/watch.h"

#define DEV_DIR	  "/dev"
#define NODES_DIR "/dev/infiniband"

enum { EVENTS_BYTES = 4096 };

/* The folder of nodes; where there is none yet, wait for it in /dev. */
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
	*w = (struct watch){ .fd = -1, .use_fd = -1, .dev_wd = -1, .dir_wd = -1 };
	w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	w->use_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (w->fd < 0 || w->use_fd < 0) {
		int rc = -errno;

		watch_close(w);
		return rc;
	}
	watch_dir(w);
	watch_arm(w);
	return 0;
}

void watch_close(struct watch *w)
{
	if (w->fd >= 0)
		close(w->fd);
	if (w->use_fd >= 0)
		close(w->use_fd);
	w->fd = w->use_fd = -1;
}

void watch_arm(struct watch *w)
{
	if (w->dir_wd >= 0)
		inotify_add_watch(w->use_fd, NODES_DIR,
				  IN_MODIFY | IN_CLOSE_WRITE | IN_ONESHOT | IN_ONLYDIR);
}

static unsigned int event_means(struct watch *w, const struct inotify_event *e)
{
	unsigned int means = 0;

	if (e->mask & IN_Q_OVERFLOW)
		return WATCH_OPENED | WATCH_USED | WATCH_NODES;
	if (e->mask & IN_OPEN && !(e->mask & IN_ISDIR))
		means |= WATCH_OPENED;
	if (e->mask & (IN_MODIFY | IN_CLOSE_WRITE))
		means |= WATCH_USED;
	if (e->mask & (IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_IGNORED)) {
		if (e->wd == w->dir_wd && e->mask & (IN_DELETE_SELF | IN_IGNORED))
			w->dir_wd = -1;
		means |= WATCH_NODES;
	}
	return means;
}

static unsigned int read_fd(struct watch *w, int fd)
{
	char buf[EVENTS_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
	unsigned int means = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		const char *p = buf;

		while (p < buf + n) {
			const struct inotify_event *e =
				(const struct inotify_event *)(const void *)p;

			means |= event_means(w, e);
			p += sizeof(*e) + e->len;
		}
	}
	return means;
}

unsigned int watch_read(struct watch *w)
{
	/* on use_fd, IN_IGNORED only says that the one shot was fired */
	unsigned int used = read_fd(w, w->use_fd) & WATCH_USED;
	unsigned int means = read_fd(w, w->fd);

	if (means & WATCH_NODES)
		watch_dir(w);
	return means | used;
}
