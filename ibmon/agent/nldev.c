// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * nldev: lists of the kernel's RDMA objects, by rdma netlink: devices.c identifies devices
 * with them, track_kinds.c the kinds of rings. One request at a time; its answer is read
 * to the end. See nldev.h.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "ibmon/agent/nldev.h"
#include "src/util/netlink.h"

/*
 * The kernel sends dumps in datagrams of at most 32 KiB; a device's name has
 * IB_DEVICE_NAME_MAX bytes.
 */
enum { NLDEV_ANSWER_MAX = 65536, NLDEV_NAME_MAX = 64, LIST_TRIES = 3 };

struct nldev {
	int fd;
	uint32_t seq;
	uint8_t buf[NLDEV_ANSWER_MAX];
};

/* The attributes of one object of any kind. */
struct entry {
	uint32_t number, pid, cqe;
	bool kernel;
	const uint8_t *qps; /* of a shared receive queue: the queue pairs that use it */
	size_t qps_len;
};

/* Attributes may come in any order, and new kernels add some: what is not known is skipped. */
static void entry_read(const uint8_t *p, size_t left, struct entry *e)
{
	struct nl_part a;

	memset(e, 0, sizeof(*e));
	while (nl_next_attr(&p, &left, &a)) {
		switch (a.type) {
		case RDMA_NLDEV_ATTR_RES_LQPN:
		case RDMA_NLDEV_ATTR_RES_CQN:
		case RDMA_NLDEV_ATTR_RES_SRQN:
			e->number = nl_u32(&a);
			break;
		case RDMA_NLDEV_ATTR_RES_PID:
			e->pid = nl_u32(&a);
			break;
		case RDMA_NLDEV_ATTR_RES_CQE:
			e->cqe = nl_u32(&a);
			break;
		case RDMA_NLDEV_ATTR_RES_KERN_NAME:
			e->kernel = true;
			break;
		case RDMA_NLDEV_ATTR_RES_QP:
			e->qps = a.data;
			e->qps_len = a.len;
			break;
		default:
			break;
		}
	}
}

/*
 * Queue pairs are listed before shared receive queues (nldev_objects), so they are there to
 * be linked.
 */
static void link_qp_range(struct nldev_list *l, uint32_t srqn, uint32_t lo, uint32_t hi)
{
	for (uint32_t i = 0; i < l->qps; i++)
		if (l->qp[i].qpn >= lo && l->qp[i].qpn <= hi) {
			l->qp[i].shared = true;
			l->qp[i].srqn = srqn;
		}
}

/* Link queue pairs to their shared receive queue; e has single numbers and ranges. */
static void link_qps(struct nldev_list *l, const struct entry *e)
{
	const uint8_t *p = e->qps;
	size_t left = e->qps_len;
	struct nl_part a;

	while (nl_next_attr(&p, &left, &a)) {
		const uint8_t *q = a.data;
		size_t len = a.len;
		uint32_t lo = 0, hi = 0;
		struct nl_part b;

		while (nl_next_attr(&q, &len, &b)) {
			if (b.type == RDMA_NLDEV_ATTR_RES_LQPN)
				lo = hi = nl_u32(&b);
			else if (b.type == RDMA_NLDEV_ATTR_MIN_RANGE)
				lo = nl_u32(&b);
			else if (b.type == RDMA_NLDEV_ATTR_MAX_RANGE)
				hi = nl_u32(&b);
		}
		if (lo)
			link_qp_range(l, e->number, lo, hi);
	}
}

static int add_entry(struct nldev_list *l, uint32_t cmd, const struct nl_part *a)
{
	struct entry e;

	entry_read(a->data, a->len, &e);
	/* A part of the list would let counting prove wrong kinds: refuse it. */
	if (l->qps == NLDEV_OBJECTS_MAX || l->cqs == NLDEV_OBJECTS_MAX ||
	    l->srqs == NLDEV_OBJECTS_MAX || l->ctxs == NLDEV_CONTEXTS_MAX ||
	    l->kernel_qps == NLDEV_OBJECTS_MAX)
		return -E2BIG;
	/* Objects of the kernel have no rings in user memory. Its queue pairs have numbers. */
	if (e.kernel && cmd == RDMA_NLDEV_CMD_RES_QP_GET)
		l->kernel_qpn[l->kernel_qps++] = e.number;
	if (e.kernel)
		return 0;
	switch (cmd) {
	case RDMA_NLDEV_CMD_RES_QP_GET:
		l->qp[l->qps++] = (struct nldev_qp){ .qpn = e.number, .pid = e.pid };
		break;
	case RDMA_NLDEV_CMD_RES_CQ_GET:
		l->cq[l->cqs++] = (struct nldev_cq){ e.number, e.pid, e.cqe };
		break;
	case RDMA_NLDEV_CMD_RES_SRQ_GET:
		l->srq[l->srqs++] = (struct nldev_srq){ e.number, e.pid };
		link_qps(l, &e);
		break;
	case RDMA_NLDEV_CMD_RES_CTX_GET:
		if (e.pid)
			l->ctx_tid[l->ctxs++] = e.pid;
		break;
	default:
		return -EBADMSG;
	}
	return 0;
}

/* Add the entries of one message. */
static int add_entries(struct nldev_list *l, uint32_t cmd, const uint8_t *p, size_t left)
{
	struct nl_part a, entry;
	int rc;

	while (nl_next_attr(&p, &left, &a)) {
		if (a.type != RDMA_NLDEV_ATTR_RES_QP && a.type != RDMA_NLDEV_ATTR_RES_CQ &&
		    a.type != RDMA_NLDEV_ATTR_RES_SRQ && a.type != RDMA_NLDEV_ATTR_RES_CTX)
			continue;
		while (nl_next_attr(&a.data, &a.len, &entry)) {
			rc = add_entry(l, cmd, &entry);
			if (rc)
				return rc;
		}
	}
	return 0;
}

int nldev_parse_list(struct nldev_list *l, uint32_t cmd, const void *buf, size_t len)
{
	const uint8_t *p = (const uint8_t *)buf;
	struct nl_part payload;
	int rc;

	while ((rc = nl_next_message(&p, &len, &payload)) == 1) {
		rc = add_entries(l, cmd, payload.data, payload.len);
		if (rc)
			return rc;
	}
	return rc == -ENODATA ? 1 : rc;
}

int nldev_open(struct nldev **out)
{
	struct timeval patience = { .tv_sec = 1 }; /* the kernel answers at once; never hang */
	struct nldev *nl = calloc(1, sizeof(*nl));

	if (!nl)
		return -ENOMEM;
	nl->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	if (nl->fd < 0) {
		int rc = -errno;

		free(nl);
		return rc;
	}
	if (setsockopt(nl->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience))) {
		int rc = -errno;

		nldev_close(nl);
		return rc;
	}
	*out = nl;
	return 0;
}

void nldev_close(struct nldev *nl)
{
	if (!nl)
		return;
	close(nl->fd);
	free(nl);
}

struct request {
	struct nlmsghdr h;
	uint8_t attrs[128];
};

/* Append an attribute to a request; attrs has room for all that we send. */
static void put_attr(struct request *r, uint16_t type, const void *data, size_t len)
{
	struct nlattr h = { .nla_len = (uint16_t)(sizeof(h) + len), .nla_type = type };
	size_t at = NLMSG_ALIGN(r->h.nlmsg_len) - sizeof(r->h);

	memcpy(r->attrs + at, &h, sizeof(h));
	memcpy(r->attrs + at + sizeof(h), data, len);
	r->h.nlmsg_len = (uint32_t)(sizeof(r->h) + at + NLMSG_ALIGN(h.nla_len));
}

/* ECONNREFUSED: no kernel module listens on this netlink family. */
static int send_request(struct nldev *nl, uint32_t cmd, uint16_t flags, struct request *r)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	r->h.nlmsg_type = (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, cmd);
	r->h.nlmsg_flags = NLM_F_REQUEST | flags;
	r->h.nlmsg_seq = ++nl->seq;
	if (sendto(nl->fd, r, r->h.nlmsg_len, 0, (const struct sockaddr *)&kernel, sizeof(kernel)) <
	    0)
		return errno == ECONNREFUSED ? -EPROTONOSUPPORT : -errno;
	return 0;
}

/*
 * Read one datagram of the answer to the newest request. Its length or -errno. An answer to
 * an earlier request, which timed out, may still come: its number tells.
 */
static int read_answer(struct nldev *nl)
{
	for (;;) {
		ssize_t n = recv(nl->fd, nl->buf, sizeof(nl->buf), 0);
		struct nlmsghdr h;

		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		if ((size_t)n < sizeof(h))
			return -EBADMSG;
		memcpy(&h, nl->buf, sizeof(h));
		if (h.nlmsg_seq == nl->seq)
			return (int)n;
	}
}

/* Is this the message of the device with that name? If so, its index. */
static bool is_named(const struct nl_part *msg, const char *name, uint32_t *index)
{
	const uint8_t *p = msg->data;
	size_t left = msg->len;
	bool named = false, indexed = false;
	struct nl_part a;

	while (nl_next_attr(&p, &left, &a)) {
		if (a.type == RDMA_NLDEV_ATTR_DEV_INDEX) {
			*index = nl_u32(&a);
			indexed = true;
		} else if (a.type == RDMA_NLDEV_ATTR_DEV_NAME) {
			named = a.len == strlen(name) + 1 && !memcmp(a.data, name, a.len);
		}
	}
	return named && indexed;
}

/* The kernel finds devices by index only: list them all and compare names. */
static int find_index(struct nldev *nl, const char *name, uint32_t *index)
{
	struct request r = { .h.nlmsg_len = sizeof(r.h) };
	int rc = send_request(nl, RDMA_NLDEV_CMD_GET, NLM_F_DUMP, &r), found = 0;

	while (rc == 0) {
		const uint8_t *p = nl->buf;
		struct nl_part msg;
		uint32_t i = 0;
		size_t left;

		rc = read_answer(nl);
		if (rc < 0)
			return rc;
		left = (size_t)rc;
		/* to the end, even once found: the rest would mix with the next answer */
		while ((rc = nl_next_message(&p, &left, &msg)) == 1) {
			if (!found && is_named(&msg, name, &i)) {
				*index = i;
				found = 1;
			}
		}
	}
	if (rc != -ENODATA)
		return rc;
	return found ? 0 : -ENODEV;
}

/*
 * The driver is an attribute of the character device "uverbs" of the RDMA device, not of
 * the device itself.
 */
int nldev_device(struct nldev *nl, const char *name, uint32_t *index, uint32_t *driver)
{
	struct request r = { .h.nlmsg_len = sizeof(r.h) };
	const uint8_t *p;
	struct nl_part msg, a;
	uint32_t i = 0;
	size_t left;
	int rc;

	if (strlen(name) >= NLDEV_NAME_MAX)
		return -ENODEV;
	rc = find_index(nl, name, &i);
	if (rc)
		return rc;
	put_attr(&r, RDMA_NLDEV_ATTR_DEV_INDEX, &i, sizeof(i));
	put_attr(&r, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs", sizeof("uverbs"));
	rc = send_request(nl, RDMA_NLDEV_CMD_GET_CHARDEV, 0, &r);
	if (rc == 0)
		rc = read_answer(nl);
	if (rc < 0)
		return rc;
	p = nl->buf;
	left = (size_t)rc;
	rc = nl_next_message(&p, &left, &msg);
	if (rc != 1)
		return rc ? rc : -EBADMSG;
	if (!nl_find_attr(&msg, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, &a))
		return -EBADMSG;
	*index = i;
	*driver = nl_u32(&a);
	return 0;
}

static int list_objects(struct nldev *nl, uint32_t index, uint32_t cmd, struct nldev_list *l)
{
	struct request r = { .h.nlmsg_len = sizeof(r.h) };
	int rc;

	put_attr(&r, RDMA_NLDEV_ATTR_DEV_INDEX, &index, sizeof(index));
	rc = send_request(nl, cmd, NLM_F_DUMP, &r);
	while (rc == 0) {
		rc = read_answer(nl);
		if (rc > 0)
			rc = nldev_parse_list(l, cmd, nl->buf, (size_t)rc);
	}
	return rc < 0 ? rc : 0;
}

/* For qsort: every kind of object begins with its number. */
static int by_number(const void *a, const void *b)
{
	uint32_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

static void list_empty(struct nldev_list *l)
{
	l->qps = l->cqs = l->srqs = l->ctxs = l->kernel_qps = 0;
}

static bool is_unique(const void *objects, uint32_t n, size_t size)
{
	const uint8_t *p = objects;

	for (uint32_t i = 1; i < n; i++)
		if (!by_number(p + (i - 1) * size, p + i * size))
			return false;
	return true;
}

/*
 * Sorted by number: rxe numbers objects in ascending order, so it is the order of their
 * creation.
 */
bool nldev_sort(struct nldev_list *l)
{
	qsort(l->qp, l->qps, sizeof(l->qp[0]), by_number);
	qsort(l->cq, l->cqs, sizeof(l->cq[0]), by_number);
	qsort(l->srq, l->srqs, sizeof(l->srq[0]), by_number);
	qsort(l->kernel_qpn, l->kernel_qps, sizeof(l->kernel_qpn[0]), by_number);
	return is_unique(l->qp, l->qps, sizeof(l->qp[0])) &&
	       is_unique(l->kernel_qpn, l->kernel_qps, sizeof(l->kernel_qpn[0]));
}

int nldev_objects(struct nldev *nl, uint32_t index, struct nldev_list *l)
{
	int rc;

	list_empty(l);
	rc = list_objects(nl, index, RDMA_NLDEV_CMD_RES_QP_GET, l);
	if (rc == 0)
		rc = list_objects(nl, index, RDMA_NLDEV_CMD_RES_CQ_GET, l);
	if (rc == 0)
		rc = list_objects(nl, index, RDMA_NLDEV_CMD_RES_SRQ_GET, l);
	if (rc)
		return rc;
	return nldev_sort(l) ? 0 : -EAGAIN;
}

int nldev_qps(struct nldev *nl, uint32_t index, struct nldev_list *l)
{
	for (int i = 0; i < LIST_TRIES; i++) {
		int rc;

		list_empty(l);
		rc = list_objects(nl, index, RDMA_NLDEV_CMD_RES_QP_GET, l);
		if (rc || nldev_sort(l))
			return rc;
	}
	return -EAGAIN;
}

int nldev_contexts(struct nldev *nl, uint32_t index, struct nldev_list *l)
{
	list_empty(l);
	return list_objects(nl, index, RDMA_NLDEV_CMD_RES_CTX_GET, l);
}
