// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * show: list, info, guest-show and ring-list. Names, settings and states are what the control
 * thread knows now (views of guests); figures are those of the sampler's newest snapshot, which
 * is some ticks old. A guest that the sampler has not seen yet has no figures: most
 * of its members are left out, since 0 would be a claim.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>

#include "src/cluster/cluster.h"
#include "src/control/methods_priv.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

/* --- guests -------------------------------------------------------------- */

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

static void put_us(json_t *o, const char *key, uint64_t ns, bool known)
{
	json_object_set_new(o, key, value_us(ns, known));
}

static void put_latency(json_t *o, const struct snap_latency *l)
{
	put_u(o, "latencies", l->n);
	put_u(o, "latencies_lost", l->lost);
	put_u(o, "latencies_second", l->second_n);
	/* Of no samples in that second there is no mean: 0 us would look like a good one. */
	put_us(o, "latency_us", l->mean_ns, l->second_n);
	put_us(o, "latency_dev_us", l->dev_ns, l->second_n);
	put_us(o, "latency_p99_us", l->p99_ns, l->second_n);
}

/* In percent. */
static json_t *value_mpct(uint64_t mpct)
{
	return value_milli((int64_t)mpct);
}

/* Of the last whole second of *d; the order is that of brief_columns(). Resos: null, none came. */
enum { RATES = 7 };
static const char *const rate_key[RATES] = {
	"mtus_sent_s", "mtus_recv_s",	"bytes_sent_s",	  "bytes_recv_s",
	"cpu_percent", "resos_percent", "capped_percent",
};

static void rate_values(const struct span *d, json_t **v)
{
	const int64_t capped = d->capped_ns < d->ns ? d->capped_ns : d->ns;

	*v++ = value_u(span_rate(d, d->mtus_sent));
	*v++ = value_u(span_rate(d, d->mtus_recv));
	*v++ = value_u(span_rate(d, d->bytes_sent));
	*v++ = value_u(span_rate(d, d->bytes_recv));
	*v++ = value_mpct(span_mpct((int64_t)d->cpu_ns, d->ns));
	*v++ = d->allocated.m > 0 ? value_mpct(span_mpct(d->spent.m, d->allocated.m)) : json_null();
	*v = value_mpct(span_mpct(capped, d->ns));
}

/* null: no whole second of it was seen. */
static void put_rates(json_t *o, const struct snap_guest *s)
{
	json_t *rates, *latency, *v[RATES];

	if (!s || !s->second.ns) {
		json_object_set_new(o, "rates", json_null());
		return;
	}
	rates = json_object();
	put_u(rates, "span_us", (uint64_t)(s->second.ns / NS_PER_US));
	rate_values(&s->second, v);
	for (int i = 0; i < RATES; i++)
		json_object_set_new(rates, rate_key[i], v[i]);
	latency = s->latency.second_n ? json_object() : json_null();
	if (s->latency.second_n) {
		put_us(latency, "mean", s->latency.mean_ns, true);
		put_us(latency, "p99", s->latency.p99_ns, true);
	}
	json_object_set_new(rates, "latency_us", latency);
	json_object_set_new(o, "rates", rates);
}

static json_t *guest_row(struct call *c, const struct guest_entry *g)
{
	const struct snap_guest *s = guests_snap(g, c->sn);
	const struct guest_view v = guest_view(c->guests, g);
	json_t *o = json_object();

	put_identity(o, &v);
	put_u(o, "vcpus", v.vcpus);
	put_u(o, "weight", v.conf->weight);
	put_s(o, "link", guests_view(c->guests).conf->link[v.conf->link].name);
	put_s(o, "state", state_of(&v));
	put_cap(o, "old_cap", v.own.cap);
	/* Until the sampler sees the guest, no policy can have changed its cap. */
	put_cap(o, "cap", s ? s->applied : v.own.cap);
	put_u(o, "rings", s ? s->rings : 0);
	put_diverges(o, &v.check);
	put_rates(o, s);
	if (!s)
		return o;
	put_account(o, &s->account);
	put_usage(o, &s->total_usage);
	put_u(o, "mtus_unread", s->unread_mtus);
	put_latency(o, &s->latency);
	return o;
}

enum { BRIEF_COLUMNS = 14 + RATES };

/* Of guest_row() what resex list and top show, in the order of brief_columns(). */
static void brief_values(struct call *c, const struct guest_entry *g, json_t **v)
{
	const struct snap_guest *s = guests_snap(g, c->sn);
	const struct guest_view view = guest_view(c->guests, g);

	*v++ = value_s(view.name);
	*v++ = value_s(view.uuid);
	*v++ = value_u(view.key.domid);
	*v++ = value_u(view.vcpus);
	*v++ = value_u(view.conf->weight);
	*v++ = value_s(state_of(&view));
	*v++ = value_cap(s ? s->applied : view.own.cap);
	*v++ = value_u(s ? s->rings : 0);
	*v++ = s ? value_resos(s->account.allocated) : json_null();
	*v++ = s ? value_resos(s->account.balance) : json_null();
	*v++ = s ? value_u(s->total_usage.mtus_sent) : json_null();
	*v++ = s ? value_u(s->total_usage.mtus_recv) : json_null();
	*v++ = value_us(s ? s->latency.mean_ns : 0, s && s->latency.second_n);
	*v++ = value_us(s ? s->latency.p99_ns : 0, s && s->latency.second_n);
	if (s && s->second.ns)
		rate_values(&s->second, v);
	for (int i = 0; i < RATES && !(s && s->second.ns); i++)
		*v++ = json_null();
}

/* An array a member, not an object a guest: of many guests, JSON is most of what a list takes. */
static json_t *brief_columns(struct call *c)
{
	static const char *const key[BRIEF_COLUMNS - RATES] = {
		"name",	     "uuid",	  "domid",	"vcpus",	  "weight",
		"state",     "cap",	  "rings",	"allocated",	  "balance",
		"mtus_sent", "mtus_recv", "latency_us", "latency_p99_us",
	};
	json_t *o = json_object(), *column[BRIEF_COLUMNS], *v[BRIEF_COLUMNS];

	for (int i = 0; i < BRIEF_COLUMNS; i++) {
		const int rate = i - (BRIEF_COLUMNS - RATES);

		column[i] = json_array();
		json_object_set_new(o, rate < 0 ? key[i] : rate_key[rate], column[i]);
	}
	for (const struct guest_entry *g = guests_next(c->guests, NULL); g;
	     g = guests_next(c->guests, g)) {
		brief_values(c, g, v);
		for (int i = 0; i < BRIEF_COLUMNS; i++)
			json_array_append_new(column[i], v[i]);
	}
	return o;
}

int cmd_list(struct call *c, const json_t *params, json_t **result)
{
	const struct guests_view all = guests_view(c->guests);
	bool brief = json_is_true(json_object_get(params, "brief"));

	*result = json_object();
	put_b(*result, "simulated", all.hv->simulated);
	put_u(*result, "epoch", c->sn->epoch);
	put_s(*result, "policy", all.policy->ops->name);
	put_b(*result, "observe", all.observe);
	put_b(*result, "paused", all.paused);
	json_object_set_new(*result, "guests",
			    brief ? brief_columns(c) : guest_rows(c, NULL, guest_row));
	return 0;
}

static json_t *link_row(const struct guests *gs, uint32_t i)
{
	const struct link_conf *l = &guests_view(gs).conf->link[i];
	const char *port = guests_view(gs).conf->link_counter[i].text;
	const struct check_view check = guests_link_check(gs, i);
	json_t *o = json_object();

	put_s(o, "name", l->name);
	put_u(o, "bytes_s", l->bytes_s);
	put_u(o, "mtu", l->mtu);
	put_s(o, "profile", l->profile == PRICE_PAPER_2011 ? "paper-2011" : "scaled");
	put_name(o, "port", port[0] ? port : NULL);
	put_check(o, "counter", &check);
	return o;
}

/* The names of the counters that this host has. */
static json_t *counter_names(const struct counter_ops *const *ops)
{
	json_t *arr = json_array();

	for (size_t i = 0; ops && ops[i]; i++)
		json_array_append_new(arr, json_string(ops[i]->name));
	return arr;
}

static json_t *scheduler_names(const struct guests *gs)
{
	enum { SCHEDULERS_MAX = 8 }; /* Xen has five */
	const char *names[SCHEDULERS_MAX];
	size_t n = guests_schedulers(gs, names, SCHEDULERS_MAX);
	json_t *arr = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(arr, value_s(names[i]));
	return arr;
}

static json_t *provider_names(const struct ring_layouts *ls)
{
	json_t *arr = json_array();
	const char *name;

	for (uint32_t p = GUEST_PROVIDER_RXE; p <= GUEST_PROVIDER_MLX4; p++)
		if (ring_provider(p))
			json_array_append_new(arr, json_string(ring_provider(p)));
	for (uint32_t i = 0; (name = ring_layout_loaded(ls, i)) != NULL; i++)
		json_array_append_new(arr, json_string(name));
	return arr;
}

/* How well the 1 ms path keeps its time: an overloaded dom0 shows here first. */
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

int cmd_info(struct call *c, const json_t *params, json_t **result)
{
	const struct guests_view all = guests_view(c->guests);
	json_t *links = json_array(), *o = json_object();
	uint64_t calls = 0, pages = 0;

	(void)params;
	put_s(o, "version", PACKAGE_VERSION);
	put_s(o, "hv", all.hv->name);
	put_b(o, "simulated", all.hv->simulated);
	json_object_set_new(o, "schedulers", scheduler_names(c->guests));
	put_u(o, "realtime_priority", all.conf->realtime_priority);
	put_b(o, "lock_memory", all.conf->lock_memory);
	put_b(o, "observe", all.observe);
	put_b(o, "paused", all.paused);
	put_s(o, "policy", all.policy->ops->name);
	put_policy_note(o, c);
	put_b(o, "needs_reports", all.policy->ops->needs_reports);
	put_u(o, "interval_ns", (uint64_t)all.conf->interval_ns);
	put_u(o, "epoch_ns", (uint64_t)all.conf->epoch_ns);
	put_u(o, "epoch", c->sn->epoch);
	put_resos(o, "supply", c->sn->supply);
	put_resos(o, "overcommit", c->sn->overcommit);
	put_resos(o, "dropped", c->sn->dropped);
	put_u(o, "guests", c->sn->guests);
	put_cluster(o, c->cluster); /* also of a host alone: the same members, all null */
	put_ticks(o, c->sn);
	guests_mapped(c->guests, &calls, &pages);
	put_u(o, "map_calls", calls);
	put_u(o, "mapped_pages", pages);
	put_u(o, "events_lost", all.events_lost);
	json_object_set_new(o, "queues_read", provider_names(all.layouts));
	put_s(o, "queues_note", ring_providers_note());
	put_trace(o, "trace", guests_trace(c->guests));
	for (uint32_t i = 0; i < all.conf->links; i++)
		json_array_append_new(links, link_row(c->guests, i));
	json_object_set_new(o, "links", links);
	put_b(o, "crosscheck", !all.conf->crosscheck.off && all.counters);
	json_object_set_new(o, "counters", counter_names(all.counters));
	*result = o;
	return 0;
}

/* As it is written in the settings. */
static void put_unreadable(json_t *o, const struct unreadable_conf *u)
{
	if (u->mode == UNREADABLE_RATE)
		put_u(o, "unreadable", u->bytes_s);
	else
		put_s(o, "unreadable", u->mode == UNREADABLE_NOTHING ? "nothing" : "last-rate");
}

/* null: no base is promised, and the policy learns one. */
static void put_sla(json_t *o, const struct sla *sla)
{
	json_t *s = json_object();

	put_u(s, "tolerance", sla->tolerance);
	put_us(s, "base_us", sla->base_ns, sla->base_ns);
	put_us(s, "base_io_us", sla->base_io_ns, sla->base_ns);
	put_us(s, "base_deviation_us", sla->base_dev_ns, sla->base_ns);
	json_object_set_new(o, "sla", s);
}

/* Also the reply of guest-set, which shows so what now holds. */
int cmd_guest_show(struct call *c, const json_t *params, json_t **result)
{
	const struct guest_entry *g = find_guest(c, params);
	const struct snap_guest *s;
	struct guest_view v;
	json_t *u;

	if (!g)
		return c->exit;
	v = guest_view(c->guests, g);
	*result = guest_row(c, g);
	put_u(*result, "min_cap", v.conf->min_cap);
	put_cap(*result, "max_cap", cap_from_percent((uint32_t)v.conf->max_cap));
	put_b(*result, "exempt", v.conf->exempt);
	put_unreadable(*result, &v.conf->unreadable);
	put_b(*result, "set", v.set);
	put_sla(*result, &v.conf->sla);
	put_s(*result, "note", v.cap_note);
	put_s(*result, "counter", v.conf->counter.text[0] ? v.conf->counter.text : "auto");
	s = guests_snap(g, c->sn);
	if (!s)
		return 0;
	put_u(*result, "sampled_ns", (uint64_t)c->sn->time.ns);
	u = json_object();
	put_usage(u, &s->epoch_usage);
	json_object_set_new(*result, "this_epoch", u);
	put_u(*result, "cap_changes", s->cap_changes);
	return 0;
}

/* --- rings ---------------------------------------------------------------- */

/* In the order of the bits of enum sample_flags; resex(1) says how exact counts then are. */
static void put_flags(json_t *o, uint32_t flags)
{
	static const char *const names[] = { "lapped",	"wrs-bounded", "mtus-estimated",
					     "history", "uncharged",   "mtus-guessed" };
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

/* Of a plug-in, the name of its layout. */
static const char *provider_of(const struct ring_layouts *ls, const struct ring_desc *d)
{
	const char *name = ring_provider(d->provider);

	return name ? name : ring_layout_name(ls, d->provider, d->kind);
}

static json_t *ring_row(const struct ring_layouts *ls, const struct guest_ring_info *info,
			const struct ring_totals *t)
{
	json_t *o = json_object();

	put_u(o, "id", info->desc.id);
	put_s(o, "state", info->active ? "active" : "dropped");
	put_s(o, "fault", info->fault ? ring_fault_text(info->fault) : "");
	if (info->desc.kind) { /* 0: the registry has no good descriptor of it */
		put_s(o, "kind", info->desc.kind == RING_CQ ? "CQ" : "SQ");
		put_name(o, "provider", provider_of(ls, &info->desc));
		put_u(o, "entries", info->desc.entries);
		put_u(o, "path_mtu", info->desc.path_mtu);
		put_u(o, "pid", info->desc.pid);
		put_s(o, "comm", info->desc.comm);
		/* The agent's claim, until an entry of the ring names the queue pair. */
		put_u(o, "qpn", t && t->qpn ? t->qpn : info->desc.number);
	}
	if (t)
		put_totals(o, t);
	return o;
}

/*
 * "totals" is comparable with the guest's account: all send queues, those that are gone too.
 * Completion queues are left out, since their entries complete the work that the send queues
 * already count.
 */
static json_t *rings_of(struct call *c, const struct guest_entry *g)
{
	json_t *o = json_object(), *arr = json_array(), *gone = json_object(), *all = json_object();
	const struct guest_view v = guest_view(c->guests, g);
	const struct ring_layouts *layouts = guests_view(c->guests).layouts;
	struct ring_totals sum = { 0 }, left = { 0 }, t;
	struct guest_ring_info info;
	struct guest_state st;

	guest_state(v.mon, c->sn->time, &st);
	put_identity(o, &v);
	put_b(o, "attached", st.attached);
	put_b(o, "agent_silent", v.agent_silent);
	put_s(o, "fault", st.fault);
	put_u(o, "agent_pid", st.agent_pid);
	put_u(o, "heartbeat", st.heartbeat);
	put_u(o, "pages", st.pages);
	put_u(o, "walks", st.walks);
	put_u(o, "maps", st.maps);
	put_u(o, "faults_more", st.faults_more);
	put_u(o, "unreadable_rings", st.unreadable);
	put_b(o, "forged", st.forged);
	put_u(o, "forged_times", st.forged_times);
	put_u(o, "qps_read", st.qps_read);
	put_u(o, "missed_qps", st.qps_missed);
	put_u(o, "resumed_qps", st.qps_resumed);
	put_u(o, "unpublished_qps", st.unpublished);
	put_check(o, "counter", &v.check);
	for (uint32_t i = 0; guest_ring_info(v.mon, i, &info); i++) {
		/* A ring that the sampler did not read yet gets a row without counts. */
		bool shown = guest_ring_shown(v.mon, i, &t);

		json_array_append_new(arr, ring_row(layouts, &info, shown ? &t : NULL));
		if (shown && info.desc.kind == RING_SQ)
			ring_totals_add(&sum, &t);
	}
	json_object_set_new(o, "rings", arr);
	guest_gone(v.mon, &left);
	put_totals(gone, &left);
	json_object_set_new(o, "gone", gone);
	ring_totals_add(&sum, &left);
	put_totals(all, &sum);
	json_object_set_new(o, "totals", all);
	return o;
}

/*
 * The totals are the sampler's, which alone may read the rings: ask for copies and wait. Without
 * an answer there is an error, not rows without counts, which would look like idle queues.
 */
int cmd_ring_list(struct call *c, const json_t *params, json_t **result)
{
	bool one = json_object_get(params, "guest");
	const struct guest_entry *g = one ? find_guest(c, params) : NULL;
	int rc = one && !g ? c->exit : guests_rings(c->guests, &c->ask, c->now);

	if (rc == -EAGAIN)
		return CALL_LATER;
	if (rc == -ETIMEDOUT)
		rc = call_fail(c, RESEX_FAILURE,
			       "the sampler does not answer: see \"late ticks\" in resex info");
	if (!rc) {
		*result = json_object();
		json_object_set_new(*result, "guests", guest_rows(c, g, rings_of));
	}
	guests_rings_end(c->guests, &c->ask);
	return rc;
}
