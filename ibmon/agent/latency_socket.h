/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * latency_socket: samples that applications send (include/resex/agent_socket.h)
 * into one latency page a process.
 */
#ifndef RESEX_AGENT_LATENCY_H
#define RESEX_AGENT_LATENCY_H

#include <stdbool.h>
#include <sys/types.h>

#include "ibmon/agent/book.h"
#include "resex/agent_socket.h"
#include "src/core/units.h"
#include "src/util/log.h"

struct latency_socket;

/*
 * Bind path (mode 0666; one that nobody listens on any more is replaced).
 * join is told of each process that gets a page; its exit must be told by
 * latency_gone. 0; -EADDRINUSE: another agent listens there; -errno.
 */
int latency_open(struct latency_socket **s, const char *path, struct book *b,
		 int (*join)(void *ctx, pid_t pid), void *ctx, const struct log *log);
void latency_close(struct latency_socket *s); /* removes the socket; the pages stay the book's */

int latency_fd(const struct latency_socket *s);

/* Take what has arrived, max datagrams at most: no sender may keep the agent. How many it were. */
int latency_read(struct latency_socket *s, int max, struct mono now);

/* The process exited: its page is withdrawn. */
void latency_gone(struct latency_socket *s, pid_t pid);

/*
 * Check one datagram. Pure. The number of samples in it, and how many its
 * sender dropped before them, or -EBADMSG. It need not be aligned.
 */
int latency_parse(const void *buf, size_t len, struct agent_latency out[AGENT_SOCKET_SAMPLES_MAX],
		  uint32_t *dropped);

#endif
