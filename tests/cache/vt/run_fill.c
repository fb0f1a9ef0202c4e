// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * run_fill: an application server computes pages: a request comes from a proxy, the words are READ,
 * the transaction begins and takes its snapshot, the home is asked, and the page goes to the proxy.
 * All of this may be late.
 */
#include <string.h>

#include "tests/cache/vt/run_priv.h"

enum { JOB_BITS = 6 };

_Static_assert(RUN_JOBS <= 1 << JOB_BITS, "the index of a job fits");

static uint32_t name_of(uint16_t host, const struct run_app *a, const struct run_job *j)
{
	return host | (uint32_t)(j - a->job) << 4 | (j->serial & 0x3fff) << (4 + JOB_BITS);
}

/* The job of this name, if it is under way in this process; else NULL. */
static struct run_job *job_of(struct run *r, uint32_t of)
{
	struct run_app *a = &r->app[of & 0xf];
	struct run_job *j = &a->job[of >> 4 & (RUN_JOBS - 1)];

	return j->state != RUN_JOB_FREE && name_of((uint16_t)(of & 0xf), a, j) == of ? j : NULL;
}

void run_fill_boot(struct run *r, uint16_t host, struct mono now)
{
	struct run_app *a = &r->app[host];

	for (uint16_t h = 1; h <= RUN_APPS; h++) {
		for (uint32_t i = 0; i < RUN_FILLS; i++) {
			uint32_t n = (h - 1u) * RUN_FILLS + i;
			struct fill_conf c = { .home = h,
					       .number = n,
					       .serial = (uint64_t)now.ns,
					       .tag = RUN_T_FILL + n * FILL_TAGS,
					       .words = RUN_WORDS,
					       .offset = RUN_VERSIONS,
					       .log = r->log_word,
					       .read_ns = RUN_DEADLINE,
					       .answer_ns = RUN_SQL };

			fill_init(&a->fill[h][i], &c);
		}
	}
}

static void take_snapshot(struct run *r, struct run_job *j)
{
	j->has_seen = true;
	j->seen = r->db.commits;
	db_snapshot(&r->db, &j->snapshot, j->running);
}

void run_fill_snapshot(struct run *r, uint32_t of)
{
	struct run_job *j = job_of(r, of);

	if (!j)
		return;
	if (!j->has_seen)
		take_snapshot(r, j);
	run_timer(r, between(r, 0, 4000) * NS_PER_US, RUN_EV_COMPUTED, of);
}

/* --- a job ------------------------------------------------------------------------ */

static bool is_of_a_job(const struct run_app *a, const struct fill *f)
{
	for (uint32_t i = 0; i < RUN_JOBS; i++)
		if (a->job[i].state != RUN_JOB_FREE && a->job[i].fill == f)
			return true;
	return false;
}

static void begin(struct run *r, uint16_t host, struct run_job *j, uint16_t home, struct mono now,
		  struct step_out *out)
{
	struct run_app *a = &r->app[host];
	uint32_t word = r->page[j->page].word;
	const struct step_event ev = { .type = STEP_ASK, .what = FILL_BEGIN, .wish = &word };

	for (uint32_t i = 0; i < RUN_FILLS; i++) {
		struct fill *f = &a->fill[home][i];

		if (!fill_ready(f) || is_of_a_job(a, f))
			continue;
		j->fill = f;
		j->state = RUN_JOB_READS;
		fill_step(f, &ev, now, out);
		return;
	}
	j->state = RUN_JOB_FREE; /* it is served uncached */
}

/* of: page, proxy, home */
static void request(struct run *r, uint16_t host, uint32_t of, struct mono now,
		    struct step_out *out)
{
	struct run_app *a = &r->app[host];

	for (uint32_t i = 0; i < RUN_JOBS; i++) {
		struct run_job *j = &a->job[i];

		if (j->state != RUN_JOB_FREE)
			continue;
		j->state = RUN_JOB_WAITS;
		j->serial = ++r->serial;
		j->fill = NULL;
		j->page = of >> 4 & 0xff;
		j->proxy = of >> 12 & 0xf;
		j->home = of >> 16 & 0xf;
		j->has_seen = false;
		if (r->early && one_in(r, 2)) { /* R2 f: an old transaction of a pool */
			take_snapshot(r, j);
			run_timer(r, between(r, 0, 2 * RUN_FRESH), RUN_EV_BEGIN,
				  name_of(host, a, j));
			return;
		}
		begin(r, host, j, j->home, now, out);
		return;
	}
}

static void computed(const struct run *r, struct run_job *j, struct mono now, struct step_out *out)
{
	const struct run_page *p = &r->page[j->page];
	uint64_t tag[RUN_TAGS];
	struct fill_page page = { .serial = fill_serial(j->fill),
				  .tag = tag,
				  .snapshot = r->has_snapshots ? &j->snapshot : NULL };
	const struct step_event ev = { .type = STEP_ASK, .what = FILL_COMPUTED, .wish = &page };

	j->snapshot.running = j->running;
	for (uint32_t i = 0; i < RUN_TAGS; i++)
		if (p->tags >> i & 1)
			tag[page.tags++] = run_tag(i);
	fill_step(j->fill, &ev, now, out);
	j->state = RUN_JOB_ASKS;
}

static void deliver(struct run *r, const struct run_job *j)
{
	uint64_t version = fill_version(j->fill);

	if (!version)
		return;
	r->sums.fills++;
	run_proxy_deliver(r, j->proxy, j->home, j->page, version, j->seen);
}

/* What the fill's state says that is to be done now. */
static void go_on(struct run *r, uint16_t host, struct run_job *j)
{
	enum fill_state s = fill_state(j->fill);

	if (j->state == RUN_JOB_READS && s == FILL_COMPUTES) {
		j->state = RUN_JOB_COMPUTES;
		run_timer(r, between(r, 0, 3000) * NS_PER_US, RUN_EV_SNAPSHOT,
			  name_of(host, &r->app[host], j));
	} else if (s == FILL_IDLE) {
		deliver(r, j);
		j->state = RUN_JOB_FREE;
	}
}

static void asked(struct run *r, uint16_t host, uint32_t what, struct mono now,
		  struct step_out *out)
{
	uint32_t of = run_of(what);
	struct run_job *j;

	if (run_event(what) == RUN_EV_FILL) {
		request(r, host, of, now, out);
		return;
	}
	if (run_event(what) != RUN_EV_BEGIN && run_event(what) != RUN_EV_COMPUTED)
		return;
	j = job_of(r, of);
	if (j && run_event(what) == RUN_EV_BEGIN && j->state == RUN_JOB_WAITS)
		begin(r, host, j, j->home, now, out);
	else if (j && run_event(what) == RUN_EV_COMPUTED && j->state == RUN_JOB_COMPUTES)
		computed(r, j, now, out);
}

void run_fill_step(struct run *r, uint16_t host, const struct step_event *ev, struct mono now,
		   struct step_out *out)
{
	struct run_app *a = &r->app[host];

	if (ev->type == STEP_ASK)
		asked(r, host, ev->what, now, out);
	for (uint16_t h = 1; h <= RUN_APPS && ev->type != STEP_ASK; h++)
		for (uint32_t i = 0; i < RUN_FILLS; i++)
			fill_step(&a->fill[h][i], ev, now, out);
	for (uint32_t i = 0; i < RUN_JOBS; i++)
		if (a->job[i].state > RUN_JOB_WAITS)
			go_on(r, host, &a->job[i]);
}

struct mono run_fill_due(const struct run_app *a)
{
	struct mono due = { INT64_MAX };

	for (uint16_t h = 1; h <= RUN_APPS; h++)
		for (uint32_t i = 0; i < RUN_FILLS; i++)
			due = mono_earlier(due, fill_due(&a->fill[h][i]));
	return due;
}
