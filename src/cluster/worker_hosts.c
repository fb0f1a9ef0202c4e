// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * worker_hosts: what a step of the worker (worker.c) takes from other hosts and gives them.
 * Results, links that come and go, and alarms come in; heartbeats go out.
 */
#include <string.h>

#include "src/cluster/cluster_priv.h"

enum {
	EVENTS_ONCE = 64, /* of the transport, on the stack */
	TURNS_MAX = 4,	  /* in one step: the rest waits for the next, since beats come between */
};

/* The peers first: the event names the generation that they learn from a new link. */
static void link_changed(struct worker *w, const struct transport_event *ev, struct mono now,
			 int64_t wall_ns)
{
	struct peer_seen p;

	peers_event(w->peers, ev, now);
	worker_words_event(w, ev, now);
	worker_moves_event(w, ev, now);
	peers_see(w->peers, ev->host, &p);
	/* An alarm from before this change does not explain the link as it is now. */
	notices_forget_alarm(&w->notices, ev->host);
	notices_link(&w->notices, ev->host, ev->type == TRANSPORT_UP, p.generation, ev->text, now,
		     wall_ns);
}

static void handle_event(struct worker *w, const struct transport_event *ev, struct mono now,
			 int64_t wall_ns)
{
	switch (ev->type) {
	case TRANSPORT_RESULT:
		if (ev->tag >> CLUSTER_TAG_SHIFT == CLUSTER_TAG_PEERS)
			peers_event(w->peers, ev, now);
		else if (ev->tag >> CLUSTER_TAG_SHIFT == CLUSTER_TAG_KEEP)
			worker_words_event(w, ev, now);
		else if (ev->tag >> CLUSTER_TAG_SHIFT == CLUSTER_TAG_MOVES)
			worker_moves_event(w, ev, now);
		else if (ev->tag >> CLUSTER_TAG_SHIFT == CLUSTER_TAG_WORDS)
			words_result(w, ev, now);
		else
			locks_result(&w->locks, w->conf, ev, now);
		break;
	case TRANSPORT_UP:
	case TRANSPORT_DOWN:
		link_changed(w, ev, now, wall_ns);
		break;
	case TRANSPORT_ALARM:
		notices_alarm(&w->notices, ev->host, ev->text, now, wall_ns);
		hostset_set(&w->stale, ev->host, true);
		break;
	case TRANSPORT_MESSAGE: /* no host sends any yet */
		break;
	}
}

/* Bounded: peers may request without end. False: there was nothing. */
bool worker_events(struct worker *w, struct mono now, int64_t wall_ns)
{
	struct transport_event ev[EVENTS_ONCE];
	size_t n = EVENTS_ONCE, sum = 0;

	for (int i = 0; i < TURNS_MAX && n == EVENTS_ONCE; i++) {
		n = transport_poll(w->t, now, ev, EVENTS_ONCE);
		for (size_t k = 0; k < n; k++)
			handle_event(w, &ev[k], now, wall_ns);
		sum += n;
	}
	return sum > 0;
}

/*
 * Guests before the heartbeat: the beat makes their new number valid for readers. Without a beat
 * other hosts call this one silent, so it comes also when control has published nothing new: then
 * the age says so. Before the first publication there is nothing to be alive with.
 */
void worker_beat(struct worker *w, struct mono now, int64_t wall_ns)
{
	bool is_new = spsc_latest_get(&w->x->publication_at);
	struct publication *p = &w->x->publication[w->x->publication_at.front];
	struct region_host host = p->host;

	w->published = w->published || is_new;
	if (!w->published)
		return;
	if (is_new) {
		worker_name_guests(w, p); /* region_publish_guests() writes to the records */
		region_publish_guests(&w->region, p->guest, p->guests);
	}
	host.wall_ns = wall_ns;
	host.figures_age_ns = (uint64_t)mono_sub(now, p->made);
	host.view = w->view.view;
	memcpy(host.members, w->view.members.word, sizeof(host.members));
	host.quorate = w->view.quorate;
	host.hosts_digest = w->agree.hosts;
	host.services_digest = w->agree.services;
	host.nodes_digest = w->agree.nodes;
	region_beat(&w->region, &host);
	/*
	 * Of two hosts that publish other contents and then READ each other, one at least must see
	 * what the other published. Without the fence the CPU could do both READs (over shm, loads)
	 * before both stores.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	agree_published(&w->agree, w->view.view, now);
}
