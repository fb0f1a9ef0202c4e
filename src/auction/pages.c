// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pages: what each page reads, shows, and depends on. See pages.h.
 *
 *	page          things
 *	------------  ---------------------------------------------------------------
 *	/             category/0, which each new item changes; the items it shows
 *	/category/N   category/N, which each new item of it changes; the items it shows
 *	/item/N       item/N, which each bid changes; user/U of its seller and last bidders
 *	/user/N       user/N (the name); user/N/bids and user/N/items, which are lists; the
 *	              items it shows
 *
 * With --depends N, what the page is about (category/0 of the front page), and the items with the
 * N - 1 next ids.
 *
 * A row has a counter, and so has each list to which rows are added: a page that shows "the newest"
 * depends on the list, for what is not there yet has no row to depend on.
 */
#include "src/auction/pages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "/item/" and a number without leading zeros: its text. NULL: another path. */
static const char *number_behind(const char *path, const char *prefix)
{
	size_t len = strlen(prefix), digits;

	if (strncmp(path, prefix, len) != 0)
		return NULL;
	path += len;
	digits = strspn(path, "0123456789");
	return digits && digits <= 18 && !path[digits] && *path != '0' ? path : NULL;
}

struct reader {
	struct page *p;
	const char *kind, *id; /* what the page is about */
	bool found;
};

static int query(struct auction_worker *w, const char *text, const char *const *param,
		 size_t params, db_row *row, void *arg, struct db_error *e)
{
	return w->ops->run(w->db, text, param, params, row, arg, NULL, e);
}

static void put_link(struct page *p, const char *kind, const char *id, const char *name)
{
	page_put(p, "<a href=\"/%s/%s\">", kind, id);
	page_put_text(p, name);
	page_put(p, "</a>");
}

/* Columns: name, state, last. */
static int put_name(void *arg, const char *const *column)
{
	struct reader *r = arg;

	r->found = true;
	page_depends(r->p, r->kind, r->id, "", column[1], column[2]);
	page_put(r->p, "<h1>");
	page_put_text(r->p, column[0]);
	page_put(r->p, "</h1>\n");
	return 0;
}

/* --- lists of items --- */

#define ITEM_COLUMNS "id, name, price, bids, state, last"

static int put_item_row(void *arg, const char *const *column)
{
	struct page *p = arg;

	page_depends(p, "item", column[0], "", column[4], column[5]);
	page_put(p, "<tr><td>");
	put_link(p, "item", column[0], column[1]);
	page_put(p, "<td>%s<td>%s</tr>\n", column[2], column[3]);
	return 0;
}

static int put_items(struct auction_worker *w, struct page *p, const char *title, const char *text,
		     const char *const *param, size_t params, struct db_error *e)
{
	int rc;

	page_put(p, "<h2>%s</h2><table><tr><th>item<th>price<th>bids</tr>\n", title);
	rc = query(w, text, param, params, put_item_row, p, e);
	page_put(p, "</table>\n");
	return rc;
}

/* --- the item's page --- */

static int put_item(void *arg, const char *const *column)
{
	struct reader *r = arg;

	r->found = true;
	page_depends(r->p, "item", r->id, "", column[3], column[4]);
	page_depends(r->p, "user", column[5], "", column[7], column[8]);
	page_put(r->p, "<h1>");
	page_put_text(r->p, column[0]);
	page_put(r->p, "</h1><p>price %s, %s bids; sold by ", column[1], column[2]);
	put_link(r->p, "user", column[5], column[6]);
	page_put(r->p, " in <a href=\"/category/%s\">category %s</a></p>\n", column[9], column[9]);
	page_put(r->p,
		 "<form method=\"post\" action=\"/bid\"><input type=\"hidden\" name=\"item\" "
		 "value=\"%s\">user <input name=\"user\"> raises by <input name=\"raise\" "
		 "value=\"1\"> <button>bid</button></form>\n",
		 r->id);
	return 0;
}

static int put_bid(void *arg, const char *const *column)
{
	struct page *p = arg;

	page_depends(p, "user", column[1], "", column[3], column[4]);
	page_put(p, "<li>%s by ", column[0]);
	put_link(p, "user", column[1], column[2]);
	page_put(p, "</li>\n");
	return 0;
}

static int make_item(struct auction_worker *w, const char *id, struct page *p, struct db_error *e)
{
	struct reader r = { p, "item", id, false };
	int rc =
		query(w,
		      "SELECT i.name, i.price, i.bids, i.state, i.last, i.seller, u.name, u.state, "
		      "u.last, i.category FROM items i JOIN users u ON u.id = i.seller "
		      "WHERE i.id = $1",
		      &id, 1, put_item, &r, e);

	if (rc || !r.found)
		return rc ? rc : -ENOENT;
	page_put(p, "<h2>newest bids</h2><ul>\n");
	rc = query(w,
		   "SELECT b.amount, b.bidder, u.name, u.state, u.last FROM bids b "
		   "JOIN users u ON u.id = b.bidder WHERE b.item = $1 ORDER BY b.id DESC LIMIT 5",
		   &id, 1, put_bid, p, e);
	page_put(p, "</ul>\n");
	return rc;
}

/* --- the category's page, and the front page --- */

static int make_category(struct auction_worker *w, const char *id, struct page *p,
			 struct db_error *e)
{
	char newest[24], oldest[24];
	const char *new_param[] = { id, newest }, *old_param[] = { id, oldest };
	struct reader r = { p, "category", id, false };
	int rc = query(w, "SELECT name, state, last FROM categories WHERE id = $1", &id, 1,
		       put_name, &r, e);

	if (rc || !r.found)
		return rc ? rc : -ENOENT;
	snprintf(newest, sizeof(newest), "%" PRIu64, (w->o->list + 1) / 2);
	snprintf(oldest, sizeof(oldest), "%" PRIu64, w->o->list / 2);
	rc = put_items(w, p, "new",
		       "SELECT " ITEM_COLUMNS " FROM items WHERE category = $1 "
		       "ORDER BY id DESC LIMIT CAST($2 AS bigint)",
		       new_param, 2, e);
	if (rc)
		return rc;
	return put_items(w, p, "ending soon",
			 "SELECT " ITEM_COLUMNS " FROM items WHERE category = $1 "
			 "ORDER BY id LIMIT CAST($2 AS bigint)",
			 old_param, 2, e);
}

static int put_category_link(void *arg, const char *const *column)
{
	page_put(arg, "<li>");
	put_link(arg, "category", column[0], column[1]);
	page_put(arg, "</li>\n");
	return 0;
}

static int make_front(struct auction_worker *w, struct page *p, struct db_error *e)
{
	struct reader r = { p, "category", "0", false };
	const char *id = "0";
	int rc = query(w, "SELECT name, state, last FROM categories WHERE id = $1", &id, 1,
		       put_name, &r, e);

	if (rc || !r.found)
		return rc ? rc : -ENOENT;
	/* Categories are made with the tables, and never change. */
	page_put(p, "<ul>\n");
	rc = query(w, "SELECT id, name FROM categories WHERE id > 0 ORDER BY id LIMIT 20", NULL, 0,
		   put_category_link, p, e);
	page_put(p, "</ul>\n");
	if (rc)
		return rc;
	return put_items(w, p, "new",
			 "SELECT " ITEM_COLUMNS " FROM items ORDER BY id DESC LIMIT 10", NULL, 0,
			 e);
}

/* --- the user's page --- */

static int put_user(void *arg, const char *const *column)
{
	struct reader *r = arg;

	r->found = true;
	page_depends(r->p, "user", r->id, "", column[1], column[2]);
	page_depends(r->p, "user", r->id, "bids", column[3], column[4]);
	page_depends(r->p, "user", r->id, "items", column[5], column[6]);
	page_put(r->p, "<h1>");
	page_put_text(r->p, column[0]);
	page_put(r->p, "</h1>\n");
	return 0;
}

static int make_user(struct auction_worker *w, const char *id, struct page *p, struct db_error *e)
{
	struct reader r = { p, "user", id, false };
	int rc = query(w,
		       "SELECT name, state, last, bids_state, bids_last, items_state, items_last "
		       "FROM users WHERE id = $1",
		       &id, 1, put_user, &r, e);

	if (rc || !r.found)
		return rc ? rc : -ENOENT;
	rc = put_items(
		w, p, "has bid for",
		"SELECT i.id, i.name, b.amount, i.bids, i.state, i.last FROM bids b "
		"JOIN items i ON i.id = b.item WHERE b.bidder = $1 ORDER BY b.id DESC LIMIT 10",
		&id, 1, e);
	if (rc)
		return rc;
	return put_items(w, p, "sells",
			 "SELECT " ITEM_COLUMNS " FROM items WHERE seller = $1 "
			 "ORDER BY id DESC LIMIT 10",
			 &id, 1, e);
}

/* --- pages that depend on so many things: --depends --- */

/* The items of these ids, which are shown or, until somebody makes them, missed. */
struct row_of_ids {
	struct page *p;
	uint64_t next, end;
};

/* Those before end are not there. The change that makes one changes a thing that counts from 0. */
static void miss_items(struct row_of_ids *r, uint64_t end)
{
	char id[24];

	for (; r->next < end; r->next++) {
		snprintf(id, sizeof(id), "%" PRIu64, r->next);
		page_depends(r->p, "item", id, "", "0", "0");
	}
}

static int put_numbered_item(void *arg, const char *const *column)
{
	struct row_of_ids *r = arg;
	uint64_t id = strtoull(column[0], NULL, 10);

	miss_items(r, id);
	r->next = id + 1;
	return put_item_row(r->p, column);
}

/* A page that is about one thing of this kind. */
struct counted {
	const char *kind, *text;
};

#define ONE_OF(table) "SELECT name, state, last FROM " table " WHERE id = $1"

/* What the page is about, and the items with the next ids. */
static int make_counted(struct auction_worker *w, const struct counted *c, const char *id,
			struct page *p, struct db_error *e)
{
	uint64_t first = strtoull(id, NULL, 10) + 1;
	struct row_of_ids items = { p, first, first + w->o->depends - 1 };
	struct reader r = { p, c->kind, id, false };
	char from[24], to[24];
	const char *param[] = { from, to };
	int rc = query(w, c->text, &id, 1, put_name, &r, e);

	if (rc || !r.found)
		return rc ? rc : -ENOENT;
	snprintf(from, sizeof(from), "%" PRIu64, first);
	snprintf(to, sizeof(to), "%" PRIu64, items.end - 1);
	page_put(p, "<table><tr><th>item<th>price<th>bids</tr>\n");
	if (items.next < items.end)
		rc = query(w,
			   "SELECT " ITEM_COLUMNS " FROM items WHERE id BETWEEN CAST($1 AS bigint) "
			   "AND CAST($2 AS bigint) ORDER BY id",
			   param, 2, put_numbered_item, &items, e);
	miss_items(&items, items.end);
	page_put(p, "</table>\n");
	return rc;
}

/* --- all of them --- */

int pages_make(struct auction_worker *w, const char *path, struct page *p,
	       char named[static AUCTION_PATH_MAX], struct db_error *e)
{
	static const struct {
		const char *prefix;
		struct counted counted;
		int (*make)(struct auction_worker *w, const char *id, struct page *p,
			    struct db_error *e);
	} kinds[] = {
		{ "/item/", { "item", ONE_OF("items") }, make_item },
		{ "/category/", { "category", ONE_OF("categories") }, make_category },
		{ "/user/", { "user", ONE_OF("users") }, make_user },
	};
	bool counted = w->o->depends != 0;

	snprintf(named, AUCTION_PATH_MAX, "%s", path);
	if (!strcmp(path, "/"))
		return counted ? make_counted(w, &kinds[1].counted, "0", p, e)
			       : make_front(w, p, e);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const char *id = number_behind(path, kinds[i].prefix);

		if (id && counted)
			return make_counted(w, &kinds[i].counted, id, p, e);
		if (id)
			return kinds[i].make(w, id, p, e);
	}
	return -ENOENT;
}

static int put_item_state(void *arg, const char *const *column)
{
	page_depends(arg, "item", column[0], "", column[1], column[2]);
	return 0;
}

static int put_category_state(void *arg, const char *const *column)
{
	page_depends(arg, "category", column[0], "", column[1], column[2]);
	return 0;
}

static int put_user_state(void *arg, const char *const *column)
{
	page_depends(arg, "user", column[0], "", column[1], column[2]);
	page_depends(arg, "user", column[0], "bids", column[3], column[4]);
	page_depends(arg, "user", column[0], "items", column[5], column[6]);
	return 0;
}

int pages_states(struct auction_worker *w, struct page *p, struct db_error *e)
{
	int rc = query(w, "SELECT id, state, last FROM items", NULL, 0, put_item_state, p, e);

	if (!rc)
		rc = query(w, "SELECT id, state, last FROM categories", NULL, 0, put_category_state,
			   p, e);
	if (!rc)
		rc = query(w,
			   "SELECT id, state, last, bids_state, bids_last, items_state, items_last "
			   "FROM users",
			   NULL, 0, put_user_state, p, e);
	return rc;
}
