/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reaper: a thread that destroys what other code hands over, one after the other.
 *
 * Destroying a queue pair can take long, and the thread that polls must not wait: it sends the
 * heartbeats. It gives the connection to the reaper, and takes it back when it is destroyed.
 *
 * Nothing is allocated per item: the items are the user's, each in one queue at a time. So there
 * are never more of them than the user has made.
 */
#ifndef RESEX_TRANSPORT_VERBS_REAPER_H
#define RESEX_TRANSPORT_VERBS_REAPER_H

/* Embedded in what is destroyed. */
struct reap {
	struct reap *next;
};

struct reaper;

/*
 * Start the thread. It calls destroy for each item, in the order in which they were given, and
 * takes no signals. 0 or -errno.
 */
int reaper_open(struct reaper **r, void (*destroy)(struct reap *item));
/*
 * Waits until all items that were given are destroyed, and ends the thread. They need not be taken.
 * r may be NULL.
 */
void reaper_close(struct reaper *r);
/* Hand over an item: until reaper_take returns it, only destroy touches what it destroys. */
void reaper_give(struct reaper *r, struct reap *item);
/* The next item that was destroyed, oldest first; NULL: none now. Never waits for a destroy. */
struct reap *reaper_take(struct reaper *r);
/* Readable when reaper_take has an item, until it returned NULL. The same for the reaper's life. */
int reaper_fd(const struct reaper *r);

#endif
