/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * app_priv: an application server's state, and what its files call of each other.
 *
 *	app.c		opens and closes; the clock's ticks; what other hosts ask
 *	app_member.c	looks, joins, leaves, removes: the row of this host, and of others
 *	app_updates.c	updates in their slots, and those that wait for one
 *	app_fills.c	fills, a pool of them for each home
 *	app_show.c	what people see of it
 *	app_util.c	what these share
 *
 * All of it runs in the loop's thread, but for a job's functions (jobs.h), which are named run_*.
 */
#ifndef RESEX_CACHED_APP_PRIV_H
#define RESEX_CACHED_APP_PRIV_H

#include <pthread.h>

#include "src/cache/fill.h"
#include "src/cache/fresh.h"
#include "src/cache/home.h"
#include "src/cache/place.h"
#include "src/cache/recover.h"
#include "src/cache/update.h"
#include "src/cached/app.h"
#include "src/cached/events.h"
#include "src/cached/jobs.h"
#include "src/cached/tag.h"
#include "src/cached/watch.h"

enum {
	APP_REMOVERS = 4, /* members that can be removed at a time */
	APP_SLOTS_MAX = HOME_SLOTS_MAX,
	APP_WAITING_MAX = 256,	      /* updates that wait for a slot */
	APP_WAITING_BYTES = 32 << 20, /* of all their texts */
	APP_FILLS_HOME = 64,	      /* fills at a time of pages of one home */
	APP_FILLS_MAX = 1024,
	APP_REFUSALS = HOME_FULL + 1,
	APP_RESULTS = FILL_GIVEN_UP + 1,
	APP_SHOWN_MAX = 1000, /* words of app_show */
};

/* Lanes of jobs.h: each waits for the database alone. */
enum app_lane { LANE_LOOK, LANE_JOIN, LANE_REMOVE, LANE_SLOT = LANE_REMOVE + APP_REMOVERS };

/* --- this host's row, and those of others ------------------------------------------ */

struct app_look {
	struct job job;
	struct app *app;
	struct sql_look look;
	struct mono began;
	bool is_in; /* app_member.is_in, when it began */
	uint64_t number;
};

struct app_join {
	struct job job;
	struct app *app;
	uint32_t generation_floor, fence_floor;
	struct sql_joined joined;
};

struct app_removal {
	struct job job;
	struct app *app;
	bool runs;
	uint16_t host;
	uint32_t generation;
	app_done *done; /* of an operator; NULL: none */
	void *arg;
};

/*
 * A connection by which a member can be removed at once. It is made when a member begins to be
 * silent: to make it later would delay the updates that wait.
 */
struct app_warm {
	struct job job;
	struct app *app;
	struct sql_look look; /* it is asked something, so that one that is lost is noticed */
	bool open;	      /* it was asked for, and not closed since */
	struct mono next;
};

/* What the newest look, or join, failed for. */
struct app_trouble {
	char text[sizeof(((struct sql_error *)0)->text)]; /* "": it did not fail */
};

struct app_member {
	struct recover recover;
	struct fresh_beat beat;
	uint64_t *beat_word;
	bool is_in;	 /* it has joined: the home is open */
	bool is_leaving; /* app_close */
	struct sql_joined joined;
	struct app_look look_job;
	struct app_join join_job;
	struct app_removal removal[APP_REMOVERS];
	struct app_warm warm;
	struct app_removal farewell; /* of the own row */
	/* The newest look. */
	struct sql_look look;
	bool looked;
	bool confirmed; /* it found this host a member, in this life */
	uint64_t number;
	struct mono looked_at; /* its begin */
	uint64_t begun;	       /* looks so far */
	bool again;	       /* one is wanted that begins from now on */
	struct mono next_look;
	uint32_t questions; /* serial of the newest */
	/* On disk, as far as it was written; jobs of two lanes write it. */
	pthread_mutex_t floors_lock;
	struct cached_floors floors;
	struct app_trouble look_trouble, join_trouble;
	void (*looked_hook)(struct app *a); /* after each look */
	uint64_t joins, removals;
};

/* --- updates ----------------------------------------------------------------------- */

/* An update that a client asked for, with its texts behind it. */
struct app_change {
	struct app_change *next;
	app_done *done;
	void *arg;
	struct mono asked;
	size_t bytes;
	uint32_t tags;
	uint64_t tag[UPDATE_TAGS_MAX];
	uint32_t statements;
	struct sql_statement *statement;
};

/* What a slot asks the database: the transaction, or R6 d. */
struct app_work {
	struct job job;
	struct app_slot *slot;
	struct sql_update update;
	enum sql_end end;
	uint64_t transaction; /* 0: none */
	uint64_t rows[SQL_STATEMENTS_MAX];
};

struct app_slot {
	struct app *app;
	uint16_t number;
	struct update update;
	struct app_change *change; /* NULL: none, or its client was told */
	struct app_work work;
	bool works;    /* its job is under way */
	uint64_t need; /* LOOKS: a look of at least this number */
	struct mono began;
	struct mono retry; /* DOUBT */
	int64_t retry_ns;
	uint32_t attempts;
	/* For the client. */
	enum app_end end;
	const char *why;
	struct sql_error error;
	uint64_t transaction;
	uint32_t rows; /* numbers in work.rows */
};

struct app_updates {
	struct app_slot slot[APP_SLOTS_MAX];
	uint32_t slots;
	struct app_change *first, *last; /* they wait for a slot */
	uint32_t waiting;
	size_t waiting_bytes;
	int64_t patience_ns; /* a client whose update cannot be sent waits so long */
	uint64_t done, refused, not_now, again, doubts;
};

/* --- fills ------------------------------------------------------------------------- */

enum app_phase {
	PHASE_FREE,   /* in its home's list of free ones */
	PHASE_BEGINS, /* its client waits for app_fill_begin */
	PHASE_RUNS,   /* the page is being computed */
	PHASE_ENDS,   /* its client waits for app_fill_end */
	PHASE_DRAINS, /* it is over; an operation has not come back yet */
};

struct app_fill {
	struct app *app;
	struct fill fill;
	enum app_phase phase;
	struct app_fill *next; /* FREE */
	app_done *done;
	void *arg;
	struct mono until; /* RUNS */
};

struct app_fills {
	struct app_fill *fill[APP_FILLS_MAX]; /* by its number */
	uint32_t n;
	struct app_fill *free[REGION_HOSTS_MAX + 1]; /* by home */
	uint32_t of[REGION_HOSTS_MAX + 1];	     /* how many there are, by home */
	uint64_t secret; /* of this life: a fill's id of another one is none here */
	uint64_t begun;
	uint64_t results[APP_RESULTS], refusals[APP_REFUSALS];
};

/* Kinds of events that may come often (events.h). */
enum app_event { EVENT_DOUBT, EVENT_FULL, EVENT_GIVEN_UP };

/* --- the whole --------------------------------------------------------------------- */

struct app {
	struct node *node;
	const struct cached_conf *conf;
	struct event_base *base;
	struct log *log;
	struct events *events; /* NULL: none are kept */
	struct event *tick;
	struct jobs *jobs;
	struct tag_key tags;
	uint16_t self;
	struct hostset apps; /* of cluster.json */
	struct mono opened;
	struct home home;
	void *home_block;
	uint32_t hand; /* the word from which room is made */
	struct watch watch;
	struct app_member member;
	struct app_updates updates;
	struct app_fills fills;
	/* As a home. */
	uint64_t registered[APP_REFUSALS], evicted;
};

/* For the log, and for the events. */
void app_say(struct app *a, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The name of a host of cluster.json; else "?". */
const char *app_host_name(const struct app *a, uint16_t host);
/* Calls done with an end that is not APP_OK. */
void app_refuse(app_done *done, void *arg, enum app_end end, const char *why, const char *text);
/* Why this host is out, or cannot see the database: the end of a sentence. */
const char *app_trouble(const struct app *a);
/* Hash tags from a client. NULL: all are good; else a sentence. */
const char *app_hash_tags(const struct app *a, uint32_t tags, const char *const *tag, uint32_t max,
			  uint64_t *hash);

int member_open(struct app *a, struct conf_error *e);
/* Removes the own row, if the database answers in time. */
void member_leave(struct app *a);
void member_tick(struct app *a, struct mono now);
struct mono member_due(const struct app *a);
/* Begin a look now, or when the one that runs has ended. */
void member_want_look(struct app *a);
void member_heard(struct app *a, uint16_t host, struct mono now);
/* For which hosts this slot waits, from now on. */
void member_missing(struct app *a, uint16_t slot, const struct hostset *missing);

int updates_open(struct app *a, struct conf_error *e);
void updates_close(struct app *a);
/* A look has ended. */
void updates_looked(struct app *a);
void updates_tick(struct app *a, struct mono now);

int fills_open(struct app *a, struct conf_error *e);
void fills_close(struct app *a);
void fills_tick(struct app *a, struct mono now);

extern const char *const app_refusal_words[APP_REFUSALS];
extern const char *const app_result_words[APP_RESULTS];

#endif
