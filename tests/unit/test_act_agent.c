// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * act_agent: what HAProxy's agent-check is answered, over sockets; what is not answered; times by
 * argument. tests/haproxy/live.py has the real HAProxy.
 */
#include "src/reconf/act_agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

#define MS NS_PER_MS

struct rig {
	struct act *a;
	struct act_conf conf;
	struct mono now;
};

/* A port that nobody has: it stays bound to this socket until it is closed. */
static int take_port(uint16_t *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	int fd;

	assert_non_null(r);
	r->now.ns = 1000 * NS_PER_S;
	r->conf = (struct act_conf){ .backend = "web",
				     .servers = 3,
				     .timeout_ns = NS_PER_S,
				     .hold_ns = 2 * NS_PER_S,
				     .server = { "n1", "n2", "n1x" } };
	fd = take_port(&r->conf.port);
	close(fd);
	assert_int_equal(act_agent.open(&r->a, &r->conf), 0);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	act_agent.close(r->a);
	free(r);
	return 0;
}

static int64_t work(struct rig *r)
{
	return act_agent.work(r->a, r->now);
}

static void pass(struct rig *r, int64_t ns)
{
	r->now = mono_add(r->now, ns);
}

static struct act_seen seen(const struct rig *r)
{
	struct act_seen s;

	act_agent.see(r->a, &s);
	return s;
}

static int connected(const struct rig *r)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_port = htons(r->conf.port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* What comes until the end of the connection, which must come soon. */
static const char *heard(int fd)
{
	static char text[64];
	size_t n = 0;
	ssize_t got;

	do {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		assert_int_equal(poll(&p, 1, 10000), 1);
		got = recv(fd, text + n, sizeof(text) - 1 - n, 0);
		n += got > 0 ? (size_t)got : 0;
	} while (got > 0);
	text[n] = '\0';
	close(fd);
	return text;
}

static const char *ask(struct rig *r, const char *line)
{
	int fd;

	work(r);
	fd = connected(r);
	say(fd, line);
	work(r);
	return heard(fd);
}

static void ask_all(struct rig *r)
{
	assert_string_equal(ask(r, "web/n1\n"), "\n");
	assert_string_equal(ask(r, "web/n2\n"), "\n");
	assert_string_equal(ask(r, "web/n1x\n"), "\n");
}

static int put(struct rig *r, uint16_t a, uint16_t b, uint16_t c)
{
	const uint16_t w[] = { a, b, c };

	return act_agent.put(r->a, w, NULL, r->now);
}

static int put_states(struct rig *r, enum act_want a, enum act_want b, enum act_want c)
{
	static const uint16_t w[] = { 256, 128, 0 };
	const enum act_want want[] = { a, b, c };

	return act_agent.put(r->a, w, want, r->now);
}

/* --- answers --------------------------------------------------------------------------------- */

RIG_TEST(answer__of_what_was_put__is_percent_for_a_time)
{
	struct rig *r = *state;

	ask_all(r);
	assert_int_equal(act_agent.read(r->a, r->now), 0);
	assert_int_equal(put(r, 256, 128, 0), 0);
	assert_string_equal(ask(r, "web/n1\n"), "100%\n");
	assert_string_equal(ask(r, "web/n2\r\n"), "50%\n");
	assert_string_equal(ask(r, "web/n1x\n"), "0%\n");
	/* HAProxy cuts, so what is not 0 is not rounded to 0. */
	assert_int_equal(put(r, 1, 2, 255), 0);
	assert_string_equal(ask(r, "web/n1\n"), "1%\n");
	assert_string_equal(ask(r, "web/n2\n"), "1%\n");
	assert_string_equal(ask(r, "web/n1x\n"), "100%\n");
	pass(r, 2 * NS_PER_S - 1);
	assert_string_equal(ask(r, "web/n1\n"), "1%\n");
	pass(r, 1);
	assert_string_equal(ask(r, "web/n1\n"), "\n");
	assert_int_equal(put(r, 0, 257, 0), -EINVAL);
	assert_int_equal(put(r, 64, 0, 0), 0);
	assert_string_equal(ask(r, "web/n1\n"), "25%\n");
}

RIG_TEST(reading__shows_what_each_server_was_told_last)
{
	struct rig *r = *state;
	struct act_seen s;

	assert_int_equal(act_agent.read(r->a, r->now), -ENOTCONN);
	assert_int_equal(put(r, 1, 1, 1), -ENOTCONN);
	work(r);
	assert_int_equal(seen(r).state, ACT_DOWN);
	assert_string_equal(ask(r, "web/n1\n"), "\n");
	assert_int_equal(put(r, 1, 1, 1), -ENOTCONN); /* not before a reading */
	assert_int_equal(act_agent.read(r->a, r->now), 0);
	s = seen(r);
	assert_true(s.state == ACT_READY && s.connections == 1 && s.reads == 1 && !s.sets);
	assert_int_equal(s.read.ns, r->now.ns);
	assert_true(s.server[0].there && s.server[0].up && !s.server[1].there && !s.server[1].up);
	assert_true(s.server[0].weight == 256 && s.server[0].initial == 256);
	assert_true(!s.server[0].own && !s.server[0].served);
	assert_int_equal(put(r, 10, 20, 30), 0);
	assert_int_equal(act_agent.read(r->a, r->now), 0);
	assert_int_equal(seen(r).server[0].weight, 256); /* it was not told yet */
	assert_string_equal(ask(r, "web/n1\n"), "4%\n");
	assert_string_equal(ask(r, "web/n1\n"), "4%\n");
	assert_int_equal(act_agent.read(r->a, r->now), 0);
	assert_int_equal(seen(r).server[0].weight, 10);
	assert_int_equal(seen(r).sets, 1);
	/* It asks no more, and again: as another process. */
	pass(r, 10 * NS_PER_S - 1);
	assert_int_equal(act_agent.read(r->a, r->now), 0);
	pass(r, 1);
	assert_int_equal(act_agent.read(r->a, r->now), -ENOTCONN);
	assert_true(seen(r).state == ACT_DOWN && seen(r).reads == 4);
	assert_string_equal(ask(r, "web/n2\n"), "\n");
	assert_int_equal(seen(r).connections, 2);
}

RIG_TEST(answer__of_a_state_that_was_put__has_its_word_and_the_weight)
{
	struct rig *r = *state;
	const struct act_server *s = seen(r).server;

	ask_all(r);
	assert_int_equal(act_agent.read(r->a, r->now), 0);
	assert_true(s[0].admin == ACT_KEEP && s[2].admin == ACT_KEEP);
	assert_int_equal(put_states(r, ACT_SERVE, ACT_DRAIN, ACT_OUT), 0);
	assert_string_equal(ask(r, "web/n1\n"), "ready 100%\n");
	assert_string_equal(ask(r, "web/n2\n"), "drain 50%\n");
	assert_int_equal(act_agent.read(r->a, r->now), 0);
	assert_true(s[0].admin == ACT_SERVE && s[1].admin == ACT_DRAIN);
	assert_int_equal(s[2].admin, ACT_KEEP); /* it was not told yet */
	assert_int_equal(seen(r).sets, 3);	/* two states, and one weight that is not 100 % */
	assert_string_equal(ask(r, "web/n1x\n"), "maint 0%\n");
	assert_string_equal(ask(r, "web/n1x\n"), "maint 0%\n");
	assert_int_equal(seen(r).sets, 5);
	/* What is kept is what was told last; HAProxy keeps it. */
	assert_int_equal(put_states(r, ACT_KEEP, ACT_SERVE, ACT_KEEP), 0);
	assert_string_equal(ask(r, "web/n1\n"), "100%\n");
	assert_string_equal(ask(r, "web/n2\n"), "ready 50%\n");
	assert_string_equal(ask(r, "web/n1x\n"), "0%\n");
	assert_int_equal(act_agent.read(r->a, r->now), 0);
	assert_true(s[0].admin == ACT_SERVE && s[1].admin == ACT_SERVE && s[2].admin == ACT_OUT);
	assert_int_equal(seen(r).sets, 6);
	/* As without states, to the byte. */
	assert_int_equal(put_states(r, ACT_DRAIN, ACT_DRAIN, ACT_DRAIN), 0);
	assert_int_equal(put(r, 256, 128, 0), 0);
	assert_string_equal(ask(r, "web/n2\n"), "50%\n");
	/* The hold is over; a put that is none changes nothing. */
	assert_int_equal(put_states(r, ACT_DRAIN, ACT_KEEP, ACT_KEEP), 0);
	assert_int_equal(put_states(r, ACT_OUT, ACT_OUT, (enum act_want)(ACT_OUT + 1)), -EINVAL);
	assert_int_equal(put_states(r, (enum act_want) - 1, ACT_OUT, ACT_OUT), -EINVAL);
	pass(r, 2 * NS_PER_S - 1);
	assert_string_equal(ask(r, "web/n1\n"), "drain 100%\n");
	pass(r, 1);
	assert_string_equal(ask(r, "web/n1\n"), "\n");
	/* A server that is asked for no more is not told to be drained. */
	pass(r, 9 * NS_PER_S);
	ask(r, "web/n2\n");
	pass(r, NS_PER_S);
	assert_int_equal(act_agent.read(r->a, r->now), 0);
	assert_true(!s[0].there && s[0].admin == ACT_KEEP && s[1].admin == ACT_SERVE);
}

static bool is_ready(const struct rig *r)
{
	struct pollfd p = { .fd = act_agent.fd(r->a), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

RIG_TEST(descriptor__is_readable_when_there_is_something_to_do)
{
	struct rig *r = *state;
	int fd;

	work(r);
	assert_false(is_ready(r));
	fd = connected(r);
	assert_true(is_ready(r));
	work(r);
	assert_false(is_ready(r)); /* it has said nothing yet */
	say(fd, "web/n1\n");
	assert_true(is_ready(r));
	work(r);
	assert_string_equal(heard(fd), "\n");
	assert_false(is_ready(r));
}

/* --- what is wrong -------------------------------------------------------------------------- */

RIG_TEST(note__names_what_to_write_in_haproxy_cfg)
{
	struct rig *r = *state;
	char want[320];

	work(r);
	snprintf(want, sizeof(want),
		 "HAProxy does not ask for server n1: write agent-check agent-addr 127.0.0.1 "
		 "agent-port %u agent-send \"web/n1\\n\" there in haproxy.cfg",
		 r->conf.port);
	assert_string_equal(seen(r).note, want);
	assert_string_equal(ask(r, "web/n3\n"), "");
	assert_non_null(strstr(seen(r).note, " says \"web/n3\", which names no server here: write "
					     "agent-send \"web/n1\\n\", with its own name"));
	assert_string_equal(ask(r, "a\tb\x80\xff%s\n"), "");
	assert_non_null(strstr(seen(r).note, " says \"a?b??%s\", which"));
	pass(r, 10 * NS_PER_S);
	ask_all(r);
	assert_string_equal(seen(r).note, "");
	/* A server that is asked for no more. */
	pass(r, 9 * NS_PER_S);
	ask(r, "web/n1\n");
	ask(r, "web/n1x\n");
	pass(r, NS_PER_S);
	work(r);
	assert_non_null(strstr(seen(r).note, "does not ask for server n2"));
}

RIG_TEST(request__that_is_none__gets_no_answer)
{
	struct rig *r = *state;
	static const char *const none[] = { "\n",	 "web\n",    "web/\n",	  "web/n\n",
					    "eb/n1\n",	 "web/n1 ",  "web/n2x\n", "web n1\n",
					    "web/n11\n", "WEB/n1\n", "webn1\n",	  " web/n1\n" };
	char much[4096];
	int fd;

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		work(r);
		fd = connected(r);
		say(fd, none[i]);
		shutdown(fd, SHUT_WR);
		work(r);
		work(r);
		assert_string_equal(heard(fd), "");
	}
	memset(much, 'x', sizeof(much) - 1);
	much[sizeof(much) - 1] = '\0';
	work(r);
	fd = connected(r);
	say(fd, much);
	work(r);
	work(r);
	{
		struct pollfd p = { .fd = fd, .events = POLLIN };
		char c;

		assert_int_equal(poll(&p, 1, 10000), 1);
		assert_true(recv(fd, &c, 1, 0) <= 0); /* reset: there was more than was read */
		close(fd);
	}
	/* Nobody was heard of. */
	assert_int_equal(act_agent.read(r->a, r->now), -ENOTCONN);
	assert_string_equal(ask(r, "web/n1\n"), "\n");
}

RIG_TEST(silence__is_ended_after_the_timeout_and_by_many)
{
	struct rig *r = *state;
	int fd[70], late;

	work(r);
	late = connected(r);
	say(late, "web/");
	work(r);
	pass(r, NS_PER_S / 2);
	assert_int_equal(work(r), NS_PER_S / 2);
	say(late, "n1\n");
	work(r);
	assert_string_equal(heard(late), "\n");
	fd[0] = connected(r);
	work(r);
	pass(r, NS_PER_S - 1);
	assert_int_equal(work(r), 1);
	pass(r, 1);
	assert_int_equal(work(r), INT64_MAX);
	assert_string_equal(heard(fd[0]), "");
	assert_non_null(strstr(seen(r).note, " says nothing: write agent-send \"web/n1\\n\""));
	/* Of 70 the first are closed, so that one that asks is served. */
	for (int i = 0; i < 70; i++) {
		fd[i] = connected(r);
		pass(r, 1);
		work(r);
	}
	assert_string_equal(ask(r, "web/n1\n"), "\n");
	for (int i = 0; i < 70; i++) {
		struct pollfd p = { .fd = fd[i], .events = POLLIN };

		/* One more was closed for that which asked. */
		assert_int_equal(poll(&p, 1, i < 7 ? 10000 : 0), i < 7);
		close(fd[i]);
	}
}

RIG_TEST(port__in_use__is_told_and_tried_again)
{
	struct rig *r = *state;
	struct act *other;
	int fd;

	act_agent.close(r->a);
	r->a = NULL;
	fd = take_port(&r->conf.port);
	assert_int_equal(act_agent.open(&other, &r->conf), 0);
	r->a = other;
	assert_int_equal(work(r), 100 * MS);
	assert_non_null(
		strstr(seen(r).note, " is in use (Address already in use): end that program"));
	assert_true(seen(r).state == ACT_DOWN && seen(r).failures == 1);
	pass(r, 100 * MS - 1);
	assert_int_equal(work(r), 1);
	pass(r, 1);
	assert_int_equal(work(r), 200 * MS);
	close(fd);
	pass(r, 200 * MS);
	work(r);
	assert_string_equal(ask(r, "web/n1\n"), "\n");
	assert_null(strstr(seen(r).note, "in use"));
}

RIG_TEST(descriptors__used_up__are_told_and_tried_again)
{
	struct rig *r = *state;
	struct rlimit was, none;
	int fd;

	work(r);
	fd = connected(r);
	say(fd, "web/n1\n");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = was;
	none.rlim_cur = (rlim_t)fd + 1; /* the lowest that was free */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(work(r), 100 * MS);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_non_null(strstr(seen(r).note, "cannot take connections at port "));
	assert_non_null(strstr(seen(r).note, "Too many open files: see the limits of resexd"));
	assert_int_equal(work(r), 100 * MS); /* it does not spin */
	close(fd);
	pass(r, 100 * MS);
	assert_string_equal(ask(r, "web/n1\n"), "\n");
}

TEST(open__of_what_is_wrong__is_refused)
{
	const struct act_conf good = {
		.port = 1, .backend = "web", .servers = 1, .timeout_ns = 1, .server = { "n1" }
	};
	struct act_conf c;
	struct act *a = NULL;

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		c = good;                                                                          \
		change;                                                                            \
		assert_int_equal(act_agent.open(&a, &c), -EINVAL);                                 \
	} while (0)
	REFUSED(c.port = 0);
	REFUSED(c.servers = 0);
	REFUSED(c.servers = HAPROXY_SERVERS_MAX + 1);
	REFUSED(c.timeout_ns = 0);
	REFUSED(strcpy(c.backend, "a b"));
	REFUSED(strcpy(c.server[0], ""));
	assert_null(a);
	act_agent.close(NULL);
}

/* --- lines ------------------------------------------------------------------------------------ */

TEST(line__of_random_bytes__names_a_server_only_as_written)
{
	const struct act_conf c = { .backend = "b", .servers = 2, .server = { "a", "aa" } };
	static const char letters[] = "ab/\r\n\0x";
	uint64_t found = 0, longer = 0;
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 200000; i++) {
		char text[AGENT_LINE_MAX] = "";
		bool is_long = prop_one_in(&p, 20);
		size_t len = prop_range(&p, 0, is_long ? sizeof(text) : 7), n = 0;
		int want, got;

		for (size_t k = 0; k < len; k++)
			text[k] = is_long ? 'a' : letters[prop_range(&p, 0, sizeof(letters) - 2)];
		while (n < len && text[n] != '\n')
			n++;
		want = n == len ? (len == sizeof(text) ? -EMSGSIZE : -EAGAIN) : -ENOENT;
		longer += want == -EMSGSIZE;
		if (n < len && n && text[n - 1] == '\r')
			n--;
		if (want == -ENOENT && n == 3 && !memcmp(text, "b/a", 3))
			want = 0;
		if (want == -ENOENT && n == 4 && !memcmp(text, "b/aa", 4))
			want = 1;
		got = agent_find(&c, text, len);
		assert_int_equal(got, want);
		found += got >= 0;
	}
	assert_true(found > 10 && longer > 5);
	/* As long as a line may be, and one byte more. */
	{
		struct act_conf d = { .servers = 1 };
		char text[AGENT_LINE_MAX + 1];

		memset(d.backend, 'x', HAPROXY_NAME_MAX - 1);
		memset(d.server[0], 'y', HAPROXY_NAME_MAX - 1);
		snprintf(text, sizeof(text), "%s/%s\r\n", d.backend, d.server[0]);
		assert_int_equal(agent_find(&d, text, strlen(text)), 0);
		memset(text, 'x', sizeof(text));
		assert_int_equal(agent_find(&d, text, AGENT_LINE_MAX - 1), -EAGAIN);
		assert_int_equal(agent_find(&d, text, AGENT_LINE_MAX), -EMSGSIZE);
	}
}
