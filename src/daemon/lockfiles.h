/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lockfiles: only one resexd for a configuration, for a directory of saved caps and,
 * whatever their configurations say, for a Xen host: each of two would take the other's
 * caps for the guests' own.
 */
#ifndef RESEX_DAEMON_LOCKFILES_H
#define RESEX_DAEMON_LOCKFILES_H

#include "src/conf/settings.h"
#include "src/hv/hv.h"
#include "src/util/log.h"

struct lockfiles {
	int fd[3]; /* lock_file, state_dir, the host's; -1: not held */
};

/* Are the directories of conf there, or made at the start? The exit code; errors are logged. */
int lockfiles_check(const struct log *log, const struct daemon_conf *conf);
/*
 * Make the standard directories, and lock. The locks are held until lockfiles_release or the
 * end of the process; release also after an error, which is logged. The exit code.
 */
int lockfiles_acquire(const struct log *log, const struct daemon_conf *conf,
		      const struct hv_backend *hv, struct lockfiles *l);
void lockfiles_release(struct lockfiles *l);

#endif
