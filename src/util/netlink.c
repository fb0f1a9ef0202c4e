// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * netlink: from the bytes of a netlink answer to messages and attributes, for the
 * agent's nldev and counters/vf, which know their meaning.
 *
 * Headers are copied, not cast: the bytes may have any alignment. A kernel newer than this
 * code may send what it does not know, so each length is checked before its use.
 */
#include <errno.h>
#include <string.h>

#include <linux/netlink.h>

#include "src/util/netlink.h"

/* The kernel's MAX_ERRNO is 4095: a number beyond it is not an -errno. */
enum { ERRNO_END = 4096 };

/* Skip a part of len bytes and its padding, which the last part may lack. */
static void skip_part(const uint8_t **p, size_t *left, size_t len)
{
	/* Messages and attributes have the same alignment, 4. */
	size_t skip = len + (0 - len) % NLMSG_ALIGNTO;

	if (skip > *left)
		skip = *left;
	*p += skip;
	*left -= skip;
}

/* The -errno in an NLMSG_DONE or NLMSG_ERROR; -ENODATA: the end. */
static int end_code(const struct nl_part *m)
{
	/* NLMSG_ERROR with the number 0 is an acknowledgement: the end of the answer, too. */
	int error = 0;

	if (m->len >= sizeof(error))
		memcpy(&error, m->data, sizeof(error));
	if (error <= -ERRNO_END)
		return -EBADMSG;
	return error < 0 ? error : -ENODATA;
}

int nl_next_message(const uint8_t **p, size_t *left, struct nl_part *message)
{
	struct nlmsghdr h;

	if (*left < sizeof(h))
		return *left ? -EBADMSG : 0;
	memcpy(&h, *p, sizeof(h));
	if (h.nlmsg_len < sizeof(h) || h.nlmsg_len > *left)
		return -EBADMSG;
	*message = (struct nl_part){ h.nlmsg_type, *p + sizeof(h), h.nlmsg_len - sizeof(h) };
	if (h.nlmsg_type == NLMSG_DONE || h.nlmsg_type == NLMSG_ERROR)
		return end_code(message);
	skip_part(p, left, h.nlmsg_len);
	return 1;
}

bool nl_next_attr(const uint8_t **p, size_t *left, struct nl_part *attr)
{
	struct nlattr h;

	if (*left < sizeof(h))
		return false;
	memcpy(&h, *p, sizeof(h));
	if (h.nla_len < sizeof(h) || h.nla_len > *left)
		return false;
	*attr = (struct nl_part){ h.nla_type & (uint32_t)NLA_TYPE_MASK, *p + sizeof(h),
				  h.nla_len - sizeof(h) };
	skip_part(p, left, h.nla_len);
	return true;
}

bool nl_find_attr(const struct nl_part *payload, uint32_t type, struct nl_part *attr)
{
	const uint8_t *p = payload->data;
	size_t left = payload->len;
	struct nl_part a;

	while (nl_next_attr(&p, &left, &a))
		if (a.type == type) {
			*attr = a;
			return true;
		}
	return false;
}

uint32_t nl_u32(const struct nl_part *attr)
{
	uint32_t v = 0;

	if (attr->len >= sizeof(v))
		memcpy(&v, attr->data, sizeof(v));
	return v;
}
