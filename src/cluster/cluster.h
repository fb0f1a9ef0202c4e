/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cluster: this host among the hosts of cluster.json.
 *
 * It is between guests (src/guests) and the memory of other hosts (src/shared, src/transport). It
 * serves this host's region (region_abi.h), and publishes a heartbeat and the figures of this host
 * and its guests there. It reads what other hosts publish, and the locks of the services, by
 * one-sided READs. Policies do not depend on it.
 *
 * Two threads take part. The control thread calls these functions, of which only open, start,
 * stop and close block. A thread of the cluster's own has the transport, the membership and the
 * heartbeat: it goes on while control is busy, and never waits for it.
 */
#ifndef RESEX_CLUSTER_CLUSTER_H
#define RESEX_CLUSTER_CLUSTER_H

#include "src/conf/cluster_change.h"
#include "src/guests/guests.h"
#include "resex/load_abi.h"
#include "src/load/agree.h"
#include "src/util/log.h"

struct cluster;

/*
 * Read the cluster_file of conf with its key, and begin to serve. hostname: of this machine.
 * gs and sched must outlive it; sched is a handle of gs's hypervisor for the cluster's thread
 * alone. 0 or -errno with e filled.
 */
int cluster_open(struct cluster **c, const struct daemon_conf *conf, const char *hostname,
		 struct guests *gs, struct hv_sched *sched, struct mono now, struct conf_error *e);
/* Stops the thread, and ends the links to all peers. NULL: nothing is done. */
void cluster_close(struct cluster *c);

/* Start the thread; the first heartbeat comes after the first cluster_work. 0 or -errno. */
int cluster_start(struct cluster *c);
/*
 * Give HAProxy the weights of its own configuration back, in at most 3 seconds; then stop the
 * thread. When this returns, the thread has ended.
 */
void cluster_stop(struct cluster *c);
/* Another number each second at least, while the thread runs and is not blocked. */
uint32_t cluster_alive(const struct cluster *c);

/* Readable when cluster_work has something to do; the same for its whole life. */
int cluster_fd(const struct cluster *c);
/*
 * Publish this host and its guests, balance services, if it is due, and show what the thread has to
 * say to the operator. Returns ns until it must be called again at the latest; later, the figures
 * that other hosts see grow old, while the heartbeat goes on. now: of the real clock, once the
 * thread runs.
 */
int64_t cluster_work(struct cluster *c, const struct snapshot *sn, struct mono now,
		     int64_t wall_ns);

/* The settings in force: others after a cluster_reload, from the next cluster_work on. */
const struct cluster_conf *cluster_conf(const struct cluster *c);
const char *cluster_transport(const struct cluster *c);
/* The membership that this host has. */
void cluster_members(const struct cluster *c, uint64_t *view, struct hostset *members,
		     bool *quorate);
/* "static" or "corosync". */
const char *cluster_membership(const struct cluster *c);
/* Why this host decides nothing, or another problem of the membership, with the remedy; "". */
const char *cluster_note(const struct cluster *c);
/* How many changes of words this host has requested, in its own region and in others. */
uint64_t cluster_changes(const struct cluster *c);

/*
 * How old is what the cluster's thread saw at that time? It may have seen it after now was taken:
 * then it is new.
 */
static inline int64_t cluster_age_ns(struct mono now, struct mono at)
{
	return mono_sub(now, at) > 0 ? mono_sub(now, at) : 0;
}

enum cluster_state {
	CLUSTER_SELF,
	CLUSTER_UP,
	CLUSTER_SILENT, /* its memory can be read, but its heartbeat has stopped */
	CLUSTER_DOWN,	/* there is no link to it */
};

/*
 * Whether a host holds the same cluster.json as this one, as far as it was read since the newest
 * change here. What differs is decided by neither; all else works as before. See agree.h.
 */
enum cluster_agree {
	CLUSTER_AGREE_UNREAD,
	CLUSTER_AGREE_SAME,
	CLUSTER_AGREE_NODES,	/* other nodes alone: nothing is decided by them */
	CLUSTER_AGREE_SERVICES, /* another minimum, other balancers, or a service that one lacks */
	CLUSTER_AGREE_HOSTS,	/* other hosts: every decision is touched */
};

struct cluster_seen {
	const struct cluster_host *conf;
	enum cluster_state state;
	bool member;
	enum cluster_agree agree; /* SAME of this host itself */
	int64_t age_ns;		  /* since its heartbeat was last seen to change; -1: never */
	int64_t figures_age_ns;	  /* since it renewed its figures and its guests'; -1: never */
	const struct region_host *host;	  /* as read then; NULL: never */
	const struct region_guest *guest; /* at most host->guests of them */
	uint32_t guests;
	char note[192]; /* the reason of its state, or in what it differs; "" */
};

/* Of conf->host[i]. Valid until the next call for this host, or cluster_work. */
void cluster_see(const struct cluster *c, uint32_t i, struct mono now, struct cluster_seen *s);

enum cluster_node_state {
	CLUSTER_NODE_FRESH,
	CLUSTER_NODE_STALE,  /* its load is unchanged for longer than load.stale */
	CLUSTER_NODE_UNREAD, /* its host was not read yet, or publishes no such node or no load */
};

struct cluster_node_seen {
	const struct cluster_node *conf;
	const struct cluster_host *host;
	enum cluster_node_state state;
	const struct load_record *load; /* NULL: UNREAD */
	/* In 1/1000, over load.window (src/load/index.h); -1: there are not two records yet. */
	int index;
	int64_t age_ns; /* since its load was last seen to change; -1: never */
	/* By its word; without "reconf" the configured one. NULL: none, or unknown. */
	const struct cluster_service *service;
	bool word_known; /* its word was read; without "reconf" false */
	bool lost;	 /* its word names no service, and it had one: it is to be adopted */
	/* lost: the service that this host has read it in last; NULL: none since its start. */
	const struct cluster_service *was;
	bool kept;		  /* its host has saved that service: it counts */
	int64_t word_age_ns;	  /* since the READ of its word began; -1: not read */
	uint64_t word, kept_word; /* if word_known; equal: exactly this word is kept */
	/* Of kind switch, as its host publishes them (src/reconf/role.h); others 0. */
	uint64_t ready;		/* the word for which it is prepared */
	uint32_t phase, from;	/* enum role_phase; number of the service before, or 0 */
	const char *phase_name; /* in one word; "" */
	/* The service for which it is prepared; NULL: its host does not know, or does not say. */
	const struct cluster_service *serves;
	char note[256]; /* the reason of STALE and UNREAD, with the remedy; "" */
};

/* Of conf->node[i]. Valid until the next call for its host, or cluster_work. */
void cluster_node_see(const struct cluster *c, uint32_t i, struct mono now,
		      struct cluster_node_seen *s);

struct cluster_source {
	struct load_record load; /* beat 0: none; sampled_ns: by the clock of this host */
	int index;		 /* as cluster_node_seen, or < 0 */
};

/* A guest of this host, as the hypervisor counts it and as its agent says. */
struct cluster_sources {
	struct cluster_source hv, agent;
	bool believed;	 /* the agent's is published, else the hypervisor's */
	const char *why; /* the load page has no record now; NULL: it has, or there is none */
	struct load_agree agree;
};

/*
 * Of conf->node[i], if it is of kind switch and a node of this host: why it is not ready for its
 * service, with the remedy; "". Until the next cluster_work.
 */
const char *cluster_role_note(const struct cluster *c, uint32_t i);

/* Of conf->node[i], until the next cluster_work. NULL: it is no guest of this host. */
const struct cluster_sources *cluster_sources_see(const struct cluster *c, uint32_t i);

/* A service that this host balances. */
struct cluster_balancer {
	const struct cluster_balance *conf;
	const struct cluster_service *service;
	enum cluster_balance_mode mode;
	bool restores; /* it observes, and the weights that it has set are not taken back yet */
	const char *why, *why_text; /* of the decision: a word, and a sentence */
	uint32_t servers, up, k;    /* up: of servers; k: that get requests */
	int64_t age_ns;		    /* of the oldest load that counts; 0: none; -1: not decided */
	int64_t service_ns;	    /* mean CPU time of a request; 0: not known yet */
	char note[320];		    /* what is wrong, with the remedy; "" */
};

/* Of conf->balance[i]. Valid until the next cluster_work. */
void cluster_balance_see(const struct cluster *c, uint32_t i, struct mono now,
			 struct cluster_balancer *b);

/* A node as server of a balancer's backend. Weights: 0 .. 256; -1: not known, or none. */
struct cluster_server {
	const struct cluster_node *node;
	bool up;	    /* it takes part */
	int weight;	    /* in force, as it was read last */
	int configured;	    /* by HAProxy's configuration */
	int wanted;	    /* by mode and decision */
	uint32_t under_way; /* requests of this HAProxy at it */
	uint32_t own;	    /* of them, those that the node's load does not show yet */
	uint64_t served;    /* requests of this HAProxy in all */
};

/* k: below servers of conf->balance[i]. As above. */
void cluster_server_see(const struct cluster *c, uint32_t i, uint32_t k, struct cluster_server *s);
/* The mode of conf->balance[i] until the end of resexd. 0; -ENODEV: it could not be opened. */
int cluster_balance_set(struct cluster *c, uint32_t i, enum cluster_balance_mode mode);

/*
 * A service, and whether it should get a node now (src/reconf/decide.h). Loads are in 1/1000, as
 * load indexes; -1: not known.
 */
struct cluster_service_seen {
	const struct cluster_service *conf;	/* as cluster.json has it */
	const struct cluster_service *in_force; /* with what an operator has set on this host */
	bool here;				/* this host balances it, so it decides for it */
	uint32_t nodes, known;	    /* that serve it; of them, those with a load that counts */
	int64_t load;		    /* of its nodes in the mean, weighed by capacity */
	int64_t high_ns;	    /* load >= high for so long */
	const char *why, *why_text; /* of the newest decision: a word, and a sentence; "": none */
	const struct cluster_node *node;     /* that it would get; NULL */
	const struct cluster_service *donor; /* of that node, or that came nearest; NULL */
	int64_t taker_predicted, donor_before, donor_predicted;
	int64_t wait_ns;       /* no move before; 0 */
	const char *wait_text; /* what comes then, to be followed by "in" and the time; "" */
	char note[192];	       /* why nothing is decided, with the remedy; "" */
};

/* Of conf->service[i]. Valid until the next cluster_work. */
void cluster_service_see(const struct cluster *c, uint32_t i, struct cluster_service_seen *s);

/* A move that was made, or would have been made. Loads as above. */
struct cluster_move {
	uint64_t id;
	int64_t wall_ns; /* when it was decided */
	struct mono at;	 /* the same; ns 0: in an earlier run of the daemon */
	char node[REGION_NAME], donor[REGION_NAME], taker[REGION_NAME];
	char why[16];	  /* as cluster_service_seen.why */
	char outcome[16]; /* "observed": nothing was done */
	int64_t high_ns;  /* the taker's load was high for so long */
	int64_t taker_before, donor_before, taker_predicted, donor_predicted;
	int64_t taker_seen, donor_seen; /* 5 T later; -1: not yet, or not known */
	int64_t seen_wall_ns;		/* when; 0: not yet */
	char host[REGION_NAME];		/* that decided, or got the order; "": not known */
	/* Of both locks, as resex lock-list shows them; "": they were not held. */
	char taker_fence[24], donor_fence[24];
	int64_t told; /* other balancers that were notified; -1: none of this is known */
	/* ns since the move was asked for, by a clock that is never set; -1: not reached. */
	int64_t held_ns, read_ns, told_ns, moved_ns, released_ns;
};

enum { CLUSTER_WHY_TEXT = 384 };
/*
 * Begin to move conf->node[node] to conf->service[service], by an order: the load does not count. 0
 * and *ticket; ticket NULL: only say whether it would be begun. -EOPNOTSUPP: there is no "reconf";
 * -EPERM: this host decides nothing; -EBUSY: another move or a reload is under way; -EAGAIN: too
 * many requests; -EALREADY: the node serves it; -EINPROGRESS: it was moved to it, and its host is
 * not done; -EACCES: it may not; -ECANCELED: it is fixed; -ENOSPC: the service that it serves has
 * no more than its minimum of nodes; -ENODATA: its word was not read, or it serves nothing, and has
 * no configured service. A node that is lost is adopted.
 * why: the reason in a sentence without a full stop; "": the error alone says it.
 */
int cluster_move(struct cluster *c, uint32_t node, uint32_t service, struct mono now,
		 uint64_t *ticket, char why[static CLUSTER_WHY_TEXT]);
/*
 * Of this host's decisions, until the daemon ends or cluster.json has another mode. 0, or
 * -EOPNOTSUPP: there is no "reconf".
 */
int cluster_reconf_set(struct cluster *c, enum cluster_reconf_mode mode);
/*
 * This host does not move conf->node[i] while it is fixed; until the daemon ends. -EOPNOTSUPP:
 * there is no "reconf".
 */
int cluster_node_fix(struct cluster *c, uint32_t i, bool fixed);
bool cluster_node_fixed(const struct cluster *c, uint32_t i);
/*
 * This host decides by other values of conf->service[i], until the next cluster_reload: those of
 * d, as cluster_service_change(). -EOPNOTSUPP: there is no "reconf".
 */
int cluster_service_set(struct cluster *c, uint32_t i, const struct conf_doc *d,
			struct conf_error *e);
enum { CLUSTER_SET_TEXT = 160 };
/* The values that are set so, as "high 2000, share 4"; "": none. */
void cluster_service_set_text(const struct cluster *c, uint32_t i,
			      char text[static CLUSTER_SET_TEXT]);
/* Those of cluster.json are in force again, for all services. */
void cluster_service_reset(struct cluster *c);
/* PAUSE: also without "reconf". */
enum cluster_reconf_mode cluster_reconf_mode(const struct cluster *c);
/* Of a result of cluster_move above 0. */
const char *cluster_move_text(int rc);

/* The newest but n; NULL: there are not so many. Valid until the next cluster_work. */
const struct cluster_move *cluster_history(const struct cluster *c, uint32_t n);
/* Why the history is not saved, with the remedy; "". */
const char *cluster_history_note(const struct cluster *c);

struct cluster_lock {
	const struct cluster_service *service;
	const struct cluster_host *home; /* its words hold the lock; NULL: unknown without quorum */
	bool known;			 /* it was read at least once */
	/* Whether all members are CLUSTER_AGREE_SAME in hosts and in this service. */
	enum cluster_agree agree;
	const struct cluster_host *differs; /* the first one that is not; NULL: all are */
	uint64_t word;			    /* region_word */
	int64_t since_ns;		    /* unchanged for so long when it was read */
	int64_t age_ns;			    /* since it was read */
};

/* Of conf->service[i]. */
void cluster_lock_see(const struct cluster *c, uint32_t i, struct mono now, struct cluster_lock *l);

/*
 * Take the lock of service[i] away from its holder, by CAS of the word last read. The old holder
 * cannot release it any more, but may act until its lease ends: others wait for that, and the
 * next holder first checks what was done.
 * force: even if the lock is unchanged for less than cluster_break_ns(), or a member has other
 * settings. 0, with *ticket for cluster_result; -EAGAIN: too many requests have no result
 * yet.
 */
int cluster_break(struct cluster *c, uint32_t i, bool force, uint64_t *ticket);
/*
 * Of a break or a move, by its ticket. 0: the lock is broken, or the node is moved; -EINPROGRESS:
 * call again. Above 0: how a move ended otherwise: cluster_move_text(). Nothing was done: -EPERM:
 * no quorum; -EAGAIN: another break or move is under way, or new settings come into force; -ENOENT:
 * the lock was not read yet, or it has no home; -EALREADY: it is not held; -EBUSY: unchanged for
 * too short a time; -EXDEV: a member holds other hosts, or this service with other settings; or an
 * error of transport_post.
 * -ESTALE: the word had changed; -EIO: unknown, since the link to the home was lost; -ENOTCONN:
 * the home was not reached, or refused; -ESRCH: no such ticket, or too many newer ones.
 */
int cluster_result(const struct cluster *c, uint64_t ticket);

/*
 * Read the cluster_file of the start again, and find out what changes: 0 with *conf, which free()
 * frees, and *ch; -EPERM: the change is refused while the cluster runs, or while HAProxy of this
 * host sends requests that nobody would watch; -EBUSY: what was read before is not in force yet, so
 * there is nothing to compare with; or another error of cluster_change_load, with e filled. Nothing
 * comes into force.
 */
int cluster_read_again(const struct cluster *c, struct mono now, struct cluster_conf **conf,
		       struct cluster_changes *ch, struct conf_error *e);
/*
 * Put the settings of conf in force; conf is what cluster_read_again gave just now. Before others
 * read the new settings, added hosts and clients may call, and links to those that are left out
 * end. Takes conf, also after an error.
 * 0, with *ticket for cluster_reload_result; -EBUSY: another reload has no result yet; -EAGAIN:
 * too many requests have none; -ENOMEM.
 */
int cluster_reload(struct cluster *c, struct cluster_conf *conf, uint64_t *ticket);
/*
 * 0: in force, and cluster_conf() returns them; -EINPROGRESS: call again, it waits for the end of
 * a lock-break; -ESRCH: no such ticket.
 */
int cluster_reload_result(struct cluster *c, uint64_t ticket);

#endif
