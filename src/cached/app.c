// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * app: one application server of the cache: opens its parts, gives them the time, and answers what
 * other hosts ask of it as a home.
 */
#include "src/cached/app_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/shared/region.h"

/* Ticks in `detect`, at least: recover.h takes a longer silence for a hang of this host. */
enum { TICKS = 8 };

#define TICK_MIN_NS   NS_PER_MS
#define HOME_CHECK_NS (10 * NS_PER_MS)

/* --- what other hosts ask ---------------------------------------------------------- */

/* Makes room for one more list, but not at the cost of this word's: R3 a. */
static void make_room(struct app *a, uint32_t word)
{
	uint32_t words = a->home.conf.words;

	events_often(a->events, EVENT_FULL, node_now(a->node),
		     "there is no room for the tags of all pages: some pages are dropped; raise "
		     "\"listings\"");
	if (a->home.frees >= HOME_FILL_TAGS_MAX) { /* this list alone is too long */
		home_evict(&a->home, word);
		a->evicted++;
		return;
	}
	for (uint32_t i = 0; i < words && a->home.frees < HOME_FILL_TAGS_MAX; i++) {
		a->hand = a->hand + 1 < words ? a->hand + 1 : 0;
		if (a->hand == word || !a->home.list[a->hand])
			continue;
		home_evict(&a->home, a->hand);
		a->evicted++;
	}
}

static bool answer_fill(struct app *a, const struct step_event *ev, struct home_answer *answer)
{
	struct home_request q;

	if (!home_reply(&a->home, ev, answer))
		return false;
	if (answer->refusal == HOME_FULL) {
		/* It is one: home_reply has checked its length, and the word. */
		memcpy(&q, ev->message, offsetof(struct home_request, list));
		make_room(a, q.word);
		home_reply(&a->home, ev, answer);
	}
	if (answer->refusal < APP_REFUSALS)
		a->registered[answer->refusal]++;
	return true;
}

static void on_message(void *owner, const struct step_event *ev, struct mono now)
{
	struct app *a = owner;
	struct home_answer answer;
	struct fresh_answer clock;

	member_heard(a, ev->host, now);
	if (fresh_reply(ev->message, ev->len, now, &clock))
		node_send(a->node, ev->host, &clock, sizeof(clock));
	else if (answer_fill(a, ev, &answer))
		node_send(a->node, ev->host, &answer, sizeof(answer));
}

/* --- the clock's ticks ------------------------------------------------------------- */

static void tick_in(struct app *a, int64_t ns)
{
	struct timeval tv = { .tv_sec = ns / NS_PER_S, .tv_usec = ns % NS_PER_S / NS_PER_US };

	evtimer_add(a->tick, &tv);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct app *a = arg;
	struct mono now = node_now(a->node);
	int64_t most = a->conf->cluster.cache.detect_ns / TICKS, ns;

	(void)fd;
	(void)what;
	fills_tick(a, now);
	updates_tick(a, now);
	member_tick(a, now);
	ns = mono_sub(member_due(a), node_now(a->node));
	if (ns > most)
		ns = most;
	tick_in(a, ns > TICK_MIN_NS ? ns : TICK_MIN_NS);
}

/* --- step functions ---------------------------------------------------------------- */

static void step_home(void *state, const struct step_event *ev, struct mono now,
		      struct step_out *out)
{
	home_step(state, ev, now, out);
}

static struct mono due_home(const void *state)
{
	return home_due(state);
}

static void step_watch(void *state, const struct step_event *ev, struct mono now,
		       struct step_out *out)
{
	watch_step(state, ev, now, out);
}

static struct mono due_watch(const void *state)
{
	return watch_due(state);
}

static int open_home(struct app *a, struct conf_error *e)
{
	const struct cluster_cache *cache = &a->conf->cluster.cache;
	char *versions = node_part(a->node, TRANSPORT_VERSIONS);
	struct home_conf c = {
		.self = a->self,
		.slots = (uint16_t)cache->slots,
		.words = (uint32_t)cache->words,
		.listings = (uint32_t)a->conf->listings,
		.log = (uint32_t)a->conf->log,
		.acks = REGION_CACHE_ACKS,
		.stride = REGION_CACHE_ACKS_STRIDE,
		.check_ns = HOME_CHECK_NS,
		.word = (uint64_t *)(versions + REGION_CACHE_WORDS),
		.log_word = (uint64_t *)(versions + REGION_CACHE_LOG),
	};
	struct node_user u = { .state = &a->home, .step = step_home, .due = due_home };
	size_t bytes;

	for (uint16_t h = hostset_next(&a->apps, 0); h; h = hostset_next(&a->apps, h))
		c.members = h;
	u.tags = (c.members + 1u) * c.slots;
	u.tag = c.tag = node_tags(a->node, u.tags);
	bytes = home_bytes(&c);
	a->home_block = bytes ? malloc(bytes) : NULL;
	if (!a->home_block || !home_init(&a->home, &c, a->home_block) || node_add(a->node, &u)) {
		conf_error_set(e, RESEX_FAILURE,
			       "no memory for %u listings and a log of %u: make \"listings\" or "
			       "\"log\" smaller",
			       c.listings, c.log);
		return -ENOMEM;
	}
	a->member.beat_word = (uint64_t *)(versions + REGION_CACHE_BEAT);
	return 0;
}

static int open_watch(struct app *a)
{
	struct watch_conf c = { .hosts = a->apps,
				.offset = REGION_CACHE_BEAT,
				.check_ns = a->conf->cluster.cache.fresh_ns };
	struct node_user u = {
		.state = &a->watch, .step = step_watch, .due = due_watch, .tags = WATCH_TAGS
	};

	u.tag = c.tag = node_tags(a->node, WATCH_TAGS);
	watch_init(&a->watch, &c);
	return node_add(a->node, &u);
}

/* --- opening and closing ----------------------------------------------------------- */

static int open_jobs(struct app *a)
{
	const struct jobs_conf c = {
		.sql = a->conf->sql,
		.to = { .where = a->conf->sql_where,
			.self = a->self,
			.timeout_ns = a->conf->sql_timeout_ns,
			/* Else a member that hangs delays writes longer than it takes to notice. */
			.hang_ns = a->conf->cluster.cache.detect_ns },
		.lanes = LANE_SLOT + (uint32_t)a->conf->cluster.cache.slots,
		.backoff_min_ns = 20 * NS_PER_MS,
		.backoff_max_ns = 2 * NS_PER_S,
	};

	static_assert((int)LANE_SLOT + (int)APP_SLOTS_MAX <= (int)JOBS_LANES_MAX, "lanes");
	return jobs_open(&a->jobs, &c, a->base);
}

static int open_parts(struct app *a, struct conf_error *e)
{
	int rc = open_home(a, e);

	if (rc)
		return rc;
	a->tick = evtimer_new(a->base, on_tick, a);
	rc = a->tick ? open_watch(a) : -ENOMEM;
	if (!rc)
		rc = open_jobs(a);
	if (rc) {
		conf_error_set(e, RESEX_FAILURE, "no memory for the application server's part");
		return rc;
	}
	rc = updates_open(a, e);
	if (!rc)
		rc = fills_open(a, e);
	if (!rc)
		rc = member_open(a, e);
	return rc;
}

static void free_parts(struct app *a)
{
	jobs_close(a->jobs);
	if (a->tick)
		event_free(a->tick);
	updates_close(a);
	fills_close(a);
	pthread_mutex_destroy(&a->member.floors_lock);
	explicit_bzero(&a->tags, sizeof(a->tags));
	free(a->home_block);
	free(a);
}

int app_open(struct app **out, struct node *n, const struct cached_conf *c, struct event_base *base,
	     struct log *log, struct conf_error *e)
{
	struct app *a = calloc(1, sizeof(*a));
	int rc;

	if (!a) {
		conf_error_set(e, RESEX_FAILURE, "no memory for the application server's part");
		return -ENOMEM;
	}
	a->node = n;
	a->conf = c;
	a->base = base;
	a->log = log;
	a->self = (uint16_t)c->self->number;
	a->opened = node_now(n);
	for (uint32_t i = 0; i < c->cluster.caches; i++)
		if (c->cluster.cached[i].role == CLUSTER_APP)
			hostset_set(&a->apps, (uint32_t)c->cluster.cached[i].number, true);
	pthread_mutex_init(&a->member.floors_lock, NULL);
	tag_key_init(&a->tags, c->key.bytes, c->key.len);
	rc = open_parts(a, e);
	if (rc) {
		free_parts(a);
		return rc;
	}
	a->member.looked_hook = updates_looked;
	node_on_message(n, on_message, a);
	tick_in(a, 0);
	*out = a;
	return 0;
}

/* Steps of the node use this memory: it is closed before its loop turns again. */
void app_close(struct app *a)
{
	if (!a)
		return;
	node_on_message(a->node, NULL, NULL);
	member_leave(a);
	free_parts(a);
}
