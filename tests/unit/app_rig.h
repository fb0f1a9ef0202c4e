/* SPDX-License-Identifier: GPL-2.0-or-later */
/* app_rig: application servers of one process, over "shm" and the fake database. */
#ifndef RESEX_TESTS_APP_RIG_H
#define RESEX_TESTS_APP_RIG_H

#include "src/cached/app_priv.h"
#include "tests/fakes/fake_sql.h"
#include "tests/unit/cached_rig.h"

/*
 * detect: of most tests so long that nobody is removed also on a machine that is busy; of others so
 * short that it does not take long.
 */
#define PATIENT (20 * NS_PER_S)
#define QUICK	(200 * NS_PER_MS)

struct rig {
	struct fake_db db;
	struct cached_hosts *all;
	struct app *app[CACHED_HOSTS + 1]; /* from 1 */
	const struct sql_ops *sql;
	char where[128];
};

/* How a request ended. Its texts are copies. */
struct answer {
	uint32_t times;
	struct app_result r;
	char why[64], text[512], sqlstate[8];
	uint64_t rows[SQL_STATEMENTS_MAX];
};

static inline void answered(void *arg, const struct app_result *r)
{
	struct answer *a = arg;

	a->times++;
	a->r = *r;
	snprintf(a->why, sizeof(a->why), "%s", r->why);
	snprintf(a->text, sizeof(a->text), "%s", r->text);
	snprintf(a->sqlstate, sizeof(a->sqlstate), "%s", r->sqlstate);
	for (uint32_t i = 0; i < r->statements; i++)
		a->rows[i] = r->rows[i];
}

static inline void app_start(struct rig *r, uint16_t n)
{
	struct cached_host *h = r->all->host[n];
	struct conf_error e = { 0 };

	h->conf.sql = r->sql;
	strcpy(h->conf.sql_where, r->where);
	if (cached_open(r->all, n, &e) ||
	    app_open(&r->app[n], h->node, &h->conf, h->base, &r->all->log, &e))
		fail_msg("%s", e.text);
}

/* A clean end, or, with kill, one without farewell. */
static inline void app_stop(struct rig *r, uint16_t n, bool kill)
{
	if (r->app[n] && kill)
		fake_down(&r->db, n, true);
	app_close(r->app[n]);
	r->app[n] = NULL;
	cached_close(r->all, n);
	if (kill)
		fake_down(&r->db, n, false);
}

/* It is a member, and its newest look has seen all joins: no update will be made anew. */
static inline bool app_in(struct rig *r, uint16_t n)
{
	const struct app_member *m = &r->app[n]->member;

	if (r->sql == &fake_sql && m->look.epoch != fake_epoch(&r->db))
		return false;
	return m->is_in && m->confirmed;
}

static inline bool all_in(struct rig *r, const char *roles)
{
	bool in = true;

	for (uint16_t n = 1; in && n <= strlen(roles); n++)
		in = app_in(r, n);
	for (uint16_t n = 1; in && n <= strlen(roles); n++)
		for (uint16_t k = 1; in && k <= strlen(roles); k++)
			in = node_link(r->all->host[n]->node, k) != 0;
	return in;
}

static inline struct rig *rig_new(const char *roles)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	fake_db_open(&r->db);
	r->sql = &fake_sql;
	r->all = cached_hosts_new(roles);
	return r;
}

/* Three that are members, and have links to each other. */
static inline struct rig *rig_three(int64_t detect_ns)
{
	struct rig *r = rig_new("aaa");

	for (uint16_t n = 1; n <= CACHED_HOSTS; n++) {
		struct cluster_conf *c = &r->all->host[n]->conf.cluster;

		c->cache.detect_ns = detect_ns;
		c->timeout_ns = PATIENT; /* of a READ, and of an answer */
		app_start(r, n);
	}
	CACHED_UNTIL(r->all, all_in(r, "aaa"));
	return r;
}

static inline void rig_free(struct rig *r)
{
	for (uint16_t n = 1; n <= CACHED_HOSTS; n++)
		if (r->all->host[n])
			app_stop(r, n, true);
	cached_hosts_free(r->all);
	fake_db_close(&r->db);
	free(r);
}

static inline uint64_t word_of(const struct rig *r, uint16_t n, uint32_t word)
{
	const char *versions = node_part(r->all->host[n]->node, TRANSPORT_VERSIONS);

	return *(const uint64_t *)(versions + region_cache_word_offset(word));
}

static inline uint64_t beat_of(const struct rig *r, uint16_t n)
{
	return *(const uint64_t *)node_part(r->all->host[n]->node, TRANSPORT_VERSIONS);
}

static inline struct answer begin_fill(struct rig *r, uint16_t n, uint16_t home, uint32_t word)
{
	struct answer a = { 0 };

	app_fill_begin(r->app[n], home, word, answered, &a);
	CACHED_UNTIL(r->all, a.times);
	return a;
}

/* tag: one, or two with a comma between; "": none. */
static inline struct answer end_fill(struct rig *r, uint16_t n, uint64_t id, const char *tag)
{
	struct answer a = { 0 };
	char copy[64], *second;
	const char *tags[2] = { copy };

	snprintf(copy, sizeof(copy), "%s", tag);
	second = strchr(copy, ',');
	if (second) {
		*second = 0;
		tags[1] = second + 1;
	}
	app_fill_end(r->app[n], id, second ? 2 : copy[0] != 0, tags, NULL, answered, &a);
	CACHED_UNTIL(r->all, a.times);
	return a;
}

/* The page of this word is registered. */
static inline uint64_t fill_page(struct rig *r, uint16_t n, uint16_t home, uint32_t word,
				 const char *tag)
{
	struct answer a = begin_fill(r, n, home, word);

	assert_string_equal(a.why, "");
	a = end_fill(r, n, a.r.id, tag);
	assert_string_equal(a.why, "");
	assert_int_equal(a.r.end, APP_OK);
	assert_true(a.r.version == word_of(r, home, word));
	return a.r.version;
}

/* a is the caller's until its answer. */
static inline void ask_update(struct rig *r, uint16_t n, const char *tag, const char *statement,
			      struct answer *a)
{
	const struct sql_statement s = { .text = statement };

	memset(a, 0, sizeof(*a));
	app_update(r->app[n], 1, &tag, 1, &s, answered, a);
}

static inline struct answer do_update(struct rig *r, uint16_t n, const char *tag,
				      const char *statement)
{
	struct answer a;

	ask_update(r, n, tag, statement, &a);
	CACHED_UNTIL(r->all, a.times);
	return a;
}

static inline bool slots_idle(const struct rig *r, uint16_t n)
{
	for (uint32_t i = 0; i < r->app[n]->updates.slots; i++)
		if (update_state(&r->app[n]->updates.slot[i].update) != UPDATE_IDLE)
			return false;
	return true;
}

#endif
