// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * api_body: reads the bodies of requests. See api_body.h.
 *
 * src/util/conf.h does the most of it: duplicate and unknown keys, types and ranges are errors with
 * a place and a remedy.
 */
#include "src/cached/api_body.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cached/api.h"
#include "src/cached/tag.h"

enum { PATH_MAX_SHOWN = 64 };

static int begin(struct api_body *b, const char *text, size_t len, struct conf_error *e)
{
	memset(b, 0, sizeof(*b));
	return conf_parse_long(&b->d, "body", text, len, API_BODY_MAX, e);
}

static int end(struct api_body *b, int rc)
{
	if (rc)
		api_body_free(b);
	return rc;
}

void api_body_free(struct api_body *b)
{
	free(b->param);
	conf_free(&b->d);
	memset(b, 0, sizeof(*b));
}

/* The keys of an object whose values are read elsewhere. */
static int check_keys(const struct api_body *b, const char *path, const json_t *obj,
		      const char *const *keys, struct conf_error *e)
{
	static const struct conf_key none[] = { { 0 } };

	return conf_bind(&b->d, path, obj, none, keys, NULL, e);
}

/* --- tags --------------------------------------------------------- */

/* The end of the sentence; NULL: it is one. JSON has no other texts than UTF-8, but queries do. */
static const char *why_no_tag(const char *tag)
{
	if (!tag[0])
		return "is empty: give 1 to 255 bytes";
	if (strlen(tag) > TAG_BYTES_MAX)
		return "is too long: give at most 255 bytes, or a hash of it";
	if (!tag_good(tag))
		return "has control characters, or is no UTF-8: leave them out";
	return NULL;
}

int api_check_tag(const char *tag, const char *name, struct conf_error *e)
{
	const char *why = why_no_tag(tag);

	if (!why)
		return 0;
	conf_error_set(e, RESEX_RANGE, "%s (%zu bytes) %s", name, strlen(tag), why);
	return -EINVAL;
}

static int read_tag(struct api_body *b, const char *path, const json_t *v, struct conf_error *e)
{
	const char *tag = json_string_value(v), *why;

	if (!tag)
		return conf_fail(&b->d, path, e, "%s is no text: write one, such as \"item/5\"",
				 path);
	why = why_no_tag(tag);
	if (why)
		return conf_fail(&b->d, path, e, "%s (%zu bytes) %s", path, strlen(tag), why);
	b->tag[b->tags++] = tag;
	return 0;
}

/* A list with this key. 0, or -EINVAL with e filled. */
static int find_list(const struct api_body *b, const char *path, const json_t *obj, const char *key,
		     size_t max, const char *example, const json_t **list, struct conf_error *e)
{
	const json_t *v = json_object_get(obj, key);

	if (!v)
		return conf_fail(&b->d, path, e, "key \"%s\" is missing here: add it, such as %s",
				 key, example);
	if (!json_is_array(v))
		return conf_fail_key(&b->d, path, key, e, "%s is no list: write one, such as %s",
				     key, example);
	if (json_array_size(v) > max)
		return conf_fail_key(&b->d, path, key, e, "%s: %zu are too many: give at most %zu",
				     key, json_array_size(v), max);
	*list = v;
	return 0;
}

static int read_tags(struct api_body *b, struct conf_error *e)
{
	char path[PATH_MAX_SHOWN];
	const json_t *list = NULL;
	int rc = find_list(b, "", b->d.root, "tags", API_TAGS_MAX, "[\"item/5\"]", &list, e);

	for (size_t i = 0; !rc && i < json_array_size(list); i++) {
		snprintf(path, sizeof(path), "tags[%zu]", i);
		rc = read_tag(b, path, json_array_get(list, i), e);
	}
	return rc;
}

/* --- fills --------------------------------------------------------- */

int api_body_fill(struct api_body *b, const char *text, size_t len, struct conf_error *e)
{
	static const struct conf_key keys[] = {
		{ CONF_KEY(struct api_body, "home", UINT, home), .min = 1, .max = REGION_HOSTS_MAX,
		  .required = 1 },
		{ CONF_KEY(struct api_body, "word", UINT, word), .max = REGION_CACHE_WORDS_MAX - 1,
		  .required = 1 },
		{ 0 },
	};
	int rc = begin(b, text, len, e);

	if (!rc)
		rc = conf_bind(&b->d, "", b->d.root, keys, NULL, b, e);
	return end(b, rc);
}

static int read_text(const struct api_body *b, const char *path, const json_t *obj, const char *key,
		     const char **text, struct conf_error *e)
{
	const json_t *v = json_object_get(obj, key);

	if (v && !json_is_string(v))
		return conf_fail_key(&b->d, path, key, e,
				     "%s is no text: write one, or leave it out", key);
	*text = json_string_value(v);
	return 0;
}

int api_body_end(struct api_body *b, const char *text, size_t len, struct conf_error *e)
{
	static const char *const keys[] = { "tags", "snapshot", NULL };
	int rc = begin(b, text, len, e);

	if (!rc)
		rc = check_keys(b, "", b->d.root, keys, e);
	if (!rc)
		rc = read_tags(b, e);
	if (!rc)
		rc = read_text(b, "", b->d.root, "snapshot", &b->snapshot, e);
	return end(b, rc);
}

/* --- updates --------------------------------------------------------- */

static int read_params(struct api_body *b, const char *path, const json_t *obj,
		       struct sql_statement *s, const char **to, struct conf_error *e)
{
	const json_t *list = NULL;
	int rc;

	if (!json_object_get(obj, "params"))
		return 0;
	rc = find_list(b, path, obj, "params", SQL_PARAMS_MAX, "[\"a\", null]", &list, e);
	s->param = to;
	for (size_t i = 0; !rc && i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);

		if (!json_is_string(v) && !json_is_null(v))
			rc = conf_fail_key(&b->d, path, "params", e,
					   "params[%zu] is neither a text nor null: write numbers "
					   "as texts, too",
					   i);
		to[s->params++] = json_string_value(v);
	}
	return rc;
}

/* A text, or an object. to: room for its parameters. */
static int read_statement(struct api_body *b, const char *path, const json_t *v, const char **to,
			  struct conf_error *e)
{
	static const char *const keys[] = { "sql", "params", NULL };
	struct sql_statement *s = &b->statement[b->statements++];
	int rc = 0;

	s->text = json_string_value(v);
	if (s->text)
		return 0;
	rc = check_keys(b, path, v, keys, e);
	if (!rc)
		rc = read_text(b, path, v, "sql", &s->text, e);
	if (!rc && !s->text)
		rc = conf_fail(&b->d, path, e,
			       "key \"sql\" is missing here: add it and write a "
			       "statement");
	return rc ? rc : read_params(b, path, v, s, to, e);
}

static int read_statements(struct api_body *b, struct conf_error *e)
{
	char path[PATH_MAX_SHOWN];
	const json_t *list = NULL;
	int rc = find_list(b, "", b->d.root, "statements", SQL_STATEMENTS_MAX, "[\"UPDATE ...\"]",
			   &list, e);

	if (!rc) {
		b->param = calloc(SQL_STATEMENTS_MAX * SQL_PARAMS_MAX, sizeof(*b->param));
		if (!b->param) {
			conf_error_set(e, RESEX_FAILURE, "no memory for the statements");
			rc = -ENOMEM;
		}
	}
	for (size_t i = 0; !rc && i < json_array_size(list); i++) {
		snprintf(path, sizeof(path), "statements[%zu]", i);
		rc = read_statement(b, path, json_array_get(list, i), b->param + i * SQL_PARAMS_MAX,
				    e);
	}
	return rc;
}

int api_body_update(struct api_body *b, const char *text, size_t len, struct conf_error *e)
{
	static const char *const keys[] = { "tags", "statements", NULL };
	int rc = begin(b, text, len, e);

	if (!rc)
		rc = check_keys(b, "", b->d.root, keys, e);
	if (!rc)
		rc = read_tags(b, e);
	if (!rc)
		rc = read_statements(b, e);
	return end(b, rc);
}

/* --- what operators ask for --------------------------------------------------------- */

static int read_target(struct api_body *b, struct conf_error *e)
{
	const json_t *root = b->d.root, *all = json_object_get(root, "all");
	const json_t *tag = json_object_get(root, "tag");

	if (json_object_size(root) != 1)
		return conf_fail(
			&b->d, "", e,
			"give one of \"tag\": \"item/5\", \"page\": \"KEY\", \"all\": true");
	if (all && !json_is_true(all))
		return conf_fail_key(&b->d, "", "all", e, "all is not true: write true, or a tag");
	b->all = all != NULL;
	if (tag)
		return read_tag(b, "tag", tag, e);
	return read_text(b, "", root, "page", &b->page, e);
}

int api_body_invalidate(struct api_body *b, const char *text, size_t len, struct conf_error *e)
{
	static const char *const keys[] = { "tag", "page", "all", NULL };
	int rc = begin(b, text, len, e);

	if (!rc)
		rc = check_keys(b, "", b->d.root, keys, e);
	if (!rc)
		rc = read_target(b, e);
	return end(b, rc);
}

int api_body_remove(struct api_body *b, const char *text, size_t len, struct conf_error *e)
{
	static const struct conf_key keys[] = {
		{ CONF_KEY(struct api_body, "force", BOOL, force) },
		{ 0 },
	};
	static const struct conf_key number[] = {
		{ CONF_KEY(struct api_body, "host", UINT, number), .min = 1,
		  .max = REGION_HOSTS_MAX, .required = 1 },
		{ 0 },
	};
	static const char *const also_host[] = { "host", NULL }, *const also_force[] = { "force",
											 NULL };
	int rc = begin(b, text, len, e);

	if (!rc)
		rc = conf_bind(&b->d, "", b->d.root, keys, also_host, b, e);
	if (rc)
		return end(b, rc);
	b->host = json_string_value(json_object_get(b->d.root, "host"));
	if (!b->host)
		rc = conf_bind(&b->d, "", b->d.root, number, also_force, b, e);
	return end(b, rc);
}

bool api_read_hex(const char *text, uint64_t *n)
{
	size_t len = strspn(text, "0123456789abcdefABCDEF");

	if (len < 1 || len > 16 || text[len])
		return false;
	*n = strtoull(text, NULL, 16);
	return true;
}
