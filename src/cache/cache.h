/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache: dynamic pages are cached, and none is served stale. A reply out of the cache is what the
 * database would answer at the moment of the READ that verified it.
 *
 * The hosts. Application servers compute pages, each of which has tags: what it depends on.
 * They are the *members*. Each member is an *updater* of its application's updates, and the *home*
 * of some pages: it has their version words. Proxies keep the copies. The database is the arbiter
 * of what is committed, and of which hosts are members.
 *
 *	fill    READ the version word and the log word of the page's home; BEGIN, which takes the
 *	        snapshot; compute; ask the home to *register* the page; if it did, the proxy
 *	        stores the copy under the version word that was read
 *	hit     READ the version word. It is the copy's, and the home's evidence is fresh: serve
 *	update  look in the database; put the update into a slot, and send it to all homes; each
 *	        home *marks* what it touches, keeps the update as *pending*, and acknowledges by
 *	        CAS; then the transaction; when it has ended, tell the homes. They keep it in
 *	        their *log*
 *
 * The rules. Each is in tests/model/cache.pml, R7's clocks in tests/model/fresh.pml. A name in
 * capitals is the broken variant (BROKEN_...). For it spin finds a stale page, or the violated
 * property in parentheses. tests/model/README.md has the place of each in the models, and the row.
 * Place in the code. Each has its name there, and can be broken there (broken.h).
 *	fill.c      R2 a and j, R7 l. Its owner begins its transaction when fill_state says so
 *	fresh.c     R7 f to l
 *	hit.c       R7 j and l; beside it src/ring/direct.c, by fresh_holds
 *	home.c      R1 a to d and f, R2 b to i, R3, R4 c, R6 b and c, R7 c and d
 *	home_ack.c  R4 b
 *	recover.c   R6 a and e, R7 e. Its owner raises the rows
 *	update.c    R1 e, R4 a and d, R6 d, R7 a and b. Its owner keeps R5 by its transaction
 *
 * R1 A home keeps all updates that it was told of, whether a listed page depends on them or not
 *	a also those that touch no listed page: else the first fill, which is under way, is
 *	  registered under a version that never moved. KEPT_IF_LISTED
 *	b a mark moves the version of each listed page that the update touches. UNMOVED
 *	c ended ones, too, in the log. Else the home forgets an update when it ends, and then
 *	  registers a fill whose snapshot is older than the commit. ENDED_FORGOTTEN
 *	d the log word begins above those of all earlier lives of the home: else a fill that read
 *	  it of one life and the version of the next finds the same number. NUMBER_FROM_ZERO
 *	e an updater tells how an update ended, also one without effect: else it is pending for
 *	  ever, and no page that it touches is cached. END_UNTOLD (PENDING)
 *	f but none of an epoch before that of its own join, which a message may name that was late:
 *	  it has ended, or never takes effect, and this home is not told. LATE_KEPT (PENDING)
 * R2 A home registers list and version in one step, or refuses
 *	a the log word was READ before the snapshot: else what ended between the two is missed.
 *	  NUMBER_LATE
 *	b refused: an update that touches a tag is pending. PENDING_IGNORED
 *	c that is asked at the registration, not at the READ. PENDING_AT_READ
 *	d refused: such an update has ended after the log word that was read. ENDED_IGNORED
 *	e refused: the log does not reach back to that word. LOG_SHORT
 *	f where the snapshot may be older than the READs (a pooled transaction, a replica), the
 *	  number proves nothing. Refused: such an update is not visible in the snapshot.
 *	  UNSEEN_IGNORED
 *	g so is what this home has no log of: the snapshot must see the transaction by which the
 *	  home joined (JOIN_UNSEEN), and all up to the highest number that the log has forgotten.
 *	  In the models commits are in the order of their numbers; in a database they are not
 *	h the transactions of updates that R6 dropped are not known: the snapshot must see the one
 *	  that raised the row. DROPPED_UNSEEN
 *	i one step: a mark between check and list finds nothing to move. REGISTERS_IN_TWO_STEPS
 *	j only what was registered is stored. STORED_UNREGISTERED
 *   With a database that tells what a snapshot sees, f to h alone suffice. With one that does not
 *   (SQLite), a, d and e do, and the application begins its transaction after the READs.
 *   No rule: the version word may be READ after the snapshot, and a fill whose version has moved
 *   may be registered. The models find no harm (rows cache_version_late and ..._unchecked): the
 *   home has moved on from that word, so no hit finds the copy. The home refuses such a fill all
 *   the same: its list would only take room.
 * R3 A version word never comes back
 *	a a list is forgotten only after its version moved. EVICTED_SILENTLY
 *	b the words of a home begin above those of its earlier lives. VERSIONS_FROM_ZERO
 * R4 Nothing reaches the database before all members have acknowledged, or are out (R7)
 *	a the acknowledgements are awaited. NOT_AWAITED
 *	b each is a word of its own, changed by CAS from what was there to this update. FAA is not
 *	  idempotent: one member whose outcome was UNKNOWN counts for two. ACK_BY_FAA
 *	c a home marks, then acknowledges. ACK_BEFORE_MARK
 *	d an updater that waits looks at epoch and row again, and begins anew: else it waits for
 *	  a member that has come back, which knows nothing of the update. WAITS_ON (WRITES)
 * R5 An update's transaction locks the rows FOR SHARE, and ends without effect if one differs
 *	a the epoch is that of the broadcast: else a home that came back meanwhile was not told.
 *	  EPOCH_UNCHECKED
 *	b the own row is that of the broadcast: else homes have dropped the update (R6).
 *	  ROW_UNCHECKED
 *	c both stay so until the end. FOR KEY SHARE does not stop a host that raises them:
 *	  EPOCH_KEY_SHARE, ROW_KEY_SHARE
 *	d a transaction whose client is gone or hangs ends in bounded time
 *	  (idle_in_transaction_session_timeout, keepalives): else a host that raises the row waits
 *	  for ever. TX_KEPT (WRITES)
 * R6 A host that wants to forget updates first raises a row, which waits for transactions under way
 *	a a host that joins or comes back raises the epoch, and its own row. JOIN_UNRAISED. It
 *	  begins its updates after that: else they have the names of those of its life before.
 *	  BEGUN_BEFORE_JOIN
 *	b the pending updates of an updater are dropped after its row was raised.
 *	  DROPPED_UNRAISED
 *	c only those of the fences below: not those that it has begun since. DROPPED_BY_MEMBER
 *	d a COMMIT without an answer is resolved like one's own death: raise one's own row on a new
 *	  connection, look, and only then tell the homes. DONE_IN_DOUBT
 *	e it is resolved (DOUBT_KEPT: WRITES), and what a look shows as dead is dropped
 *	  (DEAD_KEPT: PENDING)
 * R7 The database says which hosts are members
 *	a a host that removed a member waits before it counts it as out. NO_WAIT
 *	b a host that finds it out already waits, too: another one may have removed it just now.
 *	  OUT_AT_ONCE. Both wait for the removal of this generation: a home may come back, and be
 *	  removed again, between two looks. OUT_OF_EARLIER
 *	c a home that was out closes its words, and comes back as another generation.
 *	  REJOIN_AS_WAS
 *	d its words, log word and beat are 0 until its join has committed. OPEN_BEFORE_JOIN
 *	e a member that does not acknowledge is removed (NEVER_REMOVED: WRITES), and one that is
 *	  out notices it (OUT_UNNOTICED: WRITES)
 *	f a home beats only after a look that found it a member: one that is cut off beats on.
 *	  BEAT_ALONE
 *	g the beat is the home's clock before that look. STAMPED_AT_STORE
 *	h a proxy dates it by a difference of clocks that it *asked for*: own clock before the
 *	  question, less home's clock in the answer. ANOTHER_BEAT, DIFFERENCE_SEEN,
 *	  DIFFERENCE_AT_ANSWER
 *	i less what the clocks may have drifted apart since. DIFFERENCE_NO_DRIFT
 *	j the READ of a hit *completes* while the evidence is fresh. CHECKED_AT_POST
 *	k the wait is fresh x (1 + drift) / (1 - drift). WAIT_NO_DRIFT, WAIT_ONE_DRIFT
 *	l evidence holds on the link on which it was read: an other life of the home is another
 *	  member (d). A READ on it gives what this life has: the transport sees to that, also
 *	  where the memory outlives its process (transport.h, over shm)
 *
 * Where this is more than DESIGN 9 says, a model showed why:
 *	R7 h  The smallest difference that a proxy *saw* is only an upper bound: it contains the age
 *	      of the youngest beat that was seen. A proxy that starts, or whose link is new, when
 *	      the home has hung for an hour since its look, dates that beat an hour too late, and
 *	      serves from a home that was removed an hour ago (DIFFERENCE_SEEN). No wait covers
 *	      that, also not that for the longest look: the home may hang between its look and
 *	      its store, which it cannot notice. A difference that was asked for is a lower bound,
 *	      however late the answer: no beat is dated too late, and no look is too long.
 *	R7 k  (1 + drift) covers the clock of the waiting host alone. The proxy's may be slow by
 *	      as much (WAIT_ONE_DRIFT).
 *	R2 g, h  "Not visible in the snapshot" needs a list of updates. A home that came back has
 *	      none of those before, and the transactions of dropped ones are not known.
 *	R1 d  The log word needs the generation, as versions do (R3 b).
 *	R5 b, R6 d  A member's row has a *fence* beside its generation. An updater in doubt raises
 *	      that alone: otherwise it would lose all pages that it is the home of.
 *
 * Timeline of a removal, in true time. h is the home, r removes it, p is a proxy.
 *
 *	when                        where  what happens
 *	--------------------------  -----  ----------------------------------------------------
 *	ts                          h      reads its clock: the stamp
 *	tl, ts <= tl                db     h's look finds it a member
 *	tr, tl < tr                 db     the row is raised: h is out
 *	any time after tl           h      stores the stamp as its beat, perhaps much later
 *	any time                    p      reads the beat, and dates it td <= ts
 *	... td + fresh              p      uses a READ that completes by now, by its own clock
 *	tr + wait                   r      by its own clock: h is out, the update goes on
 *
 * Proof. A READ is used if it completes before td + fresh by p's clock, in true time before
 * ts + fresh / (1 - drift), and ts < tr. r's wait ends no earlier than tr + wait / (1 + drift).
 */
#ifndef RESEX_CACHE_CACHE_H
#define RESEX_CACHE_CACHE_H

#include <stdbool.h>

#include "resex/region_abi.h"

/*
 * A version word: {generation 30, count 34}, on the page's home. 0: closed, no copy has it. The
 * generation is given by the transaction that joined, so it is above all earlier ones of the
 * member. count + 1 at each mark that touches a page of the word, and at each eviction of its
 * list. Several pages may share a word: their lists are one. Word 0 is that of all pages without
 * lists: each update touches it (Invalidate All). A word at CACHE_COUNT_MAX moves no more, and no
 * fill is registered under it until the home comes back as another generation.
 *
 * The log word has the same shape: count is how many updates have ended at this home.
 */
#define CACHE_COUNT_BITS 34
#define CACHE_COUNT_MAX	 ((1ull << CACHE_COUNT_BITS) - 1)

static inline uint64_t cache_word(uint32_t generation, uint64_t count)
{
	return (uint64_t)(generation & REGION_EPOCH_MAX) << CACHE_COUNT_BITS |
	       (count & CACHE_COUNT_MAX);
}

static inline uint32_t cache_word_generation(uint64_t word)
{
	return (uint32_t)(word >> CACHE_COUNT_BITS);
}

static inline uint64_t cache_word_count(uint64_t word)
{
	return word & CACHE_COUNT_MAX;
}

/* R1 b, R3: the next word. The last word, at CACHE_COUNT_MAX, is followed by itself. */
static inline uint64_t cache_word_next(uint64_t word)
{
	return cache_word_count(word) < CACHE_COUNT_MAX ? word + 1 : word;
}

/*
 * An update's name: {fence 30, number 34}, of one slot of an updater. The fence is that of its
 * member's row at the broadcast. Numbers grow in one life of the member, and each join raises the
 * fence: so names of a slot are compared as numbers. An attempt that ended without effect has used
 * its own up. 0: none.
 *
 * A slot has one update at a time: its name, its epoch and its tags, which go to the homes by
 * message. Beside it is an ack word for each member: the name of the newest update of the slot
 * that this member has marked. A home changes it by CAS from what it read there to the name (R4 b),
 * and never to a smaller one. It ignores messages with a smaller name. What a home has pending
 * is by (member, slot). A message with a newer name of the slot ends the one before, as its end
 * would. What a snapshot must see then is in the message, if the fence is the same: the newest of
 * the slot that committed. Of another fence, it is the transaction that raised the row, which a
 * look finds.
 */
static inline uint64_t cache_update_name(uint32_t fence, uint64_t number)
{
	return cache_word(fence, number);
}

static inline uint32_t cache_update_fence(uint64_t name)
{
	return cache_word_generation(name);
}

/*
 * A tag of an update that touches all pages of all homes, for operators, and when the database is
 * another one. No page has it in its list: a home moves each word that has one.
 */
#define CACHE_TAG_ALL 0ull

/*
 * A tag of an update that touches word `word` of each home, whatever its list: for an operator who
 * knows a page, and not its tags. No page has it in its list, and no text has its hash.
 */
#define CACHE_TAG_WORD 0xffffffff00000000ull

static inline uint64_t cache_tag_word(uint32_t word)
{
	return CACHE_TAG_WORD | word;
}

static inline bool cache_tag_is_word(uint64_t tag)
{
	return tag >= CACHE_TAG_WORD;
}

/*
 * In the database. epoch: one row, + 1 at each join. A member's row: {number, generation, fence,
 * in}; generation + 1 at each join, fence + 1 whenever any host raises the row. A row of an
 * update: {member, slot, name, transaction}, written by its own transaction: R6 d looks there.
 *
 * The beat: 64 bits, the home's CLOCK_BOOTTIME in ns before the look that found it a member with
 * its generation (R7 f, g). 0: none yet. It is one word, so that it is read whole. The home's CPU
 * writes it, and no atomic changes it.
 */
#endif
