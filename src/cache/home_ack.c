// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * home_ack: a home's acknowledgements: which are to be put out, and what came of them. R4 b of
 * cache.h. home.c says when one is due.
 */
#include "src/cache/broken.h"
#include "src/cache/home_priv.h"
#include "src/reconf/put.h"

void home_want_ack(struct home *h, uint32_t index, bool is_todo)
{
	if (is_todo)
		h->todo[index / 64] |= 1ull << index % 64;
	else
		h->todo[index / 64] &= ~(1ull << index % 64);
}

bool home_acked(struct home *h, const struct step_event *ev, struct mono now, uint32_t *slot)
{
	uint32_t index = ev->tag - h->conf.tag;
	uint16_t host;
	struct home_slot *s;

	if (ev->tag < h->conf.tag || index >= home_slots_of(&h->conf) || !h->slot[index].sent)
		return false;
	s = &h->slot[index];
	s->sent = false;
	host = (uint16_t)(index / h->conf.slots);
	/* R4 b: another word was there: this is what it was. A larger one stays. */
	if (ev->outcome == STEP_DONE && ev->link == h->link[host])
		s->was = ev->old == s->compare ? s->value : ev->old;
	else if (ev->outcome == STEP_REFUSED)
		h->next_send[host] = mono_add(now, h->conf.check_ns);
	/* It may have changed the word, or not: what is there is seen on the next link. */
	else if (ev->outcome != STEP_DONE && ev->link >= h->link[host])
		hostset_set(&h->up, host, false);
	home_want_ack(h, index, s->was < s->ack);
	*slot = index;
	return ev->outcome == STEP_DONE;
}

void home_new_link(struct home *h, const struct step_event *ev)
{
	if (ev->host < 1 || ev->host > h->conf.members || ev->link <= h->link[ev->host])
		return;
	h->link[ev->host] = ev->link;
	hostset_set(&h->up, ev->host, true);
	/* Another life of the updater has other ack words. */
	for (uint32_t k = 0; k < h->conf.slots; k++) {
		uint32_t index = (uint32_t)ev->host * h->conf.slots + k;

		if (!IS_BROKEN(ACK_BY_FAA))
			h->slot[index].was = 0;
		home_want_ack(h, index, h->slot[index].ack != 0);
	}
}

/* When the acknowledgement of this slot may be put out; INT64_MAX: not before an event. */
static struct mono put_at(const struct home *h, uint32_t index)
{
	uint32_t host = index / h->conf.slots;

	if (h->slot[index].sent || !hostset_has(&h->up, host))
		return (struct mono){ INT64_MAX };
	return h->next_send[host];
}

static uint32_t low_bit(uint64_t bits)
{
	return (uint32_t)__builtin_ctzll(bits);
}

/* A slot of word *k of the bits, or behind, whose acknowledgement may be put out now. */
static bool next_todo(const struct home *h, struct mono now, uint32_t *k, uint32_t *index)
{
	for (; *k < home_todo_words(&h->conf); ++*k) {
		for (uint64_t rest = h->todo[*k]; rest; rest &= rest - 1) {
			*index = *k * 64 + low_bit(rest);
			if (now.ns >= put_at(h, *index).ns)
				return true;
		}
	}
	return false;
}

static bool put_ack(struct home *h, uint32_t index, struct step_out *out)
{
	struct home_slot *s = &h->slot[index];
	uint16_t host = (uint16_t)(index / h->conf.slots);
	struct step_op op = {
		.kind = STEP_CAS,
		.part = STEP_WORDS,
		.host = host,
		.offset = h->conf.acks + index % h->conf.slots * h->conf.stride +
			  8u * (h->conf.self - 1u),
		.compare = s->was,
		.value = s->ack,
		.link = h->link[host], /* on which `was` was seen */
		.tag = h->conf.tag + index,
	};

	if (IS_BROKEN(ACK_BY_FAA)) {
		op.kind = STEP_FAA;
		op.value = s->ack - s->was;
	}
	if (!step_put(out, op))
		return false;
	s->sent = true;
	s->compare = s->was;
	s->value = s->ack;
	home_want_ack(h, index, false);
	return true;
}

void home_put_acks(struct home *h, struct mono now, struct step_out *out)
{
	uint32_t k = 0, index;

	/* What is put out is no longer to do. */
	while (next_todo(h, now, &k, &index) && put_ack(h, index, out))
		;
}

struct mono home_due(const struct home *h)
{
	struct mono due = { INT64_MAX };

	for (uint32_t k = 0; k < home_todo_words(&h->conf); k++)
		for (uint64_t rest = h->todo[k]; rest; rest &= rest - 1)
			due = mono_earlier(due, put_at(h, k * 64 + low_bit(rest)));
	return due;
}
