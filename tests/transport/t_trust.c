// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * t_trust: callers that are refused, the alarms about them, and floods of callers.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "tests/transport/suite.h"

static const uint8_t other_key[32] = "a key that friends do not know";

enum { HOSTILE = 24 };

/* Host 1 with a conf changed by the test, and a correct host 2, call each other. */
static void strangers(struct rig *r, const struct transport_conf *one, struct host **a,
		      struct host **b)
{
	struct transport_conf two = rig_conf(r, 2);

	*a = rig_open(r, one);
	*b = rig_open(r, &two);
	host_meet(*a, *b);
}

/* Neither has a link to the other, now and for a while. */
static void stays_apart(struct rig *r, struct host *a, struct host *b)
{
	rig_turn_for(r, 100 * NS_PER_MS);
	assert_int_equal(a->ref.ups, 0);
	assert_int_equal(b->ref.ups, 0);
	assert_int_equal(transport_link(a->t, 2), 0);
	assert_int_equal(host_refuses(a, op_read(2, TRANSPORT_TABLE, 0, 8)), -ENOTCONN);
	assert_int_equal(host_refuses(b, op_read(1, TRANSPORT_TABLE, 0, 8)), -ENOTCONN);
}

static void key__another__no_link_and_an_alarm(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1);
	struct host *a, *b;

	one.key = other_key;
	strangers(&s->rig, &one, &a, &b);
	UNTIL(&s->rig, host_seen(b, TRANSPORT_ALARM, 0, 0));
	stays_apart(&s->rig, a, b);
}

static void key__only_its_last_byte_or_length_differs__no_link(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1);
	uint8_t key[TRANSPORT_KEY_MAX] = { 0 };
	struct host *a, *b;

	memcpy(key, one.key, one.key_len);
	key[one.key_len - 1] ^= 1;
	one.key = key;
	strangers(&s->rig, &one, &a, &b);
	UNTIL(&s->rig, host_seen(b, TRANSPORT_ALARM, 0, 0));
	stays_apart(&s->rig, a, b);
	host_close(a);
	key[one.key_len - 1] ^= 1;
	key[one.key_len++] = 7;
	host_open(a, &one);
	host_add(a, 2);
	stays_apart(&s->rig, a, b);
}

static void cluster__another__no_link_and_an_alarm_at_the_responder(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1);
	struct transport_stats st;
	struct host *a, *b;

	strcpy(one.cluster, "testz");
	strangers(&s->rig, &one, &a, &b);
	UNTIL(&s->rig, host_seen(b, TRANSPORT_ALARM, 0, 0));
	UNTIL(&s->rig, (transport_stats(b->t, &st), st.refused_callers > 0));
	stays_apart(&s->rig, a, b);
}

static bool says_to_compare(const struct host *h, uint16_t other)
{
	const struct seen *alarm = host_seen(h, TRANSPORT_ALARM, other, 0);

	return alarm && strstr(alarm->ev.text, "compare cluster.json on both");
}

/* Both raise it as callers; and each of them, as responder, names the host that it refused. */
static void agreement__another__no_link_and_an_alarm_at_both(void **state)
{
	static const uint64_t wrong[] = { 0, 1, 1ull << 63 | 6, 7 };
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1);
	struct transport_conf two = rig_conf(&s->rig, 2);
	struct transport_stats st;
	struct host *a = rig_open(&s->rig, &one), *b;

	two.agreement = 6;
	b = rig_open(&s->rig, &two);
	host_add(b, 1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		host_close(a);
		host_forget(b);
		one.agreement = wrong[i];
		host_open(a, &one);
		host_forget(a);
		host_add(a, 2);
		UNTIL(&s->rig, says_to_compare(a, 2) && says_to_compare(b, 1));
		UNTIL(&s->rig, (transport_stats(a->t, &st), st.refused_callers > 0));
		stays_apart(&s->rig, a, b);
	}
	transport_stats(b->t, &st);
	assert_true(st.refused_callers >= sizeof(wrong) / sizeof(wrong[0]));
	host_close(a);
	one.agreement = 6;
	host_open(a, &one);
	host_add(a, 2);
	UNTIL(&s->rig, both_up(a, b));
}

/* A host that only calls learns it from the responder's answer, not from its own refusals. */
static void agreement__another_than_the_responder__the_caller_knows_why(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1), two = rig_conf(&s->rig, 2);
	struct transport_stats st;
	struct host *a, *b;

	one.agreement = 5;
	a = rig_open(&s->rig, &one);
	b = rig_open(&s->rig, &two);
	host_add(a, 2);
	UNTIL(&s->rig, says_to_compare(a, 2) && says_to_compare(b, 1));
	stays_apart(&s->rig, a, b);
	transport_stats(a->t, &st);
	assert_int_equal(st.refused_callers, 0);
	transport_stats(b->t, &st);
	assert_true(st.refused_callers > 0);
}

static void host__not_added__no_link_and_an_alarm_at_the_responder(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1), two = rig_conf(&s->rig, 2);
	struct transport_stats st;
	struct host *a = rig_open(&s->rig, &one), *b = rig_open(&s->rig, &two);

	host_add(a, 2);
	UNTIL(&s->rig, host_seen(b, TRANSPORT_ALARM, 0, 0));
	UNTIL(&s->rig, (transport_stats(b->t, &st), st.refused_callers > 0));
	stays_apart(&s->rig, a, b);
	host_add(b, 1);
	UNTIL(&s->rig, both_up(a, b));
}

static void host__another_serves_there__no_link_and_an_alarm_at_the_responder(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1), two = rig_conf(&s->rig, 2);
	struct transport_peer wrong = rig_peer(&s->rig, 2);
	struct host *a = rig_open(&s->rig, &one), *b = rig_open(&s->rig, &two);

	wrong.host = 3;
	assert_int_equal(transport_add(a->t, &wrong, rig_now(&s->rig)), 0);
	host_add(b, 1);
	UNTIL(&s->rig, host_seen(b, TRANSPORT_ALARM, 0, 0));
	rig_turn_for(&s->rig, 100 * NS_PER_MS);
	assert_int_equal(a->ref.ups, 0);
	assert_int_equal(host_refuses(a, op_faa(3, 0, 1)), -ENOTCONN);
}

/* A stranger uses the number of a host that is there: the links of that host stay up. */
static void key__another_with_a_friends_number__does_not_disturb_the_friend(void **state)
{
	struct suite *s = *state;
	struct transport_conf fake = rig_conf(&s->rig, 1);
	struct host *a, *b, *f;

	rig_pair(&s->rig, &a, &b);
	fake.key = other_key;
	fake.generation += 1000;
	fake.port = fake.port ? (uint16_t)(fake.port + 40) : 0;
	if (!s->is->ip) {
		strcat(fake.address, "/elsewhere");
		assert_int_equal(mkdir(fake.address, 0700), 0);
	}
	f = rig_open(&s->rig, &fake);
	host_add(f, 2);
	UNTIL(&s->rig, host_seen(f, TRANSPORT_ALARM, 0, 0) || host_seen(b, TRANSPORT_ALARM, 0, 0));
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(host_faa(a, 2, 0, 1), i);
	assert_int_equal(f->ref.ups, 0);
	assert_int_equal(host_count(a, TRANSPORT_DOWN, 0, 0), 0);
	assert_int_equal(host_count(b, TRANSPORT_DOWN, 0, 0), 0);
}

/* --- floods -------------------------------------------------------------------- */

static void calls_without_pause(struct rig *r, struct host *h[HOSTILE])
{
	for (uint16_t i = 0; i < HOSTILE; i++) {
		struct transport_conf c = rig_conf(r, (uint16_t)(10 + i));

		c.key = other_key;
		c.backoff_min_ns = c.backoff_max_ns = NS_PER_MS;
		h[i] = rig_open(r, &c);
		host_add(h[i], 2);
	}
}

static void flood__of_callers_without_the_key__proven_peers_keep_working(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1), two = rig_conf(&s->rig, 2);
	struct transport_conf late = rig_conf(&s->rig, 40);
	struct host *a, *b, *c, *hostile[HOSTILE];
	struct transport_stats st = { 0 };
	uint64_t done = 0;

	two.hellos_max = 0; /* the defaults */
	two.hellos_second = 0;
	a = rig_open(&s->rig, &one);
	b = rig_open(&s->rig, &two);
	host_meet(a, b);
	UNTIL(&s->rig, both_up(a, b));
	calls_without_pause(&s->rig, hostile);
	while (st.refused_callers < 300 || done < 200) {
		assert_int_equal(host_faa(a, 2, 0, 1), done++);
		transport_stats(b->t, &st);
	}
	assert_int_equal(host_count(a, TRANSPORT_DOWN, 0, 0), 0);
	for (size_t i = 0; i < HOSTILE; i++) {
		assert_int_equal(hostile[i]->ref.ups, 0);
		host_close(hostile[i]);
	}
	c = rig_open(&s->rig, &late);
	host_meet(b, c);
	UNTIL(&s->rig, both_up(b, c));
}

static void flood__more_than_a_seconds_callers__waits_for_the_next_second(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1), two = rig_conf(&s->rig, 2);
	struct transport_conf late = rig_conf(&s->rig, 40);
	struct host *a, *b, *c, *hostile[HOSTILE];
	struct transport_stats st = { 0 };

	two.hellos_second = 6;
	rig_simulate(&s->rig);
	a = rig_open(&s->rig, &one);
	b = rig_open(&s->rig, &two);
	host_meet(a, b);
	UNTIL(&s->rig, both_up(a, b));
	/*
	 * Simulated time does not pass: each calls once, and the limit of this second is reached.
	 */
	calls_without_pause(&s->rig, hostile);
	UNTIL(&s->rig, (transport_stats(b->t, &st), st.refused_callers >= HOSTILE - 6));
	for (size_t i = 0; i < HOSTILE; i++)
		host_close(hostile[i]);
	c = rig_open(&s->rig, &late);
	host_meet(b, c);
	rig_turn_for(&s->rig, 100 * NS_PER_MS);
	assert_false(host_up(c, 2));
	assert_int_equal(host_faa(a, 2, 0, 1), 0);
	UNTIL(&s->rig, (rig_pass(&s->rig, 10 * NS_PER_MS), both_up(b, c)));
}

/* --- callers that send no hello: a TCP socket ------------------------------------ */

static int plain_socket(const struct host *b)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(b->conf.port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET, b->conf.address, &at.sin_addr), 1);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)))
		broken("connect: %s", strerror(errno));
	return fd;
}

/* Has the other side hung up? Its messages before that are ignored. */
static bool hung_up(int fd)
{
	uint8_t buf[512];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		;
	return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

static size_t hung_up_on(const int *fd, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += hung_up(fd[i]);
	return sum;
}

static void flood__of_silent_callers__few_are_waited_for_and_not_for_long(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1), two = rig_conf(&s->rig, 2);
	struct host *a, *b;
	int fd[40];

	two.hellos_max = 4;
	rig_simulate(&s->rig);
	a = rig_open(&s->rig, &one);
	b = rig_open(&s->rig, &two);
	host_meet(a, b);
	UNTIL(&s->rig, both_up(a, b));
	for (size_t i = 0; i < 40; i++)
		fd[i] = plain_socket(b);
	UNTIL(&s->rig, hung_up_on(fd, 40) >= 36);
	rig_turn_for(&s->rig, 30 * NS_PER_MS);
	/* Strangers, where addresses show that they are, get half of the room. */
	assert_in_range(hung_up_on(fd, 40), 36, 38);
	assert_int_equal(host_faa(a, 2, 0, 1), 0);
	rig_pass(&s->rig, 3 * NS_PER_S);
	UNTIL(&s->rig, hung_up_on(fd, 40) == 40);
	assert_int_equal(host_faa(a, 2, 0, 1), 1);
	assert_int_equal(host_count(a, TRANSPORT_DOWN, 0, 0), 0);
	for (size_t i = 0; i < 40; i++)
		close(fd[i]);
}

static void rubbish__instead_of_a_hello__is_hung_up_on(void **state)
{
	struct suite *s = *state;
	struct transport_stats st;
	struct host *a, *b;
	struct prop p;

	prop_start(&p);
	rig_pair(&s->rig, &a, &b);
	for (uint32_t i = 0; i < 60; i++) {
		uint8_t junk[2048];
		size_t n = prop_range(&p, 1, sizeof(junk));
		int fd = plain_socket(b);

		for (size_t k = 0; k < n; k++)
			junk[k] = (uint8_t)prop_u64(&p);
		if (i % 3 == 0) /* begins with short lengths, in either byte order */
			memset(junk, 0, n < 3 ? n : 3);
		if (send(fd, junk, n, MSG_NOSIGNAL) > 0)
			shutdown(fd, SHUT_WR);
		UNTIL(&s->rig, hung_up(fd));
		close(fd);
		assert_int_equal(host_faa(a, 2, 0, 1), i);
	}
	transport_stats(b->t, &st);
	assert_true(st.refused_callers > 0);
	assert_int_equal(b->ref.ups, 1);
}

/* A process listens where a peer should be, accepts calls, and sends nothing. */
static void call__the_peer_says_nothing__is_given_up_and_made_again(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1), two = rig_conf(&s->rig, 2);
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(two.port) };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), fd,
	    one_on = 1;
	struct host *a, *b;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one_on, sizeof(one_on));
	assert_int_equal(inet_pton(AF_INET, two.address, &at.sin_addr), 1);
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 8))
		broken("listen: %s", strerror(errno));
	one.connect_ns = NS_PER_S;
	rig_simulate(&s->rig);
	a = rig_open(&s->rig, &one);
	host_add(a, 2);
	for (int i = 0; i < 3; i++) {
		UNTIL(&s->rig, (fd = accept(listener, NULL, NULL)) >= 0);
		rig_pass(&s->rig, NS_PER_S - NS_PER_MS);
		rig_turn_for(&s->rig, 20 * NS_PER_MS);
		assert_false(hung_up(fd));
		rig_pass(&s->rig, 2 * NS_PER_MS);
		UNTIL(&s->rig, hung_up(fd));
		close(fd);
		assert_int_equal(a->ref.ups + a->ref.downs, 0); /* it never was a link */
		rig_pass(&s->rig, one.backoff_max_ns);
	}
	close(listener);
	b = rig_open(&s->rig, &two);
	host_add(b, 1);
	UNTIL(&s->rig, (rig_pass(&s->rig, NS_PER_MS), both_up(a, b)));
}

const struct entry trust_tests[] = {
	ENTRY(key__another__no_link_and_an_alarm, ALL),
	ENTRY(key__only_its_last_byte_or_length_differs__no_link, ALL),
	ENTRY(cluster__another__no_link_and_an_alarm_at_the_responder, ALL),
	ENTRY(agreement__another__no_link_and_an_alarm_at_both, ALL),
	ENTRY(agreement__another_than_the_responder__the_caller_knows_why, ALL),
	ENTRY(host__not_added__no_link_and_an_alarm_at_the_responder, ALL),
	ENTRY(host__another_serves_there__no_link_and_an_alarm_at_the_responder, NUMBERED),
	ENTRY(key__another_with_a_friends_number__does_not_disturb_the_friend, ALL),
	ENTRY(flood__of_callers_without_the_key__proven_peers_keep_working, ALL),
	ENTRY(flood__more_than_a_seconds_callers__waits_for_the_next_second, ALL),
	ENTRY(flood__of_silent_callers__few_are_waited_for_and_not_for_long, STREAM),
	ENTRY(rubbish__instead_of_a_hello__is_hung_up_on, STREAM),
	ENTRY(call__the_peer_says_nothing__is_given_up_and_made_again, STREAM),
	{ NULL, NULL, ALL },
};
