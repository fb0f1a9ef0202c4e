// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_change: compares two files of one host, a: the one it runs by, and b: the new one. See
 * cluster_change.h for the rules. resex cluster-reload puts the new one in force
 * (src/control/reload.c), and at SIGHUP src/engine/reload.c says what has changed.
 */
#include "src/conf/cluster_change.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/conf/cluster_text.h"

struct compared {
	const struct cluster_conf *a, *b;
	const struct hostset *present;
	struct cluster_changes *out;
	struct cluster_refusal *why;
};

static int refuse(const struct compared *c, const char *list, uint64_t number, const char *key,
		  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

static int refuse(const struct compared *c, const char *list, uint64_t number, const char *key,
		  const char *fmt, ...)
{
	va_list ap;

	c->why->list = list;
	c->why->number = (uint32_t)number;
	c->why->key = key;
	va_start(ap, fmt);
	vsnprintf(c->why->text, sizeof(c->why->text), fmt, ap);
	va_end(ap);
	return -EPERM;
}

static void add(struct cluster_changes *out, enum cluster_change_kind kind, uint64_t number)
{
	out->change[out->n++] = (struct cluster_change){ kind, (uint16_t)number };
}

/* --- the root's keys ------------------------------------------------------------- */

/* Both lists have the key names of cluster.json. */
static int compare_rules(const struct compared *c)
{
	const struct cluster_conf *a = c->a, *b = c->b;
	const struct number_text hold = duration_text(a->hold_ns),
				 timeout = duration_text(a->timeout_ns),
				 drift = number_text(a->drift);
	const struct {
		const char *key;
		bool same;
		const char *in_force;
	} rules[] = {
		{ "cluster", !strcmp(a->cluster, b->cluster), a->cluster },
		{ "membership", a->membership == b->membership,
		  a->membership == CLUSTER_STATIC ? "static" : "corosync" },
		{ "hold", a->hold_ns == b->hold_ns, hold.text },
		{ "timeout", a->timeout_ns == b->timeout_ns, timeout.text },
		{ "drift", a->drift == b->drift, drift.text },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!rules[i].same)
			return refuse(c, "", 0, rules[i].key,
				      "%s is %s in force, and must be equal on all hosts: write "
				      "that, or stop resexd on all of them, change it in each "
				      "file, and start them again",
				      rules[i].key, rules[i].in_force);
	return 0;
}

/* The number is another one than that of this name. */
static int renumbered(const struct compared *c, const char *list, const char *kind,
		      const char *name, uint64_t was, uint64_t now)
{
	return refuse(c, list, now, "number",
		      "%s \"%s\" has number %u: give it that number again, or stop resexd on all "
		      "hosts first",
		      kind, name, (unsigned)was);
}

static int compare_own_number(const struct compared *c)
{
	const struct cluster_host *mine = &c->a->host[c->a->self], *now = &c->b->host[c->b->self];
	const struct cluster_host *same = cluster_host_find(c->b, mine->name);

	if (mine->number == now->number)
		return 0;
	if (same == now)
		return renumbered(c, "hosts", "host", mine->name, mine->number, now->number);
	/* Above all a file that was copied with the "host" of another host. */
	if (same)
		return refuse(c, "", 0, "host",
			      "this host runs as \"%s\", number %u, and is \"%s\" in this file: "
			      "correct \"host\"",
			      mine->name, (unsigned)mine->number, now->name);
	return refuse(
		c, "hosts", now->number, "number",
		"this host runs as \"%s\", number %u, and is \"%s\", number %u, in this file: "
		"give it its number again",
		mine->name, (unsigned)mine->number, now->name, (unsigned)now->number);
}

/* The defaults of callers grow with the lists of hosts and clients: two defaults are the same. */
static bool same_callers(const struct cluster_conf *a, const struct cluster_conf *b)
{
	return a->callers == b->callers || (a->callers == cluster_callers_default(a) &&
					    b->callers == cluster_callers_default(b));
}

static bool same_callers_second(const struct cluster_conf *a, const struct cluster_conf *b)
{
	return a->callers_second == b->callers_second ||
	       (a->callers_second == cluster_callers_second_default(a) &&
		b->callers_second == cluster_callers_second_default(b));
}

static bool has_own_node(const struct cluster_conf *c, const struct cluster_node *n)
{
	const struct cluster_node *own = NULL;

	while ((own = cluster_next_own(c, own)) != NULL)
		if (own->number == n->number)
			return !strcmp(own->name, n->name) && !strcmp(own->guest, n->guest);
	return false;
}

/* Are all nodes of this host in a also in b? */
static bool has_own_nodes(const struct cluster_conf *a, const struct cluster_conf *b)
{
	const struct cluster_node *n = NULL;

	while ((n = cluster_next_own(a, n)) != NULL)
		if (!has_own_node(b, n))
			return false;
	return true;
}

/* Of other hosts' nodes this one publishes nothing. */
static bool same_own_nodes(const struct cluster_conf *a, const struct cluster_conf *b)
{
	return has_own_nodes(a, b) && has_own_nodes(b, a);
}

enum { NODES_TEXT = 128 };

/* The numbers and names of this host's nodes. The last ones may be missing. */
static const char *own_nodes_text(const struct cluster_conf *c, char text[static NODES_TEXT])
{
	const struct cluster_node *n = NULL;
	size_t at = 0;

	snprintf(text, NODES_TEXT, "none");
	while ((n = cluster_next_own(c, n)) != NULL && at < NODES_TEXT)
		at += (size_t)snprintf(text + at, NODES_TEXT - at, "%s%llu %s%s%s%s",
				       at ? ", " : "", (unsigned long long)n->number, n->name,
				       *n->guest ? " (guest " : "", n->guest, *n->guest ? ")" : "");
	return text;
}

static int compare_own(const struct compared *c)
{
	const struct cluster_conf *a = c->a, *b = c->b;
	const struct cluster_host *mine = &a->host[a->self], *now = &b->host[b->self];
	const struct number_text heartbeat = duration_text(a->heartbeat_ns),
				 scan = duration_text(a->scan_ns),
				 callers = number_text(a->callers),
				 callers_second = number_text(a->callers_second),
				 port = number_text(mine->port),
				 period = duration_text(a->load.period_ns);
	char nodes[NODES_TEXT];
	const struct {
		const char *list, *key;
		bool same;
		const char *in_force;
	} own[] = {
		{ "", "key_file", !strcmp(a->key_file, b->key_file), a->key_file },
		{ "", "transport", a->transport == b->transport,
		  transport_backends[a->transport]->name },
		{ "", "heartbeat", a->heartbeat_ns == b->heartbeat_ns, heartbeat.text },
		{ "", "scan", a->scan_ns == b->scan_ns, scan.text },
		{ "", "nodes", same_own_nodes(a, b), own_nodes_text(a, nodes) },
		{ "", "load",
		  a->load.source == b->load.source && a->load.period_ns == b->load.period_ns,
		  period.text },
		{ "", "callers", same_callers(a, b), callers.text },
		{ "", "callers_second", same_callers_second(a, b), callers_second.text },
		{ "hosts", "address", !strcmp(mine->address, now->address), mine->address },
		{ "hosts", "port",
		  mine->port == now->port || !transport_backends[a->transport]->has_ports,
		  port.text },
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!own[i].same)
			return refuse(c, own[i].list, *own[i].list ? now->number : 0, own[i].key,
				      "%s of this host is %.128s since its start: write that, or "
				      "restart its resexd",
				      own[i].key, own[i].in_force);
	return 0;
}

/* --- hosts ---------------------------------------------------------------------- */

/* With corosync the lowest member: a view may end without it, but not begin to have a lower one. */
static uint32_t host_of_locks(const struct compared *c)
{
	return c->a->membership == CLUSTER_STATIC ? cluster_lowest_host(c->a)
						  : hostset_next(c->present, 0);
}

/*
 * The locks would move to a lower host at once. With static membership their epoch is the
 * generation of their host, and that of another host may be lower: the locks would be of an older
 * epoch than the words of the nodes, for ever. With corosync they would move within a view, and
 * their epoch would have been used already.
 */
static int host_added(const struct compared *c, const struct cluster_host *h)
{
	const struct cluster_host *was = cluster_host_find(c->a, h->name);

	if (was)
		return renumbered(c, "hosts", "host", h->name, was->number, h->number);
	if (h->number < host_of_locks(c))
		return refuse(c, "hosts", h->number, "number",
			      "number %u is below %u, the host that has the locks: give the new "
			      "host a higher one",
			      (unsigned)h->number, host_of_locks(c));
	add(c->out, CLUSTER_HOST_ADDED, h->number);
	c->out->hosts = true;
	return 0;
}

static int host_removed(const struct compared *c, const struct cluster_host *h)
{
	const struct cluster_host *now = cluster_host_find(c->b, h->name);

	if (now)
		return renumbered(c, "hosts", "host", h->name, h->number, now->number);
	if (hostset_has(c->present, (uint32_t)h->number))
		return refuse(
			c, "hosts", h->number, "",
			c->a->membership == CLUSTER_COROSYNC
				? "host \"%s\" is left out, but is up or a member of corosync: "
				  "stop its resexd and its corosync, and wait until host-list "
				  "shows it down and as no member"
				: "host \"%s\" is up and left out: stop its resexd first",
			h->name);
	if (c->a->membership == CLUSTER_STATIC && h->number == cluster_lowest_host(c->a))
		return refuse(
			c, "hosts", h->number, "",
			"host \"%s\" has the locks and is left out: to remove it, stop resexd "
			"on all hosts",
			h->name);
	add(c->out, CLUSTER_HOST_REMOVED, h->number);
	c->out->hosts = true;
	return 0;
}

static int host_kept(const struct compared *c, const struct cluster_host *a,
		     const struct cluster_host *b)
{
	bool same_name = !strcmp(a->name, b->name);
	bool ports = transport_backends[c->a->transport]->has_ports;
	bool same_place = !strcmp(a->address, b->address) && (!ports || a->port == b->port);

	if (c->a->membership == CLUSTER_COROSYNC && a->corosync_node != b->corosync_node)
		return refuse(c, "hosts", b->number, "corosync_node",
			      "corosync_node of \"%s\" was %llu: write that, or stop resexd on all "
			      "hosts first",
			      b->name, (unsigned long long)a->corosync_node);
	if (!same_name && !same_place)
		return refuse(c, "hosts", b->number, "number",
			      "number %u is \"%s\": give \"%s\" a number that no host had",
			      (unsigned)b->number, a->name, b->name);
	if (!same_name || !same_place)
		add(c->out, CLUSTER_HOST_CALLED, b->number);
	return 0;
}

static int compare_hosts(const struct compared *c)
{
	int rc = 0;

	for (uint32_t n = 1; !rc && n <= REGION_HOSTS_MAX; n++) {
		const struct cluster_host *a = cluster_host_at(c->a, (uint16_t)n);
		const struct cluster_host *b = cluster_host_at(c->b, (uint16_t)n);

		if (a && b)
			rc = host_kept(c, a, b);
		else if (b)
			rc = host_added(c, b);
		else if (a)
			rc = host_removed(c, a);
	}
	return rc;
}

/* --- clients --------------------------------------------------------------------- */

static bool same_client(const struct cluster_client *a, const struct cluster_client *b)
{
	return a && b && !strcmp(a->name, b->name) && !strcmp(a->address, b->address) &&
	       a->rights == b->rights;
}

static void compare_clients(const struct compared *c)
{
	for (uint32_t n = 1; n <= REGION_HOSTS_MAX; n++) {
		const struct cluster_client *a = cluster_client_at(c->a, (uint16_t)n);
		const struct cluster_client *b = cluster_client_at(c->b, (uint16_t)n);

		if ((a || b) && !same_client(a, b))
			add(c->out, CLUSTER_CLIENT_CHANGED, n);
	}
}

/* --- services ------------------------------------------------------------------- */

/* One of both may be NULL: it is not in that file. */
static int compare_service(const struct compared *c, const struct cluster_service *a,
			   const struct cluster_service *b)
{
	const struct cluster_service *was, *now;

	if (!b) {
		now = cluster_service_find(c->b, a->name);
		if (now)
			return renumbered(c, "services", "service", a->name, a->number,
					  now->number);
		return refuse(c, "services", a->number, "",
			      "service \"%s\" is left out: write it again; to remove it, stop "
			      "resexd on all hosts, change each file, and start them again",
			      a->name);
	}
	was = cluster_service_find(c->a, b->name);
	if (was && was->number != b->number)
		return renumbered(c, "services", "service", b->name, was->number, b->number);
	if (a && strcmp(a->name, b->name) != 0)
		return refuse(c, "services", b->number, "number",
			      "number %u is service \"%s\": give \"%s\" a number that no service "
			      "had",
			      (unsigned)b->number, a->name, b->name);
	if (!a)
		add(c->out, CLUSTER_SERVICE_ADDED, b->number);
	else if (cluster_service_digest(a) != cluster_service_digest(b))
		add(c->out, CLUSTER_SERVICE_CHANGED, b->number);
	return 0;
}

static int compare_services(const struct compared *c)
{
	int rc = 0;

	for (uint32_t n = 1; !rc && n < REGION_SERVICES_MAX; n++) {
		const struct cluster_service *a = cluster_service_at(c->a, n);
		const struct cluster_service *b = cluster_service_at(c->b, n);

		if (a || b)
			rc = compare_service(c, a, b);
	}
	return rc;
}

/* --- nodes, balance --------------------------------------------------------------- */

/* Set the hosts of which a has a node that b has not, or not the same. */
static void find_changed(const struct cluster_conf *a, const struct cluster_conf *b,
			 struct hostset *changed)
{
	for (uint32_t i = 0; i < a->nodes; i++) {
		const struct cluster_node *n = &a->node[i], *m = cluster_node_find(b, n->name);

		if (!m || !cluster_same_node(a, n, b, m))
			hostset_set(changed, n->host, true);
	}
}

static void compare_nodes(const struct compared *c)
{
	struct hostset changed = { { 0 } };

	find_changed(c->a, c->b, &changed);
	find_changed(c->b, c->a, &changed);
	for (uint16_t h = hostset_next(&changed, 0); h; h = hostset_next(&changed, h))
		add(c->out, CLUSTER_NODES_CHANGED, h);
}

static const char *host_name(const struct cluster_conf *a, const struct cluster_conf *b,
			     uint16_t number)
{
	const struct cluster_host *h = cluster_host_at(b, number);

	return h ? h->name : cluster_host_at(a, number)->name;
}

static void compare_balances(const struct compared *c)
{
	for (uint32_t n = 1; n < REGION_SERVICES_MAX; n++)
		if (!cluster_same_balance(c->a, c->b, n))
			add(c->out, CLUSTER_BALANCE_CHANGED, n);
}

static const char *balance_text(const struct cluster_conf *a, const struct cluster_conf *b,
				uint32_t service)
{
	if (!cluster_balance_of(a, service))
		return "is new";
	return cluster_balance_of(b, service) ? "has other settings or nodes" : "is left out";
}

/* --- reconf --------------------------------------------------------------------- */

static void compare_reconf(const struct compared *c)
{
	const struct cluster_reconf *a = &c->a->reconf, *b = &c->b->reconf;

	/* Whether there is one is in the agreement, its values are not. */
	if (a->given != b->given)
		add(c->out, b->given ? CLUSTER_RECONF_ADDED : CLUSTER_RECONF_REMOVED, 0);
	else if (!cluster_same_reconf(a, b))
		add(c->out, CLUSTER_RECONF_CHANGED, 0);
}

/* --- load ----------------------------------------------------------------------- */

/* Its source and period are this host's own since its start: compare_own. */
static void compare_load(const struct compared *c)
{
	const struct cluster_load *a = &c->a->load, *b = &c->b->load;

	if (a->scan_ns != b->scan_ns || a->stale_ns != b->stale_ns || a->window_ns != b->window_ns)
		add(c->out, CLUSTER_LOAD_CHANGED, 0);
}

/* --- the whole ------------------------------------------------------------------- */

int cluster_change(const struct cluster_conf *a, const struct cluster_conf *b,
		   const struct hostset *present, struct cluster_changes *out,
		   struct cluster_refusal *why)
{
	const struct compared c = { a, b, present, out, why };
	int rc;

	out->n = 0;
	out->hosts = false;
	/* Rules of all hosts first: a restart of this one alone is no remedy for them. */
	rc = compare_rules(&c);
	if (!rc)
		rc = compare_own_number(&c);
	if (!rc)
		rc = compare_hosts(&c);
	if (!rc) {
		compare_clients(&c);
		rc = compare_services(&c);
	}
	if (!rc) {
		compare_nodes(&c);
		compare_balances(&c);
		compare_reconf(&c);
		compare_load(&c);
	}
	if (!rc)
		rc = compare_own(&c);
	return rc;
}

static void host_text(const struct cluster_conf *a, const struct cluster_conf *b, uint16_t number,
		      char *text, size_t size)
{
	const struct cluster_host *was = cluster_host_at(a, number);
	const struct cluster_host *now = cluster_host_at(b, number);

	/* One of both alone may change: see host_kept(). */
	if (strcmp(was->name, now->name) != 0)
		snprintf(text, size, "host %s: was called %s", now->name, was->name);
	else if (transport_backends[b->transport]->has_ports)
		snprintf(text, size, "host %s: address %s port %u, was %s port %u", now->name,
			 now->address, (unsigned)now->port, was->address, (unsigned)was->port);
	else
		snprintf(text, size, "host %s: address %s, was %s", now->name, now->address,
			 was->address);
}

static const char *rights_text(const struct cluster_client *c)
{
	return c->rights & TRANSPORT_ATOMICS ? "atomics" : "read";
}

static const char *caller_text(const struct cluster_client *c)
{
	return c->address[0] ? c->address : "any address";
}

/* One or more of name, address and rights have changed. */
static void changed_client_text(const struct cluster_client *a, const struct cluster_client *b,
				char *text, size_t size)
{
	const char *comma = "";
	int n = snprintf(text, size, "client %s: ", b->name);

	if (strcmp(a->name, b->name) != 0) {
		n += snprintf(text + n, size - (size_t)n, "was called %s", a->name);
		comma = ", ";
	}
	if (strcmp(a->address, b->address) != 0) {
		n += snprintf(text + n, size - (size_t)n, "%scalls from %s, was %s", comma,
			      caller_text(b), caller_text(a));
		comma = ", ";
	}
	if (a->rights != b->rights)
		snprintf(text + n, size - (size_t)n, "%srights %s, was %s", comma, rights_text(b),
			 rights_text(a));
}

static void client_text(const struct cluster_client *a, const struct cluster_client *b, char *text,
			size_t size)
{
	if (!b)
		snprintf(text, size, "client %s is left out", a->name);
	else if (!a)
		snprintf(text, size, "client %s is new", b->name);
	else
		changed_client_text(a, b, text, size);
}

static bool gives_share(const struct cluster_service *s)
{
	struct cluster_service without = *s;

	without.share = UINT64_MAX;
	return cluster_service_more(&without) != s->more;
}

/* More than by another minimum, which its default follows? */
static bool guarantee_changed(const struct cluster_service *a, const struct cluster_service *b)
{
	return a->guarantee != b->guarantee &&
	       (a->guarantee != a->minimum || b->guarantee != b->minimum);
}

static bool maximum_changed(const struct cluster_service *a, const struct cluster_service *b)
{
	return a->maximum != b->maximum && (a->maximum != cluster_maximum_default(a) ||
					    b->maximum != cluster_maximum_default(b));
}

/* A key in two files. */
struct key_texts {
	const char *key;
	struct number_text was, now;
};

/* "head key 2, was 1, other 4, was 3", of those that differ. How many do. */
static size_t keys_text(const char *head, const struct key_texts *keys, size_t n, char *text,
			size_t size)
{
	int at = snprintf(text, size, "%s", head);
	size_t differ = 0;

	for (size_t i = 0; i < n; i++)
		if (strcmp(keys[i].was.text, keys[i].now.text) != 0)
			at += snprintf(text + at, size - (size_t)at, "%s %s %s, was %s",
				       differ++ ? "," : "", keys[i].key, keys[i].now.text,
				       keys[i].was.text);
	return differ;
}

/* share: without one in the file it is the number of nodes. */
static struct number_text share_text(const struct cluster_service *s)
{
	struct number_text t = number_text(s->share);

	if (!gives_share(s))
		strcat(t.text, " by default");
	return t;
}

static void service_text(const struct cluster_service *a, const struct cluster_service *b,
			 char *text, size_t size)
{
	/* Defaults that follow other keys, or the nodes, are not named: the same text twice. */
	const struct cluster_service *share = gives_share(a) || gives_share(b) ? b : a;
	const struct key_texts keys[] = {
		{ "minimum", number_text(a->minimum), number_text(b->minimum) },
		{ "guarantee", number_text(a->guarantee),
		  number_text((guarantee_changed(a, b) ? b : a)->guarantee) },
		{ "share", share_text(a), share_text(share) },
		{ "maximum", number_text(a->maximum),
		  number_text((maximum_changed(a, b) ? b : a)->maximum) },
		{ "priority", number_text(a->priority), number_text(b->priority) },
		{ "high", number_text(a->high), number_text(b->high) },
		{ "low", number_text(a->low), number_text(b->low) },
	};
	char head[REGION_NAME + 16];
	size_t differ, n;

	snprintf(head, sizeof(head), "service %s:", b->name);
	differ = keys_text(head, keys, sizeof(keys) / sizeof(keys[0]), text, size);
	n = strlen(text);
	if (!hostset_equal(&a->balancers, &b->balancers))
		snprintf(text + n, size - n, "%s other balancers", differ ? ", and" : "");
}

static struct number_text mode_text(const struct cluster_reconf *r)
{
	struct number_text t;

	strcpy(t.text, cluster_reconf_mode_name((enum cluster_reconf_mode)r->mode));
	return t;
}

static void reconf_text(const struct cluster_reconf *a, const struct cluster_reconf *b, char *text,
			size_t size)
{
	const struct key_texts keys[] = {
		{ "mode", mode_text(a), mode_text(b) },
		{ "S", duration_text(a->check_ns), duration_text(b->check_ns) },
		{ "T", duration_text(a->high_ns), duration_text(b->high_ns) },
		{ "margin", percent_text(a->margin), percent_text(b->margin) },
		{ "rest", duration_text(a->rest_ns), duration_text(b->rest_ns) },
		{ "freeze", duration_text(a->freeze_ns), duration_text(b->freeze_ns) },
		{ "budget", budget_text(a->budget, a->budget_ns),
		  budget_text(b->budget, b->budget_ns) },
		{ "hook_timeout", duration_text(a->hook_timeout_ns),
		  duration_text(b->hook_timeout_ns) },
		{ "give_up", duration_text(a->give_up_ns), duration_text(b->give_up_ns) },
	};
	size_t differ = keys_text("reconf:", keys, sizeof(keys) / sizeof(keys[0]), text, size);
	size_t n = strlen(text);

	if (strcmp(a->hook, b->hook) != 0) /* two paths may be longer than a text */
		snprintf(text + n, size - n, "%s another hook", differ ? ", and" : "");
}

static void load_text(const struct cluster_load *a, const struct cluster_load *b, char *text,
		      size_t size)
{
	const struct key_texts keys[] = {
		{ "scan", duration_text(a->scan_ns), duration_text(b->scan_ns) },
		{ "stale", duration_text(a->stale_ns), duration_text(b->stale_ns) },
		{ "window", duration_text(a->window_ns), duration_text(b->window_ns) },
	};

	keys_text("load:", keys, sizeof(keys) / sizeof(keys[0]), text, size);
}

void cluster_change_text(const struct cluster_conf *a, const struct cluster_conf *b,
			 const struct cluster_change *ch, char text[static CLUSTER_CHANGE_TEXT])
{
	enum { SIZE = CLUSTER_CHANGE_TEXT };

	switch (ch->kind) {
	case CLUSTER_HOST_ADDED:
		snprintf(text, SIZE, "host %s is new", cluster_host_at(b, ch->number)->name);
		break;
	case CLUSTER_HOST_REMOVED:
		snprintf(text, SIZE, "host %s is left out", cluster_host_at(a, ch->number)->name);
		break;
	case CLUSTER_HOST_CALLED:
		host_text(a, b, ch->number, text, SIZE);
		break;
	case CLUSTER_CLIENT_CHANGED:
		client_text(cluster_client_at(a, ch->number), cluster_client_at(b, ch->number),
			    text, SIZE);
		break;
	case CLUSTER_SERVICE_ADDED:
		snprintf(text, SIZE, "service %s is new", cluster_service_at(b, ch->number)->name);
		break;
	case CLUSTER_SERVICE_CHANGED:
		service_text(cluster_service_at(a, ch->number), cluster_service_at(b, ch->number),
			     text, SIZE);
		break;
	case CLUSTER_NODES_CHANGED:
		snprintf(text, SIZE, "nodes of host %s: others, or with other settings",
			 host_name(a, b, ch->number));
		break;
	case CLUSTER_BALANCE_CHANGED: /* services are never left out */
		snprintf(text, SIZE, "balance of service %s %s",
			 cluster_service_at(b, ch->number)->name, balance_text(a, b, ch->number));
		break;
	case CLUSTER_RECONF_ADDED:
		snprintf(text, SIZE, "reconf is new");
		break;
	case CLUSTER_RECONF_REMOVED:
		snprintf(text, SIZE, "reconf is left out");
		break;
	case CLUSTER_RECONF_CHANGED:
		reconf_text(&a->reconf, &b->reconf, text, SIZE);
		break;
	case CLUSTER_LOAD_CHANGED:
		load_text(&a->load, &b->load, text, SIZE);
		break;
	}
}

/* The path in the file of what was refused: elements have the order of the file. */
static void find_place(const struct conf_doc *d, const struct cluster_refusal *why, char *path,
		       size_t size)
{
	json_t *v;
	size_t i;

	snprintf(path, size, "%s", why->list);
	json_array_foreach(json_object_get(d->root, why->list), i, v)
		if (json_integer_value(json_object_get(v, "number")) == (json_int_t)why->number)
			snprintf(path, size, "%s[%zu]", why->list, i);
}

int cluster_change_load(const struct cluster_conf *a, struct cluster_conf *b, const char *file,
			const char *hostname, const struct hostset *present,
			struct cluster_changes *out, struct conf_error *e)
{
	struct cluster_refusal why = { 0 };
	struct conf_doc d;
	char path[64];
	int rc = conf_load(&d, file, e);

	if (!rc)
		rc = cluster_conf_parse(b, file, d.text, d.len, hostname, e);
	if (!rc && cluster_change(a, b, present, out, &why)) {
		find_place(&d, &why, path, sizeof(path));
		if (*why.key)
			conf_fail_key(&d, path, why.key, e, "%s", why.text);
		else
			conf_fail(&d, path, e, "%s", why.text);
		rc = -EPERM;
	}
	conf_free(&d);
	return rc;
}
