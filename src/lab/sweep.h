/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sweep: what the files of "resex-lab sweep" share. sweep_scene.c reads a scenario and makes the
 * scenario of each run of it. sweep_row.c makes a row of each result: how much latency a run
 * recovers, how much throughput it gives up, and which rows no other fixed cap is better than.
 * sweep_file.c writes them to files. sweep_cmd.c is the command.
 */
#ifndef RESEX_LAB_SWEEP_H
#define RESEX_LAB_SWEEP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	SWEEP_GUESTS = 256, /* SIM_GUESTS_MAX */
	SWEEP_CAPS = 15,
	SWEEP_RUNS_MAX = 48,
	SWEEP_NAME_MAX = 64,
};

enum sweep_kind {
	SWEEP_ALONE,	 /* the neighbours do nothing */
	SWEEP_FREE,	 /* no cap, no policy */
	SWEEP_TOGETHER,	 /* each neighbour has the cap from the same moment on */
	SWEEP_STAGGERED, /* the moments differ, so that neighbours are refilled in turn */
	SWEEP_POLICY,
};

struct sweep_run {
	enum sweep_kind kind;
	uint32_t cap;	    /* percent of all VCPUs of a neighbour */
	const char *policy; /* SWEEP_POLICY: with its defaults */
};

/*
 * A scenario. Its reporters are the servers that are promised a latency; if no guest is, all
 * servers. Its neighbours are the other guests that send.
 */
struct sweep_scene {
	json_t *root; /* of the file */
	char name[SWEEP_NAME_MAX];
	uint32_t guests, reporters, neighbours;
	bool reporter[SWEEP_GUESTS], neighbour[SWEEP_GUESTS];
	bool is_staggered; /* runs with caps at different moments are made */
	uint32_t runs;
	struct sweep_run run[SWEEP_RUNS_MAX]; /* the first two: SWEEP_ALONE, SWEEP_FREE */
};

/* Of each guest, by its place in the file. */
struct sweep_result {
	bool done;
	double mean[SWEEP_GUESTS], deviation[SWEEP_GUESTS], p99[SWEEP_GUESTS]; /* true ones, us */
	double sent[SWEEP_GUESTS];					       /* MB/s */
};

struct sweep_row {
	double mean, deviation,
		p99;	  /* of the reporter that is the farthest above what it has alone */
	double over;	  /* and how far: a part of what it has alone */
	double recovered; /* of what the run without caps has over that; NAN: it has none */
	double sent;	  /* by all neighbours, MB/s */
	double given_up;  /* of what they send without caps */
	bool frontier;	  /* fixed caps: no others give up as little and are as near */
	double best;	  /* a policy: what the frontier gives up at this latency */
};

/*
 * Read a scenario that is valid. root is kept until sweep_free(). NULL, or why there is nothing to
 * sweep. caps: n of them. policies: names, ended by NULL.
 */
const char *sweep_open(struct sweep_scene *s, json_t *root, const uint32_t *caps, uint32_t n,
		       const char *const *policies);
void sweep_free(struct sweep_scene *s);

/* The scenario of run i. seed 0: that of the file. NULL: no memory. To be freed. */
char *sweep_scenario(const struct sweep_scene *s, uint32_t i, uint64_t seed);
/* 0, or -EINVAL: the summary is not one of this scenario. */
int sweep_read(const struct sweep_scene *s, const json_t *summary, struct sweep_result *r);
/* What a run is called: "cap 5", "cap 5, in turn", "ioshares". */
void sweep_run_name(const struct sweep_run *run, char name[SWEEP_NAME_MAX]);

/* A row for each run from SWEEP_FREE on: row[0] is that of run 1. */
void sweep_rows(const struct sweep_scene *s, const struct sweep_result *result,
		struct sweep_row *row);
/* What the frontier of these rows gives up at this latency over base; a line between two points. */
double sweep_frontier_at(const struct sweep_scene *s, const struct sweep_row *row, double over);

/* Write NAME.csv and NAME.svg to the folder. The exit code. */
int sweep_write(const struct sweep_scene *s, const struct sweep_result *result,
		const struct sweep_row *row, const char *folder, const char *name);

#endif
