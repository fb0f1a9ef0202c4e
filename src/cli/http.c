// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * http: HTTP/1.0 over the UNIX socket of resex-cached: one request a connection, whose end is the
 * end of the reply. A library for HTTP would load TLS and name services, which takes longer than
 * all else that resex does. See http.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "src/cli/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"

static const struct {
	int status, exit;
} exits[] = {
	{ 400, RESEX_USAGE },	{ 403, RESEX_PERMISSION }, { 404, RESEX_USAGE },
	{ 409, RESEX_FAILURE }, { 503, RESEX_BUSY },
};

static int error_of(struct client *c, int status, const json_t *body)
{
	const char *text = json_string_value(json_object_get(body, "error"));

	if (text)
		snprintf(c->error, sizeof(c->error), "%s", text);
	else
		snprintf(c->error, sizeof(c->error),
			 "%s at %s answered with status %d: see its log", c->daemon, c->path,
			 status);
	for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++)
		if (exits[i].status == status)
			return exits[i].exit;
	return RESEX_FAILURE;
}

/* A reply that is not "HTTP/1.x NNN", some lines, and JSON comes from something else. */
static int read_reply(struct client *c, const char *reply, json_t **result)
{
	const char *body = strstr(reply, "\r\n\r\n");
	json_t *v = body ? json_loads(body, 0, NULL) : NULL;
	long status = 0;
	int rc;

	if (!strncmp(reply, "HTTP/1.", 7) && strlen(reply) > 8)
		status = strtol(reply + 8, NULL, 10);
	if (client_is_other(reply, strlen(reply), false)) {
		json_decref(v);
		return client_other(c);
	}
	if (!v || status < 200 || status > 599) {
		json_decref(v);
		return client_closed(c);
	}
	if (status == 200) {
		*result = v;
		return RESEX_OK;
	}
	rc = error_of(c, (int)status, v);
	json_decref(v);
	return rc;
}

static char *request_text(const char *target, json_t *body)
{
	char *json = body ? json_dumps(body, JSON_COMPACT) : NULL, *text = NULL;
	int n;

	if (body && !json)
		n = -1;
	else if (body)
		n = asprintf(&text,
			     "POST %s HTTP/1.0\r\nHost: resex\r\nContent-Type: application/json\r\n"
			     "Content-Length: %zu\r\n\r\n%s",
			     target, strlen(json), json);
	else
		n = asprintf(&text, "GET %s HTTP/1.0\r\nHost: resex\r\n\r\n", target);
	free(json);
	return n < 0 ? NULL : text;
}

int http_call(struct client *c, const char *target, json_t *body, json_t **result)
{
	char *text = request_text(target, body), *reply;
	size_t len = 0;
	int rc = RESEX_OK;

	json_decref(body);
	if (!text) {
		snprintf(c->error, sizeof(c->error), "no memory for a request");
		return RESEX_FAILURE;
	}
	if (c->fd < 0)
		rc = client_open(c, c->path, c->daemon);
	if (rc)
		goto out;
	client_send(c->fd, text, strlen(text));
	reply = client_read(c->fd, false, &len);
	if (reply)
		rc = read_reply(c, reply, result);
	else
		rc = errno == EAGAIN ? client_timed_out(c) : client_closed(c);
	free(reply);
	client_close(c);
out:
	free(text);
	return rc;
}

bool http_query(char to[static HTTP_QUERY_MAX], const char *path, const char *key,
		const char *value)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
	int n = snprintf(to, HTTP_QUERY_MAX, "%s?%s=", path, key);

	for (; *value && n > 0 && n < HTTP_QUERY_MAX - 4; value++)
		n += snprintf(to + n, (size_t)(HTTP_QUERY_MAX - n),
			      strchr(plain, *value) ? "%c" : "%%%02X", (unsigned char)*value);
	return !*value;
}
