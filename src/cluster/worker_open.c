// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * worker_open: from cluster.json to a worker that serves: transport, region, membership, peers. The
 * control thread does it, before the cluster's thread runs, since files are written here.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "src/cluster/cluster_priv.h"

static_assert(MEMBER_VIEW_MAX == REGION_EPOCH_MAX, "views are epochs");

/*
 * The epoch of a lock's first word is the generation. A transport without ports wants 0, and a
 * host has a port by default.
 */
static int open_transport(struct worker *w, const struct cluster_key *key, uint64_t generation,
			  const uint64_t *node, struct mono now, struct conf_error *e)
{
	const struct transport_backend *b = transport_backends[w->conf->transport];
	const struct cluster_host *h = &w->conf->host[w->conf->self];
	struct transport_conf tc = {
		.host = (uint16_t)h->number,
		.generation = generation,
		.generation_max = REGION_EPOCH_MAX,
		.agreement = cluster_agreement(w->conf),
		.key = key->bytes,
		.key_len = key->len,
		.port = (uint16_t)h->port,
		.bytes = { REGION_TABLE_BYTES, REGION_WORDS_BYTES },
		.hellos_max = (uint32_t)w->conf->callers,
		.hellos_second = (uint32_t)w->conf->callers_second,
		.seed = generation << 8 | h->number,
	};
	uint64_t *words = calloc(1, REGION_WORDS_BYTES);
	char text[256] = "";
	int rc = words ? region_words(words, generation, node) : -ENOMEM;

	strcpy(tc.cluster, w->conf->cluster); /* conf's arrays are as long */
	strcpy(tc.address, h->address);
	tc.words = words;
	if (cluster_next_own(w->conf, NULL))
		tc.bytes[TRANSPORT_LOAD] = REGION_LOADS_BYTES;
	if (!b->has_ports)
		tc.port = 0;
	if (!rc)
		rc = b->open(&w->t, &tc, now, text);
	free(words);
	if (rc)
		conf_error_set(e, conf_exit(rc), "cluster: transport \"%s\": %s", b->name,
			       text[0] ? text : strerror(-rc));
	return rc;
}

/* All hosts, this one too: it reads its own memory over a link, as any other does. */
static int add_peers(struct worker *w, struct mono now, struct conf_error *e)
{
	for (uint32_t i = 0; i < w->conf->hosts; i++) {
		const struct cluster_host *h = &w->conf->host[i];
		struct transport_peer p;
		int rc;

		cluster_peer(w->conf, i, &p);
		rc = transport_add(w->t, &p, now);
		if (!rc)
			continue;
		conf_error_set(e, conf_exit(rc),
			       "cluster: host \"%s\" cannot be called at \"%s\": %s", h->name,
			       h->address,
			       rc == -EINVAL ? "give an IP address and a port; for shm, a folder"
					     : strerror(-rc));
		return rc;
	}
	return 0;
}

/* They may call this host, and are no members: nobody else here has to know them. */
static int add_clients(struct worker *w, struct mono now, struct conf_error *e)
{
	for (uint32_t i = 0; i < w->conf->clients; i++) {
		struct transport_peer p;
		int rc;

		cluster_client_peer(w->conf, i, &p);
		rc = transport_add(w->t, &p, now);
		if (!rc)
			continue;
		conf_error_set(e, conf_exit(rc), "cluster: client \"%s\" cannot be added: %s",
			       p.name, strerror(-rc));
		return rc;
	}
	return 0;
}

static const struct member_ops *find_member(const struct cluster_conf *conf, struct conf_error *e)
{
	if (conf->membership == CLUSTER_STATIC)
		return &member_static;
#ifdef HAVE_COROSYNC
	(void)e;
	return &member_corosync;
#else
	conf_error_set(e, RESEX_FAILURE,
		       "cluster: this resexd was built without corosync: write \"membership\": "
		       "\"static\", or use another build");
	return NULL;
#endif
}

void worker_member_conf(const struct cluster_conf *conf, struct member_conf *mc)
{
	*mc = (struct member_conf){ .self = (uint16_t)conf->host[conf->self].number,
				    .connect_ms = MEMBER_CONNECT_MS };
	for (uint32_t i = 0; i < conf->hosts; i++) {
		const struct cluster_host *h = &conf->host[i];

		hostset_set(&mc->hosts, (uint32_t)h->number, true);
		mc->node[h->number - 1] = (uint32_t)h->corosync_node;
	}
}

static int open_member(struct worker *w, struct mono now, struct conf_error *e)
{
	struct member_conf mc;
	int rc;

	worker_member_conf(w->conf, &mc);
	w->member_ops = find_member(w->conf, e);
	if (!w->member_ops)
		return -EOPNOTSUPP;
	rc = w->member_ops->open(&w->member, &mc, now);
	if (!w->member)
		return rc ? rc : -ENOMEM;
	return 0; /* without corosync this host has no quorum, until corosync runs */
}

/* Only of a host that is a node itself. */
static int open_load(struct worker *w, struct conf_error *e)
{
	char text[128] = "";
	int rc;

	if (!cluster_own_node(w->conf))
		return 0;
	w->load_ops = &load_proc;
	w->load_series.node = (uint32_t)cluster_own_node(w->conf)->number;
	if (w->conf->load.source != CLUSTER_LOAD_ULM) {
		w->fill.filler = &load_kmod;
		w->fill.what.running_offset = load_running_offset("/sys/kernel/btf/vmlinux");
	}
	rc = w->load_ops->open(&w->load, "/proc", text);
	if (rc)
		conf_error_set(e, conf_exit(rc),
			       "cluster: the load of this node cannot be sampled: %s",
			       text[0] ? text : strerror(-rc));
	return rc;
}

static void init_region(struct worker *w, uint64_t generation, struct mono now)
{
	struct region_service s[CLUSTER_SERVICES_MAX];

	region_init(&w->region, transport_table(w->t),
		    (uint16_t)w->conf->host[w->conf->self].number, generation);
	if (cluster_next_own(w->conf, NULL))
		region_init_loads(&w->region, transport_part(w->t, TRANSPORT_LOAD));
	region_publish_services(&w->region, s, publish_services(w->conf, s));
	worker_publish_nodes(w);
	agree_init(&w->agree, w->conf);
	w->beat_due = w->scan_due = now;
}

/*
 * The order matters: a start that cannot serve at its address counts no generation, and saves no
 * words; both are on disk before any peer can see them, which needs a poll of the transport; the
 * region's header is written before it has a reader, and the peers' table and the runner are there
 * before the first link, since they need every UP. Links are opened last.
 */
int worker_open(struct worker *w, const struct cluster_key *key, const char *state_dir,
		struct mono now, struct conf_error *e)
{
	struct epoll_event ev = { .events = EPOLLIN };
	uint64_t generation = 0, node[REGION_NODES_MAX];
	int rc = cluster_generation_next(state_dir, &generation, e);

	if (!rc)
		rc = worker_begin_words(w, state_dir, node, e);
	if (!rc)
		rc = open_transport(w, key, generation, w->words.nodes ? node : NULL, now, e);
	if (!rc)
		rc = open_load(w, e);
	if (!rc)
		rc = worker_open_guests(w);
	if (!rc)
		rc = worker_save_words(w, state_dir, node, e);
	if (!rc)
		rc = cluster_generation_count(state_dir, generation, e);
	if (rc)
		return rc;
	init_region(w, generation, now);
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (w->epoll < 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, transport_fd(w->t), &ev) ||
	    epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->x->worker_fd, &ev))
		rc = -errno;
	if (!rc)
		rc = open_member(w, now, e);
	if (!rc)
		rc = peers_open(&w->peers, w->t, w->conf->timeout_ns);
	if (!rc)
		rc = worker_open_words(w, node);
	if (!rc)
		rc = worker_open_moves(w, now);
	if (!rc)
		rc = add_peers(w, now, e);
	if (!rc)
		rc = add_clients(w, now, e);
	return rc;
}

void worker_close(struct worker *w)
{
	worker_close_moves(w);
	worker_close_words(w);
	peers_close(w->peers);
	load_fill_end(&w->fill); /* it writes to memory of the transport */
	if (w->member)
		w->member_ops->close(w->member);
	transport_close(w->t);
	if (w->load)
		w->load_ops->close(w->load);
	worker_close_guests(w);
	for (uint32_t i = 0; i < REGION_HOSTS_MAX; i++) {
		free(w->window[i]);
		free(w->node_words[i]);
	}
	if (w->epoll >= 0)
		close(w->epoll);
}
