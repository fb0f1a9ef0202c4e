// SPDX-License-Identifier: GPL-2.0-or-later
/* wanted: see wanted.h. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibmon/agent/wanted.h"
#include "src/reconf/hook_exec.h"
#include "src/util/utf8.h"

enum { LINES = 7 }; /* version, number, deadline, and the arguments */

static const int64_t again_ns = NS_PER_S; /* after an answer that could not be written */
static const uint64_t deadline_max_ms = 24 * 3600 * 1000;

struct wanted {
	const char *program;
	const struct node_ops *ops;
	struct node *node;
	const struct log *log;
	bool looked;
	uint64_t number;		   /* of the newest want; 0: none yet */
	struct hook *hook;		   /* NULL: no program runs */
	char answer[GUEST_ABI_ANSWER_MAX]; /* to be written; "": none */
};

static void set_answer(struct wanted *w, bool failed, const char *text)
{
	snprintf(w->answer, sizeof(w->answer), "1\n%" PRIu64 "\n%d\n%s\n", w->number, failed, text);
	if (failed)
		log_msg(w->log, LOG_LVL_WARNING, "what the host wants failed: %s", text);
}

/* End the program that was wanted before, and forget its answer. */
static void drop(struct wanted *w)
{
	w->answer[0] = '\0';
	if (!w->hook)
		return;
	log_msg(w->log, LOG_LVL_INFO, "the host no longer wants this: %s is ended", w->program);
	hook_exec.close(w->hook);
	w->hook = NULL;
}

/* Decimal digits alone; too many are the greatest number. */
static bool parse(const char *text, uint64_t *n)
{
	size_t len = strlen(text);

	if (!len || strspn(text, "0123456789") != len)
		return false;
	*n = strtoull(text, NULL, 10);
	return true;
}

/* Each line of the value, without its end. False: there are more or fewer, or one has no end. */
static bool split(char *value, char *line[LINES])
{
	for (int i = 0; i < LINES; i++) {
		char *end = strchr(value, '\n');

		if (!end)
			return false;
		*end = '\0';
		line[i] = value;
		value = end + 1;
	}
	return !*value;
}

static void begin(struct wanted *w, char *line[LINES], struct mono now)
{
	const struct hook_want want = { line[3], line[4], line[5], line[6] };
	struct hook_conf c = { 0 };
	uint64_t ms;

	if (!parse(line[2], &ms) || !ms || ms > deadline_max_ms) {
		set_answer(w, true, "it has no good deadline: see the version of resexd");
		return;
	}
	if (!w->program) {
		set_answer(w, true,
			   "resex-agent has no program for it: begin it with --hook PROGRAM");
		return;
	}
	snprintf(c.path, sizeof(c.path), "%s", w->program);
	c.deadline_ns = (int64_t)ms * NS_PER_MS;
	if (hook_exec.open(&w->hook, &c)) {
		set_answer(w, true, "resex-agent has no memory: give this guest more");
		return;
	}
	log_msg(w->log, LOG_LVL_INFO, "the host wants it: %s begins", w->program);
	hook_exec.want(w->hook, &want, now);
}

void wanted_look(struct wanted *w, struct mono now)
{
	bool first = !w->looked;
	char value[GUEST_ABI_WANT_MAX], *line[LINES];
	uint64_t number;
	int rc = w->ops->want(w->node, value, sizeof(value));

	if (rc < 0 && rc != -ENOENT) {
		log_msg(w->log, LOG_LVL_WARNING, "%s cannot be read: %s: see the host's resexd",
			GUEST_ABI_WANT, strerror(-rc));
		return;
	}
	w->looked = true;
	if (rc <= 0) {
		drop(w);
		return;
	}
	if (!split(value, line) || strcmp(line[0], "1") != 0 || !parse(line[1], &number)) {
		log_msg(w->log, LOG_LVL_WARNING,
			"%s is none of version 1: use the same version on the host and here",
			GUEST_ABI_WANT);
		return;
	}
	if (number == w->number)
		return;
	drop(w);
	w->number = number;
	if (first)
		set_answer(w, true,
			   "resex-agent began after this was wanted: it is to be wanted "
			   "again");
	else
		begin(w, line, now);
}

static void write_answer(struct wanted *w)
{
	int rc = w->ops->answer(w->node, w->answer);

	if (rc)
		log_msg(w->log, LOG_LVL_WARNING, "%s cannot be written: %s: it is tried again",
			GUEST_ABI_ANSWER, strerror(-rc));
	else
		w->answer[0] = '\0';
}

int64_t wanted_work(struct wanted *w, struct mono now)
{
	int64_t ns = INT64_MAX;
	struct hook_seen s;

	if (w->hook) {
		ns = hook_exec.poll(w->hook, now);
		hook_exec.see(w->hook, &s);
		if (s.state == HOOK_RUNS)
			return ns;
		set_answer(w, s.state != HOOK_DONE, s.note);
		hook_exec.close(w->hook);
		w->hook = NULL;
		ns = INT64_MAX;
	}
	if (w->answer[0])
		write_answer(w);
	return w->answer[0] ? again_ns : ns;
}

int wanted_open(struct wanted **out, const char *program, const struct node_ops *ops,
		struct node *n, const struct log *log)
{
	struct wanted *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->program = program;
	w->ops = ops;
	w->node = n;
	w->log = log;
	*out = w;
	return 0;
}

void wanted_close(struct wanted *w)
{
	if (!w)
		return;
	if (w->hook)
		hook_exec.close(w->hook);
	free(w);
}
