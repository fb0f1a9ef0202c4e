// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * proxy: requests of the rings -> a place -> a READ that they share -> answers.
 *
 *	ring.c asked -> place_find over the homes that are fresh now -> HIT_ASK -> hit.c
 *	hit.c        -> hit_take -> cached_ring_answer
 *
 *	fresh.c      -> share -> cached_ring_evidence: clients READ by themselves where they can
 *
 * The evidence of each home is a step function of its own (fresh.h), in the background.
 */
#include "src/cached/proxy.h"

#include <errno.h>
#include <stdlib.h>

#include "src/cache/fresh.h"
#include "src/cache/hit.h"
#include "src/cache/place.h"
#include "src/cached/ring.h"

_Static_assert((int)HIT_READS + 2 <= (int)TRANSPORT_DEPTH, "a beat and a question have room");

enum { CHECKS = 8, WHYS = CACHE_RING_BAD + 1 };

/* What the clients of the ring know of a home. */
struct shared {
	struct proxy *p;
	uint16_t host;
	uint32_t link; /* whose memory they have; 0: none */
};

struct proxy {
	struct node *node;
	const struct cached_conf *conf;
	struct mono opened;
	struct fresh fresh[HIT_HOSTS]; /* of each home, by its number */
	const struct fresh *evidence[HIT_HOSTS];
	struct hostset homes; /* of cluster.json */
	struct hit hit;
	void *block;
	struct cached_ring *ring;
	struct shared shared[HIT_HOSTS];
	uint64_t lookups;
	uint64_t by_why[WHYS];
};

/* --- requests ------------------------------------------------------------------------------- */

/* Those that could verify a hit now: the proof is made when its READ has ended (R7 j). */
static struct hostset usable(const struct proxy *p)
{
	struct mono now = node_now(p->node);
	struct hostset s = { { 0 } };

	for (uint16_t h = hostset_next(&p->homes, 0); h; h = hostset_next(&p->homes, h))
		if (fresh_covers(&p->fresh[h], node_link(p->node, h), now))
			hostset_set(&s, h, true);
	return s;
}

static void reply(struct proxy *p, uint64_t id, const struct cached_ring_answer *a)
{
	p->by_why[a->why]++;
	cached_ring_answer(p->ring, id, a);
}

static void asked(void *owner, const struct cached_ring_request *q)
{
	struct proxy *p = owner;
	struct hostset homes = usable(p);
	struct cached_ring_answer no = { .why = CACHE_RING_NO_HOME };
	struct place at;
	struct hit_wish wish = { .id = q->id };

	p->lookups++;
	if (!place_find(&homes, q->key, q->all, (uint32_t)p->conf->cluster.cache.words, &at)) {
		reply(p, q->id, &no);
		return;
	}
	wish.home = at.home;
	wish.word = at.word;
	node_ask(p->node, &p->hit, HIT_ASK, &wish);
}

static void answered(void *owner)
{
	struct proxy *p = owner;
	struct hit_answer a;

	while (hit_take(&p->hit, &a)) {
		const struct cached_ring_answer r = {
			.why = a.why, .version = a.version, .home = a.home, .word = a.word
		};

		reply(p, a.id, &r);
	}
}

/* --- what clients READ themselves ------------------------------------------------------------- */

/*
 * After each step of the evidence. A home that is on another machine has no memory to share: its
 * evidence is there all the same, so that all choose the same homes.
 */
static void share(void *owner)
{
	struct shared *s = owner;
	struct proxy *p = s->p;
	const struct fresh *f = &p->fresh[s->host];
	uint32_t link = !f->cut && f->link == node_link(p->node, s->host) ? f->link : 0;
	int fd;

	if (!p->ring)
		return;
	if (link && link != s->link && !node_share(p->node, s->host, &fd)) {
		s->link = link;
		cached_ring_home(p->ring, s->host, link, fd);
	}
	cached_ring_evidence(p->ring, s->host, link, f->until);
}

static void share_all(struct proxy *p)
{
	for (uint16_t h = hostset_next(&p->homes, 0); h; h = hostset_next(&p->homes, h))
		share(&p->shared[h]);
}

/* --- step functions --------------------------------------------------------------------------- */

static void step_fresh(void *state, const struct step_event *ev, struct mono now,
		       struct step_out *out)
{
	fresh_step(state, ev, now, out);
}

static struct mono due_fresh(const void *state)
{
	return fresh_due(state);
}

static void step_hit(void *state, const struct step_event *ev, struct mono now,
		     struct step_out *out)
{
	hit_step(state, ev, now, out);
}

static struct mono due_hit(const void *state)
{
	return hit_due(state);
}

/*
 * A question once in fresh: what the clocks may drift apart until the next one is little of it. A
 * READ of the beat far more often: the home stamps it once in fresh / 4.
 */
static int add_home(struct proxy *p, uint16_t host)
{
	int64_t fresh_ns = p->conf->cluster.cache.fresh_ns, check_ns = fresh_ns / CHECKS;
	struct fresh_conf c = { .home = host,
				.offset = REGION_CACHE_BEAT,
				.fresh_ns = fresh_ns,
				.check_ns = check_ns > NS_PER_MS ? check_ns : NS_PER_MS,
				.ask_ns = fresh_ns,
				.drift_ppm = (uint32_t)p->conf->cluster.drift };
	struct node_user u = { .state = &p->fresh[host],
			       .step = step_fresh,
			       .due = due_fresh,
			       .after = share,
			       .owner = &p->shared[host],
			       .tags = FRESH_TAGS };

	c.tag = u.tag = node_tags(p->node, FRESH_TAGS);
	if (!u.tag)
		return -ENOSPC;
	fresh_init(&p->fresh[host], &c);
	p->shared[host] = (struct shared){ .p = p, .host = host };
	p->evidence[host] = &p->fresh[host];
	hostset_set(&p->homes, host, true);
	return node_add(p->node, &u);
}

/* Each slot of each client has one request at a time: so all find room, and none is refused. */
static int add_hit(struct proxy *p)
{
	struct hit_conf c = { .requests = (uint32_t)(p->conf->ring_slots * p->conf->ring_clients),
			      .words = (uint32_t)p->conf->cluster.cache.words,
			      .offset = REGION_CACHE_WORDS,
			      .timeout_ns = p->conf->timeout_ns,
			      .fresh = p->evidence };
	struct node_user u = { .state = &p->hit,
			       .step = step_hit,
			       .due = due_hit,
			       .after = answered,
			       .owner = p,
			       .tags = HIT_TAGS };
	size_t bytes = hit_bytes(&c);

	c.tag = u.tag = node_tags(p->node, HIT_TAGS);
	if (!u.tag || !bytes)
		return -ENOSPC;
	p->block = malloc(bytes);
	if (!p->block)
		return -ENOMEM;
	hit_init(&p->hit, &c, p->block);
	return node_add(p->node, &u);
}

/* --- the whole ---------------------------------------------------------------------------- */

static int open_steps(struct proxy *p, struct conf_error *e)
{
	const struct cluster_conf *cluster = &p->conf->cluster;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < cluster->caches; i++)
		if (cluster->cached[i].role == CLUSTER_APP)
			rc = add_home(p, (uint16_t)cluster->cached[i].number);
	if (!rc)
		rc = add_hit(p);
	if (rc)
		conf_error_set(
			e, RESEX_FAILURE,
			"no room for the proxy's part (%u application servers, %llu slots of "
			"%llu clients): make \"ring_slots\" or \"ring_clients\" smaller",
			hostset_count(&p->homes), (unsigned long long)p->conf->ring_slots,
			(unsigned long long)p->conf->ring_clients);
	return rc;
}

int proxy_open(struct proxy **out, struct node *n, const struct cached_conf *c,
	       struct event_base *base, struct log *log, struct conf_error *e)
{
	struct cached_ring_conf rc = { .path = c->ring,
				       .group = c->ring_group,
				       .slots = (uint32_t)c->ring_slots,
				       .clients = (uint32_t)c->ring_clients,
				       .words = (uint32_t)c->cluster.cache.words };
	struct proxy *p = calloc(1, sizeof(*p));
	int ret;

	if (!p) {
		conf_error_set(e, RESEX_FAILURE, "no memory for the proxy's part");
		return -ENOMEM;
	}
	p->node = n;
	p->conf = c;
	p->opened = node_now(n);
	ret = open_steps(p, e);
	/* Last: before, nobody could be answered. */
	rc.homes = p->homes;
	if (!ret)
		ret = cached_ring_open(&p->ring, &rc, base, log, asked, p, e);
	if (ret) {
		proxy_close(p);
		return ret;
	}
	share_all(p);
	*out = p;
	return 0;
}

void proxy_close(struct proxy *p)
{
	if (!p)
		return;
	cached_ring_close(p->ring);
	free(p->block);
	free(p);
}

/* --- for people ----------------------------------------------------------------------------- */

static bool put(json_t *o, const char *key, json_t *v)
{
	return !json_object_set_new(o, key, v);
}

/* Some are what a client wrote: JSON has no larger number. */
static bool put_number(json_t *o, const char *key, uint64_t v)
{
	return put(o, key, json_integer(v < INT64_MAX ? (json_int_t)v : INT64_MAX));
}

static json_t *whole(json_t *o, bool good)
{
	if (good)
		return o;
	json_decref(o);
	return NULL;
}

static const char *name_of(const struct proxy *p, uint16_t host)
{
	for (uint32_t i = 0; i < p->conf->cluster.caches; i++)
		if (p->conf->cluster.cached[i].number == host)
			return p->conf->cluster.cached[i].name;
	return "?";
}

static json_t *home(const struct proxy *p, uint16_t host, struct mono now)
{
	int64_t left = mono_sub(p->fresh[host].until, now);
	bool link = node_link(p->node, host) != 0;
	bool fresh = fresh_covers(&p->fresh[host], node_link(p->node, host), now);
	json_t *o = json_object();
	bool good = put_number(o, "host", host) && put(o, "name", json_string(name_of(p, host))) &&
		    put(o, "link", json_boolean(link)) && put(o, "fresh", json_boolean(fresh));

	if (good && fresh)
		good = put_number(o, "fresh_ms", (uint64_t)(left / NS_PER_MS));
	return whole(o, good);
}

static json_t *homes(const struct proxy *p)
{
	struct mono now = node_now(p->node);
	json_t *list = json_array();
	bool good = list != NULL;

	for (uint16_t h = hostset_next(&p->homes, 0); good && h; h = hostset_next(&p->homes, h))
		good = !json_array_append_new(list, home(p, h, now));
	return whole(list, good);
}

static json_t *client(const struct cached_ring_seen *s)
{
	const struct {
		const char *key;
		uint64_t is;
	} figures[] = {
		{ "pid", (uint64_t)s->pid }, { "user", s->uid },
		{ "waiting", s->waiting },   { "asked", s->asked },
		{ "answered", s->answered }, { "left", s->left },
		{ "bad", s->bad },	     { "hits", s->hits },
		{ "misses", s->misses },     { "passes", s->passes },
		{ "stored", s->stored },     { "refused", s->refused },
		{ "direct", s->direct },     { "unoffered", s->unoffered },
	};
	json_t *o = json_object();
	bool good = o != NULL;

	for (size_t i = 0; good && i < sizeof(figures) / sizeof(figures[0]); i++)
		good = put_number(o, figures[i].key, figures[i].is);
	return whole(o, good);
}

static json_t *clients(const struct proxy *p)
{
	struct cached_ring_seen seen[CACHED_RING_CLIENTS_MAX];
	uint32_t n = cached_ring_clients(p->ring, seen);
	json_t *list = json_array();
	bool good = list != NULL;

	for (uint32_t i = 0; good && i < n; i++)
		good = !json_array_append_new(list, client(&seen[i]));
	return whole(list, good);
}

json_t *proxy_info(const struct proxy *p)
{
	struct hostset now = usable(p);
	int64_t up = mono_sub(node_now(p->node), p->opened);
	json_t *o = json_object();
	bool good = put(o, "role", json_string("proxy")) &&
		    put(o, "name", json_string(p->conf->self->name)) &&
		    put_number(o, "host", p->conf->self->number) &&
		    put(o, "cluster", json_string(p->conf->cluster.cluster)) &&
		    put_number(o, "uptime_ms", (uint64_t)(up / NS_PER_MS)) &&
		    put_number(o, "usable", hostset_count(&now)) &&
		    put(o, "ring", json_string(p->conf->ring)) && put(o, "homes", homes(p));

	return whole(o, good);
}

static json_t *not_verified(const struct proxy *p)
{
	static const char *const words[WHYS] = {
		[CACHE_RING_NO_HOME] = "no_home", [CACHE_RING_CLOSED] = "closed",
		[CACHE_RING_STALE] = "stale",	  [CACHE_RING_LOST] = "lost",
		[CACHE_RING_BAD] = "bad",
	};
	json_t *o = json_object();
	bool good = o != NULL;

	for (int i = CACHE_RING_NO_HOME; good && i < WHYS; i++)
		good = put_number(o, words[i], p->by_why[i]);
	return whole(o, good);
}

json_t *proxy_cache(const struct proxy *p)
{
	json_t *o = json_object();
	bool good = put(o, "role", json_string("proxy")) && put_number(o, "lookups", p->lookups) &&
		    put_number(o, "verified", p->by_why[CACHE_RING_VERIFIED]) &&
		    put(o, "not_verified", not_verified(p)) &&
		    put_number(o, "reads", p->hit.reads) &&
		    put_number(o, "words", p->conf->cluster.cache.words) &&
		    put(o, "homes", homes(p)) && put(o, "clients", clients(p)) &&
		    put_number(o, "clients_refused", cached_ring_refused(p->ring));

	return whole(o, good);
}

static json_t *place(const struct proxy *p, const struct place *at)
{
	json_t *o = json_object();
	bool good = put_number(o, "home", at->home) &&
		    put(o, "name", json_string(name_of(p, at->home))) &&
		    put_number(o, "word", at->word);

	return whole(o, good);
}

/* Where its version words are now. null: no home is usable. */
json_t *proxy_show(const struct proxy *p, uint64_t key)
{
	static const char *const keys[] = { "lists", "all" };
	struct hostset now = usable(p);
	json_t *o = json_object();
	bool good = o != NULL;

	for (int all = 0; good && all < 2; all++) {
		struct place at;
		bool is = place_find(&now, key, all, (uint32_t)p->conf->cluster.cache.words, &at);

		good = put(o, keys[all], is ? place(p, &at) : json_null());
	}
	return whole(o, good);
}
