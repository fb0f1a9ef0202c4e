/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cluster_priv: what the files of the cluster share. For callers: cluster.h.
 *
 *	exchange.h	what the two threads exchange
 * in the control thread:
 *	cluster.c	open and close, publish, requests, how each host is seen
 *	nodes.c		how each node is seen
 *	publish.c	guests and snapshot -> records of this host's region
 *	balances.c	the services that this host balances
 *	balance_turn.c	one of them: a HAProxy is read, decided on, set
 *	balancer.c	records and readings -> what reconf/balance.h decides by
 *	reconf.c	when nodes should move to another service
 *	overrides.c	what an operator has set of nodes and services
 *	history.c	these moves, in memory and in a file
 *	roles.c		nodes of kind switch: hooks, and acknowledgements
 *	worker_open.c	opens what the other thread uses
 * in the cluster's thread:
 *	thread.c	its loop, on real time
 *	worker.c	one step of it
 *	worker_hosts.c	events of the transport, heartbeats
 *	worker_load.c	this host's load as a node, and the indices of all nodes
 *	worker_guests.c	loads of its guests that are nodes
 *	worker_claims.c	what these guests say of themselves, and whether it is believed
 *	worker_vcpus.c	for how long their VCPUs waited
 *	worker_moves.c	moves of nodes, over the transport
 *	worker_words.c	the words of this host's nodes are saved
 *	worker_reload.c	new settings come into force
 *	agree.c		which hosts hold the same settings
 *	words.c		the words of all nodes: read
 *	locks.c		lock words of the services: read and broken
 *	notices.c	events, alarms and log lines for the operator
 */
#ifndef RESEX_CLUSTER_CLUSTER_PRIV_H
#define RESEX_CLUSTER_CLUSTER_PRIV_H

#include <pthread.h>

#include "src/cluster/agree.h"
#include "src/cluster/balances.h"
#include "src/cluster/cluster.h"
#include "src/cluster/exchange.h"
#include "src/cluster/reconf.h"
#include "src/cluster/roles.h"
#include "src/cluster/told.h"
#include "src/load/agree.h"
#include "src/load/claim.h"
#include "src/load/index.h"
#include "src/load/kmod.h"
#include "src/load/load.h"
#include "src/reconf/keep.h"
#include "src/reconf/runner.h"
#include "src/shared/member.h"
#include "src/shared/region.h"

/* The highest bits of an operation's tag: which file posted it. */
enum { CLUSTER_TAG_SHIFT = 56 };
enum cluster_tag {
	CLUSTER_TAG_PEERS, /* src/shared/peers.h, which uses all lower bits */
	CLUSTER_TAG_LOCKS,
	CLUSTER_TAG_BREAK,
	CLUSTER_TAG_WORDS,
	CLUSTER_TAG_ACKS, /* what becomes of these the next READ shows */
	CLUSTER_TAG_MOVES,
	CLUSTER_TAG_KEEP,
};

/* The lock that is being broken, or was last. */
struct lock_break {
	uint32_t service;
	uint64_t word;
	int rc; /* -EINPROGRESS until it is known */
};

struct locks {
	struct lock_seen seen[CLUSTER_SERVICES_MAX]; /* as conf->service[] */
	struct lock_break broken;
	uint64_t breaks; /* number of the newest */
	uint64_t reads;	 /* number of the newest READ: results of older ones are ignored */
	bool reading;
};

/* The newest event "alarm" of one host, and how often its alarm came again since. */
struct alarm_event {
	char text[128];
	struct mono at;
	uint32_t again;
};

/* Which notices of one host the operator got. */
struct host_notices {
	struct told up;
	struct mono alarmed;
	char alarm[128];	  /* the newest since its link came or went; "" */
	enum cluster_agree agree; /* as the operator knows */
};

struct notices {
	const struct cluster_conf *conf;
	struct exchange *x;
	struct host_notices host[REGION_HOSTS_MAX];
	struct alarm_event alarm[REGION_HOSTS_MAX + 1]; /* by number; 0: unproven callers */
	char member_note[MEMBER_NOTE_MAX];		/* logged last */
};

void notices_init(struct notices *n, const struct cluster_conf *conf, struct exchange *x);
/* A host's link is up or down; why: when it is down. */
void notices_link(struct notices *n, uint16_t host, bool up, uint64_t generation, const char *why,
		  struct mono now, int64_t wall_ns);
/* host 0: a caller that has not proven which host it is. */
void notices_alarm(struct notices *n, uint16_t host, const char *text, struct mono now,
		   int64_t wall_ns);
void notices_forget_alarm(struct notices *n, uint16_t host);
/* The newest alarm since the host's link came or went, or "", and when it came. */
void notices_alarm_of(const struct notices *n, uint16_t host, char text[static 128],
		      struct mono *alarmed);
/* Does an alarm of this time still explain why a host is down? */
bool notices_explains(struct mono alarmed, struct mono now);
/* Whether the host holds the same settings. differs: in what, if not. */
void notices_agree(struct notices *n, uint16_t host, enum cluster_agree agree, const char *differs,
		   int64_t wall_ns);
/* Forget the alarm and the events of a host that is left out of cluster.json. */
void notices_forget_host(struct notices *n, uint16_t host);
void notices_members(struct notices *n, const struct member_view *v, int64_t wall_ns);
/* note: what is wrong with the membership now; "". */
void notices_member_note(struct notices *n, const char *note, const struct member_view *v,
			 int64_t wall_ns);

/* The record of this host, and those of its guests, with the slot of each. */
void publish_host(const struct cluster_conf *conf, const struct guests *gs,
		  const struct snapshot *sn, struct region_host *out);
uint32_t publish_guests(const struct guests *gs, const struct snapshot *sn,
			struct region_guest out[static REGION_GUESTS_MAX],
			uint32_t slot[static REGION_GUESTS_MAX]);
uint32_t publish_services(const struct cluster_conf *conf,
			  struct region_service out[static CLUSTER_SERVICES_MAX]);

/*
 * Records 0 .. the highest number of this host's nodes, of which those have names; the host itself
 * is up. How many.
 */
uint32_t publish_nodes(const struct cluster_conf *conf,
		       struct region_node out[static REGION_NODES_MAX]);

/* Read all locks from their home in one READ, unless such a READ is pending. */
void locks_read(struct locks *l, const struct cluster_conf *conf, struct transport *t,
		uint16_t home, struct mono now);
/* A result with a tag of CLUSTER_TAG_LOCKS or CLUSTER_TAG_BREAK. */
void locks_result(struct locks *l, const struct cluster_conf *conf,
		  const struct transport_event *ev, struct mono now);
/*
 * Begin to break the lock of service[i]. 0, -EAGAIN (another one is being broken), or an error of
 * cluster_result.
 */
int locks_break(struct locks *l, const struct cluster_conf *conf, struct transport *t,
		uint16_t home, uint32_t i, bool force, struct mono now);
/* conf->service[] is another list now, from that of old: what was read is kept by number. */
void locks_renumber(struct locks *l, const struct cluster_conf *old,
		    const struct cluster_conf *conf);
/* Of the newest break, as cluster_result. */
int locks_break_result(const struct locks *l);

static inline int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* What the worker has passed last; valid until the next call. i: of conf->host[]. */
const struct host_copy *cluster_newest_host(const struct cluster *c, uint32_t i);

/* --- the two halves ---------------------------------------------------------- */

/* A VCPU of such a guest. */
struct guest_vcpu {
	struct mono at; /* of the last look at it */
	uint64_t runnable_ns;
	struct load_wait wait;
};

/* A guest of this host that is a node. */
struct guest_node {
	char name[REGION_NAME]; /* of the guest */
	uint32_t domid;		/* of this name, as control says; 0: there is none */
	uint8_t uuid[16];
	bool up;	   /* the sampler's newest figures have it; so published */
	struct load *load; /* of load_hv; NULL: no sample of this domain yet */
	struct load_guest figures;
	struct load_series series;
	struct load_record hv; /* the hypervisor's newest; beat 0: none */
	struct load_window hv_window, said_window;
	struct load_claim claim;
	struct load_agree agree;
	int page_rc;		 /* of the newest load_claim_take() */
	bool believed;		 /* what it says is published */
	bool rests;		 /* its domain is paused */
	struct guest_vcpu *vcpu; /* room of them; of a guest of one VCPU none */
	uint32_t room, next_vcpu;
	uint64_t rounds; /* of looks at all its VCPUs */
};

/* The words of a host's nodes, as they were read last; one READ at a time is under way. */
struct node_words {
	uint32_t link; /* by this link to it; 0: not yet */
	uint32_t nodes;
	uint64_t word[REGION_NODES_MAX], kept[REGION_NODES_MAX];
	uint32_t acks; /* read of: */
	uint64_t ack[CLUSTER_MOVED_MAX];
	/* The node is in no service, as read since then on this link; 0: it is in one. */
	struct mono none_since[REGION_NODES_MAX];
	uint32_t none_link[REGION_NODES_MAX];
	uint16_t was[REGION_NODES_MAX]; /* the service that it was last read in */
	struct mono read;		/* when that READ began */
	struct mono began;		/* the newest READ */
	bool reading;
	uint32_t nodes_asked; /* by it */
};

/* The words of this host's nodes. */
struct own_words {
	uint32_t nodes;	       /* words up to the last one of a node; 0: this host has no nodes */
	bool damaged;	       /* their file was, at the start */
	bool unsaved;	       /* those of the start are not on disk yet */
	struct runner *runner; /* of keep; NULL: this host has no nodes */
	struct keep keep;
	uint64_t asked, answered; /* numbers of keep_copy */
};

/* Opened and closed by control; in between only the thread uses it. */
struct worker {
	const struct cluster_conf *conf;
	struct exchange *x;
	struct transport *t;
	struct region region;
	struct peers *peers;
	const struct member_ops *member_ops;
	struct member *member;
	struct member_view view;
	struct own_words words;
	struct moves *moves; /* NULL: without "reconf" */
	uint32_t moves_opened;
	struct locks locks;
	struct notices notices;
	struct agree agree;
	struct lock_copy agreed[CLUSTER_SERVICES_MAX]; /* as conf->service[]; seen is not filled */
	struct mono agree_since;		       /* agree.since that control has */
	struct mono beat_due, scan_due, load_due;
	const struct load_ops *load_ops;
	struct load *load; /* NULL: this host itself is no node */
	struct load_series load_series;
	struct load_fill fill;	       /* by the module; while it fills, nothing is sampled here */
	struct load_buffers *loads;    /* from the sampler */
	struct guest_node *guest_node; /* guest_nodes of them */
	uint32_t guest_nodes;
	bool simulated;	 /* this host's guests are */
	int64_t look_ns; /* between two looks of the sampler */
	const struct hv_sched_ops *sched_ops;
	struct hv_sched *sched; /* for this thread alone; NULL: there is none */
	uint32_t vcpus_of; /* index of the guest whose VCPUs are looked at, modulo guest_nodes */
	/* Of host number - 1; windows[] of them. NULL: it has no nodes. */
	struct load_window *window[REGION_HOSTS_MAX];
	uint32_t windows[REGION_HOSTS_MAX];
	struct node_words *node_words[REGION_HOSTS_MAX]; /* by number - 1; NULL: not read yet */
	int epoll, member_fd; /* epoll: of all that a step is for; -1: none */
	uint64_t breaking;    /* ticket of the break that has no result yet; 0: none */
	uint64_t reloading;   /* ticket of the reload that has no answer yet; 0: none */
	const struct cluster_conf *reload; /* it is not in force yet: it waits for the break */
	bool published;			   /* control has published something */
	uint64_t passed[REGION_HOSTS_MAX]; /* peer_seen.changes that control has, by number - 1 */
	struct hostset stale;		   /* hosts of which control has old copies */
};

/* conf, x and notices are set; epoll, member_fd and fill.handle are -1. 0 or -errno and e. */
int worker_open(struct worker *w, const struct cluster_key *key, const char *state_dir,
		struct mono now, struct conf_error *e);
/* Also after an error of worker_open. */
void worker_close(struct worker *w);

/* Read the words of each host that has nodes, unless such a READ of it is pending. */
void words_read(struct worker *w, struct mono now);
/*
 * A result with a tag of CLUSTER_TAG_WORDS. Of this host: then acknowledgements that control wants,
 * and that are not there, are written.
 */
void words_result(struct worker *w, const struct transport_event *ev, struct mono now);
/* As read last on the link that is up; otherwise all 0. */
void words_see_acks(const struct worker *w, uint16_t host, uint64_t out[static CLUSTER_MOVED_MAX]);
void words_see(const struct worker *w, uint16_t host, uint32_t node, struct word_copy *out);
/* Since when, and on which link, it was read in no service; *link 0: it was not. */
void words_none(const struct worker *w, uint16_t host, uint32_t node, struct mono *since,
		uint32_t *link);

/*
 * In worker_open, in this order. Find the words with which the nodes begin: 0 or -errno and e.
 * Without nodes of this host node[] is unchanged, and all of these do nothing.
 */
int worker_begin_words(struct worker *w, const char *state_dir,
		       uint64_t node[static REGION_NODES_MAX], struct conf_error *e);
/* On disk before anybody can read them: 0 or -errno and e. */
int worker_save_words(struct worker *w, const char *state_dir, const uint64_t *node,
		      struct conf_error *e);
/* Before the first poll of the transport: the runner needs all UPs. 0 or -ENOMEM. */
int worker_open_words(struct worker *w, const uint64_t *node);
void worker_close_words(struct worker *w);
/* An UP, or a result with a tag of CLUSTER_TAG_KEEP. */
void worker_words_event(struct worker *w, const struct transport_event *ev, struct mono now);
/* Do what is due: ask control to save what has changed, and take its answer. */
void worker_words(struct worker *w, struct mono now);
struct mono worker_words_due(const struct worker *w);

/* With w->t and w->view; also when new settings are in force. 0 or -ENOMEM. */
int worker_open_moves(struct worker *w, struct mono now);
/* No move may be under way. */
void worker_close_moves(struct worker *w);
/* An UP, or a result with a tag of CLUSTER_TAG_MOVES. */
void worker_moves_event(struct worker *w, const struct transport_event *ev, struct mono now);
/* w->view is another. */
void worker_moves_view(struct worker *w, struct mono now);
/* Do what is due; answer the request whose move has ended. */
void worker_moves(struct worker *w, struct mono now);
struct mono worker_moves_due(const struct worker *w);
/* Is a move under way? */
bool worker_moving(const struct worker *w);
/*
 * Begin a move. 0: the answer to its ticket is its enum move_result. -EOPNOTSUPP: there is no
 * "reconf"; -ENOENT: no such service or node; -EPERM: no quorum; -EAGAIN: a move, a break or a
 * reload is under way.
 */
int worker_ask_move(struct worker *w, const struct request *r, uint64_t ticket, struct mono now);

/* The hosts of conf, for member_ops. */
void worker_member_conf(const struct cluster_conf *conf, struct member_conf *mc);
/* Put the settings of w->reload in force. now and wall_ns: of this step. */
void worker_reload(struct worker *w, struct mono now, int64_t wall_ns);
/* Take what the transport has, a few turns. False: there was nothing. */
bool worker_events(struct worker *w, struct mono now, int64_t wall_ns);
/* Publish the heartbeat, with the settings in force. */
void worker_beat(struct worker *w, struct mono now, int64_t wall_ns);

/* Publish the records of this host's nodes. */
void worker_publish_nodes(struct worker *w);
/*
 * Publish the load of this host, once a period: sample it, or see that the module does. Only with
 * w->load.
 */
void worker_load(struct worker *w, struct mono now, int64_t wall_ns);
/* Put what HAProxy says of the requests of its node into r, if it has said so lately. */
void worker_put_requests(struct worker *w, struct load_record *r, struct mono now);
/* The guests of this host that are nodes, before the sampler runs: 0 or -ENOMEM. */
int worker_open_guests(struct worker *w);
void worker_close_guests(struct worker *w);
/* Control has published which guests there are. */
void worker_name_guests(struct worker *w, const struct publication *p);
/* Publish their loads, if the sampler has new figures; of some may be none. */
void worker_guests(struct worker *w, struct mono now, int64_t wall_ns);
/*
 * r is the hypervisor's newest record of a guest, of which these are the figures. Take what the
 * guest says itself, and put it into r if it is believed. False: then nothing is new.
 */
bool worker_claim(struct worker *w, struct guest_node *g, const struct guest_load *of,
		  struct load_record *r, struct mono now, int64_t wall_ns);
/* Another domain has the name. */
void worker_end_claim(struct guest_node *g);
/* Show control both. */
void worker_pass_sources(struct worker *w);
/* Look at some of the VCPUs of guests that have several. */
void worker_vcpus(struct worker *w, struct mono now);
/* For how long those of g waited. */
void worker_vcpus_sum(const struct guest_node *g, struct load_guest *out);
/* Copy the nodes of a host, with the index of each. */
void worker_nodes(struct worker *w, uint16_t host, const struct peer_seen *p,
		  struct node_copy out[static REGION_NODES_MAX]);

/* Do all that is due. Returns ns until it must be called again at the latest. Does not block. */
int64_t worker_step(struct worker *w, struct mono now, int64_t wall_ns);

/*
 * If so, the next time is the next multiple of period after now: missed periods are skipped.
 */
bool is_due(struct mono *due, int64_t period, struct mono now);

/* The host that has the locks of services: the lowest-numbered member; 0: unknown. */
uint16_t view_home(const struct member_view *v);

struct cluster {
	struct cluster_conf *conf;
	char file[CONFIG_PATH_MAX + 1]; /* it was read from */
	char hostname[256];		/* of this machine */
	struct guests *guests;
	struct exchange *x;
	struct balances *balances;
	struct reconf *reconf; /* NULL: cluster.json has no "reconf" */
	int epoll;	       /* what control waits for: x and balances */
	struct mono publish_due;
	struct mono worked; /* the newest cluster_work */
	int64_t worked_wall_ns;
	bool published;		     /* at least once */
	struct cluster_conf *reload; /* not in force yet; NULL: none */
	uint64_t reloading;	     /* ticket of the newest reload; 0: none yet */
	uint64_t notices_lost;	     /* as last logged */
	struct roles *roles;	     /* NULL: they could not be opened */
	int keep_rc;		     /* of the newest nodes_file_save */
	struct worker worker;
	pthread_t thread;
	bool runs; /* the thread */
};

#endif
