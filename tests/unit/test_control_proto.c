// SPDX-License-Identifier: GPL-2.0-or-later
/* control_proto: lines from any client, and the lines of replies. */
#include "src/control/proto.h"

#include <string.h>

#include "tests/unit/examples.h"
#include "tests/unit/unit.h"

#define V "\"jsonrpc\":\"2.0\""

/* Parse what may hold NULs. */
static int parse(const char *line, size_t len, struct request *r, struct proto_error *e)
{
	char *copy = malloc(len ? len : 1); /* to the byte, for the address sanitizer */
	int rc;

	assert_non_null(copy);
	memcpy(copy, line, len);
	memset(e, 0, sizeof(*e));
	rc = request_parse(copy, len, r, e);
	free(copy);
	return rc;
}

TEST(parse__good_lines__are_accepted)
{
	static const char *const good[] = {
		"{" V ",\"id\":1,\"method\":\"list\"}",
		" \t{ " V " , \"id\" : \"a\" , \"method\" : \"list\" , \"params\" : { } } \r",
		"{" V ",\"id\":\"\",\"method\":\"x\"}",
		"{" V ",\"id\":-9223372036854775808,\"method\":\"x\"}",
		"{" V ",\"id\":1,\"method\":\"x\",\"more\":[1,{}]}", /* members we do not know */
		"{\"method\":\"x\",\"id\":1," V "}",
	};
	struct proto_error e;
	struct request r;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (parse(good[i], strlen(good[i]), &r, &e))
			fail_msg("%s: %s", good[i], e.text);
		assert_non_null(r.id);
		assert_non_null(r.method);
		request_free(&r);
	}
}

TEST(parse__members__are_those_of_the_line)
{
	static const char line[] = "{" V
				   ",\"id\":7,\"method\":\"why\",\"params\":{\"guest\":\"a\"}}";
	struct proto_error e;
	struct request r;

	assert_int_equal(parse(line, strlen(line), &r, &e), 0);
	assert_int_equal(json_integer_value(r.id), 7);
	assert_string_equal(r.method, "why");
	assert_string_equal(json_string_value(json_object_get(r.params, "guest")), "a");
	request_free(&r);
	assert_null(r.root);
	request_free(&r); /* a second time does no harm */
}

#define LINE(s) s, sizeof(s) - 1
static const struct hostile {
	const char *line;
	size_t len;
	int code;
	bool id; /* it could be read */
	const char *says;
} hostiles[] = {
	{ LINE(""), PROTO_E_PARSE, false, "not JSON" },
	{ LINE("   "), PROTO_E_PARSE, false, "not JSON" },
	{ LINE("hello"), PROTO_E_PARSE, false, "not JSON" },
	{ LINE("{"), PROTO_E_PARSE, false, "not JSON" },
	{ LINE("{" V ",\"id\":1,\"method\":\"list\"} x"), PROTO_E_PARSE, false, "not JSON" },
	{ LINE("{" V ",\"id\":1,\"method\":\"list\"}{}"), PROTO_E_PARSE, false, "not JSON" },
	{ LINE("{" V ",\"id\":1,\"id\":2,\"method\":\"list\"}"), PROTO_E_PARSE, false,
	  "duplicate" },
	{ LINE("{" V ",\"id\":1,\"method\":\"li\0st\"}"), PROTO_E_PARSE, false, "not JSON" },
	{ LINE("\0{" V ",\"id\":1,\"method\":\"list\"}"), PROTO_E_PARSE, false, "not JSON" },
	{ LINE("{" V ",\"id\":1,\"method\":\"li\\u0000st\"}"), PROTO_E_PARSE, false, "not JSON" },
	{ LINE("{" V ",\"id\":1,\"method\":\"\xff\xfe\"}"), PROTO_E_PARSE, false, "not JSON" },
	{ LINE("{" V ",\"id\":1,\"method\":\"\xc0\xaf\"}"), PROTO_E_PARSE, false, "not JSON" },
	{ LINE("{" V ",\"id\":1,\"method\":\"\\ud800\"}"), PROTO_E_PARSE, false, "not JSON" },
	{ LINE("{" V ",\"id\":99999999999999999999,\"method\":\"x\"}"), PROTO_E_PARSE, false,
	  "not JSON" },
	{ LINE("{" V ",\"id\":1e999,\"method\":\"x\"}"), PROTO_E_PARSE, false, "not JSON" },
	{ LINE("{'id':1}"), PROTO_E_PARSE, false, "not JSON" },
	{ LINE("[]"), PROTO_E_REQUEST, false, "one JSON object" },
	{ LINE("[{" V ",\"id\":1,\"method\":\"list\"}]"), PROTO_E_REQUEST, false,
	  "one JSON object" },
	{ LINE("{}"), PROTO_E_REQUEST, false, "id" },
	{ LINE("{" V ",\"method\":\"list\"}"), PROTO_E_REQUEST, false, "id" },
	{ LINE("{" V ",\"id\":null,\"method\":\"list\"}"), PROTO_E_REQUEST, false, "id" },
	{ LINE("{" V ",\"id\":1.5,\"method\":\"list\"}"), PROTO_E_REQUEST, false, "id" },
	{ LINE("{" V ",\"id\":true,\"method\":\"list\"}"), PROTO_E_REQUEST, false, "id" },
	{ LINE("{" V ",\"id\":[1],\"method\":\"list\"}"), PROTO_E_REQUEST, false, "id" },
	{ LINE("{" V ",\"id\":{},\"method\":\"list\"}"), PROTO_E_REQUEST, false, "id" },
	{ LINE("{\"id\":1,\"method\":\"list\"}"), PROTO_E_REQUEST, true, "2.0" },
	{ LINE("{\"jsonrpc\":2.0,\"id\":1,\"method\":\"list\"}"), PROTO_E_REQUEST, true, "2.0" },
	{ LINE("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"list\"}"), PROTO_E_REQUEST, true,
	  "2.0" },
	{ LINE("{" V ",\"id\":1}"), PROTO_E_REQUEST, true, "method" },
	{ LINE("{" V ",\"id\":1,\"method\":\"\"}"), PROTO_E_REQUEST, true, "method" },
	{ LINE("{" V ",\"id\":1,\"method\":5}"), PROTO_E_REQUEST, true, "method" },
	{ LINE("{" V ",\"id\":1,\"method\":null}"), PROTO_E_REQUEST, true, "method" },
	{ LINE("{" V
	       ",\"id\":1,\"method\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	       "xxxxxxxx\"}"),
	  PROTO_E_REQUEST, true, "method" },
	{ LINE("{" V ",\"id\":1,\"method\":\"list\",\"params\":[]}"), PROTO_E_PARAMS, true,
	  "object" },
	{ LINE("{" V ",\"id\":1,\"method\":\"list\",\"params\":\"guest\"}"), PROTO_E_PARAMS, true,
	  "object" },
	{ LINE("{" V ",\"id\":1,\"method\":\"list\",\"params\":null}"), PROTO_E_PARAMS, true,
	  "object" },
};

TEST(parse__hostile_lines__are_refused_with_code_and_sentence)
{
	struct proto_error e;
	struct request r;

	for (size_t i = 0; i < sizeof(hostiles) / sizeof(hostiles[0]); i++) {
		const struct hostile *h = &hostiles[i];

		if (!parse(h->line, h->len, &r, &e))
			fail_msg("%s was taken", h->line);
		if (e.code != h->code || !strstr(e.text, h->says) || (r.id != NULL) != h->id)
			fail_msg("%s: %d, %s", h->line, e.code, e.text);
		request_free(&r);
	}
}

TEST(parse__nested_without_end__is_refused)
{
	struct proto_error e;
	struct request r;
	char *line = malloc(PROTO_LINE_MAX);

	assert_non_null(line);
	for (int open = 0; open < 2; open++) {
		memset(line, open ? '[' : '{', PROTO_LINE_MAX);
		assert_true(parse(line, PROTO_LINE_MAX, &r, &e) < 0);
		assert_int_equal(e.code, PROTO_E_PARSE);
		request_free(&r);
	}
	free(line);
}

/* --- replies ------------------------------------------------------------------- */

static void assert_reply(char *line, const char *want)
{
	assert_non_null(line);
	assert_string_equal(line, want);
	free(line);
}

TEST(reply__is_one_line_with_the_requests_id)
{
	json_t *id = json_string("a\nb");

	assert_reply(reply_result(id, json_pack("{s:s}", "x", "1\n2")),
		     "{\"jsonrpc\":\"2.0\",\"id\":\"a\\nb\",\"result\":{\"x\":\"1\\n2\"}}\n");
	assert_reply(reply_error(id, &(struct proto_error){ -32001, "no\nway" }),
		     "{\"jsonrpc\":\"2.0\",\"id\":\"a\\nb\",\"error\":{\"code\":-32001,"
		     "\"message\":\"no\\nway\"}}\n");
	json_decref(id);
}

TEST(reply__id_not_known__is_null)
{
	assert_reply(reply_error(NULL, &(struct proto_error){ PROTO_E_PARSE, "x" }),
		     "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
		     "\"message\":\"x\"}}\n");
}

TEST(reply__error_text_that_is_not_utf8__is_still_a_reply)
{
	char *line = reply_error(NULL, &(struct proto_error){ -32600, "\xff\xfe" });
	json_t *root = json_loads(line, 0, NULL);

	assert_non_null(root);
	assert_non_null(
		json_string_value(json_object_get(json_object_get(root, "error"), "message")));
	json_decref(root);
	free(line);
}

TEST(reply__without_a_result__is_none)
{
	assert_null(reply_result(NULL, NULL));
}

TEST(reply__numbers_of_thousandths__have_their_decimals_and_no_noise)
{
	assert_reply(reply_result(NULL, json_pack("{s:f,s:f,s:f,s:f}", "a", 487315030 / 1000.0, "b",
						  119626866 / 1000.0, "c", -1 / 1000.0, "d", 3.0)),
		     "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{\"a\":487315.03,"
		     "\"b\":119626.866,\"c\":-0.001,\"d\":3.0}}\n");
}

/* --- the man page ----------------------------------------------------------------- */

TEST(man_page__its_example_is_a_request)
{
	struct proto_error e;
	struct examples ex;
	struct request r;
	char *begin, *end;

	examples_open(&ex, "man/resex-control.7");
	assert_int_equal(ex.n, 1);
	begin = strchr(ex.text[0], '{');
	assert_non_null(begin);
	end = strchr(begin, '\n');
	assert_non_null(end);
	assert_int_equal(parse(begin, (size_t)(end - begin), &r, &e), 0);
	assert_string_equal(r.method, "why");
	request_free(&r);
}
