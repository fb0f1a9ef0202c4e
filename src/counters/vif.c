// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vif: a guest's interfaces in dom0, vif<domid>.<n>. What such an
 * interface receives is what the guest sent. All its traffic counts there,
 * RDMA or not; soft-RoCE of a guest has no other way out.
 *
 * An interface may go and come while the guest runs. counter_value.which is a
 * hash of the indices that were summed up: the kernel never reuses an index.
 */
#include <errno.h>
#include <stdio.h>

#include "src/counters/counters_priv.h"

enum { VIFS_MAX = 16 }; /* they are numbered from 0; gaps are usual */

/* dom0's end of the cable: what it receives, the guest sent. */
static int read_one(const struct counters *c, const char *name, struct counter_value *v)
{
	const struct {
		const char *file;
		uint64_t *sum;
	} parts[] = {
		{ "rx_bytes", &v->bytes_sent },
		{ "tx_bytes", &v->bytes_recv },
		{ "rx_packets", &v->packets_sent },
		{ "tx_packets", &v->packets_recv },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		uint64_t x;
		int rc = counter_file(c, &x, "class/net/%s/statistics/%s", name, parts[i].file);

		if (rc) /* it went away between two reads */
			return rc == -ENOENT ? -EAGAIN : rc;
		if (__builtin_add_overflow(*parts[i].sum, x, parts[i].sum))
			return -EBADMSG;
	}
	return 0;
}

static int vif_read(struct counters *c, const struct counter_name *n, uint32_t domid,
		    struct counter_value *v)
{
	struct counter_value sum = { 0 };
	uint32_t vifs = 0;

	(void)n;
	for (uint32_t i = 0; i < VIFS_MAX; i++) {
		uint64_t index;
		char name[40];
		int rc;

		snprintf(name, sizeof(name), "vif%u.%u", domid, i);
		rc = counter_file(c, &index, "class/net/%s/ifindex", name);
		if (rc == -ENOENT)
			continue;
		if (!rc)
			rc = read_one(c, name, &sum);
		if (rc)
			return rc;
		sum.which = (sum.which ^ index) * 0x100000001b3u + 1; /* FNV's: order counts */
		vifs++;
	}
	if (!vifs)
		return -ENOENT;
	*v = sum;
	return 0;
}

const struct counter_ops counter_vif = { COUNTER_VIF, "vif", vif_read };
