// SPDX-License-Identifier: GPL-2.0-or-later
/* fake_app: keeps what was asked. See fake_app.h. */
#include "tests/fakes/fake_app.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fake_app_open(struct app *a)
{
	static const uint64_t rows[] = { 1, 0, 7 };

	memset(a, 0, sizeof(*a));
	a->result = (struct app_result){ .end = APP_OK,
					 .why = "",
					 .text = "",
					 .id = 0x70000000000005full,
					 .version = 0x1400000abull,
					 .transaction = 123,
					 .rows = rows,
					 .statements = 3,
					 .sqlstate = "" };
}

static void asked(struct app *a, const char *what, app_done *done, void *arg)
{
	a->what = what;
	a->calls++;
	if (!a->later) {
		done(arg, &a->result);
		return;
	}
	assert(a->waits < FAKE_APP_WAITING);
	a->waiting[a->waits++] = (struct fake_asked){ done, arg };
}

void fake_app_answer(struct app *a)
{
	struct fake_asked w = a->waiting[0];

	assert(a->waits);
	a->waits--;
	memmove(a->waiting, a->waiting + 1, a->waits * sizeof(w));
	w.done(w.arg, &a->result);
}

static void keep_tags(struct app *a, uint32_t tags, const char *const *tag)
{
	assert(tags <= FAKE_APP_TAGS);
	a->tags = tags;
	for (uint32_t i = 0; i < tags; i++)
		snprintf(a->tag[i], sizeof(a->tag[i]), "%s", tag[i]);
}

void app_fill_begin(struct app *a, uint16_t home, uint32_t word, app_done *done, void *arg)
{
	a->home = home;
	a->word = word;
	asked(a, "begin", done, arg);
}

void app_fill_end(struct app *a, uint64_t id, uint32_t tags, const char *const *tag,
		  const char *snapshot, app_done *done, void *arg)
{
	a->id = id;
	keep_tags(a, tags, tag);
	snprintf(a->snapshot, sizeof(a->snapshot), "%s", snapshot ? snapshot : "none");
	asked(a, "end", done, arg);
}

enum app_end app_fill_give_up(struct app *a, uint64_t id)
{
	a->what = "give_up";
	a->calls++;
	a->id = id;
	return a->result.end;
}

static void add(struct app *a, const char *text, const char *end)
{
	size_t n = strlen(a->text);

	snprintf(a->text + n, sizeof(a->text) - n, "%.64s%s", text, end);
}

void app_update(struct app *a, uint32_t tags, const char *const *tag, uint32_t statements,
		const struct sql_statement *statement, app_done *done, void *arg)
{
	keep_tags(a, tags, tag);
	a->statements = statements;
	a->text[0] = 0;
	for (uint32_t i = 0; i < statements; i++) {
		add(a, statement[i].text, statement[i].params ? "|" : ";");
		for (uint32_t k = 0; k < statement[i].params; k++)
			add(a, statement[i].param[k] ? statement[i].param[k] : "NULL",
			    k + 1 < statement[i].params ? "|" : ";");
	}
	asked(a, "update", done, arg);
}

void app_invalidate_page(struct app *a, uint64_t key, app_done *done, void *arg)
{
	a->key = key;
	asked(a, "invalidate page", done, arg);
}

void app_invalidate(struct app *a, const char *tag, app_done *done, void *arg)
{
	a->all = !tag;
	if (tag)
		keep_tags(a, 1, &tag);
	asked(a, "invalidate", done, arg);
}

void app_remove(struct app *a, uint16_t host, bool force, app_done *done, void *arg)
{
	a->host = host;
	a->force = force;
	asked(a, "remove", done, arg);
}

json_t *app_info(const struct app *a)
{
	return a->no_memory ? NULL : json_pack("{s:s}", "role", "app");
}

json_t *app_cache(const struct app *a)
{
	return a->no_memory ? NULL : json_pack("{s:s}", "what", "app_cache");
}

json_t *app_updates(const struct app *a)
{
	return a->no_memory ? NULL : json_pack("[{s:s}]", "updater", "app1");
}

json_t *app_show(const struct app *a, const char *tag)
{
	/* what people see is const; the test wants to know what was asked for */
	struct app *kept = (struct app *)(uintptr_t)a;

	snprintf(kept->shown, sizeof(kept->shown), "%s", tag);
	return json_pack("{s:s}", "what", "app_show");
}

json_t *proxy_info(const struct proxy *p)
{
	(void)p;
	return json_pack("{s:s}", "role", "proxy");
}

json_t *proxy_cache(const struct proxy *p)
{
	(void)p;
	return json_pack("{s:s}", "what", "proxy_cache");
}

json_t *proxy_show(const struct proxy *p, uint64_t key)
{
	struct proxy *kept = (struct proxy *)(uintptr_t)p;

	kept->key = key;
	return json_pack("{s:s}", "what", "proxy_show");
}
