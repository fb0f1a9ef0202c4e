// SPDX-License-Identifier: GPL-2.0-or-later
/* netlink: answers as the kernel lays them out, and any other bytes. */
#include <errno.h>
#include <string.h>

#include <linux/netlink.h>

#include "src/util/netlink.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

struct answer {
	uint8_t buf[4096];
	size_t len;
};

static void put_attr(struct answer *a, uint16_t type, const void *data, size_t len)
{
	struct nlattr h = { .nla_len = (uint16_t)(sizeof(h) + len), .nla_type = type };

	memcpy(a->buf + a->len, &h, sizeof(h));
	memcpy(a->buf + a->len + sizeof(h), data, len);
	a->len += NLMSG_ALIGN(sizeof(h) + len);
}

static void put_message(struct answer *a, uint16_t type, const void *data, size_t len)
{
	struct nlmsghdr h = { .nlmsg_len = (uint32_t)(sizeof(h) + len), .nlmsg_type = type };

	memcpy(a->buf + a->len, &h, sizeof(h));
	memcpy(a->buf + a->len + sizeof(h), data, len);
	a->len += NLMSG_ALIGN(sizeof(h) + len);
}

static void put_verdict(struct answer *a, uint16_t type, int error)
{
	put_message(a, type, &error, sizeof(error));
}

static int next_message(const struct answer *a, struct nl_part *m)
{
	const uint8_t *p = a->buf;
	size_t left = a->len;

	return nl_next_message(&p, &left, m);
}

/* --- messages --------------------------------------------------------------------- */

TEST(messages__of_one_datagram__come_in_order_with_their_payload)
{
	struct answer a = { .len = 0 };
	const uint8_t *p = a.buf;
	struct nl_part m;
	size_t left;

	put_message(&a, 0x1409, "abcde", 5);
	put_message(&a, 0x140a, "", 0);
	left = a.len;
	assert_int_equal(nl_next_message(&p, &left, &m), 1);
	assert_int_equal(m.type, 0x1409);
	assert_int_equal(m.len, 5);
	assert_memory_equal(m.data, "abcde", 5);
	assert_int_equal(nl_next_message(&p, &left, &m), 1);
	assert_int_equal(m.type, 0x140a);
	assert_int_equal(m.len, 0);
	assert_int_equal(nl_next_message(&p, &left, &m), 0);
	assert_int_equal(left, 0);
}

TEST(message__last_and_not_padded__is_taken)
{
	struct answer a = { .len = 0 };
	const uint8_t *p = a.buf;
	struct nl_part m;
	size_t left;

	put_message(&a, 0x1409, "abcde", 5);
	left = sizeof(struct nlmsghdr) + 5;
	assert_int_equal(nl_next_message(&p, &left, &m), 1);
	assert_int_equal(left, 0);
}

TEST(answer__its_end_and_its_refusals__are_told_apart)
{
	static const struct {
		uint16_t type;
		int error, rc;
	} rows[] = {
		{ NLMSG_DONE, 0, -ENODATA },	  { NLMSG_ERROR, 0, -ENODATA },
		{ NLMSG_DONE, 7, -ENODATA },	  { NLMSG_ERROR, -ENODEV, -ENODEV },
		{ NLMSG_DONE, -EINVAL, -EINVAL }, { NLMSG_ERROR, -4095, -4095 },
		{ NLMSG_ERROR, -4096, -EBADMSG }, { NLMSG_ERROR, INT32_MIN, -EBADMSG },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct answer a = { .len = 0 };
		struct nl_part m;

		put_verdict(&a, rows[i].type, rows[i].error);
		assert_int_equal(next_message(&a, &m), rows[i].rc);
	}
}

TEST(message__length_that_lies__is_refused)
{
	static const uint32_t lens[] = { 0,	    1,	      sizeof(struct nlmsghdr) - 1,
					 25,	    1u << 31, UINT32_MAX - 2,
					 UINT32_MAX };
	struct answer a = { .len = 0 };
	struct nl_part m;

	put_message(&a, 0x1409, "12345678", 8);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		memcpy(a.buf, &lens[i], sizeof(lens[i]));
		assert_int_equal(next_message(&a, &m), -EBADMSG);
	}
	a.len = sizeof(struct nlmsghdr) - 1;
	assert_int_equal(next_message(&a, &m), -EBADMSG);
}

/* --- attributes ------------------------------------------------------------------- */

TEST(attributes__random_ones__come_back_as_they_were_put)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 2000; i++) {
		struct {
			uint32_t type;
			uint8_t data[40];
			size_t len;
		} put[20];
		size_t n = prop_range(&p, 0, 20), left, shift = prop_range(&p, 0, 3);
		struct answer a = { .len = shift }; /* the span may begin anywhere */
		const uint8_t *at = a.buf + shift;
		struct nl_part got;

		for (size_t k = 0; k < n; k++) {
			put[k].type = (uint32_t)prop_range(&p, 0, 0x3fff);
			put[k].len = prop_range(&p, 0, sizeof(put[k].data));
			for (size_t b = 0; b < put[k].len; b++)
				put[k].data[b] = (uint8_t)prop_u64(&p);
			put_attr(&a, (uint16_t)(put[k].type | prop_range(&p, 0, 3) << 14),
				 put[k].data, put[k].len);
		}
		left = a.len - shift;
		for (size_t k = 0; k < n; k++) {
			prop_assert(&p, i, nl_next_attr(&at, &left, &got));
			prop_assert(&p, i, got.type == put[k].type && got.len == put[k].len);
			prop_assert(&p, i, !memcmp(got.data, put[k].data, got.len));
		}
		prop_assert(&p, i, !nl_next_attr(&at, &left, &got) && left == 0);
	}
}

TEST(attribute__length_that_lies__ends_the_walk)
{
	static const uint16_t lens[] = { 0, 1, 3, 9, 0x7fff, 0xfffd, 0xffff };

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct answer a = { .len = 0 };
		const uint8_t *p = a.buf;
		size_t left;
		struct nl_part got = { .type = 77 };

		put_attr(&a, 5, "1234", 4);
		memcpy(a.buf, &lens[i], sizeof(lens[i]));
		left = a.len;
		assert_false(nl_next_attr(&p, &left, &got));
		assert_int_equal(got.type, 77);
		assert_ptr_equal(p, a.buf);
	}
}

TEST(attribute__looked_for__is_the_first_of_its_type)
{
	struct answer a = { .len = 0 };
	struct nl_part all = { .data = a.buf }, got;

	put_attr(&a, 4, "aaaa", 4);
	put_attr(&a, 5 | NLA_F_NESTED, "bbbb", 4);
	put_attr(&a, 5, "cccc", 4);
	all.len = a.len;
	assert_true(nl_find_attr(&all, 5, &got));
	assert_memory_equal(got.data, "bbbb", 4);
	assert_false(nl_find_attr(&all, 6, &got));
	assert_true(nl_find_attr(&all, 4, &all)); /* into itself */
	assert_memory_equal(all.data, "aaaa", 4);
}

TEST(number__of_fewer_than_four_bytes__is_0)
{
	const uint32_t v = 0xa1b2c3d4;
	uint8_t odd[9];
	struct nl_part a = { .data = odd + 1, .len = sizeof(v) };

	memcpy(odd + 1, &v, sizeof(v));
	assert_int_equal(nl_u32(&a), v);
	a.len = 8;
	assert_int_equal(nl_u32(&a), v);
	a.len = 3;
	assert_int_equal(nl_u32(&a), 0);
}

/* --- any bytes -------------------------------------------------------------------- */

static bool within(const struct nl_part *a, const uint8_t *buf, size_t len)
{
	return a->data >= buf && a->data <= buf + len && a->len <= (size_t)(buf + len - a->data);
}

TEST(any_bytes__each_step_is_shorter_and_stays_within)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 20000; i++) {
		size_t len = prop_range(&p, 0, 200), left = len, before = len;
		uint8_t *buf = malloc(len ? len : 1); /* what is beyond must not be read */
		const uint8_t *at = buf;
		struct nl_part m, a;

		assert_non_null(buf);
		for (size_t k = 0; k < len; k++) /* small numbers are plausible lengths */
			buf[k] = (uint8_t)(prop_one_in(&p, 2) ? 0 : prop_range(&p, 0, 40));
		while (nl_next_message(&at, &left, &m) == 1) {
			prop_assert(&p, i, left < before && within(&m, buf, len));
			prop_assert(&p, i, at + left == buf + len);
			before = left;
		}
		at = buf;
		left = before = len;
		while (nl_next_attr(&at, &left, &a)) {
			prop_assert(&p, i, left < before && within(&a, buf, len));
			prop_assert(&p, i, at + left == buf + len);
			before = left;
		}
		free(buf);
	}
}
