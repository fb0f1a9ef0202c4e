// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reload: SIGHUP. resexd.json and the policy are read again, cluster.json is only compared.
 *
 * loop.c calls it in the control thread; guests_reload() then hands the settings over to the
 * sampler. Everything is read and checked first, so that an error changes nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/conf/policy.h"
#include "src/engine/engine_priv.h"
#include "src/util/notify.h"

/* On error nothing changes: the former configuration is in force as a whole. */
static int read_and_apply(struct engine *e, struct conf_error *err)
{
	struct daemon_conf *conf = calloc(1, sizeof(*conf));
	struct policy_inst *policy = NULL;
	int rc = conf ? settings_reload(conf, e->c.conf, e->c.file, err) : -ENOMEM;

	if (!rc)
		rc = policy_load(&policy, e->c.plugins, conf->policy, conf->policy_file, err);
	if (!rc) {
		rc = guests_reload(e->guests, conf, policy, clock_wall_ns());
		if (rc)
			policy_free(policy);
	}
	if (rc) {
		free(conf);
		return rc;
	}
	/* Guests use the new one now. The first one is the caller's: e->conf is NULL then. */
	free(e->conf);
	e->c.conf = e->conf = conf;
	return 0;
}

/* cluster.json is only compared: resex cluster-reload puts it in force. */
static void warn_of_changed_cluster(struct engine *e)
{
	struct cluster_conf *now = NULL;
	struct cluster_changes ch = { 0 };
	struct conf_error err = { 0 };
	char text[CLUSTER_CHANGE_TEXT];
	int rc = cluster_read_again(e->cluster, engine_now(e), &now, &ch, &err);

	/*
	 * Also when it cannot be read: better now than at the next start, after a reboot perhaps.
	 */
	if (rc == -EBUSY)
		log_msg(e->c.log, LOG_LVL_WARNING, "%s", err.text);
	else if (rc && rc != -ENOMEM)
		log_msg(e->c.log, LOG_LVL_WARNING, "%s; %s the former one is in force", err.text,
			rc == -EPERM ? "until then"
				     : "correct it before the next start; until then");
	for (uint32_t i = 0; !rc && i < ch.n; i++) {
		cluster_change_text(cluster_conf(e->cluster), now, &ch.change[i], text);
		log_msg(e->c.log, LOG_LVL_WARNING,
			"%s: has changed (%s): resex cluster-reload puts it in force",
			e->c.conf->cluster_file, text);
	}
	free(now);
}

void reload_settings(struct engine *e)
{
	struct conf_error err = { 0 };
	char state[64];
	int rc;

	/*
	 * systemd shows the service as reloading until READY=1; sd_notify(3) asks for the time
	 * with it.
	 */
	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%lld",
		 (long long)(clock_monotonic_ns() / NS_PER_US));
	notify_systemd(state);
	rc = read_and_apply(e, &err);
	if (rc)
		log_msg(e->c.log, LOG_LVL_ERROR, "%s: the former configuration stays in force",
			err.text[0]    ? err.text
			: rc == -EBUSY ? "another policy is being put in force"
				       : strerror(-rc));
	if (!rc && e->cluster)
		warn_of_changed_cluster(e);
	/* READY in both cases: resexd runs on. The status appears in systemctl status. */
	notify_systemd(rc ? "READY=1\nSTATUS=The configuration was refused: see the log"
			  : "READY=1\nSTATUS=");
}
