/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outbox: messages that need no result, as a step function: each is kept until its SEND has ended.
 * Bounded, for each host and for all: what finds no room is dropped, as what is lost on its way.
 */
#ifndef RESEX_CACHED_OUTBOX_H
#define RESEX_CACHED_OUTBOX_H

#include "src/reconf/step.h"

enum {
	OUTBOX_MAX = 1024,
	OUTBOX_HOST_MAX = 128, /* to one host */
	OUTBOX_BYTES = 64,     /* of a message */
	OUTBOX_HOSTS = REGION_HOSTS_MAX + 1,
};

struct outbox_letter {
	uint32_t next; /* of the free ones: its number + 1; 0: the last */
	bool sent;
	uint8_t data[OUTBOX_BYTES];
};

struct outbox {
	uint32_t tag; /* it uses tag .. tag + OUTBOX_MAX - 1 */
	uint32_t free;
	uint32_t waits[OUTBOX_HOSTS];
	uint64_t dropped;
	struct outbox_letter letter[OUTBOX_MAX];
};

/* event.what of STEP_ASK */
enum { OUTBOX_SEND /* wish: struct outbox_wish */ };

struct outbox_wish {
	uint16_t host;
	uint32_t len; /* 1 .. OUTBOX_BYTES */
	const void *message;
};

void outbox_init(struct outbox *b, uint32_t tag);
void outbox_step(struct outbox *b, const struct step_event *ev, struct step_out *out);

#endif
