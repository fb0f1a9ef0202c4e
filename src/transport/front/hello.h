/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hello: both ends of a new link prove that they hold the cluster's key.
 *
 *	caller                                  responder
 *	CALL   from, to, self, nonce   ->
 *	                               <- ANSWER from, to, self, nonce, verdict, mac
 *	PROOF  mac                     ->
 *	                               <- KEYS   the region's description, mac
 *
 * self (struct hello_self): the host's generation; its start, which distinguishes two
 * starts of one generation; its agreement, a digest of what must be equal at both ends; its role;
 * and, of a client, the rights that it asks for. The responder has a list of the numbers that may
 * call it, in which role and with which rights (struct hello_list); its verdict says whether the
 * caller is within it.
 *
 * If the agreements differ, or the caller is not within the list, the hello ends, and both ends
 * know why: the caller still sends PROOF, so that the responder knows that it holds the key; the
 * responder then hangs up instead of sending KEYS. (Version 1 had only the generation. Version 3
 * is as 2; it says that the region is of version 2, and has more parts. Version 4 has role, rights
 * and verdict.)
 *
 * Each mac is HMAC-SHA256 with the pre-shared key, over the message's name, all earlier
 * messages, and the other fields of its own message. So no message can be replayed, or
 * reflected to its sender. The key is never sent. Nothing about the region is sent before
 * PROOF was right. This code does no I/O. Its input is hostile: it is copied once and
 * checked whole.
 */
#ifndef RESEX_TRANSPORT_FRONT_HELLO_H
#define RESEX_TRANSPORT_FRONT_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/transport/transport.h"

enum {
	HELLO_MAX = 320,      /* bytes of any message */
	HELLO_KEYS_MAX = 128, /* bytes of a backend's description of the region */
	HELLO_NONCE = 32,
	HELLO_NS = 2000000000, /* a caller that has not proven itself by then is disconnected */
};

/* What a host sends about itself. */
struct hello_self {
	uint64_t generation, start; /* never 0 */
	uint64_t agreement;
	uint16_t role;	 /* enum transport_role */
	uint16_t rights; /* of a client: enum transport_right; of a member: 0 */
};

/* Which numbers may call, and how, by number - 1. */
struct hello_list {
	struct {
		bool listed;
		uint8_t role, rights; /* as in struct hello_self */
	} of[TRANSPORT_HOSTS_MAX];
};

/*
 * Is this host, with this role and these rights, within the list? 0; -EPERM: its number is not
 * listed; -EPROTOTYPE: it has another role; -EOPNOTSUPP: it asks for more rights.
 */
int hello_listed(const struct hello_list *l, uint16_t host, const struct hello_self *self);

enum hello_role { HELLO_CALLER, HELLO_RESPONDER };

struct hello {
	enum hello_role role;
	uint32_t stage;
	uint16_t self, peer; /* peer of a responder: 0 until CALL */
	/* of_peer: proven when hello_receive returned PROVEN, READY or -EBADE */
	struct hello_self of_self, of_peer;
	const struct transport_conf *conf; /* key, cluster; must outlive this */
	const struct hello_list *list;	   /* responder: who may call; NULL: each number */
	int verdict;			   /* caller: of hello_listed at the responder */
	uint8_t nonce[HELLO_NONCE];
	uint8_t keys[HELLO_KEYS_MAX]; /* of the region. Responder: to send; caller: received */
	size_t keys_len;
	uint8_t script[2 * HELLO_MAX]; /* the messages of both ends so far */
	size_t script_len;
};

/* nonce: HELLO_NONCE random bytes, never used before. peer: the host that the caller calls. */
void hello_begin(struct hello *h, enum hello_role role, const struct transport_conf *conf,
		 uint16_t peer, const uint8_t nonce[static HELLO_NONCE]);

/* Write the caller's first message to out. Returns its length. */
size_t hello_write_call(struct hello *h, uint8_t out[static HELLO_MAX]);

enum hello_next {
	HELLO_MORE,   /* send *out_len bytes of out, if any, and wait */
	HELLO_PROVEN, /* responder: PROOF was right. Call hello_write_keys with the region's keys */
	HELLO_READY,  /* caller: of_peer and keys are valid */
};

/*
 * Handle one message. Returns enum hello_next, or: -EPROTO: malformed, or not the expected
 * message; -EPROTONOSUPPORT: another version; -EXDEV: another cluster; -EHOSTUNREACH: for
 * another host; -EACCES: the proof is wrong; -EBADE: the proof is right, but the agreements
 * differ; at the caller also an error of hello_listed, if KEYS come although the responder's
 * verdict was against it. After an error the link must end.
 */
int hello_receive(struct hello *h, const void *in, size_t len, uint8_t out[static HELLO_MAX],
		  size_t *out_len);

/* Responder, after HELLO_PROVEN: write the last message, with the region's keys. Its length. */
size_t hello_write_keys(struct hello *h, const void *keys, size_t len,
			uint8_t out[static HELLO_MAX]);

/*
 * Caller: the connection ended with rc (-errno). Returns rc; or, if the responder proved the key
 * and then hung up, its reason: -EBADE, or its verdict.
 */
int hello_ended(const struct hello *h, int rc);

/*
 * For people: the meaning of an error of hello_receive or hello_ended, and the remedy; the end of a
 * sentence.
 * -ECONNRESET: a caller got the ANSWER and left without a PROOF, as a caller with another
 * key does. -EPERM: for a caller.
 */
const char *hello_why(int rc);

/* Erase it. */
void hello_wipe(struct hello *h);

#endif
