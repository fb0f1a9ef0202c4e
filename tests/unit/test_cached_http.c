// SPDX-License-Identifier: GPL-2.0-or-later
/* api: hostile HTTP: lengths that are unclear, parts, too much, too many, and clients that go. */
#include <sys/wait.h>

#include "tests/unit/api_rig.h"

static const char good[] = GOOD;

/* It is refused, nothing is done, and the connection is closed: what follows is no request. */
static void assert_unclear(struct rig *r, const char *head)
{
	int fd = dial(r);

	r->app.calls = 0;
	say(r, fd, head);
	say(r, fd, good);
	say(r, fd, good);
	hear(r, fd);
	if (r->status != 400)
		print_error("%s\n%s\n", head, r->buf);
	assert_int_equal(r->status, 400);
	assert_null(strstr(r->buf + 5, "HTTP/1.1 "));
	assert_true(is_closed(r, fd));
	assert_int_equal(r->app.calls, 0);
	close(fd);
	loop(r);
}

RIG_TEST(length__two_that_differ__is_refused)
{
	struct rig *r = *state;

	assert_unclear(r, POST "Content-Length: 46\r\nContent-Length: 3\r\n\r\n" GOOD_BODY);
	assert_refused(r, 400, "http");
	assert_non_null(strstr(r->body, "two Content-Length"));
	assert_unclear(r, POST "Content-Length: 3\r\ncontent-length: 46\r\n\r\n" GOOD_BODY);
}

RIG_TEST(length__two_that_are_equal__is_refused)
{
	assert_unclear(*state, POST "Content-Length: 46\r\nContent-Length: 46\r\n\r\n" GOOD_BODY);
}

RIG_TEST(length__two_on_a_path_without_a_body__is_refused)
{
	assert_unclear(*state, "GET /v1/info HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n"
			       "\r\n");
}

RIG_TEST(length__no_decimal_number__is_refused)
{
	static const char *const lengths[] = { "+46", "-1", "0x2e", "46, 46",  "46 46", "4 6",
					       "46a", "",   " ",    "\t46\t7", "1e2" };
	char head[256];

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		snprintf(head, sizeof(head), POST "Content-Length: %s\r\n\r\n" GOOD_BODY,
			 lengths[i]);
		assert_unclear(*state, head);
	}
}

RIG_TEST(length__name_with_a_space__is_refused)
{
	assert_unclear(*state, POST "Content-Length : 46\r\n\r\n" GOOD_BODY);
	assert_unclear(*state, POST "Content-Length\t: 46\r\n\r\n" GOOD_BODY);
	assert_unclear(*state, POST "X\x01: 1\r\nContent-Length: 46\r\n\r\n" GOOD_BODY);
	assert_unclear(*state, POST ": 1\r\nContent-Length: 46\r\n\r\n" GOOD_BODY);
}

RIG_TEST(length__none__is_refused)
{
	assert_unclear(*state, POST "\r\n" GOOD_BODY);
	assert_unclear(*state, POST " Content-Length: 46\r\n\r\n" GOOD_BODY); /* of Host */
}

RIG_TEST(length__on_two_lines__is_refused)
{
	assert_unclear(*state, POST "Content-Length: 4\r\n 6\r\n\r\n" GOOD_BODY);
}

RIG_TEST(encoding__chunked__is_refused)
{
	struct rig *r = *state;

	assert_unclear(r,
		       POST "Transfer-Encoding: chunked\r\n\r\n2e\r\n" GOOD_BODY "\r\n0\r\n\r\n");
	assert_non_null(strstr(r->body, "send Content-Length"));
	assert_unclear(r, POST
		       "Transfer-Encoding: chunked\r\nContent-Length: 46\r\n\r\n2e\r\n" GOOD_BODY
		       "\r\n0\r\n\r\n");
	assert_unclear(r,
		       POST "Transfer-Encoding: identity\r\nContent-Length: 46\r\n\r\n" GOOD_BODY);
}

RIG_TEST(method__without_a_body__ends_its_connection)
{
	static const char *const methods[] = { "HEAD", "BREW", "TRACE" };
	struct rig *r = *state;

	for (int i = 0; i < 3; i++) {
		char head[512];
		int fd = dial(r);

		/* The body is a request: it must not be served. */
		snprintf(head, sizeof(head),
			 "%s /v1/update HTTP/1.1\r\nContent-Length: %zu\r\n\r\n%s", methods[i],
			 sizeof(good) - 1, good);
		say(r, fd, head);
		assert_int_equal(hear(r, fd), 405);
		assert_true(is_closed(r, fd));
		assert_int_equal(r->app.calls, 0);
		close(fd);
	}
}

/* --- parts -------------------------------------------------------------- */

RIG_TEST(request__cut_at_each_byte__does_nothing)
{
	struct rig *r = *state;

	for (size_t n = 0; n < sizeof(good) - 1; n++) {
		int fd = dial(r);

		say_bytes(r, fd, good, n);
		assert_int_equal(hear(r, fd), 0);
		close(fd);
		loop(r);
		assert_int_equal(r->app.calls, 0);
	}
	assert_alive(r);
}

RIG_TEST(request__cut_at_each_byte_and_ended__does_nothing)
{
	struct rig *r = *state;

	for (size_t n = 0; n < sizeof(good) - 1; n++) {
		int fd = dial(r);

		say_bytes(r, fd, good, n);
		shutdown(fd, SHUT_WR);
		loop(r);
		close(fd);
		loop(r);
		assert_int_equal(r->app.calls, 0);
	}
	assert_alive(r);
}

RIG_TEST(body__cut_at_each_byte__is_refused)
{
	static const char *const bodies[][2] = {
		{ "/v1/update",
		  "{\"tags\":[\"a\"],\"statements\":[{\"sql\":\"x\",\"params\":[null]}]}" },
		{ "/v1/fill", "{\"home\":2,\"word\":17}" },
		{ "/v1/fill/0000000000000001", "{\"tags\":[\"\\u00e9\"],\"snapshot\":\"1:2:\"}" },
		{ "/v1/invalidate", "{\"tag\":\"item/5\"}" },
		{ "/v1/remove", "{\"host\":\"app1\",\"force\":true}" },
	};
	struct rig *r = *state;

	for (int i = 0; i < 5; i++) {
		size_t len = strlen(bodies[i][1]);

		r->app.calls = 0;
		for (size_t n = 0; n < len; n++) {
			ask_bytes(r, "POST", bodies[i][0], bodies[i][1], n);
			assert_refused(r, 400, "bad");
		}
		assert_int_equal(r->app.calls, 0);
		assert_int_equal(ask_bytes(r, "POST", bodies[i][0], bodies[i][1], len), 200);
	}
}

RIG_TEST(request__byte_by_byte__is_served)
{
	struct rig *r = *state;
	int fd = dial(r);

	for (size_t n = 0; n < sizeof(good) - 1; n++)
		say_bytes(r, fd, good + n, 1);
	assert_int_equal(hear(r, fd), 200);
	close(fd);
}

RIG_TEST(requests__many_at_once_on_a_connection__are_served_in_order)
{
	struct rig *r = *state;
	int fd = dial(r);
	char *text = malloc(20 * sizeof(good)), *at = text;
	uint32_t replies = 0;

	assert_non_null(text);
	for (int i = 0; i < 20; i++) {
		memcpy(at, good, sizeof(good) - 1);
		at += sizeof(good) - 1;
	}
	say_bytes(r, fd, text, (size_t)(at - text));
	for (int i = 0; i < 50; i++)
		loop(r);
	hear(r, fd);
	for (const char *p = r->buf; (p = strstr(p, "HTTP/1.1 200")); p++)
		replies++;
	assert_int_equal(replies, 20);
	assert_int_equal(r->app.calls, 20);
	free(text);
	close(fd);
}

RIG_TEST(request__http_1_0__is_served_and_ends)
{
	struct rig *r = *state;
	int fd = dial(r);

	say(r, fd, "GET /v1/info HTTP/1.0\r\n\r\n");
	assert_int_equal(hear(r, fd), 200);
	assert_true(is_closed(r, fd));
	close(fd);
}

RIG_TEST(request__expects_to_be_told_to_go_on__is_told)
{
	struct rig *r = *state;
	int fd = dial(r);

	say(r, fd, POST "Expect: 100-continue\r\nContent-Length: 46\r\n\r\n");
	hear(r, fd);
	assert_non_null(strstr(r->buf, "HTTP/1.1 100 Continue"));
	say(r, fd, GOOD_BODY);
	assert_int_equal(hear(r, fd), 200);
	close(fd);
}

/* evhttp refuses these by itself, with a page of its own: which is replaced by a sentence. */
RIG_TEST(no_http__is_refused_by_a_sentence)
{
	static const struct {
		const char *text;
		int status;
		const char *why;
	} rows[] = {
		{ "GARBAGE\r\n\r\n", 400, "http" },
		{ "\r\n\r\n", 400, "http" },
		{ "GET /v1/info\r\n\r\n", 400, "http" },
		{ "GET /v1/info HTTP/9.x\r\n\r\n", 400, "http" },
		{ "GET /v1/info HTTP/1.1\r\nno colon\r\n\r\n", 400, "http" },
		{ POST "Content-Length: -1\r\n\r\n", 400, "http" },
		{ POST "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 413, "too_long" },
		{ POST "Expect: rubbish\r\nContent-Length: 46\r\n\r\n" GOOD_BODY, 417, "http" },
		{ POST "Expect: 100-continue\r\nContent-Length: 9000000\r\n\r\n", 413, "too_long" },
	};
	struct rig *r = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = dial(r);

		/* Also behind a good one on the same connection. */
		if (i % 2) {
			say(r, fd, "GET /v1/info HTTP/1.1\r\n\r\n");
			assert_int_equal(hear(r, fd), 200);
		}
		say(r, fd, rows[i].text);
		hear(r, fd);
		if (r->status != rows[i].status)
			print_error("%s\n%s\n", rows[i].text, r->buf);
		assert_refused(r, rows[i].status, rows[i].why);
		assert_null(strstr(r->buf + 5, "HTTP/1.1 "));
		assert_null(strstr(r->buf, "<"));
		assert_true(is_closed(r, fd));
		close(fd);
	}
	assert_alive(r);
}

/* The reply comes after "100 Continue" was sent, and is not taken for evhttp's. */
RIG_TEST(request__told_to_go_on__is_answered_later)
{
	static const char head[] = POST "Expect: 100-continue\r\nContent-Length: 46\r\n\r\n";
	struct rig *r = *state;
	int fd = dial(r);

	r->app.later = true;
	assert_int_equal(send(fd, head, sizeof(head) - 1, 0), sizeof(head) - 1);
	event_base_loop(r->base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
	say(r, fd, GOOD_BODY); /* before that is sent */
	hear(r, fd);
	assert_non_null(strstr(r->buf, "HTTP/1.1 100 Continue"));
	fake_app_answer(&r->app);
	assert_int_equal(hear(r, fd), 200);
	say(r, fd, "rubbish\r\n\r\n");
	hear(r, fd);
	assert_refused(r, 400, "http");
	close(fd);
}

/* --- too much -------------------------------------------------------------- */

RIG_TEST(body__as_large_as_may_be__is_read)
{
	struct rig *r = *state;
	char *body = malloc(API_BODY_MAX + 2);

	assert_non_null(body);
	memset(body, ' ', API_BODY_MAX + 1);
	memcpy(body, GOOD_BODY, sizeof(GOOD_BODY) - 1);
	assert_int_equal(ask_bytes(r, "POST", "/v1/update", body, API_BODY_MAX), 200);
	ask_bytes(r, "POST", "/v1/update", body, API_BODY_MAX + 1);
	assert_refused(r, 413, "too_long");
	assert_int_equal(r->app.calls, 1);
	free(body);
	assert_alive(r);
}

RIG_TEST(body__huge_length__is_refused_before_it_comes)
{
	struct rig *r = *state;
	int fd = dial(r);

	say(r, fd, POST "Content-Length: 9000000000000000000\r\n\r\n");
	hear(r, fd);
	assert_refused(r, 413, "too_long");
	assert_true(is_closed(r, fd));
	close(fd);
}

RIG_TEST(headers__too_large__are_refused)
{
	struct rig *r = *state;
	char *text = malloc(API_HEADERS_MAX + 4096);
	int fd = dial(r), n;

	assert_non_null(text);
	n = sprintf(text, POST "X: ");
	memset(text + n, 'x', API_HEADERS_MAX + 1);
	strcpy(text + n + API_HEADERS_MAX + 1, "\r\n\r\n");
	say(r, fd, text);
	hear(r, fd);
	assert_refused(r, 400, "http");
	assert_true(is_closed(r, fd));
	close(fd);
	/* without an end of line */
	fd = dial(r);
	memset(text, 'x', API_HEADERS_MAX + 4095);
	say_bytes(r, fd, text, API_HEADERS_MAX + 4095);
	hear(r, fd);
	assert_refused(r, 400, "http");
	assert_true(is_closed(r, fd));
	close(fd);
	/* many small ones */
	fd = dial(r);
	say(r, fd, POST);
	for (int i = 0; i < API_HEADERS_MAX; i++)
		send(fd, "a:b\r\n", 5, MSG_NOSIGNAL);
	loop(r);
	assert_int_equal(r->app.calls, 0);
	close(fd);
	free(text);
	assert_alive(r);
}

/* --- too many -------------------------------------------------------------- */

RIG_TEST(connections__too_many__are_refused_until_one_ends)
{
	struct rig *r = *state;
	int fd[API_CONNS_MAX], more;

	if (getuid())
		skip(); /* others get fewer */
	for (int i = 0; i < API_CONNS_MAX; i++)
		fd[i] = dial(r);
	more = dial(r);
	assert_int_equal(hear(r, more), 503);
	assert_refused(r, 503, "busy");
	assert_true(is_closed(r, more));
	close(more);
	say(r, fd[0], good); /* those that are open are served */
	assert_int_equal(hear(r, fd[0]), 200);
	close(fd[0]);
	loop(r);
	more = dial(r);
	say(r, more, good);
	assert_int_equal(hear(r, more), 200);
	close(more);
	for (int i = 1; i < API_CONNS_MAX; i++)
		close(fd[i]);
}

RIG_TEST(connections__many_come_at_once__so_many_are_admitted)
{
	enum { ROUND = 60, MANY = API_CONNS_MAX + ROUND };
	struct rig *r = *state;
	int fd[MANY], refused = 0;

	if (getuid())
		skip();
	for (int i = 0; i < MANY; i++) {
		fd[i] = dial_quietly(r); /* the listener takes them in one go */
		if (i % ROUND == ROUND - 1)
			loop(r);
	}
	loop(r);
	for (int i = 0; i < MANY; i++) {
		refused += hear(r, fd[i]) == 503;
		close(fd[i]);
	}
	assert_int_equal(refused, MANY - API_CONNS_MAX);
	assert_alive(r);
}

/* So they cannot keep the operator out. */
RIG_TEST(connections__all_of_another_user__leave_some_for_root)
{
	enum { MANY = API_CONNS_MAX };
	struct rig *r = *state;
	int pipes[2], refused, fd;
	pid_t child;

	if (getuid())
		skip();
	assert_int_equal(chmod(r->dir.path, 0755), 0);
	assert_int_equal(chmod(r->conf->socket, 0666), 0);
	assert_int_equal(pipe(pipes), 0);
	child = fork();
	assert_true(child >= 0); /* kill(-1) would end all processes */
	if (!child) {
		struct sockaddr_un a = { .sun_family = AF_UNIX };
		int s[MANY], n = 0;
		char c;

		strcpy(a.sun_path, r->conf->socket);
		if (setgid(65534) || setuid(65534))
			_exit(1);
		for (int i = 0; i < MANY; i++) {
			s[i] = socket(AF_UNIX, SOCK_STREAM, 0);
			if (connect(s[i], (struct sockaddr *)&a, sizeof(a)))
				_exit(1);
		}
		/* A good one answers nothing, so the refused ones are the last. */
		for (int i = MANY - 1; i >= 0 && n < API_CONNS_ROOT; i--)
			n += recv(s[i], &c, 1, 0) == 1;
		if (write(pipes[1], &n, sizeof(n)) != sizeof(n))
			_exit(1);
		pause();
	}
	refused = served_number(r, pipes[0]);
	assert_int_equal(refused, API_CONNS_ROOT);
	assert_alive(r);
	fd = dial(r);
	close(fd);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(pipes[0]);
	close(pipes[1]);
}

RIG_TEST(connections__thousands_that_come_and_go__leave_nothing)
{
	struct rig *r = *state;
	int before = dup(0), after;

	for (int i = 0; i < 3000; i++) {
		int fd = dial_quietly(r);

		if (i % 3 == 0)
			loop(r);
		if (i % 5 == 0)
			say(r, fd, "GARBAGE\r\n\r\n");
		close(fd);
		if (i % 50 == 0)
			loop(r);
	}
	for (int i = 0; i < 100; i++)
		loop(r);
	assert_alive(r);
	api_second(r->api, (struct mono){ 0 });
	after = dup(0);
	assert_int_equal(after, before + 1);
	close(before);
	close(after);
}

/* --- time -------------------------------------------------------------- */

static struct mono in_s(int64_t s)
{
	struct clock c;

	clock_real(&c);
	return mono_add(c.now(&c), s * NS_PER_S);
}

RIG_TEST(connection__idle__is_closed)
{
	struct rig *r = *state;
	int fd = dial(r), other = dial(r);

	say(r, other, good);
	assert_int_equal(hear(r, other), 200); /* it idles between two requests */
	api_second(r->api, in_s(API_IDLE_S - 1));
	assert_false(is_closed(r, fd));
	assert_false(is_closed(r, other));
	api_second(r->api, in_s(API_IDLE_S + 1));
	assert_true(is_closed(r, fd));
	assert_true(is_closed(r, other));
	close(fd);
	close(other);
}

RIG_TEST(connection__that_trickles__is_closed)
{
	struct rig *r = *state;
	int fd = dial(r);

	say_bytes(r, fd, good, 30);
	api_second(r->api, in_s(API_IDLE_S - 1));
	say_bytes(r, fd, good + 30, 1); /* a byte is no progress */
	api_second(r->api, in_s(API_IDLE_S + 1));
	say_bytes(r, fd, good + 31, sizeof(good) - 32);
	assert_int_equal(hear(r, fd), 0);
	assert_int_equal(r->app.calls, 0);
	close(fd);
}

RIG_TEST(connection__that_waits_for_its_answer__stays)
{
	struct rig *r = *state;
	int fd = dial(r);

	r->app.later = true;
	say(r, fd, good);
	api_second(r->api, in_s(1000));
	assert_false(is_closed(r, fd));
	fake_app_answer(&r->app);
	assert_int_equal(hear(r, fd), 200);
	close(fd);
}

/* --- clients that go -------------------------------------------------------------- */

RIG_TEST(client__gone_while_its_update_is_under_way__the_update_goes_on)
{
	struct rig *r = *state;
	int fd = dial(r);

	r->app.later = true;
	say(r, fd, good);
	assert_int_equal(r->app.calls, 1);
	close(fd);
	loop(r);
	assert_int_equal(r->app.waits, 1);
	fake_app_answer(&r->app); /* nobody hears it */
	loop(r);
	r->app.later = false;
	assert_alive(r);
}

RIG_TEST(client__ends_its_half_while_its_update_is_under_way__is_answered)
{
	struct rig *r = *state;
	int fd = dial(r);

	r->app.later = true;
	say(r, fd, good);
	shutdown(fd, SHUT_WR);
	loop(r);
	fake_app_answer(&r->app);
	assert_int_equal(hear(r, fd), 200);
	close(fd);
}

RIG_TEST(clients__many_gone_while_their_calls_are_under_way__are_forgotten)
{
	struct rig *r = *state;
	int fd[100];

	r->app.later = true;
	for (int i = 0; i < 100; i++) {
		fd[i] = dial(r);
		if (i % 3 == 0)
			say(r, fd[i],
			    POST "Expect: 100-continue\r\nContent-Length: 46\r\n\r\n" GOOD_BODY);
		else
			say(r, fd[i], good);
		if (i % 2)
			close(fd[i]);
	}
	loop(r);
	assert_int_equal(r->app.waits, 100);
	for (int i = 0; i < 50; i++)
		fake_app_answer(&r->app);
	loop(r);
	for (int i = 0; i < 100; i += 2) {
		assert_int_equal(hear(r, fd[i]), i < 50 ? 200 : 0);
		close(fd[i]);
	}
	/* the others are under way at api_close */
}

RIG_TEST(close__calls_under_way__are_not_answered)
{
	struct rig *r = *state;
	int fd = dial(r);

	r->app.later = true;
	say(r, fd, good);
	api_close(r->api);
	r->api = NULL;
	assert_int_equal(recv(fd, r->buf, 1, 0), 0);
	close(fd);
}

RIG_TEST(client__does_not_read_its_reply__is_closed)
{
	struct rig *r = *state;
	int fd = dial(r);

	for (int i = 0; i < 2 * EVENTS_MAX; i++)
		events_add(r->events, "%0250d", i);
	for (int i = 0; i < 2000; i++)
		send(fd, "GET /v1/events HTTP/1.1\r\n\r\n", 27, MSG_NOSIGNAL);
	loop(r);
	api_second(r->api, in_s(API_IDLE_S + 1));
	for (int i = 0; i < 100 && recv(fd, r->buf, REPLY_MAX, 0) > 0; i++)
		loop(r);
	assert_true(is_closed(r, fd));
	close(fd);
	assert_alive(r);
}

/* --- anything -------------------------------------------------------------- */

static size_t garble(struct prop *p, char *text, size_t n)
{
	static const char *const words[] = {
		"\r\n",	 "\r\n\r\n", "Content-Length: 0\r\n", "HTTP/1.1", " ", ":", "\n", "GET ",
		"POST ", "chunked",  "Transfer-Encoding: ",   "/v1/",	  "{", "}", "[",  "\"",
		"%00",	 "?",
	};

	for (uint64_t edits = prop_range(p, 0, 6); edits; edits--) {
		size_t at = (size_t)prop_range(p, 0, n ? n - 1 : 0);
		const char *word = words[prop_range(p, 0, sizeof(words) / sizeof(words[0]) - 1)];
		size_t len = strlen(word);

		switch (prop_range(p, 0, 3)) {
		case 0:
			text[at] = (char)prop_u64(p);
			break;
		case 1: /* cut */
			n = at;
			break;
		case 2: /* put in */
			memmove(text + at + len, text + at, n - at);
			memcpy(text + at, word, len);
			n += len;
			break;
		default: /* the begin again */
			memmove(text + n, text, at);
			n += at;
		}
	}
	return n;
}

RIG_TEST(anything__garbled_requests__others_are_served)
{
	struct rig *r = *state;
	struct prop p;
	char text[1 << 16];
	uint32_t replies = 0;

	prop_start(&p);
	for (int i = 0; i < 4000; i++) {
		size_t n = sizeof(good) - 1;
		int fd = dial_quietly(r);

		memcpy(text, good, n);
		if (prop_one_in(&p, 10))
			for (size_t k = 0; k < n; k++)
				text[k] = (char)prop_u64(&p);
		n = garble(&p, text, n);
		say_bytes(r, fd, text, n);
		if (prop_one_in(&p, 2))
			replies += hear(r, fd) != 0;
		close(fd);
		loop(r);
		if (i % 100 == 0)
			assert_alive(r);
	}
	print_message("%u replies to garbled requests\n", replies);
	assert_true(replies > 500);
}
