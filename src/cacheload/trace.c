// SPDX-License-Identifier: GPL-2.0-or-later
/* trace: draws pages and updates. See trace.h. */
#include "src/cacheload/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/core/random.h"

enum kind { ITEM, CATEGORY, USER, KINDS };

static const char *const names[KINDS] = { "item/", "category/", "user/" };
/* Of 20 pages, after the front page. */
static const char pattern[] = "iicuiicuiicuiiciiici";
static const uint32_t updates[TRACE_TRACES] = { 0, 1, 5, 20, 50, 5 };

struct ids {
	uint64_t *id;
	size_t n;
};

struct page {
	enum kind kind;
	uint64_t id; /* 0: the front page */
};

struct trace {
	struct trace_conf conf;
	struct ids of[KINDS];
	size_t shown[KINDS]; /* the first so many have pages */
	struct page *page;
	size_t pages;
	double *weight; /* of pages up to this one; NULL: all are alike */
	uint64_t created;
};

/* --- what there is --- */

/* "item/17" -> 17; 0: the thing is of another kind, or is category/0, the front page. */
static uint64_t id_of(const char *name, enum kind k)
{
	char *end;
	uint64_t id;

	if (strncmp(name, names[k], strlen(names[k])) != 0)
		return 0;
	id = strtoull(name + strlen(names[k]), &end, 10);
	return *end ? 0 : id;
}

static void shuffle(struct ids *l, uint64_t *random)
{
	for (size_t i = l->n; i > 1; i--) {
		size_t k = random_next(random) % i;
		uint64_t id = l->id[i - 1];

		l->id[i - 1] = l->id[k];
		l->id[k] = id;
	}
}

static int collect(struct trace *t, const struct history *h)
{
	uint64_t random = t->conf.seed;
	uint32_t n = history_things(h);

	for (enum kind k = ITEM; k < KINDS; k++) {
		struct ids *l = &t->of[k];

		l->id = malloc((n + 1) * sizeof(*l->id));
		if (!l->id)
			return -ENOMEM;
		for (uint32_t i = 0; i < n; i++) {
			uint64_t id = id_of(history_name(h, i), k);

			if (id)
				l->id[l->n++] = id;
		}
		if (!l->n)
			return -ENODATA;
		shuffle(l, &random);
	}
	return 0;
}

static enum kind kind_at(size_t i)
{
	char c = pattern[i % (sizeof(pattern) - 1)];

	return c == 'i' ? ITEM : c == 'c' ? CATEGORY : USER;
}

/* The front page, then of each kind in its order, as the pattern says, while there are any. */
static int list_pages(struct trace *t)
{
	size_t all = 1 + t->of[ITEM].n + t->of[CATEGORY].n + t->of[USER].n;

	t->page = malloc(all * sizeof(*t->page));
	if (!t->page)
		return -ENOMEM;
	t->page[t->pages++] = (struct page){ CATEGORY, 0 };
	for (size_t i = 0; t->pages < all && t->pages < t->conf.pages; i++) {
		enum kind k = kind_at(i);

		if (t->shown[k] < t->of[k].n)
			t->page[t->pages++] = (struct page){ k, t->of[k].id[t->shown[k]++] };
	}
	return 0;
}

static int weigh(struct trace *t)
{
	double sum = 0;

	if (t->conf.trace != TRACE_TRACES)
		return 0;
	t->weight = malloc(t->pages * sizeof(*t->weight));
	if (!t->weight)
		return -ENOMEM;
	for (size_t i = 0; i < t->pages; i++) {
		sum += 1 / pow((double)(i + 1), t->conf.alpha);
		t->weight[i] = sum;
	}
	return 0;
}

int trace_open(struct trace **out, const struct trace_conf *c, const struct history *h)
{
	struct trace *t = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return -ENOMEM;
	t->conf = *c;
	rc = collect(t, h);
	if (!rc)
		rc = list_pages(t);
	if (!rc)
		rc = weigh(t);
	if (rc)
		trace_close(t);
	else
		*out = t;
	return rc;
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	for (enum kind k = ITEM; k < KINDS; k++)
		free(t->of[k].id);
	free(t->page);
	free(t->weight);
	free(t);
}

uint32_t trace_updates(uint64_t trace)
{
	return updates[trace - 1];
}

size_t trace_pages(const struct trace *t)
{
	return t->pages;
}

/* --- draws --- */

/* One of the first n ranks. */
static size_t draw(const struct trace *t, uint64_t *random, size_t n)
{
	uint64_t v = random_next(random);
	size_t low = 0, high = n - 1;
	double at;

	if (!t->weight)
		return v % n;
	at = (double)(v >> 11) * 0x1p-53 * t->weight[n - 1];
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (t->weight[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void trace_read(const struct trace *t, uint64_t *random, char path[static TRACE_PATH_MAX])
{
	const struct page *p = &t->page[draw(t, random, t->pages)];

	if (p->id)
		snprintf(path, TRACE_PATH_MAX, "/%s%" PRIu64, names[p->kind], p->id);
	else
		strcpy(path, "/");
}

static __attribute__((format(printf, 2, 3))) void changes(struct trace_update *u, const char *fmt,
							  ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(u->thing[u->things++], sizeof(u->thing[0]), fmt, ap);
	va_end(ap);
}

/* Of those that have pages; of all, when none has. */
static uint64_t one_of(const struct trace *t, uint64_t *random, enum kind k)
{
	size_t n = t->shown[k] ? t->shown[k] : t->of[k].n;

	/* There are not more weights than pages. */
	return t->of[k].id[n <= t->pages ? draw(t, random, n) : random_next(random) % n];
}

static void bid(const struct trace *t, uint64_t *random, uint64_t number, struct trace_update *u)
{
	uint64_t item = one_of(t, random, ITEM), user = one_of(t, random, USER);

	u->path = "/bid";
	snprintf(u->form, sizeof(u->form),
		 "item=%" PRIu64 "&user=%" PRIu64 "&raise=%" PRIu64 "&update=%" PRIu64, item, user,
		 1 + random_next(random) % 9, number);
	changes(u, "item/%" PRIu64, item);
	changes(u, "user/%" PRIu64 "/bids", user);
}

static void rename_user(const struct trace *t, uint64_t *random, uint64_t number,
			struct trace_update *u)
{
	uint64_t user = one_of(t, random, USER);

	u->path = "/user";
	snprintf(u->form, sizeof(u->form), "id=%" PRIu64 "&name=user-%" PRIu64 "&update=%" PRIu64,
		 user, random_next(random) % 1000000, number);
	changes(u, "user/%" PRIu64, user);
}

static void put_up(struct trace *t, uint64_t *random, uint64_t number, struct trace_update *u)
{
	uint64_t item = t->conf.first_item + ++t->created;
	uint64_t category = one_of(t, random, CATEGORY), user = one_of(t, random, USER);

	u->path = "/item";
	snprintf(u->form, sizeof(u->form),
		 "id=%" PRIu64 "&user=%" PRIu64 "&category=%" PRIu64 "&price=%" PRIu64
		 "&name=thing-%" PRIu64 "&update=%" PRIu64,
		 item, user, category, 1 + random_next(random) % 999, item, number);
	changes(u, "item/%" PRIu64, item);
	changes(u, "category/0");
	changes(u, "category/%" PRIu64, category);
	changes(u, "user/%" PRIu64 "/items", user);
}

void trace_update(struct trace *t, uint64_t *random, uint64_t number, struct trace_update *u)
{
	uint64_t kind = random_next(random) % 20;

	u->things = 0;
	if (kind < 16)
		bid(t, random, number, u);
	else if (kind < 18)
		rename_user(t, random, number, u);
	else
		put_up(t, random, number, u);
}
