// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * serve: a peer's link to us, from its first byte.
 *
 * Received bytes are in `in`, answers go to `out`; this file uses no socket. First comes the
 * hello, and nothing else. Then come requests, each answered before the next is read. None
 * is read while `out` has no room for the longest answer: a peer that does not take its
 * answers is not served, and needs no more memory.
 */
#include <errno.h>
#include <string.h>

#include "src/transport/tcp/tcp.h"
#include "src/util/bytes.h"

enum {
	/* Requests of one peer in one step: other peers wait, too. */
	BATCH = 64,
	IN_ROOM = TRANSPORT_DEPTH * TCP_REQUEST_MAX,
	OUT_ROOM = 4 * TCP_ANSWER_MAX,
};

int tcp_serve_init(struct tcp_serve *s, struct transport *t, const struct tcp_region *region,
		   struct mono now)
{
	uint8_t nonce[HELLO_NONCE] = { 0 };
	int rc = front_random(nonce, sizeof(nonce));

	*s = (struct tcp_serve){ .t = t, .region = region, .due = mono_add(now, HELLO_NS) };
	/* Small until the caller is proven: strangers cost little memory. */
	if (!rc)
		rc = tcp_buf_init(&s->in, TCP_HELLO_FRAME);
	if (!rc)
		rc = tcp_buf_init(&s->out, TCP_HELLO_FRAME);
	front_answer(t, &s->hello, nonce);
	return rc;
}

void tcp_serve_fini(struct tcp_serve *s)
{
	if (!s->host)
		front_caller_over(s->t);
	hello_wipe(&s->hello);
	tcp_buf_fini(&s->in);
	tcp_buf_fini(&s->out);
}

/* --- the hello ------------------------------------------------------------------- */

static int refuse_caller(struct tcp_serve *s, int why, struct mono now)
{
	front_refused(s->t, s->hello.peer, why, now);
	return why;
}

void tcp_serve_gone(struct tcp_serve *s, struct mono now)
{
	/* It had our proof in the ANSWER, and sent none: it has another key. */
	if (!s->host && s->hello.peer)
		refuse_caller(s, -ECONNRESET, now);
}

void tcp_serve_late(struct tcp_serve *s, struct mono now)
{
	refuse_caller(s, -ETIMEDOUT, now);
}

static void send_hello(struct tcp_serve *s, const uint8_t *message, size_t len)
{
	uint8_t *at = tcp_frame_put(&s->out, TCP_HELLO, 0, (uint32_t)len);

	memcpy(at, message, len);
}

static int handle_hello(struct tcp_serve *s, const struct tcp_frame *f)
{
	uint8_t out[HELLO_MAX];
	size_t n = 0;
	int rc = -EPROTO;

	if (f->type == TCP_HELLO)
		rc = hello_receive(&s->hello, f->data, f->len, out, &n);
	/*
	 * Before the old link of that host is ended: a caller that is refused must not harm
	 * it.
	 */
	if (rc == HELLO_PROVEN)
		rc = front_proven(s->t, s->hello.peer, &s->hello.of_peer);
	else if (rc == HELLO_MORE && n)
		send_hello(s, out, n);
	return rc;
}

/* Handles at most one frame: no frame follows PROOF before tcp_serve_welcome. */
static int step_hello(struct tcp_serve *s, struct mono now)
{
	struct tcp_frame f;
	bool called = s->hello.peer;
	int len, rc;

	if (!tcp_serve_room(s))
		return TCP_MORE;
	len = tcp_frame_look(&s->in, HELLO_MAX, &f);
	if (len == 0)
		return TCP_IDLE;
	rc = len < 0 ? -EPROTO : handle_hello(s, &f);
	if (rc < 0)
		return refuse_caller(s, rc, now);
	tcp_buf_drop(&s->in, (size_t)len);
	/* The CALL sets hello.peer, so this second frame was the PROOF, and it was right. */
	if (called)
		return TCP_PROVEN;
	return TCP_IDLE;
}

int tcp_serve_welcome(struct tcp_serve *s)
{
	uint8_t keys[TCP_KEYS], out[HELLO_MAX];
	/*
	 * Room for all requests that may be outstanding on a link: a peer can post its whole depth
	 * without waiting for us to read.
	 */
	int rc = tcp_buf_grow(&s->in, IN_ROOM);
	size_t len;

	if (!rc)
		rc = tcp_buf_grow(&s->out, OUT_ROOM);
	if (rc)
		return rc;
	for (size_t i = 0; i < TRANSPORT_PARTS; i++)
		bytes_put_le(keys + 8 * i, s->region->bytes[i], 8);
	len = hello_write_keys(&s->hello, keys, sizeof(keys), out);
	send_hello(s, out, len);
	s->host = s->hello.peer;
	s->role = s->hello.of_peer.role;
	s->rights = s->hello.of_peer.rights;
	front_caller_over(s->t);
	hello_wipe(&s->hello);
	return 0;
}

/* --- requests -------------------------------------------------------------------- */

/* The peer's front checks the same before it posts; but the peer is not trusted. */
static int check_request(const struct tcp_region *r, const struct transport_op *op)
{
	if ((unsigned int)op->part >= TRANSPORT_PARTS)
		return -EINVAL;
	if (op->kind != TRANSPORT_READ && op->part != TRANSPORT_WORDS)
		return -EACCES;
	/*
	 * As transport.h demands. An HCA, too, refuses an atomic that is not aligned to 8 bytes
	 * (IBTA volume 1, 9.4.5).
	 */
	if (op->offset % 8 || op->len % 8 || !op->len || op->len > TRANSPORT_READ_MAX)
		return -EINVAL;
	if ((uint64_t)op->offset + op->len > r->bytes[op->part])
		return -ERANGE;
	return 0;
}

/* Word by word, in order: each word is read whole, as by an HCA. */
static void copy_words(uint8_t *out, const void *from, uint32_t len)
{
	typedef uint64_t __attribute__((may_alias)) word;
	const word *at = from;

	for (uint32_t i = 0; i < len / 8; i++) {
		/*
		 * Acquire: the words are read in this order. The owner's CPU may write meanwhile: a
		 * record may be torn, and its reader finds that out (record.h); a word is not.
		 */
		uint64_t v = __atomic_load_n(&at[i], __ATOMIC_ACQUIRE);

		memcpy(out + 8 * (size_t)i, &v, 8);
	}
}

static uint64_t change_word(_Atomic uint64_t *word, const struct transport_op *op)
{
	/*
	 * Sequentially consistent by default. One process executes them all, also the owner's, so
	 * they are atomic against each other without an HCA.
	 */
	uint64_t old = op->compare;

	if (op->kind == TRANSPORT_FAA64)
		return atomic_fetch_add(word, op->value);
	atomic_compare_exchange_strong(word, &old, op->value);
	return old;
}

/* There is room: tcp_serve_step checked. */
static void execute_request(struct tcp_serve *s, const struct transport_op *op, uint8_t slot)
{
	const struct tcp_region *r = s->region;

	if (op->kind == TRANSPORT_SEND) {
		front_message(s->t, s->host, op->data, op->len);
		tcp_frame_put(&s->out, TCP_DONE, slot, 0);
	} else if (op->kind == TRANSPORT_READ) {
		copy_words(tcp_frame_put(&s->out, TCP_DONE, slot, op->len),
			   (const uint8_t *)r->part[op->part] + op->offset, op->len);
	} else {
		bytes_put_le(tcp_frame_put(&s->out, TCP_DONE, slot, 8),
			     change_word(&r->words[op->offset / 8], op), 8);
	}
}

static const char *what_is_wrong(int why)
{
	if (why == -ERANGE)
		return "it ends before";
	if (why == -EPERM)
		return "a client has no right to it";
	return why == -EACCES ? "it is read-only" : "no such operation is posted";
}

static void refuse_request(struct tcp_serve *s, const struct transport_op *op, uint8_t slot,
			   int why)
{
	front_alarm(s->t, s->host,
		    "host %u was refused %u bytes at %u of part %u: %s; is its resex the same?",
		    s->host, op->len, op->offset, (unsigned)op->part, what_is_wrong(why));
	bytes_put_le(tcp_frame_put(&s->out, TCP_REFUSED, slot, 4), (uint64_t)-why, 4);
}

static int serve_request(struct tcp_serve *s, const struct tcp_frame *f)
{
	struct transport_op op;
	int rc = tcp_request_get(f, &op);

	if (rc)
		return rc;
	if (!front_may(s->role, s->rights, op.kind))
		rc = -EPERM;
	else if (op.kind != TRANSPORT_SEND)
		rc = check_request(s->region, &op);
	if (rc)
		refuse_request(s, &op, f->slot, rc);
	else
		execute_request(s, &op, f->slot);
	/*
	 * Of SENDs the receiver's process always takes part: they would say nothing about which CPU
	 * executes one-sided operations.
	 */
	s->t->stats.served += op.kind != TRANSPORT_SEND;
	return 0;
}

static int step_requests(struct tcp_serve *s)
{
	for (int i = 0; i < BATCH; i++) {
		struct tcp_frame f;
		int len, rc;

		if (!tcp_serve_room(s))
			return TCP_MORE;
		len = tcp_frame_look(&s->in, TRANSPORT_MESSAGE_MAX, &f);
		if (len == 0)
			return TCP_IDLE;
		/*
		 * DONE means that this transport has the message. So it is not read from the buffer
		 * before the user's queue has room; all that its host sent after it waits as well,
		 * since requests are answered in order.
		 */
		if (len > 0 && f.type == TCP_SEND &&
		    front_may(s->role, s->rights, TRANSPORT_SEND) &&
		    !front_message_fits(s->t, s->host))
			return TCP_WAITS;
		rc = len < 0 ? len : serve_request(s, &f);
		if (rc) {
			front_alarm(
				s->t, s->host,
				"host %u sent something that is not a request; its link was ended",
				s->host);
			return rc;
		}
		tcp_buf_drop(&s->in, (size_t)len);
	}
	return TCP_MORE;
}

bool tcp_serve_room(const struct tcp_serve *s)
{
	/*
	 * For the longest answer, whatever the next request is: so execute_request never lacks
	 * room.
	 */
	return tcp_buf_left(&s->out) >= (s->host ? TCP_ANSWER_MAX : TCP_HELLO_FRAME);
}

int tcp_serve_step(struct tcp_serve *s, struct mono now)
{
	return s->host ? step_requests(s) : step_hello(s, now);
}
