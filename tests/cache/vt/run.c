// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * run: one schedule: what the world asks of its hosts, what goes wrong, and the end. See run.h.
 */
#include <string.h>

#include "tests/cache/vt/run_priv.h"

enum { STEP_NS = 5 * NS_PER_MS };

#define QUIET_NS (50ll * RUN_FRESH) /* for all that must be done then */

/* --- the world ---------------------------------------------------------------------- */

static uint64_t *word(void *ctx, uint16_t host, enum step_part part, uint32_t offset)
{
	struct run *r = ctx;
	struct run_app *a = &r->app[run_is_app(host) ? host : 0];
	uint32_t i = offset - RUN_ACKS;

	if (!run_is_app(host) || offset % 8)
		return NULL;
	if (part == STEP_WORDS)
		return offset >= RUN_ACKS && i / RUN_STRIDE < RUN_SLOTS &&
				       i % RUN_STRIDE / 8 < RUN_HOSTS
			       ? &a->ack[i / RUN_STRIDE][i % RUN_STRIDE / 8]
			       : NULL;
	if (part != STEP_VERSIONS)
		return NULL;
	if (offset == RUN_BEAT)
		return &a->beat;
	if (offset == r->log_word)
		return &a->log_word;
	i = (offset - RUN_VERSIONS) / 8;
	return offset >= RUN_VERSIONS && i < RUN_WORDS ? &a->word[i] : NULL;
}

static void boot(void *ctx, uint16_t host, uint64_t generation, struct mono now)
{
	struct run *r = ctx;

	run_note(r, "boots", host, generation, 0, 0);
	if (run_is_app(host))
		run_app_boot(r, host, now);
	else
		run_proxy_boot(r, host);
}

static void step(void *ctx, uint16_t host, const struct step_event *ev, struct mono now,
		 struct step_out *out)
{
	struct run *r = ctx;

	if (run_is_app(host))
		run_app_step(r, host, ev, now, out);
	else
		run_proxy_step(r, host, ev, now, out);
}

static struct mono due(void *ctx, uint16_t host)
{
	const struct run *r = ctx;

	return run_is_app(host) ? run_app_due(r, host) : run_proxy_due(r, host);
}

static void effect(void *ctx, const struct world_effect *e)
{
	struct run *r = ctx;

	if (e->op->kind == STEP_READ && e->op->part == STEP_VERSIONS && !run_is_app(e->poster) &&
	    e->boot == r->w.host[e->poster].boot)
		run_proxy_read(r, e->poster, e->op->tag);
	else if (e->op->kind != STEP_READ && e->now != e->old)
		run_note(r, "acknowledges to", e->poster, e->op->host, e->now, e->offset);
}

static void result(void *ctx, const struct world_effect *e)
{
	(void)ctx;
	(void)e;
}

static void notice(void *ctx, enum world_notice what, uint16_t host, uint64_t value)
{
	static const char *const names[] = { "crashes", "boots",     "pauses for",
					     "is cut",	"is healed", "is late to" };
	struct run *r = ctx;
	struct run_app *a = &r->app[run_is_app(host) ? host : 0];

	if (what != NOTICE_BOOT)
		run_note(r, names[what], host, value, 0, 0);
	if (what == NOTICE_CRASH) {
		r->sums.crashes++;
		run_call_crashed(r, host);
		if (one_in(r, 2)) /* the machine: its clock begins anew */
			r->w.host[host].offset = between(r, NS_PER_S, 1000 * NS_PER_S);
	}
	if (what == NOTICE_PAUSE) {
		r->sums.pauses++;
		if (one_in(r, 2)) /* all threads, not the loop alone */
			a->stopped_until = r->w.now + (int64_t)value;
	}
}

/* --- troubles ----------------------------------------------------------------------- */

static uint16_t some_host(struct run *r)
{
	return (uint16_t)(one_in(r, 5) ? between(r, 1, RUN_HOSTS) : between(r, 1, RUN_APPS));
}

void run_crash(struct run *r, uint16_t host, int64_t down)
{
	bool goes = r->may_go && !r->gone && run_is_app(host) && one_in(r, 3);

	if (!r->w.host[host].up)
		return;
	if (goes) {
		r->app[host].is_gone = true;
		r->gone++;
	}
	world_crash(&r->w, host, goes ? -1 : down);
}

static void crash(struct run *r)
{
	int64_t down = one_in(r, 2) ? between(r, 1, RUN_FRESH)
				    : between(r, RUN_FRESH, 5 * RUN_FRESH);

	run_crash(r, some_host(r), down);
}

/* It does not notice that it is out. */
static void hang(struct run *r, uint16_t host)
{
	int64_t ns = between(r, RUN_FRESH / 2, 4 * RUN_FRESH);

	if (one_in(r, 2))
		world_pause(&r->w, host, ns);
	else
		r->db_cut[0][host] = r->db_cut[1][host] = r->w.now + ns;
}

void run_remove(struct run *r, uint16_t by, uint16_t host)
{
	const struct db_row *row = &r->db.row[host];

	if (!row->in || !r->w.host[by].up || r->w.host[by].paused_until > r->w.now)
		return;
	run_note(r, "removes by force", by, host, row->generation, 0);
	r->sums.removals++;
	run_call(r, &(struct db_wish){ .kind = DB_REMOVE,
				       .host = by,
				       .whole = true,
				       .target = host,
				       .generation = row->generation });
}

void run_remove_now(struct run *r, uint16_t host)
{
	run_remove(r, host % RUN_APPS + 1, host);
	hang(r, host);
	if (one_in(r, 2))
		run_timer(r, between(r, RUN_FRESH / 2, RUN_FRESH), RUN_EV_STALL, host);
}

/* R7 j: READs that are put out while there is evidence are late. */
static void stall(struct run *r, uint16_t host)
{
	for (uint16_t h = RUN_APPS + 1; h <= RUN_HOSTS && !r->quiet; h++)
		world_cut_one(&r->w, h, host, between(r, RUN_LOOK, RUN_FRESH));
}

static void removal(struct run *r)
{
	uint16_t host = (uint16_t)between(r, 1, RUN_APPS);
	uint16_t by = (uint16_t)((host - 1 + between(r, 1, RUN_APPS - 1)) % RUN_APPS + 1);

	run_remove(r, by, host);
	if (one_in(r, 2)) {
		hang(r, host);
		return;
	}
	run_timer(r, 2 * RUN_LOOK, RUN_EV_BLIND, by | (uint32_t)host << 4);
}

/* R7 b: the host comes back, and is removed again, while another one does not look. */
static void blind(struct run *r, uint32_t of)
{
	int64_t ns = between(r, RUN_FRESH, 6 * RUN_FRESH);

	if (r->quiet)
		return;
	world_pause(&r->w, of & 0xf, ns);
	run_timer(r, ns - between(r, 0, RUN_LOOK), RUN_EV_REMOVE, of);
}

static void removal_again(struct run *r, uint32_t of)
{
	uint16_t by = of & 0xf, host = of >> 4 & 0xf;

	if (r->quiet)
		return;
	run_remove(r,
		   (uint16_t)(by % RUN_APPS + 1 == host ? host % RUN_APPS + 1 : by % RUN_APPS + 1),
		   host);
	if (!one_in(r, 4))
		hang(r, host);
}

static void cut(struct run *r)
{
	uint16_t a = some_host(r), b = some_host(r);
	int64_t ns = between(r, RUN_DEADLINE, 6 * RUN_FRESH);

	switch (world_random(&r->w) % 4) {
	case 0:
		world_cut(&r->w, a, b, ns);
		return;
	case 1:
		world_cut_one(&r->w, a, b, ns);
		return;
	case 2: /* from the database, one way or both */
		for (int way = 0; way < 2; way++)
			if (one_in(r, 2))
				r->db_cut[way][a] = r->w.now + ns;
		return;
	default: /* from all */
		for (uint16_t h = 1; h <= RUN_HOSTS; h++)
			world_cut(&r->w, a, h, ns);
		if (one_in(r, 2))
			r->db_cut[0][a] = r->db_cut[1][a] = r->w.now + ns;
	}
}

static void trouble_commits(struct run *r)
{
	if (!one_in(r, 4)) {
		run_call_lose(r, (uint16_t)between(r, 1, RUN_APPS));
		return;
	}
	run_note(r, "the database restarts", 0, 0, 0, 0);
	db_restart(&r->db);
	run_call_lose(r, 0);
}

static void trouble(struct run *r)
{
	enum run_kind k = r->kind;

	if (r->quiet)
		return;
	if (k == RUN_STORM)
		k = (enum run_kind)between(r, RUN_CRASHES, RUN_REMOVALS);
	if (k == RUN_CRASHES)
		crash(r);
	else if (k == RUN_PAUSES)
		world_pause(&r->w, some_host(r), between(r, NS_PER_MS, 5 * RUN_FRESH));
	else if (k == RUN_CUTS)
		cut(r);
	else if (k == RUN_COMMITS)
		trouble_commits(r);
	else if (k == RUN_REMOVALS)
		removal(r);
	run_timer(r, between(r, 0, 2 * (int64_t)r->trouble_ns), RUN_EV_TROUBLE, 0);
}

/* DEATH: one member dies or hangs. */
static void strike(struct run *r)
{
	r->victim = (uint16_t)between(r, 1, RUN_APPS);
	if (one_in(r, 3))
		world_pause(&r->w, r->victim, between(r, 5 * RUN_FRESH, 10 * RUN_FRESH));
	else if (one_in(r, 2))
		world_crash(&r->w, r->victim, between(r, 5 * RUN_FRESH, 10 * RUN_FRESH));
	else
		world_crash(&r->w, r->victim, -1);
	r->app[r->victim].is_gone = !r->w.host[r->victim].up && one_in(r, 2);
}

/* No more faults from now on. */
static void calm_down(struct run *r)
{
	r->quiet = true;
	r->quiet_since = r->w.now;
	run_note(r, "no more faults", 0, 0, 0, 0);
	memset(r->db_cut, 0, sizeof(r->db_cut));
	for (uint16_t h = 1; h <= RUN_HOSTS; h++) {
		for (uint16_t b = 1; b <= RUN_HOSTS; b++)
			if (r->w.link[h][b].cut_until > r->w.now)
				r->w.link[h][b].cut_until = r->w.now | 1;
		if (!run_is_app(h) || !r->app[h].is_gone)
			world_revive(&r->w, h);
	}
}

/* --- timers -------------------------------------------------------------------------- */

static void wishes(struct run *r, uint16_t host)
{
	if (r->quiet)
		return;
	run_tell(r, host, RUN_EV_WISH, 0);
	run_timer(r, between(r, 0, 2 * r->wish_ns), RUN_EV_WISH, host);
}

static void requests(struct run *r, uint16_t host)
{
	run_tell(r, host, RUN_EV_REQUEST, 0);
	run_timer(r, between(r, 0, 2 * r->request_ns), RUN_EV_REQUEST, host);
}

static void evicts(struct run *r)
{
	uint16_t host = (uint16_t)between(r, 1, RUN_APPS);

	r->sums.evictions++;
	run_tell(r, host, RUN_EV_EVICT, (uint32_t)between(r, 0, RUN_WORDS - 1));
	if (!r->quiet)
		run_timer(r, between(r, 0, 2 * r->evict_ns), RUN_EV_EVICT, 0);
}

static void timer(void *ctx, uint32_t what)
{
	struct run *r = ctx;
	uint32_t event = run_event(what), of = run_of(what);

	switch (event) {
	case RUN_EV_WISH:
		return wishes(r, (uint16_t)of);
	case RUN_EV_REQUEST:
		return requests(r, (uint16_t)of);
	case RUN_EV_EVICT:
		return evicts(r);
	case RUN_EV_FILL:
	case RUN_EV_BEGIN:
	case RUN_EV_COMPUTED:
		return run_tell(r, (uint16_t)(of & 0xf), event, of);
	case RUN_EV_SNAPSHOT:
		return run_fill_snapshot(r, of);
	case RUN_EV_COPY:
		return run_proxy_store(r, of);
	case RUN_EV_STORE:
		return run_app_store(r, (uint16_t)of);
	case RUN_EV_STALL:
		return stall(r, (uint16_t)of);
	case RUN_EV_BLIND:
		return blind(r, of);
	case RUN_EV_REMOVE:
		return removal_again(r, of);
	case RUN_EV_TROUBLE:
		return trouble(r);
	case RUN_EV_STRIKE:
		return strike(r);
	case RUN_EV_QUIET:
		return calm_down(r);
	default:
		run_call_event(r, event, of);
	}
}

/* --- the end -------------------------------------------------------------------------- */

static bool is_served(const struct run *r, uint32_t page)
{
	/* With less room the pages of a home drive each other out. */
	return r->page[page].served || r->app[r->page[page].home].is_gone || r->room < RUN_ENOUGH;
}

static bool all_idle(const struct run_app *a)
{
	for (uint32_t s = 0; s < RUN_SLOTS; s++)
		if (update_state(&a->update[s]) != UPDATE_IDLE)
			return false;
	return true;
}

/* What is not as it must be, once there are no more faults. */
static enum run_violation what_is_left(const struct run *r, uint32_t *of)
{
	enum run_violation left = RUN_FINE;

	for (uint32_t p = 0; p < RUN_PAGES; p++) {
		if (is_served(r, p))
			continue;
		left = RUN_CACHED;
		*of = p;
	}
	for (uint32_t h = 1; h <= RUN_APPS; h++) {
		const struct run_app *a = &r->app[h];
		enum run_violation its = RUN_FINE;

		if (a->is_gone)
			continue;
		if (!run_app_is_open(a) || a->recover.out)
			its = RUN_MEMBER;
		else if (home_pendings(&a->home))
			its = RUN_PENDING;
		if (!all_idle(a))
			its = RUN_WRITES;
		if (!its || (left == RUN_WRITES && its != RUN_WRITES))
			continue;
		left = its;
		*of = h;
	}
	return left;
}

static void must_have_ended(struct run *r)
{
	static const char *const what[RUN_VIOLATIONS] = {
		[RUN_CACHED] = "page %u is not served from a cache",
		[RUN_MEMBER] = "host %u is no member",
		[RUN_PENDING] = "host %u has a pending update",
		[RUN_WRITES] = "an update of host %u has not ended",
	};
	uint32_t of = 0;
	enum run_violation left = what_is_left(r, &of);
	char text[80];

	if (!left)
		return;
	for (uint16_t h = 1; h <= RUN_APPS; h++)
		for (uint32_t i = 0; i < home_pendings(&r->app[h].home); i++) {
			struct home_pending p = home_pending(&r->app[h].home, i);

			run_note(r, "has pending", h, p.member, p.slot, p.name);
		}
	for (uint32_t i = 0; i < DB_CALLS; i++)
		if (r->db.call[i].state != DB_FREE)
			run_note(r, "has a call", r->db.call[i].wish.host, r->db.call[i].wish.kind,
				 r->db.call[i].state, r->call[i].events);
	snprintf(text, sizeof(text), "%s", what[left]);
	run_fail(r, left, "%.*s%u%s, %lld ms after the last fault", (int)strcspn(text, "%"), text,
		 of, strstr(text, "%u") + 2, (long long)(r->w.now - r->quiet_since) / NS_PER_MS);
}

static bool goes_on(const struct run *r)
{
	uint32_t of;

	if (r->violation || r->w.broken)
		return false;
	if (!r->quiet || r->w.now - r->quiet_since < RUN_FRESH)
		return true;
	return r->w.now - r->quiet_since < QUIET_NS && what_is_left(r, &of);
}

static void begin(struct run *r, const struct world_conf *c)
{
	for (uint16_t h = 1; h <= RUN_APPS; h++)
		if (r->updaters >> h & 1)
			run_timer(r, between(r, 0, 2 * r->wish_ns), RUN_EV_WISH, h);
	for (uint16_t h = RUN_APPS + 1; h <= RUN_HOSTS; h++)
		run_timer(r, between(r, 0, 2 * r->request_ns), RUN_EV_REQUEST, h);
	run_timer(r, between(r, 0, 2 * r->evict_ns), RUN_EV_EVICT, 0);
	run_timer(r, c->faults_until, RUN_EV_QUIET, 0);
	if (r->kind == RUN_DEATH)
		run_timer(r, between(r, RUN_FRESH, c->faults_until / 2), RUN_EV_STRIKE, 0);
	else if (r->kind != RUN_CALM)
		run_timer(r, between(r, 0, 2 * r->trouble_ns), RUN_EV_TROUBLE, 0);
}

/* Half of the clocks run as fast or as slow as they may. */
static void drift_apart(struct run *r)
{
	int64_t most = (int64_t)r->drift_ppm * (1 << 20) / 1000000;

	for (uint16_t h = 1; h <= RUN_HOSTS; h++)
		if (one_in(r, 2))
			r->w.host[h].drift = one_in(r, 2) ? most : -most;
}

bool run_schedule(struct run *r, uint64_t seed, const struct run_options *o)
{
	const struct world_actor a = { boot, step, due, effect, result, notice, timer, r, word };
	struct world_conf c;

	run_draw(r, seed, o, &c);
	world_init(&r->w, &c, &a, r->w.rng);
	drift_apart(r);
	db_init(&r->db, (uint64_t)between(r, 1, 1000));
	run_call_init(r);
	world_start(&r->w, 0, 0);
	begin(r, &c);
	for (int64_t t = 0; goes_on(r); t += STEP_NS)
		world_run(&r->w, t);
	r->sums.steps = r->w.steps;
	if (!r->violation && !r->w.broken)
		must_have_ended(r);
	if (r->w.broken)
		run_fail(r, RUN_WORLD, "%s", r->w.broken);
	return !r->violation;
}
