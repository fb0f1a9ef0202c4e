/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hello: both ends of a new link prove that they hold the cluster's key.
 *
 *	caller                                  responder
 *	CALL   who, whom, self, nonce  ->
 *	                               <- ANSWER who, whom, self, nonce, mac
 *	PROOF  mac                     ->
 *	                               <- KEYS   the region's description, mac
 *
 * self (struct hello_self): the host's generation; its start, by which two starts of
 * one generation are told apart; and its agreement, a digest of what must be equal at
 * both ends. Agreements that differ end the hello, and both ends know why: the caller
 * says PROOF all the same, so that the responder sees that it was a friend's, and hangs
 * up in place of KEYS. (Version 1 had the generation alone.)
 *
 * Each mac is HMAC-SHA256 under the pre-shared key over the message's name, all
 * messages before it and its own other fields: none can be replayed, nor sent
 * back to whom it came from. The key itself never travels. Nothing of the
 * region is told before PROOF was right. Nothing here does I/O; what comes in is
 * hostile, copied once, checked whole.
 */
#ifndef RESEX_TRANSPORT_FRONT_HELLO_H
#define RESEX_TRANSPORT_FRONT_HELLO_H

#include <stddef.h>
#include <stdint.h>

#include "src/transport/transport.h"

enum {
	HELLO_MAX = 320,      /* bytes of any message */
	HELLO_KEYS_MAX = 128, /* bytes of a backend's description of the region */
	HELLO_NONCE = 32,
	HELLO_NS = 2000000000, /* a caller that has not proven itself by then is hung up on */
};

/* What a host says of itself. */
struct hello_self {
	uint64_t generation, start; /* none is 0 */
	uint64_t agreement;
};

enum hello_role { HELLO_CALLER, HELLO_RESPONDER };

struct hello {
	enum hello_role role;
	uint32_t stage;
	uint16_t self, peer; /* peer of a responder: 0 until CALL */
	/* of_peer: proven when hello_take gave TELL or READY, or -EBADE */
	struct hello_self of_self, of_peer;
	const struct transport_conf *conf; /* key, cluster; must outlive this */
	uint8_t nonce[HELLO_NONCE];
	uint8_t keys[HELLO_KEYS_MAX]; /* responder: to tell; caller: what was told */
	size_t keys_len;
	uint8_t script[2 * HELLO_MAX]; /* what both have said so far */
	size_t script_len;
};

/* nonce: HELLO_NONCE random bytes, never used before. peer: whom the caller calls. */
void hello_begin(struct hello *h, enum hello_role role, const struct transport_conf *conf,
		 uint16_t peer, const uint8_t nonce[static HELLO_NONCE]);

/* The caller's first message, into out; its length. */
size_t hello_call(struct hello *h, uint8_t out[static HELLO_MAX]);

enum hello_next {
	HELLO_MORE,  /* send *out_len bytes of out, if any, and wait */
	HELLO_TELL,  /* responder: PROOF was right. Fill the keys (hello_tell) */
	HELLO_READY, /* caller: of_peer and keys are valid */
};

/*
 * Take one message. enum hello_next, or: -EPROTO: malformed or out of turn;
 * -EPROTONOSUPPORT: another version; -EXDEV: another cluster; -EHOSTUNREACH: for
 * another host; -EACCES: the proof is wrong; -EBADE: it is right, but the agreements
 * differ. After an error the link must end.
 */
int hello_take(struct hello *h, const void *in, size_t len, uint8_t out[static HELLO_MAX],
	       size_t *out_len);

/* Responder, after HELLO_TELL: the last message, with the region's description. Its length. */
size_t hello_tell(struct hello *h, const void *keys, size_t len, uint8_t out[static HELLO_MAX]);

/*
 * Caller: the connection ended by rc (-errno). rc, or -EBADE: the responder hung up,
 * having proven the key, because the agreements differ.
 */
int hello_ended(const struct hello *h, int rc);

/*
 * For people: what an error of hello_take means and what to do; the end of a
 * sentence. -ECONNRESET: a caller that was sent the ANSWER went without a PROOF,
 * as one with another key does.
 */
const char *hello_why(int rc);

/* Forget all of it. */
void hello_wipe(struct hello *h);

#endif
