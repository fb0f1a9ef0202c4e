// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * nodes: the methods node-list, load-list and load-show: the nodes of cluster.json, and what each
 * carries, as this host has read it from the memory of the node's host (src/cluster), with its age.
 * No host is called.
 */
#include "src/cluster/cluster.h"
#include "src/control/methods_priv.h"
#include "src/load/index.h"

static json_t *flag_names(uint32_t flags)
{
	static const char *const name[] = { "simulated",     "overrun",	  "no-wait",
					    "idle-repaired", "disagrees", "no-running" };
	json_t *arr = json_array();

	for (uint32_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (flags & 1u << i)
			json_array_append_new(arr, json_string(name[i]));
	return arr;
}

static void put_known(json_t *o, const char *key, uint64_t v, bool known)
{
	json_object_set_new(o, key, known ? json_integer((json_int_t)v) : json_null());
}

static void put_load(json_t *o, const struct load_record *l)
{
	static const char *const avg[] = { "load_avg_1", "load_avg_5", "load_avg_15" };

	put_s(o, "source", load_source_name(l->source));
	json_object_set_new(o, "flags", flag_names(l->flags));
	put_u(o, "cpus", l->cpus);
	put_u(o, "beat", l->beat);
	put_u(o, "sampled_ns", (uint64_t)l->sampled_ns);
	put_u(o, "period_ns", l->period_ns);
	put_u(o, "busy_ns", l->busy_ns);
	put_u(o, "irq_ns", l->irq_ns);
	put_u(o, "softirq_ns", l->softirq_ns);
	put_u(o, "iowait_ns", l->iowait_ns);
	put_u(o, "steal_ns", l->steal_ns);
	put_known(o, "wait_ns", l->wait_ns, !(l->flags & LOAD_NO_WAIT));
	put_known(o, "running", l->running, !(l->flags & LOAD_NO_RUNNING));
	put_u(o, "softirq_pending", l->softirq_pending);
	/* The hypervisor sees VCPUs, and no tasks. */
	for (int i = 0; i < 3; i++)
		json_object_set_new(o, avg[i],
				    l->source == LOAD_HV ? json_null()
							 : value_milli(l->load_avg[i]));
	put_u(o, "queued", l->queued);
	put_u(o, "served", l->served);
	put_u(o, "latency_ns", l->latency_ns);
}

/* --- of a guest of this host: as the hypervisor counts it, and as its agent says ---------- */

#define CPUS(mcpu) (mcpu) / 1000, (mcpu) % 1000 / 10

/* Why what the agent says is not used; "". */
static void agent_note(const struct cluster_sources *s, char note[static 160])
{
	const struct load_agree *a = &s->agree;

	note[0] = 0;
	if (s->believed)
		return;
	if (s->why)
		snprintf(note, 160, "its load page: %s", s->why);
	else if (!s->agent.load.beat)
		snprintf(note, 160, "its agent publishes none: see resex-agent(8)");
	else if (a->disagrees && a->known && !a->good)
		snprintf(note, 160,
			 "it disagrees: it says %u.%02u CPUs used and %u.%02u taken; counted are "
			 "%u.%02u, and %u.%02u waiting",
			 CPUS(a->used_mcpu), CPUS(a->steal_mcpu), CPUS(a->cpu_mcpu),
			 CPUS(a->wait_mcpu));
	else if (a->disagrees)
		snprintf(note, 160, "it disagreed: it must agree for %d seconds", LOAD_AGREE_GOOD);
	else
		snprintf(note, 160, "it was not compared for a second yet, or is silent");
}

static json_t *source_row(const struct cluster_source *s, const char *name, bool used,
			  const char *note, struct mono now)
{
	struct mono at = { s->load.sampled_ns };
	json_t *o = json_object();

	put_s(o, "source", name);
	put_b(o, "used", used);
	put_i(o, "load", s->index);
	put_ms(o, "age_ms", s->load.beat ? cluster_age_ns(now, at) : -1);
	put_s(o, "note", note);
	if (s->load.beat)
		put_load(o, &s->load);
	return o;
}

/* In 1/1000 of a CPU, of the newest second; null: there was none yet. */
static json_t *compared(const struct load_agree *a)
{
	return a->known ? json_pack("{s:i,s:i,s:i,s:i}", "used", (int)a->used_mcpu, "taken",
				    (int)a->steal_mcpu, "counted", (int)a->cpu_mcpu, "waited",
				    (int)a->wait_mcpu)
			: json_null();
}

/* Other hosts know only what is published. */
static json_t *source_rows(const struct cluster *cl, uint32_t i, struct mono now)
{
	const struct cluster_sources *s = cluster_sources_see(cl, i);
	json_t *arr = json_array(), *agent;
	char note[160];

	if (!s || !s->hv.load.beat)
		return arr;
	agent_note(s, note);
	agent = source_row(&s->agent, "agent", s->believed, note, now);
	json_object_set_new(agent, "compared", compared(&s->agree));
	json_array_append_new(arr, agent);
	json_array_append_new(arr, source_row(&s->hv, "hv", !s->believed, "", now));
	return arr;
}

static const char *state_text(enum cluster_node_state state)
{
	static const char *const text[] = { [CLUSTER_NODE_FRESH] = "fresh",
					    [CLUSTER_NODE_STALE] = "stale",
					    [CLUSTER_NODE_UNREAD] = "unread" };

	return text[state];
}

/* Of a node that was never read, only what cluster.json says of it is known. */
static json_t *load_row(const struct cluster *cl, uint32_t i, struct mono now)
{
	struct cluster_node_seen s;
	json_t *o = json_object();

	cluster_node_see(cl, i, now, &s);
	put_s(o, "node", s.conf->name);
	put_u(o, "number", s.conf->number);
	put_s(o, "host", s.host->name);
	json_object_set_new(o, "guest", *s.conf->guest ? json_string(s.conf->guest) : json_null());
	put_s(o, "state", state_text(s.state));
	put_i(o, "load", s.index);
	put_ms(o, "age_ms", s.age_ns);
	put_s(o, "note", s.note);
	if (s.load)
		put_load(o, s.load);
	json_object_set_new(o, "sources", source_rows(cl, i, now));
	return o;
}

static json_t *node_row(const struct cluster *cl, uint32_t i, struct mono now)
{
	const struct cluster_service *configured;
	struct cluster_node_seen s;
	json_t *o = json_object();

	cluster_node_see(cl, i, now, &s);
	configured = cluster_service_at(cluster_conf(cl), s.conf->service);
	put_s(o, "node", s.conf->name);
	put_u(o, "number", s.conf->number);
	put_s(o, "host", s.host->name);
	json_object_set_new(o, "guest", *s.conf->guest ? json_string(s.conf->guest) : json_null());
	put_name(o, "service", s.service ? s.service->name : NULL);
	put_name(o, "configured", configured ? configured->name : NULL);
	json_object_set_new(o, "kept", s.word_known ? json_boolean(s.kept) : json_null());
	put_ms(o, "word_age_ms", s.word_age_ns);
	put_s(o, "kind", cluster_kind_name((enum cluster_node_kind)s.conf->kind));
	put_name(o, "phase", *s.phase_name ? s.phase_name : NULL);
	put_name(o, "server", configured ? s.conf->server : NULL);
	put_b(o, "fixed", cluster_node_fixed(cl, i));
	put_s(o, "state", state_text(s.state));
	/* Its load may be stale, too: that is in load-list. */
	put_s(o, "note", *cluster_role_note(cl, i) ? cluster_role_note(cl, i) : s.note);
	return o;
}

static int list_nodes(struct call *c, json_t **result,
		      json_t *(*row)(const struct cluster *, uint32_t, struct mono))
{
	const struct cluster *cl = cluster_of(c);

	if (!cl)
		return c->exit;
	*result = json_object();
	put_cluster(*result, cl);
	put_rows(*result, "nodes", cl, cluster_conf(cl)->nodes, c->now, row);
	return 0;
}

int cmd_node_list(struct call *c, const json_t *params, json_t **result)
{
	(void)params;
	return list_nodes(c, result, node_row);
}

int cmd_load_list(struct call *c, const json_t *params, json_t **result)
{
	(void)params;
	return list_nodes(c, result, load_row);
}

const struct cluster_node *find_node(struct call *c, const struct cluster *cl, const json_t *params)
{
	const char *name = json_string_value(json_object_get(params, "node"));
	const struct cluster_node *n = name ? cluster_node_find(cluster_conf(cl), name) : NULL;

	if (!name)
		call_fail(c, RESEX_USAGE, "node: give a node's name");
	else if (!n)
		call_fail(c, RESEX_USAGE,
			  "there is no node \"%.64s\": see resex node-list, and nodes[] of "
			  "cluster.json",
			  name);
	return n;
}

int cmd_load_show(struct call *c, const json_t *params, json_t **result)
{
	const struct cluster *cl = cluster_of(c);
	const struct cluster_node *n = cl ? find_node(c, cl, params) : NULL;

	if (!n)
		return c->exit;
	*result = load_row(cl, (uint32_t)(n - cluster_conf(cl)->node), c->now);
	return 0;
}
