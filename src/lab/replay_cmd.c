// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * replay_cmd: resex-lab replay FILE. Without --policy and --set the trace's decisions are compared.
 * With them two replays run side by side: the trace's own policy, and the other one. See replay.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "src/lab/replay_cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/lab/lab_cmd.h"
#include "src/lab/replay_show.h"
#include "src/util/utf8.h"

enum {
	SETS_MAX = 64,
	/* A tick that takes longer goes on for ever: no resexd has its policy's state. */
	TICK_S = 30,
};

struct replay_options {
	const char *file, *policy;
	char shown[4096]; /* file, as a terminal may have it */
	bool json;
	uint32_t sets;
	char *set[SETS_MAX]; /* NAME=VALUE */
};

static const struct cmdline_row rows[] = {
	{ 'p', "policy", "POLICY", "replay under this policy instead, from its beginning" },
	{ 's', "set", "NAME=VALUE", "and with this parameter (again for more)" },
	{ 'j', "json", NULL, "print one JSON object" },
	{ 'h', "help", NULL, "print this" },
	{ 'V', "version", NULL, "print the version" },
	{ 0 },
};

static void print_help(void)
{
	puts("Usage: resex-lab replay [OPTION]... FILE\n"
	     "Replay a trace of resex trace-start, and compare each decision and balance.\n");
	cmdline_print_rows(rows, 22);
	puts("\nSee resex-lab(1).");
}

static int set_option(struct replay_options *o, int letter, char *value)
{
	switch (letter) {
	case 'p':
		o->policy = value;
		return -1;
	case 's':
		if (!value || o->sets == SETS_MAX)
			return lab_refuse(
				"--set is given more than %d times: give each parameter once",
				SETS_MAX);
		o->set[o->sets++] = value;
		return -1;
	case 'j':
		o->json = true;
		return -1;
	case 'h':
		print_help();
		return RESEX_OK;
	default:
		puts("resex-lab " PACKAGE_VERSION);
		return RESEX_OK;
	}
}

/* -1: go on; else the exit code. */
static int read_options(struct replay_options *o, int argc, char **argv)
{
	struct option longs[CMDLINE_OPTIONS_MAX];
	char error[256];
	struct cmdline c = {
		.argc = argc, .argv = argv, .longs = longs, .help = "resex-lab replay --help"
	};
	int letter, rc;

	*o = (struct replay_options){ 0 };
	cmdline_longs(rows, longs);
	cmdline_begin(&c);
	while ((letter = cmdline_next(&c, error, sizeof(error))) >= 0) {
		rc = set_option(o, letter, optarg);
		if (rc >= 0)
			return rc;
	}
	if (letter == CMDLINE_WRONG)
		return lab_refuse("%s", error);
	if (argc - optind != 1)
		return lab_refuse("give one trace: see resex-lab replay --help");
	o->file = argv[optind];
	utf8_escape(o->file, o->shown, sizeof(o->shown));
	return -1;
}

/* --- the other policy --------------------------------------------------------------------- */

static json_t *value_of(const char *word)
{
	char *end;
	long long v = strtoll(word, &end, 10);

	return *word && !*end ? json_integer(v) : json_string(word);
}

static int set_param(struct policy_inst *pi, char *word)
{
	char want[256] = "", *eq = strchr(word, '=');
	json_t *v;
	int rc;

	if (!eq || eq == word)
		return lab_refuse("--set %s: give NAME=VALUE, such as step=10ms", word);
	*eq = 0;
	v = value_of(eq + 1);
	if (!v)
		return lab_refuse("--set %s: its value must be in UTF-8", word);
	rc = policy_param_set(pi, word, v, want, sizeof(want));
	json_decref(v);
	if (rc == -ENOENT)
		return lab_refuse(
			"--set %s=%s: policy %s has no such parameter: see resex policy-show "
			"%s",
			word, eq + 1, pi->ops->name, pi->ops->name);
	if (rc)
		return lab_refuse("--set %s=%s: %s", word, eq + 1, want);
	return RESEX_OK;
}

/* Checked before the trace is read, so that both faults are reported. */
static bool policy_is_known(const struct replay_options *o)
{
	if (!o->policy || policy_find(o->policy))
		return true;
	lab_refuse("--policy %s: there is no such policy: see resex policy-list", o->policy);
	return false;
}

/* was: the policy of the recording. */
static int make_other(const struct replay_options *o, const struct policy_inst *was,
		      struct policy_inst **pi)
{
	const struct policy_ops *ops = o->policy ? policy_find(o->policy) : was->ops;
	struct conf_error e;
	int rc = RESEX_OK;

	if (policy_new(pi, ops, false)) {
		lab_refuse("there is no memory for a policy: free some");
		return RESEX_FAILURE;
	}
	if (ops == was->ops)
		memcpy((*pi)->params, was->params, ops->params_size);
	for (uint32_t i = 0; rc == RESEX_OK && i < o->sets; i++)
		rc = set_param(*pi, o->set[i]);
	if (rc == RESEX_OK && policy_start(*pi, &e))
		rc = lab_refuse("%s", e.text);
	if (rc != RESEX_OK) {
		policy_free(*pi);
		*pi = NULL;
	}
	return rc;
}

/* --- output ---------------------------------------------------------------------------------- */

static int refused(const struct replay_options *o, const char *why)
{
	lab_refuse("%s: %s", o->shown, why);
	return RESEX_FAILURE;
}

static void say_whole(const struct replay_options *o, const struct replay *r)
{
	if (!r->file.whole)
		fprintf(stderr,
			"resex-lab: %s: the trace is not whole, since its recording did not end: "
			"what it has was replayed\n",
			o->shown);
}

static int show(const struct replay_options *o, const struct replay_result *res)
{
	json_t *all;

	if (!o->json) {
		replay_show_text(res);
		return RESEX_OK;
	}
	all = replay_show_json(res);
	if (all)
		lab_print_json(all);
	return lab_printed(all);
}

static int next_tick(struct replay *r, char why[REPLAY_TEXT])
{
	int rc;

	alarm(TICK_S);
	rc = replay_tick(r, why);
	alarm(0);
	return rc;
}

/* --- runs --------------------------------------------------------------------------------- */

/* The replays ended with rc, and with why unless it is 0. The exit code. */
static int finish(const struct replay_options *o, const struct replay *was, const struct replay *is,
		  const struct replay_apart *apart, int rc, const char *why)
{
	const struct replay_result res = { o->shown, was, is, apart, rc ? why : NULL };
	int shown;

	if (rc && rc != -ECANCELED)
		return refused(o, why);
	shown = show(o, &res);
	if (rc || shown != RESEX_OK)
		return RESEX_FAILURE;
	say_whole(o, was);
	return RESEX_OK;
}

static int compare_one(const struct replay_options *o, FILE *f)
{
	char why[REPLAY_TEXT];
	struct replay *r;
	int rc = replay_open(&r, f, NULL, why);

	if (rc)
		return refused(o, why);
	do
		rc = next_tick(r, why);
	while (rc > 0);
	if (!rc && !r->ticks) {
		rc = -ENODATA;
		snprintf(why, sizeof(why), "it has no tick: record for longer");
	}
	rc = finish(o, r, NULL, NULL, rc, why);
	replay_close(r);
	return rc;
}

/* Both step by step. */
static int run_both(const struct replay_options *o, struct replay *was, struct replay *is)
{
	struct replay_apart apart = { .some = false };
	char why[REPLAY_TEXT];
	int rc;

	for (;;) {
		struct mono before = was->now;

		rc = next_tick(was, why);
		if (rc <= 0)
			break;
		rc = next_tick(is, why);
		if (rc <= 0)
			break;
		replay_note_apart(was, is, was->ticks > 1 ? mono_sub(was->now, before) : 0, &apart);
	}
	return finish(o, was, is, &apart, rc, why);
}

/* The policy that the recording began with says which parameters are not given. */
static int compare_both(const struct replay_options *o, FILE *f)
{
	const bool seeks = !fseek(f, 0, SEEK_SET);
	FILE *again = seeks ? fopen(o->file, "re") : NULL;
	struct replay *was = NULL, *is = NULL;
	struct policy_inst *other = NULL;
	char why[REPLAY_TEXT];
	int rc = again ? replay_open(&was, f, NULL, why) : -ENOENT;

	if (!again)
		snprintf(why, sizeof(why), "%s",
			 seeks ? "it was moved away: give its new path"
			       : "two replays beside each other need a file: give one, not a pipe");
	if (!rc)
		rc = next_tick(was, why);
	if (!rc) {
		rc = -ENODATA;
		snprintf(why, sizeof(why), "it has no tick: record for longer");
	}
	rc = rc < 0 ? finish(o, was, NULL, NULL, rc, why) : make_other(o, was->policy, &other);
	if (rc == RESEX_OK && replay_open(&is, again, other, why))
		rc = refused(o, why);
	if (rc == RESEX_OK && next_tick(is, why) <= 0)
		rc = refused(o, why);
	if (rc == RESEX_OK)
		rc = run_both(o, was, is);
	replay_close(was);
	replay_close(is);
	if (again)
		fclose(again);
	return rc;
}

/* The policy is not known: say also what is wrong with the file. */
static int check_head(const struct replay_options *o, FILE *f)
{
	char why[REPLAY_TEXT];
	struct replay *r;

	if (replay_open(&r, f, NULL, why))
		refused(o, why);
	else
		replay_close(r);
	return RESEX_NO_POLICY;
}

/* What is wrong with the name of the policy and with the file is said; the first one counts. */
static int replay(const struct replay_options *o)
{
	const bool known = policy_is_known(o);
	FILE *f = fopen(o->file, "re");
	int rc;

	if (!f) {
		lab_refuse("%s: %s: give a file of resex trace-start", o->shown, strerror(errno));
		return known ? RESEX_FAILURE : RESEX_NO_POLICY;
	}
	if (!known)
		rc = check_head(o, f);
	else
		rc = o->policy || o->sets ? compare_both(o, f) : compare_one(o, f);
	fclose(f);
	if (fflush(stdout) || ferror(stdout)) {
		perror("resex-lab: output");
		return RESEX_FAILURE;
	}
	return rc;
}

/*
 * Should a trace that was made to do harm get past all checks, it ends a process of its own, as
 * does one that makes a tick go on for ever, and this one says so.
 */
int replay_cmd(int argc, char **argv)
{
	struct replay_options o;
	int status, rc = read_options(&o, argc, argv);
	pid_t pid;

	if (rc >= 0)
		return rc;
	pid = fork();
	if (pid < 0) {
		perror("resex-lab: fork");
		return RESEX_FAILURE;
	}
	if (!pid)
		_exit(replay(&o));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return RESEX_FAILURE;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return refused(&o,
		       "its policy has a state that no resexd writes, and the replay was ended: "
		       "get the file again");
}
