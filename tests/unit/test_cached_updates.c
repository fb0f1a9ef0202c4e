// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * app: three application servers over "shm" and the fake database make updates: one after the other
 * in each slot, told to all homes, and done once.
 */
#include "tests/unit/app_rig.h"

static int setup(void **state)
{
	*state = rig_three(PATIENT);
	return 0;
}

/* Members that are silent are removed, and those that were removed join again soon. */
static int setup_quick(void **state)
{
	*state = rig_three(QUICK);
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

/* The update of host 1 has all acknowledgements but that of host 3. */
static bool waits_for_3(const struct rig *r)
{
	const struct update *u = &r->app[1]->updates.slot[0].update;
	struct hostset missing = update_missing(u);

	return update_state(u) == UPDATE_ACKS && hostset_count(&missing) == 1 &&
	       hostset_has(&missing, 3);
}

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

TEST_WITH(update__a_home_is_silent_for_detect__is_removed_and_comes_back, setup_quick, teardown)
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
	CACHED_UNTIL(r->all, app_in(r, 3) && generation(r, 3) > 1);
	assert_true(word_of(r, 3, 5) == cache_word(generation(r, 3), 0));
	assert_int_equal(do_update(r, 1, "item/5", "set 1 56").r.end, APP_OK);
}

/* `detect` of a home begins with the update that waits for it, not with a later tick. */
RIG_TEST(update__a_home_is_silent__its_time_counts_from_the_broadcast)
{
	struct rig *r = *state;
	const struct recover *told = &r->app[1]->member.recover;
	struct answer a;

	r->all->host[3]->stopped = true;
	ask_update(r, 1, "item/5", "set 1 55", &a);
	assert_true(hostset_has(&told->missing[0], 3));
	r->all->host[3]->stopped = false;
	CACHED_UNTIL(r->all, a.times && slots_idle(r, 1));
	assert_true(hostset_empty(&told->missing[0]));
}

static int setup_slow(void **state)
{
	*state = rig_three(2 * NS_PER_S);
	return 0;
}

/* Updates wait for the removal: it does not wait for a connection. */
TEST_WITH(update__a_home_is_silent__there_is_a_connection_before_it_is_removed, setup_slow,
	  teardown)
{
	struct rig *r = *state;
	const struct app_warm *warm = &r->app[1]->member.warm;
	struct answer a;
	uint32_t opens, open;

	r->all->log.level = 0;
	open = fake_handles(&r->db, 1);
	r->all->host[3]->stopped = true;
	ask_update(r, 1, "item/5", "set 1 55", &a);
	CACHED_UNTIL(r->all, warm->open && !jobs_busy(r->app[1]->jobs, LANE_REMOVE));
	assert_true(fake_row(&r->db, 3).in);
	opens = fake_called(&r->db, 1, FAKE_OPEN);
	CACHED_UNTIL(r->all, !fake_row(&r->db, 3).in);
	assert_int_equal(fake_called(&r->db, 1, FAKE_OPEN), opens);
	CACHED_UNTIL(r->all, a.times);
	assert_false(warm->open);
	assert_int_equal(fake_called(&r->db, 1, FAKE_OPEN), opens + 1); /* that of the slot */
	assert_int_equal(fake_handles(&r->db, 1), open + 1);
}

/* It has answered after all. */
TEST_WITH(update__a_home_is_slow__the_connection_is_closed_again, setup_slow, teardown)
{
	struct rig *r = *state;
	const struct app_warm *warm = &r->app[1]->member.warm;
	struct answer a;
	uint32_t open;

	r->all->log.level = 0;
	open = fake_handles(&r->db, 1);
	r->all->host[3]->stopped = true;
	ask_update(r, 1, "item/5", "set 1 55", &a);
	CACHED_UNTIL(r->all, warm->open && !jobs_busy(r->app[1]->jobs, LANE_REMOVE));
	r->all->host[3]->stopped = false;
	CACHED_UNTIL(r->all, a.times);
	CACHED_UNTIL(r->all, !warm->open && !jobs_busy(r->app[1]->jobs, LANE_REMOVE));
	assert_int_equal(fake_handles(&r->db, 1), open + 1);
	assert_true(fake_row(&r->db, 3).in);
}

/* The end does not reach a home that has died since: its slot must not wait for ever. */
TEST_WITH(update__a_home_dies_before_its_end__the_slot_is_free_again, setup_quick, teardown)
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

/* R6 e: the homes see by which transaction its row was raised, and nothing stays pending. */
RIG_TEST(update__its_updater_dies__ends_when_the_updater_is_removed)
{
	struct rig *r = *state;
	struct answer a;

	r->all->log.level = 0;
	fake_hold(&r->db, 1, FAKE_UPDATE, true);
	ask_update(r, 1, "item/5", "set 1 55", &a);
	CACHED_UNTIL(r->all, fake_called(&r->db, 1, FAKE_UPDATE) == 1);
	assert_true(r->app[2]->home.actives > 0);
	fake_down(&r->db, 1, true);
	fake_hold(&r->db, 1, FAKE_UPDATE, false);
	app_stop(r, 1, true);
	for (uint16_t n = 2; n <= 3; n++)
		r->app[n]->member.recover.conf.detect_ns = QUICK;
	CACHED_UNTIL(r->all, r->app[2]->home.actives == 0 && r->app[3]->home.actives == 0);
	assert_false(fake_row(&r->db, 1).in);
	assert_int_equal(fake_place(&r->db, 1), 0);
}

/* Its number is another's now: that one's row is not the one by which an update may begin. */
RIG_TEST(update__another_process_joins_with_its_number__waits_until_it_is_in_again)
{
	struct rig *r = *state;
	struct fake_row *row = &r->db.row[1];
	struct answer a;

	r->all->log.level = 0;
	r->all->host[3]->stopped = true;
	ask_update(r, 1, "item/5", "set 1 55", &a);
	CACHED_UNTIL(r->all, update_state(&r->app[1]->updates.slot[0].update) == UPDATE_ACKS);
	fake_hold(&r->db, 1, FAKE_JOIN, true);
	pthread_mutex_lock(&r->db.lock);
	r->db.epoch++;
	row->generation++;
	row->fence++;
	row->raised = ++r->db.transaction;
	pthread_mutex_unlock(&r->db.lock);
	CACHED_UNTIL(r->all, !r->app[1]->member.is_in);
	r->all->host[3]->stopped = false;
	cached_pass(r->all, 200 * NS_PER_MS);
	assert_int_equal(a.times, 0);
	/* The homes are not told of it by that one's fence. */
	assert_int_equal(update_state(&r->app[1]->updates.slot[0].update), UPDATE_LOOKS);
	assert_int_equal(fake_called(&r->db, 1, FAKE_UPDATE), 0);
	fake_hold(&r->db, 1, FAKE_JOIN, false);
	CACHED_UNTIL(r->all, a.times);
	assert_int_equal(a.r.end, APP_OK);
	assert_int_equal(fake_place(&r->db, 1), 55);
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

/* No other host sends anything that would remind it. */
TEST(update__in_doubt_and_alone__asks_the_database_again)
{
	struct rig *r = rig_new("a");
	struct answer a;

	r->all->log.level = 0;
	app_start(r, 1);
	CACHED_UNTIL(r->all, all_in(r, "a"));
	fake_lose(&r->db, 1, FAKE_LOST_DONE);
	fake_hold(&r->db, 1, FAKE_RESOLVE, true);
	ask_update(r, 1, "item/5", "set 1 55", &a);
	CACHED_UNTIL(r->all, fake_called(&r->db, 1, FAKE_RESOLVE) == 1);
	fake_down(&r->db, 1, true);
	fake_hold(&r->db, 1, FAKE_RESOLVE, false);
	cached_pass(r->all, 100 * NS_PER_MS);
	assert_int_equal(a.times, 0);
	fake_down(&r->db, 1, false);
	CACHED_UNTIL(r->all, a.times);
	assert_int_equal(a.r.end, APP_OK);
	rig_free(r);
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

	r->all->host[3]->stopped = true;
	ask_update(r, 1, "item/5", "set 1 55", &a);
	CACHED_UNTIL(r->all, waits_for_3(r));
	r->app[1]->updates.patience_ns = 1;
	CACHED_UNTIL(r->all, a.times);
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

RIG_TEST(updates__one_waits__names_whose_acknowledgement_is_missing)
{
	struct rig *r = *state;
	struct answer a;
	const json_t *u;
	json_t *list;

	r->all->host[3]->stopped = true;
	ask_update(r, 1, "item/5", "set 1 55", &a);
	CACHED_UNTIL(r->all, waits_for_3(r));
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
