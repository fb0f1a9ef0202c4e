// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What only the backend "tcp" has: its addresses, the descriptor for sleeping, two processes, and
 * peers that answer a call in another way than a host does. Hostile callers are in
 * test_tcp_hostile.c.
 */
#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/tcp_rig.h"
#include "tests/unit/unit.h"

static struct transport_op op_read(uint16_t host, enum transport_part part, uint32_t offset,
				   uint32_t len)
{
	return (struct transport_op){
		.kind = TRANSPORT_READ, .host = host, .part = part, .offset = offset, .len = len
	};
}

static struct transport_op op_faa(uint16_t host, uint32_t offset, uint64_t value)
{
	return (struct transport_op){ .kind = TRANSPORT_FAA64,
				      .host = host,
				      .part = TRANSPORT_WORDS,
				      .offset = offset,
				      .value = value };
}

static struct transport_op op_cas(uint16_t host, uint32_t offset, uint64_t compare, uint64_t value)
{
	struct transport_op op = op_faa(host, offset, value);

	op.kind = TRANSPORT_CAS64;
	op.compare = compare;
	return op;
}

static bool all_up(const struct tcp_rig *r, uint16_t hosts)
{
	for (uint16_t i = 1; i <= hosts; i++)
		for (uint16_t k = 1; k <= hosts; k++)
			if (i != k && !transport_link(r->host[i].t, k))
				return false;
	return true;
}

/* --- open ---------------------------------------------------------------------------- */

static int open_at(const char *address, uint16_t port, char text[static 256])
{
	struct transport_conf c = tcp_rig_conf(1);
	struct transport *t = NULL;
	int rc;

	snprintf(c.address, sizeof(c.address), "%s", address);
	c.port = port;
	rc = transport_tcp.open(&t, &c, (struct mono){ 0 }, text);
	if (rc)
		assert_null(t);
	transport_close(t);
	return rc;
}

TEST(open__address_of_no_single_host__is_refused_and_named)
{
	static const char *const wrong[] = { "0.0.0.0",		"::",	      "localhost",
					     "127.1",		"0x7f000001", "224.0.0.1",
					     "255.255.255.255", "ff02::1",    "1.2.3.4.5",
					     "::ffff:0.0.0.0",	"127.0.0.1 ", ":" };
	char text[256];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		memset(text, 0, sizeof(text));
		assert_int_equal(open_at(wrong[i], 7400, text), -EINVAL);
		assert_non_null(strstr(text, wrong[i]));
	}
}

TEST(open__port_0__is_refused)
{
	char text[256];

	assert_int_equal(open_at("127.0.0.1", 0, text), -EINVAL);
	assert_non_null(strstr(text, "port 0"));
}

TEST(open__address_of_another_host__is_refused_and_named)
{
	char text[256];

	assert_int_equal(open_at("192.0.2.7", 7400, text), -EINVAL);
	assert_non_null(strstr(text, "192.0.2.7"));
	assert_non_null(strstr(text, "address of this host"));
}

TEST(open__where_another_serves__is_eaddrinuse)
{
	struct tcp_rig *r = tcp_rig_new(1);
	char text[256];

	assert_int_equal(open_at(r->host[1].conf.address, r->host[1].conf.port, text), -EADDRINUSE);
	assert_non_null(strstr(text, r->host[1].conf.address));
	tcp_rig_free(r);
}

TEST(open__after_close_with_links__is_possible_at_once)
{
	struct tcp_rig *r = tcp_rig_new(2);

	TCP_UNTIL(r, all_up(r, 2));
	transport_close(r->host[1].t);
	tcp_rig_open(r, 1);
	tcp_rig_free(r);
}

TEST(open__ipv6__serves)
{
	struct tcp_rig *r = tcp_rig_new(0);
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	struct transport_peer p;
	char text[256];

	close(fd);
	for (uint16_t i = 1; i <= 2; i++) {
		snprintf(r->host[i].conf.address, TRANSPORT_ADDRESS_MAX, "::1");
		r->host[i].conf.port = (uint16_t)(1024 + 2 * ((unsigned)getpid() % 15000) + i);
		if (transport_tcp.open(&r->host[i].t, &r->host[i].conf, r->now, text)) {
			print_message("%s\n", text); /* a machine without IPv6 */
			tcp_rig_free(r);
			skip();
		}
	}
	p = tcp_rig_peer(&r->host[2].conf);
	assert_int_equal(transport_add(r->host[1].t, &p, r->now), 0);
	p = tcp_rig_peer(&r->host[1].conf);
	assert_int_equal(transport_add(r->host[2].t, &p, r->now), 0);
	TCP_UNTIL(r, all_up(r, 2));
	tcp_rig_free(r);
}

/* --- operations ------------------------------------------------------------------------ */

TEST(operations__between_two_hosts__are_done_and_served)
{
	struct tcp_rig *r = tcp_rig_new(2);
	struct tcp_host *a = &r->host[1], *b = &r->host[2];
	size_t i;

	TCP_UNTIL(r, all_up(r, 2));
	assert_true(tcp_last(a, TRANSPORT_UP)->generation == 5);
	memcpy((uint8_t *)transport_table(b->t) + 4096, "written by b", 13);
	i = tcp_do(r, 1, op_read(2, TRANSPORT_TABLE, 4096, TRANSPORT_READ_MAX));
	assert_int_equal(a->ev[i].outcome, TRANSPORT_DONE);
	assert_int_equal(a->ev[i].len, TRANSPORT_READ_MAX);
	assert_string_equal(a->data[i], "written by b");
	i = tcp_do(r, 1, op_faa(2, 8, 40));
	assert_true(a->ev[i].outcome == TRANSPORT_DONE && a->ev[i].old == 0);
	i = tcp_do(r, 1, op_cas(2, 8, 41, 1));
	assert_true(a->ev[i].outcome == TRANSPORT_DONE && a->ev[i].old == 40);
	i = tcp_do(r, 1, op_cas(2, 8, 40, UINT64_MAX));
	assert_true(a->ev[i].outcome == TRANSPORT_DONE && a->ev[i].old == 40);
	i = tcp_do(r, 1, op_faa(2, 8, 3));
	assert_true(a->ev[i].old == UINT64_MAX);
	i = tcp_do(r, 1, op_read(2, TRANSPORT_WORDS, 0, 24));
	assert_memory_equal(a->data[i], ((uint64_t[]){ 0, 2, 0 }), 24);
	assert_int_equal(tcp_stats(b).served, 6);
	assert_int_equal(tcp_stats(a).served, 0);
	tcp_rig_free(r);
}

TEST(message__is_acknowledged_and_arrives)
{
	struct tcp_rig *r = tcp_rig_new(2);
	uint8_t longest[TRANSPORT_MESSAGE_MAX];
	struct transport_op op = {
		.kind = TRANSPORT_SEND, .host = 2, .data = longest, .len = sizeof(longest)
	};
	size_t i;

	memset(longest, 0x7e, sizeof(longest));
	TCP_UNTIL(r, all_up(r, 2));
	i = tcp_do(r, 1, op);
	assert_int_equal(r->host[1].ev[i].outcome, TRANSPORT_DONE);
	assert_int_equal(tcp_count(&r->host[2], TRANSPORT_MESSAGE), 1);
	assert_int_equal(tcp_last(&r->host[2], TRANSPORT_MESSAGE)->len, sizeof(longest));
	assert_int_equal(tcp_last(&r->host[2], TRANSPORT_MESSAGE)->host, 1);
	tcp_rig_free(r);
}

TEST(own_host__is_a_link_like_any_other)
{
	struct tcp_rig *r = tcp_rig_new(1);
	struct transport_peer p = { .host = 1, .name = "self" };
	size_t i;

	assert_int_equal(transport_add(r->host[1].t, &p, r->now), 0);
	TCP_UNTIL(r, transport_link(r->host[1].t, 1));
	i = tcp_do(r, 1, op_faa(1, 0, 7));
	assert_int_equal(r->host[1].ev[i].outcome, TRANSPORT_DONE);
	i = tcp_do(r, 1, op_read(1, TRANSPORT_WORDS, 0, 8));
	assert_int_equal(r->host[1].data[i][0], 7);
	assert_int_equal(tcp_stats(&r->host[1]).served, 2);
	tcp_rig_free(r);
}

/* Three hosts add to one word of each other at full depth: no addition is lost or doubled. */
TEST(additions__of_three_hosts_at_full_depth__sum_up)
{
	struct tcp_rig *r = tcp_rig_new(3);
	enum { EACH = 200 };
	uint32_t posted[4] = { 0 };
	size_t i;

	TCP_UNTIL(r, all_up(r, 3));
	for (bool more = true; more; tcp_rig_turn(r, 1)) {
		more = false;
		for (uint16_t h = 2; h <= 3; h++) {
			struct transport_op op = op_faa(1, 16, 1);

			r->host[h].n = 0;
			op.deadline = mono_add(r->now, NS_PER_S);
			while (posted[h] < EACH &&
			       transport_post(r->host[h].t, &op, 1, r->now, NULL))
				posted[h]++;
			more |= posted[h] < EACH;
		}
	}
	TCP_UNTIL(r, tcp_stats(&r->host[2]).outcomes[TRANSPORT_DONE] == EACH &&
			     tcp_stats(&r->host[3]).outcomes[TRANSPORT_DONE] == EACH);
	i = tcp_do(r, 2, op_read(1, TRANSPORT_WORDS, 16, 8));
	assert_int_equal(*(uint64_t *)(void *)r->host[2].data[i], 2 * EACH);
	tcp_rig_free(r);
}

/* --- sleeping ---------------------------------------------------------------------------- */

static bool readable(struct transport *t)
{
	struct pollfd p = { .fd = transport_fd(t), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

TEST(arm__after_post__says_poll_again)
{
	struct tcp_rig *r = tcp_rig_new(2);
	struct transport_op op = op_faa(2, 0, 1);
	struct mono due;

	TCP_UNTIL(r, all_up(r, 2));
	tcp_rig_turn(r, 3);
	op.deadline = mono_add(r->now, NS_PER_MS);
	assert_int_equal(transport_arm(r->host[1].t, r->now, &due), 0);
	assert_false(readable(r->host[1].t));
	assert_int_equal(transport_post(r->host[1].t, &op, 1, r->now, NULL), 1);
	assert_int_equal(transport_arm(r->host[1].t, r->now, &due), 1);
	tcp_host_poll(&r->host[1], r->now);
	assert_int_equal(transport_arm(r->host[1].t, r->now, &due), 0);
	assert_true(due.ns <= op.deadline.ns);
	tcp_rig_free(r);
}

/* Hosts poll only when arm or the descriptor says so: still all operations end. */
TEST(sleep__by_arm_and_fd_alone__misses_nothing)
{
	struct tcp_rig *r = tcp_rig_new(2);
	size_t left = 50;

	TCP_UNTIL(r, all_up(r, 2));
	for (int turn = 0; turn < TCP_PATIENCE && left; turn++) {
		for (uint16_t h = 1; h <= 2; h++) {
			struct mono due;

			if (transport_arm(r->host[h].t, r->now, &due) || readable(r->host[h].t))
				tcp_host_poll(&r->host[h], r->now);
		}
		if (tcp_stats(&r->host[1]).outcomes[TRANSPORT_DONE] == 50 - left) {
			struct transport_op op = op_read(2, TRANSPORT_TABLE, 0, 8192);

			op.deadline = mono_add(r->now, NS_PER_S);
			assert_int_equal(transport_post(r->host[1].t, &op, 1, r->now, NULL), 1);
			left--;
			turn = 0;
		} else {
			poll(NULL, 0, 1);
		}
	}
	assert_int_equal(left, 0);
	tcp_rig_free(r);
}

/* --- two processes --------------------------------------------------------------------------- */

/* A host in a process of its own, until it is killed. */
static _Noreturn void serve_alone(struct tcp_rig *r, uint16_t host, uint16_t peer)
{
	struct transport_peer p = tcp_rig_peer(&r->host[peer].conf);
	struct transport_event ev[16];
	struct transport *t;
	char text[256];

	if (transport_tcp.open(&t, &r->host[host].conf, r->now, text) ||
	    transport_add(t, &p, r->now))
		_exit(1);
	for (int turn = 0; turn < 60 * 1000; turn++) {
		transport_poll(t, r->now, ev, 16);
		r->now.ns += NS_PER_MS;
		poll(NULL, 0, 1);
	}
	_exit(0);
}

static pid_t start_alone(struct tcp_rig *r, uint16_t host, uint16_t peer)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		serve_alone(r, host, peer);
	return pid;
}

static void kill_and_wait(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(process__killed_and_started_again__is_down_then_up_with_its_generation)
{
	struct tcp_rig *r = tcp_rig_new(1);
	struct tcp_host *a = &r->host[1];
	struct transport_peer p = tcp_rig_peer(&r->host[2].conf);
	struct transport_op op = op_faa(2, 0, 1);
	size_t i;
	pid_t pid = start_alone(r, 2, 1);

	assert_int_equal(transport_add(a->t, &p, r->now), 0);
	TCP_UNTIL(r, (r->now.ns += NS_PER_MS, transport_link(a->t, 2)));
	i = tcp_do(r, 1, op_faa(2, 0, 11));
	assert_int_equal(a->ev[i].outcome, TRANSPORT_DONE);

	assert_int_equal(kill(pid, SIGSTOP), 0);
	op.deadline = mono_add(r->now, NS_PER_S);
	assert_int_equal(transport_post(a->t, &op, 1, r->now, NULL), 1);
	tcp_rig_poll(r); /* it is on its way to a process that does not run */
	kill_and_wait(pid);
	TCP_UNTIL(r, tcp_count(a, TRANSPORT_DOWN) == 1);
	assert_int_equal(tcp_last(a, TRANSPORT_RESULT)->outcome, TRANSPORT_UNKNOWN);
	assert_non_null(strstr(tcp_last(a, TRANSPORT_DOWN)->text, "host 2 (h2)"));
	assert_int_equal(transport_post(a->t, &op, 1, r->now, NULL), 0);

	r->host[2].conf.generation = 6;
	pid = start_alone(r, 2, 1);
	TCP_UNTIL(r, (r->now.ns += NS_PER_MS, transport_link(a->t, 2) == 2));
	assert_true(tcp_last(a, TRANSPORT_UP)->generation == 6);
	i = tcp_do(r, 1, op_faa(2, 0, 0));
	assert_true(a->ev[i].old == 0); /* its words have their first values again */
	kill_and_wait(pid);
	tcp_rig_free(r);
}

/* A stopped process is not dead: its answers come when it continues. */
TEST(process__stopped_past_a_deadline__leaves_the_atomic_unknown)
{
	struct tcp_rig *r = tcp_rig_new(1);
	struct tcp_host *a = &r->host[1];
	struct transport_peer p = tcp_rig_peer(&r->host[2].conf);
	struct transport_op op = op_faa(2, 0, 1);
	size_t i;
	pid_t pid = start_alone(r, 2, 1);

	assert_int_equal(transport_add(a->t, &p, r->now), 0);
	TCP_UNTIL(r, (r->now.ns += NS_PER_MS, transport_link(a->t, 2)));
	assert_int_equal(kill(pid, SIGSTOP), 0);
	op.deadline = mono_add(r->now, NS_PER_S);
	assert_int_equal(transport_post(a->t, &op, 1, r->now, NULL), 1);
	tcp_rig_turn(r, 20);
	assert_int_equal(tcp_count(a, TRANSPORT_RESULT), 0);
	r->now.ns += NS_PER_S;
	tcp_rig_turn(r, 2);
	assert_int_equal(tcp_last(a, TRANSPORT_RESULT)->outcome, TRANSPORT_UNKNOWN);
	assert_int_equal(tcp_count(a, TRANSPORT_DOWN), 1);

	assert_int_equal(kill(pid, SIGCONT), 0);
	TCP_UNTIL(r, (r->now.ns += NS_PER_MS, transport_link(a->t, 2) == 2));
	i = tcp_do(r, 1, op_read(2, TRANSPORT_WORDS, 0, 8)); /* on the new link: it is decided */
	assert_true(a->data[i][0] <= 1);
	kill_and_wait(pid);
	tcp_rig_free(r);
}
