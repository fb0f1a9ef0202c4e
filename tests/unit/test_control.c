// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * control: real connections to the control socket, in the test's own libevent
 * loop: pieces of lines, long lines, many at once, peers that do not read or
 * hang up, and what is done about the socket's file.
 */
#include "tests/unit/server_rig.h"

/* --- lines ------------------------------------------------------------------------ */

RIG_TEST(request__is_answered_in_one_line_with_its_id)
{
	struct fixture *f = *state;
	const char *reply = ask(f, dial(f), 17);

	assert_int_equal(lines(reply), 1);
	assert_non_null(strstr(reply, "\"id\":17,"));
	assert_non_null(strstr(reply, "freemarket"));
}

RIG_TEST(request__byte_by_byte__is_answered_at_its_end)
{
	struct fixture *f = *state;
	int fd = dial(f);
	char line[128];

	snprintf(line, sizeof(line), REQUEST, 5);
	for (char *p = line; *p; p++) {
		assert_string_equal(hear(f, fd), "");
		say_bytes(f, fd, p, 1);
	}
	assert_non_null(strstr(hear(f, fd), "\"id\":5,"));
}

RIG_TEST(requests__many_in_one_write__are_answered_in_order)
{
	struct fixture *f = *state;
	int fd = dial(f);
	char *all = malloc(MANY * 64), *at;
	const char *p;
	size_t n = 0;

	assert_non_null(all);
	for (int i = 0; i < MANY; i++)
		n += (size_t)snprintf(all + n, MANY * 64 - n, REQUEST, i);
	say(f, fd, all);
	free(all);
	p = hear(f, fd);
	assert_int_equal(lines(p), MANY);
	for (int i = 0; i < MANY; i++) {
		char want[32];

		snprintf(want, sizeof(want), "\"id\":%d,", i);
		at = strstr(p, want);
		assert_non_null(at);
		p = at;
	}
}

RIG_TEST(request__two_and_a_half__the_half_waits_for_its_end)
{
	struct fixture *f = *state;
	int fd = dial(f);
	char text[256];

	snprintf(text, sizeof(text), REQUEST REQUEST "{\"jsonrpc\":\"2.0\",", 1, 2);
	say(f, fd, text);
	assert_int_equal(lines(hear(f, fd)), 2);
	say(f, fd, "\"id\":3,\"method\":\"list\"}\n");
	assert_non_null(strstr(hear(f, fd), "\"id\":3,"));
}

RIG_TEST(rubbish__is_answered_and_the_next_request_too)
{
	struct fixture *f = *state;
	int fd = dial(f);

	say_bytes(f, fd, "\0\xff\xfe{[\n", 6);
	assert_non_null(strstr(hear(f, fd), "\"code\":-32700"));
	say(f, fd, "\n");
	assert_non_null(strstr(hear(f, fd), "\"code\":-32700"));
	assert_non_null(strstr(ask(f, fd, 4), "\"id\":4,"));
}

static char *long_line(size_t len, bool end)
{
	static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"policy-list\"";
	char *line = malloc(len + 2);

	assert_non_null(line);
	memset(line, ' ', len);
	memcpy(line, head, sizeof(head) - 1);
	line[len - 1] = '}';
	line[len] = end ? '\n' : 0;
	line[len + 1] = 0;
	return line;
}

RIG_TEST(line__of_64_kib__is_answered)
{
	struct fixture *f = *state;
	char *line = long_line(PROTO_LINE_MAX - 1, true);
	int fd = dial(f);

	say(f, fd, line);
	free(line);
	assert_non_null(strstr(hear(f, fd), "\"id\":1,"));
}

RIG_TEST(line__longer__is_refused_and_the_connection_closed)
{
	static const size_t lens[] = { PROTO_LINE_MAX + 1, 2 * PROTO_LINE_MAX, 1 << 20 };
	struct fixture *f = *state;

	for (size_t i = 0; i < 3; i++) {
		char *line = long_line(lens[i], false);
		int fd = dial(f);

		(void)!send(fd, line, lens[i], MSG_NOSIGNAL);
		loop(f);
		free(line);
		assert_non_null(strstr(hear(f, fd), "over 64 KiB"));
		assert_true(is_closed(f, fd));
		hang_up(f, fd);
	}
	assert_non_null(strstr(ask(f, dial(f), 9), "\"id\":9,"));
}

/* --- peers ------------------------------------------------------------------------- */

/* As "printf ... | socat - UNIX-CONNECT:..." does. */
RIG_TEST(peer__hangs_up_its_sending_half__still_gets_its_answers)
{
	struct fixture *f = *state;
	int fd = dial(f);
	char text[256];

	snprintf(text, sizeof(text), REQUEST REQUEST, 1, 2);
	assert_int_equal(send(fd, text, strlen(text), 0), strlen(text));
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_int_equal(lines(hear(f, fd)), 2);
	assert_true(is_closed(f, fd));
}

/* Replies of a quarter of a megabyte: far more than the socket takes at once. */
#define EVENTS_REQUEST "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"events\"}\n"

static void make_large_replies(struct fixture *f)
{
	for (int i = 0; i < GUESTS_EVENTS; i++)
		guests_event(f->rig->gs, WALL, "a-guest", "registry", "%0180d", i);
}

RIG_TEST(peer__hangs_up_its_sending_half__gets_long_answers_to_their_end)
{
	static const char text[] = EVENTS_REQUEST EVENTS_REQUEST EVENTS_REQUEST;
	struct fixture *f = *state;
	int fd = dial(f);

	make_large_replies(f);
	assert_int_equal(send(fd, text, sizeof(text) - 1, 0), sizeof(text) - 1);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	loop(f);
	assert_int_equal(lines(hear(f, fd)), 3);
	assert_true(is_closed(f, fd));
}

RIG_TEST(peer__hangs_up_in_the_middle_of_a_line__is_forgotten)
{
	struct fixture *f = *state;

	for (int i = 0; i < 200; i++) { /* more than may be open at once */
		int fd = dial(f);

		say(f, fd, "{\"jsonrpc\":");
		hang_up(f, fd);
	}
	assert_non_null(strstr(ask(f, dial(f), 3), "\"id\":3,"));
}

RIG_TEST(peer__hangs_up_before_its_answer__is_forgotten)
{
	struct fixture *f = *state;
	char text[128];

	snprintf(text, sizeof(text), REQUEST, 1);
	for (int i = 0; i < 200; i++) {
		int fd = dial(f);

		assert_int_equal(send(fd, text, strlen(text), 0), strlen(text));
		hang_up(f, fd);
	}
	assert_non_null(strstr(ask(f, dial(f), 3), "\"id\":3,"));
}

/*
 * Replies of a quarter of a megabyte, requested in lines of 1000 bytes:
 * the daemon stops serving at 256 KiB and stops reading at 64 KiB, serves
 * others, and goes on where it was when it is read.
 */
RIG_TEST(peer__asks_and_never_reads__waits_and_loses_nothing)
{
	enum { LINE = 1000 };
	struct fixture *f = *state;
	int fd = dial(f), asked = 0, answered = 0;
	char request[LINE];

	make_large_replies(f);
	memset(request, ' ', LINE);
	memcpy(request, EVENTS_REQUEST, sizeof(EVENTS_REQUEST) - 2);
	request[LINE - 1] = '\n';
	while (asked < 200 && send(fd, request, LINE, MSG_NOSIGNAL) == LINE) {
		asked++;
		event_base_loop(f->base, EVLOOP_NONBLOCK);
	}
	assert_in_range(asked, 60, 120); /* 64 KiB of requests wait, and some in the socket */
	assert_non_null(strstr(ask(f, dial(f), 3), "\"id\":3,"));
	for (int idle = 0; idle < 50; idle++) {
		ssize_t r = recv(fd, f->buf, sizeof(f->buf) - 1, 0);

		assert_int_not_equal(r, 0); /* its connection is open */
		if (r > 0) {
			f->buf[r] = 0;
			answered += (int)lines(f->buf);
			assert_null(strstr(f->buf, "\"error\""));
			idle = 0;
		}
		event_base_loop(f->base, EVLOOP_NONBLOCK);
	}
	assert_int_equal(answered, asked);
}

/* --- requests that wait ----------------------------------------------------------------------- */

#define RINGS_REQUEST "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ring-list\"}\n"

static void wait_ms(struct fixture *f, int ms)
{
	for (int i = 0; i < ms; i++) {
		usleep(1000);
		loop(f);
	}
}

#define RELOAD_REQUEST "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"cluster-reload\"}\n"

/* The second one is pending at the end: what the connection keeps of it is freed (ASan). */
RIG_TEST(cluster_reload__is_answered_once_it_is_in_force)
{
	static struct cluster c;
	struct fixture *f = *state;
	struct conf_error e = { 0 };
	int fd;

	fake_cluster_open(&c);
	c.next = c.conf;
	c.next.service[0].minimum = 3;
	c.changes = (struct cluster_changes){ .n = 1,
					      .change = { { CLUSTER_SERVICE_CHANGED, 1 } } };
	control_close(f->control);
	f->control = NULL;
	if (control_open(&f->control, f->base, f->rig->gs, &c, &e))
		fail_msg("%s", e.text);
	fd = dial(f);
	c.reload_after = UINT32_MAX;
	say(f, fd, RELOAD_REQUEST);
	wait_ms(f, 60);
	assert_string_equal(hear(f, fd), "");
	assert_non_null(strstr(ask(f, dial(f), 3), "\"id\":3,"));
	c.reload_after = 0;
	wait_ms(f, 60);
	assert_non_null(strstr(hear(f, fd), "service web: minimum 3, was "));
	assert_int_equal(c.reloads, 1);
	c.next.service[0].minimum = 4;
	c.reload_after = UINT32_MAX;
	say(f, fd, RELOAD_REQUEST);
	wait_ms(f, 60);
	assert_int_equal(c.reloads, 2);
	assert_string_equal(hear(f, fd), "");
}

/* A request that only the sampler can answer delays no other, and one answer serves all. */
RIG_TEST(requests__that_wait_for_the_sampler__delay_no_others)
{
	struct fixture *f = *state;
	int asker[30], other;

	for (int i = 0; i < 30; i++) {
		asker[i] = dial(f);
		say(f, asker[i], RINGS_REQUEST RINGS_REQUEST);
	}
	other = dial(f);
	assert_non_null(strstr(ask(f, other, 3), "\"id\":3,"));
	for (int i = 0; i < 30; i++)
		assert_string_equal(hear(f, asker[i]), "");
	assert_int_equal(atomic_load(&f->rig->ho.rings_asked), 1);
	hang_up(f, asker[29]);
	for (int i = 0; i < 4; i++) { /* two for the first, a third for those that came meanwhile */
		rig_show(f->rig);
		wait_ms(f, 15);
	}
	for (int i = 0; i < 29; i++)
		assert_int_equal(lines(hear(f, asker[i])), 2);
	assert_in_range(atomic_load(&f->rig->ho.rings_asked), 3, 4);
}

/* A snapshot of the set that the sampler uses; without guests. */
static void show_set(struct fixture *f)
{
	struct snapshot *sn = snap_begin(&f->rig->ho);

	memset(sn, 0, sizeof(*sn));
	sn->set_serial = f->rig->set->serial;
	snap_publish(&f->rig->ho);
}

/* The sampler has not taken up the policy: its client waits, the thread and the others do not. */
RIG_TEST(policy_set__that_waits_for_the_sampler__delays_no_others)
{
	struct fixture *f = *state;
	int setter = dial(f), other = dial(f);

	say(f, setter,
	    "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"policy-set\","
	    "\"params\":{\"policy\":\"null\"}}\n");
	for (int i = 0; i < 3; i++) {
		assert_non_null(strstr(ask(f, other, i), "\"result\""));
		assert_string_equal(hear(f, setter), "");
		wait_ms(f, 15);
	}
	assert_true(rig_ack(f->rig));
	wait_ms(f, 15);
	assert_string_equal(hear(f, setter), ""); /* why would still be the former policy's */
	show_set(f);
	wait_ms(f, 15);
	assert_non_null(strstr(hear(f, setter), "\"id\":9,\"result\":{\"name\":\"null\""));
}

/* Without guests, pause waits until the sampler uses the set that pauses all. */
RIG_TEST(pause__that_waits_for_the_sampler__delays_no_others)
{
	struct fixture *f = *state;
	int pauser = dial(f), other = dial(f);

	say(f, pauser, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"pause\"}\n");
	for (int i = 0; i < 3; i++) {
		assert_non_null(strstr(ask(f, other, i), "\"result\""));
		assert_string_equal(hear(f, pauser), "");
		wait_ms(f, 15);
	}
	assert_true(rig_ack(f->rig));
	show_set(f);
	wait_ms(f, 15);
	assert_non_null(strstr(hear(f, pauser), "\"id\":9,\"result\":{\"paused\":true"));
	assert_int_equal(atomic_load(&f->rig->ho.rings_asked), 0); /* it waits for caps only */
}

RIG_TEST(request__that_the_sampler_never_answers__is_refused_in_the_end)
{
	struct fixture *f = *state;
	int fd = dial(f);

	say(f, fd, RINGS_REQUEST);
	wait_ms(f, 150);
	assert_non_null(strstr(hear(f, fd), "the sampler does not answer"));
	assert_non_null(strstr(ask(f, fd, 3), "\"id\":3,"));
}

RIG_TEST(requests__of_many_connections__are_served_one_a_turn_of_the_loop)
{
	struct fixture *f = *state;
	char line[128];
	int fd[20], turns = 0, replies = 0;

	for (int i = 0; i < 20; i++)
		fd[i] = dial(f);
	snprintf(line, sizeof(line), REQUEST, 1);
	for (int i = 0; i < 20; i++)
		assert_int_equal(send(fd[i], line, strlen(line), 0), strlen(line));
	for (; replies < 20 && turns < 100; turns++) {
		int now = 0;

		event_base_loop(f->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		for (int i = 0; i < 20; i++)
			now += recv(fd[i], f->buf, sizeof(f->buf), 0) > 0;
		assert_in_range(now, 0, 1);
		replies += now;
	}
	assert_int_equal(replies, 20);
}

/* The store is silent, and 10,000 nodes change meanwhile. */
RIG_TEST(guests__250_at_once__requests_are_answered_in_each_turn)
{
	struct fixture *f = *state;
	struct guests_rig *g = f->rig;
	int fd = dial(f);

	g->host.store_later = true;
	for (uint32_t id = 1; id <= 250; id++)
		fake_dom_add(&g->host, id, (uint8_t)id);
	fake_host_event(&g->host, HV_EVENT_DOMAINS, 0);
	for (int turn = 0; turn < 40; turn++) {
		uint32_t calls = g->host.store_calls;

		for (uint32_t id = 1; id <= 250; id++)
			fake_host_event(&g->host, HV_EVENT_NODE, id);
		rig_work(g, 10 * MS);
		rig_ack(g);
		assert_in_range(g->host.store_calls - calls, 0, 3 * 250);
		assert_non_null(strstr(ask(f, fd, turn), "\"result\""));
	}
	assert_int_equal(g->set->guests, 250);
	assert_in_range(g->host.store_calls, 250, 3 * 250); /* no request is repeated */
	assert_int_equal(rig_events(g, "guest-new"), 0);
	fake_store_answer(&g->host);
	rig_settle(g);
	assert_int_equal(rig_events(g, "guest-new"), 250);
}

RIG_TEST(connections__64__are_served_and_one_more_is_not)
{
	struct fixture *f = *state;
	int fd[CONNS_MAX], more;

	for (int i = 0; i < CONNS_MAX; i++)
		fd[i] = dial(f);
	more = dial(f);
	assert_non_null(
		strstr(hear(f, more), "\"code\":-32013,\"message\":\"64 connections are open"));
	assert_true(is_closed(f, more));
	for (int i = 0; i < CONNS_MAX; i++) {
		char want[32];

		snprintf(want, sizeof(want), "\"id\":%d,", i);
		assert_non_null(strstr(ask(f, fd[i], i), want));
	}
	hang_up(f, fd[20]);
	assert_non_null(strstr(ask(f, dial(f), 99), "\"id\":99,"));
}

static void later(struct fixture *f, int64_t s)
{
	struct clock c;

	clock_real(&c); /* the daemon itself checks once a second, by this clock */
	f->later_ns += s * NS_PER_S;
	control_second(f->control, mono_add(c.now(&c), f->later_ns));
	loop(f);
}

RIG_TEST(peer__idle_or_trickling_or_not_reading__is_hung_up_in_time)
{
	struct fixture *f = *state;
	int idle = dial(f), slow = dial(f), deaf = dial(f), good = dial(f);

	make_large_replies(f);
	say(f, deaf, EVENTS_REQUEST);
	later(f, 0);
	for (int i = 0; i < 5; i++) { /* a byte every 2 s */
		say(f, slow, "{");
		later(f, 2);
		ask(f, good, i);
	}
	later(f, 3);
	assert_true(is_closed(f, slow));
	for (int i = 0; i < 25; i++) {
		char some[100]; /* it reads, but too slowly to end */

		assert_int_equal(recv(deaf, some, sizeof(some), 0), sizeof(some));
		later(f, 2);
		ask(f, good, i);
	}
	assert_true(is_closed(f, idle));
	assert_non_null(strstr(ask(f, good, 77), "\"id\":77,"));
	hear(f, deaf); /* what is in the kernel's buffer */
	assert_true(is_closed(f, deaf));
}

/* All unread replies together are bounded, and clients that do read are served. */
RIG_TEST(peers__many_that_never_read__hold_no_more_than_they_may)
{
	struct fixture *f = *state;
	int good = dial(f), closed = 0;

	for (int i = 0; i < 4 * GUESTS_EVENTS; i++)
		guests_event(f->rig->gs, WALL, "a-guest", "registry", "%0190d", i);
	for (int i = 0; i < 63; i++) {
		int fd = dial(f);

		for (int k = 0; k < 4; k++)
			(void)!send(fd, EVENTS_REQUEST, strlen(EVENTS_REQUEST), MSG_NOSIGNAL);
		loop(f);
	}
	assert_non_null(strstr(ask(f, good, 77), "\"id\":77,"));
	for (size_t i = 0; i < CONNS_MAX; i++) {
		hear(f, f->fd[i]);
		closed += f->fd[i] != good && is_closed(f, f->fd[i]);
	}
	assert_in_range(closed, 10, 50);
}

/* Another user's connections, as root can make them; false: we are not root. */
static bool become(uid_t uid)
{
	return !seteuid(uid);
}

RIG_TEST(connections__of_others_than_root__leave_some_to_root)
{
	struct fixture *f = *state;
	int fd = -1;

	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(tmp_at(&f->rig->dir, ""), 0711), 0);
	assert_int_equal(chmod(tmp_at(&f->rig->dir, "sock"), 0666), 0);
	for (int i = 0; i < CONNS_MAX - CONTROL_CONNS_ROOT + 1; i++) {
		assert_true(become(30000 + (uid_t)i % 4));
		fd = dial_quietly(f);
		assert_true(become(0));
		loop(f);
	}
	assert_non_null(strstr(hear(f, fd), "48 connections of users other than root are open"));
	assert_non_null(strstr(ask(f, dial(f), 99), "\"id\":99,"));
}

RIG_TEST(connections__of_one_user__are_limited)
{
	struct fixture *f = *state;
	int fd = -1;

	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(tmp_at(&f->rig->dir, ""), 0711), 0);
	assert_int_equal(chmod(tmp_at(&f->rig->dir, "sock"), 0666), 0);
	for (int i = 0; i < 17; i++) {
		assert_true(become(30000));
		fd = dial_quietly(f);
		assert_true(become(0));
		loop(f);
	}
	assert_non_null(strstr(hear(f, fd), "user 30000 has 16 connections open"));
}

/* --- the socket's file --------------------------------------------------------------- */

static mode_t mode_of(struct fixture *f)
{
	struct stat st;

	assert_int_equal(stat(tmp_at(&f->rig->dir, "sock"), &st), 0);
	return st.st_mode & 0777;
}

static int reopen(struct fixture *f, struct conf_error *e)
{
	struct control *c = NULL;
	int rc;

	if (f->control)
		control_close(f->control);
	f->control = NULL;
	memset(e, 0, sizeof(*e));
	rc = control_open(&c, f->base, f->rig->gs, NULL, e);
	f->control = c;
	return rc;
}

RIG_TEST(socket__without_a_group__is_its_owners_alone)
{
	struct fixture *f = *state;

	assert_int_equal(mode_of(f), 0600);
}

RIG_TEST(socket__with_a_group__is_the_groups_too)
{
	struct fixture *f = *state;
	const struct group *g = getgrgid(getgid());
	struct conf_error e;
	struct stat st;

	if (!g)
		skip();
	snprintf(f->rig->conf.socket_group, FLOW_NAME_MAX, "%s", g->gr_name);
	assert_int_equal(reopen(f, &e), 0);
	assert_int_equal(mode_of(f), 0660);
	assert_int_equal(stat(tmp_at(&f->rig->dir, "sock"), &st), 0);
	assert_int_equal(st.st_gid, getgid());
}

RIG_TEST(socket__group_unknown__is_refused_and_nothing_left)
{
	struct fixture *f = *state;
	struct conf_error e;

	strcpy(f->rig->conf.socket_group, "no-such-group");
	assert_int_equal(reopen(f, &e), -EINVAL);
	assert_non_null(strstr(e.text, "\"no-such-group\""));
	assert_false(tmp_exists(&f->rig->dir, "sock"));
}

RIG_TEST(socket__left_by_a_killed_daemon__is_replaced)
{
	struct fixture *f = *state;
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct conf_error e;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	control_close(f->control);
	f->control = NULL;
	strcpy(a.sun_path, tmp_at(&f->rig->dir, "sock"));
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
	assert_true(tmp_exists(&f->rig->dir, "sock"));
	assert_int_equal(reopen(f, &e), 0);
	assert_non_null(strstr(ask(f, dial(f), 3), "\"id\":3,"));
}

RIG_TEST(socket__some_other_file_in_its_place__is_left_alone)
{
	struct fixture *f = *state;
	struct conf_error e;
	char text[32];

	control_close(f->control);
	f->control = NULL;
	tmp_write(&f->rig->dir, "sock", "precious");
	assert_true(reopen(f, &e) < 0);
	assert_non_null(strstr(e.text, "/sock: "));
	assert_string_equal(tmp_read(&f->rig->dir, "sock", text, sizeof(text)), "precious");
	assert_int_equal(unlink(tmp_at(&f->rig->dir, "sock")), 0);
}

RIG_TEST(socket__directory_missing__is_said)
{
	struct fixture *f = *state;
	struct conf_error e;

	snprintf(f->rig->conf.socket, CONFIG_PATH_MAX, "%s/none/sock", f->rig->dir.path);
	assert_int_equal(reopen(f, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/none/sock: "));
}

RIG_TEST(close__with_connections_open__they_are_hung_up)
{
	struct fixture *f = *state;
	int a = dial(f), b = dial(f);

	say(f, a, "{");
	control_close(f->control);
	f->control = NULL;
	assert_true(is_closed(f, a));
	assert_true(is_closed(f, b));
}

/* main() calls it before the first test. */
void unit_begin(void)
{
	signal(SIGPIPE, SIG_IGN); /* as resexd's main does */
}
