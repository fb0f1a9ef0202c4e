// SPDX-License-Identifier: GPL-2.0-or-later
/* replay_show: what resex-lab replay prints. See replay_show.h. */
#include "src/lab/replay_show.h"

#include <stdio.h>

static double since(const struct replay *r, struct mono t)
{
	return (double)mono_sub(t, r->first) / 1e9;
}

static double seconds(const struct replay *r)
{
	return since(r, r->now);
}

static const char *cap_text(struct cap c, char text[16])
{
	snprintf(text, 16, c.limited ? "%u" : "none", cap_to_percent(c));
	return text;
}

static void print_guest(const struct replay_guest *g, const char *policy)
{
	char cap[16], lowest[16] = "none";

	if (g->lowest)
		snprintf(lowest, sizeof(lowest), "%u", g->lowest);
	printf("%5u %-11s %9.3f %9.3f %4s %6s %6llu %11lld %11lld\n", g->domid, policy,
	       (double)g->ns / 1e9, (double)g->capped_ns / 1e9, cap_text(g->cap, cap), lowest,
	       (unsigned long long)g->caps, (long long)(g->spent.spent.m / RESO_MILLI),
	       (long long)(g->spent.overdraft.m / RESO_MILLI));
}

void replay_note_apart(const struct replay *was, const struct replay *is, int64_t ns,
		       struct replay_apart *apart)
{
	for (uint32_t i = slot_bit_next(&was->s.used, 0); i < FLOW_GUESTS_MAX;
	     i = slot_bit_next(&was->s.used, i + 1)) {
		const uint64_t created = was->guest[i].created;

		if (apart->of[i].created != created) {
			apart->of[i].created = created;
			apart->of[i].ns = 0;
		}
		if (cap_equal(was->s.slot[i].applied, is->s.slot[i].applied))
			continue;
		if (!apart->some)
			apart->first = is->now;
		if (!apart->of[i].ns)
			apart->of[i].first = is->now;
		apart->some = true;
		apart->of[i].ns += ns;
	}
}

static void print_apart(const struct replay *was, const struct replay_apart *apart)
{
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (apart->of[i].ns)
			printf("domain %u may have behaved otherwise from %.3f s on:\n"
			       "its cap was another one for %.3f s.\n",
			       was->guest[i].domid, since(was, apart->of[i].first),
			       (double)apart->of[i].ns / 1e9);
	if (apart->some)
		printf("A trace does not say what guests do under other caps: the figures go by "
		       "what\nthey did under the recorded ones. So they are certain up to %.3f s "
		       "alone.\n",
		       since(was, apart->first));
	else
		puts("No guest had another cap at any time: each would have done what it did.");
}

static void print_both(const struct replay_result *res)
{
	printf("%5s %-11s %9s %9s %4s %6s %6s %11s %11s\n", "DOMID", "POLICY", "SECONDS",
	       "CAPPED-S", "CAP", "LOWEST", "CAPS", "SPENT", "OVERDRAFT");
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		if (!res->was->guest[i].created)
			continue;
		print_guest(&res->was->guest[i], "as recorded");
		print_guest(&res->is->guest[i], res->is->other->ops->name);
	}
	puts("");
	print_apart(res->was, res->apart);
}

void replay_show_text(const struct replay_result *res)
{
	const struct replay *was = res->was;

	if (res->why) {
		printf("%s: not as recorded: %s\n", res->file, res->why);
		return;
	}
	if (!res->is) {
		printf("%s: as recorded: %llu ticks, %.3f s, policy %s: each decision and each "
		       "balance is the same\n",
		       res->file, (unsigned long long)was->ticks, seconds(was),
		       was->policy->ops->name);
		return;
	}
	printf("%s: %llu ticks, %.3f s: policy %s as recorded, beside policy %s\n\n", res->file,
	       (unsigned long long)was->ticks, seconds(was), was->policy->ops->name,
	       res->is->other->ops->name);
	print_both(res);
}

/* --- JSON ----------------------------------------------------------------------------- */

static json_t *cap_json(bool limited, uint32_t percent)
{
	return limited ? json_integer(percent) : json_null();
}

static json_t *guest_json(const struct replay_guest *g)
{
	return json_pack("{s:f,s:f,s:o,s:o,s:I,s:I,s:I}", "seconds", (double)g->ns / 1e9,
			 "capped_s", (double)g->capped_ns / 1e9, "cap",
			 cap_json(g->cap.limited, cap_to_percent(g->cap)), "lowest",
			 cap_json(g->lowest, g->lowest), "caps", (json_int_t)g->caps, "spent",
			 (json_int_t)(g->spent.spent.m / RESO_MILLI), "overdraft",
			 (json_int_t)(g->spent.overdraft.m / RESO_MILLI));
}

static json_t *guests_json(const struct replay_result *res)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		const struct replay_guest *g = &res->was->guest[i];
		const int64_t ns = res->apart->of[i].ns;

		if (!g->created)
			continue;
		json_array_append_new(
			list, json_pack("{s:i,s:o,s:o,s:o,s:f}", "domain", (int)g->domid,
					"recorded", guest_json(g), "other",
					guest_json(&res->is->guest[i]), "apart_from_s",
					ns ? json_real(since(res->was, res->apart->of[i].first))
					   : json_null(),
					"apart_s", (double)ns / 1e9));
	}
	return list;
}

static json_t *difference_json(const struct replay_result *res)
{
	const struct replay_place *d = &res->was->place;
	json_t *member = json_null();

	if (d->member)
		member = json_pack("{s:s,s:I,s:I}", "name", d->member, "trace",
				   (json_int_t)d->theirs, "replay", (json_int_t)d->mine);
	return json_pack("{s:I,s:f,s:s,s:s,s:o,s:o,s:s}", "tick", (json_int_t)res->was->ticks,
			 "at_s", seconds(res->was), "record", d->record, "in", d->in, "domain",
			 d->domid ? json_integer(d->domid) : json_null(), "member", member, "text",
			 res->why);
}

json_t *replay_show_json(const struct replay_result *res)
{
	const struct replay *was = res->was;
	json_t *all = json_pack("{s:s,s:b,s:s,s:I,s:I,s:f,s:b,s:b,s:o}", "file", res->file,
				"simulated", was->conf.simulated, "policy", was->policy->ops->name,
				"ticks", (json_int_t)was->ticks, "epochs", (json_int_t)was->epochs,
				"seconds", seconds(was), "whole", was->file.whole, "equal",
				!res->why, "difference",
				res->why ? difference_json(res) : json_null());

	if (!all || !res->is || res->why)
		return all;
	json_object_set_new(all, "other", json_string(res->is->other->ops->name));
	json_object_set_new(
		all, "certain_s",
		json_real(res->apart->some ? since(was, res->apart->first) : seconds(was)));
	json_object_set_new(all, "guests", guests_json(res));
	return all;
}
