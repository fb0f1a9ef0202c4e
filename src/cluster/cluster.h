/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cluster: this host among the others, as cluster.json has them.
 *
 * Runs in the control thread. It serves this host's region (region_abi.h),
 * publishes a heartbeat, this host and its guests into it, and reads what the
 * others publish, and the locks of the services, by one-sided READs: no other
 * host's process is asked. Between host and guests stands nothing else: what
 * policies decide on this host does not depend on it.
 */
#ifndef RESEX_CLUSTER_CLUSTER_H
#define RESEX_CLUSTER_CLUSTER_H

#include "src/conf/cluster.h"
#include "src/guests/guests.h"
#include "src/util/log.h"

struct cluster;

/*
 * Read the file that conf names, and what belongs to it, and begin to serve.
 * hostname: what this machine is called. gs must outlive it. 0 or -errno with e
 * filled: one sentence for people.
 */
int cluster_open(struct cluster **c, const struct daemon_conf *conf, const char *hostname,
		 struct guests *gs, struct mono now, struct conf_error *e);
/* Peers see this host's links end. NULL is nothing. */
void cluster_close(struct cluster *c);

/* Readable when cluster_work has something to do; the same for its whole life. */
int cluster_fd(const struct cluster *c);
/* All that is due. How many ns later it wants to be called again at the latest. */
int64_t cluster_work(struct cluster *c, const struct snapshot *sn, struct mono now,
		     int64_t wall_ns);

const struct cluster_conf *cluster_conf(const struct cluster *c);
const char *cluster_transport(const struct cluster *c);
/* The membership that this host goes by. */
void cluster_members(const struct cluster *c, uint64_t *view, uint64_t *members, bool *quorate);
/* "static" or "corosync". */
const char *cluster_membership(const struct cluster *c);
/* Why nothing is decided here, and the remedy, or what else is wrong with the membership; "". */
const char *cluster_note(const struct cluster *c);
/* How often this host asked for a word to be changed, its own or another's, since it began. */
uint64_t cluster_changes(const struct cluster *c);

enum cluster_state {
	CLUSTER_SELF,
	CLUSTER_UP,
	CLUSTER_SILENT, /* its memory can be read, but its heartbeat stands still */
	CLUSTER_DOWN,	/* there is no link to it */
};

struct cluster_seen {
	const struct cluster_host *conf;
	enum cluster_state state;
	bool member;
	int64_t age_ns;			  /* since its heartbeat was seen to move; -1: never */
	const struct region_host *host;	  /* as it was then; NULL: never */
	const struct region_guest *guest; /* host->guests of them at most */
	uint32_t guests;
	char note[128]; /* why it is as it is; "" */
};

/* Of conf->host[i]. Valid until cluster_work. */
void cluster_see(const struct cluster *c, uint32_t i, struct mono now, struct cluster_seen *s);

struct cluster_lock {
	const struct cluster_service *service;
	const struct cluster_host *home; /* whose words hold it; NULL: no quorum tells */
	bool known;			 /* it was read at least once */
	uint64_t word;			 /* region_word */
	int64_t since_ns;		 /* for how long it was seen unchanged, when it was read */
	int64_t age_ns;			 /* since it was read */
};

/* Of conf->service[i]. */
void cluster_lock_see(const struct cluster *c, uint32_t i, struct mono now, struct cluster_lock *l);

/*
 * Take the lock of service[i] away from who holds it, by CAS of the word last
 * seen: who acts under it then fails, and who takes it next makes sure first.
 * force: even when it has stood for less than cluster_break_ns(). 0 and *ticket to
 * ask for what came of it; -ENOENT: not read yet, or it has no home; -EALREADY:
 * nobody holds it; -EBUSY: it has not stood long enough; -EAGAIN: another is
 * being broken; -EPERM: no quorum; others of transport_post.
 */
int cluster_break(struct cluster *c, uint32_t i, bool force, struct mono now, uint64_t *ticket);
/*
 * 0: it is broken; -EINPROGRESS: ask again; -ESTALE: the word was another by
 * then; -EIO: nobody knows (the home went away); -ENOTCONN: it was not asked, or
 * refused; -ESRCH: no such ticket, or one from before many others.
 */
int cluster_break_result(const struct cluster *c, uint64_t ticket);

#endif
