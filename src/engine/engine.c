// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * engine: opens all parts in the order of dependence, runs and closes them. See engine.h.
 *
 * Both orders carry rules of safety. Caps that an earlier run left are restored before the
 * sampler exists, so that none of them is saved as a guest's own. At the end the threads
 * stop before caps are restored, so that no late answer caps a guest again.
 */
#include "src/engine/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/conf/policy.h"
#include "src/engine/engine_priv.h"
#include "src/tick/apart.h"

/* --- open ------------------------------------------------------------------ */

void hv_open_text(const char *name, int rc, struct conf_error *err)
{
	static const struct {
		int rc;
		enum resex_exit exit;
		const char *why;
	} known[] = {
		{ -ENOSYS, RESEX_NO_XEN,
		  "there is no Xen here: boot the host under Xen, or try --hv sim" },
		{ -ENXIO, RESEX_NOT_DOM0,
		  "this is a guest: resexd runs in dom0, resex-agent in guests" },
		{ -ENODEV, RESEX_FAILURE,
		  "a part of Xen does not run: load xen-privcmd and start xenstored "
		  "(systemctl start xen)" },
		{ -ETIMEDOUT, RESEX_FAILURE,
		  "xenstored does not answer: see whether it is stopped or overloaded (ps -C "
		  "xenstored), let it go on, and start resexd again" },
		{ -EACCES, RESEX_PERMISSION, "no permission: run as root" },
		{ -EPERM, RESEX_PERMISSION, "no permission: run as root" },
		{ -EPROTONOSUPPORT, RESEX_XEN_VERSION,
		  "resexd was built for another version of Xen: rebuild it on this host" },
	};

	/* For an error that is not in the table: at least the system's own words. */
	conf_error_set(err, conf_exit(rc), "hypervisor \"%s\": %s", name, strerror(-rc));
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (rc == known[i].rc)
			conf_error_set(err, known[i].exit, "hypervisor \"%s\": %s", name,
				       known[i].why);
}

static int open_hv(struct engine *e, struct conf_error *err)
{
	const struct hv_backend *hv = e->c.hv;
	int rc;

	/*
	 * One handle for each of four threads: only one thread at a time may use a handle (hv.h),
	 * and a lock would let one thread wait for another's hypercall.
	 */
	rc = hv->sched->open(&e->sched, e->c.hv_arg);
	if (!rc)
		rc = hv->sched->open(&e->s.hv, e->c.hv_arg);
	if (!rc)
		rc = hv->sched->open(&e->a.hv, e->c.hv_arg);
	if (!rc && e->c.conf->cluster_file[0])
		rc = hv->sched->open(&e->cluster_sched, e->c.hv_arg);
	if (!rc)
		rc = hv->mem->open(&e->mem, e->c.hv_arg);
	if (!rc)
		rc = hv->watch->open(&e->watch, e->c.hv_arg);
	if (rc)
		hv_open_text(hv->name, rc, err);
	return rc;
}

static void close_hv(struct engine *e)
{
	const struct hv_backend *hv = e->c.hv;

	if (e->watch)
		hv->watch->close(e->watch);
	if (e->mem)
		hv->mem->close(e->mem);
	if (e->cluster_sched)
		hv->sched->close(e->cluster_sched);
	if (e->a.hv)
		hv->sched->close(e->a.hv);
	if (e->s.hv)
		hv->sched->close(e->s.hv);
	if (e->sched)
		hv->sched->close(e->sched);
}

/*
 * The counters that claims of guests are compared with. Those of a simulated host are simulated
 * too: the kernel's would be of real ports.
 */
static struct counters counters_of(const struct engine *e)
{
	switch (e->c.hv->counters) {
	case HV_COUNTERS_KERNEL:
		return (struct counters){ .ops = counters_host, .sys = "/sys" };
	case HV_COUNTERS_SIM:
		return (struct counters){ .ops = counters_sim, .arg = e->c.hv_arg };
	case HV_COUNTERS_NONE:
		break;
	}
	return (struct counters){ 0 };
}

static int open_guests(struct engine *e)
{
	const struct guests_parts parts = {
		.ho = &e->ho,
		.conf = e->c.conf,
		.log = e->c.log,
		.hv = e->c.hv,
		.mem = e->mem,
		.sched = e->sched,
		.watch = e->watch,
		.counters = counters_of(e),
		.plugins = e->c.plugins,
		.layouts = e->c.layouts,
		.observe = e->c.observe,
	};
	int rc = guests_open(&e->guests, &parts, e->c.init);

	if (!rc)
		e->c.init = NULL; /* guests own it now; else engine_close() frees it */
	return rc;
}

/* After the loop, which waits for the cluster's events. */
static int open_cluster(struct engine *e, struct conf_error *err)
{
	char hostname[256] = "";
	int rc;

	if (!e->c.conf->cluster_file[0])
		return 0;
	gethostname(hostname, sizeof(hostname) - 1);
	rc = cluster_open(&e->cluster, e->c.conf, hostname, e->guests, e->cluster_sched,
			  engine_now(e), err);
	if (rc)
		return rc;
	return loop_add_cluster(e);
}

static int open_sampler(struct engine *e, struct conf_error *err)
{
	const struct sampler_conf sc = {
		.interval_ns = e->c.conf->interval_ns,
		.epoch_ns = e->c.conf->epoch_ns,
		.link = e->c.conf->link,
		.links = e->c.conf->links,
		.ops = e->c.hv->sched,
		.hv = e->s.hv,
		.clock = e->c.sim ? *e->c.sim : e->clock,
		.snap_ticks = e->c.sim ? 1 : 0, /* a scenario records each tick */
		.keep_reports = e->c.guide != NULL,
		/* The same simulated run is the same on a slow machine. */
		.policy_budget_ns = e->c.sim ? 0 : apart_budget(e->c.conf->interval_ns),
	};
	struct guest_set *set = guests_first_set(e->guests);
	int rc = set ? sampler_init(&e->s, &e->ho, &sc, set) : -ENOMEM;

	if (rc)
		conf_error_set(err, conf_exit(rc), "the accounts cannot be set up: %s",
			       strerror(-rc));
	return rc;
}

static int open_parts(struct engine *e, struct conf_error *err)
{
	int rc;

	rc = handover_open(&e->ho);
	if (rc)
		return rc;
	e->handover_ok = true;
	e->ho.observe = e->c.observe;
	if (!e->c.init)
		rc = policy_load(&e->c.init, e->c.plugins, e->c.conf->policy,
				 e->c.conf->policy_file, err);
	if (rc)
		return rc;
	rc = open_hv(e, err);
	if (!rc)
		rc = open_guests(e);
	if (!rc)
		rc = guests_recover(e->guests, clock_wall_ns(), err);
	if (!rc)
		rc = open_sampler(e, err);
	/* A simulated clock runs at any speed: neither clients nor other hosts could follow. */
	if (rc || e->c.sim)
		return rc;
	rc = loop_open(e);
	if (!rc)
		rc = open_cluster(e, err);
	/* Last: a client that can connect finds everything behind the socket. */
	if (!rc)
		rc = control_open(&e->control, e->base, e->guests, e->cluster, err);
	return rc;
}

int engine_open(struct engine **out, const struct engine_conf *c, struct conf_error *err)
{
	struct engine *e = calloc(1, sizeof(*e));
	int rc;

	if (!e) {
		/* Taken over even now, as the contract says: the caller never frees it. */
		policy_free(c->init);
		conf_error_set(err, RESEX_FAILURE, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	e->c = *c;
	*err = (struct conf_error){ 0 };
	clock_real(&e->clock);
	rc = open_parts(e, err);
	if (rc) {
		if (!err->text[0])
			conf_error_set(err, conf_exit(rc), "%s", strerror(-rc));
		engine_close(e);
		return rc;
	}
	e->a.ho = &e->ho;
	e->a.ops = c->hv->sched;
	e->a.clock = e->clock;
	*out = e;
	return 0;
}

/* --- run and close ------------------------------------------------------- */

int engine_run(struct engine *e)
{
	int rc = 0;

	if (e->c.hv->simulated)
		log_msg(e->c.log, LOG_LVL_INFO,
			"SIMULATED host: no guest, cap or figure here is real");
	if (e->c.sim) {
		run_simulated(e);
	} else {
		loop_add_signals(e);
		rc = threads_start(e);
		if (!rc)
			rc = loop_run(e);
	}
	/* A guide wants a whole run; for the daemon a signal is the ordinary end. */
	return !rc && e->c.guide && e->signalled ? -EINTR : rc;
}

int engine_signal(const struct engine *e)
{
	return e->signalled;
}

int engine_close(struct engine *e)
{
	int failed = 0;

	/*
	 * After an error only some parts exist. The loop goes before the cluster, since its
	 * events watch the cluster's descriptor.
	 */
	threads_stop(e);
	if (e->control)
		control_close(e->control);
	loop_close(e);
	cluster_close(e->cluster);
	e->cluster = NULL;
	if (e->guests) {
		failed = guests_restore(e->guests);
		guests_close(e->guests);
	}
	policy_free(e->c.init); /* NULL, unless open failed before guests took it over */
	close_hv(e);
	if (e->handover_ok)
		handover_close(&e->ho);
	free(e->conf);
	free(e);
	return failed;
}
