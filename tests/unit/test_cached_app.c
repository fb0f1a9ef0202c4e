// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * app: three application servers over "shm" and the fake database: they join, register fills, run
 * updates, remove members that are silent, and come back.
 */
#include <errno.h>

#include "tests/unit/app_rig.h"

static const char apps[] = "aaa";

static int setup(void **state)
{
	struct rig *r = rig_new(apps);

	for (uint16_t n = 1; n <= CACHED_HOSTS; n++)
		app_start(r, n);
	CACHED_UNTIL(r->all, all_in(r, apps));
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	rig_free(*state);
	return 0;
}

static uint32_t generation(const struct rig *r, uint16_t n)
{
	return r->app[n]->member.joined.generation;
}

/* --- membership -------------------------------------------------------------------- */

RIG_TEST(join__the_first_time__opens_the_words_and_beats)
{
	struct rig *r = *state;
	struct cached_floors f = { 0 };
	struct conf_error e = { 0 };

	for (uint16_t n = 1; n <= CACHED_HOSTS; n++) {
		assert_true(word_of(r, n, 0) == cache_word(1, 0));
		assert_true(word_of(r, n, 31) == cache_word(1, 0));
		assert_true(fake_row(&r->db, n).in);
		assert_int_equal(cached_floors_load(&f, r->all->host[n]->conf.state_dir, &e), 0);
		assert_int_equal(f.generation, 1);
		assert_int_equal(f.fence, 1);
		assert_true(beat_of(r, n) > 0);
	}
}

RIG_TEST(beat__looks_find_it_a_member__moves)
{
	struct rig *r = *state;
	uint64_t before = beat_of(r, 1);

	CACHED_UNTIL(r->all, beat_of(r, 1) > before);
	assert_true(beat_of(r, 1) <= (uint64_t)node_now(r->all->host[1]->node).ns);
}

/* R7 f, g: a beat is of the time before a look, not of the time of its end. */
RIG_TEST(beat__a_look_hangs__is_of_the_time_before)
{
	struct rig *r = *state;
	uint64_t before, hung;

	fake_hold(&r->db, 1, FAKE_LOOK, true);
	CACHED_UNTIL(r->all, fake_waits(&r->db, 1) == 1);
	before = beat_of(r, 1);
	hung = (uint64_t)node_now(r->all->host[1]->node).ns;
	cached_pass(r->all, 50 * NS_PER_MS);
	assert_true(beat_of(r, 1) == before);
	fake_hold(&r->db, 1, FAKE_LOOK, false);
	CACHED_UNTIL(r->all, beat_of(r, 1) != before);
	assert_true(beat_of(r, 1) <= hung);
}

/* A fence that names no update yet may be lost in a failover: then it is not used again. */
RIG_TEST(join__the_database_took_the_row_back__begins_above_what_is_on_disk)
{
	struct rig *r = *state;

	app_stop(r, 1, false);
	pthread_mutex_lock(&r->db.lock);
	r->db.row[1] = (struct fake_row){ .there = true, .generation = 0, .fence = 0, .raised = 7 };
	pthread_mutex_unlock(&r->db.lock);
	app_start(r, 1);
	CACHED_UNTIL(r->all, app_in(r, 1));
	assert_int_equal(generation(r, 1), 2);
	assert_true(fake_row(&r->db, 1).fence >= 2);
}

/* Without its numbers on disk, a crash and a failover would let the words come back (R3 b). */
RIG_TEST(join__its_numbers_cannot_be_saved__does_not_open)
{
	struct rig *r = *state;
	char blocked[CONFIG_PATH_MAX + 16];
	struct answer a;

	r->all->log.level = 0; /* it says so */
	app_stop(r, 1, false);
	snprintf(blocked, sizeof(blocked), "%s/floors.new", r->all->host[1]->conf.state_dir);
	assert_int_equal(mkdir(blocked, 0700), 0);
	app_start(r, 1);
	CACHED_UNTIL(r->all, strstr(r->app[1]->member.join_trouble.text, "floors"));
	assert_true(word_of(r, 1, 0) == 0 && beat_of(r, 1) == 0);
	ask_update(r, 1, "item/5", "set 1 55", &a);
	assert_string_equal(a.why, "out");
	CACHED_UNTIL(r->all, fake_row(&r->db, 1).in);
	a = do_update(r, 2, "item/5", "set 1 55"); /* it acknowledges */
	assert_int_equal(a.r.end, APP_OK);
	assert_int_equal(rmdir(blocked), 0);
	CACHED_UNTIL(r->all, app_in(r, 1));
	assert_true(word_of(r, 1, 0) == cache_word(generation(r, 1), 0));
}

RIG_TEST(removed__by_another__closes_and_comes_back_as_another_generation)
{
	struct rig *r = *state;
	struct answer a = { 0 };

	r->all->log.level = 0;
	fill_page(r, 1, 1, 5, "item/5");
	app_remove(r->app[2], 1, true, answered, &a);
	CACHED_UNTIL(r->all, a.times);
	assert_int_equal(a.r.end, APP_OK);
	CACHED_UNTIL(r->all, app_in(r, 1) && generation(r, 1) == 2);
	assert_true(word_of(r, 1, 5) == cache_word(2, 0));
	assert_int_equal(r->app[1]->home.frees, 64); /* its lists are forgotten */
	assert_int_equal(r->app[1]->member.joins, 2);
}

RIG_TEST(removed__it_beats__is_refused_without_force)
{
	struct rig *r = *state;
	struct answer a = { 0 };

	CACHED_UNTIL(r->all,
		     watch_age(&r->app[2]->watch, 1, node_now(r->all->host[2]->node)) != INT64_MAX);
	app_remove(r->app[2], 1, false, answered, &a);
	assert_int_equal(a.times, 1);
	assert_int_equal(a.r.end, APP_NOT_NOW);
	assert_string_equal(a.why, "beats");
	assert_true(fake_row(&r->db, 1).in);
	app_remove(r->app[2], 9, true, answered, &a);
	assert_int_equal(a.r.end, APP_BAD);
}

RIG_TEST(timeline__another_database__all_come_back_as_other_generations)
{
	struct rig *r = *state;
	struct answer a;

	r->all->log.level = 0;
	fill_page(r, 2, 1, 5, "item/5");
	a = begin_fill(r, 2, 1, 6);
	fake_failover(&r->db);
	for (uint16_t n = 1; n <= CACHED_HOSTS; n++)
		CACHED_UNTIL(r->all, app_in(r, n) && generation(r, n) == 2);
	assert_true(word_of(r, 1, 5) == cache_word(2, 0));
	a = end_fill(r, 2, a.r.id, "item/6");
	assert_int_equal(a.r.end, APP_REFUSED);
}

RIG_TEST(close__its_row_is_removed_and_its_words_are_closed)
{
	struct rig *r = *state;
	struct app *a = r->app[3];

	member_leave(a);
	assert_true(word_of(r, 3, 0) == 0 && beat_of(r, 3) == 0);
	assert_false(fake_row(&r->db, 3).in);
	/* No update waits for it. */
	assert_int_equal(do_update(r, 1, "item/5", "set 1 5").r.end, APP_OK);
	assert_int_equal(fake_called(&r->db, 1, FAKE_REMOVE), 0);
}

/* --- fills ------------------------------------------------------------------------- */

RIG_TEST(fill__of_any_home__is_registered_under_its_word)
{
	struct rig *r = *state;
	json_t *o;

	assert_true(fill_page(r, 1, 2, 5, "item/5,list") == cache_word(1, 0));
	fill_page(r, 1, 1, 5, "item/5"); /* its own */
	fill_page(r, 3, 2, 6, "list");
	fill_page(r, 3, 2, 0, "");
	o = app_show(r->app[2], "list");
	assert_int_equal(json_array_size(json_object_get(o, "words")), 2);
	json_decref(o);
	assert_int_equal(r->app[2]->registered[HOME_REGISTERED], 3);
	assert_int_equal(r->app[1]->fills.results[FILL_REGISTERED], 2);
}

RIG_TEST(fill__an_update_is_under_way__is_refused)
{
	struct rig *r = *state;
	struct answer fill, update;

	fake_hold(&r->db, 2, FAKE_UPDATE, true);
	ask_update(r, 2, "item/5", "set 1 5", &update);
	CACHED_UNTIL(r->all, fake_waits(&r->db, 2) > 0);
	fill = begin_fill(r, 1, 3, 5);
	fill = end_fill(r, 1, fill.r.id, "item/5");
	assert_int_equal(fill.r.end, APP_REFUSED);
	assert_string_equal(fill.why, "pending");
	fill_page(r, 1, 3, 5, "item/6");
	fake_hold(&r->db, 2, FAKE_UPDATE, false);
	CACHED_UNTIL(r->all, update.times);
	assert_int_equal(update.r.end, APP_OK);
	CACHED_UNTIL(r->all, slots_idle(r, 2)); /* its end was told */
	fill_page(r, 1, 3, 7, "item/5");
}

RIG_TEST(fill__an_update_overtakes_it__is_refused)
{
	struct rig *r = *state;
	struct answer a = begin_fill(r, 1, 3, 5);

	assert_int_equal(do_update(r, 2, "item/5", "set 1 5").r.end, APP_OK);
	CACHED_UNTIL(r->all, slots_idle(r, 2));
	a = end_fill(r, 1, a.r.id, "item/5");
	assert_int_equal(a.r.end, APP_REFUSED);
	assert_string_equal(a.why, "ended");
	assert_int_equal(r->app[1]->fills.refusals[HOME_ENDED], 1);
	assert_int_equal(r->app[3]->registered[HOME_ENDED], 1);
}

RIG_TEST(fill__no_such_id__is_not_found)
{
	struct rig *r = *state;
	struct answer a = begin_fill(r, 1, 2, 5);
	uint64_t id = a.r.id;

	assert_int_equal(end_fill(r, 1, id + 1, "x").r.end, APP_NOT_FOUND);
	assert_int_equal(end_fill(r, 1, id ^ 1ull << 60, "x").r.end, APP_NOT_FOUND);
	assert_int_equal(end_fill(r, 1, UINT64_MAX, "x").r.end, APP_NOT_FOUND);
	assert_int_equal(end_fill(r, 1, id, "x").r.end, APP_OK);
	assert_int_equal(end_fill(r, 1, id, "x").r.end, APP_NOT_FOUND);
	a = begin_fill(r, 1, 2, 5); /* the same place */
	assert_true(a.r.id != id);
	assert_int_equal(app_fill_give_up(r->app[1], a.r.id), APP_OK);
	assert_int_equal(app_fill_give_up(r->app[1], a.r.id), APP_NOT_FOUND);
	assert_int_equal(r->app[1]->fills.n, 1);
}

RIG_TEST(fill__takes_too_long__is_given_up)
{
	struct rig *r = *state;
	struct answer a;

	r->all->host[1]->conf.fill_timeout_ns = 20 * NS_PER_MS;
	a = begin_fill(r, 1, 2, 5);
	assert_int_equal(a.r.end, APP_OK);
	CACHED_UNTIL(r->all, r->app[1]->fills.results[FILL_GIVEN_UP] == 1);
	assert_int_equal(end_fill(r, 1, a.r.id, "x").r.end, APP_NOT_FOUND);
}

RIG_TEST(fill__more_than_a_home_takes_at_a_time__is_busy)
{
	struct rig *r = *state;
	uint64_t id = 0;
	struct answer a;

	for (int i = 0; i < APP_FILLS_HOME; i++) {
		a = begin_fill(r, 1, 2, 5);
		assert_int_equal(a.r.end, APP_OK);
		id = a.r.id;
	}
	a = begin_fill(r, 1, 2, 5);
	assert_int_equal(a.r.end, APP_NOT_NOW);
	assert_string_equal(a.why, "busy");
	assert_int_equal(begin_fill(r, 1, 3, 5).r.end, APP_OK); /* another home */
	assert_int_equal(end_fill(r, 1, id, "x").r.end, APP_OK);
	assert_int_equal(begin_fill(r, 1, 2, 5).r.end, APP_OK);
}

RIG_TEST(fill__no_link_or_no_such_home__is_not_done)
{
	struct rig *r = *state;
	struct answer a;

	a = begin_fill(r, 1, 7, 5);
	assert_int_equal(a.r.end, APP_BAD);
	a = begin_fill(r, 1, 2, 32);
	assert_int_equal(a.r.end, APP_BAD);
	a = begin_fill(r, 1, 3, 5);
	app_stop(r, 3, true);
	CACHED_UNTIL(r->all, !node_link(r->all->host[1]->node, 3));
	assert_string_equal(begin_fill(r, 1, 3, 5).why, "cut");
	app_start(r, 3);
	CACHED_UNTIL(r->all, node_link(r->all->host[1]->node, 3));
	a = end_fill(r, 1, a.r.id, "x"); /* R7 l: its words were read on another link */
	assert_int_equal(a.r.end, APP_NOT_NOW);
	assert_string_equal(a.why, "cut");
}

RIG_TEST(fill__bad_tags_or_a_snapshot_that_cannot_be__are_refused)
{
	struct rig *r = *state;
	struct answer a = begin_fill(r, 1, 2, 5);
	uint64_t id = a.r.id;
	const char *tag = "x";

	assert_int_equal(end_fill(r, 1, id, "a\tb").r.end, APP_BAD);
	app_fill_end(r->app[1], id, 1, &tag, "10:20:", answered, &a); /* not of this database */
	assert_int_equal(a.r.end, APP_BAD);
	app_fill_end(r->app[1], id, HOME_FILL_TAGS_MAX + 1, &tag, NULL, answered, &a);
	assert_int_equal(a.r.end, APP_BAD);
	assert_int_equal(end_fill(r, 1, id, "x").r.end, APP_OK); /* it goes on */
	a = begin_fill(r, 1, 2, 5);
	assert_int_equal(end_fill(r, 1, a.r.id, "").r.end, APP_BAD); /* only word 0 */
	a = begin_fill(r, 1, 2, 0);
	assert_int_equal(end_fill(r, 1, a.r.id, "x").r.end, APP_BAD);
}

/* Its 64 listings are taken: others' lists go, and their words move first. */
RIG_TEST(fill__the_home_is_full__makes_room)
{
	struct rig *r = *state;
	char tags[32];

	for (uint32_t word = 1; word < 32; word++) {
		snprintf(tags, sizeof(tags), "a/%u,b/%u", word, word);
		fill_page(r, 1, 2, word, tags);
	}
	assert_true(r->app[2]->home.frees == 2 && r->app[2]->evicted == 0);
	fill_page(r, 1, 2, 3, "c/1,c/2");
	fill_page(r, 1, 2, 4, "c/1,c/2");
	assert_true(r->app[2]->evicted > 0);
	for (uint32_t word = 1; word < 32; word++)
		assert_true((r->app[2]->home.list[word] == 0) ==
			    (word_of(r, 2, word) == cache_word(1, 1)));
}

/* A word's list has a bound of its own: all its pages are forgotten. */
RIG_TEST(fill__the_list_of_the_word_is_full__begins_it_again)
{
	struct rig *r = *state;
	const char *tag[HOME_FILL_TAGS_MAX];
	char text[HOME_FILL_TAGS_MAX][16];
	struct answer a;

	app_stop(r, 2, false);
	r->all->host[2]->conf.listings = 1024;
	app_start(r, 2);
	CACHED_UNTIL(r->all, all_in(r, apps));
	for (uint32_t i = 0; i < HOME_LIST_MAX / HOME_FILL_TAGS_MAX; i++) {
		for (uint32_t k = 0; k < HOME_FILL_TAGS_MAX; k++) {
			snprintf(text[k], sizeof(text[k]), "t/%u/%u", i, k);
			tag[k] = text[k];
		}
		a = begin_fill(r, 1, 2, 3);
		app_fill_end(r->app[1], a.r.id, HOME_FILL_TAGS_MAX, tag, NULL, answered, &a);
		CACHED_UNTIL(r->all, a.times == 2);
		assert_int_equal(a.r.end, APP_OK);
	}
	a = begin_fill(r, 1, 2, 3);
	a = end_fill(r, 1, a.r.id, "d/1");
	assert_int_equal(a.r.end, APP_REFUSED);
	assert_string_equal(a.why, "moved");
	fill_page(r, 1, 2, 3, "d/1");
	assert_int_equal(r->app[2]->home.frees, 1023);
}

/* --- updates ----------------------------------------------------------------------- */

RIG_TEST(update__a_page_of_its_tag__moves_and_no_other)
{
	struct rig *r = *state;
	struct answer a;

	fill_page(r, 1, 2, 5, "item/5");
	fill_page(r, 1, 2, 6, "item/6");
	fill_page(r, 1, 3, 7, "item/6,item/5");
	a = do_update(r, 3, "item/5", "set 1 55");
	assert_int_equal(a.r.end, APP_OK);
	assert_true(a.r.transaction > 0 && a.r.statements == 1 && a.rows[0] == 1);
	assert_int_equal(fake_place(&r->db, 1), 55);
	assert_true(word_of(r, 2, 5) == cache_word(1, 1));
	assert_true(word_of(r, 2, 6) == cache_word(1, 0));
	assert_true(word_of(r, 3, 7) == cache_word(1, 1));
	assert_true(word_of(r, 2, 0) == cache_word(1, 1)); /* Invalidate All */
}

/* R4: the database has nothing of it before all homes have marked it. */
RIG_TEST(update__a_home_is_silent__nothing_reaches_the_database)
{
	struct rig *r = *state;
	struct answer a;

	r->all->host[3]->stopped = true;
	ask_update(r, 1, "item/5", "set 1 55", &a);
	cached_pass(r->all, 100 * NS_PER_MS); /* less than detect */
	assert_int_equal(a.times, 0);
	assert_int_equal(fake_called(&r->db, 1, FAKE_UPDATE), 0);
	r->all->host[3]->stopped = false;
	CACHED_UNTIL(r->all, a.times);
	assert_int_equal(a.r.end, APP_OK);
	assert_true(fake_row(&r->db, 3).in);
}

RIG_TEST(update__a_home_is_silent_for_detect__is_removed_and_comes_back)
{
	struct rig *r = *state;
	struct answer a;
	struct mono from, to;
	const struct cluster_cache *c = &r->all->host[1]->conf.cluster.cache;

	r->all->log.level = 0;
	fill_page(r, 1, 3, 5, "item/5");
	r->all->host[3]->stopped = true;
	from = node_now(r->all->host[1]->node);
	a = do_update(r, 1, "item/5", "set 1 55");
	to = node_now(r->all->host[1]->node);
	assert_int_equal(a.r.end, APP_OK);
	assert_false(fake_row(&r->db, 3).in);
	assert_int_equal(fake_place(&r->db, 1), 55);
	/* R7 a: it counts as out no earlier than `fresh` after its removal. */
	assert_true(mono_sub(to, from) >= c->detect_ns + c->fresh_ns);
	assert_true(word_of(r, 3, 5) == cache_word(1, 0)); /* it knows nothing yet */
	r->all->host[3]->stopped = false;
	CACHED_UNTIL(r->all, app_in(r, 3) && generation(r, 3) == 2);
	assert_true(word_of(r, 3, 5) == cache_word(2, 0));
	assert_int_equal(do_update(r, 1, "item/5", "set 1 56").r.end, APP_OK);
}

/* The end does not reach a home that has died since: its slot must not wait for ever. */
RIG_TEST(update__a_home_dies_before_its_end__the_slot_is_free_again)
{
	struct rig *r = *state;
	struct answer a;

	r->all->log.level = 0;
	fake_hold(&r->db, 1, FAKE_UPDATE, true);
	ask_update(r, 1, "item/5", "set 1 55", &a);
	CACHED_UNTIL(r->all, fake_called(&r->db, 1, FAKE_UPDATE) == 1);
	app_stop(r, 3, true);
	CACHED_UNTIL(r->all, !node_link(r->all->host[1]->node, 3));
	fake_hold(&r->db, 1, FAKE_UPDATE, false);
	CACHED_UNTIL(r->all, a.times);
	assert_int_equal(a.r.end, APP_OK); /* the client does not wait for it */
	CACHED_UNTIL(r->all, slots_idle(r, 1));
	assert_false(fake_row(&r->db, 3).in);
}

RIG_TEST(update__its_answer_is_lost_and_it_has_committed__is_done_once)
{
	struct rig *r = *state;
	struct answer a;

	fill_page(r, 1, 2, 5, "item/5");
	fake_lose(&r->db, 1, FAKE_LOST_DONE);
	a = do_update(r, 1, "item/5", "set 1 55");
	assert_int_equal(a.r.end, APP_OK);
	assert_true(a.r.transaction > 0);
	assert_int_equal(a.r.statements, 0); /* how many rows is not known */
	assert_int_equal(fake_called(&r->db, 1, FAKE_UPDATE), 1);
	assert_int_equal(fake_called(&r->db, 1, FAKE_RESOLVE), 1);
	assert_int_equal(generation(r, 1), 1); /* it keeps its words */
	assert_int_equal(do_update(r, 1, "item/5", "set 1 56").r.end, APP_OK);
}

RIG_TEST(update__its_answer_is_lost_and_it_has_not_committed__is_made_anew)
{
	struct rig *r = *state;
	struct answer a;

	fake_lose(&r->db, 1, FAKE_LOST_UNDONE);
	a = do_update(r, 1, "item/5", "set 1 55");
	assert_int_equal(a.r.end, APP_OK);
	assert_int_equal(a.r.statements, 1);
	assert_int_equal(fake_place(&r->db, 1), 55);
	assert_int_equal(fake_called(&r->db, 1, FAKE_UPDATE), 2);
	assert_int_equal(fake_called(&r->db, 1, FAKE_RESOLVE), 1);
	assert_int_equal(r->app[1]->updates.doubts, 1);
}

/* R6 d: nobody is told how it ended before that is known. */
RIG_TEST(update__in_doubt_and_the_database_is_away__waits_for_it)
{
	struct rig *r = *state;
	struct answer a, fill;

	r->all->log.level = 0;
	fake_lose(&r->db, 1, FAKE_LOST_DONE);
	fake_hold(&r->db, 1, FAKE_RESOLVE, true);
	ask_update(r, 1, "item/5", "set 1 55", &a);
	CACHED_UNTIL(r->all, fake_called(&r->db, 1, FAKE_RESOLVE) == 1);
	fake_down(&r->db, 1, true);
	fake_hold(&r->db, 1, FAKE_RESOLVE, false);
	cached_pass(r->all, 100 * NS_PER_MS);
	assert_int_equal(a.times, 0);
	fill = begin_fill(r, 2, 2, 5);
	fill = end_fill(r, 2, fill.r.id, "item/5");
	assert_string_equal(fill.why, "pending");
	fake_down(&r->db, 1, false);
	CACHED_UNTIL(r->all, a.times);
	assert_int_equal(a.r.end, APP_OK);
}

RIG_TEST(update__a_statement_is_refused__has_no_effect_and_is_told)
{
	struct rig *r = *state;
	struct answer a = do_update(r, 1, "item/5", "refuse");

	assert_int_equal(a.r.end, APP_REFUSED);
	assert_string_equal(a.sqlstate, "23505");
	assert_string_equal(a.text, "a statement was refused");
	CACHED_UNTIL(r->all, slots_idle(r, 1));
	assert_int_equal(r->app[2]->home.actives, 0);
	fill_page(r, 1, 2, 5, "item/5");
	assert_int_equal(r->app[1]->updates.refused, 1);
}

RIG_TEST(update__the_database_is_away__is_not_done)
{
	struct rig *r = *state;
	struct answer a;

	r->all->log.level = 0;
	fake_down(&r->db, 1, true);
	a = do_update(r, 1, "item/5", "set 1 55");
	assert_int_equal(a.r.end, APP_NOT_NOW);
	assert_string_equal(a.why, "database");
	fake_down(&r->db, 1, false);
	CACHED_UNTIL(r->all, slots_idle(r, 1));
	assert_int_equal(fake_place(&r->db, 1), 0);
	CACHED_UNTIL(r->all, app_in(r, 1));
}

/* R5: the epoch has moved since its broadcast. */
RIG_TEST(update__another_joins_meanwhile__is_made_anew)
{
	struct rig *r = *state;
	struct answer a;

	fake_hold(&r->db, 1, FAKE_UPDATE, true);
	ask_update(r, 1, "item/5", "set 1 55", &a);
	CACHED_UNTIL(r->all, fake_called(&r->db, 1, FAKE_UPDATE) == 1);
	app_stop(r, 3, false);
	app_start(r, 3);
	CACHED_UNTIL(r->all, app_in(r, 3));
	fake_hold(&r->db, 1, FAKE_UPDATE, false);
	CACHED_UNTIL(r->all, a.times);
	assert_int_equal(a.r.end, APP_OK);
	assert_int_equal(fake_called(&r->db, 1, FAKE_UPDATE), 2);
	assert_int_equal(r->app[1]->updates.again, 1);
	assert_true(word_of(r, 3, 0) == cache_word(2, 1)); /* it was told */
}

RIG_TEST(update__more_than_slots__wait_and_are_done)
{
	struct rig *r = *state;
	struct answer a[10];
	char text[32];

	fake_hold(&r->db, 1, FAKE_UPDATE, true);
	for (int i = 0; i < 10; i++) {
		snprintf(text, sizeof(text), "set %d %d", i, i + 1);
		ask_update(r, 1, "item/5", text, &a[i]);
	}
	CACHED_UNTIL(r->all, fake_called(&r->db, 1, FAKE_UPDATE) == 2); /* slots */
	assert_int_equal(r->app[1]->updates.waiting, 8);
	fake_hold(&r->db, 1, FAKE_UPDATE, false);
	for (int i = 0; i < 10; i++)
		CACHED_UNTIL(r->all, a[i].times);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(a[i].r.end, APP_OK);
		assert_int_equal(fake_place(&r->db, (uint32_t)i), i + 1);
	}
	CACHED_UNTIL(r->all, slots_idle(r, 1));
	assert_true(r->app[1]->updates.waiting == 0 && r->app[1]->updates.waiting_bytes == 0);
}

RIG_TEST(update__more_than_wait__are_refused)
{
	struct rig *r = *state;
	struct answer a[APP_WAITING_MAX + 3];

	fake_hold(&r->db, 1, FAKE_UPDATE, true);
	for (int i = 0; i < APP_WAITING_MAX + 3; i++)
		ask_update(r, 1, "item/5", "set 1 1", &a[i]);
	assert_int_equal(a[APP_WAITING_MAX + 2].r.end, APP_NOT_NOW);
	assert_string_equal(a[APP_WAITING_MAX + 2].why, "busy");
	assert_int_equal(a[APP_WAITING_MAX + 1].times, 0);
	fake_hold(&r->db, 1, FAKE_UPDATE, false);
	CACHED_UNTIL(r->all, a[APP_WAITING_MAX + 1].times);
}

/* Its attempt goes on, and ends without a transaction: the homes must hear of its end. */
RIG_TEST(update__waits_too_long__its_client_is_told_and_it_has_no_effect)
{
	struct rig *r = *state;
	struct answer a;

	r->app[1]->updates.patience_ns = 40 * NS_PER_MS;
	r->all->host[3]->stopped = true;
	a = do_update(r, 1, "item/5", "set 1 55");
	assert_int_equal(a.r.end, APP_NOT_NOW);
	assert_string_equal(a.why, "waits");
	assert_true(strstr(a.text, "app3") != NULL);
	assert_false(slots_idle(r, 1));
	r->all->host[3]->stopped = false;
	CACHED_UNTIL(r->all, slots_idle(r, 1) && r->app[3]->home.actives == 0);
	assert_int_equal(fake_called(&r->db, 1, FAKE_UPDATE), 0);
	fill_page(r, 1, 3, 5, "item/5");
}

/* One that may have reached the database is told of no end that it does not have. */
RIG_TEST(update__waits_for_a_slot_too_long__is_told_and_those_in_slots_are_not)
{
	struct rig *r = *state;
	struct answer a[3];

	fake_hold(&r->db, 1, FAKE_UPDATE, true);
	for (int i = 0; i < 3; i++)
		ask_update(r, 1, "item/5", "set 1 55", &a[i]);
	CACHED_UNTIL(r->all, fake_called(&r->db, 1, FAKE_UPDATE) == 2);
	r->app[1]->updates.patience_ns = 1;
	CACHED_UNTIL(r->all, a[2].times);
	assert_int_equal(a[2].r.end, APP_NOT_NOW);
	assert_string_equal(a[2].why, "busy");
	assert_true(a[0].times == 0 && a[1].times == 0);
	fake_hold(&r->db, 1, FAKE_UPDATE, false);
	for (int i = 0; i < 2; i++) {
		CACHED_UNTIL(r->all, a[i].times);
		assert_int_equal(a[i].r.end, APP_OK);
	}
}

RIG_TEST(update__bad__is_refused)
{
	struct rig *r = *state;
	struct sql_statement s[SQL_STATEMENTS_MAX + 1] = { { .text = "set 1 1" } };
	const char *tag = "item/5", *empty = "";
	char *longest = calloc(1, SQL_TEXT_MAX + 1);
	struct answer a = { 0 };

	assert_non_null(longest);
	app_update(r->app[1], 0, &tag, 1, s, answered, &a);
	assert_int_equal(a.r.end, APP_BAD);
	app_update(r->app[1], 1, &empty, 1, s, answered, &a);
	assert_int_equal(a.r.end, APP_BAD);
	app_update(r->app[1], UPDATE_TAGS_MAX + 1, &tag, 1, s, answered, &a);
	assert_int_equal(a.r.end, APP_BAD);
	app_update(r->app[1], 1, &tag, SQL_STATEMENTS_MAX + 1, s, answered, &a);
	assert_int_equal(a.r.end, APP_BAD);
	s[0].params = SQL_PARAMS_MAX + 1;
	app_update(r->app[1], 1, &tag, 1, s, answered, &a);
	assert_int_equal(a.r.end, APP_BAD);
	memset(longest, 'x', SQL_TEXT_MAX);
	s[0] = (struct sql_statement){ .text = longest };
	app_update(r->app[1], 1, &tag, 1, s, answered, &a);
	assert_int_equal(a.r.end, APP_BAD);
	assert_int_equal(a.times, 6);
	longest[SQL_TEXT_MAX - 1] = 0;
	app_update(r->app[1], 1, &tag, 1, s, answered, &a);
	CACHED_UNTIL(r->all, a.times == 7);
	assert_int_equal(a.r.end, APP_OK);
	free(longest);
}

RIG_TEST(update__parameters__are_copied)
{
	struct rig *r = *state;
	char text[] = "set 3 9", value[] = "v";
	const char *param[2] = { value, NULL }, *tag = "item/5";
	struct sql_statement s = { .text = text, .params = 2, .param = param };
	const struct sql_statement *copy;
	struct answer a = { 0 };

	fake_hold(&r->db, 1, FAKE_UPDATE, true);
	app_update(r->app[1], 1, &tag, 1, &s, answered, &a);
	memset(text, 'x', 7);
	memset(value, 'x', 1);
	memset(param, 0, sizeof(param));
	CACHED_UNTIL(r->all, fake_called(&r->db, 1, FAKE_UPDATE) == 1);
	copy = r->app[1]->updates.slot[0].change->statement;
	assert_string_equal(copy->text, "set 3 9");
	assert_int_equal(copy->params, 2);
	assert_string_equal(copy->param[0], "v");
	assert_null(copy->param[1]);
	fake_hold(&r->db, 1, FAKE_UPDATE, false);
	CACHED_UNTIL(r->all, a.times);
	assert_int_equal(fake_place(&r->db, 3), 9);
}

RIG_TEST(invalidate__a_tag_or_all__moves_what_has_it)
{
	struct rig *r = *state;
	struct answer a = { 0 };

	fill_page(r, 1, 2, 5, "item/5");
	fill_page(r, 1, 3, 6, "item/6");
	app_invalidate(r->app[1], "item/5", answered, &a);
	CACHED_UNTIL(r->all, a.times == 1);
	assert_int_equal(a.r.end, APP_OK);
	assert_true(word_of(r, 2, 5) == cache_word(1, 1));
	assert_true(word_of(r, 3, 6) == cache_word(1, 0));
	fill_page(r, 1, 2, 5, "item/5");
	app_invalidate(r->app[1], NULL, answered, &a);
	CACHED_UNTIL(r->all, a.times == 2);
	assert_true(word_of(r, 2, 5) == cache_word(1, 2));
	assert_true(word_of(r, 3, 6) == cache_word(1, 1));
	assert_true(word_of(r, 3, 7) == cache_word(1, 0)); /* it has no list */
	app_invalidate(r->app[1], "", answered, &a);
	assert_int_equal(a.r.end, APP_BAD);
}

/* By its key alone; two proxies may have it at two homes. */
RIG_TEST(invalidate__a_page__moves_its_word_at_each_home)
{
	struct rig *r = *state;
	struct answer a = { 0 };
	uint32_t word = place_word(4711, 32), other = word == 1 ? 2 : word - 1;

	fill_page(r, 1, 2, word, "item/5");
	fill_page(r, 1, 2, other, "item/5");
	app_invalidate_page(r->app[1], 4711, answered, &a);
	CACHED_UNTIL(r->all, a.times);
	assert_int_equal(a.r.end, APP_OK);
	assert_true(word_of(r, 2, word) == cache_word(1, 1));
	assert_true(word_of(r, 3, word) == cache_word(1, 1));
	assert_true(word_of(r, 2, other) == cache_word(1, 0));
}

/* --- for people -------------------------------------------------------------------- */

RIG_TEST(updates__one_waits__names_whose_acknowledgement_is_missing)
{
	struct rig *r = *state;
	struct answer a;
	const json_t *u;
	json_t *list;

	r->all->host[3]->stopped = true;
	ask_update(r, 1, "item/5", "set 1 55", &a);
	cached_pass(r->all, 20 * NS_PER_MS);
	list = app_updates(r->app[1]);
	assert_int_equal(json_array_size(list), 1);
	u = json_array_get(list, 0);
	assert_string_equal(json_string_value(json_object_get(u, "updater")), "app1");
	assert_string_equal(json_string_value(json_object_get(u, "state")), "acks");
	u = json_object_get(u, "missing");
	assert_int_equal(json_array_size(u), 1);
	assert_string_equal(json_string_value(json_array_get(u, 0)), "app3");
	json_decref(list);
	list = app_updates(r->app[2]); /* there it is pending */
	assert_int_equal(json_array_size(list), 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "updater")),
			    "app1");
	json_decref(list);
	r->all->host[3]->stopped = false;
	CACHED_UNTIL(r->all, a.times);
}

RIG_TEST(info__is_whole)
{
	struct rig *r = *state;
	json_t *o;

	fill_page(r, 1, 2, 5, "item/5");
	o = app_info(r->app[1]);
	assert_int_equal(json_array_size(json_object_get(o, "members")), CACHED_HOSTS);
	assert_true(json_is_true(json_object_get(o, "in")));
	json_decref(o);
	o = app_cache(r->app[2]);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(o, "home"), "registered")), 1);
	json_decref(o);
}
