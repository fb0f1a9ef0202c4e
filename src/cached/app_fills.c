// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * app_fills: fills of clients. src/cache/fill.h has the states; this file is its owner. A struct
 * fill is of one home: there is a pool of them for each home, which grows up to a bound.
 *
 *	app_fill_begin -> BEGINS -> (the words were READ: the id) -> RUNS -> app_fill_end -> ENDS
 *	-> (the home's answer) -> DRAINS -> FREE
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "src/cached/app_priv.h"
#include "src/cached/snapshot.h"

/* An id: {number 12, serial 52 mixed with the secret of this life}. */
enum { SERIAL_BITS = 52 };

#define SERIAL_MASK ((1ull << SERIAL_BITS) - 1)

static_assert((int)APP_FILLS_MAX <= 1 << (64 - SERIAL_BITS), "a number has room in an id");

const char *const app_result_words[APP_RESULTS] = {
	[FILL_NONE] = "none",
	[FILL_REGISTERED] = "registered",
	[FILL_REFUSED] = "refused",
	[FILL_CLOSED] = "closed",
	[FILL_CUT] = "cut",
	[FILL_FAILED] = "failed",
	[FILL_LATE] = "late",
	[FILL_BAD] = "bad",
	[FILL_TOO_LARGE] = "too_large",
	[FILL_GIVEN_UP] = "given_up",
};

static const char *const result_texts[APP_RESULTS] = {
	[FILL_NONE] = "",
	[FILL_REGISTERED] = "",
	[FILL_REFUSED] = "",
	[FILL_CLOSED] = "the page's home is no member, or has just come back",
	[FILL_CUT] = "there is no link to the page's home, or it was lost meanwhile",
	[FILL_FAILED] = "the page's home did not let its words be read, or took no request",
	[FILL_LATE] = "the page's home did not answer in time",
	[FILL_BAD] = "no such word, or no such page: give word 0 no tags, and others 1 to 64",
	[FILL_TOO_LARGE] = "too many transactions run: give fewer tags, or no snapshot",
	[FILL_GIVEN_UP] = "the fill took too long: see fill_timeout in resex-cached(8)",
};

const char *const app_refusal_words[APP_REFUSALS] = {
	[HOME_REGISTERED] = "registered",
	[HOME_BAD] = "bad",
	[HOME_CLOSED] = "closed",
	[HOME_MOVED] = "moved",
	[HOME_WORN] = "worn",
	[HOME_PENDING] = "pending",
	[HOME_ENDED] = "ended",
	[HOME_LOG_SHORT] = "log_short",
	[HOME_UNSEEN] = "unseen",
	[HOME_JOIN_UNSEEN] = "join_unseen",
	[HOME_FULL] = "full",
};

static const char *const refusal_texts[APP_REFUSALS] = {
	[HOME_REGISTERED] = "",
	[HOME_BAD] = "the home takes no such page: give word 0 no tags, and the others 1 to 64",
	[HOME_CLOSED] = "the home is no member now",
	[HOME_MOVED] = "an update has touched the page meanwhile",
	[HOME_WORN] = "a word of the home is at its end: restart the home",
	[HOME_PENDING] = "an update that touches the page is under way",
	[HOME_ENDED] = "an update that touches the page has ended meanwhile",
	[HOME_LOG_SHORT] = "too many updates have ended meanwhile: raise \"log\" at the home",
	[HOME_UNSEEN] = "the snapshot does not see an update that touches the page",
	[HOME_JOIN_UNSEEN] = "the snapshot is older than the home's membership",
	[HOME_FULL] = "the home has no room for the page's tags: raise \"listings\" there",
};

/* --- the pool ---------------------------------------------------------------------- */

static void step_fill(void *state, const struct step_event *ev, struct mono now,
		      struct step_out *out)
{
	fill_step(state, ev, now, out);
}

static struct mono due_fill(const void *state)
{
	return fill_due(state);
}

static void fill_after(void *owner);

/* It must be after this host's number has a link or not: node_add tells it. NULL: no room. */
static struct app_fill *make_fill(struct app *a, uint16_t home)
{
	struct app_fills *p = &a->fills;
	struct app_fill *f;
	struct fill_conf c = {
		.home = home,
		.number = p->n,
		.serial = cache_word((uint32_t)node_generation(a->node), 0),
		.words = (uint32_t)a->conf->cluster.cache.words,
		.offset = REGION_CACHE_WORDS,
		.log = REGION_CACHE_LOG,
		.read_ns = a->conf->cluster.timeout_ns,
		.answer_ns = a->conf->cluster.timeout_ns,
	};
	struct node_user u = {
		.step = step_fill, .due = due_fill, .after = fill_after, .tags = FILL_TAGS
	};

	if (p->n == APP_FILLS_MAX || p->of[home] == APP_FILLS_HOME)
		return NULL;
	f = calloc(1, sizeof(*f));
	u.tag = c.tag = f ? node_tags(a->node, FILL_TAGS) : 0;
	if (!u.tag) {
		free(f);
		return NULL;
	}
	f->app = a;
	fill_init(&f->fill, &c);
	u.state = &f->fill;
	u.owner = f;
	if (node_add(a->node, &u)) {
		free(f);
		return NULL;
	}
	p->fill[p->n++] = f;
	p->of[home]++;
	return f;
}

static struct app_fill *take_fill(struct app *a, uint16_t home)
{
	struct app_fill *f = a->fills.free[home];

	if (!f)
		return make_fill(a, home);
	a->fills.free[home] = f->next;
	f->next = NULL;
	return f;
}

/* When all its operations have come back it takes another. */
static void free_fill(struct app_fill *f)
{
	struct app_fill **list = &f->app->fills.free[f->fill.conf.home];

	f->phase = PHASE_DRAINS;
	if (!fill_ready(&f->fill))
		return;
	f->phase = PHASE_FREE;
	f->next = *list;
	*list = f;
}

static uint64_t id_of(const struct app_fill *f)
{
	uint64_t serial = (fill_serial(&f->fill) ^ f->app->fills.secret) & SERIAL_MASK;

	return (uint64_t)f->fill.conf.number << SERIAL_BITS | serial;
}

/* The fill of this id whose page is being computed. NULL: none. */
static struct app_fill *find_fill(const struct app *a, uint64_t id)
{
	uint64_t number = id >> SERIAL_BITS;
	struct app_fill *f = number < a->fills.n ? a->fills.fill[number] : NULL;

	return f && f->phase == PHASE_RUNS && id_of(f) == id ? f : NULL;
}

/* --- how it ends ------------------------------------------------------------------- */

static struct app_result result_of(const struct app_fill *f)
{
	enum fill_result how = fill_result(&f->fill);
	struct app_result r = { .end = APP_NOT_NOW,
				.why = app_result_words[how],
				.text = result_texts[how],
				.sqlstate = "" };

	if (how == FILL_REGISTERED) {
		r.end = APP_OK;
		r.why = "";
		r.version = fill_version(&f->fill);
	} else if (how == FILL_REFUSED) {
		enum home_refusal why = fill_refusal(&f->fill);

		r.end = APP_REFUSED;
		r.why = app_refusal_words[why];
		r.text = refusal_texts[why];
	} else if (how == FILL_BAD || how == FILL_TOO_LARGE) {
		r.end = APP_BAD;
	}
	return r;
}

static void count(struct app_fill *f)
{
	struct app_fills *p = &f->app->fills;

	p->results[fill_result(&f->fill)]++;
	if (fill_result(&f->fill) == FILL_REFUSED)
		p->refusals[fill_refusal(&f->fill)]++;
}

/* Its client is told; the fill may be taken by the next one within done. */
static void end_fill(struct app_fill *f)
{
	struct app_result r = result_of(f);
	app_done *done = f->done;
	void *arg = f->arg;

	count(f);
	f->done = NULL;
	free_fill(f);
	done(arg, &r);
}

static void words_were_read(struct app_fill *f)
{
	const struct app_result r = {
		.end = APP_OK, .why = "", .text = "", .id = id_of(f), .sqlstate = ""
	};
	app_done *done = f->done;

	f->phase = PHASE_RUNS;
	f->until = mono_add(node_now(f->app->node), f->app->conf->fill_timeout_ns);
	f->done = NULL;
	done(f->arg, &r);
}

static void fill_after(void *owner)
{
	struct app_fill *f = owner;
	enum fill_state state = fill_state(&f->fill);

	switch (f->phase) {
	case PHASE_BEGINS:
		if (state == FILL_COMPUTES)
			words_were_read(f);
		else if (state == FILL_IDLE)
			end_fill(f);
		break;
	case PHASE_ENDS:
		if (state == FILL_IDLE)
			end_fill(f);
		break;
	case PHASE_DRAINS:
		free_fill(f);
		break;
	case PHASE_RUNS: /* if it was cut, its end says so */
	case PHASE_FREE:
		break;
	}
}

static void give_up(struct app_fill *f)
{
	if (fill_state(&f->fill) != FILL_IDLE)
		node_ask(f->app->node, &f->fill, FILL_GIVE_UP, NULL);
	count(f);
	free_fill(f);
}

void fills_tick(struct app *a, struct mono now)
{
	for (uint32_t i = 0; i < a->fills.n; i++) {
		struct app_fill *f = a->fills.fill[i];

		if (f->phase == PHASE_RUNS && now.ns >= f->until.ns)
			give_up(f);
	}
}

/* --- requests ---------------------------------------------------------------------- */

void app_fill_begin(struct app *a, uint16_t home, uint32_t word, app_done *done, void *arg)
{
	struct app_fill *f;

	if (!hostset_has(&a->apps, home)) {
		app_refuse(done, arg, APP_BAD, "home",
			   "there is no application server with this number: the proxy has "
			   "another cluster.json");
		return;
	}
	f = take_fill(a, home);
	if (!f) {
		app_refuse(done, arg, APP_NOT_NOW, "busy",
			   "too many fills are under way: serve the page, and do not store it");
		return;
	}
	a->fills.begun++;
	f->phase = PHASE_BEGINS;
	f->done = done;
	f->arg = arg;
	node_ask(a->node, &f->fill, FILL_BEGIN, &word);
}

/* A sentence; NULL: the snapshot is good, or there is none. */
static const char *read_snapshot(const struct app *a, const char *text, struct snapshot *s,
				 enum fill_result *how)
{
	int rc = text && a->conf->sql->snapshots ? snapshot_parse(s, text) : 0;

	*how = FILL_BAD;
	if (text && !a->conf->sql->snapshots)
		return "this database says nothing of snapshots: leave it out, and begin the "
		       "transaction after the fill";
	if (rc == -EINVAL)
		return "the snapshot is none: give the text of pg_current_snapshot()";
	*how = FILL_TOO_LARGE;
	return rc ? result_texts[FILL_TOO_LARGE] : NULL;
}

void app_fill_end(struct app *a, uint64_t id, uint32_t tags, const char *const *tag,
		  const char *snapshot, app_done *done, void *arg)
{
	struct app_fill *f = find_fill(a, id);
	uint64_t hash[HOME_FILL_TAGS_MAX];
	struct fill_page page = { .tags = tags, .tag = hash };
	enum fill_result how = FILL_BAD;
	struct snapshot s;
	const char *bad;

	if (!f) {
		app_refuse(done, arg, APP_NOT_FOUND, "fill",
			   "there is no such fill, or it took too long: do not store the page");
		return;
	}
	bad = app_hash_tags(a, tags, tag, HOME_FILL_TAGS_MAX, hash);
	if (!bad)
		bad = read_snapshot(a, snapshot, &s, &how);
	if (bad) {
		app_refuse(done, arg, APP_BAD, app_result_words[how], bad);
		return;
	}
	page.serial = fill_serial(&f->fill);
	page.snapshot = snapshot ? &s.home : NULL;
	f->phase = PHASE_ENDS;
	f->done = done;
	f->arg = arg;
	/* One that was cut while the page was computed ends by this, too. */
	node_ask(a->node, &f->fill, FILL_COMPUTED, &page);
}

enum app_end app_fill_give_up(struct app *a, uint64_t id)
{
	struct app_fill *f = find_fill(a, id);

	if (!f)
		return APP_NOT_FOUND;
	give_up(f);
	return APP_OK;
}

/* --- opening and closing ----------------------------------------------------------- */

int fills_open(struct app *a, struct conf_error *e)
{
	if (getrandom(&a->fills.secret, sizeof(a->fills.secret), 0) ==
	    (ssize_t)sizeof(a->fills.secret))
		return 0;
	conf_error_set(e, RESEX_FAILURE, "the kernel gives no random numbers: %s", strerror(errno));
	return -EIO;
}

void fills_close(struct app *a)
{
	for (uint32_t i = 0; i < a->fills.n; i++)
		free(a->fills.fill[i]);
}
