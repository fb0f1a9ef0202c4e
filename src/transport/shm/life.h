/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * life: this process lives, or is dead: told by the kernel, in the word of resex/life_abi.h. Peers
 * read it after each READ (exec.c), and so does the VMOD (src/ring/direct.c).
 *
 * The word is a robust futex of the thread that begins the life. When the thread ends, in whatever
 * way, the kernel marks it. It does so before it closes the descriptors of the process: so the next
 * process of this host cannot listen before each reader sees that this one is dead.
 */
#ifndef RESEX_TRANSPORT_SHM_LIFE_H
#define RESEX_TRANSPORT_SHM_LIFE_H

#include <sys/types.h>

#include "resex/life_abi.h"

struct life_list;

struct shm_life {
	void *pages;		/* NULL: it has not begun */
	struct life_list *list; /* of the thread */
	pid_t process;
};

/*
 * The word is at this place of the file, the begin of a page of zeros. The thread that calls must
 * not end before shm_life_end. It may have any number of lives; while it has one, it has no robust
 * mutexes of others. 0 or -errno.
 */
int shm_life_begin(struct shm_life *l, int fd, off_t at);
/*
 * The word is 0 again. By the same thread. Of one that has not begun it does nothing; in a child of
 * fork(2), which is not the process that lives, the word stays as it is.
 */
void shm_life_end(struct shm_life *l);

#endif
