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
