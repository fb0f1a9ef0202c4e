/* SPDX-License-Identifier: GPL-2.0-or-later */
/* history_priv: what history's files share. */
#ifndef RESEX_CACHELOAD_HISTORY_PRIV_H
#define RESEX_CACHELOAD_HISTORY_PRIV_H

#include "src/cacheload/history.h"

/* Times, or numbers of updates, by how much a thing's counter is above its base: element 0 is 1. */
struct series {
	uint64_t *at;
	size_t n, space;
};

struct thing {
	char name[HISTORY_NAME_MAX + 1];
	uint64_t base, base_last;
	uint64_t undone;       /* of its updates */
	struct series begun;   /* when the n-th of its updates began */
	struct series acked;   /* since when so many are known to be done */
	struct series shown;   /* since when a reply has shown the counter so high */
	struct series made_by; /* which update raised it to this; 0: not known */
	uint32_t next;	       /* of the same bucket */
	uint64_t mark;	       /* of the newest text in which it was read */
	uint32_t place;	       /* in that text */
};

struct change {
	uint32_t thing;
	uint64_t value; /* to which the update raised it; 0: not known */
	uint64_t most;	/* a reply with this update showed the thing so low; UINT64_MAX: none */
};

struct update {
	int64_t begin, end;
	enum history_end how;
	uint32_t changes;
	struct change change[HISTORY_CHANGES_MAX];
};

struct history {
	struct thing *thing;
	uint32_t things, things_space;
	uint32_t *bucket; /* of things + 1 */
	uint32_t buckets;
	struct update *update; /* number 1 is element 0 */
	uint32_t updates, updates_space;
	uint64_t mark;
};

/* history_torn.c. Things of the reply have their mark and place set. */
bool history_is_torn(struct history *h, const struct history_reply *r, char *why, size_t size);
void history_learn(struct history *h, const struct history_reply *r);

static inline struct update *update_of(struct history *h, uint64_t number)
{
	return number && number <= h->updates ? &h->update[number - 1] : NULL;
}

/* The change of this thing by an update; NULL: it does not change it. */
static inline struct change *change_of(struct update *u, uint32_t thing)
{
	for (uint32_t i = 0; u && i < u->changes; i++)
		if (u->change[i].thing == thing)
			return &u->change[i];
	return NULL;
}

/* Element of a counter's value above base; 0: there is none. */
static inline uint64_t series_at(const struct series *s, uint64_t above)
{
	return above && above <= s->n ? s->at[above - 1] : 0;
}

#endif
