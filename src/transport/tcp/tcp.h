/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tcp: what the files of the two-sided backend tell each other, and nobody else.
 *
 * wire.c (bytes: frames, buffers), serve.c (a peer's link to us, from
 * its first byte on, without any socket), call.c (our link to a peer),
 * tcp.c (sockets, the listener, what is ready).
 *
 * A frame: magic 2, type 1, slot 1, len 4, then len bytes; little endian. The
 * slot is the caller's and comes back in the answer. What a READ brings are
 * the bytes as they lie in memory.
 */
#ifndef RESEX_TRANSPORT_TCP_TCP_H
#define RESEX_TRANSPORT_TCP_TCP_H

#include <stdatomic.h>
#include <sys/socket.h>

#include "src/transport/backend.h"

enum tcp_type {
	TCP_HELLO = 1, /* a message of hello.h */
	TCP_READ,      /* part 4, offset 4, len 4 */
	TCP_CAS64,     /* part 4, offset 4, compare 8, value 8 */
	TCP_FAA64,     /* part 4, offset 4, value 8 */
	TCP_SEND,      /* the message */
	TCP_DONE,      /* READ: the bytes; atomics: the word before, 8; SEND: nothing */
	TCP_REFUSED,   /* errno 4 */
};

enum {
	TCP_HEADER = 8,
	TCP_REQUEST_MAX = TCP_HEADER + TRANSPORT_MESSAGE_MAX,
	TCP_ANSWER_MAX = TCP_HEADER + TRANSPORT_READ_MAX,
	TCP_HELLO_FRAME = TCP_HEADER + HELLO_MAX,
	TCP_KEYS = 8 * TRANSPORT_PARTS, /* the region's description: the bytes of each part */
};

_Static_assert((int)HELLO_MAX <= (int)TRANSPORT_MESSAGE_MAX, "a hello is no longer than a request");

/* --- wire.c ---------------------------------------------------------------- */

/* Bytes on their way: at[head .. tail). It never grows. */
struct tcp_buf {
	uint8_t *at;
	size_t room, head, tail;
};

int tcp_buf_init(struct tcp_buf *b, size_t room);
void tcp_buf_fini(struct tcp_buf *b);
/* A larger one with the same bytes; room is never less than what is in it. */
int tcp_buf_grow(struct tcp_buf *b, size_t room);
/* Where to put up to *n more bytes; then say how many with tcp_buf_add. */
uint8_t *tcp_buf_space(struct tcp_buf *b, size_t *n);

static inline size_t tcp_buf_used(const struct tcp_buf *b)
{
	return b->tail - b->head;
}

static inline size_t tcp_buf_left(const struct tcp_buf *b)
{
	return b->room - tcp_buf_used(b);
}

static inline void tcp_buf_add(struct tcp_buf *b, size_t n)
{
	b->tail += n;
}

static inline void tcp_buf_drop(struct tcp_buf *b, size_t n)
{
	b->head += n;
}

struct tcp_frame {
	enum tcp_type type;
	uint8_t slot;
	uint32_t len;
	const uint8_t *data; /* in the buffer it was found in */
};

/*
 * The first frame in b: its length with header; 0: it is not whole yet; -EPROTO: no
 * frame; -EMSGSIZE: longer than max. Nothing is taken out of b.
 */
int tcp_frame_look(const struct tcp_buf *b, size_t max, struct tcp_frame *f);
/* A frame at the end of b; where its len bytes go, or NULL: no room. */
uint8_t *tcp_frame_put(struct tcp_buf *b, enum tcp_type type, uint8_t slot, uint32_t len);

/* -EAGAIN: no room. */
int tcp_request_put(struct tcp_buf *b, uint8_t slot, const struct transport_op *op);
/*
 * Its form alone: kind, part, offset, len, compare, value, data. -EPROTO. What
 * they ask for may be anything.
 */
int tcp_request_get(const struct tcp_frame *f, struct transport_op *op);

/* --- serve.c --------------------------------------------------------------- */

struct tcp_region {
	const uint8_t *table;
	_Atomic uint64_t *words;
	size_t bytes[TRANSPORT_PARTS];
};

/* A peer's link to us: the bytes it sent, the answers it has not taken yet. */
struct tcp_serve {
	struct transport *t;
	const struct tcp_region *region;
	struct hello hello;
	struct tcp_buf in, out;
	uint16_t host; /* 0: it has not proven who it is */
	struct mono due;
};

/* front_caller took it. -ENOMEM or of front_random. */
int tcp_serve_init(struct tcp_serve *s, struct transport *t, const struct tcp_region *region,
		   struct mono now);
/* It ends, for whatever reason; the front is told what it must know. */
void tcp_serve_fini(struct tcp_serve *s);

enum tcp_next {
	TCP_IDLE,   /* it needs more bytes */
	TCP_MORE,   /* there is more that can be done, at once or when there is room in out */
	TCP_WAITS,  /* there is no room for its message until the user takes others */
	TCP_PROVEN, /* it is host; end its old link, then call tcp_serve_welcome */
};

/*
 * Do what the bytes in `in` ask for, some of it; answers go to `out`. enum
 * tcp_next, or -errno: hang up; the front was told.
 */
int tcp_serve_step(struct tcp_serve *s, struct mono now);
/* Is there room for the longest answer? */
bool tcp_serve_room(const struct tcp_serve *s);
/* -ENOMEM: hang up. */
int tcp_serve_welcome(struct tcp_serve *s);
/* The peer hung up, or the connection broke; before tcp_serve_fini. */
void tcp_serve_gone(struct tcp_serve *s, struct mono now);
/* Its time for the hello is over; before tcp_serve_fini. */
void tcp_serve_late(struct tcp_serve *s, struct mono now);

/* --- sockets: tcp.c, for call.c too -------------------------------- */

enum tcp_conn_kind { TCP_LISTENS, TCP_CALLS, TCP_SERVES };

struct tcp_conn {
	enum tcp_conn_kind kind;
	int fd; /* -1: over */
	int epoll;
	uint32_t want; /* events asked of epoll; 0: it is not watched yet */
};

/* One recv into b. 0: also when there was nothing; -ECONNRESET: the peer hung up; -errno. */
int tcp_conn_fill(const struct tcp_conn *c, struct tcp_buf *b);
/* Send what can be sent. */
int tcp_conn_flush(const struct tcp_conn *c, struct tcp_buf *b);
/* Ask to be woken for what can go on: bytes, if there is room in `in`; room, if `out` has any. */
int tcp_conn_watch(struct tcp_conn *c, const struct tcp_buf *in, const struct tcp_buf *out);
void tcp_conn_close(struct tcp_conn *c);

/* A connected socket as we use it: does not wait, does not gather, notices who is gone. */
void tcp_conn_options(int fd);

/* --- call.c ------------------------------------------------------------------ */

enum tcp_call_state { TCP_CALL_OFF, TCP_CALL_CONNECTS, TCP_CALL_HELLO, TCP_CALL_UP };

/* Our link to a peer. */
struct tcp_call {
	struct tcp_conn conn;
	enum tcp_call_state state;
	struct hello hello;
	struct tcp_buf in, out;
	/* What was sent and not answered, oldest first. */
	struct transport_slot *sent[TRANSPORT_SLOTS];
	uint32_t sent_head, sent_n;
	uint8_t *data[TRANSPORT_SLOTS]; /* what a READ brought, by slot; kept until close */
};

/* As transport_ops.call; epoll: where to watch it. */
int tcp_call_begin(struct tcp_call *c, struct transport *t, struct transport_out *o, int epoll);
void tcp_call_end(struct tcp_call *c);
int tcp_call_submit(struct tcp_call *c, struct transport_slot *s);
/* All answers in `in` that are whole. 0 or -errno: the link must end. */
int tcp_call_take(struct tcp_call *c, struct transport *t, struct transport_out *o,
		  struct mono now);
/* Send what was submitted. */
void tcp_call_send(struct tcp_call *c, struct transport *t, struct transport_out *o,
		   struct mono now);
/* Something came, or can go. Both report to the front, also that the link ended. */
void tcp_call_ready(struct tcp_call *c, struct transport *t, struct transport_out *o,
		    struct mono now);
void tcp_call_fini(struct tcp_call *c);

#endif
