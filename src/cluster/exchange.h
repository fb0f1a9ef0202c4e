/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exchange: what the control thread and the cluster's thread exchange.
 *
 *	control --publication: this host and its guests, the newest------> worker
 *	control --requests, with tickets--> worker --answers, by ticket--> control
 *	control --which services have a high load, the newest------------> worker
 *	control --requests of nodes, by HAProxy, the newest--------------> worker
 *	control --what is published of nodes of kind switch, the newest--> worker
 *	worker  --how its newest move went, before its answer------------> control
 *	worker  --each host, and the rest, as last seen------------------> control
 *	worker  --words of this host's nodes, to be saved, the newest----> control
 *	control --which of these are saved, or could not be--------------> worker
 *	worker  --notices, in order--------------------------------------> control
 *
 * Neither thread waits for the other, and there is no lock: each field has one writer and one
 * reader (src/core/spsc.h). What is large is copied only when it has changed: a host's guests, once
 * a reading of that host.
 */
#ifndef RESEX_CLUSTER_EXCHANGE_H
#define RESEX_CLUSTER_EXCHANGE_H

#include "src/cluster/cluster.h"
#include "src/core/spsc.h"
#include "src/reconf/move.h"
#include "src/shared/member.h"
#include "src/shared/peers.h"
#include "src/util/log.h"

/* --- control -> worker --------------------------------------------------- */

/* The worker fills in what it knows better: heartbeat, time, membership, age. */
struct publication {
	struct mono made;
	struct region_host host;
	uint32_t guests;
	struct region_guest guest[REGION_GUESTS_MAX];
	uint32_t slot[REGION_GUESTS_MAX]; /* of guest[], for the sampler */
};

/*
 * Of a node of this host: what a HAProxy of this host says (reconf/act.h). read: when that reading
 * began; 0: there is none.
 */
struct node_requests {
	struct mono read;
	uint32_t queued;
	uint64_t served, latency_ns;
};

/* By the node's number. */
struct requests_copies {
	struct spsc_latest at;
	struct node_requests copy[SPSC_BUFFERS][REGION_NODES_MAX];
};

/* At the newest check of reconf.c: was the load of the service of this number high? */
struct check_copies {
	struct spsc_latest at;
	struct {
		bool high[REGION_SERVICES_MAX];
	} copy[SPSC_BUFFERS];
};

/* What this host publishes of nodes of kind "switch" (src/reconf/role.h). */
struct roles_copy {
	/* Of its own nodes, by number, as in region_node. */
	struct {
		uint64_t ready;
		uint32_t phase;
		uint16_t from, service;
	} node[REGION_NODES_MAX];
	uint64_t ack[CLUSTER_MOVED_MAX]; /* of all, by place: region_ack(); 0: none */
};

struct roles_copies {
	struct spsc_latest at;
	struct roles_copy copy[SPSC_BUFFERS];
};

enum request_kind { REQUEST_BREAK, REQUEST_RELOAD, REQUEST_MOVE };

/*
 * What a request points to belongs to the worker until it has answered; if its thread has ended
 * without an answer, to control again.
 */
struct request {
	enum request_kind kind;
	uint32_t service;    /* BREAK, MOVE: its number */
	bool force;	     /* BREAK: before its time; MOVE: whatever the load is */
	bool ordered;	     /* MOVE: by an operator, or to undo one */
	uint32_t donor;	     /* MOVE: number of the service that has the node; 0: none */
	uint32_t host, node; /* MOVE: numbers of the node's host, and of the node there */
	/* RELOAD: once it is in force, both threads read it until the next reload. */
	const struct cluster_conf *conf;
};

enum { MAIL_ROOM = 16 };

/* The slot of a ticket is ticket % MAIL_ROOM. It keeps the answer until it is used again. */
struct mail_slot {
	_Atomic uint64_t asked;	   /* ticket of its newest request; 0: none yet */
	_Atomic uint64_t answered; /* ticket of its newest answer */
	struct request request;	   /* written before asked */
	int rc;			   /* written before answered */
};

struct mail {
	struct mail_slot slot[MAIL_ROOM];
	uint64_t newest; /* control's: tickets are numbered from 1 */
	uint64_t taken;	 /* the worker's */
};

/* Control. 0 and *ticket; -EAGAIN: the slot's earlier request has no answer yet. */
int mail_ask(struct mail *m, const struct request *r, uint64_t *ticket);
/* Control: the answer; -EINPROGRESS; -ESRCH: no such ticket, or its slot was used again. */
int mail_result(const struct mail *m, uint64_t ticket);
/* Worker: the next request in order, to be answered by its ticket; NULL: none. */
const struct request *mail_take(struct mail *m, uint64_t *ticket);
void mail_answer(struct mail *m, uint64_t ticket, int rc);

/* --- worker -> control --------------------------------------------------- */

/* How a move went that has ended. */
struct move_copy {
	uint64_t ticket; /* of its request */
	struct mono asked;
	struct move_trace trace;
};

struct move_copies {
	struct spsc_latest at;
	struct move_copy copy[SPSC_BUFFERS];
};

/* The word of a node, and its kept word, as last read. */
struct word_copy {
	uint32_t link; /* by this link to its host; 0: not read */
	uint64_t word, kept;
	uint16_t was;	  /* the service that the node was last read in; 0: none yet */
	struct mono read; /* when that READ began */
};

/* A node of a host. */
struct node_copy {
	struct node_seen seen;
	int index; /* of its load: load_window_index() */
	struct word_copy word;
};

/* A host as the worker knows it. */
struct host_copy {
	struct peer_seen seen; /* its host and guest are the members below */
	char alarm[128];       /* the newest since its link came or went; "" */
	struct mono alarmed;
	enum cluster_agree agree;
	char differs[96];	 /* in what; "" */
	struct region_host host; /* valid if seen.known */
	struct region_guest guest[REGION_GUESTS_MAX];
	struct node_copy node[REGION_NODES_MAX]; /* seen.nodes of them */
	uint64_t ack[CLUSTER_MOVED_MAX]; /* by its places; on the link that is up; 0: none */
};

struct host_copies {
	struct spsc_latest at;
	struct host_copy copy[SPSC_BUFFERS];
};

/* A lock word, as it was last read. */
struct lock_seen {
	bool known;
	uint16_t home; /* the host it was read from */
	uint32_t link; /* by this link to it */
	uint64_t word;
	struct mono since; /* unchanged since this time */
	struct mono read;
};

/* The lock of a service, and whether the members hold the same settings of it. */
struct lock_copy {
	uint32_t service; /* its number: during a reload, control may have other services */
	struct lock_seen seen;
	enum cluster_agree agree;
	uint16_t differs; /* the first member that does not; 0: none */
};

/* The rest of what the worker knows. */
struct rest_copy {
	struct member_view view;
	char member_note[MEMBER_NOTE_MAX];
	uint64_t changes; /* of words that this host has requested */
	uint32_t locks;
	struct lock_copy lock[CLUSTER_SERVICES_MAX];
};

struct rest_copies {
	struct spsc_latest at;
	struct rest_copy copy[SPSC_BUFFERS];
};

/* Both loads of this host's guests that are nodes, by the node's number. */
struct source_copies {
	struct spsc_latest at;
	struct cluster_sources copy[SPSC_BUFFERS][REGION_NODES_MAX];
};

/* The words of this host's nodes, by the node's number; 0: it has no such node. */
struct keep_copy {
	uint64_t number; /* from 1 */
	uint64_t word[REGION_NODES_MAX];
};

struct keep_copies {
	struct spsc_latest at;
	struct keep_copy copy[SPSC_BUFFERS];
	/* Control's: the newest number whose words are on disk, and whose words are not. */
	_Atomic uint64_t saved, failed;
};

/* An event for the operator; without a kind: a line of the log at this level. */
struct notice {
	int64_t wall_ns;
	enum log_level level;
	char kind[16];
	char text[256];
};

enum { NOTICES_ROOM = 256 };

struct notice_ring {
	struct spsc_ring at;
	struct notice notice[NOTICES_ROOM];
};

struct exchange {
	struct spsc_latest publication_at;
	struct publication publication[SPSC_BUFFERS];
	struct requests_copies requests;
	struct check_copies checks;
	struct roles_copies roles;
	struct mail mail;
	struct move_copies moved;
	/* By number - 1. NULL: never configured. One that was left out keeps its place. */
	struct host_copies *host[REGION_HOSTS_MAX];
	struct rest_copies rest;
	struct source_copies sources;
	struct keep_copies keep;
	struct notice_ring notices;
	int worker_fd;	/* eventfd: a request, or stop */
	int control_fd; /* eventfd: a notice, or an answer */
	_Atomic uint32_t stop;
	_Atomic uint32_t alive; /* counts steps: for the watchdog */
};

/* Control: a place for each host of conf, before the worker has that conf. 0 or -ENOMEM. */
int exchange_add_hosts(struct exchange *x, const struct cluster_conf *conf);
/* With a place for each host of conf. 0, -ENOMEM or another -errno; close it also then. */
int exchange_open(struct exchange **x, const struct cluster_conf *conf);
/* Both threads no longer use it. NULL: nothing is done. */
void exchange_close(struct exchange *x);

/* Wake the thread that waits for this eventfd; forget that it was woken. */
void exchange_wake(int fd);
void exchange_woken(int fd);

/* Worker: add a notice, if there is room; else it is counted. */
void exchange_notice(struct exchange *x, const struct notice *n);

#endif
