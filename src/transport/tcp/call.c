// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * call: our link to a peer: connect, hello, then requests out and answers in. Answers come
 * in the order of the requests.
 *
 * Every failure ends in front_down, which calls hang_up. After that, nothing here is used
 * until the front calls the peer again.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "src/transport/tcp/tcp.h"
#include "src/util/bytes.h"

enum {
	IN_ROOM = 2 * TCP_ANSWER_MAX,
	OUT_ROOM = TRANSPORT_DEPTH * TCP_REQUEST_MAX,
	TEXT_MAX = 128, /* bytes of a text for people */
};

_Static_assert((int)TCP_HELLO_FRAME <= (int)OUT_ROOM, "a hello fits where requests do");

/*
 * Call from the address that the peer has of us: it reserves half of its room for callers from
 * known addresses. A client calls from the address that it was given, if any. The port is left to
 * the kernel, and chosen only at connect (IP_BIND_ADDRESS_NO_PORT): one local port may then serve
 * connections to several peers.
 */
static void bind_own(int fd, int family, const struct transport_conf *own)
{
	static const int on = 1;
	struct sockaddr_storage a;
	socklen_t len;

	/* A client has no port, and a port is not used here: any will do. */
	if (front_address(own->address, own->port ? own->port : 1, &a, &len) ||
	    a.ss_family != family)
		return;
	front_any_port(&a);
	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	(void)bind(fd, (const struct sockaddr *)&a, len); /* if it fails: an unknown caller */
}

static int start_socket(struct tcp_call *c, const struct transport_conf *own,
			const struct transport_peer *p)
{
	struct sockaddr_storage a;
	socklen_t len;
	int rc = front_address(p->address, p->port, &a, &len);

	if (rc)
		return rc;
	c->conn.fd = socket(a.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->conn.fd < 0)
		return -errno;
	tcp_conn_options(c->conn.fd);
	bind_own(c->conn.fd, a.ss_family, own);
	if (connect(c->conn.fd, (const struct sockaddr *)&a, len) && errno != EINPROGRESS)
		return -errno;
	return 0;
}

/* Wait only for the connection. */
static int watch_connect(struct tcp_call *c)
{
	struct epoll_event ev = { .events = EPOLLOUT, .data = { .ptr = &c->conn } };

	/*
	 * A socket that connects is writable when it succeeds or fails; finish_connect asks which.
	 */
	c->conn.want = EPOLLOUT;
	return epoll_ctl(c->conn.epoll, EPOLL_CTL_ADD, c->conn.fd, &ev) ? -errno : 0;
}

int tcp_call_begin(struct tcp_call *c, struct transport *t, struct transport_out *o, int epoll)
{
	uint8_t nonce[HELLO_NONCE];
	int rc = front_random(nonce, sizeof(nonce));

	if (rc)
		return rc;
	c->conn = (struct tcp_conn){ .kind = TCP_CALLS, .fd = -1, .epoll = epoll };
	hello_begin(&c->hello, HELLO_CALLER, &t->conf, o->peer.host, nonce);
	c->sent_head = c->sent_n = 0;
	c->state = TCP_CALL_CONNECTS;
	rc = tcp_buf_init(&c->in, IN_ROOM);
	if (!rc)
		rc = tcp_buf_init(&c->out, OUT_ROOM);
	if (!rc)
		rc = start_socket(c, &t->conf, &o->peer);
	if (!rc)
		rc = watch_connect(c);
	if (rc)
		tcp_call_end(c);
	return rc;
}

void tcp_call_end(struct tcp_call *c)
{
	static const struct linger at_once = { .l_onoff = 1 };

	if (c->state == TCP_CALL_OFF)
		return;
	/*
	 * Linger 0: close discards what the kernel has not sent yet, and resets the connection.
	 * After a plain close the kernel would go on sending requests whose outcome was already
	 * reported.
	 */
	if (c->conn.fd >= 0)
		setsockopt(c->conn.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	tcp_conn_close(&c->conn);
	hello_wipe(&c->hello);
	tcp_buf_fini(&c->in);
	tcp_buf_fini(&c->out);
	c->state = TCP_CALL_OFF;
}

void tcp_call_fini(struct tcp_call *c)
{
	tcp_call_end(c);
	for (size_t i = 0; i < TRANSPORT_SLOTS; i++)
		free(c->data[i]);
}

int tcp_call_submit(struct tcp_call *c, struct transport_slot *s)
{
	uint8_t **data = &c->data[s->index];
	int rc;

	if (c->sent_n == TRANSPORT_SLOTS)
		return -EAGAIN;
	if (s->op.kind == TRANSPORT_READ && !*data) {
		/*
		 * At the first READ in this slot, then kept until close: the user may still read it
		 * when the link has ended.
		 */
		*data = malloc(TRANSPORT_READ_MAX);
		if (!*data)
			return -ENOMEM;
	}
	rc = tcp_request_put(&c->out, (uint8_t)s->index, &s->op);
	if (!rc)
		c->sent[(c->sent_head + c->sent_n++) % TRANSPORT_SLOTS] = s;
	return rc;
}

/* --- answers --------------------------------------------------------------- */

static uint32_t answer_len(const struct transport_op *op)
{
	if (op->kind == TRANSPORT_READ)
		return op->len;
	return op->kind == TRANSPORT_SEND ? 0 : 8;
}

/* The answer must belong to the oldest request. */
static int handle_answer(struct tcp_call *c, struct transport *t, struct transport_out *o,
			 const struct tcp_frame *f)
{
	struct transport_slot *s = c->sent[c->sent_head];
	bool done = f->type == TCP_DONE;
	uint64_t number;

	/*
	 * The responder answers in the order of the requests, so another slot is its fault. The
	 * slot in the frame shows it: without it a missing answer would give each later operation
	 * the result of another.
	 */
	if (!c->sent_n || f->slot != s->index || (!done && f->type != TCP_REFUSED))
		return -EPROTO;
	if (f->len != (done ? answer_len(&s->op) : 4))
		return -EPROTO;
	number = bytes_get_le(f->data, f->len < 8 ? f->len : 8);
	c->sent_head = (c->sent_head + 1) % TRANSPORT_SLOTS;
	c->sent_n--;
	if (!done) {
		/* The peer chose the number: only a valid errno may reach the user as one. */
		int why = number >= 1 && number <= 4095 ? -(int)number : -EPROTO;

		front_done(t, o, s, TRANSPORT_REFUSED, 0, NULL, why);
	} else if (s->op.kind == TRANSPORT_READ) {
		memcpy(c->data[s->index], f->data, f->len);
		front_done(t, o, s, TRANSPORT_DONE, 0, c->data[s->index], 0);
	} else {
		front_done(t, o, s, TRANSPORT_DONE, number, NULL, 0);
	}
	return 0;
}

static int link_up(struct tcp_call *c, struct transport *t, struct transport_out *o,
		   struct mono now)
{
	size_t bytes[TRANSPORT_PARTS];

	if (c->hello.keys_len != TCP_KEYS)
		return -EPROTO;
	for (size_t i = 0; i < TRANSPORT_PARTS; i++) {
		uint64_t n = bytes_get_le(c->hello.keys + 8 * i, 8);

		/* A length that does not fit size_t must not be cut to one that does. */
		if (n > TRANSPORT_OPTIONAL_MAX)
			return -EINVAL;
		bytes[i] = (size_t)n;
	}
	c->state = TCP_CALL_UP;
	return front_up(t, o, &c->hello.of_peer, bytes, now);
}

static int send_hello(struct tcp_call *c, const uint8_t *message, size_t len)
{
	uint8_t *at = tcp_frame_put(&c->out, TCP_HELLO, 0, (uint32_t)len);

	if (!at)
		return -EPROTO;
	memcpy(at, message, len);
	return 0;
}

static int handle_hello(struct tcp_call *c, struct transport *t, struct transport_out *o,
			const struct tcp_frame *f, struct mono now)
{
	uint8_t out[HELLO_MAX];
	size_t n = 0;
	int rc;

	if (f->type != TCP_HELLO)
		return -EPROTO;
	rc = hello_receive(&c->hello, f->data, f->len, out, &n);
	if (rc == HELLO_READY)
		return link_up(c, t, o, now);
	return rc < 0 ? rc : send_hello(c, out, n);
}

int tcp_call_handle_answers(struct tcp_call *c, struct transport *t, struct transport_out *o,
			    struct mono now)
{
	for (;;) {
		/* Inside the loop: the frame before may have ended the hello. */
		size_t max = c->state == TCP_CALL_UP ? TRANSPORT_READ_MAX : HELLO_MAX;
		struct tcp_frame f;
		int len = tcp_frame_look(&c->in, max, &f);
		int rc;

		if (len <= 0)
			return len < 0 ? -EPROTO : 0;
		if (c->state == TCP_CALL_UP)
			rc = handle_answer(c, t, o, &f);
		else
			rc = handle_hello(c, t, o, &f, now);
		if (rc)
			return rc;
		tcp_buf_drop(&c->in, (size_t)len);
	}
}

/* --- states of the link ----------------------------------------------------------------- */

static int finish_connect(struct tcp_call *c)
{
	uint8_t message[HELLO_MAX];
	socklen_t len = sizeof(int);
	size_t n;
	int error;

	if (getsockopt(c->conn.fd, SOL_SOCKET, SO_ERROR, &error, &len))
		return -errno;
	if (error)
		return -error;
	c->state = TCP_CALL_HELLO;
	n = hello_write_call(&c->hello, message);
	return send_hello(c, message, n);
}

static int flush_out(struct tcp_call *c)
{
	int rc = tcp_conn_flush(&c->conn, &c->out);

	return rc ? rc : tcp_conn_watch(&c->conn, &c->in, &c->out);
}

static int run_call(struct tcp_call *c, struct transport *t, struct transport_out *o,
		    struct mono now)
{
	int rc = c->state == TCP_CALL_CONNECTS ? finish_connect(c)
					       : tcp_conn_fill(&c->conn, &c->in);
	/* Handle what came before the end: the last answers, or the reason of a refusal. */
	int taken = tcp_call_handle_answers(c, t, o, now);

	if (taken)
		return taken;
	return rc ? rc : flush_out(c);
}

static const char *text_of_end(enum tcp_call_state was, int rc, char said[static TEXT_MAX],
			       const struct transport_peer *p)
{
	if (was == TCP_CALL_CONNECTS) {
		snprintf(said, TEXT_MAX, "does not answer at %.60s port %u: %s", p->address,
			 p->port, strerror(-rc));
		return said;
	}
	if (rc == -EINVAL)
		return "describes an invalid region; run the same version on all hosts";
	if (rc == -EPROTO && was == TCP_CALL_UP)
		return "sent an answer without a request; run the same version on all hosts";
	if (rc == -ECONNRESET)
		return was == TCP_CALL_UP ? FRONT_CLOSED
					  : "closed the connection; resex events on it says why";
	return was == TCP_CALL_UP ? strerror(-rc) : hello_why(rc);
}

static void report_down(struct tcp_call *c, struct transport *t, struct transport_out *o, int rc,
			struct mono now)
{
	char said[TEXT_MAX];

	/*
	 * A responder with another agreement hangs up instead of sending KEYS: the ANSWER has shown
	 * why (hello.h).
	 */
	rc = hello_ended(&c->hello, rc);
	front_down(t, o, rc, text_of_end(c->state, rc, said, &o->peer), now);
}

void tcp_call_send(struct tcp_call *c, struct transport *t, struct transport_out *o,
		   struct mono now)
{
	int rc = c->state == TCP_CALL_UP ? flush_out(c) : 0;

	if (rc)
		report_down(c, t, o, rc, now);
}

void tcp_call_ready(struct tcp_call *c, struct transport *t, struct transport_out *o,
		    struct mono now)
{
	int rc = c->state != TCP_CALL_OFF ? run_call(c, t, o, now) : 0;

	if (rc)
		report_down(c, t, o, rc, now);
}
