/* SPDX-License-Identifier: GPL-2.0-or-later */
/* devices: which RDMA device stands behind uverbsN, and whether it is of rxe. */
#ifndef RESEX_AGENT_DEVICES_H
#define RESEX_AGENT_DEVICES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ibmon/agent/nldev.h"

enum { DEVICES_MAX = 32 };

struct device {
	uint32_t uverbs; /* N */
	dev_t dev;	 /* of the node */
	uint32_t index;	 /* rdma netlink's */
	bool rxe;
	bool known;
};

struct devices {
	struct nldev *nl; /* opened when first needed: RDMA may be loaded after the agent */
	uint32_t n;
	struct device dev[DEVICES_MAX];
};

/* Look up uverbsN, by sysfs and netlink the first time; NULL: no such device now. */
const struct device *devices_find(struct devices *d, uint32_t uverbs);

/* Find all there are now (sysfs). How many of them are known. */
uint32_t devices_look(struct devices *d);

/* Nodes came or went: ask again. */
void devices_forget(struct devices *d);
void devices_close(struct devices *d);

#endif
