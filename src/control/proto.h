/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proto: one line of the control protocol, in both directions (man resex-control).
 *
 * Requests are hostile input: any process that may open the socket sends them. A line has at
 * most PROTO_LINE_MAX bytes and holds one JSON-RPC 2.0 object: no batches, no duplicate keys.
 */
#ifndef RESEX_CONTROL_PROTO_H
#define RESEX_CONTROL_PROTO_H

#include <jansson.h>
#include <stddef.h>

enum { PROTO_LINE_MAX = 65536, PROTO_ERROR_MAX = 640 };

/* JSON-RPC's own codes; ours are PROTO_E_SERVER - enum resex_exit. */
enum proto_code {
	PROTO_E_PARSE = -32700,
	PROTO_E_REQUEST = -32600,
	PROTO_E_METHOD = -32601,
	PROTO_E_PARAMS = -32602,
	PROTO_E_SERVER = -32000,
};

struct proto_error {
	int code;
	char text[PROTO_ERROR_MAX];
};

struct request {
	json_t *root;	    /* owns the rest */
	json_t *id;	    /* integer, string, or NULL when it could not be read */
	const char *method; /* 1 .. 64 characters */
	json_t *params;	    /* an object, or NULL */
};

/* 0, or -EINVAL with e filled (r->id is set if it was readable). Free in both cases. */
int request_parse(const char *line, size_t len, struct request *r, struct proto_error *e);
void request_free(struct request *r);

/* A line to send, ended by a newline, to be freed; NULL: no memory. Takes result over. */
char *reply_result(const json_t *id, json_t *result);
char *reply_error(const json_t *id, const struct proto_error *e);

#endif
