// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_same: is a part of two files of one host, a and b, the same? Pure. For cluster_change.c,
 * which names what changes, and for src/cluster, which keeps what does not. See cluster_change.h.
 */
#include <string.h>

#include "src/conf/cluster_change.h"

/* --- nodes ------------------------------------------------------------------------ */

static bool same_server(const struct cluster_node *a, const struct cluster_node *b)
{
	return a->number == b->number && a->host == b->host && !strcmp(a->name, b->name) &&
	       !strcmp(a->guest, b->guest) && !strcmp(a->server, b->server);
}

/* Node n of a, and m of b. */
static bool moves_alike(const struct cluster_conf *a, const struct cluster_node *n,
			const struct cluster_conf *b, const struct cluster_node *m)
{
	uint64_t of_n[REGION_SERVICES_MAX / 64], of_m[REGION_SERVICES_MAX / 64];

	cluster_node_may(a, n, of_n);
	cluster_node_may(b, m, of_m);
	return n->kind == m->kind && n->capacity == m->capacity &&
	       !memcmp(of_n, of_m, sizeof(of_n));
}

bool cluster_same_node(const struct cluster_conf *a, const struct cluster_node *n,
		       const struct cluster_conf *b, const struct cluster_node *m)
{
	return same_server(n, m) && n->service == m->service && moves_alike(a, n, b, m);
}

/* --- balance ---------------------------------------------------------------------- */

static bool same_settings(const struct cluster_balance *a, const struct cluster_balance *b)
{
	return a->by == b->by && a->mode == b->mode && !strcmp(a->backend, b->backend) &&
	       !strcmp(a->socket, b->socket) && a->port == b->port && a->k == b->k &&
	       a->service_ns == b->service_ns;
}

bool cluster_same_balance(const struct cluster_conf *a, const struct cluster_conf *b,
			  uint32_t service)
{
	const struct cluster_balance *was = cluster_balance_of(a, service),
				     *now = cluster_balance_of(b, service);
	const struct cluster_node *m = NULL, *n = NULL;

	if (!was || !now)
		return was == now;
	if (!same_settings(was, now))
		return false;
	do {
		m = cluster_server_next(a, service, m);
		n = cluster_server_next(b, service, n);
	} while (m && n && same_server(m, n));
	return !m && !n;
}

static bool is_one_node(const struct cluster_node *n, const struct cluster_node *m)
{
	return n->host == m->host && n->number == m->number;
}

/* Does this host read and set the same server of HAProxy for the node by both files? */
static bool is_still_there(const struct cluster_conf *a, const struct cluster_conf *b,
			   uint32_t service, const struct cluster_node *n)
{
	const struct cluster_balance *was = cluster_balance_of(a, service),
				     *now = cluster_balance_of(b, service);
	const struct cluster_node *m = NULL;

	if (!now || was->by != now->by || strcmp(was->backend, now->backend) != 0 ||
	    strcmp(was->socket, now->socket) != 0)
		return false;
	while ((m = cluster_server_next(b, service, m)) != NULL)
		if (is_one_node(n, m))
			return !strcmp(n->server, m->server);
	return false;
}

/*
 * Is it still there, and must it be prepared? Else nobody asks whether requests are at it; but one
 * that must not be any more may have to be by the next file.
 */
static bool must_be_prepared(const struct cluster_conf *b, const struct cluster_node *n)
{
	for (uint32_t i = 0; i < b->nodes; i++)
		if (is_one_node(n, &b->node[i]))
			return n->kind == CLUSTER_NODE_SWITCH ||
			       b->node[i].kind == CLUSTER_NODE_SWITCH;
	return false;
}

const struct cluster_node *cluster_next_left(const struct cluster_conf *a,
					     const struct cluster_conf *b, uint32_t service,
					     const struct cluster_node *after)
{
	const struct cluster_node *n = after;

	if (!a->reconf.given || !cluster_balance_of(a, service))
		return NULL;
	while ((n = cluster_server_next(a, service, n)) != NULL)
		if (must_be_prepared(b, n) && !is_still_there(a, b, service, n))
			return n;
	return NULL;
}

/* --- reconf ----------------------------------------------------------------------- */

bool cluster_same_reconf(const struct cluster_reconf *a, const struct cluster_reconf *b)
{
	return a->mode == b->mode && a->check_ns == b->check_ns && a->high_ns == b->high_ns &&
	       a->rest_ns == b->rest_ns && a->freeze_ns == b->freeze_ns && a->margin == b->margin &&
	       a->budget == b->budget && a->budget_ns == b->budget_ns &&
	       a->hook_timeout_ns == b->hook_timeout_ns && a->give_up_ns == b->give_up_ns &&
	       !strcmp(a->hook, b->hook);
}

/* --- roles ------------------------------------------------------------------------ */

/* Of what runs its program: a guest has one of its own, of which nothing is known here. */
static bool same_program(const struct cluster_reconf *a, const struct cluster_reconf *b, bool guest)
{
	return a->hook_timeout_ns == b->hook_timeout_ns && (guest || !strcmp(a->hook, b->hook));
}

bool cluster_same_role(const struct cluster_conf *a, const struct cluster_node *n,
		       const struct cluster_conf *b, const struct cluster_node *m)
{
	return a->reconf.given && b->reconf.given && n->kind == CLUSTER_NODE_SWITCH &&
	       m->kind == CLUSTER_NODE_SWITCH && n->host == m->host && n->number == m->number &&
	       !strcmp(n->name, m->name) && !strcmp(n->guest, m->guest) &&
	       same_program(&a->reconf, &b->reconf, *n->guest);
}
