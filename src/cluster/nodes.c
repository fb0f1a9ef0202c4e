// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * nodes: what was read of a host last; how each node of cluster.json is seen: its newest load, how
 * old that is, and why there is none. In the control thread; worker_load.c has made the index.
 */
#include <stdio.h>
#include <string.h>

#include "src/cluster/cluster_priv.h"
#include "src/reconf/role.h"

const struct host_copy *cluster_newest_host(const struct cluster *c, uint32_t i)
{
	struct host_copies *h = c->x->host[c->conf->host[i].number - 1];

	spsc_latest_get(&h->at);
	return &h->copy[h->at.front];
}

/* The host that the node is, or that has the guest: cluster.json was checked. */
static uint32_t host_of(const struct cluster_conf *c, const struct cluster_node *n)
{
	uint32_t i = 0;

	while (c->host[i].number != n->host)
		i++;
	return i;
}

/* Its host sees no such guest. */
static bool is_gone(const struct node_copy *n, struct cluster_node_seen *s)
{
	if (!*s->conf->guest || n->seen.record.flags & REGION_NODE_UP)
		return false;
	snprintf(s->note, sizeof(s->note), "the guest %s does not run on %s", s->conf->guest,
		 s->host->name);
	return true;
}

/* The node at its host; NULL, with a note: it has none of this number and name. */
static const struct node_copy *find_node(const struct host_copy *h, struct cluster_node_seen *s)
{
	const struct node_copy *n = &h->node[s->conf->number];

	if (!h->seen.known) {
		snprintf(s->note, sizeof(s->note), "%s was not read yet: see resex host-list",
			 s->host->name);
		return NULL;
	}
	if (s->conf->number >= h->seen.nodes || strcmp(n->seen.record.name, s->conf->name) != 0) {
		snprintf(
			s->note, sizeof(s->note),
			"%s publishes no node %llu \"%s\": give it the same nodes[], and start its "
			"resexd again",
			s->host->name, (unsigned long long)s->conf->number, s->conf->name);
		return NULL;
	}
	return n;
}

/* False, with a note: it has no load yet. */
static bool has_load(const struct node_copy *n, struct cluster_node_seen *s)
{
	if (n->seen.load.head.seq)
		return true;
	if (!is_gone(n, s))
		snprintf(s->note, sizeof(s->note), "%s has not sampled it yet: see its log",
			 s->host->name);
	return false;
}

static const char *const phase_names[] = {
	[ROLE_UNSEEN] = "unknown",    [ROLE_READY] = "ready",	[ROLE_WAITS] = "waits",
	[ROLE_SWITCHES] = "switches", [ROLE_CHECKS] = "checks",
};

static_assert(sizeof(phase_names) / sizeof(phase_names[0]) == ROLE_PHASES, "each has a name");

/* Of a node of kind switch, whose word was read. */
static void see_role(const struct cluster *c, const struct node_copy *n,
		     struct cluster_node_seen *s)
{
	if (s->conf->kind != CLUSTER_NODE_SWITCH)
		return;
	s->ready = n->seen.record.ready;
	s->phase = n->seen.record.phase < ROLE_PHASES ? n->seen.record.phase : ROLE_UNSEEN;
	s->phase_name = phase_names[s->phase];
	s->from = n->seen.record.from;
	s->serves = cluster_service_at(c->conf, n->seen.record.service);
}

/* Without "reconf" nobody moves it. */
static void see_word(const struct cluster *c, const struct node_copy *n, struct mono now,
		     struct cluster_node_seen *s)
{
	const struct word_copy *w = &n->word;

	if (!c->conf->reconf.given || !w->link)
		return;
	s->word_known = true;
	s->word = w->word;
	s->kept_word = w->kept;
	s->kept = region_is_kept(w->word, w->kept);
	s->word_age_ns = cluster_age_ns(now, w->read);
	s->service = cluster_service_at(c->conf, region_word_id(w->word));
	see_role(c, n, s);
	/* One without a configured service has served none before. */
	s->lost = !region_word_id(w->word) && s->conf->service;
	if (s->lost)
		s->was = cluster_service_at(c->conf, w->was);
}

static void see_load(const struct cluster *c, const struct host_copy *h, const struct node_copy *n,
		     struct mono now, struct cluster_node_seen *s)
{
	s->load = &n->seen.load;
	s->index = n->index < 0 ? -1 : n->index;
	s->age_ns = cluster_age_ns(now, n->seen.moved);
	s->state = CLUSTER_NODE_FRESH;
	if (s->load->flags & LOAD_DISAGREES)
		snprintf(s->note, sizeof(s->note),
			 "the guest says otherwise than the hypervisor, which is believed: see "
			 "resex "
			 "load-show %s on %s",
			 s->conf->name, s->host->name);
	if (s->age_ns <= c->conf->load.stale_ns)
		return;
	s->state = CLUSTER_NODE_STALE;
	if (!h->seen.link || h->seen.why)
		snprintf(s->note, sizeof(s->note), "%s cannot be read: see resex host-list",
			 s->host->name);
	else if (!is_gone(n, s))
		snprintf(s->note, sizeof(s->note), "%s no longer samples it: see its log",
			 s->host->name);
}

static void note_lost(struct cluster_node_seen *s)
{
	if (s->conf->kind == CLUSTER_NODE_SWITCH && !s->serves)
		snprintf(s->note, sizeof(s->note),
			 "it is in no service, and its host does not know for which one it is "
			 "prepared: see resex why-move %s",
			 s->conf->name);
	else
		snprintf(s->note, sizeof(s->note),
			 "it is in no service: its host had lost which one it serves; see resex "
			 "why-move %s",
			 s->conf->name);
}

void cluster_node_see(const struct cluster *c, uint32_t i, struct mono now,
		      struct cluster_node_seen *s)
{
	const struct cluster_node *conf = &c->conf->node[i];
	uint32_t host = host_of(c->conf, conf);
	const struct host_copy *h = cluster_newest_host(c, host);
	const struct node_copy *n;

	*s = (struct cluster_node_seen){ .conf = conf,
					 .host = &c->conf->host[host],
					 .state = CLUSTER_NODE_UNREAD,
					 .index = -1,
					 .age_ns = -1,
					 .word_age_ns = -1,
					 .phase_name = "" };
	if (!c->conf->reconf.given && conf->service)
		s->service = cluster_service_at(c->conf, (uint32_t)conf->service);
	n = find_node(h, s);
	if (!n)
		return;
	see_word(c, n, now, s);
	if (has_load(n, s))
		see_load(c, h, n, now, s);
	if (s->lost && !s->note[0])
		note_lost(s);
}

const struct cluster_sources *cluster_sources_see(const struct cluster *c, uint32_t i)
{
	const struct cluster_node *n = &c->conf->node[i];
	struct source_copies *s = &c->x->sources;

	if (!*n->guest || n->host != c->conf->host[c->conf->self].number)
		return NULL;
	spsc_latest_get(&s->at);
	return &s->copy[s->at.front][n->number];
}
