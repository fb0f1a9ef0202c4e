// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * scenario: run a scenario (src/lab/run.h), or check one, and print its summary. main.c calls
 * it with the options; no lock is needed, since nothing of the real host is touched.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/conf/policy.h"
#include "src/daemon/modes.h"
#include "src/lab/run.h"

/*
 * Indented on a terminal, else one line. 12 digits: 17 would show the last bits of binary
 * fractions, as in 0.30000000000000004.
 */
static int print_json(FILE *f, const json_t *summary)
{
	size_t flags = JSON_REAL_PRECISION(12) | (isatty(fileno(f)) ? JSON_INDENT(1) : 0);

	errno = 0; /* jansson may fail without one */
	if (json_dumpf(summary, f, flags) || fputc('\n', f) == EOF || fflush(f))
		return errno ? -errno : -EIO;
	return 0;
}

static int write_summary(const struct log *log, const char *file, const json_t *summary)
{
	FILE *f = file ? fopen(file, "w") : stdout;
	int rc = f ? print_json(f, summary) : -errno;

	/* A full disk may show only now. */
	if (f && file && fclose(f) && !rc)
		rc = -errno;
	if (!rc)
		return RESEX_OK;
	log_msg(log, LOG_LVL_ERROR, "the summary cannot be written to %s: %s",
		file ? file : "the standard output", strerror(-rc));
	return RESEX_FAILURE;
}

static int run_and_summarize(const struct log *log, struct scenario *sc, const struct options *o)
{
	struct log quiet = *log;
	const struct scenario_opts so = {
		.hv = o->hv,
		.log = &quiet,
		.socket = o->socket,
		.observe = o->mode == MODE_OBSERVE,
		.progress = isatty(STDERR_FILENO),
	};
	struct conf_error e = { 0 };
	json_t *summary = NULL;
	int rc;

	/* An hour is over in seconds: a line for each guest that comes or goes is too much. */
	if (sc->clock == SCENARIO_SIMULATED && o->level < LOG_LVL_DEBUG)
		quiet.level = LOG_LVL_WARNING;
	signal(SIGPIPE, SIG_IGN);
	if (scenario_run(sc, &so, &summary, &e)) {
		log_msg(log, LOG_LVL_ERROR, "%s", e.text);
		return RESEX_FAILURE;
	}
	rc = write_summary(log, o->summary, summary);
	json_decref(summary);
	return rc;
}

/* Run the same host under another policy, to compare. */
static int replace_policy(struct scenario *sc, const char *name, struct conf_error *e)
{
	struct policy_inst *pi;
	int rc = policy_load(&pi, sc->plugins, name, "", e);

	if (rc)
		return rc;
	/* With its defaults: parameters in the file belong to the policy that the file names. */
	policy_free(sc->policy);
	sc->policy = pi;
	return 0;
}

/* What the command line says of this scenario. */
static int apply_options(struct scenario *sc, const struct options *o, struct conf_error *e)
{
	if (o->socket && sc->clock == SCENARIO_SIMULATED) {
		conf_error_set(e, RESEX_USAGE,
			       "%s: there is no control socket on the simulated clock: leave out "
			       "--socket, or write \"clock\": \"real\"",
			       o->scenario);
		return -EINVAL;
	}
	return o->policy ? replace_policy(sc, o->policy, e) : 0;
}

int mode_scenario(const struct log *log, const struct options *o)
{
	const char *dir = o->policy_dir ? o->policy_dir : RESEX_PLUGINDIR;
	struct scenario *sc = calloc(1, sizeof(*sc));
	struct conf_error e = { 0 };
	struct plugins *ps = NULL;
	int rc = sc ? plugins_open(&ps, dir) : -ENOMEM;

	if (!rc)
		rc = scenario_load(sc, ps, o->scenario, &e);
	if (rc) {
		rc = report_error(log, &e);
		goto out;
	}
	rc = apply_options(sc, o, &e);
	if (rc) {
		rc = report_error(log, &e);
	} else if (o->mode == MODE_CHECK)
		printf("%s: good: policy %s, %u guest%s, %u event%s, %.12g s\n", o->scenario,
		       sc->policy->ops->name, sc->sim.guests, sc->sim.guests == 1 ? "" : "s",
		       sc->events, sc->events == 1 ? "" : "s", (double)sc->duration_ns / 1e9);
	else
		rc = run_and_summarize(log, sc, o);
	scenario_free(sc);
out:
	plugins_close(ps);
	free(sc);
	return rc;
}
