// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reconf: the methods service-list, why-move, move, reconf-set and history: how loaded the services
 * of cluster.json are, which node each would get now, and why not; an order to move one; and what
 * was decided before (src/cluster).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/cluster/cluster.h"
#include "src/control/methods_priv.h"

/* --- service-list ------------------------------------------------------------------------- */

/* What service-set may change, as cluster.json has it. */
static json_t *configured(const struct cluster_service *s)
{
	json_t *o = json_object();

	put_u(o, "guarantee", s->guarantee);
	put_u(o, "share", s->share);
	put_u(o, "maximum", s->maximum);
	put_u(o, "priority", s->priority);
	put_u(o, "high", s->high);
	put_u(o, "low", s->low);
	return o;
}

json_t *service_row(const struct cluster *cl, uint32_t i, struct mono now)
{
	struct cluster_service_seen s;
	json_t *o = json_object();

	(void)now; /* a decision is at most S old */
	cluster_service_see(cl, i, &s);
	put_s(o, "service", s.conf->name);
	put_u(o, "number", s.conf->number);
	put_b(o, "here", s.here);
	put_u(o, "nodes", s.nodes);
	put_u(o, "known", s.known);
	put_i(o, "load", s.load);
	put_u(o, "high", s.in_force->high);
	put_u(o, "low", s.in_force->low);
	put_ms(o, "high_ms", s.high_ns);
	put_u(o, "minimum", s.conf->minimum);
	put_u(o, "guarantee", s.in_force->guarantee);
	put_u(o, "share", s.in_force->share);
	put_u(o, "maximum", s.in_force->maximum);
	put_u(o, "priority", s.in_force->priority);
	json_object_set_new(o, "configured", configured(s.conf));
	put_s(o, "why", s.why);
	put_name(o, "node", s.node ? s.node->name : NULL);
	put_name(o, "donor", s.donor ? s.donor->name : NULL);
	put_i(o, "predicted", s.taker_predicted);
	put_i(o, "donor_load", s.donor_before);
	put_i(o, "donor_predicted", s.donor_predicted);
	put_ms(o, "wait_ms", s.wait_ns > 0 ? s.wait_ns : -1);
	put_s(o, "note", s.note);
	return o;
}

int cmd_service_list(struct call *c, const json_t *params, json_t **result)
{
	const struct cluster *cl = cluster_of(c);

	(void)params;
	if (!cl)
		return c->exit;
	*result = json_object();
	put_cluster(*result, cl);
	put_s(*result, "mode", cluster_reconf_mode_name(cluster_reconf_mode(cl)));
	put_rows(*result, "services", cl, cluster_conf(cl)->services, c->now, service_row);
	return 0;
}

/* --- why-move ------------------------------------------------------------------------------- */

/* A sentence that grows. */
struct text {
	char at[1024];
	size_t n;
};

static void add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *t, const char *fmt, ...)
{
	size_t room = sizeof(t->at) - t->n;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at + t->n, room, fmt, ap);
	va_end(ap);
	t->n += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

static void add_load(struct text *t, int64_t load)
{
	if (load < 0)
		add(t, "not known");
	else
		add(t, "%lld.%03lld", (long long)load / 1000, (long long)load % 1000);
}

/* Whole ms, or from 10 s on whole seconds, rounded up: then it is over. */
static void add_wait(struct text *t, const struct cluster_service_seen *s)
{
	int64_t unit = s->wait_ns < 10 * NS_PER_S ? NS_PER_MS : NS_PER_S;

	if (s->wait_ns > 0 && *s->wait_text)
		add(t, "; %s in %lld %s", s->wait_text, (long long)((s->wait_ns + unit - 1) / unit),
		    unit == NS_PER_S ? "s" : "ms");
}

static void add_donor(struct text *t, const struct cluster_service_seen *s)
{
	if (!s->donor)
		return;
	add(t, "; %s has load ", s->donor->name);
	add_load(t, s->donor_before);
	if (s->taker_predicted < 0 && s->donor_predicted < 0)
		return;
	add(t, ", and the loads would be ");
	add_load(t, s->taker_predicted);
	add(t, " and ");
	add_load(t, s->donor_predicted);
}

static void add_service(struct text *t, const struct cluster_service_seen *s)
{
	if (s->note[0]) {
		add(t, "nothing is decided: %s", s->note);
		return;
	}
	if (!s->here) {
		add(t, "its balancers decide, and this host is none of them: see \"balancers\" of "
		       "services[] in cluster.json");
		return;
	}
	add(t, "its load is ");
	add_load(t, s->load);
	add(t, " with %u node%s", s->nodes, s->nodes == 1 ? "" : "s");
	if (s->high_ns)
		add(t, ", high for %lld ms", (long long)(s->high_ns / NS_PER_MS));
	if (s->node)
		add(t, ": it would get node %s from %s", s->node->name, s->donor->name);
	else
		add(t, ": it gets no node");
	add(t, ": %s", *s->why_text ? s->why_text : "nothing was decided yet");
	add_donor(t, s);
	add_wait(t, s);
}

static json_t *why_service(const struct cluster *cl, uint32_t i)
{
	struct cluster_service_seen s;
	struct text t = { .n = 0 };
	json_t *o = json_object();

	cluster_service_see(cl, i, &s);
	add_service(&t, &s);
	put_s(o, "service", s.conf->name);
	put_name(o, "node", s.node ? s.node->name : NULL);
	put_s(o, "why", s.why);
	put_s(o, "text", t.at);
	return o;
}

/* The service that would get the node; NULL: none. */
static const struct cluster_service *taker_of(const struct cluster *cl,
					      const struct cluster_node *n,
					      struct cluster_service_seen *s)
{
	for (uint32_t i = 0; i < cluster_conf(cl)->services; i++) {
		cluster_service_see(cl, i, s);
		if (s->node == n)
			return s->conf;
	}
	return NULL;
}

static json_t *why_node(const struct cluster *cl, const struct cluster_node *n, struct mono now)
{
	uint32_t i = (uint32_t)(n - cluster_conf(cl)->node);
	bool fixed = cluster_node_fixed(cl, i);
	const struct cluster_service *of, *to;
	struct cluster_node_seen seen;
	struct cluster_service_seen s = { .why = "" };
	struct text t = { .n = 0 };
	json_t *o = json_object();

	cluster_node_see(cl, i, now, &seen);
	of = seen.service;
	to = taker_of(cl, n, &s);
	if (!of && cluster_conf(cl)->reconf.given && !seen.word_known)
		add(&t, "its word was not read: see resex host-list for %s", seen.host->name);
	else if (seen.lost && n->kind == CLUSTER_NODE_SWITCH && !seen.serves)
		add(&t,
		    "it is in no service, and no balancer adopts it: its host does not know which "
		    "one it is prepared for; see what it serves, and run resex move %s SERVICE",
		    n->name);
	else if (seen.lost)
		add(&t,
		    "it is in no service, and goes on as before: its host had lost which one it "
		    "serves; a balancer in mode act adopts it, or resex move %s SERVICE does",
		    n->name);
	else if (!of)
		add(&t, "it serves no service: give it a \"service\" in nodes[] of cluster.json");
	else if (s.note[0])
		add(&t, "it stays at %s: nothing is decided: %s", of->name, s.note);
	else if (!to && fixed)
		add(&t,
		    "it stays at %s: an operator has fixed it on this host: resex node-fix %s off "
		    "lets it go",
		    of->name, n->name);
	else if (!to)
		add(&t,
		    "it stays at %s: no service that this host balances would get it now; see "
		    "resex why-move SERVICE",
		    of->name);
	else
		add(&t, "it would go from %s to %s: %s", of->name, to->name, s.why_text);
	put_name(o, "service", of ? of->name : NULL);
	put_s(o, "node", n->name);
	put_s(o, "why", to ? s.why : fixed ? "stuck" : "");
	put_s(o, "text", t.at);
	return o;
}

int cmd_why_move(struct call *c, const json_t *params, json_t **result)
{
	const char *name = json_string_value(json_object_get(params, "name"));
	const struct cluster *cl = cluster_of(c);
	const struct cluster_service *s;
	const struct cluster_node *n;

	if (!cl)
		return c->exit;
	if (!name)
		return call_fail(c, RESEX_USAGE, "name: give a service's or a node's name");
	s = cluster_service_find(cluster_conf(cl), name);
	n = s ? NULL : cluster_node_find(cluster_conf(cl), name);
	if (!s && !n)
		return call_fail(
			c, RESEX_USAGE,
			"there is no service and no node \"%.64s\": see resex service-list "
			"and node-list",
			name);
	*result = s ? why_service(cl, (uint32_t)(s - cluster_conf(cl)->service))
		    : why_node(cl, n, c->now);
	return 0;
}

/* --- move ----------------------------------------------------------------------------------- */

/* What the order names, as indexes. False: c->exit and c->error say why. */
static bool find_order(struct call *c, const struct cluster_conf *conf, const json_t *params,
		       uint32_t *node, uint32_t *service)
{
	const char *n = json_string_value(json_object_get(params, "node"));
	const char *s = json_string_value(json_object_get(params, "service"));
	const struct cluster_node *of_n = n ? cluster_node_find(conf, n) : NULL;
	const struct cluster_service *of_s = s ? cluster_service_find(conf, s) : NULL;

	if (!n || !s)
		call_fail(c, RESEX_USAGE, "give the name of a node and of a service");
	else if (!of_n)
		call_fail(c, RESEX_USAGE, "there is no node \"%.64s\": see resex node-list", n);
	else if (!of_s)
		call_fail(c, RESEX_USAGE, "there is no service \"%.64s\": see resex service-list",
			  s);
	if (!of_n || !of_s)
		return false;
	*node = (uint32_t)(of_n - conf->node);
	*service = (uint32_t)(of_s - conf->service);
	return true;
}

int no_reconf(struct call *c)
{
	return call_fail(c, RESEX_FAILURE,
			 "nodes stay where they are: cluster.json has no \"reconf\"");
}

/* Each error of cluster_move() and cluster_result(), and what to do about it. */
static int move_failed(struct call *c, const char *node, const char *service, int rc,
		       const char *why)
{
	if (*why)
		return call_fail(c, rc == -EBUSY || rc == -EINPROGRESS ? RESEX_BUSY : RESEX_FAILURE,
				 "%s is not moved: %s", node, why);
	switch (rc) {
	case -EOPNOTSUPP:
		return no_reconf(c);
	case -EPERM:
		return call_fail(c, RESEX_FAILURE,
				 "%s is not moved: this host is in no quorum: see resex host-list",
				 node);
	case -EBUSY:
	case -EAGAIN:
		return call_fail(c, RESEX_BUSY,
				 "%s is not moved: a lock-break or a cluster-reload is under way: "
				 "try again",
				 node);
	case -EALREADY:
		return call_fail(c, RESEX_FAILURE, "%s serves %s already", node, service);
	case -EACCES:
		return call_fail(c, RESEX_FAILURE,
				 "%s may not serve %s: see its \"only\" in nodes[] of cluster.json",
				 node, service);
	case -ECANCELED:
		return call_fail(
			c, RESEX_FAILURE,
			"%s is not moved: an operator has fixed it on this host: run resex "
			"node-fix %s off first",
			node, node);
	case -ENODATA:
		return call_fail(c, RESEX_FAILURE,
				 "which service %s serves is not known: see resex node-list", node);
	default:
		return call_fail(c, RESEX_FAILURE, "%s is not moved: %s", node,
				 rc > 0 ? cluster_move_text(rc) : strerror(-rc));
	}
}

static json_t *moved_row(const struct cluster_node *n, const struct cluster_service *s,
			 bool dry_run)
{
	json_t *o = json_object();

	put_s(o, "node", n->name);
	put_s(o, "service", s->name);
	put_b(o, "moved", !dry_run);
	put_b(o, "prepared", n->kind == CLUSTER_NODE_SWITCH);
	return o;
}

/* Called again until the move has ended, as cmd_lock_break. */
int cmd_move(struct call *c, const json_t *params, json_t **result)
{
	bool dry_run = json_is_true(json_object_get(params, "dry_run"));
	struct cluster *cl = cluster_of(c);
	uint32_t node, service;
	char why[CLUSTER_WHY_TEXT] = "";
	const struct cluster_service *s;
	const struct cluster_node *n;
	int rc;

	if (!cl || !find_order(c, cluster_conf(cl), params, &node, &service))
		return c->exit;
	if (c->ticket) {
		rc = cluster_result(cl, c->ticket);
		if (rc == -EINPROGRESS)
			return CALL_LATER;
		c->ticket = 0;
	} else {
		rc = cluster_move(cl, node, service, c->now, dry_run ? NULL : &c->ticket, why);
		if (!rc && !dry_run)
			return CALL_LATER;
	}
	n = &cluster_conf(cl)->node[node];
	s = &cluster_conf(cl)->service[service];
	if (rc)
		return move_failed(c, n->name, s->name, rc, why);
	*result = moved_row(n, s, dry_run);
	return 0;
}

/* --- reconf-set ----------------------------------------------------------------------------- */

int cmd_reconf_set(struct call *c, const json_t *params, json_t **result)
{
	const char *mode = json_string_value(json_object_get(params, "mode"));
	struct cluster *cl = cluster_of(c);
	enum cluster_reconf_mode m = RECONF_OBSERVE;
	int rc;

	if (!cl)
		return c->exit;
	while (mode && m <= RECONF_PAUSE && strcmp(mode, cluster_reconf_mode_name(m)) != 0)
		m++;
	if (!mode || m > RECONF_PAUSE)
		return call_fail(c, RESEX_USAGE, "mode is \"%.64s\": give observe, act or pause",
				 mode ? mode : "");
	rc = cluster_reconf_set(cl, m);
	if (rc)
		return move_failed(c, "", "", rc, "");
	*result = json_pack("{s:s}", "mode", cluster_reconf_mode_name(m));
	return 0;
}

/* --- history ---------------------------------------------------------------------------------- */

/* us since the move was asked for. */
static void put_phases(json_t *o, const struct cluster_move *m)
{
	const struct {
		const char *key;
		int64_t ns;
	} phase[] = { { "held_us", m->held_ns },
		      { "read_us", m->read_ns },
		      { "told_us", m->told_ns },
		      { "moved_us", m->moved_ns },
		      { "released_us", m->released_ns } };

	for (size_t i = 0; i < sizeof(phase) / sizeof(phase[0]); i++)
		json_object_set_new(o, phase[i].key,
				    value_us((uint64_t)phase[i].ns, phase[i].ns >= 0));
}

static void put_known_name(json_t *o, const char *key, const char *name)
{
	put_name(o, key, *name ? name : NULL);
}

static json_t *move_row(const struct cluster_move *m)
{
	json_t *o = json_object();

	put_u(o, "id", m->id);
	json_object_set_new(o, "time_ns", json_integer(m->wall_ns));
	put_s(o, "node", m->node);
	put_known_name(o, "from", m->donor);
	put_s(o, "to", m->taker);
	put_s(o, "why", m->why);
	put_s(o, "outcome", m->outcome);
	put_ms(o, "high_ms", m->high_ns);
	put_i(o, "to_before", m->taker_before);
	put_i(o, "to_predicted", m->taker_predicted);
	put_i(o, "to_seen", m->taker_seen);
	put_i(o, "from_before", m->donor_before);
	put_i(o, "from_predicted", m->donor_predicted);
	put_i(o, "from_seen", m->donor_seen);
	json_object_set_new(o, "seen_ns",
			    m->seen_wall_ns ? json_integer(m->seen_wall_ns) : json_null());
	put_known_name(o, "host", m->host);
	put_s(o, "by", strcmp(m->why, "order") ? "rule" : "operator");
	put_known_name(o, "to_fence", m->taker_fence);
	put_known_name(o, "from_fence", m->donor_fence);
	put_i(o, "told", m->told);
	put_phases(o, m);
	return o;
}

/*
 * When it was made, by the clock as it is now: that may have been set since. Of moves before the
 * start of the daemon only the time of then is known.
 */
static int64_t made_at(const struct call *c, const struct cluster_move *m)
{
	return m->at.ns ? c->wall_ns - mono_sub(c->now, m->at) : m->wall_ns;
}

int cmd_history(struct call *c, const json_t *params, json_t **result)
{
	const char *service = json_string_value(json_object_get(params, "service"));
	json_int_t since = json_integer_value(json_object_get(params, "since_ns"));
	const struct cluster *cl = cluster_of(c);
	const struct cluster_move *m;
	json_t *moves;

	if (!cl)
		return c->exit;
	if (service && !cluster_service_find(cluster_conf(cl), service))
		return call_fail(c, RESEX_USAGE,
				 "there is no service \"%.64s\": see resex service-list", service);
	moves = json_array();
	for (uint32_t i = 0; (m = cluster_history(cl, i)) != NULL; i++)
		if ((!since || made_at(c, m) >= since) &&
		    (!service || !strcmp(m->taker, service) || !strcmp(m->donor, service)))
			json_array_insert_new(moves, 0, move_row(m));
	*result = json_object();
	put_cluster(*result, cl);
	put_s(*result, "note", cluster_history_note(cl));
	json_object_set_new(*result, "moves", moves);
	return 0;
}
