// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * haproxy_text: each row is a reply of HAProxy's, and what is made of it. Each is fed three times:
 * at once, byte by byte, and cut at random.
 */
#include <string.h>

#include "src/reconf/haproxy_text.h"
#include "tests/unit/prop.h"

#define STATE                                                                                      \
	"1\n# be_id be_name srv_id srv_name srv_op_state srv_admin_state srv_uweight srv_iweight " \
	"srv_fqdn\n"
#define STAT   "# pxname,svname,qcur,qmax,scur,smax,slim,stot,rtime,last_chk,\n"
#define END    "\n> "
#define EMPTY  HAPROXY_REPLY_EMPTY
#define INFO   HAPROXY_REPLY_INFO
#define STATES HAPROXY_REPLY_STATE
#define STATS  HAPROXY_REPLY_STAT

static const struct act_conf conf = {
	.backend = "web",
	.servers = 3,
	.server = { "n1", "n2", "n3" },
};

/*
 * servers: of each: "-", or its weight, "d" if it is down, of STATES also "D" if it is drained and
 * "M" in maintenance, "=" and a configured weight but 7, and
 * queued/own, served and the response time of STATS.
 */
static const struct row {
	const char *name;
	enum haproxy_reply kind;
	const char *reply;
	enum haproxy_fault fault;
	const char *words, *servers;
	uint32_t backend;
} rows[] = {
	{ "empty__nothing__is_good", EMPTY, END, HAPROXY_GOOD, "", NULL, 0 },
	{ "empty__words__are_told", EMPTY, "No such server.\n" END, HAPROXY_SAID, "No such server.",
	  NULL, 0 },
	{ "empty__words_without_an_end__are_told", EMPTY, "No" END, HAPROXY_SAID, "No", NULL, 0 },
	{ "empty__the_first_line_is_told", EMPTY, "one\n\ntwo\n" END, HAPROXY_SAID, "one", NULL,
	  0 },
	{ "empty__what_a_terminal_would_do__is_a_question_mark", EMPTY, "\x1b[2J\x7f\xc2\n" END,
	  HAPROXY_SAID, "?[2J??", NULL, 0 },
	{ "empty__a_prompt_inside_a_line__is_text", EMPTY, "a> \n" END, HAPROXY_SAID, "a> ", NULL,
	  0 },
	{ "empty__a_prompt_before_any_line__is_text", EMPTY, "> \n" END, HAPROXY_SAID, "> ", NULL,
	  0 },
	{ "empty__long_words_are_cut", EMPTY,
	  "123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 "
	  "123456789 12345X\n" END,
	  HAPROXY_SAID,
	  "123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 "
	  "123456789 12345",
	  NULL, 0 },

	{ "info__a_process_that_serves__is_good", INFO,
	  "Name: HAProxy\nPid: 1\nStopping: 0\nStopping: 1x\n" END, HAPROXY_STOPPING,
	  "Stopping: 1x", NULL, 0 },
	{ "info__serves", INFO, "Name: HAProxy\nStopping: 0\nnode: Stopping: 1\n" END, HAPROXY_GOOD,
	  "", NULL, 0 },
	{ "info__a_process_that_stops__is_told", INFO, "Name: x\nStopping: 1\n" END,
	  HAPROXY_STOPPING, "Stopping: 1", NULL, 0 },
	{ "info__without_stopping__is_a_fault", INFO, "Name: HAProxy\nStopping:\n" END,
	  HAPROXY_NO_STOPPING, "", NULL, 0 },
	{ "info__other_words__are_told", INFO, "Permission denied\n" END, HAPROXY_SAID,
	  "Permission denied", NULL, 0 },
	{ "info__words_behind_its_end__are_told", INFO, "Name: a\nStopping: 0\n\nmore\n" END,
	  HAPROXY_SAID, "more", NULL, 0 },

	{ "state__weights_in_any_order__go_to_their_servers", STATES,
	  STATE "3 web 9 n3 2 0 256 7 -\n3 web 1 n1 2 0 0 7 -\n3 web 7 n2 1 0 7 7 f.g\n" END,
	  HAPROXY_GOOD, "", "0 7 256", 3 },
	{ "state__columns_are_found_by_name", STATES,
	  "1\n# srv_uweight x srv_name srv_admin_state srv_op_state be_name srv_iweight be_id\n"
	  "5 2 n2 0 2 web 9 4\n" END,
	  HAPROXY_GOOD, "", "- 5=9 -", 4 },
	{ "state__the_first_of_two_columns_counts", STATES,
	  "1\n# be_id be_name srv_name srv_op_state srv_admin_state srv_uweight srv_uweight "
	  "srv_iweight\n"
	  "4 web n2 2 0 6 9 8\n" END,
	  HAPROXY_GOOD, "", "- 6=8 -", 4 },
	{ "state__a_server_that_was_not_asked_for__is_passed_over", STATES,
	  STATE "3 web 9 n33 2 0 1 7 -\n3 web 9 n 2 0 1 7 -\n3 web 1 n1 2 0 8 7 -\n" END,
	  HAPROXY_GOOD, "", "8 - -", 3 },
	{ "state__a_backend_without_servers", STATES, STATE END, HAPROXY_GOOD, "", "- - -", 0 },
	{ "state__stopped_and_stopping_servers_are_down", STATES,
	  STATE "3 web 1 n1 0 0 1 7 -\n3 web 2 n2 3 0 2 7 -\n3 web 3 n3 1 0 3 7 -\n" END,
	  HAPROXY_GOOD, "", "1d 2d 3", 3 },
	{ "state__maintenance_is_down", STATES,
	  STATE "3 web 1 n1 2 1 1 7 -\n3 web 2 n2 2 2 2 7 -\n3 web 3 n3 2 32 3 7 -\n" END,
	  HAPROXY_GOOD, "", "1dM 2d 3d", 3 },
	{ "state__drained_is_down__configured_as_disabled_is_not", STATES,
	  STATE "3 web 1 n1 2 8 1 7 -\n3 web 2 n2 2 16 2 7 -\n3 web 3 n3 2 68 3 7 -\n" END,
	  HAPROXY_GOOD, "", "1dD 2d 3", 3 },
	{ "state__what_was_forced_is_told__maintenance_before_drain", STATES,
	  STATE "3 web 1 n1 0 5 1 7 -\n3 web 2 n2 2 12 2 7 -\n3 web 3 n3 0 57 3 7 -\n" END,
	  HAPROXY_GOOD, "", "1dM 2dD 3dM", 3 },
	{ "state__what_is_inherited_is_not_forced", STATES,
	  STATE "3 web 1 n1 0 50 1 7 -\n3 web 2 n2 2 24 2 7 -\n3 web 3 n3 0 51 3 7 -\n" END,
	  HAPROXY_GOOD, "", "1d 2dD 3dM", 3 },
	{ "state__no_such_backend__is_told", STATES, "Can't find backend.\n" END, HAPROXY_SAID,
	  "Can't find backend.", "- - -", 0 },
	{ "state__no_word__is_told", STATES, END, HAPROXY_SAID, "", "- - -", 0 },
	{ "state__another_version__is_told", STATES, "2\n# be_id\n" END, HAPROXY_SAID, "2", "- - -",
	  0 },
	{ "state__no_header__is_told", STATES, "1\nbe_id be_name\n" END, HAPROXY_SAID,
	  "be_id be_name", "- - -", 0 },
	{ "state__an_empty_header__is_told", STATES, "1\n#\n" END, HAPROXY_SAID, "#", "- - -", 0 },
	{ "state__only_a_version__is_told", STATES, "1\n" END, HAPROXY_SAID, "", "- - -", 0 },
	{ "state__a_column_is_missing", STATES,
	  "1\n# be_id be_name srv_name srv_op_state srv_admin_state srv_weight\n" END,
	  HAPROXY_COLUMN, "srv_uweight", "- - -", 0 },
	{ "state__the_last_column_is_missing", STATES,
	  "1\n# be_id be_name srv_name srv_op_state srv_admin_state srv_uweight\n" END,
	  HAPROXY_COLUMN, "srv_iweight", "- - -", 0 },
	{ "state__a_column_of_a_longer_name__is_another", STATES,
	  "1\n# be_idx be_name srv_name srv_op_state srv_admin_state srv_uweight\n" END,
	  HAPROXY_COLUMN, "be_id", "- - -", 0 },
	{ "state__a_short_row", STATES, STATE "3 web 1 n1 2 0 5 7\n" END, HAPROXY_ROW,
	  "3 web 1 n1 2 0 5 7", "- - -", 0 },
	{ "state__a_long_row", STATES, STATE "3 web 1 n1 2 0 5 7 - -\n" END, HAPROXY_ROW,
	  "3 web 1 n1 2 0 5 7 - -", "- - -", 0 },
	{ "state__a_row_of_another_backend", STATES, STATE "3 webb 1 n1 2 0 5 7 -\n" END,
	  HAPROXY_ROW, "3 webb 1 n1 2 0 5 7 -", "- - -", 0 },
	{ "state__two_numbers_of_one_backend", STATES,
	  STATE "3 web 1 n1 2 0 5 7 -\n4 web 1 n2 2 0 5 7 -\n" END, HAPROXY_ROW,
	  "4 web 1 n2 2 0 5 7 -", "5 - -", 3 },
	{ "state__backend_0", STATES, STATE "0 web 1 n1 2 0 5 7 -\n" END, HAPROXY_ROW,
	  "0 web 1 n1 2 0 5 7 -", "- - -", 0 },
	{ "state__a_row_behind_the_end", STATES, STATE "\n3 web 1 n1 2 0 5 7 -\n" END, HAPROXY_SAID,
	  "3 web 1 n1 2 0 5 7 -", "- - -", 0 },
	{ "state__weight_257", STATES, STATE "3 web 1 n1 2 0 257 7 -\n" END, HAPROXY_NUMBER,
	  "srv_uweight", "- - -", 0 },
	{ "state__weight_negative", STATES, STATE "3 web 1 n1 2 0 -1 7 -\n" END, HAPROXY_NUMBER,
	  "srv_uweight", "- - -", 0 },
	{ "state__weight_empty", STATES, STATE "3 web 1 n1 2 0   -\n" END, HAPROXY_NUMBER,
	  "srv_uweight", "- - -", 0 },
	{ "state__weight_that_wraps", STATES, STATE "3 web 1 n1 2 0 18446744073709551617 7 -\n" END,
	  HAPROXY_NUMBER, "srv_uweight", "- - -", 0 },
	{ "state__configured_weight_257", STATES, STATE "3 web 1 n1 2 0 5 257 -\n" END,
	  HAPROXY_NUMBER, "srv_iweight", "- - -", 0 },
	{ "state__state_4", STATES, STATE "3 web 1 n1 4 0 1 7 -\n" END, HAPROXY_NUMBER,
	  "srv_op_state", "- - -", 0 },
	{ "state__admin_no_number", STATES, STATE "3 web 1 n1 2 0x0 1 7 -\n" END, HAPROXY_NUMBER,
	  "srv_admin_state", "- - -", 0 },
	{ "state__two_servers_of_a_name", STATES,
	  STATE "3 web 1 n1 2 0 5 7 -\n3 web 2 n1 2 0 6 7 -\n" END, HAPROXY_TWICE, "n1", "5 - -",
	  3 },
	{ "state__after_a_fault_nothing_is_read", STATES,
	  STATE "3 web 1 n1 2 0\n3 web 2 n2 2 0 6 7 -\n" END, HAPROXY_ROW, "3 web 1 n1 2 0",
	  "- - -", 0 },

	{ "stat__queued_and_current_are_own__rtime_is_in_ms", STATS,
	  STAT "web,n1,1,9,2,9,,100,4,,\nweb,n2,0,9,0,9,,18446744073709551615,0,,\n"
	       "web,n3,3,0,0,0,,0,2147483647,,\n" END,
	  HAPROXY_GOOD, "", "50(1/3,100,4) 60(0/0,18446744073709551615,0) 70(3/3,0,2147483647)",
	  0 },
	{ "stat__quoted_text_has_separators", STATS,
	  STAT "web,n1,1,9,2,9,,5,4,\"a,\"\"b\"\",c\",\nweb,n2,0,0,0,0,,6,4,,\n" END, HAPROXY_GOOD,
	  "", "50(1/3,5,4) 60(0/0,6,4) -", 0 },
	{ "stat__a_server_that_it_does_not_name__is_not_there", STATS,
	  STAT "web,n2,0,0,0,0,,6,4,,\nweb,n4,0,0,0,0,,6,4,,\n" END, HAPROXY_GOOD, "",
	  "- 60(0/0,6,4) -", 0 },
	{ "stat__a_quote_without_an_end", STATS, STAT "web,n1,1,9,2,9,,5,4,\"a,\n" END, HAPROXY_ROW,
	  "web,n1,1,9,2,9,,5,4,\"a,", "- - -", 0 },
	{ "stat__a_column_is_missing", STATS, "# pxname,svname,qcur,scur,\n" END, HAPROXY_COLUMN,
	  "stot", "- - -", 0 },
	{ "stat__the_last_column_is_missing", STATS, "# pxname,svname,qcur,scur,stot,\n" END,
	  HAPROXY_COLUMN, "rtime", "- - -", 0 },
	{ "stat__another_backend", STATS, STAT "we,n1,1,9,2,9,,5,4,,\n" END, HAPROXY_ROW,
	  "we,n1,1,9,2,9,,5,4,,", "- - -", 0 },
	{ "stat__a_short_row", STATS, STAT "web,n1,1,9,2,9,,5,4,\n" END, HAPROXY_ROW,
	  "web,n1,1,9,2,9,,5,4,", "- - -", 0 },
	{ "stat__queue_too_long", STATS, STAT "web,n1,2147483648,9,2,9,,5,4,,\n" END,
	  HAPROXY_NUMBER, "qcur", "- - -", 0 },
	{ "stat__current_empty", STATS, STAT "web,n1,1,9,,9,,5,4,,\n" END, HAPROXY_NUMBER, "scur",
	  "- - -", 0 },
	{ "stat__current_too_many", STATS, STAT "web,n1,1,9,2147483648,9,,5,4,,\n" END,
	  HAPROXY_NUMBER, "scur", "- - -", 0 },
	{ "stat__total_above_64_bits", STATS, STAT "web,n1,1,9,2,9,,18446744073709551616,4,,\n" END,
	  HAPROXY_NUMBER, "stot", "- - -", 0 },
	{ "stat__two_servers_of_a_name", STATS,
	  STAT "web,n1,1,9,2,9,,5,4,,\nweb,n1,1,9,2,9,,5,4,,\n" END, HAPROXY_TWICE, "n1",
	  "50(1/3,5,4) - -", 0 },
	{ "stat__response_time_too_long", STATS, STAT "web,n1,1,9,2,9,,5,2147483648,,\n" END,
	  HAPROXY_NUMBER, "rtime", "- - -", 0 },
	{ "stat__no_such_proxy__is_told", STATS, "No such proxy.\n" END, HAPROXY_SAID,
	  "No such proxy.", "- - -", 0 },
};

/* By enum act_want. */
static const char *const admin[] = { "?", "", "D", "M" };

static const char *shown(const struct act_server *s, enum haproxy_reply kind)
{
	static char text[256];
	size_t n = 0;

	for (uint32_t i = 0; i < conf.servers; i++) {
		n += (size_t)sprintf(text + n, i ? " " : "");
		if (!s[i].there)
			n += (size_t)sprintf(text + n, "-");
		else
			n += (size_t)sprintf(text + n, "%u%s", s[i].weight, s[i].up ? "" : "d");
		if (s[i].there && kind == STATES)
			n += (size_t)sprintf(text + n, "%s", admin[s[i].admin]);
		if (s[i].there && kind == STATES && s[i].initial != 7)
			n += (size_t)sprintf(text + n, "=%u", s[i].initial);
		if (s[i].there && kind == STATS)
			n += (size_t)sprintf(text + n, "(%u/%u,%ju,%ju)", s[i].queued, s[i].own,
					     (uintmax_t)s[i].served,
					     (uintmax_t)(s[i].latency_ns / NS_PER_MS));
	}
	return text;
}

/* Feeds at most piece bytes at a time; 0: a number of them drawn anew each time. */
static void feed(const struct row *r, size_t piece, struct prop *p)
{
	struct act_server server[HAPROXY_SERVERS_MAX] = {
		{ .there = true, .up = true, .weight = 50 },
		{ .there = true, .up = true, .weight = 60 },
		{ .there = true, .up = true, .weight = 70 },
	};
	static struct haproxy_text t;
	size_t len = strlen(r->reply), at = 0, used, n;
	/* What follows is of the next reply. Of its very length: a read beyond it is found. */
	char *copy = malloc(len + 2);

	assert_non_null(copy);
	memcpy(copy, r->reply, len);
	memcpy(copy + len, "x\n", 2);
	haproxy_text_begin(&t, &conf, r->kind, server);
	for (;;) {
		n = piece ? piece : prop_range(p, 1, 40);
		if (n > len + 2 - at)
			n = len + 2 - at;
		if (haproxy_text_feed(&t, copy + at, n, &used))
			break;
		assert_int_equal(used, n);
		at += used;
		assert_in_range(at, 1, len - 1);
	}
	assert_int_equal(at + used, len);
	free(copy);
	assert_int_equal(t.fault, r->fault);
	assert_string_equal(t.words, r->words);
	assert_int_equal(t.backend, r->backend);
	if (r->servers)
		assert_string_equal(shown(server, r->kind), r->servers);
	else
		assert_string_equal(shown(server, EMPTY), "50 60 70");
}

static void run(void **state)
{
	struct prop p;

	prop_start(&p);
	feed(*state, SIZE_MAX, &p);
	feed(*state, 1, &p);
	for (int i = 0; i < 20; i++)
		feed(*state, 0, &p);
}
TEST_ROWS(rows, run)

/* n bytes of this text, again and again, into a reply of this kind. */
static void pour(struct haproxy_text *t, enum haproxy_reply kind, const char *text, size_t n)
{
	static struct act_server server[HAPROXY_SERVERS_MAX];
	size_t len = strlen(text), used;

	haproxy_text_begin(t, &conf, kind, server);
	for (; n >= len && !t->lost; n -= len) {
		assert_false(haproxy_text_feed(t, text, len, &used));
		assert_true(t->lost || used == len);
	}
}

TEST(a_line_at_the_limit_is_read__a_longer_one_is_lost)
{
	struct haproxy_text *t = malloc(sizeof(*t));
	size_t used;

	pour(t, EMPTY, "x", HAPROXY_LINE_MAX);
	assert_true(haproxy_text_feed(t, "\n\n> ", 4, &used));
	assert_int_equal(t->fault, HAPROXY_SAID);
	pour(t, EMPTY, "x", HAPROXY_LINE_MAX + 1);
	assert_true(t->lost);
	assert_int_equal(t->fault, HAPROXY_LINE);
	assert_string_equal(t->words, "");
	free(t);
}

TEST(a_reply_at_the_limit_is_read__a_longer_one_is_lost)
{
	struct haproxy_text *t = malloc(sizeof(*t));
	size_t used;

	pour(t, EMPTY, "a line\n!", HAPROXY_REPLY_MAX - 8);
	assert_true(haproxy_text_feed(t, "1234\n\n> ", 8, &used));
	assert_int_equal(t->fault, HAPROXY_SAID);
	pour(t, EMPTY, "a line\n!", HAPROXY_REPLY_MAX + 8);
	assert_true(t->lost);
	assert_int_equal(t->fault, HAPROXY_REPLY);
	free(t);
}
