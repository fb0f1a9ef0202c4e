/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run: one random schedule of the cache of dynamic pages, drawn from one seed, in virtual time.
 *
 * Hosts 1 to 3 are application servers: each is a home and an updater (home.h, update.h, fill.h,
 * recover.h, and the home's side of fresh.h). Hosts 4 and 5 are proxies (fresh.h, hit.h). They run
 * in a world (tests/shared/world.h) beside a database (db.h). This is what their owners would do:
 *
 *	run_draw.c    what a schedule has: pages, times, faults
 *	run.c         the world's calls; troubles; the end, when all must have been done
 *	run_call.c    calls of the database: delays, lost answers, clients that die or hang
 *	run_app.c     an application server: looks, joins, updates
 *	run_fill.c    an application server: fills
 *	run_proxy.c   a proxy: requests, copies, and the check of each hit
 *	run_record.c  the history, and what is wrong with it
 *
 * Checked: a copy that is served has seen all commits that touch its page at the moment of the READ
 * that verified it, and that READ was within the request (stale, early). When the faults have
 * ended, all updates get done, none is pending, all hosts are members, and each page is served
 * from a cache (writes, pending, member, cached). A schedule in which one member dies or hangs
 * also bounds the delay of a write (delay).
 */
#ifndef RESEX_TESTS_CACHE_VT_RUN_H
#define RESEX_TESTS_CACHE_VT_RUN_H

#include <stdio.h>

#include "src/cache/broken.h"
#include "src/cache/fill.h"
#include "src/cache/fresh.h"
#include "src/cache/hit.h"
#include "src/cache/home.h"
#include "src/cache/recover.h"
#include "src/cache/update.h"
#include "tests/cache/vt/db.h"
#include "tests/shared/world.h"

enum {
	RUN_APPS = 3,
	RUN_PROXIES = 2,
	RUN_HOSTS = RUN_APPS + RUN_PROXIES,
	RUN_SLOTS = 2,
	RUN_WORDS = 4,
	RUN_FILLS = 2, /* of a host, at each home at a time */
	RUN_PAGES = 12,
	RUN_COPIES = 4, /* of a page at a proxy */
	RUN_TAGS = 8,
	RUN_SENDS = 16,
	RUN_JOBS = 64,
	RUN_REQUESTS = 32,
	RUN_DELIVERIES = 256,
	RUN_ROOM = 24, /* tags that the lists of a home have room for, at most */
	RUN_ENOUGH = 16,
	RUN_LOG = 8, /* at most */
};

/* Times in ns. */
enum {
	RUN_FRESH = 40 * NS_PER_MS,
	RUN_LOOK = RUN_FRESH / 4,
	RUN_DETECT = 60 * NS_PER_MS,
	RUN_CHECK = 4 * NS_PER_MS, /* of ack words */
	RUN_DEADLINE = 8 * NS_PER_MS,
	RUN_SQL = 30 * NS_PER_MS,    /* a client waits for the database */
	RUN_IDLE = 60 * NS_PER_MS,   /* the database for a client */
	RUN_TIMEOUT = 6 * NS_PER_MS, /* of a hit; or more than `fresh` */
};

/* Where the parts of an application server's region are: as in region_abi.h. */
enum {
	RUN_BEAT = 0,
	RUN_LOG_WORD = 64, /* or RUN_VERSIONS - 8 */
	RUN_VERSIONS = 4096,
	RUN_ACKS = 4 * REGION_PAGE,
	RUN_STRIDE = 8 * REGION_HOSTS_MAX,
};

/* Tags of operations. */
enum {
	RUN_T_HOME = 1 << 8,
	RUN_T_FILL = 1 << 12,
	RUN_T_SEND = 1 << 13,
	RUN_T_UPDATE = 1 << 20,
	RUN_T_FRESH = 1 << 16,
	RUN_T_HIT = 1 << 18,
};

enum run_kind {
	RUN_CALM,     /* no faults */
	RUN_DEATH,    /* one member dies or hangs, once; a write is delayed for so long at most */
	RUN_CRASHES,  /* of application servers; they come back soon, late, or not */
	RUN_PAUSES,   /* of a process, of one of its threads */
	RUN_CUTS,     /* between hosts, and to or from the database */
	RUN_COMMITS,  /* something happens before, in or after a COMMIT */
	RUN_REMOVALS, /* an operator removes members that live, which may hang just then */
	RUN_STORM,    /* all of these, and of operations */
	RUN_KINDS,
};

enum run_violation {
	RUN_FINE,
	RUN_STALE,
	RUN_EARLY,
	RUN_WRITES,
	RUN_PENDING,
	RUN_MEMBER,
	RUN_CACHED,
	RUN_DELAY,
	RUN_WORLD, /* the world or the test itself cannot go on */
	RUN_VIOLATIONS,
};

/* --- the database's clients ------------------------------------------------------ */

enum run_call_end {
	RUN_CALL_DONE,
	RUN_CALL_CHANGED,
	RUN_CALL_FAILED,
	RUN_CALL_LOST,	  /* without effect, or it does not matter */
	RUN_CALL_UNKNOWN, /* COMMIT was sent, and there was no answer */
};

struct run_call {
	uint32_t serial;
	uint32_t boot;	    /* of the client's process */
	bool client;	    /* it waits yet, or its loop has not taken the end */
	bool sent;	    /* COMMIT was */
	bool told;	    /* the loop will take its end */
	uint32_t events;    /* that are under way */
	int64_t sent_until; /* the newest that it sent is there; what comes later is behind it */
	enum run_call_end end;
	struct db_result result; /* as the client has it */
	struct mono began;	 /* client's clock */
};

/* --- application servers ---------------------------------------------------------- */

enum run_job_state { RUN_JOB_FREE, RUN_JOB_WAITS, RUN_JOB_READS, RUN_JOB_COMPUTES, RUN_JOB_ASKS };

/* A page that is computed. */
struct run_job {
	enum run_job_state state;
	uint32_t serial;
	uint16_t page, proxy, home;
	struct fill *fill;
	bool has_seen; /* it has a snapshot: */
	uint32_t seen; /* position in the order of commits */
	struct home_snapshot snapshot;
	uint64_t running[DB_CALLS];
};

struct run_app {
	/* the region */
	uint64_t word[RUN_WORDS], log_word, beat;
	uint64_t ack[RUN_SLOTS][RUN_HOSTS];
	struct home home;
	struct update update[RUN_SLOTS];
	uint32_t call_of[RUN_SLOTS]; /* + 1: a transaction or its resolution; 0: none */
	int64_t asked[RUN_SLOTS];    /* true time of the wish */
	uint64_t tags[RUN_SLOTS];
	struct fill fill[RUN_APPS + 1][RUN_FILLS];
	struct run_job job[RUN_JOBS];
	struct recover recover;
	struct fresh_beat look;
	uint32_t looks, changes; /* calls + 1: a look; a join or a removal; 0: none */
	bool wants_look;
	struct mono next_look;
	uint64_t held; /* a beat that is stored when the loop goes on */
	uint32_t held_boot;
	struct {
		bool busy;
		uint32_t bytes[16];
	} send[RUN_SENDS];
	int64_t stopped_until; /* its threads of the database are stopped */
	bool is_gone;	       /* for good */
	uint32_t wishes, done;
	/* what its words begin in; aligned */
	uint64_t block[16384];
};

/* --- proxies ------------------------------------------------------------------------ */

struct run_copy {
	uint64_t version; /* 0: none */
	uint16_t home;
	uint32_t seen;
};

/* A page on its way from an application server. */
struct run_delivery {
	uint16_t host, home, page;
	uint64_t version;
	uint32_t seen;
};

struct run_read {
	uint32_t position; /* commits when it was executed */
	int64_t t;
};

struct run_proxy {
	struct fresh fresh[RUN_APPS + 1];
	const struct fresh *evidence[HIT_HOSTS];
	struct hit hit;
	uint64_t block[2048];
	struct {
		bool busy;
		uint16_t page;
		int64_t t;
	} request[RUN_REQUESTS];
	struct run_read read[RUN_APPS * HIT_READS]; /* by tag */
	struct run_copy copy[RUN_PAGES][RUN_COPIES];
	uint32_t next_copy[RUN_PAGES];
};

struct run_page {
	uint16_t home;
	uint32_t word;
	uint64_t tags; /* bits */
	bool served;   /* from a cache, since the faults ended */
};

/* --- a schedule --------------------------------------------------------------------- */

enum { RUN_HISTORY = 160 };

struct run_record {
	int64_t t;
	const char *what;
	uint16_t host;
	uint64_t a, b, c;
};

struct run_sums {
	uint64_t steps, commits, hits, misses, unverified, fills, refused[HOME_FULL + 1];
	uint64_t joins, removals, evictions, unknown, changed, crashes, pauses, hits_after;
	uint64_t longest; /* DEATH: ns, of a write */
};

struct run {
	struct world w;
	/* all behind is cleared at the begin */
	struct db db;
	enum run_kind kind;
	/* drawn */
	bool has_snapshots; /* the database tells what a snapshot sees */
	bool early;	    /* and some are older than the READs */
	uint32_t drift_ppm;
	uint32_t room, log;
	int64_t timeout_ns;
	int64_t delay_ns;				   /* DEATH: of a write, at most */
	uint32_t commit_in;				   /* one COMMIT in so many meets a fault */
	int64_t trouble_ns, wish_ns, request_ns, evict_ns; /* from one to the next, on average */
	bool may_go;	   /* one application server may go for good */
	uint32_t updaters; /* bits: hosts that make updates */
	uint32_t log_word; /* its offset: beside word 0, or not */
	struct run_page page[RUN_PAGES];
	struct run_app app[RUN_APPS + 1];
	struct run_proxy proxy[RUN_HOSTS + 1];
	struct run_call call[DB_CALLS];
	struct run_delivery delivery[RUN_DELIVERIES];
	uint32_t deliveries;
	int64_t db_cut[2][RUN_HOSTS + 1]; /* until; to the database, and from it */
	bool quiet;			  /* no more faults */
	int64_t quiet_since;
	uint16_t victim; /* DEATH: it has died or hangs */
	int64_t struck;
	uint32_t gone;
	enum run_violation violation;
	char text[256];
	struct run_record history[RUN_HISTORY];
	uint64_t records, hash;
	struct run_sums sums;
	FILE *verbose;
	uint32_t serial;
};

struct run_options {
	FILE *verbose; /* gets each record; or NULL */
	int kind;      /* enum run_kind; -1: any */
};

/* One schedule. false: r->violation. */
bool run_schedule(struct run *r, uint64_t seed, const struct run_options *o);
const char *run_kind_name(enum run_kind k);
const char *run_violation_name(enum run_violation v);
void run_dump(FILE *f, const struct run *r);

#endif
