/* SPDX-License-Identifier: GPL-2.0-or-later */
/* notify: datagrams to resex-agent about the table of queues (resex/agent_socket.h). */
#ifndef RESEX_RINGS_NOTIFY_H
#define RESEX_RINGS_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

struct notify {
	int warned; /* atomic: a sentence was written to stderr */
};

/*
 * Notify the agent that the table at address is new or has changed. wait: if the agent's queue is
 * full, wait for at most 100 ms. Without an agent, this writes one sentence to stderr, the first
 * time. A lost datagram costs some milliseconds: the agent looks at known tables by itself.
 */
void notify_send(struct notify *n, uint64_t address, uint64_t nonce, bool wait);

#endif
