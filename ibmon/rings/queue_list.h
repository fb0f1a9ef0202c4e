/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * queue_list: the table of queues of this process (include/resex/queue_table.h), which the agent
 * reads. Any thread may call; each call takes a lock for a few stores. No call fails: without
 * memory for the table, queues are not listed.
 */
#ifndef RESEX_RINGS_QUEUE_LIST_H
#define RESEX_RINGS_QUEUE_LIST_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "resex/queue_table.h"

enum { QUEUE_LIST_UNLISTED_MAX = 1024 };

struct queue_list {
	pthread_mutex_t lock;
	struct queue_table *table; /* NULL: not yet, or not in this child */
	pid_t pid;		   /* of the process that made the table */
	bool named;		   /* queue_list_where() was called */
	uint64_t serial;
	/* The object of each entry, and what it belongs to. */
	const void *object[QUEUE_TABLE_ENTRIES], *owner[QUEUE_TABLE_ENTRIES];
	/* Queue pairs without room in the table. */
	const void *unlisted[QUEUE_LIST_UNLISTED_MAX];
};

/*
 * A place of its own for the entry of an object; what the object had before is replaced. serial is
 * filled in. False: nothing changed.
 */
bool queue_list_put(struct queue_list *l, const void *object, const void *owner,
		    const struct queue_entry *e);
/* Clear the entry of an object. True, and *was: what it was. */
bool queue_list_take(struct queue_list *l, const void *object, struct queue_entry *was);
/* Clear the entries of all objects of an owner. False: there was none. */
bool queue_list_take_all(struct queue_list *l, const void *owner);

/* Is the object listed? */
bool queue_list_has(struct queue_list *l, const void *object);

/*
 * Where the table is, for a datagram to the agent. *first: this is the first call. False: there is
 * no table.
 */
bool queue_list_where(struct queue_list *l, uint64_t *address, uint64_t *nonce, bool *first);

/* For pthread_atfork(3). */
void queue_list_fork(struct queue_list *l);
void queue_list_parent(struct queue_list *l);
void queue_list_child(struct queue_list *l);

#endif
