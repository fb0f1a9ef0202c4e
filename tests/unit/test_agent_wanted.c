// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agent/wanted: what the host wants of this guest's program, and what it is answered. The node is a
 * value of the test; programs are shell scripts; times by argument.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "ibmon/agent/wanted.h"
#include "tests/unit/tmpdir.h"

enum { WAIT_MS = 30000 };

struct node {
	int want_rc, answer_rc; /* 0: as it should be */
	char want[GUEST_ABI_WANT_MAX];
	char answer[GUEST_ABI_ANSWER_MAX];
	int answers;
};

struct rig {
	struct tmpdir d;
	char program[160];
	struct log log;
	struct node node;
	struct wanted *w;
	struct mono now;
};

static int node_want(struct node *n, char *value, size_t size)
{
	size_t len = strlen(n->want);

	if (n->want_rc)
		return n->want_rc;
	assert_true(len < size);
	memcpy(value, n->want, len + 1);
	return (int)len;
}

static int node_answer(struct node *n, const char *value)
{
	n->answers++;
	if (n->answer_rc)
		return n->answer_rc;
	assert_true(strlen(value) < sizeof(n->answer));
	strcpy(n->answer, value);
	return 0;
}

static const struct node_ops node_ops = { .want = node_want, .answer = node_answer };

/* An agent that has found nothing wanted at its start. */
static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	tmp_open(&r->d);
	strcpy(r->program, tmp_at(&r->d, "hook"));
	log_init(&r->log, "test", LOG_LVL_ERROR);
	r->now.ns = 1000 * NS_PER_S;
	assert_int_equal(wanted_open(&r->w, r->program, &node_ops, &r->node, &r->log), 0);
	r->node.want_rc = -ENOENT;
	wanted_look(r->w, r->now);
	r->node.want_rc = 0;
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	wanted_close(r->w);
	tmp_close(&r->d);
	free(r);
	return 0;
}

/* In the script, $d is the directory of the test. */
static void make_program(struct rig *r, const char *script)
{
	char text[1024];

	snprintf(text, sizeof(text), "#!/bin/sh\nd=${0%%/*}\n%s\n", script);
	tmp_write(&r->d, "hook", text);
	assert_int_equal(chmod(r->program, 0755), 0);
}

static int64_t look(struct rig *r, const char *want)
{
	snprintf(r->node.want, sizeof(r->node.want), "%s", want);
	wanted_look(r->w, r->now);
	return wanted_work(r->w, r->now);
}

/* What is answered, when it is; the time of the program stands still. */
static const char *answered(struct rig *r)
{
	for (int i = 0; !r->node.answer[0]; i++) {
		assert_true(i < WAIT_MS);
		wanted_work(r->w, r->now);
		usleep(1000);
	}
	assert_true(wanted_work(r->w, r->now) == INT64_MAX);
	return r->node.answer;
}

static void await_file(struct rig *r, const char *name)
{
	for (int i = 0; !tmp_exists(&r->d, name); i++) {
		assert_true(i < WAIT_MS);
		usleep(1000);
	}
}

static void await_death(struct rig *r, const char *name)
{
	char text[32];
	pid_t pid = (pid_t)atoi(tmp_read(&r->d, name, text, sizeof(text)));

	assert_true(pid > 1);
	for (int i = 0; !kill(pid, 0); i++) {
		assert_true(i < WAIT_MS);
		usleep(1000);
	}
}

RIG_TEST(want__program_does_it__is_answered_as_done)
{
	struct rig *r = *state;
	char text[64];

	make_program(r, "for a; do echo \"$a\"; done >$d/args");
	look(r, "1\n77\n5000\nswitch\n-n 1\nweb\nmail\n");
	assert_string_equal(answered(r), "1\n77\n0\n\n");
	assert_string_equal(tmp_read(&r->d, "args", text, sizeof(text)),
			    "switch\n-n 1\nweb\nmail\n");
	assert_int_equal(r->node.answers, 1);
}

RIG_TEST(want__program_fails__is_answered_by_its_note)
{
	struct rig *r = *state;
	char want[512];

	make_program(r, "echo no vhost; exit 3");
	look(r, "1\n77\n5000\nswitch\nn1\nweb\nmail\n");
	snprintf(want, sizeof(want),
		 "1\n77\n1\n%s ended by exit status 3: \"no vhost\": correct what it says, or the "
		 "program\n",
		 r->program);
	assert_string_equal(answered(r), want);
}

RIG_TEST(want__deadline_passes__program_is_killed_and_that_is_answered)
{
	struct rig *r = *state;

	make_program(r, "echo $$ >$d/pid; : >$d/ready; while :; do sleep 0.01; done");
	look(r, "1\n77\n5000\nswitch\nn1\nweb\nmail\n");
	await_file(r, "ready");
	r->now = mono_add(r->now, 5 * NS_PER_S - 1);
	wanted_work(r->w, r->now);
	assert_string_equal(r->node.answer, "");
	r->now = mono_add(r->now, 1);
	assert_non_null(strstr(answered(r), "1\n77\n1\n"));
	assert_non_null(strstr(r->node.answer, "did not end within 5000 ms, and was killed"));
	await_death(r, "pid");
}

/* The node tells of each change, and of some twice. */
RIG_TEST(want__seen_again__runs_once)
{
	struct rig *r = *state;
	char text[64];

	make_program(r, "echo x >>$d/runs");
	look(r, "1\n77\n5000\nswitch\nn1\nweb\nmail\n");
	look(r, "1\n77\n5000\nswitch\nn1\nweb\nmail\n");
	answered(r);
	look(r, "1\n77\n5000\nswitch\nn1\nweb\nmail\n");
	assert_true(wanted_work(r->w, r->now) == INT64_MAX);
	assert_string_equal(tmp_read(&r->d, "runs", text, sizeof(text)), "x\n");
	assert_int_equal(r->node.answers, 1);
}

RIG_TEST(want__another_number__runs_again)
{
	struct rig *r = *state;

	make_program(r, "exit 0");
	look(r, "1\n77\n5000\nswitch\nn1\nweb\nmail\n");
	answered(r);
	r->node.answer[0] = '\0';
	look(r, "1\n5\n5000\nswitch\nn1\nweb\nmail\n");
	assert_string_equal(answered(r), "1\n5\n0\n\n");
}

RIG_TEST(want__replaced_meanwhile__the_former_is_ended_and_not_answered)
{
	struct rig *r = *state;

	make_program(r, "[ $2 = n1 ] || exit 0; trap '' TERM; echo $$ >$d/pid; : >$d/ready\n"
			"while :; do sleep 0.01; done");
	look(r, "1\n77\n5000\nswitch\nn1\nweb\nmail\n");
	await_file(r, "ready");
	look(r, "1\n78\n5000\nswitch\nn2\nweb\nmail\n");
	assert_string_equal(answered(r), "1\n78\n0\n\n");
	assert_int_equal(r->node.answers, 1);
	await_death(r, "pid");
}

static void taken_back(struct rig *r, int rc)
{
	make_program(r, "echo $$ >$d/pid; : >$d/ready; while :; do sleep 0.01; done");
	look(r, "1\n77\n5000\nswitch\nn1\nweb\nmail\n");
	await_file(r, "ready");
	r->node.want_rc = rc;
	assert_true(look(r, "") == INT64_MAX);
	await_death(r, "pid");
	assert_int_equal(r->node.answers, 0);
}

RIG_TEST(want__is_empty__the_program_is_ended)
{
	taken_back(*state, 0);
}

RIG_TEST(want__is_removed__the_program_is_ended)
{
	taken_back(*state, -ENOENT);
}

/* It may be from before a crash of the agent, and the host may want something else by now. */
RIG_TEST(want__is_older_than_the_agent__fails_and_is_not_run)
{
	struct rig *r = *state;

	make_program(r, ": >$d/ran");
	wanted_close(r->w);
	assert_int_equal(wanted_open(&r->w, r->program, &node_ops, &r->node, &r->log), 0);
	look(r, "1\n77\n5000\nswitch\nn1\nweb\nmail\n");
	assert_string_equal(answered(r), "1\n77\n1\nresex-agent began after this was wanted: it is "
					 "to be wanted again\n");
	r->node.answer[0] = '\0';
	look(r, "1\n78\n5000\nswitch\nn1\nweb\nmail\n");
	assert_string_equal(answered(r), "1\n78\n0\n\n");
	assert_true(tmp_exists(&r->d, "ran"));
}

RIG_TEST(want__without_a_program__says_so)
{
	struct rig *r = *state;

	wanted_close(r->w);
	assert_int_equal(wanted_open(&r->w, NULL, &node_ops, &r->node, &r->log), 0);
	look(r, "");
	look(r, "1\n77\n5000\ncheck\nn1\n-\nmail\n");
	assert_string_equal(answered(r), "1\n77\n1\nresex-agent has no program for it: begin it "
					 "with --hook PROGRAM\n");
}

RIG_TEST(want__program_is_missing__says_so)
{
	struct rig *r = *state;

	look(r, "1\n77\n5000\ncheck\nn1\n-\nmail\n");
	assert_non_null(strstr(answered(r), "No such file or directory: install it"));
}

RIG_TEST(want__bad_deadline__fails)
{
	static const char *const bad[] = { "0", "", "-5", "86400001", "99999999999999999999" };
	struct rig *r = *state;
	char want[128];

	make_program(r, ": >$d/ran");
	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		r->node.answer[0] = '\0';
		snprintf(want, sizeof(want), "1\n%u\n%s\nswitch\nn1\nweb\nmail\n", i + 1, bad[i]);
		look(r, want);
		assert_non_null(strstr(answered(r), "it has no good deadline"));
	}
	assert_false(tmp_exists(&r->d, "ran"));
}

static const struct no_want {
	const char *name, *text;
} no_wants[] = {
	{ "want__of_another_version__is_left_alone", "2\n77\n5000\nswitch\nn1\nweb\nmail\n" },
	{ "want__with_fewer_lines__is_left_alone", "1\n77\n5000\nswitch\nn1\nweb\n" },
	{ "want__with_more_lines__is_left_alone", "1\n77\n5000\nswitch\nn1\nweb\nmail\nx\n" },
	{ "want__that_is_cut__is_left_alone", "1\n77\n5000\nswitch\nn1\nweb\nmail" },
	{ "want__without_a_number__is_left_alone", "1\n\n5000\nswitch\nn1\nweb\nmail\n" },
	{ "want__with_a_bad_number__is_left_alone", "1\n+77\n5000\nswitch\nn1\nweb\nmail\n" },
};

/* Without its number it cannot be answered. */
static void is_left_alone(void **state)
{
	const struct no_want *row = *state;
	struct rig *r;

	setup(state);
	r = *state;
	make_program(r, ": >$d/ran");
	assert_true(look(r, row->text) == INT64_MAX);
	assert_int_equal(r->node.answers, 0);
	assert_false(tmp_exists(&r->d, "ran"));
	look(r, "1\n77\n5000\nswitch\nn1\nweb\nmail\n");
	assert_string_equal(answered(r), "1\n77\n0\n\n");
	teardown(state);
}

TEST_ROWS(no_wants, is_left_alone)

/* What is wanted is not known then: what runs goes on. */
RIG_TEST(want__cannot_be_read__the_program_goes_on)
{
	struct rig *r = *state;

	make_program(r, "while [ ! -e $d/go ]; do sleep 0.01; done");
	look(r, "1\n77\n5000\nswitch\nn1\nweb\nmail\n");
	r->node.want_rc = -EIO;
	wanted_look(r->w, r->now);
	tmp_write(&r->d, "go", "");
	assert_string_equal(answered(r), "1\n77\n0\n\n");
}

RIG_TEST(answer__cannot_be_written__is_tried_again)
{
	struct rig *r = *state;
	int64_t ns;

	make_program(r, "exit 0");
	r->node.answer_rc = -ENOSPC;
	ns = look(r, "1\n77\n5000\nswitch\nn1\nweb\nmail\n");
	for (int i = 0; !r->node.answers; i++) {
		assert_true(i < WAIT_MS);
		ns = wanted_work(r->w, r->now);
		usleep(1000);
	}
	assert_true(ns == NS_PER_S);
	r->node.answer_rc = 0;
	assert_string_equal(answered(r), "1\n77\n0\n\n");
	assert_int_equal(r->node.answers, 2);
}

RIG_TEST(close__program_runs__is_ended)
{
	struct rig *r = *state;

	make_program(r, "echo $$ >$d/pid; : >$d/ready; while :; do sleep 0.01; done");
	look(r, "1\n77\n5000\nswitch\nn1\nweb\nmail\n");
	await_file(r, "ready");
	wanted_close(r->w);
	r->w = NULL;
	await_death(r, "pid");
	assert_int_equal(r->node.answers, 0);
}
