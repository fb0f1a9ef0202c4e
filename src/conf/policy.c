// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * policy: the name of a policy, or a policy file, -> an instance for the sampler. The
 * parameters of an object are bound by a table that is made from the policy's own.
 *
 * All of it happens in the control thread, allocation included; src/guests then hands the
 * finished instance to the sampler, which uses it from its next tick on. A file with an error
 * never gets so far: the former policy stays.
 */
#include "src/conf/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/conf/policy_pages.h"

enum { PATH_MAX_SHOWN = 128, TEXT_MAX = 256 };

static uint64_t *param_address(const struct policy_inst *pi, const struct policy_param *p)
{
	return (uint64_t *)((uint8_t *)pi->params + p->offset);
}

uint64_t policy_param_get(const struct policy_inst *pi, const struct policy_param *p)
{
	return *param_address(pi, p);
}

struct conf_key policy_param_key(const struct policy_param *p)
{
	return (struct conf_key){ .name = p->name,
				  .type = conf_type_of(p->unit),
				  .offset = p->offset,
				  .min = p->min,
				  .max = p->max };
}

/* As conf_bind() does for a file: resex policy-set sets parameters one by one. */
int policy_param_set(struct policy_inst *pi, const char *name, const json_t *v, char *want,
		     size_t size)
{
	for (const struct policy_param *p = pi->ops->params; p && p->name; p++) {
		const struct conf_key k = policy_param_key(p);

		if (!strcmp(p->name, name))
			return conf_number(&k, v, param_address(pi, p), want, size);
	}
	return -ENOENT;
}

void policy_free(struct policy_inst *pi)
{
	if (!pi)
		return;
	if (pi->apart) {
		policy_pages_free(pi);
	} else {
		free(pi->params);
		free(pi->global);
		free(pi->guests);
	}
	free(pi);
}

static int blocks_new(struct policy_inst *pi)
{
	/*
	 * A policy may need none of a block: calloc(0) could return NULL, as if memory were
	 * short.
	 */
	pi->params = calloc(1, pi->ops->params_size + 8);
	pi->global = calloc(1, pi->ops->global_size + 8);
	pi->guests = calloc(FLOW_GUESTS_MAX, pi->ops->guest_size + 8);
	return pi->params && pi->global && pi->guests ? 0 : -ENOMEM;
}

int policy_new(struct policy_inst **out, const struct policy_ops *ops, bool apart)
{
	struct policy_inst *pi = calloc(1, sizeof(*pi));
	int rc;

	if (!pi)
		return -ENOMEM;
	pi->ops = ops;
	rc = apart ? policy_pages_new(pi) : blocks_new(pi);
	if (rc) {
		policy_free(pi);
		return -ENOMEM;
	}
	/* State begins as zeros, parameters with their defaults (resex/policy.h). */
	for (const struct policy_param *p = ops->params; p && p->name; p++)
		*param_address(pi, p) = p->def;
	*out = pi;
	return 0;
}

struct init_call {
	const struct policy_inst *pi;
	char text[POLICY_TEXT_MAX + 1];
	const char *said;
};

/* The sentence is copied here: its pointer, too, may lead nowhere. */
static void call_init(void *arg)
{
	struct init_call *c = arg;

	c->said = c->pi->ops->init(c->pi->params, c->pi->global, c->pi->guests);
	for (size_t i = 0; c->said && c->said[i] && i < POLICY_TEXT_MAX; i++)
		c->text[i] = c->said[i] >= 0x20 && c->said[i] < 0x7f ? c->said[i] : '?';
}

int policy_start(struct policy_inst *pi, struct conf_error *e)
{
	struct init_call c = { .pi = pi };
	char why[PLUGIN_WHY_MAX] = "";
	int rc = 0;

	if (!pi->apart)
		return 0;
	policy_pages_seal(pi);
	if (pi->ops->init)
		rc = plugin_call(call_init, &c, "its init()", why);
	if (rc)
		conf_error_set(e, RESEX_BAD_CONFIG, "policy \"%s\" is refused: %s", pi->ops->name,
			       why[0] ? why : strerror(-rc));
	else if (c.said)
		conf_error_set(e, RESEX_BAD_CONFIG, "policy \"%s\" refuses its parameters: %s",
			       pi->ops->name, c.text);
	return rc || c.said ? -EINVAL : 0;
}

/* "path.key", or "key" at the root. */
static void join_path(const char *path, const char *key, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", path, *path ? "." : "", key);
}

/* Bind "params" of the object at path, against a table made from the policy's parameters. */
static int bind_params(struct policy_inst *pi, const struct conf_doc *d, const char *path,
		       const json_t *obj, struct conf_error *e)
{
	struct conf_key keys[POLICY_PARAMS_MAX + 1] = { 0 };
	const json_t *params = json_object_get(obj, "params");
	char at[PATH_MAX_SHOWN];
	size_t n = 0;

	for (const struct policy_param *p = pi->ops->params; p && p->name && n < POLICY_PARAMS_MAX;
	     p++)
		keys[n++] = policy_param_key(p);
	if (!params)
		return 0;
	join_path(path, "params", at, sizeof(at));
	return conf_bind(d, at, params, keys, NULL, pi->params, e);
}

/* Names of the built-in policies, and where others would be. */
static void format_unknown(const char *name, const char *dir, char *text, size_t size)
{
	int n = snprintf(text, size, "there is no policy \"%.64s\": use", name);

	for (size_t i = 0; policies_builtin[i] && n > 0 && (size_t)n < size; i++)
		n += snprintf(text + n, size - (size_t)n, "%s %s", i ? "," : "",
			      policies_builtin[i]->name);
	if (dir && n > 0 && (size_t)n < size)
		snprintf(text + n, size - (size_t)n, ", or a plug-in in %s", dir);
}

int policy_search(struct plugins *ps, const char *name, const struct policy_ops **ops, bool *apart,
		  struct conf_error *e)
{
	char why[PLUGIN_WHY_MAX], text[TEXT_MAX];
	int rc;

	*ops = policy_find(name);
	*apart = !*ops;
	if (*ops)
		return 0;
	rc = plugins_find(ps, name, ops, why);
	if (!rc)
		return 0;
	if (rc == -ENOENT) {
		format_unknown(name, ps ? plugins_dir(ps) : NULL, text, sizeof(text));
		conf_error_set(e, RESEX_NO_POLICY, "%s", text);
	} else {
		conf_error_set(e, RESEX_NO_POLICY, "the plug-in %.120s/%s.so is refused: %s",
			       plugins_dir(ps), name, why);
	}
	return -ENOENT;
}

/* The policy called name, with its defaults. */
static int new_instance(struct policy_inst **out, struct plugins *ps, const char *name,
			struct conf_error *e)
{
	const struct policy_ops *ops;
	bool apart;
	int rc = policy_search(ps, name, &ops, &apart, e);

	if (rc)
		return rc;
	rc = policy_new(out, ops, apart);
	if (rc)
		conf_error_set(e, RESEX_FAILURE, "policy \"%s\": %s", name, strerror(-rc));
	return rc;
}

/* The same at path of the document, which has the name. */
static int new_from_name(struct policy_inst **out, struct plugins *ps, const struct conf_doc *d,
			 const char *path, const char *name, struct conf_error *e)
{
	struct conf_error at = { 0 };
	int rc = new_instance(out, ps, name, &at);

	if (!rc)
		return 0;
	conf_fail(d, path, e, "%s", at.text);
	/* An exit code of its own tells a script that the file is right but the name is not. */
	e->exit = at.exit;
	return rc == -ENOENT ? -EINVAL : rc;
}

int policy_check_name(const struct conf_doc *d, const char *path, const char *name,
		      const char *plugin_dir, struct conf_error *e)
{
	char text[TEXT_MAX], file[PLUGIN_WHY_MAX];

	if (policy_find(name))
		return 0;
	snprintf(file, sizeof(file), "%s/%s.so", plugin_dir, name);
	if (plugin_name_fits(name) && !access(file, F_OK))
		return 0;
	format_unknown(name, plugin_dir, text, sizeof(text));
	conf_fail(d, path, e, "%s", text);
	e->exit = RESEX_NO_POLICY;
	return -EINVAL;
}

/* {"policy": NAME, "params": {...}} at path of d. name: what it must be, or NULL. */
static int bind_object(struct policy_inst **out, struct plugins *ps, const char *name,
		       const struct conf_doc *d, const char *path, const json_t *obj,
		       struct conf_error *e)
{
	static const char *const also[] = { "params", NULL };
	char in[FLOW_NAME_MAX] = "", at[PATH_MAX_SHOWN];
	const struct conf_key keys[] = {
		{ .name = "policy",
		  .type = CONF_STRING,
		  .min = 1,
		  .max = FLOW_NAME_MAX - 1,
		  .required = 1 },
		{ 0 },
	};
	struct policy_inst *pi = NULL;
	int rc;

	rc = conf_bind(d, path, obj, keys, also, in, e);
	if (rc)
		return rc;
	join_path(path, "policy", at, sizeof(at));
	rc = new_from_name(&pi, ps, d, at, in, e);
	if (rc)
		return rc;
	/*
	 * The configuration names the policy beside its file: an operator who changes one and
	 * forgets the other would run a policy that the configuration does not name.
	 */
	if (name && strcmp(name, in) != 0)
		rc = conf_fail(
			d, at, e,
			"policy is \"%s\" here and \"%s\" in the configuration: they must match",
			in, name);
	if (!rc)
		rc = bind_params(pi, d, path, obj, e);
	if (rc)
		policy_free(pi);
	else
		*out = pi;
	return rc;
}

/* policy_start() of an instance whose parameters are all set; it is freed after an error. */
static int start(struct policy_inst **pi, struct conf_error *e)
{
	int rc = policy_start(*pi, e);

	if (rc) {
		policy_free(*pi);
		*pi = NULL;
	}
	return rc;
}

int policy_bind(struct policy_inst **pi, struct plugins *ps, const struct conf_doc *d,
		const char *path, const json_t *v, struct conf_error *e)
{
	int rc;

	if (json_is_string(v))
		rc = new_from_name(pi, ps, d, path, json_string_value(v), e);
	else if (json_is_object(v))
		rc = bind_object(pi, ps, NULL, d, path, v, e);
	else
		rc = conf_fail(d, path, e,
			       "write a policy's name, or {\"policy\": NAME, \"params\": {...}}");
	return rc ? rc : start(pi, e);
}

/* bind_object() of a whole document, which is freed. */
static int bind_and_free(struct policy_inst **out, struct plugins *ps, const char *name,
			 struct conf_doc *d, struct conf_error *e)
{
	int rc = bind_object(out, ps, name, d, "", d->root, e);

	conf_free(d);
	return rc;
}

int policy_parse(struct policy_inst **pi, struct plugins *ps, const char *file, const char *text,
		 struct conf_error *e)
{
	struct conf_doc d;
	int rc = conf_parse(&d, file, text, strlen(text), e);

	return rc ? rc : bind_and_free(pi, ps, NULL, &d, e);
}

int policy_load(struct policy_inst **pi, struct plugins *ps, const char *name, const char *file,
		struct conf_error *e)
{
	struct conf_doc d;
	int rc;

	if (!file || !file[0]) {
		rc = new_instance(pi, ps, name, e);
	} else {
		rc = conf_load(&d, file, e);
		if (!rc)
			rc = bind_and_free(pi, ps, name, &d, e);
	}
	return rc ? rc : start(pi, e);
}
