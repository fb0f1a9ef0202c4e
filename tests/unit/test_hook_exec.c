// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hook_exec: what a program is given, how it ends, and which is not run. test_hook_deadline.c has
 * those that do not end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

#include "src/util/utf8.h"
#include "tests/unit/hook_rig.h"

enum { FLOOD = 100000000, PIPE = 65536 };

/* --- what it is given ---------------------------------------------------------------------- */

TEST(open__bad_path_or_deadline__is_refused)
{
	struct hook_conf c = { .path = "hook", .deadline_ns = 1 };
	struct hook *h = NULL;

	assert_int_equal(hook_exec.open(&h, &c), -EINVAL);
	strcpy(c.path, "/hook");
	c.deadline_ns = 0;
	assert_int_equal(hook_exec.open(&h, &c), -EINVAL);
	c.deadline_ns = 1;
	memset(c.path, '/', sizeof(c.path));
	assert_int_equal(hook_exec.open(&h, &c), -EINVAL);
	assert_null(h);
	hook_exec.close(NULL);
}

RIG_TEST(want__program_ends_with_0__is_done)
{
	struct rig *r = *state;
	struct hook_seen s;
	char text[64];

	make_hook(r, "echo said; for a; do echo \"$a\"; done >$d/args");
	assert_int_equal(seen(r).state, HOOK_IDLE);
	assert_true(poll_hook(r) == INT64_MAX);
	assert_int_equal(want(r, "n1"), 0);
	assert_int_equal(seen(r).state, HOOK_RUNS);
	s = ended(r);
	assert_int_equal(s.state, HOOK_DONE);
	assert_string_equal(s.note, "");
	assert_string_equal(tmp_read(&r->d, "args", text, sizeof(text)), "switch\nn1\nweb\nmail\n");
}

RIG_TEST(want__names_with_dashes_and_quotes__are_passed_as_they_are)
{
	struct rig *r = *state;
	const struct hook_want w = { "check", "-rf", "-", "a b\"'$(touch x)`;*" };
	char text[64];

	make_hook(r, "for a; do echo \"$a\"; done >$d/args");
	assert_int_equal(hook_exec.want(r->h, &w, r->now), 0);
	assert_int_equal(ended(r).state, HOOK_DONE);
	assert_string_equal(tmp_read(&r->d, "args", text, sizeof(text)),
			    "check\n-rf\n-\na b\"'$(touch x)`;*\n");
}

RIG_TEST(want__environment__is_path_alone_in_the_root_directory)
{
	struct rig *r = *state;
	char text[256];

	setenv("RESEX_SECRET", "1", 1);
	make_hook(r, "pwd >$d/got; tr '\\0' '\\n' </proc/$$/environ >>$d/got");
	assert_int_equal(run(r).state, HOOK_DONE);
	unsetenv("RESEX_SECRET");
	assert_string_equal(
		tmp_read(&r->d, "got", text, sizeof(text)),
		"/\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n");
}

RIG_TEST(want__descriptors__are_null_and_one_pipe_alone)
{
	struct rig *r = *state;
	int fd = dup2(1, 77);

	assert_int_equal(fd, 77);
	make_hook(r, "[ $(readlink /proc/$$/fd/0) = /dev/null ] || exit 1\n"
		     "[ $(readlink /proc/$$/fd/1) = $(readlink /proc/$$/fd/2) ] || exit 2\n"
		     "[ ! -e /proc/$$/fd/77 ] || exit 3\n"
		     "case $(readlink /proc/$$/fd/1) in pipe:*) ;; *) exit 4 ;; esac");
	assert_string_equal(run(r).note, "");
	close(fd);
}

/*
 * A program that ignores SIGPIPE or SIGTERM because resexd does would not end. 180000000: the two
 * signals that the threads of glibc use among themselves, which its posix_spawn() ignores.
 */
RIG_TEST(want__signals_and_priority__are_the_default_ones)
{
	struct rig *r = *state;
	const struct sched_param none = { 0 };
	int policy = sched_getscheduler(0);
	struct hook_seen s;
	sigset_t all, old;

	/* By what the shell does itself: it blocks signals while it waits for a child. */
	make_hook(r, "while read k v; do case $k$v in\n"
		     "SigBlk:*[1-9a-f]*) exit 1 ;;\n"
		     "SigIgn:*[1-9a-f]*) [ ${v#0*18} = 0000000 ] || exit 2 ;;\n"
		     "esac; done </proc/$$/status\n"
		     "read -r stat </proc/$$/stat; set -- $stat\n"
		     "[ $5 = $$ ] || exit 3; [ ${41} = 0 ] || exit 4");
	sigfillset(&all);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &all, &old);
	assert_int_equal(sched_setscheduler(0, SCHED_BATCH, &none), 0);
	s = run(r);
	assert_int_equal(sched_setscheduler(0, policy, &none), 0);
	sigprocmask(SIG_SETMASK, &old, NULL);
	signal(SIGPIPE, SIG_DFL);
	assert_string_equal(s.note, "");
}

/* resex-agent has a negative one, and what the program starts is to serve others. */
RIG_TEST(want__nice_value__is_not_below_0)
{
	struct rig *r = *state;
	int was = getpriority(PRIO_PROCESS, 0);
	struct hook_seen s;

	if (setpriority(PRIO_PROCESS, 0, -5))
		skip();
	/* It is set just after the program has begun. */
	make_hook(r, "while read -r stat </proc/$$/stat; set -- $stat; [ ${19} -lt 0 ]; do sleep "
		     "0.01; done; "
		     "[ ${19} = 0 ]");
	s = run(r);
	setpriority(PRIO_PROCESS, 0, was);
	assert_int_equal(s.state, HOOK_DONE);
}

/* --- what it says -------------------------------------------------------------------------- */

RIG_TEST(end__exit_status_with_text__is_the_note)
{
	struct rig *r = *state;
	struct hook_seen s;
	char note[2 * HOOK_NOTE_MAX];

	make_hook(r, "echo first; echo '  no such vhost: mail  ' >&2; exit 3");
	s = run(r);
	assert_int_equal(s.state, HOOK_FAILED);
	snprintf(note, sizeof(note),
		 "%s ended by exit status 3: \"first   no such vhost: mail\": correct what it "
		 "says, or the program",
		 r->conf.path);
	assert_string_equal(s.note, note);
}

RIG_TEST(end__exit_status_in_silence__says_so)
{
	struct rig *r = *state;
	struct hook_seen s;

	make_hook(r, "exit 1");
	s = run(r);
	assert_failed(&s, "ended by exit status 1, and wrote nothing: run it by hand");
}

RIG_TEST(end__signal__is_named)
{
	struct rig *r = *state;
	struct hook_seen s;

	make_hook(r, "echo before; kill -9 $$");
	s = run(r);
	assert_failed(&s, "ended by signal 9: \"before\"");
}

RIG_TEST(end__a_later_one_ends_well__nothing_is_left_of_the_former)
{
	struct rig *r = *state;
	struct hook_seen s;

	make_hook(r, "[ $2 = n1 ] || exit 5; echo one; exit 4");
	s = run(r);
	assert_failed(&s, "\"one\"");
	assert_int_equal(want(r, "n2"), 0);
	assert_string_equal(seen(r).note, "");
	s = ended(r);
	assert_failed(&s, "ended by exit status 5, and wrote nothing");
}

RIG_TEST(end__control_characters_and_broken_text__are_made_harmless)
{
	struct rig *r = *state;
	struct hook_seen s;

	make_hook(r, "printf '\\033[31mred\\007\\000\\377\\303 \\303\\251\\r\\nend\\n'; exit 1");
	s = run(r);
	assert_failed(&s, "\"?[31mred?? \303\251  end\"");
	assert_true(utf8_good(s.note));
}

/* The bytes that are kept begin in the middle of a character, in one of the two. */
RIG_TEST(end__long_text__ends_in_whole_characters)
{
	struct rig *r = *state;
	struct hook_seen s;

	make_hook(r, "for i in 1 2 3 4 5 6 7 8 9 10; do printf "
		     "'\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251'"
		     "; done\n[ $2 = n1 ] || printf x; exit 1");
	s = run(r);
	assert_failed(&s, "\"\303\251\303\251");
	assert_true(utf8_good(s.note));
	assert_int_equal(want(r, "n2"), 0);
	s = ended(r);
	assert_failed(&s, "\"\303\251\303\251");
	assert_says(&s, "\303\251\303\251x\": correct what it says, or the program");
	assert_true(utf8_good(s.note));
}

RIG_TEST(end__flood__is_read_in_parts_and_its_end_is_kept)
{
	struct rig *r = *state;
	struct hook_seen s;
	char script[128];

	snprintf(script, sizeof(script), "head -c %d /dev/zero; echo the end; exit 3", FLOOD);
	make_hook(r, script);
	s = run(r);
	assert_failed(&s, "ended by exit status 3: \"????");
	assert_says(&s, "?the end\": correct");
	assert_true(r->polls >= FLOOD / PIPE);
}

RIG_TEST(end__output_was_closed__the_program_goes_on)
{
	struct rig *r = *state;
	int64_t ns = 0;

	begin(r, "echo early; exec >&- 2>&-\n: >$d/ready\n"
		 "while [ ! -e $d/go ]; do sleep 0.01; done; exit 6");
	/* It is no reason to poll it all the time. */
	for (int i = 0; i < 3; i++)
		ns = poll_hook(r);
	assert_true(ns > NS_PER_MS);
	assert_int_equal(seen(r).state, HOOK_RUNS);
	tmp_write(&r->d, "go", "");
	struct hook_seen s = ended(r);
	assert_failed(&s, "ended by exit status 6: \"early\"");
}

RIG_TEST(end__a_child_keeps_the_pipe_open__is_the_end_all_the_same)
{
	struct rig *r = *state;
	pid_t child;

	make_hook(r, "sleep 1000 & echo $! >$d/child; exit 0");
	assert_int_equal(run(r).state, HOOK_DONE);
	child = pid_in(r, "child");
	assert_true(lives(child));
	kill(child, SIGKILL);
	await_death(child);
}

RIG_TEST(end__sigchld_is_ignored__says_that_nothing_is_known)
{
	struct rig *r = *state;
	struct hook_seen s;

	make_hook(r, "exit 0");
	signal(SIGCHLD, SIG_IGN);
	s = run(r);
	signal(SIGCHLD, SIG_DFL);
	assert_failed(&s, "is not known: SIGCHLD is ignored: begin");
}

/* --- which is not run ---------------------------------------------------------------------- */

/* By a hook that would be done, if it were run. */
static void assert_refused(struct rig *r, const char *text)
{
	struct hook_seen s;

	if (!r->h)
		open_hook(r, at(r, "hook"));
	s = run(r);
	assert_failed(&s, text);
	assert_says(&s, ": ");
}

RIG_TEST(want__no_such_file__is_refused_until_it_is_there)
{
	struct rig *r = *state;

	assert_refused(r, "No such file or directory: install it, or correct its path");
	write_hook(r, "exit 0");
	assert_int_equal(run(r).state, HOOK_DONE);
}

RIG_TEST(want__not_executable__is_refused)
{
	struct rig *r = *state;

	write_hook(r, "exit 0");
	assert_int_equal(chmod(at(r, "hook"), 0644), 0);
	assert_refused(r, "is not executable: chmod +x it");
}

RIG_TEST(want__directory__is_refused)
{
	struct rig *r = *state;

	assert_int_equal(mkdir(at(r, "hook"), 0755), 0);
	assert_refused(r, "is no file, but a directory");
}

RIG_TEST(want__pipe__is_refused)
{
	struct rig *r = *state;

	assert_int_equal(mkfifo(at(r, "hook"), 0755), 0);
	assert_refused(r, "is no file, but a device, pipe or socket");
}

RIG_TEST(want__no_interpreter__is_refused)
{
	struct rig *r = *state;

	tmp_write(&r->d, "hook", "exit 0\n");
	assert_int_equal(chmod(at(r, "hook"), 0755), 0);
	assert_refused(r, "let it begin with #!");
}

RIG_TEST(want__interpreter_is_missing__is_refused)
{
	struct rig *r = *state;

	tmp_write(&r->d, "hook", "#!/no/such/sh\nexit 0\n");
	assert_int_equal(chmod(at(r, "hook"), 0755), 0);
	assert_refused(r, "install the interpreter that its first line names");
}

RIG_TEST(want__others_can_write_it__is_refused)
{
	struct rig *r = *state;

	write_hook(r, "exit 0");
	assert_int_equal(chmod(at(r, "hook"), 0775), 0);
	assert_refused(r, "is refused: other users can change");
	assert_int_equal(chmod(at(r, "hook"), 0757), 0);
	assert_refused(r, "is refused: other users can change");
	assert_int_equal(chmod(at(r, "hook"), 0755), 0);
	assert_int_equal(run(r).state, HOOK_DONE);
}

RIG_TEST(want__others_own_it__is_refused)
{
	struct rig *r = *state;

	if (geteuid())
		skip();
	write_hook(r, "exit 0");
	assert_int_equal(chown(at(r, "hook"), 12345, 12345), 0);
	assert_refused(r, "is refused: other users can change");
}

RIG_TEST(want__others_can_write_its_directory__is_refused_but_when_sticky)
{
	struct rig *r = *state;

	write_hook(r, "exit 0");
	assert_int_equal(chmod(r->d.path, 0777), 0);
	assert_refused(r, "other users can change /tmp/resex-test-");
	assert_int_equal(chmod(r->d.path, 01777), 0);
	assert_int_equal(run(r).state, HOOK_DONE);
}

/* Neither beside the link nor beside what it leads to. */
RIG_TEST(want__others_can_write_beside_a_link__is_refused)
{
	struct rig *r = *state;
	char link[160];

	write_hook(r, "exit 0");
	assert_int_equal(mkdir(at(r, "sub"), 0755), 0);
	strcpy(link, at(r, "sub/link"));
	assert_int_equal(symlink("../hook", link), 0);
	open_hook(r, link);
	assert_int_equal(run(r).state, HOOK_DONE);
	assert_int_equal(chmod(at(r, "sub"), 0777), 0);
	assert_refused(r, "/sub: chown root");
}

RIG_TEST(want__others_can_write_where_a_link_leads_to__is_refused)
{
	struct rig *r = *state;
	char hook[160];

	write_hook(r, "exit 0");
	assert_int_equal(mkdir(at(r, "sub"), 0755), 0);
	strcpy(hook, at(r, "hook"));
	assert_int_equal(rename(hook, at(r, "sub/real")), 0);
	assert_int_equal(symlink("sub/real", hook), 0);
	open_hook(r, hook);
	assert_int_equal(run(r).state, HOOK_DONE);
	assert_int_equal(chmod(at(r, "sub"), 0777), 0);
	assert_refused(r, "/sub: chown root");
}
