/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cluster_change: from the cluster.json that a host runs by to another one: what changes, and
 * whether it may change while the cluster runs.
 *
 * A number that was once used keeps its meaning. So hosts and services are added, and the rest
 * changes by these rules, or is refused with the remedy:
 *
 *	what			may change while the cluster runs
 *	----------------------	--------------------------------------------------------------
 *	a host is added		yes, but not below the host that has the locks: with static
 *				membership the lowest host, with corosync the lowest member
 *	a host is removed	when it is stopped; with static membership not the lowest one
 *	a host's address, port	yes, but this host's own: it listens there since its start
 *	a host's name		yes, if its address stays: else the number is another host's
 *	corosync_node		no: the others would take another machine for a member
 *	a service is added	yes
 *	a service is removed	no: the words of its nodes name it
 *	a service's other keys	yes
 *	nodes			yes; but number, name and guest of this host's own
 *	reconf, balance; scan,	yes: they are of this host, and in no agreement; but see
 *	stale, window of load	cluster_next_left()
 *	a client		yes, all of it: it is no member, and in no agreement
 *	a cached host, "cache"	yes, all of it: no resexd calls them; it is no change
 *	a service's name	no, nor its number: its lock and its nodes are found by the number
 *	membership, hold,	no: all hosts must have the same (cluster_agree.c)
 *	timeout, drift, cluster
 *	what each host sets	no: it takes effect when resexd is restarted on that host
 *	for itself
 */
#ifndef RESEX_CONF_CLUSTER_CHANGE_H
#define RESEX_CONF_CLUSTER_CHANGE_H

#include "src/conf/cluster.h"

enum cluster_change_kind {
	CLUSTER_HOST_ADDED,
	CLUSTER_HOST_REMOVED,
	CLUSTER_HOST_CALLED,	/* it has another name, address or port */
	CLUSTER_CLIENT_CHANGED, /* added, removed, or with another name, address or rights */
	CLUSTER_SERVICE_ADDED,
	CLUSTER_SERVICE_CHANGED,
	CLUSTER_NODES_CHANGED,	 /* of a host: added, left out, or otherwise configured */
	CLUSTER_BALANCE_CHANGED, /* of a service here: added, left out, other settings or nodes */
	CLUSTER_RECONF_ADDED,
	CLUSTER_RECONF_REMOVED,
	CLUSTER_RECONF_CHANGED, /* it has other values */
	CLUSTER_LOAD_CHANGED,	/* scan, stale or window of "load" */
};

struct cluster_change {
	enum cluster_change_kind kind;
	/* of the host, client or service; NODES: of their host; 0: of reconf and load */
	uint16_t number;
};

enum { CLUSTER_CHANGES_MAX = 4 * REGION_HOSTS_MAX + 4 * CLUSTER_SERVICES_MAX };

struct cluster_changes {
	bool hosts; /* another set of hosts: every decision is touched */
	/* hosts first, then clients, services, nodes and balance, each by number; reconf, load */
	uint32_t n;
	struct cluster_change change[CLUSTER_CHANGES_MAX];
};

/* Why a change is refused, and where the value is. */
struct cluster_refusal {
	const char *list; /* "hosts" or "services": of the element with this number; "": the root */
	uint32_t number;
	const char *key; /* of that element, or of the root; "": the element itself */
	char text[256];	 /* one sentence with the remedy */
};

/*
 * From conf a to conf b. present: the hosts that are members, or have a link, now. 0 and *out, or
 * -EPERM and *why.
 */
int cluster_change(const struct cluster_conf *a, const struct cluster_conf *b,
		   const struct hostset *present, struct cluster_changes *out,
		   struct cluster_refusal *why);

/*
 * Does this host balance the service in the same way, with the same nodes as servers? Also if it
 * does not in either.
 */
bool cluster_same_balance(const struct cluster_conf *a, const struct cluster_conf *b,
			  uint32_t service);
/*
 * The next node of a, as cluster_node_next(), which a's balance of the service on this host has as
 * a server and b's has not, or not in the same backend: by b this host does not know whether its
 * HAProxy sends the node requests. Only nodes that b has, and that are of kind "switch" by a or b;
 * without "reconf" in a none, since then states of servers are not set.
 */
const struct cluster_node *cluster_next_left(const struct cluster_conf *a,
					     const struct cluster_conf *b, uint32_t service,
					     const struct cluster_node *after);
/* Node n of a, and node m of b. */
bool cluster_same_node(const struct cluster_conf *a, const struct cluster_node *n,
		       const struct cluster_conf *b, const struct cluster_node *m);
bool cluster_same_reconf(const struct cluster_reconf *a, const struct cluster_reconf *b);
/*
 * Are node n of a, and m of b, one node of kind "switch", which its host prepares in the same way?
 * Services have no part in this: they keep their numbers and names.
 */
bool cluster_same_role(const struct cluster_conf *a, const struct cluster_node *n,
		       const struct cluster_conf *b, const struct cluster_node *m);

enum { CLUSTER_CHANGE_TEXT = 512 }; /* of the longest names and addresses */

/* One change in words, as "service web: minimum 2, was 1". */
void cluster_change_text(const struct cluster_conf *a, const struct cluster_conf *b,
			 const struct cluster_change *ch, char text[static CLUSTER_CHANGE_TEXT]);

/*
 * Read file, and find out what changes. 0 with *b and *out; -EPERM: it is refused, and e names
 * the place in the file; or an error of cluster_conf_load with e filled.
 */
int cluster_change_load(const struct cluster_conf *a, struct cluster_conf *b, const char *file,
			const char *hostname, const struct hostset *present,
			struct cluster_changes *out, struct conf_error *e);

#endif
