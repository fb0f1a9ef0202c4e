// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * conf_schema: a table of keys -> the schema of an object. A type is a row: the pattern of its
 * strings, whether a number is taken, too, and what it then counts. The daemon prints schemas when
 * it is asked to (src/daemon/schema.c), and never reads one. See conf_schema.h.
 */
#include "src/util/conf_schema.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 512 };

/* Types whose strings are numbers with a unit. A schema cannot bound these: the text does. */
static const struct unit_type {
	enum conf_type type;
	const char *pattern;
	const char *counts; /* a number without a unit; NULL: it is not taken */
} unit_types[] = {
	{ CONF_DURATION, "^[0-9]+(s|ms|us|ns)$", NULL },
	{ CONF_NS, "^[0-9]+(s|ms|us|ns)$", "ns" },
	{ CONF_RATE, "^[0-9]+(([kMGT]|[KMGT]i)?B|[kMGT]?bit)/s$", "bytes a second" },
	{ CONF_SIZE, "^[0-9]+(B|kB|KiB|MB|MiB|GB|GiB)$", "bytes" },
	{ CONF_PERCENT, "^[0-9]+ ?%$", "percent" },
	{ CONF_PERMILLE, "^[0-9]+(\\.[0-9])? ?%$", "1/1000" },
	{ CONF_MPCT, "^[0-9]+(\\.[0-9]{1,3})? ?%$", "1/1000 percent" },
};

static const struct unit_type *unit_type(enum conf_type type)
{
	for (size_t i = 0; i < sizeof(unit_types) / sizeof(unit_types[0]); i++)
		if (unit_types[i].type == type)
			return &unit_types[i];
	return NULL;
}

static json_t *integer(uint64_t v)
{
	return json_integer((json_int_t)(v > INT64_MAX ? INT64_MAX : v));
}

static json_t *integer_schema(const struct conf_key *k)
{
	return json_pack("{s:s, s:o, s:o}", "type", "integer", "minimum", integer(k->min),
			 "maximum", integer(k->max));
}

json_t *schema_string(const char *pattern)
{
	return pattern ? json_pack("{s:s, s:s}", "type", "string", "pattern", pattern)
		       : json_pack("{s:s}", "type", "string");
}

json_t *schema_words(const char *const *words)
{
	json_t *all = json_array();

	for (; *words; words++)
		json_array_append_new(all, json_string(*words));
	return json_pack("{s:o}", "enum", all);
}

json_t *schema_either(json_t *a, json_t *b)
{
	return json_pack("{s:[o,o]}", "anyOf", a, b);
}

/* Lengths are characters here and bytes in conf, so only "not empty" is the same. */
static json_t *string_schema(const struct conf_key *k)
{
	bool path = k->type == CONF_PATH;
	json_t *s = schema_string(!path	   ? "^[^\\u0000-\\u001f\\u007f]*$"
				  : k->min ? "^/[^\\u0000-\\u001f\\u007f]*$"
					   : "^(/[^\\u0000-\\u001f\\u007f]*)?$");

	json_object_set_new(s, "minLength", json_integer(k->min ? 1 : 0));
	json_object_set_new(s, "maxLength", integer(k->max));
	return s;
}

json_t *schema_value(const struct conf_key *k)
{
	const struct unit_type *u = unit_type(k->type);

	if (u && u->counts)
		return schema_either(schema_string(u->pattern), integer_schema(k));
	if (u)
		return schema_string(u->pattern);
	switch (k->type) {
	case CONF_BOOL:
		return json_pack("{s:s}", "type", "boolean");
	case CONF_UINT:
		return integer_schema(k);
	case CONF_ENUM:
		return schema_words(k->names);
	default:
		return string_schema(k);
	}
}

/* As a file would have it. NULL: there is none that a file may have, so it means "not given". */
static json_t *default_of(const struct conf_key *k, const void *defaults)
{
	const char *at = (const char *)defaults + k->offset;
	uint64_t u = 0;
	uint32_t u32;
	char text[64];
	bool b;

	switch (k->type) {
	case CONF_BOOL:
		memcpy(&b, at, sizeof(b));
		return json_boolean(b);
	case CONF_STRING:
	case CONF_PATH:
		return strlen(at) >= k->min ? json_string(at) : NULL;
	case CONF_ENUM:
		memcpy(&u32, at, sizeof(u32));
		return json_string(k->names[u32]);
	default:
		memcpy(&u, at, sizeof(u));
	}
	if (u < k->min || u > k->max)
		return NULL;
	if (!unit_type(k->type) || (!u && k->type != CONF_DURATION))
		return integer(u);
	conf_text(k->type, u, text, sizeof(text));
	return json_string(text);
}

static const char *text_of(const struct conf_says *says, const char *key)
{
	for (; says->key; says++)
		if (!strcmp(says->key, key))
			return says->text;
	return NULL;
}

/* What it does, its range, and what a number without a unit counts. */
static void set_text(json_t *s, const char *text, const struct conf_key *k)
{
	const struct unit_type *u = k ? unit_type(k->type) : NULL;
	char all[TEXT_MAX], low[32], high[32];

	if (!text)
		return;
	snprintf(all, sizeof(all), "%s", text);
	if (u) {
		size_t n = strlen(all);

		conf_text(k->type, k->min, low, sizeof(low));
		conf_text(k->type, k->max, high, sizeof(high));
		snprintf(all + n, sizeof(all) - n, " From %s to %s%s%s.", low, high,
			 u->counts ? "; a number without a unit counts " : "",
			 u->counts ? u->counts : "");
	}
	json_object_set_new(s, "description", json_string(all));
}

static json_t *empty_object(void)
{
	return json_pack("{s:s, s:b, s:{}}", "type", "object", "additionalProperties", 0,
			 "properties");
}

static json_t *add(json_t *object, const char *key, json_t *schema, bool required)
{
	json_t *must = json_object_get(object, "required");

	if (!object || json_object_set_new(json_object_get(object, "properties"), key, schema)) {
		json_decref(object);
		return NULL;
	}
	if (required && !must) {
		must = json_array();
		json_object_set_new(object, "required", must);
	}
	if (required)
		json_array_append_new(must, json_string(key));
	return object;
}

json_t *schema_more(json_t *object, const struct conf_table *t, const struct conf_says *says)
{
	for (const struct conf_key *k = t->keys; object && k->name; k++) {
		json_t *s = schema_value(k);
		json_t *def = t->defaults && !k->required ? default_of(k, t->defaults) : NULL;

		set_text(s, text_of(says, k->name), k);
		if (def)
			json_object_set_new(s, "default", def);
		object = add(object, k->name, s, k->required);
	}
	return object;
}

json_t *schema_object(const struct conf_table *t, const struct conf_says *says)
{
	return schema_more(empty_object(), t, says);
}

json_t *schema_put(json_t *object, const char *key, json_t *schema, const struct conf_says *says)
{
	set_text(schema, text_of(says, key), NULL);
	return add(object, key, schema, false);
}

json_t *schema_must(json_t *object, const char *key, json_t *schema, const struct conf_says *says)
{
	set_text(schema, text_of(says, key), NULL);
	return add(object, key, schema, true);
}

json_t *schema_drop(json_t *object, const char *key)
{
	json_object_del(json_object_get(object, "properties"), key);
	return object;
}

json_t *schema_narrow(json_t *object, const char *key, json_t *more)
{
	json_t *s = json_object_get(json_object_get(object, "properties"), key);
	int rc = json_object_update(s, more);

	json_decref(more);
	if (!rc)
		return object;
	json_decref(object);
	return NULL;
}

json_t *schema_list(const struct conf_list *l, json_t *element)
{
	return json_pack("{s:s, s:o, s:I, s:I}", "type", "array", "items", element, "minItems",
			 (json_int_t)l->min, "maxItems", (json_int_t)l->max);
}

json_t *schema_top(json_t *object, const char *title)
{
	json_t *top = json_pack("{s:s, s:s}", "$schema",
				"https://json-schema.org/draft/2020-12/schema", "title", title);

	if (!object || json_object_update_new(top, object)) {
		json_decref(top);
		return NULL;
	}
	return top;
}
