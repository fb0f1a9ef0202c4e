// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agree: compares what other hosts hold of cluster.json with what this host holds. See agree.h for
 * the rules. No I/O, no clock.
 */
#include "src/cluster/agree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void agree_init(struct agree *a, const struct cluster_conf *conf)
{
	memset(a, 0, sizeof(*a));
	a->conf = conf;
	a->hosts = cluster_hosts_digest(conf);
	a->services = cluster_services_digest(conf->service, conf->services);
	a->nodes = cluster_nodes_digest(conf);
}

static void forget(struct agree *a, struct mono now)
{
	memset(a->host, 0, sizeof(a->host));
	a->since = now;
}

void agree_published(struct agree *a, uint64_t view, struct mono now)
{
	if (a->published && a->view == view)
		return;
	a->published = true;
	a->view = view;
	forget(a, now);
}

void agree_home(struct agree *a, uint16_t home, uint32_t link, struct mono now)
{
	if (a->home == home && a->home_link == link)
		return;
	a->home = home;
	a->home_link = link;
	forget(a, now);
}

/* --- what another host holds ------------------------------------------------------- */

static void service_of_record(const struct region_service *r, struct cluster_service *s)
{
	memset(s, 0, sizeof(*s));
	memcpy(s->name, r->name, sizeof(s->name));
	s->number = r->service;
	s->minimum = r->minimum;
	memcpy(s->balancers.word, r->balancers, sizeof(s->balancers.word));
	s->more = r->more;
}

/*
 * The services that are the same, as bits of conf->service[]. The records may be newer or older
 * than the host record, which was read before them: they are believed if they have its digest.
 * 0, or -EAGAIN.
 */
static int same_services(const struct cluster_conf *conf, const struct peer_seen *p, uint64_t *same)
{
	struct cluster_service theirs[PEERS_SERVICES_MAX];

	for (uint32_t k = 0; k < p->services; k++)
		service_of_record(&p->service[k], &theirs[k]);
	if (cluster_services_digest(theirs, p->services) != p->host->services_digest)
		return -EAGAIN;
	*same = 0;
	for (uint32_t i = 0; i < conf->services; i++)
		for (uint32_t k = 0; k < p->services; k++)
			if (theirs[k].number == conf->service[i].number &&
			    cluster_service_digest(&theirs[k]) ==
				    cluster_service_digest(&conf->service[i]))
				*same |= 1ull << i;
	return 0;
}

void agree_read(struct agree *a, uint16_t host, const struct peer_seen *p)
{
	struct agree_host *h = &a->host[host - 1];

	*h = (struct agree_host){ 0 };
	/* Its own view may begin later than ours, or earlier: its record says nothing of ours. */
	if (!a->published || !p->known || mono_sub(p->read, a->since) <= 0 ||
	    p->host->view != a->view)
		return;
	h->hosts = p->host->hosts_digest == a->hosts;
	h->all_services = p->host->services_digest == a->services;
	h->nodes = p->host->nodes_digest == a->nodes;
	h->nodes_given = p->host->nodes_digest != 0;
	h->services = UINT64_MAX;
	h->read = h->all_services || !same_services(a->conf, p, &h->services);
}

/* --- answers ----------------------------------------------------------------------- */

enum cluster_agree agree_with(const struct agree *a, uint16_t host)
{
	const struct agree_host *h = &a->host[host - 1];

	if (!h->read)
		return CLUSTER_AGREE_UNREAD;
	if (!h->hosts)
		return CLUSTER_AGREE_HOSTS;
	if (!h->all_services)
		return CLUSTER_AGREE_SERVICES;
	return h->nodes ? CLUSTER_AGREE_SAME : CLUSTER_AGREE_NODES;
}

void agree_differs(const struct agree *a, uint16_t host, char *text, size_t size)
{
	const struct agree_host *h = &a->host[host - 1];
	enum cluster_agree with = agree_with(a, host);
	uint32_t i = 0;

	text[0] = '\0';
	if (with == CLUSTER_AGREE_HOSTS)
		snprintf(text, size, "its cluster.json has other hosts");
	if (with == CLUSTER_AGREE_NODES)
		snprintf(text, size, "%s",
			 h->nodes_given ? "its cluster.json has other nodes"
					: "its cluster.json has no nodes, or its resexd is older");
	if (with != CLUSTER_AGREE_SERVICES)
		return;
	/* The first one is enough to find the difference; names are long. */
	while (i < a->conf->services && h->services >> i & 1)
		i++;
	if (i < a->conf->services)
		snprintf(text, size, "its cluster.json differs in service %s",
			 a->conf->service[i].name);
	else
		snprintf(text, size, "its cluster.json has further services");
}

static enum cluster_agree with_in_service(const struct agree *a, uint16_t host, uint32_t i)
{
	enum cluster_agree with = agree_with(a, host);

	if (with == CLUSTER_AGREE_NODES ||
	    (with == CLUSTER_AGREE_SERVICES && a->host[host - 1].services >> i & 1))
		return CLUSTER_AGREE_SAME;
	return with;
}

enum cluster_agree agree_on_service(const struct agree *a, const struct member_view *v, uint32_t i,
				    uint16_t *first)
{
	uint16_t self = (uint16_t)a->conf->host[a->conf->self].number;
	enum cluster_agree worst = CLUSTER_AGREE_SAME;

	*first = 0;
	/* Not published in this view: nothing that was read counts. */
	if (!a->published || a->view != v->view)
		return CLUSTER_AGREE_UNREAD;
	for (uint16_t n = hostset_next(&v->members, 0); n; n = hostset_next(&v->members, n)) {
		enum cluster_agree one = with_in_service(a, n, i);

		if (n == self || one == CLUSTER_AGREE_SAME)
			continue;
		if (worst == CLUSTER_AGREE_SAME ||
		    (worst == CLUSTER_AGREE_UNREAD && one != CLUSTER_AGREE_UNREAD)) {
			worst = one;
			*first = n;
		}
	}
	return worst;
}
