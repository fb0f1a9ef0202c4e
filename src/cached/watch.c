// SPDX-License-Identifier: GPL-2.0-or-later
/* watch: READs the beats of the members, one READ a host at a time. */
#include "src/cached/watch.h"

#include <string.h>

#include "src/reconf/put.h"

void watch_init(struct watch *w, const struct watch_conf *c)
{
	memset(w, 0, sizeof(*w));
	w->conf = *c;
}

static void result(struct watch *w, const struct step_event *ev, struct mono now)
{
	uint32_t h = ev->tag - w->conf.tag;

	if (h >= WATCH_HOSTS || !hostset_has(&w->reads, h))
		return;
	hostset_set(&w->reads, h, false);
	if (ev->outcome == STEP_DONE && ev->old != w->beat[h]) {
		w->beat[h] = ev->old;
		w->moved[h] = now;
	}
	if ((ev->outcome == STEP_LOST || ev->outcome == STEP_UNKNOWN) && ev->link >= w->link[h])
		hostset_set(&w->up, h, false);
}

static void new_link(struct watch *w, const struct step_event *ev, struct mono now)
{
	if (!hostset_has(&w->conf.hosts, ev->host) || ev->link <= w->link[ev->host])
		return;
	w->link[ev->host] = ev->link;
	w->next[ev->host] = now;
	hostset_set(&w->up, ev->host, true);
}

static struct hostset idle(const struct watch *w)
{
	return hostset_without(&w->up, &w->reads);
}

static void put_reads(struct watch *w, struct mono now, struct step_out *out)
{
	struct hostset to = idle(w);

	for (uint16_t h = hostset_next(&to, 0); h; h = hostset_next(&to, h)) {
		struct step_op op = {
			.kind = STEP_READ,
			.part = STEP_VERSIONS,
			.host = h,
			.offset = w->conf.offset,
			.len = 8,
			.tag = w->conf.tag + h,
		};

		if (now.ns < w->next[h].ns)
			continue;
		if (!step_put(out, op))
			return;
		hostset_set(&w->reads, h, true);
		w->next[h] = mono_add(now, w->conf.check_ns);
	}
}

void watch_step(struct watch *w, const struct step_event *ev, struct mono now, struct step_out *out)
{
	if (ev->type == STEP_RESULT)
		result(w, ev, now);
	else if (ev->type == STEP_LINK)
		new_link(w, ev, now);
	put_reads(w, now, out);
}

struct mono watch_due(const struct watch *w)
{
	struct hostset to = idle(w);
	struct mono due = { INT64_MAX };

	for (uint16_t h = hostset_next(&to, 0); h; h = hostset_next(&to, h))
		due = mono_earlier(due, w->next[h]);
	return due;
}

int64_t watch_age(const struct watch *w, uint16_t host, struct mono now)
{
	if (host >= WATCH_HOSTS || w->beat[host] == 0)
		return INT64_MAX;
	return mono_sub(now, w->moved[host]);
}
