/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cluster_conf_rig: texts of cluster.json, and what must be taken or refused. */
#ifndef RESEX_TESTS_CLUSTER_CONF_RIG_H
#define RESEX_TESTS_CLUSTER_CONF_RIG_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/conf/cluster.h"
#include "tests/unit/unit.h"

#define HOST1 "{\"name\": \"xen1\", \"number\": 1, \"address\": \"10.0.0.1\"}"
#define HOST2 "{\"name\": \"xen2\", \"number\": 2, \"address\": \"10.0.0.2\"}"
#define HEAD  "{\"cluster\": \"c\", \"transport\": \"tcp\", "
#define BOTH  "\"hosts\": [" HOST1 ", " HOST2 "]"
#define WEB   "\"services\": [{\"name\": \"web\", \"number\": 1}]"
#define WEB_1 "\"services\": [{\"name\": \"web\", \"number\": 1, \"balancers\": [\"xen1\"]}]"
#define WEB_MAIL                                                                                   \
	"\"services\": [{\"name\": \"web\", \"number\": 1}, {\"name\": \"mail\", \"number\": 2}]"

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct cluster_conf));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static inline void take(struct cluster_conf *c, const char *text, const char *hostname)
{
	struct conf_error e = { 0 };

	if (cluster_conf_parse(c, "f", text, strlen(text), hostname, &e))
		fail_msg("%s", e.text);
}

/* The text of this row of a table must be refused, with these words. Returns the error. */
static inline struct conf_error refuse(struct cluster_conf *c, size_t row, const char *text,
				       const char *hostname, const char *said)
{
	struct conf_error e = { 0 };

	if (cluster_conf_parse(c, "f", text, strlen(text), hostname, &e) != -EINVAL)
		fail_msg("row %zu was accepted", row);
	if (!strstr(e.text, said))
		fail_msg("row %zu: \"%s\" does not say \"%s\"", row, e.text, said);
	assert_true(e.line >= 1 && e.column >= 1);
	return e;
}

#endif
