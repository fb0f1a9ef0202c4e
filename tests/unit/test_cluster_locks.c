// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_locks: words of services' locks, read and broken. Host 3 is bare: it has no daemon,
 * and acquires locks by CAS. Host 1 is their home, as the lowest of the members.
 */
#include "src/shared/lease.h"
#include "tests/unit/cluster_rig.h"
#include "tests/unit/unit.h"

enum { WEB, MAIL }; /* services of cluster_rig.h, by index; their numbers: */
enum { WEB_AT = REGION_LOCKS + 8 * 1, MAIL_AT = REGION_LOCKS + 8 * 255 };

static uint64_t first(uint64_t generation)
{
	return region_word(0, region_seq((uint32_t)generation, 0));
}

static int pair(void **state)
{
	struct sites *s = sites_pair();

	bare_open(s, 1);
	*state = s;
	return 0;
}

static int finish(void **state)
{
	sites_free(*state);
	return 0;
}

/* Host 3 acquires a service's lock, and host n has read it then. */
static uint64_t take(struct sites *s, uint32_t at, int n)
{
	uint64_t was = bare_read(s, 1, at), word = region_word(BARE, region_word_seq(was) + 1);
	uint32_t i = at == WEB_AT ? WEB : MAIL;

	assert_int_equal(bare_cas(s, 1, at, was, word), was);
	site_until(s, site_lock(s, n, i).word == word);
	return word;
}

static int break_result(struct sites *s, int n, uint64_t ticket)
{
	return cluster_result(s->at[n].c, ticket);
}

/* 0: it is begun; else why not. */
static int break_lock(struct sites *s, int n, uint32_t i, bool force, uint64_t *ticket)
{
	int rc = site_break(s, n, i, force, ticket);

	return rc == -EINPROGRESS ? 0 : rc;
}

/* --- seen --------------------------------------------------------------------------- */

TEST_WITH(locks__never_acquired__are_free_at_the_lowest_member, pair, finish)
{
	struct sites *s = *state;

	for (int n = 1; n <= 2; n++)
		for (uint32_t i = WEB; i <= MAIL; i++) {
			struct cluster_lock l;

			site_until(s, site_lock(s, n, i).known);
			l = site_lock(s, n, i);
			assert_string_equal(l.service->name, i == WEB ? "web" : "mail");
			assert_string_equal(l.home->name, "xen1");
			assert_int_equal(l.word, first(1));
			assert_in_range(l.age_ns, 0, SCAN + MS);
			s->now.ns -= NS_PER_S; /* read after the time of the call */
			assert_int_equal(site_lock(s, n, i).age_ns, 0);
			s->now.ns += NS_PER_S;
		}
}

TEST(lock__not_read_yet__is_unknown_and_not_broken)
{
	struct sites *s = sites_new();
	struct cluster_lock l;
	uint64_t ticket;

	site_open(s, 2); /* its home, host 1, is not there */
	sites_pass(s, 5 * NS_PER_S);
	l = site_lock(s, 2, WEB);
	assert_false(l.known);
	assert_string_equal(l.home->name, "xen1");
	assert_int_equal(break_lock(s, 2, WEB, true, &ticket), -ENOENT);
	assert_int_equal(break_result(s, 2, ticket + 1), -ESRCH);
	sites_free(s);
}

TEST_WITH(lock__unchanged__its_time_grows_until_the_word_changes, pair, finish)
{
	struct sites *s = *state;
	uint64_t word = take(s, MAIL_AT, 2);
	struct cluster_lock l = site_lock(s, 2, MAIL);

	assert_int_equal(region_word_id(l.word), BARE);
	assert_in_range(l.since_ns, 0, SCAN);
	sites_pass(s, 7 * NS_PER_S);
	l = site_lock(s, 2, MAIL);
	assert_int_equal(l.word, word);
	assert_in_range(l.since_ns, 7 * NS_PER_S - SCAN, 7 * NS_PER_S + SCAN);
	assert_in_range(l.age_ns, 0, SCAN + MS);
	/* The same host acquires it again: another word. */
	assert_int_equal(bare_cas(s, 1, MAIL_AT, word, word + 1), word);
	site_until(s, site_lock(s, 2, MAIL).word == word + 1);
	assert_in_range(site_lock(s, 2, MAIL).since_ns, 0, SCAN);
	assert_int_equal(site_lock(s, 2, WEB).word, first(1)); /* not the neighbour's */
}

TEST_WITH(home__went_away__the_lock_stays_as_it_was_seen_and_ages, pair, finish)
{
	struct sites *s = *state;
	uint64_t word = take(s, WEB_AT, 2), ticket;

	site_kill(s, 1);
	site_until(s, site_sees(s, 2, 1).state == CLUSTER_DOWN);
	sites_pass(s, 10 * NS_PER_S);
	assert_true(site_lock(s, 2, WEB).known);
	assert_int_equal(site_lock(s, 2, WEB).word, word);
	assert_true(site_lock(s, 2, WEB).age_ns >= 10 * NS_PER_S);
	assert_int_equal(break_lock(s, 2, WEB, true, &ticket), -ENOTCONN);
	/* Its next start begins with words that it never had before. */
	site_open(s, 1);
	site_until_up(s, 2, 1, 2);
	site_until(s, site_lock(s, 2, WEB).word == first(2));
	assert_in_range(site_lock(s, 2, WEB).since_ns, 0, SCAN);
}

TEST_WITH(read__under_way__is_not_posted_again, pair, finish)
{
	struct sites *s = *state;
	const struct cluster_conf *conf = cluster_conf(s->at[1].c);
	struct transport_event ev = { .type = TRANSPORT_RESULT,
				      .host = 1,
				      .outcome = TRANSPORT_LOST };
	struct locks l = { 0 };

	locks_read(&l, conf, s->bare, 0, s->now); /* there is no home */
	assert_int_equal(l.reads, 0);
	for (int i = 0; i < 3; i++)
		locks_read(&l, conf, s->bare, 1, s->now);
	assert_int_equal(l.reads, 1);
	ev.tag = (uint64_t)CLUSTER_TAG_LOCKS << CLUSTER_TAG_SHIFT | 1;
	locks_result(&l, conf, &ev, s->now);
	assert_false(l.seen[WEB].known);
	locks_read(&l, conf, s->bare, 1, s->now);
	assert_int_equal(l.reads, 2);
	bare_read(s, 1, WEB_AT); /* the READ posted above has ended */
}

/* --- broken ------------------------------------------------------------------------- */

TEST_WITH(break__held_for_long__is_broken_where_it_lies, pair, finish)
{
	struct sites *s = *state;
	uint64_t word = take(s, WEB_AT, 2), ticket = 0;

	sites_pass(s, cluster_break_ns(cluster_conf(s->at[2].c)));
	assert_int_equal(break_lock(s, 2, WEB, false, &ticket), 0);
	assert_true(ticket);
	assert_int_equal(break_result(s, 2, ticket), -EINPROGRESS);
	site_until(s, break_result(s, 2, ticket) != -EINPROGRESS);
	assert_int_equal(break_result(s, 2, ticket), 0);
	assert_int_equal(bare_read(s, 1, WEB_AT), lease_broken_word(word));
	/* The host that broke it shows it at once, the others when they have read it. */
	assert_int_equal(site_lock(s, 2, WEB).word, lease_broken_word(word));
	assert_in_range(site_lock(s, 2, WEB).since_ns, 0, 2 * MS);
	site_until(s, site_lock(s, 1, WEB).word == lease_broken_word(word));
	assert_int_equal(bare_read(s, 1, MAIL_AT), first(1));
	assert_int_equal(break_lock(s, 2, WEB, true, &ticket), -EALREADY); /* it is not held */
}

TEST_WITH(break__by_its_home__goes_through_its_own_link, pair, finish)
{
	struct sites *s = *state;
	uint64_t word = take(s, WEB_AT, 1), ticket;

	assert_int_equal(break_lock(s, 1, WEB, true, &ticket), 0);
	site_until(s, break_result(s, 1, ticket) != -EINPROGRESS);
	assert_int_equal(break_result(s, 1, ticket), 0);
	assert_int_equal(bare_read(s, 1, WEB_AT), lease_broken_word(word));
}

TEST_WITH(break__held_only_lately__needs_force, pair, finish)
{
	struct sites *s = *state;
	int64_t need = cluster_break_ns(cluster_conf(s->at[2].c));
	uint64_t ticket, word = take(s, WEB_AT, 2);
	struct cluster_lock l;

	assert_true(need > 3 * NS_PER_S); /* hold + timeout, and drift */
	assert_int_equal(break_lock(s, 2, WEB, false, &ticket), -EBUSY);
	l = site_lock(s, 2, WEB);
	sites_pass(s, need - l.since_ns - l.age_ns - MS);
	assert_int_equal(break_lock(s, 2, WEB, false, &ticket), -EBUSY);
	assert_int_equal(bare_read(s, 1, WEB_AT), word);
	assert_int_equal(break_lock(s, 2, WEB, true, &ticket), 0);
	site_until(s, break_result(s, 2, ticket) == 0);
}

TEST_WITH(break__free_lock__there_is_nothing_to_break, pair, finish)
{
	struct sites *s = *state;
	uint64_t ticket;

	site_until(s, site_lock(s, 2, WEB).known);
	sites_pass(s, 10 * NS_PER_S);
	assert_int_equal(break_lock(s, 2, WEB, true, &ticket), -EALREADY);
	assert_int_equal(bare_read(s, 1, WEB_AT), first(1));
}

/* What was read last may be out of date: whether the lock is free, and for how long unchanged. */
TEST_WITH(break__home_is_gone__says_that_it_cannot_be_reached, pair, finish)
{
	struct sites *s = *state;
	struct cluster_lock was, is;
	uint64_t ticket;

	site_until(s, site_lock(s, 2, WEB).known);
	sites_pass(s, 2 * NS_PER_S);
	was = site_lock(s, 2, WEB);
	site_kill(s, 1);
	sites_pass(s, 5 * NS_PER_S);
	is = site_lock(s, 2, WEB);
	assert_in_range(is.since_ns, was.since_ns, was.since_ns + 2 * SCAN);
	assert_true(is.age_ns > 4 * NS_PER_S);
	assert_int_equal(break_lock(s, 2, WEB, true, &ticket), -ENOTCONN);
}

TEST_WITH(break__word_changed_meanwhile__leaves_the_new_one_alone, pair, finish)
{
	struct sites *s = *state;
	uint64_t word = take(s, WEB_AT, 2), next = region_word(2, region_word_seq(word) + 2),
		 ticket;

	sites_pass(s, 10 * NS_PER_S);
	assert_int_equal(bare_cas(s, 1, WEB_AT, word, next), word); /* host 2 did not see it yet */
	assert_int_equal(break_lock(s, 2, WEB, false, &ticket), 0);
	site_until(s, break_result(s, 2, ticket) != -EINPROGRESS);
	assert_int_equal(break_result(s, 2, ticket), -ESTALE);
	assert_int_equal(bare_read(s, 1, WEB_AT), next);
	assert_int_equal(site_lock(s, 2, WEB).word, next);
	assert_in_range(site_lock(s, 2, WEB).since_ns, 0, SCAN);
}

TEST_WITH(break__home_goes_away_under_it__ends_and_blocks_no_later_one, pair, finish)
{
	struct sites *s = *state;
	uint64_t ticket;

	take(s, WEB_AT, 2);
	assert_int_equal(break_lock(s, 2, WEB, true, &ticket), 0);
	site_kill(s, 1);
	/* executed in memory that is gone now, or not: the transport decides which it reports */
	site_until(s, break_result(s, 2, ticket) != -EINPROGRESS);
	site_open(s, 1);
	site_until_up(s, 2, 1, 2);
	transport_close(s->bare);
	s->bare = NULL;
	bare_open(s, 1);
	take(s, WEB_AT, 2);
	assert_int_equal(break_lock(s, 2, WEB, true, &ticket), 0);
	site_until(s, break_result(s, 2, ticket) == 0);
}

TEST_WITH(break__each_outcome_of_the_operation__has_its_error, pair, finish)
{
	static const struct {
		enum transport_outcome outcome;
		int64_t old; /* more than the word to be broken */
		int rc;
	} rows[] = {
		{ TRANSPORT_DONE, 0, 0 },
		{ TRANSPORT_DONE, 1, -ESTALE },
		{ TRANSPORT_REFUSED, 0, -ENOTCONN },
		{ TRANSPORT_LOST, 0, -ENOTCONN },
		{ TRANSPORT_UNKNOWN, 0, -EIO },
	};
	const uint64_t word = region_word(2, 99);
	struct sites *s = *state;
	const struct cluster_conf *conf = cluster_conf(s->at[1].c);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t link = transport_link(s->bare, 1);
		struct locks l = { .seen[WEB] = {
					   .known = true, .home = 1, .link = link, .word = word } };
		struct transport_event ev = { .type = TRANSPORT_RESULT,
					      .host = 1,
					      .link = link,
					      .kind = TRANSPORT_CAS64,
					      .outcome = rows[i].outcome,
					      .old = word + (uint64_t)rows[i].old,
					      .tag = (uint64_t)CLUSTER_TAG_BREAK
						     << CLUSTER_TAG_SHIFT };

		/* read at a former home */
		assert_int_equal(locks_break(&l, conf, s->bare, 2, WEB, true, s->now), -ENOENT);
		l.seen[WEB].link--; /* read on an older link: the home may have restarted */
		assert_int_equal(locks_break(&l, conf, s->bare, 1, WEB, true, s->now), -ENOENT);
		l.seen[WEB].link++;
		assert_int_equal(locks_break(&l, conf, s->bare, 1, WEB, true, s->now), 0);
		ev.tag += l.breaks + 1;
		locks_result(&l, conf, &ev, s->now); /* of another break */
		assert_int_equal(locks_break_result(&l), -EINPROGRESS);
		ev.tag--;
		locks_result(&l, conf, &ev, s->now);
		assert_int_equal(locks_break_result(&l), rows[i].rc);
		if (rows[i].outcome != TRANSPORT_DONE)
			assert_int_equal(l.seen[WEB].word, word); /* nothing was read of it */
		bare_read(s, 1, WEB_AT); /* and the CAS posted above has ended */
	}
}

TEST_WITH(break__two_at_once__the_second_has_to_wait, pair, finish)
{
	struct sites *s = *state;
	uint64_t mail, web, a, b;

	web = take(s, WEB_AT, 2);
	mail = take(s, MAIL_AT, 2);
	assert_int_equal(cluster_break(s->at[2].c, WEB, true, &a), 0);
	assert_int_equal(break_lock(s, 2, MAIL, true, &b), -EAGAIN);
	site_until(s, break_result(s, 2, a) == 0);
	assert_int_equal(break_lock(s, 2, MAIL, true, &b), 0);
	assert_int_not_equal(a, b);
	site_until(s, break_result(s, 2, b) == 0);
	assert_int_equal(bare_read(s, 1, WEB_AT), lease_broken_word(web));
	assert_int_equal(bare_read(s, 1, MAIL_AT), lease_broken_word(mail));
}

/* The result of a break is asked for when the next break has begun. */
TEST_WITH(break__ticket_of_an_earlier_one__keeps_its_result, pair, finish)
{
	struct sites *s = *state;
	uint64_t word = take(s, WEB_AT, 2), a, b;

	take(s, MAIL_AT, 2);
	assert_int_equal(break_lock(s, 2, WEB, true, &a), 0);
	site_until(s, break_result(s, 2, a) == 0);
	assert_int_equal(break_lock(s, 2, MAIL, true, &b), 0);
	assert_int_equal(break_result(s, 2, b), -EINPROGRESS);
	assert_int_equal(break_result(s, 2, a), 0);
	site_until(s, break_result(s, 2, b) == 0);
	assert_int_equal(break_result(s, 2, a), 0);
	assert_int_equal(break_result(s, 2, b + 1), -ESRCH);
	assert_int_equal(break_result(s, 2, 0), -ESRCH);
	assert_int_equal(bare_read(s, 1, WEB_AT), lease_broken_word(word));
}

TEST_WITH(break__by_two_hosts__is_done_once, pair, finish)
{
	struct sites *s = *state;
	uint64_t word = take(s, WEB_AT, 2), a, b;

	site_until(s, site_lock(s, 1, WEB).word == word);
	assert_int_equal(break_lock(s, 1, WEB, true, &a), 0);
	assert_int_equal(break_lock(s, 2, WEB, true, &b), 0);
	site_until(s,
		   break_result(s, 1, a) != -EINPROGRESS && break_result(s, 2, b) != -EINPROGRESS);
	assert_int_equal(break_result(s, 1, a) + break_result(s, 2, b), -ESTALE);
	assert_int_equal(bare_read(s, 1, WEB_AT), lease_broken_word(word));
}

/* --- the mailbox ---------------------------------------------------------------------- */

TEST_WITH(requests__more_than_have_room__are_refused_until_the_oldest_is_answered, pair, finish)
{
	struct sites *s = *state;
	struct cluster *c = s->at[2].c;
	uint64_t ticket[MAIL_ROOM], more = 77;

	site_until(s, site_lock(s, 2, WEB).known);
	for (int i = 0; i < MAIL_ROOM; i++) {
		assert_int_equal(cluster_break(c, WEB, true, &ticket[i]), 0);
		assert_int_equal(cluster_result(c, ticket[i]), -EINPROGRESS);
	}
	assert_int_equal(cluster_break(c, WEB, true, &more), -EAGAIN);
	assert_int_equal(more, 77);
	site_until(s, cluster_result(c, ticket[0]) != -EINPROGRESS);
	for (int i = 0; i < MAIL_ROOM; i++)
		assert_int_equal(cluster_result(c, ticket[i]), -EALREADY);
	/* The new one has the place of the oldest, whose answer is gone. */
	assert_int_equal(cluster_break(c, MAIL, true, &more), 0);
	assert_int_equal(cluster_result(c, ticket[0]), -ESRCH);
	assert_int_equal(cluster_result(c, ticket[1]), -EALREADY);
	site_until(s, cluster_result(c, more) == -EALREADY);
}
