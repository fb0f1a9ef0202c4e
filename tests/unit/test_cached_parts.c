// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The small parts of resex-cached: hashes of tags, snapshots of a database, messages that need no
 * result, and which members beat.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/cache/cache.h"
#include "src/cached/outbox.h"
#include "src/cached/snapshot.h"
#include "src/cached/tag.h"
#include "src/cached/watch.h"
#include "tests/unit/prop.h"
#include "tests/unit/shared_rig.h"
#include "tests/unit/unit.h"

/* --- tags -------------------------------------------------------------------------- */

static const uint8_t one[] = "0123456789abcdef", two[] = "0123456789abcdeg";

static uint64_t hash_of(const uint8_t *key, const char *text)
{
	struct tag_key t;

	tag_key_init(&t, key, 16);
	assert_true(tag_hash(&t, text) == tag_hash(&t, text)); /* it is not used up */
	return tag_hash(&t, text);
}

TEST(tag__two_texts_or_two_keys__have_different_hashes)
{
	assert_true(hash_of(one, "item/5") != hash_of(one, "item/6"));
	assert_true(hash_of(one, "item/5") != hash_of(two, "item/5"));
	assert_true(hash_of(one, "item/5") != CACHE_TAG_ALL);
}

/* All hosts have the same, and so have all releases: pages outlive an upgrade of one host. */
TEST(tag__hash__is_the_one_of_all_hosts)
{
	/* printf 'resex cached tag\0item/5' | openssl dgst -sha256 -hmac 0123456789abcdef */
	assert_true(hash_of(one, "item/5") == 0x257a4aee2f44a5c2ull);
}

TEST(tag__bad_text__is_refused)
{
	static const char *const bad[] = { "",	   "a\nb",	   "\x7f",    "\xc3",
					   "\xff", "\xed\xa0\x80", "\xc2\x85" };
	char longest[TAG_BYTES_MAX + 2];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(tag_good(bad[i]));
	memset(longest, 'x', sizeof(longest));
	longest[TAG_BYTES_MAX + 1] = 0;
	assert_false(tag_good(longest));
	longest[TAG_BYTES_MAX] = 0;
	assert_true(tag_good(longest));
	assert_true(tag_good("x"));
	assert_true(tag_good("Preis/\xc3\xa4 \xe2\x82\xac \xc2\xa0"));
}

/* --- snapshots --------------------------------------------------------------------- */

TEST(snapshot__as_postgresql_prints_it__is_read)
{
	struct snapshot s;

	assert_int_equal(snapshot_parse(&s, "10:20:10,14,19"), 0);
	assert_true(s.home.oldest == 10 && s.home.next == 20 && s.home.n == 3);
	assert_true(s.home.running == s.running);
	assert_true(s.running[0] == 10 && s.running[1] == 14 && s.running[2] == 19);
	assert_int_equal(snapshot_parse(&s, "795:795:"), 0);
	assert_true(s.home.oldest == 795 && s.home.next == 795 && s.home.n == 0);
	assert_int_equal(snapshot_parse(&s, "1:18446744073709551615:18446744073709551614"), 0);
	assert_true(s.running[0] == UINT64_MAX - 1);
}

TEST(snapshot__anything_else__is_refused)
{
	static const char *const bad[] = {
		"",
		"10",
		"10:",
		"10:20",
		"10:20:14,",
		"10:20:,14",
		"0:20:",
		"20:10:",
		"10:20:9",
		"10:20:20",
		"10:20:14 ",
		" 10:20:",
		"+10:20:",
		"10:20:14,x",
		"10:20:14:1",
		"10:20:14\n",
		"x:20:",
		"10:-20:",
		":::",
		"10::20:",
		"10:20::",
		"10:20:1e1",
		"1:18446744073709551616:",
		"1:18446744073709551619:",
		"18446744073709551625:18446744073709551626:",
	};
	struct snapshot s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (snapshot_parse(&s, bad[i]) != -EINVAL)
			fail_msg("\"%s\" was read", bad[i]);
}

TEST(snapshot__more_run_than_a_message_has_room_for__says_so)
{
	char text[8192] = "1:1000:";
	struct snapshot s;
	size_t n = strlen(text);

	for (int i = 1; i <= HOME_NUMBERS_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%d", i > 1 ? "," : "", i);
	assert_int_equal(snapshot_parse(&s, text), 0);
	assert_int_equal(s.home.n, HOME_NUMBERS_MAX);
	snprintf(text + n, sizeof(text) - n, ",500");
	assert_int_equal(snapshot_parse(&s, text), -E2BIG);
}

TEST(snapshot__any_bytes__are_read_within_bounds)
{
	static const char letters[] = "0123456789:,:,19 x";
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 20000; i++) {
		size_t n = prop_range(&p, 0, 40);
		char *text = malloc(n + 1);
		struct snapshot s;

		assert_non_null(text);
		for (size_t k = 0; k < n; k++)
			text[k] = letters[prop_range(&p, 0, sizeof(letters) - 2)];
		text[n] = 0;
		if (!snapshot_parse(&s, text)) {
			assert_true(s.home.oldest > 0 && s.home.oldest <= s.home.next);
			for (uint32_t k = 0; k < s.home.n; k++)
				assert_true(s.running[k] >= s.home.oldest &&
					    s.running[k] < s.home.next);
		}
		free(text);
	}
}

/* --- messages that need no result -------------------------------------------------- */

struct post {
	struct outbox b;
	struct step_out out;
};

static void post(struct post *p, uint16_t host, uint8_t what)
{
	const struct outbox_wish w = { .host = host, .len = 1, .message = &what };
	const struct step_event ev = { .type = STEP_ASK, .what = OUTBOX_SEND, .wish = &w };

	p->out.n = 0;
	outbox_step(&p->b, &ev, &p->out);
}

static void ends(struct post *p, const struct step_op *op, enum step_outcome outcome)
{
	struct step_event ev = rig_result(op, outcome, 0, 1);

	p->out.n = 0;
	outbox_step(&p->b, &ev, &p->out);
}

static struct post *post_new(void)
{
	struct post *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	outbox_init(&p->b, 500);
	return p;
}

TEST(outbox__a_message__is_kept_until_its_end)
{
	struct post *p = post_new();
	struct step_op first, second;

	post(p, 2, 'a');
	assert_int_equal(p->out.n, 1);
	first = p->out.op[0];
	assert_int_equal(first.kind, STEP_SEND);
	assert_int_equal(first.host, 2);
	assert_int_equal(first.len, 1);
	assert_in_range(first.tag, 500, 500 + OUTBOX_MAX - 1);
	post(p, 3, 'b');
	second = p->out.op[0];
	assert_true(first.tag != second.tag);
	assert_int_equal(*(const uint8_t *)first.data, 'a');
	ends(p, &first, STEP_UNKNOWN); /* whatever became of it */
	post(p, 2, 'c');
	assert_int_equal(*(const uint8_t *)second.data, 'b');
	assert_int_equal(p->out.op[0].tag, first.tag);
	free(p);
}

TEST(outbox__a_host_takes_none__others_have_room)
{
	struct post *p = post_new();
	struct step_op op = { 0 };

	for (int i = 0; i < OUTBOX_HOST_MAX; i++) {
		post(p, 2, 'a');
		op = p->out.op[0];
	}
	post(p, 2, 'b');
	assert_int_equal(p->out.n, 0);
	assert_int_equal(p->b.dropped, 1);
	post(p, 3, 'c');
	assert_int_equal(p->out.n, 1);
	ends(p, &op, STEP_DONE);
	ends(p, &op, STEP_DONE); /* a second result is none */
	post(p, 2, 'd');
	assert_int_equal(p->out.n, 1);
	post(p, 2, 'e');
	assert_int_equal(p->out.n, 0);
	free(p);
}

TEST(outbox__full__drops_and_has_room_again)
{
	struct post *p = post_new();
	struct step_op op = { 0 }, before = { 0 };

	for (int i = 0; i < OUTBOX_MAX; i++) {
		post(p, (uint16_t)(1 + i % 256), 'a');
		assert_int_equal(p->out.n, 1);
		before = op;
		op = p->out.op[0];
	}
	post(p, 1, 'b');
	assert_int_equal(p->out.n, 0);
	ends(p, &before, STEP_DONE); /* not the newest one */
	for (int i = 0; i < 2; i++) {
		post(p, 1, 'c');
		assert_int_equal(p->out.n, i < 1);
	}
	ends(p, &op, STEP_DONE);
	post(p, 1, 'd');
	assert_int_equal(p->out.n, 1);
	free(p);
}

TEST(outbox__no_room_in_the_step__drops_and_keeps_its_place)
{
	struct post *p = post_new();

	p->out.taken = STEP_OPS_MAX;
	for (int i = 0; i < 2 * OUTBOX_HOST_MAX; i++)
		post(p, 2, 'a');
	assert_int_equal(p->b.dropped, 2 * OUTBOX_HOST_MAX);
	p->out.taken = 0;
	post(p, 2, 'b');
	assert_int_equal(p->out.n, 1);
	free(p);
}

/* --- which members beat ------------------------------------------------------------ */

struct eyes {
	struct watch w;
	struct step_out out;
	struct mono now;
};

static void see(struct eyes *e, struct step_event ev)
{
	e->out.n = 0;
	watch_step(&e->w, &ev, e->now, &e->out);
}

static struct eyes *eyes_new(void)
{
	struct watch_conf c = { .tag = 40, .offset = 64, .check_ns = 10 * MS };
	struct eyes *e = calloc(1, sizeof(*e));

	assert_non_null(e);
	hostset_set(&c.hosts, 2, true);
	hostset_set(&c.hosts, 5, true);
	watch_init(&e->w, &c);
	e->now.ns = 1000 * MS;
	return e;
}

static void pass(struct eyes *e, int64_t ms)
{
	e->now.ns += ms * MS;
	see(e, (struct step_event){ .type = STEP_TICK });
}

TEST(watch__a_beat_moves__its_age_is_small)
{
	struct eyes *e = eyes_new();
	struct step_op op;

	see(e, rig_link(5, 3));
	assert_int_equal(e->out.n, 1);
	op = e->out.op[0];
	assert_int_equal(op.host, 5);
	assert_int_equal(op.part, STEP_VERSIONS);
	assert_int_equal(op.offset, 64);
	assert_true(watch_age(&e->w, 5, e->now) == INT64_MAX);
	see(e, rig_result(&op, STEP_DONE, 77, 3));
	pass(e, 9);
	assert_int_equal(e->out.n, 0);
	assert_true(watch_age(&e->w, 5, e->now) == 9 * MS);
	pass(e, 1);
	op = e->out.op[0];
	see(e, rig_result(&op, STEP_DONE, 77, 3)); /* it has not moved */
	assert_true(watch_age(&e->w, 5, e->now) == 10 * MS);
	pass(e, 10);
	op = e->out.op[0];
	see(e, rig_result(&op, STEP_DONE, 78, 3));
	assert_true(watch_age(&e->w, 5, e->now) == 0);
	pass(e, 10);
	op = e->out.op[0];
	see(e, rig_result(&op, STEP_DONE, 0, 3)); /* it has left */
	assert_true(watch_age(&e->w, 5, e->now) == INT64_MAX);
	free(e);
}

TEST(watch__no_link_or_a_read_is_out__reads_nothing)
{
	struct eyes *e = eyes_new();
	struct step_op op;

	pass(e, 100);
	assert_int_equal(e->out.n, 0);
	assert_true(watch_due(&e->w).ns == INT64_MAX);
	see(e, rig_link(3, 1)); /* not one of them */
	assert_int_equal(e->out.n, 0);
	see(e, rig_link(2, 1));
	op = e->out.op[0];
	pass(e, 100);
	assert_int_equal(e->out.n, 0);
	see(e, rig_result(&op, STEP_LOST, 0, 1));
	pass(e, 100);
	assert_int_equal(e->out.n, 0);
	see(e, rig_link(2, 2));
	assert_int_equal(e->out.n, 1);
	op = e->out.op[0];
	see(e, rig_result(&op, STEP_REFUSED, 0, 2)); /* again after a check */
	assert_int_equal(e->out.n, 0);
	assert_true(watch_due(&e->w).ns == e->now.ns + 10 * MS);
	pass(e, 10);
	assert_int_equal(e->out.n, 1);
	free(e);
}
