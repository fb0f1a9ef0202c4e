/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * queue_entry: checks what libresex-rings.so says of its process's queues: the datagram, the head
 * of the table, an entry (include/resex/queue_table.h). Pure. Any process may send anything.
 */
#ifndef RESEX_AGENT_QUEUE_ENTRY_H
#define RESEX_AGENT_QUEUE_ENTRY_H

#include <stdbool.h>

#include "resex/agent_socket.h"
#include "resex/guest_abi.h"
#include "resex/queue_table.h"

enum { QUEUE_HEAD = offsetof(struct queue_table, entry) };

/* Is it a datagram of this kind at all? By its first bytes. */
bool queue_datagram_is(const void *buf, size_t len);
/* 0 and a copy; -EBADMSG. buf at any alignment. */
int queue_datagram_parse(const void *buf, size_t len, struct agent_queues *out);

/* Of a copy of QUEUE_HEAD bytes. 0; -EAGAIN: being written; -EBADMSG: not a table. */
int queue_head_check(const struct queue_table *copy);

/* Where a queue is in its process, in pages. */
struct queue_place {
	uint64_t page; /* address of the first */
	uint32_t pages;
	uint64_t db_page; /* address of the page with the doorbell record, if it has db_bytes */
};

enum queue_what {
	QUEUE_FREE = 0,
	QUEUE_NOTE = 1,	  /* of rxe: only what the queue pair is. *g has it, *p is not set */
	QUEUE_MEMORY = 2, /* a queue to be published: *g lacks id, pid, comm, frames of memory */
};

/* enum queue_what; -EBADMSG: its values cannot be those of a queue. */
int queue_entry_parse(const struct queue_entry *e, struct guest_ring *g, struct queue_place *p);

#endif
