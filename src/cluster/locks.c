// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * locks: the lock words of services, for resex lock-list and lock-break: all are read by one
 * READ, with the time for which each is unchanged, and one is broken by CAS. Locks are acquired
 * and released by src/reconf/lock.c.
 */
#include <errno.h>
#include <string.h>

#include "src/cluster/cluster_priv.h"
#include "src/shared/lease.h"

uint16_t locks_home(uint64_t members)
{
	return members ? (uint16_t)(__builtin_ctzll(members) + 1) : 0;
}

static uint64_t tag(enum cluster_tag kind, uint64_t n)
{
	return (uint64_t)kind << CLUSTER_TAG_SHIFT | (n & ((1ull << CLUSTER_TAG_SHIFT) - 1));
}

/* Bytes from the start of the words to the lock of the last configured service. */
static uint32_t locks_span(const struct cluster_conf *conf)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < conf->services; i++) {
		uint32_t at = region_lock_offset((uint32_t)conf->service[i].number) + 8;

		if (at > end)
			end = at;
	}
	return end;
}

void locks_read(struct locks *l, const struct cluster_conf *conf, struct transport *t,
		uint16_t home, struct mono now)
{
	const struct transport_op op = { .kind = TRANSPORT_READ,
					 .host = home,
					 .part = TRANSPORT_WORDS,
					 .offset = 0,
					 .len = locks_span(conf),
					 .tag = tag(CLUSTER_TAG_LOCKS, l->reads + 1),
					 .deadline = mono_add(now, conf->timeout_ns) };

	if (l->reading || !home || !op.len || transport_post(t, &op, 1, now, NULL) != 1)
		return;
	l->reads++;
	l->reading = true;
}

static void remember_word(struct lock_seen *s, uint16_t home, uint64_t word, struct mono now)
{
	if (!s->known || s->word != word || s->home != home)
		s->since = now;
	s->known = true;
	s->home = home;
	s->word = word;
	s->read = now;
}

static void read_done(struct locks *l, const struct cluster_conf *conf,
		      const struct transport_event *ev, struct mono now)
{
	l->reading = false;
	if (ev->outcome != TRANSPORT_DONE)
		return;
	for (uint32_t i = 0; i < conf->services; i++) {
		uint32_t at = region_lock_offset((uint32_t)conf->service[i].number);
		uint64_t word;

		if (at + sizeof(word) > ev->len)
			continue;
		memcpy(&word, (const char *)ev->data + at, sizeof(word));
		remember_word(&l->seen[i], ev->host, word, now);
	}
}

static struct lock_break *newest_break(struct locks *l)
{
	return &l->broken[l->breaks % LOCK_BREAKS_KEPT];
}

static void break_done(struct locks *l, const struct transport_event *ev, struct mono now)
{
	struct lock_break *b = newest_break(l);

	if (ev->tag != tag(CLUSTER_TAG_BREAK, b->ticket))
		return;
	if (ev->outcome != TRANSPORT_DONE)
		b->rc = ev->outcome == TRANSPORT_UNKNOWN ? -EIO : -ENOTCONN;
	else if (ev->old != b->word)
		b->rc = -ESTALE;
	else
		b->rc = 0;
	if (ev->outcome == TRANSPORT_DONE)
		remember_word(&l->seen[b->service], ev->host,
			      b->rc ? ev->old : lease_broken_word(b->word), now);
}

void locks_result(struct locks *l, const struct cluster_conf *conf,
		  const struct transport_event *ev, struct mono now)
{
	if (ev->tag == tag(CLUSTER_TAG_LOCKS, l->reads))
		read_done(l, conf, ev, now);
	else if (ev->tag >> CLUSTER_TAG_SHIFT == CLUSTER_TAG_BREAK)
		break_done(l, ev, now);
}

static bool is_held(uint64_t word)
{
	return region_word_id(word) && region_word_id(word) != REGION_LOCK_BROKEN;
}

int locks_break(struct locks *l, const struct cluster_conf *conf, struct transport *t,
		uint16_t home, uint32_t i, bool force, struct mono now)
{
	const struct lock_seen *s = &l->seen[i];
	struct transport_op op = { .kind = TRANSPORT_CAS64,
				   .host = home,
				   .part = TRANSPORT_WORDS,
				   .offset = region_lock_offset((uint32_t)conf->service[i].number),
				   .compare = s->word,
				   .value = lease_broken_word(s->word),
				   .tag = tag(CLUSTER_TAG_BREAK, l->breaks + 1),
				   .deadline = mono_add(now, conf->timeout_ns) };
	int why = 0;

	if (!s->known || s->home != home)
		return -ENOENT;
	if (!transport_link(t, home)) /* the word may be long out of date */
		return -ENOTCONN;
	if (!is_held(s->word))
		return -EALREADY;
	if (!force && mono_sub(now, s->since) < cluster_break_ns(conf))
		return -EBUSY;
	if (newest_break(l)->rc == -EINPROGRESS)
		return -EAGAIN;
	if (transport_post(t, &op, 1, now, &why) != 1)
		return why;
	l->breaks++;
	*newest_break(l) = (struct lock_break){
		.ticket = l->breaks, .service = i, .word = s->word, .rc = -EINPROGRESS
	};
	return 0;
}

int locks_break_result(const struct locks *l, uint64_t ticket)
{
	const struct lock_break *b = &l->broken[ticket % LOCK_BREAKS_KEPT];

	return ticket && ticket == b->ticket ? b->rc : -ESRCH;
}
