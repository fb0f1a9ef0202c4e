/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch: does a member beat? An application server READs the beats of the others now and then: to
 * show it, and to refuse to remove a member that beats (app_remove). It decides nothing of the
 * protocol: who is a member stands in the database.
 *
 * A step function, as those of src/cache.
 */
#ifndef RESEX_CACHED_WATCH_H
#define RESEX_CACHED_WATCH_H

#include "src/reconf/step.h"

enum { WATCH_HOSTS = REGION_HOSTS_MAX + 1, WATCH_TAGS = WATCH_HOSTS };

struct watch_conf {
	struct hostset hosts;
	uint32_t tag;
	uint32_t offset;  /* of the beat, in bytes into STEP_VERSIONS */
	int64_t check_ns; /* from one READ of a host to the next */
};

struct watch {
	struct watch_conf conf;
	struct hostset up, reads; /* its link is up; a READ is outstanding */
	uint32_t link[WATCH_HOSTS];
	uint64_t beat[WATCH_HOSTS]; /* the newest that was read; 0: none */
	struct mono moved[WATCH_HOSTS], next[WATCH_HOSTS];
};

void watch_init(struct watch *w, const struct watch_conf *c);
void watch_step(struct watch *w, const struct step_event *ev, struct mono now,
		struct step_out *out);
struct mono watch_due(const struct watch *w);
/* For how long its beat has been the same. INT64_MAX: none was read, or it is 0. */
int64_t watch_age(const struct watch *w, uint16_t host, struct mono now);

#endif
