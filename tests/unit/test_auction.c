// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_auction: pages and changes of resex-auction on SQLite, without HTTP: what each page depends
 * on, and what each change raises.
 */
#include <stdlib.h>
#include <string.h>

#include "src/auction/auction.h"
#include "src/auction/page.h"
#include "src/auction/update.h"
#include "tests/unit/tmpdir.h"

struct rig {
	struct tmpdir dir;
	char db[128], schema[256];
	struct auction_options o;
	struct log log;
	struct auction_counts counts;
	struct auction_worker w;
	struct auction_reply r;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	const char *top = getenv("srcdir");

	tmp_open(&r->dir);
	snprintf(r->db, sizeof(r->db), "sqlite:%s", tmp_at(&r->dir, "db"));
	snprintf(r->schema, sizeof(r->schema), "%s/etc/cache/auction-sqlite.sql", top ? top : ".");
	r->o = (struct auction_options){ .db = r->db,
					 .no_cache = true,
					 .list = 4,
					 .schema = r->schema,
					 .items = 12,
					 .users = 3,
					 .categories = 2 };
	log_init(&r->log, "test_auction", LOG_LVL_ERROR);
	assert_int_equal(auction_init(&r->o, &r->log), 0);
	assert_int_equal(auction_worker_open(&r->w, &r->o, &r->log, &r->counts, 1), 0);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	free(r->r.text);
	auction_worker_close(&r->w);
	tmp_close(&r->dir);
	free(r);
	return 0;
}

static int ask(struct rig *r, const char *path, const char *form)
{
	struct auction_request q = { .post = form != NULL };

	snprintf(q.path, sizeof(q.path), "%s", path);
	q.body = form ? strdup(form) : NULL;
	free(r->r.text);
	auction_answer(&r->w, &q, &r->r);
	free(q.body);
	r->r.text = realloc(r->r.text, r->r.len + 1);
	r->r.text[r->r.len] = 0;
	return r->r.status;
}

static void shows(struct rig *r, const char *path, const char *states)
{
	char text[512];

	assert_int_equal(ask(r, path, NULL), 200);
	snprintf(text, sizeof(text), "<!-- page: %s state: %s -->\n", path, states);
	if (!strstr(r->r.text, text))
		fail_msg("%s has no %s", r->r.text, text);
}

RIG_TEST(pages__at_first__depend_on_what_they_show)
{
	struct rig *r = *state;

	shows(r, "/item/5", "item/5=0:0 user/3=0:0");
	shows(r, "/category/1", "category/1=0:0 item/12=0:0 item/10=0:0 item/2=0:0 item/4=0:0");
	shows(r, "/user/1",
	      "user/1=0:0 user/1/bids=0:0 user/1/items=0:0 item/12=0:0 item/9=0:0 item/6=0:0 "
	      "item/3=0:0");
	shows(r, "/",
	      "category/0=0:0 item/12=0:0 item/11=0:0 item/10=0:0 item/9=0:0 item/8=0:0 item/7=0:0 "
	      "item/6=0:0 item/5=0:0 item/4=0:0 item/3=0:0");
}

RIG_TEST(bid__raises_the_item_and_the_users_bids)
{
	struct rig *r = *state;

	assert_int_equal(ask(r, "/bid", "item=5&user=1&raise=10&update=7"), 200);
	shows(r, "/item/5", "item/5=1:7 user/3=0:0 user/1=0:0");
	assert_non_null(strstr(r->r.text, "price 16, 1 bids"));
	shows(r, "/user/1",
	      "user/1=0:0 user/1/bids=1:7 user/1/items=0:0 item/5=1:7 item/12=0:0 item/9=0:0 "
	      "item/6=0:0 item/3=0:0");
}

RIG_TEST(item__raises_all_lists_that_show_it)
{
	struct rig *r = *state;

	assert_int_equal(ask(r, "/item", "id=99&user=2&category=1&name=new+one&price=3&update=8"),
			 200);
	shows(r, "/category/1", "category/1=1:8 item/99=1:8 item/12=0:0 item/2=0:0 item/4=0:0");
	shows(r, "/user/2",
	      "user/2=0:0 user/2/bids=0:0 user/2/items=1:8 item/99=1:8 item/10=0:0 item/7=0:0 "
	      "item/4=0:0 item/1=0:0");
	assert_int_equal(ask(r, "/", NULL), 200);
	assert_non_null(strstr(r->r.text, "state: category/0=1:8 item/99=1:8 "));
	shows(r, "/category/2", "category/2=0:0 item/11=0:0 item/9=0:0 item/1=0:0 item/3=0:0");
	/* Without an id it gets one. */
	assert_int_equal(ask(r, "/item", "user=2&category=1&name=x"), 200);
	assert_int_equal(ask(r, "/item", "user=2&category=1&name=x"), 200);
}

RIG_TEST(user__raises_the_user_alone)
{
	struct rig *r = *state;

	assert_int_equal(ask(r, "/user", "id=3&name=%3Cb%3E--%3E&update=9"), 200);
	shows(r, "/item/5", "item/5=0:0 user/3=1:9");
	assert_non_null(strstr(r->r.text, "&#60;b&#62;&#45;&#45;&#62;"));
	assert_null(strstr(strstr(r->r.text, "-->") + 3, "-->"));
	/* A new one. */
	assert_int_equal(ask(r, "/user", "id=50&name=x"), 200);
	shows(r, "/user/50", "user/50=1:0 user/50/bids=0:0 user/50/items=0:0");
}

static const struct wrong {
	const char *name, *path, *form;
	int status;
} wrong[] = {
	{ "bid__no_such_item__is_refused", "/bid", "item=500&user=1", 409 },
	{ "bid__no_such_user__is_refused", "/bid", "item=5&user=500", 409 },
	{ "item__no_such_category__is_refused", "/item", "user=1&category=500&name=x", 409 },
	{ "item__id_twice__is_refused", "/item", "id=5&user=1&category=1&name=x", 409 },
	{ "bid__no_item__is_wrong", "/bid", "user=1", 400 },
	{ "bid__item_0__is_wrong", "/bid", "item=0&user=1", 400 },
	{ "bid__item_below_0__is_wrong", "/bid", "item=-5&user=1", 400 },
	{ "bid__item_of_sql__is_wrong", "/bid", "item=5+OR+1&user=1", 400 },
	{ "bid__item_of_19_digits__is_wrong", "/bid", "item=1000000000000000000&user=1", 400 },
	{ "bid__raise_0__is_wrong", "/bid", "item=5&user=1&raise=0", 400 },
	{ "bid__empty_form__is_wrong", "/bid", "", 400 },
	{ "bid__no_form__is_wrong", "/bid", "&&&=", 400 },
	{ "item__no_name__is_wrong", "/item", "user=1&category=1", 400 },
	{ "item__category_0__is_wrong", "/item", "user=1&category=0&name=x", 400 },
	{ "user__name_is_no_utf8__is_wrong", "/user", "id=1&name=%ff", 400 },
	{ "user__name_with_control__is_wrong", "/user", "id=1&name=a%0ab", 400 },
	{ "user__empty_name__is_wrong", "/user", "id=1&name=", 400 },
	{ "post__other_path__is_not_there", "/other", "id=1", 404 },
	{ "get__other_path__is_not_there", "/other", NULL, 404 },
	{ "get__item_500__is_not_there", "/item/500", NULL, 404 },
	{ "get__leading_zero__is_not_there", "/item/05", NULL, 404 },
	{ "get__behind_it__is_not_there", "/item/5x", NULL, 404 },
	{ "get__no_number__is_not_there", "/item/", NULL, 404 },
	{ "get__19_digits__is_not_there", "/item/1000000000000000000", NULL, 404 },
	{ "get__category_0__is_not_there", "/category/0", NULL, 404 },
};

static void refuse(void **state)
{
	const struct wrong *row = *state;
	void *rig = NULL;
	struct rig *r;

	setup(&rig);
	r = rig;
	assert_int_equal(ask(r, row->path, row->form), row->status);
	assert_true(r->r.len > 0);
	/* Nothing was changed by half. */
	shows(r, "/item/5", "item/5=0:0 user/3=0:0");
	shows(r, "/user/1",
	      "user/1=0:0 user/1/bids=0:0 user/1/items=0:0 item/12=0:0 item/9=0:0 item/6=0:0 "
	      "item/3=0:0");
	teardown(&rig);
}
TEST_ROWS(wrong, refuse)

RIG_TEST(depends__3__is_what_the_page_is_about_and_the_next_2_items)
{
	struct rig *r = *state;

	r->o.depends = 3;
	shows(r, "/item/5", "item/5=0:0 item/6=0:0 item/7=0:0");
	shows(r, "/category/1", "category/1=0:0 item/2=0:0 item/3=0:0");
	shows(r, "/user/3", "user/3=0:0 item/4=0:0 item/5=0:0");
	shows(r, "/", "category/0=0:0 item/1=0:0 item/2=0:0");
	assert_int_equal(ask(r, "/item/500", NULL), 404);
	assert_int_equal(ask(r, "/bid", "item=6&user=1&raise=10&update=7"), 200);
	shows(r, "/item/5", "item/5=0:0 item/6=1:7 item/7=0:0");
}

RIG_TEST(depends__item_that_is_not_there__counts_from_0)
{
	struct rig *r = *state;

	r->o.depends = 4;
	shows(r, "/item/11", "item/11=0:0 item/12=0:0 item/13=0:0 item/14=0:0");
	assert_int_equal(ask(r, "/item", "id=14&user=2&category=1&name=x&update=8"), 200);
	shows(r, "/item/11", "item/11=0:0 item/12=0:0 item/13=0:0 item/14=1:8");
	shows(r, "/item/12", "item/12=0:0 item/13=0:0 item/14=1:8 item/15=0:0");
}

RIG_TEST(depends__1_and_64__are_as_many)
{
	struct rig *r = *state;
	size_t n = 1;

	r->o.depends = 1;
	shows(r, "/item/5", "item/5=0:0");
	r->o.depends = 64;
	assert_int_equal(ask(r, "/item/5", NULL), 200);
	for (const char *s = strstr(r->r.text, "state: ") + 7; strncmp(s, " -->", 4); s++)
		n += *s == ' ';
	assert_int_equal(n, 64);
}

RIG_TEST(states__are_those_of_all_things)
{
	struct rig *r = *state;
	size_t n = 1;

	assert_int_equal(ask(r, "/bid", "item=5&user=1&update=7"), 200);
	assert_int_equal(ask(r, "/states", NULL), 200);
	assert_non_null(strstr(r->r.text, " item/5=1:7 "));
	assert_non_null(strstr(r->r.text, " user/1/bids=1:7 "));
	assert_non_null(strstr(r->r.text, " category/0=0:0 "));
	for (const char *s = strstr(r->r.text, "state: ") + 7; strncmp(s, " -->", 4); s++)
		n += *s == ' ';
	assert_int_equal(n, 12 + 3 + 3 * 3);
}

RIG_TEST(page__too_many_things__is_marked)
{
	struct page p = { .things_max = 3 };
	char id[8];

	for (int i = 0; i < 3; i++) {
		snprintf(id, sizeof(id), "%d", i);
		page_depends(&p, "item", id, "", "1", "1");
		page_depends(&p, "item", id, "", "1", "1");
	}
	assert_false(p.too_many);
	assert_int_equal(p.things, 3);
	page_depends(&p, "item", "3", "", "1", "1");
	assert_true(p.too_many);
	assert_int_equal(p.things, 3);
	page_free(&p);
}

/* A tag that is missing would leave pages stale: each statement's table and row has one. */
TEST(update__tags__are_all_that_its_statements_change)
{
	static const struct {
		const char *path, *form, *tags;
		size_t statements;
	} rows[] = {
		{ "/bid", "item=5&user=3", "item/5 user/3/bids ", 3 },
		{ "/item", "id=9&user=3&category=2&name=x",
		  "item/9 category/0 category/2 user/3/items ", 4 },
		{ "/user", "id=3&name=x", "user/3 ", 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct update u;
		char why[128], tags[256] = "";

		assert_int_equal(update_read(&u, rows[i].path, rows[i].form, 1, why, sizeof(why)),
				 0);
		for (size_t k = 0; k < u.n; k++)
			strcat(strcat(tags, u.tags[k]), " ");
		assert_string_equal(tags, rows[i].tags);
		assert_int_equal(u.statements, rows[i].statements);
	}
}
