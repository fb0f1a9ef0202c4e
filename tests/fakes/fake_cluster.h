/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_cluster: cluster.h as the test writes it, without transport, files or peers. */
#ifndef RESEX_TESTS_FAKE_CLUSTER_H
#define RESEX_TESTS_FAKE_CLUSTER_H

#include "src/cluster/cluster.h"
#include "src/reconf/lock.h"

struct cluster {
	struct cluster_conf conf;
	struct cluster_seen seen[4];
	struct cluster_lock lock[4];
	struct cluster_node_seen node[3]; /* conf, host and load are filled in */
	struct load_record load;
	struct cluster_sources sources; /* of the first one; hv.load.beat 0: there are none */
	/* Of conf.balance[0]: conf, service and node are filled in. */
	struct cluster_balancer balancer;
	struct cluster_server server[3];
	struct cluster_service_seen service; /* of all services; conf is filled in */
	struct cluster_move move[2];
	uint32_t moves;
	const char *history_note;
	int set_rc; /* of cluster_balance_set, which sets balancer.mode */
	struct region_host host;
	struct region_guest guest[3];
	bool quorate;
	const char *note;
	int break_rc;  /* of cluster_break and cluster_move */
	int result_rc; /* of both their results, after so many -EINPROGRESS: */
	uint32_t result_after;
	enum cluster_reconf_mode reconf_mode;
	bool fixed[3];
	struct cluster_service set[4]; /* by cluster_service_set; number 0: as in conf */
	uint32_t ordered[2];	       /* of cluster_move: node and service */
	uint64_t ticket;	       /* of the newest */
	bool forced;
	/* Of cluster_read_again: what it returns, with the error's text or the settings. */
	int read_rc;
	const char *refused;
	struct cluster_conf next;
	struct cluster_changes changes;
	int reload_rc;	       /* of cluster_reload */
	uint32_t reload_after; /* cluster_reload_result is -EINPROGRESS so often */
	uint64_t reloads;      /* ticket of the newest */
};

/*
 * xen1 is this host; xen2 is up, with guests "web" (cap 25) and "bulk"; xen3 was never
 * seen. Services "web" (held by xen2) and "mail" (unknown). Nodes n1 (fresh), n2 (stale) and n3
 * (unread). web is balanced here: all are its servers, as s1, s2, s3; n3's is down. Each service
 * would get n2 from mail. There are two moves, of which the newest is to mail.
 */
void fake_cluster_open(struct cluster *c);

#endif
