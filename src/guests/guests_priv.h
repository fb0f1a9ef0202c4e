/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guests_priv: what the files of src/guests share. For callers: guests.h.
 *
 *	guests.c	domains followed, work scheduled, the policy changed
 *	  guest.c	one guest's life
 *	  own.c		the guest's own cap
 *	  set.c		sets built, published and freed
 *	operator.c	what other programs change in its scheduling; place.c: its cpupool
 *	restore.c	own caps of guests; restore_file.c: on disk; give_back.c: set again
 *	journal.c	the caps that the actor set, for the next start
 *	conf.c		settings changed while guests run
 *	events.c	the sampler's events acted on; event_log.c: events in words
 *	crosscheck.c	claims against counters
 *	rings.c		totals of rings
 *	stopped.c	a policy plug-in that misbehaved
 *	trace.c		a recording of the sampler's inputs
 *	view.c		what others may read
 */
#ifndef RESEX_GUESTS_GUESTS_PRIV_H
#define RESEX_GUESTS_GUESTS_PRIV_H

#include "src/guests/guests.h"
#include "src/guests/restore.h"

enum {
	TURN_GUESTS = 64,   /* guests whose memory is mapped in one turn of the loop */
	NODE_MIN_MS = 100,  /* a guest's node is read at most this often */
	AGENT_SILENT_S = 3, /* guest_abi.h promises a beat a second */
	STOPPED_WHY = 160,  /* with the name, an event holds it */
};

#define SOON_NS (10 * NS_PER_MS) /* until work that waits for something is looked at again */

/* At least between two events of a guest, missed-qps and ring-forged. */
#define MISSED_EVENTS_NS (10 * NS_PER_S)
#define FAULT_EVENTS_NS	 (200 * NS_PER_MS)

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

/* The guest that had a slot last. */
struct former {
	uint8_t uuid[16];
	struct mono left;
	bool known; /* and no other guest has had the slot since */
};

struct guest_entry {
	struct guest_key key;
	uint32_t slot;
	bool kept; /* it was restarted, and has its former slot */
	char name[FLOW_NAME_MAX];
	char uuid[37];
	uint32_t dom_flags; /* enum hv_dom_flags, newest */
	uint32_t vcpus;
	struct guest_conf conf;
	bool set;		    /* conf is by guest-set, not by resexd.json */
	bool released;		    /* cap-release: exempt until undone */
	bool paused;		    /* pause: the same, until resume */
	bool built;		    /* it has run, and own was read */
	bool saving;		    /* its own cap is about to be written to disk */
	bool cappable;		    /* its own cap is on disk */
	struct hv_sched_params own; /* its own cap and weight: no policy's */
	uint32_t pool;		    /* its cpupool, newest */
	uint32_t own_pool;	    /* when own was learned */
	const char *own_scheduler;  /* likewise, of that pool; NULL: own was not learned */
	bool uncappable_pool;	    /* that has no caps */
	struct cap in_force;	    /* observing only: what was found; else own */
	bool adding;		    /* saving, and it was not on disk before */
	uint32_t own_generation;    /* see set_guest */
	bool own_checked;	    /* own is from operator_check(): the actor will find it, too */
	bool cap_waits;	    /* another cap, with another weight, was found: look once more */
	char cap_note[128]; /* why it is not cappable; "" */
	struct guest_mon *mon;
	bool name_known;   /* or it has none: its settings are found */
	bool name_asked;   /* the answer comes with HV_EVENT_ANSWER */
	bool new_reported; /* by the event guest-new */
	bool answered;	   /* HV_EVENT_ANSWER came: take what is asked */
	bool watch_asked;
	bool node_asked;
	bool watched;		    /* a change of its node makes an event */
	int watch_rc;		    /* why not */
	bool node_due;		    /* its node must be read (again) */
	struct mono node_time;	    /* when it was last read */
	struct mono node_reported;  /* when an event about it was made */
	bool forged;		    /* as guest_state.forged, newest */
	bool agent_silent;	    /* its heartbeat is unchanged for AGENT_SILENT_S */
	struct mono fault_reported; /* when an event about a ring at fault was made */
	uint32_t faults_unreported;
	uint64_t missed_reported;   /* queue pairs missed, up to the newest event about them */
	struct mono missed_at;	    /* when that was */
	bool unpublished;	    /* some queue pairs are not: an event said so, */
	struct mono unpublished_at; /* then */
	int node_rc;		    /* of the newest reading of its node */
	uint64_t reap_serial;	    /* rings may be reaped once this set is acknowledged */
	bool leaving; /* not in sets any more; freed when reap_serial is acknowledged */
	struct mono joined;
	struct checked check;
};

/*
 * Events are kept in four logs: frequent events, caps, and events that other hosts can cause,
 * must not drive out the others.
 */
enum { GUESTS_EVENTS = 1024 };
struct event_log {
	uint64_t n; /* ever; the newest GUESTS_EVENTS are kept */
	struct event_text event[GUESTS_EVENTS];
};

/* Requests to the sampler for the totals of rings, one at a time. */
struct rings_asked {
	uint64_t serial;  /* of the newest */
	uint32_t readers; /* wait for its answer or have not read it yet */
	uint32_t next;	  /* wait for the one after it */
	struct mono since;
};

/* A plug-in that was stopped. */
struct stopped {
	char name[FLOW_NAME_MAX], why[STOPPED_WHY];
};

struct guests {
	struct handover *ho;
	const struct daemon_conf *conf;
	const struct log *log;
	const struct hv_backend *hv;
	struct hv_mem *mem;
	struct hv_sched *sched;
	struct hv_watch *watch;
	struct restore restore;
	struct written *written;		    /* mapped (journal.h), or NULL */
	struct guest_entry *guest[FLOW_GUESTS_MAX]; /* by slot; NULL: free */
	struct former former[FLOW_GUESTS_MAX];
	struct policy_inst *policy;
	struct policy_inst *policy_old; /* freed when policy_serial is acknowledged */
	uint64_t policy_serial;
	uint64_t policy_number;	  /* counts guests_set_policy */
	uint64_t policy_taken_up; /* policy_number when policy_old was last freed */
	uint64_t policy_since;	  /* serial of the first set with that policy */
	struct plugins *plugins;
	const struct ring_layouts *layouts;
	struct stopped stopped; /* as in guests_view; name "": none */
	uint64_t serial, created;
	struct guest_set *sets[64]; /* published, not yet freed */
	struct rings_asked rings;
	uint32_t next_work; /* slot of the guest that is worked on next */
	bool publish_due, rescan_due;
	bool save_due;	    /* an entry of restore changed that is not on disk */
	int save_rc;	    /* why not; logged when it is new */
	bool lost;	    /* the file is gone, and cannot be written: own caps are on no disk */
	bool journal_lost;  /* caps.written is gone; logged once */
	int list_rc;	    /* of the last list of domains; logged when it is new */
	uint32_t unwatched; /* domains for which no slot was free; logged when they are more */
	bool observe;
	bool paused; /* all guests are */
	struct hv_dom dom[2 * FLOW_GUESTS_MAX];
	struct event_log rare, routine, caps, foreign;
	uint64_t events;	  /* number of the newest */
	struct counters counters; /* ops NULL: there are none, nothing is checked */
	struct checked link[FLOW_LINKS_MAX];
	struct mono cross_due, cross_time; /* the next reading; the newest */
	bool cross_waits;		   /* for a snapshot that is as new as it */
	uint64_t cross_starved;		   /* snapshot.starved_ticks at the end of a window */
	bool host_late;			   /* the newest reading was skipped, of one or more */
	uint32_t diverging;		   /* guests */
	struct {
		struct tape *tape;	 /* NULL: nothing is recorded */
		struct trace_file *file; /* of it */
		bool stops;		 /* trace-stop was asked */
		uint32_t alive;		 /* handover.alive when the sampler was told to end */
		struct trace_view view;	 /* of the newest recording */
	} trace;
	struct {
		uint64_t policy;  /* policy_number then */
		uint32_t seconds; /* in a row in which a link was unheard */
	} unheard;
};

/* stopped.c: has the sampler stopped the plug-in in force, and can null take its place now? */
bool stopped_find(const struct guests *gs, struct stopped *st);
/* Null is in force in its place: for guests_view, and an event. */
void stopped_note(struct guests *gs, const struct stopped *st, int64_t wall_ns);

/* unheard.c: say once that a policy gets no latencies. */
void unheard_second(struct guests *gs, int64_t wall_ns);

/* guest.c: one guest. */
int entry_new(struct guests *gs, const struct hv_dom *d, struct mono now, int64_t wall_ns);
void entry_free(struct guests *gs, struct guest_entry *g);
void entry_leave(struct guests *gs, struct guest_entry *g, struct mono now, int64_t wall_ns);
/* Name, node, refresh: all that is due. True: it mapped memory, which takes a while. */
bool entry_work(struct guests *gs, struct guest_entry *g, struct mono now, int64_t wall_ns);
void entry_second(struct guests *gs, struct guest_entry *g, struct mono now, int64_t wall_ns);
/* How long until entry_work() has something to do; INT64_MAX: not before an event. */
int64_t entry_wait(const struct guests *gs, const struct guest_entry *g, struct mono now);
/* Take its settings from resexd.json. */
void entry_settings(const struct guests *gs, struct guest_entry *g);
/* Is it left alone: exempt, released, paused, or lost? Then its own cap alone holds. */
bool entry_alone(const struct guests *gs, const struct guest_entry *g);
/* May a policy cap it? Not before its settings are known, which may forbid that. */
static inline bool entry_cappable(const struct guest_entry *g)
{
	return g->cappable && g->name_known;
}

/* own.c: read its own cap; it is cappable once that is on disk. Tried again each second. */
void own_learn(struct guests *gs, struct guest_entry *g, int64_t wall_ns);
/* Its own cap for an event: "cap 30 %", or that it is not known. Returns out. */
enum { OWN_TEXT = 48 };
const char *own_text(const struct guest_entry *g, char out[static OWN_TEXT]);
/* Its own cap or weight changed: the file has the former one until the next owns_save. */
void own_changed(struct guests *gs, const struct guest_entry *g);
/* Log why the file of own caps cannot be written, once for each cause. */
void owns_not_written(struct guests *gs, int rc);
/* Take what the actor noted into its entry on disk: before that is read, or it leaves. */
void own_note(struct guests *gs, const struct guest_entry *g);
/* Write the own caps of all that are saving at once: many guests come together at a boot. */
void owns_save(struct guests *gs);

/* Each second: are the files of own caps still there? If not, they are written again. */
void owns_check(struct guests *gs);

/* operator.c: compare the cap in force with the one that resexd set last. */
void operator_check(struct guests *gs, struct guest_entry *g, int64_t wall_ns);
/* The actor found a cap that another program set. */
void operator_cap(struct guests *gs, struct guest_entry *g, uint32_t percent, uint32_t generation,
		  int64_t wall_ns);
/* The scheduler of its cpupool has no caps. */
void operator_uncappable(struct guests *gs, struct guest_entry *g, int64_t wall_ns);

/* place.c: its own cap was learned in its present cpupool. */
void place_note(struct guests *gs, struct guest_entry *g);
/* Is it in another cpupool than then, or has that another scheduler? From now on, this one. */
bool place_moved(struct guests *gs, struct guest_entry *g);

/* set.c: sets published and acknowledged. */
void sets_publish(struct guests *gs);
/* At the loop's next turn, and wake the loop. */
void sets_publish_soon(struct guests *gs);
void sets_acknowledged(struct guests *gs, uint64_t acked);
void sets_free_all(struct guests *gs);

/* trace.c: end a recording that ended by itself; end any, the sampler having stopped. */
void trace_second(struct guests *gs, int64_t wall_ns);
void trace_close(struct guests *gs);

/* events.c: act on the sampler's events. */
void events_drain(struct guests *gs, int64_t wall_ns);
/* Make the event when a ring of g came back at fault. */
void events_forged(struct guests *gs, struct guest_entry *g, struct mono now, int64_t wall_ns);

/* crosscheck.c: which counter it is: "vif", "vf:ens1f0/3". "" when nothing reads any. */
void checked_source(const struct checked *k, char *out, size_t size);

#endif
