/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * transport: remote memory, by one-sided operations that are posted and polled.
 *
 * Each host serves one region in two parts: a read-only part, which only its own
 * CPU writes, and an atomic part of 64-bit words, which nobody's CPU writes: an
 * HCA's atomics are atomic against atomics of the same HCA alone, so that the
 * owner too goes through its own transport (host == its own number). There is
 * no remote write.
 *
 * A *link* is directed: from the host that posts to the host whose memory it
 * is. Each host opens its own links to all its peers and to itself, and serves
 * theirs. Links are opened, and opened again after a failure, by the transport
 * alone, with back-off; each time both sides prove that they hold the
 * pre-shared key (hello.h), and see that they agree (transport_conf.agreement),
 * before the region's addresses and keys travel. A responder destroys the old
 * link of a host before it accepts a new one: what was posted on the old one can
 * then no longer be executed.
 *
 * Backends, each of the same contract (tests/transport/): "verbs" (RC, one
 * protection domain a peer), "shm" (hosts are processes of one machine; faults
 * can be injected) and "tcp" (two-sided: the peer's process answers).
 *
 * One thread at a time uses a handle. Nothing blocks but open and close.
 * Functions return 0, a count, or -errno. Time is an argument (of util/clock.h,
 * real or simulated; the same for all calls of a handle).
 */
#ifndef RESEX_TRANSPORT_H
#define RESEX_TRANSPORT_H

#include <stddef.h>

#include "src/core/units.h"

enum {
	TRANSPORT_HOSTS_MAX = 64,     /* hosts are numbered 1 .. 64 */
	TRANSPORT_DEPTH = 8,	      /* operations outstanding on a link */
	TRANSPORT_READ_MAX = 16384,   /* bytes of one READ */
	TRANSPORT_MESSAGE_MAX = 1024, /* bytes of one message */
	TRANSPORT_PART_MAX = 1 << 20, /* bytes of a part of a region, a multiple of 4096 */
	TRANSPORT_KEY_MIN = 16,	      /* bytes of the pre-shared key */
	TRANSPORT_KEY_MAX = 256,
	TRANSPORT_ADDRESS_MAX = 108,
	TRANSPORT_NAME_MAX = 64,
};

enum transport_part {
	TRANSPORT_TABLE, /* read-only: READ alone */
	TRANSPORT_WORDS, /* atomic: READ, CAS64, FAA64 */
	TRANSPORT_PARTS,
};

enum transport_kind {
	TRANSPORT_READ,
	TRANSPORT_CAS64, /* compare, and if equal swap to value */
	TRANSPORT_FAA64, /* add value */
	TRANSPORT_SEND,	 /* a message: the one that is not one-sided */
	TRANSPORT_KINDS,
};

struct transport_op {
	enum transport_kind kind;
	uint16_t host;
	enum transport_part part; /* not of SEND */
	uint32_t offset;	  /* bytes into the part; a multiple of 8 */
	uint32_t len;		  /* READ: a multiple of 8, > 0; SEND: > 0; atomics: 8 or 0 */
	uint64_t compare;	  /* CAS64 */
	uint64_t value;		  /* CAS64: to be swapped in; FAA64: to be added */
	const void *data;	  /* SEND: copied by post */
	uint64_t tag;		  /* the caller's, given back */
	struct mono deadline;
};

/* Every operation that post took ends in exactly one of these. */
enum transport_outcome {
	TRANSPORT_DONE,	   /* executed, once; a SEND: it lies with the peer's transport */
	TRANSPORT_REFUSED, /* by the responder; not executed, and never will be */
	TRANSPORT_LOST,	   /* not executed, and never will be; a READ: nothing is known */
	/*
	 * An atomic or a SEND that was on its way when the link broke or its
	 * deadline passed: it may have been executed, or may be yet, until the
	 * responder has destroyed that link. Only a READ on a newer link (a
	 * higher event.link from the same host) tells.
	 */
	TRANSPORT_UNKNOWN,
};

enum transport_event_type {
	TRANSPORT_RESULT,  /* of one operation */
	TRANSPORT_UP,	   /* the link to host can be used */
	TRANSPORT_DOWN,	   /* it no longer can; its operations' results came before */
	TRANSPORT_MESSAGE, /* host sent data */
	TRANSPORT_ALARM,   /* something is not as among friends: text says what */
};

struct transport_event {
	enum transport_event_type type;
	uint16_t host;	     /* the other end; ALARM: 0 when it is not known */
	uint32_t link;	     /* counts up from 1 with each link to this host; MESSAGE, ALARM: 0 */
	uint64_t generation; /* UP: the peer's */
	int why;	     /* RESULT that is not DONE, DOWN: a -errno that says more */
	/* RESULT */
	enum transport_kind kind;
	enum transport_outcome outcome;
	uint64_t tag;
	uint64_t old;	  /* DONE atomics: the word before */
	const void *data; /* DONE READ, MESSAGE: valid until the next poll or close */
	uint32_t len;
	char text[128]; /* ALARM, DOWN: one sentence for people */
};

struct transport_peer {
	uint16_t host;
	char name[TRANSPORT_NAME_MAX];	     /* for people */
	char address[TRANSPORT_ADDRESS_MAX]; /* as transport_conf.address */
	uint16_t port;
};

struct transport_conf {
	uint16_t host;	     /* our own number */
	uint64_t generation; /* higher at each start of this host, > 0 */
	/*
	 * Tells this start from another of the same generation, which peers refuse: the
	 * generation was lost. 0: drawn at random. Give one for runs that repeat.
	 */
	uint64_t start;
	/* A digest of what must be equal on both hosts: no link to one that has another. */
	uint64_t agreement;
	char cluster[TRANSPORT_NAME_MAX];
	const uint8_t *key; /* copied */
	size_t key_len;
	/* verbs, tcp: an IP address and port to listen at; shm: a directory, port 0 */
	char address[TRANSPORT_ADDRESS_MAX];
	uint16_t port;
	size_t bytes[TRANSPORT_PARTS];
	/* What the atomic part begins with, bytes[TRANSPORT_WORDS] long; NULL: zeros. Copied. */
	const uint64_t *words;
	int64_t connect_ns;			/* a link must stand after so long; 0: 2 s */
	int64_t backoff_min_ns, backoff_max_ns; /* 0: 20 ms, 2 s */
	/* Beyond these who calls is hung up on; half of each is kept for our hosts' addresses. */
	uint32_t hellos_max;	/* unproven callers at once; 0: 8 */
	uint32_t hellos_second; /* callers a second; 0: 64 */
	uint64_t seed;		/* of the back-off's jitter */
};

struct transport_stats {
	uint64_t ops[TRANSPORT_KINDS]; /* posted */
	uint64_t outcomes[4];	       /* by enum transport_outcome */
	/*
	 * The longest chain of operations of which each was posted after the
	 * result of the one before was handed out: round trips one has waited for.
	 */
	uint64_t rounds;
	/* READs and atomics that this process's CPU executed: 0 for one-sided backends. */
	uint64_t served;
	uint64_t links_up, links_down;
	/* Wrong proof, unknown host, old generation, start or agreement not ours, too many. */
	uint64_t refused_callers;
	uint64_t alarms;
};

struct transport;

struct transport_backend {
	const char *name;
	bool has_ports; /* a host is called at an address and a port; else at an address alone */
	/* Can this peer's address be called at all? 0 or -EINVAL. Opens nothing. NULL: any can. */
	int (*check)(const struct transport_peer *p);
	/*
	 * Serve the region and listen. -EINVAL: conf out of range; -EADDRINUSE:
	 * somebody serves there; -ENODEV: no device (verbs); -EOPNOTSUPP: its
	 * device has no atomics; -EACCES; -ENOMEM. text: one sentence for people.
	 */
	int (*open)(struct transport **t, const struct transport_conf *c, struct mono now,
		    char text[static 256]);
};

/* The backends built in, ended by NULL. */
extern const struct transport_backend *const transport_backends[];
const struct transport_backend *transport_find(const char *name);

/* Ends all links and frees; operations outstanding get no result. NULL is nothing. */
void transport_close(struct transport *t);

/*
 * The read-only part, for its owner to write into; bytes[TRANSPORT_TABLE] long,
 * zeroed at open. Valid until close. There is no pointer to the atomic part.
 */
void *transport_table(struct transport *t);

/*
 * Keep a link to this peer (or to ourselves: host == conf.host, address
 * unused). -EEXIST: already; -EINVAL: number or address; -ENOMEM. Only hosts
 * added may open links to us.
 */
int transport_add(struct transport *t, const struct transport_peer *p, struct mono now);
/* Ends both directions at once; results and DOWN come by poll. -ENOENT. */
int transport_remove(struct transport *t, uint16_t host, struct mono now);
/* Is the link to host up? Its link number, or 0. */
uint32_t transport_link(const struct transport *t, uint16_t host);

/*
 * Post n operations in order; those of one link are executed in order. How many
 * were taken, from the first; when that is not all, *why (may be NULL) is of
 * the first that was not: -ENOTCONN: no link; -EAGAIN: TRANSPORT_DEPTH are
 * outstanding; -EINVAL: kind, host, alignment, length; -ERANGE: outside the
 * peer's part; -ETIME: deadline not after now.
 */
size_t transport_post(struct transport *t, const struct transport_op *op, size_t n, struct mono now,
		      int *why);

/*
 * Move everything on, and take at most max events, oldest first. A DOWN comes
 * after the results of all operations of its link and before the next UP.
 */
size_t transport_poll(struct transport *t, struct mono now, struct transport_event *ev, size_t max);

/*
 * Sleeping: fd is readable when poll has something to do (poll(2), epoll; the
 * same for the handle's life). First call arm: 1: do not sleep, poll again; 0:
 * sleep until fd is readable or *due, whichever is first.
 */
int transport_fd(struct transport *t);
int transport_arm(struct transport *t, struct mono now, struct mono *due);

void transport_stats(const struct transport *t, struct transport_stats *s);

#endif
