// SPDX-License-Identifier: GPL-2.0-or-later
/* adopt: nodes that are in no service. See adopt.h. */
#include "src/cluster/adopt.h"

#include "src/cluster/cluster_priv.h"

enum {
	FORGOTTEN = 4,	   /* T */
	DOUBLINGS_MAX = 6, /* of T between two attempts */
};

void adopt_see(struct adopt *a, const struct cluster_node_seen *s, struct mono now)
{
	if (!s->word_known)
		return;
	if (!s->lost)
		a->lost = false;
	else if (!a->lost)
		*a = (struct adopt){ .lost = true, .since = now, .before = now, .was = s->was };
	a->serves = s->serves;
}

uint32_t adopt_rank(const struct cluster_conf *conf, const struct cluster_service *s,
		    const struct hostset *members)
{
	uint64_t self = conf->host[conf->self].number;
	uint32_t rank = 0;

	for (uint32_t i = 0; i < conf->hosts; i++) {
		uint32_t host = (uint32_t)conf->host[i].number;

		rank += host < self && cluster_balances(s, host) && hostset_has(members, host);
	}
	return rank;
}

static const struct cluster_service *service_of(const struct adopt *a,
						const struct cluster_conf *conf,
						const struct cluster_node *node)
{
	if (node->kind == CLUSTER_NODE_SWITCH)
		return a->serves;
	return a->was ? a->was : cluster_service_at(conf, (uint32_t)node->service);
}

const struct cluster_service *adopt_service(const struct adopt *a, const struct cluster_conf *conf,
					    const struct cluster_node *node,
					    const struct hostset *members, struct mono now)
{
	const struct cluster_service *s = service_of(a, conf, node);
	int64_t turns = a->was || a->serves ? 0 : FORGOTTEN, waits;

	if (!a->lost || !s || !cluster_is_balancer(conf, s) || !hostset_has(members, node->host))
		return NULL;
	turns += adopt_rank(conf, s, members);
	waits = cluster_break_ns(conf) + turns * conf->reconf.high_ns;
	if (mono_sub(now, a->since) <= waits || mono_sub(now, a->before) < 0)
		return NULL;
	return s;
}

void adopt_asked(struct adopt *a, const struct cluster_conf *conf, struct mono now)
{
	uint32_t doublings = a->tries < DOUBLINGS_MAX ? a->tries : DOUBLINGS_MAX;

	a->tries++;
	a->before = mono_add(now, conf->reconf.high_ns << doublings);
}
