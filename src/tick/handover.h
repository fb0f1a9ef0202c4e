/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handover: what sampler, actor and control exchange.
 *
 *	control --set, swapped at a tick's start--> sampler
 *	sampler --one-slot mailboxes--------------> actor --answers--> sampler
 *	sampler --events, snapshots---------------> control
 *	sampler --loads of guests (loads.h)-------> the cluster's thread
 *
 * The sampler takes no lock and allocates nothing: sets and policies are
 * built by the control thread, handed over by one atomic exchange, and freed
 * once the sampler has acknowledged a later serial number. Each field has one
 * writer and one reader, without locks.
 */
#ifndef RESEX_TICK_HANDOVER_H
#define RESEX_TICK_HANDOVER_H

#include <stdatomic.h>

#include "ibmon/scan.h"
#include "policies/policies.h"
#include "src/core/caps.h"
#include "src/core/period.h"
#include "src/core/resos.h"
#include "src/core/span.h"
#include "src/core/spsc.h"
#include "src/core/window.h"
#include "src/tick/loads.h"
#include "src/tick/tape.h"
#include "src/tick/written.h"

/* --- control -> sampler ------------------------------------------------ */

struct set_guest {
	struct guest_key key;
	uint32_t slot;
	uint32_t flags; /* enum policy_guest_flags: EXEMPT, CAPPABLE */
	uint32_t vcpus, weight, link;
	struct cap own; /* set by the operator, in force until the actor sets one */
	/* c of the newest EVENT_CAP_FOREIGN of this guest that own includes; 0: none yet */
	uint32_t own_generation;
	struct cap_bounds bounds;
	struct sla sla;
	uint32_t unreadable; /* published send queues that are not read */
	bool last_rate;	     /* charged for them at its last rate; else at: */
	uint64_t unreadable_mtus_s;
	struct scan_guest *scan; /* never NULL; owned by the set */
	bool kept; /* was restarted, is in its former slot: the policy's state there is its own */
};

/* Immutable once published; guests in ascending domain id. */
struct guest_set {
	uint64_t serial;
	struct policy_inst *policy;
	uint32_t guests;
	uint32_t reserved;
	struct set_guest guest[];
};

/* --- sampler <-> actor ------------------------------------------------- */

struct mailbox {
	_Atomic uint64_t expect;  /* what is in force; written before want, with its serial */
	_Atomic uint64_t want;	  /* newest wanted cap; 0: none yet */
	_Atomic uint64_t answer;  /* to the want with the same serial; errno in place of domid */
	_Atomic int64_t answered; /* when, ns; written before answer */
};

/*
 * want: serial 32 | domid 16 | percent 16; answer: serial 32 | errno 16 | percent 16;
 * expect: serial 32 | generation 16 | percent 16.
 *
 * The actor remembers which percent it set last, and so what must be in force. The generation
 * counts how often the sampler learned that from another source: when a guest joined, and when
 * another program had set a cap. Only then the percent of expect replaces what the actor
 * remembers: mail that overtakes answers, and mail sent again, have an outdated one.
 *
 * Answer -ECANCELED: another cap than the expected one was in force, nothing was set, and
 * percent is that cap. All mail of the same generation is answered so.
 */
static inline uint64_t mail_pack(uint32_t serial, uint16_t middle, uint16_t percent)
{
	return (uint64_t)serial << 32 | (uint64_t)middle << 16 | percent;
}
static inline uint32_t mail_serial(uint64_t w)
{
	return (uint32_t)(w >> 32);
}
static inline uint16_t mail_domid(uint64_t want)
{
	return (uint16_t)(want >> 16);
}
static inline uint16_t mail_generation(uint64_t expect)
{
	return (uint16_t)(expect >> 16);
}
static inline uint16_t mail_errno(uint64_t answer)
{
	return (uint16_t)(answer >> 16);
}
static inline uint16_t mail_percent(uint64_t w)
{
	return (uint16_t)w;
}

/* --- sampler -> control ------------------------------------------------ */

enum event_type {
	EVENT_REFRESH,	  /* slot: its registry changed */
	EVENT_RING_FAULT, /* slot, a = ring id, b = enum ring_fault */
	EVENT_CAP,	  /* slot, a = percent applied (0 none), b = reason, c = percent before */
	EVENT_CAP_FAILED, /* slot, a = percent, b = errno */
	/* slot, a = percent found, set by another program; c = for set_guest.own_generation */
	EVENT_CAP_FOREIGN,
	EVENT_LATE,  /* a = lateness in ns (at most one a second) */
	EVENT_EMPTY, /* slot: its balance reached 0 in this epoch */
};

struct event {
	uint32_t type;
	uint32_t slot;
	uint64_t created; /* of the guest: an earlier guest of this slot has another */
	struct mono time;
	int64_t a, b, c;
};

enum { EVENTS_MAX = 1024 }; /* a power of two */

struct event_ring {
	struct spsc_ring at;
	struct event ev[EVENTS_MAX];
};

/* What a guest's applications reported. */
struct snap_latency {
	uint64_t n, lost;		  /* samples since the guest joined */
	uint64_t seconds;		  /* whole ones since the guest joined */
	uint64_t second_n;		  /* samples in the last whole second */
	uint64_t mean_ns, dev_ns, p99_ns; /* of whole latencies in it; 0 when second_n is 0 */
};

/* What control shows of one guest. */
struct snap_guest {
	struct guest_key key;
	uint32_t slot;
	uint32_t set_flags;
	struct account account;
	struct usage epoch_usage; /* sums over the running epoch */
	struct usage total_usage; /* since the guest joined */
	struct spending total;	  /* likewise */
	struct plan_guest plan;
	struct cap applied;
	uint32_t cap_errno;   /* of the last failed attempt, 0 if none since */
	uint32_t rings;	      /* sampled now */
	uint64_t cap_changes; /* applied since the guest joined */
	struct mono cap_time; /* when the last was applied */
	uint64_t unread_mtus; /* charged for send queues that could not be read */
	struct span second;   /* of the last whole epochs, of one second or more together */
	struct snap_latency latency;
	struct window reports; /* whole latencies since the guest joined; see sampler_conf */
};

struct snapshot {
	struct mono time;
	uint64_t epoch, ticks, late_ticks, starved_ticks, back_ticks;
	int64_t late_max_ns;
	uint64_t late_p99_ns;
	int64_t tick_ns_max, tick_ns_sum; /* over all ticks */
	struct resos supply, overcommit, dropped;
	uint64_t set_serial;
	const struct policy_ops *policy;
	uint32_t guests;
	uint32_t reserved;
	struct snap_guest guest[FLOW_GUESTS_MAX];
};

struct snap_buffers {
	struct snapshot buf[SPSC_BUFFERS];
	struct spsc_latest at;
};

struct handover {
	_Atomic(struct guest_set *) next; /* a set waiting for the sampler */
	_Atomic uint64_t acked;		  /* serial of the set the sampler reads */
	/* Slots whose wanted cap the sampler sends once more: see operator_check(). */
	_Atomic uint64_t send_again[FLOW_GUESTS_MAX / 64];
	/* What the sampler records on from its next tick; NULL: nothing. */
	_Atomic(struct tape *) tape;
	_Atomic uint32_t stop;
	/* Counts ticks that ended: for the watchdog, and to know when a tape is used no more. */
	_Atomic uint32_t alive;
	struct mailbox mail[FLOW_GUESTS_MAX];
	_Atomic uint64_t dirty[FLOW_GUESTS_MAX / 64];
	struct written *written; /* by slot; control sets it before any guest is cappable */
	int actor_fd;		 /* eventfd: mail */
	int control_fd;		 /* eventfd: events */
	int observe;		 /* decide, but never act */
	struct event_ring events;
	struct snap_buffers snaps;
	struct load_buffers loads;
	/*
	 * Totals of all rings: control requests them, the sampler copies them
	 * (ring_show) at its next tick. Read only while the two are equal.
	 */
	_Atomic uint64_t rings_asked, rings_shown;
};

int handover_open(struct handover *ho);
void handover_close(struct handover *ho);

/* Wake the thread behind an eventfd. */
void handover_wake(int fd);

/* Sampler side. event_put drops (and counts) when control is behind. */
bool event_put(struct handover *ho, const struct event *ev);
struct snapshot *snap_begin(struct handover *ho);
void snap_publish(struct handover *ho);

/* Control side. */
bool event_get(struct handover *ho, struct event *ev);
const struct snapshot *snap_latest(struct handover *ho);

#endif
