/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * home: the host that has the version words of some pages. It keeps what it was told of updates,
 * marks, acknowledges, and registers fills. R1 a to d and f, R2 b to i, R3, R4 b and c, R6 b and c,
 * and R7 c and d of cache.h.
 *
 * A life of the home, and what its owner calls:
 *
 *	HOME_OUT    home_init, home_close: all words are 0; messages are ignored
 *	HOME_JOINS  home_join, before the owner sends the transaction that joins. All words are
 *	            0, but what updaters tell is kept: one of them may see the commit first
 *	HOME_OPEN   home_open, after it has committed: fills are registered
 *
 * The owner looks in the database as before a beat, and says what it found with HOME_LOOKED.
 * home_step and the other functions are called by one thread.
 *
 * All memory is the owner's: the words in its region, and one block of home_bytes(). Nothing grows:
 * what finds no room is a refusal with a name. A mark costs what it touches, not all pages: the
 * lists have an index by tag.
 */
#ifndef RESEX_CACHE_HOME_H
#define RESEX_CACHE_HOME_H

#include <stddef.h>

#include "src/cache/cache.h"
#include "src/cache/update.h"
#include "src/core/hostset.h"
#include "src/reconf/step.h"

enum {
	HOME_FILL_TAGS_MAX = 64, /* of one page */
	HOME_LIST_MAX = 256,	 /* of all pages of one word */
	HOME_SLOTS_MAX = 64,	 /* of one updater */
	HOME_LOG_MAX = 1 << 20,
	HOME_LISTINGS_MAX = 1 << 30,
};

struct home_conf {
	uint16_t self;
	uint16_t members;  /* the highest number of a host, 1 .. REGION_HOSTS_MAX */
	uint16_t slots;	   /* of each updater, 1 .. HOME_SLOTS_MAX */
	uint32_t words;	   /* version words, >= 1; word 0 is that of pages without lists */
	uint32_t listings; /* tags in all lists, 1 .. HOME_LISTINGS_MAX */
	uint32_t log;	   /* ended updates that are kept, 1 .. HOME_LOG_MAX */
	uint32_t acks;	  /* offset of the ack word of slot 0, host 1, in an updater's STEP_WORDS */
	uint32_t stride;  /* from one slot's ack words to the next's: >= 8 * members */
	uint32_t tag;	  /* it uses conf.tag .. conf.tag + (members + 1) * slots - 1 */
	int64_t check_ns; /* from a REFUSED acknowledgement to the next */
	uint64_t *word;	  /* `words` of them, in the region; only the home writes them */
	uint64_t *log_word;
};

/* event.what of STEP_ASK */
enum home_ask {
	HOME_LOOKED, /* wish: struct home_look */
};

/* What one transaction read: the rows of members. By host, UPDATE_HOSTS of each. */
struct home_look {
	struct hostset rows; /* hosts that have a row */
	const uint32_t *fence;
	const uint64_t *raised; /* the transaction that raised the row, by its number; not 0 */
};

/* What a snapshot sees, as PostgreSQL says it (pg_current_snapshot). */
struct home_snapshot {
	uint64_t oldest; /* all transactions below have ended; > 0 */
	uint64_t next;	 /* none from here on is visible */
	uint32_t n;
	const uint64_t *running; /* between the two, these are not visible */
};

struct home_fill {
	uint32_t word;	  /* its index */
	uint64_t version; /* the version word, as READ */
	uint64_t log;	  /* the log word, READ before the snapshot. Not looked at with one */
	uint32_t tags;	  /* word 0: 0. Others: 1 .. HOME_FILL_TAGS_MAX */
	const uint64_t *tag;
	/* NULL: the database does not say. Then the transaction began after the READs (R2 a). */
	const struct home_snapshot *snapshot;
};

enum home_refusal {
	HOME_REGISTERED,
	HOME_BAD,	  /* the request is none */
	HOME_CLOSED,	  /* R7 d: the home is not open */
	HOME_MOVED,	  /* the word is not the one that was READ */
	HOME_WORN,	  /* a word is at its end: not before another generation */
	HOME_PENDING,	  /* R2 b */
	HOME_ENDED,	  /* R2 d */
	HOME_LOG_SHORT,	  /* R2 e; R2 g: what the log has forgotten may not be visible */
	HOME_UNSEEN,	  /* R2 f, h */
	HOME_JOIN_UNSEEN, /* R2 g */
	HOME_FULL,	  /* no room for the list: evict one */
};

#define HOME_REQUEST 0x52435852u /* "RXCR": register this fill */
#define HOME_ANSWER  0x44435852u /* "RXCD": it is registered, or why not */

/* Numbers in a request: 64 tags leave room for 57 running transactions. */
enum { HOME_NUMBERS_MAX = 121 };

/* A fill of another host, as in struct home_fill. Little-endian, as all that hosts share. */
struct home_request {
	uint32_t kind;
	uint32_t number; /* number and serial name the fill; both come back in the answer */
	uint64_t serial;
	uint32_t word;
	uint16_t tags;
	uint16_t running;
	uint64_t version;
	uint64_t log;
	uint64_t oldest; /* of the snapshot; 0: there is none, and next and running are 0 */
	uint64_t next;
	uint64_t list[HOME_NUMBERS_MAX]; /* the tags, then the running transactions; no more */
};

static inline uint32_t home_request_bytes(uint32_t tags, uint32_t running)
{
	return (uint32_t)offsetof(struct home_request, list) + 8 * (tags + running);
}

struct home_answer {
	uint32_t kind;
	uint32_t number;
	uint64_t serial;
	uint64_t version; /* the word, as it is now; of HOME_BAD 0 */
	uint32_t refusal; /* enum home_refusal */
	uint32_t zero;
};

enum home_state { HOME_OUT, HOME_JOINS, HOME_OPEN };

/* One slot of an updater. */
struct home_slot {
	uint64_t name;		 /* the newest that was heard of; 0: none */
	uint64_t ack;		 /* what is to be acknowledged, after its mark; 0: nothing */
	uint64_t was;		 /* the ack word as it was last seen on this link */
	uint64_t compare, value; /* of the CAS that is outstanding */
	uint32_t place;		 /* in active */
	uint32_t epoch;		 /* pending: at its broadcast */
	uint32_t tags;
	bool pending, sent;
	struct mono since; /* pending: the mark */
	uint64_t tag[UPDATE_TAGS_MAX];
};

/* An update that has ended. */
struct home_ended {
	uint64_t name;
	uint64_t transaction; /* what a snapshot must see; 0: nothing; or HOME_UNKNOWN */
	uint16_t member;
	uint32_t tags;
	uint64_t tag[UPDATE_TAGS_MAX];
};

/* Its updater has another fence, and no look has shown yet by which transaction. */
#define HOME_UNKNOWN UINT64_MAX

/* Tag `tag` is in the list of word `word`. Numbers of listings are + 1; 0: none. */
struct home_listing {
	uint64_t tag;
	uint32_t word;
	uint32_t next, prev; /* of the same bucket */
	uint32_t more;	     /* of the same word; the free ones, too */
};

struct home {
	struct home_conf conf;
	enum home_state state;
	uint32_t generation;	      /* of the newest life */
	uint64_t joined;	      /* the transaction that joined */
	uint32_t epoch;		      /* which it made; JOINS: 0 */
	uint64_t ended;		      /* updates that have ended in this life */
	uint32_t kept;		      /* of them in the log */
	uint64_t forgotten;	      /* the highest transaction that the log has forgotten */
	uint32_t doubts;	      /* members with a doubt */
	uint32_t doubt[UPDATE_HOSTS]; /* fence + 1 of forgotten ones that are HOME_UNKNOWN */
	uint32_t actives;
	uint32_t free; /* the first free listing */
	uint32_t frees;
	uint32_t buckets; /* a power of 2 */
	uint64_t refused; /* messages that are none */
	uint32_t link[UPDATE_HOSTS];
	struct hostset up;
	struct mono next_send[UPDATE_HOSTS];
	/* in the owner's block */
	struct home_slot *slot; /* by member and slot */
	struct home_ended *log; /* a ring: the update that ended as number n is at n % log */
	struct home_listing *listing;
	uint64_t *todo;	  /* bits: an acknowledgement is to be put out */
	uint32_t *active; /* the slots with pending ones */
	uint32_t *bucket; /* by tag: the first listing */
	uint32_t *list;	  /* by word: the first listing */
};

/* How large the owner's block is; 0: c has a value out of its range. */
size_t home_bytes(const struct home_conf *c);
/* block: home_bytes(), aligned as for uint64_t. false: c has a value out of its range. */
bool home_init(struct home *h, const struct home_conf *c, void *block);
/* It is out: closes its words, and forgets all but the names. */
void home_close(struct home *h);
/* Before the transaction that joins. */
void home_join(struct home *h);
/*
 * The join has committed: its generation, the epoch that it made, and its number. false: home_join
 * was not called, or the generation is not above that of its earlier life (R3 b).
 */
bool home_open(struct home *h, uint32_t generation, uint32_t epoch, uint64_t transaction);

/* Handles one event; appends operations to *out. */
void home_step(struct home *h, const struct step_event *ev, struct mono now, struct step_out *out);
/* When it needs a STEP_TICK. INT64_MAX: not before another event. */
struct mono home_due(const struct home *h);

/* An update that is pending here. */
struct home_pending {
	uint16_t member, slot;
	uint64_t name;
	struct mono since; /* this home's mark */
	uint32_t tags;
	const uint64_t *tag; /* until the next step */
};

uint32_t home_pendings(const struct home *h);
/* i < home_pendings(); in no order. */
struct home_pending home_pending(const struct home *h, uint32_t i);
/* When the oldest one of this member was marked; INT64_MAX: none is pending. */
struct mono home_pending_of(const struct home *h, uint16_t member);

/* R2 i: registers the fill, or says why not, in one step. */
enum home_refusal home_register(struct home *h, const struct home_fill *f);
/*
 * The same for a fill of another host, whose request came as a STEP_MESSAGE. The owner SENDs the
 * answer to ev->host. Returns false, and gives no answer, if the message is not a request.
 */
bool home_reply(struct home *h, const struct step_event *ev, struct home_answer *answer);
/* R3 a: moves the word, then forgets its list. */
void home_evict(struct home *h, uint32_t word);
/* For people: the words with this tag in their lists, at most max of them; how many. */
uint32_t home_listed(const struct home *h, uint64_t tag, uint32_t *word, uint32_t max);

#endif
