// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schema_cluster: the schema of cluster.json: what each key does, and which objects are in which.
 * Types, ranges and defaults are those of the tables in cluster*.c. See schema.h.
 */
#include <stdlib.h>
#include <string.h>

#include "src/conf/cluster_parts.h"
#include "src/conf/schema.h"

static const struct conf_says top_says[] = {
	{ "cluster", "Its name: a host of a cluster with another name is refused." },
	{ "host", "The name in hosts of this host; without it, its hostname up to the first dot." },
	{ "key_file", "The pre-shared key: 16 to 256 bytes, mode 600." },
	{ "transport", "How hosts read each other's memory." },
	{ "membership", "static: the hosts of this file; corosync: those that it says are there." },
	{ "heartbeat", "How often this host publishes a heartbeat." },
	{ "scan", "How often this host reads the other hosts." },
	{ "timeout", "Limit for one operation on another host's memory." },
	{ "hold", "The lease: how long a host may act under a lock." },
	{ "drift", "The greatest error of a host's clock rate, in parts per million." },
	{ "callers", "Connections that have not proven yet that they hold the key." },
	{ "callers_second", "New connections a second." },
	{ "hosts", "Members, clients and cached hosts." },
	{ "cache", "How pages are cached, the same on every cached host." },
	{ "services", "Services that share nodes; the same list on every host." },
	{ "nodes", "What serves requests: hosts and guests." },
	{ "load", "How loads of nodes are sampled and read." },
	{ "balance", "Services whose requests a HAProxy of this host sends to the nodes." },
	{ "reconf", "Whether nodes move between services; without it none do." },
	{ NULL, NULL },
};

static const struct conf_says host_says[] = {
	{ "name", "Its name." },
	{ "number", "Its number: never give it to another host." },
	{ "role", "member runs resexd; app and proxy run resex-cached; client serves nothing." },
	{ "rights", "Of a client: what it may do with the memory of others." },
	{ "address", "An IP address; with shm the whole path of a folder." },
	{ "port", "Of all but a client; shm does not use it." },
	{ "corosync_node", "Its nodeid in corosync.conf(5); without it, the number." },
	{ NULL, NULL },
};

static const struct conf_says cache_says[] = {
	{ "fresh", "For how long a proxy uses what it read of an application server's heartbeat." },
	{ "detect", "An application server that does not acknowledge for so long is removed." },
	{ "words", "Version words of each application server." },
	{ "slots", "Updates that an application server makes at a time." },
	{ NULL, NULL },
};

static const struct conf_says service_says[] = {
	{ "name", "Its name." },
	{ "number", "Its number, the same on every host." },
	{ "minimum", "Nodes that it keeps in any case." },
	{ "balancers", "Names of the members that balance it." },
	{ "guarantee", "Nodes that no service of its priority or a lower one takes from it." },
	{ "share", "Nodes that it has when no load calls for more." },
	{ "maximum", "Nodes above which it takes none." },
	{ "priority", "A service of a higher one takes nodes from one of a lower one first." },
	{ "high", "The load from which it needs a node, in 1/1000 of the CPUs of its nodes." },
	{ "low", "The load below which it can give a node; below high." },
	{ NULL, NULL },
};

static const struct conf_says node_says[] = {
	{ "name", "Its name." },
	{ "number", "Its number at its host." },
	{ "host", "The name of the member that it is, or on which it runs." },
	{ "guest", "The name of the guest that is the node; without it, the host itself." },
	{ "service", "The service that it serves, with reconf first." },
	{ "server", "Its name in HAProxy; without it, name." },
	{ "kind", "switch: a program must prepare it for another service." },
	{ "capacity", "How much it serves, in 1/1000 of a usual node." },
	{ "only", "The services that it may serve; without it, all." },
	{ NULL, NULL },
};

static const struct conf_says load_says[] = {
	{ "source", "Of the host itself: klm, the kernel module; ulm, the files of /proc." },
	{ "period", "Between two samples." },
	{ "scan", "Between two readings of the other hosts." },
	{ "stale", "A load that is unchanged for longer counts no more." },
	{ "window", "A load is shown over this time to twice this time." },
	{ NULL, NULL },
};

static const struct conf_says balance_says[] = {
	{ "service", "The name of a service that has nodes." },
	{ "backend", "The name of HAProxy's backend; without it, the service's." },
	{ "by", "weights: set by its stats socket; agent: HAProxy asks for them." },
	{ "mode", "observe: decide and show; act: set the weights." },
	{ "socket", "With weights: the path of HAProxy's stats socket, of level admin." },
	{ "port", "With agent: the port of 127.0.0.1 where HAProxy asks." },
	{ "k", "How many of the least loaded nodes get requests; auto: by the age of the loads." },
	{ "service_time", "The mean CPU time of a request; auto: measured, but not with agent." },
	{ NULL, NULL },
};

static const struct conf_says reconf_says[] = {
	{ "mode", "observe: decide and show; act: move nodes." },
	{ "S", "Between two checks of a service's load." },
	{ "T", "A load must be high for so long before a node is moved." },
	{ "margin", "By this the load of either service must be lower after a move." },
	{ "rest", "A node that was moved stays for so long." },
	{ "freeze", "When services take back what they gave, moves for load stop for so long." },
	{ "hook", "The path of the program that prepares this host for another service." },
	{ "hook_timeout", "A hook that takes longer is killed, and has failed." },
	{ "give_up", "A node that is not ready for so long is moved back; 0s: never." },
	{ "budget", "How many nodes a service may take in a time." },
	{ NULL, NULL },
};

static json_t *names(void)
{
	return json_pack("{s:s, s:o}", "type", "array", "items", schema_string(NULL));
}

static json_t *transport_schema(void)
{
	json_t *all = json_array();

	for (size_t i = 0; transport_backends[i]; i++)
		json_array_append_new(all, json_string(transport_backends[i]->name));
	return json_pack("{s:o, s:s}", "enum", all, "default", "verbs");
}

static json_t *services_schema(void)
{
	const struct conf_table t = cluster_table(CLUSTER_SERVICE, NULL);
	json_t *o = schema_object(&t, service_says);

	return schema_list(&cluster_service_list,
			   schema_put(o, "balancers", names(), service_says));
}

static json_t *nodes_schema(void)
{
	const struct conf_table t = cluster_node_table();
	json_t *o = schema_object(&t, node_says), *only = names();

	json_object_set_new(only, "minItems", json_integer(1));
	return schema_list(&cluster_node_list, schema_put(o, "only", only, node_says));
}

/* A value, or "auto". */
static json_t *or_auto(const struct conf_key *k)
{
	static const char *const word[] = { "auto", NULL };
	json_t *s = schema_either(schema_words(word), schema_value(k));

	json_object_set_new(s, "default", json_string(word[0]));
	return s;
}

static json_t *balances_schema(void)
{
	static const struct conf_key k = { .type = CONF_UINT,
					   .min = 1,
					   .max = CLUSTER_SERVERS_MAX };
	const struct conf_table t = cluster_balance_table(), time = cluster_service_time_table();
	json_t *o = schema_object(&t, balance_says);

	o = schema_put(o, "k", or_auto(&k), balance_says);
	o = schema_put(o, time.keys[0].name, or_auto(&time.keys[0]), balance_says);
	return schema_list(&cluster_balance_list, o);
}

static json_t *reconf_schema(void)
{
	const struct conf_table t = cluster_reconf_table();
	json_t *o = schema_object(&t, reconf_says), *margin = schema_string("^[0-9]+%$"),
	       *budget = schema_string("^[0-9]+/(s|min|h)$");

	json_object_set_new(margin, "default", json_string("20%"));
	json_object_set_new(budget, "default", json_string("6/min"));
	o = schema_put(o, "margin", margin, reconf_says);
	return schema_put(o, "budget", budget, reconf_says);
}

static json_t *whole(const struct cluster_conf *c)
{
	const struct conf_table top = cluster_table(CLUSTER_TOP, c);
	const struct conf_table host = cluster_table(CLUSTER_HOST, c);
	const struct conf_table load = cluster_load_table(), cache = cluster_cache_table(c);
	json_t *o = schema_object(&top, top_says);

	o = schema_put(o, "transport", transport_schema(), top_says);
	o = schema_must(o, "hosts",
			schema_list(&cluster_host_list, schema_object(&host, host_says)), top_says);
	o = schema_put(o, "cache", schema_object(&cache, cache_says), top_says);
	o = schema_put(o, "services", services_schema(), top_says);
	o = schema_put(o, "nodes", nodes_schema(), top_says);
	o = schema_put(o, "load", schema_object(&load, load_says), top_says);
	o = schema_put(o, "balance", balances_schema(), top_says);
	o = schema_put(o, "reconf", reconf_schema(), top_says);
	return schema_top(o, "cluster.json(5): a cluster of hosts");
}

json_t *schema_cluster(void)
{
	struct cluster_conf *c = calloc(1, sizeof(*c));
	json_t *schema = NULL;

	if (!c)
		return NULL;
	cluster_defaults(c);
	schema = whole(c);
	free(c);
	return schema;
}
