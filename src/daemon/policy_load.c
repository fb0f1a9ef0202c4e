// SPDX-License-Identifier: GPL-2.0-or-later
/* policy_load: a policy's name or file -> an instance for the sampler. See settings.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/daemon/settings.h"

enum { PARAMS_MAX = 64 };

static uint64_t *param_at(const struct policy_inst *pi, const struct policy_param *p)
{
	return (uint64_t *)((uint8_t *)pi->params + p->offset);
}

uint64_t policy_param_get(const struct policy_inst *pi, const struct policy_param *p)
{
	return *param_at(pi, p);
}

int policy_param_set(struct policy_inst *pi, const char *name, uint64_t value)
{
	for (const struct policy_param *p = pi->ops->params; p && p->name; p++) {
		if (strcmp(p->name, name) != 0)
			continue;
		if (value < p->min || value > p->max)
			return -ERANGE;
		*param_at(pi, p) = value;
		return 0;
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
	pi->params = calloc(1, ops->params_size + 8);
	pi->global = calloc(1, ops->global_size + 8);
	pi->guests = calloc(FLOW_GUESTS_MAX, ops->guest_size + 8);
	if (!pi->params || !pi->global || !pi->guests) {
		policy_free(pi);
		return -ENOMEM;
	}
	for (const struct policy_param *p = ops->params; p && p->name; p++)
		*param_at(pi, p) = p->def;
	*out = pi;
	return 0;
}

/* The parameters of a file, bound by a table made from the policy's own. */
static int bind_params(struct policy_inst *pi, const struct conf_doc *d, struct conf_error *e)
{
	struct conf_key keys[PARAMS_MAX + 1] = { 0 };
	json_t *obj = json_object_get(d->root, "params");
	size_t n = 0;

	for (const struct policy_param *p = pi->ops->params; p && p->name && n < PARAMS_MAX; p++) {
		keys[n].name = p->name;
		keys[n].type = CONF_UINT;
		keys[n].offset = p->offset;
		keys[n].min = p->min;
		keys[n].max = p->max;
		n++;
	}
	if (!obj)
		return 0;
	return conf_bind(d, "params", obj, keys, NULL, pi->params, e);
}

/* Always -ENOENT. */
static int no_policy(const char *name, char *text, size_t size)
{
	int n = snprintf(text, size, "there is no policy \"%.64s\": take", name);

	for (size_t i = 0; policies_builtin[i] && n > 0 && (size_t)n < size; i++)
		n += snprintf(text + n, size - (size_t)n, "%s %s", i ? "," : "",
			      policies_builtin[i]->name);
	return -ENOENT;
}

/* d is freed. name: what it must be, or NULL. */
static int load_doc(struct policy_inst **out, const char *name, struct conf_doc *d,
		    struct conf_error *e)
{
	static const char *const also[] = { "params", NULL };
	char in[FLOW_NAME_MAX] = "", text[256];
	const struct conf_key keys[] = {
		{ .name = "policy",
		  .type = CONF_STRING,
		  .min = 1,
		  .max = FLOW_NAME_MAX - 1,
		  .required = 1 },
		{ 0 },
	};
	const struct policy_ops *ops;
	struct policy_inst *pi = NULL;
	int rc;

	rc = conf_bind(d, "", d->root, keys, also, in, e);
	if (rc)
		goto out;
	ops = policy_find(in);
	if (!ops) {
		rc = no_policy(in, text, sizeof(text));
		conf_fail(d, "policy", e, "%s", text);
		goto out;
	}
	if (name && strcmp(name, in) != 0) {
		rc = conf_fail(
			d, "policy", e,
			"policy is \"%s\" here and \"%s\" in the configuration: make them one", in,
			name);
		goto out;
	}
	rc = policy_new(&pi, ops);
	if (!rc)
		rc = bind_params(pi, d, e);
out:
	conf_free(d);
	if (rc)
		policy_free(pi);
	else
		*out = pi;
	return rc;
}

int policy_parse(struct policy_inst **pi, const char *file, const char *text, struct conf_error *e)
{
	struct conf_doc d;
	int rc = conf_parse(&d, file, text, strlen(text), e);

	return rc ? rc : load_doc(pi, NULL, &d, e);
}

int policy_load(struct policy_inst **pi, const char *name, const char *file, struct conf_error *e)
{
	const struct policy_ops *ops;
	struct conf_doc d;
	int rc;

	if (file && file[0]) {
		rc = conf_load(&d, file, e);
		if (rc) /* -ENOENT would say that there is no such policy */
			return rc == -ENOENT ? -EINVAL : rc;
		return load_doc(pi, name, &d, e);
	}
	ops = policy_find(name);
	if (!ops)
		return no_policy(name, e->text, sizeof(e->text));
	return policy_new(pi, ops);
}
