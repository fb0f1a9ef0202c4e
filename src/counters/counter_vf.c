// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * counter_vf: a virtual function's counters, which its physical function's
 * driver tells in the answer to RTM_GETLINK. What it transmitted is what the
 * guest that it was given to has sent.
 *
 * One question, one answer, on a socket of its own, once a window for all
 * virtual functions of an interface. Numbers in the answer lie as they come
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

enum { ANSWER_MAX = 256 << 10, TYPE_MASK = 0x3fff };

/* --- the question -------------------------------------------------------------- */

struct question {
	struct nlmsghdr h;
	struct ifinfomsg i;
	struct nlattr mask_attr;
	uint32_t mask;
	struct nlattr name_attr;
	char name[16];
};

static int ask(int fd, const char *dev)
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

/* One attribute, as its payload. */
struct nl_part {
	uint32_t type;
	const uint8_t *data;
	size_t len;
};

/* Next attribute of a span; false at its end or where it is not well-formed. */
static bool next_part(const uint8_t **p, size_t *left, struct nl_part *a)
{
	struct nlattr h;
	size_t step;

	if (*left < sizeof(h))
		return false;
	memcpy(&h, *p, sizeof(h));
	if (h.nla_len < sizeof(h) || h.nla_len > *left)
		return false;
	a->type = h.nla_type & TYPE_MASK;
	a->data = *p + sizeof(h);
	a->len = h.nla_len - sizeof(h);
	step = NLMSG_ALIGN(h.nla_len);
	step = step > *left ? *left : step;
	*p += step;
	*left -= step;
	return true;
}

static bool find_part(const uint8_t *p, size_t left, uint32_t type, struct nl_part *a)
{
	while (next_part(&p, &left, a))
		if (a->type == type)
			return true;
	return false;
}

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

		if (!find_part(stats->data, stats->len, parts[i].type, &a))
			return -EOPNOTSUPP;
		if (a.len != sizeof(uint64_t))
			return -EBADMSG;
		memcpy(parts[i].out, a.data, sizeof(uint64_t));
	}
	*v = got;
	return 0;
}

/* Each entry of the list names its virtual function in every part; the MAC's is always there. */
static bool is_vf(const struct nl_part *info, uint32_t number)
{
	struct nl_part a;
	uint32_t vf;

	if (!find_part(info->data, info->len, IFLA_VF_MAC, &a) || a.len < sizeof(vf))
		return false;
	memcpy(&vf, a.data, sizeof(vf));
	return vf == number;
}

static int find_vf(const uint8_t *p, size_t left, uint32_t number, struct counter_value *v)
{
	struct nl_part list, info, stats;
	const uint8_t *at;

	if (!find_part(p, left, IFLA_VFINFO_LIST, &list))
		return -ENOENT;
	at = list.data;
	left = list.len;
	while (next_part(&at, &left, &info)) {
		if (info.type != IFLA_VF_INFO || !is_vf(&info, number))
			continue;
		if (!find_part(info.data, info.len, IFLA_VF_STATS, &stats))
			return -EOPNOTSUPP;
		return read_stats(&stats, v);
	}
	return -ENOENT;
}

int counter_vf_parse(const uint8_t *msg, size_t len, uint32_t number, struct counter_value *v)
{
	struct nlmsghdr h;
	size_t skip = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct ifinfomsg));
	int error;

	if (len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, msg, sizeof(h));
	if (h.nlmsg_len < NLMSG_HDRLEN || h.nlmsg_len > len)
		return -EBADMSG;
	if (h.nlmsg_type == NLMSG_ERROR && h.nlmsg_len >= NLMSG_HDRLEN + sizeof(error)) {
		memcpy(&error, msg + NLMSG_HDRLEN, sizeof(error));
		return error == -ENODEV ? -ENOENT : error < 0 && error > -4096 ? error : -EBADMSG;
	}
	if (h.nlmsg_type != RTM_NEWLINK || h.nlmsg_len < skip)
		return -EBADMSG;
	return find_vf(msg + skip, h.nlmsg_len - skip, number, v);
}

/* --- asked once a round --------------------------------------------------------- */

/* All virtual functions of one interface are in it, and their driver asks each of them for it. */
struct answer {
	uint64_t round;
	char dev[COUNTER_DEV_MAX]; /* "": none yet */
	size_t len;
	uint8_t msg[ANSWER_MAX];
};

/* The kernel answers before send() returns: there is nothing to wait for. */
static int fetch(struct answer *a, const char *dev)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), rc;
	ssize_t n;

	if (fd < 0)
		return -errno;
	rc = ask(fd, dev);
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
