/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache: a dynamic page is cached, and is never served stale (src/cache/cache.h, whose rules are
 * numbered R1 to R7). README.md maps rules to the model.
 *
 * Two members. Each is an updater, and a home. Home 0 has the page, home 1 has none: a page has one
 * home, and other homes matter to it by their acknowledgements, deaths and returns alone. FILLS
 * application servers fill the page, a proxy keeps the copy, and a database commits.
 *
 * Each d_step is one thing that happens at one place. Between two steps any time passes. So a
 * process may pause anywhere for longer than all leases, and each message, answer and atomic is
 * late. Time itself is not here: fresh.pml shows that no READ is used when the wait after the
 * removal of its home is over. Here that is one event, OVER.
 *
 * Faults: a member crashes at any step (CRASHES), and returns or does not; what it sent to the
 * database is executed later or never; a living member is removed, and finds it out at any time
 * (REMOVALS); the connection is lost before, in and after COMMIT (LOSSES); the list of the page is
 * evicted (EVICTS).
 *
 * A copy is the position of its snapshot in the order of commits.
 *   EARLY   the snapshot may be older than the fill's READs, as that of a pooled transaction or of
 *           a replica that lags. The home can ask which commits it sees. Fills carry no number.
 *   (none)  it is younger, and it is not known what it sees (SQLite). The number of the log protects.
 *   TAGS    some updates do not touch the page; the log keeps the newest ended update alone
 *
 * Properties:
 *   COHERENT  a copy that a READ may verify now has seen all commits that touch it
 *   WRITES    when the faults end, all updates of the living get done
 *   PENDING   when the faults end, no living home keeps an update as pending
 * and what must be possible, or the others mean nothing:
 *   HIT       never a hit on a page that was filled after an update
 *   HIT_BACK  never a hit on a page of a home that came back
 */
#ifndef ROUNDS
#define ROUNDS 1 /* updates of each updater */
#endif
#ifndef FIRST_ROUNDS
#define FIRST_ROUNDS ROUNDS /* of member 0 */
#endif
#if defined(PROGRESS_ROW)
#define FILLS 0
#elif !defined(FILLS)
#define FILLS 1 /* at a time; each is made again and again */
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef REMOVALS
#define REMOVALS 0
#endif
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef EVICTS
#define EVICTS 0
#endif

#define P(h, u) ((h) * 2 + (u))
/* An update: {number, fence of its updater, does it touch the page}. 0: none. */
#define UPDATE(n, f, t) ((n) << 4 | (f) << 1 | (t))
#define NUMBER(w)	((w) >> 4)
#define FENCE(w)	((w) >> 1 & 7)
#define TOUCHES(w)	((w) & 1)

/* --- the database --------------------------------------------------------------- */

byte epoch = 1;
byte fence[2] = 1; /* of a member's row: + 1 whenever it is raised */
bool in[2] = true; /* the row says that it is a member */
byte now;	   /* commits so far */
byte changed;	   /* position of the newest commit that touches the page */
byte row_done[2];  /* number of the newest update of this updater that has committed */
byte row_at[2];	   /* position of that commit */
byte raised_at[2]; /* position of the newest raise of the row */

/* A transaction of an updater: not there, sent, or it has its locks. */
mtype = { NONE, SENT, LOCKED };
mtype tx[2] = NONE;
mtype late[2] = NONE; /* one whose updater has died, or has lost the connection */
byte late_epoch[2], late_what[2];

byte crashes = CRASHES, removals = REMOVALS, losses = LOSSES, evicts = EVICTS;

/* --- the members ---------------------------------------------------------------- */

mtype = { DEAD, OUTSIDE, MEMBER }; /* OUTSIDE: it runs, and must join */
mtype is[2] = MEMBER;		   /* as it believes itself */
bool over[2];			   /* it was removed, and no READ of its words is used any more */
#ifdef PROGRESS_ROW
bool stays[2]; /* it is dead, and does not return */
#define RETURNS(i) (!stays[i])
#else
#define RETURNS(i) true
#endif

/* As updater. */
mtype = { IDLE, TOLD, POSTED, DOUBT };
mtype does[2] = IDLE;
byte todo[2] = ROUNDS;
byte number[2];
byte what[2];	      /* the update under way; its fence is that of the row at its broadcast */
byte at_epoch[2];     /* the epoch at its broadcast */
byte told[2];	      /* the homes to which it was broadcast: bit h */
byte ended[2];	      /* number of the newest that has ended, as the updater publishes it */
byte message[4];      /* P(home, updater): on its way */
bool ack[4];	      /* P(home, updater): the word of that home names the update under way */

/* As home. */
byte pending[4]; /* P(home, updater) */
/* Home 0's page. */
byte generation, version, log_number;
bool listed;
#ifdef EARLY
byte log_at; /* position of the newest commit that a snapshot must see */
#endif
#ifdef TAGS
bool log_touches; /* the newest of the log */
#endif

/* --- fills and the proxy -------------------------------------------------------- */

mtype = { FILLING, REGISTERED, CHECKED };
mtype fill[FILLS + 1] = FILLING;
bool has_version[FILLS + 1], has_number[FILLS + 1], has_snapshot[FILLS + 1];
byte f_version[FILLS + 1], f_number[FILLS + 1], f_snapshot[FILLS + 1];
bool has_copy;
byte copy_version, copy_snapshot;

/* --- the rules ------------------------------------------------------------------ */

#define LOCKS_ROW(u) (tx[u] == LOCKED || late[u] == LOCKED)

/* R1, R3: words begin above all of earlier generations */
#ifdef BROKEN_VERSIONS_FROM_ZERO
#define WORD version
#else
#define WORD (generation << 4 | version)
#endif
#ifdef BROKEN_NUMBER_FROM_ZERO
#define LOG log_number
#else
#define LOG (generation << 4 | log_number)
#endif

/* R1: all updates are kept */
#ifdef BROKEN_KEPT_IF_LISTED
#define KEEPS(h) ((h) != 0 || was_listed)
#else
#define KEEPS(h) true
#endif

/* R2: what a fill must have before its snapshot */
#if defined(EARLY) || defined(BROKEN_NUMBER_LATE)
#define MAY_SNAPSHOT(f) true
#else
#define MAY_SNAPSHOT(f) has_number[f]
#endif
#ifdef VERSION_LATE /* no rule: nothing is found */
#define VERSION_IN_TIME(f) true
#else
#define VERSION_IN_TIME(f) has_version[f]
#endif
#ifdef VERSION_UNCHECKED /* no rule: nothing is found */
#define SAME_VERSION(f) true
#else
#define SAME_VERSION(f) (f_version[f] == WORD)
#endif
#define HAS_PENDING (TOUCHES(pending[P(0, 0)]) || TOUCHES(pending[P(0, 1)]))
#if defined(BROKEN_PENDING_IGNORED) || defined(BROKEN_PENDING_AT_READ)
#define NONE_PENDING true
#else
#define NONE_PENDING (!HAS_PENDING)
#endif
#ifdef BROKEN_PENDING_AT_READ
#define NONE_AT_READ (!HAS_PENDING)
#else
#define NONE_AT_READ true
#endif
#ifdef EARLY
#define SEES_LOG(f) (f_snapshot[f] >= log_at)
#endif
#if defined(BROKEN_ENDED_IGNORED) || defined(BROKEN_UNSEEN_IGNORED)
#define NONE_ENDED(f) true
#elif defined(EARLY)
#define NONE_ENDED(f) SEES_LOG(f)
#elif defined(TAGS) && defined(BROKEN_LOG_SHORT)
#define NONE_ENDED(f) (f_number[f] == LOG || !log_touches)
#elif defined(TAGS)
#define NONE_ENDED(f) (f_number[f] == LOG || f_number[f] + 1 == LOG && !log_touches)
#else
#define NONE_ENDED(f) (f_number[f] == LOG)
#endif
#define REGISTERS(f) (SAME_VERSION(f) && NONE_PENDING && NONE_ENDED(f))

/* R4: acknowledged by each member, or out, and the wait is over */
#define WAS_TOLD(u, h) (told[u] >> (h) & 1)
#if defined(BROKEN_NO_WAIT)
#define IS_OUT(h) (!in[h])
#elif defined(BROKEN_OUT_OF_EARLIER)
bool was_over[2]; /* the wait for any of its generations is over */
#define IS_OUT(h) (!in[h] && was_over[h])
#else
#define IS_OUT(h) (!in[h] && over[h])
#endif
#ifdef BROKEN_OUT_AT_ONCE
#define IS_OUT_BEFORE(h) true
#else
#define IS_OUT_BEFORE(h) (in[h] || over[h])
#endif
#define AGREES(u, h) (WAS_TOLD(u, h) -> ack[P(h, u)] || IS_OUT(h) : IS_OUT_BEFORE(h))
#if defined(BROKEN_NOT_AWAITED)
#define MAY_POST(u) true
#elif defined(BROKEN_ACK_BY_FAA)
byte acks[2];
#define MAY_POST(u) (acks[u] >= (told[u] & 1) + (told[u] >> 1) || AGREES(u, 0) && AGREES(u, 1))
#else
#define MAY_POST(u) (AGREES(u, 0) && AGREES(u, 1))
#endif

/* R5: the transaction finds epoch and row as they were, and keeps them so */
#ifdef BROKEN_EPOCH_UNCHECKED
#define SAME_EPOCH(e) true
#else
#define SAME_EPOCH(e) ((e) == epoch)
#endif
#ifdef BROKEN_ROW_UNCHECKED
#define SAME_ROW(u, w) true
#else
#define SAME_ROW(u, w) (FENCE(w) == fence[u])
#endif
#ifdef BROKEN_EPOCH_KEY_SHARE
#define EPOCH_IS_FREE true
#else
#define EPOCH_IS_FREE (!LOCKS_ROW(0) && !LOCKS_ROW(1))
#endif
#ifdef BROKEN_ROW_KEY_SHARE
#define ROW_IS_FREE(u) true
#else
#define ROW_IS_FREE(u) (!LOCKS_ROW(u))
#endif

/* R6: which row is raised */
#ifdef BROKEN_JOIN_UNRAISED
#define RAISE_EPOCH skip
#else
#define RAISE_EPOCH epoch++
#endif
#if defined(BROKEN_DROPPED_BY_MEMBER)
bool news[4]; /* P(home, updater): this home has heard of a removal */
#define NEWS(u)		news[P(0, u)] = true; news[P(1, u)] = true
#define MAY_DROP(h, u)	news[P(h, u)]
#define DROPPED(h, u)	news[P(h, u)] = false
#elif defined(BROKEN_DROPPED_UNRAISED)
#define NEWS(u)		skip
#define MAY_DROP(h, u)	(is[u] != MEMBER || FENCE(pending[P(h, u)]) < fence[u])
#define DROPPED(h, u)	skip
#elif defined(BROKEN_DEAD_KEPT)
#define NEWS(u)		skip
#define MAY_DROP(h, u)	false
#define DROPPED(h, u)	skip
#else
#define NEWS(u)		skip
#define MAY_DROP(h, u)	(FENCE(pending[P(h, u)]) < fence[u])
#define DROPPED(h, u)	skip
#endif

/* R7: whose words a proxy may use; a home that is outside has closed its words */
#ifdef BROKEN_OPEN_BEFORE_JOIN
#define IS_OPEN (is[0] != DEAD)
#else
#define IS_OPEN (is[0] == MEMBER)
#endif
#define IS_USABLE (IS_OPEN && !over[0])
#ifdef BROKEN_NEVER_REMOVED
#define MAY_REMOVE(i) (removals > 0)
#else
#define MAY_REMOVE(i) (removals > 0 || is[i] == DEAD)
#endif

/* --- the home ------------------------------------------------------------------- */

inline move_version()
{
#ifndef BROKEN_UNMOVED
	version = (listed -> version + 1 : version);
#endif
	listed = false
}

/* An update has ended, at this position or before, and goes from pending to the log. */
inline log_ended(h, u, position)
{
#ifndef BROKEN_ENDED_FORGOTTEN
	if
	:: h == 0 ->
#ifdef EARLY
		if
		:: TOUCHES(pending[P(0, u)]) && log_at < position -> log_at = position
		:: else
		fi
#else
		log_number++
#ifdef TAGS
		;
		log_touches = TOUCHES(pending[P(0, u)])
#endif
#endif
	:: else
	fi;
#endif
	pending[P(h, u)] = 0
}

inline mark(h, u)
{
#ifdef BROKEN_KEPT_IF_LISTED
	was_listed = listed;
#endif
	if
	:: h == 0 && TOUCHES(message[P(h, u)]) -> move_version()
	:: else
	fi;
	if /* what was pending of this updater has ended: it makes one after the other */
	:: pending[P(h, u)] -> log_ended(h, u, row_at[u])
	:: else
	fi;
	if
	:: KEEPS(h) -> pending[P(h, u)] = message[P(h, u)]
	:: else
	fi;
	message[P(h, u)] = 0
}

/* A home that begins knows nothing. */
inline begin_home(h)
{
	pending[P(h, 0)] = 0;
	pending[P(h, 1)] = 0;
	message[P(h, 0)] = 0;
	message[P(h, 1)] = 0;
	if
	:: h == 0 ->
		generation++;
		version = 0;
		log_number = 0;
		listed = false;
#ifdef EARLY
		log_at = 0;
#endif
	:: else
	fi
}

#ifdef EARLY
#define RAISES(u) now++; raised_at[u] = now
#else
#define RAISES(u) skip
#endif

inline raise(u)
{
	fence[u]++;
	NEWS(u);
	RAISES(u)
}

inline join(h)
{
	RAISE_EPOCH;
	raise(h);
#if defined(EARLY) && !defined(BROKEN_JOIN_UNSEEN)
	if
	:: h == 0 -> log_at = now
	:: else
	fi;
#endif
	in[h] = true;
	over[h] = false;
	is[h] = MEMBER
}

/* Home 1 has no page. What is pending there matters to PENDING alone. */
#ifdef PROGRESS_ROW
#define KEEPS_PENDING(h) true
#else
#define KEEPS_PENDING(h) ((h) == 0)
#endif
#define GOT(h, u) (NUMBER(message[P(h, u)]) == number[u])
#if defined(BROKEN_ACK_BEFORE_MARK)
#define MARKED(h, u) GOT(h, u)
#elif defined(BROKEN_KEPT_IF_LISTED)
#define MARKED(h, u) (!message[P(h, u)])
#else
#define MARKED(h, u) (NUMBER(pending[P(h, u)]) == number[u])
#endif
#define MAY_ACK(h, u) \
	(is[h] == MEMBER && does[u] == TOLD && !ack[P(h, u)] && \
	 (KEEPS_PENDING(h) -> MARKED(h, u) : GOT(h, u)))

inline acknowledge(h, u)
{
	ack[P(h, u)] = true;
#ifdef BROKEN_ACK_BY_FAA
	acks[u]++;
#endif
	message[P(h, u)] = (KEEPS_PENDING(h) -> message[P(h, u)] : 0)
}

#ifdef BROKEN_DROPPED_UNSEEN
#define SEEN_AFTER(u) 0
#else
#define SEEN_AFTER(u) raised_at[u]
#endif

proctype home(byte h)
{
#ifdef BROKEN_KEPT_IF_LISTED
	bool was_listed;
#endif
end:	do
	:: d_step { is[h] == MEMBER && KEEPS_PENDING(h) && message[P(h, 0)] -> mark(h, 0) }
	:: d_step { is[h] == MEMBER && KEEPS_PENDING(h) && message[P(h, 1)] -> mark(h, 1) }
	:: d_step { MAY_ACK(h, 0) -> acknowledge(h, 0) }
	:: d_step { MAY_ACK(h, 1) -> acknowledge(h, 1) }
#ifdef BROKEN_ACK_BY_FAA /* the outcome was UNKNOWN: once more */
	:: d_step { ack[P(h, 0)] && acks[0] < 2 -> acks[0]++ }
	:: d_step { ack[P(h, 1)] && acks[1] < 2 -> acks[1]++ }
#endif
	/* it learns that an update has ended */
	:: d_step {
		is[h] == MEMBER && pending[P(h, 0)] && NUMBER(pending[P(h, 0)]) <= ended[0] ->
		log_ended(h, 0, row_at[0])
	   }
	:: d_step {
		is[h] == MEMBER && pending[P(h, 1)] && NUMBER(pending[P(h, 1)]) <= ended[1] ->
		log_ended(h, 1, row_at[1])
	   }
	/* a look in the database shows that their updater is not what it was */
	:: d_step {
		is[h] == MEMBER && pending[P(h, 0)] && MAY_DROP(h, 0) ->
		log_ended(h, 0, SEEN_AFTER(0));
		DROPPED(h, 0)
	   }
	:: d_step {
		is[h] == MEMBER && pending[P(h, 1)] && MAY_DROP(h, 1) ->
		log_ended(h, 1, SEEN_AFTER(1));
		DROPPED(h, 1)
	   }
	/* a look shows that it is out itself: it closes its words, and comes back as another one */
#ifdef BROKEN_REJOIN_AS_WAS
	:: d_step { is[h] == MEMBER && !in[h] && EPOCH_IS_FREE -> join(h) }
#elif !defined(BROKEN_OUT_UNNOTICED)
	:: d_step { is[h] == MEMBER && !in[h] -> begin_home(h); is[h] = OUTSIDE }
#endif
	:: d_step { is[h] == OUTSIDE && EPOCH_IS_FREE && ROW_IS_FREE(h) -> join(h) }
	:: d_step {
		h == 0 && is[h] == MEMBER && listed && evicts ->
		evicts--;
#ifdef BROKEN_EVICTED_SILENTLY
		listed = false
#else
		move_version()
#endif
	   }
	od
}

/* --- the updater ---------------------------------------------------------------- */

inline rest(u)
{
	does[u] = IDLE;
	what[u] = 0;
	at_epoch[u] = 0;
	told[u] = 0;
	ack[P(0, u)] = false;
	ack[P(1, u)] = false
#ifdef BROKEN_ACK_BY_FAA
	;
	acks[u] = 0
#endif
}

inline broadcast(u, touches)
{
	number[u]++;
	what[u] = UPDATE(number[u], fence[u], touches);
	at_epoch[u] = epoch;
	told[u] = in[0] | in[1] << 1;
	if
	:: in[0] -> message[P(0, u)] = what[u]
	:: else
	fi;
	if
	:: in[1] -> message[P(1, u)] = what[u]
	:: else
	fi;
	does[u] = TOLD
}

/* R1 */
#ifdef BROKEN_END_UNTOLD
#define TELL_END(u) skip
#else
#define TELL_END(u) ended[u] = number[u]
#endif

inline commit(u, w)
{
#ifdef EARLY
	now++;
	row_at[u] = now;
#else
	now = (TOUCHES(w) -> now + 1 : now);
#endif
	changed = (TOUCHES(w) -> now : changed);
	row_done[u] = NUMBER(w)
}

/* Its connection, or itself, is gone: what it sent may be executed yet. */
inline leave_late(u)
{
	late[u] = tx[u];
	late_epoch[u] = at_epoch[u];
	late_what[u] = what[u];
	tx[u] = NONE
}

inline forget_late(u)
{
	late[u] = NONE;
	late_epoch[u] = 0;
	late_what[u] = 0
}

proctype updater(byte u)
{
end:	do
	:: d_step {
		does[u] == IDLE && todo[u] && is[u] == MEMBER && in[u] ->
		broadcast(u, 1)
	   }
#ifdef TAGS
	:: d_step {
		does[u] == IDLE && todo[u] && is[u] == MEMBER && in[u] ->
		broadcast(u, 0)
	   }
#endif
	:: d_step { does[u] == TOLD && MAY_POST(u) -> does[u] = POSTED; tx[u] = SENT }
#ifndef BROKEN_WAITS_ON
	/* it sees that the transaction would end without effect: it begins anew */
	:: d_step {
		does[u] == TOLD && (at_epoch[u] != epoch || FENCE(what[u]) != fence[u]) ->
		ended[u] = number[u];
		rest(u)
	   }
#endif
	:: d_step {
		tx[u] == SENT ->
		if
		:: SAME_EPOCH(at_epoch[u]) && SAME_ROW(u, what[u]) -> tx[u] = LOCKED
		:: else ->
			tx[u] = NONE;
			ended[u] = number[u];
			rest(u)
		fi
	   }
	:: d_step {
		tx[u] == LOCKED ->
		commit(u, what[u]);
		tx[u] = NONE;
		todo[u]--;
		TELL_END(u);
		rest(u)
	   }
	:: d_step {
		does[u] == POSTED && losses && late[u] == NONE ->
		losses--;
		leave_late(u);
		does[u] = DOUBT
	   }
#if defined(BROKEN_DONE_IN_DOUBT)
	:: d_step { does[u] == DOUBT -> todo[u]--; ended[u] = number[u]; rest(u) }
#elif !defined(BROKEN_DOUBT_KEPT)
	/* it raises its own row on another connection, and looks */
	:: d_step {
		does[u] == DOUBT && ROW_IS_FREE(u) ->
		raise(u);
		todo[u] = (row_done[u] == number[u] -> todo[u] - 1 : todo[u]);
		ended[u] = number[u];
		rest(u)
	   }
#endif
	/* the database executes what is late, or does not */
	:: d_step {
		late[u] == SENT ->
		if
		:: SAME_EPOCH(late_epoch[u]) && SAME_ROW(u, late_what[u]) -> late[u] = LOCKED
		:: else -> forget_late(u)
		fi
	   }
#ifdef BROKEN_TX_KEPT
	:: d_step { late[u] == SENT -> forget_late(u) }
#else
	:: d_step { late[u] == LOCKED -> commit(u, late_what[u]); forget_late(u) }
	:: d_step { late[u] != NONE -> forget_late(u) }
#endif
	od
}

/* --- a fill, and the proxy's copy ----------------------------------------------- */

#define HAS_ALL(f) (has_version[f] && has_number[f] && has_snapshot[f])

inline end_fill(f)
{
	fill[f] = FILLING;
	has_version[f] = false;
	has_number[f] = false;
	has_snapshot[f] = false;
	f_version[f] = 0;
	f_number[f] = 0;
	f_snapshot[f] = 0
}

inline store(f)
{
	has_copy = true;
	copy_version = f_version[f];
	copy_snapshot = f_snapshot[f];
	end_fill(f)
}

proctype filler(byte f)
{
end:	do
	:: d_step {
		fill[f] == FILLING && !has_version[f] && IS_OPEN && NONE_AT_READ ->
		has_version[f] = true;
		f_version[f] = WORD
	   }
#ifdef EARLY
	:: d_step { !has_number[f] && has_version[f] -> has_number[f] = true }
#else
	:: d_step {
		fill[f] == FILLING && !has_number[f] && IS_OPEN && NONE_AT_READ ->
		has_number[f] = true;
		f_number[f] = LOG
	   }
#endif
	:: d_step {
		fill[f] == FILLING && !has_snapshot[f] && MAY_SNAPSHOT(f) && VERSION_IN_TIME(f) ->
		has_snapshot[f] = true;
		f_snapshot[f] = now
	   }
#ifdef EARLY
	:: d_step {
		fill[f] == FILLING && !has_snapshot[f] && !has_version[f] ->
		has_snapshot[f] = true;
		f_snapshot[f] = now
	   }
#endif
	:: d_step {
		fill[f] == FILLING && HAS_ALL(f) && IS_OPEN ->
		if
		:: REGISTERS(f) ->
#ifdef BROKEN_REGISTERS_IN_TWO_STEPS
			fill[f] = CHECKED
#else
			listed = true;
			fill[f] = REGISTERED
#endif
#ifdef BROKEN_STORED_UNREGISTERED
		:: else -> fill[f] = REGISTERED
#else
		:: else -> end_fill(f)
#endif
		fi
	   }
#ifdef BROKEN_REGISTERS_IN_TWO_STEPS
	:: d_step { fill[f] == CHECKED && IS_OPEN -> listed = true; fill[f] = REGISTERED }
#endif
	:: d_step { fill[f] == REGISTERED -> store(f) }
	:: d_step { fill[f] == FILLING && (has_version[f] || has_snapshot[f]) -> end_fill(f) }
	od
}

/* --- faults, and time ----------------------------------------------------------- */

inline crash(i)
{
	crashes--;
	is[i] = DEAD;
	if
	:: tx[i] != NONE -> leave_late(i)
	:: else
	fi;
	rest(i);
	ended[i] = 0;
	message[P(1, i)] = (KEEPS_PENDING(1) -> message[P(1, i)] : 0);
	begin_home(i)
}

/* What happens to member i. */
proctype world(byte i)
{
end:	do
	:: d_step { crashes && is[i] != DEAD && (late[i] == NONE || tx[i] == NONE) -> crash(i) }
	:: d_step { is[i] == DEAD && RETURNS(i) -> is[i] = OUTSIDE }
	/* another member removes it, for good reasons or bad ones */
	:: d_step {
		in[i] && is[1 - i] == MEMBER && MAY_REMOVE(i) && ROW_IS_FREE(i) ->
		removals = (is[i] == DEAD -> removals : removals - 1);
		raise(i);
		in[i] = false;
		over[i] = false
	   }
	:: d_step {
		!in[i] && !over[i] -> /* OVER */
#ifdef BROKEN_OUT_OF_EARLIER
		was_over[i] = true;
#endif
		over[i] = true
	   }
#ifdef PROGRESS_ROW
	:: d_step { is[i] == DEAD && !stays[i] -> stays[i] = true }
	:: d_step {
		crashes + removals + losses > 0 -> /* the faults end */
		crashes = 0;
		removals = 0;
		losses = 0
	   }
#endif
	od
}

/* --- what is checked ------------------------------------------------------------ */

#define IS_HIT	 (has_copy && IS_USABLE && copy_version == WORD)
#define IS_STALE (copy_snapshot < changed)

#ifdef PROGRESS_ROW
#define IS_DONE(u) (is[u] == DEAD || does[u] == IDLE && !todo[u])
#define IS_EMPTY(h) (is[h] == DEAD || is[h] == MEMBER && !pending[P(h, 0)] && !pending[P(h, 1)])

active proctype progress()
{
end:	timeout ->
#if !defined(ONLY) || defined(CHECK_WRITES)
	assert(IS_DONE(0) && IS_DONE(1) /* WRITES */);
#endif
#if !defined(ONLY) || defined(CHECK_PENDING)
	assert(IS_EMPTY(0) && IS_EMPTY(1) /* PENDING */);
#endif
	skip
}
#else
/* An assert in a process of its own would miss states. This one follows each step. */
never {
	do
#if defined(CHECK_HIT)
	:: assert(!(IS_HIT && changed > 0 && !HAS_PENDING) /* HIT */)
#elif defined(CHECK_HIT_BACK)
	:: assert(!(IS_HIT && changed > 0 && generation > 0) /* HIT_BACK */)
#else
	:: assert(!IS_HIT || !IS_STALE /* COHERENT */)
#endif
	od
}
#endif

init {
	byte f;

	atomic {
		todo[0] = FIRST_ROUNDS;
		run home(0);
		run home(1);
		run updater(0);
		run updater(1);
		do
		:: f < FILLS -> run filler(f); f++
		:: else -> break
		od;
		f = 0;
		run world(0);
		run world(1)
	}
}
