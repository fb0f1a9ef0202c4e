// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_hello: both ends of a hello, and who is between them.
 *
 * Input: steps, until it is used up; each begins with a byte: bits 0-1: what
 * (enum), bit 2: to whom. HONEST: the message that the other end said goes there as
 * it is. CHANGED (offset 2, length 1, value 1): some of its bytes are changed, or its
 * length. RAW (length 2, bytes): anything. SIGNED: the same, but its last 32
 * bytes are made the right mac: who sends it holds the key.
 *
 * Without the key nothing but the honest message, whole, leads on, and nobody is found to
 * disagree.
 */
#include <errno.h>

#include <nettle/hmac.h>

#include "src/transport/front/hello.h"
#include "tests/fuzz/fuzz.h"

enum { HONEST, CHANGED, RAW, SIGNED };
enum { CALLER, RESPONDER, MAC = SHA256_DIGEST_SIZE };

static const uint8_t key[] = "a key of the fuzzer's own";

struct end {
	struct transport_conf conf;
	struct hello hello;
	uint8_t said[HELLO_MAX]; /* what it said last and the other has not got; len 0: nothing */
	size_t len;
	bool failed, over;
	uint32_t taken; /* messages that led on */
};

struct talk {
	struct end end[2];
	struct hello_list list; /* the responder's: the caller, as it says it is */
};

static void begin(struct talk *t)
{
	static const uint8_t nonce[2][HELLO_NONCE] = { { 1 }, { 2 } };

	memset(t, 0, sizeof(*t));
	for (int i = 0; i < 2; i++) {
		struct transport_conf *c = &t->end[i].conf;

		c->host = (uint16_t)(1 + i);
		c->generation = 5 + (uint64_t)i;
		c->start = 7;
		memcpy(c->cluster, "fuzz", 5);
		c->key = key;
		c->key_len = sizeof(key) - 1;
		hello_begin(&t->end[i].hello, i == CALLER ? HELLO_CALLER : HELLO_RESPONDER, c, 2,
			    nonce[i]);
	}
	t->end[RESPONDER].hello.peer = 0;
	t->list.of[0].listed = true;
	t->end[RESPONDER].hello.list = &t->list;
	t->end[CALLER].len = hello_write_call(&t->end[CALLER].hello, t->end[CALLER].said);
	FUZZ_REQUIRE(t->end[CALLER].len && t->end[CALLER].len <= HELLO_MAX);
}

/* As the page says: the message's name, all that was said, this one up to its mac. */
static void sign(const struct end *to, uint8_t *message, size_t len)
{
	const char *name = "resex: answer 4 ";
	struct hmac_sha256_ctx ctx;

	if (len < MAC)
		return;
	if (to->hello.role == HELLO_RESPONDER)
		name = "resex: proof 4  ";
	else if (to->taken == 1)
		name = "resex: keys 4   ";
	hmac_sha256_set_key(&ctx, sizeof(key) - 1, key);
	hmac_sha256_update(&ctx, 16, (const uint8_t *)name);
	hmac_sha256_update(&ctx, to->hello.script_len, to->hello.script);
	hmac_sha256_update(&ctx, len - MAC, message);
	hmac_sha256_digest(&ctx, MAC, message + len - MAC);
}

static bool is_verdict(int rc)
{
	return rc == -EPERM || rc == -EPROTOTYPE || rc == -EOPNOTSUPP;
}

static void check_error(int rc)
{
	FUZZ_REQUIRE(rc == -EPROTO || rc == -EPROTONOSUPPORT || rc == -EXDEV ||
		     rc == -EHOSTUNREACH || rc == -EACCES || rc == -EBADE || is_verdict(rc));
	FUZZ_REQUIRE(strlen(hello_why(rc)) > 10 && strlen(hello_why(rc)) < 100);
}

static void led_on(struct end *to, int rc, const uint8_t *out, size_t n)
{
	FUZZ_REQUIRE(rc == HELLO_MORE || rc == HELLO_PROVEN || rc == HELLO_READY);
	FUZZ_REQUIRE((rc == HELLO_MORE) == (n > 0) && n <= HELLO_MAX);
	FUZZ_REQUIRE(!to->failed && !to->over);
	FUZZ_REQUIRE(rc != HELLO_PROVEN || to->hello.role == HELLO_RESPONDER);
	FUZZ_REQUIRE(rc != HELLO_READY || to->hello.role == HELLO_CALLER);
	to->taken++;
	to->len = n;
	memcpy(to->said, out, n);
	to->over = rc != HELLO_MORE;
	if (rc == HELLO_PROVEN) {
		to->len = hello_write_keys(&to->hello, "region", 6, to->said);
		FUZZ_REQUIRE(to->len && to->len <= HELLO_MAX);
	}
}

static void check_end(const struct end *e)
{
	const struct hello *h = &e->hello;

	FUZZ_REQUIRE(h->script_len <= sizeof(h->script));
	FUZZ_REQUIRE(h->keys_len <= HELLO_KEYS_MAX);
	FUZZ_REQUIRE(h->peer <= TRANSPORT_HOSTS_MAX);
	FUZZ_REQUIRE(h->conf == &e->conf && h->self == e->conf.host);
	FUZZ_REQUIRE(!e->taken || (h->peer && h->of_peer.generation && h->of_peer.start));
	FUZZ_REQUIRE(h->of_peer.role < TRANSPORT_ROLES);
	FUZZ_REQUIRE(!(h->of_peer.rights & ~(unsigned int)TRANSPORT_RIGHTS));
	FUZZ_REQUIRE(h->of_peer.role == TRANSPORT_CLIENT || !h->of_peer.rights);
}

/* The message lies in memory of its own, no longer than it is. */
static void deliver(struct talk *t, int to_whom, const uint8_t *message, size_t len, bool key_held)
{
	struct end *to = &t->end[to_whom], *from = &t->end[!to_whom];
	bool honest = len == from->len && len && !memcmp(message, from->said, len);
	uint8_t out[HELLO_MAX], *copy = malloc(len ? len : 1);
	size_t n = 0;
	int rc;

	if (!copy)
		abort();
	if (len)
		memcpy(copy, message, len);
	rc = hello_receive(&to->hello, copy, len, out, &n);
	free(copy);
	if (rc < 0) {
		check_error(rc);
		FUZZ_REQUIRE(rc != -EBADE || key_held); /* of the two, both agree */
		/* The two are within the list: another verdict is of one that holds the key. */
		FUZZ_REQUIRE(!is_verdict(rc) ||
			     (to_whom == CALLER && t->end[CALLER].hello.verdict));
		to->failed = true;
	} else {
		/* A CALL says nothing that needs a key: who sent another is found out later. */
		FUZZ_REQUIRE(honest || key_held || (to_whom == RESPONDER && !to->taken));
		led_on(to, rc, out, n);
	}
	if (honest)
		from->len = 0;
	check_end(to);
}

static void change(struct bytes *in, uint8_t *message, size_t *len)
{
	size_t at = take16(in), n = take8(in);
	uint8_t with = take8(in);

	if (n == 0) {
		*len = at % (HELLO_MAX + 1);
		return;
	}
	for (size_t i = 0; i < n && *len; i++)
		message[(at + i) % *len] ^= with;
}

static void step(struct talk *t, struct bytes *in)
{
	uint8_t control = take8(in), message[2 * HELLO_MAX] = { 0 };
	int to = control >> 2 & 1, what = control & 3;
	size_t len = t->end[!to].len;

	memcpy(message, t->end[!to].said, len);
	if (what == CHANGED) {
		change(in, message, &len);
	} else if (what == RAW || what == SIGNED) {
		len = take16(in) % (sizeof(message) + 1);
		take(in, message, len);
	}
	if (what == SIGNED)
		sign(&t->end[to], message, len);
	deliver(t, to, message, len, what == SIGNED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = { data, size };
	struct talk t;

	begin(&t);
	while (in.left)
		step(&t, &in);
	for (int i = 0; i < 2; i++) {
		struct hello nothing;

		hello_wipe(&t.end[i].hello);
		memset(&nothing, 0, sizeof(nothing));
		FUZZ_REQUIRE(!memcmp(&nothing, &t.end[i].hello, sizeof(nothing)));
	}
	return 0;
}
