// SPDX-License-Identifier: GPL-2.0-or-later
/* conf: what is accepted; all else is refused, with its place and a sentence. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "src/util/conf.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

struct thing {
	bool on;
	uint64_t count;
	char name[9];
	uint32_t colour;
	int64_t period;
	uint64_t rate, size;
	uint64_t percent, permille, mpct, ns;
	uint8_t guard[16];
};

static const char *const colours[] = { "red", "green", "blue", NULL };

static const struct conf_key keys[] = {
	{ "on", CONF_BOOL, offsetof(struct thing, on), 0, 0, NULL, 0 },
	{ "count", CONF_UINT, offsetof(struct thing, count), 1, 100, NULL, 0 },
	{ "name", CONF_STRING, offsetof(struct thing, name), 1, 8, NULL, 0 },
	{ "colour", CONF_ENUM, offsetof(struct thing, colour), 0, 0, colours, 0 },
	{ "period", CONF_DURATION, offsetof(struct thing, period), 1000000, 1000000000, NULL, 0 },
	{ "rate", CONF_RATE, offsetof(struct thing, rate), 1, 1ULL << 40, NULL, 0 },
	{ "size", CONF_SIZE, offsetof(struct thing, size), 1, 16 << 20, NULL, 0 },
	{ "percent", CONF_PERCENT, offsetof(struct thing, percent), 1, 400, NULL, 0 },
	{ "permille", CONF_PERMILLE, offsetof(struct thing, permille), 0, 1000, NULL, 0 },
	{ "mpct", CONF_MPCT, offsetof(struct thing, mpct), 1000, 100000, NULL, 0 },
	{ "ns", CONF_NS, offsetof(struct thing, ns), 100000, 1000000000, NULL, 0 },
	{ NULL, CONF_BOOL, 0, 0, 0, NULL, 0 },
};

static struct thing untouched(void)
{
	struct thing t;

	memset(&t, 0x5a, sizeof(t));
	return t;
}

/* Parse text and bind its root to *out. */
static int bind_text(const char *text, size_t len, struct thing *out, struct conf_error *e)
{
	struct conf_doc d;
	int rc = conf_parse(&d, "t.json", text, len, e);

	if (!rc)
		rc = conf_bind(&d, "", d.root, keys, NULL, out, e);
	conf_free(&d);
	return rc;
}

static struct thing bound(const char *text)
{
	struct thing t = untouched();
	struct conf_error e;

	memset(&e, 0, sizeof(e));
	if (bind_text(text, strlen(text), &t, &e))
		fail_msg("%s: refused: %s", text, e.text);
	return t;
}

TEST(bind__every_type__is_taken)
{
	struct thing t = bound(
		"{ \"on\": true, \"count\": 7, \"name\": \"ib0\",\n"
		"  \"colour\": \"blue\", \"period\": \"10ms\", \"rate\": \"1GiB/s\" }");

	assert_true(t.on);
	assert_int_equal(t.count, 7);
	assert_string_equal(t.name, "ib0");
	assert_int_equal(t.colour, 2);
	assert_int_equal(t.period, 10000000);
	assert_int_equal(t.rate, 1u << 30);
	for (size_t i = 0; i < sizeof(t.guard); i++)
		assert_int_equal(t.guard[i], 0x5a);
}

TEST(bind__keys_absent__keep_what_was_there)
{
	struct thing want = untouched(), t = bound("{}");

	assert_memory_equal(&t, &want, sizeof(t));
	t = bound("{\"count\": 1}");
	want.count = 1;
	assert_memory_equal(&t, &want, sizeof(t));
}

TEST(bind__edges_of_ranges__are_taken)
{
	assert_int_equal(bound("{\"count\":1}").count, 1);
	assert_int_equal(bound("{\"count\":100}").count, 100);
	assert_string_equal(bound("{\"name\":\"a\"}").name, "a");
	assert_string_equal(bound("{\"name\":\"12345678\"}").name, "12345678");
	assert_int_equal(bound("{\"period\":\"1ms\"}").period, 1000000);
	assert_int_equal(bound("{\"period\":\"1s\"}").period, 1000000000);
	assert_int_equal(bound("{\"rate\":1}").rate, 1);
	assert_int_equal(bound("{\"rate\":1099511627776}").rate, 1ULL << 40);
	assert_int_equal(bound("{\"colour\":\"red\"}").colour, 0);
	assert_false(bound("{\"on\":false}").on);
}

TEST(bind__durations_rates_and_sizes__in_every_unit)
{
	static const struct {
		const char *text;
		uint64_t want;
	} periods[] = {
		{ "1000000ns", 1000000 }, { "1500us", 1500000 }, { "999ms", 999000000 },
		{ "1s", 1000000000 },	  { "0001s", 1000000000 },
	}, sizes[] = {
		{ "7B", 7 }, { "7kB", 7000 }, { "7KiB", 7168 }, { "7MB", 7000000 },
		{ "7MiB", 7340032 },
	}, rates[] = {
		{ "7B/s", 7 }, { "7kB/s", 7000 }, { "7MB/s", 7000000 }, { "7GB/s", 7000000000 },
		{ "1TB/s", 1000000000000 }, { "7KiB/s", 7168 }, { "7MiB/s", 7340032 },
		{ "7GiB/s", 7516192768 }, { "1TiB/s", 1ULL << 40 }, { "8bit/s", 1 },
		{ "8kbit/s", 1000 }, { "10Mbit/s", 1250000 }, { "10Gbit/s", 1250000000 },
		{ "8Tbit/s", 1000000000000 },
	};
	char text[100];

	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		snprintf(text, sizeof(text), "{\"period\":\"%s\"}", periods[i].text);
		assert_int_equal(bound(text).period, periods[i].want);
	}
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		snprintf(text, sizeof(text), "{\"rate\":\"%s\"}", rates[i].text);
		assert_int_equal(bound(text).rate, rates[i].want);
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		snprintf(text, sizeof(text), "{\"size\":\"%s\"}", sizes[i].text);
		assert_int_equal(bound(text).size, sizes[i].want);
	}
	assert_int_equal(bound("{\"size\": 4096}").size, 4096);
}

TEST(bind__percentages__with_a_sign_or_as_a_number_of_the_unit)
{
	assert_int_equal(bound("{\"percent\": 35}").percent, 35);
	assert_int_equal(bound("{\"percent\": \"35%\"}").percent, 35);
	assert_int_equal(bound("{\"percent\": \"35 %\"}").percent, 35);
	assert_int_equal(bound("{\"percent\": \"400%\"}").percent, 400);
	assert_int_equal(bound("{\"permille\": 50}").permille, 50);
	assert_int_equal(bound("{\"permille\": \"5%\"}").permille, 50);
	assert_int_equal(bound("{\"permille\": \"5.0 %\"}").permille, 50);
	assert_int_equal(bound("{\"permille\": \"0.1%\"}").permille, 1);
	assert_int_equal(bound("{\"permille\": \"100%\"}").permille, 1000);
	assert_int_equal(bound("{\"permille\": \"0%\"}").permille, 0);
	assert_int_equal(bound("{\"mpct\": 1000}").mpct, 1000);
	assert_int_equal(bound("{\"mpct\": \"1%\"}").mpct, 1000);
	assert_int_equal(bound("{\"mpct\": \"2.5%\"}").mpct, 2500);
	assert_int_equal(bound("{\"mpct\": \"99.999%\"}").mpct, 99999);
	assert_int_equal(bound("{\"ns\": 100000}").ns, 100000);
	assert_int_equal(bound("{\"ns\": \"10ms\"}").ns, 10000000);
}

TEST(text__of_a_number__is_what_a_file_may_have)
{
	static const struct {
		enum conf_type type;
		uint64_t v;
		const char *text;
	} rows[] = {
		{ CONF_NS, 0, "0s" },
		{ CONF_NS, 10000000, "10ms" },
		{ CONF_NS, 1500000, "1500us" },
		{ CONF_DURATION, 1000000000, "1s" },
		{ CONF_SIZE, 0, "0" },
		{ CONF_SIZE, 65536, "64KiB" },
		{ CONF_SIZE, 1 << 30, "1GiB" },
		{ CONF_SIZE, 65537, "65537B" },
		{ CONF_RATE, 1250000000, "1250MB/s" },
		{ CONF_RATE, 0, "0" },
		{ CONF_PERCENT, 35, "35%" },
		{ CONF_PERMILLE, 50, "5%" },
		{ CONF_PERMILLE, 25, "2.5%" },
		{ CONF_PERMILLE, 1, "0.1%" },
		{ CONF_PERMILLE, 3000, "300%" },
		{ CONF_MPCT, 1000, "1%" },
		{ CONF_MPCT, 12345, "12.345%" },
		{ CONF_MPCT, 12050, "12.05%" },
		{ CONF_MPCT, 7, "0.007%" },
		{ CONF_UINT, 128, "128" },
		{ CONF_MPCT, UINT64_MAX, "18446744073709551.615%" },
	};
	char text[32];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct conf_key k = { .type = rows[i].type, .max = UINT64_MAX };
		json_t *v;
		uint64_t u = ~rows[i].v;
		char want[256];

		conf_text(rows[i].type, rows[i].v, text, sizeof(text));
		assert_string_equal(text, rows[i].text);
		v = strspn(text, "0123456789") == strlen(text) ? json_integer((json_int_t)rows[i].v)
							       : json_string(text);
		assert_int_equal(conf_number(&k, v, &u, want, sizeof(want)), 0);
		assert_int_equal(u, rows[i].v);
		json_decref(v);
	}
}

TEST(type__of_a_unit)
{
	assert_int_equal(conf_type_of("ns"), CONF_NS);
	assert_int_equal(conf_type_of("bytes"), CONF_SIZE);
	assert_int_equal(conf_type_of("permille"), CONF_PERMILLE);
	assert_int_equal(conf_type_of("mpct"), CONF_MPCT);
	assert_int_equal(conf_type_of("-"), CONF_UINT);
}

/* What is refused: the place of the error, and what its sentence must hold. */
struct wrong {
	const char *text;
	int line, column;
	const char *parts[3]; /* the value, the range or the remedy */
};

static void assert_refused(const struct wrong *w)
{
	struct thing t = untouched(), before = t;
	struct conf_error e;
	char place[64];

	memset(&e, 0, sizeof(e));
	assert_int_equal(bind_text(w->text, strlen(w->text), &t, &e), -EINVAL);
	assert_memory_equal(&t, &before, sizeof(t));
	snprintf(place, sizeof(place), "t.json:%d:%d: ", e.line, e.column);
	if (e.line != w->line || e.column != w->column || strncmp(e.text, place, strlen(place)))
		fail_msg("%s: said '%s' (%d:%d), not %d:%d", w->text, e.text, e.line, e.column,
			 w->line, w->column);
	for (size_t i = 0; i < 3 && w->parts[i]; i++)
		if (!strstr(e.text, w->parts[i]))
			fail_msg("%s: said '%s', without '%s'", w->text, e.text, w->parts[i]);
	assert_null(strchr(e.text, '\n'));
	assert_true(strlen(e.text) < CONF_ERROR_MAX);
}

TEST(bind__percentages__nothing_is_rounded_or_guessed)
{
	static const struct wrong rows[] = {
		{ "{\"percent\": \"35\"}", 1, 13, { "35", "\"10%\"", "1 to 400" } },
		{ "{\"percent\": \"0%\"}", 1, 13, { "from 1% to 400%" } },
		{ "{\"percent\": \"401%\"}", 1, 13, { "401%" } },
		{ "{\"percent\": \"2.5%\"}", 1, 13, { "2.5%" } },
		{ "{\"permille\": \"2.55%\"}", 1, 14, { "2.55%", "1/1000)" } },
		{ "{\"permille\": \"100.1%\"}", 1, 14, { "from 0% to 100%" } },
		{ "{\"permille\": \"5  %\"}", 1, 14, { "5  %" } },
		{ "{\"permille\": \" 5%\"}", 1, 14, { " 5%" } },
		{ "{\"permille\": \"-5%\"}", 1, 14, { "-5%" } },
		{ "{\"permille\": \"5%%\"}", 1, 14, { "5%%" } },
		{ "{\"permille\": \"%\"}", 1, 14, { "%" } },
		{ "{\"permille\": \".5%\"}", 1, 14, { ".5%" } },
		{ "{\"permille\": \"5.%\"}", 1, 14, { "5.%" } },
		{ "{\"permille\": \"1.2.3%\"}", 1, 14, { "1.2.3%" } },
		{ "{\"permille\": \"5 percent\"}", 1, 14, { "5 percent" } },
		{ "{\"permille\": 1001}", 1, 14, { "1001", "0 to 1000" } },
		{ "{\"permille\": 5.0}", 1, 14, { "5.0" } },
		{ "{\"permille\": \"1844674407370955161.7%\"}",
		  1,
		  14,
		  { "1844674407370955161.7%" } },
		{ "{\"mpct\": \"18446744073709552%\"}", 1, 10, { "18446744073709552%" } },
		{ "{\"mpct\": \"1.0001%\"}",
		  1,
		  10,
		  { "from 1% to 100%", "1000 to 100000", "percent)" } },
		{ "{\"ns\": \"10\"}", 1, 8, { "\"10ms\", from 100us to 1s", "number of ns" } },
		{ "{\"ns\": 99999}", 1, 8, { "99999" } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_refused(&rows[i]);
}

TEST(bind__wrong_value__is_named_with_place_and_remedy)
{
	static const struct wrong rows[] = {
		{ "{\"count\": 0}", 1, 11, { "count", "0", "1" } },
		{ "{\n\t\"count\": 101\n}", 2, 11, { "count", "101", "100" } },
		{ "{\"count\": -1}", 1, 11, { "count", "-1", "100" } },
		{ "{\"count\": 1.5}", 1, 11, { "count", "1.5" } },
		{ "{\"count\": \"7\"}", 1, 11, { "count", "7" } },
		{ "{\"count\": true}", 1, 11, { "count", "true" } },
		{ "{\"count\": null}", 1, 11, { "count", "null" } },
		{ "{\"count\": [1]}", 1, 11, { "count" } },
		{ "{\"count\": {}}", 1, 11, { "count" } },
		{ "{\"count\": 9223372036854775807}", 1, 11, { "9223372036854775807", "100" } },
		{ "{\"on\": 1}", 1, 8, { "on", "1", "true" } },
		{ "{\"on\": \"yes\"}", 1, 8, { "on", "yes", "false" } },
		{ "{\"name\": \"\"}", 1, 10, { "name", "1", "8" } },
		{ "{\"name\": \"123456789\"}", 1, 10, { "name", "123456789", "8" } },
		{ "{\"name\": 5}", 1, 10, { "name", "5", "string" } },
		{ "{\"name\": \"a\\nb\"}", 1, 10, { "name", "control" } },
		{ "{\"name\": \"a\\u007fb\"}", 1, 10, { "name", "control" } },
		{ "{\"colour\": \"pink\"}", 1, 12, { "pink", "red", "blue" } },
		{ "{\"colour\": \"Red\"}", 1, 12, { "Red", "red" } },
		{ "{\"colour\": 1}", 1, 12, { "colour", "1", "green" } },
		{ "{\"period\": \"10\"}", 1, 12, { "period", "10", "ms" } },
		{ "{\"period\": 10}", 1, 12, { "period", "10", "ms" } },
		{ "{\"period\": \"10 ms\"}", 1, 12, { "10 ms" } },
		{ "{\"period\": \"ms\"}", 1, 12, { "ms" } },
		{ "{\"period\": \"\"}", 1, 12, { "period" } },
		{ "{\"period\": \"-10ms\"}", 1, 12, { "-10ms" } },
		{ "{\"period\": \"1.5ms\"}", 1, 12, { "1.5ms" } },
		{ "{\"period\": \"10min\"}", 1, 12, { "10min" } },
		{ "{\"period\": \"10msx\"}", 1, 12, { "10msx" } },
		{ "{\"period\": \"999us\"}", 1, 12, { "999us", "1ms", "1s" } },
		{ "{\"period\": \"2s\"}", 1, 12, { "2s", "1s" } },
		{ "{\"period\": \"18446744073709551617ns\"}", 1, 12, { "18446744073709551617ns" } },
		{ "{\"period\": \"18446744074s\"}", 1, 12, { "18446744074s" } },
		{ "{\"rate\": 0}", 1, 10, { "rate", "0" } },
		{ "{\"size\": \"1GiB\"}", 1, 10, { "size", "64KiB", "16MiB" } },
		{ "{\"size\": \"64K\"}", 1, 10, { "64K" } },
		{ "{\"size\": \"1KiB/s\"}", 1, 10, { "1KiB/s" } },
		{ "{\"rate\": \"10GiB\"}", 1, 10, { "10GiB" } },
		{ "{\"rate\": \"10gbit/s\"}", 1, 10, { "10gbit/s" } },
		{ "{\"rate\": \"10Gibit/s\"}", 1, 10, { "10Gibit/s" } },
		{ "{\"rate\": \"7bit/s\"}", 1, 10, { "7bit/s" } },
		{ "{\"rate\": \"2TiB/s\"}", 1, 10, { "2TiB/s" } },
		{ "{\"rate\": \"16777216TiB/s\"}", 1, 10, { "16777216TiB/s" } },
		{ "{\"rate\": \"99999999999999999999B/s\"}", 1, 10, { "99999999999999999999B/s" } },
		{ "{\"rate\": -1}", 1, 10, { "-1" } },
		{ "[]", 1, 1, { "object" } },
		{ "{\"count\": 7,\n \"on\": true,\n  \"period\":   \"5h\"}", 3, 15, { "5h" } },
		/* Columns are characters, not bytes; strings do not confuse the place. */
		{ "{\"name\": \"\xc3\xa9\xc3\xa9\", \"count\": 0}", 1, 25, { "count" } },
		{ "{\"name\": \"\\\"x:{\", \"count\": 0}", 1, 28, { "count" } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_refused(&rows[i]);
}

TEST(bind__unknown_key__is_named)
{
	static const struct wrong rows[] = {
		{ "{\"cuont\": 7}", 1, 2, { "cuont", "count" } },
		{ "{\"count\": 0, \"cuont\": 7}", 1, 14, { "cuont" } }, /* unknown keys first */
		{ "{\"a.b[0]\": 1}", 1, 2, { "a.b[0]" } },
		{ "{\"\": 7}", 1, 1, { "\"\"", "count" } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_refused(&rows[i]);
}

TEST(bind__key_missing__is_named)
{
	static const struct conf_key must[] = {
		{ "on", CONF_BOOL, offsetof(struct thing, on), 0, 0, NULL, 0 },
		{ "count", CONF_UINT, offsetof(struct thing, count), 1, 100, NULL, 1 },
		{ NULL, CONF_BOOL, 0, 0, 0, NULL, 0 },
	};
	const char text[] = "{\"links\": [{\"count\": 1},\n {\"on\": true}]}";
	struct thing t = untouched(), before = t;
	struct conf_error e;
	struct conf_doc d;
	const json_t *links;

	assert_int_equal(conf_parse(&d, "t.json", text, sizeof(text) - 1, &e), 0);
	links = json_object_get(d.root, "links");
	assert_int_equal(conf_bind(&d, "links[0]", json_array_get(links, 0), must, NULL, &t, &e),
			 0);
	t = before;
	assert_int_equal(conf_bind(&d, "links[1]", json_array_get(links, 1), must, NULL, &t, &e),
			 -EINVAL);
	assert_memory_equal(&t, &before, sizeof(t));
	assert_int_equal(e.line, 2);
	assert_int_equal(e.column, 2);
	assert_non_null(strstr(e.text, "count"));
	conf_free(&d);
}

TEST(bind__key_of_the_callers__is_let_pass)
{
	static const char *const also[] = { "links", NULL };
	const char text[] = "{\"links\": [], \"count\": 3}";
	struct thing t = untouched();
	struct conf_error e;
	struct conf_doc d;

	assert_int_equal(conf_parse(&d, "t.json", text, sizeof(text) - 1, &e), 0);
	assert_int_equal(conf_bind(&d, "", d.root, keys, also, &t, &e), 0);
	assert_int_equal(t.count, 3);
	assert_int_equal(conf_bind(&d, "", d.root, keys, NULL, &t, &e), -EINVAL);
	conf_free(&d);
}

TEST(parse__not_json__says_where)
{
	static const struct wrong rows[] = {
		{ "{\"count\": }", 1, 11, { NULL } },
		{ "{\n\n\"count\" 7}", 3, 9, { NULL } },
		{ "{\"count\": 7} x", 1, 14, { NULL } },
		{ "{\"count\": 7, \"count\": 8}", 1, 20, { "count" } },
	};
	struct conf_error e;
	struct thing t;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct wrong *w = &rows[i];

		assert_int_equal(bind_text(w->text, strlen(w->text), &t, &e), -EINVAL);
		if (e.line != w->line || e.column < w->column - 1 || e.column > w->column + 1)
			fail_msg("%s: said %s", w->text, e.text);
		if (w->parts[0])
			assert_non_null(strstr(e.text, w->parts[0]));
	}
	assert_int_equal(bind_text("", 0, &t, &e), -EINVAL);
	assert_int_equal(bind_text("   ", 3, &t, &e), -EINVAL);
	assert_int_equal(bind_text("{\"count\": 7\0}", 13, &t, &e), -EINVAL);
	assert_int_equal(bind_text("{\"name\": \"\xff\"}", 13, &t, &e), -EINVAL);
	assert_int_equal(bind_text("{\"name\": \"\\u0000\"}", 18, &t, &e), -EINVAL);
	assert_null(strchr(e.text, '\n'));
}

/* --- comments ---------------------------------------------------------------------- */

TEST(comments__are_left_out)
{
	static const char *const rows[] = {
		"// first\n{\"count\": 7}",
		"# first\n{\"count\": 7}",
		" \t\r# a blank before it\n{\"count\": 7}",
		"{\"count\": 7} // last, without a newline",
		"{\"count\": 7}\n#",
		"{\"count\": 7}//",
		"{ // \"count\": 6,\n\"count\": 7 }",
		"{\n#\"count\": 6,\n\"count\":// the value\n\t# is\n 7\n}",
		"{\"count\": 7, // /* \" [ { # \n\"on\": true}",
		"{\"count\": 7 // \xff\xfe are no UTF-8\r\n}",
		"{\"count\": 7 // \\\n}",
	};
	struct conf_error e;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct thing t = untouched();

		if (bind_text(rows[i], strlen(rows[i]), &t, &e))
			fail_msg("%s: refused: %s", rows[i], e.text);
		assert_int_equal(t.count, 7);
	}
}

TEST(comments__in_strings__are_text)
{
	assert_string_equal(bound("{\"name\": \"a//b\"}").name, "a//b");
	assert_string_equal(bound("{\"name\": \"#a\"}").name, "#a");
	assert_string_equal(bound("{\"name\":\n\"#a\"}").name, "#a");
	assert_string_equal(bound("{\"name\": \"\\\"//\"}").name, "\"//");
	assert_string_equal(bound("{\"name\": \"\\\\\" //\"\n}").name, "\\");
	assert_string_equal(bound("{\"name\": \"http://x\" // y\n}").name, "http://x");
}

TEST(comments__places_of_errors__are_those_of_the_file)
{
	static const struct wrong rows[] = {
		{ "// \xc3\xa9\n{\"count\": 0}", 2, 11, { "count", "0" } },
		{ "{ // a { b [ \"c\n# count\n  \"count\": 101 // d\n}", 3, 12, { "101" } },
		{ "{\"on\": true, // e\n \"cuont\": 7}", 2, 2, { "cuont" } },
		{ "{\"on\": // f\n 1}", 2, 2, { "on", "1" } },
		{ "# g\n[]", 2, 1, { "object" } },
		{ "{\n}\n\n # h\n x", 5, 2, { "not valid JSON" } },
		{ "{\"count\": 7, // i\n\"count\": 8}", 2, 7, { "count", "once" } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_refused(&rows[i]);
}

TEST(comments__of_other_languages__are_errors)
{
	static const char *const rows[] = {
		"{\"count\": 7} /* c */",
		"{\"count\": 7} # not at the beginning",
		"{\"count\": 7} /",
		"{\"count\": / 7}",
		"{\"name\": \"a // no end\n}",
		"// nothing else",
		"{\"name\": \"a\n# no end\"}",
		"{\"count\": 7}; comment",
	};
	struct conf_error e;
	struct thing t;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (bind_text(rows[i], strlen(rows[i]), &t, &e) != -EINVAL)
			fail_msg("%s: was taken", rows[i]);
	/* A NUL hides nothing. */
	assert_int_equal(bind_text("{} // \0\n", 9, &t, &e), -EINVAL);
	assert_non_null(strstr(e.text, "1:7: not valid JSON, this is a NUL"));
}

/* A text that is no file comes from a program, which has nothing to comment. */
TEST(comments__in_a_text_that_is_no_file__are_errors)
{
	static const char text[] = "{} // x\n";
	struct conf_error e;
	struct conf_doc d;

	assert_int_equal(conf_parse(&d, "t", text, sizeof(text) - 1, &e), 0);
	assert_string_equal(d.text, "{} \n");
	assert_int_equal(d.len, 4);
	conf_free(&d);
	assert_int_equal(conf_parse_long(&d, "t", text, sizeof(text) - 1, 100, &e), -EINVAL);
	assert_null(d.root);
}

/* depth arrays around a 1, as the value of "x". */
static int parse_nested(int depth)
{
	static char text[4096];
	struct conf_error e;
	struct conf_doc d;
	int rc;

	memset(text, 0, sizeof(text));
	memset(text, '[', (size_t)depth);
	text[depth] = '1';
	memset(text + depth + 1, ']', (size_t)depth);
	rc = conf_parse(&d, "t.json", text, strlen(text), &e);
	conf_free(&d);
	return rc;
}

TEST(parse__nested_too_deep__is_refused)
{
	assert_int_equal(parse_nested(32), 0);
	assert_int_equal(parse_nested(33), -EINVAL);
	assert_int_equal(parse_nested(2000), -EINVAL);
}

TEST(parse__over_a_mebibyte__is_too_big)
{
	char *text = malloc(CONF_BYTES_MAX + 1);
	struct conf_error e;
	struct conf_doc d;

	assert_non_null(text);
	memset(text, ' ', CONF_BYTES_MAX + 1);
	memcpy(text, "{}", 2);
	assert_int_equal(conf_parse(&d, "t.json", text, CONF_BYTES_MAX, &e), 0);
	conf_free(&d);
	assert_int_equal(conf_parse(&d, "t.json", text, CONF_BYTES_MAX + 1, &e), -EFBIG);
	assert_int_equal(e.line, 0);
	assert_true(strncmp(e.text, "t.json: ", 8) == 0);
	conf_free(&d);
	free(text);
}

TEST(parse__error__leaves_an_empty_document)
{
	struct conf_error e;
	struct conf_doc d;

	memset(&d, 0x5a, sizeof(d));
	assert_int_equal(conf_parse(&d, "t.json", "{", 1, &e), -EINVAL);
	assert_null(d.root);
	conf_free(&d);
	conf_free(&d);
}

TEST(fail__place_of_any_path)
{
	static const struct {
		const char *path;
		int line, column;
	} rows[] = {
		{ "", 1, 1 },
		{ "links", 2, 12 },
		{ "links[0]", 2, 13 },
		{ "links[0].rate", 2, 22 },
		{ "links[1]", 3, 4 },
		{ "links[1].a", 3, 10 },
		{ "links[1].a[2]", 3, 17 },
		{ "links[1].a[2].b", 3, 23 },
		{ "name", 4, 11 },
		/* it does not exist: the longest part that does */
		{ "links[2]", 2, 12 },
		{ "links[0].none", 2, 13 },
		{ "none", 1, 1 },
		{ "none[3].x", 1, 1 },
	};
	const char text[] = "{\n"
			    "  \"links\": [{\"rate\": 7},\n"
			    "   {\"a\": [0, 1, {\"b\": 2}]}],\n"
			    "  \"name\": \"]},{[\"\n"
			    "}\n";
	struct conf_error e;
	struct conf_doc d;

	assert_int_equal(conf_parse(&d, "x.json", text, sizeof(text) - 1, &e), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char want[100];

		assert_int_equal(conf_fail(&d, rows[i].path, &e, "no %s, take %d", "way", 7),
				 -EINVAL);
		snprintf(want, sizeof(want), "x.json:%d:%d: ", rows[i].line, rows[i].column);
		if (strncmp(e.text, want, strlen(want)))
			fail_msg("'%s': said '%s', not %s", rows[i].path, e.text, want);
		assert_non_null(strstr(e.text, "no way, take 7"));
		assert_int_equal(e.line, rows[i].line);
		assert_int_equal(e.column, rows[i].column);
	}
	conf_free(&d);
}

/* --- lists ----------------------------------------------------------------------- */

/* Elements that were read: each must be a number, and 13 is refused. */
struct numbers {
	size_t n;
	json_int_t v[4];
	char path[4][32];
};

static int read_number(void *to, const struct conf_doc *d, const char *path, const json_t *v,
		       struct conf_error *e)
{
	struct numbers *all = to;

	if (json_integer_value(v) == 13)
		return conf_fail(d, path, e, "13 is refused");
	assert_true(all->n < 4);
	snprintf(all->path[all->n], sizeof(all->path[0]), "%s", path);
	all->v[all->n++] = json_integer_value(v);
	return 0;
}

/* Read the list "v" of the object at path of text. */
static int read_list(const char *text, const char *path, size_t min, struct numbers *all,
		     struct conf_error *e)
{
	const struct conf_list l = {
		.key = "v",
		.min = min,
		.max = 3,
		.what = "numbers",
		.example = "[1]",
		.read = read_number,
	};
	struct conf_doc d;
	int rc;

	*all = (struct numbers){ 0 };
	assert_int_equal(conf_parse(&d, "t.json", text, strlen(text), e), 0);
	rc = conf_read_list(&d, path, *path ? json_object_get(d.root, path) : d.root, &l, all, e);
	conf_free(&d);
	return rc;
}

TEST(list__each_element__is_read_in_order_with_its_path)
{
	struct conf_error e = { 0 };
	struct numbers all;

	assert_int_equal(read_list("{\"v\": [7, 8, 9]}", "", 1, &all, &e), 0);
	assert_int_equal(all.n, 3);
	assert_int_equal(all.v[0], 7);
	assert_int_equal(all.v[2], 9);
	assert_string_equal(all.path[2], "v[2]");
	assert_int_equal(read_list("{\"a\": {\"v\": [7]}}", "a", 1, &all, &e), 0);
	assert_string_equal(all.path[0], "a.v[0]");
	assert_int_equal(read_list("{}", "", 0, &all, &e), 0);
	assert_int_equal(read_list("{\"v\": []}", "", 0, &all, &e), 0);
	assert_int_equal(all.n, 0);
}

TEST(list__wrong__is_refused_at_its_place)
{
	static const struct {
		const char *text;
		size_t min;
		const char *error;
	} rows[] = {
		{ "{}", 1, "t.json:1:1: v: give a list of 1 to 3 numbers, such as [1]" },
		{ "{ \"v\": [] }", 1, "t.json:1:8: v: give a list of 1 to 3 numbers, such as [1]" },
		{ "{ \"v\": {} }", 0,
		  "t.json:1:8: v: give a list of at most 3 numbers, such as [1]" },
		{ "{ \"v\": [1, 2, 3, 4] }", 0,
		  "t.json:1:8: v: give a list of at most 3 numbers, such as [1]" },
		{ "{ \"v\": [1, 13, 2] }", 0, "t.json:1:12: 13 is refused" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct conf_error e = { 0 };
		struct numbers all;

		assert_int_equal(read_list(rows[i].text, "", rows[i].min, &all, &e), -EINVAL);
		assert_string_equal(e.text, rows[i].error);
		assert_int_equal(all.n, strstr(rows[i].text, "13") ? 1 : 0);
	}
}

TEST(fail_key__place_is_that_of_the_value_or_of_the_object)
{
	static const char text[] = "{ \"a\": { \"b.c\": { \"d\": 1 } } }";
	struct conf_error e;
	struct conf_doc d;

	assert_int_equal(conf_parse(&d, "t.json", text, strlen(text), &e), 0);
	assert_int_equal(conf_fail_key(&d, "a.b.c", "d", &e, "x is %d", 7), -EINVAL);
	assert_string_equal(e.text, "t.json:1:24: x is 7");
	assert_int_equal(e.exit, RESEX_BAD_CONFIG);
	conf_fail_key(&d, "a.b.c", "e", &e, "missing");
	assert_string_equal(e.text, "t.json:1:17: missing");
	conf_fail_key(&d, "", "a", &e, "at the root");
	assert_string_equal(e.text, "t.json:1:8: at the root");
	conf_free(&d);
}

TEST(fail__very_long_values__are_cut_and_terminated)
{
	static char text[8192], value[4000];
	struct conf_error e;
	struct thing t;

	memset(value, 'y', sizeof(value) - 1);
	snprintf(text, sizeof(text), "{\"colour\": \"%s\", \"name\": \"x\"}", value);
	memset(&e, 0x5a, sizeof(e));
	assert_int_equal(bind_text(text, strlen(text), &t, &e), -EINVAL);
	assert_non_null(memchr(e.text, '\0', sizeof(e.text)));
	assert_int_equal(e.column, 12);
	snprintf(text, sizeof(text), "{\"%s\": 1}", value);
	assert_int_equal(bind_text(text, strlen(text), &t, &e), -EINVAL);
	assert_non_null(memchr(e.text, '\0', sizeof(e.text)));
}

TEST(load__from_a_file)
{
	char name[] = "test_conf_XXXXXX";
	int fd = mkstemp(name);
	struct conf_error e;
	struct conf_doc d;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "{\"count\": 7}\n", 13), 13);
	assert_int_equal(conf_load(&d, name, &e), 0);
	assert_int_equal(json_integer_value(json_object_get(d.root, "count")), 7);
	conf_free(&d);
	assert_int_equal(ftruncate(fd, CONF_BYTES_MAX + 1), 0);
	assert_int_equal(conf_load(&d, name, &e), -EFBIG);
	assert_int_equal(e.exit, RESEX_BAD_CONFIG);
	assert_non_null(strstr(e.text, name));
	close(fd);
	unlink(name);
	assert_int_equal(conf_load(&d, name, &e), -ENOENT);
	assert_int_equal(e.exit, RESEX_BAD_CONFIG);
	assert_int_equal(e.line, 0);
	assert_true(strncmp(e.text, name, strlen(name)) == 0);
	assert_int_equal(conf_load(&d, ".", &e), -EINVAL);
	assert_int_equal(conf_load(&d, "/dev/zero", &e), -EINVAL);
}

TEST(exit_code__of_an_errno__tells_what_the_operator_must_mend)
{
	assert_int_equal(conf_exit(-EINVAL), RESEX_BAD_CONFIG);
	assert_int_equal(conf_exit(-ENOENT), RESEX_BAD_CONFIG);
	assert_int_equal(conf_exit(-EACCES), RESEX_PERMISSION);
	assert_int_equal(conf_exit(-EPERM), RESEX_PERMISSION);
	assert_int_equal(conf_exit(-EADDRINUSE), RESEX_RUNNING);
	assert_int_equal(conf_exit(-EIO), RESEX_FAILURE);
	assert_int_equal(conf_exit(-ENOMEM), RESEX_FAILURE);
}

/* A fifo has no writer here: reading it must not hang. */
TEST(load__from_a_fifo__is_refused_at_once)
{
	char name[64];
	struct conf_error e;
	struct conf_doc d;

	snprintf(name, sizeof(name), "test_conf_fifo_%d", (int)getpid());
	assert_int_equal(mkfifo(name, 0600), 0);
	alarm(20);
	assert_int_equal(conf_load(&d, name, &e), -EINVAL);
	alarm(0);
	unlink(name);
}
