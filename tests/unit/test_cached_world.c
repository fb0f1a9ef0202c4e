// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * app: three application servers over "shm" and the fake database, with faults in any order. No
 * copy that a proxy would serve differs from the database.
 *
 * A page of home h and word w shows one item, a place of the fake database. A copy is served while
 * the home's word is the copy's, and the home's beat is younger than `fresh`: all are of one clock.
 */
#include "tests/unit/app_rig.h"
#include "tests/unit/prop.h"

enum { WORDS = 12, ITEMS = 6, FILLS = 6, UPDATES = 4, TURNS = 6000 };

static const char apps[] = "aaa";

struct copy {
	uint64_t version; /* 0: there is none */
	int64_t value;
};

struct filler {
	bool busy, computes;
	uint16_t app, home;
	uint32_t word;
	int wait;      /* turns until the page is computed */
	uint32_t life; /* world.life of app, when it began */
	struct answer a;
	int64_t value;
};

struct updater {
	bool busy;
	uint16_t app;
	uint32_t life;
	struct answer a;
};

struct world {
	struct rig *r;
	struct prop p;
	struct copy copy[CACHED_HOSTS + 1][WORDS];
	struct filler filler[FILLS];
	struct updater updater[UPDATES];
	uint32_t life[CACHED_HOSTS + 1]; /* + 1 at each end: no answer comes any more */
	int stopped[CACHED_HOSTS + 1];	 /* turns */
	int64_t value;			 /* the newest that was written */
	uint64_t hits, stored, done, faults;
};

static uint32_t item_of(uint16_t home, uint32_t word)
{
	return (home * WORDS + word) % ITEMS;
}

static const char *tag_of(uint32_t item)
{
	static const char *const tags[ITEMS] = { "item/0", "item/1", "item/2",
						 "item/3", "item/4", "item/5" };

	return tags[item];
}

/* R7 j, by the clock that all hosts of this process have. */
static bool is_fresh(const struct world *w, uint16_t home)
{
	const struct cached_host *h = w->r->all->host[home];
	int64_t age = node_now(h->node).ns - (int64_t)beat_of(w->r, home);

	return beat_of(w->r, home) != 0 && age < h->conf.cluster.cache.fresh_ns;
}

static void check_copy(struct world *w, uint16_t home, uint32_t word)
{
	const struct copy *c = &w->copy[home][word];
	uint32_t item = item_of(home, word);
	int64_t before = fake_place(&w->r->db, item);
	bool served = c->version && word_of(w->r, home, word) == c->version && is_fresh(w, home);

	/* Threads commit meanwhile: only what the database had all the time is compared. */
	if (!served || fake_place(&w->r->db, item) != before)
		return;
	w->hits++;
	if (c->value != before)
		fail_msg("stale: home %u, word %u, version %llx: %lld, and the database has %lld",
			 home, word, (unsigned long long)c->version, (long long)c->value,
			 (long long)before);
}

static void check_copies(struct world *w)
{
	for (uint16_t home = 1; home <= CACHED_HOSTS; home++)
		for (uint32_t word = 1; w->r->app[home] && word < WORDS; word++)
			check_copy(w, home, word);
}

static uint16_t any_app(struct world *w)
{
	return (uint16_t)prop_range(&w->p, 1, CACHED_HOSTS);
}

/* --- fills and updates ----------------------------------------------------------------- */

static void go_on(struct world *w, struct filler *f)
{
	struct rig *r = w->r;
	const char *tag = tag_of(item_of(f->home, f->word));

	if (f->life != w->life[f->app]) { /* no answer comes any more */
		f->busy = false;
		return;
	}
	if (!f->a.times)
		return;
	if (f->a.r.end != APP_OK) {
		f->busy = false;
	} else if (!f->computes) {
		f->computes = true;
		f->value = fake_place(&r->db, item_of(f->home, f->word));
		f->wait = (int)prop_range(&w->p, 0, 20);
	} else if (f->wait-- == 0) {
		uint64_t id = f->a.r.id;

		memset(&f->a, 0, sizeof(f->a));
		app_fill_end(r->app[f->app], id, 1, &tag, NULL, answered, &f->a);
	} else if (f->wait < -1) {
		w->copy[f->home][f->word] = (struct copy){ f->a.r.version, f->value };
		w->stored++;
		f->busy = false;
	}
}

static void begin_one(struct world *w, struct filler *f)
{
	memset(f, 0, sizeof(*f));
	f->app = any_app(w);
	f->home = any_app(w);
	f->word = (uint32_t)prop_range(&w->p, 1, WORDS - 1);
	f->life = w->life[f->app];
	if (!w->r->app[f->app])
		return;
	f->busy = true;
	app_fill_begin(w->r->app[f->app], f->home, f->word, answered, &f->a);
}

static void run_fills(struct world *w)
{
	for (int i = 0; i < FILLS; i++) {
		struct filler *f = &w->filler[i];

		if (f->busy)
			go_on(w, f);
		else if (prop_one_in(&w->p, 3))
			begin_one(w, f);
	}
}

static void run_updates(struct world *w)
{
	for (int i = 0; i < UPDATES; i++) {
		struct updater *u = &w->updater[i];
		uint32_t item = (uint32_t)prop_range(&w->p, 0, ITEMS - 1);
		char text[64];

		if (u->busy && (u->a.times || u->life != w->life[u->app])) {
			w->done += u->a.times && u->a.r.end == APP_OK;
			u->busy = false;
		}
		if (u->busy || !prop_one_in(&w->p, 20))
			continue;
		u->app = any_app(w);
		u->life = w->life[u->app];
		if (!w->r->app[u->app])
			continue;
		u->busy = true;
		snprintf(text, sizeof(text), "set %u %lld", item, (long long)++w->value);
		ask_update(w->r, u->app, tag_of(item), text, &u->a);
	}
}

/* --- faults ------------------------------------------------------------------------------ */

static void forget(void *arg, const struct app_result *r)
{
	(void)arg;
	(void)r;
}

static void kill_or_start(struct world *w, uint16_t n)
{
	if (w->r->app[n]) {
		app_stop(w->r, n, prop_one_in(&w->p, 2));
		w->life[n]++;
		w->r->all->host[n]->stopped = false;
		w->stopped[n] = 0;
	} else {
		app_start(w->r, n);
	}
}

static void make_fault(struct world *w)
{
	uint16_t n = any_app(w);
	struct app *a = w->r->app[n];

	w->faults++;
	switch (prop_range(&w->p, 0, 7)) {
	case 0:
	case 1:
		fake_lose(&w->r->db, n, prop_one_in(&w->p, 2) ? FAKE_LOST_DONE : FAKE_LOST_UNDONE);
		break;
	case 2:
	case 3: /* up to three times as long as it takes to be removed */
		w->r->all->host[n]->stopped = true;
		w->stopped[n] = (int)prop_range(&w->p, 1, 3000);
		break;
	case 4:
		if (a)
			app_remove(a, any_app(w), true, forget, NULL);
		break;
	case 5:
		fake_failover(&w->r->db);
		break;
	case 6:
		fake_down(&w->r->db, n, !prop_one_in(&w->p, 3));
		break;
	default:
		kill_or_start(w, n);
	}
}

static void end_faults(struct world *w)
{
	for (uint16_t n = 1; n <= CACHED_HOSTS; n++) {
		fake_down(&w->r->db, n, false);
		fake_lose(&w->r->db, n, FAKE_NO_LOSS);
		w->r->all->host[n]->stopped = false;
		if (!w->r->app[n])
			app_start(w->r, n);
	}
}

static void wake_stopped(struct world *w)
{
	for (uint16_t n = 1; n <= CACHED_HOSTS; n++)
		if (w->stopped[n] && --w->stopped[n] == 0)
			w->r->all->host[n]->stopped = false;
}

static bool nothing_pends(struct world *w)
{
	for (uint16_t n = 1; n <= CACHED_HOSTS; n++)
		if (!slots_idle(w->r, n) || w->r->app[n]->home.actives)
			return false;
	return true;
}

static void turn(struct world *w, bool faults)
{
	run_fills(w);
	run_updates(w);
	if (faults && prop_one_in(&w->p, 100))
		make_fault(w);
	wake_stopped(w);
	cached_turn(w->r->all);
	check_copies(w);
}

TEST(copies__any_faults__none_is_stale_and_nothing_pends_behind_them)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	prop_start(&w->p);
	w->r = rig_new(apps);
	w->r->all->log.level = 0;
	for (uint16_t n = 1; n <= CACHED_HOSTS; n++) {
		w->r->all->host[n]->conf.cluster.cache.detect_ns = 100 * NS_PER_MS;
		w->r->all->host[n]->conf.cluster.cache.fresh_ns = 50 * NS_PER_MS;
		app_start(w->r, n);
	}
	CACHED_UNTIL(w->r->all, all_in(w->r, apps));
	for (int i = 0; i < TURNS; i++)
		turn(w, true);
	end_faults(w);
	CACHED_UNTIL(w->r->all, all_in(w->r, apps));
	for (int i = 0; i < 300; i++)
		turn(w, false);
	/* Progress: updates end, and no home keeps one for ever. */
	CACHED_UNTIL(w->r->all, nothing_pends(w));
	print_message("%llu hits, %llu copies, %llu updates, %llu faults\n",
		      (unsigned long long)w->hits, (unsigned long long)w->stored,
		      (unsigned long long)w->done, (unsigned long long)w->faults);
	assert_true(w->hits > 500 && w->stored > 20 && w->done > 20);
	rig_free(w->r);
	free(w);
}
