/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h: an application reports its latencies (man resex_report).
 *
 * Samples go to resex-agent, many in one datagram (agent_socket.h), and from there to
 * the host. No call blocks. A failure to send is not an error of the application: the
 * samples are dropped and counted. Only one thread at a time may use a handle; a
 * process may have many handles. For C and C++.
 */
#ifndef RESEX_REPORT_H
#define RESEX_REPORT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct resex_report;

/*
 * path is the agent's socket; NULL: $RESEX_AGENT_SOCKET, or AGENT_SOCKET where that is
 * unset or empty. No agent needs to run: it may start and stop at any time. 0;
 * -ENAMETOOLONG; -ENOMEM, -EMFILE and the like. *r is set only on success.
 */
int resex_report_open(struct resex_report **r, const char *path);

/*
 * Report one request: nanoseconds of computing, of waiting for I/O, and of polling;
 * more than 4.29 s counts as 4.29 s. Samples are sent when 256 wait, or by the first
 * report after a period has passed since the last datagram. NULL: does nothing.
 */
void resex_report(struct resex_report *r, uint64_t ctime_ns, uint64_t wtime_ns, uint64_t ptime_ns);

/*
 * Send the waiting samples, as after a burst or before idling. The result of the last
 * datagram (before the first: of connecting to the agent): 0, or why its samples were
 * dropped: -EAGAIN the agent lags behind; -ENOENT, -ECONNREFUSED no agent runs;
 * -ECHILD this process's parent sends them; others of send(2).
 */
int resex_report_flush(struct resex_report *r);

/* Flush, and free. NULL: does nothing. */
void resex_report_close(struct resex_report *r);

/* How long samples may wait for others. Default 1 ms; 0: send each sample at once. */
void resex_report_period(struct resex_report *r, uint64_t ns);

/* Counts of samples. Their sum is the number of reported samples, always. */
struct resex_report_counts {
	uint64_t sent;
	uint64_t dropped;
	uint64_t waiting;
};
void resex_report_count(const struct resex_report *r, struct resex_report_counts *c);

#ifdef __cplusplus
}
#endif
#endif
