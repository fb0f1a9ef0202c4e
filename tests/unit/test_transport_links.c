// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The front of all backends: when a link is called again, the order of events, which callers
 * may connect, what other hosts can cause; and that each operation ends once, whatever happens.
 */
#include <netinet/in.h>
#include <stdio.h>

#include "tests/unit/front_rig.h"
#include "tests/unit/unit.h"

/* --- links -------------------------------------------------------------------------- */

TEST(down_before_up__also_when_taken_one_at_a_time)
{
	struct rig *r = rig_up();

	assert_int_equal(post(r, op(r, TRANSPORT_READ, 1)), 0);
	r->f->up_at_once = true;
	out(r, 2)->generation = 1;
	r->f->t.newest[1] = SELF(1);
	front_down(&r->f->t, out(r, 2), -EIO, "broke", r->now);
	assert_int_equal(post(r, op(r, TRANSPORT_READ, 2)), -ENOTCONN);
	for (int i = 0; i < 3; i++) {
		r->now.ns += 10 * NS_PER_S;
		assert_int_equal(transport_poll(&r->f->t, r->now, r->ev + i, 1), 1);
		/* It is not called before the user has taken its DOWN. */
		assert_int_equal(r->f->calls[2], i < 2 ? 1 : 2);
	}
	assert_int_equal(r->ev[0].type, TRANSPORT_RESULT);
	assert_int_equal(r->ev[1].type, TRANSPORT_DOWN);
	assert_int_equal(r->ev[1].link, 1);
	assert_int_equal(r->ev[2].type, TRANSPORT_UP);
	assert_int_equal(r->ev[2].link, 2);
	rig_free(r);
}

/* Time from a failure of the call to the next one. */
static int64_t next_call(struct rig *r, uint16_t host)
{
	struct mono due, failed = r->now;
	unsigned calls = r->f->calls[host];

	front_down(&r->f->t, out(r, host), -ECONNREFUSED, "is not there", r->now);
	poll_all(r);
	assert_int_equal(transport_arm(&r->f->t, r->now, &due), 0);
	r->now.ns = due.ns - 1;
	poll_all(r);
	assert_int_equal(r->f->calls[host], calls);
	r->now = due;
	poll_all(r);
	assert_int_equal(r->f->calls[host], calls + 1);
	return mono_sub(due, failed);
}

TEST(backoff__doubles_with_jitter_up_to_its_bound)
{
	struct rig *r = rig_new(), *same = rig_new();
	int64_t base = 20 * NS_PER_MS, sum = 0;

	assert_int_equal(add(r, 2), 0);
	assert_int_equal(add(same, 2), 0);
	poll_all(r);
	poll_all(same);
	for (int i = 0; i < 40; i++) {
		int64_t wait = next_call(r, 2);

		base = base > NS_PER_S ? 2 * NS_PER_S : 2 * base;
		assert_true(wait >= 20 * NS_PER_MS && wait <= base);
		assert_int_equal(next_call(same, 2), wait); /* of one seed */
		sum += i >= 20 ? wait : 0;
	}
	assert_true(sum / 20 > 500 * NS_PER_MS); /* not always the shortest */
	rig_free(r);
	rig_free(same);
}

TEST(backoff__short_again_once_an_operation_was_done)
{
	struct rig *r = rig_new();

	assert_int_equal(add(r, 2), 0);
	poll_all(r);
	for (int i = 0; i < 20; i++)
		next_call(r, 2);
	up(r, 2, 1);
	poll_all(r);
	assert_int_equal(out(r, 2)->failures, 20);
	assert_int_equal(post(r, op(r, TRANSPORT_READ, 1)), 0);
	done(r, 0);
	poll_all(r);
	assert_true(next_call(r, 2) <= 40 * NS_PER_MS);
	rig_free(r);
}

/* When the peer is called next, and not before. */
static int64_t next_call_at(struct rig *r)
{
	struct mono due;

	transport_arm(&r->f->t, r->now, &due);
	return due.ns;
}

TEST(backoff__ends_when_a_new_start_of_the_peer_calls)
{
	struct rig *r = rig_new();
	struct hello_self first = SELF(7), again = SELF(8);

	again.start = first.start + 1;
	assert_int_equal(add(r, 2), 0);
	poll_all(r);
	front_down(&r->f->t, out(r, 2), -ECONNREFUSED, "is not there", r->now);
	poll_all(r);
	assert_true(next_call_at(r) > r->now.ns);
	/* Refused: it changes nothing. */
	r->f->t.conf.generation_max = 6;
	assert_int_equal(front_proven(&r->f->t, 2, &first), -EOVERFLOW);
	assert_true(next_call_at(r) > r->now.ns);
	r->f->t.conf.generation_max = 0;
	assert_int_equal(front_proven(&r->f->t, 2, &first), 0);
	assert_int_equal(next_call_at(r), r->now.ns);
	poll_all(r);
	assert_int_equal(r->f->calls[2], 2);
	/* The same start calls again: the back-off goes on. */
	front_down(&r->f->t, out(r, 2), -ECONNREFUSED, "is not there", r->now);
	poll_all(r);
	assert_int_equal(front_proven(&r->f->t, 2, &first), 0);
	assert_true(next_call_at(r) > r->now.ns);
	assert_int_equal(front_proven(&r->f->t, 2, &again), 0);
	poll_all(r);
	assert_int_equal(r->f->calls[2], 3);
	/* A call that is under way goes on. */
	again.generation = 9;
	again.start++;
	assert_int_equal(front_proven(&r->f->t, 2, &again), 0);
	poll_all(r);
	assert_int_equal(r->f->calls[2], 3);
	assert_int_equal(out(r, 2)->state, LINK_CALLS);
	rig_free(r);
}

TEST(call__fails_at_once__is_a_failure_and_no_event)
{
	struct rig *r = rig_new();

	r->f->call_rc = -ECONNREFUSED;
	assert_int_equal(add(r, 2), 0);
	poll_all(r);
	assert_int_equal(r->n, 0);
	assert_int_equal(out(r, 2)->failures, 1);
	assert_int_equal(out(r, 2)->state, LINK_WAITS);
	rig_free(r);
}

TEST(call__takes_too_long__given_up)
{
	struct rig *r = rig_new();
	struct mono due;

	assert_int_equal(add(r, 2), 0);
	poll_all(r);
	assert_int_equal(transport_arm(&r->f->t, r->now, &due), 0);
	assert_int_equal(due.ns, r->now.ns + 5 * NS_PER_S);
	r->now = due;
	poll_all(r);
	assert_int_equal(r->f->hung_up[2], 1);
	assert_int_equal(out(r, 2)->state, LINK_WAITS);
	rig_free(r);
}

TEST(call__answered_by_a_foe__alarm)
{
	struct rig *r = rig_new();

	assert_int_equal(add(r, 2), 0);
	poll_all(r);
	front_down(&r->f->t, out(r, 2), -EACCES, "proved a wrong key", r->now);
	poll_all(r);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->ev[0].type, TRANSPORT_ALARM);
	assert_int_equal(r->ev[0].host, 2);
	assert_non_null(strstr(r->ev[0].text, "proved a wrong key"));
	rig_free(r);
}

TEST(up__region_out_of_range__refused)
{
	static const size_t bad[][TRANSPORT_PARTS] = {
		{ 0, BYTES },
		{ BYTES, 8 },
		{ BYTES, TRANSPORT_PART_MAX + BYTES },
		{ BYTES, BYTES, 8 },
		{ BYTES, BYTES, 0, TRANSPORT_OPTIONAL_MAX + BYTES },
	};
	struct rig *r = rig_new();

	assert_int_equal(add(r, 2), 0);
	poll_all(r);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(front_up(&r->f->t, out(r, 2), &SELF(1), bad[i], r->now), -EINVAL);
	assert_int_equal(transport_link(&r->f->t, 2), 0);
	rig_free(r);
}

TEST(generation__lower_than_one_proven__refused)
{
	struct rig *r = rig_up(); /* host 2 proved 7 */

	assert_int_equal(front_proven(&r->f->t, 2, &SELF(6)), -ESTALE);
	assert_int_equal(front_proven(&r->f->t, 2, &SELF(7)), 0);
	assert_int_equal(front_proven(&r->f->t, 2, &SELF(9)), 0);
	next_call(r, 2);
	assert_int_equal(front_up(&r->f->t, out(r, 2), &SELF(8), parts, r->now), -ESTALE);
	up(r, 2, 9);
	/* The number is remembered when a host is removed and added again. */
	assert_int_equal(transport_remove(&r->f->t, 2, r->now), 0);
	assert_int_equal(front_proven(&r->f->t, 2, &SELF(9)), -EPERM);
	assert_int_equal(add(r, 2), 0);
	assert_int_equal(front_proven(&r->f->t, 2, &SELF(8)), -ESTALE);
	assert_int_equal(front_proven(&r->f->t, 0, &SELF(8)), -EPERM);
	assert_int_equal(front_proven(&r->f->t, 65, &SELF(8)), -EPERM);
	rig_free(r);
}

TEST(generation__same_of_another_start__refused)
{
	struct hello_self twin = SELF(7), next = SELF(8), other = SELF(9);
	struct rig *r = rig_up(); /* host 2 proved 7 */

	twin.start++;
	next.start = 0x8000000000000000;
	assert_int_equal(front_proven(&r->f->t, 2, &twin), -ENOTUNIQ);
	twin.start = START | 1ull << 63;
	assert_int_equal(front_proven(&r->f->t, 2, &twin), -ENOTUNIQ);
	assert_int_equal(front_proven(&r->f->t, 2, &SELF(7)), 0);
	next_call(r, 2);
	assert_int_equal(front_up(&r->f->t, out(r, 2), &twin, parts, r->now), -ENOTUNIQ);
	/* With a higher generation any start is the newest; then the one before is too old. */
	assert_int_equal(front_up(&r->f->t, out(r, 2), &next, parts, r->now), 0);
	assert_int_equal(front_proven(&r->f->t, 2, &SELF(8)), -ENOTUNIQ);
	assert_int_equal(front_proven(&r->f->t, 2, &next), 0);
	assert_int_equal(front_proven(&r->f->t, 2, &SELF(7)), -ESTALE);
	assert_int_equal(add(r, 3), 0); /* each host has its own */
	assert_int_equal(front_proven(&r->f->t, 3, &other), 0);
	other.start--;
	assert_int_equal(front_proven(&r->f->t, 3, &other), -ENOTUNIQ);
	rig_free(r);
}

TEST(generation__same_of_another_start__says_host_number_and_remedy)
{
	static const char end[] = "began anew as generation 7 again: mend its generation file, "
				  "see cluster.json(5)";
	struct rig *r = rig_up();
	char want[256];

	memset(out(r, 2)->peer.name, 'x', TRANSPORT_NAME_MAX - 1); /* hides no remedy */
	next_call(r, 2);
	front_refused(&r->f->t, 2, -ENOTUNIQ, r->now);
	front_down(&r->f->t, out(r, 2), -ENOTUNIQ, "some text", r->now);
	poll_all(r);
	assert_int_equal(r->n, 2);
	snprintf(want, sizeof(want), "host 2 was refused: it %s", end);
	assert_string_equal(r->ev[0].text, want);
	snprintf(want, sizeof(want), "host 2 (%.24s): %s", out(r, 2)->peer.name, end);
	assert_string_equal(r->ev[1].text, want);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(r->ev[i].type, TRANSPORT_ALARM);
		assert_int_equal(r->ev[i].host, 2);
	}
	rig_free(r);
}

TEST(start__not_given__is_drawn)
{
	struct transport_conf c = conf_good();
	struct rig *one, *two;

	c.start = 0;
	one = rig_with(&c);
	two = rig_with(&c);
	assert_true(one->f->t.conf.start && two->f->t.conf.start);
	assert_true(one->f->t.conf.start != two->f->t.conf.start); /* 1 in 2^64 */
	rig_free(one);
	rig_free(two);
}

TEST(generation__of_ourselves__ours_alone)
{
	const struct hello_self twin = { .generation = 5, .start = START + 1 };
	struct rig *r = rig_new();

	assert_int_equal(add(r, 1), 0);
	poll_all(r);
	assert_int_equal(front_proven(&r->f->t, 1, &SELF(6)), -ESTALE);
	assert_int_equal(front_proven(&r->f->t, 1, &SELF(5)), 0);
	assert_int_equal(front_proven(&r->f->t, 1, &twin), -ESTALE); /* our number used twice */
	assert_int_equal(front_up(&r->f->t, out(r, 1), &SELF(6), parts, r->now), -ESTALE);
	up(r, 1, 5);
	rig_free(r);
}

TEST(remove__results_then_down__links_count_on)
{
	struct rig *r = rig_up();

	assert_int_equal(post(r, op(r, TRANSPORT_FAA64, 1)), 0);
	assert_int_equal(transport_remove(&r->f->t, 2, r->now), 0);
	assert_int_equal(r->f->evicted, 2);
	assert_int_equal(add(r, 2), 0); /* before the user has taken the outcome */
	poll_all(r);
	assert_int_equal(r->n, 2);
	assert_int_equal(r->ev[0].outcome, TRANSPORT_UNKNOWN);
	assert_int_equal(r->ev[1].type, TRANSPORT_DOWN);
	assert_int_equal(r->ev[1].why, -ECANCELED);
	poll_all(r);
	up(r, 2, 7);
	assert_int_equal(transport_link(&r->f->t, 2), 2);
	rig_free(r);
}

TEST(remove__never_up__no_event)
{
	struct rig *r = rig_new();

	assert_int_equal(add(r, 2), 0);
	assert_int_equal(transport_remove(&r->f->t, 2, r->now), 0);
	r->now.ns += 10 * NS_PER_S;
	poll_all(r);
	assert_int_equal(r->n, 0);
	assert_int_equal(r->f->calls[2], 0);
	rig_free(r);
}

/* --- what other hosts cause ---------------------------------------------------------- */

TEST(messages__bounded__the_rest_is_an_alarm)
{
	struct rig *r = rig_up();
	unsigned alarms = 0, messages = 0;

	for (uint32_t i = 0; i < 1000; i++)
		front_message(&r->f->t, 2, &i, sizeof(i));
	front_message(&r->f->t, 3, "x", 1); /* there is still room for others */
	poll_all(r);
	for (size_t i = 0; i < r->n; i++) {
		alarms += r->ev[i].type == TRANSPORT_ALARM;
		if (r->ev[i].type != TRANSPORT_MESSAGE || r->ev[i].host != 2)
			continue;
		assert_memory_equal(r->ev[i].data, &messages, sizeof(messages));
		messages++;
	}
	assert_int_equal(messages, 64);
	assert_true(alarms > 0 && alarms < 10);
	assert_int_equal(r->ev[r->n - 1].host, 3);
	front_message(&r->f->t, 2, "again", 5);
	/* Returned messages are valid until the next poll. */
	assert_memory_equal(r->ev[1].data, &(uint32_t){ 1 }, sizeof(uint32_t));
	poll_all(r);
	assert_int_equal(r->n, 1);
	assert_memory_equal(r->ev[0].data, "again", 5);
	for (int k = 0; k < 100; k++) {
		for (uint32_t i = 0; i < 60; i++)
			front_message(&r->f->t, 2, &i, sizeof(i));
		poll_all(r);
		assert_int_equal(r->n, 60); /* the room is used again */
	}
	rig_free(r);
}

TEST(alarms__too_many__counted_and_said_later)
{
	struct rig *r = rig_new();
	struct transport_stats s;
	size_t first;

	for (int i = 0; i < 100; i++)
		front_alarm(&r->f->t, 2, "number %d", i);
	front_alarm(&r->f->t, 3, "of another");
	poll_all(r);
	first = r->n;
	assert_true(first >= 2 && first <= 10);
	assert_string_equal(r->ev[0].text, "number 0");
	assert_string_equal(r->ev[first - 1].text, "of another");
	r->now.ns += NS_PER_S;
	poll_all(r);
	front_alarm(&r->f->t, 2, "later");
	poll_all(r);
	assert_int_equal(r->n, 1);
	assert_non_null(strstr(r->ev[0].text, "later (and 96 more)"));
	transport_stats(&r->f->t, &s);
	assert_int_equal(s.alarms, 102);
	rig_free(r);
}

TEST(alarms__hidden_before__are_counted_where_that_fits_whole)
{
	struct rig *r = rig_new();
	char longest[121];

	for (int i = 0; i < 5; i++) /* one over the burst */
		front_alarm(&r->f->t, 2, "number %d", i);
	poll_all(r);
	assert_int_equal(r->n, 4);
	r->now.ns += NS_PER_S;
	poll_all(r);
	front_alarm(&r->f->t, 2, "later");
	poll_all(r);
	assert_string_equal(r->ev[0].text, "later (and 1 more)");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	for (int i = 0; i < 5; i++)
		front_alarm(&r->f->t, 2, "number %d", i);
	r->now.ns += NS_PER_S;
	poll_all(r);
	front_alarm(&r->f->t, 2, "%s", longest);
	poll_all(r);
	assert_string_equal(r->ev[0].text, longest);
	rig_free(r);
}

/* --- strangers ------------------------------------------------------------------------ */

static void know(struct rig *r, uint16_t host, const char *address, uint16_t port)
{
	struct transport_peer p = { .host = host, .port = port };

	strcpy(p.address, address);
	assert_int_equal(transport_add(&r->f->t, &p, r->now), 0);
}

static bool known(struct rig *r, const char *address, uint16_t port)
{
	struct sockaddr_storage a;
	socklen_t len;

	assert_int_equal(front_address(address, port, &a, &len), 0);
	return front_known(&r->f->t, (struct sockaddr *)&a);
}

TEST(strangers__by_ipv4__are_those_of_no_host)
{
	struct rig *r = rig_new();

	assert_false(known(r, "10.1.2.3", 7471));
	know(r, 2, "10.1.2.3", 7471);
	assert_true(known(r, "10.1.2.3", 7471));
	assert_true(known(r, "10.1.2.3", 40000)); /* a caller's port is any */
	assert_false(known(r, "10.1.2.4", 7471));
	assert_false(known(r, "11.1.2.3", 7471));
	assert_int_equal(transport_remove(&r->f->t, 2, r->now), 0);
	assert_false(known(r, "10.1.2.3", 7471));
	rig_free(r);
}

TEST(strangers__by_ipv6__are_those_of_no_host)
{
	struct rig *r = rig_new();

	know(r, 2, "10.1.2.3", 7471);
	assert_false(known(r, "fd00::1:2", 7471));
	know(r, 3, "fd00::1:2", 7471);
	know(r, 64, "2001:db8::ff", 1);
	assert_true(known(r, "fd00::1:2", 7471));
	assert_true(known(r, "fd00::1:2", 40000));
	assert_true(known(r, "fd00:0:0:0:0:0:1:2", 9));
	assert_true(known(r, "2001:db8::ff", 9));
	assert_true(known(r, "10.1.2.3", 9));
	assert_false(known(r, "fd00::1:3", 7471)); /* its last byte */
	assert_false(known(r, "fd01::1:2", 7471)); /* its first half */
	assert_false(known(r, "fd00::2", 7471));
	assert_false(known(r, "2001:db8::1:2", 7471)); /* half of each of two */
	/*
	 * Four bytes equal an IPv4 host's address; but the family differs, so it is another host.
	 */
	assert_false(known(r, "a01:203::", 7471));
	assert_false(known(r, "64:ff9b::a01:203", 7471));
	assert_int_equal(transport_remove(&r->f->t, 3, r->now), 0);
	assert_false(known(r, "fd00::1:2", 7471));
	rig_free(r);
}

/* So clients never use up the half of the limits that is the members'. */
TEST(strangers__clients__are_among_them)
{
	struct transport_peer p = { .host = 9, .role = TRANSPORT_CLIENT, .address = "10.1.2.3" };
	struct rig *r = rig_new();

	assert_int_equal(transport_add(&r->f->t, &p, r->now), 0);
	assert_false(known(r, "10.1.2.3", 7471));
	rig_free(r);
}

/* One row: a caller with this number, role, rights, generation and start; does it get in? */
TEST(proven__by_role_rights_and_start__as_listed)
{
	enum { M = TRANSPORT_MEMBER, C = TRANSPORT_CLIENT, AT = TRANSPORT_ATOMICS };
	static const struct {
		uint16_t host;
		struct hello_self self;
		bool serves; /* its number has a link */
		int rc;
	} row[] = {
		{ 2, { .generation = 7, .start = 1, .role = M }, false, 0 },
		{ 2, { .generation = 8, .start = 1, .role = C }, false, -EPROTOTYPE },
		{ 3, { .generation = 8, .start = 1, .role = M }, false, -EPROTOTYPE },
		{ 3, { .generation = 8, .start = 1, .role = C, .rights = AT }, false, -EOPNOTSUPP },
		{ 4, { .generation = 8, .start = 1, .role = C, .rights = AT }, false, 0 },
		{ 4, { .generation = 8, .start = 1, .role = C }, false, 0 },
		{ 5, { .generation = 8, .start = 1, .role = C }, false, -EPERM },
		/* The first start of client 3, the same again, a later one, the first again. */
		{ 3, { .generation = 100, .start = 1, .role = C }, false, 0 },
		{ 3, { .generation = 100, .start = 1, .role = C }, true, 0 },
		{ 3, { .generation = 100, .start = 2, .role = C }, true, -ESTALE },
		{ 3, { .generation = 101, .start = 2, .role = C }, true, 0 },
		{ 3, { .generation = 100, .start = 1, .role = C }, true, -ESTALE },
		{ 3, { .generation = 100, .start = 1, .role = C }, false, 0 },
		{ 3, { .generation = 101, .start = 2, .role = C }, true, 0 },
		/* A time may be above the highest generation of a member. */
		{ 3, { .generation = 1ull << 60, .start = 3, .role = C }, true, 0 },
	};
	struct transport_conf c = conf_good();
	struct rig *r;

	c.generation_max = 50;
	r = rig_with(&c);
	assert_int_equal(add(r, 2), 0);
	for (uint16_t h = 3; h < 5; h++) {
		struct transport_peer p = { .host = h,
					    .role = TRANSPORT_CLIENT,
					    .rights = h == 4 ? AT : 0 };

		assert_int_equal(transport_add(&r->f->t, &p, r->now), 0);
	}
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		int rc;

		hostset_set(&r->f->serves, row[i].host, row[i].serves);
		rc = front_proven(&r->f->t, row[i].host, &row[i].self);
		if (rc != row[i].rc)
			fail_msg("row %zu: %d, not %d", i, rc, row[i].rc);
	}
	rig_free(r);
}

TEST(strangers__without_an_address__are_nobodys)
{
	const struct sockaddr nameless = { .sa_family = AF_UNSPEC };
	const struct sockaddr local = { .sa_family = AF_UNIX };
	const struct sockaddr_in any4 = { .sin_family = AF_INET };
	const struct sockaddr_in6 any6 = { .sin6_family = AF_INET6 };
	struct rig *r = rig_up(); /* host 2 is at no IP address */

	assert_false(front_known(&r->f->t, &nameless));
	assert_false(front_known(&r->f->t, &local));
	assert_false(front_known(&r->f->t, (const struct sockaddr *)&any4));
	assert_false(front_known(&r->f->t, (const struct sockaddr *)&any6));
	rig_free(r);
}

TEST(callers__too_many_at_once_or_a_second__refused)
{
	struct transport_conf c = conf_good();
	struct transport_stats s;
	struct rig *r;

	c.hellos_max = 2;
	c.hellos_second = 5;
	r = rig_with(&c);
	assert_int_equal(front_caller(&r->f->t, true, r->now), 0);
	assert_int_equal(front_caller(&r->f->t, true, r->now), 0);
	assert_int_equal(front_caller(&r->f->t, true, r->now), -EAGAIN);
	for (int i = 0; i < 3; i++) {
		front_caller_over(&r->f->t);
		assert_int_equal(front_caller(&r->f->t, true, r->now), 0);
	}
	front_caller_over(&r->f->t);
	assert_int_equal(front_caller(&r->f->t, true, r->now), -EAGAIN);
	r->now.ns += NS_PER_S;
	assert_int_equal(front_caller(&r->f->t, true, r->now), 0);
	transport_stats(&r->f->t, &s);
	assert_int_equal(s.refused_callers, 2);
	rig_free(r);
}

TEST(refused__names_the_host_and_the_cause)
{
	struct rig *r = rig_new();
	struct transport_stats s;

	front_refused(&r->f->t, 4, -EPERM, r->now);
	front_refused(&r->f->t, 4, -ESTALE, r->now);
	front_refused(&r->f->t, 0, -ETIMEDOUT, r->now);
	front_refused(&r->f->t, 4, -EACCES, r->now);
	front_refused(&r->f->t, 4, -EBADE, r->now);
	poll_all(r);
	assert_int_equal(r->n, 5);
	assert_non_null(strstr(r->ev[0].text, "host 4"));
	assert_int_equal(r->ev[4].host, 4); /* it holds the key */
	assert_non_null(strstr(r->ev[4].text, "compare cluster.json on both, see cluster.json(5)"));
	for (size_t i = 0; i < r->n; i++) {
		assert_int_equal(r->ev[i].type, TRANSPORT_ALARM);
		assert_null(strstr(r->ev[i].text, (const char *)key));
	}
	transport_stats(&r->f->t, &s);
	assert_int_equal(s.refused_callers, 5);
	rig_free(r);
}

TEST(refused__by_whatever_numbers_strangers_say__hides_no_alarm_of_a_host)
{
	static const int whys[] = {
		-EPROTO, -EXDEV, -EHOSTUNREACH, -EACCES, -ETIMEDOUT, -ECONNRESET
	};
	struct rig *r = rig_new();

	for (uint32_t i = 0; i < 1000; i++)
		front_refused(&r->f->t, (uint16_t)(1 + i % TRANSPORT_HOSTS_MAX), whys[i % 6],
			      r->now);
	poll_all(r);
	assert_in_range(r->n, 1, 10); /* as of one host, not of 64 */
	for (size_t i = 0; i < r->n; i++)
		assert_int_equal(r->ev[i].host, 0);
	front_refused(&r->f->t, 4, -ESTALE, r->now);
	poll_all(r);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->ev[0].host, 4);
	assert_non_null(strstr(r->ev[0].text, "host 4 was refused: it comes with a generation "));
	rig_free(r);
}

/* --- sleeping ---------------------------------------------------------------------------- */

TEST(arm__says_when)
{
	struct rig *r = rig_up();
	struct transport_op o = op(r, TRANSPORT_READ, 1);
	struct mono due;

	assert_int_equal(transport_fd(&r->f->t), 99);
	assert_int_equal(transport_arm(&r->f->t, r->now, &due), 0);
	r->now.ns = due.ns; /* of the call that is over: nothing is due any more */
	poll_all(r);
	assert_int_equal(transport_arm(&r->f->t, r->now, &due), 0);
	assert_int_equal(due.ns, INT64_MAX);
	o.deadline = mono_add(r->now, 5);
	assert_int_equal(post(r, o), 0);
	assert_int_equal(transport_arm(&r->f->t, r->now, &due), 0);
	assert_int_equal(due.ns, r->now.ns + 5);
	done(r, 0);
	assert_int_equal(transport_arm(&r->f->t, r->now, &due), 1);
	poll_all(r);
	assert_int_equal(transport_arm(&r->f->t, r->now, &due), 0);
	assert_int_equal(add(r, 3), 0);
	assert_int_equal(transport_arm(&r->f->t, r->now, &due), 1);
	rig_free(r);
}

/* --- whatever happens ------------------------------------------------------------------------ */

struct life {
	uint64_t posted, ended;
	bool up;
	uint32_t link;
	uint8_t results[20000]; /* by tag */
};

static void life_events(struct prop *p, struct rig *r, struct life *l, size_t max)
{
	size_t n = transport_poll(&r->f->t, r->now, r->ev, max);

	for (size_t i = 0; i < n; i++) {
		const struct transport_event *ev = &r->ev[i];

		if (ev->type == TRANSPORT_RESULT) {
			prop_assert(p, ev->tag, l->up && ev->link == l->link);
			prop_assert(p, ev->tag, l->results[ev->tag]++ == 0);
			l->ended++;
		} else if (ev->type == TRANSPORT_UP) {
			prop_assert(p, i, !l->up && ev->link == l->link + 1);
			l->up = true;
			l->link = ev->link;
		} else if (ev->type == TRANSPORT_DOWN) {
			prop_assert(p, i, l->up && ev->link == l->link);
			prop_assert(p, i, l->ended == l->posted || transport_link(&r->f->t, 2));
			l->up = false;
		}
	}
}

static void life_step(struct prop *p, struct rig *r, struct life *l)
{
	static const enum transport_kind kinds[] = { TRANSPORT_READ, TRANSPORT_CAS64,
						     TRANSPORT_FAA64, TRANSPORT_SEND };
	struct transport_op o = op(r, kinds[prop_range(p, 0, 3)], l->posted);

	r->f->submit_rc = prop_one_in(p, 5) ? -EAGAIN : prop_one_in(p, 200) ? -EIO : 0;
	switch (prop_range(p, 0, 5)) {
	case 0:
		if (r->f->n)
			done(r, prop_range(p, r->f->n > 20 ? r->f->n - 20 : 0, r->f->n - 1));
		break;
	case 1:
		if (prop_one_in(p, 20))
			front_down(&r->f->t, out(r, 2), -EIO, "broke", r->now);
		break;
	case 2:
		life_events(p, r, l, prop_range(p, 0, 3));
		break;
	case 3:
		r->now.ns += (int64_t)prop_range(p, 0, 100 * NS_PER_MS);
		break;
	default:
		o.deadline = mono_add(r->now, (int64_t)prop_range(p, 1, NS_PER_S));
		l->posted += post(r, o) == 0;
	}
	if (out(r, 2)->state == LINK_CALLS && prop_one_in(p, 3))
		up(r, 2, 1);
	if (r->f->n > SENT_MAX - 100) {
		memmove(r->f->sent, r->f->sent + r->f->n - 50, 50 * sizeof(r->f->sent[0]));
		r->f->n = 50;
	}
}

TEST(whatever_happens__each_operation_ends_once)
{
	static struct life l;
	struct prop p;

	prop_start(&p);
	for (int round = 0; round < 20; round++) {
		struct rig *r = rig_new();

		memset(&l, 0, sizeof(l));
		assert_int_equal(add(r, 2), 0);
		for (int i = 0; i < 5000; i++)
			life_step(&p, r, &l);
		r->f->submit_rc = 0;
		for (int i = 0; i < 100; i++) {
			r->now.ns += NS_PER_S;
			life_events(&p, r, &l, 16);
		}
		prop_assert(&p, round, l.posted > 100 && l.ended == l.posted);
		rig_free(r);
	}
}
