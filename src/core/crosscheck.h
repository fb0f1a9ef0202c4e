/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crosscheck: does what a guest's queue pairs claim explain what it sent?
 *
 * The guest itself writes its rings; a counter that it cannot forge tells how many
 * bytes it sent. Pure arithmetic on both, window by window:
 *
 *	explained = bytes its rings claim to have sent
 *		  + an acknowledgement for each packet it received
 *		  + all bytes that other guests of the link claim to have READ,
 *		    because it may have served them
 *		    (each with the headers of every packet)
 *	limit     = explained + tolerance + floor
 *
 * Rings claim whole messages, some time after the counter counted their bytes. So
 * bytes sent beyond the limit are a debt that later claims pay, and a window is
 * over only when the debt exceeds what may be in flight. Two windows over in a row
 * begin a divergence; three clean windows end it and cancel the debt. A guest that
 * claims more than it sent does not diverge.
 *
 * Windows in which a counter went back, or another counter replaced it, do not
 * count at all. Nor do those in which the host itself was late (cross_skip): a claim
 * that was read late, or was lost, accuses nobody.
 */
#ifndef RESEX_CORE_CROSSCHECK_H
#define RESEX_CORE_CROSSCHECK_H

#include "src/core/flow.h"

enum {
	CROSS_OVER = 2,	 /* windows in a row that begin a divergence */
	CROSS_CLEAN = 3, /* windows in a row that end it */
	/*
	 * The most a packet has beside its data: Ethernet with a VLAN tag 18,
	 * IPv6 40, UDP 8, BTH 12, RETH 16, immediate data 4, padding 3, ICRC 4,
	 * FCS 4; and an acknowledgement with AETH 4 and an atomic's answer 8.
	 */
	CROSS_HEADERS = 109,
	CROSS_ACK = 98,
	CROSS_FLIGHT_S = 10, /* no more than the link moves in this time is in flight */
	CROSS_UNSEEN_S = 2,  /* nor in messages larger than any that completed */
};

struct cross_conf {
	int64_t window_ns;
	uint32_t tolerance; /* permille of what is explained */
	uint32_t mtu;	    /* of claims whose sizes were lost */
	uint64_t floor;	    /* bytes a second of other traffic that are allowed */
	uint64_t rate;	    /* the link's bytes a second */
};

/* Counters and claims at one moment; counts start at any value. */
struct cross_seen {
	struct mono time;
	uint64_t counter;	/* identifies the counter */
	uint64_t sent;		/* bytes, by the counter */
	uint64_t packets_recv;	/* by the counter */
	struct usage claim;	/* sums of its rings; backlog and msg_bytes are current */
	uint64_t served;	/* bytes, headers included, that it may have served to READs */
	uint64_t served_flight; /* bytes of them perhaps sent, but not claimed yet */
};

/* One window. */
struct cross_window {
	int64_t ns;
	uint64_t sent, explained;
	uint64_t limit;	 /* explained, tolerance and floor */
	uint64_t flight; /* bytes that may be in flight at its end */
};

struct cross {
	bool known; /* was is valid */
	bool diverges;
	uint32_t over, clean;	  /* windows in a row */
	uint32_t missing;	  /* readings in a row without a counter */
	uint64_t windows;	  /* ever */
	uint64_t skipped;	  /* readings that were no evidence */
	uint64_t debt;		  /* bytes sent beyond the limits and not claimed yet */
	uint64_t sent, explained; /* of all windows */
	struct cross_seen was;	  /* at the end of the last */
	struct cross_window last;
};

enum cross_news { CROSS_SAME, CROSS_WINDOW, CROSS_BEGINS, CROSS_ENDS };

/*
 * Add a reading. CROSS_SAME: the window continues, or a new one had to begin;
 * otherwise a window has ended and is in c->last. A new c is all zero.
 */
enum cross_news cross_feed(struct cross *c, const struct cross_conf *conf,
			   const struct cross_seen *now);

/*
 * There is no counter: the next reading is not compared with the previous one.
 * The third call in a row ends a divergence: CROSS_ENDS, else CROSS_SAME.
 */
enum cross_news cross_pause(struct cross *c);

/*
 * The window up to this reading does not count, since the host was late. Windows over the
 * limit and the debt of before are forgotten. A divergence that has begun goes on.
 */
void cross_skip(struct cross *c, const struct cross_seen *now);

/* The bytes that READs of so many bytes and MTUs cost the guest that serves them. */
uint64_t cross_read_bytes(uint64_t bytes, uint64_t mtus);

/*
 * Bytes that may be sent and not claimed yet: the backlog, of messages as large as
 * the largest completed one or as the largest usual ones (16 MiB, bounded by the
 * rate); as much as may be in flight when no message has completed since was.
 */
uint64_t cross_flight(const struct cross_conf *conf, const struct usage *was,
		      const struct usage *now);

/* Bytes a second of one window; 0 when there was none. */
uint64_t cross_rate(const struct cross_window *w, uint64_t bytes);

/* Unexplained bytes a second in the last window, tolerance and floor not deducted. */
uint64_t cross_unexplained(const struct cross *c);

/* The default floor for a link of this rate: a twentieth of it, at least 64 KiB/s. */
uint64_t cross_floor(uint64_t bytes_s);

#endif
