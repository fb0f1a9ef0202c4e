// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cmd_cache: the verbs of resex-cached: cache-list, cache-show, cache-invalidate, update-list,
 * cache-remove, cache-events.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/cli/cmds.h"
#include "src/cli/http.h"
#include "src/cli/request.h"

enum { FOLLOW_MS = 300, DEPTH_MAX = 8 };

/* As request_reply(), over HTTP. */
static int reply(struct cli *c, const char *target, json_t *body, json_t **result)
{
	int rc = http_call(&c->client, target, body, result);

	return rc ? rc : request_print(c, result);
}

/* --- figures of any shape ------------------------------------------------------------------ */

/* A duration is named without its unit, which its value has then. */
static enum quantity quantity_of(const char *key, int *len)
{
	static const struct {
		const char *end;
		enum quantity q;
	} ends[] = { { "_ns", QUANTITY_NS }, { "_us", QUANTITY_US }, { "_ms", QUANTITY_MS } };
	size_t n = strlen(key);

	*len = (int)n;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (n > 3 && !strcmp(key + n - 3, ends[i].end)) {
			*len = (int)n - 3;
			return ends[i].q;
		}
	return QUANTITY_PLAIN;
}

static void print_value(const json_t *v, enum quantity q)
{
	char text[64];

	if (q && json_is_number(v)) {
		quantity_text(q, json_number_value(v), text, sizeof(text));
		puts(text);
		return;
	}
	switch (v ? json_typeof(v) : JSON_NULL) {
	case JSON_STRING:
		printf("%s\n", *json_string_value(v) ? json_string_value(v) : "-");
		break;
	case JSON_INTEGER:
		printf("%lld\n", (long long)json_integer_value(v));
		break;
	case JSON_REAL:
		printf("%.2f\n", json_real_value(v));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		puts(json_is_true(v) ? "yes" : "no");
		break;
	default:
		puts("-");
	}
}

/* One "key  value" line a member; members of members are indented. Lists are printed as tables. */
static void print_card(const json_t *o, int depth)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)o, key, v) {
		enum quantity q;
		int len;

		if (json_is_array(v))
			continue;
		q = quantity_of(key, &len);
		printf("%*s%-*.*s ", 2 * depth, "", 24 - 2 * depth, len, key);
		if (!json_is_object(v)) {
			print_value(v, q);
			continue;
		}
		puts(json_object_size(v) ? "" : "-");
		if (depth < DEPTH_MAX)
			print_card(v, depth + 1);
	}
}

/* --- cache-list, cache-show ------------------------------------------------------------------ */

/* The lists of both roles: of a host that has none of a name, nothing is printed. */
static const struct {
	const char *key;
	struct column cols[13];
} lists[] = {
	/* clang-format off */
	{ "members", {
		{ "MEMBER", "name", 1 }, { "NUMBER", "host", 0 }, { "IN", "in", 1 },
		{ "GENERATION", "generation", 0 }, { "LINK", "link", 1 },
		{ "BEAT", "beat_ms", AS_MS }, { 0 } } },
	{ "homes", {
		{ "HOME", "name", 1 }, { "NUMBER", "host", 0 }, { "LINK", "link", 1 },
		{ "FRESH", "fresh", 1 }, { "FOR", "fresh_ms", AS_MS }, { 0 } } },
	{ "clients", {
		{ "CLIENT", "pid", 0 }, { "USER", "user", 0 }, { "WAITING", "waiting", 0 },
		{ "ASKED", "asked", 0 }, { "DIRECT", "direct", 0 }, { "HITS", "hits", 0 },
		{ "MISSES", "misses", 0 }, { "NOT-OFFERED", "unoffered", 0 },
		{ "PASSES", "passes", 0 }, { "STORED", "stored", 0 },
		{ "NOT-STORED", "refused", 0 }, { "BAD", "bad", 0 }, { 0 } } },
	/* clang-format on */
};

static void print_lists(const json_t *o)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		const json_t *list = json_object_get(o, lists[i].key);

		if (!list)
			continue;
		putchar('\n');
		table_print(stdout, list, lists[i].cols);
	}
}

/* What the host is, then what its cache did: two replies, printed as one. */
int run_cache_list(struct cli *c)
{
	json_t *info = NULL, *cache = NULL;
	int rc = no_arguments(c);

	if (!rc)
		rc = http_call(&c->client, "/v1/info", NULL, &info);
	if (!rc)
		rc = http_call(&c->client, "/v1/cache", NULL, &cache);
	if (!rc && json_object_update_missing(info, cache))
		rc = RESEX_FAILURE;
	if (!rc)
		rc = request_print(c, &info);
	if (!rc && info) {
		print_card(info, 0);
		print_lists(info);
	}
	json_decref(cache);
	json_decref(info);
	return rc;
}

/*
 * A page is a path, or has a scheme, and its own tag is "page:" and that (man resex-cache). To be
 * freed; NULL: no memory.
 */
static char *tag_of(const char *word)
{
	bool is_page = *word == '/' || strstr(word, "://");
	char *tag;

	return asprintf(&tag, "%s%s", is_page ? "page:" : "", word) < 0 ? NULL : tag;
}

int run_cache_show(struct cli *c)
{
	char target[HTTP_QUERY_MAX], *tag;
	json_t *r = NULL, *word;
	bool fits;
	size_t i;
	int rc;

	if (c->argc != 1)
		return usage_error(c, "cache-show: exactly one tag or page is required");
	tag = tag_of(c->argv[0]);
	fits = tag && http_query(target, "/v1/show", "tag", tag);
	free(tag);
	if (!fits)
		return usage_error(c, "cache-show: the tag or page is too long");
	rc = reply(c, target, NULL, &r);
	if (!rc && r) {
		print_card(r, 0);
		json_array_foreach(json_object_get(r, "words"), i, word)
			printf("%s%lld", i ? ", " : "words                    ",
			       (long long)json_integer_value(word));
		if (json_array_size(json_object_get(r, "words")))
			putchar('\n');
	}
	json_decref(r);
	return rc;
}

/* --- what changes something ------------------------------------------------------------------- */

int run_cache_invalidate(struct cli *c)
{
	json_t *r = NULL, *body;
	char *tag;
	int rc;

	if (c->argc != (c->options.all ? 0 : 1))
		return usage_error(c, "cache-invalidate: give one tag, one page, or --all");
	tag = c->options.all ? NULL : tag_of(c->argv[0]);
	body = c->options.all ? json_pack("{s:b}", "all", 1) : json_pack("{s:s}", "tag", tag);
	free(tag);
	rc = reply(c, "/v1/invalidate", body, &r);
	json_decref(r);
	return rc;
}

int run_cache_remove(struct cli *c)
{
	json_t *r = NULL;
	int rc;

	if (c->argc != 1)
		return usage_error(c, "cache-remove: exactly one host is required");
	rc = reply(c, "/v1/remove",
		   json_pack("{s:s,s:b}", "host", c->argv[0], "force", c->options.force), &r);
	json_decref(r);
	return rc;
}

int run_update_list(struct cli *c)
{
	static const struct column cols[] = {
		{ "UPDATER", "updater", 1 },
		{ "SLOT", "slot", 0 },
		{ "STATE", "state", 1 },
		{ "SINCE", "since_ms", AS_MS },
		{ "ATTEMPTS", "attempts", 0 },
		{ "MISSING", "missing", 1 },
		{ 0 },
	};
	json_t *r = NULL;
	int rc = no_arguments(c);

	if (!rc)
		rc = reply(c, "/v1/updates", NULL, &r);
	if (!rc && r)
		table_print(stdout, json_object_get(r, "updates"), cols);
	json_decref(r);
	return rc;
}

/* --- cache-events --------------------------------------------------------------------------- */

static void print_event(const struct cli *c, const json_t *e)
{
	json_int_t ns = json_integer_value(json_object_get(e, "time_ns"));
	char when[REQUEST_TIME_MAX];

	if (c->options.json) {
		json_dumpf(e, stdout, JSON_COMPACT); /* one event a line */
		putchar('\n');
		return;
	}
	printf("%s  %s\n", event_time(ns, when), json_string_value(json_object_get(e, "text")));
}

int run_cache_events(struct cli *c)
{
	long last = c->options.lines;
	json_int_t after = 0;
	int rc = no_arguments(c);

	while (!rc) {
		char target[64];
		json_t *r = NULL, *list;
		size_t n, i = 0;

		snprintf(target, sizeof(target), "/v1/events?after=%lld", (long long)after);
		rc = http_call(&c->client, target, NULL, &r);
		list = json_object_get(r, "events");
		n = json_array_size(list);
		if (last >= 0 && n > (size_t)last)
			i = n - (size_t)last;
		if (!c->options.json)
			table_tame(r);
		for (; i < n; i++)
			print_event(c, json_array_get(list, i));
		if (!rc)
			after = json_integer_value(json_object_get(r, "newest"));
		json_decref(r);
		fflush(stdout);
		/* A reader that is gone, such as head(1), or a full disk ends --follow. */
		if (!c->options.follow || ferror(stdout))
			break;
		last = -1; /* --lines is for the events from before */
		poll(NULL, 0, FOLLOW_MS);
	}
	return rc;
}
