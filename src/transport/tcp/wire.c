// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * wire: the bytes between two hosts: buffers, frames in them, requests in frames.
 *
 * call.c writes requests and serve.c reads them. This file checks the form of what it reads; the
 * values are checked by serve.c, before anything is executed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/transport/tcp/tcp.h"
#include "src/util/bytes.h"

#define TCP_MAGIC 0x7852u /* "Rx" */

/* --- buffers ------------------------------------------------------------------- */

int tcp_buf_init(struct tcp_buf *b, size_t room)
{
	*b = (struct tcp_buf){ .at = malloc(room), .room = room };
	return b->at ? 0 : -ENOMEM;
}

void tcp_buf_fini(struct tcp_buf *b)
{
	free(b->at);
	*b = (struct tcp_buf){ 0 };
}

int tcp_buf_grow(struct tcp_buf *b, size_t room)
{
	size_t used = tcp_buf_used(b);
	uint8_t *at = malloc(room);

	if (!at)
		return -ENOMEM;
	/* The bytes move to the front: whatever is before head was handled. */
	memcpy(at, b->at + b->head, used);
	free(b->at);
	*b = (struct tcp_buf){ .at = at, .room = room, .tail = used };
	return 0;
}

uint8_t *tcp_buf_space(struct tcp_buf *b, size_t *n)
{
	/*
	 * Close the gap that handled frames have left, so that a whole frame fits behind the rest.
	 */
	if (b->head) {
		memmove(b->at, b->at + b->head, tcp_buf_used(b));
		b->tail -= b->head;
		b->head = 0;
	}
	*n = b->room - b->tail;
	return b->at + b->tail;
}

/* --- frames -------------------------------------------------------------------- */

int tcp_frame_look(const struct tcp_buf *b, size_t max, struct tcp_frame *f)
{
	const uint8_t *at = b->at + b->head;
	uint32_t len;

	if (tcp_buf_used(b) < TCP_HEADER)
		return 0;
	if (bytes_get_le(at, 2) != TCP_MAGIC || at[2] < TCP_HELLO || at[2] > TCP_REFUSED)
		return -EPROTO;
	len = (uint32_t)bytes_get_le(at + 4, 4);
	/*
	 * Checked before the bytes are there: a frame longer than the buffer would never be
	 * complete.
	 */
	if (len > max)
		return -EMSGSIZE;
	if (tcp_buf_used(b) < TCP_HEADER + len)
		return 0;
	*f = (struct tcp_frame){
		.type = at[2], .slot = at[3], .len = len, .data = at + TCP_HEADER
	};
	return (int)(TCP_HEADER + len);
}

uint8_t *tcp_frame_put(struct tcp_buf *b, enum tcp_type type, uint8_t slot, uint32_t len)
{
	uint8_t *at;
	size_t n;

	if (tcp_buf_left(b) < TCP_HEADER + len)
		return NULL;
	at = b->at + b->tail;
	if (b->room - b->tail < TCP_HEADER + len)
		at = tcp_buf_space(b, &n);
	bytes_put_le(at, TCP_MAGIC, 2);
	at[2] = (uint8_t)type;
	at[3] = slot;
	bytes_put_le(at + 4, len, 4);
	tcp_buf_add(b, TCP_HEADER + len);
	return at + TCP_HEADER;
}

/* --- requests ------------------------------------------------------------------ */

static const struct {
	enum tcp_type type;
	uint32_t len; /* SEND: its own */
} form[TRANSPORT_KINDS] = {
	[TRANSPORT_READ] = { TCP_READ, 12 },
	[TRANSPORT_CAS64] = { TCP_CAS64, 24 },
	[TRANSPORT_FAA64] = { TCP_FAA64, 16 },
	[TRANSPORT_SEND] = { TCP_SEND, 0 },
};

int tcp_request_put(struct tcp_buf *b, uint8_t slot, const struct transport_op *op)
{
	bool send = op->kind == TRANSPORT_SEND;
	uint8_t *at = tcp_frame_put(b, form[op->kind].type, slot,
				    send ? op->len : form[op->kind].len);

	if (!at)
		return -EAGAIN;
	if (send) {
		memcpy(at, op->data, op->len);
		return 0;
	}
	bytes_put_le(at, op->part, 4);
	bytes_put_le(at + 4, op->offset, 4);
	if (op->kind == TRANSPORT_READ) {
		bytes_put_le(at + 8, op->len, 4);
	} else if (op->kind == TRANSPORT_FAA64) {
		bytes_put_le(at + 8, op->value, 8);
	} else {
		bytes_put_le(at + 8, op->compare, 8);
		bytes_put_le(at + 16, op->value, 8);
	}
	return 0;
}

static int get_send(const struct tcp_frame *f, struct transport_op *op)
{
	if (!f->len || f->len > TRANSPORT_MESSAGE_MAX)
		return -EPROTO;
	*op = (struct transport_op){ .kind = TRANSPORT_SEND, .len = f->len, .data = f->data };
	return 0;
}

int tcp_request_get(const struct tcp_frame *f, struct transport_op *op)
{
	struct transport_op got = { .kind = TRANSPORT_READ };

	if (f->type == TCP_SEND)
		return get_send(f, op);
	/* Exact lengths: a request with more bytes than its kind has comes from another version. */
	while (got.kind < TRANSPORT_SEND && form[got.kind].type != f->type)
		got.kind++;
	if (got.kind == TRANSPORT_SEND || f->len != form[got.kind].len)
		return -EPROTO;
	got.part = (enum transport_part)bytes_get_le(f->data, 4);
	got.offset = (uint32_t)bytes_get_le(f->data + 4, 4);
	if (got.kind == TRANSPORT_READ) {
		got.len = (uint32_t)bytes_get_le(f->data + 8, 4);
	} else if (got.kind == TRANSPORT_FAA64) {
		got.value = bytes_get_le(f->data + 8, 8);
	} else {
		got.compare = bytes_get_le(f->data + 8, 8);
		got.value = bytes_get_le(f->data + 16, 8);
	}
	/* As the front sets it: an atomic works on one word. */
	if (got.kind != TRANSPORT_READ)
		got.len = 8;
	*op = got;
	return 0;
}
