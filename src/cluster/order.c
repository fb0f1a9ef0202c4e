// SPDX-License-Identifier: GPL-2.0-or-later
/* order: see order.h. */
#include "src/cluster/order.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/reconf/move.h"

static void say_under_way(const struct order *o, char why[static CLUSTER_WHY_TEXT])
{
	const struct cluster_move *m = o->move;

	if (m)
		snprintf(
			why, CLUSTER_WHY_TEXT,
			"the move of %s to %s, which %s began %lld ms ago, is under way: try again "
			"when resex history shows its end",
			m->node, m->taker, strcmp(m->why, "order") ? "this host" : "an operator",
			(long long)(o->move_ns / NS_PER_MS));
	else
		snprintf(why, CLUSTER_WHY_TEXT, "another move is under way: try again");
}

/*
 * Of kind switch, the node serves the service of its word when its host is ready for it. A word of
 * a newer fence may name the same service.
 */
static bool is_ready(const struct cluster_node_seen *s)
{
	return s->conf->kind != CLUSTER_NODE_SWITCH ||
	       region_word_id(s->ready) == region_word_id(s->word);
}

/* Its word names the taker already. Is anything still to be done for that? */
static int check_same(const struct order *o, char why[static CLUSTER_WHY_TEXT])
{
	const struct cluster_node_seen *s = o->node;

	if (!s->kept) {
		snprintf(why, CLUSTER_WHY_TEXT,
			 "its move to %s is not done: %s has not saved it yet, and the node does "
			 "not count before: see resex events on %s if that lasts",
			 o->taker->name, s->host->name, s->host->name);
		return -EINPROGRESS;
	}
	if (!is_ready(s)) {
		snprintf(why, CLUSTER_WHY_TEXT,
			 "its move to %s is not done: %s prepares it for %lld ms now (phase %s): "
			 "wait until resex node-list shows it as ready, or move it to another "
			 "service",
			 o->taker->name, s->host->name, (long long)(o->pending_ns / NS_PER_MS),
			 s->phase_name);
		return -EINPROGRESS;
	}
	return -EALREADY;
}

int order_check(const struct order *o, char why[static CLUSTER_WHY_TEXT])
{
	const struct cluster_service *donor = o->node->service;

	why[0] = 0;
	if (o->under_way) {
		say_under_way(o, why);
		return -EBUSY;
	}
	if (!donor && !o->node->lost)
		return -ENODATA;
	if (donor == o->taker)
		return check_same(o, why);
	if (o->fixed)
		return -ECANCELED;
	if (!o->may)
		return -EACCES;
	if (donor && o->nodes <= donor->minimum) {
		snprintf(why, CLUSTER_WHY_TEXT,
			 "%s keeps its minimum of %llu node%s, and has %u: move another node to it "
			 "first, or lower its \"minimum\" in cluster.json",
			 donor->name, (unsigned long long)donor->minimum,
			 donor->minimum == 1 ? "" : "s", o->nodes);
		return -ENOSPC;
	}
	return 0;
}

/* An order names the node, and no load counts: what hindered it is the minimum alone. */
const char *order_result_text(int rc)
{
	return rc == MOVE_NO_DONOR
		       ? "the service that it serves has no more than its minimum of nodes"
		       : move_result_text((enum move_result)rc);
}

/* As enum move_result; 0: moved. */
static const char *const outcome_names[] = {
	[0] = "moved",
	[MOVE_COUNTER_AHEAD] = "counter-ahead",
	[MOVE_CALM] = "calm",
	[MOVE_NO_DONOR] = "no-donor",
	[MOVE_NOT_WISHED] = "not-wished",
	[MOVE_BUSY] = "busy",
	[MOVE_LATE] = "late",
	[MOVE_NOT_NOTIFIED] = "not-notified",
	[MOVE_OVERTAKEN] = "overtaken",
	[MOVE_UNREACHED] = "unreached",
	[MOVE_UNDECIDED] = "undecided",
	[MOVE_VIEW] = "view",
	[MOVE_NOT_KEPT] = "not-kept",
	[MOVE_NEEDED] = "needed",
};

const char *order_outcome(int rc)
{
	bool named = rc >= 0 && rc < (int)(sizeof(outcome_names) / sizeof(outcome_names[0]));

	return named ? outcome_names[rc] : "not-begun";
}
