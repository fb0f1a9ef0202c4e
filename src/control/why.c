// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * why: why guests are capped or not, in one sentence each, and the events. The policy knows its
 * reason; this file knows what keeps policies from a guest, and what the cross-check found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cluster/cluster.h"
#include "src/control/methods_priv.h"

enum {
	REASON_MAX = 512, /* of a policy; the row has more room, for what is appended */
	NAMES_MAX = 4,	  /* listed; of others only how many they are */
	FIGURE_MAX = (NAMES_MAX + 1) * FLOW_NAME_MAX,
};

const char *const why_says[] = {
	[WHY_NOT_SAMPLED] = "not sampled yet",
	[WHY_CONFIGURED] = "exempt by its settings",
	[WHY_RELEASED] = "released by cap-release",
	[WHY_PAUSED] = "paused: its own cap holds until resex resume",
	[WHY_UNCAPPABLE] = "not cappable: ",
	[WHY_UNDECIDED] = "its settings have just changed, and no policy has decided on "
			  "it since",
	[WHY_MAX_CAP] = " percent, by its settings",
	[WHY_OWN_CAP] = " percent, its own",
	[WHY_NO_MORE] = "its settings allow no more",
	[WHY_OBSERVED] = "resexd only observes: this cap is not set",
	[WHY_FORGED] = "publishes queues that cannot be read: their memory is forged, or its agent "
		       "does not follow",
	[WHY_DIVERGES] = ": queue pairs it hides, READs it serves to other hosts, or traffic that "
			 "is not RDMA",
};

/* For "guest %1g". The guest that a policy blames may have left since it decided. */
static const char *slot_name(const struct guests *gs, int64_t slot)
{
	const char *name = guests_name_at(gs, slot);

	return name ? name : "that left";
}

static const char *sentence_of(const struct policy_ops *ops, uint32_t reason)
{
	const char *f = "";

	/* Walk to the end: only the NULL there shows how many reasons a policy has. */
	for (uint32_t i = 0; ops->reasons && ops->reasons[i]; i++)
		if (i == reason)
			f = ops->reasons[i];
	return f;
}

/* Is this guest charged because of the guest in that slot: does its reason say so by "%0a"? */
static bool is_charged_for(const struct policy_ops *ops, const struct snap_guest *s, int64_t slot)
{
	const char *f = sentence_of(ops, s->plan.reason);

	while ((f = strchr(f, '%')) != NULL && f[1]) {
		f++;
		if (f[0] >= '0' && f[0] <= '3' && f[1] == 'a' && s->plan.why[f[0] - '0'] == slot)
			return s->slot != slot;
	}
	return false;
}

/* For "because of %2a": "bulk", "a, b", "a, b, c, d and 3 more". */
static void list_charged(const struct guests *gs, const struct snapshot *sn, int64_t slot,
			 char *out, size_t size)
{
	uint32_t n = 0;
	size_t at = 0;

	for (uint32_t i = 0; i < sn->guests; i++) {
		if (!is_charged_for(sn->policy, &sn->guest[i], slot))
			continue;
		if (n++ < NAMES_MAX)
			at += (size_t)snprintf(out + at, size - at, "%s%s", at ? ", " : "",
					       slot_name(gs, sn->guest[i].slot));
	}
	if (n > NAMES_MAX)
		snprintf(out + at, size - at, " and %u more", n - NAMES_MAX);
	else if (!n) /* their turn has not come, or they are charged for another guest */
		snprintf(out, size, "none so far");
}

/* One figure in the unit of its suffix (policy.h): policies are pure, and print nothing. */
static void format_figure(const struct guests *gs, const struct snapshot *sn, char suffix,
			  int64_t v, char *out, size_t size)
{
	long long whole = v, part = llabs(v % 1000);

	switch (suffix) {
	case 'm':
		snprintf(out, size, "%lld", whole / 1000);
		break;
	case 'c':
		snprintf(out, size, "%u",
			 cap_to_percent((struct cap){ v > 0, v > 0 ? (uint32_t)v : 0 }));
		break;
	case 'd':
		snprintf(out, size, "%lld.%02lld", whole / 1000, part / 10);
		break;
	case 'p':
		snprintf(out, size, "%lld.%lld", whole / 10, part % 10);
		break;
	case 'g':
		snprintf(out, size, "%s", slot_name(gs, v));
		break;
	case 'a':
		list_charged(gs, sn, v, out, size);
		break;
	default:
		snprintf(out, size, "%lld", whole);
	}
}

/*
 * The reason's sentence with its figures. It is copied character by character, and is never a
 * printf format: a policy's text, or a figure that it got from a guest, must not read other memory.
 */
static void reason_text(const struct guests *gs, const struct snapshot *sn,
			const struct plan_guest *p, char *out, size_t size)
{
	const char *f = sentence_of(sn->policy, p->reason);
	size_t n = 0;

	/* Each step adds one character or one figure. */
	for (; *f && n + FLOW_NAME_MAX < size; f++) {
		char figure[FIGURE_MAX], suffix;
		size_t len;

		if (*f != '%' || !((f[1] >= '0' && f[1] <= '3') || f[1] == 'r')) {
			out[n++] = *f;
			continue;
		}
		f++;
		suffix = *f != 'r' && f[1] && strchr("mcdpga", f[1]) ? f[1] : 0;
		if (*f == 'r')
			format_figure(gs, sn, 'd', (int64_t)p->rate.q16 * 1000 / RATE_ONE.q16,
				      figure, sizeof(figure));
		else
			format_figure(gs, sn, suffix, p->why[*f - '0'], figure, sizeof(figure));
		len = strlen(figure);
		if (len >= size - n)
			len = size - n - 1;
		memcpy(out + n, figure, len);
		n += len;
		f += suffix != 0;
	}
	out[n] = 0;
}

/* One more of what is to be said of a guest: a figure or a name may stand before or behind it. */
static void append(char *text, size_t size, const char *before, enum why_kind kind,
		   const char *behind)
{
	size_t n = strlen(text);

	snprintf(text + n, size - n, "%s%s%s%s", n ? "; " : "", before, why_says[kind], behind);
}

/* Is the cap in force the highest that the settings allow? It is not set while resexd observes. */
static bool is_highest(struct call *c, const struct guest_view *g, const struct snap_guest *s)
{
	return !guests_view(c->guests).observe && s->applied.limited &&
	       cap_to_percent(s->applied) == g->conf->max_cap;
}

/*
 * A policy that wants no cap does not know that the settings keep the cap from being lifted, nor
 * that the guest has a cap of its own.
 */
static void append_cap(struct call *c, const struct guest_view *g, const struct snap_guest *s,
		       char *text, size_t size)
{
	char before[32];

	if (!s->applied.limited || s->plan.cap.limited || g->alone)
		return;
	snprintf(before, sizeof(before), "cap %u", cap_to_percent(s->applied));
	if (is_highest(c, g, s))
		append(text, size, before, WHY_MAX_CAP, "");
	else if (cap_equal(s->applied, g->own.cap))
		append(text, size, before, WHY_OWN_CAP, "");
}

/* The policy's reason; behind another cap, as what the policy wants. */
static void append_reason(struct call *c, const struct guest_view *g, const struct snap_guest *s,
			  char *text, size_t size)
{
	size_t n = strlen(text);
	char reason[REASON_MAX];

	reason_text(c->guests, c->sn, &s->plan, reason, sizeof(reason));
	snprintf(text + n, size - n, "%s%s%s", n ? "; " : "",
		 n && !strncmp(reason, "no cap", 6) ? "the policy wants " : "", reason);
	if (s->plan.cap.limited && is_highest(c, g, s))
		append(text, size, "", WHY_NO_MORE, "");
}

/* Of every guest, capped or not: it may be charged too little. A counter cannot show why. */
static void append_divergence(const struct guest_entry *g, char *text, size_t size)
{
	char what[192];

	guest_divergence(g, what, sizeof(what));
	if (what[0])
		append(text, size, what, WHY_DIVERGES, "");
}

/*
 * Has the policy decided on the guest as it is now? Until the sampler takes up a set in which
 * settings are new, or a pause has ended, plans are those of the settings before.
 */
static bool is_decided(const struct snap_guest *s)
{
	return !(s->set_flags & POLICY_EXEMPT) && s->set_flags & POLICY_CAPPABLE;
}

/* What keeps policies from a guest, or why a policy wants what it wants. */
static void main_text(struct call *c, const struct guest_view *v, const struct snap_guest *s,
		      char *text, size_t size)
{
	const bool decided = s && !v->alone && v->cappable && is_decided(s);

	/* A policy's reason may begin with "no cap": the cap that there is comes first. */
	if (decided)
		append_cap(c, v, s, text, size);
	/* A plan exists also for guests that no policy may cap: look for that first. */
	if (!s)
		append(text, size, "", WHY_NOT_SAMPLED, "");
	else if (v->conf->exempt)
		append(text, size, "", WHY_CONFIGURED, "");
	else if (v->released)
		append(text, size, "", WHY_RELEASED, "");
	else if (v->paused)
		append(text, size, "", WHY_PAUSED, "");
	else if (!v->cappable)
		append(text, size, "", WHY_UNCAPPABLE, v->cap_note);
	else if (!is_decided(s))
		append(text, size, "", WHY_UNDECIDED, "");
	else
		append_reason(c, v, s, text, size);
	if (s && !decided)
		append_cap(c, v, s, text, size);
}

static json_t *why_row(struct call *c, const struct guest_entry *g)
{
	const struct snap_guest *s = guests_snap(g, c->sn);
	const struct guest_view v = guest_view(c->guests, g);
	char text[REASON_MAX + 512] = "";
	const bool observe = guests_view(c->guests).observe;
	json_t *o = json_object();

	put_identity(o, &v);
	put_cap(o, "cap", s ? s->applied : v.own.cap);
	main_text(c, &v, s, text, sizeof(text));
	if (s && observe && s->plan.cap.limited && !v.alone)
		append(text, sizeof(text), "", WHY_OBSERVED, "");
	if (v.forged) /* of every guest, too: it may be charged too little */
		append(text, sizeof(text), "", WHY_FORGED, "");
	append_divergence(g, text, sizeof(text));
	put_s(o, "text", text);
	if (s)
		put_account(o, &s->account);
	return o;
}

int cmd_why(struct call *c, const json_t *params, json_t **result)
{
	bool one = json_object_get(params, "guest");
	const struct guest_entry *g = one ? find_guest(c, params) : NULL;

	if (one && !g)
		return c->exit;
	*result = json_object();
	put_s(*result, "policy", guests_view(c->guests).policy->ops->name);
	put_b(*result, "also_node",
	      one && c->cluster &&
		      cluster_node_find(cluster_conf(c->cluster),
					json_string_value(json_object_get(params, "guest"))));
	json_object_set_new(*result, "guests", guest_rows(c, g, why_row));
	return 0;
}

/* --- events ----------------------------------------------------------------- */

/* Does an event name this guest? The guest may be gone. */
static bool has_events(const struct guests *gs, const char *name)
{
	const struct event_text *e;

	for (uint64_t id = 0; (e = guests_event_after(gs, id)) != NULL; id = e->id)
		if (!strcmp(e->guest, name))
			return true;
	return false;
}

/* Is there such a kind of events? Otherwise the error names those there are. */
static bool is_event_kind(struct call *c, const char *kind)
{
	char list[512] = "";
	const char *k;
	size_t at = 0;

	for (size_t i = 0; (k = guests_event_kind(i)) != NULL; i++) {
		if (!strcmp(k, kind))
			return true;
		if (at < sizeof(list))
			at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "",
					       k);
	}
	call_fail(c, RESEX_USAGE, "no event is of kind \"%.32s\": the kinds are %s", kind, list);
	return false;
}

/*
 * The events after number "since". "newest" is the newest of all guests' events: with it as the
 * next "since", a client misses none and gets none twice, whatever guest it asks about.
 */
int cmd_events(struct call *c, const json_t *params, json_t **result)
{
	json_int_t since = json_integer_value(json_object_get(params, "since"));
	const char *name = json_string_value(json_object_get(params, "guest"));
	const char *kind = json_string_value(json_object_get(params, "kind"));
	const struct guests *gs = c->guests;
	uint64_t id = since > 0 ? (uint64_t)since : 0;
	const struct guest_entry *g = name ? guests_find(c->guests, name) : NULL;
	const struct event_text *e;
	json_t *arr;

	if (g) { /* events hold names, and the request may have an id or a UUID */
		name = guest_view(gs, g).name;
	} else if (name && !has_events(gs, name)) {
		find_guest(c, params); /* for its error */
		return c->exit;
	}
	if (kind && !is_event_kind(c, kind))
		return c->exit;
	arr = json_array();
	for (; (e = guests_event_after(gs, id)) != NULL; id = e->id) {
		json_t *o;

		if ((name && strcmp(name, e->guest) != 0) || (kind && strcmp(kind, e->kind) != 0))
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
	put_u(*result, "newest", guests_view(gs).newest_event);
	json_object_set_new(*result, "events", arr);
	return 0;
}
