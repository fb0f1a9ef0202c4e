/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * restore: the own caps of guests, as they were before resexd changed them, on disk.
 *
 * STATE/caps.json is written (to a temporary file, fsync, rename, fsync of
 * the directory) before a guest's cap is changed for the first time. Caps are
 * restored from it at stop, at the next start, and by resexd --restore-caps.
 * An entry leaves the file only when its cap was restored or its domain is gone.
 */
#ifndef RESEX_GUESTS_RESTORE_H
#define RESEX_GUESTS_RESTORE_H

#include "src/core/flow.h"
#include "src/hv/hv.h"
#include "src/util/conf.h"

struct saved_cap {
	uint32_t domid;
	uint8_t uuid[16];
	struct hv_sched_params params;
};

struct restore {
	char file[128];
	char hv[16]; /* name of the hypervisor that has these domains */
	uint32_t entries;
	struct saved_cap entry[FLOW_GUESTS_MAX];
};

/*
 * Read what an earlier run left on this hypervisor ("xen", "sim"). 0 (also when
 * there is no file), or -errno with e filled. A damaged file, or one about
 * another hypervisor's domains, is never overwritten: an operator must look at it.
 */
int restore_load(struct restore *r, const char *state_dir, const char *hv, struct conf_error *e);

const struct saved_cap *restore_find(const struct restore *r, uint32_t domid,
				     const uint8_t uuid[16]);

/*
 * Change entries in memory, then write once: each write waits for the disk.
 * A change is on disk only when restore_save returned 0; until then the file is
 * unchanged.
 */
int restore_add(struct restore *r, const struct saved_cap *c); /* or change; 0 or -ENOSPC */
void restore_drop(struct restore *r, uint32_t domid, const uint8_t uuid[16]);
int restore_save(const struct restore *r); /* unlinks the file when no entry is left */

/*
 * Restore the cap of each guest of the file that is still there; drop entries
 * that were restored or whose domain is gone. Returns how many could not be
 * restored, or -errno when the list of domains failed. *restored: how many were.
 */
int restore_all(struct restore *r, const struct hv_sched_ops *ops, struct hv_sched *s,
		uint32_t *restored);

#endif
