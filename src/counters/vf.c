// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vf: a virtual function's counters. The driver of the physical
 * function reports them in the answer to RTM_GETLINK. What the function
 * transmitted is what its guest sent.
 *
 * One request and one answer on a socket of its own, once a window for all
 * virtual functions of an interface. Numbers in the answer may be unaligned
 * and are copied out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "src/counters/counters_priv.h"
#include "src/util/netlink.h"

enum { ANSWER_MAX = 256 << 10 };

/* --- the request --------------------------------------------------------------- */

struct question {
	struct nlmsghdr h;
	struct ifinfomsg i;
	struct nlattr mask_attr;
	uint32_t mask;
	struct nlattr name_attr;
	char name[16];
};

/* Without RTEXT_FILTER_VF the kernel leaves the virtual functions out of its answer. */
static int send_question(int fd, const char *dev)
{
	struct question q = {
		.h = { .nlmsg_len = sizeof(q),
		       .nlmsg_type = RTM_GETLINK,
		       .nlmsg_flags = NLM_F_REQUEST,
		       .nlmsg_seq = 1 },
		.i = { .ifi_family = AF_UNSPEC },
		.mask_attr = { sizeof(struct nlattr) + sizeof(uint32_t), IFLA_EXT_MASK },
		.mask = RTEXT_FILTER_VF,
		.name_attr = { sizeof(struct nlattr) + sizeof(q.name), IFLA_IFNAME },
	};

	memcpy(q.name, dev, strnlen(dev, sizeof(q.name) - 1));
	return send(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q) ? 0 : -errno;
}

/* --- the answer ---------------------------------------------------------------- */

static int read_stats(const struct nl_part *stats, struct counter_value *v)
{
	struct counter_value got = { .which = 1 };
	const struct {
		uint32_t type;
		uint64_t *out;
	} parts[] = {
		{ IFLA_VF_STATS_TX_BYTES, &got.bytes_sent },
		{ IFLA_VF_STATS_RX_BYTES, &got.bytes_recv },
		{ IFLA_VF_STATS_TX_PACKETS, &got.packets_sent },
		{ IFLA_VF_STATS_RX_PACKETS, &got.packets_recv },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct nl_part a;

		if (!nl_find_attr(stats, parts[i].type, &a))
			return -EOPNOTSUPP;
		if (a.len != sizeof(uint64_t))
			return -EBADMSG;
		memcpy(parts[i].out, a.data, sizeof(uint64_t));
	}
	*v = got;
	return 0;
}

/* Each part of an entry has the number of its virtual function; the MAC part is always there. */
static bool is_vf(const struct nl_part *info, uint32_t number)
{
	struct nl_part a;

	return nl_find_attr(info, IFLA_VF_MAC, &a) && a.len >= sizeof(number) &&
	       nl_u32(&a) == number;
}

static int find_vf(const struct nl_part *link, uint32_t number, struct counter_value *v)
{
	struct nl_part list, info, stats;

	if (!nl_find_attr(link, IFLA_VFINFO_LIST, &list))
		return -ENOENT;
	while (nl_next_attr(&list.data, &list.len, &info)) {
		if (info.type != IFLA_VF_INFO || !is_vf(&info, number))
			continue;
		if (!nl_find_attr(&info, IFLA_VF_STATS, &stats))
			return -EOPNOTSUPP;
		return read_stats(&stats, v);
	}
	return -ENOENT;
}

int counter_vf_parse(const uint8_t *msg, size_t len, uint32_t number, struct counter_value *v)
{
	size_t skip = NLMSG_ALIGN(sizeof(struct ifinfomsg));
	struct nl_part link;
	int rc = nl_next_message(&msg, &len, &link);

	if (rc != 1)
		return rc == -ENODEV ? -ENOENT : rc && rc != -ENODATA ? rc : -EBADMSG;
	if (link.type != RTM_NEWLINK || link.len < skip)
		return -EBADMSG;
	link.data += skip;
	link.len -= skip;
	return find_vf(&link, number, v);
}

/* --- read once a round ---------------------------------------------------------- */

/* Kept for a round: an answer has all functions of an interface, and is costly to the driver. */
struct answer {
	uint64_t round;
	char dev[COUNTER_DEV_MAX]; /* "": none yet */
	size_t len;
	uint8_t msg[ANSWER_MAX];
};

/* The kernel answers before send() returns: do not wait. */
static int fetch(struct answer *a, const char *dev)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), rc;
	ssize_t n;

	if (fd < 0)
		return -errno;
	rc = send_question(fd, dev);
	/* MSG_TRUNC returns the true length: an answer that was cut is noticed. */
	n = rc ? 0 : recv(fd, a->msg, sizeof(a->msg), MSG_TRUNC | MSG_DONTWAIT);
	if (n < 0)
		rc = -errno;
	else if ((size_t)n > sizeof(a->msg))
		rc = -EMSGSIZE;
	close(fd);
	a->len = rc ? 0 : (size_t)n;
	return rc;
}

void counter_vf_keep(struct counters *c, const uint8_t *msg, size_t len)
{
	struct answer *a = c->cache;

	a->len = len < sizeof(a->msg) ? len : sizeof(a->msg);
	memcpy(a->msg, msg, a->len);
}

static int vf_read(struct counters *c, const struct counter_name *n, uint32_t domid,
		   struct counter_value *v)
{
	struct answer *a = c->cache;
	int rc;

	(void)domid;
	if (!a)
		a = c->cache = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	if (a->round != c->round || strcmp(a->dev, n->dev) != 0) {
		/* A failed answer must not serve the next function of this round. */
		a->dev[0] = 0;
		rc = fetch(a, n->dev);
		if (rc)
			return rc;
		a->round = c->round;
		memcpy(a->dev, n->dev, sizeof(a->dev));
	}
	return counter_vf_parse(a->msg, a->len, n->number, v);
}

const struct counter_ops counter_vf = { COUNTER_VF, "vf", vf_read };
