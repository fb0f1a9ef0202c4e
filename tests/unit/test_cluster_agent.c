// SPDX-License-Identifier: GPL-2.0-or-later
/* cluster_agent: a host balances a service by agent: the test asks, as HAProxy does. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/balances_rig.h"

/* A port that nobody has, and the file's text with it. */
static uint16_t with_port(char *text, size_t size, const char *more)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	close(fd);
	snprintf(text, size,
		 BALANCED(N12, "\"by\": \"agent\", \"service_time\": \"1ms\", \"k\": 1, "
			       "\"port\": %u%s"),
		 ntohs(at.sin_port), more);
	return ntohs(at.sin_port);
}

/* What HAProxy gets for this server. */
static const char *ask(struct sites *s, uint16_t port, const char *server)
{
	static char text[32];
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_port = htons(port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	ssize_t n = -1;

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	snprintf(text, sizeof(text), "be/%s\n", server);
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	for (int i = 0; i < 200 && n < 0; i++) {
		sites_ms(s);
		n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
	}
	assert_true(n > 0);
	text[n] = '\0';
	close(fd);
	return text;
}

static bool answers(struct sites *s, uint16_t port, const char *a, const char *b)
{
	bool first = !strcmp(ask(s, port, "s1"), a);

	/* Both are asked for in any case. */
	return !strcmp(ask(s, port, "s2"), b) && first;
}

RIG_TEST(agent__act__answers_by_load_until_another_mode)
{
	char text[1024];
	uint16_t port = with_port(text, sizeof(text), ", \"mode\": \"act\"");
	struct sites *s = open_sites(state, 2, text);

	busy[1] = 900;
	sites_pass(s, 100 * MS);
	assert_true(answers(s, port, "\n", "\n")); /* nothing was decided */
	site_until(s, answers(s, port, "1%\n", "100%\n"));
	assert_true(server(s, 0).wanted == 1 && server(s, 1).wanted == 256);
	site_until(s, server(s, 0).weight == 1);
	assert_int_equal(server(s, 0).configured, 256);
	/* What HAProxy has not asked for yet is no other program's weight. */
	busy[1] = 100;
	busy[2] = 900;
	sites_pass(s, NS_PER_S);
	site_until(s, answers(s, port, "100%\n", "1%\n"));
	assert_int_equal(balance_events(s), 0);
	set_mode(s, CLUSTER_EQUAL);
	sites_pass(s, 100 * MS);
	assert_true(answers(s, port, "100%\n", "100%\n"));
	set_mode(s, CLUSTER_ACT);
	site_until(s, answers(s, port, "100%\n", "1%\n"));
	/* The configured weights, and then none. */
	set_mode(s, CLUSTER_OBSERVE);
	sites_pass(s, 100 * MS);
	assert_true(seen(s).restores);
	assert_true(answers(s, port, "100%\n", "100%\n"));
	site_until(s, !seen(s).restores);
	sites_pass(s, 2 * NS_PER_S);
	assert_true(answers(s, port, "\n", "\n"));
	assert_true(site_has_event(s, 1, "balance", "web: resexd no longer sets weights"));
}

RIG_TEST(agent__nobody_asks__is_told_with_the_line_to_write)
{
	char text[1024];
	struct sites *s;

	with_port(text, sizeof(text), "");
	s = open_sites(state, 2, text);
	site_until(s, balance_events(s));
	assert_true(
		site_has_event(s, 1, "balance", "web: HAProxy does not ask for server s1: write "));
	assert_true(decided(s, "none"));
}

RIG_TEST(agent__end__waits_until_haproxy_has_asked_or_three_seconds)
{
	char text[1024];
	uint16_t port = with_port(text, sizeof(text), ", \"mode\": \"act\"");
	struct sites *s = open_sites(state, 2, text);

	busy[1] = 900;
	sites_pass(s, 100 * MS);
	site_until(s, answers(s, port, "1%\n", "100%\n"));
	assert_in_range(work_until_left(s), 2999, 3001);
	assert_true(site_has_event(s, 1, "balance",
				   "web: the weights that resexd has set are still there"));
}

/* Turns come each 3 s then: what was put must be answered until the next one. */
RIG_TEST(agent__reload_with_longer_turns__answers_until_the_next_one)
{
	char text[1024], longer[1100];
	uint16_t port = with_port(text, sizeof(text), ", \"mode\": \"act\"");
	struct sites *s = open_sites(state, 2, text);

	busy[1] = 900;
	sites_pass(s, 100 * MS);
	site_until(s, answers(s, port, "1%\n", "100%\n"));
	/* A change of load.scan alone is none: a service comes with it. */
	snprintf(longer, sizeof(longer), "%s, \"load\": {\"scan\": \"3s\"}", text);
	reload_with(s, longer, SITE_SERVICES ", {\"name\": \"new\", \"number\": 7}");
	for (int i = 0; i < 100; i++) {
		sites_pass(s, 100 * MS);
		assert_string_not_equal(ask(s, port, "s1"), "\n");
	}
}

RIG_TEST(agent__reload_from_weights__restores_those_first)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, ACT));
	char text[1024];
	uint16_t port;

	busy[1] = 900;
	site_until(s, has(p, 1, 256));
	port = with_port(text, sizeof(text), ", \"mode\": \"act\"");
	reload(s, text);
	site_until(s, has(p, CONFIGURED, CONFIGURED));
	site_until(s, answers(s, port, "1%\n", "100%\n"));
	/* Another port is another agent; the old one answers no more. */
	reload(s, BALANCED(N12, ACT));
	site_until(s, has(p, 1, 256));
}
