/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * queue_table.h: the table in which libresex-rings.so lists the queues of its process, for
 * resex-agent.
 *
 * The table is in the memory of the process: a shared mapping of a memfd named
 * QUEUE_TABLE_NAME. The agent learns its address from a datagram (struct agent_queues in
 * agent_socket.h), and at its start from /proc/PID/maps. It opens the memfd by
 * /proc/PID/map_files and reads the file. It does not read the memory of the process, which may
 * be such that a reader waits for ever (userfaultfd, FUSE). It copies the head every few
 * milliseconds, and the rest when the generation has changed.
 *
 * Writer: the library alone. It makes generation odd, changes entries, and makes generation even
 * again. Reader: the agent; it takes a copy only if generation was even and the same before and
 * after. Nothing here is trusted: addresses are of this process, and each entry is checked.
 *
 * Lifetime:
 *
 *	A queue is destroyed, or its queue pair is RESET. The library clears the entry first, and
 *	notifies the agent. It does not wait for the agent. If the call fails, the entry returns.
 *
 *	The process exits or is killed. The agent waits for that with a pidfd, and withdraws all
 *	queues of the process.
 *
 *	The process executes another program. The mapping is gone. The agent notices at its next
 *	look, and withdraws all queues.
 *
 *	The process forks. The child does not have the mapping (MADV_DONTFORK). Its library
 *	makes a new table when the child creates a queue. The parent's table stays.
 *
 *	The agent exits or is killed. The table stays. The next agent finds it in /proc/PID/maps.
 *
 *	The pages of a queue are freed while the host maps them. The host maps them read-only, and
 *	the guest's kernel may use them for something else at once. Until the queue is withdrawn,
 *	the host reads what is there now. It takes nothing on trust: what cannot be an entry of
 *	the queue makes it drop the ring (resex-guest-abi(7)). So this costs accuracy for some
 *	milliseconds, and nothing else.
 *
 * Frames. A driver pins the pages of a queue as long as the queue lives (ib_umem_get(), with
 * FOLL_LONGTERM): they do not move, they are not swapped, and at a fork the child gets copies. The
 * agent and the host pin nothing, and do not rely on it. After each heartbeat (500 ms), the agent
 * compares the frames of all pages of a queue and of its doorbell record with those that it
 * published:
 *
 *	The frames are the same. Nothing is done. So it is with huge pages: each 4 KiB of one has
 *	a frame number of its own.
 *
 *	A frame has changed: compaction moved the page, or khugepaged did into a huge page; or a
 *	child shared it after fork, and this process wrote to it (copy on write). The agent
 *	withdraws the queue and publishes it under another id, with the new frames and the old
 *	time at which it was found, in one change of the registry. The host goes on counting, if
 *	the newest entry that it counted is there. Else it counts nothing that was done until then,
 *	and marks the queue "uncharged" (ibmon/guest_kept.c).
 *
 *	A page is not present: it was unmapped, freed or swapped. The agent withdraws the queue,
 *	and publishes it again when the page is present.
 *
 *	A page is shared with a child, and neither has written to it. Its frame is the same, so the
 *	queue stays published, as the parent's alone.
 *
 * Until the agent has looked, the host reads the old frames. What another process has there is not
 * counted: an entry of mlx5 names its queue pair and its index, and the host drops the ring at
 * once if the doorbell record counts entries that are not there. An entry of mlx4 names no queue
 * pair: a queue of mlx4 of another process at the same place of the page would be counted. No
 * driver lets pages go before the queue is destroyed, and then the library cleared its entry first.
 */
#ifndef RESEX_QUEUE_TABLE_H
#define RESEX_QUEUE_TABLE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define QUEUE_TABLE_NAME    "resex-rings"
#define QUEUE_TABLE_MAGIC   0x54515852u /* "RXQT" */
#define QUEUE_TABLE_VERSION 1u

enum { QUEUE_TABLE_ENTRIES = 255 };

struct queue_entry {
	uint32_t kind;	    /* enum guest_ring_kind; 0: the entry is free */
	uint32_t provider;  /* enum guest_ring_provider */
	uint32_t number;    /* QPN or CQN */
	uint32_t qp_type;   /* enum guest_qp_type */
	uint32_t path_mtu;  /* bytes, 256 .. 4096; 0: it has none */
	uint32_t elem_size; /* bytes; 0 on rxe */
	uint32_t entries;   /* elements; 0 on rxe */
	uint32_t reserved;
	uint64_t address;  /* of the first element; 0 on rxe: the agent finds the ring itself */
	uint64_t doorbell; /* address of the doorbell record; 0: none (rxe; mlx4: a send queue) */
	uint64_t serial;   /* no two queues of a table have the same */
	uint64_t reserved2;
};

struct queue_table {
	uint32_t magic;	     /* QUEUE_TABLE_MAGIC */
	uint32_t version;    /* QUEUE_TABLE_VERSION */
	uint64_t nonce;	     /* random, another one in each table */
	uint32_t generation; /* odd while the library writes */
	uint32_t unlisted;   /* queue pairs that live and have no room here */
	uint8_t reserved[40];
	struct queue_entry entry[QUEUE_TABLE_ENTRIES];
};

static_assert(sizeof(struct queue_entry) == 64, "ABI");
static_assert(offsetof(struct queue_entry, address) == 32, "ABI");
static_assert(offsetof(struct queue_table, entry) == 64, "ABI");
static_assert(sizeof(struct queue_table) == 16384, "ABI");

#endif
