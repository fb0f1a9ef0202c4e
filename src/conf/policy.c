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

enum { PARAMS_MAX = 64, PATH_MAX_SHOWN = 128, TEXT_MAX = 256 };

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
	free(pi->params);
	free(pi->global);
	free(pi->guests);
	free(pi);
}

int policy_new(struct policy_inst **out, const struct policy_ops *ops)
{
	struct policy_inst *pi = calloc(1, sizeof(*pi));

	if (!pi)
		return -ENOMEM;
	pi->ops = ops;
	/*
	 * A policy may need none of a block: calloc(0) could return NULL, as if memory were
	 * short.
	 */
	pi->params = calloc(1, ops->params_size + 8);
	pi->global = calloc(1, ops->global_size + 8);
	pi->guests = calloc(FLOW_GUESTS_MAX, ops->guest_size + 8);
	if (!pi->params || !pi->global || !pi->guests) {
		policy_free(pi);
		return -ENOMEM;
	}
	/* State begins as zeros, parameters with their defaults (resex/policy.h). */
	for (const struct policy_param *p = ops->params; p && p->name; p++)
		*param_address(pi, p) = p->def;
	*out = pi;
	return 0;
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
	struct conf_key keys[PARAMS_MAX + 1] = { 0 };
	const json_t *params = json_object_get(obj, "params");
	char at[PATH_MAX_SHOWN];
	size_t n = 0;

	for (const struct policy_param *p = pi->ops->params; p && p->name && n < PARAMS_MAX; p++)
		keys[n++] = policy_param_key(p);
	if (!params)
		return 0;
	join_path(path, "params", at, sizeof(at));
	return conf_bind(d, at, params, keys, NULL, pi->params, e);
}

static void format_unknown(const char *name, char *text, size_t size)
{
	int n = snprintf(text, size, "there is no policy \"%.64s\": use", name);

	for (size_t i = 0; policies_builtin[i] && n > 0 && (size_t)n < size; i++)
		n += snprintf(text + n, size - (size_t)n, "%s %s", i ? "," : "",
			      policies_builtin[i]->name);
}

/* policy_new() with an error message. ops is NULL if no policy is called name. */
static int new_instance(struct policy_inst **out, const struct policy_ops *ops, const char *name,
			struct conf_error *e)
{
	char text[TEXT_MAX];
	int rc;

	if (!ops) {
		format_unknown(name, text, sizeof(text));
		conf_error_set(e, RESEX_NO_POLICY, "%s", text);
		return -ENOENT;
	}
	rc = policy_new(out, ops);
	if (rc)
		conf_error_set(e, RESEX_FAILURE, "policy \"%s\": %s", name, strerror(-rc));
	return rc;
}

/* No policy is called name; path: where the document has the name. */
static int fail_unknown(const struct conf_doc *d, const char *path, const char *name,
			struct conf_error *e)
{
	char text[TEXT_MAX];

	format_unknown(name, text, sizeof(text));
	conf_fail(d, path, e, "%s", text);
	/* An exit code of its own tells a script that the file is right but the name is not. */
	e->exit = RESEX_NO_POLICY;
	return -EINVAL;
}

/* An instance of the policy called name; path: where the document has the name. */
static int new_from_name(struct policy_inst **out, const struct conf_doc *d, const char *path,
			 const char *name, struct conf_error *e)
{
	const struct policy_ops *ops = policy_find(name);

	return ops ? new_instance(out, ops, name, e) : fail_unknown(d, path, name, e);
}

int policy_check_name(const struct conf_doc *d, const char *path, const char *name,
		      struct conf_error *e)
{
	return policy_find(name) ? 0 : fail_unknown(d, path, name, e);
}

/* {"policy": NAME, "params": {...}} at path of d. name: what it must be, or NULL. */
static int bind_object(struct policy_inst **out, const char *name, const struct conf_doc *d,
		       const char *path, const json_t *obj, struct conf_error *e)
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
	rc = new_from_name(&pi, d, at, in, e);
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

int policy_bind(struct policy_inst **pi, const struct conf_doc *d, const char *path,
		const json_t *v, struct conf_error *e)
{
	if (json_is_string(v))
		return new_from_name(pi, d, path, json_string_value(v), e);
	if (json_is_object(v))
		return bind_object(pi, NULL, d, path, v, e);
	return conf_fail(d, path, e,
			 "write a policy's name, or {\"policy\": NAME, \"params\": {...}}");
}

/* bind_object() of a whole document, which is freed. */
static int bind_and_free(struct policy_inst **out, const char *name, struct conf_doc *d,
			 struct conf_error *e)
{
	int rc = bind_object(out, name, d, "", d->root, e);

	conf_free(d);
	return rc;
}

int policy_parse(struct policy_inst **pi, const char *file, const char *text, struct conf_error *e)
{
	struct conf_doc d;
	int rc = conf_parse(&d, file, text, strlen(text), e);

	return rc ? rc : bind_and_free(pi, NULL, &d, e);
}

int policy_load(struct policy_inst **pi, const char *name, const char *file, struct conf_error *e)
{
	struct conf_doc d;
	int rc;

	if (!file || !file[0])
		return new_instance(pi, policy_find(name), name, e);
	rc = conf_load(&d, file, e);
	return rc ? rc : bind_and_free(pi, name, &d, e);
}
