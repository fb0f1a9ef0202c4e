// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_cacheload_history: histories that are right, and ones with each rule broken. A row is a
 * script of steps, a step is a unit of time:
 *
 *	base STATE...           the counters at the start
 *	begin THING...          the next update: 1, 2, ...
 *	end N done|undone|unknown
 *	ask A                   a request that will be called A
 *	reply A STATE... -> RULE...   it ends; the rules that it breaks, or "right"
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/cacheload/history.h"
#include "tests/unit/prop.h"

static const struct row {
	const char *name, *script;
} rows[] = {
	/* right ones */
	{ "reply__base__is_right", "base a=5:0 b=0:0; ask A; reply A a=5:0 b=0:0 -> right" },
	{ "reply__base_of_another_run__is_right", "base a=5:3; ask A; reply A a=5:3 -> right" },
	{ "reply__new_after_its_end__is_right",
	  "base a=0:0; begin a; end 1 done; ask A; reply A a=1:1 -> right" },
	{ "reply__old_before_the_end__is_right",
	  "base a=0:0; begin a; ask A; end 1 done; reply A a=0:0 -> right" },
	{ "reply__new_before_the_end__is_right",
	  "base a=0:0; begin a; ask A; reply A a=1:1 -> right" },
	{ "reply__began_before_the_update__may_show_it",
	  "base a=0:0; ask A; begin a; reply A a=1:1 -> right" },
	{ "reply__update_of_another_thing__does_not_matter",
	  "base a=0:0 b=0:0; begin b; end 1 done; ask A; reply A a=0:0 -> right" },
	{ "reply__undone_update__is_not_expected",
	  "base a=0:0; begin a; end 1 undone; ask A; reply A a=0:0 -> right" },
	{ "reply__unknown_update__may_be_there_or_not",
	  "base a=0:0; begin a; end 1 unknown; ask A; reply A a=0:0 -> right; "
	  "ask B; reply B a=1:1 -> right" },
	{ "reply__after_an_undone_one__counts_the_done_ones",
	  "base a=7:0; begin a; end 1 undone; begin a; end 2 done; ask A; reply A a=8:2 -> right" },
	{ "reply__order_of_updates__is_free",
	  "base a=0:0; begin a; begin a; end 1 done; end 2 done; ask A; reply A a=2:1 -> right" },
	{ "reply__new_thing__begins_at_1",
	  "base a=0:0; begin c a; end 1 done; ask A; reply A a=1:1 c=1:1 -> right" },
	{ "reply__in_flight_with_another__may_be_older",
	  "base a=0:0; begin a; ask A; ask B; reply B a=1:1 -> right; reply A a=0:0 -> right" },
	{ "reply__whole_update__is_right",
	  "base a=0:0 b=0:0; begin a b; ask A; reply A a=1:1 b=1:1 -> right; ask B; "
	  "reply B b=1:1 a=1:1 -> right" },
	{ "reply__of_before_beside_after__is_right",
	  "base a=0:0 b=0:0; begin a; begin b; ask A; reply A a=0:0 b=1:2 -> right" },

	/* stale */
	{ "reply__old_after_the_end__is_stale",
	  "base a=0:0; begin a; end 1 done; ask A; reply A a=0:0 -> stale" },
	{ "reply__one_of_two_ends__is_stale",
	  "base a=0:0; begin a; end 1 done; begin a; end 2 done; ask A; reply A a=1:1 -> stale" },
	{ "reply__second_of_two_under_way__is_right",
	  "base a=0:0; begin a; end 1 done; begin a; ask A; end 2 done; reply A a=1:1 -> right" },
	{ "reply__stale_in_one_thing__is_stale",
	  "base a=0:0 b=0:0; begin a; end 1 done; ask A; reply A b=0:0 a=0:0 -> stale" },
	{ "reply__stale_of_a_new_thing__is_stale",
	  "base a=0:0; begin c; end 1 done; ask A; reply A c=0:0 -> stale" },
	{ "reply__stale__teaches_nothing",
	  "base a=0:0; begin a; end 1 done; ask A; reply A a=0:0 -> stale; ask B; "
	  "reply B a=1:1 -> right" },

	/* backwards */
	{ "reply__older_than_one_before__is_backwards",
	  "base a=0:0; begin a; ask A; reply A a=1:1 -> right; ask B; reply B a=0:0 -> backwards" },
	{ "reply__older_than_the_base__is_backwards",
	  "base a=5:0; ask A; reply A a=4:0 -> backwards" },
	{ "reply__older_than_one_before_and_acknowledged__is_both",
	  "base a=0:0; begin a; end 1 done; ask A; reply A a=1:1 -> right; ask B; "
	  "reply B a=0:0 -> stale backwards" },
	{ "reply__backwards_by_an_unknown_update__is_backwards",
	  "base a=0:0; begin a; end 1 unknown; ask A; reply A a=1:1 -> right; ask B; "
	  "reply B a=0:0 -> backwards" },
	{ "reply__older_than_the_base_and_acknowledged__is_both",
	  "base a=5:0; begin a; end 1 done; ask A; reply A a=4:0 -> stale backwards" },

	/* future */
	{ "reply__update_that_has_not_begun__is_future",
	  "base a=0:0; ask A; reply A a=1:1 -> future; begin a" },
	{ "reply__more_than_have_begun__is_future",
	  "base a=0:0; begin a; ask A; reply A a=2:1 -> future" },
	{ "reply__more_than_are_left_of_undone_ones__is_future",
	  "base a=0:0; begin a; begin a; end 1 undone; end 2 done; ask A; reply A a=2:2 -> "
	  "future" },
	{ "reply__last_by_an_update_of_others__is_future",
	  "base a=0:0 b=0:0; begin a; begin b; ask A; reply A a=1:2 -> future" },
	{ "reply__last_by_nobody__is_future",
	  "base a=0:0; begin a; ask A; reply A a=1:0 -> future" },
	{ "reply__last_by_a_number_too_high__is_future",
	  "base a=0:0; begin a; ask A; reply A a=1:9223372036854775807 -> future" },
	{ "reply__unknown_thing__is_future", "base a=0:0; ask A; reply A z=1:1 -> future" },
	{ "reply__huge_counter__is_future",
	  "base a=0:0; begin a; ask A; reply A a=9223372036854775807:1 -> future" },
	{ "reply__future__teaches_nothing",
	  "base a=0:0; begin a; ask A; reply A a=2:1 -> future; ask B; reply B a=0:0 -> right" },

	/* undone */
	{ "reply__shows_an_undone_update__is_undone",
	  "base a=0:0; begin a; begin a; end 1 undone; ask A; reply A a=1:1 -> undone" },
	{ "reply__shows_an_undone_update_alone__is_future",
	  "base a=0:0; begin a; end 1 undone; ask A; reply A a=1:1 -> future" },
	{ "reply__before_it_was_undone__is_right",
	  "base a=0:0; begin a; ask A; reply A a=1:1 -> right; end 1 undone" },

	/* torn, by times */
	{ "reply__old_beside_one_that_began_later__is_torn",
	  "base a=0:0 b=0:0; ask A; begin a; end 1 done; begin b; end 2 done; "
	  "reply A a=0:0 b=1:2 -> torn" },
	{ "reply__old_beside_one_that_began_before_the_end__is_right",
	  "base a=0:0 b=0:0; ask A; begin a; begin b; end 1 done; end 2 done; "
	  "reply A a=0:0 b=1:2 -> right" },
	{ "reply__old_beside_one_that_began_after_it_was_seen__is_torn",
	  "base a=0:0 b=0:0; ask A; begin a; ask B; reply B a=1:1 -> right; begin b; "
	  "reply A a=0:0 b=1:2 -> torn" },
	{ "reply__count_that_began_later__is_torn",
	  "base a=0:0 b=0:0; ask A; begin b; begin a; end 2 done; begin b; "
	  "reply A a=0:0 b=2:1 -> torn" },

	{ "reply__last_update_that_began_later_than_the_count__is_torn",
	  "base a=0:0 b=0:0; ask A; begin a; begin b; end 2 done; begin a; "
	  "reply A a=1:3 b=0:0 -> torn" },

	/* torn, by updates */
	{ "reply__half_that_is_two_updates_behind__is_torn",
	  "base a=0:0 b=0:0; begin b; begin a b; ask A; ask B; reply A a=1:2 b=2:2 -> right; "
	  "reply B a=1:2 b=0:0 -> torn" },
	{ "reply__backwards_beside_what_came_after_it__is_both",
	  "base a=0:0 b=0:0; begin a b; ask A; reply A a=1:1 b=1:1 -> right; begin a; ask B; "
	  "reply B a=2:2 b=0:0 -> backwards torn" },
	{ "reply__half_that_another_reply_shows_whole__is_torn",
	  "base a=0:0 b=0:0; begin a b; ask A; ask B; reply A a=1:1 b=1:1 -> right; "
	  "reply B a=1:1 b=0:0 -> torn" },
	{ "reply__other_half__is_torn",
	  "base a=0:0 b=0:0; begin a b; ask A; ask B; reply A a=1:1 b=1:1 -> right; "
	  "reply B a=0:0 b=1:1 -> torn" },
	{ "reply__next_update_by_half__is_torn",
	  "base a=0:0 b=0:0; begin a b; begin b; ask A; ask B; reply A a=1:1 b=1:1 -> right; "
	  "reply B a=0:0 b=2:2 -> torn" },
	{ "reply__half_that_is_whole_later__is_found_later",
	  "base a=0:0 b=0:0; begin a b; ask A; ask B; reply A a=1:1 b=0:0 -> right; "
	  "reply B b=1:1 -> torn" },
	{ "reply__two_updates_of_one_value__is_torn",
	  "base a=0:0; begin a; begin a; ask A; ask B; reply A a=1:1 -> right; "
	  "reply B a=1:2 -> torn" },
	{ "reply__one_update_of_two_values__is_torn",
	  "base a=0:0; begin a; begin a; ask A; reply A a=1:1 -> right; ask B; "
	  "reply B a=2:1 -> torn" },
	{ "reply__base_by_another_update__is_torn",
	  "base a=5:3; begin a; ask A; reply A a=5:1 -> torn" },
	{ "reply__torn__teaches_nothing",
	  "base a=0:0 b=0:0; begin a b; ask A; ask B; ask C; reply A a=1:1 b=1:1 -> right; "
	  "reply B a=1:1 b=0:0 -> torn; reply C a=0:0 b=0:0 -> right" },
};

enum { ASKED = 26 };

struct rig {
	struct history *h;
	int64_t now;
	int64_t asked[ASKED];
	struct history_state *state;
	size_t space;
	const char *script;
};

static unsigned rule_of(const char *word)
{
	for (unsigned i = 0; i < HISTORY_RULES; i++)
		if (!strcmp(word, history_rule_names[i]))
			return 1u << i;
	assert_string_equal(word, "right");
	return 0;
}

static void show(unsigned bits, char *to)
{
	*to = 0;
	for (unsigned i = 0; i < HISTORY_RULES; i++)
		if (bits >> i & 1)
			strcat(strcat(to, " "), history_rule_names[i]);
}

static void reply(struct rig *r, char *rest)
{
	struct history_reply reply = { .begin = r->asked[*rest - 'A'], .end = r->now };
	char *arrow = strstr(rest, " -> "), why[256], is[128], wanted[128], *next = NULL;
	unsigned bits = 0, got;
	int n;

	assert_non_null(arrow);
	*arrow = 0;
	for (char *w = strtok_r(arrow + 4, " ", &next); w; w = strtok_r(NULL, " ", &next))
		bits |= rule_of(w);
	n = history_read(r->h, rest + 2, strlen(rest + 2), &r->state, &r->space);
	assert_true(n > 0);
	reply.state = r->state;
	reply.states = (size_t)n;
	got = (unsigned)history_reply(r->h, &reply, why, sizeof(why));
	show(got, is);
	show(bits, wanted);
	if (got != bits)
		print_error("\"%s\" of \"%s\"\n", rest, r->script);
	assert_string_equal(is, wanted);
	assert_int_equal(*why != 0, bits != 0);
}

static void end(struct rig *r, const char *rest)
{
	static const char *const names[] = { "", "done", "undone", "unknown" };
	char word[16];
	unsigned n;

	assert_int_equal(sscanf(rest, "%u %15s", &n, word), 2);
	for (enum history_end how = HISTORY_DONE; how <= HISTORY_UNKNOWN; how++)
		if (!strcmp(word, names[how])) {
			assert_true(history_end(r->h, n, r->now, how));
			assert_false(history_end(r->h, n, r->now, how));
			return;
		}
	fail_msg("no such end: %s", rest);
}

static void begin(struct rig *r, char *rest)
{
	uint32_t thing[HISTORY_CHANGES_MAX];
	char *next = NULL;
	size_t n = 0;

	for (char *w = strtok_r(rest, " ", &next); w; w = strtok_r(NULL, " ", &next))
		thing[n++] = (uint32_t)history_thing(r->h, w, strlen(w));
	assert_true(history_begin(r->h, r->now, thing, n) > 0);
}

static void step(struct rig *r, char *text)
{
	char *rest = strchr(text, ' ');
	int n;

	*rest++ = 0;
	r->now++;
	if (!strcmp(text, "base")) {
		n = history_read(r->h, rest, strlen(rest), &r->state, &r->space);
		assert_true(n > 0);
		for (int i = 0; i < n; i++)
			history_base(r->h, &r->state[i]);
	} else if (!strcmp(text, "ask")) {
		r->asked[*rest - 'A'] = r->now;
	} else if (!strcmp(text, "begin")) {
		begin(r, rest);
	} else if (!strcmp(text, "end")) {
		end(r, rest);
	} else {
		assert_string_equal(text, "reply");
		reply(r, rest);
	}
}

static void run_row(void **state)
{
	const struct row *row = *state;
	struct rig r = { .script = row->script };
	char *copy = strdup(row->script), *next = NULL;

	assert_int_equal(history_open(&r.h), 0);
	for (char *s = strtok_r(copy, ";", &next); s; s = strtok_r(NULL, ";", &next))
		step(&r, s + strspn(s, " "));
	free(copy);
	free(r.state);
	history_close(r.h);
}
TEST_ROWS(rows, run_row)

static const struct text {
	const char *name, *text;
	int n;
} texts[] = {
	{ "states__one__is_read", "item/5=17:3", 1 },
	{ "states__three__are_read", "item/5=17:3 user/3/bids=0:0 a-b_9=9223372036854775807:1", 3 },
	{ "states__empty__is_refused", "", -EINVAL },
	{ "states__no_name__is_refused", "=1:2", -EINVAL },
	{ "states__no_value__is_refused", "a=:2", -EINVAL },
	{ "states__no_last__is_refused", "a=1:", -EINVAL },
	{ "states__no_colon__is_refused", "a=1", -EINVAL },
	{ "states__no_equals__is_refused", "a1:1", -EINVAL },
	{ "states__below_0__is_refused", "a=-1:1", -EINVAL },
	{ "states__too_large__is_refused", "a=9223372036854775808:1", -EINVAL },
	{ "states__20_digits__is_refused", "a=10000000000000000000:1", -EINVAL },
	{ "states__two_spaces__is_refused", "a=1:1  b=1:1", -EINVAL },
	{ "states__space_at_the_end__is_refused", "a=1:1 ", -EINVAL },
	{ "states__space_before__is_refused", " a=1:1", -EINVAL },
	{ "states__behind_it__is_refused", "a=1:1x", -EINVAL },
	{ "states__capital__is_refused", "A=1:1", -EINVAL },
	{ "states__quote__is_refused", "a\"=1:1", -EINVAL },
	{ "states__thing_twice__is_refused", "a=1:1 b=1:1 a=1:1", -EINVAL },
	{ "states__name_of_63__is_read",
	  "123456789012345678901234567890123456789012345678901234567890123=1:1", 1 },
	{ "states__name_of_64__is_refused",
	  "1234567890123456789012345678901234567890123456789012345678901234=1:1", -EINVAL },
};

static void read_text(void **state)
{
	const struct text *row = *state;
	struct history_state *s = NULL;
	struct history *h = NULL;
	size_t space = 0;

	assert_int_equal(history_open(&h), 0);
	assert_int_equal(history_read(h, row->text, strlen(row->text), &s, &space), row->n);
	free(s);
	history_close(h);
}
TEST_ROWS(texts, read_text)

TEST(things__many__are_found_again)
{
	struct history *h = NULL;
	char name[32];

	assert_int_equal(history_open(&h), 0);
	for (int turn = 0; turn < 2; turn++)
		for (int i = 0; i < 5000; i++) {
			snprintf(name, sizeof(name), "item/%d", i);
			assert_int_equal(history_thing(h, name, strlen(name)), i);
			assert_string_equal(history_name(h, (uint32_t)i), name);
		}
	assert_int_equal(history_things(h), 5000);
	/* A name that begins as another one. */
	assert_int_equal(history_thing(h, "item/4", 5), 5000);
	history_close(h);
}

TEST(begin__wrong_updates__are_refused)
{
	struct history *h = NULL;
	uint32_t thing[HISTORY_CHANGES_MAX + 1] = { 0 };

	assert_int_equal(history_open(&h), 0);
	assert_int_equal(history_thing(h, "a", 1), 0);
	assert_int_equal(history_begin(h, 1, thing, 0), 0);
	assert_int_equal(history_begin(h, 1, thing, HISTORY_CHANGES_MAX + 1), 0);
	assert_false(history_end(h, 0, 1, HISTORY_DONE));
	assert_false(history_end(h, 1, 1, HISTORY_DONE));
	assert_int_equal(history_begin(h, 1, thing, 1), 1);
	assert_true(history_end(h, 1, 2, HISTORY_DONE));
	history_close(h);
}
