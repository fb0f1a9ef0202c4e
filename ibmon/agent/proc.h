/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proc: all that the agent reads of other processes, from /proc and process_vm_readv.
 * Needs root. A process may exit at any moment: -ESRCH.
 */
#ifndef RESEX_AGENT_PROC_H
#define RESEX_AGENT_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ibmon/agent/maps.h"

/* The first max mappings of uverbs devices. Their number, or -errno. */
int proc_rings(pid_t pid, struct maps_ring *out, size_t max);

/* Address of the table of queues in the process (maps.h). 0; -ENOENT: it has none; -errno. */
int proc_table(pid_t pid, uint64_t *addr);
/*
 * The file of the table that is mapped at addr, for reading: it is a memfd, so that no read of it
 * waits for another process. A descriptor, or -errno (-ENOENT: no such mapping; -EPERM: no memfd).
 */
int proc_table_open(pid_t pid, uint64_t addr);
/* The first len bytes of it. 0; -EFAULT: it is shorter; -errno. */
int proc_table_read(int fd, void *buf, size_t len);
/* Does the process map a table at addr? Its file is not looked at. */
bool proc_table_mapped(pid_t pid, uint64_t addr);

/* Frame numbers of n pages at addr: 0, -ESRCH, or as pagemap_frames(). */
int proc_frames(pid_t pid, uint64_t addr, size_t n, uint64_t *frame);

/* Copy len bytes at addr of the process. 0 or -errno (-EFAULT: not mapped). */
int proc_read(pid_t pid, uint64_t addr, void *buf, size_t len);

/* Device number of the file mapped by m. 0 or -errno. */
int proc_mapped_device(pid_t pid, const struct maps_ring *m, dev_t *dev);

void proc_comm(pid_t pid, char comm[16]); /* printable ASCII; "?": unknown */
bool proc_one_thread(pid_t pid);
pid_t proc_tgid(pid_t tid); /* the process of a thread; 0: gone */
/* Does it have a uverbs device open? Adds how many of its open files were read. */
bool proc_has_uverbs(pid_t pid, uint32_t *files);

/* Call fn for each process until it returns non-zero; that value, 0, or -errno. */
int proc_each(int (*fn)(void *ctx, pid_t pid), void *ctx);

#endif
