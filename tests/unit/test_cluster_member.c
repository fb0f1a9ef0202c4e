// SPDX-License-Identifier: GPL-2.0-or-later
/* cluster: what a host does with corosync's membership, whose library is a fake; host 1 alone. */
#include <sys/stat.h>
#include <unistd.h>

#include "src/reconf/lock.h"
#include "tests/fakes/fake_quorum.h"
#include "tests/unit/cluster_rig.h"
#include "tests/unit/unit.h"

enum { WEB = 0, WEB_NUMBER = 1 };

static const uint32_t nodes_two[] = { 1, 2, 0 };
static const uint32_t nodes_us[] = { 1, 0 };

static int begin(void **state)
{
	struct sites *s = sites_new();

	fake_quorum_reset();
	site_write(s, 1, "test", SITE_TIMES ", \"membership\": \"corosync\"");
	*state = s;
	return 0;
}

static int finish(void **state)
{
	sites_free(*state);
	return 0;
}

static bool quorate(struct sites *s)
{
	struct hostset members;
	uint64_t view;
	bool q;

	cluster_members(s->at[1].c, &view, &members, &q);
	return q;
}

/* In view 12 of hosts 1 and 2, and the lock of web was read: it is free. */
static void site_quorate(struct sites *s)
{
	fake_quorum_vote(1, 12, nodes_two, true);
	site_open(s, 1);
	site_until(s, quorate(s) && site_lock(s, 1, WEB).known);
}

/* Host 3 acquires the lock of web, and host 1 has read it. */
static void bare_host_takes_web(struct sites *s)
{
	uint32_t at = region_lock_offset(WEB_NUMBER);
	uint64_t word;

	bare_open(s, 1);
	word = bare_read(s, 1, at);
	assert_int_equal(bare_cas(s, 1, at, word, region_word(BARE, region_word_seq(word) + 1)),
			 word);
	site_until(s, region_word_id(site_lock(s, 1, WEB).word) == BARE);
}

/* No word is changed, and no change was requested. */
static void assert_decides_nothing(struct sites *s)
{
	uint64_t changes = cluster_changes(s->at[1].c), ticket;

	assert_int_equal(site_break(s, 1, WEB, true, &ticket), -EPERM);
	assert_false(site_lock(s, 1, WEB).known);
	assert_null(site_lock(s, 1, WEB).home);
	sites_pass(s, 3 * NS_PER_S);
	assert_int_equal(cluster_changes(s->at[1].c), changes);
}

TEST_WITH(begin__no_corosync__decides_nothing_until_it_comes, begin, finish)
{
	struct sites *s = *state;

	fake_quorum_die();
	site_open(s, 1);
	sites_pass(s, 3 * NS_PER_S);
	assert_false(quorate(s));
	assert_non_null(strstr(cluster_note(s->at[1].c), "start corosync"));
	assert_decides_nothing(s);
	fake_quorum.refuses = CS_OK;
	fake_quorum_vote(1, 12, nodes_two, true);
	site_until(s, quorate(s) && site_lock(s, 1, WEB).known);
	assert_string_equal(cluster_note(s->at[1].c), "");
	assert_true(site_has_event(s, 1, "members", "view 12 of 2 hosts"));
}

TEST_WITH(corosync__has_not_reported_yet__is_said, begin, finish)
{
	struct sites *s = *state;

	site_open(s, 1);
	sites_pass(s, 100 * MS);
	assert_false(quorate(s));
	assert_non_null(strstr(cluster_note(s->at[1].c), "corosync-quorumtool"));
	assert_decides_nothing(s);
}

TEST_WITH(quorum__lost__no_lock_is_broken_or_even_shown, begin, finish)
{
	struct sites *s = *state;
	uint64_t changes, ticket;

	site_quorate(s);
	bare_host_takes_web(s);
	fake_quorum_ring(1, 16, nodes_us);
	fake_quorum_vote(1, 16, nodes_us, false);
	site_until(s, !quorate(s));
	assert_non_null(strstr(cluster_note(s->at[1].c), "1 of the cluster's 3 hosts"));
	assert_non_null(strstr(cluster_note(s->at[1].c), "mend the network"));
	assert_decides_nothing(s);
	assert_int_equal(region_word_id(bare_read(s, 1, region_lock_offset(WEB_NUMBER))), BARE);
	fake_quorum_vote(1, 20, nodes_two, true);
	site_until(s, quorate(s) && site_lock(s, 1, WEB).known);
	assert_string_equal(cluster_note(s->at[1].c), "");
	changes = cluster_changes(s->at[1].c);
	assert_int_equal(site_break(s, 1, WEB, true, &ticket), -EINPROGRESS);
	site_until(s, region_word_id(site_lock(s, 1, WEB).word) == REGION_LOCK_BROKEN);
	assert_int_equal(cluster_changes(s->at[1].c), changes + 1);
}

TEST_WITH(corosync__dies__its_locks_are_not_touched_until_it_is_back, begin, finish)
{
	struct sites *s = *state;

	site_quorate(s);
	bare_host_takes_web(s);
	fake_quorum_die();
	site_until(s, !quorate(s));
	assert_non_null(strstr(cluster_note(s->at[1].c), "start corosync"));
	assert_decides_nothing(s);
	fake_quorum.refuses = CS_OK;
	fake_quorum_vote(1, 12, nodes_two, true);
	site_until(s, quorate(s) && region_word_id(site_lock(s, 1, WEB).word) == BARE);
}

TEST_WITH(note__a_long_one_that_lasts__is_logged_once_and_its_end, begin, finish)
{
	struct sites *s = *state;
	struct log *log = &s->at[1].g->log;
	char text[65536] = "", *first;

	close(log->fd);
	log->fd = open(tmp_at(&s->dir, "log"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	fake_quorum.type = QUORUM_FREE;
	site_open(s, 1);
	sites_pass(s, 10 * NS_PER_S);
	assert_true(pread(log->fd, text, sizeof(text) - 1, 0) > 0);
	first = strstr(text, "provider: corosync_votequorum }");
	assert_non_null(first);
	assert_null(strstr(first + 1, "provider: corosync_votequorum }"));
	assert_null(strstr(first, "has a quorum"));
	fake_quorum.type = QUORUM_SET;
	sites_pass(s, 2 * NS_PER_S); /* connected, but no view yet */
	fake_quorum_vote(1, 12, nodes_two, true);
	site_until(s, quorate(s));
	sites_pass(s, NS_PER_S);
	assert_true(pread(log->fd, text, sizeof(text) - 1, 0) > 0);
	first = strstr(first, "corosync has a quorum in view 12");
	assert_non_null(first);
	assert_null(strstr(first + 1, "corosync"));
}
