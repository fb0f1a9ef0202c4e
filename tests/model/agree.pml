/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agree: cluster.json changes while the hosts run. What must be equal for a decision is cut into
 * parts. Each host publishes which content of each part it holds, and reads what the others hold.
 * README.md maps rules to the code.
 *
 * A decision is a move, or the break of a lock. Several hosts may decide at once: the locks are
 * not in this model. A host that dies, or whose view ends, decides nothing more: its late
 * operations are fenced (lock.pml, view.pml). A host publishes all parts in one record, and one
 * READ returns them. What was read may be out of date at any later time.
 *
 * The rows differ in what the two parts are:
 *   (none)  two services, the taker's and the donor's
 *   VIEWS   a service, and the number of the membership view: 1 has all hosts, 2 has no host 2,
 *           3 has all hosts again
 *   SET     the set of hosts, in which host 2 is (1) or is not (0), and nothing. Host 2 runs by a
 *           file that has it
 * Host 0 has the locks. A host that starts again may have any file.
 *
 * Properties:
 *   ONE_FILE   no two hosts decide by different contents at once
 *   TURN       decisions change to other contents only after every member has held these
 *   PROGRESS   when all members hold the same, every one of them decides
 */
#define HOSTS 3
#define NONE  7

#ifndef RELOADS
#define RELOADS 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif

#define P(h, p)	   ((h) * 2 + (p))
#define L(h, g, p) (((h) * HOSTS + (g)) * 2 + (p))

byte held[HOSTS * 2];		     /* by which a host decides */
byte published[HOSTS * 2];	     /* what others read; NONE: the host is not up */
byte seen[HOSTS * HOSTS * 2] = NONE; /* by host h of host g; NONE: nothing, or another content */
bool up[HOSTS], todo[HOSTS];	     /* todo: it holds what it has not published yet */
bool decides[HOSTS];
byte reloads = RELOADS, crashes = CRASHES;

#ifdef VIEWS
#define VIEW(h)	     held[P(h, 1)]
#define MEMBER(h, g) (VIEW(h) != 2 || (g) != 2)
#define QUORATE(h)   (VIEW(h) != 2 || (h) != 2)
#define FILE(h)	     held[P(h, 0)]
#define FILE_SEEN(h) published[P(h, 0)]
#else
#define VIEW(h)	     0
#define QUORATE(h)   true
#define FILE(h)	     (held[P(h, 0)] * 2 + held[P(h, 1)])
#define FILE_SEEN(h) (published[P(h, 0)] * 2 + published[P(h, 1)])
#endif
#ifdef SET
#define MEMBER(h, g)  (held[P(h, 0)] == 1 || (g) != 2)
bool linked[HOSTS]; /* the host has links with host 2 */
#define REACHES(h, g) (up[g] && ((h) != 2 || (g) == 2 || linked[g]))
#else
#ifndef VIEWS
#define MEMBER(h, g) true
#endif
#define REACHES(h, g) up[g]
#endif

/* --- the rules ------------------------------------------------------------------ */

/* What differs is as good as what was not read; not so in a variant that mistakes the two. */
#if defined(BROKEN_UNREAD_IGNORED) || defined(BROKEN_OLD_READ) || defined(BROKEN_LOOK_FIRST)
#define AS_READ(h, g, p) published[P(g, p)]
#else
#define AS_READ(h, g, p) (published[P(g, p)] == held[P(h, p)] -> published[P(g, p)] : NONE)
#endif

#ifdef BROKEN_DONOR_IGNORED
#define EQUAL(h, g, p) ((p) == 1 || seen[L(h, g, p)] == held[P(h, p)])
#elif defined(BROKEN_UNREAD_IGNORED)
#define EQUAL(h, g, p) (seen[L(h, g, p)] == NONE || seen[L(h, g, p)] == held[P(h, p)])
#elif defined(BROKEN_VIEW_IGNORED)
#define EQUAL(h, g, p) ((p) == 1 || seen[L(h, g, p)] == held[P(h, p)])
#else
#define EQUAL(h, g, p) (seen[L(h, g, p)] == held[P(h, p)])
#endif
#define AGREES(h, g) ((g) == (h) || !MEMBER(h, g) || EQUAL(h, g, 0) && EQUAL(h, g, 1))
#ifdef BROKEN_HOME_ALONE
#define ALL_AGREE(h) AGREES(h, 0)
#else
#define ALL_AGREE(h) (AGREES(h, 0) && AGREES(h, 1) && AGREES(h, 2))
#endif
#ifdef BROKEN_UNPUBLISHED
#define PUBLISHED(h) true
#else
#define PUBLISHED(h) (!todo[h])
#endif
#if defined(BROKEN_UNPUBLISHED) || defined(BROKEN_LOOK_FIRST)
#define MAY_LOOK(h) true
#else
#define MAY_LOOK(h) (!todo[h])
#endif
#define MAY_DECIDE(h) (up[h] && QUORATE(h) && PUBLISHED(h) && ALL_AGREE(h) && REACHES(h, 0))
#ifdef BROKEN_RELOAD_AT_ONCE
#define MAY_RELOAD(h) true
#else
#define MAY_RELOAD(h) (!decides[h])
#endif
#ifdef BROKEN_READ_ONCE /* per publication */
#define MAY_READ(h, g) (!read[(h) * HOSTS + (g)])
bool read[HOSTS * HOSTS];
#define NOTE_READ(h, g)	   read[(h) * HOSTS + (g)] = true
#define NOTE_FORGOTTEN(h)  read[(h) * HOSTS] = false; read[(h) * HOSTS + 1] = false; \
			   read[(h) * HOSTS + 2] = false
#else
#define MAY_READ(h, g)	  true
#define NOTE_READ(h, g)	  skip
#define NOTE_FORGOTTEN(h) skip
#endif

inline forget(h, p)
{
	NOTE_FORGOTTEN(h);
	seen[L(h, 0, p)] = NONE;
	seen[L(h, 1, p)] = NONE;
	seen[L(h, 2, p)] = NONE
}

/* What was read before the publication of another content is forgotten with it. */
inline forget_changed(h, p)
{
	if
	:: published[P(h, p)] != held[P(h, p)] ->
		forget(h, p)
	:: else
	fi
}

/* --- what is checked ------------------------------------------------------------- */

byte decided_file, decided_view; /* of the newest decision */
byte went[HOSTS];		 /* files that a host has held since the first of these */
#define WENT(h, f) (went[h] >> (f) & 1)

#define CONFLICT(h, g) ((g) != (h) && decides[g] && VIEW(g) == VIEW(h) && FILE(g) != FILE(h))

inline note_published(h)
{
	if
	:: published[P(h, 0)] != NONE -> went[h] = went[h] | 1 << FILE_SEEN(h)
	:: else
	fi
}

#if !defined(ONLY) || defined(CHECK_ONE_FILE)
#define CHECK_CONFLICT(h) \
	assert(!CONFLICT(h, 0) && !CONFLICT(h, 1) && !CONFLICT(h, 2) /* ONE_FILE */)
#else
#define CHECK_CONFLICT(h) skip
#endif
#if !defined(ONLY) || defined(CHECK_TURN)
#define CHECK_WENT(h) \
	assert((!MEMBER(h, 0) || WENT(0, FILE(h))) && (!MEMBER(h, 1) || WENT(1, FILE(h))) && \
	       (!MEMBER(h, 2) || WENT(2, FILE(h))) /* TURN */)
#else
#define CHECK_WENT(h) skip
#endif

/* A decision in an older view than the newest one's fails: epochs (view.pml). */
inline begin(h)
{
	decides[h] = true;
	CHECK_CONFLICT(h);
	if
	:: VIEW(h) >= decided_view && FILE(h) != decided_file ->
		CHECK_WENT(h);
		decided_file = FILE(h);
		went[0] = 0;
		went[1] = 0;
		went[2] = 0;
		note_published(0);
		note_published(1);
		note_published(2)
	:: else
	fi;
	if
	:: VIEW(h) > decided_view -> decided_view = VIEW(h)
	:: else
	fi
}

/* --- the hosts ------------------------------------------------------------------- */

inline read_part(h, g, p)
{
	seen[L(h, g, p)] = AS_READ(h, g, p)
}

#define WORTH_READING(h, g) (seen[L(h, g, 0)] != AS_READ(h, g, 0) || \
			     seen[L(h, g, 1)] != AS_READ(h, g, 1))
#define READABLE(h, g) ((h) != (g) && up[h] && MAY_LOOK(h) && MEMBER(h, g) && REACHES(h, g) && \
			published[P(g, 0)] != NONE && MAY_READ(h, g) && WORTH_READING(h, g))

inline look(h, g)
{
#ifdef BROKEN_VIEW_APART /* the service's record, and the view's: none of the two covers the other */
	if
	:: d_step { READABLE(h, g) -> read_part(h, g, 0) }
	:: d_step { READABLE(h, g) -> read_part(h, g, 1) }
	fi
#else
	d_step { READABLE(h, g) -> read_part(h, g, 0); read_part(h, g, 1); NOTE_READ(h, g) }
#endif
}

#ifdef SET
/* Host 2 loses the locks that it has with its link to them: the next holder outwaits it. */
inline cut(x)
{
	linked[x] = false;
	if
	:: x == 0 -> decides[2] = false
	:: else
	fi
}

/* A host that has a new link to the locks forgets what it read before. */
inline link(x)
{
	linked[x] = true;
#ifndef BROKEN_OLD_LINK
	if
	:: x == 0 -> forget(2, 0)
	:: else
	fi
#endif
}
#endif

inline change(h, p, to)
{
	d_step {
		held[P(h, p)] = to;
		todo[h] = true;
#ifdef BROKEN_LOOK_FIRST
		forget(h, p);
#endif
#if defined(SET) && !defined(BROKEN_PUBLISH_BEFORE_CUT)
		if
		:: held[P(h, 0)] == 0 && linked[h] -> cut(h)
		:: else
		fi
#endif
	}
}

inline publish(h)
{
	d_step { up[h] && todo[h] ->
		todo[h] = false;
#if !defined(BROKEN_LOOK_FIRST) && !defined(BROKEN_OLD_READ)
		forget_changed(h, 0);
		forget_changed(h, 1);
#endif
		published[P(h, 0)] = held[P(h, 0)];
		published[P(h, 1)] = held[P(h, 1)];
		note_published(h);
#ifdef SET
		if
		:: h != 2 && held[P(h, 0)] == 1 && !linked[h] -> link(h)
		:: else
		fi
#endif
	}
}

#ifdef BROKEN_PUBLISH_BEFORE_CUT
#define CUTS(h) d_step { h != 2 && published[P(h, 0)] == 0 && linked[h] -> cut(h) }
#endif

inline crash(h)
{
	d_step { up[h] && crashes > 0 ->
		crashes--;
		up[h] = false;
		decides[h] = false;
		todo[h] = false;
		published[P(h, 0)] = NONE;
		published[P(h, 1)] = NONE;
		forget(h, 0);
		forget(h, 1);
#ifdef SET
		linked[h] = false;
#endif
		if /* the locks are gone */
		:: h == 0 ->
			decides[1] = false;
			decides[2] = false
		:: else
		fi
	}
}

inline start(h)
{
	up[h] = true;
	todo[h] = true;
#ifndef BROKEN_OLD_LINK
	if /* the others' links to the locks are new */
	:: h == 0 ->
		forget(1, 0);
		forget(1, 1);
		forget(2, 0);
		forget(2, 1)
	:: else
	fi
#endif
}

#ifdef SET
#define ANY_FILE(h) ((h) != 2)
#else
#define ANY_FILE(h) true
#endif

#ifdef PROGRESS_ROW
bool decided[HOSTS]; /* by what it holds now */
#define MAY_BEGIN(h) (MAY_DECIDE(h) && !decided[h])
#define DECIDED(h)   decided[h] = true
#define UNDECIDED(h) decided[h] = false
#else
#define MAY_BEGIN(h) MAY_DECIDE(h)
#define DECIDED(h)   skip
#define UNDECIDED(h) skip
#endif

proctype host(byte h)
{
end:
	do
	:: look(h, 0)
	:: look(h, 1)
	:: look(h, 2)
	:: d_step { MAY_BEGIN(h) && !decides[h] -> begin(h); DECIDED(h) }
	:: d_step { decides[h] -> decides[h] = false }
	/* cluster-reload */
	:: atomic { up[h] && reloads > 0 && MAY_RELOAD(h) && ANY_FILE(h) ->
		reloads--;
		UNDECIDED(h);
		change(h, 0, 1 - held[P(h, 0)]) }
#if !defined(SET) && !defined(VIEWS)
	:: atomic { up[h] && reloads > 0 && MAY_RELOAD(h) ->
		reloads--;
		UNDECIDED(h);
		change(h, 1, 1 - held[P(h, 1)]) }
#endif
#ifdef VIEWS
	/* It learns of a newer view at any time: what it decided in the former one has ended. */
	:: atomic { up[h] && VIEW(h) < 3 ->
		decides[h] = false;
		UNDECIDED(h);
		if
		:: VIEW(h) == 1 && h != 2 -> change(h, 1, 2)
		:: change(h, 1, 3)
		fi }
#endif
	:: publish(h)
#ifdef CUTS
	:: CUTS(h)
#endif
	:: crash(h)
	:: atomic { !up[h] ->
		UNDECIDED(h);
		if
		:: ANY_FILE(h) -> held[P(h, 0)] = 0
		:: held[P(h, 0)] = 1
		fi;
		start(h) }
	od
}

#ifdef PROGRESS_ROW
#define SAME(p) (held[P(0, p)] == held[P(1, p)] && (!MEMBER(0, 2) || held[P(1, p)] == held[P(2, p)]))

active proctype progress()
{
end:	timeout ->
	assert(!(SAME(0) && SAME(1)) ||
	       decided[0] && decided[1] && (!MEMBER(0, 2) || decided[2]) /* PROGRESS */)
}
#endif

init
{
	byte i, first;

#ifdef SET
	if
	:: first = 1
	:: first = 0
	fi;
	decided_file = first * 2;
#endif
	d_step {
		do
		:: i < HOSTS ->
#ifdef VIEWS
			held[P(i, 1)] = 1;
			decided_view = 1;
#endif
#ifdef SET
			held[P(i, 0)] = (i == 2 -> 1 : first);
			linked[i] = (i == 2 || first == 1);
#endif
			published[P(i, 0)] = held[P(i, 0)];
			published[P(i, 1)] = held[P(i, 1)];
			up[i] = true;
			i++
		:: else -> break
		od;
		note_published(0);
		note_published(1);
		note_published(2);
		i = 0;
		first = 0
	};
	atomic {
		run host(0);
		run host(1);
		run host(2)
	}
}
