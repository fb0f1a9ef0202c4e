/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peek: what the files of resex-peek(1) share. The flow: main.c reads the command line (options.c)
 * and cluster.json, and opens a transport to the members, and one to the cached hosts, as a client
 * of either; read.c reads each member by READs alone, and read_cached.c each cached host; show.c
 * and show_cached.c make one JSON object of what was read, and show.c prints it or tables of it.
 */
#ifndef RESEX_PEEK_PEEK_H
#define RESEX_PEEK_PEEK_H

#include <jansson.h>

#include "src/conf/cluster.h"
#include "src/shared/region.h"
#include "src/transport/transport.h"

enum { PEEK_NOTE_MAX = 192 };

/* --- options.c ------------------------------------------------------------------- */

struct peek_options {
	const char *cluster; /* the file */
	const char *as;	     /* the name of the client */
	int64_t within_ns;   /* for all hosts together */
	bool json;
	char **host; /* their names; hosts 0: all */
	int hosts;
};

/* Fill o. -1: go on; else the exit code: help was printed, or the error was. */
int peek_options(struct peek_options *o, int argc, char **argv);

/* --- read.c ---------------------------------------------------------------------- */

/* What is read next. In this order; each is one READ or several, one at a time. */
enum peek_stage {
	PEEK_LINK, /* there is no link yet */
	PEEK_HEADER,
	PEEK_HOST,
	PEEK_SERVICES,
	PEEK_NODES,
	PEEK_WORDS,
	PEEK_LOADS,
	PEEK_BEAT,	  /* the host's record again, until its heartbeat has changed */
	PEEK_LOADS_AGAIN, /* until each is a newer one */
	PEEK_DONE,
	PEEK_FAILED, /* note says why */
};

/* One host, and what was read of it so far: valid up to the stage before the present one. */
struct peek_host {
	const struct cluster_host *conf;
	enum peek_stage stage;
	char note[PEEK_NOTE_MAX]; /* why it could not be read, or its link ended; "" */
	uint64_t generation;	  /* of the link */
	struct region_peer header;
	struct region_host host;
	bool beats; /* its heartbeat changed while it was read */
	struct region_service service[REGION_SERVICES_MAX];
	struct region_node node[REGION_NODES_MAX];
	uint64_t words[REGION_WORDS_BYTES / 8];
	/* By number, as read first and last; head.seq 0: there is none. */
	struct load_record load[2][REGION_NODES_MAX];
	/* The READs of this stage, and which of them is next. */
	struct region_read read[REGION_READS_MAX];
	uint32_t reads, at;
	uint32_t tries;	   /* of this READ: its record was torn */
	bool posted;	   /* its result has not come */
	uint32_t serial;   /* the tag of the newest READ */
	struct mono due;   /* BEAT, LOADS_AGAIN: not before */
	struct mono began; /* BEAT, LOADS_AGAIN: the first time */
};

/* How the hosts are read. */
struct peek_pace {
	int64_t timeout_ns; /* of a READ */
	int64_t beat_ns;    /* between two looks at a heartbeat */
	/* A heartbeat unchanged for so long is shown as stopped, a load as unknown. */
	int64_t silent_ns;
};

void peek_begin(struct peek_host *h, const struct cluster_host *conf);
/* An event of this host. */
void peek_event(struct peek_host *h, const struct transport_event *ev, struct mono now);
/* Post the next READ, if it is due. Returns when to call again at the latest. */
struct mono peek_step(struct peek_host *h, struct transport *t, const struct peek_pace *pace,
		      struct mono now);
/* The time for all is over: whatever is not read has failed. */
void peek_give_up(struct peek_host *h);
static inline bool peek_over(const struct peek_host *h)
{
	return h->stage >= PEEK_DONE;
}

/* --- read_cached.c ---------------------------------------------------------------- */

/* As enum peek_stage. */
enum peek_cached_stage {
	PEEK_CACHED_LINK,
	PEEK_CACHED_HEADER, /* a proxy has nothing else */
	PEEK_CACHED_WORDS,  /* beat, log word and version words */
	PEEK_CACHED_ACKS,
	PEEK_CACHED_BEAT, /* again, until it has changed */
	PEEK_CACHED_DONE,
	PEEK_CACHED_FAILED, /* note says why */
};

struct peek_cached {
	const struct cluster_cached *conf;
	enum peek_cached_stage stage;
	char note[PEEK_NOTE_MAX];
	uint64_t generation; /* of the link */
	struct region_cache serves;
	uint64_t beat, log;   /* words as read first */
	bool beats;	      /* it changed while it was read */
	uint32_t open, moved; /* version words that are not 0; that have changed in this life */
	uint64_t ack[REGION_CACHE_SLOTS_MAX * REGION_HOSTS_MAX];
	uint32_t at, bytes; /* of this stage: read, and in all */
	bool posted;
	uint32_t len;	 /* of the newest READ */
	uint32_t serial; /* its tag */
	struct mono due, began;
};

void peek_cached_begin(struct peek_cached *h, const struct cluster_cached *conf);
void peek_cached_event(struct peek_cached *h, const struct transport_event *ev, struct mono now);
struct mono peek_cached_step(struct peek_cached *h, struct transport *t,
			     const struct peek_pace *pace, struct mono now);
void peek_cached_give_up(struct peek_cached *h);
static inline bool peek_cached_over(const struct peek_cached *h)
{
	return h->stage >= PEEK_CACHED_DONE;
}

/* --- show.c ---------------------------------------------------------------------- */

struct peek_all {
	struct peek_host *host[REGION_HOSTS_MAX];
	size_t hosts;
	struct peek_cached *cached[REGION_HOSTS_MAX];
	size_t caches;
};

/* All that was read, for -j; NULL: no memory. conf is the client's. */
json_t *peek_json(const struct cluster_conf *conf, const struct peek_all *all);
/* The same as tables. */
void peek_print(const json_t *all);

/* --- show_cached.c ------------------------------------------------------------------ */

/* Add the row of a cached host, and those of its ack words. */
void peek_cached_rows(const struct cluster_conf *conf, const struct peek_cached *h, json_t *cached,
		      json_t *acks);

#endif
