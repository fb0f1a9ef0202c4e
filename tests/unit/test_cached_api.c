// SPDX-License-Identifier: GPL-2.0-or-later
/* api: what each path asks of app and proxy, and what it answers; who may. */
#include <grp.h>
#include <sys/wait.h>

#include "tests/unit/api_rig.h"

/* --- bodies that are good -------------------------------------------------------------- */

RIG_TEST(fill__begun__has_an_id)
{
	struct rig *r = *state;

	assert_int_equal(ask(r, "POST", "/v1/fill", "{\"home\": 2, \"word\": 17}"), 200);
	assert_string_equal(r->body, "{\"fill\":\"070000000000005f\"}");
	assert_string_equal(r->app.what, "begin");
	assert_int_equal(r->app.home, 2);
	assert_int_equal(r->app.word, 17);
	assert_non_null(strstr(r->buf, "Content-Type: application/json\r\n"));
}

RIG_TEST(fill__ended__has_its_version)
{
	struct rig *r = *state;

	assert_int_equal(ask(r, "POST", "/v1/fill/070000000000005f",
			     "{\"tags\": [\"item/5\", \"\\u00e9\"], \"snapshot\": \"10:20:10\"}"),
			 200);
	assert_string_equal(r->body, "{\"version\":\"00000001400000ab\"}");
	assert_string_equal(r->app.what, "end");
	assert_true(r->app.id == r->app.result.id);
	assert_int_equal(r->app.tags, 2);
	assert_string_equal(r->app.tag[0], "item/5");
	assert_string_equal(r->app.tag[1], "\xc3\xa9");
	assert_string_equal(r->app.snapshot, "10:20:10");
	ask(r, "POST", "/v1/fill/070000000000005f", "{\"tags\": []}");
	assert_int_equal(r->app.tags, 0);
	assert_string_equal(r->app.snapshot, "none");
}

RIG_TEST(fill__refused_by_the_home__is_no_error)
{
	struct rig *r = *state;

	r->app.result = (struct app_result){ APP_REFUSED, .why = "pending", .text = "an update" };
	assert_int_equal(ask(r, "POST", "/v1/fill/0000000000000001", "{\"tags\": [\"a\"]}"), 200);
	assert_string_equal(r->body,
			    "{\"version\":null,\"why\":\"pending\",\"text\":\"an update\"}");
}

RIG_TEST(fill__given_up__is_told)
{
	struct rig *r = *state;

	assert_int_equal(ask(r, "DELETE", "/v1/fill/00000000000000ff", ""), 200);
	assert_string_equal(r->body, "{}");
	assert_string_equal(r->app.what, "give_up");
	assert_int_equal(r->app.id, 0xff);
	r->app.result.end = APP_NOT_FOUND;
	ask(r, "DELETE", "/v1/fill/00000000000000ff", "");
	assert_refused(r, 404, "fill");
}

RIG_TEST(update__committed__has_transaction_and_rows)
{
	struct rig *r = *state;

	assert_int_equal(
		ask(r, "POST", "/v1/update",
		    "{\"tags\": [\"a\", \"b\"], \"statements\": [\"UPDATE x\", {\"sql\": "
		    "\"INSERT $1\\n$2\", \"params\": [\"v\", null]}, {\"sql\": \"DELETE\"}]}"),
		200);
	assert_string_equal(r->body, "{\"transaction\":123,\"rows\":[1,0,7]}");
	assert_string_equal(r->app.what, "update");
	assert_int_equal(r->app.tags, 2);
	assert_int_equal(r->app.statements, 3);
	assert_string_equal(r->app.text, "UPDATE x;INSERT $1\n$2|v|NULL;DELETE;");
	ask(r, "POST", "/v1/update",
	    "{\"tags\": [\"a\"], \"statements\": [{\"sql\": \"A\", \"params\": [\"1\"]}, {\"sql\": "
	    "\"B\", \"params\": [\"2\"]}]}");
	assert_string_equal(r->app.text, "A|1;B|2;");
}

RIG_TEST(update__statement_was_refused__is_a_conflict)
{
	struct rig *r = *state;

	r->app.result = (struct app_result){ APP_REFUSED, .why = "refused",
					     .text = "there is no column \xff\"x\"",
					     .sqlstate = "42703" };
	ask(r, "POST", "/v1/update", "{\"tags\": [\"a\"], \"statements\": []}");
	assert_refused(r, 409, "refused");
	assert_non_null(strstr(r->body, "\"sqlstate\":\"42703\""));
	assert_non_null(strstr(r->body, "there is no column \\\"x\\\""));
}

RIG_TEST(update__each_end__has_its_status)
{
	static const struct {
		enum app_end end;
		int status;
	} ends[] = { { APP_NOT_NOW, 503 }, { APP_BAD, 400 }, { APP_NOT_FOUND, 404 } };
	struct rig *r = *state;

	for (int i = 0; i < 3; i++) {
		r->app.result = (struct app_result){ ends[i].end, .why = "a_word",
						     .text = "a sentence", .sqlstate = "" };
		ask(r, "POST", "/v1/update", "{\"tags\": [\"a\"], \"statements\": []}");
		assert_refused(r, ends[i].status, "a_word");
		ask(r, "POST", "/v1/fill", "{\"home\": 1, \"word\": 0}");
		assert_refused(r, ends[i].status, "a_word");
		ask(r, "POST", "/v1/fill/0000000000000001", "{\"tags\": [\"a\"]}");
		assert_refused(r, ends[i].status, "a_word");
		ask(r, "POST", "/v1/remove", "{\"host\": 1}");
		assert_refused(r, ends[i].status, "a_word");
	}
}

RIG_TEST(invalidate__tag_page_or_all__is_told)
{
	struct rig *r = *state;

	assert_int_equal(ask(r, "POST", "/v1/invalidate", "{\"tag\": \"item/5\"}"), 200);
	assert_string_equal(r->app.what, "invalidate");
	assert_false(r->app.all);
	assert_string_equal(r->app.tag[0], "item/5");
	assert_int_equal(ask(r, "POST", "/v1/invalidate", "{\"all\": true}"), 200);
	assert_true(r->app.all);
	assert_int_equal(ask(r, "POST", "/v1/invalidate", "{\"page\": \"12aB\"}"), 200);
	assert_string_equal(r->app.what, "invalidate page");
	assert_true(r->app.key == 0x12ab);
	ask(r, "POST", "/v1/invalidate", "{\"page\": \"/item\"}");
	assert_refused(r, 400, "bad");
	assert_int_equal(r->app.calls, 3);
}

RIG_TEST(remove__host_by_name_or_number__is_told)
{
	struct rig *r = *state;

	assert_int_equal(ask(r, "POST", "/v1/remove", "{\"host\": \"app2\"}"), 200);
	assert_string_equal(r->body, "{}");
	assert_int_equal(r->app.host, 2);
	assert_false(r->app.force);
	assert_int_equal(ask(r, "POST", "/v1/remove", "{\"host\": 1, \"force\": true}"), 200);
	assert_int_equal(r->app.host, 1);
	assert_true(r->app.force);
	ask(r, "POST", "/v1/remove", "{\"host\": \"front\"}"); /* a proxy is no member */
	assert_refused(r, 404, "host");
	ask(r, "POST", "/v1/remove", "{\"host\": 7}");
	assert_refused(r, 404, "host");
	assert_int_equal(r->app.calls, 2);
}

#define HTTP_FIGURES ",\"http\":{\"held_bytes\":0,\"connections_refused\":0,\"bodies_refused\":0}}"

RIG_TEST(show__app__has_what_it_says)
{
	struct rig *r = *state;

	assert_int_equal(ask(r, "GET", "/v1/info", ""), 200);
	assert_string_equal(r->body, "{\"role\":\"app\"" HTTP_FIGURES);
	assert_int_equal(ask(r, "GET", "/v1/cache", ""), 200);
	assert_string_equal(r->body, "{\"what\":\"app_cache\"}");
	assert_int_equal(ask(r, "GET", "/v1/updates", ""), 200);
	assert_string_equal(r->body, "{\"updates\":[{\"updater\":\"app1\"}]}");
	assert_int_equal(ask(r, "GET", "/v1/show?tag=item%2F5+%C3%A9", ""), 200);
	assert_string_equal(r->app.shown, "item/5 \xc3\xa9");
	r->app.no_memory = true;
	ask(r, "GET", "/v1/info", "");
	assert_refused(r, 500, "memory");
	ask(r, "GET", "/v1/updates", "");
	assert_refused(r, 500, "memory");
}

RIG_TEST(show__proxy__has_what_it_says_and_no_fills)
{
	static const char *const others[] = { "/v1/fill", "/v1/update", "/v1/invalidate",
					      "/v1/remove", "/v1/fill/0000000000000001" };
	struct rig *r = *state;

	api_close(r->api);
	open_api(r, true);
	assert_int_equal(ask(r, "GET", "/v1/info", ""), 200);
	assert_string_equal(r->body, "{\"role\":\"proxy\"" HTTP_FIGURES);
	ask(r, "GET", "/v1/cache", "");
	assert_string_equal(r->body, "{\"what\":\"proxy_cache\"}");
	assert_int_equal(ask(r, "GET", "/v1/show?page=1aF", ""), 200);
	assert_int_equal(r->proxy.key, 0x1af);
	ask(r, "GET", "/v1/show?page=12345678901234567", "");
	assert_refused(r, 400, "bad");
	ask(r, "GET", "/v1/show?page=", "");
	assert_refused(r, 400, "bad");
	ask(r, "GET", "/v1/show?page=xy", "");
	assert_refused(r, 400, "bad");
	ask(r, "GET", "/v1/show?tag=x", "");
	assert_refused(r, 400, "bad");
	for (int i = 0; i < 5; i++) {
		ask(r, "POST", others[i], "{}");
		assert_refused(r, 404, "role");
	}
	ask(r, "GET", "/v1/updates", "");
	assert_refused(r, 404, "role");
}

RIG_TEST(events__after_some__are_told_in_order)
{
	struct rig *r = *state;
	json_t *o, *list;

	assert_int_equal(ask(r, "GET", "/v1/events", ""), 200);
	assert_string_equal(r->body, "{\"newest\":0,\"events\":[]}");
	events_add(r->events, "host app1 joined");
	events_add(r->events, "host app2 is \"out\"");
	assert_int_equal(ask(r, "GET", "/v1/events?after=0", ""), 200);
	o = json_loads(r->body, 0, NULL);
	list = json_object_get(o, "events");
	assert_int_equal(json_array_size(list), 2);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 1), "number")), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 1), "text")),
			    "host app2 is \"out\"");
	assert_true(json_integer_value(json_object_get(json_array_get(list, 1), "time_ns")) > 0);
	json_decref(o);
	ask(r, "GET", "/v1/events?after=2", "");
	assert_string_equal(r->body, "{\"newest\":2,\"events\":[]}");
	for (int i = 0; i < 3 * EVENTS_MAX; i++)
		events_add(r->events, "%0250d", i);
	assert_int_equal(ask(r, "GET", "/v1/events?after=", ""), 200);
	o = json_loads(r->body, 0, NULL);
	assert_int_equal(json_array_size(json_object_get(o, "events")), EVENTS_MAX);
	json_decref(o);
}

/* --- what is refused -------------------------------------------------------------- */

struct row {
	const char *name, *method, *path, *body;
	int status;
	const char *why, *says; /* in the sentence */
};

#define FILL	   "POST", "/v1/fill"
#define END	   "POST", "/v1/fill/0000000000000001"
#define UPDATE	   "POST", "/v1/update"
#define INVALIDATE "POST", "/v1/invalidate"
#define REMOVE	   "POST", "/v1/remove"
#define BAD	   400, "bad"

static const struct row rows[] = {
	/* JSON */
	{ "body__empty__is_refused", FILL, "", BAD, "not valid JSON" },
	{ "body__no_json__is_refused", FILL, "home=2", BAD, "body:1:4: not valid JSON" },
	{ "body__no_object__is_refused", FILL, "[1, 2]", BAD, "write an object" },
	{ "body__number__is_refused", FILL, "7", BAD, "body:1:1" },
	{ "body__more_behind_it__is_refused", FILL, "{\"home\": 2, \"word\": 1} {}", BAD,
	  "body:1:24" },
	{ "body__a_key_twice__is_refused", FILL, "{\"home\": 2, \"home\": 3, \"word\": 1}", BAD,
	  "an object has each key once" },
	{ "body__unknown_key__is_refused", FILL, "{\"home\": 2, \"wrod\": 1}", BAD,
	  "unknown key \"wrod\": did you mean \"word\"?" },
	{ "body__unknown_key_beside__is_refused", END, "{\"tags\": [], \"version\": 1}", BAD,
	  "unknown key \"version\"" },
	{ "body__nested_deep__is_refused", END,
	  "{\"tags\": "
	  "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
	  "]}",
	  BAD, "nested over 32 deep" },
	{ "body__nul_in_a_text__is_refused", END, "{\"tags\": [\"a\\u0000b\"]}", BAD, "NUL" },
	{ "body__half_a_pair__is_refused", END, "{\"tags\": [\"\\ud800\"]}", BAD,
	  "not valid JSON" },
	{ "body__not_utf8__is_refused", END, "{\"tags\": [\"\xff\"]}", BAD, "not valid JSON" },
	{ "body__overlong_utf8__is_refused", END, "{\"tags\": [\"\xc0\xaf\"]}", BAD,
	  "not valid JSON" },
	/* fills */
	{ "fill__home_is_missing__is_refused", FILL, "{\"word\": 1}", BAD,
	  "key \"home\" is missing" },
	{ "fill__home_0__is_refused", FILL, "{\"home\": 0, \"word\": 1}", BAD, "home is 0" },
	{ "fill__home_257__is_refused", FILL, "{\"home\": 257, \"word\": 1}", BAD, "home is 257" },
	{ "fill__home_is_a_text__is_refused", FILL, "{\"home\": \"2\", \"word\": 1}", BAD,
	  "home is \"2\"" },
	{ "fill__word_below_0__is_refused", FILL, "{\"home\": 2, \"word\": -1}", BAD,
	  "word is -1" },
	{ "fill__word_too_high__is_refused", FILL, "{\"home\": 2, \"word\": 1000000}", BAD,
	  "word is 1000000" },
	{ "fill__word_of_65_bits__is_refused", FILL,
	  "{\"home\": 2, \"word\": 18446744073709551617}", BAD, "not valid JSON" },
	{ "fill__word_is_no_integer__is_refused", FILL, "{\"home\": 2, \"word\": 1.5}", BAD,
	  "word is 1.5" },
	{ "end__id_is_short__is_none", "POST", "/v1/fill/1", "{\"tags\": []}", 404, "fill",
	  "there is no such fill" },
	{ "end__id_is_no_number__is_none", "POST", "/v1/fill/000000000000000x", "{\"tags\": []}",
	  404, "fill", "" },
	{ "end__tags_are_missing__is_refused", END, "{}", BAD, "key \"tags\" is missing" },
	{ "end__tags_are_no_list__is_refused", END, "{\"tags\": \"a\"}", BAD, "tags is no list" },
	{ "end__a_tag_is_no_text__is_refused", END, "{\"tags\": [\"a\", 7]}", BAD,
	  "body:1:16: tags[1] is no text" },
	{ "end__a_tag_is_empty__is_refused", END, "{\"tags\": [\"a\", \"\"]}", BAD,
	  "tags[1] (0 bytes) is empty" },
	{ "end__a_tag_has_a_newline__is_refused", END, "{\"tags\": [\"a\\nb\"]}", BAD,
	  "tags[0] (3 bytes) has control characters" },
	{ "end__a_tag_has_a_c1_character__is_refused", END, "{\"tags\": [\"\\u0085\"]}", BAD,
	  "control characters" },
	{ "end__snapshot_is_no_text__is_refused", END, "{\"tags\": [], \"snapshot\": 7}", BAD,
	  "snapshot is no text" },
	/* updates */
	{ "update__statements_are_missing__is_refused", UPDATE, "{\"tags\": [\"a\"]}", BAD,
	  "key \"statements\" is missing" },
	{ "update__statement_is_a_number__is_refused", UPDATE,
	  "{\"tags\": [\"a\"], \"statements\": [7]}", BAD, "statements[0] is 7" },
	{ "update__statement_without_sql__is_refused", UPDATE,
	  "{\"tags\": [\"a\"], \"statements\": [\"x\", {\"params\": []}]}", BAD,
	  "key \"sql\" is missing" },
	{ "update__sql_is_no_text__is_refused", UPDATE,
	  "{\"tags\": [\"a\"], \"statements\": [{\"sql\": null}]}", BAD, "sql is no text" },
	{ "update__statement_with_another_key__is_refused", UPDATE,
	  "{\"tags\": [\"a\"], \"statements\": [{\"sql\": \"x\", \"param\": []}]}", BAD,
	  "unknown key \"param\": did you mean \"params\"?" },
	{ "update__params_are_no_list__is_refused", UPDATE,
	  "{\"tags\": [\"a\"], \"statements\": [{\"sql\": \"x\", \"params\": \"y\"}]}", BAD,
	  "params is no list" },
	{ "update__param_is_a_number__is_refused", UPDATE,
	  "{\"tags\": [\"a\"], \"statements\": [{\"sql\": \"x\", \"params\": [\"a\", 7]}]}", BAD,
	  "params[1] is neither a text nor null" },
	/* operators */
	{ "invalidate__nothing__is_refused", INVALIDATE, "{}", BAD, "give one of" },
	{ "invalidate__two__is_refused", INVALIDATE, "{\"tag\": \"a\", \"all\": true}", BAD,
	  "give one of" },
	{ "invalidate__all_is_false__is_refused", INVALIDATE, "{\"all\": false}", BAD,
	  "all is not true" },
	{ "invalidate__tag_is_no_text__is_refused", INVALIDATE, "{\"tag\": 7}", BAD,
	  "tag is no text" },
	{ "invalidate__tag_is_empty__is_refused", INVALIDATE, "{\"tag\": \"\"}", BAD, "is empty" },
	{ "invalidate__page_is_no_text__is_refused", INVALIDATE, "{\"page\": 7}", BAD,
	  "page is no text" },
	{ "remove__host_is_missing__is_refused", REMOVE, "{}", BAD, "key \"host\" is missing" },
	{ "remove__host_0__is_refused", REMOVE, "{\"host\": 0}", BAD, "host is 0" },
	{ "remove__host_is_null__is_refused", REMOVE, "{\"host\": null}", BAD, "host is null" },
	{ "remove__force_is_a_number__is_refused", REMOVE, "{\"host\": 1, \"force\": 1}", BAD,
	  "force is 1" },
	/* paths and methods */
	{ "path__none__is_refused", "GET", "/", "", 404, "path", "there is no path \"/\"" },
	{ "path__unknown__is_refused", "POST", "/v1/fills", "{}", 404, "path", "/v1/fills" },
	{ "path__id_is_missing__is_refused", "POST", "/v1/fill/", "{}", 404, "path", "/v1/fill/" },
	{ "path__more_behind_the_id__is_refused", "POST", "/v1/fill/1/2", "{}", 404, "path", "" },
	{ "path__encoded_slash__is_refused", "GET", "/v1%2finfo", "", 404, "path", "" },
	{ "path__control_characters__are_escaped", "GET", "/v1/\x01\x80", "", 404, "path",
	  "\\x01\\x80" },
	{ "method__get_of_an_update__is_refused", "GET", "/v1/update", "", 405, "method",
	  "/v1/update" },
	{ "method__post_of_what_is_shown__is_refused", "POST", "/v1/info", "", 405, "method", "" },
	{ "method__delete_of_an_update__is_refused", "DELETE", "/v1/update", "", 405, "method",
	  "" },
	{ "method__put__is_refused", "PUT", "/v1/update", "{}", 405, "method", "GET, POST" },
	{ "method__head__is_refused", "HEAD", "/v1/info", "", 405, "method", "" },
	{ "method__unknown__is_refused", "BREW", "/v1/info", "", 405, "method", "" },
	{ "get__with_a_body__is_refused", "GET", "/v1/info", "{}", BAD, "no body" },
	{ "delete__with_a_body__is_refused", "DELETE", "/v1/fill/0000000000000001", "{}", BAD,
	  "no body" },
	/* queries */
	{ "query__where_there_is_none__is_refused", "GET", "/v1/info?x=1", "", BAD, "no query" },
	{ "show__no_query__is_refused", "GET", "/v1/show", "", BAD, "?tag=VALUE" },
	{ "show__another_key__is_refused", "GET", "/v1/show?tags=x", "", BAD, "?tag=VALUE" },
	{ "show__two_tags__is_refused", "GET", "/v1/show?tag=x&tag=y", "", BAD, "?tag=VALUE" },
	{ "show__no_value__is_refused", "GET", "/v1/show?tag", "", BAD, "?KEY=VALUE" },
	{ "show__empty_tag__is_refused", "GET", "/v1/show?tag=", "", BAD, "is empty" },
	{ "show__tag_with_a_nul__is_refused", "GET", "/v1/show?tag=a%00b", "", BAD, "NUL" },
	{ "show__tag_is_not_utf8__is_refused", "GET", "/v1/show?tag=%ff", "", BAD, "no UTF-8" },
	{ "events__after_is_no_number__is_refused", "GET", "/v1/events?after=x", "", BAD,
	  "after is no number" },
	{ "events__after_below_0__is_refused", "GET", "/v1/events?after=-1", "", BAD,
	  "after is no number" },
	{ "events__after_is_huge__is_refused", "GET", "/v1/events?after=9999999999999999999", "",
	  BAD, "after is no number" },
};

static void run(void **state)
{
	const struct row *row = *state;
	void *rig = NULL;
	struct rig *r;

	setup(&rig);
	r = rig;
	ask(r, row->method, row->path, row->body);
	assert_refused(r, row->status, row->why);
	if (!strstr(r->error, row->says))
		print_error("%s\n", r->error);
	assert_non_null(strstr(r->error, row->says));
	assert_int_equal(r->app.calls, 0);
	teardown(&rig);
}

TEST_ROWS(rows, run)

/* --- bounds -------------------------------------------------------------- */

/* {"tags": ["T", "T", ...], "statements": []} */
static char *many_tags(uint32_t n, const char *tag, const char *rest)
{
	size_t size = n * (strlen(tag) + 3) + 64 + strlen(rest);
	char *text = malloc(size), *at = text;

	assert_non_null(text);
	at += sprintf(at, "{\"tags\":[");
	for (uint32_t i = 0; i < n; i++)
		at += sprintf(at, "%s\"%s\"", i ? "," : "", tag);
	sprintf(at, "]%s}", rest);
	return text;
}

static int update_with(struct rig *r, uint32_t n, const char *tag)
{
	char *body = many_tags(n, tag, ",\"statements\":[]");
	int status = ask(r, "POST", "/v1/update", body);

	free(body);
	return status;
}

RIG_TEST(tags__as_many_as_may_be__are_taken)
{
	struct rig *r = *state;

	assert_int_equal(update_with(r, 64, "x"), 200);
	assert_int_equal(r->app.tags, 64);
	update_with(r, 65, "x");
	assert_refused(r, 400, "bad");
	assert_non_null(strstr(r->body, "tags: 65 are too many: give at most 64"));
	update_with(r, 10000, "x");
	assert_refused(r, 400, "bad");
	update_with(r, 500000, "");
	assert_refused(r, 400, "bad");
	assert_int_equal(r->app.calls, 1);
}

RIG_TEST(tag__as_long_as_may_be__is_taken)
{
	struct rig *r = *state;
	char tag[4097];

	memset(tag, 't', 4096);
	tag[255] = 0;
	assert_int_equal(update_with(r, 1, tag), 200);
	assert_int_equal(strlen(r->app.tag[0]), 255);
	tag[255] = 't';
	tag[256] = 0;
	update_with(r, 1, tag);
	assert_refused(r, 400, "bad");
	tag[256] = 't';
	tag[4096] = 0;
	update_with(r, 1, tag);
	assert_refused(r, 400, "bad");
	assert_non_null(strstr(r->body, "tags[0] (4096 bytes) is too long"));
}

RIG_TEST(statements__as_many_as_may_be__are_taken)
{
	struct rig *r = *state;
	char body[16384], *at;

	for (uint32_t n = 64; n <= 65; n++) {
		at = body + sprintf(body, "{\"tags\":[\"a\"],\"statements\":[");
		for (uint32_t i = 0; i < n; i++)
			at += sprintf(at, "%s\"S%u\"", i ? "," : "", i);
		sprintf(at, "]}");
		ask(r, "POST", "/v1/update", body);
		at = body + sprintf(body, "{\"tags\":[\"a\"],\"statements\":[{\"sql\":\"S\","
					  "\"params\":[");
		for (uint32_t i = 0; i < n; i++)
			at += sprintf(at, "%s\"p%u\"", i ? "," : "", i);
		sprintf(at, "]}]}");
		ask(r, "POST", "/v1/update", body);
		assert_int_equal(r->app.calls, 2);
	}
	assert_refused(r, 400, "bad");
}

/* --- who may -------------------------------------------------------------- */

static const char *const asks[][3] = {
	{ "POST", "/v1/fill", "{\"home\": 2, \"word\": 17}" },
	{ "POST", "/v1/fill/0000000000000001", "{\"tags\": [\"a\"]}" },
	{ "DELETE", "/v1/fill/0000000000000001", "" },
	{ "POST", "/v1/update", "{\"tags\": [\"a\"], \"statements\": []}" },
	{ "POST", "/v1/invalidate", "{\"all\": true}" },
	{ "POST", "/v1/remove", "{\"host\": 1}" },
	{ "GET", "/v1/info", "" },
	{ "GET", "/v1/cache", "" },
	{ "GET", "/v1/updates", "" },
	{ "GET", "/v1/show?tag=a", "" },
	{ "GET", "/v1/events", "" },
};

enum { ASKS = sizeof(asks) / sizeof(asks[0]) };

/* The statuses of all, as another user with this group. */
static void ask_as(struct rig *r, gid_t gid, int *status)
{
	assert_int_equal(chmod(r->dir.path, 0755), 0);
	assert_int_equal(chmod(r->conf->socket, 0666), 0);
	for (int i = 0; i < ASKS; i++) {
		char line[256];
		int fd[2];
		pid_t child;

		assert_int_equal(pipe(fd), 0);
		child = fork();
		assert_true(child >= 0);
		if (!child) {
			struct sockaddr_un a = { .sun_family = AF_UNIX };
			int s = socket(AF_UNIX, SOCK_STREAM, 0), code = 0;
			char reply[4096] = "";

			strcpy(a.sun_path, r->conf->socket);
			if (setgroups(0, NULL) || setgid(gid) || setuid(65534) ||
			    connect(s, (struct sockaddr *)&a, sizeof(a)))
				_exit(1);
			snprintf(line, sizeof(line),
				 "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
				 asks[i][0], asks[i][1], strlen(asks[i][2]), asks[i][2]);
			if (send(s, line, strlen(line), 0) < 0 || recv(s, reply, 4095, 0) < 12)
				_exit(1);
			sscanf(reply, "HTTP/1.1 %d", &code);
			_exit(write(fd[1], &code, sizeof(code)) != sizeof(code));
		}
		while (waitpid(child, NULL, WNOHANG) != child)
			loop(r);
		assert_int_equal(read(fd[0], &status[i], sizeof(status[i])), sizeof(status[i]));
		close(fd[0]);
		close(fd[1]);
	}
}

RIG_TEST(user__root__may_all)
{
	struct rig *r = *state;

	if (getuid())
		skip();
	for (int i = 0; i < ASKS; i++)
		assert_int_equal(ask(r, asks[i][0], asks[i][1], asks[i][2]), 200);
}

RIG_TEST(user__another__may_read)
{
	struct rig *r = *state;
	int status[ASKS];

	if (getuid())
		skip();
	ask_as(r, 65534, status);
	for (int i = 0; i < ASKS; i++)
		assert_int_equal(status[i], i < 6 ? 403 : 200);
	assert_int_equal(r->app.calls, 0);
}

RIG_TEST(user__of_the_group__may_update_and_not_remove)
{
	struct rig *r = *state;
	int status[ASKS];

	if (getuid())
		skip();
	api_close(r->api);
	strcpy(r->conf->socket_group, "daemon");
	open_api(r, false);
	ask_as(r, 1, status); /* daemon */
	for (int i = 0; i < ASKS; i++)
		assert_int_equal(status[i], i == 5 ? 403 : 200);
	ask_as(r, 2, status);
	assert_int_equal(status[0], 403);
}
