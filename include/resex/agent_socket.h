/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent_socket.h: the datagrams in which applications report latencies to resex-agent, and in
 * which libresex-rings.so says where its table of queues is.
 *
 * A datagram of latencies to the UNIX socket AGENT_SOCKET is a header, then samples in the order in
 * which they were measured. The agent copies them to the latency page of the sending
 * process (include/resex/guest_abi.h). The kernel identifies the sender
 * (SCM_CREDENTIALS), and the sender need not do anything for that. No answer is sent.
 *
 * A sender must not block: it uses MSG_DONTWAIT and drops its samples on EAGAIN. The
 * next datagram says how many were dropped, and the host counts them as lost. Frequent
 * senders should put several samples into each datagram, as resex/report.h does.
 *
 * Malformed datagrams are counted and dropped. Fields have the machine's byte order.
 */
#ifndef RESEX_AGENT_SOCKET_H
#define RESEX_AGENT_SOCKET_H

#include <assert.h>
#include <stdint.h>

#define AGENT_SOCKET	     "/run/resex/agent.sock"
#define AGENT_SOCKET_MAGIC   0x4c415852u /* "RXAL" */
#define AGENT_SOCKET_VERSION 2u

#define AGENT_QUEUES_MAGIC   0x51415852u /* "RXAQ" */
#define AGENT_QUEUES_VERSION 1u

enum { AGENT_SOCKET_SAMPLES_MAX = 256 };

struct agent_latency {
	uint32_t ctime_ns; /* computing (paper IV) */
	uint32_t wtime_ns; /* waiting for I/O */
	uint32_t ptime_ns; /* polling */
};

struct agent_latencies {
	uint32_t magic;	  /* AGENT_SOCKET_MAGIC */
	uint16_t version; /* AGENT_SOCKET_VERSION */
	uint16_t samples; /* that follow, 1 .. AGENT_SOCKET_SAMPLES_MAX */
	uint32_t dropped; /* samples dropped by the sender since the last datagram */
	uint32_t reserved;
	struct agent_latency sample[];
};

/* The sender's table of queues is new or has changed (resex/queue_table.h). */
struct agent_queues {
	uint32_t magic;	  /* AGENT_QUEUES_MAGIC */
	uint16_t version; /* AGENT_QUEUES_VERSION */
	uint16_t reserved;
	uint64_t address; /* of the table, in the sender's memory */
	uint64_t nonce;	  /* of the table */
};

static_assert(sizeof(struct agent_queues) == 24, "ABI");
static_assert(sizeof(struct agent_latency) == 12, "ABI");
static_assert(sizeof(struct agent_latencies) == 16, "ABI");

#endif
