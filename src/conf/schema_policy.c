// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schema_policy: the schema of a policy file: for each policy an object, whose parameters, texts
 * and defaults are those of the policy's own table. See schema.h.
 */
#include <stdlib.h>

#include "src/conf/policy.h"
#include "src/conf/schema.h"

enum { PARAMS_MAX = 64 };

static const struct conf_says file_says[] = {
	{ "policy", "Its name: see resex-policies(7)." },
	{ "params", "Its parameters; those that are left out have their defaults." },
	{ NULL, NULL },
};

/* A name that a plug-in can have: plugin_name_fits(). */
#define PLUGIN_NAME "^[a-z][a-z0-9-]*$"

/* As policy_load() makes it: defaults are those of a new instance. */
static json_t *params_schema(const struct policy_ops *ops)
{
	struct conf_key keys[PARAMS_MAX + 1] = { 0 };
	struct conf_says says[PARAMS_MAX + 1] = { 0 };
	struct policy_inst *pi = NULL;
	json_t *o;

	if (policy_new(&pi, ops, false))
		return NULL;
	for (size_t n = 0; n < PARAMS_MAX && ops->params && ops->params[n].name; n++) {
		keys[n] = policy_param_key(&ops->params[n]);
		says[n] = (struct conf_says){ ops->params[n].name, ops->params[n].text };
	}
	o = schema_object(&(struct conf_table){ keys, pi->params }, says);
	policy_free(pi);
	return o;
}

static json_t *one_policy(const struct policy_ops *ops)
{
	static const struct conf_key none[] = { { 0 } };
	json_t *o = schema_object(&(struct conf_table){ none, NULL }, file_says);

	o = schema_must(o, "policy", json_pack("{s:s}", "const", ops->name), file_says);
	o = schema_put(o, "params", params_schema(ops), file_says);
	if (o)
		json_object_set_new(o, "description", json_string(ops->text));
	return o;
}

static json_t *builtin_names(void)
{
	const char *names[PARAMS_MAX + 1] = { NULL };

	for (size_t i = 0; i < PARAMS_MAX && policies_builtin[i]; i++)
		names[i] = policies_builtin[i]->name;
	return schema_words(names);
}

static json_t *plugin_name(void)
{
	return json_pack("{s:s, s:s, s:i, s:s}", "type", "string", "pattern", PLUGIN_NAME,
			 "maxLength", FLOW_NAME_MAX - 1, "description",
			 "A plug-in of policy_dir: see resex-policy(7).");
}

json_t *schema_policy_name(void)
{
	return schema_either(builtin_names(), plugin_name());
}

/* Which parameters it has only the plug-in says. */
static json_t *any_plugin(void)
{
	static const struct conf_key none[] = { { 0 } };
	json_t *o = schema_object(&(struct conf_table){ none, NULL }, file_says);
	json_t *name = plugin_name();

	if (name)
		json_object_set_new(name, "not", builtin_names());
	o = schema_must(o, "policy", name, file_says);
	return schema_put(o, "params", json_pack("{s:s}", "type", "object"), file_says);
}

static json_t *all_policies(void)
{
	json_t *all = json_array();

	for (size_t i = 0; policies_builtin[i]; i++)
		if (json_array_append_new(all, one_policy(policies_builtin[i]))) {
			json_decref(all);
			return NULL;
		}
	json_array_append_new(all, any_plugin());
	return json_pack("{s:o}", "oneOf", all);
}

json_t *schema_policy(void)
{
	return schema_either(schema_policy_name(), all_policies());
}

json_t *schema_policy_file(void)
{
	return schema_top(all_policies(), "resex-policies(7): a policy and its parameters");
}
