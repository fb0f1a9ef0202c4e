// SPDX-License-Identifier: GPL-2.0-or-later
/* api_reply: replies with JSON bodies, and calls whose reply comes later. See api_priv.h. */
#include <event2/buffer.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>

#include "src/cached/api_priv.h"

/* --- replies --------------------------------------------------------- */

static void send_text(struct evhttp_request *req, int code, const char *text, bool close)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(req);
	struct evbuffer *body = evbuffer_new();

	evhttp_add_header(headers, "Content-Type", "application/json");
	if (close)
		evhttp_add_header(headers, "Connection", "close");
	if (body)
		evbuffer_add(body, text, strlen(text));
	evhttp_send_reply(req, code, NULL, body);
	if (body)
		evbuffer_free(body);
}

void api_reply(struct evhttp_request *req, int code, json_t *o, bool close)
{
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;

	if (text)
		send_text(req, code, text, close);
	else
		send_text(req, 500,
			  "{\"error\":\"there is no memory for the reply\",\"why\":\"memory\"}",
			  close);
	free(text);
	json_decref(o);
}

/* Texts of a database may be no UTF-8, and some are cut. */
json_t *api_error(const char *why, const char *text)
{
	char *good = strdup(text);
	json_t *o = NULL;

	if (good) {
		utf8_mend(good);
		o = json_pack("{s:s, s:s}", "error", good, "why", why);
	}
	free(good);
	return o;
}

void api_refuse(struct evhttp_request *req, int code, const char *why, const char *text)
{
	api_reply(req, code, api_error(why, text), false);
}

/* --- calls --------------------------------------------------------- */

/*
 * evhttp closes the connection of a call: at api_close, or if it could not write "100 Continue". If
 * it has let the request go before, that is ours.
 */
static void on_close(struct evhttp_connection *evcon, void *arg)
{
	struct api_call *c = arg;

	(void)evcon;
	c->conn->call = NULL;
	c->conn = NULL;
	if (evhttp_request_get_connection(c->req))
		c->req = NULL;
}

struct api_call *api_call_begin(struct api_conn *k, struct evhttp_request *req)
{
	struct api_call *c = calloc(1, sizeof(*c));

	if (!c) {
		api_reply(req, 500, NULL, true);
		return NULL;
	}
	c->a = k->a;
	c->conn = k;
	c->req = req;
	k->call = c;
	TAILQ_INSERT_TAIL(&k->a->calls, c, all);
	evhttp_connection_set_closecb(evhttp_request_get_connection(req), on_close, c);
	return c;
}

void api_call_forget(struct api_call *c)
{
	TAILQ_REMOVE(&c->a->calls, c, all);
	free(c);
}

struct evhttp_request *api_call_end(struct api_call *c)
{
	struct evhttp_request *req = c->req;
	struct api_conn *k = c->conn;

	api_call_forget(c);
	if (!k) {
		if (req)
			evhttp_request_free(req);
		return NULL;
	}
	k->call = NULL;
	k->since = k->a->clock.now(&k->a->clock);
	evhttp_connection_set_closecb(evhttp_request_get_connection(req), NULL, NULL);
	return req;
}
