// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * app_updates: updates of clients, in slots. src/cache/update.h has the states; this file is its
 * owner: it asks the database in each state what the table there says, and tells the client.
 *
 *	client -> waiting -> slot: LOOKS -> ACKS -> COMMITS [-> DOUBT] -> TELLS -> the next one
 *
 * The database is asked in the slot's lane alone, for the transaction and for R6 d. Looks are those
 * of app_member.c: an older one is good for a broadcast, since the transaction checks it (R5).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/cached/app_priv.h"

/*
 * From one READ of the own ack words to the next: soon while answers come, and seldom when a host
 * is silent.
 */
#define CHECK_NS      (NS_PER_MS / 2)
#define CHECK_SLOW_NS (5 * NS_PER_MS)
#define BRISK_NS      (50 * NS_PER_MS)
/* DOUBT: from a failure to the next try. */
#define RETRY_MIN_NS (50 * NS_PER_MS)
#define RETRY_MAX_NS (2 * NS_PER_S)
/* A client is told that its update was not done, if it cannot be sent for so long. */
#define PATIENCE_MIN_NS (10 * NS_PER_S)

/* --- what a client asked for ------------------------------------------------------- */

static size_t text_bytes(const struct sql_statement *s)
{
	size_t sum = strlen(s->text) + 1;

	for (uint32_t i = 0; i < s->params; i++)
		sum += s->param[i] ? strlen(s->param[i]) + 1 : 0;
	return sum;
}

/* A sentence; NULL: it is good. *bytes: of all its texts; *params: of all statements. */
static const char *check_statements(uint32_t n, const struct sql_statement *s, size_t *bytes,
				    size_t *params)
{
	*bytes = *params = 0;
	if (n > SQL_STATEMENTS_MAX)
		return "there are too many statements: give at most 64";
	for (uint32_t i = 0; i < n; i++) {
		if (s[i].params > SQL_PARAMS_MAX)
			return "a statement has too many parameters: give at most 64";
		*bytes += text_bytes(&s[i]);
		*params += s[i].params;
	}
	if (*bytes > SQL_TEXT_MAX)
		return "the statements are too long: give at most 1 MiB with their parameters";
	return NULL;
}

static const char *copy_text(char **to, const char *text)
{
	size_t n = strlen(text) + 1;
	char *at = *to;

	memcpy(at, text, n);
	*to += n;
	return at;
}

/* All in one block: the statements, their parameters, then the texts. */
static struct app_change *copy_change(uint32_t n, const struct sql_statement *s, size_t bytes,
				      size_t params)
{
	struct app_change *c;
	const char **param;
	size_t size = sizeof(*c) + n * sizeof(*s) + params * sizeof(*param) + bytes;
	char *text;

	c = calloc(1, size);
	if (!c)
		return NULL;
	c->bytes = size;
	c->statements = n;
	c->statement = (struct sql_statement *)(c + 1);
	param = (const char **)(c->statement + n);
	text = (char *)(param + params);
	for (uint32_t i = 0; i < n; i++) {
		c->statement[i].text = copy_text(&text, s[i].text);
		c->statement[i].params = s[i].params;
		c->statement[i].param = param;
		for (uint32_t k = 0; k < s[i].params; k++)
			*param++ = s[i].param[k] ? copy_text(&text, s[i].param[k]) : NULL;
	}
	return c;
}

/* --- the client is told ------------------------------------------------------------ */

static void tell_done(struct app_slot *s)
{
	const struct app_result r = {
		.end = APP_OK,
		.why = "",
		.text = "",
		.transaction = s->transaction,
		.rows = s->work.rows,
		.statements = s->rows,
		.sqlstate = "",
	};
	struct app_change *c = s->change;

	s->change = NULL;
	s->app->updates.done++;
	c->done(c->arg, &r);
	free(c);
}

static void tell_not(struct app_slot *s)
{
	const struct app_result r = {
		.end = s->end,
		.why = s->why,
		.text = s->error.text,
		.sqlstate = s->error.state,
	};
	struct app_change *c = s->change;

	s->change = NULL;
	if (s->end == APP_REFUSED)
		s->app->updates.refused++;
	else
		s->app->updates.not_now++;
	c->done(c->arg, &r);
	free(c);
}

static void tell_client(struct app_slot *s)
{
	if (!s->change)
		return;
	if (update_result(&s->update) == UPDATE_DONE)
		tell_done(s);
	else
		tell_not(s);
}

/* It has not reached the database, and never will: an attempt that is under way ends without it. */
static void give_up(struct app_slot *s, const char *why, const char *text)
{
	events_often(s->app->events, EVENT_GIVEN_UP, node_now(s->app->node),
		     "an update was given up: %.200s", text);
	s->end = APP_NOT_NOW;
	s->why = why;
	snprintf(s->error.text, sizeof(s->error.text), "%s", text);
	s->error.state[0] = 0;
	tell_not(s);
}

/* --- COMMITS ----------------------------------------------------------------------- */

static bool is_of(const struct sql_error *e, const char *const *classes)
{
	for (; *classes; classes++)
		if (!strncmp(e->state, *classes, 2))
			return true;
	return !e->state[0];
}

/* The connection or the server ends; without an SQLSTATE nobody knows. */
static bool is_cut(const struct sql_error *e)
{
	static const char *const classes[] = { "08", "57", NULL };

	return is_of(e, classes);
}

/* Not for what the statement says: the same may succeed later (serialization, locks, room). */
static bool is_for_now(const struct sql_error *e)
{
	static const char *const classes[] = { "08", "40", "53", "55", "57", NULL };

	return is_of(e, classes);
}

static int run_update(struct job *j, struct sql *s, struct sql_error *e)
{
	struct app_work *w = (struct app_work *)j;
	const struct sql_ops *sql = w->slot->app->conf->sql;

	w->transaction = 0;
	w->end = sql->update(s, &w->update, &w->transaction, w->rows, e);
	if (w->end == SQL_UNKNOWN || (w->end == SQL_FAILED && is_cut(e)))
		return -ENOTCONN;
	return 0;
}

static void fail(struct app_slot *s, enum app_end end, const char *why, const struct sql_error *e)
{
	s->end = end;
	s->why = why;
	s->error = *e;
	node_ask(s->app->node, &s->update, UPDATE_FAILED, NULL);
}

static void look_again(struct app_slot *s)
{
	s->need = s->app->member.begun + 1;
	s->attempts++;
	s->app->updates.again++;
}

static void updated(struct app_slot *s, struct app_work *w)
{
	struct node *n = s->app->node;

	switch (w->end) {
	case SQL_COMMITTED:
		s->transaction = w->transaction;
		s->rows = w->update.statements;
		node_ask(n, &s->update, UPDATE_COMMITTED, &w->transaction);
		break;
	case SQL_CHANGED:
		look_again(s);
		node_ask(n, &s->update, UPDATE_CHANGED, NULL);
		break;
	case SQL_FAILED:
		if (is_for_now(&w->job.e))
			fail(s, APP_NOT_NOW, "database", &w->job.e);
		else
			fail(s, APP_REFUSED, "refused", &w->job.e);
		break;
	default:
		s->app->updates.doubts++;
		events_often(s->app->events, EVENT_DOUBT, node_now(n),
			     "it is not known whether an update has committed: it is looked for; "
			     "%.150s",
			     w->job.e.text);
		s->retry = (struct mono){ 0 };
		s->retry_ns = RETRY_MIN_NS;
		node_ask(n, &s->update, UPDATE_UNKNOWN, NULL);
	}
}

static void update_done(struct job *j)
{
	struct app_work *w = (struct app_work *)j;
	struct app_slot *s = w->slot;

	if (s->app->member.is_leaving)
		return;
	s->works = false;
	if (j->ran)
		updated(s, w);
	else
		fail(s, APP_NOT_NOW, "database", &j->e);
}

static void commit(struct app_slot *s)
{
	static const struct sql_error no_thread = { .text = "there is no thread for the database: "
							    "ask again" };
	struct app_work *w = &s->work;

	if (s->works)
		return;
	if (!s->change) { /* given up */
		node_ask(s->app->node, &s->update, UPDATE_FAILED, NULL);
		return;
	}
	w->job = (struct job){ .run = run_update, .done = update_done };
	w->update = (struct sql_update){ .slot = s->number,
					 .name = update_name(&s->update),
					 .epoch = update_epoch(&s->update),
					 .statements = s->change->statements,
					 .statement = s->change->statement };
	s->works = jobs_start(s->app->jobs, LANE_SLOT + s->number, &w->job);
	if (!s->works)
		fail(s, APP_NOT_NOW, "busy", &no_thread);
}

/* --- DOUBT: R6 d ------------------------------------------------------------------- */

static int run_resolve(struct job *j, struct sql *s, struct sql_error *e)
{
	struct app_work *w = (struct app_work *)j;

	w->transaction = 0;
	return w->slot->app->conf->sql->resolve(s, w->update.slot, w->update.name, &w->transaction,
						e);
}

static void resolve_done(struct job *j)
{
	struct app_work *w = (struct app_work *)j;
	struct app_slot *s = w->slot;
	struct app *a = s->app;

	if (a->member.is_leaving)
		return;
	s->works = false;
	if (j->rc) {
		s->retry = mono_add(node_now(a->node), s->retry_ns);
		s->retry_ns = s->retry_ns < RETRY_MAX_NS / 2 ? 2 * s->retry_ns : RETRY_MAX_NS;
		return;
	}
	if (!w->transaction) {
		look_again(s);
		node_ask(a->node, &s->update, UPDATE_CHANGED, NULL);
		return;
	}
	s->transaction = w->transaction;
	s->rows = 0; /* the answer that had them is lost */
	node_ask(a->node, &s->update, UPDATE_COMMITTED, &w->transaction);
}

static void resolve(struct app_slot *s)
{
	struct job *j = &s->work.job;

	if (s->works || node_now(s->app->node).ns < s->retry.ns)
		return;
	*j = (struct job){ .run = run_resolve, .done = resolve_done, .anew = true };
	s->works = jobs_start(s->app->jobs, LANE_SLOT + s->number, j);
}

/* --- LOOKS ------------------------------------------------------------------------- */

/* The newest look. One that did not find this host a member is none by which to begin. */
static void give_look(struct app_slot *s)
{
	const struct app_member *m = &s->app->member;
	struct update_look l = {
		.epoch = m->look.epoch,
		.fence = m->look.fence[s->app->self],
		.rows = m->look.rows,
		.members = m->look.members,
		.generation = m->look.generation,
	};

	if (!m->confirmed)
		hostset_set(&l.members, s->app->self, false);
	node_ask(s->app->node, &s->update, UPDATE_LOOKED, &l);
}

static bool may_begin(const struct app_slot *s)
{
	const struct app_member *m = &s->app->member;

	return m->confirmed && m->number >= s->need;
}

void updates_looked(struct app *a)
{
	for (uint32_t i = 0; i < a->updates.slots; i++) {
		struct app_slot *s = &a->updates.slot[i];
		enum update_state state = update_state(&s->update);

		if (state == UPDATE_ACKS || state == UPDATE_TELLS ||
		    (state == UPDATE_LOOKS && may_begin(s)))
			give_look(s);
	}
}

/* --- slots ------------------------------------------------------------------------- */

static bool is_free(const struct app_slot *s)
{
	return update_state(&s->update) == UPDATE_IDLE && !s->change;
}

static void begin(struct app_slot *s, struct app_change *c)
{
	const struct update_wish w = { .tags = c->tags, .tag = c->tag };

	s->change = c;
	s->began = node_now(s->app->node);
	s->attempts = 1;
	s->need = 0;
	s->transaction = 0;
	s->rows = 0;
	s->end = APP_NOT_NOW;
	s->why = "";
	memset(&s->error, 0, sizeof(s->error));
	node_ask(s->app->node, &s->update, UPDATE_BEGIN, &w);
}

static struct app_change *take_waiting(struct app_updates *u)
{
	struct app_change *c = u->first;

	if (!c)
		return NULL;
	u->first = c->next;
	if (!u->first)
		u->last = NULL;
	c->next = NULL;
	u->waiting--;
	u->waiting_bytes -= c->bytes;
	return c;
}

/* Its steps are over for now: what its state wants of the database. */
static void slot_after(void *owner)
{
	struct app_slot *s = owner;
	struct hostset missing = update_missing(&s->update);
	struct app_change *c;

	/* `detect` counts from now, and not from the next tick; and for each update anew. */
	member_missing(s->app, s->number, &missing);
	switch (update_state(&s->update)) {
	case UPDATE_LOOKS:
		if (may_begin(s))
			give_look(s);
		else if (s->need > s->app->member.number)
			member_want_look(s->app);
		break;
	case UPDATE_ACKS:
		s->update.conf.check_ns = mono_sub(node_now(s->app->node), s->began) < BRISK_NS
						  ? CHECK_NS
						  : CHECK_SLOW_NS;
		break;
	case UPDATE_COMMITS:
		commit(s);
		break;
	case UPDATE_DOUBT:
		resolve(s);
		break;
	case UPDATE_TELLS:
		tell_client(s);
		break;
	case UPDATE_IDLE:
		tell_client(s);
		c = is_free(s) ? take_waiting(&s->app->updates) : NULL;
		if (c)
			begin(s, c);
	}
}

static int64_t patience(const struct app *a)
{
	const struct cluster_cache *c = &a->conf->cluster.cache;
	int64_t ns = 4 * (c->detect_ns + 2 * c->fresh_ns);

	return ns > PATIENCE_MIN_NS ? ns : PATIENCE_MIN_NS;
}

/* What an update waits for, for its client. */
static const char *what_is_missing(const struct app_slot *s, char *text, size_t size)
{
	struct hostset missing = update_missing(&s->update);
	uint16_t h = hostset_next(&missing, 0);

	if (h)
		snprintf(text, size,
			 "host %.64s does not acknowledge: see resex update-list, and ask again",
			 app_host_name(s->app, h));
	else
		snprintf(text, size, "this host is no member of the cache now: %.150s",
			 app_trouble(s->app));
	return text;
}

void updates_tick(struct app *a, struct mono now)
{
	struct app_updates *u = &a->updates;
	char text[256];

	for (uint32_t i = 0; i < u->slots; i++) {
		struct app_slot *s = &u->slot[i];
		enum update_state state = update_state(&s->update);

		if (state == UPDATE_DOUBT)
			resolve(s);
		else if ((state == UPDATE_LOOKS || state == UPDATE_ACKS) && s->change &&
			 mono_sub(now, s->change->asked) > u->patience_ns)
			give_up(s, "waits", what_is_missing(s, text, sizeof(text)));
	}
	while (u->first && mono_sub(now, u->first->asked) > u->patience_ns) {
		struct app_change *c = take_waiting(u);

		u->not_now++;
		app_refuse(c->done, c->arg, APP_NOT_NOW, "busy",
			   "all slots are taken: see resex update-list, and ask again");
		free(c);
	}
}

/* --- requests ---------------------------------------------------------------------- */

static void start_or_wait(struct app *a, struct app_change *c)
{
	struct app_updates *u = &a->updates;

	for (uint32_t i = 0; !u->first && i < u->slots; i++)
		if (is_free(&u->slot[i])) {
			begin(&u->slot[i], c);
			return;
		}
	if (u->last)
		u->last->next = c;
	else
		u->first = c;
	u->last = c;
	u->waiting++;
	u->waiting_bytes += c->bytes;
}

/* Why an update cannot be taken now; NULL: it can. */
static const char *why_not(const struct app *a, size_t bytes)
{
	const struct app_updates *u = &a->updates;

	if (!a->member.is_in)
		return a->member.join_trouble.text[0] || a->member.look_trouble.text[0]
			       ? app_trouble(a)
			       : "this host is no member of the cache yet: ask again";
	if (u->waiting == APP_WAITING_MAX || u->waiting_bytes + bytes > APP_WAITING_BYTES)
		return "too many updates wait: ask again, or raise \"slots\" in cluster.json";
	return NULL;
}

static void ask_change(struct app *a, uint32_t tags, const uint64_t *tag, uint32_t statements,
		       const struct sql_statement *statement, app_done *done, void *arg)
{
	size_t bytes, params;
	const char *bad = check_statements(statements, statement, &bytes, &params);
	const char *not = bad ? NULL : why_not(a, bytes);
	struct app_change *c;

	if (bad) {
		app_refuse(done, arg, APP_BAD, "statements", bad);
		return;
	}
	if (not ) {
		a->updates.not_now++;
		app_refuse(done, arg, APP_NOT_NOW, a->member.is_in ? "busy" : "out", not );
		return;
	}
	c = copy_change(statements, statement, bytes, params);
	if (!c) {
		app_refuse(done, arg, APP_NOT_NOW, "memory", "there is no memory: ask again");
		return;
	}
	c->done = done;
	c->arg = arg;
	c->asked = node_now(a->node);
	c->tags = tags;
	memcpy(c->tag, tag, tags * sizeof(*tag));
	start_or_wait(a, c);
}

void app_update(struct app *a, uint32_t tags, const char *const *tag, uint32_t statements,
		const struct sql_statement *statement, app_done *done, void *arg)
{
	uint64_t hash[UPDATE_TAGS_MAX];
	const char *bad = app_hash_tags(a, tags, tag, UPDATE_TAGS_MAX, hash);

	if (!bad && !tags)
		bad = "an update has no tags: give those of the pages that it changes";
	if (bad)
		app_refuse(done, arg, APP_BAD, "tags", bad);
	else
		ask_change(a, tags, hash, statements, statement, done, arg);
}

/* An update without statements: what depends on the tag moves; the database stays as it is. */
void app_invalidate(struct app *a, const char *tag, app_done *done, void *arg)
{
	uint64_t hash = CACHE_TAG_ALL;
	const char *bad = tag ? app_hash_tags(a, 1, &tag, 1, &hash) : NULL;

	if (bad)
		app_refuse(done, arg, APP_BAD, "tags", bad);
	else
		ask_change(a, 1, &hash, 0, NULL, done, arg);
}

void app_invalidate_page(struct app *a, uint64_t key, app_done *done, void *arg)
{
	uint32_t words = (uint32_t)a->conf->cluster.cache.words;
	const uint64_t tag = cache_tag_word(place_word(key, words));

	ask_change(a, 1, &tag, 0, NULL, done, arg);
}

/* --- opening and closing ----------------------------------------------------------- */

static void step_update(void *state, const struct step_event *ev, struct mono now,
			struct step_out *out)
{
	update_step(state, ev, now, out);
}

static struct mono due_update(const void *state)
{
	return update_due(state);
}

static int open_slot(struct app *a, struct app_slot *s, uint16_t number)
{
	const struct cluster_conf *cluster = &a->conf->cluster;
	struct update_conf c = {
		.self = a->self,
		.slot = number,
		.tag = node_tags(a->node, UPDATE_STEP_TAGS),
		.acks = region_cache_ack_offset(number, 1),
		.check_ns = CHECK_NS,
		.wait_ns = fresh_wait_ns(cluster->cache.fresh_ns, (uint32_t)cluster->drift),
	};
	const struct node_user u = { .state = &s->update,
				     .step = step_update,
				     .due = due_update,
				     .after = slot_after,
				     .owner = s,
				     .tag = c.tag,
				     .tags = UPDATE_STEP_TAGS };

	s->app = a;
	s->number = number;
	s->work.slot = s;
	update_init(&s->update, &c);
	return c.tag ? node_add(a->node, &u) : -ENOSPC;
}

int updates_open(struct app *a, struct conf_error *e)
{
	struct app_updates *u = &a->updates;
	int rc = 0;

	u->slots = (uint32_t)a->conf->cluster.cache.slots;
	u->patience_ns = patience(a);
	for (uint32_t i = 0; !rc && i < u->slots; i++)
		rc = open_slot(a, &u->slot[i], (uint16_t)i);
	if (rc)
		conf_error_set(e, RESEX_FAILURE, "no memory for %u slots of updates", u->slots);
	return rc;
}

void updates_close(struct app *a)
{
	struct app_change *c;

	while ((c = take_waiting(&a->updates)))
		free(c);
	for (uint32_t i = 0; i < a->updates.slots; i++)
		free(a->updates.slot[i].change);
}
