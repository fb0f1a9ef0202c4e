// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * captest: the cap test of resex doctor. Signals that would end the program are blocked while the
 * cap is set, and looked for where the test waits. See captest.h.
 */
#include "src/cli/captest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/cli/doctor.h"
#include "src/cli/request.h"
#include "src/util/clock.h"

#define POLL_NS	   (50 * NS_PER_MS)
#define SETTLE_NS  (300 * NS_PER_MS) /* credit accounts each 30 ms, credit2 each 10 ms */
#define MEASURE_NS (2 * NS_PER_S)
#define PATIENCE_S 10 /* for figures, and for a cap that comes into force, or is no more */

enum { UUID_TEXT = 40, NAME_TEXT = 72, STATE_TEXT = 16 };

struct captest {
	struct cli *c;
	const char *guest;    /* as it was named */
	char uuid[UUID_TEXT]; /* calls name it so: another guest may get its name meanwhile */
	char name[NAME_TEXT];
	sigset_t signals;
	bool interrupted;
	json_int_t max_cap;    /* in force before; 0: none */
	struct doctor_cap try; /* cap 0: not chosen yet */
	bool is_set;	       /* as max_cap, or was asked to be, */
	bool in_force;	       /* and Xen has it */
};

/* CPU time that the guest had used at a time of resexd's clock. */
struct reading {
	json_int_t at_ns, cpu_ns, max_cap;
	bool capped; /* by try.cap, or a lower one */
	char state[STATE_TEXT];
};

static int fail(struct captest *t, int code, const char *what)
{
	snprintf(t->c->client.error, sizeof(t->c->client.error), "guest %s: %s", t->name, what);
	return code;
}

/* Sleep, or until a signal comes. */
static void pause_ns(struct captest *t, int64_t ns)
{
	const struct timespec ts = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };

	if (sigtimedwait(&t->signals, NULL, &ts) > 0)
		t->interrupted = true;
}

static int call(struct captest *t, const char *method, json_t *settings, json_t **result)
{
	const char *guest = t->uuid[0] ? t->uuid : t->guest;
	json_t *params = json_pack("{s:s}", "guest", guest);

	if (settings)
		json_object_set_new(params, "settings", settings);
	return client_call(&t->c->client, method, params, result);
}

static int set_max_cap(struct captest *t, json_int_t percent)
{
	json_t *r = NULL;
	int rc = call(t, "guest-set", json_pack("{s:I}", "max_cap", percent), &r);

	json_decref(r);
	return rc;
}

static int read_guest(struct captest *t, struct reading *out)
{
	const char *state;
	json_t *r = NULL, *cap;
	int rc = call(t, "guest-show", NULL, &r);

	if (rc)
		return rc;
	cap = json_object_get(r, "cap");
	*out = (struct reading){
		.at_ns = json_integer_value(json_object_get(r, "sampled_ns")),
		.cpu_ns = json_integer_value(json_object_get(r, "cpu_ns")),
		.max_cap = json_integer_value(json_object_get(r, "max_cap")),
		.capped = json_is_integer(cap) && json_integer_value(cap) <= t->try.cap,
	};
	state = json_string_value(json_object_get(r, "state"));
	snprintf(out->state, sizeof(out->state), "%s", state ? state : "");
	json_decref(r);
	return RESEX_OK;
}

/* What others do to the guest meanwhile: the figures would then say nothing of the cap. */
static int still_alone(struct captest *t, const struct reading *now)
{
	json_int_t wanted = t->is_set ? t->try.cap : t->max_cap;
	char text[160];

	if (now->max_cap != wanted)
		snprintf(text, sizeof(text),
			 "its max_cap was changed to %lld during the test, which says nothing: it "
			 "stays so; try again",
			 (long long)now->max_cap);
	else if (t->in_force && !now->capped)
		snprintf(text, sizeof(text),
			 "the cap of the test was taken away during the test, which says nothing: "
			 "its state is %s now; try again",
			 now->state);
	else
		return RESEX_OK;
	return fail(t, RESEX_FAILURE, text);
}

static int interrupted(struct captest *t)
{
	return fail(t, RESEX_FAILURE, "the test was interrupted; no cap of it is left");
}

/* Until the figures are those of at_ns or later; with capped, until the cap is in force. */
static int read_until(struct captest *t, json_int_t at_ns, bool capped, struct reading *out)
{
	int rc;

	for (int64_t waited = 0; waited < PATIENCE_S * NS_PER_S; waited += POLL_NS) {
		rc = read_guest(t, out);
		if (!rc)
			rc = still_alone(t, out);
		if (rc || (out->at_ns && out->at_ns >= at_ns && (!capped || out->capped)))
			return rc;
		pause_ns(t, POLL_NS);
		if (t->interrupted)
			return interrupted(t);
	}
	return fail(t, RESEX_FAILURE,
		    capped ? "the cap did not come into force within 10 s: see errors in resex "
			     "cap-list, and late ticks in resex info"
			   : "resexd has no new figures of it: see late ticks in resex info");
}

/* In percent of one CPU, from now on. */
static int measure(struct captest *t, double *percent)
{
	struct reading first, last;
	int rc = read_until(t, 0, false, &first);

	if (!rc)
		rc = read_until(t, first.at_ns + MEASURE_NS, false, &last);
	if (rc)
		return rc;
	if (last.cpu_ns < first.cpu_ns)
		return fail(t, RESEX_NO_GUEST, "it began anew during the test: try again");
	*percent = 100.0 * (double)(last.cpu_ns - first.cpu_ns) /
		   (double)(last.at_ns - first.at_ns);
	return RESEX_OK;
}

/* --- before a cap is set --------------------------------------------------------------- */

/* By the state of guest-show: what keeps policies from the guest keeps the test from it, too. */
static const char *why_refused(const char *state)
{
	static const char *const rows[][2] = {
		{ "exempt", "it is exempt, so no cap is set: see exempt in resexd.json(5)" },
		{ "released", "it is released, so no cap is set: resex cap-release --undo" },
		{ "observed", "it is paused, so no cap is set: resex resume" },
		{ "paused", "its domain is paused: xl unpause" },
		{ "uncappable", "it cannot be capped: see NOTE in resex cap-list" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(state, rows[i][0]))
			return rows[i][1];
	return NULL;
}

static int look_at_guest(struct captest *t, json_int_t *min_cap, json_int_t *cap)
{
	json_t *r = NULL;
	const char *why, *name, *uuid, *state;
	int rc = call(t, "guest-show", NULL, &r);

	if (rc)
		return rc;
	name = json_string_value(json_object_get(r, "name"));
	uuid = json_string_value(json_object_get(r, "uuid"));
	state = json_string_value(json_object_get(r, "state"));
	snprintf(t->name, sizeof(t->name), "%s", name ? name : t->guest);
	snprintf(t->uuid, sizeof(t->uuid), "%s", uuid ? uuid : "");
	t->max_cap = json_integer_value(json_object_get(r, "max_cap"));
	*min_cap = json_integer_value(json_object_get(r, "min_cap"));
	*cap = json_integer_value(json_object_get(r, "cap")); /* null: 0 */
	why = why_refused(state ? state : "");
	json_decref(r);
	return why ? fail(t, RESEX_FAILURE, why) : RESEX_OK;
}

static int look_at_daemon(struct captest *t)
{
	json_t *r = NULL;
	int rc = client_call(&t->c->client, "info", NULL, &r);
	bool observes = !rc && json_is_true(json_object_get(r, "observe"));

	json_decref(r);
	return observes ? fail(t, RESEX_FAILURE, "resexd only observes, and sets no cap") : rc;
}

/* One line of an answer, whose end is also that of the input. */
static int ask_first(struct captest *t)
{
	char answer[16];

	if (t->c->options.yes)
		return RESEX_OK;
	if (!isatty(STDIN_FILENO))
		return usage_error(t->c, "--cap-test asks first, and the standard input is no "
					 "terminal: give --yes");
	fprintf(stderr,
		"Guest %s gets half of the CPU time that it uses now, for about 3 s. "
		"Go on? [y/N] ",
		t->name);
	if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
		return RESEX_OK;
	return fail(t, RESEX_FAILURE, "no cap was set, as you wished");
}

/* --- under the cap ------------------------------------------------------------------------ */

static int measure_capped(struct captest *t)
{
	struct reading now = { 0 };
	int rc;

	rc = read_until(t, 0, false, &now); /* max_cap is as it was */
	if (rc)
		return rc;
	t->is_set = true; /* also if resexd does not answer */
	rc = set_max_cap(t, t->try.cap);
	if (!rc)
		rc = read_until(t, 0, true, &now);
	t->in_force = !rc;
	if (!rc)
		rc = read_until(t, now.at_ns + SETTLE_NS, true, &now);
	return rc ? rc : measure(t, &t->try.during);
}

/* 1: the cap in force is another one, or is the policy's; 0: not yet; or -(an exit code). */
static int is_gone(struct captest *t)
{
	json_t *r = NULL, *g, *cap;
	int rc = client_call(&t->c->client, "cap-list", NULL, &r), gone = 1;
	size_t i;

	if (rc)
		return -rc;
	json_array_foreach(json_object_get(r, "guests"), i, g) {
		const char *uuid = json_string_value(json_object_get(g, "uuid"));

		cap = json_object_get(g, "cap");
		if (uuid && !strcmp(uuid, t->uuid))
			gone = !json_is_integer(cap) || json_integer_value(cap) != t->try.cap;
	}
	json_decref(r);
	return gone;
}

/*
 * max_cap is as before: wait until Xen has the guest's cap back, too. A policy may want the very
 * cap of the test: then it stays, and nothing is wrong.
 */
static int wait_until_gone(struct captest *t)
{
	int gone = 0;

	for (int64_t waited = 0; !gone && waited < PATIENCE_S * NS_PER_S; waited += POLL_NS) {
		gone = is_gone(t);
		if (!gone)
			pause_ns(t, POLL_NS);
	}
	return gone < 0 ? -gone : RESEX_OK;
}

/* A connection that broke is opened anew: resexd may have been started again. */
static int take_back_once(struct captest *t)
{
	struct client *cl = &t->c->client;
	json_t *r = NULL;
	json_int_t now;
	int rc = call(t, "guest-show", NULL, &r);

	if (rc == RESEX_NO_DAEMON) {
		client_close(cl);
		rc = client_open(cl, cl->path, cl->daemon);
		if (!rc)
			rc = call(t, "guest-show", NULL, &r);
	}
	if (rc)
		return rc;
	now = json_integer_value(json_object_get(r, "max_cap"));
	json_decref(r);
	/* Another one was set meanwhile by someone else, who wants it. */
	if (now != t->try.cap)
		return RESEX_OK;
	rc = set_max_cap(t, t->max_cap);
	return rc ? rc : wait_until_gone(t);
}

/* The error of the test itself is kept, unless the cap is left. */
static int take_back(struct captest *t, int rc)
{
	char before[sizeof(t->c->client.error)];
	char text[320];
	int back;

	memcpy(before, t->c->client.error, sizeof(before));
	back = take_back_once(t);
	if (back == RESEX_NO_DAEMON)
		back = take_back_once(t);
	memcpy(t->c->client.error, before, sizeof(before));
	if (!back || back == RESEX_NO_GUEST) /* its settings ended with it */
		return rc;
	snprintf(
		text, sizeof(text),
		"its cap of %u percent could not be taken back, since resexd does not answer: when "
		"it does, resex guest-set %s max_cap=%lld",
		t->try.cap, t->name, (long long)t->max_cap);
	return fail(t, back, text);
}

static int run_with_cap(struct captest *t)
{
	sigset_t block, old;
	int rc;

	sigemptyset(&t->signals);
	sigaddset(&t->signals, SIGINT);
	sigaddset(&t->signals, SIGTERM);
	sigaddset(&t->signals, SIGHUP);
	sigaddset(&t->signals, SIGQUIT);
	block = t->signals;
	sigaddset(&block, SIGTSTP); /* stopped at the keyboard, it could not take the cap back */
	sigprocmask(SIG_BLOCK, &block, &old);
	rc = measure_capped(t);
	if (t->is_set)
		rc = take_back(t, rc);
	/* One that came late must not end the program before it has told. */
	pause_ns(t, 0);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return rc;
}

/*
 * Two tests of a host at once would take each other's cap for the guest's own. The folder of the
 * socket is what they have in common. The lock ends with the process. -1: another one has it; a
 * folder that cannot be opened is not locked.
 */
static int lock_host(const struct client *c, int *fd)
{
	char dir[PATH_MAX];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", c->path);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = 0;
	*fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *fd >= 0 && flock(*fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK ? -1 : 0;
}

static int run_alone(struct captest *t, json_t *findings,
		     void (*say)(const struct cli *c, const char *text))
{
	json_int_t min_cap = 0, cap = 0;
	int rc = look_at_guest(t, &min_cap, &cap);

	if (!rc)
		rc = look_at_daemon(t);
	if (!rc)
		rc = ask_first(t);
	if (rc)
		return rc;
	t->try.guest = t->name;
	say(t->c, "measuring the guest as it is, for 2 s");
	rc = measure(t, &t->try.before);
	if (!rc)
		t->try.cap = doctor_cap_choose(t->name, t->try.before, (uint32_t)min_cap,
					       (uint32_t)cap, findings);
	if (rc || !t->try.cap)
		return rc;
	say(t->c, "measuring it under a cap, for 2 s");
	rc = run_with_cap(t);
	if (!rc)
		doctor_cap_judge(&t->try, findings);
	return rc;
}

int captest_run(struct cli *c, const char *guest, json_t *findings,
		void (*say)(const struct cli *c, const char *text))
{
	struct captest t = { .c = c, .guest = guest };
	int rc, fd;

	sigemptyset(&t.signals); /* until the cap is set, they end the program as ever */
	snprintf(t.name, sizeof(t.name), "%s", guest);
	if (lock_host(&c->client, &fd))
		rc = fail(
			&t, RESEX_BUSY,
			"another cap test runs on this host: try again when it has ended, in some "
			"5 s");
	else
		rc = run_alone(&t, findings, say);
	if (fd >= 0)
		close(fd);
	return rc;
}
