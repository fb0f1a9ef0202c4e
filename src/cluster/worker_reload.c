// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * worker_reload: settings that control has read from cluster.json come into force, between two
 * decisions (worker.c). conf/cluster_change.h says what may have changed: hosts, clients, services.
 *
 * The order is that of tests/model/agree.pml. Links to what is left out, or is called at another
 * address, end first: then nothing of it is executed here any more. Then the new settings are
 * published. Links to what is new begin last.
 */
#include <stdio.h>
#include <string.h>

#include "src/cluster/cluster_priv.h"

/* The host or client of this number, for the transport. False: there is none. */
static bool peer_at(const struct cluster_conf *c, uint16_t number, struct transport_peer *p)
{
	const struct cluster_host *h = cluster_host_at(c, number);
	const struct cluster_client *client = cluster_client_at(c, number);

	if (h)
		cluster_peer(c, (uint32_t)(h - c->host), p);
	else if (client)
		cluster_client_peer(c, (uint32_t)(client - c->client), p);
	return h || client;
}

/* Is the one of a called, or served, by b in another way, or not at all? */
static bool is_dropped(const struct cluster_conf *a, const struct cluster_conf *b, uint16_t number)
{
	struct transport_peer of_a, of_b;

	if (!peer_at(a, number, &of_a))
		return false;
	/* Both are zeroed before they are filled. */
	return !peer_at(b, number, &of_b) || memcmp(&of_a, &of_b, sizeof(of_a)) != 0;
}

static void end_links(struct worker *w, const struct cluster_conf *to, struct mono now,
		      int64_t wall_ns)
{
	for (uint32_t n = 1; n <= REGION_HOSTS_MAX; n++)
		if (is_dropped(w->conf, to, (uint16_t)n))
			transport_remove(w->t, (uint16_t)n, now);
	/* The results and the DOWN of each, while its name is known. Of others' the rest stays. */
	worker_events(w, now, wall_ns);
	for (uint32_t n = 1; n <= REGION_HOSTS_MAX; n++)
		if (cluster_host_at(w->conf, (uint16_t)n) && !cluster_host_at(to, (uint16_t)n)) {
			peers_forget(w->peers, (uint16_t)n);
			notices_forget_host(&w->notices, (uint16_t)n);
		}
}

static void begin_links(struct worker *w, const struct cluster_conf *from, struct mono now,
			int64_t wall_ns)
{
	for (uint32_t n = 1; n <= REGION_HOSTS_MAX; n++) {
		struct transport_peer was, p;
		int rc = 0;

		if (peer_at(from, (uint16_t)n, &was) && !is_dropped(from, w->conf, (uint16_t)n))
			continue;
		if (peer_at(w->conf, (uint16_t)n, &p))
			rc = transport_add(w->t, &p, now);
		if (rc)
			notices_alarm(&w->notices, (uint16_t)n, strerror(-rc), now, wall_ns);
	}
}

static void publish(struct worker *w, struct mono now, int64_t wall_ns)
{
	struct region_service s[CLUSTER_SERVICES_MAX];
	uint32_t n = publish_services(w->conf, s);

	region_publish_services(&w->region, s, n);
	/* It has the digests: until then what others read is believed to be of the old ones. */
	worker_beat(w, now, wall_ns);
}

void worker_reload(struct worker *w, struct mono now, int64_t wall_ns)
{
	const struct cluster_conf *from = w->conf;
	struct member_conf mc;

	end_links(w, w->reload, now, wall_ns);
	w->conf = w->notices.conf = w->reload;
	locks_renumber(&w->locks, from, w->conf);
	/* Its numbers and nodes were checked when the file was read, as those of the start were. */
	worker_member_conf(w->conf, &mc);
	w->member_ops->set_hosts(w->member, &mc); /* the next step asks for the view */
	agree_init(&w->agree, w->conf);
	worker_close_moves(w);
	if (worker_open_moves(w, now))
		notices_alarm(&w->notices, (uint16_t)w->conf->host[w->conf->self].number,
			      "no node is moved: no memory; restart resexd", now, wall_ns);
	publish(w, now, wall_ns);
	begin_links(w, from, now, wall_ns);
}
