// SPDX-License-Identifier: GPL-2.0-or-later
/* The JSON files that ship with the policies say what the policies' tables say. */
#include <jansson.h>
#include <string.h>

#include "resex/policy.h"
#include "tests/unit/prop.h"

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

static void file__names_its_policy(void **state)
{
	(void)state;
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
static void file__gives_every_parameter_its_default(void **state)
{
	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file__names_its_policy),
		cmocka_unit_test(file__gives_every_parameter_its_default),
	};

	return cmocka_run_group_tests_name("policy_files", tests, NULL, NULL);
}
