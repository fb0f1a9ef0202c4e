/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tcp_rig: hosts of the two-sided backend in one process, with a clock that only the test advances.
 * And friends: bare sockets that hold the key, but can break the protocol.
 */
#ifndef RESEX_TESTS_TCP_RIG_H
#define RESEX_TESTS_TCP_RIG_H

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "src/transport/tcp/tcp.h"
#include "tests/unit/prop.h"

enum { TCP_HOSTS = 3, TCP_EVENTS = 512, TCP_PART = 2 * TRANSPORT_READ_MAX };

/* An event that must happen is waited for at least this many turns of a millisecond. */
enum { TCP_PATIENCE = 10000 };

struct tcp_host {
	struct transport *t;
	struct transport_conf conf;
	struct transport_event ev[TCP_EVENTS]; /* events, oldest first */
	uint8_t data[TCP_EVENTS][64];	       /* the first bytes of its data */
	size_t n;
};

struct tcp_rig {
	struct tcp_host host[TCP_HOSTS + 1]; /* by number */
	struct mono now;
};

static const uint8_t tcp_key[] = "hM3$kQ8!xW1@pZ6^tY9&vB4*nC7(jD2)";

/* An address of this process alone: all of 127/8 is this machine. */
static inline void tcp_rig_address(char address[static TRANSPORT_ADDRESS_MAX])
{
	unsigned int pid = (unsigned int)getpid();

	snprintf(address, TRANSPORT_ADDRESS_MAX, "127.%u.%u.%u", 1 + (pid >> 16) % 250,
		 pid >> 8 & 255, 1 + pid % 254);
}

static inline struct transport_conf tcp_rig_conf(uint16_t host)
{
	struct transport_conf c = {
		.host = host, .generation = 5, .start = 11, .cluster = "alpha"
	};

	tcp_rig_address(c.address);
	c.port = (uint16_t)(7400 + host);
	c.key = tcp_key;
	c.key_len = sizeof(tcp_key) - 1;
	c.bytes[TRANSPORT_TABLE] = c.bytes[TRANSPORT_WORDS] = TCP_PART;
	c.seed = host;
	return c;
}

static inline struct transport_peer tcp_rig_peer(const struct transport_conf *c)
{
	struct transport_peer p = { .host = c->host, .port = c->port };

	snprintf(p.name, sizeof(p.name), "h%u", c->host);
	memcpy(p.address, c->address, sizeof(p.address));
	return p;
}

static inline void tcp_rig_open(struct tcp_rig *r, uint16_t host)
{
	struct tcp_host *h = &r->host[host];
	char text[256];

	h->n = 0;
	if (transport_tcp.open(&h->t, &h->conf, r->now, text))
		fail_msg("%s", text);
}

/* All are set up; those from 1 to hosts are open and know each other. */
static inline struct tcp_rig *tcp_rig_new(uint16_t hosts)
{
	static uint16_t rigs; /* a test that fails does not close its own */
	struct tcp_rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->now.ns = NS_PER_S;
	for (uint16_t i = 1; i <= TCP_HOSTS; i++) {
		r->host[i].conf = tcp_rig_conf(i);
		r->host[i].conf.port = (uint16_t)(r->host[i].conf.port + 4 * rigs);
	}
	rigs++;
	for (uint16_t i = 1; i <= hosts; i++)
		tcp_rig_open(r, i);
	for (uint16_t i = 1; i <= hosts; i++)
		for (uint16_t k = 1; k <= hosts; k++) {
			struct transport_peer p = tcp_rig_peer(&r->host[k].conf);

			if (i != k)
				assert_int_equal(transport_add(r->host[i].t, &p, r->now), 0);
		}
	return r;
}

static inline void tcp_rig_free(struct tcp_rig *r)
{
	for (uint16_t i = 1; i <= TCP_HOSTS; i++)
		transport_close(r->host[i].t);
	free(r);
}

static inline void tcp_host_poll(struct tcp_host *h, struct mono now)
{
	size_t n = transport_poll(h->t, now, h->ev + h->n, TCP_EVENTS - h->n);

	assert_true(h->n + n < TCP_EVENTS);
	for (size_t i = h->n; i < h->n + n; i++) {
		struct transport_event *ev = &h->ev[i];

		if (ev->data)
			memcpy(h->data[i], ev->data,
			       ev->len < sizeof(h->data[i]) ? ev->len : sizeof(h->data[i]));
	}
	h->n += n;
}

static inline void tcp_rig_poll(struct tcp_rig *r)
{
	for (uint16_t i = 1; i <= TCP_HOSTS; i++)
		if (r->host[i].t)
			tcp_host_poll(&r->host[i], r->now);
}

static inline void tcp_rig_turn(struct tcp_rig *r, int turns)
{
	for (int i = 0; i < turns; i++) {
		tcp_rig_poll(r);
		poll(NULL, 0, 1);
	}
}

#define TCP_UNTIL(r, cond)                                                                         \
	do {                                                                                       \
		int turn_ = 0;                                                                     \
		for (; turn_ < TCP_PATIENCE && !(cond); turn_++)                                   \
			tcp_rig_turn((r), 1);                                                      \
		if (turn_ == TCP_PATIENCE)                                                         \
			fail_msg("never: %s", #cond);                                              \
	} while (0)

static inline size_t tcp_count(const struct tcp_host *h, enum transport_event_type type)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++)
		n += h->ev[i].type == type;
	return n;
}

/* The newest. */
static inline const struct transport_event *tcp_last(const struct tcp_host *h,
						     enum transport_event_type type)
{
	for (size_t i = h->n; i > 0; i--)
		if (h->ev[i - 1].type == type)
			return &h->ev[i - 1];
	fail_msg("there was no event of type %d", (int)type);
	return NULL;
}

static inline bool tcp_alarm_says(const struct tcp_host *h, const char *what)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->ev[i].type == TRANSPORT_ALARM && strstr(h->ev[i].text, what))
			return true;
	return false;
}

static inline struct transport_stats tcp_stats(const struct tcp_host *h)
{
	struct transport_stats s;

	transport_stats(h->t, &s);
	return s;
}

/* One operation, until it has its result; the index of the result in ev. */
static inline size_t tcp_do(struct tcp_rig *r, uint16_t from, struct transport_op op)
{
	struct tcp_host *h = &r->host[from];
	size_t before = tcp_count(h, TRANSPORT_RESULT);
	int why = 0;

	if (!op.deadline.ns)
		op.deadline = mono_add(r->now, NS_PER_S);
	if (transport_post(h->t, &op, 1, r->now, &why) != 1)
		fail_msg("not taken: %s", strerror(-why));
	TCP_UNTIL(r, tcp_count(h, TRANSPORT_RESULT) > before);
	return (size_t)(tcp_last(h, TRANSPORT_RESULT) - h->ev);
}

/* --- friends ----------------------------------------------------------------------- */

/* It says it is host `as`, and calls host `to`. */
struct tcp_friend {
	int fd;
	struct transport_conf conf;
	struct hello hello;
	struct tcp_buf in, out;
};

static inline int tcp_socket(const struct transport_conf *to)
{
	struct sockaddr_storage a;
	socklen_t len;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(front_address(to->address, to->port, &a, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, len), 0);
	return fd;
}

static inline void tcp_write(int fd, const void *data, size_t len)
{
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), len);
}

/* Has the other end closed? Bytes that it sent before are discarded. */
static inline bool tcp_closed(int fd)
{
	uint8_t waste[4096];
	ssize_t n;

	do
		n = recv(fd, waste, sizeof(waste), MSG_DONTWAIT);
	while (n > 0);
	return n == 0 || errno != EAGAIN;
}

static inline void tcp_friend_call_as(struct tcp_friend *f, const struct tcp_rig *r,
				      const struct transport_conf *as, uint16_t to, uint8_t nonce)
{
	uint8_t bytes[HELLO_NONCE], message[HELLO_MAX];
	size_t len;

	memset(f, 0, sizeof(*f));
	f->fd = tcp_socket(&r->host[to].conf);
	f->conf = *as;
	assert_int_equal(tcp_buf_init(&f->in, 4 * TCP_ANSWER_MAX), 0);
	assert_int_equal(tcp_buf_init(&f->out, 1 << 20), 0);
	memset(bytes, nonce, sizeof(bytes));
	hello_begin(&f->hello, HELLO_CALLER, &f->conf, to, bytes);
	len = hello_write_call(&f->hello, message);
	memcpy(tcp_frame_put(&f->out, TCP_HELLO, 0, (uint32_t)len), message, len);
}

static inline void tcp_friend_call(struct tcp_friend *f, const struct tcp_rig *r, uint16_t as,
				   uint16_t to, uint64_t generation, uint8_t nonce)
{
	struct transport_conf c = tcp_rig_conf(as);

	c.generation = generation;
	tcp_friend_call_as(f, r, &c, to, nonce);
}

/* Send the bytes of out, as far as the socket accepts them. */
static inline void tcp_friend_send(struct tcp_friend *f)
{
	ssize_t n;

	while (tcp_buf_used(&f->out)) {
		n = send(f->fd, f->out.at + f->out.head, tcp_buf_used(&f->out),
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return;
		tcp_buf_drop(&f->out, (size_t)n);
	}
}

/* The next frame, if one is complete. Its data is valid until the next call. */
static inline bool tcp_friend_hears(struct tcp_friend *f, struct tcp_frame *frame)
{
	size_t room;
	uint8_t *at = tcp_buf_space(&f->in, &room);
	ssize_t n = recv(f->fd, at, room, MSG_DONTWAIT);
	int len;

	if (n > 0)
		tcp_buf_add(&f->in, (size_t)n);
	len = tcp_frame_look(&f->in, TRANSPORT_READ_MAX, frame);
	assert_true(len >= 0);
	if (!len)
		return false;
	tcp_buf_drop(&f->in, (size_t)len);
	return true;
}

/* Make a whole hello. false: the host disconnected it. */
static inline bool tcp_friend_hello(struct tcp_friend *f, struct tcp_rig *r)
{
	uint8_t message[HELLO_MAX];
	struct tcp_frame frame;
	size_t len;

	for (int turn = 0; turn < TCP_PATIENCE; turn++) {
		int rc;

		tcp_friend_send(f);
		tcp_rig_turn(r, 1);
		if (!tcp_friend_hears(f, &frame)) {
			if (recv(f->fd, message, 1, MSG_PEEK | MSG_DONTWAIT) == 0 ||
			    (errno != EAGAIN && errno != 0))
				return false;
			continue;
		}
		assert_int_equal(frame.type, TCP_HELLO);
		rc = hello_receive(&f->hello, frame.data, frame.len, message, &len);
		if (rc == HELLO_READY)
			return true;
		assert_int_equal(rc, HELLO_MORE);
		memcpy(tcp_frame_put(&f->out, TCP_HELLO, 0, (uint32_t)len), message, len);
	}
	fail_msg("the hello did not end");
	return false;
}

/* A friend whose link is up. */
static inline void tcp_friend_init(struct tcp_friend *f, struct tcp_rig *r, uint16_t as,
				   uint16_t to)
{
	tcp_friend_call(f, r, as, to, 5, (uint8_t)(as + 1));
	assert_true(tcp_friend_hello(f, r));
}

static inline void tcp_friend_fini(struct tcp_friend *f)
{
	if (f->fd >= 0)
		close(f->fd);
	tcp_buf_fini(&f->in);
	tcp_buf_fini(&f->out);
}

/* Wait until a frame is complete. */
#define TCP_HEAR(r, f, frame) TCP_UNTIL(r, (tcp_friend_send(f), tcp_friend_hears((f), (frame))))

#endif
