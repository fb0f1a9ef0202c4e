// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * port: an InfiniBand port's counters of data, in words of 4 bytes,
 * read from sysfs. Counters of 32 bits stop at their maximum: no traffic is
 * seen then, and no guest is accused.
 *
 * soft-RoCE has no such files. It counts packets only, not their lengths.
 */
#include <errno.h>

#include "src/counters/counters_priv.h"

/*
 * PortXmitData and PortRcvData count words of 32 bits (InfiniBand architecture
 * specification).
 */
enum { WORD = 4 };

static int read_part(const struct counters *c, const struct counter_name *n, const char *file,
		     uint32_t unit, uint64_t *out)
{
	uint64_t x;
	int rc = counter_file(c, &x, "class/infiniband/%s/ports/%u/counters/%s", n->dev, n->number,
			      file);

	if (!rc && __builtin_mul_overflow(x, unit, out))
		rc = -EBADMSG;
	return rc;
}

/* The port is there, but it does not have this counter. */
static bool counts_packets(const struct counters *c, const struct counter_name *n)
{
	uint64_t x;

	return !counter_file(c, &x, "class/infiniband/%s/ports/%u/hw_counters/sent_pkts", n->dev,
			     n->number);
}

static int port_read(struct counters *c, const struct counter_name *n, uint32_t domid,
		     struct counter_value *v)
{
	struct counter_value got = { .which = 1 };
	int rc;

	(void)domid;
	rc = read_part(c, n, "port_xmit_data", WORD, &got.bytes_sent);
	if (!rc)
		rc = read_part(c, n, "port_rcv_data", WORD, &got.bytes_recv);
	if (!rc)
		rc = read_part(c, n, "port_xmit_packets", 1, &got.packets_sent);
	if (!rc)
		rc = read_part(c, n, "port_rcv_packets", 1, &got.packets_recv);
	if (rc == -ENOENT && counts_packets(c, n))
		return -EOPNOTSUPP;
	if (!rc)
		*v = got;
	return rc;
}

const struct counter_ops counter_port = { COUNTER_PORT, "port", port_read };
