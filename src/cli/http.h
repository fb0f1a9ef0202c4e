/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http: one request to resex-cached over its socket (man resex-cached), one reply. Blocks. */
#ifndef RESEX_CLI_HTTP_H
#define RESEX_CLI_HTTP_H

#include "src/cli/client.h"

/*
 * target: path and query, of visible ASCII. Takes body over; NULL: a GET, else a POST. RESEX_OK and
 * *result, or the exit code with error filled. The connection has ended then; the next request
 * makes another one.
 */
int http_call(struct client *c, const char *target, json_t *body, json_t **result);

enum { HTTP_QUERY_MAX = 1024 };
/* "PATH?KEY=VALUE", with the value escaped. False: it is too long. */
bool http_query(char to[static HTTP_QUERY_MAX], const char *path, const char *key,
		const char *value);

#endif
