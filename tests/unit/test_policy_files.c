// SPDX-License-Identifier: GPL-2.0-or-later
/* The JSON files that ship with the policies say what the policies' tables say. */
#include <string.h>

#include "policies/policies.h"
#include "src/util/conf.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

static struct conf_doc load(const char *policy)
{
	const char *top = getenv("srcdir");
	struct conf_error e;
	struct conf_doc d;
	char path[4096];

	snprintf(path, sizeof(path), "%s/policies/%s.json", top ? top : ".", policy);
	if (conf_load(&d, path, &e))
		fail_msg("%s", e.text);
	return d;
}

TEST(file__names_its_policy)
{
	for (size_t i = 0; policies_builtin[i]; i++) {
		struct conf_doc d = load(policies_builtin[i]->name);

		assert_string_equal(json_string_value(json_object_get(d.root, "policy")),
				    policies_builtin[i]->name);
		assert_true(json_is_object(json_object_get(d.root, "params")));
		assert_int_equal(json_object_size(d.root), 2);
		conf_free(&d);
	}
}

/* As a file has it: a word with a unit, or a number where there is none. */
static const char *text_of_number(const struct policy_param *p, uint64_t v)
{
	static char text[3][32];
	static unsigned next;
	char *t = text[next++ % 3];

	conf_text(conf_type_of(p->unit), v, t, sizeof(text[0]));
	return t;
}

/* All parameters, each with its default: the file is also the place to look them up. */
TEST(file__gives_every_parameter_its_default)
{
	for (size_t i = 0; policies_builtin[i]; i++) {
		const struct policy_param *p = policies_builtin[i]->params;
		struct conf_doc d = load(policies_builtin[i]->name);
		json_t *params = json_object_get(d.root, "params");
		size_t n = 0;

		for (; p && p->name; p++, n++) {
			const json_t *v = json_object_get(params, p->name);

			if (json_is_integer(v))
				assert_int_equal(json_integer_value(v), p->def);
			else if (!json_is_string(v))
				fail_msg("%s: no %s", policies_builtin[i]->name, p->name);
			else
				assert_string_equal(json_string_value(v),
						    text_of_number(p, p->def));
			assert_int_equal(json_is_integer(v), conf_type_of(p->unit) == CONF_UINT);
		}
		assert_int_equal(json_object_size(params), n);
		conf_free(&d);
	}
}

static char *text_of(const char *file)
{
	static char text[1 << 17];
	const char *top = getenv("srcdir");
	char path[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", top ? top : ".", file);
	f = fopen(path, "r");
	if (!f)
		fail_msg("%s cannot be read: set srcdir to the top of the sources", path);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	return text;
}

/* Each in the list under its policy's name, with default and range. */
TEST(man_page__gives_every_parameter_its_default_and_range)
{
	const char *page = strstr(text_of("man/resex-policies.7"), ".Sh PARAMETERS");

	assert_non_null(page);
	for (size_t i = 0; policies_builtin[i]; i++) {
		const struct policy_param *p = policies_builtin[i]->params;
		const char *at = page;
		char want[256];

		if (!p || !p->name)
			continue;
		snprintf(want, sizeof(want), ".Ss %s\n", policies_builtin[i]->name);
		for (;; p++) {
			at = strstr(at, want);
			if (!at)
				fail_msg("the page has no (or not here): %s", want);
			if (!p->name)
				break;
			snprintf(want, sizeof(want), ".It Cm %s No %s Pq %s to %s\n", p->name,
				 text_of_number(p, p->def), text_of_number(p, p->min),
				 text_of_number(p, p->max));
		}
	}
}
