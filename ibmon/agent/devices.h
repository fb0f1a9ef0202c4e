/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * devices: which RDMA device has the node uverbsN, and whether it is soft-RoCE (rxe).
 *
 * Sysfs has the device's name, rdma netlink its driver. When a device cannot be
 * identified the reason is logged once, and each later look tries again.
 */
#ifndef RESEX_AGENT_DEVICES_H
#define RESEX_AGENT_DEVICES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ibmon/agent/nldev.h"
#include "src/util/log.h"

enum { DEVICES_MAX = 32 };

#define DEVICES_SYSFS "/sys/class/infiniband_verbs"

struct device {
	uint32_t uverbs; /* N */
	dev_t dev;	 /* of the node */
	uint32_t index;	 /* rdma netlink's */
	bool rxe;
	bool known;  /* all of the above is set */
	bool logged; /* the reason why it is not known */
};

struct devices {
	const char *sysfs;
	const struct log *log;
	struct nldev *nl; /* opened when first needed: RDMA may be loaded after the agent */
	bool full_logged;
	uint32_t n;
	struct device dev[DEVICES_MAX];
};

/* sysfs: DEVICES_SYSFS, or a folder like it; log and sysfs are borrowed. */
void devices_init(struct devices *d, const char *sysfs, const struct log *log);
void devices_close(struct devices *d);

/* The device of uverbsN, identified the first time. NULL: it could not be; log has the reason. */
const struct device *devices_find(struct devices *d, uint32_t uverbs);

/* Identify all devices in sysfs. The number of those that are known. */
uint32_t devices_look(struct devices *d);

/* Forget all devices: their nodes came or went. */
void devices_forget(struct devices *d);

#endif
