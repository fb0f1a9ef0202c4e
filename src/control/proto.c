// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * proto: parses the lines of requests and makes the lines of replies, for server.c. What a method
 * gets from here is well-formed; its parameters are not checked yet (methods.c). See proto.h.
 */
#include "src/control/proto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/utf8.h"

static int bad_request(struct proto_error *e, int code, const char *text)
{
	e->code = code;
	snprintf(e->text, sizeof(e->text), "%s", text);
	return -EINVAL;
}

/* The id is read first, so that the errors after it carry it. */
static int read_members(struct request *r, struct proto_error *e)
{
	const char *version = json_string_value(json_object_get(r->root, "jsonrpc"));
	json_t *id = json_object_get(r->root, "id");

	/* JSON-RPC has requests without an id, which get no reply; here each gets one. */
	if (!json_is_integer(id) && !json_is_string(id))
		return bad_request(e, PROTO_E_REQUEST, "id: give an integer or a string");
	r->id = id;
	if (!version || strcmp(version, "2.0") != 0)
		return bad_request(e, PROTO_E_REQUEST, "jsonrpc: must be \"2.0\"");
	r->method = json_string_value(json_object_get(r->root, "method"));
	if (!r->method || !r->method[0] || strlen(r->method) > 64)
		return bad_request(e, PROTO_E_REQUEST, "method: give its name, such as \"list\"");
	r->params = json_object_get(r->root, "params");
	if (r->params && !json_is_object(r->params))
		return bad_request(e, PROTO_E_PARAMS, "params: give an object");
	return 0;
}

int request_parse(const char *line, size_t len, struct request *r, struct proto_error *e)
{
	json_error_t je;

	memset(r, 0, sizeof(*r));
	/* Of two equal keys one would be ignored, and the client would not know it. */
	r->root = json_loadb(line, len, JSON_REJECT_DUPLICATES, &je);
	if (!r->root) {
		e->code = PROTO_E_PARSE;
		/* jansson's sentence for a NUL names a flag of its own functions. */
		snprintf(e->text, sizeof(e->text), "the request is not JSON (column %d): %s",
			 je.column,
			 json_error_code(&je) == json_error_null_character
				 ? "a NUL character stands in a string"
				 : je.text);
		return -EINVAL;
	}
	if (!json_is_object(r->root))
		return bad_request(e, PROTO_E_REQUEST, "the request must be one JSON object");
	return read_members(r, e);
}

void request_free(struct request *r)
{
	json_decref(r->root);
	memset(r, 0, sizeof(*r));
}

/*
 * Takes part over, also when it fails. NULL: no memory. id NULL becomes null, as JSON-RPC demands
 * of errors whose request could not be read.
 */
static char *reply_line(const json_t *id, const char *key, json_t *part)
{
	json_t *root = json_object();
	char *text, *line = NULL;
	size_t n;

	json_object_set_new(root, "jsonrpc", json_string("2.0"));
	json_object_set_new(root, "id", id ? json_deep_copy(id) : json_null());
	if (json_object_set_new(root, key, part)) {
		json_decref(root);
		return NULL;
	}
	/*
	 * Of the 17 digits that tell doubles apart the last two are noise, as in
	 * 0.10000000000000001: with 15 a number of thousandths has its three decimals.
	 */
	text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(15));
	json_decref(root);
	if (!text)
		return NULL;
	n = strlen(text);
	line = realloc(text, n + 2);
	if (!line) {
		free(text);
		return NULL;
	}
	memcpy(line + n, "\n", 2);
	return line;
}

char *reply_result(const json_t *id, json_t *result)
{
	return reply_line(id, "result", result);
}

char *reply_error(const json_t *id, const struct proto_error *e)
{
	json_t *err = json_object();
	char text[PROTO_ERROR_MAX];

	/* A message is cut to its size, maybe within a character, which jansson would refuse. */
	snprintf(text, sizeof(text), "%s", e->text);
	utf8_mend(text);
	json_object_set_new(err, "code", json_integer(e->code));
	json_object_set_new(err, "message", json_string(text));
	return reply_line(id, "error", err);
}
