/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * latency_socket: copies the samples that applications send
 * (include/resex/agent_socket.h) into latency pages, one page for each process. What arrives about
 * queues is passed on.
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
 * Bind path (mode 0666; a stale socket is replaced). join(ctx, pid) is called before a
 * process gets a page; the caller then calls latency_gone() when it exits. 0;
 * -EADDRINUSE: another agent listens there; -errno.
 */
int latency_open(struct latency_socket **s, const char *path, struct book *b,
		 int (*join)(void *ctx, pid_t pid), void *ctx, const struct log *log);
void latency_close(struct latency_socket *s); /* removes the socket; the book keeps the pages */

/*
 * Datagrams about queues (struct agent_queues) go to fn, with the sender as the kernel named it;
 * without it they are dropped.
 */
void latency_queues(struct latency_socket *s,
		    int (*fn)(void *ctx, pid_t pid, const void *buf, size_t len));

int latency_fd(const struct latency_socket *s);

/* Handle at most max datagrams, so that no sender can hold up the agent. Their number. */
int latency_read(struct latency_socket *s, int max, struct mono now);

/* The process exited: withdraw its page. */
void latency_gone(struct latency_socket *s, pid_t pid);

/*
 * Check one datagram, at any alignment. Pure. The number of its samples, and in
 * *dropped how many its sender dropped before them; or -EBADMSG.
 */
int latency_parse(const void *buf, size_t len, struct agent_latency out[AGENT_SOCKET_SAMPLES_MAX],
		  uint32_t *dropped);

#endif
