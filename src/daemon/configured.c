// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * configured: check a configuration, restore the caps that an earlier run saved, or run
 * the daemon (src/engine/engine.h), on Xen or on the demo's simulated host.
 *
 * main.c calls it with the options. Caps may be changed only by the holder of the locks
 * (lockfiles.h); a check changes nothing, needs none, and can be made while resexd runs.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resex/exit.h"
#include "ibmon/layout.h"
#include "src/conf/cluster.h"
#include "src/conf/policy.h"
#include "src/conf/settings.h"
#include "src/conf/trial.h"
#include "src/control/server.h"
#include "src/daemon/lockfiles.h"
#include "src/daemon/modes.h"
#include "src/engine/engine.h"
#include "src/core/caps.h"
#include "src/guests/journal.h"
#include "src/guests/restore.h"
#include "src/sim/sim.h"
#include "src/util/clock.h"

enum { CLUSTER_TEXT = 256 };

int report_error(const struct log *log, const struct conf_error *e)
{
	log_msg(log, LOG_LVL_ERROR, "%s", e->text[0] ? e->text : "out of memory");
	/*
	 * The code was set where the fault is known; systemd does not restart after some of them.
	 */
	return e->exit ? (int)e->exit : RESEX_FAILURE;
}

/* Check cluster.json and its key. text: this host and its cluster, the end of a sentence. */
static int check_cluster(const struct log *log, const struct daemon_conf *conf,
			 char text[static CLUSTER_TEXT])
{
	struct cluster_conf *c = calloc(1, sizeof(*c));
	struct conf_error e = { 0 };
	char hostname[256] = "";
	int rc;

	text[0] = 0;
	if (!c)
		return RESEX_FAILURE;
	gethostname(hostname, sizeof(hostname) - 1);
	rc = cluster_conf_check(c, conf->cluster_file, hostname, &e);
	if (rc)
		rc = report_error(log, &e);
	else
		snprintf(text, CLUSTER_TEXT, ", host %s of %u in cluster %s", c->host[c->self].name,
			 c->hosts, c->cluster);
	free(c);
	return rc;
}

/* *ls is NULL on error. */
static int open_layouts(struct layouts **ls, const struct daemon_conf *conf, struct conf_error *e)
{
	char why[LAYOUT_WHY_MAX];
	int rc = layouts_open(ls);

	if (rc)
		return rc;
	rc = layouts_load_all(*ls, conf->layout_dir, why);
	if (rc) {
		conf_error_set(e, conf_exit(rc), "layout_dir: %s", why);
		layouts_close(*ls);
		*ls = NULL;
	}
	return rc;
}

/*
 * All that a start would refuse and that can be seen without opening anything: the unit runs
 * it before each start, and an operator before each reload.
 */
static int check_only(const struct log *log, const struct daemon_conf *conf, const char *file)
{
	struct policy_inst *pi = NULL;
	struct layouts *layouts = NULL;
	struct plugins *ps = NULL;
	struct conf_error e = { 0 };
	char cluster[CLUSTER_TEXT] = "";
	gid_t gid;
	int rc = plugins_open(&ps, conf->policy_dir);

	if (!rc)
		rc = policy_load(&pi, ps, conf->policy, conf->policy_file, &e);
	if (!rc)
		rc = open_layouts(&layouts, conf, &e);
	if (rc) {
		rc = report_error(log, &e);
		goto out;
	}
	rc = lockfiles_check(log, conf);
	if (!rc && conf->socket_group[0] && control_group(conf, &gid, &e))
		rc = report_error(log, &e);
	if (!rc && conf->cluster_file[0])
		rc = check_cluster(log, conf, cluster);
	if (!rc)
		printf("%s: good: policy %s, %u link%s, %u guest%s named%s\n", file, pi->ops->name,
		       conf->links, conf->links == 1 ? "" : "s", conf->guests,
		       conf->guests == 1 ? "" : "s", cluster);
out:
	policy_free(pi);
	plugins_close(ps);
	layouts_close(layouts);
	return rc;
}

/* No copy of the file is good: which caps are in force, and what to do about them. */
static void report_in_force(const struct log *log, const struct hv_backend *hv, struct hv_sched *s)
{
	struct hv_dom *dom = calloc(2 * FLOW_GUESTS_MAX, sizeof(*dom));
	int n = dom ? hv->sched->list(s, dom, 2 * FLOW_GUESTS_MAX) : -ENOMEM;
	struct hv_sched_params p;

	for (int i = 0; i < n; i++)
		if (!(dom[i].flags & HV_DOM_PRIVILEGED) && !hv->sched->get(s, dom[i].domid, &p))
			log_msg(log, LOG_LVL_WARNING, "domain %u: cap %u is in force", dom[i].domid,
				cap_to_percent(p.cap));
	log_msg(log, LOG_LVL_WARNING,
		"the caps in force may be of an earlier run: set them right by xl sched-credit2 -d "
		"NAME -c N, then start resexd, which takes them as the guests' own");
	free(dom);
}

static int open_saved(const struct log *log, const struct daemon_conf *conf,
		      const struct hv_backend *hv, void *hv_arg, struct restore *r)
{
	char boot[RESTORE_BOOT_MAX] = "";
	struct conf_error e = { 0 };
	struct hv_sched *s;
	int rc, code;

	if (hv->boot)
		hv->boot(boot, sizeof(boot));
	rc = restore_open(r, conf->state_dir, hv->name, boot, clock_wall_ns() / NS_PER_S, &e);
	if (rc > 0)
		log_msg(log, LOG_LVL_WARNING, "%s; its former copy %s.bak is used", e.text,
			r->file);
	if (rc >= 0 && !r->removed)
		return RESEX_OK;
	if (r->removed)
		conf_error_set(
			&e, RESEX_FAILURE,
			"%s was removed, though resexd has set caps and did not stop cleanly: "
			"no cap was restored",
			r->file);
	code = report_error(log, &e);
	if (!r->foreign && (r->removed || rc == -EINVAL || rc == -EFBIG) &&
	    !hv->sched->open(&s, hv_arg)) {
		report_in_force(log, hv, s);
		hv->sched->close(s);
	}
	return code;
}

/* What became of the caps, and apart from that, of the file. */
static int report_restored(const struct log *log, const struct restore *r, int failed,
			   const struct restored *done)
{
	for (uint32_t i = 0; i < done->operators; i++)
		log_msg(log, LOG_LVL_WARNING,
			"domain %u: its cap was set to %u while resexd did not see it: left so, "
			"its own was %u",
			done->operator[i].domid, done->operator[i].percent, done->operator[i].own);
	printf("%u cap%s restored\n", done->caps, done->caps == 1 ? "" : "s");
	if (failed < 0)
		log_msg(log, LOG_LVL_ERROR, "%s: no cap was restored: %s", r->file,
			strerror(-failed));
	else if (failed)
		log_msg(log, LOG_LVL_ERROR,
			"%s: %d cap%s could not be restored: see xl sched-credit2", r->file, failed,
			failed == 1 ? "" : "s");
	if (done->save_rc)
		log_msg(log, LOG_LVL_WARNING,
			"%s: could not be changed, though these caps are restored: %s: %s", r->file,
			strerror(-done->save_rc), restore_remedy(done->save_rc));
	return failed ? RESEX_FAILURE : RESEX_OK;
}

static int restore_caps(const struct log *log, const struct daemon_conf *conf,
			const struct hv_backend *hv, void *hv_arg)
{
	struct restore *r = calloc(1, sizeof(*r));
	struct conf_error e = { 0 };
	struct restored done;
	struct hv_sched *s;
	int rc, code = RESEX_FAILURE;

	if (!r) {
		report_error(log, &e);
		goto out;
	}
	code = open_saved(log, conf, hv, hv_arg, r);
	if (code)
		goto out;
	/*
	 * Before the hypervisor is opened: the usual case after a clean stop, and right without
	 * Xen.
	 */
	if (!r->entries && !r->gones) {
		puts("no caps to restore");
		goto out;
	}
	rc = hv->sched->open(&s, hv_arg);
	if (rc) {
		hv_open_text(hv->name, rc, &e);
		code = report_error(log, &e);
		goto out;
	}
	rc = restore_all(r, hv->sched, s, true, &done);
	hv->sched->close(s);
	code = report_restored(log, r, rc, &done);
	if (!rc && !done.save_rc)
		journal_remove(r);
out:
	free(r);
	return code;
}

/* Block signals: a second SIGTERM must not kill us before all caps are restored. */
static void block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Caps are restored: what SIGQUIT is for comes now, a core. */
static void end_by_quit(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGQUIT);
	signal(SIGQUIT, SIG_DFL);
	raise(SIGQUIT);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int run_engine(const struct log *log, const struct daemon_conf *conf,
		      const struct options *o, void *hv_arg, struct plugins *ps,
		      const struct layouts *layouts, int *sig)
{
	const struct engine_conf ec = { .conf = conf,
					.file = o->config,
					.hv = o->hv,
					.hv_arg = hv_arg,
					.log = log,
					.plugins = ps,
					.layouts = &layouts->found,
					.observe = o->mode == MODE_OBSERVE };
	struct conf_error e = { 0 };
	struct engine *en;
	int rc;

	/* A client that hangs up while it is answered is an error of write(), not our end. */
	signal(SIGPIPE, SIG_IGN);
	if (engine_open(&en, &ec, &e))
		return report_error(log, &e);
	if (o->hv->simulated)
		log_msg(log, LOG_LVL_INFO, "simulated host of %s: resex -s %s list", o->config,
			conf->socket);
	rc = engine_run(en);
	*sig = engine_signal(en);
	block_signals();
	return engine_close(en) || rc ? RESEX_FAILURE : RESEX_OK;
}

/* *sig: the signal that ended it. */
static int run_daemon(const struct log *log, const struct daemon_conf *conf,
		      const struct options *o, void *hv_arg, int *sig)
{
	struct conf_error e = { 0 };
	struct layouts *layouts = NULL;
	struct plugins *ps = NULL;
	int rc = plugins_open(&ps, conf->policy_dir);

	if (!rc)
		rc = open_layouts(&layouts, conf, &e);
	rc = rc ? report_error(log, &e) : run_engine(log, conf, o, hv_arg, ps, layouts, sig);
	plugins_close(ps);
	layouts_close(layouts);
	return rc;
}

static int run_locked(const struct log *log, const struct daemon_conf *conf,
		      const struct options *o, void *hv_arg)
{
	struct lockfiles locks;
	int rc = lockfiles_acquire(log, conf, o->hv, &locks), sig = 0;

	if (!rc)
		rc = o->mode == MODE_RESTORE ? restore_caps(log, conf, o->hv, hv_arg)
					     : run_daemon(log, conf, o, hv_arg, &sig);
	lockfiles_release(&locks); /* after the last cap was restored */
	if (sig == SIGQUIT)
		end_by_quit();
	return rc;
}

static struct mono sim_now(void *arg)
{
	struct clock *c = arg;

	return c->now(c);
}

static int run_simulated_host(const struct log *log, const struct daemon_conf *conf,
			      const struct options *o)
{
	struct sim_conf *sc = calloc(1, sizeof(*sc));
	struct sim_host *host = NULL;
	struct clock clock;
	int rc;

	if (!sc)
		return RESEX_FAILURE;
	/* Simulated guests, but real time: resex shows it as it runs. */
	clock_real(&clock);
	sim_conf_demo(sc);
	rc = sim_open(&host, sc, clock.now(&clock));
	free(sc);
	if (rc) {
		log_msg(log, LOG_LVL_ERROR, "the simulated host: %s", strerror(-rc));
		return RESEX_FAILURE;
	}
	sim_set_clock(host, sim_now, &clock);
	rc = run_locked(log, conf, o, host);
	sim_close(host);
	return rc;
}

int mode_configured(const struct log *log, const struct options *o)
{
	struct daemon_conf *conf = calloc(1, sizeof(*conf));
	struct options with = *o; /* a configuration */
	char trial[TRIAL_PATH_MAX];
	struct conf_error e = { 0 };
	int rc = 0;

	if (!o->config) {
		rc = trial_config(trial, &e);
		with.config = trial;
	}
	if (rc || !conf || settings_load(conf, with.config, &e))
		rc = report_error(log, &e);
	else if (o->mode == MODE_CHECK)
		rc = check_only(log, conf, with.config);
	else if (o->hv->simulated)
		rc = run_simulated_host(log, conf, &with);
	else
		rc = run_locked(log, conf, &with, NULL);
	free(conf);
	return rc;
}
