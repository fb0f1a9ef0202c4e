/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * transport: remote memory, by one-sided operations that are posted and polled.
 *
 * Each host serves one region in parts. The read-only parts are written by the host's own
 * CPU only. The atomic part consists of 64-bit words, and no CPU writes it: the atomics of
 * an HCA are atomic only against atomics of the same HCA. So the owner, too, uses its own
 * transport (host == its own number). No host can write to the memory of another, except by
 * these atomics.
 *
 * A *link* has a direction: from the host that posts (the caller) to the host whose memory
 * it is (the responder). Each host opens its own links to all its peers and to itself, and
 * serves theirs. The transport opens links by itself, and opens them again after a failure,
 * with back-off, or at once when the peer has started again and calls. Each time, both sides
 * prove that they hold the pre-shared key (hello.h) and check that they agree
 * (transport_conf.agreement), before the addresses and keys of the region are sent. A responder
 * destroys the old link of a host before it accepts a new one: then no operation of the old link
 * can be executed any more.
 *
 * A *client* has a number, and calls members, but serves nothing: a tool, or a proxy. It may READ.
 * Atomics need a right that the responder has given to its number (transport_peer.rights); SEND is
 * for members. What it has no right to is REFUSED, and its link goes on; a responder refuses it
 * too, whatever the client's own transport does.
 *
 * The backends have the same contract (tests/transport/): "verbs" (RC, one protection
 * domain a peer), "shm" (hosts are processes of one machine; faults can be injected) and
 * "tcp" (two-sided: the peer's process answers).
 *
 * The memory of a host that has died is never read as that of its next life. Over tcp and verbs its
 * end is the end of what answers. Over shm its memory outlives it. So a word that the kernel marks
 * is looked at behind each READ (resex/life_abi.h): if the host was dead then, the READ is LOST,
 * and its link ends.
 *
 * A handle is used by one thread at a time. A member's is closed by the thread that opened it; if
 * that thread ends before, peers over shm take the host for dead. Only open and close block.
 * Functions return 0, a count, or -errno. Time is an argument (of util/clock.h, real or simulated;
 * the same clock for all calls of a handle).
 */
#ifndef RESEX_TRANSPORT_H
#define RESEX_TRANSPORT_H

#include <stddef.h>

#include "src/core/units.h"

enum {
	TRANSPORT_HOSTS_MAX = 256,	   /* hosts are numbered 1 .. 256 */
	TRANSPORT_DEPTH = 8,		   /* operations outstanding on a link */
	TRANSPORT_READ_MAX = 16384,	   /* bytes of one READ */
	TRANSPORT_MESSAGE_MAX = 1024,	   /* bytes of one message */
	TRANSPORT_PART_MAX = 1 << 20,	   /* bytes of table and words, a multiple of 4096 */
	TRANSPORT_OPTIONAL_MAX = 64 << 20, /* of the other parts; 0: not there */
	TRANSPORT_KEY_MIN = 16,		   /* bytes of the pre-shared key */
	TRANSPORT_KEY_MAX = 256,
	TRANSPORT_ADDRESS_MAX = 108,
	TRANSPORT_NAME_MAX = 64,
};

enum transport_part {
	TRANSPORT_TABLE, /* read-only: READ alone */
	TRANSPORT_WORDS, /* atomic: READ, CAS64, FAA64 */
	/* A host may have these, or not; read-only. */
	TRANSPORT_LOAD,	    /* what its nodes carry */
	TRANSPORT_VERSIONS, /* of what others may keep in their caches */
	TRANSPORT_PARTS,
};

/* What a host is to the others. */
enum transport_role {
	TRANSPORT_MEMBER, /* serves a region, calls the others, and may do all */
	TRANSPORT_CLIENT, /* calls members, and serves nothing; may READ */
	TRANSPORT_ROLES,
};

/* What a client may do beyond READ: a set of these bits. 0 for a member, which may do all. */
enum transport_right {
	TRANSPORT_ATOMICS = 1 << 0, /* CAS64 and FAA64 */
	TRANSPORT_RIGHTS = TRANSPORT_ATOMICS,
};

enum transport_kind {
	TRANSPORT_READ,
	TRANSPORT_CAS64, /* compare, and if equal swap to value */
	TRANSPORT_FAA64, /* add value */
	TRANSPORT_SEND,	 /* a message; the only kind that is not one-sided */
	TRANSPORT_KINDS,
};

struct transport_op {
	enum transport_kind kind;
	uint16_t host;
	enum transport_part part; /* not for SEND */
	uint32_t offset;	  /* bytes into the part; a multiple of 8 */
	uint32_t len;		  /* READ: a multiple of 8, > 0; SEND: > 0; atomics: 8 or 0 */
	uint64_t compare;	  /* CAS64 */
	uint64_t value;		  /* CAS64: the new word; FAA64: what is added */
	const void *data;	  /* SEND: the message; post copies it */
	uint64_t tag;		  /* chosen by the user; comes back with the result */
	struct mono deadline;	  /* a late READ takes a place on its link up to 2 s longer */
};

/* Every operation that was posted ends in exactly one of these. */
enum transport_outcome {
	TRANSPORT_DONE, /* executed, once. SEND: the peer's transport has the message */
	/*
	 * Refused by the responder, or by our own transport for want of a right (-EPERM): not
	 * executed, and never will be.
	 */
	TRANSPORT_REFUSED,
	/*
	 * Not executed, and never will be. READ: there is no data. Its link has ended, or the
	 * deadline passed (-ETIME): then the link may go on.
	 */
	TRANSPORT_LOST,
	/*
	 * An atomic or a SEND that was outstanding when the link broke, or its deadline
	 * passed, which ends the link. It was executed, or it may still be until the
	 * responder has destroyed that link, or it never will be. Only a READ on a newer link
	 * (a higher event.link of the same host) can tell.
	 */
	TRANSPORT_UNKNOWN,
};

enum transport_event_type {
	TRANSPORT_RESULT,  /* of one operation */
	TRANSPORT_UP,	   /* the link to host is up */
	TRANSPORT_DOWN,	   /* the link is down; the results of its operations came before */
	TRANSPORT_MESSAGE, /* host sent data */
	TRANSPORT_ALARM,   /* something suspicious happened: text says what */
};

struct transport_event {
	enum transport_event_type type;
	uint16_t host;	     /* the peer; ALARM: 0 if it is not known */
	uint32_t link;	     /* number of the link to this host, from 1; MESSAGE, ALARM: 0 */
	uint64_t generation; /* UP: of the peer */
	int why;	     /* DOWN, and RESULT that is not DONE: a -errno with the cause */
	/* RESULT */
	enum transport_kind kind;
	enum transport_outcome outcome;
	uint64_t tag;
	uint64_t old;	  /* DONE atomics: the word before */
	const void *data; /* DONE READs, MESSAGE: valid until the next poll or close */
	uint32_t len;
	char text[128]; /* ALARM, DOWN: one sentence for people; of the others text[0] is 0 */
};

struct transport_peer {
	uint16_t host;
	char name[TRANSPORT_NAME_MAX];	     /* for people */
	char address[TRANSPORT_ADDRESS_MAX]; /* as transport_conf.address; of a client: not used */
	uint16_t port;
	enum transport_role role;
	uint32_t rights; /* of a client: enum transport_right */
};

struct transport_conf {
	uint16_t host; /* our own number */
	/*
	 * Higher at each start of this host, > 0. Of a client: the time of its start, such as ns
	 * since 1970. While a process with its number is connected, one that started earlier is
	 * refused there, and one that started later replaces it.
	 */
	uint64_t generation;
	enum transport_role role;
	uint32_t rights; /* a client asks for these: enum transport_right */
	/*
	 * The highest that any member may have; 0: no limit. A peer with a higher one is refused:
	 * by one wrong number the host could never start again.
	 */
	uint64_t generation_max;
	/*
	 * Distinguishes this start from another start with the same generation. Peers refuse
	 * such a host: its generation was lost. 0: drawn at random. Set it for runs that
	 * must repeat.
	 */
	uint64_t start;
	/* A digest of the settings that must be equal on both hosts. If not: no link. */
	uint64_t agreement;
	char cluster[TRANSPORT_NAME_MAX];
	const uint8_t *key; /* copied */
	size_t key_len;
	/*
	 * verbs, tcp: an IP address and port to listen at; shm: a directory, port 0. Of a client:
	 * the address that it calls from, or "" for any (verbs: there must be one device); port 0.
	 */
	char address[TRANSPORT_ADDRESS_MAX];
	uint16_t port;
	size_t bytes[TRANSPORT_PARTS]; /* table and words: > 0; of a client all are 0 */
	/*
	 * 0: the transport allocates the part. Of the part LOAD: a descriptor, open for reading
	 * and writing, of the memory to serve: a file of memfd_create, which is then sealed against
	 * changes of its size, or a device whose mappings are all of the same memory. What any
	 * process writes to that memory, peers READ; peers cannot write there. It is mapped at
	 * open; the descriptor remains the caller's, who may close it then. shm gives peers a
	 * descriptor of it that is open for reading alone, by opening it again; they are processes
	 * of root or of this user, and a file of this user they could open for writing themselves.
	 * 0 is no descriptor here: give another number to one that is.
	 */
	int fd[TRANSPORT_PARTS];
	/* First contents of the atomic part, bytes[TRANSPORT_WORDS] long, copied. NULL: zeros. */
	const uint64_t *words;
	int64_t connect_ns;			/* limit for opening a link; 0: 5 s */
	int64_t backoff_min_ns, backoff_max_ns; /* 0: 20 ms, 2 s */
	/* Limits; further callers are disconnected. Half is reserved for our hosts' addresses. */
	uint32_t hellos_max;	/* unproven callers at once; 0: 8 */
	uint32_t hellos_second; /* callers a second; 0: 64 */
	uint64_t seed;		/* of the back-off's jitter */
};

struct transport_stats {
	uint64_t ops[TRANSPORT_KINDS]; /* posted */
	uint64_t outcomes[4];	       /* by enum transport_outcome */
	/*
	 * The longest chain of operations, each posted after the result of the one before
	 * was returned: so many round trips the user has waited for.
	 */
	uint64_t rounds;
	/* READs and atomics that the CPU of this process executed; 0 for one-sided backends. */
	uint64_t served;
	uint64_t links_up, links_down;
	/* Wrong proof, role, rights, generation, other start, agreement; unknown host; limit. */
	uint64_t refused_callers;
	uint64_t alarms;
};

struct transport;

struct transport_backend {
	const char *name;
	bool has_ports; /* a host is called at an address and a port; else at an address alone */
	/* Is this a valid address of a peer? 0 or -EINVAL. Opens nothing. NULL: any is. */
	int (*check)(const struct transport_peer *p);
	/*
	 * Serve the region and listen. -EINVAL: conf out of range; -EADDRINUSE: the address
	 * is in use; -ENODEV: there is no device (verbs); -EOPNOTSUPP: the device has no
	 * atomics; -EBADF: a descriptor of conf.fd cannot serve its part; -EACCES; -ENOMEM. shm:
	 * also those of set_robust_list(2). text:
	 * one sentence for people.
	 */
	int (*open)(struct transport **t, const struct transport_conf *c, struct mono now,
		    char text[static 256]);
};

/* The backends that were built; the last element is NULL. */
extern const struct transport_backend *const transport_backends[];
const struct transport_backend *transport_find(const char *name);

/* Ends all links and frees. Outstanding operations get no result. t may be NULL. */
void transport_close(struct transport *t);

/*
 * The read-only part, for its owner to write: bytes[TRANSPORT_TABLE] long, zeros at open,
 * valid until close. There is no pointer to the atomic part. A client has none: NULL.
 */
void *transport_table(struct transport *t);
/*
 * The same of any part: NULL if it is not there, and for the atomic part. Of one that was given by
 * descriptor: that memory, with the contents that it has.
 */
void *transport_part(struct transport *t, enum transport_part part);

/*
 * Keep a link to this peer (or to ourselves: host == conf.host; its address is not used).
 * Only hosts that were added may open links to us, in the role and with at most the rights that
 * were given here. To a client no link is opened. A client adds members alone, and not itself.
 * -EEXIST: it was added already; -EINVAL: bad number, address, role or rights; -ENOMEM.
 */
int transport_add(struct transport *t, const struct transport_peer *p, struct mono now);
/*
 * End the links of both directions at once. Poll returns the results and DOWN. Of what the host has
 * posted, an operation that has begun may still be executed. -ENOENT.
 */
int transport_remove(struct transport *t, uint16_t host, struct mono now);
/* The number of the link to host if it is up; 0 if not. */
uint32_t transport_link(const struct transport *t, uint16_t host);
/*
 * A descriptor of the part VERSIONS of the host on the link that is up, for another process of this
 * machine: it can be mapped for reading alone, and keeps its size. The caller closes it. Behind the
 * part there is one page more, which begins with the word of resex/life_abi.h. What is read in the
 * part is what a READ would give, if that word, read after it, says that the host's process lives:
 * the memory outlives it. -EOPNOTSUPP: all backends but shm; -ENOTCONN: no link; -ERANGE: the host
 * has no such part; -EMFILE, -ENFILE.
 */
int transport_share(const struct transport *t, uint16_t host, int *fd);

/*
 * Post n operations in order. Those of one link are executed in order. Returns how many
 * were posted, from the first. If that is not n, *why (may be NULL) says why the next one
 * was not: -ENOTCONN: no link; -EAGAIN: TRANSPORT_DEPTH are outstanding; -EINVAL: kind,
 * host, alignment, length; -ERANGE: outside the peer's part, or the peer has no such part;
 * -ETIME: deadline not after now.
 */
size_t transport_post(struct transport *t, const struct transport_op *op, size_t n, struct mono now,
		      int *why);

/*
 * Do what is due, and return at most max events, oldest first. A DOWN comes after the
 * results of all operations of its link and before the next UP.
 *
 * now may be older than the time of the call: what is due happens so much later. A caller that
 * polls without a pause need not read its clock each time. Over verbs, such a caller gets results
 * in each poll, and all other events at most 0.5 ms of its clock later than they could come.
 */
size_t transport_poll(struct transport *t, struct mono now, struct transport_event *ev, size_t max);

/*
 * To sleep: call arm first. 1: do not sleep, call transport_poll again. 0: sleep until fd is
 * readable (poll(2), epoll) or *due, whichever is first. fd is the same for the handle's
 * life.
 */
int transport_fd(struct transport *t);
int transport_arm(struct transport *t, struct mono now, struct mono *due);

void transport_stats(const struct transport *t, struct transport_stats *s);

#endif
