// SPDX-License-Identifier: GPL-2.0-or-later
/* control_cmds: JSON of what manager and sampler know. See control_cmds.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "src/daemon/control_cmds.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

static int fail(struct call *c, enum resex_exit code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct call *c, enum resex_exit code, const char *fmt, ...)
{
	va_list ap;

	c->exit = (int)code;
	c->error.code = PROTO_E_SERVER - c->exit;
	va_start(ap, fmt);
	vsnprintf(c->error.text, sizeof(c->error.text), fmt, ap);
	va_end(ap);
	return c->exit;
}

static void put_u(json_t *o, const char *key, uint64_t v)
{
	json_object_set_new(o, key, json_integer((json_int_t)(v > INT64_MAX ? INT64_MAX : v)));
}

static void put_s(json_t *o, const char *key, const char *v)
{
	json_object_set_new(o, key, json_string(v));
}

static void put_b(json_t *o, const char *key, bool v)
{
	json_object_set_new(o, key, json_boolean(v));
}

/* Resos with their thousandths, as a number people read. */
static void put_resos(json_t *o, const char *key, struct resos r)
{
	json_object_set_new(o, key, json_real((double)r.m / (double)RESO_MILLI));
}

/* null is "no cap". */
static void put_cap(json_t *o, const char *key, struct cap c)
{
	json_object_set_new(o, key, c.limited ? json_integer(cap_to_percent(c)) : json_null());
}

/* --- guests -------------------------------------------------------------- */

/* NULL: c->exit and c->error say why. */
static struct managed *find_guest(struct call *c, const json_t *params)
{
	const char *who = json_string_value(json_object_get(params, "guest"));
	struct managed *g;

	if (!who) {
		fail(c, RESEX_USAGE, "guest: give a guest's name, domain id or UUID");
		return NULL;
	}
	g = manager_find(c->m, who);
	if (!g)
		fail(c, RESEX_NO_GUEST,
		     "there is no guest \"%.64s\": see resex list for those there are", who);
	return g;
}

static void put_identity(json_t *o, const struct managed *g)
{
	put_s(o, "name", g->name);
	put_u(o, "domid", g->key.domid);
	put_s(o, "uuid", g->uuid);
}

static void put_usage(json_t *o, const struct usage *u)
{
	put_u(o, "cpu_ns", u->cpu_ns);
	put_u(o, "mtus_sent", u->mtus_sent);
	put_u(o, "mtus_recv", u->mtus_recv);
	put_u(o, "bytes_sent", u->bytes_sent);
	put_u(o, "bytes_recv", u->bytes_recv);
	put_u(o, "wrs", u->wrs);
	put_u(o, "lost", u->lost);
	put_u(o, "backlog", u->backlog);
	put_b(o, "estimated", u->flags & USAGE_ESTIMATED);
}

static void put_account(json_t *o, const struct account *a)
{
	put_resos(o, "allocated", a->allocated);
	put_resos(o, "balance", a->balance);
	put_resos(o, "spent", a->spent);
	put_resos(o, "overdraft", a->overdraft);
	put_resos(o, "charged_io", a->charged_io);
	put_resos(o, "charged_cpu", a->charged_cpu);
	json_object_set_new(o, "rate", json_real((double)a->rate.q16 / 65536.0));
	put_b(o, "late", a->flags & ACCOUNT_LATE);
}

static const char *state_of(const struct managed *g)
{
	if (g->dom_flags & HV_DOM_PAUSED)
		return "paused";
	if (g->conf.exempt)
		return "exempt";
	if (g->released)
		return "released";
	return g->cappable ? "managed" : "uncappable";
}

static json_t *guest_row(struct call *c, const struct managed *g)
{
	const struct snap_guest *s = manager_snap(c->m, g, c->sn);
	json_t *o = json_object();

	put_identity(o, g);
	put_u(o, "vcpus", g->vcpus);
	put_u(o, "weight", g->conf.weight);
	put_s(o, "link", c->m->conf->link[g->conf.link].name);
	put_s(o, "state", state_of(g));
	put_cap(o, "old_cap", g->old.cap);
	put_cap(o, "cap", s ? s->applied : g->old.cap);
	put_u(o, "rings", s ? s->rings : 0);
	if (!s)
		return o;
	put_account(o, &s->account);
	put_usage(o, &s->total_usage);
	return o;
}

static json_t *guest_rows(struct call *c, json_t *(*row)(struct call *, const struct managed *))
{
	json_t *arr = json_array();

	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (c->m->guest[i] && !c->m->guest[i]->leaving)
			json_array_append_new(arr, row(c, c->m->guest[i]));
	return arr;
}

static int cmd_list(struct call *c, const json_t *params, json_t **result)
{
	(void)params;
	*result = json_object();
	put_u(*result, "epoch", c->sn->epoch);
	put_s(*result, "policy", c->m->policy->ops->name);
	put_b(*result, "observe", c->m->observe);
	json_object_set_new(*result, "guests", guest_rows(c, guest_row));
	return 0;
}

static json_t *link_row(const struct link_conf *l)
{
	json_t *o = json_object();

	put_s(o, "name", l->name);
	put_u(o, "bytes_s", l->bytes_s);
	put_u(o, "mtu", l->mtu);
	put_s(o, "profile", l->profile == PRICE_PAPER_2011 ? "paper-2011" : "scaled");
	return o;
}

static void put_ticks(json_t *o, const struct snapshot *sn)
{
	put_u(o, "ticks", sn->ticks);
	put_u(o, "late_ticks", sn->late_ticks);
	put_u(o, "clock_back", sn->back_ticks);
	put_u(o, "late_p99_ns", sn->late_p99_ns);
	put_u(o, "late_max_ns", (uint64_t)sn->late_max_ns);
	put_u(o, "tick_max_ns", (uint64_t)sn->tick_ns_max);
	put_u(o, "tick_mean_ns", sn->ticks ? (uint64_t)sn->tick_ns_sum / sn->ticks : 0);
}

static int cmd_info(struct call *c, const json_t *params, json_t **result)
{
	const struct manager *m = c->m;
	json_t *links = json_array(), *o = json_object();
	uint64_t calls = 0, pages = 0;

	(void)params;
	put_s(o, "version", PACKAGE_VERSION);
	put_s(o, "hv", m->hv->name);
	put_b(o, "observe", m->observe);
	put_s(o, "policy", m->policy->ops->name);
	put_u(o, "interval_ns", (uint64_t)m->conf->interval_ns);
	put_u(o, "epoch_ns", (uint64_t)m->conf->epoch_ns);
	put_u(o, "epoch", c->sn->epoch);
	put_resos(o, "supply", c->sn->supply);
	put_resos(o, "overcommit", c->sn->overcommit);
	put_resos(o, "dropped", c->sn->dropped);
	put_u(o, "guests", c->sn->guests);
	put_ticks(o, c->sn);
	m->hv->mem->stats(m->mem, &calls, &pages);
	put_u(o, "map_calls", calls);
	put_u(o, "mapped_pages", pages);
	put_u(o, "events_lost", atomic_load(&m->sh->events.overflow));
	for (uint32_t i = 0; i < m->conf->links; i++)
		json_array_append_new(links, link_row(&m->conf->link[i]));
	json_object_set_new(o, "links", links);
	*result = o;
	return 0;
}

static int cmd_guest_show(struct call *c, const json_t *params, json_t **result)
{
	const struct managed *g = find_guest(c, params);
	const struct snap_guest *s;
	json_t *u;

	if (!g)
		return c->exit;
	*result = guest_row(c, g);
	put_u(*result, "min_cap", g->conf.min_cap);
	put_b(*result, "exempt", g->conf.exempt);
	put_s(*result, "note", g->cap_note);
	s = manager_snap(c->m, g, c->sn);
	if (!s)
		return 0;
	u = json_object();
	put_usage(u, &s->epoch_usage);
	json_object_set_new(*result, "this_epoch", u);
	put_u(*result, "cap_changes", s->cap_changes);
	return 0;
}

/* --- rings ---------------------------------------------------------------- */

static void put_flags(json_t *o, uint32_t flags)
{
	static const char *const names[] = { "lapped", "wrs-bounded", "mtus-estimated", "history",
					     "uncharged" };
	json_t *arr = json_array();

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (flags & 1u << i)
			json_array_append_new(arr, json_string(names[i]));
	json_object_set_new(o, "flags", arr);
}

static void put_totals(json_t *o, const struct ring_totals *t)
{
	static const char *const op[] = {
		"send", "write", "read", "cmp_swap", "fetch_add", "local"
	};
	json_t *ops = json_object();

	put_u(o, "wrs", t->wrs);
	put_u(o, "seen", t->seen);
	put_u(o, "lost", t->lost);
	put_u(o, "errors", t->errors);
	put_u(o, "mtus_sent", t->mtus_sent);
	put_u(o, "mtus_recv", t->mtus_recv);
	put_u(o, "bytes_sent", t->bytes_sent);
	put_u(o, "bytes_recv", t->bytes_recv);
	put_u(o, "bytes_bound", t->bytes_bound);
	put_u(o, "completions", t->completions);
	for (int i = 0; i < OP_KINDS; i++)
		put_u(ops, op[i], t->ops[i]);
	json_object_set_new(o, "ops", ops);
	put_flags(o, t->flags);
}

static const struct ring_totals *totals_of(const struct ring_report *r, uint32_t id)
{
	for (uint32_t i = 0; r && i < r->rings; i++)
		if (r->id[i] == id)
			return &r->totals[i];
	return NULL;
}

static json_t *ring_row(const struct guest_ring_info *info, const struct ring_totals *t)
{
	json_t *o = json_object();

	put_u(o, "id", info->desc.id);
	put_s(o, "state", info->active ? "active" : "dropped");
	put_s(o, "fault", info->fault ? ring_fault_text(info->fault) : "");
	if (info->desc.kind) {
		put_s(o, "kind", info->desc.kind == RING_CQ ? "CQ" : "SQ");
		put_u(o, "entries", info->desc.entries);
		put_u(o, "pid", info->desc.pid);
		put_s(o, "comm", info->desc.comm);
		put_u(o, "qpn", t && t->qpn ? t->qpn : info->desc.number);
	}
	if (t)
		put_totals(o, t);
	return o;
}

static json_t *rings_of(struct call *c, const struct managed *g)
{
	json_t *o = json_object(), *arr = json_array(), *gone = json_object(), *all = json_object();
	const struct ring_report *rep = NULL;
	struct ring_totals sum = { 0 }, left = { 0 };
	struct guest_ring_info info;
	struct guest_state st;

	guest_state(g->mon, c->sn->time, &st);
	if (manager_rings(c->m, g, &rep))
		rep = NULL;
	put_identity(o, g);
	put_b(o, "attached", st.attached);
	put_s(o, "fault", st.fault);
	put_u(o, "agent_pid", st.agent_pid);
	put_u(o, "heartbeat", st.heartbeat);
	put_u(o, "pages", st.pages);
	put_u(o, "walks", st.walks);
	put_u(o, "maps", st.maps);
	put_u(o, "faults_more", st.faults_more);
	for (uint32_t i = 0; guest_ring_info(g->mon, i, &info); i++) {
		const struct ring_totals *t = totals_of(rep, info.desc.id);

		json_array_append_new(arr, ring_row(&info, t));
		if (t && info.desc.kind == RING_SQ)
			ring_totals_add(&sum, t);
	}
	json_object_set_new(o, "rings", arr);
	guest_gone(g->mon, &left);
	put_totals(gone, &left);
	json_object_set_new(o, "gone", gone);
	ring_totals_add(&sum, &left);
	put_totals(all, &sum);
	json_object_set_new(o, "totals", all);
	return o;
}

/* Each guest's totals take a tick: nobody else is served meanwhile. */
static bool all_rings_take_long(const struct call *c)
{
	return c->sn->guests * c->m->conf->interval_ns > 2 * NS_PER_S;
}

static int cmd_ring_list(struct call *c, const json_t *params, json_t **result)
{
	const struct managed *g;
	json_t *arr;

	if (!json_object_get(params, "guest") && all_rings_take_long(c))
		return fail(c, RESEX_FAILURE,
			    "%u guests take %u intervals of %lld ms to ask: name one guest",
			    c->sn->guests, c->sn->guests,
			    (long long)(c->m->conf->interval_ns / NS_PER_MS));

	if (json_object_get(params, "guest")) {
		g = find_guest(c, params);
		if (!g)
			return c->exit;
		arr = json_array();
		json_array_append_new(arr, rings_of(c, g));
	} else {
		arr = guest_rows(c, rings_of);
	}
	*result = json_object();
	json_object_set_new(*result, "guests", arr);
	return 0;
}

/* --- policies ------------------------------------------------------------- */

static int cmd_policy_list(struct call *c, const json_t *params, json_t **result)
{
	json_t *arr = json_array();

	(void)params;
	for (size_t i = 0; policies_builtin[i]; i++) {
		json_t *o = json_object();

		put_s(o, "name", policies_builtin[i]->name);
		put_s(o, "text", policies_builtin[i]->text);
		put_b(o, "active", policies_builtin[i] == c->m->policy->ops);
		json_array_append_new(arr, o);
	}
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

/* NULL: as find_guest. */
static const struct policy_ops *find_policy(struct call *c, const char *name)
{
	const struct policy_ops *ops = name ? policy_find(name) : c->m->policy->ops;

	if (!ops)
		fail(c, RESEX_NO_POLICY, "there is no policy \"%.64s\": see resex policy-list",
		     name);
	return ops;
}

static int cmd_policy_show(struct call *c, const json_t *params, json_t **result)
{
	const char *name = json_string_value(json_object_get(params, "policy"));
	const struct policy_ops *ops = find_policy(c, name);
	const struct policy_inst *pi = c->m->policy;
	json_t *arr;

	if (!ops)
		return c->exit;
	arr = json_array();
	for (const struct policy_param *p = ops->params; p && p->name; p++)
		json_array_append_new(
			arr, param_row(p, ops == pi->ops ? policy_param_get(pi, p) : p->def));
	*result = json_object();
	put_s(*result, "name", ops->name);
	put_s(*result, "text", ops->text);
	put_b(*result, "active", ops == pi->ops);
	json_object_set_new(*result, "params", arr);
	return 0;
}

static const struct policy_param *find_param(const struct policy_ops *ops, const char *name)
{
	for (const struct policy_param *p = ops->params; p && p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

static int out_of_range(struct call *c, const struct policy_ops *ops, const struct policy_param *p,
			const json_t *v)
{
	char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);

	fail(c, RESEX_RANGE,
	     "%s is %.32s, out of its range: give %llu to %llu (%s), see resex policy-show %s",
	     p->name, text ? text : "?", (unsigned long long)p->min, (unsigned long long)p->max,
	     p->unit, ops->name);
	free(text);
	return c->exit;
}

static int set_params(struct call *c, struct policy_inst *pi, json_t *obj)
{
	const char *name;
	json_t *v;

	json_object_foreach(obj, name, v) {
		const struct policy_param *p = find_param(pi->ops, name);
		json_int_t n = json_is_integer(v) ? json_integer_value(v) : -1;

		if (!p)
			return fail(
				c, RESEX_USAGE,
				"policy %s has no parameter \"%.64s\": see resex policy-show %s",
				pi->ops->name, name, pi->ops->name);
		if (n < 0 || policy_param_set(pi, name, (uint64_t)n))
			return out_of_range(c, pi->ops, p, v);
	}
	return 0;
}

/* NULL: as find_guest. */
static struct policy_inst *load_policy(struct call *c, const json_t *params)
{
	const char *name = json_string_value(json_object_get(params, "policy"));
	const char *file = json_string_value(json_object_get(params, "file"));
	const char *text = json_string_value(json_object_get(params, "text"));
	struct policy_inst *pi = NULL;
	const struct policy_ops *ops;
	struct conf_error e = { 0 };
	int rc;

	if (!name == !text || !text != !file) {
		fail(c, RESEX_USAGE,
		     "policy-set: give the name of a policy, or a file and its text");
		return NULL;
	}
	if (text) { /* whoever asks has read it: our files, as root, may be others */
		rc = policy_parse(&pi, file, text, &e);
		if (rc)
			fail(c, rc == -ENOENT ? RESEX_NO_POLICY : RESEX_BAD_CONFIG, "%s", e.text);
		return rc ? NULL : pi;
	}
	ops = find_policy(c, name);
	if (ops && policy_new(&pi, ops))
		fail(c, RESEX_FAILURE, "out of memory");
	return pi;
}

static int cmd_policy_set(struct call *c, const json_t *params, json_t **result)
{
	struct policy_inst *pi = load_policy(c, params);
	int rc;

	if (!pi)
		return c->exit;
	rc = set_params(c, pi, json_object_get(params, "params"));
	if (!rc && manager_set_policy(c->m, pi, c->wall_ns))
		rc = fail(c, RESEX_FAILURE, "another policy is just being put in force: try again");
	if (rc) {
		policy_free(pi);
		return rc;
	}
	return cmd_policy_show(c, NULL, result);
}

/* --- caps ------------------------------------------------------------------ */

static json_t *cap_row(struct call *c, const struct managed *g)
{
	const struct snap_guest *s = manager_snap(c->m, g, c->sn);
	json_t *o = json_object();

	put_identity(o, g);
	put_s(o, "state", state_of(g));
	put_cap(o, "old_cap", g->old.cap);
	put_u(o, "weight", g->old.weight);
	put_cap(o, "cap", s ? s->applied : g->old.cap);
	put_cap(o, "wanted", s ? s->plan.cap : CAP_NONE);
	put_u(o, "changes", s ? s->cap_changes : 0);
	put_s(o, "error", s && s->cap_errno ? strerror((int)s->cap_errno) : "");
	put_s(o, "note", g->cap_note);
	return o;
}

static int cmd_cap_list(struct call *c, const json_t *params, json_t **result)
{
	(void)params;
	*result = json_object();
	json_object_set_new(*result, "guests", guest_rows(c, cap_row));
	return 0;
}

static int cmd_cap_release(struct call *c, const json_t *params, json_t **result)
{
	struct managed *g = find_guest(c, params);

	if (!g)
		return c->exit;
	manager_release(c->m, g, !json_is_true(json_object_get(params, "undo")), c->wall_ns);
	*result = cap_row(c, g);
	return 0;
}

/* "%0" stands for why[0], "%0m" for why[0] / 1000. */
static void reason_text(const struct policy_ops *ops, const struct plan_guest *p, char *out,
			size_t size)
{
	const char *f = "";
	size_t n = 0;
	uint32_t i;

	for (i = 0; ops->reasons && ops->reasons[i]; i++)
		if (i == p->reason)
			f = ops->reasons[i];
	for (; *f && n + 24 < size; f++) {
		if (*f != '%' || f[1] < '0' || f[1] > '3') {
			out[n++] = *f;
			continue;
		}
		i = (uint32_t)(f[1] - '0');
		f++;
		if (f[1] == 'm')
			f++;
		n += (size_t)snprintf(out + n, size - n, "%lld",
				      (long long)(*f == 'm' ? p->why[i] / 1000 : p->why[i]));
	}
	out[n] = 0;
}

static json_t *why_row(struct call *c, const struct managed *g)
{
	const struct snap_guest *s = manager_snap(c->m, g, c->sn);
	char text[512] = "";
	json_t *o = json_object();

	put_identity(o, g);
	put_cap(o, "cap", s ? s->applied : g->old.cap);
	if (!s)
		snprintf(text, sizeof(text), "not sampled yet");
	else if (g->conf.exempt)
		snprintf(text, sizeof(text), "exempt by configuration");
	else if (g->released)
		snprintf(text, sizeof(text), "released by cap-release");
	else if (!g->cappable)
		snprintf(text, sizeof(text), "not cappable: %s", g->cap_note);
	else
		reason_text(c->sn->policy, &s->plan, text, sizeof(text));
	put_s(o, "text", text);
	if (s)
		put_account(o, &s->account);
	return o;
}

static int cmd_why(struct call *c, const json_t *params, json_t **result)
{
	const struct managed *g;
	json_t *arr;

	if (json_object_get(params, "guest")) {
		g = find_guest(c, params);
		if (!g)
			return c->exit;
		arr = json_array();
		json_array_append_new(arr, why_row(c, g));
	} else {
		arr = guest_rows(c, why_row);
	}
	*result = json_object();
	put_s(*result, "policy", c->m->policy->ops->name);
	json_object_set_new(*result, "guests", arr);
	return 0;
}

/* --- events ----------------------------------------------------------------- */

/* Is there an event of a guest of that name, which may be gone? */
static bool has_events(const struct manager *m, const char *name)
{
	uint64_t n = m->events < MANAGER_EVENTS ? m->events : MANAGER_EVENTS;

	for (uint64_t i = 0; i < n; i++)
		if (!strcmp(m->event[i].guest, name))
			return true;
	return false;
}

static int cmd_events(struct call *c, const json_t *params, json_t **result)
{
	json_int_t since = json_integer_value(json_object_get(params, "since"));
	const char *who = json_string_value(json_object_get(params, "guest"));
	const struct manager *m = c->m;
	uint64_t first = m->events > MANAGER_EVENTS ? m->events - MANAGER_EVENTS : 0;
	const struct managed *g = who ? manager_find(c->m, who) : NULL;
	json_t *arr;

	if (g)
		who = g->name;
	else if (who && !has_events(m, who)) {
		find_guest(c, params);
		return c->exit;
	}
	arr = json_array();
	if (since > 0 && (uint64_t)since > first)
		first = (uint64_t)since;
	for (uint64_t id = first; id < m->events; id++) {
		const struct event_text *e = &m->event[id % MANAGER_EVENTS];
		json_t *o;

		if (who && strcmp(who, e->guest) != 0)
			continue;
		o = json_object();
		put_u(o, "id", e->id);
		put_u(o, "time_ns", (uint64_t)e->wall_ns);
		put_s(o, "guest", e->guest);
		put_s(o, "kind", e->kind);
		put_s(o, "text", e->text);
		json_array_append_new(arr, o);
	}
	*result = json_object();
	put_u(*result, "newest", m->events);
	json_object_set_new(*result, "events", arr);
	return 0;
}

/* --- the table ---------------------------------------------------------------- */

static const struct method_param p_none[] = { { 0 } };
static const struct method_param p_guest[] = { { "guest", JSON_STRING }, { 0 } };
static const struct method_param p_policy[] = { { "policy", JSON_STRING }, { 0 } };
static const struct method_param p_policy_set[] = { { "policy", JSON_STRING },
						    { "file", JSON_STRING },
						    { "text", JSON_STRING },
						    { "params", JSON_OBJECT },
						    { 0 } };
static const struct method_param p_release[] = { { "guest", JSON_STRING },
						 { "undo", JSON_TRUE },
						 { 0 } };
static const struct method_param p_events[] = { { "since", JSON_INTEGER },
						{ "guest", JSON_STRING },
						{ 0 } };

const struct method methods[] = {
	{ "list", false, cmd_list, p_none },
	{ "info", false, cmd_info, p_none },
	{ "guest-show", false, cmd_guest_show, p_guest },
	{ "ring-list", false, cmd_ring_list, p_guest },
	{ "policy-list", false, cmd_policy_list, p_none },
	{ "policy-show", false, cmd_policy_show, p_policy },
	{ "policy-set", true, cmd_policy_set, p_policy_set },
	{ "cap-list", false, cmd_cap_list, p_none },
	{ "cap-release", true, cmd_cap_release, p_release },
	{ "why", false, cmd_why, p_guest },
	{ "events", false, cmd_events, p_events },
	{ 0 },
};

static const char *type_text(json_type t)
{
	switch (t) {
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "an integer";
	case JSON_OBJECT:
		return "an object";
	default:
		return "true or false";
	}
}

static int check_param(struct call *c, const struct method *m, const char *key, const json_t *v)
{
	const struct method_param *p = m->params;

	while (p->name && strcmp(p->name, key) != 0)
		p++;
	if (!p->name)
		fail(c, RESEX_USAGE, "%s takes no parameter \"%.64s\"", m->name, key);
	else if (json_typeof(v) != p->type && !(p->type == JSON_TRUE && json_is_boolean(v)))
		fail(c, RESEX_USAGE, "%s of %s: give %s", key, m->name, type_text(p->type));
	else
		return 0;
	c->error.code = PROTO_E_PARAMS;
	return RESEX_USAGE;
}

static int check_params(struct call *c, const struct method *m, json_t *params)
{
	const char *key;
	json_t *v;
	int rc;

	json_object_foreach(params, key, v) {
		rc = check_param(c, m, key, v);
		if (rc)
			return rc;
	}
	return 0;
}

int method_call(struct call *c, const struct request *r, json_t **result)
{
	for (const struct method *m = methods; m->name; m++) {
		int rc;

		if (strcmp(m->name, r->method) != 0)
			continue;
		if (m->modifies && !c->root)
			return fail(c, RESEX_PERMISSION, "%s changes something: run it as root",
				    m->name);
		rc = check_params(c, m, r->params);
		return rc ? rc : m->run(c, r->params, result);
	}
	fail(c, RESEX_USAGE, "there is no method \"%.64s\"", r->method);
	c->error.code = PROTO_E_METHOD;
	return RESEX_USAGE;
}
