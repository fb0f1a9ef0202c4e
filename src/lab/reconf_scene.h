/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reconf_scene: what priorities and chains are for, on the SIMULATED cluster of reconf.h: sites
 * that have few clients each, and then some of them many, at once. A scene is run in several
 * variants, with the same requests.
 */
#ifndef RESEX_LAB_RECONF_SCENE_H
#define RESEX_LAB_RECONF_SCENE_H

#include "src/lab/reconf.h"

enum reconf_scene {
	RECONF_QOS,    /* a site of high and one of low priority get many clients */
	RECONF_CHAINS, /* the site that gets them cannot be served by nodes of the idle one */
	RECONF_SCENES,
};

enum { RECONF_VARIANTS = 6 };

/* Of one variant: means of all seeds, of the time in which there are many clients. */
struct reconf_variant {
	const char *name;
	uint64_t tps[WEB_SITES_MAX]; /* 1/1000 a second */
	uint64_t latency_ns[WEB_SITES_MAX];
	uint32_t nodes[WEB_SITES_MAX]; /* at the end, 1/1000 */
	uint64_t moves;		       /* 1/1000 */
	int64_t changed_ns;	       /* the last interval with a move: its end */
	uint32_t least_moves, most_moves;
	int64_t most_changed_ns;
	struct reconf_run first; /* of the first seed */
};

struct reconf_staged {
	uint32_t sites, variants;
	const char *site[WEB_SITES_MAX]; /* their names */
	struct reconf_variant of[RECONF_VARIANTS];
};

/* Times, limits of loads and seeds are those of the plan. As reconf_run(). */
int reconf_stage(const struct reconf_plan *p, enum reconf_scene scene, uint32_t seeds,
		 struct reconf_staged *s);
/* Runs of one seed. */
uint32_t reconf_scene_runs(enum reconf_scene scene);

#endif
