/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * queue_tables: the tables in which libresex-rings.so lists the queues of its process
 * (include/resex/queue_table.h). Queues of mlx5 and mlx4 are published to a sink, and withdrawn
 * when the table lists them no more or the process is gone. Of rxe's queue pairs, whose rings track
 * finds, a table only says what they are. One thread.
 */
#ifndef RESEX_AGENT_QUEUE_TABLES_H
#define RESEX_AGENT_QUEUE_TABLES_H

#include <sys/types.h>

#include "ibmon/agent/queue_entry.h"
#include "src/core/units.h"
#include "src/util/log.h"

enum {
	QUEUE_TABLES_MAX = 256,
	QUEUE_TABLE_PAGES_MAX = 8192, /* of all queues of a process: 32 MiB */
};

/* Where queues go. All required. */
struct queue_sink {
	void (*begin)(void *ctx);
	void (*end)(void *ctx);
	int (*publish)(void *ctx, const struct guest_ring *g, const uint64_t *frame, uint32_t *id);
	void (*withdraw)(void *ctx, uint32_t id);
	/* queue_tables_rxe() knows this queue pair from now on, or knows another path MTU. */
	void (*note)(void *ctx, pid_t pid, uint32_t qpn);
	/* A process has a table: call queue_tables_gone() when it exits. 0 or -errno. */
	int (*join)(void *ctx, pid_t pid);
};

/* How other processes are read: as in proc.h. All required. */
struct queue_reader {
	int (*open)(pid_t pid, uint64_t addr); /* a table; a descriptor or -errno */
	int (*read)(int fd, void *buf, size_t len);
	void (*close)(int fd);
	bool (*mapped)(pid_t pid, uint64_t addr);
	int (*frames)(pid_t pid, uint64_t addr, size_t n, uint64_t *frame);
	int (*table)(pid_t pid, uint64_t *addr);
	int (*each)(int (*fn)(void *ctx, pid_t pid), void *ctx);
	void (*comm)(pid_t pid, char comm[16]);
};

struct queue_tables;

/* 0 or -ENOMEM. All are borrowed. */
int queue_tables_open(struct queue_tables **t, const struct queue_sink *sink, void *ctx,
		      const struct queue_reader *reader, const struct log *log);
void queue_tables_close(struct queue_tables *t); /* withdraws nothing */

/* A datagram of pid, which the kernel named. It only asks for a look. 0; -errno: dropped. */
int queue_tables_datagram(struct queue_tables *t, pid_t pid, const void *buf, size_t len);

/*
 * Look at the heads of all tables, and read those that have changed. full: compare frames, too,
 * and try again what was not published. True: something was published or withdrawn.
 */
bool queue_tables_look(struct queue_tables *t, struct mono now, bool full);

/* The process exited. */
void queue_tables_gone(struct queue_tables *t, pid_t pid);

/* A ring was withdrawn: what had no room is tried again. */
void queue_tables_room(struct queue_tables *t);

/*
 * Tables of processes that were there before the agent: list the processes, then look at so many
 * of them. How many tables were found; *left: some processes were not looked at yet.
 */
int queue_tables_list(struct queue_tables *t);
size_t queue_tables_find(struct queue_tables *t, size_t processes, bool *left);

size_t queue_tables_count(const struct queue_tables *t);
/* Send queues that live and are not published, for lack of room here or in the book. */
uint32_t queue_tables_unpublished(const struct queue_tables *t);

/* Does a table say what this queue pair of rxe is? Then *mtu and *type. */
bool queue_tables_rxe(const struct queue_tables *t, pid_t pid, uint32_t qpn, uint32_t *mtu,
		      uint32_t *type);

#endif
