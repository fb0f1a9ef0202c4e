// SPDX-License-Identifier: GPL-2.0-or-later
/* restore: the entries of caps.json in memory, and whose a cap is. See restore.h. */
#include "src/guests/restore_priv.h"

#include <errno.h>
#include <string.h>

#include "src/core/caps.h"

bool percents_has(const struct percents *p, uint32_t percent)
{
	const uint32_t b = written_bit(percent);

	return p->bit[b / 64] >> (b % 64) & 1;
}

void percents_add(struct percents *p, const struct percents *more)
{
	for (uint32_t i = 0; i < WRITTEN_PERCENTS / 64; i++)
		p->bit[i] |= more->bit[i];
}

void percents_drop(struct percents *p, uint32_t percent)
{
	const uint32_t b = written_bit(percent);

	p->bit[b / 64] &= ~(1ull << (b % 64));
}

bool percents_empty(const struct percents *p)
{
	for (uint32_t i = 0; i < WRITTEN_PERCENTS / 64; i++)
		if (p->bit[i])
			return false;
	return true;
}

enum own_verdict own_judge(const struct saved_cap *was, bool same, uint32_t percent,
			   uint32_t dom_flags)
{
	const struct written_last *l;

	if (dom_flags & HV_DOM_UNRUN)
		return OWN_UNKNOWN;
	if (!was)
		return OWN_PRESENT;
	if (percent == cap_to_percent(was->params.cap))
		return OWN_IN_FORCE;
	if (!same)
		return percents_has(&was->written, percent) ? OWN_OURS : OWN_OPERATOR;
	l = &was->last;
	if (!l->known)
		return OWN_OURS;
	return l->any && (percent == l->from || percent == l->to) ? OWN_OURS : OWN_OPERATOR;
}

static uint32_t index_of(const struct restore *r, uint32_t domid, const uint8_t uuid[16])
{
	uint32_t i;

	for (i = 0; i < r->entries; i++)
		if (r->entry[i].domid == domid && !memcmp(r->entry[i].uuid, uuid, 16))
			break;
	return i;
}

struct saved_cap *restore_find(struct restore *r, uint32_t domid, const uint8_t uuid[16])
{
	uint32_t i = index_of(r, domid, uuid);

	return i < r->entries ? &r->entry[i] : NULL;
}

/* The newest: first of those that are there, then of those that are gone. */
struct saved_cap *restore_before(struct restore *r, uint32_t domid, const uint8_t uuid[16])
{
	static const uint8_t none[16];

	if (!memcmp(uuid, none, 16))
		return NULL; /* domains that share it may be of any number of guests */
	for (uint32_t i = r->entries; i-- > 0;)
		if (r->entry[i].domid != domid && !memcmp(r->entry[i].uuid, uuid, 16))
			return &r->entry[i];
	for (uint32_t i = r->gones; i-- > 0;)
		if (r->gone[i].domid != domid && r->gone[i].until > r->now_s &&
		    !memcmp(r->gone[i].uuid, uuid, 16))
			return &r->gone[i];
	return NULL;
}

int restore_add(struct restore *r, const struct saved_cap *c)
{
	uint32_t i = index_of(r, c->domid, c->uuid);

	if (i == FLOW_GUESTS_MAX)
		return -ENOSPC;
	if (i == r->entries)
		r->entries++;
	r->entry[i] = *c;
	return 0;
}

/*
 * The last entry fills the gap. So a loop that removes entries runs backward: it has seen
 * that one.
 */
static void remove_at(struct restore *r, uint32_t i)
{
	r->entry[i] = r->entry[--r->entries];
}

void restore_drop(struct restore *r, uint32_t domid, const uint8_t uuid[16])
{
	uint32_t i = index_of(r, domid, uuid);

	if (i < r->entries)
		remove_at(r, i);
}

static void forget_gone(struct restore *r, uint32_t i)
{
	memmove(&r->gone[i], &r->gone[i + 1], (--r->gones - i) * sizeof(r->gone[0]));
}

void restore_drop_gone(struct restore *r, uint32_t n)
{
	r->gones -= n;
	memmove(&r->gone[0], &r->gone[n], r->gones * sizeof(r->gone[0]));
}

static bool gone_of(const struct restore *r, const uint8_t uuid[16])
{
	for (uint32_t i = 0; i < r->gones; i++)
		if (!memcmp(r->gone[i].uuid, uuid, 16))
			return true;
	return false;
}

/* One entry for each guest: the newest, with the percents of all. */
static void keep_gone(struct restore *r, const struct saved_cap *c)
{
	struct saved_cap *g;
	struct percents before = { 0 };

	for (uint32_t i = r->gones; i-- > 0;)
		if (!memcmp(r->gone[i].uuid, c->uuid, 16)) {
			before = r->gone[i].written;
			forget_gone(r, i);
		}
	if (r->gones == RESTORE_GONE_MAX)
		forget_gone(r, 0);
	g = &r->gone[r->gones++];
	*g = *c;
	percents_add(&g->written, &before);
}

void restore_gone(struct restore *r, uint32_t domid, const uint8_t uuid[16], int64_t keep_s)
{
	struct saved_cap *c = restore_find(r, domid, uuid);

	if (!c)
		return;
	c->until = r->now_s + keep_s;
	/* A former entry of this guest would have another own cap. */
	if (!percents_empty(&c->written) || gone_of(r, uuid))
		keep_gone(r, c);
	remove_at(r, (uint32_t)(c - r->entry));
}

/* In restore_open: after a boot no domain is the one that had this id. */
void restore_other_boot(struct restore *r)
{
	while (r->entries) {
		struct saved_cap *c = &r->entry[r->entries - 1];

		restore_gone(r, c->domid, c->uuid, RESTORE_GONE_S);
	}
	for (uint32_t i = 0; i < r->gones; i++)
		r->gone[i].domid = 0;
}

void restore_expire(struct restore *r)
{
	for (uint32_t i = r->gones; i-- > 0;)
		if (r->gone[i].until <= r->now_s)
			forget_gone(r, i);
}

const char *restore_remedy(int rc)
{
	switch (rc) {
	case -ENOSPC:
	case -EDQUOT:
		return "free some space";
	case -EROFS:
		return "remount it writable";
	default:
		return "mend its folder";
	}
}
