/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * backend: between the front (transport.c) and a backend.
 *
 * The front holds what is the same for all: the checks of an operation, the
 * slots, deadlines, back-off, numbers of links, the queue of events, counts,
 * limits on callers. A backend moves bytes: it embeds struct transport as its
 * first member, is asked through transport_ops, and reports through front_*().
 * The responder's side (listening, hello, serving) is the backend's alone, but
 * for who may come in (front_caller, front_proven).
 */
#ifndef RESEX_TRANSPORT_BACKEND_H
#define RESEX_TRANSPORT_BACKEND_H

#include <stdbool.h>
#include <sys/socket.h>

#include "src/transport/front/hello.h"
#include "src/transport/transport.h"

/*
 * TRANSPORT_DEPTH operations are outstanding on a link at most, and as many
 * whose READ was handed out still lend their buffer to the user.
 */
enum { TRANSPORT_SLOTS = 2 * TRANSPORT_DEPTH };

enum slot_state {
	SLOT_FREE,
	SLOT_WAITS, /* taken by post, not given to the backend's wire yet: LOST if the link ends */
	SLOT_SENT,  /* may be executed: an atomic or SEND is UNKNOWN if the link ends */
	SLOT_OVER,  /* its result waits in the queue */
	SLOT_TOLD,  /* its result was handed out; its buffer is in use until the next poll */
};

struct transport_slot {
	enum slot_state state;
	uint32_t index; /* 0 .. TRANSPORT_SLOTS - 1 */
	struct transport_op op;
	uint8_t message[TRANSPORT_MESSAGE_MAX]; /* SEND: op.data points here */
	uint64_t round; /* 1 + the rounds that were over when it was posted */
	uint64_t order; /* of posting, within the handle */
};

enum link_state { LINK_OFF, LINK_WAITS, LINK_CALLS, LINK_UP };

/* Our link to one peer: we are the caller. */
struct transport_out {
	struct transport_peer peer;
	struct sockaddr_storage at; /* its address; AF_UNSPEC: it has none (shm) */
	bool added;
	enum link_state state;
	struct mono due; /* WAITS: call again; CALLS: give up */
	uint32_t link;	 /* of the newest that stood */
	uint32_t failures;
	uint64_t generation;	       /* of the peer, newest */
	size_t bytes[TRANSPORT_PARTS]; /* of the peer's region; set by front_up */
	/* The front's own: one bit a slot that is not FREE, by its state. */
	uint32_t waits, sent, over, told;
	uint32_t events; /* of this link that wait in the queue */
	struct transport_slot slot[TRANSPORT_SLOTS];
};

struct transport_ops {
	void (*close)(struct transport *t);
	/* As transport_backend.check. */
	int (*check)(const struct transport_peer *p);
	/*
	 * Begin to call this peer. Reports front_up or front_down later (also
	 * from within). -errno: it could not begin, which is a failure as well.
	 */
	int (*call)(struct transport *t, struct transport_out *o, struct mono now);
	/*
	 * End our link to this peer, or the call, at once: when this returns,
	 * nothing of it touches a slot or its buffer any more. The front finishes
	 * the slots. Never reports.
	 */
	void (*hang_up)(struct transport *t, struct transport_out *o);
	/* End the peer's link to us, if there is one. Never reports. */
	void (*evict)(struct transport *t, uint16_t host);
	/*
	 * Give a slot to the wire. Slots of a link are given in the order posted.
	 * -EAGAIN: no room now, it will be given again after the next progress; any
	 * other error ends the link. front_done may be called from within. The front
	 * makes the slot SENT before, and lets it wait again when this fails: the
	 * backend never writes slot->state.
	 */
	int (*submit)(struct transport *t, struct transport_out *o, struct transport_slot *s,
		      struct mono now);
	/* Move everything on: callers, calls, completions, requests of others. */
	void (*progress)(struct transport *t, struct mono now);
	int (*fd)(struct transport *t);
	/* As transport_arm, for what the backend waits for; *due lowered, never raised. */
	int (*arm)(struct transport *t, struct mono now, struct mono *due);
};

struct front_queue;

struct transport {
	const struct transport_ops *ops;
	struct transport_conf conf; /* its key is ours */
	uint8_t *key;		    /* in a page that is in no core dump and no child */
	void *table;		    /* the read-only part, set by the backend */
	struct transport_out out[TRANSPORT_HOSTS_MAX]; /* by host - 1 */
	/* Of the newest start of each host that was proven; by host - 1. generation 0: none was. */
	struct hello_self newest[TRANSPORT_HOSTS_MAX];
	struct transport_stats stats;
	/* The rest is the front's own (front.h). */
	struct mono now;      /* of the newest call */
	struct mono due;      /* the first of the front's timers, or earlier */
	uint64_t round;	      /* highest whose result was handed out */
	uint64_t order;	      /* of the newest slot */
	uint64_t waits, told; /* bit host - 1: it has slots in this state */
	uint32_t hellos;      /* unproven callers now */
	uint32_t hellos_new;  /* in the second that began at hellos_since */
	struct mono hellos_since;
	struct front_queue *queue; /* of events */
	uint32_t rng;
};

/*
 * For a backend's open: check the conf (its address is the backend's), copy it
 * and the key, fill in the defaults. -EINVAL, -ENOMEM with text.
 */
int front_init(struct transport *t, const struct transport_ops *ops, const struct transport_conf *c,
	       struct mono now, char text[static 256]);
/* For a backend's close: frees what the front holds, wipes the key. */
void front_fini(struct transport *t);

/* --- reports of our own links ---------------------------------------------- */

/* The end of a sentence that begins with a host, on every transport. */
#define FRONT_CLOSED "hung up: it ended, or refuses this host: see its alarms"

/*
 * The hello is over: peer is its of_peer. -EINVAL: bytes out of range; -ESTALE: a
 * generation lower than one that was proven; -ENOTUNIQ: of the same generation, but
 * another start: the backend must call front_down with it.
 */
int front_up(struct transport *t, struct transport_out *o, const struct hello_self *peer,
	     const size_t bytes[TRANSPORT_PARTS], struct mono now);
/*
 * A call failed, or a link that stood broke. The front calls hang_up, finishes
 * the slots, and calls again after the back-off. why: -errno; text: the end of
 * a sentence that begins with the host (FRONT_CLOSED); of -ESTALE and
 * -ENOTUNIQ the front has its own.
 */
void front_down(struct transport *t, struct transport_out *o, int why, const char *text,
		struct mono now);
/*
 * A slot that was SENT is over: DONE (data of a READ in the backend's own
 * buffer, which stays until the slot is FREE again) or REFUSED. Anything else
 * ends the link: front_down.
 */
void front_done(struct transport *t, struct transport_out *o, struct transport_slot *s,
		enum transport_outcome outcome, uint64_t old, const void *data, int why);

/* --- reports of others' links to us ---------------------------------------- */

/* Is it the address of one of our hosts? The port does not matter. */
bool front_known(const struct transport *t, const struct sockaddr *from);
/*
 * May one more caller that has proven nothing come in? 0; -EAGAIN: hang up; it is counted.
 * One that is not known to us must leave room for those that are.
 */
int front_caller(struct transport *t, bool known, struct mono now);
/* A caller taken by front_caller proved itself, failed, or went (host 0 then). */
void front_caller_over(struct transport *t);
/* Who proved itself may: 0, then evict its old link first; -EPERM: not added; as front_up. */
int front_proven(struct transport *t, uint16_t host, const struct hello_self *peer);
/*
 * A message; data is copied into the event's own memory. One that does not fit is
 * dropped, with an alarm: a backend that can leave it where it is asks before.
 */
bool front_message_fits(const struct transport *t, uint16_t host);
void front_message(struct transport *t, uint16_t host, const void *data, uint32_t len);
/* One sentence, without its full stop; too many a host are only counted. */
void front_alarm(struct transport *t, uint16_t host, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Counts, and raises an alarm: a caller that front_caller took, and that says it
 * is host (0: it did not say), was hung up on: why is of hello_take or front_proven,
 * or -ETIMEDOUT. The alarm is of that host only when it proved to be of the cluster.
 */
void front_refused(struct transport *t, uint16_t host, int why, struct mono now);

/* Random bytes, for nonces. 0 or -errno. */
int front_random(void *buf, size_t len);
/*
 * An IPv4 or IPv6 literal (with %zone) and a port that one can call. -EINVAL: it is
 * none, or names no host (0.0.0.0, ::), or the port is 0.
 */
int front_address(const char *text, uint16_t port, struct sockaddr_storage *a, socklen_t *len);
/* transport_backend.check where addresses are such. */
int front_address_check(const struct transport_peer *p);

/* --- backends --------------------------------------------------------------- */

extern const struct transport_backend transport_shm, transport_tcp, transport_verbs;

#endif
