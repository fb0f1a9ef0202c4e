// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_words: host 1 has two nodes. Host 3 is bare, and moves them by CAS. What is on disk then,
 * what the kept words say, and with which words host 1 starts again.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/shared/nodes_file.h"
#include "tests/unit/cluster_rig.h"
#include "tests/unit/unit.h"

enum { WEB = 1, MAIL = 255, NODE = 2 };

#define NODES                                                                                      \
	SITE_TIMES ", \"nodes\": ["                                                                \
		   "{\"name\": \"n0\", \"number\": 0, \"host\": \"xen1\", \"service\": \"mail\"}," \
		   "{\"name\": \"n2\", \"number\": 2, \"host\": \"xen1\", \"guest\": \"g\","       \
		   " \"service\": \"web\"}]"
#define OTHERS                                                                                     \
	SITE_TIMES ", \"nodes\": ["                                                                \
		   "{\"name\": \"n0\", \"number\": 0, \"host\": \"xen1\", \"service\": \"mail\"}," \
		   "{\"name\": \"n3\", \"number\": 3, \"host\": \"xen2\", \"service\": \"web\"}"   \
		   "], \"reconf\": {\"S\": \"100ms\", \"T\": \"4s\"}"
#define RECONF NODES ", \"reconf\": {\"S\": \"100ms\", \"T\": \"4s\"}"

static int setup(void **state)
{
	struct sites *s = sites_new();

	*state = s;
	site_write(s, 1, "test", RECONF);
	site_open(s, 1);
	bare_open(s, 1);
	return 0;
}

static int teardown(void **state)
{
	sites_free(*state);
	return 0;
}

#define RIG_TEST(name) TEST_WITH(name, setup, teardown)

static uint64_t word(struct sites *s, uint32_t node)
{
	return bare_read(s, 1, region_node_offset(node));
}

static uint64_t kept(struct sites *s, uint32_t node)
{
	return bare_read(s, 1, region_kept_offset(node));
}

static uint64_t on_disk(struct sites *s, uint32_t node)
{
	uint64_t file[REGION_NODES_MAX];

	assert_int_equal(nodes_file_load(s->at[1].g->dir.path, NODES_FILE_WORDS, file), 0);
	return file[node];
}

static void move(struct sites *s, uint16_t service)
{
	uint64_t was = word(s, NODE);
	uint64_t to = region_word(service, region_seq_next(region_word_seq(was)));

	assert_int_equal(bare_cas(s, 1, region_node_offset(NODE), was, to), was);
}

static void start_again(struct sites *s)
{
	transport_close(s->bare);
	s->bare = NULL;
	site_open(s, 1);
	bare_open(s, 1);
}

static void restart(struct sites *s)
{
	site_kill(s, 1);
	start_again(s);
}

static bool is_saved(struct sites *s)
{
	return kept(s, NODE) == word(s, NODE) && on_disk(s, NODE) == word(s, NODE);
}

static struct cluster_node_seen seen_by(struct sites *s, int host, uint32_t i)
{
	struct cluster_node_seen x;

	cluster_node_see(s->at[host].c, i, s->now, &x);
	return x;
}

static struct cluster_node_seen seen(struct sites *s, uint32_t i)
{
	return seen_by(s, 1, i);
}

RIG_TEST(words__are_read_with_each_scan__of_the_link_that_is_up)
{
	struct sites *s = *state;
	uint64_t ticket;

	assert_false(seen(s, 1).word_known || seen(s, 1).service);
	site_until(s, seen(s, 1).word_known);
	assert_string_equal(seen(s, 1).service->name, "web");
	assert_string_equal(seen(s, 0).service->name, "mail");
	assert_true(seen(s, 1).kept);
	assert_in_range(seen(s, 1).word_age_ns, 0, 2 * SCAN);
	s->at[1].busy = true; /* it does not save */
	move(s, MAIL);
	site_until(s, seen(s, 1).service->number == MAIL);
	assert_false(seen(s, 1).kept);
	assert_string_equal(seen(s, 1).conf->name, "n2");
	s->at[1].busy = false;
	site_until(s, seen(s, 1).kept);
	move(s, 7); /* no service has this number */
	site_until(s, !seen(s, 1).service);
	assert_true(seen(s, 1).word_known);
	assert_int_equal(site_reload(s, 1, SITES, NODES, SITE_SERVICES, &ticket), 0);
	site_until(s, cluster_reload_result(s->at[1].c, ticket) == 0);
	sites_pass(s, 2 * SCAN);
	assert_string_equal(seen(s, 1).service->name, "web");
	assert_false(seen(s, 1).word_known);
}

RIG_TEST(words_of_a_host__that_hangs__are_read__and_of_one_that_is_gone_are_not_known)
{
	struct sites *s = *state;

	site_write(s, 2, "test", RECONF);
	site_open(s, 2);
	site_until(s, seen_by(s, 2, 1).word_known);
	s->at[1].stopped = true;
	sites_pass(s, 10 * SCAN);
	assert_in_range(seen_by(s, 2, 1).word_age_ns, 0, 2 * SCAN);
	site_kill(s, 1);
	site_until(s, !seen_by(s, 2, 1).word_known);
}

RIG_TEST(first_start__each_node_is_in_its_configured_service_on_disk)
{
	struct sites *s = *state;

	assert_int_equal(word(s, NODE), region_word(WEB, region_seq(0, 1)));
	assert_int_equal(word(s, 0), region_word(MAIL, region_seq(0, 1)));
	assert_true(is_saved(s));
	assert_int_equal(on_disk(s, 0), word(s, 0));
	/* a node that is not configured is in no service, and not in the file: it may be later */
	assert_int_equal(region_word_id(word(s, 1)), 0);
	assert_int_equal(on_disk(s, 1), 0);
	assert_int_equal(on_disk(s, NODE + 1), 0);
}

RIG_TEST(move__is_saved_by_control_before_it_is_kept__and_outlives_a_restart)
{
	struct sites *s = *state;
	uint64_t before = word(s, NODE), after;

	s->at[1].busy = true;
	move(s, MAIL);
	sites_pass(s, 3 * SCAN);
	after = word(s, NODE);
	assert_int_equal(kept(s, NODE), before);
	assert_int_equal(on_disk(s, NODE), before);
	s->at[1].busy = false;
	site_until(s, is_saved(s));
	assert_int_equal(on_disk(s, NODE), after);
	assert_int_equal(on_disk(s, 1), 0);
	restart(s);
	assert_int_equal(word(s, NODE), after);
	assert_true(is_saved(s));
	/* the new life keeps the next move, too */
	move(s, WEB);
	site_until(s, is_saved(s));
	assert_int_equal(region_word_id(on_disk(s, NODE)), WEB);
}

static ino_t inode(struct sites *s)
{
	struct stat st;

	assert_int_equal(stat(tmp_at(&s->at[1].g->dir, "nodes"), &st), 0);
	return st.st_ino;
}

RIG_TEST(restart__writes_the_file_only_if_it_would_change)
{
	struct sites *s = *state;
	ino_t before;

	move(s, MAIL);
	site_until(s, is_saved(s));
	before = inode(s);
	restart(s);
	assert_int_equal(inode(s), before);
	/* a node that is left out is forgotten, and begins anew when it comes back */
	site_write(s, 1, "test", OTHERS);
	restart(s);
	assert_int_not_equal(inode(s), before);
	assert_int_equal(on_disk(s, NODE), 0);
	site_write(s, 1, "test", RECONF);
	restart(s);
	assert_int_equal(region_word_id(word(s, NODE)), WEB);
}

RIG_TEST(file_that_cannot_be_written__is_one_event__and_the_node_is_kept_later)
{
	struct sites *s = *state;
	struct tmpdir *dir = &s->at[1].g->dir;
	uint64_t before = kept(s, NODE);

	assert_int_equal(mkdir(tmp_at(dir, "nodes.new"), 0700), 0);
	move(s, MAIL);
	site_until(s, site_has_event(s, 1, "reconf", "/nodes cannot be written: Is a directory"));
	sites_pass(s, 5 * SCAN);
	assert_int_equal(kept(s, NODE), before);
	assert_int_equal(rmdir(tmp_at(dir, "nodes.new")), 0);
	site_until(s, site_has_event(s, 1, "reconf", "/nodes is written again"));
	site_until(s, is_saved(s));
}

RIG_TEST(damaged_file__leaves_the_nodes_in_no_service__and_none_begins_them_anew)
{
	struct sites *s = *state;
	struct tmpdir *dir = &s->at[1].g->dir;

	move(s, MAIL);
	site_until(s, is_saved(s));
	tmp_write(dir, "nodes", "resex nodes 1\n2 1 0 1\ncrc 00000000\n");
	restart(s);
	assert_int_equal(region_word_id(word(s, NODE)), 0);
	assert_true(site_has_event(s, 1, "reconf", "/nodes is damaged"));
	restart(s);
	assert_int_equal(region_word_id(word(s, NODE)), 0);
	site_kill(s, 1);
	unlink(tmp_at(dir, "nodes"));
	start_again(s);
	assert_int_equal(region_word_id(word(s, NODE)), WEB);
}

RIG_TEST(without_reconf__each_node_is_in_its_configured_service)
{
	struct sites *s = *state;

	move(s, MAIL);
	site_until(s, is_saved(s));
	site_write(s, 1, "test", NODES);
	restart(s);
	assert_int_equal(region_word_id(word(s, NODE)), WEB);
	sites_pass(s, 3 * SCAN);
	assert_string_equal(seen(s, 1).service->name, "web");
	assert_false(seen(s, 1).word_known);
	assert_null(s->at[1].c->worker.node_words[0]);
	assert_true(is_saved(s));
}

RIG_TEST(file_that_cannot_be_read_or_written_at_the_start__is_no_start)
{
	struct sites *s = *state;
	struct tmpdir *dir = &s->at[1].g->dir;
	struct conf_error e = { 0 };

	site_kill(s, 1);
	unlink(tmp_at(dir, "nodes"));
	assert_int_equal(symlink("nodes", tmp_at(dir, "nodes")), 0);
	assert_int_equal(site_try(s, 1, &e), -ELOOP);
	assert_non_null(strstr(e.text, "/nodes cannot be read: "));
	unlink(tmp_at(dir, "nodes"));
	assert_int_equal(mkdir(tmp_at(dir, "nodes.new"), 0700), 0);
	assert_int_equal(site_try(s, 1, &e), -EISDIR);
	assert_non_null(strstr(e.text, "/nodes cannot be written: "));
	assert_int_equal(rmdir(tmp_at(dir, "nodes.new")), 0);
	start_again(s);
	assert_true(is_saved(s));
}
