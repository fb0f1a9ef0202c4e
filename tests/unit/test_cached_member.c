// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * app: three application servers over "shm" and the fake database are members: they join, beat, are
 * removed, and come back.
 */
#include <sched.h>

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

/* A loop that is late may begin and end the next one in the same turn: it is held. */
static void end_one_look(struct rig *r, uint16_t n)
{
	fake_hold(&r->db, n, FAKE_LOOK, false);
	while (fake_waits(&r->db, n))
		sched_yield();
	fake_hold(&r->db, n, FAKE_LOOK, true);
}

static uint32_t saved_fence(const struct rig *r, uint16_t n)
{
	struct cached_floors f = { 0 };
	struct conf_error e = { 0 };

	assert_int_equal(cached_floors_load(&f, r->all->host[n]->conf.state_dir, &e), 0);
	return f.fence;
}

static void set_fence(struct rig *r, uint16_t n, uint32_t fence)
{
	pthread_mutex_lock(&r->db.lock);
	r->db.row[n].fence = fence;
	pthread_mutex_unlock(&r->db.lock);
}

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
	end_one_look(r, 1);
	CACHED_UNTIL(r->all, beat_of(r, 1) != before);
	assert_true(beat_of(r, 1) <= hung);
	fake_hold(&r->db, 1, FAKE_LOOK, false);
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
TEST_WITH(join__its_numbers_cannot_be_saved__does_not_open, setup_quick, teardown)
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

/* R7 f: a look that began before the join ended may show a database that never saw the join. */
RIG_TEST(join__the_database_is_another_one_at_once__does_not_beat)
{
	struct rig *r = *state;
	const struct app_member *m;
	uint64_t number;

	r->all->log.level = 0;
	app_stop(r, 1, false);
	fake_hold(&r->db, 1, FAKE_JOIN, true);
	app_start(r, 1);
	m = &r->app[1]->member;
	CACHED_UNTIL(r->all, fake_waits(&r->db, 1) == 1);
	fake_hold(&r->db, 1, FAKE_LOOK, true);
	CACHED_UNTIL(r->all, fake_waits(&r->db, 1) == 2);
	fake_hold(&r->db, 1, FAKE_JOIN, false);
	CACHED_UNTIL(r->all, m->is_in);
	number = m->number;
	fake_failover(&r->db);
	end_one_look(r, 1);
	CACHED_UNTIL(r->all, m->number > number);
	assert_false(m->confirmed);
	assert_true(beat_of(r, 1) == 0);
	fake_hold(&r->db, 1, FAKE_LOOK, false);
}

/* A look's fence may name updates: after a crash and a failover it is not used again. */
RIG_TEST(look__of_a_member__keeps_its_fence_on_disk)
{
	struct rig *r = *state;

	set_fence(r, 1, 9);
	CACHED_UNTIL(r->all, saved_fence(r, 1) == 9);
}

/* It names nothing before it has joined, and joins above. */
RIG_TEST(look__of_one_that_is_out__keeps_nothing)
{
	struct rig *r = *state;
	uint32_t before;

	app_stop(r, 1, false);
	before = saved_fence(r, 1); /* the last look of a member may have seen its removal */
	set_fence(r, 1, 9);
	fake_hold(&r->db, 1, FAKE_JOIN, true);
	app_start(r, 1);
	CACHED_UNTIL(r->all, fake_waits(&r->db, 1) == 1); /* a look has ended */
	assert_int_equal(saved_fence(r, 1), before);
	fake_hold(&r->db, 1, FAKE_JOIN, false);
	CACHED_UNTIL(r->all, app_in(r, 1));
	assert_int_equal(saved_fence(r, 1), 10);
}

TEST_WITH(removed__by_another__closes_and_comes_back_as_another_generation, setup_quick, teardown)
{
	struct rig *r = *state;
	struct answer a = { 0 };

	r->all->log.level = 0;
	fill_page(r, 1, 1, 5, "item/5");
	app_remove(r->app[2], 1, true, answered, &a);
	CACHED_UNTIL(r->all, a.times);
	assert_int_equal(a.r.end, APP_OK);
	CACHED_UNTIL(r->all, app_in(r, 1) && generation(r, 1) > 1);
	assert_true(word_of(r, 1, 5) == cache_word(generation(r, 1), 0));
	assert_int_equal(r->app[1]->home.frees, 64); /* its lists are forgotten */
	assert_true(r->app[1]->member.joins > 1);
}

RIG_TEST(removed__it_beats__is_refused_without_force)
{
	struct rig *r = *state;
	struct answer a = { 0 };

	CACHED_UNTIL(r->all,
		     watch_age(&r->app[2]->watch, 1, node_now(r->all->host[2]->node)) != INT64_MAX);
	/* On a busy machine the newest beat is old. */
	r->all->host[2]->conf.cluster.cache.fresh_ns = 60 * NS_PER_S;
	app_remove(r->app[2], 1, false, answered, &a);
	assert_int_equal(a.times, 1);
	assert_int_equal(a.r.end, APP_NOT_NOW);
	assert_string_equal(a.why, "beats");
	assert_true(fake_row(&r->db, 1).in);
	app_remove(r->app[2], 9, true, answered, &a);
	assert_int_equal(a.r.end, APP_BAD);
}

TEST_WITH(timeline__another_database__all_come_back_as_other_generations, setup_quick, teardown)
{
	struct rig *r = *state;
	struct answer a;

	r->all->log.level = 0;
	fill_page(r, 2, 1, 5, "item/5");
	a = begin_fill(r, 2, 1, 6);
	fake_failover(&r->db);
	for (uint16_t n = 1; n <= CACHED_HOSTS; n++)
		CACHED_UNTIL(r->all, app_in(r, n) && generation(r, n) > 1);
	assert_true(word_of(r, 1, 5) == cache_word(generation(r, 1), 0));
	a = end_fill(r, 2, a.r.id, "item/6");
	assert_int_equal(a.r.end, APP_REFUSED);
}

/* It has no rows, and its numbers begin anew: those of the hosts do not (R3 b). */
TEST_WITH(timeline__a_database_made_anew__no_number_comes_back, setup_quick, teardown)
{
	struct rig *r = *state;
	uint32_t fence[CACHED_HOSTS + 1];
	struct answer a;

	r->all->log.level = 0;
	fill_page(r, 2, 1, 5, "item/5");
	assert_int_equal(do_update(r, 1, "item/5", "set 1 55").r.end, APP_OK);
	for (uint16_t n = 1; n <= CACHED_HOSTS; n++)
		fence[n] = r->app[n]->member.joined.fence;
	pthread_mutex_lock(&r->db.lock);
	memset(r->db.row, 0, sizeof(r->db.row));
	memset(r->db.name, 0, sizeof(r->db.name));
	r->db.epoch = 0;
	r->db.transaction = 0;
	r->db.timeline++;
	pthread_mutex_unlock(&r->db.lock);
	for (uint16_t n = 1; n <= CACHED_HOSTS; n++)
		CACHED_UNTIL(r->all, app_in(r, n) && generation(r, n) > 1);
	for (uint16_t n = 1; n <= CACHED_HOSTS; n++) {
		assert_true(r->app[n]->member.joined.fence > fence[n]);
		assert_true(word_of(r, n, 5) == cache_word(generation(r, n), 0));
	}
	/* A home takes no name that is below one that it knows: the update would wait for ever. */
	a = do_update(r, 1, "item/5", "set 1 56");
	assert_int_equal(a.r.end, APP_OK);
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

RIG_TEST(close__of_the_whole__removes_its_row)
{
	struct rig *r = *state;

	app_stop(r, 3, false);
	assert_true(fake_row(&r->db, 3).there);
	assert_false(fake_row(&r->db, 3).in);
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
