/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tcp: what the files of the two-sided backend share.
 *
 *	wire.c	 buffers and frames
 *	serve.c	 a peer's link to us, from its first byte; without a socket
 *	call.c	 our link to a peer
 *	conn.c	 sockets
 *	tcp.c	 the backend: the listener, ready descriptors
 *
 * A frame: magic 2, type 1, slot 1, len 4, then len bytes; little endian. The caller chooses
 * the slot; it comes back in the answer. A READ returns the bytes as they are in memory.
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

/* Bytes to be sent or handled: at[head .. tail). Only tcp_buf_grow changes its room. */
struct tcp_buf {
	uint8_t *at;
	size_t room, head, tail;
};

int tcp_buf_init(struct tcp_buf *b, size_t room);
void tcp_buf_fini(struct tcp_buf *b);
/* Give it more room; keeps its bytes. room is at least their number. */
int tcp_buf_grow(struct tcp_buf *b, size_t room);
/* Returns where up to *n more bytes go. Then call tcp_buf_add with their number. */
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
	const uint8_t *data; /* in the buffer */
};

/*
 * The first frame in b, which stays in b. Returns its length with the header; 0: it is not
 * complete yet; -EPROTO: not a frame; -EMSGSIZE: longer than max.
 */
int tcp_frame_look(const struct tcp_buf *b, size_t max, struct tcp_frame *f);
/* Append a frame to b. Returns where its len bytes go; NULL: no room. */
uint8_t *tcp_frame_put(struct tcp_buf *b, enum tcp_type type, uint8_t slot, uint32_t len);

/* -EAGAIN: no room. */
int tcp_request_put(struct tcp_buf *b, uint8_t slot, const struct transport_op *op);
/*
 * Parse the fields: kind, part, offset, len, compare, value, data. -EPROTO. Their values are
 * not checked.
 */
int tcp_request_get(const struct tcp_frame *f, struct transport_op *op);

/* --- serve.c --------------------------------------------------------------- */

struct tcp_region {
	const void *part[TRANSPORT_PARTS]; /* to READ from; of the words: words */
	_Atomic uint64_t *words;
	size_t bytes[TRANSPORT_PARTS];
};

/* A peer's link to us: the bytes it sent, the answers it has not taken yet. */
struct tcp_serve {
	struct transport *t;
	const struct tcp_region *region;
	struct hello hello;
	struct tcp_buf in, out;
	uint16_t host;	       /* 0: not proven yet */
	uint16_t role, rights; /* of a proven host */
	struct mono due;
};

/* For a caller that front_caller accepted. -ENOMEM, or as front_random. */
int tcp_serve_init(struct tcp_serve *s, struct transport *t, const struct tcp_region *region,
		   struct mono now);
/* The link ends. Makes the reports to the front that are due. */
void tcp_serve_fini(struct tcp_serve *s);

enum tcp_next {
	TCP_IDLE,   /* it needs more bytes */
	TCP_MORE,   /* there is more to do: at once, or when out has room */
	TCP_WAITS,  /* its message has no room until the user takes events */
	TCP_PROVEN, /* the peer is proven: end its old link, then call tcp_serve_welcome */
};

/*
 * Handle some of the bytes in `in`; answers go to `out`. Returns enum tcp_next, or -errno: it
 * was reported to the front; close the connection.
 */
int tcp_serve_step(struct tcp_serve *s, struct mono now);
/* Is there room for the longest answer? */
bool tcp_serve_room(const struct tcp_serve *s);
/* Send the region's description. -ENOMEM: close the connection. */
int tcp_serve_welcome(struct tcp_serve *s);
/* The peer hung up, or the connection broke; before tcp_serve_fini. */
void tcp_serve_gone(struct tcp_serve *s, struct mono now);
/* The time for its hello is over; before tcp_serve_fini. */
void tcp_serve_late(struct tcp_serve *s, struct mono now);

/* --- sockets: tcp.c, for call.c too -------------------------------- */

enum tcp_conn_kind { TCP_LISTENS, TCP_CALLS, TCP_SERVES };

struct tcp_conn {
	enum tcp_conn_kind kind;
	int fd; /* -1: over */
	int epoll;
	uint32_t want; /* events that epoll watches for; 0: not watched yet */
};

/* One recv into b. 0, also if there was nothing; -ECONNRESET: the peer hung up; -errno. */
int tcp_conn_fill(const struct tcp_conn *c, struct tcp_buf *b);
/* Send what can be sent. */
int tcp_conn_flush(const struct tcp_conn *c, struct tcp_buf *b);
/* Watch for bytes to receive if `in` has room, and for room to send if `out` has bytes. */
int tcp_conn_watch(struct tcp_conn *c, const struct tcp_buf *in, const struct tcp_buf *out);
void tcp_conn_close(struct tcp_conn *c);

/* Set the options of a connected socket: no delay of small frames, keepalive, time limits. */
void tcp_conn_options(int fd);

/* --- call.c ------------------------------------------------------------------ */

enum tcp_call_state { TCP_CALL_OFF, TCP_CALL_CONNECTS, TCP_CALL_HELLO, TCP_CALL_UP };

/* Our link to a peer. */
struct tcp_call {
	struct tcp_conn conn;
	enum tcp_call_state state;
	struct hello hello;
	struct tcp_buf in, out;
	/* Slots sent and not answered yet, oldest first. */
	struct transport_slot *sent[TRANSPORT_SLOTS];
	uint32_t sent_head, sent_n;
	uint8_t *data[TRANSPORT_SLOTS]; /* results of READs, by slot; kept until close */
};

/* As transport_ops.call; epoll: where to watch it. */
int tcp_call_begin(struct tcp_call *c, struct transport *t, struct transport_out *o, int epoll);
void tcp_call_end(struct tcp_call *c);
int tcp_call_submit(struct tcp_call *c, struct transport_slot *s);
/* Handle all complete answers in `in`. 0; -errno: the link must end. */
int tcp_call_handle_answers(struct tcp_call *c, struct transport *t, struct transport_out *o,
			    struct mono now);
/* Send what was submitted. */
void tcp_call_send(struct tcp_call *c, struct transport *t, struct transport_out *o,
		   struct mono now);
/* The socket is ready. This and tcp_call_send report to the front, also the link's end. */
void tcp_call_ready(struct tcp_call *c, struct transport *t, struct transport_out *o,
		    struct mono now);
void tcp_call_fini(struct tcp_call *c);

#endif
