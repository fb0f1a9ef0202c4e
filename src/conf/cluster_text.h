/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cluster_text: values as cluster.json has them, for messages. */
#ifndef RESEX_CONF_CLUSTER_TEXT_H
#define RESEX_CONF_CLUSTER_TEXT_H

#include <stdio.h>

#include "src/core/units.h"

/* A number as in cluster.json; with a unit, the largest one of which it is a multiple. */
struct number_text {
	char text[32];
};

static inline struct number_text number_text(uint64_t n)
{
	struct number_text t;

	snprintf(t.text, sizeof(t.text), "%llu", (unsigned long long)n);
	return t;
}

static inline struct number_text duration_text(int64_t ns)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = { { "s", NS_PER_S }, { "ms", NS_PER_MS }, { "us", NS_PER_US }, { "ns", 1 } };
	struct number_text t;
	size_t i = 0;

	while (ns % units[i].ns)
		i++;
	snprintf(t.text, sizeof(t.text), "%lld%s", (long long)(ns / units[i].ns), units[i].name);
	return t;
}

/* n is in 1/1000. */
static inline struct number_text percent_text(uint64_t n)
{
	struct number_text t;

	snprintf(t.text, sizeof(t.text), "%llu%%", (unsigned long long)n / 10);
	return t;
}

static inline struct number_text budget_text(uint64_t n, int64_t ns)
{
	const char *unit = ns == NS_PER_S ? "s" : (ns == 60 * NS_PER_S ? "min" : "h");
	struct number_text t;

	snprintf(t.text, sizeof(t.text), "%llu/%s", (unsigned long long)n, unit);
	return t;
}

#endif
