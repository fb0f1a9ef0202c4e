// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * words: the words of all hosts' nodes, which say which service each node serves. Each scan makes
 * one READ of each host that has nodes: of their words, and of their kept words. Only with "reconf"
 * in cluster.json: without it no word changes. Words are changed by src/reconf/move.c.
 *
 * With nodes of kind "switch" that READ has the acknowledgements of the host, too, which this file
 * writes for this host (src/reconf/role.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/cluster/cluster_priv.h"

/* In words behind the first node's. */
enum { ACKS_AT = (REGION_ACKS - REGION_NODE_WORDS) / 8 };

static struct node_words *words_of(struct worker *w, uint16_t host)
{
	struct node_words **n = &w->node_words[host - 1];

	if (!*n)
		*n = calloc(1, sizeof(**n));
	return *n; /* NULL: no memory; the next scan tries again */
}

/* Up to the last word that is needed. */
static uint32_t end_of_read(const struct worker *w, uint32_t nodes, bool acks)
{
	return acks ? region_ack_offset(w->conf->nodes) : region_kept_offset(nodes - 1) + 8;
}

static void read_host(struct worker *w, uint16_t host, uint32_t nodes, bool acks, struct mono now)
{
	struct node_words *n = words_of(w, host);
	const struct transport_op op = {
		.kind = TRANSPORT_READ,
		.host = host,
		.part = TRANSPORT_WORDS,
		.offset = region_node_offset(0),
		.len = end_of_read(w, nodes, acks) - region_node_offset(0),
		.tag = (uint64_t)CLUSTER_TAG_WORDS << CLUSTER_TAG_SHIFT | host,
		.deadline = mono_add(now, w->conf->timeout_ns),
	};

	if (!n || n->reading || transport_post(w->t, &op, 1, now, NULL) != 1)
		return;
	n->reading = true;
	n->began = now;
	n->nodes_asked = nodes;
}

void words_read(struct worker *w, struct mono now)
{
	bool acks = cluster_switch_find(w->conf);

	if (!w->conf->reconf.given)
		return;
	for (uint32_t i = 0; i < w->conf->hosts; i++) {
		uint16_t host = (uint16_t)w->conf->host[i].number;
		struct peer_seen p;

		peers_see(w->peers, host, &p);
		/* A host without nodes may acknowledge those of others. */
		if (p.known && (p.nodes || acks))
			read_host(w, host, p.nodes, acks, now);
	}
}

static void acknowledge(struct worker *w, uint32_t place, uint64_t was, uint64_t ack,
			struct mono now)
{
	const struct transport_op op = {
		.kind = TRANSPORT_CAS64,
		.host = (uint16_t)w->conf->host[w->conf->self].number,
		.part = TRANSPORT_WORDS,
		.offset = region_ack_offset(place),
		.compare = was,
		.value = ack,
		.tag = (uint64_t)CLUSTER_TAG_ACKS << CLUSTER_TAG_SHIFT,
		.deadline = mono_add(now, w->conf->timeout_ns),
	};

	transport_post(w->t, &op, 1, now, NULL); /* if it cannot: after the next READ */
}

/* Those that control wants. there: as read of this host just now. */
static void write_acks(struct worker *w, const struct node_words *there, struct mono now)
{
	const uint64_t *ack = w->x->roles.copy[w->x->roles.at.front].ack;

	for (uint32_t i = 0; i < there->acks; i++)
		if (ack[i] && ack[i] != there->ack[i])
			acknowledge(w, i, there->ack[i], ack[i], now);
}

/* A node in no service is adopted when it was so for a break (move.h). */
static void note_none(struct node_words *n, struct mono now)
{
	for (uint32_t i = 0; i < n->nodes; i++) {
		if (region_word_id(n->word[i])) {
			n->none_link[i] = 0;
			n->was[i] = region_word_id(n->word[i]);
		} else if (n->none_link[i] != n->link) {
			n->none_link[i] = n->link;
			n->none_since[i] = now;
		}
	}
}

void words_result(struct worker *w, const struct transport_event *ev, struct mono now)
{
	struct node_words *n = w->node_words[ev->host - 1]; /* it has posted the READ */

	n->reading = false;
	/* The words that were read before stay: their age is known. */
	if (ev->outcome != TRANSPORT_DONE)
		return;
	n->link = ev->link;
	n->read = n->began;
	n->nodes = n->nodes_asked;
	memcpy(n->word, ev->data, n->nodes * sizeof(n->word[0]));
	memcpy(n->kept, (const uint64_t *)ev->data + REGION_NODES_MAX,
	       n->nodes * sizeof(n->kept[0]));
	note_none(n, now);
	n->acks = ev->len / 8 > ACKS_AT ? ev->len / 8 - ACKS_AT : 0;
	memcpy(n->ack, (const uint64_t *)ev->data + ACKS_AT, n->acks * sizeof(n->ack[0]));
	if (n->acks && ev->host == w->conf->host[w->conf->self].number)
		write_acks(w, n, now);
}

void words_see_acks(const struct worker *w, uint16_t host, uint64_t out[static CLUSTER_MOVED_MAX])
{
	const struct node_words *n = w->node_words[host - 1];

	memset(out, 0, CLUSTER_MOVED_MAX * sizeof(out[0]));
	if (n && n->link && n->link == transport_link(w->t, host))
		memcpy(out, n->ack, n->acks * sizeof(out[0]));
}

void words_none(const struct worker *w, uint16_t host, uint32_t node, struct mono *since,
		uint32_t *link)
{
	const struct node_words *n = w->node_words[host - 1];

	*link = n && node < n->nodes ? n->none_link[node] : 0;
	if (*link)
		*since = n->none_since[node];
}

void words_see(const struct worker *w, uint16_t host, uint32_t node, struct word_copy *out)
{
	const struct node_words *n = w->node_words[host - 1];

	*out = (struct word_copy){ 0 };
	/* A host that has restarted may have begun with other words. */
	if (!n || !n->link || node >= n->nodes || n->link != transport_link(w->t, host))
		return;
	*out = (struct word_copy){ .link = n->link,
				   .word = n->word[node],
				   .kept = n->kept[node],
				   .was = n->was[node],
				   .read = n->read };
}
