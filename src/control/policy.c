// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * policy: policies and their parameters, shown, checked and put in force. An instance is made and
 * checked whole before the sampler gets it: a wrong parameter leaves the policy in force as it is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policies/policies.h"
#include "src/conf/policy.h"
#include "src/control/methods_priv.h"

/* ops NULL: the plug-in is refused. problem: why it is refused, or was stopped; "". */
static json_t *list_row(struct call *c, const char *name, const struct policy_ops *ops,
			const char *from, const char *problem)
{
	json_t *o = json_object();

	put_s(o, "name", name);
	put_s(o, "text", ops ? ops->text : "");
	put_b(o, "active", ops && ops == guests_view(c->guests).policy->ops);
	put_s(o, "from", from);
	put_s(o, "problem", problem);
	return o;
}

static json_t *plugin_row(struct call *c, const char *name)
{
	const struct guests_view all = guests_view(c->guests);
	char why[PLUGIN_WHY_MAX], problem[PLUGIN_WHY_MAX + 64] = "";
	const struct policy_ops *ops = NULL;

	if (policy_find(name))
		snprintf(problem, sizeof(problem),
			 "refused: a built-in policy has this name: use another");
	else if (plugins_find(all.plugins, name, &ops, why))
		snprintf(problem, sizeof(problem), "refused: %s", why);
	else if (all.stopped && !strcmp(all.stopped, name))
		snprintf(problem, sizeof(problem), "stopped: %s", all.stopped_why);
	return list_row(c, name, ops, plugins_dir(all.plugins), problem);
}

int cmd_policy_list(struct call *c, const json_t *params, json_t **result)
{
	struct plugins *ps = guests_view(c->guests).plugins;
	char name[PLUGINS_MAX][FLOW_NAME_MAX];
	int n = ps ? plugins_names(ps, name, PLUGINS_MAX) : 0;
	json_t *arr = json_array();

	(void)params;
	for (size_t i = 0; policies_builtin[i]; i++)
		json_array_append_new(arr, list_row(c, policies_builtin[i]->name,
						    policies_builtin[i], "built in", ""));
	/* No directory, no plug-ins. */
	for (int i = 0; i < n; i++)
		json_array_append_new(arr, plugin_row(c, name[i]));
	*result = json_object();
	json_object_set_new(*result, "policies", arr);
	return 0;
}

static json_t *param_row(const struct policy_param *p, uint64_t value)
{
	json_t *o = json_object();

	put_s(o, "name", p->name);
	put_u(o, "value", value);
	put_u(o, "default", p->def);
	put_u(o, "min", p->min);
	put_u(o, "max", p->max);
	put_s(o, "unit", p->unit);
	put_s(o, "text", p->text);
	return o;
}

/* NULL: c->exit and c->error say why. apart: it is a plug-in. */
static const struct policy_ops *find_policy(struct call *c, const char *name, bool *apart)
{
	const struct guests_view all = guests_view(c->guests);
	const struct policy_ops *ops = NULL;
	char why[PLUGIN_WHY_MAX];
	int rc;

	*apart = false;
	if (!name)
		return all.policy->ops;
	ops = policy_find(name);
	if (ops)
		return ops;
	rc = plugins_find(all.plugins, name, &ops, why);
	*apart = !rc;
	if (rc == -ENOENT)
		call_fail(c, RESEX_NO_POLICY, "there is no policy \"%.64s\": see resex policy-list",
			  name);
	else if (rc)
		call_fail(c, RESEX_NO_POLICY, "the plug-in %.64s is refused: %s", name, why);
	return ops;
}

/*
 * With the values of pi; NULL: the defaults, since a policy that is not in force has no
 * instance.
 */
static json_t *policy_row(const struct policy_ops *ops, const struct policy_inst *pi)
{
	json_t *o = json_object(), *arr = json_array();

	for (const struct policy_param *p = ops->params; p && p->name; p++)
		json_array_append_new(arr, param_row(p, pi ? policy_param_get(pi, p) : p->def));
	put_s(o, "name", ops->name);
	put_s(o, "text", ops->text);
	json_object_set_new(o, "params", arr);
	return o;
}

int cmd_policy_show(struct call *c, const json_t *params, json_t **result)
{
	const char *name = json_string_value(json_object_get(params, "policy"));
	bool apart;
	const struct policy_ops *ops = find_policy(c, name, &apart);
	const struct policy_inst *pi = guests_view(c->guests).policy;
	bool active = ops == pi->ops;

	if (!ops)
		return c->exit;
	*result = policy_row(ops, active ? pi : NULL);
	put_b(*result, "active", active);
	return 0;
}

/* v may be of any JSON type: it is shown as the client wrote it. */
static int wrong_value(struct call *c, const struct policy_ops *ops, const char *name,
		       const json_t *v, bool out_of_range, const char *want)
{
	char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
	const char *s = json_string_value(v), *what = "which it does not take";

	if (out_of_range)
		what = "out of its range";
	else if (s && strspn(s, "0123456789.") > strspn(s, "0123456789"))
		what = "with more decimals than it takes";
	call_fail(c, RESEX_RANGE, "%s is %.32s, %s: %s: see resex policy-show %s", name,
		  text ? text : "?", what, want, ops->name);
	free(text);
	return c->exit;
}

static int set_params(struct call *c, struct policy_inst *pi, json_t *obj)
{
	char want[256] = "";
	const char *name;
	json_t *v;
	int rc;

	json_object_foreach(obj, name, v) {
		rc = policy_param_set(pi, name, v, want, sizeof(want));
		if (rc == -ENOENT)
			return call_fail(
				c, RESEX_USAGE,
				"policy %s has no parameter \"%.64s\": see resex policy-show %s",
				pi->ops->name, name, pi->ops->name);
		if (rc)
			return wrong_value(c, pi->ops, name, v, rc == -ERANGE, want);
	}
	return 0;
}

/*
 * The client has read the file, with its own rights: resexd runs as root, and would read files
 * for users that may not. NULL: c->exit and c->error say why.
 */
static struct policy_inst *parse_policy(struct call *c, const char *file, const char *text)
{
	struct policy_inst *pi = NULL;
	struct conf_error e = { 0 };

	if (!policy_parse(&pi, guests_view(c->guests).plugins, file, text, &e))
		return pi;
	call_fail(c, e.exit, "%s", e.text);
	return NULL;
}

/* NULL: c->exit and c->error say why. */
static struct policy_inst *load_policy(struct call *c, const json_t *params)
{
	const char *name = json_string_value(json_object_get(params, "policy"));
	const char *file = json_string_value(json_object_get(params, "file"));
	const char *text = json_string_value(json_object_get(params, "text"));
	struct policy_inst *pi = NULL;
	const struct policy_ops *ops;
	bool apart;

	/* A name, or a text with the name of its file, which messages need. */
	if (!name == !text || !text != !file) {
		call_fail(c, RESEX_USAGE,
			  "policy-set: give the name of a policy, or a file and its text");
		return NULL;
	}
	if (text)
		return parse_policy(c, file, text);
	ops = find_policy(c, name, &apart);
	if (ops && policy_new(&pi, ops, apart))
		call_fail(c, RESEX_FAILURE, "out of memory");
	return pi;
}

/* Its parameters are set: a plug-in may refuse them. */
static int start_policy(struct call *c, struct policy_inst *pi)
{
	struct conf_error e = { 0 };

	return policy_start(pi, &e) ? call_fail(c, e.exit, "%s", e.text) : 0;
}

int cmd_policy_check(struct call *c, const json_t *params, json_t **result)
{
	const char *file = json_string_value(json_object_get(params, "file"));
	const char *text = json_string_value(json_object_get(params, "text"));
	struct policy_inst *pi;

	if (!file || !text)
		return call_fail(c, RESEX_USAGE, "policy-check: give a file and its text");
	pi = parse_policy(c, file, text);
	if (!pi || start_policy(c, pi)) {
		policy_free(pi);
		return c->exit;
	}
	*result = policy_row(pi->ops, pi);
	put_s(*result, "file", file);
	policy_free(pi);
	return 0;
}

/*
 * CALL_LATER, with c->policy.number when it is set: pi is taken over then. Or the exit code.
 * Only one policy can be on its way to the sampler: wait for another client's first.
 */
static int set_policy(struct call *c, struct policy_inst *pi)
{
	int rc = guests_policy_wait(c->guests, &c->policy, NULL,
				    c->now); /* for the one before it */

	if (!rc)
		rc = guests_set_policy(c->guests, pi, c->wall_ns);
	if (rc && rc != -EAGAIN)
		return call_fail(c, RESEX_FAILURE,
				 "another policy is just being put in force: try again");
	if (!rc)
		c->policy = (struct policy_ask){ .number = guests_view(c->guests).policy_number };
	return CALL_LATER;
}

/* CALL_LATER until the sampler uses the policy that was set. */
static int wait_for_policy(struct call *c, const struct policy_inst *pi, json_t **result)
{
	int rc = guests_policy_wait(c->guests, &c->policy, c->sn, c->now);

	if (rc == -EAGAIN)
		return CALL_LATER;
	if (rc)
		return call_fail(
			c, RESEX_FAILURE,
			"policy %s is set, but the sampler has not taken it up yet: see late ticks "
			"in resex info",
			pi->ops->name);
	*result = policy_row(pi->ops, pi);
	put_policy_note(*result, c);
	/* Another client may have set the next policy meanwhile. */
	put_b(*result, "active", c->policy.number == guests_view(c->guests).policy_number);
	return 0;
}

/*
 * Called again until the policy is in force. The parameters are the same each time, and the
 * instance is made anew from them: between calls the connection keeps only c->policy.
 */
int cmd_policy_set(struct call *c, const json_t *params, json_t **result)
{
	struct policy_inst *pi = load_policy(c, params);
	int rc;

	if (!pi) {
		c->policy = (struct policy_ask){ 0 };
		return c->exit;
	}
	rc = set_params(c, pi, json_object_get(params, "params"));
	if (!rc && !c->policy.number)
		rc = start_policy(c, pi);
	if (!rc && !c->policy.number) {
		rc = set_policy(c, pi);
		if (c->policy.number)
			pi = NULL;
	} else if (!rc) {
		rc = wait_for_policy(c, pi, result);
	}
	if (rc != CALL_LATER)
		c->policy = (struct policy_ask){ 0 };
	policy_free(pi);
	return rc;
}
