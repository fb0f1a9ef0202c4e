// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * conf_schema: the schema of each type, with its range, default and text. That schemas say what the
 * parsers say is tests/cli/test_schema.py.
 */
#include "src/util/conf_schema.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

static const char *const colours[] = { "red", "green", NULL };

struct thing {
	bool on;
	uint64_t count, size, permille;
	uint32_t colour;
	int64_t period;
	char name[9], path[9];
};

#define KEY(...) CONF_KEY(struct thing, __VA_ARGS__)
static const struct conf_key keys[] = {
	{ KEY("on", BOOL, on) },
	{ KEY("count", UINT, count), .min = 1, .max = 100 },
	{ KEY("size", SIZE, size), .min = 1, .max = 1 << 20 },
	{ KEY("permille", PERMILLE, permille), .max = 1000 },
	{ KEY("colour", ENUM, colour), .names = colours },
	{ KEY("period", DURATION, period), .min = 1000, .max = 1000000000, .required = 1 },
	{ KEY("name", STRING, name), .min = 1, .max = 8 },
	{ KEY("path", PATH, path), .max = 8 },
	{ 0 },
};

static const struct conf_says says[] = {
	{ "on", "On." },	  { "count", "How many." },
	{ "size", "How large." }, { "permille", "A part." },
	{ "colour", "Which." },	  { "period", "How often." },
	{ "name", "Its name." },  { "path", "A file." },
	{ "more", "A list." },	  { NULL, NULL },
};

static void assert_json(json_t *v, const char *wanted)
{
	char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);

	assert_non_null(text);
	assert_string_equal(text, wanted);
	free(text);
	json_decref(v);
}

static json_t *property(const json_t *schema, const char *key)
{
	return json_incref(json_object_get(json_object_get(schema, "properties"), key));
}

TEST(object__each_type__with_range_default_and_text)
{
	static const struct thing defaults = {
		.count = 7, .size = 4096, .permille = 25, .colour = 1, .period = 5000, .path = "/x"
	};
	static const struct {
		const char *key, *schema;
	} rows[] = {
		{ "on", "{\"type\":\"boolean\",\"description\":\"On.\",\"default\":false}" },
		{ "count", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":100,"
			   "\"description\":\"How many.\",\"default\":7}" },
		{ "size",
		  "{\"anyOf\":[{\"type\":\"string\",\"pattern\":\"^[0-9]+(B|kB|KiB|MB|MiB|GB|"
		  "GiB)$\"},{\"type\":\"integer\",\"minimum\":1,\"maximum\":1048576}],"
		  "\"description\":\"How large. From 1B to 1MiB; a number without a unit "
		  "counts bytes.\",\"default\":\"4KiB\"}" },
		{ "permille", "{\"anyOf\":[{\"type\":\"string\",\"pattern\":\"^[0-9]+(\\\\.[0-9])? "
			      "?%$\"},{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000}],"
			      "\"description\":\"A part. From 0% to 100%; a number without a unit "
			      "counts 1/1000.\",\"default\":\"2.5%\"}" },
		{ "colour", "{\"enum\":[\"red\",\"green\"],\"description\":\"Which.\","
			    "\"default\":\"green\"}" },
		/* A key that must be there has no default. */
		{ "period", "{\"type\":\"string\",\"pattern\":\"^[0-9]+(s|ms|us|ns)$\","
			    "\"description\":\"How often. From 1us to 1s.\"}" },
		/* Of a name that is not given there is none either. */
		{ "name", "{\"type\":\"string\",\"pattern\":\"^[^\\\\u0000-\\\\u001f\\\\u007f]*$\","
			  "\"minLength\":1,\"maxLength\":8,\"description\":\"Its name.\"}" },
		{ "path",
		  "{\"type\":\"string\",\"pattern\":\"^(/[^\\\\u0000-\\\\u001f\\\\u007f]*)?$\","
		  "\"minLength\":0,\"maxLength\":8,\"description\":\"A "
		  "file.\",\"default\":\"/x\"}" },
	};
	const struct conf_table t = { keys, &defaults };
	json_t *o = schema_object(&t, says);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_json(property(o, rows[i].key), rows[i].schema);
	assert_true(json_is_false(json_object_get(o, "additionalProperties")));
	assert_json(json_incref(json_object_get(o, "required")), "[\"period\"]");
	json_decref(o);
}

/* 0 where 1 is the least means that the key was not given. */
TEST(object__default_that_no_file_may_have__is_none)
{
	static const struct thing defaults = { .permille = 1001 };
	json_t *o = schema_object(&(struct conf_table){ keys, &defaults }, says);
	static const char *const none[] = { "count", "size", "permille", "name" };
	json_t *s;

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		s = property(o, none[i]);
		assert_non_null(s);
		assert_null(json_object_get(s, "default"));
		json_decref(s);
	}
	json_decref(o);
}

TEST(object__keys_in_no_table__are_put_and_dropped)
{
	static const struct conf_key none[] = { { 0 } };
	static const struct conf_list list = { .min = 1, .max = 9 };
	json_t *o = schema_object(&(struct conf_table){ none, NULL }, says);

	o = schema_must(o, "more", schema_list(&list, schema_string(NULL)), says);
	o = schema_put(o, "path", schema_either(schema_words(colours), schema_string("^x")), says);
	o = schema_drop(schema_more(o, &(struct conf_table){ keys, NULL }, says), "name");
	assert_int_equal(json_object_size(json_object_get(o, "properties")), 8);
	assert_json(property(o, "more"),
		    "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1,"
		    "\"maxItems\":9,\"description\":\"A list.\"}");
	assert_json(property(o, "on"), "{\"type\":\"boolean\",\"description\":\"On.\"}");
	assert_json(json_incref(json_object_get(o, "required")), "[\"more\",\"period\"]");
	o = schema_top(o, "things");
	assert_string_equal(json_string_value(json_object_get(o, "title")), "things");
	assert_string_equal(json_string_value(json_object_get(o, "type")), "object");
	json_decref(o);
}

TEST(object__narrowed_key__keeps_the_rest_of_its_schema)
{
	json_t *o = schema_object(&(struct conf_table){ keys, NULL }, says);

	o = schema_narrow(o, "count", json_pack("{s:[i]}", "enum", 8));
	assert_json(property(o, "count"), "{\"type\":\"integer\",\"minimum\":1,\"maximum\":100,"
					  "\"description\":\"How many.\",\"enum\":[8]}");
	assert_null(schema_narrow(o, "no such key", json_object()));
}

TEST(schema__without_memory_for_a_part__is_none)
{
	json_t *o = schema_object(&(struct conf_table){ keys, NULL }, says);

	assert_null(schema_put(o, "more", NULL, says));
	assert_null(schema_more(NULL, &(struct conf_table){ keys, NULL }, says));
	assert_null(schema_must(NULL, "more", NULL, says));
	assert_null(schema_top(NULL, "things"));
	assert_null(schema_drop(NULL, "more"));
	assert_null(schema_narrow(NULL, "more", json_object()));
}
