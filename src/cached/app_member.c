// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * app_member: this host's row in the database, and those of the others: looks, joins, leaves,
 * removes. R6 a and R7 of cache.h; src/cache/recover.h says when.
 *
 * What a look found feeds the home, the updates, the beat and recover. A look judges only the life
 * in which it began: one that began before the join has ended may not have seen it.
 */
#include <errno.h>
#include <string.h>

#include "src/cached/app_priv.h"

/* A look begins so many times in `fresh`. */
enum { LOOKS = 4 };

/* --- on disk ----------------------------------------------------------------------- */

/*
 * In a job's thread. R3 b: no word is open, and no update is sent, with numbers that this host
 * would not remember after a crash: a failover of the database may take the row back.
 */
static int keep_floors(struct app *a, uint32_t generation, uint32_t fence, struct sql_error *e)
{
	struct app_member *m = &a->member;
	struct conf_error ce = { 0 };
	struct cached_floors f;
	int rc = 0;

	pthread_mutex_lock(&m->floors_lock);
	f.generation = generation > m->floors.generation ? generation : m->floors.generation;
	f.fence = fence > m->floors.fence ? fence : m->floors.fence;
	if (f.generation != m->floors.generation || f.fence != m->floors.fence)
		rc = cached_floors_save(&f, a->conf->state_dir, &ce);
	if (!rc)
		m->floors = f;
	pthread_mutex_unlock(&m->floors_lock);
	if (rc)
		snprintf(e->text, sizeof(e->text), "%.500s", ce.text);
	/* Not the connection's: it is kept. */
	return rc == -ENOTCONN ? -EIO : rc;
}

/* --- the log ----------------------------------------------------------------------- */

/* Once, when it begins to fail. */
static void note_trouble(struct app *a, struct app_trouble *t, const char *what,
			 const struct job *j)
{
	const char *text = j->e.text[0] ? j->e.text : strerror(-j->rc);

	if (!j->rc) {
		if (t->text[0])
			app_say(a, LOG_LVL_INFO, "%s again", what);
		t->text[0] = 0;
		return;
	}
	if (!t->text[0])
		app_say(a, LOG_LVL_WARNING, "not now: %s: %s", what, text);
	snprintf(t->text, sizeof(t->text), "%s", text);
}

/* --- out and in -------------------------------------------------------------------- */

static void store_beat(struct app *a, uint64_t beat)
{
	__atomic_store_n(a->member.beat_word, beat, __ATOMIC_SEQ_CST);
}

/* R7 c: the words first. */
static void close_words(struct app *a)
{
	struct app_member *m = &a->member;

	home_close(&a->home);
	store_beat(a, 0);
	m->is_in = false;
	m->confirmed = false;
}

static void leave(struct app *a)
{
	const struct app_member *m = &a->member;
	const char *why = "it was removed";

	if (m->look.timeline != m->joined.timeline)
		why = "the database is another one, or was restored: all that is cached is dropped";
	else if (hostset_has(&m->look.members, a->self) &&
		 m->look.generation[a->self] != m->joined.generation)
		why = "another resex-cached has joined with its number: give each host its own";
	app_say(a, LOG_LVL_WARNING, "out of the cache: %s; it joins again", why);
	close_words(a);
}

static int run_join(struct job *j, struct sql *s, struct sql_error *e)
{
	struct app_join *join = (struct app_join *)j;
	const struct sql_ops *sql = join->app->conf->sql;
	int rc = sql->join(s, join->generation_floor, join->fence_floor, &join->joined, e);

	if (!rc)
		rc = keep_floors(join->app, join->joined.generation, join->joined.fence, e);
	return rc;
}

static void join_done(struct job *j)
{
	struct app_join *join = (struct app_join *)j;
	struct app *a = join->app;
	struct app_member *m = &a->member;
	struct mono now = node_now(a->node);

	if (m->is_leaving)
		return;
	note_trouble(a, &m->join_trouble, "the cache can be joined", j);
	if (j->rc) {
		recover_not_joined(&m->recover, now);
		return;
	}
	if (!home_open(&a->home, join->joined.generation, join->joined.epoch,
		       join->joined.transaction)) {
		app_say(a, LOG_LVL_ERROR,
			"generation %u of the own row is not above that of before: it joins again",
			join->joined.generation);
		recover_floors(&m->recover, a->home.generation, join->joined.fence);
		recover_not_joined(&m->recover, now);
		return;
	}
	m->joined = join->joined;
	m->is_in = true;
	m->joins++;
	recover_joined(&m->recover, m->joined.timeline, m->joined.generation, m->joined.fence, now);
	app_say(a, LOG_LVL_INFO, "in the cache: generation %u, epoch %u", m->joined.generation,
		m->joined.epoch);
	member_want_look(a);
}

/* R6 a. home_join comes before the transaction: an updater may see the commit first. */
static void join(struct app *a)
{
	struct app_join *j = &a->member.join_job;

	home_join(&a->home);
	j->generation_floor = recover_floor_generation(&a->member.recover);
	j->fence_floor = recover_floor_fence(&a->member.recover);
	if (!jobs_start(a->jobs, LANE_JOIN, &j->job))
		recover_not_joined(&a->member.recover, node_now(a->node));
}

/* --- others are removed ------------------------------------------------------------ */

static int run_removal(struct job *j, struct sql *s, struct sql_error *e)
{
	struct app_removal *r = (struct app_removal *)j;

	return r->app->conf->sql->remove(s, r->host, r->generation, e);
}

static void answer_operator(const struct app_removal *r)
{
	const struct job *j = &r->job;
	const struct app_result ok = { .end = APP_OK, .why = "", .text = "", .sqlstate = "" };

	if (!j->rc)
		r->done(r->arg, &ok);
	else if (j->rc == -ESTALE)
		app_refuse(r->done, r->arg, APP_REFUSED, "stale",
			   "it has come back meanwhile: look again, and remove it if it must be");
	else
		app_refuse(r->done, r->arg, APP_NOT_NOW, "database",
			   j->e.text[0] ? j->e.text : strerror(-j->rc));
}

static void removal_done(struct job *j)
{
	struct app_removal *r = (struct app_removal *)j;
	struct app *a = r->app;
	struct app_removal was = *r;

	r->runs = false;
	r->done = NULL;
	if (r == &a->member.removal[0])
		a->member.warm.open = false;
	if (a->member.is_leaving)
		return;
	if (!j->rc)
		a->member.removals++;
	if (!j->rc && was.done)
		app_say(a, LOG_LVL_WARNING, "host %s is removed: an operator asked for it",
			app_host_name(a, r->host));
	if (j->rc && j->rc != -ESTALE)
		app_say(a, LOG_LVL_WARNING, "host %s could not be removed: %s",
			app_host_name(a, r->host), j->e.text[0] ? j->e.text : strerror(-j->rc));
	member_want_look(a);
	if (was.done)
		answer_operator(&was);
}

static struct app_removal *free_remover(struct app *a, uint16_t host, uint32_t *lane)
{
	struct app_removal *found = NULL;

	for (uint32_t i = 0; i < APP_REMOVERS; i++) {
		struct app_removal *r = &a->member.removal[i];

		if (r->runs && r->host == host) /* its end is near */
			return NULL;
		if (found || jobs_busy(a->jobs, LANE_REMOVE + i)) /* a removal, or warm */
			continue;
		found = r;
		*lane = LANE_REMOVE + i;
	}
	return found;
}

/* false: it is being removed, or too many are. The next look says whether it is still a member. */
static bool remove_host(struct app *a, uint16_t host, uint32_t generation, app_done *done,
			void *arg)
{
	uint32_t lane = 0;
	struct app_removal *r = free_remover(a, host, &lane);

	if (!r)
		return false;
	r->host = host;
	r->generation = generation;
	r->done = done;
	r->arg = arg;
	r->runs = jobs_start(a->jobs, lane, &r->job);
	return r->runs;
}

static void remove_silent(struct app *a, const struct recover_act *act, struct mono now)
{
	if (!remove_host(a, act->host, act->generation, NULL, NULL))
		return;
	app_say(a, LOG_LVL_WARNING, "host %s is removed: %s for %lld ms",
		app_host_name(a, act->host),
		act->is_missing ? "an update waits for it"
				: "its update is pending, and nothing was heard of it",
		(long long)(mono_sub(now, act->since) / NS_PER_MS));
}

void app_remove(struct app *a, uint16_t host, bool force, app_done *done, void *arg)
{
	const struct app_member *m = &a->member;
	int64_t age = watch_age(&a->watch, host, node_now(a->node));

	if (!hostset_has(&a->apps, host))
		app_refuse(done, arg, APP_BAD, "host",
			   "there is no application server with this number: see resex-cached(8)");
	else if (!m->looked)
		app_refuse(done, arg, APP_NOT_NOW, "database",
			   m->look_trouble.text[0] ? m->look_trouble.text
						   : "the database was not read yet");
	else if (!hostset_has(&m->look.members, host))
		app_refuse(done, arg, APP_OK, "", "");
	else if (!force && age < 2 * a->conf->cluster.cache.fresh_ns)
		app_refuse(done, arg, APP_NOT_NOW, "beats",
			   "it is alive: stop it, or use --force; then it comes back at once");
	else if (!remove_host(a, host, m->look.generation[host], done, arg))
		app_refuse(done, arg, APP_NOT_NOW, "busy",
			   "it is being removed already, or too many are: ask again");
}

/* --- a connection for removals, before it is needed -------------------------------- */

static int run_warm(struct job *j, struct sql *s, struct sql_error *e)
{
	struct app_warm *w = (struct app_warm *)j;

	return j->leave ? 0 : w->app->conf->sql->look(s, &w->look, e);
}

static void warm_done(struct job *j)
{
	struct app_warm *w = (struct app_warm *)j;

	if (j->rc) /* a removal says what fails */
		w->open = false;
}

/* That of the first lane, which a removal takes first. */
static void keep_warm(struct app *a, struct mono now)
{
	struct app_warm *w = &a->member.warm;
	bool wanted = recover_suspects(&a->member.recover, now);

	if (w->open == wanted && (!wanted || now.ns < w->next.ns))
		return;
	w->job.leave = !wanted;
	if (!jobs_start(a->jobs, LANE_REMOVE, &w->job))
		return;
	w->open = wanted;
	w->next = mono_add(now, a->conf->cluster.cache.detect_ns / 2);
}

/* --- what is to be done ------------------------------------------------------------ */

/* A question of fresh.h: its answer is a sign of life, as any message is. */
static void ask_silent(struct app *a, struct mono now)
{
	struct hostset ask = recover_asks(&a->member.recover, now);
	struct fresh_question q = { .kind = FRESH_QUESTION };

	for (uint16_t h = hostset_next(&ask, 0); h; h = hostset_next(&ask, h)) {
		q.serial = ++a->member.questions;
		node_send(a->node, h, &q, sizeof(q));
	}
}

static void decide(struct app *a)
{
	struct mono now = node_now(a->node);
	struct recover_act act;

	ask_silent(a, now);
	for (;;) {
		recover_next(&a->member.recover, now, &act);
		if (act.what == RECOVER_LEAVE)
			leave(a);
		else if (act.what == RECOVER_JOIN)
			join(a);
		else if (act.what == RECOVER_REMOVE)
			remove_silent(a, &act, now);
		else
			return;
	}
}

/* What recover is to know, and has no event of its own. */
static void tell_recover(struct app *a, struct mono now)
{
	struct app_member *m = &a->member;

	for (uint16_t h = hostset_next(&a->apps, 0); h; h = hostset_next(&a->apps, h)) {
		bool up = node_link(a->node, h) != 0;

		recover_pending(&m->recover, h, home_pending_of(&a->home, h), now);
		if (up != hostset_has(&m->recover.up, h))
			recover_link(&m->recover, h, up, now);
	}
}

void member_heard(struct app *a, uint16_t host, struct mono now)
{
	recover_heard(&a->member.recover, host, now);
}

void member_missing(struct app *a, uint16_t slot, const struct hostset *missing)
{
	recover_missing(&a->member.recover, slot, missing, node_now(a->node));
}

/* --- looks ------------------------------------------------------------------------- */

static int run_look(struct job *j, struct sql *s, struct sql_error *e)
{
	struct app_look *l = (struct app_look *)j;
	int rc = l->app->conf->sql->look(s, &l->look, e);

	/* This look's fence may name updates. */
	if (!rc && l->is_in && hostset_has(&l->look.rows, l->app->self))
		rc = keep_floors(l->app, 0, l->look.fence[l->app->self], e);
	return rc;
}

/* R7 f: it found this host a member, in the life that this host has now: each has a generation. */
static bool confirms(const struct app *a, const struct app_look *l)
{
	const struct app_member *m = &a->member;

	return m->is_in && l->look.timeline == m->joined.timeline &&
	       hostset_has(&l->look.members, a->self) &&
	       l->look.generation[a->self] == m->joined.generation;
}

static void feed_recover(struct app *a, const struct app_look *l)
{
	const struct recover_look look = {
		.began = l->began,
		.timeline = l->look.timeline,
		.rows = l->look.rows,
		.members = l->look.members,
		.generation = l->look.generation,
		.fence = l->look.fence,
	};

	recover_looked(&a->member.recover, &look, node_now(a->node));
}

static void take_look(struct app *a, const struct app_look *l)
{
	struct app_member *m = &a->member;
	const struct home_look look = { .rows = l->look.rows,
					.fence = l->look.fence,
					.raised = l->look.raised };
	uint64_t beat;

	m->look = l->look;
	m->looked = true;
	m->looked_at = l->began;
	m->number = l->number;
	m->confirmed = confirms(a, l);
	beat = fresh_found(&m->beat, m->confirmed);
	if (beat)
		store_beat(a, beat);
	feed_recover(a, l);
	node_ask(a->node, &a->home, HOME_LOOKED, &look);
	tell_recover(a, node_now(a->node));
	decide(a); /* before the updates: a host that is out is not confirmed any more */
	m->looked_hook(a);
}

static void look_done(struct job *j)
{
	struct app_look *l = (struct app_look *)j;
	struct app *a = l->app;
	struct app_member *m = &a->member;

	if (m->is_leaving)
		return;
	note_trouble(a, &m->look_trouble, "the database answers", j);
	if (j->rc)
		fresh_found(&m->beat, false);
	else
		take_look(a, l);
	if (m->again && !j->rc)
		member_want_look(a);
}

/* R7 g: the stamp is read before the look begins. */
static void begin_look(struct app *a, struct mono now)
{
	struct app_member *m = &a->member;
	struct app_look *l = &m->look_job;

	if (m->is_leaving || jobs_busy(a->jobs, LANE_LOOK))
		return;
	m->again = false;
	fresh_look(&m->beat, now);
	l->began = now;
	l->is_in = m->is_in;
	l->number = ++m->begun;
	m->next_look = mono_add(now, a->conf->cluster.cache.fresh_ns / LOOKS);
	if (!jobs_start(a->jobs, LANE_LOOK, &l->job))
		fresh_found(&m->beat, false);
}

void member_want_look(struct app *a)
{
	a->member.again = true;
	begin_look(a, node_now(a->node));
}

/* --- ticks, opening and closing ---------------------------------------------------- */

void member_tick(struct app *a, struct mono now)
{
	if (now.ns >= a->member.next_look.ns)
		begin_look(a, now);
	tell_recover(a, now);
	decide(a);
	keep_warm(a, now);
}

struct mono member_due(const struct app *a)
{
	const struct app_member *m = &a->member;

	return mono_earlier(m->next_look, recover_due(&m->recover));
}

int member_open(struct app *a, struct conf_error *e)
{
	struct app_member *m = &a->member;
	const struct recover_conf c = { .self = a->self,
					.slots = (uint16_t)a->updates.slots,
					.detect_ns = a->conf->cluster.cache.detect_ns };
	int rc = cached_floors_load(&m->floors, a->conf->state_dir, e);

	if (rc)
		return rc;
	recover_init(&m->recover, &c, node_now(a->node));
	recover_floors(&m->recover, m->floors.generation, m->floors.fence);
	m->look_job.job = (struct job){ .run = run_look, .done = look_done };
	m->look_job.app = a;
	/* "join" and "remove" are rare: their lanes keep no connection for long. */
	m->join_job.job = (struct job){ .run = run_join, .done = join_done, .leave = true };
	m->join_job.app = a;
	for (uint32_t i = 0; i < APP_REMOVERS; i++) {
		m->removal[i].job =
			(struct job){ .run = run_removal, .done = removal_done, .leave = true };
		m->removal[i].app = a;
	}
	m->warm.job = (struct job){ .run = run_warm, .done = warm_done };
	m->warm.app = a;
	m->farewell.job = m->removal[0].job;
	m->farewell.app = a;
	return 0;
}

/*
 * The words are closed first. Then the row goes, so that no update waits for this host. A join that
 * is under way may have committed: it is waited for. If the database does not answer in time the
 * others remove the row.
 */
void member_leave(struct app *a)
{
	struct app_member *m = &a->member;
	int64_t patience = a->conf->sql_timeout_ns + NS_PER_S;
	bool was_in = m->is_in;

	m->is_leaving = true;
	close_words(a);
	if (!jobs_wait(a->jobs, LANE_JOIN, patience))
		return;
	m->farewell.host = a->self;
	m->farewell.generation = was_in ? m->joined.generation : m->join_job.joined.generation;
	if (m->farewell.generation && jobs_start(a->jobs, LANE_JOIN, &m->farewell.job) &&
	    !jobs_wait(a->jobs, LANE_JOIN, patience))
		app_say(a, LOG_LVL_WARNING,
			"the database does not answer: the other hosts will remove this one");
}
