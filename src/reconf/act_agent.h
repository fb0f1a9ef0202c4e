/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * act_agent: answers HAProxy's agent-check (HAProxy's configuration manual, section 5.2:
 * agent-check and agent-send) on a port of 127.0.0.1, for the servers of one backend. No right to
 * HAProxy's socket is needed, and several HAProxies may ask.
 *
 *	server n1 10.0.0.1:80 weight 100 agent-check agent-addr 127.0.0.1 agent-port 9700
 *	       agent-inter 100ms agent-send "web/n1\n"
 *
 *	HAProxy --connects, "web/n1\n"--> act_agent --"37%\n"--> HAProxy
 *
 * An answer is a percentage of the configured weight. Weights here are 1/256 of that: initial is
 * 256. Of a server whose state is put, "ready", "drain" or "maint" stands before it: "drain 37%".
 * Requests are hostile input: bounded, and those that name no server get no answer. HAProxy
 * tells nothing: which servers are up, and which requests are under way, is not known.
 *
 * Traps (2.6.12):
 * - A percentage of the configured weight is cut to a whole number. Of weight 1, which is that of a
 *   server line without "weight", all below 100 % is 0.
 * - Without agent-send HAProxy says nothing, and waits.
 * - HAProxy keeps the last weight and state when the agent is gone, or gives no answer. An empty
 *   line changes nothing either, and the check does not fail. It is the answer when nothing was
 *   put.
 * - A line without its end is ignored. A number without "%" is an error in HAProxy's log.
 * - The check goes on for servers that are down, and in maintenance. What an operator does to a
 *   server by "set server" lasts until the next check, if its state is put.
 */
#ifndef RESEX_RECONF_ACT_AGENT_H
#define RESEX_RECONF_ACT_AGENT_H

#include <stddef.h>

#include "src/reconf/act.h"

enum {
	AGENT_LINE_MAX = 2 * HAPROXY_NAME_MAX + 2, /* "BACKEND/SERVER\r\n" */
};

extern const struct act_ops act_agent;

/*
 * Which server of c a request of len bytes names. -EAGAIN: the line has not ended; -ENOENT: it
 * names none of them; -EMSGSIZE: it is longer than a line can be.
 */
int agent_find(const struct act_conf *c, const char *text, size_t len);

#endif
