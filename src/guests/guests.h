/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guests: the control thread's knowledge of guests and policies.
 *
 * It follows domains as they come and go, saves their caps, attaches their
 * registries, maps and unmaps rings, and publishes immutable sets to the
 * sampler. It has no socket and no loop of its own: engine.c calls it.
 */
#ifndef RESEX_GUESTS_GUESTS_H
#define RESEX_GUESTS_GUESTS_H

#include "ibmon/guest.h"
#include "src/core/crosscheck.h"
#include "src/conf/settings.h"
#include "src/guests/restore.h"
#include "src/tick/handover.h"
#include "src/util/log.h"

struct cluster;

/* What is claimed against a counter: of a guest, or of all guests of a link. */
struct checked {
	struct counter_name name;      /* as configured */
	const struct counter_ops *ops; /* what reads it; NULL: nothing does */
	int rc;			       /* of the newest reading */
	struct counter_value value;    /* likewise, when rc is 0 */
	struct cross cross;
	struct usage claim; /* up to the newest comparison; of a link: of its guests, summed up */
	bool claim_known;   /* a guest's is filled */
	uint32_t link;	    /* a guest's: the one that read is of */
	uint64_t read;	    /* bytes that its READs brought, with headers */
	uint64_t flight;    /* of READs, may be sent and not claimed yet */
};

/* One guest, from the moment it is noticed until its slot is free again. */
struct managed {
	struct guest_key key;
	uint32_t slot;
	char name[FLOW_NAME_MAX];
	char uuid[37];
	uint32_t dom_flags; /* enum hv_dom_flags, newest */
	uint32_t vcpus;
	struct guest_conf conf;
	bool set;      /* conf is by guest-set, not by resexd.json */
	bool released; /* cap-release: exempt until undone */
	bool paused;   /* pause: the same, until resume */
	bool saving;   /* its old cap is about to be written to disk */
	bool cappable; /* its old cap is on disk */
	struct hv_sched_params old;
	char cap_note[128]; /* why it is not cappable; "" */
	struct guest_mon *mon;
	bool watched;		/* a change of its node is told */
	int watch_rc;		/* why not */
	bool node_due;		/* its node must be read (again) */
	struct mono node_time;	/* when it was last read */
	struct mono node_told;	/* when an event about it was made */
	bool agent_silent;	/* its heartbeat stands still */
	struct mono fault_told; /* likewise about a ring at fault */
	uint32_t faults_untold;
	int node_rc;	      /* what came of it */
	uint64_t reap_serial; /* rings may be reaped once this set is acknowledged */
	bool leaving;	      /* not in sets any more; freed when reap_serial is acknowledged */
	struct mono joined;
	struct checked check;
};

/* An event as people see it. */
struct event_text {
	uint64_t id;		   /* from 1, without gaps */
	int64_t wall_ns;	   /* CLOCK_REALTIME */
	char guest[FLOW_NAME_MAX]; /* "" when it concerns none */
	char kind[16];
	char text[192];
};

/*
 * Those that come all the time are kept apart, as are those that strangers can cause: they
 * must not drive out the others.
 */
enum { MANAGER_EVENTS = 1024 };
struct event_log {
	uint64_t n; /* ever; the newest MANAGER_EVENTS are kept */
	struct event_text event[MANAGER_EVENTS];
};

/* Somebody who waits for the totals of rings; zeroed at first. */
struct rings_ask {
	uint64_t serial; /* of the answer that is waited for; 0: not asked */
	struct mono since;
};

/* Questions to the sampler about rings, one at a time. */
struct rings_asked {
	uint64_t serial;  /* of the newest */
	uint32_t readers; /* wait for its answer or have not read it yet */
	uint32_t next;	  /* wait for the one after it */
	struct mono since;
};

struct manager {
	struct shared *sh;
	const struct daemon_conf *conf;
	const struct log *log;
	const struct hv_backend *hv;
	struct hv_mem *mem;
	struct hv_sched *sched;
	struct hv_watch *watch;
	struct restore restore;
	struct managed *guest[FLOW_GUESTS_MAX]; /* by slot; NULL: free */
	struct policy_inst *policy;
	struct policy_inst *policy_old; /* freed when policy_serial is acknowledged */
	uint64_t policy_serial;
	uint64_t serial, created;
	struct guest_set *sets[64]; /* published, not yet freed */
	struct rings_asked rings;
	bool publish_due, rescan_due;
	bool save_due;	    /* an entry of restore changed that is not on disk */
	int save_rc;	    /* why not: told when it is new */
	int list_rc;	    /* of the last list of domains: told when it is new */
	uint32_t unwatched; /* domains for which no slot was free: told when they are more */
	bool observe;
	bool paused; /* all guests are */
	struct hv_dom dom[2 * FLOW_GUESTS_MAX];
	struct event_log rare, routine, foreign;
	uint64_t events;	  /* number of the newest */
	struct counters counters; /* ops NULL: there are none, nothing is checked */
	struct checked link[FLOW_LINKS_MAX];
	struct mono cross_due, cross_time; /* the next reading; the newest */
	bool cross_waits;		   /* for a snapshot that is as new as it */
	uint32_t diverging;		   /* guests */
	struct cluster *cluster;	   /* of which this host is one; NULL: it is alone */
};

/* Opens nothing: handles, conf and policy are given. 0 or -errno. */
int manager_init(struct manager *m, struct shared *sh, const struct daemon_conf *conf,
		 const struct log *log, const struct hv_backend *hv, struct policy_inst *policy);
/* Close all guests; the sampler no longer runs. Caps are not touched (manager_restore). */
void manager_fini(struct manager *m);
/* An empty first set for sampler_init. NULL: no memory. */
struct guest_set *manager_first_set(struct manager *m);

/*
 * Do all that is due: watch events, rescan, refreshes, reaping, publishing.
 * Returns ns until it wants to be called again at the latest.
 */
int64_t manager_work(struct manager *m, struct mono now, int64_t wall_ns);
/* About once a second: names, VCPUs, caps others changed, moved frames. */
void manager_second(struct manager *m, struct mono now, int64_t wall_ns);

/*
 * The cross-check: read counters and compare, once a window. Returns ns until
 * it wants to be called again.
 */
int64_t manager_cross(struct manager *m, struct mono now, int64_t wall_ns);
/* Which counter it is: "vif", "vf:ens1f0/3". "" when nothing reads any. */
void checked_source(const struct checked *k, char *out, size_t size);
/* What the newest window had, a sentence's end; "" unless the guest diverges. */
void managed_divergence(const struct managed *g, char *out, size_t size);

/* Give all guests their old caps back (the actor no longer runs). Failures. */
int manager_restore(struct manager *m);

/* --- for control commands ---------------------------------------------- */

/* By domain id, name or UUID (full); an id goes first. NULL when there is none. */
struct managed *manager_find(struct manager *m, const char *who);
/* Its entry in the newest snapshot, or NULL (not sampled yet). */
const struct snap_guest *manager_snap(const struct managed *g, const struct snapshot *sn);
/*
 * Takes pi over; in force at the sampler's next tick. Waits for a swap that is under way, at
 * most 50 intervals; then -EBUSY.
 */
int manager_set_policy(struct manager *m, struct policy_inst *pi, int64_t wall_ns);
/* Release a guest from caps (or take it back in). */
void manager_release(struct manager *m, struct managed *g, bool released, int64_t wall_ns);
/*
 * No cap but its own for this guest (NULL: for all, also those to come), until
 * it is resumed; all resumed, those paused one by one are too. -EBUSY: one
 * cannot be resumed while all are paused.
 */
int manager_pause(struct manager *m, struct managed *g, bool paused, int64_t wall_ns);
/* Other settings for a guest (checked), until it goes or manager_reload. what: in words. */
void manager_guest_set(struct manager *m, struct managed *g, const struct guest_conf *conf,
		       const char *what, int64_t wall_ns);
/* Is it left alone: exempt, released or paused? Then its own cap alone holds. */
bool managed_alone(const struct manager *m, const struct managed *g);
/*
 * Another configuration, with the same links, interval and paths, to be used
 * from now on in place of the former. Takes pi over; state is kept if that is the policy in
 * force. -EBUSY as manager_set_policy: nothing has changed then.
 */
int manager_reload(struct manager *m, const struct daemon_conf *conf, struct policy_inst *pi,
		   int64_t wall_ns);
/*
 * Totals of all guests' rings, asked of the sampler: those who ask meanwhile
 * share one answer. 0: there they are, by guest_ring_shown; -EAGAIN: call
 * again later; -ETIMEDOUT: the sampler does not answer. In the end, also
 * before an answer: manager_rings_end, or nobody will get another one.
 */
int manager_rings(struct manager *m, struct rings_ask *a, struct mono now);
void manager_rings_end(struct manager *m, struct rings_ask *a);
/* The oldest that is kept with a number above id, or NULL. */
const struct event_text *manager_event_after(const struct manager *m, uint64_t id);

void manager_event(struct manager *m, int64_t wall_ns, const char *guest, const char *kind,
		   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
