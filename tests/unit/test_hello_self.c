// SPDX-License-Identifier: GPL-2.0-or-later
/* hello: what hosts send about themselves: starts, and agreements that differ. */
#include "tests/unit/hello_rig.h"
#include "tests/unit/unit.h"

TEST(hello__between_friends__each_knows_the_others_start)
{
	struct rig r;

	rig_init(&r);
	r.conf[0].start = 0xfedcba9876543210;
	r.conf[1].start = 1;
	r.conf[0].agreement = r.conf[1].agreement = 0x8000000000000001;
	begin(&r, 1);
	speak(&r, KEYS);
	assert_int_equal(receive(&r.caller, r.said[KEYS], r.len[KEYS]), HELLO_READY);
	assert_int_equal(r.caller.of_peer.start, 1);
	assert_true(r.responder.of_peer.start == 0xfedcba9876543210);
	assert_true(r.responder.of_peer.agreement == 0x8000000000000001);
	assert_true(r.caller.of_peer.agreement == 0x8000000000000001);
}

/* Two hosts that hold the key, and whose agreements differ by a bit. */
static void rig_disagree(struct rig *r, unsigned bit)
{
	rig_init(r);
	r->conf[0].agreement = 0x0123456789abcdef;
	r->conf[1].agreement = r->conf[0].agreement ^ 1ull << bit;
	begin(r, 1);
}

TEST(agreement__another__both_ends_know)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		uint8_t out[HELLO_MAX];
		struct rig r;

		rig_disagree(&r, bit);
		speak(&r, PROOF);
		assert_int_equal(receive(&r.responder, r.said[PROOF], r.len[PROOF]), -EBADE);
		assert_int_equal(hello_write_keys(&r.responder, description, 1, out), 0);
		assert_int_equal(hello_ended(&r.caller, -ECONNRESET), -EBADE);
	}
}

/* A wrong proof proves nothing about its sender: its agreement does not matter. */
TEST(agreement__another_without_the_key__is_a_wrong_proof)
{
	struct rig r;

	rig_disagree(&r, 5);
	speak(&r, PROOF);
	r.said[PROOF][r.len[PROOF] - 1] ^= 1;
	assert_int_equal(receive(&r.responder, r.said[PROOF], r.len[PROOF]), -EACCES);
	rig_disagree(&r, 5);
	speak(&r, ANSWER);
	r.said[ANSWER][r.len[ANSWER] - 1] ^= 1;
	assert_int_equal(receive(&r.caller, r.said[ANSWER], r.len[ANSWER]), -EACCES);
	assert_int_equal(hello_ended(&r.caller, -ECONNRESET), -ECONNRESET);
}

/* If the responder ignores the difference, the caller still refuses the link. */
TEST(agreement__another_and_the_keys_are_sent__is_refused)
{
	struct rig r;

	rig_disagree(&r, 63);
	speak(&r, ANSWER);
	r.responder.of_self.agreement = r.responder.of_peer.agreement;
	r.len[PROOF] = r.len[KEYS] = 0;
	assert_int_equal(hello_receive(&r.caller, r.said[ANSWER], r.len[ANSWER], r.said[PROOF],
				       &r.len[PROOF]),
			 HELLO_MORE);
	assert_int_equal(receive(&r.responder, r.said[PROOF], r.len[PROOF]), HELLO_PROVEN);
	r.len[KEYS] = hello_write_keys(&r.responder, description, 1, r.said[KEYS]);
	assert_int_equal(receive(&r.caller, r.said[KEYS], r.len[KEYS]), -EBADE);
}

/* --- role, rights, and the list of who may call ------------------------------------------ */

/* Host 1 calls in this role with these rights; host 2 has host 1 on its list as `place`. */
static void rig_listed(struct rig *r, struct hello_list *list, enum transport_role role,
		       uint32_t rights)
{
	rig_init(r);
	r->conf[0].role = role;
	r->conf[0].rights = rights;
	begin(r, 1);
	r->responder.list = list;
}

TEST(list__within_it__both_know_role_and_rights)
{
	struct hello_list list = { .of[0] = { true, TRANSPORT_CLIENT, TRANSPORT_ATOMICS } };

	for (uint32_t rights = 0; rights <= TRANSPORT_RIGHTS; rights++) {
		struct rig r;

		rig_listed(&r, &list, TRANSPORT_CLIENT, rights);
		speak(&r, KEYS);
		assert_int_equal(receive(&r.caller, r.said[KEYS], r.len[KEYS]), HELLO_READY);
		assert_int_equal(r.responder.of_peer.role, TRANSPORT_CLIENT);
		assert_int_equal(r.responder.of_peer.rights, rights);
		assert_int_equal(r.caller.of_peer.role, TRANSPORT_MEMBER);
		assert_int_equal(r.caller.of_peer.rights, 0);
	}
}

TEST(list__not_within_it__the_caller_knows_why_and_takes_no_keys)
{
	static const struct {
		bool listed;
		uint8_t role, rights;
		enum transport_role comes;
		uint32_t asks;
		int why;
	} row[] = { { false, TRANSPORT_MEMBER, 0, TRANSPORT_MEMBER, 0, -EPERM },
		    { false, TRANSPORT_CLIENT, 0, TRANSPORT_CLIENT, 0, -EPERM },
		    { true, TRANSPORT_MEMBER, 0, TRANSPORT_CLIENT, 0, -EPROTOTYPE },
		    { true, TRANSPORT_CLIENT, 0, TRANSPORT_MEMBER, 0, -EPROTOTYPE },
		    { true, TRANSPORT_CLIENT, 0, TRANSPORT_CLIENT, 1, -EOPNOTSUPP } };

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct hello_list list = { .of[0] = { row[i].listed, row[i].role, row[i].rights } };
		struct rig r;

		rig_listed(&r, &list, row[i].comes, row[i].asks);
		assert_int_equal(hello_listed(&list, 1, &r.caller.of_self), row[i].why);
		speak(&r, KEYS);
		assert_int_equal(hello_ended(&r.caller, -ECONNRESET), row[i].why);
		assert_int_equal(receive(&r.caller, r.said[KEYS], r.len[KEYS]), row[i].why);
		assert_int_equal(r.caller.keys_len, 0);
		assert_true(strlen(hello_why(row[i].why)) > 20);
	}
}

/* Of another agreement, too: that is said first, since it is of all hosts. */
TEST(list__not_within_it_and_another_agreement__the_agreement_is_said)
{
	struct hello_list list = { 0 };
	struct rig r;

	rig_disagree(&r, 3);
	r.responder.list = &list;
	speak(&r, PROOF);
	assert_int_equal(hello_ended(&r.caller, -ECONNRESET), -EBADE);
}

/* In a CALL, whose sender is not proven: a role or rights that no version 4 sends. */
TEST(self__role_or_rights_unknown__is_malformed)
{
	static const struct {
		uint8_t role, rights;
	} bad[] = { { TRANSPORT_ROLES, 0 },
		    { 255, 0 },
		    { TRANSPORT_MEMBER, TRANSPORT_ATOMICS },
		    { TRANSPORT_CLIENT, TRANSPORT_RIGHTS + 1 },
		    { TRANSPORT_CLIENT, 255 } };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct rig r;

		rig_init(&r);
		speak(&r, CALL);
		r.said[CALL][12] = bad[i].role;
		r.said[CALL][14] = bad[i].rights;
		assert_int_equal(receive(&r.responder, r.said[CALL], r.len[CALL]), -EPROTO);
	}
}

TEST(answer__of_a_client__is_refused)
{
	struct rig r;

	rig_init(&r);
	r.conf[1].role = TRANSPORT_CLIENT;
	begin(&r, 1);
	speak(&r, ANSWER);
	assert_int_equal(receive(&r.caller, r.said[ANSWER], r.len[ANSWER]), -EPROTO);
}

TEST(ended__when_all_agree_or_too_early__is_as_it_ended)
{
	struct rig r;

	rig_disagree(&r, 1);
	assert_int_equal(hello_ended(&r.caller, -ETIMEDOUT), -ETIMEDOUT);
	speak(&r, CALL);
	assert_int_equal(hello_ended(&r.caller, -ETIMEDOUT), -ETIMEDOUT);
	rig_init(&r);
	speak(&r, PROOF);
	assert_int_equal(hello_ended(&r.caller, -ECONNRESET), -ECONNRESET);
	hello_wipe(&r.caller);
	assert_int_equal(hello_ended(&r.caller, -ECONNRESET), -ECONNRESET);
}
