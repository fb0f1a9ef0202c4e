/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * backend: the interface between the front (src/transport/front) and a backend.
 *
 * The front does what is the same for all backends: the checks of an operation, the slots,
 * deadlines, back-off, link numbers, the queue of events, counts, limits on callers. A
 * backend moves bytes: it embeds struct transport as its first member, is called through
 * transport_ops, and reports through front_*(). The responder's side (listening, hello,
 * serving) is in the backend; only the decision which caller may connect is in the front
 * (front_caller, front_proven).
 */
#ifndef RESEX_TRANSPORT_BACKEND_H
#define RESEX_TRANSPORT_BACKEND_H

#include <assert.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "src/core/hostset.h"
#include "src/transport/front/hello.h"
#include "src/transport/transport.h"

static_assert((int)HOSTSET_MAX == (int)TRANSPORT_HOSTS_MAX, "a set of hosts has room for all");

/*
 * At most TRANSPORT_DEPTH operations of a link are outstanding. The user may still read the
 * buffers of as many READs whose results it has.
 */
enum { TRANSPORT_SLOTS = 2 * TRANSPORT_DEPTH };

enum slot_state {
	SLOT_FREE,
	SLOT_WAITS,    /* posted, not submitted to the backend yet: LOST if the link ends */
	SLOT_SENT,     /* may be executed: an atomic or SEND is UNKNOWN if the link ends */
	SLOT_LATE,     /* a READ that was LOST by its deadline; its buffer may still be written */
	SLOT_OVER,     /* its result waits in the queue */
	SLOT_RETURNED, /* the user has its result; its buffer is in use until the next poll */
	SLOT_STATES,
};

struct transport_slot {
	enum slot_state state;
	bool told;	/* LATE: the user has its result; else not set */
	uint32_t index; /* 0 .. TRANSPORT_SLOTS - 1 */
	struct transport_op op;
	uint64_t round; /* see transport_stats.rounds: 1 + the longest chain when it was posted */
	uint64_t order; /* counts operations of the handle in the order of posting */
	uint8_t message[TRANSPORT_MESSAGE_MAX]; /* SEND: op.data points here */
};

enum link_state { LINK_OFF, LINK_WAITS, LINK_CALLS, LINK_UP };

/* Our link to one peer. We are the caller. */
struct transport_out {
	struct transport_peer peer;
	struct sockaddr_storage at; /* its address; AF_UNSPEC: a path (shm) */
	bool added;
	enum link_state state;
	struct mono due; /* WAITS: call again; CALLS: give up */
	uint32_t link;	 /* number of the newest one that was up */
	uint32_t failures;
	uint64_t generation;	       /* of the peer, on the newest link */
	size_t bytes[TRANSPORT_PARTS]; /* of the peer's region; set by front_up */
	/* Used by the front only: the slots in each state, one bit a slot. */
	union {
		struct {
			uint32_t free, waits, sent, late, over, returned;
		};
		uint32_t in_state[SLOT_STATES];
	};
	uint64_t newest;	     /* order of the operation that was posted last */
	uint32_t events;	     /* events of this link that wait in the queue */
	struct transport_slot *slot; /* TRANSPORT_SLOTS, from the first transport_add to close */
};

static_assert(offsetof(struct transport_out, returned) ==
		      offsetof(struct transport_out, in_state[SLOT_RETURNED]),
	      "both names of the slots in a state are one mask");

struct transport_ops {
	void (*close)(struct transport *t);
	/* As transport_backend.check. */
	int (*check)(const struct transport_peer *p);
	/*
	 * Start calling this peer. Calls front_up or front_down later, or before it
	 * returns. -errno: the call failed at once.
	 */
	int (*call)(struct transport *t, struct transport_out *o, struct mono now);
	/*
	 * End our link to this peer, or the call, at once: after this returns, nothing of it
	 * touches a slot any more, or the buffer of one whose operation is done. Buffers of the
	 * others may still be written, but not when the next link to this peer is up. The front
	 * ends the slots. Calls no front_*() report. Blocks nobody.
	 */
	void (*hang_up)(struct transport *t, struct transport_out *o);
	/*
	 * A member: end the peer's link to us, if there is one. What the peer has posted on it
	 * may still be executed until the peer has a new link. Calls no front_*() report. Blocks
	 * nobody.
	 */
	void (*evict)(struct transport *t, uint16_t host);
	/* Has this host a link to us, as far as we know? */
	bool (*serves)(const struct transport *t, uint16_t host);
	/*
	 * Send a slot's operation. The front submits the slots of a link in the order of
	 * posting. -EAGAIN: no room now; the front submits it again after the next
	 * progress. Any other error ends the link. May call front_done before it returns.
	 * The front makes the slot SENT before, and WAITS again on an error: the backend
	 * never writes slot->state.
	 */
	int (*submit)(struct transport *t, struct transport_out *o, struct transport_slot *s,
		      struct mono now);
	/*
	 * All slots that can be submitted now were: the backend may have gathered them until
	 * this call. An error ends the link. NULL: submit is all.
	 */
	int (*flush)(struct transport *t, struct transport_out *o);
	/* As transport_share, of a link that is up and has the part. NULL: -EOPNOTSUPP. */
	int (*share)(const struct transport *t, const struct transport_out *o, int *fd);
	/* Do what is due: new callers, our calls, completions, requests of peers. */
	void (*progress)(struct transport *t, struct mono now);
	int (*fd)(struct transport *t);
	/* As transport_arm, for the backend's events. May lower *due, never raises it. */
	int (*arm)(struct transport *t, struct mono now, struct mono *due);
};

struct front_queue;

struct transport {
	const struct transport_ops *ops;
	struct transport_conf conf;  /* with our own copy of the key */
	uint8_t *key;		     /* in a page that core dumps and children do not have */
	void *part[TRANSPORT_PARTS]; /* the read-only parts; set by the backend */
	struct transport_out out[TRANSPORT_HOSTS_MAX]; /* by host - 1 */
	/* The newest proven start of each host, by host - 1. generation 0: none. */
	struct hello_self newest[TRANSPORT_HOSTS_MAX];
	struct hello_list list; /* who was added */
	struct transport_stats stats;
	/* The rest is the front's own (front.h). */
	struct mono now;	 /* of the newest call */
	struct mono due;	 /* the front's next timer, or an earlier time */
	uint64_t round;		 /* the highest round whose result the user has */
	uint64_t order;		 /* of the newest slot */
	struct hostset waits;	 /* links that a poll submits again: the backend had no room */
	struct hostset returned; /* links that have RETURNED slots */
	uint32_t hellos;	 /* unproven callers now */
	uint32_t hellos_new;	 /* in the second that began at hellos_since */
	struct mono hellos_since;
	struct front_queue *queue; /* of events */
	uint32_t rng;
};

/*
 * For a backend's open: check the conf (except its address, which the backend checks), copy
 * it and the key, fill in the defaults. -EINVAL, -ENOMEM with text.
 */
int front_init(struct transport *t, const struct transport_ops *ops, const struct transport_conf *c,
	       struct mono now, char text[static 256]);
/* For a backend's close: free the front's memory, wipe the key. */
void front_fini(struct transport *t);

/* --- reports of our own links ---------------------------------------------- */

/* The end of a sentence that begins with a host; the same in every backend. */
#define FRONT_CLOSED "closed the connection; resex events on it may say why"

/*
 * The hello succeeded; peer is its of_peer. -EINVAL: bytes out of range; -ESTALE: the
 * generation is lower than a proven one; -EOVERFLOW: it is above the highest; -ENOTUNIQ: the
 * generation is the same, the start is another. On an error the backend must call front_down with
 * it.
 */
int front_up(struct transport *t, struct transport_out *o, const struct hello_self *peer,
	     const size_t bytes[TRANSPORT_PARTS], struct mono now);
/*
 * A call failed, or a link broke. The front calls hang_up, ends the slots, and calls again
 * after the back-off. why: -errno; text: the end of a sentence that begins with the host
 * (FRONT_CLOSED). For -ESTALE and -ENOTUNIQ the front has its own text.
 */
void front_down(struct transport *t, struct transport_out *o, int why, const char *text,
		struct mono now);
/*
 * The result of a SENT or LATE slot: DONE (data: of a READ, in the backend's buffer, which must
 * not change until the slot is FREE again) or REFUSED. On any other outcome the link ends:
 * front_down.
 */
void front_done(struct transport *t, struct transport_out *o, struct transport_slot *s,
		enum transport_outcome outcome, uint64_t old, const void *data, int why);

/* --- reports of others' links to us ---------------------------------------- */

/* Is this the address of one of our members? The port does not matter. */
bool front_known(const struct transport *t, const struct sockaddr *from);
/*
 * May one more unproven caller connect? 0, or -EAGAIN: disconnect it; it was counted. known:
 * front_known. Half of each limit is reserved for known callers: clients cannot use it up.
 */
int front_caller(struct transport *t, bool known, struct mono now);
/* A caller that front_caller accepted has proven itself, has failed, or has left. */
void front_caller_over(struct transport *t);
/* Begin the responder's side of a hello with a caller. */
static inline void front_answer(struct transport *t, struct hello *h,
				const uint8_t nonce[static HELLO_NONCE])
{
	hello_begin(h, HELLO_RESPONDER, &t->conf, 0, nonce);
	h->list = &t->list;
}

/*
 * May this proven host have a link to us? 0: yes, after its old link was evicted. Otherwise as
 * hello_listed, or as front_up; -ESTALE of a client: one that started later has a link.
 */
int front_proven(struct transport *t, uint16_t host, const struct hello_self *peer);
/*
 * A message of host; data is copied. If it does not fit, it is dropped with an alarm: a
 * backend that can leave the message with the sender asks front_message_fits before.
 */
bool front_message_fits(const struct transport *t, uint16_t host);
void front_message(struct transport *t, uint16_t host, const void *data, uint32_t len);
/* One sentence, without its full stop. Too many of one host are counted, not queued. */
void front_alarm(struct transport *t, uint16_t host, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * A caller that front_caller accepted was disconnected: count it and raise an alarm. host:
 * the number that it claims; 0: none. why: of hello_receive or front_proven; -ETIMEDOUT; -EBUSY: it
 * is proven, but its old link is not destroyed yet. The alarm is attributed to host only if the
 * caller proved that it holds the key.
 */
void front_refused(struct transport *t, uint16_t host, int why, struct mono now);

/*
 * May a host of this role and these rights post operations of this kind? The front asks before it
 * posts; a backend's responder must ask, too, or give no access that allows more: a client may lie.
 */
static inline bool front_may(uint32_t role, uint32_t rights, enum transport_kind kind)
{
	if (role == TRANSPORT_MEMBER || kind == TRANSPORT_READ)
		return true;
	return kind != TRANSPORT_SEND && rights & TRANSPORT_ATOMICS;
}

/* table and words must be there; the other parts may. */
static inline bool front_part_needed(enum transport_part part)
{
	return part == TRANSPORT_TABLE || part == TRANSPORT_WORDS;
}

/* May the owner give its memory by descriptor? */
static inline bool front_part_given(enum transport_part part)
{
	return part == TRANSPORT_LOAD;
}

/* The most bytes that this part may have. */
static inline uint32_t front_part_max(enum transport_part part)
{
	return front_part_needed(part) ? TRANSPORT_PART_MAX : TRANSPORT_OPTIONAL_MAX;
}

/*
 * Is this a size that this part of a region may have? Whole pages: backends register or map a part
 * by pages, and other data in its last page would be shared with peers.
 */
static inline bool front_part_fits(enum transport_part part, uint64_t bytes)
{
	return (bytes || !front_part_needed(part)) && bytes % 4096 == 0 &&
	       bytes <= front_part_max(part);
}

/*
 * Map the memory of a part whose descriptor is in conf.fd, shared and writable. Unmap it at close.
 * -EBADF with text: it cannot serve the part.
 */
int front_map_part(const struct transport_conf *c, enum transport_part part, void **mem,
		   char text[static 256]);
/* Is there memory behind all of this mapping? -EFAULT: a read of it would be a SIGBUS. */
int front_populate(void *mem, size_t len);

/* Random bytes, for nonces. 0 or -errno. */
int front_random(void *buf, size_t len);
/*
 * Parse an IPv4 or IPv6 literal (with %zone) and a port that can be called. -EINVAL: it is
 * not such a literal, or not a host's (0.0.0.0, ::, multicast), or the port is 0.
 */
int front_address(const char *text, uint16_t port, struct sockaddr_storage *a, socklen_t *len);
/* Port 0, for a socket that calls: the kernel chooses the port. a: as front_address gives it. */
void front_any_port(struct sockaddr_storage *a);
/* transport_backend.check for backends with such addresses. */
int front_address_check(const struct transport_peer *p);

/* --- backends --------------------------------------------------------------- */

extern const struct transport_backend transport_shm, transport_tcp, transport_verbs;

#endif
