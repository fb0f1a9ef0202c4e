// SPDX-License-Identifier: GPL-2.0-or-later
/* api: bodies that are too much together, or of a user who may send none. */
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/api_rig.h"

static json_int_t http_figure(struct rig *r, const char *name)
{
	json_int_t is;
	json_t *o;

	assert_int_equal(ask(r, "GET", "/v1/info", ""), 200);
	o = json_loads(r->body, 0, NULL);
	is = json_integer_value(json_object_get(json_object_get(o, "http"), name));
	json_decref(o);
	return is;
}

/* What a socket has room for; the server reads a little in each turn. */
static void read_all(struct rig *r)
{
	for (int i = 0; i < 30; i++)
		loop(r);
}

/* All but the last byte of a body as large as may be. */
static int hold_body(struct rig *r, char *body)
{
	int fd = dial(r);

	say(r, fd, POST "Content-Length: 2097152\r\n\r\n");
	say_bytes(r, fd, body, API_BODY_MAX - 1);
	read_all(r);
	return fd;
}

RIG_TEST(bodies__too_much_together__are_refused_until_some_are_read)
{
	enum { MANY = API_BODIES_MAX / API_BODY_MAX - 1 }; /* with their headers */
	struct rig *r = *state;
	char *body = malloc(API_BODY_MAX);
	int fd[MANY + 3];

	assert_non_null(body);
	memset(body, ' ', API_BODY_MAX);
	memcpy(body, GOOD_BODY, sizeof(GOOD_BODY) - 1);
	for (int i = 0; i < MANY - 1; i++)
		fd[i] = hold_body(r, body);
	assert_true(http_figure(r, "held_bytes") > (MANY - 1) * (API_BODY_MAX - 1));
	assert_int_equal(http_figure(r, "bodies_refused"), 0);
	for (int i = MANY - 1; i < MANY + 3; i++)
		fd[i] = hold_body(r, body);
	for (int i = MANY; i < MANY + 3; i++) {
		hear(r, fd[i]);
		assert_refused(r, 503, "busy");
		assert_true(is_closed(r, fd[i]));
	}
	assert_int_equal(http_figure(r, "bodies_refused"), 3);
	assert_true(http_figure(r, "held_bytes") < API_BODIES_MAX + API_HEADERS_MAX);
	assert_alive(r); /* small ones are served all the same */
	for (int i = 0; i < MANY; i++) {
		r->app.calls = 0;
		say_bytes(r, fd[i], " ", 1);
		assert_int_equal(hear(r, fd[i]), 200);
	}
	assert_true(http_figure(r, "held_bytes") < API_HEADERS_MAX);
	assert_int_equal(ask_bytes(r, "POST", "/v1/update", body, API_BODY_MAX), 200);
	for (int i = 0; i < MANY + 3; i++)
		close(fd[i]);
	free(body);
}

RIG_TEST(bodies__of_clients_that_go__are_not_held)
{
	struct rig *r = *state;
	char *body = calloc(1, API_BODY_MAX);

	assert_non_null(body);
	for (int i = 0; i < 3 * API_BODIES_MAX / API_BODY_MAX; i++)
		close(hold_body(r, body));
	loop(r);
	assert_int_equal(http_figure(r, "bodies_refused"), 0);
	assert_true(http_figure(r, "held_bytes") < API_HEADERS_MAX);
	free(body);
}

RIG_TEST(bodies__whose_calls_are_under_way__are_not_held)
{
	enum { MANY = 2 * API_BODIES_MAX / API_BODY_MAX };
	struct rig *r = *state;
	char *body = malloc(API_BODY_MAX);
	int fd[MANY];

	assert_non_null(body);
	memset(body, ' ', API_BODY_MAX);
	memcpy(body, GOOD_BODY, sizeof(GOOD_BODY) - 1);
	r->app.later = true;
	for (int i = 0; i < MANY; i++) {
		fd[i] = dial(r);
		say_request(r, fd[i], "POST", "/v1/update", body, API_BODY_MAX);
		read_all(r);
	}
	assert_int_equal(r->app.waits, MANY);
	assert_true(http_figure(r, "held_bytes") < API_HEADERS_MAX);
	for (int i = 0; i < MANY; i++)
		fake_app_answer(&r->app);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(hear(r, fd[i]), 200);
		close(fd[i]);
	}
	free(body);
}

/* Its bodies would be refused when they are read, and meanwhile fill what others need. */
RIG_TEST(bodies__of_a_user_who_may_only_read__are_refused_early)
{
	struct rig *r = *state;
	int pipes[2], got;
	pid_t child;
	char *body = calloc(1, API_BODY_MAX);

	if (getuid())
		skip();
	assert_non_null(body);
	assert_int_equal(chmod(r->dir.path, 0755), 0);
	assert_int_equal(chmod(r->conf->socket, 0666), 0);
	assert_int_equal(pipe(pipes), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct sockaddr_un a = { .sun_family = AF_UNIX };
		int s = socket(AF_UNIX, SOCK_STREAM, 0), status = 0;
		static const char get[] = "GET /v1/cache HTTP/1.1\r\n\r\n";
		static const char head[] = POST "Content-Length: 2097152\r\n\r\n";
		ssize_t n;

		strcpy(a.sun_path, r->conf->socket);
		if (setgid(65534) || setuid(65534) ||
		    connect(s, (struct sockaddr *)&a, sizeof(a)) ||
		    send(s, get, sizeof(get) - 1, 0) < 0)
			_exit(1);
		/* What is small is served. */
		if (recv(s, r->buf, 1000, 0) < 12 || strncmp(r->buf, "HTTP/1.1 200", 12) != 0)
			_exit(1);
		send(s, head, sizeof(head) - 1, MSG_NOSIGNAL);
		send(s, body, API_HEADERS_MAX + 1, MSG_NOSIGNAL);
		n = recv(s, r->buf, 1000, 0);
		r->buf[n > 0 ? n : 0] = 0;
		sscanf(r->buf, "HTTP/1.1 %d", &status);
		if (write(pipes[1], &status, sizeof(status)) != sizeof(status))
			_exit(1);
		_exit(0);
	}
	got = served_number(r, pipes[0]);
	assert_int_equal(got, 403);
	waitpid(child, NULL, 0);
	close(pipes[0]);
	close(pipes[1]);
	free(body);
	assert_alive(r);
}
