/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent_socket.h: how an application tells resex-agent its latencies.
 *
 * One datagram to the UNIX socket AGENT_SOCKET: a header, then samples in
 * the order in which they were taken. The agent copies them to the latency
 * page of the sending process (include/resex/guest_abi.h); who that is comes
 * from the kernel (SCM_CREDENTIALS), which adds it by itself. No answer is
 * sent. A sender must not block: use MSG_DONTWAIT, and drop on EAGAIN; the
 * next datagram says how many, and the host counts them as lost. One that
 * sends often should put several samples into each datagram, as
 * resex/report.h does.
 * Datagrams that are not of this form are counted and dropped. All fields
 * have the machine's byte order.
 */
#ifndef RESEX_AGENT_SOCKET_H
#define RESEX_AGENT_SOCKET_H

#include <assert.h>
#include <stdint.h>

#define AGENT_SOCKET	     "/run/resex/agent.sock"
#define AGENT_SOCKET_MAGIC   0x4c415852u /* "RXAL" */
#define AGENT_SOCKET_VERSION 2u

enum { AGENT_SOCKET_SAMPLES_MAX = 64 };

struct agent_latency {
	uint32_t ctime_ns; /* computing (paper IV) */
	uint32_t wtime_ns; /* waiting for I/O */
	uint32_t ptime_ns; /* polling */
};

struct agent_latencies {
	uint32_t magic;	  /* AGENT_SOCKET_MAGIC */
	uint16_t version; /* AGENT_SOCKET_VERSION */
	uint16_t samples; /* that follow, 1 .. AGENT_SOCKET_SAMPLES_MAX */
	uint32_t dropped; /* samples that could not be sent since the last datagram */
	uint32_t reserved;
	struct agent_latency sample[];
};

static_assert(sizeof(struct agent_latency) == 12, "ABI");
static_assert(sizeof(struct agent_latencies) == 16, "ABI");

#endif
