// SPDX-License-Identifier: GPL-2.0-or-later
/* agent/nldev: answers of rdma netlink, valid and damaged. */
#include <errno.h>
#include <string.h>

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "ibmon/agent/nldev.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

struct message {
	uint8_t buf[8192];
	size_t len;
};

static size_t begin(struct message *m, uint16_t type)
{
	struct nlattr a = { .nla_type = type };
	size_t at = m->len;

	memcpy(m->buf + at, &a, sizeof(a));
	m->len += sizeof(a);
	return at;
}

static void end(struct message *m, size_t at)
{
	uint16_t len = (uint16_t)(m->len - at);

	memcpy(m->buf + at, &len, sizeof(len));
	m->len = NLMSG_ALIGN(m->len);
}

static void put_u32(struct message *m, uint16_t type, uint32_t v)
{
	size_t at = begin(m, type);

	memcpy(m->buf + m->len, &v, sizeof(v));
	m->len += sizeof(v);
	end(m, at);
}

static void put_text(struct message *m, uint16_t type, const char *text)
{
	size_t at = begin(m, type);

	memcpy(m->buf + m->len, text, strlen(text) + 1);
	m->len += strlen(text) + 1;
	end(m, at);
}

static size_t begin_message(struct message *m, uint16_t type)
{
	struct nlmsghdr h = { .nlmsg_type = type };
	size_t at = m->len;

	memcpy(m->buf + at, &h, sizeof(h));
	m->len += sizeof(h);
	return at;
}

static void end_message(struct message *m, size_t at)
{
	uint32_t len = (uint32_t)(m->len - at);

	memcpy(m->buf + at, &len, sizeof(len));
}

static void put_done(struct message *m, int err)
{
	size_t at = begin_message(m, NLMSG_DONE);

	memcpy(m->buf + m->len, &err, sizeof(err));
	m->len += sizeof(err);
	end_message(m, at);
}

static void put_qp(struct message *m, uint32_t qpn, uint32_t pid)
{
	size_t entry = begin(m, RDMA_NLDEV_ATTR_RES_QP_ENTRY | NLA_F_NESTED);

	put_u32(m, RDMA_NLDEV_ATTR_RES_LQPN, qpn);
	if (pid)
		put_u32(m, RDMA_NLDEV_ATTR_RES_PID, pid);
	else
		put_text(m, RDMA_NLDEV_ATTR_RES_KERN_NAME, "ib_core");
	end(m, entry);
}

/* Three queue pairs, one of them the kernel's. */
static void qp_list(struct message *m)
{
	size_t msg = begin_message(m, 0x1409), table;

	put_u32(m, RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	put_text(m, RDMA_NLDEV_ATTR_DEV_NAME, "rxe0");
	table = begin(m, RDMA_NLDEV_ATTR_RES_QP | NLA_F_NESTED);
	put_qp(m, 17, 112);
	put_qp(m, 1, 0);
	put_qp(m, 19, 113);
	end(m, table);
	end_message(m, msg);
}

static struct nldev_list *list_new(void)
{
	struct nldev_list *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	return l;
}

TEST(queue_pairs__those_of_the_kernel_are_left_out)
{
	struct nldev_list *l = list_new();
	struct message m = { .len = 0 };

	qp_list(&m);
	assert_int_equal(nldev_parse_list(l, RDMA_NLDEV_CMD_RES_QP_GET, m.buf, m.len), 0);
	assert_int_equal(l->qps, 2);
	assert_int_equal(l->qp[0].qpn, 17);
	assert_int_equal(l->qp[0].pid, 112);
	assert_false(l->qp[0].shared);
	assert_int_equal(l->qp[1].qpn, 19);
	free(l);
}

TEST(end_of_a_list__is_told_in_the_same_datagram_or_a_later_one)
{
	struct nldev_list *l = list_new();
	struct message m = { .len = 0 }, done = { .len = 0 };

	qp_list(&m);
	put_done(&m, 0);
	assert_int_equal(nldev_parse_list(l, RDMA_NLDEV_CMD_RES_QP_GET, m.buf, m.len), 1);
	put_done(&done, 0);
	assert_int_equal(nldev_parse_list(l, RDMA_NLDEV_CMD_RES_QP_GET, done.buf, done.len), 1);
	assert_int_equal(l->qps, 2);
	free(l);
}

TEST(refusal__is_the_kernels_error)
{
	struct nldev_list *l = list_new();
	struct message m = { .len = 0 };

	put_done(&m, -EINVAL);
	assert_int_equal(nldev_parse_list(l, RDMA_NLDEV_CMD_RES_QP_GET, m.buf, m.len), -EINVAL);
	free(l);
}

TEST(completion_queue__has_owner_and_size)
{
	struct nldev_list *l = list_new();
	struct message m = { .len = 0 };
	size_t msg, table, entry;

	msg = begin_message(&m, 0x140b);
	table = begin(&m, RDMA_NLDEV_ATTR_RES_CQ | NLA_F_NESTED);
	entry = begin(&m, RDMA_NLDEV_ATTR_RES_CQ_ENTRY | NLA_F_NESTED);
	put_u32(&m, RDMA_NLDEV_ATTR_RES_CQE, 255);
	put_u32(&m, RDMA_NLDEV_ATTR_RES_CQN, 7);
	put_u32(&m, RDMA_NLDEV_ATTR_RES_PID, 112);
	end(&m, entry);
	end(&m, table);
	end_message(&m, msg);
	assert_int_equal(nldev_parse_list(l, RDMA_NLDEV_CMD_RES_CQ_GET, m.buf, m.len), 0);
	assert_int_equal(l->cqs, 1);
	assert_int_equal(l->cq[0].cqn, 7);
	assert_int_equal(l->cq[0].cqe, 255);
	assert_int_equal(l->cq[0].pid, 112);
	free(l);
}

static void put_srq(struct message *m, uint32_t srqn, uint32_t lo, uint32_t hi)
{
	size_t msg = begin_message(m, 0x1416), table, entry, users, user;

	table = begin(m, RDMA_NLDEV_ATTR_RES_SRQ | NLA_F_NESTED);
	entry = begin(m, RDMA_NLDEV_ATTR_RES_SRQ_ENTRY | NLA_F_NESTED);
	put_u32(m, RDMA_NLDEV_ATTR_RES_SRQN, srqn);
	put_u32(m, RDMA_NLDEV_ATTR_RES_PID, 112);
	users = begin(m, RDMA_NLDEV_ATTR_RES_QP | NLA_F_NESTED);
	user = begin(m, RDMA_NLDEV_ATTR_RES_QP_ENTRY | NLA_F_NESTED);
	if (lo == hi) {
		put_u32(m, RDMA_NLDEV_ATTR_RES_LQPN, lo);
	} else {
		put_u32(m, RDMA_NLDEV_ATTR_MIN_RANGE, lo);
		put_u32(m, RDMA_NLDEV_ATTR_MAX_RANGE, hi);
	}
	end(m, user);
	end(m, users);
	end(m, entry);
	end(m, table);
	end_message(m, msg);
}

TEST(shared_receive_queue_0__marks_its_queue_pairs)
{
	struct nldev_list *l = list_new();
	struct message m = { .len = 0 };

	l->qps = 3;
	l->qp[0].qpn = 17;
	l->qp[1].qpn = 18;
	l->qp[2].qpn = 30;
	put_srq(&m, 0, 17, 18);
	put_srq(&m, 5, 30, 30);
	assert_int_equal(nldev_parse_list(l, RDMA_NLDEV_CMD_RES_SRQ_GET, m.buf, m.len), 0);
	assert_int_equal(l->srqs, 2);
	assert_true(l->qp[0].shared && l->qp[1].shared && l->qp[2].shared);
	assert_int_equal(l->qp[1].srqn, 0);
	assert_int_equal(l->qp[2].srqn, 5);
	free(l);
}

/*
 * The first part of an answer had the GSI's queue pair alone. Then 217 and 218 were created, and
 * the second part began after one queue pair.
 */
TEST(queue_pairs__made_between_two_parts__show_by_one_that_is_there_twice)
{
	static struct nldev_list l;

	l = (struct nldev_list){
		.qps = 1, .qp = { { .qpn = 218 } }, .kernel_qps = 2, .kernel_qpn = { 1, 1 }
	};
	assert_false(nldev_sort(&l));
	l.qp[l.qps++].qpn = 217;
	l.kernel_qps = 1;
	assert_true(nldev_sort(&l));
	assert_int_equal(l.qp[0].qpn, 217);
	l.qp[l.qps++].qpn = 217;
	assert_false(nldev_sort(&l));
}

TEST(more_objects_than_fit__is_an_error_not_a_part)
{
	struct nldev_list *l = list_new();
	struct message m = { .len = 0 };

	l->qps = NLDEV_OBJECTS_MAX - 1;
	qp_list(&m);
	assert_int_equal(nldev_parse_list(l, RDMA_NLDEV_CMD_RES_QP_GET, m.buf, m.len), -E2BIG);
	free(l);
}

TEST(damaged_answers__are_bounded)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 5000; i++) {
		struct nldev_list *l = list_new();
		struct message m = { .len = 0 };
		uint8_t *exact;
		size_t n;
		int rc;

		qp_list(&m);
		put_srq(&m, 3, 17, 19);
		put_done(&m, 0);
		n = prop_range(&p, 0, m.len);
		for (uint64_t k = prop_range(&p, 0, 3); n && k > 0; k--)
			m.buf[prop_range(&p, 0, n - 1)] = (uint8_t)prop_hostile(&p);
		exact = malloc(n ? n : 1);
		assert_non_null(exact);
		memcpy(exact, m.buf, n);
		rc = nldev_parse_list(l, RDMA_NLDEV_CMD_RES_QP_GET, exact, n);
		prop_assert(&p, i, rc <= 1);
		prop_assert(&p, i, l->qps <= 16);
		free(exact);
		free(l);
	}
}
