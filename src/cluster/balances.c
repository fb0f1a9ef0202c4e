// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * balances: the services that this host balances, one balancer each (balance_turn.h), in the
 * control thread. They are those of "balance" in cluster.json, from the start and from each reload
 * on.
 */
#include "src/cluster/balances.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "src/cluster/balance_turn.h"
#include "src/cluster/cluster_priv.h"

struct balances {
	const struct cluster_conf *conf;
	struct guests *gs;
	int epoll;
	/* As conf->balance[]. NULL: it could not be opened. */
	struct balancer *at[CLUSTER_SERVICES_MAX];
	struct balancer *leaving; /* a list */
};

static void watch(const struct balances *s, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	/* If it fails, work is still done when it is due. */
	epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev);
}

static int open_one(struct balances *s, uint32_t i, struct mono now)
{
	int rc = balancer_open(&s->at[i], s->conf, i, now);

	if (rc)
		return rc;
	watch(s, s->at[i]->ops->fd(s->at[i]->act));
	return 0;
}

int balances_open(struct balances **out, const struct cluster_conf *conf, struct guests *gs,
		  struct mono now, struct conf_error *e)
{
	struct balances *s = calloc(1, sizeof(*s));
	int rc = 0;

	if (!s)
		return -ENOMEM;
	*out = s;
	s->conf = conf;
	s->gs = gs;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0)
		rc = -errno;
	for (uint32_t i = 0; !rc && i < conf->balances; i++)
		rc = open_one(s, i, now);
	if (rc)
		conf_error_set(e, conf_exit(rc), "cluster: services cannot be balanced: %s",
			       strerror(-rc));
	return rc;
}

void balances_close(struct balances *s)
{
	struct balancer *b;

	if (!s)
		return;
	for (uint32_t i = 0; i < CLUSTER_SERVICES_MAX; i++)
		if (s->at[i])
			balancer_close(s->at[i]);
	while ((b = s->leaving) != NULL) {
		s->leaving = b->next;
		balancer_close(b);
	}
	if (s->epoll >= 0)
		close(s->epoll);
	free(s);
}

int balances_fd(const struct balances *s)
{
	return s->epoll;
}

/* --- work -------------------------------------------------------------------------------- */

static int64_t work_on_leaving(struct balances *s, const struct balance_world *w)
{
	struct balancer **at = &s->leaving, *b;
	int64_t ns = INT64_MAX, one;

	while ((b = *at) != NULL) {
		one = balancer_work(b, w);
		if (balancer_left(b, w)) {
			*at = b->next;
			balancer_close(b);
			continue;
		}
		ns = least(ns, one);
		at = &b->next;
	}
	return ns;
}

/* The other thread publishes them with the loads of these nodes. */
static void pass_requests(struct balances *s, struct requests_copies *c)
{
	struct node_requests *to = c->copy[c->at.back];
	bool any = false;

	for (uint32_t i = 0; i < s->conf->balances; i++)
		any |= s->at[i] && balancer_has_requests(s->at[i]);
	if (!any)
		return;
	memset(to, 0, sizeof(c->copy[0]));
	for (uint32_t i = 0; i < s->conf->balances; i++)
		if (s->at[i])
			balancer_requests(s->at[i], s->conf, to);
	spsc_latest_put(&c->at);
}

int64_t balances_work(struct balances *s, const struct cluster *c, struct mono now, int64_t wall_ns)
{
	const struct balance_world w = { c, s->conf, s->gs, now, wall_ns };
	int64_t ns = work_on_leaving(s, &w), one;

	for (uint32_t i = 0; i < s->conf->balances; i++) {
		one = s->at[i] ? balancer_work(s->at[i], &w) : INT64_MAX;
		ns = least(ns, one);
	}
	pass_requests(s, &c->x->requests);
	return ns;
}

bool balances_send_none(const struct balances *s, uint32_t node, uint32_t service)
{
	for (uint32_t i = 0; i < s->conf->balances; i++)
		if (s->conf->balance[i].service != service &&
		    !(s->at[i] && balancer_sends_none(s->at[i], node)))
			return false;
	return true;
}

/* --- leave --------------------------------------------------------------------------------- */

static void leave(struct balances *s, struct balancer *b, const struct balancer *heir,
		  struct mono now)
{
	balancer_leave(b, heir, mono_add(now, b->ops->leave_ns));
	b->next = s->leaving;
	s->leaving = b;
}

void balances_leave(struct balances *s, struct mono now)
{
	for (uint32_t i = 0; i < s->conf->balances; i++) {
		if (s->at[i])
			leave(s, s->at[i], NULL, now);
		s->at[i] = NULL;
	}
}

bool balances_left(const struct balances *s)
{
	return !s->leaving;
}

/* --- reload --------------------------------------------------------------------------------- */

/* b NULL: it could not be opened. */
static int refuse(const struct balances *s, const struct balancer *b, uint32_t i,
		  const struct cluster_node *n, struct conf_error *e)
{
	const struct cluster_balance *conf = &s->conf->balance[i];

	const char *service = cluster_service_at(s->conf, conf->service)->name;

	conf_error_set(
		e, conf_exit(-EINVAL),
		"HAProxy may send requests of %s to node %s (server %s of %s), unwatched by this "
		"file: move it, or run resex balance-set %s observe and put the server into "
		"maintenance, until its requests have ended; if %s, restart resexd",
		service, n->name, n->server, conf->backend, service,
		b ? "HAProxy runs no more" : "it sends none");
	return -EPERM;
}

int balances_may_reload(const struct balances *s, const struct cluster_conf *conf,
			struct conf_error *e)
{
	for (uint32_t i = 0; i < s->conf->balances; i++) {
		uint32_t service = s->conf->balance[i].service;
		const struct cluster_node *n = NULL;
		const struct balancer *b = s->at[i];

		while ((n = cluster_next_left(s->conf, conf, service, n)) != NULL)
			if (!b || !balancer_sends_none(b, (uint32_t)(n - s->conf->node)))
				return refuse(s, b, i, n, e);
	}
	return 0;
}

void balances_will_reload(struct balances *s, const struct cluster_conf *conf)
{
	for (uint32_t i = 0; i < s->conf->balances; i++) {
		uint32_t service = s->conf->balance[i].service;
		const struct cluster_node *n = NULL;

		while ((n = cluster_next_left(s->conf, conf, service, n)) != NULL)
			if (s->at[i])
				balancer_shut(s->at[i], (uint32_t)(n - s->conf->node));
	}
}

/* The balancer of this service, which is taken out of old[]; NULL: there is none. */
static struct balancer *take(struct balancer *old[], uint32_t service)
{
	for (uint32_t i = 0; i < CLUSTER_SERVICES_MAX; i++) {
		struct balancer *b = old[i];

		if (!b || b->conf.service != service)
			continue;
		old[i] = NULL;
		return b;
	}
	return NULL;
}

/* Another one in its place. The mode that the operator chose stays, unless the file has another. */
static void replace(struct balances *s, uint32_t i, struct balancer *was, struct mono now,
		    int64_t wall_ns)
{
	int rc = open_one(s, i, now);
	struct balancer *b = s->at[i];

	if (rc)
		guests_event(s->gs, wall_ns, "", "balance", "%s: it cannot be balanced: %s",
			     cluster_service_at(s->conf, s->conf->balance[i].service)->name,
			     strerror(-rc));
	if (!was)
		return;
	if (b && was->conf.mode == b->conf.mode)
		b->mode = was->mode;
	if (b) /* its port may be that of the one before, for so long */
		b->heard = mono_add(now, was->ops->leave_ns);
	leave(s, was, b && b->mode != CLUSTER_OBSERVE ? b : NULL, now);
}

void balances_reload(struct balances *s, const struct cluster_conf *conf, struct mono now,
		     int64_t wall_ns)
{
	struct balancer *old[CLUSTER_SERVICES_MAX];
	const struct cluster_conf *from = s->conf;

	memcpy(old, s->at, sizeof(old));
	memset(s->at, 0, sizeof(s->at));
	s->conf = conf;
	for (uint32_t i = 0; i < conf->balances; i++) {
		uint32_t service = conf->balance[i].service;
		struct balancer *was = take(old, service);

		if (was && cluster_same_balance(from, conf, service)) {
			s->at[i] = was;
			balancer_reload(was, conf);
			continue;
		}
		replace(s, i, was, now, wall_ns);
	}
	for (uint32_t i = 0; i < CLUSTER_SERVICES_MAX; i++)
		if (old[i])
			leave(s, old[i], NULL, now);
}

/* --- what is seen ---------------------------------------------------------------------------- */

static const char *const why_names[BALANCE_WHYS] = { [BALANCE_GIVEN] = "given",
						     [BALANCE_FRESH] = "fresh",
						     [BALANCE_GROWN] = "grown",
						     [BALANCE_OLD] = "old",
						     [BALANCE_STALE] = "stale" };

void cluster_balance_see(const struct cluster *c, uint32_t i, struct mono now,
			 struct cluster_balancer *out)
{
	const struct balancer *b = c->balances->at[i];

	memset(out, 0, sizeof(*out));
	out->conf = &c->conf->balance[i];
	out->service = cluster_service_at(c->conf, out->conf->service);
	out->why = "none";
	out->why_text = "nothing is decided yet";
	out->age_ns = -1;
	if (!b) {
		snprintf(out->note, sizeof(out->note), "it could not be opened: see resex events");
		return;
	}
	out->mode = b->mode;
	out->restores = b->restoring;
	out->servers = b->n;
	for (uint32_t k = 0; k < b->n; k++)
		out->up += b->up[k];
	out->service_ns = b->service_ns;
	balancer_note(b, now, out->note, sizeof(out->note));
	if (!b->decision.nodes)
		return;
	out->why = why_names[b->decision.why];
	out->why_text = balance_why_text(b->decision.why);
	out->k = b->decision.k;
	out->age_ns = b->decision.age_ns;
}

void cluster_server_see(const struct cluster *c, uint32_t i, uint32_t k, struct cluster_server *s)
{
	const struct balancer *b = c->balances->at[i];

	memset(s, 0, sizeof(*s));
	s->node = &c->conf->node[b->node[k]];
	balancer_see_server(b, k, s);
}

int cluster_balance_set(struct cluster *c, uint32_t i, enum cluster_balance_mode mode)
{
	struct balancer *b = c->balances->at[i];

	if (!b)
		return -ENODEV;
	balancer_set_mode(b, mode);
	return 0;
}
