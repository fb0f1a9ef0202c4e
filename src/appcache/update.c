// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * update: an update of an application, through resex-cached, which tells all caches before the
 * database. See resex/cache.h.
 *
 * What counts here is to say "without effect" only when that is certain. It is when no part of the
 * request has left, or when resex-cached says so. In all other cases the end is not known: a
 * daemon that has the request may carry it out after the caller has given up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/appcache/appcache.h"

static int no_memory(struct resex_cache *c)
{
	return appcache_fail(c, -ENOMEM, "there is no memory");
}

/* -EINVAL: jansson takes UTF-8 alone. */
static int add_param(struct resex_cache *c, json_t *list, const char *param)
{
	json_t *v = param ? json_string(param) : json_null();

	if (!v)
		return appcache_fail(c, -EINVAL, "parameter \"%.80s\": give UTF-8", param);
	return json_array_append_new(list, v) ? no_memory(c) : 0;
}

static int add_statement(struct resex_cache *c, json_t *list, const struct resex_cache_statement *s)
{
	json_t *o = json_object(), *params = json_array(), *sql;
	int rc = o && params ? 0 : no_memory(c);

	if (!rc && (!s->sql || s->params > RESEX_CACHE_PARAMS_MAX))
		rc = appcache_fail(c, s->sql ? -E2BIG : -EINVAL,
				   "a statement with %zu parameters: give a text, and at most %d",
				   s->params, RESEX_CACHE_PARAMS_MAX);
	for (size_t i = 0; !rc && i < s->params; i++)
		rc = add_param(c, params, s->param[i]);
	sql = rc ? NULL : json_string(s->sql);
	if (!rc && !sql)
		rc = appcache_fail(c, -EINVAL, "statement \"%.80s\": give UTF-8", s->sql);
	if (!rc && (json_object_set_new(o, "sql", sql) || json_object_set(o, "params", params) ||
		    json_array_append(list, o)))
		rc = no_memory(c);
	json_decref(params);
	json_decref(o);
	return rc;
}

/* The request's body in *body, which the caller frees. */
static int update_body(struct resex_cache *c, const char *const *tag, size_t tags,
		       const struct resex_cache_statement *statement, size_t statements,
		       char **body)
{
	json_t *list = NULL, *o = json_object(), *all = json_array();
	int rc = o && all ? 0 : no_memory(c);

	if (!rc && (!tags || !statements))
		rc = appcache_fail(c, -EINVAL, "an update without a tag or a statement: give both");
	if (!rc && statements > RESEX_CACHE_STATEMENTS_MAX)
		rc = appcache_fail(c, -E2BIG, "%zu statements: give at most %d", statements,
				   RESEX_CACHE_STATEMENTS_MAX);
	if (!rc)
		rc = appcache_tags(c, tag, tags, &list);
	for (size_t i = 0; !rc && i < statements; i++)
		rc = add_statement(c, all, &statement[i]);
	if (!rc && (json_object_set(o, "tags", list) || json_object_set(o, "statements", all)))
		rc = no_memory(c);
	if (!rc) {
		*body = json_dumps(o, JSON_COMPACT);
		rc = *body ? 0 : no_memory(c);
	}
	json_decref(list);
	json_decref(all);
	json_decref(o);
	return rc;
}

/* The answer to an update that was done. false: it makes no sense. */
static bool read_done(const struct appcache_answer *a, size_t statements,
		      struct resex_cache_result *result)
{
	const json_t *transaction = json_object_get(a->body, "transaction");
	const json_t *rows = json_object_get(a->body, "rows");

	if (!json_is_integer(transaction) || json_integer_value(transaction) <= 0 ||
	    !json_is_array(rows) || json_array_size(rows) != statements)
		return false;
	result->transaction = (uint64_t)json_integer_value(transaction);
	for (size_t i = 0; i < statements; i++) {
		const json_t *n = json_array_get(rows, i);

		if (!json_is_integer(n) || json_integer_value(n) < 0)
			return false;
		result->rows[i] = (uint64_t)json_integer_value(n);
	}
	return true;
}

static int read_answer(struct resex_cache *c, const struct appcache_answer *a, size_t statements,
		       struct resex_cache_result *result)
{
	const char *state = json_string_value(json_object_get(a->body, "sqlstate"));
	const char *text = json_string_value(json_object_get(a->body, "error"));

	if (!a->status) /* the sentence is set */
		return a->sent ? -EINPROGRESS : -EAGAIN;
	if (a->status == 200 && read_done(a, statements, result))
		return 0;
	if (a->status == 409) {
		if (state && strlen(state) < sizeof(result->sqlstate))
			strcpy(result->sqlstate, state);
		return appcache_said(c, -ECANCELED, a, "error", "a statement was refused");
	}
	/* A request that resex-cached, or the HTTP server in it, does not accept is not run. */
	if (a->status >= 400 && a->status < 500)
		return appcache_said(c, -EINVAL, a, "error",
				     "resex-cached does not accept this update");
	if (a->status == 503 && text)
		return appcache_said(c, -EAGAIN, a, "error", "");
	return appcache_said(c, -EINPROGRESS, a, "error",
			     "the end of this update is not known: the answer makes no sense; "
			     "see the log of resex-cached");
}

int resex_cache_update(struct resex_cache *c, const char *const *tag, size_t tags,
		       const struct resex_cache_statement *statement, size_t statements,
		       struct resex_cache_result *result)
{
	struct resex_cache_result r = { 0 };
	struct appcache_request request = { "POST", "/v1/update", NULL, c->update_ms, true };
	struct appcache_answer a;
	char *body = NULL;
	int rc = update_body(c, tag, tags, statement, statements, &body);

	if (rc)
		return rc;
	request.body = body;
	appcache_ask(c, &request, &a);
	rc = read_answer(c, &a, statements, &r);
	json_decref(a.body);
	free(body);
	if (result && (!rc || rc == -ECANCELED))
		*result = r;
	else if (result)
		*result = (struct resex_cache_result){ 0 };
	return rc;
}
