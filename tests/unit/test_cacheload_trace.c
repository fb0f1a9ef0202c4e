// SPDX-License-Identifier: GPL-2.0-or-later
/* test_cacheload_trace: what is drawn, and how often. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cacheload/trace.h"
#include "tests/unit/unit.h"

enum { ITEMS = 200, CATEGORIES = 10, USERS = 20 };

__attribute__((format(printf, 2, 3))) static void add(struct history *h, const char *fmt, ...)
{
	char name[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	assert_true(history_thing(h, name, strlen(name)) >= 0);
}

static struct history *things(int items, int categories, int users)
{
	struct history *h = NULL;

	assert_int_equal(history_open(&h), 0);
	add(h, "category/%d", 0);
	for (int i = 1; i <= items; i++)
		add(h, "item/%d", i);
	for (int i = 1; i <= categories; i++)
		add(h, "category/%d", i);
	for (int i = 1; i <= users; i++) {
		add(h, "user/%d", i);
		add(h, "user/%d/bids", i);
		add(h, "user/%d/items", i);
	}
	return h;
}

static struct trace *opened(uint64_t trace, uint64_t seed, uint64_t pages)
{
	struct trace_conf c = { trace, seed, pages, 0.8, 1000000 };
	struct history *h = things(ITEMS, CATEGORIES, USERS);
	struct trace *t = NULL;

	assert_int_equal(trace_open(&t, &c, h), 0);
	history_close(h);
	return t;
}

TEST(trace__pages__are_all_of_them_or_as_many_as_asked_for)
{
	struct trace *t = opened(1, 1, 10000);

	assert_int_equal(trace_pages(t), 1 + ITEMS + CATEGORIES + USERS);
	trace_close(t);
	t = opened(1, 1, 21);
	assert_int_equal(trace_pages(t), 21);
	trace_close(t);
	t = opened(1, 1, 1);
	assert_int_equal(trace_pages(t), 1);
	trace_close(t);
}

TEST(trace__21_pages__are_12_items_5_categories_3_users_and_the_front)
{
	struct trace *t = opened(1, 1, 21);
	char seen[64][TRACE_PATH_MAX], path[TRACE_PATH_MAX];
	size_t n = 0, items = 0, categories = 0, users = 0;
	uint64_t random = 5;

	for (int i = 0; i < 5000; i++) {
		size_t k = 0;

		trace_read(t, &random, path);
		while (k < n && strcmp(seen[k], path))
			k++;
		if (k < n)
			continue;
		strcpy(seen[n++], path);
		items += !strncmp(path, "/item/", 6);
		categories += !strncmp(path, "/category/", 10);
		users += !strncmp(path, "/user/", 6);
	}
	assert_int_equal(n, 21);
	assert_int_equal(items, 12);
	assert_int_equal(categories, 5);
	assert_int_equal(users, 3);
	trace_close(t);
}

TEST(trace__same_seed__same_draws)
{
	struct trace *a = opened(6, 7, 1000), *b = opened(6, 7, 1000), *c = opened(6, 8, 1000);
	char one[TRACE_PATH_MAX], two[TRACE_PATH_MAX], three[TRACE_PATH_MAX];
	uint64_t random[3] = { 1, 1, 1 };
	int differ = 0;

	for (int i = 0; i < 100; i++) {
		trace_read(a, &random[0], one);
		trace_read(b, &random[1], two);
		trace_read(c, &random[2], three);
		assert_string_equal(one, two);
		differ += strcmp(one, three) != 0;
	}
	assert_true(differ > 10);
	trace_close(a);
	trace_close(b);
	trace_close(c);
}

/* How often the front page, which has rank 1, is drawn of 100,000. */
static int draws_of_front(uint64_t trace)
{
	struct trace *t = opened(trace, 1, 1000);
	char path[TRACE_PATH_MAX];
	uint64_t random = 3;
	int n = 0;

	for (int i = 0; i < 100000; i++) {
		trace_read(t, &random, path);
		n += !strcmp(path, "/");
	}
	trace_close(t);
	return n;
}

TEST(trace_6__front_page__is_drawn_by_zipf)
{
	/* 231 pages: 1 of 231; and 1 / (1 + 2^-0.8 + ... + 231^-0.8) of all. */
	double sum = 0, even = 100000.0 / 231;

	for (int i = 1; i <= 231; i++)
		sum += 1 / __builtin_pow(i, 0.8);
	assert_in_range(draws_of_front(1), even * 0.8, even * 1.2);
	assert_in_range(draws_of_front(6), 100000 / sum * 0.95, 100000 / sum * 1.05);
}

TEST(trace__updates__rise_from_1_to_5)
{
	assert_int_equal(trace_updates(1), 0);
	for (uint64_t i = 2; i <= 5; i++)
		assert_true(trace_updates(i) > trace_updates(i - 1));
	assert_in_range(trace_updates(6), trace_updates(2), trace_updates(5));
}

/* The number behind key in the form. */
static uint64_t field(const struct trace_update *u, const char *key)
{
	char form[TRACE_FORM_MAX + 1], at[32];
	const char *found;

	snprintf(form, sizeof(form), "&%s", u->form);
	snprintf(at, sizeof(at), "&%s=", key);
	found = strstr(form, at);
	if (!found)
		fail_msg("%s has no %s", u->form, key);
	return strtoull(found + strlen(at), NULL, 10);
}

__attribute__((format(printf, 2, 3))) static void changes(const struct trace_update *u,
							  const char *fmt, ...)
{
	char name[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < u->things; i++)
		if (!strcmp(u->thing[i], name))
			return;
	fail_msg("%s %s does not change %s", u->path, u->form, name);
}

TEST(update__names_what_its_form_changes)
{
	struct trace *t = opened(5, 1, 100);
	uint64_t random = 9, newest = 1000000;
	int bids = 0, users = 0, items = 0;

	for (uint64_t i = 1; i <= 2000; i++) {
		struct trace_update u;

		trace_update(t, &random, i, &u);
		assert_int_equal(field(&u, "update"), i);
		if (!strcmp(u.path, "/bid")) {
			bids++;
			assert_int_equal(u.things, 2);
			changes(&u, "item/%ju", field(&u, "item"));
			changes(&u, "user/%ju/bids", field(&u, "user"));
		} else if (!strcmp(u.path, "/user")) {
			users++;
			assert_int_equal(u.things, 1);
			changes(&u, "user/%ju", field(&u, "id"));
		} else {
			items++;
			assert_string_equal(u.path, "/item");
			assert_int_equal(u.things, 4);
			assert_int_equal(field(&u, "id"), ++newest); /* no id twice */
			changes(&u, "item/%ju", newest);
			changes(&u, "category/0");
			changes(&u, "category/%ju", field(&u, "category"));
			changes(&u, "user/%ju/items", field(&u, "user"));
		}
	}
	assert_in_range(bids, 1500, 1700);
	assert_in_range(users, 150, 250);
	assert_in_range(items, 150, 250);
	trace_close(t);
}

TEST(trace__nothing_there__is_refused)
{
	struct trace_conf c = { 1, 1, 100, 0.8, 0 };
	struct trace *t = NULL;

	for (int lacks = 0; lacks < 3; lacks++) {
		struct history *h = things(lacks != 0, lacks != 1, lacks != 2);

		assert_int_equal(trace_open(&t, &c, h), -ENODATA);
		assert_null(t);
		history_close(h);
	}
}
