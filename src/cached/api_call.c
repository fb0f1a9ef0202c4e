// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * api_call: the paths of the API: who may, what the body is, what app and proxy are asked, and how
 * their results are told. See man resex-cached(8), HTTP API.
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/keyvalq_struct.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cached/api_body.h"
#include "src/cached/api_priv.h"

enum { SHOWN_MAX = 128, TEXT_MAX = 320 };

/* A request, as far as it is served. */
struct request {
	struct api_conn *conn;
	struct evhttp_request *req;
	struct app *app;
	struct proxy *proxy;
	const char *rest;  /* of the path, behind the row's */
	const char *query; /* NULL: none */
	const char *text;  /* the body */
	size_t len;
};

enum role { ON_APP = 1, ON_PROXY = 2, ON_BOTH = 3 };
enum right { MAY_ALL, MAY_GROUP, MAY_ROOT };

struct path {
	const char *path; /* one that ends with '/' has an id behind it */
	enum evhttp_cmd_type method;
	enum role role;
	enum right right;
	bool has_body, has_query;
	void (*serve)(struct request *r);
};

static void refuse_bad(struct request *r, const struct conf_error *e)
{
	if (e->exit == RESEX_FAILURE)
		api_reply(r->req, 500, NULL, false);
	else
		api_refuse(r->req, 400, "bad", e->text);
}

/* --- results --------------------------------------------------------- */

static void refuse_result(struct evhttp_request *req, const struct app_result *r)
{
	static const int codes[] = { [APP_OK] = 200,
				     [APP_REFUSED] = 409,
				     [APP_NOT_NOW] = 503,
				     [APP_BAD] = 400,
				     [APP_NOT_FOUND] = 404 };

	api_refuse(req, codes[r->end], r->why, r->text);
}

static void fill_begun(void *arg, const struct app_result *r)
{
	struct evhttp_request *req = api_call_end(arg);
	char id[17];

	if (!req)
		return;
	if (r->end != APP_OK) {
		refuse_result(req, r);
		return;
	}
	snprintf(id, sizeof(id), "%016" PRIx64, r->id);
	api_reply(req, 200, json_pack("{s:s}", "fill", id), false);
}

/* A page that was not registered is no error: it is served, and not stored. */
static void fill_ended(void *arg, const struct app_result *r)
{
	struct evhttp_request *req = api_call_end(arg);
	char version[17];

	if (!req)
		return;
	snprintf(version, sizeof(version), "%016" PRIx64, r->version);
	if (r->end == APP_OK)
		api_reply(req, 200, json_pack("{s:s}", "version", version), false);
	else if (r->end == APP_REFUSED)
		api_reply(req, 200,
			  json_pack("{s:n, s:s, s:s}", "version", "why", r->why, "text", r->text),
			  false);
	else
		refuse_result(req, r);
}

static json_t *committed(const struct app_result *r)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; rows && i < r->statements; i++)
		if (json_array_append_new(rows, json_integer((json_int_t)r->rows[i]))) {
			json_decref(rows);
			rows = NULL;
		}
	if (!rows)
		return NULL;
	return json_pack("{s:I, s:o}", "transaction", (json_int_t)r->transaction, "rows", rows);
}

static void updated(void *arg, const struct app_result *r)
{
	struct evhttp_request *req = api_call_end(arg);
	json_t *o;

	if (!req)
		return;
	if (r->end == APP_OK) {
		api_reply(req, 200, committed(r), false);
	} else if (r->end == APP_REFUSED && r->sqlstate && r->sqlstate[0]) {
		o = api_error(r->why, r->text);
		if (o && json_object_set_new(o, "sqlstate", json_string(r->sqlstate))) {
			json_decref(o);
			o = NULL;
		}
		api_reply(req, 409, o, false);
	} else {
		refuse_result(req, r);
	}
}

static void removed(void *arg, const struct app_result *r)
{
	struct evhttp_request *req = api_call_end(arg);

	if (!req)
		return;
	if (r->end == APP_OK)
		api_reply(req, 200, json_object(), false);
	else
		refuse_result(req, r);
}

/* --- fills and updates --------------------------------------------------------- */

/* done may come before these functions return: the call is not touched behind them. */

static void fill_begin(struct request *r)
{
	struct api_body b;
	struct conf_error e;
	struct api_call *c;

	if (api_body_fill(&b, r->text, r->len, &e)) {
		refuse_bad(r, &e);
		return;
	}
	c = api_call_begin(r->conn, r->req);
	if (c)
		app_fill_begin(r->app, (uint16_t)b.home, (uint32_t)b.word, fill_begun, c);
	api_body_free(&b);
}

static bool read_id(struct request *r, uint64_t *id)
{
	if (strlen(r->rest) == 16 && api_read_hex(r->rest, id))
		return true;
	api_refuse(r->req, 404, "fill", "there is no such fill: give the id of POST /v1/fill");
	return false;
}

static void fill_end(struct request *r)
{
	struct api_body b;
	struct conf_error e;
	struct api_call *c;
	uint64_t id;

	if (!read_id(r, &id))
		return;
	if (api_body_end(&b, r->text, r->len, &e)) {
		refuse_bad(r, &e);
		return;
	}
	c = api_call_begin(r->conn, r->req);
	if (c)
		app_fill_end(r->app, id, b.tags, b.tag, b.snapshot, fill_ended, c);
	api_body_free(&b);
}

static void fill_give_up(struct request *r)
{
	uint64_t id;

	if (!read_id(r, &id))
		return;
	if (app_fill_give_up(r->app, id) == APP_OK)
		api_reply(r->req, 200, json_object(), false);
	else
		api_refuse(r->req, 404, "fill",
			   "there is no such fill: it has ended, or took too long");
}

static void update(struct request *r)
{
	struct api_body b;
	struct conf_error e;
	struct api_call *c;

	if (api_body_update(&b, r->text, r->len, &e)) {
		refuse_bad(r, &e);
		return;
	}
	c = api_call_begin(r->conn, r->req);
	if (c)
		app_update(r->app, b.tags, b.tag, b.statements, b.statement, updated, c);
	api_body_free(&b);
}

static const char no_key[] = "page is no key: give the 1 to 16 hexadecimal digits of cache_key()";

static void invalidate(struct request *r)
{
	struct api_body b;
	struct conf_error e;
	struct api_call *c = NULL;
	uint64_t key = 0;

	if (api_body_invalidate(&b, r->text, r->len, &e)) {
		refuse_bad(r, &e);
		return;
	}
	if (b.page && !api_read_hex(b.page, &key))
		api_refuse(r->req, 400, "bad", no_key);
	else
		c = api_call_begin(r->conn, r->req);
	if (c && b.page)
		app_invalidate_page(r->app, key, updated, c);
	else if (c)
		app_invalidate(r->app, b.all ? NULL : b.tag[0], updated, c);
	api_body_free(&b);
}

/* By name or number. 0: there is none. */
static uint16_t find_host(const struct api *a, const struct api_body *b)
{
	const struct cluster_conf *c = a->cluster;

	for (uint32_t i = 0; i < c->caches; i++)
		if (c->cached[i].role == CLUSTER_APP &&
		    (b->host ? !strcmp(c->cached[i].name, b->host)
			     : c->cached[i].number == b->number))
			return (uint16_t)c->cached[i].number;
	return 0;
}

static void remove_host(struct request *r)
{
	struct api_body b;
	struct conf_error e;
	struct api_call *c;
	uint16_t host;

	if (api_body_remove(&b, r->text, r->len, &e)) {
		refuse_bad(r, &e);
		return;
	}
	host = find_host(r->conn->a, &b);
	if (!host) {
		api_refuse(r->req, 404, "host",
			   "there is no such application server: GET /v1/info names them");
	} else {
		c = api_call_begin(r->conn, r->req);
		if (c)
			app_remove(r->app, host, b.force, removed, c);
	}
	api_body_free(&b);
}

/* --- for people --------------------------------------------------------- */

static void show_info(struct request *r)
{
	const struct api *a = r->conn->a;
	json_t *o = r->app ? app_info(r->app) : proxy_info(r->proxy);
	json_t *http = json_pack("{s:I, s:I, s:I}", "held_bytes", (json_int_t)a->held,
				 "connections_refused", (json_int_t)a->conns_refused,
				 "bodies_refused", (json_int_t)a->bodies_refused);

	if (json_object_set_new(o, "http", http)) {
		json_decref(o);
		o = NULL;
	}
	api_reply(r->req, 200, o, false);
}

static void show_cache(struct request *r)
{
	api_reply(r->req, 200, r->app ? app_cache(r->app) : proxy_cache(r->proxy), false);
}

static void show_updates(struct request *r)
{
	json_t *list = app_updates(r->app);

	api_reply(r->req, 200, list ? json_pack("{s:o}", "updates", list) : NULL, false);
}

/*
 * The only parameter of the query, which must be this one. Free it. NULL: there is another one, or
 * none, and that is answered.
 */
static char *query_value(struct request *r, const char *key, bool required)
{
	struct evkeyvalq q;
	const struct evkeyval *first;
	char text[TEXT_MAX], *value = NULL;

	/* Behind a NUL nothing would be seen. */
	if (r->query && strstr(r->query, "%00")) {
		api_refuse(r->req, 400, "bad", "the query has a NUL character: leave it out");
		return NULL;
	}
	if (evhttp_parse_query_str(r->query ? r->query : "", &q)) {
		api_refuse(r->req, 400, "bad", "the query is none: write ?KEY=VALUE");
		return NULL;
	}
	first = TAILQ_FIRST(&q);
	if (!first && !required)
		value = strdup("");
	else if (first && !TAILQ_NEXT(first, next) && !strcmp(first->key, key))
		value = strdup(first->value);
	evhttp_clear_headers(&q);
	if (value)
		return value;
	snprintf(text, sizeof(text), "the query must be ?%s=VALUE alone", key);
	api_refuse(r->req, 400, "bad", text);
	return NULL;
}

static void show_tag(struct request *r)
{
	char *tag = query_value(r, "tag", true);
	struct conf_error e;

	if (!tag)
		return;
	if (api_check_tag(tag, "tag", &e))
		refuse_bad(r, &e);
	else
		api_reply(r->req, 200, app_show(r->app, tag), false);
	free(tag);
}

static void show_page(struct request *r)
{
	char *page = query_value(r, "page", true);
	uint64_t key;

	if (!page)
		return;
	if (!api_read_hex(page, &key))
		api_refuse(r->req, 400, "bad", no_key);
	else
		api_reply(r->req, 200, proxy_show(r->proxy, key), false);
	free(page);
}

static void show(struct request *r)
{
	if (r->app)
		show_tag(r);
	else
		show_page(r);
}

static json_t *events_after(const struct events *e, uint64_t after)
{
	struct events_seen seen;
	json_t *list = json_array();
	bool good = list != NULL;

	while (good && events_next(e, after, &seen)) {
		after = seen.number;
		good = !json_array_append_new(
			list, json_pack("{s:I, s:I, s:s}", "number", (json_int_t)seen.number,
					"time_ns", (json_int_t)seen.wall_ns, "text", seen.text));
	}
	if (good)
		return list;
	json_decref(list);
	return NULL;
}

static bool read_decimal(const char *text, uint64_t *n)
{
	size_t len = strspn(text, "0123456789");

	if (len > 18 || text[len])
		return false;
	*n = len ? strtoull(text, NULL, 10) : 0;
	return true;
}

static void show_events(struct request *r)
{
	const struct events *e = r->conn->a->parts.events;
	char *text = query_value(r, "after", false);
	uint64_t after;
	json_t *list;

	if (!text)
		return;
	if (!read_decimal(text, &after)) {
		api_refuse(r->req, 400, "bad", "after is no number: give that of an event");
	} else {
		list = events_after(e, after);
		api_reply(r->req, 200,
			  list ? json_pack("{s:I, s:o}", "newest", (json_int_t)events_newest(e),
					   "events", list)
			       : NULL,
			  false);
	}
	free(text);
}

/* --- which path --------------------------------------------------------- */

static const struct path paths[] = {
	{ "/v1/fill", EVHTTP_REQ_POST, ON_APP, MAY_GROUP, true, false, fill_begin },
	{ "/v1/fill/", EVHTTP_REQ_POST, ON_APP, MAY_GROUP, true, false, fill_end },
	{ "/v1/fill/", EVHTTP_REQ_DELETE, ON_APP, MAY_GROUP, false, false, fill_give_up },
	{ "/v1/update", EVHTTP_REQ_POST, ON_APP, MAY_GROUP, true, false, update },
	{ "/v1/invalidate", EVHTTP_REQ_POST, ON_APP, MAY_GROUP, true, false, invalidate },
	{ "/v1/updates", EVHTTP_REQ_GET, ON_APP, MAY_ALL, false, false, show_updates },
	{ "/v1/remove", EVHTTP_REQ_POST, ON_APP, MAY_ROOT, true, false, remove_host },
	{ "/v1/info", EVHTTP_REQ_GET, ON_BOTH, MAY_ALL, false, false, show_info },
	{ "/v1/cache", EVHTTP_REQ_GET, ON_BOTH, MAY_ALL, false, false, show_cache },
	{ "/v1/show", EVHTTP_REQ_GET, ON_BOTH, MAY_ALL, false, true, show },
	{ "/v1/events", EVHTTP_REQ_GET, ON_BOTH, MAY_ALL, false, true, show_events },
};

enum { PATHS = sizeof(paths) / sizeof(paths[0]) };

static bool is_path(const struct path *p, const char *path)
{
	size_t len = strlen(p->path);

	if (p->path[len - 1] != '/')
		return !strcmp(p->path, path);
	return !strncmp(p->path, path, len) && path[len] && !strchr(path + len, '/');
}

/* NULL: it is answered. */
static const struct path *find_path(struct request *r, const char *path)
{
	enum evhttp_cmd_type method = evhttp_request_get_command(r->req);
	char shown[SHOWN_MAX], text[TEXT_MAX];
	bool exists = false;

	for (int i = 0; path && i < PATHS; i++) {
		if (!is_path(&paths[i], path))
			continue;
		exists = true;
		if (paths[i].method != method)
			continue;
		r->rest = path + strlen(paths[i].path);
		return &paths[i];
	}
	utf8_escape(path ? path : "", shown, sizeof(shown));
	if (exists) {
		snprintf(text, sizeof(text),
			 "%s is not served with this method: see resex-cached(8), HTTP API", shown);
		api_refuse(r->req, 405, "method", text);
	} else {
		snprintf(text, sizeof(text),
			 "there is no path \"%s\": see resex-cached(8), HTTP API", shown);
		api_refuse(r->req, 404, "path", text);
	}
	return NULL;
}

bool api_may_write(const struct api_conn *k)
{
	const struct listen_peer *p = &k->peer;

	return p->root || p->own || p->member;
}

static bool may(const struct api_conn *k, enum right right)
{
	if (right == MAY_ROOT)
		return k->peer.root;
	return right == MAY_ALL || api_may_write(k);
}

static void refuse_user(struct request *r, enum right right)
{
	const struct api_conn *k = r->conn;
	char text[TEXT_MAX];

	if (right == MAY_ROOT)
		snprintf(text, sizeof(text), "user %u may not do this: do it as root", k->peer.uid);
	else if (k->a->group_name[0])
		snprintf(text, sizeof(text),
			 "user %u may not do this: do it as root, or in the group %s", k->peer.uid,
			 k->a->group_name);
	else
		snprintf(text, sizeof(text),
			 "user %u may not do this: do it as root, or name a group in "
			 "\"socket_group\"",
			 k->peer.uid);
	api_refuse(r->req, 403, "not_allowed", text);
}

/* false: it is answered. */
static bool check(struct request *r, const struct path *p)
{
	if (!(p->role & (r->app ? ON_APP : ON_PROXY))) {
		api_refuse(r->req, 404, "role", "this host is a proxy: ask an application server");
		return false;
	}
	if (!may(r->conn, p->right)) {
		refuse_user(r, p->right);
		return false;
	}
	if (r->query && !p->has_query) {
		api_refuse(r->req, 400, "bad", "this path has no query: leave it out");
		return false;
	}
	if (!p->has_body && r->len) {
		api_refuse(r->req, 400, "bad", "this request has no body: leave it out");
		return false;
	}
	return true;
}

void api_serve(struct api_conn *k, struct evhttp_request *req)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
	struct evbuffer *in = evhttp_request_get_input_buffer(req), *body = evbuffer_new();
	struct request r = { .conn = k,
			     .req = req,
			     .app = k->a->parts.app,
			     .proxy = k->a->parts.proxy,
			     .query = uri ? evhttp_uri_get_query(uri) : NULL,
			     .len = evbuffer_get_length(in) };
	const struct path *p = find_path(&r, uri ? evhttp_uri_get_path(uri) : NULL);

	if (p && check(&r, p)) {
		/* Not kept until the reply is sent. */
		if (body && !evbuffer_add_buffer(body, in))
			r.text = r.len ? (const char *)evbuffer_pullup(body, -1) : "";
		if (r.text)
			p->serve(&r);
		else
			api_reply(req, 500, NULL, true);
	}
	if (body)
		evbuffer_free(body);
}
