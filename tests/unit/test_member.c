// SPDX-License-Identifier: GPL-2.0-or-later
/* member: who is in, who may decide; corosync's library is a fake. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "src/shared/member.h"
#include "tests/fakes/fake_quorum.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

/* Hosts 1, 2, 3 and 64 are corosync's 11, 12, 13 and 5; we are 2. 4 is none, whatever it has. */
static const struct member_conf conf = {
	.hosts = 7 | 1ull << 63,
	.node = { 11, 12, 13, 99, [63] = 5 },
	.self = 2,
};

static const uint32_t nodes_all[] = { 11, 12, 13, 5, 0 };
static const uint32_t nodes_two[] = { 11, 12, 0 };
static const uint32_t nodes_us[] = { 12, 0 };
static const uint32_t nodes_not_us[] = { 11, 13, 5, 0 };
static const uint32_t nodes_stranger[] = { 99, 12, 13, 0 };

struct rig {
	struct member *m;
	struct mono now;
	struct member_view v;
	int news;
};

static void work(struct rig *r)
{
	r->news = member_corosync.update(r->m, r->now, &r->v);
}

static void rig_begin(struct rig *r, int want)
{
	*r = (struct rig){ .now = { NS_PER_S } };
	assert_int_equal(member_corosync.open(&r->m, &conf, r->now), want);
}

/* Connected, and quorate with all. */
static void rig_quorate(struct rig *r)
{
	fake_quorum_reset();
	rig_begin(r, 0);
	fake_quorum_vote(11, 40, nodes_all, true);
	work(r);
	assert_int_equal(r->news, 1);
	assert_true(r->v.quorate && r->v.view == 40 && r->v.members == conf.hosts);
}

static void rig_end(struct rig *r)
{
	member_corosync.close(r->m);
	assert_false(fake_quorum.connected);
}

/* --- static ------------------------------------------------------------------- */

TEST(static__open__all_hosts_are_in_and_quorate_told_once)
{
	struct member_view v;
	struct member *m;

	assert_int_equal(member_static.open(&m, &conf, (struct mono){ 0 }), 0);
	assert_int_equal(member_static.update(m, (struct mono){ 0 }, &v), 1);
	assert_true(v.quorate && v.view == 0 && v.members == conf.hosts);
	assert_int_equal(member_static.update(m, (struct mono){ NS_PER_S }, &v), 0);
	assert_int_equal(member_static.fd(m), -1);
	assert_true(member_static.due(m).ns == INT64_MAX);
	assert_string_equal(member_static.note(m), "");
	member_static.close(m);
}

TEST(open__self_not_configured__is_refused)
{
	static const uint16_t wrong[] = { 0, 4, 65 };
	struct member *m;

	fake_quorum_reset();
	for (int i = 0; i < 3; i++) {
		struct member_conf c = conf;

		c.self = wrong[i];
		assert_int_equal(member_static.open(&m, &c, (struct mono){ 0 }), -EINVAL);
		assert_int_equal(member_corosync.open(&m, &c, (struct mono){ 0 }), -EINVAL);
	}
	assert_int_equal(fake_quorum.connects, 0);
}

TEST(open__a_nodeid_missing_or_twice__is_refused)
{
	struct member_conf c = conf;
	struct member *m;

	fake_quorum_reset();
	c.node[63] = 0;
	assert_int_equal(member_corosync.open(&m, &c, (struct mono){ 0 }), -EINVAL);
	c.node[63] = 11;
	assert_int_equal(member_corosync.open(&m, &c, (struct mono){ 0 }), -EINVAL);
	assert_int_equal(fake_quorum.connects, 0);
}

/* --- views ---------------------------------------------------------------------- */

TEST(work__nothing_told_yet__is_not_quorate)
{
	struct rig r;

	fake_quorum_reset();
	rig_begin(&r, 0);
	work(&r);
	assert_int_equal(r.news, 1);
	assert_true(!r.v.quorate && r.v.view == 0 && r.v.members == 0);
	assert_int_equal(member_corosync.fd(r.m), 42);
	rig_end(&r);
}

TEST(work__same_view__is_no_news)
{
	struct rig r;

	rig_quorate(&r);
	work(&r);
	assert_int_equal(r.news, 0);
	assert_true(r.v.quorate);
	fake_quorum_vote(11, 40, nodes_all, true);
	work(&r);
	assert_int_equal(r.news, 0);
	rig_end(&r);
}

TEST(work__cut_off__is_not_quorate_and_alone)
{
	struct rig r;

	rig_quorate(&r);
	fake_quorum_ring(12, 44, nodes_us);
	fake_quorum_vote(12, 44, nodes_us, false);
	work(&r);
	assert_int_equal(r.news, 1);
	assert_true(!r.v.quorate && r.v.view == 44 && r.v.members == 2);
	rig_end(&r);
}

TEST(work__a_new_ring_that_has_not_voted__is_not_quorate)
{
	struct rig r;

	rig_quorate(&r);
	fake_quorum_ring(11, 44, nodes_two);
	work(&r);
	assert_int_equal(r.news, 1);
	assert_true(!r.v.quorate && r.v.view == 44 && r.v.members == 3);
	fake_quorum_vote(11, 44, nodes_two, true);
	work(&r);
	assert_int_equal(r.news, 1);
	assert_true(r.v.quorate && r.v.view == 44);
	rig_end(&r);
}

TEST(work__the_ring_that_voted_told_again__stays_quorate)
{
	struct rig r;

	rig_quorate(&r);
	fake_quorum_ring(11, 40, nodes_all);
	work(&r);
	assert_int_equal(r.news, 0);
	assert_true(r.v.quorate);
	rig_end(&r);
}

TEST(work__a_node_that_is_no_host__does_not_count)
{
	struct rig r;

	rig_quorate(&r);
	fake_quorum_vote(12, 44, nodes_stranger, true);
	work(&r);
	assert_true(r.v.quorate && r.v.members == 6);
	rig_end(&r);
}

TEST(work__a_view_without_us__is_not_quorate_and_says_why)
{
	struct rig r;

	rig_quorate(&r);
	fake_quorum_vote(11, 44, nodes_not_us, true);
	work(&r);
	assert_false(r.v.quorate);
	assert_non_null(strstr(member_corosync.note(r.m), "nodeid 12"));
	fake_quorum_vote(11, 48, nodes_all, true);
	work(&r);
	assert_true(r.v.quorate);
	assert_string_equal(member_corosync.note(r.m), "");
	rig_end(&r);
}

/* --- the connection --------------------------------------------------------------- */

TEST(open__no_corosync__is_good_and_tries_again)
{
	struct rig r;

	fake_quorum_reset();
	fake_quorum_die();
	rig_begin(&r, -ENODEV);
	assert_non_null(strstr(member_corosync.note(r.m), "start corosync"));
	assert_int_equal(member_corosync.fd(r.m), -1);
	work(&r);
	assert_int_equal(r.news, 1);
	assert_false(r.v.quorate);
	assert_int_equal(fake_quorum.connects, 1); /* not due yet */
	assert_true(member_corosync.due(r.m).ns == r.now.ns + NS_PER_S);

	fake_quorum.refuses = CS_OK;
	r.now = member_corosync.due(r.m);
	fake_quorum_vote(11, 40, nodes_all, true);
	work(&r);
	assert_int_equal(r.news, 1);
	assert_true(r.v.quorate);
	assert_string_equal(member_corosync.note(r.m), "");
	assert_true(member_corosync.due(r.m).ns == INT64_MAX);
	rig_end(&r);
}

TEST(work__corosync_dies__is_not_quorate_until_it_is_back)
{
	struct rig r;

	rig_quorate(&r);
	fake_quorum_die();
	work(&r);
	assert_int_equal(r.news, 1);
	assert_true(!r.v.quorate && r.v.view == 40 && r.v.members == conf.hosts);
	assert_int_equal(fake_quorum.finalizes, 1);
	assert_int_equal(member_corosync.fd(r.m), -1);
	assert_non_null(strstr(member_corosync.note(r.m), "start corosync"));
	for (int i = 0; i < 3; i++) {
		r.now = member_corosync.due(r.m);
		work(&r);
		assert_int_equal(r.news, 0);
	}
	assert_int_equal(fake_quorum.connects, 4);

	fake_quorum.refuses = CS_OK;
	r.now = member_corosync.due(r.m);
	work(&r);
	assert_false(r.v.quorate); /* connected, but told nothing */
	fake_quorum_vote(11, 40, nodes_all, true);
	work(&r);
	assert_int_equal(r.news, 1);
	assert_true(r.v.quorate && r.v.view == 40);
	rig_end(&r);
}

TEST(open__refused_by_corosync__says_what_to_allow)
{
	struct rig r;

	fake_quorum_reset();
	fake_quorum.refuses = CS_ERR_ACCESS;
	rig_begin(&r, -ENODEV);
	assert_non_null(strstr(member_corosync.note(r.m), "uidgid.d"));
	rig_end(&r);
}

TEST(open__no_quorum_provider__says_what_to_configure)
{
	struct rig r;

	fake_quorum_reset();
	fake_quorum.type = QUORUM_FREE;
	rig_begin(&r, -ENODEV);
	assert_non_null(strstr(member_corosync.note(r.m), "corosync_votequorum"));
	assert_int_equal(fake_quorum.finalizes, 1);
	work(&r);
	assert_false(r.v.quorate);
	rig_end(&r);
}

TEST(open__tracking_fails__hangs_up_and_tries_again)
{
	struct rig r;

	fake_quorum_reset();
	fake_quorum.track = CS_ERR_TRY_AGAIN;
	rig_begin(&r, -ENODEV);
	assert_int_equal(fake_quorum.finalizes, 1);
	fake_quorum.track = CS_OK;
	r.now = member_corosync.due(r.m);
	fake_quorum_vote(11, 40, nodes_all, true);
	work(&r);
	assert_true(r.v.quorate);
	rig_end(&r);
}

/* What was begun while corosync stood still is over. */
static void until_readable(struct rig *r)
{
	struct pollfd p = { .fd = member_corosync.fd(r->m), .events = POLLIN };

	assert_int_equal(poll(&p, 1, -1), 1);
}

TEST(open__corosync_stands_still__goes_on_and_takes_it_when_it_answers)
{
	struct rig r;

	fake_quorum_reset();
	fake_quorum.stands = true;
	rig_begin(&r, -ENODEV);
	for (int i = 0; i < 3; i++) {
		work(&r);
		assert_false(r.v.quorate);
		assert_non_null(strstr(member_corosync.note(r.m), "stands still"));
		r.now = mono_add(r.now, 2 * NS_PER_S);
	}
	assert_int_equal(fake_quorum.connects, 1);
	assert_true(member_corosync.due(r.m).ns == INT64_MAX); /* its descriptor tells */
	fake_quorum_vote(11, 40, nodes_all, true);
	fake_quorum.stands = false;
	until_readable(&r);
	work(&r);
	assert_true(r.v.quorate && r.v.view == 40);
	assert_string_equal(member_corosync.note(r.m), "");
	assert_int_equal(member_corosync.fd(r.m), 42);
	rig_end(&r);
}

TEST(open__stood_still_and_refuses_then__is_tried_again)
{
	struct rig r;

	fake_quorum_reset();
	fake_quorum.stands = true;
	rig_begin(&r, -ENODEV);
	fake_quorum.refuses = CS_ERR_ACCESS;
	fake_quorum.stands = false;
	until_readable(&r);
	work(&r);
	assert_non_null(strstr(member_corosync.note(r.m), "uidgid.d"));
	assert_int_equal(member_corosync.fd(r.m), -1);
	fake_quorum.refuses = CS_OK;
	r.now = member_corosync.due(r.m);
	fake_quorum_vote(11, 40, nodes_all, true);
	work(&r);
	assert_true(r.v.quorate);
	assert_int_equal(fake_quorum.connects, 2);
	rig_end(&r);
}

TEST(close__corosync_stands_still__hangs_up_when_it_answers)
{
	struct rig r;

	fake_quorum_reset();
	fake_quorum.stands = true;
	rig_begin(&r, -ENODEV);
	member_corosync.close(r.m);
	assert_int_equal(fake_quorum.finalizes, 0);
	fake_quorum.stands = false;
	while (!fake_quorum.finalizes) /* else the runner's time is up */
		poll(NULL, 0, 1);
}
