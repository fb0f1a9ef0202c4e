// SPDX-License-Identifier: GPL-2.0-or-later
/* replay_diff: the first difference between a trace's record and the replay's, in words. */
#include <stdlib.h>

#include "src/lab/replay.h"

/* Members of a guest in DECIDED, and in ACCOUNTS, in the order of src/tick/tape.c. */
static const char *const decided[] = {
	"cap + 1 (milli-percent)",     "rate",	       "reason",
	"number of its last cap sent", "percent sent", NULL,
};
static const char *const accounts[] = {
	"flags",
	"link",
	"VCPUs",
	"weight",
	"rate in force",
	"allocated",
	"balance",
	"spent",
	"overdraft",
	"charged for I/O",
	"charged for CPU",
	"fraction for I/O",
	"fraction for CPU",
	"capped",
	"cap",
	"rate",
	"reason",
	"VF rate",
	"why[0]",
	"why[1]",
	"why[2]",
	"why[3]",
	"stands",
	NULL,
};

static struct trace_in payload_of(const uint8_t *record)
{
	return (struct trace_in){ .at = record + TRACE_RECORD_HEAD,
				  .end = record + TRACE_RECORD_HEAD + trace_load32(record + 1) };
}

static uint32_t domid_of(const struct replay *r, uint64_t slot)
{
	const struct set_guest *g = r->s.slot[slot % FLOW_GUESTS_MAX].guest;

	return g ? g->key.domid : 0;
}

/* The first guest, and member, that differ. */
static void say_member(struct replay *r, const uint8_t *theirs, const uint8_t *mine,
		       const char *const *name, char *text, size_t size)
{
	struct trace_in a = payload_of(theirs), b = payload_of(mine);
	struct replay_place *at = &r->place;

	while (!a.bad && !b.bad) {
		uint64_t x = trace_get(&a, FLOW_GUESTS_MAX), y = trace_get(&b, FLOW_GUESTS_MAX);

		if (x != y || !x) {
			const bool trace = x && (!y || x < y);

			at->in = trace ? "trace" : "replay";
			at->domid = domid_of(r, (trace ? x : y) - 1);
			snprintf(text, size, "of domain %u only in the %s", at->domid, at->in);
			return;
		}
		at->domid = domid_of(r, x - 1);
		for (uint32_t i = 0; name[i]; i++) {
			uint64_t v = trace_get(&a, UINT64_MAX), w = trace_get(&b, UINT64_MAX);

			if (v == w)
				continue;
			at->member = name[i];
			at->theirs = (int64_t)v;
			at->mine = (int64_t)w;
			snprintf(text, size,
				 "of domain %u, %s: the trace has %lld, the replay %lld", at->domid,
				 name[i], (long long)v, (long long)w);
			return;
		}
	}
	snprintf(text, size, "of the length of the record");
}

void replay_difference(struct replay *r, const uint8_t *theirs, const uint8_t *mine,
		       char why[REPLAY_TEXT])
{
	static const char *const what[TRACE_KINDS] = {
		[TRACE_DECIDED] = "decision", [TRACE_ACCOUNTS] = "account"
	};
	enum trace_kind is = theirs ? theirs[0] : 0, was = mine ? mine[0] : 0;
	char text[REPLAY_TEXT / 2] = "";

	r->place = (struct replay_place){ .record = what[is]	? what[is]
						    : what[was] ? what[was]
								: "input",
					  .in = "both" };
	if (is == was && is == TRACE_DECIDED) {
		say_member(r, theirs, mine, decided, text, sizeof(text));
	} else if (is == was && is == TRACE_ACCOUNTS) {
		say_member(r, theirs, mine, accounts, text, sizeof(text));
	} else if (!what[is] == !what[was]) {
		snprintf(text, sizeof(text), "of kinds %d in the trace, %d in the replay", is, was);
	} else {
		r->place.in = what[is] ? "trace" : "replay";
		snprintf(text, sizeof(text), "only in the %s", r->place.in);
	}
	snprintf(why, REPLAY_TEXT, "tick %llu, %.3f s after the first: another %s, %s",
		 (unsigned long long)r->ticks, (double)mono_sub(r->now, r->first) / 1e9,
		 r->place.record, text);
}
