/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crosscheck: does what a guest's queue pairs claim explain what it sent?
 *
 * The rings are the guest's own evidence; a counter that it cannot forge says
 * how many bytes left it. Pure arithmetic on both, window by window. Explained
 * is, with the headers of every packet, what its rings claim to have sent, an
 * acknowledgement for each packet it received, and all that other guests of
 * the link claim to have READ, which it may have served. A window is over
 * when more was sent than that, the tolerance and the floor together.
 *
 * What is claimed is whole messages, some time after their bytes were counted.
 * So what was over is kept as a debt that later claims pay, and a window is
 * over only when the debt is more than may be in flight. Two windows over, one
 * after the other, begin a divergence; three clean ones end it and forgive the
 * debt. To claim more than was sent is no divergence.
 *
 * No comparison is made across counters that went back, and none between a
 * counter and another that took its place: such windows do not count at all.
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
	uint64_t floor;	    /* bytes a second that may be anything else */
	uint64_t rate;	    /* the link's bytes a second */
};

/* All there is at one moment; counts grow from wherever they began. */
struct cross_seen {
	struct mono time;
	uint64_t counter;	/* which one it is: another value, another counter */
	uint64_t sent;		/* bytes, by the counter */
	uint64_t packets_recv;	/* likewise */
	struct usage claim;	/* of its rings; backlog and msg_bytes as they are now */
	uint64_t served;	/* bytes, headers included, that it may have served to READs */
	uint64_t served_flight; /* of these, may have been sent and are not claimed yet */
};

/* What one window had. */
struct cross_window {
	int64_t ns;
	uint64_t sent, explained;
	uint64_t limit;	 /* explained, tolerance and floor */
	uint64_t flight; /* may be in flight at its end */
};

struct cross {
	bool known; /* was is filled */
	bool diverges;
	uint32_t over, clean;	  /* windows in a row */
	uint32_t missing;	  /* times in a row that there was no counter */
	uint64_t windows;	  /* ever */
	uint64_t debt;		  /* bytes sent beyond the limits, and not yet claimed */
	uint64_t sent, explained; /* of all windows */
	struct cross_seen was;	  /* at the end of the last */
	struct cross_window last;
};

enum cross_news { CROSS_SAME, CROSS_WINDOW, CROSS_BEGINS, CROSS_ENDS };

/*
 * Take what there is now. CROSS_SAME: the window goes on, or a new one had to
 * begin; else one has ended: c->last. c is zeroed at first.
 */
enum cross_news cross_feed(struct cross *c, const struct cross_conf *conf,
			   const struct cross_seen *now);

/*
 * There is no counter: the next value is not compared with what was. Three
 * times in a row end a divergence: CROSS_ENDS, else CROSS_SAME.
 */
enum cross_news cross_pause(struct cross *c);

/* READs of n bytes in so many packets, as bytes of whoever serves them. */
uint64_t cross_read_bytes(uint64_t bytes, uint64_t mtus);

/*
 * What may be sent and not claimed yet: the backlog, of messages as large as
 * any that completed, or as they are made (16 MiB); as much as there may be
 * when none has completed since was.
 */
uint64_t cross_flight(const struct cross_conf *conf, const struct usage *was,
		      const struct usage *now);

/* Bytes a second of one window; 0 when there was none. */
uint64_t cross_rate(const struct cross_window *w, uint64_t bytes);

/* Bytes a second that nothing explains, of the last window; tolerance and floor not taken off. */
uint64_t cross_unexplained(const struct cross *c);

/* What holds for a link of this rate when no floor is set: a twentieth, at least 64 KiB/s. */
uint64_t cross_floor(uint64_t bytes_s);

#endif
