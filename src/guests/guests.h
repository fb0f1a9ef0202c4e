/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guests: what the control thread knows of guests and of the policy in force.
 *
 * It follows domains as they come and go, saves their caps, attaches their
 * registries, maps and unmaps rings, and publishes immutable sets to the
 * sampler. It has no socket and no loop of its own: the engine's loop calls it.
 *
 * struct guests and struct guest_entry are private. Readers get views: values,
 * whose pointers are valid until the next call that changes something.
 */
#ifndef RESEX_GUESTS_GUESTS_H
#define RESEX_GUESTS_GUESTS_H

#include "ibmon/guest.h"
#include "src/conf/settings.h"
#include "src/core/crosscheck.h"
#include "src/hv/hv.h"
#include "src/tick/handover.h"
#include "src/util/log.h"

struct guests;
struct plugins;
struct guest_entry; /* one guest, from when it is first seen until its slot is free again */

/* What guests_open is given. All but policy must outlive the guests. */
struct guests_parts {
	struct handover *ho;
	const struct daemon_conf *conf;
	const struct log *log;
	const struct hv_backend *hv; /* the handles are its */
	struct hv_mem *mem;
	struct hv_sched *sched;
	struct hv_watch *watch;
	struct counters counters;	    /* ops NULL: there are none, nothing is checked */
	struct plugins *plugins;	    /* conf/plugin.h; NULL: none */
	const struct ring_layouts *layouts; /* ibmon/layout.h; NULL: none */
	bool observe;			    /* no cap is ever set */
};

/* Takes policy over when it succeeds. 0 or -errno. */
int guests_open(struct guests **gs, const struct guests_parts *p, struct policy_inst *policy);
/* The sampler no longer runs. Caps are not touched (guests_restore). */
void guests_close(struct guests *gs);
/*
 * Restore the caps that an earlier run left in conf->state_dir, before any guest's
 * cap is saved anew. 0 or -errno; e has one sentence for people, or is as it was.
 */
int guests_recover(struct guests *gs, int64_t wall_ns, struct conf_error *e);
/* An empty first set for sampler_init. NULL: no memory. */
struct guest_set *guests_first_set(struct guests *gs);

/*
 * Do all that is due: watch events, rescan, refreshes, reaping, publishing.
 * Returns ns until it wants to be called again at the latest.
 */
int64_t guests_work(struct guests *gs, struct mono now, int64_t wall_ns);
/* About once a second: names, VCPUs, caps others changed, moved frames. */
void guests_second(struct guests *gs, struct mono now, int64_t wall_ns);
/*
 * The cross-check: read counters and compare, once a window. Returns ns until
 * it wants to be called again.
 */
int64_t guests_cross(struct guests *gs, struct mono now, int64_t wall_ns);
/* Give all guests their old caps back (the actor no longer runs). Failures. */
int guests_restore(struct guests *gs);

/* --- views ------------------------------------------------------------------ */

struct guests_view {
	const struct daemon_conf *conf; /* in force */
	const struct log *log;
	const struct hv_backend *hv;
	const struct policy_inst *policy;	   /* in force at the sampler's next tick */
	const struct counter_ops *const *counters; /* ended by NULL; NULL: there are none */
	uint64_t policy_number;			   /* how many policies guests_set_policy has set */
	struct plugins *plugins;		   /* NULL: none */
	const struct ring_layouts *layouts;	   /* NULL: none */
	/*
	 * A plug-in was stopped, and null is in force in its place: its name, and why. NULL: none
	 * was since a policy was set last.
	 */
	const char *stopped, *stopped_why;
	bool observe;
	bool paused;	       /* all guests are */
	bool policy_changing;  /* the sampler still uses the policy before this one */
	uint32_t diverging;    /* guests */
	uint64_t newest_event; /* its number; 0: there was none */
	uint64_t events_lost;  /* of the sampler: its ring was full */
};

struct guests_view guests_view(const struct guests *gs);

/* What is compared with a counter: of a guest, or of all guests of a link. */
struct check_view {
	bool compared;			   /* a counter is read */
	char source[COUNTER_TEXT_MAX + 1]; /* which: "vif", "vf:ens1f0/3"; "" */
	const char *error;		   /* why it could not be read last; "" */
	const struct cross *cross;
};

struct guest_view {
	struct guest_key key;
	uint32_t slot;
	const char *name;
	const char *uuid; /* as text */
	uint32_t vcpus;
	const struct guest_conf *conf;
	const char *cap_note;	    /* why it is not cappable; "" */
	struct hv_sched_params own; /* its own cap and weight: no policy's */
	struct guest_mon *mon;
	struct check_view check;
	bool set;	   /* conf is by guest-set, not by resexd.json */
	bool stopped;	   /* its domain is paused (xl pause) */
	bool released;	   /* cap-release: exempt until undone */
	bool paused;	   /* by resex pause: it, or all */
	bool alone;	   /* exempt, released or paused: its own cap alone holds */
	bool cappable;	   /* its own cap is on disk, and its name is known */
	bool forged;	   /* it publishes rings that cannot be read: guest_state.forged */
	bool agent_silent; /* its agent's heartbeat is unchanged for too long */
};

struct guest_view guest_view(const struct guests *gs, const struct guest_entry *g);

/* All guests in turn: the one after g, in order of slots; NULL: the first, at the end NULL. */
const struct guest_entry *guests_next(const struct guests *gs, const struct guest_entry *g);
/* By domain id, name or UUID (full); an id goes first. NULL when there is none. */
struct guest_entry *guests_find(struct guests *gs, const char *word);
/* The name of the guest in a slot, also of one that is leaving; NULL: the slot is free. */
const char *guests_name_at(const struct guests *gs, int64_t slot);
/* The newest snapshot of the sampler; for the control thread alone. */
const struct snapshot *guests_snapshot(const struct guests *gs);
/* By which guests are watched; for the control thread alone. */
struct hv_watch *guests_watch(const struct guests *gs);
/* What the sampler hands to the cluster's thread. */
struct load_buffers *guests_loads(const struct guests *gs);
/* A guest's entry in a snapshot, or NULL (not sampled yet). */
const struct snap_guest *guests_snap(const struct guest_entry *g, const struct snapshot *sn);
/* The cross-check of conf->link[i]. */
struct check_view guests_link_check(const struct guests *gs, uint32_t i);
/* What the newest window had, a sentence's end; "" unless the guest diverges. */
void guest_divergence(const struct guest_entry *g, char *out, size_t size);
/*
 * Links, a bit each, with two guests or more of which none reported a latency in the last second,
 * all being there for a second, though the policy in force caps guests only because of these.
 */
uint32_t guests_unheard(const struct guests *gs, const struct snapshot *sn);
/* In one sentence; "" without links. */
void guests_unheard_text(const struct guests *gs, uint32_t links, char *out, size_t size);
/*
 * The schedulers of the cpupools that guests are in, each once; without guests, dom0's. Their
 * number, at most max. A hypercall a guest.
 */
size_t guests_schedulers(const struct guests *gs, const char **names, size_t max);
/* How many map calls were made, and how many pages are mapped now. */
void guests_mapped(const struct guests *gs, uint64_t *calls, uint64_t *pages);

/* --- changes ---------------------------------------------------------------- */

/*
 * Takes pi over; the sampler uses it from its next tick (guests_policy_wait). -EBUSY: the
 * sampler still uses the policy before the newest; nothing has changed then.
 */
int guests_set_policy(struct guests *gs, struct policy_inst *pi, int64_t wall_ns);

/* A request to wait until the sampler uses a policy, and a snapshot shows it; zeroed at first. */
struct policy_ask {
	bool waits;
	uint64_t number; /* guests_view.policy_number of that policy; 0: of any that is pending */
	struct mono since;
};

/*
 * 0: it does, and so does sn (NULL: only that the sampler uses it); -EAGAIN: call again later, with
 * a newer snapshot; -ETIMEDOUT: not within 10 s. Does not block; an ask may be dropped at any time.
 */
int guests_policy_wait(struct guests *gs, struct policy_ask *a, const struct snapshot *sn,
		       struct mono now);

/* A request to wait until a snapshot shows a change of guests; zeroed at first. */
struct caps_ask {
	bool waits;
	uint64_t created; /* guest_key.created of the guest; 0: all guests */
	uint64_t serial;  /* of the first set that has the change; 0: not published yet */
	struct mono since;
};

/* Begin to wait for the change just made of g (NULL: of all guests). */
void guests_caps_ask(struct caps_ask *a, const struct guest_entry *g, struct mono now);
/*
 * 0: the change is in sn, and guests that no policy may cap have their own caps there, or the
 * error of setting them; -EAGAIN: call again later with a newer snapshot; -ETIMEDOUT: not
 * within 10 s. Does not block; an ask may be dropped at any time.
 */
int guests_caps_wait(struct guests *gs, struct caps_ask *a, const struct snapshot *sn,
		     struct mono now);
/* Release a guest from caps (or undo that). */
void guests_release(struct guests *gs, struct guest_entry *g, bool released, int64_t wall_ns);
/*
 * No cap but its own for this guest (NULL: for all, also those to come), until
 * it is resumed; all resumed, those paused one by one are too. -EBUSY: one
 * cannot be resumed while all are paused.
 */
int guests_pause(struct guests *gs, struct guest_entry *g, bool paused, int64_t wall_ns);
/* Other settings for a guest (checked), until it goes or guests_reload. what: in words. */
void guests_configure(struct guests *gs, struct guest_entry *g, const struct guest_conf *conf,
		      const char *what, int64_t wall_ns);
/*
 * Another configuration, with the same links, interval and paths, to be used
 * from now on in place of the former. Takes pi over; state is kept if that is the policy in
 * force. -EBUSY as guests_set_policy: nothing has changed then.
 */
int guests_reload(struct guests *gs, const struct daemon_conf *conf, struct policy_inst *pi,
		  int64_t wall_ns);

/* --- totals of rings -------------------------------------------------------- */

/* A request for the totals of rings; zeroed at first. */
struct rings_ask {
	uint64_t serial; /* of the answer that is waited for; 0: not asked */
	struct mono since;
};

/*
 * Request the totals of all guests' rings from the sampler; requests made at the
 * same time share one answer. 0: guest_ring_shown has them; -EAGAIN: call again
 * later; -ETIMEDOUT: the sampler does not answer. Call guests_rings_end after it,
 * also without an answer, or no later request is answered.
 */
int guests_rings(struct guests *gs, struct rings_ask *a, struct mono now);
void guests_rings_end(struct guests *gs, struct rings_ask *a);

/* --- a recording ------------------------------------------------------------- */

enum { TRACE_PATH_MAX = 4096 };

/* The newest recording of the sampler's inputs (src/trace/format.h). */
struct trace_view {
	char path[TRACE_PATH_MAX]; /* ""; there was none */
	bool records;		   /* it goes on */
	uint64_t ticks, bytes;	   /* recorded, written */
	const char *why;	   /* it ended, in words; "" */
	bool whole;		   /* it ended with all that was recorded in its file */
};

/*
 * Record into a new file. 0; -EBUSY: a recording goes on; -EINVAL: path is not absolute, or too
 * long; -EEXIST; or another -errno of the file.
 */
int guests_trace_start(struct guests *gs, const char *path, int64_t wall_ns);
/* 0: its file is whole, and closed; -ENOENT: nothing is recorded; -EAGAIN: call again later. */
int guests_trace_stop(struct guests *gs, int64_t wall_ns);
const struct trace_view *guests_trace(struct guests *gs);

/* --- events ----------------------------------------------------------------- */

/* An event as resex events shows it. */
struct event_text {
	uint64_t id;		   /* from 1, without gaps */
	int64_t wall_ns;	   /* CLOCK_REALTIME */
	char guest[FLOW_NAME_MAX]; /* "" when it concerns none */
	char kind[16];
	char text[192];
};

/* The oldest that is kept with a number above id, or NULL. */
const struct event_text *guests_event_after(const struct guests *gs, uint64_t id);
/* The kinds of events there are, in the order of their names; NULL after the last. */
const char *guests_event_kind(size_t i);
void guests_event(struct guests *gs, int64_t wall_ns, const char *guest, const char *kind,
		  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
