// SPDX-License-Identifier: GPL-2.0-or-later
/* fuzz_control: any line through the control protocol's parser, and its replies. */
#include "src/control/proto.h"
#include "tests/fuzz/fuzz.h"

/* A reply is one line of JSON-RPC 2.0 that carries the id of the request. */
static void check_reply(char *line, const json_t *id, const char *key)
{
	json_error_t je;
	json_t *root;
	size_t len;

	FUZZ_REQUIRE(line);
	len = strlen(line);
	FUZZ_REQUIRE(len && strchr(line, '\n') == line + len - 1);
	root = json_loads(line, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je);
	FUZZ_REQUIRE(json_is_object(root));
	FUZZ_REQUIRE(json_object_size(root) == 3);
	FUZZ_REQUIRE(!strcmp(json_string_value(json_object_get(root, "jsonrpc")), "2.0"));
	FUZZ_REQUIRE(json_object_get(root, key));
	if (id)
		FUZZ_REQUIRE(json_equal(json_object_get(root, "id"), id));
	else
		FUZZ_REQUIRE(json_is_null(json_object_get(root, "id")));
	json_decref(root);
	free(line);
}

static void check_request(const struct request *r)
{
	size_t n;

	FUZZ_REQUIRE(json_is_object(r->root));
	FUZZ_REQUIRE(json_is_integer(r->id) || json_is_string(r->id));
	FUZZ_REQUIRE(r->method);
	n = strlen(r->method);
	FUZZ_REQUIRE(n >= 1 && n <= 64);
	FUZZ_REQUIRE(!r->params || json_is_object(r->params));
}

static void check_error(const struct proto_error *e)
{
	FUZZ_REQUIRE(memchr(e->text, '\0', sizeof(e->text)));
	FUZZ_REQUIRE(e->text[0]);
	FUZZ_REQUIRE(e->code == PROTO_E_PARSE || e->code == PROTO_E_REQUEST ||
		     e->code == PROTO_E_PARAMS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proto_error e;
	struct request r;
	char *line;
	int rc;

	if (size > PROTO_LINE_MAX)
		return 0;
	line = malloc(size); /* exactly as long, so that reading on is seen */
	if (size && !line)
		abort();
	if (size)
		memcpy(line, data, size);
	memset(&e, 0x5a, sizeof(e));
	rc = request_parse(line, size, &r, &e);
	free(line);
	if (rc) {
		check_error(&e);
		check_reply(reply_error(r.id, &e), r.id, "error");
	} else {
		check_request(&r);
		check_reply(reply_result(r.id, json_pack("{s:i}", "taken", 1)), r.id, "result");
	}
	request_free(&r);
	return 0;
}
