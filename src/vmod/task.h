/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task: what vmod_resex knows of one task of Varnish, for each object: of a client's request, the
 * answer of the ring; of a fetch, the version that its response must have. The two are tasks apart:
 * between them go the headers resex-page and resex-version of bereq.
 *
 * Include cache/cache.h before: it can be included once alone.
 */
#ifndef RESEX_VMOD_TASK_H
#define RESEX_VMOD_TASK_H

#include <stdbool.h>

#include "src/cache/offer.h"
#include "src/ring/ring_client.h"
#include "src/ring/version_text.h"

struct VSC_resex;
struct vsc_seg;

struct vmod_resex_cache {
	unsigned magic;
#define CACHE_MAGIC 0x52455843u
	char *name;
	char *path;
	int64_t timeout_ns;
	struct ring_client *client; /* of all VCLs with this path; NULL: this one is cold */
	struct VSC_resex *vsc;
	struct vsc_seg *seg;
	int64_t born; /* it is in the hash of what is not verified */
	uint64_t unverified;
	struct offer offer;	       /* of pages without tags */
	struct vmod_resex_cache *next; /* of the same VCL */
};

struct task {
	unsigned magic;
#define TASK_MAGIC 0x52455854u
	struct vmod_resex_cache *cache;
	/* Of a client's request. */
	uint32_t why; /* 0: not looked up */
	bool all;     /* a page without tags */
	bool offers;  /* its miss is offered for a fill */
	const char *key;
	char page[VERSION_PAGE_MAX];
	char version[VERSION_TEXT_MAX];
	/* Of a fetch. */
	bool offered; /* to be filled, at one of its attempts */
	bool expects;
	bool stored;
	struct version_text expected;
};

/* NULL: there is none yet. */
struct task *task_find(VRT_CTX, const struct vmod_resex_cache *cache);
/* As new, but for offered. NULL: the workspace is full. */
struct task *task_make(VRT_CTX, struct vmod_resex_cache *cache);

/* For varnishstat(1), and for resex cache-list. */
void cache_count(struct vmod_resex_cache *cache, enum ring_count what);
/* The same of a request that is passed: why, 0: it was not asked. */
void cache_count_pass(struct vmod_resex_cache *cache, uint32_t why);

#endif
