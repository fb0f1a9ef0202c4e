// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_reconf: "reconf" of cluster.json: whether nodes move between services, and how soon; and
 * what it needs of services and nodes. A part of cluster.c; see cluster.h.
 */
#include <ctype.h>
#include <string.h>

#include "src/conf/cluster_parts.h"
#include "src/conf/cluster_text.h"

enum { MARGIN_PERCENT_MAX = 500, BUDGET_MAX = 1000 };

#define HOUR_NS (3600 * NS_PER_S)

/* As enum cluster_reconf_mode. In a file only those of file_modes. */
static const char *const mode_names[] = { "observe", "act", "pause" };
static const char *const file_modes[] = { "observe", "act", NULL };

#define KEY(...) CONF_KEY(struct cluster_reconf, __VA_ARGS__)
static const struct conf_key reconf_keys[] = {
	{ KEY("mode", ENUM, mode), .names = file_modes },
	{ KEY("S", DURATION, check_ns), .min = 10 * NS_PER_MS, .max = 60 * NS_PER_S },
	{ KEY("T", DURATION, high_ns), .min = 20 * NS_PER_MS, .max = HOUR_NS },
	{ KEY("rest", DURATION, rest_ns), .max = HOUR_NS },
	{ KEY("freeze", DURATION, freeze_ns), .max = HOUR_NS },
	{ KEY("hook", STRING, hook), .min = 1, .max = CLUSTER_HOOK_MAX - 1 },
	{ KEY("hook_timeout", DURATION, hook_timeout_ns), .min = 100 * NS_PER_MS, .max = HOUR_NS },
	{ KEY("give_up", DURATION, give_up_ns), .max = 24 * HOUR_NS },
	{ 0 },
};
#undef KEY

static const struct cluster_reconf reconf_default = { .check_ns = 100 * NS_PER_MS,
						      .high_ns = 5 * NS_PER_S,
						      .rest_ns = 30 * NS_PER_S,
						      .freeze_ns = 60 * NS_PER_S,
						      .hook_timeout_ns = 30 * NS_PER_S,
						      .give_up_ns = 120 * NS_PER_S,
						      .margin = 200,
						      .budget = 6,
						      .budget_ns = 60 * NS_PER_S };

struct conf_table cluster_reconf_table(void)
{
	return (struct conf_table){ reconf_keys, &reconf_default };
}

/* --- values that no table has ---------------------------------------------------- */

/* Digits of a number up to max. The text after them, or NULL. */
static const char *read_digits(const char *s, uint64_t max, uint64_t *out)
{
	uint64_t n = 0;

	if (!s || !isdigit((unsigned char)*s))
		return NULL;
	for (; isdigit((unsigned char)*s); s++) {
		n = 10 * n + (uint64_t)(*s - '0');
		if (n > max)
			return NULL;
	}
	*out = n;
	return s;
}

/* "20%" */
static int read_margin(const struct conf_doc *d, const json_t *obj, struct cluster_reconf *r,
		       struct conf_error *e)
{
	const json_t *v = json_object_get(obj, "margin");
	const char *s = json_string_value(v);
	uint64_t percent = 0;
	const char *unit = read_digits(s, MARGIN_PERCENT_MAX, &percent);

	if (!v)
		return 0;
	if (!unit || strcmp(unit, "%") != 0)
		return conf_fail_key(d, "reconf", "margin", e,
				     "margin \"%.64s\" is no percentage: write whole percents such "
				     "as \"20%%\", from 0%% to %d%%",
				     s ? s : "?", MARGIN_PERCENT_MAX);
	r->margin = 10 * percent;
	return 0;
}

/* "6/min" */
static int read_budget(const struct conf_doc *d, const json_t *obj, struct cluster_reconf *r,
		       struct conf_error *e)
{
	static const struct {
		const char *unit;
		int64_t ns;
	} per[] = { { "/s", NS_PER_S }, { "/min", 60 * NS_PER_S }, { "/h", HOUR_NS } };
	const json_t *v = json_object_get(obj, "budget");
	const char *s = json_string_value(v);
	uint64_t n = 0;
	const char *unit = read_digits(s, BUDGET_MAX, &n);

	if (!v)
		return 0;
	for (size_t i = 0; unit && n && i < sizeof(per) / sizeof(per[0]); i++)
		if (!strcmp(unit, per[i].unit)) {
			r->budget = n;
			r->budget_ns = per[i].ns;
			return 0;
		}
	return conf_fail_key(d, "reconf", "budget", e,
			     "budget \"%.64s\" is no number of moves in a time: write one such as "
			     "\"6/min\", with /s, /min or /h, from 1 to %d",
			     s ? s : "?", BUDGET_MAX);
}

/* --- what must fit together ------------------------------------------------------ */

static int check_times(const struct cluster_conf *c, const struct conf_doc *d, struct conf_error *e)
{
	const struct cluster_reconf *r = &c->reconf;
	const int64_t move_ns = c->hold_ns + c->timeout_ns;
	const struct number_text high = duration_text(r->high_ns);

	if (r->check_ns < c->load.scan_ns)
		return conf_fail_key(d, "reconf", "S", e,
				     "S %s is below the scan of \"load\", %s, and would find the "
				     "same loads again: write that, or more",
				     duration_text(r->check_ns).text,
				     duration_text(c->load.scan_ns).text);
	if (r->high_ns < 2 * r->check_ns)
		return conf_fail_key(d, "reconf", "T", e,
				     "T %s is below twice S, %s, and a single high load would move "
				     "a node: write that, or more",
				     high.text, duration_text(2 * r->check_ns).text);
	/* Else a host would decide again before it can see the move of another one. */
	if (r->high_ns <= move_ns)
		return conf_fail_key(d, "reconf", "T", e,
				     "T %s is not above the sum of hold and timeout, %s, in which "
				     "another host may still move a node: write more than that",
				     high.text, duration_text(move_ns).text);
	return 0;
}

/* A sum over all services that the nodes cannot fulfil. */
static int refuse_sum(const struct cluster_conf *c, const struct conf_doc *d, const char *what,
		      uint64_t sum, struct conf_error *e)
{
	return conf_fail(d, "services", e,
			 "the %ss of all services are %llu nodes, and \"nodes\" has %u: write a "
			 "lower %s, or more nodes",
			 what, (unsigned long long)sum, c->nodes, what);
}

int cluster_sums_check(const struct cluster_conf *c, const struct cluster_service *all,
		       const struct conf_doc *d, struct conf_error *e)
{
	uint64_t minimums = 0, guarantees = 0;

	for (uint32_t i = 0; i < c->services; i++) {
		minimums += all[i].minimum;
		guarantees += all[i].guarantee;
	}
	if (minimums > c->nodes)
		return refuse_sum(c, d, "minimum", minimums, e);
	if (guarantees > c->nodes)
		return refuse_sum(c, d, "guarantee", guarantees, e);
	return 0;
}

static int check_nodes(const struct cluster_conf *c, const struct conf_doc *d, struct conf_error *e)
{
	if (!c->nodes)
		return conf_fail(
			d, "reconf", e,
			"reconf moves nodes, and there are none: write \"nodes\", or leave "
			"\"reconf\" out");
	if (c->nodes > CLUSTER_MOVED_MAX)
		return conf_fail(d, "reconf", e,
				 "reconf moves up to %d nodes, and there are %u: write fewer "
				 "\"nodes\", or leave \"reconf\" out",
				 CLUSTER_MOVED_MAX, c->nodes);
	return cluster_sums_check(c, c->service, d, e);
}

/* --- the whole ------------------------------------------------------------------- */

/* The nodes that it has by the file, within its own limits. */
static uint64_t share_default(const struct cluster_conf *c, const struct cluster_service *s)
{
	const struct cluster_node *n = NULL;
	uint64_t nodes = 0;

	while ((n = cluster_node_next(c, (uint32_t)s->number, n)) != NULL)
		nodes++;
	if (nodes < s->guarantee)
		return s->guarantee;
	return nodes > s->maximum ? s->maximum : nodes;
}

/* Of kind "switch", and no guest: those have programs of their own. */
static const struct cluster_node *find_switch_host(const struct cluster_conf *c)
{
	for (uint32_t i = 0; i < c->nodes; i++)
		if (c->node[i].kind == CLUSTER_NODE_SWITCH && !*c->node[i].guest)
			return &c->node[i];
	return NULL;
}

static int check_hook(const struct cluster_conf *c, const struct conf_doc *d, struct conf_error *e)
{
	const struct cluster_node *n = find_switch_host(c);
	const struct cluster_reconf *r = &c->reconf;

	if (*r->hook && *r->hook != '/')
		return conf_fail_key(
			d, "reconf", "hook", e,
			"hook \"%.64s\" does not begin with /: write the whole path of "
			"a program",
			r->hook);
	if (n && !*r->hook)
		return conf_fail(d, "reconf", e,
				 "node \"%s\" is of kind \"switch\", and nothing prepares it for "
				 "another service: write \"hook\", the path of a program, or kind "
				 "\"both\"",
				 n->name);
	if (r->give_up_ns && r->give_up_ns <= r->hook_timeout_ns)
		return conf_fail_key(d, "reconf", "give_up", e,
				     "give_up %s is not above hook_timeout, %s, so a node would be "
				     "moved back while it is prepared: write more, or 0s for never",
				     duration_text(r->give_up_ns).text,
				     duration_text(r->hook_timeout_ns).text);
	return 0;
}

int cluster_reconf_read(struct cluster_conf *c, const struct conf_doc *d, struct conf_error *e)
{
	static const char *const also[] = { "margin", "budget", NULL };
	const json_t *obj = json_object_get(d->root, "reconf");
	int rc;

	for (uint32_t i = 0; i < c->services; i++)
		if (c->service[i].share == NOT_GIVEN)
			c->service[i].share = share_default(c, &c->service[i]);
	c->reconf = reconf_default;
	c->reconf.given = obj != NULL;
	if (!obj)
		return 0;
	rc = conf_bind(d, "reconf", obj, reconf_keys, also, &c->reconf, e);
	if (!rc)
		rc = read_margin(d, obj, &c->reconf, e);
	if (!rc)
		rc = read_budget(d, obj, &c->reconf, e);
	if (!rc)
		rc = check_times(c, d, e);
	if (!rc)
		rc = check_nodes(c, d, e);
	if (!rc)
		rc = check_hook(c, d, e);
	return rc;
}

const char *cluster_reconf_mode_name(enum cluster_reconf_mode mode)
{
	return mode_names[mode];
}

const struct cluster_node *cluster_switch_find(const struct cluster_conf *c)
{
	for (uint32_t i = 0; i < c->nodes; i++)
		if (c->node[i].kind == CLUSTER_NODE_SWITCH)
			return &c->node[i];
	return NULL;
}
