/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * schedule: one random run of a small cluster, drawn from one seed.
 *
 * 4 to 8 hosts in a world, with 6 to 12 nodes of 2 or 3 services; 3 to 5 hosts are balancers.
 * Each runs move.h with its locks and counters, while loads rise and fall. The history is
 * checked. The *kind* of a schedule says which faults occur, and which promises must then
 * hold.
 */
#ifndef RESEX_TESTS_SCHEDULE_H
#define RESEX_TESTS_SCHEDULE_H

#include "src/reconf/decide.h"
#include "src/reconf/keep.h"
#include "src/reconf/move.h"
#include "tests/shared/history.h"
#include "tests/shared/world.h"

enum schedule_kind {
	SCHEDULE_CALM,	   /* no faults: one move for each high load */
	SCHEDULE_DEATH,	   /* one holder dies or hangs: a bounded delay */
	SCHEDULE_STORM,	   /* all faults at random, static membership */
	SCHEDULE_VIEWS,	   /* the same, with a membership that follows the faults */
	SCHEDULE_HANDOVER, /* homes change while holders hang */
	SCHEDULE_UNSEEN,   /* a late move to a node that others cannot reach, or sweep, meanwhile */
	SCHEDULE_NEWCOMERS, /* a holder dies, and other hosts ask for its lock at bad times */
	/* hosts restart after moves of their nodes, or lose them, and moves go on at once */
	SCHEDULE_RESTARTS,
	SCHEDULE_DECIDES, /* STORM or VIEWS, and decide.h chooses all moves */
	SCHEDULE_KINDS,
};

/* RESTARTS: does a host that restarts lose its file? */
enum schedule_loss {
	LOSS_NONE,
	LOSS_ANY,  /* it may */
	LOSS_LATE, /* it may, while another host is late with the CAS of a move */
	LOSSES,
};

/* Events of type STEP_ASK from here on are answers to KEEP_SAVES: + enum keep_ask. */
enum { SCHEDULE_ASK_KEEP = 0x100 };

enum { SCHEDULE_SERVICES = 3, SCHEDULE_LOADS = 16, SCHEDULE_NODES = 24 };

/* What a host has seen of a node. */
struct schedule_node {
	uint16_t service;  /* the last one that it was in; 0: not known */
	uint32_t link;	   /* on which it was seen in no service; 0: it was not */
	struct mono since; /* then */
};

struct schedule_host {
	struct move move;
	struct move_view in;
	struct lock lock[SCHEDULE_SERVICES];
	struct counter counter[SCHEDULE_SERVICES];
	struct decide decide;
	struct mono next_check;
	struct keep keep;
	bool has_disk;
	uint64_t disk[REGION_NODES_MAX];   /* its file of node words, which survives a crash */
	uint64_t saving[REGION_NODES_MAX]; /* what it saves */
	bool saves, durable;		   /* it saves; and that is on disk */
	uint32_t saves_boot;		   /* the process that saves */
	uint32_t serves;		   /* bit i: balances in.service[i] */
	uint32_t turn;			   /* which of its services is first */
	bool quorate;
	bool comes_later, comes; /* NEWCOMERS */
	struct schedule_node seen[SCHEDULE_NODES];
};

struct schedule {
	struct world w;
	struct history h;
	enum schedule_kind kind;
	struct schedule_host host[WORLD_HOSTS + 1];
	struct move_conf conf;
	uint32_t hosts, services;
	uint16_t begins[WORLD_HOSTS + 1][REGION_NODES_MAX]; /* a node's configured service */
	uint32_t load[SCHEDULE_SERVICES];		    /* per cent */
	uint32_t event[SCHEDULE_SERVICES];		    /* counts high loads */
	uint64_t members, view;
	bool dynamic;	    /* membership */
	uint32_t victim_in; /* DEATH: that many acquisitions from now */
	uint16_t victim;
	bool struck;
	enum schedule_loss loss;
	bool quiet; /* no more faults: the moves must be made by now */
	uint64_t moves_before;
	const char *note;
	/* DECIDES: */
	struct decide_conf rules;
	struct decide_view seen;       /* as the host that looks has read it */
	uint32_t decided[DECIDE_WHYS]; /* moves that were asked for */
};

struct schedule_options {
	FILE *verbose; /* gets each record; or NULL */
	int kind;      /* enum schedule_kind; -1: any */
	int64_t first; /* views and generations begin above it; -1: drawn near the edges */
	bool asides;   /* a READ may be answered on a link that is down; no transport does it */
};

/* One schedule. false: s->h.violation. */
bool schedule_run(struct schedule *s, uint64_t seed, const struct schedule_options *o);
/* The longest time, in true time, before the lock of a dead holder may be broken. */
int64_t schedule_break_ns(const struct schedule *s);
const char *schedule_kind_name(enum schedule_kind k);

#endif
