// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reload: the method cluster-reload: cluster.json is read again, and what has changed comes into
 * force, and what operators have set of services ends. conf/cluster_change.h says what may change
 * while the cluster runs.
 *
 * The reply names the changes. They are known before the settings are in force, and not afterwards:
 * so it is made at the first call, and kept until the cluster's thread has taken the settings over.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cluster/cluster.h"
#include "src/control/methods_priv.h"

static const char *kind_text(enum cluster_change_kind kind)
{
	static const char *const text[] = { [CLUSTER_HOST_ADDED] = "host-added",
					    [CLUSTER_HOST_REMOVED] = "host-removed",
					    [CLUSTER_HOST_CALLED] = "host-changed",
					    [CLUSTER_CLIENT_CHANGED] = "client-changed",
					    [CLUSTER_SERVICE_ADDED] = "service-added",
					    [CLUSTER_SERVICE_CHANGED] = "service-changed",
					    [CLUSTER_NODES_CHANGED] = "nodes-changed",
					    [CLUSTER_BALANCE_CHANGED] = "balance-changed",
					    [CLUSTER_RECONF_ADDED] = "reconf-added",
					    [CLUSTER_RECONF_REMOVED] = "reconf-removed",
					    [CLUSTER_RECONF_CHANGED] = "reconf-changed",
					    [CLUSTER_LOAD_CHANGED] = "load-changed" };

	return text[kind];
}

/* What operators have set of services ends: a row for each of these services. */
static void add_resets(json_t *changes, const struct cluster *cl)
{
	const struct cluster_conf *conf = cluster_conf(cl);

	for (uint32_t i = 0; i < conf->services; i++) {
		char set[CLUSTER_SET_TEXT], text[CLUSTER_SET_TEXT + REGION_NAME + 96];
		json_t *o;

		cluster_service_set_text(cl, i, set);
		if (!*set)
			continue;
		snprintf(text, sizeof(text),
			 "service %s as in cluster.json, no longer %s, which an operator has set",
			 conf->service[i].name, set);
		o = json_object();
		put_s(o, "kind", "service-reset");
		put_u(o, "number", conf->service[i].number);
		put_s(o, "text", text);
		json_array_append_new(changes, o);
	}
}

static json_t *changes_of(const struct cluster_conf *from, const struct cluster_conf *to,
			  const struct cluster_changes *ch)
{
	json_t *arr = json_array();

	for (uint32_t i = 0; i < ch->n; i++) {
		char text[CLUSTER_CHANGE_TEXT];
		json_t *o = json_object();

		cluster_change_text(from, to, &ch->change[i], text);
		put_s(o, "kind", kind_text(ch->change[i].kind));
		put_u(o, "number", ch->change[i].number);
		put_s(o, "text", text);
		json_array_append_new(arr, o);
	}
	return arr;
}

/*
 * Clients, balance, values of reconf, and load are in no agreement: each member may take them at
 * any time.
 */
static bool is_for_all(const struct cluster_changes *ch)
{
	for (uint32_t i = 0; i < ch->n; i++)
		if (ch->change[i].kind != CLUSTER_CLIENT_CHANGED &&
		    ch->change[i].kind != CLUSTER_BALANCE_CHANGED &&
		    ch->change[i].kind != CLUSTER_RECONF_CHANGED &&
		    ch->change[i].kind != CLUSTER_LOAD_CHANGED)
			return true;
	return false;
}

/* The other members that must get the same file: those that from has too, or those that are new. */
static json_t *others_of(const struct cluster_conf *from, const struct cluster_conf *to, bool new)
{
	json_t *arr = json_array();

	for (uint32_t i = 0; i < to->hosts; i++) {
		const struct cluster_host *h = &to->host[i];
		bool is_new = !cluster_host_at(from, (uint16_t)h->number);

		if (i != to->self && is_new == new)
			json_array_append_new(arr, json_string(h->name));
	}
	return arr;
}

static json_t *reply_of(const struct cluster *cl, const struct cluster_conf *to,
			const struct cluster_changes *ch, bool dry_run)
{
	const struct cluster_conf *from = cluster_conf(cl);
	json_t *o = json_object(), *changes = changes_of(from, to, ch);

	add_resets(changes, cl);
	put_b(o, "changed", json_array_size(changes) > 0);
	put_b(o, "dry_run", dry_run);
	json_object_set_new(o, "changes", changes);
	json_object_set_new(o, "others",
			    is_for_all(ch) ? others_of(from, to, false) : json_array());
	json_object_set_new(o, "new", others_of(from, to, true));
	return o;
}

static int reload_failed(struct call *c, int rc)
{
	if (rc == -EBUSY || rc == -EAGAIN)
		return call_fail(c, RESEX_BUSY,
				 "another cluster-reload, or too many lock-breaks, have no result "
				 "yet: try again");
	return call_fail(c, RESEX_FAILURE, "cluster.json is not put in force: %s", strerror(-rc));
}

/* The first call. CALL_LATER: the settings come into force. */
static int begin(struct call *c, struct cluster *cl, bool dry_run, json_t **result)
{
	struct cluster_conf *conf = NULL;
	struct cluster_changes ch = { 0 };
	struct conf_error e = { 0 };
	json_t *reply;
	int rc = cluster_read_again(cl, c->now, &conf, &ch, &e);

	if (rc == -ENOMEM)
		return reload_failed(c, rc);
	/* Not its exit code for a file that may not be read: the change is what is refused. */
	if (rc)
		return call_fail(c, rc == -EPERM ? RESEX_BAD_CONFIG : e.exit, "%s", e.text);
	reply = reply_of(cl, conf, &ch, dry_run);
	if (dry_run || !ch.n) {
		free(conf);
		if (!dry_run)
			cluster_service_reset(cl);
		*result = reply;
		return 0;
	}
	rc = cluster_reload(cl, conf, &c->reload);
	if (rc) {
		json_decref(reply);
		return reload_failed(c, rc);
	}
	c->reply = reply;
	return CALL_LATER;
}

int cmd_cluster_reload(struct call *c, const json_t *params, json_t **result)
{
	bool dry_run = json_is_true(json_object_get(params, "dry_run"));
	struct cluster *cl = cluster_of(c);

	if (!cl)
		return c->exit;
	if (!c->reload)
		return begin(c, cl, dry_run, result);
	if (cluster_reload_result(cl, c->reload) == -EINPROGRESS)
		return CALL_LATER;
	/* -ESRCH: another reload came after it, so it is over, too. */
	*result = c->reply;
	c->reply = NULL;
	c->reload = 0;
	return 0;
}
