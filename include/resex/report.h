/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h: an application reports its latencies (man resex_report).
 *
 * What is reported goes to resex-agent, in datagrams of many samples
 * (agent_socket.h), and from there to the host. Nothing here blocks, and no
 * failure is the application's: what cannot be sent is dropped and counted.
 * A handle belongs to one thread at a time; a process may have many. C and C++.
 */
#ifndef RESEX_REPORT_H
#define RESEX_REPORT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct resex_report;

/*
 * path is the agent's socket; NULL: $RESEX_AGENT_SOCKET, or AGENT_SOCKET where
 * that is not set or empty. Whether an agent listens there does not matter: it
 * may come and go. 0; -ENAMETOOLONG; -ENOMEM, -EMFILE and such. *r only on success.
 */
int resex_report_open(struct resex_report **r, const char *path);

/*
 * One request: computing, waiting for I/O, polling (nanoseconds; what is
 * longer than 4.29 s is taken for that). Not sent before more than a period
 * passed since samples were last sent, or 64 wait. r may be NULL: does nothing.
 */
void resex_report(struct resex_report *r, uint64_t ctime_ns, uint64_t wtime_ns, uint64_t ptime_ns);

/*
 * Send what waits: after a burst, before idling. What became of the newest
 * samples (before the first: whether there is an agent): 0, or why they were
 * dropped: -EAGAIN the agent lags behind; -ENOENT, -ECONNREFUSED there is none;
 * -ECHILD they are for this process's parent to send; others of send(2).
 */
int resex_report_flush(struct resex_report *r);

/* Flush, and free. NULL: does nothing. */
void resex_report_close(struct resex_report *r);

/* How long samples may wait for others; at first 1 ms. 0: each is sent at once. */
void resex_report_period(struct resex_report *r, uint64_t ns);

/* What became of the samples. Reported is sent + dropped + waiting, always. */
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
