// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * update: reads forms. See update.h. A tag that is forgotten here is a page that stays stale, so
 * each statement stands beside the tags of what it changes.
 *
 * All transactions change items before categories, and these before users: two of them never wait
 * for each other. A row that is not there makes NOT NULL fail, and nothing is done.
 */
#include "src/auction/update.h"

#include <errno.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "src/util/utf8.h"

/* --- the form --- */

struct form {
	struct evkeyvalq fields;
	char *why;
	size_t size;
};

/* A number from 1 to 10^18 - 1. otherwise NULL: it must be there. */
static int read_number(const struct form *f, const char *key, const char *otherwise,
		       char out[static 24])
{
	const char *s = evhttp_find_header(&f->fields, key);
	size_t len;

	if (!s && otherwise)
		s = otherwise;
	len = s ? strspn(s, "0123456789") : 0;
	if (!len || len > 18 || s[len] || (*s == '0' && s != otherwise)) {
		snprintf(f->why, f->size, "%s: give a whole number from 1, of at most 18 digits",
			 key);
		return -EINVAL;
	}
	strcpy(out, s);
	return 0;
}

static int read_name(const struct form *f, char out[static UPDATE_NAME_MAX + 1])
{
	const char *s = evhttp_find_header(&f->fields, "name");
	bool good = s && *s && strlen(s) <= UPDATE_NAME_MAX && utf8_good(s);

	for (const char *at = s; good && *at; at++)
		good = (unsigned char)*at >= 0x20 && *at != 0x7f;
	if (!good) {
		snprintf(f->why, f->size, "name: give 1 to %d bytes of UTF-8", UPDATE_NAME_MAX);
		return -EINVAL;
	}
	strcpy(out, s);
	return 0;
}

/* --- statements and tags --- */

static __attribute__((format(printf, 2, 3))) void changes(struct update *u, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(u->tag[u->n], sizeof(u->tag[0]), fmt, ap);
	va_end(ap);
	u->tags[u->n] = u->tag[u->n];
	u->n++;
}

static void add_statement(struct update *u, const char *sql, const char *const *param,
			  size_t params)
{
	memcpy(u->param[u->statements], param, params * sizeof(*param));
	u->statement[u->statements] = (struct resex_cache_statement){ sql, u->param[u->statements],
								      params };
	u->statements++;
}

/* Its text, and its parameters, at most UPDATE_PARAMS. */
#define statement(u, sql, ...)                                                                     \
	add_statement(u, sql, (const char *const[]){ __VA_ARGS__ },                                \
		      sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static int read_bid(struct update *u, const struct form *f)
{
	if (read_number(f, "item", NULL, u->item) || read_number(f, "user", NULL, u->user) ||
	    read_number(f, "raise", "1", u->amount))
		return -EINVAL;
	changes(u, "item/%s", u->item);
	statement(u,
		  "UPDATE items SET price = price + $2, bids = bids + 1, state = state + 1, last = "
		  "$3 "
		  "WHERE id = $1",
		  u->item, u->amount, u->number);
	/* The item's list of bids is part of the item. */
	statement(u,
		  "INSERT INTO bids (item, bidder, amount) VALUES "
		  "((SELECT id FROM items WHERE id = $1), (SELECT id FROM users WHERE id = $2), "
		  "(SELECT price FROM items WHERE id = $1))",
		  u->item, u->user);
	changes(u, "user/%s/bids", u->user);
	statement(u, "UPDATE users SET bids_state = bids_state + 1, bids_last = $2 WHERE id = $1",
		  u->user, u->number);
	return 0;
}

static int read_item(struct update *u, const struct form *f, uint64_t new_item)
{
	char id[24];

	snprintf(id, sizeof(id), "%" PRIu64, new_item);
	if (read_number(f, "id", id, u->item) || read_number(f, "user", NULL, u->user) ||
	    read_number(f, "category", NULL, u->category) ||
	    read_number(f, "price", "1", u->amount) || read_name(f, u->name))
		return -EINVAL;
	changes(u, "item/%s", u->item);
	statement(u,
		  "INSERT INTO items (id, seller, category, name, price, bids, state, last) VALUES "
		  "($1, (SELECT id FROM users WHERE id = $2), "
		  "(SELECT id FROM categories WHERE id = $3), $4, $5, 0, 1, $6)",
		  u->item, u->user, u->category, u->name, u->amount, u->number);
	/* Each list in which it appears. */
	changes(u, "category/0");
	statement(u, "UPDATE categories SET state = state + 1, last = $1 WHERE id = 0", u->number);
	changes(u, "category/%s", u->category);
	statement(u, "UPDATE categories SET state = state + 1, last = $2 WHERE id = $1",
		  u->category, u->number);
	changes(u, "user/%s/items", u->user);
	statement(u,
		  "UPDATE users SET items_state = items_state + 1, items_last = $2 WHERE id = $1",
		  u->user, u->number);
	return 0;
}

static int read_user(struct update *u, const struct form *f)
{
	if (read_number(f, "id", NULL, u->user) || read_name(f, u->name))
		return -EINVAL;
	changes(u, "user/%s", u->user);
	statement(u,
		  "INSERT INTO users (id, name, state, last) VALUES ($1, $2, 1, $3) "
		  "ON CONFLICT (id) DO UPDATE SET name = excluded.name, state = users.state + 1, "
		  "last = excluded.last",
		  u->user, u->name, u->number);
	return 0;
}

int update_read(struct update *u, const char *path, const char *form, uint64_t new_item, char *why,
		size_t size)
{
	struct form f = { .why = why, .size = size };
	int rc;

	*u = (struct update){ .n = 0 };
	if (evhttp_parse_query_str(form, &f.fields)) {
		snprintf(why, size, "no form: give fields as item=5&user=3");
		return -EINVAL;
	}
	rc = read_number(&f, "update", "0", u->number);
	if (rc)
		;
	else if (!strcmp(path, "/bid"))
		rc = read_bid(u, &f);
	else if (!strcmp(path, "/item"))
		rc = read_item(u, &f, new_item);
	else if (!strcmp(path, "/user"))
		rc = read_user(u, &f);
	else
		rc = -ENOENT;
	evhttp_clear_headers(&f.fields);
	return rc;
}
