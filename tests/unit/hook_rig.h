/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook_rig: a hook of the test's own, a shell script in its directory, run by hook_exec; times by
 * argument.
 */
#ifndef RESEX_TESTS_HOOK_RIG_H
#define RESEX_TESTS_HOOK_RIG_H

#include <signal.h>

#include "src/reconf/hook_exec.h"
#include "tests/unit/tmpdir.h"

enum {
	WAIT_MS = 30000, /* of real time: what does not happen by then never does */
};

#define DEADLINE_NS (5 * NS_PER_S)

struct rig {
	struct tmpdir d;
	struct hook *h;
	struct hook_conf conf;
	struct mono now;
	uint64_t polls;
};

static inline int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	tmp_open(&r->d);
	r->now.ns = 1000 * NS_PER_S;
	r->conf.deadline_ns = DEADLINE_NS;
	*state = r;
	return 0;
}

static inline int teardown(void **state)
{
	struct rig *r = *state;

	if (r->h)
		hook_exec.close(r->h);
	tmp_close(&r->d);
	free(r);
	return 0;
}

static inline const char *at(struct rig *r, const char *name)
{
	return tmp_at(&r->d, name);
}

static inline void open_hook(struct rig *r, const char *path)
{
	assert_true(strlen(path) < sizeof(r->conf.path));
	strcpy(r->conf.path, path);
	assert_int_equal(hook_exec.open(&r->h, &r->conf), 0);
}

/* In the script, $d is the directory of the test. */
static inline void write_hook(struct rig *r, const char *script)
{
	char text[1024];

	assert_true(snprintf(text, sizeof(text), "#!/bin/sh\nd=${0%%/*}\n%s\n", script) <
		    (int)sizeof(text));
	tmp_write(&r->d, "hook", text);
	assert_int_equal(chmod(at(r, "hook"), 0755), 0);
}

static inline void make_hook(struct rig *r, const char *script)
{
	write_hook(r, script);
	open_hook(r, at(r, "hook"));
}

static inline int want(struct rig *r, const char *node)
{
	const struct hook_want w = { "switch", node, "web", "mail" };

	return hook_exec.want(r->h, &w, r->now);
}

static inline int64_t poll_hook(struct rig *r)
{
	r->polls++;
	return hook_exec.poll(r->h, r->now);
}

static inline struct hook_seen seen(const struct rig *r)
{
	struct hook_seen s;

	hook_exec.see(r->h, &s);
	return s;
}

static inline void pass(struct rig *r, int64_t ns)
{
	r->now = mono_add(r->now, ns);
}

static inline void nap(void)
{
	usleep(1000);
}

/* Until it has ended; the time of the hook stands still. */
static inline struct hook_seen ended(struct rig *r)
{
	for (int i = 0; seen(r).state == HOOK_RUNS; i++) {
		if (poll_hook(r) > NS_PER_MS)
			nap();
		assert_true(i < WAIT_MS);
	}
	assert_true(poll_hook(r) == INT64_MAX);
	return seen(r);
}

static inline struct hook_seen run(struct rig *r)
{
	assert_int_equal(want(r, "n1"), 0);
	return ended(r);
}

/* Until the program has written the file. */
static inline void await_file(struct rig *r, const char *name)
{
	for (int i = 0; !tmp_exists(&r->d, name); i++) {
		assert_true(i < WAIT_MS);
		nap();
	}
}

static inline void begin(struct rig *r, const char *script)
{
	make_hook(r, script);
	assert_int_equal(want(r, "n1"), 0);
	await_file(r, "ready");
	poll_hook(r);
	assert_int_equal(seen(r).state, HOOK_RUNS);
}

/* The process whose id is in the file. */
static inline pid_t pid_in(struct rig *r, const char *name)
{
	char text[32];
	pid_t pid = (pid_t)atoi(tmp_read(&r->d, name, text, sizeof(text)));

	assert_true(pid > 1);
	return pid;
}

/* A process that has ended may stay as a zombie, if nobody reaps it. */
static inline bool lives(pid_t pid)
{
	char path[32], text[64] = "", *behind;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	behind = strrchr(text, ')');
	return behind && behind[2] != 'Z' && behind[2] != 'X';
}

static inline void await_death(pid_t pid)
{
	for (int i = 0; lives(pid); i++) {
		assert_true(i < WAIT_MS);
		nap();
	}
}

static inline void assert_says(const struct hook_seen *s, const char *text)
{
	if (!strstr(s->note, text))
		fail_msg("\"%s\" is not in \"%s\"", text, s->note);
}

static inline void assert_failed(const struct hook_seen *s, const char *text)
{
	assert_int_equal(s->state, HOOK_FAILED);
	assert_says(s, text);
}

#endif
