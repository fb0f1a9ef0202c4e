// SPDX-License-Identifier: GPL-2.0-or-later
/* load_kmod: the offset of a member by BTF, and the choice between the module and a sample. */
#include <errno.h>
#include <string.h>

#include "src/load/btf.h"
#include "src/load/kmod.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

/* --- BTF, written here by the kernel's description of it -------------------------------- */

/* Names in the strings, and kinds of types. */
enum { RQ = 1, NR_RUNNING = 4, OTHER = 15 };
enum { INT = 1, POINTER, ARRAY, STRUCT, UNION, ENUM, TYPEDEF = 8, VARIABLE = 14, KIND_MAX = 19 };

static const char strings[] = "\0rq\0nr_running\0x";

struct data {
	uint32_t word[256];
	size_t words;
};

static void put(struct data *d, uint32_t word)
{
	assert_true(d->words < 256);
	d->word[d->words++] = word;
}

static void put_type(struct data *d, uint32_t name, uint32_t kind, uint32_t members, uint32_t size)
{
	put(d, name);
	put(d, kind << 24 | members);
	put(d, size);
}

static void put_member(struct data *d, uint32_t name, uint32_t type, uint32_t bits)
{
	put(d, name);
	put(d, type);
	put(d, bits);
}

/* Type 1 is an unsigned int. */
static struct data begin_types(void)
{
	struct data d = { .words = 6 };

	put_type(&d, OTHER, INT, 0, 4);
	put(&d, 32);
	return d;
}

/* A struct of 64 bytes with nr_running, of this type, at this bit. */
static void put_rq(struct data *d, uint32_t type, uint32_t bits)
{
	put_type(d, RQ, STRUCT, 2, 64);
	put_member(d, OTHER, 1, 0);
	put_member(d, NR_RUNNING, type, bits);
}

static size_t end_types(struct data *d)
{
	uint32_t types = (uint32_t)(d->words - 6) * 4;
	uint32_t head[6] = { 0x0001eb9f, 24, 0, types, types, sizeof(strings) };

	memcpy(d->word, head, sizeof(head));
	memcpy(&d->word[d->words], strings, sizeof(strings));
	return d->words * 4 + sizeof(strings);
}

static int look(struct data *d, uint32_t *offset)
{
	size_t len = end_types(d);

	*offset = 77;
	return load_btf_offset(d->word, len, "rq", "nr_running", offset);
}

static void expect(struct data *d, int rc, uint32_t offset)
{
	uint32_t found;

	assert_int_equal(look(d, &found), rc);
	assert_int_equal(found, offset);
}

TEST(btf__word_of_the_struct__has_its_offset_in_bytes)
{
	struct data d = begin_types();

	put_rq(&d, 1, 32);
	expect(&d, 0, 4);
	d = begin_types();
	put_rq(&d, 1, 60 * 8);
	expect(&d, 0, 60);
	/* By another name. */
	d = begin_types();
	put_type(&d, OTHER, TYPEDEF, 0, 1);
	put_rq(&d, 2, 32);
	expect(&d, 0, 4);
}

TEST(btf__types_of_all_kinds_before_it__are_stepped_over)
{
	static const uint8_t words[KIND_MAX + 1] = { [1] = 1, [3] = 3, [14] = 1, [17] = 1 };
	static const uint8_t each[KIND_MAX + 1] = {
		[4] = 3, [5] = 3, [6] = 2, [13] = 2, [15] = 3, [19] = 3
	};
	struct data d = begin_types();

	for (uint32_t kind = 1; kind <= KIND_MAX; kind++) {
		uint32_t members = each[kind] ? 2 : 0;

		put_type(&d, OTHER, kind, members, 4);
		for (uint32_t i = 0; i < words[kind] + members * each[kind]; i++)
			put(&d, 0xffffffff);
	}
	put_rq(&d, 1, 96);
	expect(&d, 0, 12);
}

TEST(btf__member_that_is_no_word_in_the_struct__is_not_found)
{
	static const struct {
		uint32_t type, bits;
	} wrong[] = { { 1, 33 },     /* not at a byte */
		      { 1, 40 },     /* not aligned */
		      { 1, 64 * 8 }, /* behind the struct */
		      { 2, 32 },     /* a pointer */
		      { 3, 32 },     /* the struct itself */
		      { 0, 32 },     /* void */
		      { 99, 32 } };  /* there is no such type */
	struct data d = begin_types();

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		d = begin_types();
		put_type(&d, 0, POINTER, 0, 1);
		put_rq(&d, wrong[i].type, wrong[i].bits);
		expect(&d, -ENOENT, 77);
	}
	d = begin_types();
	expect(&d, -ENOENT, 77);
	/* A union of the same name. */
	put_rq(&d, 1, 32);
	d.word[6 + 4 + 1] = UNION << 24 | 2;
	expect(&d, -ENOENT, 77);
	/* A typedef of itself. */
	d = begin_types();
	put_type(&d, OTHER, TYPEDEF, 0, 2);
	put_rq(&d, 2, 32);
	expect(&d, -ENOENT, 77);
}

TEST(btf__bit_field__is_not_found_and_a_word_beside_one_is)
{
	struct data d = begin_types();

	put_rq(&d, 1, 3u << 24 | 32);
	d.word[6 + 4 + 1] |= 1u << 31;
	d.word[6 + 4 + 2] = 1u << 30; /* large enough for a word there */
	expect(&d, -ENOENT, 77);
	d = begin_types();
	put_rq(&d, 1, 32);
	d.word[6 + 4 + 1] |= 1u << 31;
	expect(&d, 0, 4);
}

TEST(btf__two_structs_of_the_name__must_agree)
{
	struct data d = begin_types();

	put_rq(&d, 1, 32);
	put_rq(&d, 1, 32);
	expect(&d, 0, 4);
	put_rq(&d, 1, 64);
	expect(&d, -EEXIST, 77);
	d = begin_types();
	for (int i = 0; i < 17; i++) /* each is a walk: a file cannot ask for many */
		put_rq(&d, 1, 32);
	expect(&d, -EEXIST, 77);
}

TEST(btf__cut_or_wrong_anywhere__is_refused_and_writes_nothing)
{
	struct data good = begin_types(), d;
	uint32_t offset = 77;
	size_t len;

	put_rq(&good, 1, 32);
	len = end_types(&good);
	for (size_t n = 0; n < len; n++)
		assert_int_equal(load_btf_offset(good.word, n, "rq", "nr_running", &offset),
				 -EPROTO);
	assert_int_equal(offset, 77);
	for (int i = 0; i < 6; i++) { /* magic, length, places and lengths */
		d = good;
		d.word[i] = 0xfffffff0;
		assert_int_equal(load_btf_offset(d.word, len, "rq", "nr_running", &offset),
				 -EPROTO);
	}
	d = good;
	d.word[0] ^= 1; /* magic */
	assert_int_equal(load_btf_offset(d.word, len, "rq", "nr_running", &offset), -EPROTO);
	d = good;
	d.word[0] ^= 3 << 16; /* version 2 */
	assert_int_equal(load_btf_offset(d.word, len, "rq", "nr_running", &offset), -EPROTO);
	d = good;
	d.word[3] -= 4; /* the last type is cut */
	assert_int_equal(load_btf_offset(d.word, len, "rq", "nr_running", &offset), -EPROTO);
	d = begin_types();
	put_type(&d, OTHER, KIND_MAX + 1, 0, 0);
	put_rq(&d, 1, 32);
	expect(&d, -EPROTO, 77);
}

static uint32_t offset_of(struct tmpdir *dir, const void *data, size_t len)
{
	FILE *f = fopen(tmp_at(dir, "btf"), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
	return load_running_offset(tmp_at(dir, "btf"));
}

TEST(running_offset__of_a_file__is_there_or_is_none)
{
	struct data d = begin_types();
	struct tmpdir dir;

	tmp_open(&dir);
	assert_true(load_running_offset(tmp_at(&dir, "btf")) == LOADMON_NO_OFFSET);
	put_rq(&d, 1, 32);
	assert_int_equal(offset_of(&dir, d.word, end_types(&d)), 4);
	assert_true(offset_of(&dir, strings, sizeof(strings)) == LOADMON_NO_OFFSET);
	d = begin_types();
	put_type(&d, RQ, STRUCT, 1, 1 << 20);
	put_member(&d, NR_RUNNING, 1, 8 * LOADMON_OFFSET_MAX);
	assert_true(offset_of(&dir, d.word, end_types(&d)) == LOADMON_NO_OFFSET);
	tmp_close(&dir);
}

/* --- the choice ------------------------------------------------------------------------ */

static struct mono at(int64_t ms)
{
	return (struct mono){ 1000 * NS_PER_S + ms * NS_PER_MS };
}

TEST(choice__module_that_refuses__is_asked_again_each_second)
{
	struct load_choice c = { 0 };

	assert_true(load_choice_asks(&c, at(0)));
	load_choice_refused(&c, at(0));
	assert_false(load_choice_asks(&c, at(999)));
	assert_true(load_choice_asks(&c, at(1000)));
	load_choice_fills(&c, 5, at(1000));
	assert_false(load_choice_asks(&c, at(5000)));
}

TEST(choice__beat_that_changes__is_kept_and_an_unchanged_one_is_let_go)
{
	struct load_choice c = { 0 };

	load_choice_fills(&c, 5, at(0));
	for (int i = 1; i < 100; i++)
		assert_false(load_choice_unchanged(&c, 5 + (uint64_t)i, NS_PER_MS, at(90 * i)));
	assert_false(load_choice_unchanged(&c, 104, NS_PER_MS, at(90 * 99 + 999)));
	assert_true(load_choice_unchanged(&c, 104, NS_PER_MS, at(90 * 99 + 1000)));
	assert_false(c.filling);
	/* A long period has more patience: five of it. */
	load_choice_fills(&c, 5, at(0));
	assert_false(load_choice_unchanged(&c, 5, 300 * NS_PER_MS, at(1499)));
	assert_true(load_choice_unchanged(&c, 5, 300 * NS_PER_MS, at(1500)));
}

TEST(choice__module_that_hangs_again_and_again__is_asked_ever_less)
{
	static const int64_t pause[] = { 1, 2, 4, 8, 16, 32, 60, 60 };
	struct load_choice c = { 0 };
	int64_t ms = 0;

	for (size_t i = 0; i < sizeof(pause) / sizeof(pause[0]); i++) {
		load_choice_fills(&c, 5, at(ms));
		ms += 1000;
		assert_true(load_choice_unchanged(&c, 5, NS_PER_MS, at(ms)));
		assert_false(load_choice_asks(&c, at(ms + 1000 * pause[i] - 1)));
		ms += 1000 * pause[i];
		assert_true(load_choice_asks(&c, at(ms)));
	}
	/* Ten good seconds are a new begin. */
	load_choice_fills(&c, 5, at(ms));
	assert_false(load_choice_unchanged(&c, 6, 10 * NS_PER_S, at(ms + 10000)));
	assert_true(load_choice_unchanged(&c, 6, NS_PER_MS, at(ms + 11000)));
	assert_true(load_choice_asks(&c, at(ms + 12000)));
}
