/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor_host: what this host's kernel says, for the checks of doctor.h. Reads small files. */
#ifndef RESEX_CLI_DOCTOR_HOST_H
#define RESEX_CLI_DOCTOR_HOST_H

#include "src/cli/doctor.h"

/*
 * Fill in xen, xen_version, clock and ports. sys: where sysfs is mounted. What cannot be read is
 * not known, or not there.
 */
void doctor_host_read(struct doctor_facts *f, const char *sys);

/* The process with this id. Not known: it is not there, or /proc is not that of its host. */
void doctor_process_read(struct doctor_process *p, uint32_t pid);

#endif
