// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * act_haproxy: a HAProxy in this process, behind a real socket, and rows of what it does. It speaks
 * as HAProxy 2.6.12 does; tests/haproxy has the real one.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* accept4 */
#endif
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "src/reconf/act_haproxy.h"
#include "tests/unit/steps.h"
#include "tests/unit/tmpdir.h"

enum { SERVERS = 3, TIMEOUT_MS = 1000 };

/* Replies that can be replaced by words. */
enum { PROMPT, INFO, STATE, STAT, SET, COMMANDS };
static const char *const command_name[COMMANDS] = { "prompt", "info", "state", "stat", "set" };

struct rig {
	struct tmpdir dir;
	struct act_conf conf;
	struct act *h;
	struct act_seen seen;
	struct mono now;
	int64_t wait_ns;
	int rc;
	/* The HAProxy. */
	int listener, conn;
	bool mute, stopping;
	char said[COMMANDS][64]; /* "": as HAProxy */
	uint32_t servers;
	unsigned weight[HAPROXY_SERVERS_MAX];
	enum act_want admin[HAPROXY_SERVERS_MAX];
	enum act_want want[SERVERS]; /* of each put */
	bool wants;		     /* false: puts have NULL */
	char set[256];		     /* what the newest put set, in order */
	unsigned commands;	     /* in all */
	size_t piece;		     /* bytes that it sends at once; 0: all */
	char in[65536];
	size_t in_len;
	char out[262144];
	size_t out_at, out_len;
};

/* --- the HAProxy --------------------------------------------------------------------------- */

static void listen_there(struct rig *r)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	strcpy(at.sun_path, r->conf.socket);
	r->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_true(r->listener >= 0);
	assert_int_equal(bind(r->listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(r->listener, 0), 0);
}

static void hang_up(struct rig *r)
{
	if (r->conn >= 0)
		close(r->conn);
	r->conn = -1;
	r->in_len = r->out_at = r->out_len = 0;
}

static void leave(struct rig *r)
{
	hang_up(r);
	if (r->listener >= 0)
		close(r->listener);
	r->listener = -1;
}

__attribute__((format(printf, 2, 3))) static void reply(struct rig *r, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(r->out + r->out_len, sizeof(r->out) - r->out_len, fmt, ap);
	va_end(ap);
	assert_true(n >= 0 && (size_t)n < sizeof(r->out) - r->out_len);
	r->out_len += (size_t)n;
}

static const char *const admin_bits[] = { "0", "0", "8", "1" };
static const char *const want_name[] = { "keep", "ready", "drain", "maint" };

static enum act_want want_named(const char *name)
{
	for (int w = ACT_KEEP; w <= ACT_OUT; w++)
		if (!strcmp(name, want_name[w]))
			return (enum act_want)w;
	fail_msg("no want: \"%s\"", name);
	return ACT_KEEP;
}

static void reply_state(struct rig *r)
{
	reply(r, "1\n# be_id be_name srv_id srv_name srv_op_state srv_admin_state "
		 "srv_uweight srv_iweight\n");
	for (uint32_t i = 0; i < r->servers; i++)
		reply(r, "7 web %u %s 2 %s %u %u\n", i + 1, r->conf.server[i],
		      admin_bits[r->admin[i]], r->weight[i], 1);
	reply(r, "\n> ");
}

static void reply_stat(struct rig *r)
{
	reply(r, "# pxname,svname,qcur,scur,stot,rtime,\n");
	for (uint32_t i = 0; i < r->servers; i++)
		reply(r, "web,%s,%u,%u,%u,%u,\n", r->conf.server[i], i, 2 * i, 1000 + i, 10 * i);
	reply(r, "\n> ");
}

static void set_server(struct rig *r, const char *line)
{
	char name[HAPROXY_NAME_MAX], what[8], value[8];
	size_t n = strlen(r->set);
	uint32_t i = 0;

	assert_int_equal(sscanf(line, "set server web/%63s %7s %7s", name, what, value), 3);
	if (n + strlen(name) + strlen(value) + 3 < sizeof(r->set))
		sprintf(r->set + n, "%s%s %s", n ? " " : "", name, value);
	while (i < r->servers && strcmp(name, r->conf.server[i]) != 0)
		i++;
	if (i == r->servers) {
		reply(r, "No such server.\n\n> ");
		return;
	}
	if (!strcmp(what, "weight")) {
		r->weight[i] = (unsigned)atoi(value);
	} else {
		assert_string_equal(what, "state");
		r->admin[i] = want_named(value);
		assert_int_not_equal(r->admin[i], ACT_KEEP);
	}
	reply(r, "\n> ");
}

static void execute(struct rig *r, const char *line)
{
	int c = !strcmp(line, "prompt")					       ? PROMPT
		: !strcmp(line, "show info")				       ? INFO
		: !strcmp(line, "show servers state web")		       ? STATE
		: !strcmp(line, "show stat 7 4 -1")			       ? STAT
		: !strncmp(line, "set server web/", strlen("set server web/")) ? SET
									       : COMMANDS;

	if (c == COMMANDS)
		fail_msg("not a command: \"%s\"", line);
	r->commands++;
	if (r->said[c][0])
		reply(r, "%s\n> ", r->said[c]);
	else if (c == PROMPT)
		reply(r, "\n> ");
	else if (c == INFO)
		reply(r, "Name: HAProxy\nStopping: %d\n\n> ", r->stopping);
	else if (c == STATE)
		reply_state(r);
	else if (c == STAT)
		reply_stat(r);
	else
		set_server(r, line);
}

/* Takes what came, and sends a piece. False: there was nothing to do. */
static bool serve(struct rig *r)
{
	bool did = false;
	ssize_t n;
	char *nl;

	if (r->conn < 0 && r->listener >= 0) {
		r->conn = accept4(r->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		did = r->conn >= 0;
	}
	if (r->conn < 0 || r->mute)
		return did;
	n = recv(r->conn, r->in + r->in_len, sizeof(r->in) - 1 - r->in_len, 0);
	if (n == 0) {
		hang_up(r);
		return true;
	}
	r->in_len += n > 0 ? (size_t)n : 0;
	r->in[r->in_len] = '\0';
	while ((nl = strchr(r->in, '\n'))) {
		*nl = '\0';
		execute(r, r->in);
		r->in_len -= (size_t)(nl + 1 - r->in);
		memmove(r->in, nl + 1, r->in_len + 1);
	}
	if (r->out_at < r->out_len) {
		size_t len = r->out_len - r->out_at;
		ssize_t sent = send(r->conn, r->out + r->out_at,
				    r->piece && r->piece < len ? r->piece : len, MSG_NOSIGNAL);

		r->out_at += sent > 0 ? (size_t)sent : 0;
		did = did || sent > 0;
	}
	if (r->out_at == r->out_len)
		r->out_at = r->out_len = 0;
	return did || n > 0;
}

/* --- the rows ------------------------------------------------------------------------------ */

static void look(void *rig)
{
	struct rig *r = rig;

	act_haproxy.see(r->h, &r->seen);
}

/* Both go on until neither has anything to do. Time stands still. */
static void go_on(struct rig *r)
{
	do
		r->wait_ns = act_haproxy.work(r->h, r->now);
	while (serve(r) || !r->wait_ns);
}

static void put(struct rig *r, const struct step *s)
{
	uint16_t weight[HAPROXY_SERVERS_MAX];

	for (int i = 0; i < SERVERS; i++)
		weight[i] = (uint16_t)s->n[i];
	r->set[0] = '\0';
	r->rc = act_haproxy.put(r->h, weight, r->wants ? r->want : NULL, r->now);
}

/* "ready keep drain": a state for each server. */
static void take_states(const struct step *s, enum act_want *to)
{
	char name[SERVERS][8];

	assert_int_equal(sscanf(s->rest, "%7s %7s %7s", name[0], name[1], name[2]), SERVERS);
	for (int i = 0; i < SERVERS; i++)
		to[i] = want_named(name[i]);
}

static void expect_states(const struct step *s, const enum act_want *is)
{
	enum act_want states[SERVERS];

	take_states(s, states);
	for (int i = 0; i < SERVERS; i++)
		assert_int_equal(is[i], states[i]);
}

static void expect_read_states(const struct step *s, const struct act_server *server)
{
	const enum act_want is[SERVERS] = { server[0].admin, server[1].admin, server[2].admin };

	expect_states(s, is);
}

/* Other programs wait at the socket until there is no room. */
static void fill(struct rig *r)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd;

	strcpy(at.sun_path, r->conf.socket);
	do { /* left to the end of the test */
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	} while (!connect(fd, (struct sockaddr *)&at, sizeof(at)));
	close(fd);
}

/*
 * "say set No such server.|": words for a command's reply, before its end. | is a line's end, ~ a
 * blank. None: as HAProxy.
 */
static void say(struct rig *r, const struct step *s)
{
	for (int c = 0; c < COMMANDS; c++) {
		const char *words = s->rest + strlen(s->word);

		if (!step_says(s, command_name[c]))
			continue;
		words += strspn(words, " ");
		assert_true(strlen(words) < sizeof(r->said[c]));
		strcpy(r->said[c], words);
		for (char *p = r->said[c]; *p; p++)
			*p = *p == '|' ? '\n' : *p == '~' ? ' ' : *p;
		return;
	}
	step_unknown(s);
}

static void act(void *rig, const struct step *s)
{
	struct rig *r = rig;

	if (step_is(s, "turn"))
		go_on(r);
	else if (step_is(s, "work"))
		r->wait_ns = act_haproxy.work(r->h, r->now);
	else if (step_is(s, "serve"))
		serve(r);
	else if (step_is(s, "pass"))
		r->now.ns += (int64_t)s->n[0] * 1000000;
	else if (step_is(s, "read"))
		r->rc = act_haproxy.read(r->h, r->now);
	else if (step_is(s, "put"))
		put(r, s);
	else if (step_is(s, "want")) {
		take_states(s, r->want);
		r->wants = true;
	} else if (step_is(s, "operator"))
		take_states(s, r->admin);
	else if (step_is(s, "listen"))
		listen_there(r);
	else if (step_is(s, "leave"))
		leave(r);
	else if (step_is(s, "unlink"))
		unlink(r->conf.socket);
	else if (step_is(s, "hangup"))
		hang_up(r);
	else if (step_is(s, "fill"))
		fill(r);
	else if (step_is(s, "say"))
		say(r, s);
	else if (step_is(s, "mute"))
		r->mute = true;
	else if (step_is(s, "speak"))
		r->mute = false;
	else if (step_is(s, "piece"))
		r->piece = s->n[0];
	else if (step_is(s, "stopping"))
		r->stopping = s->n[0];
	else if (step_is(s, "has"))
		r->servers = (uint32_t)s->n[0];
	else if (step_is(s, "weighs"))
		for (int i = 0; i < SERVERS; i++)
			r->weight[i] = (unsigned)s->n[i];
	else
		step_unknown(s);
}

static void check(void *rig, const struct step *s)
{
	static const char *const states[] = { "down", "ready", "reading", "setting" };
	struct rig *r = rig;
	const struct step_figure figures[] = {
		{ "connections", r->seen.connections },
		{ "reads", r->seen.reads },
		{ "sets", r->seen.sets },
		{ "failures", r->seen.failures },
		{ "commands", r->commands },
		{ "wait", (uint64_t)r->wait_ns / 1000000 },
		{ "age", (uint64_t)(r->now.ns - r->seen.read.ns) / 1000000 },
	};

	if (step_is(s, "notes"))
		step_holds(s, strstr(r->seen.note, s->rest) && *s->rest);
	else if (step_is(s, "quiet"))
		step_holds(s, !r->seen.note[0]);
	else if (step_is(s, "idle"))
		step_holds(s, r->wait_ns == INT64_MAX);
	else if (step_is(s, "good"))
		step_holds(s, r->rc == 0);
	else if (step_is(s, "error"))
		step_holds(s, r->rc == -step_errno(s));
	else if (step_is(s, "read"))
		for (int i = 0; i < SERVERS; i++)
			assert_int_equal(r->seen.server[i].weight, s->n[i]);
	else if (step_is(s, "has"))
		for (int i = 0; i < SERVERS; i++)
			assert_int_equal(r->weight[i], s->n[i]);
	else if (step_is(s, "states"))
		expect_read_states(s, r->seen.server);
	else if (step_is(s, "are"))
		expect_states(s, r->admin);
	else if (step_is(s, "set"))
		step_holds(s, !strcmp(s->rest, r->set));
	else if (step_is(s, "there"))
		for (int i = 0; i < SERVERS; i++)
			assert_int_equal(r->seen.server[i].there, s->n[i]);
	else if (step_is(s, "own"))
		for (int i = 0; i < SERVERS; i++)
			assert_int_equal(r->seen.server[i].own, s->n[i]);
	else if (step_is(s, "served"))
		for (int i = 0; i < SERVERS; i++)
			assert_int_equal(r->seen.server[i].served, s->n[i]);
	else if (step_is(s, "queued"))
		for (int i = 0; i < SERVERS; i++)
			assert_int_equal(r->seen.server[i].queued, s->n[i]);
	else if (step_is(s, "ms"))
		for (int i = 0; i < SERVERS; i++)
			assert_int_equal(r->seen.server[i].latency_ns, s->n[i] * NS_PER_MS);
	else if (!step_expect_figure(s, figures, sizeof(figures) / sizeof(figures[0]))) {
		for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
			if (step_is(s, states[i])) {
				step_holds(s, r->seen.state == i);
				return;
			}
		step_unknown(s);
	}
}

static const struct steps_ops ops = { act, look, check };

static struct rig *rig_open(uint32_t servers)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	tmp_open(&r->dir);
	r->listener = r->conn = -1;
	r->now.ns = 5000000000;
	r->conf.timeout_ns = TIMEOUT_MS * 1000000LL;
	strcpy(r->conf.socket, tmp_at(&r->dir, "sock"));
	strcpy(r->conf.backend, "web");
	r->conf.servers = r->servers = servers;
	for (uint32_t i = 0; i < servers; i++) {
		sprintf(r->conf.server[i], "n%u", i + 1);
		r->weight[i] = 100;
		r->admin[i] = ACT_SERVE;
	}
	assert_int_equal(act_haproxy.open(&r->h, &r->conf), 0);
	return r;
}

static void rig_close(struct rig *r)
{
	act_haproxy.close(r->h);
	leave(r);
	tmp_close(&r->dir);
	free(r);
}

static const struct row {
	const char *name, *script;
} rows[] = {
	{ "hello__then_a_reading",
	  "listen -> down, quiet, connections 0;"
	  "turn -> ready, connections 1, reads 0, idle;"
	  "read -> good, reading; turn -> ready, reads 1, read 100 100 100, own 0 3 6,"
	  "queued 0 1 2, served 1000 1001 1002, ms 0 10 20, there 1 1 1, quiet, failures 0, idle" },
	{ "the_age_of_a_reading_is_from_its_beginning",
	  "listen, turn, read, work, pass 30, turn -> reads 1, age 30" },
	{ "weights_that_differ_are_set__and_the_next_reading_has_them",
	  "listen, turn, read, turn, put 100 50 0 -> good, setting;"
	  "turn -> ready, sets 2, commands 7, has 100 50 0, read 100 100 100, quiet;"
	  "read, turn -> read 100 50 0, failures 0" },
	{ "no_weight_differs__nothing_is_sent",
	  "listen, turn, read, turn, put 100 100 100 -> good, ready, sets 0; turn -> commands 5" },
	{ "weight_256_is_set__257_is_not",
	  "listen, turn, read, turn, put 256 256 256, turn -> good,"
	  "has 256 256 256; put 1 257 1 -> error EINVAL, ready; turn -> has 256 256 256" },
	{ "before_a_connection_nothing_begins",
	  "read -> error ENOTCONN; put 1 1 1 -> error ENOTCONN;"
	  "listen, work, read -> error ENOTCONN, down; put 1 1 1 -> error ENOTCONN" },
	{ "before_a_reading_nothing_is_set", "listen, turn, put 1 1 1 -> error ENOTCONN, ready" },
	{ "during_a_turn_no_other_begins",
	  "listen, turn, read, read -> error EBUSY;"
	  "put 1 1 1 -> error EBUSY; turn, put 1 1 1, read -> error EBUSY, setting" },
	{ "a_reply_byte_by_byte_is_read",
	  "listen, piece 1, turn, read, turn, put 1 2 3, turn, read,"
	  "turn -> reads 2, read 1 2 3, quiet" },
	{ "half_a_reply_is_waited_for__and_no_longer",
	  "listen, turn, read, piece 60, work, serve,"
	  "work, pass 999, work -> reading, wait 1; pass 1, work -> down, wait 100, failures 1,"
	  "notes did not answer for 1000 ms" },

	{ "no_socket__is_told", "work -> down, wait 100, failures 1, notes start HAProxy" },
	{ "nobody_listens__is_told", "listen, leave, work -> down, notes no HAProxy listens at" },
	{ "full_socket__is_told", "listen, fill, work -> down, notes is full;"
				  "leave, unlink, listen, pass 100, turn -> ready" },
	{ "the_pause_grows_from_100_ms_to_5_s__and_begins_anew_after_a_reading",
	  "work -> wait 100; pass 99, work -> wait 1, failures 1; pass 1, work -> wait 200;"
	  "pass 200, work -> wait 400; pass 400, work -> wait 800; pass 800, work -> wait 1600;"
	  "pass 1600, work -> wait 3200; pass 3200, work -> wait 5000;"
	  "pass 5000, work -> wait 5000, failures 8; listen, pass 5000, turn -> ready;"
	  "hangup, work -> wait 5000; pass 5000, turn, read, turn, hangup, work -> wait 100" },
	{ "a_note_stays_until_a_reading_is_complete", "work, listen, pass 100, turn -> ready,"
						      "notes start HAProxy; read, turn -> quiet" },
	{ "no_answer_to_the_prompt__is_told",
	  "listen, mute, turn -> down, wait 1000; pass 1000, work"
	  "-> failures 1, notes it hangs; speak, pass 100, turn, read, turn -> ready, quiet" },
	{ "a_hung_haproxy_recovers",
	  "listen, turn, read, turn, mute, read, turn, pass 1000, work"
	  "-> down, notes it hangs, reads 1; speak, pass 100, turn, read, turn -> ready, quiet,"
	  "connections 2, reads 2" },
	{ "answers_that_came_while_this_process_paused_count",
	  "listen, turn, read, serve, pass 5000, turn -> reads 1, failures 0" },
	{ "haproxy_ends__and_starts_with_its_own_weights",
	  "listen, turn, read, turn, put 1 2 3, turn,"
	  "leave, unlink, work -> down, notes it ended; read -> error ENOTCONN;"
	  "weighs 100 100 100, listen, pass 100, turn -> ready; put 1 2 3 -> error ENOTCONN;"
	  "read, turn -> connections 2, read 100 100 100; put 1 2 3, turn -> has 1 2 3, quiet" },
	{ "haproxy_ends_before_a_turn_is_sent", "listen, turn, hangup, read -> good, down,"
						"failures 1, notes closed the connection" },
	{ "haproxy_closes_in_a_reply",
	  "listen, turn, read, piece 50, work, serve, hangup, work"
	  "-> down, failures 1, reads 0, notes HAProxy closed the connection" },
	{ "somebody_else_listens__and_closes", "listen, mute, work, serve, hangup, work"
					       "-> down, notes without an answer" },
	{ "the_old_process_after_a_reload__is_left",
	  "listen, turn, read, turn, stopping 1, read, turn"
	  "-> down, reads 1, notes successor; stopping 0, pass 100, turn, read, turn -> quiet,"
	  "connections 2, reads 2" },

	{ "words_for_a_prompt__are_told", "listen, say prompt SSH-2.0|, turn -> down, failures 1,"
					  "notes answered \"prompt\" by \"SSH-2.0\"" },
	{ "no_such_backend__is_told", "listen, say state Can't find backend.|, turn -> down,"
				      "notes has no backend \"web\"" },
	{ "a_backend_without_servers__is_told",
	  "listen, has 0, turn -> down, notes has no servers" },
	{ "no_right_to_read__is_told", "listen, turn, say info Permission denied|, read, turn"
				       "-> down, notes denies \"show info\"" },
	{ "no_right_to_read__is_told_with_the_remedy", "listen, turn, say info Permission denied|,"
						       "read, turn -> notes add \"level admin\"" },
	{ "no_word_whether_it_stops__is_told", "listen, turn, say info Name: x|, read, turn"
					       "-> down, notes does not have \"Stopping\"" },
	{ "a_column_is_missing__is_told", "listen, turn, say stat # pxname|, read, turn -> down,"
					  "notes has no column \"svname\"" },
	{ "rubbish_for_a_reply__is_told_and_recovers",
	  "listen, turn, read, turn, say stat a|b|,"
	  "read, turn -> down, reads 1, read 100 100 100, notes answered \"show stat\" by \"a\";"
	  "say stat, pass 100, turn, read, turn -> reads 2, quiet" },
	{ "a_reply_too_many__is_told",
	  "listen, turn, read, turn, say set |>~, put 1 100 100, turn"
	  "-> down, sets 1, failures 1, notes spoke without being asked" },
	{ "a_prompt_too_many__is_told", "listen, say prompt |>~, turn -> down,"
					"notes answered \"show servers state\" by \"\"" },

	{ "a_refused_weight__is_told__and_the_others_are_set",
	  "listen, turn, read, turn, has 2,"
	  "put 1 2 3, turn -> ready, sets 2, failures 1, has 1 2 100,"
	  "notes a weight of server \"web/n3\": \"No such server.\"" },
	{ "the_first_refused_weight_is_told", "listen, turn, read, turn, has 1, put 1 2 3, turn"
					      "-> sets 1, failures 1, notes \"web/n2\"" },
	{ "no_right_to_set__is_told__until_a_set_succeeds",
	  "listen, turn, read, turn,"
	  "say set Permission denied|, put 1 2 3, turn -> ready, sets 0, failures 1,"
	  "notes denies \"set server\"; read, turn -> notes denies \"set server\";"
	  "say set, put 1 2 3, turn -> quiet, sets 3" },
	{ "a_refusal_is_forgotten_when_no_weight_differs",
	  "listen, turn, read, turn,"
	  "say set Permission denied|, put 1 2 3, turn, put 100 100 100 -> quiet" },
	{ "a_server_that_is_not_there__is_told__and_not_set",
	  "listen, has 2, turn, read, turn"
	  "-> ready, there 1 1 0, reads 1, notes has no server \"n3\": correct;"
	  "put 1 2 3, turn -> sets 2, failures 0; has 3, read, turn -> quiet, there 1 1 1" },
	{ "states_that_differ_are_set__and_the_next_reading_has_them",
	  "listen, turn, read, turn -> states ready ready ready;"
	  "want keep drain maint, put 100 100 100 -> good, setting;"
	  "turn -> ready, sets 2, commands 7, are ready drain maint, states ready ready ready;"
	  "put 100 100 100, turn -> sets 4; read, turn -> states ready drain maint, quiet;"
	  "put 100 100 100 -> good, ready; turn -> sets 4;"
	  "want drain ready ready, put 100 100 100, turn, read, turn"
	  "-> sets 7, states drain ready ready, failures 0" },
	{ "a_server_serves_before_weights_are_set__and_they_before_another_ends",
	  "operator ready drain ready, listen, turn, read, turn, want maint ready drain,"
	  "put 1 2 100, turn -> set n2 ready n1 1 n2 2 n1 maint n3 drain, sets 5, quiet" },
	{ "a_state_that_is_kept__is_not_set__whatever_it_is",
	  "operator maint drain ready, listen, turn, read, turn -> states maint drain ready;"
	  "put 100 100 100 -> good, ready; want keep keep keep, put 100 100 100 -> good, ready;"
	  "put 1 100 100, turn -> set n1 1, are maint drain ready" },
	{ "what_an_operator_changed__is_set_again_after_a_reading",
	  "listen, turn, read, turn, want drain keep keep, put 100 100 100, turn, read, turn,"
	  "operator ready ready maint, put 100 100 100 -> ready; read, turn,"
	  "put 100 100 100, turn -> set n1 drain, are drain ready maint" },
	{ "haproxy_starts_again__states_are_set_again",
	  "listen, turn, read, turn, want keep maint keep, put 100 100 100, turn, read, turn,"
	  "leave, unlink, work, operator ready ready ready, listen, pass 100, turn,"
	  "put 100 100 100 -> error ENOTCONN; read, turn, put 100 100 100, turn"
	  "-> are ready maint ready, set n2 maint" },
	{ "a_refused_state_is_told__and_the_others_are_set",
	  "listen, turn, read, turn, has 2, want drain keep maint, put 100 5 100, turn -> ready,"
	  "sets 2, failures 1, set n2 5 n1 drain n3 maint, are drain ready ready,"
	  "notes refused \"state maint\" of server \"web/n3\": \"No such server.\": correct" },
	{ "the_refused_weight_after_a_state_is_told",
	  "operator ready drain ready, listen, turn, read, turn, has 2, want keep ready keep,"
	  "put 100 100 7, turn -> sets 1, notes a weight of server \"web/n3\"" },
	{ "no_right_to_set_a_state__is_told_with_the_remedy",
	  "listen, turn, read, turn, say set Permission denied|, want drain keep keep,"
	  "put 100 100 100, turn -> ready, sets 0, failures 1, notes denies \"set server\";"
	  "say set, read, turn -> notes add \"level admin\"; put 100 100 100, turn -> quiet" },
	{ "what_is_said_to_a_state_is_told_printable_and_cut",
	  "listen, turn, read, turn, say set \x1b[2J|more|, want drain keep keep,"
	  "put 100 100 100, turn -> ready, failures 1, notes \"state drain\" of server"
	  " \"web/n1\": \"?[2J\"; read, turn -> ready, reads 2" },
	{ "a_state_of_a_server_that_is_not_there__is_not_set",
	  "listen, has 2, turn, read, turn, want keep keep drain, put 100 100 100 -> good, ready;"
	  "turn -> sets 0, notes has no server \"n3\"" },
	{ "several_servers_are_not_there",
	  "listen, has 1, turn, read, turn -> notes \"n2\" (and others)" },
};

static void run(void **state)
{
	const struct row *row = *state;
	struct rig *r = rig_open(SERVERS);

	steps_run(row->script, &ops, r);
	rig_close(r);
}
TEST_ROWS(rows, run)

/* --- what rows cannot say ------------------------------------------------------------------ */

TEST(conf_that_cannot_be__is_refused)
{
	struct rig *r = rig_open(SERVERS);
	struct act *h = NULL;
	struct act_conf good = r->conf, c;

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		c = good;                                                                          \
		change;                                                                            \
		assert_int_equal(act_haproxy.open(&h, &c), -EINVAL);                               \
	} while (0)
	REFUSED(c.servers = 0);
	REFUSED(c.servers = HAPROXY_SERVERS_MAX + 1);
	REFUSED(c.timeout_ns = 0);
	REFUSED(c.socket[0] = '\0');
	REFUSED(memset(c.socket, 'x', sizeof(c.socket)));
	REFUSED(c.backend[0] = '\0');
	REFUSED(memset(c.backend, 'x', sizeof(c.backend)));
	REFUSED(strcpy(c.backend, "web;shutdown"));
	REFUSED(strcpy(c.backend, "a/b"));
	REFUSED(strcpy(c.server[2], "n\n1"));
	REFUSED(strcpy(c.server[2], "n 1"));
	REFUSED(strcpy(c.server[0], "\xc3\xa9"));
	REFUSED(memset(c.server[2], 'x', sizeof(c.server[2])));
	assert_null(h);
	c = good;
	strcpy(c.server[0], "A-z_0.9:Z");
	assert_int_equal(act_haproxy.open(&h, &c), 0);
	act_haproxy.close(h);
	act_haproxy.close(NULL);
	rig_close(r);
}

static bool is_ready(const struct rig *r)
{
	struct epoll_event ev;

	return epoll_wait(act_haproxy.fd(r->h), &ev, 1, 0) == 1;
}

TEST(its_descriptor_is_readable_when_there_is_something_to_do)
{
	struct rig *r = rig_open(SERVERS);

	listen_there(r);
	assert_false(is_ready(r));
	act_haproxy.work(r->h, r->now);
	assert_false(is_ready(r));
	serve(r);
	assert_true(is_ready(r));
	go_on(r);
	assert_false(is_ready(r));
	hang_up(r);
	assert_true(is_ready(r));
	act_haproxy.work(r->h, r->now);
	assert_false(is_ready(r));
	rig_close(r);
}

/* The number of the descriptor that the next socket() will have. */
static int next_fd(void)
{
	int fd = dup(0);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

TEST(as_many_servers_as_can_be__long_names__a_socket_that_takes_little)
{
	static const int small = 1; /* the kernel makes it its least */
	struct rig *r = rig_open(HAPROXY_SERVERS_MAX);
	uint16_t weight[HAPROXY_SERVERS_MAX];
	enum act_want want[HAPROXY_SERVERS_MAX];
	int fd;

	act_haproxy.close(r->h);
	for (uint32_t i = 0; i < HAPROXY_SERVERS_MAX; i++) {
		memset(r->conf.server[i], 'x', HAPROXY_NAME_MAX - 4);
		sprintf(r->conf.server[i] + HAPROXY_NAME_MAX - 4, "%03u", i);
		weight[i] = (uint16_t)(i + (i >= 100));
		want[i] = ACT_DRAIN; /* as long as a word can be */
	}
	assert_int_equal(act_haproxy.open(&r->h, &r->conf), 0);
	listen_there(r);
	fd = next_fd();
	act_haproxy.work(r->h, r->now);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	go_on(r);
	assert_int_equal(act_haproxy.read(r->h, r->now), 0);
	go_on(r);
	assert_int_equal(act_haproxy.put(r->h, weight, want, r->now), 0);
	/* What did not fit is sent when there is room, and then alone. */
	assert_false(is_ready(r));
	r->in_len = (size_t)recv(r->conn, r->in, sizeof(r->in) / 2, 0);
	assert_in_range(r->in_len, 1000, HAPROXY_SERVERS_MAX * 160);
	assert_true(is_ready(r));
	go_on(r);
	look(r);
	assert_int_equal(r->seen.sets, 2 * HAPROXY_SERVERS_MAX);
	assert_false(is_ready(r));
	act_haproxy.read(r->h, r->now);
	go_on(r);
	look(r);
	for (uint32_t i = 0; i < HAPROXY_SERVERS_MAX; i++)
		assert_true(r->seen.server[i].weight == weight[i] &&
			    r->seen.server[i].admin == ACT_DRAIN);
	assert_string_equal(r->seen.note, "");
	rig_close(r);
}

TEST(a_haproxy_that_never_stops_speaking__is_left_after_some_bytes)
{
	struct rig *r = rig_open(SERVERS);
	uint64_t poured = 0;
	int turns = 0, halves = 0;
	char lines[4000];

	for (size_t i = 0; i < sizeof(lines); i += 8)
		memcpy(lines + i, "Name: x\n", 8);
	listen_there(r);
	go_on(r);
	act_haproxy.read(r->h, r->now);
	look(r);
	for (; r->seen.state == ACT_READING; turns++) {
		while (send(r->conn, lines, sizeof(lines), MSG_NOSIGNAL) > 0)
			poured += sizeof(lines);
		halves += act_haproxy.work(r->h, r->now) == 0;
		look(r);
	}
	assert_int_equal(r->seen.state, ACT_DOWN);
	assert_non_null(strstr(r->seen.note, "too long"));
	assert_in_range(poured, 1024 * 1024, 2 * 1024 * 1024);
	assert_in_range(turns, 12, 10000); /* and other things were done in between */
	assert_in_range(halves, 6, turns);
	rig_close(r);
}

TEST(put_that_has_no_such_want__is_refused)
{
	static const uint16_t weight[SERVERS] = { 100, 100, 100 };
	enum act_want want[SERVERS] = { ACT_KEEP, ACT_KEEP, (enum act_want)(ACT_OUT + 1) };
	struct rig *r = rig_open(SERVERS);

	listen_there(r);
	go_on(r);
	assert_int_equal(act_haproxy.read(r->h, r->now), 0);
	go_on(r);
	assert_int_equal(act_haproxy.put(r->h, weight, want, r->now), -EINVAL);
	want[2] = (enum act_want) - 1;
	assert_int_equal(act_haproxy.put(r->h, weight, want, r->now), -EINVAL);
	want[2] = ACT_OUT;
	assert_int_equal(act_haproxy.put(r->h, weight, want, r->now), 0);
	rig_close(r);
}

TEST(each_sentence_fits__with_the_longest_path_and_names)
{
	struct rig *r = rig_open(1);

	act_haproxy.close(r->h);
	leave(r);
	memset(r->conf.backend, 'b', HAPROXY_NAME_MAX - 1);
	memset(r->conf.server[0], 's', HAPROXY_NAME_MAX - 1);
	memset(r->conf.socket + strlen(r->conf.socket), 'x',
	       HAPROXY_SOCKET_MAX - 1 - strlen(r->conf.socket));
	assert_int_equal(act_haproxy.open(&r->h, &r->conf), 0);
	act_haproxy.work(r->h, r->now);
	look(r);
	assert_non_null(strstr(r->seen.note, "section global of haproxy.cfg"));
	rig_close(r);
}
