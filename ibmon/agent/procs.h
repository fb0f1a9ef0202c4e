/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * procs: which processes are to be looked at next. track_users.c lists the processes each second,
 * and looks at a bounded number of them at a time.
 *
 * Processes that are new in a list are looked at from the highest number down, since a child that
 * inherited a ring is one of them. The others may be looked at again in turn, one of PROCS_AGAIN a
 * list: a process may get a device later, and a number may be given to another process.
 */
#ifndef RESEX_AGENT_PROCS_H
#define RESEX_AGENT_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROCS_AGAIN = 32 };

struct procs_one {
	pid_t pid;
	bool looked;
};

struct procs {
	struct procs_one *one; /* of the newest list, by ascending pid */
	size_t n;
	size_t above; /* one[above] and those behind it were looked at */
	pid_t again;  /* the last one looked at again */
	size_t due;   /* so many are to be looked at again */
	bool repeat;  /* all count as new when none is any more */
	/* The list that is being made. */
	struct procs_one *next;
	size_t next_n, next_room;
};

/* All 0 is empty. */
void procs_close(struct procs *p);

/*
 * A new list: begin, add each pid in ascending order, end. The former list stays until end, also
 * when an add fails: -ENOMEM.
 */
void procs_begin(struct procs *p);
int procs_add(struct procs *p, pid_t pid);
void procs_end(struct procs *p);

/* All of them count as new once more, those too that are looked at meanwhile. */
void procs_repeat(struct procs *p);

/* The next that is new; it is not any more. False: none is. */
bool procs_new(struct procs *p, pid_t *pid);
/* The next to look at again. False: none until the next list. */
bool procs_again(struct procs *p, pid_t *pid);

/* May procs_new() and procs_again() return one? */
bool procs_may_new(const struct procs *p);
bool procs_may_again(const struct procs *p);

#endif
