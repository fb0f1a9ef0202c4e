// SPDX-License-Identifier: GPL-2.0-or-later
/* app_show: what people see of an application server, as JSON. It changes nothing. */
#include <string.h>

#include "src/cached/app_priv.h"

/* A value that could not be made, for want of memory, makes the whole one fail. */
static bool put(json_t *o, const char *key, json_t *v)
{
	return !json_object_set_new(o, key, v);
}

static bool put_number(json_t *o, const char *key, uint64_t v)
{
	return put(o, key, json_integer((json_int_t)v));
}

static bool put_text(json_t *o, const char *key, const char *text)
{
	return put(o, key, json_string(text));
}

static json_t *whole(json_t *o, bool good)
{
	if (good)
		return o;
	json_decref(o);
	return NULL;
}

static uint64_t ms_between(struct mono from, struct mono to)
{
	int64_t ns = mono_sub(to, from);

	return ns > 0 ? (uint64_t)(ns / NS_PER_MS) : 0;
}

/* --- info -------------------------------------------------------------------------- */

static json_t *database(const struct app *a, struct mono now)
{
	const struct app_member *m = &a->member;
	json_t *o = json_object();
	bool good = put_text(o, "backend", a->conf->sql->name) &&
		    put(o, "answers", json_boolean(m->looked && !m->look_trouble.text[0])) &&
		    put_text(o, "trouble", m->look_trouble.text);

	if (good && m->looked)
		good = put_number(o, "looked_ms", ms_between(m->looked_at, now)) &&
		       put_number(o, "epoch", m->look.epoch);
	return whole(o, good);
}

static json_t *member(const struct app *a, uint16_t h, struct mono now)
{
	const struct app_member *m = &a->member;
	int64_t age = watch_age(&a->watch, h, now);
	json_t *o = json_object();
	bool good = put_number(o, "host", h) && put_text(o, "name", app_host_name(a, h)) &&
		    put(o, "in", json_boolean(hostset_has(&m->look.members, h))) &&
		    put_number(o, "generation", m->look.generation[h]) &&
		    put(o, "link", json_boolean(node_link(a->node, h) != 0));

	if (good && age != INT64_MAX)
		good = put_number(o, "beat_ms", (uint64_t)(age / NS_PER_MS));
	return whole(o, good);
}

static json_t *members(const struct app *a, struct mono now)
{
	json_t *list = json_array();
	bool good = list != NULL;

	for (uint16_t h = hostset_next(&a->apps, 0); good && h; h = hostset_next(&a->apps, h))
		good = !json_array_append_new(list, member(a, h, now));
	return whole(list, good);
}

json_t *app_info(const struct app *a)
{
	const struct app_member *m = &a->member;
	struct mono now = node_now(a->node);
	json_t *o = json_object();
	bool good = put_text(o, "role", "app") && put_text(o, "name", a->conf->self->name) &&
		    put_number(o, "host", a->self) &&
		    put_text(o, "cluster", a->conf->cluster.cluster) &&
		    put(o, "in", json_boolean(m->is_in)) &&
		    put_number(o, "uptime_ms", ms_between(a->opened, now)) &&
		    put_number(o, "joins", m->joins) && put_number(o, "removals", m->removals) &&
		    put(o, "database", database(a, now)) && put(o, "members", members(a, now));

	if (good && m->is_in)
		good = put_number(o, "generation", m->joined.generation);
	return whole(o, good);
}

/* --- cache ------------------------------------------------------------------------- */

static json_t *counts(const uint64_t *n, const char *const *words, int from, int to)
{
	json_t *o = json_object();
	bool good = o != NULL;

	for (int i = from; good && i < to; i++)
		good = !n[i] || put_number(o, words[i], n[i]);
	return whole(o, good);
}

static json_t *home(const struct app *a)
{
	const struct home *h = &a->home;
	json_t *o = json_object();
	bool good =
		put(o, "open", json_boolean(h->state == HOME_OPEN)) &&
		put_number(o, "words", h->conf.words) &&
		put_number(o, "listings", h->conf.listings) &&
		put_number(o, "listings_used", h->conf.listings - h->frees) &&
		put_number(o, "pending", h->actives) && put_number(o, "ended", h->ended) &&
		put_number(o, "log", h->conf.log) && put_number(o, "log_used", h->kept) &&
		put_number(o, "bad_messages", h->refused) && put_number(o, "evicted", a->evicted) &&
		put_number(o, "registered", a->registered[HOME_REGISTERED]) &&
		put(o, "refused", counts(a->registered, app_refusal_words, HOME_BAD, APP_REFUSALS));

	return whole(o, good);
}

/* Those that homes refused, by why; and those that ended for other reasons. */
static json_t *fills(const struct app *a)
{
	const struct app_fills *p = &a->fills;
	json_t *o = json_object();
	bool good =
		put_number(o, "begun", p->begun) &&
		put_number(o, "registered", p->results[FILL_REGISTERED]) &&
		put(o, "refused", counts(p->refusals, app_refusal_words, HOME_BAD, APP_REFUSALS)) &&
		put(o, "failed", counts(p->results, app_result_words, FILL_CLOSED, APP_RESULTS));

	return whole(o, good);
}

static json_t *updates(const struct app *a)
{
	const struct app_updates *u = &a->updates;
	json_t *o = json_object();
	bool good = put_number(o, "slots", u->slots) && put_number(o, "waiting", u->waiting) &&
		    put_number(o, "done", u->done) && put_number(o, "refused", u->refused) &&
		    put_number(o, "not_now", u->not_now) && put_number(o, "again", u->again) &&
		    put_number(o, "doubts", u->doubts);

	return whole(o, good);
}

json_t *app_cache(const struct app *a)
{
	json_t *o = json_object();
	bool good = put_text(o, "role", "app") && put(o, "home", home(a)) &&
		    put(o, "fills", fills(a)) && put(o, "updates", updates(a));

	return whole(o, good);
}

/* --- updates ----------------------------------------------------------------------- */

static json_t *missing(const struct app *a, const struct app_slot *s)
{
	struct hostset set = update_missing(&s->update);
	json_t *list = json_array();
	bool good = list != NULL;

	for (uint16_t h = hostset_next(&set, 0); good && h; h = hostset_next(&set, h))
		good = !json_array_append_new(list, json_string(app_host_name(a, h)));
	return whole(list, good);
}

static json_t *own_update(const struct app *a, const struct app_slot *s, struct mono now)
{
	static const char *const states[] = {
		[UPDATE_IDLE] = "idle",	      [UPDATE_LOOKS] = "looks", [UPDATE_ACKS] = "acks",
		[UPDATE_COMMITS] = "commits", [UPDATE_DOUBT] = "doubt", [UPDATE_TELLS] = "tells",
	};
	json_t *o = json_object();
	bool good = put_text(o, "updater", app_host_name(a, a->self)) &&
		    put_number(o, "slot", s->number) &&
		    put_text(o, "state", states[update_state(&s->update)]) &&
		    put_number(o, "since_ms", ms_between(s->began, now)) &&
		    put_number(o, "attempts", s->attempts) && put(o, "missing", missing(a, s));

	return whole(o, good);
}

/* Of another host: it is pending here, which says nothing of the acknowledgements there. */
static json_t *others_update(const struct app *a, const struct home_pending *p, struct mono now)
{
	json_t *o = json_object();
	bool good = put_text(o, "updater", app_host_name(a, p->member)) &&
		    put_number(o, "slot", p->slot) && put_text(o, "state", "pending") &&
		    put_number(o, "since_ms", ms_between(p->since, now));

	return whole(o, good);
}

json_t *app_updates(const struct app *a)
{
	struct mono now = node_now(a->node);
	json_t *list = json_array();
	bool good = list != NULL;

	for (uint32_t i = 0; good && i < a->updates.slots; i++) {
		const struct app_slot *s = &a->updates.slot[i];

		if (update_state(&s->update) != UPDATE_IDLE)
			good = !json_array_append_new(list, own_update(a, s, now));
	}
	for (uint32_t i = 0; good && i < home_pendings(&a->home); i++) {
		struct home_pending p = home_pending(&a->home, i);

		if (p.member != a->self)
			good = !json_array_append_new(list, others_update(a, &p, now));
	}
	return whole(list, good);
}

/* --- show -------------------------------------------------------------------------- */

json_t *app_show(const struct app *a, const char *tag)
{
	uint32_t word[APP_SHOWN_MAX], n = 0;
	json_t *o = json_object(), *list = json_array();
	bool good = o && list;

	if (tag_good(tag))
		n = home_listed(&a->home, tag_hash(&a->tags, tag), word, APP_SHOWN_MAX);
	for (uint32_t i = 0; good && i < n; i++)
		good = !json_array_append_new(list, json_integer(word[i]));
	/* The list is the object's then, also when that fails. */
	good = put_number(o, "home", a->self) && put(o, "words", list) && good;
	return whole(o, good);
}
