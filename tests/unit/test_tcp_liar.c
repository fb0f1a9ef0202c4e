// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tcp's caller, and its responder: not a host at all, or one that holds the key
 * and lies. Whatever comes back, no operation gets a result that is not its own.
 */
#include <netinet/in.h>

#include "src/util/bytes.h"
#include "tests/unit/tcp_rig.h"
#include "tests/unit/unit.h"

static struct transport_op an_faa(uint16_t host, uint64_t value)
{
	return (struct transport_op){
		.kind = TRANSPORT_FAA64, .host = host, .part = TRANSPORT_WORDS, .value = value
	};
}

/* Host 1 calls host 3, where a bare socket listens. */
struct liar {
	int listener, fd;
	struct transport_conf conf;
	struct hello hello;
	struct tcp_buf in, out;
};

static struct tcp_rig *with_liar(struct liar *l)
{
	struct tcp_rig *r = tcp_rig_new(1);
	struct transport_peer p = tcp_rig_peer(&r->host[3].conf);
	struct sockaddr_storage a;
	socklen_t len;
	int on = 1;

	memset(l, 0, sizeof(*l));
	l->conf = r->host[3].conf;
	l->fd = -1;
	l->listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(l->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(front_address(l->conf.address, l->conf.port, &a, &len), 0);
	assert_int_equal(bind(l->listener, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(l->listener, 5), 0);
	assert_int_equal(tcp_buf_init(&l->in, 1 << 16), 0);
	assert_int_equal(tcp_buf_init(&l->out, 1 << 16), 0);
	assert_int_equal(transport_add(r->host[1].t, &p, r->now), 0);
	return r;
}

static void liar_fini(struct liar *l, struct tcp_rig *r)
{
	close(l->listener);
	if (l->fd >= 0)
		close(l->fd);
	tcp_buf_fini(&l->in);
	tcp_buf_fini(&l->out);
	tcp_rig_free(r);
}

static void liar_accept(struct liar *l, struct tcp_rig *r)
{
	uint8_t nonce[HELLO_NONCE] = { 4 };
	struct pollfd p = { .fd = l->listener, .events = POLLIN };

	TCP_UNTIL(r, poll(&p, 1, 0) == 1);
	l->fd = accept(l->listener, NULL, NULL);
	assert_true(l->fd >= 0);
	hello_begin(&l->hello, HELLO_RESPONDER, &l->conf, 0, nonce);
}

static bool liar_hears(struct liar *l, struct tcp_frame *frame)
{
	struct tcp_friend f = { .fd = l->fd, .in = l->in };
	bool heard = tcp_friend_hears(&f, frame);

	l->in = f.in;
	return heard;
}

static void liar_says(struct liar *l, enum tcp_type type, uint8_t slot, const void *data,
		      uint32_t len)
{
	uint8_t *at = tcp_frame_put(&l->out, type, slot, len);

	if (len)
		memcpy(at, data, len);
	tcp_write(l->fd, l->out.at + l->out.head, tcp_buf_used(&l->out));
	tcp_buf_drop(&l->out, tcp_buf_used(&l->out));
}

/* It knows the key, and describes a region of these bytes. */
static void liar_hello(struct liar *l, struct tcp_rig *r, size_t n, const uint64_t bytes[])
{
	uint8_t keys[64], out[HELLO_MAX];
	struct tcp_frame frame;
	size_t len;

	liar_accept(l, r);
	TCP_UNTIL(r, liar_hears(l, &frame));
	assert_int_equal(hello_receive(&l->hello, frame.data, frame.len, out, &len), HELLO_MORE);
	liar_says(l, TCP_HELLO, 0, out, (uint32_t)len);
	TCP_UNTIL(r, liar_hears(l, &frame));
	assert_int_equal(hello_receive(&l->hello, frame.data, frame.len, out, &len), HELLO_PROVEN);
	for (size_t i = 0; i < n; i++)
		bytes_put_le(keys + 8 * i, bytes[i], 8);
	len = hello_write_keys(&l->hello, keys, 8 * n, out);
	liar_says(l, TCP_HELLO, 0, out, (uint32_t)len);
}

TEST(answer__of_no_host__is_no_link_but_an_alarm)
{
	struct liar l;
	struct tcp_rig *r = with_liar(&l);

	liar_accept(&l, r);
	tcp_write(l.fd, "220 mail.example ESMTP\r\n", 24);
	TCP_UNTIL(r, tcp_closed(l.fd));
	assert_true(tcp_alarm_says(&r->host[1], "host 3 (h3): it did not send a hello"));
	assert_int_equal(tcp_count(&r->host[1], TRANSPORT_UP), 0);
	liar_fini(&l, r);
}

TEST(region__that_cannot_be__is_no_link)
{
	static const struct {
		size_t n;
		uint64_t bytes[TRANSPORT_PARTS + 1];
	} bad[] = { { 0, { 0 } },
		    { 2, { 4096, 4096 } },
		    { 5, { 4096, 4096, 0 } },
		    { 4, { 0, 4096 } },
		    { 4, { 4096, 4095 } },
		    { 4, { 4096, 2 << 20 } },
		    { 4, { 1ull << 32, 4096 } },
		    { 4, { UINT64_MAX, 4096 } },
		    { 4, { 4096, 4096, 4095 } },
		    { 4, { 4096, 4096, 0, TRANSPORT_OPTIONAL_MAX + 4096 } },
		    { 4, { 4096, 4096, 1ull << 32 } } };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct liar l;
		struct tcp_rig *r = with_liar(&l);

		liar_hello(&l, r, bad[i].n, bad[i].bytes);
		TCP_UNTIL(r, tcp_closed(l.fd));
		assert_int_equal(tcp_count(&r->host[1], TRANSPORT_UP), 0);
		liar_fini(&l, r);
	}
}

/* An FAA and a READ are outstanding; the first answer does not belong to the FAA. */
TEST(answer__to_another_question__ends_the_link)
{
	static const uint64_t bytes[TRANSPORT_PARTS] = { 8192, 4096 };
	static const struct {
		uint8_t type, slot;
		uint32_t len;
	} bad[] = { { TCP_DONE, 1, 8 },	  { TCP_DONE, 0, 0 },	 { TCP_DONE, 0, 16 },
		    { TCP_DONE, 200, 8 }, { TCP_REFUSED, 0, 8 }, { TCP_REFUSED, 1, 4 },
		    { TCP_HELLO, 0, 8 },  { TCP_FAA64, 0, 16 },	 { TCP_READ, 0, 12 } };
	static const uint8_t data[16];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct transport_op op[2] = { an_faa(3, 1), an_faa(3, 0) };
		struct liar l;
		struct tcp_rig *r = with_liar(&l);
		struct tcp_host *a = &r->host[1];

		liar_hello(&l, r, TRANSPORT_PARTS, bytes);
		TCP_UNTIL(r, transport_link(a->t, 3));
		op[1].kind = TRANSPORT_READ;
		op[1].len = 16;
		op[0].deadline = op[1].deadline = mono_add(r->now, NS_PER_S);
		assert_int_equal(transport_post(a->t, op, 2, r->now, NULL), 2);
		tcp_rig_turn(r, 2);
		liar_says(&l, bad[i].type, bad[i].slot, data, bad[i].len);
		TCP_UNTIL(r, tcp_count(a, TRANSPORT_DOWN) == 1);
		assert_int_equal(tcp_last(a, TRANSPORT_DOWN)->why, -EPROTO);
		assert_int_equal(tcp_stats(a).outcomes[TRANSPORT_UNKNOWN], 1); /* the FAA */
		assert_int_equal(tcp_stats(a).outcomes[TRANSPORT_LOST], 1);    /* the READ */
		liar_fini(&l, r);
	}
}

TEST(answer__without_a_request__ends_the_link)
{
	static const uint64_t bytes[TRANSPORT_PARTS] = { 8192, 4096 };
	struct liar l;
	struct tcp_rig *r = with_liar(&l);

	liar_hello(&l, r, TRANSPORT_PARTS, bytes);
	TCP_UNTIL(r, transport_link(r->host[1].t, 3));
	liar_says(&l, TCP_DONE, 0, bytes, 8);
	TCP_UNTIL(r, tcp_count(&r->host[1], TRANSPORT_DOWN) == 1);
	assert_true(strlen(tcp_last(&r->host[1], TRANSPORT_DOWN)->text) > 20);
	liar_fini(&l, r);
}

TEST(answer__refused__is_refused_and_the_link_stays)
{
	static const uint64_t bytes[TRANSPORT_PARTS] = { 8192, 4096 };
	static const uint8_t why[][4] = { { EACCES }, { 0 }, { 0xff, 0xff, 0xff, 0xff } };
	static const int expected[] = { -EACCES, -EPROTO, -EPROTO };
	struct transport_op op = an_faa(3, 1);
	struct liar l;
	struct tcp_rig *r = with_liar(&l);

	liar_hello(&l, r, TRANSPORT_PARTS, bytes);
	TCP_UNTIL(r, transport_link(r->host[1].t, 3));
	op.deadline = mono_add(r->now, NS_PER_S);
	for (size_t i = 0; i < 3; i++) {
		struct tcp_frame frame;

		assert_int_equal(transport_post(r->host[1].t, &op, 1, r->now, NULL), 1);
		TCP_UNTIL(r, liar_hears(&l, &frame));
		liar_says(&l, TCP_REFUSED, frame.slot, why[i], 4);
		TCP_UNTIL(r, tcp_count(&r->host[1], TRANSPORT_RESULT) == i + 1);
		assert_int_equal(tcp_last(&r->host[1], TRANSPORT_RESULT)->outcome,
				 TRANSPORT_REFUSED);
		assert_int_equal(tcp_last(&r->host[1], TRANSPORT_RESULT)->why, expected[i]);
	}
	assert_int_equal(transport_link(r->host[1].t, 3), 1);
	liar_fini(&l, r);
}

/* It accepts the connection and sends nothing: the call times out and is repeated. */
TEST(call__not_answered__is_given_up_in_time_and_made_again)
{
	struct liar l;
	struct tcp_rig *r = with_liar(&l);
	struct mono due;

	liar_accept(&l, r);
	tcp_rig_turn(r, 5);
	assert_int_equal(transport_arm(r->host[1].t, r->now, &due), 0);
	assert_true(due.ns <= NS_PER_S + 5 * NS_PER_S); /* began at 1 s; connect_ns is 5 s */
	r->now.ns = due.ns;
	TCP_UNTIL(r, tcp_closed(l.fd));
	close(l.fd);
	r->now.ns += 2 * NS_PER_S; /* the longest back-off */
	liar_accept(&l, r);
	liar_fini(&l, r);
}

/* The peer does not receive: posted operations wait, and end by their deadlines. */
TEST(peer__that_reads_nothing__leaves_unknown_at_the_deadline)
{
	static const uint64_t bytes[TRANSPORT_PARTS] = { 8192, 4096 };
	uint8_t message[TRANSPORT_MESSAGE_MAX] = { 0 };
	struct transport_op op[TRANSPORT_DEPTH + 1];
	struct liar l;
	struct tcp_rig *r = with_liar(&l);
	struct tcp_host *a = &r->host[1];
	int why = 0;

	liar_hello(&l, r, TRANSPORT_PARTS, bytes);
	TCP_UNTIL(r, transport_link(a->t, 3));
	for (int i = 0; i <= TRANSPORT_DEPTH; i++)
		op[i] = (struct transport_op){ .kind = TRANSPORT_SEND,
					       .host = 3,
					       .data = message,
					       .len = sizeof(message),
					       .deadline = mono_add(r->now, NS_PER_S) };
	assert_int_equal(transport_post(a->t, op, TRANSPORT_DEPTH + 1, r->now, &why),
			 TRANSPORT_DEPTH);
	assert_int_equal(why, -EAGAIN);
	tcp_rig_turn(r, 20);
	assert_int_equal(tcp_count(a, TRANSPORT_RESULT), 0);
	r->now.ns += NS_PER_S;
	tcp_rig_turn(r, 2);
	assert_int_equal(tcp_stats(a).outcomes[TRANSPORT_UNKNOWN], TRANSPORT_DEPTH);
	assert_int_equal(tcp_count(a, TRANSPORT_DOWN), 1);
	liar_fini(&l, r);
}
