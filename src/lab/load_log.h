/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load_log: the requests of a log that HAProxy wrote with "option httplog", as a trace for the
 * SIMULATED cluster. The text may come from anywhere: it is bounded, and what is wrong is said with
 * its line.
 *
 *	[DATE] FRONTEND BACKEND/SERVER TR/Tw/Tc/Tr/Ta STATUS BYTES - - TERM AC/FC/BC/SC/RC ...
 *
 * What comes before the date (the time, host and process of syslog, the client) does not count. A
 * line without such a date is none of a request, as "Server web/a is UP". From the others:
 *
 *	arrival  = DATE + TR: the request was whole
 *	CPU time = Tr + 0.5 ms; x CPUs / (SC + 1) if the server had more requests than CPUs
 *
 * Tr is the time in which the server answered, in whole ms, cut off: the mean of what is cut is
 * 0.5 ms. SC are the server's other requests when this one was over: they shared its CPUs. The
 * server may have waited for others than its CPUs, as for a disk: then this is too much.
 */
#ifndef RESEX_LAB_LOAD_LOG_H
#define RESEX_LAB_LOAD_LOG_H

#include <stddef.h>

#include "src/sim/web.h"

enum {
	LOAD_LOG_BYTES_MAX = 512 << 20,
	LOAD_LOG_LINE_MAX = 65536, /* HAProxy's own limit */
};

/* From the first request to the last: the rest of WEB_NS_MAX is for answers. */
#define LOAD_LOG_SPAN_MAX_NS (WEB_NS_MAX - NS_PER_S)

struct load_log {
	struct web_arrival *arrival; /* by time; the first is at 0 */
	uint32_t n;		     /* 1 .. WEB_ARRIVALS_MAX */
	uint64_t others;	     /* lines of no request */
	uint64_t unanswered;	     /* requests that no server answered: they are left out */
	uint64_t bytes;		     /* of all answers */
};

/*
 * cpus: of each server when the log was written, from 1. 0; -EINVAL or -ENOMEM, with an error that
 * begins "NAME:LINE: " or, of the log as a whole, "NAME: ". Free it after 0.
 */
int load_log_parse(struct load_log *l, const char *name, const char *text, size_t len,
		   uint32_t cpus, char error[static 256]);
/* The same of a file. */
int load_log_read(struct load_log *l, const char *file, uint32_t cpus, char error[static 256]);
void load_log_free(struct load_log *l);

#endif
