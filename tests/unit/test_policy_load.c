// SPDX-License-Identifier: GPL-2.0-or-later
/* policy_load: policies by name and from files, their parameters and what is refused. */
#include "src/conf/policy.h"

#include "tests/unit/examples.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

static int setup(void **state)
{
	struct tmpdir *d = malloc(sizeof(*d));

	if (!d)
		return -1;
	tmp_open(d);
	*state = d;
	return 0;
}

static int teardown(void **state)
{
	tmp_close(*state);
	free(*state);
	return 0;
}

static uint64_t param(const struct policy_inst *pi, const char *name)
{
	for (const struct policy_param *p = pi->ops->params; p && p->name; p++)
		if (!strcmp(p->name, name))
			return policy_param_get(pi, p);
	fail_msg("no parameter %s", name);
	return 0;
}

static struct policy_inst *load(struct tmpdir *d, const char *name, const char *text)
{
	struct policy_inst *pi = NULL;
	struct conf_error e = { 0 };

	tmp_write(d, "p.json", text);
	if (policy_load(&pi, NULL, name, tmp_at(d, "p.json"), &e))
		fail_msg("%s", e.text);
	return pi;
}

/* --- by name ------------------------------------------------------------------- */

RIG_TEST(by_name__each_built_in__has_its_defaults_and_zeroed_state)
{
	for (size_t i = 0; policies_builtin[i]; i++) {
		const struct policy_ops *ops = policies_builtin[i];
		struct policy_inst *pi = NULL;
		struct conf_error e = { 0 };

		assert_int_equal(policy_load(&pi, NULL, ops->name, "", &e), 0);
		assert_ptr_equal(pi->ops, ops);
		for (const struct policy_param *p = ops->params; p && p->name; p++)
			assert_int_equal(policy_param_get(pi, p), p->def);
		for (size_t k = 0; k < ops->global_size; k++)
			assert_int_equal(((uint8_t *)pi->global)[k], 0);
		for (size_t k = 0; k < ops->guest_size * FLOW_GUESTS_MAX; k++)
			assert_int_equal(((uint8_t *)pi->guests)[k], 0);
		policy_free(pi);
	}
}

RIG_TEST(by_name__no_such_policy__is_said_with_the_remedy)
{
	struct policy_inst *pi = NULL;
	struct conf_error e = { 0 };

	assert_int_equal(policy_load(&pi, NULL, "freemarkt", NULL, &e), -ENOENT);
	assert_int_equal(e.exit, RESEX_NO_POLICY);
	assert_non_null(strstr(e.text, "\"freemarkt\""));
	assert_non_null(strstr(e.text, "use null, freemarket"));
	assert_null(pi);
}

RIG_TEST(free__none__is_fine)
{
	policy_free(NULL);
}

/* --- parameters -------------------------------------------------------------------- */

static int set_json(struct policy_inst *pi, const char *name, json_t *v)
{
	char want[256] = "";
	int rc = policy_param_set(pi, name, v, want, sizeof(want));

	assert_int_equal(!want[0], rc != -ERANGE && rc != -EINVAL);
	json_decref(v);
	return rc;
}

static int set_number(struct policy_inst *pi, const char *name, uint64_t v)
{
	return set_json(pi, name, json_integer((json_int_t)v));
}

/* As policy-show prints a value, so it can be given. */
RIG_TEST(param_set__as_shown_with_its_unit__is_taken)
{
	for (size_t i = 0; policies_builtin[i]; i++) {
		struct policy_inst *pi = NULL;
		char text[32];

		assert_int_equal(policy_new(&pi, policies_builtin[i], false), 0);
		for (const struct policy_param *p = pi->ops->params; p && p->name; p++) {
			if (conf_type_of(p->unit) == CONF_UINT) {
				assert_string_equal(p->unit, "-");
				assert_int_equal(set_json(pi, p->name, json_string("1")), -EINVAL);
				continue;
			}
			conf_text(conf_type_of(p->unit), p->max, text, sizeof(text));
			assert_int_equal(set_json(pi, p->name, json_string(text)), 0);
			assert_int_equal(policy_param_get(pi, p), p->max);
			conf_text(conf_type_of(p->unit), p->def, text, sizeof(text));
			assert_int_equal(set_json(pi, p->name, json_string(text)), 0);
			assert_int_equal(policy_param_get(pi, p), p->def);
		}
		policy_free(pi);
	}
}

RIG_TEST(param_set__ends_of_the_range__are_taken_and_nothing_beyond)
{
	for (size_t i = 0; policies_builtin[i]; i++) {
		struct policy_inst *pi = NULL;

		assert_int_equal(policy_new(&pi, policies_builtin[i], false), 0);
		for (const struct policy_param *p = pi->ops->params; p && p->name; p++) {
			assert_int_equal(set_number(pi, p->name, p->min), 0);
			assert_int_equal(set_number(pi, p->name, p->max), 0);
			if (p->min)
				assert_int_equal(set_number(pi, p->name, p->min - 1), -ERANGE);
			if (p->max < INT64_MAX)
				assert_int_equal(set_number(pi, p->name, p->max + 1), -ERANGE);
			assert_int_equal(policy_param_get(pi, p), p->max);
		}
		assert_int_equal(set_number(pi, "nonesuch", 1), -ENOENT);
		policy_free(pi);
	}
}

/* --- from a file ------------------------------------------------------------------------ */

RIG_TEST(file__some_parameters__the_others_keep_their_defaults)
{
	struct policy_inst *pi;

	pi = load(*state, "freemarket", "{\"policy\": \"freemarket\", \"params\": {\"low\": 250}}");
	assert_int_equal(param(pi, "low"), 250);
	assert_int_equal(param(pi, "cut"), 100);
	assert_int_equal(param(pi, "step"), 10 * NS_PER_MS);
	policy_free(pi);
}

RIG_TEST(file__values_with_units__and_a_comment)
{
	struct policy_inst *pi =
		load(*state, "freemarket",
		     "# tried in March\n{\"policy\": \"freemarket\", \"params\": {\n"
		     "\"low\": \"25%\", // of the allocation\n"
		     "\"step\": \"20ms\", \"min_cap\": \"2.5 %\"}}");

	assert_int_equal(param(pi, "low"), 250);
	assert_int_equal(param(pi, "step"), 20 * NS_PER_MS);
	assert_int_equal(param(pi, "min_cap"), 2500);
	policy_free(pi);
	pi = load(*state, "ratio",
		  "{\"policy\": \"ratio\", \"params\": {\"victim_bytes\": \"1MiB\"}}");
	assert_int_equal(param(pi, "victim_bytes"), 1 << 20);
	policy_free(pi);
}

RIG_TEST(file__no_parameters__all_are_defaults)
{
	struct policy_inst *pi = load(*state, "freemarket", "{\"policy\": \"freemarket\"}");

	assert_int_equal(param(pi, "low"), 100);
	policy_free(pi);
}

RIG_TEST(file__no_name_expected__the_file_says_which_policy)
{
	struct policy_inst *pi = load(*state, NULL, "{\"policy\": \"null\", \"params\": {}}");

	assert_ptr_equal(pi->ops, &policy_null);
	policy_free(pi);
}

static const struct refusal {
	const char *text;
	enum resex_exit exit;
	const char *place, *value, *remedy;
} refusals[] = {
	{ "{", RESEX_BAD_CONFIG, ":1:", "JSON", "correct" },
	{ "[]", RESEX_BAD_CONFIG, ":1:1: ", "object", "write" },
	{ "{}", RESEX_BAD_CONFIG, ":1:1: ", "policy", "add" },
	{ "{\"policy\": 5}", RESEX_BAD_CONFIG, ":1:12: ", "5", "string" },
	{ "{\"policy\": \"\"}", RESEX_BAD_CONFIG, ":1:12: ", "policy", "1 to 63" },
	{ "{\n\"policy\": \"dear\"}", RESEX_NO_POLICY, ":2:11: ", "\"dear\"",
	  "use null, freemarket" },
	{ "{\"policy\": \"null\"}", RESEX_BAD_CONFIG, ":1:12: ", "\"null\"", "they must match" },
	{ "{\"policy\": \"freemarket\",\n\"parms\": {}}", RESEX_BAD_CONFIG, ":2:1: ", "parms",
	  "params" },
	{ "{\"policy\": \"freemarket\",\n\"params\": []}", RESEX_BAD_CONFIG, ":2:11: ", "params",
	  "object" },
	{ "{\"policy\": \"freemarket\",\n\"params\": {\"lo\": 1}}", RESEX_BAD_CONFIG,
	  ":2:12: ", "lo", "low" },
	{ "{\"policy\": \"freemarket\",\n\"params\": {\"low\": \"1\"}}", RESEX_BAD_CONFIG,
	  ":2:19: ", "\"1\"", "whole number" },
	{ "{\"policy\": \"freemarket\",\n\"params\": {\"step\": \"5%\"}}", RESEX_BAD_CONFIG,
	  ":2:20: ", "\"5%\"", "from 100us to 1s" },
	{ "{\"policy\": \"freemarket\",\n\"params\": {\"min_cap\": \"0.5%\"}}", RESEX_BAD_CONFIG,
	  ":2:23: ", "\"0.5%\"", "from 1% to 100%" },
	{ "{\"policy\": \"freemarket\",\n\"params\": {\"low\": -1}}", RESEX_BAD_CONFIG,
	  ":2:19: ", "-1", "from" },
	{ "{\"policy\": \"freemarket\",\n\"params\": {\"low\": 1001}}", RESEX_BAD_CONFIG,
	  ":2:19: ", "1001", "1000" },
	{ "{\"policy\": \"freemarket\",\n\"params\": {\"step\": 1e400}}", RESEX_BAD_CONFIG,
	  ":2:", "", "" },
};

RIG_TEST(file__refused__says_where_what_and_what_instead)
{
	struct tmpdir *d = *state;
	int wrong = 0;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *r = &refusals[i];
		struct policy_inst *pi = NULL;
		struct conf_error e = { 0 };
		char want[192];
		int rc;

		tmp_write(d, "p.json", r->text);
		rc = policy_load(&pi, NULL, "freemarket", tmp_at(d, "p.json"), &e);
		snprintf(want, sizeof(want), "%s%s", tmp_at(d, "p.json"), r->place);
		if (rc != -EINVAL || e.exit != r->exit || strncmp(e.text, want, strlen(want)) ||
		    !strstr(e.text + strlen(want), r->value) ||
		    !strstr(e.text + strlen(want), r->remedy) || pi) {
			print_error("%s\n  gave %d, exit %d: %s\n  expected %s... %s ... %s\n",
				    r->text, rc, (int)e.exit, e.text, want, r->value, r->remedy);
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
}

/* As in a scenario: the exit status is that of resexd.json and of policy-set. */
RIG_TEST(bind__unknown_policy__has_the_exit_status_of_one)
{
	static const char *const texts[] = { "{\"p\": \"dear\"}", "{\"p\": {\"policy\": \"dear\"}}",
					     "{\"p\": 5}" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct policy_inst *pi = NULL;
		struct conf_error e = { 0 };
		struct conf_doc d;

		assert_int_equal(conf_parse(&d, "s.json", texts[i], strlen(texts[i]), &e), 0);
		assert_int_equal(policy_bind(&pi, NULL, &d, "p", json_object_get(d.root, "p"), &e),
				 -EINVAL);
		assert_int_equal(e.exit, i < 2 ? RESEX_NO_POLICY : RESEX_BAD_CONFIG);
		conf_free(&d);
	}
}

RIG_TEST(file__missing__is_not_a_missing_policy)
{
	struct policy_inst *pi = NULL;
	struct conf_error e = { 0 };
	int rc = policy_load(&pi, NULL, "freemarket", tmp_at(*state, "none.json"), &e);

	assert_int_equal(rc, -ENOENT);
	assert_int_equal(e.exit, RESEX_BAD_CONFIG);
	assert_non_null(strstr(e.text, "none.json: "));
	assert_null(pi);
}

RIG_TEST(installed_files__are_good_and_say_the_defaults)
{
	for (size_t i = 0; policies_builtin[i]; i++) {
		const struct policy_ops *ops = policies_builtin[i];
		struct policy_inst *pi = NULL;
		struct conf_error e = { 0 };
		char file[64], path[256];

		snprintf(file, sizeof(file), "policies/%s.json", ops->name);
		if (policy_load(&pi, NULL, ops->name, example_path(file, path, sizeof(path)), &e))
			fail_msg("%s", e.text);
		for (const struct policy_param *p = ops->params; p && p->name; p++)
			assert_int_equal(policy_param_get(pi, p), p->def);
		policy_free(pi);
	}
}

RIG_TEST(man_page__its_examples_are_good)
{
	struct policy_inst *pi;
	struct examples ex;

	examples_open(&ex, "man/resex-policies.7");
	assert_int_equal(ex.n, 2);
	pi = load(*state, "freemarket", ex.text[0]);
	assert_int_equal(param(pi, "low"), 250);
	assert_int_equal(param(pi, "step"), 20000000);
	policy_free(pi);
	pi = load(*state, "ioshares", ex.text[1]);
	assert_int_equal(param(pi, "tolerance"), 100);
	assert_int_equal(param(pi, "window"), 100000000);
	policy_free(pi);
}
