// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * app: three application servers over "shm" and the fake database register fills, or refuse them.
 */
#include "tests/unit/app_rig.h"

static int setup(void **state)
{
	*state = rig_three(PATIENT);
	return 0;
}

static int teardown(void **state)
{
	rig_free(*state);
	return 0;
}

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

RIG_TEST(fill__an_id_before_any__is_not_found)
{
	struct rig *r = *state;
	struct answer a = { 0 };

	assert_int_equal(app_fill_give_up(r->app[1], 0), APP_NOT_FOUND);
	app_fill_end(r->app[1], 1, 0, NULL, NULL, answered, &a);
	assert_int_equal(a.r.end, APP_NOT_FOUND);
}

/* A home's late answer to a fill of an earlier life is none to one of this life. */
RIG_TEST(fill__of_a_later_life__has_a_higher_serial)
{
	struct rig *r = *state;
	uint64_t before;

	begin_fill(r, 1, 2, 5);
	before = fill_serial(&r->app[1]->fills.fill[0]->fill);
	app_stop(r, 1, false);
	app_start(r, 1);
	CACHED_UNTIL(r->all, all_in(r, "aaa"));
	begin_fill(r, 1, 2, 5);
	assert_true(fill_serial(&r->app[1]->fills.fill[0]->fill) > before);
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
	CACHED_UNTIL(r->all, all_in(r, "aaa"));
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
