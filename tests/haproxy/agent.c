// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agent: act_agent, driven by lines on standard input, for live.py. Each is answered by a line.
 *
 *	agent PORT BACKEND SERVER...
 *
 *	put W...	these weights from now on
 *	want WORD...	these states, and 100 %: keep, ready, drain or maint
 *	see		nothing
 *
 * Answer: STATE WEIGHT,... WANTS NOTE, with what each server was told; -1: HAProxy does not ask for
 * it. WANTS: the first letter of each server's state.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/reconf/act_agent.h"
#include "src/util/clock.h"

static const char *const want_word[] = { "keep", "ready", "drain", "maint" };

static enum act_want want_of(const char *word)
{
	for (int w = ACT_OUT; word && w > ACT_KEEP; w--)
		if (!strcmp(word, want_word[w]))
			return (enum act_want)w;
	return ACT_KEEP;
}

static void obey(struct act *a, uint32_t servers, char *line, struct mono now)
{
	uint16_t weight[HAPROXY_SERVERS_MAX] = { 0 };
	enum act_want want[HAPROXY_SERVERS_MAX] = { ACT_KEEP };
	char *next, *word = strtok_r(line, " \n", &next);
	bool puts = word && !strcmp(word, "put"), wants = word && !strcmp(word, "want");
	int rc = act_agent.read(a, now);
	struct act_seen s;

	for (uint32_t i = 0; i < servers && (puts || wants); i++) {
		char *w = strtok_r(NULL, " \n", &next);

		weight[i] = wants ? HAPROXY_WEIGHT_MAX : w ? (uint16_t)atoi(w) : 0;
		want[i] = wants ? want_of(w) : ACT_KEEP;
	}
	if ((puts || wants) && !rc)
		act_agent.put(a, weight, wants ? want : NULL, now);
	act_agent.see(a, &s);
	printf("%s ", s.state == ACT_READY ? "ready" : "down");
	for (uint32_t i = 0; i < servers; i++)
		printf("%s%d", i ? "," : "", !rc && s.server[i].there ? s.server[i].weight : -1);
	printf(" ");
	for (uint32_t i = 0; i < servers; i++)
		printf("%c", want_word[rc ? ACT_KEEP : s.server[i].admin][0]);
	printf(" %s\n", s.note);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static struct act_conf c = { .timeout_ns = 200 * NS_PER_MS, .hold_ns = 3600 * NS_PER_S };
	struct pollfd p[2] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .events = POLLIN } };
	struct clock clock;
	char line[4096];
	struct act *a;

	if (argc < 4 || argc > 3 + HAPROXY_SERVERS_MAX)
		return 2;
	c.port = (uint16_t)atoi(argv[1]);
	snprintf(c.backend, sizeof(c.backend), "%s", argv[2]);
	c.servers = (uint32_t)argc - 3;
	for (int i = 3; i < argc; i++)
		snprintf(c.server[i - 3], sizeof(c.server[0]), "%s", argv[i]);
	clock_real(&clock);
	if (act_agent.open(&a, &c))
		return 1;
	p[1].fd = act_agent.fd(a);
	for (;;) {
		int64_t ns = act_agent.work(a, clock.now(&clock));

		poll(p, 2, ns < 100 * NS_PER_MS ? (int)(ns / NS_PER_MS) + 1 : 100);
		if (!(p[0].revents & (POLLIN | POLLHUP)))
			continue;
		if (!fgets(line, sizeof(line), stdin))
			break;
		obey(a, c.servers, line, clock.now(&clock));
	}
	act_agent.close(a);
	return 0;
}
