/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sim: a backend in virtual time, for clusters that are SIMULATED: READs alone, of memory that its
 * user keeps. No daemon can be told to use it: it is not in transport_backends.
 *
 *	posted -> there_ns -> the memory is read -> back_ns -> the result
 *
 * A link is up in the first poll after its peer was added, and nothing fails. There is no
 * descriptor: the user polls when transport_arm() says that something is due, and not later, or the
 * memory is read later. Atomics and messages are REFUSED.
 */
#ifndef RESEX_TRANSPORT_SIM_H
#define RESEX_TRANSPORT_SIM_H

#include "src/transport/transport.h"

struct transport_sim {
	int64_t there_ns, back_ns;     /* not negative */
	size_t bytes[TRANSPORT_PARTS]; /* of each peer's region, as in transport_conf */
	uint64_t generation;	       /* of each peer, from 1 */
	void *arg;
	/* Copy len bytes of this host's part, as they are now. They are within bytes. */
	void (*read)(void *arg, uint16_t host, enum transport_part part, uint32_t offset,
		     uint32_t len, struct mono now, void *to);
};

/* Open a client with this number. -EINVAL: out of range; -ENOMEM. text: one sentence. */
int transport_sim_open(struct transport **t, const struct transport_sim *s, uint16_t host,
		       struct mono now, char text[static 256]);

#endif
