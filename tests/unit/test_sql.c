// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_sql: the contract of src/sql/sql.h, on each backend: members. Updates are in
 * test_sql_update.c, what tables and programs do wrong in test_sql_hostile.c. What only one backend
 * has is in test_sql_pgsql.c and test_sql_sqlite.c.
 */
#include "tests/unit/sql_rig.h"

/* --- open, look ----------------------------------------------------------------------------- */

CONTRACT(open__settings_out_of_range__are_refused)
{
	char longer[SQL_WHERE_MAX + 1];
	const struct sql_conf bad[] = {
		{ .where = NULL, .self = 1, .timeout_ns = NS_PER_S },
		{ .where = "", .self = 1, .timeout_ns = NS_PER_S },
		{ .where = longer, .self = 1, .timeout_ns = NS_PER_S },
		{ .where = r->where, .self = 0, .timeout_ns = NS_PER_S },
		{ .where = r->where, .self = 257, .timeout_ns = NS_PER_S },
		{ .where = r->where, .self = 1, .timeout_ns = 0 },
		{ .where = r->where, .self = 1, .timeout_ns = -1 },
		{ .where = r->where, .self = 1, .timeout_ns = INT64_MAX },
	};

	memset(longer, 'x', sizeof(longer) - 1);
	longer[SQL_WHERE_MAX] = '\0';
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sql *s = NULL;

		rig_expect(r, r->ops->open(&s, &bad[i], &r->e), -EINVAL);
		rig_says(r, " must ");
		assert_null(s);
	}
}

CONTRACT(open__no_database__is_one_sentence)
{
	struct sql_conf c = { .where = r->pgsql ? "host=/nonexistent/dir" : "/nonexistent/file.db",
			      .self = 1,
			      .timeout_ns = NS_PER_S };
	struct sql *s = NULL;

	rig_expect(r, r->ops->open(&s, &c, &r->e), -ENOTCONN);
	rig_says(r, "/nonexistent/");
	assert_null(strchr(r->e.text, '\n'));
	assert_null(s);
	r->ops->close(NULL);
}

CONTRACT(look__new_tables__have_no_members)
{
	struct sql_look l = rig_look(r, rig_handle(r, RIG_SELF));

	assert_int_equal(l.epoch, 0);
	assert_true(hostset_empty(&l.rows));
	assert_true(hostset_empty(&l.members));
	assert_true(l.timeline != 0);
}

CONTRACT(look__rows_in_and_out__are_all_told)
{
	struct sql_look l;

	rig_run(r,
		"INSERT INTO resex.member VALUES (1, 5, 6, '1', 7), (256, 1073741823, 1073741823,"
		" '0', 9223372036854775807)");
	l = rig_look(r, rig_handle(r, RIG_SELF));
	assert_int_equal(hostset_count(&l.rows), 2);
	assert_int_equal(hostset_count(&l.members), 1);
	assert_true(hostset_has(&l.rows, 1) && hostset_has(&l.rows, 256));
	assert_true(hostset_has(&l.members, 1));
	assert_int_equal(l.generation[1], 5);
	assert_int_equal(l.fence[1], 6);
	assert_int_equal(l.raised[1], 7);
	assert_int_equal(l.generation[256], REGION_EPOCH_MAX);
	assert_int_equal(l.fence[256], REGION_EPOCH_MAX);
	assert_int_equal(l.raised[256], INT64_MAX);
}

CONTRACT(timeline__is_the_databases_own)
{
	struct sql *a = rig_handle(r, 1), *b = rig_handle(r, 2);
	uint64_t timeline = rig_look(r, a).timeline;
	struct rig other;

	assert_int_equal(rig_join(r, a).timeline, timeline);
	assert_int_equal(rig_look(r, b).timeline, timeline);
	rig_open(&other, r->ops->name);
	assert_int_not_equal(rig_look(&other, rig_handle(&other, 1)).timeline, timeline);
	rig_close(&other);
}

/* --- join ----------------------------------------------------------------------------------- */

CONTRACT(join__first__makes_the_row)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	struct sql_look l = rig_look(r, s);

	assert_int_equal(j.epoch, 1);
	assert_int_equal(j.generation, 1);
	assert_int_equal(j.fence, 1);
	assert_true(j.transaction != 0);
	assert_int_equal(l.epoch, 1);
	assert_true(hostset_has(&l.members, RIG_SELF));
	assert_int_equal(hostset_count(&l.rows), 1);
	assert_int_equal(l.generation[RIG_SELF], 1);
	assert_int_equal(l.fence[RIG_SELF], 1);
	assert_int_equal(l.raised[RIG_SELF], j.transaction);
}

CONTRACT(join__again__raises_all)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined a = rig_join(r, s), b;
	uint64_t removed;

	rig_expect(r, r->ops->remove(s, RIG_SELF, a.generation, &r->e), 0);
	removed = rig_look(r, s).raised[RIG_SELF];
	b = rig_join(r, s);
	assert_int_equal(b.epoch, a.epoch + 1);
	assert_int_equal(b.generation, a.generation + 1);
	assert_int_equal(b.fence, a.fence + 2); /* the removal raised it, too */
	assert_true(removed > a.transaction);
	assert_true(b.transaction > removed);
	assert_int_equal(rig_look(r, s).raised[RIG_SELF], b.transaction);
	assert_true(rig_is_member(r, s, RIG_SELF));
}

CONTRACT(join__floors__are_below_what_it_gives)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j;

	rig_expect(r, r->ops->join(s, 41, 77, &j, &r->e), 0);
	assert_int_equal(j.generation, 42);
	assert_int_equal(j.fence, 78);
	/* One floor is below, the other above: each holds by itself. */
	rig_expect(r, r->ops->join(s, 12, 100, &j, &r->e), 0);
	assert_int_equal(j.generation, 43);
	assert_int_equal(j.fence, 101);
	assert_int_equal(rig_number(r, "SELECT fence FROM resex.member"), 101);
}

CONTRACT(join__at_the_end_of_numbers__is_refused_without_effect)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = { .epoch = 99 };

	rig_expect(r, r->ops->join(s, REGION_EPOCH_MAX, 0, &j, &r->e), -ERANGE);
	rig_says(r, "the generation of host 3");
	rig_expect(r, r->ops->join(s, 0, UINT32_MAX, &j, &r->e), -ERANGE);
	rig_says(r, "the fence of host 3");
	rig_expect(r, r->ops->join(s, 0, REGION_EPOCH_MAX - 1, &j, &r->e), 0);
	assert_int_equal(j.fence, REGION_EPOCH_MAX);
	assert_int_equal(j.epoch, 1);
	rig_run(r, "UPDATE resex.epoch SET epoch = 2147483647");
	j.epoch = 99;
	rig_expect(r, r->ops->join(s, 0, 0, &j, &r->e), -ERANGE);
	rig_says(r, "resex");
	assert_int_equal(j.epoch, 99);
}

CONTRACT(join__two_hosts__each_have_a_row)
{
	struct sql *a = rig_handle(r, 1), *b = rig_handle(r, 256);
	struct sql_look l;

	rig_join(r, a);
	assert_int_equal(rig_join(r, b).epoch, 2);
	l = rig_look(r, a);
	assert_int_equal(hostset_count(&l.members), 2);
	assert_true(hostset_has(&l.members, 256));
}

/* --- remove --------------------------------------------------------------------------------- */

CONTRACT(remove__a_member__is_out_with_a_higher_fence)
{
	struct sql *a = rig_handle(r, 1), *b = rig_handle(r, 2);
	struct sql_joined ja = rig_join(r, a);
	struct sql_look before, l;

	rig_join(r, b);
	before = rig_look(r, a);
	rig_expect(r, r->ops->remove(b, 1, ja.generation, &r->e), 0);
	l = rig_look(r, a);
	assert_false(hostset_has(&l.members, 1));
	assert_true(hostset_has(&l.rows, 1));
	assert_int_equal(l.fence[1], ja.fence + 1);
	assert_int_equal(l.generation[1], ja.generation);
	assert_true(l.raised[1] > before.raised[1]);
	/* Nothing else moved. */
	assert_int_equal(l.epoch, before.epoch);
	assert_true(hostset_has(&l.members, 2));
	assert_int_equal(l.fence[2], before.fence[2]);
	/* Once more. */
	rig_expect(r, r->ops->remove(b, 1, ja.generation, &r->e), 0);
	assert_int_equal(rig_look(r, a).fence[1], ja.fence + 1);
}

CONTRACT(remove__another_generation__is_stale)
{
	struct sql *a = rig_handle(r, 1), *b = rig_handle(r, 2);
	struct sql_joined j = rig_join(r, a), again = rig_join(r, a);

	rig_expect(r, r->ops->remove(b, 1, j.generation, &r->e), -ESTALE);
	rig_says(r, "generation 2");
	assert_true(rig_is_member(r, b, 1));
	assert_int_equal(rig_look(r, b).fence[1], again.fence);
	rig_expect(r, r->ops->remove(b, 1, 0, &r->e), 0);
	assert_false(rig_is_member(r, b, 1));
}

CONTRACT(remove__a_host_without_a_row__is_out_already)
{
	struct sql *s = rig_handle(r, 1);

	rig_expect(r, r->ops->remove(s, 9, 0, &r->e), 0);
	rig_expect(r, r->ops->remove(s, 9, 4, &r->e), -ESTALE);
	assert_true(rig_number(r, "SELECT count(*) FROM resex.member") == 0);
}

CONTRACT(remove__a_fence_at_its_end__is_refused)
{
	struct sql *s = rig_handle(r, 1);

	rig_run(r, "INSERT INTO resex.member VALUES (2, 1, 1073741823, '1', 1)");
	rig_expect(r, r->ops->remove(s, 2, 1, &r->e), -ERANGE);
	rig_says(r, "the fence of host 2 is 1073741823");
	assert_true(rig_is_member(r, s, 2));
}

/* --- resolve -------------------------------------------------------------------------------- */

CONTRACT(resolve__raises_the_fence_and_stays_in)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	struct sql_look before = rig_look(r, s), l;
	uint64_t found = 1;

	rig_expect(r, r->ops->resolve(s, 0, cache_update_name(j.fence, 1), &found, &r->e), 0);
	assert_int_equal(found, 0);
	l = rig_look(r, s);
	assert_true(hostset_has(&l.members, RIG_SELF));
	assert_int_equal(l.fence[RIG_SELF], j.fence + 1);
	assert_int_equal(l.generation[RIG_SELF], j.generation);
	assert_int_equal(l.epoch, before.epoch);
	assert_true(l.raised[RIG_SELF] > before.raised[RIG_SELF]);
}

CONTRACT(resolve__of_a_member_that_is_out__leaves_it_out)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	uint64_t found = 0;

	rig_ends(r, rig_update(r, s, &j, 1, "UPDATE items SET v = 5"), SQL_COMMITTED);
	rig_expect(r, r->ops->remove(s, RIG_SELF, 0, &r->e), 0);
	rig_expect(r, r->ops->resolve(s, 0, cache_update_name(j.fence, 1), &found, &r->e), 0);
	assert_int_equal(found, r->transaction);
	assert_false(rig_is_member(r, s, RIG_SELF));
}

CONTRACT(resolve__again__says_the_same)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	uint64_t found = 0;

	rig_ends(r, rig_update(r, s, &j, 1, "UPDATE items SET v = 5"), SQL_COMMITTED);
	for (int i = 0; i < 3; i++) {
		rig_expect(r, r->ops->resolve(s, 0, cache_update_name(j.fence, 1), &found, &r->e),
			   0);
		assert_int_equal(found, r->transaction);
		found = 0;
	}
	/* The next update of the slot was not there; of an older one nothing can be said. */
	rig_expect(r, r->ops->resolve(s, 0, cache_update_name(j.fence, 2), &found, &r->e), 0);
	assert_int_equal(found, 0);
	found = 77;
	rig_expect(r, r->ops->resolve(s, 0, cache_update_name(j.fence, 0), &found, &r->e), -ESTALE);
	rig_says(r, "another resex-cached");
	assert_int_equal(found, 77);
}

/* A statement that takes long, in both databases. */
#define LONG_UPDATE                                                                                \
	"UPDATE items SET v = (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "   \
	"WHERE i < 400000) SELECT count(*) FROM n) WHERE id = 1"

/*
 * Until the update of the thread has locked its rows. PostgreSQL locks the table items for its
 * statement, which it plans when the check behind which it comes has locked them. (The check's own
 * lock of the table "member" says too little: it comes before that of the row.)
 */
static void wait_until_under_way(struct rig *r)
{
	for (int i = 0; i < 2000; i++) {
		bool busy = !r->ops;

#ifdef HAVE_POSTGRESQL
		busy = r->pgsql && rig_number(r, "SELECT count(*) FROM pg_locks WHERE mode = "
						 "'RowExclusiveLock' AND relation = "
						 "'items'::regclass");
#endif
#ifdef HAVE_SQLITE
		if (!r->pgsql) {
			sqlite3_busy_timeout(r->raw, 0);
			busy = sqlite3_exec(r->raw, "BEGIN IMMEDIATE", NULL, NULL, NULL);
			if (!busy)
				rig_run(r, "ROLLBACK");
			sqlite3_busy_timeout(r->raw, 10000);
		}
#endif
		if (busy)
			return;
		rig_sleep_ms(1);
	}
	fail_msg("the update did not begin");
}

CONTRACT(resolve__an_update_under_way__is_waited_for)
{
	struct rig_thread t = { .r = r, .number = 1, .text = LONG_UPDATE };
	struct sql *s = rig_handle(r, RIG_SELF);
	uint64_t found = 0;

	t.s = rig_handle(r, RIG_SELF);
	t.j = rig_join(r, s);
	rig_begin(&t);
	wait_until_under_way(r);
	rig_expect(r, r->ops->resolve(s, 0, cache_update_name(t.j.fence, 1), &found, &r->e), 0);
	rig_end(&t);
	assert_int_equal(t.end, SQL_COMMITTED);
	assert_int_equal(found, t.transaction);
	assert_int_equal(rig_item(r), 400000);
}

CONTRACT(remove__an_update_under_way__is_waited_for)
{
	struct rig_thread t = { .r = r, .number = 1, .text = LONG_UPDATE };
	struct sql *s = rig_handle(r, 9);

	t.s = rig_handle(r, RIG_SELF);
	t.j = rig_join(r, t.s);
	rig_begin(&t);
	wait_until_under_way(r);
	rig_expect(r, r->ops->remove(s, RIG_SELF, t.j.generation, &r->e), 0);
	assert_int_equal(rig_item(r), 400000); /* what counts is committed */
	rig_end(&t);
	assert_int_equal(t.end, SQL_COMMITTED);
	assert_true(rig_look(r, s).raised[RIG_SELF] > t.transaction);
}

CONTRACT(join__an_update_under_way__is_waited_for)
{
	struct rig_thread t = { .r = r, .number = 1, .text = LONG_UPDATE };
	struct sql *s = rig_handle(r, 9);

	t.s = rig_handle(r, RIG_SELF);
	t.j = rig_join(r, t.s);
	rig_begin(&t);
	wait_until_under_way(r);
	rig_join(r, s);
	assert_int_equal(rig_item(r), 400000);
	rig_end(&t);
	assert_int_equal(t.end, SQL_COMMITTED);
}

CONTRACT(resolve__before_the_update_begins__refuses_it)
{
	struct sql *a = rig_handle(r, RIG_SELF), *b = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, a);
	uint64_t found = 1;

	rig_expect(r, r->ops->resolve(b, 0, cache_update_name(j.fence, 1), &found, &r->e), 0);
	assert_int_equal(found, 0);
	rig_ends(r, rig_update(r, a, &j, 1, "UPDATE items SET v = 5"), SQL_CHANGED);
	rig_expect(r, r->ops->resolve(b, 0, cache_update_name(j.fence, 1), &found, &r->e), 0);
	assert_int_equal(found, 0);
	assert_int_equal(rig_item(r), 0);
}

/* --- waits ---------------------------------------------------------------------------------- */

CONTRACT(timeout__a_lock_that_is_held__is_told_in_time)
{
	struct sql *s = rig_handle_in(r, RIG_SELF, NS_PER_S), *t = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s), again;
	uint64_t found = 0;
	int64_t began;

	rig_run(r, r->pgsql ? "BEGIN; SELECT FROM resex.epoch, resex.member FOR UPDATE"
			    : "BEGIN IMMEDIATE");
	began = rig_now();
	rig_expect(r, r->ops->join(s, 0, 0, &again, &r->e), -ETIMEDOUT);
	rig_says(r, "it is tried again");
	rig_expect(r, r->ops->remove(s, RIG_SELF, 0, &r->e), -ETIMEDOUT);
	rig_expect(r, r->ops->resolve(s, 0, 1, &found, &r->e), -ETIMEDOUT);
	rig_ends(r, rig_update(r, s, &j, 1, "UPDATE items SET v = 5"), SQL_CHANGED);
	/* A look waits for nobody. */
	rig_look(r, s);
	assert_true(rig_now() - began < 20 * NS_PER_S); /* four times a second, on a busy machine */
	rig_run(r, "ROLLBACK");
	rig_ends(r, rig_update(r, t, &j, 2, "UPDATE items SET v = 5"), SQL_COMMITTED);
	rig_expect(r, r->ops->resolve(s, 0, cache_update_name(j.fence, 2), &found, &r->e), 0);
	assert_int_equal(found, r->transaction);
}

/* --- many at once --------------------------------------------------------------------------- */

/* SQLite lets writers in without a queue: one may be late often, the more so on a busy machine. */
enum { WORKERS = 4, WORKS = 40, WORK_S = 600 };

struct worker {
	pthread_t thread;
	struct rig *r;
	struct sql *s;
	uint16_t self;
	bool raises; /* joins and removes instead */
	uint32_t committed, changed, failed;
};

/* The owner's loop, without homes: look, update. */
static void update_once(struct worker *w, uint64_t number)
{
	struct sql_error e;
	struct sql_look l;
	char epoch[16];
	const char *params[] = { epoch };
	struct sql_statement st[] = {
		{ "UPDATE items SET v = v + 1 WHERE id = 1", 0, NULL },
		{ w->r->pgsql ? "INSERT INTO seen SELECT $1, epoch FROM resex.epoch"
			      : "INSERT INTO seen SELECT $1, epoch FROM resex_epoch",
		  1, params },
	};
	struct sql_update u = { .statements = 2, .statement = st };
	uint64_t transaction, rows[2];
	int rc = w->r->ops->look(w->s, &l, &e);

	if (rc) {
		print_error("%s\n", e.text);
		w->failed++;
		return;
	}
	u.name = cache_update_name(l.fence[w->self], number);
	u.epoch = l.epoch;
	snprintf(epoch, sizeof(epoch), "%u", l.epoch);
	switch (w->r->ops->update(w->s, &u, &transaction, rows, &e)) {
	case SQL_COMMITTED:
		w->committed++;
		break;
	case SQL_CHANGED:
		w->changed++;
		break;
	default:
		print_error("%s\n", e.text);
		w->failed++;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct sql_error e;
	struct sql_joined j;
	uint64_t found;

	for (uint64_t i = 1; i <= WORKS; i++) {
		if (!w->raises)
			update_once(w, i);
		else if (w->r->ops->join(w->s, 0, 0, &j, &e) ||
			 w->r->ops->resolve(w->s, 0, i, &found, &e)) {
			print_error("%s\n", e.text);
			w->failed++;
		}
		if (w->raises)
			rig_sleep_ms(2);
	}
	return NULL;
}

static void *join_often(void *arg)
{
	struct worker *w = arg;
	struct sql_error e;
	struct sql_joined j = { 0 };

	for (int i = 0; i < 10; i++) {
		uint32_t epoch = j.epoch, fence = j.fence;

		if (w->r->ops->join(w->s, 0, 0, &j, &e)) {
			print_error("%s\n", e.text);
			w->failed++;
		} else if (j.epoch <= epoch || j.fence <= fence) {
			w->failed++;
		}
	}
	return NULL;
}

/* Two of them are the same host. */
CONTRACT(many__joins_at_once__each_have_an_epoch_and_a_fence)
{
	struct worker w[WORKERS] = { 0 };
	struct sql_look l;

	for (uint16_t i = 0; i < WORKERS; i++) {
		w[i].r = r;
		w[i].s = rig_handle_in(r, (uint16_t)(i % 3 + 1), WORK_S * NS_PER_S);
	}
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&w[i].thread, NULL, join_often, &w[i]), 0);
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_join(w[i].thread, NULL), 0);
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(w[i].failed, 0);
	l = rig_look(r, w[0].s);
	assert_int_equal(l.epoch, 10 * WORKERS);
	assert_int_equal(l.generation[1], 20);
	assert_int_equal(l.fence[1], 20);
	assert_int_equal(l.generation[2], 10);
	assert_int_equal(l.fence[3], 10);
}

CONTRACT(many__updates_and_joins_at_once__none_is_lost_and_none_is_of_another_epoch)
{
	struct worker w[WORKERS + 1] = { 0 };
	uint32_t committed = 0;

	if (r->pgsql)
		rig_run(r,
			"CREATE TABLE seen (was text, is_now text); GRANT ALL ON seen TO cached");
	else
		rig_run(r, "CREATE TABLE seen (was text, is_now text)");
	for (uint16_t i = 0; i <= WORKERS; i++) {
		w[i].r = r;
		w[i].self = (uint16_t)(i + 1);
		w[i].s = rig_handle_in(r, w[i].self, WORK_S * NS_PER_S);
		w[i].raises = i == WORKERS;
		rig_join(r, w[i].s);
	}
	for (int i = 0; i <= WORKERS; i++)
		assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	for (int i = 0; i <= WORKERS; i++)
		assert_int_equal(pthread_join(w[i].thread, NULL), 0);
	for (int i = 0; i <= WORKERS; i++) {
		assert_int_equal(w[i].failed, 0);
		committed += w[i].committed;
	}
	print_message("%u committed\n", committed);
	assert_true(committed > 0);
	assert_int_equal(rig_item(r), committed);
	assert_int_equal(rig_number(r, "SELECT count(*) FROM seen"), committed);
	assert_int_equal(rig_number(r, "SELECT count(*) FROM seen WHERE was <> is_now"), 0);
}
