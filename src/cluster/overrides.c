// SPDX-License-Identifier: GPL-2.0-or-later
/* overrides: see overrides.h. */
#include "src/cluster/overrides.h"

#include <stdio.h>
#include <string.h>

void overrides_begin(struct overrides *o, const struct cluster_conf *old,
		     const struct cluster_conf *conf)
{
	bool fixed[CLUSTER_NODES_MAX] = { false };

	for (uint32_t i = 0; old && i < conf->nodes; i++) {
		const struct cluster_node *n = cluster_node_find(old, conf->node[i].name);

		fixed[i] = n && o->fixed[n - old->node];
	}
	memcpy(o->fixed, fixed, sizeof(fixed));
	memcpy(o->service, conf->service, sizeof(o->service));
}

void overrides_text(const struct overrides *o, const struct cluster_conf *conf, uint32_t i,
		    char text[static CLUSTER_SET_TEXT])
{
	const struct cluster_service *now = &o->service[i], *was = &conf->service[i];
	const struct {
		const char *key;
		uint64_t now, was;
	} keys[] = {
		{ "guarantee", now->guarantee, was->guarantee },
		{ "share", now->share, was->share },
		{ "maximum", now->maximum, was->maximum },
		{ "priority", now->priority, was->priority },
		{ "high", now->high, was->high },
		{ "low", now->low, was->low },
	};
	int at = 0;

	text[0] = 0;
	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
		if (keys[k].now != keys[k].was)
			at += snprintf(text + at, CLUSTER_SET_TEXT - (size_t)at, "%s%s %llu",
				       at ? ", " : "", keys[k].key,
				       (unsigned long long)keys[k].now);
}
