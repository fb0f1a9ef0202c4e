// SPDX-License-Identifier: GPL-2.0-or-later
/* The JSON files that ship with the policies say what the policies' tables say. */
#include <jansson.h>
#include <string.h>

#include "policies/policies.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

static json_t *load(const char *policy)
{
	const char *top = getenv("srcdir");
	char path[4096];
	json_error_t e;
	json_t *root;

	snprintf(path, sizeof(path), "%s/policies/%s.json", top ? top : ".", policy);
	root = json_load_file(path, JSON_REJECT_DUPLICATES, &e);
	if (!root)
		fail_msg("%s:%d: %s", path, e.line, e.text);
	return root;
}

TEST(file__names_its_policy)
{
	for (size_t i = 0; policies_builtin[i]; i++) {
		json_t *root = load(policies_builtin[i]->name);

		assert_string_equal(json_string_value(json_object_get(root, "policy")),
				    policies_builtin[i]->name);
		assert_true(json_is_object(json_object_get(root, "params")));
		assert_int_equal(json_object_size(root), 2);
		json_decref(root);
	}
}

/* All parameters, each with its default: the file is also the place to look them up. */
TEST(file__gives_every_parameter_its_default)
{
	for (size_t i = 0; policies_builtin[i]; i++) {
		const struct policy_param *p = policies_builtin[i]->params;
		json_t *root = load(policies_builtin[i]->name);
		json_t *params = json_object_get(root, "params");
		size_t n = 0;

		for (; p && p->name; p++, n++) {
			const json_t *v = json_object_get(params, p->name);

			if (!json_is_integer(v))
				fail_msg("%s: no integer %s", policies_builtin[i]->name, p->name);
			assert_int_equal(json_integer_value(v), p->def);
		}
		assert_int_equal(json_object_size(params), n);
		json_decref(root);
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
			snprintf(want, sizeof(want), ".It Cm %s No %llu Pq %llu to %llu\n", p->name,
				 (unsigned long long)p->def, (unsigned long long)p->min,
				 (unsigned long long)p->max);
		}
	}
}
