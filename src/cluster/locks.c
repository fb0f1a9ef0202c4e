// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * locks: the lock words of services, for resex lock-list and lock-break. They are in the words of
 * one host, the home. All are read by one READ, with the time for which each is unchanged, and
 * one at a time is broken by CAS. Locks are acquired and released by src/reconf/lock.c.
 */
#include <errno.h>
#include <string.h>

#include "src/cluster/cluster_priv.h"
#include "src/shared/lease.h"

/* n tells the newest READ, or break, from those before it, whose results may still come. */
static uint64_t tag(enum cluster_tag kind, uint64_t n)
{
	return (uint64_t)kind << CLUSTER_TAG_SHIFT | (n & ((1ull << CLUSTER_TAG_SHIFT) - 1));
}

/*
 * Bytes from the start of the words to the lock of the last configured service: one READ of them
 * all, since a link takes few operations at once (TRANSPORT_DEPTH), and peers_scan() needs them.
 */
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

	/* A READ that is pending is not repeated, also when its time limit outlasts a scan. */
	if (l->reading || !home || !op.len || transport_post(t, &op, 1, now, NULL) != 1)
		return;
	l->reads++;
	l->reading = true;
}

/*
 * since: for how long the word is unchanged decides when its lock may be broken. A new home, or
 * one that restarted, has another word at the same place, though it may have the same value: the
 * time begins anew.
 */
static void remember_word(struct lock_seen *s, const struct transport_event *ev, uint64_t word,
			  struct mono now)
{
	if (!s->known || s->word != word || s->home != ev->host || s->link != ev->link)
		s->since = now;
	s->known = true;
	s->home = ev->host;
	s->link = ev->link;
	s->word = word;
	s->read = now;
}

static void read_done(struct locks *l, const struct cluster_conf *conf,
		      const struct transport_event *ev, struct mono now)
{
	l->reading = false;
	/* The words that were read before stay, and lock-list shows their age. */
	if (ev->outcome != TRANSPORT_DONE)
		return;
	for (uint32_t i = 0; i < conf->services; i++) {
		uint32_t at = region_lock_offset((uint32_t)conf->service[i].number);
		uint64_t word;

		if (at + sizeof(word) > ev->len)
			continue;
		memcpy(&word, (const char *)ev->data + at, sizeof(word));
		remember_word(&l->seen[i], ev, word, now);
	}
}

static void break_done(struct locks *l, const struct transport_event *ev, struct mono now)
{
	struct lock_break *b = &l->broken;

	if (ev->tag != tag(CLUSTER_TAG_BREAK, l->breaks))
		return;
	/* Unknown: the link was lost, and the CAS may have been executed, or not. */
	if (ev->outcome != TRANSPORT_DONE)
		b->rc = ev->outcome == TRANSPORT_UNKNOWN ? -EIO : -ENOTCONN;
	else if (ev->old != b->word)
		b->rc = -ESTALE;
	else
		b->rc = 0;
	/* Either way the word is known now: the next lock-list need not wait for a READ. */
	if (ev->outcome == TRANSPORT_DONE)
		remember_word(&l->seen[b->service], ev,
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

void locks_renumber(struct locks *l, const struct cluster_conf *old,
		    const struct cluster_conf *conf)
{
	struct lock_seen was[CLUSTER_SERVICES_MAX];

	memcpy(was, l->seen, sizeof(was));
	memset(l->seen, 0, sizeof(l->seen));
	for (uint32_t i = 0; i < conf->services; i++)
		for (uint32_t k = 0; k < old->services; k++)
			if (old->service[k].number == conf->service[i].number)
				l->seen[i] = was[k];
	/* A READ that is pending began with the old span: the rest is read next time. */
}

static bool is_held(uint64_t word)
{
	return region_word_id(word) && region_word_id(word) < REGION_LOCK_BROKEN;
}

/*
 * The CAS compares with the word last read: when its holder has released or acquired the lock
 * since then, it fails, and the operator has to look again (-ESTALE). Before the word is unchanged
 * for cluster_break_ns() its holder may be at work under it; force is the operator's word that it
 * is not.
 */
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
	/* rule: a CAS is posted on the link on which its compare was read */
	if (transport_link(t, home) != s->link)
		return -ENOENT;
	if (!is_held(s->word))
		return -EALREADY;
	if (!force && mono_sub(now, s->since) < cluster_break_ns(conf))
		return -EBUSY;
	/* One at a time: results are compared with the newest alone. */
	if (l->broken.rc == -EINPROGRESS)
		return -EAGAIN;
	if (transport_post(t, &op, 1, now, &why) != 1)
		return why;
	l->breaks++;
	l->broken = (struct lock_break){ .service = i, .word = s->word, .rc = -EINPROGRESS };
	return 0;
}

int locks_break_result(const struct locks *l)
{
	return l->broken.rc;
}
