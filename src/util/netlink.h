/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netlink: walk the messages and attributes of a netlink answer. Pure: the caller
 * has the socket, and knows what the types mean.
 *
 * A span (*p, *left) is the part that is not read yet; it may contain any bytes, at
 * any alignment. Nothing beyond it is read, and each step makes it shorter.
 * Payloads point into it. libmnl would cast where this code copies, and would be
 * one more package in each guest for these few lines.
 */
#ifndef RESEX_UTIL_NETLINK_H
#define RESEX_UTIL_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message or an attribute: its type, without flags, and its payload. */
struct nl_part {
	uint32_t type;
	const uint8_t *data;
	size_t len; /* bytes */
};

/*
 * Next message of a datagram. 1 and its payload; 0: no more in this one;
 * -ENODATA: the end of the answer (NLMSG_DONE, or an acknowledgement);
 * -EBADMSG: not well-formed; another -errno: the error that the kernel returned.
 */
int nl_next_message(const uint8_t **p, size_t *left, struct nl_part *message);

/* Next attribute; false at the end of the span, or where it is not well-formed. */
bool nl_next_attr(const uint8_t **p, size_t *left, struct nl_part *attr);

/* First attribute of this type within a payload; attr may be the payload itself. */
bool nl_find_attr(const struct nl_part *payload, uint32_t type, struct nl_part *attr);

/* Its first four bytes as the machine's number; 0 where it has fewer. */
uint32_t nl_u32(const struct nl_part *attr);

#endif
