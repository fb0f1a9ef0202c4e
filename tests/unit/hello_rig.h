/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hello_rig: both ends of one hello, and all that goes between them. */
#ifndef RESEX_TESTS_HELLO_RIG_H
#define RESEX_TESTS_HELLO_RIG_H

#include <errno.h>
#include <string.h>

#include "src/transport/front/hello.h"
#include "tests/unit/prop.h"

static const uint8_t key[] = "qX7#vKp2!mZ9@wLd4$nRj6%tBh8^sFg1";
static const char description[] = "sixteen bytes...";

enum { CALL, ANSWER, PROOF, KEYS, MESSAGES };

/* Both ends of one session, and all that went between them. */
struct rig {
	struct transport_conf conf[2]; /* host 1 calls host 2 */
	struct hello caller, responder;
	uint8_t said[MESSAGES][HELLO_MAX];
	size_t len[MESSAGES];
};

static inline struct transport_conf conf_of(uint16_t host, uint64_t generation)
{
	struct transport_conf c = {
		.host = host, .generation = generation, .start = 9, .cluster = "alpha"
	};

	c.key = key;
	c.key_len = sizeof(key) - 1;
	return c;
}

static inline void begin(struct rig *r, uint8_t nonce)
{
	uint8_t a[HELLO_NONCE], b[HELLO_NONCE];

	memset(a, nonce, sizeof(a));
	memset(b, nonce + 100, sizeof(b));
	hello_begin(&r->caller, HELLO_CALLER, &r->conf[0], 2, a);
	hello_begin(&r->responder, HELLO_RESPONDER, &r->conf[1], 0, b);
}

static inline void rig_init(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	r->conf[0] = conf_of(1, 0x1122334455667788);
	r->conf[1] = conf_of(2, 7);
	begin(r, 1);
}

/* Let both ends write messages up to `until`, which is not received. */
static inline void speak(struct rig *r, int until)
{
	r->len[CALL] = hello_write_call(&r->caller, r->said[CALL]);
	assert_true(r->len[CALL] > 0);
	if (until == CALL)
		return;
	assert_int_equal(hello_receive(&r->responder, r->said[CALL], r->len[CALL], r->said[ANSWER],
				       &r->len[ANSWER]),
			 HELLO_MORE);
	if (until == ANSWER)
		return;
	assert_int_equal(hello_receive(&r->caller, r->said[ANSWER], r->len[ANSWER], r->said[PROOF],
				       &r->len[PROOF]),
			 HELLO_MORE);
	if (until == PROOF)
		return;
	assert_int_equal(hello_receive(&r->responder, r->said[PROOF], r->len[PROOF], r->said[KEYS],
				       &r->len[KEYS]),
			 HELLO_PROVEN);
	assert_int_equal(r->len[KEYS], 0);
	r->len[KEYS] = hello_write_keys(&r->responder, description, sizeof(description),
					r->said[KEYS]);
	assert_true(r->len[KEYS] > 0);
}

/* The end that receives message m. */
static inline struct hello *receiver_of(struct rig *r, int m)
{
	return m == CALL || m == PROOF ? &r->responder : &r->caller;
}

static inline int receive(struct hello *h, const void *in, size_t len)
{
	uint8_t out[HELLO_MAX];
	size_t n;

	return hello_receive(h, in, len, out, &n);
}

#endif
