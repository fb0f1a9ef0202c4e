/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recover: what a member must do so that updates get done and none stays pending: it joins, it
 * leaves when it was removed, and it removes members that do not answer. R6 a and e, and R7 e of
 * cache.h.
 *
 * Pure, as update.h. The owner says what happens, and then asks recover_next what to do:
 *
 *	when                                        the owner calls
 *	------------------------------------------  ------------------------------------------
 *	a look has ended                            recover_looked
 *	a step of an update in a slot               recover_missing, with update_missing()
 *	a step of the home                          recover_pending, with home_pending_of()
 *	a message came, or a link is up             recover_heard
 *	a link is up, or down                       recover_link
 *	the join has committed                      recover_joined
 *	one of these, or recover_due has passed     recover_asks, recover_next until NOTHING
 *
 * The database decides who is a member; no membership of corosync is needed. Two rules remove a
 * member. In both the time counts that the member had to answer this host:
 *
 *	- an update waits for it: it has not acknowledged, or its transport has not taken the end;
 *	- an update of its own is pending here, and nothing is heard of it. No update needs to wait
 *	  for it. The owner asks it for a sign of life (recover_asks): any message is one.
 *
 * Several hosts may decide alike: the database removes one generation once. A wrong decision makes
 * nothing stale. It costs the member its words, and it joins again.
 */
#ifndef RESEX_CACHE_RECOVER_H
#define RESEX_CACHE_RECOVER_H

#include "src/cache/home.h"
#include "src/cache/update.h"
#include "src/core/hostset.h"
#include "src/core/units.h"

struct recover_conf {
	uint16_t self;
	uint16_t slots;	   /* of this host's updates, 1 .. HOME_SLOTS_MAX */
	int64_t detect_ns; /* for so long a member may be silent */
};

/* What one transaction read; arrays are by host, UPDATE_HOSTS of each. */
struct recover_look {
	struct mono began; /* own clock, before it */
	uint64_t timeline; /* another number: the database may have lost commits */
	struct hostset rows, members;
	const uint32_t *generation, *fence;
};

enum recover_what {
	RECOVER_NOTHING,
	RECOVER_LEAVE,	/* home_close, and no beat: this host is out, or must be (R7 e) */
	RECOVER_JOIN,	/* home_join, and the transaction that joins (R6 a) */
	RECOVER_REMOVE, /* raise the row of host, if it has this generation yet (R6 e, R7 e) */
};

struct recover_act {
	enum recover_what what;
	uint16_t host;	     /* REMOVE */
	uint32_t generation; /* REMOVE */
	/* REMOVE: why. true: an update waits for it; false: an update of its own is pending */
	bool is_missing;
	struct mono since; /* REMOVE: it has been silent since then */
};

struct recover {
	struct recover_conf conf;
	bool looks;  /* a look has ended */
	bool joins;  /* JOIN was returned; it has not committed */
	bool member; /* as it believes itself */
	bool out;    /* the newest look shows that it is out, or of another generation */
	uint64_t timeline;
	uint32_t generation; /* of the newest join */
	uint32_t floor_generation, floor_fence;
	struct mono joined, left, retry;
	int64_t back_off;
	struct mono called, hold; /* the newest call; nothing is removed before hold */
	/* by the newest look */
	struct mono began;
	struct hostset members;
	uint32_t of[UPDATE_HOSTS]; /* generations */
	struct hostset up;	   /* links */
	struct hostset removes;	   /* REMOVE was returned since the newest look */
	struct hostset pending;	   /* an update of these is pending here */
	struct mono pending_since[UPDATE_HOSTS];
	struct mono heard[UPDATE_HOSTS];
	struct hostset asks; /* these were asked for a sign of life, and are silent since */
	struct mono asked[UPDATE_HOSTS], asked_again[UPDATE_HOSTS];
	struct hostset missing[HOME_SLOTS_MAX]; /* by slot */
	struct mono missing_since[HOME_SLOTS_MAX][UPDATE_HOSTS];
};

void recover_init(struct recover *r, const struct recover_conf *c, struct mono now);

/* A look that began before the newest one, or before the join had committed, changes nothing. */
void recover_looked(struct recover *r, const struct recover_look *l, struct mono now);
void recover_missing(struct recover *r, uint16_t slot, const struct hostset *missing,
		     struct mono now);
/* since: of the oldest update of this host that is pending here; INT64_MAX: none is. */
void recover_pending(struct recover *r, uint16_t host, struct mono since, struct mono now);
void recover_heard(struct recover *r, uint16_t host, struct mono now);
void recover_link(struct recover *r, uint16_t host, bool up, struct mono now);
void recover_joined(struct recover *r, uint64_t timeline, uint32_t generation, uint32_t fence,
		    struct mono now);
/* The join has failed, or its end is not known: it is made again. */
void recover_not_joined(struct recover *r, struct mono now);

/* These hosts are to be asked for a sign of life now, with FRESH_QUESTION of fresh.h. */
struct hostset recover_asks(struct recover *r, struct mono now);
/* The owner does it, and asks again, until RECOVER_NOTHING. REMOVE comes once a look. */
void recover_next(struct recover *r, struct mono now, struct recover_act *act);
/* An update has waited for a member for half of detect: perhaps it is to be removed soon. */
bool recover_suspects(const struct recover *r, struct mono now);
/* When to ask again, at the latest. INT64_MAX: not before another event. */
struct mono recover_due(const struct recover *r);

/*
 * The highest numbers of the own row that this host has seen. Its join begins above them: a
 * database that lost commits may have taken the row back (R3 b, R6 c).
 */
uint32_t recover_floor_generation(const struct recover *r);
uint32_t recover_floor_fence(const struct recover *r);
/* Those of an earlier life of this host, from its file. */
void recover_floors(struct recover *r, uint32_t generation, uint32_t fence);

#endif
