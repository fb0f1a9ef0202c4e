// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * balance: the methods balance-list, balance-set and why-node: the services that this host balances
 * (src/cluster), the weights of their nodes in HAProxy, and why each node has its weight.
 */
#include <stdio.h>
#include <string.h>

#include "src/cluster/cluster.h"
#include "src/control/methods_priv.h"
#include "src/load/index.h"

static const char *const by_names[] = {
	[CLUSTER_BY_WEIGHTS] = "weights", [CLUSTER_BY_AGENT] = "agent"
};
static const char *const mode_names[] = {
	[CLUSTER_OBSERVE] = "observe", [CLUSTER_ACT] = "act", [CLUSTER_EQUAL] = "equal"
};

static void put_weights(json_t *o, const struct cluster_server *s)
{
	put_i(o, "weight", s->weight);
	put_i(o, "wanted", s->wanted);
	put_i(o, "configured", s->configured);
	put_u(o, "under_way", s->under_way);
	put_u(o, "own", s->own);
	put_u(o, "served", s->served);
}

static json_t *server_row(const struct cluster_server *s)
{
	json_t *o = json_object();

	put_s(o, "server", s->node->server);
	put_s(o, "node", s->node->name);
	put_b(o, "up", s->up);
	put_weights(o, s);
	return o;
}

static json_t *balance_row(const struct cluster *cl, uint32_t i, struct mono now)
{
	json_t *o = json_object(), *servers = json_array();
	struct cluster_balancer b;
	struct cluster_server s;

	cluster_balance_see(cl, i, now, &b);
	put_s(o, "service", b.service->name);
	put_s(o, "backend", b.conf->backend);
	put_s(o, "by", by_names[b.conf->by]);
	json_object_set_new(o, "port",
			    b.conf->by == CLUSTER_BY_AGENT ? json_integer((json_int_t)b.conf->port)
							   : json_null());
	put_s(o, "mode", mode_names[b.mode]);
	put_b(o, "restores", b.restores);
	put_s(o, "why", b.why);
	put_u(o, "k", b.k);
	put_u(o, "up", b.up);
	put_ms(o, "age_ms", b.age_ns);
	json_object_set_new(o, "service_time_us",
			    value_us((uint64_t)b.service_ns, b.service_ns > 0));
	put_s(o, "note", b.note);
	for (uint32_t k = 0; k < b.servers; k++) {
		cluster_server_see(cl, i, k, &s);
		json_array_append_new(servers, server_row(&s));
	}
	json_object_set_new(o, "servers", servers);
	return o;
}

int cmd_balance_list(struct call *c, const json_t *params, json_t **result)
{
	const struct cluster *cl = cluster_of(c);

	(void)params;
	if (!cl)
		return c->exit;
	*result = json_object();
	put_cluster(*result, cl);
	put_rows(*result, "balances", cl, cluster_conf(cl)->balances, c->now, balance_row);
	return 0;
}

/* --- balance-set ---------------------------------------------------------------------- */

/* Its place in conf->balance[]; -1: c->exit and c->error say why. */
static int find_balance(struct call *c, const struct cluster_conf *conf, const json_t *params)
{
	const char *name = json_string_value(json_object_get(params, "service"));
	const struct cluster_service *s = name ? cluster_service_find(conf, name) : NULL;
	const struct cluster_balance *b = s ? cluster_balance_of(conf, (uint32_t)s->number) : NULL;

	if (b)
		return (int)(b - conf->balance);
	if (!name)
		call_fail(c, RESEX_USAGE, "service: give a service's name");
	else if (!s)
		call_fail(c, RESEX_USAGE, "there is no service \"%.64s\": see resex balance-list",
			  name);
	else
		call_fail(c, RESEX_USAGE,
			  "this host does not balance service \"%s\": list it in balance[] of "
			  "cluster.json, and this host in its balancers, if it has any",
			  name);
	return -1;
}

int cmd_balance_set(struct call *c, const json_t *params, json_t **result)
{
	const char *mode = json_string_value(json_object_get(params, "mode"));
	struct cluster *cl = cluster_of(c);
	int i = cl ? find_balance(c, cluster_conf(cl), params) : -1, m = 0;

	if (i < 0)
		return c->exit;
	while (mode && m <= CLUSTER_EQUAL && strcmp(mode, mode_names[m]) != 0)
		m++;
	if (!mode)
		return call_fail(c, RESEX_USAGE, "mode: give act, observe or equal");
	if (m > CLUSTER_EQUAL)
		return call_fail(c, RESEX_USAGE, "mode is \"%.64s\": give act, observe or equal",
				 mode);
	if (cluster_balance_set(cl, (uint32_t)i, (enum cluster_balance_mode)m))
		return call_fail(c, RESEX_FAILURE,
				 "service \"%s\" could not be opened for balancing: see resex "
				 "events, and restart resexd",
				 json_string_value(json_object_get(params, "service")));
	*result = balance_row(cl, (uint32_t)i, c->now);
	return 0;
}

/* --- why a node has its weight --------------------------------------------------------- */

/* A node, its load, and its place as a server of a balanced service. */
struct judged {
	struct cluster_node_seen node;
	const struct cluster_service *service; /* NULL: none */
	bool balanced;			       /* here: then */
	struct cluster_balancer b;
	struct cluster_server server;
};

static void judge(const struct cluster *cl, uint32_t i, struct mono now, struct judged *j)
{
	const struct cluster_conf *conf = cluster_conf(cl);
	const struct cluster_node *n = &conf->node[i];
	const struct cluster_balance *b = cluster_balance_of(conf, n->service);
	uint32_t at;

	memset(j, 0, sizeof(*j));
	cluster_node_see(cl, i, now, &j->node);
	j->service = cluster_service_at(conf, n->service);
	if (!j->service || !b)
		return;
	at = (uint32_t)(b - conf->balance);
	cluster_balance_see(cl, at, now, &j->b);
	for (uint32_t k = 0; k < j->b.servers && !j->balanced; k++) {
		cluster_server_see(cl, at, k, &j->server);
		j->balanced = j->server.node == n;
	}
}

/* Does the hypervisor contradict the figure? Its own figure counts. */
static bool is_contradicted(const struct load_record *l)
{
	return l->flags & LOAD_DISAGREES && l->source != LOAD_HV;
}

/* Do tasks decide, and not the index? As balancer_node() in src/cluster does it. */
static bool is_by_tasks(const struct cluster_node_seen *n)
{
	const struct load_record *l = n->load;
	bool used_more = *n->conf->guest &&
			 (uint64_t)l->running * 1000 < (uint64_t)n->index * l->cpus;

	return !(l->flags & LOAD_NO_RUNNING) && !is_contradicted(l) && !used_more;
}

static void tasks_text(const struct load_record *l, char *text, size_t size)
{
	snprintf(text, size, " with %u task%s on %u CPU%s", l->running, l->running == 1 ? "" : "s",
		 l->cpus, l->cpus == 1 ? "" : "s");
}

/* Why the figure is not all that decides. */
static const char *but_text(const struct cluster_node_seen *n)
{
	if (n->state == CLUSTER_NODE_STALE)
		return ", which is stale";
	if (is_contradicted(n->load))
		return ", and does not count: the hypervisor counted another";
	if (n->load->flags & LOAD_DISAGREES)
		return ", and it comes last: its guest says otherwise";
	return "";
}

static void load_text(const struct judged *j, char *text, size_t size)
{
	const struct cluster_node_seen *n = &j->node;
	char tasks[64] = "";

	if (!n->load) {
		snprintf(text, size, "its load is not known (%s)", n->note);
		return;
	}
	if (n->index < 0) {
		snprintf(text, size, "its load is not known before its second sample");
		return;
	}
	if (is_by_tasks(n))
		tasks_text(n->load, tasks, sizeof(tasks));
	snprintf(text, size, "its load is %d.%03d by %s%s, %lld ms old%s", n->index / 1000,
		 n->index % 1000, load_source_name(n->load->source), tasks,
		 (long long)(n->age_ns / NS_PER_MS), but_text(n));
}

static void decision_text(const struct judged *j, char *text, size_t size)
{
	char load[384];

	load_text(j, load, sizeof(load));
	snprintf(text, size,
		 "%s %d of 256: %s; %u requests of its own HAProxy are not in it; "
		 "%u of %u nodes get requests: %s",
		 j->b.mode == CLUSTER_OBSERVE ? "resexd only observes, and would set weight"
					      : "weight",
		 j->server.wanted, load, j->server.own, j->b.k, j->b.up, j->b.why_text);
}

/* One sentence: what holds for the node first of all. */
static void why_text(const struct judged *j, char *text, size_t size)
{
	if (!j->service)
		snprintf(text, size,
			 "it serves no service: give it a \"service\" in nodes[] of cluster.json");
	else if (!j->balanced)
		snprintf(text, size,
			 "this host does not balance service %s: see balance[] of cluster.json",
			 j->service->name);
	else if (!j->server.up)
		snprintf(text, size, "it takes no part: %s",
			 j->b.note[0] ? j->b.note
				      : "its server is down, or not read yet: see HAProxy's "
					"show stat");
	else if (j->b.mode == CLUSTER_EQUAL || j->b.restores)
		snprintf(text, size, "weight %d%s, that of HAProxy's configuration: %s",
			 j->server.wanted, j->b.conf->by == CLUSTER_BY_AGENT ? " of 256" : "",
			 j->b.restores ? "resexd no longer sets another"
				       : "by resex balance-set equal");
	else if (j->server.wanted < 0)
		snprintf(text, size, "%s", j->b.why_text);
	else
		decision_text(j, text, size);
}

int cmd_why_node(struct call *c, const json_t *params, json_t **result)
{
	const struct cluster *cl = cluster_of(c);
	const struct cluster_node *n = cl ? find_node(c, cl, params) : NULL;
	struct judged j;
	char text[768];
	json_t *o;

	if (!n)
		return c->exit;
	judge(cl, (uint32_t)(n - cluster_conf(cl)->node), c->now, &j);
	why_text(&j, text, sizeof(text));
	*result = o = json_object();
	put_s(o, "node", n->name);
	put_s(o, "host", j.node.host->name);
	json_object_set_new(o, "service", j.service ? json_string(j.service->name) : json_null());
	put_s(o, "text", text);
	put_i(o, "load", j.node.index);
	put_ms(o, "age_ms", j.node.age_ns);
	if (!j.balanced)
		return 0;
	put_s(o, "mode", mode_names[j.b.mode]);
	put_s(o, "why", j.b.why);
	put_u(o, "k", j.b.k);
	put_weights(o, &j.server);
	return 0;
}
