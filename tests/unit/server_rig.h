/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server_rig: a control server in the test's own libevent loop, and real connections to it.
 */
#ifndef RESEX_TESTS_SERVER_RIG_H
#define RESEX_TESTS_SERVER_RIG_H

#include "src/control/server.h"

#include <grp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "src/control/proto.h"
#include "src/util/clock.h"
#include "tests/fakes/fake_cluster.h"
#include "tests/unit/guests_rig.h"
#include "tests/unit/unit.h"

enum { CONNS_MAX = 64, REPLY_MAX = 2 << 20, MANY = 500 };

#define REQUEST "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"policy-list\"}\n"

struct fixture {
	struct guests_rig *rig;
	struct event_base *base;
	struct control *control;
	int64_t later_ns;
	int fd[2 * CONNS_MAX];
	char buf[REPLY_MAX];
};

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct conf_error e = { 0 };
	void *rig = NULL;

	assert_non_null(f);
	assert_int_equal(rig_setup(&rig), 0);
	f->rig = rig;
	f->base = event_base_new();
	assert_non_null(f->base);
	for (size_t i = 0; i < 2 * CONNS_MAX; i++)
		f->fd[i] = -1;
	if (control_open(&f->control, f->base, f->rig->gs, NULL, &e))
		fail_msg("%s", e.text);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;
	void *rig = f->rig;

	for (size_t i = 0; i < 2 * CONNS_MAX; i++)
		if (f->fd[i] >= 0)
			close(f->fd[i]);
	if (f->control)
		control_close(f->control);
	assert_false(tmp_exists(&f->rig->dir, "sock"));
	event_base_free(f->base);
	free(f);
	return rig_teardown(&rig);
}

/* Run the daemon's loop while it has something to do. */
static inline void loop(struct fixture *f)
{
	for (int i = 0; i < 20; i++)
		event_base_loop(f->base, EVLOOP_NONBLOCK);
}

/* Connect, without running the daemon's loop. */
static inline int dial_quietly(struct fixture *f)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	size_t i = 0;

	assert_true(fd >= 0);
	strcpy(a.sun_path, tmp_at(&f->rig->dir, "sock"));
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	while (f->fd[i] >= 0)
		i++;
	f->fd[i] = fd;
	return fd;
}

static inline int dial(struct fixture *f)
{
	int fd = dial_quietly(f);

	loop(f);
	return fd;
}

static inline void hang_up(struct fixture *f, int fd)
{
	for (size_t i = 0; i < 2 * CONNS_MAX; i++)
		if (f->fd[i] == fd)
			f->fd[i] = -1;
	close(fd);
	loop(f);
}

/* Send all of it, and let the daemon read meanwhile. */
static inline void say_bytes(struct fixture *f, int fd, const char *p, size_t n)
{
	for (int idle = 0; n && idle < 1000; idle++) {
		ssize_t w = send(fd, p, n, MSG_NOSIGNAL);

		if (w > 0) {
			p += w;
			n -= (size_t)w;
			idle = 0;
		}
		loop(f);
	}
	assert_int_equal(n, 0);
}

static inline void say(struct fixture *f, int fd, const char *text)
{
	say_bytes(f, fd, text, strlen(text));
}

/* What has come until now; "" when nothing. */
static inline const char *hear(struct fixture *f, int fd)
{
	size_t n = 0;
	ssize_t r;

	loop(f);
	while (n < sizeof(f->buf) - 1 &&
	       (r = recv(fd, f->buf + n, sizeof(f->buf) - 1 - n, 0)) > 0) {
		n += (size_t)r;
		loop(f);
	}
	f->buf[n] = 0;
	return f->buf;
}

static inline bool is_closed(struct fixture *f, int fd)
{
	char c;
	ssize_t r;

	loop(f);
	r = recv(fd, &c, 1, 0);
	return r == 0 || (r < 0 && errno == ECONNRESET);
}

static inline uint32_t lines(const char *text)
{
	uint32_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static inline const char *ask(struct fixture *f, int fd, int id)
{
	char line[128];

	snprintf(line, sizeof(line), REQUEST, id);
	say(f, fd, line);
	return hear(f, fd);
}

#endif
