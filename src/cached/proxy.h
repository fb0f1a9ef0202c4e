/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proxy: a proxy's part of resex-cached: answers "which version has this page now" (cache_ring.h)
 * by READs of version words, all that wait for a word sharing one (src/cache/hit.h), with evidence
 * of each home in the background (src/cache/fresh.h).
 */
#ifndef RESEX_CACHED_PROXY_H
#define RESEX_CACHED_PROXY_H

#include <jansson.h>

#include "src/cached/node.h"

struct proxy;

/* Listens at conf.ring. 0, or -errno with e filled. */
int proxy_open(struct proxy **p, struct node *n, const struct cached_conf *c,
	       struct event_base *base, struct log *log, struct conf_error *e);
void proxy_close(struct proxy *p); /* NULL: does nothing */

/* For people, as those of app.h. */
json_t *proxy_info(const struct proxy *p);
json_t *proxy_cache(const struct proxy *p);
json_t *proxy_show(const struct proxy *p, uint64_t key);

#endif
