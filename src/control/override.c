// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * override: the methods node-fix and service-set: what an operator sets in the memory of this host,
 * above cluster.json (src/cluster). node-list and service-list show it.
 */
#include <errno.h>

#include "src/cluster/cluster.h"
#include "src/control/methods_priv.h"

int cmd_node_fix(struct call *c, const json_t *params, json_t **result)
{
	const json_t *fixed = json_object_get(params, "fixed");
	struct cluster *cl = cluster_of(c);
	const struct cluster_node *n = cl ? find_node(c, cl, params) : NULL;

	if (!n)
		return c->exit;
	if (!fixed)
		return call_fail(c, RESEX_USAGE, "fixed: give true, or false");
	if (cluster_node_fix(cl, (uint32_t)(n - cluster_conf(cl)->node), json_is_true(fixed)))
		return no_reconf(c);
	*result = json_object();
	put_s(*result, "node", n->name);
	put_b(*result, "fixed", json_is_true(fixed));
	return 0;
}

static const struct cluster_service *find_service(struct call *c, const struct cluster *cl,
						  const json_t *params)
{
	const char *name = json_string_value(json_object_get(params, "service"));
	const struct cluster_service *s = name ? cluster_service_find(cluster_conf(cl), name)
					       : NULL;

	if (!name)
		call_fail(c, RESEX_USAGE, "service: give a service's name");
	else if (!s)
		call_fail(c, RESEX_USAGE, "there is no service \"%.64s\": see resex service-list",
			  name);
	return s;
}

/* The values are read by the code that reads cluster.json, as if they stood there. */
int cmd_service_set(struct call *c, const json_t *params, json_t **result)
{
	struct cluster *cl = cluster_of(c);
	const struct cluster_service *s = cl ? find_service(c, cl, params) : NULL;
	struct conf_doc d = { 0 };
	struct conf_error e = { 0 };
	uint32_t i;
	int rc;

	if (!s)
		return c->exit;
	rc = read_settings(c, "service-set", "share=4", params, &d);
	if (rc)
		return rc;
	i = (uint32_t)(s - cluster_conf(cl)->service);
	rc = cluster_service_set(cl, i, &d, &e);
	if (rc == -EOPNOTSUPP)
		rc = no_reconf(c);
	else if (rc)
		rc = bad_setting(c, &d, &e);
	else
		*result = service_row(cl, i, c->now);
	conf_free(&d);
	return rc;
}
