/* SPDX-License-Identifier: GPL-2.0-or-later */
/* home_priv: between home.c and home_ack.c. A slot has an index: member * slots + slot. */
#ifndef RESEX_CACHE_HOME_PRIV_H
#define RESEX_CACHE_HOME_PRIV_H

#include "src/cache/home.h"

static inline size_t home_slots_of(const struct home_conf *c)
{
	return ((size_t)c->members + 1) * c->slots;
}

static inline uint32_t home_todo_words(const struct home_conf *c)
{
	return (uint32_t)((home_slots_of(c) + 63) / 64);
}

/* The acknowledgement of this slot is to be put out, or not. */
void home_want_ack(struct home *h, uint32_t index, bool is_todo);
/* true: *index has been acknowledged, as far as the home knows. */
bool home_acked(struct home *h, const struct step_event *ev, struct mono now, uint32_t *index);
void home_new_link(struct home *h, const struct step_event *ev);
void home_put_acks(struct home *h, struct mono now, struct step_out *out);

#endif
