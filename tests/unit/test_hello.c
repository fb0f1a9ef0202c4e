// SPDX-License-Identifier: GPL-2.0-or-later
/* hello: the proof of the key: between right hosts, with any byte changed, and from liars. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include <errno.h>
#include <string.h>

#include <nettle/hmac.h>

#include "src/util/bytes.h"
#include "tests/unit/hello_rig.h"
#include "tests/unit/unit.h"

static const uint8_t other_key[] = "qX7#vKp2!mZ9@wLd4$nRj6%tBh8^sFg2";

/* A session in which message m is changed at `at` before it is received. */
static int take_changed(int m, size_t at, uint8_t with)
{
	struct rig r;

	rig_init(&r);
	speak(&r, m);
	assert_true(at < r.len[m]);
	r.said[m][at] ^= with;
	return receive(receiver_of(&r, m), r.said[m], r.len[m]);
}

TEST(hmac__vectors_of_rfc_4231__come_out)
{
	static const uint8_t want1[] = { 0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53,
					 0x5c, 0xa8, 0xaf, 0xce, 0xaf, 0x0b, 0xf1, 0x2b,
					 0x88, 0x1d, 0xc2, 0x00, 0xc9, 0x83, 0x3d, 0xa7,
					 0x26, 0xe9, 0x37, 0x6c, 0x2e, 0x32, 0xcf, 0xf7 };
	static const uint8_t want2[] = { 0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e,
					 0x6a, 0x04, 0x24, 0x26, 0x08, 0x95, 0x75, 0xc7,
					 0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27, 0x39, 0x83,
					 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43 };
	uint8_t key1[20], mac[SHA256_DIGEST_SIZE];
	struct hmac_sha256_ctx ctx;

	memset(key1, 0x0b, sizeof(key1));
	hmac_sha256_set_key(&ctx, sizeof(key1), key1);
	hmac_sha256_update(&ctx, 8, (const uint8_t *)"Hi There");
	hmac_sha256_digest(&ctx, sizeof(mac), mac);
	assert_memory_equal(mac, want1, sizeof(mac));

	hmac_sha256_set_key(&ctx, 4, (const uint8_t *)"Jefe");
	hmac_sha256_update(&ctx, 28, (const uint8_t *)"what do ya want for nothing?");
	hmac_sha256_digest(&ctx, sizeof(mac), mac);
	assert_memory_equal(mac, want2, sizeof(mac));
}

/* The MAC of the second message, computed here from the description in hello.h. */
TEST(answer__its_mac__is_of_name_call_and_answer)
{
	uint8_t mac[SHA256_DIGEST_SIZE];
	struct hmac_sha256_ctx ctx;
	struct rig r;
	size_t own;

	rig_init(&r);
	speak(&r, ANSWER);
	own = r.len[ANSWER] - sizeof(mac);
	hmac_sha256_set_key(&ctx, sizeof(key) - 1, key);
	hmac_sha256_update(&ctx, 16, (const uint8_t *)"resex: answer 4 ");
	hmac_sha256_update(&ctx, r.len[CALL], r.said[CALL]);
	hmac_sha256_update(&ctx, own, r.said[ANSWER]);
	hmac_sha256_digest(&ctx, sizeof(mac), mac);
	assert_memory_equal(mac, r.said[ANSWER] + own, sizeof(mac));
}

TEST(hello__between_friends__ends_ready)
{
	struct rig r;

	rig_init(&r);
	speak(&r, KEYS);
	assert_int_equal(receive(&r.caller, r.said[KEYS], r.len[KEYS]), HELLO_READY);
	assert_int_equal(r.caller.of_peer.generation, 7);
	assert_int_equal(r.caller.keys_len, sizeof(description));
	assert_memory_equal(r.caller.keys, description, sizeof(description));
	assert_int_equal(r.responder.peer, 1);
	assert_true(r.responder.of_peer.generation == 0x1122334455667788);
}

TEST(hello__with_oneself__ends_ready)
{
	struct rig r;

	rig_init(&r);
	r.conf[0] = r.conf[1];
	begin(&r, 1);
	speak(&r, KEYS);
	assert_int_equal(receive(&r.caller, r.said[KEYS], r.len[KEYS]), HELLO_READY);
	assert_int_equal(r.responder.peer, 2);
}

TEST(hello__description_of_any_length__arrives)
{
	uint8_t keys[HELLO_KEYS_MAX + 1], out[HELLO_MAX];
	size_t n;

	memset(keys, 0x5a, sizeof(keys));
	for (size_t len = 0; len <= HELLO_KEYS_MAX; len++) {
		struct rig r;

		rig_init(&r);
		speak(&r, PROOF);
		assert_int_equal(hello_receive(&r.responder, r.said[PROOF], r.len[PROOF], out, &n),
				 HELLO_PROVEN);
		n = hello_write_keys(&r.responder, len ? keys : NULL, len, out);
		assert_int_equal(receive(&r.caller, out, n), HELLO_READY);
		assert_int_equal(r.caller.keys_len, len);
		assert_memory_equal(r.caller.keys, keys, len);
	}
}

TEST(hello__description_too_long__is_not_sent)
{
	uint8_t keys[HELLO_KEYS_MAX + 1] = { 0 }, out[HELLO_MAX];
	struct rig r;
	size_t n;

	rig_init(&r);
	speak(&r, PROOF);
	assert_int_equal(hello_receive(&r.responder, r.said[PROOF], r.len[PROOF], out, &n),
			 HELLO_PROVEN);
	assert_int_equal(hello_write_keys(&r.responder, keys, sizeof(keys), out), 0);
}

TEST(hello__longest_names_numbers_and_key__end_ready)
{
	uint8_t long_key[TRANSPORT_KEY_MAX];
	struct rig r;

	rig_init(&r);
	memset(long_key, 0xab, sizeof(long_key));
	for (int i = 0; i < 2; i++) {
		memset(r.conf[i].cluster, 'x', TRANSPORT_NAME_MAX - 1);
		r.conf[i].generation = r.conf[i].start = r.conf[i].agreement = UINT64_MAX;
		r.conf[i].key = long_key;
		r.conf[i].key_len = sizeof(long_key);
	}
	r.conf[0].host = TRANSPORT_HOSTS_MAX;
	begin(&r, 1);
	speak(&r, KEYS);
	assert_int_equal(receive(&r.caller, r.said[KEYS], r.len[KEYS]), HELLO_READY);
	assert_int_equal(r.responder.peer, TRANSPORT_HOSTS_MAX);
	assert_true(r.responder.of_peer.generation == UINT64_MAX);
}

/* A changed CALL may be another host's valid CALL: then the caller refuses the ANSWER. */
static int call_changed(size_t at, uint8_t with)
{
	uint8_t out[HELLO_MAX];
	struct rig r;
	size_t n;
	int rc;

	rig_init(&r);
	speak(&r, CALL);
	r.said[CALL][at] ^= with;
	rc = hello_receive(&r.responder, r.said[CALL], r.len[CALL], out, &n);
	return rc < 0 ? rc : receive(&r.caller, out, n);
}

TEST(hello__one_bit_flipped__is_refused)
{
	struct rig r;

	rig_init(&r);
	speak(&r, KEYS);
	for (int m = CALL; m < MESSAGES; m++) {
		for (size_t bit = 0; bit < 8 * r.len[m]; bit++) {
			uint8_t with = (uint8_t)(1 << bit % 8);
			int rc = m == CALL ? call_changed(bit / 8, with)
					   : take_changed(m, bit / 8, with);

			if (rc >= 0)
				fail_msg("message %d, bit %zu: taken", m, bit);
		}
	}
}

TEST(hello__no_hello_at_all__is_refused)
{
	for (int m = CALL; m < MESSAGES; m++)
		for (size_t at = 0; at < 4; at++)
			assert_int_equal(take_changed(m, at, 0x20), -EPROTO);
}

TEST(hello__another_version__is_reported_as_that)
{
	struct rig r;

	for (int m = CALL; m < MESSAGES; m++) {
		assert_int_equal(take_changed(m, 4, 3), -EPROTONOSUPPORT);
		assert_int_equal(take_changed(m, 5, 1), -EPROTONOSUPPORT);
	}
	rig_init(&r); /* however long it is */
	speak(&r, CALL);
	r.said[CALL][4] = 1;
	assert_int_equal(receive(&r.responder, r.said[CALL], 8), -EPROTONOSUPPORT);
}

TEST(hello__of_any_other_length__is_refused)
{
	for (int m = CALL; m < MESSAGES; m++) {
		for (size_t len = 0; len <= HELLO_MAX + 1; len++) {
			uint8_t in[HELLO_MAX + 1] = { 0 };
			struct rig r;

			rig_init(&r);
			speak(&r, m);
			memcpy(in, r.said[m], r.len[m]);
			if (len != r.len[m])
				assert_int_equal(receive(receiver_of(&r, m), in, len), -EPROTO);
		}
	}
}

static int take_of_host(int m, uint16_t host)
{
	struct rig r;

	rig_init(&r);
	speak(&r, m);
	bytes_put_le(&r.said[m][8], host, 2);
	return receive(receiver_of(&r, m), r.said[m], r.len[m]);
}

TEST(hello__of_host_0_or_257__is_malformed)
{
	assert_int_equal(take_of_host(CALL, 0), -EPROTO);
	assert_int_equal(take_of_host(CALL, 257), -EPROTO);
	assert_int_equal(take_of_host(ANSWER, 0), -EPROTO);
	assert_int_equal(take_of_host(ANSWER, 258), -EPROTO);
	assert_int_equal(take_of_host(CALL, 256), HELLO_MORE); /* 256 could be */
}

TEST(hello__without_a_generation_or_start__is_malformed)
{
	struct rig r;

	for (int k = 0; k < 4; k++) {
		int i = k / 2;

		rig_init(&r);
		*(k % 2 ? &r.conf[i].generation : &r.conf[i].start) = 0;
		begin(&r, 1);
		speak(&r, i == 0 ? CALL : ANSWER);
		assert_int_equal(receive(receiver_of(&r, i), r.said[i], r.len[i]), -EPROTO);
	}
}

TEST(hello__what_must_be_zero_is_not__is_malformed)
{
	for (size_t at = 12; at < 16; at++) {
		assert_int_equal(take_changed(CALL, at, 0x80), -EPROTO);
		assert_int_equal(take_changed(ANSWER, at, 0x80), -EPROTO);
		assert_int_equal(take_changed(KEYS, at, 0x80), -EPROTO);
	}
}

TEST(hello__keys_of_a_wrong_length__are_malformed)
{
	for (size_t at = 8; at < 12; at++)
		assert_int_equal(take_changed(KEYS, at, 0x10), -EPROTO);
}

TEST(hello__out_of_turn__is_refused)
{
	struct rig all, r;

	rig_init(&all);
	speak(&all, KEYS);
	for (int m = CALL; m < MESSAGES; m++) {
		for (int other = CALL; other < MESSAGES; other++) {
			rig_init(&r);
			speak(&r, m);
			if (other != m)
				assert_int_equal(receive(receiver_of(&r, m), all.said[other],
							 all.len[other]),
						 -EPROTO);
		}
	}
}

TEST(call__of_another_cluster__is_reported_as_that)
{
	static const char *const names[] = { "beta", "alphA", "alph", "alphaa" };
	struct rig r;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		rig_init(&r);
		memset(r.conf[0].cluster, 0, sizeof(r.conf[0].cluster));
		memcpy(r.conf[0].cluster, names[i], strlen(names[i]));
		speak(&r, CALL);
		assert_int_equal(receive(&r.responder, r.said[CALL], r.len[CALL]), -EXDEV);
	}
}

TEST(call__cluster_name_not_ended_empty_or_followed__is_malformed)
{
	enum { NAME = 72 };
	struct rig r;

	rig_init(&r);
	speak(&r, CALL);
	assert_memory_equal(r.said[CALL] + NAME, "alpha", 6);
	memset(r.said[CALL] + NAME, 'a', TRANSPORT_NAME_MAX);
	assert_int_equal(receive(&r.responder, r.said[CALL], r.len[CALL]), -EPROTO);
	begin(&r, 1);
	speak(&r, CALL);
	memset(r.said[CALL] + NAME, 0, TRANSPORT_NAME_MAX);
	assert_int_equal(receive(&r.responder, r.said[CALL], r.len[CALL]), -EPROTO);
	for (size_t at = 6; at < TRANSPORT_NAME_MAX; at++)
		assert_int_equal(take_changed(CALL, NAME + at, 'x'), -EPROTO);
}

TEST(call__for_another_host__is_reported_as_that)
{
	assert_int_equal(take_changed(CALL, 10, 1), -EHOSTUNREACH);
	assert_int_equal(take_changed(CALL, 11, 1), -EHOSTUNREACH);
}

/* A liar with another key: it computes the last 32 bytes of a message anew. */
static void sign(struct rig *r, int m, const char *name, const uint8_t *with)
{
	struct hmac_sha256_ctx ctx;
	size_t own = r->len[m] - SHA256_DIGEST_SIZE;

	hmac_sha256_set_key(&ctx, sizeof(key) - 1, with);
	hmac_sha256_update(&ctx, 16, (const uint8_t *)name);
	for (int i = 0; i < m; i++)
		hmac_sha256_update(&ctx, r->len[i], r->said[i]);
	hmac_sha256_update(&ctx, own, r->said[m]);
	hmac_sha256_digest(&ctx, SHA256_DIGEST_SIZE, r->said[m] + own);
}

TEST(answer__of_another_host_that_holds_the_key__is_reported_as_that)
{
	struct rig r;

	for (size_t at = 8; at <= 10; at += 2) { /* from, then to */
		rig_init(&r);
		speak(&r, ANSWER);
		r.said[ANSWER][at] = 3;
		sign(&r, ANSWER, "resex: answer 4 ", key);
		assert_int_equal(receive(&r.caller, r.said[ANSWER], r.len[ANSWER]), -EHOSTUNREACH);
	}
}

TEST(answer__with_another_key__is_refused)
{
	struct rig r;

	for (int i = 0; i < 2; i++) {
		rig_init(&r);
		r.conf[i].key = other_key;
		speak(&r, ANSWER);
		assert_int_equal(receive(&r.caller, r.said[ANSWER], r.len[ANSWER]), -EACCES);
	}
}

TEST(mac__of_a_liar__is_refused_and_of_a_friend_accepted)
{
	static const char *const name[] = { "", "resex: answer 4 ", "resex: proof 4  ",
					    "resex: keys 4   " };
	struct rig r;

	for (int m = ANSWER; m < MESSAGES; m++) {
		rig_init(&r);
		speak(&r, m);
		sign(&r, m, name[m], other_key);
		assert_int_equal(receive(receiver_of(&r, m), r.said[m], r.len[m]), -EACCES);
		rig_init(&r);
		speak(&r, m);
		sign(&r, m, name[m], key);
		assert_true(receive(receiver_of(&r, m), r.said[m], r.len[m]) >= 0);
		rig_init(&r);
		speak(&r, m);
		sign(&r, m, name[m == PROOF ? ANSWER : PROOF], key); /* the other role's */
		assert_int_equal(receive(receiver_of(&r, m), r.said[m], r.len[m]), -EACCES);
	}
}

TEST(replay__of_an_earlier_session__is_refused)
{
	struct rig old, r;

	rig_init(&old);
	speak(&old, KEYS);
	for (int m = ANSWER; m < MESSAGES; m++) {
		rig_init(&r);
		begin(&r, 2);
		speak(&r, m);
		assert_int_equal(receive(receiver_of(&r, m), old.said[m], old.len[m]), -EACCES);
	}
}

/* Messages of an old session, to an end of which only the nonce is new. */
TEST(replay__one_nonce_new__is_refused)
{
	struct rig old, r;

	rig_init(&old);
	speak(&old, KEYS);

	rig_init(&r);
	r.caller.nonce[HELLO_NONCE - 1] ^= 1;
	speak(&r, CALL);
	assert_int_equal(receive(&r.caller, old.said[ANSWER], old.len[ANSWER]), -EACCES);

	rig_init(&r);
	r.responder.nonce[0] ^= 1;
	assert_int_equal(receive(&r.responder, old.said[CALL], old.len[CALL]), HELLO_MORE);
	assert_int_equal(receive(&r.responder, old.said[PROOF], old.len[PROOF]), -EACCES);
}

/* A restarted host draws a new nonce. If it were the same, the generation still differs. */
TEST(replay__generation_new__is_refused)
{
	struct rig old, r;

	rig_init(&old);
	speak(&old, KEYS);
	rig_init(&r);
	r.conf[0].generation++;
	begin(&r, 1);
	speak(&r, ANSWER);
	assert_int_equal(receive(&r.caller, old.said[ANSWER], old.len[ANSWER]), -EACCES);

	for (int i = 0; i < 2; i++) {
		rig_init(&r);
		r.conf[i].generation++;
		begin(&r, 1);
		speak(&r, PROOF);
		assert_int_equal(receive(&r.responder, old.said[PROOF], old.len[PROOF]), -EACCES);
	}
}

/* Host 1 calls host 2, whose port a liar uses: it calls host 1 back and repeats its messages. */
TEST(reflection__of_the_call__is_for_another_host)
{
	struct rig r;
	struct hello own;
	uint8_t nonce[HELLO_NONCE] = { 9 };

	rig_init(&r);
	speak(&r, CALL);
	hello_begin(&own, HELLO_RESPONDER, &r.conf[0], 0, nonce);
	assert_int_equal(receive(&own, r.said[CALL], r.len[CALL]), -EHOSTUNREACH);
}

/* A link to itself has one number at both ends: only the roles show a reflection. */
TEST(reflection__to_oneself__is_refused)
{
	struct rig r;

	for (int m = CALL; m < MESSAGES; m++) {
		rig_init(&r);
		r.conf[1] = r.conf[0];
		hello_begin(&r.caller, HELLO_CALLER, &r.conf[0], 1, (const uint8_t *)key);
		hello_begin(&r.responder, HELLO_RESPONDER, &r.conf[1], 0, (const uint8_t *)key);
		speak(&r, m);
		assert_true(receive(m == CALL || m == PROOF ? &r.caller : &r.responder, r.said[m],
				    r.len[m]) < 0);
	}
}

TEST(hello__after_an_error__takes_nothing_more)
{
	for (int m = CALL; m < MESSAGES; m++) {
		struct rig r;
		uint8_t wrong[HELLO_MAX];

		rig_init(&r);
		speak(&r, m);
		memcpy(wrong, r.said[m], r.len[m]);
		wrong[r.len[m] - 1] ^= 1;
		assert_true(receive(receiver_of(&r, m), wrong, r.len[m]) < 0);
		assert_int_equal(receive(receiver_of(&r, m), r.said[m], r.len[m]), -EPROTO);
	}
}

TEST(hello__after_its_end__takes_and_tells_nothing_more)
{
	uint8_t out[HELLO_MAX];
	struct rig r;

	rig_init(&r);
	speak(&r, KEYS);
	assert_int_equal(receive(&r.responder, r.said[PROOF], r.len[PROOF]), -EPROTO);
	assert_int_equal(hello_write_keys(&r.responder, description, 1, out), 0);
	assert_int_equal(receive(&r.caller, r.said[KEYS], r.len[KEYS]), HELLO_READY);
	assert_int_equal(receive(&r.caller, r.said[KEYS], r.len[KEYS]), -EPROTO);
	assert_int_equal(hello_write_call(&r.caller, out), 0);
}

/* Before its proof was accepted, a caller has no byte of the region's description. */
TEST(hello__description__is_in_the_last_message_alone)
{
	uint8_t out[HELLO_MAX];
	struct rig r;

	rig_init(&r);
	speak(&r, PROOF);
	assert_int_equal(hello_write_keys(&r.responder, description, sizeof(description), out), 0);
	rig_init(&r);
	speak(&r, KEYS);
	for (int m = CALL; m < MESSAGES; m++)
		assert_true((memmem(r.said[m], r.len[m], description, sizeof(description)) !=
			     NULL) == (m == KEYS));
}

/* Any 8 bytes of the key. */
static bool has_key(const void *data, size_t len)
{
	for (size_t at = 0; at + 8 < sizeof(key); at++)
		if (memmem(data, len, key + at, 8))
			return true;
	return false;
}

TEST(key__is_in_no_message_text_or_state)
{
	struct rig r;

	assert_true(has_key(key + 3, 9));
	rig_init(&r);
	speak(&r, KEYS);
	assert_int_equal(receive(&r.caller, r.said[KEYS], r.len[KEYS]), HELLO_READY);
	for (int m = CALL; m < MESSAGES; m++)
		assert_false(has_key(r.said[m], r.len[m]));
	for (int rc = 0; rc > -200; rc--)
		assert_false(has_key(hello_why(rc), strlen(hello_why(rc))));
	assert_false(has_key(&r.caller, sizeof(r.caller)));
	assert_false(has_key(&r.responder, sizeof(r.responder)));
}

TEST(why__of_each_error__is_its_own)
{
	static const int rc[] = { -EPROTO, -EPROTONOSUPPORT, -EXDEV, -EHOSTUNREACH,
				  -EACCES, -ECONNRESET,	     -EIO,   -EBADE };
	enum { N = sizeof(rc) / sizeof(*rc) };

	for (size_t i = 0; i < N; i++) {
		assert_true(strlen(hello_why(rc[i])) > 10 && strlen(hello_why(rc[i])) < 100);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(hello_why(rc[i]), hello_why(rc[k]));
	}
}

TEST(wipe__leaves_nothing)
{
	static const struct hello nothing;
	struct rig r;

	rig_init(&r);
	speak(&r, KEYS);
	hello_wipe(&r.responder);
	assert_memory_equal(&r.responder, &nothing, sizeof(nothing));
}

/* Parts of another session, with a byte or two changed. */
TEST(hello__parts_of_another_session__are_never_accepted)
{
	struct rig old;
	struct prop p;

	prop_start(&p);
	rig_init(&old);
	speak(&old, KEYS);
	for (int step = 0; step < 20000; step++) {
		int m = (int)prop_range(&p, ANSWER, KEYS), from = (int)prop_range(&p, CALL, KEYS);
		uint8_t right[HELLO_MAX];
		size_t at, len;
		struct rig r;

		rig_init(&r);
		begin(&r, (uint8_t)prop_range(&p, 2, 99));
		speak(&r, m);
		memcpy(right, r.said[m], r.len[m]);
		at = prop_range(&p, 0, r.len[m] - 1);
		len = prop_range(&p, 1, r.len[m] - at);
		memcpy(r.said[m] + at, old.said[from] + at, len); /* some of another session */
		if (prop_one_in(&p, 2))
			r.said[m][prop_range(&p, 0, r.len[m] - 1)] ^= (uint8_t)prop_range(&p, 1,
											  255);
		if (memcmp(r.said[m], right, r.len[m]) != 0)
			prop_assert(&p, step, receive(receiver_of(&r, m), r.said[m], r.len[m]) < 0);
	}
}
