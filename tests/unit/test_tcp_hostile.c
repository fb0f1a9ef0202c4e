// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tcp's responder, and its callers: strangers without the key, and proven hosts that send
 * malformed requests. Whatever they do, the other hosts are served, memory is bounded, and the
 * user gets an alarm.
 */
#include <sys/resource.h>

#include "src/util/bytes.h"
#include "tests/unit/tcp_rig.h"
#include "tests/unit/unit.h"

static bool both_up(const struct tcp_rig *r)
{
	return transport_link(r->host[1].t, 2) && transport_link(r->host[2].t, 1);
}

static struct transport_op an_faa(uint16_t host, uint64_t value)
{
	return (struct transport_op){
		.kind = TRANSPORT_FAA64, .host = host, .part = TRANSPORT_WORDS, .value = value
	};
}

/* Hosts 1 and 2 still execute each other's operations. */
static void assert_all_is_well(struct tcp_rig *r)
{
	size_t i;

	TCP_UNTIL(r, both_up(r));
	i = tcp_do(r, 1, an_faa(2, 0));
	assert_int_equal(r->host[1].ev[i].outcome, TRANSPORT_DONE);
}

/* --- before the hello ---------------------------------------------------------------- */

TEST(garbage__before_the_hello__is_hung_up_on_with_an_alarm)
{
	static const struct {
		const char *bytes;
		size_t len;
	} garbage[] = { { "GET / HTTP/1.1\r\n\r\n", 18 },
			{ "\n\n\n\n\n\n\n\n", 8 },
			{ "Rx\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00", 12 },
			{ "Rx\x09\x00\x00\x00\x00\x00", 8 },
			{ "Rx\x00\x00\x00\x00\x00\x00", 8 },
			{ "xR\x01\x00\x78\x00\x00\x00", 8 } };
	struct tcp_rig *r = tcp_rig_new(2);

	for (size_t i = 0; i < sizeof(garbage) / sizeof(*garbage); i++) {
		int fd = tcp_socket(&r->host[2].conf);

		tcp_write(fd, garbage[i].bytes, garbage[i].len);
		TCP_UNTIL(r, tcp_closed(fd));
		close(fd);
		assert_int_equal(tcp_stats(&r->host[2]).refused_callers, i + 1);
	}
	assert_true(tcp_alarm_says(&r->host[2], "did not send a hello"));
	assert_all_is_well(r);
	tcp_rig_free(r);
}

TEST(request__before_or_within_the_hello__is_hung_up_on)
{
	struct transport_op op = an_faa(2, 1);
	struct tcp_rig *r = tcp_rig_new(2);
	struct tcp_friend f;

	for (int within = 0; within < 2; within++) {
		struct tcp_frame frame;

		tcp_friend_call(&f, r, 3, 2, 5, 1);
		if (within) {
			TCP_HEAR(r, &f, &frame);
		} else {
			tcp_buf_drop(&f.out, tcp_buf_used(&f.out));
		}
		assert_int_equal(tcp_request_put(&f.out, 0, &op), 0);
		tcp_friend_send(&f);
		TCP_UNTIL(r, tcp_closed(f.fd));
		tcp_friend_fini(&f);
	}
	assert_int_equal(tcp_stats(&r->host[2]).served, 0);
	assert_int_equal(tcp_stats(&r->host[2]).refused_callers, 2);
	assert_all_is_well(r);
	tcp_rig_free(r);
}

/* A too large length is refused before one byte of it has come. */
TEST(frame__too_long__is_hung_up_on_at_its_header)
{
	static const uint32_t too_long[] = { HELLO_MAX + 1, 1 << 20, UINT32_MAX, INT32_MAX };
	struct tcp_rig *r = tcp_rig_new(2);

	for (size_t i = 0; i < sizeof(too_long) / sizeof(*too_long); i++) {
		uint8_t header[TCP_HEADER] = { 'R', 'x', TCP_HELLO };
		int fd = tcp_socket(&r->host[2].conf);

		bytes_put_le(header + 4, too_long[i], 4);
		tcp_write(fd, header, sizeof(header));
		TCP_UNTIL(r, tcp_closed(fd));
		close(fd);
	}
	assert_all_is_well(r);
	tcp_rig_free(r);
}

TEST(frame__too_long_for_a_request__ends_the_link_with_an_alarm)
{
	uint8_t header[TCP_HEADER] = { 'R', 'x', TCP_SEND };
	struct tcp_rig *r = tcp_rig_new(2);
	struct transport_peer p = tcp_rig_peer(&r->host[3].conf);
	struct tcp_friend f;

	assert_int_equal(transport_add(r->host[2].t, &p, r->now), 0);
	tcp_friend_init(&f, r, 3, 2);
	bytes_put_le(header + 4, TRANSPORT_MESSAGE_MAX + 1, 4);
	tcp_write(f.fd, header, sizeof(header));
	TCP_UNTIL(r, tcp_closed(f.fd));
	assert_true(tcp_alarm_says(&r->host[2], "host 3 sent something that is not a request"));
	tcp_friend_fini(&f);
	assert_all_is_well(r);
	tcp_rig_free(r);
}

TEST(caller__that_says_nothing_or_trickles__is_hung_up_on_in_time)
{
	struct tcp_rig *r = tcp_rig_new(2);
	struct tcp_friend f;
	struct mono due;
	int mute;

	TCP_UNTIL(r, both_up(r));
	r->now.ns += 10 * NS_PER_S; /* the timers of the calls are over */
	tcp_rig_turn(r, 2);
	mute = tcp_socket(&r->host[2].conf);
	tcp_friend_call(&f, r, 3, 2, 5, 1);
	tcp_write(f.fd, f.out.at, 5);
	tcp_rig_turn(r, 5);
	assert_int_equal(transport_arm(r->host[2].t, r->now, &due), 0);
	assert_true(due.ns <= r->now.ns + HELLO_NS);

	r->now.ns += HELLO_NS - 1;
	tcp_write(f.fd, f.out.at + 5, 1); /* a byte more gives it no more time */
	tcp_rig_turn(r, 5);
	assert_false(tcp_closed(mute) || tcp_closed(f.fd));
	r->now.ns++;
	TCP_UNTIL(r, tcp_closed(mute) && tcp_closed(f.fd));
	assert_true(tcp_alarm_says(&r->host[2], "proved nothing in time"));
	assert_int_equal(tcp_stats(&r->host[2]).refused_callers, 2);
	close(mute);
	tcp_friend_fini(&f);
	assert_all_is_well(r);
	tcp_rig_free(r);
}

/* The caller gave up before we handled its call, as after a pause of ours: no alarm. */
TEST(caller__gone_before_it_was_answered__is_no_alarm)
{
	struct tcp_rig *r = tcp_rig_new(1);

	for (int how = 0; how < 2; how++) {
		static const struct linger at_once = { .l_onoff = 1 };
		struct tcp_friend f;

		tcp_friend_call(&f, r, 3, 1, 5, 1);
		tcp_friend_send(&f);
		if (how)
			setsockopt(f.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		tcp_friend_fini(&f);
		tcp_rig_turn(r, 10);
	}
	assert_int_equal(tcp_stats(&r->host[1]).alarms, 0);
	assert_int_equal(tcp_stats(&r->host[1]).refused_callers, 0);
	tcp_rig_free(r);
}

/* When the first have gone, another caller connects in time. */
TEST(callers__more_than_may_wait__are_hung_up_on)
{
	struct tcp_rig *r = tcp_rig_new(2);
	int fd[12];
	size_t closed = 0;

	TCP_UNTIL(r, both_up(r));
	for (size_t i = 0; i < 12; i++)
		fd[i] = tcp_socket(&r->host[2].conf);
	/* They are strangers, and get half of the room. */
	TCP_UNTIL(r, tcp_stats(&r->host[2]).refused_callers == 8);
	for (size_t i = 0; i < 12; i++)
		closed += tcp_closed(fd[i]);
	assert_int_equal(closed, 8);
	for (size_t i = 0; i < 12; i++)
		close(fd[i]);
	tcp_rig_turn(r, 20);
	fd[0] = tcp_socket(&r->host[2].conf);
	tcp_rig_turn(r, 20);
	assert_false(tcp_closed(fd[0]));
	close(fd[0]);
	tcp_rig_free(r);
}

TEST(callers__strangers_that_send_nothing__keep_no_host_out)
{
	struct tcp_rig *r = tcp_rig_new(2);
	int fd[64];

	TCP_UNTIL(r, both_up(r));
	for (size_t i = 0; i < 64; i++)
		fd[i] = tcp_socket(&r->host[2].conf);
	TCP_UNTIL(r, tcp_stats(&r->host[2]).refused_callers == 60);
	transport_close(r->host[1].t);
	r->host[1].conf.generation++;
	tcp_rig_open(r, 1);
	for (uint16_t i = 1; i <= 2; i++) {
		struct transport_peer p = tcp_rig_peer(&r->host[i].conf);

		assert_int_equal(transport_add(r->host[1].t, &p, r->now), 0);
	}
	/* The clock stands still: no stranger times out. */
	TCP_UNTIL(r, transport_link(r->host[1].t, 2));
	for (size_t i = 0; i < 64; i++)
		close(fd[i]);
	tcp_rig_free(r);
}

/* No caller is accepted for a while, without a busy loop; then all continues. */
TEST(callers__when_no_descriptor_is_left__wait_and_come_in_later)
{
	struct tcp_rig *r = tcp_rig_new(1);
	struct sockaddr_storage a;
	struct rlimit was, none;
	struct pollfd p;
	struct mono due;
	socklen_t len;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = was;
	none.rlim_cur = (rlim_t)dup(fd); /* the lowest that is free */
	close((int)none.rlim_cur);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(front_address(r->host[1].conf.address, r->host[1].conf.port, &a, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, len), 0);
	tcp_rig_turn(r, 5);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_true(tcp_alarm_says(&r->host[1], "callers cannot be accepted now"));
	assert_int_equal(tcp_stats(&r->host[1]).alarms, 1);
	p = (struct pollfd){ .fd = transport_fd(r->host[1].t), .events = POLLIN };
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(transport_arm(r->host[1].t, r->now, &due), 0);
	assert_true(due.ns > r->now.ns && due.ns <= r->now.ns + NS_PER_S);

	r->now = due;
	tcp_write(fd, "no hello", 8);
	TCP_UNTIL(r, tcp_closed(fd));
	assert_int_equal(tcp_stats(&r->host[1]).refused_callers, 1);
	close(fd);
	tcp_rig_free(r);
}

TEST(caller__with_another_key__alarms_both_and_never_comes_up)
{
	static const uint8_t other[] = "no key that this cluster knows of";
	struct tcp_rig *r = tcp_rig_new(0);
	struct transport_peer p = tcp_rig_peer(&r->host[1].conf);

	r->host[1].conf.key = other;
	tcp_rig_open(r, 1);
	tcp_rig_open(r, 2);
	assert_int_equal(transport_add(r->host[2].t, &p, r->now), 0);
	p = tcp_rig_peer(&r->host[2].conf);
	assert_int_equal(transport_add(r->host[1].t, &p, r->now), 0);
	TCP_UNTIL(r, tcp_count(&r->host[1], TRANSPORT_ALARM) >= 2 &&
			     tcp_count(&r->host[2], TRANSPORT_ALARM) >= 2);
	for (uint16_t i = 1; i <= 2; i++) {
		assert_true(tcp_alarm_says(&r->host[i], "same key"));	    /* as a responder */
		assert_true(tcp_alarm_says(&r->host[i], "proof is wrong")); /* as a caller */
		assert_int_equal(tcp_count(&r->host[i], TRANSPORT_UP), 0);
	}
	tcp_rig_free(r);
}

TEST(proof__wrong__is_refused_with_an_alarm)
{
	struct tcp_rig *r = tcp_rig_new(2);
	struct transport_peer p = tcp_rig_peer(&r->host[3].conf);
	uint8_t message[HELLO_MAX];
	struct tcp_friend f;
	struct tcp_frame frame;
	size_t len;

	assert_int_equal(transport_add(r->host[2].t, &p, r->now), 0);
	tcp_friend_call(&f, r, 3, 2, 5, 1);
	TCP_HEAR(r, &f, &frame);
	assert_int_equal(hello_receive(&f.hello, frame.data, frame.len, message, &len), HELLO_MORE);
	message[len - 1] ^= 1;
	memcpy(tcp_frame_put(&f.out, TCP_HELLO, 0, (uint32_t)len), message, len);
	tcp_friend_send(&f);
	TCP_UNTIL(r, tcp_closed(f.fd));
	assert_true(
		tcp_alarm_says(&r->host[2], "says it is host 3 was refused: its proof is wrong"));
	tcp_friend_fini(&f);
	tcp_rig_free(r);
}

TEST(caller__not_in_the_list_or_of_an_old_start__is_refused)
{
	struct tcp_rig *r = tcp_rig_new(2);
	struct transport_peer p = tcp_rig_peer(&r->host[3].conf);
	struct tcp_friend f;

	tcp_friend_call(&f, r, 3, 2, 5, 1);
	assert_false(tcp_friend_hello(&f, r));
	assert_true(tcp_alarm_says(&r->host[2], "not in the list of hosts"));
	tcp_friend_fini(&f);
	assert_int_equal(transport_add(r->host[2].t, &p, r->now), 0);
	tcp_friend_init(&f, r, 3, 2);
	tcp_friend_fini(&f);
	tcp_friend_call(&f, r, 3, 2, 4, 2);
	assert_false(tcp_friend_hello(&f, r));
	assert_true(tcp_alarm_says(&r->host[2], "a generation below"));
	tcp_friend_fini(&f);
	tcp_rig_free(r);
}

/* --- friends without manners ------------------------------------------------------------- */

/* Host 3 is a friend of host 2. */
static struct tcp_rig *with_friend(struct tcp_friend *f)
{
	struct tcp_rig *r = tcp_rig_new(2);
	struct transport_peer p = tcp_rig_peer(&r->host[3].conf);

	assert_int_equal(transport_add(r->host[2].t, &p, r->now), 0);
	tcp_friend_init(f, r, 3, 2);
	return r;
}

static void request(struct tcp_friend *f, enum tcp_type type, uint32_t part, uint32_t offset,
		    uint64_t third, uint8_t slot)
{
	uint8_t *at = tcp_frame_put(&f->out, type, slot,
				    type == TCP_READ	? 12
				    : type == TCP_FAA64 ? 16
							: 24);

	bytes_put_le(at, part, 4);
	bytes_put_le(at + 4, offset, 4);
	bytes_put_le(at + 8, third, type == TCP_READ ? 4 : 8);
	if (type == TCP_CAS64)
		bytes_put_le(at + 16, 77, 8);
}

TEST(bytes__one_by_one__are_understood)
{
	struct tcp_rig *r = tcp_rig_new(2);
	struct transport_peer p = tcp_rig_peer(&r->host[3].conf);
	struct tcp_frame frame;
	struct tcp_friend f;

	assert_int_equal(transport_add(r->host[2].t, &p, r->now), 0);
	tcp_friend_call(&f, r, 3, 2, 5, 1);
	for (; tcp_buf_used(&f.out) > 1; tcp_buf_drop(&f.out, 1)) {
		tcp_write(f.fd, f.out.at + f.out.head, 1);
		tcp_rig_poll(r);
	}
	assert_true(tcp_friend_hello(&f, r));
	request(&f, TCP_FAA64, TRANSPORT_WORDS, 8, 9, 3);
	for (; tcp_buf_used(&f.out); tcp_buf_drop(&f.out, 1)) {
		assert_false(tcp_friend_hears(&f, &frame));
		tcp_write(f.fd, f.out.at + f.out.head, 1);
		tcp_rig_poll(r);
	}
	TCP_HEAR(r, &f, &frame);
	assert_true(frame.type == TCP_DONE && frame.slot == 3 && bytes_get_le(frame.data, 8) == 0);
	tcp_friend_fini(&f);
	tcp_rig_free(r);
}

TEST(request__outside_misaligned_or_of_what_is_read_only__is_refused)
{
	static const struct {
		enum tcp_type type;
		uint32_t part, offset;
		uint64_t third; /* READ: len */
		int why;
	} bad[] = {
		{ TCP_READ, UINT32_MAX, 0, 8, -EINVAL },
		{ TCP_READ, TRANSPORT_TABLE, 4, 8, -EINVAL },
		{ TCP_READ, TRANSPORT_TABLE, 0, 0, -EINVAL },
		{ TCP_READ, TRANSPORT_TABLE, 0, 12, -EINVAL },
		{ TCP_READ, TRANSPORT_TABLE, 0, TRANSPORT_READ_MAX + 8, -EINVAL },
		{ TCP_READ, TRANSPORT_TABLE, TCP_PART, 8, -ERANGE },
		{ TCP_READ, TRANSPORT_WORDS, TCP_PART - 8, 16, -ERANGE },
		{ TCP_READ, TRANSPORT_WORDS, UINT32_MAX - 7, 16, -ERANGE },
		{ TCP_READ, TRANSPORT_LOAD, 0, 8, -ERANGE }, /* it has none */
		{ TCP_READ, TRANSPORT_PARTS, 0, 8, -EINVAL },
		{ TCP_READ, 255, 0, 8, -EINVAL },
		{ TCP_FAA64, TRANSPORT_TABLE, 0, 1, -EACCES },
		{ TCP_FAA64, TRANSPORT_VERSIONS, 0, 1, -EACCES },
		{ TCP_FAA64, TRANSPORT_WORDS, 1, 1, -EINVAL },
		{ TCP_FAA64, TRANSPORT_WORDS, TCP_PART, 1, -ERANGE },
		{ TCP_FAA64, TRANSPORT_PARTS, 0, 1, -EINVAL },
		{ TCP_CAS64, TRANSPORT_TABLE, 8, 0, -EACCES },
		{ TCP_CAS64, TRANSPORT_WORDS, 12, 0, -EINVAL },
		{ TCP_CAS64, TRANSPORT_WORDS, UINT32_MAX - 7, 0, -ERANGE },
	};
	struct tcp_frame frame;
	struct tcp_friend f;
	struct tcp_rig *r = with_friend(&f);
	uint64_t alarms = tcp_stats(&r->host[2]).alarms;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		request(&f, bad[i].type, bad[i].part, bad[i].offset, bad[i].third, (uint8_t)i);
		TCP_HEAR(r, &f, &frame);
		assert_int_equal(frame.type, TCP_REFUSED);
		assert_int_equal(frame.slot, i);
		assert_int_equal(-(int)bytes_get_le(frame.data, 4), bad[i].why);
		assert_int_equal(tcp_stats(&r->host[2]).alarms, alarms + i + 1);
	}
	assert_true(
		tcp_alarm_says(&r->host[2], "host 3 was refused 8 bytes at 0 of part 4294967295"));
	for (uint32_t at = 0; at < TCP_PART; at += TRANSPORT_READ_MAX) {
		request(&f, TCP_READ, TRANSPORT_WORDS, at, TRANSPORT_READ_MAX, 0);
		TCP_HEAR(r, &f, &frame); /* the link stays; no word was changed */
		assert_int_equal(frame.len, TRANSPORT_READ_MAX);
		for (uint32_t i = 0; i < frame.len; i++)
			assert_int_equal(frame.data[i], 0);
	}
	tcp_friend_fini(&f);
	tcp_rig_free(r);
}

TEST(frame__that_is_no_request__ends_the_link_with_an_alarm)
{
	static const struct {
		uint8_t type;
		uint32_t len;
	} bad[] = { { TCP_HELLO, 120 }, { TCP_DONE, 0 }, { TCP_REFUSED, 4 }, { TCP_READ, 11 },
		    { TCP_READ, 13 },	{ TCP_READ, 0 }, { TCP_CAS64, 16 },  { TCP_CAS64, 25 },
		    { TCP_FAA64, 24 },	{ TCP_SEND, 0 } };
	struct tcp_friend f;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct tcp_rig *r = with_friend(&f);

		memset(tcp_frame_put(&f.out, bad[i].type, 0, bad[i].len), 0, bad[i].len);
		tcp_friend_send(&f);
		TCP_UNTIL(r, tcp_closed(f.fd));
		assert_true(
			tcp_alarm_says(&r->host[2], "host 3 sent something that is not a request"));
		tcp_friend_fini(&f);
		if (i == 0)
			assert_all_is_well(r);
		tcp_rig_free(r);
	}
}

/*
 * It sends requests and does not receive the answers: it is served only as far as its buffers hold,
 * and the others are served. When it receives again, all answers come, in order.
 */
TEST(friend__that_receives_no_answers__is_not_served_and_delays_no_other)
{
	enum { ASKED = 2000 };
	struct tcp_frame frame;
	struct tcp_friend f;
	struct tcp_rig *r = with_friend(&f);
	uint64_t served = 0;

	for (uint32_t i = 0; i < ASKED; i++)
		request(&f, TCP_READ, TRANSPORT_TABLE, 0, TRANSPORT_READ_MAX, (uint8_t)i);
	for (int still = 0; still < 50; still++) {
		tcp_friend_send(&f);
		tcp_rig_turn(r, 1);
		if (tcp_stats(&r->host[2]).served > served)
			still = 0;
		served = tcp_stats(&r->host[2]).served;
	}
	assert_in_range(served, 4, ASKED - 1);
	assert_all_is_well(r);
	for (uint32_t i = 0; i < ASKED; i++) {
		TCP_HEAR(r, &f, &frame);
		assert_int_equal(frame.type, TCP_DONE);
		assert_int_equal(frame.slot, (uint8_t)i);
	}
	tcp_friend_fini(&f);
	tcp_rig_free(r);
}

/* More messages than the user's queue holds, while the user takes none: all come, in order. */
TEST(messages__more_than_the_user_takes__wait_and_are_not_lost)
{
	enum { SENT = 300 };
	struct transport_event ev[16];
	struct tcp_friend f;
	struct tcp_rig *r = with_friend(&f);
	uint64_t got = 0;
	struct mono due;
	size_t n;

	for (uint64_t i = 0; i < SENT; i++)
		bytes_put_le(tcp_frame_put(&f.out, TCP_SEND, 0, 8), i, 8);
	for (int turn = 0; turn < 50; turn++) {
		tcp_friend_send(&f);
		transport_poll(r->host[2].t, r->now, ev, 0);
		poll(NULL, 0, 1);
	}
	assert_int_equal(transport_arm(r->host[2].t, r->now, &due), 1);
	for (int turn = 0; turn < TCP_PATIENCE && got < SENT; turn++) {
		tcp_friend_send(&f);
		n = transport_poll(r->host[2].t, r->now, ev, 16);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(ev[i].type, TRANSPORT_MESSAGE);
			assert_true(bytes_get_le(ev[i].data, 8) == got++);
		}
		if (!transport_arm(r->host[2].t, r->now, &due))
			poll(NULL, 0, 1);
	}
	assert_int_equal(got, SENT);
	tcp_friend_fini(&f);
	tcp_rig_free(r);
}

/* Requests behind answers that are not received are never executed once a new link is up. */
TEST(link__new_of_a_host__ends_the_old_with_what_was_not_read)
{
	struct tcp_frame frame;
	struct tcp_friend old, new;
	struct tcp_rig *r = with_friend(&old);
	uint64_t served = 0;

	for (uint32_t i = 0; i < 1500; i++)
		request(&old, TCP_READ, TRANSPORT_TABLE, 0, TRANSPORT_READ_MAX, 0);
	for (uint32_t i = 0; i < 1500; i++)
		request(&old, TCP_FAA64, TRANSPORT_WORDS, 0, 1, 0);
	for (int still = 0; still < 20; still++) {
		tcp_friend_send(&old);
		tcp_rig_turn(r, 1);
		if (tcp_stats(&r->host[2]).served > served)
			still = 0;
		served = tcp_stats(&r->host[2]).served;
	}
	assert_in_range(served, 4, 1499); /* no addition yet */
	tcp_friend_call(&new, r, 3, 2, 5, 99);
	assert_true(tcp_friend_hello(&new, r));
	assert_true(tcp_closed(old.fd));
	request(&new, TCP_READ, TRANSPORT_WORDS, 0, 8, 0);
	TCP_HEAR(r, &new, &frame);
	assert_true(bytes_get_le(frame.data, 8) == 0);
	tcp_rig_turn(r, 20);
	request(&new, TCP_READ, TRANSPORT_WORDS, 0, 8, 0);
	TCP_HEAR(r, &new, &frame);
	assert_true(bytes_get_le(frame.data, 8) == 0);
	tcp_friend_fini(&old);
	tcp_friend_fini(&new);
	tcp_rig_free(r);
}

TEST(host__removed__is_hung_up_on_and_may_not_come_back)
{
	struct tcp_friend f, again;
	struct tcp_rig *r = with_friend(&f);

	assert_int_equal(transport_remove(r->host[2].t, 3, r->now), 0);
	TCP_UNTIL(r, tcp_closed(f.fd));
	tcp_friend_call(&again, r, 3, 2, 5, 50);
	assert_false(tcp_friend_hello(&again, r));
	tcp_friend_fini(&again);
	tcp_friend_fini(&f);
	assert_all_is_well(r);
	tcp_rig_free(r);
}

/* --- a client that lies about its rights ------------------------------------------------- */

/* Host 3 is a client with these rights, and sends whatever it likes. */
static struct tcp_rig *with_client(struct tcp_friend *f, uint32_t rights)
{
	struct tcp_rig *r = tcp_rig_new(2);
	struct transport_peer p = { .host = 3, .role = TRANSPORT_CLIENT, .rights = rights };
	struct transport_conf c = tcp_rig_conf(3);

	assert_int_equal(transport_add(r->host[2].t, &p, r->now), 0);
	c.role = TRANSPORT_CLIENT;
	c.rights = rights;
	tcp_friend_call_as(f, r, &c, 2, 9);
	assert_true(tcp_friend_hello(f, r));
	return r;
}

static void is_refused(struct tcp_rig *r, struct tcp_friend *f, uint8_t slot)
{
	struct tcp_frame frame;

	TCP_HEAR(r, f, &frame);
	assert_int_equal(frame.type, TCP_REFUSED);
	assert_int_equal(frame.slot, slot);
	assert_int_equal(-(int)bytes_get_le(frame.data, 4), -EPERM);
}

static uint64_t reads(struct tcp_rig *r, struct tcp_friend *f, uint32_t offset)
{
	struct tcp_frame frame;

	request(f, TCP_READ, TRANSPORT_WORDS, offset, 8, 7);
	TCP_HEAR(r, f, &frame);
	assert_int_equal(frame.type, TCP_DONE);
	return bytes_get_le(frame.data, 8);
}

TEST(client__without_the_right__is_refused_each_word_and_served_on)
{
	struct tcp_friend f;
	struct tcp_rig *r = with_client(&f, 0);

	for (uint8_t i = 0; i < 5; i++) {
		request(&f, TCP_FAA64, TRANSPORT_WORDS, 8, 1, i);
		is_refused(r, &f, i);
		request(&f, TCP_CAS64, TRANSPORT_WORDS, 8, 0, i);
		is_refused(r, &f, i);
		*tcp_frame_put(&f.out, TCP_SEND, i, 1) = 'x';
		is_refused(r, &f, i);
		assert_int_equal(reads(r, &f, 8), 0);
	}
	assert_int_equal(tcp_count(&r->host[2], TRANSPORT_MESSAGE), 0);
	assert_true(tcp_alarm_says(&r->host[2], "a client has no right to it"));
	assert_all_is_well(r);
	tcp_friend_fini(&f);
	tcp_rig_free(r);
}

TEST(client__with_atomics__changes_words_but_sends_nothing)
{
	struct tcp_friend f;
	struct tcp_rig *r = with_client(&f, TRANSPORT_ATOMICS);
	struct tcp_frame frame;

	request(&f, TCP_FAA64, TRANSPORT_WORDS, 8, 5, 0);
	TCP_HEAR(r, &f, &frame);
	assert_int_equal(frame.type, TCP_DONE);
	assert_int_equal(reads(r, &f, 8), 5);
	*tcp_frame_put(&f.out, TCP_SEND, 1, 1) = 'x';
	is_refused(r, &f, 1);
	assert_int_equal(tcp_count(&r->host[2], TRANSPORT_MESSAGE), 0);
	tcp_friend_fini(&f);
	tcp_rig_free(r);
}

/* The responder decides by its list, not by what the caller says it is. */
TEST(client__that_says_more_than_it_is__gets_no_keys)
{
	static const struct {
		enum transport_role role;
		uint32_t rights;
		const char *says;
	} lie[] = { { TRANSPORT_MEMBER, 0, "role" },
		    { TRANSPORT_CLIENT, TRANSPORT_ATOMICS, "rights" } };

	for (size_t i = 0; i < sizeof(lie) / sizeof(*lie); i++) {
		struct tcp_rig *r = tcp_rig_new(2);
		struct transport_peer p = { .host = 3, .role = TRANSPORT_CLIENT };
		struct transport_conf c = tcp_rig_conf(3);
		struct tcp_friend f;

		assert_int_equal(transport_add(r->host[2].t, &p, r->now), 0);
		c.role = lie[i].role;
		c.rights = lie[i].rights;
		tcp_friend_call_as(&f, r, &c, 2, 9);
		assert_false(tcp_friend_hello(&f, r));
		assert_int_equal(f.hello.keys_len, 0);
		assert_true(tcp_alarm_says(&r->host[2], lie[i].says));
		tcp_friend_fini(&f);
		tcp_rig_free(r);
	}
}
